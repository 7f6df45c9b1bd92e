/* SPDX-License-Identifier: Apache-2.0
 * Affine iteration map detection by changes of variables, each of them
 * bijective, until every binding is a sum of whole variables:
 *
 * - A variable of which digits are used is split into one variable a digit. -
 * Variables whose sum is divided, or bounded by a predicate, are fused into one
 * that stands for the sum, if the sum is a mixed-radix number.
 *
 * This undoes splitting and fusing of loops. */
#include "ir/arith/imap.h"
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "ir/query.h"

/* ---- variables ---------------------------------------------------------- */

uint32_t imap_find_var(const imap *m, ir_var v) {
  uint32_t i = 0;
  while (i < m->nvar && m->var[i].var != v) i++;
  return i;
}

ir_var imap_new_var(imap *m, int64_t extent, ir_expr size) {
  int64_t last = extent ? extent - 1 : INT64_MAX;
  ir_var v = ir_var_new(m->p, IR_VAR_LOOP, 0, IR_INDEX, 0, last);
  m->var[m->nvar++] = (imap_var){.var = v, .extent = extent, .size = size};
  return v;
}

void imap_remove_var(imap *m, ir_var v) {
  uint32_t i = imap_find_var(m, v);
  m->var[i] = m->var[--m->nvar];
}

/* Keeps the conjuncts that are not trivially true; one that is no order
 * comparison over the map's variables marks the map as restricted. */
void imap_add_pred(imap *m, ir_expr e) {
  const ir_node n = *ir_at(m->p, e);
  if (n.op == IR_AND) {
    imap_add_pred(m, n.a);
    imap_add_pred(m, n.b);
  } else if (n.lo > 0) {
    return;
  } else if (n.wraps || (n.op != IR_LT && n.op != IR_LE)) {
    m->restricted = true;
  } else if (m->npred < IMAP_PREDS) {
    m->pred[m->npred++] = e;
  } else {
    m->restricted = true;
  }
}

void imap_substitute(imap *m, ir_subst *s) {
  for (uint32_t i = 0; i < m->nexpr; i++)
    m->expr[i] = ir_subst_expr(s, m->expr[i]);
  uint32_t n = m->npred;
  m->npred = 0;
  for (uint32_t i = 0; i < n; i++)
    imap_add_pred(m, ir_subst_expr(s, m->pred[i]));
}

/* ---- setting up --------------------------------------------------------- */

/* Input i as a variable that starts at 0; a new one if the input does not range
 * over [0, extent). */
static bool add_input(imap *m, ir_var v, const ir_expr *extent, ir_subst *s,
                      bool *changed) {
  ir_var_rec r = m->p->var.v[v];
  int64_t n = 0;
  bool bounded = r.lo != INT64_MIN && r.hi != INT64_MAX;
  if (extent ? !ir_const_int(m->p, *extent, &n) : !bounded) {
    m->var[m->nvar++] = (imap_var){.var = v, .size = extent ? *extent : 0};
    return r.lo == 0 && extent;
  }
  if (!extent && __builtin_sub_overflow(r.hi, r.lo - 1, &n)) return false;
  if (n <= 0 || r.lo == INT64_MIN) return false;
  if (r.lo == 0 && r.hi == n - 1) {
    m->var[m->nvar++] = (imap_var){.var = v, .extent = n};
    return true;
  }
  ir_expr t = ir_ref(m->p, imap_new_var(m, n, 0));
  ir_subst_var(s, v, ir_add(m->p, t, ir_index(m->p, r.lo)));
  *changed = true;
  return true;
}

/* The following passes walk expressions as trees. */
static bool exprs_are_small(const imap *m) {
  for (uint32_t i = 0; i < m->nexpr + m->npred; i++)
    if (!ir_is_small(m->p, i < m->nexpr ? m->expr[i] : m->pred[i - m->nexpr]))
      return false;
  return true;
}

static bool may_wrap(const imap *m) {
  for (uint32_t i = 0; i < m->nexpr; i++)
    if (ir_at(m->p, m->expr[i])->wraps) return true;
  return false;
}

