/* SPDX-License-Identifier: Apache-2.0
 * ts.on_warning: defers warnings and passes them to a Lua function. */
#include "lua/warn.h"
#include "lua/lt.h"

static const char function_key = 0; /* its address is the registry key */

static lt_warnings *find_warning(lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, LT_WARNINGS);
  lt_warnings *w = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return w;
}

/* Calls the function for a warning; its errors are printed and ignored.  If an
 * earlier call removed the function, warnings go to stderr. */
static void print_warning(lua_State *L, const char *text) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &function_key) == LUA_TNIL) {
    warn_on_stderr(TESS_LOG_WARN, text);
    lua_pop(L, 1);
    return;
  }
  lua_pushstring(L, text);
  if (lua_pcall(L, 1, 0, 0) == LUA_OK) return;
  fprintf(stderr, "tessera: error: ts.on_warning: %s\n",
          luaL_tolstring(L, -1, NULL));
  lua_pop(L, 2);
}

static int tell_all(lua_State *L) {
  lt_warnings *w = lua_touserdata(L, 1);
  size_t n = w->n;
  const char *all = lua_pushlstring(L, w->text, n);
  w->n = 0;
  for (size_t at = 0; at < n; at += strlen(all + at) + 1)
    print_warning(L, all + at);
  return 0;
}

void lt_tell_warnings(lua_State *L) {
  lt_warnings *w = find_warning(L);
  if (!w || !w->n || w->busy) return;
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  lua_pushcfunction(L, tell_all);
  lua_pushlightuserdata(L, w);
  w->busy = 1;
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) lua_pop(L, 1);
  w->busy = 0;
}

/* ts.on_warning(f): warnings go to f(text), and with nil to stderr again;
 * gives the function that they went to before, or nil */
static int on_warning(lua_State *L) {
  lt_warnings *w = find_warning(L);
  lua_settop(L, 1);
  if (!lua_isnil(L, 1)) lt_function(L, 1, "what warnings go to");
  if (!w)
    return lt_error(L, TESS_UNSUPPORTED,
                    "the warnings of a host's context go to the host's log");
  lua_rawgetp(L, LUA_REGISTRYINDEX, &function_key);
  lua_pushvalue(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &function_key);
  w->kept = !lua_isnil(L, 1);
  return 1;
}

/* core.warn(text): what the Lua part of the module warns of.  A host's log
 * cannot be reached from here. */
static int warn_from_lua(lua_State *L) {
  lt_warnings *w = find_warning(L);
  const char *text = lt_string(L, 1, "a warning");
  if (w) warn_or_keep(w, TESS_LOG_WARN, text);
  lt_tell_warnings(L);
  return 0;
}

void lt_open_warn(lua_State *L) {
  lua_getfield(L, -1, "_core");
  lua_pushcfunction(L, warn_from_lua);
  lua_setfield(L, -2, "warn");
  lua_pop(L, 1);
  lua_pushcfunction(L, on_warning);
  lua_setfield(L, -2, "on_warning");
}
