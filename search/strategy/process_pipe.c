/* SPDX-License-Identifier: Apache-2.0
 * A process behind a socket that is both its standard streams: starts it, asks
 * for a line with a time-out, ends it with all that it started. */
#include "base/clock.h"
#include "search/strategy/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

void process_init(process_pipe *p, mem_heap *heap) {
  *p = (process_pipe){.fd = -1};
  str_init(&p->in, heap);
}

/* ---- starting ----------------------------------------------------------- */

/* The streams are its own, the error stream is the host's. */
static int set_streams(posix_spawn_file_actions_t *a, int fd) {
  int bad = posix_spawn_file_actions_adddup2(a, fd, 0);
  if (!bad) bad = posix_spawn_file_actions_adddup2(a, fd, 1);
  return bad ? bad : posix_spawn_file_actions_addclosefrom_np(a, 3);
}

/* A group of its own, and default signal handling. */
static void set_group(posix_spawnattr_t *a) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setpgroup(a, 0);
  posix_spawnattr_setsigmask(a, &none);
  posix_spawnattr_setsigdefault(a, &all);
  posix_spawnattr_setflags(a, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                  POSIX_SPAWN_SETSIGDEF);
}

static int spawn_shell(process_pipe *p, const char *command, int fd) {
  const char *argv[] = {"/bin/sh", "-c", command, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int bad = posix_spawn_file_actions_init(&actions);
  if (bad) return bad;
  bad = posix_spawnattr_init(&attributes);
  if (!bad) {
    set_group(&attributes);
    bad = set_streams(&actions, fd);
    if (!bad)
      bad = posix_spawn(&p->pid, argv[0], &actions, &attributes,
                        (char **)(uintptr_t)argv, environ);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return bad;
}

/* Above the standard streams, which a host may have closed. */
static int move_above(int fd) {
  int up = fcntl(fd, F_DUPFD_CLOEXEC, 3), why = errno;
  close(fd);
  errno = why;
  return up;
}

int process_start(process_pipe *p, const char *command) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) return errno;
  p->fd = move_above(pair[0]);
  int bad = p->fd < 0 ? errno : 0;
  int child = move_above(pair[1]);
  if (child < 0 && !bad) bad = errno;
  if (!bad) bad = spawn_shell(p, command, child);
  if (child >= 0) close(child);
  if (!bad) bad = fcntl(p->fd, F_SETFL, O_NONBLOCK) ? errno : 0;
  if (!bad) return 0;
  if (p->fd >= 0) close(p->fd);
  p->fd = -1;
  p->pid = 0;
  return bad;
}

/* ---- a question and its answer ------------------------------------------ */

typedef struct process_talk {
  process_pipe *p;
  const strbuf *text;
  size_t sent;
  double until;
  const thread_flag *stop;
} process_talk;

static bool is_passing(int why) { return why == EAGAIN || why == EINTR; }

/* Sends what it takes; false: it takes nothing any more. */
static bool send_some(process_talk *t) {
  while (t->sent < t->text->n) {
    ssize_t put = send(t->p->fd, t->text->v + t->sent, t->text->n - t->sent,
                       MSG_NOSIGNAL);
    if (put < 0) return is_passing(errno);
    t->sent += (size_t)put;
  }
  return true;
}

/* Reads what there is; PROCESS_LATE: no line yet. */
static process_event read_some(process_pipe *p) {
  char chunk[1 << 14];
  for (;;) {
    ssize_t got = recv(p->fd, chunk, sizeof chunk, 0);
    if (got < 0) return is_passing(errno) ? PROCESS_LATE : PROCESS_ENDED;
    if (got == 0) return PROCESS_ENDED;
    const char *end = memchr(chunk, '\n', (size_t)got);
    str_write(&p->in, chunk, end ? (size_t)(end - chunk) : (size_t)got);
    if (p->in.bad) return PROCESS_NOMEM;
    if (p->in.n > PROCESS_MOST_LINE) return PROCESS_LONG;
    if (end) return PROCESS_LINE;
  }
}

/* What it said without being asked is none of the answer. */
static void drop_said(process_pipe *p) {
  char chunk[1 << 14];
  str_clear(&p->in);
  for (int k = 0; k < 1 << 12; k++)
    if (recv(p->fd, chunk, sizeof chunk, 0) <= 0) return;
}

/* Waits in slices, since the flag wakes nobody. */
static void await_talk(const process_talk *t) {
  enum { SLICE = 50 };
  double left = 1e3 * (t->until - clock_now());
  short more = t->sent < t->text->n ? POLLOUT : 0;
  struct pollfd f = {.fd = t->p->fd, .events = (short)(POLLIN | more)};
  poll(&f, 1, left < SLICE ? left > 0 ? (int)left + 1 : 0 : SLICE);
}

process_event process_ask(process_pipe *p, const strbuf *text, double seconds,
                          const thread_flag *stop) {
  process_talk t = {p, text, 0, clock_now() + seconds, stop};
  drop_said(p);
  for (;;) {
    bool takes = send_some(&t);
    process_event e = read_some(p);
    if (e != PROCESS_LATE) return e;
    if (!takes) return PROCESS_ENDED;
    if (thread_flag_is_raised(stop)) return PROCESS_STOPPED;
    if (clock_now() >= t.until) return PROCESS_LATE;
    await_talk(&t);
  }
}

/* ---- ending ------------------------------------------------------------- */

/* Whether it has ended; it stays to be reaped, so that its number is not
 * another's when the group is killed. */
static bool has_ended(pid_t pid) {
  siginfo_t i = {0};
  return waitid(P_PID, (id_t)pid, &i, WEXITED | WNOHANG | WNOWAIT) ||
         i.si_pid == pid;
}

static bool await_end(pid_t pid, double seconds) {
  const struct timespec turn = {.tv_nsec = 5000000};
  double until = clock_now() + seconds;
  while (!has_ended(pid) && clock_now() < until) nanosleep(&turn, NULL);
  return has_ended(pid);
}

static int reap_process(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return 0;
  return status;
}

void process_end(process_pipe *p, double patience, char *how, size_t n) {
  if (n) *how = '\0';
  if (p->fd >= 0) close(p->fd);
  p->fd = -1;
  str_clear(&p->in);
  if (!p->pid) return;
  bool by_itself = await_end(p->pid, patience);
  kill(-p->pid, SIGKILL);
  int status = reap_process(p->pid);
  p->pid = 0;
  if (!n) return;
  if (!by_itself)
    snprintf(how, n, "closed its streams");
  else if (WIFSIGNALED(status))
    snprintf(how, n, "was killed by signal %d", WTERMSIG(status));
  else
    snprintf(how, n, "ended with status %d", WEXITSTATUS(status));
}

void process_free(process_pipe *p) {
  process_end(p, 1, NULL, 0);
  str_free(&p->in);
}
