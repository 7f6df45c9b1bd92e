/* SPDX-License-Identifier: Apache-2.0
 * Binding of tensors: ts.tensor("float32", {M, K}, "random"), a nested table,
 * or the path of a .npy file; and copies on devices. */
#include "lua/lt.h"
#include <stdio.h>
#include <string.h>

#define MAX_DIM 16 /* as many as a tensor can have */

LT_GC(tensor_gc, tess_tensor, tess_tensor_free)

static tess_tensor *tensor(lua_State *L) { return lt_get(L, 1, LT_TENSOR); }

/* Raises: the value at index i is not representable in the tensor's type. */
static void refuse_element(lua_State *L, tess_tensor *t, const int64_t *at,
                           int i) {
  char type[32];
  luaL_Buffer b;
  const char *value = luaL_tolstring(L, i, NULL);
  tess_dtype_text(tess_tensor_dtype(t), type);
  luaL_buffinit(L, &b);
  for (uint32_t d = 0; d < tess_tensor_ndim(t); d++) {
    char index[32];
    snprintf(index, sizeof index, d ? ", %lld" : " [%lld", (long long)at[d]);
    luaL_addstring(&b, index);
  }
  luaL_addstring(&b, tess_tensor_ndim(t) ? "]" : "");
  luaL_pushresult(&b);
  lt_error(L, TESS_TYPE, "element%s is %s, which is not a value of %s",
           lua_tostring(L, -1), value, type);
}

/* An element from the value at index i; integers stay exact. */
static void put_element(lua_State *L, tess_tensor *t, const int64_t *at,
                        int i) {
  tess_dtype type = tess_tensor_dtype(t);
  if (lua_isboolean(L, i)) {
    lt_check(L, tess_tensor_set_int(t, at, lua_toboolean(L, i)));
  } else if (lua_isinteger(L, i)) {
    lua_Integer v = lua_tointeger(L, i);
    if (!tess_dtype_holds_int(type, v)) refuse_element(L, t, at, i);
    lt_check(L, tess_tensor_set_int(t, at, v));
  } else {
    lua_Number v = lt_number(L, i, "an element");
    if (!tess_dtype_holds(type, v)) refuse_element(L, t, at, i);
    lt_check(L, tess_tensor_set(t, at, v));
  }
}

/* Fills element after element from nested tables, row-major. */
static void fill_nested(lua_State *L, tess_tensor *t, int i, uint32_t dim,
                        int64_t *at) {
  uint32_t ndim = tess_tensor_ndim(t);
  const int64_t *shape = tess_tensor_shape(t);
  if (dim == ndim) {
    put_element(L, t, at, i);
    return;
  }
  luaL_checkstack(L, 8, NULL);
  if (!lua_istable(L, i) || lt_list_len(L, i) != shape[dim])
    lt_error(L, TESS_INVALID, "dimension %d: expected a table of %d elements",
             (int)dim, (int)shape[dim]);
  for (int64_t k = 0; k < shape[dim]; k++) {
    at[dim] = k;
    lua_geti(L, i, k + 1);
    fill_nested(L, t, lua_gettop(L), dim + 1, at);
    lua_pop(L, 1);
  }
}

/* The shape of nested tables, from their first elements. */
static uint32_t shape_of(lua_State *L, int i, int64_t *shape) {
  uint32_t n = 0;
  lua_pushvalue(L, i);
  while (lua_istable(L, -1)) {
    if (n == MAX_DIM) lt_error(L, TESS_LIMIT, "tables nest too deep");
    shape[n++] = lt_length(L, -1);
    lua_geti(L, -1, 1);
    lua_remove(L, -2);
  }
  lua_pop(L, 1);
  return n;
}

/* A file that is read as a dtype and shape must have these. */
static void check_loaded(lua_State *L, const char *file, tess_tensor *t) {
  int64_t shape[MAX_DIM];
  char has[32], wanted[32];
  tess_dtype d = lt_to_dtype(L, 1, NULL), e = tess_tensor_dtype(t);
  uint32_t n = lt_to_ints(L, 2, MAX_DIM, shape), ndim = tess_tensor_ndim(t);
  tess_dtype_text(e, has);
  tess_dtype_text(d, wanted);
  if (strcmp(has, wanted))
    lt_error(L, TESS_TYPE, "%s holds %s, not %s", file, has, wanted);
  if (n != ndim)
    lt_error(L, TESS_INVALID, "%s holds %u dimensions, not %u", file,
             (unsigned)ndim, (unsigned)n);
  for (uint32_t i = 0; i < n; i++)
    if (shape[i] != tess_tensor_shape(t)[i])
      lt_error(L, TESS_INVALID, "%s: extent %u is %lld, not %lld", file,
               (unsigned)i, (long long)tess_tensor_shape(t)[i],
               (long long)shape[i]);
}

static int ends_with(const char *s, const char *end) {
  size_t n = strlen(s), m = strlen(end);
  return n >= m && !strcmp(s + n - m, end);
}

