/* SPDX-License-Identifier: Apache-2.0
 * The random tester: cases, and what must hold in them. */
#include "ir/query.h"
#include "random/fuzz.h"

#include "schedule/sch.h"
#include "vm/text/text.h"

#include <stdio.h>
#include <string.h>

const char *const fuzz_skip_names[FUZZ_SKIPS] = {
    [FUZZ_TOO_LONG] = "too_long",
    [FUZZ_ROUNDED_LONG] = "rounded_too_long",
    [FUZZ_NOT_LOWERED] = "lowering_unsupported",
    [FUZZ_LOWER_LIMIT] = "lowering_limit",
    [FUZZ_NO_COMPILER] = "compiled_not_wanted",
    [FUZZ_NATIVE_UNSUPPORTED] = "compiled_lowering_unsupported",
    [FUZZ_NATIVE_LIMIT] = "compiled_lowering_limit",
    [FUZZ_NOT_COMPILED] = "compiling_unsupported"};

#define HEAP_CAP ((size_t)1 << 30)

/* Recomputing under other loops makes programs longer and longer: beyond so
 * many iterations nothing more is done to one, and beyond many more it is
 * not run (FUZZ_MAX_STEPS). */
enum { MANY_ITERATIONS = 100000 };

static tess_status make_parts(void *ud) {
  fuzz *f = ud;
  ir_program_init(&f->base, &f->heap);
  ir_program_init(&f->before, &f->heap);
  ir_program_init(&f->damaged, &f->heap);
  vm_trace_init(&f->trace_before, &f->heap);
  vm_trace_init(&f->pool, &f->heap);
  vm_trace_init(&f->shown, &f->heap);
  interp_init(&f->in, &f->heap);
  interp_expect_init(&f->expect, &f->heap);
  vm_machine_init(&f->replay, &f->heap);
  arena_init(&f->scratch, &f->heap);
  arena_init(&f->args, &f->heap);
  return TESS_OK;
}

void fuzz_init(fuzz *f) {
  *f = (fuzz){.nseen = 0};
  mem_heap_init(&f->heap, mem_default_allocator, HEAP_CAP);
  str_init(&f->what, &f->heap);
  str_init(&f->report, &f->heap);
  mem_protect(&f->heap, make_parts, f);
}

void fuzz_free(fuzz *f) {
  ir_program_free(&f->base);
  ir_program_free(&f->before);
  ir_program_free(&f->damaged);
  vm_trace_free(&f->trace_before);
  vm_trace_free(&f->pool);
  vm_trace_free(&f->shown);
  interp_free(&f->in);
  interp_expect_free(&f->expect);
  vm_machine_free(&f->replay);
  arena_free(&f->scratch);
  arena_free(&f->args);
  fuzz_end_native(f);
  str_free(&f->what);
  str_free(&f->report);
}

void fuzz_wrong(fuzz *f, const char *fmt, ...) {
  va_list ap;
  if (!f->report.n)
    str_printf(&f->report, "case %llu of seed %llu:%s\n",
               (unsigned long long)f->number, (unsigned long long)f->seed,
               str_get(&f->what));
  va_start(ap, fmt);
  str_vprintf(&f->report, fmt, ap);
  va_end(ap);
  str_putc(&f->report, '\n');
}

/* ---- what must hold ----------------------------------------------------- */

#define SAME_TABLE(a, b) \
  ((a).n == (b).n &&     \
   ((a).n == 0 || !memcmp((a).v, (b).v, (a).n * sizeof *(a).v)))

static bool same_program(const ir_program *p, const ir_program *q) {
  return SAME_TABLE(p->node, q->node) && SAME_TABLE(p->var, q->var) &&
         SAME_TABLE(p->buf, q->buf) && SAME_TABLE(p->stmt, q->stmt) &&
         SAME_TABLE(p->block, q->block) && SAME_TABLE(p->iter, q->iter) &&
         SAME_TABLE(p->region, q->region) && SAME_TABLE(p->match, q->match) &&
         SAME_TABLE(p->reducer, q->reducer) && SAME_TABLE(p->func, q->func) &&
         SAME_TABLE(p->anno, q->anno) && SAME_TABLE(p->value, q->value) &&
         SAME_TABLE(p->arg, q->arg) && SAME_TABLE(p->text, q->text) &&
         p->entry == q->entry;
}

static bool same_trace(const vm_trace *a, const vm_trace *b) {
  return SAME_TABLE(a->inst, b->inst) && SAME_TABLE(a->val, b->val) &&
         SAME_TABLE(a->dec, b->dec) && SAME_TABLE(a->rv, b->rv) &&
         SAME_TABLE(a->rv_inst, b->rv_inst) && SAME_TABLE(a->text, b->text);
}

