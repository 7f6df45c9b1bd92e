/* SPDX-License-Identifier: Apache-2.0
 * The public functions of search spaces: tess_space_*. */
#include "search/space/space.h"
#include "search/postproc/postproc.h"

typedef struct make_work {
  tess_context *c;
  space_kind kind;
  uint32_t n;
  const tess_module *module; /* as the host knows them */
  tess_space *const *part;
  tess_trace *const *trace;
  tess_space *made;
} make_work;

static void *zeroed(mem_heap *h, size_t bytes) {
  void *p = mem_resize(h, NULL, 0, bytes ? bytes : 1);
  memset(p, 0, bytes ? bytes : 1);
  return p;
}

/* Module i of a list; the first one's struct_size is the stride. */
static tess_status nth_module(const make_work *w, uint32_t i,
                              tess_module *out) {
  const char *first = (const char *)w->module;
  size_t stride = w->module->struct_size;
  const void *at = first + i * stride;
  *out = (tess_module)TESS_INIT(tess_module);
  tess_status s = ctx_take(w->c, tess_module, at, out);
  if (s != TESS_OK) return s;
  uint32_t given = ((const tess_module *)at)->struct_size;
  if (given == stride) return s;
  return ctx_fail(w->c, TESS_INVALID,
                  "module %u: struct_size is %u, and that of the first is %u",
                  i + 1, given, w->module->struct_size);
}

/* Copies the names and takes ownership of the modules' data. */
static void take_modules(tess_space *s, const make_work *w) {
  mem_heap *h = &s->c->heap;
  s->name = zeroed(h, s->n * sizeof *s->name);
  tess_module *list = zeroed(h, s->n * sizeof *list);
  s->module = list; /* no free of theirs is called until the end */
  tess_module m;
  for (uint32_t i = 0; i < s->n; i++) {
    nth_module(w, i, &m); /* was looked at before */
    s->name[i] = ctx_text(s->c, m.name, strlen(m.name));
  }
  for (uint32_t i = 0; i < s->n; i++) {
    nth_module(w, i, &list[i]);
    list[i].name = s->name[i];
  }
}

static tess_status fill_space(void *ud) {
  make_work *w = ud;
  mem_heap *h = &w->c->heap;
  tess_space *s = mem_new(h, tess_space);
  *s = (tess_space){.c = w->c, .refs = 1, .kind = w->kind, .n = w->n};
  w->made = s;
  switch (w->kind) {
  case SPACE_MODULES:
  case SPACE_FUNCTION: take_modules(s, w); break;
  case SPACE_UNION:
    s->part = zeroed(h, s->n * sizeof *s->part);
    for (uint32_t i = 0; i < s->n; i++) {
      s->part[i] = w->part[i];
      s->part[i]->refs++;
    }
    break;
  case SPACE_TRACES:
    s->trace = zeroed(h, s->n * sizeof *s->trace);
    for (uint32_t i = 0; i < s->n; i++) s->trace[i] = trace_hold(w->trace[i]);
    break;
  }
  return TESS_OK;
}

static tess_status check_module(const make_work *w, uint32_t i) {
  tess_module m;
  tess_status s = nth_module(w, i, &m);
  if (s != TESS_OK) return s;
  if (!m.name)
    return ctx_fail(w->c, TESS_INVALID, "module %u has no name", i + 1);
  if (!m.apply)
    return ctx_fail(w->c, TESS_INVALID, "module '%s' has no function apply",
                    m.name);
  return TESS_OK;
}

/* Rejects NULL entries and incomplete modules. */
static tess_status check_entries(const make_work *w) {
  for (uint32_t i = 0; i < w->n; i++) {
    tess_status s = w->module ? check_module(w, i) : TESS_OK;
    if (s != TESS_OK) return s;
    if ((w->part && !w->part[i]) || (w->trace && !w->trace[i]))
      return ctx_fail(w->c, TESS_INVALID, "%s %u is NULL",
                      w->part ? "space" : "trace", i + 1);
  }
  return TESS_OK;
}

#define make_space(...) make_space_of(__func__, __VA_ARGS__)
static tess_status make_space_of(const char *call, make_work w,
                                 tess_space **out) {
  *out = NULL;
  tess_status s = check_entries(&w);
  if (s != TESS_OK) return s;
  s = ctx_run_in(call, w.c, fill_space, &w);
  *out = s == TESS_OK ? w.made : NULL;
  if (s != TESS_OK) tess_space_free(w.made);
  return s;
}

tess_status tess_space_compose(tess_context *c, uint32_t n,
                               const tess_module *modules, tess_space **out) {
  return make_space(
      (make_work){.c = c, .kind = SPACE_MODULES, .n = n, .module = modules},
      out);
}

tess_status tess_space_function(tess_context *c, const tess_module *whole,
                                tess_space **out) {
  return make_space(
      (make_work){.c = c, .kind = SPACE_FUNCTION, .n = 1, .module = whole},
      out);
}

tess_status tess_space_union(tess_context *c, uint32_t n,
                             tess_space *const *spaces, tess_space **out) {
  return make_space(
      (make_work){.c = c, .kind = SPACE_UNION, .n = n, .part = spaces}, out);
}

tess_status tess_space_traces(tess_context *c, uint32_t n,
                              tess_trace *const *traces, tess_space **out) {
  return make_space(
      (make_work){.c = c, .kind = SPACE_TRACES, .n = n, .trace = traces}, out);
}

