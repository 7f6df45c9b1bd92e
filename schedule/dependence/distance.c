/* SPDX-License-Identifier: Apache-2.0
 * Dependence distances, by bound propagation over differences; see distance.h.
 */
#include "schedule/dependence/distance.h"
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "ir/query.h"

enum { MAX_TERMS = 24, MAX_UNKNOWNS = 48, MAX_EQUATIONS = 24, MAX_PASSES = 8 };

/* Numbers from here on count as infinite; sums of a few stay below 2^63. */
#define FAR ((int64_t)1 << 56)

typedef struct term {
  ir_expr atom;
  int64_t coef;
} term;
typedef struct sum {
  uint32_t n;
  term t[MAX_TERMS];
  int64_t constant;
  bool bad; /* too long or not known */
} sum;

/* sum of coef * unknown lies in [lo, hi]. */
typedef struct equation {
  uint32_t n;
  bool settled; /* all its unknowns have one value, which fits */
  uint8_t u[MAX_TERMS];
  int64_t coef[MAX_TERMS], lo, hi;
} equation;

/* What is not known of an atom: its difference between the iterations, or
 * its value in one of them, or in both where it has the same. */
enum { DIFFERENCE, IN_FIRST, IN_SECOND, IN_BOTH };

/* An atom as (base // div) % mod; mod 0: no remainder; base 0: it is none. */
typedef struct piece {
  ir_expr base;
  int64_t div, mod;
} piece;

typedef struct unknown {
  ir_expr atom;
  uint32_t what;
  int64_t lo, hi;
  piece piece; /* of a DIFFERENCE's atom */
} unknown;

typedef struct system {
  dist *d;
  ir_expr pred[2]; /* of the blocks that conflict; 0: always true */
  uint32_t n, neq;
  unknown u[MAX_UNKNOWNS];
  equation eq[MAX_EQUATIONS];
} system;

static int64_t clamp(int64_t x) { return x > FAR ? FAR : x < -FAR ? -FAR : x; }
static int64_t dist_mul(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return (a < 0) == (b < 0) ? FAR : -FAR;
  return clamp(r);
}
static int64_t dist_add(int64_t a, int64_t b) {
  return clamp(clamp(a) + clamp(b));
}

static arith_range bounds_of(const ir_program *p, ir_expr e) {
  return (arith_range){clamp(ir_at(p, e)->lo), clamp(ir_at(p, e)->hi)};
}

/* c * [lo, hi]; most ranges are those of differences. */
static arith_range scaled(int64_t c, arith_range r) {
  int64_t b = dist_mul(c, r.hi), a = r.lo == -r.hi ? -b : dist_mul(c, r.lo);
  return a < b ? (arith_range){a, b} : (arith_range){b, a};
}

/* ---- what an expression is made of -------------------------------------- */

enum { USES_ASKED = 1, USES_FREE = 2, USES_LOAD = 4, USES_ITER = 8 };

/* The roles of the variables in e; USES_ITER: an iter of `block`. */
static unsigned uses_var(const dist *d, ir_stmt block, ir_var v) {
  const ir_var_rec *r = &d->s->p->var.v[v];
  if (r->kind == IR_VAR_ITER && r->owner == block) return USES_ITER;
  return r->kind == IR_VAR_LET ? USES_LOAD : d->role[v];
}

typedef struct use {
  const dist *d;
  ir_stmt block;
  unsigned uses;
} use;

static ir_walk add_uses(const ir_program *p, ir_expr e, void *ud) {
  const ir_node *n = ir_at(p, e);
  use *u = ud;
  if (!u->block && !n->has_load && !(n->vars & u->d->bits)) return IR_WALK_SKIP;
  if (n->op == IR_VAR) u->uses |= uses_var(u->d, u->block, n->a);
  if (n->op != IR_LOAD && n->op != IR_CALL) return IR_WALK_DESCEND;
  u->uses |= USES_LOAD;
  return IR_WALK_SKIP;
}

static unsigned dist_uses(const dist *d, ir_stmt block, ir_expr e) {
  use u = {d, block, 0};
  (void)ir_any(d->s->p, e, add_uses, &u);
  return u.uses;
}

