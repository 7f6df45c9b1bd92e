/* SPDX-License-Identifier: Apache-2.0
 * Casts with the semantics of ir/scalar.h: to integers they saturate and
 * not-a-number becomes 0, to floats they round once, to bool they compare with
 * 0.
 *
 * To round once to a 16-bit float, the value is first rounded to odd as a
 * float32: truncated, with the lowest bit set when inexact.  The surplus bits
 * suffice for the second rounding to give the correctly rounded result. */
#include "backends/llvm/emit.h"
#include "ir/edit.h"
#include "ir/scalar.h"
#include <math.h>

static tess_dtype with_lanes(uint8_t code, uint8_t bits, uint16_t lanes) {
  return (tess_dtype){code, bits, lanes};
}

static tess_dtype float32_like(tess_dtype t) {
  return with_lanes(TESS_DTYPE_FLOAT, 32, t.lanes);
}

static tess_dtype float64_like(tess_dtype t) {
  return with_lanes(TESS_DTYPE_FLOAT, 64, t.lanes);
}

static tess_dtype int32_like(tess_dtype t) {
  return with_lanes(TESS_DTYPE_INT, 32, t.lanes);
}

/* ---- integers to integers ----------------------------------------------- */

static LLVMValueRef clamp(emit *m, const char *name, tess_dtype t,
                          LLVMValueRef v, int64_t limit) {
  LLVMTypeRef type = LLVMTypeOf(v);
  LLVMValueRef args[2] = {v, emit_int(m, t, limit)};
  return emit_intrinsic(m, name, 1, &type, 2, args);
}

/* Bounds in `from` are those of its type or of the value's known range. */
static LLVMValueRef int_to_int(emit *m, tess_dtype to, tess_dtype t, int64_t lo,
                               int64_t hi, LLVMValueRef v) {
  bool is_signed = t.code == TESS_DTYPE_INT;
  bool to_u64 = to.code == TESS_DTYPE_UINT && to.bits == 64;
  if (is_signed && lo < ir_int_min(to))
    v = clamp(m, "llvm.smax", t, v, ir_int_min(to));
  if (hi > ir_int_max(to) && !to_u64)
    v = clamp(m, is_signed ? "llvm.smin" : "llvm.umin", t, v, ir_int_max(to));
  LLVMTypeRef type = emit_type(m, to);
  if (to.bits == t.bits) return v;
  if (to.bits < t.bits) return LLVMBuildTrunc(m->b, v, type, "");
  return is_signed ? LLVMBuildSExt(m->b, v, type, "")
                   : LLVMBuildZExt(m->b, v, type, "");
}

/* The value range of an integer expression: a uint64 above INT64_MAX exceeds
 * every other type, so its greatest value counts as more than that. */
static LLVMValueRef from_int_to_int(emit *m, tess_dtype to, ir_expr from,
                                    LLVMValueRef v) {
  const ir_node *n = ir_at(m->p, from);
  tess_dtype t = n->dtype;
  bool u64 = t.code == TESS_DTYPE_UINT && t.bits == 64;
  int64_t lo = n->lo > ir_int_min(t) ? n->lo : ir_int_min(t);
  int64_t hi = n->hi < ir_int_max(t) ? n->hi : ir_int_max(t);
  if (u64 && hi == INT64_MAX && to.code == TESS_DTYPE_INT && to.bits == 64)
    return clamp(m, "llvm.umin", t, v, INT64_MAX);
  return int_to_int(m, to, t, lo, hi, v);
}

/* ---- between floats ----------------------------------------------------- */

static LLVMValueRef float_bits(emit *m, tess_dtype t, LLVMValueRef v) {
  return LLVMBuildBitCast(m->b, v, emit_type(m, int32_like(t)), "");
}

static LLVMValueRef float_of(emit *m, tess_dtype t, LLVMValueRef bits) {
  return LLVMBuildBitCast(m->b, bits, emit_type(m, float32_like(t)), "");
}

/* A float64 as float32, rounded to odd. */
static LLVMValueRef to_odd(emit *m, tess_dtype t, LLVMValueRef d) {
  LLVMTypeRef type64 = emit_type(m, float64_like(t));
  LLVMTypeRef type32 = emit_type(m, float32_like(t));
  LLVMTypeRef int32 = emit_type(m, int32_like(t));
  LLVMValueRef f = LLVMBuildFPTrunc(m->b, d, type32, "");
  LLVMValueRef back = LLVMBuildFPExt(m->b, f, type64, "");
  LLVMValueRef size = emit_intrinsic(m, "llvm.fabs", 1, &type64, 1, &d);
  LLVMValueRef got = emit_intrinsic(m, "llvm.fabs", 1, &type64, 1, &back);
  LLVMValueRef over = LLVMBuildFCmp(m->b, LLVMRealOGT, got, size, "");
  LLVMValueRef cut = LLVMBuildFCmp(m->b, LLVMRealONE, back, d, "");
  LLVMValueRef bits = float_bits(m, t, f);
  bits = LLVMBuildSub(m->b, bits, LLVMBuildZExt(m->b, over, int32, ""), "");
  bits = LLVMBuildOr(m->b, bits, LLVMBuildZExt(m->b, cut, int32, ""), "");
  return float_of(m, t, bits);
}

