/* SPDX-License-Identifier: Apache-2.0
 * Public API (include/tessera/graph.h): graphs. */
#include "graph/fuse.h"
#include "measure/tensor/tensor.h"

/* What a call is about, for the frames below. */
typedef struct graph_call {
  tess_context *c;
  tess_graph *g;
  const char *name;
  const tess_gtype *type;
  tess_gkind kind;
  tess_tensor *tensor;
  const tess_node_def *def;
  tess_gvalue v;
  tess_gnode n;
  void (*put)(const tess_graph *g, strbuf *out);
  char **text;
  strbuf b; /* becomes *text */
  const tess_category *category;
  arena scratch;
} graph_call;

/* ---- making ------------------------------------------------------------- */

static tess_status make_graph(void *ud) {
  graph_call *w = ud;
  w->g = graph_new(w->c, w->name ? w->name : "");
  return TESS_OK;
}

tess_status tess_graph_new(tess_context *c, const char *name,
                           tess_graph **out) {
  graph_call w = {.c = c, .name = name};
  tess_status s = ctx_run(c, make_graph, &w);
  *out = w.g;
  return s;
}

const char *tess_graph_name(const tess_graph *g) { return g->name; }

static tess_status check_gtype(tess_context *c, const char *name,
                               const tess_gtype *t) {
  if (t->ndim > GRAPH_MAX_DIM)
    return ctx_fail(c, TESS_LIMIT, "%s has %u dimensions, more than %d", name,
                    t->ndim, GRAPH_MAX_DIM);
  for (uint32_t d = 0; d < t->ndim; d++)
    if (!t->dim[d].size && t->dim[d].extent < 0)
      return ctx_fail(c, TESS_INVALID, "dimension %u of %s is %lld", d, name,
                      (long long)t->dim[d].extent);
  return TESS_OK;
}

static tess_status make_input(void *ud) {
  graph_call *w = ud;
  w->v = graph_input(w->g, w->name, w->type, w->kind);
  return TESS_OK;
}

tess_status tess_graph_input(tess_graph *g, const char *name,
                             const tess_gtype *t, tess_gkind kind,
                             tess_gvalue *out) {
  graph_call w = {.g = g, .name = name, .type = t, .kind = kind};
  *out = 0;
  tess_status s = check_gtype(g->c, name, t);
  if (s == TESS_OK) s = ctx_run(g->c, make_input, &w);
  if (s == TESS_OK) *out = w.v;
  return s;
}

static tess_status make_constant(void *ud) {
  graph_call *w = ud;
  w->v = graph_constant(w->g, w->name, w->tensor);
  return TESS_OK;
}

tess_status tess_graph_constant(tess_graph *g, const char *name, tess_tensor *t,
                                tess_gvalue *out) {
  graph_call w = {.g = g, .name = name ? name : "", .tensor = t};
  *out = 0;
  tess_status s = tensor_check_host(t, "as a constant, being read");
  if (s == TESS_OK) s = ctx_run(g->c, make_constant, &w);
  if (s == TESS_OK) *out = w.v;
  return s;
}

static tess_status check_value(tess_graph *g, tess_gvalue v) {
  if (graph_has(g, v)) return TESS_OK;
  return ctx_fail(g->c, TESS_INVALID, "graph %s has no value %u", g->name, v);
}

static tess_status make_output(void *ud) {
  graph_call *w = ud;
  graph_output_add(w->g, w->name, w->v);
  return TESS_OK;
}

tess_status tess_graph_output(tess_graph *g, const char *name, tess_gvalue v) {
  graph_call w = {.g = g, .name = name, .v = v};
  tess_status s = check_value(g, v);
  return s == TESS_OK ? ctx_run(g->c, make_output, &w) : s;
}

/* ---- nodes -------------------------------------------------------------- */

static tess_status check_attrs(tess_graph *g, const tess_node_def *def) {
  for (uint32_t i = 0; i < def->nattr; i++) {
    const tess_attr *a = &def->attr[i];
    if (a->kind == TESS_ATTR_TENSOR &&
        (!graph_has(g, a->tensor) ||
         g->value.v[a->tensor].kind != TESS_G_CONSTANT))
      return ctx_fail(g->c, TESS_INVALID,
                      "attribute %s of node %s is no constant", a->name,
                      def->op);
    for (uint32_t k = 0; k < i; k++)
      if (!strcmp(a->name, def->attr[k].name))
        return ctx_fail(g->c, TESS_INVALID, "node %s has attribute %s twice",
                        def->op, a->name);
  }
  return TESS_OK;
}

