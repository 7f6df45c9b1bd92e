/* SPDX-License-Identifier: Apache-2.0
 * Checkpoint and rollback of a program's tables. */
#include "ir/checkpoint.h"

/* What a full checkpoint holds beside the tables changed in place. */
#define APPENDED(T) T(node) T(intern) T(arg)

size_t ir_checkpoint_size(const ir_program *p, ir_checkpoint_kind kind) {
  size_t bytes = 0;
#define ADD(table) bytes += p->table.n * sizeof *p->table.v;
  IR_CHANGED_TABLES(ADD)
  if (kind == IR_CHECKPOINT_FULL) {
    APPENDED(ADD)
  }
#undef ADD
  return bytes;
}

void ir_checkpoint_take(ir_checkpoint *c, const ir_program *p,
                        ir_checkpoint_kind kind, void *room) {
  *c = (ir_checkpoint){.kind = kind, .ends = ir_get_mark(p), .bytes = room};
  c->entry = p->entry;
  c->step = p->step;
  c->edits = p->edits;
  c->flat = p->flat;
  c->deep = p->deep;
  char *to = room;
#define SAVE(table)                                                        \
  if (p->table.n) memcpy(to, p->table.v, p->table.n * sizeof *p->table.v); \
  to += p->table.n * sizeof *p->table.v;                                   \
  c->n_##table = p->table.n;
  IR_CHANGED_TABLES(SAVE)
  if (kind == IR_CHECKPOINT_FULL) {
    APPENDED(SAVE)
  }
#undef SAVE
}

/* No table's memory ever shrinks, so there is room for what was in it. */
void ir_checkpoint_restore(const ir_checkpoint *c, ir_program *p) {
  if (c->kind == IR_CHECKPOINT_UNDO) ir_rollback(p, c->ends);
  const char *from = c->bytes;
#define RESTORE(table)                                                       \
  p->table.n = c->n_##table;                                                 \
  if (p->table.n) memcpy(p->table.v, from, p->table.n * sizeof *p->table.v); \
  from += p->table.n * sizeof *p->table.v;
  IR_CHANGED_TABLES(RESTORE)
  if (c->kind == IR_CHECKPOINT_FULL) {
    APPENDED(RESTORE)
    p->flat = c->flat;
    p->deep = c->deep;
  }
#undef RESTORE
  p->entry = c->entry;
  p->step = c->step;
  p->edits = c->edits;
}
