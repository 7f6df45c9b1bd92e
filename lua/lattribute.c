/* SPDX-License-Identifier: Apache-2.0
 * Binding of graphs: attributes of nodes, from Lua's values and to them. */
#include "lua/lgraph.h"

/* Lists: of strings, of integers, or of numbers some of which are floats. */
static tess_attr_kind kind_of_list(lua_State *L, int i, lua_Integer n) {
  tess_attr_kind kind = TESS_ATTR_INTS;
  for (lua_Integer k = 1; k <= n; k++) {
    int type = lua_geti(L, i, k), whole = lua_isinteger(L, -1);
    lua_pop(L, 1);
    if (type == LUA_TSTRING) return TESS_ATTR_STRS;
    if (!whole) kind = TESS_ATTR_REALS;
  }
  return kind;
}

/* The list at index i, kept by a value that is left on the stack. */
static void to_list(lua_State *L, int i, tess_attr *a) {
  lua_Integer n = lt_list_len(L, i);
  a->kind = kind_of_list(L, i, n);
  a->n = (uint32_t)n;
  void *list = lt_room(L, (size_t)n, sizeof(int64_t));
  for (lua_Integer k = 0; k < n; k++) {
    lua_geti(L, i, k + 1);
    if (a->kind == TESS_ATTR_INTS)
      ((int64_t *)list)[k] = lt_integer(L, -1, a->name);
    else if (a->kind == TESS_ATTR_REALS)
      ((double *)list)[k] = lt_number(L, -1, a->name);
    else
      ((const char **)list)[k] = lt_string(L, -1, a->name);
    lua_pop(L, 1);
  }
  a->ints = list;
  a->reals = list;
  a->strs = list;
}

/* The value at the top; lists leave a value on the stack below it. */
static void to_attr(lua_State *L, tess_attr *a) {
  int top = lua_gettop(L);
  switch (lua_type(L, top)) {
  case LUA_TBOOLEAN:
    a->kind = TESS_ATTR_BOOL;
    a->i = lua_toboolean(L, top);
    break;
  case LUA_TSTRING:
    a->kind = TESS_ATTR_STR;
    a->s = lt_string(L, top, a->name);
    break;
  case LUA_TNUMBER:
    a->kind = lua_isinteger(L, top) ? TESS_ATTR_INT : TESS_ATTR_REAL;
    a->i = lua_tointeger(L, top);
    a->r = lua_tonumber(L, top);
    break;
  case LUA_TTABLE:
    to_list(L, top, a);
    lua_insert(L, top);
    break;
  default:
    lt_error(L, TESS_TYPE, "attribute %s is a %s", a->name,
             luaL_typename(L, top));
  }
}

const tess_attr *lt_to_attrs(lua_State *L, int i, uint32_t *n) {
  *n = 0;
  if (lua_isnoneornil(L, i)) return NULL;
  lt_table(L, i, "the attributes of a node");
  for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) ++*n;
  tess_attr *attr = lt_room(L, *n, sizeof *attr), *a = attr;
  luaL_checkstack(L, (int)*n + 8, NULL);
  lua_pushnil(L);
  while (lua_next(L, i)) {
    *a = (tess_attr){.name = lt_string(L, -2, "the name of an attribute")};
    to_attr(L, a++);
    lua_pop(L, 1);
    if (lua_type(L, -1) == LUA_TUSERDATA) lua_insert(L, -2);
  }
  return attr;
}

/* ---- to Lua ------------------------------------------------------------- */

static void push_entry(lua_State *L, const tess_attr *a, uint32_t k) {
  if (a->kind == TESS_ATTR_INTS)
    lua_pushinteger(L, a->ints[k]);
  else if (a->kind == TESS_ATTR_REALS)
    lua_pushnumber(L, a->reals[k]);
  else
    lua_pushstring(L, a->strs[k]);
}

void lt_push_attr(lua_State *L, const tess_attr *a) {
  switch (a->kind) {
  case TESS_ATTR_BOOL: lua_pushboolean(L, a->i != 0); return;
  case TESS_ATTR_INT: lua_pushinteger(L, a->i); return;
  case TESS_ATTR_REAL: lua_pushnumber(L, a->r); return;
  case TESS_ATTR_STR: lua_pushstring(L, a->s); return;
  case TESS_ATTR_GRAPH: lua_pushliteral(L, "graph"); return;
  case TESS_ATTR_TENSOR:
    lua_createtable(L, 0, 1);
    lt_set_integer(L, "value", a->tensor);
    return;
  default: break;
  }
  lua_createtable(L, (int)a->n, 0);
  for (uint32_t k = 0; k < a->n; k++) {
    push_entry(L, a, k);
    lua_seti(L, -2, (lua_Integer)k + 1);
  }
}
