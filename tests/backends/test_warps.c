/* SPDX-License-Identifier: Apache-2.0
 * Lowering of warp-synchronous blocks: warp_execution, copies into and out of
 * fragments, refusals. */
#include "base/rng.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "support/lowering.h"

/* The program after the pass `form_kernels`, as text. */
static const char *kernels(void) {
  return lowered_text(&low, &t.p, "form_kernels", &t.texts);
}

static bool has(const char *text, const char *part) {
  return strstr(text, part) != NULL;
}

static void must_refuse(const char *why) {
  assert_int_equal(lowered_check(&low, &t.p), TESS_UNSUPPORTED);
  assert_string_equal(low.err.message, why);
}

static void for_warps(ir_stmt block) {
  DO(&t, annotate, AT(block_or_loop, block), STR(ann_key, "warp_execution"),
     AT(ann_val, ir_value_int(&t.p, 1)));
}

/* C of 16 x 16 in four rows of a warp each, in a fragment, by pieces of
 * 4 x 16 x 4; then D = max(C + 1, 0), computed on the way out where `fused`. */
typedef struct product {
  ir_stmt c, piece, rows, k0;
} product;

static product warps_make(const char *scope, bool fused) {
  product m;
  scheduled_matmul(&t, 16, 16, 8);
  m.c = scheduled_get(&t, "C");
  ir_stmt d = scheduled_get(&t, "D");
  ir_stmt i = scheduled_loop(&t, m.c, 0), j = scheduled_loop(&t, m.c, 1),
          k = scheduled_loop(&t, m.c, 2);
  DO(&t, split, AT(loop, i), INTS(factors, SCH_AUTO, 4));
  ir_stmt i1 = t.out[1];
  m.rows = t.out[0];
  DO(&t, split, AT(loop, k), INTS(factors, SCH_AUTO, 4));
  ir_stmt k1 = t.out[1];
  m.k0 = t.out[0];
  DO(&t, reorder, LIST(ordered_loops, m.rows, m.k0, i1, j, k1));
  DO(&t, blockize, LIST(target, i1));
  m.piece = t.out[0];
  DO(&t, bind, AT(loop, m.rows), STR(thread_axis, "threadIdx.y"));
  if (scope)
    DO(&t, write_at, AT(loop, m.rows), AT(block, m.piece),
       NUM(write_buffer_index, 0), STR(storage_scope, scope));
  if (fused) DO(&t, reverse_compute_inline, AT(block, d));
  return m;
}

/* The piece is executed once per warp, by 32 implicit threads. */
static void once_a_warp(void **state) {
  (void)state;
  product m = warps_make("wmma.accumulator", false);
  for_warps(m.piece);
  must_work();
  const char *s = kernels();
  assert_true(has(s, "in threadIdx.x(32)"));
  assert_true(has(s, "in warp(1)"));
  assert_true(has(s, "in wmma.accumulator"));
  assert_false(has(s, "barrier"));
}

/* Fragments are not computed with element by element: they go through
 * memory. */
static void changed_on_the_way_out(void **state) {
  (void)state;
  product m = warps_make("wmma.accumulator", true);
  for_warps(m.piece);
  must_work();
  const char *s = kernels();
  assert_true(has(s, "C_wmma.accumulator_out: float32[4, 4, 16] in shared"));
  assert_false(has(s, "barrier"));
}

static void operands_in_fragments(void **state) {
  (void)state;
  product m = warps_make("wmma.accumulator", true);
  for_warps(m.piece);
  DO(&t, read_at, AT(loop, m.k0), AT(block, m.piece), NUM(read_buffer_index, 0),
     STR(storage_scope, "wmma.matrix_a"));
  DO(&t, read_at, AT(loop, m.k0), AT(block, m.piece), NUM(read_buffer_index, 1),
     STR(storage_scope, "wmma.matrix_b"));
  must_work();
}

/* In other scopes it is executed once, too: a result in memory is the
 * warp's. */
