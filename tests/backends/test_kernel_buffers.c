/* SPDX-License-Identifier: Apache-2.0
 * Kernels written by hand: private and shared buffers, guards of stores,
 * barrier placement, refusals. */
#include "ir/edit.h"
#include "support/lowered.h"
#include "support/nest.h"

enum { T = 8, B = 3 };

static nest n;
static lowered low;
static arena texts;
static ir_buf in, out;

static int kernel_buffers_setup(void **state) {
  (void)state;
  nest_start(&n);
  lowered_start(&low);
  arena_init(&texts, &n.heap.heap);
  in = nest_param(&n, "A", F32, IR_ROLE_INPUT, B * T, 0, 0);
  out = nest_param(&n, "R", F32, IR_ROLE_OUTPUT, B * T, 0, 0);
  return 0;
}

static int kernel_buffers_teardown(void **state) {
  (void)state;
  arena_free(&texts);
  lowered_end(&low);
  nest_end(&n);
  return 0;
}

static ir_buf kernel_buffers_buffer(const char *name, ir_scope scope,
                                    int64_t size) {
  ir_expr shape = nest_num(&n, size);
  ir_buf b = ir_buf_new(&n.p, ir_name(&n.p, name), F32, 1, &shape, scope,
                        IR_ROLE_LOCAL);
  nest_allocate(&n, b);
  return b;
}

static ir_expr kernel_buffers_at(ir_expr block, ir_expr thread) {
  return ir_add(&n.p, ir_mul(&n.p, block, nest_num(&n, T)), thread);
}

static ir_expr mirrored(ir_expr t) {
  return ir_sub(&n.p, nest_num(&n, T - 1), t);
}

static ir_expr kernel_buffers_load(ir_buf b, ir_expr i) {
  return nest_load(&n, b, i, 0);
}

static void kernel_buffers_store(ir_buf b, ir_expr i, ir_expr v) {
  nest_store(&n, b, i, 0, v);
}

static ir_expr grid(void) { return nest_thread(&n, B, IR_BLOCKIDX_X); }

static ir_expr threads(int64_t extent) {
  return nest_thread(&n, extent, IR_THREADIDX_X);
}

static const char *kernel_buffers_must_work(void) {
  nest_finish(&n);
  tess_status st = lowered_check(&low, &n.p);
  if (st) fail_msg("%s", low.err.message);
  return lowered_text(&low, &n.p, "compact_thread_buffers", &texts);
}

static void has(const char *text, const char *what) {
  if (!strstr(text, what)) fail_msg("no '%s' in\n%s", what, text);
}

static void has_not(const char *text, const char *what) {
  if (strstr(text, what)) fail_msg("'%s' in\n%s", what, text);
}

static void kernel_buffers_refused(const char *why) {
  nest_finish(&n);
  assert_int_equal(lowered_check(&low, &n.p), TESS_UNSUPPORTED);
  if (!strstr(low.err.message, why)) fail_msg("%s", low.err.message);
}

/* Two loops over the threads; the second reads elements written by others. */
static void exchange_elements(ir_scope scope, bool mirror) {
  ir_expr bx = grid();
  ir_buf s = kernel_buffers_buffer("S", scope, T);
  ir_expr tx = threads(T);
  kernel_buffers_store(s, tx,
                       kernel_buffers_load(in, kernel_buffers_at(bx, tx)));
  nest_close(&n, 1);
  tx = threads(T);
  kernel_buffers_store(out, kernel_buffers_at(bx, tx),
                       kernel_buffers_load(s, mirror ? mirrored(tx) : tx));
}

static void exchanges_wait(void **state) {
  (void)state;
  exchange_elements(IR_SCOPE_SHARED, true);
  has(kernel_buffers_must_work(), "barrier shared");
}

/* A local buffer that threads share moves to shared memory. */
static void local_that_is_shared(void **state) {
  (void)state;
  exchange_elements(IR_SCOPE_LOCAL, true);
  const char *text = kernel_buffers_must_work();
  has(text, "S: float32[8] in shared");
  has(text, "barrier shared");
}

/* Each thread reads its own element: no barrier, one element suffices. */
static void own_elements(void **state) {
  (void)state;
  exchange_elements(IR_SCOPE_LOCAL, false);
  const char *text = kernel_buffers_must_work();
  has(text, "S: float32[1] in local");
  has_not(text, "barrier");
}

