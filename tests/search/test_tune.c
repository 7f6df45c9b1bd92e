/* SPDX-License-Identifier: Apache-2.0
 * The tuning loop over a measurer that gives recorded times: the sequence of
 * candidates depends neither on threads nor on delays of the measuring and of
 * the threads themselves; failures of every class;
 * databases and going on where a run ended.
 * Labels: threads */
#include "base/hash.h"
#include "search/loop.h"
#include "support/recorded.h"
#include "support/test.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Memory that every thread is made to wait for while candidates are made, so
 * that threads overtake one another. */
typedef struct lateness {
  atomic_bool on;
  atomic_uint waits;
} lateness;

static void *late(void *ud, void *ptr, size_t osize, size_t nsize) {
  lateness *l = ud;
  (void)osize;
  if (nsize && l->on) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t chance = hash_mix((uint64_t)t.tv_nsec, (uintptr_t)&t);
    t = (struct timespec){0, (long)(chance % 500000)};
    nanosleep(&t, NULL);
    atomic_fetch_add(&l->waits, 1);
  }
  if (nsize) return realloc(ptr, nsize);
  free(ptr);
  return NULL;
}

static void test_same_with_any_threads(void **state) {
  (void)state;
  lateness l = {0};
  const tess_allocator memory = {late, &l};
  const tess_options slow = {.struct_size = sizeof slow, .allocator = &memory};
  static const uint32_t threads[] = {1, 2, 4};
  static const char *const strategies[][2] = {
      {"evolutionary", "random"},
      {"evolutionary:population_size=64", "forest"},
      {"annealing:chains=16,steps=8", "forest"},
      {"replay", "random"}};
  recorded_run f;
  recorded_start_with(&f, &slow);
  for (size_t k = 0; k < sizeof strategies / sizeof *strategies; k++) {
    static uint64_t first[4096];
    uint32_t n = 0;
    f.o.strategy = strategies[k][0];
    f.o.cost_model = strategies[k][1];
    for (int i = 0; i < 3; i++) {
      tess_result *r;
      f.o.threads = threads[i];
      f.r.delays = i > 0;
      f.r.chance = (unsigned)i;
      l.on = i > 0;
      assert_int_equal(recorded_tune(&f, &r), TESS_OK);
      l.on = false;
      assert_int_equal(f.r.n, 100);
      if (i == 0) memcpy(first, f.r.order, sizeof first), n = f.r.n;
      assert_int_equal(f.r.n, n);
      assert_memory_equal(first, f.r.order, n * sizeof *first);
      tess_result_free(r);
    }
  }
  recorded_end(&f);
  assert_true(l.waits > 0);
}

static void test_no_candidate_twice(void **state) {
  (void)state;
  recorded_run f;
  tess_result *r;
  recorded_start(&f);
  f.o.trials = 200;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  for (uint32_t i = 0; i < f.r.n; i++)
    for (uint32_t j = 0; j < i; j++) assert_true(f.r.order[i] != f.r.order[j]);
  tess_result_free(r);
  recorded_end(&f);
}

/* The winner is the best that was measured, and its trace replays. */
static void test_finds_the_best(void **state) {
  (void)state;
  recorded_run f;
  tess_result *r;
  tess_result_info info = TESS_INIT(tess_result_info);
  tess_schedule *sch;
  double best = INFINITY;
  recorded_start(&f);
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  for (uint32_t i = 0; i < f.r.n; i++) {
    best = fmin(best, recorded_time(f.r.order[i]));
    assert_true(info.curve[i] == best);
  }
  assert_int_equal(info.status, TESS_OK);
  assert_true(info.latency == best);
  assert_int_equal(info.trials, 100);
  assert_int_equal(info.ncurve, 100);
  assert_int_equal(tess_result_schedule(r, &sch), TESS_OK);
  tess_schedule_free(sch);
  tess_result_free(r);
  recorded_end(&f);
}

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
    f.m.rematch = base_rematch;
    base.share = cases[i].share;
    base.status = cases[i].status;
    assert_int_equal(recorded_tune(&f, &r), TESS_OK);
    tess_result_get(r, &info);
    assert_int_equal(info.status, TESS_OK);
    assert_true(info.latency == info.curve[info.ncurve - 1]);
    assert_string_equal(info.note, cases[i].note);
    tess_result_free(r);
    recorded_end(&f);
  }
}

