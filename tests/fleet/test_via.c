/* SPDX-License-Identifier: Apache-2.0
 * Devices that have nothing but tessera-run: an emulated one, driven through
 * its standard streams; and runners that die, talk nonsense or are not there.
 */
#include "support/command.h"
#include "support/fleet.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

static postgres pg;

static int start_all(void **state) {
  postgres_start(&pg, 1);
  return set_up(state);
}

static int end_all(void **state) {
  postgres_end(&pg);
  return tear_down(state);
}

#define ARM "llvm -mtriple=aarch64-linux-gnu -num-cores=1"
#define OWN TESS_BUILD_DIR "/libexec/tessera-run-" TESS_PROCESSOR

/* An agent of the key; its target is this machine's, or another. */
static pid_t start_driving(const char *key, const char *via, const char *more) {
  char options[1024];
  snprintf(options, sizeof options, "--key %s --via \"%s\" %s", key, via, more);
  return agent_start(&pg, c.dir, key, "exec", options);
}

static int tune(const char *key, const char *file, const char *more) {
  return console_run(&c,
                     "%s tune %s --fleet '%s' --key %s --kernel-threads 1 %s",
                     CONSOLE_TESSERA, file, pg.url, key, more);
}

/* The agent compiles for AArch64, the emulator runs it; outputs are compared
 * with those of this machine. */
static void test_emulated(void **state) {
  (void)state;
  if (!*TESS_ARM_QEMU) return;
  pid_t a = start_driving("arm", TESS_ARM_QEMU " -L /usr/aarch64-linux-gnu",
                          "--target '" ARM "'");
  standin_await(&pg, "arm", 1);
  int status = tune("arm", "d.lua", "--trials 8");
  if (status) fail_msg("status %d: %s%s", status, c.out, c.err);
  assert_string_equal(
      postgres_ask(&pg, "SELECT count(*) >= 8 AND bool_and(reference > 0) AND "
                        "bool_or(checked) AND bool_and(env->>'machine' = "
                        "'aarch64') FROM fleet.result WHERE key = 'arm' AND "
                        "status = 'OK'"),
      "t");
  assert_int_equal(standin_end(a, SIGTERM), 0);
  postgres_check(&pg);
}

/* A device that only runs, driven by a command: objects come from a build
 * agent. */
static void test_only_runs(void **state) {
  char more[512];
  (void)state;
  snprintf(more, sizeof more, "fleet init --keys . --fleet '%s'", pg.url);
  expect(more, 0, "version 1");
  snprintf(more, sizeof more,
           "--role run --trust %s/fleet.pub --target 'llvm -num-cores=1'",
           c.dir);
  pid_t run = start_driving("own", "env -i", more);
  standin_await(&pg, "own", 1);
  snprintf(more, sizeof more,
           "--key own --role build --sign %s/fleet.key "
           "--target 'llvm -num-cores=1'",
           c.dir);
  pid_t build = agent_start(&pg, c.dir, "builds", "exec", more);
  int status = tune("own", "d.lua", "--trials 8");
  if (status) fail_msg("status %d: %s%s", status, c.out, c.err);
  assert_string_equal(postgres_ask(&pg, "SELECT string_agg(DISTINCT device, ' "
                                        "') FROM fleet.result WHERE key = "
                                        "'own'"),
                      "own");
  assert_int_equal(standin_end(run, SIGTERM), 0);
  assert_int_equal(standin_end(build, SIGTERM), 0);
  postgres_check(&pg);
}

/* One that is not there, is something else, is of another processor or sends
 * nonsense ends the agent with a line before it takes any work. */
static void test_no_runner(void **state) {
  static const struct {
    const char *via, *more, *says;
  } cases[] = {
      {"sh -c 'echo no route to board >&2; exit 255' #", "",
       "the runner ended with status 255: no route to board"},
      {"echo Welcome to board", "--runner x",
       "gave what is no message of tessera-run: Welcome to board"},
      {"nice", "--runner /nowhere/tessera-run", "/nowhere/tessera-run"},
      {"nice", "--device cuda:0 --runner x", "of a processor's target"},
      {"nice", "--role build --sign none --runner x", "runs code (--role)"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int status = console_run(
        &c,
        "%s agent --fleet '%s' --key odd --target 'llvm -num-cores=1' "
        "--via \"%s\" %s",
        CONSOLE_TESSERA, pg.url, cases[i].via, cases[i].more);
    if (status != 1 || !strstr(c.err, cases[i].says))
      fail_msg("%s: status %d: %s", cases[i].via, status, c.err);
  }
  assert_int_equal(console_run(&c, "%s agent --fleet '%s' --key odd --runner x",
                               CONSOLE_TESSERA, pg.url),
                   2);
}

/* A runner that dies is a failure of the device's, none of the candidate's: the
 * jobs go elsewhere.  The first start answers who the device is and runs the
 * reference kernel, the second would time candidates. */
static void test_dying_runner(void **state) {
  static const char flaky[] =
      "#!/bin/sh\n"
      "cd $(dirname $0) && [ ! -e once ] && touch once && exec " OWN "\n"
      "echo 'the board has lost its power' >&2\n"
      "exit 9\n";
  char via[512];
  (void)state;
  console_write(&c, "flaky", flaky);
  assert_int_equal(console_run(&c, "chmod +x flaky"), 0);
  snprintf(via, sizeof via, "%s/flaky", c.dir);
  pid_t a = start_driving("flaky", via, "--target 'llvm -num-cores=1'");
  standin_await(&pg, "flaky", 1);
  pid_t b = agent_start(&pg, c.dir, "steady", "exec",
                        "--key flaky --target 'llvm -num-cores=1'");
  standin_await(&pg, "flaky", 2);
  int status = tune("flaky", "d.lua", "--trials 8");
  if (status) fail_msg("status %d: %s%s", status, c.out, c.err);
  assert_string_equal(postgres_ask(&pg, "SELECT bool_and(status = 'OK') FROM "
                                        "fleet.result WHERE key = 'flaky'"),
                      "t");
  assert_string_equal(
      postgres_ask(&pg, "SELECT count(*) > 0 FROM fleet.event WHERE what = "
                        "'failed' AND device = 'flaky' AND why = 'the runner "
                        "ended with status 9: the board has lost its power'"),
      "t");
  assert_int_equal(standin_end(a, SIGTERM), 0);
  assert_int_equal(standin_end(b, SIGTERM), 0);
  postgres_check(&pg);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_emulated), cmocka_unit_test(test_only_runs),
      cmocka_unit_test(test_no_runner), cmocka_unit_test(test_dying_runner)};
  return cmocka_run_group_tests(tests, start_all, end_all);
}
