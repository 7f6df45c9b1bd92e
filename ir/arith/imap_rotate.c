/* SPDX-License-Identifier: Apache-2.0
 * Affine iteration map detection: rotations.  In (x + rest) % m, where x takes
 * m values and occurs nowhere else, x -> remainder is a bijection for each
 * value of the other variables, so a variable of its own replaces the
 * remainder.  Layouts that rotate the rows of a tile are such maps. */
#include "ir/arith/imap.h"
#include "ir/edit.h"
#include "ir/query.h"

typedef struct rotation {
  ir_expr mod;  /* the remainder */
  ir_expr rest; /* its dividend without x */
  uint32_t v;   /* of x, among the variables */
  bool turned;  /* (rest - x) % m */
  lin radix;    /* v is none: terms to be fused to an x of that size */
  int64_t size;
} rotation;

/* Does x occur in e other than in the remainder? */
static bool occurs_outside(const imap *m, ir_expr e, ir_expr mod, ir_var x) {
  const ir_node n = *ir_at(m->p, e);
  if (e == mod || n.op == IR_INT || n.op == IR_REAL) return false;
  if (n.op == IR_VAR) return n.a == x;
  const uint32_t *ops;
  uint32_t fixed[3], k = ir_operands(m->p, e, &ops, fixed);
  for (uint32_t i = 0; i < k; i++)
    if (occurs_outside(m, ops[i], mod, x)) return true;
  return false;
}

static bool is_only_in(const imap *m, ir_expr mod, ir_var x) {
  for (uint32_t i = 0; i < m->nout; i++)
    if (occurs_outside(m, m->expr[i], mod, x)) return false;
  for (uint32_t i = 0; i < m->npred; i++)
    if (occurs_outside(m, m->pred[i], mod, x)) return false;
  return true;
}

/* Term i of the dividend d as the x of a rotation by size. */
static bool term_rotates(const imap *m, ir_expr mod, const lin *d, uint32_t i,
                         int64_t size, rotation *r) {
  const ir_node *n = ir_at(m->p, d->t[i].atom);
  uint32_t v = n->op == IR_VAR ? imap_find_var(m, n->a) : m->nvar;
  int64_t k = d->t[i].k;
  if (v == m->nvar || m->var[v].extent != size || (k != 1 && k != -1) ||
      !is_only_in(m, mod, m->var[v].var))
    return false;
  for (uint32_t j = 0; j < d->n; j++)
    if (j != i && ir_uses_var(m->p, d->t[j].atom, m->var[v].var)) return false;
  lin rest;
  lin_copy(&rest, d);
  lin_remove(&rest, i);
  r->mod = mod;
  r->rest = lin_build(m->p, &rest);
  r->v = v;
  r->turned = k < 0;
  return true;
}

/* The terms of the dividend that are variables which occur nowhere else: a
 * mixed radix of them may be an x that takes `size` values. */
static bool terms_rotate(const imap *m, ir_expr mod, const lin *d,
                         rotation *r) {
  lin_copy(&r->radix, d);
  r->radix.c = 0;
  for (uint32_t i = r->radix.n; i-- > 0;) {
    const ir_node *n = ir_at(m->p, d->t[i].atom);
    if (n->op != IR_VAR || imap_find_var(m, n->a) == m->nvar ||
        !is_only_in(m, mod, n->a))
      lin_remove(&r->radix, i);
  }
  r->v = m->nvar;
  return r->radix.n > 1 && r->radix.n < d->n;
}

/* Innermost first. */
static bool find_rotation(const imap *m, ir_expr e, rotation *r) {
  const ir_node n = *ir_at(m->p, e);
  if (n.op == IR_INT || n.op == IR_VAR || n.op == IR_REAL) return false;
  const uint32_t *ops;
  uint32_t fixed[3], k = ir_operands(m->p, e, &ops, fixed);
  uint32_t op[3] = {0};
  int64_t size;
  if (k > 3) return false;
  memcpy(op, ops, k * sizeof *op);
  for (uint32_t i = 0; i < k; i++)
    if (find_rotation(m, op[i], r)) return true;
  if (n.op != IR_MOD || !ir_const_int(m->p, n.b, &size) || size < 2)
    return false;
  lin d;
  lin_of(m->p, n.a, &d);
  for (uint32_t i = 0; i < d.n && d.n + (d.c != 0) > 1; i++)
    if (term_rotates(m, e, &d, i, size, r)) return true;
  r->size = size;
  return terms_rotate(m, e, &d, r);
}

/* e with t for the remainder; *odd: that is in what cannot be rebuilt. */
static ir_expr put_rotated(imap *m, ir_expr e, ir_expr mod, ir_expr t, ir_var x,
                           bool *odd) {
  const ir_node n = *ir_at(m->p, e);
  if (e == mod) return t;
  if (!ir_uses_var(m->p, e, x)) return e;
  if (n.op < IR_ADD || n.op > IR_OR) {
    *odd = true;
    return e;
  }
  ir_expr a = put_rotated(m, n.a, mod, t, x, odd);
  return ir_binary(m->p, (ir_op)n.op, a, put_rotated(m, n.b, mod, t, x, odd));
}

/* Bindings and predicates get t in place of the remainder; what is followed
 * besides them, t less the rotation in place of x. */
static bool rotate_back(imap *m, const rotation *r) {
  ir_program *p = m->p;
  imap_var x = m->var[r->v];
  uint32_t n = m->npred, all = m->nexpr + n;
  ir_expr *e = arena_array(m->scratch, ir_expr, all + 1), back;
  ir_expr t = ir_ref(p, imap_new_var(m, x.extent, 0));
  bool odd = false;
  back = r->turned ? ir_sub(p, r->rest, t) : ir_sub(p, t, r->rest);
  ir_subst s;
  ir_subst_init(&s, p, m->scratch);
  ir_subst_var(&s, x.var, ir_binary(p, IR_MOD, back, ir_index(p, x.extent)));
  for (uint32_t i = 0; i < all; i++) {
    ir_expr was = i < m->nexpr ? m->expr[i] : m->pred[i - m->nexpr];
    e[i] = i >= m->nout && i < m->nexpr
               ? ir_subst_expr(&s, was)
               : put_rotated(m, was, r->mod, t, x.var, &odd);
  }
  if (odd) {
    m->nvar--;
    return false;
  }
  imap_remove_var(m, x.var);
  memcpy(m->expr, e, m->nexpr * sizeof *e);
  m->npred = 0;
  for (uint32_t i = 0; i < n; i++) imap_add_pred(m, e[m->nexpr + i]);
  return true;
}

bool imap_rotate(imap *m) {
  rotation r;
  if (m->nvar == IMAP_VARS) return false;
  for (uint32_t i = 0; i < m->nout + m->npred; i++) {
    ir_expr e = i < m->nout ? m->expr[i] : m->pred[i - m->nout];
    if (find_rotation(m, e, &r) &&
        (r.v < m->nvar ? rotate_back(m, &r)
                       : imap_fuse_terms(m, &r.radix, r.size)))
      return true;
  }
  return false;
}
