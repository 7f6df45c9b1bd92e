/* SPDX-License-Identifier: Apache-2.0
 * Compiled arithmetic equals ir/scalar.h: every operator and cast on every
 * type, scalar and vectorized. */
#include "base/rng.h"
#include "ir/edit.h"
#include "ir/scalar.h"
#include "support/compiled.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const tess_dtype types[] = {
    {TESS_DTYPE_INT, 8, 1},     {TESS_DTYPE_INT, 16, 1},
    {TESS_DTYPE_INT, 32, 1},    {TESS_DTYPE_INT, 64, 1},
    {TESS_DTYPE_UINT, 8, 1},    {TESS_DTYPE_UINT, 16, 1},
    {TESS_DTYPE_UINT, 32, 1},   {TESS_DTYPE_UINT, 64, 1},
    {TESS_DTYPE_BOOL, 8, 1},    {TESS_DTYPE_FLOAT, 16, 1},
    {TESS_DTYPE_BFLOAT, 16, 1}, {TESS_DTYPE_FLOAT, 32, 1},
    {TESS_DTYPE_FLOAT, 64, 1},
};
enum { NTYPES = sizeof types / sizeof *types };

static const tess_dtype F32 = {TESS_DTYPE_FLOAT, 32, 1};

/* ---- values ------------------------------------------------------------- */

enum { M = 48, PAIRS = M * M, LANES = 8 };

static const int64_t some_ints[] = {
    0,
    1,
    -1,
    2,
    3,
    -3,
    7,
    -7,
    10,
    127,
    128,
    -128,
    -129,
    255,
    256,
    32767,
    -32768,
    65535,
    65536,
    INT32_MAX,
    INT32_MIN,
    UINT32_MAX,
    INT64_MAX,
    INT64_MIN,
    INT64_MIN + 1,
    (INT64_C(1) << 55) + (INT64_C(1) << 47) + 1,
    -(INT64_C(1) << 55) - (INT64_C(1) << 47) - 1,
    (INT64_C(1) << 53) + 1,
    (INT64_C(1) << 62) + (INT64_C(1) << 54) + (1 << 11),
    -(INT64_C(1) << 62) - (INT64_C(1) << 54) - (1 << 11),
    65519,
    65520,
    -65520};

static const double some_reals[] = {0,
                                    -0.0,
                                    1,
                                    -1,
                                    0.5,
                                    -0.5,
                                    1.5,
                                    2.5,
                                    1e-3,
                                    65504,
                                    65519.9,
                                    65520,
                                    3e38,
                                    3.5e38,
                                    -3e38,
                                    1e300,
                                    127.5,
                                    -128.5,
                                    255.5,
                                    256,
                                    0x1p31,
                                    0x1p32,
                                    0x1p63,
                                    0x1p64,
                                    -0x1p63,
                                    0x1p-14,
                                    0x1p-24,
                                    0x1p-25,
                                    0x1.8p-25,
                                    1e-40,
                                    1e-320,
                                    1 + 0x1p-11 + 0x1p-30,
                                    1 + 0x1p-8 + 0x1p-40,
                                    1 + 0x1p-24 + 0x1p-50,
                                    -1 - 0x1p-11 - 0x1p-30,
                                    3.25,
                                    -7.75};

static double real_value(int i, rng *r) {
  int n = sizeof some_reals / sizeof *some_reals;
  if (i < n) return some_reals[i];
  return i == n       ? (double)INFINITY
         : i == n + 1 ? -(double)INFINITY
         : i == n + 2 ? (double)NAN
                      : ldexp(rng_unit(r) - 0.5, (int)rng_below(r, 80) - 30);
}

static int64_t int_value(int i, rng *r) {
  int n = sizeof some_ints / sizeof *some_ints;
  return i < n ? some_ints[i] : (int64_t)(rng_u64(r) >> rng_below(r, 64));
}

/* A not-a-number with only the lowest bit of its fraction: truncating that
 * gives an infinity. */
static void put_least_nan(tess_dtype t, void *at) {
  ir_put_real(t, (double)INFINITY, at);
  *(uint8_t *)at |= 1;
}

/* The i-th of M values of type t, at `at`. */
static void put_value(tess_dtype t, int i, rng *r, void *at) {
  if (ir_is_float(t) && i == M - 1)
    put_least_nan(t, at);
  else if (ir_is_float(t))
    ir_put_real(t, ir_round_real(t, real_value(i, r)), at);
  else
    ir_put_int(t, ir_wrap_int(t, int_value(i, r)), at);
}

static size_t llvm_arith_bytes_of(tess_dtype t) { return t.bits / 8u; }

