/* SPDX-License-Identifier: Apache-2.0
 * reindex_cache_read, reindex_cache_write, cache_inplace and cache_index, and
 * what a copy may count on. */
#include "ir/edit.h"
#include "support/moved.h"

/* ---- reindex_cache ------------------------------------------------------ */

static void test_maps(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C");
  DO(&t, reindex_cache_write, AT(block, c), NUM(write_buffer_index, 0),
     STR(storage_scope, "local"),
     STR(index_map, "(i, j, k) -> (j // 4, i, j % 4)"));
  assert_int_equal(t.out[0], scheduled_get(&t, "C_local"));
  DO(&t, reindex_cache_read, AT(block, c), NUM(read_buffer_index, 0),
     STR(storage_scope, "shared"), STR(index_map, "(i, j, k) -> (k * 4 + i)"));
  scheduled_expect(
      &t,
      "main(A: float32[4, 8], B: float32[8, 6], D: out float32[4, 6])\n"
      "  alloc C: float32[4, 6]\n"
      "  alloc C_local: float32[2, 4, 4] in local\n"
      "  alloc A_shared: float32[32] in shared\n"
      "  for ax0 in range(4)\n"
      "    for ax1 in range(8)\n"
      "      block A_shared(v0: 4 = ax0, v1: 8 = ax1)\n"
      "        A_shared[v0 + v1 * 4] = A[v0, v1]\n"
      "  for a in range(4)\n"
      "    for b in range(6)\n"
      "      for c in range(8)\n"
      "        block C(va: 4 = a, vb: 6 = b, vc: reduce 8 = c)\n"
      "          init\n"
      "            C_local[vb // 4, va, vb % 4] = 0.0\n"
      "          C_local[vb // 4, va, vb % 4] = C_local[vb // 4, va, vb % 4] + "
      "A_shared[va + vc * 4] * B[vc, vb]\n"
      "  for ax0 in range(4)\n"
      "    for ax1 in range(6)\n"
      "      block C_local(v0: 4 = ax0, v1: 6 = ax1)\n"
      "        C[v0, v1] = C_local[v1 // 4, v0, v1 % 4]\n"
      "  for a in range(4)\n"
      "    for b in range(6)\n"
      "      block D(va: 4 = a, vb: 6 = b)\n"
      "        D[va, vb] = max(C[va, vb] + 1.0, 0.0)\n");
  moved_equal(&t);
  scheduled_end(&t);
}

static void test_map_refusals(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C");
#define NO(reason, scope, map)                                  \
  REFUSED(&t, reason, reindex_cache_read, AT(block, c),         \
          NUM(read_buffer_index, 0), STR(storage_scope, scope), \
          STR(index_map, map))
  NO(STORAGE_UNKNOWN, "cloud", "(i, j, k) -> (i, k)");
  NO(MAP_ITER_COUNT, "local", "(i, k) -> (i, k)");
  assert_string_equal(scheduled_why(&t, "reindex_cache_read"),
                      "reindex_cache_read: the index map has 2 parameters, and "
                      "block \"C\" has 3 iters");
  NO(MAP_EMPTY, "local", "(i, j, k) -> ()");
  NO(MAP_ITERS, "local", "(i, j, k) -> (i, j, k)");
  NO(MAP_ITERS, "local", "(i, j, k) -> (i)");
  assert_string_equal(scheduled_why(&t, "reindex_cache_read"),
                      "reindex_cache_read: the index map must be made of the "
                      "iters of block \"C\" that index buffer \"A\"");
  NO(MAP_NEGATIVE, "local", "(i, j, k) -> (i - 1, k)");
  NO(MAP_LARGE, "local", "(i, j, k) -> (i * 1152921504606846976, k)");
  NO(MAP_NOT_INJECTIVE, "local", "(i, j, k) -> (i + k)");
  assert_string_equal(scheduled_why(&t, "reindex_cache_read"),
                      "reindex_cache_read: the index map is not proven "
                      "injective on the instances of block \"C\" that access "
                      "buffer \"A\"");
#undef NO
  REFUSED(&t, BUFFER_INDEX, reindex_cache_write, AT(block, c),
          NUM(write_buffer_index, 1), STR(storage_scope, "local"),
          STR(index_map, "(i, j, k) -> (i, j)"));
  REFUSED(&t, MAP_ITERS, reindex_cache_write, AT(block, c),
          NUM(write_buffer_index, 0), STR(storage_scope, "local"),
          STR(index_map, "(i, j, k) -> (i, j, k)"));
  scheduled_end(&t);
}

