/* SPDX-License-Identifier: Apache-2.0
 * A map from a box of variables to bindings, while it is understood: its
 * variables are changed for others, one to one, until every binding is a sum
 * of digits of variables. */
#ifndef IR_ARITH_IMAP_H
#define IR_ARITH_IMAP_H

#include "ir/arith/linear.h"

enum { IMAP_VARS = 64, IMAP_PREDS = 16, IMAP_PIECES = 96 };

/* A variable of the box: 0 .. extent - 1, independent of the others. */
typedef struct imap_var {
  ir_var var;
  int64_t extent;        /* 0: not a constant, */
  ir_expr size;          /* but this */
} imap_var;

typedef struct imap {
  ir_program *p;
  arena *scratch;
  uint32_t nvar, npred, nout, nexpr;
  imap_var var[IMAP_VARS];
  ir_expr pred[IMAP_PREDS]; /* `sum < c`, all of them hold */
  ir_expr *expr;         /* nout bindings, then what else is followed */
  bool restricted;       /* by more than pred tells */
} imap;

/* Digit (var // d) % ext of a variable, times k, in binding `out`. */
typedef struct imap_piece {
  uint32_t var, out;     /* positions */
  bool top;              /* all of var // d; ext counts its values */
  int64_t d, k;
  int64_t ext;           /* 0: not a constant */
} imap_piece;

/* The map of `bind` - `lo` (lo may be NULL: 0), with `extra` further
 * expressions to follow.  false: too much of something. */
bool imap_init(imap *m, ir_program *p, arena *scratch, uint32_t nin,
               const ir_var *in, const ir_expr *input_extent, uint32_t nout,
               const ir_expr *bind, const ir_expr *lo, ir_expr pred,
               uint32_t extra);
/* Changes variables until nothing is left to change. */
void imap_reduce(imap *m);
/* The bindings as sums of digits, sorted by binding and then by the size of
 * the factor; -1: they are not all such sums.  offset: their constants. */
int imap_pieces(const imap *m, imap_piece *piece, int64_t *offset);
/* Do these pieces tell the value of every variable? */
bool imap_is_injective(const imap *m, const imap_piece *piece, int n,
                       const int64_t *offset);
/* What the map is; extent: of the bindings, to be covered. */
arith_map_kind imap_decide(const imap *m, const ir_expr *extent);

#endif
