/* SPDX-License-Identifier: Apache-2.0
 * Binary operators with the semantics of ir/scalar.h: integers wrap, division
 * rounds down and gives 0 for a zero divisor.
 *
 * Sums and products of floats may be contracted to fused multiply-add, unless
 * the target has -fp-contract=off. */
#include "backends/llvm/emit.h"
#include "ir/edit.h"
#include "ir/query.h"

#include <math.h>

/* ---- integer division --------------------------------------------------- */

/* Scalarizes vector division, as processors do, unless the divisor is
 * constant.  LLVM 19 takes a select between constant vector divisors for
 * undefined as soon as any lane of the one not chosen is 0. */
static LLVMValueRef quotient(emit *m, LLVMOpcode op, LLVMValueRef a,
                             LLVMValueRef b) {
  LLVMTypeRef type = LLVMTypeOf(a);
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind || LLVMIsConstant(b))
    return LLVMBuildBinOp(m->b, op, a, b, "");
  LLVMValueRef q = LLVMGetPoison(type);
  for (unsigned l = 0; l < LLVMGetVectorSize(type); l++) {
    LLVMValueRef at = LLVMConstInt(m->i32, l, 0);
    LLVMValueRef x = LLVMBuildExtractElement(m->b, a, at, "");
    LLVMValueRef y = LLVMBuildExtractElement(m->b, b, at, "");
    x = LLVMBuildBinOp(m->b, op, x, y, "");
    q = LLVMBuildInsertElement(m->b, q, x, at, "");
  }
  return q;
}

static LLVMValueRef divide_unsigned(emit *m, const ir_node *n, LLVMValueRef a,
                                    LLVMValueRef b) {
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(b));
  bool never_zero = ir_at(m->p, n->b)->lo > 0;
  LLVMValueRef none = LLVMBuildICmp(m->b, LLVMIntEQ, b, zero, "");
  tess_dtype t = ir_at(m->p, n->a)->dtype;
  LLVMValueRef by =
      never_zero ? b : LLVMBuildSelect(m->b, none, emit_int(m, t, 1), b, "");
  LLVMValueRef q = quotient(m, n->op == IR_DIV ? LLVMUDiv : LLVMURem, a, by);
  return never_zero ? q : LLVMBuildSelect(m->b, none, zero, q, "");
}

/* Divides by 1 in lanes where the divisor is 0 or -1, whose results are patched
 * in afterwards: the processor would trap on some of them. */
static LLVMValueRef divide_signed(emit *m, const ir_node *n, LLVMValueRef a,
                                  LLVMValueRef b) {
  tess_dtype t = ir_at(m->p, n->a)->dtype;
  LLVMValueRef zero = emit_int(m, t, 0), one = emit_int(m, t, 1);
  LLVMValueRef is0 = LLVMBuildICmp(m->b, LLVMIntEQ, b, zero, "");
  LLVMValueRef is_1 = LLVMBuildICmp(m->b, LLVMIntEQ, b, emit_int(m, t, -1), "");
  LLVMValueRef odd = LLVMBuildOr(m->b, is0, is_1, "");
  LLVMValueRef by = LLVMBuildSelect(m->b, odd, one, b, "");
  LLVMValueRef r = quotient(m, LLVMSRem, a, by);
  LLVMValueRef mixed =
      LLVMBuildICmp(m->b, LLVMIntSLT, LLVMBuildXor(m->b, r, by, ""), zero, "");
  LLVMValueRef inexact = LLVMBuildICmp(m->b, LLVMIntNE, r, zero, "");
  LLVMValueRef down = LLVMBuildAnd(m->b, mixed, inexact, "");
  if (n->op == IR_MOD) {
    LLVMValueRef up = LLVMBuildAdd(m->b, r, by, "");
    LLVMValueRef mod = LLVMBuildSelect(m->b, down, up, r, "");
    return LLVMBuildSelect(m->b, odd, zero, mod, "");
  }
  LLVMValueRef q = quotient(m, LLVMSDiv, a, by);
  LLVMValueRef less = LLVMBuildSub(m->b, q, one, "");
  LLVMValueRef div = LLVMBuildSelect(m->b, down, less, q, "");
  LLVMValueRef minus = LLVMBuildSub(m->b, zero, a, "");
  div = LLVMBuildSelect(m->b, is_1, minus, div, "");
  return LLVMBuildSelect(m->b, is0, zero, div, "");
}

/* Are both operands known to be non-negative? */
static bool is_natural(const emit *m, const ir_node *n) {
  return ir_at(m->p, n->a)->lo >= 0 && ir_at(m->p, n->b)->lo >= 0;
}

