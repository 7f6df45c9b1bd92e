/* SPDX-License-Identifier: Apache-2.0
 * The default tess_runtime: parallel_for on a team of threads, and a caching
 * allocator. */
#include "backends/runtime.h"
#include "base/clock.h"
#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* Where the host has an OpenMP runtime: within a parallel region of its own,
 * kernels are serial. */
__attribute__((weak)) int omp_in_parallel(void);

/* ---- loops -------------------------------------------------------------- */

typedef int32_t (*body_fn)(void *closure, int64_t begin, int64_t end);

/* Dynamic scheduling of 0 .. n-1: a few chunks per thread, so that a delayed
 * thread does not delay the loop. */
typedef struct parallel {
  body_fn fn;
  void *closure;
  int64_t n, piece;
  double until; /* as the runtime's */
  _Atomic int64_t next;
  _Atomic int32_t status; /* of the first piece that failed */
} parallel;

/* More where it may end after any. */
enum { PIECES = 4, WATCHED_PIECES = 32 };

static bool is_late(const parallel *p) {
  return p->until > 0 && clock_now() > p->until;
}

static void take_pieces(void *data) {
  parallel *p = data;
  while (atomic_load_explicit(&p->status, memory_order_relaxed) == TESS_OK) {
    int64_t at =
        atomic_fetch_add_explicit(&p->next, p->piece, memory_order_relaxed);
    if (at >= p->n) return;
    int64_t end = p->n - at < p->piece ? p->n : at + p->piece;
    int32_t none = TESS_OK, s = p->fn(p->closure, at, end);
    if (s == TESS_OK && is_late(p)) s = TESS_TIMEOUT;
    if (s != TESS_OK) atomic_compare_exchange_strong(&p->status, &none, s);
  }
}

/* Iterations 0 .. n-1, or with `until` those up to the first piece that ends
 * after it, and TIMEOUT; *done: how many. */
static int32_t loop_until(runtime *r, int64_t n, body_fn fn, void *closure,
                          double until, int64_t *done) {
  int64_t threads = n < r->threads ? n : r->threads;
  *done = n;
  if (threads <= 1 && until <= 0) return n > 0 ? fn(closure, 0, n) : TESS_OK;
  int64_t piece = n / (threads * (until > 0 ? WATCHED_PIECES : PIECES));
  parallel p = {.fn = fn,
                .closure = closure,
                .n = n,
                .piece = piece ? piece : 1,
                .until = until};
  team_run(&r->team, (uint32_t)threads, take_pieces, &p);
  int64_t next = atomic_load(&p.next);
  if (next < n) *done = next;
  return atomic_load(&p.status);
}

/* Of a loop from `start` on, of whose iterations so many are done: how long the
 * others would take. */
static double expect_rest(double start, int64_t done, int64_t n) {
  return (clock_now() - start) * (double)(n - done) / (double)done;
}

/* The same of a loop of a program that has no parallel ones, which ran on all
 * threads all the same. */
static double expect_serial(const runtime *r, double start, int64_t done,
                            int64_t n) {
  double threads = (double)(n < r->threads ? n : r->threads);
  double spent = clock_now() - start;
  return threads * (spent + expect_rest(start, done, n)) - spent;
}

static int32_t loop_watched(runtime *r, int64_t n, body_fn fn, void *closure) {
  int64_t done;
  double start = clock_now();
  int32_t s = loop_until(r, n, fn, closure, r->until, &done);
  if (s == TESS_TIMEOUT)
    r->expected = clock_now() - r->began + expect_rest(start, done, n);
  return s;
}

/* As great a share of n iterations as were done of each loop before. */
static int64_t most_of(const runtime_part *p, int64_t n) {
  static const double rounding = 1e-6;
  int64_t left = (int64_t)ceil((double)n * p->left_out - rounding);
  return left < n ? n - left : 1;
}

static int32_t loop_in_part(runtime *r, int64_t n, body_fn fn, void *closure) {
  runtime_part *p = r->part;
  int64_t all, *done = p->at < RUNTIME_LOOPS ? &p->done[p->at++] : NULL;
  if (!done) return loop_until(r, n, fn, closure, 0, &all);
  if (p->longest <= 0)
    return loop_until(r, *done < n ? *done : n, fn, closure, 0, &all);
  double start = clock_now();
  int32_t s =
      loop_until(r, most_of(p, n), fn, closure, start + p->longest, done);
  if (s != TESS_OK && s != TESS_TIMEOUT) return s;
  p->rest += expect_serial(r, start, *done, n);
  p->left_out = fmax(p->left_out, (double)(n - *done) / (double)n);
  return TESS_OK;
}

