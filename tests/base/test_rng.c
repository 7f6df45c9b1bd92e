/* SPDX-License-Identifier: Apache-2.0
 * Random streams: published test vectors of the cipher, independence of
 * anything but seed and index, unbiased distributions. */
#include "support/test.h"
#include "base/rng.h"

/* Random123's kat_vectors for philox4x32-10, as far as a stream's counter
 * reaches them: key = seed, counter = (block, index). */
static void known(uint64_t seed, uint64_t block, uint64_t index,
                  const uint32_t want[4]) {
  rng r;
  rng_init(&r, seed, index);
  r.block = block;
  for (int i = 0; i < 4; i++) assert_int_equal(rng_u32(&r), want[i]);
}

static void test_known_answers(void **state) {
  (void)state;
  known(0, 0, 0, (uint32_t[]){0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  known(UINT64_MAX, UINT64_MAX, UINT64_MAX,
        (uint32_t[]){0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  known(UINT64_C(0x299f31d0a4093822), UINT64_C(0x85a308d3243f6a88),
        UINT64_C(0x0370734413198a2e),
        (uint32_t[]){0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

static void test_streams(void **state) {
  (void)state;
  rng a, b, c;
  rng_init(&a, 3, 8);
  rng_init(&b, 3, 8);
  rng_init(&c, 3, 9);
  int same = 0;
  for (int i = 0; i < 1000; i++) {
    uint64_t x = rng_u64(&a);
    assert_true(x == rng_u64(&b));
    same += x == rng_u64(&c);
  }
  assert_int_equal(same, 0);
}

/* Chi-square over n cells: mean n-1, variance 2(n-1), so six deviations
 * practically never occur with a fixed seed. */
static void rng_fits(const uint32_t *count, const double *expected,
                     uint32_t n) {
  double chi = 0;
  for (uint32_t i = 0; i < n; i++) {
    double d = count[i] - expected[i];
    chi += d * d / expected[i];
  }
  double over = chi - (n - 1);
  assert_true(over * over < 36 * 2.0 * (n - 1));
}

static void test_below_is_uniform(void **state) {
  (void)state;
  static const uint64_t sizes[] = {2, 3, 7, 10, 64, 100};
  for (uint32_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    enum { DRAWS = 100000 };
    uint32_t count[100] = {0}, n = (uint32_t)sizes[s];
    double expected[100];
    rng r;
    rng_init(&r, 5, s);
    for (uint32_t i = 0; i < n; i++) expected[i] = (double)DRAWS / n;
    for (int i = 0; i < DRAWS; i++) {
      uint64_t x = rng_below(&r, n);
      assert_true(x < n);
      count[x]++;
    }
    rng_fits(count, expected, n);
  }
}

/* With n of 3/4 of the range, a plain multiplication or modulus would draw
 * a third of the values twice as often. */
static void biased(uint64_t n, uint64_t seed) {
  enum { DRAWS = 60000, CELLS = 3 };
  uint32_t count[CELLS] = {0};
  const double expected[CELLS] = {DRAWS / 3., DRAWS / 3., DRAWS / 3.};
  rng r;
  rng_init(&r, seed, 0);
  for (int i = 0; i < DRAWS; i++) {
    uint64_t x = rng_below(&r, n);
    assert_true(x < n);
    count[x / (n / CELLS)]++;
  }
  rng_fits(count, expected, CELLS);
  uint32_t residue[CELLS] = {0};
  for (int i = 0; i < DRAWS; i++) residue[rng_below(&r, n) % CELLS]++;
  rng_fits(residue, expected, CELLS);
}

static void test_below_large(void **state) {
  (void)state;
  biased(UINT64_C(0xC0000000), 1);
  biased(UINT64_C(0xC000000000000000), 2);
  rng r;
  rng_init(&r, 0, 0);
  assert_int_equal(rng_below(&r, 1), 0);
}

static void test_weighted(void **state) {
  (void)state;
  enum { DRAWS = 100000 };
  static const uint32_t weight[] = {5, 0, 1, 10, 4};
  uint32_t count[5] = {0}, seen[4];
  rng r;
  rng_init(&r, 9, 1);
  for (int i = 0; i < DRAWS; i++) count[rng_weighted(&r, weight, 5)]++;
  assert_int_equal(count[1], 0);
  seen[0] = count[0], seen[1] = count[2], seen[2] = count[3];
  seen[3] = count[4];
  const double expected[] = {DRAWS / 4., DRAWS / 20., DRAWS / 2., DRAWS / 5.};
  rng_fits(seen, expected, 4);
}

static void test_unit(void **state) {
  (void)state;
  enum { DRAWS = 100000, CELLS = 16 };
  uint32_t count[CELLS] = {0};
  double expected[CELLS];
  rng r;
  rng_init(&r, 2, 2);
  for (int i = 0; i < DRAWS; i++) {
    double x = rng_unit(&r);
    assert_true(x >= 0 && x < 1);
    count[(int)(x * CELLS)]++;
  }
  for (int i = 0; i < CELLS; i++) expected[i] = (double)DRAWS / CELLS;
  rng_fits(count, expected, CELLS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_known_answers),
      cmocka_unit_test(test_streams),
      cmocka_unit_test(test_below_is_uniform),
      cmocka_unit_test(test_below_large),
      cmocka_unit_test(test_weighted),
      cmocka_unit_test(test_unit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