static void own_elements_of_shared(void **state) {
  (void)state;
  exchange_elements(IR_SCOPE_SHARED, false);
  has_not(kernel_buffers_must_work(), "barrier");
}

/* Statements outside of the loop over threads are executed by one of them. */
static void done_by_one(void **state) {
  (void)state;
  ir_expr bx = grid();
  ir_buf s = kernel_buffers_buffer("S", IR_SCOPE_SHARED, 1);
  kernel_buffers_store(s, nest_num(&n, 0), kernel_buffers_load(in, bx));
  ir_expr tx = threads(T);
  kernel_buffers_store(out, kernel_buffers_at(bx, tx),
                       kernel_buffers_load(s, nest_num(&n, 0)));
  const char *text = kernel_buffers_must_work();
  has(text, "if tx == 0");
  has(text, "barrier shared");
}

/* Loops of fewer threads than others of the kernel are guarded. */
static void fewer_threads(void **state) {
  (void)state;
  ir_expr bx = grid();
  ir_buf s = kernel_buffers_buffer("S", IR_SCOPE_SHARED, 3);
  ir_expr tx = threads(3);
  kernel_buffers_store(s, tx,
                       kernel_buffers_load(in, kernel_buffers_at(bx, tx)));
  nest_close(&n, 1);
  tx = threads(T);
  ir_expr which = ir_binary(&n.p, IR_MOD, tx, nest_num(&n, 3));
  kernel_buffers_store(out, kernel_buffers_at(bx, tx),
                       kernel_buffers_load(s, which));
  has(kernel_buffers_must_work(), "if tx < 3");
}

/* for tx: { for tx': S[tx'] = ..;  R[tx] = S[T - 1 - tx] }: cooperative fill of
 * S. */
static void together(void **state) {
  (void)state;
  ir_expr bx = grid(), tx = threads(T);
  ir_buf s = kernel_buffers_buffer("S", IR_SCOPE_SHARED, T);
  ir_expr other = threads(T);
  kernel_buffers_store(s, other,
                       kernel_buffers_load(in, kernel_buffers_at(bx, other)));
  nest_close(&n, 1);
  kernel_buffers_store(out, kernel_buffers_at(bx, tx),
                       kernel_buffers_load(s, mirrored(tx)));
  const char *text = kernel_buffers_must_work();
  has(text, "S[tx] = A[bx * 8 + tx]");
  has(text, "barrier shared");
}

/* The same where each thread fills a private S: serially. */
static void alone(void **state) {
  (void)state;
  ir_expr bx = grid(), tx = threads(T);
  ir_buf s = kernel_buffers_buffer("S", IR_SCOPE_SHARED, T);
  ir_expr other = threads(T);
  kernel_buffers_store(
      s, other,
      ir_add(&n.p, kernel_buffers_load(in, kernel_buffers_at(bx, other)),
             kernel_buffers_load(in, tx)));
  nest_close(&n, 1);
  kernel_buffers_store(out, kernel_buffers_at(bx, tx),
                       kernel_buffers_load(s, mirrored(tx)));
  const char *text = kernel_buffers_must_work();
  has(text, "S: float32[8] in local");
  has_not(text, "barrier");
}

/* A load indexed by both loops: each thread reads its own element, although
 * nobody reads S. */
static void reads_by_both_places(void **state) {
  (void)state;
  ir_expr row = threads(B), column = threads(T);
  ir_buf s = kernel_buffers_buffer("S", IR_SCOPE_SHARED, 1);
  kernel_buffers_store(s, nest_num(&n, 0),
                       kernel_buffers_load(in, kernel_buffers_at(row, column)));
  kernel_buffers_must_work();
}

/* A register between global and shared memory, private to each thread. */
static void through_registers(void **state) {
  (void)state;
  ir_expr bx = grid(), tx = threads(T);
  ir_buf s = kernel_buffers_buffer("S", IR_SCOPE_SHARED, T),
         l = kernel_buffers_buffer("L", IR_SCOPE_LOCAL, T);
  ir_expr other = threads(T);
  kernel_buffers_store(l, other,
                       kernel_buffers_load(in, kernel_buffers_at(bx, other)));
  nest_close(&n, 1);
  other = threads(T);
  kernel_buffers_store(s, other, kernel_buffers_load(l, other));
  nest_close(&n, 1);
  kernel_buffers_store(out, kernel_buffers_at(bx, tx),
                       kernel_buffers_load(s, mirrored(tx)));
  const char *text = kernel_buffers_must_work();
  has(text, "L: float32[1] in local");
  has(text, "S: float32[8] in shared");
}

