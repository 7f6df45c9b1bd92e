/* SPDX-License-Identifier: Apache-2.0
 * `tessera tune` that is interrupted, wherever it is: by Ctrl-C, in a terminal
 * and not, and by signals. */
#include "support/command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ctrl-C in a terminal, where the progress is one line that is rewritten. */
static void interrupted_in_a_terminal(void **state) {
  (void)state;
  console_open(&c, "tune d.lua --trials 100000 --db i.db");
  console_expect(&c, "\r\033[Ktrial 4/100000");
  console_type(&c, "\003");
  console_expect(&c, "-- the best trace");
  console_expect(&c, "GFLOP/s after");
  console_expect(&c, "interrupted: this is the best so far");
  assert_int_equal(console_close(&c), 128 + SIGINT);
  expect("db i.db", 0, "OK");
}

/* Ctrl-C, as reported by Lua, before anything was measured: one line. */
static void interrupted_at_once(void **state) {
  (void)state;
  console_write(&c, "stop.lua",
                "local d = dofile 'd.lua'\n"
                "d.strategy = { propose = function()\n"
                "  error('interrupted!', 0)\n"
                "end }\n"
                "return d\n");
  expect("tune stop.lua", 1, "interrupted");
  assert_string_equal(c.err, "tessera: interrupted before anything valid was "
                             "found\n");
  assert_string_equal(c.out, "");
}

/* And while a file is run: the line names no place in it.  A signal that asks
 * the program to end does the same. */
static void interrupted_in_lua(void **state) {
  (void)state;
  static const char *const signals[] = {"INT", "TERM", "HUP"};
  static const int number[] = {SIGINT, SIGTERM, SIGHUP};
  signal(SIGHUP, SIG_DFL);
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
    char text[128];
    snprintf(text, sizeof text,
             "io.popen('kill -%s $PPID'):close()\nwhile true do end\n",
             signals[i]);
    console_write(&c, "loop.lua", text);
    expect("show loop.lua", 128 + number[i], "interrupted");
    assert_string_equal(c.err, "tessera: interrupted\n");
  }
  console_write(&c, "stay.lua",
                "io.popen('kill -HUP $PPID'):close()\nprint 'here'\n");
  assert_int_equal(
      console_run(&c, "trap '' HUP; exec %s stay.lua", CONSOLE_TESSERA), 0);
  assert_string_equal(c.out, "here\n");
}

/* And while a call that would take minutes goes on. */
static void interrupted_in_a_call(void **state) {
  (void)state;
  console_write(&c, "long.lua",
                "local ts = require 'tessera'\n"
                "local p = require 'tessera.ops'"
                ".matmul { m = 1024, n = 1024, k = 1024 }\n"
                "os.execute 'sh $INTERRUPT $PPID 30 &'\n"
                "ts.equivalent(p, p)\n");
  expect("long.lua", 128 + SIGINT, "interrupted");
}

/* Nor is a place of Tessera's own told where a call is at what it does in
 * Lua: in a module, at the call of one, or between. */
static void interrupted_in_our_lua(void **state) {
  (void)state;
  for (int i = 0; i < 10; i += 1 + 3 * TEST_CHECKED) {
    char text[400];
    snprintf(text, sizeof text,
             "local ts = require 'tessera'\n"
             "local p = require 'tessera.ops'"
             ".matmul { m = 64, n = 64, k = 64 }\n"
             "os.execute 'sh $INTERRUPT $PPID 2%d &'\n"
             "local function checks()\n"
             "  while true do\n"
             "    ts.space.check(ts.space.default 'llvm', p, 'llvm')\n"
             "  end\n"
             "end\n"
             "checks()\n",
             i);
    console_write(&c, "often.lua", text);
    expect("often.lua", 128 + SIGINT, "interrupted");
    assert_string_equal(c.err, "tessera: interrupted\n");
  }
}

/* A coroutine is stopped like any code, and one that others resumed; what
 * comes of it is what came of Lua's own. */
