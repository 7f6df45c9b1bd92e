/* SPDX-License-Identifier: Apache-2.0
 * Public API (include/tessera/model.h): whole models, which libtessera-spaces
 * makes of files and graphs. */
#include "backends/object.h"
#include "graph/network.h"
#include "measure/tensor/tensor.h"
#include "search/space/space.h"

/* As lua/spaces/spaces.h declares them. */
typedef tess_status (*import_fn)(tess_context *c, const char *path,
                                 const void *bytes, size_t size, uint32_t count,
                                 const tess_given *given, tess_graph **out,
                                 char *why, size_t n);
typedef tess_status (*compile_fn)(tess_context *c, tess_graph *g,
                                  tess_target *target,
                                  const tess_tasks_options *o,
                                  tess_tasks **tasks, tess_network **out,
                                  char *why, size_t n);

enum { WHY_BYTES = sizeof((err_state *)NULL)->message };

/* ---- reading ------------------------------------------------------------ */

/* Elements have the size of the first. */
static tess_status take_given(tess_context *c, const tess_given *list,
                              uint32_t i, tess_given *out) {
  *out = (tess_given){.struct_size = sizeof *out};
  const void *at = (const char *)list + (size_t)i * list->struct_size;
  tess_status s = ctx_take(c, tess_given, at, out);
  if (s != TESS_OK) return s;
  if (!out->name)
    return ctx_fail(c, TESS_INVALID, "what is given at %u has no name", i + 1);
  if (out->ndim && !out->extent)
    return ctx_fail(c, TESS_INVALID, "'%s' is given without its %u extents",
                    out->name, out->ndim);
  if (out->tensor && out->tensor->c != c)
    return ctx_fail(c, TESS_INVALID,
                    "the contents of '%s' are of another context", out->name);
  return TESS_OK;
}

typedef struct import_work {
  tess_context *c;
  const char *path;
  const void *bytes;
  size_t size;
  uint32_t n;
  const tess_given *given;
  arena scratch;
  import_fn import;
  tess_graph *made;
} import_work;

static tess_status import_given(void *ud) {
  import_work *w = ud;
  char why[WHY_BYTES];
  tess_given *list = arena_array(&w->scratch, tess_given, w->n);
  for (uint32_t i = 0; i < w->n; i++) {
    tess_status s = take_given(w->c, w->given, i, &list[i]);
    if (s != TESS_OK) return s;
  }
  tess_status s = w->import(w->c, w->path, w->bytes, w->size, w->n, list,
                            &w->made, why, sizeof why);
  return s == TESS_OK ? s : ctx_fail(w->c, s, "%s", why);
}

static tess_status import_from(import_work *w, tess_graph **out) {
  *out = NULL;
  ctx_clear(w->c);
  tess_status s = space_lua_function(w->c, "tess_spaces_import", &w->import);
  if (s != TESS_OK) return s;
  arena_init(&w->scratch, &w->c->heap);
  s = ctx_run(w->c, import_given, w);
  arena_free(&w->scratch);
  *out = w->made;
  return s;
}

tess_status tess_graph_import(tess_context *c, const char *path, uint32_t n,
                              const tess_given *given, tess_graph **out) {
  import_work w = {.c = c, .path = path, .n = n, .given = given};
  return import_from(&w, out);
}

tess_status tess_graph_import_bytes(tess_context *c, const void *bytes,
                                    size_t size, uint32_t n,
                                    const tess_given *given, tess_graph **out) {
  import_work w = {
      .c = c, .bytes = bytes, .size = size, .n = n, .given = given};
  return import_from(&w, out);
}

/* ---- compiling ---------------------------------------------------------- */

/* The options as this library has them. */
static tess_status take_options(tess_context *c, const tess_tasks_options *in,
                                tess_tasks_options *o, tess_tune_options *t) {
  *o = (tess_tasks_options){.struct_size = sizeof *o};
  *t = (tess_tune_options){.struct_size = sizeof *t, .frozen = !in};
  tess_status s = in ? ctx_take(c, tess_tasks_options, in, o) : TESS_OK;
  if (s == TESS_OK && o->tune) s = ctx_take(c, tess_tune_options, o->tune, t);
  o->tune = t;
  return s;
}

static tess_status check_graph(const tess_graph *g, const tess_target *t) {
  if (t && t->c != g->c)
    return ctx_fail(g->c, TESS_INVALID,
                    "graph %s and its target are of different contexts",
                    g->name);
  return TESS_OK;
}

tess_status tess_graph_compile(tess_graph *g, tess_target *t,
                               const tess_tasks_options *o, tess_tasks **tasks,
                               tess_network **out) {
  tess_context *c = g->c;
  tess_tasks_options ours;
  tess_tune_options tune;
  tess_tasks *results = NULL;
  compile_fn compile;
  char why[WHY_BYTES];
  *out = NULL;
  if (tasks) *tasks = NULL;
  ctx_clear(c);
  tess_status s = check_graph(g, t);
  if (s == TESS_OK) s = take_options(c, o, &ours, &tune);
  if (s == TESS_OK) s = space_lua_function(c, "tess_spaces_compile", &compile);
  if (s != TESS_OK) return s;
  s = compile(c, g, t, &ours, &results, out, why, sizeof why);
  if (s != TESS_OK) return ctx_fail(c, s, "%s", why);
  if (tune.kernel_threads) tess_network_set_threads(*out, tune.kernel_threads);
  if (tasks)
    *tasks = results;
  else
    tess_tasks_free(results);
  return TESS_OK;
}
