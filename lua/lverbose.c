/* SPDX-License-Identifier: Apache-2.0
 * --verbose: tracebacks of the user's own frames, and errors of callbacks shown
 * where they are raised, before they become one line of the engine's. */
#include "lua/lt.h"
#include <stdio.h>
#include <string.h>

/* Whether the frame is of Lua that is none of Tessera's own. */
static int is_users(lua_State *L, lua_Debug *ar) {
  lua_getinfo(L, "Sln", ar);
  lua_getfield(L, LUA_REGISTRYINDEX, "tessera.folder");
  const char *own = lua_tostring(L, -1);
  int is =
      ar->currentline > 0 && !(own && !strncmp(ar->source, own, strlen(own)));
  lua_pop(L, 1);
  return is;
}

static void add_frame(luaL_Buffer *b, const lua_Debug *ar) {
  char line[32];
  snprintf(line, sizeof line, ":%d: in ", ar->currentline);
  luaL_addstring(b, "\n\t");
  luaL_addstring(b, ar->short_src);
  luaL_addstring(b, line);
  if (ar->name) {
    luaL_addstring(b, *ar->namewhat ? ar->namewhat : "function");
    luaL_addstring(b, " '");
    luaL_addstring(b, ar->name);
    luaL_addstring(b, "'");
  } else
    luaL_addstring(b, *ar->what == 'm' ? "main chunk" : "a function");
}

void lt_push_frames(lua_State *L, const char *text) {
  luaL_Buffer b;
  lua_Debug ar;
  int any = 0;
  luaL_checkstack(L, 8, NULL);
  luaL_buffinit(L, &b);
  luaL_addstring(&b, text);
  for (int level = 1; lua_getstack(L, level, &ar); level++) {
    if (!is_users(L, &ar)) continue;
    if (!any++) luaL_addstring(&b, "\nstack traceback:");
    add_frame(&b, &ar);
  }
  luaL_pushresult(&b);
}

static const char verbose_key = 0;

void lt_set_verbose(lua_State *L, int on) {
  lua_pushboolean(L, on);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &verbose_key);
}

static int is_verbose(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &verbose_key);
  int is = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return is;
}

/* Whether that text, at the top, is shown for the first time: a module fails
 * at each block in each sketch. */
static int is_new(lua_State *L) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, "tessera.shown");
  lua_pushvalue(L, -2);
  int seen = lua_rawget(L, -2) != LUA_TNIL;
  lua_pop(L, 1);
  lua_pushvalue(L, -2);
  lua_pushboolean(L, 1);
  lua_rawset(L, -3);
  lua_pop(L, 1);
  return !seen;
}

int lt_show_failure(lua_State *L) {
  lua_settop(L, 1);
  if (!is_verbose(L)) return 1;
  int ends = lt_status_of(L, 1) != TESS_CALLBACK; /* Ctrl-C, memory */
  if (!ends && lua_type(L, 1) != LUA_TSTRING &&
      !luaL_callmeta(L, 1, "__tostring"))
    lt_push_reason(L, 1);
  if (!ends && lua_type(L, -1) == LUA_TSTRING) {
    lt_push_frames(L, lua_tostring(L, -1));
    if (is_new(L)) fprintf(stderr, "tessera: %s\n", lua_tostring(L, -1));
  }
  lua_settop(L, 1);
  return 1;
}

/* In the registry: how many modules run, one in another. */
static const char modules_key = 0;

static lua_Integer count_modules(lua_State *L, lua_Integer more) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &modules_key);
  lua_Integer n = lua_tointeger(L, -1) + more;
  lua_pop(L, 1);
  if (!more) return n;
  lua_pushinteger(L, n);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &modules_key);
  return n;
}

int lt_modules_running(lua_State *L) {
  return lua_pushinteger(L, count_modules(L, 0)), 1;
}

int lt_run_module(lua_State *L) { /* (function, ...) */
  luaL_checkstack(L, 4, NULL);
  lua_pushcfunction(L, lt_show_failure);
  lua_insert(L, 1);
  count_modules(L, 1);
  int bad = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 1);
  count_modules(L, -1);
  lua_pushboolean(L, !bad);
  lua_replace(L, 1);
  return lua_gettop(L);
}

/* May be called outside of protected mode, so it takes no memory of Lua's. */
int lt_call_back(lua_State *L, int nargs, int nresults) {
  int function = lua_gettop(L) - nargs;
  if (!is_verbose(L)) return lua_pcall(L, nargs, nresults, 0);
  lua_pushcfunction(L, lt_show_failure);
  lua_insert(L, function);
  int bad = lua_pcall(L, nargs, nresults, function);
  lua_remove(L, function);
  return bad;
}
