/* SPDX-License-Identifier: Apache-2.0
 * Threads: running a range of indices on several, a mutex, and a flag that
 * asks work to stop.  Threads share nothing but the queue of indices. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Does item `item` on thread `thread` (0: the caller's); false asks that no
 * further items be begun. */
typedef bool (*thread_fn)(void *ud, uint32_t item, uint32_t thread);

/* Calls fn(ud, i, t) once for each i in 0 .. n_items-1, items begun in
 * order, on up to n_threads threads of which the caller's is number 0, and
 * returns when all have ended.  Where the system gives fewer threads, fewer
 * do the work.  Signals are left to the host's own threads.  True if every
 * item was done and none asked to stop. */
bool thread_run(uint32_t n_threads, uint32_t n_items, thread_fn fn, void *ud);

/* How many threads this process may run at once (its CPU affinity). */
uint32_t thread_cpus(void);

typedef struct thread_mutex { pthread_mutex_t m; } thread_mutex;
void thread_mutex_init(thread_mutex *m);
void thread_mutex_free(thread_mutex *m);
void thread_lock(thread_mutex *m);
void thread_unlock(thread_mutex *m);

/* Raised by whoever wants work to stop (a signal handler may); polled by
 * those who do it. */
typedef struct thread_flag { atomic_bool raised; } thread_flag;
static inline void thread_flag_clear(thread_flag *f) {
  atomic_store_explicit(&f->raised, false, memory_order_release);
}
static inline void thread_flag_raise(thread_flag *f) {
  atomic_store_explicit(&f->raised, true, memory_order_release);
}
static inline bool thread_flag_is_raised(const thread_flag *f) {
  return atomic_load_explicit(&f->raised, memory_order_acquire);
}

/* Raises a flag when so many seconds have gone by, unless it was put off
 * before: from a thread of its own, so that whoever polls the flag need not
 * look at the clock. */
typedef struct thread_alarm {
  thread_flag *flag;
  double seconds;
  pthread_t id;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool is_set, is_off;
  atomic_bool rang;
} thread_alarm;
/* False: the system gives no thread for it. */
bool thread_alarm_set(thread_alarm *a, double seconds, thread_flag *flag);
static inline bool thread_alarm_rang(const thread_alarm *a) {
  return atomic_load(&a->rang);
}
/* From then on it does not ring; may be called again, and on a zeroed one. */
void thread_alarm_put_off(thread_alarm *a);

/* One function on a thread of its own. */
typedef struct thread_task {
  void (*fn)(void *ud);
  void *ud;
  pthread_t id;
  bool runs;
} thread_task;
/* Where the system gives no thread the caller's does it, before this
 * returns. */
void thread_task_start(thread_task *t, void (*fn)(void *ud), void *ud);
/* Waits for its end; nothing on a zeroed one, or a second time. */
void thread_task_join(thread_task *t);

#endif
