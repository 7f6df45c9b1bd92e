/* SPDX-License-Identifier: Apache-2.0
 * The public API of traces and steppers. */
#include "support/public_api.h"

#include <stdio.h>

static tess_trace *tiled(api_fixture *f, tess_rv v[2]) {
  tess_rv l[8];
  tess_trace *t;
  loops(f, api_block(f, "C"), l);
  api_tile(f, l[0], v);
  assert_int_equal(tess_schedule_trace(f->s, &t), TESS_OK);
  return t;
}

static void test_traces(void **state) {
  (void)state;
  api_fixture f;
  api_start(&f);
  tess_rv v[2];
  tess_schedule_place(f.s, "mine.lua", 7);
  tess_trace *t = tiled(&f, v), *u;
  tess_inst_info info = TESS_INIT(tess_inst_info);
  tess_arg args[4];
  uint32_t n;
  assert_int_equal(tess_trace_size(t), 4);
  assert_ptr_equal(tess_trace_program(t), f.p);
  assert_int_equal(tess_trace_inst(t, 3, &info), TESS_OK);
  assert_string_equal(info.name, "sample_perfect_tile");
  assert_string_equal(info.file, "mine.lua");
  assert_int_equal(info.line, 7);
  assert_int_equal(info.nout, 2);
  assert_int_equal(info.out[0], v[0]);
  assert_int_equal(info.ndecision, 2);
  assert_int_equal(info.decision[0] * info.decision[1], 64);
  assert_int_equal(tess_trace_inst(t, 0, &info), TESS_NOT_FOUND);
  assert_int_equal(tess_trace_inst(t, 5, &info), TESS_NOT_FOUND);
  assert_int_equal(tess_trace_operands(t, 3, "attr", 4, args, &n), TESS_OK);
  assert_int_equal(n, 2);
  assert_string_equal(args[1].name, "max_innermost_factor");
  assert_int_equal(args[1].value.i, 16);
  assert_int_equal(tess_trace_operands(t, 4, "in", 4, args, &n), TESS_OK);
  assert_int_equal(n, 2);
  assert_int_equal(args[1].value.list[1].kind, TESS_V_OP);
  static const char *const unknown[] = {"out", "decision", "bogus", ""};
  for (int i = 0; i < 4; i++) {
    n = 99;
    assert_int_equal(tess_trace_operands(t, 4, unknown[i], 4, args, &n),
                     TESS_INVALID);
    assert_int_equal(n, 0);
    assert_non_null(strstr(tess_error(f.c)->message,
                           "operands have the role 'in' or 'attr', not '"));
  }
  for (int lua = 0; lua < 2; lua++) {
    char *text;
    assert_int_equal(lua ? tess_trace_lua(t, &text) : tess_trace_json(t, &text),
                     TESS_OK);
    assert_int_equal(lua ? tess_trace_from_lua(f.c, text, f.p, &u)
                         : tess_trace_from_json(f.c, text, f.p, &u),
                     TESS_OK);
    assert_true(tess_trace_equal(t, u));
    assert_int_equal(tess_trace_hash(t), tess_trace_hash(u));
    tess_text_free(f.c, text);
    tess_trace_free(u);
  }
  api_expect(&f, tess_trace_from_lua(f.c, "sch:split{}", NULL, &u),
             TESS_INVALID,
             "split: operand 'loop' is missing (the loop to split)", "", "",
             "line 1, instruction 1");
  assert_null(u);
  tess_trace_free(t);
  api_end(&f);
}

/* The names that knobs give, and what decisions are about. */
static void test_knobs(void **state) {
  (void)state;
  api_fixture f;
  api_start(&f);
  tess_rv v[2];
  tess_trace *t;
  tess_arg param;
  tess_decision d;
  uint32_t n;
  int list;
  tess_trace_free(tiled(&f, v));
  tess_value pair = tess_v_rvs(2, v);
  tess_arg args[] = {{"name", tess_v_str("tile")}, {"value", pair}};
  assert_int_equal(tess_schedule_call(f.s, "knob", 2, args, 0, NULL, &n, &list),
                   TESS_OK);
  assert_int_equal(tess_schedule_trace(f.s, &t), TESS_OK);
  assert_int_equal(tess_trace_params(t, 0, NULL, &n), TESS_OK);
  assert_int_equal(n, 1);
  assert_int_equal(tess_trace_params(t, 1, &param, &n), TESS_OK);
  assert_string_equal(param.name, "tile");
  assert_int_equal(param.value.kind, TESS_V_LIST);
  assert_int_equal(param.value.n, 2);
  int64_t first = param.value.list[0].i, second = param.value.list[1].i;
  assert_int_equal(first * second, 64);
  assert_int_equal(tess_trace_decisions(t, NULL, 1, &d, &n), TESS_OK);
  assert_int_equal(n, 1);
  assert_int_equal(d.inst, 3);
  assert_int_equal(d.n, 2);
  assert_int_equal(d.decision[0], first);
  assert_string_equal(d.knob, "tile");
  assert_string_equal(d.what, "tiles of i of C");
  assert_string_equal(d.part[1], "i of C, tile 2");
  tess_trace_free(t);
  api_end(&f);
}

