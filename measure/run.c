/* SPDX-License-Identifier: Apache-2.0
 * Runs, times and compares kernels, on the one worker that times or in this
 * process. */
#include "base/clock.h"
#include "measure/worker/crew.h"
#include <math.h>
#include <string.h>

/* Time-outs of work that does not depend on the candidate. */
static double preparation_of(const measure_pool *p) {
  enum { SECONDS = 300 };
  return p->config.preparation > 0 ? p->config.preparation : SECONDS;
}

static double reference_of(const measure_pool *p) {
  enum { SECONDS = 600 };
  return p->config.reference > 0 ? p->config.reference : SECONDS;
}

/* One request to the worker that times. */
typedef struct asking {
  crew_work work;
  measure_pool *pool;
  measure_task *task;
  const job_run *run;
  measure_result *out;
  job_times times;
  job_reference *reference;             /* the request is for it, not a run */
  measure_result here[JOB_MAX_KERNELS]; /* in process: as the job made them */
} asking;

static job_bench bench_of(const measure_task *t) {
  return (job_bench){.base = t->key,
                     .seed = t->policy.seed,
                     .inputs = t->policy.inputs,
                     .target = str_get(&t->target),
                     .threads = t->policy.threads};
}

static void start_results(measure_pool *p, uint32_t n, measure_result *out) {
  for (uint32_t i = 0; i < n; i++) {
    out[i] = (measure_result){.status = TESS_NOMEM};
    pool_set_result(p, &out[i], TESS_NOMEM, "out of memory");
  }
}

static void fail_all(const asking *a, tess_status s, const char *why) {
  if (a->reference) {
    a->reference->status = s;
    job_say(&a->reference->message, why);
    return;
  }
  for (uint32_t i = 0; i < a->run->n; i++)
    pool_set_result(a->pool, &a->out[i], s, why);
}

/* ---- by the worker ------------------------------------------------------ */

static tess_status send_request(crew_work *work, uint32_t i, worker *w) {
  asking *a = (asking *)work;
  (void)i;
  const measure_task *t = a->task;
  strbuf body;
  str_init(&body, a->pool->heap);
  tess_status sent = pool_send_thing(w, JOB_PROGRAM, t->key, &t->program);
  if (!sent && t->policy.inputs) sent = pool_send_inputs(w, t);
  if (a->reference) {
    job_bench r = bench_of(t);
    if (a->pool->via) r.target = "llvm"; /* of this machine */
    wire_write_bench(&body, &r);
    if (!sent) sent = worker_send(w, FRAME_REFERENCE, &body);
  } else {
    job_run r = *a->run;
    r.has_reference = t->has_reference && w->reference != t->bench;
    if (r.has_reference)
      r.reference = (job_bytes){t->reference.v, t->reference.n};
    wire_write_run(&body, &r);
    if (!sent) sent = worker_send(w, FRAME_RUN, &body);
  }
  str_free(&body);
  return sent;
}

static bool take_run(crew_work *work, uint32_t i, worker *w, const void *body,
                     size_t n) {
  asking *a = (asking *)work;
  (void)i;
  if (!wire_read_ran(body, n, a->pool->heap, a->run->n, a->out, &a->times))
    return false;
  w->reference = a->task->has_reference ? a->task->bench : 0;
  return true;
}

static bool take_reference(crew_work *work, uint32_t i, worker *w,
                           const void *body, size_t n) {
  asking *a = (asking *)work;
  (void)i;
  if (!wire_read_reference(body, n, a->reference)) return false;
  w->reference = a->reference->status ? 0 : a->task->bench;
  return true;
}

/* The one sample of a kernel that was ended: what it had run for. */
static void take_ended(const asking *a, double seconds) {
  measure_result *out = a->out;
  pool_set_result(a->pool, out, TESS_OK, "");
  vec_push(a->pool->heap, &out->sample, seconds);
  timing_summarize(a->pool->heap, out);
  out->runs = 1;
  out->cut_off = true;
}

static void fail_request(crew_work *work, uint32_t i, tess_status s,
                         const char *why) {
  asking *a = (asking *)work;
  double limit = work->limit[JOB_RUNNING];
  bool is_slow = work->is_slow && !a->reference;
  (void)i;
  if (work->is_stuck) job_say(&a->task->stuck, why);
  if (s == TESS_TIMEOUT && is_slow && limit < a->task->policy.timeout)
    take_ended(a, limit);
  else
    fail_all(a, s, why);
}

/* A first launch that lasts much longer than the best is not waited for: the
 * worker is ended, where another is soon there.  What may never end is, so that
 * it is not taken for what is slow; a program's own loops all end. */
static double longest_launch(const asking *a) {
  enum { TIMES = 4 }; /* the policy's cutoff */
  static const double soon = 0.25;
  const job_run *r = a->run;
  const measure_task *t = a->task;
  double timeout = t->policy.timeout, best = r->best * r->cutoff;
  bool waits =
      best <= 0 || r->only_check || t->on_device || t->may_hang || a->pool->via;
  if (waits) return timeout;
  return fmin(timeout, fmax(TIMES * best, soon + 2 * t->prepare));
}

