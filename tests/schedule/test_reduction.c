/* SPDX-License-Identifier: Apache-2.0
 * decompose_reduction. */
#include "ir/edit.h"
#include "support/scheduled.h"

static void test_inner(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C"), k = scheduled_loop(&t, c, 2);
  DO(&t, decompose_reduction, AT(block, c), AT(loop, k));
  assert_int_equal(t.out[0], scheduled_get(&t, "C_init"));
  assert_int_equal(c, scheduled_get(&t, "C_update"));
  scheduled_expect(
      &t, "main(A: float32[4, 8], B: float32[8, 6], D: out float32[4, 6])\n"
          "  alloc C: float32[4, 6]\n"
          "  for a in range(4)\n"
          "    for b in range(6)\n"
          "      block C_init(va_init: 4 = a, vb_init: 6 = b)\n"
          "        C[va_init, vb_init] = 0.0\n"
          "      for c in range(8)\n"
          "        block C_update(va: 4 = a, vb: 6 = b, vc: reduce 8 = c)\n"
          "          C[va, vb] = C[va, vb] + A[va, vc] * B[vc, vb]\n"
          "  for a in range(4)\n"
          "    for b in range(6)\n"
          "      block D(va: 4 = a, vb: 6 = b)\n"
          "        D[va, vb] = max(C[va, vb] + 1.0, 0.0)\n");
  assert_true(
      sch_reads_buf(&t.p, c, t.p.region.v[ir_blk(&t.p, c)->writes.at].buf));
  REFUSED(&t, NO_INIT, decompose_reduction, AT(block, c), AT(loop, k));
  scheduled_end(&t);
}

/* Tiled, with kinds and annotations: the init gets copies of the loops that
 * drive spatial iters. */
static void test_tiled(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 16, 16, 8);
  ir_stmt c = scheduled_get(&t, "C");
  DO(&t, split, AT(loop, scheduled_loop(&t, c, 0)), INTS(factors, 4, 4));
  DO(&t, split, AT(loop, scheduled_loop(&t, c, 2)), INTS(factors, 2, 7 + 1));
  DO(&t, split, AT(loop, scheduled_loop(&t, c, 4)), INTS(factors, 2, 5));
  ir_stmt l[6];
  for (uint32_t i = 0; i < 6; i++) l[i] = scheduled_loop(&t, c, i);
  DO(&t, reorder, LIST(ordered_loops, l[0], l[2], l[4], l[1], l[5], l[3]));
  DO(&t, vectorize, AT(loop, l[3]));
  DO(&t, parallel, AT(loop, l[0]));
  DO(&t, annotate, AT(block_or_loop, l[1]), STR(ann_key, "note"),
     NUM(ann_val, ir_value_int(&t.p, 3)));
  REFUSED(&t, INIT_HEIGHT, decompose_reduction, AT(block, c), AT(loop, l[1]));
  DO(&t, decompose_reduction, AT(block, c), AT(loop, l[4]));
  scheduled_expect(
      &t, "main(A: float32[16, 8], B: float32[8, 16], D: out float32[16, 16])\n"
          "  alloc C: float32[16, 16]\n"
          "  for a_0 in parallel(4)\n"
          "    for b_0 in range(2)\n"
          "      for a_1_init in range(4) {note = 3}\n"
          "        for b_1_init in vectorized(8)\n"
          "          block C_init(\n"
          "              va_init: 16 = a_0 * 4 + a_1_init,\n"
          "              vb_init: 16 = b_0 * 8 + b_1_init)\n"
          "            C[va_init, vb_init] = 0.0\n"
          "      for c_0 in range(2)\n"
          "        for a_1 in range(4) {note = 3}\n"
          "          for c_1 in range(5)\n"
          "            for b_1 in vectorized(8)\n"
          "              block C_update(\n"
          "                  va: 16 = a_0 * 4 + a_1,\n"
          "                  vb: 16 = b_0 * 8 + b_1,\n"
          "                  vc: reduce 8 = c_0 * 5 + c_1)\n"
          "                where c_0 * 5 + c_1 < 8\n"
          "                C[va, vb] = C[va, vb] + A[va, vc] * B[vc, vb]\n"
          "  for a in range(16)\n"
          "    for b in range(16)\n"
          "      block D(va: 16 = a, vb: 16 = b)\n"
          "        D[va, vb] = max(C[va, vb] + 1.0, 0.0)\n");
  scheduled_end(&t);
}

