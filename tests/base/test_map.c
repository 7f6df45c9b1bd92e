/* SPDX-License-Identifier: Apache-2.0
 * Hash maps, against a table that is obviously correct. */
#include "support/test.h"
#include "base/map.h"
#include "base/rng.h"

enum { KEYS = 400 };

typedef struct map_case {
  test_heap t;
  map m;
  uint64_t key[KEYS];
  uint32_t model[KEYS];
} map_case;

static void map_start(map_case *c) {
  test_heap_start(&c->t, 0);
  map_init(&c->m, &c->t.heap);
  rng r;
  rng_init(&r, 4, 0);
  for (uint32_t i = 0; i < KEYS; i++) {
    c->key[i] = i < KEYS / 2 ? i : rng_u64(&r) << rng_below(&r, 48);
    c->model[i] = MAP_NONE;
  }
}

static void agrees(map_case *c) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < KEYS; i++) {
    assert_int_equal(map_get(&c->m, c->key[i]), c->model[i]);
    n += c->model[i] != MAP_NONE;
  }
  assert_int_equal(c->m.n, n);
}

static void map_step(map_case *c, rng *r, uint32_t val) {
  uint32_t i = (uint32_t)rng_below(r, KEYS);
  if (rng_below(r, 5) < 3) {
    map_put(&c->m, c->key[i], val);
    c->model[i] = val;
  } else {
    assert_int_equal(map_remove(&c->m, c->key[i]), c->model[i]);
    c->model[i] = MAP_NONE;
  }
}

static tess_status random_steps(void *ud) {
  map_case *c = ud;
  rng r;
  rng_init(&r, 6, 0);
  for (uint32_t round = 0; round < 20; round++) {
    for (uint32_t i = 0; i < 1000; i++) map_step(c, &r, i);
    agrees(c);
    if (round % 4 == 3) {
      map_clear(&c->m);
      memset(c->model, 0xff, sizeof c->model);
      agrees(c);
    }
  }
  return TESS_OK;
}

static void test_random_steps(void **state) {
  (void)state;
  static map_case c;
  map_start(&c);
  assert_int_equal(mem_protect(&c.t.heap, random_steps, &c), TESS_OK);
  uint64_t calls = c.t.heap.calls;
  map_clear(&c.m);
  memset(c.model, 0xff, sizeof c.model);
  assert_int_equal(mem_protect(&c.t.heap, random_steps, &c), TESS_OK);
  assert_int_equal(c.t.heap.calls, calls);
  map_free(&c.m);
  test_heap_end(&c.t);
}

static tess_status map_fill(void *ud) {
  map_case *c = ud;
  for (uint32_t i = 0; i < KEYS; i++) {
    map_put(&c->m, c->key[i], i);
    c->model[i] = i;
  }
  agrees(c);
  return TESS_OK;
}

static void unchanged(void *ud) { agrees(ud); }

static void test_exhaustion_leaves_the_map(void **state) {
  (void)state;
  static map_case c;
  map_start(&c);
  /* Runs go on where the last failed: 16 slots; 32; 64, 128; 256 .. 1024. */
  assert_int_equal(test_each_failure(&c.t, map_fill, unchanged, &c), 4);
  map_free(&c.m);
  test_heap_end(&c.t);
}

static tess_status map_wrap(void *ud) {
  map_case *c = ud;
  map_put(&c->m, 1, 10);
  c->m.era = UINT32_MAX;
  map_put(&c->m, 1, 11);
  map_clear(&c->m);
  assert_int_equal(map_get(&c->m, 1), MAP_NONE);
  map_put(&c->m, 2, 12);
  assert_int_equal(map_get(&c->m, 1), MAP_NONE);
  assert_int_equal(map_get(&c->m, 2), 12);
  return TESS_OK;
}

static void test_eras_wrap(void **state) {
  (void)state;
  static map_case c;
  map_start(&c);
  assert_int_equal(mem_protect(&c.t.heap, map_wrap, &c), TESS_OK);
  map_free(&c.m);
  test_heap_end(&c.t);
}

static tess_status far_too_many(void *ud) {
  map_case *c = ud;
  map_reserve(&c->m, UINT32_MAX);
  return TESS_OK;
}

static void test_reserve(void **state) {
  (void)state;
  static map_case c;
  map_start(&c);
  assert_int_equal(mem_protect(&c.t.heap, far_too_many, &c), TESS_LIMIT);
  map_reserve(&c.m, 300);
  uint64_t calls = c.t.heap.calls;
  for (uint32_t i = 0; i < 300; i++) map_put(&c.m, i, i);
  assert_int_equal(c.t.heap.calls, calls);
  map_free(&c.m);
  test_heap_end(&c.t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_steps),
      cmocka_unit_test(test_exhaustion_leaves_the_map),
      cmocka_unit_test(test_eras_wrap),
      cmocka_unit_test(test_reserve),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