static void interrupted_in_a_coroutine(void **state) {
  (void)state;
  static const char *const loops[] = {
      "coroutine.wrap(function() while true do end end)()",
      "print(coroutine.resume(coroutine.create(function()\n"
      "  coroutine.wrap(function() while true do end end)()\n"
      "end)))\n"
      "error('interrupted', 0)",
      "local co = coroutine.wrap(function()\n"
      "  while true do coroutine.yield() end\n"
      "end)\n"
      "while true do co() end",
  };
  for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
    char text[400];
    snprintf(text, sizeof text, "os.execute 'sh $INTERRUPT $PPID 30 &'\n%s\n",
             loops[i]);
    console_write(&c, "co.lua", text);
    expect("co.lua", 128 + SIGINT, "interrupted");
    assert_string_equal(c.err, "tessera: interrupted\n");
    if (i == 1) assert_string_equal(c.out, "false\tinterrupted\n");
  }
}

static void coroutines(void **state) {
  (void)state;
  console_write(
      &c, "co.lua",
      "local function sum(...)\n"
      "  local n = 0\n"
      "  for _, x in ipairs { ... } do n = n + x end\n"
      "  return n, coroutine.yield(n, ...)\n"
      "end\n"
      "local co = coroutine.create(sum)\n"
      "print(coroutine.resume(co, 1, 2))\n"
      "print(coroutine.resume(co, 'a', nil))\n"
      "print(coroutine.resume(co))\n"
      "local w = coroutine.wrap(sum)\n"
      "print(w(3), w())\n"
      "print(pcall(w))\n"
      "local closed <const> = setmetatable({}, { __close = function()\n"
      "  print 'closed'\n"
      "end })\n"
      "print(pcall(coroutine.wrap(function()\n"
      "  local x <close> = closed\n"
      "  error 'bad'\n"
      "end)))\n"
      "print(pcall(coroutine.wrap(function() error { 1 } end)))\n"
      "print(pcall(coroutine.resume, 1))\n"
      "print(pcall(coroutine.wrap, 1))\n");
  expect("co.lua", 0, "closed");
  assert_non_null(strstr(c.out, "true\t3\t1\t2\ntrue\t3\ta\tnil\n"
                                "false\tcannot resume dead coroutine\n"
                                "3\t3\n"));
  assert_non_null(strstr(c.out, "false\tcannot resume dead coroutine\n"
                                "closed\nfalse\tco.lua:18: bad\n"
                                "false\ttable: "));
  assert_non_null(strstr(c.out, "bad argument #1 to 'coroutine.resume'"));
}

/* The best so far is given, as after Ctrl-C. */
static void terminated(void **state) {
  (void)state;
  console_write(&c, "term.lua",
                "local d = dofile 'd.lua'\n"
                "d.progress = function(p)\n"
                "  if p.trials == 3 then os.execute 'kill -TERM $PPID' end\n"
                "end\n"
                "return d\n");
  assert_int_equal(console_run(&c, CONSOLE_TESSERA
                               " tune term.lua --trials 100000 --db term.db"),
                   128 + SIGTERM);
  assert_non_null(strstr(c.out, "-- the best trace"));
  assert_non_null(strstr(c.err, "interrupted: this is the best so far"));
  expect("db term.db", 0, "OK");
}

/* A process that is killed in its first batch leaves what it measured. */
static void killed(void **state) {
  (void)state;
  console_write(&c, "kill.lua",
                "local d = dofile 'd.lua'\n"
                "d.batch = 64\n"
                "d.progress = function(p)\n"
                "  if p.trials == 2 then os.execute 'kill -KILL $PPID' end\n"
                "end\n"
                "return d\n");
  console_run(&c, "%s tune kill.lua --trials 64 --db kill.db; true",
              CONSOLE_TESSERA);
  expect("db kill.db", 0, "OK");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(interrupted_in_a_terminal),
      cmocka_unit_test(interrupted_at_once),
      cmocka_unit_test(interrupted_in_lua),
      cmocka_unit_test(interrupted_in_a_call),
      cmocka_unit_test(interrupted_in_our_lua),
      cmocka_unit_test(interrupted_in_a_coroutine),
      cmocka_unit_test(coroutines),
      cmocka_unit_test(terminated),
      cmocka_unit_test(killed),
  };
  setenv("INTERRUPT", TESS_SOURCE_DIR "/tests/support/interrupt.sh", 1);
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