/* Predicates on spatial iters go with the init. */
static void test_guarded(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 10, 6, 8);
  ir_stmt c = scheduled_get(&t, "C");
  DO(&t, split, AT(loop, scheduled_loop(&t, c, 0)), INTS(factors, 3, 4));
  DO(&t, split, AT(loop, scheduled_loop(&t, c, 3)), INTS(factors, 3, 3));
  DO(&t, decompose_reduction, AT(block, c), AT(loop, scheduled_loop(&t, c, 0)));
  scheduled_expect(
      &t, "main(A: float32[10, 8], B: float32[8, 6], D: out float32[10, 6])\n"
          "  alloc C: float32[10, 6]\n"
          "  for a_0_init in range(3)\n"
          "    for a_1_init in range(4)\n"
          "      for b_init in range(6)\n"
          "        block C_init(va_init: 10 = a_0_init * 4 + a_1_init, "
          "vb_init: 6 = "
          "b_init)\n"
          "          where a_0_init * 4 + a_1_init < 10\n"
          "          C[va_init, vb_init] = 0.0\n"
          "  for a_0 in range(3)\n"
          "    for a_1 in range(4)\n"
          "      for b in range(6)\n"
          "        for c_0 in range(3)\n"
          "          for c_1 in range(3)\n"
          "            block C_update(\n"
          "                va: 10 = a_0 * 4 + a_1,\n"
          "                vb: 6 = b,\n"
          "                vc: reduce 8 = c_0 * 3 + c_1)\n"
          "              where a_0 * 4 + a_1 < 10 && c_0 * 3 + c_1 < 8\n"
          "              C[va, vb] = C[va, vb] + A[va, vc] * B[vc, vb]\n"
          "  for a in range(10)\n"
          "    for b in range(6)\n"
          "      block D(va: 10 = a, vb: 6 = b)\n"
          "        D[va, vb] = max(C[va, vb] + 1.0, 0.0)\n");
  scheduled_end(&t);
}

/* Another block under the loop: it may use what this iteration made, and
 * nothing that a later one will make. */
static bool with_user(int64_t d, bool before) {
  scheduled t;
  scheduled_start(&t);
  int64_t n = 6, k = 4;
  ir_program *p = &t.p;
  ir_buf x = scheduled_buf(&t, "X", IR_ROLE_INPUT, 2, (int64_t[]){n, k});
  ir_buf c = scheduled_buf(&t, "C", IR_ROLE_OUTPUT, 1, (int64_t[]){n + 2});
  ir_buf e = scheduled_buf(&t, "E", IR_ROLE_OUTPUT, 1, &n);
  ir_stmt bc = scheduled_block(&t, "C", "SR", (int64_t[]){n, k});
  scheduled_store(&t, c, scheduled_plus(&t, t.it[0], 1), 0,
                  scheduled_load(&t, x, t.it[0], t.it[1]), true);
  ir_stmt be = scheduled_block(&t, "E", "S", &n);
  scheduled_store(&t, e, t.it[0], 0,
                  scheduled_load(&t, c, scheduled_plus(&t, t.it[0], 1 + d), 0),
                  false);
  ir_stmt i = scheduled_loop(&t, bc, 0), old = scheduled_loop(&t, be, 0);
  p->iter.v[ir_blk(p, be)->iters.at].bind = ir_ref(p, ir_st(p, i)->var);
  ir_detach(p, be);
  if (before)
    ir_prepend(p, i, be);
  else
    ir_append(p, i, be);
  ir_kill(p, old);
  scheduled_finish(&t);
  DO(&t, get_block, STR(name, "C"));
  bool ok = RUN(&t, decompose_reduction, AT(block, bc), AT(loop, i));
  if (!ok)
    assert_string_equal(sch_reason_name((sch_reason)t.s.refusal.reason),
                        "INIT_USED");
  scheduled_end(&t);
  return ok;
}

