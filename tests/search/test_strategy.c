/* SPDX-License-Identifier: Apache-2.0
 * What all built-in strategies hold to: batches of new candidates, each once,
 * none measured twice; a small space is measured whole, and then the run ends;
 * the optimum of an objective is found sooner than by drawing; what a database
 * holds is where a run starts; options are checked. */
#include "search/strategy/strategy.h"
#include "support/recorded.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>

/* Seconds as a smooth function of the decisions, least at one candidate:
 * squared distances of logarithms from those of a wanted tile. */
static double distance(const search_cand *c) {
  static const double wanted[3][4] = {
      {1, 2, 2, 1}, {2, 0, 3, 0.58}, {1, 1, 2, 1}};
  vm_cursor at = {c->d, c->n, 0};
  const int64_t *d;
  uint32_t n;
  double sum = c->sketch == 1 ? 0 : 1;
  for (int k = 0; vm_cursor_next(&at, &n, &d); k++)
    for (uint32_t i = 0; i < n; i++) {
      double off = log2((double)d[i]) - wanted[k % 3][i % 4];
      sum += off * off;
    }
  return sum;
}

static double objective(const search_cand *c) {
  return 1e-3 * (1 + distance(c));
}

static struct {
  uint64_t order[4096];
  double seconds[4096];
  uint32_t n;
} seen;

static tess_status measure_objective(void *ud, tess_session *s, uint32_t n,
                                     const search_trial *trial, double best,
                                     search_outcome *out,
                                     int (*done)(void *, uint32_t),
                                     void *done_ud) {
  (void)ud, (void)best;
  for (uint32_t i = 0; i < n; i++) {
    assert_int_equal(session_replay(s, &trial[i].c), TESS_OK);
    seen.order[seen.n] = trial[i].c.hash;
    seen.seconds[seen.n++] = out[i].seconds = objective(&trial[i].c);
    out[i].status = TESS_OK;
    out[i].checked = true;
    str_write(&out[i].code, (const char *)&trial[i].c.hash,
              sizeof trial[i].c.hash);
    if (done(done_ud, i)) break;
  }
  return TESS_OK;
}

/* A run; the best seconds. */
static double run(const char *strategy, const char *model, uint64_t seed,
                  uint32_t trials, void (*space)(tiled *), bool *exhausted) {
  recorded_run f;
  tess_result *r;
  tess_result_info info = TESS_INIT(tess_result_info);
  recorded_start(&f);
  if (space) space(&f.t);
  f.m.measure = measure_objective;
  f.o.strategy = strategy;
  f.o.cost_model = model;
  f.o.seed = seed;
  f.o.trials = trials;
  f.o.batch = 32;
  seen.n = 0;
  if (recorded_tune(&f, &r) != TESS_OK)
    fail_msg("%s: %s", strategy, tess_error(f.t.c)->message);
  tess_result_get(r, &info);
  if (exhausted) *exhausted = info.exhausted != 0;
  double best = info.latency;
  tess_result_free(r);
  recorded_end(&f);
  return best;
}

static void no_candidate_twice(const char *strategy) {
  for (uint32_t i = 0; i < seen.n; i++)
    for (uint32_t j = 0; j < i; j++)
      if (seen.order[i] == seen.order[j])
        fail_msg("%s measures a candidate twice: %u and %u", strategy, j, i);
}

/* Of those that need a text, which a host must give, tests are elsewhere. */
static uint32_t next_alone(uint32_t i) {
  while (i < search_nstrategies && strategy_takes_text(search_strategies[i]))
    i++;
  return i;
}

/* Two sketches of 5 and 25 candidates. */
static void test_small_space(void **state) {
  (void)state;
  for (uint32_t i = 0; (i = next_alone(i)) < search_nstrategies; i++) {
    const char *name = search_strategies[i]->name;
    for (int k = 0; k < 2; k++) {
      bool exhausted;
      run(name, k ? "forest" : "random", 3, 200, tiled_few, &exhausted);
      no_candidate_twice(name);
      if (seen.n != 30 || !exhausted)
        fail_msg("%s with \"%s\" measures %u of 30%s", name,
                 k ? "forest" : "random", seen.n,
                 exhausted ? "" : " and is not exhausted");
    }
  }
}

/* A space without a decision has one candidate. */
static void test_no_decision(void **state) {
  (void)state;
  for (uint32_t i = 0; (i = next_alone(i)) < search_nstrategies; i++) {
    bool exhausted;
    run(search_strategies[i]->name, "forest", 1, 20, tiled_empty, &exhausted);
    assert_int_equal(seen.n, 1);
    assert_true(exhausted);
  }
}

/* Trials until the seconds are that few; the median of some seeds. */
static uint32_t trials_to(const char *strategy, const char *model,
                          double seconds) {
  enum { SEEDS = TEST_CHECKED ? 1 : 5, MOST = TEST_CHECKED ? 64 : 256 };
  uint32_t took[SEEDS];
  for (int k = 0; k < SEEDS; k++) {
    run(strategy, model, (uint64_t)k, MOST, NULL, NULL);
    no_candidate_twice(strategy);
    uint32_t i = 0;
    while (i < seen.n && seen.seconds[i] > seconds) i++;
    took[k] = i;
    for (int j = k; j > 0 && took[j - 1] > took[j]; j--) {
      uint32_t x = took[j];
      took[j] = took[j - 1];
      took[j - 1] = x;
    }
  }
  return took[SEEDS / 2];
}

