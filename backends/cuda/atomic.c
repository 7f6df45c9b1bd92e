/* SPDX-License-Identifier: Apache-2.0
 * Atomic updates of elements of global memory, by reductions over the grid. */
#include "backends/cuda/kernel.h"
#include "ir/scalar.h"

/* What the operation with any x gives x. */
static LLVMValueRef identity_of(emit *m, ir_op op, tess_dtype t) {
  LLVMTypeRef type = emit_memory_type(m, t);
  if (ir_is_float(t)) return LLVMConstReal(type, -0.0);
  int64_t v = op == IR_ADD ? 0 : op == IR_MIN ? ir_int_max(t) : ir_int_min(t);
  return LLVMConstInt(type, (uint64_t)v, false);
}

static LLVMAtomicRMWBinOp operation_of(ir_op op, tess_dtype t) {
  bool is_signed = t.code == TESS_DTYPE_INT;
  if (op == IR_ADD)
    return ir_is_float(t) ? LLVMAtomicRMWBinOpFAdd : LLVMAtomicRMWBinOpAdd;
  if (op == IR_MIN)
    return is_signed ? LLVMAtomicRMWBinOpMin : LLVMAtomicRMWBinOpUMin;
  return is_signed ? LLVMAtomicRMWBinOpMax : LLVMAtomicRMWBinOpUMax;
}

bool cuda_atomic(emit *m, const ir_stmt_rec *s) {
  if (!s->loop_kind) return false;
  ir_op op = (ir_op)s->loop_kind;
  tess_dtype t = m->p->buf.v[s->buf].dtype;
  uint32_t lanes = 0;
  LLVMValueRef at =
      s->idx.n == 1 && !s->mask && !m->mask
          ? emit_row_address(m, s->buf, m->p->arg.v[s->idx.at], &lanes)
          : NULL;
  if (!at || lanes != 1) {
    emit_refuse(m, TESS_UNSUPPORTED,
                "the atomic update of %s is of several elements",
                ir_text(m->p, m->p->buf.v[s->buf].name));
    return true;
  }
  /* What is combined with the element is what the update makes of the
   * identity. */
  m->given_buf = s->buf;
  m->given = identity_of(m, op, t);
  LLVMValueRef v = emit_expr(m, s->value);
  m->given_buf = 0;
  m->given = NULL;
  LLVMBuildAtomicRMW(m->b, operation_of(op, t), at, v,
                     LLVMAtomicOrderingMonotonic, false);
  return true;
}
