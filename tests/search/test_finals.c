/* SPDX-License-Identifier: Apache-2.0
 * The end of a tuning run: the fastest candidates are timed again, interleaved,
 * and who is named was compared with the reference.
 * Labels: threads */
#include "support/recorded.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>

/* A machine that is `slower` in so many of the last matches' first. */
static struct {
  double slower;
  int times, seen;
} busy;

static tess_status busy_rematch(void *ud, uint32_t n, const strbuf *const *code,
                                double *seconds) {
  (void)ud, (void)code;
  bool slow = busy.seen++ < busy.times;
  for (uint32_t i = 0; i < n && slow; i++) seconds[i] *= busy.slower;
  return TESS_OK;
}

/* Slow finalists are timed again; if they stay slow a note says so. */
static void test_a_busy_end(void **state) {
  (void)state;
  static const struct {
    double slower;
    int times, seen, told;
  } cases[] = {
      {1.2, 9, 1, 0}, {9, 1, 2, 0}, {9, 3, 4, 0}, {9, 9, 4, 1}, {0.1, 9, 1, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    recorded_run f;
    tess_result *r;
    tess_result_info info = TESS_INIT(tess_result_info);
    char note[200];
    recorded_start(&f);
    f.m.rematch = busy_rematch;
    busy.slower = cases[i].slower;
    busy.times = cases[i].times;
    busy.seen = 0;
    assert_int_equal(recorded_tune(&f, &r), TESS_OK);
    tess_result_get(r, &info);
    double then = info.curve[info.ncurve - 1];
    bool calm = cases[i].times < cases[i].seen;
    assert_true(info.latency == (calm ? then : then * busy.slower));
    assert_int_equal(busy.seen, cases[i].seen);
    snprintf(note, sizeof note,
             "the best trial took %.4g ms; when the best few were timed again "
             "at the end, the best of them took %.4g ms: was the machine busy?",
             then * 1e3, info.latency * 1e3);
    assert_string_equal(info.note, cases[i].told ? note : "");
    tess_result_free(r);
    recorded_end(&f);
  }
}

/* What the unscheduled program takes, as a share of the best; 0: it is not
 * worth asking. */
static struct {
  double share;
  tess_status status;
} base;

static tess_status base_code(void *ud, double best, strbuf *code) {
  (void)ud;
  assert_true(best > 0 && isfinite(best));
  if (base.share > 0) str_puts(code, "unscheduled");
  return base.status;
}

/* The time of its one run, which counts where it is not timed again. */
static double base_once(void *ud, double best) {
  (void)ud;
  return base.share > 0 ? 0 : 3 * best;
}

static tess_status base_rematch(void *ud, uint32_t n, const strbuf *const *code,
                                double *seconds) {
  (void)ud;
  if (n != 2 || strcmp(str_get(code[1]), "unscheduled")) return TESS_OK;
  seconds[0] = 4e-3;
  seconds[1] = 4e-3 * base.share;
  return TESS_OK;
}

/* Where the best is slower than the program as it was, the result says so. */
static void test_slower_than_unscheduled(void **state) {
  (void)state;
  static const struct {
    double share;
    tess_status status;
    const char *note;
  } cases[] = {{0.5, TESS_OK,
                "the best is slower than the unscheduled program: timed "
                "interleaved, they took 4 ms and 2 ms"},
               {0.95, TESS_OK, ""},
               {2, TESS_OK, ""},
               {INFINITY, TESS_OK, ""},
               {0, TESS_OK, ""},
               {0.5, TESS_NOMEM, ""}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    recorded_run f;
    tess_result *r;
    tess_result_info info = TESS_INIT(tess_result_info);
    recorded_start(&f);
    f.m.unscheduled = base_code;
    f.m.reference = base_once;
    f.m.rematch = base_rematch;
    base.share = cases[i].share;
    base.status = cases[i].status;
    assert_int_equal(recorded_tune(&f, &r), TESS_OK);
    tess_result_get(r, &info);
    assert_int_equal(info.status, TESS_OK);
    assert_true(info.latency == info.curve[info.ncurve - 1]);
    assert_string_equal(info.note, cases[i].note);
    double expected = base.status != TESS_OK || isinf(base.share) ? 0
                      : base.share > 0 ? 4e-3 * base.share
                                       : 3 * info.latency;
    assert_true(info.unscheduled == expected);
    tess_result_free(r);
    recorded_end(&f);
  }
}

/* Whether it was the best so far when it was measured, and so compared. */
static bool was_best(const recorded *r, uint64_t hash) {
  for (uint32_t i = 0; i < r->n && r->order[i] != hash; i++)
    if (recorded_time(r->order[i]) <= recorded_time(hash)) return false;
  return true;
}

static uint32_t first_bests(const recorded *r) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < r->n; i++) n += was_best(r, r->order[i]);
  return n;
}

