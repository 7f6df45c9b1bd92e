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

typedef struct pooled {
  double most, sum, inside, all;
} pooled;

static pooled pool_at(const naive *x, int64_t n, int64_t c, int64_t h,
                      int64_t w) {
  pooled p = {.most = -INFINITY};
  image s = size_of(x, x->t);
  for (int64_t j = 0; j < naive_entry(x, "k", 0, 1); j++)
    for (int64_t k = 0; k < naive_entry(x, "k", 1, 1); k++) {
      int64_t u = h * naive_entry(x, "stride", 0, 1) +
                  j * naive_entry(x, "dilation", 0, 1) -
                  naive_entry(x, "pad", 0, 0);
      int64_t v = w * naive_entry(x, "stride", 1, 1) +
                  k * naive_entry(x, "dilation", 1, 1) -
                  naive_entry(x, "pad", 1, 0);
      p.all++;
      if (u < 0 || u >= s.h || v < 0 || v >= s.w) continue;
      double e = *pixel(x, x->t, n, c, u, v);
      p.inside++;
      p.sum += e;
      p.most = fmax(p.most, e);
    }
  return p;
}

static double greatest(const naive *x, int64_t n, int64_t c, int64_t h,
                       int64_t w) {
  return pool_at(x, n, c, h, w).most;
}

static double average(const naive *x, int64_t n, int64_t c, int64_t h,
                      int64_t w) {
  pooled p = pool_at(x, n, c, h, w);
  return p.sum / (naive_flag(x, "count_include_pad") ? p.all : p.inside);
}

static double global(const naive *x, int64_t n, int64_t c, int64_t h,
                     int64_t w) {
  image s = size_of(x, x->t);
  double sum = 0, most = -INFINITY;
  (void)h, (void)w;
  for (int64_t i = 0; i < s.h; i++)
    for (int64_t j = 0; j < s.w; j++) {
      double e = *pixel(x, x->t, n, c, i, j);
      sum += e;
      most = fmax(most, e);
    }
  return naive_is(x, "op", "max") ? most : sum / (double)(s.h * s.w);
}

static void max_pool2d(naive *x) { each_pixel(x, greatest); }
static void avg_pool2d(naive *x) { each_pixel(x, average); }
static void global_pool2d(naive *x) { each_pixel(x, global); }

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
    {"max_pool2d", max_pool2d},
    {"avg_pool2d", avg_pool2d},
    {"global_pool2d", global_pool2d},
    {"resize2d", resize2d},
    {NULL, NULL},
};
