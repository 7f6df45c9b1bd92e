/* SPDX-License-Identifier: Apache-2.0
 * The structs and lists that a host fills in: sizes of older and newer
 * headers, what is freed, and what lacks something. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <tessera/tessera.h>

typedef struct fixture {
  tess_context *c;
  tess_program *p;
  tess_space *space;
} fixture;

static void structs_ok(const fixture *f, tess_status s) {
  if (s != TESS_OK) fail_msg("%s", tess_error(f->c)->message);
}

static tess_status as_it_is(void *ud, tess_schedule *s, tess_rv block,
                            void (*emit)(void *sink, tess_schedule *s),
                            void *sink, const char **why) {
  (void)ud, (void)block, (void)why;
  tess_schedule *copy;
  tess_status st = tess_schedule_copy(s, &copy);
  if (st == TESS_OK) emit(sink, copy);
  return st;
}

/* B[i] = A[i], and a space of one sketch. */
static void structs_start(fixture *f) {
  const tess_options o = {.struct_size = sizeof o, .in_process = 1};
  const tess_dtype f32 = {TESS_DTYPE_FLOAT, 32, 1},
                   i64 = {TESS_DTYPE_INT, 64, 1};
  const tess_module m = {
      .struct_size = sizeof(tess_module), .name = "by hand", .apply = as_it_is};
  tess_builder *b;
  tess_expr n, i, x;
  tess_buffer in, out;
  tess_var v;
  assert_int_equal(tess_context_new(&o, &f->c), TESS_OK);
  structs_ok(f, tess_builder_new(f->c, &b));
  structs_ok(f, tess_int(b, i64, 8, &n));
  structs_ok(f, tess_placeholder(b, "A", f32, 1, &n, TESS_ROLE_INPUT, &in));
  structs_ok(f, tess_compute_begin(b, "B", 1, &n, NULL, &v));
  structs_ok(f, tess_var_ref(b, v, &i));
  structs_ok(f, tess_load(b, in, 1, &i, &x));
  structs_ok(f, tess_compute_end(b, 1, &x, &out));
  structs_ok(f, tess_program_new(b, "copy", 1, &in, 1, &out, &f->p));
  structs_ok(f, tess_space_function(f->c, &m, &f->space));
  tess_builder_free(b);
}

static void structs_stop(fixture *f) {
  tess_space_free(f->space);
  tess_program_free(f->p);
  tess_context_free(f->c);
}

static int plugged_in_freed;
static void *freed_ud;
static void free_either(void *ud) {
  plugged_in_freed++;
  freed_ud = ud;
}

static tess_status propose_none(void *ud, tess_session *s, uint32_t n,
                                tess_candidate *out, uint32_t *got) {
  (void)ud, (void)s, (void)n, (void)out;
  *got = 0;
  return TESS_OK;
}

static tess_status predict_none(void *ud, tess_session *s, uint32_t n,
                                const tess_candidate *c, double *score) {
  (void)ud, (void)s, (void)c;
  for (uint32_t i = 0; i < n; i++) score[i] = 0;
  return TESS_OK;
}

/* What a strategy and a model need no `ud` for is freed like anything else,
 * once, and however the run ends. */
static void test_plugged_in_is_freed(void **state) {
  (void)state;
  fixture f;
  tess_result *r;
  structs_start(&f);
  const tess_strategy strategy = {.struct_size = sizeof(tess_strategy),
                                  .propose = propose_none,
                                  .free = free_either};
  const tess_cost_model model = {.struct_size = sizeof(tess_cost_model),
                                 .predict = predict_none,
                                 .free = free_either};
  tess_tune_options o = {.struct_size = sizeof o,
                         .trials = 3,
                         .custom_strategy = &strategy,
                         .custom_cost_model = &model};
  plugged_in_freed = 0;
  freed_ud = &f;
  structs_ok(&f, tess_tune(f.p, NULL, f.space, &o, &r));
  tess_result_free(r);
  assert_int_equal(plugged_in_freed, 2);
  assert_null(freed_ud);
  o.min_time = -1;
  assert_int_equal(tess_tune(f.p, NULL, f.space, &o, &r), TESS_INVALID);
  assert_string_equal(tess_error(f.c)->message,
                      "option 'min_time' is -1, not a time in seconds");
  assert_int_equal(plugged_in_freed, 4);
  structs_stop(&f);
}

