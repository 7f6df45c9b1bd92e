/* SPDX-License-Identifier: Apache-2.0
 * The residue domain: equivalent computations agree exactly, whatever the type
 * and order; others differ. */
#include "backends/interp/residue.h"
#include "base/rng.h"
#include "ir/edit.h"
#include "support/nest.h"

#include <math.h>

enum { N = 9, M = 6 };

/* ---- the ring ----------------------------------------------------------- */

static void ring_laws(void **state) {
  rng r;
  (void)state;
  rng_init(&r, 3, 0);
  for (int i = 0; i < 2000; i++) {
    uint64_t a = rng_below(&r, RESIDUE_N), b = rng_below(&r, RESIDUE_N);
    uint64_t c = rng_below(&r, RESIDUE_N);
    assert_true(residue_mul(a, residue_add(b, c)) ==
                residue_add(residue_mul(a, b), residue_mul(a, c)));
    assert_true(residue_mul(residue_mul(a, b), c) ==
                residue_mul(a, residue_mul(b, c)));
    assert_true(residue_add(residue_sub(a, b), b) == a);
    assert_true(b == 0 || residue_mul(residue_div(a, b), b) == a);
    assert_true((__extension__(unsigned __int128) a * b) % RESIDUE_N ==
                residue_mul(a, b));
  }
  uint64_t top = RESIDUE_N - 1;
  assert_true(residue_mul(top, top) == 1);
  assert_true(residue_inverse(0) == 0);
}

/* Modulo each of the primes: 1 / 0 is 0. */
static void zeros_of_one_prime(void **state) {
  const uint64_t prime[] = {RESIDUE_R, RESIDUE_Q, 2 * RESIDUE_Q + 1};
  (void)state;
  for (int i = 0; i < 3; i++)
    for (uint64_t k = 1; k < 50; k++) {
      uint64_t a = prime[i] * k, x = residue_inverse(a);
      for (int j = 0; j < 3; j++)
        assert_int_equal(residue_mul(a, x) % prime[j], i != j);
      assert_int_equal(x % prime[i], 0);
    }
}

static void powers(void **state) {
  rng r;
  (void)state;
  rng_init(&r, 5, 0);
  assert_int_equal(residue_exp(0), 1);
  for (int i = 0; i < 2000; i++) {
    uint64_t a = rng_below(&r, RESIDUE_N), b = rng_below(&r, RESIDUE_N);
    uint64_t ea = residue_exp(a), eb = residue_exp(b);
    assert_true(residue_exp(residue_add(a, b)) == residue_mul(ea, eb));
    assert_true(residue_exp(residue_sub(a, b)) == residue_div(ea, eb));
    assert_true(residue_exp(ea) != residue_exp(eb));
  }
  uint64_t inf = residue_of_real((double)INFINITY), one = 1;
  assert_true(residue_mul(residue_exp(residue_sub(0, inf)),
                          residue_call(9, IR_FN_EXP, F32, 1, &inf)) == 1);
  assert_true(residue_call(1, IR_FN_EXP, F16, 1, &one) == residue_exp(1));
}

/* Next to the infinities. */
static void greatest_numbers(void **state) {
  rng r;
  (void)state;
  rng_init(&r, 6, 0);
  double v[] = {0x1.fep127, 0x1.fffffep127, 0x1.fffffffffffffp1023,
                (double)INFINITY};
  for (int i = 0; i < 4; i++) {
    uint64_t up = residue_of_real(v[i]), down = residue_of_real(-v[i]);
    for (int k = 0; k < 500; k++) {
      uint64_t x = rng_below(&r, RESIDUE_N);
      assert_true(residue_less(x, up) && residue_less(down, x));
    }
    if (!i) continue;
    assert_true(residue_less(residue_of_real(v[i - 1]), up));
    assert_true(residue_less(down, residue_of_real(-v[i - 1])));
  }
}

