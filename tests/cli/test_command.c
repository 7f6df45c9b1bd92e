/* SPDX-License-Identifier: Apache-2.0
 * The command as its users meet it: exit statuses and the one line on stderr,
 * a full disk, Ctrl-C, and stepping through a pseudo-terminal and a pipe. */
#include "support/console.h"
#include "support/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a folder with something to work on --------------------------------- */

static const char description[] =
    "local ops = require 'tessera.ops'\n"
    "return { program = ops.matmul { m = 16, n = 16, k = 16 },\n"
    "         min_time = 0.002, batch = 4 }\n";

static const char trace[] =
    "-- tessera trace 1\n"
    "local ts = require \"tessera\"\n"
    "local b0 = sch:get_block{name = \"C\"}\n"
    "local l1, l2, l3 = sch:get_loops{block = b0}\n"
    "local v4, v5 = sch:sample_perfect_tile{loop = l1, n = 2, "
    "max_innermost_factor = 16, decision = {2, 8}}\n"
    "local l6, l7 = sch:split{loop = l1, factors = {v4, v5}}\n"
    "sch:parallel{loop = l6}\n";

static console c;

static int set_up(void **state) {
  (void)state;
  console_start(&c, TESS_BUILD_DIR "/bin/tessera");
  console_write(&c, "d.lua", description);
  console_write(&c, "t.lua", trace);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  console_end(&c);
  return 0;
}

/* The command ends with the status; on failure stderr is one line that
 * holds `says`, else stdout holds it. */
static void expect(const char *args, int status, const char *says) {
  int got = console_run(&c, "%s %s", CONSOLE_TESSERA, args);
  const char *text = status ? c.err : c.out;
  if (got != status)
    fail_msg("tessera %s: status %d, not %d: %s", args, got, status, c.err);
  if (!strstr(text, says))
    fail_msg("tessera %s: '%s' is not in: %s", args, says, text);
  if (!status) return;
  const char *line = strstr(c.err, "tessera: ");
  assert_non_null(line);
  if (strchr(line, '\n') != c.err + strlen(c.err) - 1)
    fail_msg("tessera %s: not one line: %s", args, c.err);
}

/* ---- statuses ----------------------------------------------------------- */

/* The line names the option and the range. */
static void wrong_number(const char *option, const char *number,
                         const char *says) {
  char args[200];
  snprintf(args, sizeof args, "tune d.lua %s=%s", option, number);
  expect(args, 2, says);
  if (!strstr(c.err, option)) fail_msg("%s is not named: %s", option, c.err);
}

static void wrong_calls(void **state) {
  (void)state;
  expect("--frob", 2, "unknown option --frob");
  expect("tune", 2, "tune takes one FILE.lua");
  expect("tune d.lua d.lua", 2, "tune takes one FILE.lua");
  expect("tune d.lua --frob", 2, "unknown option --frob");
  expect("tune d.lua --frob=3", 2, "unknown option --frob");
  expect("tune d.lua --trials", 2, "--trials needs a value");
  expect("tune d.lua --trials many", 2, "'many' is not an integer");
  static const char *const no_count[] = {"-1", "0", "100000000000",
                                         "99999999999999999999"};
  static const char *const no_integer[] = {"''", "1.5", "1e2", "0x10", "' 5'",
                                           "5x", "nan", "inf", "-",    "1/2"};
  for (size_t i = 0; i < sizeof no_count / sizeof *no_count; i++) {
    wrong_number("--trials", no_count[i], "outside of 1 .. 10000000");
    wrong_number("--threads", no_count[i], "outside of 1 .. 1024");
  }
  for (size_t i = 0; i < sizeof no_integer / sizeof *no_integer; i++)
    wrong_number(i % 2 ? "--trials" : "--seed", no_integer[i],
                 "is not an integer");
  wrong_number("--threads", "1025", "outside of 1 .. 1024");
  wrong_number("--trials", "10000001", "outside of 1 .. 10000000");
  wrong_number("--seed", "9223372036854775808",
               "outside of -9223372036854775808 .. 9223372036854775807");
  expect("tune d.lua --target 'llvm -num-cores=99999999999'", 2,
         "'-num-cores=99999999999' is not a number from 1 to 2147483647");
  expect("tune d.lua --json=1", 2, "--json takes no value");
  expect("tune d.lua --strategy luck", 2, "there is no strategy 'luck'");
  expect("tune d.lua --cost-model luck", 2, "there is no cost model 'luck'");
  expect("tune d.lua --target abacus", 2, "abacus");
  static const char *const commands[] = {"tune", "step", "show", "db", "doc"};
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    static const char *const options[] = {"--frob", "-f", "--frob=3", "--"};
    for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
      char args[50], says[50];
      snprintf(args, sizeof args, "%s %s", commands[i], options[k]);
      snprintf(says, sizeof says, "unknown option %.6s", options[k]);
      expect(args, 2, says);
    }
  }
  expect("step t.lua --program=", 2, "--program needs a value");
  expect("step", 2, "step takes one FILE");
  expect("step t.lua", 2, "add --program FILE.lua");
  expect("show", 2, "show takes one FILE");
  expect("db", 2, "db takes one FILE");
  expect("doc split fuse", 2, "doc takes one NAME");
  expect("doc --stubs extra", 2, "doc takes one NAME");
}

