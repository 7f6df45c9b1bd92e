/* SPDX-License-Identifier: Apache-2.0
 * How the reference is scheduled, and that it stays the same. */
#include "ir/query.h"
#include "measure/worker/job_builder.h"
#include "measure/worker/pool.h"
#include "support/measured.h"

#include <stdlib.h>
#include <time.h>

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

/* Sums are moved out of the loop along which data lie. */
static void test_moved_sums(void **state) {
  (void)state;
  measured m;
  measured_start_matmul(&m, false, 64);
  char *text = move_sums(m.program);
  assert_non_null(text);
  assert_non_null(strstr(text, "in parallel(64)"));
  assert_non_null(strstr(text, "for k in range(64)\n      for "));
  free(text);
  measured_end(&m);
}

/* ---- what takes long ---------------------------------------------------- */

/* A product of as many rows, each of which takes 10 ms of each of the two loops
 * over them, as the program stands. */
enum { ROWS = 64, PER_ROW = 10000000 };
#define SECONDS_PER_LOOP (ROWS * (PER_ROW * 1e-9))

static const backend *right;
static int loads;   /* first the program as it stands, then with moved sums */
static bool spoils; /* the second's result */

static tess_status count_load(mem_heap *heap, const void *object, size_t n,
                              backend_code **out, err_state *e) {
  loads++;
  return right->load(heap, object, n, out, e);
}

typedef int32_t (*body_fn)(void *closure, int64_t begin, int64_t end);

static int32_t (*loop_as_before)(void *ud, int64_t n, body_fn fn,
                                 void *closure);

typedef struct slow_loop {
  body_fn fn;
  void *closure;
} slow_loop;

static int32_t run_rows_slowly(void *data, int64_t begin, int64_t end) {
  const slow_loop *x = data;
  for (int64_t i = begin; i < end; i++)
    nanosleep(&(struct timespec){0, PER_ROW}, NULL);
  return x->fn(x->closure, begin, end);
}

static int32_t loop_slowly(void *ud, int64_t n, body_fn fn, void *closure) {
  slow_loop x = {fn, closure};
  return loop_as_before(ud, n, run_rows_slowly, &x);
}

static int32_t launch_slowly(const backend_code *c, void **args,
                             const int64_t *sizes, const tess_runtime *rt) {
  tess_runtime slow = *rt;
  loop_as_before = rt->parallel_for;
  if (loads == 1) slow.parallel_for = loop_slowly;
  int32_t s = right->launch(c, args, sizes, &slow);
  if (loads == 2 && spoils) ((float *)args[2])[5] += 1;
  return s;
}

/* The reference of m's program, which takes long as it stands, is right; the
 * number of programs that were loaded for it. */
static int find_slow_reference(measured *m) {
  measure_result r;
  loads = 0;
  const strbuf *code = measured_code(m, NULL);
  measure_request once = {.code = code, .check = MEASURE_CHECK_NEVER};
  assert_int_equal(measure_run(m->pool, m->task, &once, &r), TESS_OK);
  measure_result_free(&r);
  job_state *j = pool_local(m->pool, m->pool->nbuilders, m->task);
  backend slow = *(right = j->backend);
  slow.load = count_load;
  slow.launch = launch_slowly;
  j->backend = &slow;
  tess_status s = measure_compare(m->pool, m->task, code, &r);
  j->backend = right;
  if (s) fail_msg("%s", str_get(&r.message));
  assert_true(r.checked);
  measure_result_free(&r);
  return loads - 1; /* the last is the candidate */
}

/* It is that of the program with moved sums, and the time of the program as it
 * stands is told by the share of each loop that was done, on one thread. */
static void test_moved_reference(void **state) {
  (void)state;
  measured m;
  spoils = false;
  measured_start_matmul(&m, true, ROWS);
  assert_int_equal(find_slow_reference(&m), 2);
  assert_true(m.task->launch >= 2 * SECONDS_PER_LOOP);
  measured_end(&m);
}

/* Where moved sums give something else, in a temporary here, the program runs
 * as it stands. */
static void test_moved_wrongly(void **state) {
  (void)state;
  measured m;
  spoils = true;
  measured_start_matmul(&m, true, ROWS);
  assert_int_equal(find_slow_reference(&m), 3);
  measured_end(&m);
}

/* T[i] = i + 1, and B[i] = A[T[i] - 1], or A[i] // T[i]. */
static tess_program *steered(tess_context *c, bool divides) {
  static const tess_dtype I64 = {TESS_DTYPE_INT, 64, 1};
  tess_builder *b;
  tess_buffer in, between, out;
  tess_var v;
  tess_expr n, one, i, x, t;
  tess_program *p;
  assert_int_equal(tess_builder_new(c, &b), TESS_OK);
  tess_int(b, I64, ROWS, &n);
  tess_int(b, I64, 1, &one);
  tess_placeholder(b, "A", I64, 1, &n, TESS_ROLE_INPUT, &in);
  tess_compute_begin(b, "T", 1, &n, NULL, &v);
  tess_var_ref(b, v, &i);
  tess_binary(b, "+", i, one, &x);
  assert_int_equal(tess_compute_end(b, 1, &x, &between), TESS_OK);
  tess_compute_begin(b, "B", 1, &n, NULL, &v);
  tess_var_ref(b, v, &i);
  tess_load(b, between, 1, &i, &t);
  if (divides) {
    tess_load(b, in, 1, &i, &x);
    tess_binary(b, "//", x, t, &x);
  } else {
    tess_binary(b, "-", t, one, &t);
    tess_load(b, in, 1, &t, &x);
  }
  assert_int_equal(tess_compute_end(b, 1, &x, &out), TESS_OK);
  assert_int_equal(tess_program_new(b, "p", 1, &in, 1, &out, &p), TESS_OK);
  tess_builder_free(b);
  return p;
}

/* What divides by a temporary, or has an index of one, runs whole. */
static void test_never_in_part(void **state) {
  (void)state;
  spoils = false;
  for (int divides = 0; divides < 2; divides++) {
    measured m;
    measured_start(&m, true, NULL);
    measured_take(&m, steered(m.c, divides));
    assert_int_equal(find_slow_reference(&m), 1);
    measured_end(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parallel_reference),
      cmocka_unit_test(test_moved_sums),
      cmocka_unit_test(test_moved_reference),
      cmocka_unit_test(test_moved_wrongly),
      cmocka_unit_test(test_never_in_part),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
