/* SPDX-License-Identifier: Apache-2.0
 * Finds, spawns and ends worker processes, and sends and receives frames. */
#include "base/clock.h"
#include "base/spawn.h"
#include "measure/worker/worker.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- where it is -------------------------------------------------------- */

static bool is_executable(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static tess_status take_named(const char *path, const char *by, char *out,
                              size_t n, err_state *e) {
  snprintf(out, n, "%s", path);
  if (is_executable(path)) return TESS_OK;
  return err_set(e, TESS_INFRA,
                 "the worker '%s', which %s names, is not an executable file",
                 path, by);
}

enum { MAX_PLACE = 4096, MAX_PLACES = 3 };

/* Candidate paths: as installed, as in a build tree, and as configured, for
 * programs elsewhere that are linked with the static library. */
static uint32_t list_places(char place[][MAX_PLACE]) {
  static const char *const beside[] = {TESS_LIBEXEC_FROM_LIB, "../libexec"};
  char here[MAX_PLACE];
  Dl_info info;
  uint32_t n = 0;
  bool known = dladdr((void *)(uintptr_t)worker_find, &info) &&
               realpath(info.dli_fname, here);
  const char *folder = known ? dirname(here) : NULL;
  for (size_t i = 0; known && i < sizeof beside / sizeof *beside; i++)
    if (i == 0 || strcmp(beside[i], beside[0]))
      snprintf(place[n++], MAX_PLACE, "%s/%s/tessera-worker", folder,
               beside[i]);
  snprintf(place[n++], MAX_PLACE, "%s/tessera-worker", TESS_LIBEXEC);
  return n;
}

static tess_status report_tried(uint32_t n, char place[][MAX_PLACE],
                                err_state *e) {
  char tried[sizeof e->message] = "";
  for (uint32_t i = 0, at = 0; i < n && at < sizeof tried; i++)
    at += (uint32_t)snprintf(tried + at, sizeof tried - at, "%s'%s'",
                             i ? ", " : "", place[i]);
  return err_set(e, TESS_INFRA,
                 "there is no worker: no executable file is at %.1700s; the "
                 "environment variable TESSERA_WORKER or the option "
                 "worker_path names another, and the option in_process does "
                 "without",
                 tried);
}

tess_status worker_find(const char *given, char *out, size_t n, err_state *e) {
  char place[MAX_PLACES][MAX_PLACE];
  if (given) return take_named(given, "the option worker_path", out, n, e);
  const char *named = secure_getenv("TESSERA_WORKER");
  if (named && *named) return take_named(named, "TESSERA_WORKER", out, n, e);
  uint32_t places = list_places(place);
  for (uint32_t i = 0; i < places; i++) {
    snprintf(out, n, "%s", place[i]);
    if (is_executable(out)) return TESS_OK;
  }
  return report_tried(places, place, e);
}

/* ---- starting ----------------------------------------------------------- */

static bool open_channels(worker *w, int *child) {
  if (!spawn_socket(&w->fd, child)) return false;
  w->log = spawn_move_up(memfd_create("tessera-worker", MFD_CLOEXEC));
  if (w->log >= 0) fcntl(w->log, F_SETFL, O_APPEND);
  return w->log >= 0;
}

static void close_channels(worker *w) {
  if (w->fd >= 0) close(w->fd);
  if (w->log >= 0) close(w->log);
  w->fd = w->log = -1;
}

enum { MOST_WORDS = 4 };

/* The words of the command line. */
static void list_words(const worker_program *how,
                       const char *argv[MOST_WORDS]) {
  memset((void *)argv, 0, MOST_WORDS * sizeof *argv);
  if (how->via) {
    argv[0] = "/bin/sh";
    argv[1] = "-c";
    argv[2] = how->via;
    return;
  }
  argv[0] = how->path;
  argv[1] = how->externs;
  if (how->sandboxed && !how->externs) argv[1] = "";
  if (how->sandboxed) argv[2] = "sandbox";
}

/* A worker has its socket as the number 3, what starts a runner has it as its
 * standard streams. */
static int spawn_worker(worker *w, const worker_program *how, int child) {
  const char *argv[MOST_WORDS];
  spawn_order o = {.argv = argv,
                   .leads = true,
                   .nfd = 4,
                   .fd = {SPAWN_NULL, SPAWN_NULL, w->log, child}};
  list_words(how, argv);
  if (w->remote) {
    o.nfd = 3;
    o.fd[0] = o.fd[1] = child;
  }
  return spawn_start(&o, &w->pid);
}

void worker_init(worker *w, mem_heap *heap) {
  *w = (worker){.heap = heap, .fd = -1, .log = -1};
  str_init(&w->in, heap);
  str_init(&w->fatal, heap);
}

tess_status worker_start(worker *w, const worker_program *how, err_state *e) {
  int child = -1, bad = 0;
  w->started = clock_now();
  w->remote = how->via != NULL;
  bool open = open_channels(w, &child);
  if (!open) bad = errno;
  if (open) bad = spawn_worker(w, how, child);
  if (child >= 0) close(child);
  if (!bad) return TESS_OK;
  close_channels(w);
  w->pid = 0;
  return err_set(e, TESS_INFRA, "cannot start the %s '%s': %s",
                 w->remote ? "runner" : "worker",
                 w->remote ? how->via : how->path, strerror(bad));
}

/* ---- ending ------------------------------------------------------------- */

/* A process that has already ended keeps its own status. */
int worker_kill(worker *w) {
  if (w->pid <= 0) return -1;
  kill(-w->pid, SIGKILL);
  kill(w->pid, SIGKILL);
  int status = spawn_reap(w->pid);
  w->pid = 0;
  return status;
}

void worker_end(worker *w) {
  worker_kill(w);
  close_channels(w);
  str_clear(&w->in);
  str_clear(&w->fatal);
  *w = (worker){
      .heap = w->heap, .fd = -1, .log = -1, .in = w->in, .fatal = w->fatal};
}

void worker_free(worker *w) {
  worker_end(w);
  str_free(&w->in);
  str_free(&w->fatal);
}

void worker_last_words(const worker *w, char *out, size_t n) {
  char tail[1024];
  out[0] = '\0';
  off_t size = w->log >= 0 ? lseek(w->log, 0, SEEK_END) : 0;
  off_t from = size > (off_t)sizeof tail ? size - (off_t)sizeof tail : 0;
  ssize_t got = size > 0 ? pread(w->log, tail, sizeof tail, from) : 0;
  while (got > 0 && tail[got - 1] == '\n') got--;
  ssize_t at = got;
  while (at > 0 && tail[at - 1] != '\n') at--;
  if (got > at) snprintf(out, n, "%.*s", (int)(got - at), tail + at);
}

void worker_nonsense(const worker *w, char *out, size_t n) {
  size_t k = 0;
  while (k < w->in.n && k + 1 < n && w->in.v[k] >= ' ' && w->in.v[k] <= '~')
    k++;
  bool ends =
      k == w->in.n || k + 1 == n || w->in.v[k] == '\n' || w->in.v[k] == '\r';
  snprintf(out, n, "%.*s", ends ? (int)k : 0, k ? w->in.v : "");
}

/* ---- frames ------------------------------------------------------------- */

/* A reader that takes nothing for that long is considered gone. */
enum { SEND_PATIENCE_MS = 20000 };

static bool send_all(int fd, const void *data, size_t n) {
  const char *at = data;
  while (n > 0) {
    ssize_t put = send(fd, at, n, MSG_NOSIGNAL);
    if (put > 0) {
      at += put;
      n -= (size_t)put;
      continue;
    }
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    if (put < 0 && errno != EAGAIN && errno != EINTR) return false;
    int ready = poll(&p, 1, SEND_PATIENCE_MS);
    if (ready == 0 || (ready < 0 && errno != EINTR)) return false;
  }
  return true;
}

tess_status worker_send(worker *w, frame_type type, const strbuf *body) {
  unsigned char head[FRAME_HEAD];
  if (body->bad) return str_status(body);
  if (body->n > FRAME_MAX) {
    w->too_long = body->n;
    return TESS_LIMIT;
  }
  frame_put_head(head, type, body->n ? body->v : "", body->n);
  bool sent =
      send_all(w->fd, head, sizeof head) && send_all(w->fd, body->v, body->n);
  return sent ? TESS_OK : TESS_INFRA;
}

/* Reads until the buffer has `want` bytes; WORKER_FRAME: it has. */
static worker_event fill_up(worker *w, size_t want) {
  char chunk[64 << 10];
  while (w->in.n < want) {
    size_t room = want - w->in.n;
    ssize_t got =
        recv(w->fd, chunk, room < sizeof chunk ? room : sizeof chunk, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return WORKER_WAITING;
    if (got <= 0) return WORKER_GONE;
    str_write(&w->in, chunk, (size_t)got);
    if (w->in.bad) return WORKER_NOMEM;
  }
  return WORKER_FRAME;
}

worker_event worker_receive(worker *w, frame_head *head) {
  worker_event e = fill_up(w, FRAME_HEAD);
  if (e != WORKER_FRAME) return e;
  if (!frame_get_head((const unsigned char *)w->in.v, head))
    return WORKER_BROKEN;
  e = fill_up(w, FRAME_HEAD + (size_t)head->length);
  if (e != WORKER_FRAME) return e;
  return frame_body_fits(head, worker_body(w)) ? WORKER_FRAME : WORKER_BROKEN;
}

void worker_drop_frame(worker *w) { str_clear(&w->in); }