static bool well_formed(fuzz *f, const ir_program *p, const char *when) {
  strbuf why;
  str_init(&why, &f->heap);
  bool ok = ir_verify(p, &f->scratch, &why);
  if (!ok)
    fuzz_wrong(f, "%s the program is malformed: %s", when, str_get(&why));
  str_free(&why);
  arena_reset(&f->scratch);
  return ok;
}

interp_options fuzz_run_options(const fuzz *f) {
  return (interp_options){.max_steps = FUZZ_MAX_STEPS,
                          .nsizes = ir_entry(&f->base)->sizes.n,
                          .sizes = f->size};
}

/* p is the computation of the base program; false: *e says why not. */
static bool equivalent(fuzz *f, const ir_program *p, interp_error *e) {
  interp_options o = fuzz_run_options(f);
  o.check_regions = true;
  f->counts.comparisons++;
  fuzz_watch_calls(f, &o);
  if (interp_expect_check(&f->expect, &f->in, p, &o, e) == TESS_OK) {
    const char *why = fuzz_compare_calls(f, p);
    if (!why) return true;
    *e = (interp_error){
        .code = TESS_MISMATCH, .fault = INTERP_INVALID, .element = -1};
    snprintf(e->what, sizeof e->what, "%s", why);
    return false;
  }
  f->counts.skipped[FUZZ_TOO_LONG] += e->fault == INTERP_LIMIT;
  return e->fault == INTERP_LIMIT;
}

/* The first instruction after which the program is not the base any more. */
static void blame(fuzz *f) {
  const vm_trace *t = &f->shown;
  for (uint32_t n = 1; n <= t->inst.n; n++) {
    vm_replay_opts o = {.source = VM_SAME, .stop = n};
    interp_error e;
    if (vm_replay(&f->replay, &f->base, t, &o, NULL) ||
        equivalent(f, &f->replay.prog, &e))
      continue;
    fuzz_wrong(f, "the first wrong instruction is the following:");
    vm_write_lua_inst(t, n - 1, &f->report);
    str_puts(&f->report, "\nwhich makes of the program:\n");
    ir_print(&f->replay.prog, NULL, &f->report);
    return;
  }
}

static void explain(fuzz *f, const ir_program *p, const interp_error *e) {
  strbuf text;
  str_init(&text, &f->heap);
  interp_error_text(p, e, &text);
  fuzz_wrong(f, "%s", str_get(&text));
  str_free(&text);
  if (f->o->fault) return;
  vm_simplify(&f->shown, &f->s.trace, &f->scratch);
  arena_reset(&f->scratch);
  fuzz_wrong(f, "the trace:");
  vm_write_lua(&f->shown, &f->report);
  blame(f);
}

bool fuzz_same_result(fuzz *f, const ir_program *p) {
  interp_error e;
  if (equivalent(f, p, &e)) return true;
  explain(f, p, &e);
  return false;
}

/* ---- a case ------------------------------------------------------------- */

void fuzz_count(fuzz *f, const sch_prim *p, tess_status st) {
  uint32_t k = 0;
  while (k < sch_nprims && sch_prims[k] != p) k++;
  if (k < FUZZ_MAX_PRIMS) (st ? f->counts.declined : f->counts.applied)[k]++;
  vm_why why = (vm_why)f->s.m.fail.why;
  if (st == TESS_REFUSED && (why == VM_W_REFUSED || why == VM_W_UNFIT))
    f->counts.reason[f->s.m.state.refusal.reason]++;
  if (st)
    f->counts.refused++;
  else if (!(p->flags & SCH_PURE))
    f->counts.legal++;
}

/* Iterations around all stores, about. */
static double iterations(const ir_program *p) {
  ir_stmt root = ir_entry(p)->root;
  double sum = 0;
  for (ir_stmt s = root; s; s = ir_next(p, s, root)) {
    double n = ir_st(p, s)->kind == IR_STORE;
    for (ir_stmt l = ir_st(p, s)->parent; l && n > 0; l = ir_st(p, l)->parent) {
      int64_t extent = 8;
      if (!ir_is_loop(p, l)) continue;
      ir_const_int(p, ir_st(p, l)->extent, &extent);
      n *= (double)extent;
    }
    sum += n;
  }
  return sum;
}

static uint64_t hits(const fuzz *f) { return f->o->hits ? *f->o->hits : 0; }

/* Every hole of a refusal's sentence has something to be filled with. */
static bool is_whole(const sch_refusal *r) {
  const char *t = sch_reason_text((sch_reason)r->reason);
  while ((t = strchr(t, '{'))) {
    bool second = t[2] == '1';
    t++;
    if ((*t == 's' && !r->s[second]) || (*t == 'b' && !r->buf) ||
        (*t == 't' && !r->t))
      return false;
  }
  return true;
}

/* Does it matter that the call applied, with a fault?  What only looks at the
 * program, or tries what others would do to it, changes nothing. */
