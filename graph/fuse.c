/* SPDX-License-Identifier: Apache-2.0
 * Fusion by categories over post-dominators, as TVM's FuseOps
 * (src/relay/analysis/graph_partitioner.cc): a node goes into the group of the
 * node through which all that it gives flows, if every node between allows it.
 *
 * Positions, not nodes, are what is computed with here: they count in the
 * order, and what a node gives is taken at later ones. */
#include "graph/fuse.h"

enum { NONE = UINT32_MAX, MOST_NODES = 256 };

typedef struct fusing {
  tess_graph *g;
  uint32_t n;
  const tess_category *category;
  uint32_t *position; /* by node */
  graph_uses uses;
  uint8_t *is_output;        /* by value */
  uint32_t *dominator;       /* by position; NONE: what leaves the graph */
  uint32_t *depth;           /* in the tree of dominators */
  tess_category *on_the_way; /* the most there is between it and it */
  uint32_t *group;           /* a union of positions: towards its last one */
  uint32_t *size;            /* of the group, at its root */
  tess_category *kind;       /* likewise: the most in the group */
  uint8_t *seen;             /* by position, of one walk */
  uint32_t *stack;
} fusing;

static const graph_node *node_at(const fusing *f, uint32_t i) {
  return &f->g->node.v[f->g->order.v[i]];
}

static tess_category most(tess_category a, tess_category b) {
  return a > b ? a : b;
}

/* ---- post-dominators ---------------------------------------------------- */

/* The nearest position through which both ways go; NONE: there is none.  *kind
 * becomes the most on both ways. */
static uint32_t common(const fusing *f, uint32_t a, uint32_t b,
                       tess_category *kind) {
  while (a != b) {
    if (a == NONE || b == NONE) return NONE;
    uint32_t *lower = f->depth[a] >= f->depth[b] ? &a : &b;
    *kind = most(*kind, f->on_the_way[*lower]);
    *lower = f->dominator[*lower];
  }
  return a;
}

static void find_dominator(fusing *f, uint32_t i) {
  const graph_node *n = node_at(f, i);
  uint32_t at = NONE;
  tess_category kind = TESS_FUSE_ELEMENTWISE;
  bool first = true, leaves = false;
  for (uint32_t r = 0; r < n->nout; r++) {
    tess_gvalue v = n->out[r];
    leaves |= f->is_output[v] != 0;
    for (uint32_t u = f->uses.at[v]; u < f->uses.at[v + 1]; u++) {
      uint32_t user = f->position[f->uses.user[u]];
      kind = most(kind, f->category[user]);
      at = first ? user : common(f, at, user, &kind);
      first = false;
    }
  }
  f->dominator[i] = leaves ? NONE : at;
  f->on_the_way[i] = kind;
  f->depth[i] = f->dominator[i] == NONE ? 1 : f->depth[f->dominator[i]] + 1;
}

/* ---- groups ------------------------------------------------------------- */

static uint32_t root_of(fusing *f, uint32_t i) {
  while (f->group[i] != i) {
    f->group[i] = f->group[f->group[i]];
    i = f->group[i];
  }
  return i;
}

/* Whether all nodes between a position and its dominator `to` are at the most
 * of that category, with all that is in their groups. */
static bool path_allows(fusing *f, uint32_t from, uint32_t to,
                        tess_category limit) {
  uint32_t depth = 0;
  bool fine = true;
  memset(f->seen, 0, f->n);
  f->stack[depth++] = from;
  while (depth && fine) {
    uint32_t i = f->stack[--depth];
    const graph_node *n = node_at(f, i);
    if (i != from) fine = f->kind[root_of(f, i)] <= limit;
    for (uint32_t r = 0; r < n->nout; r++)
      for (uint32_t u = f->uses.at[n->out[r]]; u < f->uses.at[n->out[r] + 1];
           u++) {
        uint32_t user = f->position[f->uses.user[u]];
        if (user == to || f->seen[user]) continue;
        f->seen[user] = 1;
        f->stack[depth++] = user;
      }
  }
  return fine;
}

static void merge(fusing *f, uint32_t i, uint32_t into) {
  uint32_t a = root_of(f, i), b = root_of(f, into);
  if (a == b) return;
  f->group[a] = b;
  f->size[b] += f->size[a];
  f->kind[b] = most(f->kind[b], f->kind[a]);
}

