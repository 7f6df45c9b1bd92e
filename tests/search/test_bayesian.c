/* SPDX-License-Identifier: Apache-2.0
 * Bayesian optimisation and the hybrid of it: the optimum of a synthetic table
 * is found, failures are learnt, and proposals depend neither on the number of
 * threads nor on anything but the seed.
 * Labels: threads */
#include "search/strategy/bayesian.h"
#include "search/strategy/judging.h"
#include "support/recorded.h"
#include "support/test.h"

#include <math.h>

/* Surrogates are slow in a checked build. */
enum {
  MOST = 512,
  TRIALS = TEST_CHECKED ? 40 : 160,
  SAME_TRIALS = TEST_CHECKED ? 20 : 40
};

/* A table with one optimum: the candidate `best` takes a millisecond, others
 * longer the further their tiles are from its. */
typedef struct synthetic {
  tiled t;
  search_cand best;
  int64_t d[64];
  uint64_t order[MOST];
  uint32_t n, failed;
  bool fails; /* candidates with an innermost tile of 1, */
  bool picky; /* or all whose last decision is not that of the best */
  search_measurer m;
  tess_tune_options o;
} synthetic;

static double synthetic_time(const synthetic *f, const search_cand *c) {
  double sum = c->sketch == f->best.sketch ? 0 : 4;
  for (uint32_t i = 0; i < c->n && i < f->best.n; i++) {
    double x = log2((double)c->d[i] + 1) - log2((double)f->best.d[i] + 1);
    sum += x * x;
  }
  return 1e-3 * (1 + sum);
}

static bool same_end(const synthetic *f, const search_cand *c) {
  return c->d[c->n - 1] == f->best.d[f->best.n - 1];
}

static tess_status synthetic_measure(void *ud, tess_session *s, uint32_t n,
                                     const search_trial *trial, double best,
                                     search_outcome *out,
                                     int (*done)(void *, uint32_t),
                                     void *done_ud) {
  synthetic *f = ud;
  (void)s, (void)best;
  for (uint32_t i = 0; i < n; i++) {
    assert_true(f->n < MOST);
    f->order[f->n++] = trial[i].c.hash;
    bool bad = f->fails && trial[i].c.d[trial[i].c.n - 1] == 1;
    if (f->picky) bad = !same_end(f, &trial[i].c);
    out[i].status = bad ? TESS_BUILD_ERROR : TESS_OK;
    out[i].seconds = synthetic_time(f, &trial[i].c);
    out[i].checked = !bad;
    f->failed += bad;
    if (done(done_ud, i)) return TESS_OK;
  }
  return TESS_OK;
}

static tess_status synthetic_compare(void *ud, const strbuf *code,
                                     search_outcome *out) {
  (void)ud, (void)code;
  out->status = TESS_OK;
  out->checked = true;
  return TESS_OK;
}

/* Some candidate of the second sketch that runs. */
static void choose_best(synthetic *f) {
  const vm_trace *sketch[2];
  tess_session s;
  search_order o = {.how = SEARCH_DRAW, .sketch = (int32_t)f->t.nsketch - 1};
  search_cand c;
  for (uint32_t i = 0; i < f->t.nsketch; i++) sketch[i] = &f->t.sketch[i]->t;
  assert_int_equal(
      session_init(&s, f->t.c, &f->t.p->p, f->t.nsketch, sketch, 99, 1),
      TESS_OK);
  do {
    assert_int_equal(session_make(&s, 1, &o, &c), TESS_OK);
  } while (!c.d || c.d[c.n - 1] == 1);
  assert_in_range(c.n, 1, 64);
  memcpy(f->d, c.d, c.n * sizeof *c.d);
  f->best = c;
  f->best.d = f->d;
  session_free(&s);
}

static void synthetic_start(synthetic *f, const char *strategy) {
  *f = (synthetic){0};
  tiled_start(&f->t);
  choose_best(f);
  f->m = (search_measurer){.measure = synthetic_measure,
                           .compare = synthetic_compare,
                           .rematch = recorded_rematch,
                           .ud = f};
  f->o = recorded_options(strategy, TRIALS, 3);
}