/* Each field of a description has its types. */
static void wrong_fields(void) {
  static const char *const cases[][2] = {
      {"nil", "the field 'program' is missing, not a program"},
      {"3", "the field 'program' is the number 3, not a program"},
      {"require 'tessera'.target 'llvm'",
       "the field 'program' is a target, not a program"},
      {"p, trials = 2.5",
       "the field 'trials' is the number 2.5, not an integer"},
      {"p, batch = {}", "the field 'batch' is a table, not an integer"},
      {"p, min_time = true", "the field 'min_time' is a boolean, not a number"},
      {"p, space = p",
       "the field 'space' is a program, not a space or a table or a function"},
      {"p, target = 1",
       "the field 'target' is the number 1, not a string or a target"},
      {"p, on_error = 'luck'",
       "the field 'on_error' is \"luck\", not \"record\" or \"stop\""},
      {"p, progress = 'yes'",
       "the field 'progress' is \"yes\", not a boolean or a function"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[200];
    snprintf(text, sizeof text,
             "local p = dofile 'd.lua'.program\nreturn { program = %s }\n",
             cases[i][0]);
    console_write(&c, "field.lua", text);
    expect("tune field.lua --trials 1", 1, cases[i][1]);
  }
  console_write(&c, "good.lua",
                "local d = dofile 'd.lua'\n"
                "d.target, d.min_time, d.check = "
                "require('tessera').target 'llvm', 1e-3, 'all'\n"
                "return d\n");
  expect("tune good.lua --trials 1", 0, "after 1 trials");
}

static void failing_work(void **state) {
  (void)state;
  console_write(&c, "bad.json", "{\"x\": ");
  console_write(&c, "other.json", "{\"x\": 1}");
  console_write(&c, "boom.lua", "local x = 1\nerror('boom')\n");
  console_write(&c, "syntax.lua", "return 1 +\n");
  console_write(&c, "five.lua", "return 5\n");
  expect("none.lua", 1, "none.lua: No such file");
  expect("boom.lua", 1, "boom.lua:2: boom");
  expect("syntax.lua", 1, "syntax.lua:");
  expect("tune none.lua", 1, "none.lua: No such file");
  expect("tune boom.lua", 1, "boom.lua:2: boom");
  console_write(&c, "typo.lua",
                "return { program = require('tessera.ops')"
                ".matmul { m = 4, n = 4, k = 4 }, trails = 3 }\n");
  expect("tune typo.lua", 1, "typo.lua: unknown option 'trails'");
  expect("tune five.lua", 1, "expected the file to return a program");
  wrong_fields();
  expect("show none", 1, "none: No such file");
  expect("show boom.lua", 1, "boom.lua:2: boom");
  expect("show bad.json", 1, "bad.json: malformed JSON");
  expect("show other.json", 1, "other.json: ");
  expect("show /bin/sh", 1, "neither a trace");
  expect("step bad.json --program d.lua", 1, "bad.json: malformed JSON");
  expect("step none --program d.lua", 1, "none: No such file");
  expect("step t.lua --program none.lua", 1, "none.lua: No such file");
  expect("db none.db", 1, "none.db: No such file");
  expect("db d.lua", 1, "d.lua: not a database");
  expect("doc frob", 1, "no primitive, module, option or function 'frob'");
  expect("doc > /dev/full", 1, "writing the output failed");
  expect("--help > /dev/full", 1, "writing the output failed");
  expect("--version >&-", 1, "writing the output failed");
  console_write(&c, "closed.lua",
                "f = io.open('file', 'w'); print('out')\n"
                "io.stdout:flush(); f:close()\n");
  expect("closed.lua >&-", 1, "writing the output failed");
  assert_int_equal(console_run(&c, "test -e file -a ! -s file"), 0);
  expect("--verbose boom.lua 2>&1 | grep -q traceback", 0, "");
}

/* What is no text is raised: it says itself what it is, or we do. */
static void errors_of_any_type(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"error()", "tessera: (error object is a nil value)\n"},
      {"error({ 1 })", "tessera: (error object is a table value)\n"},
      {"error(print)", "tessera: (error object is a function value)\n"},
      {"error({ message = 'no luck' })", "tessera: no luck\n"},
      {"error(setmetatable({}, { __tostring = function() return 'oh' end }))",
       "tessera: oh\n"},
      {"error(42)", "tessera: 42\n"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    console_write(&c, "raises.lua", cases[i][0]);
    expect("raises.lua", 1, "tessera: ");
    assert_string_equal(c.err, cases[i][1]);
    console_run(&c, "%s < raises.lua", CONSOLE_TESSERA);
    assert_string_equal(c.err, strchr(cases[i][1], ' ') + 1);
  }
}

