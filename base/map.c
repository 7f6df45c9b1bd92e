/* SPDX-License-Identifier: Apache-2.0
 * Hash maps: linear probing, load factor at most 3/4, deletion by backward
 * shift instead of tombstones. */
#include "base/map.h"

#include <string.h>

enum { FIRST_CAP = 16 };

void map_init(map *m, mem_heap *heap) { *m = (map){.heap = heap, .era = 1}; }

void map_free(map *m) {
  mem_free(m->heap, m->v, m->cap * sizeof *m->v);
  map_init(m, m->heap);
}

/* Era 0 marks a slot that was never used, so it is skipped on overflow. */
void map_clear(map *m) {
  m->n = 0;
  if (++m->era == 0) {
    if (m->v) memset(m->v, 0, m->cap * sizeof *m->v);
    m->era = 1;
  }
}

/* Keys are often small numbers or already hashes; the multiplication
 * spreads the first, the shift brings its good high bits down. */
static uint32_t home_of(const map *m, uint64_t key) {
  uint64_t h = (key ^ key >> 32) * UINT64_C(0x9e3779b97f4a7c15);
  return (uint32_t)(h >> 32) & (m->cap - 1);
}

/* The slot that holds `key`, or the free one where it belongs. */
static map_slot *map_slot_of(const map *m, uint64_t key) {
  uint32_t i = home_of(m, key);
  while (m->v[i].era == m->era && m->v[i].key != key)
    i = (i + 1) & (m->cap - 1);
  return &m->v[i];
}

static void rehash(map *m, uint32_t cap) {
  map old = *m;
  map_slot *v = mem_resize(m->heap, NULL, 0, cap * sizeof *v);
  memset(v, 0, cap * sizeof *v);
  m->v = v;
  m->cap = cap;
  m->era = 1;
  for (uint32_t i = 0; i < old.cap; i++)
    if (old.v[i].era == old.era) {
      map_slot *s = map_slot_of(m, old.v[i].key);
      *s = (map_slot){old.v[i].key, old.v[i].val, m->era};
    }
  mem_free(m->heap, old.v, old.cap * sizeof *old.v);
}

void map_reserve(map *m, uint32_t n) {
  uint64_t cap = m->cap ? m->cap : FIRST_CAP;
  while (n > cap / 4 * 3) cap *= 2;
  if (cap > UINT32_MAX / 2)
    mem_unwind_limit(m->heap, "a table has more than 2^31 elements", NULL);
  if (cap != m->cap) rehash(m, (uint32_t)cap);
}

uint32_t map_get(const map *m, uint64_t key) {
  if (m->n == 0) return MAP_NONE;
  const map_slot *s = map_slot_of(m, key);
  return s->era == m->era ? s->val : MAP_NONE;
}

void map_put(map *m, uint64_t key, uint32_t val) {
  map_reserve(m, m->n + 1);
  map_slot *s = map_slot_of(m, key);
  m->n += s->era != m->era;
  *s = (map_slot){key, val, m->era};
}

/* Entries after the hole move into it unless that would put them before their
 * home slot (the first slot of the probe sequence). */
uint32_t map_remove(map *m, uint64_t key) {
  if (map_get(m, key) == MAP_NONE) return MAP_NONE;
  map_slot *hole = map_slot_of(m, key);
  uint32_t val = hole->val, mask = m->cap - 1;
  uint32_t h = (uint32_t)(hole - m->v), i = h;
  for (i = (i + 1) & mask; m->v[i].era == m->era; i = (i + 1) & mask) {
    uint32_t from_home = (i - home_of(m, m->v[i].key)) & mask;
    if (from_home >= ((i - h) & mask)) {
      m->v[h] = m->v[i];
      h = i;
    }
  }
  m->v[h].era = 0;
  m->n--;
  return val;
}