/* A uniform branch: a barrier may be inside. */
static void common_way(void **state) {
  (void)state;
  ir_expr bx = grid(), tx = threads(T);
  ir_buf s = kernel_buffers_buffer("S", IR_SCOPE_SHARED, T);
  nest_if(&n, ir_binary(&n.p, IR_LT, bx, nest_num(&n, 2)));
  ir_expr other = threads(T);
  kernel_buffers_store(s, other,
                       kernel_buffers_load(in, kernel_buffers_at(bx, other)));
  nest_close(&n, 1);
  kernel_buffers_store(out, kernel_buffers_at(bx, tx),
                       kernel_buffers_load(s, mirrored(tx)));
  nest_close(&n, 1);
  has(kernel_buffers_must_work(), "barrier shared");
}

/* Iterations that may run concurrently have an S each; a kernel has one. */
static const char *in_turns(ir_loop_kind kind, ir_scope scope, bool mirror) {
  nest_thread(&n, 1, IR_BLOCKIDX_X);
  ir_expr i = nest_loop(&n, B, kind);
  ir_buf s = kernel_buffers_buffer("S", scope, T);
  ir_expr tx = threads(T);
  kernel_buffers_store(s, tx,
                       kernel_buffers_load(in, kernel_buffers_at(i, tx)));
  nest_close(&n, 1);
  tx = threads(T);
  kernel_buffers_store(out, kernel_buffers_at(i, tx),
                       kernel_buffers_load(s, mirror ? mirrored(tx) : tx));
  return kernel_buffers_must_work();
}

static void parallel_takes_turns(void **state) {
  const char *text = in_turns(IR_PARALLEL, IR_SCOPE_LOCAL, false);
  has(text, "S: float32[1] in local");
  has_not(text, "parallel");
  kernel_buffers_teardown(state);
  kernel_buffers_setup(state);
  text = in_turns(IR_PARALLEL, IR_SCOPE_SHARED, true);
  has(text, "S: float32[8] in shared");
  has(text, "barrier shared");
  has_not(text, "parallel");
}

static void vectorized_takes_turns(void **state) {
  (void)state;
  const char *text = in_turns(IR_VECTORIZED, IR_SCOPE_LOCAL, false);
  has(text, "S: float32[1] in local");
  has_not(text, "vectorized");
}

/* A buffer that stays in the loop is private to an iteration. */
static void parallel_may_stay(void **state) {
  (void)state;
  nest_thread(&n, 1, IR_BLOCKIDX_X);
  ir_expr tx = threads(T), i = nest_loop(&n, B, IR_PARALLEL);
  ir_buf s = kernel_buffers_buffer("S", IR_SCOPE_LOCAL, 1);
  kernel_buffers_store(s, nest_num(&n, 0),
                       kernel_buffers_load(in, kernel_buffers_at(i, tx)));
  kernel_buffers_store(out, kernel_buffers_at(i, tx),
                       kernel_buffers_load(s, nest_num(&n, 0)));
  has(kernel_buffers_must_work(), "parallel");
}

/* A serial loop of every thread, which a barrier divides. */
static void parted_way(void **state) {
  (void)state;
  ir_expr bx = grid();
  ir_buf s = kernel_buffers_buffer("S", IR_SCOPE_SHARED, T);
  ir_expr k = nest_loop(&n, 2, IR_SERIAL);
  ir_expr tx = threads(T);
  kernel_buffers_store(s, tx,
                       kernel_buffers_load(in, kernel_buffers_at(k, tx)));
  nest_close(&n, 1);
  tx = threads(T);
  nest_if(&n, ir_binary(&n.p, IR_LT, tx, nest_num(&n, 5)));
  kernel_buffers_store(out, kernel_buffers_at(bx, tx),
                       ir_add(&n.p, kernel_buffers_load(s, mirrored(tx)),
                              kernel_buffers_load(s, tx)));
  has(kernel_buffers_must_work(), "barrier shared");
}

