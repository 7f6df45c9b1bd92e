/* SPDX-License-Identifier: Apache-2.0
 * Compiles random thread-bound programs for a device and compares bits. */
#include "support/device_fuzz.h"
#include "random/fuzz.h"
#include "support/test.h"
#include <stdio.h>

void device_fuzz(const char *target, uint64_t seed, uint64_t cases,
                 uint64_t least) {
  fuzz_options o = {.device = target};
  fuzz f;
  fuzz_init(&f);
  for (uint64_t k = 0; k < cases; k += FUZZ_COMPILED)
    if (fuzz_case(&f, &o, seed, k)) fail_msg("%s", str_get(&f.report));
  printf("%llu kernels, of %llu schedules\n",
         (unsigned long long)f.counts.through_device,
         (unsigned long long)f.counts.schedules);
  assert_true(f.counts.through_device >= least);
  fuzz_free(&f);
  assert_int_equal(f.heap.used, 0);
}