static tess_status fail_to_propose(void *ud, tess_session *s, uint32_t n,
                                   tess_candidate *out, uint32_t *got) {
  (void)ud, (void)s, (void)n, (void)out, (void)got;
  return TESS_IO;
}

static tess_status fail_to_predict(void *ud, tess_session *s, uint32_t n,
                                   const tess_candidate *c, double *score) {
  (void)ud, (void)s, (void)n, (void)c, (void)score;
  return TESS_REFUSED;
}

/* Who fails without words is named. */
static void test_plugged_in_fails(void **state) {
  (void)state;
  fixture f;
  tess_result *r;
  structs_start(&f);
  const tess_strategy strategy = {.struct_size = sizeof(tess_strategy),
                                  .propose = fail_to_propose};
  const tess_cost_model model = {.struct_size = sizeof(tess_cost_model),
                                 .predict = fail_to_predict};
  tess_tune_options o = {.struct_size = sizeof o, .custom_strategy = &strategy};
  assert_int_equal(tess_tune(f.p, NULL, f.space, &o, &r), TESS_IO);
  assert_string_equal(tess_error(f.c)->message,
                      "the strategy's 'propose' failed: input or output "
                      "failed");
  o.custom_strategy = NULL;
  o.custom_cost_model = &model;
  assert_int_equal(tess_tune(f.p, NULL, f.space, &o, &r), TESS_REFUSED);
  assert_string_equal(tess_error(f.c)->message,
                      "the cost model's 'predict' failed: the schedule step "
                      "does not apply");
  structs_stop(&f);
}

static void test_plugged_in_has_functions(void **state) {
  (void)state;
  fixture f;
  tess_result *r;
  structs_start(&f);
  const tess_strategy strategy = {.struct_size = sizeof(tess_strategy),
                                  .name = "empty"};
  const tess_cost_model model = {.struct_size = sizeof(tess_cost_model),
                                 .name = "empty"};
  tess_tune_options o = {.struct_size = sizeof o, .custom_strategy = &strategy};
  assert_int_equal(tess_tune(f.p, NULL, f.space, &o, &r), TESS_INVALID);
  assert_string_equal(tess_error(f.c)->message,
                      "option 'custom_strategy': its 'propose' is NULL");
  o.custom_strategy = NULL;
  o.custom_cost_model = &model;
  assert_int_equal(tess_tune(f.p, NULL, f.space, &o, &r), TESS_INVALID);
  assert_string_equal(tess_error(f.c)->message,
                      "option 'custom_cost_model': its 'predict' is NULL");
  structs_stop(&f);
}

static void says_size(const fixture *f, tess_status s, const char *name,
                      size_t size) {
  char want[160];
  snprintf(want, sizeof want,
           "%s.struct_size is 5, which is no size of that struct: set it to "
           "sizeof(%s), %zu here",
           name, name, size);
  assert_int_equal(s, TESS_INVALID);
  assert_string_equal(tess_error(f->c)->message, want);
}

/* A size in the middle of a member is told by the struct's name; a newer
 * host's goes on working. */
static void test_struct_sizes(void **state) {
  (void)state;
  fixture f;
  tess_schedule *s, *again;
  tess_trace *t;
  tess_result *r = NULL;
  structs_start(&f);
  const tess_strategy strategy = {.struct_size = sizeof(tess_strategy),
                                  .propose = propose_none};
  tess_tune_options o = {.struct_size = 5, .custom_strategy = &strategy};
  says_size(&f, tess_tune(f.p, NULL, f.space, &o, &r), "tess_tune_options",
            sizeof o);
  assert_null(r);
  o.struct_size = sizeof o + 24;
  structs_ok(&f, tess_tune(f.p, NULL, f.space, &o, &r));
  tess_result_free(r);
  structs_ok(&f, tess_schedule_new(f.p, NULL, 1, &s));
  structs_ok(&f, tess_schedule_trace(s, &t));
  tess_replay_options again_o = {.struct_size = 5};
  says_size(&f, tess_trace_replay(t, NULL, &again_o, &again),
            "tess_replay_options", sizeof again_o);
  again_o.struct_size = sizeof again_o + 8;
  structs_ok(&f, tess_trace_replay(t, NULL, &again_o, &again));
  tess_schedule_free(again);
  tess_schedule_free(s);
  tess_trace_free(t);
  structs_stop(&f);
}

