/* SPDX-License-Identifier: Apache-2.0
 * Cost models that learn: what they learn they tell; runs with them repeat on
 * any number of threads and whatever delays there are; failures are told from
 * decisions; files, and damaged ones; names; memory that runs out.
 * Labels: threads */
#include "search/model/file.h"
#include "support/recorded.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const names[] = {"xgb", "xgb_rank", "forest",
                                    "gp",  "treegru",  "xgb+forest"};
enum { NAMES = sizeof names / sizeof *names, MADE = 96 };

/* ---- sessions ----------------------------------------------------------- */

typedef struct fixture {
  tiled t;
  const vm_trace *sketch[2];
  tess_session s;
  tess_model *m;
  tess_cost_model f;
  search_order order[MADE];
  search_cand made[MADE];
  tess_candidate c[MADE];
} fixture;

static void model_start_with(fixture *f, const char *name,
                             void (*sketches)(tiled *t)) {
  *f = (fixture){.s = {0}};
  tiled_start(&f->t);
  if (sketches) sketches(&f->t);
  for (uint32_t i = 0; i < f->t.nsketch; i++) f->sketch[i] = &f->t.sketch[i]->t;
  assert_int_equal(
      session_init(&f->s, f->t.c, &f->t.p->p, f->t.nsketch, f->sketch, 7, 1),
      TESS_OK);
  assert_int_equal(model_new(f->t.c, name, &f->m), TESS_OK);
  assert_int_equal(model_attach(f->m, &f->s, &f->f), TESS_OK);
  for (uint32_t i = 0; i < MADE; i++)
    f->order[i] = (search_order){.how = SEARCH_DRAW, .sketch = -1};
}

static void model_start(fixture *f, const char *name) {
  model_start_with(f, name, NULL);
}

static void model_end(fixture *f) {
  tess_model_free(f->m);
  session_free(&f->s);
  tiled_end(&f->t);
}

/* The innermost loop over k, which features show: the last factor of the last
 * decision that is not 1. */
static int64_t innermost(const search_cand *c) {
  uint32_t i = c->n - 1;
  while (c->d[i] == 1) i--;
  return c->d[i];
}

static double time_of(const search_cand *c) {
  return 1e-3 / (double)(1 + innermost(c));
}

/* A batch, measured; where `fails`, what has a long innermost
 * loop. */
static void model_make(fixture *f, bool fails) {
  session_begin_batch(&f->s);
  assert_int_equal(session_make(&f->s, MADE, f->order, f->made), TESS_OK);
  for (uint32_t i = 0; i < MADE; i++) {
    assert_non_null(f->made[i].d);
    session_to_public(&f->made[i], &f->c[i]);
    bool bad = fails && innermost(&f->made[i]) >= 8;
    f->c[i].status = bad ? TESS_BUILD_ERROR : TESS_OK;
    f->c[i].seconds = bad ? INFINITY : time_of(&f->made[i]);
  }
}

static void teach(fixture *f) {
  assert_int_equal(f->f.update(f->f.ud, &f->s, MADE, f->c), TESS_OK);
}

/* Share of pairs that scores put in the right order. */
static double accuracy(fixture *f) {
  double score[MADE], seconds[MADE];
  assert_int_equal(f->f.predict(f->f.ud, &f->s, MADE, f->c, score), TESS_OK);
  for (uint32_t i = 0; i < MADE; i++) seconds[i] = time_of(&f->made[i]);
  return quality_of(MADE, score, seconds, 0, false).rank_accuracy;
}

static void test_what_was_learnt_is_told(void **state) {
  (void)state;
  for (int k = 0; k < NAMES; k++) {
    fixture f;
    char column[TESS_MAX_COLUMN];
    double share, sum = 0;
    model_start(&f, names[k]);
    model_make(&f, false);
    double before = accuracy(&f);
    teach(&f);
    model_make(&f, false);
    double after = accuracy(&f);
    if (!(after > 0.85 && before < 0.7))
      fail_msg("%s: %g before, %g after", names[k], before, after);
    teach(&f);
    assert_int_equal(f.m->quality.n, 1);
    assert_int_equal(f.m->quality.v[0].trials, MADE);
    assert_true(f.m->quality.v[0].rank_accuracy == after);
    uint32_t n = 0;
    while (tess_model_importance(f.m, n, column, &share) == TESS_OK) {
      sum += share;
      n++;
    }
    assert_true(k == 3 || k == 4 ? !n : fabs(sum - 1) < 1e-9);
    model_end(&f);
  }
}

