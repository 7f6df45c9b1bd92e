/* SPDX-License-Identifier: Apache-2.0
 * Warps in lockstep: shuffles and votes, warp barriers, fragments,
 * warp-synchronous loops. */
#include "ir/edit.h"
#include "support/nest.h"

enum { MAX = 96, ALL = -1 };

static int interp_warp_setup(void **state) {
  static nest n;
  nest_start(&n);
  *state = &n;
  return 0;
}

static int interp_warp_teardown(void **state) {
  nest_end(*state);
  return 0;
}

static float in[MAX], out[MAX];
static int threads;
static ir_buf A, R;

/* Opens a kernel of so many threads. */
static ir_expr kernel(nest *n, int count) {
  threads = count;
  A = nest_param(n, "A", F32, IR_ROLE_INPUT, count, 0, 0);
  R = nest_param(n, "R", F32, IR_ROLE_OUTPUT, count, 0, 0);
  return nest_thread(n, count, IR_THREADIDX_X);
}

static tess_status interp_warp_run(nest *n) {
  void *args[2] = {in, out};
  for (int i = 0; i < MAX; i++) in[i] = (float)(i + 1), out[i] = -1;
  nest_finish(n);
  return nest_run(n, args);
}

static void must_say(nest *n, tess_status code, const char *text) {
  char got[400];
  assert_int_equal(interp_warp_run(n), code);
  assert_string_equal(nest_error(n, got, sizeof got), text);
}

static ir_expr mask_of(nest *n, int64_t mask) {
  return ir_int(&n->p, U32, mask);
}

static ir_expr shfl(nest *n, ir_fn fn, int64_t mask, ir_expr x, ir_expr by) {
  ir_expr a[3] = {mask_of(n, mask), x, by};
  return ir_call(&n->p, fn, ir_at(&n->p, x)->dtype, 3, a);
}

static ir_expr vote(nest *n, ir_fn fn, int64_t mask, ir_expr x) {
  ir_expr a[2] = {mask_of(n, mask), x};
  return ir_call(&n->p, fn, fn == IR_FN_BALLOT ? U32 : IR_BOOL, 2, a);
}

static ir_expr less(nest *n, ir_expr a, int64_t b) {
  return ir_binary(&n->p, IR_LT, a, nest_num(n, b));
}

static ir_expr interp_warp_plus(nest *n, ir_expr a, int64_t k) {
  return ir_add(&n->p, a, nest_num(n, k));
}

static ir_buf own(nest *n, const char *name, ir_scope scope, int64_t size) {
  ir_expr shape = nest_num(n, size);
  return ir_buf_new(&n->p, ir_name(&n->p, name), F32, 1, &shape, scope,
                    IR_ROLE_LOCAL);
}

/* ---- exchanging --------------------------------------------------------- */

/* R[tx] = A of the lane that `fn` selects with `by`. */
static void exchange(nest *n, int count, ir_fn fn, int64_t by) {
  ir_expr tx = kernel(n, count);
  nest_store(n, R, tx, 0,
             shfl(n, fn, ALL, nest_load(n, A, tx, 0), nest_num(n, by)));
}

static void lanes_read_each_other(void **state) {
  nest *n = *state;
  static const struct {
    ir_fn fn;
    int by, from0, from30;
  } row[] = {
      {IR_FN_SHFL, 7, 7, 7},      {IR_FN_SHFL, 33, 1, 1},
      {IR_FN_SHFL_UP, 3, 0, 27},  {IR_FN_SHFL_DOWN, 3, 3, 30},
      {IR_FN_SHFL_XOR, 1, 1, 31}, {IR_FN_SHFL_XOR, 31, 31, 1},
  };
  for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
    exchange(n, 64, row[i].fn, row[i].by);
    assert_int_equal(interp_warp_run(n), TESS_OK);
    for (int w = 0; w < 64; w += 32) {
      assert_true(out[w] == in[w + row[i].from0]);
      assert_true(out[w + 30] == in[w + row[i].from30]);
    }
    interp_warp_teardown(state);
    interp_warp_setup(state);
  }
}

