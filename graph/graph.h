/* SPDX-License-Identifier: Apache-2.0
 * Whole models as data: a graph of operators (include/tessera/graph.h says what
 * it is made of).
 *
 * Tables only grow: a value or a node keeps its number, and one that nobody
 * needs any more is left out of `order`.  All but the tables and the constants'
 * tensors is in one arena, freed with the graph.
 *
 * How a file of another language becomes a graph.  A reader makes one node for
 * each of the file's, of the operator "onnx.Conv", with the attributes as they
 * are in the file (a tensor among them becomes a constant, a subgraph a graph
 * in which values of outside are OUTER) and results of whatever type the file
 * says, or none (dtype.bits 0).  Weights become constants that keep a tensor:
 * one over the mapped file where the address is a multiple of the element's
 * size, else a copy.  Then stdlib/graph/onnx/import.lua replaces each node, in
 * order, by nodes of tessera.ops: what operators one is says a function of
 * Lua, which gets the values that its inputs became, and may ask for their
 * shapes and, of those that fold, their contents.
 *
 * Functions that change a graph unwind when memory runs out, before they have
 * changed anything. */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include "base/arena.h"
#include "base/context.h"
#include "base/vec.h"

enum { GRAPH_MAX_DIM = 16 };

typedef struct graph_value {
  const char *name;       /* "": none */
  tess_gtype type;
  tess_gkind kind;
  uint32_t result;        /* of a RESULT: which of the node's it is */
  tess_gnode node;
  tess_tensor *tensor;    /* of a CONSTANT: held */
} graph_value;

typedef struct graph_node {
  const char *op, *name;  /* name "": none */
  uint32_t nin, nout, nattr, group;
  tess_gvalue *in, *out;
  tess_attr *attr;        /* sorted by name */
} graph_node;


struct tess_graph {
  tess_context *c;
  uint32_t refs;          /* tess_graph_free drops one */
  arena memory;
  const char *name;
  VEC(graph_value) value; /* from 1 */
  VEC(graph_node) node;   /* from 1 */
  VEC(tess_gnode) order;
  VEC(tess_gvalue) inputs, outputs;
  VEC(const char *) output_name;
};

/* ---- making (graph.c) --------------------------------------------------- */

/* As the public functions, but unwinding; what they are given was checked. */
tess_graph *graph_new(tess_context *c, const char *name);
tess_gvalue graph_input(tess_graph *g, const char *name, const tess_gtype *t,
                        tess_gkind kind);
tess_gvalue graph_constant(tess_graph *g, const char *name, tess_tensor *t);
/* What a value is, where its tensor does not say it. */
void graph_set_type(tess_graph *g, tess_gvalue v, const tess_gtype *t);
tess_gnode graph_node_add(tess_graph *g, const tess_node_def *def);
void graph_output_add(tess_graph *g, const char *name, tess_gvalue v);

/* ---- asking (graph.c) --------------------------------------------------- */

static inline bool graph_has(const tess_graph *g, tess_gvalue v) {
  return v && v < g->value.n;
}
/* The attribute of that name; NULL: there is none. */
const tess_attr *graph_attr(const graph_node *n, const char *name);
/* Who takes each value, as rows of one table: of value v the nodes
 * user[at[v] .. at[v + 1] - 1], in order, each as often as it takes it. */
typedef struct graph_uses {
  uint32_t *at;
  tess_gnode *user;
} graph_uses;
graph_uses graph_find_uses(const tess_graph *g, arena *scratch);

/* ---- changing (sweep.c) ------------------------------------------------- */

void graph_replace(tess_graph *g, tess_gvalue old, tess_gvalue v);
/* INVALID, without a message: the nodes go in a circle. */
tess_status graph_sweep(tess_graph *g, arena *scratch);

/* ---- text --------------------------------------------------------------- */

/* The name that a value has in a text: its own, or %7. */
void graph_put_value(const tess_graph *g, tess_gvalue v, strbuf *out);
/* "float32[1, n]". */
void graph_put_type(const tess_gtype *t, strbuf *out);
void graph_print(const tess_graph *g, strbuf *out);
void graph_draw(const tess_graph *g, strbuf *out);   /* dot.c */
/* Whether it is well-formed; else false and the reason (verify.c). */
bool graph_verify(const tess_graph *g, arena *scratch, strbuf *why);

#endif