static tess_status synthetic_tune(synthetic *f, double *best) {
  tess_result *r = NULL;
  tune_setup set = recorded_setup(&f->t, &f->o, &f->m);
  f->n = f->failed = 0;
  tess_status st = tune_run(&set, &r);
  if (st == TESS_OK) *best = r->curve.v[r->curve.n - 1];
  tess_result_free(r);
  return st;
}

static double found_by(const char *strategy, const char *model) {
  synthetic f;
  double best = INFINITY;
  synthetic_start(&f, strategy);
  f.o.cost_model = model;
  assert_int_equal(synthetic_tune(&f, &best), TESS_OK);
  tiled_end(&f.t);
  return best;
}

static bool has_gsl(void) {
  char why[256];
  return gsl_load(why) != NULL;
}

static void is_the_optimum(double best) {
  if (!TEST_CHECKED) assert_float_equal(best, 1e-3, 1e-9);
}

/* ---- the optimum -------------------------------------------------------- */

static void test_finds_the_optimum(void **state) {
  (void)state;
  is_the_optimum(found_by("bayesian:surrogate=forest", "random"));
  is_the_optimum(
      found_by("bayesian:surrogate=forest,acquisition=class", "random"));
  if (!has_gsl()) skip();
  is_the_optimum(found_by("hybrid:surrogate=gp", "random"));
  is_the_optimum(found_by("bayesian:surrogate=gp,batch=4", "random"));
  is_the_optimum(found_by("bayesian:acquisition=ei,batch=3", "random"));
}

/* What fails is soon left alone: of draws a share fails, of proposals less. */
static void test_learns_failures(void **state) {
  (void)state;
  synthetic f;
  double best;
  synthetic_start(&f, "replay");
  f.fails = true;
  assert_int_equal(synthetic_tune(&f, &best), TESS_OK);
  uint32_t drawn = f.failed;
  assert_true(drawn > TRIALS / 8);
  f.o.strategy = "bayesian:surrogate=forest";
  assert_int_equal(synthetic_tune(&f, &best), TESS_OK);
  if (!TEST_CHECKED) assert_true(f.failed < drawn / 2);
  is_the_optimum(best);
  tiled_end(&f.t);
}

/* Before four have run, too: from the first failure and success on. */
static void test_learns_failures_at_once(void **state) {
  (void)state;
  synthetic f;
  double best;
  synthetic_start(&f, "replay");
  f.picky = true;
  f.o.trials = SAME_TRIALS;
  assert_int_equal(synthetic_tune(&f, &best), TESS_OK);
  uint32_t drawn = f.n - f.failed;
  f.o.strategy = "bayesian:surrogate=forest";
  assert_int_equal(synthetic_tune(&f, &best), TESS_OK);
  assert_true(f.n - f.failed >= 2 * drawn);
  tiled_end(&f.t);
}

/* ---- who proposes ------------------------------------------------------- */

static void order_of(synthetic *f, const char *strategy, uint64_t *order) {
  double best;
  f->o.strategy = strategy;
  assert_int_equal(synthetic_tune(f, &best), TESS_OK);
  memcpy(order, f->order, SAME_TRIALS * sizeof *order);
}

static tess_status predict_exactly(void *ud, tess_session *s, uint32_t n,
                                   const tess_candidate *c, double *score) {
  (void)s;
  for (uint32_t i = 0; i < n; i++) {
    search_cand x = session_from_public(&c[i]);
    score[i] = 1 / synthetic_time(ud, &x);
  }
  return TESS_OK;
}

/* The surrogate as long as the cost model tells nothing, however many trials
 * there were; a cost model that ranks better takes over. */
