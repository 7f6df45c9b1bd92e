/* SPDX-License-Identifier: Apache-2.0
 * compute_at: what it makes and what it refuses. */
#include "ir/edit.h"
#include "support/moved.h"

/* The whole reduction moves, with its init. */
static void test_compute_at_reduction(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 8, 8, 8);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  DO(&t, split, AT(loop, scheduled_loop(&t, d, 0)), INTS(factors, 2, 4));
  ir_stmt a = scheduled_loop(&t, d, 0);
  DO(&t, compute_at, AT(block, c), AT(loop, a));
  assert_int_equal(c, scheduled_get(&t, "C"));
  assert_int_equal(a, scheduled_loop(&t, c, 0));
  scheduled_expect(
      &t,
      "main(A: float32[8, 8], B: float32[8, 8], D: out float32[8, 8])\n"
      "  alloc C: float32[8, 8]\n"
      "  for a_0 in range(2)\n"
      "    for ax0 in range(4)\n"
      "      for ax1 in range(8)\n"
      "        for ax2 in range(8)\n"
      "          block C(va: 8 = a_0 * 4 + ax0, vb: 8 = ax1, vc: reduce 8 = "
      "ax2)\n"
      "            init\n"
      "              C[va, vb] = 0.0\n"
      "            C[va, vb] = C[va, vb] + A[va, vc] * B[vc, vb]\n"
      "    for a_1 in range(4)\n"
      "      for b in range(8)\n"
      "        block D(va: 8 = a_0 * 4 + a_1, vb: 8 = b)\n"
      "          D[va, vb] = max(C[va, vb] + 1.0, 0.0)\n");
  moved_equal(&t);
  scheduled_end(&t);
}

/* Under the innermost loop one element is left; its loops are kept when
 * asked for. */
static void test_unit_loops(void **state) {
  (void)state;
  for (int keep = 0; keep < 2; keep++) {
    scheduled t;
    scheduled_start(&t);
    scheduled_matmul(&t, 4, 6, 8);
    ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
    DO(&t, compute_at, AT(block, c), AT(loop, scheduled_loop(&t, d, 1)),
       NUM(preserve_unit_loops, keep));
    if (keep)
      assert_int_equal(scheduled_loop(&t, c, 4), ir_st(&t.p, c)->parent);
    else
      scheduled_expect(
          &t, "main(A: float32[4, 8], B: float32[8, 6], D: out float32[4, 6])\n"
              "  alloc C: float32[4, 6]\n"
              "  for a in range(4)\n"
              "    for b in range(6)\n"
              "      for ax0 in range(8)\n"
              "        block C(va: 4 = a, vb: 6 = b, vc: reduce 8 = ax0)\n"
              "          init\n"
              "            C[va, vb] = 0.0\n"
              "          C[va, vb] = C[va, vb] + A[va, vc] * B[vc, vb]\n"
              "      block D(va: 4 = a, vb: 6 = b)\n"
              "        D[va, vb] = max(C[va, vb] + 1.0, 0.0)\n");
    moved_equal(&t);
    scheduled_end(&t);
  }
}

/* B = A + 1, C[i] = B[i] + B[i + 2]: neighbouring tiles share elements. */
static void compute_at_stencil(scheduled *t, ir_stmt *b, ir_stmt *c) {
  int64_t n = 18, m = 16;
  ir_buf in = scheduled_buf(t, "A", IR_ROLE_INPUT, 1, &n);
  ir_buf mid = scheduled_buf(t, "B", IR_ROLE_LOCAL, 1, &n);
  ir_buf out = scheduled_buf(t, "C", IR_ROLE_OUTPUT, 1, &m);
  *b = scheduled_block(t, "B", "S", &n);
  scheduled_store(t, mid, t->it[0], 0, scheduled_load(t, in, t->it[0], 0),
                  false);
  *c = scheduled_block(t, "C", "S", &m);
  ir_expr later = scheduled_plus(t, t->it[0], 2);
  ir_expr sum = ir_binary(&t->p, IR_ADD, scheduled_load(t, mid, t->it[0], 0),
                          scheduled_load(t, mid, later, 0));
  scheduled_store(t, out, t->it[0], 0, sum, false);
  scheduled_finish(t);
}

