/* SPDX-License-Identifier: Apache-2.0
 * Proofs that a condition holds for all values of its variables.  Conditions
 * are reduced to sums below constants, which are proven by value ranges, by
 * ranges narrowed by assumptions, or by subtracting multiples of assumptions
 * (as in Fourier-Motzkin elimination). */
#include "ir/arith/arith.h"
#include "ir/arith/linear.h"
#include "ir/edit.h"

/* ---- without assumptions ------------------------------------------------ */

/* x = a - b, recombined; false: unknown. */
static bool prove_difference(ir_program *p, ir_expr a, ir_expr b, lin *x) {
  return ir_is_algebra(ir_at(p, a)) && ir_is_algebra(ir_at(p, b)) &&
         lin_diff(p, a, b, x) && (!x->digits || lin_recombine(p, x));
}

bool arith_prove_eq(ir_program *p, ir_expr a, ir_expr b) {
  lin x;
  if (a == b) return true;
  ir_mark mark = ir_get_mark(p);
  arith_range r = ARITH_ALL;
  if (prove_difference(p, a, b, &x))
    r = x.n ? lin_tight_range(p, &x) : (arith_range){x.c, x.c};
  ir_rollback(p, mark);
  return r.lo == 0 && r.hi == 0;
}

bool arith_prove_le(ir_program *p, ir_expr a, ir_expr b) {
  lin x;
  if (a == b) return true;
  ir_mark mark = ir_get_mark(p);
  bool holds = prove_difference(p, a, b, &x) &&
               (lin_range(p, &x).hi <= 0 || lin_tight_range(p, &x).hi <= 0);
  ir_rollback(p, mark);
  return holds;
}

/* ---- assumptions -------------------------------------------------------- */

enum { FACTS_MAX = 16, VARS_MAX = 32 };

/* A sum that is assumed to be at most 0. */
typedef lin fact;

typedef struct proof {
  ir_program *p;
  arena *scratch;
  fact *fact;
  uint32_t nfact, nvar;
  ir_var var[VARS_MAX];
  arith_range range[VARS_MAX];
} proof;

/* An upper bound of a maximum bounds both of its operands, and a lower bound of
 * a minimum, too: adds a fact for each. */
static void open_fact(proof *f, uint32_t k, int depth) {
  for (uint32_t i = 0; depth > 0 && i < f->fact[k].n; i++) {
    const lin_term t = f->fact[k].t[i];
    const ir_node n = *ir_at(f->p, t.atom);
    if (n.wraps || n.op != (t.k > 0 ? IR_MAX : IR_MIN)) continue;
    for (int side = 0; side < 2 && f->nfact < FACTS_MAX; side++) {
      uint32_t made = f->nfact;
      lin *x = &f->fact[made], y;
      lin_copy(x, &f->fact[k]);
      lin_remove(x, i);
      lin_of(f->p, side ? n.b : n.a, &y);
      if (!lin_add(f->p, x, &y, t.k)) continue;
      f->nfact++;
      open_fact(f, made, depth - 1);
    }
    return;
  }
}

enum { CHOICES = 3 }; /* nesting of these */

static void add_fact(proof *f, ir_expr a, ir_expr b, int64_t slack) {
  uint32_t k = f->nfact;
  if (k == FACTS_MAX || !prove_difference(f->p, a, b, &f->fact[k]) ||
      !lin_add_const(&f->fact[k], slack))
    return;
  f->nfact++;
  open_fact(f, k, CHOICES);
}

static void add_facts(proof *f, ir_expr e) {
  const ir_node n = *ir_at(f->p, e);
  switch ((ir_op)n.op) {
  case IR_AND:
    add_facts(f, n.a);
    add_facts(f, n.b);
    break;
  case IR_LT: add_fact(f, n.a, n.b, 1); break;
  case IR_LE: add_fact(f, n.a, n.b, 0); break;
  case IR_EQ:
    add_fact(f, n.a, n.b, 0);
    add_fact(f, n.b, n.a, 0);
    break;
  default: break;
  }
}

static arith_range *narrowed_range(proof *f, ir_var v) {
  for (uint32_t i = 0; i < f->nvar; i++)
    if (f->var[i] == v) return &f->range[i];
  if (f->nvar == VARS_MAX) return NULL;
  f->var[f->nvar] = v;
  f->range[f->nvar] = arith_bounds(f->p, ir_ref(f->p, v));
  return &f->range[f->nvar++];
}

/* k * v <= -(minimum of the others) narrows the range of variable v. */
static void narrow_var(proof *f, const lin *x, uint32_t i) {
  const ir_node *n = ir_at(f->p, x->t[i].atom);
  if (n->op != IR_VAR) return;
  arith_range *r = narrowed_range(f, n->a);
  lin rest;
  lin_copy(&rest, x);
  lin_remove(&rest, i);
  int64_t k = x->t[i].k, most = lin_range(f->p, &rest).lo;
  if (!r || most == INT64_MIN) return;
  most = -most;
  if (k > 0 && arith_fdiv(most, k) < r->hi) r->hi = arith_fdiv(most, k);
  if (k < 0 && -arith_fdiv(most, -k) > r->lo) r->lo = -arith_fdiv(most, -k);
}

/* ---- with assumptions --------------------------------------------------- */

