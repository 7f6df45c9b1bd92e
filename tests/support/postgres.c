/* SPDX-License-Identifier: Apache-2.0
 * A PostgreSQL server of a test's own. */
#include "support/postgres.h"
#include "fleet/schema.h"
#include "support/test.h"

#include <arpa/inet.h>
#include <glob.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* PostgreSQL refuses to run as root. */
static const char *as_user(void) {
  return geteuid() ? ""
                   : "setpriv --reuid=postgres --regid=postgres "
                     "--clear-groups ";
}

static void shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void shell(const char *fmt, ...) {
  char command[2048];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(command, sizeof command, fmt, ap);
  va_end(ap);
  if (system(command)) fail_msg("it failed: %s", command);
}

static const char *programs(void) {
  static char path[256];
  glob_t found;
  if (*path) return path;
  if (glob("/usr/lib/postgresql/*/bin", 0, NULL, &found) || !found.gl_pathc)
    fail_msg("there is no PostgreSQL below /usr/lib/postgresql");
  snprintf(path, sizeof path, "%s", found.gl_pathv[found.gl_pathc - 1]);
  globfree(&found);
  return path;
}

static int free_port(void) {
  struct sockaddr_in at = {.sin_family = AF_INET};
  socklen_t size = sizeof at;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  assert_true(fd >= 0 && !bind(fd, (struct sockaddr *)&at, sizeof at));
  assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
  close(fd);
  return ntohs(at.sin_port);
}

void postgres_restart(postgres *p) {
  shell("cd %s && %s%s/pg_ctl -D d -l log -w -t 60 -s start", p->dir, as_user(),
        programs());
}

void postgres_stop(postgres *p, const char *how) {
  shell("cd %s && %s%s/pg_ctl -D d -m %s -w -t 60 -s stop", p->dir, as_user(),
        programs(), how);
}

/* All of them at once, so that no child lets the memory be cleaned up. */
void postgres_kill(postgres *p) {
  shell("P=$(head -1 %s/d/postmaster.pid); kill -KILL $P $(ps -o pid= --ppid "
        "$P); while kill -0 $P 2>/dev/null; do sleep 0.02; done",
        p->dir);
}

static void init_fleet(postgres *p, double lease) {
  test_heap heap;
  fleet_link *l;
  err_state e;
  test_heap_start(&heap, 0);
  tess_status s = fleet_link_open(&heap.heap, p->url, true, &l, &e);
  if (s == TESS_OK) s = fleet_init(l, lease, &e);
  if (s != TESS_OK) fail_msg("%s", e.message);
  fleet_link_close(l);
  test_heap_end(&heap);
}

void postgres_start(postgres *p, double lease) {
  struct passwd *owner = geteuid() ? NULL : getpwnam("postgres");
  snprintf(p->dir, sizeof p->dir, "/tmp/tessera-pg-XXXXXX");
  assert_non_null(mkdtemp(p->dir));
  if (owner) assert_int_equal(chown(p->dir, owner->pw_uid, owner->pw_gid), 0);
  assert_int_equal(chmod(p->dir, 0755), 0);
  p->port = free_port();
  shell("cd %s && %s%s/initdb -D d -A trust -N -U postgres --locale=C "
        "--encoding=UTF8 --no-instructions >initdb.log 2>&1",
        p->dir, as_user(), programs());
  shell("cat >>%s/d/postgresql.conf <<EOF\n"
        "listen_addresses = '127.0.0.1'\nport = %d\n"
        "unix_socket_directories = '%s'\nfsync = off\n"
        "max_connections = 260\nshared_buffers = 32MB\n"
        "autovacuum_naptime = 1s\nEOF",
        p->dir, p->port, p->dir);
  snprintf(p->url, sizeof p->url,
           "host=%s port=%d user=postgres dbname=postgres", p->dir, p->port);
  snprintf(p->tcp, sizeof p->tcp,
           "host=127.0.0.1 port=%d user=postgres dbname=postgres", p->port);
  postgres_restart(p);
  if (lease > 0) init_fleet(p, lease);
}

void postgres_end(postgres *p) {
  postgres_stop(p, "immediate");
  shell("rm -rf %s", p->dir);
}

const char *postgres_ask(const postgres *p, const char *fmt, ...) {
  static char text[1 << 16];
  char sql[4096], command[4600];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(sql, sizeof sql, fmt, ap);
  va_end(ap);
  snprintf(command, sizeof command,
           "%s/psql -XAtq '%s' <<'EOF' 2>&1\n%s\nEOF\n", programs(), p->url,
           sql);
  FILE *f = popen(command, "r");
  assert_non_null(f);
  size_t n = fread(text, 1, sizeof text - 1, f);
  pclose(f);
  while (n && text[n - 1] == '\n') n--;
  text[n] = '\0';
  return text;
}

/* Patient for as long as a busy machine may take. */
void postgres_await(const postgres *p, const char *wanted, const char *fmt,
                    ...) {
  const char *got = "";
  char sql[4096];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(sql, sizeof sql, fmt, ap);
  va_end(ap);
  for (int i = 0; i < 1200; i++) {
    got = postgres_ask(p, "%s", sql);
    if (!strcmp(got, wanted)) return;
    usleep(50000);
  }
  fail_msg("%s: %s, not %s", sql, got, wanted);
}

void postgres_check(const postgres *p) {
  const char *wrong = postgres_ask(p, "SELECT * FROM fleet.check() LIMIT 5");
  if (*wrong) fail_msg("the history is wrong:\n%s", wrong);
}
