/* SPDX-License-Identifier: Apache-2.0
 * The interpreter detects races, reads of uninitialized elements and accesses
 * out of bounds, and accepts legal programs. */
#include "ir/edit.h"
#include "support/nest.h"

enum { N = 12 };

static int interp_race_setup(void **state) {
  static nest n;
  nest_start(&n);
  *state = &n;
  return 0;
}

static int interp_race_teardown(void **state) {
  nest_end(*state);
  return 0;
}

static ir_expr one(nest *n) { return ir_real(&n->p, F32, 1); }

static ir_expr interp_race_plus(nest *n, ir_expr a, int64_t b) {
  return ir_add(&n->p, a, nest_num(n, b));
}

static tess_status interp_race_run(nest *n) {
  static float a[N * N], b[N * N], c[N * N];
  for (int i = 0; i < N * N; i++) a[i] = b[i] = (float)i;
  void *args[3] = {a, b, c};
  nest_finish(n);
  return nest_run(n, args);
}

/* B[i] = A[i] + 1 with loops of any kind. */
static void elementwise_passes(void **state) {
  for (int kind = IR_SERIAL; kind <= IR_UNROLLED; kind++) {
    nest *n = *state;
    ir_buf a = nest_param(n, "A", F32, IR_ROLE_INPUT, N, 0, 0);
    ir_buf b = nest_param(n, "B", F32, IR_ROLE_OUTPUT, N, 0, 0);
    ir_expr i = nest_loop(n, N, (ir_loop_kind)kind);
    nest_store(n, b, i, 0, ir_add(&n->p, nest_load(n, a, i, 0), one(n)));
    assert_int_equal(interp_race_run(n), TESS_OK);
    nest_end(n);
    nest_start(n);
  }
}

/* C[i] = sum over k of A[i, k], written by hand. */
static void sum_rows(nest *n, ir_loop_kind outer, ir_loop_kind inner) {
  ir_buf a = nest_param(n, "A", F32, IR_ROLE_INPUT, N, N, 0);
  ir_buf c = nest_param(n, "C", F32, IR_ROLE_OUTPUT, N, 0, 0);
  ir_expr i = nest_loop(n, N, outer);
  nest_store(n, c, i, 0, ir_real(&n->p, F32, 0));
  ir_expr k = nest_loop(n, N, inner);
  ir_expr sum = ir_add(&n->p, nest_load(n, c, i, 0), nest_load(n, a, i, k));
  nest_store(n, c, i, 0, sum);
}

static void spatial_parallel_passes(void **state) {
  sum_rows(*state, IR_PARALLEL, IR_SERIAL);
  assert_int_equal(interp_race_run(*state), TESS_OK);
}

static void parallel_reduction_races(void **state) {
  nest *n = *state;
  char text[200];
  sum_rows(n, IR_SERIAL, IR_PARALLEL);
  assert_int_equal(interp_race_run(n), TESS_RACE);
  assert_int_equal(n->e.fault, INTERP_RACE);
  assert_int_equal(n->e.buf, n->param[1]);
  assert_int_equal(n->e.element, 0);
  assert_int_equal(n->e.iter[0], 0);
  assert_int_equal(n->e.iter[1], 1);
  assert_true(n->e.write[0]);
  assert_false(n->e.write[1]);
  assert_string_equal(nest_error(n, text, sizeof text),
                      "race: C[0] is written in iteration 0 and read in "
                      "iteration 1 of loop i (in block root)");
}

/* Parallel iterations of k update C[i] atomically; some of them read it, too,
 * or write it, before or after. */
static tess_status updated(nest *n, bool reads, bool writes, bool first) {
  ir_buf a = nest_param(n, "A", F32, IR_ROLE_INPUT, N, N, 0);
  ir_buf c = nest_param(n, "C", F32, IR_ROLE_OUTPUT, N, 0, 0);
  ir_buf b = nest_param(n, "B", F32, IR_ROLE_OUTPUT, N, 0, 0);
  ir_expr i = nest_loop(n, N, IR_SERIAL);
  nest_store(n, c, i, 0, one(n));
  ir_expr k = nest_loop(n, N, IR_PARALLEL);
  for (int at = 0; at < 2; at++) {
    if (reads && at != first) nest_store(n, b, k, 0, nest_load(n, c, i, 0));
    if (writes && at != first) nest_store(n, c, i, 0, one(n));
    if (at) continue;
    ir_expr sum = ir_add(&n->p, nest_load(n, c, i, 0), nest_load(n, a, i, k));
    nest_store(n, c, i, 0, sum);
    ir_st(&n->p, n->p.stmt.n - 1)->loop_kind = IR_ADD;
  }
  return interp_race_run(n);
}

