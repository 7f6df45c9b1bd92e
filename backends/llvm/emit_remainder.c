/* SPDX-License-Identifier: Apache-2.0
 * Exact floating-point remainder by long division: shift and subtract for each
 * bit of the quotient, vectorized, a few integer operations per bit.  LLVM
 * would call fmod for each lane. */
#include "backends/llvm/emit.h"

#include <math.h>

/* The operands' type as integers of equal width, and its float format: the
 * number of fraction bits below the exponent. */
typedef struct rest_of {
  emit *m;
  tess_dtype t, i;
  uint32_t fraction;
} rest_of;

static LLVMValueRef int_const(const rest_of *r, int64_t v) {
  return emit_int(r->m, r->i, v);
}

static LLVMValueRef int_op(const rest_of *r, LLVMOpcode op, LLVMValueRef a,
                           LLVMValueRef b) {
  return LLVMBuildBinOp(r->m->b, op, a, b, "");
}

static LLVMValueRef is(const rest_of *r, LLVMIntPredicate how, LLVMValueRef a,
                       LLVMValueRef b) {
  return LLVMBuildICmp(r->m->b, how, a, b, "");
}

static LLVMValueRef select_lanes(const rest_of *r, LLVMValueRef c,
                                 LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(r->m->b, c, a, b, "");
}

static LLVMValueRef least(const rest_of *r, LLVMValueRef a, LLVMValueRef b) {
  LLVMTypeRef type = LLVMTypeOf(a);
  LLVMValueRef args[2] = {a, b};
  return emit_intrinsic(r->m, "llvm.umin", 1, &type, 2, args);
}

/* A non-negative number: fraction * 2^exponent, normalized unless it is 0. */
typedef struct number {
  LLVMValueRef fraction, exponent;
} number;

/* Normalizes the fraction. */
static number normal(const rest_of *r, number x) {
  LLVMTypeRef type = LLVMTypeOf(x.fraction);
  LLVMValueRef args[2] = {x.fraction, LLVMConstInt(r->m->i1, 0, 0)};
  LLVMValueRef zeros = emit_intrinsic(r->m, "llvm.ctlz", 1, &type, 2, args);
  LLVMValueRef by =
      int_op(r, LLVMSub, zeros, int_const(r, r->t.bits - 1 - r->fraction));
  /* Of 0 any exponent will do; the shift amount must stay in range. */
  by = least(r, by, int_const(r, r->fraction));
  return (number){int_op(r, LLVMShl, x.fraction, by),
                  int_op(r, LLVMSub, x.exponent, by)};
}

static number take_apart(const rest_of *r, LLVMValueRef bits) {
  LLVMValueRef one = int_const(r, 1),
               top = int_const(r, INT64_C(1) << r->fraction);
  LLVMValueRef e = int_op(r, LLVMLShr, bits, int_const(r, r->fraction));
  LLVMValueRef f = int_op(r, LLVMAnd, bits, int_op(r, LLVMSub, top, one));
  LLVMValueRef small = is(r, LLVMIntEQ, e, int_const(r, 0));
  number x = {select_lanes(r, small, f, int_op(r, LLVMOr, f, top)),
              select_lanes(r, small, one, e)};
  return normal(r, x);
}

/* The bits of a number at most the greatest; shifting right loses none, since a
 * remainder is a multiple of the least one. */
static LLVMValueRef put_together(const rest_of *r, number x) {
  LLVMValueRef zero = int_const(r, 0), one = int_const(r, 1);
  x = normal(r, x);
  LLVMValueRef is_small = is(r, LLVMIntSLT, x.exponent, one);
  LLVMValueRef down = int_op(r, LLVMSub, one, x.exponent);
  down = least(r, select_lanes(r, is_small, down, zero),
               int_const(r, r->fraction));
  LLVMValueRef e = int_op(r, LLVMSub, x.exponent, one);
  e = int_op(r, LLVMShl, e, int_const(r, r->fraction));
  LLVMValueRef large = int_op(r, LLVMAdd, x.fraction, e);
  LLVMValueRef bits =
      select_lanes(r, is_small, int_op(r, LLVMLShr, x.fraction, down), large);
  return select_lanes(r, is(r, LLVMIntEQ, x.fraction, zero), zero, bits);
}

