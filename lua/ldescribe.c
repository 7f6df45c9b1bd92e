/* SPDX-License-Identifier: Apache-2.0
 * Binding of the builder: the raw functions in ts._core on which
 * stdlib/lang/ implements the language of descriptions. */
#include "lua/ldescribe.h"

/* ---- parameters and expressions ----------------------------------------- */

static tess_role to_role(lua_State *L, int i) {
  static const char *const names[] = {"input", "output", "constant",
                                      "layout_free", NULL};
  return (tess_role)lt_choice(L, i, "the role", "input", names);
}

/* placeholder(name, shape, dtype, role) */
static int placeholder(lua_State *L) {
  tess_expr shape[LT_MAX_DIM];
  tess_buffer buf;
  const char *name = lt_string(L, 1, "the name");
  tess_dtype t = lt_to_dtype(L, 3, "float32");
  tess_role role = to_role(L, 4);
  lt_trim(L);
  tess_builder *b = lt_push_builder(L);
  uint32_t n = lt_to_exprs(L, b, 2, LT_MAX_DIM, shape);
  lt_check(L, tess_placeholder(b, name, t, n, shape, role, &buf));
  lt_push_buffer(L, buf);
  return 1;
}

/* holds(buffer, least, below, sorted, unique, offsets) */
static int buffer_holds(lua_State *L) {
  tess_contents c = TESS_INIT(tess_contents);
  tess_buffer buf = lt_to_buffer(L, 1);
  c.has_range = !lua_isnil(L, 2);
  c.least = lt_opt_integer(L, 2, "the start of the range", 0);
  c.below = lt_opt_integer(L, 3, "the end of the range", 0);
  c.sorted = lua_toboolean(L, 4);
  c.unique = lua_toboolean(L, 5);
  c.offsets = lua_toboolean(L, 6);
  lt_check(L, tess_buffer_holds(lt_push_builder(L), buf, &c));
  lua_settop(L, 1);
  return 1;
}

/* constant(name, tensor) */
static int describe_constant(lua_State *L) {
  tess_buffer buf;
  const char *name = lt_string(L, 1, "the name");
  tess_tensor *t = lt_get(L, 2, LT_TENSOR);
  lt_trim(L);
  tess_builder *b = lt_push_builder(L);
  lt_check(L, tess_constant(b, name, tess_tensor_dtype(t), tess_tensor_ndim(t),
                            tess_tensor_shape(t), tess_tensor_data(t), &buf));
  lt_push_buffer(L, buf);
  return 1;
}

/* buffer(name, shape, dtype, scope, role, is_parameter) */
static int new_buffer(lua_State *L) {
  tess_expr shape[LT_MAX_DIM];
  tess_buffer buf;
  const char *name = lt_string(L, 1, "the name");
  tess_dtype t = lt_to_dtype(L, 3, "float32");
  const char *scope = lt_opt_string(L, 4, "the scope", "global");
  tess_role role = to_role(L, 5);
  tess_builder *b = lt_push_builder(L);
  uint32_t n = lt_to_exprs(L, b, 2, LT_MAX_DIM, shape);
  lt_check(L, tess_buffer_new(b, name, t, n, shape, scope, role,
                              lua_toboolean(L, 6), &buf));
  lt_push_buffer(L, buf);
  return 1;
}

static int reduce_axis(lua_State *L) { /* (name, lo, extent) */
  tess_var v;
  tess_expr e;
  const char *name = lt_string(L, 1, "the name");
  tess_builder *b = lt_push_builder(L);
  tess_expr range[2];
  lua_createtable(L, 2, 0);
  lua_pushvalue(L, 2);
  lua_seti(L, -2, 1);
  lua_pushvalue(L, 3);
  lua_seti(L, -2, 2);
  lt_to_exprs(L, b, lua_gettop(L), 2, range);
  lt_check(L, tess_reduce_axis(b, name, range[0], range[1], &v));
  lt_check(L, tess_var_ref(b, v, &e));
  lt_push_expr(L, e, v);
  return 1;
}

static int size_var(lua_State *L) { /* (name) */
  tess_var v;
  tess_expr e;
  tess_builder *b = lt_push_builder(L);
  lt_check(L, tess_size_var(b, lt_string(L, 1, "the name"), &v));
  lt_check(L, tess_var_ref(b, v, &e));
  lt_push_expr(L, e, v);
  return 1;
}

