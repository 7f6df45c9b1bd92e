/* SPDX-License-Identifier: Apache-2.0
 * blockize, and what other primitives make of blocks in blocks. */
#include "ir/edit.h"
#include "support/scheduled.h"

/* A matmul of tiles: the block around a tile gets the init. */
static void test_blockize_reduction(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 8, 8, 8);
  ir_stmt c = scheduled_get(&t, "C");
  DO(&t, split, AT(loop, scheduled_loop(&t, c, 0)), INTS(factors, 2, 4));
  DO(&t, split, AT(loop, scheduled_loop(&t, c, 3)), INTS(factors, 4, 2));
  ir_stmt l[5];
  for (uint32_t i = 0; i < 5; i++) l[i] = scheduled_loop(&t, c, i);
  DO(&t, reorder, LIST(ordered_loops, l[0], l[3], l[1], l[2], l[4]));
  DO(&t, blockize, LIST(target, l[1]), NUM(preserve_unit_iters, 0));
  ir_stmt o = t.out[0];
  assert_int_equal(o, scheduled_get(&t, "C_o"));
  assert_int_equal(c, scheduled_get(&t, "C"));
  scheduled_expect(
      &t,
      "main(A: float32[8, 8], B: float32[8, 8], D: out float32[8, 8])\n"
      "  alloc C: float32[8, 8]\n"
      "  for a_0 in range(2)\n"
      "    for c_0 in range(4)\n"
      "      block C_o(va_o: 2 = a_0, vc_o: reduce 4 = c_0)\n"
      "        init\n"
      "          for a_1_init in range(4)\n"
      "            for b_init in range(8)\n"
      "              block C_init(va_i_init: 4 = a_1_init, vb_i_init: 8 = "
      "b_init)\n"
      "                C[va_o * 4 + va_i_init, vb_i_init] = 0.0\n"
      "        for a_1 in range(4)\n"
      "          for b in range(8)\n"
      "            for c_1 in range(2)\n"
      "              block C(va_i: 4 = a_1, vb_i: 8 = b, vc_i: reduce 2 = "
      "c_1)\n"
      "                C[va_o * 4 + va_i, vb_i] = C[va_o * 4 + va_i, vb_i] + "
      "A[va_o * 4 + va_i, vc_o * 2 + vc_i] * B[vc_o * 2 + vc_i, vb_i]\n"
      "  for a in range(8)\n"
      "    for b in range(8)\n"
      "      block D(va: 8 = a, vb: 8 = b)\n"
      "        D[va, vb] = max(C[va, vb] + 1.0, 0.0)\n");
  assert_true(scheduled_same(&t));
  unsigned props = sch_block_props(&t.s, t.root, o);
  assert_true(props & SCH_REDUCTION);
  /* Loops inside belong to it, those around do not. */
  DO(&t, parallel, AT(loop, l[0]));
  REFUSED(&t, ITER_NOT_SPATIAL, parallel, AT(loop, l[3]));
  REFUSED(&t, SCOPES_DIFFER, compute_at, AT(block, o), AT(loop, l[1]));
  DO(&t, reorder, LIST(ordered_loops, l[4], l[1]));
  DO(&t, vectorize, AT(loop, l[2]));
  REFUSED(&t, NOT_SIDE_BY_SIDE, blockize,
          LIST(target, c, scheduled_get(&t, "C_init")));
  DO(&t, decompose_reduction, AT(block, o), AT(loop, l[3]));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

/* A loop of one iteration outside that carries the reduction is as good as one
 * of several, whether bindings mention it or not. */
static void test_unit_outside(void **state) {
  (void)state;
  static const int64_t factors[][2] = {{2, 8}, {1, 16}, {16, 1}};
  for (int64_t k = 0; k < 3; k++)
    for (int64_t units = 0; units < 4; units++) {
      scheduled t;
      scheduled_start(&t);
      scheduled_matmul(&t, 8, 8, 16);
      ir_stmt c = scheduled_get(&t, "C");
      DO(&t, split, AT(loop, scheduled_loop(&t, c, 2)),
         INTS(factors, factors[k][0], factors[k][1]),
         NUM(preserve_unit_iters, units & 1));
      ir_stmt k0 = t.out[0], k1 = t.out[1];
      DO(&t, blockize, LIST(target, k1), NUM(preserve_unit_iters, units >> 1));
      ir_stmt o = t.out[0];
      assert_true(sch_has_init(&t.p, o));
      assert_false(sch_has_init(&t.p, c));
      DO(&t, decompose_reduction, AT(block, o), AT(loop, k0));
      assert_int_equal(ir_st(&t.p, t.out[0])->parent, scheduled_loop(&t, o, 1));
      assert_true(scheduled_same(&t));
      scheduled_end(&t);
    }
}

