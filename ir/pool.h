/* SPDX-License-Identifier: Apache-2.0
 * Appending a run of elements to a pool, even one that is part of the pool
 * (which moves when it grows). */
#ifndef IR_POOL_H
#define IR_POOL_H

#include "base/vec.h"

/* The offset of src in the pool's `bytes` bytes; SIZE_MAX: it is elsewhere. */
static inline size_t pool_offset(const void *pool, size_t bytes,
                                 const void *src) {
  uintptr_t off = (uintptr_t)src - (uintptr_t)pool;
  return off < bytes ? (size_t)off : SIZE_MAX;
}

/* Appends k elements from src to vector x; sets `at` to the index of the
 * first. */
#define POOL_ADD(h, x, k, src, at)                                           \
  do {                                                                       \
    size_t off_ = pool_offset((x)->v, (x)->n * sizeof *(x)->v, (src));       \
    (at) = vec_extend((h), (x), (k));                                        \
    if (k)                                                                   \
      memcpy((x)->v + (at),                                                  \
             off_ == SIZE_MAX ? (const void *)(src)                          \
                              : (const void *)((const char *)(x)->v + off_), \
             (size_t)(k) * sizeof *(x)->v);                                  \
  } while (0)

#endif
