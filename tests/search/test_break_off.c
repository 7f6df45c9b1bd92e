/* SPDX-License-Identifier: Apache-2.0
 * Runs that a failure ends early: a full disk, memory, a strategy.  They give
 * the best so far, and the cause. */
#include "base/fault.h"
#include "support/recorded.h"
#include "support/test.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>

/* From the 40th trial on no file grows: as a full disk, in the middle of a
 * batch. */
static int fill_disk(void *ud, const tess_progress *p) {
  struct rlimit l;
  (void)ud;
  if (p->trials != 40) return 0;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &l), 0);
  l.rlim_cur = 0;
  return setrlimit(RLIMIT_FSIZE, &l);
}

static void empty_disk(void) {
  struct rlimit l;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &l), 0);
  l.rlim_cur = l.rlim_max;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

/* A database that cannot be written any more ends the run with the best so
 * far and says why; what was stored stays, and a later run goes on. */
static void test_disk_fills_up(void **state) {
  (void)state;
  char path[400];
  recorded_run f;
  tess_result *r;
  tess_result_info info = TESS_INIT(tess_result_info);
  tess_trace *trace;
  double best = INFINITY;
  recorded_database(path, sizeof path);
  signal(SIGXFSZ, SIG_IGN);
  recorded_start(&f);
  f.o.database = path;
  f.o.progress = fill_disk;
  tess_status s = recorded_tune(&f, &r);
  empty_disk();
  assert_int_equal(s, TESS_OK);
  tess_result_get(r, &info);
  assert_int_equal(info.status, TESS_IO);
  assert_non_null(strstr(info.message, path));
  assert_int_equal(info.trials, 41); /* one that could not be stored */
  assert_int_equal(f.r.n, 41);
  for (uint32_t i = 0; i < f.r.n; i++)
    best = fmin(best, recorded_time(f.r.order[i]));
  assert_true(info.latency == best);
  assert_int_equal(tess_result_trace(r, &trace), TESS_OK);
  tess_trace_free(trace);
  tess_result_free(r);
  f.o.progress = NULL;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  assert_int_equal(info.status, TESS_OK);
  assert_string_equal(info.message, "");
  /* Finalists that are of the first run are measured again. */
  assert_in_range(f.r.n, 100 - 40, 100 - 40 + 4);
  tess_result_free(r);
  recorded_end(&f);
  recorded_remove(path);
}

/* A strategy that fails after some batches, in C. */
typedef struct failing {
  uint32_t batches;
} failing;

static void draw_some(tess_session *s, uint32_t n, tess_candidate *out,
                      uint32_t *got) {
  for (*got = 0; *got < n; ++*got)
    if (tess_session_draw(s, &out[*got]) != TESS_OK) break;
}

static tess_status propose_some(void *ud, tess_session *s, uint32_t n,
                                tess_candidate *out, uint32_t *got) {
  failing *x = ud;
  draw_some(s, n, out, got);
  return x->batches-- ? TESS_OK : TESS_NOMEM;
}

static tess_status observe_none(void *ud, tess_session *s, uint32_t n,
                                const tess_candidate *c) {
  (void)ud, (void)s, (void)n, (void)c;
  return TESS_OK;
}

/* A strategy whose first batch has no decisions. */
static tess_status propose_null(void *ud, tess_session *s, uint32_t n,
                                tess_candidate *out, uint32_t *got) {
  failing *x = ud;
  const tess_candidate none = {.ndecisions = 5};
  if (!x->batches) return draw_some(s, n, out, got), TESS_OK;
  x->batches--;
  assert_int_equal(tess_session_mutate(s, &none, &out[0]), TESS_INVALID);
  assert_int_equal(tess_session_cross(s, &none, &none, &out[0]), TESS_INVALID);
  assert_int_equal(tess_session_seen(s, &none), 0);
  for (*got = 0; *got < n; ++*got) out[*got] = none;
  return TESS_OK;
}

/* Such proposals are counted like others that are none. */
static void test_proposes_nothing(void **state) {
  (void)state;
  recorded_run f;
  tess_result *r;
  tess_result_info info = TESS_INIT(tess_result_info);
  recorded_start(&f);
  failing first = {1};
  const tess_strategy null = {.struct_size = sizeof(tess_strategy),
                              .name = "null",
                              .propose = propose_null,
                              .observe = observe_none,
                              .ud = &first};
  f.o.custom_strategy = &null;
  f.o.trials = 8;
  f.o.batch = 4;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  assert_int_equal(info.trials, 8);
  assert_non_null(strstr(info.funnel, "4  proposed, but its decisions are "
                                      "NULL\n"));
  tess_result_free(r);
  recorded_end(&f);
}

