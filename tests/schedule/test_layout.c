/* SPDX-License-Identifier: Apache-2.0
 * transform_layout and transform_block_layout: what they make and refuse. */
#include "ir/edit.h"
#include "ir/query.h"
#include "support/moved.h"

/* C of a matrix product of m x n, between the product and what reads it. */
static ir_stmt layout_matmul(scheduled *t, int64_t m, int64_t n) {
  scheduled_start(t);
  scheduled_matmul(t, m, n, 5);
  return scheduled_get(t, "C");
}

#define LAYOUT(t, c, map, ...)                                \
  DO((t), transform_layout, AT(block, (c)), STR(buffer, "C"), \
     STR(index_map, (map)), ##__VA_ARGS__)

static void test_digits(void **state) {
  (void)state;
  scheduled t;
  ir_stmt c = layout_matmul(&t, 8, 6);
  LAYOUT(&t, c, "(i, j) -> (i // 4, j, i % 4)");
  scheduled_expect(
      &t, "main(A: float32[8, 5], B: float32[5, 6], D: out float32[8, 6])\n"
          "  alloc C: float32[2, 6, 4]\n"
          "  for a in range(8)\n"
          "    for b in range(6)\n"
          "      for c in range(5)\n"
          "        block C(va: 8 = a, vb: 6 = b, vc: reduce 5 = c)\n"
          "          init\n"
          "            C[va // 4, vb, va % 4] = 0.0\n"
          "          C[va // 4, vb, va % 4] = C[va // 4, vb, va % 4] + "
          "A[va, vc] * B[vc, vb]\n"
          "  for a in range(8)\n"
          "    for b in range(6)\n"
          "      block D(va: 8 = a, vb: 6 = b)\n"
          "        D[va, vb] = max(C[va // 4, vb, va % 4] + 1.0, 0.0)\n");
  moved_equal(&t);
  LAYOUT(&t, c, "(i, j, k) -> (i * 24 + k * 6 + j)");
  LAYOUT(&t, c, "(i) -> (i // 6, i % 6)");
  assert_non_null(strstr(scheduled_text(&t), "C[va, vb] = 0.0"));
  moved_equal(&t);
  LAYOUT(&t, c, "(i, j) -> (j, i // 2, i % 2)");
  /* Blocks that move later find the regions right. */
  DO(&t, reverse_compute_at, AT(block, scheduled_get(&t, "D")),
     AT(loop, scheduled_loop(&t, c, 1)));
  moved_equal(&t);
  /* Found by trying all. */
  LAYOUT(&t, c, "(i, j, k) -> ((i + j) % 6, j, k)");
  moved_equal(&t);
  scheduled_end(&t);
}

/* One block alone uses the buffer, and nobody reads it: it lives in that block,
 * where there is no place for padding. */
static void test_padding_alone(void **state) {
  (void)state;
  scheduled t;
  ir_stmt d = (layout_matmul(&t, 4, 6), scheduled_get(&t, "D"));
  ir_stmt c = scheduled_get(&t, "C");
  DO(&t, cache_write, AT(block, c), NUM(write_buffer_index, 0),
     STR(storage_scope, "global"), LIST(consumer_blocks, d));
  ir_stmt copy = scheduled_get(&t, "C_global");
  DO(&t, transform_layout, AT(block, copy), STR(buffer, "C"),
     STR(index_map, "(i, j) -> (i + 1, j)"), NUM(pad_value, 3));
  moved_equal(&t);
  scheduled_end(&t);
}

static void test_padding(void **state) {
  (void)state;
  scheduled t;
  ir_stmt c = layout_matmul(&t, 10, 6);
  LAYOUT(&t, c, "(i, j) -> (i // 4, j + 1, i % 4)", NUM(pad_value, 3));
  assert_non_null(
      strstr(scheduled_text(&t),
             "  alloc C: float32[3, 7, 4]\n"
             "  for ax0 in range(3)\n"
             "    for ax1 in range(7)\n"
             "      for ax2 in range(4)\n"
             "        block C_pad(v0: 3 = ax0, v1: 7 = ax1, v2: 4 = ax2)\n"
             "          where 10 <= ax2 + ax0 * 4 || ax1 < 1\n"
             "          C[v0, v1, v2] = 3.0\n"));
  moved_equal(&t);
  scheduled_end(&t);
  /* A map as the pad value; the buffer lives in a loop that runs at once. */
  c = layout_matmul(&t, 6, 6);
  ir_stmt i = scheduled_loop(&t, c, 0);
  DO(&t, reverse_compute_at, AT(block, scheduled_get(&t, "D")), AT(loop, i));
  DO(&t, parallel, AT(loop, i));
  LAYOUT(&t, c, "(i, j) -> (i, j + 2)",
         STR(pad_value, "(i, j) -> (i * 100 + j)"));
  assert_non_null(strstr(scheduled_text(&t), "  for a in parallel(6)\n"
                                             "    for ax0 in range(6)\n"
                                             "      for ax1 in range(8)\n"
                                             "        block C_pad("));
  moved_equal(&t);
  scheduled_end(&t);
}

/* What is new may hold anything where that is said, and no two elements are
 * seen to meet: nobody writes it, and nobody reads it. */
static void test_undefined(void **state) {
  (void)state;
  scheduled t;
  ir_stmt c = layout_matmul(&t, 10, 6);
  LAYOUT(&t, c, "(i, j) -> (i // 4, j + 1, i % 4)",
         NUM(assume_injective_transform, 1));
  assert_non_null(strstr(scheduled_text(&t), "  alloc C: float32[3, 7, 4]\n"
                                             "  for a in range(10)\n"));
  moved_equal(&t);
  /* Where the map cannot be solved, too. */
  LAYOUT(&t, c, "(i, j, k) -> (i * (2 * i + 1) % 16, j, k)",
         NUM(assume_injective_transform, 1));
  moved_equal(&t);
  /* A pad value is written all the same. */
  LAYOUT(&t, c, "(i, j, k) -> (i, j, k + 1)", NUM(pad_value, 1),
         NUM(assume_injective_transform, 1));
  assert_non_null(strstr(scheduled_text(&t), "block C_pad("));
  moved_equal(&t);
  scheduled_end(&t);
}

/* A copy of all that the block around the readers declares would read what
 * nobody has written. */
static void test_undefined_copied(void **state) {
  (void)state;
  scheduled t;
  ir_stmt c = layout_matmul(&t, 4, 6), d = scheduled_get(&t, "D");
  DO(&t, blockize, LIST(target, scheduled_loop(&t, d, 0)));
  ir_stmt all = t.out[0];
  LAYOUT(&t, c, "(i, j) -> (i, j * 2)", NUM(assume_injective_transform, 1));
  moved_equal(&t);
  REFUSED(&t, REGION_NOT_WHOLE, cache_read, AT(block, all),
          NUM(read_buffer_index, 0), STR(storage_scope, "local"));
  REFUSED(&t, REGION_NOT_WHOLE, cache_read, AT(block, d),
          NUM(read_buffer_index, 0), STR(storage_scope, "local"));
  scheduled_end(&t);
}

/* Regions of blocks around others. */
static void test_regions(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_program *p = &t.p;
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 12);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 12);
  ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 12);
  moved_block(&t, "B", 12, b, 0, a, 0, 0);
  moved_block(&t, "C", 12, c, 0, b, 0, 0);
  scheduled_finish(&t);
  /* Both blocks go into ones that declare four elements each. */
  for (int k = 0; k < 2; k++) {
    ir_stmt in = scheduled_get(&t, k ? "C" : "B");
    DO(&t, split, AT(loop, scheduled_loop(&t, in, 0)), INTS(factors, 3, 4));
    ir_stmt inner = scheduled_loop(&t, in, 1),
            outer = scheduled_loop(&t, in, 0);
    ir_stmt box = ir_block_new(p, ir_name(p, k ? "C_o" : "B_o"));
    ir_wrap(p, inner, box);
    ir_var v = ir_var_new(p, IR_VAR_ITER, ir_name(p, "o"), IR_INDEX, 0, 2);
    ir_iter it = {v, IR_SPATIAL, ir_index(p, 0), ir_index(p, 3),
                  ir_ref(p, ir_st(p, outer)->var)};
    ir_block_set_iters(p, box, 1, &it);
    ir_expr at = ir_mul(p, ir_ref(p, v), ir_index(p, 4));
    ir_iter old = p->iter.v[ir_blk(p, in)->iters.at];
    old.bind = ir_add(p, at, ir_ref(p, ir_st(p, inner)->var));
    ir_block_set_iters(p, in, 1, &old);
    ir_block_find_regions(p, &t.scratch, box);
  }
  moved_equal(&t);
  ir_stmt in = scheduled_get(&t, "B");
  REFUSED(&t, REGION_NO_BOX, transform_layout, AT(block, in), STR(buffer, "B"),
          STR(index_map, "(i) -> (i // 3, i % 3)"));
  DO(&t, transform_layout, AT(block, in), STR(buffer, "B"),
     STR(index_map, "(i) -> (i // 2, i % 2)"));
  ir_region w = p->region.v[ir_blk(p, ir_scope_of(p, in))->writes.at];
  assert_true(ir_is_const(p, ir_region_extent(p, w, 0), 2));
  assert_true(ir_is_const(p, ir_region_extent(p, w, 1), 2));
  moved_equal(&t);
  (void)a, (void)c;
  scheduled_end(&t);
}

