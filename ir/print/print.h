/* SPDX-License-Identifier: Apache-2.0
 * What the files of the printer share. */
#ifndef IR_PRINT_PRINT_H
#define IR_PRINT_PRINT_H

#include "ir/edit.h"
#include "ir/query.h"

/* Names are given out as binders are met and are unique among those that
 * can be seen at the same place: x, x_1, x_2, ... */
typedef struct printer {
  const ir_program *p;
  const ir_print_opts *o;
  strbuf *out;
  arena scratch;
  const char **var, **buf; /* the names given, NULL: none yet */
  VEC(const char *) seen;  /* names that can be seen now */
  int indent;
  uint32_t budget; /* nodes an expression may still print */
} printer;

const char *print_var(printer *pr, ir_var v);
const char *print_buf(printer *pr, ir_buf b);
/* Gives v, or b, a name that is new here. */
void print_bind_var(printer *pr, ir_var v);
void print_bind_buf(printer *pr, ir_buf b);

void print_expr(printer *pr, ir_expr e);
void print_region(printer *pr, ir_region r);
void print_value(printer *pr, ir_val v);
/* {key = value, ...}, with a space before; nothing when there are none. */
void print_annos(printer *pr, uint32_t anno);
/* "name: float32[4, n] in shared" with what else is not usual. */
void print_buf_decl(printer *pr, ir_buf b, const char *role);
/* A statement's own text; of a block with the iterations on one line. */
void print_head(printer *pr, ir_stmt s);

/* Runs f over a printer for `out`; memory that runs out spoils `out`. */
void print_run(const ir_program *p, const ir_print_opts *o, strbuf *out,
               void (*f)(printer *pr, uint32_t what), uint32_t what);

#endif
