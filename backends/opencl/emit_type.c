/* SPDX-License-Identifier: Apache-2.0
 * Types and constants of OpenCL C. */
#include "backends/opencl/emit.h"
#include "ir/scalar.h"
#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

static const char *int_type(tess_dtype t) {
  static const char *const names[2][4] = {{"char", "short", "int", "long"},
                                          {"uchar", "ushort", "uint", "ulong"}};
  unsigned log = t.bits == 8 ? 0 : t.bits == 16 ? 1 : t.bits == 32 ? 2 : 3;
  return names[t.code != TESS_DTYPE_INT][log];
}

const char *ocl_memory_type(tess_dtype t) {
  if (!ir_is_float(t)) return int_type(t); /* bool: uchar */
  return t.bits == 16 ? "ushort" : t.bits == 32 ? "float" : "double";
}

const char *ocl_value_type(tess_dtype t) {
  return t.code == TESS_DTYPE_BOOL ? "bool" : ocl_memory_type(t);
}

const char *ocl_wide_type(ocl *m, const char *element, uint32_t width) {
  return width == 1 ? element
                    : arena_printf(m->scratch, "%s%u", element, width);
}

const char *ocl_type(ocl *m, tess_dtype t) {
  if (!ocl_is_wide(m, t)) return ocl_value_type(t);
  return ocl_wide_type(
      m, t.code == TESS_DTYPE_BOOL ? "char" : ocl_memory_type(t), m->width);
}

const char *ocl_mask_type(tess_dtype t) {
  return int_type((tess_dtype){TESS_DTYPE_INT, t.bits, 1});
}

ocl_text ocl_splat(ocl *m, tess_dtype t, ocl_text scalar) {
  if (!ocl_is_wide(m, t)) return scalar;
  if (t.code == TESS_DTYPE_BOOL)
    return ocl_text_of(m, OCL_UNARY, "(%s)(%s ? -1 : 0)", ocl_type(m, t),
                       ocl_in(m, scalar, OCL_EQ));
  return ocl_text_of(m, OCL_UNARY, "(%s)(%s)", ocl_type(m, t), scalar.s);
}

static ocl_text int_literal(ocl *m, tess_dtype t, int64_t v) {
  if (t.code == TESS_DTYPE_BOOL)
    return ocl_text_of(m, OCL_PRIMARY, "%s", v ? "true" : "false");
  if (t.code == TESS_DTYPE_UINT)
    return ocl_text_of(m, OCL_PRIMARY, "%llu%s", (unsigned long long)v,
                       t.bits == 64   ? "ul"
                       : t.bits == 32 ? "u"
                                      : "");
  if (v == INT64_MIN)
    return ocl_text_of(m, OCL_ADD, "-9223372036854775807l - 1");
  bool fits = v >= -INT32_MAX && v <= INT32_MAX;
  return ocl_text_of(m, v < 0 ? OCL_UNARY : OCL_PRIMARY, "%lld%s", (long long)v,
                     fits || t.bits < 64 ? "" : "l");
}

ocl_text ocl_int(ocl *m, tess_dtype t, int64_t v) {
  ocl_text one = int_literal(m, t, v);
  if (t.code == TESS_DTYPE_INT && t.bits == 32 && v == INT32_MIN)
    one = ocl_text_of(m, OCL_ADD, "-2147483647 - 1");
  return ocl_splat(m, t, one);
}

/* With a point or an exponent, so that it is no integer. */
static ocl_text real_literal(ocl *m, tess_dtype t, double v) {
  char text[40];
  bool is_float = t.bits == 32;
  if (isnan(v) || isinf(v))
    return ocl_text_of(m, OCL_UNARY, "%s%s%s", is_float ? "" : "(double)",
                       v < 0 ? "-" : "", isnan(v) ? "NAN" : "INFINITY");
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, v);
    double back = strtod(text, NULL);
    if (is_float ? (float)back == (float)v : back == v) break;
  }
  bool plain = !strpbrk(text, ".e");
  return ocl_text_of(m, signbit(v) ? OCL_UNARY : OCL_PRIMARY, "%s%s%s", text,
                     plain ? ".0" : "", is_float ? "f" : "");
}

ocl_text ocl_real(ocl *m, tess_dtype t, double v) {
  if (t.bits != 16) return ocl_splat(m, t, real_literal(m, t, v));
  uint16_t bits;
  ir_put_real(ocl_scalar(t), v, &bits);
  return ocl_splat(m, t, ocl_text_of(m, OCL_PRIMARY, "0x%04x", bits));
}
