/* SPDX-License-Identifier: Apache-2.0
 * Programs that tests of the interpreter write down statement by statement,
 * with a place at which the next statement goes. */
#ifndef SUPPORT_NEST_H
#define SUPPORT_NEST_H

#include "backends/interp/interp.h"
#include "ir/edit.h"
#include "support/test.h"

#define F16 ((tess_dtype){TESS_DTYPE_FLOAT, 16, 1})
#define BF16 ((tess_dtype){TESS_DTYPE_BFLOAT, 16, 1})
#define F32 ((tess_dtype){TESS_DTYPE_FLOAT, 32, 1})
#define F64 ((tess_dtype){TESS_DTYPE_FLOAT, 64, 1})
#define I8 ((tess_dtype){TESS_DTYPE_INT, 8, 1})
#define I16 ((tess_dtype){TESS_DTYPE_INT, 16, 1})
#define I32 ((tess_dtype){TESS_DTYPE_INT, 32, 1})
#define I64 ((tess_dtype){TESS_DTYPE_INT, 64, 1})
#define U8 ((tess_dtype){TESS_DTYPE_UINT, 8, 1})
#define U16 ((tess_dtype){TESS_DTYPE_UINT, 16, 1})
#define U32 ((tess_dtype){TESS_DTYPE_UINT, 32, 1})
#define U64 ((tess_dtype){TESS_DTYPE_UINT, 64, 1})

typedef struct nest {
  test_heap heap;
  ir_program p;
  interp in;
  interp_options o;
  interp_error e;
  ir_stmt root, at;      /* at: what the next statement is appended to */
  bool alt;              /* to its other list */
  ir_buf param[8];
  uint32_t nparams;
} nest;

void nest_start(nest *n);
void nest_end(nest *n);

/* A parameter or a buffer of the root's, of up to three dimensions; an
 * extent of 0 ends them. */
ir_buf nest_param(nest *n, const char *name, tess_dtype t, ir_role role,
                  int64_t d0, int64_t d1, int64_t d2);
ir_buf nest_local(nest *n, const char *name, tess_dtype t, ir_scope scope,
                  int64_t d0, int64_t d1, int64_t d2);

/* These open a statement; nest_close closes the last `k`. */
ir_expr nest_loop(nest *n, int64_t extent, ir_loop_kind kind);
ir_expr nest_thread(nest *n, int64_t extent, ir_thread tag);
ir_stmt nest_block(nest *n, const char *name);
void nest_if(nest *n, ir_expr cond);
void nest_else(nest *n);
void nest_allocate(nest *n, ir_buf b);
void nest_close(nest *n, uint32_t k);

/* An iteration variable of the block that is open; its domain is 0 to
 * extent - 1. */
ir_expr nest_iter(nest *n, ir_iter_kind kind, int64_t extent, ir_expr bind);
/* What follows is the init of the block that is open, until nest_body. */
void nest_init(nest *n);
void nest_body(nest *n);

void nest_store(nest *n, ir_buf b, ir_expr i, ir_expr j, ir_expr value);
ir_expr nest_load(nest *n, ir_buf b, ir_expr i, ir_expr j);
void nest_barrier(nest *n);
void nest_warp_barrier(nest *n);
void nest_evaluate(nest *n, ir_expr e);
ir_expr nest_num(nest *n, int64_t v);

/* Makes the function of what was written; once. */
void nest_finish(nest *n);
/* Runs it on arrays of the parameters' own types, each of the size its
 * shape says. */
tess_status nest_run(nest *n, void *const *args);
/* The sentence of the last error. */
const char *nest_error(nest *n, char *text, size_t size);

#endif
