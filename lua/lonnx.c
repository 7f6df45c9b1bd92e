/* SPDX-License-Identifier: Apache-2.0
 * Binding of the reader of ONNX files: ts.read_onnx. */
#include "lua/lt.h"

/* ts.read_onnx(path), or of the bytes of one ts.read_onnx(nil, bytes) */
static int read_onnx(lua_State *L) {
  size_t n = 0;
  const char *path = lt_opt_string(L, 1, "the path of an ONNX file", NULL);
  const char *bytes = path ? NULL : luaL_checklstring(L, 2, &n);
  tess_graph *g = NULL;
  void **box = lt_box(L, LT_GRAPH, 0);
  lt_check(L, path ? tess_graph_from_onnx(lt_context(L), path, &g)
                   : tess_graph_from_onnx_bytes(lt_context(L), bytes, n, &g));
  *box = g;
  return 1;
}

void lt_open_onnx(lua_State *L) {
  static const luaL_Reg functions[] = {{"read_onnx", read_onnx}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
