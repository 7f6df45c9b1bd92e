/* SPDX-License-Identifier: Apache-2.0
 * read_at and write_at, what can be inlined into their copies, and what
 * lowering makes of them. */
#include "ir/edit.h"
#include "support/moved.h"

/* C[16] = A[16] + 1 in tiles of n, D = C + 1. */
typedef struct chain {
  scheduled t;
  ir_stmt c, d, tile;
} chain;

static void start_chain(chain *x, int64_t n) {
  scheduled *t = &x->t;
  scheduled_start(t);
  ir_buf a = moved_buf(t, "A", IR_ROLE_INPUT, 16);
  ir_buf c = moved_buf(t, "C", IR_ROLE_LOCAL, 16);
  ir_buf d = moved_buf(t, "D", IR_ROLE_OUTPUT, 16);
  x->c = moved_block(t, "C", 16, c, 0, a, 0, a);
  x->d = moved_block(t, "D", 16, d, 0, c, 0, c);
  scheduled_finish(t);
  x->tile = scheduled_loop(t, x->c, 0);
  DO(t, split, AT(loop, x->tile), INTS(factors, SCH_AUTO, n));
  x->tile = scheduled_loop(t, x->c, 0);
}

static void annotate(scheduled *t, ir_stmt block, const char *key, int64_t v) {
  DO(t, annotate, AT(block_or_loop, block), STR(ann_key, key),
     AT(ann_val, ir_value_int(&t->p, v)));
}

static ir_stmt read_at(scheduled *t, ir_stmt loop, ir_stmt block, int64_t i,
                       const char *scope) {
  DO(t, read_at, AT(loop, loop), AT(block, block), NUM(read_buffer_index, i),
     STR(storage_scope, scope));
  return t->out[0];
}

static ir_stmt write_at(scheduled *t, ir_stmt loop, ir_stmt block,
                        const char *scope) {
  DO(t, write_at, AT(loop, loop), AT(block, block), NUM(write_buffer_index, 0),
     STR(storage_scope, scope));
  return t->out[0];
}

/* Tiles that fit: loops over the tile, no condition. */
static void test_tiles(void **state) {
  (void)state;
  chain x;
  start_chain(&x, 4);
  scheduled *t = &x.t;
  ir_stmt r = read_at(t, x.tile, x.c, 0, "shared");
  ir_stmt w = write_at(t, x.tile, x.c, "local");
  assert_int_equal(r, scheduled_get(t, "A_shared"));
  assert_int_equal(w, scheduled_get(t, "C_local"));
  scheduled_expect(t, "main(A: float32[16], D: out float32[16])\n"
                      "  alloc C: float32[16]\n"
                      "  alloc A_shared: float32[16] in shared\n"
                      "  alloc C_local: float32[16] in local\n"
                      "  for a_0 in range(4)\n"
                      "    block A_shared(v0: 4 = a_0) {auto_copy = 1}\n"
                      "      for ax0 in range(4)\n"
                      "        A_shared[v0 * 4 + ax0] = A[v0 * 4 + ax0]\n"
                      "    for a_1 in range(4)\n"
                      "      block C(va: 16 = a_0 * 4 + a_1)\n"
                      "        C_local[va] = A_shared[va] + A_shared[va]\n"
                      "    block C_local(v0: 4 = a_0) {auto_copy = 1}\n"
                      "      for ax0 in range(4)\n"
                      "        C[v0 * 4 + ax0] = C_local[v0 * 4 + ax0]\n"
                      "  for a in range(16)\n"
                      "    block D(va: 16 = a)\n"
                      "      D[va] = C[va] + C[va]\n");
  moved_equal(t);
  annotate(t, r, "local_stage", 1);
  annotate(t, r, "vector_bytes", 8);
  annotate(t, w, "vector_bytes", 16);
  moved_lowered_equal(t);
  DO(t, reverse_compute_inline, AT(block, x.d));
  moved_equal(t);
  moved_lowered_equal(t);
  scheduled_end(t);
}

