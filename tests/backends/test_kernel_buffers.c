/* SPDX-License-Identifier: Apache-2.0
 * Kernels written by hand: whose buffers are, who stores, where barriers go,
 * and what is refused. */
#include "ir/edit.h"
#include "support/lowered.h"
#include "support/nest.h"

enum { T = 8, B = 3 };

static nest n;
static lowered low;
static arena texts;
static ir_buf in, out;

static int setup(void **state) {
  (void)state;
  nest_start(&n);
  lowered_start(&low);
  arena_init(&texts, &n.heap.heap);
  in = nest_param(&n, "A", F32, IR_ROLE_INPUT, B * T, 0, 0);
  out = nest_param(&n, "R", F32, IR_ROLE_OUTPUT, B * T, 0, 0);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  arena_free(&texts);
  lowered_end(&low);
  nest_end(&n);
  return 0;
}

static ir_buf buffer(const char *name, ir_scope scope, int64_t size) {
  ir_expr shape = nest_num(&n, size);
  ir_buf b = ir_buf_new(&n.p, ir_name(&n.p, name), F32, 1, &shape, scope,
                        IR_ROLE_LOCAL);
  nest_allocate(&n, b);
  return b;
}

static ir_expr at(ir_expr block, ir_expr thread) {
  return ir_add(&n.p, ir_mul(&n.p, block, nest_num(&n, T)), thread);
}

static ir_expr mirrored(ir_expr t) {
  return ir_sub(&n.p, nest_num(&n, T - 1), t);
}

static ir_expr load(ir_buf b, ir_expr i) { return nest_load(&n, b, i, 0); }

static void store(ir_buf b, ir_expr i, ir_expr v) {
  nest_store(&n, b, i, 0, v);
}

static ir_expr grid(void) { return nest_thread(&n, B, IR_BLOCKIDX_X); }

static ir_expr threads(int64_t extent) {
  return nest_thread(&n, extent, IR_THREADIDX_X);
}

static const char *must_work(void) {
  nest_finish(&n);
  tess_status st = lowered_check(&low, &n.p);
  if (st) fail_msg("%s", low.err.message);
  return lowered_text(&low, &n.p, "narrow", &texts);
}

static void has(const char *text, const char *what) {
  if (!strstr(text, what)) fail_msg("no '%s' in\n%s", what, text);
}

static void has_not(const char *text, const char *what) {
  if (strstr(text, what)) fail_msg("'%s' in\n%s", what, text);
}

static void refused(const char *why) {
  nest_finish(&n);
  assert_int_equal(lowered_check(&low, &n.p), TESS_UNSUPPORTED);
  if (!strstr(low.err.message, why)) fail_msg("%s", low.err.message);
}

/* Two loops over the threads; the second reads what others wrote. */
static void exchange(ir_scope scope, bool mirror) {
  ir_expr bx = grid();
  ir_buf s = buffer("S", scope, T);
  ir_expr tx = threads(T);
  store(s, tx, load(in, at(bx, tx)));
  nest_close(&n, 1);
  tx = threads(T);
  store(out, at(bx, tx), load(s, mirror ? mirrored(tx) : tx));
}

static void exchanges_wait(void **state) {
  (void)state;
  exchange(IR_SCOPE_SHARED, true);
  has(must_work(), "barrier shared");
}

/* What is called local, and is not, moves to shared memory. */
static void local_that_is_shared(void **state) {
  (void)state;
  exchange(IR_SCOPE_LOCAL, true);
  const char *text = must_work();
  has(text, "S: float32[8] in shared");
  has(text, "barrier shared");
}

/* Each thread reads its own: nobody waits, one element is enough. */
static void own_elements(void **state) {
  (void)state;
  exchange(IR_SCOPE_LOCAL, false);
  const char *text = must_work();
  has(text, "S: float32[1] in local");
  has_not(text, "barrier");
}

static void own_elements_of_shared(void **state) {
  (void)state;
  exchange(IR_SCOPE_SHARED, false);
  has_not(must_work(), "barrier");
}

/* What stands outside of the loop over threads is done by one of them. */
static void done_by_one(void **state) {
  (void)state;
  ir_expr bx = grid();
  ir_buf s = buffer("S", IR_SCOPE_SHARED, 1);
  store(s, nest_num(&n, 0), load(in, bx));
  ir_expr tx = threads(T);
  store(out, at(bx, tx), load(s, nest_num(&n, 0)));
  const char *text = must_work();
  has(text, "if tx == 0");
  has(text, "barrier shared");
}

