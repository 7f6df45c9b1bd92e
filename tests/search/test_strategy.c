/* SPDX-License-Identifier: Apache-2.0
 * Batches of the strategies: the shares of samples, crossover and mutation,
 * ranking by a cost model, and samples where too few offspring are new. */
#include "search/strategy/strategy.h"
#include "support/test.h"
#include "support/tiled.h"

#include <math.h>

enum { N = 16, MOST = 4096 };

/* A session without the loop around it, and a model that notes what it was
 * asked about. */
typedef struct fixture {
  tiled t;
  const vm_trace *sketch[2];
  tess_session s;
  tess_cost_model model;
  tess_strategy strategy;
  double (*score)(uint64_t hash, uint32_t i);
  uint64_t asked[MOST];
  uint32_t nasked;
} fixture;

static double even(uint64_t hash, uint32_t i) {
  (void)hash, (void)i;
  return 0;
}

static tess_status strategy_predict(void *ud, tess_session *s, uint32_t n,
                                    const tess_candidate *c, double *score) {
  fixture *f = ud;
  (void)s;
  f->nasked = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint64_t hash = session_from_public(&c[i]).hash;
    score[i] = f->score(hash, i);
    if (f->nasked < MOST) f->asked[f->nasked++] = hash;
  }
  return TESS_OK;
}

static void strategy_start(fixture *f, void (*space)(tiled *)) {
  *f = (fixture){.score = even};
  tiled_start(&f->t);
  if (space) space(&f->t);
  for (uint32_t i = 0; i < f->t.nsketch; i++) f->sketch[i] = &f->t.sketch[i]->t;
  assert_int_equal(
      session_init(&f->s, f->t.c, &f->t.p->p, f->t.nsketch, f->sketch, 7, 1),
      TESS_OK);
  f->model = (tess_cost_model){.struct_size = sizeof(tess_cost_model),
                               .name = "noting",
                               .predict = strategy_predict,
                               .ud = f};
  f->s.model = &f->model;
  assert_int_equal(search_strategy_evolutionary.open(&f->s, &f->strategy),
                   TESS_OK);
}

static void strategy_end(fixture *f) {
  f->strategy.free(f->strategy.ud);
  session_free(&f->s);
  tiled_end(&f->t);
}

/* n candidates of that sketch (-1: any) that were drawn. */
static void draw(fixture *f, int32_t sketch, uint32_t n, search_cand *out) {
  search_order order[128];
  assert_true(n <= 128);
  for (uint32_t i = 0; i < n; i++)
    order[i] = (search_order){.how = SEARCH_DRAW, .sketch = sketch};
  assert_int_equal(session_make(&f->s, n, order, out), TESS_OK);
}

/* Draws n, and enters those that are new as measured, which ended like that. */
static void learn(fixture *f, int32_t sketch, uint32_t n, tess_status ended) {
  search_cand c[128];
  draw(f, sketch, n, c);
  for (uint32_t i = 0; i < n; i++)
    if (c[i].d && !session_knows(&f->s, &c[i]))
      assert_int_equal(session_learn(&f->s, &c[i], 1e-3 * (i + 1), ended, true),
                       TESS_OK);
}

static uint32_t propose(fixture *f, uint32_t n, tess_candidate *out) {
  uint32_t got = 0;
  assert_int_equal(f->strategy.propose(f->strategy.ud, &f->s, n, out, &got),
                   TESS_OK);
  return got;
}

static bool was_asked(const fixture *f, uint64_t hash) {
  for (uint32_t i = 0; i < f->nasked; i++)
    if (f->asked[i] == hash) return true;
  return false;
}

/* ---- shares ------------------------------------------------------------- */

/* The first batch is sampled, round-robin over the sketches. */
static void test_young(void **state) {
  (void)state;
  fixture f;
  tess_candidate out[N];
  strategy_start(&f, NULL);
  const strategy_batch *b = f.strategy.ud;
  assert_int_equal(propose(&f, N, out), N);
  assert_int_equal(f.s.next, N * 16);
  for (uint32_t i = 0; i < N * 16; i++) {
    assert_int_equal(b->order[i].how, SEARCH_DRAW);
    assert_int_equal(b->order[i].sketch, i % 2);
  }
  strategy_end(&f);
}

static void test_shares(void **state) {
  (void)state;
  enum { ROUNDS = 60 };
  fixture f;
  tess_candidate out[N];
  uint32_t how[SEARCH_GIVEN + 1] = {0}, steps[5] = {0}, fresh = 0;
  strategy_start(&f, NULL);
  learn(&f, -1, 60, TESS_OK);
  const strategy_batch *b = f.strategy.ud;
  for (uint32_t k = 0; k < ROUNDS; k++) {
    uint64_t before = f.s.next;
    uint32_t drawn = 0;
    assert_int_equal(propose(&f, N, out), N);
    uint32_t made = (uint32_t)(f.s.next - before);
    for (uint32_t i = 0; i < made; i++) {
      const search_order *o = &b->order[i];
      how[o->how]++;
      drawn += o->how == SEARCH_DRAW;
      if (o->how == SEARCH_DRAW) assert_int_equal(drawn, i + 1);
      if (o->how == SEARCH_MUTATE) steps[o->steps]++;
      if (o->how != SEARCH_CROSS) continue;
      assert_ptr_not_equal(o->a, o->b);
      assert_int_equal(o->a->sketch, o->b->sketch);
    }
    /* The new ones of these are first; the model does not judge them. */
    uint32_t unasked = 0;
    for (uint32_t i = 0; i < N; i++)
      if (!was_asked(&f, session_from_public(&out[i]).hash))
        assert_int_equal(unasked++, i);
    assert_true(unasked <= drawn);
    fresh += unasked;
  }
  /* A tenth of what is proposed is drawn; of the children a fifth has two
   * parents; a half of the others goes one step, a quarter two, and so on. */
  assert_true(fresh > 0.9 * how[SEARCH_DRAW]);
  double bred = how[SEARCH_MUTATE] + how[SEARCH_CROSS];
  assert_true(fabs(how[SEARCH_DRAW] / (double)(ROUNDS * N) - 0.1) < 0.03);
  assert_true(fabs(how[SEARCH_CROSS] / bred - 0.2) < 0.02);
  for (int k = 1; k <= 4; k++)
    assert_true(fabs(steps[k] / (double)how[SEARCH_MUTATE] -
                     ldexp(1, k < 4 ? -k : -3)) < 0.03);
  assert_int_equal(how[SEARCH_GIVEN] + steps[0], 0);
  strategy_end(&f);
}