static int constant_expr(lua_State *L) { /* (value, dtype) */
  tess_expr e;
  tess_dtype t = lt_to_dtype(L, 2, "float32");
  tess_builder *b = lt_push_builder(L);
  if (lua_isboolean(L, 1) && t.code != TESS_DTYPE_BOOL)
    return lt_error(L, TESS_TYPE,
                    "a Lua boolean is a constant of the type bool only: write "
                    "ts.const(true, \"bool\")");
  if (t.code == TESS_DTYPE_FLOAT || t.code == TESS_DTYPE_BFLOAT)
    lt_check(L, tess_real(b, t, lt_number(L, 1, "a constant"), &e));
  else if (lua_isboolean(L, 1))
    lt_check(L, tess_int(b, t, lua_toboolean(L, 1), &e));
  else
    lt_check(L, tess_int(b, t, lt_integer(L, 1, "a constant"), &e));
  lt_push_expr(L, e, 0);
  return 1;
}

static int cast(lua_State *L) { /* (x, dtype) */
  tess_expr e;
  tess_builder *b = lt_push_builder(L);
  tess_dtype t = lt_to_dtype(L, 2, NULL);
  lt_check(L, tess_cast(b, t, lt_to_expr(L, b, 1), &e));
  lt_push_expr(L, e, 0);
  return 1;
}

static int bit_cast(lua_State *L) { /* (x, dtype) */
  tess_expr e;
  tess_builder *b = lt_push_builder(L);
  tess_dtype t = lt_to_dtype(L, 2, NULL);
  lt_check(L, tess_bit_cast(b, t, lt_to_expr(L, b, 1), &e));
  lt_push_expr(L, e, 0);
  return 1;
}

static int select(lua_State *L) { /* (cond, yes, no) */
  tess_expr e;
  tess_builder *b = lt_push_builder(L);
  tess_expr c = lt_to_expr(L, b, 1), x = lt_to_expr(L, b, 2),
            y = lt_to_expr(L, b, 3);
  lt_check(L, tess_select(b, c, x, y, &e));
  lt_push_expr(L, e, 0);
  return 1;
}

static int binary_by_name(lua_State *L) { /* (x, y, op) */
  return lt_binary(L, lt_string(L, 3, "the operator"));
}

static int describe_call(lua_State *L) { /* (fn, ...) */
  tess_expr e, x[LT_MAX_ARGS];
  int n = lua_gettop(L) - 1;
  const char *fn = lt_string(L, 1, "the function");
  if (n > LT_MAX_ARGS) return lt_error(L, TESS_LIMIT, "too many arguments");
  tess_builder *b = lt_push_builder(L);
  for (int i = 0; i < n; i++) x[i] = lt_to_expr(L, b, i + 2);
  lt_check(L, tess_call(b, fn, (uint32_t)n, x, &e));
  lt_push_expr(L, e, 0);
  return 1;
}

static int call_extern(lua_State *L) { /* (name, dtype, ...) */
  tess_expr e, x[LT_MAX_ARGS];
  int n = lua_gettop(L) - 2;
  const char *name = lt_string(L, 1, "the name");
  tess_dtype t = lt_to_dtype(L, 2, NULL);
  if (n > LT_MAX_ARGS) return lt_error(L, TESS_LIMIT, "too many arguments");
  tess_builder *b = lt_push_builder(L);
  for (int i = 0; i < n; i++) x[i] = lt_to_expr(L, b, i + 3);
  lt_check(L, tess_call_extern(b, name, t, (uint32_t)n, x, &e));
  lt_push_expr(L, e, 0);
  return 1;
}

/* The variables in the list at index t. */
static uint32_t to_axes(lua_State *L, int t, tess_var *out) {
  lt_table(L, t, "a list of axes");
  lua_Integer n = lt_list_len(L, t);
  if (n > LT_MAX_DIM) lt_error(L, TESS_LIMIT, "too many reduction axes");
  for (lua_Integer k = 1; k <= n; k++) {
    lua_geti(L, t, k);
    lt_expr *x = luaL_testudata(L, -1, LT_EXPR);
    if (!x || !x->var)
      lt_error(L, TESS_TYPE,
               "axis %d is not a reduction axis (made by "
               "ts.reduce_axis)",
               (int)k);
    out[k - 1] = x->var;
    lua_pop(L, 1);
  }
  return (uint32_t)n;
}

