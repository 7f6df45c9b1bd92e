/* SPDX-License-Identifier: Apache-2.0
 * Runs kernels on an NVIDIA card: PTX is loaded into the primary context of the
 * first device, and timed by events.
 *
 * An error while kernels run leaves the context unusable, so it ends the
 * process, a worker, and is charged to the kernel. */
#include "backends/cuda/cuda.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/kernel.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct backend_code {
  mem_heap *heap;
  cuda_driver cuda;
  cuda_device device_id;
  bool has_context;
  cuda_module module;
  cuda_event from, to; /* of a run */
  uint32_t n;
  cuda_function *kernel;
  uint64_t *shared;      /* bytes of dynamic shared memory, by kernel */
  device_program device; /* the host program */
};

/* ---- errors ------------------------------------------------------------- */

static void (*cuda_fatal)(const char *message); /* set by a worker's main */

void cuda_on_fatal(void (*fn)(const char *message)) { cuda_fatal = fn; }

enum { OUT_OF_MEMORY = 2 };

static int32_t cuda_status(int code) {
  if (!code) return 0;
  return code == OUT_OF_MEMORY ? TESS_NOMEM : TESS_LAUNCH_ERROR;
}

static void end_process(const backend_code *c, const char *doing, int code) {
  char text[192];
  const char *name = NULL;
  if (c->cuda.error_name(code, &name) || !name) name = "an unknown error";
  snprintf(text, sizeof text, "CUDA: %s: %s, after which the context is lost",
           doing, name);
  if (cuda_fatal) cuda_fatal(text);
  abort();
}

/* ---- the driver of host programs ---------------------------------------- */

static cuda_address address_of(device_memory m) { return (uintptr_t)m; }

static int32_t cuda_alloc(void *ud, uint64_t bytes, device_memory *out) {
  backend_code *c = ud;
  cuda_address at = 0;
  int code = c->cuda.alloc(&at, bytes ? bytes : 1);
  *out = (device_memory)(uintptr_t)at;
  return cuda_status(code);
}

static void cuda_release(void *ud, device_memory m) {
  backend_code *c = ud;
  c->cuda.release(address_of(m));
}

static int32_t cuda_to_device(void *ud, device_memory to, const void *from,
                              uint64_t bytes) {
  backend_code *c = ud;
  return cuda_status(c->cuda.to_device(address_of(to), from, bytes));
}

static int32_t cuda_to_host(void *ud, void *to, device_memory from,
                            uint64_t bytes) {
  backend_code *c = ud;
  int code = c->cuda.to_host(to, address_of(from), bytes);
  if (code) end_process(c, "copying from the device", code);
  return 0;
}

static int32_t cuda_start(void *ud, const device_launch *l) {
  backend_code *c = ud;
  void *args[DEVICE_MOST_ARGS];
  uint32_t n = 0;
  if (l->nbuf + l->nvar > DEVICE_MOST_ARGS) return TESS_LIMIT;
  for (uint32_t i = 0; i < l->nbuf; i++)
    args[n++] = (void *)(uintptr_t)&l->buf[i];
  for (uint32_t i = 0; i < l->nvar; i++)
    args[n++] = (void *)(uintptr_t)&l->var[i];
  return cuda_status(c->cuda.launch(
      c->kernel[l->kernel], (unsigned)l->grid[0], (unsigned)l->grid[1],
      (unsigned)l->grid[2], (unsigned)l->block[0], (unsigned)l->block[1],
      (unsigned)l->block[2], (unsigned)c->shared[l->kernel], NULL, args, NULL));
}

static int32_t cuda_begin(void *ud) {
  backend_code *c = ud;
  return cuda_status(c->cuda.event_record(c->from, NULL));
}

static int32_t cuda_end(void *ud, double *seconds) {
  backend_code *c = ud;
  float ms = 0;
  int code = c->cuda.event_record(c->to, NULL);
  if (!code) code = c->cuda.event_wait(c->to);
  if (code) end_process(c, "running kernels", code);
  code = c->cuda.event_elapsed(&ms, c->from, c->to);
  *seconds = 1e-3 * (double)ms;
  return cuda_status(code);
}

static const device_driver cuda_host = {.alloc = cuda_alloc,
                                        .release = cuda_release,
                                        .to_device = cuda_to_device,
                                        .to_host = cuda_to_host,
                                        .launch = cuda_start,
                                        .begin = cuda_begin,
                                        .end = cuda_end};

/* ---- loading ------------------------------------------------------------ */

static tess_status open_context(backend_code *c, err_state *e) {
  cuda_context context = NULL;
  const cuda_driver *d = &c->cuda;
  tess_status s = cuda_driver_open(&c->cuda, e);
  if (!s) s = cuda_check(d, d->device_get(&c->device_id, 0), "the device", e);
  if (!s)
    s = cuda_check(d, d->context_retain(&context, c->device_id),
                   "making a context", e);
  if (s) return s;
  c->has_context = true;
  s = cuda_check(d, d->context_use(context), "using the context", e);
  if (!s) s = cuda_check(d, d->event_new(&c->from, 0), "making an event", e);
  return s ? s : cuda_check(d, d->event_new(&c->to, 0), "making an event", e);
}