static void free_array(tess_space *s, void *array, size_t elem) {
  size_t bytes = s->n * elem;
  if (array) mem_free(&s->c->heap, array, bytes ? bytes : 1);
}

static void free_postprocs(tess_context *c, vm_trace *t) {
  if (!t) return;
  vm_trace_free(t);
  mem_free(&c->heap, t, sizeof *t);
}

void tess_space_free(tess_space *s) {
  if (!s || --s->refs) return;
  for (uint32_t i = 0; i < s->n; i++) {
    if (s->module && s->module[i].free) s->module[i].free(s->module[i].ud);
    if (s->name) tess_text_free(s->c, s->name[i]);
    if (s->part) tess_space_free(s->part[i]);
    if (s->trace) tess_trace_free(s->trace[i]);
  }
  free_array(s, s->module, sizeof *s->module);
  free_array(s, s->name, sizeof *s->name);
  free_array(s, s->part, sizeof *s->part);
  free_array(s, s->trace, sizeof *s->trace);
  free_postprocs(s->c, s->postprocs);
  void (*on_free)(void *ud) = s->on_free;
  void *ud = s->on_free_ud;
  mem_free(&s->c->heap, s, sizeof *s);
  if (on_free) on_free(ud);
}

void tess_space_on_free(tess_space *s, void (*fn)(void *ud), void *ud) {
  s->on_free = fn;
  s->on_free_ud = ud;
}

typedef struct postprocs_work {
  tess_space *s;
  const vm_trace *given;
  vm_trace *made;
} postprocs_work;
static tess_status copy_postprocs(void *ud) {
  postprocs_work *w = ud;
  vm_trace *t = mem_new(&w->s->c->heap, vm_trace);
  *t = (vm_trace){.heap = &w->s->c->heap};
  w->made = t;
  vm_trace_init(t, t->heap);
  if (w->given) vm_trace_copy(t, w->given);
  return TESS_OK;
}

tess_status tess_space_set_postprocs(tess_space *s, tess_trace *postprocs) {
  const vm_trace *t = postprocs ? &postprocs->t : NULL;
  uint32_t at = t ? postproc_misfit(t) : 0;
  if (t && at < t->inst.n)
    return ctx_fail(s->c, TESS_INVALID, "%s is no postprocessor",
                    t->inst.v[at].prim->name);
  postprocs_work w = {.s = s, .given = t};
  tess_status st = t ? ctx_run(s->c, copy_postprocs, &w) : TESS_OK;
  free_postprocs(s->c, st == TESS_OK ? s->postprocs : w.made);
  if (st == TESS_OK) s->postprocs = w.made;
  return st;
}

static tess_status list_sketches(tess_space *s, tess_program *p, tess_target *t,
                                 bool postprocess, uint32_t max,
                                 tess_trace **out, uint32_t *n) {
  space_sketches k;
  *n = 0;
  space_sketches_init(&k, s->c);
  k.postprocess = postprocess;
  tess_status st = space_write(s, p, t, &k);
  if (st == TESS_OK && k.trace.n > max)
    st = ctx_fail(s->c, TESS_LIMIT,
                  "the space has %u sketches, more than the %u that can be "
                  "listed",
                  k.trace.n, max);
  for (uint32_t i = 0; st == TESS_OK && i < k.trace.n; i++)
    out[(*n)++] = trace_hold(k.trace.v[i]);
  space_sketches_free(&k);
  return st;
}

tess_status tess_space_sketches(tess_space *s, tess_program *p, tess_target *t,
                                uint32_t max, tess_trace **out, uint32_t *n) {
  return list_sketches(s, p, t, false, max, out, n);
}

tess_status tess_space_postprocessed(tess_space *s, tess_program *p,
                                     tess_target *t, uint32_t max,
                                     tess_trace **out, uint32_t *n) {
  return list_sketches(s, p, t, true, max, out, n);
}

typedef struct text_work {
  space_sketches *k;
  char **out;
} text_work;
static tess_status give_log(void *ud) {
  text_work *w = ud;
  *w->out = ctx_text_of(w->k->c, &w->k->log);
  return TESS_OK;
}

tess_status tess_space_explain(tess_space *s, tess_program *p, tess_target *t,
                               char **out) {
  space_sketches k;
  *out = NULL;
  space_sketches_init(&k, s->c);
  k.explain = true;
  tess_status st = space_write(s, p, t, &k);
  if (st == TESS_OK) st = ctx_run(s->c, give_log, &(text_work){&k, out});
  space_sketches_free(&k);
  return st;
}

/* ---- in Lua ------------------------------------------------------------- */

tess_status tess_space_default(tess_context *c, tess_target *target,
                               tess_space **out) {
  *out = NULL;
  return space_run_script(
      c, "the default space", "return require 'tessera'.space.default(...)",
      target ? tess_target_text(target) : "llvm", out, NULL);
}

tess_status tess_program_from_lua(tess_context *c, const char *script,
                                  tess_program **out) {
  *out = NULL;
  return space_run_script(c, "the Lua script", script, NULL, NULL, out);
}

tess_status tess_space_from_lua(tess_context *c, const char *script,
                                tess_space **out) {
  *out = NULL;
  return space_run_script(c, "the Lua script", script, NULL, out, NULL);
}
