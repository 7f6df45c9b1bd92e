/* SPDX-License-Identifier: Apache-2.0
 * Calls of kernels that only workers may load, in a worker of their own: the
 * caller's tensors are copied to it, and what is written is copied back, but
 * for those that it holds on the device (resident.c). */
#include "base/clock.h"
#include "measure/worker/crew.h"
#include <string.h>

typedef struct calling {
  crew_work work;
  measure_pool *pool;
  const measure_call *call;
  measure_result *out;
} calling;

static void fill_call(const measure_call *from, job_call *to) {
  *to = (job_call){.target = from->target,
                   .code = {from->code->v, from->code->n},
                   .n = from->n,
                   .nsizes = from->nsizes,
                   .min_time = from->min_time,
                   .repeats = from->repeats,
                   .threads = from->threads};
  for (uint32_t i = 0; i < from->n; i++) {
    bool sent = from->bytes[i] && !from->resident[i];
    to->resident[i] = from->resident[i];
    to->arg[i] =
        (job_bytes){sent ? from->args[i] : "", sent ? from->bytes[i] : 0};
    to->written[i] = from->written[i];
  }
  for (uint32_t i = 0; i < from->nsizes; i++) to->sizes[i] = from->sizes[i];
}

static tess_status send_call(crew_work *work, uint32_t i, worker *w) {
  calling *a = (calling *)work;
  job_call r;
  strbuf body;
  (void)i;
  fill_call(a->call, &r);
  str_init(&body, a->pool->heap);
  wire_write_call(&body, &r);
  tess_status s = worker_send(w, FRAME_CALL, &body);
  str_free(&body);
  return s;
}

static bool take_called(crew_work *work, uint32_t i, worker *w,
                        const void *body, size_t n) {
  calling *a = (calling *)work;
  const measure_call *call = a->call;
  job_bytes contents;
  (void)i, (void)w;
  if (!wire_read_called(body, n, a->pool->heap, a->out, &contents))
    return false;
  if (a->out->status) return true;
  const char *at = contents.v;
  size_t left = contents.n;
  for (uint32_t k = 0; k < call->n; k++) {
    if (!call->written[k] || call->resident[k]) continue;
    if (call->bytes[k] > left) return false;
    if (call->bytes[k]) memcpy(call->args[k], at, call->bytes[k]);
    at += call->bytes[k];
    left -= call->bytes[k];
  }
  return left == 0;
}

static void fail_call(crew_work *work, uint32_t i, tess_status s,
                      const char *why) {
  calling *a = (calling *)work;
  (void)i;
  pool_set_result(a->pool, a->out, s, why);
}

static tess_status call_in_worker(void *ud) {
  enum { LOADING = 300, RUNNING = 3600 };
  calling *a = ud;
  a->work = (crew_work){.n = 1,
                        .send = send_call,
                        .reply = FRAME_CALLED,
                        .take = take_called,
                        .fail = fail_call};
  for (int i = 0; i <= JOB_CHECKING; i++) a->work.limit[i] = LOADING;
  a->work.limit[JOB_IDLE] = crew_patience(a->pool);
  a->work.limit[JOB_RUNNING] = RUNNING;
  return crew_run(a->pool, &a->pool->caller, 1, &a->work);
}

tess_status measure_call_kernel(measure_pool *pool, const measure_call *call,
                                measure_result *out) {
  calling a = {.pool = pool, .call = call, .out = out};
  *out = (measure_result){.status = TESS_INFRA};
  pool_set_result(pool, out, TESS_NOMEM, "out of memory");
  if (call->n > JOB_MAX_ARGS || call->nsizes > 64) {
    pool_set_result(pool, out, TESS_LIMIT, "the kernel has too many arguments");
    return out->status;
  }
  tess_status s = mem_protect(pool->heap, call_in_worker, &a);
  if (s && s != TESS_CANCELLED) {
    err_state e;
    err_clear(&e);
    err_ran_out(&e, pool->heap, s, "calling a kernel");
    pool_set_result(pool, out, s, e.message);
  }
  return out->status;
}
