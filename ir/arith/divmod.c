/* SPDX-License-Identifier: Apache-2.0
 * Floor division and modulo of linear forms by constants.  Quotient and
 * remainder of one form by one divisor are reduced to the same rest, so that
 * they recombine when they are added up again (digits.c). */
#include "ir/arith/arith.h"
#include "ir/arith/linear.h"
#include "ir/edit.h"

/* The division that is left: rest // c is added to the quotient, scale * (rest
 * % c) to the remainder. */
typedef struct division {
  ir_program *p;
  lin rest;
  int64_t c, scale;
  lin *q, *r; /* either may be NULL */
} division;

static bool to_quotient(division *d, ir_expr atom, int64_t k) {
  return !d->q || lin_add_term(d->p, d->q, atom, k);
}

static bool const_to_quotient(division *d, int64_t k) {
  return !d->q || lin_add_const(d->q, k);
}

/* Moves the terms that c divides to the quotient. */
static bool take_multiples(division *d) {
  lin *x = &d->rest;
  for (uint32_t i = 0; i < x->n;) {
    lin_term t = x->t[i];
    if (t.k % d->c) {
      i++;
      continue;
    }
    if (!to_quotient(d, t.atom, t.k / d->c)) return false;
    lin_remove(x, i);
  }
  return true;
}

/* Splits the coefficient of a single term: 9 * x // 4 is 2 * x + x // 4. */
static bool take_single(division *d) {
  lin_term *t = &d->rest.t[0];
  if (d->rest.n != 1 || t->k / d->c == 0) return true;
  int64_t whole = t->k / d->c;
  t->k %= d->c;
  d->rest.built = 0;
  return to_quotient(d, t->atom, whole);
}

/* True if the rest ranges between two adjacent multiples of c (as a constant
 * does): then it is its own remainder. */
static bool take_bounded(division *d, arith_range terms, bool *ok) {
  int64_t lo, hi;
  if (terms.lo == INT64_MIN || terms.hi == INT64_MAX ||
      __builtin_add_overflow(terms.lo, d->rest.c, &lo) ||
      __builtin_add_overflow(terms.hi, d->rest.c, &hi))
    return false;
  int64_t f = arith_fdiv(lo, d->c), off;
  if (f != arith_fdiv(hi, d->c)) return false;
  *ok = const_to_quotient(d, f);
  if (d->r)
    *ok = *ok && !__builtin_mul_overflow(f, d->c, &off) &&
          !__builtin_sub_overflow(d->rest.c, off, &d->rest.c) &&
          lin_add(d->p, d->r, &d->rest, d->scale);
  return true;
}

/* Normalizes the constant: among those with the same remainder, 0 if possible,
 * else the one that puts the minimum of the rest into [0, c). */
static bool settle_const(division *d, arith_range terms) {
  int64_t c = arith_fmod(d->rest.c, d->c), off;
  if (c != 0 && terms.lo != INT64_MIN) {
    int64_t low = arith_fmod(terms.lo, d->c) + c;
    low = low >= d->c ? low - d->c : low;
    if (__builtin_sub_overflow(low, terms.lo, &c)) return false;
  }
  if (__builtin_sub_overflow(d->rest.c, c, &off)) return false;
  d->rest.c = c;
  return const_to_quotient(d, off / d->c);
}

/* If g divides c and all terms but some whose sum, with a part of the constant,
 * ranges in [0, g), these are the low digit: they are moved to the remainder,
 * and the others are divided by g, as is c. */
