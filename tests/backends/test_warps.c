/* SPDX-License-Identifier: Apache-2.0
 * What warps do together, lowered: blocks annotated warp_execution, fragments
 * copied in and out, and what cannot be done so. */
#include "support/lowered.h"
#include "support/scheduled.h"

static scheduled t;
static lowered low;

static int setup(void **state) {
  (void)state;
  scheduled_start(&t);
  lowered_start(&low);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  lowered_end(&low);
  scheduled_end(&t);
  return 0;
}

/* The program after the pass `kernels`, as text. */
static const char *kernels(void) {
  lower_options o = {.vector_bytes = 16, .keep_math = true};
  for (uint32_t i = 0; i < lower_npasses; i++)
    if (!strcmp(lower_passes[i].name, "kernels")) o.stop_after = i + 1;
  ir_program_copy(&low.p, &t.p);
  if (lower_program(&low.p, &low.scratch, &o, &low.err))
    fail_msg("%s", low.err.message);
  strbuf b;
  str_init(&b, &t.heap.heap);
  ir_print(&low.p, NULL, &b);
  const char *s = arena_printf(&t.texts, "%s", str_get(&b));
  str_free(&b);
  return s;
}

static bool has(const char *text, const char *part) {
  return strstr(text, part) != NULL;
}

static void must_work(void) {
  assert_true(scheduled_same(&t));
  tess_status st = lowered_check(&low, &t.p);
  if (st) fail_msg("%s\n%s", low.err.message, scheduled_text(&t));
  assert_int_equal(lowered_check_native(&low, &t.p), TESS_OK);
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
typedef struct product { ir_stmt c, piece, rows, k0; } product;

static product make(const char *scope, bool fused) {
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

/* The piece is done once a warp, by 32 threads that nobody asked for. */
static void once_a_warp(void **state) {
  (void)state;
  product m = make("wmma.accumulator", false);
  for_warps(m.piece);
  must_work();
  const char *s = kernels();
  assert_true(has(s, "in threadIdx.x(32)"));
  assert_true(has(s, "in warp(1)"));
  assert_true(has(s, "in wmma.accumulator"));
  assert_false(has(s, "barrier"));
}

/* A fragment's elements are not computed with: they go through memory. */
static void changed_on_the_way_out(void **state) {
  (void)state;
  product m = make("wmma.accumulator", true);
  for_warps(m.piece);
  must_work();
  const char *s = kernels();
  assert_true(has(s, "C_wmma.accumulator_out: float32[4, 4, 16] in shared"));
  assert_false(has(s, "barrier"));
}

static void operands_in_fragments(void **state) {
  (void)state;
  product m = make("wmma.accumulator", true);
  for_warps(m.piece);
  DO(&t, read_at, AT(loop, m.k0), AT(block, m.piece),
     NUM(read_buffer_index, 0), STR(storage_scope, "wmma.matrix_a"));
  DO(&t, read_at, AT(loop, m.k0), AT(block, m.piece),
     NUM(read_buffer_index, 1), STR(storage_scope, "wmma.matrix_b"));
  must_work();
}

/* In other scopes it is done once, too: a result in memory is the warp's. */
static void results_elsewhere(void **state) {
  (void)state;
  static const char *const scope[] = {NULL, "local", "shared", "warp"};
  for (unsigned i = 0; i < 4; i++) {
    product m = make(scope[i], i > 1);
    for_warps(m.piece);
    must_work();
    teardown(NULL);
    setup(NULL);
  }
}

/* Without threads it is a block as any. */
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
  must_refuse("block C, which all lanes of a warp run together, stands in a "
              "loop bound to threadIdx.x");
}

static void threads_inside(void **state) {
  (void)state;
  product m = make("wmma.accumulator", false);
  DO(&t, bind, AT(loop, scheduled_loop(&t, m.c, 0)),
     STR(thread_axis, "threadIdx.z"));
  for_warps(m.piece);
  must_refuse("block C_o, which all lanes of a warp run together, holds a "
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
  make("wmma.accumulator", false);
  must_refuse("fragment C_wmma.accumulator belongs to a warp, but is touched "
              "outside of a block annotated warp_execution");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(once_a_warp),
      TEST(changed_on_the_way_out),
      TEST(operands_in_fragments),
      TEST(results_elsewhere),
      TEST(without_threads),
      TEST(lanes_around),
      TEST(threads_inside),
      TEST(too_many_lanes),
      TEST(not_by_a_lane),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
