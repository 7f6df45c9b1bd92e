/* SPDX-License-Identifier: Apache-2.0
 * What is remembered of the nodes that a walk meets.  A program that was
 * changed often has many more nodes than it still uses, so a table as long as
 * theirs costs more than the walk; this one is as long as what was met. */
#ifndef IR_MEMO_H
#define IR_MEMO_H

#include "ir/edit.h"

/* Twice as many slots; may unwind. */
void ir_memo_grow(ir_memo *m, arena *scratch);

/* The slot of e, or the empty one where it belongs. */
static inline uint32_t *ir_memo_slot(const ir_memo *m, ir_expr e) {
  uint32_t mask = m->slots - 1, at = e * UINT32_C(0x9e3779b1) >> 7 & mask;
  while (m->v[2 * at] && m->v[2 * at] != e) at = (at + 1) & mask;
  return m->v + 2 * at;
}

/* What is remembered of e, 0 at first; the place holds until the table grows,
 * which moves v. */
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
