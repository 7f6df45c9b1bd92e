/* SPDX-License-Identifier: Apache-2.0
 * `tessera watch`: a run beside it, in lines and in a terminal. */
#include "support/command.h"

#include <string.h>

static void refusals(void **state) {
  (void)state;
  expect("watch", 2, "watch takes one DB");
  expect("watch d.lua", 1, "d.lua: not a database");
  expect("watch no.db", 1, "no.db: No such file");
  expect("watch d.lua --onc", 2, "unknown option --onc");
}

/* It begins when the run has stored something, says what changes, and ends with
 * the run, which goes on from its middle when that was seen. */
static void beside_a_run(void **state) {
  (void)state;
  console_write(&c, "slow.lua",
                "local d = dofile 'd.lua'\n"
                "d.progress = function(p)\n"
                "  if p.trials ~= 24 then return end\n"
                "  os.execute [[touch half\n"
                "    until grep -q 'goes on' seen || [ -e over ]; do\n"
                "      sleep 0.1\n"
                "    done]]\n"
                "end\n"
                "return d\n");
  console_run(&c,
              ": > seen; $TESSERA tune slow.lua --trials 48 --seed 1 --db w.db "
              "> tuned 2>&1 & "
              "until [ -e half ]; do sleep 0.1; done; "
              "$TESSERA watch w.db | tee seen; touch over; wait");
  if (!strstr(c.out, " measured, ") || !strstr(c.out, "; goes on\n"))
    fail_msg("%s%s", c.out, c.err);
  assert_non_null(strstr(c.out, "48 measured, 0 failed, best "));
  assert_non_null(strstr(c.out, " times as fast as the unscheduled program"));
  assert_non_null(strstr(c.out, "rank accuracy "));
  assert_non_null(strstr(c.out, "; ended: OK\n"));
  expect("watch w.db", 0, "48 measured, 0 failed");
}

static void at_once(void **state) {
  static const char *const says[] = {"matmul ",
                                     ": A: float32[16, 16], ",
                                     "\n  target    llvm ",
                                     "\n  run     ",
                                     ", seed 1, ",
                                     " s: ended: OK",
                                     "\n  trials  ",
                                     "48 measured, 0 failed",
                                     "\n  best    ",
                                     "(w.db:",
                                     "\n  funnel  ",
                                     "48 measured: ok",
                                     "\n  model   ",
                                     "rmse "};
  (void)state;
  expect("watch w.db --once", 0, "matmul ");
  const char *at = c.out;
  for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
    const char *found = strstr(at, says[i]);
    if (!found) fail_msg("'%s' is not in its place in: %s", says[i], c.out);
    at = found + strlen(says[i]);
  }
}

/* A number opens that record in the stepper, behind which one looks on. */
static void in_a_terminal(void **state) {
  (void)state;
  console_open(&c, "watch w.db");
  console_expect(&c, "48 measured, 0 failed");
  console_expect(&c,
                 "-- a record's number opens it in the stepper, q leaves> ");
  console_type(&c, "three\n");
  console_expect(&c, "'three' is no number of a record");
  console_expect(&c, "q leaves> ");
  console_type(&c, "99\n");
  console_expect(&c, "has no record 99");
  console_expect(&c, "q leaves> ");
  console_type(&c, "3\n");
  console_expect(&c, "-- 0 of ");
  console_expect(&c, "> ");
  console_await_keys(&c);
  console_type(&c, "next\n");
  console_expect(&c, "-- 1 of ");
  console_expect(&c, "> ");
  console_type(&c, "quit\n");
  console_expect(&c, "48 measured, 0 failed");
  console_expect(&c, "q leaves> ");
  console_type(&c, "q\n");
  assert_int_equal(console_close(&c), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refusals), cmocka_unit_test(beside_a_run),
      cmocka_unit_test(at_once), cmocka_unit_test(in_a_terminal)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