/* Tiles overlap and overhang; in a parallel loop each iteration has a buffer
 * of its own. */
static void test_stencil(void **state) {
  (void)state;
  for (int before = 0; before < 2; before++) {
    scheduled t;
    ir_stmt b, c;
    scheduled_start(&t);
    compute_at_stencil(&t, &b, &c);
    DO(&t, split, AT(loop, scheduled_loop(&t, c, 0)), INTS(factors, 4, 5));
    ir_stmt l = scheduled_loop(&t, c, 0);
    if (before) DO(&t, parallel, AT(loop, l));
    DO(&t, compute_at, AT(block, b), AT(loop, l));
    if (!before) DO(&t, parallel, AT(loop, l));
    scheduled_expect(&t, "main(A: float32[18], C: out float32[16])\n"
                         "  alloc B: float32[18]\n"
                         "  for a_0 in parallel(4)\n"
                         "    for ax0 in range(7)\n"
                         "      block B(va: 18 = a_0 * 5 + ax0)\n"
                         "        where a_0 * 5 + ax0 < 18\n"
                         "        B[va] = A[va]\n"
                         "    for a_1 in range(5)\n"
                         "      block C(va: 16 = a_0 * 5 + a_1)\n"
                         "        where a_0 * 5 + a_1 < 16\n"
                         "        reads(B[va], B[va + 2])\n"
                         "        writes(C[va])\n"
                         "        C[va] = B[va] + B[va + 2]\n");
    moved_equal(&t);
    scheduled_end(&t);
  }
}

/* Three stages: the middle one moves, then the first one under it, deeper,
 * and out of reach of the middle one again. */
static void test_chain(void **state) {
  (void)state;
  scheduled t;
  int64_t n = 20;
  scheduled_start(&t);
  ir_buf in = scheduled_buf(&t, "A", IR_ROLE_INPUT, 1, &n), buf[3];
  ir_stmt block[3];
  for (int i = 0; i < 3; i++) {
    char name[2] = {(char)('B' + i), 0};
    int64_t m = 20 - 2 * (i + 1);
    buf[i] =
        scheduled_buf(&t, name, i == 2 ? IR_ROLE_OUTPUT : IR_ROLE_LOCAL, 1, &m);
    block[i] = scheduled_block(&t, name, "S", &m);
    ir_expr x = scheduled_load(&t, in, t.it[0], 0);
    ir_expr y = scheduled_load(&t, in, scheduled_plus(&t, t.it[0], 2), 0);
    scheduled_store(&t, buf[i], t.it[0], 0, ir_binary(&t.p, IR_ADD, x, y),
                    false);
    in = buf[i];
  }
  scheduled_finish(&t);
  ir_stmt b = block[0], c = block[1], d = block[2];
  DO(&t, split, AT(loop, scheduled_loop(&t, d, 0)), INTS(factors, 4, 2, 2));
  REFUSED(&t, CONSUMER_OUTSIDE, compute_at, AT(block, b),
          AT(loop, scheduled_loop(&t, d, 0)));
  assert_string_equal(
      scheduled_why(&t, "compute_at"),
      "compute_at: block \"C\" reads buffer \"B\" and is not below loop a_0; "
      "all consumers must be");
  DO(&t, compute_at, AT(block, c), AT(loop, scheduled_loop(&t, d, 0)));
  DO(&t, compute_at, AT(block, b), AT(loop, scheduled_loop(&t, d, 0)));
  scheduled_expect(&t, "main(A: float32[20], D: out float32[14])\n"
                       "  alloc B: float32[18]\n"
                       "  alloc C: float32[16]\n"
                       "  for a_0 in range(4)\n"
                       "    for ax0 in range(8)\n"
                       "      block B(va: 18 = a_0 * 4 + ax0)\n"
                       "        where a_0 * 4 + ax0 < 18\n"
                       "        reads(A[va], A[va + 2])\n"
                       "        writes(B[va])\n"
                       "        B[va] = A[va] + A[va + 2]\n"
                       "    for ax0 in range(6)\n"
                       "      block C(va: 16 = a_0 * 4 + ax0)\n"
                       "        where a_0 * 4 + ax0 < 16\n"
                       "        reads(B[va], B[va + 2])\n"
                       "        writes(C[va])\n"
                       "        C[va] = B[va] + B[va + 2]\n"
                       "    for a_1 in range(2)\n"
                       "      for a_2 in range(2)\n"
                       "        block D(va: 14 = a_0 * 4 + a_1 * 2 + a_2)\n"
                       "          where a_0 * 2 + a_1 < 7\n"
                       "          reads(C[va], C[va + 2])\n"
                       "          writes(D[va])\n"
                       "          D[va] = C[va] + C[va + 2]\n");
  moved_equal(&t);
  /* C reads B, made in the same iteration of a_0, so it can go deeper. */
  DO(&t, compute_at, AT(block, c), AT(loop, scheduled_loop(&t, d, 1)));
  moved_equal(&t);
  DO(&t, compute_at, AT(block, b), AT(loop, scheduled_loop(&t, d, 1)));
  moved_equal(&t);
  DO(&t, parallel, AT(loop, scheduled_loop(&t, d, 0)));
  DO(&t, parallel, AT(loop, scheduled_loop(&t, d, 1)));
  moved_equal(&t);
  scheduled_end(&t);
}