/* The maximum of x with the narrowed ranges. */
static int64_t max_of_form(proof *f, const lin *x) {
  arith_range r = {x->c, x->c};
  for (uint32_t i = 0; i < x->n; i++) {
    arith_range t =
        arith_range_scale(arith_bounds_with(f->p, f->scratch, x->t[i].atom,
                                            f->nvar, f->var, f->range),
                          x->t[i].k);
    r.hi = arith_add_hi(r.hi, t.hi);
  }
  return r.hi;
}

static bool at_most_zero(proof *f, const lin *x, int depth);

/* With known <= 0 and g, h > 0: x <= 0 is implied by g * x - h * known < g.
 * Term i of x and term j of `known` cancel. */
static bool subtract_fact(proof *f, const lin *x, uint32_t i, const lin *known,
                          int depth) {
  for (uint32_t j = 0; j < known->n; j++) {
    int64_t a = x->t[i].k, b = known->t[j].k;
    if (known->t[j].atom != x->t[i].atom || (a > 0) != (b > 0)) continue;
    int64_t common = arith_gcd(a, b), g = (b > 0 ? b : -b) / common;
    int64_t h = (a > 0 ? a : -a) / common;
    lin y;
    lin_copy(&y, x);
    return lin_scale(&y, g) && lin_add(f->p, &y, known, -h) &&
           lin_add_const(&y, 1 - g) && at_most_zero(f, &y, depth);
  }
  return false;
}

/* m * (y // m) is in [y - m + 1, y], so m * x is at most x with term i, k * (y
 * // m), replaced; x <= 0 if that is below m. */
static bool open_quotient(proof *f, const lin *x, uint32_t i, int depth) {
  const ir_node n = *ir_at(f->p, x->t[i].atom);
  int64_t m, k = x->t[i].k, off;
  lin y, z;
  if (n.wraps || n.op != IR_DIV || !ir_const_int(f->p, n.b, &m) || m <= 0)
    return false;
  lin_copy(&y, x);
  lin_remove(&y, i);
  lin_of(f->p, n.a, &z);
  if (__builtin_mul_overflow(k < 0 ? -k : 0, m - 1, &off) ||
      __builtin_sub_overflow(off, m - 1, &off))
    return false;
  return lin_scale(&y, m) && lin_add(f->p, &y, &z, k) &&
         lin_add_const(&y, off) && at_most_zero(f, &y, depth);
}

/* Is x <= 0?  Tries ranges, then steps that use a fact or open a quotient,
 * `depth` of them nested. */
static bool at_most_zero(proof *f, const lin *x, int depth) {
  if (max_of_form(f, x) <= 0) return true;
  for (uint32_t i = 0; depth > 0 && i < x->n; i++) {
    for (uint32_t k = 0; k < f->nfact; k++)
      if (subtract_fact(f, x, i, &f->fact[k], depth - 1)) return true;
    if (open_quotient(f, x, i, depth - 1)) return true;
  }
  return false;
}

enum { STEPS = 3 };

/* Is a + slack <= b implied? */
static bool prove_at_most(proof *f, ir_expr a, ir_expr b, int64_t slack) {
  lin x;
  return prove_difference(f->p, a, b, &x) && lin_add_const(&x, slack) &&
         (lin_tight_range(f->p, &x).hi <= 0 || at_most_zero(f, &x, STEPS));
}

static bool is_assumed(const proof *f, ir_expr assume, ir_expr cond) {
  const ir_node *n = ir_at(f->p, assume);
  if (assume == cond) return true;
  return n->op == IR_AND &&
         (is_assumed(f, n->a, cond) || is_assumed(f, n->b, cond));
}

static bool prove(proof *f, ir_expr cond, ir_expr assume) {
  const ir_node n = *ir_at(f->p, cond);
  if (n.lo > 0 || (assume && is_assumed(f, assume, cond))) return true;
  switch ((ir_op)n.op) {
  case IR_AND: return prove(f, n.a, assume) && prove(f, n.b, assume);
  case IR_OR: return prove(f, n.a, assume) || prove(f, n.b, assume);
  case IR_LT: return prove_at_most(f, n.a, n.b, 1);
  case IR_LE: return prove_at_most(f, n.a, n.b, 0);
  case IR_EQ:
    return prove_at_most(f, n.a, n.b, 0) && prove_at_most(f, n.b, n.a, 0);
  case IR_NE:
    return prove_at_most(f, n.a, n.b, 1) || prove_at_most(f, n.b, n.a, 1);
  default: return false;
  }
}

bool arith_prove(ir_program *p, arena *scratch, ir_expr cond, ir_expr assume) {
  arena_mark mark = arena_get_mark(scratch);
  ir_mark made = ir_get_mark(p);
  proof f = {.p = p,
             .scratch = scratch,
             .fact = arena_array(scratch, fact, FACTS_MAX)};
  bool holds = assume && ir_is_const(p, assume, 0);
  if (!holds && assume) add_facts(&f, assume);
  for (uint32_t k = 0; k < f.nfact; k++)
    for (uint32_t i = 0; i < f.fact[k].n; i++) narrow_var(&f, &f.fact[k], i);
  holds = holds || prove(&f, cond, assume);
  ir_rollback(p, made);
  arena_reset_to(scratch, mark);
  return holds;
}
