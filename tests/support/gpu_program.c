/* SPDX-License-Identifier: Apache-2.0
 * The emulated device as the driver of a host program. */
#include "support/gpu_program.h"
#include "backends/backend.h"
#include "backends/cuda/kernel.h"
#include "backends/device/device.h"
#include "ir/query.h"
#include "lower/lower.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct emulated {
  gpu_module *m;
  gpu_counts *counts;
  bool reversed;
  const char *entry;
  char why[GPU_WHY];
  device_program program;
} emulated;

/* Device memory: its size, and then, aligned, its contents. */
enum { HEAD = 64 };

static gpu_span span_of(device_memory m) {
  gpu_span s = {(char *)m + HEAD, 0};
  memcpy(&s.bytes, m, sizeof s.bytes);
  return s;
}

static int32_t gpu_alloc(void *ud, uint64_t bytes, device_memory *out) {
  (void)ud;
  size_t n = bytes;
  *out = aligned_alloc(HEAD, HEAD + (n + HEAD - 1) / HEAD * HEAD);
  memcpy(*out, &n, sizeof n);
  memset((char *)*out + HEAD, 0xff, n);
  return 0;
}

static void gpu_release(void *ud, device_memory m) {
  (void)ud;
  free(m);
}

static int32_t gpu_to_device(void *ud, device_memory to, const void *from,
                             uint64_t bytes) {
  (void)ud;
  memcpy(span_of(to).at, from, bytes);
  return 0;
}

static int32_t gpu_to_host(void *ud, void *to, device_memory from,
                           uint64_t bytes) {
  (void)ud;
  memcpy(to, span_of(from).at, bytes);
  return 0;
}

static size_t dynamic_shared(const emulated *x, uint32_t kernel) {
  const char *at = x->program.payload;
  uint64_t n;
  memcpy(&n, at + strlen(at) + 1 + kernel * sizeof n, sizeof n);
  return n;
}

static int32_t gpu_start(void *ud, const device_launch *l) {
  emulated *x = ud;
  char name[CUDA_NAME];
  gpu_span span[DEVICE_MOST_ARGS];
  void *args[DEVICE_MOST_ARGS];
  cuda_kernel_name(x->program.payload, l->kernel, name);
  for (uint32_t i = 0; i < l->nbuf; i++) {
    span[i] = span_of(l->buf[i]);
    args[i] = &span[i].at;
  }
  for (uint32_t i = 0; i < l->nvar; i++)
    args[l->nbuf + i] = (void *)(uintptr_t)&l->var[i];
  gpu_launch k = {.kernel = name,
                  .dynamic_shared = dynamic_shared(x, l->kernel),
                  .args = args,
                  .nspans = l->nbuf,
                  .span = span,
                  .reversed = x->reversed};
  memcpy(k.grid, l->grid, sizeof k.grid);
  memcpy(k.block, l->block, sizeof k.block);
  return gpu_run(x->m, &k, x->counts, x->why) ? 0 : TESS_WRONG_RESULT;
}

static int32_t gpu_begin(void *ud) { return (void)ud, 0; }

static int32_t gpu_end(void *ud, double *seconds) {
  (void)ud;
  *seconds = 0;
  return 0;
}

static const device_driver gpu_host = {gpu_alloc,   gpu_release, gpu_to_device,
                                       gpu_to_host, gpu_start,   gpu_begin,
                                       gpu_end};

static tess_status run_loaded(emulated *x, mem_heap *heap, const strbuf *ir,
                              const strbuf *code, void *const *args,
                              const int64_t *sizes, err_state *e) {
  double seconds;
  x->m = gpu_load(ir->v, ir->n, x->why);
  if (!x->m) return err_set(e, TESS_INTERNAL, "emulator: %s", x->why);
  tess_status s =
      device_load(&x->program, heap, code->v, code->n, &gpu_host, x, e);
  if (s) return s;
  int32_t rc =
      device_call(&x->program, (void **)(uintptr_t)args, sizes, 1, &seconds);
  return rc ? err_set(e, rc, "emulator: %s", x->why) : TESS_OK;
}

tess_status gpu_run_program(ir_program *p, arena *scratch,
                            const gpu_program_options *o, void *const *args,
                            const int64_t *sizes, gpu_counts *counts,
                            err_state *e) {
  target t;
  gpu_counts own = {0};
  strbuf ir, code;
  const backend *cuda = backend_find("cuda");
  emulated x = {.counts = counts ? counts : &own, .reversed = o->reversed};
  tess_status s =
      target_parse(&t, o->target ? o->target : "cuda -arch=sm_80", e);
  if (s) return s;
  lower_options options = {.vector_bytes = (uint32_t)t.vector_bytes};
  str_init(&ir, p->heap);
  str_init(&code, p->heap);
  s = lower_program(p, scratch, &options, e);
  if (!s) s = cuda->compile(p, scratch, &t, BACKEND_IR, &ir, e);
  if (!s) s = cuda->compile(p, scratch, &t, BACKEND_CODE, &code, e);
  if (!s) s = run_loaded(&x, p->heap, &ir, &code, args, sizes, e);
  device_unload(&x.program);
  gpu_unload(x.m);
  str_free(&ir);
  str_free(&code);
  return s;
}
