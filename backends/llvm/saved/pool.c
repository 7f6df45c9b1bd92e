/* SPDX-License-Identifier: Apache-2.0
 * The runtime that is linked into saved kernels: parallel loops on a pool of
 * threads that spin for a bounded time and then sleep, memory from the C
 * library.
 *
 * No part of libtessera: scripts/saved-pool compiles it to LLVM's IR, pool.inc,
 * which backends/llvm/deploy.c links into each object.  So it calls nothing but
 * the C library, and what differs by processor is given to it.  All kernels of
 * one program or shared library share the pool, whichever objects they came in;
 * each has its own copy of the functions, compiled for its own processor. */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <tessera/kernel.h>
#include <time.h>
#include <unistd.h>

/* Given by deploy.c: the number of the call futex, and a hint to the core that
 * this is a spin loop. */
extern const long tess_pool_futex;
void tess_pool_pause(void);

/* Within a parallel region of the program's OpenMP, kernels are serial. */
__attribute__((weak)) int omp_in_parallel(void);

typedef int32_t (*pool_body)(void *closure, int64_t begin, int64_t end);

/* Dynamic scheduling of 0 .. n-1: a few chunks a thread, so that a delayed
 * thread does not delay the loop. */
typedef struct pool_loop {
  pool_body fn;
  void *closure;
  int64_t n, chunk;
  _Atomic int64_t next;
  _Atomic int32_t status; /* of the first chunk that failed */
} pool_loop;

enum { POOL_MOST = 256, CHUNKS_PER_THREAD = 4 }; /* threads, the caller's too */

/* `state` is how many helpers may still join the loop (SEAT each), whether the
 * pool ends, and how many helpers are in. */
#define SEAT 0x10000u
#define ENDING 0x8000u
#define SEATS(s) ((s) >> 16)
#define INSIDE(s) ((s) & (ENDING - 1))

/* Whom a futex wakes: they wait on the same word. */
enum { WAKE_HELPER = 1, WAKE_OWNER = 2 };

/* Shared by objects, perhaps of different versions of this file: a change of
 * the layout, or of what a field means, wants another name. */
typedef struct saved_pool {
  _Atomic uint32_t state;
  _Atomic uint32_t sleepers; /* helpers that sleep, or are about to */
  atomic_bool owner_sleeps;
  atomic_flag taken; /* a loop runs */
  _Atomic(pool_loop *) loop;
  int64_t spin;             /* how long to spin, in nanoseconds */
  _Atomic uint32_t threads; /* how many there may be; 0: not known yet */
  uint32_t n;               /* helpers that were started */
  bool failed;              /* the system gives no more threads */
  pid_t pid;                /* a fork has none of the helpers */
  pthread_t id[POOL_MOST - 1];
} saved_pool;

__attribute__((weak, visibility("hidden"))) saved_pool tess_pool_1;
#define pool (&tess_pool_1)

/* ---- waiting ------------------------------------------------------------ */