bool imap_init(imap *m, ir_program *p, arena *scratch, uint32_t nin,
               const ir_var *in, const ir_expr *input_extent, uint32_t nout,
               const ir_expr *bind, const ir_expr *lo, ir_expr pred,
               uint32_t extra) {
  m->p = p;
  m->scratch = scratch;
  m->nvar = m->npred = 0;
  m->nout = nout;
  m->nexpr = nout + extra;
  m->restricted = false;
  if (nin > IMAP_VARS / 2) return false;
  m->expr = arena_array(scratch, ir_expr, m->nexpr);
  for (uint32_t i = 0; i < nout; i++)
    m->expr[i] = lo ? ir_sub(p, bind[i], lo[i]) : bind[i];
  for (uint32_t i = 0; i < extra; i++) m->expr[nout + i] = ir_ref(p, in[i]);
  if (pred) imap_add_pred(m, pred);
  ir_subst s;
  bool changed = false;
  ir_subst_init(&s, p, scratch);
  for (uint32_t i = 0; i < nin; i++)
    if (!add_input(m, in[i], input_extent ? &input_extent[i] : NULL, &s,
                   &changed))
      return false;
  if (changed) imap_substitute(m, &s);
  return exprs_are_small(m) && !may_wrap(m);
}

/* ---- splitting variables into digits ------------------------------------ */

enum { CUTS_MAX = 12 };

/* The cut points between the digits of a variable, ascending. */
typedef struct cuts {
  uint32_t n;
  int64_t at[CUTS_MAX];
} cuts;

static void add_cut(cuts *c, int64_t at, int64_t extent) {
  uint32_t i = 0;
  if (at <= 1 || at >= extent || c->n == CUTS_MAX) return;
  while (i < c->n && c->at[i] < at) i++;
  if (i < c->n && c->at[i] == at) return;
  memmove(c->at + i + 1, c->at + i, (c->n++ - i) * sizeof *c->at);
  c->at[i] = at;
}

bool imap_divides(const imap *m, const imap_var *v, int64_t d) {
  if (v->extent) return v->extent % d == 0;
  return ir_is_const(m->p, ir_binary(m->p, IR_MOD, v->size, ir_index(m->p, d)),
                     0);
}

/* Keeps the leading cuts that divide all that follow (exact: and the
 * extent). */
static void keep_chain(const imap *m, cuts *c, const imap_var *v, bool exact) {
  for (uint32_t i = 0; i < c->n; i++) {
    bool ok = !exact || imap_divides(m, v, c->at[i]);
    for (uint32_t j = i + 1; j < c->n; j++) ok = ok && c->at[j] % c->at[i] == 0;
    if (!ok) c->n = i;
  }
}

/* Finds the digits in e, also nested in dividends. */
static void find_cuts(const imap *m, ir_expr e, cuts *c) {
  const ir_node *n = ir_at(m->p, e);
  lin_digit g;
  if (n->op == IR_INT || n->op == IR_VAR || n->op == IR_REAL) return;
  if ((n->op == IR_DIV || n->op == IR_MOD) && lin_as_digit(m->p, e, &g)) {
    uint32_t i = imap_find_var(m, g.var);
    if (i == m->nvar) return;
    int64_t end, extent = m->var[i].extent ? m->var[i].extent : INT64_MAX;
    add_cut(&c[i], g.d, extent);
    if (g.m && !__builtin_mul_overflow(g.d, g.m, &end))
      add_cut(&c[i], end, extent);
    return;
  }
  const uint32_t *ops;
  uint32_t fixed[3], k = ir_operands(m->p, e, &ops, fixed);
  for (uint32_t i = 0; i < k; i++) find_cuts(m, ops[i], c);
}

/* Replaces the cut variable v by a sum of new ones; if the last cut does not
 * divide the extent, a predicate bounds that sum. */
static void split_var(imap *m, imap_var v, const cuts *c, ir_subst *s) {
  ir_program *p = m->p;
  ir_expr sum = ir_index(p, 0);
  int64_t d = 1;
  imap_remove_var(m, v.var);
  if (c->n && !imap_divides(m, &v, c->at[c->n - 1])) m->restricted = true;
  for (uint32_t i = 0; i <= c->n; i++) {
    int64_t end = i < c->n ? c->at[i] : v.extent;
    ir_expr size = 0;
    if (!end) {
      ir_expr up = ir_add(p, v.size, ir_index(p, d - 1));
      size = ir_binary(p, IR_DIV, up, ir_index(p, d));
    }
    ir_var t = imap_new_var(m, arith_cdiv(end, d), size);
    sum = ir_add(p, sum, ir_mul(p, ir_ref(p, t), ir_index(p, d)));
    d = end;
  }
  ir_subst_var(s, v.var, sum);
}

/* Splits every variable of which digits are used (exact: only where the digits
 * are independent); false: there is none. */