static bool split_low(division *d, int64_t g, bool *ok) {
  lin *x = &d->rest;
  arith_range low = {0, 0};
  for (uint32_t i = 0; i < x->n; i++) {
    if (x->t[i].k % g == 0) continue;
    arith_range t =
        arith_range_scale(arith_bounds(d->p, x->t[i].atom), x->t[i].k);
    low = (arith_range){arith_add_lo(low.lo, t.lo), arith_add_hi(low.hi, t.hi)};
  }
  if (low.lo == INT64_MIN || low.hi == INT64_MAX) return false;
  int64_t m = arith_fmod(low.lo, g) + arith_fmod(x->c, g), c, rest, width;
  m = m >= g ? m - g : m;
  if (__builtin_sub_overflow(low.hi, low.lo, &width) || width >= g - m ||
      __builtin_sub_overflow(m, low.lo, &c) ||
      __builtin_sub_overflow(x->c, c, &rest))
    return false;
  for (uint32_t i = 0; i < x->n;) {
    if (x->t[i].k % g == 0) {
      x->t[i++].k /= g;
      continue;
    }
    int64_t k;
    if (d->r && (__builtin_mul_overflow(x->t[i].k, d->scale, &k) ||
                 !lin_add_term(d->p, d->r, x->t[i].atom, k)))
      *ok = false;
    lin_remove(x, i);
  }
  if (d->r &&
      (__builtin_mul_overflow(c, d->scale, &c) || !lin_add_const(d->r, c)))
    *ok = false;
  x->built = 0;
  x->c = rest / g;
  d->c /= g;
  d->scale *= g;
  return true;
}

/* Tries the greatest common divisors of c and each coefficient. */
static bool take_low_digit(division *d, bool *ok) {
  int64_t tried = 1;
  for (uint32_t i = 0; i < d->rest.n; i++) {
    int64_t k = d->rest.t[i].k;
    if (k == 1 || k == -1) continue;
    int64_t g = arith_gcd(k, d->c);
    if (g == 1 || g == tried) continue;
    if (split_low(d, g, ok)) return true;
    tried = g;
  }
  return false;
}

/* (y // a + s) // c is (y + a * s) // (a * c). */
static bool divide_quotient(division *d, const ir_node *n, int64_t a,
                            bool *ok) {
  lin y;
  int64_t ac, as;
  if (__builtin_mul_overflow(a, d->c, &ac) ||
      __builtin_mul_overflow(a, d->rest.c, &as))
    return false;
  lin_of(d->p, n->a, &y);
  *ok = lin_add_const(&y, as) && lin_divmod(d->p, &y, ac, d->q, NULL);
  return true;
}

/* (y % m) // c is (y // c) % (m // c) where c divides m. */
static bool divide_remainder(division *d, const ir_node *n, int64_t m,
                             bool *ok) {
  lin y, z;
  if (m % d->c || d->rest.c) return false;
  lin_of(d->p, n->a, &y);
  lin_zero(&z);
  *ok = lin_divmod(d->p, &y, d->c, &z, NULL) &&
        lin_divmod(d->p, &z, m / d->c, NULL, d->q);
  return true;
}

/* (y % m + s) % c is (y + s) % c where c divides m. */
static bool reduce_remainder(division *d, const ir_node *n, int64_t m,
                             bool *ok) {
  lin y, z;
  if (m % d->c) return false;
  lin_of(d->p, n->a, &y);
  lin_zero(&z);
  *ok = lin_add_const(&y, d->rest.c) && lin_divmod(d->p, &y, d->c, NULL, &z) &&
        lin_add(d->p, d->r, &z, d->scale);
  return true;
}

/* Emits the atoms rest // c and rest % c, or what the division of a quotient or
 * remainder simplifies to. */
static bool emit_division(division *d) {
  ir_program *p = d->p;
  lin *x = &d->rest;
  bool ok = true, have_q = !d->q, have_r = !d->r;
  int64_t m;
  ir_node n = *ir_at(p, x->t[0].atom);
  if (x->n == 1 && x->t[0].k == 1 && (n.op == IR_DIV || n.op == IR_MOD) &&
      ir_const_int(p, n.b, &m) && m > 0) {
    if (!have_q)
      have_q = n.op == IR_DIV ? divide_quotient(d, &n, m, &ok)
                              : divide_remainder(d, &n, m, &ok);
    if (ok && !have_r && n.op == IR_MOD)
      have_r = reduce_remainder(d, &n, m, &ok);
  }
  if (!ok || (have_q && have_r)) return ok;
  ir_expr rest = lin_build(p, x), c = ir_index(p, d->c);
  if (!have_q)
    ok = lin_add_term(p, d->q, ir_binary_node(p, IR_DIV, rest, c), 1);
  if (!have_r)
    ok = ok &&
         lin_add_term(p, d->r, ir_binary_node(p, IR_MOD, rest, c), d->scale);
  return ok;
}

