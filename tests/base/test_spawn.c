/* SPDX-License-Identifier: Apache-2.0
 * Child processes: their descriptors, their group, and how they end. */
#include "support/test.h"
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t begin(spawn_order o, const char *script) {
  const char *const argv[] = {"/bin/sh", "-c", script, NULL};
  pid_t pid = 0;
  o.argv = argv;
  assert_int_equal(spawn_start(&o, &pid), 0);
  return pid;
}

static int exit_status(pid_t pid) {
  int status = spawn_reap(pid);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static int open_text(const char *text) {
  int fd = spawn_move_up(memfd_create("text", MFD_CLOEXEC));
  assert_true(fd >= SPAWN_MOST);
  assert_int_equal(write(fd, text, strlen(text)), strlen(text));
  return fd;
}

/* The numbers are those of the list; the host's others are closed, and what is
 * written to /dev/null is gone. */
static void gives_descriptors(void **state) {
  (void)state;
  char got[16] = "";
  int from = open_text("told\n"), to = open_text("");
  int stray = fcntl(from, F_DUPFD, 20); /* without FD_CLOEXEC */
  const spawn_order o = {.nfd = 5,
                         .fd = {SPAWN_NULL, SPAWN_NULL, SPAWN_NULL, from, to}};
  pid_t pid = begin(o, "read x && exit 1; echo lost; "
                       "cat /proc/self/fd/3 >/proc/self/fd/4; "
                       "for f in /proc/self/fd/*; do n=$((n + 1)); done; "
                       "[ $n -le 6 ]"); /* and that of the folder */
  assert_int_equal(exit_status(pid), 0);
  assert_int_equal(pread(to, got, sizeof got, 0), 5);
  assert_string_equal(got, "told\n");
  close(stray);
  close(from);
  close(to);
}

/* A leader has default signal handling, and is ended with what it started. */
static void leads_a_group(void **state) {
  (void)state;
  int own, child;
  char said[8];
  assert_true(spawn_socket(&own, &child));
  assert_true(fcntl(own, F_GETFL) & O_NONBLOCK);
  signal(SIGTERM, SIG_IGN);
  const spawn_order o = {
      .leads = true, .nfd = 3, .fd = {child, child, SPAWN_SAME}};
  pid_t pid = begin(o, "sleep 100 & kill -TERM $$; exit 3");
  signal(SIGTERM, SIG_DFL);
  close(child);
  int status = 0;
  siginfo_t i;
  assert_int_equal(waitid(P_PID, (id_t)pid, &i, WEXITED | WNOWAIT), 0);
  assert_int_equal(kill(-pid, SIGKILL), 0);
  status = spawn_reap(pid);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGTERM);
  fcntl(own, F_SETFL, 0);
  assert_int_equal(read(own, said, sizeof said), 0); /* nobody has the other */
  close(own);
  assert_int_equal(spawn_reap(pid), -1);
}

static void finds_programs(void **state) {
  (void)state;
  pid_t pid;
  const char *const named[] = {"true", NULL};
  const char *const none[] = {"/no/such", NULL};
  spawn_order o = {.argv = named, .nfd = 3};
  for (int k = 0; k < 3; k++) o.fd[k] = SPAWN_NULL;
  assert_int_equal(spawn_start(&o, &pid), ENOENT);
  o.search = true;
  assert_int_equal(spawn_start(&o, &pid), 0);
  assert_int_equal(exit_status(pid), 0);
  o.argv = none;
  assert_int_equal(spawn_start(&o, &pid), ENOENT);
}

static void moves_up(void **state) {
  (void)state;
  errno = EBADF;
  assert_int_equal(spawn_move_up(-1), -1);
  assert_int_equal(errno, EBADF);
  int fd = spawn_move_up(dup(2));
  assert_true(fd >= SPAWN_MOST);
  assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
  close(fd);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gives_descriptors),
      cmocka_unit_test(leads_a_group),
      cmocka_unit_test(finds_programs),
      cmocka_unit_test(moves_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
