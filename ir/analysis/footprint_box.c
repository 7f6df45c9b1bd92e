/* SPDX-License-Identifier: Apache-2.0
 * Fast must-access test for the common case: every index is an iter, or a sum,
 * that covers its range without gaps in rectangular loops. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"

enum { MOST_LOOPS = 32 };

/* The loops from one down to a block; and the stride of an index in each. */
typedef struct inner {
  uint32_t n;
  ir_var var[MOST_LOOPS];
  int64_t extent[MOST_LOOPS], step[MOST_LOOPS];
  bool used[MOST_LOOPS]; /* by an index */
} inner;

/* All must have constant extents and start at 0, and there must not be too
 * many. */
static bool find_inner(const ir_program *p, ir_stmt block, ir_stmt loop,
                       inner *in) {
  memset(in, 0, sizeof *in);
  for (ir_stmt s = block; s != loop; in->n++) {
    s = ir_st(p, s)->parent;
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind != IR_LOOP || in->n == MOST_LOOPS ||
        !ir_is_const(p, r->lo, 0) ||
        !ir_const_int(p, r->extent, &in->extent[in->n]) ||
        in->extent[in->n] < 1)
      return false;
    in->var[in->n] = r->var;
  }
  return true;
}

/* Records the stride of each loop in the sum e; each may occur once. */
static bool find_steps(const ir_program *p, inner *in, ir_expr e) {
  const ir_node n = *ir_at(p, e);
  if (n.wraps) return false;
  if (n.op == IR_ADD) return find_steps(p, in, n.a) && find_steps(p, in, n.b);
  int64_t step = 1;
  bool scaled = n.op == IR_MUL && ir_const_int(p, n.b, &step);
  const ir_node *x = scaled ? ir_at(p, n.a) : &n;
  for (uint32_t i = 0; i < in->n; i++) {
    if (x->op == IR_VAR && x->a == in->var[i]) {
      bool again = in->used[i];
      in->used[i] = true;
      in->step[i] = in->extent[i] > 1 ? step : 0;
      return !again;
    }
    if (ir_uses_var(p, e, in->var[i])) return false;
  }
  return true;
}

/* Does e take consecutive values?  Each loop's stride must continue where the
 * loops with smaller strides end. */
static bool is_gapless(const ir_program *p, inner *in, ir_expr e) {
  memset(in->step, 0, sizeof in->step);
  if (!find_steps(p, in, e)) return false;
  uint32_t left = 0;
  for (uint32_t i = 0; i < in->n; i++) left += in->step[i] != 0;
  for (int64_t reach = 1; left; left--) {
    uint32_t i = 0;
    while (i < in->n && in->step[i] != reach) i++;
    if (i == in->n) return false;
    if (__builtin_mul_overflow(reach, in->extent[i], &reach)) return false;
    in->step[i] = 0;
  }
  return true;
}

static bool uses_loop(const ir_program *p, const inner *in, ir_expr e) {
  for (uint32_t i = 0; i < in->n; i++)
    if (in->used[i] && ir_uses_var(p, e, in->var[i])) return true;
  return false;
}

/* Other iters are independent, so their domains exclude nothing. */
bool ir_must_access_box_quick(const ir_program *p, ir_stmt block, ir_stmt loop,
                              ir_region r) {
  inner in;
  ir_span iters = ir_blk(p, block)->iters;
  uint64_t seen = 0;
  if (ir_blk(p, block)->pred || !find_inner(p, block, loop, &in)) return false;
  for (uint32_t d = 0; d < ir_ndim(p, r.buf); d++) {
    const ir_node *at = ir_at(p, ir_region_min(p, r, d));
    uint32_t k = 0;
    while (k < iters.n &&
           !(at->op == IR_VAR && p->iter.v[iters.at + k].var == at->a))
      k++;
    if (k >= iters.n || k >= 64 || seen >> k & 1 ||
        !ir_is_const(p, ir_region_extent(p, r, d), 1) ||
        !is_gapless(p, &in, p->iter.v[iters.at + k].bind))
      return false;
    seen |= (uint64_t)1 << k;
  }
  for (uint32_t k = 0; k < iters.n; k++)
    if ((k >= 64 || !(seen >> k & 1)) &&
        uses_loop(p, &in, p->iter.v[iters.at + k].bind))
      return false;
  return true;
}
