/* SPDX-License-Identifier: Apache-2.0
 * Streams of a decoupled access-execute machine: encoding, tokens, the
 * verifier. */
#include "support/test.h"
#include "support/dae.h"
#include "base/rng.h"

static void begin_case(test_heap *t, dae_case *x) {
  test_heap_start(t, 0);
  dae_case_start(x, &t->heap);
}

static void end_case(test_heap *t, dae_case *x) {
  dae_case_end(x);
  test_heap_end(t);
}

/* Two virtual threads: each loads, then executes, several times. */
static void classical(dae_case *x, uint32_t steps) {
  const dae_uop u[] = {{{0, 0, 0}}, {{64, 64, 0}}};
  dae_case_uops(x, 2, u);
  for (uint32_t k = 0; k < steps; k++) {
    for (uint32_t v = 0; v < 2; v++)
      dae_case_load(x, DAE_INP, 64 * v, 100 * k + 8 * v, 4);
    for (uint32_t v = 0; v < 2; v++) dae_case_gemm(x, v, 4);
  }
}

/* In the words of TVM's paper. */
static void print_classical(const dae_case *x, strbuf *out) {
  uint32_t n[2] = {0, 0};
  for (uint32_t k = 1; k < x->s.insn.n; k++) {
    const dae_insn *i = &x->s.insn.v[k];
    bool loads = dae_unit_of(i) == DAE_LOADS;
    const char *own = loads ? "ld" : "ex", *other = loads ? "ex" : "ld";
    if (i->dep & (DAE_POP_PREV | DAE_POP_NEXT))
      str_printf(out, "%s.pop_dep_from(%s) ", own, other);
    str_printf(out, "%s.perform(%s%u) ", own, own, n[loads]++);
    if (i->dep & (DAE_PUSH_PREV | DAE_PUSH_NEXT))
      str_printf(out, "%s.push_dep_to(%s) ", own, other);
  }
}

static void test_classical(void **unused) {
  (void)unused;
  test_heap t;
  dae_case x;
  strbuf out;
  begin_case(&t, &x);
  str_init(&out, x.heap);
  classical(&x, 2);
  dae_case_order(&x);
  print_classical(&x, &out);
  assert_string_equal(
      str_get(&out),
      "ld.perform(ld0) ld.push_dep_to(ex) ld.perform(ld1) ld.push_dep_to(ex) "
      "ex.pop_dep_from(ld) ex.perform(ex0) ex.push_dep_to(ld) "
      "ex.pop_dep_from(ld) ex.perform(ex1) ex.push_dep_to(ld) "
      "ld.pop_dep_from(ex) ld.perform(ld2) ld.push_dep_to(ex) "
      "ld.pop_dep_from(ex) ld.perform(ld3) ld.push_dep_to(ex) "
      "ex.pop_dep_from(ld) ex.perform(ex2) "
      "ex.pop_dep_from(ld) ex.perform(ex3) ");
  str_free(&out);
  end_case(&t, &x);
}

/* Load, multiply, store, and memory that a later load reads again. */
static void small_program(dae_case *x) {
  const dae_uop u[] = {{{0, 0, 0}}, {{1, 1, 0}}};
  dae_case_uops(x, 2, u);
  dae_case_load(x, DAE_WGT, 0, 16, 1);
  dae_case_load(x, DAE_INP, 0, 0, 1);
  dae_case_gemm(x, 0, 1);
  dae_case_store(x, 0, 64, 1);
  dae_case_load(x, DAE_INP, 0, 1, 1);
  dae_case_gemm(x, 0, 1);
  dae_case_load(x, DAE_INP, 1, 64, 1); /* what the store wrote */
  dae_case_gemm(x, 1, 1);
  dae_case_store(x, 1, 65, 1);
  vec_push(x->heap, &x->s.insn, ((dae_insn){.op = DAE_FINISH}));
}