static LLVMValueRef bfloat_to_float(emit *m, tess_dtype t, LLVMValueRef v) {
  LLVMValueRef wide = LLVMBuildZExt(m->b, v, emit_type(m, int32_like(t)), "");
  LLVMValueRef by = emit_int(m, int32_like(t), 16);
  return float_of(m, t, LLVMBuildShl(m->b, wide, by, ""));
}

/* Round to nearest, ties to even, by carrying into the upper half; a
 * not-a-number keeps one bit of its fraction, so that it stays one. */
static LLVMValueRef float_to_bfloat(emit *m, tess_dtype t, LLVMValueRef f) {
  tess_dtype i = int32_like(t);
  LLVMTypeRef type16 = emit_type(m, with_lanes(TESS_DTYPE_INT, 16, t.lanes));
  LLVMValueRef bits = float_bits(m, t, f);
  LLVMValueRef last =
      LLVMBuildAnd(m->b, LLVMBuildLShr(m->b, bits, emit_int(m, i, 16), ""),
                   emit_int(m, i, 1), "");
  LLVMValueRef up = LLVMBuildAdd(m->b, last, emit_int(m, i, 0x7fff), "");
  LLVMValueRef sum = LLVMBuildAdd(m->b, bits, up, "");
  LLVMValueRef nan = LLVMBuildFCmp(m->b, LLVMRealUNO, f, f, "");
  LLVMValueRef quiet = LLVMBuildOr(m->b, bits, emit_int(m, i, 0x400000), "");
  LLVMValueRef r = LLVMBuildSelect(m->b, nan, quiet, sum, "");
  r = LLVMBuildLShr(m->b, r, emit_int(m, i, 16), "");
  return LLVMBuildTrunc(m->b, r, type16, "");
}

/* Any float as the float32 that holds it, or, for a float64, one that rounds to
 * the same 16-bit value. */
static LLVMValueRef to_float32(emit *m, tess_dtype t, LLVMValueRef v) {
  if (t.code == TESS_DTYPE_BFLOAT) return bfloat_to_float(m, t, v);
  if (t.bits == 16)
    return LLVMBuildFPExt(m->b, v, emit_type(m, float32_like(t)), "");
  return t.bits == 64 ? to_odd(m, t, v) : v;
}

static LLVMValueRef real_to_real(emit *m, tess_dtype to, tess_dtype t,
                                 LLVMValueRef v) {
  LLVMTypeRef type = emit_type(m, to);
  if (to.code == TESS_DTYPE_FLOAT && to.bits == 32 && t.bits == 64)
    return LLVMBuildFPTrunc(m->b, v, type, "");
  if (to.code == TESS_DTYPE_FLOAT && to.bits == 64 && t.bits == 64) return v;
  LLVMValueRef f = to_float32(m, t, v);
  if (to.code == TESS_DTYPE_BFLOAT) return float_to_bfloat(m, to, f);
  if (to.bits == 16) return LLVMBuildFPTrunc(m->b, f, type, "");
  return to.bits == 64 ? LLVMBuildFPExt(m->b, f, type, "") : f;
}

/* ---- integers to floats ------------------------------------------------- */

/* A 64-bit integer as one of at most 52 significant bits that rounds to the
 * same 16-bit value: surplus bits are or-ed into the lowest one kept
 * (sticky). */
static LLVMValueRef gather_bits(emit *m, tess_dtype t, LLVMValueRef v) {
  LLVMValueRef low = LLVMBuildAnd(m->b, v, emit_int(m, t, 0xfff), "");
  LLVMValueRef some =
      LLVMBuildICmp(m->b, LLVMIntNE, low, emit_int(m, t, 0), "");
  LLVMValueRef bit = LLVMBuildSelect(m->b, some, emit_int(m, t, 0x1000),
                                     emit_int(m, t, 0), "");
  LLVMValueRef kept = LLVMBuildAnd(m->b, v, emit_int(m, t, ~0xfff), "");
  LLVMValueRef wide = LLVMBuildOr(m->b, kept, bit, "");
  LLVMValueRef top = LLVMBuildLShr(m->b, v, emit_int(m, t, 52), "");
  if (t.code == TESS_DTYPE_INT) {
    LLVMValueRef sign = LLVMBuildAShr(m->b, v, emit_int(m, t, 63), "");
    top = LLVMBuildLShr(m->b, LLVMBuildXor(m->b, v, sign, ""),
                        emit_int(m, t, 52), "");
  }
  LLVMValueRef is_big =
      LLVMBuildICmp(m->b, LLVMIntNE, top, emit_int(m, t, 0), "");
  return LLVMBuildSelect(m->b, is_big, wide, v, "");
}