static void atomic_updates(void **state) {
  nest *n = *state;
  char text[200];
  for (int what = 0; what < 7; what++) {
    tess_status st = updated(n, what & 1, what & 2, what & 4);
    assert_int_equal(st, what & 3 ? TESS_RACE : TESS_OK);
    if (what == 1)
      assert_string_equal(nest_error(n, text, sizeof text),
                          "race: C[0] is read in iteration 0 and written in "
                          "iteration 1 of loop i (in block root)");
    nest_end(n);
    nest_start(n);
  }
}

static void vectorized_reduction_races(void **state) {
  sum_rows(*state, IR_SERIAL, IR_VECTORIZED);
  assert_int_equal(interp_race_run(*state), TESS_RACE);
}

/* B[i] = B[i - 1] + B[i], in place: a loop-carried dependence of distance 1. */
static void interp_race_in_place(nest *n, ir_loop_kind kind) {
  ir_buf b = nest_param(n, "B", F32, IR_ROLE_INPUT, N, 0, 0);
  ir_expr i = nest_loop(n, N - 1, kind);
  ir_expr sum = ir_add(&n->p, nest_load(n, b, i, 0),
                       nest_load(n, b, interp_race_plus(n, i, 1), 0));
  nest_store(n, b, interp_race_plus(n, i, 1), 0, sum);
}

static void serial_stencil_passes(void **state) {
  interp_race_in_place(*state, IR_SERIAL);
  assert_int_equal(interp_race_run(*state), TESS_OK);
}

static void parallel_stencil_races(void **state) {
  interp_race_in_place(*state, IR_PARALLEL);
  assert_int_equal(interp_race_run(*state), TESS_RACE);
}

/* An anti-dependence: read in one iteration, written in a later one. */
static void write_after_read_races(void **state) {
  nest *n = *state;
  ir_buf b = nest_param(n, "B", F32, IR_ROLE_INPUT, N, 0, 0);
  ir_expr i = nest_loop(n, N - 1, IR_PARALLEL);
  nest_store(n, b, i, 0, nest_load(n, b, interp_race_plus(n, i, 1), 0));
  assert_int_equal(interp_race_run(n), TESS_RACE);
  assert_false(n->e.write[0]);
  assert_true(n->e.write[1]);
}

/* An output dependence, even of equal values. */
static void write_write_races(void **state) {
  nest *n = *state;
  ir_buf b = nest_param(n, "B", F32, IR_ROLE_OUTPUT, N, 0, 0);
  nest_loop(n, 3, IR_PARALLEL);
  nest_store(n, b, nest_num(n, 5), 0, one(n));
  assert_int_equal(interp_race_run(n), TESS_RACE);
  assert_int_equal(n->e.element, 5);
}

/* Every iteration reads the element that the last one then writes: the first
 * reader is not the last recorded one. */
static void early_reader_is_remembered(void **state) {
  nest *n = *state;
  ir_buf b = nest_param(n, "B", F32, IR_ROLE_INPUT, N, 0, 0);
  ir_buf c = nest_param(n, "C", F32, IR_ROLE_OUTPUT, N, 0, 0);
  ir_expr i = nest_loop(n, 4, IR_PARALLEL);
  nest_store(n, c, i, 0, nest_load(n, b, nest_num(n, 0), 0));
  nest_if(n, ir_binary(&n->p, IR_EQ, i, nest_num(n, 3)));
  nest_store(n, b, nest_num(n, 0), 0, one(n));
  assert_int_equal(interp_race_run(n), TESS_RACE);
  assert_int_equal(n->e.iter[0], 2);
  assert_int_equal(n->e.iter[1], 3);
}

/* The same nested in another racing loop, whose iterations access different
 * elements: level by level. */
static void nested_levels(void **state) {
  for (int racing = 0; racing < 2; racing++) {
    nest *n = *state;
    ir_buf b = nest_param(n, "B", F32, IR_ROLE_OUTPUT, N, 0, 0);
    ir_expr i = nest_loop(n, 3, IR_PARALLEL);
    nest_loop(n, 3, racing ? IR_PARALLEL : IR_SERIAL);
    ir_stmt inner = n->at;
    nest_store(n, b, i, 0, one(n));
    assert_int_equal(interp_race_run(n), racing ? TESS_RACE : TESS_OK);
    assert_int_equal(n->e.loop, racing ? inner : 0);
    nest_end(n);
    nest_start(n);
  }
}

