/* SPDX-License-Identifier: Apache-2.0
 * Threads in lockstep: barriers, private and shared buffers, vectors. */
#include "ir/edit.h"
#include "support/nest.h"

enum { T = 8, B = 3 };

static int interp_kernel_setup(void **state) {
  static nest n;
  nest_start(&n);
  *state = &n;
  return 0;
}

static int interp_kernel_teardown(void **state) {
  nest_end(*state);
  return 0;
}

static float in[B * T], out[B * T];

static tess_status interp_kernel_run(nest *n) {
  void *args[2] = {in, out};
  for (int i = 0; i < B * T; i++) in[i] = (float)i, out[i] = -1;
  nest_finish(n);
  return nest_run(n, args);
}

static void params(nest *n, ir_buf b[2]) {
  b[0] = nest_param(n, "A", F32, IR_ROLE_INPUT, B * T, 0, 0);
  b[1] = nest_param(n, "R", F32, IR_ROLE_OUTPUT, B * T, 0, 0);
}

static ir_buf own(nest *n, const char *name, ir_scope scope, int64_t size) {
  ir_expr shape = nest_num(n, size);
  return ir_buf_new(&n->p, ir_name(&n->p, name), F32, 1, &shape, scope,
                    IR_ROLE_LOCAL);
}

static ir_expr interp_kernel_plus(nest *n, ir_expr a, int64_t k) {
  return ir_add(&n->p, a, nest_num(n, k));
}

static ir_expr global_index(nest *n, ir_expr block, ir_expr thread) {
  return ir_add(&n->p, ir_mul(&n->p, block, nest_num(n, T)), thread);
}

/* Each block of threads reverses its part, through shared memory. */
static void reverse(nest *n, bool barrier, ir_scope scope) {
  ir_buf b[2];
  params(n, b);
  ir_buf s = own(n, "S", scope, T);
  ir_expr bx = nest_thread(n, B, IR_BLOCKIDX_X);
  nest_allocate(n, s);
  ir_expr tx = nest_thread(n, T, IR_THREADIDX_X);
  ir_expr i = global_index(n, bx, tx);
  nest_store(n, s, tx, 0, nest_load(n, b[0], i, 0));
  if (barrier) nest_barrier(n);
  ir_expr mirror = ir_sub(&n->p, nest_num(n, T - 1), tx);
  nest_store(n, b[1], i, 0, nest_load(n, s, mirror, 0));
  n->o.threads = INTERP_LOCKSTEP;
}

static void barrier_orders(void **state) {
  nest *n = *state;
  reverse(n, true, IR_SCOPE_SHARED);
  assert_int_equal(interp_kernel_run(n), TESS_OK);
  for (int i = 0; i < B * T; i++)
    assert_true(out[i] == (float)(i / T * T + T - 1 - i % T));
}

static void without_barrier_races(void **state) {
  nest *n = *state;
  reverse(n, false, IR_SCOPE_SHARED);
  tess_status st = interp_kernel_run(n);
  assert_true(st == TESS_RACE || st == TESS_UNWRITTEN);
}

/* Who, where, which element. */
static void race_is_told(void **state) {
  nest *n = *state;
  char text[300];
  ir_buf b[2];
  params(n, b);
  ir_buf s = own(n, "S", IR_SCOPE_SHARED, T);
  nest_thread(n, B, IR_BLOCKIDX_X);
  nest_allocate(n, s);
  ir_expr ty = nest_thread(n, 2, IR_THREADIDX_Y);
  ir_expr tx = nest_thread(n, 4, IR_THREADIDX_X);
  nest_store(n, s, tx, 0, nest_load(n, b[0], ty, 0));
  n->o.threads = INTERP_LOCKSTEP;
  assert_int_equal(interp_kernel_run(n), TESS_RACE);
  assert_int_equal(n->e.group, INTERP_THREADS);
  assert_string_equal(nest_error(n, text, sizeof text),
                      "race: S[0] is written by threadIdx.x 0, threadIdx.y 0 "
                      "and written by threadIdx.x 0, threadIdx.y 1, with no "
                      "barrier between, in `S[i] = A[i_1]` (in block root)");
}