/* Tiles that hang over the end: a condition keeps the copies in. */
static void test_overhang(void **state) {
  (void)state;
  chain x;
  start_chain(&x, 6);
  scheduled *t = &x.t;
  ir_stmt r = read_at(t, x.tile, x.c, 0, "local");
  ir_stmt w = write_at(t, x.tile, x.c, "local");
  moved_equal(t);
  annotate(t, r, "local_stage", 1);
  annotate(t, r, "vector_bytes", 8);
  annotate(t, w, "local_stage", 1);
  annotate(t, w, "vector_bytes", 12);
  DO(t, reverse_compute_inline, AT(block, x.d));
  moved_equal(t);
  moved_lowered_equal(t);
  scheduled_expect(
      t, "main(A: float32[16], D: out float32[16])\n"
         "  alloc A_local: float32[16] in local\n"
         "  alloc C_local: float32[16] in local\n"
         "  for a_0 in range(3)\n"
         "    block A_local(\n"
         "        v0: 3 = a_0) {auto_copy = 1, local_stage = 1, vector_bytes "
         "= 8}\n"
         "      for ax0 in range(6)\n"
         "        if v0 * 6 + ax0 < 16\n"
         "          A_local[v0 * 6 + ax0] = A[v0 * 6 + ax0]\n"
         "    for a_1 in range(6)\n"
         "      block C(va: 16 = a_0 * 6 + a_1)\n"
         "        where a_0 * 6 + a_1 < 16\n"
         "        C_local[va] = A_local[va] + A_local[va]\n"
         "    block C_local(\n"
         "        v0: 3 = a_0) {auto_copy = 1, local_stage = 1, vector_bytes "
         "= 12}\n"
         "      for ax0 in range(6)\n"
         "        if v0 * 6 + ax0 < 16\n"
         "          D[v0 * 6 + ax0] = C_local[v0 * 6 + ax0] + C_local[v0 * 6 + "
         "ax0]\n");
  scheduled_end(t);
}

/* A product: partial sums stay where they are added up, in the loops of the
 * copy, and the stage before and after goes into the copies. */
static void test_auto_copy_matmul(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 8, 10, 6);
  ir_stmt c = scheduled_get(&t, "C"), l[3];
  DO(&t, reindex, AT(block, c), SIDE(buffer, write, 0));
  ir_stmt back = t.out[0];
  DO(&t, reindex, AT(block, c), SIDE(buffer, read, 0));
  ir_stmt first = t.out[0];
  DO(&t, reindex, AT(block, c), SIDE(buffer, read, 1));
  ir_stmt second = t.out[0];
  for (uint32_t k = 0; k < 3; k++) l[k] = scheduled_loop(&t, c, k);
  DO(&t, split, AT(loop, l[2]), INTS(factors, 3, 2));
  DO(&t, split, AT(loop, l[1]), INTS(factors, 3, 4));
  DO(&t, split, AT(loop, l[0]), INTS(factors, 2, 4));
  ir_stmt v[6];
  for (uint32_t k = 0; k < 6; k++) v[k] = scheduled_loop(&t, c, k);
  DO(&t, reorder, LIST(ordered_loops, v[0], v[2], v[4], v[1], v[3], v[5]));
  DO(&t, bind, AT(loop, v[0]), STR(thread_axis, "blockIdx.x"));
  DO(&t, bind, AT(loop, v[2]), STR(thread_axis, "threadIdx.y"));
  ir_stmt w = write_at(&t, v[2], c, "local");
  DO(&t, reverse_compute_inline, AT(block, back));
  moved_equal(&t);
  ir_stmt ra = read_at(&t, v[4], c, 0, "global");
  ir_stmt rb = read_at(&t, v[4], c, 1, "shared");
  moved_equal(&t);
  DO(&t, compute_inline, AT(block, first));
  DO(&t, compute_inline, AT(block, second));
  DO(&t, reverse_compute_inline, AT(block, scheduled_get(&t, "D")));
  moved_equal(&t);
  annotate(&t, w, "vector_bytes", 16);
  annotate(&t, ra, "vector_bytes", 8);
  annotate(&t, ra, "local_stage", 1);
  annotate(&t, rb, "local_stage", 1);
  moved_lowered_equal(&t);
  /* The threads all read the rows of B that they share. */
  assert_non_null(strstr(scheduled_text(&t), "B_reindex_shared(v0: 3 = c_0)"));
  REFUSED(&t, WOULD_RACE, unannotate, AT(block_or_loop, ra),
          STR(ann_key, "auto_copy"));
  DO(&t, unannotate, AT(block_or_loop, rb), STR(ann_key, "auto_copy"));
  moved_lowered_equal(&t);
  scheduled_end(&t);
}

