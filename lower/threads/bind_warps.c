/* SPDX-License-Identifier: Apache-2.0
 * Binds blocks annotated warp_execution to warps: wraps each that is nested in
 * thread loops in a loop over the axis `warp`, since its lanes execute the
 * block collectively, once.  The lanes are the iterations of threadIdx.x, so
 * no enclosing loop may be bound to that axis; form_kernels makes its extent
 * IR_WARP_LANES. */
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/pass.h"

static bool is_bound(const ir_program *p, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(p, s);
  return ir_is_thread_loop(r) &&
         (r->thread <= IR_THREADIDX_Z || r->thread == IR_WARP);
}

bool lower_in_kernel(const ir_program *p, ir_stmt s) {
  while ((s = ir_st(p, s)->parent))
    if (is_bound(p, s)) return true;
  return false;
}

bool lower_is_of_warp(const ir_program *p, ir_stmt block) {
  const ir_anno *a = ir_anno_get(p, block, LOWER_WARP_KEY);
  const ir_value *v = a ? &p->value.v[a->val] : NULL;
  return v && (v->tag == IR_VAL_INT || v->tag == IR_VAL_BOOL) && v->i &&
         lower_in_kernel(p, block);
}

/* Inside of what a warp does together already. */
static bool is_together(const ir_program *p, ir_stmt s) {
  while ((s = ir_st(p, s)->parent))
    if (is_bound(p, s) && ir_st(p, s)->thread == IR_WARP) return true;
  return false;
}

static bool refuse(const ir_program *p, ir_stmt block, const char *how,
                   ir_stmt loop, err_state *e) {
  err_set(e, TESS_UNSUPPORTED,
          "block %s, which all lanes of a warp run together, %s a loop bound "
          "to %s",
          ir_text(p, ir_blk(p, block)->name), how,
          ir_thread_text((ir_thread)ir_st(p, loop)->thread));
  return false;
}

/* No enclosing loop is bound to lanes, and no nested one to threads. */
static bool check_lanes(const ir_program *p, ir_stmt block, err_state *e) {
  for (ir_stmt s = block; (s = ir_st(p, s)->parent);)
    if (is_bound(p, s) && ir_st(p, s)->thread == IR_THREADIDX_X)
      return refuse(p, block, "is nested in", s, e);
  for (ir_stmt s = block; (s = ir_next(p, s, block));)
    if (is_bound(p, s)) return refuse(p, block, "contains", s, e);
  return true;
}

LOWER_PASS(bind_warps) {
  (void)scratch;
  if (o->no_threads) return TESS_OK;
  LOWER_EACH(p, s) {
    if (!ir_is_block(p, s) || !lower_is_of_warp(p, s) || is_together(p, s))
      continue;
    if (!check_lanes(p, s, e)) return e->code;
    ir_var v = ir_var_new(p, IR_VAR_LOOP, ir_name(p, "warp"), IR_INDEX, 0, 0);
    ir_stmt loop = ir_loop_new(p, v, ir_index(p, 0), ir_index(p, 1), IR_THREAD);
    ir_st(p, loop)->thread = IR_WARP;
    ir_wrap(p, s, loop);
  }
  return TESS_OK;
}
