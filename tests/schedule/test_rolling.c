/* SPDX-License-Identifier: Apache-2.0
 * rolling_buffer. */
#include "ir/edit.h"
#include "support/scheduled.h"

/* C[i] = A[i] for i below m, D[i] = sum over r of C[i + r], which is 0 beyond
 * its end, for 16, with C computed at each 4 of D. */
static ir_stmt windows_of(scheduled *t, int64_t m, int64_t width) {
  int64_t n = 16, shape[2] = {n, width};
  ir_buf a = scheduled_buf(t, "A", IR_ROLE_INPUT, 1, &m);
  ir_buf c = scheduled_buf(t, "C", IR_ROLE_LOCAL, 1, &m);
  ir_buf d = scheduled_buf(t, "D", IR_ROLE_OUTPUT, 1, &n);
  ir_stmt made = scheduled_block(t, "C", "S", &m);
  scheduled_store(t, c, t->it[0], 0, scheduled_load(t, a, t->it[0], 0), false);
  scheduled_block(t, "D", "SR", shape);
  ir_expr at = ir_add(&t->p, t->it[0], t->it[1]);
  ir_expr x = scheduled_load(t, c, at, 0);
  if (m < n + width - 1)
    x = ir_select(&t->p, ir_binary(&t->p, IR_LT, at, ir_index(&t->p, m)), x,
                  ir_real(&t->p, (tess_dtype){TESS_DTYPE_FLOAT, 32, 1}, 0));
  scheduled_store(t, d, t->it[0], 0, x, true);
  scheduled_finish(t);
  ir_stmt b = scheduled_get(t, "D");
  DO(t, split, AT(loop, scheduled_loop(t, b, 0)), INTS(factors, 4, 4));
  return made;
}

/* All that is read there is. */
static ir_stmt windows(scheduled *t, int64_t width) {
  return windows_of(t, 16 + width - 1, width);
}

static void test_windows(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_stmt c = windows(&t, 3);
  DO(&t, compute_at, AT(block, c),
     AT(loop, scheduled_loop(&t, scheduled_get(&t, "D"), 0)));
  DO(&t, rolling_buffer, AT(block, c), NUM(write_buffer_index, 0));
  scheduled_expect(&t,
                   "main(A: float32[18], D: out float32[16])\n"
                   "  alloc C: float32[6]\n"
                   "  for a_0 in range(4)\n"
                   "    for ax0 in range(6)\n"
                   "      block C(va: 18 = a_0 * 4 + ax0)\n"
                   "        where a_0 == 0 || 2 <= ax0\n"
                   "        C[va % 6] = A[va]\n"
                   "    for a_1 in range(4)\n"
                   "      for b in range(3)\n"
                   "        block D(va: 16 = a_0 * 4 + a_1, vb: reduce 3 = b)\n"
                   "          init\n"
                   "            D[va] = 0.0\n"
                   "          D[va] = D[va] + C[(va + vb) % 6]\n");
  assert_true(scheduled_same(&t));
  /* Its windows are carried on now, so they cannot be rolled again, and the
   * iterations cannot run at once. */
  REFUSED(&t, BLOCK_NOT_COMPLETE, rolling_buffer, AT(block, c),
          NUM(write_buffer_index, 0));
  assert_false(RUN(&t, parallel, AT(loop, scheduled_loop(&t, c, 0))));
  scheduled_end(&t);
}

