/* SPDX-License-Identifier: Apache-2.0
 * Asynchronous copies: their checks in the interpreter, and software pipelines
 * with asynchronous stages. */
#include "ir/edit.h"
#include "ir/query.h"
#include "support/lowering.h"
#include "support/nest.h"

enum { T = 8 };

static int async_setup(void **state) {
  static nest n;
  nest_start(&n);
  *state = &n;
  return 0;
}

static int async_teardown(void **state) {
  nest_end(*state);
  return 0;
}

static float in[T], out[T];
static ir_buf A, R, S;
static ir_expr tx;

static tess_status async_run(nest *n) {
  void *args[2] = {in, out};
  for (int i = 0; i < T; i++) in[i] = (float)i, out[i] = -1;
  nest_finish(n);
  return nest_run(n, args);
}

static void must_say(nest *n, tess_status code, const char *text) {
  char got[400];
  assert_int_equal(async_run(n), code);
  assert_string_equal(nest_error(n, got, sizeof got), text);
}

static void append_call(nest *n, ir_fn fn, int64_t left) {
  ir_expr e = nest_num(n, left);
  nest_evaluate(n, ir_call(&n->p, fn, IR_INDEX, fn == IR_FN_ASYNC_WAIT, &e));
}

/* Opens a kernel of T threads; S is shared memory for two elements of each. */
static void kernel(nest *n) {
  ir_expr shape = nest_num(n, 2 * T);
  A = nest_param(n, "A", F32, IR_ROLE_INPUT, T, 0, 0);
  R = nest_param(n, "R", F32, IR_ROLE_OUTPUT, T, 0, 0);
  S = ir_buf_new(&n->p, ir_name(&n->p, "S"), F32, 1, &shape, IR_SCOPE_SHARED,
                 IR_ROLE_LOCAL);
  nest_thread(n, 1, IR_BLOCKIDX_X);
  nest_allocate(n, S);
  tx = nest_thread(n, T, IR_THREADIDX_X);
  n->o.threads = INTERP_LOCKSTEP;
}

static ir_expr async_plus(nest *n, ir_expr a, int64_t k) {
  return ir_add(&n->p, a, nest_num(n, k));
}

/* S[tx + at] = A[tx], as a group. */
static void async_copy(nest *n, int64_t at) {
  append_call(n, IR_FN_ASYNC_BEGIN, 0);
  nest_store(n, S, async_plus(n, tx, at), 0, nest_load(n, A, tx, 0));
  append_call(n, IR_FN_ASYNC_COMMIT, 0);
}

static void give(nest *n, ir_expr from) {
  nest_store(n, R, tx, 0, nest_load(n, S, from, 0));
}

static ir_expr mirror(nest *n) { return ir_sub(&n->p, nest_num(n, T - 1), tx); }

static void waited_for(void **state) {
  nest *n = *state;
  kernel(n);
  async_copy(n, 0);
  append_call(n, IR_FN_ASYNC_WAIT, 0);
  nest_barrier(n);
  give(n, mirror(n));
  assert_int_equal(async_run(n), TESS_OK);
  for (int i = 0; i < T; i++) assert_true(out[i] == in[T - 1 - i]);
}

static void not_waited_for(void **state) {
  nest *n = *state;
  kernel(n);
  async_copy(n, 0);
  nest_barrier(n);
  give(n, mirror(n));
  must_say(n, TESS_RACE,
           "S[7] is read while thread 7 copies it and has not waited for "
           "that, in `R[i] = S[7 - i]` (in block root)");
}

/* The barrier precedes the wait: copies of others may be in flight. */
static void waited_too_late(void **state) {
  nest *n = *state;
  kernel(n);
  async_copy(n, 0);
  nest_barrier(n);
  append_call(n, IR_FN_ASYNC_WAIT, 0);
  give(n, async_plus(n, ir_mul(&n->p, tx, nest_num(n, 0)), 0));
  must_say(n, TESS_RACE,
           "race: S[0] is written by threadIdx.x 0 and read by threadIdx.x 1, "
           "with no barrier between, in `R[i] = S[0]` (in block root)");
}

