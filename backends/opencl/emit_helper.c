/* SPDX-License-Identifier: Apache-2.0
 * Functions that kernels call for what OpenCL C defines otherwise than
 * ir/scalar.h: division, minima with not-a-number, shifts by large amounts,
 * saturation, 16-bit floats.  Each is printed once, where it is needed. */
#include "backends/opencl/emit.h"
#include "base/hash.h"
#include <string.h>

/* The first request of a name; the function's text then follows. */
static bool is_new_helper(ocl *m, const char *name) {
  uint64_t key = hash_bytes(name, strlen(name));
  bool is_new = map_get(&m->has_helper, key) == MAP_NONE;
  if (is_new) map_put(&m->has_helper, key, 1);
  return is_new;
}

static void note_double(ocl *m, tess_dtype t) {
  if (ir_is_float(t) && t.bits == 64) m->has_double = true;
}

/* The second operand where it wins or is not a number, else the first. */
const char *ocl_helper_extreme(ocl *m, tess_dtype t, bool is_max) {
  const char *type = ocl_type(m, t);
  const char *name =
      arena_printf(m->scratch, "ts_%s_%s", is_max ? "max" : "min", type);
  note_double(m, t);
  if (!is_new_helper(m, name)) return name;
  const char *wins = is_max ? "a < b" : "b < a";
  if (!ir_is_float(t))
    str_printf(&m->helpers,
               "static inline %s %s(%s a, %s b) { return %s ? b : a; }\n", type,
               name, type, type, wins);
  else if (ocl_is_wide(m, t))
    str_printf(&m->helpers,
               "static inline %s %s(%s a, %s b) {\n"
               "  return select(a, b, (%s) | (b != b));\n}\n",
               type, name, type, type, wins);
  else
    str_printf(&m->helpers,
               "static inline %s %s(%s a, %s b) {\n"
               "  return %s || b != b ? b : a;\n}\n",
               type, name, type, type, wins);
  return name;
}

static const char *divide_float(ocl *m, const char *name, const char *type) {
  str_printf(&m->helpers,
             "static inline %s %s(%s a, %s b) {\n"
             "  %s r = fmod(a, b);\n"
             "  return r != 0 && (r < 0) != (b < 0) ? r + b : r;\n}\n",
             type, name, type, type, type);
  return name;
}

/* Division that rounds down and gives 0 for a zero divisor; -a for -1, since
 * that overflows. */
const char *ocl_helper_divide(ocl *m, tess_dtype t, bool is_mod) {
  const char *type = ocl_value_type(t);
  const char *name =
      arena_printf(m->scratch, "ts_%s_%s", is_mod ? "mod" : "div", type);
  note_double(m, t);
  if (!is_new_helper(m, name)) return name;
  if (ir_is_float(t)) return divide_float(m, name, type);
  if (t.code != TESS_DTYPE_INT)
    str_printf(&m->helpers,
               "static inline %s %s(%s a, %s b) { return b ? a %c b : 0; }\n",
               type, name, type, type, is_mod ? '%' : '/');
  else if (is_mod)
    str_printf(&m->helpers,
               "static inline %s %s(%s a, %s b) {\n"
               "  if (b == 0 || b == -1) return 0;\n"
               "  %s r = a %% b;\n"
               "  return r != 0 && (r < 0) != (b < 0) ? r + b : r;\n}\n",
               type, name, type, type, type);
  else
    str_printf(&m->helpers,
               "static inline %s %s(%s a, %s b) {\n"
               "  if (b == 0) return 0;\n"
               "  if (b == -1) return (%s)(0 - (u%s)a);\n"
               "  %s r = a %% b;\n"
               "  return a / b - (r != 0 && (r < 0) != (b < 0));\n}\n",
               type, name, type, type, type, type, type);
  return name;
}

/* Shifts by an amount outside of the width give 0, or the sign. */
const char *ocl_helper_shift(ocl *m, tess_dtype t, bool left) {
  const char *type = ocl_value_type(t);
  const char *name =
      arena_printf(m->scratch, "ts_%s_%s", left ? "shl" : "shr", type);
  bool is_signed = t.code == TESS_DTYPE_INT;
  const char *u = is_signed ? "u" : "";
  if (!is_new_helper(m, name)) return name;
  if (left)
    str_printf(&m->helpers,
               "static inline %s %s(%s a, %s n) {\n"
               "  return (%s%s)n < %u ? (%s)((%s%s)a << n) : 0;\n}\n",
               type, name, type, type, u, type, t.bits, type, u, type);
  else
    str_printf(&m->helpers,
               "static inline %s %s(%s a, %s n) {\n"
               "  return (%s%s)n < %u ? a >> n : %s;\n}\n",
               type, name, type, type, u, type, t.bits,
               is_signed ? "a < 0 ? -1 : 0" : "0");
  return name;
}

/* Conversions to integers that saturate; not-a-number becomes 0. */
const char *ocl_helper_saturate(ocl *m, tess_dtype to, tess_dtype from) {
  const char *a = ocl_value_type(to), *b = ocl_value_type(from);
  const char *name = arena_printf(m->scratch, "ts_%s_of_%s", a, b);
  note_double(m, from);
  if (!is_new_helper(m, name)) return name;
  str_printf(&m->helpers,
             "static inline %s %s(%s x) { return %sconvert_%s_sat(x); }\n", a,
             name, b, ir_is_float(from) ? "x != x ? 0 : " : "", a);
  return name;
}