static void test_rolling_refused(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_program *p = &t.p;
  ir_stmt c = windows(&t, 3), d = scheduled_get(&t, "D");
#define ROLL_REFUSED(WHY) \
  REFUSED(&t, WHY, rolling_buffer, AT(block, c), NUM(write_buffer_index, 0))
  ROLL_REFUSED(ROLLING_LOOP);
  assert_string_equal(scheduled_why(&t, "rolling_buffer"),
                      "rolling_buffer: no loop contains block \"C\" and all "
                      "readers of buffer \"C\"");
  REFUSED(&t, BUFFER_INDEX, rolling_buffer, AT(block, c),
          NUM(write_buffer_index, 1));
  REFUSED(&t, OUTPUT_BLOCK, rolling_buffer, AT(block, d),
          NUM(write_buffer_index, 0));
  ir_stmt i = scheduled_loop(&t, d, 0);
  DO(&t, compute_at, AT(block, c), AT(loop, i));
  DO(&t, parallel, AT(loop, i));
  ROLL_REFUSED(LOOP_NOT_SERIAL);
  ir_st(p, i)->loop_kind = IR_SERIAL;
  ir_stmt a = scheduled_loop(&t, c, 1);
  ir_iter *it = &p->iter.v[ir_blk(p, c)->iters.at];
  ir_expr bind = it->bind;
  it->bind = ir_add(p, bind, ir_ref(p, ir_st(p, a)->var));
  ROLL_REFUSED(ROLLING_CARRIED);
  p->iter.v[ir_blk(p, c)->iters.at].bind = bind;
  ir_expr strides = ir_index(p, 1);
  ir_buf buf = p->region.v[ir_blk(p, c)->writes.at].buf;
  ir_span was = p->buf.v[buf].strides;
  p->buf.v[buf].strides = ir_arg_span(p, 1, &strides);
  ROLL_REFUSED(BUFFER_STRIDED);
  p->buf.v[buf].strides = was;
  DO(&t, split, AT(loop, a), INTS(factors, 2, 3));
  ROLL_REFUSED(ROLLING_PATTERN);
  scheduled_end(&t);

  scheduled_start(&t);
  c = windows(&t, 1);
  DO(&t, compute_at, AT(block, c),
     AT(loop, scheduled_loop(&t, scheduled_get(&t, "D"), 0)));
  ROLL_REFUSED(ROLLING_NO_OVERLAP);
  scheduled_end(&t);
#undef ROLL_REFUSED
}

/* Tiles of tiles at once: each starts with a whole window, so that its windows
 * are its own; before and after the loop is made parallel. */
static void test_at_once(void **state) {
  (void)state;
  for (int after = 0; after < 2; after++) {
    scheduled t;
    scheduled_start(&t);
    ir_stmt c = windows(&t, 3), d = scheduled_get(&t, "D");
    DO(&t, split, AT(loop, scheduled_loop(&t, d, 0)), INTS(factors, 2, 2));
    ir_stmt outer = scheduled_loop(&t, d, 0);
    DO(&t, compute_at, AT(block, c), AT(loop, scheduled_loop(&t, d, 1)));
    if (!after) DO(&t, parallel, AT(loop, outer));
    DO(&t, rolling_buffer, AT(block, c), NUM(write_buffer_index, 0));
    if (after) DO(&t, parallel, AT(loop, outer));
    assert_false(RUN(&t, parallel, AT(loop, scheduled_loop(&t, d, 1))));
    scheduled_expect(&t,
                     "main(A: float32[18], D: out float32[16])\n"
                     "  alloc C: float32[6]\n"
                     "  for a_0_0 in parallel(2)\n"
                     "    for a_0_1 in range(2)\n"
                     "      for ax0 in range(6)\n"
                     "        block C(va: 18 = a_0_0 * 8 + a_0_1 * 4 + ax0)\n"
                     "          where a_0_1 == 0 || 2 <= ax0\n"
                     "          C[va % 6] = A[va]\n"
                     "      for a_1 in range(4)\n"
                     "        for b in range(3)\n"
                     "          block D(va: 16 = a_1 + a_0_0 * 8 + a_0_1 * 4, "
                     "vb: reduce 3 = b)\n"
                     "            init\n"
                     "              D[va] = 0.0\n"
                     "            D[va] = D[va] + C[(va + vb) % 6]\n");
    assert_true(scheduled_same(&t));
    scheduled_end(&t);
  }
}

