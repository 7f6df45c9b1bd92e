/* SPDX-License-Identifier: Apache-2.0
 * A nest of loops under splitting and fusing, and what becomes of some
 * expressions over the loops it began with. */
#ifndef SUPPORT_CHAIN_H
#define SUPPORT_CHAIN_H

#include "ir/edit.h"
#include "support/expr.h"

enum { CHAIN_LOOPS = 8, CHAIN_EXPRS = 4 };

typedef struct chain {
  ir_program *p;
  rng *r;
  uint32_t n, nexpr;
  ir_var loop[CHAIN_LOOPS];
  int64_t extent[CHAIN_LOOPS];
  ir_expr expr[CHAIN_EXPRS]; /* over the loops as they stand now */
  ir_expr pred;             /* 0: none; from splits that leave a rest */
} chain;

/* What one step did, to undo it. */
typedef struct chain_step {
  bool is_split;
  uint32_t at[3];        /* one loop and the two it becomes, or became */
  int64_t factor;
} chain_step;

/* A loop of `extent` iterations, in place `at`. */
ir_var chain_add(chain *s, uint32_t at, int64_t extent);
/* Loop `at` becomes two, in these places of what is then there; the inner one
 * has `factor` iterations. */
void chain_split(chain *s, uint32_t at, int64_t factor, uint32_t to0,
                uint32_t to1);
/* Loops a (outer) and b become one, in place `to` of what is then there. */
void chain_fuse(chain *s, uint32_t a, uint32_t b, uint32_t to);
/* A random step anywhere; exact: only splits that leave no rest. */
chain_step chain_random(chain *s, bool exact);
/* Undoes a step of an exact chain. */
void chain_undo(chain *s, const chain_step *t);

#endif
