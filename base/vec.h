/* SPDX-License-Identifier: Apache-2.0
 * Growable vectors: a plain struct { T *v; uint32_t n, cap; } declared by
 * VEC(T).  Elements are addressed by index, because growing moves them. */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include "base/mem.h"
#include <string.h>

#define VEC(T) struct { T *v; uint32_t n, cap; }

/* Room for `more` further elements; may move x->v; unwinds on exhaustion. */
#define vec_reserve(h, x, more)                                             \
  ((x)->n + (uint32_t)(more) <= (x)->cap                                    \
     ? (void)0                                                              \
     : (void)((x)->v = vec_grow_((h), (x)->v, sizeof *(x)->v, (x)->n,       \
                                 (uint32_t)(more), &(x)->cap)))
#define vec_push(h, x, val)                                                 \
  (vec_reserve((h), (x), 1), (x)->v[(x)->n] = (val), (x)->n++)
/* Appends `k` uninitialised elements; returns the index of the first. */
#define vec_extend(h, x, k)                                                 \
  (vec_reserve((h), (x), (k)), (x)->n += (uint32_t)(k), (x)->n - (uint32_t)(k))
#define vec_pop(x) ((x)->v[--(x)->n])
#define vec_clear(x) ((x)->n = 0)
#define vec_free(h, x)                                                      \
  (mem_free((h), (x)->v, (size_t)(x)->cap * sizeof *(x)->v),                \
   (x)->v = NULL, (x)->n = (x)->cap = 0)
/* dst := src (same element type), reusing dst's memory. */
#define vec_copy(h, dst, src)                                               \
  ((dst)->n = 0, vec_reserve((h), (dst), (src)->n), (dst)->n = (src)->n,    \
   (src)->n ? (void)memcpy((dst)->v, (src)->v,                              \
                           (size_t)(src)->n * sizeof *(src)->v)             \
            : (void)0)

/* Returns the moved storage and sets *cap; unwinds before it changes
 * anything. */
void *vec_grow_(mem_heap *h, void *v, size_t elem, uint32_t n, uint32_t more,
                uint32_t *cap);

#endif
