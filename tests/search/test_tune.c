/* SPDX-License-Identifier: Apache-2.0
 * The search loop over a measurer that gives recorded times: the sequence of
 * candidates depends neither on threads nor on delays of the measuring and of
 * the threads themselves; failures of every class;
 * databases and going on where a run ended.
 * Labels: threads */
#include "base/hash.h"
#include "search/tune.h"
#include "support/test.h"
#include "support/tiled.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* ---- a measurer with recorded times ------------------------------------------- */

typedef struct recorded {
  uint64_t order[4096];      /* hashes in the order of measuring */
  uint32_t n;
  uint32_t fail_every;       /* each k-th candidate fails; 0: none */
  tess_status fail_with;
  bool delays;
  unsigned chance;
} recorded;

static void nap(recorded *r) {
  if (!r->delays) return;
  struct timespec t = {0, rand_r(&r->chance) % 200000};
  nanosleep(&t, NULL);
}

/* Any fixed function of the candidate will do. */
static double time_of(uint64_t hash) {
  return 1e-3 * (1.0 + (double)(hash >> 40) / (double)(1 << 24));
}

static tess_status measure(void *ud, tess_session *s, uint32_t n,
                           const search_cand *c, double best,
                           search_outcome *out, int (*told)(void *, uint32_t),
                           void *told_ud) {
  recorded *r = ud;
  search_worker *w = &s->worker[0];
  (void)best;
  for (uint32_t i = 0; i < n; i++) {
    nap(r);
    assert_true(r->n < 4096);
    r->order[r->n++] = c[i].hash;
    bool bad = r->fail_every && r->n % r->fail_every == 0;
    out[i].status = bad ? r->fail_with : TESS_OK;
    if (bad) str_puts(&out[i].message, "what went wrong");
    out[i].seconds = time_of(c[i].hash);
    assert_int_equal(session_replay(s, &c[i]), TESS_OK);
    out[i].program_hash = ir_hash(&w->m.prog, &w->m.scratch);
    if (told(told_ud, i)) return TESS_OK;
  }
  return TESS_OK;
}

static tess_status rematch(void *ud, uint32_t n, const strbuf *const *code,
                           double *seconds) {
  (void)ud, (void)n, (void)code, (void)seconds;
  return TESS_OK;
}

/* ---- running ---------------------------------------------------------------------- */

typedef struct fixture {
  tiled t;
  recorded r;
  search_measurer m;
  tess_tune_options o;
} fixture;

static void start_with(fixture *f, const tess_options *options) {
  memset(f, 0, sizeof *f);
  tiled_start_with(&f->t, options);
  f->m = (search_measurer){measure, rematch, NULL, &f->r};
  f->o = (tess_tune_options){
    .struct_size = sizeof f->o, .trials = 100, .batch = 16, .seed = 7,
    .threads = 1, .kernel_threads = 1, .strategy = "evolutionary",
    .cost_model = "random"};
}

static void start(fixture *f) { start_with(f, NULL); }

static void stop(fixture *f) { tiled_end(&f->t); }

static tess_status run(fixture *f, tess_result **out) {
  tune_setup set = {.c = f->t.c, .program = f->t.p, .target = "test",
                    .nsketch = f->t.nsketch, .sketch = f->t.sketch,
                    .o = &f->o, .policy = "v1 test", .measurer = &f->m};
  f->r.n = 0;
  return tune_run(&set, out);
}

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
  const tess_options slow = {.struct_size = sizeof slow,
                             .allocator = &memory};
  static const uint32_t threads[] = {1, 2, 7};
  static const char *const strategies[] = {"evolutionary", "replay"};
  fixture f;
  start_with(&f, &slow);
  for (int k = 0; k < 2; k++) {
    static uint64_t first[4096];
    uint32_t n = 0;
    f.o.strategy = strategies[k];
    for (int i = 0; i < 3; i++) {
      tess_result *r;
      f.o.threads = threads[i];
      f.r.delays = i > 0;
      f.r.chance = (unsigned)i;
      l.on = i > 0;
      assert_int_equal(run(&f, &r), TESS_OK);
      l.on = false;
      assert_int_equal(f.r.n, 100);
      if (i == 0) memcpy(first, f.r.order, sizeof first), n = f.r.n;
      assert_int_equal(f.r.n, n);
      assert_memory_equal(first, f.r.order, n * sizeof *first);
      tess_result_free(r);
    }
  }
  stop(&f);
  assert_true(l.waits > 0);
}

