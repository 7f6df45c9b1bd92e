/* SPDX-License-Identifier: Apache-2.0
 * Arena allocator: a list of chunks, filled in order.  A reset only moves the
 * position, so a chunk allocated once serves every later round. */
#include "base/arena.h"
#include "base/assert.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ALIGN = 16, FIRST_CHUNK = 4096, LARGEST_STEP = 1 << 20 };

void arena_init(arena *a, mem_heap *heap) { *a = (arena){.heap = heap}; }

void arena_free(arena *a) {
  for (arena_chunk *c = a->first, *next; c; c = next) {
    next = c->next;
    mem_free(a->heap, c, sizeof *c + c->size);
  }
  arena_init(a, a->heap);
}

/* The chunk after `cur` if it holds `bytes`, else a new one linked in between.
 * Chunk sizes double up to a limit. */
static arena_chunk *next_chunk(arena *a, size_t bytes) {
  arena_chunk *next = a->cur ? a->cur->next : a->first;
  if (next && next->size >= bytes) return next;
  size_t size = a->cur ? a->cur->size * 2 : FIRST_CHUNK;
  size = size > LARGEST_STEP ? LARGEST_STEP : size;
  size = size < bytes ? bytes : size;
  if (size > SIZE_MAX - sizeof *next)
    mem_unwind_limit(a->heap, "a table is larger than memory can be", NULL);
  arena_chunk *c = mem_resize(a->heap, NULL, 0, sizeof *c + size);
  c->size = size;
  c->next = next;
  if (a->cur)
    a->cur->next = c;
  else
    a->first = c;
  return c;
}

void *arena_alloc_chunk(arena *a, size_t bytes) {
  if (bytes > SIZE_MAX - ALIGN)
    mem_unwind_limit(a->heap, "a table is larger than memory can be", NULL);
  bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
  a->cur = next_chunk(a, bytes);
  a->at = bytes;
  return a->cur->data;
}

void *arena_zalloc(arena *a, size_t bytes) {
  return memset(arena_alloc(a, bytes), 0, bytes);
}

char *arena_printf(arena *a, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  size_t size = n < 0 ? 1 : (size_t)n + 1;
  char *s = arena_alloc(a, size);
  s[0] = '\0';
  va_start(ap, fmt);
  vsnprintf(s, size, fmt, ap);
  va_end(ap);
  return s;
}

arena_mark arena_get_mark(const arena *a) {
  return (arena_mark){a->cur, a->at};
}

/* Is m at or before the position? Marks of one arena are reset to in the
 * reverse of the order in which they were taken. */
static bool arena_mark_is_before(const arena *a, arena_mark m) {
  if (!m.cur) return true;
  if (m.cur == a->cur) return m.at <= a->at;
  const arena_chunk *c = a->first;
  while (c && c != m.cur && c != a->cur) c = c->next;
  return c == m.cur && m.at <= c->size;
}

/* A checked build overwrites released memory. */
static void poison(arena *a, arena_mark m) {
  arena_chunk *c = m.cur ? m.cur : a->first;
  size_t from = m.cur ? m.at : 0;
  while (c && a->cur) {
    size_t to = c == a->cur ? a->at : c->size;
    memset(c->data + from, 0xDD, to - from);
    c = c == a->cur ? NULL : c->next;
    from = 0;
  }
}

void arena_reset_to(arena *a, arena_mark m) {
  TESS_ASSERT(arena_mark_is_before(a, m));
  if (TESS_CHECKED) poison(a, m);
  a->cur = m.cur;
  a->at = m.at;
}

void arena_reset(arena *a) { arena_reset_to(a, (arena_mark){NULL, 0}); }