/* A constant made of others is what the field makes of them. */
static void constants_are_exact(void **state) {
  (void)state;
  assert_true(residue_of_real(0) == 0 && residue_of_real(1) == 1);
  assert_true(residue_add(residue_of_real(-1), 1) == 0);
  double v[] = {0.5, -0.375, 1e300, 5e-324, 3, 0.1, -1e-9};
  for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
    uint64_t x = residue_of_real(v[i]);
    assert_true(residue_add(x, residue_of_real(-v[i])) == 0);
    assert_true(residue_of_real(v[i] / 2) ==
                    residue_mul(x, residue_of_real(.5)) ||
                fabs(v[i]) < 1e-300);
    assert_true(residue_of_real(v[i] * 4) == residue_mul(x, 4));
  }
}

static void order_is_total(void **state) {
  rng r;
  (void)state;
  rng_init(&r, 4, 0);
  for (int i = 0; i < 3000; i++) {
    uint64_t x[3];
    for (int k = 0; k < 3; k++)
      x[k] = rng_below(&r, 3) ? rng_below(&r, RESIDUE_N)
                              : residue_of_real((double)rng_below(&r, 9) - 4);
    assert_int_equal(residue_less(x[0], x[1]) + residue_less(x[1], x[0]),
                     x[0] != x[1]);
    if (residue_less(x[0], x[1]) && residue_less(x[1], x[2]))
      assert_true(residue_less(x[0], x[2]));
    uint64_t inf = residue_of_real((double)INFINITY);
    assert_true(residue_less(x[0], inf) &&
                residue_less(residue_of_real(-(double)INFINITY), x[0]));
  }
  double v[] = {-4e9,   -40000, -1.5, -0.25, 0,   0x1p-28, 0.125,
                0.375f, 0.4f,   1,    1e6,   1e9, 4e9};
  for (int i = 0; i + 1 < (int)(sizeof v / sizeof *v); i++)
    assert_true(residue_less(residue_of_real(v[i]), residue_of_real(v[i + 1])));
}

static void places(void **state) {
  (void)state;
  const int64_t end = RESIDUE_N / 2;
  int64_t n[] = {-end, -(INT64_C(1) << 28), -1, 0, 1, 12345678901, end};
  assert_int_equal(residue_at(0), 0);
  assert_int_equal(residue_at(-(INT64_C(1) << 28)), residue_of_real(-1));
  for (int i = 0; i + 1 < (int)(sizeof n / sizeof *n); i++)
    assert_true(residue_less(residue_at(n[i]), residue_at(n[i + 1])));
}

/* ---- two programs of one shape ------------------------------------------ */

/* The value stored to R[i], of inputs X[N, M], Y[N, M] of type t. */
typedef ir_expr point(nest *n, ir_buf x, ir_buf y, ir_expr i);
typedef void body(nest *n, ir_buf x, ir_buf y, ir_buf r);

static void interp_residue_start(nest *n, tess_dtype t, ir_buf b[3]) {
  nest_start(n);
  b[0] = nest_param(n, "X", t, IR_ROLE_INPUT, N, M, 0);
  b[1] = nest_param(n, "Y", t, IR_ROLE_INPUT, N, M, 0);
  b[2] = nest_param(n, "R", t, IR_ROLE_OUTPUT, N, 0, 0);
}

static tess_status interp_residue_compare(nest *n, nest *m, interp_error *e) {
  nest_finish(n);
  nest_finish(m);
  tess_status st = TESS_OK;
  for (uint64_t seed = 1; seed < 3 && !st; seed++)
    st = interp_equal(&n->heap.heap, &n->p, &m->p, seed, NULL, e, NULL);
  nest_end(n);
  nest_end(m);
  return st;
}

static tess_status compare_points(tess_dtype t, point *f, point *g) {
  nest n, m;
  ir_buf b[3];
  interp_error e;
  nest *of[2] = {&n, &m};
  for (int k = 0; k < 2; k++) {
    interp_residue_start(of[k], t, b);
    ir_expr i = nest_loop(of[k], N, IR_SERIAL);
    nest_store(of[k], b[2], i, 0, (k ? g : f)(of[k], b[0], b[1], i));
  }
  return interp_residue_compare(&n, &m, &e);
}

static tess_status compare_bodies(tess_dtype t, body *f, body *g) {
  nest n, m;
  ir_buf b[3];
  interp_error e;
  interp_residue_start(&n, t, b);
  f(&n, b[0], b[1], b[2]);
  interp_residue_start(&m, t, b);
  g(&m, b[0], b[1], b[2]);
  return interp_residue_compare(&n, &m, &e);
}