/* A tree reduction by shuffles of 16, 8, .. 1 lanes: lane 0 has the sum. */
static void a_tree_of_sums(void **state) {
  nest *n = *state;
  ir_expr tx = kernel(n, 32), zero = nest_num(n, 0);
  ir_buf x = own(n, "x", IR_SCOPE_LOCAL, 1);
  nest_allocate(n, x);
  nest_store(n, x, zero, 0, nest_load(n, A, tx, 0));
  for (int by = 16; by; by /= 2)
    nest_store(n, x, zero, 0,
               ir_add(&n->p, nest_load(n, x, zero, 0),
                      shfl(n, IR_FN_SHFL_DOWN, ALL, nest_load(n, x, zero, 0),
                           nest_num(n, by))));
  nest_store(n, R, tx, 0, nest_load(n, x, zero, 0));
  assert_int_equal(interp_warp_run(n), TESS_OK);
  assert_true(out[0] == 32 * 33 / 2);
}

/* The last of 40 threads form a partial warp of eight. */
static void a_lane_that_is_not_there(void **state) {
  nest *n = *state;
  exchange(n, 40, IR_FN_SHFL_XOR, 4);
  assert_int_equal(interp_warp_run(n), TESS_OK);
  assert_true(out[35] == in[39]);
  interp_warp_teardown(state);
  interp_warp_setup(state);
  exchange(n, 40, IR_FN_SHFL_XOR, 8);
  must_say(n, TESS_RACE,
           "thread 32 reads the value of an inactive lane (thread "
           "40), in `R[i] = shfl_xor_sync(4294967295, A[i], 8)` "
           "(in block root)");
}

/* if tx < 16: R[tx] = A of lane `from`, among the lanes of the mask. */
static void some(nest *n, int64_t mask, int64_t from) {
  ir_expr tx = kernel(n, 32);
  nest_if(n, less(n, tx, 16));
  nest_store(
      n, R, tx, 0,
      shfl(n, IR_FN_SHFL, mask, nest_load(n, A, tx, 0), nest_num(n, from)));
  nest_close(n, 1);
}

static void only_some_lanes(void **state) {
  nest *n = *state;
  some(n, 0xffff, 9);
  assert_int_equal(interp_warp_run(n), TESS_OK);
  assert_true(out[0] == in[9] && out[15] == in[9] && out[16] == -1);
  interp_warp_teardown(state);
  interp_warp_setup(state);
  /* Lanes that have ended are not waited for, but have no value either. */
  some(n, ALL, 9);
  assert_int_equal(interp_warp_run(n), TESS_OK);
  interp_warp_teardown(state);
  interp_warp_setup(state);
  some(n, ALL, 20);
  must_say(n, TESS_RACE,
           "thread 0 reads the value of an inactive lane (thread "
           "20), in `R[i] = shfl_sync(4294967295, A[i], 20)` (in block root)");
  interp_warp_teardown(state);
  interp_warp_setup(state);
  some(n, 0xfffe, 9);
  must_say(n, TESS_RACE,
           "thread 0 calls it with a mask that it is not in, in `R[i] = "
           "shfl_sync(65534, A[i], 9)` (in block root)");
}

/* The others wait at a barrier instead: divergence. */
static void divergent_lanes(void **state) {
  nest *n = *state;
  some(n, ALL, 9);
  nest_barrier(n);
  must_say(n, TESS_RACE,
           "thread 16 does not reach what thread 0 waits at, or the other "
           "way round, in `R[i] = shfl_sync(4294967295, A[i], 9)` "
           "(in block root)");
}

/* Both sides of a branch shuffle, each among its lanes. */
static void two_groups(void **state) {
  nest *n = *state;
  ir_expr tx = kernel(n, 32);
  nest_if(n, less(n, tx, 8));
  nest_store(n, R, tx, 0,
             shfl(n, IR_FN_SHFL, 0xff, nest_load(n, A, tx, 0), nest_num(n, 1)));
  nest_else(n);
  nest_store(n, R, tx, 0,
             shfl(n, IR_FN_SHFL, INT64_C(0xffffff00), nest_load(n, A, tx, 0),
                  nest_num(n, 30)));
  assert_int_equal(interp_warp_run(n), TESS_OK);
  assert_true(out[0] == in[1] && out[7] == in[1]);
  assert_true(out[8] == in[30] && out[31] == in[30]);
}

