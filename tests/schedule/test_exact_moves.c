/* SPDX-License-Identifier: Apache-2.0
 * Moves that only an exact look at the iterations allows, or refuses by
 * naming what would go wrong. */
#include "ir/edit.h"
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

static triangles exact_moves_start(scheduled *t, bool lower) {
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
static void test_exact_moves_triangle(void **state) {
  (void)state;
  for (uint32_t k = 0; k < 4; k++) {
    scheduled t;
    triangles x = exact_moves_start(&t, k < 2);
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
                         "exactly once, such as (va = "));
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

/* to[i + at] = from[i + by], for i below n. */
static ir_stmt copy(scheduled *t, const char *name, int64_t n, ir_buf to,
                    int64_t at, ir_buf from, int64_t by) {
  ir_stmt b = scheduled_block(t, name, "S", &n);
  ir_expr i = scheduled_plus(t, t->it[0], at);
  scheduled_store(t, to, i, 0,
                  scheduled_load(t, from, scheduled_plus(t, t->it[0], by), 0),
                  false);
  return b;
}

enum { ROW = 8, WIDE = ROW + 2 };

/* A is given, Z is Z[i] = A[i] at first, B and E are to be made. */
typedef struct line {
  ir_buf A, Z, B, E;
} line;

static line start_line(scheduled *t) {
  scheduled_start(t);
  const int64_t wide = WIDE;
  line x;
  x.A = scheduled_buf(t, "A", IR_ROLE_INPUT, 1, &wide);
  x.Z = scheduled_buf(t, "Z", IR_ROLE_OUTPUT, 1, &wide);
  x.B = scheduled_buf(t, "B", IR_ROLE_LOCAL, 1, &wide);
  x.E = scheduled_buf(t, "E", IR_ROLE_OUTPUT, 1, &wide);
  (void)copy(t, "Z", WIDE, x.Z, 0, x.A, 0);
  return x;
}

/* B may be computed, or not, under the loop of `to`. */
static void moves(scheduled *t, bool may, const char *prim, const char *to) {
  scheduled_finish(t);
  ir_stmt b = scheduled_get(t, "B"), e = scheduled_get(t, to);
  ir_stmt loop = scheduled_loop(t, e, 0);
  const scheduled_arg args[] = {AT(block, b), AT(loop, loop), {0}};
  bool ok = scheduled_call(t, prim, args);
  if (ok != may) fail_msg("%s\n%s", scheduled_text(t), scheduled_why(t, prim));
  if (may) {
    moved_equal(t);
  } else {
    assert_int_equal(t->s.refusal.reason, SCH_R_INPUT_OVERWRITTEN);
    assert_non_null(strstr(scheduled_why(t, prim), ", such as ("));
  }
  scheduled_end(t);
}

/* Z is changed in place, by way of B: an element may be read until its own
 * iteration comes. */
static void test_in_place(void **state) {
  (void)state;
  for (int64_t by = 0; by < 3; by++) {
    scheduled t;
    line x = start_line(&t);
    (void)copy(&t, "B", ROW, x.B, 0, x.Z, by);
    (void)copy(&t, "E", ROW, x.Z, 1, x.B, 0);
    moves(&t, by > 0, "compute_at", "E");
  }
}

/* Somebody between the two places writes the elements that B does not read. */
static void test_change_between(void **state) {
  (void)state;
  for (int64_t at = 0; at < 2; at++) {
    scheduled t;
    line x = start_line(&t);
    int64_t n = ROW;
    ir_program *p = &t.p;
    scheduled_block(&t, "B", "S", &n);
    ir_expr even =
        ir_sub(p, t.it[0], ir_binary(p, IR_MOD, t.it[0], ir_index(p, 2)));
    scheduled_store(&t, x.B, t.it[0], 0, scheduled_load(&t, x.Z, even, 0),
                    false);
    n = ROW / 2;
    scheduled_block(&t, "change", "S", &n);
    ir_expr twice = ir_mul(p, t.it[0], ir_index(p, 2));
    scheduled_store(&t, x.Z, scheduled_plus(&t, twice, at), 0,
                    ir_real(p, (tess_dtype){TESS_DTYPE_FLOAT, 32, 1}, 2),
                    false);
    (void)copy(&t, "E", ROW, x.E, 0, x.B, 0);
    moves(&t, at == 1, "compute_at", "E");
  }
}

/* B leaves a loop in which Z is changed after it, for this iteration or the
 * next. */
static void test_change_behind(void **state) {
  (void)state;
  for (int64_t at = 0; at < 2; at++) {
    scheduled t;
    line x = start_line(&t);
    ir_stmt b = copy(&t, "B", ROW, x.B, 0, x.Z, 0);
    ir_stmt c = copy(&t, "change", ROW, x.Z, at, x.A, 1);
    moved_join(&t, b, c);
    (void)copy(&t, "E", ROW, x.E, 0, x.B, 0);
    moves(&t, at == 1, "compute_at", "E");
  }
}

/* B leaves a loop in which pairs of iterations share an element of Z, that
 * both make, or the first one. */
static void test_left_behind(void **state) {
  (void)state;
  for (int once = 0; once < 2; once++) {
    scheduled t;
    line x = start_line(&t);
    ir_program *p = &t.p;
    int64_t n = ROW;
    ir_stmt block[2];
    for (int k = 0; k < 2; k++) {
      block[k] = scheduled_block(&t, k ? "B" : "fill", "S", &n);
      ir_expr half = ir_binary(p, IR_DIV, t.it[0], ir_index(p, 2));
      scheduled_store(&t, k ? x.B : x.Z, k ? t.it[0] : half, 0,
                      scheduled_load(&t, k ? x.Z : x.A, k ? half : t.it[0], 0),
                      false);
    }
    ir_stmt loop = ir_st(p, block[0])->parent;
    ir_expr odd =
        ir_binary(p, IR_MOD, ir_ref(p, ir_st(p, loop)->var), ir_index(p, 2));
    if (once)
      ir_blk(p, block[0])->pred = ir_binary(p, IR_EQ, odd, ir_index(p, 0));
    moved_join(&t, block[0], block[1]);
    (void)copy(&t, "E", ROW, x.E, 0, x.B, 0);
    moves(&t, once, "compute_at", "E");
  }
}

/* B goes ahead of one that changes Z after it in the same loop, for this
 * iteration or the next. */
static void test_goes_ahead(void **state) {
  (void)state;
  for (int64_t at = 0; at < 2; at++) {
    scheduled t;
    line x = start_line(&t);
    ir_program *p = &t.p;
    (void)copy(&t, "E", ROW, x.E, 0, x.A, 0);
    int64_t n = ROW;
    ir_stmt b = scheduled_block(&t, "B", "S", &n);
    ir_expr both = ir_binary(p, IR_ADD, scheduled_load(&t, x.E, t.it[0], 0),
                             scheduled_load(&t, x.Z, t.it[0], 0));
    scheduled_store(&t, x.B, t.it[0], 0, both, false);
    moved_join(&t, b, copy(&t, "change", ROW, x.Z, at, x.A, 1));
    (void)copy(&t, "F", ROW, x.E, 0, x.B, 0);
    moves(&t, !at, "reverse_compute_at", "E");
  }
}

/* F reads in the loop that B leaves what B made there, or, an element ahead,
 * what it made in an iteration of the loop around both before. */
static void test_read_ahead(void **state) {
  (void)state;
  for (int64_t by = -1; by < 2; by += 2) {
    scheduled t;
    const int64_t n[2] = {3, ROW};
    scheduled_start(&t);
    ir_program *p = &t.p;
    ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, n);
    ir_buf e = scheduled_buf(&t, "E", IR_ROLE_LOCAL, 1, n + 1);
    ir_buf b = scheduled_buf(&t, "B", IR_ROLE_LOCAL, 1, n + 1);
    ir_buf d = scheduled_buf(&t, "D", IR_ROLE_OUTPUT, 2, n);
    scheduled_block(&t, "D", "SS", n);
    scheduled_store(&t, d, t.it[0], t.it[1],
                    scheduled_load(&t, a, t.it[0], t.it[1]), false);
    ir_stmt make = scheduled_block(&t, "E", "SS", n);
    scheduled_store(&t, e, t.it[1], 0, scheduled_load(&t, a, t.it[0], t.it[1]),
                    false);
    ir_stmt around = ir_st(p, ir_st(p, make)->parent)->parent;
    ir_stmt take = scheduled_block(&t, "B", "S", n + 1);
    scheduled_store(&t, b, t.it[0], 0, scheduled_load(&t, e, t.it[0], 0),
                    false);
    ir_stmt loop = ir_st(p, take)->parent;
    ir_detach(p, loop);
    ir_append(p, around, loop);
    ir_stmt use = scheduled_block(&t, "F", "SS", n);
    ir_expr at = scheduled_plus(&t, t.it[1], by);
    at = ir_binary(p, IR_MAX, at, ir_index(p, 0));
    at = ir_binary(p, IR_MIN, at, ir_index(p, ROW - 1));
    scheduled_store(&t, d, t.it[0], t.it[1], scheduled_load(&t, b, at, 0),
                    false);
    moved_join(&t, take, use);
    ir_blk(p, use)->pred =
        ir_binary(p, IR_LE, ir_index(p, 1), ir_ref(p, ir_st(p, around)->var));
    scheduled_finish(&t);
    ir_stmt to = scheduled_loop(&t, scheduled_get(&t, "E"), 1);
    take = scheduled_get(&t, "B");
    if (by < 0) {
      DO(&t, reverse_compute_at, AT(block, take), AT(loop, to));
      moved_equal(&t);
    } else {
      REFUSED(&t, READ_BEFORE, reverse_compute_at, AT(block, take),
              AT(loop, to));
      assert_non_null(
          strstr(scheduled_why(&t, "reverse_compute_at"), ", such as ("));
    }
    scheduled_end(&t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exact_moves_triangle),
      cmocka_unit_test(test_transposed),
      cmocka_unit_test(test_halves),
      cmocka_unit_test(test_next),
      cmocka_unit_test(test_sums),
      cmocka_unit_test(test_in_place),
      cmocka_unit_test(test_change_between),
      cmocka_unit_test(test_change_behind),
      cmocka_unit_test(test_left_behind),
      cmocka_unit_test(test_goes_ahead),
      cmocka_unit_test(test_read_ahead),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
