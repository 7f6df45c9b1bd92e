/* SPDX-License-Identifier: Apache-2.0
 * A host in C, of the public header alone, from a description to a deployed
 * kernel: tunes with the default space, steps the best trace forth and back,
 * changes a decision and deploys the best kernel, and one of the changed
 * trace, as shared libraries that it then calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/tessera.h>
#include <unistd.h>

static const tess_dtype F32 = {TESS_DTYPE_FLOAT, 32, 1},
                        I64 = {TESS_DTYPE_INT, 64, 1};

enum { N = 48, MOST_STEPS = 200, MOST_NUMBERS = 16 };

typedef struct session {
  tess_context *c;
  tess_program *p;
  tess_tensor *t[3]; /* A, B, and what C must be */
  tess_result *r;
  tess_trace *best, *changed;
  char folder[40];
} session;

static void session_ok(const session *s, tess_status st) {
  if (st != TESS_OK) fail_msg("%s", tess_error(s->c)->message);
}

/* C[i, j] = sum over k of A[i, k] * B[k, j] */
static void describe_product(session *s) {
  tess_builder *b;
  tess_expr n, zero, at[3], x, y;
  tess_buffer in[2], out;
  tess_var v[2], k;
  session_ok(s, tess_builder_new(s->c, &b));
  session_ok(s, tess_int(b, I64, N, &n));
  session_ok(s, tess_int(b, I64, 0, &zero));
  const tess_expr shape[] = {n, n};
  for (int i = 0; i < 2; i++)
    session_ok(s, tess_placeholder(b, i ? "B" : "A", F32, 2, shape,
                                   TESS_ROLE_INPUT, &in[i]));
  session_ok(s, tess_compute_begin(b, "C", 2, shape, NULL, v));
  session_ok(s, tess_reduce_axis(b, "k", zero, n, &k));
  session_ok(s, tess_var_ref(b, v[0], &at[0]));
  session_ok(s, tess_var_ref(b, k, &at[1]));
  session_ok(s, tess_var_ref(b, v[1], &at[2]));
  session_ok(s, tess_load(b, in[0], 2, at, &x));
  session_ok(s, tess_load(b, in[1], 2, at + 1, &y));
  session_ok(s, tess_binary(b, "*", x, y, &x));
  session_ok(s, tess_reduce(b, "sum", 1, &x, 1, &k, &y));
  session_ok(s, tess_compute_end(b, 1, &y, &out));
  session_ok(s, tess_program_new(b, "product", 2, in, 1, &out, &s->p));
  tess_builder_free(b);
}

static void open_session(session *s) {
  const tess_options o = {.struct_size = sizeof o,
                          .worker_path =
                              TESS_BUILD_DIR "/libexec/tessera-worker"};
  const int64_t shape[] = {N, N};
  *s = (session){.folder = "/tmp/tessera-session-XXXXXX"};
  assert_non_null(mkdtemp(s->folder));
  assert_int_equal(tess_context_new(&o, &s->c), TESS_OK);
  describe_product(s);
  for (uint64_t i = 0; i < 3; i++)
    session_ok(s, tess_tensor_new(s->c, F32, 2, shape,
                                  i < 2 ? "integers" : "zeros", i, &s->t[i]));
  session_ok(s, tess_interpret(s->p, 3, s->t));
}

static void close_session(session *s) {
  for (int i = 0; i < 3; i++) tess_tensor_free(s->t[i]);
  tess_trace_free(s->changed);
  tess_trace_free(s->best);
  tess_result_free(s->r);
  tess_program_free(s->p);
  tess_context_free(s->c);
  assert_int_equal(rmdir(s->folder), 0);
}

/* ---- tuning and stepping ------------------------------------------------ */

static void tune_product(session *s) {
  tess_result_info info = TESS_INIT(tess_result_info);
  const tess_tune_options o = {.struct_size = sizeof o,
                               .trials = 6,
                               .batch = 3,
                               .seed = 1,
                               .min_time = 0.001,
                               .inputs = s->t,
                               .ninputs = 3};
  session_ok(s, tess_tune(s->p, NULL, NULL, &o, &s->r));
  session_ok(s, tess_result_get(s->r, &info));
  assert_int_equal(info.status, TESS_OK);
  if (info.trials != 6) fail_msg("%s", info.funnel);
  session_ok(s, tess_result_trace(s->r, &s->best));
}

static void session_hash(const session *s, tess_stepper *step, uint64_t *out) {
  tess_program *p;
  session_ok(s, tess_stepper_program(step, &p));
  *out = tess_program_hash(p);
  tess_program_free(p);
}