/* ---- cache_inplace ------------------------------------------------------ */

/* What the caller gave is changed in tiles. */
static void test_inplace(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 12);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_OUTPUT, 12);
  moved_block(&t, "B", 12, b, 0, a, 0, 0);
  int64_t n = 10;
  ir_stmt u = scheduled_block(&t, "U", "S", &n);
  ir_expr at = scheduled_plus(&t, t.it[0], 2);
  scheduled_store(&t, b, at, 0,
                  ir_binary(&t.p, IR_ADD, scheduled_load(&t, b, at, 0),
                            scheduled_load(&t, a, t.it[0], 0)),
                  false);
  scheduled_finish(&t);
  DO(&t, cache_inplace, AT(block, u), STR(read_buffer_index, "B"),
     STR(storage_scope, "local"));
  assert_int_equal(t.out[0], scheduled_get(&t, "B_local"));
  assert_int_equal(t.out[1], scheduled_get(&t, "B_local_1"));
  scheduled_expect(&t, "main(A: float32[12], B: out float32[12])\n"
                       "  alloc B_local: float32[10] in local\n"
                       "  for a in range(12)\n"
                       "    block B(va: 12 = a)\n"
                       "      B[va] = A[va]\n"
                       "  for ax0 in range(10)\n"
                       "    block B_local(v0: range(2, 12) = ax0 + 2)\n"
                       "      B_local[v0 - 2] = B[v0]\n"
                       "  for a in range(10)\n"
                       "    block U(va: 10 = a)\n"
                       "      B_local[va] = B_local[va] + A[va]\n"
                       "  for ax0 in range(10)\n"
                       "    block B_local_1(v0: range(2, 12) = ax0 + 2)\n"
                       "      B[v0] = B_local[v0 - 2]\n");
  moved_equal(&t);
  scheduled_end(&t);
}

static void test_inplace_refusals(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_program *p = &t.p;
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 8);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_OUTPUT, 8);
  ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 16);
  ir_stmt bb = moved_block(&t, "B", 4, b, 0, a, 0, 0);
  int64_t n = 8;
  ir_stmt u = scheduled_block(&t, "U", "S", &n);
  ir_expr own = scheduled_load(&t, b, t.it[0], 0), zero;
  zero = ir_real(p, ir_at(p, own)->dtype, 0);
  scheduled_store(
      &t, b, t.it[0], 0,
      ir_select(p, ir_binary(p, IR_LT, t.it[0], ir_index(p, 4)), own, zero),
      false);
  moved_block(&t, "C", 16, c, 0, a, 0, 0);
  ir_stmt w = scheduled_block(&t, "W", "S", &n);
  ir_expr twice = ir_mul(p, t.it[0], ir_index(p, 2));
  scheduled_store(&t, c, twice, 0,
                  ir_binary(p, IR_ADD, scheduled_load(&t, c, twice, 0),
                            scheduled_load(&t, a, t.it[0], 0)),
                  false);
  scheduled_finish(&t);
  REFUSED(&t, NOT_IN_PLACE, cache_inplace, AT(block, bb),
          NUM(read_buffer_index, 0), STR(storage_scope, "local"));
  assert_string_equal(scheduled_why(&t, "cache_inplace"),
                      "cache_inplace: block \"B\" reads buffer \"A\" and does "
                      "not write it");
  REFUSED(&t, NOT_COVERED, cache_inplace, AT(block, u),
          STR(read_buffer_index, "B"), STR(storage_scope, "local"));
  REFUSED(&t, REGION_NOT_WHOLE, cache_inplace, AT(block, w),
          STR(read_buffer_index, "C"), STR(storage_scope, "local"));
  scheduled_end(&t);
}

/* ---- must-access -------------------------------------------------------- */

/* A triangle is no box, and a loop that may be empty writes nothing. */
static void test_cache_more_triangle(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    scheduled t;
    scheduled_start(&t);
    ir_program *p = &t.p;
    int64_t n[2] = {6, 6};
    ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, n);
    ir_buf b = scheduled_buf(&t, "B", IR_ROLE_OUTPUT, 2, n);
    ir_stmt bb = scheduled_block(&t, "B", "SS", n);
    ir_expr column = k ? ir_index(p, 0) : t.it[1];
    scheduled_store(&t, b, column, t.it[0],
                    scheduled_load(&t, a, t.it[0], column), false);
    ir_stmt outer = scheduled_loop(&t, bb, 0),
            inner = scheduled_loop(&t, bb, 1);
    ir_st(p, inner)->extent =
        ir_add(p, ir_ref(p, ir_st(p, outer)->var), ir_index(p, 1 - k));
    scheduled_finish(&t);
    REFUSED(&t, REGION_NOT_WHOLE, cache_write, AT(block, bb),
            NUM(write_buffer_index, 0), STR(storage_scope, "local"));
    scheduled_end(&t);
  }
}

