/* SPDX-License-Identifier: Apache-2.0
 * How fast candidates are replayed: the sketches of the tiling module on a
 * 1024 matrix product, fresh decisions each time.  Only replays that ran to
 * the end count; one in a hundred is replayed a second time with the
 * decisions it took, verified, and must give the same program. */
#include "bench/support/bench.h"

#include "bench/support/sketches.h"

#include "base/thread.h"

#include <stdlib.h>

#define MAX_THREADS 64
#define RECHECK_EVERY 100

/* ---- counting what goes to the heap ------------------------------------- */

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

static tess_status prepare(void *ud) {
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

/* One figure: `threads` lanes of `count` candidates each, warm. */
static bool measure(const sketches *w, uint32_t sketch, uint32_t threads,
                    uint32_t count) {
  static lane lanes[MAX_THREADS];
  uint64_t done = 0, refused = 0, allocated = 0, rechecked = 0;
  double rate[5];
  bool bad = false;
  for (uint32_t i = 0; i < threads; i++) {
    lanes[i] =
        (lane){.w = w, .sketch = sketch, .first = i * count, .count = count};
    mem_heap_init(&lanes[i].heap, mem_default_allocator, 0);
    mem_protect(&lanes[i].heap, prepare, &lanes[i]);
    run_lane(&lanes[i]); /* warms it */
  }
  for (int rep = 0; rep < 5; rep++) {
    double start = bench_now();
    thread_run(threads, threads, run_item, lanes);
    double took = bench_now() - start;
    done = refused = allocated = 0;
    for (uint32_t i = 0; i < threads; i++) {
      done += lanes[i].done;
      refused += lanes[i].refused;
      allocated += lanes[i].allocated;
    }
    rate[rep] = (double)done / took;
  }
  for (uint32_t i = 0; i < threads; i++) {
    mem_protect(&lanes[i].heap, recheck_some, &lanes[i]);
    rechecked += lanes[i].rechecked;
    bad |= lanes[i].bad;
    vec_free(&lanes[i].heap, &lanes[i].made);
    vm_machine_free(&lanes[i].m);
  }
  double share = (double)refused / (double)(done + refused);
  double median = bench_median(rate, 5);
  bench_say("sketch %u, %u thread%s: %.0f replays/s, %.1f %% refused, %.4f "
            "allocations each, %llu rechecked",
            sketch + 1, threads, threads > 1 ? "s" : "", median, 100 * share,
            (double)allocated / (double)(done + refused),
            (unsigned long long)rechecked);
  json_t *keys = json_pack("{s:s, s:i, s:i, s:i}", "workload", "matmul1024",
                           "sketch", sketch + 1, "threads", threads,
                           "instructions", w->sketch[sketch]->t.inst.n);
  bench_figure("replay_per_s", median, "1/s", json_incref(keys));
  bench_figure("refused_share", share, "1", json_incref(keys));
  bench_figure("heap_allocations_per_replay",
               (double)allocated / (double)(done + refused), "1",
               json_incref(keys));
  bench_figure("rechecked", (double)rechecked, "candidates", keys);
  return !bad;
}

int main(int argc, char **argv) {
  bench_options o = bench_parse(argc, argv, "how fast candidates replay");
  sketches w;
  uint32_t most = o.threads ? o.threads : thread_cpus();
  bool ok = true;
  if (most > MAX_THREADS) most = MAX_THREADS;
  sketches_load(&w, BENCH_SOURCE_DIR, "tiling", 1024);
  for (uint32_t k = 0; k < w.n; k++)
    for (uint32_t t = 1; t <= most; t++)
      ok &= measure(&w, k, t, o.quick ? 2000 : 30000);
  return ok && w.n ? 0 : 1;
}
