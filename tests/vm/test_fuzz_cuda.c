/* SPDX-License-Identifier: Apache-2.0
 * Random programs under random schedules that bind threads, compiled for CUDA
 * and run by the emulated device: they compute what the interpreter says, to
 * the bit. */
#include "support/device_fuzz.h"
#include "support/test.h"

static void kernels_agree(void **state) {
  (void)state;
  device_fuzz("cuda -arch=sm_90 -fp-contract=off", 2028, 120, 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_agree)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