static bool verify(dae_case *x, bool idle, strbuf *out) {
  str_clear(out);
  return dae_verify(&x->m, &x->s, x->needs, idle, &x->a, out);
}

/* The instruction that takes what instruction `by` pushes to that side. */
static uint32_t taker_of(const dae_case *x, uint32_t by, uint8_t push) {
  uint8_t pop = push == DAE_PUSH_NEXT ? DAE_POP_PREV : DAE_POP_NEXT;
  int step = push == DAE_PUSH_NEXT ? 1 : -1;
  dae_unit from = dae_unit_of(&x->s.insn.v[by]);
  uint32_t nth = 0;
  for (uint32_t i = 0; i < by; i++)
    nth += dae_unit_of(&x->s.insn.v[i]) == from && (x->s.insn.v[i].dep & push);
  for (uint32_t i = 0; i < x->s.insn.n; i++)
    if ((int)dae_unit_of(&x->s.insn.v[i]) == (int)from + step &&
        (x->s.insn.v[i].dep & pop) && nth-- == 0)
      return i;
  return UINT32_MAX;
}

static void test_each_token(void **unused) {
  (void)unused;
  test_heap t;
  dae_case x;
  strbuf out;
  uint32_t removed = 0;
  begin_case(&t, &x);
  str_init(&out, x.heap);
  small_program(&x);
  dae_case_order(&x);
  assert_true(verify(&x, true, &out));
  assert_string_equal(str_get(&out), "");
  for (uint32_t i = 0; i < x.s.insn.n; i++)
    for (uint8_t push = DAE_PUSH_PREV; push <= DAE_PUSH_NEXT; push *= 2) {
      if (!(x.s.insn.v[i].dep & push)) continue;
      uint32_t taker = taker_of(&x, i, push);
      uint8_t pop = push == DAE_PUSH_NEXT ? DAE_POP_PREV : DAE_POP_NEXT;
      assert_int_not_equal(taker, UINT32_MAX);
      removed++;
      x.s.insn.v[i].dep &= (uint8_t)~push; /* the push alone */
      assert_false(verify(&x, false, &out));
      x.s.insn.v[taker].dep &= (uint8_t)~pop; /* the whole token */
      assert_false(verify(&x, false, &out));
      assert_non_null(strstr(str_get(&out), "race: instruction "));
      x.s.insn.v[i].dep |= push; /* the pop alone */
      assert_false(verify(&x, false, &out));
      x.s.insn.v[taker].dep |= pop;
    }
  assert_true(removed >= 8);
  assert_true(verify(&x, true, &out));
  str_free(&out);
  end_case(&t, &x);
}

static void test_idle_token(void **unused) {
  (void)unused;
  test_heap t;
  dae_case x;
  strbuf out;
  begin_case(&t, &x);
  str_init(&out, x.heap);
  small_program(&x);
  dae_case_order(&x);
  /* The load of the weights also tells that of the micro-operations, which the
   * load of the inputs tells anyway. */
  uint32_t wgt = 0, uop = 0;
  for (uint32_t i = x.s.insn.n; i-- > 0;) {
    if (x.s.insn.v[i].mem == DAE_WGT && x.s.insn.v[i].op == DAE_LOAD) wgt = i;
    if (x.s.insn.v[i].mem == DAE_UOP && x.s.insn.v[i].op == DAE_LOAD) uop = i;
  }
  x.s.insn.v[wgt].dep |= DAE_PUSH_NEXT;
  x.s.insn.v[uop].dep |= DAE_POP_PREV;
  assert_true(verify(&x, true, &out));
  assert_non_null(strstr(str_get(&out), "idle: the token of instruction 1 "));
  assert_null(strstr(strstr(str_get(&out), "idle") + 1, "idle"));
  str_free(&out);
  end_case(&t, &x);
}

/* Wherever one more is pushed and taken later, it is idle, or makes another
 * so, or puts a dependence out of order: it is never passed over. */
