/* SPDX-License-Identifier: Apache-2.0
 * Checkpoint and rollback of a program.  Tables whose entries change in place
 * are copied; expressions are only appended, so a rollback truncates them.
 * Taking needs memory that the caller provides, restoring needs none. */
#ifndef IR_CHECKPOINT_H
#define IR_CHECKPOINT_H

#include "ir/expr.h"

typedef enum ir_checkpoint_kind {
  IR_CHECKPOINT_UNDO, /* restored only to the program it was taken of, and
                       * those that came of it: expressions are not copied */
  IR_CHECKPOINT_FULL  /* restored from an older state, too: everything is */
} ir_checkpoint_kind;

typedef struct ir_checkpoint {
  ir_checkpoint_kind kind;
  ir_mark ends;           /* how many expressions, variables, operands */
  uint32_t entry, step, edits, flat, deep;
#define N(table) uint32_t n_##table; /* lengths */
  N(node) N(intern) N(arg) IR_CHANGED_TABLES(N)
#undef N
  const char *bytes;      /* the tables' contents, in the caller's memory */
} ir_checkpoint;

/* How many bytes a checkpoint of p takes now. */
size_t ir_checkpoint_size(const ir_program *p, ir_checkpoint_kind kind);
/* Copies p into `room`, of that many bytes, which has to outlive *c. */
void ir_checkpoint_take(ir_checkpoint *c, const ir_program *p,
                        ir_checkpoint_kind kind, void *room);
/* p is again what it was; *c may be restored again. */
void ir_checkpoint_restore(const ir_checkpoint *c, ir_program *p);

#endif
