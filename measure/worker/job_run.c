/* SPDX-License-Identifier: Apache-2.0
 * Runs candidates: a first launch between guard pages, samples of the time, and
 * the comparison with the reference. */
#include "base/clock.h"
#include "measure/worker/job_state.h"
#include "measure/timing.h"
#include <math.h>
#include <string.h>

typedef struct running {
  job_state *j;
  const job_run *r;
  measure_result *out;
  job_times *times;
  bundle code[JOB_MAX_KERNELS];
  bundle_args made[JOB_MAX_KERNELS];
} running;

/* One kernel of a run. */
typedef struct kernel {
  running *w;
  const bundle *code;
  const bundle_args *made;
  void **args;    /* where parameters are converted, else NULL */
  bool is_there;  /* a device has the tensors, and samples run on these */
  int32_t status; /* of the launch that failed */
  bool is_beaten; /* its first launch ended early */
} kernel;

/* ---- launches ----------------------------------------------------------- */

/* `runs` launches in a row, counted as kernel time; false: one failed. */
static bool launch_counted(void *ud, uint64_t runs, double *seconds) {
  kernel *k = ud;
  bench *b = &k->w->j->bench;
  void **args = b->args;
  if (b->in_place) bench_reset(b);
  if (k->args) {
    memcpy(k->args, b->args, b->n * sizeof *args);
    bundle_replace(k->code, k->made, k->args);
    args = k->args;
  }
  k->status =
      backend_time(k->code->backend, k->code->kernel, k->is_there ? NULL : args,
                   NULL, NULL, &b->rt.rt, runs, seconds);
  k->w->times->kernel += *seconds;
  return k->status == 0;
}

/* A device keeps the tensors after a launch: samples need no copies, unless the
 * kernel overwrites its inputs. */
static void keep_tensors(kernel *k) {
  k->is_there = k->code->backend->device && !k->w->j->bench.in_place;
}

tess_status job_launch_failed(job_state *j, const backend *by,
                              const backend_code *code, int32_t status) {
  char why[BACKEND_WHY];
  return err_set(&j->err, TESS_LAUNCH_ERROR, "%s",
                 backend_why(by, code, status, why));
}

static tess_status run_failed(const kernel *k) {
  return job_launch_failed(k->w->j, k->code->backend, k->code->kernel,
                           k->status);
}

/* A launch that need not go on for longer; *seconds: how long it lasts, or
 * would have lasted.  Only kernels with parallel loops can be ended so. */
static bool launch_watched(kernel *k, double longest, double *seconds) {
  runtime *rt = &k->w->j->bench.rt;
  runtime_watch(rt, longest);
  bool ok = launch_counted(k, 1, seconds);
  double expected = runtime_unwatch(rt);
  k->is_beaten = !ok && expected > 0;
  if (k->is_beaten) *seconds = expected;
  return ok || k->is_beaten;
}

/* The launch whose writes are checked: outputs poisoned and placed against the
 * guard pages behind them. */
static tess_status launch_guarded(kernel *k, double longest, double *seconds) {
  job_state *j = k->w->j;
  bench_place(&j->bench, GUARD_BACK);
  bench_reset(&j->bench);
  k->is_there = false;
  job_enter(j, JOB_RUNNING);
  bool ok = launch_watched(k, longest, seconds);
  job_enter(j, JOB_CHECKING);
  if (!ok) return run_failed(k);
  keep_tensors(k);
  return k->is_beaten ? bench_check_guards(&j->bench, &j->err)
                      : bench_inspect(&j->bench, &j->err);
}

/* Of a success the message is the state of the device's clocks. */
static void note_clocks(const kernel *k, measure_result *out) {
  char text[160];
  const backend_device *device = k->code->backend->device;
  if (!device || !device->clocks) return;
  device->clocks(k->code->kernel, text, sizeof text);
  if (text[0]) job_say(&out->message, text);
}

static tess_status check_outputs(running *w, measure_result *out) {
  job_state *j = w->j;
  double start = clock_now();
  if (!j->bench.reference.map)
    return err_set(&j->err, TESS_INFRA, "there is no reference");
  tess_status s = bench_compare(&j->bench, &out->error, &out->bound, &j->err);
  out->checked = true;
  w->times->check += clock_now() - start;
  return s;
}

/* ---- one kernel --------------------------------------------------------- */

static void note_single(running *w, measure_result *out, double seconds) {
  vec_clear(&out->sample);
  vec_push(&w->j->heap, &out->sample, seconds);
  out->runs = 1;
  out->cut_off = true;
}

