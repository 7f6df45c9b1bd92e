/* SPDX-License-Identifier: Apache-2.0
 * Passes of the TreeGRU over a batch of trees. */
#include "search/model/gru.h"

#include <math.h>
#include <string.h>

enum { S = GRU_STATE, GATES = 4 };

gru_shape gru_shape_of(uint32_t width) {
  gru_shape s = {.input = width - 1};
  s.embed_bias = s.embed + S * s.input;
  s.in = s.embed_bias + S;
  s.in_bias = s.in + 3 * S * S;
  s.hidden = s.in_bias + 3 * S;
  s.hidden_bias = s.hidden + 3 * S * S;
  s.out = s.hidden_bias + 3 * S;
  s.n = s.out + S + 1;
  return s;
}

/* ---- making a batch ----------------------------------------------------- */

/* Cells as they are found: numbered so until levels are known. */
typedef struct building {
  gru_batch *g;
  arena *a;
  gru_cell *cell;
  uint32_t n, *height; /* of states: embeddings have 0 */
  uint32_t *fold;      /* by row: state of the children so far; 0: none */
} building;

static uint32_t add_cell(building *w, uint32_t x, uint32_t h) {
  uint32_t at = 1 + w->g->nrow + w->n;
  uint32_t hx = w->height[x], hh = w->height[h];
  w->cell[w->n++] = (gru_cell){x, h};
  w->height[at] = 1 + (hx > hh ? hx : hh);
  return at;
}

/* One more state after those folded: the first stands for itself. */
static uint32_t fold(building *w, uint32_t so_far, uint32_t state) {
  return so_far ? add_cell(w, state, so_far) : state;
}

/* Rows of a tree: children stand behind their parents, so from the last to
 * the first all children are known, the last of them first. */
static uint32_t add_tree(building *w, const gru_trees *t, uint32_t i) {
  uint32_t first = t->first[i], n = t->first[i + 1] - first, top = 0;
  for (uint32_t k = n; k-- > 0;) {
    uint32_t row = first + k;
    uint32_t state = add_cell(w, 1 + row, w->fold[row]);
    float parent = t->v[(size_t)row * t->width];
    if (parent >= 0 && parent < (float)k) {
      uint32_t above = first + (uint32_t)parent;
      w->fold[above] = fold(w, w->fold[above], state);
    } else
      top = fold(w, top, state);
  }
  return top;
}

/* Cells in the order of their heights, and states renumbered so. */
static void sort_cells(building *w) {
  gru_batch *g = w->g;
  uint32_t base = 1 + g->nrow, most = 0;
  for (uint32_t i = 0; i < w->n; i++)
    if (w->height[base + i] > most) most = w->height[base + i];
  uint32_t *at = arena_zalloc(w->a, (most + 2) * sizeof *at);
  uint32_t *to = arena_array(w->a, uint32_t, base + w->n);
  for (uint32_t i = 0; i < w->n; i++) at[w->height[base + i] + 1]++;
  for (uint32_t k = 1; k <= most + 1; k++) at[k] += at[k - 1];
  g->nlevel = most;
  g->level = arena_array(w->a, uint32_t, most + 1);
  memcpy(g->level, at + 1, (most + 1) * sizeof *at);
  for (uint32_t i = 0; i < base; i++) to[i] = i;
  for (uint32_t i = 0; i < w->n; i++)
    to[base + i] = base + at[w->height[base + i]]++;
  g->cell = arena_array(w->a, gru_cell, w->n + 1);
  for (uint32_t i = 0; i < w->n; i++)
    g->cell[to[base + i] - base] =
        (gru_cell){to[w->cell[i].x], to[w->cell[i].h]};
  for (uint32_t i = 0; i < g->ntree; i++) g->result[i] = to[g->result[i]];
}

static void fill_input(gru_batch *g, const gru_trees *t, const double *shift,
                       const double *scale) {
  uint32_t n = g->shape.input;
  for (uint32_t r = 0; r < g->nrow; r++)
    for (uint32_t k = 0; k < n; k++)
      g->input[(size_t)r * n + k] =
          (t->v[(size_t)r * t->width + k + 1] - shift[k]) * scale[k];
}