/* path_allows has marked what is between. */
static void merge_path(fusing *f, uint32_t from, uint32_t to) {
  merge(f, from, to);
  for (uint32_t i = from + 1; i < to; i++)
    if (f->seen[i]) merge(f, i, to);
}

/* Whether what is at i may flow into its dominator's group, and up to what
 * category nodes on the way may be. */
static bool may_fuse(fusing *f, uint32_t i, tess_category *limit) {
  tess_category own = f->kind[root_of(f, i)];
  uint32_t to = f->dominator[i];
  tess_category its = f->kind[root_of(f, to)];
  if (own == TESS_FUSE_OUT_FUSABLE) {
    *limit = TESS_FUSE_BROADCAST;
    return f->on_the_way[i] <= TESS_FUSE_BROADCAST &&
           its <= TESS_FUSE_BROADCAST;
  }
  *limit = TESS_FUSE_INJECTIVE;
  if (own <= TESS_FUSE_BROADCAST)
    return f->on_the_way[i] <= TESS_FUSE_REDUCTION &&
           its <= TESS_FUSE_OUT_FUSABLE;
  return own == TESS_FUSE_INJECTIVE && f->on_the_way[i] <= TESS_FUSE_INJECTIVE;
}

static void fuse_from(fusing *f, uint32_t i) {
  uint32_t to = f->dominator[i];
  tess_category limit;
  if (to == NONE || root_of(f, i) == root_of(f, to)) return;
  if (f->size[root_of(f, i)] + f->size[root_of(f, to)] > MOST_NODES) return;
  if (may_fuse(f, i, &limit) && path_allows(f, i, to, limit))
    merge_path(f, i, to);
}

/* ---- the order ---------------------------------------------------------- */

/* All of a group stand where its last node stood: what they take was computed
 * before, and what they give is taken by the group alone, but for the last. */
static void place_groups(fusing *f, tess_gnode *order) {
  uint32_t *first = f->stack, *next = f->dominator, n = 0, number = 0;
  for (uint32_t i = 0; i < f->n; i++) first[i] = NONE;
  for (uint32_t i = f->n; i-- > 0;) {
    uint32_t r = root_of(f, i);
    next[i] = first[r];
    first[r] = i;
  }
  for (uint32_t i = 0; i < f->n; i++) {
    if (root_of(f, i) != i) continue;
    number++;
    for (uint32_t k = first[i]; k != NONE; k = next[k]) {
      order[n++] = f->g->order.v[k];
      f->g->node.v[f->g->order.v[k]].group = number;
    }
  }
}

static fusing start_fusing(tess_graph *g, const tess_category *category,
                           arena *a) {
  uint32_t n = g->order.n;
  fusing f = {.g = g,
              .n = n,
              .category = category,
              .position = arena_array(a, uint32_t, g->node.n),
              .uses = graph_find_uses(g, a),
              .is_output = arena_zalloc(a, g->value.n),
              .dominator = arena_array(a, uint32_t, n),
              .depth = arena_array(a, uint32_t, n),
              .on_the_way = arena_array(a, tess_category, n),
              .group = arena_array(a, uint32_t, n),
              .size = arena_array(a, uint32_t, n),
              .kind = arena_array(a, tess_category, n),
              .seen = arena_zalloc(a, n),
              .stack = arena_array(a, uint32_t, n)};
  for (uint32_t i = 0; i < n; i++) {
    f.position[g->order.v[i]] = i;
    f.group[i] = i;
    f.size[i] = 1;
    f.kind[i] = category[i];
  }
  for (uint32_t i = 0; i < g->outputs.n; i++) f.is_output[g->outputs.v[i]] = 1;
  return f;
}

void graph_fuse(tess_graph *g, const tess_category *category, arena *scratch) {
  fusing f = start_fusing(g, category, scratch);
  tess_gnode *order = arena_array(scratch, tess_gnode, f.n);
  for (uint32_t i = f.n; i-- > 0;) find_dominator(&f, i);
  for (int phase = 0; phase < 2; phase++)
    for (uint32_t i = 0; i < f.n; i++) {
      bool last = f.kind[root_of(&f, i)] == TESS_FUSE_INJECTIVE;
      if ((phase == 1) == last) fuse_from(&f, i);
    }
  place_groups(&f, order);
  if (f.n) memcpy(g->order.v, order, f.n * sizeof *order);
}
