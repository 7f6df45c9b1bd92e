/* SPDX-License-Identifier: Apache-2.0
 * Versions register tiles: where the boundary conditions of all that a tile
 * reads hold, a copy without them runs.
 *
 *     R = ..;  for kh: for kw: R = R + select(1 <= h + kh, X[..], 0) * W[..]
 * becomes
 *     if 1 <= h: { R = ..;  for kh: for kw: R = R + X[..] * W[..] }
 *     else: { R = ..;  for kh: for kw: .. select(1 <= h + kh, ..) .. }
 *
 * A tile is where scalar_replacement keeps elements in registers.  What of a
 * comparison depends on loops in the tile counts with its worst value there;
 * those that then hold for no tile stay.  (Halide and TVM partition loops for
 * this; a branch works in parallel and fused loops, too.) */
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/pass.h"

enum { MAX_VERSION_TERMS = 64, MAX_TILE_VARS = 64 };

typedef struct tile_conds {
  ir_stmt tile;
  uint32_t nvars, n;
  ir_var var[MAX_TILE_VARS]; /* bound in the tile */
  ir_node cond[MAX_VERSION_TERMS];
  ir_expr test; /* all of cond hold throughout; 0: there are none */
} tile_conds;

/* Does e depend on what the tile binds? */
static bool varies_in_tile(const ir_program *p, const tile_conds *t,
                           ir_expr e) {
  for (uint32_t i = 0; i < t->nvars; i++)
    if (ir_uses_var(p, e, t->var[i])) return true;
  return false;
}

/* Whether a < b (or a <= b) throughout the tile; 0: not known, or nowhere. */
static ir_expr holds_throughout(ir_program *p, const tile_conds *t,
                                const ir_node *n) {
  enum { MAX_TERMS = 16 };
  static const int64_t far = INT64_C(1) << 40;
  ir_expr atom[MAX_TERMS];
  int64_t coef[MAX_TERMS], sum;
  int terms =
      arith_terms(p, ir_sub(p, n->a, n->b), MAX_TERMS, atom, coef, &sum);
  ir_expr rest = ir_index(p, 0);
  for (int i = 0; i < terms; i++) {
    const ir_node *a = ir_at(p, atom[i]);
    if (!varies_in_tile(p, t, atom[i])) {
      rest = ir_add(p, rest, ir_mul(p, atom[i], ir_index(p, coef[i])));
      continue;
    }
    int64_t worst = coef[i] > 0 ? a->hi : a->lo;
    if (worst > far || worst < -far || coef[i] > far || coef[i] < -far)
      return 0;
    sum += coef[i] * worst;
  }
  if (terms < 0 || sum > far || sum < -far) return 0;
  ir_expr test = ir_binary(p, (ir_op)n->op, rest, ir_index(p, -sum));
  return ir_is_const(p, test, 0) ? 0 : test;
}

/* Notes the comparisons in a conjunction. */
static void note_conds(ir_program *p, tile_conds *t, ir_expr e) {
  const ir_node n = *ir_at(p, e);
  if (n.op == IR_AND) {
    note_conds(p, t, n.a);
    note_conds(p, t, n.b);
    return;
  }
  if ((n.op != IR_LT && n.op != IR_LE) || t->n == MAX_VERSION_TERMS ||
      !ir_dtype_eq(ir_at(p, n.a)->dtype, IR_INDEX) ||
      !lower_is_arithmetic(p, e))
    return;
  for (uint32_t i = 0; i < t->n; i++)
    if (t->cond[i].op == n.op && t->cond[i].a == n.a && t->cond[i].b == n.b)
      return;
  ir_expr test = holds_throughout(p, t, &n);
  if (!test) return;
  t->cond[t->n++] = n;
  t->test = ir_and(p, t->test, test);
}

typedef struct select_walk {
  uint32_t n;
  ir_expr cond[MAX_VERSION_TERMS];
} select_walk;

static ir_walk find_selects(const ir_program *p, ir_expr e, void *ud) {
  select_walk *w = ud;
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_SELECT && w->n < MAX_VERSION_TERMS) w->cond[w->n++] = n->a;
  return IR_WALK_DESCEND;
}

static void note_tile(ir_program *p, tile_conds *t) {
  for (ir_stmt s = ir_next(p, t->tile, t->tile); s;
       s = ir_next(p, s, t->tile)) {
    const ir_stmt_rec r = *ir_st(p, s);
    if (r.kind == IR_LOOP || r.kind == IR_LET) {
      if (t->nvars == MAX_TILE_VARS) return;
      t->var[t->nvars++] = r.kind == IR_LOOP ? r.var : r.let_var;
    } else if (r.kind == IR_IF) {
      note_conds(p, t, r.cond);
    } else if (r.kind == IR_STORE) {
      select_walk w = {0};
      ir_any(p, r.value, find_selects, &w);
      for (uint32_t i = 0; i < w.n; i++) note_conds(p, t, w.cond[i]);
    }
  }
}

static ir_expr make_true(ir_program *p, const ir_node *n, const ir_expr *a,
                         void *ud) {
  const tile_conds *t = ud;
  (void)a;
  for (uint32_t i = 0; i < t->n; i++)
    if (t->cond[i].op == n->op && t->cond[i].a == n->a && t->cond[i].b == n->b)
      return ir_bool(p, true);
  return 0;
}

/* The guards that are true now. */
static void splice_guards(ir_program *p, ir_stmt top) {
  for (ir_stmt s = ir_next(p, top, top), next; s; s = next) {
    next = ir_next(p, s, top);
    if (ir_st(p, s)->kind == IR_IF && ir_is_const(p, ir_st(p, s)->cond, 1))
      lower_splice(p, s);
  }
}

static void version_tile(ir_program *p, arena *scratch, ir_stmt tile) {
  tile_conds t = {.tile = tile};
  note_tile(p, &t);
  if (!t.n || ir_is_const(p, t.test, 0)) return;
  if (!ir_is_const(p, t.test, 1)) {
    ir_subst sub;
    ir_subst_init(&sub, p, scratch);
    ir_stmt other = ir_clone_stmt(&sub, tile, NULL), both;
    both = ir_if_new(p, t.test);
    ir_wrap(p, tile, both);
    ir_append_alt(p, both, other);
  }
  lower_map_below(p, scratch, tile, make_true, &t);
  splice_guards(p, tile);
}

/* Does s allocate what scalar_replacement keeps: all its indices constants? */
static bool is_tile(const ir_program *p, arena *scratch, ir_stmt s) {
  if (ir_st(p, s)->kind != IR_ALLOCATE || lower_in_kernel(p, s)) return false;
  lower_accesses all = lower_find_accesses(p, scratch, s);
  for (uint32_t i = 0; i < all.n; i++) {
    if (all.v[i].buf != ir_st(p, s)->buf) continue;
    const ir_node *n = ir_at(p, p->arg.v[all.v[i].idx.at]);
    if (n->op == IR_RAMP) n = ir_at(p, n->a);
    if (n->op != IR_INT) return false;
  }
  return true;
}

LOWER_PASS(version_tiles) {
  (void)o, (void)e;
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt s = root, next; s; s = next) {
    next = ir_next(p, s, root);
    if (!is_tile(p, scratch, s)) continue;
    next = ir_skip(p, s, root);
    version_tile(p, scratch, s);
  }
  return TESS_OK;
}
