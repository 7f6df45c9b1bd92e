/* SPDX-License-Identifier: Apache-2.0
 * Whole runs of the search in which candidates misbehave, through functions
 * that workers load (tests/externs): the run ends normally, good candidates
 * are measured, and each of the others has its class.
 *
 * The functions called ..._in_parallel misbehave where the loop around them is
 * parallel, which one of the two sketches makes it. */
#include "support/console.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

static const char script[] =
    "local ts = require 'tessera'\n"
    "local fn, N = arg[1], 64\n"
    "local A, p = ts.placeholder('A', { N }), nil\n"
    "if arg[2] == 'scatter' then\n"
    "  local b = ts.builder('p')\n"
    "  local X, Y = b:input('X', { N }), b:output('Y', { N })\n"
    "  b:loop('i', 0, N, function(i)\n"
    "    b:block('B', { { 'v', 'opaque', extent = N, bind = i } },\n"
    "            function(v)\n"
    "      b:store(Y, { ts.call_extern(fn, 'int64', v) }, X(v))\n"
    "    end)\n"
    "  end)\n"
    "  p = b:program()\n"
    "else\n"
    "  local B = ts.compute('B', { N }, function(i)\n"
    "    return ts.call_extern(fn, 'float32', A(i))\n"
    "  end)\n"
    "  p = ts.program('p', { A }, { B })\n"
    "end\n"
    "local function tiles(sch)\n"
    "  local i = sch:get_loops(sch:get_block 'B')\n"
    "  if arg[2] == 'fixed' then return (sch:split(i, { 8, 8 })) end\n"
    "  return (sch:split(i, { sch:sample_perfect_tile(i, { n = 2 }) }))\n"
    "end\n"
    "local function in_parallel(sch) sch:parallel(tiles(sch)) end\n"
    "local spaces = { ts.space.by_hand(function(sch) tiles(sch) end) }\n"
    "if arg[2] == 'parallel' or arg[2] == 'fixed' then\n"
    "  spaces[2] = ts.space.by_hand(in_parallel)\n"
    "end\n"
    "local function quicken(t)\n"
    "  if t.trials == 2 then io.open('once', 'w'):close() end\n"
    "end\n"
    "local r = ts.tune(p, { trials = 8, batch = 4, seed = 1, check = arg[3] or "
    "'all',\n"
    "                       min_time = 0.001, progress = arg[3] and quicken,\n"
    "                       timeout = fn:find 'hang' and 1 or 60,\n"
    "                       space = ts.space.union(spaces) })\n"
    "local winner = r.schedule and tostring(r.schedule:program()) or ''\n"
    "print(winner:find 'in parallel' and 'parallel' or 'serial')\n"
    "print(r.status, r.trials, r.failed, r.classes)\n"
    "io.write(r.funnel)\n";

static console c;

static int misbehave_set_up(void **state) {
  (void)state;
  console_start(&c, TESS_BUILD_DIR "/bin/tessera");
  console_write(&c, "run.lua", script);
  return 0;
}

static int misbehave_tear_down(void **state) {
  (void)state;
  console_end(&c);
  return 0;
}

/* A run ends well and says all of `says` (up to a NULL). */
static void misbehave_expect(const char *args, const char *const *says) {
  if (console_run(&c,
                  "TESSERA_EXTERNS=%s TESSERA_TEST_ONCE=$PWD/once %s "
                  "run.lua %s",
                  TESS_EXTERNS, CONSOLE_TESSERA, args))
    fail_msg("%s: %s", args, c.err);
  for (; *says; says++)
    if (!strstr(c.out, *says))
      fail_msg("%s: '%s' is not in: %s", args, *says, c.out);
}

#define EXPECT(args, ...) \
  misbehave_expect(args, (const char *const[]){__VA_ARGS__, NULL})

static void some_misbehave(void **state) {
  (void)state;
  EXPECT("test_hang_in_parallel parallel", "OK\t8\t",
         "\"OK\": ", "\"TIMEOUT\": ", "measured: timed out: running took");
  EXPECT("test_crash_in_parallel parallel", "OK\t8\t",
         "\"OK\": ", "\"CRASHED\": ", "measured: the kernel crashed: SIGSEGV");
  EXPECT("test_wrong_in_parallel parallel", "OK\t8\t",
         "\"OK\": ", "\"WRONG_RESULT\": ", "64 of 64 elements differ");
}

static void all_misbehave(void **state) {
  (void)state;
  EXPECT("test_index_past scatter", "NOT_FOUND\t",
         "{\"CRASHED\": ", "past the end of 'Y' (guard page)");
  EXPECT("test_index_before scatter", "NOT_FOUND\t",
         "{\"WRONG_RESULT\": ", "wrote beside 'Y', out of bounds");
  EXPECT("llvm.amdgcn.rcp.f32", "NOT_FOUND\t", "{\"BUILD_ERROR\": ", "LLVM");
  EXPECT("test_no_such", "NOT_FOUND\t", "{\"BUILD_ERROR\": ",
         "linking: LLVM: Symbols not found: [ test_no_such ]");
  EXPECT("test_kill", "NOT_FOUND\t", "{\"INFRA\": ", "SIGKILL");
}

/* Killed from outside in the middle: retried, and not a result. */
static void killed_once(void **state) {
  (void)state;
  EXPECT("test_kill_once", "OK\t", "\t0\t{\"OK\": ");
  assert_int_equal(console_run(&c, "test -e once"), 0);
}

/* What was too slow to be compared, and is the fastest when the best few are
 * timed again, is compared then. */
static void wrong_later(void **state) {
  (void)state;
  console_run(&c, "rm -f once");
  EXPECT("test_wrong_later_in_parallel fixed best", "serial\nOK\t2\t1\t",
         "{\"OK\": 1, \"WRONG_RESULT\": 1}", "64 of 64 elements differ");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(some_misbehave), cmocka_unit_test(all_misbehave),
      cmocka_unit_test(killed_once), cmocka_unit_test(wrong_later)};
  return cmocka_run_group_tests(tests, misbehave_set_up, misbehave_tear_down);
}
