/* SPDX-License-Identifier: Apache-2.0
 * Receives a pool's requests, has them performed, and answers; reports the
 * signal that ends this process. */
#include "measure/worker/serve.h"
#include "measure/bench.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* For the handler of signals and the thread that watches the host. */
static server *serving;

/* ---- sending ------------------------------------------------------------ */

/* Safe in a signal handler. */
static bool send_bytes(int fd, const void *data, size_t n) {
  const char *at = data;
  while (n > 0) {
    ssize_t put = write(fd, at, n);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += put;
    n -= (size_t)put;
  }
  return true;
}

bool serve_send(server *s, frame_type type, const void *body, size_t n) {
  unsigned char head[FRAME_HEAD];
  frame_put_head(head, type, body, n);
  return send_bytes(s->out, head, sizeof head) && send_bytes(s->out, body, n);
}

bool serve_send_body(server *s, frame_type type, strbuf *body) {
  bool ok = !body->bad && serve_send(s, type, body->n ? body->v : "", body->n);
  str_free(body);
  return ok;
}

static bool send_refusal(server *s, tess_status status, const char *why) {
  strbuf body;
  wire_refusal r = {status, why};
  str_init(&body, &s->heap);
  wire_write_refused(&body, &r);
  return serve_send_body(s, FRAME_REFUSED, &body);
}

bool serve_answer(server *s, frame_type type, strbuf *body) {
  char why[256] = "the worker has no memory for the result";
  tess_status status = body->n > FRAME_MAX ? TESS_LIMIT : str_status(body);
  if (status == TESS_OK) return serve_send_body(s, type, body);
  if (!body->bad) frame_too_long(body->n, why, sizeof why);
  str_free(body);
  return send_refusal(s, status, why);
}

/* ---- crashes ------------------------------------------------------------ */

/* Finds the tensor whose memory or guards contain the faulting address. */
static void find_hit(wire_crash *c) {
  const bench *b = serving->state ? job_state_bench(serving->state) : NULL;
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
  serve_send(serving, FRAME_CRASH, body, wire_write_crash(body, &c));
  raise(sig);
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
  struct pollfd p = {.fd = serving->in, .events = POLLRDHUP};
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

static bool receive_bytes(int fd, void *data, size_t n) {
  char *at = data;
  while (n > 0) {
    ssize_t got = read(fd, at, n);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    n -= (size_t)got;
  }
  return true;
}

/* Allocates as bytes arrive, not as the header promises. */
static bool receive_body(server *s) {
  const frame_head *h = &s->head;
  strbuf *body = &s->body;
  static char chunk[256 << 10];
  str_clear(body);
  for (uint64_t left = h->length; left > 0;) {
    size_t n = left < sizeof chunk ? (size_t)left : sizeof chunk;
    if (!receive_bytes(s->in, chunk, n)) return false;
    str_write(body, chunk, n);
    if (body->bad) return false;
    left -= n;
  }
  return frame_body_fits(h, body->n ? body->v : "");
}

/* ---- jobs --------------------------------------------------------------- */

static void send_phase(void *ud, job_phase phase) {
  server *s = ud;
  strbuf body;
  if (phase == JOB_IDLE) return;
  str_init(&body, &s->heap);
  wire_write_phase(&body, phase);
  serve_send_body(s, FRAME_PHASE, &body);
}

static bool do_put(server *s) {
  wire_put p;
  err_state e;
  if (!wire_read_put(s->body.v, s->body.n, &p)) return false;
  job_put(s->state, (job_thing)p.what, p.key, p.bytes, &e);
  return true;
}

static bool do_run(server *s) {
  static job_run r;
  static measure_result out[JOB_MAX_KERNELS];
  job_times times;
  strbuf body;
  if (!wire_read_run(s->body.v, s->body.n, &r)) return false;
  job_do_run(s->state, &r, out, &times);
  str_init(&body, &s->heap);
  wire_write_ran(&body, r.n, out, &times);
  for (uint32_t i = 0; i < r.n; i++) measure_result_free(&out[i]);
  return serve_answer(s, FRAME_RAN, &body);
}

static bool do_call(server *s) {
  static job_call r;
  measure_result out;
  strbuf body, contents;
  if (!wire_read_call(s->body.v, s->body.n, &r)) return false;
  str_init(&contents, &s->heap);
  job_do_call(s->state, &r, &out, &contents);
  str_init(&body, &s->heap);
  wire_write_called(&body, &out, &contents);
  measure_result_free(&out);
  str_free(&contents);
  return serve_answer(s, FRAME_CALLED, &body);
}

/* There is no answer to what is dropped. */
static bool do_memory(server *s) {
  job_memory r;
  measure_result out;
  strbuf body, contents;
  if (!wire_read_memory(s->body.v, s->body.n, &r)) return false;
  str_init(&contents, &s->heap);
  str_init(&body, &s->heap);
  job_do_memory(s->state, &r, &out, &contents);
  if (r.op != JOB_MEMORY_FREE) wire_write_called(&body, &out, &contents);
  measure_result_free(&out);
  str_free(&contents);
  if (r.op != JOB_MEMORY_FREE) return serve_answer(s, FRAME_CALLED, &body);
  str_free(&body);
  return true;
}

static bool do_frame(server *s) {
  switch (s->head.type) {
  case FRAME_PUT: return do_put(s);
  case FRAME_RUN: return do_run(s);
  case FRAME_CALL: return do_call(s);
  case FRAME_MEMORY: return do_memory(s);
  default: return s->more && s->more(s);
  }
}

static tess_status serve_one(void *ud) {
  server *s = ud;
  bool ok = do_frame(s);
  arena_reset(&s->scratch);
  return ok ? TESS_OK : TESS_INFRA;
}

static int serve_requests(server *s) {
  unsigned char head[FRAME_HEAD];
  while (receive_bytes(s->in, head, sizeof head)) {
    if (!frame_get_head(head, &s->head)) return 3;
    if (!receive_body(s)) return 3;
    if (mem_protect(&s->heap, serve_one, s) != TESS_OK) return 3;
  }
  return 0;
}

/* ---- the whole ---------------------------------------------------------- */

void serve_begin(server *s, int in, int out) {
  *s = (server){.in = in, .out = out};
  mem_heap_init(&s->heap, mem_default_allocator, 0);
  arena_init(&s->scratch, &s->heap);
  str_init(&s->body, &s->heap);
  serving = s;
  signal(SIGPIPE, SIG_IGN);
  catch_crashes();
  start_watching();
}

static bool send_hello(server *s, const char *problem, const char *note) {
  wire_hello h = {problem ? TESS_INFRA : TESS_OK, problem ? problem : note,
                  tess_version()};
  strbuf body;
  str_init(&body, &s->heap);
  wire_write_hello(&body, &h);
  return serve_send_body(s, FRAME_HELLO, &body);
}

int serve_host(server *s, const char *problem, const char *note) {
  s->state = job_state_new(mem_default_allocator,
                           (job_hooks){send_phase, s, .is_worker = true});
  if (!s->state) problem = "out of memory";
  if (!send_hello(s, problem, note) || problem) return 2;
  int status = serve_requests(s);
  job_state *state = s->state;
  s->state = NULL;
  job_state_free(state);
  str_free(&s->body);
  arena_free(&s->scratch);
  return status;
}
