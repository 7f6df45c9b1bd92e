/* SPDX-License-Identifier: Apache-2.0
 * Binding of graphs that run. */
#include "lua/lgraph.h"

#define MAX_TENSORS 1024

LT_GC(network_gc, tess_network, tess_network_free)

static tess_network *lt_network(lua_State *L) {
  return lt_get(L, 1, LT_NETWORK);
}

/* The step at the top, whose memory stays below it. */
static void to_step(lua_State *L, tess_gstep *s) {
  int at = lua_gettop(L);
  lt_table(L, at, "a step");
  lua_geti(L, at, 2);
  lt_table(L, at + 1, "the values of a step");
  s->n = (uint32_t)lt_list_len(L, at + 1);
  if (lua_geti(L, at, 1) == LUA_TUSERDATA)
    s->kernel = lt_get(L, at + 2, LT_KERNEL);
  else if (s->n != 2)
    lt_error(L, TESS_INVALID, "a step without a kernel has two values");
  lua_pop(L, 1);
  tess_gvalue *v = lt_room(L, s->n, sizeof *v);
  for (uint32_t i = 0; i < s->n; i++) {
    lua_geti(L, at + 1, (lua_Integer)i + 1);
    v[i] = (tess_gvalue)lt_integer(L, -1, "a value");
    lua_pop(L, 1);
  }
  s->value = v;
  lua_replace(L, at); /* the list of values is the caller's */
  lua_settop(L, at);
}

int lt_make_network(lua_State *L) {
  tess_graph *g = lt_get(L, 1, LT_GRAPH);
  lt_table(L, 2, "the steps of a graph");
  uint32_t n = (uint32_t)lt_list_len(L, 2);
  tess_gstep *step = lt_room(L, n, sizeof *step);
  luaL_checkstack(L, (int)n + 8, "steps");
  for (uint32_t k = 0; k < n; k++) {
    step[k] = (tess_gstep){.kernel = NULL};
    lua_geti(L, 2, (lua_Integer)k + 1);
    to_step(L, &step[k]);
  }
  tess_network *net = NULL;
  void **box = lt_box(L, LT_NETWORK, 0);
  lt_check(L, tess_network_new(g, n, step, &net));
  *box = net;
  return 1;
}

/* net:run({ input, .., output, .. }): no output shares memory. */
static int network_run(lua_State *L) {
  tess_tensor **t = lt_room(L, MAX_TENSORS, sizeof(tess_tensor *));
  uint32_t n = lt_to_tensors(L, 2, MAX_TENSORS, t);
  lt_check(L, tess_network_run(lt_network(L), n, t, NULL));
  return 0;
}

static tess_network_info get_info(lua_State *L) {
  tess_network_info info = TESS_INIT(tess_network_info);
  lt_check(L, tess_network_get(lt_network(L), &info));
  return info;
}

/* net:times(tensors): the seconds of each kernel in one run. */
static int network_times(lua_State *L) {
  uint32_t kernels = get_info(L).kernels;
  tess_tensor **t = lt_room(L, MAX_TENSORS, sizeof(tess_tensor *));
  double *seconds = lt_room(L, kernels, sizeof *seconds);
  uint32_t n = lt_to_tensors(L, 2, MAX_TENSORS, t);
  lt_check(L, tess_network_run(lt_network(L), n, t, seconds));
  lua_createtable(L, (int)kernels, 0);
  for (uint32_t k = 0; k < kernels; k++) {
    lua_pushnumber(L, seconds[k]);
    lua_seti(L, -2, (lua_Integer)k + 1);
  }
  return 1;
}

static int network_info(lua_State *L) {
  tess_network_info info = get_info(L);
  lua_createtable(L, 0, 5);
  lt_set_integer(L, "kernels", info.kernels);
  lt_set_integer(L, "arena", (lua_Integer)info.arena_bytes);
  lt_set_integer(L, "bound", (lua_Integer)info.bound_bytes);
  lt_set_integer(L, "sum", (lua_Integer)info.sum_bytes);
  lt_set_integer(L, "converted", (lua_Integer)info.converted_bytes);
  return 1;
}

static int set_threads(lua_State *L) {
  lua_Integer n = lt_integer(L, 2, "a number of threads");
  if (n < 0 || n > 1024)
    lt_error(L, TESS_INVALID, "%d threads: give 0 to 1024", (int)n);
  tess_network_set_threads(lt_network(L), (uint32_t)n);
  return 0;
}

/* net:save(path [, header]) */
static int network_save(lua_State *L) {
  const char *header =
      lua_isnoneornil(L, 3) ? NULL : lt_string(L, 3, "the path of a header");
  lt_check(L,
           tess_network_save(lt_network(L), lt_string(L, 2, "a path"), header));
  return 0;
}

void lt_open_network(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"run", network_run},   {"times", network_times},
      {"info", network_info}, {"set_threads", set_threads},
      {"save", network_save}, {NULL, NULL}};
  lt_class(L, LT_NETWORK, NULL, methods, network_gc);
}
