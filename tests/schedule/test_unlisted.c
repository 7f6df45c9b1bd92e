/* SPDX-License-Identifier: Apache-2.0
 * What a listing cannot say of a program: two buffers of one name, a reducer
 * that keeps the order of its sources, a buffer that stands for part of another
 * one; and the mark of a consumer that is inlined. */
#include "ir/edit.h"
#include "support/moved.h"

static void test_names(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_program *p = &t.p;
  ir_stmt c = scheduled_get(&t, "C");
  ir_span r = ir_blk(p, c)->reads;
  for (uint32_t i = r.at; i < r.at + r.n; i++)
    p->buf.v[p->region.v[i].buf].name = ir_name(p, "X");
  REFUSED(&t, BUFFER_NAMES, cache_read, AT(block, c),
          STR(read_buffer_index, "X"), STR(storage_scope, "local"));
  scheduled_end(&t);
}

/* It moves as a whole, and has its sources at its new place in the order of its
 * iters: so it must have been before. */
static void test_ordered(void **state) {
  (void)state;
  for (int swapped = 0; swapped < 2; swapped++) {
    scheduled t;
    scheduled_start(&t);
    int64_t n[] = {4, 3, 5};
    ir_buf in = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, n + 1);
    ir_buf mid = scheduled_buf(&t, "B", IR_ROLE_LOCAL, 1, n);
    ir_buf out = scheduled_buf(&t, "C", IR_ROLE_OUTPUT, 1, n);
    ir_stmt b = scheduled_block(&t, "B", "SRR", n);
    scheduled_store(&t, mid, t.it[0], 0,
                    scheduled_load(&t, in, t.it[1], t.it[2]), true);
    ir_stmt c = scheduled_block(&t, "C", "S", n);
    scheduled_store(&t, out, t.it[0], 0, scheduled_load(&t, mid, t.it[0], 0),
                    false);
    scheduled_finish(&t);
    ir_stmt k = scheduled_loop(&t, b, 1), l = scheduled_loop(&t, b, 2);
    if (swapped) DO(&t, reorder, LIST(ordered_loops, l, k));
    t.p.reducer.v[ir_blk(&t.p, b)->reducer].ordered = IR_ORDER_KEPT;
    ir_stmt at = scheduled_loop(&t, c, 0);
    if (swapped) {
      REFUSED(&t, BLOCK_NOT_COMPLETE, compute_at, AT(block, b), AT(loop, at));
      t.p.reducer.v[ir_blk(&t.p, b)->reducer].ordered = IR_ORDER_FREE;
    }
    DO(&t, compute_at, AT(block, b), AT(loop, at));
    moved_equal(&t);
    scheduled_end(&t);
  }
}

/* B = A, then C = B. */
static void two_copies(scheduled *t, ir_buf *mid, ir_stmt *b, ir_stmt *c) {
  scheduled_start(t);
  ir_buf in = moved_buf(t, "A", IR_ROLE_INPUT, 8);
  *mid = moved_buf(t, "B", IR_ROLE_LOCAL, 8);
  ir_buf out = moved_buf(t, "C", IR_ROLE_OUTPUT, 8);
  *b = moved_block(t, "B", 8, *mid, 0, in, 0, 0);
  *c = moved_block(t, "C", 8, out, 0, *mid, 0, 0);
}

static void test_matches(void **state) {
  (void)state;
  scheduled t;
  ir_buf mid;
  ir_stmt b, c;
  two_copies(&t, &mid, &b, &c);
  ir_program *p = &t.p;
  ir_span m = {vec_extend(p->heap, &p->match, 1), 1};
  ir_expr box[2] = {ir_index(p, 0), ir_index(p, 8)}, dim = box[1];
  ir_buf whole = ir_buf_new(p, ir_name(p, "M"), p->buf.v[mid].dtype, 1, &dim,
                            IR_SCOPE_GLOBAL, IR_ROLE_LOCAL);
  ir_region r = ir_region_new(p, mid, box);
  p->match.v[m.at] = (ir_match){whole, r};
  ir_blk(p, c)->matches = m;
  scheduled_finish(&t);
  REFUSED(&t, OPAQUE_ACCESS, compute_inline, AT(block, b));
  REFUSED(&t, OPAQUE_ACCESS, reverse_compute_inline, AT(block, c));
  scheduled_end(&t);
}

static void test_marks(void **state) {
  (void)state;
  scheduled t;
  ir_buf mid;
  ir_stmt b, c;
  two_copies(&t, &mid, &b, &c);
  scheduled_finish(&t);
  DO(&t, reverse_compute_at, AT(block, c), AT(loop, SCH_INLINE_MARK));
  assert_true(ir_is_dead(&t.p, c));
  moved_equal(&t);
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_ordered),
      cmocka_unit_test(test_matches),
      cmocka_unit_test(test_marks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
