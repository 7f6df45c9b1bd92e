/* SPDX-License-Identifier: Apache-2.0
 * parallel, vectorize, bind, unroll: what may run at once, decided exactly. */
#include "ir/edit.h"
#include "support/scheduled.h"

static ir_loop_kind races_kind_of(scheduled *t, ir_stmt loop) {
  return (ir_loop_kind)ir_st(&t->p, loop)->loop_kind;
}

static void test_races_matmul(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 12, 12, 8);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  ir_stmt i = scheduled_loop(&t, c, 0), j = scheduled_loop(&t, c, 1);
  ir_stmt k = scheduled_loop(&t, c, 2);
  REFUSED(&t, ITER_NOT_SPATIAL, parallel, AT(loop, k));
  assert_string_equal(scheduled_why(&t, "parallel"),
                      "parallel: loop c drives an iter of block \"C\" that "
                      "is not spatial, so its iterations must not run in "
                      "parallel");
  REFUSED(&t, ITER_NOT_SPATIAL, vectorize, AT(loop, k));
  REFUSED(&t, GRID_INIT, bind, AT(loop, k), STR(thread_axis, "blockIdx.x"));
  DO(&t, parallel, AT(loop, i));
  assert_int_equal(races_kind_of(&t, i), IR_PARALLEL);
  DO(&t, vectorize, AT(loop, j));
  assert_int_equal(races_kind_of(&t, j), IR_VECTORIZED);
  DO(&t, unroll, AT(loop, k));
  assert_int_equal(races_kind_of(&t, k), IR_UNROLLED);
  DO(&t, bind, AT(loop, scheduled_loop(&t, d, 0)),
     STR(thread_axis, "blockIdx.x"));
  REFUSED(&t, THREAD_TAKEN, bind, AT(loop, scheduled_loop(&t, d, 1)),
          STR(thread_axis, "blockIdx.x"));
  REFUSED(&t, THREAD_UNKNOWN, bind, AT(loop, scheduled_loop(&t, d, 1)),
          STR(thread_axis, "threadIdx.w"));
  DO(&t, bind, AT(loop, scheduled_loop(&t, d, 1)),
     STR(thread_axis, "threadIdx.y"));
  assert_int_equal(ir_st(&t.p, scheduled_loop(&t, d, 1))->thread,
                   IR_THREADIDX_Y);
  scheduled_end(&t);
}

/* Splits and fusions that fit and that do not, of loops that drive spatial
 * iters only: every part may be parallel. */
static void test_split_and_fused(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 12, 10, 8);
  ir_stmt d = scheduled_get(&t, "D");
  DO(&t, split, AT(loop, scheduled_loop(&t, d, 0)), INTS(factors, 3, 5));
  DO(&t, split, AT(loop, scheduled_loop(&t, d, 2)), INTS(factors, 4, 3));
  DO(&t, reorder,
     LIST(ordered_loops, scheduled_loop(&t, d, 0), scheduled_loop(&t, d, 2),
          scheduled_loop(&t, d, 1)));
  DO(&t, fuse, LIST(loops, scheduled_loop(&t, d, 0), scheduled_loop(&t, d, 1)));
  DO(&t, fuse, LIST(loops, scheduled_loop(&t, d, 1), scheduled_loop(&t, d, 2)));
  DO(&t, split, AT(loop, t.out[0]), INTS(factors, 2, 4, 2));
  for (uint32_t k = 0; k < 4; k++)
    DO(&t, parallel, AT(loop, scheduled_loop(&t, d, k)));
  scheduled_end(&t);
}

/* A fused loop that drives a reduction too. */
static void test_fused_reduction(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C");
  DO(&t, fuse, LIST(loops, scheduled_loop(&t, c, 1), scheduled_loop(&t, c, 2)));
  ir_stmt f = t.out[0];
  REFUSED(&t, ITER_NOT_SPATIAL, parallel, AT(loop, f));
  DO(&t, split, AT(loop, f), INTS(factors, 3, 16));
  REFUSED(&t, ITER_NOT_SPATIAL, parallel, AT(loop, t.out[1]));
  DO(&t, parallel, AT(loop, t.out[0]));
  scheduled_end(&t);
}

