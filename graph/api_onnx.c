/* SPDX-License-Identifier: Apache-2.0
 * Public API (include/tessera/graph.h): graphs of ONNX files. */
#include "graph/onnx/read.h"
#include <stdio.h>

typedef struct reading {
  onnx_reader r;
  tess_graph *g;
} reading;

static tess_status read_mapped(void *ud) {
  reading *w = ud;
  return onnx_read(&w->r, &w->g);
}

/* What is wrong in a file, with the file. */
static tess_status in_file(tess_context *c, const char *path, tess_status s) {
  char why[sizeof c->err.message];
  snprintf(why, sizeof why, "%s", c->err.message);
  return ctx_fail(c, s, "%s: %s", path ? path : "ONNX", why);
}

static tess_status read_from(tess_context *c, const char *path,
                             onnx_mapping *mapping, tess_graph **out) {
  reading w = {.r = {.c = c, .from = {c, path, mapping}}};
  arena_init(&w.r.memory, &c->heap);
  str_init(&w.r.copy, &c->heap);
  tess_status s = ctx_run(c, read_mapped, &w);
  onnx_reader_free(&w.r);
  if (s) return in_file(c, path, s);
  *out = w.g;
  return TESS_OK;
}

tess_status tess_graph_from_onnx(tess_context *c, const char *path,
                                 tess_graph **out) {
  onnx_mapping *mapping;
  *out = NULL;
  ctx_clear(c);
  tess_status s = onnx_map(c, path, "", &mapping);
  return s ? s : read_from(c, path, mapping, out);
}

tess_status tess_graph_from_onnx_bytes(tess_context *c, const void *bytes,
                                       size_t n, tess_graph **out) {
  onnx_mapping *mapping;
  *out = NULL;
  ctx_clear(c);
  tess_status s = onnx_map_bytes(c, bytes, n, &mapping);
  return s ? s : read_from(c, NULL, mapping, out);
}
