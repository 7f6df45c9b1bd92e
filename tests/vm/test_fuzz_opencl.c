/* SPDX-License-Identifier: Apache-2.0
 * Random programs under random schedules that bind threads, compiled for OpenCL
 * and run by PoCL: they compute what the interpreter says, to the bit. */
#include "support/device_fuzz.h"
#include "support/test.h"

/* PoCL's limits. */
static const char device[] = "opencl -max-threads-per-block=4096 "
                             "-shared-memory-per-block=1048576 "
                             "-fp-contract=off";

static void kernels_agree(void **state) {
  (void)state;
  device_fuzz(device, 2027, 160, 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_agree)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
