/* SPDX-License-Identifier: Apache-2.0
 * Options by their declarations: each has what a binding needs, its default is
 * put in, and what is out of its range is refused by its name. */
#include "measure/measure.h"
#include "search/run/options.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef const tess_option *(*option_list)(uint32_t i);

/* Either struct of options, and how it is completed. */
typedef union options {
  tess_tune_options tune;
  tess_tasks_options tasks;
} options;

static tess_status complete(tess_context *c, option_list list, options *o) {
  return list == tess_tune_option ? options_complete(c, &o->tune)
                                  : options_complete_tasks(c, &o->tasks);
}

static void refuses_option(tess_context *c, option_list list,
                           const tess_option *o, options *given) {
  char name[80];
  snprintf(name, sizeof name, "option '%s' is ", o->name);
  assert_int_equal(complete(c, list, given), TESS_INVALID);
  const char *said = tess_error(c)->message;
  if (strncmp(said, name, strlen(name)) &&
      !(strstr(said, o->field) && strstr(said, "neither 0 nor 1")))
    fail_msg("of option %s it says: %s", o->name, said);
}

static void refuses_option_at(tess_context *c, option_list list,
                              const tess_option *o, double x) {
  options given = {0};
  memcpy((char *)&given + o->offset, &x, sizeof x);
  refuses_option(c, list, o, &given);
}

static void check_ends(tess_context *c, option_list list,
                       const tess_option *o) {
  options given = {0};
  void *at = (char *)&given + o->offset;
  switch (o->kind) {
  case TESS_OPTION_COUNT:
    assert_true(o->most >= 1);
    *(uint32_t *)at = (uint32_t)o->most;
    assert_int_equal(complete(c, list, &given), TESS_OK);
    *(uint32_t *)at = (uint32_t)o->most + 1;
    refuses_option(c, list, o, &given);
    break;
  case TESS_OPTION_SHARE:
  case TESS_OPTION_SECONDS:
    if (o->kind == TESS_OPTION_SHARE) refuses_option_at(c, list, o, 1.5);
    refuses_option_at(c, list, o, -1);
    refuses_option_at(c, list, o, NAN);
    refuses_option_at(c, list, o, INFINITY);
    break;
  case TESS_OPTION_WORD:
  case TESS_OPTION_SWITCH:
  case TESS_OPTION_OFF:
    *(int32_t *)at = 1;
    assert_int_equal(complete(c, list, &given), TESS_OK);
    *(int32_t *)at = 2;
    refuses_option(c, list, o, &given);
    *(int32_t *)at = -1;
    refuses_option(c, list, o, &given);
    break;
  default: break;
  }
}

static void check_default(option_list list, const tess_option *o,
                          const options *completed) {
  const void *at = (const char *)completed + o->offset;
  (void)list;
  if (o->kind == TESS_OPTION_COUNT)
    assert_int_equal(*(const uint32_t *)at, (uint32_t)o->initial);
  if (o->kind == TESS_OPTION_SECONDS || o->kind == TESS_OPTION_SHARE)
    assert_true(*(const double *)at == o->initial);
}

static void check_list(option_list list, uint32_t least) {
  tess_context *c;
  options completed = {0};
  uint32_t n = 0;
  assert_int_equal(tess_context_new(NULL, &c), TESS_OK);
  assert_int_equal(complete(c, list, &completed), TESS_OK);
  for (; list(n); n++) {
    const tess_option *o = list(n);
    assert_non_null(o->name);
    assert_true(o->help && *o->help && o->help[strlen(o->help) - 1] != '.');
    assert_true(o->kind != TESS_OPTION_VALUE || (o->type && o->usual));
    assert_true(!o->field == (o->kind == TESS_OPTION_VALUE));
    check_default(list, o, &completed);
    check_ends(c, list, o);
  }
  assert_true(n >= least);
  assert_null(list(n + 1));
  tess_context_free(c);
}

static void test_of_one_program(void **state) {
  (void)state;
  check_list(tess_tune_option, 27);
}

/* What tess_tune measures by is what the engine measures by anywhere. */
static void test_defaults_are_the_policys(void **state) {
  (void)state;
  tess_context *c;
  tess_tune_options o = TESS_INIT(tess_tune_options);
  measure_policy p = measure_default_policy(1);
  assert_int_equal(tess_context_new(NULL, &c), TESS_OK);
  assert_int_equal(options_complete(c, &o), TESS_OK);
  assert_true(o.min_time == p.min_time);
  assert_true(o.timeout == p.timeout);
  assert_true(o.build_timeout == p.build_timeout);
  tess_context_free(c);
}

static void test_of_many(void **state) {
  (void)state;
  check_list(tess_tasks_option, 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_of_one_program), cmocka_unit_test(test_of_many),
      cmocka_unit_test(test_defaults_are_the_policys)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