/* Groups complete in order: of two, the first one has. */
static void all_but_one(void **state) {
  nest *n = *state;
  for (int second = 0; second < 2; second++) {
    kernel(n);
    async_copy(n, 0);
    async_copy(n, T);
    append_call(n, IR_FN_ASYNC_WAIT, 1);
    give(n, async_plus(n, tx, second ? T : 0));
    assert_int_equal(async_run(n), second ? TESS_RACE : TESS_OK);
    async_teardown(state);
    async_setup(state);
  }
}

static void not_written_meanwhile(void **state) {
  nest *n = *state;
  kernel(n);
  async_copy(n, 0);
  nest_store(n, S, tx, 0, ir_real(&n->p, F32, 1));
  must_say(n, TESS_RACE,
           "S[0] is written while thread 0 copies it and has not waited for "
           "that, in `S[i] = 1.0` (in block root)");
}

/* R[tx] = A[tx], copied to S; then R is overwritten, before or after the
 * wait. */
static void source_changes(void **state) {
  nest *n = *state;
  for (int after = 0; after < 2; after++) {
    kernel(n);
    nest_store(n, R, tx, 0, nest_load(n, A, tx, 0));
    append_call(n, IR_FN_ASYNC_BEGIN, 0);
    nest_store(n, S, tx, 0, nest_load(n, R, tx, 0));
    append_call(n, IR_FN_ASYNC_COMMIT, 0);
    if (after) append_call(n, IR_FN_ASYNC_WAIT, 0);
    nest_store(n, R, tx, 0, ir_real(&n->p, F32, 1));
    if (!after) append_call(n, IR_FN_ASYNC_WAIT, 0);
    if (after)
      assert_int_equal(async_run(n), TESS_OK);
    else
      must_say(n, TESS_RACE,
               "R[0] is written while thread 0 copies from it and has not "
               "waited for that, in `S[i] = R[i]` (in block root)");
    async_teardown(state);
    async_setup(state);
  }
}

static void out_of_order(void **state) {
  nest *n = *state;
  kernel(n);
  append_call(n, IR_FN_ASYNC_COMMIT, 0);
  must_say(n, TESS_INVALID,
           "async_begin, async_commit and async_wait in this order "
           "(in block root)");
}

/* ---- pipelines ---------------------------------------------------------- */

static void async_note(ir_stmt s, const char *key, uint32_t n,
                       const int64_t *v) {
  uint32_t e[8];
  for (uint32_t i = 0; i < n; i++) e[i] = ir_value_int(&t.p, v[i]);
  ir_val list = ir_value_add(&t.p, (ir_value){.tag = IR_VAL_LIST, .n = n}, e);
  DO(&t, annotate, AT(block_or_loop, s), STR(ann_key, key), AT(ann_val, list));
}

/* A product whose operands are copied, in each step over k, by all threads;
 * stages and orders of the two copies and of their consumer. */
static ir_stmt async_product(int64_t k, const int64_t *stage,
                             const int64_t *order, bool threads) {
  scheduled_matmul(&t, 8, 8, k);
  ir_stmt c = scheduled_get(&t, "C");
  ir_stmt j = scheduled_loop(&t, c, 1);
  DO(&t, split, AT(loop, scheduled_loop(&t, c, 2)), INTS(factors, SCH_AUTO, 2));
  ir_stmt k0 = t.out[0], k1 = t.out[1];
  DO(&t, reorder, LIST(ordered_loops, k0, k1, j));
  DO(&t, decompose_reduction, AT(block, c), AT(loop, k0));
  /* The update block reads what it writes first, as TVM orders it. */
  for (int64_t i = 0; i < 2; i++) {
    DO(&t, cache_read, AT(block, c), NUM(read_buffer_index, i + 1),
       STR(storage_scope, "shared"));
    DO(&t, compute_at, AT(block, t.out[0]), AT(loop, k0));
  }
  if (threads)
    DO(&t, bind, AT(loop, scheduled_loop(&t, c, 0)),
       STR(thread_axis, "threadIdx.x"));
  async_note(k0, "software_pipeline_stage", 3, stage);
  async_note(k0, "software_pipeline_order", 3, order);
  return k0;
}