static int32_t run_parallel(void *ud, int64_t n, body_fn fn, void *closure) {
  runtime *r = ud;
  int64_t done;
  if (n <= 0) return TESS_OK;
  if (tess_in_parallel() || (omp_in_parallel && omp_in_parallel()))
    return fn(closure, 0, n);
  if (r->part) return loop_in_part(r, n, fn, closure);
  if (r->until > 0) return loop_watched(r, n, fn, closure);
  return loop_until(r, n, fn, closure, 0, &done);
}

/* ---- memory ------------------------------------------------------------- */

/* Header before the memory that was asked for, `skip` bytes into the
 * allocator's block. */
typedef struct runtime_block {
  struct runtime_block *next;
  size_t bytes, align, skip; /* bytes: usable ones */
} block;

enum { MAX_IDLE = 256 << 20 };

static void *memory_of(block *b) { return b + 1; }
static size_t whole_size(const block *b) {
  return b->bytes + b->align + sizeof *b;
}

static void release_block(runtime *r, block *b) {
  size_t size = whole_size(b);
  r->alloc.fn(r->alloc.ud, (char *)b - b->skip, size, 0);
}

/* An idle block that fits and is at most twice too large. */
static block *reuse(runtime *r, size_t bytes, size_t align) {
  for (block **at = &r->idle; *at; at = &(*at)->next) {
    block *b = *at;
    bool fits = b->bytes >= bytes && b->bytes / 2 <= bytes;
    if (!fits || (uintptr_t)memory_of(b) % align) continue;
    *at = b->next;
    r->idle_bytes -= b->bytes;
    return b;
  }
  return NULL;
}

static block *fresh(runtime *r, size_t bytes, size_t align) {
  size_t whole = bytes + align + sizeof(block);
  char *at = whole > bytes ? r->alloc.fn(r->alloc.ud, NULL, 0, whole) : NULL;
  if (!at) return NULL;
  mem_advise_huge(at, whole);
  uintptr_t first = (uintptr_t)at + sizeof(block);
  size_t skip = (align - first % align) % align;
  block *b = (block *)(void *)(at + skip);
  *b = (block){.bytes = bytes, .align = align, .skip = skip};
  return b;
}

static void *take_memory(void *ud, uint64_t bytes, uint64_t align) {
  runtime *r = ud;
  size_t least = align < _Alignof(block) ? _Alignof(block) : (size_t)align;
  thread_lock(&r->lock);
  block *b = reuse(r, (size_t)bytes, least);
  if (!b) b = fresh(r, (size_t)bytes, least);
  thread_unlock(&r->lock);
  if (b && r->part) memset(memory_of(b), 0, b->bytes);
  return b ? memory_of(b) : NULL;
}

static void give_memory(void *ud, void *ptr) {
  runtime *r = ud;
  if (!ptr) return;
  block *b = (block *)ptr - 1;
  thread_lock(&r->lock);
  if (r->idle_bytes + b->bytes > MAX_IDLE) {
    release_block(r, b);
  } else {
    r->idle_bytes += b->bytes;
    b->next = r->idle;
    r->idle = b;
  }
  thread_unlock(&r->lock);
}

/* ---- life --------------------------------------------------------------- */

void runtime_init(runtime *r, tess_allocator alloc, uint32_t threads) {
  *r = (runtime){.alloc = alloc, .threads = threads ? threads : 1};
  r->rt = (tess_runtime){.struct_size = sizeof r->rt,
                         .ud = r,
                         .parallel_for = run_parallel,
                         .alloc = take_memory,
                         .free = give_memory};
  thread_mutex_init(&r->lock);
  team_init(&r->team);
}

void runtime_free(runtime *r) {
  team_free(&r->team);
  while (r->idle) {
    block *b = r->idle;
    r->idle = b->next;
    release_block(r, b);
  }
  thread_mutex_free(&r->lock);
}

/* ---- watching a launch -------------------------------------------------- */

void runtime_watch(runtime *r, double seconds) {
  r->began = clock_now();
  r->until = isinf(seconds) ? 0 : r->began + seconds;
  r->expected = 0;
}

double runtime_unwatch(runtime *r) {
  r->until = 0;
  return r->expected;
}

void runtime_take_part(runtime *r, runtime_part *p) {
  r->part = p;
  if (p) p->at = 0;
}