static int push_exprs(lua_State *L, uint32_t n, const tess_expr *e) {
  for (uint32_t i = 0; i < n; i++) lt_push_expr(L, e[i], 0);
  return (int)n;
}

static int describe_reduce(lua_State *L) { /* (reducer, sources, axes) */
  tess_expr src[8], out[8];
  tess_var axes[LT_MAX_DIM];
  const char *name = lt_string(L, 1, "the name");
  tess_builder *b = lt_push_builder(L);
  uint32_t n = lt_to_exprs(L, b, 2, 8, src);
  uint32_t naxes = to_axes(L, 3, axes);
  lt_check(L, tess_reduce(b, name, n, src, naxes, axes, out));
  return push_exprs(L, n, out);
}

/* Calls the Lua combine function, at stack index 1 of the running call. */
static int combine_from_lua(void *ud, tess_builder *b, const tess_expr *lhs,
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
    if (x) {
      result[i] = x->e;
      continue;
    }
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
  tess_var axes[LT_MAX_DIM];
  double identity[8];
  lt_function(L, 1, "the combine function of a reducer");
  lt_table(L, 2, "the identities of a reducer");
  tess_builder *b = lt_push_builder(L);
  uint32_t n = lt_to_exprs(L, b, 3, 8, src);
  uint32_t naxes = to_axes(L, 4, axes);
  lua_Integer nidentity = lt_list_len(L, 2);
  if (nidentity != n)
    return lt_error(L, TESS_INVALID,
                    "the reducer has %d identities and %d "
                    "sources",
                    (int)nidentity, (int)n);
  for (uint32_t i = 0; i < n; i++) {
    lua_geti(L, 2, i + 1);
    identity[i] = lt_number(L, -1, "an identity of a reducer");
    lua_pop(L, 1);
  }
  void *ud[2] = {L, &n};
  tess_reducer_def def = {
      .struct_size = sizeof def,
      .n = n,
      .name = lt_opt_string(L, 5, "the name of a reducer", "reducer"),
      .combine = combine_from_lua,
      .identity = identity,
      .ud = ud};
  int top = lua_gettop(L);
  lt_hold_handles(L, 1);
  tess_status s = tess_reduce_with(b, &def, n, src, naxes, axes, out);
  lt_hold_handles(L, 0);
  if (s == TESS_CALLBACK && lua_gettop(L) > top) return lua_error(L);
  lt_check(L, s);
  return push_exprs(L, n, out);
}

static int compute_begin(lua_State *L) { /* (name, shape, axis names) */
  tess_expr shape[LT_MAX_DIM];
  tess_var vars[LT_MAX_DIM];
  const char *names[LT_MAX_DIM];
  const char *name = lt_string(L, 1, "the name");
  tess_builder *b = lt_push_builder(L);
  uint32_t n = lt_to_exprs(L, b, 2, LT_MAX_DIM, shape);
  lt_table(L, 3, "the names of the axes");
  for (uint32_t i = 0; i < n; i++) {
    lua_geti(L, 3, i + 1); /* the table keeps the string alive */
    names[i] = lt_string(L, -1, "the name of an axis");
    lua_pop(L, 1);
  }
  lt_check(L, tess_compute_begin(b, name, n, shape, names, vars));
  for (uint32_t i = 0; i < n; i++) {
    tess_expr e;
    lt_check(L, tess_var_ref(b, vars[i], &e));
    lt_push_expr(L, e, 0);
  }
  return (int)n;
}

static int compute_end(lua_State *L) { /* (body...) */
  tess_expr body[8];
  tess_buffer out[8];
  int n = lua_gettop(L);
  tess_builder *b = lt_push_builder(L);
  if (n < 1 || n > 8)
    return lt_error(L, TESS_INVALID,
                    "the body of a compute must be 1 to 8 "
                    "expressions, not %d",
                    n);
  for (int i = 0; i < n; i++) body[i] = lt_to_expr(L, b, i + 1);
  lt_check(L, tess_compute_end(b, (uint32_t)n, body, out));
  for (int i = 0; i < n; i++) lt_push_buffer(L, out[i]);
  return n;
}

