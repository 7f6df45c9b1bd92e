/* SPDX-License-Identifier: Apache-2.0
 * Userdata that own objects of the C API: creation, checks, finalizers. */
#include "lua/lt.h"
#include <string.h>

void **lt_box(lua_State *L, const char *tname, int nuservalues) {
  void **box = lua_newuserdatauv(L, sizeof *box, nuservalues);
  *box = NULL;
  luaL_setmetatable(L, tname);
  return box;
}

/* "program" for the metatable's name of one of ours. */
static const char *class_name(const char *tname) {
  if (!strcmp(tname, LT_RV)) return "block, loop or value of a schedule";
  return strncmp(tname, "tessera.", 8) ? tname : tname + 8;
}

/* Lua's name of any other value's type. */
static const char *type_name(lua_State *L, int i) {
  if (luaL_getmetafield(L, i, "__name") == LUA_TSTRING)
    return class_name(lua_tostring(L, -1));
  return luaL_typename(L, i);
}

int lt_unexpected(lua_State *L, int i, const char *what) {
  i = lua_absindex(L, i); /* in any order: type_name pushes */
  return lt_error(L, TESS_TYPE, "a %s is expected, not %s%s", what,
                  lua_isnoneornil(L, i) ? "" : "a ", type_name(L, i));
}

void *lt_object(lua_State *L, int i, const char *tname) {
  void *object = luaL_testudata(L, i, tname);
  if (!object) lt_unexpected(L, i, class_name(tname));
  return object;
}

void *lt_get(lua_State *L, int i, const char *tname) {
  void **box = lt_object(L, i, tname);
  if (!*box)
    lt_error(L, TESS_DEAD, "this %s is closed", strchr(tname, '.') + 1);
  return *box;
}

void *lt_opt(lua_State *L, int i, const char *tname) {
  return lua_isnoneornil(L, i) ? NULL : lt_get(L, i, tname);
}

/* The text of an object that may be closed: printing must not raise, or it
 * would hide the error that a program is being debugged for. */
static int to_text(lua_State *L) {
  const char *tname = lua_tostring(L, lua_upvalueindex(1));
  if (*(void **)lt_object(L, 1, tname)) {
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, 1);
  } else {
    lua_pushfstring(L, "%s (closed)", tname + 8);
  }
  return 1;
}

/* Frees what is in the box, for anybody who calls it with whatever. */
static int free_checked(lua_State *L) {
  lt_object(L, 1, lua_tostring(L, lua_upvalueindex(1)));
  return lua_tocfunction(L, lua_upvalueindex(2))(L);
}

static void push_free(lua_State *L, const char *tname, lua_CFunction gc) {
  lua_pushstring(L, tname);
  lua_pushcfunction(L, gc);
  lua_pushcclosure(L, free_checked, 2);
}

void lt_class(lua_State *L, const char *tname, const luaL_Reg *meta,
              const luaL_Reg *methods, lua_CFunction gc) {
  luaL_newmetatable(L, tname);
  if (meta) luaL_setfuncs(L, meta, 0);
  if (methods) {
    lua_newtable(L);
    luaL_setfuncs(L, methods, 0);
    if (gc) {
      push_free(L, tname, gc);
      lua_setfield(L, -2, "close");
    }
    lua_setfield(L, -2, "__index");
  }
  if (gc) {
    push_free(L, tname, gc);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "__gc");
    lua_setfield(L, -2, "__close");
    lua_pushstring(L, tname);
    if (lua_getfield(L, -2, "__tostring") == LUA_TFUNCTION) {
      lua_pushcclosure(L, to_text, 2);
      lua_setfield(L, -2, "__tostring");
    } else {
      lua_pop(L, 2);
    }
  }
  lua_pop(L, 1);
}
