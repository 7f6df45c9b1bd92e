/* SPDX-License-Identifier: Apache-2.0
 * What befalls a fleet: agents and servers that are killed, stopped or cut off,
 * devices that lie or crawl, jobs that end whoever does them.  In each case
 * every job gets one result, the history is right, and somebody says what
 * happened in a line. */
#include "support/fleet.h"
#include "support/test.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static postgres pg;
static char folder[] = "/tmp/tessera-said-XXXXXX";

static int start_fleet(void **state) {
  (void)state;
  assert_non_null(mkdtemp(folder));
  postgres_start(&pg, 1);
  return 0;
}

static int end_fleet(void **state) {
  char command[128];
  (void)state;
  postgres_end(&pg);
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

/* ---- processes ---------------------------------------------------------- */

static pid_t start_named(const char *key, const char *name, double nap) {
  standin s = {.url = pg.url, .key = key, .name = name, .nap = nap};
  return standin_start(&s, folder);
}

/* A session of n jobs in a process of its own. */
static pid_t start_session(const char *url, const char *key, uint32_t n,
                           uint32_t at_once) {
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  _exit(standin_session(url, key, n, at_once) & 0xff);
}

/* So many jobs have another status than OK; the history is right. */
static void session_ends(pid_t pid, int odd) {
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != odd)
    fail_msg("the session ended with %d, not %d", status, odd);
  postgres_check(&pg);
}

static void has_said(const char *name, const char *words) {
  agent_await_words(folder, name, words);
}

static void becomes(const char *sql, const char *wanted) {
  postgres_await(&pg, wanted, "%s", sql);
}

static void leave(pid_t pid) { assert_int_equal(standin_end(pid, SIGTERM), 0); }

/* ---- agents ------------------------------------------------------------- */

static void test_killed_agent(void **state) {
  (void)state;
  pid_t a = start_named("kill", "ka", 0.05),
        b = start_named("kill", "kb", 0.05);
  standin_await(&pg, "kill", 2);
  pid_t s = start_session(pg.url, "kill", 40, 40);
  becomes("SELECT count(*) > 4 FROM fleet.result WHERE key = 'kill'", "t");
  standin_end(a, SIGKILL);
  session_ends(s, 0);
  becomes("SELECT count(*) FROM fleet.event WHERE what = 'lost' AND device = "
          "'ka'",
          "1");
  leave(b);
}

/* Stopped for longer than its lease; what it says when it goes on is late. */
static void test_stopped_agent(void **state) {
  (void)state;
  pid_t a = start_named("stop", "sa", 0.1), b = start_named("stop", "sb", 0.1);
  standin_await(&pg, "stop", 2);
  pid_t s = start_session(pg.url, "stop", 40, 40);
  becomes("SELECT count(*) > 2 FROM fleet.result WHERE key = 'stop'", "t");
  kill(a, SIGSTOP);
  becomes("SELECT count(*) FROM fleet.event WHERE what = 'lost' AND device = "
          "'sa'",
          "1");
  kill(a, SIGCONT);
  has_said("sa", "its lease was lost, and what is left of it is others'");
  session_ends(s, 0);
  leave(a);
  leave(b);
}

static void test_one_name(void **state) {
  (void)state;
  standin twin = {.url = pg.url, .key = "name", .name = "same", .twin = 7};
  pid_t a = start_named("name", "same", 0);
  standin_await(&pg, "name", 1);
  pid_t b = standin_start(&twin, folder);
  has_said("same", "there is an agent named 'same' already: process");
  leave(a);
  becomes("SELECT pid FROM fleet.agent WHERE device = 'same' AND NOT gone",
          "7");
  leave(b);
}

/* ---- servers ------------------------------------------------------------ */

