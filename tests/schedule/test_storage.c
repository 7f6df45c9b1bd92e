/* SPDX-License-Identifier: Apache-2.0
 * set_scope, storage_align, unsafe_set_dtype. */
#include "ir/edit.h"
#include "lower/lower.h"
#include "support/moved.h"

static ir_stmt storage_matmul(scheduled *t, int64_t m, int64_t n) {
  scheduled_start(t);
  scheduled_matmul(t, m, n, 5);
  return scheduled_get(t, "C");
}

static ir_buf written(const scheduled *t, ir_stmt block) {
  return t->p.region.v[ir_blk(&t->p, block)->writes.at].buf;
}

/* A part of what block `reader` reads becomes a match. */
static void match_part(scheduled *t, ir_stmt reader) {
  ir_program *p = &t->p;
  ir_region r = p->region.v[ir_blk(p, reader)->reads.at];
  ir_buf part = ir_buf_new(p, ir_name(p, "part"), p->buf.v[r.buf].dtype, 2,
                           (ir_expr[]){ir_index(p, 1), ir_index(p, 1)},
                           IR_SCOPE_GLOBAL, IR_ROLE_LOCAL);
  ir_match m = {part, r};
  uint32_t at = vec_push(p->heap, &p->match, m);
  ir_blk(p, reader)->matches = (ir_span){at, 1};
}

/* ---- set_scope ---------------------------------------------------------- */

static void test_scope(void **state) {
  (void)state;
  scheduled t;
  ir_stmt c = storage_matmul(&t, 8, 6), d = scheduled_get(&t, "D");
  DO(&t, set_scope, AT(block, c), NUM(buffer_index, 0),
     STR(storage_scope, "shared"));
  assert_int_equal(t.p.buf.v[written(&t, c)].scope, IR_SCOPE_SHARED);
  moved_equal(&t);
  REFUSED(&t, STORAGE_UNKNOWN, set_scope, AT(block, c), NUM(buffer_index, 0),
          STR(storage_scope, "cloud"));
  REFUSED(&t, PARAMETER_FIXED, set_scope, AT(block, d), NUM(buffer_index, 0),
          STR(storage_scope, "local"));
  REFUSED(&t, BUFFER_INDEX, set_scope, AT(block, d), NUM(buffer_index, 1),
          STR(storage_scope, "local"));
  match_part(&t, d);
  REFUSED(&t, OPAQUE_ACCESS, set_scope, AT(block, c), NUM(buffer_index, 0),
          STR(storage_scope, "local"));
  scheduled_end(&t);
}

/* Threads make together what they read: it is shared, and not each one's. */
static void test_scope_of_threads(void **state) {
  (void)state;
  scheduled t;
  ir_stmt c = storage_matmul(&t, 8, 6), d = scheduled_get(&t, "D");
  DO(&t, bind, AT(loop, scheduled_loop(&t, c, 0)),
     STR(thread_axis, "threadIdx.x"));
  DO(&t, bind, AT(loop, scheduled_loop(&t, d, 0)),
     STR(thread_axis, "threadIdx.x"));
  REFUSED(&t, SCOPE_SHARED, set_scope, AT(block, c), NUM(buffer_index, 0),
          STR(storage_scope, "local"));
  assert_string_equal(
      scheduled_why(&t, "set_scope"),
      "set_scope: the threads of loop a share buffer \"C\", and scope "
      "\"local\" is private to each thread");
  DO(&t, set_scope, AT(block, c), STR(buffer_index, "C"),
     STR(storage_scope, "global.vtcm"));
  DO(&t, set_scope, AT(block, c), STR(buffer_index, "C"),
     STR(storage_scope, "shared"));
  scheduled_end(&t);
  /* Each iteration's own, until it is shared by all. */
  c = storage_matmul(&t, 8, 6);
  ir_stmt i = scheduled_loop(&t, c, 0);
  DO(&t, reverse_compute_at, AT(block, scheduled_get(&t, "D")), AT(loop, i));
  DO(&t, set_scope, AT(block, c), NUM(buffer_index, 0),
     STR(storage_scope, "local"));
  DO(&t, transform_layout, AT(block, c), STR(buffer, "C"),
     STR(index_map, "(i, j) -> (j, i)"));
  DO(&t, bind, AT(loop, i), STR(thread_axis, "threadIdx.x"));
  DO(&t, set_scope, AT(block, c), NUM(buffer_index, 0),
     STR(storage_scope, "global"));
  moved_equal(&t);
  scheduled_end(&t);
}

