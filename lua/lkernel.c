/* SPDX-License-Identifier: Apache-2.0
 * Binding of targets, kernels and the interpreter. */
#include "lua/lt.h"
#include <string.h>

#define MAX_TENSORS 128 /* as many as a program has */

LT_GC(target_gc, tess_target, tess_target_free)
LT_GC(kernel_gc, tess_kernel, tess_kernel_free)

/* ---- targets ------------------------------------------------------------ */

/* "dae ..": its machine is a table of machines.lua, or of a script. */
static int is_of_machine(const char *text) {
  size_t space = strspn(text, " \t\n");
  return !strncmp(text + space, "dae", 3) &&
         (!text[space + 3] || strchr(" \t\n", text[space + 3]));
}

static const char *expand_machine(lua_State *L, const char *text) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, "tessera.machines");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "expand");
  lua_pushstring(L, text);
  lua_call(L, 1, 2);
  if (lua_isnil(L, -2)) lt_error(L, TESS_NOT_FOUND, "%s", lua_tostring(L, -1));
  return lua_tostring(L, -2);
}

/* ts.target([text or target]) */
static int new_target(lua_State *L) {
  lt_no_options(L, 2, "ts.target");
  if (lua_isuserdata(L, 1)) {
    lt_get(L, 1, LT_TARGET);
    return lua_settop(L, 1), 1;
  }
  const char *text = lt_opt_string(L, 1, "a target", "llvm");
  if (is_of_machine(text)) text = expand_machine(L, text);
  void **b = lt_box(L, LT_TARGET, 0);
  tess_target *t;
  lt_check(L, tess_target_new(lt_context(L), text, &t));
  *b = t;
  return 1;
}

tess_target *lt_to_target(lua_State *L, int i) {
  if (lua_isnoneornil(L, i)) return lua_pushnil(L), NULL;
  if (lua_type(L, i) == LUA_TSTRING) {
    lua_pushcfunction(L, new_target);
    lua_pushvalue(L, i);
    lua_call(L, 1, 1);
    return lt_get(L, -1, LT_TARGET);
  }
  lua_pushvalue(L, i);
  return lt_get(L, -1, LT_TARGET);
}

static int target_tostring(lua_State *L) {
  lua_pushstring(L, tess_target_text(lt_get(L, 1, LT_TARGET)));
  return 1;
}

/* target:get("num-cores"), nil where it is a field of other kinds of targets */
static int target_get(lua_State *L) {
  tess_target *t = lt_get(L, 1, LT_TARGET);
  const char *field = lt_string(L, 2, "the name of a field");
  int64_t v = tess_target_int(t, field);
  if (v < 0) {
    lt_check(L, tess_target_check_field(t, field));
    return 0;
  }
  lua_pushinteger(L, v);
  return 1;
}

/* target:has("avx512vnni") */
static int target_has(lua_State *L) {
  tess_target *t = lt_get(L, 1, LT_TARGET);
  const char *feature = lt_string(L, 2, "the name of a feature");
  int has = tess_target_has(t, feature);
  if (!has) lt_check(L, tess_target_check_feature(t, feature));
  lua_pushboolean(L, has);
  return 1;
}

/* ---- kernels ------------------------------------------------------------ */

/* ts.build(schedule or program [, target]) */
static int lkernel_build(lua_State *L) {
  static const char *const none[] = {NULL};
  lt_options(L, 3, "ts.build", none);
  lua_settop(L, 2);
  tess_program *p = lt_to_program(L, 1);
  tess_target *t = lt_to_target(L, 2);
  void **b = lt_box(L, LT_KERNEL, 0);
  tess_kernel *k;
  lt_check(L, tess_build(p, t, &k));
  *b = k;
  return 1;
}

static int kernel_call(lua_State *L) {
  tess_tensor *args[MAX_TENSORS];
  tess_kernel *k = lt_get(L, 1, LT_KERNEL);
  int n = lua_gettop(L) - 1;
  if (n > MAX_TENSORS) return lt_error(L, TESS_LIMIT, "too many arguments");
  for (int i = 0; i < n; i++) args[i] = lt_get(L, i + 2, LT_TENSOR);
  lt_check(L, tess_kernel_run(k, (uint32_t)n, args));
  return 0;
}

/* kernel:time({ a, b, c } [, { min_time = }]) */
static int kernel_time(lua_State *L) {
  static const char *const known[] = {"min_time", NULL};
  tess_tensor *args[MAX_TENSORS];
  tess_timing t = TESS_INIT(tess_timing);
  tess_kernel *k = lt_get(L, 1, LT_KERNEL);
  uint32_t n = lt_to_tensors(L, 2, MAX_TENSORS, args);
  lt_options(L, 3, "kernel:time", known);
  double min_time = lt_field_number(L, 3, "min_time", 0);
  lt_check(L, tess_kernel_time(k, n, args, min_time, &t));
  lua_createtable(L, 0, 6);
  lt_set_number(L, "median", t.median);
  lt_set_number(L, "min", t.min);
  lt_set_number(L, "mean", t.mean);
  lt_set_number(L, "stddev", t.stddev);
  lt_set_integer(L, "repeats", t.repeats);
  lt_set_integer(L, "runs", (lua_Integer)t.runs);
  return 1;
}

