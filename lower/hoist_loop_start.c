/* SPDX-License-Identifier: Apache-2.0
 * Hoists the lower bound of a loop into a `let` where the body may clobber
 * what it loads: later passes substitute it for the loop variable.
 *
 *     for j in [E[0], ..): E[j] = j
 * becomes
 *     let j_start = E[0]:  for j in [j_start, ..): E[j] = j */
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/pass.h"

ir_expr lower_keep(ir_program *p, ir_stmt loop, ir_expr e, const char *what) {
  const ir_node n = *ir_at(p, e);
  ir_str name = ir_name_cat(p, p->var.v[ir_st(p, loop)->var].name, what);
  ir_var v = ir_var_new(p, IR_VAR_LET, name, n.dtype, n.lo, n.hi);
  ir_wrap(p, loop, ir_let_new(p, v, e));
  return ir_ref(p, v);
}

LOWER_PASS(hoist_loop_start) {
  (void)scratch, (void)o, (void)e;
  LOWER_EACH(p, s)
  if (ir_is_loop(p, s) && ir_st(p, s)->loop_kind != IR_THREAD &&
      ir_may_clobber(p, s, ir_st(p, s)->lo)) {
    ir_expr lo = lower_keep(p, s, ir_st(p, s)->lo, "_start");
    ir_st(p, s)->lo = lo;
  }
  return TESS_OK;
}
