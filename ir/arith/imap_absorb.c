/* SPDX-License-Identifier: Apache-2.0
 * Affine iteration map detection: removing remainders from dividends, so that
 * whole variables replace them. */
#include "ir/arith/imap.h"
#include "ir/edit.h"

static ir_expr absorb_in(imap *m, ir_expr e);

/* A remainder y % b of one variable that cannot become a variable of its own:
 * its digits overlap, or b does not divide the extent. */
static bool is_dependent_digit(const imap *m, ir_expr e, int64_t *b) {
  const ir_node *n = ir_at(m->p, e);
  ir_op below = (ir_op)ir_at(m->p, n->a)->op;
  lin_digit g;
  if (n->op != IR_MOD || !ir_const_int(m->p, n->b, b) || *b <= 0 ||
      below == IR_ADD || below == IR_SUB)
    return false;
  if (!lin_as_digit(m->p, e, &g)) return true;
  uint32_t v = imap_find_var(m, g.var);
  return v < m->nvar && !imap_divides(m, &m->var[v], g.d * g.m);
}

/* x + k * (y // c) or x + k * (y % c), where y is rewritten without such
 * remainders: if c divides a * b, then a * (z % b) in y is a * z less a
 * multiple of c. */
static bool absorb_digit(imap *m, lin *x, ir_expr atom, int64_t k) {
  ir_program *p = m->p;
  const ir_node n = *ir_at(p, atom);
  int64_t c, b, ab, times;
  lin y, z, sum;
  if (!ir_const_int(p, n.b, &c) || c <= 0) return lin_add_term(p, x, atom, k);
  lin_of(p, absorb_in(m, n.a), &y);
  lin_zero(&sum);
  bool ok = lin_add_const(&sum, y.c);
  for (uint32_t i = 0; ok && i < y.n; i++) {
    lin_term t = y.t[i];
    const ir_node d = *ir_at(p, t.atom);
    if (!is_dependent_digit(m, t.atom, &b) ||
        __builtin_mul_overflow(t.k, b, &ab) || ab % c) {
      ok = lin_add_term(p, &sum, t.atom, t.k);
      continue;
    }
    lin_of(p, d.a, &z);
    ok = lin_add(p, &sum, &z, t.k);
    ir_expr above = ir_binary(p, IR_DIV, d.a, d.b);
    lin_of(p, above, &z);
    if (n.op == IR_DIV)
      ok = ok && !__builtin_mul_overflow(ab / c, k, &times) &&
           lin_add(p, x, &z, -times);
  }
  if (!ok) return false;
  ir_expr whole = lin_build(p, &sum);
  lin_of(p, ir_binary(p, (ir_op)n.op, whole, n.b), &z);
  return lin_add(p, x, &z, k);
}

static ir_expr absorb_sum(imap *m, ir_expr e) {
  lin x, y;
  lin_of(m->p, e, &y);
  if (!y.digits) return e;
  lin_zero(&x);
  bool ok = lin_add_const(&x, y.c);
  for (uint32_t i = 0; ok && i < y.n; i++) {
    ir_op op = (ir_op)ir_at(m->p, y.t[i].atom)->op;
    ok = op == IR_DIV || op == IR_MOD
             ? absorb_digit(m, &x, y.t[i].atom, y.t[i].k)
             : lin_add_term(m->p, &x, y.t[i].atom, y.t[i].k);
  }
  if (!ok || (x.digits && !lin_recombine(m->p, &x))) return e;
  return lin_build(m->p, &x);
}

static ir_expr absorb_in(imap *m, ir_expr e) {
  const ir_node n = *ir_at(m->p, e);
  if (ir_is_algebra(&n)) return absorb_sum(m, e);
  if (n.op != IR_LT && n.op != IR_LE) return e;
  ir_expr a = absorb_in(m, n.a);
  return ir_binary(m->p, (ir_op)n.op, a, absorb_in(m, n.b));
}

bool imap_absorb(imap *m) {
  bool changed = false;
  for (uint32_t i = 0; i < m->nout; i++) {
    ir_expr e = absorb_in(m, m->expr[i]);
    changed |= e != m->expr[i];
    m->expr[i] = e;
  }
  uint32_t n = m->npred;
  m->npred = 0;
  for (uint32_t i = 0; i < n; i++) {
    ir_expr e = absorb_in(m, m->pred[i]);
    changed |= e != m->pred[i];
    imap_add_pred(m, e);
  }
  return changed;
}
