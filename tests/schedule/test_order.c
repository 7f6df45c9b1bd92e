/* SPDX-License-Identifier: Apache-2.0
 * reorder: which nests may change their order, decided exactly. */
#include "ir/edit.h"
#include "support/scheduled.h"

static ir_stmt order_of(scheduled *t, ir_stmt block, const char *names) {
  strbuf b;
  str_init(&b, &t->heap.heap);
  for (uint32_t k = 0; names[k]; k++) {
    str_clear(&b);
    ir_var_name(&t->p, ir_st(&t->p, scheduled_loop(t, block, k))->var, &b);
    assert_int_equal(str_get(&b)[0], names[k]);
  }
  str_free(&b);
  return block;
}

static void test_order_matmul(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C");
  ir_stmt i = scheduled_loop(&t, c, 0), j = scheduled_loop(&t, c, 1);
  ir_stmt k = scheduled_loop(&t, c, 2);
  DO(&t, reorder, LIST(ordered_loops, k, i));
  order_of(&t, c, "cba");
  DO(&t, reorder, LIST(ordered_loops, j, k, i));
  order_of(&t, c, "bca");
  DO(&t, reorder, LIST(ordered_loops, i, j));
  order_of(&t, c, "acb");
  assert_int_equal(scheduled_loop(&t, c, 0), i);
  assert_int_equal(scheduled_loop(&t, c, 1), k);
  DO(&t, reorder, LIST(ordered_loops, i, k, j));
  DO(&t, reorder, LIST(ordered_loops, j));
  order_of(&t, c, "acb");
  scheduled_end(&t);
}

static void test_order_refusals(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  ir_stmt i = scheduled_loop(&t, c, 0), j = scheduled_loop(&t, c, 1);
  ir_stmt k = scheduled_loop(&t, c, 2);
  REFUSED(&t, LOOP_REPEATED, reorder, LIST(ordered_loops, j, i, j));
  REFUSED(&t, LOOPS_NOT_CHAIN, reorder,
          LIST(ordered_loops, j, scheduled_loop(&t, d, 0)));
  assert_string_equal(scheduled_why(&t, "reorder"),
                      "reorder: loop a and loop b are not loops of one nest");
  DO(&t, decompose_reduction, AT(block, c), AT(loop, k));
  REFUSED(&t, NOT_ONLY_CHILD, reorder, LIST(ordered_loops, k, i));
  scheduled_end(&t);
}

/* r = f % 4, s = f // 4 with f split by what does not divide: the parts may
 * not change places, or some s would start in its middle. */
static void test_mixed_reduction(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  int64_t m = 6, n = 4;
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, (int64_t[]){m, n});
  ir_buf b = scheduled_buf(&t, "B", IR_ROLE_OUTPUT, 1, &m);
  ir_stmt block = scheduled_block(&t, "B", "SR", (int64_t[]){m, n});
  scheduled_store(&t, b, t.it[0], 0, scheduled_load(&t, a, t.it[0], t.it[1]),
                  true);
  scheduled_finish(&t);
  DO(&t, fuse,
     LIST(loops, scheduled_loop(&t, block, 0), scheduled_loop(&t, block, 1)));
  ir_stmt f = t.out[0];
  DO(&t, split, AT(loop, f), INTS(factors, 8, 3));
  REFUSED(&t, ORDER_INIT, reorder, LIST(ordered_loops, t.out[1], t.out[0]));
  assert_non_null(strstr(scheduled_why(&t, "reorder"),
                         "the one that initializes their result, such as ("));
  scheduled_end(&t);
}

/* The same with parts that fit: each then drives one iter. */
static void test_aligned_reduction(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  int64_t m = 6, n = 4;
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, (int64_t[]){m, n});
  ir_buf b = scheduled_buf(&t, "B", IR_ROLE_OUTPUT, 1, &m);
  ir_stmt block = scheduled_block(&t, "B", "SR", (int64_t[]){m, n});
  scheduled_store(&t, b, t.it[0], 0, scheduled_load(&t, a, t.it[0], t.it[1]),
                  true);
  scheduled_finish(&t);
  DO(&t, fuse,
     LIST(loops, scheduled_loop(&t, block, 0), scheduled_loop(&t, block, 1)));
  DO(&t, split, AT(loop, t.out[0]), INTS(factors, 6, 4));
  DO(&t, reorder, LIST(ordered_loops, t.out[1], t.out[0]));
  scheduled_end(&t);
}

