/* SPDX-License-Identifier: Apache-2.0
 * Scalar semantics: against the machine's arithmetic where it has the type,
 * against a search over all values where it does not. */
#include "ir/scalar.h"
#include "support/expr.h"

#include <math.h>
#include <stdlib.h>

static const tess_dtype f16 = {TESS_DTYPE_FLOAT, 16, 1},
                        bf16 = {TESS_DTYPE_BFLOAT, 16, 1},
                        f32 = {TESS_DTYPE_FLOAT, 32, 1},
                        f64 = {TESS_DTYPE_FLOAT, 64, 1};

/* ---- the 16-bit floats -------------------------------------------------- */

typedef struct entry {
  double v;
  uint16_t bits;
} entry;

static int scalar_by_value(const void *a, const void *b) {
  double x = ((const entry *)a)->v, y = ((const entry *)b)->v;
  return (x > y) - (x < y);
}

/* All finite values of at least 0, in order. */
static uint32_t all_values(tess_dtype t, entry *out) {
  uint32_t n = 0;
  for (uint32_t b = 0; b < 0x8000; b++) {
    uint16_t h = (uint16_t)b;
    double v = ir_get_real(t, &h);
    if (isfinite(v)) out[n++] = (entry){v, h};
  }
  qsort(out, n, sizeof *out, scalar_by_value);
  return n;
}

/* To the nearest in the list, ties to the even pattern; beyond the last by
 * half a step: infinity. */
static double nearest(const entry *all, uint32_t n, double v) {
  double a = fabs(v);
  uint32_t lo = 0, hi = n - 1;
  double step = all[n - 1].v - all[n - 2].v;
  if (a >= all[n - 1].v + step / 2) return copysign(INFINITY, v);
  while (hi - lo > 1) {
    uint32_t mid = (lo + hi) / 2;
    *(all[mid].v <= a ? &lo : &hi) = mid;
  }
  double down = a - all[lo].v, up = all[hi].v - a;
  bool take_up = up < down || (up == down && all[lo].bits % 2);
  return copysign(all[take_up ? hi : lo].v, v);
}

static void check_halves(tess_dtype t, uint64_t stream) {
  static entry all[0x8000];
  uint32_t n = all_values(t, all);
  rng r;
  rng_init(&r, test_seed(), stream);
  for (uint32_t i = 0; i < n; i++) {
    uint16_t h;
    ir_put_real(t, -all[i].v, &h);
    assert_int_equal(h, all[i].bits | 0x8000);
    assert_true(ir_round_real(t, all[i].v) == all[i].v);
    double next = i + 1 < n ? all[i + 1].v : all[i].v;
    double mid = (all[i].v + next) / 2;
    double near[3] = {mid, nextafter(mid, 0), nextafter(mid, INFINITY)};
    for (int k = 0; k < 3; k++)
      assert_true(ir_round_real(t, near[k]) == nearest(all, n, near[k]));
  }
  for (int i = 0; i < 20000; i++) {
    double v = ldexp(rng_unit(&r) - 0.5, (int)test_pick(&r, -150, 130));
    assert_true(ir_round_real(t, v) == nearest(all, n, v));
  }
  assert_true(isnan(ir_round_real(t, NAN)));
  assert_true(signbit(ir_round_real(t, -1e-300)));
}

static void test_halves(void **state) {
  (void)state;
  check_halves(f16, 1);
  check_halves(bf16, 2);
  uint16_t one = 0x3c00, least = 1, most = 0x7bff, inf = 0x7c00, b = 0x3f80;
  assert_true(ir_get_real(f16, &one) == 1);
  assert_true(ir_get_real(f16, &least) == 0x1p-24);
  assert_true(ir_get_real(f16, &most) == 65504);
  assert_true(ir_get_real(f16, &inf) == INFINITY);
  assert_true(ir_get_real(bf16, &b) == 1);
  assert_true(ir_round_real(f16, 65519.99) == 65504);
  assert_true(ir_round_real(f16, 65520) == INFINITY);
}

/* ---- the machine's own types -------------------------------------------- */

