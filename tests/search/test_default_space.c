/* SPDX-License-Identifier: Apache-2.0
 * The default space for hosts without Lua: found, loaded, used and ended; and
 * what is said where it is not there. */
#include "measure/kernel.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct hosted {
  tess_context *c;
  tess_program *p;
} hosted;

static void default_space_ok(const hosted *h, tess_status s) {
  if (s != TESS_OK) fail_msg("%s", tess_error(h->c)->message);
}

/* B[i, j] = A[i, j] + 1 over 64 x 64 */
static void host_start(hosted *h) {
  const tess_options o = {.struct_size = sizeof o, .in_process = 1};
  const tess_dtype f32 = {TESS_DTYPE_FLOAT, 32, 1};
  tess_builder *b;
  tess_expr n, one, x, idx[2];
  tess_buffer in, out;
  tess_var v[2];
  assert_int_equal(tess_context_new(&o, &h->c), TESS_OK);
  default_space_ok(h, tess_builder_new(h->c, &b));
  default_space_ok(h, tess_int(b, (tess_dtype){TESS_DTYPE_INT, 64, 1}, 64, &n));
  default_space_ok(h, tess_literal(b, 1, 0, &one));
  const tess_expr shape[] = {n, n};
  default_space_ok(
      h, tess_placeholder(b, "A", f32, 2, shape, TESS_ROLE_INPUT, &in));
  default_space_ok(h, tess_compute_begin(b, "B", 2, shape, NULL, v));
  for (int d = 0; d < 2; d++)
    default_space_ok(h, tess_var_ref(b, v[d], &idx[d]));
  default_space_ok(h, tess_load(b, in, 2, idx, &x));
  default_space_ok(h, tess_binary(b, "+", x, one, &x));
  default_space_ok(h, tess_compute_end(b, 1, &x, &out));
  default_space_ok(h, tess_program_new(b, "plus", 1, &in, 1, &out, &h->p));
  tess_builder_free(b);
}

static void host_end(hosted *h) {
  tess_program_free(h->p);
  tess_context_free(h->c);
}

/* The modules write their sketches and say so, in a union with others too;
 * the state goes with the last space that needs it. */
static void test_modules_run(void **state) {
  (void)state;
  hosted h;
  tess_space *space, *both;
  tess_trace *t[16];
  uint32_t n;
  char *text;
  host_start(&h);
  default_space_ok(&h, tess_space_default(h.c, NULL, &space));
  default_space_ok(&h, tess_space_union(h.c, 1, &space, &both));
  tess_space_free(space);
  default_space_ok(&h, tess_space_sketches(both, h.p, NULL, 16, t, &n));
  assert_true(n > 0);
  for (uint32_t i = 0; i < n; i++) tess_trace_free(t[i]);
  default_space_ok(&h, tess_space_explain(both, h.p, NULL, &text));
  assert_non_null(strstr(text, "parallel_vectorize_unroll"));
  if (strstr(text, "failed")) fail_msg("%s", text);
  tess_text_free(h.c, text);
  tess_space_free(both);
  host_end(&h);
}

/* Programs and spaces of scripts; what a script does wrong is told. */
static void test_scripts(void **state) {
  (void)state;
  hosted h;
  tess_program *p;
  tess_space *space;
  tess_trace *t;
  uint32_t n;
  static const struct {
    const char *script;
    tess_status status;
    const char *said;
  } wrong[] = {
      {"return (", TESS_PARSE, "script:1"},
      {"error 'mine'", TESS_CALLBACK, "mine"},
      {"return 3", TESS_TYPE, "program"},
      {"return require 'tessera.ops'.matmul { m = 0 }", TESS_INVALID, "m"},
  };
  host_start(&h);
  default_space_ok(&h,
                   tess_program_from_lua(h.c,
                                         "return require 'tessera.ops'.matmul "
                                         "{ m = 8, n = 8, k = 4 }",
                                         &p));
  assert_int_equal(tess_program_flops(p), 2 * 8 * 8 * 4);
  tess_program_free(p);
  default_space_ok(&h,
                   tess_space_from_lua(
                       h.c,
                       "return require 'tessera'.space.by_hand(function(sch)\n"
                       "  sch:parallel((sch:get_loops(sch:get_block 'B')))\n"
                       "end)",
                       &space));
  default_space_ok(&h, tess_space_sketches(space, h.p, NULL, 1, &t, &n));
  assert_int_equal(n, 1);
  tess_trace_free(t);
  tess_space_free(space);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_int_equal(tess_program_from_lua(h.c, wrong[i].script, &p),
                     wrong[i].status);
    assert_null(p);
    assert_non_null(strstr(tess_error(h.c)->message, wrong[i].said));
  }
  assert_int_equal(tess_space_from_lua(h.c, "return 3", &space), TESS_TYPE);
  assert_null(space);
  host_end(&h);
}

