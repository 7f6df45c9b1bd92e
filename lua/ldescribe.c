/* SPDX-License-Identifier: Apache-2.0
 * Describing computations: expressions, buffers, and the raw functions that
 * stdlib/describe.lua makes its interface of (in the table ts._core).
 *
 * All expressions of a state belong to one builder, which lives as long as
 * anything made with it. */
#include "lua/lt.h"
#include <string.h>

#define MAX_DIM 16
#define MAX_ARGS 64

typedef struct lt_expr {
  tess_builder *b;
  tess_expr e;
  tess_var var;          /* of a reduction axis or size; else 0 */
} lt_expr;
typedef struct lt_buffer { tess_builder *b; tess_buffer buf; } lt_buffer;

/* ---- the builder ------------------------------------------------------------ */

#define LT_BUILDER "tessera.builder"
static const char builder_key = 0;

LT_GC(builder_gc, tess_builder, tess_builder_free)

/* Pushes the state's builder; it is held weakly, so that it goes when the
 * last expression made with it goes. */
static tess_builder *push_builder(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &builder_key) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_createtable(L, 1, 0);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "v");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &builder_key);
  }
  if (lua_rawgeti(L, -1, 1) == LUA_TNIL) {
    lua_pop(L, 1);
    void **box = lt_box(L, LT_BUILDER, 0);
    tess_builder *b;
    lt_check(L, tess_builder_new(lt_context(L), &b));
    *box = b;
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, 1);
  }
  lua_remove(L, -2);
  return *(void **)lua_touserdata(L, -1);
}

static void push_expr(lua_State *L, tess_expr e, tess_var var) {
  lt_expr *x = lua_newuserdatauv(L, sizeof *x, 1);
  *x = (lt_expr){NULL, e, var};
  luaL_setmetatable(L, LT_EXPR);
  x->b = push_builder(L);
  lua_setiuservalue(L, -2, 1);
}

static void push_buffer(lua_State *L, tess_buffer buf) {
  lt_buffer *x = lua_newuserdatauv(L, sizeof *x, 1);
  *x = (lt_buffer){NULL, buf};
  luaL_setmetatable(L, LT_BUFFER);
  x->b = push_builder(L);
  lua_setiuservalue(L, -2, 1);
}

/* The state's builder with nothing left on the stack: only valid while an
 * object on the stack or in a variable of the caller's keeps it alive, or
 * after keep_builder. */
static tess_builder *builder(lua_State *L) {
  tess_builder *b = push_builder(L);
  lua_pop(L, 1);
  return b;
}

/* The value at index i as an expression: an expression, a number (a literal,
 * taking the other operand's type) or a boolean. */
static tess_expr to_expr(lua_State *L, tess_builder *b, int i) {
  tess_expr e = 0;
  lt_expr *x = luaL_testudata(L, i, LT_EXPR);
  if (x) return x->e;
  switch (lua_type(L, i)) {
    case LUA_TNUMBER:
      if (lua_isinteger(L, i) &&
          (lua_tointeger(L, i) > (1ll << 53) ||
           lua_tointeger(L, i) < -(1ll << 53)))
        lt_check(L, tess_int(b, (tess_dtype){TESS_INT, 64, 1},
                             lua_tointeger(L, i), &e));
      else
        lt_check(L, tess_literal(b, lua_tonumber(L, i), lua_isinteger(L, i),
                                 &e));
      return e;
    case LUA_TBOOLEAN:
      lt_check(L, tess_int(b, (tess_dtype){TESS_BOOL, 8, 1},
                           lua_toboolean(L, i), &e));
      return e;
    default:
      lt_error(L, TESS_TYPE, "an expression or a number is expected, not %s",
               luaL_typename(L, i));
      return 0;
  }
}

/* A list of extents or indices; integers become int64 constants. */
static uint32_t to_exprs(lua_State *L, tess_builder *b, int t, uint32_t max,
                         tess_expr *out) {
  lt_table(L, t, "a list of extents, indices or expressions");
  lua_Integer n = luaL_len(L, t);
  if (n > (lua_Integer)max)
    lt_error(L, TESS_LIMIT, "at most %u elements are possible here",
             (unsigned)max);
  for (lua_Integer k = 1; k <= n; k++) {
    lua_geti(L, t, k);
    if (lua_isinteger(L, -1))
      lt_check(L, tess_int(b, (tess_dtype){TESS_INT, 64, 1},
                           lua_tointeger(L, -1), &out[k - 1]));
    else out[k - 1] = to_expr(L, b, lua_gettop(L));
    lua_pop(L, 1);
  }
  return (uint32_t)n;
}

