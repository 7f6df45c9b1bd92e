/* SPDX-License-Identifier: Apache-2.0
 * merge. */
#include "ir/edit.h"
#include "support/scheduled.h"

static void test_depth(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  ir_stmt jc = scheduled_loop(&t, c, 1), jd = scheduled_loop(&t, d, 1);
  DO(&t, merge, LIST(loops, jd, jc));
  assert_int_equal(t.out[0], jc);
  assert_true(ir_is_dead(&t.p, jd));
  scheduled_expect(
      &t, "main(A: float32[4, 8], B: float32[8, 6], D: out float32[4, 6])\n"
          "  alloc C: float32[4, 6]\n"
          "  for a in range(4)\n"
          "    for b in range(6)\n"
          "      for c in range(8)\n"
          "        block C(va: 4 = a, vb: 6 = b, vc: reduce 8 = c)\n"
          "          init\n"
          "            C[va, vb] = 0.0\n"
          "          C[va, vb] = C[va, vb] + A[va, vc] * B[vc, vb]\n"
          "      block D(va: 4 = a, vb: 6 = b)\n"
          "        D[va, vb] = max(C[va, vb] + 1.0, 0.0)\n");
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

/* The outer loops only, then the inner ones of what is left. */
static void test_outer(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  DO(&t, merge,
     LIST(loops, scheduled_loop(&t, c, 0), scheduled_loop(&t, d, 0)));
  assert_true(scheduled_same(&t));
  DO(&t, merge,
     LIST(loops, scheduled_loop(&t, c, 1), scheduled_loop(&t, d, 1)));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

/* B[i] = A[i] + 1, then C[i] = B[i + shift] for i below n. */
static void merge_chain(scheduled *t, int64_t n, int64_t shift) {
  ir_buf a = scheduled_buf(t, "A", IR_ROLE_INPUT, 1, (int64_t[]){n});
  ir_buf b = scheduled_buf(t, "B", IR_ROLE_LOCAL, 1, (int64_t[]){n});
  ir_buf c = scheduled_buf(t, "C", IR_ROLE_OUTPUT, 1, (int64_t[]){n});
  scheduled_block(t, "B", "S", &n);
  scheduled_store(
      t, b, t->it[0], 0,
      ir_add(&t->p, scheduled_load(t, a, t->it[0], 0),
             ir_real(&t->p, (tess_dtype){TESS_DTYPE_FLOAT, 32, 1}, 1)),
      false);
  scheduled_block(t, "C", "S", &n);
  ir_expr at = scheduled_plus(t, t->it[0], shift), zero = ir_index(&t->p, 0);
  at = ir_binary(&t->p, IR_MIN, ir_binary(&t->p, IR_MAX, at, zero),
                 ir_index(&t->p, n - 1));
  scheduled_store(t, c, t->it[0], 0, scheduled_load(t, b, at, 0), false);
  scheduled_finish(t);
}

static void test_shifts(void **state) {
  (void)state;
  for (int64_t shift = -9; shift <= 9; shift++) {
    scheduled t;
    scheduled_start(&t);
    ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 1, (int64_t[]){30});
    ir_buf b = scheduled_buf(&t, "B", IR_ROLE_LOCAL, 1, (int64_t[]){30});
    ir_buf c = scheduled_buf(&t, "C", IR_ROLE_OUTPUT, 1, (int64_t[]){10});
    int64_t n = 10;
    /* every other element is made twice over, all are read from 9 on */
    scheduled_block(&t, "B", "S", (int64_t[]){30});
    scheduled_store(&t, b, t.it[0], 0, scheduled_load(&t, a, t.it[0], 0),
                    false);
    scheduled_block(&t, "B2", "S", &n);
    scheduled_store(&t, b, scheduled_plus(&t, t.it[0], 10), 0,
                    scheduled_load(&t, a, t.it[0], 0), false);
    scheduled_block(&t, "C", "S", &n);
    scheduled_store(
        &t, c, t.it[0], 0,
        scheduled_load(&t, b, scheduled_plus(&t, t.it[0], 10 + shift), 0),
        false);
    scheduled_finish(&t);
    ir_stmt lb = scheduled_loop(&t, scheduled_get(&t, "B2"), 0);
    ir_stmt lc = scheduled_loop(&t, scheduled_get(&t, "C"), 0);
    if (shift > 0)
      REFUSED(&t, MERGE_DEPENDS, merge, LIST(loops, lb, lc));
    else
      DO(&t, merge, LIST(loops, lb, lc));
    assert_true(scheduled_same(&t));
    scheduled_end(&t);
  }
}

static void test_order_refused(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  merge_chain(&t, 8, 1);
  ir_stmt lb = scheduled_loop(&t, scheduled_get(&t, "B"), 0);
  ir_stmt lc = scheduled_loop(&t, scheduled_get(&t, "C"), 0);
  REFUSED(&t, MERGE_DEPENDS, merge, LIST(loops, lb, lc));
  assert_string_equal(
      scheduled_why(&t, "merge"),
      "merge: in some iterations block \"C\" would run before block \"B\", "
      "on which it depends through buffer \"B\", such as (a = 7) and (a = 6)");
  REFUSED(&t, LOOPS_FEW, merge, LIST(loops, lb));
  REFUSED(&t, LOOP_REPEATED, merge, LIST(loops, lb, lb));
  ir_st(&t.p, lc)->loop_kind = IR_UNROLLED;
  REFUSED(&t, LOOP_NOT_SERIAL, merge, LIST(loops, lb, lc));
  ir_st(&t.p, lc)->loop_kind = IR_SERIAL;
  DO(&t, annotate, AT(block_or_loop, lc), STR(ann_key, "note"),
     NUM(ann_val, ir_value_int(&t.p, 3)));
  REFUSED(&t, LOOP_ANNOTATED, merge, LIST(loops, lb, lc));
  scheduled_end(&t);
}

/* L[i, j] = A[i, j], then S[i, j] = L[j, i] below the diagonal and on it, so
 * that a row of S reads rows of L up to its own, which only an exact look
 * tells; or everywhere but on the diagonal. */
static void triangles(scheduled *t, ir_op where) {
  const int64_t n[2] = {6, 6};
  scheduled_start(t);
  ir_buf a = scheduled_buf(t, "A", IR_ROLE_INPUT, 2, n);
  ir_buf l = scheduled_buf(t, "L", IR_ROLE_OUTPUT, 2, n);
  ir_buf u = scheduled_buf(t, "S", IR_ROLE_OUTPUT, 2, n);
  for (int k = 0; k < 2; k++) {
    ir_stmt b = scheduled_block(t, k ? "S" : "L", "SS", n);
    ir_stmt j = ir_st(&t->p, b)->parent, i = ir_st(&t->p, j)->parent;
    ir_expr vi = ir_ref(&t->p, ir_st(&t->p, i)->var);
    ir_expr vj = ir_ref(&t->p, ir_st(&t->p, j)->var);
    if (k) ir_blk(&t->p, b)->pred = ir_binary(&t->p, where, vj, vi);
    scheduled_store(t, k ? u : l, t->it[0], t->it[1],
                    scheduled_load(t, k ? l : a, t->it[k], t->it[!k]), false);
  }
  scheduled_finish(t);
}

static void test_exactly(void **state) {
  (void)state;
  scheduled t;
  triangles(&t, IR_LE);
  ir_stmt l = scheduled_get(&t, "L"), u = scheduled_get(&t, "S");
  DO(&t, merge,
     LIST(loops, scheduled_loop(&t, l, 0), scheduled_loop(&t, u, 0)));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);

  triangles(&t, IR_NE);
  l = scheduled_get(&t, "L"), u = scheduled_get(&t, "S");
  REFUSED(&t, MERGE_DEPENDS, merge,
          LIST(loops, scheduled_loop(&t, l, 0), scheduled_loop(&t, u, 0)));
  assert_non_null(strstr(scheduled_why(&t, "merge"), ", such as (a = "));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

/* Y, between the nests, reads the even elements of X, and Z, which is to run
 * before it, writes others, or the same. */
static void test_between_exactly(void **state) {
  (void)state;
  for (int64_t shift = 0; shift < 2; shift++) {
    scheduled t;
    scheduled_start(&t);
    int64_t n = 8, all = 16;
    ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 1, &all);
    ir_buf w = scheduled_buf(&t, "W", IR_ROLE_OUTPUT, 1, &n);
    ir_buf x = scheduled_buf(&t, "X", IR_ROLE_OUTPUT, 1, &all);
    ir_buf y = scheduled_buf(&t, "Y", IR_ROLE_OUTPUT, 1, &all);
    scheduled_block(&t, "X", "S", &all);
    scheduled_store(&t, x, t.it[0], 0, scheduled_load(&t, a, t.it[0], 0),
                    false);
    scheduled_block(&t, "W", "S", &n);
    scheduled_store(&t, w, t.it[0], 0, scheduled_load(&t, a, t.it[0], 0),
                    false);
    scheduled_block(&t, "Y", "S", &all);
    ir_expr half = ir_binary(&t.p, IR_DIV, t.it[0], ir_index(&t.p, 2));
    ir_expr even = ir_mul(&t.p, half, ir_index(&t.p, 2));
    scheduled_store(&t, y, t.it[0], 0, scheduled_load(&t, x, even, 0), false);
    scheduled_block(&t, "Z", "S", &n);
    ir_expr twice = ir_mul(&t.p, t.it[0], ir_index(&t.p, 2));
    scheduled_store(&t, x, scheduled_plus(&t, twice, shift), 0,
                    scheduled_load(&t, a, t.it[0], 0), false);
    scheduled_finish(&t);
    ir_stmt lw = scheduled_loop(&t, scheduled_get(&t, "W"), 0);
    ir_stmt lz = scheduled_loop(&t, scheduled_get(&t, "Z"), 0);
    if (shift) {
      DO(&t, merge, LIST(loops, lw, lz));
    } else {
      REFUSED(&t, MERGE_BETWEEN, merge, LIST(loops, lw, lz));
      assert_non_null(strstr(scheduled_why(&t, "merge"), ", such as (a = "));
    }
    assert_true(scheduled_same(&t));
    scheduled_end(&t);
  }
}

