/* SPDX-License-Identifier: Apache-2.0
 * Native arithmetic of the interpreter, every operator on every type, against
 * C's own: __int128 for integers, float and double for floats, and for the
 * 16-bit floats the nearest of all their values. */
#include "base/rng.h"
#include "ir/edit.h"
#include "support/nest.h"

#include <math.h>
#include <stdlib.h>

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

enum { N = 400 };

typedef struct type {
  const char *name;
  tess_dtype t;
  wide lo, hi; /* integers */
} type;

static const type ints[] = {
    {"int8", {TESS_DTYPE_INT, 8, 1}, INT8_MIN, INT8_MAX},
    {"int16", {TESS_DTYPE_INT, 16, 1}, INT16_MIN, INT16_MAX},
    {"int32", {TESS_DTYPE_INT, 32, 1}, INT32_MIN, INT32_MAX},
    {"int64", {TESS_DTYPE_INT, 64, 1}, INT64_MIN, INT64_MAX},
    {"uint8", {TESS_DTYPE_UINT, 8, 1}, 0, UINT8_MAX},
    {"uint16", {TESS_DTYPE_UINT, 16, 1}, 0, UINT16_MAX},
    {"uint32", {TESS_DTYPE_UINT, 32, 1}, 0, UINT32_MAX},
    {"uint64", {TESS_DTYPE_UINT, 64, 1}, 0, UINT64_MAX},
};
static const type floats[] = {
    {"float16", {TESS_DTYPE_FLOAT, 16, 1}, 0, 0},
    {"bfloat16", {TESS_DTYPE_BFLOAT, 16, 1}, 0, 0},
    {"float32", {TESS_DTYPE_FLOAT, 32, 1}, 0, 0},
    {"float64", {TESS_DTYPE_FLOAT, 64, 1}, 0, 0},
};
enum { NINT = 8, NFLOAT = 4 };

/* ---- 16-bit floats by search -------------------------------------------- */

/* The value of bits h of a format with e exponent and m mantissa bits. */
static double decode(unsigned h, int e, int m) {
  int exp = (int)(h >> m) & ((1 << e) - 1), bias = (1 << (e - 1)) - 1;
  double frac = (double)(h & ((1u << m) - 1));
  if (exp == (1 << e) - 1) return frac > 0 ? NAN : INFINITY;
  if (exp == 0) return ldexp(frac, 1 - bias - m);
  return ldexp(frac + ldexp(1, m), exp - bias - m);
}

/* The nearest of all positive values, ties to the even pattern; what lies
 * half a step above the greatest is infinite. */
static unsigned encode(double v, int e, int m) {
  unsigned sign = signbit(v) ? 0x8000 : 0, lo = 0;
  unsigned inf = ((1u << e) - 1) << m;
  double a = fabs(v);
  if (isnan(v)) return inf | 1u << (m - 1);
  for (unsigned step = 1u << 14; step; step >>= 1)
    if (lo + step < inf && decode(lo + step, e, m) <= a) lo += step;
  double low = decode(lo, e, m);
  double high =
      lo + 1 == inf ? 2 * low - decode(lo - 1, e, m) : decode(lo + 1, e, m);
  unsigned up = a - low > high - a || (a - low == high - a && lo & 1);
  return sign | (isinf(a) ? inf : lo + up);
}

static double round_as(tess_dtype t, double v) {
  if (t.bits == 64) return v;
  if (t.bits == 32) return (double)(float)v;
  int e = t.code == TESS_DTYPE_BFLOAT ? 8 : 5, m = 15 - e;
  unsigned h = encode(v, e, m);
  double r = decode(h & 0x7fff, e, m);
  return h & 0x8000 ? -r : r;
}

/* ---- elements in memory ------------------------------------------------- */

static void put_int(tess_dtype t, wide v, char *at) {
  uint64_t u = (uint64_t)v;
  memcpy(at, &u, t.bits / 8u);
}