static tess_buffer to_buffer(lua_State *L, int i) {
  return ((lt_buffer *)luaL_checkudata(L, i, LT_BUFFER))->buf;
}

/* ---- operators ---------------------------------------------------------------- */

static int binary(lua_State *L, const char *op) {
  tess_expr e;
  tess_builder *b = push_builder(L);
  tess_expr x = to_expr(L, b, 1), y = to_expr(L, b, 2);
  lt_check(L, tess_binary(b, op, x, y, &e));
  push_expr(L, e, 0);
  return 1;
}

#define BINARY(name, op)                                                    \
  static int op_##name(lua_State *L) { return binary(L, op); }
BINARY(add, "+") BINARY(sub, "-") BINARY(mul, "*") BINARY(div, "/")
BINARY(idiv, "//") BINARY(mod, "%") BINARY(lt, "<") BINARY(le, "<=")
BINARY(gt, ">") BINARY(ge, ">=") BINARY(eq, "==") BINARY(ne, "!=")

static int op_pow(lua_State *L) {
  tess_builder *b = push_builder(L);
  tess_expr e, x[2] = {to_expr(L, b, 1), to_expr(L, b, 2)};
  lt_check(L, tess_call(b, "pow", 2, x, &e));
  push_expr(L, e, 0);
  return 1;
}

static int op_unm(lua_State *L) {
  tess_builder *b = push_builder(L);
  tess_expr e, x = to_expr(L, b, 1);
  lt_check(L, tess_call(b, "-", 1, &x, &e));
  push_expr(L, e, 0);
  return 1;
}

/* Lua turns what a comparison gives into a boolean, which would lose it. */
static int no_compare(lua_State *L) {
  return lt_error(L, TESS_TYPE, "an expression cannot be compared with < or "
                  "<= in Lua: use ts.lt, ts.le, ts.gt, ts.ge");
}

static int expr_tostring(lua_State *L) {
  lt_expr *x = luaL_checkudata(L, 1, LT_EXPR);
  char *text = NULL;
  lt_check(L, tess_expr_text(x->b, x->e, &text));
  lt_push_text(L, text);
  return 1;
}

static int expr_dtype(lua_State *L) {
  lt_expr *x = luaL_checkudata(L, 1, LT_EXPR);
  tess_dtype t;
  char text[32];
  lt_check(L, tess_expr_dtype(x->b, x->e, &t));
  tess_dtype_text(t, text);
  lua_pushstring(L, text);
  return 1;
}

/* ---- buffers --------------------------------------------------------------------- */

static int buffer_call(lua_State *L) {
  lt_buffer *x = luaL_checkudata(L, 1, LT_BUFFER);
  tess_expr e, idx[MAX_DIM];
  int n = lua_gettop(L) - 1;
  if (n > MAX_DIM) return lt_error(L, TESS_LIMIT, "too many indices");
  for (int i = 0; i < n; i++) {
    if (lua_isinteger(L, i + 2))
      lt_check(L, tess_int(x->b, (tess_dtype){TESS_INT, 64, 1},
                           lua_tointeger(L, i + 2), &idx[i]));
    else idx[i] = to_expr(L, x->b, i + 2);
  }
  lt_check(L, tess_load(x->b, x->buf, (uint32_t)n, idx, &e));
  push_expr(L, e, 0);
  return 1;
}

typedef struct buffer_facts {
  const char *name;
  tess_dtype t;
  uint32_t ndim;
  tess_expr shape[8];
} buffer_facts;

static buffer_facts facts_of(lua_State *L, lt_buffer *x) {
  buffer_facts f;
  lt_check(L, tess_buffer_info(x->b, x->buf, &f.name, &f.t, &f.ndim,
                               f.shape));
  return f;
}

