/* SPDX-License-Identifier: Apache-2.0
 * Kernels for CUDA devices compute, on an emulated one, what the interpreter
 * does. */
#include "support/gpu_compare.h"

static void expect_most(const gpu_compared *c) {
  print_message("%u right, %u refused\n", c->right, c->refused);
  assert_true(c->right > 0 && c->right >= c->refused);
}

static void bound_loops(void **state) {
  (void)state;
  gpu_compared c = {0};
  gpu_compare_cases("binding", 1, "cuda -arch=sm_70", &c);
  expect_most(&c);
}

static void suite(void **state) {
  (void)state;
  gpu_compared c = {0};
  gpu_compare_cases("suite", 2, "cuda -arch=sm_80", &c);
  expect_most(&c);
}

static void atomics(void **state) {
  (void)state;
  gpu_compared c = {0};
  gpu_compare_cases("atomics", 2, "cuda -arch=sm_70", &c);
  assert_int_equal(c.right, 12);
  gpu_compared parts = {0};
  gpu_compare_cases("parts", 1, "cuda -arch=sm_70", &parts);
  assert_int_equal(parts.right, 3);
}

/* A kernel of one block has its shared memory there. */
static void one_block(void **state) {
  (void)state;
  gpu_compared c = {0};
  gpu_compare_cases("one_block", 1, "cuda -arch=sm_80", &c);
  gpu_compare_cases("one_block", 1, "cuda -arch=sm_80 -tensor-cores=mma", &c);
  assert_int_equal(c.right, 2);
  assert_true(c.all.shared_read > 0);
}

/* Grids of sizes that are known at the call: several of each program, such that
 * blocks are cut short, and one such that there is none; but no more than a
 * device can have. */
static void grids(void **state) {
  (void)state;
  gpu_compared c = {0}, tall = {0};
  gpu_compare_cases("grids", 1, "cuda -arch=sm_70", &c);
  assert_int_equal(c.refused, 0);
  assert_true(c.right >= 20);
  gpu_compare_cases("tall", 1, "cuda -arch=sm_70", &tall);
  assert_int_equal(tall.right, 1);
  assert_non_null(strstr(tall.why, "a grid has 65536 blocks of threads along "
                                   "blockIdx.y, where 65535 are possible"));
}

/* All kernels of a whole model, which has them untuned. */
static void model(void **state) {
  (void)state;
  gpu_compared c = {0};
  gpu_compare_cases("model", 1, "cuda -arch=sm_80", &c);
  assert_int_equal(c.refused, 0);
  assert_int_equal(c.right, 5);
}

static void tensor_cores(void **state) {
  (void)state;
  gpu_compared c = {0};
  gpu_compare_cases("tensor_core", 2, "cuda -arch=sm_80", &c);
  expect_most(&c);
}

/* Each warp takes its part of the result out of shared memory. */
static void convolutions(void **state) {
  (void)state;
  gpu_compared c = {0};
  gpu_compare_cases("tensor_core_conv", 2, "cuda -arch=sm_80", &c);
  gpu_compare_cases("tensor_core_conv", 1, "cuda -arch=sm_80 -tensor-cores=mma",
                    &c);
  expect_most(&c);
}

/* Copies that are on their way while those before are used. */
static void ahead(void **state) {
  (void)state;
  gpu_compared c = {0};
  gpu_compare_cases("ahead", 3, "cuda -arch=sm_80", &c);
  expect_most(&c);
  assert_true(c.all.async_bytes > 0);
}

static void mma(void **state) {
  (void)state;
  gpu_compared c = {0};
  gpu_compare_cases("tensor_core", 2, "cuda -arch=sm_80 -tensor-cores=mma", &c);
  expect_most(&c);
}

/* A trace of MetaSchedule's for tensor cores, with both kinds of
 * instructions. */
