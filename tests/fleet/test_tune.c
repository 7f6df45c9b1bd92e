/* SPDX-License-Identifier: Apache-2.0
 * Tuning on a fleet by the command: on stand-ins that have recorded times, and
 * on agents of this machine. */
#include "support/command.h"
#include "support/fleet.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static postgres pg;

/* Of which none is lost that lives, however busy the machine is. */
enum { LEASE = 30 };

static int start_all(void **state) {
  postgres_start(&pg, LEASE);
  return set_up(state);
}

static int end_all(void **state) {
  postgres_end(&pg);
  return tear_down(state);
}

/* The trace that a run names as the best, and its curve. */
static void tune_by(const char *key, char *out, size_t n) {
  int status = console_run(&c,
                           "FLEET='%s' KEY=%s %s tune r.lua --json | grep "
                           "'\"type\": \"result\"'",
                           pg.url, key, CONSOLE_TESSERA);
  const char *curve = strstr(c.out, "\"curve\""),
             *end = curve ? strchr(curve, ']') : NULL,
             *trace = strstr(c.out, "\"trace\"");
  if (status || !curve || !end || !trace)
    fail_msg("status %d: %s%s", status, c.out, c.err);
  snprintf(out, n, "%.*s %s", (int)(end - curve), curve, trace);
  trace = strstr(out, "\"type\"");
  if (trace) out[trace - out] = '\0';
}

static pid_t start_standin(const char *key, const char *name, double nap) {
  standin s = {.url = pg.url, .key = key, .name = name, .nap = nap};
  return standin_start(&s, NULL);
}

/* Four devices that finish in whatever order give what one gives. */
static void test_same_as_one(void **state) {
  static const char *const names[] = {"a", "b", "c", "d"};
  static char one[1 << 15], four[1 << 15];
  pid_t agent[5];
  (void)state;
  console_write(
      &c, "r.lua",
      "local ops = require 'tessera.ops'\n"
      "return { program = ops.matmul { m = 16, n = 16, k = 16 },\n"
      "         target = 'llvm', batch = 8, trials = 40, strategy = "
      "'evolutionary',\n"
      "         kernel_threads = 1, progress = false,\n"
      "         fleet = os.getenv 'FLEET', key = os.getenv 'KEY' }\n");
  for (int i = 0; i < 4; i++)
    agent[i] = start_standin("k", names[i], 0.002 * (i + 1));
  agent[4] = start_standin("alone", "alone", 0.001);
  standin_await(&pg, "k", 4);
  standin_await(&pg, "alone", 1);
  tune_by("alone", one, sizeof one);
  tune_by("k", four, sizeof four);
  assert_string_equal(one, four);
  assert_string_equal(
      postgres_ask(&pg, "SELECT count(DISTINCT device) > 2 FROM fleet.result"),
      "t");
  /* A second session is answered from the first's records. */
  tune_by("k", four, sizeof four);
  assert_string_equal(one, four);
  assert_string_equal(
      postgres_ask(&pg, "SELECT count(*) >= 40 FROM fleet.result WHERE reused "
                        "IS NOT NULL"),
      "t");
  for (int i = 0; i < 5; i++)
    assert_int_equal(standin_end(agent[i], SIGTERM), 0);
  postgres_check(&pg);
}

/* ---- real agents -------------------------------------------------------- */

static pid_t start_agent(const char *name, const char *before,
                         const char *more) {
  char options[512];
  snprintf(options, sizeof options,
           "--key real %s --target 'llvm -num-cores=1'", more);
  return agent_start(&pg, c.dir, name, before, options);
}

static void test_real(void **state) {
  char args[512];
  (void)state;
  pid_t a = start_agent("one", "exec", "");
  standin_await(&pg, "real", 1);
  snprintf(args, sizeof args,
           "tune d.lua --trials 8 --fleet '%s' --key real --kernel-threads 1",
           pg.url);
  expect(args, 0, "split{");
  assert_string_equal(
      postgres_ask(&pg, "SELECT count(*) >= 8 AND bool_and(reference > 0) FROM "
                        "fleet.result WHERE key = 'real'"),
      "t");
  snprintf(args, sizeof args, "fleet doctor --fleet '%s' --key real", pg.url);
  expect(args, 0, "ok      a device measures");
  snprintf(args, sizeof args, "fleet status --fleet '%s'", pg.url);
  expect(args, 0, "one");
  assert_int_equal(standin_end(a, SIGTERM), 0);
  postgres_check(&pg);
}