static void test_each_idle_token(void **unused) {
  (void)unused;
  test_heap t;
  dae_case x;
  strbuf out;
  uint32_t added = 0, idle = 0;
  begin_case(&t, &x);
  str_init(&out, x.heap);
  small_program(&x);
  for (uint32_t k = 0; k < 3; k++) { /* nothing waits for these */
    dae_case_load(&x, DAE_INP, 8 + k, 2 + k, 1);
    dae_case_gemm(&x, 0, 1);
  }
  dae_case_order(&x);
  for (uint32_t i = 0; i < x.s.insn.n; i++)
    for (uint32_t j = i + 1; j < x.s.insn.n; j++) {
      int to = (int)dae_unit_of(&x.s.insn.v[j]),
          from = (int)dae_unit_of(&x.s.insn.v[i]);
      if (to - from != 1 && from - to != 1) continue;
      uint8_t push = to > from ? DAE_PUSH_NEXT : DAE_PUSH_PREV;
      uint8_t pop = to > from ? DAE_POP_PREV : DAE_POP_NEXT;
      if ((x.s.insn.v[i].dep & push) || (x.s.insn.v[j].dep & pop)) continue;
      x.s.insn.v[i].dep |= push, x.s.insn.v[j].dep |= pop;
      bool ok = verify(&x, true, &out);
      assert_non_null(
          strstr(str_get(&out), ok ? "idle: the token of" : "race: "));
      added++, idle += ok;
      x.s.insn.v[i].dep &= (uint8_t)~push, x.s.insn.v[j].dep &= (uint8_t)~pop;
    }
  assert_true(added >= 20 && idle >= 10);
  str_free(&out);
  end_case(&t, &x);
}

static void test_deadlock(void **unused) {
  (void)unused;
  test_heap t;
  dae_case x;
  strbuf out;
  begin_case(&t, &x);
  str_init(&out, x.heap);
  dae_case_load(&x, DAE_INP, 0, 0, 1);
  dae_case_gemm(&x, 0, 1);
  x.s.insn.v[0].dep = DAE_POP_NEXT | DAE_PUSH_NEXT;
  x.s.insn.v[1].dep = DAE_POP_PREV | DAE_PUSH_PREV;
  dae_case_find(&x);
  assert_false(verify(&x, false, &out));
  assert_string_equal(
      str_get(&out),
      "deadlock:\n"
      "  1 (gemm uop[0:1] for 1, 1 dst 0 0 src 0 0 wgt 0 0 pop load push load) "
      "waits for a token of the load unit\n"
      "  0 (load inp[0] <- dram[0] 1 x 1 pop compute push compute) waits for "
      "a token of the compute unit\n");
  dae_times times;
  dae_simulate(&x.m, &x.s, x.needs, &x.a, &times);
  assert_true(times.is_stuck);
  str_free(&out);
  end_case(&t, &x);
}