/* What stands between must not mind the later nest to move before it. */
static void test_between(void **state) {
  (void)state;
  for (int middle = 0; middle < 2; middle++) {
    scheduled t;
    scheduled_start(&t);
    int64_t n = 8;
    ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 1, &n);
    ir_buf x = scheduled_buf(&t, "X", IR_ROLE_OUTPUT, 1, &n);
    ir_buf y = scheduled_buf(&t, "Y", IR_ROLE_OUTPUT, 1, &n);
    ir_buf z = scheduled_buf(&t, "Z", IR_ROLE_OUTPUT, 1, &n);
    ir_expr *it = t.it;
    scheduled_block(&t, "X", "S", &n);
    scheduled_store(&t, x, it[0], 0, scheduled_load(&t, a, it[0], 0), false);
    scheduled_block(&t, "Y", "S", &n);
    scheduled_store(&t, y, it[0], 0, scheduled_load(&t, x, it[0], 0), false);
    scheduled_block(&t, "Z", "S", &n);
    scheduled_store(&t, z, it[0], 0,
                    scheduled_load(&t, middle ? y : x, it[0], 0), false);
    scheduled_finish(&t);
    ir_stmt l[3] = {scheduled_loop(&t, scheduled_get(&t, "X"), 0),
                    scheduled_loop(&t, scheduled_get(&t, "Y"), 0),
                    scheduled_loop(&t, scheduled_get(&t, "Z"), 0)};
    if (middle) {
      REFUSED(&t, MERGE_BETWEEN, merge, LIST(loops, l[0], l[2]));
      DO(&t, merge, LIST(loops, l[2], l[0], l[1]));
    } else {
      DO(&t, merge, LIST(loops, l[0], l[2]));
    }
    assert_true(scheduled_same(&t));
    scheduled_end(&t);
  }
}

