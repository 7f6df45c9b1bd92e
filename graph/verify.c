/* SPDX-License-Identifier: Apache-2.0
 * Whether a graph is well-formed: values exist and are computed before they
 * are taken. */
#include "graph/graph.h"

static void say_node(const tess_graph *g, tess_gnode id, strbuf *why) {
  const graph_node *n = &g->node.v[id];
  str_printf(why, "node %s%s%s of graph %s", n->op, *n->name ? " " : "",
             n->name, g->name);
}

static bool verify_node(const tess_graph *g, tess_gnode id, const uint8_t *done,
                        strbuf *why) {
  const graph_node *n = &g->node.v[id];
  for (uint32_t i = 0; i < n->nin; i++) {
    tess_gvalue v = n->in[i];
    if (!v) continue;
    const graph_value *x = &g->value.v[v];
    if (x->kind != TESS_G_RESULT || done[x->node]) continue;
    say_node(g, id, why);
    str_printf(why, ": input %u, ", i + 1);
    graph_put_value(g, v, why);
    str_puts(why, ", is not computed before it");
    return false;
  }
  return true;
}

bool graph_verify(const tess_graph *g, arena *scratch, strbuf *why) {
  uint8_t *done = arena_zalloc(scratch, g->node.n);
  for (uint32_t k = 0; k < g->order.n; k++) {
    if (!verify_node(g, g->order.v[k], done, why)) return false;
    done[g->order.v[k]] = 1;
  }
  for (uint32_t i = 0; i < g->outputs.n; i++) {
    const graph_value *x = &g->value.v[g->outputs.v[i]];
    if (x->kind != TESS_G_RESULT || done[x->node]) continue;
    str_printf(why, "output %s of graph %s is not computed",
               g->output_name.v[i], g->name);
    return false;
  }
  return true;
}
