/* SPDX-License-Identifier: Apache-2.0
 * Runs kernels on an NVIDIA card: PTX is loaded into the primary context of the
 * target's device, and timed by events.
 *
 * An error while kernels run leaves the context unusable, so it ends the
 * process, a worker, and is charged to the kernel. */
#include "backends/cuda/context.h"
#include "backends/cuda/cuda.h"
#include "backends/cuda/kernel.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct backend_code {
  mem_heap *heap;
  const cuda_driver *cuda;
  const cuda_process *process;
  cuda_module module;
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
  if (c->cuda->error_name(code, &name) || !name) name = "an unknown error";
  snprintf(text, sizeof text, "CUDA: %s: %s, after which the context is lost",
           doing, name);
  if (cuda_fatal) cuda_fatal(text);
  abort();
}

/* ---- the driver of host programs ---------------------------------------- */

static cuda_address address_of(device_memory m) { return (uintptr_t)m; }

/* A process may use several devices: what follows is of this one. */
static int enter_context(const backend_code *c) {
  return c->cuda->context_use(c->process->context);
}

static int32_t cuda_alloc(void *ud, uint64_t bytes, device_memory *out) {
  backend_code *c = ud;
  cuda_address at = 0;
  int code = enter_context(c);
  if (!code) code = c->cuda->alloc(&at, bytes ? bytes : 1);
  *out = (device_memory)(uintptr_t)at;
  return cuda_status(code);
}

static void cuda_release(void *ud, device_memory m) {
  backend_code *c = ud;
  if (!enter_context(c)) c->cuda->release(address_of(m));
}

static int32_t cuda_to_device(void *ud, device_memory to, const void *from,
                              uint64_t bytes) {
  backend_code *c = ud;
  int code = enter_context(c);
  return cuda_status(code ? code
                          : c->cuda->to_device(address_of(to), from, bytes));
}

static int32_t cuda_to_host(void *ud, void *to, device_memory from,
                            uint64_t bytes) {
  backend_code *c = ud;
  int code = enter_context(c);
  if (!code) code = c->cuda->to_host(to, address_of(from), bytes);
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
  return cuda_status(c->cuda->launch(
      c->kernel[l->kernel], (unsigned)l->grid[0], (unsigned)l->grid[1],
      (unsigned)l->grid[2], (unsigned)l->block[0], (unsigned)l->block[1],
      (unsigned)l->block[2], (unsigned)c->shared[l->kernel], NULL, args, NULL));
}

static bool keeps_caches; /* a worker runs one kernel at a time */

void cuda_keep_caches(bool keep) { keeps_caches = keep; }

void cuda_clocks(const backend_code *c, char *out, size_t n) {
  cuda_read_clocks(c->process, out, n);
}

/* What runs first takes longer than launching, so the device does not wait for
 * the host between the events. */
static int32_t cuda_begin(void *ud) {
  backend_code *c = ud;
  int code = keeps_caches ? cuda_delay(c->process) : cuda_evict_l2(c->process);
  return cuda_status(code ? code
                          : c->cuda->event_record(c->process->from, NULL));
}

static int32_t cuda_end(void *ud, double *seconds) {
  backend_code *c = ud;
  float ms = 0;
  const cuda_process *x = c->process;
  int code = c->cuda->event_record(x->to, NULL);
  if (!code) code = c->cuda->event_wait(x->to);
  if (code) end_process(c, "running kernels", code);
  code = c->cuda->event_elapsed(&ms, x->from, x->to);
  *seconds = 1e-3 * (double)ms;
  return cuda_status(code);
}

static const device_driver cuda_host = {.most_blocks = CUDA_MOST_BLOCKS,
                                        .alloc = cuda_alloc,
                                        .release = cuda_release,
                                        .to_device = cuda_to_device,
                                        .to_host = cuda_to_host,
                                        .launch = cuda_start,
                                        .begin = cuda_begin,
                                        .end = cuda_end};

/* ---- loading ------------------------------------------------------------ */

static tess_status open_context(backend_code *c, uint32_t device,
                                err_state *e) {
  cuda_process *process = NULL;
  tess_status s = cuda_process_get(device, &process, e);
  if (s) return s;
  c->process = process;
  c->cuda = process->d;
  return TESS_OK;
}

/* The driver's compiler says what it refuses. */
static tess_status load_ptx(backend_code *c, const char *ptx, err_state *e) {
  enum { ROOM = 1200 };
  char log[1 << 13] = "", line[ROOM];
  int option[2] = {CUDA_JIT_ERROR_LOG, CUDA_JIT_ERROR_LOG_BYTES};
  void *value[2] = {log, (void *)(uintptr_t)(sizeof log - 1)};
  int code = c->cuda->module_load(&c->module, ptx, 2, option, value);
  if (!code) return TESS_OK;
  log[sizeof log - 1] = '\0';
  err_one_line(log, line, sizeof line);
  cuda_check(c->cuda, code, "assembling PTX", e);
  char why[sizeof e->message];
  strcpy(why, e->message);
  return err_set(e, TESS_BUILD_ERROR, "%s%s%s", why, line[0] ? ": " : "", line);
}

