/* SPDX-License-Identifier: Apache-2.0
 * Calls a kernel on copies of the caller's tensors, or on those that are on the
 * device, once or to time it.  The last kernel stays loaded, since loading may
 * compile. */
#include "base/hash.h"
#include "measure/timing.h"
#include "measure/worker/job_state.h"
#include <math.h>
#include <string.h>

typedef struct called {
  job_state *j;
  const job_call *r;
  measure_result *out;
  strbuf *contents;
  void **args;
  void **resident; /* by argument: memory of the device, or NULL */
  runtime rt;
  bool has_rt;
  bool is_there; /* a device has the arguments from the run before */
  bundle_args made;
  int32_t status;
} called;

/* ---- loading -------------------------------------------------------- */

static tess_status load_called(called *w) {
  job_state *j = w->j;
  const job_call *r = w->r;
  uint64_t hash = hash_mix(hash_bytes(r->code.v, r->code.n),
                           hash_bytes(r->target, strlen(r->target)));
  if (hash == j->called_hash) return TESS_OK;
  bundle_unload(&j->called);
  j->called_hash = 0;
  job_enter(j, JOB_LOADING);
  tess_status s = bundle_load(&j->heap, j->backend, r->code.v, r->code.n,
                              &j->called, &j->err);
  if (!s) j->called_hash = hash;
  return s;
}

/* Host memory at the alignment of tensors. */
static void *aligned_room(job_state *j, size_t bytes) {
  enum { ALIGN = 64 };
  char *at = arena_alloc(&j->scratch, bytes + ALIGN);
  return at + (ALIGN - (uintptr_t)at % ALIGN) % ALIGN;
}

static bool is_converted(const bundle *b, uint32_t param) {
  for (uint32_t i = 0; b->convert && i < b->n; i++)
    if (b->param[i] == param) return true;
  return false;
}

/* An argument on the device; the function that converts layouts takes the
 * host's memory. */
static tess_status take_resident(called *w, uint32_t i) {
  job_resident *x = job_find_resident(w->j, w->r->resident[i]);
  if (!x) return job_lost_resident(&w->j->err);
  if (!is_converted(&w->j->called, i)) {
    w->resident[i] = x->memory;
    return TESS_OK;
  }
  w->args[i] = aligned_room(w->j, x->bytes);
  return job_read_resident(w->j, x->id, w->args[i]);
}

static tess_status take_arguments(called *w) {
  const job_call *r = w->r;
  tess_status s = TESS_OK;
  w->args = arena_array(&w->j->scratch, void *, r->n + 1);
  w->resident = arena_zalloc(&w->j->scratch, (r->n + 1) * sizeof(void *));
  for (uint32_t i = 0; i < r->n && !s; i++) {
    w->args[i] = NULL;
    if (r->resident[i]) {
      s = take_resident(w, i);
      continue;
    }
    w->args[i] = aligned_room(w->j, r->arg[i].n);
    memcpy(w->args[i], r->arg[i].v, r->arg[i].n);
  }
  return s;
}

/* ---- running -------------------------------------------------------- */

static bool run_called(void *ud, uint64_t runs, double *seconds) {
  called *w = ud;
  const backend *by = w->j->backend;
  void **args = w->is_there ? NULL : w->args;
  w->status = backend_time(by, w->j->called.kernel, args, w->resident,
                           w->r->sizes, &w->rt.rt, runs, seconds);
  w->is_there = by->device && !w->status;
  return !w->status;
}

static bool take_times(called *w) {
  double first, second;
  measure_result *out = w->out;
  timing_limits l = {.min_time = w->r->min_time,
                     .repeats = w->r->repeats,
                     .deadline = INFINITY};
  if (!run_called(w, 1, &first)) return false;
  if (w->r->min_time <= 0) return true;
  if (!run_called(w, 1, &second)) return false;
  timing_subject s = {
      .run = run_called, .ud = w, .estimate = fmax(fmin(first, second), 1e-9)};
  if (!timing_take(&w->j->heap, &l, 1, &s, &out)) return false;
  timing_summarize(&w->j->heap, out);
  return true;
}

static tess_status run_all(called *w) {
  job_state *j = w->j;
  job_enter(j, JOB_RUNNING);
  runtime_init(&w->rt, j->heap.alloc, w->r->threads ? w->r->threads : 1);
  w->has_rt = true;
  w->status = bundle_convert(&j->called, w->args, &w->rt.rt, &w->made);
  void **own = arena_array(&j->scratch, void *, w->r->n + 1);
  memcpy(own, w->args, w->r->n * sizeof *own);
  if (!w->status) bundle_replace(&j->called, &w->made, w->args);
  const backend *by = w->status ? NULL : j->backend;
  if (!w->status) take_times(w);
  job_enter(j, JOB_CHECKING);
  if (w->status) return job_launch_failed(j, by, j->called.kernel, w->status);
  for (uint32_t i = 0; i < w->r->n; i++)
    if (w->r->written[i] && !w->r->resident[i])
      str_write(w->contents, own[i], w->r->arg[i].n);
  return str_status(w->contents);
}

static tess_status call_all(void *ud) {
  called *w = ud;
  tess_status s = job_set_target(w->j, w->r->target);
  if (s) return s;
  s = load_called(w);
  if (s) return s;
  s = take_arguments(w);
  return s ? s : run_all(w);
}

void job_do_call(job_state *j, const job_call *r, measure_result *out,
                 strbuf *contents) {
  called w = {.j = j, .r = r, .out = out, .contents = contents};
  *out = (measure_result){.status = TESS_OK};
  str_init(&out->message, &j->heap);
  err_clear(&j->err);
  out->status = mem_protect(&j->heap, call_all, &w);
  if (out->status) {
    job_say(&out->message, job_why(j, out->status));
    str_clear(contents);
  }
  if (w.has_rt) {
    bundle_args_free(&w.made);
    runtime_free(&w.rt);
  }
  arena_reset(&j->scratch);
  job_enter(j, JOB_IDLE);
}
