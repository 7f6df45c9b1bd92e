/* SPDX-License-Identifier: Apache-2.0
 * Arena (region) allocator: allocate by bumping, never free singly, roll back
 * to a mark.  Chunks are kept for reuse, so a warm arena does not allocate. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/mem.h"

typedef struct arena_chunk {
  struct arena_chunk *next;
  size_t size;          /* bytes in data */
  _Alignas(16) char data[];
} arena_chunk;
typedef struct arena {
  mem_heap *heap;
  arena_chunk *first, *cur;
  size_t at;            /* bytes used in cur */
} arena;
typedef struct arena_mark { arena_chunk *cur; size_t at; } arena_mark;

void arena_init(arena *a, mem_heap *heap);
void arena_free(arena *a);
/* The slow path of arena_alloc: `cur` has no room. */
void *arena_alloc_chunk(arena *a, size_t bytes);
/* 16-byte aligned, uninitialised; unwinds on exhaustion. */
static inline void *arena_alloc(arena *a, size_t bytes) {
  size_t size = (bytes + 15) & ~(size_t)15;
  if (!a->cur || size < bytes || size > a->cur->size - a->at)
    return arena_alloc_chunk(a, bytes);
  a->at += size;
  return a->cur->data + (a->at - size);
}
void *arena_zalloc(arena *a, size_t bytes);
char *arena_printf(arena *a, const char *fmt, ...)
  __attribute__((format(printf, 2, 3)));
arena_mark arena_get_mark(const arena *a);
void arena_reset_to(arena *a, arena_mark m);
void arena_reset(arena *a);
#define arena_new(a, T) ((T *)arena_zalloc((a), sizeof(T)))
#define arena_array(a, T, n) ((T *)arena_alloc((a), sizeof(T) * (size_t)(n)))

#endif
