/* SPDX-License-Identifier: Apache-2.0
 * The search for a witness of an access out of bounds: branch and bound over
 * the box of its free variables. */
#include "ir/verify/witness.h"
#include "ir/query.h"

enum { BOXES = 600, ALL_BOXES = 60000 };

typedef enum verdict { NEVER_IN_BOX, ALWAYS_IN_BOX, SOME_IN_BOX } verdict;

void witness_init(witness_finder *w, const ir_program *p, arena *memory) {
  *w = (witness_finder){.p = p, .memory = memory, .total = ALL_BOXES};
  w->fixed = arena_alloc(memory, p->buf.n);
  memset(w->fixed, 1, p->buf.n);
  w->seen = arena_zalloc(memory, p->node.n * sizeof *w->seen);
  w->value = arena_array(memory, arith_range, p->node.n);
  w->known = arena_zalloc(memory, p->node.n * sizeof *w->known);
  w->deps = arena_array(memory, uint64_t, p->node.n);
  for (ir_stmt s = 1; s < p->stmt.n; s++)
    if (ir_st(p, s)->kind == IR_STORE) w->fixed[ir_st(p, s)->buf] = 0;
}

/* ---- guards ------------------------------------------------------------- */

static uint64_t collect_guard(witness_finder *w, const witness_guard *g) {
  const ir_program *p = w->p;
  if (g->kind == WITNESS_LOOP) {
    const ir_stmt_rec *s = ir_st(p, g->at);
    uint64_t deps = witness_collect(w, s->lo) | witness_collect(w, s->extent);
    return deps ? deps | witness_collect(w, ir_ref(p, s->var)) : 0;
  }
  if (g->kind == WITNESS_START)
    return witness_collect(w, p->iter.v[g->at].bind) |
           witness_collect(w, p->iter.v[g->at].lo);
  if (ir_at(p, g->expr)->dtype.lanes != 1) w->hopeless = true;
  return witness_collect(w, g->expr);
}

static verdict loop_verdict(witness_finder *w, ir_stmt loop) {
  const ir_stmt_rec *s = ir_st(w->p, loop);
  arith_range lo = witness_value(w, s->lo), n = witness_value(w, s->extent);
  if (!collect_guard(w, &(witness_guard){.kind = WITNESS_LOOP, .at = loop}))
    return n.lo >= 1 ? ALWAYS_IN_BOX : NEVER_IN_BOX; /* not for all sizes */
  arith_range v = witness_value(w, ir_ref(w->p, s->var));
  int64_t first = arith_add_lo(lo.lo, n.lo), last = arith_add_hi(lo.hi, n.hi);
  if (v.hi < lo.lo || (last != INT64_MAX && v.lo >= last)) return NEVER_IN_BOX;
  return v.lo >= lo.hi && v.hi < first ? ALWAYS_IN_BOX : SOME_IN_BOX;
}

static verdict guard_verdict(witness_finder *w, const witness_guard *g) {
  if (g->kind == WITNESS_LOOP) return loop_verdict(w, g->at);
  if (g->kind == WITNESS_START) {
    arith_range a = witness_value(w, w->p->iter.v[g->at].bind);
    arith_range b = witness_value(w, w->p->iter.v[g->at].lo);
    if (a.hi < b.lo || b.hi < a.lo) return NEVER_IN_BOX;
    bool same = a.lo == a.hi && b.lo == b.hi && a.lo == b.lo;
    return same ? ALWAYS_IN_BOX : SOME_IN_BOX;
  }
  arith_range r = witness_value(w, g->expr);
  bool wanted = g->kind == WITNESS_TRUE;
  if (r.lo > 0) return wanted ? ALWAYS_IN_BOX : NEVER_IN_BOX;
  if (r.hi <= 0) return wanted ? NEVER_IN_BOX : ALWAYS_IN_BOX;
  return SOME_IN_BOX;
}

/* Collects the guards.  One that depends on no free variable is decided now. */
static bool collect_guards(witness_finder *w, const witness_guard *guards) {
  uint32_t n = 0;
  for (const witness_guard *g = guards; g; g = g->up) n++;
  if (n > w->guards) {
    w->guards = 2 * n;
    w->guard = arena_array(w->memory, const witness_guard *, w->guards);
  }
  w->nguard = 0;
  for (const witness_guard *g = guards; g && !w->hopeless; g = g->up)
    if (collect_guard(w, g)) w->guard[w->nguard++] = g;
  for (const witness_guard *g = guards; g && !w->hopeless; g = g->up)
    if (!collect_guard(w, g) && guard_verdict(w, g) != ALWAYS_IN_BOX)
      w->hopeless = true;
  return !w->hopeless;
}

