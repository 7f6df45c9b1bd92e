/* SPDX-License-Identifier: Apache-2.0
 * Sliding windows: the part of a buffer that a block writes in one iteration
 * of a loop, and its stride from one iteration to the next. */
#include "schedule/analysis/sliding_window.h"
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/query.h"

typedef struct slider {
  sch_state *s;
  ir_stmt block;
  ir_region write;
} slider;

static bool window_uses(const slider *f, ir_expr e, ir_stmt loop) {
  return e && ir_uses_var(f->s->p, e, ir_st(f->s->p, loop)->var);
}

/* The dimension that follows the loop, as an expression over the loops, of a
 * block that writes element by element. */
static bool find_dim(slider *f, sch_slide *to) {
  sch_state *s = f->s;
  ir_program *p = s->p;
  uint32_t ndim = ir_ndim(p, f->write.buf), found = 0;
  for (uint32_t d = 0; d < ndim; d++) {
    ir_expr at = ir_region_min(p, f->write, d);
    ir_bind_iters(p, s->scratch, f->block, 1, &at);
    if (!ir_is_const(p, ir_region_extent(p, f->write, d), 1)) return false;
    if (!window_uses(f, at, to->loop)) continue;
    to->dim = d;
    to->index = at;
    found++;
  }
  return found == 1;
}

/* How much the term grows at most from one iteration of the loop to the next;
 * 0: it may fall, or that is not seen. */
static int64_t growth(const slider *f, ir_expr atom, int64_t coef,
                      ir_stmt loop) {
  const ir_program *p = f->s->p;
  ir_expr t = ir_ref(p, ir_st(p, loop)->var), part[16];
  int64_t by[16], c, d = 1, k = 0;
  const ir_node *n = ir_at(p, atom);
  int terms = 1;
  part[0] = atom, by[0] = 1;
  if (n->op == IR_DIV && ir_const_int(p, n->b, &d))
    terms = arith_terms(p, n->a, 16, part, by, &c);
  for (int i = 0; i < terms; i++)
    if (part[i] == t)
      k = by[i];
    else if (window_uses(f, part[i], loop))
      return 0;
  if (coef <= 0 || k <= 0 || d <= 0) return 0;
  k = k / d + (k % d != 0);
  return coef <= INT32_MAX && k <= INT32_MAX ? coef * k : 0;
}

/* index = s(t) + a + others, a of a loop below; others follow neither, and no
 * other loop below shows. */
static bool split_index(const slider *f, sch_slide *to) {
  const ir_program *p = f->s->p;
  ir_expr atom[16];
  int64_t coef[16], c;
  int n = arith_terms(p, to->index, 16, atom, coef, &c);
  for (int i = 0; i < n; i++) {
    if (!window_uses(f, atom[i], to->loop)) continue;
    int64_t by = growth(f, atom[i], coef[i], to->loop);
    if (!by) return false;
    to->step += by;
  }
  for (ir_stmt l = ir_st(p, f->block)->parent; l != to->loop;
       l = ir_st(p, l)->parent) {
    if (!window_uses(f, to->index, l)) continue;
    if (to->window) return false;
    to->window = l;
    for (int i = 0; i < n; i++)
      if (window_uses(f, atom[i], l) &&
          (atom[i] != ir_ref(p, ir_st(p, l)->var) || coef[i] != 1))
        return false;
  }
  return n > 0 && to->step > 0 && to->window &&
         ir_is_const(p, ir_st(p, to->window)->lo, 0) &&
         ir_const_int(p, ir_st(p, to->window)->extent, &to->size);
}

/* Is the iter bound to just that sum? */
static bool is_window_iter(const slider *f, const ir_iter *it,
                           const sch_slide *is) {
  ir_expr rest = ir_sub(f->s->p, it->bind, is->index);
  return !window_uses(f, rest, is->loop) && !window_uses(f, rest, is->window);
}

static bool uses_either(const slider *f, ir_expr e, const sch_slide *is) {
  return window_uses(f, e, is->loop) || window_uses(f, e, is->window);
}

/* The predicate, of the sum and without a, does not know t. */
static bool asks_for_sum(slider *f, const sch_slide *is) {
  sch_state *s = f->s;
  ir_program *p = s->p;
  ir_expr pred = ir_blk(p, f->block)->pred;
  if (!uses_either(f, pred, is)) return true;
  ir_var a = ir_st(p, is->window)->var;
  ir_var sum = ir_var_new(p, IR_VAR_FORMAL, 0, IR_INDEX,
                          ir_at(p, is->index)->lo, ir_at(p, is->index)->hi);
  ir_expr to = ir_sub(p, ir_ref(p, sum), ir_sub(p, is->index, ir_ref(p, a)));
  pred = sch_replace_in(s, pred, 1, &a, &to);
  return !window_uses(f, pred, is->loop);
}

/* Nothing else of the block follows t or a. */
static bool is_alone(slider *f, const sch_slide *is) {
  const ir_program *p = f->s->p;
  ir_span it = ir_blk(p, f->block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    const ir_iter iter = p->iter.v[i];
    if (uses_either(f, iter.lo, is) || uses_either(f, iter.extent, is) ||
        (uses_either(f, iter.bind, is) &&
         (iter.kind != IR_SPATIAL || !is_window_iter(f, &iter, is))))
      return false;
  }
  for (ir_stmt l = ir_st(p, f->block)->parent; l != is->loop;
       l = ir_st(p, l)->parent)
    if (uses_either(f, ir_st(p, l)->lo, is) ||
        uses_either(f, ir_st(p, l)->extent, is))
      return false;
  return asks_for_sum(f, is);
}

bool sch_find_slide(sch_state *s, ir_stmt block, ir_region write, ir_stmt loop,
                    sch_slide *out) {
  slider f = {s, block, write};
  *out = (sch_slide){.loop = loop};
  return find_dim(&f, out) && split_index(&f, out) && is_alone(&f, out);
}