/* The phases' time-outs: the policy's for a candidate's run, generous ones for
 * work on the unscheduled program. */
static void set_limits(asking *a) {
  double *limit = a->work.limit;
  double prepare = preparation_of(a->pool);
  for (int i = 0; i <= JOB_CHECKING; i++)
    limit[i] = a->reference ? reference_of(a->pool) : prepare;
  limit[JOB_PREPARING] = prepare;
  limit[JOB_IDLE] = crew_patience(a->pool);
  if (a->reference) return;
  double timeout = a->task->policy.timeout;
  limit[JOB_RUNNING] = a->run->n > 1 ? timeout * a->run->n : longest_launch(a);
  limit[JOB_SAMPLING] = timeout;
}

static tess_status perform_in_worker(asking *a) {
  a->work = (crew_work){
      .n = 1,
      .send = send_request,
      .reply = a->reference ? FRAME_REFERRED : FRAME_RAN,
      .take = a->reference ? take_reference : take_run,
      .fail = fail_request,
  };
  set_limits(a);
  bool here = a->reference && a->pool->via;
  worker *by = here ? &a->pool->referee : &a->pool->runner;
  return crew_run(a->pool, by, 1, &a->work);
}

/* ---- in process --------------------------------------------------------- */

static void copy_result(measure_pool *p, measure_result *to,
                        const measure_result *from) {
  measure_result_free(to);
  *to = *from;
  str_init(&to->message, p->heap);
  str_write(&to->message, from->message.v, from->message.n);
  to->sample.v = NULL;
  to->sample.n = to->sample.cap = 0;
  vec_copy(p->heap, &to->sample, &from->sample);
}

static tess_status perform_in_process(asking *a) {
  measure_pool *p = a->pool;
  job_state *j = pool_local(p, p->nbuilders, a->task);
  if (!j) return TESS_NOMEM;
  if (a->reference) {
    job_bench r = bench_of(a->task);
    job_reference got;
    job_do_reference(j, &r, &got);
    a->reference->status = got.status;
    a->reference->seconds = got.seconds;
    a->reference->launch = got.launch;
    str_write(&a->reference->message, got.message.v, got.message.n);
    str_write(&a->reference->note, got.note.v, got.note.n);
    str_write(&a->reference->outputs, got.outputs.v, got.outputs.n);
    job_reference_free(&got);
    return TESS_OK;
  }
  job_run r = *a->run;
  r.has_reference = a->task->has_reference;
  r.reference = (job_bytes){a->task->reference.v, a->task->reference.n};
  job_do_run(j, &r, a->here, &a->times);
  for (uint32_t i = 0; i < r.n; i++) copy_result(p, &a->out[i], &a->here[i]);
  return TESS_OK;
}

static tess_status perform_request(void *ud) {
  asking *a = ud;
  if (pool_is_cancelled(a->pool)) {
    fail_all(a, TESS_CANCELLED, "cancelled");
    return TESS_CANCELLED;
  }
  tess_status as;
  const char *stuck = measure_task_stuck(a->task, &as);
  if (stuck) {
    fail_all(a, TESS_INFRA, stuck);
    return TESS_OK;
  }
  return a->pool->config.in_process ? perform_in_process(a)
                                    : perform_in_worker(a);
}

/* ---- requests ----------------------------------------------------------- */

static job_run run_request(const measure_task *t, uint32_t n,
                           const strbuf *const *code) {
  const measure_policy *p = &t->policy;
  job_run r = {.bench = bench_of(t),
               .n = n,
               .min_time = fmax(p->min_time, 0),
               .timeout = fmax(p->timeout, 0),
               .cutoff = fmax(p->cutoff, 0),
               .margin = early_stop_margins(&t->stop, fmax(p->margin, 0)),
               .repeats = p->repeats,
               .warm_cache = p->warm_cache};
  for (uint32_t i = 0; i < n; i++)
    r.code[i] = (job_bytes){code[i]->n ? code[i]->v : "", code[i]->n};
  return r;
}

static void do_run(measure_pool *pool, measure_task *t, const job_run *r,
                   measure_result *out) {
  asking a = {.pool = pool, .task = t, .run = r, .out = out};
  measure_ledger *l = &pool->ledger;
  tess_status s = mem_protect(pool->heap, perform_request, &a);
  if (s == TESS_NOMEM || s == TESS_LIMIT) {
    err_state e;
    err_clear(&e);
    err_ran_out(&e, pool->heap, s, "running a candidate");
    fail_all(&a, s, e.message);
  }
  for (uint32_t i = 0; i < JOB_MAX_KERNELS; i++)
    measure_result_free(&a.here[i]);
  l->runs += r->n;
  l->prepare += a.times.prepare;
  t->prepare = fmax(t->prepare, a.times.prepare);
  l->kernel += a.times.kernel;
  l->check += a.times.check;
}

/* ---- references --------------------------------------------------------- */

/* Computes the reference once per task; a failure of the machine is retried by
 * the next request. */