static void goes_away(const char *key, void (*end)(void)) {
  pid_t a = start_named(key, "da", 0.05), b = start_named(key, "db", 0.05);
  char sql[128];
  standin_await(&pg, key, 2);
  pid_t s = start_session(pg.url, key, 60, 60);
  snprintf(sql, sizeof sql,
           "SELECT count(*) > 4 FROM fleet.result WHERE key = '%s'", key);
  becomes(sql, "t");
  end();
  fleet_sleep(0.3, NULL);
  postgres_restart(&pg);
  session_ends(s, 0);
  has_said("da", "the fleet's database is back");
  leave(a);
  leave(b);
}

static void stop_fast(void) { postgres_stop(&pg, "fast"); }
static void kill_it(void) { postgres_kill(&pg); }

static void test_restarted_server(void **state) {
  (void)state;
  goes_away("restart", stop_fast);
}

static void test_killed_server(void **state) {
  (void)state;
  goes_away("crash", kill_it);
}

/* ---- a cut connection --------------------------------------------------- */

static int connect_to(int port) {
  struct sockaddr_in at = {.sin_family = AF_INET,
                           .sin_port = htons((uint16_t)port)};
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, (struct sockaddr *)&at, sizeof at)) _exit(1);
  return fd;
}

static void pump(int from, int to) {
  char bytes[4096];
  ssize_t n = read(from, bytes, sizeof bytes);
  if (n <= 0) _exit(0);
  for (ssize_t at = 0; at < n;) {
    ssize_t some = write(to, bytes + at, (size_t)(n - at));
    if (some <= 0) _exit(0);
    at += some;
  }
}

static void relay(int client, int port) {
  struct pollfd p[2] = {{.fd = client, .events = POLLIN},
                        {.fd = connect_to(port), .events = POLLIN}};
  for (;;) {
    if (poll(p, 2, -1) < 0) _exit(1);
    if (p[0].revents) pump(p[0].fd, p[1].fd);
    if (p[1].revents) pump(p[1].fd, p[0].fd);
  }
}

/* A process for each connection; all in one process group, which SIGSTOP cuts
 * without a word to either side. */
static pid_t start_relay(int port, int *at) {
  struct sockaddr_in a = {.sin_family = AF_INET};
  socklen_t size = sizeof a;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  assert_false(bind(fd, (struct sockaddr *)&a, sizeof a) || listen(fd, 16));
  assert_false(getsockname(fd, (struct sockaddr *)&a, &size));
  *at = ntohs(a.sin_port);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid) return close(fd), pid;
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGCHLD, SIG_IGN);
  for (;;) {
    int client = accept(fd, NULL, NULL);
    if (client >= 0 && fork() == 0) relay(client, port);
    close(client);
  }
}

/* The agent notices by the time that an answer takes. */
static void test_cut_connection(void **state) {
  char url[192];
  int port;
  (void)state;
  pid_t r = start_relay(pg.port, &port);
  snprintf(url, sizeof url,
           "host=127.0.0.1 port=%d user=postgres dbname=postgres", port);
  standin far = {.url = url, .key = "cut", .name = "far", .nap = 0.05};
  pid_t a = standin_start(&far, folder), b = start_named("cut", "near", 0.05);
  standin_await(&pg, "cut", 2);
  pid_t s = start_session(pg.url, "cut", 60, 60);
  becomes("SELECT count(*) > 4 FROM fleet.result WHERE key = 'cut'", "t");
  kill(-r, SIGSTOP);
  has_said("far", "the fleet's database");
  session_ends(s, 0);
  kill(-r, SIGCONT);
  has_said("far", "the fleet's database is back");
  leave(a);
  leave(b);
  kill(-r, SIGKILL);
  waitpid(r, NULL, 0);
}

/* ---- jobs and devices --------------------------------------------------- */