static void test_shape_refused(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  ir_stmt ic = scheduled_loop(&t, c, 0), jc = scheduled_loop(&t, c, 1);
  ir_stmt id = scheduled_loop(&t, d, 0), jd = scheduled_loop(&t, d, 1);
  ir_stmt kc = scheduled_loop(&t, c, 2);
  REFUSED(&t, LOOPS_NESTED, merge, LIST(loops, ic, jc));
  REFUSED(&t, MERGE_DEPTH, merge, LIST(loops, jc, id));
  DO(&t, split, AT(loop, kc), INTS(factors, 2, 4));
  DO(&t, decompose_reduction, AT(block, c), AT(loop, scheduled_loop(&t, c, 2)));
  REFUSED(&t, NOT_ONLY_CHILD, merge,
          LIST(loops, scheduled_loop(&t, c, 2), scheduled_loop(&t, d, 1)));
  DO(&t, reorder, LIST(ordered_loops, jd, id));
  REFUSED(&t, MERGE_BOUNDS, merge, LIST(loops, ic, jd));
  scheduled_end(&t);
}

/* Loops of two scopes, and one beside another statement. */
static void test_place_refused(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  ir_stmt ic = scheduled_loop(&t, c, 0), id = scheduled_loop(&t, d, 0);
  ir_stmt outer = ir_block_new(&t.p, ir_name(&t.p, "outer"));
  ir_wrap(&t.p, id, outer);
  ir_block_find_regions(&t.p, &t.scratch, outer);
  REFUSED(&t, SCOPES_DIFFER, merge, LIST(loops, ic, id));
  scheduled_end(&t);

  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ic = scheduled_loop(&t, scheduled_get(&t, "C"), 0);
  id = scheduled_loop(&t, scheduled_get(&t, "D"), 0);
  ir_insert_before(&t.p, id, ir_evaluate_new(&t.p, ir_index(&t.p, 1)));
  REFUSED(&t, OTHER_STATEMENT, merge, LIST(loops, ic, id));
  scheduled_end(&t);
}

