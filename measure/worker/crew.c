/* SPDX-License-Identifier: Apache-2.0
 * The scheduler of jobs over worker processes: assigns jobs, polls sockets,
 * enforces the phases' deadlines, and retries. */
#include "base/clock.h"
#include "measure/worker/crew.h"
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum {
  NOBODY = -1,
  TRIES = 2,
  MUTE = 4, /* consecutive starts without a handshake until none is tried */
  DEFAULT_RECYCLE = 1000,
  CANCEL_MS = 50 /* interval of polling the cancel flag */
};

/* A worker's state. */
typedef struct slot {
  worker *w;
  int64_t job;  /* or NOBODY */
  double until; /* deadline of its phase */
  double busy_since;
} slot;

struct crew {
  measure_pool *pool;
  crew_work *work;
  worker *workers;
  slot *places;
  uint32_t n;
  uint32_t next, done; /* jobs handed out for the first time; finished */
  uint32_t end;        /* of the jobs that are handed out */
  VEC(uint32_t) again; /* to be handed out again */
  uint8_t *tries;      /* of each job */
  struct pollfd *poll;
  double busy; /* seconds, of all workers */
};

double crew_patience(const measure_pool *pool) {
  enum { PATIENCE = 60 };
  return pool->config.patience > 0 ? pool->config.patience : PATIENCE;
}

/* A worker sends its hello as soon as it runs. */
static double handshake_timeout(const measure_pool *pool) {
  enum { PATIENCE = 30 };
  return pool->config.patience > 0 ? pool->config.patience : PATIENCE;
}

const char *measure_pool_unresponsive(const measure_pool *pool) {
  return pool->silent >= MUTE ? pool->mute : NULL;
}

tess_status measure_report_unresponsive(const measure_pool *pool,
                                        err_state *e) {
  const char *mute = measure_pool_unresponsive(pool);
  if (!mute) return TESS_OK;
  if (mute == pool->via)
    return err_set(e, TESS_INFRA,
                   "'%s' was run and sent no handshake: it does not start "
                   "tessera-run, or that program cannot run there",
                   mute);
  return err_set(e, TESS_INFRA,
                 "'%s' was started as the worker and sent no handshake: it is "
                 "not tessera-worker, or cannot run; set worker_path or "
                 "TESSERA_WORKER to the one of this version",
                 mute);
}

/* ---- one worker --------------------------------------------------------- */

static void set_phase(crew *c, slot *x, job_phase phase) {
  double limit = c->work->limit[phase];
  x->w->phase = phase;
  x->until = limit > 0 ? clock_now() + limit : INFINITY;
}

static uint32_t detach_job(crew *c, slot *x) {
  uint32_t job = (uint32_t)x->job;
  c->busy += clock_now() - x->busy_since;
  x->job = NOBODY;
  return job;
}

static void fail_job(crew *c, uint32_t job, tess_status s, const char *why) {
  c->work->fail(c->work, job, s, why);
  c->done++;
}

static void count_silent(crew *c, const worker *w, uint32_t n) {
  c->pool->silent += n;
  c->pool->mute = w->remote ? c->pool->via : c->pool->config.worker_path;
}

/* Ends the worker and gives its job the class s, or retries the job if it is
 * not the cause. */
static void discard_worker(crew *c, slot *x, tess_status s, const char *why) {
  if (!x->w->greeted) count_silent(c, x->w, 1);
  worker_end(x->w);
  if (x->job == NOBODY) return;
  uint32_t job = detach_job(c, x);
  if (s == TESS_INFRA) {
    c->pool->ledger.lost++;
    pool_log(c->pool, TESS_LOG_INFO, "measuring: %s", why);
    if (++c->tries[job] < TRIES && !c->work->is_stuck) {
      c->pool->ledger.retried++;
      vec_push(c->pool->heap, &c->again, job);
      return;
    }
  }
  fail_job(c, job, s, why);
}

