/* SPDX-License-Identifier: Apache-2.0
 * Memory planning: where in one arena what lives for a time is. */
#ifndef GRAPH_PLAN_H
#define GRAPH_PLAN_H

#include "base/arena.h"

enum { PLAN_ALIGN = 64 };

/* What lives from the step that makes it to the last that takes it. */
typedef struct plan_block {
  uint64_t bytes;
  uint32_t from, to;     /* steps, from <= to */
  uint64_t offset;       /* where it is put; a multiple of PLAN_ALIGN */
} plan_block;

/* Puts n blocks where none overlaps another that lives at the same time; the
 * bytes of the arena. */
uint64_t plan_place(plan_block *block, uint32_t n, arena *scratch);
/* The most bytes that live at once, which no plan can be below, and the sum of
 * all. */
uint64_t plan_bound(const plan_block *block, uint32_t n, arena *scratch);
uint64_t plan_sum(const plan_block *block, uint32_t n);

#endif
