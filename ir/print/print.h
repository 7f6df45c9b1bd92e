/* SPDX-License-Identifier: Apache-2.0
 * State of the printer: names in scope, indentation, output. */
#ifndef IR_PRINT_PRINT_H
#define IR_PRINT_PRINT_H

#include "ir/build/describe.h"
#include "ir/edit.h"
#include "ir/query.h"

/* Names are assigned as binders are visited, and are unique among those in
 * scope: x, x_1, x_2, ... */
typedef struct printer {
  const ir_program *p;
  const ir_print_opts *o;
  strbuf *out;
  arena scratch;
  const char **var, **buf; /* assigned names, NULL: none yet */
  VEC(const char *) seen;  /* names in scope */
  int indent;
  ir_stmt of;              /* whose line it is */
  uint32_t budget; /* nodes that an expression may still print */
  uint8_t *stated; /* by block: PRINT_STATES_* */
  ir_builder b;    /* with a copy of the program, to infer that */
} printer;

/* What the reader would not infer of a block (ir/read/block.c), so that it is
 * printed. */
enum { PRINT_STATES_REGIONS = 1, PRINT_STATES_REDUCER = 2 };
void print_find_stated(printer *pr);
/* "sum float32", or its definition. */
void print_reducer(printer *pr, uint32_t reducer);

const char *print_var(printer *pr, ir_var v);
const char *print_buf(printer *pr, ir_buf b);
/* Assigns v, or b, a name that is unique in scope. */
void print_bind_var(printer *pr, ir_var v);
void print_bind_buf(printer *pr, ir_buf b);

/* A name as it can be read back: in quotes if it is no identifier. */
void print_name(strbuf *out, const char *name);
/* With ".0" where it would look like an integer. */
void print_real(strbuf *out, double f);
void print_expr(printer *pr, ir_expr e);
/* The same where nothing says the type of its literals. */
void print_untyped_expr(printer *pr, ir_expr e);
void print_region(printer *pr, ir_region r);
void print_value(printer *pr, ir_val v);
/* {key = value, ...} with a space before it; nothing if there are none. */
void print_annos(printer *pr, uint32_t anno);
/* "name: float32[4, n] in shared", with any attribute that is not the
 * default. */
void print_buf_decl(printer *pr, ir_buf b, const char *role);
/* The head of a statement; of a block with the iters on one line. */
void print_head(printer *pr, ir_stmt s);
/* The lines of a statement and all nested in it. */
void print_stmt(printer *pr, ir_stmt s);

/* Runs f over a printer for `out`; if memory runs out, `out` turns bad. */
void print_run(const ir_program *p, const ir_print_opts *o, strbuf *out,
               void (*f)(printer *pr, uint32_t what), uint32_t what);

#endif