/* A worker that never completed a handshake is not waited for again. */
static void handshake_timed_out(crew *c, slot *x) {
  char why[128];
  snprintf(why, sizeof why, "a worker took longer to answer than %g s",
           handshake_timeout(c->pool));
  if (!c->pool->greeted) count_silent(c, x->w, MUTE);
  discard_worker(c, x, TESS_INFRA, why);
}

static void phase_timed_out(crew *c, slot *x) {
  static const char *const what[] = {
      [JOB_IDLE] = "a worker took longer to answer",
      [JOB_BUILDING] = "compiling took longer",
      [JOB_PREPARING] = "preparing tensors took longer",
      [JOB_LOADING] = "loading a kernel took longer",
      [JOB_RUNNING] = "running took longer",
      [JOB_SAMPLING] = "running took longer",
      [JOB_CHECKING] = "comparing outputs took longer",
  };
  char why[128];
  if (!x->w->greeted) {
    handshake_timed_out(c, x);
    return;
  }
  job_phase phase = x->w->phase;
  bool its_own = phase == JOB_BUILDING || crew_is_running(phase);
  if (phase == JOB_PREPARING) c->work->is_stuck = true;
  if (phase == JOB_RUNNING) c->work->is_slow = true;
  snprintf(why, sizeof why, "%s than %g s", what[phase], c->work->limit[phase]);
  discard_worker(c, x, its_own ? TESS_TIMEOUT : TESS_INFRA, why);
}

/* ---- messages of workers ------------------------------------------------ */

/* That its system has no sandbox, for example. */
static bool note_greeting(measure_pool *pool, const char *text) {
  if (*text && !pool->noted)
    pool_log(pool, TESS_LOG_INFO, "the runner: %s", text);
  pool->noted = pool->noted || *text;
  return true;
}

static bool take_hello(crew *c, slot *x, const void *body, size_t n) {
  wire_hello h;
  if (!wire_read_hello(body, n, &h) || x->w->greeted) return false;
  x->w->greeted = c->pool->greeted = true;
  c->pool->silent = 0;
  c->pool->ledger.spawn += clock_now() - x->w->started;
  set_phase(c, x, JOB_IDLE);
  bool fits = !strcmp(h.version, tess_version());
  if (h.status == TESS_OK && fits) return note_greeting(c->pool, h.message);
  if (h.status != TESS_OK)
    str_printf(&x->w->fatal, "the worker cannot work: %s", h.message);
  else
    str_printf(&x->w->fatal,
               "the worker is of version %s, the library of %s: install both "
               "from one build",
               h.version, tess_version());
  return false;
}

static bool take_reply(crew *c, slot *x, const void *body, size_t n) {
  if (x->job == NOBODY) return false;
  if (!c->work->take(c->work, (uint32_t)x->job, x->w, body, n)) return false;
  detach_job(c, x);
  c->done++;
  x->w->jobs++;
  return true;
}

/* The worker did the job, and goes on. */
static bool take_refusal(crew *c, slot *x, const void *body, size_t n) {
  wire_refusal r;
  if (x->job == NOBODY || !wire_read_refused(body, n, &r)) return false;
  fail_job(c, detach_job(c, x), r.status, r.why);
  x->w->jobs++;
  return true;
}

/* Keeps LLVM's fatal error as one line. */
static void take_last_words(strbuf *out, const void *body, size_t n) {
  char line[512];
  str_clear(out);
  str_write(out, body, n);
  if (!str_get(out)) return;
  err_one_line(str_get(out), line, sizeof line);
  str_clear(out);
  str_puts(out, line);
}

/* Handles a frame; false: it is not a valid message of a worker. */
static bool take_frame(crew *c, slot *x, const frame_head *h) {
  const void *body = worker_body(x->w);
  size_t n = (size_t)h->length;
  job_phase phase;
  if (h->type == FRAME_HELLO) return take_hello(c, x, body, n);
  if (!x->w->greeted) return false;
  if (h->type == c->work->reply) return take_reply(c, x, body, n);
  switch (h->type) {
  case FRAME_PHASE:
    if (!wire_read_phase(body, n, &phase)) return false;
    set_phase(c, x, phase);
    return true;
  case FRAME_CRASH:
    return x->w->has_crash = wire_read_crash(body, n, &x->w->crash);
  case FRAME_FATAL: take_last_words(&x->w->fatal, body, n); return true;
  case FRAME_REFUSED: return take_refusal(c, x, body, n);
  default: return false;
  }
}

