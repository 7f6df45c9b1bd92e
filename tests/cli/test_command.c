/* SPDX-License-Identifier: Apache-2.0
 * The command line: exit statuses and the one line on stderr.
 */
#include "support/command.h"

#include <stdio.h>
#include <string.h>

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
  expect("tune d.lua --trial 3", 2,
         "unknown option --trial; did you mean --trials?");
  expect("tune d.lua --kernel_threads=3", 2, "did you mean --kernel-threads?");
  expect("tune d.lua --trials", 2, "--trials needs a value");
  expect("tune d.lua --trials many", 2, "'many' is not an integer");
  static const char *const no_count[] = {"-1", "0", "100000000000",
                                         "99999999999999999999"};
  static const char *const no_integer[] = {"''", "1.5", "1e2", "0x10", "' 5'",
                                           "5x", "nan", "inf", "-",    "1/2"};
  for (size_t i = 0; i < sizeof no_count / sizeof *no_count; i++)
    wrong_number("--trials", no_count[i], "outside of 1 .. 10000000");
  for (size_t i = 0; i < sizeof no_integer / sizeof *no_integer; i++)
    wrong_number(i % 2 ? "--trials" : "--seed", no_integer[i],
                 "is not an integer");
  wrong_number("--threads", "1025", "outside of 1 .. 1024");
  wrong_number("--trials", "10000001", "outside of 1 .. 10000000");
  static const char *const no_seed[] = {
      "-9223372036854775809", "18446744073709551616", "99999999999999999999",
      "100000000000000000000"};
  for (size_t i = 0; i < sizeof no_seed / sizeof *no_seed; i++)
    wrong_number("--seed", no_seed[i],
                 "is outside of 0 .. 18446744073709551615");
  expect("tune d.lua --target 'llvm -num-cores=99999999999'", 2,
         "'-num-cores=99999999999' is not a number from 1 to 2147483647");
  expect("tune d.lua --json=1", 2, "--json takes no value");
  expect("tune d.lua --strategy luck", 2, "there is no strategy 'luck'");
  expect("tune d.lua --cost-model luck", 2, "there is no cost model 'luck'");
  expect("tune d.lua --cost-model forest+luck", 2,
         "there is no cost model 'luck'");
  expect("tune d.lua --target abacus", 2, "abacus");
  static const char *const commands[] = {"tune", "step",  "show",  "diff",
                                         "db",   "lower", "build", "doc"};
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    static const char *const options[] = {"--frob", "-f", "--frob=3", "--"};
    char args[50], says[50];
    snprintf(args, sizeof args, "%s %s", commands[i], options[i % 4]);
    snprintf(says, sizeof says, "unknown option %.6s", options[i % 4]);
    expect(args, 2, says);
  }
  expect("step t.lua --program=", 2, "--program needs a value");
  expect("step", 2, "step takes one FILE");
  expect("step t.lua", 2, "add --program FILE.lua");
  expect("show", 2, "show takes one FILE");
  console_write(&c, "call.lua",
                "return require('tessera.ops').matmul { m = 4, kk = 8 }\n");
  expect("show call.lua", 1, "call.lua: unknown option 'kk' of ops.matmul");
  expect("diff t.lua", 2, "diff takes two");
  expect("diff t.lua t.lua", 2, "add --program FILE.lua");
  expect("db", 2, "db takes one FILE");
  expect("lower", 2, "lower takes one FILE");
  expect("lower d.lua --after tidy", 2, "no lowering pass 'tidy'; there are ");
  expect("lower d.lua --target abacus", 2, "abacus");
  expect("lower t.lua", 2, "add --program FILE.lua");
  expect("build", 2, "build takes one FILE");
  expect("build d.lua", 2,
         "build needs -o NAME.so, -o NAME.o or -o NAME.kernel");
  expect("build d.lua -o", 2, "option -o needs a value");
  expect("build d.lua -o k.dll", 2,
         "is neither NAME.so nor NAME.o nor NAME.kernel");
  expect("build d.lua -o k.o --target abacus", 2, "abacus");
  expect("build t.lua -o k.o", 2, "a trace alone does not say");
  static const char *const no_trace[] = {"build d.lua -o k.o", "lower d.lua",
                                         "show d.lua"};
  for (size_t i = 0; i < sizeof no_trace / sizeof *no_trace; i++) {
    char args[50];
    snprintf(args, sizeof args, "%s --program d.lua", no_trace[i]);
    expect(args, 2, "what a trace schedules, and d.lua is no trace");
  }
  expect("doc --stubs extra", 2, "doc --stubs takes no WORD");
  expect("doc --completion fish", 2, "there is no 'fish'; there are bash, zsh");
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

