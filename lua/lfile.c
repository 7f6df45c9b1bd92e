/* SPDX-License-Identifier: Apache-2.0
 * Binding of files: ts.write_file, ts.same_file. */
#include "lua/lt.h"

/* ts.write_file(path, text) */
static int write_file(lua_State *L) {
  size_t n;
  const char *path = lt_string(L, 1, "the path of a file");
  const char *text = luaL_checklstring(L, 2, &n);
  lt_check(L, tess_file_write(lt_context(L), path, text, n));
  return 0;
}

/* ts.same_file(a, b) */
static int same_file(lua_State *L) {
  lua_pushboolean(L, tess_file_same(lt_string(L, 1, "the path of a file"),
                                    lt_string(L, 2, "the path of a file")));
  return 1;
}

void lt_open_file(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"write_file", write_file}, {"same_file", same_file}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
