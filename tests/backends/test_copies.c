/* SPDX-License-Identifier: Apache-2.0
 * A matrix product as MetaSchedule schedules it for tensor cores, without the
 * tensor cores: tiles copied through registers to shared memory, from there to
 * fragments, both in nested pipelines. */
#include "ir/edit.h"
#include "support/lowering.h"

static void copies_note(ir_stmt s, const char *key, ir_val v) {
  DO(&t, annotate, AT(block_or_loop, s), STR(ann_key, key), AT(ann_val, v));
}

static ir_val copies_list(uint32_t n, const int64_t *v) {
  uint32_t e[8];
  for (uint32_t i = 0; i < n; i++) e[i] = ir_value_int(&t.p, v[i]);
  return ir_value_add(&t.p, (ir_value){.tag = IR_VAL_LIST, .n = n}, e);
}

static void stages(ir_stmt loop, uint32_t n, const int64_t *stage,
                   const int64_t *order) {
  copies_note(loop, "software_pipeline_stage", copies_list(n, stage));
  copies_note(loop, "software_pipeline_order", copies_list(n, order));
}

/* 0: not proven to be private to each thread */
static ir_stmt copies_copy(ir_stmt loop, ir_stmt block, int64_t n,
                           const char *scope) {
  return RUN(&t, read_at, AT(loop, loop), AT(block, block),
             NUM(read_buffer_index, n), STR(storage_scope, scope))
             ? t.out[0]
             : 0;
}

/* The loops k0 and k1 over the reduction, the copies in their places. */
static bool schedule(int64_t m, int64_t n, int64_t k, int64_t threads,
                     const int64_t *order, uint32_t count) {
  static const int64_t stage0[] = {0, 0, 0, 0, 0, 1, 1};
  scheduled_product(&t, m, n, k);
  ir_stmt c = scheduled_get(&t, "C");
  ir_stmt i = scheduled_loop(&t, c, 0), j = scheduled_loop(&t, c, 1),
          r = scheduled_loop(&t, c, 2);
  DO(&t, split, AT(loop, i), INTS(factors, SCH_AUTO, threads, 2));
  ir_stmt i0 = t.out[0], i1 = t.out[1], i2 = t.out[2];
  DO(&t, split, AT(loop, j), INTS(factors, SCH_AUTO, 4));
  ir_stmt j0 = t.out[0], j1 = t.out[1];
  DO(&t, split, AT(loop, r), INTS(factors, SCH_AUTO, 2, 2));
  ir_stmt k0 = t.out[0], k1 = t.out[1], k2 = t.out[2];
  DO(&t, reorder, LIST(ordered_loops, i0, j0, i1, k0, k1, i2, j1, k2));
  DO(&t, fuse, LIST(loops, i0, j0));
  DO(&t, bind, AT(loop, t.out[0]), STR(thread_axis, "blockIdx.x"));
  DO(&t, bind, AT(loop, i1), STR(thread_axis, "threadIdx.y"));
  DO(&t, write_at, AT(loop, i1), AT(block, c), NUM(write_buffer_index, 0),
     STR(storage_scope, "wmma.accumulator"));
  for (int64_t x = 0; x < 2; x++) {
    ir_stmt s = copies_copy(k0, c, x, "shared.dyn");
    if (!s) return false;
    copies_note(s, "vector_bytes", ir_value_int(&t.p, 8));
    copies_note(s, "local_stage", ir_value_int(&t.p, 1));
    copies_note(s, "double_buffer_scope", ir_value_int(&t.p, 0));
  }
  if (!copies_copy(k1, c, 0, "wmma.matrix_a") ||
      !copies_copy(k1, c, 1, "wmma.matrix_b"))
    return false;
  copies_note(c, "warp_execution", ir_value_int(&t.p, 1));
  stages(k1, 3, (int64_t[]){0, 0, 1}, (int64_t[]){0, 1, 2});
  stages(k0, count, stage0, order);
  return true;
}

static uint32_t barriers(void) {
  uint32_t n = 0;
  lowered_until(&low, &t.p, "form_kernels");
  for (ir_stmt s = 1; s < low.p.stmt.n; s++)
    n += ir_st(&low.p, s)->kind == IR_BARRIER;
  return n;
}

/* Seven statements: two per copy, three of the nested pipeline. */
static void seven_statements(void **state) {
  (void)state;
  assert_true(schedule(8, 8, 16, 2, (int64_t[]){0, 3, 1, 4, 5, 2, 6}, 7));
  must_work();
  assert_int_equal(barriers(), 3);
}

static void short_ones(void **state) {
  (void)state;
  int done = 0;
  for (int64_t k = 1; k < 14; k++) {
    if (schedule(5, 7, k, 3, (int64_t[]){0, 3, 1, 4, 5, 2, 6}, 7)) {
      must_work();
      done++;
    }
    teardown(NULL);
    setup(NULL);
  }
  assert_true(done > 2);
}

static void too_few_entries(void **state) {
  (void)state;
  assert_true(schedule(8, 8, 16, 2, (int64_t[]){0, 1, 2}, 3));
  assert_int_equal(lowered_check(&low, &t.p), TESS_UNSUPPORTED);
  assert_non_null(
      strstr(low.err.message, "has 3 entries, its body 7 statements"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(seven_statements),
      TEST(short_ones),
      TEST(too_few_entries),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