/* Whether a value at index 3 is to be the elements' of a tensor of so many
 * dimensions: nested tables, or the one element of a tensor without any. */
static int gives_elements(lua_State *L, uint32_t ndim) {
  int type = lua_type(L, 3);
  if (type == LUA_TTABLE && !ndim)
    lt_error(L, TESS_TYPE,
             "a tensor without dimensions is filled with a number, not with a "
             "table");
  if (type == LUA_TNUMBER && ndim)
    lt_error(L, TESS_TYPE,
             "a number fills a tensor without dimensions, and this one has %u",
             (unsigned)ndim);
  return type == LUA_TTABLE || type == LUA_TNUMBER ||
         (type == LUA_TBOOLEAN && !ndim);
}

/* Takes the options off the end of the arguments: a table { device = "cuda:0"
 * }. The device, which stays on the stack at index 1; NULL: none was given. */
static const char *take_device(lua_State *L) {
  int top = lua_gettop(L);
  if (top < 2 || !lua_istable(L, top)) return NULL;
  lua_pushnil(L);
  if (!lua_next(L, top)) return NULL;
  lua_pop(L, 1);
  int has_names = lua_type(L, -1) == LUA_TSTRING;
  lua_pop(L, 1);
  if (!has_names) return NULL;
  for (lua_pushnil(L); lua_next(L, top); lua_pop(L, 1))
    if (lua_type(L, -2) != LUA_TSTRING || strcmp(lua_tostring(L, -2), "device"))
      lt_error(L, TESS_INVALID,
               "ts.tensor has no option '%s'; there is 'device'",
               luaL_tolstring(L, -2, NULL));
  lua_getfield(L, top, "device");
  const char *device = lt_string(L, -1, "the device");
  lua_insert(L, 1);
  lua_settop(L, top);
  return device;
}

/* Replaces the tensor at the top by a copy there. */
static void move_to(lua_State *L, const char *device) {
  tess_tensor *t = lt_get(L, -1, LT_TENSOR), *made;
  void **b = lt_box(L, LT_TENSOR, 0);
  lt_check(L, tess_tensor_to(t, device, &made));
  *b = made;
  lua_remove(L, -2);
}

static int new_host_tensor(lua_State *L);

/* ts.tensor(..., { device = "opencl:0" }): what comes before makes a tensor
 * here, which is copied there. */
static int new_tensor(lua_State *L) {
  const char *device = take_device(L);
  if (!device) return new_host_tensor(L);
  lua_pushcfunction(L, new_host_tensor);
  lua_insert(L, 2);
  lua_call(L, lua_gettop(L) - 2, 1);
  move_to(L, device);
  return 1;
}

static int ltensor_to(lua_State *L) {
  const char *device = lt_string(L, 2, "the device");
  lua_pushvalue(L, 1);
  (void)tensor(L);
  move_to(L, device);
  return 1;
}

static int ltensor_device(lua_State *L) {
  lua_pushstring(L, tess_tensor_device(tensor(L)));
  return 1;
}

/* ts.tensor(dtype, shape [, fill or nested table or .npy path] [, seed]);
 * ts.tensor(dtype, {}, element); ts.tensor(dtype, nested table);
 * ts.tensor("file.npy") */
static int new_host_tensor(lua_State *L) {
  int64_t shape[MAX_DIM] = {0};
  tess_tensor *t;
  const char *first = lt_string(L, 1, "a data type, or a file,");
  const char *file = lua_gettop(L) == 1 ? first
                     : lua_type(L, 3) == LUA_TSTRING
                         ? lt_string(L, 3, "the filling")
                         : "";
  uint64_t seed = (uint64_t)lt_opt_integer(L, 4, "the seed", 0);
  if (ends_with(file, ".npy")) {
    void **b = lt_box(L, LT_TENSOR, 0);
    lt_check(L, tess_tensor_load(lt_context(L), file, &t));
    *b = t;
    if (file != first) check_loaded(L, file, t);
    return 1;
  }
  tess_dtype dtype = lt_to_dtype(L, 1, NULL);
  int elements = 0; /* the index of what gives them */
  lt_table(L, 2, "the shape of a tensor");
  lua_settop(L, 4);
  uint32_t n;
  if (lua_geti(L, 2, 1) == LUA_TTABLE) {
    elements = 2;
    n = shape_of(L, 2, shape);
  } else {
    n = lt_to_ints(L, 2, MAX_DIM, shape);
    if (gives_elements(L, n)) elements = 3;
  }
  lua_pop(L, 1);
  const char *how =
      elements ? "zeros" : lt_opt_string(L, 3, "the filling", "zeros");
  void **b = lt_box(L, LT_TENSOR, 0);
  lt_check(L, tess_tensor_new(lt_context(L), dtype, n, shape, how, seed, &t));
  *b = t;
  if (elements) fill_nested(L, t, elements, 0, shape);
  return 1;
}

