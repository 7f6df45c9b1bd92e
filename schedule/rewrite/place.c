/* SPDX-License-Identifier: Apache-2.0
 * Inserts a block and its nest at a new place among the children of a loop,
 * and removes it from the old one. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/analysis/move.h"

bool sch_choose_position(sch_state *s, ir_stmt loop, int64_t index, uint32_t lo,
                         uint32_t hi, uint32_t *out) {
  *out = index == -1 ? hi : index == -2 ? lo : (uint32_t)index;
  if (index >= -2 && (index < 0 || (index >= lo && index <= hi))) return true;
  return sch_refuse(s, SCH_R_INDEX_INVALID, .s = {loop}, .n = {index, lo, hi});
}

uint32_t sch_position(const ir_program *p, ir_stmt above, ir_stmt st) {
  uint32_t n = 0;
  for (ir_stmt c = sch_step_down(p, above, st); (c = ir_st(p, c)->prev);) n++;
  return n;
}

ir_var sch_ax_var(ir_program *p, uint32_t k, ir_expr extent) {
  int64_t first, last;
  ir_domain_bounds(p, ir_index(p, 0), extent, &first, &last);
  ir_var v = ir_var_new(p, IR_VAR_LOOP, 0, IR_INDEX, first, last);
  p->var.v[v].form = IR_NAME_AX;
  p->var.v[v].part = (uint16_t)k;
  return v;
}

void sch_nest_guard(sch_state *s, sch_nest *n, ir_expr cond) {
  if (!ir_is_const(s->p, cond, 1) && !arith_prove(s->p, s->scratch, cond, 0))
    n->pred = n->pred ? ir_and(s->p, n->pred, cond) : cond;
}

void sch_nest_plan(sch_state *s, ir_stmt block, const sch_span *span,
                   bool preserve_unit_loops, sch_nest *out) {
  ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  *out = (sch_nest){.niters = it.n,
                    .var = arena_array(s->scratch, ir_var, it.n),
                    .extent = arena_array(s->scratch, ir_expr, it.n),
                    .iter = arena_array(s->scratch, ir_iter, it.n)};
  for (uint32_t k = 0; k < it.n; k++) {
    ir_iter iter = p->iter.v[it.at + k];
    bool all = span[k].extent == SCH_SPAN_WHOLE;
    ir_expr extent = all ? iter.extent : ir_index(p, span[k].extent);
    iter.bind = all ? iter.lo : span[k].min;
    if (preserve_unit_loops || !ir_is_const(p, extent, 1)) {
      ir_var v = sch_ax_var(p, out->nloops, extent);
      out->var[out->nloops] = v;
      out->extent[out->nloops++] = extent;
      iter.bind = ir_add(p, iter.bind, ir_ref(p, v));
    }
    if (!all) {
      ir_expr end = ir_add(p, iter.lo, iter.extent);
      sch_nest_guard(s, out, ir_binary(p, IR_LE, iter.lo, iter.bind));
      sch_nest_guard(s, out, ir_binary(p, IR_LT, iter.bind, end));
    }
    out->iter[k] = iter;
  }
}

void sch_remove_leaf(ir_program *p, ir_stmt block) {
  ir_stmt at = ir_st(p, block)->parent;
  ir_detach(p, block);
  while (ir_is_loop(p, at) && !ir_st(p, at)->body) {
    ir_stmt empty = at;
    at = ir_st(p, at)->parent;
    ir_kill(p, empty);
  }
}

void sch_trim_predicate(sch_state *s, ir_stmt block) {
  ir_program *p = s->p;
  ir_expr pred = ir_blk(p, block)->pred;
  if (!pred) return;
  ir_expr given = ir_domains_around(p, block);
  if (!given || ir_is_const(p, given, 1)) return;
  pred = ir_needed_condition(p, s->scratch, pred, given);
  ir_blk(p, block)->pred = pred;
}

void sch_nest_hang(sch_state *s, ir_stmt block, const sch_nest *nest,
                   ir_stmt above, ir_stmt before) {
  ir_program *p = s->p;
  ir_block_set_iters(p, block, nest->niters, nest->iter);
  ir_blk(p, block)->pred = nest->pred;
  ir_stmt top = block;
  for (uint32_t i = nest->nloops; i-- > 0;) {
    ir_stmt l = ir_loop_new(p, nest->var[i], ir_index(p, 0), nest->extent[i],
                            IR_SERIAL);
    ir_append(p, l, top);
    top = l;
  }
  if (before)
    ir_insert_before(p, before, top);
  else
    ir_append(p, above, top);
  sch_trim_predicate(s, block);
}

void sch_nest_place(sch_state *s, ir_stmt block, const sch_nest *nest,
                    ir_stmt loop, uint32_t position) {
  ir_program *p = s->p;
  ir_stmt before = ir_st(p, loop)->body;
  for (uint32_t i = 0; i < position; i++) before = ir_st(p, before)->next;
  sch_remove_leaf(p, block);
  sch_nest_hang(s, block, nest, loop, before);
}

void sch_shrink_domains(sch_state *s, ir_stmt block, const sch_span *to) {
  ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  ir_iter *iter = arena_array(s->scratch, ir_iter, it.n);
  ir_subst sub;
  bool any = false;
  ir_subst_init(&sub, p, s->scratch);
  for (uint32_t k = 0; k < it.n; k++) {
    iter[k] = p->iter.v[it.at + k];
    int64_t lo, extent, from, end;
    if (to[k].extent <= 0 || !ir_const_int(p, iter[k].lo, &lo) ||
        !ir_const_int(p, iter[k].extent, &extent) ||
        !ir_const_int(p, to[k].min, &from))
      continue;
    end = from + to[k].extent;
    if (from < lo) from = lo;
    if (end > lo + extent) end = lo + extent;
    if ((from == lo && end == lo + extent) || from >= end) continue;
    const ir_var_rec old = p->var.v[iter[k].var];
    ir_var v = ir_var_new(p, IR_VAR_ITER, old.name, old.dtype, from, end - 1);
    ir_subst_var(&sub, iter[k].var, ir_ref(p, v));
    iter[k].var = v;
    iter[k].lo = ir_index(p, from);
    iter[k].extent = ir_index(p, end - from);
    any = true;
  }
  if (!any) return;
  ir_block_set_iters(p, block, it.n, iter);
  ir_subst_stmt(&sub, block);
}

/* The bounds that `cond` sets to iter v alone, in v's domain. */
static void place_narrow(const ir_program *p, ir_expr cond, ir_expr v,
                         int64_t *lo, int64_t *end) {
  const ir_node n = *ir_at(p, cond);
  int64_t c;
  if (n.op == IR_AND) {
    place_narrow(p, n.a, v, lo, end);
    place_narrow(p, n.b, v, lo, end);
  } else if (n.op == IR_LT && n.a == v && ir_const_int(p, n.b, &c)) {
    *end = c < *end ? c : *end;
  } else if (n.op == IR_LE && n.b == v && ir_const_int(p, n.a, &c)) {
    *lo = c > *lo ? c : *lo;
  }
}

