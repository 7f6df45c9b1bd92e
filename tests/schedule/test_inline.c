/* SPDX-License-Identifier: Apache-2.0
 * compute_inline and reverse_compute_inline. */
#include "ir/edit.h"
#include "support/moved.h"
#include <stdio.h>

/* ---- compute_inline ----------------------------------------------------- */

/* Two consumers, one of which reads several elements, guarded and not. */
static void test_inline(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_program *p = &t.p;
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 8);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 8);
  ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 8);
  ir_buf d = moved_buf(&t, "D", IR_ROLE_OUTPUT, 4);
  ir_stmt bb = moved_block(&t, "B", 8, b, 0, a, 0, a);
  int64_t n = 8;
  ir_stmt bc = scheduled_block(&t, "C", "S", &n);
  ir_expr before = scheduled_plus(&t, t.it[0], -1);
  ir_expr load = scheduled_load(&t, b, before, 0);
  ir_expr pad = ir_select(p, ir_binary(p, IR_LE, ir_index(p, 0), before), load,
                          ir_real(p, ir_at(p, load)->dtype, 0));
  scheduled_store(&t, c, t.it[0], 0,
                  ir_binary(p, IR_MUL, pad, scheduled_load(&t, b, t.it[0], 0)),
                  false);
  moved_block(&t, "D", 4, d, 0, b, 3, 0);
  scheduled_finish(&t);
  DO(&t, compute_inline, AT(block, bb));
  assert_true(ir_is_dead(p, bb));
  assert_false(ir_is_dead(p, bc));
  scheduled_expect(
      &t, "main(A: float32[8], C: out float32[8], D: out float32[4])\n"
          "  for a in range(8)\n"
          "    block C(va: 8 = a)\n"
          "      C[va] = select(1 <= va, A[va - 1] + A[va - 1], 0.0) * "
          "(A[va] + A[va])\n"
          "  for a in range(4)\n"
          "    block D(va: 4 = a)\n"
          "      D[va] = A[va + 3] + A[va + 3]\n");
  moved_equal(&t);
  scheduled_end(&t);
}

/* Where it stores may be any map that can be solved: here transposed, and a
 * flat index. */
static void test_inverses(void **state) {
  (void)state;
  for (int k = 0; k < 3; k++) {
    scheduled t;
    scheduled_start(&t);
    ir_program *p = &t.p;
    int64_t n[2] = {4, 6}, m[2] = {6, 4};
    ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, n);
    ir_buf b = k == 1 ? moved_buf(&t, "B", IR_ROLE_LOCAL, 24)
                      : scheduled_buf(&t, "B", IR_ROLE_LOCAL, 2, m);
    ir_buf c = scheduled_buf(&t, "C", IR_ROLE_OUTPUT, 2, m);
    ir_stmt bb = scheduled_block(&t, "B", "SS", n);
    ir_expr i = t.it[0], j = t.it[1];
    ir_expr flat = ir_add(p, ir_mul(p, i, ir_index(p, 6)), j);
    if (k == 1)
      scheduled_store(&t, b, flat, 0, scheduled_load(&t, a, i, j), false);
    else if (k == 2)
      scheduled_store(&t, b, ir_sub(p, ir_index(p, 5), j), i,
                      scheduled_load(&t, a, i, j), false);
    else
      scheduled_store(&t, b, j, i, scheduled_load(&t, a, i, j), false);
    scheduled_block(&t, "C", "SS", m);
    ir_expr at = ir_add(p, ir_mul(p, t.it[1], ir_index(p, 6)), t.it[0]);
    scheduled_store(&t, c, t.it[0], t.it[1],
                    k == 1 ? scheduled_load(&t, b, at, 0)
                           : scheduled_load(&t, b, t.it[0], t.it[1]),
                    false);
    scheduled_finish(&t);
    DO(&t, compute_inline, AT(block, bb));
    char want[400];
    snprintf(want, sizeof want,
             "main(A: float32[4, 6], C: out float32[6, 4])\n"
             "  for a in range(6)\n"
             "    for b in range(4)\n"
             "      block C(va: 6 = a, vb: 4 = b)\n"
             "        C[va, vb] = A[vb, %s]\n",
             k == 2 ? "5 - va" : "va");
    scheduled_expect(&t, want);
    moved_equal(&t);
    scheduled_end(&t);
  }
}

/* Into a reduction, into a block inside of a block, and what their blocks
 * then declare. */
