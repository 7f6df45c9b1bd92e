/* SPDX-License-Identifier: Apache-2.0
 * Hash maps from 64-bit keys to 32-bit values: open addressing, cleared in
 * constant time with the capacity kept, so that a warm map does not allocate.
 * The iteration order is not exposed. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/mem.h"

/* "no such key"; may not be stored as a value. */
#define MAP_NONE UINT32_MAX

typedef struct map_slot {
  uint64_t key;
  uint32_t val;
  uint32_t era;         /* holds an entry iff equal to the map's era */
} map_slot;

typedef struct map {
  mem_heap *heap;
  map_slot *v;
  uint32_t n, cap;      /* cap: 0 or a power of two */
  uint32_t era;
} map;

void map_init(map *m, mem_heap *heap);
void map_free(map *m);
void map_clear(map *m);
/* Room for `n` entries in all without growing; unwinds on exhaustion. */
void map_reserve(map *m, uint32_t n);
/* The value of `key`, or MAP_NONE. */
uint32_t map_get(const map *m, uint64_t key);
/* Enter or overwrite; unwinds on exhaustion, the map unchanged. */
void map_put(map *m, uint64_t key, uint32_t val);
/* Remove `key`; its value, or MAP_NONE where there was none. */
uint32_t map_remove(map *m, uint64_t key);

#endif