/* Whether a run is `times` times slower than the policy's cutoff.  A first
 * launch may be slow for other reasons, so it needs a larger factor. */
static bool is_hopeless(const job_run *r, double seconds, double times) {
  return r->best > 0 && r->cutoff > 0 && seconds > times * r->cutoff * r->best;
}

/* Too slow for three more runs within the time-out. */
static bool is_slow(const job_run *r, double seconds) {
  return seconds > r->timeout / 4;
}

/* A long first launch tells whether the kernel can win, as a sample does, but
 * on a device, whose clocks it may find asleep. */
static bool tells_time(const kernel *k, double first) {
  return first >= TIMING_LONG && !k->code->backend->device;
}

/* A short kernel is warmed up by one more launch; *faster: the shorter one.
 * *is_enough: it is too slow to be sampled. */
static tess_status warm_up(running *w, kernel *k, double first, double *faster,
                           bool *is_enough) {
  *faster = first;
  *is_enough = is_hopeless(w->r, first, 2) || is_slow(w->r, first);
  if (*is_enough || tells_time(k, first)) return TESS_OK;
  double second;
  if (!launch_counted(k, 1, &second)) return run_failed(k);
  if (second < first) *faster = second;
  *is_enough = is_hopeless(w->r, *faster, 1);
  return TESS_OK;
}

static timing_limits limits_of(const job_run *r) {
  return (timing_limits){r->min_time, r->repeats, clock_now() + r->timeout / 2,
                         r->best, r->margin};
}

/* From when on a first launch tells that the kernel is beaten, which is then
 * all that is asked of it; but what is compared runs whole. */
static double longest_first(const job_run *r) {
  timing_limits l = limits_of(r);
  bool compares = r->only_check || r->check == MEASURE_CHECK_ALWAYS;
  return compares ? INFINITY : fmax(TIMING_LONG, timing_longest(&l, 0));
}

static tess_status take_samples(running *w, kernel *k, double first,
                                measure_result *out) {
  job_state *j = w->j;
  timing_limits l = limits_of(w->r);
  bool is_enough = false;
  out->first = tells_time(k, first) ? first : 0;
  if (k->is_beaten || (out->first > 0 && timing_is_beaten(&l, 0, first))) {
    note_single(w, out, first);
    return TESS_OK;
  }
  bench_place(&j->bench, GUARD_FRONT);
  bench_reset(&j->bench);
  job_enter(j, JOB_SAMPLING);
  double faster;
  tess_status st = warm_up(w, k, first, &faster, &is_enough);
  if (st) return st;
  if (is_enough) {
    note_single(w, out, faster);
    return TESS_OK;
  }
  timing_subject s = {launch_counted, k, faster, j->bench.in_place};
  if (!timing_take(&j->heap, &l, 1, &s, &out)) return run_failed(k);
  note_clocks(k, out);
  job_enter(j, JOB_CHECKING);
  bool is_here = !j->bench.in_place && !k->is_there;
  return is_here ? bench_inspect(&j->bench, &j->err) : TESS_OK;
}

static tess_status run_one(running *w, kernel *k, measure_result *out) {
  const job_run *r = w->r;
  double first;
  tess_status s = launch_guarded(k, longest_first(r), &first);
  if (!s && (r->only_check || r->check == MEASURE_CHECK_ALWAYS))
    s = check_outputs(w, out);
  if (r->only_check) return s;
  if (!s) s = take_samples(w, k, first, out);
  if (!s) timing_summarize(&w->j->heap, out);
  bool is_best = r->best <= 0 || out->median < r->best;
  if (s || r->check != MEASURE_CHECK_IF_BEST || !is_best) return s;
  s = launch_guarded(k, INFINITY, &first);
  return s ? s : check_outputs(w, out);
}

/* ---- several, interleaved ----------------------------------------------- */

