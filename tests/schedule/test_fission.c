/* SPDX-License-Identifier: Apache-2.0
 * fission, and what is decided by looking at iterations exactly: LU,
 * Cholesky, and what cannot be decided. */
#include "ir/edit.h"
#include "ir/query.h"
#include "support/scheduled.h"

/* ---- fission ------------------------------------------------------------ */

/* for i: { A[i + 2] = 1; B[i] = A[i + d] }, in one loop. */
static ir_stmt pipeline(scheduled *t, int64_t d) {
  int64_t n = 8, m = 16;
  ir_program *p = &t->p;
  ir_buf a = scheduled_buf(t, "A", IR_ROLE_OUTPUT, 1, &m);
  ir_buf b = scheduled_buf(t, "B", IR_ROLE_OUTPUT, 1, &n);
  ir_stmt ba = scheduled_block(t, "A", "S", &n);
  scheduled_store(t, a, scheduled_plus(t, t->it[0], 2), 0,
                  ir_real(p, (tess_dtype){TESS_DTYPE_FLOAT, 32, 1}, 1), false);
  ir_stmt bb = scheduled_block(t, "B", "S", &n);
  scheduled_store(t, b, t->it[0], 0,
                  scheduled_load(t, a, scheduled_plus(t, t->it[0], d), 0),
                  false);
  ir_stmt i = scheduled_loop(t, ba, 0), old = scheduled_loop(t, bb, 0);
  p->iter.v[ir_blk(p, bb)->iters.at].bind = ir_ref(p, ir_st(p, i)->var);
  ir_detach(p, bb);
  ir_append(p, i, bb);
  ir_kill(p, old);
  scheduled_finish(t);
  return i;
}

static void test_distances(void **state) {
  (void)state;
  for (int64_t d = 0; d < 5; d++) {
    scheduled t;
    scheduled_start(&t);
    ir_stmt i = pipeline(&t, d);
    if (d > 2) {
      REFUSED(&t, FISSION_DEPENDS, fission, AT(loop, i));
    } else {
      DO(&t, fission, AT(loop, i));
      assert_int_equal(t.nout, 2);
      assert_int_equal(t.out[0], i);
      assert_int_equal(ir_st(&t.p, i)->next, t.out[1]);
      assert_true(scheduled_loop(&t, scheduled_get(&t, "B"), 0) != i);
    }
    scheduled_end(&t);
  }
}

static void test_fission_refusals(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_stmt i = pipeline(&t, 3);
  REFUSED(&t, FISSION_DEPENDS, fission, AT(loop, i), NUM(position, 1));
  assert_string_equal(
      scheduled_why(&t, "fission"),
      "fission: block \"B\" conflicts on buffer \"A\" with block \"A\" in a "
      "later iteration, and distribution would reverse that dependence, such "
      "as (a = 1) and (a = 0)");
  REFUSED(&t, FISSION_PLACE, fission, AT(loop, i), NUM(position, 2));
  REFUSED(&t, FISSION_PLACE, fission, AT(loop, i), NUM(position, -1));
  ir_anno_set(&t.p, i, ir_name(&t.p, "x"), ir_value_int(&t.p, 1));
  REFUSED(&t, LOOP_ANNOTATED, fission, AT(loop, i));
  ir_anno_remove(&t.p, i, "x");
  DO(&t, unroll, AT(loop, i));
  scheduled_end(&t);
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  i = scheduled_loop(&t, scheduled_get(&t, "C"), 0);
  REFUSED(&t, ONLY_BLOCK, fission, AT(loop, i));
  scheduled_end(&t);
}

/* A loop of data-dependent extent, and a statement that is no block. */
static void test_other_statement(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_stmt i = pipeline(&t, 0), b = scheduled_get(&t, "B");
  ir_program *p = &t.p;
  ir_expr at = ir_index(p, 3);
  ir_buf a = p->region.v[ir_blk(p, b)->reads.at].buf;
  ir_blk(p, b)->pred = ir_binary(p, IR_LT, ir_load(p, a, 1, &at),
                                 ir_real(p, p->buf.v[a].dtype, 3));
  REFUSED(&t, OTHER_STATEMENT, fission, AT(loop, i));
  ir_blk(p, b)->pred = 0;
  DO(&t, fission, AT(loop, i), NUM(position, 1));
  scheduled_end(&t);
}

/* A scratch element that all iterations share is in the way; one of their
 * own is not. */
