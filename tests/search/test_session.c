/* SPDX-License-Identifier: Apache-2.0
 * How a session makes candidates: refused ones are retried, crossover,
 * the number of steps of a mutation, and the funnel's text for a replay that
 * ran out of memory; properties that mutations change are asked of a program
 * once. */
#include "ir/query.h"
#include "search/candidate/session.h"
#include "support/test.h"
#include "support/tiled.h"

enum { MADE = 256, DECISIONS = 3 }; /* of the first sketch */

typedef struct fixture {
  tiled t;
  const vm_trace *sketch[2];
  tess_session s;
  search_order order[MADE];
  search_cand made[MADE];
} fixture;

static void session_start(fixture *f, void (*space)(tiled *)) {
  *f = (fixture){.s = {0}};
  tiled_start(&f->t);
  if (space) space(&f->t);
  for (uint32_t i = 0; i < f->t.nsketch; i++) f->sketch[i] = &f->t.sketch[i]->t;
  assert_int_equal(
      session_init(&f->s, f->t.c, &f->t.p->p, f->t.nsketch, f->sketch, 7, 1),
      TESS_OK);
}

static void session_end(fixture *f) {
  session_free(&f->s);
  tiled_end(&f->t);
}

/* Makes n, all by one order. */
static void do_session_make(fixture *f, uint32_t n, search_order o) {
  assert_true(n <= MADE);
  for (uint32_t i = 0; i < n; i++) f->order[i] = o;
  assert_int_equal(session_make(&f->s, n, f->order, f->made), TESS_OK);
}

static search_order draw_of(int32_t sketch) {
  return (search_order){.how = SEARCH_DRAW, .sketch = sketch};
}

typedef struct entry {
  uint32_t n;
  const int64_t *d;
} entry;

static void read_entries(const search_cand *c, entry out[DECISIONS]) {
  vm_cursor at = {c->d, c->n, 0};
  assert_non_null(c->d);
  for (int k = 0; k < DECISIONS; k++)
    assert_true(vm_cursor_next(&at, &out[k].n, &out[k].d));
  assert_int_equal(at.at, c->n);
}

/* Bit k: the k-th decisions of the two are the same. */
static unsigned shared(const search_cand *a, const search_cand *b) {
  entry x[DECISIONS], y[DECISIONS];
  unsigned same = 0;
  read_entries(a, x);
  read_entries(b, y);
  for (int k = 0; k < DECISIONS; k++)
    if (x[k].n == y[k].n && !memcmp(x[k].d, y[k].d, x[k].n * sizeof *x[k].d))
      same |= 1u << k;
  return same;
}

static uint32_t count_bits(unsigned set) {
  uint32_t n = 0;
  for (; set; set &= set - 1) n++;
  return n;
}

/* ---- drawing ------------------------------------------------------------ */

/* Two in 22 draws have too many lanes: another one takes their place. */
static void test_refused_draws_are_drawn_again(void **state) {
  (void)state;
  fixture f;
  session_start(&f, tiled_wide);
  do_session_make(&f, MADE, draw_of(0));
  for (uint32_t i = 0; i < MADE; i++) assert_non_null(f.made[i].d);
  assert_int_equal(f.s.total.valid, MADE);
  assert_true(f.s.total.sampled > MADE);
  session_end(&f);
}

/* ---- breeding ----------------------------------------------------------- */

/* Each decision is one parent's or the other's, about as often. */
static void test_crossing(void **state) {
  (void)state;
  fixture f;
  uint32_t from[DECISIONS] = {0}, both = 0;
  const unsigned all = (1u << DECISIONS) - 1;
  session_start(&f, NULL);
  do_session_make(&f, 64, draw_of(0));
  search_cand parent[2] = {f.made[0], f.made[1]};
  for (uint32_t i = 2; shared(&parent[0], &parent[1]); i++)
    parent[1] = f.made[i];
  do_session_make(
      &f, MADE,
      (search_order){.how = SEARCH_CROSS, .a = &parent[0], .b = &parent[1]});
  for (uint32_t i = 0; i < MADE; i++) {
    unsigned a = shared(&f.made[i], &parent[0]);
    assert_int_equal(a ^ shared(&f.made[i], &parent[1]), all);
    both += a != 0 && a != all;
    for (int k = 0; k < DECISIONS; k++) from[k] += a >> k & 1;
  }
  for (int k = 0; k < DECISIONS; k++)
    assert_in_range(from[k], MADE * 3 / 8, MADE * 5 / 8);
  assert_in_range(both, MADE * 5 / 8, MADE * 7 / 8);
  session_end(&f);
}

