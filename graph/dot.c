/* SPDX-License-Identifier: Apache-2.0
 * Graphs as drawings in Graphviz's language: nodes, groups as boxes around
 * them, and the tensors that flow along edges. */
#include "graph/graph.h"

/* Text within a label's quotes; what a text of ours may hold is no more than
 * quotes and backslashes away from it. */
static void put_label(strbuf *out, const char *text) {
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') str_putc(out, '\\');
    str_putc(out, *text);
  }
}

static void put_id(const tess_graph *g, tess_gvalue v, strbuf *out) {
  const graph_value *x = &g->value.v[v];
  if (x->kind == TESS_G_RESULT)
    str_printf(out, "n%u", x->node);
  else
    str_printf(out, "v%u", v);
}

static void draw_edge(const tess_graph *g, tess_gvalue v, const char *to,
                      uint32_t number, strbuf *out) {
  str_puts(out, "  ");
  put_id(g, v, out);
  str_printf(out, " -> %s%u [label=\"", to, number);
  strbuf type;
  str_init(&type, out->heap);
  graph_put_type(&g->value.v[v].type, &type);
  put_label(out, str_or(&type, ""));
  str_free(&type);
  str_puts(out, "\"];\n");
}

static void draw_inputs(const tess_graph *g, strbuf *out) {
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    str_printf(out, "  v%u [shape=oval, label=\"", g->inputs.v[i]);
    put_label(out, g->value.v[g->inputs.v[i]].name);
    str_puts(out, "\"];\n");
  }
  for (uint32_t i = 0; i < g->outputs.n; i++) {
    str_printf(out, "  o%u [shape=oval, label=\"", i);
    put_label(out, g->output_name.v[i]);
    str_puts(out, "\"];\n");
  }
}

static void draw_node(const tess_graph *g, tess_gnode id, strbuf *out) {
  str_printf(out, "  n%u [label=\"", id);
  put_label(out, g->node.v[id].op);
  str_puts(out, "\"];\n");
}

/* Nodes of one group stand next to each other in the order. */
static void draw_nodes(const tess_graph *g, strbuf *out) {
  uint32_t group = 0;
  for (uint32_t k = 0; k < g->order.n; k++) {
    uint32_t its = g->node.v[g->order.v[k]].group;
    if (its != group && group) str_puts(out, "  }\n");
    if (its != group && its)
      str_printf(out, "  subgraph cluster_%u {\n  style=rounded;\n", its);
    group = its;
    draw_node(g, g->order.v[k], out);
  }
  if (group) str_puts(out, "  }\n");
}

static void draw_edges(const tess_graph *g, strbuf *out) {
  for (uint32_t k = 0; k < g->order.n; k++) {
    const graph_node *n = &g->node.v[g->order.v[k]];
    for (uint32_t i = 0; i < n->nin; i++) {
      tess_gvalue v = n->in[i];
      if (v && g->value.v[v].kind != TESS_G_CONSTANT)
        draw_edge(g, v, "n", g->order.v[k], out);
    }
  }
  for (uint32_t i = 0; i < g->outputs.n; i++)
    draw_edge(g, g->outputs.v[i], "o", i, out);
}

void graph_draw(const tess_graph *g, strbuf *out) {
  str_puts(out, "digraph \"");
  put_label(out, g->name);
  str_puts(out, "\" {\n  node [shape=box, fontname=\"sans-serif\"];\n"
                "  edge [fontsize=9, fontname=\"sans-serif\"];\n");
  draw_inputs(g, out);
  draw_nodes(g, out);
  draw_edges(g, out);
  str_puts(out, "}\n");
}
