/* SPDX-License-Identifier: Apache-2.0
 * The text of the rejection funnel. */
#include "search/candidate/funnel.h"
#include "support/test.h"

static void add(funnel *f, mem_heap *h, int n, funnel_stage stage,
                const char *who, const char *why) {
  for (int i = 0; i < n; i++) funnel_add(f, h, stage, who, why, 9);
}

/* What a host's strategy proposed is counted apart from what was tried. */
static void test_proposed(void **state) {
  (void)state;
  test_heap mem;
  funnel f = {.sampled = 3, .valid = 3, .proposed = 9};
  strbuf out;
  test_heap_start(&mem, 0);
  mem_heap *h = &mem.heap;
  str_init(&out, h);
  funnel_measured(&f, h, "ok", "", 4);
  add(&f, h, 2, FUNNEL_DUPLICATE, "", "");
  add(&f, h, 1, FUNNEL_UNFIT, "split", "B");
  funnel_print(&f, &out);
  assert_string_equal(str_get(&out),
                      "         3  candidates tried\n"
                      "         3  valid\n"
                      "         9  proposed by the strategy\n"
                      "         2  proposed, but duplicates\n"
                      "         1  proposed, but refused by split: B (for "
                      "example 9)\n"
                      "         4  measured: ok\n"
                      "         2  proposed, but not measured\n");
  funnel_free(&f, h);
  str_free(&out);
  test_heap_end(&mem);
}

/* From stage to stage; in each the most frequent first, and what is as
 * frequent by name. */
static void test_order(void **state) {
  (void)state;
  test_heap mem;
  funnel f = {.sampled = 20, .valid = 6};
  strbuf out;
  test_heap_start(&mem, 0);
  mem_heap *h = &mem.heap;
  str_init(&out, h);
  funnel_measured(&f, h, "ok", "", 2);
  funnel_measured(&f, h, "the time ran out", "", 3);
  add(&f, h, 1, FUNNEL_REJECTED, "lanes", "many");
  add(&f, h, 2, FUNNEL_REJECTED, "grid", "large");
  add(&f, h, 2, FUNNEL_REFUSED, "split", "B");
  add(&f, h, 1, FUNNEL_REFUSED, "fuse", "C");
  add(&f, h, 4, FUNNEL_REFUSED, "split", "C");
  add(&f, h, 2, FUNNEL_REFUSED, "split", "A");
  add(&f, h, 2, FUNNEL_REFUSED, "fuse", "D");
  funnel_print(&f, &out);
  assert_string_equal(str_get(&out),
                      "        20  candidates tried\n"
                      "         4  refused by split: C\n"
                      "         2  refused by fuse: D\n"
                      "         2  refused by split: A\n"
                      "         2  refused by split: B\n"
                      "         1  refused by fuse: C\n"
                      "         2  rejected by grid: large (for example 9)\n"
                      "         1  rejected by lanes: many (for example 9)\n"
                      "         6  valid\n"
                      "         3  measured: the time ran out\n"
                      "         2  measured: ok\n"
                      "         1  valid, but not measured\n");
  funnel_free(&f, h);
  str_free(&out);
  test_heap_end(&mem);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_order),
                                     cmocka_unit_test(test_proposed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
