/* SPDX-License-Identifier: Apache-2.0
 * The public functions of tuning: tess_tune and tess_result_*. */
#include "search/run/options.h"
#include "search/run/work.h"

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

/* ---- tune --------------------------------------------------------------- */

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

static tess_status find_target(tune_work *w) {
  tess_status s = TESS_OK;
  bool here = !w->o.measure && !w->o.fleet && !w->o.frozen;
  if (!w->target) {
    s = w->o.fleet ? fleet_target(w->c, &w->o, &w->own_target)
                   : tess_target_new(w->c, "llvm", &w->own_target);
    w->target = w->own_target;
  }
  return s == TESS_OK && here
             ? measure_runs_here(tess_target_text(w->target), &w->c->err)
             : s;
}

tess_status work_sketches(tune_work *w) {
  double start = tune_now();
  if (!w->space) {
    tess_status made = tess_space_default(w->c, w->target, &w->own_space);
    if (made != TESS_OK) return made;
    w->space = w->own_space;
  }
  w->k.stop = &w->c->stop;
  w->k.strict = w->o.on_error != 0;
  w->k.postprocess = true;
  w->k.cut = w->o.npostprocs > 0;
  tess_status s = space_write(w->space, w->p, w->target, &w->k);
  w->sketch_seconds = tune_now() - start;
  if (s == TESS_OK && w->k.trace.n == 0)
    s = ctx_fail(w->c, TESS_NOT_FOUND,
                 "the space has no sketch for this program; "
                 "tess_space_explain (ts.space.explain) says why");
  return s;
}

tess_status work_complete(tune_work *w) {
  tess_status s = check_tune_sizes(w->c, &w->p->p);
  if (s == TESS_OK) s = find_target(w);
  return s == TESS_OK ? complete_options(w->c, w->target, &w->o) : s;
}

/* Times of different functions are not comparable. */
static void write_own_policy(const char *name, strbuf *out) {
  str_puts(out, DATABASE_OF_FUNCTION);
  if (name) str_printf(out, " name=%s", name);
}

tess_status work_policy(tune_work *w, measure_policy *out) {
  *out = policy_of(&w->o);
  tess_status s =
      measure_check_policy(tess_target_text(w->target), out, &w->c->err);
  if (s != TESS_OK) return s;
  if (w->o.inputs)
    s = measure_take_inputs(w->p, w->o.ninputs, w->o.inputs, &w->inputs,
                            &out->inputs);
  if (s != TESS_OK) return s;
  if (w->o.measure)
    write_own_policy(w->o.measure_name, &w->policy);
  else
    measure_policy_text(out, &w->policy);
  if (w->o.fleet) str_printf(&w->policy, " fleet=%s", w->o.fleet_key);
  return str_status(&w->policy);
}

static tess_status prepare_tune(tune_work *w) {
  measure_policy policy;
  tess_status s = work_complete(w);
  if (s == TESS_OK) s = work_policy(w, &policy);
  if (s == TESS_OK) s = work_sketches(w);
  if (s != TESS_OK) return s;
  if (w->o.measure) return objective_open(w->c, &w->o, &w->measurer);
  if (w->o.fleet)
    return fleet_open(w->c, w->p, tess_target_text(w->target), &policy, &w->o,
                      &w->inputs, &w->measurer);
  return measurer_open(w->c, w->p, tess_target_text(w->target), &policy,
                       w->o.check != 0, &w->inputs, &w->measurer);
}

tess_status work_prepare(tune_work *w, tune_setup *setup) {
  tess_status s = prepare_tune(w);
  bool cancelled = s == TESS_CANCELLED;
  if (s != TESS_OK && !cancelled) return s;
  *setup = (tune_setup){.c = w->c,
                        .program = w->p,
                        .target = w->target,
                        .nsketch = w->k.trace.n,
                        .sketch = w->k.trace.v,
                        .o = &w->o,
                        .policy = str_get(&w->policy),
                        .measurer = &w->measurer,
                        .sketch_seconds = w->sketch_seconds,
                        .cancelled = cancelled,
                        .ledger = w->o.fleet ? NULL : pool_ledger(w->c)};
  return TESS_OK;
}

static tess_status run_tune(tune_work *w, tess_result **out) {
  tune_setup setup;
  thread_alarm deadline = {0};
  double seconds = w->o.deadline;
  bool set = seconds > 0 && thread_alarm_set(&deadline, seconds, &w->c->stop);
  tess_status s = work_prepare(w, &setup);
  setup.deadline = set ? &deadline : NULL;
  if (s == TESS_OK) s = tune_run(&setup, out);
  thread_alarm_put_off(&deadline);
  return s;
}

/* Replaces the host's strategy and model by copies of the current layout. */
static tess_status take_plugged_in(tune_work *w) {
  tess_tune_options *o = &w->o;
  tess_status s = TESS_OK, t = TESS_OK;
  if (o->custom_strategy) {
    s = ctx_take(w->c, tess_strategy, o->custom_strategy, &w->strategy);
    o->custom_strategy = s == TESS_OK ? &w->strategy : NULL;
  }
  if (o->custom_cost_model) {
    t = ctx_take(w->c, tess_cost_model, o->custom_cost_model, &w->model);
    o->custom_cost_model = t == TESS_OK ? &w->model : NULL;
  }
  return s != TESS_OK ? s : t;
}

