/* SPDX-License-Identifier: Apache-2.0
 * Describing programs in tests: short names for the builder's calls, each of
 * which must succeed. */
#ifndef SUPPORT_DESCRIBING_H
#define SUPPORT_DESCRIBING_H

#include "ir/build/describe.h"
#include "support/test.h"

#define F16 ((tess_dtype){TESS_DTYPE_FLOAT, 16, 1})
#define F32 ((tess_dtype){TESS_DTYPE_FLOAT, 32, 1})
#define I8 ((tess_dtype){TESS_DTYPE_INT, 8, 1})
#define U64 ((tess_dtype){TESS_DTYPE_UINT, 64, 1})
#define I32 ((tess_dtype){TESS_DTYPE_INT, 32, 1})
#define I64 ((tess_dtype){TESS_DTYPE_INT, 64, 1})
#define U8 ((tess_dtype){TESS_DTYPE_UINT, 8, 1})

typedef struct describing {
  test_heap heap;
  err_state err;
  ir_builder b;
  ir_program p, q; /* the last program made; another one */
  arena scratch;
  strbuf text;
} describing;

void describing_start(describing *d);
void describing_end(describing *d);
/* Runs f inside mem_protect, which must succeed. */
void describing_run(describing *d, void (*f)(describing *d));
/* The status is a failure with this message. */
void describing_fails(describing *d, tess_status s, const char *message);
/* The last program reads so, and verifies. */
void describing_expect(describing *d, const char *text);
/* Printed with regions, it contains the text. */
void describing_regions(describing *d, const char *text);

describe_expr d_int(describing *d, int64_t v);  /* int64 */
describe_expr d_lit(describing *d, double v);   /* literal */
describe_expr d_ilit(describing *d, int64_t v); /* integer literal */
describe_expr d_var(describing *d, ir_var v);
describe_expr d_op(describing *d, const char *op, describe_expr x,
                   describe_expr y);
describe_expr d_call(describing *d, const char *fn, describe_expr x);
/* A placeholder of up to three dimensions; an extent of 0 ends them. */
ir_buf d_input(describing *d, const char *name, tess_dtype t, int64_t d0,
               int64_t d1, int64_t d2);
describe_expr d_load(describing *d, ir_buf b, describe_expr i, describe_expr j);
ir_var d_axis(describing *d, const char *name, int64_t extent);
/* Sum, prod, min or max over one axis. */
describe_expr d_reduce(describing *d, const char *name, describe_expr x,
                       ir_var axis);
/* Begins a compute over extents that end with 0, gives its variables. */
void d_begin(describing *d, const char *name, int64_t d0, int64_t d1,
             describe_expr *i, describe_expr *j);
ir_buf d_end(describing *d, describe_expr body);
void d_program(describing *d, const char *name, uint32_t nin, const ir_buf *in,
               ir_buf out);

#endif
