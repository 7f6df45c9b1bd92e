/* SPDX-License-Identifier: Apache-2.0
 * The commands of docs/fleet.md, from an empty server to a kernel that two
 * agents measured: over TLS whose certificate is verified, with passwords; and
 * then what steers a fleet. */
#include "support/command.h"
#include "support/fleet.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static postgres pg;
static char address[256]; /* behind "postgres://USER@" */

static void shell_does(const char *command) {
  if (console_run(&c, "%s", command)) fail_msg("%s: %s", command, c.err);
}

/* The server takes nothing through TCP but TLS with a password. */
static void demand_tls(void) {
  char command[2048];
  snprintf(
      command, sizeof command,
      "cd %s/d && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "
      "/CN=localhost -addext subjectAltName=DNS:localhost -keyout server.key "
      "-out server.crt 2>/dev/null && chmod 600 server.key && chown "
      "--reference=PG_VERSION server.key server.crt && "
      "cp server.crt %s/ca.pem && "
      "printf 'ssl = on\\nlisten_addresses = localhost\\n' >>postgresql.conf "
      "&& printf 'local all all trust\\nhostssl all all all "
      "scram-sha-256\\n' >pg_hba.conf",
      pg.dir, c.dir);
  shell_does(command);
  postgres_stop(&pg, "fast");
  postgres_restart(&pg);
}

static int start_all(void **state) {
  char path[128];
  postgres_start(&pg, 0);
  set_up(state);
  demand_tls();
  snprintf(address, sizeof address,
           "localhost:%d/fleet?sslmode=verify-full&sslrootcert=%s/ca.pem",
           pg.port, c.dir);
  console_write(&c, "pgpass",
                "*:*:*:fleet:secret\n*:*:*:lab:of the lab\n*:*:*:me:mine\n"
                "*:*:*:boss:boss's\n");
  shell_does("chmod 600 pgpass && cp d.lua matmul.lua && echo 'of the lab' "
             ">lab.txt && echo mine >me.txt && echo \"boss's\" >boss.txt");
  snprintf(path, sizeof path, "%s/pgpass", c.dir);
  setenv("PGPASSFILE", path, 1);
  return 0;
}

static int end_all(void **state) {
  console_run(&c, "kill -KILL $(cat pids) 2>/dev/null");
  postgres_end(&pg);
  return tear_down(state);
}

/* ---- the documented commands -------------------------------------------- */

/* Replaces the first `from` in the text by `to`. */
static void replace(char *text, size_t n, const char *from, const char *to) {
  char rest[1024];
  char *at = strstr(text, from);
  if (!at) return;
  snprintf(rest, sizeof rest, "%s", at + strlen(from));
  snprintf(at, n - (size_t)(at - text), "%s%s", to, rest);
}

/* The line as it is run here: by this server's tools, at its address, in this
 * folder; two agents share this machine's cores. */
static void adapt(char *line, size_t n, const char *machine) {
  char to[512];
  snprintf(to, sizeof to, "createuser -h %s -p %d -U postgres", pg.dir,
           pg.port);
  replace(line, n, "sudo -u postgres createuser", to);
  replace(line, n, "fleet -P", "fleet");
  snprintf(to, sizeof to, "createdb -h %s -p %d -U postgres", pg.dir, pg.port);
  replace(line, n, "sudo -u postgres createdb", to);
  char *at = strstr(line, "postgres://"), *end = at ? strchr(at, ' ') : NULL;
  if (at) {
    char user[32], more[512];
    sscanf(at, "postgres://%31[^@]", user);
    snprintf(more, sizeof more, "%s", end ? end : "");
    snprintf(at, n - (size_t)(at - line), "'postgres://%s@%s'%s", user, address,
             more);
  }
  snprintf(to, sizeof to,
           "--share-cores --name %s --target 'llvm -num-cores=1' 2>%s.said & "
           "echo $! >>pids",
           machine, machine);
  if (strstr(line, "tessera agent")) replace(line, n, "&\n", to);
  replace(line, n, "tessera ", CONSOLE_TESSERA " ");
  line[strcspn(line, "\n")] = '\0';
}

