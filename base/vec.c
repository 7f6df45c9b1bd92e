/* SPDX-License-Identifier: Apache-2.0
 * Growth of vectors. */
#include "base/vec.h"

/* Grows by half; a checked build leaves little spare room, so that a pointer
 * kept across a push is detected early. */
static uint64_t roomy(uint32_t cap, uint64_t need) {
  uint64_t want =
      TESS_CHECKED ? (uint64_t)cap + cap / 8 : (uint64_t)cap + cap / 2 + 8;
  want = want > UINT32_MAX ? UINT32_MAX : want;
  return want < need ? need : want;
}

void *vec_grow_(mem_heap *h, void *v, size_t elem, uint32_t n, uint32_t more,
                uint32_t *cap) {
  uint64_t need = (uint64_t)n + more;
  if (need > UINT32_MAX)
    mem_unwind_limit(h, "a table has more than 2^32 elements", NULL);
  uint32_t to = (uint32_t)roomy(*cap, need);
  v = mem_resize(h, v, *cap * elem, to * elem);
  *cap = to;
  return v;
}