/* Of a grid that only the run knows: all blocks write one element.  The places
 * of a block are told where they follow from its number. */
static void open_race_is_told(nest *n, ir_thread open, ir_thread fixed,
                              const char *says) {
  char text[300];
  ir_program *p = &n->p;
  int64_t sizes[1] = {3};
  ir_var v = ir_var_new(p, IR_VAR_SIZE, ir_name(p, "n"), IR_INDEX, 1, 1000);
  ir_expr size = ir_ref(p, v), zero = nest_num(n, 0);
  ir_buf a = ir_buf_new(p, ir_name(p, "A"), F32, 1, &size, IR_SCOPE_GLOBAL,
                        IR_ROLE_INPUT);
  n->param[n->nparams++] = a;
  ir_buf r = nest_param(n, "R", F32, IR_ROLE_OUTPUT, 1, 0, 0);
  nest_thread(n, 1000, open);
  ir_st(p, n->at)->extent = size;
  nest_thread(n, 2, fixed);
  nest_store(n, r, zero, 0, nest_load(n, a, zero, 0));
  nest_finish(n);
  interp_arg args[2] = {{in, 3 * sizeof *in}, {out, sizeof *out}};
  n->o =
      (interp_options){.nsizes = 1, .sizes = sizes, .threads = INTERP_LOCKSTEP};
  assert_int_equal(interp_run(&n->in, p, 2, args, &n->o, &n->e), TESS_RACE);
  assert_non_null(strstr(nest_error(n, text, sizeof text), says));
}

static void open_x_is_told(void **state) {
  open_race_is_told(*state, IR_BLOCKIDX_X, IR_BLOCKIDX_Y,
                    "written by block 0 of threads and written by block 1 of "
                    "threads");
}

static void open_y_is_told(void **state) {
  open_race_is_told(*state, IR_BLOCKIDX_Y, IR_BLOCKIDX_X,
                    "written by blockIdx.x 0, blockIdx.y 0 and written by "
                    "blockIdx.x 1, blockIdx.y 0");
}

/* The same in thread-private memory: the others' part is not there. */
static void local_is_not_shared(void **state) {
  nest *n = *state;
  reverse(n, true, IR_SCOPE_LOCAL);
  assert_int_equal(interp_kernel_run(n), TESS_UNWRITTEN);
}

/* A barrier in a loop: each round reads the previous round's writes. */
static void prefix_sums(nest *n, bool second) {
  ir_buf b[2];
  params(n, b);
  ir_buf s = own(n, "S", IR_SCOPE_SHARED, T);
  ir_expr bx = nest_thread(n, B, IR_BLOCKIDX_X);
  nest_allocate(n, s);
  ir_expr tx = nest_thread(n, T, IR_THREADIDX_X);
  ir_expr i = global_index(n, bx, tx);
  ir_buf mine = own(n, "M", IR_SCOPE_LOCAL, 1);
  nest_allocate(n, mine);
  ir_expr zero = nest_num(n, 0);
  nest_store(n, s, tx, 0, nest_load(n, b[0], i, 0));
  nest_barrier(n);
  ir_expr k = nest_loop(n, T - 1, IR_SERIAL);
  /* M = S[tx] + (tx == k + 1 ? S[k] : 0) */
  ir_expr next = ir_binary(&n->p, IR_EQ, tx, interp_kernel_plus(n, k, 1));
  ir_expr add =
      ir_select(&n->p, next, nest_load(n, s, k, 0), ir_real(&n->p, F32, 0));
  nest_store(n, mine, zero, 0, ir_add(&n->p, nest_load(n, s, tx, 0), add));
  nest_barrier(n);
  nest_store(n, s, tx, 0, nest_load(n, mine, zero, 0));
  if (second) nest_barrier(n);
  nest_close(n, 1);
  nest_store(n, b[1], i, 0, nest_load(n, s, tx, 0));
}