static void make_room(gru_batch *g, arena *a) {
  size_t states = 1 + (size_t)g->nrow + g->ncell, widest = 1;
  for (uint32_t l = 0; l < g->nlevel; l++)
    if (g->level[l + 1] - g->level[l] > widest)
      widest = g->level[l + 1] - g->level[l];
  g->state = arena_zalloc(a, states * S * sizeof(double));
  g->dstate = arena_array(a, double, states *S);
  g->gates = arena_array(a, double, ((size_t)g->ncell + 1) * GATES * S);
  g->x = arena_array(a, double, widest *S);
  g->h = arena_array(a, double, widest *S);
  g->dx = arena_array(a, double, widest *S);
  g->dh = arena_array(a, double, widest *S);
  g->gx = arena_array(a, double, widest * 3 * S);
  g->gh = arena_array(a, double, widest * 3 * S);
}

void gru_begin(gru_batch *g, arena *a, const blas *b, const gru_trees *t,
               const double *shift, const double *scale) {
  *g = (gru_batch){.shape = gru_shape_of(t->width), .b = b, .ntree = t->n};
  g->nrow = t->first[t->n];
  building w = {.g = g, .a = a};
  uint32_t most = 2 * g->nrow + 1; /* a cell a node, and one to fold it */
  w.cell = arena_array(a, gru_cell, most);
  w.height = arena_zalloc(a, (1 + (size_t)g->nrow + most) * sizeof *w.height);
  w.fold = arena_zalloc(a, ((size_t)g->nrow + 1) * sizeof *w.fold);
  g->result = arena_array(a, uint32_t, t->n + 1);
  for (uint32_t i = 0; i < t->n; i++) g->result[i] = add_tree(&w, t, i);
  g->ncell = w.n;
  sort_cells(&w);
  g->input = arena_array(a, double, (size_t)g->nrow * g->shape.input + 1);
  fill_input(g, t, shift, scale);
  make_room(g, a);
}

/* ---- forward ------------------------------------------------------------ */

static double *state_of(const gru_batch *g, double *of, uint32_t i) {
  (void)g;
  return of + (size_t)i * S;
}

static void embed(gru_batch *g, const double *weight) {
  double *out = state_of(g, g->state, 1);
  const double *bias = weight + g->shape.embed_bias;
  blas_product(g->b, false, true, g->nrow, S, g->shape.input, g->input,
               weight + g->shape.embed, 0, out);
  for (uint32_t r = 0; r < g->nrow; r++)
    for (int k = 0; k < S; k++) {
      double v = out[(size_t)r * S + k] + bias[k];
      out[(size_t)r * S + k] = v > 0 ? v : 0;
    }
}

static void gru_gather(gru_batch *g, uint32_t from, uint32_t to) {
  for (uint32_t i = from; i < to; i++) {
    const gru_cell *c = &g->cell[i];
    memcpy(g->x + (size_t)(i - from) * S, state_of(g, g->state, c->x),
           S * sizeof(double));
    memcpy(g->h + (size_t)(i - from) * S, state_of(g, g->state, c->h),
           S * sizeof(double));
  }
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static void run_cell(const gru_batch *g, const double *weight, uint32_t i,
                     uint32_t row) {
  const double *gx = g->gx + (size_t)row * 3 * S, *bx;
  const double *gh = g->gh + (size_t)row * 3 * S, *bh;
  const double *h = g->h + (size_t)row * S;
  double *gate = g->gates + (size_t)i * GATES * S;
  double *out = state_of(g, g->state, 1 + g->nrow + i);
  bx = weight + g->shape.in_bias;
  bh = weight + g->shape.hidden_bias;
  for (int k = 0; k < S; k++) {
    double z = sigmoid(gx[k] + bx[k] + gh[k] + bh[k]);
    double r = sigmoid(gx[S + k] + bx[S + k] + gh[S + k] + bh[S + k]);
    double q = gh[2 * S + k] + bh[2 * S + k];
    double n = tanh(gx[2 * S + k] + bx[2 * S + k] + r * q);
    gate[k] = z;
    gate[S + k] = r;
    gate[2 * S + k] = n;
    gate[3 * S + k] = q;
    out[k] = (1 - z) * n + z * h[k];
  }
}

void gru_forward(gru_batch *g, const double *weight, double *score) {
  const double *out = weight + g->shape.out;
  embed(g, weight);
  for (uint32_t l = 0; l < g->nlevel; l++) {
    uint32_t from = g->level[l], to = g->level[l + 1], n = to - from;
    gru_gather(g, from, to);
    blas_product(g->b, false, true, n, 3 * S, S, g->x, weight + g->shape.in, 0,
                 g->gx);
    blas_product(g->b, false, true, n, 3 * S, S, g->h, weight + g->shape.hidden,
                 0, g->gh);
    for (uint32_t i = from; i < to; i++) run_cell(g, weight, i, i - from);
  }
  for (uint32_t i = 0; i < g->ntree; i++) {
    const double *s = state_of(g, g->state, g->result[i]);
    score[i] = out[S];
    for (int k = 0; k < S; k++) score[i] += out[k] * s[k];
  }
}

/* ---- backward ----------------------------------------------------------- */

static void score_backward(gru_batch *g, const double *weight,
                           const double *dscore, double *gradient) {
  const double *out = weight + g->shape.out;
  double *dout = gradient + g->shape.out;
  for (uint32_t i = 0; i < g->ntree; i++) {
    const double *s = state_of(g, g->state, g->result[i]);
    double *d = state_of(g, g->dstate, g->result[i]);
    for (int k = 0; k < S; k++) {
      dout[k] += dscore[i] * s[k];
      d[k] += dscore[i] * out[k];
    }
    dout[S] += dscore[i];
  }
}

/* Derivatives by what goes into the gates, in gx and gh, and by h directly, in
 * dh. */
static void cell_backward(gru_batch *g, uint32_t i, uint32_t row) {
  double *gx = g->gx + (size_t)row * 3 * S, *gh = g->gh + (size_t)row * 3 * S;
  const double *h = g->h + (size_t)row * S;
  const double *gate = g->gates + (size_t)i * GATES * S;
  const double *d = state_of(g, g->dstate, 1 + g->nrow + i);
  for (int k = 0; k < S; k++) {
    double z = gate[k], r = gate[S + k], n = gate[2 * S + k];
    double q = gate[3 * S + k];
    double dn = d[k] * (1 - z) * (1 - n * n);
    double dz = d[k] * (h[k] - n) * z * (1 - z);
    double dr = dn * q * r * (1 - r);
    gx[k] = gh[k] = dz;
    gx[S + k] = gh[S + k] = dr;
    gx[2 * S + k] = dn;
    gh[2 * S + k] = dn * r;
    g->dh[(size_t)row * S + k] = d[k] * z;
  }
}

static void add_bias(const double *d, uint32_t n, uint32_t width, double *to) {
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < width; k++) to[k] += d[(size_t)i * width + k];
}