enum { WITHOUT_ASKING = 48 << 10 };

static tess_status take_kernel(backend_code *c, const char *entry, uint32_t i,
                               err_state *e) {
  char name[CUDA_NAME];
  cuda_kernel_name(entry, i, name);
  tess_status s = cuda_check(
      c->cuda, c->cuda->module_function(&c->kernel[i], c->module, name), name,
      e);
  if (!s && c->shared[i] > WITHOUT_ASKING)
    s = cuda_check(c->cuda,
                   c->cuda->function_set(c->kernel[i],
                                         CUDA_KERNEL_MAX_DYNAMIC_SHARED,
                                         (int)c->shared[i]),
                   "asking for shared memory", e);
  return s;
}

/* Machine code, which must be aligned; false: it is for another card. */
static bool load_code(backend_code *c, const void *code, size_t n) {
  void *own = n ? mem_try_resize(c->heap, NULL, 0, n) : NULL;
  if (!own) return false;
  memcpy(own, code, n);
  int failed = c->cuda->module_load(&c->module, own, 0, NULL, NULL);
  mem_free(c->heap, own, n);
  return !failed;
}

/* PTX, a zero byte, and machine code where there is some. */
static tess_status load_module(backend_code *c, const char *ptx, size_t n,
                               err_state *e) {
  size_t text = strnlen(ptx, n);
  if (text == n) return err_set(e, TESS_PARSE, "the code is damaged");
  if (load_code(c, ptx + text + 1, n - text - 1)) return TESS_OK;
  return load_ptx(c, ptx, e);
}

/* The payload: the entry's name, a zero byte, bytes of shared memory, the
 * module. */
static tess_status take_payload(backend_code *c, err_state *e) {
  const char *at = c->device.payload;
  size_t left = c->device.npayload, name = strnlen(at, left);
  uint32_t n = c->device.nkernel;
  size_t table = (size_t)n * sizeof(uint64_t);
  if (left <= name + 1 + table)
    return err_set(e, TESS_PARSE, "the code is damaged");
  if (!n) return TESS_OK;
  c->kernel = mem_try_resize(c->heap, NULL, 0, n * sizeof *c->kernel);
  c->shared = mem_try_resize(c->heap, NULL, 0, table);
  c->n = n;
  if (!c->kernel || !c->shared)
    return err_ran_out(e, c->heap, mem_refusal(c->heap), "loading a kernel");
  memcpy(c->shared, at + name + 1, table);
  size_t head = name + 1 + table;
  tess_status s = load_module(c, at + head, left - head, e);
  for (uint32_t i = 0; i < n && !s; i++) s = take_kernel(c, at, i, e);
  return s;
}

void cuda_unload(backend_code *c) {
  device_unload(&c->device);
  if (c->kernel) mem_free(c->heap, (void *)c->kernel, c->n * sizeof *c->kernel);
  if (c->shared) mem_free(c->heap, c->shared, c->n * sizeof *c->shared);
  if (c->module && !enter_context(c)) c->cuda->module_unload(c->module);
  mem_delete(c->heap, c);
}

tess_status cuda_load(mem_heap *heap, const void *code, size_t n,
                      backend_code **out, err_state *e) {
  backend_code *c = mem_try_resize(heap, NULL, 0, sizeof *c);
  if (!c) return err_ran_out(e, heap, mem_refusal(heap), "loading a kernel");
  *c = (backend_code){.heap = heap};
  uint64_t on = 0;
  tess_status s =
      n < CUDA_HEAD ? err_set(e, TESS_PARSE, "the code is damaged") : TESS_OK;
  if (!s) memcpy(&on, code, sizeof on);
  if (!s) s = open_context(c, (uint32_t)on, e);
  if (!s)
    s = device_load(&c->device, heap, (const char *)code + CUDA_HEAD,
                    n - CUDA_HEAD, &cuda_host, c, e);
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
  int code = enter_context(c);
  if (code) return cuda_status(code);
  return device_call(&own->device, args, resident, sizes, runs, seconds);
}

const char *cuda_why(const backend_code *c) { return c->device.why; }

/* The primary contexts, retained for tensors as long as the process lives. */
static backend_code the_memory[CUDA_MOST_DEVICES];

tess_status cuda_memory(uint32_t device, const device_driver **out, void **ud,
                        err_state *e) {
  backend_code here = {.process = NULL};
  tess_status s = open_context(&here, device, e);
  if (s) return s;
  the_memory[device] = here;
  *out = &cuda_host;
  *ud = &the_memory[device];
  return TESS_OK;
}