static bool split_digits(imap *m, bool exact) {
  cuts *c = arena_zalloc(m->scratch, m->nvar * sizeof *c);
  for (uint32_t i = 0; i < m->nout; i++) find_cuts(m, m->expr[i], c);
  for (uint32_t i = 0; i < m->npred; i++) find_cuts(m, m->pred[i], c);
  imap_var old[IMAP_VARS];
  uint32_t n = m->nvar, more = 0;
  memcpy(old, m->var, n * sizeof *old);
  ir_subst s;
  ir_subst_init(&s, m->p, m->scratch);
  bool changed = false;
  for (uint32_t i = 0; i < n; i++) {
    keep_chain(m, &c[i], &old[i], exact);
    more += c[i].n;
    if (!c[i].n || n + more > IMAP_VARS) continue;
    split_var(m, old[i], &c[i], &s);
    changed = true;
  }
  if (changed) imap_substitute(m, &s);
  return changed;
}

/* ---- fusing sums into variables ----------------------------------------- */

/* Variables to be fused into y = sum of scale[i] * v[i]. */
typedef struct radix {
  uint32_t n;
  imap_var v[LIN_MAX];
  int64_t scale[LIN_MAX], count;
  ir_expr size; /* of the last one, if not constant; else 0 */
  int64_t d;    /* y // d is what is used, */
  bool part;    /* or a remainder of it */
} radix;

static void sort_terms(lin_term *t, uint32_t n) {
  for (uint32_t i = 1; i < n; i++) {
    lin_term x = t[i];
    uint32_t j = i;
    for (; j > 0 && t[j - 1].k > x.k; j--) t[j] = t[j - 1];
    t[j] = x;
  }
}

/* Is x a sum of variables in a mixed radix, which takes each of its values
 * once?  If `loose`, the lowest may be a quotient v // d and the highest a
 * remainder v % m: then all of v replaces it. */
static bool as_radix(const imap *m, lin *x, bool loose, radix *r) {
  int64_t next = 1;
  *r = (radix){.n = x->n, .count = 1, .d = 1};
  sort_terms(x->t, x->n);
  for (uint32_t i = 0; i < x->n; i++) {
    lin_digit g;
    uint32_t v = m->nvar;
    if (lin_as_digit(m->p, x->t[i].atom, &g)) v = imap_find_var(m, g.var);
    if (v == m->nvar || r->size || r->part || x->t[i].k != next) return false;
    int64_t extent = m->var[v].extent;
    if (!extent) {
      if (g.d != 1 || g.m) return false;
      r->size = m->var[v].size;
    }
    if (g.d != 1 && (i > 0 || g.m || extent % g.d)) return false;
    if (!loose && (g.d != 1 || g.m)) return false;
    for (uint32_t j = 0; j < i; j++)
      if (r->v[j].var == g.var) return false;
    r->d *= g.d;
    r->part = g.m != 0;
    r->v[i] = m->var[v];
    r->scale[i] = r->count;
    if (!extent) continue;
    if (__builtin_mul_overflow(r->count, extent, &r->count)) return false;
    next = r->count / r->d;
  }
  return true;
}

/* Replaces the radix' variables by one of `extent` values (0: of `size`). */
static void fuse_vars(imap *m, const radix *r, int64_t extent, ir_expr size) {
  ir_program *p = m->p;
  ir_subst s;
  for (uint32_t i = 0; i < r->n; i++) imap_remove_var(m, r->v[i].var);
  ir_expr y = ir_ref(p, imap_new_var(m, extent, size));
  ir_subst_init(&s, p, m->scratch);
  for (uint32_t i = 0; i < r->n; i++) {
    int64_t above = r->scale[i] * r->v[i].extent;
    bool last = i + 1 == r->n;
    ir_expr low = last ? y : ir_binary(p, IR_MOD, y, ir_index(p, above));
    ir_subst_var(&s, r->v[i].var,
                 ir_binary(p, IR_DIV, low, ir_index(p, r->scale[i])));
  }
  imap_substitute(m, &s);
}

bool imap_fuse_terms(imap *m, lin *x, int64_t count) {
  radix r;
  if (!as_radix(m, x, false, &r) || r.size || r.count != count) return false;
  fuse_vars(m, &r, r.count, 0);
  return true;
}

/* The number of values of the radix. */
static ir_expr size_of_radix(imap *m, const radix *r) {
  ir_expr count = ir_index(m->p, r->count);
  return r->size ? ir_mul(m->p, r->size, count) : count;
}

/* Takes the terms that do not depend on the map's variables out of x; *rest:
 * minus their sum, minus the constant. */