/* B[3 * i + j] below 8, or a triangle of k below each: it is no count of all
 * values below 8 where row j is shorter, nor are all rows of k as long. */
static void test_guarded_triangle(void **state) {
  (void)state;
  for (int below = 0; below < 2; below++) {
    scheduled t;
    scheduled_start(&t);
    ir_program *p = &t.p;
    int64_t n[3] = {3, 3, 3}, size[2] = {9, 3};
    ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, size);
    ir_buf b = scheduled_buf(&t, "B", IR_ROLE_OUTPUT, 2, size);
    ir_stmt bb = scheduled_block(&t, "B", "SSS", n);
    ir_stmt i = scheduled_loop(&t, bb, 0), j = scheduled_loop(&t, bb, 1);
    ir_stmt k = scheduled_loop(&t, bb, 2);
    ir_expr vi = ir_ref(p, ir_st(p, i)->var), vj = ir_ref(p, ir_st(p, j)->var);
    ir_expr row = ir_mul(p, t.it[0], ir_index(p, 3));
    row = ir_add(p, row, t.it[1]);
    scheduled_store(&t, b, row, t.it[2], scheduled_load(&t, a, row, t.it[2]),
                    false);
    if (below)
      ir_st(p, k)->extent = scheduled_plus(&t, vj, 1);
    else
      ir_st(p, j)->extent = scheduled_plus(&t, vi, 1);
    ir_expr at = ir_add(p, ir_mul(p, vi, ir_index(p, 3)), vj);
    ir_blk(p, bb)->pred = ir_binary(p, IR_LT, at, ir_index(p, 8));
    scheduled_finish(&t);
    REFUSED(&t, REGION_NOT_WHOLE, cache_write, AT(block, bb),
            NUM(write_buffer_index, 0), STR(storage_scope, "local"));
    assert_int_equal(t.s.refusal.s[0], bb);
    scheduled_end(&t);
  }
}

/* Where the reader does not run, a copy for it must not run either, or find
 * what it copies. */
static void test_guarded_reader(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 12);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 16);
  ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 12);
  moved_block(&t, "B", 12, b, 0, a, 0, 0);
  ir_stmt bc = moved_block(&t, "C", 12, c, 0, b, 0, 0);
  scheduled_finish(&t);
  DO(&t, split, AT(loop, scheduled_loop(&t, bc, 0)), INTS(factors, 2, 8));
  REFUSED(&t, NOT_COVERED, read_at, AT(loop, scheduled_loop(&t, bc, 1)),
          AT(block, bc), NUM(read_buffer_index, 0),
          STR(storage_scope, "local"));
  scheduled_end(&t);
}

/* ---- cache_index -------------------------------------------------------- */

/* C[i, j] = A[4 i + j] * A[4 i + 3]. */
static ir_stmt start_index(scheduled *t) {
  ir_program *p = &t->p;
  int64_t n[2] = {3, 4};
  scheduled_start(t);
  ir_buf a = moved_buf(t, "A", IR_ROLE_INPUT, 12);
  ir_buf c = scheduled_buf(t, "C", IR_ROLE_OUTPUT, 2, n);
  ir_stmt b = scheduled_block(t, "C", "SS", n);
  ir_expr row = ir_mul(p, t->it[0], ir_index(p, 4));
  scheduled_store(t, c, t->it[0], t->it[1],
                  ir_binary(p, IR_MUL,
                            scheduled_load(t, a, ir_add(p, row, t->it[1]), 0),
                            scheduled_load(t, a, scheduled_plus(t, row, 3), 0)),
                  false);
  scheduled_finish(t);
  return b;
}

static void test_index(void **state) {
  (void)state;
  scheduled t;
  ir_stmt b = start_index(&t);
  DO(&t, cache_index, AT(block, b), STR(storage_scope, "global"));
  assert_int_equal(t.nout, 2);
  assert_int_equal(t.out[0], scheduled_get(&t, "index_0"));
  assert_non_null(strstr(scheduled_text(&t),
                         "C[va, vb] = A[index_0[va, vb]] * A[index_1[va]]\n"));
  moved_equal(&t);
  DO(&t, cache_index, AT(block, b), STR(storage_scope, "global"));
  assert_int_equal(t.nout, 0);
  scheduled_end(&t);
}