static void test_better_judge_proposes(void **state) {
  (void)state;
  enum { FIRST = 30 };
  synthetic f;
  uint64_t alone[MOST], blind[MOST], seeing[MOST];
  synthetic_start(&f, "bayesian");
  f.o.trials = SAME_TRIALS;
  order_of(&f, "bayesian:surrogate=auto,acquisition=class", alone);
  order_of(&f, "hybrid:first=0", blind);
  assert_memory_equal(alone, blind, SAME_TRIALS * sizeof *alone);
  f.o.custom_cost_model =
      &(tess_cost_model){.name = "exact", .predict = predict_exactly, .ud = &f};
  order_of(&f, "bayesian:surrogate=auto,acquisition=class", alone);
  order_of(&f, "hybrid:first=30", seeing);
  if (!TEST_CHECKED) {
    assert_memory_equal(alone, seeing, FIRST * sizeof *alone);
    assert_memory_not_equal(alone, seeing, SAME_TRIALS * sizeof *alone);
  }
  tiled_end(&f.t);
}

/* n proposals, the later the faster, of which one judge knows that and the
 * other the contrary; scores of the first are between `from` and `to`. */
static void judge_some(judging *j, uint32_t n, double from, double to) {
  static uint64_t hash;
  for (uint32_t i = 0; i < n; i++) {
    double seconds = 1.0 / (double)++hash;
    judging_note(j, hash, (double[]){from + (to - from) * i / n, seconds});
    judging_see(j, hash, seconds);
    judging_see(j, 1u << 30, 0); /* which nobody noted */
  }
}

/* What was said on another scale is not ranked among what is said now: a judge
 * is judged anew, by as many proposals as in the beginning. */
static void test_judged_anew(void **state) {
  (void)state;
  judging j = {0};
  judge_some(&j, JUDGING_FEW - 1, 5, 9);
  assert_true(isnan(judging_accuracy(&j, 0)));
  judge_some(&j, JUDGING_FEW, 9, 13);
  assert_float_equal(judging_accuracy(&j, 0), 1, 1e-9);
  assert_float_equal(judging_accuracy(&j, 1), 0, 1e-9);
  judging_scale(&j, 0, 0);
  assert_float_equal(judging_accuracy(&j, 0), 1, 1e-9);
  judging_scale(&j, 0, 1);
  judge_some(&j, JUDGING_FEW - 1, 0, 0.5);
  assert_true(isnan(judging_accuracy(&j, 0)));
  assert_float_equal(judging_accuracy(&j, 1), 0, 1e-9);
  judge_some(&j, 1, 0.5, 1);
  assert_float_equal(judging_accuracy(&j, 0), 1, 1e-9);
  judge_some(&j, JUDGING_WINDOW, 0, 1); /* older ones count no more */
  assert_float_equal(judging_accuracy(&j, 0), 1, 1e-9);
}

/* Of points of a grid those of its first rows fail, others are the faster the
 * further they are in a row. */
enum { MANY = 140, FAILED = 20 };
typedef struct lesson {
  tess_context *c;
  surrogate g;
  float x[MANY][2];
  const float *row[MANY];
  double value[MANY];
} lesson;

static void lesson_start(lesson *l, surrogate_kind kind) {
  for (uint32_t i = 0; i < MANY; i++) {
    l->x[i][0] = (float)(i % 10);
    l->x[i][1] = (float)(i / 10);
    l->row[i] = l->x[i];
    l->value[i] = i < FAILED ? NAN : l->x[i][0] + 0.01 * l->x[i][1];
  }
  assert_int_equal(tess_context_new(NULL, &l->c), TESS_OK);
  assert_int_equal(surrogate_init(&l->g, l->c, kind), TESS_OK);
}

static void lesson_end(lesson *l) {
  surrogate_free(&l->g);
  tess_context_free(l->c);
}

/* The two in turns while few have run, then a forest; what failed is not
 * counted. */