static void *values(tess_dtype t, uint64_t seed) {
  rng r;
  rng_init(&r, seed, 0);
  char *all = malloc(M * llvm_arith_bytes_of(t));
  for (int i = 0; i < M; i++)
    put_value(t, i, &r, all + i * llvm_arith_bytes_of(t));
  return all;
}

/* All pairs: the first operand varies slowest. */
static void *pairs(tess_dtype t, const char *v, bool second) {
  char *all = malloc(PAIRS * llvm_arith_bytes_of(t));
  for (int i = 0; i < PAIRS; i++)
    memcpy(all + i * llvm_arith_bytes_of(t),
           v + (second ? i % M : i / M) * llvm_arith_bytes_of(t),
           llvm_arith_bytes_of(t));
  return all;
}

static bool same_real(double a, double b) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  return a == b && signbit(a) == signbit(b);
}

/* ---- operators ---------------------------------------------------------- */

static const ir_op ops[] = {IR_ADD, IR_SUB, IR_MUL, IR_DIV, IR_MOD,
                            IR_MIN, IR_MAX, IR_EQ,  IR_NE,  IR_LT,
                            IR_LE,  IR_AND, IR_OR};
enum { NOPS = sizeof ops / sizeof *ops };

static bool is_compare(ir_op op) { return op >= IR_EQ && op <= IR_LE; }

static bool applies(ir_op op, tess_dtype t) {
  if (op == IR_AND || op == IR_OR) return t.code == TESS_DTYPE_BOOL;
  return true;
}

/* 16-bit floats are computed in float32, as lowering does. */
static ir_expr llvm_arith_apply(ir_program *p, ir_op op, ir_expr a, ir_expr b) {
  tess_dtype t = ir_at(p, a)->dtype, wide = F32;
  wide.lanes = t.lanes;
  if (!ir_is_float(t) || t.bits > 16) return ir_binary(p, op, a, b);
  ir_expr r = ir_binary(p, op, ir_cast(p, wide, a), ir_cast(p, wide, b));
  return is_compare(op) ? r : ir_cast(p, t, r);
}

/* out[k * PAIRS + i] = a[i] op b[i], vectorized or scalar. */
static void write_ops(compiled *k, tess_dtype t, ir_buf a, ir_buf b, ir_buf out,
                      ir_buf truth, uint32_t lanes) {
  ir_program *p = &k->p;
  ir_expr i, n = ir_index(p, PAIRS / lanes);
  ir_stmt loop = compiled_loop(k, k->root, n, IR_SERIAL, &i);
  ir_expr first = ir_mul(p, i, ir_index(p, lanes)), one = ir_index(p, 1);
  ir_expr at = ir_ramp(p, first, one, lanes);
  ir_expr x = compiled_load(k, a, at), y = compiled_load(k, b, at);
  for (int o = 0; o < NOPS; o++) {
    if (!applies(ops[o], t)) continue;
    ir_expr to = ir_add(p, first, ir_index(p, o * PAIRS));
    compiled_store(k, loop, is_compare(ops[o]) ? truth : out,
                   ir_ramp(p, to, one, lanes),
                   llvm_arith_apply(p, ops[o], x, y));
  }
}

static void check_op(tess_dtype t, ir_op op, const void *x, const void *y,
                     const void *got, const void *truth, const char *how) {
  if (ir_is_float(t)) {
    double a = ir_get_real(t, x), b = ir_get_real(t, y);
    if (is_compare(op)) {
      if (ir_compare_real(op, a, b) == *(const uint8_t *)truth) return;
    } else if (same_real(ir_get_real(t, got), ir_fold_real(op, t, a, b))) {
      return;
    }
    fail_msg("%s %d-bit float %d: %a %s %a", how, t.bits, t.code, a,
             ir_op_text(op), b);
  }
  int64_t a = ir_get_int(t, x), b = ir_get_int(t, y);
  int64_t want = ir_fold_int(op, t, a, b);
  int64_t have = is_compare(op) ? *(const uint8_t *)truth : ir_get_int(t, got);
  if (want != have)
    fail_msg("%s %d-bit int %d: %lld %s %lld is %lld, not %lld", how, t.bits,
             t.code, (long long)a, ir_op_text(op), (long long)b,
             (long long)want, (long long)have);
}