static void test_regions(void **state) {
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
  DO(&t, compute_inline, AT(block, bb));
  ir_span reads = ir_blk(&t.p, bc)->reads;
  assert_int_equal(reads.n, 1);
  assert_int_equal(t.p.region.v[reads.at].buf, a);
  assert_int_equal(ir_blk(&t.p, t.root)->allocs.n, 0);
  moved_equal(&t);
  scheduled_end(&t);
}

static void test_inline_refusals(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  REFUSED(&t, BLOCK_IS_ROOT, compute_inline, AT(block, t.root));
  REFUSED(&t, BLOCK_REDUCES, compute_inline, AT(block, c));
  REFUSED(&t, OUTPUT_BLOCK, compute_inline, AT(block, d));
  REFUSED(&t, BLOCK_REDUCES, reverse_compute_inline, AT(block, c));
  REFUSED(&t, NOT_A_COPY, reverse_compute_inline, AT(block, d));
  assert_string_equal(scheduled_why(&t, "reverse_compute_inline"),
                      "reverse_compute_inline: block \"C\" is a reduction, "
                      "and block \"D\" must be a plain copy of its result");
  scheduled_end(&t);
}

/* Blocks whose body is not one store, whose result is read before, and whose
 * indices cannot be solved. */
static void test_bodies(void **state) {
  (void)state;
  for (int k = 0; k < 4; k++) {
    scheduled t;
    scheduled_start(&t);
    ir_program *p = &t.p;
    ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 8);
    ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 8);
    ir_buf e = moved_buf(&t, "E", IR_ROLE_LOCAL, 8);
    ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 8);
    if (k == 1) moved_block(&t, "E", 8, e, 0, a, 0, 0);
    int64_t n = 8;
    ir_stmt bb;
    if (k == 2) {
      /* Eight elements of eight, in an order that is no sum of pieces. */
      bb = scheduled_block(&t, "B", "S", &n);
      ir_expr v = ir_binary(p, IR_MOD, ir_mul(p, t.it[0], ir_index(p, 3)),
                            ir_index(p, 8));
      scheduled_store(&t, b, v, 0, scheduled_load(&t, a, t.it[0], 0), false);
    } else {
      bb = moved_block(&t, "B", 8, b, 0, k == 1 ? e : a, 0, 0);
    }
    if (k == 0) {
      ir_expr i = t.it[0];
      ir_append(p, bb, ir_store_new(p, b, 1, &i, scheduled_load(&t, a, i, 0)));
    }
    ir_stmt bc = moved_block(&t, "C", 8, c, 0, b, 0, 0);
    if (k == 1) {
      ir_stmt l = scheduled_loop(&t, bc, 0);
      ir_detach(p, l);
      ir_prepend(p, t.root, l);
    }
    if (k == 3) {
      ir_span m = {vec_extend(p->heap, &p->match, 1), 1};
      ir_expr box[2] = {ir_index(p, 0), ir_index(p, 8)}, dim = box[1];
      ir_buf whole = ir_buf_new(p, ir_name(p, "M"), p->buf.v[b].dtype, 1, &dim,
                                IR_SCOPE_GLOBAL, IR_ROLE_LOCAL);
      ir_region r = ir_region_new(p, b, box);
      p->match.v[m.at] = (ir_match){whole, r};
      ir_blk(p, bc)->matches = m;
    }
    scheduled_finish(&t);
    if (k == 0)
      REFUSED(&t, BODY_NOT_STORE, compute_inline, AT(block, bb));
    else if (k == 1)
      REFUSED(&t, READ_BEFORE, compute_inline, AT(block, bb));
    else if (k == 2)
      REFUSED(&t, BLOCK_NOT_COMPLETE, compute_inline, AT(block, bb));
    else
      REFUSED(&t, OPAQUE_ACCESS, compute_inline, AT(block, bb));
    if (k == 3)
      REFUSED(&t, OPAQUE_ACCESS, reverse_compute_inline, AT(block, bc));
    scheduled_end(&t);
  }
}

static void test_only_block(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 8);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 8);
  ir_stmt bb = moved_block(&t, "B", 8, b, 0, a, 0, 0);
  scheduled_finish(&t);
  REFUSED(&t, ONLY_BLOCK, compute_inline, AT(block, bb));
  scheduled_end(&t);
}