/* Where tiles of tiles overhang, a first window is whole as far as anything is
 * read. */
static void test_overhang(void **state) {
  (void)state;
  for (int64_t f = 2; f < 4; f++) {
    scheduled t;
    scheduled_start(&t);
    ir_stmt c = windows(&t, 3), d = scheduled_get(&t, "D");
    DO(&t, split, AT(loop, scheduled_loop(&t, d, 0)), INTS(factors, 3, f));
    ir_stmt outer = scheduled_loop(&t, d, 0);
    DO(&t, compute_at, AT(block, c), AT(loop, scheduled_loop(&t, d, 1)));
    DO(&t, parallel, AT(loop, outer));
    DO(&t, rolling_buffer, AT(block, c), NUM(write_buffer_index, 0));
    assert_true(scheduled_same(&t));
    scheduled_end(&t);
  }
}

/* The first window of the last tile is not whole, since some of it would not
 * be read: that is not seen, and all would share one buffer. */
static void test_shared(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_stmt c = windows_of(&t, 17, 3), d = scheduled_get(&t, "D");
  DO(&t, split, AT(loop, scheduled_loop(&t, d, 0)), INTS(factors, 2, 3));
  ir_stmt outer = scheduled_loop(&t, d, 0);
  DO(&t, compute_at, AT(block, c), AT(loop, scheduled_loop(&t, d, 1)));
  DO(&t, parallel, AT(loop, outer));
  REFUSED(&t, ROLLING_SHARED, rolling_buffer, AT(block, c),
          NUM(write_buffer_index, 0));
  assert_string_equal(scheduled_why(&t, "rolling_buffer"),
                      "rolling_buffer: the windows of buffer \"C\" that "
                      "block \"C\" writes would be allocated outside of loop "
                      "a_0_0, whose parallel iterations are not proven to "
                      "use disjoint ones");
  assert_true(scheduled_same(&t));
  ir_st(&t.p, outer)->loop_kind = IR_SERIAL;
  DO(&t, rolling_buffer, AT(block, c), NUM(write_buffer_index, 0));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

/* Nobody reads it; or what it reads is made later in the iteration. */
static void test_inputs_refused(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_program *p = &t.p;
  ir_stmt c = windows(&t, 3), d = scheduled_get(&t, "D");
  ir_stmt i = scheduled_loop(&t, d, 0);
  DO(&t, compute_at, AT(block, c), AT(loop, i));
  ir_buf a = p->region.v[ir_blk(p, c)->reads.at].buf;
  ir_stmt w = ir_block_new(p, ir_name(p, "W"));
  ir_var v = ir_var_new(p, IR_VAR_ITER, ir_name(p, "vw"), IR_INDEX, 0, 3);
  ir_iter it = {v, IR_SPATIAL, ir_index(p, 0), ir_index(p, 4),
                ir_ref(p, ir_st(p, i)->var)};
  ir_expr at = ir_ref(p, v), box[2] = {at, ir_index(p, 1)};
  ir_append(p, w,
            ir_store_new(p, a, 1, &at,
                         ir_real(p, (tess_dtype){TESS_DTYPE_FLOAT, 32, 1}, 1)));
  ir_append(p, i, w);
  ir_block_set_iters(p, w, 1, &it);
  ir_region r = ir_region_new(p, a, box);
  ir_block_set_writes(p, w, 1, &r);
  REFUSED(&t, ROLLING_INPUT, rolling_buffer, AT(block, c),
          NUM(write_buffer_index, 0));
  ir_block_set_reads(p, d, 0, NULL);
  REFUSED(&t, NO_READER, rolling_buffer, AT(block, c),
          NUM(write_buffer_index, 0));
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_windows),
      cmocka_unit_test(test_rolling_refused),
      cmocka_unit_test(test_inputs_refused),
      cmocka_unit_test(test_at_once),
      cmocka_unit_test(test_overhang),
      cmocka_unit_test(test_shared),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