/* All of the reduction inside: the init stays, the tile is complete and
 * moves with its consumer's. */
static void test_complete(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 8, 8, 8);
  ir_stmt c = scheduled_get(&t, "C");
  DO(&t, blockize, LIST(target, scheduled_loop(&t, c, 1)));
  ir_stmt o = t.out[0];
  scheduled_expect(
      &t, "main(A: float32[8, 8], B: float32[8, 8], D: out float32[8, 8])\n"
          "  alloc C: float32[8, 8]\n"
          "  for a in range(8)\n"
          "    block C_o(va_o: 8 = a, vb_o: 1 = 0, vc_o: 1 = 0)\n"
          "      for b in range(8)\n"
          "        for c in range(8)\n"
          "          block C(vb_i: 8 = b, vc_i: reduce 8 = c)\n"
          "            init\n"
          "              C[va_o, vb_i] = 0.0\n"
          "            C[va_o, vb_i] = C[va_o, vb_i] + A[va_o, vc_i] * B[vc_i, "
          "vb_i]\n"
          "  for a in range(8)\n"
          "    for b in range(8)\n"
          "      block D(va: 8 = a, vb: 8 = b)\n"
          "        D[va, vb] = max(C[va, vb] + 1.0, 0.0)\n");
  assert_true(sch_block_props(&t.s, t.root, o) & SCH_COMPLETE);
  ir_stmt d = scheduled_get(&t, "D");
  DO(&t, compute_at, AT(block, o), AT(loop, scheduled_loop(&t, d, 0)));
  assert_true(scheduled_same(&t));
  DO(&t, parallel, AT(loop, scheduled_loop(&t, d, 0)));
  DO(&t, decompose_reduction, AT(block, c), AT(loop, scheduled_loop(&t, c, 1)));
  assert_true(
      sch_reads_buf(&t.p, o, t.p.region.v[ir_blk(&t.p, o)->writes.at].buf));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

/* Guards: those of the loops around stay around, others go inside, and tiles
 * beyond the domain do not run. */
static void test_guards(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 10, 7, 3);
  ir_stmt d = scheduled_get(&t, "D");
  DO(&t, split, AT(loop, scheduled_loop(&t, d, 1)), INTS(factors, 3, 2, 2));
  DO(&t, split, AT(loop, scheduled_loop(&t, d, 0)), INTS(factors, 3, 4));
  ir_stmt l[5];
  for (uint32_t i = 0; i < 5; i++) l[i] = scheduled_loop(&t, d, i);
  DO(&t, reorder, LIST(ordered_loops, l[0], l[1], l[2], l[3], l[4]));
  DO(&t, blockize, LIST(target, l[4]));
  scheduled_expect(
      &t,
      "main(A: float32[10, 3], B: float32[3, 7], D: out float32[10, 7])\n"
      "  alloc C: float32[10, 7]\n"
      "  for a in range(10)\n"
      "    for b in range(7)\n"
      "      for c in range(3)\n"
      "        block C(va: 10 = a, vb: 7 = b, vc: reduce 3 = c)\n"
      "          init\n"
      "            C[va, vb] = 0.0\n"
      "          C[va, vb] = C[va, vb] + A[va, vc] * B[vc, vb]\n"
      "  for a_0 in range(3)\n"
      "    for a_1 in range(4)\n"
      "      for b_0 in range(3)\n"
      "        for b_1 in range(2)\n"
      "          block D_o(va_o: 10 = a_0 * 4 + a_1, vb_o: 4 = b_0 * 2 + b_1)\n"
      "            where a_0 * 4 + a_1 < 10 && b_0 < 2\n"
      "            for b_2 in range(2)\n"
      "              block D(vb_i: 2 = b_2)\n"
      "                where b_2 + vb_o * 2 < 7\n"
      "                D[va_o, vb_o * 2 + vb_i] = max(C[va_o, vb_o * 2 + vb_i] "
      "+ 1.0, 0.0)\n");
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