/* Warms each kernel up first; those that fail then are left out. */
static tess_status run_several(running *w, kernel *k) {
  job_state *j = w->j;
  timing_subject subject[JOB_MAX_KERNELS];
  measure_result *out[JOB_MAX_KERNELS];
  uint32_t n = 0;
  tess_status worst = TESS_OK;
  bench_place(&j->bench, GUARD_FRONT);
  for (uint32_t i = 0; i < w->r->n; i++) {
    double seconds;
    if (w->out[i].status) continue;
    bench_reset(&j->bench);
    job_enter(j, JOB_RUNNING);
    if (!launch_counted(&k[i], 1, &seconds)) {
      worst = w->out[i].status = run_failed(&k[i]);
      job_say(&w->out[i].message, j->err.message);
      continue;
    }
    keep_tensors(&k[i]);
    subject[n] = (timing_subject){.run = launch_counted,
                                  .ud = &k[i],
                                  .estimate = seconds,
                                  .alone = j->bench.in_place};
    out[n++] = &w->out[i];
  }
  timing_limits l = {.min_time = w->r->min_time,
                     .repeats = w->r->repeats,
                     .deadline = clock_now() + n * w->r->timeout / 2};
  job_enter(j, JOB_RUNNING);
  if (n && !timing_take(&j->heap, &l, n, subject, out))
    return err_set(&j->err, TESS_LAUNCH_ERROR, "a kernel failed late");
  job_enter(j, JOB_CHECKING);
  for (uint32_t i = 0; i < n; i++) {
    timing_summarize(&j->heap, out[i]);
    note_clocks(subject[i].ud, out[i]);
  }
  return worst;
}

/* ---- the request -------------------------------------------------------- */

/* Converts the parameters whose layout kernel i's schedule transformed,
 * once. */
static tess_status convert_kernel_layouts(running *w, kernel *k, uint32_t i) {
  job_state *j = w->j;
  bench *b = &j->bench;
  if (!w->code[i].convert) return TESS_OK;
  k->args = arena_alloc(&j->scratch, b->n * sizeof *k->args);
  int32_t status = bundle_convert(&w->code[i], b->args, &b->rt.rt, &w->made[i]);
  return status ? job_launch_failed(j, NULL, NULL, status) : TESS_OK;
}

/* Code that cannot be linked is a build error, as in tess_build. */
static tess_status load_failed(job_state *j, tess_status s) {
  if (s == TESS_BUILD_ERROR)
    return err_set(&j->err, s, "linking: %s", job_why(j, s));
  return err_set(&j->err, s == TESS_NOMEM ? s : TESS_LAUNCH_ERROR,
                 "loading: %s", job_why(j, s));
}

static tess_status load_all(running *w, kernel *k) {
  job_state *j = w->j;
  job_enter(j, JOB_LOADING);
  for (uint32_t i = 0; i < w->r->n; i++) {
    tess_status s = bundle_load(&j->heap, j->backend, w->r->code[i].v,
                                w->r->code[i].n, &w->code[i], &j->err);
    if (s) return load_failed(j, s);
    k[i] = (kernel){.w = w, .code = &w->code[i], .made = &w->made[i]};
    s = convert_kernel_layouts(w, &k[i], i);
    if (s) return s;
  }
  return TESS_OK;
}

static tess_status run_kernels(void *ud) {
  running *w = ud;
  job_state *j = w->j;
  kernel k[JOB_MAX_KERNELS];
  double start = clock_now();
  job_enter(j, JOB_PREPARING);
  tess_status s = job_set_target(j, w->r->bench.target);
  if (!s) s = job_set_bench(j, &w->r->bench);
  if (!s && w->r->has_reference)
    s = bench_set_reference(&j->bench, w->r->reference.v, w->r->reference.n,
                            &j->err);
  w->times->prepare = clock_now() - start;
  if (s)
    return err_set(&j->err, s == TESS_NOMEM ? s : TESS_INFRA,
                   "preparing tensors: %s", job_why(j, s));
  s = load_all(w, k);
  if (s) return s;
  const backend_device *device = j->backend->device;
  if (device && device->keep_caches) device->keep_caches(w->r->warm_cache);
  return w->r->n == 1 ? run_one(w, k, w->out) : run_several(w, k);
}

void job_do_run(job_state *j, const job_run *r, measure_result *out,
                job_times *times) {
  running w = {.j = j, .r = r, .out = out, .times = times};
  *times = (job_times){0};
  for (uint32_t i = 0; i < r->n; i++) {
    out[i] = (measure_result){.status = TESS_OK};
    str_init(&out[i].message, &j->heap);
  }
  err_clear(&j->err);
  tess_status s = mem_protect(&j->heap, run_kernels, &w);
  for (uint32_t i = 0; i < r->n; i++) {
    bundle_args_free(&w.made[i]);
    bundle_unload(&w.code[i]);
    bool is_its_own = r->n == 1 || !out[i].sample.n;
    if (!s || out[i].status || !is_its_own) continue;
    out[i].status = s == TESS_LIMIT ? TESS_INFRA : s;
    job_say(&out[i].message, job_why(j, s));
  }
  arena_reset(&j->scratch);
  job_enter(j, JOB_IDLE);
}