/* B[i] = A[i + d] + A[i] below one loop with A made there; `local` says that
 * each iteration may have A for its own. */
static bool races_stencil(int64_t d, bool local, const char *axis,
                          const char *why) {
  scheduled t;
  scheduled_start(&t);
  int64_t n = 8, m = 16;
  ir_program *p = &t.p;
  ir_buf x = scheduled_buf(&t, "X", IR_ROLE_INPUT, 1, &m);
  ir_buf a =
      scheduled_buf(&t, "A", local ? IR_ROLE_LOCAL : IR_ROLE_OUTPUT, 1, &m);
  ir_buf b = scheduled_buf(&t, "B", IR_ROLE_OUTPUT, 1, &n);
  ir_stmt ba = scheduled_block(&t, "A", "SS", (int64_t[]){n, 2});
  ir_expr at = ir_add(p, t.it[0], ir_mul(p, t.it[1], ir_index(p, d)));
  scheduled_store(&t, a, at, 0, scheduled_load(&t, x, at, 0), false);
  ir_stmt bb = scheduled_block(&t, "B", "S", &n);
  ir_expr sum =
      ir_binary(p, IR_ADD, scheduled_load(&t, a, t.it[0], 0),
                scheduled_load(&t, a, scheduled_plus(&t, t.it[0], d), 0));
  scheduled_store(&t, b, t.it[0], 0, sum, false);
  ir_stmt i = scheduled_loop(&t, ba, 0), old = scheduled_loop(&t, bb, 0);
  p->iter.v[ir_blk(p, bb)->iters.at].bind = ir_ref(p, ir_st(p, i)->var);
  ir_detach(p, bb);
  ir_append(p, i, bb);
  ir_kill(p, old);
  scheduled_finish(&t);
  if (axis) p->buf.v[a].scope = IR_SCOPE_SHARED;
  bool ok = axis ? RUN(&t, bind, AT(loop, i), STR(thread_axis, axis))
                 : RUN(&t, parallel, AT(loop, i));
  if (!ok)
    assert_string_equal(sch_reason_name((sch_reason)t.s.refusal.reason), why);
  scheduled_end(&t);
  return ok;
}

static void test_stencil(void **state) {
  (void)state;
  assert_false(races_stencil(1, false, NULL, "RACE"));
  assert_true(races_stencil(8, false, NULL, NULL));
  assert_true(races_stencil(1, true, NULL, NULL));
  assert_true(races_stencil(1, true, "blockIdx.x", NULL));
  assert_true(races_stencil(1, true, "threadIdx.x", NULL));
}

/* A loop that no binding uses writes the same place again and again. */
static void test_repeated(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt d = scheduled_get(&t, "D"), j = scheduled_loop(&t, d, 1);
  DO(&t, add_unit_loop, AT(block_or_loop, d));
  ir_stmt u = t.out[0];
  DO(&t, parallel, AT(loop, u));
  ir_st(&t.p, u)->extent = ir_index(&t.p, 2);
  t.p.var.v[ir_st(&t.p, u)->var].hi = 1;
  t.p.node.v[ir_ref(&t.p, ir_st(&t.p, u)->var)].hi = 1;
  REFUSED(&t, RACE, parallel, AT(loop, u));
  DO(&t, parallel, AT(loop, j));
  scheduled_end(&t);
}

/* In place: the element itself may be read, another may not. */
static bool in_place(int64_t d) {
  scheduled t;
  scheduled_start(&t);
  int64_t n = 8;
  ir_buf x = scheduled_buf(&t, "X", IR_ROLE_OUTPUT, 1, &n);
  ir_stmt b = scheduled_block(&t, "X", "S", (int64_t[]){n - 1});
  scheduled_store(&t, x, t.it[0], 0,
                  scheduled_load(&t, x, scheduled_plus(&t, t.it[0], d), 0),
                  false);
  scheduled_finish(&t);
  bool ok = RUN(&t, vectorize, AT(loop, scheduled_loop(&t, b, 0)));
  scheduled_end(&t);
  return ok;
}