static ir_expr interp_residue_at(nest *n, ir_buf b, ir_expr i, int64_t k) {
  return nest_load(n, b, i, nest_num(n, k));
}

static const tess_dtype all[] = {
    {TESS_DTYPE_FLOAT, 16, 1}, {TESS_DTYPE_BFLOAT, 16, 1},
    {TESS_DTYPE_FLOAT, 32, 1}, {TESS_DTYPE_FLOAT, 64, 1},
    {TESS_DTYPE_INT, 8, 1},    {TESS_DTYPE_INT, 32, 1},
    {TESS_DTYPE_INT, 64, 1},   {TESS_DTYPE_UINT, 8, 1},
    {TESS_DTYPE_UINT, 64, 1}};
enum { NALL = sizeof all / sizeof *all };

static ir_expr sum_left(nest *n, ir_buf x, ir_buf y, ir_expr i) {
  (void)y;
  ir_expr a = ir_add(&n->p, interp_residue_at(n, x, i, 0),
                     interp_residue_at(n, x, i, 1));
  return ir_add(&n->p, a, interp_residue_at(n, x, i, 2));
}
static ir_expr sum_right(nest *n, ir_buf x, ir_buf y, ir_expr i) {
  (void)y;
  ir_expr a = ir_add(&n->p, interp_residue_at(n, x, i, 2),
                     interp_residue_at(n, x, i, 1));
  return ir_add(&n->p, interp_residue_at(n, x, i, 0), a);
}
static ir_expr sum_wrong(nest *n, ir_buf x, ir_buf y, ir_expr i) {
  (void)y;
  ir_expr a = ir_add(&n->p, interp_residue_at(n, x, i, 0),
                     interp_residue_at(n, x, i, 1));
  return ir_add(&n->p, a, interp_residue_at(n, x, i, 1));
}
static ir_expr product_of_sum(nest *n, ir_buf x, ir_buf y, ir_expr i) {
  ir_expr a = ir_sub(&n->p, interp_residue_at(n, x, i, 0),
                     interp_residue_at(n, x, i, 1));
  return ir_mul(&n->p, interp_residue_at(n, y, i, 2), a);
}
static ir_expr sum_of_products(nest *n, ir_buf x, ir_buf y, ir_expr i) {
  ir_expr a = ir_mul(&n->p, interp_residue_at(n, x, i, 0),
                     interp_residue_at(n, y, i, 2));
  ir_expr b = ir_mul(&n->p, interp_residue_at(n, y, i, 2),
                     interp_residue_at(n, x, i, 1));
  return ir_sub(&n->p, a, b);
}
static ir_expr max_left(nest *n, ir_buf x, ir_buf y, ir_expr i) {
  ir_expr a = ir_binary(&n->p, IR_MAX, interp_residue_at(n, x, i, 0),
                        interp_residue_at(n, x, i, 1));
  return ir_binary(&n->p, IR_MAX, a, interp_residue_at(n, y, i, 1));
}
static ir_expr max_right(nest *n, ir_buf x, ir_buf y, ir_expr i) {
  ir_expr a = ir_binary(&n->p, IR_MAX, interp_residue_at(n, y, i, 1),
                        interp_residue_at(n, x, i, 0));
  ir_expr b = ir_binary(&n->p, IR_MAX, interp_residue_at(n, x, i, 1), a);
  ir_expr least = ir_extreme(&n->p, ir_at(&n->p, b)->dtype, false);
  return ir_binary(&n->p, IR_MAX, ir_binary(&n->p, IR_MAX, least, b), b);
}
static ir_expr max_by_select(nest *n, ir_buf x, ir_buf y, ir_expr i) {
  ir_expr a = max_left(n, x, x, i), b = interp_residue_at(n, y, i, 1);
  return ir_select(&n->p, ir_binary(&n->p, IR_LT, a, b), b, a);
}

