/* SPDX-License-Identifier: Apache-2.0
 * cache_read and cache_write. */
#include "ir/edit.h"
#include "support/moved.h"

/* ---- cache_read --------------------------------------------------------- */

static void test_read_input(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C"), k = scheduled_loop(&t, c, 2);
  DO(&t, cache_read, AT(block, c), NUM(read_buffer_index, 1),
     STR(storage_scope, "shared"));
  assert_int_equal(t.out[0], scheduled_get(&t, "B_shared"));
  assert_int_equal(k, scheduled_loop(&t, c, 2));
  scheduled_expect(
      &t, "main(A: float32[4, 8], B: float32[8, 6], D: out float32[4, 6])\n"
          "  alloc C: float32[4, 6]\n"
          "  alloc B_shared: float32[8, 6] in shared\n"
          "  for ax0 in range(8)\n"
          "    for ax1 in range(6)\n"
          "      block B_shared(v0: 8 = ax0, v1: 6 = ax1)\n"
          "        B_shared[v0, v1] = B[v0, v1]\n"
          "  for a in range(4)\n"
          "    for b in range(6)\n"
          "      for c in range(8)\n"
          "        block C(va: 4 = a, vb: 6 = b, vc: reduce 8 = c)\n"
          "          init\n"
          "            C[va, vb] = 0.0\n"
          "          C[va, vb] = C[va, vb] + A[va, vc] * B_shared[vc, vb]\n"
          "  for a in range(4)\n"
          "    for b in range(6)\n"
          "      block D(va: 4 = a, vb: 6 = b)\n"
          "        D[va, vb] = max(C[va, vb] + 1.0, 0.0)\n");
  moved_equal(&t);
  /* A second copy in the same scope gets a name of its own. */
  DO(&t, cache_read, AT(block, c), NUM(read_buffer_index, 0),
     STR(storage_scope, "local"));
  DO(&t, cache_read, AT(block, t.out[0]), NUM(read_buffer_index, 0),
     STR(storage_scope, "local"));
  assert_int_equal(t.out[0], scheduled_get(&t, "A_local_1"));
  moved_equal(&t);
  scheduled_end(&t);
}

/* Only what is used is copied, and only those asked for read the copy. */
static void test_read_part(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 16);
  ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 4);
  ir_buf d = moved_buf(&t, "D", IR_ROLE_OUTPUT, 6);
  ir_stmt bc = moved_block(&t, "C", 4, c, 0, a, 3, 0);
  ir_stmt bd = moved_block(&t, "D", 6, d, 0, a, 8, 0);
  scheduled_finish(&t);
  DO(&t, cache_read, AT(block, bc), NUM(read_buffer_index, 0),
     STR(storage_scope, "local"), LIST(consumer_blocks, bd));
  scheduled_expect(
      &t, "main(A: float32[16], C: out float32[4], D: out float32[6])\n"
          "  alloc A_local: float32[6] in local\n"
          "  for ax0 in range(6)\n"
          "    block A_local(v0: range(8, 14) = ax0 + 8)\n"
          "      A_local[v0 - 8] = A[v0]\n"
          "  for a in range(4)\n"
          "    block C(va: 4 = a)\n"
          "      C[va] = A[va + 3]\n"
          "  for a in range(6)\n"
          "    block D(va: 6 = a)\n"
          "      D[va] = A_local[va]\n");
  assert_int_equal(ir_blk(&t.p, bd)->reads.n, 1);
  moved_equal(&t);
  scheduled_end(&t);
}

/* What a block of the scope makes is copied after it, where its readers
 * still are: in the tile that they share. */
