/* SPDX-License-Identifier: Apache-2.0
 * Tensors of an ONNX file, whose elements lie in it, or in a file beside it. */
#ifndef GRAPH_ONNX_TENSOR_H
#define GRAPH_ONNX_TENSOR_H

#include "graph/onnx/mapping.h"
#include <onnx.pb-c.h>

typedef struct onnx_source {
  tess_context *c;
  const char *path;      /* NULL: bytes, beside which there are no files */
  onnx_mapping *mapping; /* the model's, then those of weights */
} onnx_source;

/* The type of elements that TensorProto.DataType says, of integers of few bits,
 * too; false where there is none here. */
bool onnx_dtype(int32_t type, tess_dtype *out);
/* Its name in onnx.proto, "INT4"; "?" where there is none. */
const char *onnx_dtype_name(int32_t type);

/* A tensor over the mapped data, where that is on a multiple of an element's
 * bytes, else a copy; of integers of few bits one of the bytes they lie in.
 * TYPE, INVALID and what tensors are refused for; sets the error, which does
 * not say which tensor it is. */
tess_status onnx_tensor(onnx_source *from, const Onnx__TensorProto *t,
                        tess_tensor **out);

#endif