static bool is_counted(const fuzz *f, const sch_prim *p) {
  return !(p->flags & SCH_PURE) ||
         (p->flags & SCH_SAMPLES && fuzz_may_refuse(p, f->o->reason));
}

static bool one_step(fuzz *f) {
  const sch_prim *prim;
  uint64_t before = hits(f);
  tess_status st = fuzz_step(f, &prim);
  if (st == TESS_NOMEM || st == TESS_LIMIT) return true;
  /* A checked build finds what is malformed before we do. */
  if (st == TESS_INTERNAL) {
    f->broken = true;
    fuzz_wrong(f, "%s fails:", prim->name);
    vm_failure_text(&f->s.m, &f->s.trace, &f->report);
    str_putc(&f->report, '\n');
    return false;
  }
  if (st == TESS_REFUSED && f->s.m.fail.why == VM_W_REFUSED &&
      !is_whole(&f->s.m.state.refusal)) {
    fuzz_wrong(f, "%s says half of why it refuses: %s", prim->name,
               sch_reason_name((sch_reason)f->s.m.state.refusal.reason));
    return false;
  }
  if (st) {
    if (same_program(&f->before, &f->s.m.prog) &&
        same_trace(&f->trace_before, &f->s.trace))
      return true;
    fuzz_wrong(f, "%s was refused and left its mark", prim->name);
    return false;
  }
  f->counts.faults += hits(f) != before && is_counted(f, prim);
  if (!fuzz_check_laws(f, prim)) return false;
  if (prim->flags & SCH_PURE && !(prim->flags & SCH_SAMPLES)) return true;
  if (!well_formed(f, &f->s.m.prog, prim->name))
    return explain(f, &f->s.m.prog, &(interp_error){0}), false;
  if (!fuzz_check_handles(f, prim->name))
    return explain(f, &f->s.m.prog, &(interp_error){0}), false;
  f->enough = iterations(&f->s.m.prog) > MANY_ITERATIONS;
  bool skip = fuzz_below(f, 8) != 0;
  if (f->o->hits) return hits(f) == before || fuzz_same_result(f, &f->s.m.prog);
  return (skip && !f->o->every_step) || fuzz_same_result(f, &f->s.m.prog);
}

static bool binds_threads(const ir_program *p) {
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt s = root; s; s = ir_next(p, s, root))
    if (ir_st(p, s)->kind == IR_LOOP && ir_st(p, s)->loop_kind == IR_THREAD)
      return true;
  return false;
}

static bool same_compiled(fuzz *f) {
  if (f->o->device && fuzz_is_compiled(f) && binds_threads(&f->s.m.prog))
    return fuzz_check_compiled(f);
  if (!fuzz_is_compiled(f) || !f->o->through_llvm)
    return f->counts.skipped[FUZZ_NO_COMPILER]++, true;
  return fuzz_check_compiled(f);
}

/* The end: the program as it is, or damaged on purpose. */
static bool fuzz_finish(fuzz *f) {
  if (!f->o->fault)
    return fuzz_same_result(f, &f->s.m.prog) && fuzz_check_trips(f) &&
           fuzz_check_listing(f) && fuzz_check_lowered(f) && same_compiled(f);
  ir_program_copy(&f->damaged, &f->s.m.prog);
  if (!fuzz_damage(f, &f->damaged, f->o->fault)) return true;
  f->counts.faults++;
  return fuzz_same_result(f, &f->damaged);
}

/* All that a fault of lowering may show. */
static bool lowers_well(fuzz *f) {
  uint64_t before = hits(f);
  bool ok = fuzz_check_lowered(f);
  f->counts.faults += hits(f) != before;
  return ok;
}

/* Inputs of all kinds: of half of the programs they hold anything. */
static void choose_inputs(fuzz *f) {
  const uint64_t n = f->number / 8;
  interp_inputs *in = &f->expect.inputs;
  *in = (interp_inputs){.extreme = f->number % 8 == 1,
                        .ends = f->number % 16 == 6 ? 1 + n % 3 : 0};
  interp_few few = {.n = 0};
  if (f->number % 4 == 3) interp_few_add(&in->few, &f->base);
  if (f->number % 8 != 5) return;
  interp_few_add(&few, &f->base);
  interp_peaks(in, &few, 1 + (uint32_t)(n % 29), n / 29 % 116);
}