static void push_term(sum *out, ir_expr atom, int64_t coef) {
  for (uint32_t i = 0; i < out->n; i++)
    if (out->t[i].atom == atom) {
      out->t[i].coef = dist_add(out->t[i].coef, coef);
      return;
    }
  if (out->n == MAX_TERMS)
    out->bad = true;
  else
    out->t[out->n++] = (term){atom, coef};
}

static const ir_iter *dist_iter_of(const ir_program *p, ir_stmt block,
                                   ir_var v) {
  ir_span it = ir_blk(p, block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    if (p->iter.v[i].var == v) return &p->iter.v[i];
  return NULL;
}

/* e with the iters of `block` replaced by what they are bound to. */
static ir_expr unbind(const dist *d, ir_stmt block, ir_expr e) {
  ir_program *p = d->s->p;
  ir_span it = ir_blk(p, block)->iters;
  ir_var *var = arena_array(d->s->scratch, ir_var, it.n);
  ir_expr *to = arena_array(d->s->scratch, ir_expr, it.n);
  for (uint32_t i = 0; i < it.n; i++) {
    var[i] = p->iter.v[it.at + i].var;
    to[i] = p->iter.v[it.at + i].bind;
  }
  return sch_replace_in(d->s, e, it.n, var, to);
}

/* Adds e * scale, an index as `block` (0: no block's) sees it, to *out. */
static void add_sum(const dist *d, ir_stmt block, ir_expr e, int64_t scale,
                    sum *out) {
  const ir_program *p = d->s->p;
  ir_expr atom[MAX_TERMS];
  int64_t coef[MAX_TERMS], constant;
  int n = arith_terms(p, e, MAX_TERMS, atom, coef, &constant);
  if (n < 0) {
    out->bad = true;
    return;
  }
  out->constant = dist_add(out->constant, dist_mul(constant, scale));
  for (int i = 0; i < n && !out->bad; i++) {
    const ir_node *a = ir_at(p, atom[i]);
    const ir_iter *it =
        a->op == IR_VAR && block ? dist_iter_of(p, block, a->a) : 0;
    int64_t c = dist_mul(coef[i], scale);
    if (it)
      add_sum(d, 0, it->bind, c, out);
    else if (block && (dist_uses(d, block, atom[i]) & USES_ITER))
      add_sum(d, 0, unbind(d, block, atom[i]), c, out);
    else
      push_term(out, atom[i], c);
  }
}

static void sum_of(const dist *d, ir_stmt block, ir_expr e, sum *out) {
  const ir_node *x = ir_at(d->s->p, e);
  out->n = 0;
  out->constant = 0;
  out->bad = false;
  if (block && x->op == IR_VAR && x->lo < x->hi) { /* most are iters */
    const ir_iter *it = dist_iter_of(d->s->p, block, x->a);
    if (it) block = 0, e = it->bind;
  }
  add_sum(d, block, e, 1, out);
}

/* ---- equations ---------------------------------------------------------- */

/* The most that coef[k] * atom[k] leaves for atom[k] where the sum of all
 * terms is at most `most`. */
static int64_t term_limit(const ir_program *p, int n, const ir_expr *atom,
                          const int64_t *coef, int k, int64_t most) {
  for (int i = 0; i < n; i++)
    if (i != k)
      most = dist_add(most, -scaled(coef[i], bounds_of(p, atom[i])).lo);
  if (most == FAR || most == -FAR) return FAR;
  return most < 0 ? -1 : most / coef[k];
}

/* Lowers *hi to what `cond`, a predicate, says about an atom: a sum that it
 * is a term of, or what it is a quotient or remainder of, is less than a
 * constant.  The remainder of what is below 0 may be anything. */
static void limit(const ir_program *p, ir_expr cond, ir_expr atom,
                  int64_t *hi) {
  const ir_node *n = ir_at(p, cond), *a = ir_at(p, atom);
  int64_t most, by, coef[MAX_TERMS], c;
  ir_expr of[MAX_TERMS];
  if (n->op == IR_AND) {
    limit(p, n->a, atom, hi);
    limit(p, n->b, atom, hi);
  }
  if ((n->op != IR_LT && n->op != IR_LE) || !ir_const_int(p, n->b, &most))
    return;
  most -= n->op == IR_LT;
  if (n->a == atom && most < *hi) *hi = most;
  bool part =
      a->op == IR_DIV || (a->op == IR_MOD && bounds_of(p, a->a).lo >= 0);
  if (part && a->a == n->a && ir_const_int(p, a->b, &by) && by > 0 &&
      most >= 0) {
    if (a->op == IR_DIV) most /= by;
    if (most < *hi) *hi = most;
    return;
  }
  int k = arith_terms(p, n->a, MAX_TERMS, of, coef, &c);
  for (int i = 0; i < k; i++)
    if (of[i] == atom && coef[i] > 0) {
      int64_t m = term_limit(p, k, of, coef, i, dist_add(most, -c));
      if (m < *hi) *hi = m;
    }
}

/* What an atom can be in either of the blocks. */
static arith_range dist_range_of(const system *y, ir_expr atom) {
  const ir_program *p = y->d->s->p;
  arith_range r = bounds_of(p, atom);
  if (!y->pred[0] && !y->pred[1]) return r;
  int64_t hi[2] = {r.hi, r.hi};
  for (int k = 0; k < 2; k++)
    if (y->pred[k]) limit(p, y->pred[k], atom, &hi[k]);
  r.hi = hi[0] > hi[1] ? hi[0] : hi[1];
  return r;
}

static piece piece_of(const ir_program *p, ir_expr e) {
  const ir_node *n = ir_at(p, e), *in;
  int64_t c, c2;
  if ((n->op != IR_DIV && n->op != IR_MOD) || !ir_const_int(p, n->b, &c) ||
      c <= 0)
    return (piece){0, 0, 0};
  piece r = n->op == IR_DIV ? (piece){n->a, c, 0} : (piece){n->a, 1, c};
  in = ir_at(p, n->a);
  if ((in->op == IR_DIV || in->op == IR_MOD) && in->op != n->op &&
      ir_const_int(p, in->b, &c2) && c2 > 0) {
    if (n->op == IR_MOD)
      r = (piece){in->a, c2, c};
    else if (c2 % c == 0)
      r = (piece){in->a, c, c2 / c};
  }
  return r;
}

/* -1: no room. */
static int unknown_of(system *y, ir_expr atom, uint32_t what) {
  for (uint32_t i = 0; i < y->n; i++)
    if (y->u[i].atom == atom && y->u[i].what == what) return (int)i;
  if (y->n == MAX_UNKNOWNS) return -1;
  arith_range r = dist_range_of(y, atom);
  if (what == DIFFERENCE) {
    int64_t range = r.lo == -FAR || r.hi == FAR ? FAR : dist_add(r.hi, -r.lo);
    if (range < 0) range = 0;
    r = (arith_range){-range, range};
  }
  unknown *u = &y->u[y->n];
  u->atom = atom;
  u->what = what;
  u->lo = r.lo;
  u->hi = r.hi;
  u->piece = what == DIFFERENCE ? piece_of(y->d->s->p, atom) : (piece){0, 0, 0};
  return (int)y->n++;
}

static bool dist_put(system *y, equation *q, ir_expr atom, uint32_t what,
                     int64_t coef) {
  if (!coef) return true;
  int k = unknown_of(y, atom, what);
  if (k < 0 || q->n == MAX_TERMS) return false;
  q->u[q->n] = (uint8_t)k;
  q->coef[q->n++] = coef;
  return true;
}

/* The atom is in both sums with coefficients c1 and c2. */
static bool relate(system *y, equation *q, ir_expr atom, int64_t c1,
                   int64_t c2) {
  unsigned u = dist_uses(y->d, 0, atom);
  if (!u) return dist_put(y, q, atom, IN_BOTH, dist_add(c1, -c2));
  if (c1 == c2 && !(u & USES_LOAD)) return dist_put(y, q, atom, DIFFERENCE, c1);
  return dist_put(y, q, atom, IN_FIRST, c1) &&
         dist_put(y, q, atom, IN_SECOND, -c2);
}

static int64_t coef_in(const sum *a, ir_expr atom) {
  for (uint32_t i = 0; i < a->n; i++)
    if (a->t[i].atom == atom) return a->t[i].coef;
  return 0;
}

/* ---- guarded sums ------------------------------------------------------- */

/* Does `of` occur in *a with all its terms times one factor?  0: no. */
static int64_t factor_in(const sum *a, const sum *of) {
  int64_t factor = of->n ? coef_in(a, of->t[0].atom) / of->t[0].coef : 0;
  for (uint32_t i = 0; i < of->n; i++)
    if (!factor || coef_in(a, of->t[i].atom) != dist_mul(factor, of->t[i].coef))
      return 0;
  return factor;
}

/* Takes factor * of out of *a. */
static void take_out(sum *a, const sum *of, int64_t factor) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < a->n; i++)
    if (!coef_in(of, a->t[i].atom)) a->t[n++] = a->t[i];
  a->n = n;
  a->constant = dist_add(a->constant, -dist_mul(factor, of->constant));
}

