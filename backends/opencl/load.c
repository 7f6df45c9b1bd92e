/* SPDX-License-Identifier: Apache-2.0
 * Runs kernels on an OpenCL device: a program for each kernel that is loaded,
 * and events for its time.
 *
 * An error of the device while kernels run leaves it in an unknown state, so it
 * ends the process, a worker, and is charged to the kernel. */
#include "backends/opencl/driver.h"
#include "backends/opencl/opencl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct backend_code {
  mem_heap *heap;
  const ocl_driver *cl;
  const ocl_device *on;
  ocl_handle program;
  ocl_handle *kernel;
  uint32_t nkernel, room; /* made; that there is room for */
  ocl_handle first, last; /* events of a run's kernels */
  device_program device;
};

/* ---- errors --------------------------------------------------------- */

static void (*fatal)(const char *message); /* set once, by a worker's main */

void opencl_on_fatal(void (*fn)(const char *message)) { fatal = fn; }

static int32_t status_of_opencl(int code) {
  if (!code) return 0;
  bool memory = code <= OCL_NO_MEMORY && code >= OCL_NO_HOST_MEMORY;
  return memory ? TESS_NOMEM : TESS_LAUNCH_ERROR;
}

/* The device failed while kernels ran. */
static void end_process(const char *doing, int code) {
  char text[128];
  snprintf(text, sizeof text,
           "OpenCL: %s: error %d of the device, which is in an unknown state",
           doing, code);
  if (fatal) fatal(text);
  abort();
}

/* ---- the driver of host programs ------------------------------------ */

static int32_t ocl_alloc(void *ud, uint64_t bytes, device_memory *out) {
  backend_code *c = ud;
  int code = 0;
  *out = c->cl->memory_new(c->on->context, OCL_MEMORY_READ_WRITE, bytes, NULL,
                           &code);
  return status_of_opencl(code);
}

static void ocl_free(void *ud, device_memory m) {
  backend_code *c = ud;
  c->cl->memory_free(m);
}

static int32_t ocl_to_device(void *ud, device_memory to, const void *from,
                             uint64_t bytes) {
  backend_code *c = ud;
  return status_of_opencl(
      c->cl->write(c->on->queue, to, true, 0, bytes, from, 0, NULL, NULL));
}

static int32_t ocl_to_host(void *ud, void *to, device_memory from,
                           uint64_t bytes) {
  backend_code *c = ud;
  int code = c->cl->read(c->on->queue, from, true, 0, bytes, to, 0, NULL, NULL);
  if (code) end_process("copying from the device", code);
  return 0;
}

/* Keeps the events of a run's first and last kernel. */
static void keep_event(backend_code *c, ocl_handle event) {
  if (!c->first) {
    c->first = event;
    return;
  }
  if (c->last) c->cl->event_free(c->last);
  c->last = event;
}

static int32_t ocl_launch(void *ud, const device_launch *l) {
  backend_code *c = ud;
  ocl_handle kernel = c->kernel[l->kernel], event = NULL;
  size_t global[3], local[3];
  int code = 0;
  unsigned n = 0;
  for (int a = 0; a < 3; a++) {
    local[a] = (size_t)l->block[a];
    global[a] = (size_t)(l->grid[a] * l->block[a]);
  }
  for (uint32_t i = 0; i < l->nbuf && !code; i++)
    code = c->cl->kernel_arg(kernel, n++, sizeof l->buf[i], &l->buf[i]);
  for (uint32_t i = 0; i < l->nvar && !code; i++)
    code = c->cl->kernel_arg(kernel, n++, sizeof l->var[i], &l->var[i]);
  if (!code)
    code = c->cl->launch(c->on->queue, kernel, 3, NULL, global, local, 0, NULL,
                         &event);
  if (!code) keep_event(c, event);
  return status_of_opencl(code);
}

static int32_t ocl_begin(void *ud) {
  backend_code *c = ud;
  c->first = c->last = NULL;
  return 0;
}

static int32_t ocl_end(void *ud, double *seconds) {
  backend_code *c = ud;
  uint64_t from = 0, to = 0;
  int code = c->cl->finish(c->on->queue);
  if (code) end_process("running kernels", code);
  ocl_handle last = c->last ? c->last : c->first;
  if (c->first) {
    code =
        c->cl->event_time(c->first, OCL_EVENT_START, sizeof from, &from, NULL);
    if (!code)
      code = c->cl->event_time(last, OCL_EVENT_END, sizeof to, &to, NULL);
    c->cl->event_free(c->first);
  }
  if (c->last) c->cl->event_free(c->last);
  c->first = c->last = NULL;
  *seconds = to > from ? 1e-9 * (double)(to - from) : 0;
  return status_of_opencl(code);
}

static const device_driver ocl_host = {.alloc = ocl_alloc,
                                       .release = ocl_free,
                                       .to_device = ocl_to_device,
                                       .to_host = ocl_to_host,
                                       .launch = ocl_launch,
                                       .begin = ocl_begin,
                                       .end = ocl_end};

/* ---- loading -------------------------------------------------------- */

static tess_status check_call(int code, const char *doing, err_state *e) {
  return code ? err_set(e, TESS_LAUNCH_ERROR, "OpenCL: %s: error %d", doing,
                        code)
              : TESS_OK;
}