static void barriers_in_a_loop(void **state) {
  nest *n = *state;
  prefix_sums(n, true);
  assert_int_equal(interp_kernel_run(n), TESS_OK);
  for (int b = 0; b < B; b++) {
    float sum = 0;
    for (int t = 0; t < T; t++) {
      sum += (float)(b * T + t);
      assert_true(out[b * T + t] == sum);
    }
  }
}

static void one_barrier_too_few(void **state) {
  nest *n = *state;
  prefix_sums(n, false);
  assert_int_equal(interp_kernel_run(n), TESS_RACE);
}

static void divergence_is_an_error(void **state) {
  nest *n = *state;
  ir_buf b[2];
  params(n, b);
  ir_expr tx = nest_thread(n, T, IR_THREADIDX_X);
  nest_if(n, ir_binary(&n->p, IR_LT, tx, nest_num(n, 3)));
  nest_barrier(n);
  nest_close(n, 1);
  nest_store(n, b[1], tx, 0, nest_load(n, b[0], tx, 0));
  assert_int_equal(interp_kernel_run(n), TESS_RACE);
  assert_int_equal(n->e.fault, INTERP_DIVERGENCE);
  assert_int_equal(n->e.iter[1], 3);
}

/* A branch taken by all threads may contain one. */
static void uniform_branch(void **state) {
  nest *n = *state;
  ir_buf b[2];
  params(n, b);
  ir_expr bx = nest_thread(n, B, IR_BLOCKIDX_X);
  ir_expr tx = nest_thread(n, T, IR_THREADIDX_X);
  nest_if(n, ir_binary(&n->p, IR_LT, bx, nest_num(n, 1)));
  nest_barrier(n);
  nest_close(n, 1);
  nest_store(n, b[1], global_index(n, bx, tx), 0, ir_real(&n->p, F32, 2));
  assert_int_equal(interp_kernel_run(n), TESS_OK);
}

/* Loops with one tag are the same threads: no barrier between them. */
static void same_tag_is_the_same_thread(void **state) {
  for (int shift = 0; shift < 2; shift++) {
    nest *n = *state;
    ir_buf b[2];
    params(n, b);
    ir_buf s = own(n, "S", IR_SCOPE_SHARED, T);
    nest_thread(n, 1, IR_BLOCKIDX_X);
    nest_allocate(n, s);
    ir_expr tx = nest_thread(n, T, IR_THREADIDX_X);
    nest_store(n, s, tx, 0, nest_load(n, b[0], tx, 0));
    nest_close(n, 1);
    tx = nest_thread(n, T, IR_THREADIDX_X);
    ir_expr other = ir_binary(&n->p, IR_MOD, interp_kernel_plus(n, tx, shift),
                              nest_num(n, T));
    nest_store(n, b[1], tx, 0, nest_load(n, s, other, 0));
    n->o.threads = INTERP_LOCKSTEP;
    tess_status st = interp_kernel_run(n);
    assert_true(shift ? st == TESS_RACE || st == TESS_UNWRITTEN
                      : st == TESS_OK);
    nest_end(n);
    nest_start(n);
  }
}

static void extents_must_agree(void **state) {
  nest *n = *state;
  ir_buf b[2];
  params(n, b);
  nest_thread(n, 1, IR_BLOCKIDX_X);
  for (int k = 0; k < 2; k++) {
    ir_expr tx = nest_thread(n, T - k, IR_THREADIDX_X);
    nest_store(n, b[1], tx, 0, nest_load(n, b[0], tx, 0));
    nest_close(n, 1);
  }
  n->o.threads = INTERP_LOCKSTEP;
  assert_int_equal(interp_kernel_run(n), TESS_INVALID);
}

