/* SPDX-License-Identifier: Apache-2.0
 * What expressions of a builder's program are for some values of their leaves:
 * of variables, loads, and whatever else cannot be computed here.  Computed for
 * up to DESCRIBE_LANES values at once, one operation after the other.
 *
 * Floats are computed in double whatever their type is, so that what differs
 * is not rounding. */
#ifndef IR_BUILD_DESCRIBE_EVAL_H
#define IR_BUILD_DESCRIBE_EVAL_H

#include "ir/edit.h"

enum { DESCRIBE_LANES = 64 };

typedef union describe_word {
  int64_t i; /* of integers and truth values, as ir/scalar.h has them */
  double f;
} describe_word;

/* Of a value, and of those that it was made of: not a number, infinite. */
enum { DESCRIBE_UNDEFINED = 1, DESCRIBE_INFINITE = 2 };

typedef struct describe_leaf {
  ir_expr e;
  uint32_t slot;
} describe_leaf;

/* How often a step has decided: a comparison that it is true, or false; the
 * lesser or greater of two for the first, or the second. */
typedef struct describe_ways {
  uint32_t one, other;
} describe_ways;

/* Slots hold DESCRIBE_LANES values each. */
typedef struct describe_eval {
  const ir_program *p;
  uint32_t nslot, nstep, nleaf;
  struct describe_step *step;
  ir_expr *in; /* what a slot holds */
  describe_leaf *leaf;
  uint32_t *root;       /* the slot of each expression */
  describe_word *value; /* of leaves: the caller's to fill */
  uint8_t *flaws;       /* of each value */
  bool *flawed;         /* of a slot: some of these are not 0 */
  describe_ways *ways;  /* of a step */
} describe_eval;

/* What nests deeper than `deepest` is a leaf; NULL: there are too many
 * operations. */
describe_eval *describe_eval_new(const ir_program *p, arena *scratch,
                                 uint32_t n, const ir_expr *e,
                                 uint32_t deepest);
/* The first n values of all slots, from those of the leaves. */
void describe_eval_run(describe_eval *v, uint32_t n);

/* Has every step that decides gone either way often enough, in all the runs?
 * Comparisons with an infinite constant, or of a value with itself, do not
 * count: they only tell what is not a number. */
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
