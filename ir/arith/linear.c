/* SPDX-License-Identifier: Apache-2.0
 * Linear forms: extraction from expressions, arithmetic, rebuilding. */
#include "ir/arith/linear.h"
#include "ir/arith/arith.h"
#include "ir/edit.h"

/* ---- terms -------------------------------------------------------------- */

bool lin_add_const(lin *x, int64_t c) {
  return !__builtin_add_overflow(x->c, c, &x->c);
}

void lin_remove(lin *x, uint32_t i) {
  x->n--;
  memmove(x->t + i, x->t + i + 1, (x->n - i) * sizeof *x->t);
  if (x->built > i) x->built = i;
}

static bool insert(lin *x, uint32_t at, ir_expr atom, int64_t k) {
  if (x->n == LIN_MAX || k == INT64_MIN) return false;
  memmove(x->t + at + 1, x->t + at, (x->n - at) * sizeof *x->t);
  x->t[at] = (lin_term){atom, k};
  x->n++;
  if (x->built > at) x->built = at;
  return true;
}

/* An atom whose range is one value is a constant. */
static bool is_single_value(const ir_node *n) {
  return n->lo == n->hi && n->lo != INT64_MIN && n->lo != INT64_MAX;
}

static bool add_product(lin *x, int64_t a, int64_t b) {
  int64_t v;
  return !__builtin_mul_overflow(a, b, &v) && lin_add_const(x, v);
}

/* Adds to the term at - 1, which has the same atom. */
static bool add_to_term(lin *x, uint32_t at, int64_t k) {
  lin_term *t = &x->t[at - 1];
  if (__builtin_add_overflow(t->k, k, &t->k) || t->k == INT64_MIN) return false;
  if (x->built > at - 1) x->built = at - 1;
  if (t->k == 0) lin_remove(x, at - 1);
  return true;
}

bool lin_add_term(const ir_program *p, lin *x, ir_expr atom, int64_t k) {
  const ir_node *n = ir_at(p, atom);
  if (is_single_value(n)) return add_product(x, n->lo, k);
  uint32_t at = x->n;
  while (at > 0 && x->t[at - 1].atom > atom) at--;
  if (at > 0 && x->t[at - 1].atom == atom) return add_to_term(x, at, k);
  x->digits |= n->op == IR_DIV || n->op == IR_MOD;
  if (at < x->n) return k == 0 || insert(x, at, atom, k);
  if (at == LIN_MAX || k == INT64_MIN) return false;
  x->t[at] = (lin_term){atom, k};
  x->n += k != 0;
  return true;
}

bool lin_add(const ir_program *p, lin *x, const lin *y, int64_t k) {
  for (uint32_t i = 0; i < y->n; i++) {
    int64_t v;
    if (__builtin_mul_overflow(y->t[i].k, k, &v) ||
        !lin_add_term(p, x, y->t[i].atom, v))
      return false;
  }
  return add_product(x, y->c, k);
}

bool lin_scale(lin *x, int64_t k) {
  bool fits = !__builtin_mul_overflow(x->c, k, &x->c);
  if (k == 0) x->n = 0;
  for (uint32_t i = 0; i < x->n; i++)
    fits &= !__builtin_mul_overflow(x->t[i].k, k, &x->t[i].k) &&
            x->t[i].k != INT64_MIN;
  if (k != 1) x->built = 0;
  return fits;
}

void lin_copy(lin *dst, const lin *src) {
  dst->n = src->n;
  dst->built = src->built;
  dst->digits = src->digits;
  dst->c = src->c;
  memcpy(dst->t, src->t, src->n * sizeof *src->t);
  memcpy(dst->pre, src->pre, src->built * sizeof *src->pre);
}

/* lin_add_term, with an inlined fast path for appending at the end. */
static inline bool push_term(const ir_program *p, lin *x, ir_expr atom,
                             int64_t k) {
  const ir_node *n = ir_at(p, atom);
  if (x->n == LIN_MAX || (x->n && x->t[x->n - 1].atom >= atom) ||
      is_single_value(n) || k == 0 || k == INT64_MIN)
    return lin_add_term(p, x, atom, k);
  x->digits |= n->op == IR_DIV || n->op == IR_MOD;
  x->t[x->n++] = (lin_term){atom, k};
  return true;
}

/* ---- from expressions --------------------------------------------------- */

static bool gather_sum(const ir_program *p, lin *x, ir_expr e, int64_t k,
                       int depth);

/* Adds k * e for an e that is no sum (or a sum that is not in order). */
static inline bool gather_one(const ir_program *p, lin *x, ir_expr e, int64_t k,
                              int depth) {
  const ir_node *n = ir_at(p, e);
  int64_t f;
  ir_op op = (ir_op)n->op;
  if (op == IR_INT) return add_product(x, n->i, k);
  if (op == IR_MUL && ir_const_int(p, n->b, &f)) {
    if (__builtin_mul_overflow(k, f, &k) || k == INT64_MIN) return false;
    e = n->a;
    op = (ir_op)ir_at(p, e)->op;
    if (op == IR_MUL) return gather_sum(p, x, e, k, depth + 1);
  }
  if (op == IR_ADD || op == IR_SUB) return gather_sum(p, x, e, k, depth + 1);
  return push_term(p, x, e, k);
}

/* Walks down the left spine of a sum, then adds its terms from first to last.
 * While they are in order, the partial sums on the spine are the nodes of the
 * prefixes. */
