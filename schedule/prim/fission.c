/* SPDX-License-Identifier: Apache-2.0
 * fission: distributes a loop over the statements in its body. */
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/dependence/polyhedra.h"
#include "schedule/sch.h"

#define FISSION_SIG(F, S)                                                 \
  F(S, IN, LOOP, loop, REQ, "the loop to distribute")                     \
  F(S, ATTR, INT, position, DEF(0),                                       \
    "the statement of its body, counted from 0, before which it is cut; " \
    "0: before each")                                                     \
  F(S, OUT, LOOPS, loops, REQ, "the loops of the parts, in order")

PRIM_DEFINE(
    fission, FISSION_SIG,
    .summary = "Distribute a loop over the statements in it.",
    .rewrite = "for i in e: { S; T }   ->   for i in e: S; for i in e: T",
    .details =
        "1. The body of the loop has at least two statements, and the\n"
        "   position is between two of them.\n"
        "2. The loop has no annotations.\n"
        "3. Below it are only loops and blocks, and conditions on indices.\n"
        "4. No dependence is reversed: no access of a later part conflicts "
        "with\n"
        "   one of an earlier part in a later iteration, and not both call\n"
        "   functions of the host's for what these do.\n"
        "5. Loops whose iterations run in parallel stay free of races with\n"
        "   buffers that now live further out.\n"
        "The loop itself becomes the first part; the others are of the same\n"
        "kind.\n",
    .refusals = SCH_REASONS(SCH_R_EFFECTS_ORDER, SCH_R_FISSION_DEPENDS,
                            SCH_R_FISSION_PLACE, SCH_R_LOOP_ANNOTATED,
                            SCH_R_ONLY_BLOCK, SCH_R_OTHER_STATEMENT,
                            SCH_POLY_REASONS, SCH_R_WOULD_RACE),
    .example = "local c, d = sch:get_block(\"C\"), sch:get_block(\"D\")\n"
               "local i = sch:get_loops(c)\n"
               "sch:reverse_compute_at(d, i)\n"
               "local first, second = sch:fission(i)\n");

/* ---- may it ------------------------------------------------------------- */

static const arith_range earlier = {INT64_MIN, -1}, later = {1, INT64_MAX};

/* Do these regions keep apart, with b1's iteration less b2's as asked?
 * *clear: a buffer at which the blocks do not conflict so. */
static bool pair_allows(dist *d, ir_stmt b1, ir_region w, ir_stmt b2,
                        ir_region r, ir_buf *clear) {
  sch_state *s = d->s;
  const ir_program *p = s->p;
  ir_stmt scope = ir_scope_of(p, b1);
  bool first = d->within == &later;
  arith_range delta;
  if (w.buf != r.buf) {
    if (sch_storage(p, scope, w.buf) != sch_storage(p, scope, r.buf))
      return true;
  } else if (w.buf == *clear || !dist_regions(d, b1, w, b2, r, &delta)) {
    return true;
  }
  (void)sch_refuse(s, SCH_R_FISSION_DEPENDS, .buf = w.buf,
                   .s = {first ? b2 : b1, first ? b1 : b2});
  if (w.buf != r.buf || !poly_clears(d, b1, b2, w.buf)) return false;
  *clear = w.buf;
  return true;
}

/* What b1 writes against all that b2 accesses. */
static bool writes_allow(dist *d, const arith_range *within, ir_stmt b1,
                         ir_stmt b2) {
  const ir_program *p = d->s->p;
  ir_span w = ir_blk(p, b1)->writes;
  ir_span other[2] = {ir_blk(p, b2)->reads, ir_blk(p, b2)->writes};
  ir_buf clear = 0;
  d->within = within;
  for (uint32_t i = w.at; i < w.at + w.n; i++)
    for (int k = 0; k < 2; k++)
      for (uint32_t j = other[k].at; j < other[k].at + other[k].n; j++)
        if (!pair_allows(d, b1, p->region.v[i], b2, p->region.v[j], &clear))
          return false;
  return true;
}

/* Block `b` in a part behind that of `a`: in an earlier iteration it does
 * not conflict with what `a` does in a later one. */
static bool blocks_allow(dist *d, ir_stmt b, ir_stmt a) {
  if (ir_has_effects(d->s->p, a) && ir_has_effects(d->s->p, b))
    return sch_refuse(d->s, SCH_R_EFFECTS_ORDER, .s = {a, b});
  return writes_allow(d, &earlier, b, a) && writes_allow(d, &later, a, b);
}

/* Is which iterations run known without reading a buffer? */
static bool is_index_only(const ir_program *p, ir_stmt st) {
  const ir_stmt_rec *r = ir_st(p, st);
  if (r->kind == IR_LOOP)
    return !ir_has_load(p, r->lo, 0) && !ir_has_load(p, r->extent, 0);
  if (r->kind != IR_BLOCK) return true;
  ir_span it = ir_blk(p, st)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    if (ir_has_load(p, p->iter.v[i].bind, 0)) return false;
  ir_expr pred = ir_blk(p, st)->pred;
  return !pred || !ir_has_load(p, pred, 0);
}