static tess_status find_reference(measure_pool *pool, measure_task *t) {
  if (t->has_reference) return TESS_OK;
  if (t->asked && t->asked != TESS_CANCELLED &&
      !measure_is_machine_fault(t->asked))
    return t->asked;
  job_reference got = {.status = TESS_INFRA};
  str_init(&got.message, pool->heap);
  str_init(&got.note, pool->heap);
  str_init(&got.outputs, pool->heap);
  asking a = {.pool = pool, .task = t, .reference = &got};
  tess_status s = mem_protect(pool->heap, perform_request, &a);
  if (!s) s = got.status;
  if (!s && (got.outputs.bad || got.note.bad)) s = mem_refusal(pool->heap);
  pool->ledger.prepare += got.seconds;
  t->asked = s;
  t->has_reference = s == TESS_OK;
  t->launch = t->has_reference ? got.launch : 0;
  strbuf *const to[] = {&t->reference, &t->note, &t->why};
  strbuf *const from[] = {&got.outputs, &got.note, &got.message};
  for (int i = 0; i < 3; i++) {
    str_free(to[i]);
    *to[i] = *from[i];
  }
  return s;
}

/* No candidate of the task can be checked after a time-out of the reference,
 * or where there is none to be had. */
static void write_no_reference(measure_task *t, tess_status s, strbuf *out) {
  if (s == TESS_UNWRITTEN && t->why.n && !t->stuck.n) {
    job_say(&t->stuck, str_get(&t->why));
    str_puts(out, str_get(&t->why));
    return;
  }
  str_printf(out, "there is no reference to compare with: %s",
             t->why.n ? str_get(&t->why) : err_status_text(s));
  if (s == TESS_TIMEOUT && !out->bad) job_say(&t->stuck, str_get(out));
}

/* Compares one more launch with the reference; keeps the times in out. */
static void check_afterwards(measure_pool *pool, measure_task *t,
                             const job_run *timed, measure_result *out) {
  tess_status s = find_reference(pool, t);
  if (s) {
    strbuf why;
    str_init(&why, pool->heap);
    write_no_reference(t, s, &why);
    bool as_it_is = s == TESS_CANCELLED || measure_is_machine_fault(s);
    pool_set_result(pool, out, as_it_is ? s : TESS_INFRA,
                    str_or(&why, "out of memory"));
    str_free(&why);
    return;
  }
  measure_result checked;
  job_run r = *timed;
  r.only_check = true;
  start_results(pool, 1, &checked);
  do_run(pool, t, &r, &checked);
  out->checked = checked.checked;
  out->error = checked.error;
  out->bound = checked.bound;
  pool_set_result(pool, out, checked.status, str_or(&checked.message, ""));
  measure_result_free(&checked);
}

/* ---- the interface of search/ ------------------------------------------- */

static bool is_to_be_checked(const measure_request *r,
                             const measure_result *out) {
  return r->check == MEASURE_CHECK_ALWAYS ||
         (r->check == MEASURE_CHECK_IF_BEST &&
          (r->best <= 0 || out->median < r->best));
}

/* What was sampled for as long as the policy asks tells what few samples mean
 * on this machine. */
static void learn_from_whole(measure_task *t, const job_run *r,
                             const measure_result *out) {
  timing_limits l = {.best = r->best, .margin = r->margin};
  bool whole = out->status == TESS_OK && !out->cut_off &&
               !timing_is_beaten(&l, out->sample.n, out->min);
  if (whole) early_stop_learn(&t->stop, out);
}

/* Without a reference the kernel is timed first: if it ends its worker, that is
 * its result, and no reference is computed for it. */
tess_status measure_run(measure_pool *pool, measure_task *t,
                        const measure_request *r, measure_result *out) {
  double start = clock_now();
  job_run run = run_request(t, 1, &r->code);
  run.best = fmax(r->best, 0);
  run.check = t->has_reference ? r->check : MEASURE_CHECK_NEVER;
  start_results(pool, 1, out);
  do_run(pool, t, &run, out);
  learn_from_whole(t, &run, out);
  if (!t->has_reference && out->status == TESS_OK && is_to_be_checked(r, out))
    check_afterwards(pool, t, &run, out);
  pool->ledger.run_wall += clock_now() - start;
  return out->status;
}

tess_status measure_compare(measure_pool *pool, measure_task *t,
                            const strbuf *code, measure_result *out) {
  double start = clock_now();
  job_run run = run_request(t, 1, &code);
  start_results(pool, 1, out);
  check_afterwards(pool, t, &run, out);
  pool->ledger.run_wall += clock_now() - start;
  return out->status;
}

tess_status measure_rematch(measure_pool *pool, measure_task *t, uint32_t k,
                            const strbuf *const *code, measure_result *out) {
  double start = clock_now();
  tess_status s = TESS_OK;
  start_results(pool, k, out);
  for (uint32_t at = 0; at < k; at += JOB_MAX_KERNELS) {
    uint32_t n = k - at < JOB_MAX_KERNELS ? k - at : JOB_MAX_KERNELS;
    job_run run = run_request(t, n, code + at);
    do_run(pool, t, &run, out + at);
  }
  for (uint32_t i = 0; i < k; i++)
    if (!s) s = out[i].status;
  pool->ledger.run_wall += clock_now() - start;
  return s;
}