/* Several blocks become one, which shares the iters of its parts. */
static void test_blocks(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 8, 6, 4);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  DO(&t, split, AT(loop, scheduled_loop(&t, d, 0)), INTS(factors, 4, 2));
  ir_stmt a0 = scheduled_loop(&t, d, 0);
  DO(&t, compute_at, AT(block, c), AT(loop, a0));
  DO(&t, blockize, LIST(target, d, c), NUM(preserve_unit_iters, 0));
  ir_stmt o = t.out[0];
  scheduled_expect(
      &t,
      "main(A: float32[8, 4], B: float32[4, 6], D: out float32[8, 6])\n"
      "  alloc C: float32[8, 6]\n"
      "  for a_0 in range(4)\n"
      "    block C_o(va_o: 4 = a_0)\n"
      "      for ax0 in range(2)\n"
      "        for ax1 in range(6)\n"
      "          for ax2 in range(4)\n"
      "            block C(va_i: 2 = ax0, vb_i: 6 = ax1, vc_i: reduce 4 = "
      "ax2)\n"
      "              init\n"
      "                C[va_o * 2 + va_i, vb_i] = 0.0\n"
      "              C[va_o * 2 + va_i, vb_i] = C[va_o * 2 + va_i, vb_i] + "
      "A[va_o * 2 + va_i, vc_i] * B[vc_i, vb_i]\n"
      "      for a_1 in range(2)\n"
      "        for b in range(6)\n"
      "          block D(va_i: 2 = a_1, vb_i: 6 = b)\n"
      "            D[va_o * 2 + va_i, vb_i] = max(C[va_o * 2 + va_i, vb_i] + "
      "1.0, 0.0)\n");
  assert_true(scheduled_same(&t));
  /* C lives in the block, so the loop is free. */
  DO(&t, parallel, AT(loop, a0));
  DO(&t, blockize, LIST(target, o));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

static void test_blockize_refusals(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 8, 6, 4);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  REFUSED(&t, NODES_EMPTY, blockize, {.name = "target"});
  REFUSED(&t, BLOCK_IS_ROOT, blockize, LIST(target, t.root));
  /* The bindings of a fused loop, cut where it is no tile. */
  DO(&t, fuse, LIST(loops, scheduled_loop(&t, d, 0), scheduled_loop(&t, d, 1)));
  DO(&t, split, AT(loop, scheduled_loop(&t, d, 0)), INTS(factors, 6, 8));
  REFUSED(&t, NOT_DIVISIBLE, blockize, LIST(target, scheduled_loop(&t, d, 1)));
  DO(&t, blockize, LIST(target, scheduled_loop(&t, c, 2)));
  REFUSED(&t, SCOPES_DIFFER, blockize, LIST(target, c, d));
  DO(&t, blockize, LIST(target, d, scheduled_loop(&t, d, 0)));
  assert_int_equal(ir_st(&t.p, t.out[0])->body, scheduled_loop(&t, d, 0));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