static void test_read_produced(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 18);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 18);
  ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 16);
  ir_stmt bb = moved_block(&t, "B", 18, b, 0, a, 0, 0);
  ir_stmt bc = moved_block(&t, "C", 16, c, 0, b, 2, b);
  scheduled_finish(&t);
  DO(&t, split, AT(loop, scheduled_loop(&t, bc, 0)), INTS(factors, 4, 5));
  DO(&t, compute_at, AT(block, bb), AT(loop, scheduled_loop(&t, bc, 0)));
  DO(&t, parallel, AT(loop, scheduled_loop(&t, bc, 0)));
  DO(&t, cache_read, AT(block, bc), NUM(read_buffer_index, 0),
     STR(storage_scope, "local"));
  scheduled_expect(&t, "main(A: float32[18], C: out float32[16])\n"
                       "  alloc B: float32[18]\n"
                       "  alloc B_local: float32[18] in local\n"
                       "  for a_0 in parallel(4)\n"
                       "    for ax0 in range(7)\n"
                       "      block B(va: 18 = a_0 * 5 + ax0)\n"
                       "        where a_0 * 5 + ax0 < 18\n"
                       "        B[va] = A[va]\n"
                       "    for ax0 in range(7)\n"
                       "      block B_local(v0: 18 = a_0 * 5 + ax0)\n"
                       "        where a_0 * 5 + ax0 < 18\n"
                       "        B_local[v0] = B[v0]\n"
                       "    for a_1 in range(5)\n"
                       "      block C(va: 16 = a_0 * 5 + a_1)\n"
                       "        where a_0 * 5 + a_1 < 16\n"
                       "        reads(B_local[va + 2], B_local[va])\n"
                       "        writes(C[va])\n"
                       "        C[va] = B_local[va + 2] + B_local[va]\n");
  moved_equal(&t);
  scheduled_end(&t);
}

/* ---- cache_write -------------------------------------------------------- */

static void test_write(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  DO(&t, cache_write, AT(block, c), NUM(write_buffer_index, 0),
     STR(storage_scope, "global"));
  ir_stmt copy = t.out[0];
  assert_int_equal(copy, scheduled_get(&t, "C_global"));
  DO(&t, cache_write, AT(block, d), NUM(write_buffer_index, 0),
     STR(storage_scope, "local"));
  scheduled_expect(
      &t,
      "main(A: float32[4, 8], B: float32[8, 6], D: out float32[4, 6])\n"
      "  alloc C: float32[4, 6]\n"
      "  alloc C_global: float32[4, 6]\n"
      "  alloc D_local: float32[4, 6] in local\n"
      "  for a in range(4)\n"
      "    for b in range(6)\n"
      "      for c in range(8)\n"
      "        block C(va: 4 = a, vb: 6 = b, vc: reduce 8 = c)\n"
      "          init\n"
      "            C_global[va, vb] = 0.0\n"
      "          C_global[va, vb] = C_global[va, vb] + A[va, vc] * B[vc, vb]\n"
      "  for ax0 in range(4)\n"
      "    for ax1 in range(6)\n"
      "      block C_global(v0: 4 = ax0, v1: 6 = ax1)\n"
      "        C[v0, v1] = C_global[v0, v1]\n"
      "  for a in range(4)\n"
      "    for b in range(6)\n"
      "      block D(va: 4 = a, vb: 6 = b)\n"
      "        D_local[va, vb] = max(C[va, vb] + 1.0, 0.0)\n"
      "  for ax0 in range(4)\n"
      "    for ax1 in range(6)\n"
      "      block D_local(v0: 4 = ax0, v1: 6 = ax1)\n"
      "        D[v0, v1] = D_local[v0, v1]\n");
  moved_equal(&t);
  DO(&t, reverse_compute_at, AT(block, copy),
     AT(loop, scheduled_loop(&t, c, 0)));
  moved_equal(&t);
  scheduled_end(&t);
}

/* Readers that are listed take what was written; the others what was copied,
 * before the first of them. */