/* Consecutive loops join in between. */
static void loops_join(void **state) {
  nest *n = *state;
  ir_buf a = nest_param(n, "A", F32, IR_ROLE_INPUT, N, 0, 0);
  ir_buf t = nest_local(n, "T", F32, IR_SCOPE_GLOBAL, N, 0, 0);
  ir_buf b = nest_param(n, "B", F32, IR_ROLE_OUTPUT, N, 0, 0);
  ir_expr i = nest_loop(n, N, IR_PARALLEL);
  nest_store(n, t, i, 0, nest_load(n, a, i, 0));
  nest_close(n, 1);
  i = nest_loop(n, N, IR_PARALLEL);
  ir_expr mirror = ir_sub(&n->p, nest_num(n, N - 1), i);
  nest_store(n, b, i, 0, nest_load(n, t, mirror, 0));
  assert_int_equal(interp_race_run(n), TESS_OK);
}

static void unwritten_read(void **state) {
  nest *n = *state;
  char text[200];
  ir_buf t = nest_local(n, "T", F32, IR_SCOPE_GLOBAL, N, N, 0);
  ir_buf b = nest_param(n, "B", F32, IR_ROLE_OUTPUT, N, 0, 0);
  ir_expr i = nest_loop(n, N - 1, IR_SERIAL);
  nest_store(n, t, i, i, one(n));
  nest_close(n, 1);
  i = nest_loop(n, N, IR_SERIAL);
  nest_store(n, b, i, 0, nest_load(n, t, i, i));
  assert_int_equal(interp_race_run(n), TESS_UNWRITTEN);
  assert_int_equal(n->e.element, N * N - 1);
  assert_string_equal(nest_error(n, text, sizeof text),
                      "T[11, 11] is read before it is written (in block "
                      "root)");
}

static void unwritten_output(void **state) {
  nest *n = *state;
  ir_buf b = nest_param(n, "B", F32, IR_ROLE_OUTPUT, N, 0, 0);
  ir_expr i = nest_loop(n, N, IR_SERIAL);
  nest_store(n, b, i, 0, ir_add(&n->p, nest_load(n, b, i, 0), one(n)));
  assert_int_equal(interp_race_run(n), TESS_UNWRITTEN);
}

/* Bounds are per dimension, though the flat index stays in the buffer. */
static void bounds_by_dimension(void **state) {
  nest *n = *state;
  char text[200];
  ir_buf b = nest_param(n, "B", F32, IR_ROLE_OUTPUT, N, N, 0);
  ir_expr i = nest_loop(n, N, IR_SERIAL);
  nest_store(n, b, nest_num(n, 0), interp_race_plus(n, i, 1), one(n));
  assert_int_equal(interp_race_run(n), TESS_BOUNDS);
  assert_int_equal(n->e.dim, 1);
  assert_int_equal(n->e.at, N);
  assert_string_equal(nest_error(n, text, sizeof text),
                      "out of bounds: index 1 of B is 12, its extent is 12 "
                      "(in block root)");
}

static void negative_index(void **state) {
  nest *n = *state;
  ir_buf a = nest_param(n, "A", F32, IR_ROLE_INPUT, N, 0, 0);
  ir_buf b = nest_param(n, "B", F32, IR_ROLE_OUTPUT, N, 0, 0);
  ir_expr i = nest_loop(n, N, IR_SERIAL);
  nest_store(n, b, i, 0, nest_load(n, a, interp_race_plus(n, i, -1), 0));
  assert_int_equal(interp_race_run(n), TESS_BOUNDS);
  assert_int_equal(n->e.at, -1);
}

/* Only the chosen side of a select is evaluated. */
static void select_guards(void **state) {
  nest *n = *state;
  ir_buf a = nest_param(n, "A", F32, IR_ROLE_INPUT, N, 0, 0);
  ir_buf b = nest_param(n, "B", F32, IR_ROLE_OUTPUT, N, 0, 0);
  ir_expr i = nest_loop(n, N, IR_SERIAL);
  ir_expr inside = ir_binary(&n->p, IR_LT, nest_num(n, 0), i);
  ir_expr v = nest_load(n, a, interp_race_plus(n, i, -1), 0);
  nest_store(n, b, i, 0, ir_select(&n->p, inside, v, one(n)));
  assert_int_equal(interp_race_run(n), TESS_OK);
}

