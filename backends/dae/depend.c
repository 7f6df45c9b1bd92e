/* SPDX-License-Identifier: Apache-2.0
 * Finds dependences, entry by entry: for each entry of a buffer, and each piece
 * of memory, its last writer and the last reader of each unit since. */
#include "backends/dae/depend.h"
#include <string.h>

typedef struct place {
  uint32_t writer, reader[DAE_NUNITS]; /* instructions plus 1; 0: none */
} place;

typedef struct tracking {
  const dae_machine *m;
  const dae_stream *s;
  place *buffer[DAE_NBUFFERS], *memory;
  uint64_t piece, pieces; /* of memory: bytes of one, their number */
  uint32_t *uop;          /* the micro-operations on the chip */
  uint32_t now;
  uint32_t last[DAE_NUNITS];   /* what `now` needs, plus 1 */
  uint32_t latest[DAE_NUNITS]; /* of each unit, plus 1 */
  bool bad;
} tracking;

static void note_need(tracking *t, uint32_t other) {
  if (!other || other == t->now + 1) return;
  dae_unit u = dae_unit_of(&t->s->insn.v[other - 1]);
  if (other > t->last[u]) t->last[u] = other;
}

static void touch(tracking *t, place *at, bool writes) {
  dae_unit own = dae_unit_of(&t->s->insn.v[t->now]);
  note_need(t, at->writer);
  if (!writes) {
    at->reader[own] = t->now + 1;
    return;
  }
  for (int u = 0; u < DAE_NUNITS; u++) {
    note_need(t, at->reader[u]);
    at->reader[u] = 0;
  }
  at->writer = t->now + 1;
}

static void touch_buffer(tracking *t, uint32_t mem, uint64_t at, uint64_t n,
                         bool writes) {
  uint32_t b = dae_buffer(mem);
  t->bad |= at + n > (uint64_t)dae_depth(t->m, b);
  if (t->bad || b == DAE_UOP) return; /* of one unit only */
  for (uint64_t i = at; i < at + n; i++) touch(t, &t->buffer[b][i], writes);
}

/* The rows of a transfer in memory.  Nobody writes micro-operations there. */
static void touch_memory(tracking *t, const dae_insn *i) {
  uint64_t entry = (uint64_t)dae_entry(t->m, i->mem);
  if (!i->x || i->mem == DAE_UOP) return;
  for (uint32_t y = 0; y < i->y && !t->bad; y++) {
    uint64_t from = (i->dram + (uint64_t)y * i->stride) * entry;
    uint64_t end = from + i->x * entry;
    t->bad |= end > t->pieces * t->piece;
    for (uint64_t p = from / t->piece; !t->bad && p * t->piece < end; p++)
      touch(t, &t->memory[p], i->op == DAE_STORE);
  }
}

static void touch_operand(tracking *t, const dae_insn *i, int k, uint32_t at,
                          bool writes) {
  static const uint8_t of_gemm[] = {DAE_ACC, DAE_INP, DAE_WGT};
  uint32_t mem = i->op == DAE_GEMM ? of_gemm[k] : DAE_ACC;
  for (uint32_t out = 0; out < i->iter[0]; out++)
    for (uint32_t in = 0; in < i->iter[1]; in++)
      touch_buffer(t, mem, at + out * i->factor[k][0] + in * i->factor[k][1], 1,
                   writes);
}

static uint32_t count_operands(const dae_insn *i) {
  if (i->op == DAE_GEMM) return i->reset ? 1 : 3;
  return i->use_imm ? 1 : 2;
}

static void touch_loops(tracking *t, const dae_insn *i) {
  uint32_t n = count_operands(i);
  touch_buffer(t, DAE_UOP, 0, i->uop_end, false);
  for (uint32_t u = i->uop_bgn; u < i->uop_end && !t->bad; u++) {
    dae_uop op = dae_decode_uop(t->m, t->uop[u]);
    for (uint32_t k = 0; k < n && !t->bad; k++)
      touch_operand(t, i, (int)k, op.index[k], k == 0);
  }
}

static void touch_all(tracking *t, const dae_insn *i) {
  if (i->op == DAE_LOAD || i->op == DAE_STORE) {
    touch_memory(t, i);
    touch_buffer(t, i->mem, i->sram, (uint64_t)dae_rows(i) * dae_columns(i),
                 i->op == DAE_LOAD);
  } else if (i->op == DAE_GEMM || i->op == DAE_ALU) {
    touch_loops(t, i);
  } else { /* the end is that of all units */
    for (int u = 0; u < DAE_NUNITS; u++) t->last[u] = t->latest[u];
  }
  t->latest[dae_unit_of(i)] = t->now + 1;
}

/* Follows what the buffer of micro-operations holds. */
static void load_uops(tracking *t, const dae_insn *i) {
  uint32_t n = i->y * i->x, at = i->dram - t->s->uop_dram;
  if (i->op != DAE_LOAD || i->mem != DAE_UOP || !n) return;
  t->bad |= i->y != 1 || (uint64_t)at + n > t->s->uop.n;
  if (!t->bad) memcpy(t->uop + i->sram, t->s->uop.v + at, n * sizeof *t->uop);
}

static dae_needs needs_of_now(const tracking *t) {
  dae_needs n;
  for (int u = 0; u < DAE_NUNITS; u++)
    n.on[u] = t->last[u] ? t->last[u] - 1 : DAE_NO_INSN;
  n.on[dae_unit_of(&t->s->insn.v[t->now])] = DAE_NO_INSN;
  return n;
}

static void start_tracking(tracking *t, uint64_t bytes, arena *a) {
  for (uint32_t b = 0; b < DAE_NBUFFERS; b++)
    t->buffer[b] = arena_zalloc(a, (size_t)dae_depth(t->m, b) * sizeof(place));
  t->piece = (uint64_t)(t->m->k < t->m->n ? t->m->k : t->m->n);
  t->pieces = bytes / t->piece;
  t->memory = arena_zalloc(a, t->pieces * sizeof(place));
  t->uop = arena_zalloc(a, (size_t)t->m->bytes[DAE_UOP]);
}

tess_status dae_find_needs(const dae_machine *m, const dae_stream *s,
                           uint64_t bytes, arena *a, dae_needs **out,
                           err_state *e) {
  tracking t = {.m = m, .s = s};
  dae_needs *needs = arena_array(a, dae_needs, s->insn.n + 1);
  arena_mark mark = arena_get_mark(a);
  start_tracking(&t, bytes, a);
  for (t.now = 0; t.now < s->insn.n && !t.bad; t.now++) {
    memset(t.last, 0, sizeof t.last);
    touch_all(&t, &s->insn.v[t.now]);
    if (!t.bad) load_uops(&t, &s->insn.v[t.now]);
    needs[t.now] = needs_of_now(&t);
  }
  arena_reset_to(a, mark);
  *out = needs;
  return !t.bad
             ? TESS_OK
             : err_set(e, TESS_INVALID,
                       "instruction %u exceeds a buffer, or memory", t.now - 1);
}