static void wrong_arguments_of_the_demo(void **state) {
  (void)state;
  static const char *const wrong[] = {"abc", "2.5", "2 x", "2 1 3"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    int status = console_run(&c, "%s " TESS_SOURCE_DIR "/examples/demo.lua %s",
                             CONSOLE_TESSERA, wrong[i]);
    assert_int_equal(status, 2);
    assert_non_null(strstr(c.err, "usage: tessera examples/demo.lua"));
  }
}

/* Files of every other kind, where a trace, a description or a database is
 * asked for; what is not ours is not changed. */
static void wrong_files(void **state) {
  (void)state;
  console_run(&c, "mkdir dir; : > empty; printf 'a\\0b\n' > nul; "
                  "head -c 9999 /dev/zero | tr '\\0' x > long");
  static const char *const files[] = {"dir", "empty", "nul", "long",
                                      "/dev/zero"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    static const char *const calls[] = {"tune %s", "show %s", "db %s",
                                        "step %s --program d.lua",
                                        "step t.lua --program %s"};
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
      char args[100];
      if (!strcmp(files[i], "/dev/zero") && !strstr(calls[k], " %s")) continue;
      snprintf(args, sizeof args, calls[k], files[i]);
      expect(args, 1, files[i]);
    }
  }
}

/* Traces that a person got wrong: an instruction that does not exist, a
 * decision that does not multiply to the extent. */
static void wrong_traces(void **state) {
  (void)state;
  expect("show t.lua", 0, "sample_perfect_tile");
  console_run(&c, "sed s/sch:parallel/sch:frob/ t.lua > frob.lua");
  expect("show frob.lua", 1, "frob.lua: ");
  expect("show frob.lua", 1, "'frob'");
  expect("step frob.lua --program d.lua", 1, "'frob'");
  console_run(&c, "sed 's/{2, 8}/{2, 7}/' t.lua > seven.lua");
  expect("step seven.lua --program d.lua < /dev/null", 1, "does not fit");
  console_run(&c, "printf 'w t.json\\nq\\n' | %s step t.lua --program d.lua",
              CONSOLE_TESSERA);
  expect("show t.json", 0, "sample_perfect_tile");
  console_run(&c, "sed 's/\"parallel\"/\"frob\"/' t.json > frob.json");
  expect("show frob.json", 1, "'frob'");
  console_run(&c, "tr -d ' \\n' < t.json | sed 's/\\[2,8\\]/[2,7]/'"
                  " > seven.json");
  expect("step seven.json --program d.lua < /dev/null", 1, "does not fit");
}

static void reference(void **state) {
  (void)state;
  expect("--help", 0, "usage: tessera FILE.lua");
  expect("tune --help", 0, "usage: tessera FILE.lua");
  expect("--version", 0, "tessera 0.");
  expect("doc", 0, "sample_perfect_tile");
  expect("doc split", 0, "sch:split(");
  expect("doc multi_level_tiling", 0, "SSRSRS");
  expect("doc cost_model", 0, "--cost-model");
  expect("doc --cost-model", 0, "--cost-model");
  expect("doc --stubs", 0, "---@class tessera.Schedule");
  expect("doc --stubs", 0, "---@class tessera.Session");
  expect("doc ts.strategy", 0, "`propose`");
  expect("doc session:draw", 0, "## session:draw()");
}