static void test_users(void **state) {
  (void)state;
  assert_true(with_user(0, false));
  assert_true(with_user(-1, false));
  assert_false(with_user(1, false));
  assert_false(with_user(0, true));
  assert_true(with_user(-1, true));
}

static void test_reduction_refusals(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  ir_stmt i = scheduled_loop(&t, c, 0), k = scheduled_loop(&t, c, 2);
  ir_program *p = &t.p;
  REFUSED(&t, NO_INIT, decompose_reduction, AT(block, d),
          AT(loop, scheduled_loop(&t, d, 0)));
  REFUSED(&t, LOOP_NOT_AROUND, decompose_reduction, AT(block, c),
          AT(loop, scheduled_loop(&t, d, 0)));
  assert_string_equal(scheduled_why(&t, "decompose_reduction"),
                      "decompose_reduction: loop a is not a loop around block "
                      "\"C\"");
  ir_expr extent = ir_st(p, k)->extent;
  ir_st(p, k)->extent = ir_ref(p, ir_st(p, i)->var);
  REFUSED(&t, LOOP_MAY_BE_EMPTY, decompose_reduction, AT(block, c),
          AT(loop, k));
  ir_st(p, k)->extent = scheduled_plus(&t, ir_ref(p, ir_st(p, i)->var), 1);
  DO(&t, reorder, LIST(ordered_loops, i, k, scheduled_loop(&t, c, 1)));
  ir_st(p, k)->extent = extent;
  ir_stmt j = scheduled_loop(&t, c, 2);
  extent = ir_st(p, j)->extent;
  ir_st(p, j)->extent = scheduled_plus(&t, ir_ref(p, ir_st(p, k)->var), 1);
  REFUSED(&t, DEPENDENT_LOOP, decompose_reduction, AT(block, c), AT(loop, i));
  ir_st(p, j)->extent = extent;
  ir_blk(p, c)->pred =
      ir_binary(p, IR_LT, ir_index(p, 0), ir_ref(p, ir_st(p, k)->var));
  REFUSED(&t, INIT_START, decompose_reduction, AT(block, c), AT(loop, i));
  ir_blk(p, c)->pred = 0;
  ir_iter *it = &p->iter.v[ir_blk(p, c)->iters.at];
  it->kind = IR_OPAQUE;
  REFUSED(&t, NO_INIT, decompose_reduction, AT(block, c), AT(loop, i));
  it->kind = IR_SPATIAL;
  ir_block_add_alloc(p, c, 1);
  REFUSED(&t, INIT_LOCAL, decompose_reduction, AT(block, c), AT(loop, i));
  ir_block_remove_alloc(p, c, 1);
  ir_append(p, j, ir_evaluate_new(p, ir_index(p, 7)));
  REFUSED(&t, OTHER_STATEMENT, decompose_reduction, AT(block, c), AT(loop, k));
  scheduled_end(&t);
}

