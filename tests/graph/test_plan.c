/* SPDX-License-Identifier: Apache-2.0
 * Memory planning: blocks that live at once do not overlap, and the plan is
 * near its bound. */
#include "graph/plan.h"
#include "support/test.h"

enum { BLOCKS = 60, STEPS = 40 };

static bool apart(const plan_block *a, const plan_block *b) {
  if (a->to < b->from || b->to < a->from) return true;
  return a->offset + a->bytes <= b->offset || b->offset + b->bytes <= a->offset;
}

static void check_plan(const plan_block *block, uint32_t n, uint64_t end) {
  for (uint32_t i = 0; i < n; i++) {
    assert_int_equal(block[i].offset % PLAN_ALIGN, 0);
    assert_true(block[i].offset + block[i].bytes <= end);
    for (uint32_t k = 0; k < i; k++) assert_true(apart(&block[i], &block[k]));
  }
}

static void test_random_plans(void **state) {
  (void)state;
  test_heap t;
  test_heap_start(&t, 0);
  arena scratch;
  arena_init(&scratch, &t.heap);
  uint64_t over = 0, under = 0, x = 1;
  for (int round = 0; round < TEST_DRAWS(400); round++) {
    plan_block block[BLOCKS];
    for (uint32_t i = 0; i < BLOCKS; i++) {
      x = x * 6364136223846793005u + 1442695040888963407u;
      uint32_t from = (uint32_t)(x >> 33) % STEPS;
      uint32_t lives = (uint32_t)(x >> 40) % 5;
      uint32_t to = from + lives < STEPS ? from + lives : STEPS - 1;
      block[i] =
          (plan_block){.bytes = (x >> 20) % 5000, .from = from, .to = to};
    }
    uint64_t end = plan_place(block, BLOCKS, &scratch);
    uint64_t bound = plan_bound(block, BLOCKS, &scratch);
    check_plan(block, BLOCKS, end);
    assert_true(end >= bound);
    assert_true(end <= plan_sum(block, BLOCKS));
    over += end;
    under += bound;
    arena_reset(&scratch);
  }
  assert_true(over <= under + under / 100); /* within a hundredth */
  arena_free(&scratch);
  test_heap_end(&t);
}

/* x -> a -> b -> c -> y, each of one size: two of them live at once. */
static void test_chain(void **state) {
  (void)state;
  test_heap t;
  test_heap_start(&t, 0);
  arena scratch;
  arena_init(&scratch, &t.heap);
  plan_block block[] = {{.bytes = 100, .from = 0, .to = 1},
                        {.bytes = 100, .from = 1, .to = 2},
                        {.bytes = 100, .from = 2, .to = 3}};
  assert_int_equal(plan_place(block, 3, &scratch), 256);
  assert_int_equal(plan_bound(block, 3, &scratch), 256);
  assert_int_equal(plan_sum(block, 3), 384);
  assert_int_equal(plan_place(block, 0, &scratch), 0);
  arena_free(&scratch);
  test_heap_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_chain),
      cmocka_unit_test(test_random_plans),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
