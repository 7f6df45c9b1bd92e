/* SPDX-License-Identifier: Apache-2.0
 * Computes the reference: the outputs of the unscheduled program, compiled (for
 * a device's kernels on the host) with its outermost loops parallel, on the
 * tensors of a bench; compared with the interpreter's for small programs.
 *
 * Of one that takes long only a part of each loop is done, and its sums are
 * moved out of the loops along which data lie, which leaves the order of each;
 * the same part must give the same then, before all of it is done so. */
#include "backends/interp/interp.h"
#include "base/clock.h"
#include "ir/query.h"
#include "measure/worker/job_builder.h"
#include <string.h>

/* The interpreter runs some ten million operations a second. */
enum { ORACLE_FLOPS = 8 << 20, ORACLE_ELEMENTS = 4 << 20 };

/* An error bound from which on the check is reported as weak. */
#define COARSE 0.5

typedef struct referring {
  job_state *j;
  const job_bench *r;
  job_reference *out;
  backend_code *code;
  strbuf object;
  interp interp;
  vm_sched sched;
  bool is_bound; /* machine.prog, to the threads of a device */
  runtime_part part;
} referring;

static void drop_code(referring *w) {
  if (w->code) w->j->backend->unload(w->code);
  w->code = NULL;
  str_clear(&w->object);
  if (w->sched.heap) vm_sched_free(&w->sched);
  w->sched = (vm_sched){.heap = NULL};
}

/* moved: as job_parallelise has it. */
static tess_status take_unscheduled(referring *w, bool *moved) {
  job_state *j = w->j;
  const ir_program *p = &j->bench_program;
  if (w->is_bound) return TESS_OK;
  if (j->no_threads) {
    ir_program_copy(&j->builder->machine.prog, p);
    return TESS_OK;
  }
  tess_status s = job_parallelise(&j->heap, p, moved, &w->sched);
  if (s == TESS_OK)
    ir_program_copy(&j->builder->machine.prog, &w->sched.m.prog);
  return s;
}

static tess_status compile_base(referring *w, bool *moved) {
  job_state *j = w->j;
  double lower, compile;
  job_enter(j, JOB_BUILDING);
  drop_code(w);
  tess_status s = take_unscheduled(w, moved);
  if (!s)
    s = job_compile(j, &j->builder->machine.prog, BACKEND_CODE, &w->object,
                    &lower, &compile);
  if (s) return s;
  job_enter(j, JOB_LOADING);
  return j->backend->load(&j->heap, w->object.v, w->object.n, &w->code,
                          &j->err);
}

/* Launches all of it, or the part; *seconds: how long all of it takes, or
 * would. */
static tess_status launch_base(referring *w, runtime_part *part,
                               double *seconds) {
  job_state *j = w->j;
  bench_place(&j->bench, GUARD_BACK);
  bench_reset(&j->bench);
  job_enter(j, JOB_RUNNING);
  runtime_take_part(&j->bench.rt, part);
  double start = clock_now();
  int32_t status = bench_launch(&j->bench, j->backend, w->code);
  *seconds = clock_now() - start + (part ? part->rest : 0);
  runtime_take_part(&j->bench.rt, NULL);
  job_enter(j, JOB_CHECKING);
  if (status)
    return err_set(&j->err, TESS_LAUNCH_ERROR, "it returned %d", status);
  tess_status s = part && part->left_out > 0
                      ? bench_check_guards(&j->bench, &j->err)
                      : bench_inspect(&j->bench, &j->err);
  if (s) return s;
  str_clear(&w->out->outputs);
  bench_get_outputs(&j->bench, &w->out->outputs);
  return str_status(&w->out->outputs);
}

static tess_status set_reference(referring *w) {
  const strbuf *o = &w->out->outputs;
  return bench_set_reference(&w->j->bench, o->v, o->n, &w->j->err);
}

/* ---- what takes long ---------------------------------------------------- */

static ir_walk look_for_computed(const ir_program *p, ir_expr e, void *ud) {
  const ir_node *n = ir_at(p, e);
  (void)ud;
  if (!n->has_load) return IR_WALK_SKIP;
  if (n->op != IR_LOAD) return IR_WALK_DESCEND;
  uint8_t role = p->buf.v[n->a].role;
  bool is_computed = role == IR_ROLE_LOCAL || role == IR_ROLE_OUTPUT;
  return is_computed ? IR_WALK_FOUND : IR_WALK_DESCEND;
}

