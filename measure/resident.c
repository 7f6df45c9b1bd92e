/* SPDX-License-Identifier: Apache-2.0
 * Tensors in the memory of devices: a host process opens no driver, so the
 * worker that calls kernels allocates them, and the host has a number for each.
 * Numbers are not used again: one that the worker does not know was lost with
 * the worker before it. */
#include "measure/worker/crew.h"
#include <string.h>

typedef struct moving {
  crew_work work;
  measure_pool *pool;
  job_memory asked;
  void *to; /* READ: room for `bytes` */
  size_t bytes;
  strbuf *facts; /* FACTS: they are appended to it */
  measure_result out;
} moving;

static tess_status send_moving(crew_work *work, uint32_t i, worker *w) {
  moving *m = (moving *)work;
  strbuf body;
  (void)i;
  str_init(&body, m->pool->heap);
  wire_write_memory(&body, &m->asked);
  tess_status s = worker_send(w, FRAME_MEMORY, &body);
  str_free(&body);
  return s;
}

static bool take_moved(crew_work *work, uint32_t i, worker *w, const void *body,
                       size_t n) {
  moving *m = (moving *)work;
  job_bytes contents;
  (void)i;
  if (!wire_read_called(body, n, m->pool->heap, &m->out, &contents))
    return false;
  if (m->out.status) return true;
  if (m->asked.is_new) {
    w->residents++;
    if (!w->first_resident) w->first_resident = m->asked.id;
  }
  if (m->facts) str_write(m->facts, contents.v, contents.n);
  if (m->asked.op != JOB_MEMORY_READ) return true;
  if (contents.n != m->bytes) return false;
  if (m->bytes) memcpy(m->to, contents.v, m->bytes);
  return true;
}

static void fail_moving(crew_work *work, uint32_t i, tess_status s,
                        const char *why) {
  moving *m = (moving *)work;
  (void)i;
  pool_set_result(m->pool, &m->out, s, why);
}

static tess_status move_in_worker(void *ud) {
  enum { PATIENCE = 300 };
  moving *m = ud;
  m->work = (crew_work){.n = 1,
                        .send = send_moving,
                        .reply = FRAME_CALLED,
                        .take = take_moved,
                        .fail = fail_moving};
  for (int i = 0; i <= JOB_CHECKING; i++) m->work.limit[i] = PATIENCE;
  m->work.limit[JOB_IDLE] = crew_patience(m->pool);
  return crew_run(m->pool, &m->pool->caller, 1, &m->work);
}

static tess_status move_contents(moving *m, err_state *e) {
  mem_heap *heap = m->pool->heap;
  if (m->pool->config.in_process)
    return err_set(e, TESS_UNSUPPORTED,
                   "only workers open devices, and this context starts no "
                   "processes (in_process)");
  str_init(&m->out.message, heap);
  tess_status s = mem_protect(heap, move_in_worker, m);
  if (s && s != TESS_CANCELLED)
    err_ran_out(e, heap, s, "copying a tensor to or from a device");
  else if ((s = m->out.status))
    err_set(e, s, "%s", str_or(&m->out.message, "?"));
  measure_result_free(&m->out);
  return s;
}

tess_status measure_resident_new(measure_pool *pool, const char *device,
                                 const void *contents, size_t bytes,
                                 uint64_t *id, err_state *e) {
  uint64_t own = ++pool->residents;
  moving m = {.pool = pool,
              .asked = {.op = JOB_MEMORY_WRITE,
                        .is_new = true,
                        .id = own,
                        .device = device,
                        .contents = {bytes ? contents : "", bytes}}};
  tess_status s = move_contents(&m, e);
  *id = s ? 0 : own;
  return s;
}

tess_status measure_resident_write(measure_pool *pool, uint64_t id,
                                   const void *from, size_t bytes,
                                   err_state *e) {
  moving m = {.pool = pool,
              .asked = {.op = JOB_MEMORY_WRITE,
                        .id = id,
                        .device = "",
                        .contents = {bytes ? from : "", bytes}}};
  return move_contents(&m, e);
}

tess_status measure_resident_read(measure_pool *pool, uint64_t id, void *to,
                                  size_t bytes, err_state *e) {
  moving m = {.pool = pool,
              .asked = {.op = JOB_MEMORY_READ,
                        .id = id,
                        .device = "",
                        .contents = {"", 0}},
              .to = to,
              .bytes = bytes};
  return move_contents(&m, e);
}

static tess_status ask_facts(measure_pool *pool, job_memory_op op,
                             const char *device, strbuf *out, err_state *e) {
  moving m = {.pool = pool,
              .asked = {.op = op, .device = device, .contents = {"", 0}},
              .facts = out};
  tess_status s = move_contents(&m, e);
  return s ? s : str_status(out);
}

tess_status measure_device_facts(measure_pool *pool, const char *device,
                                 strbuf *out, err_state *e) {
  return ask_facts(pool, JOB_MEMORY_FACTS, device, out, e);
}

tess_status measure_machine_facts(measure_pool *pool, strbuf *out,
                                  err_state *e) {
  return ask_facts(pool, JOB_MEMORY_MACHINE, "", out, e);
}

/* Not waited for: requests are served in order.  Without memory for the message
 * it is dropped when the worker ends, as one of a worker before it was. */
void measure_resident_free(measure_pool *pool, uint64_t id) {
  worker *w = &pool->caller;
  job_memory r = {
      .op = JOB_MEMORY_FREE, .id = id, .device = "", .contents = {"", 0}};
  strbuf body;
  if (!w->pid || !w->first_resident || id < w->first_resident) return;
  str_init(&body, pool->heap);
  wire_write_memory(&body, &r);
  (void)worker_send(w, FRAME_MEMORY, &body);
  str_free(&body);
  w->residents--;
}
