/* SPDX-License-Identifier: Apache-2.0
 * Plain loops of operators that move, choose, scatter and quantize elements. */
#include "naive/naive.h"
#include <math.h>
#include <string.h>

static void transpose(naive *x) {
  naive_tensor *t = x->t, *y = &x->t[1];
  for (int64_t i = 0; i < y->n; i++) {
    int64_t a[NAIVE_DIM], from[NAIVE_DIM];
    naive_indices(y, i, a);
    for (uint32_t d = 0; d < y->ndim; d++)
      from[naive_entry(x, "perm", d, y->ndim - 1 - d)] = a[d];
    y->v[i] = *naive_at(t, from);
  }
}

static void reshape(naive *x) {
  memcpy(x->t[1].v, x->t[0].v, (size_t)x->t[0].n * sizeof(double));
}

/* The element of t that belongs to indices of y, to whose shape it grows. */
static double grown(const naive_tensor *t, const naive_tensor *y,
                    const int64_t *a) {
  int64_t from[NAIVE_DIM];
  for (uint32_t d = 0; d < t->ndim; d++)
    from[d] = t->shape[d] == 1 ? 0 : a[d + y->ndim - t->ndim];
  return *naive_at(t, from);
}

static void broadcast(naive *x) {
  naive_tensor *y = &x->t[1];
  for (int64_t i = 0; i < y->n; i++) {
    int64_t a[NAIVE_DIM];
    naive_indices(y, i, a);
    y->v[i] = grown(x->t, y, a);
  }
}

static void where(naive *x) {
  naive_tensor *t = x->t, *y = &x->t[3];
  for (int64_t i = 0; i < y->n; i++) {
    int64_t a[NAIVE_DIM];
    naive_indices(y, i, a);
    y->v[i] = grown(&t[grown(t, y, a) != 0 ? 1 : 2], y, a);
  }
}

static void slice(naive *x) {
  naive_tensor *t = x->t, *y = &x->t[1];
  for (int64_t i = 0; i < y->n; i++) {
    int64_t a[NAIVE_DIM];
    naive_indices(y, i, a);
    for (uint32_t d = 0; d < y->ndim; d++)
      a[d] =
          naive_entry(x, "begin", d, 0) + a[d] * naive_entry(x, "step", d, 1);
    y->v[i] = *naive_at(t, a);
  }
}

/* Copies the parts of `whole` along `axis` from or to those that follow. */
static void parts(naive *x, naive_tensor *whole, naive_tensor *part,
                  bool apart) {
  uint32_t axis = naive_axis(x, "axis", whole->ndim, -1);
  int64_t from = 0;
  for (uint32_t k = 0; k < naive_length(x, "sizes"); k++) {
    for (int64_t i = 0; i < part[k].n; i++) {
      int64_t a[NAIVE_DIM];
      naive_indices(&part[k], i, a);
      a[axis] += from;
      if (apart)
        part[k].v[i] = *naive_at(whole, a);
      else
        *naive_at(whole, a) = part[k].v[i];
    }
    from += part[k].shape[axis];
  }
}

static void split(naive *x) { parts(x, &x->t[0], &x->t[1], true); }
static void concat(naive *x) { parts(x, &x->t[x->n - 1], &x->t[0], false); }

static void pad(naive *x) {
  naive_tensor *t = x->t, *y = &x->t[1];
  for (int64_t i = 0; i < y->n; i++) {
    int64_t a[NAIVE_DIM];
    bool outside = false;
    naive_indices(y, i, a);
    for (uint32_t d = 0; d < y->ndim; d++) {
      int64_t n = t->shape[d];
      a[d] -= naive_entry(x, "before", d, 0);
      outside = outside || a[d] < 0 || a[d] >= n;
      if (naive_is(x, "mode", "reflect"))
        a[d] = a[d] < 0 ? -a[d] : a[d] >= n ? 2 * n - 2 - a[d] : a[d];
      if (naive_is(x, "mode", "edge"))
        a[d] = a[d] < 0 ? 0 : a[d] >= n ? n - 1 : a[d];
    }
    bool border = outside && !naive_is(x, "mode", "reflect") &&
                  !naive_is(x, "mode", "edge");
    y->v[i] = border ? naive_real(x, "value", 0) : *naive_at(t, a);
  }
}

static void move_tile(naive *x) {
  naive_tensor *t = x->t, *y = &x->t[1];
  for (int64_t i = 0; i < y->n; i++) {
    int64_t a[NAIVE_DIM];
    naive_indices(y, i, a);
    for (uint32_t d = 0; d < y->ndim; d++) a[d] %= t->shape[d];
    y->v[i] = *naive_at(t, a);
  }
}

static void trilu(naive *x) {
  naive_tensor *t = x->t, *y = &x->t[1];
  int64_t k = naive_int(x, "k", 0);
  for (int64_t i = 0; i < y->n; i++) {
    int64_t a[NAIVE_DIM];
    naive_indices(y, i, a);
    int64_t right = a[y->ndim - 1] - a[y->ndim - 2];
    bool keep = naive_flag(x, "upper") ? right >= k : right <= k;
    y->v[i] = keep ? t->v[i] : 0;
  }
}

