/* SPDX-License-Identifier: Apache-2.0
 * Cross-thread reductions: each thread reduces its part, one of them the
 * partial results. */
#include "base/rng.h"
#include "ir/edit.h"
#include "support/lowering.h"

enum { ROUNDS = 400 };

/* C[i] = sum over j, k of A[i, j * depth + k], D[i] = C[i] + 1. */
static void cross_describe(int64_t rows, int64_t wide, int64_t depth) {
  ir_buf a =
      scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, (int64_t[]){rows, wide * depth});
  ir_buf c = scheduled_buf(&t, "C", IR_ROLE_LOCAL, 1, &rows);
  ir_buf d = scheduled_buf(&t, "D", IR_ROLE_OUTPUT, 1, &rows);
  scheduled_block(&t, "C", "SRR", (int64_t[]){rows, wide, depth});
  ir_expr at =
      ir_add(&t.p, ir_mul(&t.p, t.it[1], ir_index(&t.p, depth)), t.it[2]);
  scheduled_store(&t, c, t.it[0], 0, scheduled_load(&t, a, t.it[0], at), true);
  scheduled_block(&t, "D", "S", &rows);
  scheduled_store(
      &t, d, t.it[0], 0,
      ir_add(&t.p, scheduled_load(&t, c, t.it[0], 0),
             ir_real(&t.p, (tess_dtype){TESS_DTYPE_FLOAT, 32, 1}, 1)),
      false);
  scheduled_finish(&t);
}

static ir_stmt cross_loop(const char *block, uint32_t k) {
  return scheduled_loop(&t, scheduled_get(&t, block), k);
}

static bool cross_bind(ir_stmt l, const char *axis) {
  return RUN(&t, bind, AT(loop, l), STR(thread_axis, axis));
}

static const char *kernels(void) {
  return lowered_text(&low, &t.p, "compact_thread_buffers", &t.texts);
}

static void shared_work(void **state) {
  (void)state;
  cross_describe(5, 8, 4);
  assert_true(cross_bind(cross_loop("C", 0), "blockIdx.x"));
  assert_true(cross_bind(cross_loop("C", 1), "threadIdx.x"));
  const char *text = kernels();
  assert_non_null(strstr(text, "C_parts: float32[8, 1] in shared"));
  assert_non_null(strstr(text, "barrier shared"));
  must_work();
}

/* Both loops, in two axes; rows in a third. */
static void two_axes(void **state) {
  (void)state;
  cross_describe(4, 3, 5);
  assert_true(cross_bind(cross_loop("C", 0), "threadIdx.z"));
  assert_true(cross_bind(cross_loop("C", 1), "threadIdx.x"));
  assert_true(cross_bind(cross_loop("C", 2), "threadIdx.y"));
  must_work();
}

/* Two loops of one axis: one of them is serial in each thread. */
static void one_axis_twice(void **state) {
  (void)state;
  cross_describe(1, 2, 3);
  assert_true(cross_bind(cross_loop("C", 0), "threadIdx.x"));
  assert_true(cross_bind(cross_loop("C", 1), "threadIdx.x"));
  assert_true(cross_bind(cross_loop("C", 2), "threadIdx.x"));
  must_work();
}

/* Threads without a part contribute the identity. */
static void overhanging(void **state) {
  (void)state;
  cross_describe(3, 10, 1);
  DO(&t, split, AT(loop, cross_loop("C", 1)), INTS(factors, SCH_AUTO, 4));
  assert_true(cross_bind(t.out[1], "threadIdx.x"));
  assert_true(cross_bind(cross_loop("C", 0), "blockIdx.x"));
  must_work();
}

/* The result is read by the threads that computed it. */
static void read_at_once(void **state) {
  (void)state;
  cross_describe(4, 6, 2);
  ir_stmt c = scheduled_get(&t, "C");
  DO(&t, compute_at, AT(block, c), AT(loop, cross_loop("D", 0)));
  assert_true(cross_bind(cross_loop("D", 0), "blockIdx.x"));
  assert_true(cross_bind(cross_loop("C", 1), "threadIdx.x"));
  must_work();
}

static void not_over_the_grid(void **state) {
  (void)state;
  cross_describe(4, 6, 2);
  REFUSED(&t, GRID_INIT, bind, AT(loop, cross_loop("C", 1)),
          STR(thread_axis, "blockIdx.x"));
  REFUSED(&t, ITER_NOT_SPATIAL, bind, AT(loop, cross_loop("C", 1)),
          STR(thread_axis, "vthread.x"));
  REFUSED(&t, ITER_NOT_SPATIAL, parallel, AT(loop, cross_loop("C", 1)));
}

/* ---- random ones -------------------------------------------------------- */

static uint32_t cross_below(rng *r, uint32_t n) { return rng_below(r, n); }

static void cross_step(rng *r) {
  static const char *const axis[] = {"threadIdx.x", "threadIdx.y",
                                     "threadIdx.z", "blockIdx.x", "vthread.x"};
  ir_stmt v[SCHEDULED_MAX];
  ir_stmt b = scheduled_get(&t, cross_below(r, 4) ? "C" : "D");
  uint32_t n = sch_loops_above(&t.p, b, SCHEDULED_MAX, v);
  uint32_t k = cross_below(r, n);
  switch (cross_below(r, 7)) {
  case 0:
    RUN(&t, split, AT(loop, v[k]),
        INTS(factors, SCH_AUTO, 1 + cross_below(r, 4)));
    return;
  case 1:
    if (k + 1 < n) RUN(&t, fuse, LIST(loops, v[k], v[k + 1]));
    return;
  case 2:
    if (k + 1 < n) RUN(&t, reorder, LIST(ordered_loops, v[k + 1], v[k]));
    return;
  case 3:
    if (cross_below(r, 3) == 0)
      RUN(&t, compute_at, AT(block, scheduled_get(&t, "C")),
          AT(loop, cross_loop("D", 0)));
    return;
  default: cross_bind(v[k], axis[cross_below(r, 5)]);
  }
}

static void random_reductions(void **state) {
  (void)state;
  int done = 0, native = 0;
  for (uint64_t i = 0; i < ROUNDS; i++) {
    rng r;
    rng_init(&r, 17, i);
    cross_describe(1 + cross_below(&r, 6), 1 + cross_below(&r, 7),
                   1 + cross_below(&r, 5));
    for (uint32_t steps = 2 + cross_below(&r, 9); steps; steps--)
      cross_step(&r);
    assert_true(scheduled_same(&t));
    done += lowered_check(&low, &t.p) == TESS_OK;
    if (i % 8 == 0) native += lowered_check_native(&low, &t.p) == TESS_OK;
    teardown(NULL);
    setup(NULL);
  }
  assert_true(done > ROUNDS * 3 / 4);
  assert_true(native > ROUNDS / 16);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(shared_work),       TEST(two_axes),     TEST(one_axis_twice),
      TEST(overhanging),       TEST(read_at_once), TEST(not_over_the_grid),
      TEST(random_reductions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