static void test_scratch(void **state) {
  (void)state;
  for (int own = 0; own < 2; own++) {
    scheduled t;
    scheduled_start(&t);
    int64_t n = 8;
    ir_program *p = &t.p;
    ir_buf x = scheduled_buf(&t, "X", IR_ROLE_INPUT, 1, &n);
    ir_buf a = scheduled_buf(&t, "A", IR_ROLE_LOCAL, 1, &n);
    ir_buf b = scheduled_buf(&t, "B", IR_ROLE_OUTPUT, 1, &n);
    ir_stmt ba = scheduled_block(&t, "A", "S", &n);
    ir_expr at = own ? t.it[0] : ir_index(p, 0);
    scheduled_store(&t, a, at, 0, scheduled_load(&t, x, t.it[0], 0), false);
    ir_stmt bb = scheduled_block(&t, "B", "S", &n);
    at = own ? t.it[0] : ir_index(p, 0);
    scheduled_store(&t, b, t.it[0], 0, scheduled_load(&t, a, at, 0), false);
    ir_stmt i = scheduled_loop(&t, ba, 0), old = scheduled_loop(&t, bb, 0);
    p->iter.v[ir_blk(p, bb)->iters.at].bind = ir_ref(p, ir_st(p, i)->var);
    ir_detach(p, bb);
    ir_append(p, i, bb);
    ir_kill(p, old);
    scheduled_finish(&t);
    DO(&t, parallel, AT(loop, i));
    if (own) {
      DO(&t, fission, AT(loop, i));
      assert_int_equal(ir_st(p, t.out[1])->loop_kind, IR_PARALLEL);
    } else {
      REFUSED(&t, FISSION_DEPENDS, fission, AT(loop, i));
    }
    assert_true(scheduled_same(&t));
    scheduled_end(&t);
  }
}

/* What moves out of a parallel loop may be its iterations' own no more. */
static void test_would_race(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  int64_t n[2] = {4, 8};
  ir_program *p = &t.p;
  ir_buf x = scheduled_buf(&t, "X", IR_ROLE_INPUT, 2, n);
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_LOCAL, 1, n + 1);
  ir_buf b = scheduled_buf(&t, "B", IR_ROLE_OUTPUT, 2, n);
  ir_stmt ba = scheduled_block(&t, "A", "SS", n);
  ir_expr row =
      ir_binary(p, IR_MOD, ir_mul(p, t.it[1], ir_index(p, 3)), ir_index(p, 8));
  scheduled_store(&t, a, row, 0, scheduled_load(&t, x, t.it[0], t.it[1]),
                  false);
  ir_stmt bb = scheduled_block(&t, "B", "SS", n);
  row =
      ir_binary(p, IR_MOD, ir_mul(p, t.it[1], ir_index(p, 3)), ir_index(p, 8));
  scheduled_store(&t, b, t.it[0], t.it[1], scheduled_load(&t, a, row, 0),
                  false);
  ir_stmt i = scheduled_loop(&t, ba, 0), j = scheduled_loop(&t, ba, 1);
  ir_stmt old = scheduled_loop(&t, bb, 0);
  for (uint32_t k = 0; k < 2; k++)
    p->iter.v[ir_blk(p, bb)->iters.at + k].bind =
        ir_ref(p, ir_st(p, k ? j : i)->var);
  ir_detach(p, bb);
  ir_append(p, j, bb);
  ir_kill(p, old);
  scheduled_finish(&t);
  DO(&t, parallel, AT(loop, i));
  REFUSED(&t, WOULD_RACE, fission, AT(loop, j));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

/* ---- LU and Cholesky ---------------------------------------------------- */

typedef struct inplace {
  scheduled t;
  ir_buf a;
  ir_stmt k, i, j, scale_i; /* of the update, and of the block that scales */
  ir_stmt scale, update;
} inplace;

static ir_stmt loop_in(inplace *f, ir_stmt in, char name, ir_expr lo,
                       ir_expr end) {
  ir_program *p = &f->t.p;
  ir_expr extent = ir_sub(p, end, lo);
  int64_t min, max;
  ir_domain_bounds(p, lo, extent, &min, &max);
  ir_var v =
      ir_var_new(p, IR_VAR_LOOP, ir_name_n(p, &name, 1), IR_INDEX, min, max);
  ir_stmt l = ir_loop_new(p, v, lo, extent, IR_SERIAL);
  ir_append(p, in, l);
  return l;
}