/* ---- refusals ----------------------------------------------------------- */

#define NO(REASON, map, ...)                                            \
  REFUSED(&t, REASON, transform_layout, AT(block, c), STR(buffer, "C"), \
          STR(index_map, map), ##__VA_ARGS__)

static void test_maps_refused(void **state) {
  (void)state;
  scheduled t;
  ir_stmt c = layout_matmul(&t, 10, 6);
  NO(MAP_ARITY, "(i) -> (i)");
  assert_string_equal(scheduled_why(&t, "transform_layout"),
                      "transform_layout: the index map has 1 parameters for 2 "
                      "indices");
  NO(MAP_EMPTY, "(i, j) -> ()");
  NO(MAP_NEGATIVE, "(i, j) -> (i, j - 1)");
  NO(MAP_LARGE, "(i, j) -> (i * 1000000000000, j * 1000000000000)");
  NO(MAP_LARGE, "(i, j) -> (i * 9000000000000000000, j)");
  NO(MAP_COLLIDES, "(i, j) -> (i // 2, j)");
  assert_string_equal(scheduled_why(&t, "transform_layout"),
                      "transform_layout: the index map is not injective: (0, "
                      "0) and (1, 0) both go to (0, 0)");
  NO(MAP_COLLIDES, "(i, j) -> (i + j, i * 0 + 20)");
  assert_string_equal(scheduled_why(&t, "transform_layout"),
                      "transform_layout: the index map is not injective: (0, "
                      "1) and (1, 0) both go to (1, 20)");
  NO(PAD_MISSING, "(i, j) -> (i // 4, j, i % 4)");
  assert_string_equal(
      scheduled_why(&t, "transform_layout"),
      "transform_layout: 12 elements of the new layout of buffer \"C\" "
      "correspond to no old one: give a pad value");
  NO(PAD_MAP, "(i, j) -> (i // 4, j, i % 4)", STR(pad_value, "(i) -> (i)"));
  NO(PAD_MAP, "(i, j) -> (i // 4, j, i % 4)",
     STR(pad_value, "(i, j, k) -> (i, j)"));
  NO(MAP_UNSOLVED, "(i, j) -> (i * (2 * i + 1) % 16, j)", NUM(pad_value, 0));
  scheduled_end(&t);
  c = layout_matmul(&t, 300, 300);
  NO(MAP_COLLIDES, "(i, j) -> (i // 2, j)");
  assert_string_equal(scheduled_why(&t, "transform_layout"),
                      "transform_layout: the index map is not injective: (0, "
                      "0) and (1, 0) both go to (0, 0)");
  scheduled_end(&t);
  /* Too many to be tried, unless they are said not to meet. */
  c = layout_matmul(&t, 300, 300);
  NO(MAP_INJECTIVE_UNPROVEN, "(i, j) -> ((i * 7 + j) % 300, j)");
  LAYOUT(&t, c, "(i, j) -> ((i * 7 + j) % 300, j)",
         NUM(assume_injective_transform, 1));
  /* What is only trusted leaves nothing undefined. */
  NO(PAD_MISSING, "(i, j) -> ((i * 7 + j) % 300, j + 1)",
     NUM(assume_injective_transform, 1));
  NO(MAP_COLLIDES, "(i, j) -> (i // 2, j)", NUM(assume_injective_transform, 1));
  scheduled_end(&t);
}

static void test_buffers_refused(void **state) {
  (void)state;
  scheduled t;
  ir_stmt c = layout_matmul(&t, 8, 6);
  ir_program *p = &t.p;
  ir_buf buf = p->region.v[ir_blk(p, c)->writes.at].buf;
  REFUSED(&t, BUFFER_SIDE_OPEN, transform_layout, AT(block, c), NUM(buffer, 0),
          STR(index_map, "(i, j) -> (j, i)"));
  REFUSED(&t, PARAMETER_FIXED, transform_layout, AT(block, c),
          SIDE(buffer, read, 0), STR(index_map, "(i, j) -> (j, i)"));
  ir_expr strides[2] = {ir_index(p, 7), ir_index(p, 1)};
  ir_span given = ir_arg_span(p, 2, strides);
  p->buf.v[buf].strides = given;
  NO(BUFFER_STRIDED, "(i, j) -> (j, i)");
  p->buf.v[buf].strides = (ir_span){0, 0};
  p->buf.v[buf].dtype = (tess_dtype){TESS_DTYPE_INT, 8, 1};
  NO(PAD_TYPE, "(i, j) -> (j, i + 1)", NUM(pad_value, 128));
  p->buf.v[buf].holds = IR_HOLDS_RANGE;
  p->buf.v[buf].least = 1;
  p->buf.v[buf].most = 7;
  NO(PAD_RANGE, "(i, j) -> (j, i + 1)", NUM(pad_value, 8));
  scheduled_end(&t);
  /* Of a shape that may be empty. */
  c = layout_matmul(&t, 8, 6);
  buf = p->region.v[ir_blk(p, c)->writes.at].buf;
  ir_var n = ir_var_new(p, IR_VAR_SIZE, ir_name(p, "n"), IR_INDEX, 0, 100);
  ir_expr shape[2] = {ir_ref(p, n), ir_index(p, 6)};
  given = ir_arg_span(p, 2, shape);
  p->buf.v[buf].shape = given;
  NO(MAP_OPEN, "(i, j) -> (j, i)");
  scheduled_end(&t);
  /* A part of it is matched to another buffer. */
  c = layout_matmul(&t, 8, 6);
  buf = p->region.v[ir_blk(p, c)->writes.at].buf;
  ir_stmt d = scheduled_get(&t, "D");
  ir_buf part = ir_buf_new(p, ir_name(p, "part"), p->buf.v[buf].dtype, 2,
                           (ir_expr[]){ir_index(p, 1), ir_index(p, 1)},
                           IR_SCOPE_GLOBAL, IR_ROLE_LOCAL);
  ir_match m = {part, p->region.v[ir_blk(p, d)->reads.at]};
  uint32_t at = vec_push(p->heap, &p->match, m);
  ir_blk(p, d)->matches = (ir_span){at, 1};
  NO(OPAQUE_ACCESS, "(i, j) -> (j, i)");
  scheduled_end(&t);
}

/* What is not seen to be each iteration's own any more: a permutation, but
 * not a quasi-affine one. */
static void test_layout_race(void **state) {
  (void)state;
  scheduled t;
  ir_stmt c = layout_matmul(&t, 8, 6);
  DO(&t, parallel, AT(loop, scheduled_loop(&t, c, 0)));
  NO(WOULD_RACE, "(i, j) -> (i * (2 * i + 1) % 8, j)");
  LAYOUT(&t, c, "(i, j) -> (j, i // 2, i % 2)");
  moved_equal(&t);
  scheduled_end(&t);
}

/* ---- transform_block_layout --------------------------------------------- */

#define BLOCK(t, b, map) \
  DO((t), transform_block_layout, AT(block, (b)), STR(index_map, (map)))
#define NO_BLOCK(REASON, b, map)                              \
  REFUSED(&t, REASON, transform_block_layout, AT(block, (b)), \
          STR(index_map, map))

static void test_block(void **state) {
  (void)state;
  scheduled t;
  ir_stmt c = layout_matmul(&t, 8, 6), d = scheduled_get(&t, "D");
  BLOCK(&t, c, "(i, j, k) -> (i // 4, j, k, i % 4)");
  assert_non_null(
      strstr(scheduled_text(&t),
             "  for ax0 in range(2)\n"
             "    for ax1 in range(6)\n"
             "      for ax2 in range(5)\n"
             "        for ax3 in range(4)\n"
             "          block C(v0: 2 = ax0, v1: 6 = ax1, v2: reduce 5 = ax2, "
             "v3: 4 = ax3)\n"
             "            init\n"
             "              C[v0 * 4 + v3, v1] = 0.0\n"));
  moved_equal(&t);
  BLOCK(&t, d, "(i, j) -> (5 - j, 0, i)");
  moved_equal(&t);
  BLOCK(&t, d, "(i, z, j) -> (i * 8 + j)");
  moved_equal(&t);
  scheduled_end(&t);
}

static void test_block_refused(void **state) {
  (void)state;
  scheduled t;
  ir_stmt c = layout_matmul(&t, 8, 6), d = scheduled_get(&t, "D");
  NO_BLOCK(BLOCK_IS_ROOT, t.root, "(i) -> (i)");
  NO_BLOCK(MAP_NOT_SURJECTIVE, d, "(i, j) -> (i, j + 1)");
  NO_BLOCK(MAP_MIXES, c, "(i, j, k) -> (i, j * 5 + k)");
  assert_string_equal(scheduled_why(&t, "transform_block_layout"),
                      "transform_block_layout: result 1 of the index map mixes "
                      "spatial, reduce and ordered iters of block \"C\"");
  NO_BLOCK(MAP_ARITY, d, "(i) -> (i)");
  NO_BLOCK(MAP_UNSOLVED, d, "(i, j) -> ((i * 3 + j) % 8, j)");
  ir_stmt i = scheduled_loop(&t, d, 0), j = scheduled_loop(&t, d, 1);
  DO(&t, vectorize, AT(loop, j));
  NO_BLOCK(LOOP_NOT_SERIAL, d, "(i, j) -> (j, i)");
  ir_st(&t.p, j)->loop_kind = IR_SERIAL;
  ir_anno_set(&t.p, i, ir_name(&t.p, "note"), ir_value_int(&t.p, 1));
  NO_BLOCK(LOOP_ANNOTATED, d, "(i, j) -> (j, i)");
  assert_true(ir_anno_remove(&t.p, i, "note"));
  DO(&t, split, AT(loop, j), INTS(factors, 2, 3));
  NO_BLOCK(NOT_TRIVIAL, d, "(i, j) -> (j, i)");
  DO(&t, reverse_compute_at, AT(block, d), AT(loop, scheduled_loop(&t, c, 1)));
  NO_BLOCK(NOT_ONLY_CHILD, c, "(i, j, k) -> (j, i, k)");
  moved_equal(&t);
  scheduled_end(&t);
}

/* In place, in order: only maps that keep the order. */
static void test_block_order(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_buf x = moved_buf(&t, "X", IR_ROLE_OUTPUT, 12);
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 12);
  moved_block(&t, "start", 12, x, 0, a, 0, 0);
  int64_t n = 8;
  ir_stmt b = scheduled_block(&t, "B", "O", &n);
  scheduled_store(&t, x, scheduled_plus(&t, t.it[0], 1), 0,
                  scheduled_load(&t, x, t.it[0], 0), false);
  scheduled_finish(&t);
  NO_BLOCK(BLOCK_NOT_COMPLETE, b, "(i) -> (i % 4, i // 4)");
  BLOCK(&t, b, "(i) -> (i // 4, i % 4)");
  ir_span it = ir_blk(&t.p, b)->iters;
  assert_int_equal(t.p.iter.v[it.at + 1].kind, IR_OPAQUE);
  moved_equal(&t);
  scheduled_end(&t);
}

