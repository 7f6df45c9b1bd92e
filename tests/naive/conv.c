/* SPDX-License-Identifier: Apache-2.0
 * Plain loops of convolutions. */
#include "naive/naive.h"
#include <string.h>

/* Of one to three dimensions, as ones of three; missing ones have extent 1. */
typedef struct conv {
  uint32_t rank;
  bool first; /* channels come first */
  int64_t x[3], y[3], k[3], s[3], d[3], before[3];
  int64_t n, ci, co, groups;
} conv;

static const char *const letters[] = {"d", "h", "w"};

/* Where the value of an option for dimension d, from 0 of three, is. */
static int64_t option(const naive *x, const conv *c, const char *name,
                      uint32_t d, int64_t otherwise) {
  return d < 3 - c->rank ? otherwise
                         : naive_entry(x, name, d - (3 - c->rank), otherwise);
}

static conv conv_of(const naive *x, uint32_t rank, bool first) {
  conv c = {.rank = rank, .first = first};
  const naive_tensor *y = &x->t[x->n - 1];
  c.n = naive_int(x, "n", 1);
  c.ci = naive_int(x, "ci", naive_int(x, "c", 0));
  c.co = naive_int(x, "co", c.ci);
  c.groups = naive_int(x, "groups", 1);
  for (uint32_t d = 0; d < 3; d++) {
    bool there = d >= 3 - rank;
    c.x[d] = there ? naive_int(x, letters[d], 1) : 1;
    c.y[d] = there ? y->shape[d - (3 - rank) + (first ? 2 : 1)] : 1;
    c.k[d] = option(x, &c, "k", d, 1);
    c.s[d] = option(x, &c, "stride", d, 1);
    c.d[d] = option(x, &c, "dilation", d, 1);
    c.before[d] = option(x, &c, "pad", d, 0);
  }
  return c;
}

/* Element [n, c, at] of the input, 0 outside. */
static double input_at(const naive *x, const conv *c, int64_t n, int64_t ch,
                       const int64_t *at) {
  int64_t i = c->first ? n * c->ci + ch : n;
  for (int d = 0; d < 3; d++) {
    if (at[d] < 0 || at[d] >= c->x[d]) return 0;
    i = i * c->x[d] + at[d];
  }
  return x->t[0].v[c->first ? i : i * c->ci + ch];
}

static double weight_at(const naive *x, const conv *c, int64_t co, int64_t ci,
                        const int64_t *k, int64_t channels) {
  int64_t i = c->first ? co * channels + ci : 0;
  for (int d = 0; d < 3; d++) i = i * c->k[d] + k[d];
  return x->t[1].v[c->first ? i : (i * channels + ci) * c->co + co];
}

static double window_sum(const naive *x, const conv *c, int64_t n, int64_t co,
                         const int64_t *at) {
  int64_t channels = c->ci / c->groups, from = co / (c->co / c->groups), k[3];
  double s = 0;
  for (int64_t ci = 0; ci < channels; ci++)
    for (k[0] = 0; k[0] < c->k[0]; k[0]++)
      for (k[1] = 0; k[1] < c->k[1]; k[1]++)
        for (k[2] = 0; k[2] < c->k[2]; k[2]++) {
          int64_t p[3];
          for (int d = 0; d < 3; d++)
            p[d] = at[d] * c->s[d] + k[d] * c->d[d] - c->before[d];
          s += input_at(x, c, n, from * channels + ci, p) *
               weight_at(x, c, co, ci, k, channels);
        }
  return s;
}

static void convolve(naive *x, uint32_t rank, bool first) {
  conv c = conv_of(x, rank, first);
  naive_tensor *y = &x->t[x->n - 1];
  for (int64_t i = 0; i < y->n; i++) {
    int64_t at[NAIVE_DIM], place[3] = {0, 0, 0};
    naive_indices(y, i, at);
    int64_t co = at[first ? 1 : rank + 1];
    memcpy(place + (3 - rank), at + (first ? 2 : 1), rank * sizeof *place);
    y->v[i] = naive_epilogue(x, window_sum(x, &c, at[0], co, place), co, 2);
  }
}

