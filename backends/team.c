/* SPDX-License-Identifier: Apache-2.0
 * Parallel regions on a team: joining by compare-and-swap, bounded spinning,
 * futex waits. */
#include "backends/team.h"

#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/syscall.h>
#include <tessera/tessera.h>
#include <time.h>
#include <unistd.h>

/* The state of a team's region is a word: how many helpers may still join
 * (SEAT each), whether the team ends, and how many helpers are in. */
#define SEAT 0x10000u
#define ENDING 0x8000u
#define SEATS(s) ((s) >> 16)
#define INSIDE(s) ((s) & (ENDING - 1))

/* Whom a futex wakes: they wait on the same word. */
enum { WAKE_HELPER = 1, WAKE_OWNER = 2 };

/* Long enough for the next launch of a kernel in a loop, far shorter than the
 * time slice of a thread that waits for the core. */
static const int64_t default_spin = 30 * 1000;
static const int64_t active_spin = 100 * 1000 * 1000;

static _Thread_local bool in_region;

int tess_in_parallel(void) { return in_region; }

/* ---- waiting ------------------------------------------------------------ */

static int64_t nanoseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void pause_core(void) {
#if defined __x86_64__ || defined __i386__
  __builtin_ia32_pause();
#elif defined __aarch64__
  __asm__ volatile("yield");
#endif
}

static void futex_wait(_Atomic uint32_t *word, uint32_t is, uint32_t who) {
  syscall(SYS_futex, (uint32_t *)word, FUTEX_WAIT_BITSET_PRIVATE, is, NULL,
          NULL, who);
}

static void futex_wake(_Atomic uint32_t *word, int most, uint32_t who) {
  syscall(SYS_futex, (uint32_t *)word, FUTEX_WAKE_BITSET_PRIVATE, most, NULL,
          NULL, who);
}

static bool calls_helpers(uint32_t state) { return state >= ENDING; }
static bool is_over(uint32_t state) { return INSIDE(state) == 0; }

/* Spins until the state is as wanted; false: the time is over. */
static bool spin_until(team *t, bool (*wanted)(uint32_t state)) {
  enum { POLLS = 16 }; /* between looks at the clock */
  if (wanted(atomic_load(&t->state))) return true;
  if (t->spin == 0) return false;
  int64_t end = nanoseconds() + t->spin;
  do {
    for (int i = 0; i < POLLS; i++) {
      if (wanted(atomic_load_explicit(&t->state, memory_order_acquire)))
        return true;
      pause_core();
    }
  } while (nanoseconds() < end);
  return false;
}

/* ---- helpers ------------------------------------------------------------ */

static void await_region(team *t) {
  while (!spin_until(t, calls_helpers)) {
    atomic_fetch_add(&t->sleepers, 1);
    uint32_t s = atomic_load(&t->state);
    if (!calls_helpers(s)) futex_wait(&t->state, s, WAKE_HELPER);
    atomic_fetch_sub(&t->sleepers, 1);
    if (calls_helpers(atomic_load(&t->state))) return;
  }
}

/* Takes a seat of the region; false: there is none left. */
static bool join_region(team *t) {
  uint32_t s = atomic_load(&t->state);
  while (SEATS(s) > 0)
    if (atomic_compare_exchange_weak(&t->state, &s, s - SEAT + 1)) return true;
  return false;
}

/* Since fn returned no work is left: nobody need join any more. */
static void leave_region(team *t) {
  atomic_fetch_and(&t->state, SEAT - 1);
  uint32_t s = atomic_fetch_sub(&t->state, 1) - 1;
  if (is_over(s) && atomic_load(&t->owner_sleeps))
    futex_wake(&t->state, 1, WAKE_OWNER);
}

static void *helper_main(void *ud) {
  team *t = ud;
  in_region = true;
  for (;;) {
    await_region(t);
    if (join_region(t)) {
      t->fn(t->data);
      leave_region(t);
    } else if (atomic_load(&t->state) & ENDING) {
      return NULL;
    }
  }
}

/* Starts helpers, which leave signals to the host's own threads. */
static void start_helpers(team *t, uint32_t n) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  t->pid = getpid();
  while (t->n < n && !t->failed)
    if (pthread_create(&t->id[t->n], NULL, helper_main, t))
      t->failed = true;
    else
      t->n++;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- the owner of a region ---------------------------------------------- */

static void open_region(team *t, uint32_t seats) {
  atomic_store(&t->state, seats * SEAT);
  uint32_t asleep = atomic_load(&t->sleepers);
  if (asleep)
    futex_wake(&t->state, (int)(asleep < seats ? asleep : seats), WAKE_HELPER);
}

/* Waits for the helpers that are in it.  One of them may have lost its core to
 * another process, so that spinning for long would keep it from another. */
static void close_region(team *t) {
  atomic_fetch_and(&t->state, SEAT - 1);
  while (!spin_until(t, is_over)) {
    atomic_store(&t->owner_sleeps, true);
    uint32_t s = atomic_load(&t->state);
    if (!is_over(s)) futex_wait(&t->state, s, WAKE_OWNER);
    atomic_store(&t->owner_sleeps, false);
  }
}

void team_run(team *t, uint32_t threads, void (*fn)(void *data), void *data) {
  uint32_t seats = threads < TEAM_MOST ? threads - 1 : TEAM_MOST - 1;
  if (threads <= 1 || in_region || atomic_flag_test_and_set(&t->taken)) {
    fn(data);
    return;
  }
  if (t->n < seats) start_helpers(t, seats);
  if (seats > t->n) seats = t->n;
  t->fn = fn;
  t->data = data;
  in_region = true;
  open_region(t, seats);
  fn(data);
  close_region(t);
  in_region = false;
  atomic_flag_clear(&t->taken);
}

/* ---- life --------------------------------------------------------------- */

void team_init(team *t) {
  *t = (team){.spin = default_spin, .taken = ATOMIC_FLAG_INIT};
  const char *policy = getenv("OMP_WAIT_POLICY");
  if (policy && !strcasecmp(policy, "passive")) t->spin = 0;
  if (policy && !strcasecmp(policy, "active")) t->spin = active_spin;
}

void team_free(team *t) {
  if (t->n == 0 || t->pid != getpid()) return;
  atomic_store(&t->state, ENDING);
  futex_wake(&t->state, INT_MAX, WAKE_HELPER);
  for (uint32_t i = 0; i < t->n; i++) pthread_join(t->id[i], NULL);
  t->n = 0;
}