static void results_elsewhere(void **state) {
  (void)state;
  static const char *const scope[] = {NULL, "local", "shared", "warp"};
  for (unsigned i = 0; i < 4; i++) {
    product m = warps_make(scope[i], i > 1);
    for_warps(m.piece);
    must_work();
    teardown(NULL);
    setup(NULL);
  }
}

/* Without threads it is a plain block. */
static void without_threads(void **state) {
  (void)state;
  scheduled_matmul(&t, 8, 8, 8);
  for_warps(scheduled_get(&t, "C"));
  must_work();
  assert_false(has(kernels(), "warp"));
}

static void lanes_around(void **state) {
  (void)state;
  scheduled_matmul(&t, 8, 8, 8);
  ir_stmt c = scheduled_get(&t, "C");
  DO(&t, bind, AT(loop, scheduled_loop(&t, c, 0)),
     STR(thread_axis, "threadIdx.x"));
  for_warps(c);
  must_refuse("block C, which all lanes of a warp run together, is nested in a "
              "loop bound to threadIdx.x");
}

static void threads_inside(void **state) {
  (void)state;
  product m = warps_make("wmma.accumulator", false);
  DO(&t, bind, AT(loop, scheduled_loop(&t, m.c, 0)),
     STR(thread_axis, "threadIdx.z"));
  for_warps(m.piece);
  must_refuse("block C_o, which all lanes of a warp run together, contains a "
              "loop bound to threadIdx.z");
}

static void too_many_lanes(void **state) {
  (void)state;
  scheduled_matmul(&t, 4, 64, 4);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  ir_stmt i = scheduled_loop(&t, d, 0);
  DO(&t, bind, AT(loop, i), STR(thread_axis, "blockIdx.x"));
  DO(&t, bind, AT(loop, scheduled_loop(&t, d, 1)),
     STR(thread_axis, "threadIdx.x"));
  DO(&t, compute_at, AT(block, c), AT(loop, i));
  for_warps(c);
  must_refuse("threadIdx.x has more places than the 32 lanes of a warp");
}

static void not_by_a_lane(void **state) {
  (void)state;
  warps_make("wmma.accumulator", false);
  must_refuse("fragment C_wmma.accumulator belongs to a warp, but is accessed "
              "outside of a block annotated warp_execution");
}

/* ---- random ones -------------------------------------------------------- */

enum { ROUNDS = TEST_DRAWS(200) };

static uint32_t warps_below(rng *r, uint32_t n) { return rng_below(r, n); }

static void warps_note(ir_stmt s, const char *key, ir_val v) {
  RUN(&t, annotate, AT(block_or_loop, s), STR(ann_key, key), AT(ann_val, v));
}

static ir_val integers(uint32_t n, const int64_t *v) {
  uint32_t e[8];
  for (uint32_t i = 0; i < n; i++) e[i] = ir_value_int(&t.p, v[i]);
  return ir_value_add(&t.p, (ir_value){.tag = IR_VAL_LIST, .n = n}, e);
}

/* The operand is copied through shared memory, or into a fragment, or both. */
static void fetch(rng *r, ir_stmt loop, ir_stmt piece, int64_t n) {
  static const char *const fragment[] = {"wmma.matrix_a", "wmma.matrix_b"};
  bool staged = warps_below(r, 2);
  if (warps_below(r, 3) &&
      RUN(&t, read_at, AT(loop, loop), AT(block, piece),
          NUM(read_buffer_index, n),
          STR(storage_scope, warps_below(r, 2) ? "shared" : "shared.dyn"))) {
    ir_stmt copy = t.out[0];
    if (staged) warps_note(copy, "local_stage", ir_value_int(&t.p, 1));
    if (warps_below(r, 2))
      warps_note(copy, "vector_bytes", ir_value_int(&t.p, 8));
  }
  if (warps_below(r, 3))
    RUN(&t, read_at, AT(loop, loop), AT(block, piece),
        NUM(read_buffer_index, n), STR(storage_scope, fragment[n]));
}