/* The init starts from another buffer, which must not be made below. */
static void test_init_reads(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  int64_t n = 6, k = 4;
  ir_program *p = &t.p;
  ir_buf x = scheduled_buf(&t, "X", IR_ROLE_INPUT, 2, (int64_t[]){n, k});
  ir_buf y = scheduled_buf(&t, "Y", IR_ROLE_LOCAL, 1, &n);
  ir_buf c = scheduled_buf(&t, "C", IR_ROLE_OUTPUT, 1, &n);
  ir_stmt by = scheduled_block(&t, "Y", "S", &n);
  scheduled_store(&t, y, t.it[0], 0,
                  ir_real(p, (tess_dtype){TESS_DTYPE_FLOAT, 32, 1}, 3), false);
  ir_stmt bc = scheduled_block(&t, "C", "SR", (int64_t[]){n, k});
  scheduled_store(&t, c, t.it[0], 0, scheduled_load(&t, x, t.it[0], t.it[1]),
                  true);
  ir_stmt init = ir_st(p, bc)->alt;
  ir_st(p, init)->value = scheduled_load(&t, y, t.it[0], 0);
  ir_region one = ir_region_new(p, y, (ir_expr[]){t.it[0], ir_index(p, 1)});
  ir_region reads[2] = {one, p->region.v[ir_blk(p, bc)->reads.at]};
  ir_block_set_reads(p, bc, 2, reads);
  ir_stmt i = scheduled_loop(&t, by, 0), old = scheduled_loop(&t, bc, 0);
  scheduled_finish(&t);
  DO(&t, get_loops, AT(block, bc));
  ir_stmt kloop = t.out[1];
  p->iter.v[ir_blk(p, bc)->iters.at].bind = ir_ref(p, ir_st(p, i)->var);
  ir_detach(p, kloop);
  ir_append(p, i, kloop);
  ir_kill(p, old);
  REFUSED(&t, INIT_READS, decompose_reduction, AT(block, bc), AT(loop, i));
  DO(&t, decompose_reduction, AT(block, bc), AT(loop, kloop));
  scheduled_expect(&t, "main(X: float32[6, 4], C: out float32[6])\n"
                       "  alloc Y: float32[6]\n"
                       "  for a in range(6)\n"
                       "    block Y(va: 6 = a)\n"
                       "      Y[va] = 3.0\n"
                       "    block C_init(va_init: 6 = a)\n"
                       "      C[va_init] = Y[va_init]\n"
                       "    for b in range(4)\n"
                       "      block C_update(va: 6 = a, vb: reduce 4 = b)\n"
                       "        reads(C[va], Y[va], X[va, vb])\n"
                       "        writes(C[va])\n"
                       "        C[va] = C[va] + X[va, vb]\n");
  assert_true(sch_reads_buf(p, t.out[0], y));
  scheduled_end(&t);
}

/* C[i] = 1, then C[i] = sum over k of X[i, k], with the reduce iter bound to
 * `slope` * k + `from`. */
static ir_stmt counted(scheduled *t, int64_t slope, int64_t from) {
  int64_t n = 3, k = 8;
  ir_program *p = &t->p;
  scheduled_start(t);
  p = &t->p;
  ir_buf x = scheduled_buf(t, "X", IR_ROLE_INPUT, 2, (int64_t[]){n, k});
  ir_buf c = scheduled_buf(t, "C", IR_ROLE_OUTPUT, 1, &n);
  scheduled_block(t, "one", "S", &n);
  scheduled_store(t, c, t->it[0], 0,
                  ir_real(p, (tess_dtype){TESS_DTYPE_FLOAT, 32, 1}, 1), false);
  ir_stmt b = scheduled_block(t, "C", "SR", (int64_t[]){n, k});
  scheduled_store(t, c, t->it[0], 0, scheduled_load(t, x, t->it[0], t->it[1]),
                  true);
  ir_stmt loop = ir_st(p, b)->parent;
  ir_expr bind =
      ir_binary(p, IR_MUL, ir_ref(p, ir_st(p, loop)->var), ir_index(p, slope));
  bind = ir_add(p, bind, ir_index(p, from));
  p->iter.v[ir_blk(p, b)->iters.at + 1].bind = bind;
  scheduled_finish(t);
  return scheduled_get(t, "C");
}

/* Where the reduction is initialised in its last iteration, all that it made
 * before is lost; nobody may take the init for the beginning. */
