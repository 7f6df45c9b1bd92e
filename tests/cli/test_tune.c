/* SPDX-License-Identifier: Apache-2.0
 * `tessera tune`: what it reports, a full disk, warnings, and records of tensor
 * intrinsics. */
#include "support/command.h"

#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <string.h>

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
  const char *last = strstr(c.out, "{\"classes\"");
  assert_non_null(last);
  assert_ptr_equal(strchr(last, '\n'), c.out + strlen(c.out) - 1);
  assert_non_null(strstr(last, "\"status\": \"OK\""));
  assert_non_null(strstr(last, "\"trials\": 5"));
}

/* What an accelerator leaves to the host. */
static void left_to_the_host(void **state) {
  (void)state;
  console_write(&c, "plain.lua", "return dofile('d.lua').program");
  expect("tune plain.lua --trials 1 --target dae", 0,
         "\n-- on the host: C: it multiplies no int8\n");
}

/* A file of several programs, in each of the forms. */
static void several_programs(void **state) {
  (void)state;
  static const char *const forms[] = {
      "return d.program, { program = e, weight = 2, name = 'other' }",
      "return { d.program, { program = e, name = 'other' }, trials = 4 }",
      ("return { tasks = { d.program, { program = e, name = 'other' } },\n"
       "         space = d.space, scheduler = 'round_robin' }")};
  char text[400];
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    snprintf(text, sizeof text,
             "local d = dofile 'd.lua'\n"
             "local e = require 'tessera.ops'.matmul { m = 16, n = 8, k = 8 }\n"
             "%s\n",
             forms[i]);
    console_write(&c, "many.lua", text);
    expect("tune many.lua --trials 4 --seed 1 --target llvm --threads 1"
           " --min-time 0.002",
           0, "after 4 trials (0 failed) of 2 tasks");
    assert_non_null(strstr(c.out, "other"));
    assert_non_null(strstr(c.err, "what became of what was drawn"));
    assert_non_null(strstr(c.err, "trial 4/4 ")); /* plain lines */
  }
  expect("tune many.lua --trials 4 --json --scheduler gradient --db many.db"
         " --min-time 0.002",
         0, "{\"tasks\": [{");
  assert_string_equal(c.err, "");
  assert_non_null(strstr(c.out, "\"type\": \"round\""));
  assert_non_null(strstr(c.out, "\"type\": \"progress\""));
  const char *last = strstr(c.out, "{\"failed\": 0, \"funnel\"");
  assert_non_null(last);
  assert_ptr_equal(strchr(last, '\n'), c.out + strlen(c.out) - 1);
  expect("tune many.lua --scheduler greedy", 2,
         "there is no 'greedy'; there are gradient, round_robin");
  expect("tune d.lua --scheduler gradient", 2, "returns one program only");
  expect("tune many.lua --frozen --db many.db", 0, "after 0 trials (0 failed)");
  expect("tune many.lua --frozen", 0, "not all are measured");
  assert_non_null(strstr(c.err, "nothing is stored for this program"));
  expect("tune many.lua --deadline soon", 2, "'soon' is not a time in seconds");
  console_write(&c, "bad.lua", "return { tasks = {} }");
  expect("tune bad.lua", 1, "takes a list of programs");
}