static bool gather_sum(const ir_program *p, lin *x, ir_expr e, int64_t k,
                       int depth) {
  ir_expr spine[LIN_MAX + 1];
  uint32_t n = 0;
  if (depth > 4) return lin_add_term(p, x, e, k);
  while (ir_at(p, e)->op == IR_ADD || ir_at(p, e)->op == IR_SUB) {
    if (n > LIN_MAX) return false;
    spine[n++] = e;
    e = ir_at(p, e)->a;
  }
  bool tidy = k == 1 && x->n == 0 && x->c == 0;
  if (!gather_one(p, x, e, k, depth)) return false;
  tidy = tidy && x->n == 1 && x->c == 0;
  if (tidy) x->pre[x->built++] = e;
  while (n-- > 0) {
    const ir_node *s = ir_at(p, spine[n]);
    uint32_t before = x->n;
    if (!gather_one(p, x, s->b, s->op == IR_SUB ? -k : k, depth)) return false;
    tidy = tidy && x->n == before + 1 && x->built == before && x->c == 0;
    if (tidy) x->pre[x->built++] = spine[n];
  }
  return true;
}

/* false: a limit is exceeded. */
static bool lin_fits(const ir_program *p, ir_expr e, lin *out) {
  const ir_node *n = ir_at(p, e);
  lin_zero(out);
  if (n->wraps) return false;
  if (n->op == IR_VAR && !is_single_value(n)) {
    out->t[0] = (lin_term){e, 1};
    out->pre[0] = e;
    out->n = out->built = 1;
    return true;
  }
  if (n->op == IR_INT) {
    out->c = n->i;
    return true;
  }
  return gather_sum(p, out, e, 1, 0);
}

void lin_of(const ir_program *p, ir_expr e, lin *out) {
  if (lin_fits(p, e, out)) return;
  lin_zero(out);
  (void)lin_add_term(p, out, e, 1);
}

bool lin_diff(const ir_program *p, ir_expr a, ir_expr b, lin *x) {
  lin y;
  lin_of(p, a, x);
  lin_of(p, b, &y);
  return lin_add(p, x, &y, -1);
}

int arith_terms(const ir_program *p, ir_expr e, int max, ir_expr *atom,
                int64_t *coef, int64_t *constant) {
  lin x;
  if (!lin_fits(p, e, &x) || x.n > (uint32_t)max) return -1;
  for (uint32_t i = 0; i < x.n; i++) {
    atom[i] = x.t[i].atom;
    coef[i] = x.t[i].k;
  }
  *constant = x.c;
  return (int)x.n;
}

/* ---- bounds ------------------------------------------------------------- */

arith_range lin_term_range(const ir_program *p, const lin *x) {
  arith_range r = {0, 0};
  for (uint32_t i = 0; i < x->n; i++) {
    arith_range t = arith_range_scale(arith_bounds(p, x->t[i].atom), x->t[i].k);
    r = (arith_range){arith_add_lo(r.lo, t.lo), arith_add_hi(r.hi, t.hi)};
  }
  return r;
}

arith_range lin_range(const ir_program *p, const lin *x) {
  arith_range r = lin_term_range(p, x);
  return (arith_range){arith_add_lo(r.lo, x->c), arith_add_hi(r.hi, x->c)};
}

/* ---- to expressions ----------------------------------------------------- */

static ir_expr build_term(ir_program *p, ir_expr atom, int64_t k) {
  return k == 1 ? atom : ir_binary_node(p, IR_MUL, atom, ir_index(p, k));
}

/* sum + k * atom, as a difference if k is negative. */
static ir_expr build_sum(ir_program *p, ir_expr sum, ir_expr atom, int64_t k) {
  if (k < 0 && k != INT64_MIN)
    return ir_binary_node(p, IR_SUB, sum, build_term(p, atom, -k));
  return ir_binary_node(p, IR_ADD, sum, build_term(p, atom, k));
}

ir_expr lin_build(ir_program *p, lin *x) {
  if (x->n == 0) return ir_index(p, x->c);
  for (; x->built < x->n; x->built++) {
    lin_term t = x->t[x->built];
    x->pre[x->built] = x->built
                           ? build_sum(p, x->pre[x->built - 1], t.atom, t.k)
                           : build_term(p, t.atom, t.k);
  }
  ir_expr e = x->pre[x->n - 1];
  if (x->c == 0) return e;
  if (x->c < 0 && x->c != INT64_MIN)
    return ir_binary_node(p, IR_SUB, e, ir_index(p, -x->c));
  return ir_binary_node(p, IR_ADD, e, ir_index(p, x->c));
}

ir_expr lin_map(ir_program *p, ir_expr e,
                ir_expr (*map)(void *ud, ir_expr atom), void *ud) {
  lin from, to, part;
  bool ok = true, changed = false;
  lin_of(p, e, &from);
  lin_zero(&to);
  for (uint32_t i = 0; ok && i < from.n; i++) {
    ir_expr atom = from.t[i].atom;
    ir_expr now = atom == e ? 0 : map(ud, atom);
    if (!now) return 0;
    if (now == atom) {
      ok = lin_add_term(p, &to, atom, from.t[i].k);
      continue;
    }
    changed = true;
    lin_of(p, now, &part);
    ok = lin_add(p, &to, &part, from.t[i].k);
  }
  if (!ok || !lin_add_const(&to, from.c)) return 0;
  if (!changed) return e;
  if (to.digits && !lin_recombine(p, &to)) return 0;
  ir_expr sum = lin_build(p, &to);
  return ir_at(p, sum)->wraps ? 0 : sum;
}