static void votes(void **state) {
  nest *n = *state;
  ir_expr tx = kernel(n, 32), five = less(n, tx, 5);
  ir_expr bits = vote(n, IR_FN_BALLOT, ALL, five);
  ir_expr any = vote(n, IR_FN_ANY, ALL, ir_not(&n->p, less(n, tx, 31)));
  ir_expr all = vote(n, IR_FN_ALL, ALL, less(n, tx, 31));
  ir_expr r = ir_cast(&n->p, F32, bits);
  r = ir_add(
      &n->p, r,
      ir_select(&n->p, any, ir_real(&n->p, F32, 100), ir_real(&n->p, F32, 0)));
  r = ir_add(
      &n->p, r,
      ir_select(&n->p, all, ir_real(&n->p, F32, 1000), ir_real(&n->p, F32, 0)));
  nest_store(n, R, tx, 0, r);
  assert_int_equal(interp_warp_run(n), TESS_OK);
  for (int i = 0; i < 32; i++) assert_true(out[i] == 131);
}

/* ---- memory ------------------------------------------------------------- */

typedef enum between { NOTHING, SHUFFLE, BARRIER, TOGETHER } between;

/* S[tx] = A[tx]; the code between; R[tx] = S[tx ^ other]. */
static void through_memory(nest *n, int count, between what, int64_t other) {
  ir_buf s = own(n, "S", IR_SCOPE_SHARED, count);
  threads = count;
  A = nest_param(n, "A", F32, IR_ROLE_INPUT, count, 0, 0);
  R = nest_param(n, "R", F32, IR_ROLE_OUTPUT, count, 0, 0);
  nest_thread(n, 1, IR_BLOCKIDX_X);
  nest_allocate(n, s);
  ir_expr tx = nest_thread(n, count, IR_THREADIDX_X);
  nest_store(n, s, tx, 0, nest_load(n, A, tx, 0));
  if (what == SHUFFLE)
    nest_evaluate(
        n, shfl(n, IR_FN_SHFL, ALL, nest_load(n, s, tx, 0), nest_num(n, 0)));
  if (what == BARRIER) nest_warp_barrier(n);
  if (what == TOGETHER) {
    nest_thread(n, 1, IR_WARP);
    nest_evaluate(n, nest_num(n, 0));
    nest_close(n, 1);
  }
  nest_store(n, s, tx, 0, nest_load(n, s, tx, 0));
  if (what == BARRIER) nest_warp_barrier(n);
  ir_expr half = nest_num(n, other);
  ir_expr low = ir_binary(
      &n->p, IR_LT, ir_binary(&n->p, IR_MOD, tx, nest_num(n, 2 * other)), half);
  ir_expr from = other ? ir_select(&n->p, low, interp_warp_plus(n, tx, other),
                                   interp_warp_plus(n, tx, -other))
                       : tx;
  nest_store(n, R, tx, 0, nest_load(n, s, from, 0));
}

/* A lane that continues after a shuffle is still the same lane. */
static void a_lane_does_not_race_with_itself(void **state) {
  nest *n = *state;
  through_memory(n, 64, SHUFFLE, 0);
  n->o.threads = INTERP_LOCKSTEP;
  assert_int_equal(interp_warp_run(n), TESS_OK);
}

static void exchanges_order_no_memory(void **state) {
  nest *n = *state;
  through_memory(n, 32, SHUFFLE, 1);
  must_say(n, TESS_RACE,
           "race: S[1] is written by threadIdx.x 1 and read by threadIdx.x 0, "
           "with no barrier between, in "
           "`R[i] = S[select(i % 2 < 1, i + 1, i - 1)]` (in block root)");
}

static void barriers_of_a_warp_do(void **state) {
  nest *n = *state;
  through_memory(n, 32, BARRIER, 1);
  assert_int_equal(interp_warp_run(n), TESS_OK);
  for (int i = 0; i < 32; i++) assert_true(out[i] == in[i ^ 1]);
}

