/* SPDX-License-Identifier: Apache-2.0
 * Databases between files: merging, JSON lines, pruning, what a bad file
 * gives; and results of a database without measuring. */
#include "support/recorded.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct files {
  recorded_run f;
  char a[400], b[420], lines[420];
  tess_database *db, *other;
} files;

static void start_files(files *x) {
  tess_result *r;
  recorded_start(&x->f);
  recorded_database(x->a, sizeof x->a);
  snprintf(x->b, sizeof x->b, "%s.b", x->a);
  snprintf(x->lines, sizeof x->lines, "%s.jsonl", x->a);
  recorded_remove(x->b);
  x->f.o.database = x->a;
  x->f.o.trials = 20;
  x->f.r.fail_every = 5;
  x->f.r.fail_with = TESS_CRASHED;
  assert_int_equal(recorded_tune(&x->f, &r), TESS_OK);
  tess_result_free(r);
  assert_int_equal(tess_database_open(x->f.t.c, x->a, &x->db), TESS_OK);
  assert_int_equal(tess_database_open(x->f.t.c, x->b, &x->other), TESS_OK);
}

static void end_files(files *x) {
  tess_database_free(x->db);
  tess_database_free(x->other);
  recorded_end(&x->f);
  recorded_remove(x->a);
  recorded_remove(x->b);
  unlink(x->lines);
}

static uint64_t count_of(tess_database *d) {
  uint64_t n;
  assert_int_equal(tess_database_filter(d, NULL), TESS_OK);
  assert_int_equal(tess_database_count(d, &n), TESS_OK);
  return n;
}

static void same_rows(files *x) {
  for (uint64_t k = 0; k < 20; k++) {
    tess_record p = TESS_INIT(tess_record), q = p;
    assert_int_equal(tess_database_row(x->db, k, &p), TESS_OK);
    assert_int_equal(tess_database_row(x->other, k, &q), TESS_OK);
    assert_true(p.seconds == q.seconds && p.workload == q.workload);
    assert_int_equal(p.checked, q.checked);
    assert_int_equal(p.damaged, q.damaged);
    assert_string_equal(p.message, q.message);
    assert_true(p.program_hash == q.program_hash);
  }
}

static void test_merge(void **state) {
  (void)state;
  files x;
  uint64_t n;
  start_files(&x);
  assert_int_equal(tess_database_merge(x.other, x.a, &n), TESS_OK);
  assert_int_equal(n, 20);
  assert_int_equal(count_of(x.other), 20);
  same_rows(&x);
  assert_int_equal(tess_database_merge(x.other, x.a, &n), TESS_OK);
  assert_int_equal(n, 0);
  assert_int_equal(tess_database_merge(x.other, "/nowhere.db", &n), TESS_IO);
  assert_non_null(strstr(tess_error(x.f.t.c)->message, "/nowhere.db"));
  assert_int_equal(tess_database_merge(x.other, x.lines, &n), TESS_IO);
  end_files(&x);
}

static void test_lines(void **state) {
  (void)state;
  files x;
  uint64_t n;
  start_files(&x);
  assert_int_equal(tess_database_export(x.db, x.lines), TESS_OK);
  assert_int_equal(tess_database_import(x.other, x.lines, &n), TESS_OK);
  assert_int_equal(n, 20);
  same_rows(&x);
  assert_int_equal(tess_database_import(x.other, x.lines, &n), TESS_OK);
  assert_int_equal(n, 0);
  assert_int_equal(tess_database_export(x.db, "/nowhere/x.jsonl"), TESS_IO);
  assert_int_equal(tess_database_import(x.other, "/nowhere.jsonl", &n),
                   TESS_IO);
  assert_int_equal(tess_database_export(x.db, "/dev/full"), TESS_IO);
  end_files(&x);
}

/* A record needs its workload, in the file or the database, and times that are
 * possible. */
