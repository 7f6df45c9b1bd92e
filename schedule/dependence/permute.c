/* SPDX-License-Identifier: Apache-2.0
 * Legality of loop permutation (interchange).
 *
 * Two iterations whose order changes must not conflict, unless what is written
 * is the same in either order: commutative reductions, values that a complete
 * block would write again, and buffers private to an iteration. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/analysis/move.h"
#include "schedule/dependence/polyhedra.h"

typedef struct nest {
  dist d;
  uint32_t n; /* loops whose order changes, outer first */
  const ir_stmt *chain;
  uint32_t *to, *from; /* where each of them goes, and the inverse */
  arith_range *delta;  /* answers, one a loop */
  uint8_t *drives;     /* of the block at hand: by variable, drives_bits */
  bool in_order;       /* what it reduces it must combine in that order */
} nest;

/* Kinds of iters that a loop drives; COUPLED: it has its say in what is
 * reduced, as loops that drive reduce iters have, and loops that are with them
 * in what decides what runs; PURE_R: it is coupled, and drives no spatial iter;
 * SHARED: another one that moves while the spatial iters are still. */
enum {
  DRIVES_S = 1,
  DRIVES_R = 2,
  DRIVES_O = 4,
  PURE_R = 8,
  SHARED = 16,
  COUPLED = 32
};

/* ---- which loops drive what --------------------------------------------- */

static uint8_t drives_of(const nest *t, uint32_t k) {
  return t->drives[ir_st(t->d.s->p, t->chain[k])->var];
}