static struct {
  const recorded *r;
  uint32_t unchecked, matched;
  uint64_t first, winner; /* the fastest before, and in the match */
} last;

/* The slower one was, the faster it is. */
static tess_status upside_down(void *ud, uint32_t n, const strbuf *const *code,
                               double *seconds) {
  (void)ud;
  for (uint32_t i = 0; i < n; i++) {
    uint64_t hash;
    assert_int_equal(code[i]->n, sizeof hash);
    memcpy(&hash, str_get(code[i]), sizeof hash);
    if (i == 0) last.first = hash;
    last.winner = hash;
    last.unchecked += !was_best(last.r, hash);
    seconds[i] = 1e-4 / (i + 1);
  }
  last.matched = n;
  return TESS_OK;
}

static void start_upside_down(recorded_run *f) {
  recorded_start(f);
  f->o.strategy = "replay";
  f->m.rematch = upside_down;
  memset(&last, 0, sizeof last);
  last.r = &f->r;
}

/* Whether the trace of the result is that of the candidate. */
static bool is_of(const recorded_run *f, tess_result *r, uint64_t hash) {
  tess_trace *trace;
  vm_decisions d = {0};
  bool same = false;
  assert_int_equal(tess_result_trace(r, &trace), TESS_OK);
  vm_get_decisions(&trace->t, &f->t.c->heap, &d);
  for (uint32_t k = 0; k < f->t.nsketch; k++)
    same = same || search_hash(k, d.n, d.v) == hash;
  vec_free(&f->t.c->heap, &d);
  tess_trace_free(trace);
  return same;
}

/* Who is named is who won the last match, not who was the fastest before. */
static void test_the_match_decides(void **state) {
  (void)state;
  for (int turned = 0; turned < 2; turned++) {
    recorded_run f;
    tess_result *r;
    start_upside_down(&f);
    if (!turned) f.m.rematch = busy_rematch;
    busy.times = busy.seen = 0;
    assert_int_equal(recorded_tune(&f, &r), TESS_OK);
    uint64_t best = f.r.order[0];
    for (uint32_t i = 1; i < f.r.n; i++)
      if (recorded_time(f.r.order[i]) < recorded_time(best))
        best = f.r.order[i];
    assert_int_equal(is_of(&f, r, best), !turned);
    if (turned) {
      assert_true(last.first == best && last.winner != best);
      assert_true(is_of(&f, r, last.winner));
    }
    tess_result_free(r);
    recorded_end(&f);
  }
}

/* What is taken without measuring is timed beside the best where it may be as
 * fast, and then may win; elsewhere, and where it is among them, it has no seat
 * of its own. */