/* The number that a line of the funnel begins with. */
static long counted(const char *text, const char *what) {
  const char *at = strstr(text, what);
  if (!at) return 0;
  while (at > text && at[-1] != '\n') at--;
  return strtol(at, NULL, 10);
}

static int stop_at(void *ud, const tess_progress *p) {
  return p->trials >= *(uint32_t *)ud;
}

/* ---- who was compared --------------------------------------------------- */

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

/* How many records there are of which this holds. */
static int count_records(const char *path, const char *what) {
  char sql[200];
  sqlite3 *db;
  sqlite3_stmt *q;
  snprintf(sql, sizeof sql, "SELECT count(*) FROM record WHERE %s", what);
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(q), SQLITE_ROW);
  int n = sqlite3_column_int(q, 0);
  sqlite3_finalize(q);
  sqlite3_close(db);
  return n;
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
  assert_int_equal(counted(info.funnel, "  measured: ok"), 100 - wrong);
  assert_non_null(strstr(info.funnel, ": what is wrong\n"));
  assert_int_equal(count_records(path,
                                 "status = 'WRONG_RESULT' AND NOT checked "
                                 "AND seconds IS NULL AND message = "
                                 "'what is wrong'"),
                   wrong);
  assert_int_equal(count_records(path, "status = 'OK'"), 100 - wrong);
  assert_int_equal(count_records(path, "checked"), bests);
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

static void change(const char *path, const char *sql) {
  sqlite3 *db;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
    fail_msg("%s: %s", sql, sqlite3_errmsg(db));
  sqlite3_close(db);
}

/* A run until it is stopped, at the first trial after so many. */
static tess_result_info tune_until(recorded_run *f, uint32_t limit,
                                   tess_result **r) {
  tess_result_info info = TESS_INIT(tess_result_info);
  f->o.progress = stop_at;
  f->o.progress_ud = &limit;
  assert_int_equal(recorded_tune(f, r), TESS_OK);
  f->o.progress = NULL;
  tess_result_get(*r, &info);
  assert_int_equal(info.status, TESS_CANCELLED);
  assert_int_equal(f->r.compared, 0);
  return info;
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
  tune_until(&f, 10, &r);
  tess_result_free(r);
  change(path, "UPDATE record SET checked = id = 1, seconds = "
               "CASE id WHEN 1 THEN 1.0 ELSE 1e-6 END");
  assert_true(tune_until(&f, 0, &r).latency == recorded_time(f.r.order[0]));
  assert_int_equal(count_records(path, "checked"), 2);
  tess_result_free(r);
  change(path, "UPDATE record SET checked = id = 1, seconds = 1e-3 / id");
  assert_true(tune_until(&f, 0, &r).latency == 1e-3);
  assert_int_equal(count_records(path, "checked"), 1);
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
  tune_until(&f, 40, &r);
  int bests = (int)first_bests(&f.r);
  tess_result_free(r);
  assert_in_range(bests, 2, 39);
  assert_int_equal(count_records(path, "checked"), bests);
  change(path, "ALTER TABLE record DROP COLUMN checked");
  tune_until(&f, 0, &r);
  tess_result_free(r);
  assert_int_equal(count_records(path, "checked AND id <= 40"), bests);
  assert_int_equal(count_records(path, "1"), 41);
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
  change(path, "UPDATE record SET checked = 1, seconds = 1e-3 * id");
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
  assert_int_equal(count_records(path, "status = 'WRONG_RESULT' AND id <= 4"),
                   TRIED);
  assert_int_equal(count_records(path, "status = 'OK'"), 100 - TRIED);
  tess_result_free(r);
  recorded_end(&f);
  recorded_remove(path);
}

/* A record of a failure counts whatever its trace gives now: what failed may
 * have had no program to tell by. */
static void test_earlier_failures(void **state) {
  (void)state;
  char path[400];
  recorded_run f;
  tess_result *r;
  tess_result_info info = TESS_INIT(tess_result_info);
  recorded_database(path, sizeof path);
  recorded_start(&f);
  f.o.database = path;
  f.r.fail_every = 3;
  f.r.fail_with = TESS_BUILD_ERROR;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_free(r);
  change(path, "UPDATE record SET program_hash = 1 WHERE status <> 'OK'");
  f.r.fail_every = 0;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  assert_int_equal(f.r.n, 1); /* the best is measured again */
  assert_int_equal(info.trials, 100);
  assert_int_equal(info.failed, 33);
  tess_result_free(r);
  recorded_end(&f);
  recorded_remove(path);
}