static tess_status check_def(tess_graph *g, const tess_node_def *def) {
  for (uint32_t i = 0; i < def->nin; i++)
    if (def->in[i] && !graph_has(g, def->in[i]))
      return ctx_fail(g->c, TESS_INVALID,
                      "input %u of node %s is no value of graph %s", i + 1,
                      def->op, g->name);
  for (uint32_t i = 0; i < def->nout; i++) {
    tess_status s = check_gtype(g->c, def->op, &def->type[i]);
    if (s != TESS_OK) return s;
  }
  return check_attrs(g, def);
}

static tess_status make_node(void *ud) {
  graph_call *w = ud;
  w->n = graph_node_add(w->g, w->def);
  return TESS_OK;
}

tess_status tess_graph_node(tess_graph *g, const tess_node_def *def,
                            tess_gvalue *out) {
  tess_node_def own = {.struct_size = sizeof own};
  tess_status s = ctx_take(g->c, tess_node_def, def, &own);
  if (s != TESS_OK) return s;
  graph_call w = {.g = g, .def = &own};
  s = check_def(g, &own);
  if (s == TESS_OK) s = ctx_run(g->c, make_node, &w);
  for (uint32_t i = 0; s != TESS_OK && i < own.nattr; i++)
    if (own.attr[i].kind == TESS_ATTR_GRAPH) tess_graph_free(own.attr[i].graph);
  for (uint32_t i = 0; i < own.nout; i++)
    out[i] = s == TESS_OK ? g->node.v[w.n].out[i] : 0;
  return s;
}

/* ---- asking ------------------------------------------------------------- */

tess_status tess_graph_value(tess_graph *g, tess_gvalue v,
                             tess_gvalue_info *out) {
  tess_status s = check_value(g, v);
  if (s != TESS_OK) return s;
  const graph_value *x = &g->value.v[v];
  const tess_gvalue_info info = {.struct_size = sizeof info,
                                 .kind = x->kind,
                                 .name = x->name,
                                 .type = x->type,
                                 .node = x->node,
                                 .result = x->result};
  return ctx_give(g->c, tess_gvalue_info, &info, out);
}

tess_status tess_graph_tensor(tess_graph *g, tess_gvalue v, tess_tensor **out) {
  *out = NULL;
  tess_status s = check_value(g, v);
  if (s != TESS_OK) return s;
  tess_tensor *t = g->value.v[v].tensor;
  if (!t)
    return ctx_fail(g->c, TESS_INVALID, "value %s of graph %s is no constant",
                    g->value.v[v].name, g->name);
  t->refs++;
  *out = t;
  return TESS_OK;
}

static tess_status check_node(tess_graph *g, tess_gnode n) {
  if (n && n < g->node.n) return TESS_OK;
  return ctx_fail(g->c, TESS_INVALID, "graph %s has no node %u", g->name, n);
}

tess_status tess_graph_node_get(tess_graph *g, tess_gnode n,
                                tess_gnode_info *out) {
  tess_status s = check_node(g, n);
  if (s != TESS_OK) return s;
  const graph_node *x = &g->node.v[n];
  const tess_gnode_info info = {.struct_size = sizeof info,
                                .nin = x->nin,
                                .nattr = x->nattr,
                                .nout = x->nout,
                                .group = x->group,
                                .op = x->op,
                                .name = x->name,
                                .in = x->in,
                                .out = x->out,
                                .attr = x->attr};
  return ctx_give(g->c, tess_gnode_info, &info, out);
}

tess_status tess_graph_branch(tess_graph *g, tess_gnode n, const char *attr,
                              tess_graph **out) {
  *out = NULL;
  tess_status s = check_node(g, n);
  if (s != TESS_OK) return s;
  const tess_attr *a = graph_attr(&g->node.v[n], attr);
  if (!a || a->kind != TESS_ATTR_GRAPH)
    return ctx_fail(g->c, TESS_NOT_FOUND, "node %s has no graph '%s'",
                    g->node.v[n].op, attr);
  a->graph->refs++;
  *out = a->graph;
  return TESS_OK;
}

