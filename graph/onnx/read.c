/* SPDX-License-Identifier: Apache-2.0
 * Reads an ONNX file: maps, scans and unpacks it, and makes its graph. */
#include "graph/onnx/read.h"
#include "graph/onnx/scan.h"

/* What protobuf-c unpacks is in the reader's arena, so that an unwinding over
 * it loses nothing. */
static void *unpack_alloc(void *memory, size_t n) {
  return arena_alloc(memory, n ? n : 1);
}

static void unpack_free(void *memory, void *p) { (void)memory, (void)p; }

static tess_status unpack(onnx_reader *r) {
  ProtobufCAllocator in = {unpack_alloc, unpack_free, &r->memory};
  tess_status s = onnx_scan(r->from.mapping->data, r->from.mapping->n, &r->copy,
                            &r->c->err);
  if (s) return s;
  r->model = onnx__model_proto__unpack(&in, r->copy.n,
                                       (const uint8_t *)str_get(&r->copy));
  str_free(&r->copy);
  if (r->model) return TESS_OK;
  return ctx_fail(r->c, TESS_PARSE, "its fields cannot be unpacked");
}

tess_status onnx_read(onnx_reader *r, tess_graph **out) {
  tess_status s = unpack(r);
  if (s) return s;
  if (!r->model->graph)
    return ctx_fail(r->c, TESS_PARSE, "there is no graph in it");
  s = onnx_read_graph(r, r->model->graph, NULL, out);
  if (!s) r->graphs.n = 0; /* it is the caller's */
  return s;
}

void onnx_reader_free(onnx_reader *r) {
  while (r->scope) onnx_scope_close(r);
  for (uint32_t i = r->graphs.n; i-- > 0;) tess_graph_free(r->graphs.v[i]);
  vec_free(&r->c->heap, &r->graphs);
  tess_tensor_free(r->pending);
  str_free(&r->copy);
  arena_free(&r->memory);
  for (onnx_mapping *m = r->from.mapping, *next; m; m = next) {
    next = m->next;
    onnx_release(m);
  }
}
