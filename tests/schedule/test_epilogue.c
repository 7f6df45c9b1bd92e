/* SPDX-License-Identifier: Apache-2.0
 * fuse_reduction_epilogue. */
#include "ir/edit.h"
#include "support/scheduled.h"

static const tess_dtype F32 = {TESS_DTYPE_FLOAT, 32, 1};

/* X[i] combines A[i, k] by a built-in reducer, Y[i] = f(X[i]); f gets the
 * result, b[i] and c[i]. */
typedef ir_expr (*function)(ir_program *p, ir_expr x, ir_expr b, ir_expr c);

static void epilogue_describe(scheduled *t, const char *reducer, function f) {
  ir_program *p = &t->p;
  int64_t n = 6, shape[2] = {6, 8};
  ir_buf a = scheduled_buf(t, "A", IR_ROLE_INPUT, 2, shape);
  ir_buf b = scheduled_buf(t, "b", IR_ROLE_INPUT, 1, &n);
  ir_buf c = scheduled_buf(t, "c", IR_ROLE_INPUT, 1, &n);
  ir_buf x = scheduled_buf(t, "X", IR_ROLE_LOCAL, 1, &n);
  ir_buf y = scheduled_buf(t, "Y", IR_ROLE_OUTPUT, 1, &n);
  ir_stmt bx = scheduled_block(t, "X", "SR", shape);
  scheduled_store(t, x, t->it[0], 0, scheduled_load(t, a, t->it[0], t->it[1]),
                  true);
  uint32_t r = ir_reducer_builtin(p, reducer, F32);
  ir_blk(p, bx)->reducer = r;
  ir_st(p, ir_st(p, bx)->alt)->value = p->arg.v[p->reducer.v[r].identity.at];
  const ir_node *step = ir_at(p, ir_st(p, ir_st(p, bx)->body)->value);
  ir_expr old = step->a, added = step->b, value;
  ir_reducer_apply(p, &t->scratch, r, &old, &added, &value);
  ir_st(p, ir_st(p, bx)->body)->value = value;
  scheduled_block(t, "Y", "S", &n);
  ir_expr at = t->it[0];
  scheduled_store(t, y, at, 0,
                  f(p, scheduled_load(t, x, at, 0), scheduled_load(t, b, at, 0),
                    scheduled_load(t, c, at, 0)),
                  false);
  scheduled_finish(t);
}

static ir_expr add(ir_program *p, ir_expr x, ir_expr b, ir_expr c) {
  (void)c;
  return ir_add(p, x, b);
}
static ir_expr sums(ir_program *p, ir_expr x, ir_expr b, ir_expr c) {
  return ir_add(p, c, ir_sub(p, ir_add(p, b, x), c));
}
static ir_expr opposite(ir_program *p, ir_expr x, ir_expr b, ir_expr c) {
  return ir_sub(p, b, ir_sub(p, c, ir_sub(p, b, x)));
}
static ir_expr times(ir_program *p, ir_expr x, ir_expr b, ir_expr c) {
  return ir_mul(p, c, ir_mul(p, x, b));
}
static ir_expr negate(ir_program *p, ir_expr x, ir_expr b, ir_expr c) {
  (void)c;
  return ir_sub(p, b, ir_mul(p, ir_add(p, x, b), ir_real(p, F32, -1)));
}
static ir_expr minus(ir_program *p, ir_expr x, ir_expr b, ir_expr c) {
  return ir_add(p, b, ir_mul(p, ir_real(p, F32, -1), ir_sub(p, c, x)));
}
static ir_expr half(ir_program *p, ir_expr x, ir_expr b, ir_expr c) {
  (void)b, (void)c;
  return ir_mul(p, x, ir_real(p, F32, 0.5));
}
static ir_expr clip(ir_program *p, ir_expr x, ir_expr b, ir_expr c) {
  return ir_binary(p, IR_MIN, ir_binary(p, IR_MAX, x, b), c);
}
static ir_expr relu(ir_program *p, ir_expr x, ir_expr b, ir_expr c) {
  (void)b, (void)c;
  return ir_binary(p, IR_MAX, x, ir_real(p, F32, 0));
}
static ir_expr epilogue_square(ir_program *p, ir_expr x, ir_expr b, ir_expr c) {
  (void)b, (void)c;
  return ir_mul(p, x, x);
}
static ir_expr twice(ir_program *p, ir_expr x, ir_expr b, ir_expr c) {
  (void)b, (void)c;
  return ir_add(p, x, ir_sub(p, c, x));
}
static ir_expr copy(ir_program *p, ir_expr x, ir_expr b, ir_expr c) {
  (void)p, (void)b, (void)c;
  return x;
}

static void test_bias(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  epilogue_describe(&t, "sum", add);
  ir_stmt x = scheduled_get(&t, "X"), y = scheduled_get(&t, "Y");
  DO(&t, fuse_reduction_epilogue, AT(reduction_block, x),
     AT(epilogue_block, y));
  scheduled_expect(&t, "main(A: float32[6, 8], b: float32[6], c: "
                       "float32[6], Y: out float32[6])\n"
                       "  for a in range(6)\n"
                       "    for b_1 in range(8)\n"
                       "      block X(va: 6 = a, vb: reduce 8 = b_1)\n"
                       "        reducer sum float32\n"
                       "        init\n"
                       "          Y[va] = 0.0 + b[va]\n"
                       "        Y[va] = Y[va] + A[va, vb]\n");
  assert_true(scheduled_same(&t));
  assert_int_equal(x, scheduled_get(&t, "X"));
  scheduled_end(&t);
}