/* Three blocks in a row; and a loop around that one of two reduces over. */
static void test_row(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  int64_t s[2] = {4, 6};
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, s);
  ir_buf x = scheduled_buf(&t, "X", IR_ROLE_OUTPUT, 1, s);
  ir_buf y = scheduled_buf(&t, "Y", IR_ROLE_OUTPUT, 2, s);
  ir_stmt bx = scheduled_block(&t, "X", "SR", s);
  scheduled_store(&t, x, t.it[0], 0, scheduled_load(&t, a, t.it[0], t.it[1]),
                  true);
  ir_stmt by = scheduled_block(&t, "Y", "SS", s);
  scheduled_store(&t, y, t.it[0], t.it[1],
                  scheduled_load(&t, a, t.it[0], t.it[1]), false);
  ir_buf z = scheduled_buf(&t, "Z", IR_ROLE_OUTPUT, 2, s);
  ir_stmt bz = scheduled_block(&t, "Z", "SS", s);
  scheduled_store(&t, z, t.it[0], t.it[1],
                  scheduled_load(&t, a, t.it[0], t.it[1]), false);
  scheduled_finish(&t);
  REFUSED(&t, BLOCK_BETWEEN, blockize, LIST(target, bx, bz));
  /* X and Y under one loop over what X reduces. */
  ir_stmt k = scheduled_loop(&t, bx, 1), i = scheduled_loop(&t, by, 0);
  ir_program *p = &t.p;
  ir_stmt j = scheduled_loop(&t, by, 1), xi = scheduled_loop(&t, bx, 0);
  p->iter.v[ir_blk(p, by)->iters.at].bind = ir_ref(p, ir_st(p, xi)->var);
  p->iter.v[ir_blk(p, by)->iters.at + 1].bind = ir_ref(p, ir_st(p, k)->var);
  ir_detach(p, by);
  ir_append(p, k, by);
  ir_kill(p, i);
  (void)j;
  ir_program_copy(&t.first, p);
  REFUSED(&t, OUTER_REDUCTION, blockize, LIST(target, bx, by));
  DO(&t, blockize, LIST(target, k));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

/* A loop inside that depends on a loop around: through an iter, or not. */
static void with_bound(bool halved) {
  scheduled t;
  scheduled_start(&t);
  int64_t s[2] = {6, 6};
  ir_program *p = &t.p;
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, s);
  ir_buf x = scheduled_buf(&t, "X", IR_ROLE_OUTPUT, 2, s);
  ir_stmt b = scheduled_block(&t, "X", "SS", s);
  scheduled_store(&t, x, t.it[0], t.it[1],
                  scheduled_load(&t, a, t.it[0], t.it[1]), false);
  ir_stmt i = scheduled_loop(&t, b, 0), j = scheduled_loop(&t, b, 1);
  ir_expr v = ir_ref(p, ir_st(p, i)->var);
  ir_expr n = ir_add(p, v, ir_index(p, 1));
  ir_st(p, j)->extent = n;
  if (halved)
    p->iter.v[ir_blk(p, b)->iters.at].bind =
        ir_binary(p, IR_DIV, v, ir_index(p, 2));
  scheduled_finish(&t);
  if (halved) {
    REFUSED(&t, OUTER_UNKNOWN, blockize, LIST(target, j));
  } else {
    DO(&t, blockize, LIST(target, j));
    assert_true(scheduled_same(&t));
  }
  scheduled_end(&t);
}

/* A block with a triangle in it, in tiles that overhang its domain: the loop
 * of the triangle would be longer than it says. */
static void test_blockize_triangle(void **state) {
  (void)state;
  for (int64_t factor = 3; factor <= 4; factor++) {
    scheduled t;
    scheduled_start(&t);
    int64_t s[2] = {8, 8};
    ir_program *p = &t.p;
    ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, s);
    ir_buf x = scheduled_buf(&t, "X", IR_ROLE_OUTPUT, 2, s);
    ir_stmt b = scheduled_block(&t, "X", "SS", s);
    scheduled_store(&t, x, t.it[0], t.it[1],
                    scheduled_load(&t, a, t.it[0], t.it[1]), false);
    ir_stmt i = scheduled_loop(&t, b, 0), j = scheduled_loop(&t, b, 1);
    ir_st(p, j)->extent =
        ir_add(p, ir_ref(p, ir_st(p, i)->var), ir_index(p, 1));
    scheduled_finish(&t);
    DO(&t, blockize, LIST(target, j));
    DO(&t, split, AT(loop, i), INTS(factors, SCH_AUTO, factor));
    ir_stmt inner = t.out[1];
    if (factor == 3) {
      REFUSED(&t, DEPENDENT_LOOP, blockize, LIST(target, inner));
    } else {
      DO(&t, blockize, LIST(target, inner));
      assert_true(scheduled_same(&t));
    }
    scheduled_end(&t);
  }
}

/* In the first part of a triangle the rows are shorter than their loop may
 * be, and so is what is declared. */
