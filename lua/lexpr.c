/* SPDX-License-Identifier: Apache-2.0
 * Binding of expressions and buffers, with operators. */
#include "lua/ldescribe.h"
#include <stdio.h>
#include <string.h>

/* ---- values of Lua ------------------------------------------------------ */

/* What Lua's own operators gave before any of our functions was called: the
 * expressions that they compared or negated are lost. */
static tess_expr refuse_boolean(lua_State *L) {
  lt_error(L, TESS_TYPE,
           "a Lua boolean is no expression: ==, ~=, not, and, or are "
           "evaluated by Lua at once; write ts.eq, ts.ne, ts.lnot, ts.all or "
           "ts.any, and ts.const(true, \"bool\") for a constant");
  return 0;
}

static void buffer_example(lua_State *L, lt_buffer *x, char *out, size_t n);

static tess_expr refuse_value(lua_State *L, int i) {
  char element[96];
  lt_buffer *x = luaL_testudata(L, i, LT_BUFFER);
  if (!x)
    return lt_error(L, TESS_TYPE,
                    "an expression or a number is expected, not %s",
                    luaL_typename(L, i)),
           0;
  buffer_example(L, x, element, sizeof element);
  lt_error(L, TESS_TYPE,
           "an expression or a number is expected, not a buffer: an element "
           "is written %s",
           element);
  return 0;
}

tess_expr lt_to_expr(lua_State *L, tess_builder *b, int i) {
  tess_expr e = 0;
  lt_expr *x = luaL_testudata(L, i, LT_EXPR);
  if (x) return x->e;
  switch (lua_type(L, i)) {
  case LUA_TNUMBER:
    if (lua_isinteger(L, i) && (lua_tointeger(L, i) > (1ll << 53) ||
                                lua_tointeger(L, i) < -(1ll << 53)))
      lt_check(L, tess_int(b, (tess_dtype){TESS_DTYPE_INT, 64, 1},
                           lua_tointeger(L, i), &e));
    else
      lt_check(L, tess_literal(b, lua_tonumber(L, i), lua_isinteger(L, i), &e));
    return e;
  case LUA_TBOOLEAN: return refuse_boolean(L);
  default: return refuse_value(L, i);
  }
}

uint32_t lt_to_exprs(lua_State *L, tess_builder *b, int t, uint32_t max,
                     tess_expr *out) {
  lt_table(L, t, "a list of extents, indices or expressions");
  lua_Integer n = lt_list_len(L, t);
  if (n > (lua_Integer)max)
    lt_error(L, TESS_LIMIT, "at most %u elements are possible here",
             (unsigned)max);
  for (lua_Integer k = 1; k <= n; k++) {
    lua_geti(L, t, k);
    if (lua_isinteger(L, -1))
      lt_check(L, tess_int(b, (tess_dtype){TESS_DTYPE_INT, 64, 1},
                           lua_tointeger(L, -1), &out[k - 1]));
    else
      out[k - 1] = lt_to_expr(L, b, lua_gettop(L));
    lua_pop(L, 1);
  }
  return (uint32_t)n;
}

tess_buffer lt_to_buffer(lua_State *L, int i) {
  lt_buffer *x = luaL_testudata(L, i, LT_BUFFER);
  if (!x)
    lt_error(L, TESS_TYPE, "a buffer is expected, not %s", luaL_typename(L, i));
  return x->buf;
}

/* ---- operators ---------------------------------------------------------- */

int lt_binary(lua_State *L, const char *op) {
  tess_expr e;
  tess_builder *b = lt_push_builder(L);
  tess_expr x = lt_to_expr(L, b, 1), y = lt_to_expr(L, b, 2);
  lt_check(L, tess_binary(b, op, x, y, &e));
  lt_push_expr(L, e, 0);
  return 1;
}

#define BINARY(name, op) \
  static int op_##name(lua_State *L) { return lt_binary(L, op); }
BINARY(add, "+")
BINARY(sub, "-")
BINARY(mul, "*")
BINARY(div, "/")
BINARY(idiv, "//")
BINARY(mod, "%")
BINARY(lt, "<")
BINARY(le, "<=")
BINARY(gt, ">")
BINARY(ge, ">=")
BINARY(eq, "==")
BINARY(ne, "!=")

/* Conditions look as if they had Lua's operators on bits. */
static void refuse_condition(lua_State *L, tess_builder *b, tess_expr x) {
  tess_dtype t;
  if (tess_expr_dtype(b, x, &t) == TESS_OK && t.code == TESS_DTYPE_BOOL)
    lt_error(L, TESS_TYPE,
             "& | ~ << >> are of integers: conditions are combined by ts.all, "
             "ts.any, ts.lnot");
}