static void between_warps_they_do_not(void **state) {
  nest *n = *state;
  through_memory(n, 64, BARRIER, 32);
  assert_int_equal(interp_warp_run(n), TESS_UNWRITTEN);
  interp_warp_teardown(state);
  interp_warp_setup(state);
  ir_buf s = own(n, "S", IR_SCOPE_SHARED, 64);
  A = nest_param(n, "A", F32, IR_ROLE_INPUT, 64, 0, 0);
  R = nest_param(n, "R", F32, IR_ROLE_OUTPUT, 64, 0, 0);
  nest_thread(n, 1, IR_BLOCKIDX_X);
  nest_allocate(n, s);
  ir_expr tx = nest_thread(n, 64, IR_THREADIDX_X);
  nest_store(n, s, tx, 0, nest_load(n, A, tx, 0));
  nest_warp_barrier(n);
  nest_store(n, R, tx, 0,
             nest_load(n, s, ir_binary(&n->p, IR_MOD, tx, nest_num(n, 32)), 0));
  must_say(n, TESS_RACE,
           "race: S[0] is written by warp 0 and read by warp 1, with no "
           "barrier between, in `R[i] = S[i % 32]` (in block root)");
}

static void a_barrier_not_all_reach(void **state) {
  nest *n = *state;
  ir_expr tx = kernel(n, 32);
  nest_if(n, less(n, tx, 16));
  nest_warp_barrier(n);
  nest_close(n, 1);
  nest_store(n, R, tx, 0, nest_load(n, A, tx, 0));
  must_say(n, TESS_RACE,
           "thread 16 does not reach what thread 0 waits at, or the other "
           "way round, in `barrier warp` (in block root)");
}

/* One buffer per warp, shared by its lanes. */
static void memory_of_a_warp(void **state) {
  nest *n = *state;
  ir_expr tx = kernel(n, 64);
  ir_buf s = own(n, "S", IR_SCOPE_WARP, 32);
  nest_allocate(n, s);
  ir_expr lane = ir_binary(&n->p, IR_MOD, tx, nest_num(n, 32));
  nest_store(n, s, lane, 0, nest_load(n, A, tx, 0));
  nest_warp_barrier(n);
  nest_store(n, R, tx, 0,
             nest_load(n, s, ir_sub(&n->p, nest_num(n, 31), lane), 0));
  assert_int_equal(interp_warp_run(n), TESS_OK);
  for (int i = 0; i < 64; i++)
    assert_true(out[i] == in[i / 32 * 32 + 31 - i % 32]);
}

/* ---- together ----------------------------------------------------------- */

/* A warp doubles its part of A in a fragment: filled from shared memory,
 * doubled in place, stored there again. */
static void doubled(nest *n, int count, int64_t ends, bool touched) {
  ir_buf s = own(n, "S", IR_SCOPE_SHARED, count);
  ir_buf f = own(n, "F", IR_SCOPE_WMMA_ACC, 32);
  A = nest_param(n, "A", F32, IR_ROLE_INPUT, count, 0, 0);
  R = nest_param(n, "R", F32, IR_ROLE_OUTPUT, count, 0, 0);
  nest_thread(n, 1, IR_BLOCKIDX_X);
  nest_allocate(n, s);
  ir_expr tx = nest_thread(n, count, IR_THREADIDX_X);
  nest_allocate(n, f);
  ir_var w = ir_var_new(&n->p, IR_VAR_LET, ir_name(&n->p, "w"), IR_INDEX, 0,
                        count / 32);
  ir_stmt let =
      ir_let_new(&n->p, w, ir_binary(&n->p, IR_DIV, tx, nest_num(n, 32)));
  nest_store(n, s, tx, 0, nest_load(n, A, tx, 0));
  ir_append(&n->p, n->at, let);
  n->at = let;
  ir_expr base = ir_mul(&n->p, ir_ref(&n->p, w), nest_num(n, 32));
  if (ends) nest_if(n, less(n, tx, ends));
  for (int step = 0; step < 3; step++) {
    nest_thread(n, 1, IR_WARP);
    ir_expr i = nest_loop(n, 32, IR_SERIAL), at = ir_add(&n->p, base, i);
    ir_expr x = nest_load(n, f, i, 0);
    if (step == 0) nest_store(n, f, i, 0, nest_load(n, s, at, 0));
    if (step == 1) nest_store(n, f, i, 0, ir_add(&n->p, x, x));
    if (step == 2) nest_store(n, s, at, 0, x);
    nest_close(n, 2);
  }
  if (ends) nest_close(n, 1);
  nest_store(n, R, tx, 0,
             nest_load(n, touched ? f : s, touched ? nest_num(n, 0) : tx, 0));
}