/* Patterns with many ones, zeros and edges, so that special values come. */
static uint64_t odd_bits(rng *r) {
  uint64_t b = rng_u64(r);
  switch (rng_below(r, 4)) {
  case 0: return b & rng_u64(r) & rng_u64(r);
  case 1: return b | rng_u64(r) | rng_u64(r);
  case 2: return (uint64_t)test_pick(r, -3, 3);
  default: return b;
  }
}

static void test_floats(void **state) {
  (void)state;
  rng r;
  rng_init(&r, test_seed(), 3);
  for (int i = 0; i < 200000; i++) {
    uint32_t xb = (uint32_t)odd_bits(&r), yb = (uint32_t)odd_bits(&r);
    float x, y;
    memcpy(&x, &xb, 4);
    memcpy(&y, &yb, 4);
    float want[4] = {x + y, x - y, x * y, x / y};
    for (int k = 0; k < 4; k++) {
      ir_op op = (ir_op[]){IR_ADD, IR_SUB, IR_MUL, IR_DIV}[k];
      float got = (float)ir_fold_real(op, f32, (double)x, (double)y);
      assert_true(isnan(want[k]) ? isnan(got)
                                 : !memcmp(&want[k], &got, sizeof got));
    }
    if (isfinite(x) && isfinite(y) && y != 0) {
      double m = ir_fold_real(IR_MOD, f64, (double)x, (double)y);
      assert_true(m == 0 || (m < 0) == (y < 0));
      assert_true(fabs(m) <= fabs((double)y));
    }
    assert_int_equal(ir_compare_real(IR_LT, (double)x, (double)y), x < y);
    assert_int_equal(ir_compare_real(IR_NE, (double)x, (double)y), x != y);
  }
}

/* Floor division by its definition: a = q * b + m, m between 0 and b. */
static void check_division(tess_dtype t, int64_t a, int64_t b) {
  int64_t q = ir_fold_int(IR_DIV, t, a, b), m = ir_fold_int(IR_MOD, t, a, b);
  if (b == 0) {
    assert_int_equal(q, 0);
    assert_int_equal(m, 0);
    return;
  }
  int64_t back = ir_fold_int(IR_ADD, t, ir_fold_int(IR_MUL, t, q, b), m);
  assert_int_equal(back, a);
  if (t.code == TESS_DTYPE_UINT)
    assert_true((uint64_t)m < (uint64_t)b);
  else
    assert_true(b > 0 ? m >= 0 && m < b : m <= 0 && m > b);
}

static void test_integers(void **state) {
  static const tess_dtype types[] = {
      {TESS_DTYPE_INT, 8, 1},   {TESS_DTYPE_INT, 16, 1},
      {TESS_DTYPE_INT, 32, 1},  {TESS_DTYPE_INT, 64, 1},
      {TESS_DTYPE_UINT, 8, 1},  {TESS_DTYPE_UINT, 16, 1},
      {TESS_DTYPE_UINT, 32, 1}, {TESS_DTYPE_UINT, 64, 1}};
  (void)state;
  rng r;
  rng_init(&r, test_seed(), 4);
  for (int i = 0; i < 200000; i++) {
    tess_dtype t = types[i % 8];
    int64_t a = ir_wrap_int(t, (int64_t)odd_bits(&r));
    int64_t b = ir_wrap_int(t, (int64_t)odd_bits(&r));
    check_division(t, a, b);
    uint8_t mem[8];
    ir_put_int(t, a, mem);
    assert_int_equal(ir_get_int(t, mem), a);
    assert_int_equal(ir_wrap_int(t, a), a);
    assert_int_equal(ir_fold_int(IR_LT, t, a, b),
                     t.code == TESS_DTYPE_UINT ? (uint64_t)a < (uint64_t)b
                                               : a < b);
  }
  assert_int_equal(ir_fold_int(IR_ADD, types[0], 127, 1), -128);
  assert_int_equal(ir_fold_int(IR_DIV, types[0], -128, -1), -128);
  assert_int_equal(ir_fold_int(IR_DIV, types[3], INT64_MIN, -1), INT64_MIN);
  assert_int_equal(ir_fold_int(IR_SUB, types[4], 0, 1), 255);
}

/* ---- casts -------------------------------------------------------------- */