/* A predicate on the reduction that holds at its start allows, and so does one
 * that leaves the start out: then nothing is initialised in any order. */
static void test_reduction_predicate(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C"), j = scheduled_loop(&t, c, 1);
  DO(&t, split, AT(loop, scheduled_loop(&t, c, 2)), INTS(factors, 3, 3));
  ir_stmt k0 = t.out[0], k1 = t.out[1];
  DO(&t, reorder, LIST(ordered_loops, k1, k0, j));
  ir_expr k = ir_ref(&t.p, ir_st(&t.p, k1)->var);
  ir_expr pred = ir_blk(&t.p, c)->pred;
  ir_blk(&t.p, c)->pred = ir_binary(&t.p, IR_LT, ir_index(&t.p, 0), k);
  DO(&t, reorder, LIST(ordered_loops, j, k0, k1));
  ir_blk(&t.p, c)->pred = pred;
  DO(&t, reorder, LIST(ordered_loops, k1, k0, j));
  scheduled_end(&t);
}

/* Points reached twice: adding again would count twice in another order. */
static void test_not_injective(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 8, 6, 8);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  ir_stmt i = scheduled_loop(&t, c, 0), k = scheduled_loop(&t, c, 2);
  ir_expr half = ir_binary(&t.p, IR_DIV, ir_ref(&t.p, ir_st(&t.p, i)->var),
                           ir_index(&t.p, 2));
  t.p.iter.v[ir_blk(&t.p, c)->iters.at].bind = half;
  REFUSED(&t, NOT_INJECTIVE, reorder, LIST(ordered_loops, k, i));
  REFUSED(&t, NOT_INJECTIVE, decompose_reduction, AT(block, c), AT(loop, i));
  DO(&t, decompose_reduction, AT(block, c), AT(loop, scheduled_loop(&t, c, 1)));
  /* A block that stores the same again may be reordered. */
  ir_stmt x = scheduled_loop(&t, d, 0);
  half = ir_binary(&t.p, IR_DIV, ir_ref(&t.p, ir_st(&t.p, x)->var),
                   ir_index(&t.p, 2));
  t.p.iter.v[ir_blk(&t.p, d)->iters.at].bind = half;
  DO(&t, reorder, LIST(ordered_loops, scheduled_loop(&t, d, 1), x));
  scheduled_end(&t);
}

/* X[i, j] = X[i - di, j - dj] in place, with kinds as given. */
static ir_stmt shifted(scheduled *t, const char *kinds, int64_t di,
                       int64_t dj) {
  int64_t n = 8;
  ir_buf x = scheduled_buf(t, "X", IR_ROLE_OUTPUT, 2, (int64_t[]){n, n});
  ir_stmt block = scheduled_block(t, "X", kinds, (int64_t[]){n - 2, n - 2});
  ir_expr i = scheduled_plus(t, t->it[0], 1);
  ir_expr j = scheduled_plus(t, t->it[1], 1);
  scheduled_store(t, x, i, j,
                  scheduled_load(t, x, scheduled_plus(t, i, -di),
                                 scheduled_plus(t, j, -dj)),
                  false);
  scheduled_finish(t);
  return block;
}

static bool may_swap(const char *kinds, int64_t di, int64_t dj,
                     const char *why) {
  scheduled t;
  scheduled_start(&t);
  ir_stmt b = shifted(&t, kinds, di, dj);
  bool ok = RUN(
      &t, reorder,
      LIST(ordered_loops, scheduled_loop(&t, b, 1), scheduled_loop(&t, b, 0)));
  if (!ok)
    assert_string_equal(sch_reason_name((sch_reason)t.s.refusal.reason), why);
  scheduled_end(&t);
  return ok;
}