static int lt_call1(lua_State *L, const char *fn) {
  tess_builder *b = lt_push_builder(L);
  tess_expr e, x = lt_to_expr(L, b, 1);
  lt_check(L, tess_call(b, fn, 1, &x, &e));
  lt_push_expr(L, e, 0);
  return 1;
}

static int op_unm(lua_State *L) { return lt_call1(L, "-"); }

static int op_bnot(lua_State *L) {
  tess_builder *b = lt_push_builder(L);
  refuse_condition(L, b, lt_to_expr(L, b, 1));
  lua_pop(L, 1);
  return lt_call1(L, "bitnot");
}

static int lt_call2(lua_State *L, const char *fn) {
  tess_builder *b = lt_push_builder(L);
  tess_expr e, x[2] = {lt_to_expr(L, b, 1), lt_to_expr(L, b, 2)};
  for (int i = 0; i < 2; i++) refuse_condition(L, b, x[i]);
  lt_check(L, tess_call(b, fn, 2, x, &e));
  lt_push_expr(L, e, 0);
  return 1;
}

#define CALL2(name, fn) \
  static int op_##name(lua_State *L) { return lt_call2(L, fn); }
CALL2(pow, "pow")
CALL2(band, "bitand")
CALL2(bor, "bitor")
CALL2(bxor, "bitxor")
CALL2(shl, "shl")
CALL2(shr, "shr")

/* Comparison operators raise: Lua converts their result to a boolean, which
 * would lose the expression. */
static int no_compare(lua_State *L) {
  return lt_error(L, TESS_TYPE,
                  "an expression cannot be compared with < or "
                  "<= in Lua: use ts.lt, ts.le, ts.gt, ts.ge");
}

/* Lua calls this where both operands are expressions; `A(i) == 0` is false
 * without it. */
static int no_equality(lua_State *L) {
  return lt_error(L, TESS_TYPE,
                  "expressions cannot be compared with == or ~= in Lua: use "
                  "ts.eq, ts.ne");
}

static int expr_tostring(lua_State *L) {
  lt_expr *x = lt_object(L, 1, LT_EXPR);
  char *text = NULL;
  lt_check(L, tess_expr_text(x->b, x->e, &text));
  lt_push_text(L, text);
  return 1;
}

static int expr_dtype(lua_State *L) {
  lt_expr *x = lt_object(L, 1, LT_EXPR);
  tess_dtype t;
  char text[32];
  lt_check(L, tess_expr_dtype(x->b, x->e, &t));
  tess_dtype_text(t, text);
  lua_pushstring(L, text);
  return 1;
}

/* ---- buffers ------------------------------------------------------------ */

static int buffer_call(lua_State *L) {
  lt_buffer *x = lt_object(L, 1, LT_BUFFER);
  tess_expr e, idx[LT_MAX_DIM];
  int n = lua_gettop(L) - 1;
  if (n > LT_MAX_DIM) return lt_error(L, TESS_LIMIT, "too many indices");
  for (int i = 0; i < n; i++) {
    if (lua_isinteger(L, i + 2))
      lt_check(L, tess_int(x->b, (tess_dtype){TESS_DTYPE_INT, 64, 1},
                           lua_tointeger(L, i + 2), &idx[i]));
    else
      idx[i] = lt_to_expr(L, x->b, i + 2);
  }
  lt_check(L, tess_load(x->b, x->buf, (uint32_t)n, idx, &e));
  lt_push_expr(L, e, 0);
  return 1;
}

typedef struct buffer_facts {
  const char *name;
  tess_dtype t;
  uint32_t ndim;
  tess_expr shape[LT_MAX_DIM];
} buffer_facts;

static buffer_facts facts_of(lua_State *L, lt_buffer *x) {
  buffer_facts f;
  lt_check(L, tess_buffer_info(x->b, x->buf, &f.name, &f.t, LT_MAX_DIM, f.shape,
                               &f.ndim));
  return f;
}

static int push_shape(lua_State *L, lt_buffer *x, const buffer_facts *f) {
  lua_createtable(L, (int)f->ndim, 0);
  for (uint32_t i = 0; i < f->ndim; i++) {
    char *text = NULL;
    lt_check(L, tess_expr_text(x->b, f->shape[i], &text));
    lt_push_text(L, text);
    if (lua_stringtonumber(L, lua_tostring(L, -1)))
      lua_remove(L, -2);
    else {
      lua_pop(L, 1);
      lt_push_expr(L, f->shape[i], 0);
    }
    lua_seti(L, -2, i + 1);
  }
  return 1;
}