/* Words that were packed by hand, from VTA's hw_spec.h. */
static void test_encoding(void **unused) {
  (void)unused;
  dae_machine m;
  uint64_t w[2];
  dae_test_machine(&m);
  dae_insn load = {.op = DAE_LOAD,
                   .dep = DAE_POP_NEXT | DAE_PUSH_NEXT,
                   .mem = DAE_INP,
                   .pad = {1, 2, 3, 4},
                   .sram = 5,
                   .dram = 6,
                   .y = 7,
                   .x = 8,
                   .stride = 9};
  assert_true(dae_encode(&m, &load, w));
  assert_int_equal(w[0], 10u << 3 | 2u << 7 | 5u << 10 | UINT64_C(6) << 26);
  assert_int_equal(w[1],
                   7u | 8u << 16 | UINT64_C(9) << 32 | UINT64_C(0x4321) << 48);
  dae_insn gemm = {.op = DAE_GEMM,
                   .reset = true,
                   .uop_bgn = 3,
                   .uop_end = 8192,
                   .iter = {10, 11},
                   .factor = {{1, 2}, {3, 4}, {5, 6}}};
  assert_true(dae_encode(&m, &gemm, w));
  assert_int_equal(w[0], 2u | 1u << 7 | 3u << 8 | UINT64_C(8192) << 21 |
                             UINT64_C(10) << 35 | UINT64_C(11) << 49);
  assert_int_equal(w[1], 1u | 2u << 11 | 3u << 22 | UINT64_C(4) << 33 |
                             UINT64_C(5) << 44 | UINT64_C(6) << 54);
  dae_insn alu = {.op = DAE_ALU,
                  .alu = DAE_SHR,
                  .use_imm = true,
                  .imm = -2,
                  .uop_end = 1,
                  .iter = {1, 1}};
  assert_true(dae_encode(&m, &alu, w));
  assert_int_equal(w[1], UINT64_C(3) << 44 | UINT64_C(1) << 47 |
                             UINT64_C(0xfffe) << 48);
  alu.imm = 40000;
  assert_false(dae_encode(&m, &alu, w));
  assert_int_equal(dae_encode_uop(&m, &(dae_uop){{1, 2, 3}}),
                   1u | 2u << 11 | 3u << 22);
}

static uint32_t draw(rng *r, uint32_t n) { return (uint32_t)rng_below(r, n); }

static void test_round_trip(void **unused) {
  (void)unused;
  dae_machine m;
  rng r;
  dae_test_machine(&m);
  rng_init(&r, 1, 0);
  for (int k = 0; k < TEST_DRAWS(4000); k++) {
    static const uint8_t ops[] = {DAE_LOAD, DAE_STORE, DAE_GEMM, DAE_ALU,
                                  DAE_FINISH};
    dae_insn i = {.op = ops[draw(&r, 5)], .dep = (uint8_t)draw(&r, 16)}, back;
    uint64_t w[2];
    if (i.op == DAE_LOAD || i.op == DAE_STORE) {
      i.mem = (uint8_t)draw(&r, DAE_NMEM);
      i.sram = draw(&r, 1 << 16), i.dram = draw(&r, 1u << 31);
      i.y = draw(&r, 1 << 16), i.x = draw(&r, 1 << 16);
      i.stride = draw(&r, 1 << 16);
      for (int p = 0; p < 4; p++) i.pad[p] = (uint8_t)draw(&r, 16);
    } else if (i.op != DAE_FINISH) {
      i.reset = draw(&r, 2);
      i.uop_bgn = draw(&r, 8192), i.uop_end = draw(&r, 8193);
      i.iter[0] = draw(&r, 1 << 14), i.iter[1] = draw(&r, 1 << 14);
      for (int f = 0; f < (i.op == DAE_GEMM ? 3 : 2); f++)
        for (int l = 0; l < 2; l++) i.factor[f][l] = draw(&r, 1024);
      if (i.op == DAE_ALU) {
        i.alu = (uint8_t)draw(&r, DAE_NALU), i.use_imm = draw(&r, 2);
        i.imm = (int32_t)draw(&r, 1 << 16) - (1 << 15);
      }
    }
    assert_true(dae_encode(&m, &i, w));
    assert_true(dae_decode(&m, w, &back));
    strbuf a, b;
    test_heap t;
    test_heap_start(&t, 0);
    str_init(&a, &t.heap), str_init(&b, &t.heap);
    dae_print_insn(&m, &i, &a), dae_print_insn(&m, &back, &b);
    assert_string_equal(str_get(&a), str_get(&b));
    str_free(&a), str_free(&b);
    test_heap_end(&t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_encoding),   cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_classical),  cmocka_unit_test(test_each_token),
      cmocka_unit_test(test_idle_token), cmocka_unit_test(test_each_idle_token),
      cmocka_unit_test(test_deadlock),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