static void test_begin(void **state) {
  (void)state;
  scheduled t;
  ir_stmt b = counted(&t, -1, 7);
  ir_stmt i = scheduled_loop(&t, b, 0), k = scheduled_loop(&t, b, 1);
  REFUSED(&t, INIT_LATE, decompose_reduction, AT(block, b), AT(loop, k));
  assert_string_equal(scheduled_why(&t, "decompose_reduction"),
                      "decompose_reduction: the first update of each result "
                      "by block \"C\" must run where its init does, which is "
                      "not proven, such as (b = 0) and (b = 7)");
  REFUSED(&t, INIT_LATE, decompose_reduction, AT(block, b), AT(loop, i));
  REFUSED(&t, INIT_LATE, rfactor, AT(loop, k), NUM(factor_axis, 0));
  DO(&t, fuse, LIST(loops, i, k));
  REFUSED(&t, INIT_LATE, decompose_reduction, AT(block, b), AT(loop, t.out[0]));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);

  b = counted(&t, -1, 7);
  DO(&t, split, AT(loop, scheduled_loop(&t, b, 1)), INTS(factors, 2, 4));
  REFUSED(&t, INIT_LATE, blockize, LIST(target, scheduled_loop(&t, b, 2)));
  scheduled_end(&t);

  /* One part counts down, the other up: their order matters. */
  b = counted(&t, 1, 0);
  DO(&t, split, AT(loop, scheduled_loop(&t, b, 1)), INTS(factors, 2, 4));
  ir_stmt k0 = scheduled_loop(&t, b, 1), k1 = scheduled_loop(&t, b, 2);
  ir_program *p = &t.p;
  ir_expr from = ir_sub(
      p, ir_index(p, 4),
      ir_binary(p, IR_MUL, ir_ref(p, ir_st(p, k0)->var), ir_index(p, 4)));
  from = ir_add(p, from, ir_ref(p, ir_st(p, k1)->var));
  p->iter.v[ir_blk(p, b)->iters.at + 1].bind = from;
  ir_program_copy(&t.first, p);
  REFUSED(&t, INIT_LATE, reorder, LIST(ordered_loops, k1, k0));
  assert_non_null(strstr(scheduled_why(&t, "reorder"), ", such as (a = "));
  DO(&t, reorder, LIST(ordered_loops, k0, scheduled_loop(&t, b, 0)));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);

  /* Both count down: the last iteration stays the last. */
  b = counted(&t, -1, 7);
  DO(&t, split, AT(loop, scheduled_loop(&t, b, 1)), INTS(factors, 2, 4));
  DO(&t, reorder,
     LIST(ordered_loops, scheduled_loop(&t, b, 2), scheduled_loop(&t, b, 1)));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

/* It begins there, which only an exact look shows: by a remainder, and after
 * iterations that do nothing. */
static void test_begin_exactly(void **state) {
  (void)state;
  scheduled t;
  ir_stmt b = counted(&t, 1, 0);
  ir_program *p = &t.p;
  ir_stmt k = scheduled_loop(&t, b, 1);
  ir_expr v = ir_ref(p, ir_st(p, k)->var);
  ir_expr turn =
      ir_binary(p, IR_MOD, ir_sub(p, ir_index(p, 8), v), ir_index(p, 8));
  p->iter.v[ir_blk(p, b)->iters.at + 1].bind = turn;
  ir_program_copy(&t.first, p);
  assert_true(sch_begins_at_init(&t.s, b, 0));
  scheduled_end(&t);

  b = counted(&t, 1, 0);
  p = &t.p;
  k = scheduled_loop(&t, b, 1);
  v = ir_ref(p, ir_st(p, k)->var);
  p->iter.v[ir_blk(p, b)->iters.at + 1].bind = ir_sub(p, v, ir_index(p, 3));
  ir_blk(p, b)->pred = ir_binary(p, IR_LE, ir_index(p, 3), v);
  ir_program_copy(&t.first, p);
  assert_true(sch_begins_at_init(&t.s, b, 0));
  p->iter.v[ir_blk(p, b)->iters.at + 1].bind = ir_sub(p, v, ir_index(p, 2));
  assert_false(sch_begins_at_init(&t.s, b, 0));
  scheduled_end(&t);
}

/* Loops a and b of 4 reach a + b and a - b + 3, each pair once, or a + b and
 * 2 * a + 2 * b, which other loops reach, too. */
static ir_stmt turned(scheduled *t, bool once) {
  const int64_t n[3] = {7, once ? 7 : 13, 5}, wide[2] = {n[0], n[1]};
  scheduled_start(t);
  ir_program *p = &t->p;
  ir_buf x = scheduled_buf(t, "X", IR_ROLE_INPUT, 2, (int64_t[]){7, 5});
  ir_buf c = scheduled_buf(t, "C", IR_ROLE_OUTPUT, 2, wide);
  ir_stmt b = scheduled_block(t, "C", "SSR", n);
  scheduled_store(t, c, t->it[0], t->it[1],
                  scheduled_load(t, x, t->it[0], t->it[2]), true);
  ir_stmt l1 = ir_st(p, ir_st(p, b)->parent)->parent, l0 = ir_st(p, l1)->parent;
  ir_expr four = ir_index(p, 4);
  ir_st(p, l0)->extent = four;
  ir_st(p, l1)->extent = four;
  p->var.v[ir_st(p, l0)->var].hi = p->var.v[ir_st(p, l1)->var].hi = 3;
  ir_expr i = ir_ref(p, ir_st(p, l0)->var), j = ir_ref(p, ir_st(p, l1)->var);
  ir_expr sum = ir_add(p, i, j);
  ir_expr other = once ? ir_add(p, ir_sub(p, i, j), ir_index(p, 3))
                       : ir_mul(p, sum, ir_index(p, 2));
  ir_span it = ir_blk(p, b)->iters;
  p->iter.v[it.at].bind = sum;
  p->iter.v[it.at + 1].bind = other;
  scheduled_finish(t);
  return scheduled_get(t, "C");
}

