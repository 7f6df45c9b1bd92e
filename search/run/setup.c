/* SPDX-License-Identifier: Apache-2.0
 * Prepares the tuning of one program: takes and completes the options, finds
 * target and space, writes the sketches and opens the measurer. */
#include "search/run/setup.h"

#include "search/database/database.h"
#include "search/run/options.h"
#include <math.h>

/* ---- options ------------------------------------------------------------ */

static tess_status check_mutators(tess_context *c, const tess_tune_options *o) {
  if (o->nmutators && !o->mutators)
    return ctx_fail(c, TESS_INVALID,
                    "option 'mutators' is NULL, and there are "
                    "%u of them",
                    o->nmutators);
  for (uint32_t i = 0; i < o->nmutators; i++) {
    const tess_mutator *m = &o->mutators[i];
    if (m->struct_size != sizeof *m)
      return ctx_fail(c, TESS_INVALID,
                      "option 'mutators': struct_size of "
                      "number %u, counted from 1, is %u, not %zu",
                      i + 1, m->struct_size, sizeof *m);
    if (!m->mutate)
      return ctx_fail(c, TESS_INVALID,
                      "option 'mutators': 'mutate' of number "
                      "%u, counted from 1, is NULL",
                      i + 1);
    if (!(m->probability >= 0 && isfinite(m->probability)))
      return ctx_fail(c, TESS_INVALID,
                      "option 'mutators': the probability of "
                      "number %u, counted from 1, is %g",
                      i + 1, m->probability);
  }
  return TESS_OK;
}

static tess_status check_postprocs(tess_context *c,
                                   const tess_tune_options *o) {
  if (o->npostprocs && !o->postprocs)
    return ctx_fail(c, TESS_INVALID,
                    "option 'postprocs' is NULL, and there are %u of them",
                    o->npostprocs);
  for (uint32_t i = 0; i < o->npostprocs; i++) {
    const tess_postproc *m = &o->postprocs[i];
    if (m->struct_size != sizeof *m)
      return ctx_fail(c, TESS_INVALID,
                      "option 'postprocs': struct_size of number %u, counted "
                      "from 1, is %u, not %zu",
                      i + 1, m->struct_size, sizeof *m);
    if (!m->name || (!m->accepts && !m->apply))
      return ctx_fail(c, TESS_INVALID,
                      "option 'postprocs': %s of number %u, counted from 1, "
                      "%s NULL",
                      m->name ? "'accepts' and 'apply'" : "'name'", i + 1,
                      m->name ? "are" : "is");
  }
  return TESS_OK;
}

/* The functions that plugged-in strategies and models must have. */
static tess_status check_plugged_in(tess_context *c,
                                    const tess_tune_options *o) {
  if (o->custom_strategy && !o->custom_strategy->propose)
    return ctx_fail(c, TESS_INVALID,
                    "option 'custom_strategy': its 'propose' is NULL");
  if (o->custom_cost_model && !o->custom_cost_model->predict)
    return ctx_fail(c, TESS_INVALID,
                    "option 'custom_cost_model': its 'predict' is NULL");
  if (o->custom_cost_model && o->model)
    return ctx_fail(c, TESS_INVALID,
                    "of options 'custom_cost_model' and 'model' there may be "
                    "one");
  return TESS_OK;
}

static tess_status check_measure_name(tess_context *c,
                                      const tess_tune_options *o) {
  if (!o->measure_name || *o->measure_name) return TESS_OK;
  return ctx_fail(c, TESS_INVALID,
                  "option 'measure_name' is empty, not a name for what the "
                  "option 'measure' measures");
}

static tess_status check_options(tess_context *c, const tess_tune_options *o) {
  tess_status s = check_measure_name(c, o);
  if (!s) s = fleet_check(c, o);
  if (!s) s = check_mutators(c, o);
  if (!s) s = check_postprocs(c, o);
  return s ? s : check_plugged_in(c, o);
}

/* A thread a core, up to TESS_MAX_THREADS. */
static uint32_t threads_of(int64_t cores) {
  if (cores < 1) return 1;
  return cores < TESS_MAX_THREADS ? (uint32_t)cores : TESS_MAX_THREADS;
}

static tess_status read_tune_options(tess_context *c,
                                     const tess_tune_options *in,
                                     tess_tune_options *o) {
  *o = (tess_tune_options){.struct_size = sizeof *o};
  return in ? ctx_take(c, tess_tune_options, in, o) : TESS_OK;
}