static void test_short_row(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  int64_t s[2] = {5, 5};
  ir_program *p = &t.p;
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, s);
  ir_buf x = scheduled_buf(&t, "X", IR_ROLE_OUTPUT, 1, s);
  ir_stmt b = scheduled_block(&t, "X", "SR", s);
  scheduled_store(&t, x, t.it[0], 0, scheduled_load(&t, a, t.it[0], t.it[1]),
                  true);
  ir_stmt i = scheduled_loop(&t, b, 0), j = scheduled_loop(&t, b, 1);
  ir_st(p, j)->extent = scheduled_plus(&t, ir_ref(p, ir_st(p, i)->var), 1);
  scheduled_finish(&t);
  DO(&t, loop_partition, AT(loop, i), INTS(factors, 1));
  DO(&t, blockize, LIST(target, j));
  ir_region r = p->region.v[ir_blk(p, t.out[0])->reads.at];
  assert_int_equal(r.buf, a);
  assert_true(ir_is_const(p, ir_region_extent(p, r, 1), 1));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

static void test_bounds(void **state) {
  (void)state;
  with_bound(false);
  with_bound(true);
}

/* A box around every fourth element holds others', too; what is accessed in
 * it is told apart. */
static void test_blockize_race(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  int64_t n = 16, s[2] = {4, 4};
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 1, &n);
  ir_buf x = scheduled_buf(&t, "X", IR_ROLE_OUTPUT, 1, &n);
  ir_stmt b = scheduled_block(&t, "X", "SS", s);
  ir_expr at = ir_add(&t.p, ir_mul(&t.p, t.it[1], ir_index(&t.p, 4)), t.it[0]);
  scheduled_store(&t, x, at, 0, scheduled_load(&t, a, at, 0), false);
  scheduled_finish(&t);
  DO(&t, parallel, AT(loop, scheduled_loop(&t, b, 0)));
  DO(&t, blockize, LIST(target, scheduled_loop(&t, b, 1)));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

/* What a block inside reads of what it writes may come from around. */
static void test_contents(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 8, 6, 4);
  ir_stmt c = scheduled_get(&t, "C");
  DO(&t, decompose_reduction, AT(block, c), AT(loop, scheduled_loop(&t, c, 2)));
  ir_stmt i = scheduled_loop(&t, c, 0);
  DO(&t, blockize, LIST(target, scheduled_loop(&t, c, 2)));
  REFUSED(&t, BUFFER_LIVE_IN, cache_write, AT(block, c),
          NUM(write_buffer_index, 0), STR(storage_scope, "local"));
  DO(&t, bind, AT(loop, i), STR(thread_axis, "threadIdx.x"));
  REFUSED(&t, STORAGE_INSIDE, cache_read, AT(block, c),
          NUM(read_buffer_index, 1), STR(storage_scope, "shared"));
  DO(&t, cache_read, AT(block, c), NUM(read_buffer_index, 1),
     STR(storage_scope, "local"));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

/* A block that never runs declares nothing, and so does one around it. */
static void test_empty(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  int64_t s[2] = {1, 2};
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 1, s + 1);
  ir_buf x = scheduled_buf(&t, "X", IR_ROLE_OUTPUT, 1, s + 1);
  ir_stmt b = scheduled_block(&t, "X", "SS", s);
  scheduled_store(&t, x, t.it[1], 0, scheduled_load(&t, a, t.it[1], 0), false);
  ir_stmt i = scheduled_loop(&t, b, 0), j = scheduled_loop(&t, b, 1);
  ir_st(&t.p, j)->extent = ir_ref(&t.p, ir_st(&t.p, i)->var);
  scheduled_finish(&t);
  DO(&t, blockize, LIST(target, i));
  DO(&t, blockize, LIST(target, i));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

/* The first iter of the block being described has the values lo .. hi. */
static void narrow(scheduled *t, int64_t lo, int64_t hi) {
  ir_program *p = &t->p;
  ir_span it = ir_blk(p, t->block)->iters;
  ir_iter two[2] = {p->iter.v[it.at], p->iter.v[it.at + 1]};
  two[0].var = ir_var_new(p, IR_VAR_ITER, ir_name(p, "va"), IR_INDEX, lo, hi);
  two[0].lo = ir_index(p, lo);
  two[0].extent = ir_index(p, hi - lo + 1);
  ir_block_set_iters(p, t->block, 2, two);
  t->it[0] = ir_ref(p, two[0].var);
}

