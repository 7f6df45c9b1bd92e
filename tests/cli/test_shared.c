/* SPDX-License-Identifier: Apache-2.0
 * Two processes that tune one program with one database at the same time. */
#include "support/console.h"
#include "support/test.h"

#include <sqlite3.h>
#include <stdio.h>

enum { EACH = 8 }; /* trials of a process, in two batches */

/* Arguments: the block's loop that is tiled ("1" or "2"; "both"), trials, and
 * how the pipe is opened at which the two processes synchronize, "" for not at
 * all. They synchronize when both have read the database and neither has stored
 * anything.  Prints the status and how many trials the run knew of. */
static const char script[] =
    "local ts, ops = require 'tessera', require 'tessera.ops'\n"
    "local which, trials, mode = arg[1], math.tointeger(arg[2]), arg[3]\n"
    "local function tiles(n)\n"
    "  return ts.space.by_hand(function(sch)\n"
    "    local i = select(n, sch:get_loops(sch:get_block 'C'))\n"
    "    sch:split(i, { sch:sample_perfect_tile(i, { n = 3 }) })\n"
    "  end)\n"
    "end\n"
    "local spaces = {}\n"
    "for n = 1, 2 do\n"
    "  if which == 'both' or which == tostring(n) then\n"
    "    spaces[#spaces + 1] = tiles(n)\n"
    "  end\n"
    "end\n"
    "local first\n"
    "local r = ts.tune(ops.matmul { m = 32, n = 32, k = 32 }, {\n"
    "  trials = trials, batch = 4, seed = 1, database = 's.db',\n"
    "  threads = 1, kernel_threads = 1, min_time = 0.001, timeout = 60,\n"
    "  target = 'llvm', space = ts.space.union(spaces),\n"
    "  progress = function(p)\n"
    "    if p.compiling then return end\n"
    "    if not first and mode ~= '' then assert(io.open('meet', "
    "mode)):close() end\n"
    "    first = first or p.trials\n"
    "  end })\n"
    "print(r.status, first - 1, r.trials)\n";

static const char lister[] =
    "local ts = require 'tessera'\n"
    "local count = { 0, 0 }\n"
    "for _, r in ipairs(ts.database('s.db'):records()) do\n"
    "  assert(r.status == 'OK' and r.seconds > 0)\n"
    "  local t = ts.database('s.db'):trace(r.id)\n"
    "  local n = t:lua():find('{loop = l2,', 1, true) and 1 or 2\n"
    "  assert(t:replay():program())\n"
    "  count[n] = count[n] + 1\n"
    "end\n"
    "print(count[1], count[2])\n";

static console c;

static int shared_set_up(void **state) {
  (void)state;
  console_start(&c, TESS_BUILD_DIR "/bin/tessera");
  console_write(&c, "run.lua", script);
  console_write(&c, "list.lua", lister);
  return 0;
}

static int shared_tear_down(void **state) {
  (void)state;
  console_end(&c);
  return 0;
}

static int is_ok(void *ud, int n, char **value, char **name) {
  (void)name;
  assert_int_equal(n, 1);
  assert_string_equal(value[0], "ok");
  ++*(int *)ud;
  return 0;
}

static void check_integrity(void) {
  char path[128];
  int said = 0;
  sqlite3 *db;
  snprintf(path, sizeof path, "%s/s.db", c.dir);
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(
      sqlite3_exec(db, "PRAGMA integrity_check", is_ok, &said, NULL),
      SQLITE_OK);
  assert_int_equal(said, 1);
  sqlite3_close(db);
}

static void shared_expect(const char *out) {
  if (c.err[0]) fail_msg("%s", c.err);
  assert_string_equal(c.out, out);
}

static void two_at_once(void **state) {
  (void)state;
  assert_int_equal(console_run(&c,
                               "mkfifo meet; "
                               "%s run.lua 1 %d w > one & one=$!; "
                               "%s run.lua 2 %d r > two & two=$!; "
                               "wait $one && wait $two && cat one two",
                               CONSOLE_TESSERA, EACH, CONSOLE_TESSERA, EACH),
                   0);
  shared_expect("OK\t0\t8\nOK\t0\t8\n");
  check_integrity();
  assert_int_equal(console_run(&c, "%s list.lua", CONSOLE_TESSERA), 0);
  shared_expect("8\t8\n");
  /* A third run knows what both found. */
  assert_int_equal(
      console_run(&c, "%s run.lua both %d ''", CONSOLE_TESSERA, 2 * EACH + 4),
      0);
  shared_expect("OK\t16\t20\n");
  check_integrity();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(two_at_once)};
  return cmocka_run_group_tests(tests, shared_set_up, shared_tear_down);
}
