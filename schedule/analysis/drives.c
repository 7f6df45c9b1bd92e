/* SPDX-License-Identifier: Apache-2.0
 * Which loops drive which kinds of iters. */
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/sch.h"

typedef struct marking {
  uint8_t bits, *drives;
} marking;

static ir_walk mark_one(const ir_program *p, ir_expr e, void *ud) {
  const ir_node *n = ir_at(p, e);
  const marking *m = ud;
  if (n->op == IR_VAR) m->drives[n->a] |= m->bits;
  return IR_WALK_DESCEND;
}

void sch_mark_vars(const ir_program *p, ir_expr e, uint8_t bits,
                   uint8_t *drives) {
  marking m = {bits, drives};
  (void)ir_any(p, e, mark_one, &m);
}

static bool has_one_value(const ir_program *p, ir_var v) {
  return p->var.v[v].lo == p->var.v[v].hi;
}

/* Ors `bits` to the variables that v was made of, and to v; what is fused with
 * a loop of one iteration does not determine what that loop is for. */
static void mark_family(const ir_program *p, ir_var v, uint8_t bits,
                        uint8_t *family) {
  const ir_var_rec *r = &p->var.v[v];
  if ((family[v] & bits) == bits) return;
  family[v] |= bits;
  if (r->form == IR_NAME_SPLIT) mark_family(p, r->from[0], bits, family);
  for (int i = 0; i < 2 && r->form == IR_NAME_FUSED; i++)
    if (!has_one_value(p, r->from[i])) mark_family(p, r->from[i], bits, family);
}

/* The kind of the iter that was made for v, as partial results have them for
 * the loops of their reduction; 0: there is none. */
static uint8_t kind_made_for(const ir_program *p, ir_span iters, ir_var v) {
  const ir_var_rec *r = &p->var.v[v];
  for (uint32_t i = iters.at; i < iters.at + iters.n; i++) {
    const ir_var_rec *made = &p->var.v[p->iter.v[i].var];
    if (made->form == IR_NAME_SPLIT && made->part == r->part &&
        made->from[0] == r->from[0])
      return (uint8_t)(1u << p->iter.v[i].kind);
  }
  return 0;
}

/* What the nearest relatives of v drive; what the iter that was made for it is
 * comes before what its parts drive, which may be partial results of that iter.
 * A loop that a move made represents the iter of its number.  0: no binding
 * mentions a relative. */
static uint8_t inherit(const ir_program *p, ir_stmt block, ir_var v,
                       const uint8_t *family) {
  const ir_var_rec *r = &p->var.v[v];
  ir_span it = ir_blk(p, block)->iters;
  uint8_t kind = r->form == IR_NAME_SPLIT ? kind_made_for(p, it, v) : 0;
  if (kind) return kind;
  if (family[v]) return family[v];
  switch (r->form) {
  case IR_NAME_SPLIT: return inherit(p, block, r->from[0], family);
  case IR_NAME_FUSED:
    return (uint8_t)(inherit(p, block, r->from[0], family) |
                     inherit(p, block, r->from[1], family));
  case IR_NAME_AX:
    return r->part < it.n ? (uint8_t)(1u << p->iter.v[it.at + r->part].kind)
                          : 0;
  default: return 0;
  }
}

void sch_mark_drivers(sch_state *s, ir_stmt block, uint8_t *drives) {
  const ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  uint8_t *family = NULL;
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    sch_mark_vars(p, p->iter.v[i].bind, (uint8_t)(1u << p->iter.v[i].kind),
                  drives);
  sch_list loops = sch_loops_of(s, block);
  for (uint32_t i = 0; i < loops.n; i++) {
    const ir_stmt_rec *r = ir_st(p, loops.v[i]);
    if (drives[r->var] || !ir_is_const(p, r->extent, 1)) continue;
    if (!family) {
      family = arena_zalloc(s->scratch, p->var.n);
      for (uint32_t k = 0; k < loops.n; k++) {
        ir_var v = ir_st(p, loops.v[k])->var;
        if (drives[v]) mark_family(p, v, drives[v], family);
      }
    }
    uint8_t how = inherit(p, block, r->var, family);
    bool fixed = ir_at(p, r->lo)->op == IR_INT;
    drives[r->var] = how || !fixed ? how : (uint8_t)(1u << IR_SPATIAL);
  }
}

sch_loop_type sch_type_of_loop(sch_state *s, ir_stmt loop) {
  const ir_program *p = s->p;
  uint8_t *drives = arena_zalloc(s->scratch, p->var.n);
  for (ir_stmt b = loop; (b = sch_next_child(p, b, loop));)
    sch_mark_drivers(s, b, drives);
  uint8_t how = drives[ir_st(p, loop)->var];
  if (how & 1u << IR_OPAQUE) return SCH_LOOP_OPAQUE;
  if (!(how & 1u << IR_REDUCE)) return SCH_LOOP_S;
  return how & 1u << IR_SPATIAL ? SCH_LOOP_MIXED : SCH_LOOP_R;
}
