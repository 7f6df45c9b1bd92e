/* SPDX-License-Identifier: Apache-2.0
 * compute_at where iterations run at once, and into and inside of blocks. */
#include "ir/edit.h"
#include "support/moved.h"

/* Iterations that run at once would write what others read: the elements
 * that the strided block leaves out keep the buffer from being theirs. */
static void test_compute_at_scopes_race(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_program *p = &t.p;
  int64_t n = 16, m = 6;
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 16);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 32);
  ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 6);
  ir_stmt bb = scheduled_block(&t, "B", "S", &n);
  ir_expr twice = ir_mul(p, t.it[0], ir_index(p, 2));
  scheduled_store(&t, b, twice, 0, scheduled_load(&t, a, t.it[0], 0), false);
  ir_stmt bc = scheduled_block(&t, "C", "S", &m);
  twice = ir_mul(p, t.it[0], ir_index(p, 2));
  scheduled_store(
      &t, c, t.it[0], 0,
      ir_binary(p, IR_ADD, scheduled_load(&t, b, twice, 0),
                scheduled_load(&t, b, scheduled_plus(&t, twice, 2), 0)),
      false);
  scheduled_finish(&t);
  ir_stmt l = scheduled_loop(&t, bc, 0);
  DO(&t, parallel, AT(loop, l));
  REFUSED(&t, WOULD_RACE, compute_at, AT(block, bb), AT(loop, l));
  assert_string_equal(
      scheduled_why(&t, "compute_at"),
      "compute_at: the parallel iterations of loop a would conflict on "
      "buffer \"B\" after this change of block \"B\"");
  moved_equal(&t);
  scheduled_end(&t);
}

/* Loops of another block, and blocks inside of a block. */
static void test_nested(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_program *p = &t.p;
  int64_t n = 12;
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 12);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 12);
  ir_buf d = moved_buf(&t, "D", IR_ROLE_OUTPUT, 12);
  ir_stmt root = t.root,
          outer = scheduled_block(&t, "outer", "S", (int64_t[]){3});
  /* outer(v) has blocks over [4 v, 4 v + 4) inside. */
  ir_expr base = ir_mul(p, t.it[0], ir_index(p, 4));
  (void)n;
  ir_stmt blk[2];
  t.root = outer;
  for (int k = 0; k < 2; k++) {
    blk[k] = scheduled_block(&t, k ? "D" : "B", "S", (int64_t[]){4});
    ir_span it = ir_blk(p, blk[k])->iters;
    ir_iter iter = p->iter.v[it.at];
    ir_var v = ir_var_new(p, IR_VAR_ITER, ir_name(p, "w"), IR_INDEX, 0, 11);
    iter.var = v;
    iter.extent = ir_index(p, 12);
    iter.bind = ir_add(p, base, iter.bind);
    ir_block_set_iters(p, blk[k], 1, &iter);
    scheduled_store(&t, k ? d : b, ir_ref(p, v), 0,
                    scheduled_load(&t, k ? b : a, ir_ref(p, v), 0), false);
  }
  t.root = root;
  ir_block_remove_alloc(p, root, b);
  ir_block_add_alloc(p, outer, b);
  ir_expr box[2] = {base, ir_index(p, 4)};
  ir_region in = ir_region_new(p, a, box), out = ir_region_new(p, d, box);
  ir_block_set_reads(p, outer, 1, &in);
  ir_block_set_writes(p, outer, 1, &out);
  scheduled_finish(&t);
  moved_equal(&t);
  REFUSED(&t, SCOPES_DIFFER, compute_at, AT(block, blk[0]),
          AT(loop, scheduled_loop(&t, outer, 0)));
  DO(&t, compute_at, AT(block, blk[0]),
     AT(loop, scheduled_loop(&t, blk[1], 0)));
  scheduled_expect(&t, "main(A: float32[12], D: out float32[12])\n"
                       "  for a in range(3)\n"
                       "    block outer(va: 3 = a)\n"
                       "      alloc B: float32[12]\n"
                       "      for a_1 in range(4)\n"
                       "        block B(w: 12 = va * 4 + a_1)\n"
                       "          B[w] = A[w]\n"
                       "        block D(w: 12 = va * 4 + a_1)\n"
                       "          D[w] = B[w]\n");
  moved_equal(&t);
  scheduled_end(&t);
}