/* Statements outside of the thread loop are executed by all threads. */
static void all_threads_write_one_element(void **state) {
  nest *n = *state;
  ir_buf b[2];
  params(n, b);
  ir_expr bx = nest_thread(n, B, IR_BLOCKIDX_X);
  nest_store(n, b[1], bx, 0, ir_real(&n->p, F32, 1));
  ir_expr tx = nest_thread(n, T, IR_THREADIDX_X);
  nest_store(n, b[1], interp_kernel_plus(n, global_index(n, bx, tx), 0), 0,
             ir_real(&n->p, F32, 1));
  n->o.threads = INTERP_LOCKSTEP;
  assert_int_equal(interp_kernel_run(n), TESS_RACE);
}

static void blocks_race(void **state) {
  nest *n = *state;
  ir_buf b[2];
  params(n, b);
  nest_thread(n, B, IR_BLOCKIDX_X);
  ir_expr tx = nest_thread(n, T, IR_THREADIDX_X);
  nest_store(n, b[1], tx, 0, nest_load(n, b[0], tx, 0));
  n->o.threads = INTERP_LOCKSTEP;
  assert_int_equal(interp_kernel_run(n), TESS_RACE);
  assert_int_equal(n->e.iter[0], 0);
  assert_int_equal(n->e.iter[1], 1);
}

/* With blocks, thread loops are racing loops that join at their end. */
static void fork_join_of_blocks(void **state) {
  nest *n = *state;
  ir_buf b[2];
  params(n, b);
  ir_buf s = nest_local(n, "S", F32, IR_SCOPE_SHARED, B, T, 0);
  ir_expr bx = nest_thread(n, B, IR_BLOCKIDX_X);
  ir_expr tx = nest_thread(n, T, IR_THREADIDX_X);
  nest_block(n, "S");
  ir_expr v = nest_iter(n, IR_SPATIAL, B, bx),
          w = nest_iter(n, IR_SPATIAL, T, tx);
  nest_store(n, s, v, w, nest_load(n, b[0], global_index(n, v, w), 0));
  nest_close(n, 2);
  tx = nest_thread(n, T, IR_THREADIDX_X);
  nest_block(n, "R");
  v = nest_iter(n, IR_SPATIAL, B, bx), w = nest_iter(n, IR_SPATIAL, T, tx);
  ir_expr mirror = ir_sub(&n->p, nest_num(n, T - 1), w);
  nest_store(n, b[1], global_index(n, v, w), 0, nest_load(n, s, v, mirror));
  assert_int_equal(interp_kernel_run(n), TESS_OK);
  assert_true(out[T] == 2 * T - 1);
}

/* ---- vectors ------------------------------------------------------------ */

static ir_expr vector_load(nest *n, ir_buf b, ir_expr idx, ir_expr mask) {
  tess_dtype t = F32;
  t.lanes = ir_at(&n->p, idx)->dtype.lanes;
  return ir_load_masked(&n->p, b, t, 1, &idx, mask);
}

static void vector_copy(void **state) {
  nest *n = *state;
  ir_buf b[2];
  params(n, b);
  ir_expr i = nest_loop(n, B * T / 4, IR_PARALLEL);
  ir_expr base = ir_mul(&n->p, i, nest_num(n, 4));
  ir_expr idx = ir_ramp(&n->p, base, nest_num(n, 1), 4);
  ir_expr v = vector_load(n, b[0], idx, 0);
  ir_expr one = ir_broadcast(&n->p, ir_real(&n->p, F32, 1), 4);
  nest_store(n, b[1], idx, 0, ir_add(&n->p, v, one));
  assert_int_equal(interp_kernel_run(n), TESS_OK);
  for (int k = 0; k < B * T; k++) assert_true(out[k] == (float)k + 1);
}

