/* SPDX-License-Identifier: Apache-2.0
 * Regions that a person says or hides: annotate_buffer_access,
 * unsafe_hide_buffer_access, and what works regions out again. */
#include "ir/edit.h"
#include "ir/query.h"
#include "support/moved.h"

static ir_stmt regions_matmul(scheduled *t) {
  scheduled_start(t);
  scheduled_matmul(t, 4, 6, 8);
  return scheduled_get(t, "C");
}

static uint32_t nreads(const scheduled *t, ir_stmt b) {
  return ir_blk(&t->p, b)->reads.n;
}

static void test_hidden(void **state) {
  (void)state;
  scheduled t;
  ir_stmt c = regions_matmul(&t), d = scheduled_get(&t, "D");
  DO(&t, unsafe_hide_buffer_access, AT(block, c), STR(buf_type, "read"),
     INTS(buf_index_array, 1));
  assert_int_equal(nreads(&t, c), 1);
  moved_equal(&t);
  REFUSED(&t, BUFFER_HIDDEN, rfactor, AT(loop, scheduled_loop(&t, c, 2)));
  /* It stays hidden, until the note goes. */
  ir_block_find_regions(&t.p, &t.scratch, c);
  assert_int_equal(nreads(&t, c), 1);
  moved_equal(&t);
  DO(&t, unannotate, AT(block_or_loop, c), STR(ann_key, IR_HIDDEN_READS));
  assert_int_equal(nreads(&t, c), 2);
  /* A buffer lives where it is allocated, for who knows who uses it. */
  DO(&t, unsafe_hide_buffer_access, AT(block, d), STR(buf_type, "read"),
     INTS(buf_index_array, 0));
  assert_int_equal(nreads(&t, d), 0);
  moved_equal(&t);
  DO(&t, decompose_reduction, AT(block, c), AT(loop, scheduled_loop(&t, c, 2)));
  moved_equal(&t);
  scheduled_end(&t);
}

static void test_hidden_refused(void **state) {
  (void)state;
  scheduled t;
  ir_stmt c = regions_matmul(&t);
  REFUSED(&t, SIDE_UNKNOWN, unsafe_hide_buffer_access, AT(block, c),
          STR(buf_type, "both"), INTS(buf_index_array, 0));
  assert_string_equal(
      scheduled_why(&t, "unsafe_hide_buffer_access"),
      "unsafe_hide_buffer_access: \"both\" is neither \"read\" nor \"write\"");
  REFUSED(&t, BUFFER_INDEX, unsafe_hide_buffer_access, AT(block, c),
          STR(buf_type, "write"), INTS(buf_index_array, 0, 1));
  scheduled_end(&t);
}

/* What would take away a buffer that somebody uses in secret. */
static void test_hidden_inline(void **state) {
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
  scheduled_finish(&t);
  DO(&t, unsafe_hide_buffer_access, AT(block, bd), STR(buf_type, "read"),
     INTS(buf_index_array, 0));
  moved_equal(&t);
  REFUSED(&t, BUFFER_HIDDEN, compute_inline, AT(block, bb));
  REFUSED(&t, BUFFER_HIDDEN, reverse_compute_inline, AT(block, bc));
  scheduled_end(&t);
}

#define SAY(b, side, i, map) \
  AT(block, (b)), SIDE(buffer, side, (i)), STR(gen_new_ranges, (map))

static void test_said(void **state) {
  (void)state;
  scheduled t;
  ir_stmt c = regions_matmul(&t);
  DO(&t, annotate_buffer_access,
     SAY(c, read, 0, "(i, j, k) -> (i, i + 1, 0, 8)"));
  ir_region r = t.p.region.v[ir_blk(&t.p, c)->reads.at];
  assert_true(ir_is_const(&t.p, ir_region_extent(&t.p, r, 1), 8));
  moved_equal(&t);
  ir_block_find_regions(&t.p, &t.scratch, c);
  r = t.p.region.v[ir_blk(&t.p, c)->reads.at];
  assert_true(ir_is_const(&t.p, ir_region_extent(&t.p, r, 1), 8));
  moved_equal(&t);
  REFUSED(&t, REGION_TOO_SMALL, annotate_buffer_access,
          SAY(c, read, 0, "(i, j, k) -> (i, i + 1, 0, 7)"));
  REFUSED(&t, REGION_EMPTY, annotate_buffer_access,
          SAY(c, read, 0, "(i, j, k) -> (i, i + 1, k, k)"));
  REFUSED(&t, RANGES_COUNT, annotate_buffer_access,
          SAY(c, read, 0, "(i, j, k) -> (i, i + 1)"));
  REFUSED(&t, MAP_ARITY, annotate_buffer_access,
          SAY(c, read, 0, "(i, j) -> (i, i + 1, 0, 8)"));
  REFUSED(&t, BUFFER_SIDE_OPEN, annotate_buffer_access, AT(block, c),
          NUM(buffer, 0), STR(gen_new_ranges, "(i, j, k) -> (0, 1, 0, 1)"));
  DO(&t, unannotate, AT(block_or_loop, c), STR(ann_key, IR_EXPLICIT_READS));
  r = t.p.region.v[ir_blk(&t.p, c)->reads.at];
  assert_true(ir_is_const(&t.p, ir_region_extent(&t.p, r, 1), 1));
  moved_equal(&t);
  /* Another layout of what was said. */
  ir_stmt d = scheduled_get(&t, "D");
  DO(&t, annotate_buffer_access, SAY(d, read, 0, "(i, j) -> (i, i + 1, 0, 6)"));
  DO(&t, transform_layout, AT(block, d), STR(buffer, "C"),
     STR(index_map, "(i, j) -> (i, j // 2, j % 2)"));
  r = t.p.region.v[ir_blk(&t.p, d)->reads.at];
  assert_true(ir_is_const(&t.p, ir_region_extent(&t.p, r, 1), 3));
  assert_true(ir_is_const(&t.p, ir_region_extent(&t.p, r, 2), 2));
  moved_equal(&t);
  scheduled_end(&t);
}