static ir_expr var_of(inplace *f, ir_stmt loop) {
  return ir_ref(&f->t.p, ir_st(&f->t.p, loop)->var);
}

static ir_stmt block_in(inplace *f, ir_stmt in, const char *name,
                        const char *kinds, const ir_stmt *loop, ir_expr *it) {
  ir_program *p = &f->t.p;
  ir_iter iter[3];
  ir_stmt b = ir_block_new(p, ir_name(p, name));
  uint32_t n = 0;
  for (; kinds[n]; n++) {
    ir_var_rec v = p->var.v[ir_st(p, loop[n])->var];
    ir_var x = ir_var_new(p, IR_VAR_ITER, ir_name_n(p, &"xyz"[n], 1), IR_INDEX,
                          v.lo, v.hi);
    iter[n] = (ir_iter){x, kinds[n] == 'S' ? IR_SPATIAL : IR_OPAQUE,
                        ir_index(p, v.lo), ir_index(p, v.hi - v.lo + 1), v.ref};
    it[n] = ir_ref(p, x);
  }
  ir_append(p, in, b);
  ir_block_set_iters(p, b, n, iter);
  return b;
}

static void store_in(inplace *f, ir_stmt block, ir_expr i, ir_expr j,
                     ir_expr value) {
  ir_program *p = &f->t.p;
  ir_expr idx[2] = {i, j};
  ir_append(p, block, ir_store_new(p, f->a, 2, idx, value));
  ir_block_find_regions(p, &f->t.scratch, block);
}

/* Right-looking, in place, without pivots and square roots; the update of
 * the Cholesky factorisation ends at the diagonal. */
static void factor(inplace *f, bool cholesky) {
  int64_t size = 6;
  ir_program *p = &f->t.p;
  scheduled_start(&f->t);
  f->a = scheduled_buf(&f->t, "A", IR_ROLE_INPUT, 2, (int64_t[]){size, size});
  ir_expr n = ir_index(p, size), one = ir_index(p, 1), it[3];
  f->k = loop_in(f, f->t.root, 'k', ir_index(p, 0), n);
  ir_expr next = ir_add(p, var_of(f, f->k), one);
  f->scale_i = loop_in(f, f->k, 'h', next, n);
  f->scale =
      block_in(f, f->scale_i, "scale", "OS", (ir_stmt[]){f->k, f->scale_i}, it);
  ir_expr of = scheduled_load(&f->t, f->a, it[1], it[0]);
  ir_expr by = scheduled_load(&f->t, f->a, it[0], it[0]);
  store_in(f, f->scale, it[1], it[0], ir_binary(p, IR_DIV, of, by));
  f->i = loop_in(f, f->k, 'i', next, n);
  ir_expr end = cholesky ? ir_add(p, var_of(f, f->i), one) : n;
  f->j = loop_in(f, f->i, 'j', next, end);
  f->update =
      block_in(f, f->j, "update", "OSS", (ir_stmt[]){f->k, f->i, f->j}, it);
  ir_expr left = scheduled_load(&f->t, f->a, it[1], it[0]);
  ir_expr right = cholesky ? scheduled_load(&f->t, f->a, it[2], it[0])
                           : scheduled_load(&f->t, f->a, it[0], it[2]);
  store_in(f, f->update, it[1], it[2],
           ir_binary(p, IR_SUB, scheduled_load(&f->t, f->a, it[1], it[2]),
                     ir_binary(p, IR_MUL, left, right)));
  scheduled_finish(&f->t);
}

static void test_trailing_loops(void **state) {
  (void)state;
  for (int cholesky = 0; cholesky < 2; cholesky++) {
    inplace f = {0};
    factor(&f, cholesky);
    DO(&f.t, parallel, AT(loop, f.i));
    DO(&f.t, parallel, AT(loop, f.scale_i));
    REFUSED(&f.t, ITER_NOT_SPATIAL, parallel, AT(loop, f.k));
    REFUSED(&f.t, FISSION_DEPENDS, fission, AT(loop, f.k));
    assert_int_equal(f.t.s.refusal.conflict.n[0], cholesky ? 3 : 3);
    DO(&f.t, parallel, AT(loop, f.j));
    assert_true(scheduled_same(&f.t));
    scheduled_end(&f.t);
  }
}

