/* SPDX-License-Identifier: Apache-2.0
 * Plain loops of pooling and resizing. */
#include "naive/naive.h"
#include <math.h>

/* An element of an image of either layout. */
static double *pixel(const naive *x, const naive_tensor *t, int64_t n,
                     int64_t c, int64_t h, int64_t w) {
  return naive_is(x, "layout", "NHWC") ? &AT(t, n, h, w, c)
                                       : &AT(t, n, c, h, w);
}

typedef struct image {
  int64_t n, c, h, w;
} image;

static image size_of(const naive *x, const naive_tensor *t) {
  const int64_t *s = t->shape;
  return naive_is(x, "layout", "NHWC") ? (image){s[0], s[3], s[1], s[2]}
                                       : (image){s[0], s[1], s[2], s[3]};
}

static void each_pixel(naive *x, double (*f)(const naive *, int64_t, int64_t,
                                             int64_t, int64_t)) {
  const naive_tensor *y = &x->t[1];
  image s = size_of(x, y);
  for (int64_t n = 0; n < s.n; n++)
    for (int64_t c = 0; c < s.c; c++)
      for (int64_t h = 0; h < s.h; h++)
        for (int64_t w = 0; w < s.w; w++)
          *pixel(x, y, n, c, h, w) = f(x, n, c, h, w);
}

/* ---- windows ------------------------------------------------------------ */

enum { PLACES = 3 };

/* Where the dimensions of an image are: of channels, and the first place. */
typedef struct pool_layout {
  uint32_t channel, place, rank;
} pool_layout;

static pool_layout layout_of(const naive *x) {
  uint32_t rank = x->t->ndim - 2;
  bool last = naive_is(x, "layout", "NLC") || naive_is(x, "layout", "NHWC") ||
              naive_is(x, "layout", "NDHWC");
  return (pool_layout){last ? rank + 1 : 1, last ? 1 : 2, rank};
}

typedef struct pooled {
  double most, sum, inside, all;
} pooled;

/* The next of `n` points of a box; false after the last. */
static bool next_point(int64_t *at, const int64_t *n, uint32_t rank) {
  for (uint32_t d = rank; d-- > 0; at[d] = 0)
    if (++at[d] < n[d]) return true;
  return false;
}

/* Element `a` of the result, of windows of k elements, or of all. */
static pooled pool_at(const naive *x, const int64_t *a, bool all) {
  pooled p = {.most = -INFINITY};
  pool_layout l = layout_of(x);
  int64_t k[PLACES], at[PLACES] = {0}, from[NAIVE_DIM];
  for (uint32_t d = 0; d < l.rank; d++)
    k[d] = all ? x->t->shape[l.place + d] : naive_entry(x, "k", d, 1);
  do {
    bool inside = true;
    from[0] = a[0];
    from[l.channel] = a[l.channel];
    for (uint32_t d = 0; d < l.rank; d++) {
      int64_t i = all ? at[d]
                      : a[l.place + d] * naive_entry(x, "stride", d, 1) +
                            at[d] * naive_entry(x, "dilation", d, 1) -
                            naive_entry(x, "pad", d, 0);
      inside = inside && i >= 0 && i < x->t->shape[l.place + d];
      from[l.place + d] = i;
    }
    p.all++;
    if (!inside) continue;
    double e = *naive_at(x->t, from);
    p.inside++;
    p.sum += e;
    p.most = fmax(p.most, e);
  } while (next_point(at, k, l.rank));
  return p;
}

static void each_window(naive *x, double (*f)(const naive *, pooled),
                        bool all) {
  naive_tensor *y = &x->t[1];
  for (int64_t i = 0; i < y->n; i++) {
    int64_t a[NAIVE_DIM];
    naive_indices(y, i, a);
    y->v[i] = f(x, pool_at(x, a, all));
  }
}

static double greatest(const naive *x, pooled p) {
  (void)x;
  return p.most;
}

static double average(const naive *x, pooled p) {
  return p.sum / (naive_flag(x, "count_include_pad") ? p.all : p.inside);
}

static double global(const naive *x, pooled p) {
  return naive_is(x, "op", "max") ? p.most : p.sum / p.all;
}

static void max_pool(naive *x) { each_window(x, greatest, false); }
static void avg_pool(naive *x) { each_window(x, average, false); }
static void global_pool(naive *x) { each_window(x, global, true); }

/* ---- resizing ----------------------------------------------------------- */

/* Where element i of `to` lies among `from`. */
static double place(const naive *x, int64_t i, int64_t from, int64_t to) {
  double p;
  if (naive_is(x, "coordinates", "align_corners"))
    p = to == 1 ? 0 : (double)(i * (from - 1)) / (double)(to - 1);
  else if (naive_is(x, "coordinates", "asymmetric"))
    p = (double)(i * from) / (double)to;
  else
    p = ((double)i + 0.5) * (double)from / (double)to - 0.5;
  return fmin(fmax(p, 0), (double)(from - 1));
}

static int64_t nearest(const naive *x, double p) {
  if (naive_is(x, "coordinates", "asymmetric")) return (int64_t)floor(p + 1e-9);
  return (int64_t)ceil(p - 0.5 - 1e-9);
}

static double resized(const naive *x, int64_t n, int64_t c, int64_t h,
                      int64_t w) {
  image s = size_of(x, x->t), to = size_of(x, &x->t[1]);
  double y = place(x, h, s.h, to.h), z = place(x, w, s.w, to.w), v = 0;
  if (!naive_is(x, "mode", "bilinear"))
    return *pixel(x, x->t, n, c, nearest(x, y), nearest(x, z));
  for (int64_t i = 0; i < s.h; i++)
    for (int64_t j = 0; j < s.w; j++)
      v += *pixel(x, x->t, n, c, i, j) * fmax(0, 1 - fabs(y - (double)i)) *
           fmax(0, 1 - fabs(z - (double)j));
  return v;
}

static void resize2d(naive *x) { each_pixel(x, resized); }

const naive_op naive_pool[] = {
    {"max_pool1d", max_pool},
    {"max_pool2d", max_pool},
    {"max_pool3d", max_pool},
    {"avg_pool1d", avg_pool},
    {"avg_pool2d", avg_pool},
    {"avg_pool3d", avg_pool},
    {"global_pool1d", global_pool},
    {"global_pool2d", global_pool},
    {"global_pool3d", global_pool},
    {"resize2d", resize2d},
    {NULL, NULL},
};
