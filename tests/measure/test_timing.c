/* SPDX-License-Identifier: Apache-2.0
 * Samples of run times, recorded ones, and their statistics. */
#include "measure/timing.h"
#include "support/test.h"

#include <math.h>

/* A result with samples in this order; what it says of them. */
static void summarize(uint32_t n, const double *v, measure_result *r) {
  test_heap mem;
  test_heap_start(&mem, 0);
  memset(r, 0, sizeof *r);
  for (uint32_t i = 0; i < n; i++) vec_push(&mem.heap, &r->sample, v[i]);
  timing_summarize(&mem.heap, r);
  assert_memory_equal(r->sample.v, v, n * sizeof *v); /* as they were taken */
  vec_free(&mem.heap, &r->sample);
  test_heap_end(&mem);
}

static void test_odd(void **state) {
  (void)state;
  measure_result r;
  summarize(5, (double[]){9, 2, 4, 1, 4}, &r);
  assert_true(r.median == 4 && r.min == 1 && r.max == 9 && r.mean == 4);
  assert_true(r.stddev == sqrt(38.0 / 4));
}

/* The median is between the two in the middle. */
static void test_even(void **state) {
  (void)state;
  measure_result r;
  summarize(4, (double[]){10, 3, 1, 2}, &r);
  assert_true(r.median == 2.5 && r.min == 1 && r.max == 10 && r.mean == 4);
  assert_true(r.stddev == sqrt(50.0 / 3));
}

static void test_one(void **state) {
  (void)state;
  measure_result r;
  summarize(1, (double[]){7}, &r);
  assert_true(r.median == 7 && r.min == 7 && r.max == 7 && r.mean == 7);
  assert_true(r.stddev == 0);
}

/* ---- taking them -------------------------------------------------------- */

/* Something that takes `seconds` a run, and longer each time it is asked. */
typedef struct tape {
  double seconds;
  uint32_t asked, fails_at; /* 0: never */
  uint64_t runs;            /* of the last time */
  bool steady;              /* it takes as long each time */
  double total;             /* what it took */
  uint32_t *turn;           /* what all tapes were asked */
  uint32_t at;              /* the turn in which it was asked last */
} tape;

static bool play(void *ud, uint64_t runs, double *seconds) {
  tape *t = ud;
  t->at = (*t->turn)++;
  t->runs = runs;
  t->asked++;
  *seconds = t->seconds * (t->steady ? 1 : t->asked) * (double)runs;
  t->total += *seconds;
  return t->asked != t->fails_at;
}

static const timing_limits five = {.repeats = 5, .deadline = INFINITY};