static void orders_agree(void **state) {
  (void)state;
  for (int k = 0; k < NALL; k++) {
    tess_dtype t = all[k];
    assert_int_equal(compare_points(t, sum_left, sum_right), TESS_OK);
    assert_int_equal(compare_points(t, product_of_sum, sum_of_products),
                     TESS_OK);
    assert_int_equal(compare_points(t, max_left, max_right), TESS_OK);
    assert_int_equal(compare_points(t, max_left, max_by_select), TESS_OK);
    assert_int_equal(compare_points(t, sum_left, sum_wrong), TESS_MISMATCH);
    assert_int_equal(compare_points(t, sum_left, max_left), TESS_MISMATCH);
  }
}

/* A select of two values by comparing a third with another or a constant. */
static ir_expr chosen(nest *n, ir_buf x, ir_buf y, ir_expr i, ir_op op,
                      bool swap, int64_t constant) {
  ir_program *p = &n->p;
  ir_expr a = interp_residue_at(n, x, i, 0), b = interp_residue_at(n, x, i, 1),
          c = interp_residue_at(n, y, i, 0);
  tess_dtype t = ir_at(p, a)->dtype;
  if (constant)
    b = ir_is_float(t) ? ir_real(p, t, (double)constant)
                       : ir_int(p, t, constant);
  return ir_select(p, swap ? ir_binary(p, op, b, a) : ir_binary(p, op, a, b), a,
                   c);
}
#define CHOSEN(name, op, swap, constant)                        \
  static ir_expr name(nest *n, ir_buf x, ir_buf y, ir_expr i) { \
    return chosen(n, x, y, i, op, swap, constant);              \
  }
CHOSEN(less, IR_LT, false, 0)
CHOSEN(no_more, IR_LE, false, 0)
CHOSEN(equal, IR_EQ, false, 0)
CHOSEN(equal_swapped, IR_EQ, true, 0)
CHOSEN(below_20, IR_LT, false, 20)
CHOSEN(up_to_20, IR_LE, false, 20)
CHOSEN(is_20, IR_EQ, false, 20)
static ir_expr other(nest *n, ir_buf x, ir_buf y, ir_expr i) {
  (void)x;
  return interp_residue_at(n, y, i, 0);
}

/* Some inputs are equal to each other and to the constants compared with. */
static void ties_are_met(void **state) {
  (void)state;
  for (int k = 0; k < NALL; k++) {
    tess_dtype t = all[k];
    assert_int_equal(compare_points(t, less, no_more), TESS_MISMATCH);
    assert_int_equal(compare_points(t, equal, other), TESS_MISMATCH);
    assert_int_equal(compare_points(t, other, equal), TESS_MISMATCH);
    assert_int_equal(compare_points(t, below_20, up_to_20), TESS_MISMATCH);
    assert_int_equal(compare_points(t, is_20, other), TESS_MISMATCH);
    assert_int_equal(compare_points(t, equal, equal_swapped), TESS_OK);
  }
}

static ir_expr quotient(nest *n, ir_buf x, ir_buf y, ir_expr i) {
  ir_expr a = ir_add(&n->p, interp_residue_at(n, x, i, 0),
                     interp_residue_at(n, x, i, 1));
  return ir_binary(&n->p, IR_DIV, a, interp_residue_at(n, y, i, 0));
}
static ir_expr quotients(nest *n, ir_buf x, ir_buf y, ir_expr i) {
  ir_expr d = interp_residue_at(n, y, i, 0);
  return ir_add(&n->p,
                ir_binary(&n->p, IR_DIV, interp_residue_at(n, x, i, 0), d),
                ir_binary(&n->p, IR_DIV, interp_residue_at(n, x, i, 1), d));
}
static ir_expr fused(nest *n, ir_buf x, ir_buf y, ir_expr i) {
  ir_expr a[3] = {interp_residue_at(n, x, i, 0), interp_residue_at(n, y, i, 0),
                  interp_residue_at(n, x, i, 1)};
  return ir_call(&n->p, IR_FN_FMA, ir_at(&n->p, a[0])->dtype, 3, a);
}
static ir_expr unfused(nest *n, ir_buf x, ir_buf y, ir_expr i) {
  ir_expr a = ir_mul(&n->p, interp_residue_at(n, x, i, 0),
                     interp_residue_at(n, y, i, 0));
  return ir_add(&n->p, a, interp_residue_at(n, x, i, 1));
}

