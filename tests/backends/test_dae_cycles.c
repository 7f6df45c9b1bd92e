/* SPDX-License-Identifier: Apache-2.0
 * The simulator of decoupled access-execute machines: cycles that were worked
 * out by hand.  The machine fetches an instruction a cycle; its bus moves 8
 * bytes a cycle, after which a transfer takes 10 cycles more; a product takes 4
 * + 1 cycles, an operation on a vector 4 + 2. */
#include "support/test.h"
#include "support/dae.h"

static dae_times simulate(dae_case *x) {
  dae_times t;
  dae_simulate(&x->m, &x->s, x->needs, &x->a, &t);
  assert_false(t.is_stuck);
  return t;
}

static void begin_case(test_heap *t, dae_case *x) {
  test_heap_start(t, 0);
  dae_case_start(x, &t->heap);
}

static void end_case(test_heap *t, dae_case *x) {
  dae_case_end(x);
  test_heap_end(t);
}

/* 64 bytes: 8 cycles of the bus, and the latency. */
static void test_load(void **unused) {
  (void)unused;
  test_heap t;
  dae_case x;
  begin_case(&t, &x);
  dae_case_load(&x, DAE_INP, 0, 0, 4);
  dae_case_order(&x);
  dae_times got = simulate(&x);
  assert_int_equal(got.cycles, 18);
  assert_int_equal(got.bus, 8);
  assert_int_equal(got.bytes, 64);
  assert_int_equal(got.busy[DAE_LOADS], 18);
  end_case(&t, &x);
}

/* The micro-operation is there at 11 (1 + 10), the inputs, which have the bus
 * from 1 to 9, at 19; the product takes 4 + 4. */
static void test_load_and_execute(void **unused) {
  (void)unused;
  test_heap t;
  dae_case x;
  const dae_uop u = {{0, 0, 0}};
  begin_case(&t, &x);
  dae_case_uops(&x, 1, &u);
  dae_case_load(&x, DAE_INP, 0, 0, 4);
  dae_case_gemm(&x, 0, 4);
  dae_case_order(&x);
  dae_times got = simulate(&x);
  assert_int_equal(got.end[0], 11);
  assert_int_equal(got.end[1], 19);
  assert_int_equal(got.start[2], 19);
  assert_int_equal(got.cycles, 27);
  assert_int_equal(got.products, 4);
  end_case(&t, &x);
}

/* Twice a load and a product of 4 + 16 cycles, in one buffer or in two. */
static void two_steps(dae_case *x, bool hides) {
  const dae_uop u[] = {{{0, 0, 0}}, {{0, 64, 0}}};
  dae_case_uops(x, 2, u);
  for (uint32_t k = 0; k < 2; k++) {
    dae_case_load(x, DAE_INP, hides ? 64 * k : 0, 100 * k, 4);
    dae_case_gemm(x, hides ? k : 0, 16);
  }
  dae_case_order(x);
}

/* In one buffer: 1..19, 19..39, 39..57, 57..77; in two the second load is done
 * at 37, while the first product runs, and the second product at 59.  A machine
 * that finds dependences itself takes as long. */
static void test_hiding(void **unused) {
  (void)unused;
  for (int hides = 0; hides < 2; hides++)
    for (int tokens = 0; tokens < 2; tokens++) {
      test_heap t;
      dae_case x;
      begin_case(&t, &x);
      if (!tokens) x.m.tokens = 0;
      two_steps(&x, hides);
      assert_int_equal(simulate(&x).cycles, hides ? 59 : 77);
      end_case(&t, &x);
    }
}

/* Four rows of 2 cycles each, and from cycle 1 on one of 8, of another unit,
 * which comes second in turn, and last by priority. */
static void test_arbitration(void **unused) {
  (void)unused;
  for (int priority = 0; priority < 2; priority++) {
    test_heap t;
    dae_case x;
    begin_case(&t, &x);
    x.m.priority = priority;
    uint32_t rows = dae_case_load(&x, DAE_INP, 0, 0, 1);
    x.s.insn.v[rows].y = 4;
    x.s.insn.v[rows].stride = 7;
    dae_case_load(&x, DAE_ACC, 0, 100, 1);
    dae_case_order(&x);
    dae_times got = simulate(&x);
    assert_int_equal(got.end[0], priority ? 18 : 26);
    assert_int_equal(got.end[1], priority ? 26 : 20);
    end_case(&t, &x);
  }
}

/* A queue of one: the third load is fetched when the second starts, at 18, and
 * what follows it a cycle later. */
static void test_queue(void **unused) {
  (void)unused;
  test_heap t;
  dae_case x;
  begin_case(&t, &x);
  x.m.queue[DAE_LOADS] = 1;
  for (uint32_t k = 0; k < 3; k++) dae_case_load(&x, DAE_INP, 8 * k, 8 * k, 4);
  vec_push(x.heap, &x.s.insn,
           ((dae_insn){
               .op = DAE_ALU, .use_imm = true, .uop_end = 1, .iter = {1, 1}}));
  dae_case_order(&x);
  dae_times got = simulate(&x);
  assert_int_equal(got.start[3], 19);
  assert_int_equal(got.end[3], 25);
  assert_int_equal(got.cycles, 54);
  end_case(&t, &x);
}

