/* SPDX-License-Identifier: Apache-2.0
 * Queries of the statement tree: loops above, child blocks, common ancestors,
 * program order. */
#include "ir/query.h"
#include "schedule/sch.h"

uint32_t sch_loops_above(const ir_program *p, ir_stmt st, uint32_t max,
                         ir_stmt *out) {
  uint32_t n = 0;
  ir_stmt a = ir_st(p, st)->parent;
  for (; a && !ir_is_block(p, a); a = ir_st(p, a)->parent)
    if (ir_is_loop(p, a) && n < max) out[n++] = a;
  for (uint32_t i = 0, j = n; i + 1 < j; i++) {
    ir_stmt t = out[i];
    out[i] = out[--j];
    out[j] = t;
  }
  return n;
}

sch_list sch_loops_of(sch_state *s, ir_stmt st) {
  const ir_program *p = s->p;
  uint32_t n = 0;
  for (ir_stmt a = st; (a = ir_st(p, a)->parent) && !ir_is_block(p, a);)
    n += ir_is_loop(p, a);
  ir_stmt *v = arena_array(s->scratch, ir_stmt, n);
  uint32_t i = n;
  for (ir_stmt a = st; i && (a = ir_st(p, a)->parent);)
    if (ir_is_loop(p, a)) v[--i] = a;
  return (sch_list){n, v};
}

/* As ir_skip, but an init of `top` is not gone into: what is there
 * belongs to the block itself.  The other branch of a condition is. */
static ir_stmt skip(const ir_program *p, ir_stmt s, ir_stmt top) {
  while (s != top) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->next) return r->next;
    if (!r->in_alt && !ir_is_block(p, r->parent) && ir_st(p, r->parent)->alt)
      return ir_st(p, r->parent)->alt;
    s = r->parent;
  }
  return 0;
}

ir_stmt sch_skip_outside(const ir_program *p, ir_stmt s, ir_stmt top) {
  const ir_stmt_rec *r = ir_st(p, s);
  return r->kind != IR_BLOCK && r->alt ? r->alt : skip(p, s, top);
}

ir_stmt sch_next_child(const ir_program *p, ir_stmt at, ir_stmt top) {
  do at = sch_next_outside(p, at, top);
  while (at && !ir_is_block(p, at));
  return at;
}

sch_list sch_child_blocks(sch_state *s, ir_stmt top) {
  const ir_program *p = s->p;
  ir_stmt first[8];
  uint32_t n = 0;
  for (ir_stmt b = top; (b = sch_next_child(p, b, top)); n++)
    if (n < 8) first[n] = b;
  ir_stmt *v = arena_array(s->scratch, ir_stmt, n);
  for (uint32_t i = 0; i < n; i++)
    v[i] = i < 8 ? first[i] : sch_next_child(p, v[i - 1], top);
  return (sch_list){n, v};
}

static uint32_t depth_of(const ir_program *p, ir_stmt s) {
  uint32_t d = 0;
  while ((s = ir_st(p, s)->parent)) d++;
  return d;
}

ir_stmt sch_common(const ir_program *p, ir_stmt a, ir_stmt b) {
  uint32_t da = depth_of(p, a), db = depth_of(p, b);
  for (; da > db; da--) a = ir_st(p, a)->parent;
  for (; db > da; db--) b = ir_st(p, b)->parent;
  for (; a != b; b = ir_st(p, b)->parent) a = ir_st(p, a)->parent;
  return a;
}

ir_stmt sch_step_down(const ir_program *p, ir_stmt above, ir_stmt below) {
  while (below && ir_st(p, below)->parent != above)
    below = ir_st(p, below)->parent;
  return below;
}

ir_stmt sch_other_between(const ir_program *p, ir_stmt above, ir_stmt below) {
  ir_stmt a = ir_st(p, below)->parent;
  while (a != above && ir_is_loop(p, a)) a = ir_st(p, a)->parent;
  return a == above ? 0 : a;
}

bool sch_comes_before(const ir_program *p, ir_stmt a, ir_stmt b) {
  ir_stmt top = sch_common(p, a, b);
  a = sch_step_down(p, top, a);
  b = sch_step_down(p, top, b);
  if (ir_st(p, a)->in_alt != ir_st(p, b)->in_alt)
    return ir_st(p, a)->in_alt == ir_is_block(p, top);
  while (a && a != b) a = ir_st(p, a)->next;
  return a != 0;
}

bool sch_is_plain(const ir_program *p, ir_stmt top, ir_stmt *other) {
  for (ir_stmt s = top; (s = sch_next_outside(p, s, top));)
    if (!ir_is_loop(p, s) && !ir_is_block(p, s)) {
      *other = s;
      return false;
    }
  return true;
}

bool sch_is_nest(const ir_program *p, ir_stmt top, ir_stmt *other) {
  for (ir_stmt s = top; (s = sch_next_outside(p, s, top));) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind != IR_LOOP && r->kind != IR_BLOCK &&
        (r->kind != IR_IF || ir_has_load(p, r->cond, 0))) {
      *other = s;
      return false;
    }
  }
  return true;
}
