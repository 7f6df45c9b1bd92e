/* SPDX-License-Identifier: Apache-2.0
 * Long calls end when tess_stop() is called. */
#include "support/measured.h"
#include <signal.h>
#include <sys/time.h>

typedef struct stopped {
  tess_context *c;
  tess_program *p;
  tess_kernel *k;
  tess_tensor *t[3];
} stopped;

static tess_context *running;

static void stop_stop(int sig) {
  (void)sig;
  tess_stop(running);
}

/* Stops every ms until ms is 0, so that it hits every phase. */
static void stop_every(int ms) {
  const struct itimerval when = {.it_interval = {.tv_usec = ms * 1000},
                                 .it_value = {.tv_usec = ms * 1000}};
  assert_int_equal(setitimer(ITIMER_REAL, &when, NULL), 0);
}

static int set_up_matmul(void **state, int64_t n) {
  static stopped f;
  const int64_t shape[] = {n, n};
  const tess_options o = {.struct_size = sizeof o, .in_process = 1};
  assert_int_equal(tess_context_new(&o, &f.c), TESS_OK);
  f.p = measured_matmul(f.c, n);
  for (int i = 0; i < 3; i++)
    assert_int_equal(tess_tensor_new(f.c, (tess_dtype){TESS_DTYPE_FLOAT, 32, 1},
                                     2, shape, "zeros", 0, &f.t[i]),
                     TESS_OK);
  assert_int_equal(tess_build(f.p, NULL, &f.k), TESS_OK);
  running = f.c;
  const struct sigaction act = {.sa_handler = stop_stop,
                                .sa_flags = SA_RESTART};
  assert_int_equal(sigaction(SIGALRM, &act, NULL), 0);
  *state = &f;
  return 0;
}

static int set_up_small(void **state) { return set_up_matmul(state, 16); }

/* The interpreter would take minutes. */
static int set_up_large(void **state) { return set_up_matmul(state, 1024); }

static int stop_tear_down(void **state) {
  stopped *f = *state;
  stop_every(0);
  for (int i = 0; i < 3; i++) tess_tensor_free(f->t[i]);
  tess_kernel_free(f->k);
  tess_program_free(f->p);
  tess_context_free(f->c);
  return 0;
}

static void is_cancelled(stopped *f, tess_status s) {
  stop_every(0);
  assert_int_equal(s, TESS_CANCELLED);
  assert_string_equal(tess_error(f->c)->message, "cancelled");
}

static void test_oracle(void **state) {
  stopped *f = *state;
  stop_every(10);
  is_cancelled(f, tess_interpret(f->p, 3, f->t));
  stop_every(10);
  is_cancelled(f, tess_equivalent(f->p, f->p, 1));
  stop_every(10);
  is_cancelled(f, tess_tensor_intrin(f->c, "large", f->p, f->p, 0));
}

static void test_timing(void **state) {
  stopped *f = *state;
  tess_timing t = TESS_INIT(tess_timing);
  stop_every(10);
  is_cancelled(f, tess_kernel_time(f->k, 3, f->t, 1e6, &t));
}

/* One that came when nothing was going on is forgotten. */
static void test_too_early(void **state) {
  stopped *f = *state;
  tess_timing t = TESS_INIT(tess_timing);
  char *text;
  tess_stop(f->c);
  assert_int_equal(tess_kernel_source(f->k, "ir", &text), TESS_OK);
  tess_text_free(f->c, text);
  tess_stop(f->c);
  assert_int_equal(tess_kernel_time(f->k, 3, f->t, 1e-3, &t), TESS_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_oracle, set_up_large,
                                      stop_tear_down),
      cmocka_unit_test_setup_teardown(test_timing, set_up_small,
                                      stop_tear_down),
      cmocka_unit_test_setup_teardown(test_too_early, set_up_small,
                                      stop_tear_down)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