static tess_status complete_options(tess_context *c, tess_target *target,
                                    tess_tune_options *o) {
  tess_status s = options_complete(c, o);
  if (s != TESS_OK) return s;
  if (!o->threads) o->threads = threads_of(thread_cpus());
  if (!o->kernel_threads)
    o->kernel_threads = threads_of(tess_target_int(target, "num-cores"));
  bool is_asked = o->cost_model || o->custom_cost_model || o->model;
  if (!o->strategy) o->strategy = is_asked ? "evolutionary" : "hybrid";
  if (!o->cost_model) o->cost_model = "forest";
  return check_options(c, o);
}

static measure_policy policy_of(const tess_tune_options *o) {
  measure_policy p = measure_default_policy(o->kernel_threads);
  p.min_time = o->min_time;
  p.timeout = o->timeout;
  p.build_timeout = o->build_timeout;
  p.warm_cache = o->warm_cache != 0;
  return p;
}

/* ---- parts -------------------------------------------------------------- */

static const measure_ledger *pool_ledger(tess_context *c) {
  measure_pool *pool;
  return measure_context_pool(c, &pool) == TESS_OK ? measure_get_ledger(pool)
                                                   : NULL;
}

/* Candidates run on tensors that are made for them, so every symbolic extent
 * needs a value. */
static tess_status check_tune_sizes(tess_context *c, const ir_program *p) {
  const ir_func *f = ir_entry(p);
  if (!f->sizes.n) return TESS_OK;
  ir_var v = p->arg.v[f->sizes.at];
  return ctx_fail(c, TESS_UNSUPPORTED,
                  "'%s' cannot be tuned: its size '%s' is known only when it "
                  "is called; describe it with a constant extent",
                  ir_text(p, f->name), ir_text(p, p->var.v[v].name));
}

static tess_status find_target(tune_setup *set) {
  tess_status s = TESS_OK;
  bool here = !set->o.measure && !set->o.fleet && !set->o.frozen;
  if (!set->target) {
    s = set->o.fleet ? fleet_target(set->c, &set->o, &set->own.target)
                     : tess_target_new(set->c, "llvm", &set->own.target);
    set->target = set->own.target;
  }
  return s == TESS_OK && here
             ? measure_runs_here(tess_target_text(set->target), &set->c->err)
             : s;
}

tess_status setup_sketches(tune_setup *set) {
  double start = clock_now();
  if (!set->space) {
    tess_status made = tess_space_default(set->c, set->target, &set->own.space);
    if (made != TESS_OK) return made;
    set->space = set->own.space;
  }
  set->own.sketches.stop = &set->c->stop;
  set->own.sketches.strict = set->o.on_error != 0;
  set->own.sketches.postprocess = true;
  set->own.sketches.cut = set->o.npostprocs > 0;
  tess_status s =
      space_write(set->space, set->program, set->target, &set->own.sketches);
  set->sketch_seconds = clock_now() - start;
  set->nsketch = set->own.sketches.trace.n;
  set->sketch = set->own.sketches.trace.v;
  if (s == TESS_OK && set->nsketch == 0)
    s = ctx_fail(set->c, TESS_NOT_FOUND,
                 "the space has no sketch for this program; "
                 "tess_space_explain (ts.space.explain) says why");
  return s;
}

tess_status setup_complete(tune_setup *set) {
  tess_status s = check_tune_sizes(set->c, &set->program->p);
  if (s == TESS_OK) s = find_target(set);
  return s == TESS_OK ? complete_options(set->c, set->target, &set->o) : s;
}

/* Times of different functions are not comparable. */
static void write_own_policy(const char *name, strbuf *out) {
  str_puts(out, DATABASE_OF_FUNCTION);
  if (name) str_printf(out, " name=%s", name);
}

tess_status setup_policy(tune_setup *set, measure_policy *out) {
  *out = policy_of(&set->o);
  tess_status s =
      measure_check_policy(tess_target_text(set->target), out, &set->c->err);
  if (s != TESS_OK) return s;
  if (set->o.inputs)
    s = measure_take_inputs(set->program, set->o.ninputs, set->o.inputs,
                            &set->own.inputs, &out->inputs);
  if (s != TESS_OK) return s;
  if (set->o.measure)
    write_own_policy(set->o.measure_name, &set->own.policy);
  else
    measure_policy_text(out, &set->own.policy);
  if (set->o.fleet) str_printf(&set->own.policy, " fleet=%s", set->o.fleet_key);
  set->policy = str_get(&set->own.policy);
  return str_status(&set->own.policy);
}