/* Where one program is expected, what returns several is told from what has
 * none, with a way to pick one that works. */
static void several_programs(void) {
  static const char *const cases[][2] = {
      {"{ p(8), p(9) }", "`return dofile(\"m.lua\")[1]` in it picks"},
      {"{ tasks = { p(8) } }", "`return dofile(\"m.lua\").tasks[1]` in it"},
      {"{ { program = p(8), weight = 2 } }", "`return dofile(\"m.lua\")[1]`"},
      {"p(8), p(9)", "`return (select(1, dofile(\"m.lua\")))` in it picks"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[200], *end;
    snprintf(text, sizeof text,
             "local function p(n) return require('tessera.ops')"
             ".matmul { m = n, n = 4, k = 4 } end\nreturn %s\n",
             cases[i][0]);
    console_write(&c, "m.lua", text);
    expect("build m.lua -o m.o", 1,
           "m.lua: it returns several programs, and one is expected");
    expect("lower m.lua", 1, cases[i][1]);
    snprintf(text, sizeof text, "%s\n", strchr(strstr(c.err, "`"), 'r'));
    end = strchr(text, '`');
    *end = '\0';
    console_write(&c, "one.lua", text);
    expect("lower one.lua", 0, "matmul(A: ");
  }
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
  several_programs();
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
  expect("doc sch:frob", 1, "option or function 'sch:frob'");
  expect("doc frobb", 1, "no primitive, module, option or function 'frobb'");
  expect("doc splitz", 1, "'splitz': did you mean sch:split");
  expect("doc categorial", 1, "did you mean sch:sample_categorical?");
  expect("doc sch:vectorise", 1, "sch:vectorize");
  expect("doc TESS_NOMEM", 0, "## status NOMEM");
  expect("doc chapters", 0, "- `embedding`: Embedding");
  expect("tun", 1, "did you mean 'tune'? The commands are tune, step, ");
  expect("buidl d.lua", 1, "did you mean 'build'? The commands are ");
  expect("frob", 1, "No such file or directory; commands are tune, step, ");
  expect("lower " TESS_SOURCE_DIR "/examples/csr_spmv.lua", 0, "csr_spmv(");
  console_write(&c, "needs.lua",
                "return { program = function(n) return n.x end }\n");
  expect("lower needs.lua", 1,
         "needs.lua: the field 'program' is a function that, without "
         "arguments, fails: needs.lua:1: attempt to index a nil value");
  expect("doc perfect", 0, "\n  sch:sample_perfect_tile ");
  expect("doc stepping", 0, "# Stepping through a trace");
  expect("doc watch", 0, "usage: tessera watch DB");
  expect("doc fleet", 0, "# Measuring on a fleet");
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
  static const char *const wrong[] = {"abc", "2.5", "2 x", "2 1 3 4"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    int status = console_run(&c, "%s " TESS_SOURCE_DIR "/examples/demo.lua %s",
                             CONSOLE_TESSERA, wrong[i]);
    assert_int_equal(status, 2);
    assert_non_null(strstr(c.err, "usage: tessera examples/demo.lua"));
  }
}

/* A bench that would do nothing, or something else than was meant. */
static void wrong_arguments_of_benches(void **state) {
  static const char *const calls[][2] = {
      {"odd.lua 4 1 nothing", "there is no case 'nothing'; there are product"},
      {"odd.lua product", "TRIALS is an integer from 1 on, not 'product'"},
      {"busy.lua 1 2 3", "what is '3'?"},
      {"opencl.lua foo", "ROW is as C2D-3, not 'foo'"}};
  (void)state;
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    int status = console_run(&c, "%s " TESS_SOURCE_DIR "/bench/%s",
                             CONSOLE_TESSERA, calls[i][0]);
    if (status != 1 || !strstr(c.err, calls[i][1]))
      fail_msg("%s: status %d: %s", calls[i][0], status, c.err);
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
    static const char *const calls[] = {"tune %s",
                                        "show %s",
                                        "db %s",
                                        "step %s --program d.lua",
                                        "lower %s --program d.lua",
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
  expect("show seven.lua", 0, "{2, 7}");
  expect("show seven.lua --program d.lua", 1, "does not fit");
  expect("show t.lua --program d.lua", 0, "sample_perfect_tile");
  console_write(&c, "empty.json", "");
  expect("step seven.lua --program d.lua < /dev/null", 1,
         "tessera: seven.lua: ");
  expect("step seven.lua --program d.lua < /dev/null", 1, "(at instruction ");
  expect("show empty.json", 1, "empty.json: '-- tessera trace 1' or an ");
  console_run(&c, "printf 'w t.json\\nq\\n' | %s step t.lua --program d.lua",
              CONSOLE_TESSERA);
  expect("show t.json", 0, "sample_perfect_tile");
  console_run(&c, "sed 's/\"parallel\"/\"frob\"/' t.json > frob.json");
  expect("show frob.json", 1, "'frob'");
  console_run(&c, "tr -d ' \\n' < t.json | sed 's/\\[2,8\\]/[2,7]/'"
                  " > seven.json");
  expect("step seven.json --program d.lua < /dev/null", 1, "does not fit");
}

/* A description, a saved program, or a trace and its program. */
static void lowering(void **state) {
  (void)state;
  expect("lower d.lua", 0, "_reg[0]");
  expect("lower d.lua --after LowerBlocks", 0, "\n      for k in range(");
  expect("lower d.lua --after unroll_loop --target 'llvm -mcpu=haswell'", 0,
         "range(");
  expect("lower d.lua --print-after-all", 0, "-- 2. bind_warps: no change\n");
  expect("lower d.lua --print-after-all --after vectorize", 0,
         "-- 19. flatten_buffer: linearize accesses");
  if (strstr(c.out, "-- 21.")) fail_msg("%s", c.out);
  expect("lower t.lua --program d.lua --after plan_allocation", 0, "block C");
  console_run(&c, "sed 's/{2, 8}/{2, 7}/' t.lua > seven.lua");
  expect("lower seven.lua --program d.lua", 1, "does not fit");
  console_write(&c, "save.lua", "dofile('d.lua').program:save('d.tp')");
  expect("save.lua", 0, "");
  expect("lower d.tp --after lower_blocks", 0, "for k in range(");
  console_write(
      &c, "sch.lua",
      "local sch = require 'tessera'.schedule(dofile('d.lua').program)"
      " sch:annotate(sch:get_block('C'), 'mine', 1) return sch");
  expect("lower sch.lua", 0, "_reg[0]");
  expect("show sch.lua", 0, "mine");
  expect("doc", 0, "  scalar_replacement  ");
  expect("doc hoist_init", 0, "before scalar_replacement.");
}

static void says_too(const char *text) {
  if (!strstr(c.out, text)) fail_msg("no '%s': %s", text, c.out);
}

static void reference(void **state) {
  (void)state;
  expect("--help", 0, "usage: tessera FILE.lua");
  expect("tune d.lua --help", 0, "--trials N  ");
  expect("tune --help", 0, "usage: tessera tune FILE.lua [OPTION...]");
  says_too("candidates to measure, those of the database");
  says_too("\nExample:\n  tessera tune matmul.lua");
  expect("db prune --help", 0, "tessera db prune FILE [OPTION...]");
  expect("--version", 0, "tessera 0.");
  expect("doc", 0, "sample_perfect_tile");
  expect("doc split", 0, "sch:split(");
  expect("doc sch:split", 0, "sch:split(");
  expect("doc multi_level_tiling", 0, "SSRSRS");
  expect("doc tessera.modules.multi_level_tiling", 0, "SSRSRS");
  expect("doc tessera.ops", 0, "- `ops.matmul(options)`: ");
  expect("doc tessera.Strategy", 0, "## class tessera.Strategy");
  expect("doc list", 0, "- `l, list`: all instructions");
  expect("doc spaces", 0, "chapters that mention it");
  expect("doc cost_model", 0, "--cost-model");
  expect("doc --cost-model", 0, "--cost-model");
  expect("doc --stubs", 0, "---@class tessera.Schedule");
  says_too("---@class tessera.Session");
  expect("doc ts.strategy", 0, "`propose`");
  expect("doc session:draw", 0, "## session:draw()");
  expect("doc db:records", 0, "## database:records(");
  expect("doc record", 0, "- `message` (`string`): why it failed");
  expect("doc max_innermost_factor", 0, "sch:sample_perfect_tile");
  expect("doc libexec", 0, "docs/measuring.md");
  expect("doc libexe", 1, "there is no primitive");
  expect("doc another decision", 0, "  trace:with_decision");
  expect("doc other objectives", 0, "- docs/searching.md, line ");
  expect("doc other sunflower", 1, "'other sunflower'");
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_calls),
      cmocka_unit_test(failing_work),
      cmocka_unit_test(errors_of_any_type),
      cmocka_unit_test(wrong_arguments_of_the_demo),
      cmocka_unit_test(wrong_arguments_of_benches),
      cmocka_unit_test(wrong_files),
      cmocka_unit_test(wrong_traces),
      cmocka_unit_test(lowering),
      cmocka_unit_test(reference),
      cmocka_unit_test(scripts)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
