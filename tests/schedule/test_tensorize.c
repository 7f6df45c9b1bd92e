/* SPDX-License-Identifier: Apache-2.0
 * tensorize: matching with the description of an intrinsic. */
#include "ir/edit.h"
#include "ir/import.h"
#include "ir/query.h"
#include "ir/tensor_call.h"
#include "support/lowered.h"
#include "support/scheduled.h"

/* C[va, vb] = C[va, vb] + A[va, vc] * B[vc, vb], or with the operands of the
 * product the other way round, over a tile; `init`: with one. */
static void product(scheduled *t, int64_t m, int64_t n, int64_t k, bool init,
                    bool swapped) {
  int64_t s[3] = {m, n, k};
  ir_buf a = scheduled_buf(t, "A", IR_ROLE_INPUT, 2, (int64_t[]){m, k});
  ir_buf b = scheduled_buf(t, "B", IR_ROLE_INPUT, 2, (int64_t[]){k, n});
  ir_buf c = scheduled_buf(t, "C", IR_ROLE_INPUT, 2, (int64_t[]){m, n});
  scheduled_block(t, "tile", "SSR", s);
  ir_expr x = scheduled_load(t, a, t->it[0], t->it[2]);
  ir_expr y = scheduled_load(t, b, t->it[2], t->it[1]);
  ir_expr xy =
      swapped ? ir_binary(&t->p, IR_MUL, y, x) : ir_binary(&t->p, IR_MUL, x, y);
  if (!init)
    xy = ir_binary(&t->p, IR_ADD, scheduled_load(t, c, t->it[0], t->it[1]), xy);
  scheduled_store(t, c, t->it[0], t->it[1], xy, init);
  scheduled_finish(t);
}

/* t's program gets the only function of x's, called so. */
static void add_func(scheduled *t, scheduled *x, const char *name) {
  ir_import_funcs(&t->p, &x->p, &t->texts);
  ir_str text = ir_name(&t->p, name);
  t->p.func.v[t->p.func.n - 1].name = text;
}

/* An intrinsic "mma" for tiles of the size; its implementation runs over k
 * outside. */
static void add_mma(scheduled *t, int64_t m, int64_t n, int64_t k, bool init,
                    bool swapped) {
  scheduled x;
  scheduled_start(&x);
  product(&x, m, n, k, init, swapped);
  add_func(t, &x, "mma.desc");
  ir_stmt b = scheduled_get(&x, "tile");
  ir_stmt l[3];
  for (uint32_t i = 0; i < 3; i++) l[i] = scheduled_loop(&x, b, i);
  if (!init) DO(&x, reorder, LIST(ordered_loops, l[2], l[0], l[1]));
  DO(&x, vectorize, AT(loop, l[1]));
  add_func(t, &x, "mma.impl");
  scheduled_end(&x);
}

/* A tiled matmul; gives the outermost loop of the tiles. */
static ir_stmt tiled(scheduled *t, bool decomposed) {
  scheduled_matmul(t, 8, 8, 8);
  ir_stmt c = scheduled_get(t, "C"), l[6];
  for (uint32_t i = 0; i < 3; i++)
    DO(t, split, AT(loop, scheduled_loop(t, c, 2 * i)), INTS(factors, 2, 4));
  for (uint32_t i = 0; i < 6; i++) l[i] = scheduled_loop(t, c, i);
  DO(t, reorder, LIST(ordered_loops, l[0], l[2], l[4], l[1], l[3], l[5]));
  if (decomposed) DO(t, decompose_reduction, AT(block, c), AT(loop, l[4]));
  return l[1];
}