/* A step changes one decision; so many steps change as many, or fewer where
 * some meet. */
static void test_mutation(void **state) {
  (void)state;
  fixture f;
  session_start(&f, NULL);
  do_session_make(&f, 1, draw_of(0));
  search_cand parent = f.made[0];
  for (uint32_t steps = 1; steps <= DECISIONS; steps++) {
    uint32_t most = 0;
    do_session_make(
        &f, MADE,
        (search_order){.how = SEARCH_MUTATE, .steps = steps, .a = &parent});
    for (uint32_t i = 0; i < MADE; i++) {
      uint32_t n = DECISIONS - count_bits(shared(&f.made[i], &parent));
      if (n > most) most = n;
      if (steps == 1) assert_int_equal(n, 1);
    }
    assert_int_equal(most, steps);
  }
  session_end(&f);
}

static uint32_t trait_calls;

/* Of a loop that has one: products of their extents would all be the same. */
static uint64_t sum_extents(const ir_program *p, ir_stmt first) {
  uint64_t sum = 0;
  for (ir_stmt s = first; s; s = ir_st(p, s)->next) {
    int64_t n = 0;
    const ir_stmt_rec *x = ir_st(p, s);
    if (x->kind == IR_LOOP && !ir_const_int(p, x->extent, &n)) n = 0;
    sum += (uint64_t)n + sum_extents(p, x->body) + sum_extents(p, x->alt);
  }
  return sum;
}

static uint64_t counted_trait(const ir_program *p) {
  trait_calls++;
  return sum_extents(p, ir_entry(p)->root);
}

static uint64_t trait_of(fixture *f, const search_cand *c) {
  assert_int_equal(session_replay(&f->s, c), TESS_OK);
  return sum_extents(&f->s.worker[0].m.prog,
                     ir_entry(&f->s.worker[0].m.prog)->root);
}

/* Children differ from their parent in the property, which is asked of each
 * program once: where the memo knows it nothing is replayed. */
static void test_traits_are_remembered(void **state) {
  (void)state;
  fixture f;
  uint32_t made = 0;
  session_start(&f, NULL);
  do_session_make(&f, 1, draw_of(0));
  search_cand parent = f.made[0];
  trait_calls = 0;
  for (int round = 0; round < 2; round++)
    do_session_make(&f, MADE,
                    (search_order){.how = SEARCH_MUTATE,
                                   .steps = 1,
                                   .a = &parent,
                                   .trait = counted_trait});
  uint64_t before = trait_of(&f, &parent);
  for (uint32_t i = 0; i < MADE; i++) {
    if (!f.made[i].d) continue;
    made++;
    if (i < 32) assert_true(trait_of(&f, &f.made[i]) != before);
  }
  assert_true(made > MADE / 4);
  assert_in_range(trait_calls, 2, MADE);
  session_end(&f);
}

/* ---- the memory cap ----------------------------------------------------- */

static bool is_of_sketch(const fixture *f, const char *name) {
  const vm_trace *t = f->sketch[0];
  for (uint32_t i = 0; i < t->inst.n; i++)
    if (!strcmp(t->inst.v[i].prim->name, name)) return true;
  return false;
}

/* A cap that is reached in the midst of a replay is put down to the primitive
 * that reached it; before the first one, to the trace. */
static void test_the_cap_is_a_primitives(void **state) {
  (void)state;
  uint32_t named = 0, before = 0;
  for (size_t room = 1 << 10; room <= 1 << 20; room *= 2) {
    fixture f;
    session_start(&f, NULL);
    mem_heap *h = &f.s.worker[0].heap;
    h->cap = h->used + room;
    do_session_make(&f, 1, draw_of(0));
    for (uint32_t i = 0; i < f.s.total.row.n; i++) {
      const funnel_row *r = &f.s.total.row.v[i];
      assert_int_equal(r->stage, FUNNEL_REFUSED);
      assert_string_equal(r->why, "MEMORY_CAP");
      named += is_of_sketch(&f, r->who);
      before += !strcmp(r->who, "trace");
    }
    session_end(&f);
  }
  assert_true(named > 0 && before > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refused_draws_are_drawn_again),
      cmocka_unit_test(test_crossing), cmocka_unit_test(test_mutation),
      cmocka_unit_test(test_traits_are_remembered),
      cmocka_unit_test(test_the_cap_is_a_primitives)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
