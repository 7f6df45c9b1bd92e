/* SPDX-License-Identifier: Apache-2.0
 * Operators by oneDNN, a primitive each: what its files share.  Everything is
 * float32; tensors are described by dimensions in the library's order and by
 * strides, so that no layout is converted. */
#ifndef NAIVE_ONEDNN_H
#define NAIVE_ONEDNN_H

#include "naive/naive.h"
#include <oneapi/dnnl/dnnl.h>

enum { ONEDNN_ARGS = 8 };

/* A call: its arguments as float32, and the first thing that failed. */
typedef struct onednn {
  naive *x;
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_desc_t pd;
  dnnl_exec_arg_t arg[ONEDNN_ARGS];
  float *data[ONEDNN_ARGS];
  int n;
  dnnl_status_t status;
} onednn;

/* Dimensions and strides, in elements, of a tensor in row-major order. */
typedef struct onednn_view {
  int n;
  dnnl_dims_t dim, stride;
} onednn_view;

onednn_view onednn_row_major(const naive_tensor *t);
/* Dimension d of the result is dimension order[d] of v. */
onednn_view onednn_permuted(onednn_view v, const int *order);
/* The dimension at `from` becomes that at `to`. */
onednn_view onednn_moved(onednn_view v, int from, int to);
dnnl_memory_desc_t onednn_desc(const onednn_view *v);

/* The primitive of an operation's descriptor, if `s` is success. */
void onednn_make(onednn *o, dnnl_status_t s, const_dnnl_op_desc_t op);
/* Argument `which`: the elements of t in its own order. */
void onednn_give(onednn *o, int which, dnnl_memory_desc_t md,
                 const naive_tensor *t);
/* The same, t broadcast to the shape of y. */
void onednn_give_to(onednn *o, int which, dnnl_memory_desc_t md,
                    const naive_tensor *t, const naive_tensor *y);
/* Runs the primitive; its DNNL_ARG_DST becomes y's elements. */
void onednn_run(onednn *o, dnnl_memory_desc_t md, naive_tensor *y);

typedef struct onednn_op {
  const char *name;
  /* False where the library has no such operator with these options. */
  bool (*run)(onednn *o);
} onednn_op;

/* The last row has no name. */
extern const onednn_op onednn_windows[], onednn_others[];

#endif
