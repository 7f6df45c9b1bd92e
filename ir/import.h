/* SPDX-License-Identifier: Apache-2.0
 * Statements of one program made again in another: only what they use comes
 * along, and what comes keeps its order of creation, so that sums that were
 * canonical stay so.
 *
 *   ir_import_init; ir_import_need for each statement and buffer;
 *   ir_import_tables; then ir_import_stmt for each statement. */
#ifndef IR_IMPORT_H
#define IR_IMPORT_H

#include "ir/edit.h"

typedef struct ir_import {
  ir_program *dst;
  const ir_program *src;
  arena *scratch;
  /* By index in src: what is needed, then its index in dst (0: nothing).
   * The mark for "needed" is 1 and is replaced when it is made. */
  ir_expr *node;
  ir_var *var;
  ir_buf *buf;
  uint32_t *reducer;
} ir_import;

void ir_import_init(ir_import *m, ir_program *dst, const ir_program *src,
                    arena *scratch);
/* A statement and all below it. */
void ir_import_need(ir_import *m, ir_stmt s);
/* A function: its root, parameters and sizes. */
void ir_import_need_func(ir_import *m, uint32_t f);
void ir_import_need_reducer(ir_import *m, uint32_t i);
void ir_import_need_buf(ir_import *m, ir_buf b);
/* Marks what is needed indirectly, too; ir_import_tables does it as well. */
void ir_import_close(ir_import *m);
void ir_import_tables(ir_import *m);
ir_stmt ir_import_stmt(ir_import *m, ir_stmt s);
/* The functions first .. end - 1 of src, at once, are added to dst. */
void ir_import_some_funcs(ir_program *dst, const ir_program *src,
                          arena *scratch, uint32_t first, uint32_t end);
/* All of it at once: every function of src is added to dst, in order. */
void ir_import_funcs(ir_program *dst, const ir_program *src, arena *scratch);

#endif