/* Of floats by comparing and exchanging bits, until no other work-item came in
 * between. */
const char *ocl_helper_atomic(ocl *m, tess_dtype t, ir_op op) {
  if (!ir_is_float(t))
    return op == IR_ADD   ? "atomic_add"
           : op == IR_MIN ? "atomic_min"
                          : "atomic_max";
  const char *name = "ts_atomic_add";
  if (!is_new_helper(m, name)) return name;
  str_puts(&m->helpers,
           "static inline void ts_atomic_add(__global float *at, float x) {\n"
           "  volatile __global uint *bits = (volatile __global uint *)at;\n"
           "  for (uint was = *bits, seen;; was = seen) {\n"
           "    seen = atomic_cmpxchg(bits, was,\n"
           "                          as_uint(as_float(was) + x));\n"
           "    if (seen == was) return;\n"
           "  }\n}\n");
  return name;
}

static const char *bfloat_helper(ocl *m, bool to_float) {
  const char *name = to_float ? "ts_float_of_bfloat" : "ts_bfloat_of_float";
  if (!is_new_helper(m, name)) return name;
  str_puts(&m->helpers,
           to_float ? "static inline float ts_float_of_bfloat(ushort x) {\n"
                      "  return as_float((uint)x << 16);\n}\n"
                    : "static inline ushort ts_bfloat_of_float(float x) {\n"
                      "  uint b = as_uint(x);\n"
                      "  if (x != x) return (b | 0x400000u) >> 16;\n"
                      "  return (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;\n}\n");
  return name;
}

const char *ocl_helper_half(ocl *m, tess_dtype t, bool to_float) {
  if (t.code == TESS_DTYPE_BFLOAT) return bfloat_helper(m, to_float);
  const char *name = to_float ? "ts_float_of_half" : "ts_half_of_float";
  if (!is_new_helper(m, name)) return name;
  str_puts(&m->helpers,
           to_float ? "static inline float ts_float_of_half(ushort x) {\n"
                      "  return vload_half(0, (const __private half *)&x);\n}\n"
                    : "static inline ushort ts_half_of_float(float x) {\n"
                      "  ushort r;\n"
                      "  vstore_half_rte(x, 0, (__private half *)&r);\n"
                      "  return r;\n}\n");
  return name;
}

/* Of a 64-bit integer: its leading 24 bits, the last of them set where bits
 * that were set are dropped. */
const char *ocl_helper_odd(ocl *m, tess_dtype from) {
  bool is_double = ir_is_float(from);
  bool is_signed = from.code == TESS_DTYPE_INT;
  const char *name = is_double   ? "ts_odd_of_double"
                     : is_signed ? "ts_odd_of_long"
                                 : "ts_odd_of_ulong";
  note_double(m, from);
  if (!is_new_helper(m, name)) return name;
  if (is_double) {
    str_puts(&m->helpers, "static inline float ts_odd_of_double(double x) {\n"
                          "  float f = convert_float_rtz(x);\n"
                          "  return as_float(as_uint(f) | (uint)(f != x));\n"
                          "}\n");
    return name;
  }
  str_printf(&m->helpers,
             "static inline float %s(%s x) {\n"
             "  ulong a = %s;\n"
             "  int n = 40 - (int)clz(a);\n"
             "  if (n <= 0) return (float)x;\n"
             "  uint top = (uint)(a >> n) | (uint)((a << (64 - n)) != 0);\n"
             "  return %sldexp((float)top, n);\n}\n",
             name, is_signed ? "long" : "ulong",
             is_signed ? "x < 0 ? 0 - (ulong)x : (ulong)x" : "x",
             is_signed ? "(x < 0 ? -1.0f : 1.0f) * " : "");
  return name;
}

/* ---- lanes ---------------------------------------------------------- */

ocl_text ocl_per_lane(ocl *m, tess_dtype t, const char *f, uint32_t n,
                      const ocl_text *operand, const tess_dtype *type) {
  enum { MOST = 3 };
  ocl_text v[MOST];
  for (uint32_t i = 0; i < n && i < MOST; i++)
    v[i] = ocl_is_wide(m, type[i])
               ? ocl_bind(m, ocl_type(m, type[i]), operand[i])
               : operand[i];
  const char *lanes = "";
  uint32_t width = ocl_is_wide(m, t) ? m->width : 1;
  for (uint32_t k = 0; k < width; k++) {
    const char *list = "";
    for (uint32_t i = 0; i < n; i++)
      list =
          arena_printf(m->scratch, "%s%s%s", list, i ? ", " : "",
                       ocl_is_wide(m, type[i]) ? ocl_lane(m, v[i], k) : v[i].s);
    lanes =
        arena_printf(m->scratch, "%s%s%s(%s)", lanes, k ? ", " : "", f, list);
  }
  if (width == 1) return ocl_text_of(m, OCL_PRIMARY, "%s", lanes);
  return ocl_text_of(m, OCL_UNARY, "(%s)(%s)", ocl_type(m, t), lanes);
}
