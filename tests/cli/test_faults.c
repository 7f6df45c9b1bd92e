/* SPDX-License-Identifier: Apache-2.0
 * What goes wrong around a search: spaces in which nothing is valid, modules
 * that raise now and then, workers that are killed, databases that are damaged
 * or that another process has locked: one clear line each, nothing lost,
 * nothing hung. */
#include "support/command.h"

#include <stdio.h>
#include <string.h>

static int lines_of(const char *text) {
  int n = 0;
  for (; *text; text++) n += *text == '\n';
  return n;
}

/* Every candidate has more lanes than a vector may have, so the postprocessor
 * refuses each. */
static void always_refused(void **state) {
  (void)state;
  console_write(
      &c, "refused.lua",
      "local d = dofile 'd.lua'\n"
      "d.program = require 'tessera.ops'.matmul {\n"
      "  m = 4096, n = 4096, k = 2 }\n"
      "d.space = function(sch)\n"
      "  local i, j = sch:get_loops(sch:get_block 'C')\n"
      "  local f = sch:fuse(i, j)\n"
      "  local a, b = sch:split(f, { sch:sample_perfect_tile(f, {\n"
      "    n = 2, max_innermost_factor = 2 }) })\n"
      "  local o, v = sch:split(a, { require 'tessera'.auto, 2048 })\n"
      "  sch:reorder(o, b, v)\n"
      "  sch:vectorize(v)\n"
      "end\n"
      "return d\n");
  expect("tune refused.lua --trials 8 --seed 1 --db refused.db", 1,
         "nothing valid was found in 0 trials");
  assert_non_null(strstr(c.err, "rejected by"));
  expect("tune refused.lua --trials 8 --json", 1, "nothing valid");
  assert_non_null(strstr(c.out, "\"status\": \"NOT_FOUND\""));
}

/* A module that fails at each third block it is tried at. */
static void module_that_raises(void **state) {
  (void)state;
  console_write(
      &c, "raises.lua",
      "local ts = require 'tessera'\n"
      "local d = dofile 'd.lua'\n"
      "local calls = 0\n"
      "local bad = ts.module { name = 'bad', apply = function(sch, block)\n"
      "  calls = calls + 1\n"
      "  if calls % 3 ~= 0 then error('now and then ' .. calls) end\n"
      "  return sch\n"
      "end }\n"
      "d.space = ts.space.union { ts.space.compose { bad {} },\n"
      "                           ts.space.default 'llvm' }\n"
      "return d\n");
  expect("tune raises.lua --trials 4 --seed 1", 0, "after 4 trials");
  assert_non_null(strstr(c.err, "module bad failed at block"));
  assert_null(strstr(c.err, "stack traceback"));
}

/* Kills one worker of the process, whatever it does when it is found. */
static const char kill_one[] =
    "until [ -e killed ]; do\n"
    "  for f in /proc/[0-9]*/status; do\n"
    "    grep -q '^Name:.tessera-worker$' $f 2> /dev/null &&\n"
    "      grep -q \"^PPid:.$1$\" $f && w=${f#/proc/} &&\n"
    "      kill -9 ${w%/status} && touch killed && break\n"
    "  done\n"
    "done\n";

/* Workers are killed while it tunes: it goes on with new ones, and the count of
 * trials is whole.  The next is killed when the last was. */
static void killed_workers(void **state) {
  (void)state;
  console_write(&c, "kill_one.sh", kill_one);
  console_write(
      &c, "k.lua",
      "local d, begun = dofile 'd.lua', {}\n"
      "d.progress = function(p)\n"
      "  if p.trials % 4 ~= 0 or p.trials == 24 or begun[p.trials] then\n"
      "    return\n"
      "  end\n"
      "  begun[p.trials] = true\n"
      "  if p.trials > 4 then\n"
      "    os.execute 'until [ -e killed ]; do sleep 0.01; done'\n"
      "    os.remove 'killed'\n"
      "  end\n"
      "  os.execute 'sh kill_one.sh $PPID &'\n"
      "end\n"
      "return d\n");
  expect("tune k.lua --trials 24 --seed 1 --db k.db --min-time 0.01", 0,
         "after 24 trials");
  expect("db verify k.db", 0, ", 0 bad");
  expect("tune d.lua --trials 24 --seed 1 --db k.db --min-time 0.01", 0,
         "after 24 trials");
}

