/* SPDX-License-Identifier: Apache-2.0
 * tessera/primitives.h: every primitive is called through its typed function
 * and records itself under its name; whatever a schedule became computes the
 * same. */
#include "support/hosted.h"

enum { MAX_PRIMS = 128 };

static int called[MAX_PRIMS]; /* by the primitive's number */

/* ---- schedules that are watched ----------------------------------------- */

static void note(const char *name) {
  tess_prim_info info = TESS_INIT(tess_prim_info);
  for (uint32_t i = 0; tess_prim_get(i, &info) == TESS_OK; i++)
    if (!strcmp(info.name, name)) called[i]++;
}

/* The last instruction is of that name. */
static void is_last(tess_schedule *s, const char *name) {
  tess_trace *t;
  tess_inst_info in = TESS_INIT(tess_inst_info);
  primitives_ok(tess_schedule_trace(s, &t));
  primitives_ok(tess_trace_inst(t, tess_trace_size(t), &in));
  assert_string_equal(in.name, name);
  tess_trace_free(t);
  note(name);
}

/* Calls the function of a primitive on the schedule s. */
#define DO(name, ...) \
  (primitives_ok(tess_sch_##name(s, __VA_ARGS__)), is_last(s, #name))
#define WITH(name, ...) \
  (primitives_ok(tess_sch_##name##_with(s, __VA_ARGS__)), is_last(s, #name))

static tess_schedule *primitives_begin(tess_program *p) {
  tess_schedule *s;
  primitives_ok(tess_schedule_new(p, NULL, 1, &s));
  return s;
}

/* It still computes what p does; both are freed. */
static void primitives_end(tess_schedule *s, tess_program *p) {
  tess_program *q;
  primitives_ok(tess_schedule_program(s, &q));
  primitives_ok(tess_equivalent(q, p, 1));
  tess_program_free(q);
  tess_program_free(p);
  tess_schedule_free(s);
}

/* ---- asking and looking around ------------------------------------------ */

static void test_looking_around(void **state) {
  (void)state;
  tess_program *p = primitives_matmul(1);
  tess_schedule *s = primitives_begin(p);
  tess_rv root, c, d, some[4];
  uint32_t n;
  DO(get_block, "root", &root);
  DO(get_block, "C", &c);
  DO(get_block, "D", &d);
  DO(get_loops, c, 4, some, &n);
  assert_int_equal(n, 3);
  DO(get_loops, d, 1, some, &n); /* more than there is room for */
  assert_int_equal(n, 2);
  DO(get_consumers, c, 4, some, &n);
  assert_int_equal(n, 1);
  DO(get_producers, d, 4, some, &n);
  assert_int_equal(n, 1);
  DO(get_output_blocks, root, 4, some, &n);
  assert_int_equal(n, 1);
  DO(get_child_blocks, root, 4, some, &n);
  assert_int_equal(n, 2);
  primitives_ok(tess_sch_enter_postproc(s));
  is_last(s, "enter_postproc");
  primitives_ok(tess_sch_disallow_dynamic_loop(s));
  is_last(s, "disallow_dynamic_loop");
  primitives_ok(tess_sch_rewrite_cooperative_fetch(s));
  is_last(s, "rewrite_cooperative_fetch");
  primitives_ok(tess_sch_rewrite_layout(s));
  is_last(s, "rewrite_layout");
  primitives_ok(tess_sch_rewrite_parallel_vectorize_unroll(s));
  is_last(s, "rewrite_parallel_vectorize_unroll");
  primitives_ok(tess_sch_rewrite_reduction_block(s));
  is_last(s, "rewrite_reduction_block");
  primitives_ok(tess_sch_rewrite_tensorize(s));
  is_last(s, "rewrite_tensorize");
  primitives_ok(tess_sch_rewrite_unbound_block(s));
  is_last(s, "rewrite_unbound_block");
  primitives_ok(tess_sch_verify_chip_buffers(s));
  is_last(s, "verify_chip_buffers");
  primitives_ok(tess_sch_verify_gpu_code(s));
  is_last(s, "verify_gpu_code");
  primitives_end(s, p);
}

/* What fails says so, leaves no result and no instruction. */
static void test_failing(void **state) {
  (void)state;
  tess_program *p = primitives_matmul(1);
  tess_schedule *s = primitives_begin(p);
  tess_rv c = 7, loop[3];
  uint32_t n;
  assert_int_equal(tess_sch_get_block(s, "nowhere", &c), TESS_REFUSED);
  assert_int_equal(c, 0);
  primitives_ok(tess_sch_get_block(s, "C", &c));
  primitives_ok(tess_sch_get_loops(s, c, 3, loop, &n));
  const tess_value uneven[] = {tess_v_int(5), tess_v_auto()};
  const tess_sch_split_options exact = {.disable_predication = TESS_YES};
  tess_rv part[2];
  assert_int_equal(tess_sch_split_with(s, loop[0], 2, uneven, &exact, part),
                   TESS_REFUSED);
  assert_int_equal(tess_sch_parallel(s, 0), TESS_INVALID);
  is_last(s, "get_loops");
  primitives_end(s, p);
}

/* ---- loops -------------------------------------------------------------- */

static void test_tiles(void **state) {
  (void)state;
  tess_program *p = primitives_matmul(0);
  tess_schedule *s = primitives_begin(p);
  tess_rv c, loop[3], f[2], i[2], j[2], fused, u;
  uint32_t n;
  DO(get_block, "C", &c);
  DO(get_loops, c, 3, loop, &n);
  const int64_t cut[] = {4, 4};
  const tess_sch_sample_perfect_tile_options given = {.ndecision = 2,
                                                      .decision = cut};
  WITH(sample_perfect_tile, loop[0], 2, &given, f);
  const tess_value by[] = {tess_v_rv(f[0]), tess_v_rv(f[1])};
  DO(split, loop[0], 2, by, i);
  const tess_sch_sample_partitioned_tile_options even = {
      .partition_pos = tess_v_int(1), .innerpart_factor = tess_v_int(2)};
  WITH(sample_partitioned_tile, loop[1], 2, &even, f);
  const tess_value open[] = {tess_v_auto(), tess_v_int(4)};
  const tess_sch_split_options keep = {.preserve_unit_iters = TESS_YES};
  WITH(split, loop[1], 2, open, &keep, j);
  const tess_rv order[] = {i[0], j[0], loop[2], i[1], j[1]};
  DO(reorder, 5, order);
  DO(decompose_reduction, c, loop[2], NULL);
  DO(fuse, 2, order, &fused);
  DO(parallel, fused);
  DO(vectorize, j[1]);
  DO(unroll, i[1]);
  const int64_t steps[] = {0, 16, 64};
  const double likely[] = {0.5, 0.25, 0.25};
  const tess_sch_sample_categorical_options probs = {.nprobs = 3,
                                                     .probs = likely};
  WITH(sample_categorical, 3, steps, &probs, &u);
  const tess_value twice[] = {tess_v_rv(u), tess_v_int(2)};
  DO(annotate, c, "steps", tess_v_op("*", twice));
  const tess_value pair[] = {tess_v_rv(u), tess_v_op("*", twice)};
  const int64_t rows[] = {0, 0, 16, 32, 64, 128};
  const tess_sch_restrict_values_options others = {.among = TESS_NO};
  DO(restrict_values, 2, pair, 6, rows);
  const int64_t none[] = {16, 16};
  WITH(restrict_values, 2, pair, 2, none, &others);
  const tess_value list[] = {tess_v_str("a"), tess_v_real(0.5),
                             tess_v_ints(3, steps), tess_v_bool(1)};
  DO(knob, "steps", tess_v_op("*", twice));
  DO(annotate, c, "notes", tess_v_list(4, list));
  const tess_value pairs[] = {tess_v_str("key"), tess_v_reals(3, likely)};
  DO(annotate, c, "dict", tess_v_dict(2, pairs));
  DO(unannotate, c, "notes");
  DO(add_unit_loop, c, NULL);
  primitives_end(s, p);
}

static void test_loops(void **state) {
  (void)state;
  tess_program *p = two_stages();
  tess_schedule *s = primitives_begin(p);
  tess_rv x, y, i[2], j[2], merged, parts[2], around;
  uint32_t n;
  DO(get_block, "X", &x);
  DO(get_block, "Y", &y);
  DO(get_loops, x, 2, i, &n);
  DO(get_loops, y, 2, j, &n);
  const tess_rv both[] = {i[1], j[1]};
  DO(merge, 2, both, &merged);
  const tess_sch_fission_options second = {.position = tess_v_int(1)};
  WITH(fission, merged, &second, 2, parts, &n);
  assert_int_equal(n, 2);
  const tess_value three[] = {tess_v_int(3)};
  const tess_sch_loop_partition_options first = {.nfactors = 1,
                                                 .factors = three};
  WITH(loop_partition, parts[0], &first, 2, parts, &n);
  assert_int_equal(n, 2);
  DO(get_loops, y, 2, j, &n);
  DO(blockize, 1, &j[1], &around);
  DO(bind, j[0], "threadIdx.x");
  primitives_end(s, p);
}

/* ---- moving blocks ------------------------------------------------------ */

static void test_moves(void **state) {
  (void)state;
  for (int way = 0; way < 5; way++) {
    tess_program *p = two_stages();
    tess_schedule *s = primitives_begin(p);
    tess_rv x, y, loop[2], where;
    uint32_t n;
    primitives_ok(tess_sch_get_block(s, "X", &x));
    primitives_ok(tess_sch_get_block(s, "Y", &y));
    primitives_ok(tess_sch_get_loops(s, way == 1 ? x : y, 2, loop, &n));
    const tess_sch_compute_at_options here = {.index = tess_v_int(-2)};
    const tess_sch_reverse_compute_at_options units = {.preserve_unit_loops =
                                                           TESS_YES};
    const tess_sch_sample_compute_location_options outer = {.decision =
                                                                tess_v_int(0)};
    switch (way) {
    case 0: WITH(compute_at, x, loop[0], &here); break;
    case 1: WITH(reverse_compute_at, y, loop[0], &units); break;
    case 2: DO(compute_inline, x); break;
    case 3: DO(reverse_compute_inline, y); break;
    default:
      WITH(sample_compute_location, x, &outer, &where);
      DO(compute_at, x, where);
    }
    primitives_end(s, p);
  }
}

static void test_reductions(void **state) {
  (void)state;
  tess_program *p = primitives_matmul(0), *q = primitives_matmul(2),
               *r = primitives_matmul(0);
  tess_rv c, loop[3];
  uint32_t n;
  tess_schedule *s = primitives_begin(p);
  primitives_ok(tess_sch_get_block(s, "C", &c));
  primitives_ok(tess_sch_get_loops(s, c, 3, loop, &n));
  DO(rfactor, loop[2], NULL);
  primitives_end(s, p);
  s = primitives_begin(q);
  tess_rv d;
  primitives_ok(tess_sch_get_block(s, "C", &c));
  primitives_ok(tess_sch_get_block(s, "D", &d));
  DO(fuse_reduction_epilogue, c, d);
  primitives_end(s, q);
  s = primitives_begin(r);
  primitives_ok(tess_sch_get_block(s, "C", &c));
  const int64_t multiples[] = {5, 1, 7}, turned[] = {1, 0, 2};
  DO(pad_einsum, c, 3, multiples);
  DO(reorder_block_iter_var, c, 3, turned);
  primitives_end(s, r);
}

static void test_extremes(void **state) {
  (void)state;
  tess_program *p = extremes();
  tess_schedule *s = primitives_begin(p);
  tess_rv m, sum, scale, i[2], j[2], fused;
  uint32_t n;
  DO(get_block, "M", &m);
  DO(get_block, "S", &sum);
  DO(hoist_invariant_factor, sum, &scale);
  assert_int_not_equal(scale, 0);
  DO(get_loops, m, 2, i, &n);
  DO(get_loops, sum, 2, j, &n);
  const tess_rv both[] = {i[0], j[0]};
  DO(merge, 2, both, NULL);
  DO(rolling_update, i[1], j[1], &fused);
  assert_int_not_equal(fused, 0);
  primitives_end(s, p);
}

static void test_windows_and_padding(void **state) {
  (void)state;
  tess_program *p = windows(), *q = padding();
  tess_rv x, y, loop[2], fill;
  uint32_t n;
  tess_schedule *s = primitives_begin(p);
  primitives_ok(tess_sch_get_block(s, "X", &x));
  primitives_ok(tess_sch_get_block(s, "Y", &y));
  primitives_ok(tess_sch_get_loops(s, y, 2, loop, &n));
  primitives_ok(tess_sch_compute_at(s, x, loop[0]));
  DO(rolling_buffer, x, tess_v_int(0));
  primitives_end(s, p);
  s = primitives_begin(q);
  primitives_ok(tess_sch_get_block(s, "P", &x));
  primitives_ok(tess_sch_get_loops(s, x, 2, loop, &n));
  DO(decompose_padding, x, loop[0], &fill);
  assert_int_not_equal(fill, 0);
  primitives_end(s, q);
}

/* ---- buffers ------------------------------------------------------------ */

static void test_copies(void **state) {
  (void)state;
  tess_program *p = two_stages();
  tess_schedule *s = primitives_begin(p);
  tess_rv x, y, cached, loop[2];
  uint32_t n;
  primitives_ok(tess_sch_get_block(s, "X", &x));
  primitives_ok(tess_sch_get_block(s, "Y", &y));
  const tess_sch_cache_read_options of_x = {.nconsumer_blocks = 1,
                                            .consumer_blocks = &x};
  WITH(cache_read, x, tess_v_str("A"), "local", &of_x, &cached);
  DO(cache_write, y, tess_v_int(0), "local", &cached);
  DO(set_scope, x, tess_v_int(0), "shared");
  DO(storage_align, x, tess_v_int(0), -2, 32, 8);
  DO(reindex, x,
     tess_v_list(2, (tess_value[]){tess_v_str("read"), tess_v_int(0)}),
     &cached);
  DO(reindex_cache_read, y, tess_v_int(0), "local",
     tess_v_str("(i, j) -> (j, i)"), &cached);
  DO(transform_block_layout, x, tess_v_str("(i, j) -> (i * 16 + j)"));
  primitives_end(s, p);
  p = two_stages();
  s = primitives_begin(p);
  primitives_ok(tess_sch_get_block(s, "X", &x));
  const tess_sch_transform_layout_options injective = {
      .assume_injective_transform = TESS_YES};
  WITH(transform_layout, x, tess_v_str("X"),
       tess_v_str("(i, j) -> (j // 4, i, j % 4)"), &injective);
  DO(reindex_cache_write, x, tess_v_int(0), "local",
     tess_v_str("(i, j) -> (j, i)"), &cached);
  primitives_ok(tess_sch_get_loops(s, x, 2, loop, &n));
  DO(read_at, loop[0], x, tess_v_int(0), "local", &cached);
  DO(write_at, loop[0], x, tess_v_int(0), "local", &cached);
  primitives_end(s, p);
}

static void test_in_place_and_indices(void **state) {
  (void)state;
  tess_program *p = primitives_matmul(0), *q = windows();
  tess_rv c, loop[3], there, back, cached[4];
  uint32_t n;
  tess_schedule *s = primitives_begin(p);
  primitives_ok(tess_sch_get_block(s, "C", &c));
  primitives_ok(tess_sch_get_loops(s, c, 3, loop, &n));
  primitives_ok(tess_sch_decompose_reduction(s, c, loop[0], NULL));
  DO(cache_inplace, c, tess_v_str("C"), "local", &there, &back);
  assert_int_equal(back, there + 1);
  primitives_end(s, p);
  s = primitives_begin(q);
  primitives_ok(tess_sch_get_block(s, "Y", &c));
  DO(cache_index, c, "global", 4, cached, &n);
  assert_int_equal(n, 1);
  primitives_end(s, q);
}

static void test_unsafe_ones(void **state) {
  (void)state;
  tess_program *p = primitives_matmul(1);
  tess_schedule *s = primitives_begin(p);
  tess_rv c;
  primitives_ok(tess_sch_get_block(s, "C", &c));
  const tess_value read_a[] = {tess_v_str("read"), tess_v_int(0)};
  DO(annotate_buffer_access, c, tess_v_list(2, read_a),
     tess_v_str("(i, j, k) -> (i, i + 1, 0, 16)"));
  DO(unsafe_set_dtype, c, tess_v_int(0), "float64");
  const int64_t first[] = {0};
  DO(unsafe_hide_buffer_access, c, "read", 1, first);
  tess_schedule_free(s);
  tess_program_free(p);
}

/* ---- intrinsics --------------------------------------------------------- */

static void test_tensorize(void **state) {
  (void)state;
  tess_program *what = row(), *how = row(), *p = two_stages();
  tess_schedule *s = primitives_begin(p);
  tess_rv x, loop[2];
  uint32_t n;
  primitives_ok(tess_tensor_intrin(ctx, "add_row", what, how, 0));
  primitives_ok(tess_sch_get_block(s, "X", &x));
  primitives_ok(tess_sch_get_loops(s, x, 2, loop, &n));
  DO(tensorize, loop[1], "add_row");
  primitives_end(s, p);
  tess_program_free(what);
  tess_program_free(how);
}

/* ---- all of them -------------------------------------------------------- */

static void test_every_primitive_was_called(void **state) {
  (void)state;
  tess_prim_info info = TESS_INIT(tess_prim_info);
  for (uint32_t i = 0; tess_prim_get(i, &info) == TESS_OK; i++) {
    assert_true(i < MAX_PRIMS);
    if (!info.hidden && !called[i]) fail_msg("%s was not called", info.name);
  }
}

static int primitives_start(void **state) {
  (void)state;
  return tess_context_new(NULL, &ctx) != TESS_OK;
}

static int primitives_stop(void **state) {
  (void)state;
  tess_context_free(ctx);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_looking_around),
      cmocka_unit_test(test_failing),
      cmocka_unit_test(test_tiles),
      cmocka_unit_test(test_loops),
      cmocka_unit_test(test_moves),
      cmocka_unit_test(test_reductions),
      cmocka_unit_test(test_extremes),
      cmocka_unit_test(test_windows_and_padding),
      cmocka_unit_test(test_copies),
      cmocka_unit_test(test_in_place_and_indices),
      cmocka_unit_test(test_unsafe_ones),
      cmocka_unit_test(test_tensorize),
      cmocka_unit_test(test_every_primitive_was_called)};
  return cmocka_run_group_tests(tests, primitives_start, primitives_stop);
}