/* Places before, between and after what stands under the loop. */
static void test_index(void **state) {
  (void)state;
  scheduled t;
  int64_t n = 8;
  scheduled_start(&t);
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 1, &n);
  ir_buf x = scheduled_buf(&t, "X", IR_ROLE_LOCAL, 1, &n);
  ir_buf y = scheduled_buf(&t, "Y", IR_ROLE_LOCAL, 1, &n);
  ir_buf z = scheduled_buf(&t, "Z", IR_ROLE_OUTPUT, 1, &n);
  ir_stmt bx = scheduled_block(&t, "X", "S", &n);
  scheduled_store(&t, x, t.it[0], 0, scheduled_load(&t, a, t.it[0], 0), false);
  ir_stmt by = scheduled_block(&t, "Y", "S", &n);
  scheduled_store(&t, y, t.it[0], 0, scheduled_load(&t, a, t.it[0], 0), false);
  ir_stmt bz = scheduled_block(&t, "Z", "S", &n);
  scheduled_store(&t, z, t.it[0], 0,
                  ir_binary(&t.p, IR_ADD, scheduled_load(&t, x, t.it[0], 0),
                            scheduled_load(&t, y, t.it[0], 0)),
                  false);
  scheduled_finish(&t);
  ir_stmt l = scheduled_loop(&t, bz, 0);
  DO(&t, compute_at, AT(block, by), AT(loop, l));
  REFUSED(&t, INDEX_INVALID, compute_at, AT(block, bx), AT(loop, l),
          NUM(index, 2));
  assert_string_equal(
      scheduled_why(&t, "compute_at"),
      "compute_at: index 2 is not one of the possible positions 0 to 1 in "
      "loop a, nor -1 or -2");
  REFUSED(&t, INDEX_INVALID, compute_at, AT(block, bx), AT(loop, l),
          NUM(index, -3));
  ir_program start;
  ir_program_init(&start, &t.heap.heap);
  ir_program_copy(&start, &t.p);
  static const struct {
    int64_t index;
    bool first;
  } tries[] = {{-2, true}, {0, true}, {1, false}, {-1, false}};
  for (unsigned i = 0; i < 4; i++) {
    ir_program_copy(&t.p, &start);
    DO(&t, compute_at, AT(block, bx), AT(loop, l), NUM(index, tries[i].index));
    assert_int_equal(ir_st(&t.p, l)->body, tries[i].first ? bx : by);
    moved_equal(&t);
  }
  ir_program_free(&start);
  scheduled_end(&t);
}