static void test_tune_without_a_space(void **state) {
  (void)state;
  hosted h;
  tess_result *r;
  tess_kernel *k;
  tess_result_info info = TESS_INIT(tess_result_info);
  host_start(&h);
  const tess_tune_options o = {.struct_size = sizeof o,
                               .trials = 4,
                               .seed = 1,
                               .min_time = 0.001,
                               .kernel_threads = 3};
  default_space_ok(&h, tess_tune(h.p, NULL, NULL, &o, &r));
  default_space_ok(&h, tess_result_get(r, &info));
  assert_int_equal(info.status, TESS_OK);
  default_space_ok(&h, tess_result_kernel(r, &k));
  assert_int_equal(k->threads, 3); /* as it was tuned */
  tess_kernel_set_threads(k, 0);
  assert_int_equal(k->threads, 0);
  tess_kernel_free(k);
  tess_result_free(r);
  host_end(&h);
}

static int counted;
static void count_end(void *ud) {
  assert_ptr_equal(ud, &counted);
  counted++;
}

static void test_end_of_a_space(void **state) {
  (void)state;
  hosted h;
  tess_space *space, *both;
  host_start(&h);
  default_space_ok(&h, tess_space_traces(h.c, 0, NULL, &space));
  tess_space_on_free(space, count_end, &counted);
  default_space_ok(&h, tess_space_union(h.c, 1, &space, &both));
  tess_space_free(space);
  assert_int_equal(counted, 0);
  tess_space_free(both);
  assert_int_equal(counted, 1);
  host_end(&h);
}

static void says(const hosted *h, tess_status s, tess_status want,
                 const char *message) {
  assert_int_equal(s, want);
  assert_non_null(strstr(tess_error(h->c)->message, message));
  assert_null(strchr(tess_error(h->c)->message, '\n'));
}

static void test_it_is_not_there(void **state) {
  (void)state;
  hosted h;
  tess_space *space;
  tess_result *r;
  tess_target *t;
  host_start(&h);
  setenv("TESSERA_SPACES", "/nowhere/libtessera-spaces.so", 1);
  says(&h, tess_space_default(h.c, NULL, &space), TESS_UNSUPPORTED,
       "default spaces and operators are not installed: there is no "
       "'/nowhere/libtessera-spaces.so'");
  assert_null(space);
  says(&h, tess_tune(h.p, NULL, NULL, NULL, &r), TESS_UNSUPPORTED,
       "default spaces and operators are not installed");
  assert_null(r);
  setenv("TESSERA_SPACES", TESS_EXTERNS, 1); /* a library, but another one */
  says(&h, tess_space_default(h.c, NULL, &space), TESS_UNSUPPORTED,
       "default spaces and operators cannot be loaded");
  setenv("TESSERA_SPACES", TESS_SOURCE_DIR "/README.md", 1);
  says(&h, tess_space_default(h.c, NULL, &space), TESS_UNSUPPORTED,
       "default spaces and operators cannot be loaded");
  unsetenv("TESSERA_SPACES");
  default_space_ok(&h, tess_target_new(h.c, "llvm", &t));
  default_space_ok(&h, tess_space_default(h.c, t, &space));
  tess_space_free(space);
  tess_target_free(t);
  host_end(&h);
}

/* Whatever a device allows, there is a space for it. */
static void test_small_devices(void **state) {
  (void)state;
  hosted h;
  host_start(&h);
  for (int n = 1; n <= 32; n *= 2) {
    char text[64];
    tess_target *t;
    tess_space *space;
    char *why;
    snprintf(text, sizeof text, "opencl -max_threads_per_block=%d", n);
    default_space_ok(&h, tess_target_new(h.c, text, &t));
    default_space_ok(&h, tess_space_default(h.c, t, &space));
    default_space_ok(&h, tess_space_explain(space, h.p, t, &why));
    if (strstr(why, "failed")) fail_msg("%s", why);
    tess_text_free(h.c, why);
    tess_space_free(space);
    tess_target_free(t);
  }
  host_end(&h);
}

/* An error while the modules are loaded is a status of the call: here memory
 * that ends, wherever it does. */
static void test_making_it_fails(void **state) {
  (void)state;
  size_t failed = 0;
  for (size_t cap = 1 << 12;; cap += cap / 4) {
    tess_context *c;
    tess_space *space;
    const tess_options o = {.struct_size = sizeof o, .memory_cap = cap};
    if (tess_context_new(&o, &c) != TESS_OK) continue;
    tess_status s = tess_space_default(c, NULL, &space);
    if (s != TESS_OK) {
      if (s != TESS_LIMIT) fail_msg("%s", tess_error(c)->message);
      assert_null(space);
      assert_non_null(strstr(tess_error(c)->message, "the default space: "));
      failed++;
    }
    tess_space_free(space);
    tess_context_free(c);
    if (s == TESS_OK) break;
  }
  assert_true(failed > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_modules_run),
      cmocka_unit_test(test_scripts),
      cmocka_unit_test(test_tune_without_a_space),
      cmocka_unit_test(test_end_of_a_space),
      cmocka_unit_test(test_it_is_not_there),
      cmocka_unit_test(test_small_devices),
      cmocka_unit_test(test_making_it_fails)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
