/* SPDX-License-Identifier: Apache-2.0
 * The public functions that run and time kernels: tess_kernel_run,
 * tess_kernel_prepare, tess_kernel_time. */
#include "ir/query.h"
#include "measure/arguments.h"
#include "measure/context.h"
#include "measure/timing.h"
#include <math.h>

typedef struct running {
  kernel_call x;
  tess_kernel *k;
  const tess_runtime *rt;
  int32_t status;
  double min_time;
  measure_result times;
} running;

static tess_status kernel_failed(const running *w) {
  if (w->status == TESS_CANCELLED)
    return ctx_fail(w->x.c, TESS_CANCELLED, "cancelled");
  if (w->status == TESS_NOMEM)
    return ctx_fail(w->x.c, TESS_NOMEM, "memory ran out in the kernel");
  char why[BACKEND_WHY];
  const bundle *code = &w->k->code;
  return ctx_fail(w->x.c, TESS_LAUNCH_ERROR, "%s",
                  backend_why(code->backend, code->kernel, w->status, why));
}

/* Converts the parameters whose layout the schedule transformed. */
static tess_status convert_layouts(running *w) {
  tess_kernel *k = w->k;
  bundle_args_free(&k->made);
  w->status = bundle_convert(&k->code, w->x.args, w->rt, &k->made);
  if (w->status) return kernel_failed(w);
  bundle_replace(&k->code, &k->made, w->x.args);
  return TESS_OK;
}

static tess_status prepare_call(running *w, tess_kernel *k, uint32_t n,
                                tess_tensor *const *args) {
  *w = (running){
      .x = {.c = k->c, .p = &k->program->p, .k = k, .n = n, .tensor = args},
      .k = k};
  if (k->foreign) return ctx_fail(k->c, TESS_UNSUPPORTED, "%s", k->foreign);
  tess_status s = arguments_bind(&w->x);
  if (s || k->remote.n) return s;
  w->rt = tess_default_runtime(
      k->c, k->threads ? k->threads : (uint32_t)k->target.num_cores);
  return w->rt ? convert_layouts(w) : k->c->err.code;
}

void tess_kernel_set_threads(tess_kernel *k, uint32_t threads) {
  k->threads = threads;
}

static int32_t launch_once(running *w) {
  const bundle *code = &w->k->code;
  return backend_launch(code->backend, code->kernel, w->x.args, w->x.sizes,
                        w->rt);
}

/* A kernel that only workers may load is called in one, with copies of tensors
 * that are not on its device; *times as of measure_call_kernel, to be freed. */
static tess_status call_remotely(running *w, double min_time) {
  tess_kernel *k = w->k;
  measure_pool *pool;
  size_t bytes[ARGUMENTS_MAX];
  bool written[ARGUMENTS_MAX];
  uint64_t resident[ARGUMENTS_MAX];
  measure_call asked = {.target = k->target_text,
                        .code = &k->remote,
                        .n = w->x.n,
                        .args = w->x.args,
                        .bytes = bytes,
                        .resident = resident,
                        .written = written,
                        .nsizes = ir_entry(w->x.p)->sizes.n,
                        .sizes = w->x.sizes,
                        .min_time = min_time,
                        .repeats = measure_default_policy(1).repeats,
                        .threads = k->threads ? k->threads
                                              : (uint32_t)k->target.num_cores};
  for (uint32_t i = 0; i < w->x.n; i++) {
    bytes[i] = w->x.tensor[i]->bytes;
    resident[i] = w->x.tensor[i]->resident;
    written[i] = arguments_written(&w->x, i);
  }
  tess_status s = measure_context_pool(k->c, &pool);
  if (s) return s;
  s = measure_call_kernel(pool, &asked, &w->times);
  if (!s) return s;
  const char *why = str_get(&w->times.message);
  return ctx_fail(k->c, s, "%s", why && *why ? why : err_status_text(s));
}