/* A region without constant extents becomes the whole buffer; so do those of
 * the blocks around. */
static void test_layout_triangle(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  int64_t s[2] = {2, 2};
  ir_program *p = &t.p;
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 1, s);
  ir_buf y = scheduled_buf(&t, "Y", IR_ROLE_LOCAL, 1, s);
  ir_buf z = scheduled_buf(&t, "Z", IR_ROLE_OUTPUT, 2, s);
  scheduled_block(&t, "Y", "S", s);
  scheduled_store(&t, y, t.it[0], 0, scheduled_load(&t, a, t.it[0], 0), false);
  ir_stmt b = scheduled_block(&t, "Z", "SS", s);
  scheduled_store(&t, z, t.it[0], t.it[1], scheduled_load(&t, y, t.it[1], 0),
                  false);
  ir_stmt i = scheduled_loop(&t, b, 0), j = scheduled_loop(&t, b, 1);
  ir_st(p, j)->extent = ir_add(p, ir_ref(p, ir_st(p, i)->var), ir_index(p, 1));
  scheduled_finish(&t);
  DO(&t, blockize, LIST(target, j));
  DO(&t, blockize, LIST(target, i));
  DO(&t, transform_layout, AT(block, t.out[0]), STR(buffer, "Y"),
     STR(index_map, "(i) -> (i + 1)"), NUM(pad_value, 0));
  moved_equal(&t);
  scheduled_end(&t);
}