/* Gives how many there were. */
static int run_documented(void) {
  char line[1024], machine[8];
  FILE *f = fopen(TESS_SOURCE_DIR "/docs/fleet.md", "r");
  int n = 0, at;
  assert_non_null(f);
  while (fgets(line, sizeof line, f)) {
    at = 0;
    if (sscanf(line, "    %7[a-z]$ %n", machine, &at) != 1 || !at) continue;
    memmove(line, line + at, strlen(line + at) + 1);
    n++;
    if (!strncmp(line, "apt-get", 7)) continue;
    bool agent = strstr(line, "tessera agent");
    adapt(line, sizeof line, machine);
    int status = console_run(&c, "%s", line);
    if (status) fail_msg("%s: status %d: %s%s", line, status, c.out, c.err);
    if (strstr(line, "createuser"))
      postgres_ask(&pg, "ALTER ROLE fleet PASSWORD 'secret'");
    if (strstr(line, "createdb"))
      snprintf(pg.url, sizeof pg.url,
               "host=%s port=%d user=postgres "
               "dbname=fleet",
               pg.dir, pg.port);
    if (agent) standin_await(&pg, "zen3-2c", *machine == 'a' ? 1 : 2);
  }
  fclose(f);
  return n;
}

static void test_documented(void **state) {
  (void)state;
  assert_int_equal(run_documented(), 10);
  assert_non_null(strstr(c.out, "split{"));
  assert_string_equal(
      postgres_ask(&pg, "SELECT count(DISTINCT device) FROM fleet.result"),
      "2");
  postgres_check(&pg);
}

/* ---- who is let in ------------------------------------------------------ */

static void test_refused(void **state) {
  char args[512];
  (void)state;
  snprintf(args, sizeof args,
           "fleet status --fleet 'postgres://me@localhost:%d/"
           "fleet?sslmode=disable'",
           pg.port);
  expect(args, 1, "no pg_hba.conf entry");
  shell_does("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "
             "/CN=localhost -keyout other.key -out other.pem 2>/dev/null");
  snprintf(args, sizeof args,
           "fleet status --fleet 'postgres://me@localhost:%d/fleet?"
           "sslmode=verify-full&sslrootcert=%s/other.pem'",
           pg.port, c.dir);
  expect(args, 1, "certificate verify failed");
  snprintf(args, sizeof args, "fleet status --fleet 'postgres://me:his@%s'",
           address);
  expect(args, 1, "password authentication failed");
  snprintf(args, sizeof args, "fleet pause zen3-2c --fleet 'postgres://me@%s'",
           address);
  expect(args, 1, "permission denied");
}

/* ---- several tasks ------------------------------------------------------ */

static void test_tasks(void **state) {
  static const char tasks[] =
      "local ts, ops = require 'tessera', require 'tessera.ops'\n"
      "local list = {}\n"
      "for i = 1, 2 do\n"
      "  list[i] = { program = ops.matmul { m = 8 * i, n = 16, k = 16 } }\n"
      "end\n"
      "local r = ts.tune_tasks(list, { fleet = arg[1], key = 'zen3-2c',\n"
      "  trials = 16, kernel_threads = 1, min_time = 0.002, batch = 4,\n"
      "  progress = false })\n"
      "assert(r[1].trials + r[2].trials == 16)\n";
  (void)state;
  console_write(&c, "tasks.lua", tasks);
  int status = console_run(&c, "%s tasks.lua 'postgres://me@%s'",
                           CONSOLE_TESSERA, address);
  if (status) fail_msg("status %d: %s%s", status, c.out, c.err);
  assert_string_equal(
      postgres_ask(&pg, "SELECT count(*) >= 16 FROM fleet.result WHERE task IN "
                        "(SELECT id FROM fleet.task ORDER BY id DESC LIMIT 2)"),
      "t");
}

/* ---- steering ----------------------------------------------------------- */

static void boss_says(const char *command, const char *says) {
  char args[512];
  snprintf(args, sizeof args, "fleet %s --fleet 'postgres://boss@%s'", command,
           address);
  expect(args, 0, says);
}

static void test_steered(void **state) {
  char args[512];
  (void)state;
  snprintf(args, sizeof args,
           "fleet add boss --role admin --password-file boss.txt --fleet "
           "'postgres://fleet@%s'",
           address);
  expect(args, 0, "boss may admin");
  boss_says("pause zen3-2c", "a\nb");
  boss_says("status", "paused");
  assert_string_equal(postgres_ask(&pg, "SELECT count(*) FROM "
                                        "fleet.at_work('zen3-2c', 'run')"),
                      "0");
  boss_says("resume b", "b");
  standin_await(&pg, "zen3-2c", 1);
  boss_says("drain a", "a");
  agent_await_words(c.dir, "a", "drained");
  boss_says("metrics", "tessera_fleet");
  boss_says("gc --older-than 0s", "partitions 1");
  assert_string_equal(postgres_ask(&pg, "SELECT count(*) FROM fleet.result"),
                      "0");
  postgres_check(&pg);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_documented), cmocka_unit_test(test_refused),
      cmocka_unit_test(test_tasks), cmocka_unit_test(test_steered)};
  return cmocka_run_group_tests(tests, start_all, end_all);
}
