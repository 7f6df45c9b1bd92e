/* SPDX-License-Identifier: Apache-2.0
 * A sampling primitive made for tests of the machine: the divisors of a
 * loop's extent, with a space small enough to know by heart. */
#ifndef SUPPORT_TOY_H
#define SUPPORT_TOY_H

#include "schedule/sig.h"

/* toy_divisor(loop, least = 1, decision) -> the divisor, the rest */
extern const sch_prim sch_prim_toy_divisor;
/* toy_spoil(loop): changes the loop, makes thousands of expressions, then
 * refuses. */
extern const sch_prim sch_prim_toy_spoil;
/* toy_mark(block, inline) -> a mark instead of a loop */
extern const sch_prim sch_prim_toy_mark;
/* toy_many(block, n, value, numbers) -> n integer variables 1 .. n */
extern const sch_prim sch_prim_toy_many;

#endif