/* A block that reads what is needed in two ways: the tile is around both,
 * and written transposed. */
static void test_several_reads(void **state) {
  (void)state;
  scheduled t;
  int64_t n[2] = {12, 12};
  scheduled_start(&t);
  ir_program *p = &t.p;
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, n);
  ir_buf x = scheduled_buf(&t, "X", IR_ROLE_LOCAL, 2, n);
  ir_buf y = scheduled_buf(&t, "Y", IR_ROLE_OUTPUT, 2, n);
  ir_stmt bx = scheduled_block(&t, "X", "SS", n);
  scheduled_store(&t, x, t.it[1], t.it[0],
                  scheduled_load(&t, a, t.it[0], t.it[1]), false);
  ir_stmt by = scheduled_block(&t, "Y", "SS", n);
  ir_expr half = ir_binary(p, IR_DIV, t.it[0], ir_index(p, 2));
  ir_expr v = ir_binary(p, IR_ADD, scheduled_load(&t, x, t.it[0], t.it[1]),
                        scheduled_load(&t, x, half, t.it[1]));
  scheduled_store(&t, y, t.it[0], t.it[1], v, false);
  scheduled_finish(&t);
  DO(&t, split, AT(loop, scheduled_loop(&t, by, 1)), INTS(factors, 3, 4));
  ir_stmt j = scheduled_loop(&t, by, 1);
  DO(&t, compute_at, AT(block, bx), AT(loop, j));
  scheduled_expect(
      &t, "main(A: float32[12, 12], Y: out float32[12, 12])\n"
          "  alloc X: float32[12, 12]\n"
          "  for a in range(12)\n"
          "    for b_0 in range(3)\n"
          "      for ax0 in range(4)\n"
          "        for ax1 in range(7)\n"
          "          block X(va: 12 = b_0 * 4 + ax0, vb: 12 = a // 2 + "
          "ax1)\n"
          "            X[vb, va] = A[va, vb]\n"
          "      for b_1 in range(4)\n"
          "        block Y(va: 12 = a, vb: 12 = b_0 * 4 + b_1)\n"
          "          reads(X[va, vb], X[va // 2, vb])\n"
          "          writes(Y[va, vb])\n"
          "          Y[va, vb] = X[va, vb] + X[va // 2, vb]\n");
  moved_equal(&t);
  scheduled_end(&t);
}

/* ---- refusals ----------------------------------------------------------- */

/* B = A, C = B; and D = C. */
typedef struct three {
  ir_buf a, b, c, d;
  ir_stmt B, C, D;
} three;

static void start_three(scheduled *t, three *x, int64_t n) {
  scheduled_start(t);
  x->a = moved_buf(t, "A", IR_ROLE_INPUT, n);
  x->b = moved_buf(t, "B", IR_ROLE_LOCAL, n);
  x->c = moved_buf(t, "C", IR_ROLE_LOCAL, n);
  x->d = moved_buf(t, "D", IR_ROLE_OUTPUT, n);
}

static void plain_three(scheduled *t, three *x) {
  start_three(t, x, 8);
  x->B = moved_block(t, "B", 8, x->b, 0, x->a, 0, 0);
  x->C = moved_block(t, "C", 8, x->c, 0, x->b, 0, 0);
  x->D = moved_block(t, "D", 8, x->d, 0, x->c, 0, 0);
}