static int compute(lua_State *L) { /* (function, name, shape, axis names) */
  lt_trim(L);
  return lt_describe(L, 1, compute_begin, compute_end);
}

/* Raises an error that stdlib/lang/ detected. */
static int invalid(lua_State *L) { /* (message) */
  return lt_error(L, TESS_INVALID, "%s", lua_tostring(L, 1));
}

static int wrong_type(lua_State *L) { /* (message) */
  return lt_error(L, TESS_TYPE, "%s", lua_tostring(L, 1));
}

/* The fields of the module's table. */
static int check_options(lua_State *L) { /* (function, options, field...) */
  const char *known[8] = {NULL};
  for (int i = 0; i < 7 && i + 3 <= lua_gettop(L); i++)
    known[i] = lua_tostring(L, i + 3);
  lt_options(L, 2, lua_tostring(L, 1), known);
  return 0;
}

/* Keeps the builder alive across an imperative description: returns it. */
static int hold(lua_State *L) {
  lt_trim(L);
  return lt_push_builder(L), 1;
}

/* ---- programs ----------------------------------------------------------- */

/* As many as a program that is read may have. */
enum { MAX_PARAMS = 4096 };

/* The buffers of the list at index t, in memory that is left on the stack. */
static tess_buffer *to_buffers(lua_State *L, int t, uint32_t *count) {
  lt_table(L, t, "a list of parameters");
  lua_Integer n = lt_list_len(L, t);
  if (n > MAX_PARAMS)
    lt_error(L, TESS_LIMIT, "at most %d parameters, not %d", MAX_PARAMS,
             (int)n);
  tess_buffer *out = lt_room(L, (size_t)n, sizeof *out);
  for (lua_Integer k = 1; k <= n; k++) {
    lua_geti(L, t, k);
    lt_buffer *x = luaL_testudata(L, -1, LT_BUFFER);
    if (!x)
      lt_error(L, TESS_TYPE,
               "parameter %d: expected a placeholder or a "
               "computed buffer, got %s",
               (int)k, luaL_typename(L, -1));
    out[k - 1] = x->buf;
    lua_pop(L, 1);
  }
  *count = (uint32_t)n;
  return out;
}

/* What describing a program took outside of Lua's heap, in KB, so that the
 * collector keeps up with programs that are not in use any more. */
static void tell_collector(lua_State *L) {
  enum { KB_OF_A_PROGRAM = 20 };
  if (lua_gc(L, LUA_GCISRUNNING)) lua_gc(L, LUA_GCSTEP, KB_OF_A_PROGRAM);
}

/* (name, inputs, outputs [, section]) */
static int describe_program(lua_State *L) {
  uint32_t nin, nout;
  const char *name = lt_string(L, 1, "the name");
  uint32_t section = (uint32_t)luaL_optinteger(L, 4, 0);
  tess_builder *b = lt_push_builder(L);
  tess_buffer *in = to_buffers(L, 2, &nin), *out = to_buffers(L, 3, &nout);
  void **box = lt_box(L, LT_PROGRAM, 0);
  tess_program *p;
  lt_check(L, tess_section(b, section));
  lt_check(L, tess_program_new(b, name, nin, in, nout, out, &p));
  *box = p;
  tell_collector(L);
  return 1;
}

static const luaL_Reg core[] = {{"placeholder", placeholder},
                                {"holds", buffer_holds},
                                {"constant", describe_constant},
                                {"buffer", new_buffer},
                                {"reduce_axis", reduce_axis},
                                {"size_var", size_var},
                                {"const", constant_expr},
                                {"cast", cast},
                                {"bit_cast", bit_cast},
                                {"select", select},
                                {"binary", binary_by_name},
                                {"call", describe_call},
                                {"call_extern", call_extern},
                                {"reduce", describe_reduce},
                                {"reduce_with", reduce_with},
                                {"compute", compute},
                                {"invalid", invalid},
                                {"wrong_type", wrong_type},
                                {"options", check_options},
                                {"hold", hold},
                                {"program", describe_program},
                                {NULL, NULL}};

void lt_open_describe(lua_State *L) {
  lt_open_expr(L);
  luaL_newlib(L, core);
  luaL_setfuncs(L, lt_statements, 0);
  lua_setfield(L, -2, "_core");
}