static void test_failures_do_not_end_it(void **state) {
  (void)state;
  static const tess_status classes[] = {TESS_BUILD_ERROR,  TESS_LAUNCH_ERROR,
                                        TESS_TIMEOUT,      TESS_CRASHED,
                                        TESS_WRONG_RESULT, TESS_INFRA};
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
    recorded_run f;
    tess_result *r;
    tess_result_info info = TESS_INIT(tess_result_info);
    recorded_start(&f);
    f.r.fail_every = 3;
    f.r.fail_with = classes[i];
    assert_int_equal(recorded_tune(&f, &r), TESS_OK);
    tess_result_get(r, &info);
    assert_int_equal(info.status, TESS_OK);
    assert_int_equal(info.failed, 33);
    assert_non_null(strstr(info.classes, tess_status_name(classes[i])));
    tess_result_free(r);
    recorded_end(&f);
  }
}

/* Nothing valid: the result says so and has the funnel. */
static void test_all_fail(void **state) {
  (void)state;
  recorded_run f;
  tess_result *r;
  tess_result_info info = TESS_INIT(tess_result_info);
  tess_trace *t;
  recorded_start(&f);
  f.r.fail_every = 1;
  f.r.fail_with = TESS_CRASHED;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  assert_int_equal(info.status, TESS_NOT_FOUND);
  assert_non_null(strstr(info.funnel, "candidates tried"));
  assert_non_null(strstr(info.funnel, "     100  measured: the kernel crashed: "
                                      "what went wrong\n"));
  assert_int_equal(tess_result_trace(r, &t), TESS_NOT_FOUND);
  tess_result_free(r);
  recorded_end(&f);
}

/* What was tried is refused, rejected, without neighbour or valid. */
static void test_funnel_adds_up(void **state) {
  (void)state;
  recorded_run f;
  tess_result *r;
  tess_result_info info = TESS_INIT(tess_result_info);
  recorded_start(&f);
  tiled_small(&f.t);
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  long valid = counted(info.funnel, "  valid");
  assert_in_range(valid, 1, counted(info.funnel, "  candidates tried"));
  assert_in_range(counted(info.funnel, "  valid, but duplicates"), 1,
                  valid - f.r.n);
  assert_int_equal(counted(info.funnel, "  measured: ok"), f.r.n);
  assert_int_equal(valid,
                   counted(info.funnel, "  valid, but duplicates") + f.r.n +
                       counted(info.funnel, "  valid, but not measured"));
  tess_result_free(r);
  recorded_end(&f);
}

/* A sketch without instructions is the program as it stands. */
static void test_empty_sketch(void **state) {
  (void)state;
  static const char *const strategies[] = {"evolutionary", "replay"};
  for (int k = 0; k < 2; k++) {
    recorded_run f;
    tess_result *r;
    recorded_start(&f);
    tiled_empty(&f.t);
    f.o.strategy = strategies[k];
    assert_int_equal(recorded_tune(&f, &r), TESS_OK);
    assert_int_equal(f.r.n, 1);
    tess_result_free(r);
    recorded_end(&f);
  }
}

/* A space smaller than the trials asked for is measured wholly, and once. */
static void test_exhausted_space(void **state) {
  (void)state;
  static const char *const strategies[] = {"evolutionary", "replay"};
  static const uint32_t batches[] = {2, 16};
  for (int k = 0; k < 4; k++) {
    recorded_run f;
    tess_result *r;
    recorded_start(&f);
    tiled_few(&f.t);
    f.o.strategy = strategies[k % 2];
    f.o.batch = batches[k / 2];
    assert_int_equal(recorded_tune(&f, &r), TESS_OK);
    assert_int_equal(f.r.n, 5 + 25);
    tess_result_free(r);
    recorded_end(&f);
  }
}

/* Of 22 ways to cut 3072 lanes the 20 that keep within 1024 are measured; the
 * others are seen and rejected, and never reach the measurer. */
