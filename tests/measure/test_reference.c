/* SPDX-License-Identifier: Apache-2.0
 * How the reference is scheduled, and that it stays the same. */
#include "ir/query.h"
#include "measure/worker/job_builder.h"
#include "support/measured.h"

#include <stdlib.h>

/* The reference's outermost loops are parallel, where they may be; functions of
 * the host's are called one after another. */
static void expect_parallel(tess_program *p, bool yes) {
  vm_sched s = {.heap = NULL};
  bool is = false;
  assert_int_equal(job_parallelise(&p->c->heap, &p->p, NULL, &s), TESS_OK);
  for (uint32_t i = 1; i < s.m.prog.stmt.n; i++) {
    const ir_stmt_rec *r = &s.m.prog.stmt.v[i];
    is = is || (r->kind == IR_LOOP && r->loop_kind == IR_PARALLEL);
  }
  assert_int_equal(is, yes);
  vm_sched_free(&s);
}

static void test_parallel_reference(void **state) {
  (void)state;
  measured m;
  measured_start(&m, false, TESS_EXTERNS);
  tess_program *good = measured_matmul(m.c, 8);
  tess_program *calls = measured_extern(m.c, "test_wrong_in_parallel", 64);
  expect_parallel(good, true);
  expect_parallel(calls, false);
  tess_program_free(good);
  tess_program_free(calls);
  measured_end(&m);
}

/* The text of the program whose sums may be moved out; NULL: none was. */
static char *move_sums(tess_program *p) {
  vm_sched s = {.heap = NULL};
  strbuf text;
  bool moved = false;
  char *copy = NULL;
  assert_int_equal(job_parallelise(&p->c->heap, &p->p, &moved, &s), TESS_OK);
  str_init(&text, &p->c->heap);
  ir_print(&s.m.prog, NULL, &text);
  if (moved) copy = strdup(str_get(&text));
  str_free(&text);
  vm_sched_free(&s);
  return copy;
}

/* Sums are moved out of the loop along which data lie, and a program that takes
 * long as it stands has a reference by that. */
static void test_moved_reference(void **state) {
  enum { LONG = 640 };
  (void)state;
  measured m;
  measure_result r;
  measured_start_matmul(&m, false, LONG);
  char *text = move_sums(m.program);
  assert_non_null(text);
  assert_non_null(strstr(text, "in parallel(640)"));
  assert_non_null(strstr(text, "for k in range(640)\n      for "));
  free(text);
  const strbuf *code = measured_code(&m, NULL);
  assert_int_equal(measure_compare(m.pool, m.task, code, &r), TESS_OK);
  assert_true(r.checked);
  measure_result_free(&r);
  measured_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parallel_reference),
      cmocka_unit_test(test_moved_reference),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