/* The last tile says that it may access what the buffer does not have, where
 * the map means nothing: no box of the new layout is known to be written, and
 * what is read is all that the box could be. */
static void test_overhang(void **state) {
  (void)state;
  static const char *const maps[] = {"(i) -> (9 - i)", "(i) -> ((i + 5) % 10)",
                                     "(i) -> (i // 5, i % 5)"};
  for (int k = 0; k < 6; k++) {
    scheduled t;
    scheduled_start(&t);
    ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 10);
    ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 10);
    ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 10);
    moved_block(&t, "B", 10, b, 0, a, 0, 0);
    moved_block(&t, "C", 10, c, 0, b, 0, 0);
    scheduled_finish(&t);
    ir_stmt in = scheduled_get(&t, k < 3 ? "B" : "C");
    DO(&t, split, AT(loop, scheduled_loop(&t, in, 0)), INTS(factors, 3, 4));
    DO(&t, blockize, LIST(target, scheduled_loop(&t, in, 1)));
    ir_stmt made = scheduled_get(&t, "B");
    if (k < 3)
      REFUSED(&t, REGION_NO_BOX, transform_layout, AT(block, made),
              STR(buffer, "B"), STR(index_map, maps[k]));
    else
      DO(&t, transform_layout, AT(block, made), STR(buffer, "B"),
         STR(index_map, maps[k - 3]));
    moved_equal(&t);
    scheduled_end(&t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_digits),
      cmocka_unit_test(test_padding),
      cmocka_unit_test(test_padding_alone),
      cmocka_unit_test(test_undefined),
      cmocka_unit_test(test_undefined_copied),
      cmocka_unit_test(test_regions),
      cmocka_unit_test(test_maps_refused),
      cmocka_unit_test(test_buffers_refused),
      cmocka_unit_test(test_layout_race),
      cmocka_unit_test(test_block),
      cmocka_unit_test(test_block_refused),
      cmocka_unit_test(test_block_order),
      cmocka_unit_test(test_layout_triangle),
      cmocka_unit_test(test_overhang),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