/* In a block that reduces over blocks: its init uses what they write.  And a
 * scope where a loop's extent is read from a buffer. */
static void test_scopes(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    scheduled t;
    scheduled_start(&t);
    ir_program *p = &t.p;
    ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 8);
    ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 8);
    ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 8);
    ir_stmt root = t.root, outer = 0;
    if (k == 0)
      t.root = outer = scheduled_block(&t, "outer", "S", (int64_t[]){1});
    ir_stmt bb = moved_block(&t, "B", 8, b, 0, a, 0, 0);
    ir_stmt bc = moved_block(&t, "C", 8, c, 0, b, 0, 0);
    if (k == 0) {
      ir_expr zero = ir_index(p, 0);
      ir_append_alt(
          p, outer,
          ir_store_new(p, b, 1, &zero, ir_real(p, p->buf.v[b].dtype, 0)));
      ir_block_find_regions(p, &t.scratch, outer);
    } else {
      ir_expr zero = ir_index(p, 0);
      ir_expr n = ir_cast(p, IR_INDEX, ir_load(p, a, 1, &zero));
      ir_st(p, scheduled_loop(&t, bc, 0))->extent = n;
    }
    t.root = root;
    scheduled_finish(&t);
    ir_stmt l = scheduled_loop(&t, bc, 0);
    if (k == 0) {
      REFUSED(&t, INIT_OF_SCOPE, compute_at, AT(block, bb), AT(loop, l));
      REFUSED(&t, INIT_OF_SCOPE, compute_inline, AT(block, bb));
      REFUSED(&t, INIT_OF_SCOPE, cache_write, AT(block, bb),
              NUM(write_buffer_index, 0), STR(storage_scope, "local"));
    } else {
      REFUSED(&t, OTHER_STATEMENT, compute_at, AT(block, bb), AT(loop, l));
    }
    scheduled_end(&t);
  }
}

/* Instances that did not run before read what nobody has made: the window
 * that is wanted, clipped, would be computed as all of the buffer. */
static void test_partly_made(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_program *p = &t.p;
  int64_t n = 6;
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 3);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_OUTPUT, 6);
  ir_stmt block = scheduled_block(&t, "B", "S", &n);
  ir_expr i = t.it[0], half = ir_index(p, 3);
  ir_expr early = scheduled_load(&t, a, i, 0);
  ir_expr late = scheduled_load(&t, a, ir_sub(p, i, half), 0);
  scheduled_store(&t, b, i, 0,
                  ir_select(p, ir_binary(p, IR_LT, i, half), early, late),
                  false);
  scheduled_finish(&t);
  DO(&t, split, AT(loop, scheduled_loop(&t, block, 0)), INTS(factors, 6, 1));
  ir_stmt outer = scheduled_loop(&t, block, 0);
  DO(&t, read_at, AT(loop, scheduled_loop(&t, block, 1)), AT(block, block),
     NUM(read_buffer_index, 0), STR(storage_scope, "shared"));
  ir_stmt window = t.out[0];
  DO(&t, blockize, LIST(target, scheduled_loop(&t, block, 1)));
  ir_stmt around = t.out[0];
  DO(&t, cache_read, AT(block, window), NUM(read_buffer_index, 0),
     STR(storage_scope, "global"));
  ir_stmt copy = t.out[0];
  DO(&t, read_at, AT(loop, outer), AT(block, around), NUM(read_buffer_index, 0),
     STR(storage_scope, "shared"));
  moved_equal(&t);
  (void)RUN(&t, compute_at, AT(block, copy),
            AT(loop, scheduled_loop(&t, window, 0)));
  moved_equal(&t);
  scheduled_end(&t);
}

/* A reducer that keeps its sources' order moves as a whole, and has them at
 * its new place in the order of its iters: so it must have been before. */
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ordered),
      cmocka_unit_test(test_compute_at_scopes_race),
      cmocka_unit_test(test_nested),
      cmocka_unit_test(test_scopes),
      cmocka_unit_test(test_partly_made),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