/* Windows overlap, so each iteration copies all that it reads. */
static void test_window(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 18);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 18);
  ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 16);
  moved_block(&t, "B", 18, b, 0, a, 0, 0);
  ir_stmt bc = moved_block(&t, "C", 16, c, 0, b, 2, b);
  scheduled_finish(&t);
  DO(&t, split, AT(loop, scheduled_loop(&t, bc, 0)), INTS(factors, 4, 4));
  ir_stmt tile = scheduled_loop(&t, bc, 0);
  DO(&t, parallel, AT(loop, tile));
  ir_stmt r = read_at(&t, tile, bc, 0, "local");
  assert_non_null(strstr(scheduled_text(&t),
                         "block B_local(v0: 13 = a_0 * 4) {auto_copy = 1}\n"
                         "      for ax0 in range(6)\n"
                         "        B_local[v0 + ax0] = B[v0 + ax0]\n"));
  moved_equal(&t);
  annotate(&t, r, "vector_bytes", 16);
  moved_lowered_equal(&t);
  DO(&t, compute_inline, AT(block, scheduled_get(&t, "B")));
  moved_equal(&t);
  scheduled_end(&t);
}

/* ---- refusals ----------------------------------------------------------- */

static void test_operands(void **state) {
  (void)state;
  chain x;
  start_chain(&x, 4);
  scheduled *t = &x.t;
  REFUSED(t, STORAGE_UNKNOWN, read_at, AT(loop, x.tile), AT(block, x.c),
          NUM(read_buffer_index, 0), STR(storage_scope, "cloud"));
  REFUSED(t, LOOP_NOT_AROUND, read_at, AT(loop, x.tile), AT(block, x.d),
          NUM(read_buffer_index, 0), STR(storage_scope, "local"));
  REFUSED(t, LOOP_NOT_AROUND, write_at, AT(loop, x.tile), AT(block, x.d),
          NUM(write_buffer_index, 0), STR(storage_scope, "local"));
  REFUSED(t, BUFFER_INDEX, write_at, AT(loop, x.tile), AT(block, x.c),
          NUM(write_buffer_index, 1), STR(storage_scope, "local"));
  scheduled_end(t);
}

/* What is read under the loop is made there, or changed there. */
static void test_made_there(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 8);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 8);
  ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 8);
  ir_stmt bb = moved_block(&t, "B", 8, b, 0, a, 0, 0);
  ir_stmt bc = moved_block(&t, "C", 8, c, 0, b, 0, 0);
  moved_join(&t, bb, bc);
  scheduled_finish(&t);
  ir_stmt l = scheduled_loop(&t, bb, 0);
  read_at(&t, l, bc, 0, "local");
  moved_equal(&t);
  DO(&t, split, AT(loop, l), INTS(factors, 2, 4));
  l = scheduled_loop(&t, bb, 0);
  ir_stmt copy = t.out[0];
  (void)copy;
  REFUSED(&t, COPY_OVERWRITTEN, read_at, AT(loop, l),
          AT(block, scheduled_get(&t, "B_local")), NUM(read_buffer_index, 0),
          STR(storage_scope, "local"));
  assert_string_equal(scheduled_why(&t, "read_at"),
                      "read_at: block \"B\" writes buffer \"B\" where block "
                      "\"B_local\" would already read the copy");
  scheduled_end(&t);
}