/* Job 7 ends the agents of two devices, and is its own fault then. */
static void test_deadly_job(void **state) {
  static const char *const names[] = {"dead1", "dead2", "dead3"};
  pid_t pid[3];
  (void)state;
  for (int i = 0; i < 3; i++) {
    standin s = {.url = pg.url, .key = "deadly", .name = names[i], .deadly = 7};
    pid[i] = standin_start(&s, folder);
  }
  standin_await(&pg, "deadly", 3);
  pid_t s = start_session(pg.url, "deadly", 12, 12);
  session_ends(s, 1);
  becomes("SELECT status || ' ' || (body->>'message' ~ 'the agents of dead. "
          "and dead. were lost') FROM fleet.result WHERE key = 'deadly' AND "
          "status <> 'OK'",
          "CRASHED true");
  int lost = 0;
  for (int i = 0; i < 3; i++) lost += standin_end(pid[i], SIGTERM) != 0;
  assert_int_equal(lost, 2);
}

/* A machinery that fails is no result; elsewhere the job is done. */
static void test_failing_machinery(void **state) {
  (void)state;
  standin bad = {
      .url = pg.url, .key = "faulty", .name = "bad", .faulty = 5, .nap = 0.3};
  pid_t a = standin_start(&bad, folder);
  standin_await(&pg, "faulty", 1);
  pid_t s = start_session(pg.url, "faulty", 8, 8);
  becomes("SELECT count(*) > 0 FROM fleet.event WHERE what = 'failed' AND "
          "device = 'bad'",
          "t");
  pid_t b = start_named("faulty", "good", 0);
  session_ends(s, 0);
  leave(a);
  leave(b);
}

/* A batch of a kind that it does not know follows one that was as long as they
 * get, of which the agent has reported each job. */
static void test_unreadable(void **state) {
  (void)state;
  pid_t a = start_named("later", "old", 0);
  standin_await(&pg, "later", 1);
  assert_int_equal(standin_session_of(pg.url, "later", FLEET_REMATCH,
                                      FLEET_MOST_JOBS, FLEET_MOST_JOBS),
                   0);
  postgres_ask(&pg, "ALTER FUNCTION fleet.claim RENAME TO claim_known");
  postgres_ask(&pg, "CREATE FUNCTION fleet.claim(id uuid) RETURNS jsonb "
                    "LANGUAGE sql AS $$ SELECT jsonb '{\"batch\": 1, "
                    "\"token\": \"00000000-0000-0000-0000-000000000000\", "
                    "\"kind\": \"dream\"}' $$");
  has_said("old", "batch 1: its kind is not known");
  leave(a);
}

static int restore_claims(void **state) {
  (void)state;
  postgres_ask(&pg, "DROP FUNCTION fleet.claim");
  postgres_ask(&pg, "ALTER FUNCTION fleet.claim_known RENAME TO claim");
  return 0;
}

/* Nobody can do it: the session says so, with the reason. */
static void test_refused(void **state) {
  int status;
  (void)state;
  standin no = {.url = pg.url, .key = "refuse", .name = "no", .refuses = true};
  pid_t a = standin_start(&no, folder);
  standin_await(&pg, "refuse", 1);
  pid_t s = start_session(pg.url, "refuse", 2, 2);
  waitpid(s, &status, 0);
  assert_int_equal(WEXITSTATUS(status), 255);
  becomes("SELECT DISTINCT body->>'message' FROM fleet.result WHERE status = "
          "'UNSUPPORTED'",
          "no: it cannot do that");
  leave(a);
}

/* One that computes something else, and one that crawls, are quarantined; when
 * a third of a key's devices is, it stops. */