/* A reduction block whose reduce iterators do not start at their first
 * values. */
static void backward_reduction_is_found(void **state) {
  nest *n = *state;
  ir_buf a = nest_param(n, "A", F32, IR_ROLE_INPUT, N, N, 0);
  ir_buf c = nest_param(n, "C", F32, IR_ROLE_OUTPUT, N, 0, 0);
  ir_expr i = nest_loop(n, N, IR_SERIAL), k = nest_loop(n, N, IR_SERIAL);
  nest_block(n, "C");
  ir_expr vi = nest_iter(n, IR_SPATIAL, N, i);
  ir_expr vk = nest_iter(n, IR_REDUCE, N, ir_sub(&n->p, nest_num(n, N - 1), k));
  nest_init(n);
  nest_store(n, c, vi, 0, ir_real(&n->p, F32, 0));
  nest_body(n);
  ir_expr sum = ir_add(&n->p, nest_load(n, c, vi, 0), nest_load(n, a, vi, vk));
  nest_store(n, c, vi, 0, sum);
  assert_int_equal(interp_race_run(n), TESS_UNWRITTEN);
}

static void binding_out_of_domain(void **state) {
  nest *n = *state;
  ir_buf b = nest_param(n, "B", F32, IR_ROLE_OUTPUT, N, 0, 0);
  ir_expr i = nest_loop(n, N, IR_SERIAL);
  nest_block(n, "B");
  ir_expr v = nest_iter(n, IR_SPATIAL, N - 2, i);
  nest_store(n, b, v, 0, one(n));
  assert_int_equal(interp_race_run(n), TESS_BOUNDS);
  assert_int_equal(n->e.fault, INTERP_DOMAIN);
  assert_int_equal(n->e.at, N - 2);
}

/* A predicate that is false skips the block, its domain checks too. */
static void predicate_skips(void **state) {
  nest *n = *state;
  ir_buf b = nest_param(n, "B", F32, IR_ROLE_OUTPUT, N, 0, 0);
  ir_expr i = nest_loop(n, N, IR_SERIAL);
  ir_stmt s = nest_block(n, "B");
  ir_expr v = nest_iter(n, IR_SPATIAL, N - 2, i);
  nest_store(n, b, v, 0, one(n));
  ir_blk(&n->p, s)->pred = ir_binary(&n->p, IR_LT, i, nest_num(n, N - 2));
  assert_int_equal(interp_race_run(n), TESS_OK);
}

/* With check_regions, a block's accesses must be in its regions. */
static void regions_are_checked(void **state) {
  for (int wide = 0; wide < 2; wide++) {
    nest *n = *state;
    n->o.check_regions = true;
    ir_buf a = nest_param(n, "A", F32, IR_ROLE_INPUT, N, 0, 0);
    ir_buf b = nest_param(n, "B", F32, IR_ROLE_OUTPUT, N, 0, 0);
    ir_expr i = nest_loop(n, N - 1, IR_SERIAL);
    ir_stmt s = nest_block(n, "B");
    ir_expr v = nest_iter(n, IR_SPATIAL, N - 1, i);
    ir_expr sum = ir_add(&n->p, nest_load(n, a, v, 0),
                         nest_load(n, a, interp_race_plus(n, v, 1), 0));
    nest_store(n, b, v, 0, sum);
    ir_expr box[2] = {v, nest_num(n, wide ? 2 : 1)};
    ir_expr point[2] = {v, nest_num(n, 1)};
    ir_region reads = ir_region_new(&n->p, a, box);
    ir_region writes = ir_region_new(&n->p, b, point);
    ir_block_set_reads(&n->p, s, 1, &reads);
    ir_block_set_writes(&n->p, s, 1, &writes);
    assert_int_equal(interp_race_run(n), wide ? TESS_OK : TESS_BOUNDS);
    if (!wide) {
      assert_int_equal(n->e.fault, INTERP_REGION);
      assert_int_equal(n->e.buf, a);
      assert_int_equal(n->e.loop, s);
    }
    nest_end(n);
    nest_start(n);
  }
}