static bool has_kind(const ir_program *p, ir_stmt block, ir_iter_kind kind) {
  ir_span it = ir_blk(p, block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    if (p->iter.v[i].kind == kind) return true;
  return false;
}

/* The reduce iters of what is no reduction are ordered, too. */
static void mark_block(nest *t, ir_stmt block) {
  const ir_program *p = t->d.s->p;
  ir_span it = ir_blk(p, block)->iters;
  uint8_t kind[] = {
      [IR_SPATIAL] = DRIVES_S, [IR_REDUCE] = DRIVES_R, [IR_OPAQUE] = DRIVES_O};
  t->in_order =
      has_kind(p, block, IR_REDUCE) && !sch_reduction_commutes(p, block);
  if (t->in_order) kind[IR_REDUCE] |= DRIVES_O;
  memset(t->drives, 0, p->var.n);
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    sch_mark_vars(p, p->iter.v[i].bind, kind[p->iter.v[i].kind], t->drives);
}

/* Which loops have a say in what of a result is reduced, at a fixed place of
 * the loops around the nest, and whether none of them has one in which result
 * that is: then every iteration of the others that goes to a result reduces
 * the same points of it. */
static bool has_injective_bindings(nest *t, ir_stmt block) {
  const ir_program *p = t->d.s->p;
  dist_tie(&t->d, block, t->chain[0], t->drives, DRIVES_R, COUPLED);
  for (uint32_t v = 1; v < p->var.n; v++)
    if ((t->drives[v] & COUPLED) && (t->drives[v] & DRIVES_S)) return false;
  return true;
}

/* Marks PURE_R and SHARED, for a reduction whose points are each reached
 * once.  Where loops distinguish results and points, iterations of one result
 * differ in coupled loops alone; else only some loops are known to be. */
static void mark_reduction(nest *t, bool apart, ir_stmt block) {
  for (uint32_t k = 0; k < t->n; k++)
    if ((drives_of(t, k) & (COUPLED | DRIVES_S)) == COUPLED)
      t->drives[t->d.var[k]] |= PURE_R;
  if (apart || !dist_iters(&t->d, block, true, t->delta)) return;
  for (uint32_t k = 0; k < t->n; k++)
    if (!(drives_of(t, k) & PURE_R) && (t->delta[k].lo || t->delta[k].hi))
      t->drives[t->d.var[k]] |= SHARED;
}

/* Below the nest, loops that are not coupled, in coupled ones, run once for
 * each result, so that points come in the same order in every iteration of
 * the nest. */
static bool goes_straight(const nest *t, ir_stmt block) {
  sch_state *s = t->d.s;
  const ir_program *p = s->p;
  sch_list all = sch_loops_of(s, block);
  ir_stmt last = t->chain[t->n - 1];
  ir_var *var = arena_array(s->scratch, ir_var, all.n);
  uint32_t n = 0;
  bool coupled = false;
  for (uint32_t i = 0; i < all.n; i++) {
    ir_var v = ir_st(p, all.v[i])->var;
    if (all.v[i] == last || !ir_is_ancestor(p, last, all.v[i])) continue;
    coupled |= (t->drives[v] & COUPLED) != 0;
    if (coupled && !(t->drives[v] & COUPLED)) var[n++] = v;
  }
  if (!n) return true;
  arith_range *delta = arena_array(s->scratch, arith_range, n);
  dist d;
  dist_init(&d, s, n, var, last);
  if (!dist_iters(&d, block, true, delta)) return true;
  for (uint32_t i = 0; i < n; i++)
    if (delta[i].lo || delta[i].hi) return false;
  return true;
}

/* Another iteration of the loops goes to other results. */
static bool results_move(nest *t, ir_stmt block) {
  if (!dist_iters(&t->d, block, true, t->delta)) return true;
  for (uint32_t k = 0; k < t->n; k++)
    if (t->delta[k].lo || t->delta[k].hi) return false;
  return true;
}

/* Do the loops that have any of `bits` keep their order among themselves? */
static bool keep_order(const nest *t, uint8_t bits) {
  int64_t last = -1;
  for (uint32_t k = 0; k < t->n; k++)
    if (drives_of(t, k) & bits) {
      if (t->to[k] < last) return false;
      last = t->to[k];
    }
  return true;
}

/* ---- reductions --------------------------------------------------------- */

/* A reduction starts where all its reduce iters do: for each point of its
 * spatial iters that instance must still come first.  Those instances are
 * the product of what SHARED loops can be and all that PURE_R loops can; the
 * first of them is the first of each factor, if it was that before. */
static bool starts_as_before(nest *t, bool apart, ir_stmt block) {
  const ir_program *p = t->d.s->p;
  mark_reduction(t, apart, block);
  if (keep_order(t, PURE_R | SHARED)) return true;
  ir_expr pred = ir_blk(p, block)->pred;
  return keep_order(t, SHARED) &&
         (!pred || arith_holds_at_start(p, pred, t->drives, PURE_R)) &&
         ir_block_starts_at_init(p, t->d.s->scratch, block,
                                 ir_scope_of(p, block));
}

/* No iteration of the nest has a say in what is reduced: each runs the same
 * for its results, or is the only one that they have. */
static bool runs_whole(nest *t, bool apart, ir_stmt block) {
  uint8_t driven = 0;
  for (uint32_t k = 0; k < t->n; k++) driven |= drives_of(t, k);
  return (apart && !(driven & COUPLED) && goes_straight(t, block)) ||
         (!(driven & DRIVES_R) && results_move(t, block));
}

/* What the init overwrites and what it does not stays the same where no
 * iteration changes places with it, wherever it comes.  Where every iteration
 * of the nest reduces from start to end, nothing can go wrong. */
static bool reduction_allows(nest *t, ir_stmt block) {
  sch_state *s = t->d.s;
  bool apart = has_injective_bindings(t, block), once = true;
  if (runs_whole(t, apart, block)) return true;
  if (!dist_iters(&t->d, block, false, t->delta)) return true;
  for (uint32_t k = 0; k < t->n; k++)
    once &= !t->delta[k].lo && !t->delta[k].hi;
  if (once && starts_as_before(t, apart, block)) return true;
  sch_conflict conflict;
  ir_stmt top = t->chain[0];
  poly_verdict v = poly_start_moves(s, block, top, t->n, t->to, &conflict);
  if (v == POLY_DISJOINT) return true;
  if (!once && !sch_runs_once(s, block, top)) return false;
  if (!once && v != POLY_CONFLICT && starts_as_before(t, apart, block))
    return true;
  if (!sch_begins_at_init(s, block, 0)) return false;
  if (v == POLY_CONFLICT)
    return sch_refuse(s, SCH_R_ORDER_INIT, .s = {block}, .conflict = conflict);
  sch_reason why = v == POLY_TOO_HARD ? SCH_R_UNDECIDED : SCH_R_NOT_AFFINE;
  return sch_refuse(s, why, .s = {block, block},
                    .buf = sch_first_write(s->p, block));
}

/* ---- dependences -------------------------------------------------------- */

/* Which signs a distance can have, by its first component that is not 0 in
 * the order given (from the loop that is now at place k to its own number,
 * or NULL: as it is). */
enum { BEHIND = 1, AHEAD = 2 };

static unsigned signs(const nest *t, const uint32_t *from) {
  unsigned can = 0;
  for (uint32_t k = 0; k < t->n; k++) {
    arith_range r = t->delta[from ? from[k] : k];
    if (r.hi > 0) can |= AHEAD;
    if (r.lo < 0) can |= BEHIND;
    if (r.lo > 0 || r.hi < 0) break;
  }
  return can;
}

/* Do two iterations that far apart keep their order? */
static bool keeps(const nest *t) {
  int64_t last = -1;
  bool same = true;
  for (uint32_t k = 0; k < t->n; k++) {
    if (!t->delta[k].lo && !t->delta[k].hi) continue;
    same = same && t->to[k] > last;
    last = t->to[k];
  }
  unsigned old = signs(t, NULL), new = signs(t, t->from);
  return same || ((old | new) != (AHEAD | BEHIND));
}

/* Distances that are first not 0 at loop i, by `sign`, and in the new order
 * at loop j, by the other sign. */
static void opposed(const nest *t, uint32_t i, uint32_t j, int sign,
                    arith_range *out) {
  const arith_range ahead = {1, INT64_MAX}, behind = {INT64_MIN, -1};
  for (uint32_t k = 0; k < t->n; k++) {
    bool zero = k < i || t->to[k] < t->to[j];
    out[k] = zero ? (arith_range){0, 0} : (arith_range){INT64_MIN, INT64_MAX};
  }
  out[i] = sign > 0 ? ahead : behind;
  out[j] = sign > 0 ? behind : ahead;
}

/* Do any two iterations that would change places conflict?  Asked case by case,
 * since the loops' ranges one by one forget how they go together; `exactly`:
 * by what the blocks do, after a refusal. */
static bool conflicts_when_swapped(nest *t, ir_stmt b1, ir_region w, ir_stmt b2,
                                   ir_region r, bool exactly) {
  arith_range *within = arena_array(t->d.s->scratch, arith_range, t->n);
  bool common = false;
  t->d.within = within;
  for (uint32_t i = 0; i < t->n && !common; i++)
    for (uint32_t j = i + 1; j < t->n && !common; j++)
      for (int sign = 1; t->to[j] < t->to[i] && sign > -2 && !common;
           sign -= 2) {
        opposed(t, i, j, sign, within);
        common = dist_regions(&t->d, b1, w, b2, r, t->delta) &&
                 !(exactly && poly_clears(&t->d, b1, b2, w.buf));
      }
  t->d.within = NULL;
  return common;
}

static bool pair_allows(nest *t, ir_stmt b1, ir_region w, ir_stmt b2,
                        ir_region r) {
  sch_state *s = t->d.s;
  ir_program *p = s->p;
  ir_stmt scope = ir_scope_of(p, b1), last = t->chain[t->n - 1];
  if (w.buf != r.buf) {
    if (sch_storage(p, scope, w.buf) != sch_storage(p, scope, r.buf))
      return true;
  } else if (!dist_regions(&t->d, b1, w, b2, r, t->delta) || keeps(t) ||
             !conflicts_when_swapped(t, b1, w, b2, r, false)) {
    return true;
  }
  if (p->buf.v[w.buf].role == IR_ROLE_LOCAL) {
    ir_stmt lifetime = ir_lifetime_scope(p, s->scratch, w.buf);
    if (lifetime && ir_is_ancestor(p, last, lifetime)) return true;
  }
  (void)sch_refuse(s, SCH_R_ORDER_DEPENDS, .s = {b1, b2}, .buf = w.buf);
  return w.buf == r.buf && !conflicts_when_swapped(t, b1, w, b2, r, true);
}

/* Does the place of a write determine the spatial iters?  Then iterations that
 * write the same element are the same point, or points of one reduction. */
static bool write_determines_point(nest *t, ir_stmt block, ir_region w) {
  sch_state *s = t->d.s;
  const ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  ir_var *var = arena_array(s->scratch, ir_var, it.n);
  arith_range *delta = arena_array(s->scratch, arith_range, it.n);
  dist d = {.s = s, .var = var, .role = arena_zalloc(s->scratch, p->var.n)};
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    bool spatial = p->iter.v[i].kind == IR_SPATIAL;
    dist_set(&d, p->iter.v[i].var, spatial ? DIST_ASKED : DIST_FREE);
    if (spatial) var[d.n++] = p->iter.v[i].var;
  }
  if (!dist_regions(&d, 0, w, 0, w, delta)) return true;
  for (uint32_t i = 0; i < d.n; i++)
    if (delta[i].lo || delta[i].hi) return false;
  return true;
}

