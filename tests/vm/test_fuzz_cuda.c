/* SPDX-License-Identifier: Apache-2.0
 * Random programs under random schedules that bind threads, compiled for CUDA
 * and run by the emulated device: they compute what the interpreter says, to
 * the bit.
 *
 * TESS_FUZZ_CASES=N looks at so many more cases. */
#include "support/fuzz.h"
#include "support/gpu_backend.h"
#include "support/test.h"
#include <stdio.h>
#include <stdlib.h>

enum { CASES = 120, SEED = 2028 };

static void kernels_agree(void **state) {
  fuzz_options o = {.device = "cuda -arch=sm_90 -fp-contract=off",
                    .device_by = &gpu_backend};
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
  assert_true(f.counts.through_device > 3);
  fuzz_free(&f);
  assert_int_equal(f.heap.used, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_agree)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
