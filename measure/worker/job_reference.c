/* SPDX-License-Identifier: Apache-2.0
 * Computes the reference: the outputs of the unscheduled program, compiled (for
 * a device's kernels on the host) with its outermost loops parallel, on the
 * tensors of a bench; compared with the interpreter's for small programs. */
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
} referring;

static tess_status take_unscheduled(referring *w) {
  job_state *j = w->j;
  const ir_program *p = &j->bench_program;
  if (w->is_bound) return TESS_OK;
  if (j->no_threads || w->r->threads < 2) {
    ir_program_copy(&j->builder->machine.prog, p);
    return TESS_OK;
  }
  tess_status s = job_parallelise(&j->heap, p, &w->sched);
  if (s == TESS_OK)
    ir_program_copy(&j->builder->machine.prog, &w->sched.m.prog);
  return s;
}

static tess_status compile_base(referring *w) {
  job_state *j = w->j;
  double lower, compile;
  job_enter(j, JOB_BUILDING);
  tess_status s = take_unscheduled(w);
  if (!s)
    s = job_compile(j, &j->builder->machine.prog, BACKEND_CODE, &w->object,
                    &lower, &compile);
  if (s) return s;
  job_enter(j, JOB_LOADING);
  return j->backend->load(&j->heap, w->object.v, w->object.n, &w->code,
                          &j->err);
}

static tess_status launch_reference(referring *w) {
  job_state *j = w->j;
  bench_place(&j->bench, GUARD_BACK);
  bench_reset(&j->bench);
  job_enter(j, JOB_RUNNING);
  double start = clock_now();
  int32_t status = bench_launch(&j->bench, j->backend, w->code);
  w->out->launch = clock_now() - start;
  job_enter(j, JOB_CHECKING);
  if (status)
    return err_set(&j->err, TESS_LAUNCH_ERROR, "it returned %d", status);
  tess_status s = bench_inspect(&j->bench, &j->err);
  if (s) return s;
  bench_get_outputs(&j->bench, &w->out->outputs);
  return str_status(&w->out->outputs);
}

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
  const char *why = str_get(&text) ? str_get(&text) : "out of memory";
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
  if (!s) s = compile_base(w);
  if (!s) s = launch_reference(w);
  if (!s)
    s = bench_set_reference(&j->bench, w->out->outputs.v, w->out->outputs.n,
                            &j->err);
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
  if (w.code) j->backend->unload(w.code);
  j->no_threads = false;
  str_free(&w.object);
  interp_free(&w.interp);
  if (w.sched.heap) vm_sched_free(&w.sched);
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