/* ---- running ------------------------------------------------------------ */

static void scripts(void **state) {
  (void)state;
  console_write(&c, "args.lua", "print(arg[0], arg[1], ..., select('#', ...))");
  expect("args.lua --verbose -x", 0, "args.lua\t--verbose\t--verbose\t2");
  console_write(&c, "status.lua", "os.exit(7)");
  assert_int_equal(console_run(&c, "%s status.lua", CONSOLE_TESSERA), 7);
  console_write(&c, "lines", "1 + 1\nlocal x =\n5 print(x)\nts.sum\n");
  expect("< lines", 0, "2\n5\nfunction");
  console_write(&c, "wrong", "error('boom')\nprint('on')\n");
  assert_int_equal(console_run(&c, "%s < wrong", CONSOLE_TESSERA), 1);
  assert_non_null(strstr(c.err, "boom"));
  assert_string_equal(c.out, "on\n");
}

/* ---- tuning ------------------------------------------------------------- */

static void tuning(void **state) {
  (void)state;
  expect("tune d.lua --trials 4 --db r.db --seed 3 --threads 1"
         " --target llvm --strategy replay --cost-model random",
         0, "GFLOP/s after 4 trials");
  assert_non_null(strstr(c.err, "\ntrial 2/4 ")); /* plain lines */
  assert_null(strchr(c.err, '\r'));
  expect("db r.db", 0, "matmul");
  expect("show r.db", 0, "matmul");
  expect("show r.db:1", 0, "-- tessera trace");
  expect("show r.db:99", 1, "no record 99");
  expect("show r.db:99999999999999999999", 1, "has no record 9999999999");
  expect("show d.lua:1", 1, "d.lua: not a database");
  expect("show d.lua/x.db:1", 1, "d.lua/x.db: Not a directory");
  expect("step r.db:1 < /dev/null", 0, "before the first instruction");
  expect("step r.db", 2, "name a record");
  expect("show r.db:0", 1, "no record 0");
  static const char *const no_record[] = {"-1", "x", "", "1.5", "0x1", "+1"};
  for (size_t i = 0; i < sizeof no_record / sizeof *no_record; i++) {
    char args[50], says[50];
    snprintf(says, sizeof says, "'%s' is not the number of a record of r.db",
             no_record[i]);
    snprintf(args, sizeof args, "step r.db:%s", no_record[i]);
    expect(args, 2, says);
    snprintf(args, sizeof args, "show r.db:%s", no_record[i]);
    expect(args, 2, says);
  }
  expect("step no.db:x --program d.lua", 1, "no.db:x: No such file");
  console_run(&c, "cp t.lua t:x");
  expect("show t:x", 0, "sample_perfect_tile");
  expect("tune d.lua --trials 5 --db=r.db --json", 0, "\"type\": \"result\"");
  assert_string_equal(c.err, "");
  const char *last = strstr(c.out, "{\"curve\"");
  assert_non_null(last);
  assert_ptr_equal(strchr(last, '\n'), c.out + strlen(c.out) - 1);
  assert_non_null(strstr(last, "\"status\": \"OK\""));
  assert_non_null(strstr(last, "\"trials\": 5"));
}

/* A space of two candidates: the run ends early, and says why. */
static void exhausted_space(void **state) {
  (void)state;
  console_write(&c, "few.lua",
                "local d = dofile 'd.lua'\n"
                "d.space = function(sch)\n"
                "  local i = sch:get_loops(sch:get_block('C'))\n"
                "  sch:split(i, { sch:sample_perfect_tile(i, {\n"
                "    n = 2, max_innermost_factor = 2 }) })\n"
                "end\n"
                "return d\n");
  expect("tune few.lua --trials 20 --seed 1", 0, "after 2 trials");
  const char *says = strstr(c.err, "the space seems exhausted: ");
  assert_non_null(says);
  assert_non_null(strstr(says, "valid, but there before\n"));
  expect("tune few.lua --trials 20 --seed 1 --json", 0, "\"exhausted\": true");
  expect("tune few.lua --trials 1 --seed 1 --json", 0, "\"exhausted\": false");
  expect("tune few.lua --trials 1 --seed 1", 0, "after 1 trials");
  assert_null(strstr(c.err, "exhausted"));
}