/* Loops of fewer threads than others of the kernel: some do nothing. */
static void fewer_threads(void **state) {
  (void)state;
  ir_expr bx = grid();
  ir_buf s = buffer("S", IR_SCOPE_SHARED, 3);
  ir_expr tx = threads(3);
  store(s, tx, load(in, at(bx, tx)));
  nest_close(&n, 1);
  tx = threads(T);
  ir_expr which = ir_binary(&n.p, IR_MOD, tx, nest_num(&n, 3));
  store(out, at(bx, tx), load(s, which));
  has(must_work(), "if tx < 3");
}

/* for tx: { for tx': S[tx'] = ..;  R[tx] = S[T - 1 - tx] }: the threads fill
 * S together. */
static void together(void **state) {
  (void)state;
  ir_expr bx = grid(), tx = threads(T);
  ir_buf s = buffer("S", IR_SCOPE_SHARED, T);
  ir_expr other = threads(T);
  store(s, other, load(in, at(bx, other)));
  nest_close(&n, 1);
  store(out, at(bx, tx), load(s, mirrored(tx)));
  const char *text = must_work();
  has(text, "S[tx] = A[bx * 8 + tx]");
  has(text, "barrier shared");
}

/* The same where each thread fills an S of its own: alone, in a loop. */
static void alone(void **state) {
  (void)state;
  ir_expr bx = grid(), tx = threads(T);
  ir_buf s = buffer("S", IR_SCOPE_SHARED, T);
  ir_expr other = threads(T);
  store(s, other, ir_add(&n.p, load(in, at(bx, other)), load(in, tx)));
  nest_close(&n, 1);
  store(out, at(bx, tx), load(s, mirrored(tx)));
  const char *text = must_work();
  has(text, "S: float32[8] in local");
  has_not(text, "barrier");
}

/* By the places in both loops it reads what there is: not with one place for
 * both, though nobody looks at what is kept. */
static void reads_by_both_places(void **state) {
  (void)state;
  ir_expr row = threads(B), column = threads(T);
  ir_buf s = buffer("S", IR_SCOPE_SHARED, 1);
  store(s, nest_num(&n, 0), load(in, at(row, column)));
  must_work();
}

/* A register between global and shared memory, each thread's own element. */
static void through_registers(void **state) {
  (void)state;
  ir_expr bx = grid(), tx = threads(T);
  ir_buf s = buffer("S", IR_SCOPE_SHARED, T),
         l = buffer("L", IR_SCOPE_LOCAL, T);
  ir_expr other = threads(T);
  store(l, other, load(in, at(bx, other)));
  nest_close(&n, 1);
  other = threads(T);
  store(s, other, load(l, other));
  nest_close(&n, 1);
  store(out, at(bx, tx), load(s, mirrored(tx)));
  const char *text = must_work();
  has(text, "L: float32[1] in local");
  has(text, "S: float32[8] in shared");
}

/* One way for all threads: a barrier may stand in it. */
static void common_way(void **state) {
  (void)state;
  ir_expr bx = grid(), tx = threads(T);
  ir_buf s = buffer("S", IR_SCOPE_SHARED, T);
  nest_if(&n, ir_binary(&n.p, IR_LT, bx, nest_num(&n, 2)));
  ir_expr other = threads(T);
  store(s, other, load(in, at(bx, other)));
  nest_close(&n, 1);
  store(out, at(bx, tx), load(s, mirrored(tx)));
  nest_close(&n, 1);
  has(must_work(), "barrier shared");
}

/* Iterations that may run at once have an S each; a kernel has one. */
static const char *in_turns(ir_loop_kind kind, ir_scope scope, bool mirror) {
  nest_thread(&n, 1, IR_BLOCKIDX_X);
  ir_expr i = nest_loop(&n, B, kind);
  ir_buf s = buffer("S", scope, T);
  ir_expr tx = threads(T);
  store(s, tx, load(in, at(i, tx)));
  nest_close(&n, 1);
  tx = threads(T);
  store(out, at(i, tx), load(s, mirror ? mirrored(tx) : tx));
  return must_work();
}