static void check_type(tess_dtype t) {
  compiled k;
  compiled_start(&k);
  tess_dtype bool1 = {TESS_DTYPE_BOOL, 8, 1};
  ir_buf a = compiled_param(&k, t, PAIRS, IR_ROLE_INPUT);
  ir_buf b = compiled_param(&k, t, PAIRS, IR_ROLE_INPUT);
  ir_buf out[2], truth[2];
  for (int v = 0; v < 2; v++) {
    out[v] = compiled_param(&k, t, NOPS * PAIRS, IR_ROLE_OUTPUT);
    truth[v] = compiled_param(&k, bool1, NOPS * PAIRS, IR_ROLE_OUTPUT);
    write_ops(&k, t, a, b, out[v], truth[v], v ? LANES : 1);
  }
  if (compiled_build(&k)) fail_msg("%s", k.err.message);
  char *v = values(t, 1), *x = pairs(t, v, false), *y = pairs(t, v, true);
  size_t size = llvm_arith_bytes_of(t);
  char *got[2], *is[2];
  for (int w = 0; w < 2; w++) {
    got[w] = calloc(NOPS * PAIRS, size);
    is[w] = calloc(NOPS * PAIRS, 1);
  }
  void *args[] = {x, y, got[0], is[0], got[1], is[1]};
  assert_int_equal(compiled_run(&k, args, NULL), TESS_OK);
  for (int w = 0; w < 2; w++)
    for (int o = 0; o < NOPS; o++)
      for (int i = 0; i < PAIRS && applies(ops[o], t); i++)
        check_op(t, ops[o], x + i * size, y + i * size,
                 got[w] + (o * PAIRS + i) * size, is[w] + o * PAIRS + i,
                 w ? "vector" : "scalar");
  for (int w = 0; w < 2; w++) free(got[w]), free(is[w]);
  free(v), free(x), free(y);
  compiled_end(&k);
}

static void operators(void **state) {
  (void)state;
  for (int t = 0; t < NTYPES; t++) check_type(types[t]);
}

/* ---- casts -------------------------------------------------------------- */

static void write_casts(compiled *k, ir_buf a, const ir_buf *out,
                        uint32_t lanes) {
  ir_program *p = &k->p;
  ir_expr i, n = ir_index(p, M / lanes);
  ir_stmt loop = compiled_loop(k, k->root, n, IR_SERIAL, &i);
  ir_expr first = ir_mul(p, i, ir_index(p, lanes));
  ir_expr at = ir_ramp(p, first, ir_index(p, 1), lanes);
  ir_expr x = compiled_load(k, a, at);
  for (int t = 0; t < NTYPES; t++) {
    tess_dtype to = types[t];
    to.lanes = (uint16_t)lanes;
    compiled_store(k, loop, out[t], at, ir_cast(p, to, x));
  }
}

static void check_cast(tess_dtype to, tess_dtype from, const void *x,
                       const void *got, const char *how) {
  double r = 0;
  int64_t i = 0;
  bool real = ir_is_float(from), fine;
  if (real)
    r = ir_get_real(from, x);
  else
    i = ir_get_int(from, x);
  if (ir_is_float(to)) {
    double want =
        real ? ir_round_real(to, r) : ir_cast_int_to_real(to, from, i);
    fine = same_real(ir_get_real(to, got), want);
  } else {
    int64_t want = real ? ir_cast_real_to_int(to, r) : ir_cast_int(to, from, i);
    fine = ir_get_int(to, got) == want;
  }
  if (!fine)
    fail_msg("%s cast of %a / %lld from type %d of %d bits to %d of %d", how, r,
             (long long)i, from.code, from.bits, to.code, to.bits);
}

static void check_casts_from(tess_dtype from, uint32_t lanes) {
  compiled k;
  compiled_start(&k);
  ir_buf a = compiled_param(&k, from, M, IR_ROLE_INPUT), out[NTYPES];
  for (int t = 0; t < NTYPES; t++)
    out[t] = compiled_param(&k, types[t], M, IR_ROLE_OUTPUT);
  write_casts(&k, a, out, lanes);
  if (compiled_build(&k)) fail_msg("%s", k.err.message);
  void *args[NTYPES + 1] = {values(from, 2)};
  for (int t = 0; t < NTYPES; t++) args[t + 1] = calloc(M, 8);
  assert_int_equal(compiled_run(&k, args, NULL), TESS_OK);
  for (int t = 0; t < NTYPES; t++)
    for (int i = 0; i < M; i++)
      check_cast(types[t], from,
                 (char *)args[0] + i * llvm_arith_bytes_of(from),
                 (char *)args[t + 1] + i * llvm_arith_bytes_of(types[t]),
                 lanes > 1 ? "vector" : "scalar");
  for (int t = 0; t <= NTYPES; t++) free(args[t]);
  compiled_end(&k);
}

static void casts(void **state) {
  (void)state;
  for (int t = 0; t < NTYPES; t++) {
    check_casts_from(types[t], 1);
    check_casts_from(types[t], LANES);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(operators),
      cmocka_unit_test(casts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
