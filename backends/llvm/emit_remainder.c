/* SPDX-License-Identifier: Apache-2.0
 * The remainder of floats, exact: the divisor is taken away from the dividend
 * bit by bit of their quotient, all lanes at once, which is a few integer
 * operations a bit.  LLVM would call fmod, by name and for each lane. */
#include "backends/llvm/emit.h"

#include <math.h>

/* The type of the operands, as integers of as many bits, and how a float of
 * it lies in them: so many bits of fraction below the exponent. */
typedef struct rest_of {
  emit *m;
  tess_dtype t, i;
  uint32_t fraction;
} rest_of;

static LLVMValueRef whole(const rest_of *r, int64_t v) {
  return emit_int(r->m, r->i, v);
}

static LLVMValueRef bin(const rest_of *r, LLVMOpcode op, LLVMValueRef a,
                        LLVMValueRef b) {
  return LLVMBuildBinOp(r->m->b, op, a, b, "");
}

static LLVMValueRef is(const rest_of *r, LLVMIntPredicate how, LLVMValueRef a,
                       LLVMValueRef b) {
  return LLVMBuildICmp(r->m->b, how, a, b, "");
}

static LLVMValueRef pick(const rest_of *r, LLVMValueRef c, LLVMValueRef a,
                         LLVMValueRef b) {
  return LLVMBuildSelect(r->m->b, c, a, b, "");
}

static LLVMValueRef least(const rest_of *r, LLVMValueRef a, LLVMValueRef b) {
  LLVMTypeRef type = LLVMTypeOf(a);
  LLVMValueRef args[2] = {a, b};
  return emit_intrinsic(r->m, "llvm.umin", 1, &type, 2, args);
}

/* A number that is not negative: fraction * 2^exponent, the highest bit of
 * the fraction set unless it is 0. */
typedef struct number {
  LLVMValueRef fraction, exponent;
} number;

/* Shifts the fraction up to where its highest bit belongs. */
static number normal(const rest_of *r, number x) {
  LLVMTypeRef type = LLVMTypeOf(x.fraction);
  LLVMValueRef args[2] = {x.fraction, LLVMConstInt(r->m->i1, 0, 0)};
  LLVMValueRef zeros = emit_intrinsic(r->m, "llvm.ctlz", 1, &type, 2, args);
  LLVMValueRef by =
      bin(r, LLVMSub, zeros, whole(r, r->t.bits - 1 - r->fraction));
  /* Of 0 any exponent will do; it must not be shifted by too much. */
  by = least(r, by, whole(r, r->fraction));
  return (number){bin(r, LLVMShl, x.fraction, by),
                  bin(r, LLVMSub, x.exponent, by)};
}

static number take_apart(const rest_of *r, LLVMValueRef bits) {
  LLVMValueRef one = whole(r, 1), top = whole(r, INT64_C(1) << r->fraction);
  LLVMValueRef e = bin(r, LLVMLShr, bits, whole(r, r->fraction));
  LLVMValueRef f = bin(r, LLVMAnd, bits, bin(r, LLVMSub, top, one));
  LLVMValueRef small = is(r, LLVMIntEQ, e, whole(r, 0));
  number x = {pick(r, small, f, bin(r, LLVMOr, f, top)),
              pick(r, small, one, e)};
  return normal(r, x);
}

/* The bits of what is at most the greatest number; shifting right loses none,
 * since a remainder is a multiple of the least one. */
static LLVMValueRef put_together(const rest_of *r, number x) {
  LLVMValueRef zero = whole(r, 0), one = whole(r, 1);
  x = normal(r, x);
  LLVMValueRef is_small = is(r, LLVMIntSLT, x.exponent, one);
  LLVMValueRef down = bin(r, LLVMSub, one, x.exponent);
  down = least(r, pick(r, is_small, down, zero), whole(r, r->fraction));
  LLVMValueRef e = bin(r, LLVMSub, x.exponent, one);
  e = bin(r, LLVMShl, e, whole(r, r->fraction));
  LLVMValueRef large = bin(r, LLVMAdd, x.fraction, e);
  LLVMValueRef bits =
      pick(r, is_small, bin(r, LLVMLShr, x.fraction, down), large);
  return pick(r, is(r, LLVMIntEQ, x.fraction, zero), zero, bits);
}

static LLVMValueRef any(const rest_of *r, LLVMValueRef c) {
  LLVMTypeRef type = LLVMTypeOf(c);
  return r->t.lanes == 1
             ? c
             : emit_intrinsic(r->m, "llvm.vector.reduce.or", 1, &type, 1, &c);
}

/* x modulo y: while x has the higher exponent y, shifted up as far, is taken
 * away where it goes (a difference below 0 is a large number), and x doubled
 * in its place. */
static number reduce(const rest_of *r, number x, number y) {
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
  LLVMValueRef less = least(r, f, bin(r, LLVMSub, f, y.fraction));
  LLVMBuildCondBr(m->b, any(r, more), body, done);
  LLVMPositionBuilderAtEnd(m->b, body);
  LLVMValueRef up = bin(r, LLVMShl, less, whole(r, 1));
  LLVMValueRef f_next = pick(r, more, up, f);
  LLVMValueRef e_next = pick(r, more, bin(r, LLVMSub, e, whole(r, 1)), e);
  LLVMBuildBr(m->b, test);
  LLVMAddIncoming(f, &x.fraction, &before, 1);
  LLVMAddIncoming(e, &x.exponent, &before, 1);
  LLVMAddIncoming(f, &f_next, &body, 1);
  LLVMAddIncoming(e, &e_next, &body, 1);
  LLVMPositionBuilderAtEnd(m->b, done);
  LLVMValueRef lower = is(r, LLVMIntSLT, e, y.exponent);
  return (number){pick(r, lower, f, less), e};
}

LLVMValueRef emit_remainder(emit *m, tess_dtype t, LLVMValueRef a,
                            LLVMValueRef b) {
  rest_of r = {.m = m,
               .t = t,
               .i = {TESS_DTYPE_INT, t.bits, t.lanes},
               .fraction = t.bits == 32 ? 23 : 52};
  LLVMTypeRef ints = emit_type(m, r.i), floats = LLVMTypeOf(a);
  LLVMValueRef minus = whole(&r, INT64_MIN >> (64 - t.bits));
  LLVMValueRef abits = LLVMBuildBitCast(m->b, a, ints, "");
  LLVMValueRef bbits = LLVMBuildBitCast(m->b, b, ints, "");
  LLVMValueRef sign = bin(&r, LLVMAnd, abits, minus);
  LLVMValueRef plus = LLVMBuildNot(m->b, minus, "");
  LLVMValueRef x = bin(&r, LLVMAnd, abits, plus);
  LLVMValueRef y = bin(&r, LLVMAnd, bbits, plus);
  LLVMValueRef inf =
      whole(&r, t.bits == 32 ? INT64_C(0x7f800000) : INT64_C(0x7ff0) << 48);
  LLVMValueRef defined =
      bin(&r, LLVMAnd, is(&r, LLVMIntULT, x, inf), is(&r, LLVMIntULE, y, inf));
  defined = bin(&r, LLVMAnd, defined, is(&r, LLVMIntNE, y, whole(&r, 0)));
  number rest = reduce(&r, take_apart(&r, x), take_apart(&r, y));
  LLVMValueRef bits = bin(&r, LLVMOr, put_together(&r, rest), sign);
  LLVMValueRef v = LLVMBuildBitCast(m->b, bits, floats, "");
  return pick(&r, defined, v, emit_real(m, t, NAN));
}