static int64_t pool_clock(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void pool_sleep(uint32_t is, long who) {
  syscall(tess_pool_futex, &pool->state, (long)FUTEX_WAIT_BITSET_PRIVATE,
          (long)is, NULL, NULL, who);
}

static void pool_wake(long most, long who) {
  syscall(tess_pool_futex, &pool->state, (long)FUTEX_WAKE_BITSET_PRIVATE, most,
          NULL, NULL, who);
}

static bool calls_helpers(uint32_t state) { return state >= ENDING; }
static bool is_over(uint32_t state) { return INSIDE(state) == 0; }

/* Spins until the state is as wanted; false: the time is over. */
static bool pool_spin(bool (*wanted)(uint32_t state)) {
  enum { POLLS = 16 }; /* between looks at the clock */
  if (wanted(atomic_load(&pool->state))) return true;
  if (pool->spin == 0) return false;
  int64_t end = pool_clock() + pool->spin;
  do {
    for (int i = 0; i < POLLS; i++) {
      if (wanted(atomic_load(&pool->state))) return true;
      tess_pool_pause();
    }
  } while (pool_clock() < end);
  return false;
}

/* ---- a loop ------------------------------------------------------------- */

static void run_chunks(pool_loop *l) {
  while (atomic_load_explicit(&l->status, memory_order_relaxed) == TESS_OK) {
    int64_t at = atomic_fetch_add(&l->next, l->chunk);
    if (at >= l->n) return;
    int64_t end = l->n - at < l->chunk ? l->n : at + l->chunk;
    int32_t none = TESS_OK, s = l->fn(l->closure, at, end);
    if (s != TESS_OK) atomic_compare_exchange_strong(&l->status, &none, s);
  }
}

/* ---- helpers ------------------------------------------------------------ */

static void await_loop(void) {
  while (!pool_spin(calls_helpers)) {
    atomic_fetch_add(&pool->sleepers, 1);
    uint32_t s = atomic_load(&pool->state);
    if (!calls_helpers(s)) pool_sleep(s, WAKE_HELPER);
    atomic_fetch_sub(&pool->sleepers, 1);
  }
}

static bool join_loop(void) {
  uint32_t s = atomic_load(&pool->state);
  while (SEATS(s) > 0)
    if (atomic_compare_exchange_weak(&pool->state, &s, s - SEAT + 1))
      return true;
  return false;
}

/* After its last chunk no work is left: nobody need join any more. */
static void leave_loop(void) {
  atomic_fetch_and(&pool->state, SEAT - 1);
  uint32_t s = atomic_fetch_sub(&pool->state, 1) - 1;
  if (is_over(s) && atomic_load(&pool->owner_sleeps)) pool_wake(1, WAKE_OWNER);
}

static void *pool_helper(void *ud) {
  for (;;) {
    await_loop();
    if (join_loop()) {
      run_chunks(atomic_load(&pool->loop));
      leave_loop();
    } else if (atomic_load(&pool->state) & ENDING) {
      return ud;
    }
  }
}

/* Starts helpers, which leave signals to the program's own threads. */
static void start_helpers(uint32_t n) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (pool->n < n && !pool->failed)
    if (pthread_create(&pool->id[pool->n], NULL, pool_helper, NULL))
      pool->failed = true;
    else
      pool->n++;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- the owner of a loop ------------------------------------------------ */

/* OMP_NUM_THREADS, or the cores that the process may run on. */
static uint32_t threads_allowed(void) {
  const char *set = getenv("OMP_NUM_THREADS");
  long n = set ? strtol(set, NULL, 10) : 0;
  cpu_set_t cores;
  if (n <= 0 && sched_getaffinity(0, sizeof cores, &cores) == 0)
    n = CPU_COUNT(&cores);
  if (n <= 0) n = sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : n > POOL_MOST ? POOL_MOST : (uint32_t)n;
}

/* Long enough for the next kernel in a loop, far shorter than the time slice
 * of a thread that waits for the core. */
static void set_up_pool(void) {
  const char *policy = getenv("OMP_WAIT_POLICY");
  pool->spin = 30 * 1000;
  if (policy && !strcasecmp(policy, "passive")) pool->spin = 0;
  if (policy && !strcasecmp(policy, "active")) pool->spin = 100 * 1000 * 1000;
  atomic_store(&pool->threads, threads_allowed());
}

/* False: another loop runs.  In a fork helpers are started anew; where it was
 * made while another thread ran a loop, kernels stay serial. */
static bool take_pool(void) {
  if (atomic_flag_test_and_set(&pool->taken)) return false;
  if (!atomic_load(&pool->threads)) set_up_pool();
  if (pool->pid != getpid()) {
    atomic_store(&pool->state, 0);
    atomic_store(&pool->sleepers, 0);
    pool->n = 0;
    pool->failed = false;
    pool->pid = getpid();
  }
  return true;
}

static void open_loop(uint32_t seats) {
  atomic_store(&pool->state, seats * SEAT);
  uint32_t asleep = atomic_load(&pool->sleepers);
  if (asleep) pool_wake((long)(asleep < seats ? asleep : seats), WAKE_HELPER);
}

/* Waits for the helpers that are in it, and for no other. */
static void close_loop(void) {
  atomic_fetch_and(&pool->state, SEAT - 1);
  while (!pool_spin(is_over)) {
    atomic_store(&pool->owner_sleeps, true);
    uint32_t s = atomic_load(&pool->state);
    if (!is_over(s)) pool_sleep(s, WAKE_OWNER);
    atomic_store(&pool->owner_sleeps, false);
  }
}

static void run_loop(pool_loop *l, uint32_t threads) {
  uint32_t seats = threads - 1;
  if (pool->n < seats) start_helpers(seats);
  if (seats > pool->n) seats = pool->n;
  int64_t chunk = l->n / ((int64_t)threads * CHUNKS_PER_THREAD);
  l->chunk = chunk ? chunk : 1;
  atomic_store(&pool->loop, l);
  open_loop(seats);
  run_chunks(l);
  close_loop();
}

static int32_t pool_parallel_for(void *ud, int64_t n, pool_body fn,
                                 void *closure) {
  (void)ud;
  if (n <= 0) return TESS_OK;
  if (n == 1 || atomic_load(&pool->threads) == 1 ||
      (omp_in_parallel && omp_in_parallel()) || !take_pool())
    return fn(closure, 0, n);
  int64_t threads = atomic_load(&pool->threads);
  pool_loop l = {.fn = fn, .closure = closure, .n = n, .chunk = n};
  if (n < threads) threads = n;
  if (threads > 1)
    run_loop(&l, (uint32_t)threads);
  else
    run_chunks(&l);
  atomic_flag_clear(&pool->taken);
  return atomic_load(&l.status);
}

/* ---- memory ------------------------------------------------------------- */

/* Large blocks of huge pages where the system has them: fewer TLB misses. */
static void *pool_alloc(void *ud, uint64_t bytes, uint64_t align) {
  enum { HUGE_PAGE = 2 << 20 };
  bool large = bytes >= 2 * HUGE_PAGE;
  void *at = NULL;
  (void)ud;
  if (align < 16) align = 16;
  if (large && align < HUGE_PAGE) align = HUGE_PAGE;
  if (posix_memalign(&at, align, bytes ? bytes : 1)) return NULL;
  if (large) madvise(at, bytes, MADV_HUGEPAGE);
  return at;
}

static void pool_free(void *ud, void *ptr) {
  (void)ud;
  free(ptr);
}

/* ---- life --------------------------------------------------------------- */

__attribute__((
    visibility("hidden"))) extern const tess_runtime tess_pool_runtime;
const tess_runtime tess_pool_runtime = {.struct_size = sizeof(tess_runtime),
                                        .parallel_for = pool_parallel_for,
                                        .alloc = pool_alloc,
                                        .free = pool_free};

/* What a kernel runs with that was given `rt`: NULL is the pool, and so is a
 * parallel_for that is NULL, with the rest in *own. */
__attribute__((visibility("hidden"))) const tess_runtime *
tess_pool_complete(const tess_runtime *rt, tess_runtime *own);
const tess_runtime *tess_pool_complete(const tess_runtime *rt,
                                       tess_runtime *own) {
  if (!rt) return &tess_pool_runtime;
  if (rt->parallel_for) return rt;
  *own = *rt;
  own->parallel_for = pool_parallel_for;
  return own;
}

/* Before the code that helpers run is unloaded.  While a loop runs, as where
 * one of several threads ends the program, they are left alone. */
__attribute__((destructor)) static void end_pool(void) {
  if (pool->pid != getpid() || atomic_flag_test_and_set(&pool->taken)) return;
  atomic_store(&pool->state, ENDING);
  pool_wake(INT32_MAX, WAKE_HELPER);
  for (uint32_t i = 0; i < pool->n; i++) pthread_join(pool->id[i], NULL);
  pool->n = 0;
  atomic_store(&pool->state, 0);
  atomic_flag_clear(&pool->taken);
}
