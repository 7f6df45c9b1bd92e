/* SPDX-License-Identifier: Apache-2.0
 * Tensors in the memory of devices, which the process that opened the driver
 * holds for the host, and which calls of kernels take in place of contents. */
#include "backends/device/device.h"
#include "measure/machine_facts.h"
#include "measure/worker/job_state.h"
#include <stdlib.h>
#include <string.h>

/* ---- the table ------------------------------------------------------ */

job_resident *job_find_resident(job_state *j, uint64_t id) {
  for (uint32_t i = 0; i < j->resident.n; i++)
    if (j->resident.v[i].id == id) return &j->resident.v[i];
  return NULL;
}

static void drop_resident(job_state *j, uint64_t id) {
  job_resident *x = job_find_resident(j, id);
  if (!x) return;
  if (x->memory) x->driver->release(x->ud, x->memory);
  *x = j->resident.v[--j->resident.n];
}

void job_free_residents(job_state *j) {
  while (j->resident.n) drop_resident(j, j->resident.v[0].id);
  vec_free(&j->heap, &j->resident);
}

tess_status job_lost_resident(err_state *e) {
  return err_set(e, TESS_INFRA,
                 "the contents of a tensor on a device are lost: the worker "
                 "that held them has ended");
}

/* ---- devices -------------------------------------------------------- */

/* "opencl:1": the backend, and the device's number. */
static const backend *parse_place(const char *device, uint32_t *number) {
  char kind[16] = "";
  size_t n = strcspn(device, ":");
  if (n < sizeof kind) memcpy(kind, device, n);
  *number = device[n] ? (uint32_t)strtoul(device + n + 1, NULL, 10) : 0;
  return backend_find(kind);
}

static tess_status open_device(const char *device, job_resident *x,
                               err_state *e) {
  uint32_t number;
  const backend *by = parse_place(device, &number);
  if (!by || !by->device || !by->device->memory)
    return err_set(e, TESS_NOT_FOUND, "there is no device '%s'", device);
  return by->device->memory(number, &x->driver, &x->ud, e);
}

static tess_status device_failed(int32_t status, const char *doing,
                                 const job_resident *x, err_state *e) {
  if (!status) return TESS_OK;
  tess_status s = status == TESS_NOMEM ? TESS_NOMEM : TESS_LAUNCH_ERROR;
  return err_set(e, s, "%s %llu bytes on the device: %s", doing,
                 (unsigned long long)x->bytes,
                 err_status_text((tess_status)status));
}

/* ---- requests ------------------------------------------------------- */

static tess_status copy_to_device(job_state *j, const job_memory *r) {
  job_resident *x = job_find_resident(j, r->id);
  if (!x) return job_lost_resident(&j->err);
  if (x->bytes != r->contents.n)
    return err_set(&j->err, TESS_INFRA, "a tensor has another size");
  int32_t status =
      x->bytes ? x->driver->to_device(x->ud, x->memory, r->contents.v, x->bytes)
               : 0;
  return device_failed(status, "copying", x, &j->err);
}

static tess_status add_resident(job_state *j, const job_memory *r) {
  job_resident made = {.id = r->id, .bytes = r->contents.n};
  tess_status s = open_device(r->device, &made, &j->err);
  if (s) return s;
  vec_push(&j->heap, &j->resident, made);
  job_resident *x = &j->resident.v[j->resident.n - 1];
  s = device_failed(
      x->driver->alloc(x->ud, x->bytes ? x->bytes : 1, &x->memory),
      "allocating", x, &j->err);
  if (s) x->memory = NULL;
  return s;
}

/* The host knows only what has its contents. */
static tess_status new_resident(job_state *j, const job_memory *r) {
  if (job_find_resident(j, r->id))
    return err_set(&j->err, TESS_INFRA, "a tensor is there already");
  tess_status s = add_resident(j, r);
  if (!s) s = copy_to_device(j, r);
  if (s) drop_resident(j, r->id);
  return s;
}

tess_status job_read_resident(job_state *j, uint64_t id, void *to) {
  job_resident *x = job_find_resident(j, id);
  if (!x) return job_lost_resident(&j->err);
  int32_t status =
      x->bytes ? x->driver->to_host(x->ud, to, x->memory, x->bytes) : 0;
  return device_failed(status, "copying", x, &j->err);
}

typedef struct serving {
  job_state *j;
  const job_memory *r;
  strbuf *contents;
} serving;

static tess_status read_contents(serving *w) {
  job_resident *x = job_find_resident(w->j, w->r->id);
  if (!x) return job_lost_resident(&w->j->err);
  char *at = arena_alloc(&w->j->scratch, x->bytes + 1);
  tess_status s = job_read_resident(w->j, w->r->id, at);
  if (!s) str_write(w->contents, at, x->bytes);
  return s ? s : str_status(w->contents);
}

static tess_status tell_facts(serving *w) {
  uint32_t number;
  const backend *by = parse_place(w->r->device, &number);
  if (!by || !by->facts)
    return err_set(&w->j->err, TESS_NOT_FOUND, "there is no device '%s'",
                   w->r->device);
  return by->facts(number, w->contents, &w->j->err);
}

static tess_status serve_memory(void *ud) {
  serving *w = ud;
  switch ((job_memory_op)w->r->op) {
  case JOB_MEMORY_WRITE:
    return w->r->is_new ? new_resident(w->j, w->r) : copy_to_device(w->j, w->r);
  case JOB_MEMORY_READ: return read_contents(w);
  case JOB_MEMORY_FREE: drop_resident(w->j, w->r->id); break;
  case JOB_MEMORY_FACTS: return tell_facts(w);
  case JOB_MEMORY_MACHINE:
    machine_facts(w->contents);
    return str_status(w->contents);
  case JOB_MEMORY_OPS: break;
  }
  return TESS_OK;
}

void job_do_memory(job_state *j, const job_memory *r, measure_result *out,
                   strbuf *contents) {
  serving w = {j, r, contents};
  *out = (measure_result){.status = TESS_OK};
  str_init(&out->message, &j->heap);
  err_clear(&j->err);
  job_enter(j, JOB_PREPARING);
  out->status = mem_protect(&j->heap, serve_memory, &w);
  if (out->status) {
    job_say(&out->message, job_why(j, out->status));
    str_clear(contents);
  }
  arena_reset(&j->scratch);
  job_enter(j, JOB_IDLE);
}
