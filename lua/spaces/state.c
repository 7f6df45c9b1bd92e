/* SPDX-License-Identifier: Apache-2.0
 * Lua states for hosts without Lua: opening one, and what of the host's objects
 * goes in and out. */
#include "lua/spaces/state.h"

#include <dlfcn.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>

/* Its address is the registry key of the list of boxes that were lent. */
static const char lent_key = 0;

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

typedef struct state_request {
  tess_context *c;
  lua_CFunction f;
  void *request;
} state_request;

static int state_begin(lua_State *L) {
  state_request *r = lua_touserdata(L, 1);
  luaL_openlibs(L);
  set_path(L);
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &lent_key);
  tess_lua_open(L, r->c);
  lua_pushcfunction(L, r->f);
  lua_pushlightuserdata(L, r->request);
  lua_call(L, 1, 0);
  return 0;
}

/* ---- errors ------------------------------------------------------------- */

/* The error at index 1 as text; whatever it is, in protected mode. */
static int state_reason(lua_State *L) {
  lt_push_reason(L, 1);
  return 1;
}

static tess_status report(lua_State *L, char *why, size_t n) {
  tess_status s = lt_code_of(L, -1);
  lua_pushcfunction(L, state_reason);
  lua_insert(L, -2);
  int told = lua_pcall(L, 1, 1, 0) == LUA_OK;
  const char *text = told ? lua_tostring(L, -1) : NULL;
  snprintf(why, n, "%s", text ? text : "an error that is no text");
  for (char *end = why; (end = strpbrk(end, "\r\n"));) *end = ' ';
  return s;
}

tess_status state_run(tess_context *c, lua_CFunction f, void *request,
                      lua_State **kept, char *why, size_t n) {
  state_request r = {c, f, request};
  lua_State *L = luaL_newstate();
  snprintf(why, n, "%s", tess_status_text(TESS_NOMEM));
  if (!L) return TESS_NOMEM;
  lua_pushcfunction(L, state_begin);
  lua_pushlightuserdata(L, &r);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
    tess_status s = report(L, why, n);
    state_close(L);
    return s;
  }
  *kept = L;
  return TESS_OK;
}

/* ---- objects ------------------------------------------------------------ */

void state_lend(lua_State *L, const char *tname, void *object) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &lent_key);
  void **box = lt_box(L, tname, 0);
  lua_pushvalue(L, -1);
  lua_rawseti(L, -3, (lua_Integer)lua_rawlen(L, -3) + 1);
  lua_remove(L, -2);
  *box = object;
}

void *state_take(lua_State *L, int i, const char *tname) {
  void *object = lt_get(L, i, tname);
  *(void **)lua_touserdata(L, i) = NULL;
  return object;
}

void state_close(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &lent_key) == LUA_TTABLE)
    for (lua_Integer i = (lua_Integer)lua_rawlen(L, -1); i > 0; i--) {
      lua_rawgeti(L, -1, i);
      *(void **)lua_touserdata(L, -1) = NULL;
      lua_pop(L, 1);
    }
  lua_close(L);
}
