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
  gpu_compare_cases("binding", 2, "cuda -arch=sm_70", &c);
  expect_most(&c);
}

static void suite(void **state) {
  (void)state;
  gpu_compared c = {0};
  gpu_compare_cases("suite", 6, "cuda -arch=sm_80", &c);
  expect_most(&c);
}

static void tensor_cores(void **state) {
  (void)state;
  gpu_compared c = {0};
  gpu_compare_cases("tensor_core", 3, "cuda -arch=sm_80", &c);
  expect_most(&c);
}

static void mma(void **state) {
  (void)state;
  gpu_compared c = {0};
  gpu_compare_cases("tensor_core", 3, "cuda -arch=sm_80 -tensor-cores=mma", &c);
  expect_most(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bound_loops),
      cmocka_unit_test(suite),
      cmocka_unit_test(tensor_cores),
      cmocka_unit_test(mma),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
