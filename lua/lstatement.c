/* SPDX-License-Identifier: Apache-2.0
 * Binding of the builder's imperative statements; see ldescribe.c. */
#include "lua/ldescribe.h"
#include <string.h>

/* ---- what is open ------------------------------------------------------- */

/* Calls the function at index `at` with all that is above it. */
static int try_call(lua_State *L, int at) {
  return lua_pcall(L, lua_gettop(L) - at, LUA_MULTRET, 0);
}

static int try_c_call(lua_State *L, lua_CFunction f, int at) {
  lua_pushcfunction(L, f);
  lua_insert(L, at);
  return try_call(L, at);
}

/* lt_describe of a builder that is held; gives what lua_pcall does. */
static int try_describe(lua_State *L, tess_builder *b, int i,
                        lua_CFunction open, lua_CFunction close) {
  uint32_t depth = tess_builder_depth(b);
  int bad = try_c_call(L, open, i + 1);
  if (!bad) bad = try_call(L, i);
  if (!bad) bad = try_c_call(L, close, i);
  if (bad) tess_builder_cancel(b, depth);
  return bad;
}

int lt_describe(lua_State *L, int i, lua_CFunction open, lua_CFunction close) {
  luaL_checkstack(L, 8, NULL);
  tess_builder *b = lt_push_builder(L);
  lua_insert(L, i);
  if (try_describe(L, b, i + 1, open, close)) return lua_error(L);
  return lua_gettop(L) - i;
}

/* In the registry: the builder, as Lua has it, whose statements are open. */
static const char opened_key = 0;

static int opened(lua_State *L) {
  return lua_rawgetp(L, LUA_REGISTRYINDEX, &opened_key), 1;
}

static int statement_end(lua_State *L) {
  return lt_check(L, tess_end(lt_builder(L))), 0;
}

/* (builder, function, ...): a statement of that builder. */
static int statement(lua_State *L, lua_CFunction open) {
  enum { BEFORE = 1, BUILDER, HELD, FUNCTION };
  luaL_checkstack(L, 8, NULL);
  tess_builder *b = lt_push_builder(L);
  lua_insert(L, 2);
  opened(L);
  lua_insert(L, BEFORE);
  lua_pushvalue(L, BUILDER);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &opened_key);
  int bad = try_describe(L, b, FUNCTION, open, statement_end);
  lua_pushvalue(L, BEFORE);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &opened_key);
  return bad ? lua_error(L) : 0;
}

/* ---- statements --------------------------------------------------------- */

static int loop_begin(lua_State *L) { /* (name, {lo, extent}) */
  tess_expr r[2], e;
  tess_var v;
  const char *name = lt_string(L, 1, "the name");
  tess_builder *b = lt_push_builder(L);
  if (lt_to_exprs(L, b, 2, 2, r) != 2)
    return lt_error(L, TESS_INVALID, "a loop needs a start and an extent");
  lt_check(L, tess_loop_begin(b, name, r[0], r[1], &v));
  lt_check(L, tess_var_ref(b, v, &e));
  lt_push_expr(L, e, v);
  return 1;
}

/* The kind, at the top of the stack, of an iteration of a block. */
static tess_iter_kind to_kind(lua_State *L, const char *block,
                              const char *name) {
  static const char *const kinds[] = {"spatial", "reduce", "opaque"};
  const char *kind = lt_string(L, -1, "the kind of an iteration");
  for (int k = 0; k < 3; k++)
    if (!strcmp(kind, kinds[k])) return (tess_iter_kind)k;
  lt_error(L, TESS_INVALID,
           "iteration '%s' of block '%s' is of kind '%s'; it must be spatial, "
           "reduce or opaque",
           name, block, kind);
  return TESS_SPATIAL;
}

