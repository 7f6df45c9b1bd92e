/* SPDX-License-Identifier: Apache-2.0
 * pad_einsum and decompose_padding. */
#include "ir/edit.h"
#include "support/scheduled.h"

static const tess_dtype F32 = {TESS_DTYPE_FLOAT, 32, 1};

/* ---- decompose_padding -------------------------------------------------- */

/* P[i, j] = i in 1 .. 4 and j in 0 .. 5 ? A[i - 1, j] : 0, of 6 x 8, then
 * O[i, j] = P[i, j]. */
static ir_stmt padding(scheduled *t, bool reversed) {
  ir_program *p = &t->p;
  ir_buf a = scheduled_buf(t, "A", IR_ROLE_INPUT, 2, (int64_t[]){4, 6});
  ir_buf b = scheduled_buf(t, "P", IR_ROLE_LOCAL, 2, (int64_t[]){6, 8});
  ir_buf o = scheduled_buf(t, "O", IR_ROLE_OUTPUT, 2, (int64_t[]){6, 8});
  ir_expr *it = t->it, zero = ir_real(p, F32, 0);
  ir_stmt block = scheduled_block(t, "P", "SS", (int64_t[]){6, 8});
  ir_expr in = ir_and(p, ir_binary(p, IR_LE, ir_index(p, 1), it[0]),
                      ir_binary(p, IR_LT, it[0], ir_index(p, 5)));
  in = ir_and(p, in, ir_binary(p, IR_LT, it[1], ir_index(p, 6)));
  ir_expr x = scheduled_load(t, a, scheduled_plus(t, it[0], -1), it[1]);
  scheduled_store(t, b, it[0], it[1],
                  reversed ? ir_select(p, ir_not(p, in), zero, x)
                           : ir_select(p, in, x, zero),
                  false);
  scheduled_block(t, "O", "SS", (int64_t[]){6, 8});
  scheduled_store(t, o, it[0], it[1], scheduled_load(t, b, it[0], it[1]),
                  false);
  scheduled_finish(t);
  return block;
}