/* A producer gets the scope that it is to have under a loop of the kernel
 * before it moves there. */
static void test_scope_before_move(void **state) {
  (void)state;
  scheduled t;
  ir_stmt c = storage_matmul(&t, 8, 6), d = scheduled_get(&t, "D");
  ir_stmt i = scheduled_loop(&t, d, 0);
  DO(&t, bind, AT(loop, i), STR(thread_axis, "blockIdx.x"));
  DO(&t, set_scope, AT(block, c), NUM(buffer_index, 0),
     STR(storage_scope, "shared"));
  moved_equal(&t);
  DO(&t, compute_at, AT(block, c), AT(loop, i));
  moved_equal(&t);
  scheduled_end(&t);
  /* Not so what blocks of threads make, and others of them read. */
  c = storage_matmul(&t, 8, 6);
  DO(&t, bind, AT(loop, scheduled_loop(&t, c, 0)),
     STR(thread_axis, "blockIdx.x"));
  REFUSED(&t, SCOPE_SHARED, set_scope, AT(block, c), NUM(buffer_index, 0),
          STR(storage_scope, "shared"));
  scheduled_end(&t);
}

/* ---- storage_align ------------------------------------------------------ */

#define ALIGN(AXIS, FACTOR, OFFSET)                               \
  NUM(buffer_index, 0), NUM(axis, (AXIS)), NUM(factor, (FACTOR)), \
      NUM(offset, (OFFSET))

/* The strides of C once it has shrunk; and all of it computes the same. */
static void expect_strides(scheduled *t, ir_buf buf, int64_t outer,
                           int64_t inner) {
  ir_program p;
  err_state e;
  lower_options o = {.vector_bytes = 32};
  moved_equal(t);
  ir_program_init(&p, &t->heap.heap);
  for (uint32_t n = 1; n <= LOWER_NPASSES; n++) {
    const char *name = lower_passes[n - 1].name;
    ir_program_copy(&p, &t->p);
    o.stop_after = n;
    assert_int_equal(lower_program(&p, &t->scratch, &o, &e), TESS_OK);
    if (!strcmp(name, "compact_buffers")) {
      ir_span s = p.buf.v[buf].strides;
      assert_int_equal(s.n, 2);
      assert_true(ir_is_const(&p, p.arg.v[s.at], outer));
      assert_true(ir_is_const(&p, p.arg.v[s.at + 1], inner));
    }
    interp_error why;
    int which;
    if (interp_equal(&t->heap.heap, &t->first, &p, 42,
                     &(interp_options){.check_regions = false}, &why, &which))
      fail_msg("after %s", name);
  }
  ir_program_free(&p);
}

static void test_align(void **state) {
  (void)state;
  scheduled t;
  ir_stmt c = storage_matmul(&t, 8, 6);
  ir_buf buf = written(&t, c);
  DO(&t, storage_align, AT(block, c), ALIGN(-2, 32, 8));
  expect_strides(&t, buf, 8, 1);
  DO(&t, storage_align, AT(block, c), ALIGN(0, 4, -1)); /* instead */
  expect_strides(&t, buf, 7, 1);
  DO(&t, storage_align, AT(block, c), ALIGN(1, 2, 0)); /* as well */
  expect_strides(&t, buf, 15, 2);
  assert_non_null(strstr(scheduled_text(&t), "buffer_dim_align"));
  /* After what is used has become a row. */
  DO(&t, reverse_compute_at, AT(block, scheduled_get(&t, "D")),
     AT(loop, scheduled_loop(&t, c, 0)));
  expect_strides(&t, buf, 15, 2);
  REFUSED(&t, BUFFER_STRIDED, transform_layout, AT(block, c), STR(buffer, "C"),
          STR(index_map, "(i, j) -> (j, i)"));
  scheduled_end(&t);
}