/* A run whose database may grow to so many blocks of 512 bytes. */
static void run_on_small_disk(int blocks, const char *options) {
  int status = console_run(&c,
                           "rm -f full.db*; ulimit -f %d; exec %s tune "
                           "d.lua --trials 60 --db full.db %s",
                           blocks, CONSOLE_TESSERA, options);
  assert_int_equal(status, 1);
  const char *line = strstr(c.err, "tessera: database full.db");
  assert_non_null(line);
  assert_ptr_equal(strchr(line, '\n'), c.err + strlen(c.err) - 1);
}

/* A database that cannot be made; one that cannot grow, where the best so
 * far is given all the same; and one that is none. */
static void full_disk(void **state) {
  (void)state;
  run_on_small_disk(40, "");
  assert_string_equal(c.out, "");
  run_on_small_disk(120, "");
  assert_non_null(strstr(c.out, "-- the best trace"));
  assert_non_null(strstr(c.out, "GFLOP/s after"));
  run_on_small_disk(120, "--json");
  const char *last = strstr(c.out, "{\"curve\"");
  assert_non_null(last);
  assert_non_null(strstr(last, "\"status\": \"IO\""));
  assert_non_null(strstr(last, "\"message\": \"database full.db"));
  assert_non_null(strstr(last, "\"trace\": \"-- tessera trace"));
  expect("tune d.lua --trials 2 --db /dev/full", 1, "disk is full");
  expect("tune d.lua --trials 2 --db d.lua", 1, "database d.lua");
  expect("tune d.lua --trials 2 --db=", 2, "--db needs a value");
  expect("tune d.lua --trials 2 --db no/such.db", 1, "database no/such.db");
}

/* Ctrl-C in a terminal, where the progress is one line that is rewritten. */
static void interrupted_in_a_terminal(void **state) {
  (void)state;
  console_open(&c, "tune d.lua --trials 100000 --db i.db");
  console_expect(&c, "\r\033[Ktrial 4/100000");
  console_type(&c, "\003");
  console_expect(&c, "-- the best trace");
  console_expect(&c, "GFLOP/s after");
  console_expect(&c, "interrupted: this is the best so far");
  assert_int_equal(console_close(&c), 0);
  expect("db i.db", 0, "OK");
}

/* Ctrl-C, as Lua tells of it, before anything was measured: one line. */
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
  signal(SIGHUP, SIG_DFL);
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
    char text[128];
    snprintf(text, sizeof text,
             "io.popen('kill -%s $PPID'):close()\nwhile true do end\n",
             signals[i]);
    console_write(&c, "loop.lua", text);
    expect("show loop.lua", 1, "interrupted");
    assert_string_equal(c.err, "tessera: interrupted\n");
  }
  console_write(&c, "stay.lua",
                "io.popen('kill -HUP $PPID'):close()\nprint 'here'\n");
  assert_int_equal(
      console_run(&c, "trap '' HUP; exec %s stay.lua", CONSOLE_TESSERA), 0);
  assert_string_equal(c.out, "here\n");
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
  expect("tune term.lua --trials 100000 --db term.db", 0, "-- the best trace");
  assert_non_null(strstr(c.err, "interrupted: this is the best so far"));
  expect("db term.db", 0, "OK");
}

/* And while a call that would take minutes goes on. */
static void interrupted_in_a_call(void **state) {
  (void)state;
  console_write(&c, "long.lua",
                "local ts = require 'tessera'\n"
                "local p = require 'tessera.ops'"
                ".matmul { m = 1024, n = 1024, k = 1024 }\n"
                "os.execute('p=$PPID; { sleep 0.3; kill -INT $p; } &')\n"
                "ts.equivalent(p, p)\n");
  expect("long.lua", 1, "interrupted");
}

/* A module that fails, at each block and in each sketch, is told of once. */
static void failing_module(void **state) {
  (void)state;
  console_write(&c, "warn.lua",
                "local ts = require 'tessera'\n"
                "local A = ts.placeholder('A', { 8 })\n"
                "local function next_to(X, name)\n"
                "  return ts.compute(name, { 8 }, function(i)\n"
                "    return X(i) + 1\n"
                "  end)\n"
                "end\n"
                "local B = next_to(next_to(A, 'B'), 'C')\n"
                "local function bad() error('my mistake') end\n"
                "return { program = ts.program('two', { A }, { B }),\n"
                "         min_time = 0.002, space = ts.space.compose {\n"
                "           ts.module { name = 'bad', apply = bad } {} } }\n");
  expect("tune warn.lua --trials 2 --json", 0, "\"type\": \"result\"");
  assert_string_equal(c.err,
                      "tessera: warning: module bad failed at block root "
                      "and is not used there: warn.lua:9: my "
                      "mistake\n");
}

