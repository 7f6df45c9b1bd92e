/* SPDX-License-Identifier: Apache-2.0
 * Growing and asking random forests. */
#include "search/model/forest.h"

#include "base/rng.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SAMPLES = 2048, MOST_DEPTH = 40 };

typedef struct node {
  int32_t column;  /* -1: a leaf */
  float threshold; /* left: at most that */
  uint32_t left, right;
  float mean, variance, gain;
} node;

typedef struct tree {
  uint32_t n;
  node *v;
} tree;

struct forest {
  uint32_t n;
  tree *v;
};

typedef struct key {
  float x;
  uint32_t i; /* which sample */
} key;

typedef struct growth {
  const forest_options *o;
  uint32_t width, ncolumn;
  const uint32_t *column; /* those that are not all the same */
  const float *x;
  const double *y;
  const uint32_t *order; /* of each such column: the samples by its value */
  uint32_t samples;      /* of the fit */
  uint32_t *sample, *spare;
  uint32_t *chosen; /* places in `column`, shuffled */
  uint32_t *times;  /* how often a sample is in the node */
  key *key, *merged;
  rng r;
  node *v;
  uint32_t n;
} growth;

static int by_value(const void *p, const void *q) {
  const key *a = p, *b = q;
  if (a->x != b->x) return a->x < b->x ? -1 : 1;
  return a->i < b->i ? -1 : a->i > b->i;
}

/* ---- samples in the order of a column ----------------------------------- */

static bool comes_before(key a, key b) {
  return a.x < b.x || (a.x == b.x && a.i < b.i);
}

static void insert_keys(key *v, uint32_t n) {
  for (uint32_t k = 1; k < n; k++) {
    key x = v[k];
    uint32_t at = k;
    for (; at > 0 && comes_before(x, v[at - 1]); at--) v[at] = v[at - 1];
    v[at] = x;
  }
}

static void merge_keys(const key *v, uint32_t m, uint32_t n, key *out) {
  uint32_t i = 0, j = m;
  for (uint32_t k = 0; k < n; k++)
    out[k] = j == n || (i < m && !comes_before(v[j], v[i])) ? v[i++] : v[j++];
}

/* A merge sort: qsort's calls of by_value would take a third of the time of
 * proposing. */
static void sort_keys(key *v, uint32_t n, key *spare) {
  enum { RUN = 12 };
  key *from = v, *to = spare;
  for (uint32_t at = 0; at < n; at += RUN)
    insert_keys(v + at, n - at < RUN ? n - at : RUN);
  for (uint32_t run = RUN; run < n; run *= 2) {
    for (uint32_t at = 0; at < n; at += 2 * run) {
      uint32_t end = n - at < 2 * run ? n - at : 2 * run;
      merge_keys(from + at, end < run ? end : run, end, to + at);
    }
    key *done = to;
    to = from;
    from = done;
  }
  if (from != v) memcpy(v, from, n * sizeof *v);
}

/* Leaves the n samples of the node from `from` on in g->key, by their values:
 * where they are many of all by walking through all in their order. */
static void order_samples(growth *g, uint32_t chosen, uint32_t from,
                          uint32_t n) {
  enum { MANY = 6 };
  uint32_t at = 0;
  const float *x = g->x + g->column[chosen];
  if (n < g->samples / MANY) {
    for (uint32_t k = 0; k < n; k++) {
      uint32_t i = g->sample[from + k];
      g->key[k] = (key){x[(size_t)i * g->width], i};
    }
    sort_keys(g->key, n, g->merged);
    return;
  }
  const uint32_t *order = g->order + (size_t)chosen * g->samples;
  for (uint32_t k = 0; at < n; k++)
    for (uint32_t times = g->times[order[k]]; times > 0; times--)
      g->key[at++] = (key){x[(size_t)order[k] * g->width], order[k]};
}

/* ---- splits ------------------------------------------------------------- */

