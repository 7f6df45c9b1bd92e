/* SPDX-License-Identifier: Apache-2.0
 * Random test values for checking the algebraic laws of reducers: in rounds,
 * each of values of one kind, since most violations occur among small numbers,
 * around a constant that is compared with, or among large ones.  The random
 * streams are fixed, so that the result is deterministic. */
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

/* Values near e, if it is a constant, are drawn, too. */
void describe_draw_near(describe_draw *d, ir_expr e);
void describe_draw_round(describe_draw *d, uint32_t round);
/* n values of leaf e (which is not computed); at most DESCRIBE_DIFFERENT of
 * them differ. */
enum { DESCRIBE_DIFFERENT = 8 };
void describe_draw_leaf(describe_draw *d, ir_expr e, uint32_t n,
                        describe_word *out);

#endif
