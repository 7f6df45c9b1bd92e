/* SPDX-License-Identifier: Apache-2.0
 * Converts operands of primitives from Lua values and back. */
#include "lua/lrv.h"
#include <string.h>

/* Nesting limit, so that a cyclic table does not exhaust the C stack; the
 * engine has the same. */
enum { MAX_DEPTH = 64 };

/* The context of reading an operand: its nesting depth, primitive and name. */
typedef struct place {
  int depth;
  const char *prim, *operand;
} place;

enum { SCHEDULE = 1 }; /* where it stands on the stack */

static void to_value(lua_State *L, int i, place at, const char *kind,
                     tess_value *out);

/* Operands stay on Lua's stack while they are read, with room left for the
 * error that there are too many. */
static void reach_operand(lua_State *L) {
  if (!lua_checkstack(L, 256))
    lt_error(L, TESS_LIMIT,
             "the operands have too many elements: those of a call share "
             "Lua's stack, which holds %d",
             LUAI_MAXSTACK);
}

/* Room for n values that lives on the Lua stack. */
static tess_value *values(lua_State *L, uint32_t n) {
  reach_operand(L);
  return lua_newuserdatauv(L, sizeof(tess_value) * (n ? n : 1), 0);
}

static void rv_value(lua_State *L, int i, place at, tess_value *out) {
  lt_rv *x = lua_touserdata(L, i);
  lt_check_owner(L, x, SCHEDULE);
  if (!*x->op) {
    *out = (tess_value){.kind = TESS_V_RV, .rv = x->rv};
    return;
  }
  tess_value *list = values(L, 2);
  for (int k = 0; k < 2; k++) {
    lua_getiuservalue(L, i, 2 + k);
    to_value(L, lua_gettop(L), at, "EXPR", &list[k]);
  }
  *out = (tess_value){.kind = TESS_V_OP, .n = 2, .s = x->op, .list = list};
}

/* The length that table.pack leaves in its table. */
static int operand_pack_length(lua_State *L, int t) {
  return !strcmp(lua_tostring(L, -2), "n") && lua_isinteger(L, -1) &&
         lua_tointeger(L, -1) > 0 && lua_tointeger(L, -1) == luaL_len(L, t);
}

static int has_string_key(lua_State *L, int t) {
  int yes = 0;
  for (lua_pushnil(L); lua_next(L, t); lua_pop(L, 1))
    yes |= lua_type(L, -2) == LUA_TSTRING && !operand_pack_length(L, t);
  return yes;
}

static void dict_value(lua_State *L, int i, place at, tess_value *out) {
  uint32_t n = 0, k = 0;
  for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) n += 2;
  /* In the order of the keys, so that traces do not depend on a hash seed. */
  lua_createtable(L, (int)n / 2, 0);
  int keys = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING)
      lt_error(L, TESS_TYPE,
               "%s: operand '%s': a table mixes string keys with others",
               at.prim, at.operand);
    lua_pushvalue(L, -2);
    lua_seti(L, keys, luaL_len(L, keys) + 1);
  }
  lua_getglobal(L, "table");
  lua_getfield(L, -1, "sort");
  lua_pushvalue(L, keys);
  lua_call(L, 1, 0);
  tess_value *list = values(L, n);
  for (; k < n; k += 2) {
    lua_geti(L, keys, k / 2 + 1);
    list[k] = (tess_value){.kind = TESS_V_STR, .s = lt_string(L, -1, "a key")};
    lua_gettable(L, (lua_pushvalue(L, -1), i));
    to_value(L, lua_gettop(L), at, "VALUE", &list[k + 1]);
  }
  *out = (tess_value){.kind = TESS_V_DICT, .n = n, .list = list};
}

static void table_value(lua_State *L, int i, place at, const char *kind,
                        tess_value *out) {
  if (has_string_key(L, i)) {
    dict_value(L, i, at, out);
    return;
  }
  uint32_t n = (uint32_t)lt_length(L, i);
  const char *stray = lt_stray_key(L, i, n);
  if (stray)
    lt_error(L, TESS_INVALID,
             "%s: operand '%s': element [%s] stands outside of the list, which "
             "has %d",
             at.prim, at.operand, stray, (int)n);
  tess_value *list = values(L, n);
  for (uint32_t k = 0; k < n; k++) {
    lua_geti(L, i, k + 1);
    to_value(L, lua_gettop(L), at, kind, &list[k]);
  }
  *out = (tess_value){.kind = TESS_V_LIST, .n = n, .list = list};
}