/* A function of ts.on_warning that takes itself away: what it was not told of
 * yet is on stderr. */
static void warnings_that_wait(void **state) {
  (void)state;
  console_write(&c, "wait.lua",
                "local ts = require 'tessera'\n"
                "local function broken(name)\n"
                "  return ts.module { name = name, apply = function()\n"
                "    error('broke', 0)\n"
                "  end } {}\n"
                "end\n"
                "ts.on_warning(function(text)\n"
                "  print(text)\n"
                "  ts.on_warning(nil)\n"
                "end)\n"
                "ts.space.sketches(ts.space.compose {\n"
                "  broken 'one', broken 'two', broken 'three' },\n"
                "  require 'tessera.ops'.matmul { m = 4, n = 4, k = 4 })\n");
  assert_int_equal(console_run(&c, "%s wait.lua", CONSOLE_TESSERA), 0);
#define FAILED(name) \
  "module " name " failed at block root and is not used there: broke\n"
  assert_string_equal(c.out, FAILED("one"));
  assert_string_equal(c.err, "tessera: warning: " FAILED(
                                 "two") "tessera: warning: " FAILED("three"));
}

/* What a function of ts.on_warning provokes itself is on stderr, and it is not
 * called again. */
static void warnings_about_warnings(void **state) {
  (void)state;
  console_write(&c, "again.lua",
                "local ts = require 'tessera'\n"
                "local function sketch(name)\n"
                "  ts.space.sketches(ts.space.compose {\n"
                "    ts.module { name = name, apply = function()\n"
                "      error('broke', 0)\n"
                "    end } {} },\n"
                "    require 'tessera.ops'.matmul { m = 4, n = 4, k = 4 })\n"
                "end\n"
                "local n = 0\n"
                "ts.on_warning(function(text)\n"
                "  print(text)\n"
                "  n = n + 1\n"
                "  if n > 9 then os.exit(3) end\n"
                "  sketch('own' .. n)\n"
                "end)\n"
                "sketch 'one'\n"
                "sketch 'two'\n");
  assert_int_equal(console_run(&c, "%s again.lua", CONSOLE_TESSERA), 0);
  assert_string_equal(c.out, FAILED("one") FAILED("two"));
  assert_string_equal(c.err, "tessera: warning: " FAILED(
                                 "own1") "tessera: warning: " FAILED("own2"));
}

/* What is no worker ends the run with one line that names it. */
static void no_worker(void **state) {
  (void)state;
  assert_int_equal(console_run(&c,
                               "TESSERA_WORKER=/bin/false %s tune d.lua "
                               "--trials 6",
                               CONSOLE_TESSERA),
                   1);
  assert_string_equal(c.err, "tessera: '/bin/false' is no worker of Tessera, "
                             "or cannot run: it never said what it is\n");
}

/* ---- tensor intrinsics -------------------------------------------------- */

static const char product[] =
    "ts = require 'tessera'\n"
    "tensor = require 'tessera.tensor'\n"
    "local A = ts.placeholder('A', { 16, 16 })\n"
    "local B = ts.placeholder('B', { 16, 16 })\n"
    "local k = ts.reduce_axis('k', 16)\n"
    "local C = ts.compute('C', { 16, 16 }, function(i, j)\n"
    "  return ts.sum(A(i, k) * B(k, j), k)\n"
    "end)\n"
    "program = ts.program('product', { A, B }, { C })\n";

static const char plain[] =
    "dofile 'product.lua'\n"
    "return { program = program, min_time = 0.002,\n"
    "         space = function(sch) sch:get_block('C') end }\n";

static const char tensorized[] =
    "dofile 'product.lua'\n"
    "return { program = program, min_time = 0.002, space = function(sch)\n"
    "  local c = sch:get_block('C')\n"
    "  local i, j, k = sch:get_loops(c)\n"
    "  local i0, i1 = sch:split(i, { sch:sample_perfect_tile(i, { n = 2 }) })\n"
    "  local j0, j1 = sch:split(j, { ts.auto, 8 })\n"
    "  local k0, k1 = sch:split(k, { ts.auto, 4 })\n"
    "  sch:reorder(i0, j0, i1, k0, j1, k1)\n"
    "  sch:decompose_reduction(c, k0)\n"
    "  sch:tensorize(j1, tensor.mma { n = 8, k = 4 })\n"
    "end }\n";

