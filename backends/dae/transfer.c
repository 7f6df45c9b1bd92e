/* SPDX-License-Identifier: Apache-2.0
 * Boxes as 2-D transfers: rows that are consecutive in memory and on the chip,
 * with zeros around them, and loops over what is left. */
#include "backends/dae/compile.h"

typedef struct moving {
  dae_compile *c;
  dae_insn insn;  /* sram and dram apart */
  dae_loops l;    /* by what they step on the chip */
  uint32_t first; /* loops from here on are not in the instruction */
} moving;

static void swap_loops(dae_loops *l, uint32_t a, uint32_t b) {
#define SWAP(x)                  \
  do {                           \
    int64_t t = (x)[a];          \
    (x)[a] = (x)[b], (x)[b] = t; \
  } while (0)
  SWAP(l->extent);
  SWAP(l->from);
  SWAP(l->to);
  for (uint32_t k = 0; k < l->operands; k++) SWAP(l->step[k]);
#undef SWAP
}

/* Loops of one iteration go; the others are sorted. */
static void sort_loops(dae_loops *l) {
  for (uint32_t i = 0; i < l->n;) {
    if (l->extent[i] != 1 || l->to[i] == l->from[i]) {
      i++;
      continue;
    }
    swap_loops(l, i, --l->n);
  }
  for (uint32_t i = 1; i < l->n; i++)
    for (uint32_t k = i; k && l->step[0][k] < l->step[0][k - 1]; k--)
      swap_loops(l, k, k - 1);
}

/* One loop more in a row, whose zeros end it. */
static void take_columns(moving *m) {
  dae_loops *l = &m->l;
  dae_insn *x = &m->insn;
  x->x = 1;
  while (m->first < l->n) {
    uint32_t i = m->first;
    int64_t size = x->x;
    if (l->step[0][i] != size || l->step[1][i] != size ||
        size * l->extent[i] > DAE_MOST_SIZE)
      return;
    int64_t before = size * l->from[i];
    int64_t after = size * (l->extent[i] - l->to[i]);
    if (before > DAE_MOST_PAD || after > DAE_MOST_PAD || l->to[i] == l->from[i])
      return;
    m->first++;
    x->x = (uint32_t)(size * (l->to[i] - l->from[i]));
    x->pad[2] = (uint8_t)before;
    x->pad[3] = (uint8_t)after;
    if (before || after) return;
  }
}

static void take_rows(moving *m) {
  dae_loops *l = &m->l;
  dae_insn *x = &m->insn;
  x->y = 1;
  x->stride = x->x;
  while (m->first < l->n) {
    uint32_t i = m->first;
    int64_t columns = dae_columns(x), step = l->step[1][i];
    bool first = x->y == 1;
    if (l->step[0][i] != columns * x->y ||
        x->y * l->extent[i] > DAE_MOST_SIZE || l->to[i] == l->from[i] ||
        (first ? step < 0 || step > DAE_MOST_SIZE
               : step != (int64_t)x->stride * x->y))
      return;
    int64_t before = x->y * l->from[i];
    int64_t after = x->y * (l->extent[i] - l->to[i]);
    if (before > DAE_MOST_PAD || after > DAE_MOST_PAD) return;
    m->first++;
    if (first) x->stride = (uint32_t)step;
    x->pad[0] = (uint8_t)before;
    x->pad[1] = (uint8_t)after;
    x->y *= (uint32_t)(l->to[i] - l->from[i]);
    if (before || after) return;
  }
}

/* The instruction at these addresses; all of it zeros, if so. */
static void emit_one(moving *m, int64_t sram, int64_t dram, bool zeros) {
  dae_insn x = m->insn;
  uint32_t rows = dae_rows(&x), columns = dae_columns(&x);
  x.sram = (uint32_t)sram;
  if (!zeros) {
    /* Addresses count what is read from, before which there are zeros. */
    x.dram = (uint32_t)dram;
    dae_emit(m->c, &x);
    return;
  }
  x.x = x.stride = columns;
  x.y = x.pad[1] = x.pad[2] = x.pad[3] = 0;
  for (uint32_t y = 0; y < rows; y += x.pad[0]) {
    x.pad[0] = (uint8_t)(rows - y < DAE_MOST_PAD ? rows - y : DAE_MOST_PAD);
    x.sram = (uint32_t)sram + y * columns;
    dae_emit(m->c, &x);
  }
}

/* Where reading begins, in the loops that are in the instruction. */
static int64_t start_of(const moving *m) {
  int64_t at = 0;
  for (uint32_t i = 0; i < m->first; i++) at += m->l.from[i] * m->l.step[1][i];
  return at;
}

static void emit_each(moving *m, uint32_t i, int64_t sram, int64_t dram,
                      bool zeros) {
  if (i == m->first) {
    emit_one(m, sram, dram, zeros);
    return;
  }
  i--;
  for (int64_t v = 0; v < m->l.extent[i]; v++)
    emit_each(m, i, sram + v * m->l.step[0][i], dram + v * m->l.step[1][i],
              zeros || v < m->l.from[i] || v >= m->l.to[i]);
}

dae_tried dae_emit_transfer(dae_compile *c, dae_op op, dae_memory mem,
                            const dae_loops *l) {
  moving m = {
      .c = c, .insn = {.op = (uint8_t)op, .mem = (uint8_t)mem}, .l = *l};
  sort_loops(&m.l);
  take_columns(&m);
  take_rows(&m);
  emit_each(&m, m.l.n, l->base[0], l->base[1] + start_of(&m), false);
  return DAE_DONE;
}