void sch_shrink_by(sch_state *s, ir_stmt block, ir_expr cond) {
  ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  sch_span *to = arena_array(s->scratch, sch_span, it.n);
  for (uint32_t k = 0; k < it.n; k++) {
    const ir_iter iter = p->iter.v[it.at + k];
    int64_t from, end;
    to[k].extent = SCH_SPAN_WHOLE;
    if (!ir_const_int(p, iter.lo, &from) || !ir_const_int(p, iter.extent, &end))
      continue;
    end += from;
    place_narrow(p, cond, ir_ref(p, iter.var), &from, &end);
    to[k] = (sch_span){ir_index(p, from), end - from};
  }
  sch_shrink_domains(s, block, to);
}

void sch_tighten_domains(sch_state *s, ir_stmt block) {
  ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  sch_span *to = arena_array(s->scratch, sch_span, it.n);
  ir_view v;
  if (!ir_view_block(p, s->scratch, ir_scope_of(p, block), block, &v)) return;
  for (uint32_t k = 0; k < it.n; k++) {
    ir_expr bind = ir_view_expr(&v, p->iter.v[it.at + k].bind), lo, last;
    int64_t a, b;
    to[k].extent = SCH_SPAN_WHOLE;
    if (arith_relax(p, s->scratch, bind, v.l.n, v.l.var, v.l.lo, v.l.extent,
                    &lo, &last, NULL) &&
        ir_const_int(p, lo, &a) && ir_const_int(p, last, &b))
      to[k] = (sch_span){lo, b - a + 1};
  }
  sch_shrink_domains(s, block, to);
}
