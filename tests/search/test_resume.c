/* SPDX-License-Identifier: Apache-2.0
 * A run that is killed at any point and taken up again ends as one that was
 * never broken off, given the same times: same candidates in the same order,
 * same curve, same winner, whatever the strategy.  Databases that another
 * process has locked. */
#include "base/hash.h"
#include "base/rng.h"
#include "support/expr.h"
#include "search/strategy/strategy.h"
#include "support/recorded.h"
#include "support/test.h"

#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define SMALL_EVOLUTION "evolutionary:population_size=64,genetic_num_iters=2"

/* Ends the process without any more ado once so many were measured; or, with a
 * delay, within so many microseconds of that, which may be in the midst of
 * whatever it does then, but no more than GRACE results later. */
enum { GRACE = 2 };
static uint32_t kill_after;
static long kill_delay;
static int kill_process(void *ud, const tess_progress *p) {
  recorded_run *f = ud;
  (void)p;
  if (f->r.n < kill_after) return 0;
  if (!kill_delay || f->r.n >= kill_after + GRACE) kill(getpid(), SIGKILL);
  if (f->r.n == kill_after) {
    const struct itimerval t = {.it_value = {.tv_usec = kill_delay}};
    setitimer(ITIMER_REAL, &t, NULL); /* SIGALRM ends it */
  }
  return 0;
}

typedef struct ending {
  double curve[200];
  tess_result_info info;
  char trace[4000], classes[200], rejected[2000];
} ending;

static void run_to_end(recorded_run *f, ending *e) {
  tess_result *r;
  tess_trace *t;
  char *text;
  memset(e, 0, sizeof *e);
  e->info.struct_size = sizeof e->info;
  f->o.progress = NULL;
  assert_int_equal(recorded_tune(f, &r), TESS_OK);
  assert_int_equal(tess_result_get(r, &e->info), TESS_OK);
  assert_true(e->info.ncurve <= 200);
  memcpy(e->curve, e->info.curve, e->info.ncurve * sizeof *e->curve);
  snprintf(e->classes, sizeof e->classes, "%s", e->info.classes);
  snprintf(e->rejected, sizeof e->rejected, "%s", e->info.funnel);
  assert_int_equal(tess_result_trace(r, &t), TESS_OK);
  assert_int_equal(tess_trace_lua(t, &text), TESS_OK);
  snprintf(e->trace, sizeof e->trace, "%s", text);
  tess_text_free(f->t.c, text);
  tess_trace_free(t);
  tess_result_free(r);
}

static void tune_until_killed(const char *path, const recorded_run *like) {
  recorded_run f;
  tess_result *r;
  recorded_start(&f);
  f.o = like->o;
  f.r.fail_every = like->r.fail_every;
  f.r.fail_with = like->r.fail_with;
  f.o.database = path;
  f.o.progress = kill_process;
  f.o.progress_ud = &f;
  recorded_tune(&f, &r);
  _exit(3);
}

/* A child process tunes, until it is killed after `n` measurements. */
static void run_and_kill(const char *path, const recorded_run *like, uint32_t n,
                         long delay) {
  int status;
  kill_after = n;
  kill_delay = delay;
  pid_t child = fork();
  assert_true(child >= 0);
  if (!child) tune_until_killed(path, like);
  assert_int_equal(waitpid(child, &status, 0), child);
  if (!WIFSIGNALED(status) ||
      (WTERMSIG(status) != SIGKILL && (!delay || WTERMSIG(status) != SIGALRM)))
    fail_msg("not killed after %u results: status %d", n, status);
}

static void same_ending(const ending *a, const ending *b) {
  assert_int_equal(a->info.trials, b->info.trials);
  assert_int_equal(a->info.failed, b->info.failed);
  assert_int_equal(a->info.ncurve, b->info.ncurve);
  assert_memory_equal(a->curve, b->curve, sizeof a->curve);
  assert_true(a->info.latency == b->info.latency);
  assert_string_equal(a->trace, b->trace);
  assert_string_equal(a->classes, b->classes);
  assert_string_equal(a->rejected, b->rejected);
}

/* Points at which runs are killed: in the first batch, at its end, in the
 * midst, and several one after the other. */
static void killed_and_resumed(const char *strategy, const char *model,
                               uint32_t fail_every) {
  static const uint32_t kills[][3] = {{1}, {16}, {5, 20, 40}, {37}, {99}};
  ending whole, again;
  char path[400];
  recorded_run f;
  recorded_start(&f);
  f.o.strategy = strategy;
  f.o.cost_model = model;
  f.r.fail_every = fail_every;
  f.r.fail_with = TESS_CRASHED;
  recorded_database(path, sizeof path);
  f.o.database = path;
  run_to_end(&f, &whole);
  recorded_remove(path);
  for (size_t i = 0; i < sizeof kills / sizeof *kills; i += 1 + TEST_CHECKED) {
    for (int k = 0; k < 3 && kills[i][k]; k++)
      run_and_kill(path, &f, kills[i][k], 0);
    run_to_end(&f, &again);
    same_ending(&whole, &again);
    recorded_remove(path);
  }
  recorded_end(&f);
}

