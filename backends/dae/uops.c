/* SPDX-License-Identifier: Apache-2.0
 * The buffer of micro-operations, kept as a cache: runs that were loaded stay
 * until there is no room for another, when all of them go. */
#include "backends/dae/compile.h"
#include "base/hash.h"
#include <string.h>

static uint32_t find_run(dae_compile *c, uint32_t n, const uint32_t *word,
                         uint64_t key) {
  uint32_t at = map_get(&c->uop_known, key);
  if (at == MAP_NONE) return at;
  const dae_uop_run *r = &c->uop_run.v[at];
  bool same = r->n == n && !memcmp(c->uop.v + r->first, word, n * sizeof *word);
  return same ? at : MAP_NONE;
}

static uint32_t add_run(dae_compile *c, uint32_t n, const uint32_t *word,
                        uint64_t key) {
  dae_uop_run r = {.first = c->uop.n, .n = n};
  uint32_t at = vec_extend(c->heap, &c->uop, n);
  memcpy(c->uop.v + at, word, n * sizeof *word);
  vec_push(c->heap, &c->uop_run, r);
  map_put(&c->uop_known, key, c->uop_run.n - 1);
  return c->uop_run.n - 1;
}

static void load_run(dae_compile *c, dae_uop_run *r) {
  if (c->uop_top + (int64_t)r->n > dae_depth(c->m, DAE_UOP)) {
    c->uop_top = 0;
    c->uop_era++;
  }
  r->at = c->uop_top;
  r->era = c->uop_era;
  c->uop_top += r->n;
  /* dram: from the start of the micro-operations, whose place comes last. */
  dae_emit(c, &(dae_insn){.op = DAE_LOAD,
                          .mem = DAE_UOP,
                          .sram = r->at,
                          .dram = r->first,
                          .y = 1,
                          .x = r->n,
                          .stride = r->n});
}

bool dae_place_uops(dae_compile *c, uint32_t n, const uint32_t *word,
                    uint32_t *at) {
  if (n > dae_depth(c->m, DAE_UOP) || n > DAE_MOST_SIZE) return false;
  uint64_t key = hash_bytes(word, n * sizeof *word);
  uint32_t run = find_run(c, n, word, key);
  if (run == MAP_NONE) run = add_run(c, n, word, key);
  dae_uop_run *r = &c->uop_run.v[run];
  if (r->era != c->uop_era) load_run(c, r);
  *at = r->at;
  return true;
}