static bool reads_computed(const ir_program *p, ir_expr e, void *ud) {
  return ir_any(p, e, look_for_computed, ud);
}

static bool some_reads_computed(const ir_program *p, ir_span v) {
  for (uint32_t i = v.at; i < v.at + v.n; i++)
    if (reads_computed(p, p->arg.v[i], NULL)) return true;
  return false;
}

static bool divides_by_computed(const ir_program *p, const ir_node *n) {
  return (n->op == IR_DIV || n->op == IR_MOD) && !ir_is_float(n->dtype) &&
         reads_computed(p, n->b, NULL);
}

/* Might an index, a loop's bound or an integer's divisor be read from what a
 * part leaves out? */
static bool is_steered(const ir_program *p) {
  ir_stmt root = ir_entry(p)->root;
  for (uint32_t i = 1; i < p->node.n; i++) {
    const ir_node *n = &p->node.v[i];
    if (n->op == IR_LOAD && some_reads_computed(p, (ir_span){n->b, n->n}))
      return true;
    if (divides_by_computed(p, n)) return true;
  }
  for (ir_stmt s = root; s; s = ir_next(p, s, root)) {
    const ir_stmt_rec *r = ir_st(p, s);
    bool binds = r->kind == IR_LOOP || r->kind == IR_BLOCK || r->kind == IR_LET;
    if (r->kind == IR_STORE && some_reads_computed(p, r->idx)) return true;
    if (binds && ir_stmt_any_expr(p, s, reads_computed, NULL)) return true;
  }
  return false;
}

/* Elements that were not written are known only where outputs are poisoned. */
static bool can_be_part(const referring *w) {
  const job_state *j = w->j;
  return !w->is_bound && !j->no_threads && !j->bench.in_place &&
         !j->backend->device && !is_steered(&j->bench_program);
}

/* *is_right: sums were moved, and the part gives what that of the unscheduled
 * program has written. */
static tess_status launch_moved(referring *w, bool *is_right) {
  double seconds;
  bool moved = false;
  *is_right = false;
  w->part.longest = 0;
  tess_status s = set_reference(w);
  if (!s) s = compile_base(w, &moved);
  if (s || !moved) return s;
  s = launch_base(w, &w->part, &seconds);
  if (s || bench_compare_part(&w->j->bench, &w->j->err)) return s;
  *is_right = true;
  return launch_base(w, NULL, &seconds);
}

static tess_status find_outputs(referring *w) {
  static const double patience = 0.1;
  bool is_right;
  double *launch = &w->out->launch;
  tess_status s = compile_base(w, NULL);
  w->part = (runtime_part){.longest = patience};
  if (!s) s = launch_base(w, can_be_part(w) ? &w->part : NULL, launch);
  if (s || w->part.left_out <= 0) return s;
  s = launch_moved(w, &is_right);
  bool is_memory = s == TESS_NOMEM || s == TESS_LIMIT;
  if (is_memory || (!s && is_right)) return s;
  s = compile_base(w, NULL);
  return s ? s : launch_base(w, NULL, launch);
}

/* ---- what the check sees ------------------------------------------------ */

/* Notes outputs that the check sees little of: infinite or not-a-number
 * elements, which hide errors, and large error bounds. */
static void note_blind_spots(referring *w) {
  const bench *b = &w->j->bench;
  strbuf *note = &w->out->note;
  for (uint32_t i = 0; i < b->n; i++) {
    const bench_param *x = &b->param[i];
    uint64_t n = bench_count_special(b, i);
    double bound = x->written ? range_bound(&x->fact) : 0;
    if (n)
      str_printf(note,
                 "%s%llu of %llu elements of '%s' are infinite or not-a-number "
                 "on the inputs of the check, which sees little of them",
                 note->n ? "; " : "", (unsigned long long)n,
                 (unsigned long long)x->n, x->name);
    if (bound >= COARSE)
      str_printf(note,
                 "%selements of '%s' may differ by %.2g of their magnitude, so "
                 "coarsely and often are they rounded: the check sees little "
                 "of them",
                 note->n ? "; " : "", x->name, bound);
  }
}

/* ---- the interpreter ---------------------------------------------------- */