/* The driver's compiler says what it refuses. */
static tess_status load_ptx(backend_code *c, const char *ptx, err_state *e) {
  enum { ROOM = 1200 };
  char log[1 << 13] = "", line[ROOM];
  int option[2] = {CUDA_JIT_ERROR_LOG, CUDA_JIT_ERROR_LOG_BYTES};
  void *value[2] = {log, (void *)(uintptr_t)(sizeof log - 1)};
  int code = c->cuda.module_load(&c->module, ptx, 2, option, value);
  if (!code) return TESS_OK;
  log[sizeof log - 1] = '\0';
  err_one_line(log, line, sizeof line);
  return err_set(e, TESS_BUILD_ERROR, "the driver's compiler: error %d%s%s",
                 code, line[0] ? ": " : "", line);
}

enum { WITHOUT_ASKING = 48 << 10 };

static tess_status take_kernel(backend_code *c, const char *entry, uint32_t i,
                               err_state *e) {
  char name[CUDA_NAME];
  cuda_kernel_name(entry, i, name);
  tess_status s = cuda_check(
      &c->cuda, c->cuda.module_function(&c->kernel[i], c->module, name), name,
      e);
  if (!s && c->shared[i] > WITHOUT_ASKING)
    s = cuda_check(&c->cuda,
                   c->cuda.function_set(c->kernel[i],
                                        CUDA_KERNEL_MAX_DYNAMIC_SHARED,
                                        (int)c->shared[i]),
                   "asking for shared memory", e);
  return s;
}

/* The payload: the entry's name, bytes of shared memory, PTX, each ended. */
static tess_status take_payload(backend_code *c, err_state *e) {
  const char *at = c->device.payload;
  size_t left = c->device.npayload, name = strnlen(at, left);
  uint32_t n = c->device.nkernel;
  size_t table = (size_t)n * sizeof(uint64_t);
  if (left <= name + 1 + table || at[left - 1])
    return err_set(e, TESS_PARSE, "the code is damaged");
  if (!n) return TESS_OK;
  c->kernel = mem_try_resize(c->heap, NULL, 0, n * sizeof *c->kernel);
  c->shared = mem_try_resize(c->heap, NULL, 0, table);
  c->n = n;
  if (!c->kernel || !c->shared)
    return err_ran_out(e, c->heap, mem_refusal(c->heap), "loading a kernel");
  memcpy(c->shared, at + name + 1, table);
  tess_status s = load_ptx(c, at + name + 1 + table, e);
  for (uint32_t i = 0; i < n && !s; i++) s = take_kernel(c, at, i, e);
  return s;
}

void cuda_unload(backend_code *c) {
  const cuda_driver *d = &c->cuda;
  device_unload(&c->device);
  if (c->kernel) mem_free(c->heap, (void *)c->kernel, c->n * sizeof *c->kernel);
  if (c->shared) mem_free(c->heap, c->shared, c->n * sizeof *c->shared);
  if (c->module) d->module_unload(c->module);
  if (c->from) d->event_free(c->from);
  if (c->to) d->event_free(c->to);
  if (c->has_context) d->context_release(c->device_id);
  cuda_driver_close(&c->cuda);
  mem_delete(c->heap, c);
}

tess_status cuda_load(mem_heap *heap, const void *code, size_t n,
                      backend_code **out, err_state *e) {
  backend_code *c = mem_try_resize(heap, NULL, 0, sizeof *c);
  if (!c) return err_ran_out(e, heap, mem_refusal(heap), "loading a kernel");
  *c = (backend_code){.heap = heap};
  tess_status s = open_context(c, e);
  if (!s) s = device_load(&c->device, heap, code, n, &cuda_host, c, e);
  if (!s) s = take_payload(c, e);
  if (s)
    cuda_unload(c);
  else
    *out = c;
  return s;
}

/* ---- calls -------------------------------------------------------------- */

/* Loaded code has state: memory, and the events of a run. */
int32_t cuda_time(const backend_code *c, void **args, void *const *resident,
                  const int64_t *sizes, uint64_t runs, double *seconds) {
  backend_code *own = (backend_code *)(uintptr_t)c;
  return device_call(&own->device, args, resident, sizes, runs, seconds);
}

/* The primary context, retained for tensors as long as the process lives. */
static backend_code the_memory;

tess_status cuda_memory(uint32_t device, const device_driver **out, void **ud,
                        err_state *e) {
  if (device)
    return err_set(e, TESS_UNSUPPORTED,
                   "kernels run on 'cuda:0', and there is no 'cuda:%u'",
                   device);
  if (!the_memory.has_context) {
    tess_status s = open_context(&the_memory, e);
    if (s) return s;
  }
  *out = &cuda_host;
  *ud = &the_memory;
  return TESS_OK;
}