/* What commutes, by reducer; after it a split, and rfactor or the init by
 * itself, which now starts from something. */
static void test_fused(void **state) {
  (void)state;
  static const struct {
    const char *reducer;
    function f;
  } cases[] = {{"sum", add},  {"sum", sums}, {"sum", opposite}, {"prod", times},
               {"max", clip}, {"min", clip}, {"max", relu},     {"min", relu},
               {"sum", copy}, {"max", copy}, {"sum", negate},   {"sum", minus}};
  for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
    scheduled t;
    scheduled_start(&t);
    epilogue_describe(&t, cases[i / 2].reducer, cases[i / 2].f);
    ir_stmt x = scheduled_get(&t, "X");
    DO(&t, fuse_reduction_epilogue, AT(reduction_block, x),
       AT(epilogue_block, scheduled_get(&t, "Y")));
    assert_true(scheduled_same(&t));
    DO(&t, split, AT(loop, scheduled_loop(&t, x, 1)), INTS(factors, 3, 3));
    ir_stmt k = t.out[i % 2];
    DO(&t, rfactor, AT(loop, k), NUM(factor_axis, (int64_t)(i % 2)));
    assert_true(scheduled_same(&t));
    DO(&t, decompose_reduction, AT(block, x),
       AT(loop, scheduled_loop(&t, x, 1)));
    assert_true(scheduled_same(&t));
    scheduled_end(&t);
  }
}

static void refused(const char *reducer, function f, const char *why) {
  scheduled t;
  scheduled_start(&t);
  epilogue_describe(&t, reducer, f);
  ir_stmt x = scheduled_get(&t, "X"), y = scheduled_get(&t, "Y");
  assert_false(RUN(&t, fuse_reduction_epilogue, AT(reduction_block, x),
                   AT(epilogue_block, y)));
  assert_string_equal(sch_reason_name((sch_reason)t.s.refusal.reason), why);
  scheduled_end(&t);
}

static void test_epilogue_refused(void **state) {
  (void)state;
  refused("sum", relu, "EPILOGUE_OTHER");
  refused("sum", clip, "EPILOGUE_OTHER");
  refused("sum", times, "EPILOGUE_OTHER");
  refused("sum", half, "EPILOGUE_OTHER");
  refused("max", negate, "EPILOGUE_OTHER");
  refused("prod", add, "EPILOGUE_OTHER");
  refused("max", add, "EPILOGUE_OTHER");
  refused("prod", epilogue_square, "EPILOGUE_TWICE");
  refused("sum", twice, "EPILOGUE_TWICE");
  scheduled t;
  scheduled_start(&t);
  epilogue_describe(&t, "sum", add);
  ir_stmt x = scheduled_get(&t, "X"), y = scheduled_get(&t, "Y");
  REFUSED(&t, NO_INIT, fuse_reduction_epilogue, AT(reduction_block, y),
          AT(epilogue_block, x));
  REFUSED(&t, NOT_READER, fuse_reduction_epilogue, AT(reduction_block, x),
          AT(epilogue_block, x));
  uint32_t reducer = ir_blk(&t.p, x)->reducer;
  ir_blk(&t.p, x)->reducer = 0;
  REFUSED(&t, NOT_REDUCER, fuse_reduction_epilogue, AT(reduction_block, x),
          AT(epilogue_block, y));
  ir_blk(&t.p, x)->reducer = reducer;
  scheduled_end(&t);
}

/* What the reduction starts from is made in the same nest: rfactor would have
 * it start later. */
static void test_start_made_there(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  int64_t n = 6, shape[2] = {6, 8};
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, shape);
  ir_buf b = scheduled_buf(&t, "B", IR_ROLE_LOCAL, 1, &n);
  ir_buf x = scheduled_buf(&t, "X", IR_ROLE_LOCAL, 1, &n);
  ir_buf y = scheduled_buf(&t, "Y", IR_ROLE_OUTPUT, 1, &n);
  ir_expr *it = t.it;
  ir_stmt bb = scheduled_block(&t, "B", "S", &n);
  scheduled_store(&t, b, it[0], 0,
                  scheduled_load(&t, a, it[0], ir_index(&t.p, 3)), false);
  ir_stmt bx = scheduled_block(&t, "X", "SR", shape);
  scheduled_store(&t, x, it[0], 0, scheduled_load(&t, a, it[0], it[1]), true);
  ir_stmt by = scheduled_block(&t, "Y", "S", &n);
  scheduled_store(&t, y, it[0], 0,
                  ir_add(&t.p, scheduled_load(&t, x, it[0], 0),
                         scheduled_load(&t, b, it[0], 0)),
                  false);
  scheduled_finish(&t);
  DO(&t, fuse_reduction_epilogue, AT(reduction_block, bx),
     AT(epilogue_block, by));
  DO(&t, compute_at, AT(block, bb), AT(loop, scheduled_loop(&t, bx, 0)));
  REFUSED(&t, INIT_READS, rfactor, AT(loop, scheduled_loop(&t, bx, 1)));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bias),
      cmocka_unit_test(test_fused),
      cmocka_unit_test(test_epilogue_refused),
      cmocka_unit_test(test_start_made_there),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