static void test_places(void **state) {
  (void)state;
  scheduled t;
  three x;
  plain_three(&t, &x);
  scheduled_finish(&t);
  ir_stmt lb = scheduled_loop(&t, x.B, 0), lc = scheduled_loop(&t, x.C, 0);
  ir_stmt ld = scheduled_loop(&t, x.D, 0);
  REFUSED(&t, BLOCK_IS_ROOT, compute_at, AT(block, t.root), AT(loop, lb));
  REFUSED(&t, LOOP_AROUND_BLOCK, compute_at, AT(block, x.B), AT(loop, lb));
  REFUSED(&t, LOOP_NOT_AFTER, compute_at, AT(block, x.C), AT(loop, lb));
  REFUSED(&t, CONSUMER_OUTSIDE, compute_at, AT(block, x.B), AT(loop, ld));
  DO(&t, compute_at, AT(block, x.B), AT(loop, SCH_ROOT_MARK));
  assert_int_equal(scheduled_loop(&t, x.B, 0), lb);
  DO(&t, compute_at, AT(block, x.B), AT(loop, SCH_INLINE_MARK));
  assert_true(ir_is_dead(&t.p, x.B) && ir_is_dead(&t.p, lb));
  assert_false(ir_is_dead(&t.p, lc));
  moved_equal(&t);
  scheduled_end(&t);
}

/* The caller sees what the first block writes: it may move where all of it is
 * computed. */
static void test_output(void **state) {
  (void)state;
  for (int part = 0; part < 2; part++) {
    scheduled t;
    three x;
    start_three(&t, &x, 8);
    x.C = moved_block(&t, "C", 8, x.d, 0, x.a, 0, 0);
    ir_buf e = moved_buf(&t, "E", IR_ROLE_OUTPUT, 8);
    ir_stmt be = moved_block(&t, "E", part ? 6 : 8, e, 0, x.d, 0, 0);
    scheduled_finish(&t);
    ir_stmt l = scheduled_loop(&t, be, 0);
    REFUSED(&t, OUTPUT_BLOCK, compute_inline, AT(block, x.C));
    REFUSED(&t, OUTPUT_BLOCK, reverse_compute_inline, AT(block, be));
    if (part) {
      REFUSED(&t, OUTPUT_NOT_WHOLE, compute_at, AT(block, x.C), AT(loop, l));
      assert_string_equal(
          scheduled_why(&t, "compute_at"),
          "compute_at: block \"C\" writes buffer \"D\", which is live "
          "outside of its scope, and not all of it would be computed under "
          "loop a, such as (va = 7)");
    } else {
      DO(&t, compute_at, AT(block, x.C), AT(loop, l));
      moved_equal(&t);
    }
    scheduled_end(&t);
  }
}

/* A block under a condition, or beside one. */
static void test_conditions(void **state) {
  (void)state;
  for (int around = 0; around < 2; around++) {
    scheduled t;
    three x;
    plain_three(&t, &x);
    ir_expr yes = ir_binary(
        &t.p, IR_LE,
        ir_ref(&t.p,
               ir_st(&t.p, scheduled_loop(&t, around ? x.B : x.D, 0))->var),
        ir_index(&t.p, 6));
    ir_wrap(&t.p, around ? x.B : x.D, ir_if_new(&t.p, yes));
    scheduled_finish(&t);
    ir_stmt lc = scheduled_loop(&t, x.C, 0);
    if (around)
      REFUSED(&t, PLACE_NOT_PLAIN, compute_at, AT(block, x.B), AT(loop, lc));
    else
      REFUSED(&t, OTHER_STATEMENT, compute_at, AT(block, x.C),
              AT(loop, scheduled_loop(&t, x.D, 0)));
    if (!around) {
      DO(&t, compute_at, AT(block, x.B), AT(loop, lc));
      moved_equal(&t);
    }
    scheduled_end(&t);
  }
}

