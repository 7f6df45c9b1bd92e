/* SPDX-License-Identifier: Apache-2.0
 * Casts with the semantics of ir/scalar.h: to integers they saturate and
 * not-a-number becomes 0, to floats they round once, to bool they compare with
 * 0. */
#include "backends/opencl/emit.h"
#include "ir/scalar.h"

static bool is_narrow_float(tess_dtype t) {
  return ir_is_float(t) && t.bits == 16;
}

static tess_dtype with_code(uint8_t code, uint8_t bits, tess_dtype like) {
  return (tess_dtype){code, bits, like.lanes};
}

static ocl_text in_each(ocl *m, tess_dtype to, const char *f, ocl_text v,
                        tess_dtype from) {
  return ocl_per_lane(m, to, f, 1, &v, &from);
}

/* A conversion that OpenCL's rounds correctly, or that is exact. */
static ocl_text convert(ocl *m, tess_dtype to, ocl_text v) {
  const char *type = ocl_type(m, to);
  if (ocl_is_wide(m, to))
    return ocl_text_of(m, OCL_PRIMARY, "convert_%s(%s)", type, v.s);
  return ocl_text_of(m, OCL_UNARY, "(%s)%s", type, ocl_in(m, v, OCL_UNARY));
}

/* ---- to integers ---------------------------------------------------- */

/* Does every value of the expression fit the type? */
static bool cannot_saturate(const ocl *m, tess_dtype to, ir_expr from) {
  const ir_node *n = ir_at(m->p, from);
  tess_dtype t = n->dtype;
  bool u64 = t.code == TESS_DTYPE_UINT && t.bits == 64;
  bool to_u64 = to.code == TESS_DTYPE_UINT && to.bits == 64;
  int64_t lo = n->lo > ir_int_min(t) ? n->lo : ir_int_min(t);
  int64_t hi = n->hi < ir_int_max(t) ? n->hi : ir_int_max(t);
  if (u64 && hi == INT64_MAX) return to_u64;
  return lo >= ir_int_min(to) && (to_u64 || hi <= ir_int_max(to));
}

static ocl_text to_int(ocl *m, tess_dtype to, ir_expr from, ocl_text v) {
  tess_dtype t = ir_at(m->p, from)->dtype;
  if (ir_is_int(t) && cannot_saturate(m, to, from)) return convert(m, to, v);
  if (ir_is_int(t) && ocl_is_wide(m, t))
    return ocl_text_of(m, OCL_PRIMARY, "convert_%s_sat(%s)", ocl_type(m, to),
                       v.s);
  if (is_narrow_float(t)) {
    tess_dtype f32 = with_code(TESS_DTYPE_FLOAT, 32, t);
    v = in_each(m, f32, ocl_helper_half(m, t, true), v, t);
    t = f32;
  }
  return in_each(m, to, ocl_helper_saturate(m, to, t), v, t);
}

/* ---- to floats ------------------------------------------------------ */

/* As float32: exact, or such that it rounds to the same 16-bit float. */
static ocl_text to_float32(ocl *m, ir_expr from, tess_dtype t, ocl_text v) {
  tess_dtype f32 = with_code(TESS_DTYPE_FLOAT, 32, t);
  const int64_t exact = 1 << 24;
  const ir_node *n = ir_at(m->p, from);
  if (is_narrow_float(t))
    return in_each(m, f32, ocl_helper_half(m, t, true), v, t);
  if (ir_is_float(t) && t.bits == 32) return v;
  bool small =
      ir_is_int(t) && (t.bits <= 16 || (n->lo >= -exact && n->hi <= exact));
  if (small) return convert(m, f32, v);
  tess_dtype wide =
      ir_is_float(t) ? t : with_code(t.code, 64, t); /* long or ulong */
  return in_each(m, f32, ocl_helper_odd(m, wide), v, t);
}

static ocl_text to_real(ocl *m, tess_dtype to, ir_expr from, tess_dtype t,
                        ocl_text v) {
  tess_dtype f32 = with_code(TESS_DTYPE_FLOAT, 32, t);
  if (is_narrow_float(to))
    return in_each(m, to, ocl_helper_half(m, to, false),
                   to_float32(m, from, t, v), f32);
  if (is_narrow_float(t)) {
    v = in_each(m, f32, ocl_helper_half(m, t, true), v, t);
    t = f32;
  }
  return t.code == to.code && t.bits == to.bits ? v : convert(m, to, v);
}

/* ---- bool ----------------------------------------------------------- */

static ocl_text to_bool(ocl *m, tess_dtype t, ocl_text v) {
  if (is_narrow_float(t)) {
    t = with_code(TESS_DTYPE_UINT, 16, t);
    v = ocl_infix(m, v, "&", ocl_int(m, t, 0x7fff), OCL_AND);
  }
  ocl_text zero = ir_is_float(t) ? ocl_real(m, t, 0) : ocl_int(m, t, 0);
  ocl_text r = ocl_infix(m, v, "!=", zero, OCL_EQ);
  if (!ocl_is_wide(m, t) || t.bits == 8) return r;
  return ocl_text_of(m, OCL_PRIMARY, "convert_char%u(%s)", m->width, r.s);
}

/* A bool as 0 or 1. */
static ocl_text from_bool(ocl *m, tess_dtype *t, ocl_text v) {
  if (ocl_is_wide(m, *t))
    v = ocl_text_of(m, OCL_AND, "%s & (char%u)(1)", ocl_in(m, v, OCL_ADD),
                    m->width);
  *t = with_code(TESS_DTYPE_INT, 8, *t);
  return v;
}

ocl_text ocl_cast(ocl *m, tess_dtype to, ir_expr from, ocl_text v) {
  tess_dtype t = ir_at(m->p, from)->dtype;
  uint16_t depth = v.depth;
  if (t.bits == 64 && ir_is_float(t)) m->has_double = true;
  if (to.bits == 64 && ir_is_float(to)) m->has_double = true;
  if (to.code == TESS_DTYPE_BOOL)
    return t.code == TESS_DTYPE_BOOL ? v : to_bool(m, t, v);
  if (t.code == TESS_DTYPE_BOOL) {
    v = from_bool(m, &t, v);
    if (ir_is_int(to)) return convert(m, to, v);
  }
  v = ir_is_float(to) ? to_real(m, to, from, t, v) : to_int(m, to, from, v);
  v.depth = (uint16_t)(depth + 1);
  return v;
}
