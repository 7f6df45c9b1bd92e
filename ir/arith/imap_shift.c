/* SPDX-License-Identifier: Apache-2.0
 * Affine iteration map detection: changes of variables that normalize
 * dividends: splitting by symbolic divisors, reversal for negative
 * coefficients, shifting by constant offsets. */
#include "ir/arith/arith.h"
#include "ir/arith/imap.h"
#include "ir/edit.h"
#include "ir/query.h"

/* ---- symbolic divisors -------------------------------------------------- */

/* Variable y, which takes count * size values, to be replaced by high * size +
 * low. */
typedef struct by_size {
  ir_expr y, size, count, high, low;
  bool odd; /* y is used in an expression that cannot be rebuilt */
} by_size;

/* size is invariant in the map, at least 1, and divides the extent of y. */
static bool fits_size(imap *m, uint32_t v, ir_expr size, by_size *f) {
  ir_program *p = m->p;
  const imap_var x = m->var[v];
  if (x.extent || ir_at(p, size)->lo < 1) return false;
  for (uint32_t i = 0; i < m->nvar; i++)
    if (ir_uses_var(p, size, m->var[i].var)) return false;
  *f = (by_size){.y = ir_ref(p, x.var),
                 .size = size,
                 .count = ir_binary(p, IR_DIV, x.size, size)};
  return ir_at(p, f->count)->lo >= 1 &&
         arith_prove_eq(p, ir_mul(p, f->count, size), x.size);
}

static bool find_by_size(imap *m, ir_expr e, by_size *f) {
  const ir_node n = *ir_at(m->p, e);
  if (n.op == IR_INT || n.op == IR_VAR || n.op == IR_REAL) return false;
  if ((n.op == IR_DIV || n.op == IR_MOD) && ir_at(m->p, n.b)->op != IR_INT &&
      ir_at(m->p, n.a)->op == IR_VAR) {
    uint32_t v = imap_find_var(m, ir_at(m->p, n.a)->a);
    if (v < m->nvar && fits_size(m, v, n.b, f)) return true;
  }
  const uint32_t *ops;
  uint32_t fixed[3], k = ir_operands(m->p, e, &ops, fixed);
  uint32_t op[3] = {0};
  if (k > 3) return false;
  memcpy(op, ops, k * sizeof *op);
  for (uint32_t i = 0; i < k; i++)
    if (find_by_size(m, op[i], f)) return true;
  return false;
}

static ir_expr others_without_y(ir_program *p, by_size *f, ir_expr e) {
  const ir_node n = *ir_at(p, e);
  if ((n.op == IR_DIV || n.op == IR_MOD) && n.a == f->y && n.b == f->size)
    return n.op == IR_DIV ? f->high : f->low;
  if (e == f->y) return ir_add(p, ir_mul(p, f->high, f->size), f->low);
  if (!ir_uses_var(p, e, ir_at(p, f->y)->a)) return e;
  if (n.op < IR_ADD || n.op > IR_OR) {
    f->odd = true;
    return e;
  }
  ir_expr a = others_without_y(p, f, n.a);
  return ir_binary(p, (ir_op)n.op, a, others_without_y(p, f, n.b));
}

bool imap_split_by_size(imap *m) {
  ir_program *p = m->p;
  by_size f;
  uint32_t i = 0, n = m->npred;
  if (m->nvar + 2 > IMAP_VARS) return false;
  while (i < m->nout + n &&
         !find_by_size(m, i < m->nout ? m->expr[i] : m->pred[i - m->nout], &f))
    i++;
  if (i == m->nout + n) return false;
  int64_t count = 0;
  ir_expr *e = arena_array(m->scratch, ir_expr, m->nexpr + n);
  ir_const_int(p, f.count, &count);
  f.high = ir_ref(p, imap_new_var(m, count, count ? 0 : f.count));
  f.low = ir_ref(p, imap_new_var(m, 0, f.size));
  for (i = 0; i < m->nexpr; i++) e[i] = others_without_y(p, &f, m->expr[i]);
  for (i = 0; i < n; i++) e[m->nexpr + i] = others_without_y(p, &f, m->pred[i]);
  if (f.odd) {
    m->nvar -= 2;
    return false;
  }
  imap_remove_var(m, ir_at(p, f.y)->a);
  memcpy(m->expr, e, m->nexpr * sizeof *e);
  m->npred = 0;
  for (i = 0; i < n; i++) imap_add_pred(m, e[m->nexpr + i]);
  return true;
}

/* ---- negative coefficients and offsets ---------------------------------- */

/* Variable v is divided by d, with a negative coefficient (turn) or with c
 * added to it. */
typedef struct offset {
  uint32_t v;
  int64_t d, c;
  bool turn;
} offset;

static void check_dividend(const imap *m, ir_expr e, int64_t d, offset *f) {
  lin x;
  lin_of(m->p, e, &x);
  for (uint32_t i = 0; i < x.n && !f->turn; i++) {
    const ir_node *n = ir_at(m->p, x.t[i].atom);
    uint32_t v = n->op == IR_VAR ? imap_find_var(m, n->a) : m->nvar;
    if (v == m->nvar) continue;
    if (x.t[i].k < 0 && !m->var[v].turned)
      *f = (offset){.v = v, .turn = true};
    else if (x.n == 1 && x.t[i].k == 1 && x.c > 0 && d > f->d &&
             !m->var[v].shifted)
      *f = (offset){.v = v, .d = d, .c = x.c};
  }
}

/* The largest divisor determines the most of the constant. */
static void find_offset(const imap *m, ir_expr e, offset *f) {
  const ir_node *n = ir_at(m->p, e);
  int64_t d;
  if (n->op == IR_INT || n->op == IR_VAR || n->op == IR_REAL || f->turn) return;
  if ((n->op == IR_DIV || n->op == IR_MOD) && ir_const_int(m->p, n->b, &d) &&
      d > 0)
    check_dividend(m, n->a, d, f);
  const uint32_t *ops;
  uint32_t fixed[3], k = ir_operands(m->p, e, &ops, fixed);
  for (uint32_t i = 0; i < k; i++) find_offset(m, ops[i], f);
}

/* A shifted variable takes values that v does not take, so the map is a
 * restriction of the one that is analyzed then. */
bool imap_reverse_or_shift(imap *m) {
  ir_program *p = m->p;
  offset f = {0};
  for (uint32_t i = 0; i < m->nout; i++) find_offset(m, m->expr[i], &f);
  if (!f.turn && !f.c) return false;
  imap_var x = m->var[f.v];
  ir_expr to, size = x.extent ? ir_index(p, x.extent) : x.size;
  if (x.extent && __builtin_add_overflow(x.extent, f.c, &x.extent))
    return false;
  x.size = x.extent ? 0 : ir_add(p, size, ir_index(p, f.c));
  imap_remove_var(m, x.var);
  ir_expr t = ir_ref(p, imap_new_var(m, x.extent, x.size));
  imap_var *made = &m->var[m->nvar - 1];
  made->turned = x.turned || f.turn;
  made->shifted = x.shifted || !f.turn;
  if (f.turn)
    to = ir_sub(p, ir_sub(p, size, ir_index(p, 1)), t);
  else
    to = ir_sub(p, t, ir_index(p, f.c));
  m->restricted |= !f.turn;
  ir_subst s;
  ir_subst_init(&s, p, m->scratch);
  ir_subst_var(&s, x.var, to);
  imap_substitute(m, &s);
  return true;
}
