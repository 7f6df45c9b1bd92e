/* SPDX-License-Identifier: Apache-2.0
 * Vectorized evaluation of a builder's expressions for random testing.  Leaves
 * are variables, loads, and what cannot be computed here; their values are
 * given for up to DESCRIBE_LANES lanes at once.
 *
 * Floats are evaluated in double whatever their type is, so that differences
 * are not due to rounding. */
#ifndef IR_BUILD_DESCRIBE_EVAL_H
#define IR_BUILD_DESCRIBE_EVAL_H

#include "ir/edit.h"

enum { DESCRIBE_LANES = 64 };

typedef union describe_word {
  int64_t i; /* integers and bools, as in ir/scalar.h */
  double f;
} describe_word;

/* Flags of a value or of one that it was computed from: NaN, infinite. */
enum { DESCRIBE_UNDEFINED = 1, DESCRIBE_INFINITE = 2 };

typedef struct describe_leaf {
  ir_expr e;
  uint32_t slot;
} describe_leaf;

/* Branch coverage of a step: how often a comparison was true and false; how
 * often a minimum or maximum was the first and the second operand. */
typedef struct describe_ways {
  uint32_t one, other;
} describe_ways;

/* Slots hold DESCRIBE_LANES values each. */
typedef struct describe_eval {
  const ir_program *p;
  uint32_t nslot, nstep, nleaf;
  struct describe_step *step;
  ir_expr *in; /* the expression in a slot */
  describe_leaf *leaf;
  uint32_t *root;       /* the slot of each expression */
  describe_word *value; /* of leaves: filled by the caller */
  uint8_t *flaws;       /* of each value */
  bool *flawed;         /* of a slot: some flag is set */
  describe_ways *ways;  /* of a step */
} describe_eval;

/* Expressions nested deeper than `deepest` are leaves; NULL: too many steps. */
describe_eval *describe_eval_new(const ir_program *p, arena *scratch,
                                 uint32_t n, const ir_expr *e,
                                 uint32_t deepest);
/* Computes the first n lanes of all slots from those of the leaves. */
void describe_eval_run(describe_eval *v, uint32_t n);

/* Has every comparison, minimum and maximum taken both outcomes often enough,
 * over all runs?  Comparisons with an infinite constant, or of a value with
 * itself, do not count: they only detect NaN. */
bool describe_eval_both_ways(const describe_eval *v);

static inline describe_word *describe_lanes(const describe_eval *v,
                                            uint32_t slot) {
  return v->value + (size_t)slot * DESCRIBE_LANES;
}
static inline uint8_t describe_flaws(const describe_eval *v, uint32_t slot,
                                     uint32_t lane) {
  return v->flawed[slot] ? v->flaws[(size_t)slot * DESCRIBE_LANES + lane] : 0;
}

/* The value of a constant. */
bool describe_constant_of(const ir_program *p, ir_expr e, describe_word *out);

#endif