/* ---- boxes -------------------------------------------------------------- */

static verdict index_verdict(witness_finder *w) {
  arith_range i = witness_value(w, w->index);
  if (!w->high)
    return i.lo >= 0 ? NEVER_IN_BOX : i.hi < 0 ? ALWAYS_IN_BOX : SOME_IN_BOX;
  arith_range n = witness_value(w, w->extent);
  if (i.hi < n.lo) return NEVER_IN_BOX;
  return n.hi != INT64_MAX && i.lo >= n.hi ? ALWAYS_IN_BOX : SOME_IN_BOX;
}

/* *undecided: the slots on which the first undecided question depends. */
static verdict box_verdict(witness_finder *w, uint64_t *undecided) {
  verdict v = index_verdict(w);
  if (v == NEVER_IN_BOX) return v;
  if (v == SOME_IN_BOX)
    *undecided = witness_deps(w, w->index) | witness_deps(w, w->extent);
  for (uint32_t i = 0; i < w->nguard; i++) {
    verdict g = guard_verdict(w, w->guard[i]);
    if (g == NEVER_IN_BOX) return g;
    if (g == SOME_IN_BOX && v == ALWAYS_IN_BOX) {
      *undecided = collect_guard(w, w->guard[i]);
      v = g;
    }
  }
  return v;
}

/* A corner of a box all of which leaves the extent. */
static bool take_corner(witness_finder *w, bool upper) {
  witness_slot whole[WITNESS_SLOTS];
  uint64_t undecided = 0;
  memcpy(whole, w->slot, w->nslot * sizeof *whole);
  for (uint32_t i = 0; i < w->nslot; i++) {
    arith_range *r = &w->slot[i].range;
    *r = upper ? (arith_range){r->hi, r->hi} : (arith_range){r->lo, r->lo};
  }
  witness_changed(w);
  if (box_verdict(w, &undecided) == ALWAYS_IN_BOX && witness_loads_agree(w)) {
    arith_range i = witness_value(w, w->index);
    w->found = w->high ? i.lo : i.hi;
    return true;
  }
  memcpy(w->slot, whole, w->nslot * sizeof *whole);
  witness_changed(w);
  return false;
}

/* The slot of these with the most values; -1: all are points. */
static int widest_slot(const witness_finder *w, uint64_t of) {
  int best = -1;
  uint64_t most = 0;
  for (uint32_t i = 0; i < w->nslot; i++) {
    arith_range r = w->slot[i].range;
    uint64_t wide = (uint64_t)r.hi - (uint64_t)r.lo;
    if ((of >> i & 1) && wide > most) {
      most = wide;
      best = (int)i;
    }
  }
  return best;
}

static bool search_box(witness_finder *w) {
  uint64_t undecided = 0;
  if (w->boxes-- <= 0 || w->total-- <= 0) return false;
  verdict v = box_verdict(w, &undecided);
  if (v == NEVER_IN_BOX) return false;
  if (v == ALWAYS_IN_BOX) {
    if (take_corner(w, false) || take_corner(w, true)) return true;
    undecided = UINT64_MAX; /* declared contents exclude both */
  }
  int i = widest_slot(w, undecided);
  if (i < 0) return false;
  const arith_range r = w->slot[i].range;
  int64_t middle = r.lo + (int64_t)(((uint64_t)r.hi - (uint64_t)r.lo) / 2);
  for (int half = 0; half < 2; half++) {
    bool upper = (half == 0) == w->high;
    w->slot[i].range =
        upper ? (arith_range){middle + 1, r.hi} : (arith_range){r.lo, middle};
    witness_changed(w);
    if (search_box(w)) return true;
  }
  w->slot[i].range = r;
  witness_changed(w);
  return false;
}

static bool find_side(witness_finder *w, bool high,
                      const witness_guard *guards) {
  w->high = high;
  w->query++;
  w->nslot = 0;
  w->hopeless = false;
  w->boxes = BOXES;
  witness_changed(w);
  witness_collect(w, w->index);
  witness_collect(w, w->extent);
  if (!collect_guards(w, guards)) return false;
  witness_changed(w);
  return search_box(w);
}

bool witness_find(witness_finder *w, const witness_guard *guards, ir_expr index,
                  ir_expr extent) {
  arith_range i = arith_bounds(w->p, index), n = arith_bounds(w->p, extent);
  w->index = index;
  w->extent = extent;
  return (i.hi >= n.lo && find_side(w, true, guards)) ||
         (i.lo < 0 && find_side(w, false, guards));
}