static LLVMValueRef any(const rest_of *r, LLVMValueRef c) {
  LLVMTypeRef type = LLVMTypeOf(c);
  return r->t.lanes == 1
             ? c
             : emit_intrinsic(r->m, "llvm.vector.reduce.or", 1, &type, 1, &c);
}

/* x modulo y: while x has the higher exponent, conditionally subtract y (a
 * negative difference is a large unsigned number) and double x in its place. */
static number reduce_modulo(const rest_of *r, number x, number y) {
  emit *m = r->m;
  LLVMTypeRef type = LLVMTypeOf(x.fraction);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(m->b),
                    test = emit_new_block(m, "remainder"),
                    body = emit_new_block(m, "remainder.bit"),
                    done = emit_new_block(m, "remainder.done");
  LLVMBuildBr(m->b, test);
  LLVMPositionBuilderAtEnd(m->b, test);
  LLVMValueRef f = LLVMBuildPhi(m->b, type, ""),
               e = LLVMBuildPhi(m->b, type, "");
  LLVMValueRef more = is(r, LLVMIntSGT, e, y.exponent);
  LLVMValueRef less = least(r, f, int_op(r, LLVMSub, f, y.fraction));
  LLVMBuildCondBr(m->b, any(r, more), body, done);
  LLVMPositionBuilderAtEnd(m->b, body);
  LLVMValueRef up = int_op(r, LLVMShl, less, int_const(r, 1));
  LLVMValueRef f_next = select_lanes(r, more, up, f);
  LLVMValueRef e_next =
      select_lanes(r, more, int_op(r, LLVMSub, e, int_const(r, 1)), e);
  LLVMBuildBr(m->b, test);
  LLVMAddIncoming(f, &x.fraction, &before, 1);
  LLVMAddIncoming(e, &x.exponent, &before, 1);
  LLVMAddIncoming(f, &f_next, &body, 1);
  LLVMAddIncoming(e, &e_next, &body, 1);
  LLVMPositionBuilderAtEnd(m->b, done);
  LLVMValueRef lower = is(r, LLVMIntSLT, e, y.exponent);
  return (number){select_lanes(r, lower, f, less), e};
}

LLVMValueRef emit_remainder(emit *m, tess_dtype t, LLVMValueRef a,
                            LLVMValueRef b) {
  rest_of r = {.m = m,
               .t = t,
               .i = {TESS_DTYPE_INT, t.bits, t.lanes},
               .fraction = t.bits == 32 ? 23 : 52};
  LLVMTypeRef ints = emit_type(m, r.i), floats = LLVMTypeOf(a);
  LLVMValueRef minus = int_const(&r, INT64_MIN >> (64 - t.bits));
  LLVMValueRef abits = LLVMBuildBitCast(m->b, a, ints, "");
  LLVMValueRef bbits = LLVMBuildBitCast(m->b, b, ints, "");
  LLVMValueRef sign = int_op(&r, LLVMAnd, abits, minus);
  LLVMValueRef plus = LLVMBuildNot(m->b, minus, "");
  LLVMValueRef x = int_op(&r, LLVMAnd, abits, plus);
  LLVMValueRef y = int_op(&r, LLVMAnd, bbits, plus);
  LLVMValueRef inf =
      int_const(&r, t.bits == 32 ? INT64_C(0x7f800000) : INT64_C(0x7ff0) << 48);
  LLVMValueRef defined = int_op(&r, LLVMAnd, is(&r, LLVMIntULT, x, inf),
                                is(&r, LLVMIntULE, y, inf));
  defined =
      int_op(&r, LLVMAnd, defined, is(&r, LLVMIntNE, y, int_const(&r, 0)));
  number rest = reduce_modulo(&r, take_apart(&r, x), take_apart(&r, y));
  LLVMValueRef bits = int_op(&r, LLVMOr, put_together(&r, rest), sign);
  LLVMValueRef v = LLVMBuildBitCast(m->b, bits, floats, "");
  return select_lanes(&r, defined, v, emit_real(m, t, NAN));
}