static void division_is_exact(void **state) {
  (void)state;
  assert_int_equal(compare_points(F32, quotient, quotients), TESS_OK);
  assert_int_equal(compare_points(I32, quotient, quotients), TESS_MISMATCH);
  assert_int_equal(compare_points(F16, fused, unfused), TESS_OK);
  assert_int_equal(compare_points(I8, fused, unfused), TESS_OK);
}

static ir_expr interp_residue_call(nest *n, ir_fn fn, ir_expr a) {
  return ir_call(&n->p, fn, ir_at(&n->p, a)->dtype, 1, &a);
}
static ir_expr exp_of_sum(nest *n, ir_buf x, ir_buf y, ir_expr i) {
  return interp_residue_call(n, IR_FN_EXP, sum_left(n, x, y, i));
}
static ir_expr exp_of_sum_2(nest *n, ir_buf x, ir_buf y, ir_expr i) {
  return interp_residue_call(n, IR_FN_EXP, sum_right(n, x, y, i));
}
static ir_expr product_of_exps(nest *n, ir_buf x, ir_buf y, ir_expr i) {
  (void)y;
  ir_expr e[3];
  for (int k = 0; k < 3; k++)
    e[k] = interp_residue_call(n, IR_FN_EXP, interp_residue_at(n, x, i, k));
  return ir_mul(&n->p, ir_mul(&n->p, e[0], e[1]), e[2]);
}
static ir_expr tanh_of_sum(nest *n, ir_buf x, ir_buf y, ir_expr i) {
  return interp_residue_call(n, IR_FN_TANH, sum_left(n, x, y, i));
}
static ir_expr rounded_sum(nest *n, ir_buf x, ir_buf y, ir_expr i) {
  ir_expr v = sum_right(n, x, y, i);
  return ir_cast(&n->p, F32, ir_cast(&n->p, F16, v));
}
static ir_expr widened_sum(nest *n, ir_buf x, ir_buf y, ir_expr i) {
  ir_expr a = ir_cast(&n->p, F64, sum_left(n, x, y, i));
  return ir_cast(&n->p, F32, ir_mul(&n->p, a, ir_real(&n->p, F64, 1)));
}

static void functions_and_hashes(void **state) {
  (void)state;
  assert_int_equal(compare_points(F32, exp_of_sum, exp_of_sum_2), TESS_OK);
  assert_int_equal(compare_points(F32, exp_of_sum, product_of_exps), TESS_OK);
  assert_int_equal(compare_points(F32, exp_of_sum, tanh_of_sum), TESS_MISMATCH);
  assert_int_equal(compare_points(F32, rounded_sum, rounded_sum), TESS_OK);
  assert_int_equal(compare_points(F32, rounded_sum, sum_left), TESS_MISMATCH);
  assert_int_equal(compare_points(F32, widened_sum, widened_sum), TESS_OK);
}

/* ---- reductions --------------------------------------------------------- */

/* R[i] = reduction over k of X[i, k] * Y[i, k], as a block; `split`: k in two
 * loops, the inner one first. */
static void interp_residue_reduce(nest *n, ir_buf x, ir_buf y, ir_buf r,
                                  ir_op op, bool split) {
  tess_dtype t = n->p.buf.v[x].dtype;
  ir_expr i = nest_loop(n, N, IR_SERIAL), k;
  if (split) {
    ir_expr k1 = nest_loop(n, 2, IR_SERIAL), k0 = nest_loop(n, 3, IR_SERIAL);
    k = ir_add(&n->p, ir_mul(&n->p, k0, nest_num(n, 2)), k1);
  } else {
    k = nest_loop(n, M, IR_SERIAL);
  }
  nest_block(n, "R");
  ir_expr vi = nest_iter(n, IR_SPATIAL, N, i);
  ir_expr vk = nest_iter(n, IR_REDUCE, M, k);
  ir_expr zero = ir_is_float(t) ? ir_real(&n->p, t, 0) : ir_int(&n->p, t, 0);
  nest_init(n);
  nest_store(n, r, vi, 0,
             op == IR_ADD ? zero : ir_extreme(&n->p, t, op == IR_MIN));
  nest_body(n);
  ir_expr v = ir_mul(&n->p, nest_load(n, x, vi, vk), nest_load(n, y, vi, vk));
  nest_store(n, r, vi, 0, ir_binary(&n->p, op, nest_load(n, r, vi, 0), v));
}