static LLVMValueRef int_to_real(emit *m, tess_dtype to, tess_dtype t,
                                LLVMValueRef v) {
  bool is_signed = t.code == TESS_DTYPE_INT;
  bool narrow = to.bits == 16;
  if (narrow && t.bits == 64) v = gather_bits(m, t, v);
  LLVMTypeRef type = emit_type(m, narrow ? float64_like(to) : to);
  LLVMValueRef f = is_signed ? LLVMBuildSIToFP(m->b, v, type, "")
                             : LLVMBuildUIToFP(m->b, v, type, "");
  return narrow ? real_to_real(m, to, float64_like(to), f) : f;
}

/* ---- floats to integers ------------------------------------------------- */

/* The greatest value of the float type that the integer type holds. */
static double greatest_below(tess_dtype to, tess_dtype t) {
  int bits = to.bits - (to.code == TESS_DTYPE_INT);
  int digits = t.bits == 64 ? 53 : 24;
  double most = ldexp(1, bits);
  return bits <= digits ? most - 1 : most - ldexp(1, bits - digits);
}

/* Vectors by comparisons: LLVM 19 takes the intrinsic of x86 to pieces. */
static LLVMValueRef vector_to_int(emit *m, tess_dtype to, tess_dtype t,
                                  LLVMValueRef v) {
  LLVMTypeRef type = emit_type(m, to);
  bool is_signed = to.code == TESS_DTYPE_INT;
  LLVMValueRef least = emit_real(m, t, is_signed ? -ldexp(1, to.bits - 1) : 0);
  LLVMValueRef most = emit_real(m, t, greatest_below(to, t));
  LLVMValueRef low = LLVMBuildFCmp(m->b, LLVMRealULT, v, least, "");
  LLVMValueRef high = LLVMBuildFCmp(m->b, LLVMRealOGT, v, most, "");
  LLVMValueRef none = LLVMBuildFCmp(m->b, LLVMRealUNO, v, v, "");
  LLVMValueRef r = is_signed ? LLVMBuildFPToSI(m->b, v, type, "")
                             : LLVMBuildFPToUI(m->b, v, type, "");
  LLVMValueRef max =
      is_signed ? emit_int(m, to, ir_int_max(to)) : LLVMConstAllOnes(type);
  r = LLVMBuildSelect(m->b, low, emit_int(m, to, ir_int_min(to)), r, "");
  r = LLVMBuildSelect(m->b, high, max, r, "");
  return LLVMBuildSelect(m->b, none, emit_int(m, to, 0), r, "");
}

static LLVMValueRef real_to_int(emit *m, tess_dtype to, tess_dtype t,
                                LLVMValueRef v) {
  if (t.bits == 16) {
    v = to_float32(m, t, v);
    t = float32_like(t);
  }
  if (t.lanes > 1 && !m->device) return vector_to_int(m, to, t, v);
  LLVMTypeRef types[2] = {emit_type(m, to), LLVMTypeOf(v)};
  const char *name =
      to.code == TESS_DTYPE_INT ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
  return emit_intrinsic(m, name, 2, types, 1, &v);
}

static LLVMValueRef to_bool(emit *m, tess_dtype t, LLVMValueRef v) {
  if (ir_is_float(t) && t.bits == 16) v = to_float32(m, t, v);
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(v));
  return ir_is_float(t) ? LLVMBuildFCmp(m->b, LLVMRealUNE, v, zero, "")
                        : LLVMBuildICmp(m->b, LLVMIntNE, v, zero, "");
}

LLVMValueRef emit_cast(emit *m, tess_dtype to, ir_expr from, LLVMValueRef v) {
  tess_dtype t = ir_at(m->p, from)->dtype;
  if (to.code == TESS_DTYPE_BOOL)
    return t.code == TESS_DTYPE_BOOL ? v : to_bool(m, t, v);
  if (t.code == TESS_DTYPE_BOOL) {
    if (ir_is_int(to)) return LLVMBuildZExt(m->b, v, emit_type(m, to), "");
    t = with_lanes(TESS_DTYPE_UINT, 32, t.lanes);
    v = LLVMBuildZExt(m->b, v, emit_type(m, t), "");
  }
  if (ir_is_float(t))
    return ir_is_float(to) ? real_to_real(m, to, t, v)
                           : real_to_int(m, to, t, v);
  return ir_is_float(to) ? int_to_real(m, to, t, v)
                         : from_int_to_int(m, to, from, v);
}