static void test_index_parts(void **state) {
  (void)state;
  scheduled t;
  ir_stmt b = start_index(&t);
  DO(&t, cache_index, AT(block, b), STR(storage_scope, "local"),
     NUM(cse_thresh, 1));
  assert_int_equal(t.nout, 1);
  scheduled_expect(&t,
                   "main(A: float32[12], C: out float32[3, 4])\n"
                   "  alloc index_0: int64[3] in local\n"
                   "  for ax0 in range(3)\n"
                   "    block index_0(v0: 3 = ax0)\n"
                   "      index_0[v0] = v0 * 4\n"
                   "  for a in range(3)\n"
                   "    for b in range(4)\n"
                   "      block C(va: 3 = a, vb: 4 = b)\n"
                   "        C[va, vb] = A[index_0[va] + vb] * A[index_0[va] + "
                   "3]\n");
  moved_equal(&t);
  scheduled_end(&t);
}

static void test_index_refusals(void **state) {
  (void)state;
  scheduled t;
  ir_stmt b = start_index(&t);
  REFUSED(&t, THRESHOLD_NEGATIVE, cache_index, AT(block, b),
          STR(storage_scope, "local"), NUM(cse_thresh, -1));
  assert_string_equal(scheduled_why(&t, "cache_index"),
                      "cache_index: the threshold is -1, and must be at least "
                      "0");
  REFUSED(&t, STORAGE_UNKNOWN, cache_index, AT(block, b),
          STR(storage_scope, "cloud"));
  REFUSED(&t, BLOCK_IS_ROOT, cache_index, AT(block, ir_entry(&t.p)->root),
          STR(storage_scope, "local"));
  scheduled_end(&t);
}

/* A row of a triangle, copied in each iteration around: not all rows are as
 * long as the longest. */
static void test_short_rows(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  int64_t s[2] = {4, 4};
  ir_program *p = &t.p;
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, s);
  ir_buf x = scheduled_buf(&t, "X", IR_ROLE_LOCAL, 2, s);
  ir_buf y = scheduled_buf(&t, "Y", IR_ROLE_OUTPUT, 2, s);
  ir_stmt bx = scheduled_block(&t, "X", "SS", s);
  scheduled_store(&t, x, t.it[0], t.it[1],
                  scheduled_load(&t, a, t.it[0], t.it[1]), false);
  ir_stmt by = scheduled_block(&t, "Y", "SS", s);
  scheduled_store(&t, y, t.it[0], t.it[1],
                  scheduled_load(&t, x, t.it[0], t.it[1]), false);
  ir_stmt i = scheduled_loop(&t, by, 0), j = scheduled_loop(&t, by, 1);
  ir_st(p, j)->extent = ir_add(p, ir_ref(p, ir_st(p, i)->var), ir_index(p, 1));
  ir_stmt xi = scheduled_loop(&t, bx, 0), xj = scheduled_loop(&t, bx, 1);
  ir_st(p, xj)->extent = ir_add(p, ir_ref(p, ir_st(p, i)->var), ir_index(p, 1));
  p->iter.v[ir_blk(p, bx)->iters.at].bind = ir_ref(p, ir_st(p, i)->var);
  ir_detach(p, xj);
  ir_prepend(p, i, xj);
  ir_kill(p, xi);
  scheduled_finish(&t);
  REFUSED(&t, REGION_NOT_WHOLE, cache_write, AT(block, bx),
          NUM(write_buffer_index, 0), STR(storage_scope, "global"));
  REFUSED(&t, REGION_NOT_WHOLE, cache_read, AT(block, by),
          NUM(read_buffer_index, 0), STR(storage_scope, "global"));
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_maps),
      cmocka_unit_test(test_map_refusals),
      cmocka_unit_test(test_inplace),
      cmocka_unit_test(test_inplace_refusals),
      cmocka_unit_test(test_cache_more_triangle),
      cmocka_unit_test(test_guarded_triangle),
      cmocka_unit_test(test_short_rows),
      cmocka_unit_test(test_guarded_reader),
      cmocka_unit_test(test_index),
      cmocka_unit_test(test_index_parts),
      cmocka_unit_test(test_index_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
