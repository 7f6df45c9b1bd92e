/* SPDX-License-Identifier: Apache-2.0
 * The functional simulator: executes instructions in the order of the stream,
 * which is what the units compute where tokens order all dependences. */
#include "backends/dae/sim.h"
#include <string.h>

/* ---- state ------------------------------------------------------------- */

static void *zeros(mem_heap *heap, int64_t bytes) {
  void *v = mem_resize(heap, NULL, 0, (size_t)bytes);
  memset(v, 0, (size_t)bytes);
  return v;
}

static int64_t op_bytes(const dae_machine *m) {
  return dae_depth(m, DAE_UOP) * (int64_t)sizeof(dae_uop);
}

void dae_state_init(dae_state *x, const dae_machine *m, mem_heap *heap) {
  *x = (dae_state){.m = m};
  x->inp = zeros(heap, m->bytes[DAE_INP]);
  x->wgt = zeros(heap, m->bytes[DAE_WGT]);
  x->acc = zeros(heap, m->bytes[DAE_ACC]);
  x->uop = zeros(heap, m->bytes[DAE_UOP]);
  x->op = zeros(heap, op_bytes(m));
}

void dae_state_free(dae_state *x, mem_heap *heap) {
  if (!x->m) return;
  mem_free(heap, x->inp, x->inp ? (size_t)x->m->bytes[DAE_INP] : 0);
  mem_free(heap, x->wgt, x->wgt ? (size_t)x->m->bytes[DAE_WGT] : 0);
  mem_free(heap, x->acc, x->acc ? (size_t)x->m->bytes[DAE_ACC] : 0);
  mem_free(heap, x->uop, x->uop ? (size_t)x->m->bytes[DAE_UOP] : 0);
  mem_free(heap, x->op, x->op ? (size_t)op_bytes(x->m) : 0);
  x->m = NULL;
}

/* ---- transfers --------------------------------------------------------- */

static uint8_t *on_chip(const dae_state *x, uint32_t mem) {
  void *at[DAE_NBUFFERS] = {x->uop, x->wgt, x->inp, x->acc};
  return at[dae_buffer(mem)];
}

/* n elements of an entry: bytes, or accumulators from or to bytes. */
static void move_in(uint8_t *to, const uint8_t *from, size_t bytes,
                    uint32_t mem) {
  if (mem != DAE_ACC8) {
    memcpy(to, from, bytes);
    return;
  }
  for (size_t i = 0; i < bytes; i++) {
    int32_t v = (int8_t)from[i];
    memcpy(to + 4 * i, &v, sizeof v);
  }
}

static void move_out(uint8_t *to, const uint8_t *from, size_t bytes,
                     uint32_t mem) {
  if (mem != DAE_OUT) {
    memcpy(to, from, bytes);
    return;
  }
  for (size_t i = 0; i < bytes; i++) {
    int32_t v;
    memcpy(&v, from + 4 * i, sizeof v);
    to[i] = (uint8_t)v;
  }
}

static bool transfer_fits(const dae_state *x, const dae_insn *i) {
  uint64_t entry = (uint64_t)dae_entry(x->m, i->mem);
  uint64_t rows = i->y ? (uint64_t)(i->y - 1) * i->stride + i->x : 0;
  uint64_t room = (uint64_t)dae_rows(i) * dae_columns(i);
  return i->sram + room <= (uint64_t)dae_depth(x->m, i->mem) &&
         (!i->x || (i->dram + rows) * entry <= x->bytes || i->mem == DAE_UOP);
}

static bool load_uops(dae_state *x, const dae_stream *s, const dae_insn *i) {
  uint32_t n = i->y * i->x, at = i->dram - s->uop_dram;
  if (i->y > 1 || (uint64_t)at + n > s->uop.n) return dae_is_nop(i);
  memcpy(x->uop + i->sram, s->uop.v + at, n * sizeof *x->uop);
  return true;
}

static bool load_rows(dae_state *x, const dae_insn *i) {
  uint64_t entry = (uint64_t)dae_entry(x->m, i->mem);
  uint64_t own = (uint64_t)dae_entry(x->m, dae_buffer(i->mem));
  uint64_t columns = dae_columns(i);
  uint8_t *to = on_chip(x, i->mem) + i->sram * own;
  memset(to, 0, dae_rows(i) * columns * own);
  to += (i->pad[0] * columns + i->pad[2]) * own;
  for (uint32_t y = 0; y < i->y; y++, to += columns * own)
    move_in(to, x->dram + (i->dram + (uint64_t)y * i->stride) * entry,
            i->x * entry, i->mem);
  return true;
}

static bool store_rows(dae_state *x, const dae_insn *i) {
  uint64_t entry = (uint64_t)dae_entry(x->m, i->mem);
  uint64_t own = (uint64_t)dae_entry(x->m, dae_buffer(i->mem));
  const uint8_t *from = on_chip(x, i->mem) + i->sram * own;
  for (uint32_t y = 0; y < i->y; y++, from += i->x * own)
    move_out(x->dram + (i->dram + (uint64_t)y * i->stride) * entry, from,
             i->x * entry, i->mem);
  return true;
}

/* ---- the matrix unit --------------------------------------------------- */

