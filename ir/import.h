/* SPDX-License-Identifier: Apache-2.0
 * Copying statements and functions between programs.  Only what they use is
 * copied, and it keeps its order of creation, so that canonical sums stay
 * canonical.
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
  /* By index in src: 1 if it is needed, then its index in dst; 0: not
   * needed. */
  ir_expr *node;
  ir_var *var;
  ir_buf *buf;
  uint32_t *reducer;
} ir_import;

void ir_import_init(ir_import *m, ir_program *dst, const ir_program *src,
                    arena *scratch);
/* Marks a statement and all nested in it. */
void ir_import_need(ir_import *m, ir_stmt s);
/* A function: its root, parameters and sizes. */
void ir_import_need_func(ir_import *m, uint32_t f);
void ir_import_need_reducer(ir_import *m, uint32_t i);
void ir_import_need_buf(ir_import *m, ir_buf b);
/* Closes the marks under use; ir_import_tables does so, too. */
void ir_import_close(ir_import *m);
void ir_import_tables(ir_import *m);
ir_stmt ir_import_stmt(ir_import *m, ir_stmt s);
/* Adds the functions first .. end - 1 of src to dst. */
void ir_import_some_funcs(ir_program *dst, const ir_program *src,
                          arena *scratch, uint32_t first, uint32_t end);
/* Adds every function of src to dst, in order. */
void ir_import_funcs(ir_program *dst, const ir_program *src, arena *scratch);

#endif