static void test_align_refused(void **state) {
  (void)state;
  scheduled t;
  ir_stmt c = storage_matmul(&t, 8, 6), d = scheduled_get(&t, "D");
  REFUSED(&t, ALIGN_AXIS, storage_align, AT(block, c), ALIGN(2, 4, 0));
  REFUSED(&t, ALIGN_AXIS, storage_align, AT(block, c), ALIGN(-3, 4, 0));
  assert_string_equal(
      scheduled_why(&t, "storage_align"),
      "storage_align: -3 is no dimension of buffer \"C\", which has 2");
  REFUSED(&t, ALIGN_FACTOR, storage_align, AT(block, c), ALIGN(0, 0, 0));
  REFUSED(&t, PARAMETER_FIXED, storage_align, AT(block, d), ALIGN(0, 4, 0));
  ir_anno_set(&t.p, c, ir_name(&t.p, "buffer_dim_align"),
              ir_value_int(&t.p, 3));
  REFUSED(&t, ALIGN_NOTE, storage_align, AT(block, c), ALIGN(0, 4, 0));
  assert_true(ir_anno_remove(&t.p, c, "buffer_dim_align"));
  match_part(&t, d);
  REFUSED(&t, OPAQUE_ACCESS, storage_align, AT(block, c), ALIGN(0, 4, 0));
  scheduled_end(&t);
}

/* Notes that fit nothing are no matter. */
static void test_align_stale(void **state) {
  (void)state;
  scheduled t;
  ir_stmt c = storage_matmul(&t, 8, 6);
  ir_program *p = &t.p;
  static const int64_t odd[][4] = {
      {0, 7, 4, 0}, {3, 0, 4, 0}, {-1, 0, 4, 0}, {0, 0, 0, 0}, {0, 0, 4, 9}};
  ir_val list[5];
  for (int i = 0; i < 5; i++) {
    ir_val e[4];
    for (int k = 0; k < 4; k++) e[k] = ir_value_int(p, odd[i][k]);
    list[i] = ir_value_add(p, (ir_value){.tag = IR_VAL_LIST, .n = 4}, e);
  }
  ir_val all = ir_value_add(p, (ir_value){.tag = IR_VAL_LIST, .n = 5}, list);
  ir_anno_set(p, c, ir_name(p, "buffer_dim_align"), all);
  lower_options o = {.vector_bytes = 32};
  err_state e;
  ir_program q;
  ir_program_init(&q, &t.heap.heap);
  ir_program_copy(&q, p);
  assert_int_equal(lower_program(&q, &t.scratch, &o, &e), TESS_OK);
  ir_program_free(&q);
  scheduled_end(&t);
}

/* ---- unsafe_set_dtype --------------------------------------------------- */

static void test_dtype(void **state) {
  (void)state;
  scheduled t;
  ir_stmt c = storage_matmul(&t, 4, 6), d = scheduled_get(&t, "D");
  DO(&t, unsafe_set_dtype, AT(block, c), NUM(buffer_index, 0),
     STR(dtype, "float16"));
  scheduled_expect(
      &t, "main(A: float32[4, 5], B: float32[5, 6], D: out float32[4, 6])\n"
          "  alloc C: float16[4, 6]\n"
          "  for a in range(4)\n"
          "    for b in range(6)\n"
          "      for c in range(5)\n"
          "        block C(va: 4 = a, vb: 6 = b, vc: reduce 5 = c)\n"
          "          init\n"
          "            C[va, vb] = 0.0\n"
          "          C[va, vb] = float16(float32(C[va, vb]) + A[va, vc] * "
          "B[vc, vb])\n"
          "  for a in range(4)\n"
          "    for b in range(6)\n"
          "      block D(va: 4 = a, vb: 6 = b)\n"
          "        D[va, vb] = max(float32(C[va, vb]) + 1.0, 0.0)\n");
  moved_verify(&t);
  REFUSED(&t, NOT_REDUCER, rfactor, AT(loop, scheduled_loop(&t, c, 2)),
          NUM(factor_axis, 0));
  REFUSED(&t, DTYPE_UNFIT, unsafe_set_dtype, AT(block, c), NUM(buffer_index, 0),
          STR(dtype, "float32x4"));
  REFUSED(&t, PARAMETER_FIXED, unsafe_set_dtype, AT(block, d),
          NUM(buffer_index, 0), STR(dtype, "float16"));
  match_part(&t, d);
  REFUSED(&t, OPAQUE_ACCESS, unsafe_set_dtype, AT(block, c),
          NUM(buffer_index, 0), STR(dtype, "float64"));
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_scope),
      cmocka_unit_test(test_scope_of_threads),
      cmocka_unit_test(test_scope_before_move),
      cmocka_unit_test(test_align),
      cmocka_unit_test(test_align_refused),
      cmocka_unit_test(test_align_stale),
      cmocka_unit_test(test_dtype),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