static void test_lu_interchange(void **state) {
  (void)state;
  inplace f = {0};
  factor(&f, false);
  DO(&f.t, reorder, LIST(ordered_loops, f.j, f.i));
  assert_true(scheduled_same(&f.t));
  scheduled_end(&f.t);
}

/* A triangle by its columns: j runs through all that it could be. */
static void test_cholesky_interchange(void **state) {
  (void)state;
  inplace f = {0};
  factor(&f, true);
  DO(&f.t, reorder, LIST(ordered_loops, f.j, f.i));
  assert_int_equal(ir_st(&f.t.p, f.i)->parent, f.j);
  assert_non_null(strstr(scheduled_text(&f.t), "where j <= i"));
  assert_true(scheduled_same(&f.t));
  DO(&f.t, parallel, AT(loop, f.j));
  DO(&f.t, loop_partition, AT(loop, f.i), LIST(outer_loops, f.j),
     STR(points, "(c) -> (c)"));
  assert_null(strstr(scheduled_text(&f.t), "where j <= i"));
  assert_true(scheduled_same(&f.t));
  scheduled_end(&f.t);
}

/* ---- what cannot be decided --------------------------------------------- */

static void test_not_affine(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  int64_t n = 100, e[2] = {6, 6};
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_OUTPUT, 1, &n);
  ir_stmt b = scheduled_block(&t, "A", "SS", e);
  ir_expr at = ir_mul(&t.p, scheduled_plus(&t, t.it[0], 1),
                      scheduled_plus(&t, t.it[1], 1));
  scheduled_store(&t, a, at, 0, scheduled_load(&t, a, t.it[0], 0), false);
  scheduled_finish(&t);
  ir_stmt i = scheduled_loop(&t, b, 0), j = scheduled_loop(&t, b, 1);
  REFUSED(&t, NOT_AFFINE, parallel, AT(loop, i));
  assert_string_equal(scheduled_why(&t, "parallel"),
                      "parallel: block \"A\" and block \"A\" access buffer "
                      "\"A\" by indices that are not quasi-affine, so their "
                      "dependence cannot be decided");
  REFUSED(&t, NOT_AFFINE, vectorize, AT(loop, i));
  REFUSED(&t, NOT_AFFINE, reorder, LIST(ordered_loops, j, i));
  scheduled_end(&t);
}

/* Holes in every direction cut the iterations into more pieces than are
 * looked at; the elements that are read are not written. */
static void test_undecided(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  int64_t n = (int64_t)1 << 40, e[5] = {40, 40, 40, 40, 40}, scale = 2;
  ir_program *p = &t.p;
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_OUTPUT, 1, &n);
  ir_stmt b = scheduled_block(&t, "A", "SSSSS", e);
  ir_expr at = ir_index(p, 0), from = ir_index(p, 1), pred = 0;
  for (uint32_t i = 0; i < 5; i++, scale *= 40) {
    at = ir_add(p, at, ir_mul(p, t.it[i], ir_index(p, scale)));
    from = ir_add(p, from, ir_mul(p, t.it[4 - i], ir_index(p, scale)));
  }
  for (uint32_t k = 0; k < 24; k++) {
    ir_expr sum = ir_index(p, 0);
    for (uint32_t i = 0; i < 5; i++) {
      ir_expr v = ir_ref(p, ir_st(p, scheduled_loop(&t, b, i))->var);
      int64_t c = (int64_t)((k * 7 + i * 5 + k * i * 3) % 11) - 5;
      sum = ir_add(p, sum, ir_mul(p, v, ir_index(p, c)));
    }
    ir_expr hole = ir_binary(p, IR_NE, sum, ir_index(p, 3 * k - 20));
    pred = ir_and(p, pred, hole);
  }
  scheduled_store(&t, a, at, 0, scheduled_load(&t, a, from, 0), false);
  ir_blk(p, b)->pred = pred;
  scheduled_finish(&t);
  ir_stmt i = scheduled_loop(&t, b, 0);
  REFUSED(&t, UNDECIDED, parallel, AT(loop, i));
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_distances),
      cmocka_unit_test(test_fission_refusals),
      cmocka_unit_test(test_other_statement),
      cmocka_unit_test(test_scratch),
      cmocka_unit_test(test_would_race),
      cmocka_unit_test(test_trailing_loops),
      cmocka_unit_test(test_lu_interchange),
      cmocka_unit_test(test_cholesky_interchange),
      cmocka_unit_test(test_not_affine),
      cmocka_unit_test(test_undecided),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
