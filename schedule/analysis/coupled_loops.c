/* SPDX-License-Identifier: Apache-2.0
 * Coupled loops: non-rectangular iteration domains of a reduction.
 *
 * Loops that no iter is bound to, and loops of spatial iters, may still
 * determine which points are reduced: through a bound, a predicate or a
 * condition that uses both them and loops of reduce iters. */
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/dependence/distance.h"

typedef struct coupling {
  const dist *d;
  uint8_t *drives, coupled;
  uint8_t any, all; /* of the bits of what was met */
  uint8_t set;      /* what that gets */
} coupling;

static ir_walk coupled_look(const ir_program *p, ir_expr e, void *ud) {
  const ir_node *n = ir_at(p, e);
  coupling *t = ud;
  if (n->op != IR_VAR || t->d->role[n->a] == DIST_SAME) return IR_WALK_DESCEND;
  t->any |= t->drives[n->a];
  t->all &= t->drives[n->a];
  t->drives[n->a] |= t->set;
  return IR_WALK_DESCEND;
}

/* All that these speak of is coupled if some of it is; true: that is new. */
static bool tie(coupling *t, uint32_t n, const ir_expr *e) {
  t->any = t->set = 0;
  t->all = t->coupled;
  for (uint32_t i = 0; i < n; i++)
    (void)ir_any(t->d->s->p, e[i], coupled_look, t);
  if (!(t->any & t->coupled) || (t->all & t->coupled)) return false;
  t->set = t->coupled;
  for (uint32_t i = 0; i < n; i++)
    (void)ir_any(t->d->s->p, e[i], coupled_look, t);
  return true;
}

/* Parts of a condition that must all hold do not tie each other's loops. */
static bool tie_parts(coupling *t, ir_expr cond) {
  const ir_node n = *ir_at(t->d->s->p, cond);
  if (n.op != IR_AND) return tie(t, 1, &cond);
  bool a = tie_parts(t, n.a), b = tie_parts(t, n.b);
  return a || b;
}

/* By what `st` decides for what is below it, in its other branch or not. */
static bool tie_at(coupling *t, ir_stmt st, bool in_alt) {
  const ir_program *p = t->d->s->p;
  ir_expr e[3];
  uint32_t n = sch_deciding(p, st, e);
  if (ir_is_loop(p, st)) e[n++] = ir_ref(p, ir_st(p, st)->var);
  return n == 1 && !in_alt ? tie_parts(t, e[0]) : tie(t, n, e);
}

void dist_tie(const dist *d, ir_stmt block, ir_stmt top, uint8_t *drives,
              uint8_t bits, uint8_t coupled) {
  const ir_program *p = d->s->p;
  coupling t = {.d = d, .drives = drives, .coupled = coupled};
  for (uint32_t v = 1; v < p->var.n; v++)
    if (d->role[v] != DIST_SAME && (drives[v] & bits)) drives[v] |= coupled;
  for (bool more = true; more;) {
    more = tie_at(&t, block, false);
    for (ir_stmt st = block; st != top; st = ir_st(p, st)->parent)
      more |= tie_at(&t, ir_st(p, st)->parent, ir_st(p, st)->in_alt);
  }
}

uint8_t *dist_ties(const dist *d, ir_stmt block, ir_stmt top) {
  const ir_program *p = d->s->p;
  ir_span it = ir_blk(p, block)->iters;
  uint8_t *drives = arena_zalloc(d->s->scratch, p->var.n);
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    sch_mark_vars(p, p->iter.v[i].bind, (uint8_t)(1u << p->iter.v[i].kind),
                  drives);
  dist_tie(d, block, top, drives, 1 << IR_REDUCE, DIST_COUPLED);
  return drives;
}
