/* SPDX-License-Identifier: Apache-2.0
 * Binding of databases: ts.database("tune.db"). */
#include "lua/lt.h"

#include <stdio.h>

LT_GC(database_gc, tess_database, tess_database_free)

static int open_database(lua_State *L) {
  const char *path = lt_string(L, 1, "the path of a database");
  void **b = lt_box(L, LT_DATABASE, 1);
  tess_database *d;
  lt_check(L, tess_database_open(lt_context(L), path, &d));
  *b = d;
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  return 1;
}

static int database_tostring(lua_State *L) {
  lua_getiuservalue(L, 1, 1);
  lua_pushfstring(L, "database %s", lua_tostring(L, -1));
  return 1;
}

static void ldatabase_set_fields(lua_State *L, const char *k, const char *v) {
  lua_pushstring(L, v ? v : "");
  lua_setfield(L, -2, k);
}

static void set_samples(lua_State *L, const tess_record *r) {
  lua_createtable(L, (int)r->nsample, 0);
  for (uint32_t i = 0; i < r->nsample; i++) {
    lua_pushnumber(L, r->sample[i]);
    lua_seti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "samples");
}

static void push_record(lua_State *L, const tess_record *r) {
  char hash[17];
  lua_createtable(L, 0, 12);
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)r->workload);
  ldatabase_set_fields(L, "hash", hash);
  lua_pushinteger(L, r->id);
  lua_setfield(L, -2, "id");
  ldatabase_set_fields(L, "workload", r->workload_name);
  ldatabase_set_fields(L, "target", r->target);
  ldatabase_set_fields(L, "policy", r->policy);
  ldatabase_set_fields(L, "engine", r->engine);
  ldatabase_set_fields(L, "status", r->status);
  ldatabase_set_fields(L, "message", r->message);
  lua_pushnumber(L, r->seconds);
  lua_setfield(L, -2, "seconds");
  set_samples(L, r);
  lua_pushboolean(L, r->checked);
  lua_setfield(L, -2, "checked");
  lua_pushboolean(L, r->damaged);
  lua_setfield(L, -2, "damaged");
}

/* db:records([max]): a list, best first */
static int records(lua_State *L) {
  tess_database *d = lt_get(L, 1, LT_DATABASE);
  lua_Integer max = lt_opt_integer(L, 2, "the number of records", 100);
  lua_newtable(L);
  for (lua_Integer k = 0; k < max; k++) {
    tess_record r = TESS_INIT(tess_record);
    tess_status s = tess_database_row(d, (uint64_t)k, &r);
    if (s == TESS_NOT_FOUND) break;
    lt_check(L, s);
    push_record(L, &r);
    lua_seti(L, -2, k + 1);
  }
  return 1;
}

/* db:trace(id): bound to its program */
static int trace(lua_State *L) {
  tess_database *d = lt_get(L, 1, LT_DATABASE);
  lua_Integer id = lt_integer(L, 2, "the number of a record");
  void **b = lt_box(L, LT_TRACE, 1);
  tess_trace *t;
  lt_check(L, tess_database_trace(d, id, &t));
  *b = t;
  return 1;
}

void lt_open_database(lua_State *L) {
  static const luaL_Reg meta[] = {{"__tostring", database_tostring},
                                  {NULL, NULL}};
  static const luaL_Reg methods[] = {
      {"records", records}, {"trace", trace}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"database", open_database},
                                       {NULL, NULL}};
  lt_class(L, LT_DATABASE, meta, methods, database_gc);
  luaL_setfuncs(L, functions, 0);
}
