/* SPDX-License-Identifier: Apache-2.0
 * Lua for hosts without it: the modules of the default space, and scripts of
 * the host's, run in a Lua state of this library's own, which lives as long as
 * the space that they make. */
#include "lua/spaces/spaces.h"
#include "lua/lt.h"

#include <dlfcn.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>
#include <tessera/lua.h>

typedef struct spaces_request {
  tess_context *c;
  const char *script, *argument;
  tess_space **space; /* NULL: a program is wanted */
  tess_program **program;
} spaces_request;

/* Modules and what they require stand in the build tree below this library,
 * and installed under share/lua/5.4; those of nobody else are looked at. */
static void set_path(lua_State *L) {
  static const char here = 0;
  Dl_info info;
  const char *file = dladdr(&here, &info) ? info.dli_fname : NULL;
  const char *slash = file ? strrchr(file, '/') : NULL;
  lua_getglobal(L, "package");
  lua_pushlstring(L, file ? file : ".", slash ? (size_t)(slash - file) : 1);
  const char *dir = lua_tostring(L, -1);
  lua_pushfstring(L, "%s/lua/?.lua;%s/%s/?.lua", dir, dir, TESS_LUA_FROM_LIB);
  lua_setfield(L, -3, "path");
  lua_pushliteral(L, "");
  lua_setfield(L, -3, "cpath");
  lua_pop(L, 2);
}

/* The program at the top, which needs nothing of the state it was made in. */
static void take_program(lua_State *L, spaces_request *r) {
  lt_program(L, -1);
  void **box = lua_touserdata(L, -1);
  *r->program = *box;
  *box = NULL;
}

/* The Lua object at the top keeps the modules' functions, and so it stays: what
 * is handed out is a space over it. */
static void take_space(lua_State *L, spaces_request *r) {
  tess_space *inner = lt_get(L, -1, LT_SPACE);
  luaL_ref(L, LUA_REGISTRYINDEX);
  lt_check(L, tess_space_union(r->c, 1, &inner, r->space));
}

static int spaces_make(lua_State *L) {
  spaces_request *r = lua_touserdata(L, 1);
  luaL_openlibs(L);
  set_path(L);
  tess_lua_open(L, r->c);
  if (luaL_loadbufferx(L, r->script, strlen(r->script), "=script", "t"))
    lt_error(L, TESS_PARSE, "%s", lua_tostring(L, -1));
  lua_pushstring(L, r->argument);
  lua_call(L, 1, 1);
  if (r->space)
    take_space(L, r);
  else
    take_program(L, r);
  return 0;
}

/* The error at index 1 as text; whatever it is, in protected mode. */
static int spaces_reason(lua_State *L) {
  lt_push_reason(L, 1);
  return 1;
}

static tess_status report(lua_State *L, char *why, size_t n) {
  tess_status s = lt_code_of(L, -1);
  lua_pushcfunction(L, spaces_reason);
  lua_insert(L, -2);
  int told = lua_pcall(L, 1, 1, 0) == LUA_OK;
  const char *text = told ? lua_tostring(L, -1) : NULL;
  snprintf(why, n, "%s", text ? text : "an error that is no text");
  for (char *end = why; (end = strpbrk(end, "\r\n"));) *end = ' ';
  return s;
}

static void close_state(void *ud) { lua_close(ud); }

tess_status tess_spaces_run(tess_context *c, const char *script,
                            const char *argument, tess_space **space,
                            tess_program **program, char *why, size_t n) {
  spaces_request r = {c, script, argument, space, program};
  lua_State *L = luaL_newstate();
  snprintf(why, n, "%s", tess_status_text(TESS_NOMEM));
  if (!L) return TESS_NOMEM;
  lua_pushcfunction(L, spaces_make);
  lua_pushlightuserdata(L, &r);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
    tess_status s = report(L, why, n);
    lua_close(L);
    return s;
  }
  if (space)
    tess_space_on_free(*space, close_state, L);
  else
    lua_close(L);
  return TESS_OK;
}