/* Blocks that may run only once, in one order, or share what they write. */
static void test_incomplete(void **state) {
  (void)state;
  static const char *const why[] = {"one of its iters must keep its order",
                                    "it reads what it writes",
                                    "it is not the only writer of its buffer",
                                    "it writes an element more than once"};
  for (int k = 0; k < 4; k++) {
    scheduled t;
    three x;
    start_three(&t, &x, 8);
    ir_buf b = x.b;
    x.B = moved_block(&t, "B", 8, b, k == 3 ? ir_index(&t.p, 0) : 0, x.a, 0,
                      k == 1 ? b : 0);
    if (k == 0) t.p.iter.v[ir_blk(&t.p, x.B)->iters.at].kind = IR_OPAQUE;
    if (k == 2) moved_block(&t, "again", 8, b, 0, x.a, 0, 0);
    x.C = moved_block(&t, "C", 8, x.c, k == 3 ? 0 : 0, b, 0, 0);
    x.D = moved_block(&t, "D", 8, x.d, 0, x.c, 0, 0);
    scheduled_finish(&t);
    REFUSED(&t, BLOCK_NOT_COMPLETE, compute_at, AT(block, x.B),
            AT(loop, scheduled_loop(&t, x.C, 0)));
    assert_string_equal(t.s.refusal.t, why[k]);
    scheduled_end(&t);
  }
}

static void test_no_consumer(void **state) {
  (void)state;
  scheduled t;
  three x;
  start_three(&t, &x, 8);
  x.B = moved_block(&t, "B", 8, x.b, 0, x.a, 0, 0);
  x.D = moved_block(&t, "D", 8, x.d, 0, x.a, 0, 0);
  scheduled_finish(&t);
  REFUSED(&t, NO_CONSUMER, compute_at, AT(block, x.B),
          AT(loop, scheduled_loop(&t, x.D, 0)));
  scheduled_end(&t);
}

/* What B reads is changed before its consumer runs. */
static void test_overwritten(void **state) {
  (void)state;
  scheduled t;
  three x;
  start_three(&t, &x, 8);
  ir_stmt first = moved_block(&t, "C", 8, x.c, 0, x.a, 0, 0);
  x.B = moved_block(&t, "B", 8, x.b, 0, x.c, 0, 0);
  ir_stmt change = moved_block(&t, "change", 8, x.c, 0, x.a, 0, x.c);
  x.D = moved_block(&t, "D", 8, x.d, 0, x.b, 0, x.c);
  scheduled_finish(&t);
  ir_stmt l = scheduled_loop(&t, x.D, 0);
  REFUSED(&t, INPUT_OVERWRITTEN, compute_at, AT(block, x.B), AT(loop, l));
  assert_string_equal(
      scheduled_why(&t, "compute_at"),
      "compute_at: block \"change\" overwrites buffer \"C\", which block "
      "\"B\" reads, between the old place and the new, such as (a = 0) and "
      "(a = 0)");
  REFUSED(&t, INPUT_OVERWRITTEN, compute_inline, AT(block, x.B));
  REFUSED(&t, BLOCK_NOT_COMPLETE, compute_at, AT(block, first),
          AT(loop, scheduled_loop(&t, x.B, 0)));
  REFUSED(&t, BLOCK_NOT_COMPLETE, compute_at, AT(block, change), AT(loop, l));
  scheduled_end(&t);
}

/* A scratch element that each iteration fills anew for the next block: that
 * one cannot leave the loop, since only the last value would be left. */
