/* SPDX-License-Identifier: Apache-2.0
 * Threads: a parallel for over a range of indices, a mutex, a stop flag and a
 * timer that raises it.  Threads share nothing but the queue of indices. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Processes `item` on thread `thread` (0: the caller's); false requests that no
 * further items be started. */
typedef bool (*thread_fn)(void *ud, uint32_t item, uint32_t thread);

/* Parallel for with dynamic scheduling: calls fn(ud, i, t) once for each i in 0
 * .. n_items-1, items started in order, on up to n_threads threads (the
 * caller's is number 0), and joins them.  If the system provides fewer threads,
 * fewer are used.  Signals stay with the host's own threads.  True if every
 * item was processed and none requested a stop. */
bool thread_run(uint32_t n_threads, uint32_t n_items, thread_fn fn, void *ud);

/* How many threads this process may run at once (its CPU affinity). */
uint32_t thread_cpus(void);

typedef struct thread_mutex { pthread_mutex_t m; } thread_mutex;
void thread_mutex_init(thread_mutex *m);
void thread_mutex_free(thread_mutex *m);
void thread_lock(thread_mutex *m);
void thread_unlock(thread_mutex *m);

/* A request to stop: raised by anybody (a signal handler may), polled by the
 * work. */
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

/* A timer that raises a flag after a number of seconds unless it is cancelled:
 * it waits on a thread of its own, so that pollers of the flag need not read
 * the clock. */
typedef struct thread_alarm {
  thread_flag *flag;
  double seconds;
  pthread_t id;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool is_set, is_off;
  atomic_bool rang;
} thread_alarm;
/* False: the system provides no thread for it. */
bool thread_alarm_set(thread_alarm *a, double seconds, thread_flag *flag);
static inline bool thread_alarm_rang(const thread_alarm *a) {
  return atomic_load(&a->rang);
}
/* Cancels the timer: it does not fire afterwards; may be called again, and on a
 * zeroed one. */
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