static void test_casts(void **state) {
  const tess_dtype i8 = {TESS_DTYPE_INT, 8, 1}, u8 = {TESS_DTYPE_UINT, 8, 1},
                   i64 = {TESS_DTYPE_INT, 64, 1},
                   u64 = {TESS_DTYPE_UINT, 64, 1};
  (void)state;
  assert_int_equal(ir_cast_int(i8, i64, 300), 127);
  assert_int_equal(ir_cast_int(i8, i64, -300), -128);
  assert_int_equal(ir_cast_int(u8, i8, -1), 0);
  assert_int_equal(ir_cast_int(i64, u64, -1), INT64_MAX);
  assert_int_equal(ir_cast_int(u64, i64, -1), 0);
  assert_int_equal(ir_cast_int(IR_BOOL, i64, -7), 1);
  assert_int_equal(ir_cast_real_to_int(i8, -1.99), -1);
  assert_int_equal(ir_cast_real_to_int(i8, 1e9), 127);
  assert_int_equal(ir_cast_real_to_int(i64, 1e30), INT64_MAX);
  assert_int_equal(ir_cast_real_to_int(i64, -INFINITY), INT64_MIN);
  assert_int_equal(ir_cast_real_to_int(i64, NAN), 0);
  assert_int_equal(ir_cast_real_to_int(u64, 0x1p63), INT64_MIN);
  assert_int_equal(ir_cast_real_to_int(u64, 1e30), -1);
  assert_true(ir_cast_int_to_real(f64, u64, -1) == 0x1p64);
  assert_true(ir_cast_int_to_real(bf16, i64, (1ll << 55) + (1ll << 47) + 1) ==
              0x1p55 + 0x1p48);
  assert_true(ir_cast_int_to_real(f16, i64, -70000) == -INFINITY);
  rng r;
  rng_init(&r, test_seed(), 5);
  for (int i = 0; i < 100000; i++) {
    int64_t v = (int64_t)odd_bits(&r);
    assert_true(ir_cast_int_to_real(f32, i64, v) == (double)(float)v);
    assert_true(ir_cast_int_to_real(f32, u64, v) == (double)(float)(uint64_t)v);
    assert_true(ir_cast_int_to_real(f64, i64, v) == (double)v);
  }
}

/* ---- types -------------------------------------------------------------- */

static void test_scalar_names(void **state) {
  static const char *good[] = {"float16", "bfloat16", "float32",   "float64",
                               "int8",    "int64",    "uint8",     "uint64",
                               "bool",    "handle",   "float32x8", "boolx16",
                               "int8x64"};
  static const char *bad[] = {
      "",         "float",    "float8",    "float032", "int7",
      "bfloat32", "float32x", "float32x0", "int8 ",    "float32x65536",
      "Int8",     "uint128",  "boolean"};
  (void)state;
  test_heap h;
  test_heap_start(&h, 0);
  tess_dtype t;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    strbuf b;
    str_init(&b, &h.heap);
    assert_true(ir_dtype_parse(good[i], &t));
    ir_dtype_print(t, &b);
    assert_string_equal(str_get(&b), good[i]);
    str_free(&b);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_false(ir_dtype_parse(bad[i], &t));
  test_heap_end(&h);
}

/* NaN propagates from either side; of equal operands the first is returned. */
static void test_extremes(void **state) {
  (void)state;
  const double nan = (double)NAN, inf = (double)INFINITY;
  static const ir_op both[] = {IR_MIN, IR_MAX};
  const double some[] = {0, -1, inf, -inf, nan};
  for (int k = 0; k < 2; k++) {
    for (int i = 0; i < 5; i++) {
      assert_true(isnan(ir_fold_real(both[k], f32, some[i], nan)));
      assert_true(isnan(ir_fold_real(both[k], f32, nan, some[i])));
    }
    assert_true(ir_fold_real(both[k], f32, 1, 2) == (k ? 2 : 1));
    assert_true(ir_fold_real(both[k], f32, 2, 1) == (k ? 2 : 1));
    assert_true(signbit(ir_fold_real(both[k], f32, -0.0, 0.0)));
    assert_false(signbit(ir_fold_real(both[k], f32, 0.0, -0.0)));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_halves),       cmocka_unit_test(test_floats),
      cmocka_unit_test(test_integers),     cmocka_unit_test(test_casts),
      cmocka_unit_test(test_scalar_names), cmocka_unit_test(test_extremes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