/* The oracle tells of accesses outside of what was said. */
static void test_said_wrong(void **state) {
  (void)state;
  scheduled t;
  ir_stmt c = regions_matmul(&t);
  const char *why;
  DO(&t, annotate_buffer_access,
     SAY(c, read, 0, "(i, j, k) -> (i, i + 1, k // 2 + 2, k // 2 + 5)"));
  assert_false(moved_is_equal(&t, &why));
  assert_non_null(strstr(why, "is not in what block C declares"));
  scheduled_end(&t);
}

/* B = A; C[i] = B[i] + A[i + 1]. */
static void neighbours(scheduled *t) {
  int64_t n = 8, more = 9;
  scheduled_start(t);
  ir_program *p = &t->p;
  ir_buf a = scheduled_buf(t, "A", IR_ROLE_INPUT, 1, &more);
  ir_buf b = scheduled_buf(t, "B", IR_ROLE_LOCAL, 1, &n);
  ir_buf c = scheduled_buf(t, "C", IR_ROLE_OUTPUT, 1, &n);
  scheduled_block(t, "B", "S", &n);
  scheduled_store(t, b, t->it[0], 0, scheduled_load(t, a, t->it[0], 0), false);
  scheduled_block(t, "C", "S", &n);
  ir_expr next = ir_add(p, t->it[0], ir_index(p, 1));
  ir_expr sum = ir_binary(p, IR_ADD, scheduled_load(t, b, t->it[0], 0),
                          scheduled_load(t, a, next, 0));
  scheduled_store(t, c, t->it[0], 0, sum, false);
  scheduled_finish(t);
}

/* What was said of a block's accesses was not said of those that come in. */
static void test_said_before(void **state) {
  (void)state;
  scheduled t;
  neighbours(&t);
  DO(&t, annotate_buffer_access, AT(block, scheduled_get(&t, "C")),
     STR(buffer, "A"), STR(gen_new_ranges, "(i) -> (i + 1, i + 2)"));
  DO(&t, compute_inline, AT(block, scheduled_get(&t, "B")));
  moved_equal(&t);
  scheduled_end(&t);
  neighbours(&t);
  DO(&t, annotate_buffer_access, AT(block, scheduled_get(&t, "B")),
     STR(buffer, "A"), STR(gen_new_ranges, "(i) -> (i, i + 1)"));
  DO(&t, reverse_compute_inline, AT(block, scheduled_get(&t, "C")));
  moved_equal(&t);
  scheduled_end(&t);
}

/* Blocks around declare what is said later of one inside, whatever was said of
 * them. */
static void test_said_inside(void **state) {
  (void)state;
  scheduled t;
  regions_matmul(&t);
  ir_stmt d = scheduled_get(&t, "D");
  DO(&t, blockize, LIST(target, d));
  ir_stmt outer = t.out[0];
  DO(&t, annotate_buffer_access,
     SAY(outer, read, 0, "(i, j) -> (i, i + 1, j, j + 1)"));
  DO(&t, annotate_buffer_access, SAY(d, read, 0, "() -> (0, 4, 0, 6)"));
  ir_region r = t.p.region.v[ir_blk(&t.p, outer)->reads.at];
  assert_true(ir_is_const(&t.p, ir_region_extent(&t.p, r, 0), 4));
  assert_true(ir_is_const(&t.p, ir_region_extent(&t.p, r, 1), 6));
  moved_equal(&t);
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hidden),
      cmocka_unit_test(test_hidden_refused),
      cmocka_unit_test(test_hidden_inline),
      cmocka_unit_test(test_said),
      cmocka_unit_test(test_said_wrong),
      cmocka_unit_test(test_said_before),
      cmocka_unit_test(test_said_inside),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
