/* SPDX-License-Identifier: Apache-2.0
 * Signals that ask the program to end: any second one ends the process. */
#include "support/console.h"
#include "support/test.h"

#include <signal.h>
#include <stdio.h>

/* The first is an error that the script takes, as it would any after it. */
static const char script[] =
    "local function send(sig) io.popen('kill -' .. sig .. ' $PPID'):close() "
    "end\n"
    "print(pcall(function()\n"
    "  send(arg[1])\n"
    "  io.stdout:write 'sent\\n':flush()\n"
    "  while true do end\n"
    "end))\n"
    "io.stdout:flush()\n"
    "pcall(send, arg[2])\n"
    "local stop = os.clock() + 2\n"
    "while os.clock() < stop do pcall(function() for i = 1, 1e5 do end end) "
    "end\n"
    "print 'still here'\n";

static void second_ends(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int number;
  } signals[] = {{"INT", SIGINT}, {"TERM", SIGTERM}, {"HUP", SIGHUP}};
  console c;
  console_start(&c, TESS_BUILD_DIR "/bin/tessera");
  console_write(&c, "two.lua", script);
  signal(SIGHUP, SIG_DFL);
  for (int i = 0; i < 9; i++) {
    int status = console_run(&c, "%s two.lua %s %s", CONSOLE_TESSERA,
                             signals[i / 3].name, signals[i % 3].name);
    if (status != 128 + signals[i % 3].number)
      fail_msg("%s, then %s: status %d: %s%s", signals[i / 3].name,
               signals[i % 3].name, status, c.out, c.err);
    assert_non_null(strstr(c.out, "interrupted"));
  }
  /* One that is ignored is no first. */
  assert_int_equal(console_run(&c,
                               "trap '' HUP; mkfifo said; "
                               "%s two.lua HUP INT > said & p=$!; "
                               "exec 3< said; read sent <&3; "
                               "kill -TERM $p; wait $p",
                               CONSOLE_TESSERA),
                   128 + SIGINT);
  console_end(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(second_ends)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