static void test_once(void **state) {
  (void)state;
  scheduled t;
  ir_stmt b = turned(&t, true);
  DO(&t, decompose_reduction, AT(block, b), AT(loop, scheduled_loop(&t, b, 0)));
  scheduled_end(&t);

  b = turned(&t, true);
  DO(&t, rfactor, AT(loop, scheduled_loop(&t, b, 2)), NUM(factor_axis, 0));
  scheduled_end(&t);

  b = turned(&t, false);
  ir_stmt i = scheduled_loop(&t, b, 0), k = scheduled_loop(&t, b, 2);
  REFUSED(&t, NOT_INJECTIVE, decompose_reduction, AT(block, b), AT(loop, i));
  assert_non_null(strstr(scheduled_why(&t, "decompose_reduction"),
                         "more than once, such as (a = "));
  REFUSED(&t, NOT_INJECTIVE, rfactor, AT(loop, k), NUM(factor_axis, 0));
  REFUSED(&t, NOT_INJECTIVE, reorder, LIST(ordered_loops, k, i));
  scheduled_end(&t);
}

/* C[i // rows] = sum over k of X[i, k], of what was 1. */
static ir_stmt together(scheduled *t, int64_t rows) {
  int64_t n = 4, k = 6;
  scheduled_start(t);
  ir_buf x = scheduled_buf(t, "X", IR_ROLE_INPUT, 2, (int64_t[]){n, k});
  ir_buf c = scheduled_buf(t, "C", IR_ROLE_OUTPUT, 1, &n);
  scheduled_block(t, "one", "S", &n);
  scheduled_store(t, c, t->it[0], 0,
                  ir_real(&t->p, (tess_dtype){TESS_DTYPE_FLOAT, 32, 1}, 1),
                  false);
  scheduled_block(t, "C", "SR", (int64_t[]){n, k});
  ir_expr to = ir_binary(&t->p, IR_DIV, t->it[0], ir_index(&t->p, rows));
  scheduled_store(t, c, to, 0, scheduled_load(t, x, t->it[0], t->it[1]), true);
  scheduled_finish(t);
  return scheduled_get(t, "C");
}

/* Each of several rows starts the result again. */
static void test_shared(void **state) {
  (void)state;
  scheduled t;
  ir_stmt b = together(&t, 2);
  ir_stmt i = scheduled_loop(&t, b, 0), k = scheduled_loop(&t, b, 1);
  REFUSED(&t, RESULT_SHARED, decompose_reduction, AT(block, b), AT(loop, i));
  assert_non_null(strstr(scheduled_why(&t, "decompose_reduction"),
                         "may initialize one element of buffer \"C\", which "
                         "would discard updates, such as (a = "));
  REFUSED(&t, RESULT_SHARED, rfactor, AT(loop, k), NUM(factor_axis, 0));
  DO(&t, decompose_reduction, AT(block, b), AT(loop, k));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);

  b = together(&t, 1);
  DO(&t, decompose_reduction, AT(block, b), AT(loop, scheduled_loop(&t, b, 0)));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_inner),
      cmocka_unit_test(test_tiled),
      cmocka_unit_test(test_guarded),
      cmocka_unit_test(test_users),
      cmocka_unit_test(test_reduction_refusals),
      cmocka_unit_test(test_init_reads),
      cmocka_unit_test(test_begin),
      cmocka_unit_test(test_begin_exactly),
      cmocka_unit_test(test_once),
      cmocka_unit_test(test_shared),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
