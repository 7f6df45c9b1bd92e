/* SPDX-License-Identifier: Apache-2.0
 * Agents that are killed while they compile, while a kernel of theirs runs, and
 * while they report: not at some moment, but where a file or the server says
 * that they are there.  Another does what is left, and nothing counts twice. */
#include "support/command.h"
#include "support/fleet.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static postgres pg;

/* The program calls a function of the test's by name. */
static const char described[] =
    "local ts = require 'tessera'\n"
    "local A = ts.placeholder('A', { 64 })\n"
    "local B = ts.compute('B', { 64 }, function(i)\n"
    "  return ts.call_extern('test_stay', 'float32', A(i)) end)\n"
    "return { program = ts.program('p', { A }, { B }), min_time = 0.002,\n"
    "         batch = 4, kernel_threads = 1, trials = 4, progress = false }\n";

/* It stays where it is told that the fleet's jobs are compiled. */
static const char slow_worker[] =
    "#!/bin/sh\n"
    "[ -n \"$SLOW\" ] && touch \"$SLOW/compiling\" && exec sleep 1000\n"
    "exec " TESS_BUILD_DIR "/libexec/tessera-worker \"$@\"\n";

static int phases_start(void **state) {
  postgres_start(&pg, 1);
  set_up(state);
  console_write(&c, "p.lua", described);
  console_write(&c, "worker", slow_worker);
  setenv("TESSERA_EXTERNS", TESS_EXTERNS, 1);
  return console_run(&c, "chmod +x worker");
}

static int phases_end(void **state) {
  postgres_end(&pg);
  return tear_down(state);
}

/* An agent of a key; `trap`: what its environment has more. */
static pid_t start_one(const char *key, const char *name, const char *trap,
                       const char *more) {
  char before[512], options[512];
  snprintf(before, sizeof before, "exec env %s", trap);
  snprintf(options, sizeof options, "--key %s --target 'llvm -num-cores=1' %s",
           key, more);
  return agent_start(&pg, c.dir, name, before, options);
}

static pid_t start_tuning(const char *key) {
  char command[512];
  pid_t pid = fork();
  if (pid) return pid;
  snprintf(command, sizeof command,
           "cd %s; exec '" TESS_BUILD_DIR "/bin/tessera' tune p.lua --fleet "
           "'%s' --key %s >%s.tuned 2>&1",
           c.dir, pg.url, key, key);
  execl("/bin/sh", "sh", "-c", command, (char *)NULL);
  _exit(127);
}

static void file_appears(const char *name) {
  for (int i = 0; i < 1200; i++) {
    if (!console_run(&c, "test -e %s", name)) return;
    fleet_sleep(0.05, NULL);
  }
  fail_msg("there is no file %s", name);
}

/* The session ends well, each of its jobs has one result, of the spare agent
 * or of the first. */
static void ends_well(pid_t tuning, const char *key) {
  int status;
  waitpid(tuning, &status, 0);
  console_run(&c, "cat %s.tuned", key);
  if (status) fail_msg("status %d: %s", status, c.out);
  assert_string_equal(
      postgres_ask(&pg,
                   "SELECT count(*) > 0 AND bool_and(status = 'OK') FROM "
                   "fleet.result WHERE key = '%s'",
                   key),
      "t");
  postgres_check(&pg);
}

static void lost(const char *device) {
  assert_string_equal(
      postgres_ask(&pg,
                   "SELECT count(*) > 0 FROM fleet.event WHERE what = "
                   "'lost' AND device = '%s'",
                   device),
      "t");
}

static void test_compiling(void **state) {
  char trap[256], build[256], run[256];
  (void)state;
  snprintf(run, sizeof run, "fleet init --keys . --fleet '%s'", pg.url);
  expect(run, 0, "version 1");
  snprintf(trap, sizeof trap, "SLOW=%s TESSERA_WORKER=%s/worker", c.dir, c.dir);
  snprintf(build, sizeof build, "--role build --sign %s/fleet.key", c.dir);
  snprintf(run, sizeof run, "--role run --trust %s/fleet.pub", c.dir);
  pid_t r = start_one("compile", "runs", "", run);
  standin_await(&pg, "compile", 1);
  pid_t a = start_one("compile", "compiles", trap, build), t;
  t = start_tuning("compile");
  file_appears("compiling");
  standin_end(a, SIGKILL);
  pid_t b = start_one("compile", "builds", "", build);
  ends_well(t, "compile");
  lost("compiles");
  assert_int_equal(standin_end(r, SIGTERM), 0);
  assert_int_equal(standin_end(b, SIGTERM), 0);
}

static void test_running(void **state) {
  char trap[256];
  (void)state;
  snprintf(trap, sizeof trap, "TESSERA_STAY=%s", c.dir);
  pid_t a = start_one("run", "stays", trap, ""), t;
  standin_await(&pg, "run", 1);
  t = start_tuning("run");
  file_appears("running");
  standin_end(a, SIGKILL);
  pid_t b = start_one("run", "goes", "", "");
  ends_well(t, "run");
  lost("stays");
  assert_int_equal(standin_end(b, SIGTERM), 0);
}

/* What an agent reports waits for a lock, and it is killed there: the result
 * counts, or another's does. */
static void test_reporting(void **state) {
  (void)state;
  pid_t a = start_one("report", "tells", "", ""), t;
  standin_await(&pg, "report", 1);
  pid_t holder = fork();
  if (holder == 0) {
    char command[512];
    snprintf(command, sizeof command,
             "exec psql -XAtq '%s' -c 'BEGIN; LOCK TABLE fleet.result IN "
             "EXCLUSIVE MODE; SELECT pg_sleep(1000)' >/dev/null 2>&1",
             pg.url);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
  }
  t = start_tuning("report");
  postgres_await(&pg, "1",
                 "SELECT count(*) FROM pg_stat_activity WHERE query LIKE "
                 "'SELECT fleet.finish(%%' AND wait_event_type = 'Lock'");
  standin_end(a, SIGKILL);
  standin_end(holder, SIGKILL);
  postgres_ask(&pg, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE query LIKE '%%pg_sleep(1000)%%' AND pid <> "
                    "pg_backend_pid()");
  pid_t b = start_one("report", "repeats", "", "");
  ends_well(t, "report");
  lost("tells");
  assert_int_equal(standin_end(b, SIGTERM), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_compiling),
                                     cmocka_unit_test(test_running),
                                     cmocka_unit_test(test_reporting)};
  return cmocka_run_group_tests(tests, phases_start, phases_end);
}