static void add_equation(system *y, const sum *a, const sum *b, int64_t lo,
                         int64_t hi);

/* A sum of several terms that the predicate keeps below a constant has a
 * narrower range than its terms say: where it is part of *a it becomes a
 * separate unknown, coupled to its terms. */
static void fold_guards(system *y, ir_expr cond, sum *a) {
  const ir_program *p = y->d->s->p;
  const ir_node *n = ir_at(p, cond);
  sum of;
  if (n->op == IR_AND) {
    fold_guards(y, n->a, a);
    fold_guards(y, n->b, a);
  }
  if ((n->op != IR_LT && n->op != IR_LE) || ir_at(p, n->a)->op != IR_ADD ||
      ir_at(p, n->b)->op != IR_INT)
    return;
  sum_of(y->d, 0, n->a, &of);
  int64_t factor = of.bad || of.n == a->n ? 0 : factor_in(a, &of);
  if (!factor) return;
  take_out(a, &of, factor);
  push_term(a, n->a, factor);
  sum tie = of;
  push_term(&tie, n->a, -1);
  add_equation(y, &tie, &tie, 0, 0);
}

/* The same sum, as one block sees it in both iterations, lies in [lo, hi]. */
static void add_own(system *y, sum *a, int64_t lo, int64_t hi) {
  if (y->pred[0] && !a->bad) fold_guards(y, y->pred[0], a);
  add_equation(y, a, a, lo, hi);
}

