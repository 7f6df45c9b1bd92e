/* SPDX-License-Identifier: Apache-2.0
 * Instructions of the matrix and the vector unit for nests of loops: two of
 * them become the instruction's own, the others are unrolled to
 * micro-operations. */
#include "backends/dae/compile.h"
#include <string.h>

void dae_set_loops(const dae_nest *n, dae_loops *l) {
  *l = (dae_loops){.n = n->n};
  for (uint32_t i = 0; i < n->n; i++) l->extent[i] = l->to[i] = n->extent[i];
}

void dae_set_operand(dae_compile *c, dae_loops *l, uint32_t k, ir_buf b,
                     const dae_form *at) {
  uint32_t mem = dae_memory_of(c, b);
  int64_t size = c->p->buf.v[b].dtype.bits / 8;
  int64_t start = mem == DAE_NMEM ? ((int64_t)c->dram[b] - 1) / size
                                  : c->sram[b] * dae_elements(c->m, mem);
  if (k >= l->operands) l->operands = k + 1;
  l->base[k] = start + at->base;
  for (uint32_t i = 0; i < l->n; i++) l->step[k][i] = at->step[i];
}

uint32_t dae_emit(dae_compile *c, const dae_insn *i) {
  dae_stream *s = &c->item.v[c->item.n - 1].s;
  vec_push(c->heap, &s->insn, *i);
  return s->insn.n - 1;
}

/* ---- clobbered accumulators --------------------------------------------- */

typedef bool each_fn(dae_compile *c, int64_t at, bool to);

/* Over the operand's entries, which loops that do not move it do not repeat. */
static bool each_entry(dae_compile *c, const dae_loops *l, uint32_t k,
                       uint32_t i, int64_t at, bool to, each_fn *f) {
  if (i == l->n) return f(c, at, to);
  int64_t n = l->step[k][i] ? l->extent[i] : 1;
  for (int64_t v = 0; v < n; v++)
    if (each_entry(c, l, k, i + 1, at + v * l->step[k][i], to, f)) return true;
  return false;
}

static bool set_one(dae_compile *c, int64_t at, bool to) {
  c->clobbered[at] = to;
  return false;
}

static bool is_one(dae_compile *c, int64_t at, bool to) {
  (void)to;
  return c->clobbered[at];
}

void dae_set_clobbered(dae_compile *c, const dae_loops *l, uint32_t operand,
                       bool to) {
  each_entry(c, l, operand, 0, l->base[operand], to, set_one);
}

bool dae_is_clobbered(dae_compile *c, const dae_loops *l, uint32_t operand) {
  return each_entry(c, l, operand, 0, l->base[operand], false, is_one);
}

/* ---- which loops ------------------------------------------------------- */

static int64_t operand_depth(const dae_compile *c, const dae_insn *i,
                             uint32_t k) {
  static const uint8_t of_gemm[] = {DAE_ACC, DAE_INP, DAE_WGT};
  return dae_depth(c->m, i->op == DAE_GEMM ? of_gemm[k] : DAE_ACC);
}

/* Does it fit the instruction's fields? */
static bool may_be_own(const dae_compile *c, const dae_insn *i,
                       const dae_loops *l, uint32_t at) {
  if (l->extent[at] > DAE_MOST_ITER) return false;
  for (uint32_t k = 0; k < l->operands; k++)
    if (l->step[k][at] < 0 || l->step[k][at] >= operand_depth(c, i, k))
      return false;
  return true;
}

/* Where weights are loaded first, the innermost loops keep them. */
static bool keeps_weights(const dae_loops *l, uint32_t at) {
  return l->operands < 3 || !l->step[2][at];
}

static uint32_t longest_loop(const dae_compile *c, const dae_insn *i,
                             const dae_loops *l, uint32_t but) {
  uint32_t best = l->n;
  for (uint32_t at = 0; at < l->n; at++) {
    bool fits =
        at != but && may_be_own(c, i, l, at) &&
        !(c->m->gemm_preload && l->operands == 3 && keeps_weights(l, at));
    if (fits && (best == l->n || l->extent[at] > l->extent[best])) best = at;
  }
  return best;
}

/* The loops that are unrolled, those that keep weights innermost. */
static uint32_t other_loops(const dae_compile *c, const dae_loops *l,
                            const uint32_t own[2], uint32_t *out) {
  uint32_t n = 0;
  for (int keeps = 0; keeps < 2; keeps++)
    for (uint32_t at = 0; at < l->n; at++) {
      bool last = c->m->gemm_preload && keeps_weights(l, at);
      if (at != own[0] && at != own[1] && last == keeps) out[n++] = at;
    }
  return n;
}

/* ---- micro-operations --------------------------------------------------- */

static int64_t count_uops(const dae_loops *l, uint32_t n,
                          const uint32_t *loop) {
  int64_t all = 1;
  for (uint32_t i = 0; i < n; i++)
    if (__builtin_mul_overflow(all, l->extent[loop[i]], &all)) return -1;
  return all;
}

static void fill_uops(const dae_compile *c, const dae_loops *l, uint32_t n,
                      const uint32_t *loop, int64_t all, uint32_t *word) {
  for (int64_t u = 0; u < all; u++) {
    dae_uop op = {{0}};
    int64_t at[3] = {0}, rest = u;
    for (uint32_t k = 0; k < l->operands; k++) at[k] = l->base[k];
    for (uint32_t i = n; i-- > 0; rest /= l->extent[loop[i]])
      for (uint32_t k = 0; k < l->operands; k++)
        at[k] += rest % l->extent[loop[i]] * l->step[k][loop[i]];
    for (int k = 0; k < 3; k++) op.index[k] = (uint32_t)at[k];
    word[u] = dae_encode_uop(c->m, &op);
  }
}

dae_tried dae_emit_loops(dae_compile *c, const dae_insn *i,
                         const dae_loops *l) {
  dae_insn made = *i;
  uint32_t own[2], loop[DAE_MAX_LOOPS];
  own[0] = longest_loop(c, i, l, l->n);
  own[1] = longest_loop(c, i, l, own[0]);
  if (own[1] < own[0]) { /* the outer one first */
    uint32_t t = own[0];
    own[0] = own[1], own[1] = t;
  }
  uint32_t n = other_loops(c, l, own, loop);
  int64_t all = count_uops(l, n, loop);
  if (all < 0 || all > dae_depth(c->m, DAE_UOP)) return DAE_RETRY;
  uint32_t *word = arena_array(c->scratch, uint32_t, all + 1);
  fill_uops(c, l, n, loop, all, word);
  if (!dae_place_uops(c, (uint32_t)all, word, &made.uop_bgn)) return DAE_RETRY;
  made.uop_end = made.uop_bgn + (uint32_t)all;
  for (int o = 0; o < 2; o++) {
    made.iter[o] = own[o] == l->n ? 1 : (uint32_t)l->extent[own[o]];
    for (uint32_t k = 0; k < l->operands && own[o] < l->n; k++)
      made.factor[k][o] = (uint32_t)l->step[k][own[o]];
  }
  dae_emit(c, &made);
  return DAE_DONE;
}