/* (name, {{name=, kind=, bind=, lo=, extent=}, ...}, predicate) */
static int block_begin(lua_State *L) {
  tess_expr lo[LT_MAX_DIM], extent[LT_MAX_DIM], bind[LT_MAX_DIM], pred = 0;
  tess_iter_kind kinds[LT_MAX_DIM];
  const char *names[LT_MAX_DIM];
  tess_var vars[LT_MAX_DIM];
  const char *name = lt_string(L, 1, "the name");
  lt_table(L, 2, "the list of a block's iterations");
  lua_Integer n = lt_list_len(L, 2);
  if (n > LT_MAX_DIM) return lt_error(L, TESS_LIMIT, "too many iterations");
  tess_builder *b = lt_push_builder(L);
  for (lua_Integer i = 0; i < n; i++) {
    tess_expr e[3];
    lua_geti(L, 2, i + 1);
    int t = lua_gettop(L);
    lt_table(L, t, "an iteration of a block");
    names[i] = lt_field_str(L, t, "name", "v");
    lua_getfield(L, t, "kind");
    kinds[i] = to_kind(L, name, names[i]);
    lua_createtable(L, 3, 0);
    lua_getfield(L, t, "lo");
    if (lua_isnil(L, -1)) {
      lua_pop(L, 1);
      lua_pushinteger(L, 0);
    }
    lua_seti(L, -2, 1);
    lua_getfield(L, t, "extent");
    lua_seti(L, -2, 2);
    lua_getfield(L, t, "bind");
    lua_seti(L, -2, 3);
    if (lt_to_exprs(L, b, lua_gettop(L), 3, e) != 3)
      return lt_error(L, TESS_INVALID,
                      "iteration %d of block %s needs an "
                      "extent and a bind",
                      (int)i + 1, name);
    lo[i] = e[0];
    extent[i] = e[1];
    bind[i] = e[2];
    lua_settop(L, t - 1);
  }
  if (!lua_isnoneornil(L, 3)) pred = lt_to_expr(L, b, 3);
  lt_check(L, tess_block_begin(b, name, (uint32_t)n, names, kinds, lo, extent,
                               bind, pred, vars));
  for (lua_Integer i = 0; i < n; i++) {
    tess_expr e;
    lt_check(L, tess_var_ref(b, vars[i], &e));
    lt_push_expr(L, e, vars[i]);
  }
  return (int)n;
}

static int init_begin(lua_State *L) {
  return lt_check(L, tess_init_begin(lt_builder(L))), 0;
}
static int if_begin(lua_State *L) {
  tess_builder *b = lt_push_builder(L);
  return lt_check(L, tess_if_begin(b, lt_to_expr(L, b, 1))), 0;
}
static int else_begin(lua_State *L) {
  return lt_check(L, tess_else_begin(lt_builder(L))), 0;
}
static int let_begin(lua_State *L) { /* (name, value) */
  tess_var v;
  tess_expr e;
  tess_builder *b = lt_push_builder(L);
  lt_check(L, tess_let_begin(b, lt_string(L, 1, "the name"),
                             lt_to_expr(L, b, 2), &v));
  lt_check(L, tess_var_ref(b, v, &e));
  lt_push_expr(L, e, v);
  return 1;
}
static int add_loop(lua_State *L) { return statement(L, loop_begin); }
static int add_block(lua_State *L) { return statement(L, block_begin); }
static int add_init(lua_State *L) { return statement(L, init_begin); }
static int add_if(lua_State *L) { return statement(L, if_begin); }
static int add_let(lua_State *L) { return statement(L, let_begin); }

/* ---- without a body ----------------------------------------------------- */

static int lstatement_store(lua_State *L) { /* (buffer, indices, value) */
  tess_expr idx[LT_MAX_DIM];
  tess_builder *b = lt_push_builder(L);
  tess_buffer buf = lt_to_buffer(L, 1);
  uint32_t n = lt_to_exprs(L, b, 2, LT_MAX_DIM, idx);
  lt_check(L, tess_store(b, buf, n, idx, lt_to_expr(L, b, 3)));
  return 0;
}
static int evaluate(lua_State *L) {
  tess_builder *b = lt_push_builder(L);
  return lt_check(L, tess_evaluate(b, lt_to_expr(L, b, 1))), 0;
}

/* (number): sets the section of the statements that follow. */
static int section(lua_State *L) {
  uint32_t n = (uint32_t)luaL_checkinteger(L, 1);
  return lt_check(L, tess_section(lt_builder(L), n)), 0;
}

const luaL_Reg lt_statements[] = {{"loop", add_loop},
                                  {"block", add_block},
                                  {"init", add_init},
                                  {"when", add_if},
                                  {"else_begin", else_begin},
                                  {"let", add_let},
                                  {"opened", opened},
                                  {"store", lstatement_store},
                                  {"evaluate", evaluate},
                                  {"section", section},
                                  {NULL, NULL}};