static int push_shape(lua_State *L, lt_buffer *x, const buffer_facts *f) {
  lua_createtable(L, (int)f->ndim, 0);
  for (uint32_t i = 0; i < f->ndim; i++) {
    char *text = NULL;
    lt_check(L, tess_expr_text(x->b, f->shape[i], &text));
    lt_push_text(L, text);
    if (lua_stringtonumber(L, lua_tostring(L, -1))) lua_remove(L, -2);
    else { lua_pop(L, 1); push_expr(L, f->shape[i], 0); }
    lua_seti(L, -2, i + 1);
  }
  return 1;
}

/* A.name, A.dtype, A.shape */
static int buffer_index(lua_State *L) {
  lt_buffer *x = luaL_checkudata(L, 1, LT_BUFFER);
  const char *k = luaL_checkstring(L, 2);
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

static int buffer_tostring(lua_State *L) {
  lt_buffer *x = luaL_checkudata(L, 1, LT_BUFFER);
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

/* ---- raw functions ------------------------------------------------------------------ */

static tess_role to_role(lua_State *L, int i) {
  static const char *const names[] = {"input", "output", "constant",
                                      "layout_free", NULL};
  return (tess_role)luaL_checkoption(L, i, "input", names);
}

/* placeholder(name, shape, dtype, role) */
static int placeholder(lua_State *L) {
  tess_expr shape[MAX_DIM];
  tess_buffer buf;
  const char *name = lt_string(L, 1, "the name");
  tess_dtype t = lt_to_dtype(L, 3, "float32");
  tess_role role = to_role(L, 4);
  tess_builder *b = push_builder(L);
  uint32_t n = to_exprs(L, b, 2, MAX_DIM, shape);
  lt_check(L, tess_placeholder(b, name, t, n, shape, role, &buf));
  push_buffer(L, buf);
  return 1;
}

/* constant(name, tensor) */
static int constant(lua_State *L) {
  tess_buffer buf;
  const char *name = lt_string(L, 1, "the name");
  tess_tensor *t = lt_get(L, 2, LT_TENSOR);
  tess_builder *b = push_builder(L);
  lt_check(L, tess_constant(b, name, tess_tensor_dtype(t),
                            tess_tensor_ndim(t), tess_tensor_shape(t),
                            tess_tensor_data(t), &buf));
  push_buffer(L, buf);
  return 1;
}

/* buffer(name, shape, dtype, scope, role, is_parameter) */
static int new_buffer(lua_State *L) {
  tess_expr shape[MAX_DIM];
  tess_buffer buf;
  const char *name = lt_string(L, 1, "the name");
  tess_dtype t = lt_to_dtype(L, 3, "float32");
  const char *scope = luaL_optstring(L, 4, "global");
  tess_role role = to_role(L, 5);
  tess_builder *b = push_builder(L);
  uint32_t n = to_exprs(L, b, 2, MAX_DIM, shape);
  lt_check(L, tess_buffer_new(b, name, t, n, shape, scope, role,
                              lua_toboolean(L, 6), &buf));
  push_buffer(L, buf);
  return 1;
}

static int reduce_axis(lua_State *L) {   /* (name, lo, extent) */
  tess_var v;
  tess_expr e;
  const char *name = lt_string(L, 1, "the name");
  tess_builder *b = push_builder(L);
  tess_expr range[2];
  lua_createtable(L, 2, 0);
  lua_pushvalue(L, 2); lua_seti(L, -2, 1);
  lua_pushvalue(L, 3); lua_seti(L, -2, 2);
  to_exprs(L, b, lua_gettop(L), 2, range);
  lt_check(L, tess_reduce_axis(b, name, range[0], range[1], &v));
  lt_check(L, tess_var_ref(b, v, &e));
  push_expr(L, e, v);
  return 1;
}

static int size_var(lua_State *L) {      /* (name) */
  tess_var v;
  tess_expr e;
  tess_builder *b = push_builder(L);
  lt_check(L, tess_size_var(b, lt_string(L, 1, "the name"), &v));
  lt_check(L, tess_var_ref(b, v, &e));
  push_expr(L, e, v);
  return 1;
}

static int constant_expr(lua_State *L) { /* (value, dtype) */
  tess_expr e;
  tess_dtype t = lt_to_dtype(L, 2, "float32");
  tess_builder *b = push_builder(L);
  if (t.code == TESS_FLOAT || t.code == TESS_BFLOAT)
    lt_check(L, tess_real(b, t, luaL_checknumber(L, 1), &e));
  else if (lua_isboolean(L, 1))
    lt_check(L, tess_int(b, t, lua_toboolean(L, 1), &e));
  else lt_check(L, tess_int(b, t, luaL_checkinteger(L, 1), &e));
  push_expr(L, e, 0);
  return 1;
}

static int cast(lua_State *L) {          /* (x, dtype) */
  tess_expr e;
  tess_builder *b = push_builder(L);
  tess_dtype t = lt_to_dtype(L, 2, NULL);
  lt_check(L, tess_cast(b, t, to_expr(L, b, 1), &e));
  push_expr(L, e, 0);
  return 1;
}

static int select(lua_State *L) {        /* (cond, yes, no) */
  tess_expr e;
  tess_builder *b = push_builder(L);
  tess_expr c = to_expr(L, b, 1), x = to_expr(L, b, 2), y = to_expr(L, b, 3);
  lt_check(L, tess_select(b, c, x, y, &e));
  push_expr(L, e, 0);
  return 1;
}

static int binary_by_name(lua_State *L) { /* (x, y, op) */
  return binary(L, luaL_checkstring(L, 3));
}

static int call(lua_State *L) {          /* (fn, ...) */
  tess_expr e, x[MAX_ARGS];
  int n = lua_gettop(L) - 1;
  const char *fn = luaL_checkstring(L, 1);
  if (n > MAX_ARGS) return lt_error(L, TESS_LIMIT, "too many arguments");
  tess_builder *b = push_builder(L);
  for (int i = 0; i < n; i++) x[i] = to_expr(L, b, i + 2);
  lt_check(L, tess_call(b, fn, (uint32_t)n, x, &e));
  push_expr(L, e, 0);
  return 1;
}

static int call_extern(lua_State *L) {   /* (name, dtype, ...) */
  tess_expr e, x[MAX_ARGS];
  int n = lua_gettop(L) - 2;
  const char *name = lt_string(L, 1, "the name");
  tess_dtype t = lt_to_dtype(L, 2, NULL);
  if (n > MAX_ARGS) return lt_error(L, TESS_LIMIT, "too many arguments");
  tess_builder *b = push_builder(L);
  for (int i = 0; i < n; i++) x[i] = to_expr(L, b, i + 3);
  lt_check(L, tess_call_extern(b, name, t, (uint32_t)n, x, &e));
  push_expr(L, e, 0);
  return 1;
}

/* The variables in the list at index t. */
static uint32_t to_axes(lua_State *L, int t, tess_var *out) {
  lt_table(L, t, "a list of axes");
  lua_Integer n = luaL_len(L, t);
  if (n > MAX_DIM) lt_error(L, TESS_LIMIT, "too many reduction axes");
  for (lua_Integer k = 1; k <= n; k++) {
    lua_geti(L, t, k);
    lt_expr *x = luaL_testudata(L, -1, LT_EXPR);
    if (!x || !x->var)
      lt_error(L, TESS_TYPE, "axis %d is not a reduction axis (made by "
               "ts.reduce_axis)", (int)k);
    out[k - 1] = x->var;
    lua_pop(L, 1);
  }
  return (uint32_t)n;
}

static int push_exprs(lua_State *L, uint32_t n, const tess_expr *e) {
  for (uint32_t i = 0; i < n; i++) push_expr(L, e[i], 0);
  return (int)n;
}

static int reduce(lua_State *L) {        /* (reducer, sources, axes) */
  tess_expr src[8], out[8];
  tess_var axes[MAX_DIM];
  const char *name = lt_string(L, 1, "the name");
  tess_builder *b = push_builder(L);
  uint32_t n = to_exprs(L, b, 2, 8, src);
  uint32_t naxes = to_axes(L, 3, axes);
  lt_check(L, tess_reduce(b, name, n, src, naxes, axes, out));
  return push_exprs(L, n, out);
}

/* The combine function stands at stack index 1 of the running call. */
static int combine(void *ud, tess_builder *b, const tess_expr *lhs,
                   const tess_expr *rhs, tess_expr *result) {
  lua_State *L = ((void **)ud)[0];
  uint32_t n = *(uint32_t *)((void **)ud)[1];
  int top = lua_gettop(L);
  lua_pushvalue(L, 1);
  push_exprs(L, n, lhs);
  push_exprs(L, n, rhs);
  if (lua_pcall(L, 2 * (int)n, (int)n, 0) != LUA_OK) return 1;
  for (uint32_t i = 0; i < n; i++) {
    lt_expr *x = luaL_testudata(L, top + 1 + (int)i, LT_EXPR);
    if (x) { result[i] = x->e; continue; }
    if (lua_type(L, top + 1 + (int)i) != LUA_TNUMBER ||
        tess_literal(b, lua_tonumber(L, top + 1 + (int)i),
                     lua_isinteger(L, top + 1 + (int)i), &result[i])) {
      lua_settop(L, top);
      lua_pushliteral(L, "the combine function of a reducer must give one "
                      "expression for each output");
      return 1;
    }
  }
  lua_settop(L, top);
  return 0;
}

/* (combine, identities, sources, axes, name) */
static int reduce_with(lua_State *L) {
  tess_expr src[8], out[8];
  tess_var axes[MAX_DIM];
  double identity[8];
  luaL_checktype(L, 1, LUA_TFUNCTION);
  luaL_checktype(L, 2, LUA_TTABLE);
  tess_builder *b = push_builder(L);
  uint32_t n = to_exprs(L, b, 3, 8, src);
  uint32_t naxes = to_axes(L, 4, axes);
  if ((uint32_t)luaL_len(L, 2) != n)
    return lt_error(L, TESS_INVALID, "the reducer has %d identities and %d "
                    "sources", (int)luaL_len(L, 2), (int)n);
  for (uint32_t i = 0; i < n; i++) {
    lua_geti(L, 2, i + 1);
    identity[i] = lt_number(L, -1, "an identity of a reducer");
    lua_pop(L, 1);
  }
  void *ud[2] = {L, &n};
  tess_reducer_def def = {luaL_optstring(L, 5, "reducer"), n, combine,
                          identity, ud};
  int top = lua_gettop(L);
  tess_status s = tess_reduce_with(b, &def, n, src, naxes, axes, out);
  if (s == TESS_CALLBACK && lua_gettop(L) > top) return lua_error(L);
  lt_check(L, s);
  return push_exprs(L, n, out);
}

static int compute_begin(lua_State *L) { /* (name, shape, axis names) */
  tess_expr shape[MAX_DIM];
  tess_var vars[MAX_DIM];
  const char *names[MAX_DIM];
  const char *name = lt_string(L, 1, "the name");
  tess_builder *b = push_builder(L);
  uint32_t n = to_exprs(L, b, 2, MAX_DIM, shape);
  luaL_checktype(L, 3, LUA_TTABLE);
  for (uint32_t i = 0; i < n; i++) {
    lua_geti(L, 3, i + 1);           /* the table keeps the string alive */
    names[i] = luaL_checkstring(L, -1);
    lua_pop(L, 1);
  }
  lt_check(L, tess_compute_begin(b, name, n, shape, names, vars));
  for (uint32_t i = 0; i < n; i++) {
    tess_expr e;
    tess_status s = tess_var_ref(b, vars[i], &e);
    if (s != TESS_OK) { tess_compute_cancel(b); lt_check(L, s); }
    push_expr(L, e, 0);
  }
  return (int)n;
}

static int compute_end(lua_State *L) {   /* (bodies) */
  tess_expr body[8];
  tess_buffer out[8];
  tess_builder *b = push_builder(L);
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_Integer n = luaL_len(L, 1);
  if (n < 1 || n > 8)
    return lt_error(L, TESS_INVALID, "the body of a compute must be 1 to 8 "
                    "expressions, not %d", (int)n);
  for (lua_Integer i = 0; i < n; i++) {
    lua_geti(L, 1, i + 1);
    body[i] = to_expr(L, b, lua_gettop(L));
    lua_pop(L, 1);
  }
  lt_check(L, tess_compute_end(b, (uint32_t)n, body, out));
  for (lua_Integer i = 0; i < n; i++) push_buffer(L, out[i]);
  return (int)n;
}

static int compute_cancel(lua_State *L) {
  tess_compute_cancel(builder(L));
  return 0;
}

/* ---- imperative statements ---------------------------------------------------------- */

static int loop_begin(lua_State *L) {    /* (name, {lo, extent}) */
  tess_expr r[2], e;
  tess_var v;
  const char *name = lt_string(L, 1, "the name");
  tess_builder *b = push_builder(L);
  if (to_exprs(L, b, 2, 2, r) != 2)
    return lt_error(L, TESS_INVALID, "a loop needs a start and an extent");
  lt_check(L, tess_loop_begin(b, name, r[0], r[1], &v));
  lt_check(L, tess_var_ref(b, v, &e));
  push_expr(L, e, v);
  return 1;
}

/* (name, {{name=, kind=, bind=, lo=, extent=}, ...}, predicate) */
static int block_begin(lua_State *L) {
  static const char *const kind_names[] = {"spatial", "reduce", "opaque",
                                           NULL};
  tess_expr lo[MAX_DIM], extent[MAX_DIM], bind[MAX_DIM], pred = 0;
  tess_iter_kind kinds[MAX_DIM];
  const char *names[MAX_DIM];
  tess_var vars[MAX_DIM];
  const char *name = lt_string(L, 1, "the name");
  lt_table(L, 2, "the list of a block's iterations");
  lua_Integer n = luaL_len(L, 2);
  if (n > MAX_DIM) return lt_error(L, TESS_LIMIT, "too many iterations");
  tess_builder *b = push_builder(L);
  for (lua_Integer i = 0; i < n; i++) {
    tess_expr e[3];
    lua_geti(L, 2, i + 1);
    int t = lua_gettop(L);
    lt_table(L, t, "an iteration of a block");
    names[i] = lt_field_str(L, t, "name", "v");
    lua_getfield(L, t, "kind");
    kinds[i] = (tess_iter_kind)luaL_checkoption(L, -1, "spatial", kind_names);
    lua_createtable(L, 3, 0);
    lua_getfield(L, t, "lo");
    if (lua_isnil(L, -1)) { lua_pop(L, 1); lua_pushinteger(L, 0); }
    lua_seti(L, -2, 1);
    lua_getfield(L, t, "extent"); lua_seti(L, -2, 2);
    lua_getfield(L, t, "bind"); lua_seti(L, -2, 3);
    if (to_exprs(L, b, lua_gettop(L), 3, e) != 3)
      return lt_error(L, TESS_INVALID, "iteration %d of block %s needs an "
                      "extent and a bind", (int)i + 1, name);
    lo[i] = e[0]; extent[i] = e[1]; bind[i] = e[2];
    lua_settop(L, t - 1);
  }
  if (!lua_isnoneornil(L, 3)) pred = to_expr(L, b, 3);
  lt_check(L, tess_block_begin(b, name, (uint32_t)n, names, kinds, lo, extent,
                               bind, pred, vars));
  for (lua_Integer i = 0; i < n; i++) {
    tess_expr e;
    lt_check(L, tess_var_ref(b, vars[i], &e));
    push_expr(L, e, vars[i]);
  }
  return (int)n;
}

static int init_begin(lua_State *L) {
  return lt_check(L, tess_init_begin(builder(L))), 0;
}
static int if_begin(lua_State *L) {
  tess_builder *b = push_builder(L);
  return lt_check(L, tess_if_begin(b, to_expr(L, b, 1))), 0;
}
static int else_begin(lua_State *L) {
  return lt_check(L, tess_else_begin(builder(L))), 0;
}
static int let_begin(lua_State *L) {     /* (name, value) */
  tess_var v;
  tess_expr e;
  tess_builder *b = push_builder(L);
  lt_check(L, tess_let_begin(b, lt_string(L, 1, "the name"), to_expr(L, b, 2),
                             &v));
  lt_check(L, tess_var_ref(b, v, &e));
  push_expr(L, e, v);
  return 1;
}
static int end(lua_State *L) { return lt_check(L, tess_end(builder(L))), 0; }

static int store(lua_State *L) {         /* (buffer, indices, value) */
  tess_expr idx[MAX_DIM];
  tess_builder *b = push_builder(L);
  tess_buffer buf = to_buffer(L, 1);
  uint32_t n = to_exprs(L, b, 2, MAX_DIM, idx);
  lt_check(L, tess_store(b, buf, n, idx, to_expr(L, b, 3)));
  return 0;
}
static int evaluate(lua_State *L) {
  tess_builder *b = push_builder(L);
  return lt_check(L, tess_evaluate(b, to_expr(L, b, 1))), 0;
}

/* Keeps the builder alive across an imperative description: returns it. */
static int hold(lua_State *L) { return push_builder(L), 1; }

/* ---- programs ------------------------------------------------------------------------ */

static uint32_t to_buffers(lua_State *L, int t, uint32_t max,
                           tess_buffer *out) {
  lt_table(L, t, "a list of parameters");
  lua_Integer n = luaL_len(L, t);
  if (n > (lua_Integer)max)
    lt_error(L, TESS_LIMIT, "at most %u parameters", (unsigned)max);
  for (lua_Integer k = 1; k <= n; k++) {
    lua_geti(L, t, k);
    lt_buffer *x = luaL_testudata(L, -1, LT_BUFFER);
    if (!x)
      lt_error(L, TESS_TYPE, "parameter %d: expected a placeholder or a "
               "computed buffer, got %s", (int)k, luaL_typename(L, -1));
    out[k - 1] = x->buf;
    lua_pop(L, 1);
  }
  return (uint32_t)n;
}

static int program(lua_State *L) {       /* (name, inputs, outputs) */
  tess_buffer in[MAX_ARGS], out[MAX_ARGS];
  const char *name = lt_string(L, 1, "the name");
  tess_builder *b = push_builder(L);
  uint32_t nin = to_buffers(L, 2, MAX_ARGS, in);
  uint32_t nout = to_buffers(L, 3, MAX_ARGS, out);
  void **box = lt_box(L, LT_PROGRAM, 0);
  tess_program *p;
  lt_check(L, tess_program_new(b, name, nin, in, nout, out, &p));
  *box = p;
  return 1;
}

static const luaL_Reg core[] = {
  {"placeholder", placeholder}, {"constant", constant},
  {"buffer", new_buffer}, {"reduce_axis", reduce_axis},
  {"size_var", size_var}, {"const", constant_expr}, {"cast", cast},
  {"select", select}, {"binary", binary_by_name}, {"call", call},
  {"call_extern", call_extern}, {"reduce", reduce},
  {"reduce_with", reduce_with}, {"compute_begin", compute_begin},
  {"compute_end", compute_end}, {"compute_cancel", compute_cancel},
  {"loop_begin", loop_begin}, {"block_begin", block_begin},
  {"init_begin", init_begin}, {"if_begin", if_begin},
  {"else_begin", else_begin}, {"let_begin", let_begin}, {"close", end},
  {"store", store}, {"evaluate", evaluate}, {"hold", hold},
  {"program", program}, {NULL, NULL}};

void lt_open_describe(lua_State *L) {
  static const luaL_Reg expr_meta[] = {
    {"__add", op_add}, {"__sub", op_sub}, {"__mul", op_mul},
    {"__div", op_div}, {"__idiv", op_idiv}, {"__mod", op_mod},
    {"__pow", op_pow}, {"__unm", op_unm}, {"__lt", no_compare},
    {"__le", no_compare}, {"__tostring", expr_tostring}, {NULL, NULL}};
  static const luaL_Reg expr_methods[] = {{"dtype", expr_dtype},
                                          {NULL, NULL}};
  static const luaL_Reg buffer_meta[] = {
    {"__call", buffer_call}, {"__index", buffer_index},
    {"__tostring", buffer_tostring}, {NULL, NULL}};
  static const luaL_Reg comparisons[] = {
    {"lt", op_lt}, {"le", op_le}, {"gt", op_gt}, {"ge", op_ge},
    {"eq", op_eq}, {"ne", op_ne}, {NULL, NULL}};
  lt_class(L, LT_BUILDER, NULL, NULL, builder_gc);
  lt_class(L, LT_EXPR, expr_meta, expr_methods, NULL);
  lt_class(L, LT_BUFFER, buffer_meta, NULL, NULL);
  luaL_setfuncs(L, comparisons, 0);
  luaL_newlib(L, core);
  lua_setfield(L, -2, "_core");
}