static wide get_int(const type *t, const char *at) {
  uint64_t u = 0;
  memcpy(&u, at, t->t.bits / 8u);
  wide v = u, span = (wide)1 << t->t.bits;
  return v > t->hi ? v - span : v;
}

static void put_real(tess_dtype t, double v, char *at) {
  float f = (float)v;
  uint16_t h = (uint16_t)(t.code == TESS_DTYPE_BFLOAT ? encode(v, 8, 7)
                                                      : encode(v, 5, 10));
  if (t.bits == 64)
    memcpy(at, &v, 8);
  else if (t.bits == 32)
    memcpy(at, &f, 4);
  else
    memcpy(at, &h, 2);
}

static double get_real(tess_dtype t, const char *at) {
  float f;
  double d;
  uint16_t h;
  if (t.bits == 64) return memcpy(&d, at, 8), d;
  if (t.bits == 32) return memcpy(&f, at, 4), (double)f;
  memcpy(&h, at, 2);
  int e = t.code == TESS_DTYPE_BFLOAT ? 8 : 5;
  d = decode(h & 0x7fffu, e, 15 - e);
  return h & 0x8000 ? -d : d;
}

/* ---- one operation on N pairs ------------------------------------------- */

static char x[8 * N], y[8 * N], z[8 * N], out[8 * N];

/* Builds the operation under test from its operands. */
typedef struct oper {
  ir_op op;
  ir_fn fn;
  tess_dtype to; /* IR_CAST */
} oper;

static ir_expr interp_native_build(nest *n, const oper *o, tess_dtype t,
                                   ir_expr a, ir_expr b, ir_expr c) {
  ir_expr arg[3] = {a, b, c};
  if (o->op == IR_CAST) return ir_cast(&n->p, o->to, a);
  if (o->op != IR_CALL) return ir_binary(&n->p, o->op, a, b);
  uint32_t k = o->fn == IR_FN_FMA ? 3
               : o->fn == IR_FN_POW ||
                       (o->fn >= IR_FN_SHL && o->fn <= IR_FN_BITOR) ||
                       o->fn == IR_FN_BITXOR
                   ? 2
                   : 1;
  return ir_call(&n->p, o->fn, t, k, arg);
}

/* out[i] = x[i] op y[i] (and z[i]). */
static void interp_native_run(const oper *o, tess_dtype t, tess_dtype r) {
  nest n;
  nest_start(&n);
  ir_buf p[4];
  const char *names[4] = {"X", "Y", "Z", "R"};
  for (int i = 0; i < 4; i++)
    p[i] = nest_param(&n, names[i], i < 3 ? t : r,
                      i < 3 ? IR_ROLE_INPUT : IR_ROLE_OUTPUT, N, 0, 0);
  ir_expr i = nest_loop(&n, N, IR_SERIAL);
  ir_expr v =
      interp_native_build(&n, o, t, nest_load(&n, p[0], i, 0),
                          nest_load(&n, p[1], i, 0), nest_load(&n, p[2], i, 0));
  nest_store(&n, p[3], i, 0, v);
  nest_finish(&n);
  void *args[4] = {x, y, z, out};
  assert_int_equal(nest_run(&n, args), TESS_OK);
  nest_end(&n);
}

/* Ends of the range, small numbers and any others. */
static wide some_int(rng *r, const type *t) {
  wide v;
  switch (rng_below(r, 4)) {
  case 0: return t->lo + (wide)rng_below(r, 3);
  case 1: return t->hi - (wide)rng_below(r, 3);
  case 2: v = (wide)rng_below(r, 9) - 4; break;
  default: v = (wide)rng_u64(r); break;
  }
  wide span = (wide)1 << t->t.bits;
  v = (v % span + span) % span;
  return v > t->hi ? v - span : v;
}

