/* SPDX-License-Identifier: Apache-2.0
 * Features of a session's candidates: the same however they are made and on
 * however many threads, and no allocation once warm.
 * Labels: threads */
#include "search/candidate/rows.h"
#include "support/test.h"
#include "support/tiled.h"

enum { MADE = 64 };

typedef struct fixture {
  tiled t;
  const vm_trace *sketch[2];
  tess_session s;
  search_order order[MADE];
  search_cand made[MADE];
} fixture;

static void start_feature(fixture *f, uint32_t threads) {
  *f = (fixture){.s = {0}};
  tiled_start(&f->t);
  for (uint32_t i = 0; i < f->t.nsketch; i++) f->sketch[i] = &f->t.sketch[i]->t;
  assert_int_equal(session_init(&f->s, f->t.c, &f->t.p->p, f->t.nsketch,
                                f->sketch, 7, threads),
                   TESS_OK);
  for (uint32_t i = 0; i < MADE; i++)
    f->order[i] = (search_order){.how = SEARCH_DRAW, .sketch = (int)i % 2};
}

static void make(fixture *f) {
  session_begin_batch(&f->s);
  f->s.next = 0;
  assert_int_equal(session_make(&f->s, MADE, f->order, f->made), TESS_OK);
}

/* Draws, neighbours of draws, their children, and repaired ones. */
static void make_others(fixture *f) {
  static search_cand parent[MADE];
  static int64_t room[MADE][64];
  make(f);
  for (uint32_t i = 0; i < MADE; i++) {
    assert_true(f->made[i].d && f->made[i].n <= 64);
    memcpy(room[i], f->made[i].d, f->made[i].n * sizeof **room);
    parent[i] = f->made[i];
    parent[i].d = room[i];
  }
  for (uint32_t i = 0; i < MADE; i++) {
    static const search_how how[] = {SEARCH_DRAW, SEARCH_MUTATE, SEARCH_CROSS,
                                     SEARCH_REPAIR};
    f->order[i].how = how[i / 2 % 4];
    f->order[i].steps = 1 + i % 2;
    f->order[i].a = &parent[i];
    f->order[i].b = &parent[(i + 2) % MADE];
  }
  make(f);
}

static void end(fixture *f) {
  session_free(&f->s);
  tiled_end(&f->t);
}

enum { KINDS = 5 };
static const feature_kind kinds[KINDS] = {FEATURE_PER_STORE, FEATURE_CONTEXT,
                                          FEATURE_TREE, FEATURE_TRAFFIC,
                                          FEATURE_DECISIONS};

/* One thread that replays, and four that keep what they make. */
static void test_same_on_any_threads(void **state) {
  (void)state;
  for (uint32_t k = 0; k < KINDS; k++) {
    fixture a, b;
    search_rows x, y;
    start_feature(&a, 1);
    start_feature(&b, 4);
    make(&a);
    session_want(&b.s, kinds[k]);
    make(&b);
    assert_int_equal(session_rows(&a.s, kinds[k], MADE, a.made, &x), TESS_OK);
    assert_int_equal(session_rows(&b.s, kinds[k], MADE, b.made, &y), TESS_OK);
    assert_int_equal(x.width, y.width);
    assert_memory_equal(x.first, y.first, (MADE + 1) * sizeof *x.first);
    assert_memory_equal(x.v, y.v,
                        x.first[MADE] * (size_t)x.width * sizeof *x.v);
    end(&a);
    end(&b);
  }
}

/* Rows of decisions that were kept, however a candidate was made, and those
 * that a replay of its own gives. */
static void test_decisions_are_kept(void **state) {
  (void)state;
  fixture a, b;
  search_rows x, y;
  start_feature(&a, 1);
  start_feature(&b, 4);
  session_want(&b.s, FEATURE_PER_STORE);
  assert_int_equal(session_want_decisions(&b.s, true), TESS_OK);
  make_others(&a);
  make_others(&b);
  assert_int_equal(session_rows(&a.s, FEATURE_DECISIONS, MADE, a.made, &x),
                   TESS_OK);
  assert_int_equal(session_rows(&b.s, FEATURE_DECISIONS, MADE, b.made, &y),
                   TESS_OK);
  assert_memory_equal(x.v, y.v, MADE * (size_t)x.width * sizeof *x.v);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < b.s.nworker; i++) kept += b.s.worker[i].kept.n;
  assert_in_range(kept, MADE / 2, MADE);
  assert_int_equal(session_want_decisions(&b.s, false), TESS_OK);
  assert_int_equal(session_rows(&a.s, FEATURE_PER_STORE, MADE, a.made, &x),
                   TESS_OK);
  assert_int_equal(session_rows(&b.s, FEATURE_PER_STORE, MADE, b.made, &y),
                   TESS_OK);
  assert_memory_equal(x.v, y.v, x.first[MADE] * (size_t)x.width * sizeof *x.v);
  end(&a);
  end(&b);
}

static uint64_t allocations(const fixture *f) {
  return f->s.c->heap.calls + f->s.worker[0].heap.calls;
}

static void test_warm_features_allocate_nothing(void **state) {
  (void)state;
  for (uint32_t k = 0; k < KINDS; k++) {
    fixture f;
    search_rows r;
    start_feature(&f, 1);
    session_want(&f.s, kinds[k]);
    uint64_t before = 0;
    for (int round = 0; round < 3; round++) {
      before = allocations(&f);
      make(&f);
      assert_int_equal(session_rows(&f.s, kinds[k], MADE, f.made, &r), TESS_OK);
    }
    assert_int_equal(allocations(&f), before);
    end(&f);
  }
}

/* Names are distinct; and there are as many as a row has numbers. */
static void test_columns(void **state) {
  (void)state;
  fixture f;
  start_feature(&f, 1);
  make(&f);
  for (uint32_t k = 0; k < KINDS; k++) {
    search_rows r;
    assert_int_equal(session_rows(&f.s, kinds[k], 1, f.made, &r), TESS_OK);
    assert_int_equal(session_columns(&f.s, kinds[k]), r.width);
    for (uint32_t i = 0; i < r.width; i++) {
      char a[FEATURE_NAME], b[FEATURE_NAME];
      session_column(&f.s, kinds[k], i, a);
      assert_true(a[0] != '\0');
      for (uint32_t j = 0; j < i; j++) {
        session_column(&f.s, kinds[k], j, b);
        assert_true(strcmp(a, b) != 0);
      }
    }
  }
  assert_int_equal(session_columns(&f.s, FEATURE_PER_STORE), 164);
  end(&f);
}

/* What does not replay has no rows, and the others keep theirs. */
static void test_unfit_candidates(void **state) {
  (void)state;
  static const int64_t bad[] = {3, 5, 5, 5, 3, 1, 1, 48, 3, 1, 1, 32};
  fixture f;
  search_rows r;
  start_feature(&f, 1);
  make(&f);
  search_cand c[3] = {f.made[0], {.n = 12, .d = bad}, f.made[2]};
  for (uint32_t k = 0; k < KINDS; k++) {
    assert_int_equal(session_rows(&f.s, kinds[k], 3, c, &r), TESS_OK);
    assert_true(r.first[1] > 0);
    assert_int_equal(r.first[1], r.first[2]);
    assert_true(r.first[3] > r.first[2]);
  }
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_on_any_threads),
      cmocka_unit_test(test_decisions_are_kept),
      cmocka_unit_test(test_warm_features_allocate_nothing),
      cmocka_unit_test(test_columns),
      cmocka_unit_test(test_unfit_candidates),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