static void reject_worker(crew *c, slot *x) {
  const char *why = "a worker sent a malformed message";
  char text[512], words[128];
  worker_nonsense(x->w, words, sizeof words);
  if (x->w->fatal.n && str_get(&x->w->fatal)) {
    snprintf(text, sizeof text, "%s", str_get(&x->w->fatal));
    why = text;
  } else if (x->w->remote) {
    snprintf(text, sizeof text,
             "'%.200s' gave what is no message of tessera-run%s%s",
             c->pool->via, *words ? ": " : "", words);
    why = text;
  }
  discard_worker(c, x, TESS_INFRA, why);
}

/* What is no runner may end with a line that is shorter than a frame. */
static void worker_lost(crew *c, slot *x) {
  char why[512], words[8];
  worker_nonsense(x->w, words, sizeof words);
  if (x->w->remote && *words) {
    reject_worker(c, x);
    return;
  }
  bool greeted = x->w->greeted || x->w->remote;
  tess_status s = crew_judge(x->w, worker_kill(x->w), why, sizeof why);
  size_t at = strlen(why);
  if (!greeted)
    snprintf(why + at, sizeof why - at,
             ", before its handshake: worker_path or TESSERA_WORKER names the "
             "tessera-worker of this version, and it was '%s'",
             c->pool->config.worker_path);
  discard_worker(c, x, s, why);
}

static void read_frames(crew *c, slot *x) {
  frame_head head;
  double start = clock_now();
  for (bool more = true; more && x->w->pid;) {
    switch (worker_receive(x->w, &head)) {
    case WORKER_WAITING: more = false; break;
    case WORKER_GONE: worker_lost(c, x); return;
    case WORKER_NOMEM: mem_unwind_refused(c->pool->heap);
    case WORKER_BROKEN: reject_worker(c, x); return;
    case WORKER_FRAME:
      if (!take_frame(c, x, &head)) {
        reject_worker(c, x);
        return;
      }
      worker_drop_frame(x->w);
    }
  }
  c->pool->ledger.transfer += clock_now() - start;
}

/* ---- assigning jobs ----------------------------------------------------- */

static bool is_waiting(const crew *c) {
  return c->again.n > 0 || c->next < c->end;
}

/* Starts the slot's worker unless it runs; true: it runs. */
static bool ensure_running(crew *c, slot *x, err_state *e) {
  const measure_config *o = &c->pool->config;
  const worker_program how = pool_program(c->pool, x->w);
  uint32_t recycle = o->recycle ? o->recycle : DEFAULT_RECYCLE;
  if (x->w->pid && x->w->jobs >= recycle && !x->w->residents) worker_end(x->w);
  if (x->w->pid) return true;
  tess_status s = worker_start(x->w, &how, e);
  if (s == TESS_OK) c->pool->ledger.started++;
  return s == TESS_OK;
}

/* The job's message was not sent.  What is too long is the job's fault, and the
 * worker waits for another; memory that ran out ends the run. */
static void sending_failed(crew *c, slot *x, tess_status s) {
  char why[256];
  if (x->w->too_long) {
    frame_too_long(x->w->too_long, why, sizeof why);
    fail_job(c, detach_job(c, x), s, why);
    return;
  }
  if (s == TESS_NOMEM || s == TESS_LIMIT) mem_unwind(c->pool->heap, s);
  read_frames(c, x); /* it may have sent the cause */
  if (x->job != NOBODY) worker_lost(c, x);
}