/* It knows before it is taught, alone or with others, and no more when it
 * was. */
static void test_untaught(void **state) {
  (void)state;
  static const char *const list[] = {"analytic", "analytic+forest"};
  for (int k = 0; k < 2; k++) {
    fixture f;
    double before[MADE], after[MADE];
    model_start(&f, list[k]);
    assert_true(session_model_knows(&f.s));
    model_make(&f, false);
    assert_int_equal(f.f.predict(f.f.ud, &f.s, MADE, f.c, before), TESS_OK);
    teach(&f);
    assert_int_equal(f.m->quality.n, 1);
    assert_int_equal(f.f.predict(f.f.ud, &f.s, MADE, f.c, after), TESS_OK);
    assert_true((k == 0) == !memcmp(before, after, sizeof before));
    model_end(&f);
  }
}

/* Vectors of lanes that there are before a lane at a time. */
static void test_analytic(void **state) {
  (void)state;
  fixture f;
  double score[MADE], scalar = -INFINITY, wide = INFINITY;
  model_start_with(&f, "analytic", tiled_wide);
  model_make(&f, false);
  assert_int_equal(f.f.predict(f.f.ud, &f.s, MADE, f.c, score), TESS_OK);
  for (uint32_t i = 0; i < MADE; i++) {
    int64_t lanes = f.made[i].d[f.made[i].n - 1];
    if (lanes == 1) scalar = fmax(scalar, score[i]);
    if (lanes >= 8 && lanes <= 64) wide = fmin(wide, score[i]);
  }
  assert_true(isfinite(scalar) && isfinite(wide) && wide > scalar);
  model_end(&f);
}

/* What fails is told from the decisions, and ranked last. */
static void test_failures(void **state) {
  (void)state;
  for (int k = 0; k < NAMES; k++) {
    fixture f;
    double score[MADE], good = 0, bad = 0;
    uint32_t ngood = 0, nbad = 0;
    model_start(&f, names[k]);
    model_make(&f, true);
    teach(&f);
    model_make(&f, true);
    assert_int_equal(f.f.predict(f.f.ud, &f.s, MADE, f.c, score), TESS_OK);
    assert_true(f.m->now->judges);
    for (uint32_t i = 0; i < MADE; i++)
      if (f.c[i].status == TESS_OK)
        good += score[i], ngood++;
      else
        bad += score[i], nbad++;
    assert_true(ngood > 5 && nbad > 5);
    assert_true(bad / nbad < good / ngood);
    model_end(&f);
  }
}

/* Predictions of more than one worker's features, and of candidates that the
 * session did not make in this batch. */
static void test_old_candidates(void **state) {
  (void)state;
  fixture f;
  double now[MADE], then[MADE];
  int64_t d[MADE][32];
  model_start(&f, "forest");
  model_make(&f, false);
  teach(&f);
  assert_int_equal(f.f.predict(f.f.ud, &f.s, MADE, f.c, now), TESS_OK);
  for (uint32_t i = 0; i < MADE; i++) {
    memcpy(d[i], f.c[i].decisions, f.c[i].ndecisions * sizeof **d);
    f.c[i].decisions = d[i];
  }
  session_begin_batch(&f.s);
  assert_int_equal(f.f.predict(f.f.ud, &f.s, MADE, f.c, then), TESS_OK);
  assert_memory_equal(now, then, sizeof now);
  model_end(&f);
}

/* What is equal to a measured program is learnt from and is no trial: nothing
 * is trained again before there are more. */