static void test_changing_traces(void **state) {
  (void)state;
  api_fixture f;
  api_start(&f);
  tess_rv v[2];
  tess_trace *t = tiled(&f, v), *u;
  tess_inst_info info = TESS_INIT(tess_inst_info);
  tess_schedule *s;
  int64_t a;
  assert_int_equal(tess_trace_with_decision(t, 3, 2, (int64_t[]){16, 4}, &u),
                   TESS_OK);
  assert_int_equal(tess_trace_replay(u, NULL, NULL, &s), TESS_OK);
  assert_int_equal(tess_schedule_get_int(s, v[0], &a), TESS_OK);
  assert_int_equal(a, 16);
  tess_schedule_free(s);
  tess_replay_options o = {.struct_size = sizeof o, .resample = 1, .seed = 5};
  assert_int_equal(tess_trace_replay(u, f.p, &o, &s), TESS_OK);
  tess_schedule_free(s);
  tess_trace_free(u);
  api_expect(&f, tess_trace_with_decision(t, 3, 2, (int64_t[]){16, 5}, &u),
             TESS_REFUSED,
             "sample_perfect_tile: decision {16, 5} does not fit: "
             "the factors multiply to 80, and the extent of loop i is 64",
             "sample_perfect_tile", "TILE_PRODUCT", "instruction 3");
  api_expect(&f, tess_trace_with_decision(t, 9, 1, &a, &u), TESS_NOT_FOUND,
             "the trace has 4 instructions; there is none at 9", "", "", "");
  api_expect(&f, tess_trace_with_decision(t, 2, 1, &a, &u), TESS_INVALID,
             "get_loops: takes no decision", "get_loops", "NOT_SAMPLING",
             "instruction 2");
  assert_int_equal(tess_trace_mutate(t, 1, &u), TESS_OK);
  assert_false(tess_trace_equal(t, u));
  assert_int_equal(tess_trace_inst(u, 3, &info), TESS_OK);
  assert_int_equal(info.decision[0] * info.decision[1], 64);
  tess_trace_free(u);
  assert_int_equal(tess_trace_simplify(t, &u), TESS_OK);
  assert_true(tess_trace_equal(t, u));
  assert_int_equal(tess_trace_bind(u, NULL), TESS_OK);
  api_expect(&f, tess_trace_replay(u, NULL, NULL, &s), TESS_INVALID,
             "the trace is bound to no program: give one", "", "", "");
  tess_trace_free(u);
  tess_trace_free(t);
  api_end(&f);
}

static void test_steppers(void **state) {
  (void)state;
  api_fixture f;
  api_start(&f);
  tess_rv v[2];
  tess_trace *t = tiled(&f, v), *u;
  tess_stepper *s;
  tess_program *p;
  char *text;
  int64_t d[4];
  uint32_t n, invalid;
  tess_alternatives alt = TESS_INIT(tess_alternatives);
  assert_int_equal(tess_stepper_new(t, NULL, &s), TESS_OK);
  assert_int_equal(tess_stepper_size(s), 4);
  assert_int_equal(tess_stepper_back(s), TESS_NOT_FOUND);
  api_expect(&f, tess_stepper_alternatives(s, 100, &alt), TESS_NOT_FOUND,
             "nothing has been run yet", "", "NOT_BEGUN", "");
  api_expect(&f, tess_stepper_decide(s, 0, NULL, &invalid), TESS_INVALID,
             "nothing has been run yet", "", "NOT_BEGUN", "");
  for (uint32_t k = 1; k <= 4; k++) {
    assert_int_equal(tess_stepper_next(s), TESS_OK);
    assert_int_equal(tess_stepper_position(s), k);
  }
  assert_int_equal(tess_stepper_next(s), TESS_NOT_FOUND);
  api_expect(&f, tess_stepper_alternatives(s, 100, &alt), TESS_NOT_FOUND,
             "split: takes no decision", "split", "NOT_SAMPLING",
             "instruction 4");
  assert_int_equal(tess_stepper_diff(s, &text), TESS_OK);
  assert_non_null(strstr(text, "gone:"));
  tess_text_free(f.c, text);
  assert_int_equal(tess_stepper_back(s), TESS_OK);
  assert_int_equal(tess_stepper_inst(s, &text), TESS_OK);
  assert_non_null(strstr(text, "local v4, v5 = sch:sample_perfect_tile{"));
  tess_text_free(f.c, text);
  assert_int_equal(tess_stepper_decision(s, 4, d, &n), TESS_OK);
  assert_int_equal(n, 2);
  assert_int_equal(d[0] * d[1], 64);
  assert_int_equal(tess_stepper_alternatives(s, 100, &alt), TESS_OK);
  assert_int_equal(alt.count, 5);
  double sum = 0;
  for (uint32_t i = 0; i < alt.n; i++) sum += alt.probability[i];
  assert_true(sum > 0.999 && sum < 1.001);
  assert_int_equal(tess_stepper_decide(s, 2, (int64_t[]){7, 7}, &invalid),
                   TESS_INVALID);
  assert_int_equal(tess_stepper_decide(s, 2, (int64_t[]){32, 2}, &invalid),
                   TESS_OK);
  assert_int_equal(tess_stepper_goto(s, 4), TESS_OK);
  assert_int_equal(tess_stepper_program(s, &p), TESS_OK);
  assert_int_equal(tess_stepper_trace(s, &u), TESS_OK);
  assert_false(tess_trace_equal(t, u));
  tess_trace_free(t);
  tess_trace_free(u);
  tess_program_free(p);
  tess_stepper_free(s);
  api_end(&f);
}

/* A schedule outlives the handle of its program, a trace its schedule. */
static void test_lifetimes(void **state) {
  (void)state;
  api_fixture f;
  api_start(&f);
  tess_rv v[2];
  tess_trace *t = tiled(&f, v);
  tess_schedule *s;
  tess_program_free(f.p);
  tess_schedule_free(f.s);
  assert_int_equal(tess_trace_replay(t, NULL, NULL, &s), TESS_OK);
  tess_trace_free(t);
  f.s = s;
  f.p = NULL;
  api_block(&f, "D");
  api_end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_traces), cmocka_unit_test(test_knobs),
      cmocka_unit_test(test_changing_traces), cmocka_unit_test(test_steppers),
      cmocka_unit_test(test_lifetimes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
