/* SPDX-License-Identifier: Apache-2.0
 * reverse_compute_at: what it makes and what it refuses. */
#include "ir/edit.h"
#include "support/moved.h"

/* The tiled product of MetaSchedule's second sketch. */
static void tile(scheduled *t, ir_stmt c) {
  DO(t, split, AT(loop, scheduled_loop(t, c, 0)), INTS(factors, 2, 2, 4));
  DO(t, split, AT(loop, scheduled_loop(t, c, 3)), INTS(factors, 2, 1, 8));
  DO(t, split, AT(loop, scheduled_loop(t, c, 6)), INTS(factors, 4, 2));
  ir_stmt l[8];
  for (uint32_t i = 0; i < 8; i++) l[i] = scheduled_loop(t, c, i);
  DO(t, reorder,
     LIST(ordered_loops, l[0], l[3], l[1], l[4], l[6], l[2], l[7], l[5]));
}

static void test_tiled(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 16, 16, 8);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  tile(&t, c);
  REFUSED(&t, PRODUCER_UNFINISHED, reverse_compute_at, AT(block, d),
          AT(loop, scheduled_loop(&t, c, 5)));
  assert_string_equal(
      scheduled_why(&t, "reverse_compute_at"),
      "reverse_compute_at: block \"C\" has not completed its reduction into "
      "buffer \"C\" at loop a_2");
  DO(&t, reverse_compute_at, AT(block, d), AT(loop, scheduled_loop(&t, c, 3)));
  scheduled_expect(
      &t, "main(A: float32[16, 8], B: float32[8, 16], D: out float32[16, 16])\n"
          "  alloc C: float32[16, 16]\n"
          "  for a_0 in range(2)\n"
          "    for b_0 in range(2)\n"
          "      for a_1 in range(2)\n"
          "        for b_1 in range(1)\n"
          "          for c_0 in range(4)\n"
          "            for a_2 in range(4)\n"
          "              for c_1 in range(2)\n"
          "                for b_2 in range(8)\n"
          "                  block C(\n"
          "                      va: 16 = a_0 * 8 + a_1 * 4 + a_2,\n"
          "                      vb: 16 = b_0 * 8 + b_2,\n"
          "                      vc: reduce 8 = c_0 * 2 + c_1)\n"
          "                    init\n"
          "                      C[va, vb] = 0.0\n"
          "                    C[va, vb] = C[va, vb] + A[va, vc] * B[vc, vb]\n"
          "          for ax0 in range(4)\n"
          "            for ax1 in range(8)\n"
          "              block D(va: 16 = a_0 * 8 + a_1 * 4 + ax0, "
          "vb: 16 = b_0 * 8 + ax1)\n"
          "                D[va, vb] = max(C[va, vb] + 1.0, 0.0)\n");
  moved_equal(&t);
  DO(&t, parallel, AT(loop, scheduled_loop(&t, c, 0)));
  DO(&t, parallel, AT(loop, scheduled_loop(&t, c, 1)));
  moved_equal(&t);
  scheduled_end(&t);
}

/* Tiles that do not divide: the consumer gets the guard. */
static void test_guarded(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 10, 6, 4);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  DO(&t, split, AT(loop, scheduled_loop(&t, c, 0)), INTS(factors, 3, 4));
  DO(&t, reverse_compute_at, AT(block, d), AT(loop, scheduled_loop(&t, c, 0)),
     NUM(index, -2));
  scheduled_expect(
      &t,
      "main(A: float32[10, 4], B: float32[4, 6], D: out float32[10, 6])\n"
      "  alloc C: float32[10, 6]\n"
      "  for a_0 in range(3)\n"
      "    for a_1 in range(4)\n"
      "      for b in range(6)\n"
      "        for c in range(4)\n"
      "          block C(va: 10 = a_0 * 4 + a_1, vb: 6 = b, vc: reduce 4 = c)\n"
      "            where a_0 * 4 + a_1 < 10\n"
      "            init\n"
      "              C[va, vb] = 0.0\n"
      "            C[va, vb] = C[va, vb] + A[va, vc] * B[vc, vb]\n"
      "    for ax0 in range(4)\n"
      "      for ax1 in range(6)\n"
      "        block D(va: 10 = a_0 * 4 + ax0, vb: 6 = ax1)\n"
      "          where a_0 * 4 + ax0 < 10\n"
      "          D[va, vb] = max(C[va, vb] + 1.0, 0.0)\n");
  moved_equal(&t);
  scheduled_end(&t);
}