/* A statement in the block that calls a function for what it does. */
static void add_note(scheduled *t, ir_stmt block) {
  ir_expr call = ir_call_extern(&t->p, "note", IR_INDEX, 0, NULL);
  ir_append(&t->p, block, ir_evaluate_new(&t->p, call));
}

/* Calls for what they do keep their order. */
static void test_effects(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  ir_stmt ic = scheduled_loop(&t, c, 0), id = scheduled_loop(&t, d, 0);
  add_note(&t, c);
  RUN(&t, merge, LIST(loops, ic, id));
  add_note(&t, d);
  REFUSED(&t, EFFECTS_ORDER, fission, AT(loop, ic));
  scheduled_end(&t);

  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  add_note(&t, c);
  add_note(&t, d);
  REFUSED(&t, EFFECTS_ORDER, merge,
          LIST(loops, scheduled_loop(&t, c, 0), scheduled_loop(&t, d, 0)));
  REFUSED(&t, BLOCK_NOT_COMPLETE, reverse_compute_at, AT(block, d),
          AT(loop, scheduled_loop(&t, c, 0)));
  scheduled_end(&t);
}

/* An own row a parallel iteration: the merged loops below stay its own. */
static void test_parallel(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  DO(&t, compute_at, AT(block, c), AT(loop, scheduled_loop(&t, d, 0)));
  DO(&t, parallel, AT(loop, scheduled_loop(&t, d, 0)));
  DO(&t, merge,
     LIST(loops, scheduled_loop(&t, c, 1), scheduled_loop(&t, d, 1)));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

/* A row that each parallel iteration has for its own is no longer seen to be
 * its own when it is read further back than the same iteration made it. */
static void test_would_race(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  int64_t shape[2] = {4, 8};
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, shape);
  ir_buf b = scheduled_buf(&t, "B", IR_ROLE_LOCAL, 1, shape + 1);
  ir_buf c = scheduled_buf(&t, "C", IR_ROLE_OUTPUT, 2, shape);
  ir_expr *it = t.it;
  scheduled_block(&t, "B", "SS", shape);
  scheduled_store(&t, b, it[1], 0, scheduled_load(&t, a, it[0], it[1]), false);
  ir_stmt block = scheduled_block(&t, "C", "SS", shape);
  ir_expr back = scheduled_plus(&t, it[1], -1);
  scheduled_store(&t, c, it[0], it[1], scheduled_load(&t, b, back, 0), false);
  ir_stmt i = ir_st(&t.p, ir_st(&t.p, block)->parent)->parent;
  ir_stmt j = ir_st(&t.p, block)->parent;
  ir_blk(&t.p, block)->pred = ir_binary(&t.p, IR_LE, ir_index(&t.p, 1),
                                        ir_ref(&t.p, ir_st(&t.p, j)->var));
  scheduled_finish(&t);
  ir_stmt ib = scheduled_loop(&t, scheduled_get(&t, "B"), 0);
  ir_stmt jb = scheduled_loop(&t, scheduled_get(&t, "B"), 1);
  REFUSED(&t, MERGE_DEPENDS, merge, LIST(loops, ib, i));
  ir_expr ref = ir_ref(&t.p, ir_st(&t.p, ib)->var);
  t.s = (sch_state){.p = &t.p, .scratch = &t.scratch};
  sch_replace_vars(&t.s, i, 1, &ir_st(&t.p, i)->var, &ref);
  ir_move_body(&t.p, i, ib);
  ir_detach(&t.p, i);
  ir_kill(&t.p, i);
  DO(&t, parallel, AT(loop, ib));
  REFUSED(&t, WOULD_RACE, merge, LIST(loops, jb, j));
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_depth),
      cmocka_unit_test(test_outer),
      cmocka_unit_test(test_shifts),
      cmocka_unit_test(test_order_refused),
      cmocka_unit_test(test_exactly),
      cmocka_unit_test(test_between_exactly),
      cmocka_unit_test(test_between),
      cmocka_unit_test(test_shape_refused),
      cmocka_unit_test(test_place_refused),
      cmocka_unit_test(test_effects),
      cmocka_unit_test(test_parallel),
      cmocka_unit_test(test_would_race),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
