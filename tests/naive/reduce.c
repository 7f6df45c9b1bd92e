/* SPDX-License-Identifier: Apache-2.0
 * Plain loops of reductions and cumulative sums. */
#include "naive/naive.h"
#include <math.h>

/* Is dimension d reduced over? */
static bool is_reduced(const naive *x, uint32_t d) {
  uint32_t n = naive_length(x, "axes");
  for (uint32_t i = 0; i < n; i++) {
    int64_t a = naive_entry(x, "axes", i, 0);
    if ((uint32_t)(a < 0 ? a + x->t->ndim : a) == d) return true;
  }
  return n == 0;
}

/* The element of the result that element i of the input goes into; unless
 * `keep`, dimensions reduced over are gone from it. */
static int64_t goes_to(const naive *x, int64_t i, bool keep) {
  int64_t a[NAIVE_DIM], to[NAIVE_DIM];
  uint32_t n = 0;
  naive_indices(x->t, i, a);
  for (uint32_t d = 0; d < x->t->ndim; d++)
    if (!is_reduced(x, d))
      to[n++] = a[d];
    else if (keep)
      to[n++] = 0;
  return naive_at(&x->t[1], to) - x->t[1].v;
}

static void reduce(naive *x) {
  naive_tensor *t = x->t, *y = &x->t[1];
  bool keep = naive_flag(x, "keep"), most = naive_is(x, "op", "max"),
       least = naive_is(x, "op", "min"), prod = naive_is(x, "op", "prod");
  double n = (double)(t->n / y->n);
  for (int64_t i = 0; i < y->n; i++)
    y->v[i] = most ? -INFINITY : least ? INFINITY : prod ? 1 : 0;
  for (int64_t i = 0; i < t->n; i++) {
    double v = t->v[i], *to = &y->v[goes_to(x, i, keep)];
    if (naive_is(x, "op", "l1")) v = fabs(v);
    if (naive_is(x, "op", "l2") || naive_is(x, "op", "sum_square")) v *= v;
    if (naive_is(x, "op", "log_sum_exp")) v = exp(v);
    *to = most ? fmax(*to, v) : least ? fmin(*to, v) : prod ? *to * v : *to + v;
  }
  for (int64_t i = 0; i < y->n; i++) {
    if (naive_is(x, "op", "mean")) y->v[i] /= n;
    if (naive_is(x, "op", "l2")) y->v[i] = sqrt(y->v[i]);
    if (naive_is(x, "op", "log_sum") || naive_is(x, "op", "log_sum_exp"))
      y->v[i] = log(y->v[i]);
  }
}

/* How far elements along dimension `axis` are from one another. */
static int64_t step_of(const naive_tensor *t, uint32_t axis) {
  int64_t step = 1;
  for (uint32_t d = axis + 1; d < t->ndim; d++) step *= t->shape[d];
  return step;
}

static void arg(naive *x, bool greatest) {
  naive_tensor *t = x->t, *y = &x->t[1], *z = &x->t[2];
  uint32_t axis = naive_axis(x, "axis", t->ndim, -1);
  int64_t step = step_of(t, axis), n = t->shape[axis];
  bool last = naive_flag(x, "last");
  for (int64_t i = 0; i < y->n; i++) {
    const double *v = t->v + i / step * step * n + i % step;
    int64_t at = 0;
    for (int64_t k = 1; k < n; k++) {
      bool better =
          greatest ? v[k * step] > v[at * step] : v[k * step] < v[at * step];
      if (better || (last && v[k * step] == v[at * step])) at = k;
    }
    y->v[i] = (double)at;
    z->v[i] = v[at * step];
  }
}

static void arg_max(naive *x) { arg(x, true); }
static void arg_min(naive *x) { arg(x, false); }

static void cumsum(naive *x) {
  naive_tensor *t = x->t, *y = &x->t[1];
  uint32_t axis = naive_axis(x, "axis", t->ndim, -1);
  int64_t step = step_of(t, axis), n = t->shape[axis];
  bool back = naive_flag(x, "reverse"), not_own = naive_flag(x, "exclusive");
  for (int64_t i = 0; i < t->n; i++) {
    int64_t at = i / step % n;
    y->v[i] = 0;
    for (int64_t k = 0; k < n; k++)
      if (k == at ? !not_own : (k < at) != back)
        y->v[i] += t->v[i + (k - at) * step];
  }
}

const naive_op naive_reduce[] = {
    {"reduce", reduce}, {"arg_max", arg_max}, {"arg_min", arg_min},
    {"cumsum", cumsum}, {NULL, NULL},
};
