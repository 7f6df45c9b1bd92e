/* SPDX-License-Identifier: Apache-2.0
 * A matrix product with sketches of tilings. */
#include "support/tiled.h"

#include "support/test.h"

static void tiled_ok(tiled *t, tess_status s) {
  if (s != TESS_OK) fail_msg("%s", tess_error(t->c)->message);
}

/* C[i, j] = sum over k of A[i, k] B[k, j], 64 x 48 x 32. */
static void tiled_describe(tiled *t) {
  tess_builder *b;
  tess_expr dim[3], i, j, k, a, x, sum, zero;
  tess_buffer A, B, C;
  tess_var v[2], axis;
  static const int64_t extent[] = {64, 48, 32};
  const tess_dtype f32 = {TESS_DTYPE_FLOAT, 32, 1},
                   i64 = {TESS_DTYPE_INT, 64, 1};
  tiled_ok(t, tess_builder_new(t->c, &b));
  for (int d = 0; d < 3; d++) tiled_ok(t, tess_int(b, i64, extent[d], &dim[d]));
  tiled_ok(t, tess_int(b, i64, 0, &zero));
  tess_expr sa[2] = {dim[0], dim[2]}, sb[2] = {dim[2], dim[1]};
  tiled_ok(t, tess_placeholder(b, "A", f32, 2, sa, TESS_ROLE_INPUT, &A));
  tiled_ok(t, tess_placeholder(b, "B", f32, 2, sb, TESS_ROLE_INPUT, &B));
  tiled_ok(t, tess_reduce_axis(b, "k", zero, dim[2], &axis));
  tiled_ok(t, tess_compute_begin(b, "C", 2, dim, NULL, v));
  tiled_ok(t, tess_var_ref(b, v[0], &i));
  tiled_ok(t, tess_var_ref(b, v[1], &j));
  tiled_ok(t, tess_var_ref(b, axis, &k));
  tiled_ok(t, tess_load(b, A, 2, (tess_expr[]){i, k}, &a));
  tiled_ok(t, tess_load(b, B, 2, (tess_expr[]){k, j}, &x));
  tiled_ok(t, tess_binary(b, "*", a, x, &x));
  tiled_ok(t, tess_reduce(b, "sum", 1, &x, 1, &axis, &sum));
  tiled_ok(t, tess_compute_end(b, 1, &sum, &C));
  tiled_ok(
      t, tess_program_new(b, "matmul", 2, (tess_buffer[]){A, B}, 1, &C, &t->p));
  tess_builder_free(b);
}

static tess_value rv_value(tess_rv rv) {
  return (tess_value){.kind = TESS_V_RV, .rv = rv};
}

static uint32_t tiled_call(tiled *t, tess_schedule *s, const char *prim,
                           uint32_t n, const tess_arg *args, tess_rv *out) {
  uint32_t nout = 0;
  tiled_ok(t, tess_schedule_call(s, prim, n, args, 16, out, &nout, NULL));
  return nout;
}

/* Splits a loop into n sampled tiles, the innermost of so many iterations at
 * most; that loop. */
static tess_rv tile(tiled *t, tess_schedule *s, tess_rv loop, int n,
                    int64_t innermost) {
  tess_rv size[16], made[16];
  tess_value list[16];
  tess_arg sample[] = {
      {"loop", rv_value(loop)},
      {"n", {.kind = TESS_V_INT, .i = n}},
      {"max_innermost_factor", {.kind = TESS_V_INT, .i = innermost}}};
  uint32_t k = tiled_call(t, s, "sample_perfect_tile", 3, sample, size);
  for (uint32_t i = 0; i < k; i++) list[i] = rv_value(size[i]);
  tess_arg split[] = {{"loop", rv_value(loop)},
                      {"factors", {.kind = TESS_V_LIST, .n = k, .list = list}}};
  return made[tiled_call(t, s, "split", 2, split, made) - 1];
}

/* A schedule, and the loops of C: how many. */
static uint32_t begin_sketch(tiled *t, tess_schedule **s, tess_rv *loop) {
  tess_rv block;
  tess_arg name = {"name", {.kind = TESS_V_STR, .s = "C"}};
  tiled_ok(t, tess_schedule_new(t->p, NULL, 1, s));
  tiled_call(t, *s, "get_block", 1, &name, &block);
  tess_arg of = {"block", rv_value(block)};
  return tiled_call(t, *s, "get_loops", 1, &of, loop);
}

