/* SPDX-License-Identifier: Apache-2.0
 * Indices of windows, as h * 2 + kh: which elements they reach. */
#include "schedule/analysis/window.h"

#include "ir/arith/linear.h"
#include "ir/arith/range.h"

enum { MAX_TERMS = 8 };

typedef struct window_term {
  int64_t k, extent, to;
} window_term;

/* The term of an iter that starts at 0 and whose extents are constants. */
static bool find_term(const ir_program *p, const lin_term *t, const ir_iter *it,
                      const ir_expr *to, uint32_t n, window_term *out) {
  for (uint32_t i = 0; i < n; i++) {
    if (ir_ref(p, it[i].var) != t->atom) continue;
    out->k = out->to = 0;
    bool padded = to[i] != 0;
    if (t->k < 1 || t->k > SCH_MAX_EXTENT || !ir_is_const(p, it[i].lo, 0) ||
        !ir_const_int(p, it[i].extent, &out->extent) || out->extent < 1 ||
        (padded &&
         (it[i].kind != IR_SPATIAL || !ir_const_int(p, to[i], &out->to))))
      return false;
    if (!padded) out->to = out->extent;
    out->k = t->k;
    return true;
  }
  return false;
}

/* How many numbers from 0 to the largest sum of the terms; there are holes,
 * which no sum is, unless each factor is at most one more than what smaller
 * ones reach. */
static bool reach(const window_term *t, uint32_t n, bool padded, int64_t *out,
                  bool *holes) {
  int64_t sum = 0, last = 0;
  for (uint32_t done = 0; done < n; done++) {
    const window_term *next = NULL;
    for (uint32_t i = 0; i < n; i++)
      if (t[i].k > last && (!next || t[i].k < next->k)) next = &t[i];
    if (!next) break;
    last = next->k;
    *holes |= last > sum + 1;
    for (uint32_t i = 0; i < n; i++) {
      int64_t steps = (padded ? t[i].to : t[i].extent) - 1, part;
      if (t[i].k == last && (__builtin_mul_overflow(last, steps, &part) ||
                             __builtin_add_overflow(sum, part, &sum)))
        return false;
    }
  }
  *out = sum + 1;
  return sum < SCH_MAX_EXTENT;
}

/* Divides the factors by the greatest number that divides them all. */
static int64_t take_step(window_term *t, uint32_t n) {
  int64_t step = 0;
  for (uint32_t i = 0; i < n; i++) step = arith_gcd(step, t[i].k);
  for (uint32_t i = 0; i < n; i++) t[i].k /= step;
  return step;
}

bool sch_window_of(const ir_program *p, ir_expr index, const ir_iter *it,
                   const ir_expr *to, uint32_t n, sch_window *out) {
  lin sum;
  window_term t[MAX_TERMS];
  lin_of(p, index, &sum);
  if (sum.c || !sum.n || sum.n > MAX_TERMS) return false;
  for (uint32_t i = 0; i < sum.n; i++)
    if (!find_term(p, &sum.t[i], it, to, n, &t[i])) return false;
  bool of_now = false;
  out->holes = false;
  out->step = take_step(t, sum.n);
  return reach(t, sum.n, false, &out->old, &out->holes) &&
         reach(t, sum.n, true, &out->now, &of_now);
}
