/* SPDX-License-Identifier: Apache-2.0
 * The emulated device as the driver of host programs, and as a backend. */
#include "support/gpu_backend.h"
#include "support/gpu_program.h"
#include "backends/backend.h"
#include "backends/cuda/kernel.h"
#include "backends/device/device.h"
#include "ir/query.h"
#include "lower/lower.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct backend_code {
  mem_heap *heap;
  gpu_module *m;
  gpu_counts *counts, own;
  bool reversed;
  char why[GPU_WHY];
  char *payload; /* a copy of the program's */
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
  const char *at = x->payload;
  uint64_t n;
  memcpy(&n, at + strlen(at) + 1 + kernel * sizeof n, sizeof n);
  return n;
}

static int32_t gpu_start(void *ud, const device_launch *l) {
  emulated *x = ud;
  char name[CUDA_NAME];
  gpu_span span[DEVICE_MOST_ARGS];
  void *args[DEVICE_MOST_ARGS];
  cuda_kernel_name(x->payload, l->kernel, name);
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

static const device_driver gpu_host = {.most_blocks = CUDA_MOST_BLOCKS,
                                       .alloc = gpu_alloc,
                                       .release = gpu_release,
                                       .to_device = gpu_to_device,
                                       .to_host = gpu_to_host,
                                       .launch = gpu_start,
                                       .begin = gpu_begin,
                                       .end = gpu_end};

/* ---- as a backend ------------------------------------------------------- */

/* The size of the IR, the IR, and the code for the driver. */
static tess_status gpu_compile(ir_program *p, arena *scratch, const target *t,
                               backend_form form, strbuf *out, err_state *e) {
  const backend *cuda = backend_find("cuda");
  strbuf ir;
  if (form != BACKEND_CODE) return cuda->compile(p, scratch, t, form, out, e);
  str_init(&ir, p->heap);
  tess_status s = cuda->compile(p, scratch, t, BACKEND_IR, &ir, e);
  while (ir.n % sizeof(uint64_t)) str_puts(&ir, "\n");
  uint64_t n = ir.n;
  str_write(out, (const char *)&n, sizeof n);
  str_write(out, ir.v, ir.n);
  if (!s) s = str_status(&ir);
  str_free(&ir);
  return s ? s : cuda->compile(p, scratch, t, form, out, e);
}

static void gpu_unload_code(backend_code *x) {
  device_unload(&x->program);
  gpu_unload(x->m);
  free(x->payload);
  mem_delete(x->heap, x);
}

/* Code in a header of 64-bit words is aligned as such. */
static tess_status load_parts(emulated *x, const char *at, size_t n,
                              err_state *e) {
  uint64_t ir;
  memcpy(&ir, at, sizeof ir);
  at += sizeof ir;
  x->m = gpu_load(at, ir, x->why);
  if (!x->m) return err_set(e, TESS_INTERNAL, "emulator: %s", x->why);
  at += ir + sizeof(uint64_t); /* the device's number */
  tess_status s = device_load(&x->program, x->heap, at,
                              n - 2 * sizeof(uint64_t) - ir, &gpu_host, x, e);
  if (s) return s;
  x->payload = malloc(x->program.npayload);
  memcpy(x->payload, x->program.payload, x->program.npayload);
  return TESS_OK;
}

static tess_status gpu_load_code(mem_heap *heap, const void *code, size_t n,
                                 backend_code **out, err_state *e) {
  emulated *x = mem_try_resize(heap, NULL, 0, sizeof *x);
  if (!x) return err_ran_out(e, heap, mem_refusal(heap), "loading a kernel");
  *x = (emulated){.heap = heap};
  x->counts = &x->own;
  tess_status s = load_parts(x, code, n, e);
  if (s)
    gpu_unload_code(x);
  else
    *out = x;
  return s;
}

static int32_t gpu_launch_code(const backend_code *c, void **args,
                               const int64_t *sizes, const tess_runtime *rt) {
  emulated *x = (emulated *)(uintptr_t)c;
  double seconds;
  (void)rt;
  int32_t rc = device_call(&x->program, args, NULL, sizes, 1, &seconds);
  if (rc) fprintf(stderr, "emulator: %s\n", x->why);
  return rc;
}

const backend gpu_backend = {.name = "cuda",
                             .forms = 1u << BACKEND_CODE,
                             .compile = gpu_compile,
                             .load = gpu_load_code,
                             .launch = gpu_launch_code,
                             .unload = gpu_unload_code};

/* ---- scheduled programs ------------------------------------------------- */

static tess_status run_code(ir_program *p, const gpu_program_options *o,
                            const strbuf *code, void *const *args,
                            const int64_t *sizes, gpu_counts *counts,
                            err_state *e) {
  emulated *x = NULL;
  double seconds;
  tess_status s = gpu_backend.load(p->heap, code->v, code->n, &x, e);
  if (s) return s;
  x->reversed = o->reversed;
  if (counts) x->counts = counts;
  int32_t rc = device_call(&x->program, (void **)(uintptr_t)args, NULL, sizes,
                           1, &seconds);
  if (rc)
    err_set(e, (tess_status)rc, "emulator: %s",
            x->program.why[0] ? x->program.why : x->why);
  gpu_backend.unload(x);
  return (tess_status)rc;
}

tess_status gpu_run_program(ir_program *p, arena *scratch,
                            const gpu_program_options *o, void *const *args,
                            const int64_t *sizes, gpu_counts *counts,
                            err_state *e) {
  target t;
  strbuf code;
  tess_status s =
      target_parse(&t, o->target ? o->target : "cuda -arch=sm_80", e);
  if (s) return s;
  lower_options options = {.vector_bytes = (uint32_t)t.vector_bytes,
                           .open_fragments = target_opens_fragments(&t)};
  str_init(&code, p->heap);
  s = lower_program(p, scratch, &options, e);
  if (!s) s = gpu_backend.compile(p, scratch, &t, BACKEND_CODE, &code, e);
  if (!s) s = run_code(p, o, &code, args, sizes, counts, e);
  str_free(&code);
  return s;
}