static void fragments_are_a_warps(void **state) {
  nest *n = *state;
  doubled(n, 96, 0, false);
  assert_int_equal(interp_warp_run(n), TESS_OK);
  for (int i = 0; i < 96; i++) assert_true(out[i] == 2 * in[i]);
}

static void no_lane_alone(void **state) {
  nest *n = *state;
  doubled(n, 32, 0, true);
  must_say(n, TESS_INVALID,
           "a fragment is accessed by a single lane (buffer F) "
           "(in block root)");
}

static void all_lanes_or_none(void **state) {
  nest *n = *state;
  doubled(n, 64, 48, false);
  must_say(n, TESS_RACE,
           "thread 48 does not reach what thread 32 waits at, or the other "
           "way round, in `for i in warp(1)` (in block root)");
}

static void a_whole_warp(void **state) {
  nest *n = *state;
  doubled(n, 40, 0, false);
  must_say(n, TESS_RACE,
           "thread 32 belongs to a partial warp (thread 39), in "
           "`for i in warp(1)` (in block root)");
}

/* Warp-synchronous code must not depend on the lane. */
static void lanes_agree(void **state) {
  nest *n = *state;
  ir_expr tx = kernel(n, 32);
  nest_thread(n, 1, IR_WARP);
  nest_store(n, R, tx, 0, ir_real(&n->p, F32, 1));
  nest_close(n, 1);
  assert_int_equal(interp_warp_run(n), TESS_RACE);
  char text[300];
  assert_non_null(strstr(nest_error(n, text, sizeof text),
                         "thread 1 has another value of"));
}

static void no_lanes_memory(void **state) {
  nest *n = *state;
  ir_expr tx = kernel(n, 32), zero = nest_num(n, 0);
  ir_buf x = own(n, "x", IR_SCOPE_LOCAL, 1);
  nest_allocate(n, x);
  nest_store(n, x, zero, 0, nest_load(n, A, tx, 0));
  nest_thread(n, 1, IR_WARP);
  nest_store(n, R, zero, 0, nest_load(n, x, zero, 0));
  nest_close(n, 1);
  must_say(n, TESS_INVALID,
           "memory private to each lane is accessed by all together "
           "(buffer x) (in block root)");
}

/* Accesses of warps race as those of threads do. */
static void warps_race(void **state) {
  nest *n = *state;
  kernel(n, 64);
  nest_thread(n, 1, IR_WARP);
  nest_store(n, R, nest_num(n, 3), 0, ir_real(&n->p, F32, 1));
  nest_close(n, 1);
  must_say(n, TESS_RACE,
           "race: R[3] is written by warp 0 and written by warp 1, with no "
           "barrier between, in `R[3] = 1.0` (in block root)");
}

static void exchanges_are_not_for_loops(void **state) {
  nest *n = *state;
  ir_expr tx = kernel(n, 32);
  nest_loop(n, 4, IR_VECTORIZED);
  nest_evaluate(
      n, shfl(n, IR_FN_SHFL, ALL, nest_load(n, A, tx, 0), nest_num(n, 0)));
  must_say(n, TESS_INVALID,
           "shfl_sync that is not in a thread's code "
           "(in block root)");
}

#define TEST(f) \
  cmocka_unit_test_setup_teardown(f, interp_warp_setup, interp_warp_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(lanes_read_each_other),
      TEST(a_tree_of_sums),
      TEST(a_lane_that_is_not_there),
      TEST(only_some_lanes),
      TEST(divergent_lanes),
      TEST(two_groups),
      TEST(votes),
      TEST(a_lane_does_not_race_with_itself),
      TEST(exchanges_order_no_memory),
      TEST(barriers_of_a_warp_do),
      TEST(between_warps_they_do_not),
      TEST(a_barrier_not_all_reach),
      TEST(memory_of_a_warp),
      TEST(fragments_are_a_warps),
      TEST(no_lane_alone),
      TEST(all_lanes_or_none),
      TEST(a_whole_warp),
      TEST(lanes_agree),
      TEST(no_lanes_memory),
      TEST(warps_race),
      TEST(exchanges_are_not_for_loops),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