/* Masked-off lanes access nothing; loaded, they give zero. */
static void masks(void **state) {
  nest *n = *state;
  ir_buf b[2];
  params(n, b);
  ir_expr idx = ir_ramp(&n->p, nest_num(n, B * T - 5), nest_num(n, 1), 8);
  ir_expr end = ir_broadcast(&n->p, nest_num(n, B * T), 8);
  ir_expr mask = ir_binary(&n->p, IR_LT, idx, end);
  ir_expr v = vector_load(n, b[0], idx, mask);
  ir_stmt s = ir_store_new(&n->p, b[1], 1, &idx, v);
  ir_st(&n->p, s)->mask = mask;
  ir_append(&n->p, n->root, s);
  ir_expr low = ir_ramp(&n->p, nest_num(n, 0), nest_num(n, 1), 8);
  ir_append(&n->p, n->root, ir_store_new(&n->p, b[1], 1, &low, v));
  assert_int_equal(interp_kernel_run(n), TESS_OK);
  assert_true(out[B * T - 1] == B * T - 1);
  assert_true(out[4] == B * T - 1 && out[5] == 0 && out[7] == 0);
  assert_true(out[8] == -1);
}

static void unmasked_lane_is_out_of_bounds(void **state) {
  nest *n = *state;
  ir_buf b[2];
  params(n, b);
  ir_expr idx = ir_ramp(&n->p, nest_num(n, B * T - 5), nest_num(n, 1), 8);
  nest_store(n, b[1], idx, 0, vector_load(n, b[0], idx, 0));
  assert_int_equal(interp_kernel_run(n), TESS_BOUNDS);
  assert_int_equal(n->e.at, B * T);
}

static void lanes_to_one_place_race(void **state) {
  nest *n = *state;
  ir_buf b[2];
  params(n, b);
  ir_expr idx = ir_ramp(&n->p, nest_num(n, 0), nest_num(n, 1), 4);
  ir_expr same =
      ir_binary(&n->p, IR_DIV, idx, ir_broadcast(&n->p, nest_num(n, 2), 4));
  nest_store(n, b[1], same, 0, vector_load(n, b[0], idx, 0));
  assert_int_equal(interp_kernel_run(n), TESS_RACE);
  assert_int_equal(n->e.iter[1], 1);
}

/* A vector is loaded whole before any lane is stored. */
static void shift_by_one_lane(void **state) {
  nest *n = *state;
  ir_buf a = nest_param(n, "A", F32, IR_ROLE_INPUT, B * T, 0, 0);
  nest_param(n, "R", F32, IR_ROLE_OUTPUT, B * T, 0, 0);
  ir_expr from = ir_ramp(&n->p, nest_num(n, 0), nest_num(n, 1), 8);
  ir_expr to = ir_ramp(&n->p, nest_num(n, 1), nest_num(n, 1), 8);
  nest_store(n, a, to, 0, vector_load(n, a, from, 0));
  assert_int_equal(interp_kernel_run(n), TESS_OK);
  for (int i = 1; i < 9; i++) assert_true(in[i] == (float)(i - 1));
}

#define TEST(f)                                           \
  cmocka_unit_test_setup_teardown(f, interp_kernel_setup, \
                                  interp_kernel_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(barrier_orders),
      TEST(without_barrier_races),
      TEST(race_is_told),
      TEST(open_x_is_told),
      TEST(open_y_is_told),
      TEST(local_is_not_shared),
      TEST(barriers_in_a_loop),
      TEST(one_barrier_too_few),
      TEST(divergence_is_an_error),
      TEST(uniform_branch),
      TEST(same_tag_is_the_same_thread),
      TEST(extents_must_agree),
      TEST(all_threads_write_one_element),
      TEST(blocks_race),
      TEST(fork_join_of_blocks),
      TEST(vector_copy),
      TEST(masks),
      TEST(unmasked_lane_is_out_of_bounds),
      TEST(lanes_to_one_place_race),
      TEST(shift_by_one_lane),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