/* What is short runs often for one sample, which is the time of one run. */
static void test_runs_of_a_sample(void **state) {
  (void)state;
  static const struct {
    double estimate;
    bool alone;
    uint64_t runs;
  } cases[] = {
      {0x1p-20, false, 1049}, {0x1p-20, true, 1}, {1e-3, false, 1}, {2, 0, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    test_heap mem;
    uint32_t turn = 0;
    tape t = {.seconds = 0x1p-20, .turn = &turn};
    measure_result r = {.runs = 0}, *out = &r;
    timing_subject s = {play, &t, cases[i].estimate, cases[i].alone};
    test_heap_start(&mem, 0);
    assert_true(timing_take(&mem.heap, &five, 1, &s, &out));
    assert_int_equal(t.runs, cases[i].runs);
    assert_int_equal(r.runs, 5 * cases[i].runs);
    assert_int_equal(r.sample.n, 5);
    for (uint32_t k = 0; k < 5; k++)
      assert_true(r.sample.v[k] == 0x1p-20 * (k + 1));
    timing_summarize(&mem.heap, &r);
    assert_true(r.median == 0x1p-20 * 3);
    vec_free(&mem.heap, &r.sample);
    test_heap_end(&mem);
  }
}

/* So many samples at least, and so much time of all together. */
static void test_enough(void **state) {
  (void)state;
  static const timing_margins any = {{0}},
                              few = {{9, .3, .15, .1, .08, .06, .05, .04}};
  const struct {
    timing_limits l;
    uint32_t n;
  } cases[] = {
      {{0, 5, INFINITY, 0, any}, 5},      {{15, 3, INFINITY, 0, any}, 5},
      {{16, 3, INFINITY, 0, any}, 6},     {{1, 3, INFINITY, 0, any}, 3},
      {{0, 5, -INFINITY, 0, any}, 1},     {{0, 20000, INFINITY, 0, any}, 10000},
      {{0, 50, INFINITY, 0.7, few}, 1},   /* 1 > 0.7 * 1.3 */
      {{0, 50, INFINITY, 0.9, few}, 3},   /* 1 > 0.9 * 1.1 */
      {{0, 50, INFINITY, 0.98, few}, 14}, /* 1 > 0.98 * (1 + 0.04 * 7 / 14) */
      {{0, 50, INFINITY, 1, few}, 27},    /* 26 of 50 are slower */
      {{0, 50, INFINITY, 25, few}, 50},   /* 25 are */
      {{0, 50, INFINITY, 0.7, any}, 50},  {{0, 50, INFINITY, 0, few}, 50}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    test_heap mem;
    uint32_t turn = 0;
    tape t = {.seconds = 1, .turn = &turn};
    measure_result r = {.runs = 0}, *out = &r;
    timing_subject s = {play, &t, 1, false};
    test_heap_start(&mem, 0);
    assert_true(timing_take(&mem.heap, &cases[i].l, 1, &s, &out));
    assert_int_equal(r.sample.n, cases[i].n);
    vec_free(&mem.heap, &r.sample);
    test_heap_end(&mem);
  }
}

/* However long it shall take, and however wrong the estimate was, it does so
 * in not many more samples. */
static void test_long(void **state) {
  (void)state;
  static const struct {
    double estimate, min_time;
  } cases[] = {{1e-3, 60}, {1e-3, 9}, {1e-4, 500}, {1, 60}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    test_heap mem;
    uint32_t turn = 0;
    tape t = {.seconds = 1e-4, .turn = &turn, .steady = true};
    measure_result r = {.runs = 0}, *out = &r;
    timing_subject s = {play, &t, cases[i].estimate, false};
    timing_limits l = {
        .min_time = cases[i].min_time, .repeats = 5, .deadline = INFINITY};
    test_heap_start(&mem, 0);
    assert_true(timing_take(&mem.heap, &l, 1, &s, &out));
    assert_true(t.total >= l.min_time && t.total < l.min_time + 0.2);
    assert_in_range(r.sample.n, 5, 10002);
    vec_free(&mem.heap, &r.sample);
    test_heap_end(&mem);
  }
}

/* Several are interleaved, and not always the same first; one that fails
 * ends it. */
static void test_turns(void **state) {
  (void)state;
  for (uint32_t fails_at = 0; fails_at < 3; fails_at++) {
    test_heap mem;
    uint32_t turn = 0;
    tape t[3] = {{1, .turn = &turn}, {2, .turn = &turn}, {4, .turn = &turn}};
    measure_result r[3] = {{.runs = 0}}, *out[] = {&r[0], &r[1], &r[2]};
    timing_subject s[3];
    t[2].fails_at = fails_at;
    for (int k = 0; k < 3; k++) s[k] = (timing_subject){play, &t[k], 1, 0};
    test_heap_start(&mem, 0);
    bool ok = timing_take(&mem.heap, &five, 3, s, out);
    assert_int_equal(ok, !fails_at);
    assert_int_equal(turn, fails_at == 0 ? 15 : fails_at == 1 ? 3 : 5);
    assert_int_equal(r[2].sample.n, fails_at ? fails_at - 1 : 5);
    for (int k = 0; k < 3 && ok; k++) {
      assert_int_equal(r[k].sample.n, 5);
      assert_true(r[k].sample.v[0] == t[k].seconds);
    }
    if (ok) assert_true(t[1].at == 12 && t[2].at == 13 && t[0].at == 14);
    for (int k = 0; k < 3; k++) vec_free(&mem.heap, &r[k].sample);
    test_heap_end(&mem);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_odd),    cmocka_unit_test(test_even),
      cmocka_unit_test(test_one),    cmocka_unit_test(test_runs_of_a_sample),
      cmocka_unit_test(test_enough), cmocka_unit_test(test_long),
      cmocka_unit_test(test_turns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