static void assign_jobs(crew *c, slot *x) {
  err_state e;
  uint32_t job = c->again.n ? vec_pop(&c->again) : c->next++;
  if (measure_report_unresponsive(c->pool, &e)) {
    fail_job(c, job, TESS_INFRA, e.message);
    return;
  }
  x->job = job;
  x->busy_since = clock_now();
  if (!ensure_running(c, x, &e)) {
    detach_job(c, x);
    fail_job(c, job, TESS_INFRA, e.message);
    return;
  }
  set_phase(c, x, JOB_IDLE);
  if (!x->w->greeted) x->until = clock_now() + handshake_timeout(c->pool);
  x->w->too_long = 0;
  double start = clock_now();
  tess_status sent = c->work->send(c->work, job, x->w);
  c->pool->ledger.transfer += clock_now() - start;
  if (sent != TESS_OK) sending_failed(c, x, sent);
}

/* ---- the loop ----------------------------------------------------------- */

/* Shortens *until to the first deadline of a crew's workers. */
static void find_deadline(const crew *c, double *until) {
  for (uint32_t i = 0; i < c->n; i++)
    if (c->places[i].job != NOBODY) *until = fmin(*until, c->places[i].until);
}

static int poll_timeout(const crew *c, const crew *behind) {
  double now = clock_now(), until = INFINITY;
  find_deadline(c, &until);
  if (behind) find_deadline(behind, &until);
  int ms = c->pool->config.cancel ? CANCEL_MS : 10000;
  if (until - now < ms * 1e-3) ms = (int)(fmax(until - now, 0) * 1e3) + 1;
  return ms;
}

static uint32_t gather_busy(const crew *c, struct pollfd *to) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < c->n; i++)
    if (c->places[i].job != NOBODY)
      to[n++] = (struct pollfd){.fd = c->places[i].w->fd, .events = POLLIN};
  return n;
}

/* What the busy workers sent, in the order of gather_busy, and who is late. */
static void handle_busy(crew *c, const struct pollfd *from, bool ready) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < c->n; i++) {
    slot *x = &c->places[i];
    if (x->job == NOBODY) continue;
    if (ready && from[n].revents) read_frames(c, x);
    n++;
    if (x->job != NOBODY && clock_now() > x->until) phase_timed_out(c, x);
  }
}

static void poll_workers(crew *c, crew *behind) {
  uint32_t n = gather_busy(c, c->poll), m = 0;
  if (behind) m = gather_busy(behind, c->poll + n);
  if (!n && !m) return;
  int ready = poll(c->poll, n + m, poll_timeout(c, behind));
  handle_busy(c, c->poll, ready > 0);
  if (behind) handle_busy(behind, c->poll + n, ready > 0);
}

static void cancel_jobs(crew *c) {
  for (uint32_t i = 0; i < c->n; i++) {
    slot *x = &c->places[i];
    if (x->job == NOBODY) continue;
    uint32_t job = detach_job(c, x);
    worker_end(x->w);
    fail_job(c, job, TESS_CANCELLED, "cancelled");
  }
  c->end = c->work->n;
  while (is_waiting(c)) {
    uint32_t job = c->again.n ? vec_pop(&c->again) : c->next++;
    fail_job(c, job, TESS_CANCELLED, "cancelled");
  }
}

/* ---- building behind timing --------------------------------------------- */

/* A builder runs on the cores that are not timed on, or on any. */
static void confine(const crew *c, worker *w, bool yes) {
  cpu_set_t all;
  if (!w->pid || w->confined == yes) return;
  if (!yes && sched_getaffinity(0, sizeof all, &all)) return;
  sched_setaffinity(w->pid, sizeof all, yes ? &c->pool->others : &all);
  w->confined = yes;
}

/* Gives idle workers jobs, so that at most `most` of them are busy. */
static void hand_out(crew *c, uint32_t most, bool behind) {
  uint32_t busy = 0;
  for (uint32_t i = 0; i < c->n; i++) busy += c->places[i].job != NOBODY;
  for (uint32_t i = 0; i < c->n && busy < most && is_waiting(c); i++) {
    slot *x = &c->places[i];
    if (x->job != NOBODY) continue;
    assign_jobs(c, x);
    busy += x->job != NOBODY;
  }
  for (uint32_t i = 0; i < c->n; i++)
    if (c->places[i].job != NOBODY) confine(c, c->places[i].w, behind);
}

