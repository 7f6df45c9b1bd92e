/* SPDX-License-Identifier: Apache-2.0
 * Memo tables for walks over expressions: growth. */
#include "ir/memo.h"
#include "ir/edit.h"

enum { FIRST_SLOTS = 16 };

void ir_memo_grow(ir_memo *m, arena *scratch) {
  ir_memo to = {m->n, m->slots ? 2 * m->slots : FIRST_SLOTS, NULL};
  to.v = arena_zalloc(scratch, 2 * (size_t)to.slots * sizeof *to.v);
  for (uint32_t i = 0; i < m->slots; i++)
    if (m->v[2 * i])
      memcpy(ir_memo_slot(&to, m->v[2 * i]), m->v + 2 * i, 2 * sizeof *m->v);
  *m = to;
}