/* [n, b, b, c, h, w] to [n, c, h, b, w, b], or of [n, c, b, b, h, w]. */
static void depth_to_space(naive *x) {
  naive_tensor *t = x->t, *y = &x->t[1];
  int64_t b = naive_int(x, "block", 1), c = y->shape[1];
  for (int64_t i = 0; i < t->n; i++) {
    int64_t a[NAIVE_DIM];
    naive_indices(t, i, a);
    bool crd = naive_is(x, "mode", "CRD");
    int64_t place = crd ? a[1] % (b * b) : a[1] / c;
    AT(y, a[0], crd ? a[1] / (b * b) : a[1] % c, a[2] * b + place / b,
       a[3] * b + place % b) = t->v[i];
  }
}

static void space_to_depth(naive *x) {
  naive_tensor *t = x->t, *y = &x->t[1];
  int64_t b = naive_int(x, "block", 1), c = t->shape[1];
  for (int64_t i = 0; i < t->n; i++) {
    int64_t a[NAIVE_DIM];
    naive_indices(t, i, a);
    AT(y, a[0], (a[2] % b * b + a[3] % b) * c + a[1], a[2] / b, a[3] / b) =
        t->v[i];
  }
}

/* ---- by indices --------------------------------------------------------- */

static int64_t wrapped(double v, int64_t n) {
  int64_t i = (int64_t)v;
  if (i < 0) i += n;
  return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static void move_gather(naive *x) {
  naive_tensor *t = x->t, *index = &x->t[1], *y = &x->t[2];
  uint32_t axis = naive_axis(x, "axis", t->ndim, 0);
  for (int64_t i = 0; i < y->n; i++) {
    int64_t a[NAIVE_DIM], from[NAIVE_DIM];
    naive_indices(y, i, a);
    for (uint32_t d = 0; d < t->ndim; d++)
      from[d] = d < axis ? a[d] : d > axis ? a[d + index->ndim - 1] : 0;
    from[axis] = wrapped(*naive_at(index, a + axis), t->shape[axis]);
    y->v[i] = *naive_at(t, from);
  }
}

static void gather_elements(naive *x) {
  naive_tensor *t = x->t, *index = &x->t[1], *y = &x->t[2];
  uint32_t axis = naive_axis(x, "axis", t->ndim, 0);
  for (int64_t i = 0; i < y->n; i++) {
    int64_t a[NAIVE_DIM];
    naive_indices(y, i, a);
    a[axis] = wrapped(index->v[i], t->shape[axis]);
    y->v[i] = *naive_at(t, a);
  }
}

static void scatter_add(naive *x) {
  naive_tensor *t = x->t, *index = &x->t[1], *add = &x->t[2], *y = &x->t[3];
  int64_t row = t->n / t->shape[0];
  memcpy(y->v, t->v, (size_t)t->n * sizeof(double));
  for (int64_t i = 0; i < index->n; i++)
    for (int64_t j = 0; j < row; j++)
      y->v[wrapped(index->v[i], t->shape[0]) * row + j] += add->v[i * row + j];
}

static void one_hot(naive *x) {
  naive_tensor *t = x->t, *y = &x->t[1];
  int64_t depth = naive_int(x, "depth", 1);
  for (int64_t i = 0; i < y->n; i++) {
    int64_t at = (int64_t)t->v[i / depth], j = i % depth;
    y->v[i] = at == j || at + depth == j ? naive_real(x, "on", 1)
                                         : naive_real(x, "off", 0);
  }
}

/* ---- quantization ------------------------------------------------------- */

/* Which scale and zero point element i has. */
static int64_t parameter_of(const naive *x, int64_t i) {
  int64_t a[NAIVE_DIM];
  if (x->t[1].n == 1) return 0;
  naive_indices(x->t, i, a);
  return a[naive_axis(x, "axis", x->t->ndim, 0)];
}

static void quantize(naive *x) {
  naive_tensor *y = &x->t[3];
  bool sign = y->dtype.code == TESS_DTYPE_INT;
  double most = ldexp(1, y->dtype.bits - (sign ? 1 : 0)) - 1;
  for (int64_t i = 0; i < y->n; i++) {
    int64_t p = parameter_of(x, i);
    double q = nearbyint(x->t[0].v[i] / x->t[1].v[p]) + x->t[2].v[p];
    y->v[i] = fmin(fmax(q, sign ? -most - 1 : 0), most);
  }
}

static void dequantize(naive *x) {
  for (int64_t i = 0; i < x->t[3].n; i++) {
    int64_t p = parameter_of(x, i);
    x->t[3].v[i] = (x->t[0].v[i] - x->t[2].v[p]) * x->t[1].v[p];
  }
}

const naive_op naive_move[] = {
    {"transpose", transpose},
    {"reshape", reshape},
    {"broadcast", broadcast},
    {"where", where},
    {"slice", slice},
    {"split", split},
    {"concat", concat},
    {"pad", pad},
    {"tile", move_tile},
    {"trilu", trilu},
    {"depth_to_space", depth_to_space},
    {"space_to_depth", space_to_depth},
    {"gather", move_gather},
    {"gather_elements", gather_elements},
    {"scatter_add", scatter_add},
    {"one_hot", one_hot},
    {"quantize", quantize},
    {"dequantize", dequantize},
    {NULL, NULL},
};
