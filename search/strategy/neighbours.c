/* SPDX-License-Identifier: Apache-2.0
 * The neighbours of a candidate on the lattice of its decisions: a divisor of
 * so many prime factors moves from one factor of a tile to another; a choice or
 * a place is the one so many further on.  Decisions that follow are repaired.
 */
#include "search/strategy/strategy.h"

typedef struct lattice {
  strategy_pool *pool;
  const search_cand *c;
} lattice;

/* The candidate with `n` numbers from `at` on replaced. */
static void add_changed(lattice *x, uint32_t at, uint32_t n,
                        const int64_t *with) {
  search_cand *c = arena_new(&x->pool->keep, search_cand);
  int64_t *d = arena_array(&x->pool->keep, int64_t, x->c->n + 1);
  memcpy(d, x->c->d, x->c->n * sizeof *d);
  memcpy(d + at, with, n * sizeof *d);
  *c = (search_cand){.sketch = x->c->sketch, .n = x->c->n, .d = d};
  search_order o = {.how = SEARCH_REPAIR, .a = c};
  vec_push(x->pool->keep.heap, &x->pool->order, o);
}

static int64_t power_of(int64_t p, uint32_t k) {
  int64_t r = 1;
  for (uint32_t i = 0; i < k && r <= INT64_MAX / p; i++) r *= p;
  return r;
}

/* `step` factors p move from factor i to another, for each prime p of it. */
static void move_from(lattice *x, uint32_t at, uint32_t n, const int64_t *d,
                      uint32_t i, uint32_t step) {
  enum { MOST = 32 }; /* factors of a tile */
  int64_t left = d[i], with[MOST];
  for (int64_t p = 2; left > 1 && n <= MOST; p++) {
    if (p * p > left) p = left;
    if (left % p) continue;
    while (left % p == 0) left /= p;
    int64_t moved = power_of(p, step);
    for (uint32_t j = 0; d[i] % moved == 0 && j < n; j++) {
      if (j == i) continue;
      memcpy(with, d, n * sizeof *d);
      with[i] /= moved;
      with[j] *= moved;
      add_changed(x, at, n, with);
    }
  }
}

static void move_choice(lattice *x, uint32_t at, int64_t d, uint32_t step,
                        uint32_t reach) {
  for (uint32_t k = step; k < step + reach; k++) {
    add_changed(x, at, 1, (int64_t[]){d + k});
    add_changed(x, at, 1, (int64_t[]){d - k});
  }
}

static void order_all(lattice *x, const vm_trace *t, uint32_t step) {
  enum { REACH = 4 }; /* loops between one place and the next, at most */
  vm_cursor at = {x->c->d, x->c->n, 0};
  const int64_t *d;
  uint32_t n;
  for (uint32_t k = 0; k < t->inst.n; k++) {
    const vm_inst *in = &t->inst.v[k];
    if (!vm_samples(in)) continue;
    if (!vm_cursor_next(&at, &n, &d)) break;
    uint32_t first = (uint32_t)(d - x->c->d);
    if (vm_decides_one(in->prim)) {
      bool place = !strcmp(in->prim->name, "sample_compute_location");
      move_choice(x, first, d[0], step, place ? REACH : 1);
      continue;
    }
    for (uint32_t i = 0; i < n; i++) move_from(x, first, n, d, i, step);
  }
}

tess_status pool_add_neighbours(strategy_pool *p, tess_session *s,
                                const search_cand *c, uint32_t step) {
  lattice x = {.pool = p, .c = c};
  vec_clear(&p->order);
  order_all(&x, s->sketch[c->sketch], step);
  return pool_make(p, s, p->order.n, p->order.v, NULL);
}
