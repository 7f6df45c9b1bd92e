/* SPDX-License-Identifier: Apache-2.0
 * A process behind a socket that is both its standard streams: starts it, asks
 * for a line with a time-out, ends it with all that it started. */
#include "base/clock.h"
#include "base/spawn.h"
#include "search/strategy/process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

void process_init(process_pipe *p, mem_heap *heap) {
  *p = (process_pipe){.fd = -1};
  str_init(&p->in, heap);
}

/* ---- starting ----------------------------------------------------------- */

/* The error stream is the host's. */
int process_start(process_pipe *p, const char *command) {
  const char *const argv[] = {"/bin/sh", "-c", command, NULL};
  int child;
  int bad = spawn_socket(&p->fd, &child) ? 0 : errno;
  const spawn_order o = {
      .argv = argv, .leads = true, .nfd = 3, .fd = {child, child, SPAWN_SAME}};
  if (!bad) bad = spawn_start(&o, &p->pid);
  if (child >= 0) close(child);
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

void process_end(process_pipe *p, double patience, char *how, size_t n) {
  if (n) *how = '\0';
  if (p->fd >= 0) close(p->fd);
  p->fd = -1;
  str_clear(&p->in);
  if (!p->pid) return;
  bool by_itself = await_end(p->pid, patience);
  kill(-p->pid, SIGKILL);
  int status = spawn_reap(p->pid);
  p->pid = 0;
  if (!n) return;
  if (!by_itself)
    snprintf(how, n, "closed its streams");
  else if (status == -1)
    snprintf(how, n, "ended");
  else if (WIFSIGNALED(status))
    snprintf(how, n, "was killed by signal %d", WTERMSIG(status));
  else
    snprintf(how, n, "ended with status %d", WEXITSTATUS(status));
}

void process_free(process_pipe *p) {
  process_end(p, 1, NULL, 0);
  str_free(&p->in);
}