static void test_too_many_lanes(void **state) {
  (void)state;
  static const char *const strategies[] = {"evolutionary", "replay"};
  static const char why[] =
      "  rejected by vector_lanes: a vectorised loop has more than 1024 lanes "
      "(for example ";
  for (int k = 0; k < 2; k++) {
    recorded_run f;
    tess_result *r;
    tess_result_info info = TESS_INIT(tess_result_info);
    recorded_start(&f);
    tiled_wide(&f.t);
    f.o.strategy = strategies[k];
    assert_int_equal(recorded_tune(&f, &r), TESS_OK);
    tess_result_get(r, &info);
    assert_int_equal(info.status, TESS_OK);
    assert_int_equal(f.r.n, 20);
    assert_string_equal(info.classes, "{\"OK\": 20}");
    assert_true(counted(info.funnel, why) > 0);
    long lanes = strtol(strstr(info.funnel, why) + sizeof why - 1, NULL, 10);
    assert_true(lanes == 1536 || lanes == 3072);
    assert_int_equal(counted(info.funnel, why) +
                         counted(info.funnel, "  valid\n"),
                     counted(info.funnel, "  candidates tried") -
                         counted(info.funnel, "  have no neighbour"));
    tess_result_free(r);
    recorded_end(&f);
  }
}

/* ---- databases ---------------------------------------------------------- */

/* A run that was stopped goes on; what was measured is not measured again. */
static void test_goes_on(void **state) {
  (void)state;
  char path[400];
  recorded_run f;
  tess_result *r;
  tess_result_info info = TESS_INIT(tess_result_info);
  uint32_t limit = 40;
  static uint64_t first[64];
  double best = INFINITY;
  recorded_database(path, sizeof path);
  recorded_start(&f);
  f.o.database = path;
  f.o.progress = stop_at;
  f.o.progress_ud = &limit;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  assert_int_equal(info.status, TESS_CANCELLED);
  assert_int_equal(f.r.n, 40);
  memcpy(first, f.r.order, 40 * sizeof *first);
  tess_result_free(r);
  f.o.progress = NULL;
  f.r.fail_every = 0;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  assert_int_equal(info.trials, 100);
  for (uint32_t i = 0; i < 60; i++)
    for (uint32_t j = 0; j < 40; j++) assert_true(f.r.order[i] != first[j]);
  assert_int_equal(info.ncurve, 100);
  for (uint32_t i = 0; i < 100; i++) {
    uint64_t hash = i < 40 ? first[i] : f.r.order[i - 40];
    best = fmin(best, recorded_time(hash));
    assert_true(info.curve[i] == best);
  }
  tess_result_free(r);
  /* Stopped at once, it gives the best of those before. */
  limit = 0;
  f.o.trials = 200;
  f.o.progress = stop_at;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  assert_int_equal(info.status, TESS_CANCELLED);
  assert_int_equal(info.trials, 101);
  assert_true(info.latency == info.curve[100]);
  tess_result_free(r);
  recorded_end(&f);
  recorded_remove(path);
}

/* Processes with one seed that measure the same at the same time store it
 * twice; it is one trial all the same. */
static void test_records_of_one_candidate(void **state) {
  (void)state;
  char path[400];
  recorded_run f;
  tess_result *r;
  recorded_database(path, sizeof path);
  recorded_start(&f);
  f.o.database = path;
  tune_until(&f, 40, &r);
  tess_result_free(r);
  change(path, "CREATE TEMP TABLE twin AS SELECT * FROM record;"
               "UPDATE twin SET id = id + 40;"
               "INSERT INTO record SELECT * FROM twin");
  assert_int_equal(count_records(path, "1"), 80);
  assert_int_equal(tune_until(&f, 0, &r).trials, 40 + 1);
  assert_int_equal(f.r.n, 1);
  tess_result_free(r);
  recorded_end(&f);
  recorded_remove(path);
}

/* What is left is expected to take as long as what this run did took, once it
 * did a few; what earlier ones did is neither. */
static int check_eta(void *ud, const tess_progress *p) {
  uint32_t before = *(uint32_t *)ud, left = p->max_trials - p->trials;
  double one = p->elapsed / (p->trials - before);
  if (left > 0 && p->trials - before < 8)
    assert_true(isinf(p->eta) && !strstr(p->text, "ETA"));
  else
    assert_true(fabs(p->eta - one * left) <= 1e-9 * p->elapsed);
  if (left == 0) assert_null(strstr(p->text, "ETA"));
  return p->trials == 40;
}

