/* SPDX-License-Identifier: Apache-2.0
 * Inserts tokens.  A vector clock a unit says how many instructions of each
 * unit are known to be done before its next one; a need that the clock covers
 * gets no token.  The tokens of a FIFO are pushed and popped in the same order,
 * since later needs on a unit are on later instructions of it. */
#include "backends/dae/depend.h"
#include <string.h>

typedef struct inserting {
  dae_insn *insn; /* the new stream */
  uint32_t n;
  dae_clocks *known; /* by new instruction: before and with it */
  uint32_t *number;  /* by new instruction: within its unit, from 1 */
  uint32_t *moved;   /* old -> new */
  dae_clocks unit[DAE_NUNITS];
  uint32_t count[DAE_NUNITS];
} inserting;

/* A token from new instruction i, of a neighbour, to unit `to`, whose next
 * instruction has the bits *dep. */
static void pass_token(inserting *x, uint32_t i, dae_unit to, uint8_t *dep) {
  bool forward = dae_unit_of(&x->insn[i]) < to;
  x->insn[i].dep |= forward ? DAE_PUSH_NEXT : DAE_PUSH_PREV;
  *dep |= forward ? DAE_POP_PREV : DAE_POP_NEXT;
  dae_join(&x->unit[to], &x->known[i]);
}

static uint32_t append_insn(inserting *x, const dae_insn *i, uint8_t dep) {
  dae_unit u = dae_unit_of(i);
  uint32_t at = x->n++;
  x->insn[at] = *i;
  x->insn[at].dep = dep;
  x->number[at] = ++x->count[u];
  x->unit[u].done[u] = x->count[u];
  x->known[at] = x->unit[u];
  return at;
}

/* The nop of the compute unit that hears of instruction i. */
static uint32_t append_relay(inserting *x, uint32_t i) {
  const dae_insn nop = {.op = DAE_LOAD, .mem = DAE_UOP};
  uint8_t dep = 0;
  if (x->unit[DAE_COMPUTES].done[dae_unit_of(&x->insn[i])] < x->number[i])
    pass_token(x, i, DAE_COMPUTES, &dep);
  return append_insn(x, &nop, dep);
}

static bool need_is_open(const inserting *x, const dae_needs *need, int on,
                         dae_unit own) {
  if (on < 0 || on >= DAE_NUNITS || need->on[on] == DAE_NO_INSN) return false;
  return x->unit[own].done[on] < x->number[x->moved[need->on[on]]];
}

/* A token of the unit beyond the neighbour: the nop comes after all that the
 * neighbour was told to do, so it stands for a need on that one, too. */
static void hear_of_far(inserting *x, const dae_needs *need, dae_unit own,
                        uint8_t *dep) {
  int far = own == DAE_LOADS ? DAE_STORES : own == DAE_STORES ? DAE_LOADS : -1;
  if (need_is_open(x, need, far, own))
    pass_token(x, append_relay(x, x->moved[need->on[far]]), own, dep);
}

/* The later one of both neighbours' needs may imply the other. */
static void hear_of_neighbours(inserting *x, const dae_needs *need,
                               dae_unit own, uint8_t *dep) {
  int side[2] = {(int)own - 1, (int)own + 1};
  bool both = need_is_open(x, need, side[0], own) &&
              need_is_open(x, need, side[1], own);
  if (both && need->on[side[1]] > need->on[side[0]])
    side[0] = (int)own + 1, side[1] = (int)own - 1;
  for (int k = 0; k < 2; k++)
    if (need_is_open(x, need, side[k], own))
      pass_token(x, x->moved[need->on[side[k]]], own, dep);
}

static void insert_for(inserting *x, const dae_insn *i, const dae_needs *need,
                       uint32_t old) {
  dae_unit own = dae_unit_of(i);
  uint8_t dep = 0;
  hear_of_far(x, need, own, &dep);
  hear_of_neighbours(x, need, own, &dep);
  x->moved[old] = append_insn(x, i, dep);
}

void dae_insert_tokens(const dae_machine *m, dae_stream *s, mem_heap *heap,
                       const dae_needs *needs, arena *a) {
  uint32_t n = s->insn.n, most = 2 * n + 1;
  if (!m->tokens) return;
  inserting x = {.insn = arena_array(a, dae_insn, most),
                 .known = arena_array(a, dae_clocks, most),
                 .number = arena_array(a, uint32_t, most),
                 .moved = arena_array(a, uint32_t, n + 1)};
  for (uint32_t i = 0; i < n; i++) insert_for(&x, &s->insn.v[i], &needs[i], i);
  s->insn.n = 0;
  (void)vec_extend(heap, &s->insn, x.n);
  if (x.n) memcpy(s->insn.v, x.insn, x.n * sizeof *x.insn);
}
