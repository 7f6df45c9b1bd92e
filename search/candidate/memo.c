/* SPDX-License-Identifier: Apache-2.0
 * Memo of candidates: what is met again need not be replayed beyond its
 * last decision, nor are its features found again.  Late generations and
 * small spaces are full of such, and dependence analysis makes some replays
 * slow. */
#include "search/candidate/session.h"

enum { MOST = 4096, BYTES = 8 << 20, SLACK = 1 << 18 };

void memo_init(search_memo *x, mem_heap *heap) {
  *x = (search_memo){.heap = heap};
  arena_init(&x->keep, heap);
  map_init(&x->at, heap);
  map_init(&x->bad_at, heap);
  map_init(&x->trait_at, heap);
}

void memo_free(search_memo *x) {
  if (!x->heap) return;
  vec_free(x->heap, &x->rows);
  vec_free(x->heap, &x->bad);
  vec_free(x->heap, &x->trait);
  map_free(&x->at);
  map_free(&x->bad_at);
  map_free(&x->trait_at);
  arena_free(&x->keep);
}

void memo_clear(search_memo *x) {
  map_clear(&x->at);
  map_clear(&x->bad_at);
  map_clear(&x->trait_at);
  x->rows.n = x->bad.n = x->trait.n = 0;
  x->bytes = 0;
  arena_reset(&x->keep);
}

void memo_want(search_memo *x, bool wants, feature_kind k) {
  if (!wants || (x->wants && x->want == k)) return;
  memo_clear(x);
  x->wants = true;
  x->want = k;
}

/* All of it at once, so that a warm search allocates nothing. */
static void memo_prepare(search_memo *x) {
  vec_reserve(x->heap, &x->rows, MOST);
  vec_reserve(x->heap, &x->bad, MOST);
  vec_reserve(x->heap, &x->trait, MOST);
  map_reserve(&x->at, MOST);
  map_reserve(&x->bad_at, MOST);
  map_reserve(&x->trait_at, MOST);
  if (!x->keep.first) (void)arena_alloc(&x->keep, BYTES);
  arena_reset(&x->keep);
}

bool memo_has_room(search_memo *x) {
  if (x->rows.cap < MOST) memo_prepare(x);
  return x->rows.n < MOST && x->bad.n < MOST && x->bytes < BYTES - SLACK;
}

const feature_rows *memo_find(const search_memo *x, uint64_t hash) {
  uint32_t i = map_get(&x->at, hash);
  return i == MAP_NONE ? NULL : &x->rows.v[i];
}

void memo_enter(search_memo *x, uint64_t hash, const feature_rows *r) {
  vec_push(x->heap, &x->rows, *r);
  map_put(&x->at, hash, x->rows.n - 1);
  x->bytes += (size_t)r->n * r->width * sizeof *r->v;
}

bool memo_refuses(const search_memo *x, uint64_t hash, vm_machine *m) {
  uint32_t i = map_get(&x->bad_at, hash);
  if (i == MAP_NONE) return false;
  m->fail = x->bad.v[i].fail;
  m->state.refusal = x->bad.v[i].refusal;
  m->at = x->bad.v[i].at;
  return true;
}

void memo_enter_refusal(search_memo *x, uint64_t hash, const vm_machine *m) {
  if (!memo_has_room(x)) return;
  vec_push(x->heap, &x->bad,
           ((memo_refusal){m->fail, m->state.refusal, m->at}));
  x->bad.v[x->bad.n - 1].refusal.t = ""; /* it may live with the state */
  map_put(&x->bad_at, hash, x->bad.n - 1);
}

bool memo_find_trait(const search_memo *x, uint64_t hash, search_trait of,
                     uint64_t *out) {
  uint32_t i = x->of == of ? map_get(&x->trait_at, hash) : MAP_NONE;
  if (i == MAP_NONE) return false;
  *out = x->trait.v[i];
  return true;
}

/* Of one property at a time: no other mutator asks for one. */
void memo_enter_trait(search_memo *x, uint64_t hash, search_trait of,
                      uint64_t value) {
  if (!memo_has_room(x)) return;
  if (x->of != of) {
    map_clear(&x->trait_at);
    x->trait.n = 0;
  }
  x->of = of;
  if (x->trait.n == MOST || map_get(&x->trait_at, hash) != MAP_NONE) return;
  vec_push(x->heap, &x->trait, value);
  map_put(&x->trait_at, hash, x->trait.n - 1);
}