static void multiply_row(int32_t *acc, const int8_t *inp, const int8_t *wgt,
                         int64_t n, int64_t k) {
  for (int64_t j = 0; j < n; j++, wgt += k) {
    int32_t sum = 0;
    for (int64_t i = 0; i < k; i++) sum += inp[i] * wgt[i];
    acc[j] = (int32_t)((uint32_t)acc[j] + (uint32_t)sum);
  }
}

/* The same as compilers make multiplications of 16 bits and pairwise sums of
 * it. */
static void multiply_16(int32_t *restrict acc, const int8_t *restrict inp,
                        const int8_t *restrict wgt) {
  int16_t x[16];
  for (int i = 0; i < 16; i++) x[i] = inp[i];
  for (int j = 0; j < 16; j++) {
    int32_t sum = 0;
    for (int i = 0; i < 16; i++) sum += x[i] * (int16_t)wgt[16 * j + i];
    acc[j] = (int32_t)((uint32_t)acc[j] + (uint32_t)sum);
  }
}

static void multiply_entry(dae_state *x, const uint32_t at[3], bool reset) {
  int64_t n = x->m->n, k = x->m->k;
  int32_t *acc = x->acc + at[0] * n;
  const int8_t *inp = x->inp + at[1] * k, *wgt = x->wgt + at[2] * n * k;
  if (reset)
    memset(acc, 0, (size_t)n * sizeof *acc);
  else if (n == 16 && k == 16)
    multiply_16(acc, inp, wgt);
  else
    multiply_row(acc, inp, wgt, n, k);
}

/* ---- the vector unit --------------------------------------------------- */

static int32_t operate(uint8_t alu, int32_t a, int32_t b) {
  switch (alu) {
  case DAE_MIN: return a < b ? a : b;
  case DAE_MAX: return a > b ? a : b;
  case DAE_ADD: return (int32_t)((uint32_t)a + (uint32_t)b);
  case DAE_MUL: return (int32_t)((uint32_t)a * (uint32_t)b);
  default:
    if (b >= 0) return a >> (b & 31);
    return (int32_t)((uint32_t)a << (-b & 31));
  }
}

static void operate_on(dae_state *x, const dae_insn *i, const uint32_t at[3]) {
  int64_t n = x->m->n;
  int32_t *dst = x->acc + at[0] * n;
  const int32_t *src = x->acc + at[1] * n;
  for (int64_t j = 0; j < n; j++)
    dst[j] = operate(i->alu, dst[j], i->use_imm ? i->imm : src[j]);
}

/* ---- loops ------------------------------------------------------------- */

/* Indices grow with the iterations: the last one's are the largest. */
static bool in_range(const dae_state *x, const dae_insn *i, const dae_uop *op) {
  static const uint8_t of_gemm[] = {DAE_ACC, DAE_INP, DAE_WGT};
  bool matrix = i->op == DAE_GEMM;
  int operands = matrix ? (i->reset ? 1 : 3) : i->use_imm ? 1 : 2;
  for (int k = 0; k < operands; k++) {
    uint64_t last = op->index[k] +
                    (uint64_t)(i->iter[0] - 1) * i->factor[k][0] +
                    (uint64_t)(i->iter[1] - 1) * i->factor[k][1];
    if (last >= (uint64_t)dae_depth(x->m, matrix ? of_gemm[k] : DAE_ACC))
      return false;
  }
  return true;
}

static bool decode_uops(dae_state *x, const dae_insn *i) {
  if (i->uop_end > (uint64_t)dae_depth(x->m, DAE_UOP)) return false;
  for (uint32_t u = i->uop_bgn; u < i->uop_end; u++) {
    x->op[u] = dae_decode_uop(x->m, x->uop[u]);
    if (!in_range(x, i, &x->op[u])) return false;
  }
  return true;
}

static void run_uops(dae_state *x, const dae_insn *i, uint32_t out,
                     uint32_t in) {
  uint32_t step[3], at[3];
  for (int k = 0; k < 3; k++)
    step[k] = out * i->factor[k][0] + in * i->factor[k][1];
  for (uint32_t u = i->uop_bgn; u < i->uop_end; u++) {
    for (int k = 0; k < 3; k++) at[k] = x->op[u].index[k] + step[k];
    if (i->op == DAE_GEMM)
      multiply_entry(x, at, i->reset);
    else
      operate_on(x, i, at);
  }
}

static bool run_loops(dae_state *x, const dae_insn *i) {
  if (!i->iter[0] || !i->iter[1]) return true;
  if (!decode_uops(x, i)) return false;
  for (uint32_t out = 0; out < i->iter[0]; out++)
    for (uint32_t in = 0; in < i->iter[1]; in++) run_uops(x, i, out, in);
  return true;
}

static bool execute_insn(dae_state *x, const dae_stream *s, const dae_insn *i) {
  switch ((dae_op)i->op) {
  case DAE_LOAD:
    if (!transfer_fits(x, i)) return false;
    return i->mem == DAE_UOP ? load_uops(x, s, i) : load_rows(x, i);
  case DAE_STORE: return transfer_fits(x, i) && store_rows(x, i);
  case DAE_GEMM:
  case DAE_ALU: return run_loops(x, i);
  default: return true;
  }
}

bool dae_execute(dae_state *x, const dae_stream *s, uint32_t *at) {
  for (*at = 0; *at < s->insn.n; ++*at)
    if (!execute_insn(x, s, &s->insn.v[*at])) return false;
  return true;
}
