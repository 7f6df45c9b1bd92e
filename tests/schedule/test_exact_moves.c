/* SPDX-License-Identifier: Apache-2.0
 * Moves that only an exact look at the iterations allows, or refuses by
 * naming what would go wrong. */
#include "support/moved.h"

/* B[i, j] = A[i, j] over the rows i of 6 and columns below i + 1 (lower) or
 * all, then C[i, j] = B[i, j] over the same triangle. */
typedef struct triangles {
  ir_stmt B, C;
} triangles;

static ir_stmt triangle(scheduled *t, const char *name, ir_buf to, ir_buf from,
                        bool lower) {
  const int64_t n[2] = {6, 6};
  ir_stmt b = scheduled_block(t, name, "SS", n);
  scheduled_store(t, to, t->it[0], t->it[1],
                  scheduled_load(t, from, t->it[0], t->it[1]), false);
  ir_stmt col = ir_st(&t->p, b)->parent, row = ir_st(&t->p, col)->parent;
  ir_expr i = ir_ref(&t->p, ir_st(&t->p, row)->var);
  ir_expr extent = scheduled_plus(t, i, 1);
  if (lower) ir_st(&t->p, col)->extent = extent;
  return b;
}

static triangles start(scheduled *t, bool lower) {
  const int64_t n[2] = {6, 6};
  triangles x;
  scheduled_start(t);
  ir_buf a = scheduled_buf(t, "A", IR_ROLE_INPUT, 2, n);
  ir_buf b = scheduled_buf(t, "B", IR_ROLE_LOCAL, 2, n);
  ir_buf c = scheduled_buf(t, "C", IR_ROLE_OUTPUT, 2, n);
  x.B = triangle(t, "B", b, a, lower);
  x.C = triangle(t, "C", c, b, true);
  scheduled_finish(t);
  return x;
}

/* A consumer over a triangle follows its producer, row by row and element by
 * element. */
static void test_triangle(void **state) {
  (void)state;
  for (uint32_t k = 0; k < 4; k++) {
    scheduled t;
    triangles x = start(&t, k < 2);
    ir_stmt at = scheduled_loop(&t, scheduled_get(&t, "B"), k % 2);
    assert_false(sch_can_reverse_compute_at(&t.s, x.C, at, false));
    DO(&t, reverse_compute_at, AT(block, x.C), AT(loop, at));
    if (!k)
      scheduled_expect(&t, "main(A: float32[6, 6], C: out float32[6, 6])\n"
                           "  alloc B: float32[6, 6]\n"
                           "  for a in range(6)\n"
                           "    for b in range(a + 1)\n"
                           "      block B(va: 6 = a, vb: 6 = b)\n"
                           "        B[va, vb] = A[va, vb]\n"
                           "    for ax0 in range(6)\n"
                           "      block C(va: 6 = a, vb: 6 = ax0)\n"
                           "        where ax0 <= a\n"
                           "        C[va, vb] = B[va, vb]\n");
    moved_equal(&t);
    scheduled_end(&t);
  }
}

/* Rows of a matrix and its transpose, of which no iteration has both: the
 * refusal says what would be left out. */
static void test_transposed(void **state) {
  (void)state;
  const int64_t n[2] = {6, 6};
  scheduled t;
  scheduled_start(&t);
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, n);
  ir_buf b = scheduled_buf(&t, "B", IR_ROLE_LOCAL, 2, n);
  ir_buf c = scheduled_buf(&t, "C", IR_ROLE_OUTPUT, 2, n);
  ir_stmt bb = triangle(&t, "B", b, a, false);
  ir_stmt bc = scheduled_block(&t, "C", "SS", n);
  ir_expr both =
      ir_binary(&t.p, IR_ADD, scheduled_load(&t, b, t.it[0], t.it[1]),
                scheduled_load(&t, b, t.it[1], t.it[0]));
  scheduled_store(&t, c, t.it[0], t.it[1], both, false);
  scheduled_finish(&t);
  ir_stmt i = scheduled_loop(&t, scheduled_get(&t, "B"), 0);
  REFUSED(&t, NOT_PARTITION, reverse_compute_at, AT(block, bc), AT(loop, i));
  assert_non_null(strstr(scheduled_why(&t, "reverse_compute_at"),
                         "just once, such as (va = "));
  (void)bb;
  scheduled_end(&t);
}

/* Two blocks make a half each, in the same iteration: neither makes all that
 * is read. */
