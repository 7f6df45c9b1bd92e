/* SPDX-License-Identifier: Apache-2.0
 * Values to try a reducer with: in rounds, each of values of one kind, since
 * most that goes wrong does among small numbers, around a constant that
 * something is compared with, or among large ones.  All are drawn from streams
 * that are always the same. */
#ifndef IR_BUILD_DESCRIBE_DRAW_H
#define IR_BUILD_DESCRIBE_DRAW_H

#include "base/rng.h"
#include "ir/build/describe_eval.h"
#include "ir/edit.h"

enum { DESCRIBE_KNOWN = 16 };

typedef struct describe_draw {
  const ir_program *p;
  rng random; /* of the round */
  uint32_t round, nknown;
  struct {
    double f;
    int64_t i;
  } known[DESCRIBE_KNOWN]; /* constants */
} describe_draw;

/* Values around e, if it is a constant, are drawn, too. */
void describe_draw_near(describe_draw *d, ir_expr e);
void describe_draw_round(describe_draw *d, uint32_t round);
/* n values that e, which is not computed, may have; at most as many differ as
 * DESCRIBE_DIFFERENT. */
enum { DESCRIBE_DIFFERENT = 8 };
void describe_draw_leaf(describe_draw *d, ir_expr e, uint32_t n,
                        describe_word *out);

#endif
