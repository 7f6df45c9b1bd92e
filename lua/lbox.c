/* SPDX-License-Identifier: Apache-2.0
 * Boxes around API objects, and reading options from tables. */
#include "lua/lt.h"
#include <string.h>

void **lt_box(lua_State *L, const char *tname, int nuservalues) {
  void **box = lua_newuserdatauv(L, sizeof *box, nuservalues);
  *box = NULL;
  luaL_setmetatable(L, tname);
  return box;
}

/* "program" of one of ours, Lua's name of any other value's type. */
static const char *type_name(lua_State *L, int i) {
  const char *name = luaL_typename(L, i);
  if (luaL_getmetafield(L, i, "__name") == LUA_TSTRING)
    name = lua_tostring(L, -1);
  return strncmp(name, "tessera.", 8) ? name : name + 8;
}

void *lt_get(lua_State *L, int i, const char *tname) {
  void **box = luaL_testudata(L, i, tname);
  if (!box)
    lt_error(L, TESS_TYPE, "a %s is expected, not a %s", tname + 8,
             type_name(L, i));
  if (!*box)
    lt_error(L, TESS_DEAD, "this %s is closed", strchr(tname, '.') + 1);
  return *box;
}

void *lt_opt(lua_State *L, int i, const char *tname) {
  return lua_isnoneornil(L, i) ? NULL : lt_get(L, i, tname);
}

/* Errors about arguments name a function that stands in a table below
 * package.loaded, however it was called: the methods on the stack's top do as
 * "tessera.Tensor" of "tessera.tensor", which no module is called. */
static void name_methods(lua_State *L, const char *tname) {
  const char *rest = strchr(tname, '.') + 1;
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_pushfstring(L, "tessera.%c%s", rest[0] - 'a' + 'A', rest + 1);
  lua_pushvalue(L, -3);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

void lt_class(lua_State *L, const char *tname, const luaL_Reg *meta,
              const luaL_Reg *methods, lua_CFunction gc) {
  luaL_newmetatable(L, tname);
  if (meta) luaL_setfuncs(L, meta, 0);
  if (methods) {
    lua_newtable(L);
    luaL_setfuncs(L, methods, 0);
    if (gc) {
      lua_pushcfunction(L, gc);
      lua_setfield(L, -2, "close");
    }
    name_methods(L, tname);
    lua_setfield(L, -2, "__index");
  }
  if (gc) {
    lua_pushcfunction(L, gc);
    lua_setfield(L, -2, "__gc");
    lua_pushcfunction(L, gc);
    lua_setfield(L, -2, "__close");
  }
  lua_pop(L, 1);
}

static int wrong(lua_State *L, const char *k, const char *expected) {
  return lt_error(L, TESS_TYPE, "option '%s': expected %s, got %s", k, expected,
                  luaL_typename(L, -1));
}

lua_Number lt_field_number(lua_State *L, int t, const char *k, lua_Number d) {
  if (!lua_istable(L, t)) return d;
  if (lua_getfield(L, t, k) != LUA_TNIL) {
    if (lua_type(L, -1) != LUA_TNUMBER) wrong(L, k, "a number");
    d = lua_tonumber(L, -1);
  }
  lua_pop(L, 1);
  return d;
}

lua_Integer lt_field_int(lua_State *L, int t, const char *k, lua_Integer d) {
  int ok = 1;
  if (!lua_istable(L, t)) return d;
  if (lua_getfield(L, t, k) != LUA_TNIL) d = lua_tointegerx(L, -1, &ok);
  if (!ok) wrong(L, k, "an integer");
  lua_pop(L, 1);
  return d;
}

int lt_field_bool(lua_State *L, int t, const char *k, int d) {
  if (!lua_istable(L, t)) return d;
  if (lua_getfield(L, t, k) != LUA_TNIL) {
    if (!lua_isboolean(L, -1)) wrong(L, k, "a boolean");
    d = lua_toboolean(L, -1);
  }
  lua_pop(L, 1);
  return d;
}

const char *lt_field_str(lua_State *L, int t, const char *k, const char *d) {
  if (!lua_istable(L, t)) return d;
  int type = lua_getfield(L, t, k);
  if (type == LUA_TSTRING)
    d = lua_tostring(L, -1);
  else if (type != LUA_TNIL)
    wrong(L, k, "a string");
  lua_pop(L, 1);
  return d;
}

void lt_check_fields(lua_State *L, int t, const char *const *known) {
  if (!lua_istable(L, t)) return;
  for (lua_pushnil(L); lua_next(L, t); lua_pop(L, 1)) {
    const char *k = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2)
                                                   : luaL_typename(L, -2);
    const char *const *n = known;
    while (*n && strcmp(*n, k)) n++;
    if (!*n) lt_error(L, TESS_INVALID, "unknown option '%s'", k);
  }
}

/* Says what is wrong in terms of what the caller wrote: luaL_check... would
 * count the arguments of a function that he never sees. */
static void check_type(lua_State *L, int i, int type, const char *what,
                       const char *expected) {
  if (lua_type(L, i) != type)
    lt_error(L, TESS_TYPE, "%s must be %s, not %s", what, expected,
             luaL_typename(L, i));
}

const char *lt_string(lua_State *L, int i, const char *what) {
  check_type(L, i, LUA_TSTRING, what, "a string");
  return lua_tostring(L, i);
}

lua_Number lt_number(lua_State *L, int i, const char *what) {
  check_type(L, i, LUA_TNUMBER, what, "a number");
  return lua_tonumber(L, i);
}

void lt_table(lua_State *L, int i, const char *what) {
  check_type(L, i, LUA_TTABLE, what, "a table");
}

tess_dtype lt_to_dtype(lua_State *L, int i, const char *d) {
  const char *text =
      d && lua_isnoneornil(L, i) ? d : lt_string(L, i, "a data type");
  tess_dtype t;
  if (!tess_dtype_parse(text, &t))
    lt_error(L, TESS_TYPE, "unknown data type '%s'", text);
  return t;
}

uint32_t lt_to_ints(lua_State *L, int i, uint32_t max, int64_t *out) {
  lt_table(L, i, "a list of integers");
  lua_Integer n = luaL_len(L, i);
  if (n > (lua_Integer)max)
    lt_error(L, TESS_LIMIT, "at most %u elements are possible here",
             (unsigned)max);
  for (lua_Integer k = 1; k <= n; k++) {
    int ok;
    lua_geti(L, i, k);
    out[k - 1] = lua_tointegerx(L, -1, &ok);
    if (!ok)
      lt_error(L, TESS_TYPE, "element %d: expected an integer, got %s", (int)k,
               luaL_typename(L, -1));
    lua_pop(L, 1);
  }
  return (uint32_t)n;
}
