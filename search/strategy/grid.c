/* SPDX-License-Identifier: Apache-2.0
 * The strategy "grid": the whole space in its fixed order (sweep.c). */
#include "search/strategy/strategy.h"

/* Decisions that are tried for a proposal, at most. */
enum { TRIES = 4096 };

typedef struct enumeration {
  strategy_batch *b;
  tess_session *s;
  uint32_t n, *got;
  tess_candidate *out;
} enumeration;

static tess_status enumerate(void *ud) {
  const enumeration *x = ud;
  strategy_batch *b = x->b;
  if (!b->sweep) sweep_new(b->heap, x->s, &b->sweep);
  sweep_on(b->sweep, b, x->s, (uint64_t)TRIES * x->n, x->n, x->out, x->got);
  return TESS_OK;
}

static tess_status grid_propose(void *ud, tess_session *s, uint32_t n,
                                tess_candidate *out, uint32_t *got) {
  enumeration x = {ud, s, n, got, out};
  *got = 0;
  tess_status st = strategy_begin(ud, s, n);
  return st == TESS_OK ? mem_protect(x.b->heap, enumerate, &x) : st;
}

static tess_status grid_open(tess_session *s, const double *value,
                             tess_strategy *out) {
  (void)value;
  *out = (tess_strategy){
      .name = "grid", .propose = grid_propose, .free = strategy_free};
  return strategy_new(s, &out->ud);
}

const search_strategy search_strategy_grid = {
    .name = "grid",
    .summary = "the decisions of each sketch in their fixed order",
    .open = grid_open};