/* How an element of it is written: "A(i, j)". */
static void buffer_example(lua_State *L, lt_buffer *x, char *out, size_t n) {
  static const char *const index[] = {"i", "j", "k", "l"};
  buffer_facts f = facts_of(L, x);
  size_t at = (size_t)snprintf(out, n, "%.40s(", f.name);
  for (uint32_t d = 0; d < f.ndim && d < 4; d++)
    at += (size_t)snprintf(out + at, n - at, "%s%s", d ? ", " : "", index[d]);
  snprintf(out + at, n - at, f.ndim > 4 ? ", ...)" : ")");
}

/* A.name, A.dtype, A.shape; A[i] is what other languages write. */
static int buffer_index(lua_State *L) {
  lt_buffer *x = lt_object(L, 1, LT_BUFFER);
  char element[96];
  buffer_example(L, x, element, sizeof element);
  if (lua_type(L, 2) != LUA_TSTRING)
    return lt_error(L, TESS_TYPE,
                    "an element of a buffer is written %s, not with brackets",
                    element);
  const char *k = lua_tostring(L, 2);
  buffer_facts f = facts_of(L, x);
  if (!strcmp(k, "name")) return lua_pushstring(L, f.name), 1;
  if (!strcmp(k, "shape")) return push_shape(L, x, &f);
  if (!strcmp(k, "dtype")) {
    char text[32];
    tess_dtype_text(f.t, text);
    return lua_pushstring(L, text), 1;
  }
  return lt_error(L, TESS_NOT_FOUND, "a buffer has no field '%s'", k);
}

static int buffer_newindex(lua_State *L) {
  char element[96];
  buffer_example(L, lt_object(L, 1, LT_BUFFER), element, sizeof element);
  return lt_error(L, TESS_TYPE,
                  "elements are not assigned: ts.compute gives all of a "
                  "buffer, and b:store one (it is read as %s)",
                  element);
}

static int buffer_tostring(lua_State *L) {
  lt_buffer *x = lt_object(L, 1, LT_BUFFER);
  buffer_facts f = facts_of(L, x);
  char dtype[32];
  tess_dtype_text(f.t, dtype);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, f.name);
  luaL_addstring(&b, ": ");
  luaL_addstring(&b, dtype);
  luaL_addstring(&b, "[");
  for (uint32_t i = 0; i < f.ndim; i++) {
    char *text = NULL;
    if (i) luaL_addstring(&b, ", ");
    lt_check(L, tess_expr_text(x->b, f.shape[i], &text));
    lt_push_text(L, text);
    luaL_addvalue(&b);
  }
  luaL_addstring(&b, "]");
  luaL_pushresult(&b);
  return 1;
}

/* ---- the classes -------------------------------------------------------- */

void lt_open_expr(lua_State *L) {
  static const luaL_Reg expr_meta[] = {
      {"__add", op_add},     {"__sub", op_sub},
      {"__mul", op_mul},     {"__div", op_div},
      {"__idiv", op_idiv},   {"__mod", op_mod},
      {"__pow", op_pow},     {"__unm", op_unm},
      {"__band", op_band},   {"__bor", op_bor},
      {"__bxor", op_bxor},   {"__bnot", op_bnot},
      {"__shl", op_shl},     {"__shr", op_shr},
      {"__lt", no_compare},  {"__le", no_compare},
      {"__eq", no_equality}, {"__tostring", expr_tostring},
      {NULL, NULL}};
  static const luaL_Reg expr_methods[] = {{"dtype", expr_dtype}, {NULL, NULL}};
  static const luaL_Reg buffer_meta[] = {{"__add", op_add},
                                         {"__sub", op_sub},
                                         {"__mul", op_mul},
                                         {"__div", op_div},
                                         {"__idiv", op_idiv},
                                         {"__mod", op_mod},
                                         {"__pow", op_pow},
                                         {"__unm", op_unm},
                                         {"__call", buffer_call},
                                         {"__index", buffer_index},
                                         {"__newindex", buffer_newindex},
                                         {"__tostring", buffer_tostring},
                                         {NULL, NULL}};
  static const luaL_Reg comparisons[] = {
      {"lt", op_lt}, {"le", op_le}, {"gt", op_gt}, {"ge", op_ge},
      {"eq", op_eq}, {"ne", op_ne}, {NULL, NULL}};
  lt_open_builder(L);
  lt_class(L, LT_EXPR, expr_meta, expr_methods, NULL);
  lt_class(L, LT_BUFFER, buffer_meta, NULL, NULL);
  luaL_setfuncs(L, comparisons, 0);
}