static bool fuzz_start(fuzz *f) {
  interp_options o;
  interp_error e;
  err_state err;
  gen_options g = f->o->gen;
  g.representable |= fuzz_is_exact(f);
  g.effects = true;
  g.sizes = f->size;
  if (gen_program(&f->r, &g, &f->heap, &f->base, &f->what, &err)) {
    fuzz_wrong(f, "describing it failed: %s", err.message);
    return false;
  }
  fuzz_add_intrins(f, &f->base);
  fuzz_begin_calls(f);
  o = fuzz_run_options(f);
  o.check_regions = true;
  o.max_steps = 0;
  fuzz_watch_calls(f, &o);
  choose_inputs(f);
  tess_status st =
      interp_expect_run(&f->expect, &f->in, &f->base, f->seed, &o, &e);
  f->wanted = f->calls;
  if (st) {
    fuzz_wrong(f, "the base program does not run:");
    interp_error_text(&f->base, &e, &f->report);
  }
  return !st;
}

/* How many primitives are to apply: deep schedules are as likely as short
 * ones. */
static uint32_t draw_depth(fuzz *f) {
  uint32_t most = f->o->max_depth ? f->o->max_depth : 40;
  return 1 + fuzz_below(f, fuzz_below(f, 3) ? 1 + most / 2 : most);
}

static tess_status run_case(void *ud) {
  fuzz *f = ud;
  if (!fuzz_start(f)) return TESS_MISMATCH;
  if (vm_sched_init(&f->s, &f->heap, &f->base, f->number)) return TESS_NOMEM;
  uint64_t depth = draw_depth(f), end = f->counts.legal + depth;
  uint64_t before = hits(f);
  bool ok = true;
  for (uint64_t k = 4 + 3 * depth;
       k > 0 && ok && f->counts.legal < end && !f->enough; k--)
    ok = one_step(f);
  if (ok) fuzz_stage(f);
  ok = ok && well_formed(f, &f->s.m.prog, "the end");
  if (!f->o->hits)
    ok = ok && fuzz_finish(f);
  else if (f->o->lowering)
    ok = ok && lowers_well(f);
  else if (hits(f) != before)
    ok = ok && fuzz_same_result(f, &f->s.m.prog) && fuzz_check_trips(f) &&
         fuzz_check_listing(f) && fuzz_check_lowered(f);
  if (!f->o->fault) ok = ok && fuzz_check_mended(f);
  return ok ? TESS_OK : TESS_MISMATCH;
}

void fuzz_note(fuzz *f, const vm_call *c) {
  strbuf text;
  vm_failure why;
  str_init(&text, &f->heap);
  vm_write_lua(&f->s.trace, &text);
  if (c) {
    uint32_t nout;
    vm_known_outputs(c, &nout);
    vm_trace_copy(&f->shown, &f->s.trace);
    if (vm_append(&f->shown, c, nout, &why)) {
      str_clear(&text);
      vm_write_lua(&f->shown, &text);
    }
  }
  snprintf(f->o->note, f->o->note_size, "%s", str_get(&text));
  str_free(&text);
}

static tess_status fuzz_run(fuzz *f, const fuzz_options *o, uint64_t seed,
                            uint64_t number, tess_status (*body)(void *f)) {
  f->o = o;
  f->seed = seed;
  f->number = number;
  f->block = 0;
  f->enough = f->broken = false;
  f->nloops = f->nseen = 0;
  rng_init(&f->r, seed, number);
  str_clear(&f->what);
  str_clear(&f->report);
  tess_status st = mem_protect(&f->heap, body, f);
  /* Else the call that broke the program stands there already. */
  bool whole = f->s.heap && st == TESS_MISMATCH && !f->broken;
  if (whole && o->note && body == run_case) fuzz_note(f, NULL);
  if (f->s.heap) vm_sched_free(&f->s);
  f->s = (vm_sched){.heap = NULL};
  f->counts.schedules++;
  f->counts.wrong += st == TESS_MISMATCH;
  return st;
}

tess_status fuzz_case(fuzz *f, const fuzz_options *o, uint64_t seed,
                      uint64_t number) {
  return fuzz_run(f, o, seed, number, run_case);
}

static tess_status run_again(void *ud) {
  fuzz *f = ud;
  vm_replay_opts o = {.source = VM_REPAIR};
  err_state err;
  if (!fuzz_start(f)) return TESS_INVALID;
  if (vm_read_lua(&f->shown, f->again, strlen(f->again), &err))
    return TESS_REFUSED;
  tess_status st = vm_sched_replay(&f->s, &f->heap, &f->base, &f->shown, &o);
  if (st) return st == TESS_INTERNAL ? TESS_MISMATCH : TESS_REFUSED;
  bool ok = well_formed(f, &f->s.m.prog, "the trace") &&
            fuzz_same_result(f, &f->s.m.prog) && fuzz_check_trips(f) &&
            fuzz_check_listing(f) && fuzz_check_lowered(f) && same_compiled(f);
  return ok ? TESS_OK : TESS_MISMATCH;
}

tess_status fuzz_again(fuzz *f, const fuzz_options *o, uint64_t seed,
                       uint64_t number, const char *trace) {
  f->again = trace;
  return fuzz_run(f, o, seed, number, run_again);
}
