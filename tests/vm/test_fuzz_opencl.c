/* SPDX-License-Identifier: Apache-2.0
 * Random programs under random schedules that bind threads, compiled for OpenCL
 * and run by PoCL: they compute what the interpreter says, to the bit.
 *
 * TESS_FUZZ_CASES=N looks at so many more cases, as was done once. */
#include "support/fuzz.h"
#include "support/test.h"
#include <stdio.h>
#include <stdlib.h>

enum { CASES = 64, SEED = 2027 };

/* PoCL's limits. */
static const char device[] = "opencl -max-threads-per-block=4096 "
                             "-shared-memory-per-block=1048576 "
                             "-fp-contract=off";

static void kernels_agree(void **state) {
  fuzz_options o = {.device = device};
  const char *more = getenv("TESS_FUZZ_CASES");
  uint64_t first = more ? CASES : 0,
           n = more ? strtoull(more, NULL, 10) : CASES;
  fuzz f;
  (void)state;
  fuzz_init(&f);
  for (uint64_t k = first; k < first + n; k += 4)
    if (fuzz_case(&f, &o, SEED, k)) fail_msg("%s", str_get(&f.report));
  printf("%llu kernels, of %llu schedules\n",
         (unsigned long long)f.counts.through_device,
         (unsigned long long)f.counts.schedules);
  assert_true(f.counts.through_device > 1);
  fuzz_free(&f);
  assert_int_equal(f.heap.used, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_agree)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
