/* SPDX-License-Identifier: Apache-2.0
 * Memory planning: greedy by size with offsets (Pisarchyk and Lee, 2001.03288),
 * where the greatest blocks are placed first, each in the tightest gap; then
 * again with the topmost block first, while that may help. */
#include "graph/plan.h"

#include <stdlib.h>
#include <string.h>

static uint64_t padded(uint64_t bytes) {
  return (bytes + PLAN_ALIGN - 1) / PLAN_ALIGN * PLAN_ALIGN;
}

/* Greater ones first; of equal ones those that are made first. */
static int by_size(const void *x, const void *y) {
  const plan_block *a = *(plan_block *const *)x, *b = *(plan_block *const *)y;
  if (a->bytes != b->bytes) return a->bytes < b->bytes ? 1 : -1;
  if (a->from != b->from) return a->from < b->from ? -1 : 1;
  return a < b ? -1 : a > b;
}

static int by_offset(const void *x, const void *y) {
  const plan_block *a = *(plan_block *const *)x, *b = *(plan_block *const *)y;
  if (a->offset != b->offset) return a->offset < b->offset ? -1 : 1;
  return a < b ? -1 : a > b;
}

static bool overlap(const plan_block *a, const plan_block *b) {
  return a->from <= b->to && b->from <= a->to;
}

/* The tightest gap between `near`, sorted by offset, that has room, else the
 * end. */
static uint64_t find_gap(plan_block *const *near, uint32_t n, uint64_t bytes) {
  uint64_t end = 0, best = 0, least = UINT64_MAX;
  for (uint32_t i = 0; i < n; i++) {
    uint64_t at = near[i]->offset;
    if (at > end && at - end >= bytes && at - end < least) {
      least = at - end;
      best = end;
    }
    uint64_t after = at + padded(near[i]->bytes);
    if (after > end) end = after;
  }
  return least == UINT64_MAX ? end : best;
}

/* Each in turn where it fits; the bytes of the arena. */
static uint64_t place_in_order(plan_block *const *order, uint32_t n,
                               plan_block **near) {
  uint64_t end = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t nnear = 0;
    for (uint32_t k = 0; k < i; k++)
      if (overlap(order[k], order[i])) near[nnear++] = order[k];
    if (nnear) qsort(near, nnear, sizeof *near, by_offset);
    uint64_t bytes = padded(order[i]->bytes);
    order[i]->offset = find_gap(near, nnear, bytes);
    if (order[i]->offset + bytes > end) end = order[i]->offset + bytes;
  }
  return end;
}

static void topmost_first(plan_block **order, uint32_t n, uint64_t end) {
  uint32_t i = 0;
  while (i < n && order[i]->offset + padded(order[i]->bytes) < end) i++;
  if (i == n) return;
  plan_block *top = order[i];
  memmove(order + 1, order, i * sizeof *order);
  order[0] = top;
}

static void keep_offsets(const plan_block *block, uint32_t n,
                         uint64_t *offset) {
  for (uint32_t i = 0; i < n; i++) offset[i] = block[i].offset;
}

uint64_t plan_place(plan_block *block, uint32_t n, arena *scratch) {
  enum { ROUNDS = 100 };
  plan_block **order = arena_array(scratch, plan_block *, n + 1);
  plan_block **near = arena_array(scratch, plan_block *, n + 1);
  uint64_t *offset = arena_array(scratch, uint64_t, n + 1);
  for (uint32_t i = 0; i < n; i++) order[i] = &block[i];
  if (n) qsort(order, n, sizeof *order, by_size);
  uint64_t bound = plan_bound(block, n, scratch);
  uint64_t end = place_in_order(order, n, near), least = end;
  keep_offsets(block, n, offset);
  for (int round = 0; round < ROUNDS && least > bound; round++) {
    topmost_first(order, n, end);
    end = place_in_order(order, n, near);
    if (end >= least) continue;
    least = end;
    keep_offsets(block, n, offset);
  }
  for (uint32_t i = 0; i < n; i++) block[i].offset = offset[i];
  return least;
}

uint64_t plan_bound(const plan_block *block, uint32_t n, arena *scratch) {
  uint32_t steps = 0;
  for (uint32_t i = 0; i < n; i++)
    if (block[i].to > steps) steps = block[i].to;
  uint64_t *change = arena_zalloc(scratch, (steps + 2) * sizeof *change);
  uint64_t live = 0, most = 0;
  for (uint32_t i = 0; i < n; i++) {
    change[block[i].from] += padded(block[i].bytes);
    change[block[i].to + 1] -= padded(block[i].bytes);
  }
  for (uint32_t i = 0; i <= steps; i++) {
    live += change[i];
    if (live > most) most = live;
  }
  return most;
}

uint64_t plan_sum(const plan_block *block, uint32_t n) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < n; i++) sum += padded(block[i].bytes);
  return sum;
}