typedef struct split {
  int32_t column;
  float threshold;
  double gain;
} split;

/* The best threshold of one column for samples [from, to). */
static void try_column(growth *g, uint32_t chosen, uint32_t from, uint32_t to,
                       double sum, split *best) {
  uint32_t n = to - from;
  double left = 0;
  order_samples(g, chosen, from, n);
  for (uint32_t k = 1; k < n; k++) {
    left += g->y[g->key[k - 1].i];
    if (g->key[k].x == g->key[k - 1].x) continue;
    if (k < g->o->leaf || n - k < g->o->leaf) continue;
    double right = sum - left;
    double gain = left * left / k + right * right / (n - k) - sum * sum / n;
    if (gain <= best->gain) continue;
    *best = (split){(int32_t)g->column[chosen],
                    0.5f * (g->key[k].x + g->key[k - 1].x), gain};
  }
}

/* Some columns without repetition: the first of a shuffle. */
static split find_split(growth *g, uint32_t from, uint32_t to, double sum,
                        double least) {
  split best = {-1, 0, least};
  uint32_t wanted = (uint32_t)ceil(g->o->share * g->ncolumn);
  for (uint32_t k = from; k < to; k++) g->times[g->sample[k]]++;
  for (uint32_t k = 0; k < wanted; k++) {
    uint32_t at = k + (uint32_t)rng_below(&g->r, g->ncolumn - k);
    uint32_t column = g->chosen[at];
    g->chosen[at] = g->chosen[k];
    g->chosen[k] = column;
    try_column(g, column, from, to, sum, &best);
  }
  for (uint32_t k = from; k < to; k++) g->times[g->sample[k]] = 0;
  return best;
}

/* Samples that go left come first, each side in its order. */
static uint32_t divide(growth *g, const split *s, uint32_t from, uint32_t to) {
  uint32_t left = from, right = 0;
  for (uint32_t k = from; k < to; k++) {
    uint32_t i = g->sample[k];
    if (g->x[(size_t)i * g->width + (uint32_t)s->column] <= s->threshold)
      g->sample[left++] = i;
    else
      g->spare[right++] = i;
  }
  memcpy(g->sample + left, g->spare, right * sizeof *g->sample);
  return left;
}

static uint32_t forest_grow(growth *g, uint32_t from, uint32_t to,
                            uint32_t depth) {
  uint32_t at = g->n++, n = to - from;
  double sum = 0, square = 0;
  for (uint32_t k = from; k < to; k++) {
    double y = g->y[g->sample[k]];
    sum += y;
    square += y * y;
  }
  double variance = square / n - sum / n * (sum / n);
  g->v[at] = (node){.column = -1,
                    .mean = (float)(sum / n),
                    .variance = (float)(variance > 0 ? variance : 0)};
  if (n < 2 * g->o->leaf || depth >= MOST_DEPTH || variance <= 1e-12) return at;
  split s = find_split(g, from, to, sum, 1e-9 * n * variance);
  if (s.column < 0) return at;
  uint32_t middle = divide(g, &s, from, to);
  if (middle == from || middle == to) return at;
  uint32_t left = forest_grow(g, from, middle, depth + 1);
  uint32_t right = forest_grow(g, middle, to, depth + 1);
  g->v[at].column = s.column;
  g->v[at].threshold = s.threshold;
  g->v[at].gain = (float)s.gain;
  g->v[at].left = left;
  g->v[at].right = right;
  return at;
}

static const uint32_t *find_columns(arena *a, uint32_t n, uint32_t width,
                                    const float *x, uint32_t *count) {
  uint32_t *out = arena_array(a, uint32_t, width + 1);
  *count = 0;
  for (uint32_t c = 0; c < width; c++)
    for (uint32_t i = 1; i < n; i++)
      if (x[(size_t)i * width + c] != x[c]) {
        out[(*count)++] = c;
        break;
      }
  return out;
}