/* ---- lists and functions ------------------------------------------------ */

static void refuses(const fixture *f, tess_status s, const char *message) {
  assert_int_equal(s, TESS_INVALID);
  assert_string_equal(tess_error(f->c)->message, message);
}

static void test_modules_lack_something(void **state) {
  (void)state;
  fixture f;
  tess_space *space;
  structs_start(&f);
  tess_module m[] = {
      {.struct_size = sizeof(tess_module), .name = "first", .apply = as_it_is},
      {.struct_size = sizeof(tess_module), .name = "second"}};
  refuses(&f, tess_space_compose(f.c, 2, m, &space),
          "module 'second' has no function apply");
  assert_null(space);
  m[1] = (tess_module){.struct_size = sizeof(tess_module), .apply = as_it_is};
  refuses(&f, tess_space_compose(f.c, 2, m, &space), "module 2 has no name");
  refuses(&f, tess_space_function(f.c, &m[1], &space), "module 1 has no name");
  refuses(&f, tess_space_union(f.c, 2, (tess_space *[]){f.space, NULL}, &space),
          "space 2 is NULL");
  refuses(&f, tess_space_traces(f.c, 1, (tess_trace *[]){NULL}, &space),
          "trace 1 is NULL");
  structs_stop(&f);
}

/* Emits what a copy that failed leaves behind. */
static tess_status emit_null(void *ud, tess_schedule *s, tess_rv block,
                             void (*emit)(void *sink, tess_schedule *s),
                             void *sink, const char **why) {
  (void)ud, (void)s, (void)block, (void)why;
  emit(sink, NULL);
  return TESS_OK;
}

static tess_status refuse(void *ud, tess_schedule *s, tess_rv block,
                          void (*emit)(void *sink, tess_schedule *s),
                          void *sink, const char **why) {
  (void)ud, (void)s, (void)block, (void)emit, (void)sink;
  *why = "not today";
  return TESS_REFUSED;
}

static void test_modules_give_nothing(void **state) {
  (void)state;
  fixture f;
  tess_space *space;
  tess_trace *t[4];
  uint32_t n;
  char *text;
  structs_start(&f);
  tess_module m = {
      .struct_size = sizeof(tess_module), .name = "own", .apply = emit_null};
  structs_ok(&f, tess_space_compose(f.c, 1, &m, &space));
  structs_ok(&f, tess_space_explain(space, f.p, NULL, &text));
  assert_string_equal(text, "own at root: failed: it gave NULL for a schedule\n"
                            "own at B: failed: it gave NULL for a schedule\n");
  tess_text_free(f.c, text);
  tess_space_free(space);
  structs_ok(&f, tess_space_function(f.c, &m, &space));
  refuses(&f, tess_space_sketches(space, f.p, NULL, 4, t, &n),
          "the scheduling function failed: it gave NULL for a schedule");
  tess_space_free(space);
  m.apply = refuse;
  structs_ok(&f, tess_space_function(f.c, &m, &space));
  assert_int_equal(tess_space_sketches(space, f.p, NULL, 4, t, &n),
                   TESS_REFUSED);
  assert_string_equal(tess_error(f.c)->message,
                      "the scheduling function failed: not today");
  tess_space_free(space);
  structs_stop(&f);
}

/* A module may give back what it was lent, once. */
static tess_status emit_itself(void *ud, tess_schedule *s, tess_rv block,
                               void (*emit)(void *sink, tess_schedule *s),
                               void *sink, const char **why) {
  const int *times = ud;
  (void)block, (void)why;
  for (int i = 0; i < *times; i++) emit(sink, s);
  return TESS_OK;
}