#define TUNE(file, n)                                 \
  "tune " file " --trials " n " --db mma.db --seed 1" \
  " --target llvm --strategy replay --cost-model random"

/* A record brings the intrinsics that its trace uses along, also where the
 * workload was stored before without them, and after others were stored. */
static void records_of_intrinsics(void **state) {
  (void)state;
  console_write(&c, "product.lua", product);
  console_write(&c, "plain.lua", plain);
  console_write(&c, "tensorized.lua", tensorized);
  expect(TUNE("plain.lua", "1"), 0, "after 1 trials");
  expect(TUNE("tensorized.lua", "2"), 0, "after 2 trials");
  expect(TUNE("tensorized.lua", "3"), 0, "after 3 trials");
  expect(TUNE("plain.lua", "1"), 0, "after 1 trials");
  for (int i = 2; i <= 3; i++) {
    char args[64];
    snprintf(args, sizeof args, "show mma.db:%d", i);
    expect(args, 0, "tensor_intrin = \"mma_8x4_float32_float32\"");
    snprintf(args, sizeof args, "step mma.db:%d < commands", i);
    console_write(&c, "commands", "g 9\np\nw saved.lua\nw saved.json\nq\n");
    expect(args, 0, "match B_m: float32[4, 8]");
  }
  /* A trace alone names them. */
  expect("step saved.lua --program plain.lua < commands", 1,
         "there is no tensor intrinsic \"mma_8x4_float32_float32\"");
  expect("step saved.json --program plain.lua < commands", 1,
         "there is no tensor intrinsic \"mma_8x4_float32_float32\"");
  console_write(&c, "declared.lua",
                "dofile 'product.lua'\ntensor.mma { n = 8, k = 4 }\n"
                "return program\n");
  expect("step saved.lua --program declared.lua < commands", 0,
         "match B_m: float32[4, 8]");
}

/* ---- stepping ----------------------------------------------------------- */

static void stepping_in_a_terminal(void **state) {
  (void)state;
  console_open(&c, "step t.lua --program d.lua");
  console_expect(&c, "-- 0 of 5: before the first instruction");
  console_expect(&c, "/5> ");
  console_type(&c, "next\n");
  console_expect(&c, "-- 1 of 5: local b0 = sch:get_block");
  console_expect(&c, "/5> ");
  console_type(&c, "\n"); /* an empty line is next */
  console_expect(&c, "-- 2 of 5: ");
  console_expect(&c, "/5> ");
  console_type(&c, "goto 4\n");
  console_expect(&c, "-- 4 of 5: ");
  console_expect(&c, "*   for i_0 in range(2)"); /* what changed */
  console_expect(&c, "/5> ");
  console_type(&c, "back\n");
  console_expect(&c, "-- 3 of 5: ");
  console_expect(&c, "decision {2, 8}, one of 5");
  console_expect(&c, "/5> ");
  console_type(&c, "alternatives\n");
  console_expect(&c, "{4, 4}");
  console_expect(&c, "5 of 5");
  console_expect(&c, "/5> ");
  console_type(&c, "choose 3 5\n");
  console_expect(&c, "does not fit");
  console_expect(&c, "/5> ");
  console_type(&c, "frob\n");
  console_expect(&c, "-- unknown command 'frob'");
  console_expect(&c, "/5> ");
  console_type(&c, "choose 4 4\n");
  console_expect(&c, "decision {4, 4}, one of 5");
  console_expect(&c, "/5> ");
  console_type(&c, "goto 5\n");
  console_expect(&c, "in parallel(4)");
  console_expect(&c, "/5> ");
  console_type(&c, "write new.lua\n");
  console_expect(&c, "written to new.lua");
  console_expect(&c, "/5> ");
  console_type(&c, "quit\n");
  console_expect(&c, "-- the changed program");
  console_expect(&c, "in parallel(4)");
  assert_int_equal(console_close(&c), 0);
  expect("show new.lua", 0, "decision = {4, 4}");
}