/* Every option of ts.tune but space and progress; what one of them is not. */
static void options(void **state) {
  (void)state;
  console_write(&c, "save.lua",
                "local ts = require 'tessera'\n"
                "local p = dofile('d.lua').program\n"
                "for i, x in ipairs(p:params()) do\n"
                "  ts.tensor(x.dtype, x.shape, 'random', i):save(i .. '.npy')\n"
                "end\n");
  expect("save.lua", 0, "");
  expect("tune d.lua --trials 2 --batch 1 --min-time 0.002 --timeout 5.5"
         " --deadline 1e2 --kernel-threads 1 --on-error stop --check all"
         " --db o.db --inputs 1.npy,2.npy",
         0, "GFLOP/s after 2 trials");
  expect("show o.db:1", 0, "min-time=0.002 repeats=3 cutoff=");
  expect("show o.db:1", 0, " threads=1 seed=0 inputs=");
  static const char *const bad[][2] = {
      {"--check some", "there is no 'some'; there are best, all"},
      {"--on-error no", "there is no 'no'; there are record, stop"},
      {"--deadline -1", "'-1' is not a time in seconds"},
      {"--deadline 0", "'0' is not a time in seconds, which is more than 0"},
      {"--timeout 0.0", "'0.0' is not a time in seconds, which is more"},
      {"--timeout 1e999", "'1e999' is not a time in seconds"},
      {"--batch 5000", "5000 is outside of 1 .. 4096"},
      {"--inputs 1.npy,", "'' is no NAME.npy"},
      {"--strategy x", "the built-in ones are evolutionary, annealing"},
      {"--cost-model x", "the built-in ones are random, xgb"},
      {"--target x", "there is no backend 'x'; there is llvm"},
      {"--target 'llvm -x=1'", "no option '-x'; there are -mtriple, -mcpu"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char args[80];
    snprintf(args, sizeof args, "tune d.lua --trials 2 %s", bad[i][0]);
    expect(args, 2, bad[i][1]);
  }
  expect("tune d.lua --inputs 1.npy", 1, "takes 2 tensors, or 3 with its");
  expect("tune d.lua --inputs 1.npy,no.npy", 1, "cannot open 'no.npy'");
  expect("frob", 1,
         "commands are tune, step, show, diff, db, lower, build, model, doc, ");
  expect("doc batch", 0, "(tessera tune --batch)");
  expect("doc progress", 0, "(tessera tune: progress is on stderr");
}

/* --verbose shows the program and the user's frames where a function for a
 * space, a module or a strategy failed. */
static void verbose_failures(void **state) {
  (void)state;
  console_write(&c, "both.lua",
                "local d = dofile 'd.lua'\n"
                "local function both(s)\n"
                "  local i = s:get_loops(s:get_block 'C')\n"
                "  s:parallel(i)\n"
                "  s:vectorize(i)\n"
                "end\n"
                "d.space = function(s) both(s) end\n"
                "return d\n");
  console_write(&c, "module.lua",
                "local d = dofile 'both.lua'\n"
                "local both = d.space\n"
                "d.space = { require 'tessera'.module {\n"
                "  name = 'mine', apply = function(s) both(s) end } {} }\n"
                "d.on_error = 'stop'\n"
                "return d\n");
  console_write(&c, "plug.lua",
                "local d = dofile 'd.lua'\n"
                "local function broken(x) return x.y.z end\n"
                "d.strategy = { propose = function() broken {} end }\n"
                "return d\n");
  const char *line = "both.lua:5: vectorize: loop i is parallel already";
  static const char *const files[] = {"both.lua", "module.lua", "plug.lua"};
  for (int i = 0; i < 3; i++) {
    char args[60];
    snprintf(args, sizeof args, "tune %s --trials 2", files[i]);
    expect(args, 1, i < 2 ? line : "plug.lua:2: attempt to index");
    assert_null(strstr(c.err, "traceback"));
    assert_int_equal(console_run(&c, "%s tune %s --trials 2 --verbose",
                                 CONSOLE_TESSERA, files[i]),
                     1);
    assert_non_null(strstr(c.err, i < 2 ? "both.lua:5: in upvalue 'both'"
                                        : "plug.lua:2: in upvalue 'broken'"));
    assert_non_null(strstr(c.err, i < 1   ? "both.lua:7: in "
                                  : i < 2 ? "module.lua:4: in "
                                          : "plug.lua:3: in "));
    if (i < 2) assert_non_null(strstr(c.err, "parallel("));
    if (i < 2) assert_non_null(strstr(c.err, "^-- here"));
    assert_null(strstr(c.err, "command/tune.lua"));
  }
}

/* A module fails at each block of each sketch; its error is shown once. */
static void verbose_once(void **state) {
  (void)state;
  console_write(
      &c, "each.lua",
      "local ts = require 'tessera'\n"
      "local bad = ts.module {\n"
      "  name = 'bad', apply = function(s, b) error 'my own' end }\n"
      "return { space = { bad {}, bad {} }, min_time = 0.002, program =\n"
      "  require 'tessera.ops'.matmul { m = 8, n = 8, k = 8,\n"
      "                                 bias = true, relu = true } }\n");
  assert_int_equal(
      console_run(&c, "%s tune each.lua --trials 1 --verbose", CONSOLE_TESSERA),
      0);
  const char *line = "tessera: each.lua:3: my own\n", *at = strstr(c.err, line);
  assert_non_null(at);
  assert_null(strstr(at + 1, line));
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
  assert_non_null(strstr(says, "valid, but duplicates\n"));
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
  run_on_small_disk(1, "");
  assert_int_not_equal(console_run(&c, "ls full.db*"), 0); /* none is left */
  run_on_small_disk(40, "");
  assert_string_equal(c.out, "");
  assert_int_not_equal(console_run(&c, "ls full.db*"), 0);
  run_on_small_disk(120, "");
  assert_non_null(strstr(c.out, "-- the best trace"));
  assert_non_null(strstr(c.out, "GFLOP/s after"));
  run_on_small_disk(120, "--json");
  const char *last = strstr(c.out, "{\"classes\"");
  assert_non_null(last);
  assert_non_null(strstr(last, "\"status\": \"IO\""));
  assert_non_null(strstr(last, "\"message\": \"database full.db"));
  assert_non_null(strstr(last, "\"trace\": \"-- tessera trace"));
  expect("tune d.lua --trials 2 --db /dev/full", 1, "disk is full");
  expect("tune d.lua --trials 2 --db d.lua", 1, "database d.lua");
  expect("tune d.lua --trials 2 --db=", 2, "--db needs a value");
  expect("tune d.lua --trials 2 --db no/such.db", 1, "database no/such.db");
}

/* What is printed is a trace that can be read, and -o writes one. */
static void traces_to_go_on_with(void **state) {
  (void)state;
  static const char *const calls[] = {
      "tune d.lua --trials 2 > best.lua",
      "tune d.lua --trials 2 -o best.lua > said",
      "tune d.lua --trials 2 -o best.json > said; mv best.json best.lua"};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    assert_int_equal(
        console_run(&c, "rm -f best.lua b.o; %s %s", CONSOLE_TESSERA, calls[i]),
        0);
    expect("build best.lua --program d.lua -o b.o", 0, "as it is scheduled");
    assert_int_equal(console_run(&c,
                                 "echo q | %s step best.lua --program "
                                 "d.lua",
                                 CONSOLE_TESSERA),
                     0);
  }
  expect("tune d.lua --trials 2 -o d.lua", 2, "would be overwritten");
  expect("tune d.lua --trials 2 -o none/best.lua", 2,
         "option -o: none/: No such file or directory");
  expect("model m.onnx --trials 2 -o none/m.so", 2,
         "option -o: none/: No such file or directory");
  expect("model m.onnx --target opencl -o m.so", 2,
         "option -o: only models of the processor are saved");
  assert_int_equal(
      console_run(&c, "PATH=/none %s model m.onnx -o m.so", CONSOLE_TESSERA),
      1);
  assert_non_null(strstr(c.err, "linked by the system's C compiler 'cc', and "
                                "there is none"));
}