static bool split_fixed(const imap *m, lin *x, lin *rest) {
  lin_zero(rest);
  for (uint32_t i = 0; i < x->n;) {
    lin_term t = x->t[i];
    const ir_node *n = ir_at(m->p, t.atom);
    uint32_t v = n->op == IR_VAR ? imap_find_var(m, n->a) : 0;
    while (n->op != IR_VAR && v < m->nvar &&
           !ir_uses_var(m->p, t.atom, m->var[v].var))
      v++;
    if (v < m->nvar) {
      i++;
      continue;
    }
    if (!lin_add_term(m->p, rest, t.atom, -t.k)) return false;
    lin_remove(x, i);
  }
  return !__builtin_sub_overflow(0, x->c, &rest->c);
}

/* Is a variable of symbolic extent a term of x? */
static bool has_sized(const imap *m, const lin *x) {
  for (uint32_t i = 0; i < x->n; i++) {
    const ir_node *n = ir_at(m->p, x->t[i].atom);
    uint32_t v = n->op == IR_VAR ? imap_find_var(m, n->a) : m->nvar;
    if (v < m->nvar && !m->var[v].extent) return true;
  }
  return false;
}

/* Predicate i, `sum < size` over a mixed radix of symbolic extents, bounds the
 * fused variable instead, and is then redundant. */
static bool fuse_sized(imap *m, uint32_t i, lin *x, lin *rest, bool loose) {
  radix r;
  if (!as_radix(m, x, loose, &r) || r.part || r.d != 1) return false;
  ir_expr size = lin_build(m->p, rest);
  if (ir_at(m->p, size)->lo < 1 ||
      !arith_prove_le(m->p, size, size_of_radix(m, &r)))
    return false;
  int64_t extent = 0;
  ir_const_int(m->p, size, &extent);
  m->pred[i] = m->pred[--m->npred];
  fuse_vars(m, &r, extent, extent ? 0 : size);
  return true;
}

/* A predicate `sum < c` over a mixed radix bounds the fused variable. */
static bool fuse_pred(imap *m, bool loose) {
  for (uint32_t i = 0; i < m->npred; i++) {
    const ir_node n = *ir_at(m->p, m->pred[i]);
    lin x, rest;
    radix r;
    int64_t c = n.op == IR_LE;
    if (!ir_is_algebra(ir_at(m->p, n.a)) || !lin_diff(m->p, n.a, n.b, &x) ||
        !split_fixed(m, &x, &rest) || !lin_add_const(&rest, c))
      continue;
    if (rest.n || has_sized(m, &x)) {
      if (fuse_sized(m, i, &x, &rest, loose)) return true;
      continue;
    }
    c = rest.c;
    if (c <= 0 || !as_radix(m, &x, loose, &r) || r.part ||
        __builtin_mul_overflow(c, r.d, &c))
      continue;
    fuse_vars(m, &r, c < r.count ? c : r.count, 0);
    return true;
  }
  return false;
}

/* A mixed radix that is a dividend in e; innermost first. */
static bool find_divided(const imap *m, ir_expr e, bool loose, radix *r) {
  const ir_node *n = ir_at(m->p, e);
  if (n->op == IR_INT || n->op == IR_VAR || n->op == IR_REAL) return false;
  const uint32_t *ops;
  uint32_t fixed[3], k = ir_operands(m->p, e, &ops, fixed);
  for (uint32_t i = 0; i < k; i++)
    if (find_divided(m, ops[i], loose, r)) return true;
  if (n->op != IR_DIV && n->op != IR_MOD) return false;
  lin x;
  lin_of(m->p, n->a, &x);
  return x.n > 1 && as_radix(m, &x, loose, r);
}

static bool fuse_divided(imap *m, bool loose) {
  radix r;
  for (uint32_t i = 0; i < m->nout + m->npred; i++)
    if (find_divided(m, i < m->nout ? m->expr[i] : m->pred[i - m->nout], loose,
                     &r)) {
      fuse_vars(m, &r, r.size ? 0 : r.count, r.size ? size_of_radix(m, &r) : 0);
      return true;
    }
  return false;
}

/* ---- fixed point -------------------------------------------------------- */

enum { ROUNDS = 24 };

void imap_reduce(imap *m) {
  for (int i = 0; i < ROUNDS; i++)
    if (!fuse_pred(m, false) && !fuse_divided(m, false) &&
        !split_digits(m, true) && !imap_absorb(m) && !imap_rotate(m) &&
        !fuse_pred(m, true) && !fuse_divided(m, true) &&
        !imap_split_by_size(m) && !imap_reverse_or_shift(m) &&
        !split_digits(m, false))
      return;
}
