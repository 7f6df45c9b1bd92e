/* SPDX-License-Identifier: Apache-2.0
 * The public API of schedules and primitives; memory that runs out in it. */
#include "support/public_api.h"

#include <stdio.h>

static void test_schedules(void **state) {
  (void)state;
  api_fixture f;
  api_start(&f);
  tess_rv l[8], v[2];
  int64_t a, b;
  tess_schedule_place(f.s, "mine.lua", 12);
  tess_rv c = api_block(&f, "C");
  assert_int_equal(loops(&f, c, l), 3);
  api_tile(&f, l[0], v);
  assert_int_equal(tess_schedule_get_int(f.s, v[0], &a), TESS_OK);
  assert_int_equal(tess_schedule_get_int(f.s, v[1], &b), TESS_OK);
  assert_int_equal(a * b, 64);
  assert_int_equal(tess_schedule_rv_kind(f.s, c), TESS_RV_BLOCK);
  assert_int_equal(tess_schedule_rv_kind(f.s, l[1]), TESS_RV_LOOP);
  assert_int_equal(tess_schedule_rv_kind(f.s, v[1]), TESS_RV_INT);
  assert_int_equal(tess_schedule_rv_kind(f.s, 999), TESS_RV_NONE);
  int same;
  tess_rv again[8];
  assert_int_equal(loops(&f, c, again), 4);
  assert_int_equal(tess_schedule_is_same(f.s, l[1], again[2], &same), TESS_OK);
  assert_true(same);
  assert_int_equal(tess_schedule_is_same(f.s, l[1], again[1], &same), TESS_OK);
  assert_false(same);
  assert_int_equal(tess_schedule_is_same(f.s, c, l[1], &same), TESS_OK);
  assert_false(same);
  assert_int_equal(tess_schedule_is_same(f.s, v[0], v[0], &same), TESS_OK);
  assert_true(same);
  assert_int_equal(tess_schedule_is_same(f.s, v[0], v[1], &same), TESS_OK);
  assert_false(same);
  assert_int_equal(tess_schedule_is_same(f.s, c, 999, &same), TESS_INVALID);
  char *text;
  assert_int_equal(tess_schedule_rv_text(f.s, l[0], &text), TESS_OK);
  assert_string_equal(text, "a loop that is gone");
  tess_text_free(f.c, text);
  assert_int_equal(tess_schedule_rv_text(f.s, 999, &text), TESS_INVALID);
  /* A copy is independent. */
  tess_schedule *copy;
  assert_int_equal(tess_schedule_copy(f.s, &copy), TESS_OK);
  uint32_t n;
  assert_int_equal(CALL(&f, "parallel", 0, NULL, &n, {"loop", rv(l[1])}),
                   TESS_OK);
  tess_program *p, *q;
  assert_int_equal(tess_schedule_program(f.s, &p), TESS_OK);
  assert_int_equal(tess_schedule_program(copy, &q), TESS_OK);
  tess_loop_info info = TESS_INIT(tess_loop_info);
  assert_int_equal(tess_schedule_loop_info(copy, l[1], &info), TESS_OK);
  assert_string_equal(info.kind, "serial");
  assert_int_equal(tess_schedule_loop_info(f.s, l[1], &info), TESS_OK);
  assert_string_equal(info.kind, "parallel");
  assert_string_equal(info.name, "j");
  assert_int_equal(info.extent, 32);
  assert_int_equal(info.iter_type, TESS_SPATIAL);
  assert_int_equal(tess_schedule_loop_info(f.s, l[2], &info), TESS_OK);
  assert_int_equal(info.iter_type, TESS_REDUCE);
  assert_int_equal(tess_schedule_loop_info(f.s, l[0], &info), TESS_DEAD);
  assert_int_equal(tess_schedule_loop_info(f.s, c, &info), TESS_TYPE);
  int64_t work;
  assert_int_equal(tess_schedule_work(f.s, l[2], &work), TESS_OK);
  assert_int_equal(work, 4 * 16); /* clear, multiply, add and store */
  assert_int_equal(tess_schedule_work(f.s, l[0], &work), TESS_DEAD);
  assert_int_equal(tess_schedule_work(f.s, 999, &work), TESS_INVALID);
  tess_program_free(p);
  tess_program_free(q);
  tess_schedule_free(copy);
  api_end(&f);
}