/* a - b lies in [lo, hi]; an equation that says nothing is left out. */
static void add_equation(system *y, const sum *a, const sum *b, int64_t lo,
                         int64_t hi) {
  if (a->bad || b->bad || y->neq == MAX_EQUATIONS) return;
  equation *q = &y->eq[y->neq];
  int64_t c = dist_add(a->constant, -b->constant);
  q->n = 0;
  q->settled = false;
  q->lo = dist_add(lo, -c);
  q->hi = dist_add(hi, -c);
  for (uint32_t i = 0; i < a->n; i++) {
    int64_t c2 = a == b ? a->t[i].coef : coef_in(b, a->t[i].atom);
    if (!relate(y, q, a->t[i].atom, a->t[i].coef, c2)) return;
  }
  for (uint32_t i = 0; a != b && i < b->n; i++) {
    bool seen = false;
    for (uint32_t k = 0; k < a->n && !seen; k++)
      seen = a->t[k].atom == b->t[i].atom;
    if (!seen && !relate(y, q, b->t[i].atom, 0, b->t[i].coef)) return;
  }
  if (q->lo > -FAR || q->hi < FAR) y->neq++;
}

/* ---- narrowing ---------------------------------------------------------- */

static int64_t div_down(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Sums in which each infinite part counts for itself. */
typedef struct total {
  int64_t lo, hi;
  uint32_t lo_far, hi_far;
} total;

static void put_in(total *t, arith_range r) {
  if (r.lo == -FAR)
    t->lo_far++;
  else
    t->lo += r.lo;
  if (r.hi == FAR)
    t->hi_far++;
  else
    t->hi += r.hi;
}

static void take_from(total *t, arith_range r) {
  if (r.lo == -FAR)
    t->lo_far--;
  else
    t->lo -= r.lo;
  if (r.hi == FAR)
    t->hi_far--;
  else
    t->hi -= r.hi;
}

/* Narrows u to what c * u in [lo, hi] leaves; *moved is set where the range
 * shrank. */
static void dist_narrow(unknown *u, int64_t c, int64_t lo, int64_t hi,
                        bool *moved) {
  if (c < 0) {
    int64_t t = lo;
    lo = -hi;
    hi = -t;
    c = -c;
  }
  if (lo > -FAR) {
    int64_t least = -div_down(-lo, c);
    if (least > u->lo) u->lo = least, *moved = true;
  }
  if (hi < FAR) {
    int64_t most = div_down(hi, c);
    if (most < u->hi) u->hi = most, *moved = true;
  }
}

/* Narrows each unknown of the equation by what the others leave; false:
 * nothing is left. */
static bool narrow_by(system *y, equation *q, bool *moved) {
  arith_range r[MAX_TERMS];
  total t = {0, 0, 0, 0};
  bool open = false;
  for (uint32_t k = 0; k < q->n; k++) {
    const unknown *u = &y->u[q->u[k]];
    r[k] = scaled(q->coef[k], (arith_range){u->lo, u->hi});
    put_in(&t, r[k]);
  }
  if ((!t.lo_far && t.lo > q->hi) || (!t.hi_far && t.hi < q->lo)) return false;
  for (uint32_t k = 0; k < q->n; k++) {
    unknown *u = &y->u[q->u[k]];
    if (u->lo == u->hi || !q->coef[k]) continue;
    bool shrank = false;
    take_from(&t, r[k]);
    int64_t lo = t.hi_far || q->lo == -FAR ? -FAR : clamp(q->lo - clamp(t.hi));
    int64_t hi = t.lo_far || q->hi == FAR ? FAR : clamp(q->hi - clamp(t.lo));
    dist_narrow(u, q->coef[k], lo, hi, &shrank);
    if (u->lo > u->hi) return false;
    if (shrank) r[k] = scaled(q->coef[k], (arith_range){u->lo, u->hi});
    *moved |= shrank;
    open |= u->lo < u->hi;
    put_in(&t, r[k]);
  }
  q->settled = !open;
  return true;
}

static bool narrow_all(system *y) {
  bool moved = true;
  for (int pass = 0; moved && pass < MAX_PASSES; pass++) {
    moved = false;
    for (uint32_t i = 0; i < y->neq; i++)
      if (!y->eq[i].settled && !narrow_by(y, &y->eq[i], &moved)) return false;
  }
  return true;
}

/* ---- quotients and remainders ------------------------------------------- */

static bool is_equal(const unknown *u) {
  return u->what == DIFFERENCE && !u->lo && !u->hi;
}

/* Do the pieces of `base` that are known to be equal make up all of it? */
static bool pieces_cover(const system *y, ir_expr base) {
  arith_range r = dist_range_of(y, base);
  int64_t need = 1;
  for (uint32_t i = 0; i < y->n; i++) {
    const piece *c = &y->u[i].piece;
    if (c->base != base || c->div != need || c->mod == 1 || !is_equal(&y->u[i]))
      continue;
    if (!c->mod) return true;
    need = dist_mul(need, c->mod);
    if (r.lo >= 0 && r.hi < need) return true;
    i = UINT32_MAX; /* look again from the first */
  }
  return false;
}

/* Adds what follows from pieces; *grew where something did. */
static bool close_pieces(system *y, bool *grew) {
  const ir_program *p = y->d->s->p;
  for (uint32_t i = 0; i < y->n; i++) {
    ir_expr base = y->u[i].piece.base;
    if (!base || !is_equal(&y->u[i])) continue;
    int k = unknown_of(y, base, DIFFERENCE);
    if (k < 0 || is_equal(&y->u[k]) || !pieces_cover(y, base)) continue;
    if (y->u[k].lo > 0 || y->u[k].hi < 0) return false;
    y->u[k].lo = y->u[k].hi = 0;
    *grew = true;
    if (ir_at(p, base)->op != IR_VAR) {
      sum s;
      sum_of(y->d, 0, base, &s);
      add_equation(y, &s, &s, 0, 0);
    }
  }
  return true;
}

/* Keeps to the distances that are asked for. */
static void system_confine(system *y) {
  for (uint32_t i = 0; y->d->within && i < y->d->n; i++) {
    ir_expr v = ir_ref(y->d->s->p, y->d->var[i]);
    int k = unknown_of(y, v, DIFFERENCE);
    if (k < 0) continue;
    arith_range r = y->d->within[i];
    if (r.lo > y->u[k].lo) y->u[k].lo = r.lo;
    if (r.hi < y->u[k].hi) y->u[k].hi = r.hi;
  }
}

static bool propagate_ranges(system *y, arith_range *delta) {
  system_confine(y);
  for (bool grew = true; grew;) {
    grew = false;
    if (!narrow_all(y) || !close_pieces(y, &grew)) return false;
  }
  for (uint32_t i = 0; i < y->d->n; i++) {
    int k = unknown_of(y, ir_ref(y->d->s->p, y->d->var[i]), DIFFERENCE);
    delta[i] = k < 0 ? (arith_range){-FAR, FAR}
                     : (arith_range){y->u[k].lo, y->u[k].hi};
    if (delta[i].lo > delta[i].hi) return false;
  }
  return true;
}

/* ---- the questions ------------------------------------------------------ */

bool dist_varies(const dist *d, ir_expr e) { return dist_uses(d, 0, e) != 0; }

void dist_init(dist *d, sch_state *s, uint32_t n, const ir_var *var,
               ir_stmt top) {
  const ir_program *p = s->p;
  *d = (dist){
      .s = s, .n = n, .var = var, .role = arena_zalloc(s->scratch, p->var.n)};
  for (ir_stmt st = top; (st = sch_next_outside(p, st, top));)
    if (ir_is_loop(p, st)) dist_set(d, ir_st(p, st)->var, DIST_FREE);
  for (uint32_t i = 0; i < n; i++) dist_set(d, var[i], DIST_ASKED);
}

/* An empty system; b1 and b2 are the blocks that conflict, or 0. */
static system *dist_start(dist *d, ir_stmt b1, ir_stmt b2) {
  const ir_program *p = d->s->p;
  system *y = arena_alloc(d->s->scratch, sizeof *y);
  y->d = d;
  y->pred[0] = b1 ? ir_blk(p, b1)->pred : 0;
  y->pred[1] = b2 ? ir_blk(p, b2)->pred : 0;
  y->n = y->neq = 0;
  return y;
}

bool dist_regions(dist *d, ir_stmt b1, ir_region r1, ir_stmt b2, ir_region r2,
                  arith_range *delta) {
  ir_program *p = d->s->p;
  system *y = dist_start(d, b1, b2);
  for (uint32_t k = 0; k < ir_ndim(p, r1.buf); k++) {
    ir_expr min1 = ir_region_min(p, r1, k), min2 = ir_region_min(p, r2, k);
    sum a, b;
    sum_of(d, b1, min1, &a);
    int64_t e1 = bounds_of(p, ir_region_extent(p, r1, k)).hi;
    int64_t e2 = bounds_of(p, ir_region_extent(p, r2, k)).hi;
    int64_t lo = e1 == FAR ? -FAR : 1 - e1, hi = e2 == FAR ? FAR : e2 - 1;
    if (b1 == b2 && min1 == min2) {
      add_own(y, &a, lo, hi);
    } else {
      sum_of(d, b2, min2, &b);
      add_equation(y, &a, &b, lo, hi);
    }
  }
  return propagate_ranges(y, delta);
}

bool dist_iters(dist *d, ir_stmt block, bool spatial, arith_range *delta) {
  ir_program *p = d->s->p;
  system *y = dist_start(d, block, block);
  ir_span it = ir_blk(p, block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    if (spatial && p->iter.v[i].kind != IR_SPATIAL) continue;
    sum a;
    sum_of(d, 0, p->iter.v[i].bind, &a);
    add_own(y, &a, 0, 0);
  }
  return propagate_ranges(y, delta);
}
