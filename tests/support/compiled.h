/* SPDX-License-Identifier: Apache-2.0
 * Programs that tests write down as plain loops, and running them compiled. */
#ifndef SUPPORT_COMPILED_H
#define SUPPORT_COMPILED_H

#include "backends/backend.h"
#include "backends/runtime.h"
#include "ir/edit.h"
#include "support/test.h"

/* One kernel under test: a program being written, then loaded code. */
typedef struct compiled {
  test_heap heap;
  ir_program p;
  arena scratch;
  err_state err;
  target target;
  ir_buf param[16];
  uint32_t nparams;
  ir_stmt root;         /* its root block, to append to */
  backend_code *code;
  runtime rt;
} compiled;

void compiled_start(compiled *k);
void compiled_end(compiled *k);

/* A one-dimensional parameter; in the order of the calls. */
ir_buf compiled_param(compiled *k, tess_dtype t, int64_t n, ir_role role);
ir_buf compiled_param_of(compiled *k, tess_dtype t, ir_expr n, ir_role role);
/* A loop 0 .. extent - 1 under `parent`; its variable in *var. */
ir_stmt compiled_loop(compiled *k, ir_stmt parent, ir_expr extent,
                      ir_loop_kind kind, ir_expr *var);
void compiled_store(compiled *k, ir_stmt parent, ir_buf b, ir_expr index,
                    ir_expr value);
ir_expr compiled_load(compiled *k, ir_buf b, ir_expr index);

/* Compiles what was written as it stands (it is lowered already), and loads
 * it; the status, with k->err set. */
tess_status compiled_build(compiled *k);
/* The text for people; to be freed with str_free. */
void compiled_text(compiled *k, backend_form form, strbuf *out);
int32_t compiled_run(compiled *k, void **args, const int64_t *sizes);

#endif