static void test_sooner_than_draws(void **state) {
  (void)state;
  static const struct {
    const char *strategy, *model;
    double share; /* of what draws need, at most */
  } cases[] = {{EVOLUTIONARY, "random", 0.8},
               {"evolutionary:population_size=128", "forest", 0.8},
               {"annealing:chains=32,steps=30", "forest", 0.8}};
  const double good = 1e-3 * (1 + 5);
  uint32_t draws = trials_to("replay", "random", good);
  if (!TEST_CHECKED) assert_true(draws > 100);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint32_t took = trials_to(cases[i].strategy, cases[i].model, good);
    if (!TEST_CHECKED && took > cases[i].share * draws)
      fail_msg("%s with \"%s\" needs %u trials, draws need %u",
               cases[i].strategy, cases[i].model, took, draws);
  }
}

/* ---- scores ------------------------------------------------------------- */

/* Every third is no number; others are spread from far below to far above. */
static tess_status gappy(void *ud, tess_session *s, uint32_t n,
                         const tess_candidate *c, double *score) {
  static const double wide[] = {-INFINITY, -1e305, -1, 0, 1e305, INFINITY};
  (void)s, (void)c;
  ++*(uint32_t *)ud;
  for (uint32_t i = 0; i < n; i++)
    score[i] = i % 3 == 0   ? (i % 2 ? NAN : -NAN)
               : i % 3 == 1 ? wide[i % 6]
                            : (double)(i % 1000);
  return TESS_OK;
}

static void test_scores_that_are_none(void **state) {
  (void)state;
  for (uint32_t i = 0; (i = next_alone(i)) < search_nstrategies; i++) {
    recorded_run f;
    tess_result *r;
    uint32_t asked = 0;
    const tess_cost_model model = {.struct_size = sizeof model,
                                   .name = "gappy",
                                   .predict = gappy,
                                   .ud = &asked};
    recorded_start(&f);
    f.o.custom_cost_model = &model;
    f.o.strategy = search_strategies[i]->name;
    f.o.trials = 48;
    assert_int_equal(recorded_tune(&f, &r), TESS_OK);
    assert_int_equal(f.r.n, 48);
    tess_result_free(r);
    recorded_end(&f);
  }
}

/* ---- options ------------------------------------------------------------ */

static void test_options(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"annealing:", NULL},
      {"annealing:chains=3,steps=2", NULL},
      {"annealing:chains=3,", NULL},
      {"annealing:temperature=1e-1", NULL},
      {"evolutionary:mutate_tile_size=0,mutate_unroll=1", NULL},
      {"process", "strategy 'process' needs its option 'command', the last "
                  "one: process:command=TEXT"},
      {"process:command=", "needs its option 'command'"},
      {"process:timeout=0,command=true", "is '0', outside of 0.01 .. 86400"},
      {"process:command=true,timeout=0", "was lost 3 times in a row: it ended"},
      {"process:late=1,command=true", "has no option 'late'; it has timeout"},
      {"anneal", "there is no strategy 'anneal'; the built-in ones are "},
      {":chains=3", "there is no strategy ''"},
      {"replay:chains=3", "strategy 'replay' has no option 'chains'; it has "
                          "none"},
      {"annealing:chain=3",
       "strategy 'annealing' has no option 'chain'; it has chains, "},
      {"annealing:,chains=3", "strategy 'annealing' has no option ''"},
      {"annealing:chains",
       "option 'chains' of strategy 'annealing' has no value: write "
       "chains=VALUE"},
      {"annealing:chains=", "is '', not a number"},
      {"annealing:chains= 3", "is ' 3', not a number"},
      {"annealing:chains=3x", "is '3x', not a number"},
      {"annealing:chains=nan", "is 'nan', not a number"},
      {"annealing:chains=0",
       "option 'chains' of strategy 'annealing' is '0', outside of 1 .. 65536"},
      {"annealing:chains=1.5", "is '1.5', not an integer"},
      {"evolutionary:eps_greedy=1.1", "is '1.1', outside of 0 .. 1"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    recorded_run f;
    tess_result *r = NULL;
    recorded_start(&f);
    f.o.strategy = cases[i].text;
    f.o.trials = 3;
    tess_status s = recorded_tune(&f, &r);
    const char *wanted = cases[i].message;
    if (!wanted) assert_int_equal(s, TESS_OK);
    if (wanted) {
      assert_int_not_equal(s, TESS_OK);
      if (!strstr(tess_error(f.t.c)->message, wanted))
        fail_msg("%s: %s", cases[i].text, tess_error(f.t.c)->message);
    }
    tess_result_free(r);
    recorded_end(&f);
  }
}

/* Declarations are complete, and defaults lie within their bounds. */
static void test_declarations(void **state) {
  (void)state;
  for (uint32_t i = 0; i < search_nstrategies; i++) {
    const search_strategy *x = search_strategies[i];
    assert_true(*x->name && *x->summary);
    assert_true(x->noption <= SEARCH_MOST_OPTIONS);
    for (uint32_t k = 0; k < x->noption; k++) {
      const search_option *o = &x->option[k];
      assert_true(*o->name && *o->help);
      bool words = o->kind == SEARCH_WORD || o->kind == SEARCH_TEXT;
      assert_int_equal(words, o->words != NULL);
      if (!words) assert_true(o->initial >= o->least && o->initial <= o->most);
      for (uint32_t j = 0; j < k; j++)
        assert_string_not_equal(o->name, x->option[j].name);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_small_space),
      cmocka_unit_test(test_no_decision),
      cmocka_unit_test(test_sooner_than_draws),
      cmocka_unit_test(test_scores_that_are_none),
      cmocka_unit_test(test_options),
      cmocka_unit_test(test_declarations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