/* Pages of the file are overwritten: an error that names the file, and what was
 * there before is not touched. */
static void damaged_database(void **state) {
  (void)state;
  expect("tune d.lua --trials 8 --seed 1 --db bad.db", 0, "after 8 trials");
  console_run(&c, "cp bad.db whole.db");
  console_run(&c, "dd if=/dev/zero of=bad.db bs=4096 seek=1 count=6 "
                  "conv=notrunc 2> /dev/null; cp bad.db before.db");
  static const char *const calls[] = {
      "tune d.lua --trials 12 --seed 1 --db bad.db",
      "db bad.db",
      "db best bad.db",
      "db verify bad.db",
      "report bad.db -o bad.html",
      "db merge new.db bad.db"};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    expect(calls[i], 1, "database ");
    assert_non_null(strstr(c.err, "bad.db"));
  }
  assert_int_equal(console_run(&c, "cmp bad.db before.db"), 0);
  console_run(&c, "head -c 5000 whole.db > cut.db");
  expect("db cut.db", 1, "database cut.db");
  /* A damaged row is left out, and the others are used. */
  expect("db verify whole.db", 0, "8 records, 0 bad");
}

/* sqlite3 locks l.db, until `then` in the shell ends; what follows runs when it
 * has the lock. */
#define WHILE_LOCKED(then)                                           \
  "rm -f locked over; (echo 'BEGIN IMMEDIATE;';"                     \
  " echo '.shell touch locked'; " then "; echo 'COMMIT;') |"         \
  " sqlite3 l.db & i=0; while [ ! -e locked ] && [ $i -lt 600 ]; do" \
  " sleep 0.05; i=$((i+1)); done; "

/* A lock of another process that lasts longer than one waits. */
static void locked_database(void **state) {
  (void)state;
  expect("tune d.lua --trials 4 --seed 1 --db l.db", 0, "after 4 trials");
  console_write(&c, "lock.lua", "return nil\n");
  if (console_run(&c, "command -v sqlite3 > /dev/null")) return;
  console_run(
      &c,
      WHILE_LOCKED(
          "while [ ! -e over ]; do sleep 0.05; done") "TESSERA_DATABASE_"
                                                      "PATIENCE="
                                                      "200 " CONSOLE_TESSERA
                                                      " tune d.lua --trials 6 "
                                                      "--seed 1 --db l.db; "
                                                      "echo status $?;"
                                                      " touch over; wait");
  assert_non_null(strstr(c.out, "status 1"));
  assert_non_null(strstr(c.err, "database l.db: "));
  assert_non_null(strstr(c.err, "locked"));
  assert_int_equal(lines_of(strstr(c.err, "database l.db: ")), 1);
  expect("tune d.lua --trials 6 --seed 1 --db l.db", 0, "after 6 trials");
  /* A shorter one is waited for, and nothing is said. */
  console_run(
      &c, WHILE_LOCKED("sleep 0.7") CONSOLE_TESSERA
      " tune d.lua --trials 8 --seed 1 --db l.db; echo status $?; wait");
  assert_non_null(strstr(c.out, "status 0"));
  assert_non_null(strstr(c.out, "after 8 trials"));
  assert_null(strstr(c.err, "locked"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(always_refused), cmocka_unit_test(module_that_raises),
      cmocka_unit_test(killed_workers), cmocka_unit_test(damaged_database),
      cmocka_unit_test(locked_database)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