/* The decisions of all records, in the order of storing. */
static uint64_t hash_of_records(const char *path) {
  uint64_t h = 0;
  sqlite3 *db;
  sqlite3_stmt *q;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(
      sqlite3_prepare_v2(db, "SELECT sketch, decisions FROM record ORDER BY id",
                         -1, &q, NULL),
      SQLITE_OK);
  while (sqlite3_step(q) == SQLITE_ROW) {
    h = hash_mix(h, (uint64_t)sqlite3_column_int64(q, 0));
    h = hash_mix(h, hash_bytes(sqlite3_column_blob(q, 1),
                               (size_t)sqlite3_column_bytes(q, 1)));
  }
  sqlite3_finalize(q);
  sqlite3_close(db);
  return h;
}

/* One run is stopped at the end of each batch and in the midst of it, and is
 * taken up again each time. */
static void stopped_at_every_batch(const char *strategy, const char *model,
                                   void (*space)(tiled *), ending *out) {
  enum { BATCH = 8, BEFORE_END = 3, TRIALS = 32 };
  ending whole, again;
  char path[400];
  recorded_run f;
  tess_result *r;
  recorded_start(&f);
  if (space) space(&f.t);
  f.o.strategy = strategy;
  f.o.cost_model = model;
  f.o.trials = TRIALS;
  f.o.batch = BATCH;
  recorded_database(path, sizeof path);
  f.o.database = path;
  run_to_end(&f, &whole);
  uint64_t stored = hash_of_records(path);
  recorded_remove(path);
  for (uint32_t at = BATCH; at < whole.info.trials; at += BATCH) {
    recorded_until(&f, at - BEFORE_END, &r);
    tess_result_free(r);
    recorded_until(&f, at, &r);
    tess_result_free(r);
  }
  run_to_end(&f, &again);
  if (hash_of_records(path) != stored)
    fail_msg("%s on %s: other candidates than of an undisturbed run", strategy,
             model);
  same_ending(&whole, &again);
  recorded_remove(path);
  recorded_end(&f);
  if (out) *out = whole;
}

/* The default changes over where the model would be trained at another moment
 * if it were first asked there: it has learnt 20 trials, and waits for two
 * more. */
#define HYBRID "hybrid:first=21,batch=1"

static const char *small_strategy(uint32_t i) {
  const char *name = search_strategies[i]->name;
  if (!strcmp(name, "hybrid")) return HYBRID;
  if (!strcmp(name, "evolutionary")) return SMALL_EVOLUTION;
  return strcmp(name, "annealing") ? name : "annealing:chains=16";
}

static void test_every_strategy(void **state) {
  (void)state;
  for (uint32_t i = 0; i < search_nstrategies; i++)
    if (!strategy_takes_text(search_strategies[i]))
      stopped_at_every_batch(small_strategy(i), "forest", NULL, NULL);
}

/* Where some candidates learn from others whose programs they have. */
static void test_equal_programs(void **state) {
  (void)state;
  for (uint32_t i = 0; i < search_nstrategies; i += 1 + 2 * TEST_CHECKED) {
    ending e;
    if (strategy_takes_text(search_strategies[i])) continue;
    stopped_at_every_batch(small_strategy(i), "forest", tiled_twins, &e);
    if (!recorded_line(e.rejected, "but equal to a measured program"))
      fail_msg("%s: no equal programs\n%s", small_strategy(i), e.rejected);
  }
}

/* In batches, so that models that are slow to train are trained less often. */
static void test_every_model(void **state) {
  static const char strategy[] = "hybrid:first=20,batch=4";
  (void)state;
  stopped_at_every_batch(strategy, "random", NULL, NULL);
  for (uint32_t i = 0; i < nlearners; i += 1 + 2 * TEST_CHECKED)
    stopped_at_every_batch(strategy, learners[i]->name, NULL, NULL);
  stopped_at_every_batch(strategy, "forest+gp", NULL, NULL);
}

/* One run is killed ten times, after as many results as are drawn and a time
 * that is: in the midst of whatever it does then, writing records included. */
static void killed_anywhere(const char *strategy, const char *model) {
  enum { KILLS = 10, MOST = 7 };
  ending whole, again;
  char path[400];
  recorded_run f;
  rng random;
  recorded_start(&f);
  f.o.strategy = strategy;
  f.o.cost_model = model;
  recorded_database(path, sizeof path);
  f.o.database = path;
  run_to_end(&f, &whole);
  assert_true(whole.info.trials > KILLS * (MOST + GRACE));
  recorded_remove(path);
  rng_init(&random, test_seed(), 7);
  for (int k = 0; k < KILLS; k++) {
    uint32_t n = 1 + (uint32_t)(MOST * rng_unit(&random));
    run_and_kill(path, &f, n, (long)pow(10, 1 + 4 * rng_unit(&random)));
  }
  run_to_end(&f, &again);
  same_ending(&whole, &again);
  recorded_remove(path);
  recorded_end(&f);
}

