/* SPDX-License-Identifier: Apache-2.0
 * Files in memory, as long as someone holds them: an ONNX file and those beside
 * it with its weights. */
#ifndef GRAPH_ONNX_MAPPING_H
#define GRAPH_ONNX_MAPPING_H

#include "base/context.h"

/* Pages are private: what a kernel writes to a weight is no longer shared with
 * the file, which stays as it is. */
typedef struct onnx_mapping {
  tess_context *c;
  uint32_t refs;
  uint8_t *data;
  size_t n;
  struct onnx_mapping *next; /* another of the same model */
  char *name;                /* as the model names it; "" for itself */
} onnx_mapping;

/* A file, or a copy of these bytes.  Whoever gets it holds it; NOT_FOUND, IO,
 * NOMEM, sets the error. */
tess_status onnx_map(tess_context *c, const char *path, const char *name,
                     onnx_mapping **out);
tess_status onnx_map_bytes(tess_context *c, const void *bytes, size_t n,
                           onnx_mapping **out);
void onnx_release(onnx_mapping *m); /* NULL is fine */

/* The file `name` in the folder of the model at `path`: INVALID for one that is
 * elsewhere.  A link may lead to where the model itself is, as in caches of
 * files by their hashes, and nowhere else. */
tess_status onnx_map_beside(tess_context *c, const char *path,
                            const char *name, onnx_mapping **out);

#endif