/* Calls `free` of the host's strategy and model, however the run ended. */
static void free_plugged_in(const tess_tune_options *o) {
  const tess_strategy *strategy = o->custom_strategy;
  const tess_cost_model *model = o->custom_cost_model;
  if (strategy && strategy->free) strategy->free(strategy->ud);
  if (model && model->free) model->free(model->ud);
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

tess_status work_begin(tune_work *w, const tess_tune_options *o) {
  w->c = w->p->c;
  space_sketches_init(&w->k, w->c);
  str_init(&w->policy, &w->c->heap);
  str_init(&w->inputs, &w->c->heap);
  tess_status s = read_tune_options(w->c, o, &w->o);
  if (s == TESS_OK) s = take_plugged_in(w);
  return s == TESS_OK ? check_reads(w->p) : s;
}

/* The end of the Lua state behind a space would clear the error. */
void work_end(tune_work *w) {
  err_state kept = w->c->err;
  if (w->measurer.free) w->measurer.free(w->measurer.ud);
  space_sketches_free(&w->k);
  str_free(&w->policy);
  str_free(&w->inputs);
  tess_space_free(w->own_space);
  tess_target_free(w->own_target);
  w->c->err = kept;
}

tess_status tess_tune(tess_program *p, tess_target *target, tess_space *space,
                      const tess_tune_options *o, tess_result **out) {
  tune_work w = {.p = p, .target = target, .space = space};
  *out = NULL;
  ctx_clear(p->c);
  ctx_begin_work(p->c);
  tess_status s = work_begin(&w, o);
  if (s == TESS_OK) s = w.o.frozen ? work_frozen(&w, out) : run_tune(&w, out);
  ctx_end_work(w.c);
  work_end(&w);
  if (s != TESS_OK && w.c->err.code != s) ctx_ran_out(w.c, s, "tuning");
  free_plugged_in(&w.o);
  return s;
}

/* ---- results ------------------------------------------------------------ */

static const char *strbuf_text(const strbuf *b) {
  const char *s = str_get(b);
  return s ? s : "";
}

tess_status tess_result_get(tess_result *r, tess_result_info *out) {
  tess_result_info i = r->info;
  i.ncurve = r->curve.n;
  i.curve = r->curve.v;
  i.funnel = strbuf_text(&r->funnel);
  i.ledger = strbuf_text(&r->ledger);
  i.classes = strbuf_text(&r->classes);
  i.message = r->broke.code ? r->broke.message : strbuf_text(&r->failure);
  i.note = strbuf_text(&r->note);
  i.nquality = r->quality.n;
  i.quality = r->quality.v;
  return ctx_give(r->c, tess_result_info, &i, out);
}

static tess_status no_winner(tess_result *r) {
  if (!r->broke.code && r->failure.n)
    return ctx_fail(r->c, TESS_NOT_FOUND, "nothing valid was found: %s",
                    strbuf_text(&r->failure));
  return ctx_fail(r->c, TESS_NOT_FOUND,
                  "nothing valid was found: every candidate was rejected or "
                  "failed; the result's funnel has the reasons%s%s",
                  r->note.n ? "; " : "",
                  r->note.n ? strbuf_text(&r->note) : "");
}

tess_status tess_result_trace(tess_result *r, tess_trace **out) {
  *out = NULL;
  if (!r->best) return no_winner(r);
  *out = trace_hold(r->best);
  return TESS_OK;
}

tess_status tess_result_schedule(tess_result *r, tess_schedule **out) {
  *out = NULL;
  if (!r->best) return no_winner(r);
  return tess_trace_replay(r->best, r->program, NULL, out);
}

tess_status tess_result_kernel(tess_result *r, tess_kernel **out) {
  tess_schedule *sch;
  tess_program *p = NULL;
  *out = NULL;
  tess_status s = tess_result_schedule(r, &sch);
  if (s != TESS_OK) return s;
  s = tess_schedule_program(sch, &p);
  if (s == TESS_OK) s = tess_build(p, r->target, out);
  if (s == TESS_OK) tess_kernel_set_threads(*out, r->kernel_threads);
  tess_schedule_free(sch);
  tess_program_free(p);
  return s;
}

tess_status tess_result_model(tess_result *r, tess_model **out) {
  *out = NULL;
  if (!r->model)
    return ctx_fail(r->c, TESS_NOT_FOUND,
                    "the run's cost model was a custom one");
  *out = model_hold(r->model);
  return TESS_OK;
}

tess_result *result_hold(tess_result *r) {
  r->refs++;
  return r;
}

void tess_result_free(tess_result *r) {
  if (!r || --r->refs) return;
  tess_context *c = r->c;
  tess_model_free(r->model);
  vec_free(&c->heap, &r->quality);
  tess_trace_free(r->best);
  tess_program_free(r->program);
  tess_target_free(r->target);
  vec_free(&c->heap, &r->curve);
  str_free(&r->funnel);
  str_free(&r->ledger);
  str_free(&r->classes);
  str_free(&r->note);
  str_free(&r->failure);
  mem_free(&c->heap, r, sizeof *r);
}