static tess_status prepare_all(tune_setup *set) {
  measure_policy policy;
  tess_status s = setup_complete(set);
  if (s == TESS_OK) s = setup_policy(set, &policy);
  if (s == TESS_OK) s = setup_sketches(set);
  if (s != TESS_OK) return s;
  if (set->o.measure) return objective_open(set->c, &set->o, &set->measurer);
  set->timed = true;
  if (set->o.fleet)
    return fleet_open(set->c, set->program, tess_target_text(set->target),
                      &policy, &set->o, &set->own.inputs, &set->measurer);
  return measurer_open(set->c, set->program, tess_target_text(set->target),
                       &policy, set->o.check != 0, &set->own.inputs,
                       &set->measurer);
}

tess_status setup_prepare(tune_setup *set) {
  tess_status s = prepare_all(set);
  set->cancelled = s == TESS_CANCELLED;
  if (s != TESS_OK && !set->cancelled) return s;
  if (!set->o.fleet) set->ledger = pool_ledger(set->c);
  return TESS_OK;
}

/* Replaces the host's strategy and model by copies of the current layout. */
static tess_status take_plugged_in(tune_setup *set) {
  tess_tune_options *o = &set->o;
  tess_status s = TESS_OK, t = TESS_OK;
  if (o->custom_strategy) {
    s = ctx_take(set->c, tess_strategy, o->custom_strategy, &set->own.strategy);
    o->custom_strategy = s == TESS_OK ? &set->own.strategy : NULL;
  }
  if (o->custom_cost_model) {
    t = ctx_take(set->c, tess_cost_model, o->custom_cost_model,
                 &set->own.model);
    o->custom_cost_model = t == TESS_OK ? &set->own.model : NULL;
  }
  return s != TESS_OK ? s : t;
}

typedef struct read_check {
  tess_program *p;
  arena scratch;
} read_check;

/* What a program computes from memory that nobody wrote differs from run to
 * run: there is nothing to tune. */
static tess_status find_unwritten(void *ud) {
  read_check *w = ud;
  const ir_program *p = &w->p->p;
  ir_buf b;
  ir_stmt s = ir_find_unwritten(p, &w->scratch, &b);
  if (!s) return TESS_OK;
  return ctx_fail(w->p->c, TESS_UNWRITTEN,
                  "program '%s': block '%s' reads buffer '%s' before anything "
                  "is written to it (a reduction's start is described by an "
                  "init)",
                  ir_text(p, ir_entry(p)->name),
                  ir_text(p, ir_blk(p, ir_scope_of(p, s))->name),
                  ir_text(p, p->buf.v[b].name));
}

static tess_status check_reads(tess_program *p) {
  read_check w = {.p = p};
  arena_init(&w.scratch, &p->c->heap);
  tess_status s = ctx_run(p->c, find_unwritten, &w);
  arena_free(&w.scratch);
  return s;
}

tess_status setup_begin(tune_setup *set, const tess_tune_options *o) {
  set->c = set->program->c;
  space_sketches_init(&set->own.sketches, set->c);
  str_init(&set->own.policy, &set->c->heap);
  str_init(&set->own.inputs, &set->c->heap);
  tess_status s = read_tune_options(set->c, o, &set->o);
  if (s == TESS_OK) s = take_plugged_in(set);
  return s == TESS_OK ? check_reads(set->program) : s;
}

/* The end of the Lua state behind a space would clear the error. */
void setup_end(tune_setup *set) {
  err_state kept = set->c->err;
  if (set->measurer.free) set->measurer.free(set->measurer.ud);
  space_sketches_free(&set->own.sketches);
  str_free(&set->own.policy);
  str_free(&set->own.inputs);
  tess_space_free(set->own.space);
  tess_target_free(set->own.target);
  set->c->err = kept;
}

/* ---- sessions ----------------------------------------------------------- */

tess_status setup_session(const tune_setup *set, tess_session *s,
                          const vm_trace **trace) {
  const tess_tune_options *o = &set->o;
  for (uint32_t i = 0; i < set->nsketch; i++) trace[i] = &set->sketch[i]->t;
  tess_status st = session_init(s, set->c, &set->program->p, set->nsketch,
                                trace, o->seed, o->threads);
  s->program = set->program;
  s->host = (session_host){.mutator = o->mutators,
                           .nmutator = o->nmutators,
                           .postproc = o->postprocs,
                           .npostproc = o->npostprocs,
                           .measures = o->measure != NULL,
                           .strict = o->on_error != 0,
                           .target = set->target,
                           .kernel_threads = o->kernel_threads,
                           .trials = o->trials};
  if (st == TESS_OK && set->memo && o->threads == 1)
    s->worker[0].memo = set->memo;
  return st;
}