typedef struct two {
  ir_buf a, b, c;
  ir_stmt B, C;
} two;

/* B = A over n; C[i] = B[i + shift] over m. */
static void start_two(scheduled *t, two *x, int64_t n, int64_t m,
                      int64_t shift) {
  scheduled_start(t);
  x->a = moved_buf(t, "A", IR_ROLE_INPUT, n);
  x->b = moved_buf(t, "B", IR_ROLE_LOCAL, n);
  x->c = moved_buf(t, "C", IR_ROLE_OUTPUT, m);
  x->B = moved_block(t, "B", n, x->b, 0, x->a, 0, 0);
  x->C = moved_block(t, "C", m, x->c, 0, x->b, shift, 0);
}

/* What is read lies elsewhere in the buffer. */
static void test_shifted(void **state) {
  (void)state;
  scheduled t;
  two x;
  start_two(&t, &x, 12, 9, 2);
  scheduled_finish(&t);
  DO(&t, split, AT(loop, scheduled_loop(&t, x.B, 0)), INTS(factors, 4, 3));
  DO(&t, reverse_compute_at, AT(block, x.C),
     AT(loop, scheduled_loop(&t, x.B, 0)));
  scheduled_expect(&t,
                   "main(A: float32[12], C: out float32[9])\n"
                   "  alloc B: float32[12]\n"
                   "  for a_0 in range(4)\n"
                   "    for a_1 in range(3)\n"
                   "      block B(va: 12 = a_0 * 3 + a_1)\n"
                   "        B[va] = A[va]\n"
                   "    for ax0 in range(3)\n"
                   "      block C(va: 9 = a_0 * 3 + ax0 - 2)\n"
                   "        where 2 <= a_0 * 3 + ax0 && a_0 * 3 + ax0 < 11\n"
                   "        C[va] = B[va + 2]\n");
  moved_equal(&t);
  scheduled_end(&t);
}

/* Every other element, and one that is read by two. */
static void test_strides(void **state) {
  (void)state;
  for (int half = 0; half < 2; half++) {
    scheduled t;
    scheduled_start(&t);
    int64_t n = half ? 8 : 16, m = half ? 16 : 8;
    ir_program *p = &t.p;
    ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, n);
    ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, n);
    ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, m);
    ir_stmt bb = moved_block(&t, "B", n, b, 0, a, 0, 0);
    ir_stmt bc = scheduled_block(&t, "C", "S", &m);
    ir_expr i = half ? ir_binary(p, IR_DIV, t.it[0], ir_index(p, 2))
                     : ir_mul(p, t.it[0], ir_index(p, 2));
    scheduled_store(&t, c, t.it[0], 0, scheduled_load(&t, b, i, 0), false);
    scheduled_finish(&t);
    DO(&t, split, AT(loop, scheduled_loop(&t, bb, 0)), INTS(factors, 4, n / 4));
    ir_stmt l = scheduled_loop(&t, bb, 0);
    DO(&t, reverse_compute_at, AT(block, bc), AT(loop, l));
    assert_true(ir_is_const(&t.p, ir_st(p, scheduled_loop(&t, bc, 1))->extent,
                            half ? 4 : 2));
    moved_equal(&t);
    DO(&t, parallel, AT(loop, l));
    moved_equal(&t);
    scheduled_end(&t);
  }
}