static const char *kernels(void) {
  lower_options o = {.vector_bytes = 16, .keep_math = true};
  for (uint32_t i = 0; i < LOWER_NPASSES; i++)
    if (!strcmp(lower_passes[i].name, "form_kernels")) o.stop_after = i + 1;
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

/* In the steady state as many groups stay in flight as the stages allow; in the
 * epilogue none. */
static void stages(void **state) {
  (void)state;
  static const struct {
    int64_t stage[3], order[3];
    const char *wait;
  } row[] = {
      {{0, 0, 1}, {0, 1, 2}, "async_wait(0)"},
      {{0, 0, 1}, {1, 2, 0}, "async_wait(0)"},
      {{0, 0, 2}, {0, 1, 2}, "async_wait(2)"},
      {{0, 0, 2}, {1, 2, 0}, "async_wait(2)"},
      {{0, 0, 3}, {0, 2, 1}, "async_wait(4)"},
  };
  for (unsigned i = 0; i < sizeof row / sizeof *row; i++)
    for (int64_t k = 2; k <= 14; k += 4) {
      ir_stmt loop = async_product(k, row[i].stage, row[i].order, true);
      async_note(loop, "software_pipeline_async_stages", 1, (int64_t[]){0});
      must_work();
      if (k == 14) assert_non_null(strstr(kernels(), row[i].wait));
      teardown(NULL);
      setup(NULL);
    }
}

/* Global memory of any device kind is a valid source. */
static void from_near(void **state) {
  (void)state;
  ir_stmt loop =
      async_product(6, (int64_t[]){0, 0, 1}, (int64_t[]){0, 1, 2}, true);
  async_note(loop, "software_pipeline_async_stages", 1, (int64_t[]){0});
  for (ir_buf b = 1; b < t.p.buf.n; b++)
    if (t.p.buf.v[b].role == IR_ROLE_INPUT) t.p.buf.v[b].scope = IR_SCOPE_VTCM;
  must_work();
  assert_non_null(strstr(kernels(), "async_wait(0)"));
}

/* A thread with several virtual threads issues a copy once. */
static void virtual_threads(void **state) {
  (void)state;
  ir_stmt loop =
      async_product(8, (int64_t[]){0, 0, 1}, (int64_t[]){0, 1, 2}, false);
  async_note(loop, "software_pipeline_async_stages", 1, (int64_t[]){0});
  ir_stmt i = scheduled_loop(&t, scheduled_get(&t, "C_update"), 0);
  DO(&t, split, AT(loop, i), INTS(factors, SCH_AUTO, 2));
  ir_stmt inner = t.out[1];
  DO(&t, bind, AT(loop, t.out[0]), STR(thread_axis, "threadIdx.x"));
  DO(&t, bind, AT(loop, inner), STR(thread_axis, "vthread.x"));
  must_work();
  assert_non_null(strstr(kernels(), "async_wait(0)"));
}

/* Without threads they are plain copies. */
static void without_threads(void **state) {
  (void)state;
  ir_stmt loop =
      async_product(8, (int64_t[]){0, 0, 1}, (int64_t[]){0, 1, 2}, false);
  async_note(loop, "software_pipeline_async_stages", 1, (int64_t[]){0});
  must_work();
  assert_null(strstr(kernels(), "async"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, async_setup, async_teardown)
#define PIPE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(waited_for),
      TEST(not_waited_for),
      TEST(waited_too_late),
      TEST(all_but_one),
      TEST(not_written_meanwhile),
      TEST(source_changes),
      TEST(out_of_order),
      PIPE(stages),
      PIPE(from_near),
      PIPE(virtual_threads),
      PIPE(without_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