static LLVMValueRef divide_int(emit *m, const ir_node *n, LLVMValueRef a,
                               LLVMValueRef b) {
  bool is_signed = ir_at(m->p, n->a)->dtype.code == TESS_DTYPE_INT;
  uint32_t shift;
  if (ir_is_power_of_two(m->p, n->b, &shift)) {
    tess_dtype t = ir_at(m->p, n->a)->dtype;
    if (n->op == IR_MOD)
      return LLVMBuildAnd(m->b, a, emit_int(m, t, (INT64_C(1) << shift) - 1),
                          "");
    LLVMValueRef by = emit_int(m, t, shift);
    return is_signed ? LLVMBuildAShr(m->b, a, by, "")
                     : LLVMBuildLShr(m->b, a, by, "");
  }
  return is_signed && !is_natural(m, n) ? divide_signed(m, n, a, b)
                                        : divide_unsigned(m, n, a, b);
}

/* ---- integers ----------------------------------------------------------- */

static LLVMValueRef int_extreme(emit *m, const ir_node *n, bool is_signed,
                                LLVMValueRef a, LLVMValueRef b) {
  static const char *const names[2][2] = {{"llvm.umin", "llvm.umax"},
                                          {"llvm.smin", "llvm.smax"}};
  LLVMTypeRef type = LLVMTypeOf(a);
  LLVMValueRef args[2] = {a, b};
  return emit_intrinsic(m, names[is_signed][n->op == IR_MAX], 1, &type, 2,
                        args);
}

/* Index arithmetic within bounds has no signed wrap (nsw). */
static LLVMValueRef int_arith(emit *m, const ir_node *n, LLVMValueRef a,
                              LLVMValueRef b) {
  bool index = n->is_index && n->lo != INT64_MIN && n->hi != INT64_MAX;
  switch ((ir_op)n->op) {
  case IR_ADD:
    return index ? LLVMBuildNSWAdd(m->b, a, b, "")
                 : LLVMBuildAdd(m->b, a, b, "");
  case IR_SUB:
    return index ? LLVMBuildNSWSub(m->b, a, b, "")
                 : LLVMBuildSub(m->b, a, b, "");
  default:
    return index ? LLVMBuildNSWMul(m->b, a, b, "")
                 : LLVMBuildMul(m->b, a, b, "");
  }
}

static LLVMValueRef compare_int(emit *m, ir_op op, bool is_signed,
                                LLVMValueRef a, LLVMValueRef b) {
  LLVMIntPredicate p = LLVMIntEQ;
  switch (op) {
  case IR_EQ: p = LLVMIntEQ; break;
  case IR_NE: p = LLVMIntNE; break;
  case IR_LT: p = is_signed ? LLVMIntSLT : LLVMIntULT; break;
  default: p = is_signed ? LLVMIntSLE : LLVMIntULE; break;
  }
  return LLVMBuildICmp(m->b, p, a, b, "");
}

/* On bool: is the integer result nonzero? */
static LLVMValueRef binary_bool(emit *m, ir_op op, LLVMValueRef a,
                                LLVMValueRef b) {
  switch (op) {
  case IR_ADD: return LLVMBuildOr(m->b, a, b, "");
  case IR_SUB: return LLVMBuildXor(m->b, a, b, "");
  case IR_MOD: return LLVMConstNull(LLVMTypeOf(a));
  default: return LLVMBuildAnd(m->b, a, b, "");
  }
}

static bool is_arith(ir_op op) {
  return op == IR_ADD || op == IR_SUB || op == IR_MUL || op == IR_DIV ||
         op == IR_MOD;
}

static LLVMValueRef binary_int(emit *m, const ir_node *n, tess_dtype t,
                               LLVMValueRef a, LLVMValueRef b) {
  bool is_signed = t.code == TESS_DTYPE_INT;
  if (t.code == TESS_DTYPE_BOOL && is_arith(n->op))
    return binary_bool(m, n->op, a, b);
  switch ((ir_op)n->op) {
  case IR_DIV:
  case IR_MOD: return divide_int(m, n, a, b);
  case IR_MIN:
  case IR_MAX: return int_extreme(m, n, is_signed, a, b);
  case IR_EQ:
  case IR_NE:
  case IR_LT:
  case IR_LE: return compare_int(m, n->op, is_signed, a, b);
  default: return int_arith(m, n, a, b);
  }
}

/* ---- floats ------------------------------------------------------------- */

/* Works around LLVM 19 on x86: in a program with float16 it narrows comparisons
 * of extended operands, and commutes such a masked comparison without swapping
 * the predicate.  An opaque value hides the extension. */
static LLVMValueRef hidden(emit *m, LLVMValueRef v) {
  LLVMTypeRef type = LLVMTypeOf(v);
  if (!m->has_f16 || LLVMIsConstant(v)) return v;
  return emit_intrinsic(m, "llvm.arithmetic.fence", 1, &type, 1, &v);
}

/* Is a less than b (LLVMRealOLT), or not greater (LLVMRealOLE)? */
static LLVMValueRef is_less(emit *m, LLVMRealPredicate how, LLVMValueRef a,
                            LLVMValueRef b) {
  return LLVMBuildFCmp(m->b, how, hidden(m, a), hidden(m, b), "");
}

