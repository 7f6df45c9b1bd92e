/* SPDX-License-Identifier: Apache-2.0
 * Fault injection in tuning runs that end with a message, and in those that a
 * process proposes for: what is told is lost where its memory is, and never
 * more than that. */
#include "support/scarce.h"
#include "support/test.h"

/* A run that ends with status `end`, if memory suffices. */
static tess_status tune_to(const scarce *f, tess_program *p,
                           const tess_tune_options *o, tess_status end) {
  tess_result *r;
  tess_result_info info = TESS_INIT(tess_result_info);
  tess_status s = tess_tune(p, f->target, f->space, o, &r);
  if (!r) return s;
  assert_int_equal(s, TESS_OK);
  tess_result_get(r, &info);
  if (info.status != end && info.status != TESS_NOT_FOUND)
    assert_int_equal(info.status, f->lack);
  if (info.status == TESS_BUILD_ERROR) assert_true(*info.message);
  tess_result_free(r);
  return s;
}

static tess_status tune_until_error(scarce *f) {
  const tess_tune_options o = {.struct_size = sizeof o,
                               .trials = 2,
                               .batch = 1,
                               .seed = 1,
                               .threads = 1,
                               .kernel_threads = 1,
                               .on_error = 1};
  return tune_to(f, f->unlinked, &o, TESS_BUILD_ERROR);
}

static tess_status give_time(void *ud, tess_session *s, const tess_candidate *c,
                             double *seconds) {
  (void)ud, (void)s, (void)c;
  *seconds = 1;
  return TESS_OK;
}

/* Each request but the first tells the process what of the last answer was of
 * no use. */
static tess_status tune_by_process(scarce *f) {
  const tess_tune_options o = {
      .struct_size = sizeof o,
      .trials = 3,
      .batch = 1,
      .seed = 1,
      .threads = 1,
      .kernel_threads = 1,
      .measure = give_time,
      .strategy = "process:command=read -r task; while read -r request; "
                  "do echo '{\"candidates\": [{\"sketch\": 9}]}'; done"};
  return tune_to(f, f->p, &o, TESS_OK);
}

static void test_lost_messages(void **state) {
  (void)state;
  scarce f;
  scarce_start(&f);
  scarce_describe_unlinked(&f);
  scarce_ok(&f, tess_space_function(f.c, scarce_modules, &f.space));
  SCARCE_EACH(&f, tune_by_process);
  tess_space_free(f.space);
  scarce_ok(&f, tess_space_function(f.c, &scarce_modules[2], &f.space));
  SCARCE_EACH(&f, tune_until_error);
  scarce_stop(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_lost_messages)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
