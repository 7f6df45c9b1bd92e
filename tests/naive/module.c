/* SPDX-License-Identifier: Apache-2.0
 * The Lua module that runs plain loops: naive.run(operator, options, tensors)
 * gives what each tensor should be, naive.openblas and naive.onednn what those
 * libraries make them, naive.differ(want, tensor, tolerance) where one is
 * something else. */
#include "naive/naive.h"
#include <lauxlib.h>
#include <lua.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TESS_API int luaopen_naive(lua_State *L);

/* ---- options ------------------------------------------------------------ */

enum { OPTIONS = 2 }; /* where run's table of options is on the stack */

static int field(const naive *x, const char *name) {
  return lua_getfield(x->lua, OPTIONS, name);
}

double naive_real(const naive *x, const char *name, double otherwise) {
  double v =
      field(x, name) == LUA_TNUMBER ? lua_tonumber(x->lua, -1) : otherwise;
  lua_pop(x->lua, 1);
  return v;
}

int64_t naive_int(const naive *x, const char *name, int64_t otherwise) {
  return (int64_t)naive_real(x, name, (double)otherwise);
}

bool naive_flag(const naive *x, const char *name) {
  field(x, name);
  bool v = lua_toboolean(x->lua, -1);
  lua_pop(x->lua, 1);
  return v;
}

bool naive_denied(const naive *x, const char *name) {
  bool no = field(x, name) == LUA_TBOOLEAN && !lua_toboolean(x->lua, -1);
  lua_pop(x->lua, 1);
  return no;
}

bool naive_is(const naive *x, const char *name, const char *word) {
  bool is =
      field(x, name) == LUA_TSTRING && !strcmp(lua_tostring(x->lua, -1), word);
  lua_pop(x->lua, 1);
  return is;
}

int64_t naive_entry(const naive *x, const char *name, uint32_t i,
                    int64_t otherwise) {
  int64_t v = otherwise;
  if (field(x, name) == LUA_TTABLE) {
    if (lua_geti(x->lua, -1, i + 1) == LUA_TNUMBER)
      v = lua_tointeger(x->lua, -1);
    lua_pop(x->lua, 1);
  } else if (lua_type(x->lua, -1) == LUA_TNUMBER) {
    v = lua_tointeger(x->lua, -1);
  }
  lua_pop(x->lua, 1);
  return v;
}

uint32_t naive_length(const naive *x, const char *name) {
  uint32_t n = 0;
  if (field(x, name) == LUA_TTABLE) n = (uint32_t)lua_rawlen(x->lua, -1);
  lua_pop(x->lua, 1);
  return n;
}

uint32_t naive_axis(const naive *x, const char *name, uint32_t rank,
                    int64_t otherwise) {
  int64_t a = naive_int(x, name, otherwise);
  return (uint32_t)(a < 0 ? a + rank : a);
}

/* ---- elements ----------------------------------------------------------- */

double *naive_at(const naive_tensor *t, const int64_t *at) {
  int64_t i = 0;
  for (uint32_t d = 0; d < t->ndim; d++) i = i * t->shape[d] + at[d];
  return t->v + i;
}

void naive_indices(const naive_tensor *t, int64_t i, int64_t *at) {
  for (uint32_t d = t->ndim; d-- > 0; i /= t->shape[d]) at[d] = i % t->shape[d];
}

double naive_activated(const naive *x, double v) {
  if (naive_is(x, "act", "relu") || naive_flag(x, "relu")) return fmax(v, 0);
  if (naive_is(x, "act", "gelu")) return v * (1 + erf(v / sqrt(2))) / 2;
  if (naive_is(x, "act", "gelu_tanh")) {
    double u = sqrt(2 / acos(-1)) * (v + 0.044715 * v * v * v);
    return v * (1 + tanh(u)) / 2;
  }
  if (naive_is(x, "act", "silu")) return v / (1 + exp(-v));
  if (naive_is(x, "act", "sigmoid")) return 1 / (1 + exp(-v));
  return naive_is(x, "act", "tanh") ? tanh(v) : v;
}

double naive_epilogue(const naive *x, double sum, int64_t c, uint32_t first) {
  if (naive_flag(x, "bias")) sum += x->t[first++].v[c];
  if (naive_flag(x, "bn")) {
    sum *= x->t[first++].v[c];
    sum += x->t[first].v[c];
  }
  return naive_activated(x, sum);
}

