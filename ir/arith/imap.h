/* SPDX-License-Identifier: Apache-2.0
 * State of affine iteration map detection: a map from a box of variables to
 * bindings.  Bijective changes of variables transform it until every binding is
 * a sum of digits of variables. */
#ifndef IR_ARITH_IMAP_H
#define IR_ARITH_IMAP_H

#include "ir/arith/arith.h"
#include "ir/arith/linear.h"
#include "ir/edit.h"

enum { IMAP_VARS = 64, IMAP_PREDS = 16, IMAP_PIECES = 96 };

/* A variable of the box: 0 .. extent - 1, independent of the others. */
typedef struct imap_var {
  ir_var var;
  int64_t extent;        /* 0: not a constant, */
  ir_expr size;          /* but this */
  bool turned, shifted;  /* made by imap_reverse_or_shift */
} imap_var;

typedef struct imap {
  ir_program *p;
  arena *scratch;
  uint32_t nvar, npred, nout, nexpr;
  imap_var var[IMAP_VARS];
  ir_expr pred[IMAP_PREDS]; /* `sum < c`, all of them hold */
  ir_expr *expr;         /* nout bindings, then what else is followed */
  bool restricted;       /* by more than pred */
} imap;

/* k times digit (var // d) % ext of a variable, in binding `out`. */
typedef struct imap_piece {
  uint32_t var, out;     /* positions */
  bool top;              /* the leading digit, var // d; ext counts its
                          * values */
  int64_t d, k;
  int64_t ext;           /* 0: not constant */
} imap_piece;

/* The map of `bind` - `lo` (lo may be NULL: 0), with `extra` further
 * expressions that are transformed along. false: a limit is exceeded. */
bool imap_init(imap *m, ir_program *p, arena *scratch, uint32_t nin,
               const ir_var *in, const ir_expr *input_extent, uint32_t nout,
               const ir_expr *bind, const ir_expr *lo, ir_expr pred,
               uint32_t extra);
/* ---- changes of variables, each bijective ------------------------------- */

/* The index of v among the variables; nvar: it is none of them. */
uint32_t imap_find_var(const imap *m, ir_var v);
/* A variable of `extent` values, or, if that is 0, of `size`. */
ir_var imap_new_var(imap *m, int64_t extent, ir_expr size);
void imap_remove_var(imap *m, ir_var v);
/* Adds the conjuncts of e as predicates. */
void imap_add_pred(imap *m, ir_expr e);
void imap_substitute(imap *m, ir_subst *s);
/* Does d divide the extent of the variable? */
bool imap_divides(const imap *m, const imap_var *v, int64_t d);
/* Removes remainders from dividends, so that whole variables replace them
 * (imap_absorb.c); false: nothing changed. */
bool imap_absorb(imap *m);
/* Replaces a remainder (x + rest) % m of a variable x that takes m values and
 * occurs nowhere else by a variable (imap_rotate.c); false: there is none. */
bool imap_rotate(imap *m);
/* Fuses the variables of x, if that is a mixed radix of `count` values. */
bool imap_fuse_terms(imap *m, lin *x, int64_t count);
/* Splits a variable that is divided by a symbolic size into quotient and
 * remainder (imap_shift.c, as the next); false: there is none. */
bool imap_split_by_size(imap *m);
/* Replaces a variable that is divided with a negative coefficient, or with a
 * constant offset, by a reversed or a shifted one; false: there is none. */
bool imap_reverse_or_shift(imap *m);
/* Changes variables to a fixed point. */
void imap_reduce(imap *m);
/* The bindings as sums of digits, sorted by binding and then by magnitude of
 * the coefficient; -1: some are not such sums. offset: their constants. */
int imap_pieces(const imap *m, imap_piece *piece, int64_t *offset);
/* Do the pieces determine every variable, solving one binding after the other?
 * order: the bindings in the order in which they are solved, *norder of them;
 * fresh[i]: piece i is solved from its binding, whose other pieces are of
 * variables solved before.  Both have room for as many as there are pieces and
 * bindings. */
bool imap_determines(const imap *m, const imap_piece *piece, int n, bool *fresh,
                     uint32_t *order, uint32_t *norder);
/* Which properties the map has; extent: of the bindings, to be covered. */
arith_map_kind imap_decide(const imap *m, const ir_expr *extent);

#endif