/* One block that writes two buffers. */
static void test_several_writes(void **state) {
  (void)state;
  for (int first = 0; first < 2; first++) {
    scheduled t;
    scheduled_start(&t);
    ir_program *p = &t.p;
    ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 8);
    ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 8);
    ir_buf e = moved_buf(&t, "E", first ? IR_ROLE_LOCAL : IR_ROLE_OUTPUT, 8);
    ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 8);
    ir_stmt bb = moved_block(&t, "B", 8, b, 0, a, 0, 0), bc = 0;
    ir_stmt two = bb;
    if (!first) two = bc = moved_block(&t, "C", 8, c, 0, b, 0, 0);
    ir_expr i = t.it[0];
    ir_append(p, two, ir_store_new(p, e, 1, &i, scheduled_load(&t, a, i, 0)));
    ir_block_find_regions(p, &t.scratch, two);
    if (first) bc = moved_block(&t, "C", 8, c, 0, b, 0, e);
    scheduled_finish(&t);
    if (first) REFUSED(&t, SEVERAL_WRITES, compute_inline, AT(block, bb));
    REFUSED(&t, SEVERAL_WRITES, reverse_compute_inline, AT(block, bc));
    moved_equal(&t);
    scheduled_end(&t);
  }
}

/* ---- reverse_compute_inline --------------------------------------------- */

/* The consumer covers less, elsewhere and the other way round. */
static void test_reverse(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_program *p = &t.p;
  int64_t n[2] = {8, 4}, m[2] = {4, 6};
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, n);
  ir_buf b = scheduled_buf(&t, "B", IR_ROLE_LOCAL, 2, n);
  ir_buf c = scheduled_buf(&t, "C", IR_ROLE_OUTPUT, 2, m);
  ir_stmt bb = scheduled_block(&t, "B", "SS", n);
  scheduled_store(&t, b, t.it[0], t.it[1],
                  scheduled_load(&t, a, t.it[0], t.it[1]), false);
  ir_stmt bc = scheduled_block(&t, "C", "SS", m);
  ir_expr v = scheduled_load(&t, b, scheduled_plus(&t, t.it[1], 2), t.it[0]);
  v = ir_binary(p, IR_ADD, v, scheduled_load(&t, a, t.it[1], t.it[0]));
  scheduled_store(&t, c, t.it[0], t.it[1], v, false);
  scheduled_finish(&t);
  DO(&t, split, AT(loop, scheduled_loop(&t, bb, 0)), INTS(factors, 2, 4));
  DO(&t, reverse_compute_inline, AT(block, bc));
  assert_true(ir_is_dead(p, bc));
  scheduled_expect(
      &t, "main(A: float32[8, 4], C: out float32[4, 6])\n"
          "  for a_0 in range(2)\n"
          "    for a_1 in range(4)\n"
          "      for b in range(4)\n"
          "        block B(va: range(2, 8) = a_0 * 4 + a_1, vb: 4 = b)\n"
          "          where 2 <= a_0 * 4 + a_1\n"
          "          C[vb, va - 2] = A[va, vb] + A[va - 2, vb]\n");
  moved_equal(&t);
  scheduled_end(&t);
}

/* A copy folds into a reduction: it sums up where the copy went. */
static void test_copy(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  int64_t n[2] = {4, 6}, m[2] = {1, 4};
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, n);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 4);
  ir_buf c = scheduled_buf(&t, "C", IR_ROLE_OUTPUT, 2, m);
  ir_stmt bb = scheduled_block(&t, "B", "SR", n);
  scheduled_store(&t, b, t.it[0], 0, scheduled_load(&t, a, t.it[0], t.it[1]),
                  true);
  ir_stmt bc = scheduled_block(&t, "C", "SS", m);
  scheduled_store(&t, c, t.it[0], t.it[1], scheduled_load(&t, b, t.it[1], 0),
                  false);
  scheduled_finish(&t);
  DO(&t, reverse_compute_inline, AT(block, bc));
  assert_false(ir_is_dead(&t.p, bb));
  scheduled_expect(&t, "main(A: float32[4, 6], C: out float32[1, 4])\n"
                       "  for a in range(4)\n"
                       "    for b in range(6)\n"
                       "      block B(va: 4 = a, vb: reduce 6 = b)\n"
                       "        init\n"
                       "          C[0, va] = 0.0\n"
                       "        C[0, va] = C[0, va] + A[va, vb]\n");
  moved_equal(&t);
  scheduled_end(&t);
}

/* cache_write and its undoing. */
static void test_undo_cache(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  const char *before = scheduled_text(&t);
  DO(&t, cache_write, AT(block, scheduled_get(&t, "C")),
     NUM(write_buffer_index, 0), STR(storage_scope, "local"));
  DO(&t, reverse_compute_inline, AT(block, scheduled_get(&t, "C_local")));
  scheduled_expect(&t, before);
  moved_equal(&t);
  scheduled_end(&t);
}

