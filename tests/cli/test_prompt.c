/* SPDX-License-Identifier: Apache-2.0
 * The prompt in a terminal: completion, and what Ctrl-C does there. */
#include "support/console.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

static console c;

static int prompt_set_up(void **state) {
  (void)state;
  console_start(&c, TESS_BUILD_DIR "/bin/tessera");
  return 0;
}

static int prompt_tear_down(void **state) {
  (void)state;
  console_end(&c);
  return 0;
}

static void open_prompt(void) {
  console_open(&c, "");
  console_expect(&c, "> ");
  console_await_keys(&c);
}

/* Types the line; the prompt comes back behind what it gives. */
static void enter(const char *line, const char *gives) {
  console_type(&c, line);
  console_type(&c, "\n");
  console_expect(&c, gives);
  console_expect(&c, "\n> ");
  console_await_keys(&c);
}

/* Ctrl-C, after which there is a new prompt, and nothing was said. */
static void abandon(void) {
  console_type(&c, "\003");
  console_expect(&c, "\n> ");
  if (strlen(c.passed) != strspn(c.passed, "\r\n"))
    fail_msg("after Ctrl-C there came: %s", c.passed);
  console_await_keys(&c);
}

static void leave(void) {
  console_type(&c, "\004");
  assert_int_equal(console_close(&c), 0);
}

static void completion(void **state) {
  (void)state;
  open_prompt();
  enter("ts.reduce_a\t('k', 4)", "ts.reduce_axis");
  enter("print(6 * 7)", "42");
  leave();
}

static void interrupted_before_a_line(void **state) {
  (void)state;
  open_prompt();
  abandon();
  abandon();
  enter("print(6 * 7)", "\n42");
  abandon();
  enter("print(6 * 8)", "\n48");
  leave();
}

static void interrupted_in_a_line(void **state) {
  (void)state;
  open_prompt();
  for (int i = 0; i < 2; i++) {
    console_type(&c, "os.exit(3)");
    console_expect(&c, "os.exit(3)");
    abandon();
    enter("print(6 * 7)", "\n42");
  }
  leave();
}

/* All lines of the input are thrown away. */
static void interrupted_in_several_lines(void **state) {
  (void)state;
  open_prompt();
  for (int typed = 0; typed < 2; typed++) {
    console_type(&c, "x = 42 for i = 1,\n");
    console_expect(&c, "\n>> ");
    console_await_keys(&c);
    if (typed) {
      console_type(&c, "7 do");
      console_expect(&c, "7 do");
    }
    abandon();
    enter("print(x, #'abc')", "nil\t3");
  }
  leave();
}

/* The second loop runs while the result is printed. */
static void interrupted_while_running(void **state) {
  (void)state;
  static const char *const loops[] = {
      "print(6 * 7) while true do end\n",
      "setmetatable({}, { __tostring = function()"
      " print(6 * 7) while true do end end })\n"};
  open_prompt();
  for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
    console_type(&c, loops[i]);
    console_expect(&c, "\n42");
    console_type(&c, "\003");
    console_expect(&c, "interrupted");
    console_expect(&c, "\n> ");
    console_await_keys(&c);
    enter("print(6 * 8)", "\n48");
  }
  leave();
}

/* Characters of several bytes come whole, also where the environment names no
 * locale for them, or none that there is; and numbers have a dot. */
static void not_ascii(void **state) {
  (void)state;
  static const char *const locales[] = {"C.UTF-8", "C", "xx_XX.none"};
  for (size_t i = 0; i < sizeof locales / sizeof *locales; i++) {
    setenv("LC_ALL", locales[i], 1);
    open_prompt();
    enter("print(('a\303\251b\342\202\254'):byte(1, -1))",
          "97\t195\t169\t98\t226\t130\t172");
    enter("print(0.5 * 3)", "\n1.5");
    enter("print(('a\377b'):byte(1, -1))", "97\t239\t191\t189\t98");
    leave();
  }
  unsetenv("LC_ALL");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(completion),
      cmocka_unit_test(interrupted_before_a_line),
      cmocka_unit_test(interrupted_in_a_line),
      cmocka_unit_test(interrupted_in_several_lines),
      cmocka_unit_test(interrupted_while_running),
      cmocka_unit_test(not_ascii)};
  return cmocka_run_group_tests(tests, prompt_set_up, prompt_tear_down);
}
