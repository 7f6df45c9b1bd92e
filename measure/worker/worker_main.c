/* SPDX-License-Identifier: Apache-2.0
 * tessera-worker: compiles and runs candidates for a pool, so that a crash or
 * hang of a candidate ends this process and not the host's.
 *
 *   tessera-worker [EXTERNS]
 *
 * File descriptor 3 is a socket that speaks frames (measure/worker/frame.h).
 * EXTERNS, or where it is absent the environment's TESSERA_EXTERNS, is a
 * shared object whose functions programs may call by name.  The worker ends
 * when the other end of the socket does.
 *
 * This is a program, not the library: what its signal handler needs is
 * static. */
#include "backends/backend.h"
#include "measure/bench.h"
#include "measure/externs.h"
#include "measure/worker/frame.h"
#include "measure/worker/sandbox.h"
#include "measure/worker/wire.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SOCKET = 3 };

static job_state *state;

/* ---- sending ------------------------------------------------------------ */

/* Safe in a signal handler. */
static bool send_bytes(const void *data, size_t n) {
  const char *at = data;
  while (n > 0) {
    ssize_t put = send(SOCKET, at, n, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += put;
    n -= (size_t)put;
  }
  return true;
}

static bool send_frame(frame_type type, const void *body, size_t n) {
  unsigned char head[FRAME_HEAD];
  frame_put_head(head, type, body, n);
  return send_bytes(head, sizeof head) && send_bytes(body, n);
}

/* Frees the body. */
static bool send_body(frame_type type, strbuf *body) {
  bool ok = !body->bad && send_frame(type, body->n ? body->v : "", body->n);
  str_free(body);
  return ok;
}

/* ---- crashes and fatal errors ------------------------------------------- */

/* Finds the tensor whose memory or guards contain the faulting address. */
static void find_hit(wire_crash *c) {
  const bench *b = state ? job_state_bench(state) : NULL;
  for (uint32_t i = 0; b && i < b->n; i++) {
    size_t distance = 0;
    guard_hit hit =
        guard_find(&b->param[i].mem, (uintptr_t)c->address, &distance);
    if (hit == GUARD_MISSED) continue;
    c->hit = hit;
    c->distance = distance;
    const char *name = b->param[i].name;
    for (size_t k = 0; name[k] && k + 1 < sizeof c->name; k++)
      c->name[k] = name[k];
    return;
  }
}

/* Sends a message about the signal, then restores the default action. */
static void on_crash(int sig, siginfo_t *info, void *context) {
  (void)context;
  unsigned char body[WIRE_CRASH];
  wire_crash c = {.signal = (uint32_t)sig};
  if (sig == SIGSEGV || sig == SIGBUS) {
    c.address = (uint64_t)(uintptr_t)info->si_addr;
    find_hit(&c);
  }
  signal(sig, SIG_DFL);
  send_frame(FRAME_CRASH, body, wire_write_crash(body, &c));
  raise(sig);
}

static void on_fatal(const char *message) {
  send_frame(FRAME_FATAL, message, strlen(message));
}

/* Installs handlers on an alternate stack, since the normal one may be used
 * up. */
static void catch_crashes(void) {
  static char stack[64 << 10];
  static const int signals[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                                SIGABRT, SIGTRAP, SIGSYS};
  stack_t s = {.ss_sp = stack, .ss_size = sizeof stack};
  struct sigaction a = {.sa_sigaction = on_crash,
                        .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND};
  sigaltstack(&s, NULL);
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
    sigaction(signals[i], &a, NULL);
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

/* Ends the worker when the host does, even in the middle of a kernel. */
static void *watch_host(void *ud) {
  struct pollfd p = {.fd = SOCKET, .events = POLLRDHUP};
  (void)ud;
  for (;;)
    if (poll(&p, 1, -1) > 0 && p.revents & (POLLRDHUP | POLLHUP | POLLERR))
      _exit(0);
}

static void start_watching(void) {
  pthread_t id;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  if (pthread_create(&id, NULL, watch_host, NULL) == 0) pthread_detach(id);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- receiving ---------------------------------------------------------- */

static bool receive_bytes(void *data, size_t n) {
  char *at = data;
  while (n > 0) {
    ssize_t got = recv(SOCKET, at, n, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    n -= (size_t)got;
  }
  return true;
}

/* Allocates as bytes arrive, not as the header promises. */
static bool receive_body(const frame_head *h, strbuf *body) {
  static char chunk[256 << 10];
  str_clear(body);
  for (uint64_t left = h->length; left > 0;) {
    size_t n = left < sizeof chunk ? (size_t)left : sizeof chunk;
    if (!receive_bytes(chunk, n)) return false;
    str_write(body, chunk, n);
    if (body->bad) return false;
    left -= n;
  }
  return frame_body_fits(h, body->n ? body->v : "");
}

/* ---- jobs --------------------------------------------------------------- */

static void send_phase(void *ud, job_phase phase) {
  strbuf body;
  if (phase == JOB_IDLE) return;
  str_init(&body, ud);
  wire_write_phase(&body, phase);
  send_body(FRAME_PHASE, &body);
}

static bool do_put(const strbuf *in) {
  wire_put p;
  err_state e;
  if (!wire_read_put(in->v, in->n, &p)) return false;
  job_put(state, (job_thing)p.what, p.key, p.bytes, &e);
  return true;
}

static bool do_build(mem_heap *heap, arena *scratch, const strbuf *in) {
  job_build r;
  measure_build out;
  strbuf body;
  if (!wire_read_build(in->v, in->n, scratch, &r)) return false;
  job_do_build(state, &r, &out);
  str_init(&body, heap);
  wire_write_built(&body, &out);
  measure_build_free(&out);
  return send_body(FRAME_BUILT, &body);
}

static bool do_reference(mem_heap *heap, const strbuf *in) {
  job_bench r;
  job_reference out;
  strbuf body;
  if (!wire_read_bench(in->v, in->n, &r)) return false;
  job_do_reference(state, &r, &out);
  str_init(&body, heap);
  wire_write_reference(&body, &out);
  job_reference_free(&out);
  return send_body(FRAME_REFERRED, &body);
}

static bool do_run(mem_heap *heap, const strbuf *in) {
  static job_run r;
  static measure_result out[JOB_MAX_KERNELS];
  job_times times;
  strbuf body;
  if (!wire_read_run(in->v, in->n, &r)) return false;
  job_do_run(state, &r, out, &times);
  str_init(&body, heap);
  wire_write_ran(&body, r.n, out, &times);
  for (uint32_t i = 0; i < r.n; i++) measure_result_free(&out[i]);
  return send_body(FRAME_RAN, &body);
}

static bool do_call(mem_heap *heap, const strbuf *in) {
  static job_call r;
  measure_result out;
  strbuf body, contents;
  if (!wire_read_call(in->v, in->n, &r)) return false;
  str_init(&contents, heap);
  job_do_call(state, &r, &out, &contents);
  str_init(&body, heap);
  wire_write_called(&body, &out, &contents);
  measure_result_free(&out);
  str_free(&contents);
  return send_body(FRAME_CALLED, &body);
}

/* There is no answer to what is dropped. */
static bool do_memory(mem_heap *heap, const strbuf *in) {
  job_memory r;
  measure_result out;
  strbuf body, contents;
  if (!wire_read_memory(in->v, in->n, &r)) return false;
  str_init(&contents, heap);
  str_init(&body, heap);
  job_do_memory(state, &r, &out, &contents);
  if (r.op != JOB_MEMORY_FREE) wire_write_called(&body, &out, &contents);
  measure_result_free(&out);
  str_free(&contents);
  if (r.op != JOB_MEMORY_FREE) return send_body(FRAME_CALLED, &body);
  str_free(&body);
  return true;
}

typedef struct server {
  mem_heap heap;
  arena scratch;
  strbuf in;
  frame_head head;
} server;

static bool do_frame(server *s) {
  switch (s->head.type) {
  case FRAME_PUT: return do_put(&s->in);
  case FRAME_BUILD: return do_build(&s->heap, &s->scratch, &s->in);
  case FRAME_REFERENCE: return do_reference(&s->heap, &s->in);
  case FRAME_RUN: return do_run(&s->heap, &s->in);
  case FRAME_CALL: return do_call(&s->heap, &s->in);
  case FRAME_MEMORY: return do_memory(&s->heap, &s->in);
  default: return false;
  }
}

static tess_status serve_one(void *ud) {
  server *s = ud;
  bool ok = do_frame(s);
  arena_reset(&s->scratch);
  return ok ? TESS_OK : TESS_INFRA;
}

/* Serves requests until the host closes the socket or sends an invalid one. */
static int serve_host(server *s) {
  unsigned char head[FRAME_HEAD];
  while (receive_bytes(head, sizeof head)) {
    if (!frame_get_head(head, &s->head)) return 3;
    if (!receive_body(&s->head, &s->in)) return 3;
    if (mem_protect(&s->heap, serve_one, s) != TESS_OK) return 3;
  }
  return 0;
}

/* ---- the start ---------------------------------------------------------- */

static bool send_hello(mem_heap *heap, const char *problem) {
  wire_hello h = {problem ? TESS_INFRA : TESS_OK, problem ? problem : "",
                  tess_version()};
  strbuf body;
  str_init(&body, heap);
  wire_write_hello(&body, &h);
  return send_body(FRAME_HELLO, &body);
}

int main(int argc, char **argv) {
  server s;
  const char *problem = NULL;
  mem_heap_init(&s.heap, mem_default_allocator, 0);
  arena_init(&s.scratch, &s.heap);
  str_init(&s.in, &s.heap);
  if (argc > 3) return 2;
  catch_crashes();
  backend_on_fatal(on_fatal);
  start_watching();
  problem = externs_load(argc > 1 && *argv[1] ? argv[1] : NULL);
  const char *unable;
  if (argc == 3 && !sandbox_enter(&unable)) problem = unable;
  job_hooks hooks = {send_phase, &s.heap, true};
  state = job_state_new(mem_default_allocator, hooks);
  if (!state) problem = "out of memory";
  if (!send_hello(&s.heap, problem) || problem) return 2;
  int status = serve_host(&s);
  job_state_free(state);
  str_free(&s.in);
  arena_free(&s.scratch);
  return status;
}