static void test_equal_candidates(void **state) {
  (void)state;
  fixture f;
  double score[MADE];
  model_start(&f, "forest");
  model_make(&f, false);
  for (uint32_t i = 0; i < MADE; i++) {
    search_trial t = trial_from_public(&f.c[i]);
    t.equal = i % 2;
    if (session_knows(&f.s, &t.c)) continue;
    assert_int_equal(session_learn(&f.s, &t), TESS_OK);
  }
  teach(&f);
  assert_int_equal(f.f.predict(f.f.ud, &f.s, MADE, f.c, score), TESS_OK);
  assert_in_range(f.m->own, 1, MADE - 1);
  const model_fits *first = f.m->now;
  assert_non_null(first);
  assert_int_equal(f.f.predict(f.f.ud, &f.s, MADE, f.c, score), TESS_OK);
  assert_ptr_equal(f.m->now, first);
  model_end(&f);
}

/* ---- runs --------------------------------------------------------------- */

static void test_same_with_any_threads(void **state) {
  (void)state;
  static const uint32_t threads[] = {1, 4};
  static const char *const some[] = {"xgb", "forest", "gp"};
  recorded_run f;
  recorded_start(&f);
  f.o.trials = 48;
  for (int k = 0; k < 3; k++) {
    static uint64_t first[4096];
    f.o.cost_model = some[k];
    f.o.strategy = "evolutionary:population_size=64,genetic_num_iters=2";
    for (int i = 0; i < 2; i++) {
      tess_result *r;
      tess_result_info info = TESS_INIT(tess_result_info);
      f.o.threads = threads[i];
      f.r.delays = i > 0;
      assert_int_equal(recorded_tune(&f, &r), TESS_OK);
      assert_int_equal(f.r.n, 48);
      if (i == 0) memcpy(first, f.r.order, sizeof first);
      assert_memory_equal(first, f.r.order, 48 * sizeof *first);
      assert_int_equal(tess_result_get(r, &info), TESS_OK);
      assert_int_equal(info.nquality, 2);
      for (uint32_t q = 0; q < 2; q++) {
        assert_int_equal(info.quality[q].trials, 16 * (q + 1));
        assert_int_equal(info.quality[q].n, 16);
      }
      tess_result_free(r);
    }
  }
  recorded_end(&f);
}

/* A model that is kept knows more in the next run. */
static void test_kept_models(void **state) {
  (void)state;
  recorded_run f;
  tess_result *r;
  tess_model *m, *same;
  recorded_start(&f);
  assert_int_equal(tess_model_new(f.t.c, "forest", &m), TESS_OK);
  f.o.model = m;
  f.o.trials = 32;
  for (uint32_t k = 1; k <= 2; k++) {
    f.o.seed = k;
    assert_int_equal(recorded_tune(&f, &r), TESS_OK);
    assert_int_equal(tess_result_model(r, &same), TESS_OK);
    assert_ptr_equal(same, m);
    assert_int_equal(tess_model_samples(m), 32 * k);
    tess_model_free(same);
    tess_result_free(r);
  }
  tess_model_free(m);
  recorded_end(&f);
}

static int count_row(void *ud, int n, char **text, char **name) {
  (void)name;
  assert_int_equal(n, 2);
  assert_string_equal(text[0], "forest");
  *(int *)ud += atoi(text[1]);
  return 0;
}

/* A row a batch, once the model knows something. */
static void test_quality_is_stored(void **state) {
  (void)state;
  recorded_run f;
  tess_result *r;
  char path[512];
  int trials = 0;
  sqlite3 *db;
  recorded_database(path, sizeof path);
  recorded_start(&f);
  f.o.cost_model = "forest";
  f.o.strategy = "evolutionary:population_size=64,genetic_num_iters=2";
  f.o.database = path;
  f.o.trials = 64;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_free(r);
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db,
                                "SELECT model, trials FROM quality WHERE n = "
                                "16 AND rank_accuracy >= 0 AND rmse >= 0",
                                count_row, &trials, NULL),
                   SQLITE_OK);
  assert_int_equal(trials, 16 + 32 + 48);
  sqlite3_close(db);
  recorded_end(&f);
  recorded_remove(path);
}