static void test_scratch(void **state) {
  (void)state;
  scheduled t;
  three x;
  start_three(&t, &x, 8);
  ir_stmt fill = moved_block(&t, "fill", 8, x.c, ir_index(&t.p, 0), x.a, 0, 0);
  int64_t n = 8;
  x.B = scheduled_block(&t, "B", "S", &n);
  scheduled_store(&t, x.b, t.it[0], 0,
                  scheduled_load(&t, x.c, ir_index(&t.p, 0), 0), false);
  moved_join(&t, fill, x.B);
  x.D = moved_block(&t, "D", 8, x.d, 0, x.b, 0, 0);
  scheduled_finish(&t);
  REFUSED(&t, INPUT_OVERWRITTEN, compute_at, AT(block, x.B),
          AT(loop, scheduled_loop(&t, x.D, 0)));
  REFUSED(&t, INPUT_OVERWRITTEN, compute_inline, AT(block, x.B));
  scheduled_end(&t);
}

/* In one loop B[i], then a loop of its own over C[i] = B[i - 1]: what is read
 * was made in the iteration before. */
static void test_not_local(void **state) {
  (void)state;
  scheduled t;
  three x;
  start_three(&t, &x, 8);
  ir_program *p = &t.p;
  ir_stmt c = moved_block(&t, "C", 8, x.c, 0, x.a, 0, 0);
  x.B = moved_block(&t, "B", 8, x.b, 0, x.c, 0, 0);
  moved_join(&t, c, x.B);
  int64_t n[2] = {8, 1};
  x.D = scheduled_block(&t, "D", "SS", n);
  ir_expr i = scheduled_plus(&t, t.it[0], -1);
  ir_expr load = scheduled_load(&t, x.b, i, 0);
  scheduled_store(&t, x.d, t.it[0], 0,
                  ir_select(p, ir_binary(p, IR_LE, ir_index(p, 0), i), load,
                            scheduled_load(&t, x.a, t.it[0], 0)),
                  false);
  /* The outer loop of D is that of the others; the inner one stays. */
  ir_stmt outer = scheduled_loop(&t, x.D, 0), inner = ir_st(p, outer)->body;
  ir_detach(p, inner);
  p->iter.v[ir_blk(p, x.D)->iters.at].bind =
      ir_ref(p, ir_st(p, scheduled_loop(&t, c, 0))->var);
  ir_append(p, scheduled_loop(&t, c, 0), inner);
  ir_kill(p, outer);
  scheduled_finish(&t);
  REFUSED(&t, NOT_LOCAL, compute_at, AT(block, x.B), AT(loop, inner));
  REFUSED(&t, NOT_LOCAL, compute_inline, AT(block, x.B));
  scheduled_end(&t);
}

/* A predicate that says more than that the iters are in their domains. */
static void test_instances(void **state) {
  (void)state;
  scheduled t;
  three x;
  plain_three(&t, &x);
  ir_program *p = &t.p;
  ir_expr i = ir_ref(p, ir_st(p, scheduled_loop(&t, x.C, 0))->var);
  ir_expr odd = ir_binary(p, IR_EQ, ir_binary(p, IR_MOD, i, ir_index(p, 2)),
                          ir_index(p, 0));
  ir_blk(p, x.C)->pred = odd;
  scheduled_finish(&t);
  ir_stmt d = scheduled_loop(&t, scheduled_get(&t, "D"), 0);
  assert_false(sch_can_compute_at(&t.s, x.C, d, false));
  DO(&t, compute_at, AT(block, x.C), AT(loop, d));
  assert_int_equal(ir_at(p, ir_blk(p, x.C)->pred)->op, IR_EQ);
  scheduled_end(&t);

  /* Nobody can say what the loops count in terms of the iters. */
  plain_three(&t, &x);
  i = ir_ref(p, ir_st(p, scheduled_loop(&t, x.C, 0))->var);
  odd = ir_binary(p, IR_MOD, ir_mul(p, i, i), ir_index(p, 8));
  p->iter.v[ir_blk(p, x.C)->iters.at].bind = odd;
  scheduled_finish(&t);
  REFUSED(&t, INSTANCES_UNKNOWN, compute_at, AT(block, x.C),
          AT(loop, scheduled_loop(&t, x.D, 0)));
  scheduled_end(&t);
}