static void test_tensorize_matmul(void **state) {
  (void)state;
  for (int way = 0; way < 4; way++) {
    scheduled t;
    scheduled_start(&t);
    ir_stmt tile = tiled(&t, way & 1);
    add_mma(&t, 4, 4, 4, false, way & 2);
    ir_program_copy(&t.first, &t.p);
    DO(&t, tensorize, AT(block_or_loop, tile), STR(tensor_intrin, "mma"));
    assert_true(ir_is_dead(&t.p, tile));
    ir_stmt o = scheduled_get(&t, way & 1 ? "C_update_o" : "C_o");
    assert_int_equal(ir_blk(&t.p, o)->matches.n, 3);
    assert_true(scheduled_same(&t));
    DO(&t, parallel, AT(loop, scheduled_loop(&t, o, 0)));
    assert_true(scheduled_same(&t));
    scheduled_end(&t);
  }
}

/* A block that was made before; and one whose init is inside. */
static void test_block(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 8, 8, 8);
  ir_stmt c = scheduled_get(&t, "C");
  DO(&t, split, AT(loop, scheduled_loop(&t, c, 1)), INTS(factors, 2, 4));
  DO(&t, split, AT(loop, scheduled_loop(&t, c, 0)), INTS(factors, 2, 4));
  ir_stmt l[5];
  for (uint32_t i = 0; i < 5; i++) l[i] = scheduled_loop(&t, c, i);
  DO(&t, reorder, LIST(ordered_loops, l[0], l[2], l[1], l[3], l[4]));
  DO(&t, blockize, LIST(target, l[1]));
  ir_stmt o = t.out[0];
  add_mma(&t, 4, 4, 8, true, false);
  ir_program_copy(&t.first, &t.p);
  DO(&t, tensorize, AT(block_or_loop, o), STR(tensor_intrin, "mma"));
  assert_true(scheduled_same(&t));
  /* It is complete, whatever is inside, and moves as one. */
  ir_stmt d = scheduled_get(&t, "D");
  DO(&t, split, AT(loop, scheduled_loop(&t, d, 0)), INTS(factors, 2, 4));
  DO(&t, compute_at, AT(block, o), AT(loop, scheduled_loop(&t, d, 0)));
  DO(&t, parallel, AT(loop, scheduled_loop(&t, d, 0)));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

#define NO(t, at)                                               \
  REFUSED(t, INTRIN_MISMATCH, tensorize, AT(block_or_loop, at), \
          STR(tensor_intrin, "mma"))