/* The best breed more often than others, and only the best few do. */
static void test_parents(void **state) {
  (void)state;
  fixture f;
  tess_candidate out[N];
  uint32_t best[64], count[64] = {0}, others = 0;
  strategy_start(&f, NULL);
  learn(&f, -1, 60, TESS_OK);
  uint32_t n = session_best(&f.s, 64, best);
  assert_true(n > 40);
  const strategy_batch *b = f.strategy.ud;
  for (int k = 0; k < 20; k++) {
    assert_int_equal(propose(&f, N, out), N);
    for (uint32_t i = 0; i < N * 16; i++)
      for (uint32_t r = 0; b->order[i].how != SEARCH_DRAW && r < n; r++)
        count[r] += b->order[i].a == &f.s.history.v[best[r]].c;
  }
  for (uint32_t r = 32; r < n; r++) others += count[r];
  assert_int_equal(others, 0);
  assert_true(count[0] > count[2] && count[2] > 2 * count[15]);
  assert_true(count[31] > 0);
  strategy_end(&f);
}

/* ---- scores ------------------------------------------------------------- */

/* Every third is no number; others are spread from far below to far above. */
static double gappy(uint64_t hash, uint32_t i) {
  static const double wide[] = {-INFINITY, -1e305, -1, 0, 1e305, INFINITY};
  if (i % 3 == 0) return i % 2 ? NAN : -NAN;
  return i % 3 == 1 ? wide[hash % 6] : (double)(hash % 1000);
}

/* Scores that are no numbers are worst, and the order of the rest stands. */
static void test_scores_that_are_none(void **state) {
  (void)state;
  fixture f;
  uint64_t before[128];
  uint32_t n = 128, known = 0;
  double last = INFINITY;
  strategy_start(&f, NULL);
  f.score = gappy;
  strategy_batch *b = f.strategy.ud;
  assert_int_equal(strategy_begin(b, &f.s, n), TESS_OK);
  draw(&f, -1, n, b->made);
  assert_int_equal(strategy_rank(b, &f.s, &n), TESS_OK);
  assert_true(n > 100);
  assert_int_equal(f.nasked, n);
  memcpy(before, f.asked, sizeof before);
  bool none = false;
  for (uint32_t k = 0; k < n; k++) {
    uint32_t i = 0;
    while (i < n && before[i] != b->made[k].hash) i++;
    assert_true(i < n);
    double score = gappy(before[i], i);
    if (isnan(score) || score == -INFINITY) {
      none = true;
      continue;
    }
    assert_false(none);
    assert_true(score <= last);
    last = score;
    known++;
  }
  assert_true(known > n / 2 && known < n);
  strategy_end(&f);
}

/* One number among many that are none is proposed. */
static uint64_t chosen;

static double only_one(uint64_t hash, uint32_t i) {
  if (i == 77) chosen = hash;
  return i == 77 ? -1e301 : NAN;
}

static void test_only_number(void **state) {
  (void)state;
  fixture f;
  tess_candidate out[N];
  strategy_start(&f, NULL);
  learn(&f, -1, 60, TESS_OK);
  f.score = only_one;
  for (int k = 0; k < 4; k++) {
    assert_int_equal(propose(&f, N, out), N);
    uint32_t i = 0;
    while (!was_asked(&f, session_from_public(&out[i]).hash)) i++;
    assert_true(session_from_public(&out[i]).hash == chosen);
  }
  strategy_end(&f);
}

/* ---- batches that breeding does not fill -------------------------------- */

/* All that breeds is of a sketch of which everything is known; the other one,
 * which only failed yet, is drawn from until the batch is full. */
static void test_fills_up(void **state) {
  (void)state;
  enum { FEW = 6 };
  fixture f;
  tess_candidate out[N];
  strategy_start(&f, tiled_few);
  learn(&f, 0, 100, TESS_OK);
  assert_int_equal(f.s.history.n, 5);
  learn(&f, 1, 8, TESS_TIMEOUT);
  assert_in_range(f.s.history.n, FEW + 1, 5 + 8);
  for (int k = 0; k < 8; k++) {
    assert_int_equal(propose(&f, FEW, out), FEW);
    for (uint32_t i = 0; i < FEW; i++) {
      search_cand c = session_from_public(&out[i]);
      assert_int_equal(c.sketch, 1);
      assert_false(session_knows(&f.s, &c));
      for (uint32_t j = 0; j < i; j++)
        assert_true(session_from_public(&out[j]).hash != c.hash);
    }
  }
  strategy_end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_young),
      cmocka_unit_test(test_shares),
      cmocka_unit_test(test_parents),
      cmocka_unit_test(test_scores_that_are_none),
      cmocka_unit_test(test_only_number),
      cmocka_unit_test(test_fills_up)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