static void test_in_place(void **state) {
  (void)state;
  assert_true(in_place(0));
  assert_false(in_place(1));
}

/* X is made at i, and read d further on in the same loop. */
static bool passed_on(int64_t d, const char *why) {
  scheduled t;
  scheduled_start(&t);
  int64_t n = 8;
  ir_program *p = &t.p;
  ir_buf x = scheduled_buf(&t, "X", IR_ROLE_OUTPUT, 1, (int64_t[]){n + 1});
  ir_buf y = scheduled_buf(&t, "Y", IR_ROLE_OUTPUT, 1, &n);
  ir_stmt bx = scheduled_block(&t, "X", "S", &n);
  scheduled_store(&t, x, t.it[0], 0,
                  ir_real(p, (tess_dtype){TESS_DTYPE_FLOAT, 32, 1}, 2), false);
  ir_stmt by = scheduled_block(&t, "Y", "S", &n);
  scheduled_store(&t, y, t.it[0], 0,
                  scheduled_load(&t, x, scheduled_plus(&t, t.it[0], d), 0),
                  false);
  ir_stmt i = scheduled_loop(&t, bx, 0), old = scheduled_loop(&t, by, 0);
  p->iter.v[ir_blk(p, by)->iters.at].bind = ir_ref(p, ir_st(p, i)->var);
  ir_detach(p, by);
  ir_append(p, i, by);
  ir_kill(p, old);
  scheduled_finish(&t);
  bool ok = RUN(&t, parallel, AT(loop, i));
  if (!ok)
    assert_string_equal(sch_reason_name((sch_reason)t.s.refusal.reason), why);
  scheduled_end(&t);
  return ok;
}

static void test_passed_on(void **state) {
  (void)state;
  assert_true(passed_on(0, NULL));
  assert_false(passed_on(1, "RACE_OTHER"));
}

/* Global memory is shared by threads: what lies below a thread loop is no
 * longer the own of the loops inside. */
static void test_threads_share(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  ir_stmt i = scheduled_loop(&t, d, 0), j = scheduled_loop(&t, d, 1);
  DO(&t, compute_at, AT(block, c), AT(loop, j));
  ir_iter *it = &t.p.iter.v[ir_blk(&t.p, c)->iters.at];
  assert_int_equal(it->bind, ir_ref(&t.p, ir_st(&t.p, i)->var));
  /* Each iteration of j computes all of C's row 0 again. */
  it->bind = ir_index(&t.p, 0);
  ir_iter *dt = &t.p.iter.v[ir_blk(&t.p, d)->iters.at];
  dt->bind = ir_index(&t.p, 0);
  DO(&t, add_unit_loop, AT(block_or_loop, i));
  ir_stmt u = t.out[0];
  ir_blk(&t.p, d)->writes.n = 0;
  DO(&t, parallel, AT(loop, i));
  REFUSED(&t, WOULD_RACE, bind, AT(loop, u), STR(thread_axis, "threadIdx.x"));
  scheduled_end(&t);
}

/* Below the loop stands something that is no block. */
static void test_other_statement(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt d = scheduled_get(&t, "D"), i = scheduled_loop(&t, d, 0);
  ir_append(&t.p, i, ir_evaluate_new(&t.p, ir_index(&t.p, 7)));
  REFUSED(&t, OTHER_STATEMENT, parallel, AT(loop, i));
  REFUSED(&t, NOT_ONLY_CHILD, reorder,
          LIST(ordered_loops, scheduled_loop(&t, d, 1), i));
  ir_append(&t.p, scheduled_loop(&t, d, 1),
            ir_evaluate_new(&t.p, ir_index(&t.p, 8)));
  REFUSED(&t, OTHER_STATEMENT, vectorize, AT(loop, scheduled_loop(&t, d, 1)));
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_races_matmul),
      cmocka_unit_test(test_split_and_fused),
      cmocka_unit_test(test_fused_reduction),
      cmocka_unit_test(test_stencil),
      cmocka_unit_test(test_repeated),
      cmocka_unit_test(test_in_place),
      cmocka_unit_test(test_passed_on),
      cmocka_unit_test(test_threads_share),
      cmocka_unit_test(test_other_statement),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