static void keep_sketch(tiled *t, tess_schedule *s) {
  tess_trace *full, *small;
  tiled_ok(t, tess_schedule_trace(s, &full));
  tiled_ok(t, tess_trace_simplify(full, &small));
  vm_open_decisions(&small->t);
  t->sketch[t->nsketch++] = small;
  tess_trace_free(full);
  tess_schedule_free(s);
}

/* Draws one of so many values that come to nothing. */
static void choose_in_vain(tiled *t, tess_schedule *s, tess_rv loop,
                           uint32_t values) {
  tess_value candidate[8], prob[8];
  tess_rv drawn, none[8];
  for (uint32_t i = 0; i < values; i++) {
    candidate[i] = (tess_value){.kind = TESS_V_INT, .i = i};
    prob[i] = (tess_value){.kind = TESS_V_REAL, .f = 1.0 / values};
  }
  tess_arg sample[] = {
      {"candidates", {.kind = TESS_V_LIST, .n = values, .list = candidate}},
      {"probs", {.kind = TESS_V_LIST, .n = values, .list = prob}}};
  tiled_call(t, s, "sample_categorical", 2, sample, &drawn);
  tess_value key = {.kind = TESS_V_STR, .s = "a note"};
  tess_arg note[] = {{"block_or_loop", rv_value(loop)},
                     {"ann_key", key},
                     {"ann_val", rv_value(drawn)}};
  tiled_call(t, s, "annotate", 3, note, none);
  tiled_call(t, s, "unannotate", 2, note, none);
}

static void write_choices(tiled *t, int tiles, int loops, int choices,
                          uint32_t values) {
  tess_schedule *s;
  tess_rv loop[8];
  uint32_t n = begin_sketch(t, &s, loop);
  for (int i = 0; i < loops; i++) tile(t, s, loop[i], tiles, 16);
  for (int i = 0; i < choices; i++) choose_in_vain(t, s, loop[n - 1], values);
  keep_sketch(t, s);
}

static void write_sketch(tiled *t, int tiles, int loops) {
  tess_schedule *s;
  tess_rv loop[8];
  uint32_t n = begin_sketch(t, &s, loop);
  for (uint32_t i = 0; i < n && (int)i < loops; i++)
    tile(t, s, loop[i], tiles, 16);
  keep_sketch(t, s);
}

void tiled_start(tiled *t) { tiled_start_with(t, NULL); }

void tiled_start_with(tiled *t, const tess_options *o) {
  memset(t, 0, sizeof *t);
  assert_int_equal(tess_context_new(o, &t->c), TESS_OK);
  assert_int_equal(tess_target_new(t->c, "llvm", &t->target), TESS_OK);
  tiled_describe(t);
  write_sketch(t, 3, 3);
  write_sketch(t, 4, 3);
}

static void drop_sketches(tiled *t) {
  while (t->nsketch) tess_trace_free(t->sketch[--t->nsketch]);
}

void tiled_small(tiled *t) {
  drop_sketches(t);
  write_sketch(t, 2, 1);
}

void tiled_few(tiled *t) {
  drop_sketches(t);
  write_sketch(t, 2, 1);
  write_sketch(t, 3, 1);
}

void tiled_wide(tiled *t) {
  tess_schedule *s;
  tess_rv loop[8], fused, made[8];
  drop_sketches(t);
  begin_sketch(t, &s, loop);
  tess_value two[] = {rv_value(loop[0]), rv_value(loop[1])};
  tess_arg fuse = {"loops", {.kind = TESS_V_LIST, .n = 2, .list = two}};
  tiled_call(t, s, "fuse", 1, &fuse, &fused);
  tess_arg inner = {"loop", rv_value(tile(t, s, fused, 2, 64 * 48))};
  tiled_call(t, s, "vectorize", 1, &inner, made);
  keep_sketch(t, s);
}

void tiled_equal(tiled *t) {
  drop_sketches(t);
  write_choices(t, 2, 1, 5, 3);
}

void tiled_twins(tiled *t) {
  drop_sketches(t);
  write_choices(t, 2, 2, 1, 3);
}

void tiled_empty(tiled *t) {
  drop_sketches(t);
  write_sketch(t, 0, 0);
}

void tiled_end(tiled *t) {
  drop_sketches(t);
  tess_program_free(t->p);
  tess_target_free(t->target);
  tess_context_free(t->c);
}