static void test_write_consumers(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 8);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 8);
  ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 8);
  ir_buf d = moved_buf(&t, "D", IR_ROLE_OUTPUT, 8);
  ir_stmt bb = moved_block(&t, "B", 8, b, 0, a, 0, 0);
  ir_stmt bc = moved_block(&t, "C", 8, c, 0, b, 0, 0);
  ir_stmt bd = moved_block(&t, "D", 8, d, 0, b, 0, 0);
  moved_join(&t, bb, bd);
  (void)bd;
  scheduled_finish(&t);
  DO(&t, cache_write, AT(block, bb), NUM(write_buffer_index, 0),
     STR(storage_scope, "local"), LIST(consumer_blocks, bc));
  scheduled_expect(&t,
                   "main(A: float32[8], C: out float32[8], D: out float32[8])\n"
                   "  alloc B: float32[8]\n"
                   "  alloc B_local: float32[8] in local\n"
                   "  for a in range(8)\n"
                   "    block B(va: 8 = a)\n"
                   "      B_local[va] = A[va]\n"
                   "    for ax0 in range(1)\n"
                   "      block B_local(v0: 8 = a)\n"
                   "        B[v0] = B_local[v0]\n"
                   "    block D(va: 8 = a)\n"
                   "      D[va] = B[va]\n"
                   "  for a in range(8)\n"
                   "    block C(va: 8 = a)\n"
                   "      C[va] = B_local[va]\n");
  moved_equal(&t);
  scheduled_end(&t);
}

/* A block that writes a part: just that is held and copied. */
static void test_write_part(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_program *p = &t.p;
  int64_t n = 5;
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 5);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 9);
  ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 5);
  ir_stmt bb = scheduled_block(&t, "B", "S", &n);
  scheduled_store(&t, b, scheduled_plus(&t, t.it[0], 3), 0,
                  scheduled_load(&t, a, t.it[0], 0), false);
  moved_block(&t, "C", 5, c, 0, b, 3, 0);
  scheduled_finish(&t);
  DO(&t, cache_write, AT(block, bb), NUM(write_buffer_index, 0),
     STR(storage_scope, "local"));
  scheduled_expect(&t, "main(A: float32[5], C: out float32[5])\n"
                       "  alloc B: float32[9]\n"
                       "  alloc B_local: float32[5] in local\n"
                       "  for a in range(5)\n"
                       "    block B(va: 5 = a)\n"
                       "      B_local[va] = A[va]\n"
                       "  for ax0 in range(5)\n"
                       "    block B_local(v0: range(3, 8) = ax0 + 3)\n"
                       "      B[v0] = B_local[v0 - 3]\n"
                       "  for a in range(5)\n"
                       "    block C(va: 5 = a)\n"
                       "      C[va] = B[va + 3]\n");
  moved_equal(&t);
  ir_stmt copy = t.out[0];
  DO(&t, reverse_compute_at, AT(block, copy),
     AT(loop, scheduled_loop(&t, bb, 0)));
  moved_equal(&t);
  (void)p;
  scheduled_end(&t);
}

/* A listed consumer that stands in a block of the scope, beside one that is
 * not: of an input, of what another block made, and of what the block around
 * makes itself. */
