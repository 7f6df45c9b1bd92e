/* SPDX-License-Identifier: Apache-2.0
 * Inverting an affine iteration map; subspace division into an outer and an
 * inner map. */
#include "ir/arith/arith.h"
#include "ir/arith/imap.h"
#include "ir/edit.h"
#include "ir/query.h"

/* ---- inverting ---------------------------------------------------------- */

typedef struct inversion {
  imap *m;
  int n;
  imap_piece piece[IMAP_PIECES];
  int64_t *offset;
  bool fresh[IMAP_PIECES]; /* solved from its binding */
  uint32_t *order, norder; /* bindings in the order in which they are solved */
  ir_expr value[IMAP_PIECES];
} inversion;

/* The maximum of a piece. */
static ir_expr piece_max(const inversion *f, const imap_piece *t) {
  ir_program *p = f->m->p;
  if (t->ext) return ir_index(p, t->ext - 1);
  return ir_sub(p, f->m->var[t->var].size, ir_index(p, 1));
}

static bool inverse_uses_any(const ir_program *p, ir_expr e, uint32_t n,
                             const ir_var *var) {
  for (uint32_t i = 0; i < n; i++)
    if (ir_uses_var(p, e, var[i])) return true;
  return false;
}

/* The part of a binding that is invariant in the inputs. */
static ir_expr fixed_part(ir_program *p, ir_expr e, uint32_t nin,
                          const ir_var *in) {
  lin x, y;
  lin_of(p, e, &x);
  lin_zero(&y);
  y.c = x.c;
  for (uint32_t i = 0; i < x.n; i++)
    if (!inverse_uses_any(p, x.t[i].atom, nin, in))
      (void)lin_add_term(p, &y, x.t[i].atom, x.t[i].k);
  return lin_build(p, &y);
}

static bool find_pieces(inversion *f) {
  f->n = imap_pieces(f->m, f->piece, f->offset);
  return f->n >= 0 &&
         imap_determines(f->m, f->piece, f->n, f->fresh, f->order, &f->norder);
}

/* The value of variable v, from its pieces. */
static ir_expr var_value(const inversion *f, uint32_t v) {
  ir_program *p = f->m->p;
  ir_expr sum = ir_index(p, 0);
  int64_t from = 1;
  if (f->m->var[v].extent == 1) return sum;
  for (;;) {
    int i = 0;
    while (!(f->fresh[i] && f->piece[i].var == v && f->piece[i].d == from)) i++;
    sum = ir_add(p, sum, ir_mul(p, f->value[i], ir_index(p, from)));
    if (f->piece[i].top) return sum;
    from *= f->piece[i].ext;
  }
}

/* The value of piece i, whose variable is solved. */
static ir_expr known_piece(const inversion *f, uint32_t i) {
  ir_program *p = f->m->p;
  const imap_piece *t = &f->piece[i];
  ir_expr e = ir_binary(p, IR_DIV, var_value(f, t->var), ir_index(p, t->d));
  return t->top ? e : ir_binary(p, IR_MOD, e, ir_index(p, t->ext));
}

/* The value of piece i among those solved from binding `out`, from their sum e:
 * remainders by the coefficients above remove those pieces one after the other,
 * and the pieces below sum to less than its coefficient.  A piece with a
 * negative coefficient is reversed. */
static ir_expr piece_value(const inversion *f, uint32_t i, ir_expr e) {
  ir_program *p = f->m->p;
  const imap_piece *t = &f->piece[i];
  int64_t k = t->k < 0 ? -t->k : t->k;
  for (uint32_t j = (uint32_t)f->n; j-- > i + 1;) {
    int64_t above = f->piece[j].k;
    if (f->piece[j].out == t->out && f->fresh[j])
      e = ir_binary(p, IR_MOD, e, ir_index(p, above < 0 ? -above : above));
  }
  e = ir_binary(p, IR_DIV, e, ir_index(p, k));
  return t->k < 0 ? ir_sub(p, piece_max(f, t), e) : e;
}

/* Solves the pieces of binding `out` from its value. */
static void solve_binding(inversion *f, uint32_t out, ir_expr result) {
  ir_program *p = f->m->p;
  ir_expr e = ir_sub(p, result, ir_index(p, f->offset[out]));
  for (uint32_t i = 0; i < (uint32_t)f->n; i++) {
    const imap_piece *t = &f->piece[i];
    ir_expr part = 0;
    if (t->out != out) continue;
    if (!f->fresh[i])
      part = known_piece(f, i);
    else if (t->k < 0)
      part = piece_max(f, t);
    if (part) e = ir_sub(p, e, ir_mul(p, part, ir_index(p, t->k)));
  }
  for (uint32_t i = 0; i < (uint32_t)f->n; i++)
    if (f->piece[i].out == out && f->fresh[i])
      f->value[i] = piece_value(f, i, e);
}