static void test_surrogate_by_evidence(void **state) {
  (void)state;
  enum { PROCESS = 100 };
  lesson l;
  lesson_start(&l, SURROGATE_AUTO);
  for (uint32_t ran = 4; ran <= MANY - FAILED; ran += 4) {
    bool turn = (FAILED + ran) / 4 % 2 == 0;
    assert_true(surrogate_fit(&l.g, FAILED + ran, 2, l.row, l.value, 1));
    assert_int_equal(l.g.f == NULL, ran <= PROCESS && turn);
    assert_int_equal(l.g.gp != NULL, ran <= PROCESS);
    assert_non_null(l.g.runs);
    assert_false(isnan(surrogate_expect(&l.g, l.row[MANY - 1])));
  }
  lesson_end(&l);
}

/* The class of the best tenth: the last of each row that does not fail. */
static void test_class(void **state) {
  (void)state;
  lesson l;
  lesson_start(&l, SURROGATE_FOREST);
  l.g.classes = true;
  assert_true(surrogate_fit(&l.g, MANY, 2, l.row, l.value, 1));
  for (uint32_t i = 0; i < MANY; i++) {
    double mean = surrogate_ask(&l.g, l.row[i]).mean;
    bool last = i % 10 == 9;
    if (last && i > 2 * FAILED) assert_true(mean > 0.5);
    if (last && i < FAILED / 2) assert_true(mean < 0.5);
    if (i % 10 < 5) assert_true(mean < 0.2);
  }
  lesson_end(&l);
}

/* Where nothing is left in the class, times tell which is the better of two. */
static void test_class_is_spent(void **state) {
  (void)state;
  enum { POOR = MANY - 10, BETTER = MANY - 8, GOOD = MANY - 1 };
  lesson l;
  lesson_start(&l, SURROGATE_FOREST);
  bayes_point p = {0};
  bayes b = {.pool = {.v = &p, .n = 1}, .option = {[BAYES_KAPPA] = 1}};
  b.option[BAYES_ACQUISITION] = BAYES_CLASS;
  double gain[2];
  for (int spent = 0; spent < 2; spent++) {
    l.g.classes = !spent;
    assert_true(surrogate_fit(&l.g, MANY, 2, l.row, l.value, 1));
    b.g = l.g;
    for (int i = 0; i < 2; i++) {
      p.b = surrogate_ask(&l.g, l.row[i ? BETTER : POOR]);
      gain[i] = bayes_gain(&b, &p.b);
      bayes_notice_spent(&b);
      assert_true(b.spent);
    }
    assert_int_equal(bayes_bounds(&b), spent);
    if (spent)
      assert_true(gain[1] > gain[0] + 1);
    else
      assert_true(fabs(gain[1] - gain[0]) < 0.1);
  }
  l.g.classes = true;
  assert_true(surrogate_fit(&l.g, MANY, 2, l.row, l.value, 1));
  b.g = l.g;
  p.b = surrogate_ask(&l.g, l.row[GOOD]);
  bayes_notice_spent(&b);
  assert_false(b.spent);
  lesson_end(&l);
}

/* ---- the first points --------------------------------------------------- */

enum { DESIGNED = 12 };

/* Decisions that pairs of points of one sketch share. */
static uint32_t shared_decisions(uint32_t n, const tess_candidate *c) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < i; k++) {
      vm_cursor a = {c[i].decisions, c[i].ndecisions, 0},
                b = {c[k].decisions, c[k].ndecisions, 0};
      const int64_t *p, *q;
      uint32_t np, nq;
      if (c[i].sketch != c[k].sketch) continue;
      while (vm_cursor_next(&a, &np, &p) && vm_cursor_next(&b, &nq, &q))
        sum += np == nq && !memcmp(p, q, np * sizeof *p);
    }
  return sum;
}

typedef struct designing {
  tess_session *s;
  bayes b;
  strategy_batch batch;
  tess_candidate out[DESIGNED];
  uint32_t designed, drawn; /* decisions in common */
} designing;