/* A FIFO of one token: the second load has its token for the compute unit at
 * 37, but can push it only when the first was taken, at 204. */
static void test_full_fifo(void **unused) {
  (void)unused;
  test_heap t;
  dae_case x;
  begin_case(&t, &x);
  x.m.tokens = 1;
  vec_push(
      x.heap, &x.s.insn,
      ((dae_insn){
          .op = DAE_ALU, .use_imm = true, .uop_end = 1, .iter = {1, 100}}));
  for (uint32_t k = 0; k < 2; k++) {
    uint32_t at = dae_case_load(&x, DAE_INP, 0, 0, 4);
    x.s.insn.v[at].dep = DAE_PUSH_NEXT;
  }
  for (uint32_t k = 0; k < 2; k++) {
    uint32_t at = dae_case_gemm(&x, 0, 1);
    x.s.insn.v[at].dep = DAE_POP_PREV;
  }
  dae_case_find(&x);
  dae_times got = simulate(&x);
  assert_int_equal(got.end[1], 19);
  assert_int_equal(got.end[2], 204);
  assert_int_equal(got.start[3], 204);
  assert_int_equal(got.cycles, 214);
  end_case(&t, &x);
}

/* Ten zeros around two entries. */
static void test_padding(void **unused) {
  (void)unused;
  test_heap t;
  dae_case x;
  begin_case(&t, &x);
  uint32_t at = dae_case_load(&x, DAE_INP, 0, 0, 2);
  memcpy(x.s.insn.v[at].pad, (uint8_t[]){1, 1, 1, 1}, 4);
  dae_case_order(&x);
  assert_int_equal(simulate(&x).cycles, 4 + 10 + 10);
  end_case(&t, &x);
}

/* Requests of at most 4 cycles, each after 3. */
static void test_requests(void **unused) {
  (void)unused;
  test_heap t;
  dae_case x;
  begin_case(&t, &x);
  x.m.burst = 3;
  x.m.beats = 4;
  dae_case_load(&x, DAE_INP, 0, 0, 4);
  dae_case_order(&x);
  assert_int_equal(simulate(&x).cycles, 7 + 7 + 10);
  end_case(&t, &x);
}

/* Weights are brought for the first of three micro-operations, and for the
 * third, which has others. */
static void test_preload(void **unused) {
  (void)unused;
  test_heap t;
  dae_case x;
  const dae_uop u[] = {{{0, 0, 0}}, {{1, 1, 0}}, {{2, 2, 1}}};
  begin_case(&t, &x);
  x.m.gemm_preload = 16;
  dae_case_uops(&x, 3, u);
  uint32_t at = dae_case_gemm(&x, 0, 1);
  x.s.insn.v[at].uop_end = 3;
  dae_case_order(&x);
  dae_times got = simulate(&x);
  assert_int_equal(got.end[at] - got.start[at], 4 + 3 + 2 * 16);
  end_case(&t, &x);
}

/* What a load brings, multiplied, shifted, cut off and stored. */
static void test_results(void **unused) {
  (void)unused;
  test_heap t;
  dae_case x;
  dae_state state;
  uint32_t at;
  const dae_uop u = {{3, 2, 1}};
  begin_case(&t, &x);
  dae_case_uops(&x, 1, &u);
  dae_case_load(&x, DAE_INP, 2, 1, 1);
  dae_case_load(&x, DAE_WGT, 1, 2, 1);
  dae_case_gemm(&x, 0, 1);
  vec_push(x.heap, &x.s.insn,
           ((dae_insn){.op = DAE_ALU,
                       .alu = DAE_SHR,
                       .use_imm = true,
                       .imm = 1,
                       .uop_end = 1,
                       .iter = {1, 1}}));
  dae_case_store(&x, 3, 64, 1);
  dae_case_order(&x);
  dae_state_init(&state, &x.m, x.heap);
  state.bytes = x.bytes;
  state.dram = mem_resize(x.heap, NULL, 0, x.bytes);
  memset(state.dram, 0, x.bytes);
  for (int k = 0; k < 16; k++) {
    state.dram[16 + k] = (uint8_t)k; /* 0 .. 15, whose sum is 120 */
    for (int j = 0; j < 16; j++) state.dram[512 + 16 * j + k] = (uint8_t)-j;
  }
  assert_true(dae_execute(&state, &x.s, &at));
  for (int j = 0; j < 16; j++)
    assert_int_equal((int8_t)state.dram[64 * 16 + j], (int8_t)(-60 * j));
  x.s.insn.v[1].sram = 1 << 11;
  assert_false(dae_execute(&state, &x.s, &at));
  assert_int_equal(at, 1);
  mem_free(x.heap, state.dram, x.bytes);
  dae_state_free(&state, x.heap);
  end_case(&t, &x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_load),
      cmocka_unit_test(test_hiding),
      cmocka_unit_test(test_queue),
      cmocka_unit_test(test_full_fifo),
      cmocka_unit_test(test_padding),
      cmocka_unit_test(test_requests),
      cmocka_unit_test(test_preload),
      cmocka_unit_test(test_results),
      cmocka_unit_test(test_arbitration),
      cmocka_unit_test(test_load_and_execute),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
