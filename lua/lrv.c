/* SPDX-License-Identifier: Apache-2.0
 * Binding of random variables: blocks, loops and integers of a schedule, and
 * arithmetic over integers. */
#include "lua/lrv.h"
#include <string.h>

void lt_push_rv(lua_State *L, int i, tess_rv rv) {
  i = lua_absindex(L, i);
  lt_sched *s = lt_object(L, i, LT_SCHEDULE);
  lt_rv *x = lua_newuserdatauv(L, sizeof *x, 3);
  *x = (lt_rv){rv, tess_schedule_rv_kind(s->s, rv), s->id, ""};
  luaL_setmetatable(L, LT_RV);
  lua_pushvalue(L, i);
  lua_setiuservalue(L, -2, 1);
}

/* A variable of a schedule is one of its copies' too, as far as it existed
 * when the copy was made: `forks` (the copy's second user value) maps each
 * ancestor to how many variables it had. */
static int belongs(lua_State *L, const lt_rv *x, int s) {
  lt_sched *sch = lt_object(L, s, LT_SCHEDULE);
  int yes = 0;
  if (x->owner == sch->id) return 1;
  if (lua_getiuservalue(L, s, 2) == LUA_TTABLE) {
    lua_rawgeti(L, -1, x->owner);
    yes = lua_isinteger(L, -1) && lua_tointeger(L, -1) >= (lua_Integer)x->rv;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return yes;
}

void lt_check_owner(lua_State *L, const lt_rv *x, int s) {
  if (!belongs(L, x, s))
    lt_error(L, TESS_INVALID, "this variable belongs to another schedule");
}

tess_rv lt_to_rv(lua_State *L, int i, int s) {
  lt_rv *x = lt_object(L, i, LT_RV);
  if (*x->op)
    lt_error(L, TESS_TYPE, "expected a variable, not arithmetic over some");
  if (s) lt_check_owner(L, x, s);
  return x->rv;
}

/* 8 / 4 is a float in Lua, and an integer's value. */
static int is_int(lua_State *L, int i) {
  lt_rv *x = luaL_testudata(L, i, LT_RV);
  int yes = 0;
  if (x) return x->kind == TESS_RV_INT;
  if (lua_type(L, i) == LUA_TNUMBER) lua_tointegerx(L, i, &yes);
  return yes;
}

/* The other operand is a parameter of an index map, which does this kind of
 * arithmetic itself. */
static int arith_of_map(lua_State *L, const char *event) {
  for (int i = 1; i <= 2; i++)
    if (lua_istable(L, i) && luaL_getmetafield(L, i, event)) {
      lua_insert(L, 1);
      lua_settop(L, 3);
      lua_call(L, 2, 1);
      return 1;
    }
  return 0;
}

/* Of operands 1 and 2 the one whose schedule has the other's variables, too:
 * a copy has those of what it was copied from; 0: neither has. */
static int holder(lua_State *L) {
  for (int i = 1; i <= 2; i++) {
    lua_getiuservalue(L, i, 1);
    int has = belongs(L, lt_object(L, 3 - i, LT_RV), lua_gettop(L));
    lua_pop(L, 1);
    if (has) return i;
  }
  return 0;
}

static int arith(lua_State *L, const char *op) {
  if (!is_int(L, 1) || !is_int(L, 2))
    return lt_error(L, TESS_TYPE,
                    "arithmetic on a schedule's variables takes "
                    "sampled integers and integers, not blocks, loops or "
                    "fractions");
  lt_rv *a = luaL_testudata(L, 1, LT_RV), *b = luaL_testudata(L, 2, LT_RV);
  if (!a && !b)
    return lt_error(L, TESS_TYPE, "one operand must be a schedule's variable");
  int of = !b ? 1 : !a ? 2 : holder(L);
  if (!of)
    return lt_error(L, TESS_INVALID, "the variables belong to two schedules");
  lt_rv *x = lua_newuserdatauv(L, sizeof *x, 3);
  *x = (lt_rv){0, TESS_RV_INT, (of == 1 ? a : b)->owner, ""};
  strcpy(x->op, op);
  luaL_setmetatable(L, LT_RV);
  lua_getiuservalue(L, of, 1);
  lua_setiuservalue(L, -2, 1);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 2);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, -2, 3);
  return 1;
}

#define ARITH(name, op, event)                        \
  static int name(lua_State *L) {                     \
    return arith_of_map(L, event) ? 1 : arith(L, op); \
  }
ARITH(rv_add, "+", "__add")
ARITH(rv_sub, "-", "__sub")
ARITH(rv_mul, "*", "__mul")
ARITH(rv_idiv, "//", "__idiv")
ARITH(rv_mod, "%", "__mod")

/* Of integers / and ^ make fractions, which nothing takes. */
static int no_fraction(lua_State *L) {
  return lt_error(L, TESS_TYPE,
                  "a schedule's variables are computed with by + - * // %%, "
                  "not by / or ^, which give fractions");
}

