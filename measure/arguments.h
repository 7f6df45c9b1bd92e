/* SPDX-License-Identifier: Apache-2.0
 * The tensors of a call of a kernel or of the interpreter, checked against the
 * program's parameters. */
#ifndef MEASURE_ARGUMENTS_H
#define MEASURE_ARGUMENTS_H

#include "measure/kernel.h"

enum { ARGUMENTS_MAX = 256, ARGUMENTS_SIZES = KERNEL_SIZES };

/* The tensors of a call, checked, and the values of symbolic extents. */
typedef struct kernel_call {
  tess_context *c;
  const ir_program *p;
  tess_kernel *k; /* to be called; NULL: the interpreter, which checks every
                   * index itself */
  uint32_t n;
  tess_tensor *const *tensor;
  void *args[ARGUMENTS_MAX];
  int64_t sizes[ARGUMENTS_SIZES];
  bool known[ARGUMENTS_SIZES];
} kernel_call;

/* Checks the tensors (types, extents, places, aliasing), infers the symbolic
 * extents from them and fills in `args`; c, p, k, n and tensor are set. */
tess_status arguments_bind(kernel_call *x);
/* The extents of parameter i, as far as they follow from those of x->tensor
 * that are not NULL; c, p, n and tensor are set. */
tess_status arguments_shape(kernel_call *x, uint32_t i, int64_t *shape);
/* Whether the program may write to parameter i. */
bool arguments_written(const kernel_call *x, uint32_t i);

#endif