static bool is_small(const bench *b) {
  uint64_t elements = 0;
  for (uint32_t i = 0; i < b->n; i++) elements += b->param[i].n;
  int64_t flops = ir_flops_guess(b->base);
  return elements <= ORACLE_ELEMENTS && flops <= ORACLE_FLOPS;
}

/* A program that reads what nobody wrote has no results to compare; whatever
 * else ends the interpreter is noted. */
static tess_status judge_interpreter(referring *w, const interp_error *error) {
  strbuf text;
  tess_status s = TESS_OK;
  str_init(&text, &w->j->heap);
  interp_error_text(w->j->bench.base, error, &text);
  const char *why = str_or(&text, "out of memory");
  if (error->fault == INTERP_UNWRITTEN)
    s = err_set(&w->j->err, TESS_UNWRITTEN,
                "the program reads what nobody wrote: %s", why);
  else
    str_printf(&w->out->note,
               "%sthe reference was not checked against the interpreter: %s",
               w->out->note.n ? "; " : "", why);
  str_free(&text);
  return s;
}

/* Interprets the program on the same tensors, whose outputs are then its. */
static tess_status run_oracle(referring *w, interp_error *error) {
  job_state *j = w->j;
  interp_options o = {.domain = INTERP_NATIVE};
  interp_arg *args = arena_array(&j->scratch, interp_arg, j->bench.n);
  bench_reset(&j->bench);
  for (uint32_t i = 0; i < j->bench.n; i++)
    args[i] = (interp_arg){j->bench.args[i], j->bench.param[i].bytes};
  interp_init(&w->interp, &j->heap);
  return interp_run(&w->interp, &j->bench_program, j->bench.n, args, &o, error);
}

/* Compares the interpreter's outputs with the reference, as a candidate's
 * are. */
static tess_status check_with_interpreter(referring *w) {
  job_state *j = w->j;
  interp_error error;
  double most, bound;
  if (!is_small(&j->bench)) return TESS_OK;
  if (run_oracle(w, &error)) return judge_interpreter(w, &error);
  if (bench_compare(&j->bench, &most, &bound, &j->err) == TESS_OK)
    return TESS_OK;
  char text[sizeof j->err.message];
  strcpy(text, j->err.message);
  return err_set(&j->err, TESS_WRONG_RESULT,
                 "the unscheduled program, compiled, differs from the "
                 "interpreter: the interpreter's %s",
                 text);
}

/* ---- the request -------------------------------------------------------- */

/* A device's is compiled for the host, unless that would take minutes. */
static tess_status choose_compiler(referring *w) {
  job_state *j = w->j;
  const char *host = j->backend->reference;
  if (!host) return TESS_OK;
  ir_program_copy(&j->builder->machine.prog, &j->bench_program);
  w->is_bound =
      job_bind_reference(&j->builder->machine.prog, JOB_HOST_OPERATIONS);
  if (w->is_bound) return TESS_OK;
  j->no_threads = true;
  return job_set_target(j, host);
}

static tess_status make_reference(void *ud) {
  referring *w = ud;
  job_state *j = w->j;
  job_enter(j, JOB_PREPARING);
  tess_status s = job_set_target(j, w->r->target);
  if (!s) s = job_set_bench(j, w->r);
  if (!s) s = choose_compiler(w);
  if (!s) s = find_outputs(w);
  if (!s) s = set_reference(w);
  if (!s) note_blind_spots(w);
  return s ? s : check_with_interpreter(w);
}

void job_do_reference(job_state *j, const job_bench *r, job_reference *out) {
  referring w = {.j = j, .r = r, .out = out};
  double start = clock_now();
  *out = (job_reference){.status = TESS_OK};
  str_init(&out->message, &j->heap);
  str_init(&out->note, &j->heap);
  str_init(&out->outputs, &j->heap);
  str_init(&w.object, &j->heap);
  err_clear(&j->err);
  tess_status s = mem_protect(&j->heap, make_reference, &w);
  drop_code(&w);
  j->no_threads = false;
  str_free(&w.object);
  interp_free(&w.interp);
  if (s) {
    job_say(&out->message, job_why(j, s));
    str_clear(&out->outputs);
    if (j->has_bench) guard_close(&j->bench.reference);
  }
  arena_reset(&j->scratch);
  out->status = s;
  out->seconds = clock_now() - start;
  job_enter(j, JOB_IDLE);
}

void job_reference_free(job_reference *r) {
  str_free(&r->message);
  str_free(&r->note);
  str_free(&r->outputs);
}