static void test_eta(void **state) {
  (void)state;
  char path[400];
  recorded_run f;
  tess_result *r;
  recorded_database(path, sizeof path);
  recorded_start(&f);
  f.o.database = path;
  f.o.progress = check_eta;
  for (uint32_t before = 0; before <= 40; before += 40) {
    f.o.progress_ud = &before;
    assert_int_equal(recorded_tune(&f, &r), TESS_OK);
    /* The finalists of the first part are measured again. */
    if (!before) assert_int_equal(f.r.n, 40);
    if (before) assert_in_range(f.r.n, 60, 60 + TUNE_FINALISTS);
    tess_result_free(r);
  }
  recorded_end(&f);
  recorded_remove(path);
}

/* Who is killed loses nothing: another process finds each record as soon as
 * the progress tells of it. */
static int is_stored(void *ud, const tess_progress *p) {
  tess_context *c;
  tess_database *d;
  tess_record row = TESS_INIT(tess_record);
  uint64_t n = 0;
  if (p->trials % 5) return 0;
  assert_int_equal(tess_context_new(NULL, &c), TESS_OK);
  assert_int_equal(tess_database_open(c, ud, &d), TESS_OK);
  while (tess_database_row(d, n, &row) == TESS_OK) n++;
  assert_int_equal(n, p->trials);
  tess_database_free(d);
  tess_context_free(c);
  return 0;
}

static void test_stores_at_once(void **state) {
  (void)state;
  char path[400];
  recorded_run f;
  tess_result *r;
  recorded_database(path, sizeof path);
  recorded_start(&f);
  f.o.database = path;
  f.o.trials = 40;
  f.o.progress = is_stored;
  f.o.progress_ud = path;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  assert_int_equal(f.r.n, 40);
  tess_result_free(r);
  recorded_end(&f);
  recorded_remove(path);
}

static void test_bad_database(void **state) {
  (void)state;
  recorded_run f;
  tess_result *r;
  char path[400];
  recorded_start(&f);
  f.o.database = "/nonexistent/folder/x.db";
  assert_int_equal(recorded_tune(&f, &r), TESS_IO);
  assert_non_null(strstr(tess_error(f.t.c)->message, "/nonexistent/folder"));
  recorded_database(path, sizeof path);
  FILE *file = fopen(path, "w");
  fputs("this is not a database, and longer than its head would be", file);
  fclose(file);
  f.o.database = path;
  assert_int_equal(recorded_tune(&f, &r), TESS_IO);
  assert_null(r);
  recorded_end(&f);
  recorded_remove(path);
}

static void test_unknown_names(void **state) {
  (void)state;
  recorded_run f;
  tess_result *r;
  recorded_start(&f);
  f.o.strategy = "clairvoyant";
  assert_int_equal(recorded_tune(&f, &r), TESS_NOT_FOUND);
  assert_non_null(strstr(tess_error(f.t.c)->message, "clairvoyant"));
  f.o.strategy = "replay";
  f.o.cost_model = "oracle";
  assert_int_equal(recorded_tune(&f, &r), TESS_NOT_FOUND);
  recorded_end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_with_any_threads),
      cmocka_unit_test(test_no_candidate_twice),
      cmocka_unit_test(test_finds_the_best),
      cmocka_unit_test(test_a_busy_end),
      cmocka_unit_test(test_slower_than_unscheduled),
      cmocka_unit_test(test_the_match_decides),
      cmocka_unit_test(test_all_finalists_are_right),
      cmocka_unit_test(test_wrong_finalists),
      cmocka_unit_test(test_finalists_that_nobody_could_compare),
      cmocka_unit_test(test_stopped_run_names_what_was_compared),
      cmocka_unit_test(test_database_of_an_earlier_engine),
      cmocka_unit_test(test_earlier_bests_that_are_wrong),
      cmocka_unit_test(test_earlier_failures),
      cmocka_unit_test(test_failures_do_not_end_it),
      cmocka_unit_test(test_all_fail),
      cmocka_unit_test(test_funnel_adds_up),
      cmocka_unit_test(test_empty_sketch),
      cmocka_unit_test(test_exhausted_space),
      cmocka_unit_test(test_too_many_lanes),
      cmocka_unit_test(test_goes_on),
      cmocka_unit_test(test_records_of_one_candidate),
      cmocka_unit_test(test_eta),
      cmocka_unit_test(test_stores_at_once),
      cmocka_unit_test(test_bad_database),
      cmocka_unit_test(test_unknown_names)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