/* t:get(i, j) and t:set(i, j, value); indices count from 0, as the
 * program's do.  `more` arguments follow them. */
static void read_indices(lua_State *L, tess_tensor *t, int more, int64_t *out) {
  int n = (int)tess_tensor_ndim(t), given = lua_gettop(L) - 1 - more;
  if (given != n)
    lt_error(L, TESS_INVALID,
             "the tensor has %d dimension%s but is indexed "
             "by %d",
             n, n == 1 ? "" : "s", given < 0 ? 0 : given);
  for (int i = 0; i < n; i++) {
    char what[24];
    snprintf(what, sizeof what, "index %d", i);
    out[i] = lt_integer(L, i + 2, what);
    if (out[i] < 0 || out[i] >= tess_tensor_shape(t)[i])
      lt_error(L, TESS_BOUNDS, "index %d is %lld, outside of 0 .. %lld", i,
               (long long)out[i], (long long)tess_tensor_shape(t)[i] - 1);
  }
}

static int ltensor_get(lua_State *L) {
  int64_t at[MAX_DIM], i;
  double v;
  tess_tensor *t = tensor(L);
  tess_dtype type = tess_tensor_dtype(t);
  read_indices(L, t, 0, at);
  if (type.code == TESS_DTYPE_FLOAT || type.code == TESS_DTYPE_BFLOAT) {
    lt_check(L, tess_tensor_get(t, at, &v));
    lua_pushnumber(L, v);
  } else {
    lt_check(L, tess_tensor_get_int(t, at, &i));
    lua_pushinteger(L, i);
  }
  return 1;
}

static int ltensor_set(lua_State *L) {
  int64_t at[MAX_DIM];
  tess_tensor *t = tensor(L);
  read_indices(L, t, 1, at);
  put_element(L, t, at, lua_gettop(L));
  return 0;
}

static int copy_from(lua_State *L) {
  lt_check(L, tess_tensor_copy(tensor(L), lt_get(L, 2, LT_TENSOR)));
  return 0;
}

/* greatest absolute and relative difference */
static int ltensor_compare(lua_State *L) {
  double abs, rel;
  lt_check(L,
           tess_tensor_compare(tensor(L), lt_get(L, 2, LT_TENSOR), &abs, &rel));
  lua_pushnumber(L, abs);
  lua_pushnumber(L, rel);
  return 2;
}

static int ltensor_save(lua_State *L) {
  lt_check(L, tess_tensor_save(tensor(L), lt_string(L, 2, "the path")));
  return 0;
}

static int shape(lua_State *L) {
  tess_tensor *t = tensor(L);
  lua_createtable(L, (int)tess_tensor_ndim(t), 0);
  for (uint32_t i = 0; i < tess_tensor_ndim(t); i++) {
    lua_pushinteger(L, tess_tensor_shape(t)[i]);
    lua_seti(L, -2, i + 1);
  }
  return 1;
}

static int dtype(lua_State *L) {
  char text[32];
  tess_dtype_text(tess_tensor_dtype(tensor(L)), text);
  lua_pushstring(L, text);
  return 1;
}

static int len(lua_State *L) {
  lua_pushinteger(L, tess_tensor_size(tensor(L)));
  return 1;
}

static int tensor_tostring(lua_State *L) {
  char *text = NULL;
  lt_check(L, tess_tensor_text(tensor(L), &text));
  lt_push_text(L, text);
  return 1;
}

uint32_t lt_to_tensors(lua_State *L, int i, uint32_t max, tess_tensor **out) {
  lt_table(L, i, "a list of tensors");
  lua_Integer n = (lua_Integer)lua_rawlen(L, i);
  if (n > (lua_Integer)max)
    lt_error(L, TESS_LIMIT, "at most %u tensors", (unsigned)max);
  for (lua_Integer k = 1; k <= n; k++) {
    lua_rawgeti(L, i, k); /* the table keeps it alive */
    if (!luaL_testudata(L, -1, LT_TENSOR))
      lt_error(L, TESS_TYPE, "argument %d: expected a tensor, got %s", (int)k,
               luaL_typename(L, -1));
    out[k - 1] = lt_get(L, -1, LT_TENSOR);
    lua_pop(L, 1);
  }
  return (uint32_t)n;
}

void lt_open_tensor(lua_State *L) {
  static const luaL_Reg meta[] = {
      {"__tostring", tensor_tostring}, {"__len", len}, {NULL, NULL}};
  static const luaL_Reg methods[] = {
      {"get", ltensor_get},       {"set", ltensor_set},
      {"copy_from", copy_from},   {"compare", ltensor_compare},
      {"save", ltensor_save},     {"shape", shape},
      {"dtype", dtype},           {"to", ltensor_to},
      {"device", ltensor_device}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"tensor", new_tensor}, {NULL, NULL}};
  lt_class(L, LT_TENSOR, meta, methods, tensor_gc);
  luaL_setfuncs(L, functions, 0);
}