/* Correctly rounded where the device can: as everywhere else. */
static const char *build_options(const backend_code *c) {
  uint64_t config = 0;
  c->cl->device_info(c->on->id, OCL_DEVICE_FLOAT_CONFIG, sizeof config, &config,
                     NULL);
  return config & OCL_ROUNDS_DIVIDE_SQRT
             ? "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt"
             : "-cl-std=CL1.2";
}

static tess_status say_build_log(backend_code *c, int code, err_state *e) {
  enum { ROOM = 1500 };
  char text[1 << 14] = "", line[ROOM];
  c->cl->program_log(c->program, c->on->id, OCL_BUILD_LOG, sizeof text - 1,
                     text, NULL);
  text[sizeof text - 1] = '\0';
  err_one_line(text, line, sizeof line);
  return err_set(e, TESS_BUILD_ERROR, "the device's compiler: error %d%s%s",
                 code, line[0] ? ": " : "", line);
}

static tess_status build_program(backend_code *c, const char *source, size_t n,
                                 err_state *e) {
  int code = 0;
  const ocl_driver *cl = c->cl;
  c->program = cl->program_new(c->on->context, 1, &source, &n, &code);
  if (code) return check_call(code, "making a program", e);
  code = cl->program_build(c->program, 1, &c->on->id, build_options(c), NULL,
                           NULL);
  return code ? say_build_log(c, code, e) : TESS_OK;
}

static tess_status take_kernels(backend_code *c, const char *name,
                                err_state *e) {
  uint32_t n = c->device.nkernel;
  int code = 0;
  c->kernel = mem_try_resize(c->heap, NULL, 0, n * sizeof *c->kernel);
  if (!c->kernel)
    return err_ran_out(e, c->heap, mem_refusal(c->heap), "loading a kernel");
  c->room = n;
  for (uint32_t i = 0; i < n && !code; i++) {
    char symbol[BACKEND_SYMBOL + 24];
    opencl_kernel_name(name, i, n, symbol);
    c->kernel[i] = c->cl->kernel_new(c->program, symbol, &code);
    if (!code) c->nkernel++;
  }
  return check_call(code, "making a kernel", e);
}

/* The code: the device's number, then the host program, whose payload is the
 * entry's name, ended, and the source. */
static tess_status load_code(backend_code *c, const char *code, size_t n,
                             err_state *e) {
  uint32_t number;
  if (n < sizeof number) return err_set(e, TESS_PARSE, "the code is damaged");
  memcpy(&number, code, sizeof number);
  tess_status s = ocl_device_open(number, &c->cl, &c->on, e);
  if (!s)
    s = device_load(&c->device, c->heap, code + sizeof number,
                    n - sizeof number, &ocl_host, c, e);
  if (s) return s;
  const char *name = c->device.payload;
  size_t len = strnlen(name, c->device.npayload);
  if (len == c->device.npayload)
    return err_set(e, TESS_PARSE, "the code is damaged");
  if (!c->device.nkernel) return TESS_OK;
  s = build_program(c, name + len + 1, c->device.npayload - len - 1, e);
  return s ? s : take_kernels(c, name, e);
}

void opencl_unload(backend_code *c) {
  const ocl_driver *cl = c->cl;
  device_unload(&c->device);
  for (uint32_t i = 0; i < c->nkernel; i++) cl->kernel_free(c->kernel[i]);
  if (c->kernel)
    mem_free(c->heap, (void *)c->kernel, c->room * sizeof *c->kernel);
  if (c->program) cl->program_free(c->program);
  mem_delete(c->heap, c);
}

tess_status opencl_load(mem_heap *heap, const void *code, size_t n,
                        backend_code **out, err_state *e) {
  backend_code *c = mem_try_resize(heap, NULL, 0, sizeof *c);
  if (!c) return err_ran_out(e, heap, mem_refusal(heap), "loading a kernel");
  *c = (backend_code){.heap = heap};
  tess_status s = load_code(c, code, n, e);
  if (s)
    opencl_unload(c);
  else
    *out = c;
  return s;
}

/* ---- memory for tensors --------------------------------------------- */

tess_status opencl_memory(uint32_t device, const device_driver **out, void **ud,
                          err_state *e) {
  enum { MOST = 16 };
  static backend_code of[MOST]; /* by device: only where to allocate */
  const ocl_driver *cl;
  const ocl_device *on;
  tess_status s = ocl_device_open(device, &cl, &on, e);
  if (s) return s;
  of[device % MOST] = (backend_code){.cl = cl, .on = on};
  *out = &ocl_host;
  *ud = &of[device % MOST];
  return TESS_OK;
}

/* ---- calls ---------------------------------------------------------- */

/* Loaded code has state: memory, and the events of a run. */
int32_t opencl_time(const backend_code *c, void **args, void *const *resident,
                    const int64_t *sizes, uint64_t runs, double *seconds) {
  backend_code *own = (backend_code *)(uintptr_t)c;
  return device_call(&own->device, args, resident, sizes, runs, seconds);
}

const char *opencl_why(const backend_code *c) { return c->device.why; }