static void test_modules_give_back(void **state) {
  (void)state;
  fixture f;
  tess_space *space, *whole;
  tess_trace *t[4];
  uint32_t n;
  char *text;
  int times = 1;
  structs_start(&f);
  const tess_module m = {.struct_size = sizeof(tess_module),
                         .name = "own",
                         .apply = emit_itself,
                         .ud = &times};
  structs_ok(&f, tess_space_compose(f.c, 1, &m, &space));
  structs_ok(&f, tess_space_function(f.c, &m, &whole));
  structs_ok(&f, tess_space_explain(space, f.p, NULL, &text));
  assert_string_equal(text, "own at root: applied, 1 schedule\n"
                            "own at B: applied, 1 schedule\n");
  tess_text_free(f.c, text);
  structs_ok(&f, tess_space_sketches(whole, f.p, NULL, 4, t, &n));
  assert_int_equal(n, 1);
  tess_trace_free(t[0]);
  times = 2;
  structs_ok(&f, tess_space_explain(space, f.p, NULL, &text));
  assert_string_equal(text, "own at root: failed: it gave a schedule twice\n"
                            "own at B: failed: it gave a schedule twice\n");
  tess_text_free(f.c, text);
  refuses(&f, tess_space_sketches(whole, f.p, NULL, 4, t, &n),
          "the scheduling function failed: it gave a schedule twice");
  tess_space_free(whole);
  tess_space_free(space);
  structs_stop(&f);
}

static void test_tensors_are_missing(void **state) {
  (void)state;
  fixture f;
  tess_tensor *t[2] = {NULL, NULL};
  tess_kernel *k;
  structs_start(&f);
  structs_ok(&f, tess_tensor_new(f.c, (tess_dtype){TESS_DTYPE_FLOAT, 32, 1}, 1,
                                 (int64_t[]){8}, "zeros", 0, &t[0]));
  structs_ok(&f, tess_build(f.p, NULL, &k));
  refuses(&f, tess_interpret(f.p, 2, t), "argument 2, 'B', is NULL");
  refuses(&f, tess_kernel_run(k, 2, t), "argument 2, 'B', is NULL");
  tess_kernel_free(k);
  tess_tensor_free(t[0]);
  structs_stop(&f);
}

static void test_allocator_without_function(void **state) {
  (void)state;
  const tess_allocator none = {NULL, NULL};
  const tess_options o = {.struct_size = sizeof o, .allocator = &none};
  tess_context *c;
  assert_int_equal(tess_context_new(&o, &c), TESS_INVALID);
  assert_null(c);
}

/* What is no kind of variable, and more variables than can be: the lists are
 * not looked at. */
static void test_blocks(void **state) {
  (void)state;
  fixture f;
  tess_builder *b;
  tess_expr lo, n;
  tess_var v;
  const char *const name[] = {"vi"};
  const tess_iter_kind kind[] = {(tess_iter_kind)42};
  structs_start(&f);
  structs_ok(&f, tess_builder_new(f.c, &b));
  structs_ok(&f, tess_int(b, (tess_dtype){TESS_DTYPE_INT, 64, 1}, 0, &lo));
  structs_ok(&f, tess_int(b, (tess_dtype){TESS_DTYPE_INT, 64, 1}, 8, &n));
  refuses(&f, tess_block_begin(b, "x", 1, name, kind, &lo, &n, &lo, 0, &v),
          "variable 1 of block 'x' is of kind 42, and there is none such");
  tess_buffer buf;
  refuses(&f,
          tess_buffer_new(b, "T", (tess_dtype){TESS_DTYPE_FLOAT, 32, 1}, 1, &n,
                          "global", (tess_role)9, 1, &buf),
          "buffer T: the role of a parameter must be input, output or "
          "layout_free");
  assert_int_equal(
      tess_block_begin(b, "x", 99, name, kind, &lo, &n, &lo, 0, &v),
      TESS_LIMIT);
  assert_string_equal(tess_error(f.c)->message,
                      "block 'x' has 99 variables; at most 16 are possible");
  tess_builder_free(b);
  structs_stop(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_plugged_in_is_freed),
      cmocka_unit_test(test_plugged_in_has_functions),
      cmocka_unit_test(test_plugged_in_fails),
      cmocka_unit_test(test_struct_sizes),
      cmocka_unit_test(test_modules_lack_something),
      cmocka_unit_test(test_modules_give_nothing),
      cmocka_unit_test(test_modules_give_back),
      cmocka_unit_test(test_tensors_are_missing),
      cmocka_unit_test(test_allocator_without_function),
      cmocka_unit_test(test_blocks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