/* A strategy that says what is not so: more than were asked for, or more than
 * it wrote. */
static tess_status propose_beyond(void *ud, tess_session *s, uint32_t n,
                                  tess_candidate *out, uint32_t *got) {
  failing *x = ud;
  for (uint32_t i = 0; i < n; i++) {
    assert_null(out[i].decisions);
    assert_int_equal(out[i].ndecisions, 0);
  }
  if (tess_session_draw(s, &out[0]) != TESS_OK) return TESS_CALLBACK;
  *got = x->batches ? n : n + 100;
  x->batches -= x->batches > 0;
  return TESS_OK;
}

static void test_proposes_beyond(void **state) {
  (void)state;
  recorded_run f;
  tess_result *r;
  tess_result_info info = TESS_INIT(tess_result_info);
  recorded_start(&f);
  failing some = {1};
  const tess_strategy beyond = {.struct_size = sizeof(tess_strategy),
                                .name = "beyond",
                                .propose = propose_beyond,
                                .observe = observe_none,
                                .ud = &some};
  f.o.custom_strategy = &beyond;
  f.o.trials = 8;
  f.o.batch = 4;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  assert_int_equal(info.status, TESS_INVALID);
  assert_string_equal(info.message,
                      "the strategy proposed 104 candidates where at most 4 "
                      "were asked for");
  assert_int_equal(info.trials, 1);
  tess_result_free(r);
  recorded_end(&f);
}

/* Whatever fails in the middle, the best so far is given; where there is
 * none, the run fails. */
static void test_fails_in_the_middle(void **state) {
  (void)state;
  recorded_run f;
  tess_result *r;
  tess_result_info info = TESS_INIT(tess_result_info);
  recorded_start(&f);
  failing some = {2}, none = {0};
  const tess_strategy fails = {.struct_size = sizeof(tess_strategy),
                               .name = "fails",
                               .propose = propose_some,
                               .observe = observe_none,
                               .ud = &some};
  f.o.custom_strategy = &fails;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  assert_int_equal(info.status, TESS_NOMEM);
  assert_string_equal(info.message, "tuning: out of memory");
  assert_true(isfinite(info.latency));
  assert_int_equal(info.trials, f.r.n);
  tess_result_free(r);
  some = none;
  assert_int_equal(recorded_tune(&f, &r), TESS_NOMEM);
  assert_null(r);
  recorded_end(&f);
}

/* Each allocation in turn fails: the run goes on without a candidate, breaks
 * off with the best so far, or fails where there is none; nothing
 * leaks. */
static void memory_runs_out(const char *strategy, const char *model) {
  fault_alloc fault;
  fault_init(&fault);
  const tess_allocator memory = fault_allocator(&fault);
  const tess_options o = {.struct_size = sizeof o, .allocator = &memory};
  recorded_run f;
  uint32_t broke = 0, failed = 0, went_on = 0;
  recorded_start_with(&f, &o);
  tiled_small(&f.t);
  f.o.trials = 6;
  f.o.batch = 2;
  f.o.strategy = strategy;
  f.o.cost_model = model;
  uint64_t met = 1;
  for (uint64_t n = 1; met; n++) {
    tess_result *r = NULL;
    fault_arm(&fault, n);
    tess_status s = recorded_tune(&f, &r);
    met = fault.failed;
    fault.fail_at = 0;
    if (s != TESS_OK) {
      assert_int_equal(s, TESS_NOMEM);
      assert_null(r);
      failed++;
      continue;
    }
    tess_result_info info = TESS_INIT(tess_result_info);
    tess_trace *trace;
    tess_result_get(r, &info);
    if (info.status == TESS_NOMEM)
      broke++;
    else
      went_on++;
    if (isfinite(info.latency)) {
      assert_int_equal(tess_result_trace(r, &trace), TESS_OK);
      tess_trace_free(trace);
    }
    tess_result_free(r);
  }
  assert_true(broke > 0 && failed > 0 && went_on > 0);
  recorded_end(&f);
  assert_int_equal(fault.live_blocks, 0);
  assert_int_equal(fault.broken, 0);
}

static void test_memory_runs_out(void **state) {
  (void)state;
  memory_runs_out("evolutionary", "random");
  memory_runs_out("genetic:population_size=4", "random");
  memory_runs_out("droplet:draws=2", "random");
  memory_runs_out("grid", "random");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_disk_fills_up),
                                     cmocka_unit_test(test_fails_in_the_middle),
                                     cmocka_unit_test(test_proposes_nothing),
                                     cmocka_unit_test(test_proposes_beyond),
                                     cmocka_unit_test(test_memory_runs_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
