/* SPDX-License-Identifier: Apache-2.0
 * Intervals of integers.  An end INT64_MIN or INT64_MAX means unbounded;
 * arithmetic is exact if it fits and unbounded otherwise. */
#ifndef IR_ARITH_RANGE_H
#define IR_ARITH_RANGE_H

#include "ir/arith/arith.h"

#define ARITH_ALL ((arith_range){INT64_MIN, INT64_MAX})

/* The value range of `n`, whose operands are nodes already. */
arith_range arith_node_range(const ir_program *p, const ir_node *n);
/* The same of an operator (no leaf, load or call) for operands in these ranges;
 * a select's condition is not considered. */
arith_range arith_operator_range(const ir_program *p, const ir_node *n,
                                 arith_range a, arith_range b, arith_range c);
/* The range of a op b for a and b in these ranges, over unbounded integers; for
 * comparisons and logic a subset of [0, 1]. */
arith_range arith_range_of(ir_op op, arith_range a, arith_range b);
/* Floor division and modulo for c > 0. */
static inline int64_t arith_fdiv(int64_t a, int64_t c) {
  int64_t q = a / c;
  return q - (a % c < 0);
}
static inline int64_t arith_fmod(int64_t a, int64_t c) {
  int64_t r = a % c;
  return r < 0 ? r + c : r;
}
static inline int64_t arith_cdiv(int64_t a, int64_t c) {
  int64_t q = a / c;
  return q + (a % c > 0);
}
static inline int64_t arith_gcd(int64_t a, int64_t b) {
  while (b) {
    int64_t r = a % b;
    a = b;
    b = r;
  }
  return a < 0 ? -a : a;
}

/* Ends of a sum and of a multiple. */
static inline int64_t arith_add_lo(int64_t a, int64_t b) {
  int64_t r;
  return a == INT64_MIN || b == INT64_MIN || __builtin_add_overflow(a, b, &r)
           ? INT64_MIN : r;
}
static inline int64_t arith_add_hi(int64_t a, int64_t b) {
  int64_t r;
  return a == INT64_MAX || b == INT64_MAX || __builtin_add_overflow(a, b, &r)
           ? INT64_MAX : r;
}
static inline arith_range arith_range_scale(arith_range r, int64_t k) {
  arith_range s = ARITH_ALL;
  int64_t v;
  if (k == 0)
    return (arith_range){0, 0};
  if (r.lo != INT64_MIN && !__builtin_mul_overflow(r.lo, k, &v))
    *(k > 0 ? &s.lo : &s.hi) = v;
  if (r.hi != INT64_MAX && !__builtin_mul_overflow(r.hi, k, &v))
    *(k > 0 ? &s.hi : &s.lo) = v;
  return s;
}

#endif