typedef struct remote_call {
  running *w;
  double min_time;
} remote_call;

static tess_status run_remotely(void *ud) {
  remote_call *r = ud;
  return call_remotely(r->w, r->min_time);
}

tess_status tess_kernel_run(tess_kernel *k, uint32_t n,
                            tess_tensor *const *args) {
  running w;
  tess_status s = prepare_call(&w, k, n, args);
  if (s) return s;
  if (k->remote.n) {
    remote_call r = {&w, 0};
    ctx_begin_work(k->c);
    s = ctx_run(k->c, run_remotely, &r);
    ctx_end_work(k->c);
    measure_result_free(&w.times);
    return s;
  }
  w.status = launch_once(&w);
  return w.status ? kernel_failed(&w) : TESS_OK;
}

tess_status tess_kernel_prepare(tess_kernel *k, uint32_t n,
                                tess_tensor *const *args, void **out) {
  running w;
  tess_status s = prepare_call(&w, k, n, args);
  if (!s && k->remote.n)
    s = ctx_fail(k->c, TESS_UNSUPPORTED,
                 "the kernel runs on a device, in a worker: it has no "
                 "arguments in this process");
  for (uint32_t i = 0; !s && i < n; i++) out[i] = w.x.args[i];
  return s;
}

static bool launch_timed(void *ud, uint64_t runs, double *seconds) {
  running *w = ud;
  if (thread_flag_is_raised(&w->x.c->stop)) w->status = TESS_CANCELLED;
  const bundle *code = &w->k->code;
  *seconds = 0;
  if (!w->status)
    w->status = backend_time(code->backend, code->kernel, w->x.args, NULL,
                             w->x.sizes, w->rt, runs, seconds);
  return w->status == 0;
}

/* Times a kernel after one warm-up run and one run for an estimate. */
static tess_status time_kernel(void *ud) {
  running *w = ud;
  if (w->k->remote.n)
    return call_remotely(
        w, w->min_time > 0 ? w->min_time : measure_default_policy(1).min_time);
  mem_heap *heap = &w->x.c->heap;
  measure_result *out = &w->times;
  double first, second;
  measure_policy p = measure_default_policy(1);
  timing_limits l = {.min_time = w->min_time > 0 ? w->min_time : p.min_time,
                     .repeats = p.repeats,
                     .deadline = INFINITY};
  bool ok = launch_timed(w, 1, &first) && launch_timed(w, 1, &second);
  if (ok) {
    timing_subject s = {
        .run = launch_timed, .ud = w, .estimate = fmin(first, second)};
    ok = timing_take(heap, &l, 1, &s, &out);
  }
  if (!ok) return kernel_failed(w);
  timing_summarize(heap, out);
  return TESS_OK;
}

tess_status tess_kernel_time(tess_kernel *k, uint32_t n,
                             tess_tensor *const *args, double min_time,
                             tess_timing *out) {
  running w;
  tess_status s = prepare_call(&w, k, n, args);
  if (s) return s;
  if (!(min_time >= 0 && isfinite(min_time)))
    return ctx_fail(k->c, TESS_INVALID,
                    "min_time is %g, not a time in seconds: give a number that "
                    "is at least 0",
                    min_time);
  s = ctx_fits(k->c, tess_timing, out);
  if (s) return s;
  w.min_time = min_time;
  ctx_begin_work(k->c);
  s = ctx_run(k->c, time_kernel, &w);
  ctx_end_work(k->c);
  const measure_result *r = &w.times;
  const tess_timing timing = {.median = r->median,
                              .min = r->min,
                              .mean = r->mean,
                              .stddev = r->stddev,
                              .repeats = r->sample.n,
                              .runs = r->runs};
  if (!s) s = ctx_give(k->c, tess_timing, &timing, out);
  if (k->remote.n)
    measure_result_free(&w.times);
  else
    vec_free(&k->c->heap, &w.times.sample);
  return s;
}