static void steps_end(void **state) {
  nest *n = *state;
  n->o.max_steps = 100;
  sum_rows(n, IR_SERIAL, IR_SERIAL);
  assert_int_equal(interp_race_run(n), TESS_LIMIT);
}

static void memory_ends(void **state) {
  nest *n = *state;
  n->o.max_bytes = 1000;
  sum_rows(n, IR_SERIAL, IR_SERIAL);
  assert_int_equal(interp_race_run(n), TESS_LIMIT);
}

static void wrong_argument_size(void **state) {
  nest *n = *state;
  float v[N];
  interp_arg a[2] = {{v, sizeof v}, {v, sizeof v}};
  sum_rows(n, IR_SERIAL, IR_SERIAL);
  nest_finish(n);
  assert_int_equal(interp_run(&n->in, &n->p, 2, a, &n->o, &n->e), TESS_INVALID);
  assert_int_equal(n->e.buf, n->param[0]);
  assert_int_equal(interp_run(&n->in, &n->p, 1, a, &n->o, &n->e), TESS_INVALID);
}

/* A buffer without an allocation, or used outside of its lifetime scope. */
static void buffers_must_exist(void **state) {
  for (int allocated = 0; allocated < 2; allocated++) {
    nest *n = *state;
    ir_expr shape = nest_num(n, N);
    ir_buf t = ir_buf_new(&n->p, ir_name(&n->p, "T"), F32, 1, &shape,
                          IR_SCOPE_GLOBAL, IR_ROLE_LOCAL);
    if (allocated) {
      nest_allocate(n, t);
      nest_store(n, t, nest_num(n, 0), 0, one(n));
      nest_close(n, 1);
    }
    nest_store(n, t, nest_num(n, 0), 0, one(n));
    assert_int_equal(interp_race_run(n), TESS_INVALID);
    assert_int_equal(n->e.buf, t);
    nest_end(n);
    nest_start(n);
  }
}

/* Each execution of an allocate gives a fresh buffer. */
static void allocates_are_fresh(void **state) {
  nest *n = *state;
  ir_expr shape = nest_num(n, 1), zero = nest_num(n, 0);
  ir_buf t = ir_buf_new(&n->p, ir_name(&n->p, "T"), F32, 1, &shape,
                        IR_SCOPE_GLOBAL, IR_ROLE_LOCAL);
  ir_expr i = nest_loop(n, N, IR_SERIAL);
  nest_allocate(n, t);
  nest_if(n, ir_binary(&n->p, IR_LT, i, nest_num(n, 1)));
  nest_store(n, t, zero, 0, one(n));
  nest_else(n);
  nest_evaluate(n, nest_load(n, t, zero, 0));
  assert_int_equal(interp_race_run(n), TESS_UNWRITTEN);
}

static tess_status run_again(void *ud) {
  nest *n = ud;
  static float a[N * N], c[N];
  void *args[2] = {a, c};
  return nest_run(n, args);
}

static void fresh_machine(void *ud) {
  nest *n = ud;
  interp_free(&n->in);
  interp_init(&n->in, &n->heap.heap);
}

/* Each allocation in turn fails. */
static void every_failure(void **state) {
  nest *n = *state;
  sum_rows(n, IR_PARALLEL, IR_SERIAL);
  nest_finish(n);
  interp_free(&n->in);
  interp_init(&n->in, &n->heap.heap);
  assert_true(test_each_failure(&n->heap, run_again, fresh_machine, n) > 3);
}

#define TEST(f) \
  cmocka_unit_test_setup_teardown(f, interp_race_setup, interp_race_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(elementwise_passes),
      TEST(spatial_parallel_passes),
      TEST(parallel_reduction_races),
      TEST(vectorized_reduction_races),
      TEST(atomic_updates),
      TEST(serial_stencil_passes),
      TEST(parallel_stencil_races),
      TEST(write_after_read_races),
      TEST(write_write_races),
      TEST(early_reader_is_remembered),
      TEST(nested_levels),
      TEST(loops_join),
      TEST(unwritten_read),
      TEST(unwritten_output),
      TEST(bounds_by_dimension),
      TEST(negative_index),
      TEST(select_guards),
      TEST(backward_reduction_is_found),
      TEST(binding_out_of_domain),
      TEST(predicate_skips),
      TEST(regions_are_checked),
      TEST(steps_end),
      TEST(memory_ends),
      TEST(wrong_argument_size),
      TEST(buffers_must_exist),
      TEST(allocates_are_fresh),
      TEST(every_failure),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