static int kernel_source(lua_State *L) {
  char *text = NULL;
  lt_check(L, tess_kernel_source(
                  lt_get(L, 1, LT_KERNEL),
                  lt_opt_string(L, 2, "the kind of source", "ir"), &text));
  lt_push_text(L, text);
  return 1;
}

/* kernel:save(path [, header]) */
static int kernel_save(lua_State *L) {
  const char *header =
      lua_isnoneornil(L, 3) ? NULL : lt_string(L, 3, "the path of a header");
  lt_check(L, tess_kernel_save(lt_get(L, 1, LT_KERNEL),
                               lt_string(L, 2, "a path"), header));
  return 0;
}

/* ts.load_kernel(path) */
static int load_kernel(lua_State *L) {
  const char *path = lt_string(L, 1, "the path");
  void **b = lt_box(L, LT_KERNEL, 0);
  tess_kernel *k;
  lt_check(L, tess_kernel_load(lt_context(L), path, &k));
  *b = k;
  return 1;
}

static int kernel_tostring(lua_State *L) {
  lua_pushfstring(L, "kernel %s", tess_kernel_name(lt_get(L, 1, LT_KERNEL)));
  return 1;
}

/* ---- the interpreter ---------------------------------------------------- */

/* ts.interpret(schedule or program, { a, b, c }) */
static int lkernel_interpret(lua_State *L) {
  tess_tensor *args[MAX_TENSORS];
  uint32_t n = lt_to_tensors(L, 2, MAX_TENSORS, args);
  tess_program *p = lt_to_program(L, 1);
  lt_check(L, tess_interpret(p, n, args));
  return 0;
}

/* ts.equivalent(a, b [, { seed = }]): true; or false and where they differ */
static int equivalent(lua_State *L) {
  static const char *const known[] = {"seed", NULL};
  lua_settop(L, 3); /* what is made on the way is no operand */
  lt_options(L, 3, "ts.equivalent", known);
  uint64_t seed = (uint64_t)lt_field_int(L, 3, "seed", 1);
  tess_program *p = lt_to_program(L, 1), *q = lt_to_program(L, 2);
  tess_status s = tess_equivalent(p, q, seed);
  if (s != TESS_MISMATCH && s != TESS_RACE && s != TESS_BOUNDS) lt_check(L, s);
  lua_pushboolean(L, s == TESS_OK);
  if (s == TESS_OK) return 1;
  lua_pushstring(L, tess_error(lt_context(L))->message);
  return 2;
}

/* ts.tensor_intrin{ name =, desc =, impl = [, override = true] }: the name;
 * impl is a program, or the text of a call */
static int tensor_intrin(lua_State *L) {
  static const char *const known[] = {"name", "desc", "impl", "override", NULL};
  lt_table(L, 1, "a tensor intrinsic");
  lt_options(L, 1, "ts.tensor_intrin", known);
  lua_settop(L, 1);
  if (lua_getfield(L, 1, "name") != LUA_TSTRING)
    return lt_error(L, TESS_INVALID, "a tensor intrinsic needs a name");
  lua_getfield(L, 1, "desc");
  lua_getfield(L, 1, "impl");
  tess_program *desc = lt_to_program(L, 3);
  const char *name = lt_string(L, 2, "the name of a tensor intrinsic");
  int override = lt_field_bool(L, 1, "override", 0);
  lt_check(L, lua_type(L, 4) == LUA_TSTRING
                  ? tess_tensor_intrin_call(lt_context(L), name, desc,
                                            lt_string(L, 4, "a call"), override)
                  : tess_tensor_intrin(lt_context(L), name, desc,
                                       lt_to_program(L, 4), override));
  lua_settop(L, 2);
  return 1;
}

void lt_open_kernel(lua_State *L) {
  static const luaL_Reg target_meta[] = {{"__tostring", target_tostring},
                                         {NULL, NULL}};
  static const luaL_Reg target_methods[] = {
      {"get", target_get}, {"has", target_has}, {NULL, NULL}};
  static const luaL_Reg kernel_meta[] = {
      {"__call", kernel_call}, {"__tostring", kernel_tostring}, {NULL, NULL}};
  static const luaL_Reg kernel_methods[] = {{"time", kernel_time},
                                            {"source", kernel_source},
                                            {"save", kernel_save},
                                            {NULL, NULL}};
  static const luaL_Reg functions[] = {{"target", new_target},
                                       {"build", lkernel_build},
                                       {"interpret", lkernel_interpret},
                                       {"equivalent", equivalent},
                                       {"tensor_intrin", tensor_intrin},
                                       {"load_kernel", load_kernel},
                                       {NULL, NULL}};
  lt_class(L, LT_TARGET, target_meta, target_methods, target_gc);
  lt_class(L, LT_KERNEL, kernel_meta, kernel_methods, kernel_gc);
  luaL_setfuncs(L, functions, 0);
}