static void test_api_blocks(void **state) {
  (void)state;
  api_fixture f;
  api_start(&f);
  tess_block_info info = TESS_INIT(tess_block_info);
  uint64_t mask;
  uint32_t n;
  char *json;
  tess_rv c = api_block(&f, "C"), d = api_block(&f, "D");
  assert_int_equal(tess_schedule_block_info(f.s, c, &info), TESS_OK);
  assert_string_equal(info.name, "C");
  assert_int_equal(info.niters, 3);
  assert_int_equal(info.is_reduction, 1);
  assert_int_equal(info.is_spatial, 0);
  assert_int_equal(info.is_output, 0);
  assert_int_equal(info.needs_multi_level_tiling, 1);
  assert_int_equal(info.iters[2], TESS_REDUCE);
  assert_int_equal(tess_schedule_access(f.s, c, 0, 0, &mask), TESS_OK);
  assert_int_equal(mask, 5); /* A[i, k] */
  assert_int_equal(tess_schedule_access(f.s, c, 1, 0, &mask), TESS_OK);
  assert_int_equal(mask, 3); /* C[i, j] */
  assert_int_equal(tess_schedule_access(f.s, c, 1, 1, &mask), TESS_NOT_FOUND);
  assert_int_equal(tess_schedule_block_info(f.s, d, &info), TESS_OK);
  assert_int_equal(info.is_spatial, 1);
  assert_int_equal(info.is_output, 1);
  assert_int_equal(info.needs_multi_level_tiling, 0);
  tess_value pairs[] = {str("b"), api_num(2), str("a"), str("x\"y")};
  tess_value dict = {.kind = TESS_V_DICT, .n = 4, .list = pairs};
  assert_int_equal(CALL(&f, "annotate", 0, NULL, &n, {"block_or_loop", rv(c)},
                        {"ann_key", str("k")}, {"ann_val", dict}),
                   TESS_OK);
  assert_int_equal(tess_schedule_annotation(f.s, c, "k", &json), TESS_OK);
  assert_string_equal(json, "{\"a\": \"x\\\"y\", \"b\": 2}");
  tess_text_free(f.c, json);
  assert_int_equal(tess_schedule_annotation(f.s, c, "none", &json), TESS_OK);
  assert_null(json);
  assert_int_equal(tess_schedule_stored_value(f.s, d, &json), TESS_OK);
  assert_string_equal(json, "[\"max\", [\"load\", \"C\"], 0.0]");
  tess_text_free(f.c, json);
  assert_int_equal(CALL(&f, "annotate", 0, NULL, &n, {"block_or_loop", rv(c)},
                        {"ann_key", str("tiling_structure")},
                        {"ann_val", str("SSRSRS")}),
                   TESS_OK);
  assert_int_equal(tess_schedule_block_info(f.s, c, &info), TESS_OK);
  assert_int_equal(info.needs_multi_level_tiling, 0);
  api_end(&f);
}

