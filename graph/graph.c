/* SPDX-License-Identifier: Apache-2.0
 * Making graphs: values, constants, nodes and their attributes. */
#include "graph/graph.h"
#include "measure/tensor/tensor.h"

#include <stdlib.h>
#include <string.h>

/* ---- copies ------------------------------------------------------------- */

/* Text of a file or a host, kept as what may be printed anywhere. */
static const char *keep_name(tess_graph *g, const char *text) {
  size_t n = text ? strlen(text) : 0;
  char *copy = arena_alloc(&g->memory, n + 1);
  if (n) memcpy(copy, text, n);
  copy[n] = 0;
  str_defuse(copy);
  return copy;
}

static void *keep_bytes(tess_graph *g, const void *from, size_t bytes) {
  void *copy = arena_alloc(&g->memory, bytes ? bytes : 1);
  if (bytes) memcpy(copy, from, bytes);
  return copy;
}

static tess_gtype keep_type(tess_graph *g, const tess_gtype *t) {
  tess_gtype copy = {.dtype = t->dtype, .ndim = t->ndim};
  tess_dim *dim = arena_array(&g->memory, tess_dim, t->ndim);
  for (uint32_t d = 0; d < t->ndim; d++) {
    dim[d] = t->dim[d];
    if (dim[d].size) dim[d].size = keep_name(g, dim[d].size);
  }
  copy.dim = dim;
  return copy;
}

static const char *const *keep_texts(tess_graph *g, uint32_t n,
                                     const char *const *texts) {
  const char **copy = arena_array(&g->memory, const char *, n);
  for (uint32_t i = 0; i < n; i++) copy[i] = keep_name(g, texts[i]);
  return copy;
}

static tess_attr keep_attr(tess_graph *g, const tess_attr *a) {
  tess_attr copy = *a;
  copy.name = keep_name(g, a->name);
  if (a->kind == TESS_ATTR_STR) copy.s = keep_name(g, a->s);
  if (a->kind == TESS_ATTR_INTS)
    copy.ints = keep_bytes(g, a->ints, a->n * sizeof *a->ints);
  if (a->kind == TESS_ATTR_REALS)
    copy.reals = keep_bytes(g, a->reals, a->n * sizeof *a->reals);
  if (a->kind == TESS_ATTR_STRS) copy.strs = keep_texts(g, a->n, a->strs);
  return copy;
}

static int compare_attrs(const void *a, const void *b) {
  return strcmp(((const tess_attr *)a)->name, ((const tess_attr *)b)->name);
}

/* ---- life --------------------------------------------------------------- */

static tess_status fill_new(void *ud) {
  tess_graph *g = ud;
  g->name = keep_name(g, g->name);
  vec_push(&g->c->heap, &g->value, (graph_value){.name = ""}); /* number 0 */
  vec_push(&g->c->heap, &g->node, (graph_node){.op = ""});
  return TESS_OK;
}

tess_graph *graph_new(tess_context *c, const char *name) {
  tess_graph *g = mem_new(&c->heap, tess_graph);
  *g = (tess_graph){.c = c, .refs = 1, .name = name};
  arena_init(&g->memory, &c->heap);
  tess_status s = mem_protect(&c->heap, fill_new, g);
  if (s == TESS_OK) return g;
  tess_graph_free(g);
  mem_unwind(&c->heap, s);
}

static void free_branches(const graph_node *n) {
  for (uint32_t i = 0; i < n->nattr; i++)
    if (n->attr[i].kind == TESS_ATTR_GRAPH) tess_graph_free(n->attr[i].graph);
}

void tess_graph_free(tess_graph *g) {
  if (!g || --g->refs) return;
  for (uint32_t i = 1; i < g->node.n; i++) free_branches(&g->node.v[i]);
  for (uint32_t i = 1; i < g->value.n; i++)
    tess_tensor_free(g->value.v[i].tensor);
  mem_heap *heap = &g->c->heap;
  vec_free(heap, &g->value);
  vec_free(heap, &g->node);
  vec_free(heap, &g->order);
  vec_free(heap, &g->inputs);
  vec_free(heap, &g->outputs);
  vec_free(heap, &g->output_name);
  arena_free(&g->memory);
  mem_free(heap, g, sizeof *g);
}

/* ---- values ------------------------------------------------------------- */

static tess_gvalue add_value(tess_graph *g, graph_value v) {
  vec_push(&g->c->heap, &g->value, v);
  return g->value.n - 1;
}