/* A reduction over what is made goes on from tile to tile, in order. */
static void test_reverse_compute_at_reduction(void **state) {
  (void)state;
  for (int turned = 0; turned < 2; turned++) {
    scheduled t;
    scheduled_start(&t);
    int64_t n[2] = {4, 6};
    ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, n);
    ir_buf b = scheduled_buf(&t, "B", IR_ROLE_LOCAL, 2, n);
    ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 4);
    ir_stmt bb = scheduled_block(&t, "B", "SS", n);
    scheduled_store(&t, b, t.it[0], t.it[1],
                    scheduled_load(&t, a, t.it[0], t.it[1]), false);
    ir_stmt bc = scheduled_block(&t, "C", "SR", n);
    ir_expr k = turned ? ir_sub(&t.p, ir_index(&t.p, 5), t.it[1]) : t.it[1];
    scheduled_store(&t, c, t.it[0], 0, scheduled_load(&t, b, t.it[0], k), true);
    scheduled_finish(&t);
    DO(&t, split, AT(loop, scheduled_loop(&t, bb, 1)), INTS(factors, 3, 2));
    ir_stmt l = scheduled_loop(&t, bb, 1);
    if (turned) {
      /* It would end where it is initialised. */
      REFUSED(&t, NOT_PARTITION, reverse_compute_at, AT(block, bc),
              AT(loop, l));
    } else {
      DO(&t, reverse_compute_at, AT(block, bc), AT(loop, l));
      scheduled_expect(
          &t, "main(A: float32[4, 6], C: out float32[4])\n"
              "  alloc B: float32[4, 6]\n"
              "  for a in range(4)\n"
              "    for b_0 in range(3)\n"
              "      for b_1 in range(2)\n"
              "        block B(va: 4 = a, vb: 6 = b_0 * 2 + b_1)\n"
              "          B[va, vb] = A[va, vb]\n"
              "      for ax0 in range(2)\n"
              "        block C(va: 4 = a, vb: reduce 6 = b_0 * 2 + ax0)\n"
              "          init\n"
              "            C[va] = 0.0\n"
              "          C[va] = C[va] + B[va, vb]\n");
    }
    moved_equal(&t);
    scheduled_end(&t);
  }
}

/* A second input that was made before all is no hindrance; one made after is,
 * and so is one of another loop. */
static void test_other_inputs(void **state) {
  (void)state;
  for (int k = 0; k < 3; k++) {
    scheduled t;
    scheduled_start(&t);
    ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 8);
    ir_buf e = moved_buf(&t, "E", IR_ROLE_LOCAL, 8);
    ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 8);
    ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 8);
    ir_stmt be = 0;
    if (k == 0) be = moved_block(&t, "E", 8, e, 0, a, 0, 0);
    ir_stmt bb = moved_block(&t, "B", 8, b, 0, a, 0, 0);
    if (k > 0) be = moved_block(&t, "E", 8, e, 0, a, 0, 0);
    if (k == 2) moved_join(&t, bb, be);
    ir_stmt bc = moved_block(&t, "C", 8, c, 0, b, 0, e);
    scheduled_finish(&t);
    ir_stmt l = scheduled_loop(&t, bb, 0);
    if (k == 1) {
      REFUSED(&t, PRODUCER_BETWEEN, reverse_compute_at, AT(block, bc),
              AT(loop, l));
      assert_string_equal(
          scheduled_why(&t, "reverse_compute_at"),
          "reverse_compute_at: block \"E\" writes buffer \"E\", which is "
          "read, and does not run before loop a, such as (a = 0) and (a = 0)");
      REFUSED(&t, PRODUCER_BETWEEN, reverse_compute_at, AT(block, bc),
              AT(loop, l), NUM(index, 0));
      DO(&t, reverse_compute_at, AT(block, bc),
         AT(loop, scheduled_loop(&t, be, 0)));
    } else {
      REFUSED(&t, INDEX_INVALID, reverse_compute_at, AT(block, bc), AT(loop, l),
              NUM(index, 0));
      DO(&t, reverse_compute_at, AT(block, bc), AT(loop, l));
    }
    moved_equal(&t);
    scheduled_end(&t);
  }
}