static void test_errors(void **state) {
  (void)state;
  api_fixture f;
  api_start(&f);
  tess_rv l[8], v[2], out[4];
  uint32_t n;
  tess_rv c = api_block(&f, "C");
  loops(&f, c, l);
  api_tile(&f, l[0], v);
  tess_schedule_place(f.s, "mine.lua", 12);
  api_expect(&f, CALL(&f, "no_such", 0, NULL, &n, {"x", api_num(1)}),
             TESS_NOT_FOUND, "there is no primitive 'no_such'", "", "", "");
  api_expect(&f, CALL(&f, "split", 4, out, &n, {"lop", rv(l[1])}),
             TESS_NOT_FOUND,
             "split has no operand 'lop'; it takes loop, "
             "factors, preserve_unit_iters, disable_predication",
             "split", "", "");
  api_expect(
      &f, CALL(&f, "split", 4, out, &n, {"loop", rv(l[1])}, {"loop", rv(l[1])}),
      TESS_INVALID, "split: operand 'loop': it is given twice", "split", "",
      "");
  api_expect(&f, CALL(&f, "split", 4, out, &n, {"loop", rv(l[1])}),
             TESS_INVALID,
             "split: operand 'factors' is missing (extents of the new loops, "
             "outer first; one may be ts.auto)",
             "split", "MISSING", "mine.lua:12");
  api_expect(&f, CALL(&f, "parallel", 0, NULL, &n, {"loop", rv(12345)}),
             TESS_INVALID,
             "parallel: operand 'loop': there is no random variable 12345 here",
             "parallel", "NO_VARIABLE", "mine.lua:12");
  api_expect(&f, CALL(&f, "parallel", 0, NULL, &n, {"loop", rv(0)}),
             TESS_INVALID,
             "parallel: operand 'loop': there is no random variable 0 here",
             "parallel", "NO_VARIABLE", "mine.lua:12");
  tess_loop_info info = TESS_INIT(tess_loop_info);
  api_expect(&f, tess_schedule_loop_info(f.s, 12345, &info), TESS_INVALID,
             "there is no random variable 12345 here", "", "", "");
  api_expect(&f, CALL(&f, "parallel", 0, NULL, &n, {"loop", rv(l[0])}),
             TESS_DEAD,
             "parallel: operand 'loop': l1 refers to nothing any "
             "more: instruction 4 (split) removed it",
             "parallel", "DEAD", "mine.lua:12");
  tess_value three = {
      .kind = TESS_V_LIST, .n = 1, .list = (tess_value[]){api_num(3)}};
  api_expect(
      &f, CALL(&f, "split", 4, out, &n, {"loop", rv(l[1])}, {"factors", three}),
      TESS_REFUSED,
      "split: the factors multiply to 3, less than the extent 32 of loop "
      "j",
      "split", "FACTOR_PRODUCT_SMALL", "mine.lua:12");
  assert_non_null(strstr(tess_error(f.c)->detail, "here"));
  api_expect(
      &f,
      tess_schedule_can(f.s, "split", 2,
                        (tess_arg[]){{"loop", rv(l[1])}, {"factors", three}}),
      TESS_REFUSED,
      "split: the factors multiply to 3, less than the extent 32 of loop "
      "j",
      "split", "FACTOR_PRODUCT_SMALL", "mine.lua:12");
  tess_value deep[100];
  for (int i = 0; i < 100; i++)
    deep[i] =
        i ? (tess_value){.kind = TESS_V_LIST, .n = 1, .list = &deep[i - 1]}
          : api_num(1);
  api_expect(&f,
             CALL(&f, "annotate", 0, NULL, &n, {"block_or_loop", rv(c)},
                  {"ann_key", str("k")}, {"ann_val", deep[99]}),
             TESS_LIMIT, "annotate: operand 'ann_val': it is nested too deep",
             "annotate", "", "");
  api_end(&f);
}

static void test_primitives(void **state) {
  (void)state;
  api_fixture f;
  api_start(&f);
  tess_prim_info info = TESS_INIT(tess_prim_info);
  tess_prim_operand o = TESS_INIT(tess_prim_operand);
  const char *name, *text;
  char *doc;
  bool seen = false;
  for (uint32_t i = 0; i < tess_prim_count(); i++) {
    assert_int_equal(tess_prim_get(i, &info), TESS_OK);
    for (uint32_t k = 0; k < info.noperands; k++)
      assert_int_equal(tess_prim_operand_get(i, k, &o), TESS_OK);
    assert_int_equal(tess_prim_operand_get(i, info.noperands, &o),
                     TESS_NOT_FOUND);
    tess_status refusal;
    uint32_t k = 0;
    do refusal = tess_prim_refusal_get(i, k++, &name, &text);
    while (refusal == TESS_OK);
    assert_int_equal(refusal, TESS_NOT_FOUND);
    if (strcmp(info.name, "sample_perfect_tile")) continue;
    seen = true;
    assert_int_equal(info.samples, 1);
    tess_prim_operand_get(i, 2, &o);
    assert_string_equal(o.name, "max_innermost_factor");
    assert_string_equal(o.kind, "INT");
    assert_string_equal(o.role, "attr");
    assert_string_equal(o.default_text, "16");
    assert_int_equal(o.required, 0);
  }
  assert_true(seen);
  assert_int_equal(tess_prim_get(tess_prim_count(), &info), TESS_NOT_FOUND);
  assert_int_equal(tess_prim_doc(f.c, "split", &doc), TESS_OK);
  assert_non_null(strstr(doc, "## split"));
  tess_text_free(f.c, doc);
  assert_int_equal(tess_prim_doc(f.c, NULL, &doc), TESS_OK);
  tess_text_free(f.c, doc);
  assert_int_equal(tess_prim_doc(f.c, "x", &doc), TESS_NOT_FOUND);
  assert_int_equal(tess_prim_stubs(f.c, &doc), TESS_OK);
  tess_text_free(f.c, doc);
  api_end(&f);
}

/* ---- each allocation failing -------------------------------------------- */