static void test_halves(void **state) {
  (void)state;
  const int64_t n[2] = {4, 8}, h[2] = {4, 4};
  scheduled t;
  scheduled_start(&t);
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, n);
  ir_buf b = scheduled_buf(&t, "B", IR_ROLE_LOCAL, 2, n);
  ir_buf c = scheduled_buf(&t, "C", IR_ROLE_OUTPUT, 2, n);
  ir_stmt half[2];
  for (int k = 0; k < 2; k++) {
    half[k] = scheduled_block(&t, k ? "high" : "low", "SS", h);
    ir_expr j = scheduled_plus(&t, t.it[1], 4 * k);
    scheduled_store(&t, b, t.it[0], j, scheduled_load(&t, a, t.it[0], j),
                    false);
  }
  ir_stmt all = scheduled_block(&t, "C", "SS", n);
  scheduled_store(&t, c, t.it[0], t.it[1],
                  scheduled_load(&t, b, t.it[0], t.it[1]), false);
  scheduled_finish(&t);
  DO(&t, merge,
     LIST(loops, scheduled_loop(&t, half[0], 0),
          scheduled_loop(&t, half[1], 0)));
  ir_stmt row = scheduled_loop(&t, half[0], 0);
  DO(&t, reverse_compute_at, AT(block, all), AT(loop, row));
  moved_equal(&t);
  DO(&t, parallel, AT(loop, row));
  scheduled_end(&t);
}

/* B[i] is made in iteration i and read there and in the next one: moved below
 * a loop of the reader it is still made in its own iteration only. */
static void test_next(void **state) {
  (void)state;
  for (int64_t d = 0; d < 2; d++) {
    const int64_t n[2] = {8, 1};
    scheduled t;
    scheduled_start(&t);
    ir_program *p = &t.p;
    ir_buf x = moved_buf(&t, "X", IR_ROLE_INPUT, 8);
    ir_buf a = moved_buf(&t, "A", IR_ROLE_LOCAL, 8);
    ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 8);
    ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 8);
    ir_stmt ba = moved_block(&t, "A", 8, a, 0, x, 0, 0);
    ir_stmt bb = moved_block(&t, "B", 8, b, 0, a, 0, 0);
    moved_join(&t, ba, bb);
    ir_stmt bc = scheduled_block(&t, "C", "SS", n);
    ir_expr i = scheduled_plus(&t, t.it[0], -1);
    ir_expr last = ir_select(p, ir_binary(p, IR_LE, ir_index(p, 0), i),
                             scheduled_load(&t, b, i, 0),
                             scheduled_load(&t, x, t.it[0], 0));
    if (!d)
      last = ir_binary(p, IR_ADD, last, scheduled_load(&t, b, t.it[0], 0));
    scheduled_store(&t, c, t.it[0], 0, last, false);
    ir_stmt outer = scheduled_loop(&t, bc, 0), inner = ir_st(p, outer)->body;
    ir_detach(p, inner);
    p->iter.v[ir_blk(p, bc)->iters.at].bind =
        ir_ref(p, ir_st(p, scheduled_loop(&t, ba, 0))->var);
    ir_append(p, scheduled_loop(&t, ba, 0), inner);
    ir_kill(p, outer);
    scheduled_finish(&t);
    if (d) {
      /* Read in the next one only, it would never be made. */
      REFUSED(&t, NOT_LOCAL, compute_at, AT(block, bb), AT(loop, inner));
      assert_non_null(strstr(scheduled_why(&t, "compute_at"),
                             "in other iterations of loop a, such as (va = "));
    } else {
      DO(&t, compute_at, AT(block, bb), AT(loop, inner));
      moved_equal(&t);
    }
    scheduled_end(&t);
  }
}

/* A sum that another one goes on with: each must be run once, which the exact
 * look says, too. */
static void test_sums(void **state) {
  (void)state;
  const int64_t n[2] = {6, 6};
  scheduled t;
  scheduled_start(&t);
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, n);
  ir_buf b = scheduled_buf(&t, "B", IR_ROLE_LOCAL, 2, n);
  ir_buf s = moved_buf(&t, "S", IR_ROLE_OUTPUT, 6);
  ir_stmt bb = triangle(&t, "B", b, a, true);
  ir_stmt bs = scheduled_block(&t, "S", "SR", n);
  scheduled_store(&t, s, t.it[0], 0, scheduled_load(&t, b, t.it[0], t.it[1]),
                  true);
  ir_stmt col = ir_st(&t.p, bs)->parent, row = ir_st(&t.p, col)->parent;
  ir_expr extent = scheduled_plus(&t, ir_ref(&t.p, ir_st(&t.p, row)->var), 1);
  ir_st(&t.p, col)->extent = extent;
  scheduled_finish(&t);
  ir_stmt i = scheduled_loop(&t, scheduled_get(&t, "B"), 0);
  DO(&t, reverse_compute_at, AT(block, bs), AT(loop, i));
  moved_equal(&t);
  (void)bb;
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_triangle), cmocka_unit_test(test_transposed),
      cmocka_unit_test(test_halves),   cmocka_unit_test(test_next),
      cmocka_unit_test(test_sums),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
