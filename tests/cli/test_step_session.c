/* SPDX-License-Identifier: Apache-2.0
 * A session of `tessera step` on the trace of a layer for tensor cores: forth
 * and back, a decision changed, what that invalidates, the changed trace
 * saved.  And what is asked of a point: time, code, equivalence. */
#include "support/command.h"

#include <stdio.h>
#include <string.h>

#define EXAMPLE TESS_SOURCE_DIR "/examples/bert_dense.lua"

/* bert.json: the trace with a split behind it that needs the tile of axis i
 * whose size is the fourth of its decision to be at most 2; bert.lua gives the
 * program. */
static void write_bert(void) {
  console_write(
      &c, "save.lua",
      "local ts = require 'tessera'\n"
      "local program, trace = dofile(arg[1])\n"
      "program:save 'bert.program'\n"
      "local text = trace:lua()\n"
      "local tile = text:match('local l%d+, l%d+, l%d+, (l%d+), l%d+ = '\n"
      "  .. 'sch:split')\n"
      "trace = ts.trace.from_lua(text .. ('local l9001, l9002 = sch:split' ..\n"
      "  '{loop = %s, factors = {2, 1}}'):format(tile), program)\n"
      "local f <close> = io.open('bert.json', 'w')\n"
      "f:write(trace:json())\n");
  console_write(&c, "bert.lua",
                "return require 'tessera'.load_program 'bert.program'\n");
  expect("save.lua " EXAMPLE, 0, "so do its mutants");
}

/* Each text stands in the output, behind the one before. */
static void in_order(const char *const *says, size_t n) {
  const char *at = c.out;
  for (size_t i = 0; i < n; i++) {
    const char *found = strstr(at, says[i]);
    if (!found) fail_msg("'%s' is not in its place in: %s", says[i], c.out);
    at = found + strlen(says[i]);
  }
}

static void a_layer_for_tensor_cores(void **state) {
  static const char commands[] =
      "n\nn\nb\n"     /* forth and back */
      "g 75\n"        /* to its end */
      "g 30\na 2\n"   /* a decision, and others */
      "c 4 2 1 4 2\n" /* one that the last split does not allow */
      "g 74\n"
      "g 30\nc 4 2 2 2 2\n" /* one that it does */
      "g 75\n"
      "w changed.json\nw changed.lua\n";
  static const char *const says[] = {
      "-- 0 of 75: before the first instruction",
      "-- 1 of 75: ",
      "-- 2 of 75: ",
      "-- 1 of 75: ",
      "-- 75 of 75: ",
      "sch:split{loop = ",
      "-- 30 of 75: ",
      "decision {8, 1, 2, 2, 2}, one of 175",
      "  #1 ",
      "2 of 175",
      "decision {4, 2, 1, 4, 2}, one of 175",
      "-- on this decision depend: 31 split, 36 reorder, ",
      "-- from instruction 75 on the trace no longer applies: split: ",
      "-- not performed: 75 split\n",
      "-- 74 of 75: ",
      "decision {4, 2, 2, 2, 2}, one of 175",
      "-- on this decision depend: ",
      "-- 75 of 75: ",
      "-- written to changed.json",
      "-- written to changed.lua",
      "-- the changed program"};
  (void)state;
  write_bert();
  console_write(&c, "commands", commands);
  expect("step bert.json --program bert.lua < commands", 0, "-- the changed");
  in_order(says, sizeof says / sizeof *says);
  console_write(&c, "same.lua",
                "local ts = require 'tessera'\n"
                "local program = ts.load_program 'bert.program'\n"
                "local function read(name, parse)\n"
                "  local f <close> = io.open(name)\n"
                "  return parse(f:read 'a', program)\n"
                "end\n"
                "local was = read('bert.json', ts.trace.from_json)\n"
                "local json = read('changed.json', ts.trace.from_json)\n"
                "assert(json == read('changed.lua', ts.trace.from_lua))\n"
                "assert(json == was:with_decision(30, { 4, 2, 2, 2, 2 }))\n"
                "json:replay(program):program():verify()\n"
                "print 'the same'\n");
  expect("same.lua", 0, "the same");
}

/* Left with a decision that does not apply, the command fails. */
static void left_invalid(void **state) {
  (void)state;
  console_write(&c, "commands", "g 30\nc 4 2 1 4 2\nq\n");
  expect("step bert.json --program bert.lua < commands", 1,
         "tessera: bert.json: split: ");
}

static void asked_at_a_point(void **state) {
  static const char *const says[] = {"-- equivalent to what was described\n",
                                     " ms, from ",
                                     " GFLOP/s\n",
                                     "define ",
                                     "ret",
                                     "-- 4 of 5: ",
                                     "-- equivalent to what was described\n"};
  (void)state;
  console_write(&c, "commands", "equivalent\ntime\nir\nasm\n4\ne\n");
  expect("step t.lua --program d.lua < commands", 0, "-- 4 of 5");
  in_order(says, sizeof says / sizeof *says);
  console_write(&c, "commands", "g 30\nequivalent\n");
  expect("step bert.json --program bert.lua < commands", 1,
         "tessera: equivalent: the interpreter would take minutes for ");
  console_write(&c, "commands", "g 3\nc 4 4\n");
  expect("step t.lua --program d.lua < commands", 0,
         "-- on this decision depend: 4 split, 5 parallel\n");
}

/* Timed on indices as they are declared. */
static void indices_from_data(void **state) {
  (void)state;
  console_write(&c, "save.lua",
                "local ts = require 'tessera'\n"
                "local of = dofile(arg[1])\n"
                "local p = of.program(64, 48, 300)\n"
                "p:save 'csr.program'\n"
                "local s = ts.schedule(p)\n"
                "of.schedule(s)\n"
                "local f <close> = io.open('csr.json', 'w')\n"
                "f:write(s:trace():json())\n");
  console_write(&c, "csr.lua",
                "return require 'tessera'.load_program 'csr.program'\n");
  expect("save.lua " TESS_SOURCE_DIR "/examples/csr_spmv.lua", 0, "");
  console_write(&c, "commands", "time\ne\n");
  expect("step csr.json --program csr.lua < commands", 0, " ms, from ");
  assert_non_null(strstr(c.out, "-- equivalent to what was described"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_layer_for_tensor_cores),
                                     cmocka_unit_test(left_invalid),
                                     cmocka_unit_test(indices_from_data),
                                     cmocka_unit_test(asked_at_a_point)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
