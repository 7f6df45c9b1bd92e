/* SPDX-License-Identifier: Apache-2.0
 * Replay throughput: the sketches of the tiling module on a 1024 matrix
 * product, fresh decisions each time, on 1, 2, .. threads, interleaved.  Only
 * completed replays count; one in a hundred is replayed again with the
 * decisions it took, verified, and must give the same program.  The scaling
 * limit of this machine (cores may be hyperthreads) is measured by a loop that
 * shares nothing. */
#include "bench/support/bench.h"
#include "ir/query.h"

#include "bench/support/sketches.h"

#include "base/thread.h"

#include <stdlib.h>

#define MAX_THREADS 64
#define RECHECK_EVERY 100
#define ROUNDS 9

/* ---- heap allocations --------------------------------------------------- */

void *__libc_malloc(size_t n);
void *__libc_realloc(void *p, size_t n);
void *__libc_calloc(size_t n, size_t m);
static _Thread_local uint64_t allocations;

void *malloc(size_t n) {
  allocations++;
  return __libc_malloc(n);
}
void *realloc(void *p, size_t n) {
  allocations++;
  return __libc_realloc(p, n);
}
void *calloc(size_t n, size_t m) {
  allocations++;
  return __libc_calloc(n, m);
}

/* ---- replaying ---------------------------------------------------------- */

typedef struct lane {
  const sketches *w;
  uint32_t sketch, first, count; /* candidates first .. first + count - 1 */
  uint64_t done, refused, rechecked, allocated;
  mem_heap heap;
  vm_machine m;
  vm_decisions made;
  bool bad;
} lane;

static void recheck(lane *l) {
  const ir_program *base = &l->w->p->p;
  uint64_t hash = ir_hash(&l->m.prog, &l->m.scratch);
  vm_replay_opts o = {
      .source = VM_GIVEN, .given = l->made.v, .ngiven = l->made.n};
  strbuf why;
  str_init(&why, &l->heap);
  if (vm_replay(&l->m, base, &l->w->sketch[l->sketch]->t, &o, NULL) !=
          TESS_OK ||
      ir_hash(&l->m.prog, &l->m.scratch) != hash ||
      !ir_verify(&l->m.prog, &l->m.scratch, &why)) {
    bench_say("replay: a candidate is not what it was, or malformed: %s",
              why.n ? str_get(&why) : "");
    l->bad = true;
  }
  str_free(&why);
  l->rechecked++;
}

static tess_status one(void *ud) {
  lane *l = ud;
  vm_replay_opts o = {.source = VM_FRESH,
                      .seed = l->first + l->done + l->refused};
  vec_clear(&l->made);
  return vm_replay(&l->m, &l->w->p->p, &l->w->sketch[l->sketch]->t, &o,
                   &l->made);
}

static void run_lane(lane *l) {
  uint64_t before = allocations;
  l->done = l->refused = 0;
  while (l->done + l->refused < l->count)
    if (mem_protect(&l->heap, one, l) == TESS_OK)
      l->done++;
    else
      l->refused++;
  l->allocated = allocations - before;
}

static bool run_item(void *ud, uint32_t i, uint32_t thread) {
  lane *lanes = ud;
  bench_pin(thread);
  run_lane(&lanes[i]);
  return true;
}

/* ---- scaling limit ------------------------------------------------------ */

enum { SPINS = 4000000, SPIN_WORDS = 2048 };

/* Loads, stores and arithmetic in four chains, all in the L1 cache. */
static bool spin_item(void *ud, uint32_t i, uint32_t thread) {
  uint64_t table[SPIN_WORDS] = {0}, x[4] = {i + 1, i + 2, i + 3, i + 4};
  volatile uint64_t *out = ud;
  bench_pin(thread);
  for (uint32_t k = 0; k < SPINS; k++)
    for (uint32_t c = 0; c < 4; c++) {
      x[c] = (x[c] ^ x[c] >> 29) * UINT64_C(0xbf58476d1ce4e5b9) +
             table[(x[c] >> 40) % SPIN_WORDS];
      table[k % SPIN_WORDS] += x[c];
    }
  out[8 * i] = x[0] ^ x[1] ^ x[2] ^ x[3];
  return true;
}

static double spin_rate(uint32_t threads) {
  static uint64_t out[8 * MAX_THREADS];
  double start = bench_now();
  thread_run(threads, threads, spin_item, out);
  return threads / (bench_now() - start);
}

/* ---- rechecking --------------------------------------------------------- */

static tess_status prepare_thread(void *ud) {
  lane *l = ud;
  vm_machine_init(&l->m, &l->heap);
  return TESS_OK;
}

static tess_status recheck_some(void *ud) {
  lane *l = ud;
  uint32_t n = l->count / RECHECK_EVERY;
  l->done = l->refused = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (one(l) == TESS_OK) {
      l->done++;
      recheck(l);
    } else
      l->refused++;
  }
  return TESS_OK;
}