/* Loops whose trip counts differ between threads cannot contain a barrier. */
static void own_counts(void **state) {
  (void)state;
  ir_buf counts = nest_param(&n, "N", I32, IR_ROLE_INPUT, T, 0, 0);
  ir_expr bx = grid(), tx = threads(T);
  ir_expr steps = ir_cast(&n.p, IR_INDEX, kernel_buffers_load(counts, tx));
  ir_expr few = ir_binary(&n.p, IR_MOD, steps, nest_num(&n, 3));
  ir_var v =
      ir_var_new(&n.p, IR_VAR_LOOP, ir_name(&n.p, "w"), IR_INDEX, 0, INT64_MAX);
  kernel_buffers_store(out, kernel_buffers_at(bx, tx),
                       kernel_buffers_load(in, tx));
  ir_stmt w = ir_loop_new(&n.p, v, nest_num(&n, 0), few, IR_SERIAL);
  ir_append(&n.p, n.at, w);
  n.at = w;
  ir_buf s = kernel_buffers_buffer("S", IR_SCOPE_SHARED, T);
  ir_expr other = threads(T);
  kernel_buffers_store(s, other,
                       kernel_buffers_load(in, kernel_buffers_at(bx, other)));
  nest_close(&n, 1);
  kernel_buffers_store(out, kernel_buffers_at(bx, tx),
                       kernel_buffers_load(s, mirrored(tx)));
  const char *text = kernel_buffers_must_work();
  has(text, "S: float32[8] in local");
  has_not(text, "barrier");
}

/* ---- data-dependent control flow ---------------------------------------- */

typedef enum reader { BY_VALUE, BY_CONDITION, BY_BOUND, READERS } reader;

/* Opens a statement that loads element i of `b`. */
static void open_reader(reader r, ir_buf b, ir_expr i) {
  ir_program *p = &n.p;
  ir_expr x = kernel_buffers_load(b, i);
  if (r == BY_CONDITION) {
    nest_if(&n, ir_binary(p, IR_LT, x, ir_int(p, I32, 3)));
    return;
  }
  ir_expr few = ir_binary(p, IR_MOD, ir_cast(p, IR_INDEX, x), nest_num(&n, 3));
  ir_var v = ir_var_new(p, r == BY_BOUND ? IR_VAR_LOOP : IR_VAR_LET,
                        ir_name(p, "v"), IR_INDEX, 0, INT64_MAX);
  ir_stmt s = r == BY_BOUND ? ir_loop_new(p, v, nest_num(&n, 0), few, IR_SERIAL)
                            : ir_let_new(p, v, few);
  ir_append(p, n.at, s);
  n.at = s;
}

/* for tx of one: { for i: G[i] = ..; for tx of all: by G[tx] S[tx] = .. }:
 * elements written by one thread are read by others in the same iteration. */
static void below_what_one_wrote(reader r) {
  ir_buf counts = nest_param(&n, "N", I32, IR_ROLE_INPUT, T, 0, 0);
  ir_buf g = nest_local(&n, "G", I32, IR_SCOPE_GLOBAL, T, 0, 0);
  threads(1);
  ir_buf s = kernel_buffers_buffer("S", IR_SCOPE_SHARED, T);
  ir_expr tx = threads(T);
  kernel_buffers_store(s, tx, kernel_buffers_load(in, tx));
  nest_close(&n, 1);
  ir_expr i = nest_loop(&n, T, IR_SERIAL);
  kernel_buffers_store(g, i, kernel_buffers_load(counts, i));
  nest_close(&n, 1);
  tx = threads(T);
  open_reader(r, g, tx);
  kernel_buffers_store(s, tx, kernel_buffers_load(in, mirrored(tx)));
  nest_close(&n, 2);
  i = nest_loop(&n, T, IR_SERIAL);
  kernel_buffers_store(out, i, kernel_buffers_load(s, i));
  has(kernel_buffers_must_work(), "S[tx] = A[7 - tx]");
}

/* for tx of one: { G[0] = ..; by G[0] G[0] = .. }: threads that do not write it
 * read it, too. */
