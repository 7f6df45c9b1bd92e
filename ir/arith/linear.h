/* SPDX-License-Identifier: Apache-2.0
 * Linear forms: sums of integer multiples of atoms, on the stack.  All index
 * arithmetic works on these; expressions are built at the end.
 *
 * An atom is an index expression that is neither a sum nor a multiple nor a
 * constant; terms are ordered by the creation of their atoms, and their
 * coefficients are nonzero.  Functions that return bool return false if a
 * number does not fit 64 bits or there are too many terms; the form is then
 * undefined. */
#ifndef IR_ARITH_LINEAR_H
#define IR_ARITH_LINEAR_H

#include "ir/arith/arith.h"
#include "ir/arith/range.h"
#include "ir/edit.h"
#include "ir/expr.h"

enum { LIN_MAX = 32 };

typedef struct lin_term { ir_expr atom; int64_t k; } lin_term;

typedef struct lin {
  uint32_t n;
  uint32_t built;        /* pre[i] is the node of t[0] + .. + t[i], i < built */
  bool digits;           /* some atom is a quotient or remainder */
  int64_t c;
  lin_term t[LIN_MAX];
  ir_expr pre[LIN_MAX];
} lin;

static inline void lin_zero(lin *x) {
  x->n = x->built = 0;
  x->digits = false;
  x->c = 0;
}
/* Any index expression as a linear form; if it does not fit, or wraps, as an
 * atom by itself. */
void lin_of(const ir_program *p, ir_expr e, lin *out);
bool lin_add_const(lin *x, int64_t c);
bool lin_add_term(const ir_program *p, lin *x, ir_expr atom, int64_t k);
/* x += k * y. */
bool lin_add(const ir_program *p, lin *x, const lin *y, int64_t k);
bool lin_scale(lin *x, int64_t k);
/* x = a - b. */
bool lin_diff(const ir_program *p, ir_expr a, ir_expr b, lin *x);
void lin_copy(lin *dst, const lin *src);
void lin_remove(lin *x, uint32_t i);
/* Value ranges of the terms without the constant, and of the whole form. */
arith_range lin_term_range(const ir_program *p, const lin *x);
arith_range lin_range(const ir_program *p, const lin *x);
/* A tighter range, which relates quotients, minima and maxima that depend on
 * each other (tight.c); leaves no new nodes. */
arith_range lin_tight_range(ir_program *p, const lin *x);
/* Is x one atom, once, and nothing else? */
static inline bool lin_is_atom(const lin *x, ir_expr atom) {
  return x->n == 1 && x->c == 0 && x->t[0].k == 1 && x->t[0].atom == atom;
}
/* The canonical node. */
ir_expr lin_build(ir_program *p, lin *x);
/* The sum e with map(ud, atom) for each of its atoms, built once; 0: it does
 * not fit, is an atom itself, or map returned 0. */
ir_expr lin_map(ir_program *p, ir_expr e,
                ir_expr (*map)(void *ud, ir_expr atom), void *ud);

/* Quotient and remainder of x by c > 0; either may be NULL (divmod.c). */
bool lin_divmod(ir_program *p, const lin *x, int64_t c, lin *q, lin *r);
/* Polynomial division: x = whole * b + rest for a b that is not constant;
 * false: no term of x is divisible (quotient.c). */
bool lin_divide_by(ir_program *p, const lin *x, ir_expr b, lin *whole,
                   lin *rest);
/* Recombines quotients and remainders of one dividend (digits.c). */
bool lin_recombine(ir_program *p, lin *x);

/* (var // d) % m; m 0: var // d, the leading digit. */
typedef struct lin_digit { ir_var var; int64_t d, m; } lin_digit;
bool lin_as_digit(const ir_program *p, ir_expr atom, lin_digit *out);

/* Appends the factors of an atom to the *n in f, in order of creation; false:
 * too many (simplify.c). */
enum { LIN_FACTORS = 16 };
bool lin_factors(const ir_program *p, ir_expr atom, ir_expr *f, uint32_t *n);

/* a op b for a comparison, a minimum or maximum (compare.c, minmax.c). */
ir_expr arith_compare(ir_program *p, ir_op op, ir_expr a, ir_expr b);
ir_expr arith_minmax(ir_program *p, ir_op op, ir_expr a, ir_expr b);
/* a // b, a % b for any b (divmod.c). */
ir_expr arith_divide_by(ir_program *p, ir_op op, ir_expr a, ir_expr b);

#endif