/* An index map given as a function becomes text, in a table where sampled
 * integers come with it. */
static void map_value(lua_State *L, int i, place at, const char *kind,
                      tess_value *out) {
  lua_getfield(L, LUA_REGISTRYINDEX, "tessera.index_map");
  lua_pushvalue(L, i);
  lua_call(L, 1, 1);
  to_value(L, lua_gettop(L), at, kind, out);
}

/* Operands of these kinds are integers: a Lua float of integral value, such as
 * 8 / 4, is converted. */
static int takes_integers(const char *kind) {
  static const char *const kinds[] = {"INT", "INTS", "EXPR",   "FACTORS",
                                      "VAR", "VARS", "BUFFER", "INDEX_MAP"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (!strcmp(kind, kinds[i])) return 1;
  return 0;
}

static void number_value(lua_State *L, int i, const char *kind,
                         tess_value *out) {
  int whole = lua_isinteger(L, i);
  if (!whole && takes_integers(kind)) lua_tointegerx(L, i, &whole);
  out->kind = whole ? TESS_V_INT : TESS_V_REAL;
  if (whole)
    out->i = lua_tointeger(L, i);
  else
    out->f = lua_tonumber(L, i);
}

static void to_value(lua_State *L, int i, place at, const char *kind,
                     tess_value *out) {
  *out = (tess_value){.kind = TESS_V_NIL};
  if (at.depth++ > MAX_DEPTH)
    lt_error(L, TESS_LIMIT,
             "%s: operand '%s' nests deeper than %d, or a table in it is "
             "inside itself",
             at.prim, at.operand, MAX_DEPTH);
  reach_operand(L);
  switch (lua_type(L, i)) {
  case LUA_TNIL: return;
  case LUA_TBOOLEAN:
    out->kind = TESS_V_BOOL;
    out->i = lua_toboolean(L, i);
    return;
  case LUA_TNUMBER: number_value(L, i, kind, out); return;
  case LUA_TSTRING:
    out->kind = TESS_V_STR;
    out->s = lua_tostring(L, i);
    if (strlen(out->s) < lua_rawlen(L, i))
      lt_error(L, TESS_INVALID, "%s: operand '%s' has a NUL byte at %d",
               at.prim, at.operand, (int)strlen(out->s));
    return;
  case LUA_TTABLE: table_value(L, i, at, kind, out); return;
  case LUA_TFUNCTION:
    if (strcmp(kind, "INDEX_MAP") && strcmp(kind, "FILL")) break;
    map_value(L, i, at, kind, out);
    return;
  case LUA_TUSERDATA:
    if (luaL_testudata(L, i, LT_RV)) {
      rv_value(L, i, at, out);
      return;
    }
    if (luaL_testudata(L, i, LT_AUTO)) {
      out->kind = TESS_V_AUTO;
      return;
    }
    break;
  default: break;
  }
  lt_error(L, TESS_TYPE, "%s: operand '%s' cannot be a %s", at.prim, at.operand,
           luaL_typename(L, i));
}

void lt_push_value(lua_State *L, const tess_value *v) {
  luaL_checkstack(L, 4, "values nest too deep");
  switch (v->kind) {
  case TESS_V_BOOL: lua_pushboolean(L, v->i != 0); break;
  case TESS_V_INT: lua_pushinteger(L, v->i); break;
  case TESS_V_REAL: lua_pushnumber(L, v->f); break;
  case TESS_V_STR: lua_pushstring(L, v->s); break;
  case TESS_V_RV: lua_pushfstring(L, "v%d", (int)v->rv); break;
  case TESS_V_AUTO: lua_pushliteral(L, "auto"); break;
  case TESS_V_OP:
    lt_push_value(L, &v->list[0]);
    lt_push_value(L, &v->list[1]);
    lua_pushfstring(L, "(%s %s %s)", luaL_tolstring(L, -2, NULL), v->s,
                    luaL_tolstring(L, -2, NULL));
    lua_replace(L, -5);
    lua_pop(L, 3);
    break;
  case TESS_V_LIST:
    lua_createtable(L, (int)v->n, 0);
    for (uint32_t i = 0; i < v->n; i++) {
      lt_push_value(L, &v->list[i]);
      lua_seti(L, -2, i + 1);
    }
    break;
  case TESS_V_DICT:
    lua_createtable(L, 0, (int)v->n / 2);
    for (uint32_t i = 0; i < v->n; i += 2) {
      lt_push_value(L, &v->list[i + 1]);
      lua_setfield(L, -2, v->list[i].s);
    }
    break;
  default: lua_pushnil(L);
  }
}

/* ---- arguments ---------------------------------------------------------- */

static int is_out(const tess_prim_operand *o) {
  return !strcmp(o->role, "out");
}

/* What a list of variables is made of; NULL: the operand is no such list. */
static const char *list_element(const tess_prim_operand *o) {
  if (!strcmp(o->kind, "LOOPS")) return "a loop";
  if (!strcmp(o->kind, "BLOCKS")) return "a block";
  if (!strcmp(o->kind, "NODES")) return "a loop or block";
  return NULL;
}

/* True when every key of the table at index t names an operand of `prim`
 * that is not among the `n` given already. */
static int names_operands(lua_State *L, int t, uint32_t prim, uint32_t nops,
                          const tess_arg *given, uint32_t n) {
  int all = 0;
  for (lua_pushnil(L); lua_next(L, t); lua_pop(L, 1)) {
    int found = 0;
    const char *k = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
    for (uint32_t i = 0; i < nops && !found; i++) {
      tess_prim_operand o = TESS_INIT(tess_prim_operand);
      tess_prim_operand_get(prim, i, &o);
      found = !is_out(&o) && !strcmp(o.name, k);
    }
    for (uint32_t i = 0; i < n; i++) found &= strcmp(given[i].name, k) != 0;
    if (!found) {
      lua_pop(L, 2);
      return 0;
    }
    all = 1;
  }
  return all;
}

/* Element k of the list of variables o, from 1, stands at index i and is
 * none. */
static void no_element(lua_State *L, const char *prim,
                       const tess_prim_operand *o, int k, int i) {
  lt_error(L, TESS_TYPE, "%s: operand '%s': element %d is %s%s, not %s (%s)",
           prim, o->name, k, lua_isnil(L, i) ? "" : "a ", luaL_typename(L, i),
           list_element(o), o->help);
}

static void one_too_many(lua_State *L, uint32_t prim, int i) {
  tess_prim_info info = TESS_INIT(tess_prim_info);
  tess_prim_operand o = TESS_INIT(tess_prim_operand);
  luaL_Buffer b;
  const char *between = "";
  tess_prim_get(prim, &info);
  luaL_buffinit(L, &b);
  for (uint32_t k = 0; k < info.noperands; k++) {
    tess_prim_operand_get(prim, k, &o);
    if (is_out(&o)) continue;
    luaL_addstring(&b, between);
    luaL_addstring(&b, o.name);
    between = ", ";
  }
  luaL_pushresult(&b);
  const char *takes = lua_tostring(L, -1);
  lt_error(L, TESS_INVALID,
           "%s: too many operands: argument %d is %s%s, and it takes %s",
           info.name, i - SCHEDULE, lua_isnil(L, i) ? "" : "a ",
           luaL_typename(L, i), *takes ? takes : "none");
}

/* Whether what stands from index i on are elements of the list of variables
 * o, rather than one table of them: a variable, be it behind others that are
 * nil by mistake, nothing but such, or a name among others. */
static int begins_elements(lua_State *L, int i, int top,
                           const tess_prim_operand *o) {
  int first = i;
  if (!list_element(o) || (i == top && lua_isnil(L, i))) return 0;
  while (first <= top && lua_isnil(L, first)) first++;
  if (first > top) return o->required;
  return luaL_testudata(L, first, LT_RV) ||
         (i < top && lua_type(L, i) == LUA_TSTRING);
}

/* The variables at indices i, i + 1, ... as one list; *next: after them. */
static void variadic(lua_State *L, int i, int top, place at,
                     const tess_prim_operand *o, int *next, tess_value *out) {
  int n = 0;
  while (i + n <= top && luaL_testudata(L, i + n, LT_RV)) n++;
  if (i + n <= top && lua_isnil(L, i + n))
    no_element(L, at.prim, o, n + 1, i + n);
  tess_value *list = values(L, (uint32_t)n);
  for (int k = 0; k < n; k++) to_value(L, i + k, at, "LOOP", &list[k]);
  *out = (tess_value){.kind = TESS_V_LIST, .n = (uint32_t)n, .list = list};
  *next = i + n;
}

/* A variable alone is a list of variables of one element, as by position. */
static void named_value(lua_State *L, int i, place at,
                        const tess_prim_operand *o, tess_value *out) {
  int next;
  if (list_element(o) && luaL_testudata(L, i, LT_RV))
    variadic(L, i, i, at, o, &next, out);
  else
    to_value(L, i, at, o->kind, out);
}

/* Named operands in the table at index t, after the `n` positional ones.  A
 * word that names none is left for the core to refuse. */
static uint32_t named_operand(lua_State *L, int t, uint32_t prim,
                              const tess_prim_info *info, uint32_t n,
                              uint32_t max, tess_arg *out) {
  for (uint32_t i = 0; i < info->noperands; i++) {
    tess_prim_operand o = TESS_INIT(tess_prim_operand);
    tess_prim_operand_get(prim, i, &o);
    place at = {0, info->name, o.name};
    if (is_out(&o) || lua_getfield(L, t, o.name) == LUA_TNIL) continue;
    if (n == max) lt_error(L, TESS_LIMIT, "too many operands");
    out[n].name = o.name;
    named_value(L, lua_gettop(L), at, &o, &out[n++].value);
  }
  for (lua_pushnil(L); lua_next(L, t); lua_pop(L, 1)) {
    int known = 0;
    if (lua_type(L, -2) != LUA_TSTRING)
      lt_error(L, TESS_TYPE,
               "%s: operands by name and by position are mixed in one table",
               info->name);
    for (uint32_t i = 0; i < n; i++)
      known |= !strcmp(out[i].name, lua_tostring(L, -2));
    if (known) continue;
    if (n == max) lt_error(L, TESS_LIMIT, "too many operands");
    out[n++] = (tess_arg){.name = lua_tostring(L, -2)};
  }
  return n;
}

uint32_t lt_to_args(lua_State *L, uint32_t prim, uint32_t max, tess_arg *out) {
  tess_prim_info info = TESS_INIT(tess_prim_info);
  int top = lua_gettop(L), at = 2;
  uint32_t n = 0;
  tess_prim_operand list =
      TESS_INIT(tess_prim_operand); /* the last, where it took several */
  tess_prim_get(prim, &info);
  for (uint32_t i = 0; at <= top; i++) {
    tess_prim_operand o = TESS_INIT(tess_prim_operand);
    if (i < info.noperands) tess_prim_operand_get(prim, i, &o);
    if (i < info.noperands && is_out(&o)) continue;
    if (at == top && lua_istable(L, at) && has_string_key(L, at) &&
        (i >= info.noperands ||
         names_operands(L, at, prim, info.noperands, out, n) ||
         strcmp(o.kind, "VALUE")))
      return named_operand(L, at, prim, &info, n, max, out);
    if (i >= info.noperands && list.name)
      no_element(L, info.name, &list, (int)out[n - 1].value.n + 1, at);
    if (i >= info.noperands) one_too_many(L, prim, at);
    if (n == max) lt_error(L, TESS_LIMIT, "too many operands");
    out[n].name = o.name;
    place where = {0, info.name, o.name};
    int several = begins_elements(L, at, top, &o);
    list = several ? o : (tess_prim_operand)TESS_INIT(tess_prim_operand);
    if (several)
      variadic(L, at, top, where, &o, &at, &out[n++].value);
    else
      to_value(L, at++, where, o.kind, &out[n++].value);
  }
  return n;
}
