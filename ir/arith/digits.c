/* SPDX-License-Identifier: Apache-2.0
 * Recombining quotients and remainders of one dividend: (y // m) * m + y % m is
 * y, and adjacent digits of y fuse. */
#include "ir/arith/linear.h"
#include "ir/edit.h"

/* Is the atom the quotient or remainder of some y by a constant m > 0? */
static bool as_digit(const ir_program *p, ir_expr atom, ir_op op, ir_expr *y,
                     int64_t *m) {
  const ir_node *n = ir_at(p, atom);
  *y = n->a;
  return n->op == op && !n->wraps && ir_const_int(p, n->b, m) && *m > 0;
}

/* Is k * y, up to the constant, part of x? */
static bool contains_terms(const lin *x, const lin *y, int64_t k) {
  for (uint32_t i = 0, j = 0; i < y->n; i++, j++) {
    int64_t v;
    while (j < x->n && x->t[j].atom < y->t[i].atom) j++;
    if (j == x->n || x->t[j].atom != y->t[i].atom ||
        __builtin_mul_overflow(y->t[i].k, k, &v) || x->t[j].k != v)
      return false;
  }
  return true;
}

/* Replaces the terms i and j of x by k * y. */
static bool replace_pair(const ir_program *p, lin *x, uint32_t i, uint32_t j,
                         const lin *y, int64_t k) {
  lin_remove(x, i > j ? i : j);
  lin_remove(x, i > j ? j : i);
  return lin_add(p, x, y, k);
}

/* Term j is the quotient y // m, which is `q`: k * m * (y // m) and k * (y % m)
 * sum to k * y. */
static bool join_quotient(ir_program *p, lin *x, uint32_t i, uint32_t j, lin *y,
                          int64_t m, const lin *q, bool *ok) {
  int64_t k = x->t[i].k, off;
  if (q->n != 1 || q->t[0].k != 1 || q->t[0].atom != x->t[j].atom) return false;
  *ok = !__builtin_mul_overflow(q->c, -m, &off) && lin_add_const(y, off) &&
        replace_pair(p, x, i, j, y, k);
  return true;
}

/* Term j is the next digit (y // m) % b: they sum to y % (m * b). */
static bool join_digit(ir_program *p, lin *x, uint32_t i, uint32_t j,
                       const lin *y, int64_t m, const lin *q, bool *ok) {
  int64_t k = x->t[i].k, b, mb;
  ir_expr above;
  lin z;
  if (!as_digit(p, x->t[j].atom, IR_MOD, &above, &b) ||
      __builtin_mul_overflow(m, b, &mb))
    return false;
  lin_zero(&z);
  if (!lin_divmod(p, q, b, NULL, &z) || !lin_is_atom(&z, x->t[j].atom))
    return false;
  lin_zero(&z);
  *ok = lin_divmod(p, y, mb, NULL, &z) && replace_pair(p, x, i, j, &z, k);
  return true;
}

/* Looks for a term that recombines with the remainder in term i. */
static bool join_remainder(ir_program *p, lin *x, uint32_t i, bool *ok) {
  int64_t m, k = x->t[i].k, want;
  ir_expr e;
  lin y, q;
  bool known = false;
  if (!as_digit(p, x->t[i].atom, IR_MOD, &e, &m) ||
      __builtin_mul_overflow(k, m, &want))
    return false;
  for (uint32_t j = 0; j < x->n; j++) {
    if (x->t[j].k != want) continue;
    if (!known) {
      lin_of(p, e, &y);
      lin_zero(&q);
      if (!lin_divmod(p, &y, m, &q, NULL)) return false;
      known = true;
    }
    if (join_quotient(p, x, i, j, &y, m, &q, ok) ||
        join_digit(p, x, i, j, &y, m, &q, ok))
      return true;
  }
  return false;
}

/* y less its quotient part is its remainder, and vice versa: term i is the
 * digit, x also contains -factor times its y; `rest` times the other
 * digit replaces both. */
static bool subtract(ir_program *p, lin *x, uint32_t i, bool *ok) {
  int64_t m, k = x->t[i].k;
  ir_expr e;
  lin y, z;
  bool quotient = as_digit(p, x->t[i].atom, IR_DIV, &e, &m);
  if (!quotient && !as_digit(p, x->t[i].atom, IR_MOD, &e, &m)) return false;
  if (x->n < 2 || k == INT64_MIN || (quotient && k % m)) return false;
  int64_t times = quotient ? -(k / m) : -k;
  lin_of(p, e, &y);
  if (!contains_terms(x, &y, times)) return false;
  lin_zero(&z);
  *ok = lin_divmod(p, &y, m, quotient ? NULL : &z, quotient ? &z : NULL) &&
        (quotient || lin_scale(&z, m));
  if (!*ok) return true;
  lin_remove(x, i);
  *ok = lin_add(p, x, &y, -times) && lin_add(p, x, &z, times);
  return true;
}

bool lin_recombine(ir_program *p, lin *x) {
  bool ok = true;
  int rounds = 0;
  for (uint32_t i = 0; x->digits && x->n > 1 && i < x->n; i++) {
    ir_mark mark = ir_get_mark(p);
    if (!join_remainder(p, x, i, &ok) && !subtract(p, x, i, &ok)) {
      ir_rollback(p, mark);
      continue;
    }
    if (!ok || ++rounds > 2 * LIN_MAX) return false;
    i = UINT32_MAX;
  }
  return ok;
}

bool lin_as_digit(const ir_program *p, ir_expr atom, lin_digit *out) {
  ir_expr e;
  if (as_digit(p, atom, IR_MOD, &e, &out->m))
    atom = e;
  else
    out->m = 0;
  if (as_digit(p, atom, IR_DIV, &e, &out->d))
    atom = e;
  else
    out->d = 1;
  out->var = ir_at(p, atom)->a;
  return ir_at(p, atom)->op == IR_VAR;
}
