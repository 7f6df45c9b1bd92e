/* SPDX-License-Identifier: Apache-2.0
 * Whole models for hosts without Lua: stdlib/graph/host.lua, on objects of the
 * host's.  What is made needs nothing of the state that it was made in. */
#include "lua/spaces/spaces.h"
#include "lua/spaces/state.h"

#include <math.h>

/* Pushes a function of stdlib/graph/host.lua. */
static void push_function(lua_State *L, const char *name) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, "tessera.graph.host");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, name);
  lua_remove(L, -2);
}

/* ---- reading ------------------------------------------------------------ */

typedef struct import_request {
  const char *path; /* NULL: of bytes */
  const void *bytes;
  size_t size;
  uint32_t n;
  const tess_given *given;
  tess_graph **out;
} import_request;

static void push_extents(lua_State *L, const tess_given *x) {
  lua_createtable(L, (int)x->ndim, 0);
  for (uint32_t d = 0; d < x->ndim; d++) {
    lua_pushinteger(L, x->extent[d]);
    lua_seti(L, -2, (lua_Integer)d + 1);
  }
}

static void push_numbers(lua_State *L, const tess_given *x) {
  lua_createtable(L, (int)x->nnumber, 0);
  for (uint32_t i = 0; i < x->nnumber; i++) {
    double v = x->number[i];
    if (v == floor(v) && fabs(v) <= 0x1p53)
      lua_pushinteger(L, (lua_Integer)v);
    else
      lua_pushnumber(L, v);
    lua_seti(L, -2, (lua_Integer)i + 1);
  }
}

/* Pushes { name =, shape =, value = }. */
static void push_given(lua_State *L, const tess_given *x) {
  lua_createtable(L, 0, 3);
  lt_set_string(L, "name", x->name);
  if (x->extent) {
    push_extents(L, x);
    lua_setfield(L, -2, "shape");
  }
  if (!x->tensor && !x->number) return;
  if (x->tensor)
    state_lend(L, LT_TENSOR, x->tensor);
  else
    push_numbers(L, x);
  lua_setfield(L, -2, "value");
}

/* Pushes the graph as it is in the file. */
static void push_file(lua_State *L, const import_request *r) {
  tess_graph *g = NULL;
  void **box = lt_box(L, LT_GRAPH, 0);
  lt_check(L, r->path ? tess_graph_from_onnx(lt_context(L), r->path, &g)
                      : tess_graph_from_onnx_bytes(lt_context(L), r->bytes,
                                                   r->size, &g));
  *box = g;
}

static int import_graph(lua_State *L) {
  import_request *r = lua_touserdata(L, 1);
  push_function(L, "import");
  push_file(L, r);
  lua_pushstring(L, r->path ? r->path : "ONNX");
  lua_createtable(L, (int)r->n, 0);
  for (uint32_t i = 0; i < r->n; i++) {
    push_given(L, &r->given[i]);
    lua_seti(L, -2, (lua_Integer)i + 1);
  }
  lua_call(L, 3, 1);
  *r->out = state_take(L, -1, LT_GRAPH);
  return 0;
}

tess_status tess_spaces_import(tess_context *c, const char *path,
                               const void *bytes, size_t size, uint32_t count,
                               const tess_given *given, tess_graph **out,
                               char *why, size_t n) {
  import_request r = {path, bytes, size, count, given, out};
  lua_State *L;
  tess_status s = state_run(c, import_graph, &r, &L, why, n);
  if (s == TESS_OK) state_close(L);
  return s;
}

/* ---- compiling ---------------------------------------------------------- */

typedef struct compile_request {
  tess_context *c;
  tess_graph *g;
  tess_target *target;
  const tess_tasks_options *o;
  tess_tasks_options tuned, frozen; /* with and without measuring */
  tess_tune_options known;          /* of the latter */
  tess_space *space;                /* the target's; NULL: not made yet */
  int answer;                       /* of the host's progress */
  tess_tasks *tasks;
  tess_network *network;
} compile_request;