static int rv_unm(lua_State *L) {
  lua_settop(L, 1);
  lua_pushinteger(L, 0);
  lua_insert(L, 1);
  return arith(L, "-");
}

/* (x, y, op): the arithmetic, or nothing where neither is a variable. */
static int rv_op(lua_State *L) {
  if (!luaL_testudata(L, 1, LT_RV) && !luaL_testudata(L, 2, LT_RV)) return 0;
  const char *op = lt_string(L, 3, "the operator");
  if (strlen(op) > 3)
    return lt_error(L, TESS_INVALID, "there is no operator '%s'", op);
  return arith(L, op);
}

/* The number of a variable of a schedule's, in the order in which they were
 * made; nothing for anything else. */
static int rv_number(lua_State *L) {
  lt_rv *x = luaL_testudata(L, 1, LT_RV);
  if (!x || *x->op) return 0;
  lua_pushinteger(L, (lua_Integer)x->rv);
  return 1;
}

static int no_compare(lua_State *L) {
  return lt_error(L, TESS_TYPE,
                  "a random variable cannot be compared with < "
                  "or <=: read its value with sch:get");
}

static int rv_tostring(lua_State *L) {
  lt_rv *x = lt_object(L, 1, LT_RV);
  if (*x->op) {
    lua_getiuservalue(L, 1, 2);
    lua_getiuservalue(L, 1, 3);
    const char *a = luaL_tolstring(L, -2, NULL);
    const char *b = luaL_tolstring(L, -2, NULL);
    lua_pushfstring(L, "(%s %s %s)", a, x->op, b);
    return 1;
  }
  lua_getiuservalue(L, 1, 1);
  lt_sched *s = lua_touserdata(L, -1);
  char *text = NULL;
  if (!s->s || tess_schedule_rv_text(s->s, x->rv, &text) != TESS_OK) {
    lua_pushfstring(L, "%s (gone)",
                    x->kind == TESS_RV_BLOCK  ? "block"
                    : x->kind == TESS_RV_LOOP ? "loop"
                                              : "integer");
    return 1;
  }
  lt_push_text(L, text);
  return 1;
}

/* rv.kind: "block", "loop" or "int" */
static int rv_index(lua_State *L) {
  static const char *const kinds[] = {"none", "block", "loop", "int"};
  lt_rv *x = lt_object(L, 1, LT_RV);
  const char *k = lt_string(L, 2, "the field of a variable");
  if (strcmp(k, "kind")) return 0;
  lua_pushstring(L, kinds[x->kind]);
  return 1;
}

/* Two variables of one schedule, or of it and its copy, are equal where they
 * refer to the same loop or block: the schedule that has both is asked. */
static int rv_eq(lua_State *L) {
  lt_rv *a = luaL_testudata(L, 1, LT_RV), *b = luaL_testudata(L, 2, LT_RV);
  int same = 0, of = a && b && !*a->op && !*b->op ? holder(L) : 0;
  if (of && a->rv == b->rv)
    same = 1;
  else if (of && a->kind == b->kind && a->kind != TESS_RV_INT) {
    lua_getiuservalue(L, of, 1);
    lt_sched *s = lua_touserdata(L, -1);
    if (s->s) {
      lt_note_place(L, s->s);
      lt_check(L, tess_schedule_is_same(s->s, a->rv, b->rv, &same));
    }
  }
  lua_pushboolean(L, same);
  return 1;
}

static int auto_tostring(lua_State *L) {
  lua_pushliteral(L, "auto");
  return 1;
}

void lt_open_rv(lua_State *L) {
  static const luaL_Reg meta[] = {
      {"__add", rv_add},           {"__sub", rv_sub},    {"__mul", rv_mul},
      {"__idiv", rv_idiv},         {"__mod", rv_mod},    {"__div", no_fraction},
      {"__pow", no_fraction},      {"__lt", no_compare}, {"__le", no_compare},
      {"__unm", rv_unm},           {"__eq", rv_eq},      {"__index", rv_index},
      {"__tostring", rv_tostring}, {NULL, NULL}};
  static const luaL_Reg auto_meta[] = {{"__tostring", auto_tostring},
                                       {NULL, NULL}};
  lt_class(L, LT_RV, meta, NULL, NULL);
  lt_class(L, LT_AUTO, auto_meta, NULL, NULL);
  lua_newuserdatauv(L, 0, 0);
  luaL_setmetatable(L, LT_AUTO);
  lua_setfield(L, -2, "auto");
  lua_getfield(L, -1, "_core");
  lua_pushcfunction(L, rv_op);
  lua_setfield(L, -2, "rv_op");
  lua_pushcfunction(L, rv_number);
  lua_setfield(L, -2, "rv_number");
  lua_pop(L, 1);
}
