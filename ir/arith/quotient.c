/* SPDX-License-Identifier: Apache-2.0
 * Polynomial division by a divisor that is not constant: as long as the
 * divisor's leading term divides a term, that multiple of the divisor is
 * subtracted.  This undoes fusing of loops of symbolic extents: (n * q + n + j)
 * // (q + 1) is n + j // (q + 1).  If the rest becomes negative one multiple
 * less is subtracted: (n * q + n + q) // (q + 1), where subtracting n + 1 times
 * the divisor leaves -1, is n + q // (q + 1). */
#include "ir/arith/linear.h"
#include "ir/edit.h"

enum { STEPS = 16 };

/* Cancels the factors `by` from the n factors in f, both in order of creation;
 * false: they are not all there. */
static bool cancel(ir_expr *f, uint32_t *n, const ir_expr *by, uint32_t nby) {
  uint32_t kept = 0, j = 0;
  for (uint32_t i = 0; i < *n; i++)
    if (j < nby && f[i] == by[j])
      j++;
    else
      f[kept++] = f[i];
  *n = kept;
  return j == nby;
}

/* The atom divided by `by`; 0: not divisible. */
static ir_expr divide_atom(ir_program *p, ir_expr atom, ir_expr by) {
  ir_expr f[LIN_FACTORS], d[LIN_FACTORS];
  uint32_t n = 0, nd = 0;
  if (!lin_factors(p, atom, f, &n) || !lin_factors(p, by, d, &nd) ||
      !cancel(f, &n, d, nd))
    return 0;
  ir_expr e = n ? f[0] : ir_index(p, 1);
  for (uint32_t i = 1; i < n; i++) e = ir_binary_node(p, IR_MUL, e, f[i]);
  return e;
}

/* The term with the most factors: it divides no other. */
static lin_term leading(const ir_program *p, const lin *b) {
  lin_term lead = {0, 0};
  uint32_t most = 0;
  for (uint32_t i = 0; i < b->n; i++) {
    ir_expr f[LIN_FACTORS];
    uint32_t n = 0;
    if (!lin_factors(p, b->t[i].atom, f, &n)) return (lin_term){0, 0};
    if (n <= most) continue;
    lead = b->t[i];
    most = n;
  }
  return lead;
}

/* A term of x that `lead` divides, and the quotient. */
static ir_expr find_multiple(ir_program *p, const lin *x, lin_term lead,
                             int64_t *k) {
  for (uint32_t i = 0; i < x->n; i++) {
    if (x->t[i].k % lead.k || x->t[i].k == INT64_MIN) continue;
    ir_expr e = divide_atom(p, x->t[i].atom, lead.atom);
    *k = x->t[i].k / lead.k;
    if (e) return e;
  }
  return 0;
}

bool lin_divide_by(ir_program *p, const lin *x, ir_expr b, lin *whole,
                   lin *rest) {
  lin y, off;
  int64_t k;
  ir_expr times;
  lin_of(p, b, &y);
  lin_zero(whole);
  lin_copy(rest, x);
  lin_term lead = leading(p, &y);
  if (!lead.atom) return false;
  for (int i = 0; (times = find_multiple(p, rest, lead, &k)); i++) {
    if (i == STEPS) return false;
    bool fits = ir_is_const(p, times, 1) ? lin_add_const(whole, k)
                                         : lin_add_term(p, whole, times, k);
    lin_of(p, ir_mul(p, times, b), &off);
    if (!fits || !lin_add(p, rest, &off, -k)) return false;
  }
  bool is_atom = y.n == 1 && y.c == 0;
  if (!is_atom && lin_range(p, rest).lo < 0 &&
      (!lin_add_const(whole, -1) || !lin_add(p, rest, &y, 1)))
    return false;
  return (whole->n || whole->c) && (is_atom || lin_range(p, rest).lo >= 0);
}