/* Distances of one sign in all loops survive any order. */
static void test_distances(void **state) {
  (void)state;
  assert_true(may_swap("SS", 1, 0, NULL));
  assert_true(may_swap("SS", 1, 1, NULL));
  assert_true(may_swap("SS", -1, -1, NULL));
  assert_true(may_swap("SS", 0, 0, NULL));
  assert_false(may_swap("SS", 1, -1, "ORDER_DEPENDS"));
  assert_false(may_swap("SS", -1, 1, "ORDER_DEPENDS"));
  assert_true(may_swap("OS", 1, 1, NULL));
  assert_false(may_swap("OS", 1, -1, "ORDER_DEPENDS"));
  assert_false(may_swap("OO", 1, 1, "ORDER_OPAQUE"));
}

/* Two blocks in one nest: B reads what A makes d iterations of j away. */
static bool two_blocks(int64_t d, const char *why) {
  scheduled t;
  scheduled_start(&t);
  int64_t n = 8, shape[2] = {n, n};
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_OUTPUT, 2, shape);
  ir_buf b = scheduled_buf(&t, "B", IR_ROLE_OUTPUT, 2, shape);
  int64_t extent[2] = {n - 2, n - 2};
  ir_stmt ba = scheduled_block(&t, "A", "SS", extent);
  ir_expr i = scheduled_plus(&t, t.it[0], 1);
  ir_expr j = scheduled_plus(&t, t.it[1], 1);
  scheduled_store(&t, a, i, j,
                  ir_real(&t.p, (tess_dtype){TESS_DTYPE_FLOAT, 32, 1}, 2),
                  false);
  ir_stmt bb = scheduled_block(&t, "B", "SS", extent);
  i = scheduled_plus(&t, t.it[0], 1);
  scheduled_store(&t, b, i, t.it[1],
                  scheduled_load(&t, a, scheduled_plus(&t, i, -1),
                                 scheduled_plus(&t, t.it[1], 1 + d)),
                  false);
  /* Both under the loops of A. */
  ir_program *p = &t.p;
  ir_span it = ir_blk(p, bb)->iters;
  for (uint32_t k = 0; k < 2; k++)
    p->iter.v[it.at + k].bind =
        ir_ref(p, ir_st(p, scheduled_loop(&t, ba, k))->var);
  ir_stmt old = scheduled_loop(&t, bb, 0);
  ir_detach(p, bb);
  ir_insert_after(p, ba, bb);
  ir_kill(p, old);
  scheduled_finish(&t);
  bool ok = RUN(&t, reorder,
                LIST(ordered_loops, scheduled_loop(&t, ba, 1),
                     scheduled_loop(&t, ba, 0)));
  if (!ok)
    assert_string_equal(sch_reason_name((sch_reason)t.s.refusal.reason), why);
  scheduled_end(&t);
  return ok;
}

static void test_two_blocks(void **state) {
  (void)state;
  assert_true(two_blocks(0, NULL));
  assert_true(two_blocks(-1, NULL));
  assert_false(two_blocks(1, "ORDER_DEPENDS"));
}

/* A parallel loop stays one whose iterations may run at once: moving it out
 * of the loop that separates its iterations is refused. */
static void test_parallel_moves_out(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_stmt b = shifted(&t, "SS", 1, 1);
  ir_stmt i = scheduled_loop(&t, b, 0), j = scheduled_loop(&t, b, 1);
  REFUSED(&t, RACE, parallel, AT(loop, i));
  DO(&t, parallel, AT(loop, j));
  REFUSED(&t, RACE, reorder, LIST(ordered_loops, j, i));
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_order_matmul),
      cmocka_unit_test(test_order_refusals),
      cmocka_unit_test(test_mixed_reduction),
      cmocka_unit_test(test_aligned_reduction),
      cmocka_unit_test(test_reduction_predicate),
      cmocka_unit_test(test_not_injective),
      cmocka_unit_test(test_distances),
      cmocka_unit_test(test_two_blocks),
      cmocka_unit_test(test_parallel_moves_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