/* Elements that nobody may have made; two writers; a part of a box. */
static void test_parts(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_program *p = &t.p;
  int64_t n = 8;
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 8);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 16);
  ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 8);
  ir_stmt bb = scheduled_block(&t, "B", "S", &n);
  scheduled_store(&t, b, ir_mul(p, t.it[0], ir_index(p, 2)), 0,
                  scheduled_load(&t, a, t.it[0], 0), false);
  ir_stmt bc = scheduled_block(&t, "C", "S", &n);
  scheduled_store(&t, c, t.it[0], 0,
                  scheduled_load(&t, b, ir_mul(p, t.it[0], ir_index(p, 2)), 0),
                  false);
  ir_stmt bu = moved_block(&t, "U", 8, b, 0, a, 0, 0);
  scheduled_finish(&t);
  DO(&t, split, AT(loop, scheduled_loop(&t, bb, 0)), INTS(factors, 2, 4));
  DO(&t, split, AT(loop, scheduled_loop(&t, bc, 0)), INTS(factors, 2, 4));
  REFUSED(&t, NOT_COVERED, read_at, AT(loop, scheduled_loop(&t, bc, 0)),
          AT(block, bc), NUM(read_buffer_index, 0),
          STR(storage_scope, "local"));
  REFUSED(&t, SEVERAL_WRITERS, write_at, AT(loop, scheduled_loop(&t, bb, 0)),
          AT(block, bb), NUM(write_buffer_index, 0),
          STR(storage_scope, "local"));
  (void)bu;
  scheduled_end(&t);
}

static void test_not_whole(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_program *p = &t.p;
  int64_t n = 8;
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 8);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_OUTPUT, 16);
  ir_stmt bb = scheduled_block(&t, "B", "S", &n);
  scheduled_store(&t, b, ir_mul(p, t.it[0], ir_index(p, 2)), 0,
                  scheduled_load(&t, a, t.it[0], 0), false);
  ir_stmt bu = moved_block(&t, "U", 8, a, 0, a, 0, 0);
  scheduled_finish(&t);
  DO(&t, split, AT(loop, scheduled_loop(&t, bb, 0)), INTS(factors, 2, 4));
  REFUSED(&t, REGION_NOT_WHOLE, write_at, AT(loop, scheduled_loop(&t, bb, 0)),
          AT(block, bb), NUM(write_buffer_index, 0),
          STR(storage_scope, "local"));
  REFUSED(&t, INPUT_WRITTEN, write_at, AT(loop, scheduled_loop(&t, bu, 0)),
          AT(block, bu), NUM(write_buffer_index, 0),
          STR(storage_scope, "local"));
  scheduled_end(&t);
}

/* A copy that makes more than is wanted cannot be made to make less. */
static void test_partial(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 16);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 16);
  ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 16);
  ir_stmt bb = moved_block(&t, "B", 16, b, 0, a, 0, 0);
  ir_stmt bc = moved_block(&t, "C", 10, c, 0, b, 0, 0);
  scheduled_finish(&t);
  DO(&t, split, AT(loop, scheduled_loop(&t, bb, 0)), INTS(factors, 4, 4));
  write_at(&t, scheduled_loop(&t, bb, 0), bb, "local");
  REFUSED(&t, COPY_PARTIAL, reverse_compute_inline, AT(block, bc));
  assert_string_equal(scheduled_why(&t, "reverse_compute_inline"),
                      "reverse_compute_inline: block \"C\" reads only a part "
                      "of the region that block \"B_local\" copies");
  scheduled_end(&t);
}