static void test_outer(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_stmt b = padding(&t, false);
  DO(&t, decompose_padding, AT(block, b), AT(loop, scheduled_loop(&t, b, 0)));
  assert_int_equal(t.out[0], scheduled_get(&t, "P_pad_const"));
  scheduled_expect(&t, "main(A: float32[4, 6], O: out float32[6, 8])\n"
                       "  alloc P: float32[6, 8]\n"
                       "  for a in range(6)\n"
                       "    for b in range(8)\n"
                       "      block P_pad_const(va: 6 = a, vb: 8 = b)\n"
                       "        P[va, vb] = 0.0\n"
                       "  for a in range(4)\n"
                       "    for b in range(6)\n"
                       "      block P(va: range(1, 5) = a + 1, vb: 6 = b)\n"
                       "        P[va, vb] = A[va - 1, vb]\n"
                       "  for a in range(6)\n"
                       "    for b in range(8)\n"
                       "      block O(va: 6 = a, vb: 8 = b)\n"
                       "        O[va, vb] = P[va, vb]\n");
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

/* Below an outer loop, after a guarded split, with the loops at once, and
 * with the branches the other way round. */
static void test_inner(void **state) {
  (void)state;
  for (int how = 0; how < 4; how++) {
    scheduled t;
    scheduled_start(&t);
    ir_stmt b = padding(&t, how & 1);
    if (how & 2) {
      DO(&t, split, AT(loop, scheduled_loop(&t, b, 1)), INTS(factors, 3, 3));
      DO(&t, parallel, AT(loop, scheduled_loop(&t, b, 0)));
      DO(&t, vectorize, AT(loop, scheduled_loop(&t, b, 2)));
    }
    DO(&t, decompose_padding, AT(block, b), AT(loop, scheduled_loop(&t, b, 1)));
    assert_true(scheduled_same(&t));
    scheduled_end(&t);
  }
}

/* Before a loop that holds the block's reader, too: that only where it comes
 * after the block, and only the block's own loops get shorter. */
static void test_among_others(void **state) {
  (void)state;
  for (int before = 0; before < 2; before++) {
    scheduled t;
    scheduled_start(&t);
    ir_stmt b = padding(&t, false), o = scheduled_get(&t, "O");
    ir_stmt i = scheduled_loop(&t, b, 0), j = scheduled_loop(&t, b, 1);
    DO(&t, merge, LIST(loops, i, scheduled_loop(&t, o, 0)));
    i = scheduled_loop(&t, b, 0);
    if (before) {
      ir_detach(&t.p, j);
      ir_append(&t.p, i, j);
      REFUSED(&t, INIT_USED, decompose_padding, AT(block, b), AT(loop, i));
    } else {
      DO(&t, decompose_padding, AT(block, b), AT(loop, i));
      scheduled_expect(&t, "main(A: float32[4, 6], O: out float32[6, 8])\n"
                           "  alloc P: float32[6, 8]\n"
                           "  for a in range(6)\n"
                           "    for b in range(8)\n"
                           "      block P_pad_const(va: 6 = a, vb: 8 = b)\n"
                           "        P[va, vb] = 0.0\n"
                           "  for a in range(6)\n"
                           "    for b in range(6)\n"
                           "      block P(va: range(1, 5) = a, vb: 6 = b)\n"
                           "        where a < 5 && 1 <= a\n"
                           "        P[va, vb] = A[va - 1, vb]\n"
                           "    for b in range(8)\n"
                           "      block O(va: 6 = a, vb: 8 = b)\n"
                           "        O[va, vb] = P[va, vb]\n");
      assert_true(scheduled_same(&t));
    }
    scheduled_end(&t);
  }
}

static void test_decompose_refused(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_stmt b = padding(&t, false), o = scheduled_get(&t, "O");
  ir_stmt i = scheduled_loop(&t, b, 0);
  REFUSED(&t, PADDING_PATTERN, decompose_padding, AT(block, o),
          AT(loop, scheduled_loop(&t, o, 0)));
  REFUSED(&t, LOOP_NOT_AROUND, decompose_padding, AT(block, b),
          AT(loop, scheduled_loop(&t, o, 0)));
  REFUSED(&t, BLOCK_IS_ROOT, decompose_padding, AT(block, t.root), AT(loop, i));
  ir_iter *it = &t.p.iter.v[ir_blk(&t.p, b)->iters.at];
  it->kind = IR_OPAQUE;
  REFUSED(&t, BLOCK_NOT_COMPLETE, decompose_padding, AT(block, b), AT(loop, i));
  it->kind = IR_SPATIAL;
  ir_stmt store = ir_st(&t.p, b)->body;
  ir_wrap(&t.p, store,
          ir_if_new(&t.p, ir_binary(&t.p, IR_LT, t.it[0], ir_index(&t.p, 3))));
  REFUSED(&t, BODY_NOT_STORE, decompose_padding, AT(block, b), AT(loop, i));
  scheduled_end(&t);

  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C");
  REFUSED(&t, BLOCK_REDUCES, decompose_padding, AT(block, c),
          AT(loop, scheduled_loop(&t, c, 0)));
  ir_append(&t.p, scheduled_loop(&t, c, 1),
            ir_evaluate_new(&t.p, ir_index(&t.p, 7)));
  REFUSED(&t, OTHER_STATEMENT, decompose_padding, AT(block, c),
          AT(loop, scheduled_loop(&t, c, 0)));
  scheduled_end(&t);
}

/* ---- pad_einsum --------------------------------------------------------- */

static void test_padding_matmul(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 3, 6, 7);
  ir_stmt c = scheduled_get(&t, "C");
  DO(&t, pad_einsum, AT(block, c), INTS(padding, 4, 3, 4));
  scheduled_expect(
      &t, "main(A: float32[3, 7], B: float32[7, 6], D: out float32[3, 6])\n"
          "  alloc C: float32[3, 6]\n"
          "  alloc C_pad: float32[4, 6]\n"
          "  alloc A_pad: float32[4, 8]\n"
          "  alloc B_pad: float32[8, 6]\n"
          "  for ax0 in range(4)\n"
          "    for ax1 in range(8)\n"
          "      block A_pad(v0: 4 = ax0, v1: 8 = ax1)\n"
          "        A_pad[v0, v1] = select(v0 < 3 && v1 < 7, A[v0, v1], 0.0)\n"
          "  for ax0 in range(8)\n"
          "    for ax1 in range(6)\n"
          "      block B_pad(v0: 8 = ax0, v1: 6 = ax1)\n"
          "        B_pad[v0, v1] = select(v0 < 7, B[v0, v1], 0.0)\n"
          "  for a in range(4)\n"
          "    for b in range(6)\n"
          "      for c in range(8)\n"
          "        block C(va: 4 = a, vb: 6 = b, vc: reduce 8 = c)\n"
          "          init\n"
          "            C_pad[va, vb] = 0.0\n"
          "          C_pad[va, vb] = C_pad[va, vb] + A_pad[va, vc] * B_pad[vc, "
          "vb]\n"
          "  for ax0 in range(3)\n"
          "    for ax1 in range(6)\n"
          "      block C_pad(v0: 3 = ax0, v1: 6 = ax1)\n"
          "        C[v0, v1] = C_pad[v0, v1]\n"
          "  for a in range(3)\n"
          "    for b in range(6)\n"
          "      block D(va: 3 = a, vb: 6 = b)\n"
          "        D[va, vb] = max(C[va, vb] + 1.0, 0.0)\n");
  assert_true(scheduled_same(&t));
  assert_int_equal(c, scheduled_get(&t, "C"));
  scheduled_end(&t);
}