static tess_status make_design(void *ud) {
  designing *x = ud;
  double option[BAYES_OPTIONS];
  uint32_t got = 0;
  for (int i = 0; i < BAYES_OPTIONS; i++) option[i] = bayes_options[i].initial;
  option[BAYES_SURROGATE] = SURROGATE_FOREST;
  assert_int_equal(
      search_strategy_bayesian.begin(&x->b, x->s, option, &x->batch), TESS_OK);
  strategy_begin(&x->batch, x->s, DESIGNED);
  assert_int_equal(bayes_design(&x->b, x->s, DESIGNED, x->out, &got), TESS_OK);
  assert_int_equal(got, DESIGNED);
  x->designed += shared_decisions(DESIGNED, x->out);
  got = 0;
  strategy_begin(&x->batch, x->s, DESIGNED);
  assert_int_equal(strategy_draws(&x->batch, x->s, DESIGNED, x->out, &got),
                   TESS_OK);
  x->drawn += shared_decisions(DESIGNED, x->out);
  return TESS_OK;
}

/* They have fewer decisions in common than draws have. */
static void test_design(void **state) {
  (void)state;
  synthetic f;
  tess_session s;
  const vm_trace *sketch[2];
  designing x = {.s = &s};
  synthetic_start(&f, "bayesian");
  for (uint32_t i = 0; i < f.t.nsketch; i++) sketch[i] = &f.t.sketch[i]->t;
  for (uint64_t seed = 1; seed <= 8; seed++) {
    mem_heap *h = &f.t.c->heap;
    assert_int_equal(
        session_init(&s, f.t.c, &f.t.p->p, f.t.nsketch, sketch, seed, 1),
        TESS_OK);
    batch_init(&x.batch, h);
    assert_int_equal(mem_protect(h, make_design, &x), TESS_OK);
    search_strategy_bayesian.end(&x.b);
    batch_free(&x.batch);
    session_free(&s);
  }
  if (x.designed >= x.drawn / 2) fail_msg("%u of %u", x.designed, x.drawn);
  tiled_end(&f.t);
}

/* On a grid of 8 x 8 points, of which some have no row and a column is
 * constant, those nearest to the second to fourth of Sobol's: (3/4, 1/4), (1/4,
 * 3/4), (3/8, 3/8). */
static void test_quasi_random(void **state) {
  (void)state;
  enum { SIDE = 8, POINTS = SIDE * SIDE };
  static float v[POINTS * 3];
  static uint32_t first[POINTS + 1];
  char why[256];
  mem_heap heap;
  uint32_t at[3], n = 0;
  mem_heap_init(&heap, mem_default_allocator, 0);
  bayes b = {.heap = &heap, .gsl = gsl_load(why)};
  if (!b.gsl) return;
  arena_init(&b.spare, &heap);
  for (uint32_t i = 0; i < POINTS; i++) {
    first[i] = n;
    if (i % 13 == 12) continue;
    v[3 * n] = (float)(i / SIDE) + 5;
    v[3 * n + 1] = 1;
    v[3 * n++ + 2] = 2 * (float)(i % SIDE);
  }
  first[POINTS] = n;
  search_rows r = {FEATURE_DECISIONS, POINTS, 3, first, v};
  assert_int_equal(bayes_nearest(&b, GSL_SOBOL, 1, &r, 3, at), 3);
  assert_int_equal(at[0], 5 * SIDE + 2);
  assert_int_equal(at[1], 2 * SIDE + 5);
  assert_int_equal(at[2], 3 * SIDE + 3);
  arena_free(&b.spare);
}

static void add_seen(bayes *b, tess_session *s, uint32_t sketch, uint32_t n,
                     double value) {
  for (uint32_t i = 0; i < n; i++) {
    search_trial h = {.c = {.sketch = sketch}};
    vec_push(b->heap, &s->history, h);
    vec_push(b->heap, &b->seen, NULL);
    vec_push(b->heap, &b->value, value);
  }
}

/* A sketch with one poor draw is not given up for another that is known well;
 * after more of them it is, and what only fails is left. */
