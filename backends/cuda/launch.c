/* SPDX-License-Identifier: Apache-2.0
 * Loading and launching of PTX through the driver. */
#include "backends/cuda/cuda.h"

static tess_status cuda_load(mem_heap *heap, const void *code, size_t n,
                             backend_code **out, err_state *e) {
  (void)heap, (void)code, (void)n;
  *out = NULL;
  return err_set(e, TESS_UNSUPPORTED,
                 "kernels for 'cuda' are compiled here, but not launched yet");
}

static int32_t cuda_launch(const backend_code *c, void **args,
                           const int64_t *sizes, const tess_runtime *rt) {
  (void)c, (void)args, (void)sizes, (void)rt;
  return TESS_UNSUPPORTED;
}

static tess_kernel_fn cuda_entry(const backend_code *c) {
  (void)c;
  return NULL;
}

static void cuda_unload(backend_code *c) { (void)c; }

const backend cuda_backend = {
    .name = "cuda",
    .own_process = true,
    .forms = 1u << BACKEND_CODE | 1u << BACKEND_IR | 1u << BACKEND_PTX,
    .complete = cuda_complete_target,
    .runs_here = cuda_runs_here,
    .compile = cuda_compile,
    .load = cuda_load,
    .launch = cuda_launch,
    .entry = cuda_entry,
    .unload = cuda_unload,
};