static void looked_at_by_all(reader r) {
  ir_buf counts = nest_param(&n, "N", I32, IR_ROLE_INPUT, T, 0, 0);
  ir_buf g = nest_local(&n, "G", I32, IR_SCOPE_GLOBAL, T, 0, 0);
  ir_expr zero = nest_num(&n, 0);
  nest_thread(&n, 1, IR_BLOCKIDX_X);
  threads(1);
  kernel_buffers_store(g, zero, kernel_buffers_load(counts, zero));
  open_reader(r, g, zero);
  kernel_buffers_store(g, zero, ir_int(&n.p, I32, 7));
  nest_close(&n, 2);
  ir_expr tx = threads(T);
  kernel_buffers_store(out, tx, kernel_buffers_load(in, tx));
  has(kernel_buffers_must_work(), "if tx < 1");
}

static void what_decides_waits(void **state) {
  for (int r = 0; r < READERS; r++) {
    below_what_one_wrote(r);
    kernel_buffers_teardown(state);
    kernel_buffers_setup(state);
    looked_at_by_all((reader)r);
    kernel_buffers_teardown(state);
    kernel_buffers_setup(state);
  }
}

static void grid_must_not_share(void **state) {
  (void)state;
  ir_expr by = nest_thread(&n, 1, IR_BLOCKIDX_Y);
  ir_buf s = kernel_buffers_buffer("S", IR_SCOPE_SHARED, B);
  ir_expr bx = grid();
  kernel_buffers_store(s, bx, kernel_buffers_load(in, bx));
  nest_close(&n, 1);
  bx = grid();
  kernel_buffers_store(out, ir_add(&n.p, bx, by), kernel_buffers_load(s, bx));
  kernel_buffers_refused("blocks of threads cannot share S");
}

/* for by of one: { X[0] = ..; X[1] = X[0]; for bx: R[bx] = .. }: of all blocks
 * that execute the code outside of the loop over bx the first writes X. */
static void first_block_writes(void **state) {
  (void)state;
  ir_buf x = nest_param(&n, "X", F32, IR_ROLE_OUTPUT, 2, 0, 0);
  ir_expr zero = nest_num(&n, 0);
  nest_thread(&n, 1, IR_BLOCKIDX_Y);
  ir_expr tx = threads(2);
  kernel_buffers_store(x, tx, kernel_buffers_load(in, tx));
  nest_close(&n, 1);
  tx = threads(1);
  kernel_buffers_store(x, nest_num(&n, 1), kernel_buffers_load(x, zero));
  nest_close(&n, 1);
  ir_expr bx = grid();
  kernel_buffers_store(out, bx, kernel_buffers_load(in, bx));
  has(kernel_buffers_must_work(), "bx == 0");
}

/* None of the others may read what it writes; nor another element of what is
 * written in the loop over them. */
static void all_blocks_would_look(void **state) {
  ir_buf x = nest_param(&n, "X", F32, IR_ROLE_OUTPUT, 2, 0, 0);
  ir_expr zero = nest_num(&n, 0);
  nest_thread(&n, 1, IR_BLOCKIDX_Y);
  ir_buf s = kernel_buffers_buffer("S", IR_SCOPE_LOCAL, 1);
  kernel_buffers_store(x, zero, kernel_buffers_load(in, zero));
  kernel_buffers_store(s, zero, kernel_buffers_load(x, zero));
  kernel_buffers_store(x, nest_num(&n, 1), kernel_buffers_load(s, zero));
  ir_expr bx = grid();
  kernel_buffers_store(out, bx, kernel_buffers_load(in, bx));
  kernel_buffers_refused(
      "X is written and read outside of a loop over the blocks of threads");
  kernel_buffers_teardown(state);
  kernel_buffers_setup(state);
  nest_thread(&n, 1, IR_BLOCKIDX_Y);
  kernel_buffers_store(out, nest_num(&n, B),
                       kernel_buffers_load(in, nest_num(&n, 0)));
  bx = grid();
  kernel_buffers_store(out, bx, kernel_buffers_load(in, bx));
  kernel_buffers_refused(
      "R is written in a loop over the blocks of threads and used outside");
}

/* Results of all blocks of threads are read behind the loop over them: no block
 * can wait for the others. */