/* Lines of progress are no longer than the terminal is wide. */
static void narrow_terminals(void **state) {
  (void)state;
  enum { WIDTH = 20 };
  struct winsize size = {.ws_row = 5, .ws_col = WIDTH};
  console_open(&c, "tune d.lua --trials 30");
  assert_int_equal(ioctl(c.terminal, TIOCSWINSZ, &size), 0);
  console_expect(&c, "\r\033[Ktrial 20/30");
  for (int i = 0; i < 5; i++) {
    console_expect(&c, "\r\033[K");
    assert_true(strlen(c.passed) < WIDTH);
  }
  console_expect(&c, "-- the best trace");
  assert_int_equal(console_close(&c), 0);
}

/* A run that ends in an error says so in its one line of JSON, too. */
static void failing_as_json(void **state) {
  (void)state;
  static const struct {
    const char *file, *options, *says, *as;
    int status;
  } cases[] = {
      {"error('my\\nmistake')\n", "", "bad.lua:1: my", "INVALID", 1},
      {"error({})\n", "", "(error object is a table value)", "INVALID", 1},
      {"return 5\n", "", "bad.lua: expected the file to return a program", "",
       1},
      {"local d = dofile 'd.lua'\nd.space = function() error 'no space' end\n"
       "return d\n",
       "", "the scheduling function failed: bad.lua:2: no space", "CALLBACK",
       1},
      {"io.popen('kill -INT $PPID'):close()\nwhile true do end\n", "",
       "interrupted", "CANCELLED", 128 + SIGINT},
      {"return dofile 'd.lua'\n", "--trials 2 --db no/such.db",
       "database no/such.db", "IO", 1},
      {"return dofile 'd.lua'\n", "--strategy none",
       "option --strategy: there is no strategy 'none'", "NOT_FOUND", 2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char args[80], message[128], as[40];
    snprintf(args, sizeof args, "tune bad.lua --json %s", cases[i].options);
    snprintf(message, sizeof message, "{\"message\": \"%s", cases[i].says);
    snprintf(as, sizeof as, "\"status\": \"%s", cases[i].as);
    console_write(&c, "bad.lua", cases[i].file);
    expect(args, cases[i].status, cases[i].says);
    if (strncmp(c.out, message, strlen(message)) || !strstr(c.out, as) ||
        !strstr(c.out, "\"type\": \"result\"}\n") ||
        strchr(c.out, '\n') != c.out + strlen(c.out) - 1)
      fail_msg("%s: %s", cases[i].says, c.out);
  }
  expect("tune d.lua --json --no-such", 2, "--no-such");
  assert_string_equal(c.out, "");
}

/* Why nothing valid was found is in the line, too: how the candidates ended,
 * and what became of what was drawn.  They run for longer than this process
 * waits for its turn. */
static void nothing_valid_as_json(void **state) {
  (void)state;
  console_write(&c, "cut.lua",
                "return { timeout = 1e-9, program = require 'tessera.ops'"
                ".matmul { m = 640, n = 640, k = 640 },\n"
                "  space = function(sch)\n"
                "    local i = sch:get_loops(sch:get_block 'C')\n"
                "    sch:split(i, { sch:sample_perfect_tile(i, { n = 2 }) })\n"
                "  end }\n");
  assert_int_equal(console_run(&c, "%s tune cut.lua --json --trials 3 --seed 1",
                               CONSOLE_TESSERA),
                   1);
  const char *last = strstr(c.out, "{\"classes\": {");
  assert_non_null(last);
  assert_ptr_equal(strchr(last, '\n'), c.out + strlen(c.out) - 1);
  assert_non_null(strstr(last, "\"TIMEOUT\""));
  assert_non_null(strstr(last, "\"failed\": 3"));
  assert_non_null(strstr(last, "\"funnel\": \""));
  assert_non_null(strstr(last, "\"status\": \"NOT_FOUND\""));
  if (!strstr(c.err, "nothing valid was found in 3 trials: the first that "
                     "failed: TIMEOUT"))
    fail_msg("%s", c.err);
}

/* A module that fails at each block of each sketch is reported once. */
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
  const char *error = strstr(c.err, "tessera: ");
  assert_non_null(error);
  assert_string_equal(error, "tessera: '/bin/false' was started as the worker "
                             "and sent no handshake: it is not "
                             "tessera-worker, or cannot run; set worker_path "
                             "or TESSERA_WORKER to the one of this version\n");
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

/* A limit on open files that leaves none for a worker is named as such. */
static void no_files_left(void **state) {
  (void)state;
  for (int n = 10; n <= 18; n++)
    if (console_run(&c, "ulimit -n %d; %s tune d.lua --trials 2 --seed 1", n,
                    CONSOLE_TESSERA) &&
        !strstr(c.err, "Too many open files"))
      fail_msg("with %d files: %s", n, c.err);
  assert_int_equal(console_run(&c,
                               "ulimit -n 10; %s tune d.lua --trials 2"
                               " --seed 1",
                               CONSOLE_TESSERA),
                   1);
  assert_non_null(strstr(c.err, "cannot start the worker"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(tuning),
                                     cmocka_unit_test(left_to_the_host),
                                     cmocka_unit_test(several_programs),
                                     cmocka_unit_test(options),
                                     cmocka_unit_test(verbose_failures),
                                     cmocka_unit_test(verbose_once),
                                     cmocka_unit_test(exhausted_space),
                                     cmocka_unit_test(full_disk),
                                     cmocka_unit_test(traces_to_go_on_with),
                                     cmocka_unit_test(narrow_terminals),
                                     cmocka_unit_test(no_worker),
                                     cmocka_unit_test(no_files_left),
                                     cmocka_unit_test(failing_module),
                                     cmocka_unit_test(failing_as_json),
                                     cmocka_unit_test(nothing_valid_as_json),
                                     cmocka_unit_test(warnings_that_wait),
                                     cmocka_unit_test(warnings_about_warnings),
                                     cmocka_unit_test(records_of_intrinsics)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