/* The block's writes against its own accesses.  Writing again gives what was
 * there, and reducing goes in any order, or else two steps conflict at their
 * result; that is so where the block reads nothing that it writes but the
 * place it reduces into. */
static bool self_allows(nest *t, ir_stmt block) {
  const ir_program *p = t->d.s->p;
  ir_span w = ir_blk(p, block)->writes, r = ir_blk(p, block)->reads;
  bool reduces = has_kind(p, block, IR_REDUCE);
  for (uint32_t i = w.at; i < w.at + w.n; i++) {
    ir_region wr = p->region.v[i];
    bool again = !t->in_order && !has_kind(p, block, IR_OPAQUE) &&
                 write_determines_point(t, block, wr);
    for (uint32_t j = r.at; j < r.at + r.n; j++) {
      ir_region rd = p->region.v[j];
      if (rd.buf != wr.buf || (reduces && sch_same_region(p, wr, rd))) continue;
      again = false;
      if (!pair_allows(t, block, wr, block, rd)) return false;
    }
    if (!again && !pair_allows(t, block, wr, block, wr)) return false;
  }
  return true;
}

/* The writes of `a` against all accesses of `b`. */
static bool blocks_allow(nest *t, ir_stmt a, ir_stmt b) {
  const ir_program *p = t->d.s->p;
  ir_span w = ir_blk(p, a)->writes;
  ir_span other[2] = {ir_blk(p, b)->reads, ir_blk(p, b)->writes};
  for (uint32_t i = w.at; i < w.at + w.n; i++)
    for (int k = 0; k < 2; k++)
      for (uint32_t j = other[k].at; j < other[k].at + other[k].n; j++)
        if (!pair_allows(t, a, p->region.v[i], b, p->region.v[j])) return false;
  return true;
}

