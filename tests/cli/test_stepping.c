/* SPDX-License-Identifier: Apache-2.0
 * `tessera step` through a pseudo-terminal and a pipe. */
#include "support/command.h"

#include <stdio.h>
#include <string.h>

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
  console_expect(&c, "tiles of i of C: decision {2, 8}, one of 5");
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

/* Tab completes commands, and names of files behind them. */
static void completed_in_a_terminal(void **state) {
  (void)state;
  console_open(&c, "step t.lua --program d.lua");
  console_expect(&c, "/5> ");
  console_await_keys(&c);
  console_type(&c, "go\t 3\n");
  console_expect(&c, "-- 3 of 5: ");
  console_expect(&c, "/5> ");
  console_await_keys(&c);
  console_type(&c, "equ\t\n");
  console_expect(&c, "-- equivalent to what was described");
  console_expect(&c, "/5> ");
  console_await_keys(&c);
  console_type(&c, "quit\n");
  assert_int_equal(console_close(&c), 0);
}

/* A file's name keeps what is not ASCII. */
static void named_in_a_terminal(void **state) {
  (void)state;
  console_open(&c, "step t.lua --program d.lua");
  console_expect(&c, "/5> ");
  console_await_keys(&c);
  console_type(&c, "write gr\303\266\303\237e.lua\n");
  console_expect(&c, "written to gr\303\266\303\237e.lua");
  console_expect(&c, "/5> ");
  console_await_keys(&c);
  console_type(&c, "quit\n");
  assert_int_equal(console_close(&c), 0);
  expect("show gr\303\266\303\237e.lua", 0, "sample_perfect_tile");
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
  console_expect(&c,
                 ">  3 local v4, v5 = sample_perfect_tile{loop = l1, n = 2} "
                 "decision {16, 1}: tiles of i of C");
  console_expect(&c, "/5> ");
  console_await_keys(&c);
  console_type(&c, "\003");
  console_expect(&c, "/5> ");
  console_await_keys(&c);
  console_type(&c, "quit\n");
  assert_int_equal(console_close(&c), 0);
}

static void stepping_as_a_page(void **state) {
  (void)state;
  expect("step t.lua --program d.lua --html -o p.html", 0, "");
  expect("step t.lua --program d.lua --html", 2, "needs -o FILE.html");
  expect("step t.lua --program d.lua -o p.html", 2, "-o is of a page");
  expect("step t.lua --program d.lua --times", 2, "--times is of a page");
  expect("step t.lua --program d.lua --html -o d.lua", 2,
         "is read, and would be overwritten");
}

static void stepping_through_a_pipe(void **state) {
  (void)state;
  console_write(&c, "commands",
                "n\nn\nn\na 2\nc #2\nl\nd\nt\n4\np\nb\nh\nc 16 1\n");
  expect("step t.lua --program d.lua < commands", 0, "-- 3 of 5: ");
  const char *says[] = {
      "  #2 ",       ">  3 local v4, v5 =", "-- 4 of 5: ",
      "undo it",     "decision {16, 1}",    "-- the changed program",
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
      {"n 3", "tessera: n 3: next takes nothing: '3' is too much"},
      {"g 2 back", "goto takes one word: 'back' is too much"},
      {"4 b", "goto takes one word: 'b' is too much"},
      {"w", "write needs a file name"},
      {"w /no/such/new.lua", "'/no/such/new.lua': No such file"}};
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
  console_write(&c, "commands", " w  my two  files.json \nw\t'q'.lua\n");
  expect("step t.lua --program d.lua < commands", 0,
         "-- written to my two  files.json\n-- written to 'q'.lua\n");
  expect("show 'my two  files.json' --program d.lua", 0, "parallel");
  expect("show \"'q'.lua\" --program d.lua", 0, "parallel");
}

/* The last of the commands says this, with that status. */
static void answers(const char *commands, int status, const char *says) {
  console_write(&c, "questions", commands);
  expect("step t.lua --program d.lua < questions", status, says);
}

/* The questions, through a pipe, and two traces beside each other. */
static void questions_are_answered(void **state) {
  (void)state;
  answers("goto 5\nwhy i_0\n", 0, "made by 4 local l6, l7 = sch:split");
  answers("goto 5\nwhy\n", 0, "5 parallel");
  answers("why no such\n", 1, "no line of the program is, or has, 'no such'");
  answers("goto 4\nwhynot parallel(l3)\n", 0,
          "-- it applies with l6 in place of l3: for i_0 in range(2)");
  answers("goto 4\nwhynot unroll(l6)\n", 0, "-- unroll applies here");
  answers("whynot unroll l1 l2\n", 1, "write them as in a call, with commas");
  answers("bisect not text:find 'parallel'\n", 0, "-- first at 5 of 5: ");
  answers("bisect\n", 0, "-- it holds at the end of the trace");
  answers("bisect false\n", 0, "-- not even before the first instruction");
  answers("bisect a +\n", 1, "is no condition");
  answers("bisect slower\n", 1, "slower needs milliseconds, not ''");
  answers("bisect slower 3ms\n", 1, "slower needs milliseconds, not '3ms'");
  answers("goto 3\nchoose 4 4\nwrite other.lua\n", 0, "written to");
  expect("diff t.lua other.lua --program d.lua", 0,
         "first difference: instruction 3, the decision");
  expect("diff t.lua other.lua --program d.lua", 0,
         "+   for i_0 in parallel(4)");
  expect("diff t.lua t.lua --program d.lua", 0, "the traces are equal");
}

