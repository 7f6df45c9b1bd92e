/* SPDX-License-Identifier: Apache-2.0
 * Marks as atomic the updates of reductions over blocks of threads (reduce
 * loops bound to blockIdx): other blocks update the same elements meanwhile.
 *
 *     for b in blockIdx.x: for k: C[i] = C[i] + A[i, k, b]
 * becomes
 *     for b in blockIdx.x: for k: atomic C[i] = C[i] + A[i, k, b] */
#include "ir/analysis/analysis.h"
#include "ir/query.h"
#include "lower/pass.h"

/* The loop over blocks of threads that the block reduces over; 0: none. */
static ir_stmt grid_loop_of(const ir_program *p, ir_stmt block, bool *threads) {
  ir_stmt scope = ir_scope_of(p, block), found = 0;
  *threads = false;
  for (ir_stmt l = ir_st(p, block)->parent; l != scope;
       l = ir_st(p, l)->parent) {
    *threads |= lower_is_cross(p, l, block);
    if (ir_is_grid_reduction(p, l, block)) found = l;
  }
  return found;
}

static tess_status mark_block(ir_program *p, ir_stmt block, err_state *e) {
  bool threads;
  const char *name = ir_text(p, ir_blk(p, block)->name);
  if (!grid_loop_of(p, block, &threads)) return TESS_OK;
  if (threads)
    return err_set(e, TESS_UNSUPPORTED,
                   "block %s reduces over blocks of threads and over threads; "
                   "rfactor one of the loops",
                   name);
  if (!ir_updates_atomically(p, block))
    return err_set(e, TESS_UNSUPPORTED,
                   "block %s, which reduces over blocks of threads: it is no "
                   "update of global memory that can be atomic",
                   name);
  ir_stmt_rec *update = ir_st(p, ir_st(p, block)->body);
  update->loop_kind = ir_at(p, update->value)->op;
  return TESS_OK;
}

LOWER_PASS(mark_atomics) {
  (void)scratch, (void)o;
  LOWER_EACH(p, s) {
    if (!ir_is_block(p, s) || !ir_st(p, s)->parent) continue;
    tess_status st = mark_block(p, s, e);
    if (st) return st;
  }
  return TESS_OK;
}