static void test_deeper(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    scheduled t;
    scheduled_start(&t);
    ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 8);
    ir_buf p = moved_buf(&t, "P", IR_ROLE_LOCAL, 8);
    ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 8);
    ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 8);
    moved_block(&t, "P", 8, p, 0, a, 0, 0);
    ir_stmt bb = moved_block(&t, "B", 8, b, 0, k ? p : a, 0, 0);
    ir_stmt bc = moved_block(&t, "C", 8, c, 0, k ? p : a, 0, b);
    scheduled_finish(&t);
    DO(&t, split, AT(loop, scheduled_loop(&t, bb, 0)), INTS(factors, 2, 4));
    DO(&t, split, AT(loop, scheduled_loop(&t, bc, 0)), INTS(factors, 2, 4));
    DO(&t, merge,
       LIST(loops, scheduled_loop(&t, bb, 1), scheduled_loop(&t, bc, 1)));
    DO(&t, blockize, LIST(target, t.out[0]));
    ir_stmt both = t.out[0];
    REFUSED(&t, COPY_OVERWRITTEN, cache_read, AT(block, both),
            STR(read_buffer_index, "B"), STR(storage_scope, "local"),
            LIST(consumer_blocks, bc));
    DO(&t, cache_read, AT(block, both), STR(read_buffer_index, k ? "P" : "A"),
       STR(storage_scope, "local"), LIST(consumer_blocks, bc));
    ir_buf made = t.p.region.v[ir_blk(&t.p, t.out[0])->writes.at].buf;
    assert_true(sch_reads_buf(&t.p, bc, made));
    assert_true(sch_reads_buf(&t.p, both, made));
    assert_true(sch_reads_buf(&t.p, both, k ? p : a));
    assert_false(sch_reads_buf(&t.p, bb, made));
    assert_false(sch_reads_buf(&t.p, bc, k ? p : a));
    moved_equal(&t);
    REFUSED(&t, SCOPES_DIFFER, cache_read, AT(block, bb),
            SIDE(read_buffer_index, read, 0), STR(storage_scope, "local"),
            LIST(consumer_blocks, t.out[0]));
    scheduled_end(&t);
  }
}

/* ---- refusals ----------------------------------------------------------- */

static void test_cache_refusals(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  REFUSED(&t, BUFFER_INDEX, cache_read, AT(block, c), NUM(read_buffer_index, 2),
          STR(storage_scope, "local"));
  assert_string_equal(
      scheduled_why(&t, "cache_read"),
      "cache_read: buffer index 2 is out of range: block \"C\" has 2 such "
      "regions");
  REFUSED(&t, BUFFER_INDEX, cache_write, AT(block, c),
          NUM(write_buffer_index, -1), STR(storage_scope, "local"));
  REFUSED(&t, BUFFER_SIDE, cache_read, AT(block, c),
          SIDE(read_buffer_index, write, 0), STR(storage_scope, "local"));
  assert_string_equal(scheduled_why(&t, "cache_read"),
                      "cache_read: the buffer must not be one that block "
                      "\"C\" writes");
  REFUSED(&t, BUFFER_NAME, cache_read, AT(block, c),
          STR(read_buffer_index, "C"), STR(storage_scope, "local"));
  assert_string_equal(
      scheduled_why(&t, "cache_read"),
      "cache_read: block \"C\" has no such access of a buffer named \"C\"");
  REFUSED(&t, STORAGE_UNKNOWN, cache_read, AT(block, c),
          NUM(read_buffer_index, 0), STR(storage_scope, "cloud"));
  assert_string_equal(scheduled_why(&t, "cache_read"),
                      "cache_read: there is no storage scope \"cloud\"");
  REFUSED(&t, NOT_READER, cache_read, AT(block, c), NUM(read_buffer_index, 0),
          STR(storage_scope, "local"), LIST(consumer_blocks, d));
  REFUSED(&t, NOT_READER, cache_write, AT(block, d), NUM(write_buffer_index, 0),
          STR(storage_scope, "local"), LIST(consumer_blocks, c));
  scheduled_end(&t);
}

/* A buffer by its name, and two of the same name. */
static void test_names(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_program *p = &t.p;
  ir_stmt c = scheduled_get(&t, "C");
  DO(&t, cache_read, AT(block, c), STR(read_buffer_index, "B"),
     STR(storage_scope, "local"));
  assert_string_equal(ir_text(p, ir_blk(p, t.out[0])->name), "B_local");
  DO(&t, cache_read, AT(block, c), SIDE(read_buffer_index, read, 0),
     STR(storage_scope, "local"));
  assert_string_equal(ir_text(p, ir_blk(p, t.out[0])->name), "A_local");
  moved_equal(&t);
  ir_span r = ir_blk(p, c)->reads;
  for (uint32_t i = r.at; i < r.at + r.n; i++)
    p->buf.v[p->region.v[i].buf].name = ir_name(p, "X");
  REFUSED(&t, BUFFER_NAMES, cache_read, AT(block, c),
          STR(read_buffer_index, "X"), STR(storage_scope, "local"));
  scheduled_end(&t);
}

