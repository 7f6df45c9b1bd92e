/* SPDX-License-Identifier: Apache-2.0
 * Legalizes float16 and bfloat16 arithmetic: promotes the operands to float32
 * and rounds after every operation.  Float32 has more than twice their digits,
 * so double rounding of sums, products, quotients and square roots is innocuous
 * (Figueroa 1995). */
#include "ir/edit.h"
#include "lower/pass.h"

static bool is_half(tess_dtype t) { return ir_is_float(t) && t.bits == 16; }

static tess_dtype float32_like(tess_dtype t) {
  return (tess_dtype){TESS_DTYPE_FLOAT, 32, t.lanes};
}

static ir_expr wide(ir_program *p, ir_expr e) {
  return ir_cast(p, float32_like(ir_at(p, e)->dtype), e);
}

static ir_expr in_float32(ir_program *p, const ir_node *n, const ir_expr *a,
                          void *ud) {
  (void)ud;
  if (n->op >= IR_ADD && n->op <= IR_LE) {
    if (!is_half(ir_at(p, a[0])->dtype)) return 0;
    ir_expr r = ir_binary(p, (ir_op)n->op, wide(p, a[0]), wide(p, a[1]));
    return is_half(n->dtype) ? ir_cast(p, n->dtype, r) : r;
  }
  if (n->op != IR_CALL || !is_half(n->dtype) || ir_fn_is_named(n->a) ||
      n->a == IR_FN_REINTERPRET || ir_fn_of_warp(n->a) || n->n > 3)
    return 0;
  ir_expr b[3];
  for (uint32_t i = 0; i < n->n; i++) b[i] = wide(p, a[i]);
  return ir_cast(p, n->dtype,
                 ir_call(p, (ir_fn)n->a, float32_like(n->dtype), n->n, b));
}

LOWER_PASS(legalize_float16) {
  (void)o, (void)e;
  lower_map(p, scratch, in_float32, NULL);
  return TESS_OK;
}
