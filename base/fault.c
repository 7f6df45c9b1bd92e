/* SPDX-License-Identifier: Apache-2.0
 * Fault-injecting allocator.  A block is a header, the user's bytes and a
 * guard; resizing always moves, so that a stale pointer is detected. */
#include "base/fault.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD = 16, FRESH = 0xCD, DEAD = 0xDD, FENCE = 0xFD };
#define MAGIC UINT64_C(0x7E55E2A7E55E2A00)

typedef struct header {
  uint64_t magic;
  size_t size;
} header;

_Static_assert(sizeof(header) % 16 == 0, "user bytes stay 16-byte aligned");

void fault_init(fault_alloc *f) { memset(f, 0, sizeof *f); }

void fault_arm(fault_alloc *f, uint64_t n) {
  f->fail_at = f->calls + n;
  f->failed = 0;
}

static bool block_is_intact(const header *h, size_t osize) {
  const unsigned char *end = (const unsigned char *)(h + 1) + h->size;
  if (h->magic != MAGIC || h->size != osize) return false;
  for (size_t i = 0; i < GUARD; i++)
    if (end[i] != FENCE) return false;
  return true;
}

static void release_block(fault_alloc *f, void *ptr, size_t osize) {
  header *h = (header *)ptr - 1;
  if (!block_is_intact(h, osize)) {
    f->broken++;
    return;
  }
  f->live_blocks--;
  f->live_bytes -= h->size;
  memset(ptr, DEAD, h->size);
  h->magic = 0;
  free(h);
}

/* Shrinking never fails, even if armed: that is the contract of
 * tess_allocator. */
static bool must_fail(fault_alloc *f, size_t osize, size_t nsize) {
  if (nsize <= osize) return false;
  f->calls++;
  bool hit = f->fail_at != 0 && (f->calls == f->fail_at ||
                                 (f->and_after && f->calls > f->fail_at));
  f->failed += hit;
  return hit;
}

static void *fault_fn(void *ud, void *ptr, size_t osize, size_t nsize) {
  fault_alloc *f = ud;
  size_t old = ptr ? osize : 0;
  if (nsize == 0) {
    if (ptr) release_block(f, ptr, osize);
    return NULL;
  }
  if (must_fail(f, old, nsize)) return NULL;
  header *h = malloc(sizeof *h + nsize + GUARD);
  if (!h) return NULL;
  h->magic = MAGIC;
  h->size = nsize;
  unsigned char *user = (unsigned char *)(h + 1);
  memset(user, FRESH, nsize);
  memset(user + nsize, FENCE, GUARD);
  f->live_blocks++;
  f->live_bytes += nsize;
  if (f->live_bytes > f->peak_bytes) f->peak_bytes = f->live_bytes;
  if (ptr) {
    memcpy(user, ptr, old < nsize ? old : nsize);
    release_block(f, ptr, osize);
  }
  return user;
}

tess_allocator fault_allocator(fault_alloc *f) {
  return (tess_allocator){fault_fn, f};
}
