/* SPDX-License-Identifier: Apache-2.0
 * Does fusing two loops keep the order of their dependences? */
#include "ir/query.h"
#include "schedule/analysis/move.h"
#include "schedule/dependence/polyhedra.h"

static sch_conflict turned(const sch_conflict *c) {
  sch_conflict t;
  for (int k = 0; k < 2; k++) {
    t.n[k] = c->n[!k];
    memcpy(t.var[k], c->var[!k], sizeof t.var[k]);
    memcpy(t.at[k], c->at[!k], sizeof t.at[k]);
  }
  return t;
}

/* Asked exactly; a's iteration is reported first. */
static bool never_later(dist *d, ir_stmt a, ir_stmt b, bool b_writes,
                        ir_buf buf) {
  sch_refusal *why = &d->s->refusal;
  bool never = poly_clears_later(d, a, b, b_writes, !d->n, buf);
  if (!never && b_writes) why->conflict = turned(&why->conflict);
  return never;
}

/* Blocks a and b, of which a runs before b: does one of them, by these
 * regions, access what the other writes (d->n: in an earlier iteration of the
 * merged loops)?  Asked exactly where the quick rule sees it. */
static bool regions_allow(dist *d, sch_reason why, ir_stmt a, ir_region ra,
                          ir_stmt b, ir_region rb, bool b_writes) {
  sch_state *s = d->s;
  ir_stmt scope = ir_scope_of(s->p, a);
  if (ra.buf != rb.buf
          ? sch_storage(s->p, scope, ra.buf) != sch_storage(s->p, scope, rb.buf)
          : !dist_later(d, a, ra, b, rb, !d->n))
    return true;
  (void)sch_refuse(s, why, .s = {a, b}, .buf = ra.buf);
  return ra.buf == rb.buf && never_later(d, a, b, b_writes, ra.buf);
}

static bool spans_allow(dist *d, sch_reason why, ir_stmt a, ir_span from,
                        ir_stmt b, ir_span to, bool b_writes,
                        const uint8_t *except) {
  const ir_program *p = d->s->p;
  for (uint32_t i = from.at; i < from.at + from.n; i++)
    for (uint32_t j = to.at; j < to.at + to.n; j++)
      if (!(except && except[p->region.v[i].buf]) &&
          !regions_allow(d, why, a, p->region.v[i], b, p->region.v[j],
                         b_writes))
        return false;
  return true;
}

static bool blocks_allow(dist *d, sch_reason why, ir_stmt a, ir_stmt b,
                         const uint8_t *except) {
  const ir_block_rec x = *ir_blk(d->s->p, a), y = *ir_blk(d->s->p, b);
  if (ir_has_effects(d->s->p, a) && ir_has_effects(d->s->p, b))
    return sch_refuse(d->s, SCH_R_EFFECTS_ORDER, .s = {a, b});
  return spans_allow(d, why, a, x.writes, b, y.reads, false, except) &&
         spans_allow(d, why, a, x.writes, b, y.writes, false, NULL) &&
         spans_allow(d, why, a, x.reads, b, y.writes, true, NULL);
}

/* Loops, blocks and conditions, none of which loads, at and below `top`. */
static bool is_understood(const ir_program *p, ir_stmt top, ir_stmt *other) {
  ir_stmt q = top;
  do {
    *other = q;
    if (ir_st(p, q)->kind == IR_IF ? ir_has_load(p, ir_st(p, q)->cond, 0)
                                   : !sch_says_no_load(p, q))
      return false;
  } while (!ir_is_block(p, top) && (q = sch_next_outside(p, q, top)));
  return true;
}

bool sch_keeps_order(dist *d, ir_stmt above, ir_stmt nest, sch_reason why,
                     const uint8_t *except) {
  sch_state *s = d->s;
  const ir_program *p = s->p;
  ir_stmt other = 0;
  if (!is_understood(p, above, &other) || !is_understood(p, nest, &other))
    return sch_refuse(s, SCH_R_OTHER_STATEMENT, .s = {other});
  bool single = ir_is_block(p, above);
  for (ir_stmt a = single ? above : sch_next_child(p, above, above); a;
       a = single ? 0 : sch_next_child(p, a, above))
    for (ir_stmt b = nest; (b = sch_next_child(p, b, nest));)
      if (!blocks_allow(d, why, a, b, except)) return false;
  return true;
}