/* ASan wants to be the first library. */
#ifdef __SANITIZE_ADDRESS__
#define HOUR_AHEAD "exec"
#else
#define HOUR_AHEAD         \
  "exec env FAKETIME=+1h " \
  "LD_PRELOAD=$(ls /usr/lib/*/faketime/libfaketime.so.1)"
#endif

/* An agent whose clock is an hour ahead, and one that cannot write a byte to
 * any file: only the server's clock counts, and nothing is kept on disk. */
static void test_odd_machines(void **state) {
  static const char *const odd[][3] = {{"ahead", HOUR_AHEAD, "--poll"},
                                       {"full", "ulimit -f 0; exec", ""}};
  char args[512];
  (void)state;
  for (int i = 0; i < 2; i++) {
    pid_t a = start_agent(odd[i][0], odd[i][1], odd[i][2]);
    standin_await(&pg, "real", 1);
    snprintf(args, sizeof args,
             "tune d.lua --trials 8 --seed %d --fleet '%s' --key real "
             "--kernel-threads 1",
             4 + i, pg.url);
    expect(args, 0, "split{");
    standin_end(a, SIGTERM);
  }
  assert_string_equal(
      postgres_ask(&pg, "SELECT string_agg(DISTINCT device, ' ' ORDER BY "
                        "device) FROM fleet.result WHERE device IN ('ahead', "
                        "'full') AND status = 'OK'"),
      "ahead full");
  assert_string_equal(postgres_ask(&pg,
                                   "SELECT count(*) FROM fleet.event WHERE "
                                   "what IN ('lost', 'stale')"),
                      "0");
  postgres_check(&pg);
}

static void set_lease(int seconds) {
  postgres_ask(&pg, "UPDATE fleet.setting SET value = %d WHERE name = 'lease'",
               seconds);
}

/* A kernel that crashes its worker is a result of the candidate's; an agent
 * that is killed while it compiles, runs or reports loses nothing. */
static void test_crashes(void **state) {
  static const char crashing[] =
      "local ts = require 'tessera'\n"
      "local A = ts.placeholder('A', { 64 })\n"
      "local B = ts.compute('B', { 64 }, function(i)\n"
      "  return ts.call_extern('float32', 'no_such_function', A(i)) end)\n"
      "return { program = ts.program('p', { A }, { B }), min_time = 0.002,\n"
      "         batch = 4, kernel_threads = 1, trials = 4 }\n";
  char args[512];
  (void)state;
  pid_t a = start_agent("doomed", "exec", ""), b;
  standin_await(&pg, "real", 1);
  console_write(&c, "crash.lua", crashing);
  snprintf(args, sizeof args, "tune crash.lua --fleet '%s' --key real", pg.url);
  assert_int_equal(console_run(&c, "%s %s", CONSOLE_TESSERA, args), 1);
  assert_string_equal(
      postgres_ask(&pg, "SELECT count(*) FROM fleet.event WHERE what IN "
                        "('lost', 'failed')"),
      "0");
  standin_end(a, SIGTERM);
  set_lease(1);
  a = start_agent("doomed", "exec", "");
  b = start_agent("spare", "exec", "");
  standin_await(&pg, "real", 2);
  int before = atoi(postgres_ask(
      &pg, "SELECT count(*) FROM fleet.result WHERE key = 'real'"));
  pid_t tune = fork();
  if (tune == 0) {
    snprintf(args, sizeof args,
             "cd %s; exec '" TESS_BUILD_DIR "/bin/tessera' tune d.lua "
             "--trials 24 --seed 3 --kernel-threads 1 --fleet '%s' --key real "
             ">tuned 2>&1",
             c.dir, pg.url);
    execl("/bin/sh", "sh", "-c", args, (char *)NULL);
    _exit(127);
  }
  for (int i = 0; i < 3; i++) {
    postgres_await(&pg, "t",
                   "SELECT count(*) >= %d FROM fleet.result WHERE key = 'real'",
                   before + 3 + 5 * i);
    standin_end(a, SIGKILL);
    a = start_agent("doomed", "exec", "");
  }
  int status;
  waitpid(tune, &status, 0);
  assert_int_equal(status, 0);
  assert_int_equal(standin_end(b, SIGTERM), 0);
  standin_end(a, SIGTERM);
  set_lease(LEASE);
  postgres_check(&pg);
}