/* Ctrl-C abandons what was typed and nothing else: what was chosen stays. */
static void interrupted_at_a_line(void **state) {
  (void)state;
  console_open(&c, "step t.lua --program d.lua");
  console_expect(&c, "/5> ");
  console_await_keys(&c);
  console_type(&c, "goto 3\n");
  console_expect(&c, "-- 3 of 5: ");
  console_expect(&c, "/5> ");
  console_type(&c, "choose 16 1\n");
  console_expect(&c, "decision {16, 1}");
  console_expect(&c, "/5> ");
  console_await_keys(&c);
  console_type(&c, "quit");
  console_expect(&c, "quit");
  console_type(&c, "\003");
  console_expect(&c, "/5> ");
  console_await_keys(&c);
  console_type(&c, "list\n");
  console_expect(&c, ">  3 sample_perfect_tile decision {16, 1}");
  console_expect(&c, "/5> ");
  console_await_keys(&c);
  console_type(&c, "\003");
  console_expect(&c, "/5> ");
  console_await_keys(&c);
  console_type(&c, "quit\n");
  assert_int_equal(console_close(&c), 0);
}

static void stepping_through_a_pipe(void **state) {
  (void)state;
  console_write(&c, "commands",
                "n\nn\nn\na 2\nc #2\nl\nd\nt\n4\np\nb\nh\nc 16 1\n");
  expect("step t.lua --program d.lua < commands", 0, "-- 3 of 5: ");
  const char *says[] = {
      "  #2 ",       ">  3 sample_perfect_tile", "-- 4 of 5: ",
      "undo it",     "decision {16, 1}",         "-- the changed program",
      "parallel(16)"};
  const char *at = c.out;
  for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
    at = strstr(at, says[i]);
    if (!at) fail_msg("'%s' is not in its place in: %s", says[i], c.out);
  }
  assert_string_equal(c.err, "");
}

/* What fails in a pipe is the end: the commands behind it counted on it. */
static void failing_in_a_pipe(void **state) {
  static const char *const commands[][2] = {
      {"g 99", "tessera: g 99: the trace has 5 instructions; there is no "},
      {"g", "tessera: g: goto needs a position"},
      {"frob", "tessera: frob: unknown command 'frob'"},
      {"c", "tessera: c: choose needs numbers, or #K"},
      {"c #0", "there is no alternative #0"},
      {"c 3.5", "'3.5' is not an integer"},
      {"c 99999999999999999999 2", "'99999999999999999999' is not an integer"},
      {"c 3 5", "does not fit"},
      {"a 0", "alternatives takes a number"},
      {"0\na", "the instruction here takes no decision"},
      {"0\nc 2 8", "the instruction here takes no decision"},
      {"w", "write needs a file name"},
      {"w /no/such/new.lua", "/no/such/new.lua: No such file"}};
  (void)state;
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    char text[100];
    snprintf(text, sizeof text, "3\n%s\nw after.lua\n", commands[i][0]);
    console_write(&c, "commands", text);
    expect("step t.lua --program d.lua < commands", 1, commands[i][1]);
    if (strchr(c.err, '\n') != c.err + strlen(c.err) - 1)
      fail_msg("this is not one line: %s", c.err);
    expect("show after.lua", 1, "No such file");
  }
  console_write(&c, "commands", "b\n5\nn\n"); /* no failures */
  expect("step t.lua --program d.lua < commands", 0, "the end of the trace");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_calls),
      cmocka_unit_test(failing_work),
      cmocka_unit_test(errors_of_any_type),
      cmocka_unit_test(wrong_arguments_of_the_demo),
      cmocka_unit_test(wrong_files),
      cmocka_unit_test(wrong_traces),
      cmocka_unit_test(reference),
      cmocka_unit_test(scripts),
      cmocka_unit_test(tuning),
      cmocka_unit_test(exhausted_space),
      cmocka_unit_test(full_disk),
      cmocka_unit_test(interrupted_in_a_terminal),
      cmocka_unit_test(interrupted_at_once),
      cmocka_unit_test(no_worker),
      cmocka_unit_test(interrupted_in_lua),
      cmocka_unit_test(interrupted_in_a_call),
      cmocka_unit_test(terminated),
      cmocka_unit_test(failing_module),
      cmocka_unit_test(warnings_that_wait),
      cmocka_unit_test(warnings_about_warnings),
      cmocka_unit_test(records_of_intrinsics),
      cmocka_unit_test(stepping_in_a_terminal),
      cmocka_unit_test(interrupted_at_a_line),
      cmocka_unit_test(stepping_through_a_pipe),
      cmocka_unit_test(failing_in_a_pipe)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