static void test_killed_anywhere(void **state) {
  (void)state;
  killed_anywhere(EVOLUTIONARY, "random");
}

static void test_default_killed_anywhere(void **state) {
  (void)state;
  killed_anywhere("hybrid:first=40", "forest");
}

static void test_evolutionary(void **state) {
  (void)state;
  killed_and_resumed(EVOLUTIONARY, "random", 0);
}

static void test_replay(void **state) {
  (void)state;
  killed_and_resumed("replay", "random", 0);
}

static void test_with_a_model(void **state) {
  (void)state;
  killed_and_resumed(EVOLUTIONARY, "forest", 0);
}

/* A run that has ended is history for the next of its seed. */
static void test_ended_runs(void **state) {
  (void)state;
  char path[400];
  ending first, more;
  recorded_run f;
  recorded_start(&f);
  recorded_database(path, sizeof path);
  f.o.database = path;
  f.o.trials = 40;
  run_to_end(&f, &first);
  f.o.trials = 60;
  run_to_end(&f, &more);
  assert_int_equal(more.info.trials, 60);
  assert_memory_equal(first.curve, more.curve, 40 * sizeof *first.curve);
  assert_non_null(strstr(more.classes, "20")); /* of this run alone */
  recorded_end(&f);
  recorded_remove(path);
}

static int stop_at_ten(void *ud, const tess_progress *p) {
  return (void)ud, p->trials >= 10;
}

/* Records that do not belong to what is proposed, as of another engine. */
static void test_other_proposals(void **state) {
  (void)state;
  char path[400];
  ending e;
  tess_result *r;
  recorded_run f;
  sqlite3 *db;
  recorded_start(&f);
  recorded_database(path, sizeof path);
  f.o.database = path;
  f.o.progress = stop_at_ten;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_free(r);
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(
      sqlite3_exec(db, "UPDATE record SET slot = slot + 1", NULL, NULL, NULL),
      SQLITE_OK);
  sqlite3_close(db);
  run_to_end(&f, &e);
  assert_int_equal(e.info.trials, 100);
  recorded_end(&f);
  recorded_remove(path);
}

/* ---- locks -------------------------------------------------------------- */

/* Another process has the database locked until what is given back is closed,
 * and then for some milliseconds more. */
static int lock_until_closed(const char *path, int ms) {
  sqlite3 *db;
  int locked[2], unlock[2];
  char byte;
  assert_int_equal(pipe(locked), 0);
  assert_int_equal(pipe(unlock), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (!child) {
    close(unlock[1]);
    if (sqlite3_open(path, &db) ||
        sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL))
      _exit(1);
    if (write(locked[1], "x", 1) != 1) _exit(1);
    if (read(unlock[0], &byte, 1)) _exit(1);
    usleep(1000 * (useconds_t)ms);
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    sqlite3_close(db);
    _exit(0);
  }
  assert_int_equal(read(locked[0], &byte, 1), 1);
  close(locked[0]);
  close(locked[1]);
  close(unlock[0]);
  return unlock[1];
}

/* A lock that ends is waited for; one that does not is an error, of one line,
 * and loses nothing. */
static void test_locked(void **state) {
  (void)state;
  char path[400];
  ending e;
  tess_result *r = NULL;
  recorded_run f;
  recorded_start(&f);
  recorded_database(path, sizeof path);
  f.o.database = path;
  f.o.progress = stop_at_ten;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_free(r);
  close(lock_until_closed(path, 300));
  run_to_end(&f, &e);
  assert_int_equal(e.info.trials, 100);
  setenv("TESSERA_DATABASE_PATIENCE", "50", 1);
  int unlock = lock_until_closed(path, 0);
  f.o.trials = 120;
  assert_int_equal(recorded_tune(&f, &r), TESS_IO);
  close(unlock);
  const char *said = tess_error(f.t.c)->message;
  assert_non_null(strstr(said, path));
  assert_non_null(strstr(said, "locked"));
  assert_null(strchr(said, '\n'));
  int status;
  while (wait(&status) > 0) assert_int_equal(status, 0);
  unsetenv("TESSERA_DATABASE_PATIENCE");
  run_to_end(&f, &e);
  assert_int_equal(e.info.trials, 120);
  recorded_end(&f);
  recorded_remove(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_killed_anywhere),
      cmocka_unit_test(test_default_killed_anywhere),
      cmocka_unit_test(test_every_strategy),
      cmocka_unit_test(test_every_model),
      cmocka_unit_test(test_equal_programs),
      cmocka_unit_test(test_evolutionary),
      cmocka_unit_test(test_replay),
      cmocka_unit_test(test_with_a_model),
      cmocka_unit_test(test_ended_runs),
      cmocka_unit_test(test_other_proposals),
      cmocka_unit_test(test_locked)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