/* Nor to spread it out. */
static void test_spread(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_program *p = &t.p;
  int64_t n = 14, shape[2] = {5, 3};
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 14);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 14);
  ir_buf c = scheduled_buf(&t, "C", IR_ROLE_OUTPUT, 2, shape);
  ir_stmt bb = moved_block(&t, "B", 14, b, 0, a, 0, 0);
  ir_stmt bc = scheduled_block(&t, "C", "S", &n);
  ir_expr three = ir_index(p, 3);
  scheduled_store(&t, c, ir_binary(p, IR_DIV, t.it[0], three),
                  ir_binary(p, IR_MOD, t.it[0], three),
                  scheduled_load(&t, b, t.it[0], 0), false);
  scheduled_finish(&t);
  DO(&t, split, AT(loop, scheduled_loop(&t, bb, 0)), INTS(factors, 2, 7));
  write_at(&t, scheduled_loop(&t, bb, 0), bb, "local");
  REFUSED(&t, COPY_NO_BOX, reverse_compute_inline, AT(block, bc));
  assert_string_equal(scheduled_why(&t, "reverse_compute_inline"),
                      "reverse_compute_inline: the region that block "
                      "\"B_local\" copies for block \"C\" is no box of "
                      "buffer \"C\"");
  scheduled_end(&t);
}

/* What a block that copies says it reads is a box; not all of that is read,
 * or was ever made. */
static void test_gaps(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_program *p = &t.p;
  int64_t n = 4, shape[2] = {2, 3};
  ir_expr three = ir_index(p, 3);
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 4);
  ir_buf b = scheduled_buf(&t, "B", IR_ROLE_LOCAL, 2, shape);
  ir_buf c = moved_buf(&t, "C", IR_ROLE_LOCAL, 4);
  ir_buf d = moved_buf(&t, "D", IR_ROLE_OUTPUT, 4);
  (void)scheduled_block(&t, "B", "S", &n);
  scheduled_store(&t, b, ir_binary(p, IR_DIV, t.it[0], three),
                  ir_binary(p, IR_MOD, t.it[0], three),
                  scheduled_load(&t, a, t.it[0], 0), false);
  ir_stmt bc = scheduled_block(&t, "C", "S", &n);
  scheduled_store(&t, c, t.it[0], 0,
                  scheduled_load(&t, b, ir_binary(p, IR_DIV, t.it[0], three),
                                 ir_binary(p, IR_MOD, t.it[0], three)),
                  false);
  (void)moved_block(&t, "D", 4, d, 0, c, 0, 0);
  scheduled_finish(&t);
  DO(&t, split, AT(loop, scheduled_loop(&t, bc, 0)), INTS(factors, 1, 4));
  write_at(&t, scheduled_loop(&t, bc, 0), bc, "local");
  ir_stmt copy = t.out[0];
  DO(&t, compute_inline, AT(block, bc));
  DO(&t, blockize, LIST(target, scheduled_loop(&t, copy, 0)));
  moved_equal(&t);
  REFUSED(&t, REGION_NOT_WHOLE, read_at, AT(loop, scheduled_loop(&t, copy, 0)),
          AT(block, copy), NUM(read_buffer_index, 0),
          STR(storage_scope, "local"));
  scheduled_end(&t);
}

/* Threads share a copy that overhangs what is copied, and still each of them
 * is seen to have filled what it reads. */
static void test_threads_overhang(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 16);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_OUTPUT, 16);
  ir_stmt bb = moved_block(&t, "B", 16, b, 0, a, 0, 0);
  scheduled_finish(&t);
  DO(&t, split, AT(loop, scheduled_loop(&t, bb, 0)), INTS(factors, 3, 8));
  ir_stmt tile = scheduled_loop(&t, bb, 0);
  DO(&t, bind, AT(loop, tile), STR(thread_axis, "threadIdx.y"));
  read_at(&t, tile, bb, 0, "shared");
  moved_lowered_equal(&t);
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tiles),
      cmocka_unit_test(test_overhang),
      cmocka_unit_test(test_auto_copy_matmul),
      cmocka_unit_test(test_window),
      cmocka_unit_test(test_operands),
      cmocka_unit_test(test_made_there),
      cmocka_unit_test(test_parts),
      cmocka_unit_test(test_not_whole),
      cmocka_unit_test(test_partial),
      cmocka_unit_test(test_spread),
      cmocka_unit_test(test_gaps),
      cmocka_unit_test(test_threads_overhang),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