static bool nest_allows(sch_state *s, ir_stmt loop) {
  const ir_program *p = s->p;
  ir_stmt other = 0;
  if (!sch_is_nest(p, loop, &other))
    return sch_refuse(s, SCH_R_OTHER_STATEMENT, .s = {other});
  for (ir_stmt st = loop; st; st = sch_next_outside(p, st, loop))
    if (!is_index_only(p, st))
      return sch_refuse(s, SCH_R_OTHER_STATEMENT, .s = {st});
  return true;
}

/* Which statement of the loop's body each block is in, or is; the blocks come
 * in the order of the program. */
static const uint32_t *places_of(sch_state *s, ir_stmt loop, sch_list unit) {
  const ir_program *p = s->p;
  uint32_t *place = arena_array(s->scratch, uint32_t, unit.n), n = 0;
  ir_stmt at = ir_st(p, loop)->body;
  for (uint32_t i = 0; i < unit.n; i++) {
    ir_stmt in = sch_step_down(p, loop, unit.v[i]);
    for (; at != in; at = ir_st(p, at)->next) n++;
    place[i] = n;
  }
  return place;
}

static bool parts_allow(sch_state *s, const struct fission_args *a) {
  const ir_program *p = s->p;
  int64_t at = a->position;
  dist d;
  dist_init(&d, s, 1, &ir_st(p, a->loop)->var, a->loop);
  sch_list unit = sch_child_blocks(s, a->loop);
  const uint32_t *place = places_of(s, a->loop, unit);
  for (uint32_t i = 0; i < unit.n; i++)
    for (uint32_t k = i + 1; k < unit.n; k++) {
      int64_t x = place[i], y = place[k];
      bool apart = at ? x < at && y >= at : x != y;
      if (apart && !blocks_allow(&d, unit.v[k], unit.v[i])) return false;
    }
  return true;
}

/* ---- doing it ----------------------------------------------------------- */

static uint32_t count_body(const ir_program *p, ir_stmt loop) {
  uint32_t n = 0;
  for (ir_stmt c = ir_st(p, loop)->body; c; c = ir_st(p, c)->next) n++;
  return n;
}

/* `from` and what follows it leave their loop for a copy of it, which comes
 * next. */
static ir_stmt fission_cut(sch_state *s, ir_stmt loop, ir_stmt from) {
  ir_program *p = s->p;
  const ir_stmt_rec r = *ir_st(p, loop);
  ir_var v = ir_var_like(p, r.var, p->var.v[r.var].lo, p->var.v[r.var].hi);
  ir_stmt part = ir_loop_new(p, v, r.lo, r.extent, (ir_loop_kind)r.loop_kind);
  ir_st(p, part)->thread = r.thread;
  ir_insert_after(p, loop, part);
  for (ir_stmt last = 0, next; from; last = from, from = next) {
    next = ir_st(p, from)->next;
    ir_detach(p, from);
    if (last)
      ir_insert_after(p, last, from);
    else
      ir_append(p, part, from);
  }
  sch_replace_vars(s, part, 1, &r.var, &p->var.v[v].ref);
  return part;
}

static bool fission_rewrite(sch_state *s, void *ud) {
  struct fission_args *a = ud;
  ir_program *p = s->p;
  uint32_t n = count_body(p, a->loop), k = 1;
  if (ir_st(p, a->loop)->anno)
    return sch_refuse(s, SCH_R_LOOP_ANNOTATED, .s = {a->loop});
  if (n == 1)
    return sch_refuse(s, SCH_R_ONLY_BLOCK,
                      .s = {ir_st(p, a->loop)->body, a->loop});
  if (a->position < 0 || a->position >= n)
    return sch_refuse(s, SCH_R_FISSION_PLACE, .s = {a->loop},
                      .n = {a->position, n});
  if (!nest_allows(s, a->loop) || !parts_allow(s, a)) return false;
  ir_stmt *made = arena_array(s->scratch, ir_stmt, n), at = a->loop;
  made[0] = at;
  for (uint32_t i = 1; i < n; i++) {
    if (a->position && i != a->position) continue;
    ir_stmt from = ir_st(p, at)->body;
    for (uint32_t skip = a->position ? i : 1; skip; skip--)
      from = ir_st(p, from)->next;
    at = made[k++] = fission_cut(s, at, from);
  }
  a->loops = (sch_list){k, made};
  return true;
}

static bool fission_apply(sch_state *s, struct fission_args *a) {
  return sch_transaction_loop(s, fission_rewrite, a, a->loop, true);
}