/* The crew that may build while c, another one, is at work. */
static crew *find_behind(const crew *c) {
  crew *b = c->pool->behind;
  return b && b != c && c->pool->spare ? b : NULL;
}

/* ---- the loop ----------------------------------------------------------- */

/* Whether all jobs below c->end are done. */
static bool is_done(const crew *c) {
  if (is_waiting(c)) return false;
  for (uint32_t i = 0; i < c->n; i++)
    if (c->places[i].job != NOBODY && c->places[i].job < c->end) return false;
  return true;
}

static tess_status run_crew(void *ud) {
  crew *c = ud, *behind = find_behind(c);
  while (!is_done(c)) {
    if (pool_is_cancelled(c->pool)) {
      cancel_jobs(c);
      return TESS_CANCELLED;
    }
    hand_out(c, c->n, false);
    if (behind) {
      behind->end = behind->work->n;
      hand_out(behind, c->pool->spare, true);
    }
    poll_workers(c, behind);
  }
  return TESS_OK;
}

tess_status crew_until(crew *c, uint32_t end) {
  double start = clock_now(), busy = c->busy;
  c->end = end < c->next ? c->next : end;
  tess_status s = mem_protect(c->pool->heap, run_crew, c);
  if (s == TESS_OK)
    c->pool->ledger.idle += c->n * (clock_now() - start) - (c->busy - busy);
  return s;
}

typedef struct opening {
  crew *c;
  measure_pool *pool;
  worker *workers;
  uint32_t n;
  crew_work *work;
} opening;

/* Room to poll the pool's builders, too. */
static size_t poll_bytes(const crew *c) {
  return (c->n + c->pool->nbuilders) * sizeof *c->poll;
}

static tess_status open_crew(void *ud) {
  opening *o = ud;
  mem_heap *heap = o->pool->heap;
  crew *c = o->c = mem_new(heap, crew);
  *c = (crew){.pool = o->pool,
              .work = o->work,
              .workers = o->workers,
              .n = o->n < o->work->n ? o->n : o->work->n};
  c->places = mem_resize(heap, NULL, 0, c->n * sizeof *c->places);
  for (uint32_t i = 0; i < c->n; i++)
    c->places[i] = (slot){.w = &c->workers[i], .job = NOBODY};
  c->poll = mem_resize(heap, NULL, 0, poll_bytes(c));
  c->tries = mem_resize(heap, NULL, 0, c->work->n);
  memset(c->tries, 0, c->work->n);
  vec_reserve(heap, &c->again, c->n);
  return TESS_OK;
}

tess_status crew_open(measure_pool *pool, worker *workers, uint32_t nworkers,
                      crew_work *work, crew **out) {
  opening o = {NULL, pool, workers, nworkers, work};
  tess_status s = mem_protect(pool->heap, open_crew, &o);
  if (s != TESS_OK) crew_close(o.c);
  *out = s == TESS_OK ? o.c : NULL;
  return s;
}

void crew_close(crew *c) {
  if (!c) return;
  mem_heap *heap = c->pool->heap;
  for (uint32_t i = 0; c->places && i < c->n; i++)
    if (c->places[i].job != NOBODY) worker_end(c->places[i].w);
  if (c->places) mem_free(heap, c->places, c->n * sizeof *c->places);
  if (c->poll) mem_free(heap, c->poll, poll_bytes(c));
  if (c->tries) mem_free(heap, c->tries, c->work->n);
  vec_free(heap, &c->again);
  mem_free(heap, c, sizeof *c);
}

/* When memory runs out, workers in the middle of a job are ended. */
tess_status crew_run(measure_pool *pool, worker *workers, uint32_t nworkers,
                     crew_work *work) {
  crew *c;
  tess_status s = crew_open(pool, workers, nworkers, work, &c);
  if (s == TESS_OK) s = crew_until(c, work->n);
  crew_close(c);
  return s;
}