static void bert(void **state) {
  (void)state;
  gpu_compared c = {0};
  gpu_compare_cases("bert", 1, "cuda -arch=sm_70", &c);
  gpu_compare_cases("bert", 1, "cuda -arch=sm_80 -tensor-cores=mma", &c);
  assert_int_equal(c.right, 2);
}

/* Products with asynchronous copies several tiles ahead, whose epilogues are
 * computed on fragments, or in shared memory where the target does not tell
 * their layout; rows of operands in distinct banks. */
static void pipelined(void **state) {
  (void)state;
  gpu_compared mma_ones = {0}, wmma_ones = {0}, old = {0};
  gpu_compare_cases("hgemm", 2, "cuda -arch=sm_80 -tensor-cores=mma",
                    &mma_ones);
  gpu_compare_cases("hgemm", 2, "cuda -arch=sm_80", &wmma_ones);
  gpu_compare_cases("hgemm", 2, "cuda -arch=sm_75", &old);
  assert_int_equal(mma_ones.right, 8);
  assert_int_equal(wmma_ones.right, 8);
  assert_int_equal(old.right, 8);
  assert_true(mma_ones.counts.async_bytes > 0);
  assert_int_equal(mma_ones.counts.bank_conflicts, 0);
}

/* The space's own: operands as they lie are read by whole sectors, and neither
 * copies nor loads of fragments conflict. */
static void staged(void **state) {
  (void)state;
  gpu_compared c = {0};
  gpu_compare_cases("mma", 2, "cuda -arch=sm_80", &c);
  expect_most(&c);
  gpu_compared one = {0};
  gpu_compare_cases("mma_half", 4, "cuda -arch=sm_80", &one);
  assert_true(one.right > 0 && one.all.async_bytes > 0);
  assert_int_equal(one.all.bank_conflicts, 0);
  assert_int_equal(one.all.read_sectors * 32, one.all.global_read);
}

/* Each element of an operand is read once by a block that fetches it together,
 * and by each thread that needs it otherwise. */
static void fetching(void **state) {
  (void)state;
  gpu_compared direct = {0}, fetched = {0};
  gpu_compare_cases("direct", 1, NULL, &direct);
  gpu_compare_cases("fetched", 1, NULL, &fetched);
  assert_int_equal(fetched.counts.global_read, 2 * 64 * 64 * 4 * 4);
  assert_int_equal(direct.counts.global_read, 8 * fetched.counts.global_read);
  assert_int_equal(direct.counts.shared_read, 0);
  assert_true(fetched.counts.barriers > 0);
}

/* A column of a tile of 32 x 32 is in one bank, unless its rows are padded or
 * the layout rotates them: each of 4 tiles has 32 columns, which 32 lanes
 * read. */
static void layouts(void **state) {
  (void)state;
  gpu_compared plain = {0}, padded = {0}, rotated = {0};
  gpu_compare_cases("transposed", 1, NULL, &plain);
  gpu_compare_cases("padded", 1, NULL, &padded);
  gpu_compare_cases("rotated", 1, NULL, &rotated);
  assert_int_equal(plain.right + padded.right + rotated.right, 3);
  assert_int_equal(plain.counts.bank_conflicts, 4 * 32 * 31);
  assert_int_equal(padded.counts.bank_conflicts, 0);
  assert_int_equal(padded.counts.shared_read, plain.counts.shared_read);
  assert_int_equal(rotated.counts.bank_conflicts, 0);
  assert_int_equal(rotated.counts.shared_read, plain.counts.shared_read);
  assert_true(plain.counts.shared_read > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bound_loops),  cmocka_unit_test(suite),
      cmocka_unit_test(model),        cmocka_unit_test(tensor_cores),
      cmocka_unit_test(convolutions), cmocka_unit_test(ahead),
      cmocka_unit_test(mma),          cmocka_unit_test(bert),
      cmocka_unit_test(fetching),     cmocka_unit_test(layouts),
      cmocka_unit_test(pipelined),    cmocka_unit_test(staged),
      cmocka_unit_test(atomics),      cmocka_unit_test(grids),
      cmocka_unit_test(one_block),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
