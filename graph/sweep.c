/* SPDX-License-Identifier: Apache-2.0
 * Changing graphs: another value in place of one, unneeded nodes gone, and an
 * order in which nodes can run. */
#include "graph/graph.h"

void graph_replace(tess_graph *g, tess_gvalue old, tess_gvalue v) {
  for (uint32_t k = 0; k < g->order.n; k++) {
    graph_node *n = &g->node.v[g->order.v[k]];
    for (uint32_t i = 0; i < n->nin; i++)
      if (n->in[i] == old) n->in[i] = v;
  }
  for (uint32_t i = 0; i < g->outputs.n; i++)
    if (g->outputs.v[i] == old) g->outputs.v[i] = v;
}

/* ---- sweeping ----------------------------------------------------------- */

enum { NEW, OPEN, DONE };

typedef struct sweep {
  tess_graph *g;
  uint8_t *state;  /* by node */
  uint8_t *needed; /* by node */
  tess_gnode *stack;
  uint32_t depth;
  tess_gnode *order;
  uint32_t n;
} sweep;

static tess_gnode producer(const tess_graph *g, tess_gvalue v) {
  return v && g->value.v[v].kind == TESS_G_RESULT ? g->value.v[v].node : 0;
}

static void need(sweep *s, tess_gvalue v) {
  tess_gnode n = producer(s->g, v);
  if (!n || s->needed[n]) return;
  s->needed[n] = 1;
  s->stack[s->depth++] = n;
}

static void find_needed(sweep *s) {
  for (uint32_t i = 0; i < s->g->outputs.n; i++) need(s, s->g->outputs.v[i]);
  while (s->depth) {
    const graph_node *n = &s->g->node.v[s->stack[--s->depth]];
    for (uint32_t i = 0; i < n->nin; i++) need(s, n->in[i]);
  }
}

/* A node that has to run before n and does not yet; 0: there is none. */
static tess_gnode missing(const sweep *s, tess_gnode n) {
  const graph_node *node = &s->g->node.v[n];
  for (uint32_t i = 0; i < node->nin; i++) {
    tess_gnode p = producer(s->g, node->in[i]);
    if (p && s->state[p] != DONE) return p;
  }
  return 0;
}

/* Puts n and all that it needs into the order, which were not there. */
static tess_status place_with_needs(sweep *s, tess_gnode n) {
  s->stack[s->depth++] = n;
  s->state[n] = OPEN;
  while (s->depth) {
    tess_gnode top = s->stack[s->depth - 1], p = missing(s, top);
    if (p && s->state[p] == OPEN) return TESS_INVALID;
    if (p) {
      s->state[p] = OPEN;
      s->stack[s->depth++] = p;
    } else {
      s->state[top] = DONE;
      s->order[s->n++] = top;
      s->depth--;
    }
  }
  return TESS_OK;
}

tess_status graph_sweep(tess_graph *g, arena *scratch) {
  size_t n = g->node.n;
  sweep s = {.g = g,
             .state = arena_zalloc(scratch, n),
             .needed = arena_zalloc(scratch, n),
             .stack = arena_array(scratch, tess_gnode, n),
             .order = arena_array(scratch, tess_gnode, n)};
  find_needed(&s);
  for (uint32_t k = 0; k < g->order.n; k++) {
    tess_gnode node = g->order.v[k];
    if (!s.needed[node] || s.state[node] == DONE) continue;
    if (place_with_needs(&s, node) != TESS_OK) return TESS_INVALID;
  }
  if (s.n) memcpy(g->order.v, s.order, s.n * sizeof *s.order);
  g->order.n = s.n; /* never more than before: each was in it */
  return TESS_OK;
}