static void conv1d_nlc(naive *x) { convolve(x, 1, false); }
static void conv1d_ncl(naive *x) { convolve(x, 1, true); }
static void conv2d_nhwc(naive *x) { convolve(x, 2, false); }
static void conv2d_nchw(naive *x) { convolve(x, 2, true); }
static void conv3d_ndhwc(naive *x) { convolve(x, 3, false); }
static void conv3d_ncdhw(naive *x) { convolve(x, 3, true); }

/* The tensors behind the result are W and X of the plain convolution. */
static void winograd(naive *x, bool first) {
  conv c =
      conv_of(&(naive){.t = {x->t[0], x->t[1], x->t[2]}, .n = 3, .lua = x->lua},
              2, first);
  naive_tensor *y = &x->t[2];
  naive plain = {.t = {x->t[0], x->t[3], x->t[2]}, .n = 3, .lua = x->lua};
  c.k[1] = c.k[2] = 3;
  for (int64_t i = 0; i < y->n; i++) {
    int64_t at[NAIVE_DIM];
    naive_indices(y, i, at);
    int64_t place[3] = {0, at[first ? 2 : 1], at[first ? 3 : 2]};
    y->v[i] = window_sum(&plain, &c, at[0], at[first ? 1 : 3], place);
  }
}

static void winograd_nhwc(naive *x) { winograd(x, false); }
static void winograd_nchw(naive *x) { winograd(x, true); }

static void winograd_weight(naive *x) {
  static const double g4[6][3] = {{.25, 0, 0},
                                  {-1. / 6, -1. / 6, -1. / 6},
                                  {-1. / 6, 1. / 6, -1. / 6},
                                  {1. / 24, 1. / 12, 1. / 6},
                                  {1. / 24, -1. / 12, 1. / 6},
                                  {0, 0, 1}};
  static const double g2[4][3] = {
      {1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}};
  const double(*g)[3] = naive_int(x, "tile", 4) == 4 ? g4 : g2;
  naive_tensor *w = &x->t[0], *u = &x->t[1];
  bool first = naive_is(x, "layout", "NCHW");
  for (int64_t i = 0; i < u->n; i++) {
    int64_t a[NAIVE_DIM];
    naive_indices(u, i, a);
    u->v[i] = 0;
    for (int64_t p = 0; p < 3; p++)
      for (int64_t q = 0; q < 3; q++)
        u->v[i] += g[a[0]][p] * g[a[1]][q] *
                   (first ? AT(w, a[3], a[2], p, q) : AT(w, p, q, a[3], a[2]));
  }
}

/* ---- others ------------------------------------------------------------- */

static void conv2d_nchwc(naive *x) {
  naive_tensor *X = &x->t[0], *W = &x->t[1], *y = &x->t[x->n - 1];
  int64_t s[2], d[2], p[2];
  for (uint32_t i = 0; i < 2; i++) {
    s[i] = naive_entry(x, "stride", i, 1);
    d[i] = naive_entry(x, "dilation", i, 1);
    p[i] = naive_entry(x, "pad", i, 0);
  }
  for (int64_t i = 0; i < y->n; i++) {
    int64_t a[NAIVE_DIM];
    double sum = 0;
    naive_indices(y, i, a);
    for (int64_t c = 0; c < X->shape[1]; c++)
      for (int64_t b = 0; b < X->shape[4]; b++)
        for (int64_t j = 0; j < W->shape[2]; j++)
          for (int64_t k = 0; k < W->shape[3]; k++) {
            int64_t h = a[2] * s[0] + j * d[0] - p[0];
            int64_t w = a[3] * s[1] + k * d[1] - p[1];
            if (h >= 0 && h < X->shape[2] && w >= 0 && w < X->shape[3])
              sum += AT(X, a[0], c, h, w, b) * AT(W, a[1], c, j, k, b, a[4]);
          }
    y->v[i] = naive_epilogue(x, sum, a[1] * y->shape[4] + a[4], 2);
  }
}