/* Those that say how unsure they are are less sure where they know nothing. */
static void test_spread(void **state) {
  (void)state;
  static const char *const unsure[] = {"forest", "gp", "forest+gp"};
  for (int k = 0; k < 3; k++) {
    fixture f;
    double mean[MADE], sd[MADE];
    bool knows;
    model_start(&f, unsure[k]);
    model_make(&f, false);
    assert_int_equal(session_predict_spread(&f.s, MADE, f.c, mean, sd, &knows),
                     TESS_OK);
    assert_false(knows);
    teach(&f);
    assert_int_equal(session_predict_spread(&f.s, MADE, f.c, mean, sd, &knows),
                     TESS_OK);
    assert_true(knows);
    for (uint32_t i = 0; i < MADE; i++)
      assert_true(mean[i] > 0 && sd[i] >= 0 && sd[i] < 1);
    model_end(&f);
  }
}

/* ---- files -------------------------------------------------------------- */

static void path_of(char *path, size_t n) {
  snprintf(path, n, "%s/test-model-%d",
           getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", (int)getpid());
}

static void test_saving(void **state) {
  (void)state;
  char path[512];
  path_of(path, sizeof path);
  for (int k = 0; k < NAMES; k++) {
    fixture f;
    double before[MADE], after[MADE];
    model_start(&f, names[k]);
    model_make(&f, true);
    teach(&f);
    model_make(&f, true);
    assert_int_equal(f.f.predict(f.f.ud, &f.s, MADE, f.c, before), TESS_OK);
    assert_int_equal(tess_model_save(f.m, path), TESS_OK);
    tess_model_free(f.m);
    assert_int_equal(tess_model_load(f.t.c, path, &f.m), TESS_OK);
    assert_string_equal(tess_model_name(f.m), names[k]);
    assert_int_equal(tess_model_samples(f.m), MADE);
    assert_int_equal(model_attach(f.m, &f.s, &f.f), TESS_OK);
    assert_int_equal(f.f.predict(f.f.ud, &f.s, MADE, f.c, after), TESS_OK);
    assert_memory_equal(before, after, sizeof before);
    model_end(&f);
  }
  unlink(path);
}

static void write_bytes(const char *path, const char *v, size_t n) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(v, 1, n, file), n);
  fclose(file);
}

/* One line for each damage, and none that loads. */
static void test_damaged_files(void **state) {
  (void)state;
  static char bytes[1 << 20];
  char path[512];
  fixture f;
  tess_model *m;
  path_of(path, sizeof path);
  model_start(&f, "forest");
  model_make(&f, true);
  teach(&f);
  assert_int_equal(tess_model_save(f.m, path), TESS_OK);
  FILE *file = fopen(path, "rb");
  size_t n = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  assert_true(n > 1000 && n < sizeof bytes);
  for (size_t cut = 0; cut < n; cut += cut < 200 ? 1 : n / 40) {
    write_bytes(path, bytes, cut);
    assert_int_equal(tess_model_load(f.t.c, path, &m), TESS_INVALID);
    assert_null(m);
  }
  for (size_t at = 0; at < n; at += at < 200 ? 3 : n / 40) {
    bytes[at] ^= 0x10;
    write_bytes(path, bytes, n);
    assert_int_equal(tess_model_load(f.t.c, path, &m), TESS_INVALID);
    assert_non_null(strstr(tess_error(f.t.c)->message, path));
    bytes[at] ^= 0x10;
  }
  unlink(path);
  assert_int_equal(tess_model_load(f.t.c, path, &m), TESS_NOT_FOUND);
  assert_int_equal(tess_model_save(f.m, "/nowhere/model"), TESS_IO);
  model_end(&f);
}

/* ---- memory ------------------------------------------------------------- */

/* Many allocations fail in their turn: the run goes on, or ends with NOMEM;
 * nothing leaks, and what is kept can be used. */
