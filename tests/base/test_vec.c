/* SPDX-License-Identifier: Apache-2.0
 * Vectors and arenas: growing, copying, marks, and exhaustion. */
#include "support/test.h"
#include "base/arena.h"
#include "base/vec.h"

typedef VEC(uint32_t) words;

static tess_status push_many(void *ud) {
  test_heap *t = ((void **)ud)[0];
  words *w = ((void **)ud)[1];
  while (w->n < 1000) vec_push(&t->heap, w, w->n * 3);
  return TESS_OK;
}

static void test_push_keeps_what_is_there(void **state) {
  (void)state;
  test_heap t;
  words w = {0};
  test_heap_start(&t, 0);
  void *both[] = {&t, &w};
  /* A failed growth leaves the vector whole, so every run goes on. */
  assert_true(test_each_failure(&t, push_many, NULL, both) > 0);
  assert_int_equal(w.n, 1000);
  for (uint32_t i = 0; i < w.n; i++) assert_int_equal(w.v[i], i * 3);
  assert_int_equal(vec_pop(&w), 999 * 3);
  vec_free(&t.heap, &w);
  assert_int_equal(w.cap, 0);
  test_heap_end(&t);
}

static tess_status copy_and_extend(void *ud) {
  test_heap *t = ud;
  words a = {0}, b = {0};
  vec_copy(&t->heap, &b, &a);
  assert_int_equal(b.n, 0);
  assert_int_equal(vec_extend(&t->heap, &a, 5), 0);
  memset(a.v, 7, 5 * sizeof *a.v);
  assert_int_equal(vec_extend(&t->heap, &a, 2), 5);
  a.v[5] = a.v[6] = 1;
  vec_copy(&t->heap, &b, &a);
  assert_int_equal(b.n, 7);
  assert_memory_equal(a.v, b.v, 7 * sizeof *a.v);
  vec_clear(&b);
  assert_int_equal(b.n, 0);
  vec_free(&t->heap, &a);
  vec_free(&t->heap, &b);
  return TESS_OK;
}

static void test_copy_and_extend(void **state) {
  (void)state;
  test_heap t;
  test_heap_start(&t, 0);
  assert_int_equal(mem_protect(&t.heap, copy_and_extend, &t), TESS_OK);
  test_heap_end(&t);
}

static tess_status too_many(void *ud) {
  test_heap *t = ud;
  words w = {.v = NULL, .n = 8, .cap = 8};
  vec_grow_(&t->heap, w.v, sizeof *w.v, w.n, UINT32_MAX, &w.cap);
  return TESS_OK;
}

static void test_count_does_not_wrap(void **state) {
  (void)state;
  test_heap t;
  test_heap_start(&t, 0);
  assert_int_equal(mem_protect(&t.heap, too_many, &t), TESS_LIMIT);
  test_heap_end(&t);
}

typedef struct arena_case {
  test_heap t;
  arena a;
} arena_case;

static tess_status fill_arena(void *ud) {
  arena_case *c = ud;
  char *first = arena_zalloc(&c->a, 1);
  *first = 'f';
  for (size_t n = 1; n < 100000; n = n * 2 + 1) {
    char *p = arena_zalloc(&c->a, n);
    assert_int_equal((uintptr_t)p % 16, 0);
    assert_int_equal(p[0], 0);
    assert_int_equal(p[n - 1], 0);
    memset(p, 'x', n);
  }
  char *text = arena_printf(&c->a, "%s %d", "answer", 42);
  assert_string_equal(text, "answer 42");
  assert_int_equal(*first, 'f');
  return TESS_OK;
}

static void reset_case(void *ud) { arena_reset(&((arena_case *)ud)->a); }

static void test_arena_reuses_chunks(void **state) {
  (void)state;
  arena_case c;
  test_heap_start(&c.t, 0);
  arena_init(&c.a, &c.t.heap);
  assert_true(test_each_failure(&c.t, fill_arena, reset_case, &c) > 2);
  uint64_t calls = c.t.heap.calls;
  for (int i = 0; i < 3; i++) {
    assert_int_equal(mem_protect(&c.t.heap, fill_arena, &c), TESS_OK);
    arena_reset(&c.a);
  }
  assert_int_equal(c.t.heap.calls, calls);
  arena_free(&c.a);
  test_heap_end(&c.t);
}

static tess_status use_marks(void *ud) {
  arena_case *c = ud;
  arena_mark empty = arena_get_mark(&c->a);
  int *kept = arena_new(&c->a, int);
  assert_int_equal(*kept, 0);
  *kept = 5;
  arena_mark m = arena_get_mark(&c->a);
  char *p = arena_alloc(&c->a, 100);
  arena_alloc(&c->a, 50000);
  arena_reset_to(&c->a, m);
  assert_ptr_equal(arena_alloc(&c->a, 100), p);
  assert_int_equal(*kept, 5);
  arena_reset_to(&c->a, empty);
  assert_ptr_equal(arena_new(&c->a, int), kept);
  return TESS_OK;
}

static void test_arena_marks(void **state) {
  (void)state;
  arena_case c;
  test_heap_start(&c.t, 0);
  arena_init(&c.a, &c.t.heap);
  assert_int_equal(mem_protect(&c.t.heap, use_marks, &c), TESS_OK);
  arena_free(&c.a);
  test_heap_end(&c.t);
}

static tess_status huge(void *ud) {
  arena_case *c = ud;
  arena_alloc(&c->a, SIZE_MAX - 4);
  return TESS_OK;
}

static tess_status very_many(void *ud) {
  arena_case *c = ud;
  for (int i = 0; i < 100000; i++) arena_alloc(&c->a, 1000);
  return TESS_OK;
}

static void test_arena_limits(void **state) {
  (void)state;
  arena_case c;
  test_heap_start(&c.t, 1 << 20);
  arena_init(&c.a, &c.t.heap);
  assert_int_equal(mem_protect(&c.t.heap, huge, &c), TESS_LIMIT);
  assert_int_equal(mem_protect(&c.t.heap, very_many, &c), TESS_LIMIT);
  assert_true(c.t.fault.peak_bytes <= 1 << 20);
  arena_free(&c.a);
  test_heap_end(&c.t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_push_keeps_what_is_there),
      cmocka_unit_test(test_copy_and_extend),
      cmocka_unit_test(test_count_does_not_wrap),
      cmocka_unit_test(test_arena_reuses_chunks),
      cmocka_unit_test(test_arena_marks),
      cmocka_unit_test(test_arena_limits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
