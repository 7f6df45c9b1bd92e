/* SPDX-License-Identifier: Apache-2.0
 * Index maps as text. */
#include "ir/edit.h"
#include "support/test.h"
#include "vm/text/map.h"

#include <stdio.h>

static bool is_map(const char *text, uint32_t ngiven, int64_t *at) {
  return vm_read_map(text, ngiven, NULL, NULL, NULL, NULL, at);
}

static void test_language(void **state) {
  (void)state;
  static const char *const good[] = {
      "() -> ()",
      "(i) -> ()",
      "( i,j )->( j , i )",
      "(i, j) -> (i // 16, j, i % 16)",
      "(i) -> (-i + 3, - -i, -(i * 2))",
      "(min) -> (min)",
      "(a, b) -> (min(a, b), max(a - 1, b // $2))"};
  static const struct {
    const char *text;
    int64_t at;
  } bad[] = {{"", 1},
             {"i -> (i)", 1},
             {"(i)", 4},
             {"(i, i) -> (i)", 5},
             {"(i) -> (j)", 9},
             {"(i) -> (i", 10},
             {"(i) -> (i) i", 12},
             {"(i) -> (i / 2)", 11},
             {"(i) -> (min(i))", 14},
             {"(i) -> ($0)", 10},
             {"(i) -> ($3)", 10},
             {"(1) -> (1)", 2},
             {"(i) -> (99999999999999999999)", 27},
             {"(i,) -> (i)", 4}};
  int64_t at;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++)
    if (!is_map(good[i], 2, &at))
      fail_msg("%s is a map, but for character %d", good[i], (int)at);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_false(is_map(bad[i].text, 2, &at));
    if (at != bad[i].at)
      fail_msg("%s ends to be a map at %d", bad[i].text, (int)at);
  }
}

/* However deep, and however many parameters. */
static void test_limits(void **state) {
  (void)state;
  char text[1024];
  int64_t at;
  static const char *const open[] = {"(", "-", "min("};
  for (size_t k = 0; k < 3; k++) {
    size_t n = strlen(strcpy(text, "(i) -> ("));
    while (n + 100 < sizeof text) {
      strcpy(text + n, open[k]);
      n += strlen(open[k]);
    }
    assert_false(is_map(text, 0, &at));
  }
  size_t n = 1;
  strcpy(text, "(");
  for (int i = 0; i <= VM_MAP_MAX; i++)
    n += (size_t)snprintf(text + n, sizeof text - n, "%sv%d", i ? "," : "", i);
  strcpy(text + n, ") -> ()");
  assert_false(is_map(text, 0, &at));
}

static void test_values(void **state) {
  (void)state;
  test_heap mem;
  ir_program p;
  arena scratch;
  sch_map m;
  int64_t at;
  test_heap_start(&mem, 0);
  ir_program_init(&p, &mem.heap);
  arena_init(&scratch, &mem.heap);
  assert_true(vm_read_map("(i, j) -> (i // $1 + j * 2, -j % 5, min(i, $2))", 2,
                          (int64_t[]){4, 9}, &p, &scratch, &m, &at));
  assert_int_equal(m.nin, 2);
  assert_int_equal(m.nout, 3);
  ir_subst s;
  ir_subst_init(&s, &p, &scratch);
  ir_subst_var(&s, m.in[0], ir_index(&p, 19));
  ir_subst_var(&s, m.in[1], ir_index(&p, 3));
  assert_int_equal(ir_subst_expr(&s, m.out[0]), ir_index(&p, 10));
  assert_int_equal(ir_subst_expr(&s, m.out[1]), ir_index(&p, 2));
  assert_int_equal(ir_subst_expr(&s, m.out[2]), ir_index(&p, 9));
  arena_free(&scratch);
  ir_program_free(&p);
  test_heap_end(&mem);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_language),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