static void test_explores(void **state) {
  (void)state;
  mem_heap heap;
  mem_heap_init(&heap, mem_default_allocator, 0);
  bayes b = {.heap = &heap};
  tess_session s = {.nsketch = 3};
  arena_init(&b.spare, &heap);
  assert_int_equal(bayes_explored(&b, &s), 0);
  add_seen(&b, &s, 0, 20, 0);
  add_seen(&b, &s, 0, 20, -2);
  assert_int_equal(bayes_explored(&b, &s), 1);
  add_seen(&b, &s, 1, 1, -1.2);
  assert_int_equal(bayes_explored(&b, &s), 2);
  add_seen(&b, &s, 2, 3, NAN);
  assert_int_equal(bayes_explored(&b, &s), 1);
  add_seen(&b, &s, 1, 11, -1.2);
  assert_int_equal(bayes_explored(&b, &s), 0);
  s.nsketch = 1;
  assert_int_equal(bayes_explored(&b, &s), BAYES_ANY);
  arena_free(&b.spare);
  vec_free(&heap, &s.history);
  vec_free(&heap, &b.seen);
  vec_free(&heap, &b.value);
}

/* ---- repeatable --------------------------------------------------------- */

static void same_with_threads(const char *strategy, const char *model) {
  static const uint32_t threads[] = {1, 2, 4};
  synthetic f;
  uint64_t first[MOST] = {0};
  double best;
  synthetic_start(&f, strategy);
  f.o.cost_model = model;
  f.o.trials = SAME_TRIALS;
  for (int i = 0; i < 3; i++) {
    f.o.threads = threads[i];
    assert_int_equal(synthetic_tune(&f, &best), TESS_OK);
    assert_int_equal(f.n, SAME_TRIALS);
    if (!i) memcpy(first, f.order, sizeof first);
    assert_memory_equal(first, f.order, SAME_TRIALS * sizeof *first);
  }
  f.o.seed++;
  assert_int_equal(synthetic_tune(&f, &best), TESS_OK);
  assert_memory_not_equal(first, f.order, SAME_TRIALS * sizeof *first);
  tiled_end(&f.t);
}

static void test_repeatable(void **state) {
  (void)state;
  same_with_threads("bayesian:surrogate=forest", "random");
  same_with_threads("hybrid:first=15,surrogate=forest", "forest");
  if (!has_gsl()) return;
  same_with_threads("bayesian", "random");
  same_with_threads("bayesian:design=halton,surrogate=forest", "random");
}

/* ---- what is refused ---------------------------------------------------- */

static void test_refuses(void **state) {
  (void)state;
  static const char *const wrong[][2] = {
      {"bayesian:surrogate=tree",
       "option 'surrogate' of strategy 'bayesian' is 'tree'"},
      {"bayesian:kapa=1", "strategy 'bayesian' has no option 'kapa'"},
      {"hybrid:first=-1", "option 'first' of strategy 'hybrid' is '-1'"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    synthetic f;
    double best;
    synthetic_start(&f, wrong[i][0]);
    assert_int_equal(synthetic_tune(&f, &best), TESS_INVALID);
    assert_non_null(strstr(tess_error(f.t.c)->message, wrong[i][1]));
    tiled_end(&f.t);
  }
}

int main(void) {
  const struct CMUnitTest whole_searches[] = {
      cmocka_unit_test(test_finds_the_optimum),
      cmocka_unit_test(test_learns_failures)};
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_repeatable),
      cmocka_unit_test(test_learns_failures_at_once),
      cmocka_unit_test(test_better_judge_proposes),
      cmocka_unit_test(test_judged_anew),
      cmocka_unit_test(test_surrogate_by_evidence),
      cmocka_unit_test(test_class),
      cmocka_unit_test(test_class_is_spent),
      cmocka_unit_test(test_design),
      cmocka_unit_test(test_quasi_random),
      cmocka_unit_test(test_explores),
      cmocka_unit_test(test_refuses)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  if (!TEST_THREADS_ONLY)
    failed += cmocka_run_group_tests(whole_searches, NULL, NULL);
  return failed;
}