/* ---- the module --------------------------------------------------------- */

static tess_tensor *tensor_at(lua_State *L, int i) {
  return *(tess_tensor **)luaL_checkudata(L, i, "tessera.tensor");
}

/* Elements as double, in memory that Lua frees; pushed. */
static naive_tensor push_tensor(lua_State *L, tess_tensor *from) {
  naive_tensor t = {
      .dtype = tess_tensor_dtype(from), .ndim = tess_tensor_ndim(from), .n = 1};
  if (t.ndim) /* of none the shape may be no array */
    memcpy(t.shape, tess_tensor_shape(from), t.ndim * sizeof *t.shape);
  for (uint32_t d = 0; d < t.ndim; d++) t.n *= t.shape[d];
  t.v = lua_newuserdatauv(L, (size_t)t.n * sizeof *t.v + 1, 0);
  for (int64_t i = 0; i < t.n; i++) {
    int64_t at[NAIVE_DIM];
    naive_indices(&t, i, at);
    if (tess_tensor_get(from, at, &t.v[i])) luaL_error(L, "no element");
  }
  return t;
}

static const naive_op *find(const char *name) {
  const naive_op *families[] = {naive_dense,  naive_conv,       naive_norm,
                                naive_pool,   naive_reduce,     naive_move,
                                naive_linear, naive_elementwise};
  for (size_t i = 0; i < sizeof families / sizeof *families; i++)
    for (const naive_op *o = families[i]; o->name; o++)
      if (!strcmp(o->name, name)) return o;
  return NULL;
}

/* The tensors at index 3 in x, and a list of them pushed. */
static void push_call(lua_State *L, naive *x) {
  luaL_checktype(L, OPTIONS, LUA_TTABLE);
  x->n = (uint32_t)luaL_len(L, 3);
  lua_createtable(L, (int)x->n, 0);
  for (uint32_t i = 0; i < x->n; i++) {
    lua_geti(L, 3, i + 1);
    x->t[i] = push_tensor(L, tensor_at(L, -1));
    lua_seti(L, 4, i + 1);
    lua_pop(L, 1);
  }
}

/* run(operator, options, tensors) -> a list of what they should be */
static int module_run(lua_State *L) {
  naive x = {.lua = L};
  const naive_op *o = find(luaL_checkstring(L, 1));
  if (!o) return luaL_error(L, "there are no loops for %s", lua_tostring(L, 1));
  push_call(L, &x);
  o->run(&x);
  return 1;
}

/* The same by a library: nothing where that has no such operator. */
static int by_library(lua_State *L, const char *library,
                      bool (*run)(const char *, naive *, bool *)) {
  naive x = {.lua = L};
  bool ok;
  const char *name = luaL_checkstring(L, 1);
  push_call(L, &x);
  if (!run(name, &x, &ok)) return 0;
  if (!ok) return luaL_error(L, "%s cannot do %s", library, name);
  return 1;
}

/* openblas(operator, options, tensors), and onednn: nil instead of a function
 * where it was not there when this was built */
static int openblas(lua_State *L) {
  return by_library(L, "OpenBLAS", naive_openblas);
}

#ifdef NAIVE_ONEDNN
static int onednn(lua_State *L) {
  return by_library(L, "oneDNN", naive_onednn);
}
#endif

static bool is_near(double want, double got, double tolerance) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
  if (want == got) return true;
  return fabs(got - want) <= tolerance * fmax(1, fabs(want));
}

/* differ(want, tensor, tolerance) -> nothing, or where, the wanted and the
 * found element */
static int module_differ(lua_State *L) {
  const double *want = lua_touserdata(L, 1);
  naive_tensor t = push_tensor(L, tensor_at(L, 2));
  double tolerance = luaL_checknumber(L, 3);
  for (int64_t i = 0; i < t.n; i++) {
    if (is_near(want[i], t.v[i], tolerance)) continue;
    lua_pushinteger(L, i);
    lua_pushnumber(L, want[i]);
    lua_pushnumber(L, t.v[i]);
    return 3;
  }
  return 0;
}

int luaopen_naive(lua_State *L) {
  static const luaL_Reg functions[] = {{"run", module_run},
                                       {"openblas", openblas},
#ifdef NAIVE_ONEDNN
                                       {"onednn", onednn},
#endif
                                       {"differ", module_differ},
                                       {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
