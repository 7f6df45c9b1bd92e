/* SPDX-License-Identifier: Apache-2.0
 * Labels: slow
 * Random schedules of random programs, as bench/fuzz runs them by the hundred
 * thousand: a run of them finds nothing wrong, and each way of damaging
 * programs on purpose is found. */
#include "random/fuzz.h"
#include "support/test.h"

enum { SCHEDULES = TEST_CHECKED ? 300 : 1000, DAMAGED = 400, SEED = 2026 };

static void nothing_is_wrong(void **state) {
  fuzz_options o = {.through_llvm = false};
  fuzz f;
  (void)state;
  fuzz_init(&f);
  for (uint64_t k = 0; k < SCHEDULES; k++)
    if (fuzz_case(&f, &o, SEED, k))
      fail_msg("%s\nagain: bench/fuzz --seed %d --only %d", str_get(&f.report),
               SEED, (int)k);
  assert_int_equal(f.counts.schedules, SCHEDULES);
  assert_true(f.counts.legal > SCHEDULES);
  assert_true(f.counts.refused > SCHEDULES);
  assert_true(f.counts.comparisons >= SCHEDULES);
  assert_int_equal(f.counts.lowered + f.counts.skipped[FUZZ_NOT_LOWERED] +
                       f.counts.skipped[FUZZ_LOWER_LIMIT] +
                       f.counts.skipped[FUZZ_ROUNDED_LONG],
                   SCHEDULES);
  assert_true(f.counts.lowered > SCHEDULES * 9 / 10);
  assert_true(f.counts.halves > SCHEDULES / 20);
  assert_int_equal(f.counts.round_trips, 3 * SCHEDULES);
  assert_true(f.counts.through_tvm > SCHEDULES / 4);
  fuzz_free(&f);
  assert_int_equal(f.heap.used, 0);
}

/* A few go through the compiler; bench/fuzz does many. */
static void compiled_ones_agree(void **state) {
  fuzz_options o = {.through_llvm = true};
  fuzz f;
  (void)state;
  fuzz_init(&f);
  for (uint64_t k = 0; k < 400; k += 4)
    if (fuzz_case(&f, &o, SEED, k))
      fail_msg("%s\nagain: bench/fuzz --seed %d --only %d", str_get(&f.report),
               SEED, (int)k);
  assert_int_equal(f.counts.through_llvm +
                       f.counts.skipped[FUZZ_NATIVE_UNSUPPORTED] +
                       f.counts.skipped[FUZZ_NATIVE_LIMIT] +
                       f.counts.skipped[FUZZ_NOT_COMPILED],
                   100);
  assert_true(f.counts.through_llvm > 90);
  assert_true(f.counts.to_the_bit > 40);
  assert_true(f.counts.any_integers > 0);
  fuzz_free(&f);
  assert_int_equal(f.heap.used, 0);
}

static void each_fault_is_found(void **state) {
  (void)state;
  for (uint32_t fault = 1; fault <= FUZZ_FAULTS; fault++) {
    fuzz_options o = {.fault = fault};
    fuzz f;
    fuzz_init(&f);
    for (uint64_t k = 0; k < DAMAGED && !f.counts.wrong; k++)
      (void)fuzz_case(&f, &o, SEED, k);
    if (!f.counts.wrong)
      fail_msg("fault %u is not found: %s", fault, fuzz_fault_text(fault));
    fuzz_free(&f);
  }
}

/* What a case is does not depend on what is looked at. */
static void cases_repeat(void **state) {
  fuzz_options some = {.max_depth = 0}, all = {.every_step = true};
  fuzz f;
  (void)state;
  fuzz_init(&f);
  for (uint64_t k = 1; k < 40; k++) {
    assert_int_equal(fuzz_case(&f, &some, SEED, k), TESS_OK);
    uint64_t legal = f.counts.legal, refused = f.counts.refused;
    f.counts = (fuzz_counts){0};
    assert_int_equal(fuzz_case(&f, &all, SEED, k), TESS_OK);
    assert_int_equal(f.counts.legal, legal);
    assert_int_equal(f.counts.refused, refused);
    f.counts = (fuzz_counts){0};
  }
  fuzz_free(&f);
}

/* Annotates by the key of no use that is drawn for names, and takes that
 * away again. */
static void any_key_is_a_key(void **state) {
  fuzz_options o = {.through_llvm = false};
  fuzz f;
  (void)state;
  fuzz_init(&f);
  if (fuzz_case(&f, &o, 9101, 358)) fail_msg("%s", str_get(&f.report));
  fuzz_free(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_wrong),
      cmocka_unit_test(compiled_ones_agree),
      cmocka_unit_test(each_fault_is_found),
      cmocka_unit_test(cases_repeat),
      cmocka_unit_test(any_key_is_a_key),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