static void scatter(gru_batch *g, uint32_t from, uint32_t to) {
  for (uint32_t i = from; i < to; i++) {
    double *x = state_of(g, g->dstate, g->cell[i].x);
    double *h = state_of(g, g->dstate, g->cell[i].h);
    for (int k = 0; k < S; k++) {
      x[k] += g->dx[(size_t)(i - from) * S + k];
      h[k] += g->dh[(size_t)(i - from) * S + k];
    }
  }
}

static void level_backward(gru_batch *g, const double *weight, uint32_t l,
                           double *gradient) {
  const gru_shape *s = &g->shape;
  uint32_t from = g->level[l], to = g->level[l + 1], n = to - from;
  gru_gather(g, from, to);
  for (uint32_t i = from; i < to; i++) cell_backward(g, i, i - from);
  blas_product(g->b, true, false, 3 * S, S, n, g->gx, g->x, 1,
               gradient + s->in);
  blas_product(g->b, true, false, 3 * S, S, n, g->gh, g->h, 1,
               gradient + s->hidden);
  add_bias(g->gx, n, 3 * S, gradient + s->in_bias);
  add_bias(g->gh, n, 3 * S, gradient + s->hidden_bias);
  blas_product(g->b, false, false, n, S, 3 * S, g->gx, weight + s->in, 0,
               g->dx);
  blas_product(g->b, false, false, n, S, 3 * S, g->gh, weight + s->hidden, 1,
               g->dh);
  scatter(g, from, to);
}

static void embed_backward(gru_batch *g, double *gradient) {
  double *d = state_of(g, g->dstate, 1);
  const double *e = state_of(g, g->state, 1);
  for (size_t i = 0; i < (size_t)g->nrow * S; i++)
    if (!(e[i] > 0)) d[i] = 0;
  blas_product(g->b, true, false, S, g->shape.input, g->nrow, d, g->input, 1,
               gradient + g->shape.embed);
  add_bias(d, g->nrow, S, gradient + g->shape.embed_bias);
}

void gru_backward(gru_batch *g, const double *weight, const double *dscore,
                  double *gradient) {
  size_t states = 1 + (size_t)g->nrow + g->ncell;
  memset(g->dstate, 0, states * S * sizeof(double));
  score_backward(g, weight, dscore, gradient);
  for (uint32_t l = g->nlevel; l-- > 0;) level_backward(g, weight, l, gradient);
  embed_backward(g, gradient);
}