static double some_real(rng *r) {
  switch (rng_below(r, 8)) {
  case 0: return 0;
  case 1: return rng_below(r, 2) ? (double)INFINITY : (double)-INFINITY;
  case 2: return (double)rng_below(r, 9) - 4;
  case 3: return ldexp(rng_unit(r) - 0.5, -14);
  case 4: return ldexp(rng_unit(r) - 0.5, 17);
  case 5: return ldexp(rng_unit(r), -24);
  default: return 4 * rng_unit(r) - 2;
  }
}

/* ---- integers ----------------------------------------------------------- */

static wide floor_div(wide a, wide b) {
  if (b == 0) return 0;
  wide q = a / b;
  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

static wide expect_int(ir_op op, wide a, wide b) {
  switch (op) {
  case IR_ADD: return a + b;
  case IR_SUB: return a - b;
  case IR_MUL: return (wide)((uwide)a * (uwide)b);
  case IR_DIV: return floor_div(a, b);
  case IR_MOD: return b ? a - floor_div(a, b) * b : 0;
  case IR_MIN: return a < b ? a : b;
  case IR_MAX: return a < b ? b : a;
  case IR_EQ: return a == b;
  case IR_NE: return a != b;
  case IR_LT: return a < b;
  default: return a <= b;
  }
}

/* v modulo 2^bits, in the range of the type. */
static wide interp_native_wrap(const type *t, wide v) {
  char bytes[8];
  put_int(t->t, v, bytes);
  return get_int(t, bytes);
}

static void int_operators(void **state) {
  rng r;
  (void)state;
  rng_init(&r, 11, 0);
  for (int k = 0; k < NINT; k++)
    for (ir_op op = IR_ADD; op <= IR_LE; op++) {
      const type *t = &ints[k];
      bool compares = op >= IR_EQ;
      size_t w = t->t.bits / 8u, rw = compares ? 1 : w;
      for (size_t i = 0; i < N; i++) {
        put_int(t->t, some_int(&r, t), x + i * w);
        put_int(t->t, some_int(&r, t), y + i * w);
      }
      interp_native_run(&(oper){.op = op}, t->t, compares ? IR_BOOL : t->t);
      for (size_t i = 0; i < N; i++) {
        wide v = expect_int(op, get_int(t, x + i * w), get_int(t, y + i * w));
        wide got = compares ? (wide)out[i * rw] : get_int(t, out + i * rw);
        if (interp_native_wrap(t, v) != got && v != got)
          fail_msg("%s of %s at %zu", ir_op_text(op), t->name, i);
      }
    }
}

static void int_casts(void **state) {
  rng r;
  (void)state;
  rng_init(&r, 12, 0);
  for (int k = 0; k < NINT * NINT; k++) {
    const type *from = &ints[k / NINT], *to = &ints[k % NINT];
    size_t w = from->t.bits / 8u;
    for (size_t i = 0; i < N; i++)
      put_int(from->t, some_int(&r, from), x + i * w);
    interp_native_run(&(oper){.op = IR_CAST, .to = to->t}, from->t, to->t);
    for (size_t i = 0; i < N; i++) {
      wide v = get_int(from, x + i * w);
      v = v < to->lo ? to->lo : v > to->hi ? to->hi : v;
      if (get_int(to, out + i * to->t.bits / 8u) != v)
        fail_msg("%s to %s at %zu", from->name, to->name, i);
    }
  }
}

static void bool_casts(void **state) {
  (void)state;
  double v[4] = {0, 0.25, -3, NAN};
  for (int i = 0; i < N; i++) put_real(F32, v[i % 4], x + 4 * i);
  interp_native_run(&(oper){.op = IR_CAST, .to = IR_BOOL}, F32, IR_BOOL);
  for (int i = 0; i < N; i++) assert_int_equal(out[i], v[i % 4] != 0);
  for (int i = 0; i < N; i++) x[i] = i & 1;
  interp_native_run(&(oper){.op = IR_CAST, .to = F32}, IR_BOOL, F32);
  for (int i = 0; i < N; i++)
    assert_true(get_real(F32, out + 4 * i) == (i & 1));
}

static void int_functions(void **state) {
  static const int8_t a[] = {-128, -7, 0, 5, 127}, b[] = {1, 2, 7, 0, 3};
  (void)state;
  for (int i = 0; i < N; i++) x[i] = a[i % 5], y[i] = b[i % 5];
  interp_native_run(&(oper){.op = IR_CALL, .fn = IR_FN_ABS}, I8, I8);
  for (int i = 0; i < N; i++) assert_int_equal(out[i], (int8_t)abs(a[i % 5]));
  interp_native_run(&(oper){.op = IR_CALL, .fn = IR_FN_SHR}, I8, I8);
  for (int i = 0; i < N; i++) assert_int_equal(out[i], a[i % 5] >> b[i % 5]);
  interp_native_run(&(oper){.op = IR_CALL, .fn = IR_FN_SHR}, U8, U8);
  for (int i = 0; i < N; i++)
    assert_int_equal((uint8_t)out[i], (uint8_t)a[i % 5] >> b[i % 5]);
  interp_native_run(&(oper){.op = IR_CALL, .fn = IR_FN_SHL}, U8, U8);
  for (int i = 0; i < N; i++)
    assert_int_equal((uint8_t)out[i], (uint8_t)((uint8_t)a[i % 5] << b[i % 5]));
  interp_native_run(&(oper){.op = IR_CALL, .fn = IR_FN_BITAND}, I8, I8);
  for (int i = 0; i < N; i++) assert_int_equal(out[i], a[i % 5] & b[i % 5]);
  interp_native_run(&(oper){.op = IR_CALL, .fn = IR_FN_BITXOR}, I8, I8);
  for (int i = 0; i < N; i++) assert_int_equal(out[i], a[i % 5] ^ b[i % 5]);
}

/* ---- floats ------------------------------------------------------------- */

static double expect_real(ir_op op, tess_dtype t, double a, double b) {
  volatile float f = 0, fa = (float)a, fb = (float)b;
  switch (op) {
  case IR_ADD:
    f = fa + fb;
    a = a + b;
    break;
  case IR_SUB:
    f = fa - fb;
    a = a - b;
    break;
  case IR_MUL:
    f = fa * fb;
    a = a * b;
    break;
  case IR_DIV:
    f = fa / fb;
    a = a / b;
    break;
  case IR_MIN: return a < b ? a : b;
  case IR_MAX: return a > b ? a : b;
  case IR_EQ: return a == b;
  case IR_NE: return a != b;
  case IR_LT: return a < b;
  default: return a <= b;
  }
  return t.bits == 32 ? (double)f : round_as(t, a);
}

static bool interp_native_same(double a, double b) {
  return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static void fill_real(rng *r, tess_dtype t, char *at) {
  for (size_t i = 0; i < N; i++)
    put_real(t, some_real(r), at + i * (t.bits / 8u));
}

static void float_operators(void **state) {
  rng r;
  (void)state;
  rng_init(&r, 13, 0);
  for (int k = 0; k < NFLOAT; k++)
    for (ir_op op = IR_ADD; op <= IR_LE; op++) {
      tess_dtype t = floats[k].t;
      size_t w = t.bits / 8u;
      bool compares = op >= IR_EQ;
      if (op == IR_MOD) continue;
      fill_real(&r, t, x);
      fill_real(&r, t, y);
      interp_native_run(&(oper){.op = op}, t, compares ? IR_BOOL : t);
      for (size_t i = 0; i < N; i++) {
        double a = get_real(t, x + i * w), b = get_real(t, y + i * w);
        double got = compares ? out[i] : get_real(t, out + i * w);
        if (!interp_native_same(got, expect_real(op, t, a, b)))
          fail_msg("%s of %s: %a %a gives %a", ir_op_text(op), floats[k].name,
                   a, b, got);
      }
    }
}

static void float_casts(void **state) {
  rng r;
  (void)state;
  rng_init(&r, 14, 0);
  for (int k = 0; k < NFLOAT * NFLOAT; k++) {
    const type *from = &floats[k / NFLOAT], *to = &floats[k % NFLOAT];
    size_t w = from->t.bits / 8u;
    fill_real(&r, from->t, x);
    interp_native_run(&(oper){.op = IR_CAST, .to = to->t}, from->t, to->t);
    for (size_t i = 0; i < N; i++) {
      double v = get_real(from->t, x + i * w);
      double got = get_real(to->t, out + i * (to->t.bits / 8u));
      if (!interp_native_same(got, round_as(to->t, v)))
        fail_msg("%s to %s: %a gives %a", from->name, to->name, v, got);
    }
  }
}

static void float_to_int(void **state) {
  rng r;
  (void)state;
  rng_init(&r, 15, 0);
  for (int k = 0; k < NFLOAT * NINT; k++) {
    const type *from = &floats[k / NINT], *to = &ints[k % NINT];
    size_t w = from->t.bits / 8u;
    for (size_t i = 0; i < N; i++) {
      double v =
          rng_below(&r, 9) ? ldexp(some_real(&r), (int)rng_below(&r, 66)) : NAN;
      put_real(from->t, v, x + i * w);
    }
    interp_native_run(&(oper){.op = IR_CAST, .to = to->t}, from->t, to->t);
    for (size_t i = 0; i < N; i++) {
      double v = trunc(get_real(from->t, x + i * w));
      wide e = isnan(v)              ? 0
               : v <= (double)to->lo ? to->lo
               : v >= (double)to->hi ? to->hi
                                     : (wide)v;
      if (get_int(to, out + i * to->t.bits / 8u) != e)
        fail_msg("%s to %s: %a", from->name, to->name, v);
    }
  }
}

static void int_to_float(void **state) {
  rng r;
  (void)state;
  rng_init(&r, 16, 0);
  for (int k = 0; k < NFLOAT * NINT; k++) {
    const type *from = &ints[k / NFLOAT], *to = &floats[k % NFLOAT];
    size_t w = from->t.bits / 8u;
    for (size_t i = 0; i < N; i++)
      put_int(from->t, some_int(&r, from), x + i * w);
    interp_native_run(&(oper){.op = IR_CAST, .to = to->t}, from->t, to->t);
    for (size_t i = 0; i < N; i++) {
      wide v = get_int(from, x + i * w);
      double e = to->t.bits == 64   ? (double)v
                 : to->t.bits == 32 ? (double)(float)v
                                    : round_as(to->t, (double)(float)v);
      double got = get_real(to->t, out + i * (to->t.bits / 8u));
      /* Through float, a 16-bit float may be rounded twice: one step. */
      if (to->t.bits > 16 ? got != e : fabs(got - e) > fabs(e) / 127)
        fail_msg("%s to %s: gives %a, not %a", from->name, to->name, got, e);
    }
  }
}

static double libm(ir_fn fn, double v, double w) {
  switch (fn) {
  case IR_FN_EXP: return exp(v);
  case IR_FN_LOG: return log(v);
  case IR_FN_SQRT: return sqrt(v);
  case IR_FN_RSQRT: return 1 / sqrt(v);
  case IR_FN_SIN: return sin(v);
  case IR_FN_COS: return cos(v);
  case IR_FN_TANH: return tanh(v);
  case IR_FN_EXPM1: return expm1(v);
  case IR_FN_LOG1P: return log1p(v);
  case IR_FN_ERFC: return erfc(v);
  case IR_FN_TAN: return tan(v);
  case IR_FN_ASIN: return asin(v);
  case IR_FN_ACOS: return acos(v);
  case IR_FN_ATAN: return atan(v);
  case IR_FN_SINH: return sinh(v);
  case IR_FN_COSH: return cosh(v);
  case IR_FN_ASINH: return asinh(v);
  case IR_FN_ACOSH: return acosh(v);
  case IR_FN_ATANH: return atanh(v);
  case IR_FN_SIGMOID: return 1 / (1 + exp(-v));
  case IR_FN_ERF: return erf(v);
  case IR_FN_POW: return pow(v, w);
  case IR_FN_ABS: return fabs(v);
  case IR_FN_FLOOR: return floor(v);
  case IR_FN_CEIL: return ceil(v);
  default: return rint(v);
  }
}

static void float_functions(void **state) {
  rng r;
  (void)state;
  rng_init(&r, 17, 0);
  for (int k = 0; k < NFLOAT; k++)
    for (ir_fn fn = IR_FN_EXP; fn < IR_FN_COUNT; fn++) {
      ir_fn_kind kind = ir_fn_kind_of(fn);
      if (kind != IR_FN_COSTLY && kind != IR_FN_CHEAP) continue;
      tess_dtype t = floats[k].t;
      size_t w = t.bits / 8u;
      fill_real(&r, t, x);
      fill_real(&r, t, y);
      interp_native_run(&(oper){.op = IR_CALL, .fn = fn}, t, t);
      for (size_t i = 0; i < N; i++) {
        double a = get_real(t, x + i * w), b = get_real(t, y + i * w);
        double got = get_real(t, out + i * w);
        if (!interp_native_same(got, round_as(t, libm(fn, a, b))))
          fail_msg("%s of %s: %a %a gives %a", ir_fn_text(fn), floats[k].name,
                   a, b, got);
      }
    }
}

/* One rounding: against long double, where the exact result needs no more
 * than its 64 bits, which these magnitudes see to. */
static void fma_rounds_once(void **state) {
  rng r;
  (void)state;
  rng_init(&r, 18, 0);
  for (int k = 0; k < 3; k++) {
    tess_dtype t = floats[k].t;
    size_t w = t.bits / 8u;
    for (size_t i = 0; i < N; i++) {
      put_real(t, 1 + rng_unit(&r), x + i * w);
      put_real(t, 1 + rng_unit(&r), y + i * w);
      put_real(t, ldexp(rng_unit(&r), 12), z + i * w);
    }
    interp_native_run(&(oper){.op = IR_CALL, .fn = IR_FN_FMA}, t, t);
    for (size_t i = 0; i < N; i++) {
      double a = get_real(t, x + i * w), b = get_real(t, y + i * w);
      double c = get_real(t, z + i * w), got = get_real(t, out + i * w);
      long double exact = (long double)a * b + c;
      double e =
          t.bits == 32 ? (double)(float)exact : round_as(t, (double)exact);
      if (got != e)
        fail_msg("%s: %a * %a + %a gives %a, not %a", floats[k].name, a, b, c,
                 got, e);
    }
  }
}

/* Multi-step results round at each step. */
static void sums_round_every_time(void **state) {
  (void)state;
  nest n;
  nest_start(&n);
  ir_buf a = nest_param(&n, "A", F16, IR_ROLE_INPUT, 3, 0, 0);
  ir_buf b = nest_param(&n, "B", F16, IR_ROLE_OUTPUT, 1, 0, 0);
  ir_expr sum = nest_load(&n, a, nest_num(&n, 0), 0);
  for (int i = 1; i < 3; i++)
    sum = ir_add(&n.p, sum, nest_load(&n, a, nest_num(&n, i), 0));
  nest_store(&n, b, nest_num(&n, 0), 0, sum);
  nest_finish(&n);
  uint16_t in[3] = {0x6800, 0x3c00, 0x3c00}, res = 0; /* 2048 + 1 + 1 */
  void *args[2] = {in, &res};
  assert_int_equal(nest_run(&n, args), TESS_OK);
  assert_int_equal(res, 0x6800);
  nest_end(&n);
}

static bool host(void *ud, const char *name, tess_dtype t, uint32_t k,
                 const interp_word *args, interp_word *result) {
  (void)t;
  *(int *)ud += (int)k;
  result->f = args[0].f * 3;
  return !strcmp(name, "triple");
}

static void host_functions(void **state) {
  (void)state;
  int calls = 0;
  for (int known = 0; known < 2; known++) {
    nest n;
    nest_start(&n);
    ir_buf a = nest_param(&n, "A", F32, IR_ROLE_INPUT, 4, 0, 0);
    ir_buf b = nest_param(&n, "B", F32, IR_ROLE_OUTPUT, 4, 0, 0);
    ir_expr i = nest_loop(&n, 4, IR_SERIAL), v = nest_load(&n, a, i, 0);
    const char *name = known ? "triple" : "quadruple";
    nest_store(&n, b, i, 0, ir_call_extern(&n.p, name, F32, 1, &v));
    nest_finish(&n);
    n.o.call = host;
    n.o.ud = &calls;
    float in[4] = {1, 2, 3, 4}, res[4];
    void *args[2] = {in, res};
    assert_int_equal(nest_run(&n, args), known ? TESS_OK : TESS_UNSUPPORTED);
    if (known) assert_true(res[3] == 12);
    nest_end(&n);
  }
  assert_int_equal(calls, 5);
}

/* Symbolic extents. */
static void symbolic_extents(void **state) {
  (void)state;
  nest n;
  nest_start(&n);
  ir_program *p = &n.p;
  ir_var v = ir_var_new(p, IR_VAR_SIZE, ir_name(p, "n"), IR_INDEX, 1, 1000);
  ir_expr size = ir_ref(p, v), twice = ir_mul(p, size, nest_num(&n, 2));
  ir_buf a = ir_buf_new(p, ir_name(p, "A"), F32, 1, &size, IR_SCOPE_GLOBAL,
                        IR_ROLE_INPUT);
  ir_buf b = ir_buf_new(p, ir_name(p, "B"), F32, 1, &twice, IR_SCOPE_GLOBAL,
                        IR_ROLE_OUTPUT);
  n.param[n.nparams++] = a, n.param[n.nparams++] = b;
  ir_expr i = nest_loop(&n, 2000, IR_SERIAL);
  ir_st(p, n.at)->extent = twice;
  ir_expr half = ir_binary(p, IR_DIV, i, nest_num(&n, 2));
  nest_store(&n, b, i, 0, nest_load(&n, a, half, 0));
  nest_finish(&n);
  int64_t sizes[1] = {5};
  float in[5] = {0, 1, 2, 3, 4}, res[10];
  interp_arg args[2] = {{in, sizeof in}, {res, sizeof res}};
  n.o = (interp_options){.nsizes = 1, .sizes = sizes};
  assert_int_equal(interp_run(&n.in, p, 2, args, &n.o, &n.e), TESS_OK);
  for (int k = 0; k < 10; k++) assert_true(res[k] == (float)(k / 2));
  n.o.nsizes = 0;
  assert_int_equal(interp_run(&n.in, p, 2, args, &n.o, &n.e), TESS_INVALID);
  nest_end(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(int_operators),
      cmocka_unit_test(int_casts),
      cmocka_unit_test(bool_casts),
      cmocka_unit_test(int_functions),
      cmocka_unit_test(float_operators),
      cmocka_unit_test(float_casts),
      cmocka_unit_test(float_to_int),
      cmocka_unit_test(int_to_float),
      cmocka_unit_test(float_functions),
      cmocka_unit_test(fma_rounds_once),
      cmocka_unit_test(sums_round_every_time),
      cmocka_unit_test(host_functions),
      cmocka_unit_test(symbolic_extents),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