/* Each call reports the failure, and the next one works. */
static tess_status api_everything(api_fixture *f) {
  tess_schedule *s = NULL, *copy = NULL, *again = NULL;
  tess_trace *t = NULL, *u = NULL, *m = NULL;
  tess_program *p = NULL;
  tess_stepper *st = NULL;
  tess_alternatives alt = TESS_INIT(tess_alternatives);
  char *a = NULL, *b = NULL, *c = NULL;
  tess_rv out[8];
  uint32_t n;
  tess_arg name = {"name", str("C")}, blk = {"block", rv(1)};
  tess_arg tile_args[] = {{"loop", rv(2)}, {"n", api_num(2)}};
  tess_arg knob[] = {{"name", str("tile")}, {"value", rv(5)}}, param;
  tess_decision decision;
  tess_status r = tess_schedule_new(f->p, NULL, 1, &s);
#define TRY(call) \
  if (r == TESS_OK) r = (call)
  TRY(tess_schedule_call(s, "get_block", 1, &name, 8, out, &n, NULL));
  TRY(tess_schedule_call(s, "get_loops", 1, &blk, 8, out, &n, NULL));
  TRY(tess_schedule_call(s, "sample_perfect_tile", 2, tile_args, 8, out, &n,
                         NULL));
  TRY(tess_schedule_call(s, "knob", 2, knob, 8, out, &n, NULL));
  TRY(tess_schedule_copy(s, &copy));
  TRY(tess_schedule_rv_text(s, 2, &a));
  TRY(tess_schedule_trace(s, &t));
  TRY(tess_trace_lua(t, &b));
  TRY(tess_trace_from_lua(f->c, b, f->p, &u));
  TRY(tess_trace_replay(u, NULL, NULL, &again));
  TRY(tess_trace_mutate(t, 3, &m));
  TRY(tess_schedule_program(again, &p));
  TRY(tess_stepper_new(t, NULL, &st));
  TRY(tess_stepper_goto(st, 3));
  TRY(tess_stepper_alternatives(st, 10, &alt));
  TRY(tess_stepper_diff(st, &c));
  TRY(tess_trace_params(t, 1, &param, &n));
  TRY(tess_trace_decisions(t, NULL, 1, &decision, &n));
#undef TRY
  if (r != TESS_OK) assert_int_equal(tess_error(f->c)->code, r);
  tess_text_free(f->c, a);
  tess_text_free(f->c, b);
  tess_text_free(f->c, c);
  tess_stepper_free(st);
  tess_program_free(p);
  tess_trace_free(m);
  tess_trace_free(u);
  tess_trace_free(t);
  tess_schedule_free(again);
  tess_schedule_free(copy);
  tess_schedule_free(s);
  return r;
}

static void test_api_each_allocation_failing(void **state) {
  (void)state;
  api_fixture f;
  api_start(&f);
  assert_int_equal(api_everything(&f), TESS_OK);
  uint64_t live = f.fault.live_blocks;
  for (uint64_t n = 1;; n++) {
    fault_arm(&f.fault, n);
    tess_status st = api_everything(&f);
    bool failed = f.fault.failed != 0;
    f.fault.fail_at = 0;
    assert_int_equal(f.fault.live_blocks, live);
    if (!failed) {
      assert_int_equal(st, TESS_OK);
      assert_true(n > 50);
      break;
    }
    assert_int_equal(st, TESS_NOMEM);
  }
  api_end(&f);
}

/* The memory cap is named, and the call that hit it. */
static void test_memory_cap(void **state) {
  (void)state;
  api_fixture f;
  char cap[128];
  api_start(&f);
  tess_rv c = api_block(&f, "C"), l;
  uint32_t n;
  f.c->heap.cap = f.c->heap.used + (64 << 10);
  snprintf(cap, sizeof cap,
           "add_unit_loop: the memory cap of %zu bytes (option memory_cap of "
           "the context) was reached",
           f.c->heap.cap);
  tess_status s;
  do s = CALL(&f, "add_unit_loop", 1, &l, &n, {"block_or_loop", rv(c)});
  while (s == TESS_OK);
  assert_int_equal(s, TESS_LIMIT);
  assert_string_equal(tess_error(f.c)->message, cap);
  f.c->heap.cap = 0;
  assert_int_equal(
      CALL(&f, "add_unit_loop", 1, &l, &n, {"block_or_loop", rv(c)}), TESS_OK);
  api_end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_schedules),
      cmocka_unit_test(test_memory_cap),
      cmocka_unit_test(test_api_blocks),
      cmocka_unit_test(test_errors),
      cmocka_unit_test(test_primitives),
      cmocka_unit_test(test_api_each_allocation_failing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
