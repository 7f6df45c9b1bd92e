/* SPDX-License-Identifier: Apache-2.0
 * Random index expressions over a few variables with small domains. */
#ifndef SUPPORT_RANDOM_H
#define SUPPORT_RANDOM_H

#include "ir/edit.h"
#include "support/expr.h"

typedef struct random_exprs {
  ir_program *p;
  rng *r;
  uint32_t n;
  ir_var var[8];
  bool plain;            /* only + - * // % by constants */
  bool made;             /* through ir_binary, not as they are */
} random_exprs;

/* n variables named from "i" on; some start below or above 0. */
void random_vars(random_exprs *x, uint32_t n);
ir_expr random_index(random_exprs *x, int depth);
ir_expr random_condition(random_exprs *x, int depth);

#endif