/* ---- one sketch --------------------------------------------------------- */

/* Results of `threads` lanes, for each round. */
typedef struct crew {
  uint64_t done, refused, allocated, rechecked; /* of the last round */
  double rate[ROUNDS], speedup[ROUNDS], machine[ROUNDS];
} crew;

static lane lanes[MAX_THREADS];
static crew crews[MAX_THREADS]; /* of 1, 2, ... threads */

/* Lane i has `count` candidates of its own, and is warmed up. */
static void open_lane(const sketches *w, uint32_t sketch, uint32_t i,
                      uint32_t count) {
  lanes[i] =
      (lane){.w = w, .sketch = sketch, .first = i * count, .count = count};
  mem_heap_init(&lanes[i].heap, mem_default_allocator, 0);
  mem_protect(&lanes[i].heap, prepare_thread, &lanes[i]);
  run_lane(&lanes[i]);
}

static bool close_lane(uint32_t i) {
  mem_protect(&lanes[i].heap, recheck_some, &lanes[i]);
  vec_free(&lanes[i].heap, &lanes[i].made);
  vm_machine_free(&lanes[i].m);
  return !lanes[i].bad;
}

static void run_crew(uint32_t threads, uint32_t round) {
  crew *c = &crews[threads - 1];
  double start = bench_now();
  thread_run(threads, threads, run_item, lanes);
  double took = bench_now() - start;
  c->done = c->refused = c->allocated = 0;
  for (uint32_t i = 0; i < threads; i++) {
    c->done += lanes[i].done;
    c->refused += lanes[i].refused;
    c->allocated += lanes[i].allocated;
  }
  c->rate[round] = (double)c->done / took;
  c->speedup[round] = c->rate[round] / crews[0].rate[round];
  c->machine[round] = spin_rate(threads);
}

static void report_replay(const sketches *w, uint32_t sketch, uint32_t threads,
                          uint32_t rounds) {
  crew *c = &crews[threads - 1];
  double all = (double)(c->done + c->refused);
  double share = (double)c->refused / all, allocated = c->allocated / all;
  double rate = bench_median(c->rate, rounds);
  double speedup = bench_median(c->speedup, rounds), machine[ROUNDS];
  for (uint32_t i = 0; i < rounds; i++)
    machine[i] = c->machine[i] / crews[0].machine[i];
  double most = bench_median(machine, rounds);
  bench_say("sketch %u, %u thread%s: %.0f replays/s, %.2f times those of one "
            "thread (a loop that shares nothing: %.2f), %.1f %% refused, %.4f "
            "allocations each, %llu rechecked",
            sketch + 1, threads, threads > 1 ? "s" : "", rate, speedup, most,
            100 * share, allocated, (unsigned long long)c->rechecked);
  json_t *keys = json_pack("{s:s, s:i, s:i, s:i}", "workload", "matmul1024",
                           "sketch", sketch + 1, "threads", threads,
                           "instructions", w->sketch[sketch]->t.inst.n);
  bench_figure("replay_per_s", rate, "1/s", json_incref(keys));
  if (threads > 1) {
    bench_figure("speedup", speedup, "1", json_incref(keys));
    bench_figure("machine_speedup", most, "1", json_incref(keys));
  }
  bench_figure("refused_share", share, "1", json_incref(keys));
  bench_figure("heap_allocations_per_replay", allocated, "1",
               json_incref(keys));
  bench_figure("rechecked", (double)c->rechecked, "candidates", keys);
}

/* In each round 1, 2, ... `most` threads run one after the other, so that noise
 * of the machine affects all of them. */
static bool measure_rounds(const sketches *w, uint32_t sketch, uint32_t most,
                           uint32_t count, uint32_t rounds) {
  bool ok = true;
  uint64_t rechecked = 0;
  for (uint32_t i = 0; i < most; i++) open_lane(w, sketch, i, count);
  for (uint32_t round = 0; round < rounds; round++)
    for (uint32_t t = 1; t <= most; t++) run_crew(t, round);
  for (uint32_t i = 0; i < most; i++) {
    ok &= close_lane(i);
    crews[i].rechecked = rechecked += lanes[i].rechecked;
  }
  for (uint32_t t = 1; t <= most; t++) report_replay(w, sketch, t, rounds);
  return ok;
}

int main(int argc, char **argv) {
  bench_options o = bench_parse(argc, argv, "how fast candidates replay");
  sketches w;
  uint32_t most = o.threads ? o.threads : thread_cpus();
  uint32_t count = o.quick ? 2000 : 30000, rounds = o.quick ? 3 : ROUNDS;
  bool ok = true;
  if (most > MAX_THREADS) most = MAX_THREADS;
  sketches_load(&w, BENCH_SOURCE_DIR, "tiling", 1024);
  for (uint32_t k = 0; k < w.n; k++)
    ok &= measure_rounds(&w, k, most, count, rounds);
  return ok && w.n ? 0 : 1;
}
