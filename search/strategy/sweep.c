/* SPDX-License-Identifier: Apache-2.0
 * Enumerates a space: the decisions of each sketch in the order of their
 * spaces, the last decision fastest, the sketches taking turns.  What a refused
 * prefix of decisions begins is passed over at once. */
#include "search/strategy/strategy.h"

#include "vm/space.h"

/* Where a sketch's enumeration stands. */
typedef struct odometer {
  uint32_t n; /* sampling instructions */
  uint64_t *index, *count;
  bool done;
} odometer;

struct strategy_sweep {
  mem_heap *heap;
  arena keep; /* odometers, and decisions of this batch above the mark */
  arena_mark mark;
  uint32_t nsketch, turn;
  odometer *at;
};

/* ---- one step ----------------------------------------------------------- */

/* The next one that differs in the first k decisions. */
static void turn_on(odometer *o, uint32_t k) {
  for (uint32_t i = k; i < o->n; i++) o->index[i] = 0;
  while (k > 0) {
    if (++o->index[k - 1] < o->count[k - 1]) return;
    o->index[--k] = 0;
  }
  o->done = true;
}

/* The decisions where the odometer stands, checked as any candidate; false:
 * refused, or not new.  It is turned on. */
static bool try_here(strategy_sweep *w, strategy_batch *b, tess_session *s,
                     uint32_t sketch, search_cand *out) {
  search_worker *worker = &s->worker[0];
  odometer *o = &w->at[sketch];
  uint32_t reached = 0;
  tess_status st =
      session_replay_numbered(s, sketch, o->index, o->count, &reached);
  turn_on(o, st == TESS_OK ? o->n : reached + (st == TESS_NOT_FOUND));
  if (st != TESS_OK) return false;
  uint32_t n = worker->made.n;
  int64_t *d = arena_array(&w->keep, int64_t, n + 1);
  if (n) memcpy(d, worker->made.v, n * sizeof *d);
  *out = (search_cand){sketch, n, d, search_hash(sketch, n, d)};
  bool fits = false;
  return !session_knows(s, out) && map_get(&b->taken, out->hash) == MAP_NONE &&
         session_check_numbered(s, out, &fits) == TESS_OK && fits;
}

bool sweep_is_done(const strategy_sweep *w) {
  for (uint32_t i = 0; i < w->nsketch; i++)
    if (!w->at[i].done) return false;
  return true;
}

void sweep_on(strategy_sweep *w, strategy_batch *b, tess_session *s,
              uint64_t tries, uint32_t n, tess_candidate *out, uint32_t *got) {
  arena_reset_to(&w->keep, w->mark);
  while (*got < n && tries-- && !sweep_is_done(w)) {
    uint32_t sketch = w->turn++ % w->nsketch;
    search_cand c;
    if (thread_flag_is_raised(&s->c->stop)) break;
    if (w->at[sketch].done || !try_here(w, b, s, sketch, &c)) continue;
    map_put(&b->taken, c.hash, 1);
    session_to_public(&c, &out[(*got)++]);
  }
}

/* ---- life --------------------------------------------------------------- */

/* It is *out's before anything else may unwind. */
void sweep_new(mem_heap *h, const tess_session *s, strategy_sweep **out) {
  strategy_sweep *w = mem_new(h, strategy_sweep);
  *w = (strategy_sweep){.heap = h};
  arena_init(&w->keep, h);
  *out = w;
  w->at = arena_zalloc(&w->keep, s->nsketch * sizeof *w->at);
  for (uint32_t k = 0; k < s->nsketch; k++) {
    const vm_trace *t = s->sketch[k];
    odometer *o = &w->at[k];
    for (uint32_t i = 0; i < t->inst.n; i++) o->n += vm_samples(&t->inst.v[i]);
    o->index = arena_zalloc(&w->keep, (o->n + 1) * sizeof *o->index);
    o->count = arena_zalloc(&w->keep, (o->n + 1) * sizeof *o->count);
  }
  w->mark = arena_get_mark(&w->keep);
  w->nsketch = s->nsketch;
}

void sweep_free(strategy_sweep *w) {
  if (!w) return;
  arena_free(&w->keep);
  mem_free(w->heap, w, sizeof *w);
}

void batch_sweep(strategy_batch *b, tess_session *s, uint64_t tries, uint32_t n,
                 tess_candidate *out, uint32_t *got) {
  if (!b->sweep) sweep_new(b->heap, s, &b->sweep);
  sweep_on(b->sweep, b, s, tries, n, out, got);
}