/* The last statement of the loop lags behind the others. */
static void warps_pipeline(rng *r, ir_stmt loop) {
  int64_t stage[8] = {0}, order[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  uint32_t n = 0;
  for (ir_stmt c = ir_st(&t.p, loop)->body; c; c = ir_st(&t.p, c)->next) {
    const ir_anno *a =
        ir_is_block(&t.p, c) ? ir_anno_get(&t.p, c, "local_stage") : NULL;
    n += a ? 2 : 1;
  }
  if (n < 2 || n > 8) return;
  stage[n - 1] = 1 + warps_below(r, 2);
  warps_note(loop, "software_pipeline_stage", integers(n, stage));
  warps_note(loop, "software_pipeline_order", integers(n, order));
  if (warps_below(r, 2))
    warps_note(loop, "software_pipeline_async_stages",
               integers(1, (int64_t[]){0}));
}

static void make_random(rng *r) {
  static const char *const scope[] = {"wmma.accumulator", "wmma.accumulator",
                                      "local", "shared", "warp"};
  static const char *const axis[] = {"threadIdx.y", "threadIdx.z", "blockIdx.x",
                                     "vthread.x"};
  int64_t pm = 1 + warps_below(r, 4), pn = 1 + warps_below(r, 5),
          pk = 1 + warps_below(r, 3);
  scheduled_matmul(&t, pm * (1 + warps_below(r, 6)),
                   pn * (1 + warps_below(r, 4)), pk * (1 + warps_below(r, 4)));
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  ir_stmt outer[3], inner[3];
  int64_t size[3] = {pm, pn, pk};
  for (uint32_t i = 0; i < 3; i++) inner[i] = scheduled_loop(&t, c, i);
  for (uint32_t i = 0; i < 3; i++) {
    DO(&t, split, AT(loop, inner[i]), INTS(factors, SCH_AUTO, size[i]));
    outer[i] = t.out[0];
    inner[i] = t.out[1];
  }
  DO(&t, reorder,
     LIST(ordered_loops, outer[0], outer[1], outer[2], inner[0], inner[1],
          inner[2]));
  DO(&t, blockize, LIST(target, inner[0]));
  ir_stmt piece = t.out[0], at = outer[warps_below(r, 2)];
  for_warps(piece);
  for (uint32_t i = 0; i < 2; i++)
    RUN(&t, bind, AT(loop, outer[i]),
        STR(thread_axis, axis[warps_below(r, 4)]));
  if (warps_below(r, 5))
    RUN(&t, write_at, AT(loop, at), AT(block, piece),
        NUM(write_buffer_index, 0),
        STR(storage_scope, scope[warps_below(r, 5)]));
  if (warps_below(r, 2)) RUN(&t, reverse_compute_inline, AT(block, d));
  for (int64_t n = 0; n < 2; n++) fetch(r, outer[2], piece, n);
  if (warps_below(r, 2)) warps_pipeline(r, outer[2]);
}

/* The lowered programs are equivalent and free of races; few are refused. */
static void random_warps(void **state) {
  (void)state;
  int done = 0, native = 0;
  for (uint64_t i = 0; i < ROUNDS; i++) {
    rng r;
    rng_init(&r, 23, i);
    make_random(&r);
    assert_true(scheduled_same(&t));
    done += lowered_check(&low, &t.p) == TESS_OK;
    if (i % 16 == 0) native += lowered_check_native(&low, &t.p) == TESS_OK;
    teardown(NULL);
    setup(NULL);
  }
  assert_true(done > ROUNDS * 3 / 4);
  assert_true(native > ROUNDS / 32);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(once_a_warp),           TEST(changed_on_the_way_out),
      TEST(operands_in_fragments), TEST(results_elsewhere),
      TEST(without_threads),       TEST(lanes_around),
      TEST(threads_inside),        TEST(too_many_lanes),
      TEST(not_by_a_lane),         TEST(random_warps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
