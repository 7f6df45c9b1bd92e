/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as an ONNX file: refused with a message, or a well-formed graph
 * that can be printed. */
#include "fuzz/fuzz.h"

#include "base/context.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tess_context *c;
  tess_graph *g = NULL;
  char *text = NULL;
  tess_options o = {.struct_size = sizeof o, .memory_cap = 64 << 20};
  FUZZ_ASSERT(tess_context_new(&o, &c) == TESS_OK);
  tess_status s = tess_graph_from_onnx_bytes(c, data, size, &g);
  FUZZ_ASSERT(s == TESS_OK || (!g && c->err.message[0]));
  if (!s) {
    FUZZ_ASSERT(tess_graph_verify(g) == TESS_OK);
    FUZZ_ASSERT(tess_graph_text(g, &text) == TESS_OK);
  }
  tess_text_free(c, text);
  tess_graph_free(g);
  tess_context_free(c);
  return 0;
}