/* A complete block is padded, too; and nothing happens where all fits. */
static void test_spatial(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 3, 6, 7);
  ir_stmt d = scheduled_get(&t, "D");
  DO(&t, pad_einsum, AT(block, d), INTS(padding, 3, 2));
  assert_int_equal(ir_blk(&t.p, t.root)->allocs.n, 1);
  DO(&t, pad_einsum, AT(block, d), INTS(padding, 2, 4));
  assert_int_equal(ir_blk(&t.p, t.root)->allocs.n, 3);
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

static void test_einsum_refused(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 3, 6, 7);
  ir_program *p = &t.p;
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  ir_stmt i = scheduled_loop(&t, c, 0), j = scheduled_loop(&t, c, 1);
  ir_stmt k = scheduled_loop(&t, c, 2);
#define PAD_REFUSED(WHY, ...) \
  REFUSED(&t, WHY, pad_einsum, AT(block, c), INTS(padding, __VA_ARGS__))
  PAD_REFUSED(PADDING_COUNT, 4, 4);
  assert_string_equal(scheduled_why(&t, "pad_einsum"),
                      "pad_einsum: 2 numbers were given for the 3 iters of "
                      "block \"C\"");
  PAD_REFUSED(FACTOR_NOT_POSITIVE, 4, 0, 4);
  PAD_REFUSED(EXTENT_LARGE, 4, INT64_MAX, 4);
  PAD_REFUSED(EXTENT_LARGE, (int64_t)1 << 40, (int64_t)1 << 40, 1);
  REFUSED(&t, BLOCK_IS_ROOT, pad_einsum, AT(block, t.root), INTS(padding, 1));
  DO(&t, unroll, AT(loop, j));
  PAD_REFUSED(LOOP_NOT_SERIAL, 1, 4, 1);
  ir_st(p, j)->loop_kind = IR_SERIAL;
  ir_stmt store = ir_st(p, c)->body;
  ir_expr value = ir_st(p, store)->value;
  ir_expr old = ir_at(p, value)->a, added = ir_at(p, value)->b;
  ir_st(p, store)->value = ir_sub(p, old, added);
  PAD_REFUSED(NOT_REDUCER, 1, 1, 4);
  ir_st(p, store)->value = value;
  ir_expr twice = ir_add(p, added, added);
  ir_st(p, store)->value = ir_add(p, old, twice);
  PAD_REFUSED(PAD_NOT_NEUTRAL, 1, 1, 4);
  ir_st(p, store)->value =
      ir_select(p, ir_binary(p, IR_LT, t.it[0], ir_index(p, 1)), old, value);
  PAD_REFUSED(EINSUM_CHOOSES, 4, 1, 1);
  ir_st(p, store)->value = value;
  ir_wrap(p, store,
          ir_if_new(p, ir_binary(p, IR_LT, ir_index(p, 1),
                                 ir_ref(p, ir_st(p, i)->var))));
  PAD_REFUSED(BODY_NOT_STORE, 4, 1, 1);
  ir_stmt cond = ir_st(p, c)->body;
  ir_detach(p, store);
  ir_replace(p, cond, store);
  ir_iter *it = &p->iter.v[ir_blk(p, c)->iters.at];
  it->kind = IR_OPAQUE;
  PAD_REFUSED(BLOCK_NOT_COMPLETE, 4, 1, 1);
  it->kind = IR_SPATIAL;
  ir_stmt other = ir_evaluate_new(p, ir_index(p, 7));
  ir_append(p, k, other);
  PAD_REFUSED(OTHER_STATEMENT, 4, 1, 1);
  ir_detach(p, other);
  DO(&t, reorder, LIST(ordered_loops, j, i));
  PAD_REFUSED(EINSUM_LOOPS, 4, 1, 1);
  DO(&t, reorder, LIST(ordered_loops, i, j));
  DO(&t, compute_at, AT(block, c), AT(loop, scheduled_loop(&t, d, 1)),
     NUM(preserve_unit_loops, 1));
  PAD_REFUSED(EINSUM_LOOPS, 4, 1, 1);