static void test_memory_runs_out(void **state) {
  (void)state;
  static const char *const some[] = {"forest", "xgb+gp"};
  fault_alloc fault;
  fault_init(&fault);
  const tess_allocator memory = fault_allocator(&fault);
  const tess_options o = {.struct_size = sizeof o, .allocator = &memory};
  for (int k = 0; k < 2; k++) {
    recorded_run f;
    recorded_start_with(&f, &o);
    f.o.trials = 24;
    f.o.batch = 12;
    f.o.cost_model = some[k];
    f.o.strategy = "evolutionary:population_size=64,genetic_num_iters=2";
    uint64_t met = 1;
    for (uint64_t n = 1; met; n += 1 + n / 3) {
      tess_result *r = NULL;
      fault_arm(&fault, n);
      tess_status s = recorded_tune(&f, &r);
      met = fault.failed;
      fault.fail_at = 0;
      if (s != TESS_OK) {
        assert_int_equal(s, TESS_NOMEM);
        assert_null(r);
        continue;
      }
      tess_result_info info = TESS_INIT(tess_result_info);
      assert_int_equal(tess_result_get(r, &info), TESS_OK);
      assert_true(info.status == TESS_OK || info.status == TESS_NOMEM);
      tess_result_free(r);
    }
    recorded_end(&f);
  }
  assert_int_equal(fault.live_blocks, 0);
  assert_int_equal(fault.broken, 0);
}

/* ---- names -------------------------------------------------------------- */

static void test_names(void **state) {
  (void)state;
  static const char *const bad[] = {
      "", "+", "xgb+", "xgboost", "forest+random", "forest++forest"};
  fixture f;
  tess_model *m;
  model_start(&f, "random");
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(tess_model_new(f.t.c, bad[i], &m), TESS_NOT_FOUND);
    assert_null(m);
    assert_non_null(
        strstr(tess_error(f.t.c)->message, "there is no cost model"));
  }
  assert_int_equal(
      tess_model_new(f.t.c,
                     "forest+forest+forest+forest+forest+forest+forest+"
                     "forest+forest",
                     &m),
      TESS_LIMIT);
  model_end(&f);
}

/* ---- quality ------------------------------------------------------------ */

static void test_quality(void **state) {
  (void)state;
  static const double seconds[] = {1, 2, 4, INFINITY, 8};
  static const double good[] = {1, 0.5, 0.25, 0, 0.125};
  static const double bad[] = {0, 0.25, 0.5, 1, 0.75};
  tess_quality q = quality_of(5, good, seconds, 1, true);
  assert_true(q.rank_accuracy == 1 && q.top_k_recall == 1 && q.rmse == 0);
  q = quality_of(5, bad, seconds, 1, false);
  assert_true(q.rank_accuracy == 0 && q.top_k_recall == 0 && isnan(q.rmse));
  static const double same[] = {1, 1, 1, 1, 1};
  q = quality_of(5, same, seconds, 1, true);
  assert_true(q.rank_accuracy == 0.5);
  q = quality_of(0, good, seconds, 1, true);
  assert_true(isnan(q.rank_accuracy));
}

int main(void) {
  const struct CMUnitTest threaded[] = {
      cmocka_unit_test(test_same_with_any_threads)};
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_was_learnt_is_told),
      cmocka_unit_test(test_untaught),
      cmocka_unit_test(test_analytic),
      cmocka_unit_test(test_failures),
      cmocka_unit_test(test_old_candidates),
      cmocka_unit_test(test_equal_candidates),
      cmocka_unit_test(test_kept_models),
      cmocka_unit_test(test_quality_is_stored),
      cmocka_unit_test(test_spread),
      cmocka_unit_test(test_saving),
      cmocka_unit_test(test_damaged_files),
      cmocka_unit_test(test_memory_runs_out),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_quality),
  };
  int failed = cmocka_run_group_tests(threaded, NULL, NULL);
  if (!TEST_THREADS_ONLY) failed += cmocka_run_group_tests(tests, NULL, NULL);
  return failed;
}