static bool block_allows(nest *t, ir_stmt block) {
  sch_state *s = t->d.s;
  mark_block(t, block);
  if (!keep_order(t, DRIVES_O))
    return sch_refuse(s,
                      ir_reduces_in_order(s->p, block) &&
                              !has_kind(s->p, block, IR_OPAQUE)
                          ? SCH_R_REDUCER_ORDERED
                          : SCH_R_ORDER_OPAQUE,
                      .s = {block});
  if (sch_has_init(s->p, block) && !reduction_allows(t, block)) return false;
  return self_allows(t, block);
}

/* ---- the question ------------------------------------------------------- */

static bool nest_allows(nest *t) {
  sch_state *s = t->d.s;
  ir_stmt other = 0;
  if (!sch_is_nest(s->p, t->chain[0], &other))
    return sch_refuse(s, SCH_R_OTHER_STATEMENT, .s = {other});
  sch_list unit = sch_child_blocks(s, t->chain[0]);
  for (uint32_t i = 0; i < unit.n; i++)
    if (!block_allows(t, unit.v[i])) return false;
  for (uint32_t i = 0; i < unit.n; i++)
    for (uint32_t j = 0; j < unit.n; j++)
      if (i != j && !blocks_allow(t, unit.v[i], unit.v[j])) return false;
  return true;
}

bool sch_order_free(sch_state *s, uint32_t n, const ir_stmt *chain,
                    const ir_stmt *next) {
  const ir_program *p = s->p;
  while (n && *chain == *next) n--, chain++, next++;
  while (n && chain[n - 1] == next[n - 1]) n--;
  if (!n) return true;
  nest t = {.n = n, .chain = chain};
  t.to = arena_array(s->scratch, uint32_t, n);
  t.from = arena_array(s->scratch, uint32_t, n);
  t.delta = arena_array(s->scratch, arith_range, n);
  t.drives = arena_alloc(s->scratch, p->var.n);
  ir_var *var = arena_array(s->scratch, ir_var, n);
  for (uint32_t i = 0; i < n; i++) {
    var[i] = ir_st(p, chain[i])->var;
    for (uint32_t k = 0; k < n; k++)
      if (next[k] == chain[i]) t.to[i] = k, t.from[k] = i;
  }
  dist_init(&t.d, s, n, var, chain[0]);
  return nest_allows(&t);
}