static void grid_cannot_be_waited_for(void **state) {
  (void)state;
  ir_buf g = nest_local(&n, "G", F32, IR_SCOPE_GLOBAL, B * T, 0, 0);
  ir_expr tx = threads(T), zero = nest_num(&n, 0);
  ir_buf s = kernel_buffers_buffer("S", IR_SCOPE_LOCAL, 1);
  ir_expr bx = grid();
  kernel_buffers_store(g, kernel_buffers_at(bx, tx),
                       kernel_buffers_load(in, kernel_buffers_at(bx, tx)));
  kernel_buffers_store(out, kernel_buffers_at(bx, tx),
                       kernel_buffers_load(in, kernel_buffers_at(bx, tx)));
  nest_close(&n, 1);
  kernel_buffers_store(s, zero,
                       kernel_buffers_load(g, kernel_buffers_at(zero, tx)));
  kernel_buffers_refused(
      "G is written in a loop over the blocks of threads and used outside");
}

static void extent_must_be_constant(void **state) {
  (void)state;
  ir_expr i = nest_loop(&n, 3, IR_SERIAL);
  ir_var v = ir_var_new(&n.p, IR_VAR_LOOP, ir_name(&n.p, "w"), IR_INDEX, 0, 2);
  ir_stmt w = ir_loop_new(&n.p, v, nest_num(&n, 0), i, IR_THREAD);
  ir_st(&n.p, w)->thread = IR_THREADIDX_X;
  ir_append(&n.p, n.at, w);
  n.at = w;
  kernel_buffers_store(out, kernel_buffers_at(i, ir_ref(&n.p, v)),
                       kernel_buffers_load(in, i));
  kernel_buffers_refused(
      "the extent of a loop bound to threadIdx.x is no constant");
}

static ir_expr loop_to(ir_expr extent) {
  ir_program *p = &n.p;
  ir_var k = ir_var_new(p, IR_VAR_LOOP, ir_name(p, "k"), IR_INDEX, 0, T - 1);
  ir_stmt s = ir_loop_new(p, k, nest_num(&n, 0), extent, IR_SERIAL);
  ir_append(p, n.at, s);
  n.at = s;
  return ir_ref(p, k);
}

/* A thread-private buffer of symbolic size, read backwards; or one element at a
 * time. */
static tess_status own_of_any_length(bool backwards) {
  ir_program *p = &n.p;
  ir_var size =
      ir_var_new(p, IR_VAR_SIZE, ir_name(p, "n"), IR_INDEX, 1, INT64_MAX);
  ir_expr tx = threads(T), length = ir_ref(p, size);
  ir_buf own = ir_buf_new(p, ir_name(p, "own"), F32, 1, &length,
                          IR_SCOPE_GLOBAL, IR_ROLE_LOCAL);
  ir_expr k = backwards ? 0 : loop_to(length);
  nest_allocate(&n, own);
  if (backwards) k = loop_to(length);
  kernel_buffers_store(own, k, kernel_buffers_load(in, k));
  if (backwards) {
    nest_close(&n, 1);
    k = ir_sub(p, length, ir_add(p, loop_to(length), nest_num(&n, 1)));
  }
  kernel_buffers_store(out, tx, kernel_buffers_load(own, k));
  nest_finish(&n);
  ir_program_copy(&low.p, p);
  lower_options o = {.vector_bytes = 16};
  return lower_program(&low.p, &low.scratch, &o, &low.err);
}

static void own_shape_must_be_constant(void **state) {
  if (own_of_any_length(false)) fail_msg("%s", low.err.message);
  kernel_buffers_teardown(state);
  kernel_buffers_setup(state);
  assert_int_equal(own_of_any_length(true), TESS_UNSUPPORTED);
  has(low.err.message, "own is private to a thread, and its shape is not");
}

#define TEST(f)                                            \
  cmocka_unit_test_setup_teardown(f, kernel_buffers_setup, \
                                  kernel_buffers_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(exchanges_wait),
      TEST(local_that_is_shared),
      TEST(own_elements),
      TEST(own_elements_of_shared),
      TEST(done_by_one),
      TEST(fewer_threads),
      TEST(together),
      TEST(alone),
      TEST(reads_by_both_places),
      TEST(through_registers),
      TEST(common_way),
      TEST(parallel_takes_turns),
      TEST(vectorized_takes_turns),
      TEST(parallel_may_stay),
      TEST(parted_way),
      TEST(own_counts),
      TEST(what_decides_waits),
      TEST(grid_must_not_share),
      TEST(first_block_writes),
      TEST(all_blocks_would_look),
      TEST(grid_cannot_be_waited_for),
      TEST(extent_must_be_constant),
      TEST(own_shape_must_be_constant),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
