/* SPDX-License-Identifier: Apache-2.0
 * Parallel for over a queue of indices; a timer thread. */
#include "base/thread.h"

#include <sched.h>
#include <signal.h>
#include <time.h>

enum { MAX_THREADS = 256 };

typedef struct crew {
  thread_fn fn;
  void *ud;
  uint32_t n_items;
  atomic_uint_fast64_t next;
  atomic_bool stopped;
} crew;

typedef struct member {
  crew *crew;
  uint32_t index;
  pthread_t id;
} member;

static void *thread_main(void *ud) {
  member *m = ud;
  crew *c = m->crew;
  while (!atomic_load(&c->stopped)) {
    uint64_t i = atomic_fetch_add(&c->next, 1);
    if (i >= c->n_items) break;
    if (!c->fn(c->ud, (uint32_t)i, m->index)) atomic_store(&c->stopped, true);
  }
  return NULL;
}

/* Starts threads 1 .. n-1 with all signals blocked; returns the number that
 * run, including the caller's. */
static uint32_t start_threads(member *members, uint32_t n) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  uint32_t hired = 1;
  while (hired < n && pthread_create(&members[hired].id, NULL, thread_main,
                                     &members[hired]) == 0)
    hired++;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return hired;
}

bool thread_run(uint32_t n_threads, uint32_t n_items, thread_fn fn, void *ud) {
  crew c = {.fn = fn, .ud = ud, .n_items = n_items};
  member members[MAX_THREADS];
  uint32_t n = n_threads < n_items ? n_threads : n_items;
  n = n > MAX_THREADS ? MAX_THREADS : n;
  for (uint32_t i = 0; i < n || i < 1; i++)
    members[i] = (member){.crew = &c, .index = i};
  uint32_t hired = start_threads(members, n);
  thread_main(&members[0]);
  for (uint32_t i = 1; i < hired; i++) pthread_join(members[i].id, NULL);
  return !atomic_load(&c.stopped);
}

/* ---- timers ------------------------------------------------------------- */

static struct timespec deadline_after(double seconds) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  const double most = 1e9; /* some 30 years */
  if (seconds > most) seconds = most;
  t.tv_sec += (time_t)seconds;
  t.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
  t.tv_sec += t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}

static void *wait_and_ring(void *ud) {
  thread_alarm *a = ud;
  const struct timespec end = deadline_after(a->seconds);
  int late = 0;
  pthread_mutex_lock(&a->lock);
  while (!a->is_off && !late)
    late = pthread_cond_timedwait(&a->changed, &a->lock, &end);
  if (!a->is_off) {
    atomic_store(&a->rang, true);
    thread_flag_raise(a->flag);
  }
  pthread_mutex_unlock(&a->lock);
  return NULL;
}

bool thread_alarm_set(thread_alarm *a, double seconds, thread_flag *flag) {
  sigset_t all, before;
  pthread_condattr_t attr;
  *a = (thread_alarm){.flag = flag, .seconds = seconds};
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&a->changed, &attr);
  pthread_condattr_destroy(&attr);
  pthread_mutex_init(&a->lock, NULL);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  a->is_set = pthread_create(&a->id, NULL, wait_and_ring, a) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (a->is_set) return true;
  pthread_cond_destroy(&a->changed);
  pthread_mutex_destroy(&a->lock);
  return false;
}

void thread_alarm_put_off(thread_alarm *a) {
  if (!a->is_set) return;
  pthread_mutex_lock(&a->lock);
  a->is_off = true;
  pthread_cond_signal(&a->changed);
  pthread_mutex_unlock(&a->lock);
  pthread_join(a->id, NULL);
  pthread_cond_destroy(&a->changed);
  pthread_mutex_destroy(&a->lock);
  a->is_set = false;
}

/* ---- processors and mutexes --------------------------------------------- */

uint32_t thread_cpus(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  int n = CPU_COUNT(&set);
  return n > 0 ? (uint32_t)n : 1;
}

void thread_mutex_init(thread_mutex *m) { pthread_mutex_init(&m->m, NULL); }
void thread_mutex_free(thread_mutex *m) { pthread_mutex_destroy(&m->m); }
void thread_lock(thread_mutex *m) { pthread_mutex_lock(&m->m); }
void thread_unlock(thread_mutex *m) { pthread_mutex_unlock(&m->m); }

/* ---- one task ----------------------------------------------------------- */

static void *run_task(void *ud) {
  thread_task *t = ud;
  t->fn(t->ud);
  return NULL;
}

void thread_task_start(thread_task *t, void (*fn)(void *ud), void *ud) {
  sigset_t all, before;
  *t = (thread_task){.fn = fn, .ud = ud};
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  t->runs = pthread_create(&t->id, NULL, run_task, t) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!t->runs) fn(ud);
}

void thread_task_join(thread_task *t) {
  if (!t->runs) return;
  pthread_join(t->id, NULL);
  t->runs = false;
}
