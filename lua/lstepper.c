/* SPDX-License-Identifier: Apache-2.0
 * Binding of steppers, which replay a trace forwards and back. */
#include "lua/lt.h"

LT_GC(stepper_gc, tess_stepper, tess_stepper_free)

#define STEPPER ((tess_stepper *)lt_get(L, 1, LT_STEPPER))

/* True, or false at the end; a refused instruction raises. */
static int moved(lua_State *L, tess_status s) {
  if (s != TESS_NOT_FOUND) lt_check(L, s);
  lua_pushboolean(L, s == TESS_OK);
  return 1;
}

static int next(lua_State *L) { return moved(L, tess_stepper_next(STEPPER)); }
static int back(lua_State *L) { return moved(L, tess_stepper_back(STEPPER)); }

static int go_to(lua_State *L) {
  tess_stepper *s = STEPPER;
  lua_Integer n = lt_integer(L, 2, "a position");
  if (n < 0 || n > (lua_Integer)tess_stepper_size(s))
    return lt_error(L, TESS_NOT_FOUND,
                    "the trace has %d instructions; there "
                    "is no position %d",
                    (int)tess_stepper_size(s), (int)n);
  lt_check(L, tess_stepper_goto(s, (uint32_t)n));
  return 0;
}

static int lstepper_position(lua_State *L) {
  lua_pushinteger(L, tess_stepper_position(STEPPER));
  return 1;
}

static int size(lua_State *L) {
  lua_pushinteger(L, tess_stepper_size(STEPPER));
  return 1;
}

static int lstepper_program(lua_State *L) {
  tess_stepper *s = STEPPER;
  void **b = lt_box(L, LT_PROGRAM, 0);
  tess_program *p;
  lt_check(L, tess_stepper_program(s, &p));
  *b = p;
  return 1;
}

static int trace(lua_State *L) {
  tess_stepper *s = STEPPER;
  void **b = lt_box(L, LT_TRACE, 1);
  tess_trace *t;
  lt_check(L, tess_stepper_trace(s, &t));
  *b = t;
  return 1;
}

static int diff(lua_State *L) {
  char *text = NULL;
  lt_check(L, tess_stepper_diff(STEPPER, &text));
  lt_push_text(L, text);
  return 1;
}

/* A list of { line =, instruction =, effect = "made" }, by line. */
static int origins(lua_State *L) {
  static const char *const word[] = {[TESS_EFFECT_MADE] = "made",
                                     [TESS_EFFECT_CHANGED] = "changed",
                                     [TESS_EFFECT_MOVED] = "moved"};
  tess_origins all = TESS_INIT(tess_origins);
  lt_check(L, tess_stepper_origins(STEPPER, &all));
  lua_createtable(L, (int)all.n, 0);
  for (uint32_t i = 0; i < all.n; i++) {
    lua_createtable(L, 0, 3);
    lt_set_integer(L, "line", all.origin[i].line);
    lt_set_integer(L, "instruction", all.origin[i].instruction);
    lt_set_string(L, "effect", word[all.origin[i].effect]);
    lua_seti(L, -2, i + 1);
  }
  return 1;
}

static int instruction(lua_State *L) {
  char *text = NULL;
  lt_check(L, tess_stepper_inst(STEPPER, &text));
  lt_push_text(L, text);
  return 1;
}

static void push_ints(lua_State *L, const int64_t *v, uint32_t n) {
  lua_createtable(L, (int)n, 0);
  for (uint32_t i = 0; i < n; i++) {
    lua_pushinteger(L, v[i]);
    lua_seti(L, -2, i + 1);
  }
}

/* A list, or nil where the instruction takes no decision. */
static int decision(lua_State *L) {
  int64_t d[64];
  uint32_t n;
  lt_check(L, tess_stepper_decision(STEPPER, 64, d, &n));
  if (!n) return 0;
  push_ints(L, d, n);
  return 1;
}

/* s:alternatives([max]): a list of { decision =, probability = } and how
 * many there are in all */
static int alternatives(lua_State *L) {
  tess_alternatives a = TESS_INIT(tess_alternatives);
  lua_Integer max = lt_opt_integer(L, 2, "the number of alternatives", 64);
  if (max < 1 || max > 1 << 20)
    return lt_error(L, TESS_INVALID,
                    "the number of alternatives is %lld, outside of "
                    "1 .. 1048576",
                    (long long)max);
  lt_check(L, tess_stepper_alternatives(STEPPER, (uint32_t)max, &a));
  lua_createtable(L, (int)a.n, 0);
  for (uint32_t i = 0; i < a.n; i++) {
    lua_createtable(L, 0, 2);
    push_ints(L, a.decision + (size_t)i * a.width, a.width);
    lua_setfield(L, -2, "decision");
    lt_set_number(L, "probability", a.probability[i]);
    lua_seti(L, -2, i + 1);
  }
  if (a.count <= INT64_MAX)
    lua_pushinteger(L, (lua_Integer)a.count);
  else
    lua_pushnumber(L, (lua_Number)a.count);
  return 2;
}

/* s:decide{4, 2, 8, 16}: true; or false, the first instruction that applies
 * no longer, and why. */
static int lstepper_decide(lua_State *L) {
  int64_t d[64];
  uint32_t n, invalid = 0;
  tess_stepper *s = STEPPER;
  if (lua_isinteger(L, 2)) {
    d[0] = lua_tointeger(L, 2);
    n = 1;
  } else
    n = lt_to_ints(L, 2, 64, d);
  tess_status st = tess_stepper_decide(s, n, d, &invalid);
  if (st != TESS_REFUSED) lt_check(L, st);
  lua_pushboolean(L, st == TESS_OK);
  if (st == TESS_OK) return 1;
  lua_pushinteger(L, invalid);
  lua_pushstring(L, tess_error(lt_context(L))->message);
  return 3;
}

static int stepper_tostring(lua_State *L) {
  tess_stepper *s = STEPPER;
  lua_pushfstring(L, "stepper at %d of %d", (int)tess_stepper_position(s),
                  (int)tess_stepper_size(s));
  return 1;
}

void lt_open_stepper(lua_State *L) {
  static const luaL_Reg meta[] = {
      {"__tostring", stepper_tostring}, {"__len", size}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"next", next},
                                     {"back", back},
                                     {"goto_", go_to},
                                     {"position", lstepper_position},
                                     {"size", size},
                                     {"program", lstepper_program},
                                     {"trace", trace},
                                     {"diff", diff},
                                     {"origins", origins},
                                     {"instruction", instruction},
                                     {"decision", decision},
                                     {"alternatives", alternatives},
                                     {"decide", lstepper_decide},
                                     {NULL, NULL}};
  lt_class(L, LT_STEPPER, meta, methods, stepper_gc);
}
