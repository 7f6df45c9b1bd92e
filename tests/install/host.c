/* SPDX-License-Identifier: Apache-2.0
 * A host with a Lua state and an allocator of its own, as docs/embedding.md
 * has it: `require` gives what the host opened, and nothing is left over. */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/lua.h>

static void *host_count(void *ud, void *ptr, size_t osize, size_t nsize) {
  *(size_t *)ud += nsize - (ptr ? osize : 0);
  if (nsize) return realloc(ptr, nsize);
  free(ptr);
  return NULL;
}

static void host_put(void *ud, int level, const char *text) {
  (void)level;
  fprintf(ud, "%s\n", text);
}

static const char script[] =
    "assert(require 'tessera' == ts)\n"
    "local p = require 'tessera.ops'.matmul { m = 8, n = 8, k = 8 }\n"
    "local s = ts.schedule(p)\n"
    "s:parallel((s:get_loops(s:get_block 'C')))\n"
    "assert(ts.equivalent(s, p))\n"
    "assert(#ts.space.sketches(ts.space.default 'llvm', p) > 0)\n";

static int open_bare(lua_State *L) {
  return tess_lua_open(L, lua_touserdata(L, 1));
}

/* A state without the standard libraries is told so. */
static int refuses_bare_state(tess_context *c) {
  lua_State *L = luaL_newstate();
  lua_pushcfunction(L, open_bare);
  lua_pushlightuserdata(L, c);
  int bad = lua_pcall(L, 1, 1, 0) == LUA_OK ||
            !strstr(lua_tostring(L, -1), "standard library '_G'");
  if (bad) fprintf(stderr, "in a bare state: %s\n", lua_tostring(L, -1));
  lua_close(L);
  return !bad;
}

int main(void) {
  size_t used = 0;
  const tess_allocator memory = {host_count, &used};
  const tess_options o = {
      .struct_size = sizeof o,
      .allocator = &memory,   /* NULL: malloc and free */
      .memory_cap = 1u << 30, /* bytes; 0: none */
      .log = host_put,
      .log_ud = stderr,
  };
  tess_context *c;
  if (tess_context_new(&o, &c) != TESS_OK) return 1;
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  tess_lua_open(L, c); /* pushes the module's table */
  lua_setglobal(L, "ts");
  int bad = luaL_dostring(L, script) != LUA_OK;
  if (bad) fprintf(stderr, "%s\n", luaL_tolstring(L, -1, NULL));
  lua_close(L);
  bad |= !refuses_bare_state(c);
  tess_context_free(c);
  if (used) fprintf(stderr, "%zu bytes are left\n", used);
  return bad || used;
}