/* Several writers, a parameter changed in place, a strided write. */
static void test_writers(void **state) {
  (void)state;
  for (int k = 0; k < 3; k++) {
    scheduled t;
    scheduled_start(&t);
    int64_t n = 8;
    ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 8);
    ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 16);
    ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 8);
    ir_stmt bb = scheduled_block(&t, "B", "S", &n);
    ir_expr at = k == 2 ? ir_mul(&t.p, t.it[0], ir_index(&t.p, 2)) : t.it[0];
    scheduled_store(&t, k == 1 ? a : b, at, 0,
                    scheduled_load(&t, a, t.it[0], 0), false);
    if (k == 0) moved_block(&t, "again", 8, b, 0, a, 0, 0);
    ir_stmt bc = scheduled_block(&t, "C", "S", &n);
    at = k == 2 ? ir_mul(&t.p, t.it[0], ir_index(&t.p, 2)) : t.it[0];
    scheduled_store(&t, c, t.it[0], 0,
                    scheduled_load(&t, k == 1 ? a : b, at, 0), false);
    scheduled_finish(&t);
    moved_equal(&t);
    if (k == 0) {
      REFUSED(&t, SEVERAL_WRITERS, cache_write, AT(block, bb),
              NUM(write_buffer_index, 0), STR(storage_scope, "local"));
      REFUSED(&t, SEVERAL_WRITERS, cache_read, AT(block, bc),
              NUM(read_buffer_index, 0), STR(storage_scope, "local"));
    } else if (k == 1) {
      REFUSED(&t, INPUT_WRITTEN, cache_write, AT(block, bb),
              NUM(write_buffer_index, 0), STR(storage_scope, "local"));
      REFUSED(&t, NO_READER, cache_read, AT(block, bb),
              NUM(read_buffer_index, 0), STR(storage_scope, "local"),
              LIST(consumer_blocks, bb));
    } else {
      REFUSED(&t, REGION_NOT_WHOLE, cache_write, AT(block, bb),
              NUM(write_buffer_index, 0), STR(storage_scope, "local"));
      assert_string_equal(scheduled_why(&t, "cache_write"),
                          "cache_write: block \"B\" is not proven to access "
                          "a whole box of buffer \"B\", which could be copied");
      REFUSED(&t, REGION_NOT_WHOLE, cache_read, AT(block, bc),
              NUM(read_buffer_index, 0), STR(storage_scope, "local"));
    }
    scheduled_end(&t);
  }
}

/* Only the writer itself reads it. */
static void test_no_reader(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 8);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_OUTPUT, 8);
  moved_block(&t, "first", 8, b, 0, a, 0, 0);
  ir_stmt bb = moved_block(&t, "B", 8, b, 0, a, 0, b);
  scheduled_finish(&t);
  REFUSED(&t, SEVERAL_WRITERS, cache_read, AT(block, bb),
          NUM(read_buffer_index, 1), STR(storage_scope, "local"));
  ir_stmt other = scheduled_get(&t, "first");
  ir_kill(&t.p, scheduled_loop(&t, other, 0));
  REFUSED(&t, NO_READER, cache_read, AT(block, bb), NUM(read_buffer_index, 1),
          STR(storage_scope, "local"));
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_read_input),
      cmocka_unit_test(test_read_part),
      cmocka_unit_test(test_read_produced),
      cmocka_unit_test(test_write),
      cmocka_unit_test(test_deeper),
      cmocka_unit_test(test_write_consumers),
      cmocka_unit_test(test_write_part),
      cmocka_unit_test(test_cache_refusals),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_writers),
      cmocka_unit_test(test_no_reader),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