tess_gvalue graph_input(tess_graph *g, const char *name, const tess_gtype *t,
                        tess_gkind kind) {
  if (kind == TESS_G_INPUT) vec_reserve(&g->c->heap, &g->inputs, 1);
  graph_value v = {
      .name = keep_name(g, name), .type = keep_type(g, t), .kind = kind};
  tess_gvalue made = add_value(g, v);
  if (kind == TESS_G_INPUT) vec_push(&g->c->heap, &g->inputs, made);
  return made;
}

tess_gvalue graph_constant(tess_graph *g, const char *name, tess_tensor *t) {
  tess_dim dim[TENSOR_MAX_DIM];
  for (uint32_t d = 0; d < t->ndim; d++)
    dim[d] = (tess_dim){.extent = t->shape[d]};
  tess_gtype type = {t->dtype, t->ndim, dim};
  graph_value v = {.name = keep_name(g, name),
                   .type = keep_type(g, &type),
                   .kind = TESS_G_CONSTANT,
                   .tensor = t};
  tess_gvalue made = add_value(g, v);
  t->refs++;
  return made;
}

void graph_set_type(tess_graph *g, tess_gvalue v, const tess_gtype *t) {
  g->value.v[v].type = keep_type(g, t);
}

void graph_output_add(tess_graph *g, const char *name, tess_gvalue v) {
  const char *kept = keep_name(g, name);
  vec_reserve(&g->c->heap, &g->output_name, 1);
  vec_push(&g->c->heap, &g->outputs, v);
  vec_push(&g->c->heap, &g->output_name, kept);
}

/* ---- nodes -------------------------------------------------------------- */

static graph_node copy_def(tess_graph *g, const tess_node_def *def) {
  graph_node n = {.op = keep_name(g, def->op),
                  .name = keep_name(g, def->name),
                  .nin = def->nin,
                  .nout = def->nout,
                  .nattr = def->nattr};
  n.in = keep_bytes(g, def->in, n.nin * sizeof *n.in);
  n.out = arena_array(&g->memory, tess_gvalue, n.nout);
  n.attr = arena_array(&g->memory, tess_attr, n.nattr);
  for (uint32_t i = 0; i < n.nattr; i++)
    n.attr[i] = keep_attr(g, &def->attr[i]);
  if (n.nattr) qsort(n.attr, n.nattr, sizeof *n.attr, compare_attrs);
  return n;
}

tess_gnode graph_node_add(tess_graph *g, const tess_node_def *def) {
  mem_heap *heap = &g->c->heap;
  vec_reserve(heap, &g->node, 1);
  vec_reserve(heap, &g->order, 1);
  vec_reserve(heap, &g->value, def->nout);
  graph_node n = copy_def(g, def);
  tess_gtype *type = arena_array(&g->memory, tess_gtype, n.nout);
  const char **name = arena_array(&g->memory, const char *, n.nout);
  for (uint32_t i = 0; i < n.nout; i++) {
    type[i] = keep_type(g, &def->type[i]);
    name[i] = keep_name(g, def->result ? def->result[i] : "");
  }
  for (uint32_t i = 0; i < n.nout; i++) /* from here on nothing fails */
    n.out[i] = add_value(g, (graph_value){.name = name[i],
                                          .type = type[i],
                                          .kind = TESS_G_RESULT,
                                          .node = g->node.n,
                                          .result = i});
  vec_push(heap, &g->order, g->node.n);
  vec_push(heap, &g->node, n);
  return g->node.n - 1;
}

/* ---- asking ------------------------------------------------------------- */

const tess_attr *graph_attr(const graph_node *n, const char *name) {
  for (uint32_t i = 0; i < n->nattr; i++)
    if (!strcmp(n->attr[i].name, name)) return &n->attr[i];
  return NULL;
}

graph_uses graph_find_uses(const tess_graph *g, arena *scratch) {
  uint32_t nvalues = g->value.n, *at;
  at = arena_zalloc(scratch, (nvalues + 2) * sizeof *at);
  for (uint32_t k = 0; k < g->order.n; k++) {
    const graph_node *n = &g->node.v[g->order.v[k]];
    for (uint32_t i = 0; i < n->nin; i++) at[n->in[i] + 2]++;
  }
  for (uint32_t v = 2; v < nvalues + 2; v++) at[v] += at[v - 1];
  tess_gnode *user = arena_array(scratch, tess_gnode, at[nvalues + 1] + 1);
  for (uint32_t k = 0; k < g->order.n; k++) {
    const graph_node *n = &g->node.v[g->order.v[k]];
    for (uint32_t i = 0; i < n->nin; i++)
      user[at[n->in[i] + 1]++] = g->order.v[k];
  }
  return (graph_uses){at, user};
}