static void depthwise_nchwc(naive *x) {
  naive_tensor *X = &x->t[0], *W = &x->t[1], *y = &x->t[x->n - 1];
  for (int64_t i = 0; i < y->n; i++) {
    int64_t a[NAIVE_DIM];
    double sum = 0;
    naive_indices(y, i, a);
    for (int64_t j = 0; j < W->shape[1]; j++)
      for (int64_t k = 0; k < W->shape[2]; k++) {
        int64_t h = a[2] * naive_entry(x, "stride", 0, 1) +
                    j * naive_entry(x, "dilation", 0, 1) -
                    naive_entry(x, "pad", 0, 0);
        int64_t w = a[3] * naive_entry(x, "stride", 1, 1) +
                    k * naive_entry(x, "dilation", 1, 1) -
                    naive_entry(x, "pad", 1, 0);
        if (h >= 0 && h < X->shape[2] && w >= 0 && w < X->shape[3])
          sum += AT(X, a[0], a[1], h, w, a[4]) * AT(W, a[1], j, k, a[4]);
      }
    y->v[i] = naive_epilogue(x, sum, a[1] * y->shape[4] + a[4], 2);
  }
}

static void depthwise(naive *x) {
  conv c = conv_of(x, 2, false);
  naive_tensor *y = &x->t[x->n - 1];
  for (int64_t i = 0; i < y->n; i++) {
    int64_t a[NAIVE_DIM];
    double sum = 0;
    naive_indices(y, i, a);
    for (int64_t j = 0; j < c.k[1]; j++)
      for (int64_t k = 0; k < c.k[2]; k++) {
        int64_t at[3] = {0, a[1] * c.s[1] + j * c.d[1] - c.before[1],
                         a[2] * c.s[2] + k * c.d[2] - c.before[2]};
        sum += input_at(x, &c, a[0], a[3], at) * AT(&x->t[1], j, k, a[3]);
      }
    y->v[i] = naive_epilogue(x, sum, a[3], 2);
  }
}

/* Element [.., k, ..] of a transposed convolution's weights. */
static double transposed_weight(const naive *x, const conv *c, int64_t ci,
                                int64_t co, const int64_t *k) {
  int64_t part = c->co / c->groups, i = c->first ? ci * part + co : 0;
  for (int d = 0; d < 3; d++) i = i * c->k[d] + k[d];
  return x->t[1].v[c->first ? i : (i * c->ci + ci) * part + co];
}

/* Where [n, ch, at] of the result lies; -1: outside. */
static int64_t result_index(const conv *c, int64_t n, int64_t ch,
                            const int64_t *at) {
  int64_t i = c->first ? n * c->co + ch : n;
  for (int d = 0; d < 3; d++) {
    if (at[d] < 0 || at[d] >= c->y[d]) return -1;
    i = i * c->y[d] + at[d];
  }
  return c->first ? i : i * c->co + ch;
}

/* What one element of the input adds through element k of the window. */
static void add_through(naive *x, const conv *c, int64_t n, int64_t ci,
                        const int64_t *from, const int64_t *k) {
  int64_t to[3], part = c->co / c->groups, g = ci / (c->ci / c->groups);
  for (int d = 0; d < 3; d++)
    to[d] = from[d] * c->s[d] + k[d] * c->d[d] - c->before[d];
  for (int64_t o = 0; o < part; o++) {
    int64_t i = result_index(c, n, g * part + o, to);
    if (i >= 0)
      x->t[x->n - 1].v[i] +=
          input_at(x, c, n, ci, from) * transposed_weight(x, c, ci, o, k);
  }
}