static bool divide_rest(division *d) {
  bool ok = true;
  do {
    if (d->c == 1) return !d->q || lin_add(d->p, d->q, &d->rest, 1);
    if (!take_multiples(d) || !take_single(d)) return false;
    arith_range terms = lin_term_range(d->p, &d->rest);
    if (take_bounded(d, terms, &ok)) return ok;
    if (!settle_const(d, terms)) return false;
  } while (take_low_digit(d, &ok) && ok);
  return ok && emit_division(d);
}

bool lin_divmod(ir_program *p, const lin *x, int64_t c, lin *q, lin *r) {
  if (c > INT64_MAX / 2) return false;
  division d = {.p = p, .c = c, .scale = 1, .q = q, .r = r};
  lin_copy(&d.rest, x);
  return divide_rest(&d);
}

/* ---- expressions -------------------------------------------------------- */

/* By a nonzero constant; for a negative one the dividend is negated. */
static ir_expr divide_const(ir_program *p, ir_op op, ir_expr a, int64_t c) {
  lin x, y;
  int64_t sign = c < 0 ? -1 : 1;
  lin_of(p, a, &x);
  lin_zero(&y);
  if (c == INT64_MIN || !lin_scale(&x, sign) ||
      !lin_divmod(p, &x, c * sign, op == IR_DIV ? &y : NULL,
                  op == IR_MOD ? &y : NULL) ||
      (op == IR_MOD && !lin_scale(&y, sign)) ||
      (y.digits && !lin_recombine(p, &y)))
    return 0;
  return lin_build(p, &y);
}

/* Is 0 <= a < b, also for symbolic b? */
static bool is_remainder(ir_program *p, ir_expr a, ir_expr b) {
  const ir_node *x = ir_at(p, a), *y = ir_at(p, b);
  lin diff;
  if (x->lo < 0 || y->lo <= 0) return false;
  return x->hi < y->lo ||
         (lin_diff(p, a, b, &diff) && lin_range(p, &diff).hi < 0);
}

/* By a divisor that is nonzero and not constant: takes out its multiples. */
static ir_expr divide_sum(ir_program *p, ir_op op, ir_expr a, ir_expr b) {
  lin x, whole, rest;
  lin_of(p, a, &x);
  if (!lin_divide_by(p, &x, b, &whole, &rest) ||
      (whole.digits && !lin_recombine(p, &whole)) ||
      (rest.digits && !lin_recombine(p, &rest)))
    return 0;
  ir_expr low = ir_binary(p, op, lin_build(p, &rest), b);
  return op == IR_MOD ? low : ir_add(p, lin_build(p, &whole), low);
}

ir_expr arith_divide_by(ir_program *p, ir_op op, ir_expr a, ir_expr b) {
  const ir_node *y = ir_at(p, b);
  int64_t c;
  ir_expr e = 0;
  if (ir_const_int(p, b, &c)) {
    if (c == 0) return ir_index(p, 0);
    e = divide_const(p, op, a, c);
  } else if (is_remainder(p, a, b)) {
    return op == IR_DIV ? ir_index(p, 0) : a;
  } else if (y->lo > 0 || y->hi < 0) {
    if (a == b) return ir_index(p, op == IR_DIV);
    e = divide_sum(p, op, a, b);
  } else if (ir_is_const(p, a, 0)) {
    return a;
  }
  return e ? e : ir_binary_node(p, op, a, b);
}
