/* SPDX-License-Identifier: Apache-2.0
 * Builds a candidate: replays its trace, lowers the program, compiles it. */
#include "base/clock.h"
#include "ir/query.h"
#include "lower/lower.h"
#include "measure/worker/job_builder.h"
#include <string.h>

typedef struct building {
  job_state *j;
  const job_build *r;
  measure_build *out;
} building;

/* Leaves the scheduled program in the machine. */
static tess_status replay_trace(building *w) {
  job_state *j = w->j;
  const job_build *r = w->r;
  const ir_program *base = job_program(j, r->base);
  const vm_trace *trace = base ? job_trace(j, r->trace) : NULL;
  if (!trace) return j->err.code;
  vm_replay_opts o = {.source = r->given ? VM_GIVEN : VM_SAME,
                      .given = r->decisions,
                      .ngiven = r->ndecisions};
  tess_status s = vm_replay(&j->builder->machine, base, trace, &o, NULL);
  if (s == TESS_OK || s == TESS_NOMEM) return s;
  strbuf text;
  str_init(&text, &j->heap);
  vm_failure_text(&j->builder->machine, trace, &text);
  err_set(&j->err, TESS_BUILD_ERROR, "replay: %s",
          str_or(&text, "out of memory"));
  str_free(&text);
  return TESS_BUILD_ERROR;
}

static tess_status take_base(building *w) {
  const ir_program *base = job_program(w->j, w->r->base);
  if (!base) return w->j->err.code;
  ir_program_copy(&w->j->builder->machine.prog, base);
  return TESS_OK;
}

static tess_status take_program(building *w) {
  switch ((job_kind)w->r->kind) {
  case JOB_OF_BASE: return take_base(w);
  case JOB_OF_TRACE: return replay_trace(w);
  case JOB_OF_PROGRAM:
    return job_restore(w->j, &w->j->builder->machine.prog, w->r->program.v,
                       w->r->program.n);
  }
  return err_set(&w->j->err, TESS_INFRA, "an unknown kind of candidate");
}

/* Compiles the function that converts parameters, which precedes the kernel's
 * code in the bundle. */
static tess_status compile_convert(job_state *j, const lower_prepared *what,
                                   const lower_options *o, strbuf *out) {
  strbuf code;
  str_init(&code, &j->heap);
  tess_status s = lower_program(&j->builder->convert, &j->scratch, o, &j->err);
  if (!s)
    s = j->backend->compile(&j->builder->convert, &j->scratch, &j->target,
                            BACKEND_CODE, &code, &j->err);
  if (!s) s = str_status(&code);
  if (!s) bundle_write_head(out, what, &code);
  str_free(&code);
  return s;
}

tess_status job_compile(job_state *j, ir_program *p, backend_form form,
                        strbuf *out, double *lower, double *compile) {
  lower_options o = {.vector_bytes = (uint32_t)j->target.vector_bytes,
                     .no_threads = j->no_threads,
                     .stop_after = j->backend->passes,
                     .mark_vthreads = j->backend->marks_vthreads,
                     .open_fragments = target_opens_fragments(&j->target),
                     .note = j->note};
  double start = clock_now();
  lower_prepared what;
  /* What is deployed is one function, which converts parameters itself. */
  bool converts =
      form != BACKEND_OBJECT &&
      lower_split_prepare(p, &j->scratch, &j->builder->convert, &what);
  tess_status s = lower_program(p, &j->scratch, &o, &j->err);
  double lowered = clock_now();
  *lower = lowered - start;
  if (!s && converts && form == BACKEND_CODE)
    s = compile_convert(j, &what, &o, out);
  if (!s)
    s = j->backend->compile(p, &j->scratch, &j->target, form, out, &j->err);
  *compile = clock_now() - lowered;
  return s;
}

static tess_status build_candidate(void *ud) {
  building *w = ud;
  job_state *j = w->j;
  measure_build *out = w->out;
  double start = clock_now();
  tess_status s = job_set_target(j, w->r->target);
  if (!s) s = backend_check_form(j->backend, w->r->form, &j->err);
  if (!s) s = take_program(w);
  if (s) return s;
  out->program_hash = ir_hash(&j->builder->machine.prog, &j->scratch);
  out->replay = clock_now() - start;
  return job_compile(j, &j->builder->machine.prog, (backend_form)w->r->form,
                     &out->code, &out->lower, &out->compile);
}

/* Every failure is a result of the candidate, except for the machine's lack of
 * memory. */
void job_do_build(job_state *j, const job_build *r, measure_build *out) {
  building w = {j, r, out};
  *out = (measure_build){.status = TESS_OK};
  str_init(&out->message, &j->heap);
  str_init(&out->code, &j->heap);
  err_clear(&j->err);
  job_enter(j, JOB_BUILDING);
  j->note = &out->message;
  tess_status s = mem_protect(&j->heap, build_candidate, &w);
  j->note = NULL;
  arena_reset(&j->scratch);
  if (!s) s = str_status(&out->code);
  if (s) {
    str_clear(&out->message);
    job_say(&out->message, job_why(j, s));
    str_clear(&out->code);
  }
  bool as_it_is = !s || s == TESS_INFRA || s == TESS_NOMEM;
  out->status = as_it_is ? s : TESS_BUILD_ERROR;
  job_enter(j, JOB_IDLE);
}