/* Back again each program is what it was on the way forth. */
static void step_forth_and_back(session *s, tess_stepper *step) {
  uint64_t was[MOST_STEPS], is;
  uint32_t n = tess_stepper_size(step);
  assert_in_range(n, 5, MOST_STEPS - 1);
  session_hash(s, step, &was[0]);
  for (uint32_t i = 1; i <= n; i++) {
    session_ok(s, tess_stepper_next(step));
    assert_int_equal(tess_stepper_position(step), i);
    session_hash(s, step, &was[i]);
  }
  for (uint32_t i = n; i-- > 0;) {
    session_ok(s, tess_stepper_back(step));
    session_hash(s, step, &is);
    assert_int_equal(is, was[i]);
  }
}

/* Another decision at the instruction where the stepper stands that the whole
 * trace bears; 0: there is none. */
static int decide_otherwise(session *s, tess_stepper *step) {
  tess_alternatives a = TESS_INIT(tess_alternatives);
  int64_t old[MOST_NUMBERS], row[8 * MOST_NUMBERS];
  uint32_t n = 0, invalid;
  session_ok(s, tess_stepper_decision(step, MOST_NUMBERS, old, &n));
  if (!n || tess_stepper_alternatives(step, 8, &a) != TESS_OK) return 0;
  assert_true(a.width <= MOST_NUMBERS && a.n <= 8);
  memcpy(row, a.decision, (size_t)a.n * a.width * sizeof *row);
  for (uint32_t i = 0; i < a.n; i++) {
    const int64_t *d = row + i * a.width;
    if (memcmp(d, old, a.width * sizeof *d) &&
        tess_stepper_decide(step, a.width, d, &invalid) == TESS_OK)
      return 1;
  }
  session_ok(s, tess_stepper_decide(step, n, old, &invalid));
  return 0;
}

static void step_and_change(session *s) {
  tess_stepper *step;
  session_ok(s, tess_stepper_new(s->best, s->p, &step));
  step_forth_and_back(s, step);
  uint32_t at = 1, n = tess_stepper_size(step);
  for (; at <= n; at++) {
    session_ok(s, tess_stepper_goto(step, at));
    if (decide_otherwise(s, step)) break;
  }
  assert_in_range(at, 1, n);
  session_ok(s, tess_stepper_trace(step, &s->changed));
  tess_stepper_free(step);
}

/* ---- deploying ---------------------------------------------------------- */

/* Saves the kernel, loads what was saved without Tessera, and calls it. */
static void deploy(session *s, tess_kernel *k, const char *name) {
  static float out[N * N];
  char path[2][80];
  for (int i = 0; i < 2; i++)
    snprintf(path[i], sizeof path[i], "%s/%s.%s", s->folder, name,
             i ? "h" : "so");
  assert_int_equal(tess_kernel_save(NULL, path[0], NULL), TESS_INVALID);
  assert_int_equal(tess_kernel_save(k, NULL, NULL), TESS_INVALID);
  session_ok(s, tess_kernel_save(k, path[0], path[1]));
  void *library = dlopen(path[0], RTLD_NOW | RTLD_LOCAL), *symbol;
  if (!library) fail_msg("%s", dlerror());
  symbol = dlsym(library, "product");
  assert_non_null(symbol);
  int32_t (*product)(const float *, const float *, float *);
  memcpy(&product, &symbol, sizeof product);
  memset(out, 0, sizeof out);
  assert_int_equal(
      product(tess_tensor_data(s->t[0]), tess_tensor_data(s->t[1]), out), 0);
  assert_memory_equal(out, tess_tensor_data(s->t[2]), sizeof out);
  assert_int_equal(dlclose(library), 0);
  for (int i = 0; i < 2; i++) assert_int_equal(unlink(path[i]), 0);
}

static void deploy_both(session *s) {
  tess_kernel *k;
  tess_schedule *sch;
  tess_program *p;
  session_ok(s, tess_result_kernel(s->r, &k));
  deploy(s, k, "best");
  tess_kernel_free(k);
  session_ok(s, tess_trace_replay(s->changed, s->p, NULL, &sch));
  session_ok(s, tess_schedule_program(sch, &p));
  session_ok(s, tess_equivalent(p, s->p, 1));
  session_ok(s, tess_build(p, NULL, &k));
  deploy(s, k, "changed");
  tess_kernel_free(k);
  tess_program_free(p);
  tess_schedule_free(sch);
}

static void test_from_description_to_library(void **state) {
  session s;
  (void)state;
  open_session(&s);
  tune_product(&s);
  step_and_change(&s);
  deploy_both(&s);
  close_session(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_from_description_to_library)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