uint32_t tess_graph_order(tess_graph *g, const tess_gnode **out) {
  *out = g->order.v;
  return g->order.n;
}

uint32_t tess_graph_inputs(tess_graph *g, const tess_gvalue **out) {
  *out = g->inputs.v;
  return g->inputs.n;
}

uint32_t tess_graph_outputs(tess_graph *g, const tess_gvalue **out) {
  *out = g->outputs.v;
  return g->outputs.n;
}

const char *tess_graph_output_name(tess_graph *g, uint32_t i) {
  return i < g->output_name.n ? g->output_name.v[i] : "";
}

static tess_status make_graph_text(void *ud) {
  graph_call *w = ud;
  w->put(w->g, &w->b);
  *w->text = ctx_text_of(w->g->c, &w->b);
  return TESS_OK;
}

static tess_status give_text(tess_graph *g, const char *call, char **out,
                             void (*put)(const tess_graph *g, strbuf *out)) {
  graph_call w = {.g = g, .put = put, .text = out};
  *out = NULL;
  str_init(&w.b, &g->c->heap);
  tess_status s = ctx_run_in(call, g->c, make_graph_text, &w);
  str_free(&w.b);
  return s;
}

tess_status tess_graph_text(tess_graph *g, char **out) {
  return give_text(g, __func__, out, graph_print);
}

tess_status tess_graph_dot(tess_graph *g, char **out) {
  return give_text(g, __func__, out, graph_draw);
}

/* ---- with scratch memory ------------------------------------------------ */

static tess_status run_scratch(graph_call *w, const char *call,
                               tess_status (*fn)(void *ud)) {
  tess_context *c = w->g->c;
  arena_init(&w->scratch, &c->heap);
  tess_status s = ctx_run_in(call, c, fn, w);
  arena_free(&w->scratch);
  return s;
}

static tess_status verify_graph(void *ud) {
  graph_call *w = ud;
  strbuf why;
  str_init(&why, &w->g->c->heap);
  bool fine = graph_verify(w->g, &w->scratch, &why);
  tess_status s = fine ? TESS_OK : why.bad ? str_status(&why) : TESS_INVALID;
  if (s == TESS_INVALID) ctx_fail(w->g->c, s, "%s", str_get(&why));
  str_free(&why);
  return s;
}

tess_status tess_graph_verify(tess_graph *g) {
  graph_call w = {.g = g};
  return run_scratch(&w, __func__, verify_graph);
}

/* ---- changing ----------------------------------------------------------- */

tess_status tess_graph_replace(tess_graph *g, tess_gvalue old, tess_gvalue v) {
  tess_status s = check_value(g, old);
  if (s == TESS_OK) s = check_value(g, v);
  if (s == TESS_OK) graph_replace(g, old, v);
  return s;
}

static tess_status sweep_graph(void *ud) {
  graph_call *w = ud;
  tess_status s = graph_sweep(w->g, &w->scratch);
  if (s == TESS_INVALID)
    ctx_fail(w->g->c, s, "graph %s has nodes that go in a circle", w->g->name);
  return s;
}

tess_status tess_graph_sweep(tess_graph *g) {
  graph_call w = {.g = g};
  return run_scratch(&w, __func__, sweep_graph);
}

static tess_status fuse_graph(void *ud) {
  graph_call *w = ud;
  graph_fuse(w->g, w->category, &w->scratch);
  return TESS_OK;
}

tess_status tess_graph_fuse(tess_graph *g, uint32_t n,
                            const tess_category *category) {
  graph_call w = {.g = g, .category = category};
  if (n != g->order.n)
    return ctx_fail(g->c, TESS_INVALID,
                    "graph %s has %u nodes, and got %u categories", g->name,
                    g->order.n, n);
  tess_status s = tess_graph_verify(g);
  return s == TESS_OK ? run_scratch(&w, __func__, fuse_graph) : s;
}

tess_status tess_graph_set_group(tess_graph *g, tess_gnode n, uint32_t group) {
  tess_status s = check_node(g, n);
  if (s == TESS_OK) g->node.v[n].group = group;
  return s;
}
