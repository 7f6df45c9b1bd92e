/* SPDX-License-Identifier: Apache-2.0
 * Built-in cost models as objects. */
#include "lua/lt.h"

LT_GC(model_gc, tess_model, tess_model_free)

#define lt_model(L, i) ((tess_model *)lt_get((L), (i), LT_MODEL))

void lt_push_model(lua_State *L, tess_result *r) {
  tess_model *m;
  void **b = lt_box(L, LT_MODEL, 0);
  if (tess_result_model(r, &m) == TESS_OK)
    *b = m;
  else
    lua_pushnil(L);
}

/* _core.model(name) */
static int model_new(lua_State *L) {
  tess_model *m;
  const char *name = lt_string(L, 1, "the name of a cost model");
  void **b = lt_box(L, LT_MODEL, 0);
  lt_check(L, tess_model_new(lt_context(L), name, &m));
  *b = m;
  return 1;
}

/* _core.model_load(path) */
static int model_load(lua_State *L) {
  tess_model *m;
  const char *path = lt_string(L, 1, "the path of a cost model");
  void **b = lt_box(L, LT_MODEL, 0);
  lt_check(L, tess_model_load(lt_context(L), path, &m));
  *b = m;
  return 1;
}

static int model_save(lua_State *L) {
  lt_check(L, tess_model_save(lt_model(L, 1), lt_string(L, 2, "the path")));
  return 0;
}

static int model_name(lua_State *L) {
  lua_pushstring(L, tess_model_name(lt_model(L, 1)));
  return 1;
}

static int model_samples(lua_State *L) {
  lua_pushinteger(L, tess_model_samples(lt_model(L, 1)));
  return 1;
}

/* m:importance(n): the n columns that matter most, { column =, share = } */
static int model_importance(lua_State *L) {
  tess_model *m = lt_model(L, 1);
  lua_Integer most = lt_opt_integer(L, 2, "how many columns", 10);
  lua_newtable(L);
  for (lua_Integer k = 0; k < most; k++) {
    char name[TESS_MAX_COLUMN];
    double share;
    tess_status s = tess_model_importance(m, (uint32_t)k, name, &share);
    if (s == TESS_NOT_FOUND) break;
    lt_check(L, s);
    lua_createtable(L, 0, 2);
    lt_set_string(L, "column", name);
    lt_set_number(L, "share", share);
    lua_seti(L, -2, k + 1);
  }
  return 1;
}

static int model_tostring(lua_State *L) {
  tess_model *m = lt_model(L, 1);
  lua_pushfstring(L, "cost model \"%s\", taught %d candidates",
                  tess_model_name(m), (int)tess_model_samples(m));
  return 1;
}

void lt_open_model(lua_State *L) {
  static const luaL_Reg meta[] = {{"__tostring", model_tostring}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"save", model_save},
                                     {"name", model_name},
                                     {"samples", model_samples},
                                     {"importance", model_importance},
                                     {NULL, NULL}};
  lt_class(L, LT_MODEL, meta, methods, model_gc);
  lua_getfield(L, -1, "_core");
  lua_pushcfunction(L, model_new);
  lua_setfield(L, -2, "model");
  lua_pushcfunction(L, model_load);
  lua_setfield(L, -2, "model_load");
  lua_pop(L, 1);
}