/* A build agent builds and signs, a run agent runs what is signed, in a
 * sandbox; what was altered on the way is not run but built again. */
static void test_split(void **state) {
  char args[512];
  int status;
  (void)state;
  snprintf(args, sizeof args, "fleet init --keys . --fleet '%s'", pg.url);
  expect(args, 0, "version 1");
  expect(args, 1, "there is a key already");
  snprintf(args, sizeof args, "agent --key split --role run --fleet '%s'",
           pg.url);
  expect(args, 1, "needs the public key (--trust fleet.pub)");
  snprintf(args, sizeof args, "--key split --role run --trust %s/fleet.pub",
           c.dir);
  pid_t run = start_agent("runs", "exec", args), build;
  standin_await(&pg, "split", 1);
  snprintf(args, sizeof args, "--key split --role build --sign %s/fleet.key",
           c.dir);
  build = start_agent("builds", "exec", args);
  kill(run, SIGSTOP);
  pid_t tune = fork();
  if (tune == 0) {
    snprintf(args, sizeof args,
             "cd %s; exec '" TESS_BUILD_DIR "/bin/tessera' tune d.lua "
             "--trials 8 --seed 5 --kernel-threads 1 --fleet '%s' "
             "--key split >split 2>&1",
             c.dir, pg.url);
    execl("/bin/sh", "sh", "-c", args, (char *)NULL);
    _exit(127);
  }
  postgres_await(&pg, "t",
                 "SELECT count(*) > 0 FROM fleet.batch WHERE key = 'split' AND "
                 "stage = 'run' AND state = 'queued'");
  postgres_ask(&pg, "UPDATE fleet.object SET bytes = set_byte(bytes, 200, 255 "
                    "- get_byte(bytes, 200)) WHERE hash IN (SELECT object FROM "
                    "fleet.job)");
  kill(run, SIGCONT);
  waitpid(tune, &status, 0);
  console_run(&c, "cat split");
  if (status) fail_msg("status %d: %s", status, c.out);
  assert_int_equal(
      console_run(&c, "grep -q 'is not signed by a build agent' runs.said"), 0);
  assert_string_equal(postgres_ask(&pg, "SELECT DISTINCT device FROM "
                                        "fleet.result WHERE key = 'split'"),
                      "runs");
  assert_int_equal(standin_end(run, SIGTERM), 0);
  assert_int_equal(standin_end(build, SIGTERM), 0);
  postgres_check(&pg);
}

/* What cannot be done is said in a line. */
static void test_refusals(void **state) {
  char args[512];
  (void)state;
  snprintf(args, sizeof args, "tune d.lua --trials 8 --fleet '%s' --key none",
           pg.url);
  expect(args, 1, "no agent of key 'none' is at work");
  expect("tune d.lua --fleet x=1", 1, "'fleet' and 'key' go together");
  expect("tune d.lua --fleet host=/nowhere --key k --target llvm", 1,
         "connecting to the fleet's database");
  snprintf(args, sizeof args,
           "tune d.lua --fleet '%s' --key 'a b' --target llvm", pg.url);
  expect(args, 1, "a key consists of letters");
  expect("agent --key k", 2, "agent needs --fleet");
  expect("fleet zzz", 2, "fleet has no command 'zzz'; it has add, check");
  snprintf(args, sizeof args, "fleet pause nobody --fleet '%s'", pg.url);
  expect(args, 1, "there is no device or key 'nobody'");
  snprintf(args, sizeof args, "fleet doctor --key none --fleet '%s'", pg.url);
  expect(args, 1, "'an agent of the key is at work' fails: ");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_as_one),  cmocka_unit_test(test_real),
      cmocka_unit_test(test_odd_machines), cmocka_unit_test(test_crashes),
      cmocka_unit_test(test_split),        cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, start_all, end_all);
}