/* The floor modulo, with the divisor's sign. */
static LLVMValueRef mod_real(emit *m, tess_dtype t, LLVMValueRef a,
                             LLVMValueRef b) {
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(a));
  LLVMValueRef r = emit_remainder(m, t, a, b);
  LLVMValueRef some = LLVMBuildFCmp(m->b, LLVMRealUNE, r, zero, "");
  LLVMValueRef r_neg = is_less(m, LLVMRealOLT, r, zero);
  LLVMValueRef b_neg = is_less(m, LLVMRealOLT, b, zero);
  LLVMValueRef mixed = LLVMBuildXor(m->b, r_neg, b_neg, "");
  LLVMValueRef other = LLVMBuildAnd(m->b, some, mixed, "");
  LLVMValueRef up = LLVMBuildFAdd(m->b, r, b, "");
  return LLVMBuildSelect(m->b, other, up, r, "");
}

static LLVMValueRef contracted(const emit *m, LLVMValueRef v) {
  bool may = strcmp(m->target->contract, "off") != 0;
  if (may && LLVMCanValueUseFastMathFlags(v))
    LLVMSetFastMathFlags(v, LLVMFastMathAllowContract);
  return v;
}

static bool is_not_nan(const emit *m, ir_expr e) {
  const ir_node *n = ir_at(m->p, e);
  if (n->op == IR_BROADCAST) n = ir_at(m->p, n->a);
  return n->op == IR_REAL && !isnan(n->f);
}

static bool is_x86_target(const emit *m) {
  const char *s = m->target->triple;
  return !m->device && (!strncmp(s, "x86_64", 6) ||
                        (s[0] == 'i' && !strncmp(s + 2, "86", 2)));
}

/* min and max: the second operand where it wins the comparison or is not a
 * number; else the first one, not-a-number included.  One instruction where the
 * second is a known number, as in ReLU.  One select by both conditions: of two
 * selects in turn LLVM 19 makes 0 where the first operand is 0 and the second
 * fabs.  On x86 the intrinsic, of which that is one of the results that it may
 * have, is maxps of the second and the first, which gives the first unless the
 * second is greater, and a select of the second where that is not a number:
 * only one comparison, on which no earlier operand waits. */
static LLVMValueRef real_extreme(emit *m, const ir_node *n, LLVMValueRef a,
                                 LLVMValueRef b) {
  bool is_min = n->op == IR_MIN, number = is_not_nan(m, n->b);
  if (!number && is_x86_target(m)) {
    LLVMTypeRef type = LLVMTypeOf(a);
    LLVMValueRef args[2] = {b, a};
    LLVMValueRef v = emit_intrinsic(m, is_min ? "llvm.minimum" : "llvm.maximum",
                                    1, &type, 2, args);
    LLVMSetFastMathFlags(v, LLVMFastMathNoSignedZeros);
    return v;
  }
  LLVMValueRef c =
      is_min ? is_less(m, LLVMRealOLT, b, a) : is_less(m, LLVMRealOLT, a, b);
  if (!number) {
    LLVMValueRef none = LLVMBuildFCmp(m->b, LLVMRealUNO, b, b, "");
    c = LLVMBuildOr(m->b, c, none, "");
  }
  return LLVMBuildSelect(m->b, c, b, a, "");
}

static LLVMValueRef binary_real(emit *m, const ir_node *n, LLVMValueRef a,
                                LLVMValueRef b) {
  switch ((ir_op)n->op) {
  case IR_ADD: return contracted(m, LLVMBuildFAdd(m->b, a, b, ""));
  case IR_SUB: return contracted(m, LLVMBuildFSub(m->b, a, b, ""));
  case IR_MUL: return contracted(m, LLVMBuildFMul(m->b, a, b, ""));
  case IR_DIV: return LLVMBuildFDiv(m->b, a, b, "");
  case IR_MOD: return mod_real(m, n->dtype, a, b);
  case IR_MIN:
  case IR_MAX: return real_extreme(m, n, a, b);
  case IR_EQ: return LLVMBuildFCmp(m->b, LLVMRealOEQ, a, b, "");
  case IR_NE: return LLVMBuildFCmp(m->b, LLVMRealUNE, a, b, "");
  case IR_LT: return is_less(m, LLVMRealOLT, a, b);
  default: return is_less(m, LLVMRealOLE, a, b);
  }
}

LLVMValueRef emit_binary(emit *m, ir_expr e, LLVMValueRef a, LLVMValueRef b) {
  const ir_node n = *ir_at(m->p, e);
  tess_dtype t = ir_at(m->p, n.a)->dtype;
  if (ir_is_int(t)) return binary_int(m, &n, t, a, b);
  if (t.code == TESS_DTYPE_FLOAT && t.bits >= 32)
    return binary_real(m, &n, a, b);
  emit_refuse(m, TESS_INTERNAL,
              "arithmetic on 16-bit floats was not lowered to float32");
  return LLVMGetPoison(emit_type(m, n.dtype));
}