static void test_reverse_compute_at_refusals(void **state) {
  (void)state;
  scheduled t;
  two x;
  start_two(&t, &x, 8, 8, 0);
  ir_buf d = moved_buf(&t, "D", IR_ROLE_OUTPUT, 8);
  ir_stmt bd = moved_block(&t, "D", 8, d, 0, x.a, 0, 0);
  scheduled_finish(&t);
  ir_stmt lb = scheduled_loop(&t, x.B, 0), lc = scheduled_loop(&t, x.C, 0);
  REFUSED(&t, BLOCK_IS_ROOT, reverse_compute_at, AT(block, t.root),
          AT(loop, lb));
  REFUSED(&t, LOOP_AROUND_BLOCK, reverse_compute_at, AT(block, x.C),
          AT(loop, lc));
  REFUSED(&t, LOOP_NOT_BEFORE, reverse_compute_at, AT(block, x.B),
          AT(loop, lc));
  REFUSED(&t, NO_PRODUCER, reverse_compute_at, AT(block, bd), AT(loop, lb));
  DO(&t, reverse_compute_at, AT(block, x.C), AT(loop, SCH_ROOT_MARK));
  assert_int_equal(lc, scheduled_loop(&t, x.C, 0));
  DO(&t, reverse_compute_at, AT(block, x.C), AT(loop, SCH_INLINE_MARK));
  assert_true(ir_is_dead(&t.p, x.C));
  moved_equal(&t);
  scheduled_end(&t);
}

/* Overlapping tiles, or the same end for all: each instance runs where the
 * last of what it reads is made.  Not where neither end is the last one. */
static void test_stencil(void **state) {
  (void)state;
  for (int k = 0; k < 3; k++) {
    scheduled t;
    scheduled_start(&t);
    ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 18);
    ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 18);
    ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 16);
    ir_stmt bb = moved_block(&t, "B", 18, b, 0, a, 0, 0);
    int64_t n = 16;
    ir_stmt bc = scheduled_block(&t, "C", "S", &n);
    ir_expr i = t.it[0], last = ir_index(&t.p, 17);
    ir_expr next = k == 2 ? ir_sub(&t.p, last, i) : scheduled_plus(&t, i, 2);
    scheduled_store(&t, c, i, 0,
                    ir_binary(&t.p, IR_ADD,
                              scheduled_load(&t, b, k == 1 ? last : i, 0),
                              scheduled_load(&t, b, next, 0)),
                    false);
    scheduled_finish(&t);
    DO(&t, split, AT(loop, scheduled_loop(&t, bb, 0)), INTS(factors, 3, 6));
    ir_stmt tile = scheduled_loop(&t, bb, 0);
    if (k < 2) {
      DO(&t, reverse_compute_at, AT(block, bc), AT(loop, tile));
      moved_equal(&t);
    } else {
      REFUSED(&t, NOT_COVERED, reverse_compute_at, AT(block, bc),
              AT(loop, tile));
      assert_non_null(
          strstr(scheduled_why(&t, "reverse_compute_at"),
                 "reverse_compute_at: block \"C\" would read elements of "
                 "buffer \"B\" that block \"B\" is not proven to have "
                 "written by then, such as (a_0 = "));
    }
    scheduled_end(&t);
  }
}

/* What is written is read before, in the place of an older value. */
/* The init has made all that is read, and the update goes on. */
static void test_decomposed(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  int64_t n[2] = {4, 6};
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, n);
  ir_buf s = moved_buf(&t, "S", IR_ROLE_LOCAL, 4);
  ir_buf d = moved_buf(&t, "D", IR_ROLE_OUTPUT, 3);
  ir_stmt sum = scheduled_block(&t, "S", "SR", n);
  scheduled_store(&t, s, t.it[0], 0, scheduled_load(&t, a, t.it[0], t.it[1]),
                  true);
  ir_stmt use = scheduled_block(&t, "D", "S", (int64_t[]){3});
  ir_expr next = scheduled_plus(&t, t.it[0], 1);
  scheduled_store(&t, d, t.it[0], 0,
                  ir_binary(&t.p, IR_ADD, scheduled_load(&t, s, t.it[0], 0),
                            scheduled_load(&t, s, next, 0)),
                  false);
  scheduled_finish(&t);
  ir_stmt row = scheduled_loop(&t, sum, 0);
  DO(&t, add_unit_loop, AT(block_or_loop, row));
  DO(&t, decompose_reduction, AT(block, sum), AT(loop, row));
  DO(&t, reverse_compute_at, AT(block, use), AT(loop, row));
  moved_equal(&t);
  scheduled_end(&t);
}