/* A decision that is the number of a candidate has the candidate beside it. */
static void choices_have_their_values(void **state) {
  (void)state;
  console_write(&c, "u.lua",
                "local b0 = sch:get_block{name = 'C'}\n"
                "local l1, l2, l3 = sch:get_loops{block = b0}\n"
                "local v4 = sch:sample_categorical{candidates = {0, 16, 64},"
                " probs = {0.25, 0.25, 0.5}, decision = 1}\n"
                "sch:annotate{block_or_loop = l1, ann_key = "
                "'pragma_auto_unroll_max_step', ann_val = v4}\n");
  console_write(&c, "commands", "list\ngoto 3\nalternatives\nchoose #3\n");
  expect("step u.lua --program d.lua < commands", 0, "} decision {1} (16): ");
  assert_non_null(strstr(c.out, ": decision {1} (16), one of 3\n"));
  assert_non_null(strstr(c.out, "  #3    {2} (64)  50 %\n"));
  assert_non_null(strstr(c.out, ": decision {2} (64), one of 3\n"));
  answers("goto 3\nchoose #1 #2\n", 1, "'#1' is not an integer");
}

/* Each text of a session stands in what it says. */
static void answers_with(const char *commands, const char *const *says,
                         size_t n) {
  answers(commands, 0, says[0]);
  for (size_t i = 0; i < n; i++)
    if (!strstr(c.out, says[i])) fail_msg("'%s' is not in: %s", says[i], c.out);
}

/* What a list says of operands and decisions, a time of others, and two traces
 * of their first effect. */
static void compared(void **state) {
  static const char *const listed[] = {
      "  1 local b0 = get_block{name = \"C\"}\n",
      "  3 local v4, v5 = sample_perfect_tile{loop = l1, n = 2} decision {2, "
      "8}:"
      " tiles of i of C\n",
      "  4 local l6, l7 = split{loop = l1, factors = {v4, v5}}\n",
      "  5 parallel{loop = l6}\n"};
  static const char *const effects[] = {
      "first difference: instruction 3, the decision\n",
      "\nfirst effect: behind instruction 4, local l6, l7 = sch:split{",
      "\n-     for i_1 in range(8)\n+   for i_0 in range(4)\n",
      "\nthe programs:\n", "\n+   for i_0 in parallel(4)\n"};
  (void)state;
  answers_with("list\n", listed, sizeof listed / sizeof *listed);
  answers_with("explain other.lua\n", effects,
               sizeof effects / sizeof *effects);
  answers("explain t.lua t.lua\n", 0, "the traces are equal");
  answers("explain\n", 1, "explain needs a trace, or two: a FILE or DB:RECORD");
  answers("explain no.lua\n", 1, "no.lua: No such file");
  answers("explain a b c\n", 1, "explain takes 2 words: 'c' is too much");
  answers("goto 5\ntime\n", 0, " as the unscheduled program, which takes ");
  console_write(&c, "add.lua",
                "local ts = require 'tessera'\n"
                "local f <close> = io.open 't.lua'\n"
                "local t = ts.trace.from_lua(f:read 'a',\n"
                "                            dofile('d.lua').program)\n"
                "ts.database('e.db'):add(t, 'llvm', 'mine', { 1e-3 })\n"
                "ts.database('e.db'):add(t:with_decision(3, { 4, 4 }),\n"
                "                        'llvm', 'mine', { 3e-3 })\n");
  expect("add.lua", 0, "");
#ifdef __x86_64__
  answers("asm\n", 0, "# %loop.k\n");
  if (!console_run(&c, "command -v llvm-mca-19 || command -v llvm-mca"))
    answers("asm\n", 0, " cycles an iteration, by llvm-mca for ");
  console_write(&c, "commands", "asm\n");
  console_run(&c, "PATH=/none $TESSERA step t.lua --program d.lua < commands");
  assert_non_null(strstr(c.out, "-- no cycles of loops: llvm-mca (package"));
#endif
  console_write(&c, "commands", "time\nexplain e.db:2\nexplain t.lua e.db:1\n");
  expect("diff e.db:1 other.lua", 0, "first difference: instruction 3");
  expect("diff other.lua e.db:2", 0, "the traces are equal");
  expect("diff t.lua other.lua", 2, "add --program FILE.lua");
  expect("step e.db:1 < commands", 0, " as the record, which takes 1 ms\n");
  assert_non_null(strstr(c.out, "1 ms and 3 ms: e.db:2 takes 3.000 of the time"
                                " of this trace\n"));
  assert_non_null(strstr(c.out, "the traces are equal"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stepping_in_a_terminal),
      cmocka_unit_test(named_in_a_terminal),
      cmocka_unit_test(completed_in_a_terminal),
      cmocka_unit_test(interrupted_at_a_line),
      cmocka_unit_test(stepping_as_a_page),
      cmocka_unit_test(stepping_through_a_pipe),
      cmocka_unit_test(failing_in_a_pipe),
      cmocka_unit_test(questions_are_answered),
      cmocka_unit_test(choices_have_their_values),
      cmocka_unit_test(compared)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