static void test_orphans(void **state) {
  (void)state;
  files x;
  uint64_t n;
  char sed[1400];
  start_files(&x);
  assert_int_equal(tess_database_export(x.db, x.lines), TESS_OK);
  snprintf(sed, sizeof sed, "sed -i 1d %s", x.lines);
  assert_int_equal(system(sed), 0);
  assert_int_equal(tess_database_import(x.other, x.lines, &n), TESS_PARSE);
  assert_non_null(strstr(tess_error(x.f.t.c)->message,
                         "line 1: its workload is neither in the database"));
  assert_int_equal(count_of(x.other), 0);
  assert_int_equal(tess_database_import(x.db, x.lines, &n), TESS_OK);
  assert_int_equal(tess_database_export(x.db, x.lines), TESS_OK);
  snprintf(sed, sizeof sed, "sed -i '3s/\"seconds\":[^,]*/\"seconds\":-5/' %s",
           x.lines);
  assert_int_equal(system(sed), 0);
  assert_int_equal(tess_database_import(x.other, x.lines, &n), TESS_PARSE);
  assert_non_null(strstr(tess_error(x.f.t.c)->message,
                         "line 3: seconds is -5.0, not a time from"));
  assert_int_equal(count_of(x.other), 0);
  end_files(&x);
}

/* What is wrong, and where; nothing of the file is taken. */
static void test_bad_lines(void **state) {
  (void)state;
  static const char *const bad[][2] = {
      {"{", "line 1"},
      {"[]", "line 1: it is neither"},
      {"\n{\"type\": \"word\"}", "line 2: it is neither"},
      {"{\"type\": \"record\"}", "line 1: a record needs"},
      {"{\"type\": \"workload\", \"name\": \"x\", \"hash\": \"0\"}",
       "line 1: a workload needs"},
      {"{\"type\": \"workload\", \"name\": \"x\", \"hash\": "
       "\"0000000000000000\", \"program\": \"xy\"}",
       "no hexadecimal text"},
      {"{\"type\": \"workload\", \"name\": \"x\", \"hash\": "
       "\"0000000000000000\", \"program\": \"00\"}",
       "program"},
      {"{\"type\": \"record\", \"workload\": \"0000000000000000\", \"sketch\": "
       "\"0000000000000000\", \"program_hash\": \"0000000000000000\"}",
       "a text of the record is missing"}};
  files x;
  uint64_t n = 7;
  start_files(&x);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    FILE *f = fopen(x.lines, "w");
    assert_non_null(f);
    fputs(bad[i][0], f);
    fclose(f);
    assert_int_not_equal(tess_database_import(x.other, x.lines, &n), TESS_OK);
    assert_int_equal(n, 0);
    const char *said = tess_error(x.f.t.c)->message;
    if (!strstr(said, bad[i][1])) fail_msg("'%s' not in '%s'", bad[i][1], said);
    assert_null(strchr(said, '\n'));
    assert_int_equal(count_of(x.other), 0);
  }
  end_files(&x);
}

static void test_prune(void **state) {
  (void)state;
  files x;
  uint64_t n;
  tess_record best = TESS_INIT(tess_record), left = best;
  start_files(&x);
  const char *target = tess_target_text(x.f.t.target);
  assert_int_equal(tess_database_best(x.db, x.f.t.p, target, &best), TESS_OK);
  int64_t id = best.id;
  assert_int_equal(tess_database_prune(x.db, 3, &n), TESS_OK);
  assert_true(n == 17 || n == 16); /* the best that was checked stays */
  assert_int_equal(count_of(x.db), 20 - n);
  assert_int_equal(tess_database_best(x.db, x.f.t.p, target, &left), TESS_OK);
  assert_int_equal(left.id, id);
  end_files(&x);
}

/* What a filter lets by goes, and with the last record of a group its runs; a
 * time that is none is refused. */
static void test_remove(void **state) {
  (void)state;
  files x;
  uint64_t n;
  tess_run run = TESS_INIT(tess_run);
  tess_record_filter f = TESS_INIT(tess_record_filter);
  start_files(&x);
  f.before = "yesterday";
  assert_int_equal(tess_database_remove(x.db, &f, 0, 0, &n), TESS_INVALID);
  f.before = NULL; /* it says nothing */
  assert_int_equal(tess_database_remove(x.db, &f, 0, 0, &n), TESS_INVALID);
  assert_int_equal(tess_database_remove(x.db, &f, 0, 1, &n), TESS_INVALID);
  assert_int_equal(tess_database_remove(x.db, NULL, 0, 1, &n), TESS_OK);
  assert_int_equal(n, 20);
  f.before = "2020-02-01";
  assert_int_equal(tess_database_remove(x.db, &f, 0, 0, &n), TESS_OK);
  assert_int_equal(n, 0);
  f.before = "2999-01-01T00:00:00Z";
  f.target = "other";
  assert_int_equal(tess_database_remove(x.db, &f, 0, 0, &n), TESS_OK);
  assert_int_equal(n, 0);
  f.target = tess_target_text(x.f.t.target);
  assert_int_equal(tess_database_remove(x.db, &f, 5, 1, &n), TESS_OK);
  assert_true(n == 15 || n == 14);
  assert_int_equal(count_of(x.db), 20); /* dry */
  const uint64_t none = 0;
  f.sketch = &none;
  f.nsketch = 1;
  assert_int_equal(tess_database_remove(x.db, &f, 0, 0, &n), TESS_OK);
  assert_int_equal(n, 20);
  assert_int_equal(count_of(x.db), 0);
  assert_int_equal(tess_database_run(x.db, 0, &run), TESS_NOT_FOUND);
  end_files(&x);
}

