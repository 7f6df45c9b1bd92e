/* SPDX-License-Identifier: Apache-2.0
 * How public structs grow: their layout leaves nothing but the end to grow at,
 * and each function that fills one in keeps to the size that the host gave, be
 * the host older or newer than the library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <tessera/tessera.h>

/* ---- layout ------------------------------------------------------------- */

/* Begins with its size and ends with `last`, without padding behind it. */
#define GROWS(T, last)                               \
  _Static_assert(offsetof(T, struct_size) == 0, #T); \
  _Static_assert(sizeof(T) % 8 == 0, #T);            \
  _Static_assert(offsetof(T, last) + sizeof(((T *)0)->last) == sizeof(T), #T)

GROWS(tess_options, worker_path);
GROWS(tess_error_info, detail);
GROWS(tess_reducer_def, ud);
GROWS(tess_param, contents);
GROWS(tess_lower_options, keep_intrinsics);
GROWS(tess_loop_info, extent);
GROWS(tess_block_info, reserved);
GROWS(tess_access_info, scope);
GROWS(tess_prim_operand, default_text);
GROWS(tess_prim_info, hidden);
GROWS(tess_inst_info, out);
GROWS(tess_replay_options, seed);
GROWS(tess_alternatives, reserved);
GROWS(tess_origins, origin);
GROWS(tess_timing, stddev);
GROWS(tess_runtime, free);
GROWS(tess_module, ud);
GROWS(tess_strategy, ud);
GROWS(tess_cost_model, ud);
GROWS(tess_mutator, ud);
GROWS(tess_postproc, apply);
GROWS(tess_strategy_option, most);
GROWS(tess_progress, seconds);
GROWS(tess_tune_options, build_timeout);
GROWS(tess_result_info, unscheduled);
GROWS(tess_features, value);
GROWS(tess_record, stored_at);
GROWS(tess_run, unscheduled);
GROWS(tess_task, cost_model);
GROWS(tess_tasks_progress, table);
GROWS(tess_tasks_options, progress_ud);
GROWS(tess_tasks_info, message);
GROWS(tess_record_filter, failed);
GROWS(tess_agent_options, runner);

/* ---- objects to ask ----------------------------------------------------- */

typedef struct asked {
  tess_context *c;
  tess_program *p;
  tess_schedule *s;
  tess_trace *t;
  tess_stepper *step;
  tess_kernel *k;
  tess_tensor *arg[2];
  tess_result *r;
  tess_database *d;
  tess_rv block, loop;
} asked;

static void struct_growth_ok(const asked *a, tess_status s) {
  if (s != TESS_OK) fail_msg("%s", tess_error(a->c)->message);
}

/* B[i] = A[i] */
static void describe_copy(asked *a) {
  const tess_dtype f32 = {TESS_DTYPE_FLOAT, 32, 1};
  tess_builder *b;
  tess_expr n, i, x;
  tess_buffer in, out;
  tess_var v;
  struct_growth_ok(a, tess_builder_new(a->c, &b));
  struct_growth_ok(a, tess_int(b, (tess_dtype){TESS_DTYPE_INT, 64, 1}, 8, &n));
  struct_growth_ok(a,
                   tess_placeholder(b, "A", f32, 1, &n, TESS_ROLE_INPUT, &in));
  struct_growth_ok(a, tess_compute_begin(b, "B", 1, &n, NULL, &v));
  struct_growth_ok(a, tess_var_ref(b, v, &i));
  struct_growth_ok(a, tess_load(b, in, 1, &i, &x));
  struct_growth_ok(a, tess_compute_end(b, 1, &x, &out));
  struct_growth_ok(a, tess_program_new(b, "copy", 1, &in, 1, &out, &a->p));
  tess_builder_free(b);
}

static void struct_growth_call(asked *a, const char *prim, tess_arg arg,
                               tess_rv *out) {
  uint32_t n;
  struct_growth_ok(a,
                   tess_schedule_call(a->s, prim, 1, &arg, 1, out, &n, NULL));
}

static void schedule_copy(asked *a) {
  tess_rv tile;
  struct_growth_ok(a, tess_schedule_new(a->p, NULL, 1, &a->s));
  struct_growth_call(a, "get_block",
                     (tess_arg){"name", {.kind = TESS_V_STR, .s = "B"}},
                     &a->block);
  struct_growth_call(a, "get_loops",
                     (tess_arg){"block", {.kind = TESS_V_RV, .rv = a->block}},
                     &a->loop);
  const tess_arg n[] = {{"loop", {.kind = TESS_V_RV, .rv = a->loop}},
                        {"n", {.kind = TESS_V_INT, .i = 2}}};
  uint32_t nout;
  struct_growth_ok(a, tess_schedule_call(a->s, "sample_perfect_tile", 2, n, 1,
                                         &tile, &nout, NULL));
  struct_growth_ok(a, tess_schedule_trace(a->s, &a->t));
  struct_growth_ok(a, tess_stepper_new(a->t, a->p, &a->step));
  struct_growth_ok(a, tess_stepper_goto(a->step, 3));
}

static char path[64];

static void remove_database(void) {
  static const char *const ends[] = {"", "-wal", "-shm"};
  char file[80];
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    snprintf(file, sizeof file, "%s%s", path, ends[i]);
    unlink(file);
  }
}

static void tune_copy(asked *a) {
  snprintf(path, sizeof path, "/tmp/tess-growth-%d.db", (int)getpid());
  const tess_tune_options o = {
      .struct_size = sizeof o, .trials = 1, .database = path};
  tess_space *space;
  struct_growth_ok(a, tess_space_traces(a->c, 1, &a->t, &space));
  struct_growth_ok(a, tess_tune(a->p, NULL, space, &o, &a->r));
  struct_growth_ok(a, tess_database_open(a->c, path, &a->d));
  tess_space_free(space);
}

static void struct_growth_start(asked *a) {
  const tess_options o = {.struct_size = sizeof o, .in_process = 1};
  const tess_dtype f32 = {TESS_DTYPE_FLOAT, 32, 1};
  const int64_t shape = 8;
  assert_int_equal(tess_context_new(&o, &a->c), TESS_OK);
  describe_copy(a);
  schedule_copy(a);
  tune_copy(a);
  struct_growth_ok(a, tess_build(a->p, NULL, &a->k));
  for (int i = 0; i < 2; i++)
    struct_growth_ok(
        a, tess_tensor_new(a->c, f32, 1, &shape, "zeros", 0, &a->arg[i]));
}

static void struct_growth_end(asked *a) {
  tess_database_free(a->d);
  remove_database();
  tess_result_free(a->r);
  for (int i = 0; i < 2; i++) tess_tensor_free(a->arg[i]);
  tess_kernel_free(a->k);
  tess_stepper_free(a->step);
  tess_trace_free(a->t);
  tess_schedule_free(a->s);
  tess_program_free(a->p);
  tess_context_free(a->c);
}

/* ---- results ------------------------------------------------------------ */

#define ASKS(name, struct_growth_call)                 \
  static tess_status ask_##name(asked *a, void *out) { \
    (void)a;                                           \
    return struct_growth_call;                         \
  }
ASKS(param, tess_program_param(a->p, 1, out))
ASKS(loop_info, tess_schedule_loop_info(a->s, a->loop, out))
ASKS(block_info, tess_schedule_block_info(a->s, a->block, out))
ASKS(access_info, tess_schedule_access_info(a->s, a->block, 0, 0, out))
ASKS(prim_info, tess_prim_get(0, out))
ASKS(prim_operand, tess_prim_operand_get(0, 0, out))
ASKS(inst_info, tess_trace_inst(a->t, 1, out))
ASKS(alternatives, tess_stepper_alternatives(a->step, 8, out))
ASKS(timing, tess_kernel_time(a->k, 2, a->arg, 0.001, out))
ASKS(result_info, tess_result_get(a->r, out))
ASKS(record, tess_database_row(a->d, 0, out))

#define RESULT(name) \
  { "tess_" #name, sizeof(tess_##name), ask_##name }
static const struct {
  const char *name;
  uint32_t size;
  tess_status (*ask)(asked *a, void *out);
} RESULTS[] = {RESULT(param),       RESULT(loop_info),    RESULT(block_info),
               RESULT(access_info), RESULT(prim_info),    RESULT(prim_operand),
               RESULT(inst_info),   RESULT(alternatives), RESULT(timing),
               RESULT(result_info), RESULT(record)};

enum { ROOM = 512, FRESH = 0xaa };

/* A struct of `size` bytes is asked for, in memory that holds FRESH. */
static tess_status ask(asked *a, int i, uint32_t size, unsigned char *out) {
  memset(out, FRESH, ROOM);
  memcpy(out, &size, sizeof size);
  tess_status s = RESULTS[i].ask(a, out);
  uint32_t after;
  memcpy(&after, out, sizeof after);
  assert_int_equal(after, size);
  return s;
}

static void all_are(const unsigned char *from, const unsigned char *to, int v) {
  for (; from < to; from++) assert_int_equal(*from, v);
}

static void test_results_keep_to_the_hosts_size(void **state) {
  (void)state;
  asked a;
  _Alignas(8) unsigned char out[ROOM];
  struct_growth_start(&a);
  for (int i = 0; i < (int)(sizeof RESULTS / sizeof *RESULTS); i++) {
    uint32_t size = RESULTS[i].size;
    struct_growth_ok(&a, ask(&a, i, size, out));
    all_are(out + size, out + ROOM, FRESH);
    struct_growth_ok(&a, ask(&a, i, 16, out));
    all_are(out + 16, out + ROOM, FRESH);
    struct_growth_ok(&a, ask(&a, i, size + 24, out));
    all_are(out + size, out + size + 24, 0);
    all_are(out + size + 24, out + ROOM, FRESH);
  }
  struct_growth_end(&a);
}

static void test_sizes_that_are_none(void **state) {
  (void)state;
  asked a;
  _Alignas(8) unsigned char out[ROOM];
  const uint32_t none[] = {0, 5, 8, 20, 0xaaaaaaaa};
  struct_growth_start(&a);
  for (int i = 0; i < (int)(sizeof RESULTS / sizeof *RESULTS); i++)
    for (int k = 0; k < (int)(sizeof none / sizeof *none); k++) {
      char want[200];
      assert_int_equal(ask(&a, i, none[k], out), TESS_INVALID);
      all_are(out + 4, out + ROOM, FRESH);
      if (!strncmp(RESULTS[i].name, "tess_prim", 9)) continue;
      snprintf(want, sizeof want,
               "%s.struct_size is %u, which is no size of that struct: set it "
               "to sizeof(%s), %u here",
               RESULTS[i].name, none[k], RESULTS[i].name, RESULTS[i].size);
      assert_string_equal(tess_error(a.c)->message, want);
    }
  struct_growth_end(&a);
}

/* ---- arguments ---------------------------------------------------------- */

static tess_status emit_copy(void *ud, tess_schedule *s, tess_rv block,
                             void (*emit)(void *sink, tess_schedule *s),
                             void *sink, const char **why) {
  (void)ud, (void)block, (void)why;
  tess_schedule *copy;
  tess_status st = tess_schedule_copy(s, &copy);
  if (st == TESS_OK) emit(sink, copy);
  return st;
}

/* A newer host's modules: each is larger than ours, and the next one begins
 * where that host's array has it. */
static void test_array_of_a_newer_host(void **state) {
  (void)state;
  struct newer {
    tess_module m;
    uint64_t later[3];
  } list[2] = {0};
  asked a;
  tess_space *space;
  char *text;
  struct_growth_start(&a);
  for (int i = 0; i < 2; i++)
    list[i].m = (tess_module){.struct_size = sizeof list[i],
                              .name = i ? "second" : "first",
                              .apply = emit_copy};
  struct_growth_ok(&a, tess_space_compose(a.c, 2, &list[0].m, &space));
  struct_growth_ok(&a, tess_space_explain(space, a.p, NULL, &text));
  assert_non_null(strstr(text, "first at B: applied"));
  assert_non_null(strstr(text, "second at B: applied"));
  tess_text_free(a.c, text);
  tess_space_free(space);
  list[1].m.struct_size = sizeof list[1] + 8;
  assert_int_equal(tess_space_compose(a.c, 2, &list[0].m, &space),
                   TESS_INVALID);
  assert_string_equal(tess_error(a.c)->message,
                      "module 2: struct_size is 72, and that of the first is "
                      "64");
  struct_growth_end(&a);
}

static void test_plugged_in_sizes(void **state) {
  (void)state;
  asked a;
  tess_space *space;
  tess_result *r;
  struct_growth_start(&a);
  struct_growth_ok(&a, tess_space_traces(a.c, 1, &a.t, &space));
  const tess_strategy strategy = {.struct_size = 4};
  const tess_cost_model model = {.struct_size = 4};
  tess_tune_options o = {.struct_size = sizeof o, .custom_strategy = &strategy};
  assert_int_equal(tess_tune(a.p, NULL, space, &o, &r), TESS_INVALID);
  assert_non_null(strstr(tess_error(a.c)->message, "tess_strategy.struct_siz"));
  o.custom_strategy = NULL;
  o.custom_cost_model = &model;
  assert_int_equal(tess_tune(a.p, NULL, space, &o, &r), TESS_INVALID);
  assert_non_null(strstr(tess_error(a.c)->message, "tess_cost_model.struct_s"));
  tess_space_free(space);
  struct_growth_end(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_results_keep_to_the_hosts_size),
      cmocka_unit_test(test_sizes_that_are_none),
      cmocka_unit_test(test_array_of_a_newer_host),
      cmocka_unit_test(test_plugged_in_sizes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