#undef PAD_REFUSED
  scheduled_end(&t);
}

/* Loops with something beside, from 1, or of no constant extent. */
static void test_loops_refused(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 3, 6, 7);
  ir_program *p = &t.p;
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  DO(&t, merge,
     LIST(loops, scheduled_loop(&t, c, 1), scheduled_loop(&t, d, 1)));
  REFUSED(&t, NOT_ONLY_CHILD, pad_einsum, AT(block, c), INTS(padding, 4, 4, 4));
  scheduled_end(&t);

  scheduled_start(&t);
  scheduled_matmul(&t, 3, 6, 7);
  d = scheduled_get(&t, "D");
  ir_stmt i = scheduled_loop(&t, d, 0), j = scheduled_loop(&t, d, 1);
  ir_iter *it = &p->iter.v[ir_blk(p, d)->iters.at];
  ir_expr n = it->extent, two = ir_index(p, 2), one = ir_index(p, 1);
  ir_st(p, i)->extent = it->extent = two;
  ir_st(p, i)->lo = it->lo = one;
  REFUSED(&t, LOOP_START_NOT_ZERO, pad_einsum, AT(block, d),
          INTS(padding, 4, 1));
  ir_st(p, i)->extent = it->extent = n;
  ir_st(p, i)->lo = it->lo = ir_index(p, 0);
  it[1].extent = ir_st(p, j)->extent =
      scheduled_plus(&t, ir_ref(p, ir_st(p, i)->var), 1);
  REFUSED(&t, NOT_STATIC, pad_einsum, AT(block, d), INTS(padding, 1, 4));
  scheduled_end(&t);
}

/* A[i + k]: along the sum, but not along the window. */
static void test_access_refused(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  int64_t n = 6, shape[2] = {6, 3}, long_one = 8;
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 1, &long_one);
  ir_buf c = scheduled_buf(&t, "C", IR_ROLE_OUTPUT, 1, &n);
  ir_stmt b = scheduled_block(&t, "C", "SR", shape);
  scheduled_store(&t, c, t.it[0], 0,
                  scheduled_load(&t, a, ir_add(&t.p, t.it[0], t.it[1]), 0),
                  true);
  scheduled_finish(&t);
  REFUSED(&t, EINSUM_ACCESS, pad_einsum, AT(block, b), INTS(padding, 1, 4));
  DO(&t, pad_einsum, AT(block, b), INTS(padding, 4, 1));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

/* A[4 i + k], k < 3: every fourth element is left out. */
static void test_holes(void **state) {
  (void)state;
  for (int given = 0; given < 2; given++) {
    scheduled t;
    scheduled_start(&t);
    int64_t n = 6, shape[2] = {6, 3}, long_one = 23;
    ir_buf a = scheduled_buf(&t, "A", given ? IR_ROLE_INPUT : IR_ROLE_LOCAL, 1,
                             &long_one);
    ir_buf c = scheduled_buf(&t, "C", IR_ROLE_OUTPUT, 1, &n);
    ir_stmt b = scheduled_block(&t, "C", "SR", shape);
    ir_expr at = ir_mul(&t.p, t.it[0], ir_index(&t.p, 4));
    scheduled_store(&t, c, t.it[0], 0,
                    scheduled_load(&t, a, ir_add(&t.p, at, t.it[1]), 0), true);
    scheduled_finish(&t);
    if (given) {
      DO(&t, pad_einsum, AT(block, b), INTS(padding, 4, 1));
      assert_true(scheduled_same(&t));
    } else
      REFUSED(&t, EINSUM_HOLES, pad_einsum, AT(block, b), INTS(padding, 4, 1));
    scheduled_end(&t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_outer),
      cmocka_unit_test(test_inner),
      cmocka_unit_test(test_among_others),
      cmocka_unit_test(test_decompose_refused),
      cmocka_unit_test(test_padding_matmul),
      cmocka_unit_test(test_spatial),
      cmocka_unit_test(test_einsum_refused),
      cmocka_unit_test(test_loops_refused),
      cmocka_unit_test(test_access_refused),
      cmocka_unit_test(test_holes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