/* The samples in the order of each column. */
static const uint32_t *find_orders(arena *a, const growth *g, uint32_t n) {
  uint32_t *out = arena_array(a, uint32_t, (size_t)n * g->ncolumn + 1);
  key *v = arena_array(a, key, n + 1);
  for (uint32_t c = 0; c < g->ncolumn; c++) {
    for (uint32_t i = 0; i < n; i++)
      v[i] = (key){g->x[(size_t)i * g->width + g->column[c]], i};
    qsort(v, n, sizeof *v, by_value);
    for (uint32_t i = 0; i < n; i++) out[(size_t)c * n + i] = v[i].i;
  }
  return out;
}

forest *forest_fit(arena *a, const forest_options *o, uint32_t n,
                   uint32_t width, const float *x, const double *y) {
  forest *f = arena_new(a, forest);
  growth g = {.o = o, .width = width, .x = x, .y = y};
  uint32_t draws = n < MOST_SAMPLES ? n : MOST_SAMPLES;
  g.column = find_columns(a, n, width, x, &g.ncolumn);
  g.sample = arena_array(a, uint32_t, draws + 1);
  g.spare = arena_array(a, uint32_t, draws + 1);
  g.chosen = arena_array(a, uint32_t, g.ncolumn + 1);
  g.key = arena_array(a, key, draws + 1);
  g.merged = arena_array(a, key, draws + 1);
  g.times = arena_zalloc(a, (n + 1) * sizeof *g.times);
  g.samples = n;
  g.order = find_orders(a, &g, n);
  f->v = arena_array(a, tree, o->trees);
  for (uint32_t k = 0; k < g.ncolumn; k++) g.chosen[k] = k;
  for (uint32_t t = 0; t < o->trees && n; t++) {
    rng_init(&g.r, o->seed, t);
    for (uint32_t k = 0; k < draws; k++)
      g.sample[k] = (uint32_t)rng_below(&g.r, n);
    g.v = arena_array(a, node, 2 * (size_t)draws);
    g.n = 0;
    forest_grow(&g, 0, draws, 0);
    f->v[f->n++] = (tree){g.n, g.v};
  }
  return f;
}

static const node *find_leaf(const tree *t, const float *row) {
  const node *at = t->v;
  while (at->column >= 0)
    at = &t->v[row[at->column] <= at->threshold ? at->left : at->right];
  return at;
}

void forest_predict(const forest *f, const float *row, double *mean,
                    double *variance) {
  double sum = 0, within = 0, square = 0;
  for (uint32_t t = 0; t < f->n; t++) {
    const node *at = find_leaf(&f->v[t], row);
    sum += at->mean;
    square += (double)at->mean * at->mean;
    within += at->variance;
  }
  double n = f->n ? f->n : 1;
  *mean = sum / n;
  *variance = fmax(0, (within + square) / n - *mean * *mean);
}

void forest_covary(const forest *f, const float *at, uint32_t n,
                   const float *const *row, double *out) {
  double here = 0, trees = f->n ? f->n : 1;
  for (uint32_t t = 0; t < f->n; t++) here += find_leaf(&f->v[t], at)->mean;
  here /= trees;
  memset(out, 0, n * sizeof *out);
  for (uint32_t t = 0; t < f->n; t++) {
    const node *leaf = find_leaf(&f->v[t], at);
    double off = (leaf->mean - here) / trees, within = leaf->variance / trees;
    for (uint32_t i = 0; i < n; i++) {
      const node *x = find_leaf(&f->v[t], row[i]);
      out[i] += off * x->mean + (x == leaf ? within : 0);
    }
  }
}

void forest_importance(const forest *f, double *out) {
  for (uint32_t t = 0; t < f->n; t++)
    for (uint32_t k = 0; k < f->v[t].n; k++)
      if (f->v[t].v[k].column >= 0)
        out[f->v[t].v[k].column] += f->v[t].v[k].gain;
}