static void test_no_candidate_twice(void **state) {
  (void)state;
  fixture f;
  tess_result *r;
  start(&f);
  f.o.trials = 200;
  assert_int_equal(run(&f, &r), TESS_OK);
  for (uint32_t i = 0; i < f.r.n; i++)
    for (uint32_t j = 0; j < i; j++)
      assert_true(f.r.order[i] != f.r.order[j]);
  tess_result_free(r);
  stop(&f);
}

/* The winner is the best that was measured, and its trace replays. */
static void test_finds_the_best(void **state) {
  (void)state;
  fixture f;
  tess_result *r;
  tess_result_info info;
  tess_schedule *sch;
  double best = INFINITY;
  start(&f);
  assert_int_equal(run(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  for (uint32_t i = 0; i < f.r.n; i++) {
    best = fmin(best, time_of(f.r.order[i]));
    assert_true(info.curve[i] == best);
  }
  assert_int_equal(info.status, TESS_OK);
  assert_true(info.latency == best);
  assert_int_equal(info.trials, 100);
  assert_int_equal(info.ncurve, 100);
  assert_int_equal(tess_result_schedule(r, &sch), TESS_OK);
  tess_schedule_free(sch);
  tess_result_free(r);
  stop(&f);
}

static void test_failures_do_not_end_it(void **state) {
  (void)state;
  static const tess_status classes[] = {
    TESS_BUILD_ERROR, TESS_LAUNCH_ERROR, TESS_TIMEOUT, TESS_CRASHED,
    TESS_WRONG_RESULT, TESS_INFRA};
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
    fixture f;
    tess_result *r;
    tess_result_info info;
    start(&f);
    f.r.fail_every = 3;
    f.r.fail_with = classes[i];
    assert_int_equal(run(&f, &r), TESS_OK);
    tess_result_get(r, &info);
    assert_int_equal(info.status, TESS_OK);
    assert_int_equal(info.failed, 33);
    assert_non_null(strstr(info.classes, tess_status_name(classes[i])));
    tess_result_free(r);
    stop(&f);
  }
}

/* Nothing valid: the result says so and has the funnel. */
static void test_all_fail(void **state) {
  (void)state;
  fixture f;
  tess_result *r;
  tess_result_info info;
  tess_trace *t;
  start(&f);
  f.r.fail_every = 1;
  f.r.fail_with = TESS_CRASHED;
  assert_int_equal(run(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  assert_int_equal(info.status, TESS_NOT_FOUND);
  assert_non_null(strstr(info.funnel, "candidates tried"));
  assert_non_null(strstr(info.funnel,
                         "     100  measured: the kernel crashed: "
                         "what went wrong\n"));
  assert_int_equal(tess_result_trace(r, &t), TESS_NOT_FOUND);
  tess_result_free(r);
  stop(&f);
}

/* The number that a line of the funnel begins with. */
static long counted(const char *text, const char *what) {
  const char *at = strstr(text, what);
  if (!at) return 0;
  while (at > text && at[-1] != '\n') at--;
  return strtol(at, NULL, 10);
}

/* What was tried is refused, rejected, without neighbour or valid. */
static void test_funnel_adds_up(void **state) {
  (void)state;
  fixture f;
  tess_result *r;
  tess_result_info info;
  start(&f);
  tiled_small(&f.t);
  assert_int_equal(run(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  long valid = counted(info.funnel, "  valid");
  assert_in_range(valid, 1, counted(info.funnel, "  candidates tried"));
  assert_in_range(counted(info.funnel, "  valid, but there before"), 1,
                  valid - f.r.n);
  assert_int_equal(counted(info.funnel, "  measured: ok"), f.r.n);
  tess_result_free(r);
  stop(&f);
}

/* A sketch without instructions is the program as it stands. */
static void test_empty_sketch(void **state) {
  (void)state;
  static const char *const strategies[] = {"evolutionary", "replay"};
  for (int k = 0; k < 2; k++) {
    fixture f;
    tess_result *r;
    start(&f);
    tiled_empty(&f.t);
    f.o.strategy = strategies[k];
    assert_int_equal(run(&f, &r), TESS_OK);
    assert_int_equal(f.r.n, 1);
    tess_result_free(r);
    stop(&f);
  }
}

/* A space smaller than the trials asked for is measured wholly, and once. */
static void test_exhausted_space(void **state) {
  (void)state;
  static const char *const strategies[] = {"evolutionary", "replay"};
  static const uint32_t batches[] = {2, 16};
  for (int k = 0; k < 4; k++) {
    fixture f;
    tess_result *r;
    start(&f);
    tiled_few(&f.t);
    f.o.strategy = strategies[k % 2];
    f.o.batch = batches[k / 2];
    assert_int_equal(run(&f, &r), TESS_OK);
    assert_int_equal(f.r.n, 5 + 25);
    tess_result_free(r);
    stop(&f);
  }
}

/* ---- databases ------------------------------------------------------------------------ */

static void database_path(char *path, size_t n) {
  snprintf(path, n, "%s/test-tune-%d.db", getenv("TMPDIR") ? getenv("TMPDIR")
           : "/tmp", (int)getpid());
  unlink(path);
}

static int stop_at(void *ud, const tess_progress *p) {
  return p->trials >= *(uint32_t *)ud;
}

static void remove_database(const char *path) {
  char name[512];
  unlink(path);
  snprintf(name, sizeof name, "%s-wal", path);
  unlink(name);
  snprintf(name, sizeof name, "%s-shm", path);
  unlink(name);
}

/* A run that was stopped goes on; what was measured is not measured again. */
static void test_goes_on(void **state) {
  (void)state;
  char path[400];
  fixture f;
  tess_result *r;
  tess_result_info info;
  uint32_t limit = 40;
  static uint64_t first[64];
  database_path(path, sizeof path);
  start(&f);
  f.o.database = path;
  f.o.progress = stop_at;
  f.o.progress_ud = &limit;
  assert_int_equal(run(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  assert_int_equal(info.status, TESS_CANCELLED);
  assert_int_equal(f.r.n, 40);
  memcpy(first, f.r.order, 40 * sizeof *first);
  tess_result_free(r);
  f.o.progress = NULL;
  f.r.fail_every = 0;
  assert_int_equal(run(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  assert_int_equal(info.trials, 100);
  for (uint32_t i = 0; i < 60; i++)
    for (uint32_t j = 0; j < 40; j++)
      assert_true(f.r.order[i] != first[j]);
  tess_result_free(r);
  stop(&f);
  remove_database(path);
}

/* From the 40th trial on no file grows: as a full disk, and so that the
 * first batches are stored. */
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
  fixture f;
  tess_result *r;
  tess_result_info info;
  tess_trace *trace;
  double best = INFINITY;
  database_path(path, sizeof path);
  signal(SIGXFSZ, SIG_IGN);
  start(&f);
  f.o.database = path;
  f.o.progress = fill_disk;
  tess_status s = run(&f, &r);
  empty_disk();
  assert_int_equal(s, TESS_OK);
  tess_result_get(r, &info);
  assert_int_equal(info.status, TESS_IO);
  assert_non_null(strstr(info.message, path));
  assert_int_equal(info.trials, 48);          /* to the end of the batch */
  assert_int_equal(f.r.n, 48);
  for (uint32_t i = 0; i < f.r.n; i++) best = fmin(best, time_of(f.r.order[i]));
  assert_true(info.latency == best);
  assert_int_equal(tess_result_trace(r, &trace), TESS_OK);
  tess_trace_free(trace);
  tess_result_free(r);
  f.o.progress = NULL;
  assert_int_equal(run(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  assert_int_equal(info.status, TESS_OK);
  assert_string_equal(info.message, "");
  assert_int_equal(f.r.n, 100 - 32);
  tess_result_free(r);
  stop(&f);
  remove_database(path);
}

/* A strategy that fails after some batches, in C. */
typedef struct failing { uint32_t batches; } failing;

static tess_status propose_some(void *ud, tess_session *s, uint32_t n,
                                tess_candidate *out, uint32_t *got) {
  failing *x = ud;
  for (*got = 0; *got < n; ++*got)
    if (tess_session_draw(s, &out[*got]) != TESS_OK) break;
  return x->batches-- ? TESS_OK : TESS_NOMEM;
}

static tess_status observe_none(void *ud, tess_session *s, uint32_t n,
                                const tess_candidate *c) {
  (void)ud, (void)s, (void)n, (void)c;
  return TESS_OK;
}

/* Whatever fails in the middle, the best so far is given; where there is
 * none, the run fails. */
static void test_fails_in_the_middle(void **state) {
  (void)state;
  fixture f;
  tess_result *r;
  tess_result_info info;
  start(&f);
  failing some = {2}, none = {0};
  const tess_strategy fails = {"fails", propose_some, observe_none, NULL,
                               &some};
  f.o.custom_strategy = &fails;
  assert_int_equal(run(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  assert_int_equal(info.status, TESS_NOMEM);
  assert_string_equal(info.message, "out of memory");
  assert_true(isfinite(info.latency));
  assert_int_equal(info.trials, f.r.n);
  tess_result_free(r);
  some = none;
  assert_int_equal(run(&f, &r), TESS_NOMEM);
  assert_null(r);
  stop(&f);
}

static void test_bad_database(void **state) {
  (void)state;
  fixture f;
  tess_result *r;
  char path[400];
  start(&f);
  f.o.database = "/nonexistent/folder/x.db";
  assert_int_equal(run(&f, &r), TESS_IO);
  assert_non_null(strstr(tess_error(f.t.c)->message, "/nonexistent/folder"));
  database_path(path, sizeof path);
  FILE *file = fopen(path, "w");
  fputs("this is not a database, and longer than its head would be", file);
  fclose(file);
  f.o.database = path;
  assert_int_equal(run(&f, &r), TESS_IO);
  assert_null(r);
  stop(&f);
  remove_database(path);
}

static void test_unknown_names(void **state) {
  (void)state;
  fixture f;
  tess_result *r;
  start(&f);
  f.o.strategy = "clairvoyant";
  assert_int_equal(run(&f, &r), TESS_NOT_FOUND);
  assert_non_null(strstr(tess_error(f.t.c)->message, "clairvoyant"));
  f.o.strategy = "replay";
  f.o.cost_model = "oracle";
  assert_int_equal(run(&f, &r), TESS_NOT_FOUND);
  stop(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_same_with_any_threads),
    cmocka_unit_test(test_no_candidate_twice),
    cmocka_unit_test(test_finds_the_best),
    cmocka_unit_test(test_failures_do_not_end_it),
    cmocka_unit_test(test_all_fail),
    cmocka_unit_test(test_funnel_adds_up),
    cmocka_unit_test(test_empty_sketch),
    cmocka_unit_test(test_exhausted_space),
    cmocka_unit_test(test_goes_on),
    cmocka_unit_test(test_disk_fills_up),
    cmocka_unit_test(test_fails_in_the_middle),
    cmocka_unit_test(test_bad_database),
    cmocka_unit_test(test_unknown_names)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