static void test_mismatch(void **state) {
  (void)state;
  static const struct {
    int64_t m, n, k;
    bool init;
    const char *why;
  } bad[] = {
      {4, 2, 4, false,
       "intrinsic \"mma\": the extent of a loop is 2 in the description and 4 "
       "in the block"},
      {4, 4, 4, true, " in the description and nothing in the block"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    scheduled t;
    scheduled_start(&t);
    ir_stmt tile = tiled(&t, true);
    REFUSED(&t, INTRIN_UNKNOWN, tensorize, AT(block_or_loop, tile),
            STR(tensor_intrin, "mma"));
    add_mma(&t, bad[i].m, bad[i].n, bad[i].k, bad[i].init, false);
    NO(&t, tile);
    assert_non_null(strstr(scheduled_why(&t, "tensorize"), bad[i].why));
    REFUSED(&t, BLOCK_IS_ROOT, tensorize, AT(block_or_loop, t.root),
            STR(tensor_intrin, "mma"));
    scheduled_end(&t);
  }
}

/* The same loops and the same form, and other indices, operators, buffers:
 * X[va, vb] = X[va, vb] + Y[va, vc] * Z[vc, vb]. */
static void form(scheduled *t, int what) {
  int64_t s[3] = {4, 4, 4}, two[2] = {8, 8};
  ir_program *p = &t->p;
  scheduled_start(t);
  ir_buf x = scheduled_buf(t, "X", IR_ROLE_INPUT, 2, two);
  ir_buf y = scheduled_buf(t, "Y", IR_ROLE_INPUT, 2, two);
  ir_buf z = scheduled_buf(t, "Z", IR_ROLE_INPUT, 2, two);
  ir_stmt b = scheduled_block(t, "X", "SSR", s);
  ir_expr i = t->it[0], j = t->it[1], k = t->it[2];
  ir_expr a =
      what == 1 ? scheduled_load(t, y, k, i) : scheduled_load(t, y, i, k);
  ir_expr c = scheduled_load(t, what == 2 ? x : z, scheduled_plus(t, k, 4), j);
  ir_expr v = ir_binary(p, what == 3 ? IR_ADD : IR_MUL, a, c);
  v = ir_binary(p, IR_ADD, scheduled_load(t, x, i, j), v);
  scheduled_store(t, x, i, j, v, false);
  scheduled_finish(t);
  add_mma(t, 4, 4, 4, false, false);
  ir_program_copy(&t->first, p);
  (void)b;
}

static void test_forms(void **state) {
  (void)state;
  static const char *const why[] = {NULL, "accessed at other indices", NULL,
                                    "an expression is "};
  for (int what = 0; what < 4; what++) {
    scheduled t;
    form(&t, what);
    ir_stmt b = scheduled_get(&t, "X"), l = scheduled_loop(&t, b, 0);
    if (what == 0) {
      DO(&t, tensorize, AT(block_or_loop, l), STR(tensor_intrin, "mma"));
      assert_true(scheduled_same(&t));
    } else if (what == 2) {
      REFUSED(&t, INTRIN_BUFFER, tensorize, AT(block_or_loop, l),
              STR(tensor_intrin, "mma"));
    } else {
      NO(&t, l);
      assert_non_null(strstr(scheduled_why(&t, "tensorize"), why[what]));
    }
    scheduled_end(&t);
  }
}

/* Lowered without the functions of intrinsics. */
static tess_status lower_alone(lowered *l, scheduled *t) {
  ir_program alone;
  uint32_t n = t->p.func.n;
  ir_program_init(&alone, t->p.heap);
  t->p.func.n = ir_func_end(&t->p);
  ir_import_funcs(&alone, &t->p, &t->texts);
  t->p.func.n = n;
  tess_status st = lowered_check(l, &alone);
  ir_program_free(&alone);
  return st;
}

/* Done by a call the block means what it did, after every pass, whatever is
 * done to it and around it. */
static void test_call(void **state) {
  (void)state;
  scheduled t;
  lowered l;
  scheduled_start(&t);
  ir_stmt tile = tiled(&t, true);
  add_mma(&t, 4, 4, 4, false, false);
  ir_anno_set(&t.p, t.p.func.v[t.p.func.n - 1].root,
              ir_name(&t.p, IR_TENSOR_CALL),
              ir_value_str(&t.p, "%2 = llvm.none.v16f32(%0, %1, %2)"));
  DO(&t, tensorize, AT(block_or_loop, tile), STR(tensor_intrin, "mma"));
  ir_stmt o = scheduled_get(&t, "C_update_o");
  ir_stmt i = scheduled_loop(&t, o, 0);
  assert_non_null(ir_anno_get(&t.p, o, IR_TENSOR_CALL));
  REFUSED(&t, INTRIN_CALL, annotate, AT(block_or_loop, scheduled_get(&t, "D")),
          STR(ann_key, IR_TENSOR_CALL), NUM(ann_val, ir_value_int(&t.p, 1)));
  lowered_start(&l);
  assert_int_equal(lower_alone(&l, &t), TESS_OK);
  DO(&t, vectorize, AT(loop, i));
  assert_int_equal(lower_alone(&l, &t), TESS_OK);
  /* A text that is no such call is an error of lowering. */
  ir_anno_set(&t.p, o, ir_name(&t.p, IR_TENSOR_CALL),
              ir_value_str(&t.p, "none(%3)"));
  assert_int_equal(lower_alone(&l, &t), TESS_UNSUPPORTED);
  assert_non_null(strstr(l.err.message, "no parameter of that number"));
  lowered_end(&l);
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tensorize_matmul),
      cmocka_unit_test(test_block),
      cmocka_unit_test(test_mismatch),
      cmocka_unit_test(test_forms),
      cmocka_unit_test(test_call),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