static void sum_plain(nest *n, ir_buf x, ir_buf y, ir_buf r) {
  interp_residue_reduce(n, x, y, r, IR_ADD, false);
}
static void sum_split(nest *n, ir_buf x, ir_buf y, ir_buf r) {
  interp_residue_reduce(n, x, y, r, IR_ADD, true);
}
static void min_plain(nest *n, ir_buf x, ir_buf y, ir_buf r) {
  interp_residue_reduce(n, x, y, r, IR_MIN, false);
}
static void min_split(nest *n, ir_buf x, ir_buf y, ir_buf r) {
  interp_residue_reduce(n, x, y, r, IR_MIN, true);
}

static void reductions_agree(void **state) {
  (void)state;
  for (int k = 0; k < NALL; k++) {
    assert_int_equal(compare_bodies(all[k], sum_plain, sum_split), TESS_OK);
    assert_int_equal(compare_bodies(all[k], min_plain, min_split), TESS_OK);
    assert_int_equal(compare_bodies(all[k], sum_plain, min_plain),
                     TESS_MISMATCH);
  }
}

/* ---- inlined or not ----------------------------------------------------- */

/* R[i] = f(T[i]) where T[i] = g(i), and with g inlined. */
static ir_expr made_of_index(nest *n, ir_expr i, tess_dtype t) {
  ir_expr v = ir_binary(&n->p, IR_MOD, i, nest_num(n, 5));
  return ir_cast(&n->p, t, ir_sub(&n->p, v, nest_num(n, 2)));
}
static ir_expr use_of_it(nest *n, ir_expr v) {
  ir_expr c = ir_real(&n->p, F32, 0.75);
  ir_expr a = ir_cast(&n->p, F32, v);
  ir_expr less = ir_binary(&n->p, IR_LT, a, c);
  ir_expr half = ir_cast(&n->p, F32, ir_cast(&n->p, F16, a));
  return ir_select(&n->p, less, interp_residue_call(n, IR_FN_EXP, half),
                   ir_mul(&n->p, a, c));
}

static void through(nest *n, ir_buf r, tess_dtype t, bool memory) {
  ir_buf b = nest_local(n, "T", t, IR_SCOPE_GLOBAL, N, 0, 0);
  ir_expr i;
  if (memory) {
    i = nest_loop(n, N, IR_SERIAL);
    nest_store(n, b, i, 0, made_of_index(n, i, t));
    nest_close(n, 1);
  }
  i = nest_loop(n, N, IR_SERIAL);
  ir_expr v = memory ? nest_load(n, b, i, 0) : made_of_index(n, i, t);
  nest_store(n, r, i, 0, use_of_it(n, v));
}

static void known_values_are_seen_through(void **state) {
  static const tess_dtype via[] = {{TESS_DTYPE_INT, 64, 1},
                                   {TESS_DTYPE_INT, 8, 1},
                                   {TESS_DTYPE_FLOAT, 16, 1},
                                   {TESS_DTYPE_FLOAT, 64, 1},
                                   {TESS_DTYPE_UINT, 8, 1}};
  (void)state;
  for (int k = 0; k < 5; k++) {
    nest n, m;
    ir_buf b[3];
    interp_error e;
    interp_residue_start(&n, F32, b);
    through(&n, b[2], via[k], true);
    interp_residue_start(&m, F32, b);
    through(&m, b[2], via[k], false);
    assert_int_equal(interp_residue_compare(&n, &m, &e), TESS_OK);
  }
}

/* ---- data-dependent indices --------------------------------------------- */

/* R[i] = X[I[i]], gathered in either direction. */
static void interp_residue_gather(nest *n, bool backwards, bool wrong) {
  nest_start(n);
  ir_buf x = nest_param(n, "X", F32, IR_ROLE_INPUT, N, 0, 0);
  ir_buf idx = nest_param(n, "I", I32, IR_ROLE_INPUT, N, 0, 0);
  ir_buf r = nest_param(n, "R", F32, IR_ROLE_OUTPUT, N, 0, 0);
  ir_expr i = nest_loop(n, N, IR_SERIAL);
  if (backwards) i = ir_sub(&n->p, nest_num(n, N - 1), i);
  ir_expr at_i = ir_cast(&n->p, I64, nest_load(n, idx, i, 0));
  nest_store(n, r, i, 0, nest_load(n, x, wrong ? i : at_i, 0));
}