/* The best of the file for this target, else a guess; no file is made. */
static void test_frozen(void **state) {
  (void)state;
  files x;
  tess_result *r;
  tess_trace *t;
  struct stat st;
  tess_result_info info = TESS_INIT(tess_result_info);
  tess_space *space;
  start_files(&x);
  assert_int_equal(
      tess_space_traces(x.f.t.c, x.f.t.nsketch, x.f.t.sketch, &space), TESS_OK);
  char none[430];
  snprintf(none, sizeof none, "%s.none", x.a);
  const tess_tune_options o = {
      .struct_size = sizeof o, .database = none, .frozen = 1, .threads = 1};
  assert_int_equal(tess_tune(x.f.t.p, NULL, space, &o, &r), TESS_OK);
  assert_int_equal(tess_result_get(r, &info), TESS_OK);
  assert_int_equal(info.status, TESS_OK);
  assert_int_equal(info.trials, 0);
  assert_non_null(strstr(info.note, "\"analytic\" prefers"));
  assert_int_equal(tess_result_trace(r, &t), TESS_OK);
  tess_trace_free(t);
  assert_int_not_equal(stat(none, &st), 0);
  tess_result_free(r);
  tess_space_free(space);
  end_files(&x);
}

/* Records from elsewhere, and the runs of those that were made here. */
static void test_add_and_runs(void **state) {
  (void)state;
  files x;
  tess_trace *t;
  tess_record row = TESS_INIT(tess_record);
  tess_run run = TESS_INIT(tess_run);
  const double good[] = {3e-3, 1e-3, 2e-3}, bad[] = {1e-3, -1};
  start_files(&x);
  assert_int_equal(tess_database_row(x.db, 0, &row), TESS_OK);
  assert_true(row.run > 0 && row.ndecisions > 0 && row.sketch);
  assert_int_equal(tess_database_trace(x.db, row.id, &t), TESS_OK);
  assert_int_equal(tess_database_add(x.other, t, "there", "theirs", 3, good),
                   TESS_NOT_FOUND);
  assert_int_equal(tess_database_add(x.other, t, "llvm", "", 3, good),
                   TESS_INVALID);
  assert_int_equal(tess_database_add(x.other, t, "llvm", "theirs", 3, good),
                   TESS_OK);
  assert_int_equal(tess_database_add(x.other, t, "llvm", "theirs", 2, bad),
                   TESS_INVALID);
  assert_int_equal(count_of(x.other), 1);
  assert_int_equal(tess_database_row(x.other, 0, &row), TESS_OK);
  assert_true(row.seconds == 2e-3 && row.nsample == 3 && !row.checked);
  assert_int_equal(row.run, 0);
  assert_non_null(strstr(row.target, "-num-cores=")); /* completed */
  tess_trace_free(t);
  assert_int_equal(tess_database_run(x.db, 0, &run), TESS_OK);
  assert_string_equal(run.strategy, "evolutionary");
  assert_string_equal(run.ended, "OK");
  assert_int_equal(run.batch, 16);
  assert_non_null(strstr(run.funnel, "measured: ok"));
  assert_string_equal(run.quality, "[]");
  assert_int_equal(tess_database_run(x.db, 1, &run), TESS_NOT_FOUND);
  end_files(&x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_merge),   cmocka_unit_test(test_lines),
      cmocka_unit_test(test_orphans), cmocka_unit_test(test_bad_lines),
      cmocka_unit_test(test_prune),   cmocka_unit_test(test_remove),
      cmocka_unit_test(test_frozen),  cmocka_unit_test(test_add_and_runs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
