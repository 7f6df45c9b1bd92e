/* SPDX-License-Identifier: Apache-2.0
 * Memo tables for walks over expressions: sparse maps from nodes to words.  A
 * program that was edited often has many more nodes than it still uses, so a
 * dense table costs more than the walk; this one grows with the nodes
 * visited. */
#ifndef IR_MEMO_H
#define IR_MEMO_H

#include "ir/edit.h"

/* Doubles the slots; may unwind. */
void ir_memo_grow(ir_memo *m, arena *scratch);

/* The slot of e, or the empty one where it would be inserted. */
static inline uint32_t *ir_memo_slot(const ir_memo *m, ir_expr e) {
  uint32_t mask = m->slots - 1, at = e * UINT32_C(0x9e3779b1) >> 7 & mask;
  while (m->v[2 * at] && m->v[2 * at] != e) at = (at + 1) & mask;
  return m->v + 2 * at;
}

/* The word of e, 0 at first; the pointer is valid until the table grows, which
 * moves v. */
static inline uint32_t *ir_memo_of(ir_memo *m, arena *scratch, ir_expr e) {
  if (2 * m->n >= m->slots) ir_memo_grow(m, scratch);
  uint32_t *slot = ir_memo_slot(m, e);
  m->n += !slot[0];
  slot[0] = e;
  return slot + 1;
}

static inline void ir_memo_clear(ir_memo *m) {
  if (m->n) memset(m->v, 0, 2 * (size_t)m->slots * sizeof *m->v);
  m->n = 0;
}

#endif