static void test_reverse_refusals(void **state) {
  (void)state;
  for (int k = 0; k < 6; k++) {
    scheduled t;
    scheduled_start(&t);
    ir_program *p = &t.p;
    int64_t n = 8;
    ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 8);
    ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 8);
    ir_buf e = moved_buf(&t, "E", IR_ROLE_LOCAL, 8);
    ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 8);
    ir_buf d = moved_buf(&t, "D", IR_ROLE_OUTPUT, 8);
    ir_stmt bc, be = 0;
    if (k != 0) moved_block(&t, "B", k == 4 ? 6 : 8, b, 0, a, 0, 0);
    if (k == 2) be = moved_block(&t, "E", 8, e, 0, a, 0, 0);
    if (k == 0) {
      bc = moved_block(&t, "C", 8, c, 0, a, 0, 0);
      moved_block(&t, "D", 8, d, 0, a, 0, 0);
      scheduled_finish(&t);
      REFUSED(&t, NO_PRODUCER_BEFORE, reverse_compute_inline, AT(block, bc));
    } else if (k == 1) {
      bc = moved_block(&t, "C", 8, c, 0, b, 0, 0);
      moved_block(&t, "D", 8, d, 0, b, 0, 0);
      scheduled_finish(&t);
      REFUSED(&t, OTHER_CONSUMER, reverse_compute_inline, AT(block, bc));
      assert_string_equal(
          scheduled_why(&t, "reverse_compute_inline"),
          "reverse_compute_inline: block \"D\" reads buffer \"B\", too");
    } else if (k == 2) {
      /* B is made before E, the last one, so that C can go there. */
      bc = moved_block(&t, "C", 8, c, 0, b, 0, e);
      scheduled_finish(&t);
      DO(&t, reverse_compute_inline, AT(block, bc));
      assert_false(ir_is_dead(p, be));
      moved_equal(&t);
    } else if (k == 3) {
      bc = scheduled_block(&t, "C", "S", &n);
      ir_expr half = ir_binary(p, IR_DIV, t.it[0], ir_index(p, 2));
      scheduled_store(&t, c, t.it[0], 0, scheduled_load(&t, b, half, 0), false);
      scheduled_finish(&t);
      REFUSED(&t, NOT_INVERTIBLE, reverse_compute_inline, AT(block, bc));
    } else if (k == 4) {
      /* The last two elements of C have no producer's instance. */
      bc = scheduled_block(&t, "C", "S", &n);
      ir_expr load = scheduled_load(&t, b, t.it[0], 0);
      ir_expr in = ir_binary(p, IR_LT, t.it[0], ir_index(p, 6));
      scheduled_store(
          &t, c, t.it[0], 0,
          ir_select(p, in, load, ir_real(p, ir_at(p, load)->dtype, 0)), false);
      scheduled_finish(&t);
      REFUSED(&t, NOT_COVERED, reverse_compute_inline, AT(block, bc));
    } else {
      be = moved_block(&t, "E", 8, e, 0, a, 0, 0);
      moved_block(&t, "D", 8, d, 0, e, 0, 0);
      bc = moved_block(&t, "C", 8, c, 0, b, 0, 0);
      ir_blk(p, bc)->pred = ir_binary(
          p, IR_LT, ir_ref(p, ir_st(p, scheduled_loop(&t, bc, 0))->var),
          ir_index(p, 5));
      scheduled_finish(&t);
      DO(&t, reverse_compute_inline, AT(block, bc));
      moved_equal(&t);
    }
    scheduled_end(&t);
  }
}

/* A block of the same loop has made another input. */
static void test_between(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 8);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 8);
  ir_buf e = moved_buf(&t, "E", IR_ROLE_LOCAL, 8);
  ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 8);
  ir_stmt be = moved_block(&t, "E", 8, e, 0, a, 0, 0);
  ir_stmt bb = moved_block(&t, "B", 8, b, 0, a, 0, 0);
  moved_join(&t, be, bb);
  ir_stmt bc = moved_block(&t, "C", 8, c, 0, b, 0, e);
  scheduled_finish(&t);
  DO(&t, reverse_compute_inline, AT(block, bc));
  moved_equal(&t);
  DO(&t, compute_inline, AT(block, be));
  moved_equal(&t);
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_inline),
      cmocka_unit_test(test_inverses),
      cmocka_unit_test(test_regions),
      cmocka_unit_test(test_inline_refusals),
      cmocka_unit_test(test_bodies),
      cmocka_unit_test(test_only_block),
      cmocka_unit_test(test_several_writes),
      cmocka_unit_test(test_reverse),
      cmocka_unit_test(test_copy),
      cmocka_unit_test(test_undo_cache),
      cmocka_unit_test(test_reverse_refusals),
      cmocka_unit_test(test_between),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