static void parallel_takes_turns(void **state) {
  const char *text = in_turns(IR_PARALLEL, IR_SCOPE_LOCAL, false);
  has(text, "S: float32[1] in local");
  has_not(text, "parallel");
  teardown(state);
  setup(state);
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

/* What stays in the loop is each iteration's own. */
static void parallel_may_stay(void **state) {
  (void)state;
  nest_thread(&n, 1, IR_BLOCKIDX_X);
  ir_expr tx = threads(T), i = nest_loop(&n, B, IR_PARALLEL);
  ir_buf s = buffer("S", IR_SCOPE_LOCAL, 1);
  store(s, nest_num(&n, 0), load(in, at(i, tx)));
  store(out, at(i, tx), load(s, nest_num(&n, 0)));
  has(must_work(), "parallel");
}

/* Each thread's own way, through which all go part by part. */
static void parted_way(void **state) {
  (void)state;
  ir_expr bx = grid();
  ir_buf s = buffer("S", IR_SCOPE_SHARED, T);
  ir_expr k = nest_loop(&n, 2, IR_SERIAL);
  ir_expr tx = threads(T);
  store(s, tx, load(in, at(k, tx)));
  nest_close(&n, 1);
  tx = threads(T);
  nest_if(&n, ir_binary(&n.p, IR_LT, tx, nest_num(&n, 5)));
  store(out, at(bx, tx), ir_add(&n.p, load(s, mirrored(tx)), load(s, tx)));
  has(must_work(), "barrier shared");
}

/* Threads that go round by different counts cannot work together. */
static void own_counts(void **state) {
  (void)state;
  ir_buf counts = nest_param(&n, "N", I32, IR_ROLE_INPUT, T, 0, 0);
  ir_expr bx = grid(), tx = threads(T);
  ir_expr steps = ir_cast(&n.p, IR_INDEX, load(counts, tx));
  ir_expr few = ir_binary(&n.p, IR_MOD, steps, nest_num(&n, 3));
  ir_var v =
      ir_var_new(&n.p, IR_VAR_LOOP, ir_name(&n.p, "w"), IR_INDEX, 0, INT64_MAX);
  store(out, at(bx, tx), load(in, tx));
  ir_stmt w = ir_loop_new(&n.p, v, nest_num(&n, 0), few, IR_SERIAL);
  ir_append(&n.p, n.at, w);
  n.at = w;
  ir_buf s = buffer("S", IR_SCOPE_SHARED, T);
  ir_expr other = threads(T);
  store(s, other, load(in, at(bx, other)));
  nest_close(&n, 1);
  store(out, at(bx, tx), load(s, mirrored(tx)));
  const char *text = must_work();
  has(text, "S: float32[8] in local");
  has_not(text, "barrier");
}

/* ---- where memory decides ----------------------------------------------- */

typedef enum reader { BY_VALUE, BY_CONDITION, BY_BOUND, READERS } reader;

/* Opens a statement that loads element i of `b`. */
static void open_reader(reader r, ir_buf b, ir_expr i) {
  ir_program *p = &n.p;
  ir_expr x = load(b, i);
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
 * what one thread wrote others read in the same iteration of the loop. */
static void below_what_one_wrote(reader r) {
  ir_buf counts = nest_param(&n, "N", I32, IR_ROLE_INPUT, T, 0, 0);
  ir_buf g = nest_local(&n, "G", I32, IR_SCOPE_GLOBAL, T, 0, 0);
  threads(1);
  ir_buf s = buffer("S", IR_SCOPE_SHARED, T);
  ir_expr tx = threads(T);
  store(s, tx, load(in, tx));
  nest_close(&n, 1);
  ir_expr i = nest_loop(&n, T, IR_SERIAL);
  store(g, i, load(counts, i));
  nest_close(&n, 1);
  tx = threads(T);
  open_reader(r, g, tx);
  store(s, tx, load(in, mirrored(tx)));
  nest_close(&n, 2);
  i = nest_loop(&n, T, IR_SERIAL);
  store(out, i, load(s, i));
  has(must_work(), "S[tx] = A[7 - tx]");
}

/* for tx of one: { G[0] = ..; by G[0] G[0] = .. }: threads that do not write
 * it look at it, too. */
static void looked_at_by_all(reader r) {
  ir_buf counts = nest_param(&n, "N", I32, IR_ROLE_INPUT, T, 0, 0);
  ir_buf g = nest_local(&n, "G", I32, IR_SCOPE_GLOBAL, T, 0, 0);
  ir_expr zero = nest_num(&n, 0);
  nest_thread(&n, 1, IR_BLOCKIDX_X);
  threads(1);
  store(g, zero, load(counts, zero));
  open_reader(r, g, zero);
  store(g, zero, ir_int(&n.p, I32, 7));
  nest_close(&n, 2);
  ir_expr tx = threads(T);
  store(out, tx, load(in, tx));
  has(must_work(), "if tx < 1");
}

static void what_decides_waits(void **state) {
  for (int r = 0; r < READERS; r++) {
    below_what_one_wrote(r);
    teardown(state);
    setup(state);
    looked_at_by_all((reader)r);
    teardown(state);
    setup(state);
  }
}

static void grid_must_not_share(void **state) {
  (void)state;
  ir_expr by = nest_thread(&n, 1, IR_BLOCKIDX_Y);
  ir_buf s = buffer("S", IR_SCOPE_SHARED, B);
  ir_expr bx = grid();
  store(s, bx, load(in, bx));
  nest_close(&n, 1);
  bx = grid();
  store(out, ir_add(&n.p, bx, by), load(s, bx));
  refused("blocks of threads cannot share S");
}

/* for by of one: { X[0] = ..; X[1] = X[0]; for bx: R[bx] = .. }: of all that
 * run what is outside of the loop over bx the first writes X. */
static void first_block_writes(void **state) {
  (void)state;
  ir_buf x = nest_param(&n, "X", F32, IR_ROLE_OUTPUT, 2, 0, 0);
  ir_expr zero = nest_num(&n, 0);
  nest_thread(&n, 1, IR_BLOCKIDX_Y);
  ir_expr tx = threads(2);
  store(x, tx, load(in, tx));
  nest_close(&n, 1);
  tx = threads(1);
  store(x, nest_num(&n, 1), load(x, zero));
  nest_close(&n, 1);
  ir_expr bx = grid();
  store(out, bx, load(in, bx));
  has(must_work(), "bx == 0");
}

/* None of the others may look at what it writes; nor at another element of
 * what is written in the loop over them. */
static void all_blocks_would_look(void **state) {
  ir_buf x = nest_param(&n, "X", F32, IR_ROLE_OUTPUT, 2, 0, 0);
  ir_expr zero = nest_num(&n, 0);
  nest_thread(&n, 1, IR_BLOCKIDX_Y);
  ir_buf s = buffer("S", IR_SCOPE_LOCAL, 1);
  store(x, zero, load(in, zero));
  store(s, zero, load(x, zero));
  store(x, nest_num(&n, 1), load(s, zero));
  ir_expr bx = grid();
  store(out, bx, load(in, bx));
  refused("X is written and read outside of a loop over the blocks of threads");
  teardown(state);
  setup(state);
  nest_thread(&n, 1, IR_BLOCKIDX_Y);
  store(out, nest_num(&n, B), load(in, nest_num(&n, 0)));
  bx = grid();
  store(out, bx, load(in, bx));
  refused("R is written in a loop over the blocks of threads and used outside");
}

/* What all blocks of threads have made is looked at behind the loop over
 * them: none of them can wait for the others. */
static void grid_cannot_be_waited_for(void **state) {
  (void)state;
  ir_buf g = nest_local(&n, "G", F32, IR_SCOPE_GLOBAL, B * T, 0, 0);
  ir_expr tx = threads(T), zero = nest_num(&n, 0);
  ir_buf s = buffer("S", IR_SCOPE_LOCAL, 1);
  ir_expr bx = grid();
  store(g, at(bx, tx), load(in, at(bx, tx)));
  store(out, at(bx, tx), load(in, at(bx, tx)));
  nest_close(&n, 1);
  store(s, zero, load(g, at(zero, tx)));
  refused("G is written in a loop over the blocks of threads and used outside");
}

static void extent_must_be_constant(void **state) {
  (void)state;
  ir_expr i = nest_loop(&n, 3, IR_SERIAL);
  ir_var v = ir_var_new(&n.p, IR_VAR_LOOP, ir_name(&n.p, "w"), IR_INDEX, 0, 2);
  ir_stmt w = ir_loop_new(&n.p, v, nest_num(&n, 0), i, IR_THREAD);
  ir_st(&n.p, w)->thread = IR_THREADIDX_X;
  ir_append(&n.p, n.at, w);
  n.at = w;
  store(out, at(i, ir_ref(&n.p, v)), load(in, i));
  refused("the extent of a loop bound to threadIdx.x is no constant");
}

static ir_expr loop_to(ir_expr extent) {
  ir_program *p = &n.p;
  ir_var k = ir_var_new(p, IR_VAR_LOOP, ir_name(p, "k"), IR_INDEX, 0, T - 1);
  ir_stmt s = ir_loop_new(p, k, nest_num(&n, 0), extent, IR_SERIAL);
  ir_append(p, n.at, s);
  n.at = s;
  return ir_ref(p, k);
}

/* A thread keeps as many elements as is known only at the call, to read them
 * backwards; or one at a time. */
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
  store(own, k, load(in, k));
  if (backwards) {
    nest_close(&n, 1);
    k = ir_sub(p, length, ir_add(p, loop_to(length), nest_num(&n, 1)));
  }
  store(out, tx, load(own, k));
  nest_finish(&n);
  ir_program_copy(&low.p, p);
  lower_options o = {.vector_bytes = 16};
  return lower_program(&low.p, &low.scratch, &o, &low.err);
}

static void own_shape_must_be_constant(void **state) {
  if (own_of_any_length(false)) fail_msg("%s", low.err.message);
  teardown(state);
  setup(state);
  assert_int_equal(own_of_any_length(true), TESS_UNSUPPORTED);
  has(low.err.message, "each thread has own for itself, whose shape is not");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

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