static void test_the_draft_has_a_seat(void **state) {
  (void)state;
  static const struct {
    double time; /* the best of the others take 1 ms */
    bool timed, seated;
  } cases[] = {{1.4e-3, true, true},
               {1.9e-3, true, false},
               {0.9e-3, true, false},
               {1.4e-3, false, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    recorded_run f;
    tess_result *r;
    start_upside_down(&f);
    f.o.strategy = "genetic";
    f.timed = cases[i].timed;
    f.r.odd = recorded_draft(&f);
    f.r.odd_time = cases[i].time;
    assert_int_equal(recorded_tune(&f, &r), TESS_OK);
    assert_int_equal(last.matched, cases[i].seated ? 5 : 4);
    assert_int_equal(f.r.n, cases[i].seated ? 101 : 100);
    assert_int_equal(is_of(&f, r, f.r.odd), cases[i].seated);
    tess_result_free(r);
    recorded_end(&f);
  }
}

/* The finalists that were never compared are before they meet; where they are
 * right any of them may win. */
static void test_all_finalists_are_right(void **state) {
  (void)state;
  recorded_run f;
  tess_result *r;
  tess_result_info info = TESS_INIT(tess_result_info);
  start_upside_down(&f);
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  assert_int_equal(last.matched, 4);
  assert_in_range(last.unchecked, 1, 4);
  assert_int_equal(f.r.compared, last.unchecked);
  assert_true(info.latency == 1e-4 / 4);
  assert_int_equal(info.failed, 0);
  tess_result_free(r);
  recorded_end(&f);
}

/* Those that are wrong have that class everywhere, and none of them wins. */
static void test_wrong_finalists(void **state) {
  (void)state;
  char path[400], text[80];
  recorded_run f;
  tess_result *r;
  tess_result_info info = TESS_INIT(tess_result_info);
  recorded_database(path, sizeof path);
  start_upside_down(&f);
  f.o.database = path;
  f.r.later = TESS_WRONG_RESULT;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  uint32_t wrong = f.r.compared, bests = first_bests(&f.r);
  assert_in_range(wrong, 1, 3);
  assert_int_equal(last.unchecked, 0);
  assert_int_equal(info.status, TESS_OK);
  assert_int_equal(info.failed, wrong);
  snprintf(text, sizeof text, "{\"OK\": %u, \"WRONG_RESULT\": %u}", 100 - wrong,
           wrong);
  assert_string_equal(info.classes, text);
  assert_int_equal(recorded_line(info.funnel, "  measured: ok"), 100 - wrong);
  assert_non_null(strstr(info.funnel, ": what is wrong\n"));
  assert_int_equal(recorded_count(path,
                                  "status = 'WRONG_RESULT' AND NOT checked "
                                  "AND seconds IS NULL AND message = "
                                  "'what is wrong'"),
                   wrong);
  assert_int_equal(recorded_count(path, "status = 'OK'"), 100 - wrong);
  assert_int_equal(recorded_count(path, "checked"), bests);
  tess_result_free(r);
  recorded_end(&f);
  recorded_remove(path);
}

/* Those of which nothing could be found out do not take part, and that is all:
 * it says nothing of them. */
static void test_finalists_that_nobody_could_compare(void **state) {
  (void)state;
  static const tess_status why[] = {TESS_INFRA, TESS_CANCELLED, TESS_TIMEOUT};
  for (size_t i = 0; i < sizeof why / sizeof *why; i++) {
    recorded_run f;
    tess_result *r;
    tess_result_info info = TESS_INIT(tess_result_info);
    start_upside_down(&f);
    f.r.later = why[i];
    assert_int_equal(recorded_tune(&f, &r), TESS_OK);
    tess_result_get(r, &info);
    assert_true(f.r.compared > 0);
    assert_int_equal(f.r.n, 100);
    assert_int_equal(last.unchecked, 0);
    assert_int_equal(info.status, TESS_OK);
    assert_string_equal(info.classes, "{\"OK\": 100}");
    assert_true(isfinite(info.latency));
    tess_result_free(r);
    recorded_end(&f);
  }
}

/* A run that is stopped compares nothing at its end: it gives the best of what
 * was compared, though others were faster.  So does one that goes on, and what
 * it measures is compared where it beats that. */
static void test_stopped_run_names_what_was_compared(void **state) {
  (void)state;
  char path[400];
  recorded_run f;
  tess_result *r;
  recorded_database(path, sizeof path);
  start_upside_down(&f);
  f.o.database = path;
  recorded_until(&f, 10, &r);
  tess_result_free(r);
  recorded_change(path, "UPDATE record SET checked = id = 1, seconds = "
                        "CASE id WHEN 1 THEN 1.0 ELSE 1e-6 END");
  assert_true(recorded_until(&f, 0, &r).latency == recorded_time(f.r.order[0]));
  assert_int_equal(recorded_count(path, "checked"), 2);
  tess_result_free(r);
  recorded_change(path,
                  "UPDATE record SET checked = id = 1, seconds = 1e-3 / id");
  assert_true(recorded_until(&f, 0, &r).latency == 1e-3);
  assert_int_equal(recorded_count(path, "checked"), 1);
  tess_result_free(r);
  recorded_end(&f);
  recorded_remove(path);
}

/* The best of an earlier run is measured again, and compared then: what is
 * wrong now has failed, and of the others one that was right is named. */
static void test_earlier_bests_that_are_wrong(void **state) {
  (void)state;
  enum { TRIED = 4 };
  char path[400];
  recorded_run f;
  tess_result *r;
  tess_result_info info = TESS_INIT(tess_result_info);
  recorded_database(path, sizeof path);
  start_upside_down(&f);
  f.o.database = path;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_free(r);
  recorded_change(path, "UPDATE record SET checked = 1, seconds = 1e-3 * id");
  f.r.fail_every = 1;
  f.r.fail_with = TESS_WRONG_RESULT;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  assert_int_equal(f.r.n, TRIED);
  assert_int_equal(info.status, TESS_OK);
  assert_int_equal(info.trials, 100);
  assert_int_equal(info.failed, TRIED);
  assert_string_equal(info.classes, "{\"WRONG_RESULT\": 4}");
  assert_true(info.latency == 1e-3 * (TRIED + 1));
  assert_string_equal(info.note, "");
  assert_int_equal(recorded_count(path, "status = 'WRONG_RESULT' AND id <= 4"),
                   TRIED);
  assert_int_equal(recorded_count(path, "status = 'OK'"), 100 - TRIED);
  tess_result_free(r);
  recorded_end(&f);
  recorded_remove(path);
}

/* A database that does not say it yet: what was the best when it was stored
 * was compared. */
static void test_database_of_an_earlier_engine(void **state) {
  (void)state;
  char path[400];
  recorded_run f;
  tess_result *r;
  recorded_database(path, sizeof path);
  start_upside_down(&f);
  f.o.database = path;
  recorded_until(&f, 40, &r);
  int bests = (int)first_bests(&f.r);
  tess_result_free(r);
  assert_in_range(bests, 2, 39);
  assert_int_equal(recorded_count(path, "checked"), bests);
  recorded_change(path, "ALTER TABLE record DROP COLUMN checked");
  recorded_until(&f, 0, &r);
  tess_result_free(r);
  assert_int_equal(recorded_count(path, "checked AND id <= 40"), bests);
  assert_int_equal(recorded_count(path, "1"), 41);
  recorded_end(&f);
  recorded_remove(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_busy_end),
      cmocka_unit_test(test_slower_than_unscheduled),
      cmocka_unit_test(test_the_match_decides),
      cmocka_unit_test(test_the_draft_has_a_seat),
      cmocka_unit_test(test_all_finalists_are_right),
      cmocka_unit_test(test_wrong_finalists),
      cmocka_unit_test(test_finalists_that_nobody_could_compare),
      cmocka_unit_test(test_stopped_run_names_what_was_compared),
      cmocka_unit_test(test_earlier_bests_that_are_wrong),
      cmocka_unit_test(test_database_of_an_earlier_engine)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