/* C[i, j] = 1, then C[i, j] = A[i, j] by a block X over loops of 8 and `n`,
 * for i from lo to hi. */
static ir_stmt over_ones(scheduled *t, int64_t n, int64_t lo, int64_t hi) {
  scheduled_start(t);
  int64_t all[2] = {8, 8}, some[2] = {8, n};
  ir_buf a = scheduled_buf(t, "A", IR_ROLE_INPUT, 2, all);
  ir_buf c = scheduled_buf(t, "C", IR_ROLE_OUTPUT, 2, all);
  scheduled_block(t, "one", "SS", all);
  scheduled_store(t, c, t->it[0], t->it[1],
                  ir_real(&t->p, (tess_dtype){TESS_DTYPE_FLOAT, 32, 1}, 1),
                  false);
  ir_stmt x = scheduled_block(t, "X", "SS", some);
  narrow(t, lo, hi);
  scheduled_store(t, c, t->it[0], t->it[1],
                  scheduled_load(t, a, t->it[0], t->it[1]), false);
  return x;
}

/* A loop inside may have no iteration: the new block runs where the old one
 * did not, so that its domain is more than the old one's. */
static void test_idle_loop(void **state) {
  (void)state;
  scheduled t;
  ir_stmt x = over_ones(&t, 7, 1, 7);
  ir_program *p = &t.p;
  ir_stmt j = ir_st(p, x)->parent, i = ir_st(p, j)->parent;
  ir_expr extent = ir_ref(p, ir_st(p, i)->var);
  ir_st(p, j)->extent = extent;
  scheduled_finish(&t);
  assert_true(scheduled_same(&t));
  DO(&t, blockize, LIST(target, j));
  scheduled_expect(&t, "main(A: float32[8, 8], C: out float32[8, 8])\n"
                       "  for a in range(8)\n"
                       "    for b in range(8)\n"
                       "      block one(va: 8 = a, vb: 8 = b)\n"
                       "        C[va, vb] = 1.0\n"
                       "  for a in range(8)\n"
                       "    block X_o(va_o: 8 = a, vb_o: 1 = 0)\n"
                       "      for b in range(va_o)\n"
                       "        block X(vb_i: 7 = b)\n"
                       "          C[va_o, vb_i] = A[va_o, vb_i]\n");
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

/* A condition inside keeps the old block in its domain: the new one has it
 * for a predicate. */
static void test_idle_condition(void **state) {
  (void)state;
  scheduled t;
  ir_stmt x = over_ones(&t, 8, 0, 4);
  ir_program *p = &t.p;
  ir_stmt j = ir_st(p, x)->parent, i = ir_st(p, j)->parent;
  ir_expr few =
      ir_binary(p, IR_LT, ir_ref(p, ir_st(p, i)->var), ir_index(p, 5));
  ir_wrap(p, x, ir_if_new(p, few));
  scheduled_finish(&t);
  assert_true(scheduled_same(&t));
  DO(&t, blockize, LIST(target, j));
  ir_stmt o = t.out[0];
  assert_true(ir_blk(p, o)->pred != 0);
  assert_true(scheduled_same(&t));
  DO(&t, parallel, AT(loop, i));
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_blockize_reduction),
      cmocka_unit_test(test_unit_outside),
      cmocka_unit_test(test_complete),
      cmocka_unit_test(test_guards),
      cmocka_unit_test(test_blocks),
      cmocka_unit_test(test_blockize_refusals),
      cmocka_unit_test(test_row),
      cmocka_unit_test(test_bounds),
      cmocka_unit_test(test_blockize_race),
      cmocka_unit_test(test_blockize_triangle),
      cmocka_unit_test(test_short_row),
      cmocka_unit_test(test_empty),
      cmocka_unit_test(test_contents),
      cmocka_unit_test(test_idle_loop),
      cmocka_unit_test(test_idle_condition),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