/* Solves every variable of the map over the values of the bindings. */
static void solve_vars(inversion *f, const ir_expr *result, ir_subst *s) {
  for (uint32_t i = 0; i < f->norder; i++)
    solve_binding(f, f->order[i], result[f->order[i]]);
  for (uint32_t v = 0; v < f->m->nvar; v++)
    ir_subst_var(s, f->m->var[v].var, var_value(f, v));
}

/* The inputs are transformed by all changes of variables, so that in the end
 * they are expressions over the variables that the bindings determine. */
bool arith_inverse(ir_program *p, arena *scratch, uint32_t nin,
                   const ir_var *in, const ir_expr *input_extent, uint32_t nout,
                   const ir_expr *bind, const ir_expr *result, ir_expr *out) {
  arena_mark mark = arena_get_mark(scratch);
  inversion *f = arena_new(scratch, inversion);
  ir_expr *lo = arena_array(scratch, ir_expr, 2 * nout), *at = lo + nout;
  f->m = arena_new(scratch, imap);
  f->offset = arena_array(scratch, int64_t, nout);
  f->order = arena_array(scratch, uint32_t, nout);
  for (uint32_t i = 0; i < nout; i++) {
    lo[i] = fixed_part(p, bind[i], nin, in);
    at[i] = ir_sub(p, result[i], lo[i]);
  }
  bool done = imap_init(f->m, p, scratch, nin, in, input_extent, nout, bind, lo,
                        0, nin);
  if (done && !find_pieces(f)) {
    imap_reduce(f->m);
    done = find_pieces(f);
  }
  if (done) {
    ir_subst s;
    ir_subst_init(&s, p, scratch);
    solve_vars(f, at, &s);
    for (uint32_t i = 0; i < nin; i++)
      out[i] = ir_subst_expr(&s, f->m->expr[nout + i]);
  }
  arena_reset_to(scratch, mark);
  return done;
}

/* ---- subspace division -------------------------------------------------- */

/* Splits one binding: terms over inner variables only, and the rest. */
static bool part_terms(ir_program *p, ir_expr e, uint32_t n, const ir_var *var,
                       lin *in, lin *rest) {
  lin x;
  lin_of(p, e, &x);
  lin_zero(in);
  lin_zero(rest);
  rest->c = x.c;
  for (uint32_t i = 0; i < x.n; i++) {
    ir_expr atom = x.t[i].atom;
    bool inner = inverse_uses_any(p, atom, n, var);
    if (!lin_add_term(p, inner ? in : rest, atom, x.t[i].k)) return false;
  }
  return true;
}

/* Does e use no variable but the listed ones? */
typedef struct others {
  uint32_t n;
  const ir_var *var;
  bool found;
} others;

static void find_other_var(const ir_program *p, ir_expr e, void *ud) {
  others *o = ud;
  const ir_node *n = ir_at(p, e);
  uint32_t i = 0;
  if (n->op == IR_LOAD || n->op == IR_CALL) o->found = true;
  if (n->op != IR_VAR) return;
  while (i < o->n && o->var[i] != n->a) i++;
  o->found |= i == o->n;
}

static bool uses_only(ir_program *p, arena *scratch, ir_expr e, uint32_t n,
                      const ir_var *var) {
  others o = {n, var, false};
  ir_visit(p, scratch, e, find_other_var, &o);
  return !o.found;
}

bool arith_divide(ir_program *p, arena *scratch, uint32_t nout,
                  const ir_expr *bind, uint32_t ninner, const ir_var *inner_var,
                  ir_expr *outer, ir_expr *inner, ir_expr *inner_extent) {
  for (uint32_t o = 0; o < nout; o++) {
    lin in, rest;
    int64_t count;
    if (!part_terms(p, bind[o], ninner, inner_var, &in, &rest)) return false;
    arith_range r = lin_term_range(p, &in);
    if (r.lo == INT64_MIN || r.hi == INT64_MAX || !lin_add_const(&rest, r.lo) ||
        !lin_add_const(&in, -r.lo) ||
        __builtin_sub_overflow(r.hi, r.lo - 1, &count))
      return false;
    for (uint32_t i = 0; i < rest.n; i++)
      if (rest.t[i].k % count) return false;
    if (rest.c % count) return false;
    for (uint32_t i = 0; i < rest.n; i++) rest.t[i].k /= count;
    rest.c /= count;
    rest.built = 0;
    inner[o] = lin_build(p, &in);
    outer[o] = lin_build(p, &rest);
    inner_extent[o] = ir_index(p, count);
    if (!uses_only(p, scratch, inner[o], ninner, inner_var)) return false;
  }
  return true;
}
