/* SPDX-License-Identifier: Apache-2.0
 * Adjacent statements, for a new block around them. */
#include "ir/query.h"
#include "schedule/rewrite/nesting.h"

/* The siblings that the targets are, or are in. */
typedef struct row {
  ir_stmt above, first, last;
} row;

static bool find_above(sch_state *s, sch_list a, row *r) {
  const ir_program *p = s->p;
  if (!a.n) return sch_refuse(s, SCH_R_NODES_EMPTY);
  for (uint32_t i = 0; i < a.n; i++) {
    ir_stmt t = a.v[i];
    if (!ir_st(p, t)->parent)
      return sch_refuse(s, SCH_R_BLOCK_IS_ROOT, .s = {t});
    if (ir_scope_of(p, t) != ir_scope_of(p, a.v[0]))
      return sch_refuse(s, SCH_R_SCOPES_DIFFER, .s = {a.v[0], t});
    ir_stmt up = ir_st(p, t)->parent;
    r->above = i ? sch_common(p, r->above, up) : up;
  }
  return true;
}

/* The first and last of them, which hang in one list. */
static bool find_ends(sch_state *s, sch_list a, row *r) {
  const ir_program *p = s->p;
  for (uint32_t i = 0; i < a.n; i++) {
    ir_stmt t = a.v[i], c = sch_step_down(p, r->above, t);
    if (!i) r->first = r->last = c;
    if (!c || ir_st(p, c)->in_alt != ir_st(p, r->first)->in_alt)
      return sch_refuse(s, SCH_R_NOT_SIDE_BY_SIDE, .s = {a.v[0], t});
    if (c != r->first && sch_comes_before(p, c, r->first)) r->first = c;
    if (c != r->last && sch_comes_before(p, r->last, c)) r->last = c;
  }
  return true;
}

static bool is_target(const ir_program *p, sch_list a, ir_stmt block) {
  for (uint32_t i = 0; i < a.n; i++)
    if (ir_is_ancestor(p, a.v[i], block)) return true;
  return false;
}

/* Only what was named goes into the new block, in loops and conditions. */
static bool check_row(sch_state *s, sch_list a, const row *r) {
  const ir_program *p = s->p;
  for (ir_stmt c = r->first; c; c = c == r->last ? 0 : ir_st(p, c)->next)
    for (ir_stmt t = c; t;
         t = ir_is_block(p, c) ? 0 : sch_next_outside(p, t, c)) {
      const ir_stmt_rec *x = ir_st(p, t);
      bool plain = x->kind == IR_LOOP ? !ir_has_load(p, x->lo, 0) &&
                                            !ir_has_load(p, x->extent, 0)
                   : x->kind == IR_IF ? !ir_has_load(p, x->cond, 0)
                                      : x->kind == IR_BLOCK;
      if (!plain) return sch_refuse(s, SCH_R_OTHER_STATEMENT, .s = {t});
      if (x->kind == IR_BLOCK && !is_target(p, a, t))
        return sch_refuse(s, SCH_R_BLOCK_BETWEEN, .s = {t});
    }
  return true;
}

bool sch_blockize(sch_state *s, uint32_t n, const ir_stmt *targets, bool units,
                  ir_stmt *made) {
  sch_list a = {n, targets};
  row r = {0};
  return find_above(s, a, &r) && find_ends(s, a, &r) && check_row(s, a, &r) &&
         sch_nest_in_block(s, r.first, r.last, units, made);
}