static void test_bad_devices(void **state) {
  static const char *const names[] = {"fine1", "fine2", "fine3", "fine4"};
  pid_t pid[6];
  int status;
  (void)state;
  for (int i = 0; i < 4; i++) {
    pid[i] = start_named("bad", names[i], 0);
    standin_await(&pg, "bad", i + 1);
  }
  standin liar = {
      .url = pg.url, .key = "bad", .name = "liar", .digest = "wrong"};
  pid[4] = standin_start(&liar, folder);
  has_said("liar", "quarantined: its health kernel gives other outputs than on "
                   "fine1");
  pid_t s = start_session(pg.url, "bad", 16, 16);
  session_ends(s, 0);
  assert_string_equal(postgres_ask(&pg, "SELECT count(*) FROM fleet.result "
                                        "WHERE device = 'liar'"),
                      "0");
  standin slow = {
      .url = pg.url, .key = "bad", .name = "slow", .reference = 1e-2};
  pid[5] = standin_start(&slow, folder);
  has_said("slow", "quarantined: its reference kernel takes 10.0 times the "
                   "median of key 'bad'");
  has_said("fine1",
           "2 of the 6 devices of key 'bad' are quarantined; the last: "
           "slow: its reference kernel");
  s = start_session(pg.url, "bad", 2, 2);
  waitpid(s, &status, 0);
  assert_int_equal(WEXITSTATUS(status), 255);
  postgres_ask(&pg, "SELECT fleet.retry('{\"name\": \"bad\"}')");
  for (int i = 0; i < 6; i++) leave(pid[i]);
}

/* A device that is twice as slow gives the same times, normalised. */
static void test_normalised(void **state) {
  (void)state;
  pid_t a = start_named("norm", "n1", 0.01);
  standin_await(&pg, "norm", 1);
  standin half = {.url = pg.url,
                  .key = "norm",
                  .name = "n2",
                  .reference = 2e-3,
                  .nap = 0.01};
  pid_t b = standin_start(&half, folder);
  standin_await(&pg, "norm", 2);
  pid_t s = start_session(pg.url, "norm", 40, 40);
  session_ends(s, 0);
  becomes("SELECT bool_and(seconds > 1.9 * normal) AND count(*) > 0 FROM "
          "fleet.result WHERE device = 'n2'",
          "t");
  leave(a);
  leave(b);
}

/* ---- sessions ----------------------------------------------------------- */

static void test_killed_session(void **state) {
  (void)state;
  pid_t a = start_named("again", "ra", 0.02);
  standin_await(&pg, "again", 1);
  pid_t s = start_session(pg.url, "again", 40, 8);
  becomes("SELECT count(*) > 10 FROM fleet.result WHERE key = 'again'", "t");
  standin_end(s, SIGKILL);
  s = start_session(pg.url, "again", 40, 8);
  session_ends(s, 0);
  becomes("SELECT count(*) > 10 FROM fleet.result WHERE key = 'again' AND "
          "reused IS NOT NULL",
          "t");
  leave(a);
}

enum { SESSIONS = 200 };

static void test_many_sessions(void **state) {
  static pid_t pid[SESSIONS];
  static const char *const names[] = {"m1", "m2", "m3"};
  pid_t agent[3];
  (void)state;
  for (int i = 0; i < 3; i++) agent[i] = start_named("many", names[i], 0);
  standin_await(&pg, "many", 3);
  for (int i = 0; i < SESSIONS; i++)
    pid[i] = start_session(pg.url, "many", 3, 3);
  for (int i = 0; i < SESSIONS; i++) {
    int status;
    waitpid(pid[i], &status, 0);
    assert_int_equal(status, 0);
  }
  postgres_check(&pg);
  becomes("SELECT count(*) FROM fleet.result WHERE key = 'many'", "600");
  for (int i = 0; i < 3; i++) leave(agent[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_killed_agent),
      cmocka_unit_test(test_stopped_agent),
      cmocka_unit_test(test_one_name),
      cmocka_unit_test(test_restarted_server),
      cmocka_unit_test(test_killed_server),
      cmocka_unit_test(test_cut_connection),
      cmocka_unit_test(test_deadly_job),
      cmocka_unit_test(test_failing_machinery),
      cmocka_unit_test_teardown(test_unreadable, restore_claims),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_bad_devices),
      cmocka_unit_test(test_normalised),
      cmocka_unit_test(test_killed_session),
      cmocka_unit_test(test_many_sessions)};
  return cmocka_run_group_tests(tests, start_fleet, end_fleet);
}