static int tell_progress(void *ud, const tess_tasks_progress *p) {
  compile_request *r = ud;
  r->answer = r->o->progress(r->o->progress_ud, p);
  return r->answer;
}

/* One space for all tasks, instead of one for each. */
static void make_space(lua_State *L, compile_request *r) {
  if (!r->space) lt_check(L, tess_space_default(r->c, r->target, &r->space));
}

/* The entries of the programs in the list at index 1. */
static uint32_t push_entries(lua_State *L, tess_space *space,
                             const tess_task **out) {
  uint32_t n = (uint32_t)lt_list_len(L, 1);
  tess_task *list = lt_room(L, n, sizeof *list);
  for (uint32_t i = 0; i < n; i++) {
    lua_geti(L, 1, (lua_Integer)i + 1);
    list[i] = (tess_task){.struct_size = sizeof list[i],
                          .program = lt_program(L, -1),
                          .space = space,
                          .weight = 1};
    lua_pop(L, 1); /* the list keeps it */
  }
  *out = list;
  return n;
}

/* tune(programs, frozen): the results, as the host's options have it. */
static int tune_programs(lua_State *L) {
  compile_request *r = lua_touserdata(L, lua_upvalueindex(1));
  int frozen = lua_toboolean(L, 2);
  const tess_task *task;
  tess_tasks_info info = TESS_INIT(tess_tasks_info);
  tess_tasks *made = NULL;
  make_space(L, r);
  uint32_t n = push_entries(L, r->space, &task);
  void **box = lt_box_tasks(L);
  tess_status s = tess_tune_tasks(r->c, n, task, r->target,
                                  frozen ? &r->frozen : &r->tuned, &made);
  *box = made;
  lt_check(L, s);
  lt_check(L, tess_tasks_get(made, &info));
  if (info.status == TESS_CANCELLED && (frozen || r->answer < 0))
    lt_error(L, TESS_CANCELLED, "compiling the model was ended");
  return 1;
}

static void read_options(compile_request *r) {
  const tess_tune_options *t = r->o->tune;
  r->tuned = *r->o;
  if (r->o->progress) {
    r->tuned.progress = tell_progress;
    r->tuned.progress_ud = r;
  }
  r->known = (tess_tune_options){.struct_size = sizeof r->known,
                                 .database = t->database,
                                 .seed = t->seed,
                                 .threads = t->threads,
                                 .kernel_threads = t->kernel_threads,
                                 .frozen = 1};
  r->frozen =
      (tess_tasks_options){.struct_size = sizeof r->frozen, .tune = &r->known};
}

static int compile_graph(lua_State *L) {
  compile_request *r = lua_touserdata(L, 1);
  push_function(L, "compile");
  state_lend(L, LT_GRAPH, r->g);
  lua_pushstring(L, r->target ? tess_target_text(r->target) : NULL);
  lua_pushboolean(L, !r->o->tune->frozen);
  lua_pushvalue(L, 1);
  lua_pushcclosure(L, tune_programs, 1);
  lua_call(L, 4, 2);
  if (!lua_isnil(L, -1)) r->tasks = state_take(L, -1, LT_TASKS);
  r->network = state_take(L, -2, LT_NETWORK);
  return 0;
}

tess_status tess_spaces_compile(tess_context *c, tess_graph *g,
                                tess_target *target,
                                const tess_tasks_options *o, tess_tasks **tasks,
                                tess_network **out, char *why, size_t n) {
  compile_request r = {.c = c, .g = g, .target = target, .o = o};
  lua_State *L;
  read_options(&r);
  tess_status s = state_run(c, compile_graph, &r, &L, why, n);
  if (s == TESS_OK) state_close(L);
  tess_space_free(r.space);
  *tasks = r.tasks;
  *out = r.network;
  return s;
}
