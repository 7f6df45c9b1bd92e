/* SPDX-License-Identifier: Apache-2.0
 * Random integer expressions and their values, for brute force. */
#ifndef SUPPORT_EXPR_H
#define SUPPORT_EXPR_H

#include "base/rng.h"
#include "ir/edit.h"
#include "support/test.h"

/* $TESS_SEED, else a fixed one; said on stderr. */
uint64_t test_seed(void);
/* $TESS_RUNS, else n. */
uint32_t test_runs(uint32_t n);
/* lo .. hi, both included. */
int64_t test_pick(rng *r, int64_t lo, int64_t hi);

/* The value of an integer or bool expression, value[v] being that of the
 * variable v; a load gives a hash of where it reads.  Asserts that every
 * node's value lies within the node's bounds. */
int64_t test_eval(const ir_program *p, ir_expr e, const int64_t *value);
/* The same expression built again through ir_binary and its like, variable v
 * replaced by map[v] where v < nmap and map[v] is not 0. */
ir_expr test_rebuild(ir_program *p, ir_expr e, uint32_t nmap,
                     const ir_expr *map);
/* A node as it is. */
ir_expr test_raw(ir_program *p, ir_op op, ir_expr a, ir_expr b);

/* Calls f for every point of the box of n variables (their bounds), values in
 * value[var]; stops when f gives false, and then gives false. */
bool test_each_point(const ir_program *p, uint32_t n, const ir_var *var,
                     int64_t *value, bool (*f)(void *ud), void *ud);

/* The text of an expression, for messages; overwritten by every eighth
 * call. */
const char *test_text(const ir_program *p, ir_expr e);

#endif