static void gathers_agree(void **state) {
  (void)state;
  nest n, m;
  interp_error e;
  interp_residue_gather(&n, false, false);
  interp_residue_gather(&m, true, false);
  assert_int_equal(interp_residue_compare(&n, &m, &e), TESS_OK);
  interp_residue_gather(&n, false, false);
  interp_residue_gather(&m, false, true);
  assert_int_equal(interp_residue_compare(&n, &m, &e), TESS_MISMATCH);
  assert_int_equal(e.fault, INTERP_DIFFERS);
  assert_true(e.value[0].u != e.value[1].u);
}

/* ---- messages ----------------------------------------------------------- */

static void misses_the_last(nest *n, ir_buf x, ir_buf y, ir_buf r) {
  (void)y;
  ir_expr i = nest_loop(n, N - 1, IR_SERIAL);
  nest_store(n, r, i, 0, interp_residue_at(n, x, i, 0));
}
static void copies_all(nest *n, ir_buf x, ir_buf y, ir_buf r) {
  (void)y;
  ir_expr i = nest_loop(n, N, IR_SERIAL);
  nest_store(n, r, i, 0, interp_residue_at(n, x, i, 0));
}
static void reads_beyond(nest *n, ir_buf x, ir_buf y, ir_buf r) {
  (void)y;
  ir_expr i = nest_loop(n, N, IR_SERIAL);
  nest_store(n, r, i, 0, interp_residue_at(n, x, i, M));
}

static void reports(void **state) {
  (void)state;
  nest n, m;
  ir_buf b[3];
  interp_error e;
  int which;
  char text[200];
  interp_residue_start(&n, F32, b);
  copies_all(&n, b[0], b[1], b[2]);
  nest_finish(&n);
  interp_residue_start(&m, F32, b);
  misses_the_last(&m, b[0], b[1], b[2]);
  nest_finish(&m);
  assert_int_equal(interp_equal(&n.heap.heap, &n.p, &m.p, 1, NULL, &e, &which),
                   TESS_MISMATCH);
  assert_int_equal(which, 1);
  assert_int_equal(e.element, N - 1);
  m.e = e;
  assert_string_equal(nest_error(&m, text, sizeof text),
                      "R[8] differs: only the first program writes it");
  assert_int_equal(interp_equal(&n.heap.heap, &m.p, &n.p, 1, NULL, &e, &which),
                   TESS_MISMATCH);
  nest_end(&m);
  interp_residue_start(&m, F32, b);
  reads_beyond(&m, b[0], b[1], b[2]);
  nest_finish(&m);
  assert_int_equal(interp_equal(&n.heap.heap, &m.p, &n.p, 1, NULL, &e, &which),
                   TESS_BOUNDS);
  assert_int_equal(which, 0);
  nest_end(&m);
  interp_residue_start(&m, F16, b);
  copies_all(&m, b[0], b[1], b[2]);
  nest_finish(&m);
  assert_int_equal(interp_equal(&n.heap.heap, &n.p, &m.p, 1, NULL, &e, &which),
                   TESS_INVALID);
  nest_end(&m);
  nest_end(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ring_laws),
      cmocka_unit_test(zeros_of_one_prime),
      cmocka_unit_test(powers),
      cmocka_unit_test(greatest_numbers),
      cmocka_unit_test(constants_are_exact),
      cmocka_unit_test(order_is_total),
      cmocka_unit_test(places),
      cmocka_unit_test(orders_agree),
      cmocka_unit_test(ties_are_met),
      cmocka_unit_test(division_is_exact),
      cmocka_unit_test(functions_and_hashes),
      cmocka_unit_test(reductions_agree),
      cmocka_unit_test(known_values_are_seen_through),
      cmocka_unit_test(gathers_agree),
      cmocka_unit_test(reports),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
