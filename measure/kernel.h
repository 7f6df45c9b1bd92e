/* SPDX-License-Identifier: Apache-2.0
 * Kernels: compiled code (by a worker unless in_process) that is loaded into
 * this process. */
#ifndef MEASURE_KERNEL_H
#define MEASURE_KERNEL_H

#include "backends/object.h"
#include "ir/object.h"
#include "measure/bundle.h"
#include "measure/measure.h"
#include "measure/tensor/tensor.h"

enum { KERNEL_SIZES = 64 };  /* at most */

struct tess_kernel {
  tess_context *c;
  uint32_t refs;             /* tess_kernel_free drops one */
  tess_program *program;     /* held */
  target target;
  char *target_text;         /* ctx_text */
  char *foreign;             /* ctx_text: why this machine cannot run it, and
                              * it is not loaded; else NULL */
  strbuf remote;             /* code that only workers may load; else empty */
  bundle code;
  bundle_args made;          /* parameters as last converted */
  uint32_t threads;          /* that it runs on; 0: the target's cores */
  bool fits;                 /* it can run with these sizes */
  int64_t sizes[KERNEL_SIZES];
};

/* The type tess_runtime in C, for headers of what is saved; they include
 * <stdint.h>, and may be included together. */
extern const char kernel_runtime_type[];

/* Loads code that was built for the program, if this machine can run it;
 * unwinds.  Tuning uses it to return the best kernel. */
tess_status kernel_load(tess_context *c, tess_program *p,
                        const char *target_text, const strbuf *code,
                        tess_kernel **out);
/* Builds a program in the context's pool, in whatever form; `out` is
 * initialised and the caller's. */
tess_status kernel_build(tess_context *c, tess_program *p,
                         const char *target_text, backend_form form,
                         measure_build *out);

#endif
