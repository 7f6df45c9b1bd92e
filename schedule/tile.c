/* SPDX-License-Identifier: Apache-2.0
 * Tile sizes: factors that multiply to the extent of a loop. */
#include "schedule/tile.h"
#include <math.h>

/* Factors are found by division, so that this many takes milliseconds. */
#define MAX_EXTENT ((int64_t)1 << 44)

bool sch_tile_is_open(const sch_state *s, ir_stmt loop) {
  int64_t e;
  return !ir_const_int(s->p, ir_st(s->p, loop)->extent, &e);
}

void sch_tile_open(const sch_state *s, ir_stmt loop, int64_t *d) {
  if (sch_tile_is_open(s, loop)) d[0] = SCH_OPEN;
}

int64_t sch_tile_extent_of(const sch_state *s, ir_stmt loop) {
  int64_t e = 1;
  ir_const_int(s->p, ir_st(s->p, loop)->extent, &e);
  return e;
}

bool sch_tile_extent(sch_state *s, ir_stmt loop, int64_t n, int64_t *extent) {
  *extent = sch_tile_extent_of(s, loop);
  if (*extent < 1) return sch_refuse(s, SCH_R_EXTENT_EMPTY, .s = {loop});
  if (*extent > MAX_EXTENT)
    return sch_refuse(s, SCH_R_TILE_EXTENT, .s = {loop}, .n = {*extent});
  if (n < 1 || n > FACTOR_MAX_PARTS)
    return sch_refuse(s, SCH_R_TILE_PARTS, .n = {n, FACTOR_MAX_PARTS});
  return true;
}

bool sch_tile_admit(sch_state *s, ir_stmt loop, int64_t want, uint32_t n,
                    const int64_t *d) {
  int64_t product = 1, extent = sch_tile_extent_of(s, loop);
  bool beyond = false, open = sch_tile_is_open(s, loop);
  if (n != want) return sch_refuse(s, SCH_R_TILE_COUNT, .n = {n, want});
  for (uint32_t i = 0; open && i < n; i++) {
    int64_t must = i ? 1 : SCH_OPEN;
    if (d[i] != must)
      return sch_refuse(s, SCH_R_TILE_OPEN, .s = {loop}, .n = {i, d[i], must});
  }
  for (uint32_t i = open ? n : 0; i < n; i++) {
    if (d[i] < 1) return sch_refuse(s, SCH_R_TILE_FACTOR, .n = {i, d[i]});
    if (!beyond) beyond = __builtin_mul_overflow(product, d[i], &product);
  }
  if (beyond)
    return sch_refuse(s, SCH_R_TILE_PRODUCT_LARGE, .s = {loop}, .n = {extent});
  if (product != extent)
    return sch_refuse(s, SCH_R_TILE_PRODUCT, .s = {loop},
                      .n = {product, extent});
  return true;
}

uint32_t sch_tile_embed(int64_t n, const int64_t *d, double *out) {
  uint32_t k = n < 16 ? (uint32_t)n : 16;
  for (uint32_t i = 0; i < k; i++) out[i] = log2(fmax((double)d[i], 1));
  return k;
}