static void test_read_before(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 8);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 8);
  ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 8);
  ir_buf d = moved_buf(&t, "D", IR_ROLE_OUTPUT, 8);
  ir_stmt bb = moved_block(&t, "B", 8, b, 0, a, 0, 0);
  moved_block(&t, "D", 8, d, 0, c, 0, 0);
  ir_stmt bc = moved_block(&t, "C", 8, c, 0, b, 0, 0);
  scheduled_finish(&t);
  REFUSED(&t, READ_BEFORE, reverse_compute_at, AT(block, bc),
          AT(loop, scheduled_loop(&t, bb, 0)));
  REFUSED(&t, READ_BEFORE, reverse_compute_inline, AT(block, bc));
  scheduled_end(&t);
}

/* A reduction whose tiles would be summed up by iterations at once. */
static void test_reverse_compute_at_race(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  int64_t n[2] = {4, 6};
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, n);
  ir_buf b = scheduled_buf(&t, "B", IR_ROLE_LOCAL, 2, n);
  ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 4);
  ir_stmt bb = scheduled_block(&t, "B", "SS", n);
  scheduled_store(&t, b, t.it[0], t.it[1],
                  scheduled_load(&t, a, t.it[0], t.it[1]), false);
  ir_stmt bc = scheduled_block(&t, "C", "SR", n);
  scheduled_store(&t, c, t.it[0], 0, scheduled_load(&t, b, t.it[0], t.it[1]),
                  true);
  scheduled_finish(&t);
  ir_stmt j = scheduled_loop(&t, bb, 1);
  DO(&t, parallel, AT(loop, j));
  REFUSED(&t, WOULD_RACE, reverse_compute_at, AT(block, bc), AT(loop, j));
  DO(&t, reverse_compute_at, AT(block, bc),
     AT(loop, scheduled_loop(&t, bb, 0)));
  moved_equal(&t);
  scheduled_end(&t);
}

/* What stands in a block without iters speaks of those of the block around;
 * the copy is made once all of it is there. */
static void test_outer_iters(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  int64_t n[3] = {4, 1, 9}, shape[2] = {4, 9};
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, shape);
  ir_buf c = scheduled_buf(&t, "C", IR_ROLE_OUTPUT, 2, shape);
  ir_stmt block = scheduled_block(&t, "C", "SSS", n);
  scheduled_store(&t, c, t.it[0], t.it[2],
                  scheduled_load(&t, a, t.it[0], t.it[2]), false);
  scheduled_finish(&t);
  ir_stmt unit = scheduled_loop(&t, block, 1);
  ir_stmt inner = scheduled_loop(&t, block, 2);
  DO(&t, blockize, LIST(target, unit));
  ir_stmt around = t.out[0];
  DO(&t, blockize, LIST(target, around));
  DO(&t, write_at, AT(loop, unit), AT(block, block), NUM(write_buffer_index, 0),
     STR(storage_scope, "local"));
  ir_stmt copy = t.out[0];
  moved_equal(&t);
  DO(&t, reverse_compute_at, AT(block, copy), AT(loop, inner));
  moved_equal(&t);
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tiled),
      cmocka_unit_test(test_guarded),
      cmocka_unit_test(test_shifted),
      cmocka_unit_test(test_strides),
      cmocka_unit_test(test_reverse_compute_at_reduction),
      cmocka_unit_test(test_other_inputs),
      cmocka_unit_test(test_reverse_compute_at_refusals),
      cmocka_unit_test(test_stencil),
      cmocka_unit_test(test_decomposed),
      cmocka_unit_test(test_read_before),
      cmocka_unit_test(test_reverse_compute_at_race),
      cmocka_unit_test(test_outer_iters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