/* A sum that goes on around the place where it is read. */
static void test_partial(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  int64_t n[2] = {4, 6};
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, n);
  ir_buf s = moved_buf(&t, "S", IR_ROLE_LOCAL, 4);
  ir_buf d = scheduled_buf(&t, "D", IR_ROLE_OUTPUT, 2, n);
  ir_stmt sum = scheduled_block(&t, "S", "SR", n);
  scheduled_store(&t, s, t.it[0], 0, scheduled_load(&t, a, t.it[0], t.it[1]),
                  true);
  ir_stmt use = scheduled_block(&t, "D", "SS", n);
  scheduled_store(&t, d, t.it[0], t.it[1], scheduled_load(&t, s, t.it[0], 0),
                  false);
  ir_stmt unit = ir_loop_new(
      &t.p, ir_var_new(&t.p, IR_VAR_LOOP, ir_name(&t.p, "u"), IR_INDEX, 0, 0),
      ir_index(&t.p, 0), ir_index(&t.p, 1), IR_SERIAL);
  moved_join(&t, sum, use);
  ir_wrap(&t.p, use, unit);
  scheduled_finish(&t);
  REFUSED(&t, BLOCK_PARTIAL, compute_at, AT(block, sum), AT(loop, unit));
  scheduled_end(&t);
}

/* Sums over a triangle: moved, they keep to it. */
static void test_compute_at_triangle(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  int64_t n[2] = {6, 6};
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, n);
  ir_buf s = moved_buf(&t, "S", IR_ROLE_LOCAL, 6);
  ir_buf d = moved_buf(&t, "D", IR_ROLE_OUTPUT, 6);
  ir_stmt sum = scheduled_block(&t, "S", "SR", n);
  scheduled_store(&t, s, t.it[0], 0, scheduled_load(&t, a, t.it[0], t.it[1]),
                  true);
  ir_stmt row = scheduled_loop(&t, sum, 0), col = scheduled_loop(&t, sum, 1);
  ir_expr i = ir_ref(&t.p, ir_st(&t.p, row)->var);
  ir_expr last = scheduled_plus(&t, i, 1);
  ir_st(&t.p, col)->extent = last;
  ir_stmt use = scheduled_block(&t, "D", "S", n);
  scheduled_store(&t, d, t.it[0], 0, scheduled_load(&t, s, t.it[0], 0), false);
  scheduled_finish(&t);
  DO(&t, compute_at, AT(block, sum), AT(loop, scheduled_loop(&t, use, 0)));
  scheduled_expect(&t, "main(A: float32[6, 6], D: out float32[6])\n"
                       "  alloc S: float32[6]\n"
                       "  for a in range(6)\n"
                       "    for ax0 in range(6)\n"
                       "      block S(va: 6 = a, vb: reduce 6 = ax0)\n"
                       "        where ax0 <= a\n"
                       "        init\n"
                       "          S[va] = 0.0\n"
                       "        S[va] = S[va] + A[va, vb]\n"
                       "    block D(va: 6 = a)\n"
                       "      D[va] = S[va]\n");
  moved_equal(&t);
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_compute_at_reduction),
      cmocka_unit_test(test_unit_loops),
      cmocka_unit_test(test_stencil),
      cmocka_unit_test(test_chain),
      cmocka_unit_test(test_index),
      cmocka_unit_test(test_several_reads),
      cmocka_unit_test(test_places),
      cmocka_unit_test(test_output),
      cmocka_unit_test(test_conditions),
      cmocka_unit_test(test_incomplete),
      cmocka_unit_test(test_no_consumer),
      cmocka_unit_test(test_overwritten),
      cmocka_unit_test(test_scratch),
      cmocka_unit_test(test_not_local),
      cmocka_unit_test(test_instances),
      cmocka_unit_test(test_partial),
      cmocka_unit_test(test_compute_at_triangle),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