/* What each element of the input adds. */
static void transposed(naive *x, uint32_t rank, bool first) {
  naive_tensor *X = &x->t[0], *y = &x->t[x->n - 1];
  conv c = conv_of(x, rank, first);
  for (int64_t i = 0; i < y->n; i++) y->v[i] = 0;
  for (int64_t i = 0; i < X->n; i++) {
    int64_t a[NAIVE_DIM], from[3] = {0}, k[3];
    naive_indices(X, i, a);
    for (uint32_t d = 0; d < rank; d++)
      from[3 - rank + d] = a[d + (first ? 2 : 1)];
    for (k[0] = 0; k[0] < c.k[0]; k[0]++)
      for (k[1] = 0; k[1] < c.k[1]; k[1]++)
        for (k[2] = 0; k[2] < c.k[2]; k[2]++)
          add_through(x, &c, a[0], a[first ? 1 : rank + 1], from, k);
  }
  for (int64_t i = 0; i < y->n; i++) {
    int64_t a[NAIVE_DIM];
    naive_indices(y, i, a);
    y->v[i] = naive_epilogue(x, y->v[i], a[first ? 1 : rank + 1], 2);
  }
}

static void transpose_nlc(naive *x) { transposed(x, 1, false); }
static void transpose_ncl(naive *x) { transposed(x, 1, true); }
static void transpose_ndhwc(naive *x) { transposed(x, 3, false); }
static void transpose_ncdhw(naive *x) { transposed(x, 3, true); }
static void transpose_nhwc(naive *x) { transposed(x, 2, false); }
static void transpose_nchw(naive *x) { transposed(x, 2, true); }

static void capsule(naive *x) {
  naive_tensor *X = &x->t[0], *W = &x->t[1], *y = &x->t[2];
  conv c = conv_of(x, 2, false);
  for (int64_t i = 0; i < y->n; i++) {
    int64_t a[NAIVE_DIM];
    naive_indices(y, i, a);
    y->v[i] = 0;
    for (int64_t u = 0; u < c.k[1]; u++)
      for (int64_t v = 0; v < c.k[2]; v++) {
        int64_t h = a[1] * c.s[1] + u - c.before[1];
        int64_t w = a[2] * c.s[2] + v - c.before[2];
        if (h < 0 || h >= X->shape[1] || w < 0 || w >= X->shape[2]) continue;
        for (int64_t k = 0; k < X->shape[4]; k++)
          for (int64_t ci = 0; ci < X->shape[5]; ci++)
            y->v[i] +=
                AT(X, a[0], h, w, a[3], k, ci) * AT(W, u, v, k, a[4], ci, a[5]);
      }
  }
}

const naive_op naive_conv[] = {
    {"conv1d_nlc", conv1d_nlc},
    {"conv1d_ncl", conv1d_ncl},
    {"conv2d_nhwc", conv2d_nhwc},
    {"conv2d_nchw", conv2d_nchw},
    {"conv3d_ndhwc", conv3d_ndhwc},
    {"conv3d_ncdhw", conv3d_ncdhw},
    {"conv2d_nchwc", conv2d_nchwc},
    {"depthwise_conv2d_nhwc", depthwise},
    {"depthwise_conv2d_nchwc", depthwise_nchwc},
    {"conv1d_transpose_nlc", transpose_nlc},
    {"conv1d_transpose_ncl", transpose_ncl},
    {"conv3d_transpose_ndhwc", transpose_ndhwc},
    {"conv3d_transpose_ncdhw", transpose_ncdhw},
    {"conv2d_transpose_nhwc", transpose_nhwc},
    {"conv2d_transpose_nchw", transpose_nchw},
    {"capsule_conv2d_nhwc", capsule},
    {"winograd_weight", winograd_weight},
    {"conv2d_winograd_nhwc", winograd_nhwc},
    {"conv2d_winograd_nchw", winograd_nchw},
    {NULL, NULL},
};
