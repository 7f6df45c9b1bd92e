/* SPDX-License-Identifier: Apache-2.0
 * Binding of tuning results. */
#include "lua/lt.h"
#include <stdio.h>
#include <math.h>
#include <string.h>

LT_GC(result_gc, tess_result, tess_result_free)

static tess_result *result(lua_State *L) { return lt_get(L, 1, LT_RESULT); }

static int push_number_or_nil(lua_State *L, double v) {
  if (v > 0 && v < 1e300)
    lua_pushnumber(L, v);
  else
    lua_pushnil(L);
  return 1;
}

static int push_curve(lua_State *L, const tess_result_info *r) {
  lua_createtable(L, (int)r->ncurve, 0);
  for (uint32_t i = 0; i < r->ncurve; i++) {
    lua_pushnumber(L, r->curve[i]);
    lua_seti(L, -2, i + 1);
  }
  return 1;
}

static int result_trace(lua_State *L) {
  tess_trace *t;
  void **b = lt_box(L, LT_TRACE, 1);
  tess_status s = tess_result_trace(result(L), &t);
  if (s == TESS_NOT_FOUND) return 0;
  lt_check(L, s);
  *b = t;
  return 1;
}

static int result_schedule(lua_State *L) {
  tess_schedule *sch = NULL;
  tess_status s = tess_result_schedule(result(L), &sch);
  if (s == TESS_NOT_FOUND) return 0;
  lt_check(L, s);
  lt_push_schedule(L, sch);
  return 1;
}

/* r:params(): the values that the best trace names; empty where nothing valid
 * was found. */
static int result_params(lua_State *L) {
  if (result_trace(L))
    lt_push_params(L, lt_trace(L, -1));
  else
    lua_newtable(L);
  return 1;
}

/* Compiled once, and kept as a user value; anew where the one that is
 * kept was closed. */
static int result_kernel(lua_State *L) {
  tess_kernel *k;
  lua_getiuservalue(L, 1, LT_RESULT_KERNEL);
  void **kept = luaL_testudata(L, -1, LT_KERNEL);
  if (kept && *kept) return 1;
  void **b = lt_box(L, LT_KERNEL, 0);
  tess_status s = tess_result_kernel(result(L), &k);
  if (s == TESS_NOT_FOUND) return 0;
  lt_check(L, s);
  *b = k;
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, 1, LT_RESULT_KERNEL);
  return 1;
}

static void set_unless_nan(lua_State *L, const char *k, double x) {
  if (x == x) lt_set_number(L, k, x);
}

/* A list of { trials =, n =, rmse =, rank_accuracy =, top_k_recall = }; without
 * a pair to put in order there is `unranked`, which says why. */
static int push_quality(lua_State *L, const tess_result_info *r) {
  lua_createtable(L, (int)r->nquality, 0);
  for (uint32_t i = 0; i < r->nquality; i++) {
    const tess_quality *q = &r->quality[i];
    lua_createtable(L, 0, 5);
    lt_set_integer(L, "trials", q->trials);
    lt_set_integer(L, "n", q->n);
    set_unless_nan(L, "rmse", q->rmse);
    set_unless_nan(L, "rank_accuracy", q->rank_accuracy);
    if (isnan(q->rank_accuracy))
      lt_set_string(L, "unranked",
                    q->n < 2 ? "the batch has one trial"
                             : "the batch has no two different times");
    set_unless_nan(L, "top_k_recall", q->top_k_recall);
    lua_seti(L, -2, i + 1);
  }
  return 1;
}

/* r.latency, r.gflops, r.trace, ...: nil where nothing valid was found; gflops
 * also where program:flops() is. */
static int result_index(lua_State *L) {
  tess_result_info r = TESS_INIT(tess_result_info);
  const char *k = lt_string(L, 2, "the field of a result");
  lt_check(L, tess_result_get(result(L), &r));
  if (!strcmp(k, "trace")) return result_trace(L);
  if (!strcmp(k, "params")) return lua_pushcfunction(L, result_params), 1;
  if (!strcmp(k, "schedule")) return result_schedule(L);
  if (!strcmp(k, "kernel")) return result_kernel(L);
  if (!strcmp(k, "latency")) return push_number_or_nil(L, r.latency);
  if (!strcmp(k, "gflops")) return push_number_or_nil(L, r.gflops);
  if (!strcmp(k, "unscheduled") && r.unscheduled > 0)
    return lua_pushnumber(L, r.unscheduled), 1;
  if (!strcmp(k, "curve")) return push_curve(L, &r);
  if (!strcmp(k, "trials")) return lua_pushinteger(L, r.trials), 1;
  if (!strcmp(k, "failed")) return lua_pushinteger(L, r.failed), 1;
  if (!strcmp(k, "status"))
    return lua_pushstring(L, tess_status_name(r.status)), 1;
  if (!strcmp(k, "exhausted")) return lua_pushboolean(L, r.exhausted), 1;
  if (!strcmp(k, "funnel")) return lua_pushstring(L, r.funnel), 1;
  if (!strcmp(k, "ledger")) return lua_pushstring(L, r.ledger), 1;
  if (!strcmp(k, "classes")) return lua_pushstring(L, r.classes), 1;
  if (!strcmp(k, "message") && *r.message)
    return lua_pushstring(L, r.message), 1;
  if (!strcmp(k, "quality")) return push_quality(L, &r);
  if (!strcmp(k, "cost_model")) return lt_push_model(L, result(L)), 1;
  if (!strcmp(k, "note") && *r.note) return lua_pushstring(L, r.note), 1;
  return 0;
}

static int result_tostring(lua_State *L) {
  tess_result_info r = TESS_INIT(tess_result_info);
  char text[200], rate[40] = "";
  lt_check(L, tess_result_get(result(L), &r));
  if (r.gflops > 0) snprintf(rate, sizeof rate, ", %.1f GFLOP/s", r.gflops);
  if (r.latency > 0 && r.latency < 1e300)
    snprintf(text, sizeof text, "%.4g ms%s after %u trials (%u failed)",
             r.latency * 1e3, rate, (unsigned)r.trials, (unsigned)r.failed);
  else if (r.status == TESS_OK)
    snprintf(text, sizeof text, "not measured");
  else
    snprintf(text, sizeof text, "nothing valid found in %u trials",
             (unsigned)r.trials);
  lua_pushfstring(L, "%s%s%s%s", text,
                  r.exhausted ? "; the space seems exhausted" : "",
                  *r.message ? "; then: " : "", r.message);
  return 1;
}

void lt_open_result(lua_State *L) {
  static const luaL_Reg meta[] = {
      {"__index", result_index}, {"__tostring", result_tostring}, {NULL, NULL}};
  lt_class(L, LT_RESULT, meta, NULL, result_gc);
}
