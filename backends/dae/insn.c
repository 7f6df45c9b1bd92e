/* SPDX-License-Identifier: Apache-2.0
 * Encodes and decodes instructions as VTA lays them out: fields from the lowest
 * bit on, none of them across the two 64-bit words, with addresses as wide as
 * the buffers are deep. */
#include "backends/dae/insn.h"

void dae_stream_free(mem_heap *heap, dae_stream *s) {
  vec_free(heap, &s->insn);
  vec_free(heap, &s->uop);
}

static int log_depth(const dae_machine *m, uint32_t mem) {
  return __builtin_ctzll((unsigned long long)dae_depth(m, mem));
}

/* Reads or writes fields one after the other. */
typedef struct bits {
  uint64_t *word;
  bool writes, bad; /* bad: a value is too wide, or the fields are */
  int at;
} bits;

static uint64_t field_mask(int width) {
  return width ? ~UINT64_C(0) >> (64 - width) : 0;
}

static void bit_field(bits *b, int width, uint32_t *value) {
  if (b->at % 64 + width > 64) b->at += 64 - b->at % 64;
  if (b->at + width > 128) {
    b->bad = true;
    return;
  }
  uint64_t mask = field_mask(width);
  int shift = b->at % 64;
  if (b->writes) {
    b->bad |= *value > mask;
    b->word[b->at / 64] |= (*value & mask) << shift;
  } else {
    *value = (uint32_t)(b->word[b->at / 64] >> shift & mask);
  }
  b->at += width;
}

static void byte_field(bits *b, int width, uint8_t *value) {
  uint32_t v = *value;
  bit_field(b, width, &v);
  *value = (uint8_t)v;
}

static void flag_field(bits *b, bool *value) {
  uint32_t v = *value;
  bit_field(b, 1, &v);
  *value = v;
}

static void transfer_fields(bits *b, dae_insn *i) {
  byte_field(b, 3, &i->mem);
  bit_field(b, 16, &i->sram);
  bit_field(b, 32, &i->dram);
  b->at = 64;
  bit_field(b, 16, &i->y);
  bit_field(b, 16, &i->x);
  bit_field(b, 16, &i->stride);
  for (int k = 0; k < 4; k++) byte_field(b, 4, &i->pad[k]);
}

static void loop_fields(bits *b, const dae_machine *m, dae_insn *i) {
  flag_field(b, &i->reset);
  bit_field(b, log_depth(m, DAE_UOP), &i->uop_bgn);
  bit_field(b, log_depth(m, DAE_UOP) + 1, &i->uop_end);
  bit_field(b, 14, &i->iter[0]);
  bit_field(b, 14, &i->iter[1]);
  if (b->at > 64) b->bad = true;
  b->at = 64;
}

static void factor_fields(bits *b, const dae_machine *m, dae_insn *i,
                          const uint8_t *mem, int n) {
  for (int k = 0; k < n; k++)
    for (int l = 0; l < 2; l++)
      bit_field(b, log_depth(m, mem[k]), &i->factor[k][l]);
}

static void vector_fields(bits *b, dae_insn *i) {
  byte_field(b, 3, &i->alu);
  flag_field(b, &i->use_imm);
  uint32_t imm = (uint32_t)i->imm & 0xffff;
  if (i->imm < INT16_MIN || i->imm > INT16_MAX) b->bad = true;
  bit_field(b, 16, &imm);
  i->imm = (int16_t)imm;
}

static void all_fields(bits *b, const dae_machine *m, dae_insn *i) {
  static const uint8_t of_gemm[] = {DAE_ACC, DAE_INP, DAE_WGT};
  static const uint8_t of_alu[] = {DAE_ACC, DAE_ACC};
  byte_field(b, 3, &i->op);
  byte_field(b, 4, &i->dep);
  switch (i->op) {
  case DAE_LOAD:
  case DAE_STORE: transfer_fields(b, i); break;
  case DAE_GEMM:
    loop_fields(b, m, i);
    factor_fields(b, m, i, of_gemm, 3);
    break;
  case DAE_ALU:
    loop_fields(b, m, i);
    factor_fields(b, m, i, of_alu, 2);
    vector_fields(b, i);
    break;
  default: break;
  }
}

bool dae_encode(const dae_machine *m, const dae_insn *i, uint64_t out[2]) {
  dae_insn copy = *i;
  bits b = {.word = out, .writes = true};
  out[0] = out[1] = 0;
  all_fields(&b, m, &copy);
  return !b.bad;
}

bool dae_decode(const dae_machine *m, const uint64_t in[2], dae_insn *out) {
  uint64_t word[2] = {in[0], in[1]};
  bits b = {.word = word};
  *out = (dae_insn){.op = 0};
  all_fields(&b, m, out);
  bool is_known = out->op < DAE_NOPS && out->mem < DAE_NMEM;
  return !b.bad && is_known && out->alu < DAE_NALU;
}

/* ---- micro-operations ------------------------------------------------- */

static void uop_widths(const dae_machine *m, int width[3]) {
  int acc = log_depth(m, DAE_ACC), inp = log_depth(m, DAE_INP);
  width[0] = acc;
  width[1] = acc > inp ? acc : inp;
  width[2] = log_depth(m, DAE_WGT);
}

uint32_t dae_encode_uop(const dae_machine *m, const dae_uop *u) {
  int width[3], at = 0;
  uint32_t word = 0;
  uop_widths(m, width);
  for (int k = 0; k < 3; at += width[k++])
    word |= (u->index[k] & (uint32_t)field_mask(width[k])) << at;
  return word;
}

dae_uop dae_decode_uop(const dae_machine *m, uint32_t word) {
  int width[3], at = 0;
  dae_uop u;
  uop_widths(m, width);
  for (int k = 0; k < 3; at += width[k++])
    u.index[k] = word >> at & (uint32_t)field_mask(width[k]);
  return u;
}

tess_status dae_check_encoding(const dae_machine *m, err_state *e) {
  static const uint8_t ops[] = {DAE_LOAD, DAE_GEMM, DAE_ALU};
  int width[3];
  uint64_t word[2];
  bool fits = true;
  for (size_t k = 0; k < sizeof ops; k++)
    fits &= dae_encode(m, &(dae_insn){.op = ops[k]}, word);
  uop_widths(m, width);
  fits &= width[0] + width[1] + width[2] <= 32;
  return fits ? TESS_OK
              : err_set(e, TESS_UNSUPPORTED,
                        "machine '%s': its buffers are too deep for "
                        "instructions of 128 bits and micro-operations of 32",
                        m->name);
}

/* ---- text -------------------------------------------------------------- */

static void print_transfer(const dae_insn *i, strbuf *out) {
  const char *mem = dae_memory_name(i->mem);
  bool loads = i->op == DAE_LOAD;
  str_printf(out, " %s[%u] %s dram[%u] %u x %u", mem, i->sram,
             loads ? "<-" : "->", i->dram, i->y, i->x);
  if (i->y > 1) str_printf(out, " stride %u", i->stride);
  if (i->pad[0] || i->pad[1] || i->pad[2] || i->pad[3])
    str_printf(out, " pad %u %u %u %u", i->pad[0], i->pad[1], i->pad[2],
               i->pad[3]);
}

static void print_loops(const dae_insn *i, int n, strbuf *out) {
  static const char *const name[] = {"dst", "src", "wgt"};
  str_printf(out, " uop[%u:%u] for %u, %u", i->uop_bgn, i->uop_end, i->iter[0],
             i->iter[1]);
  for (int k = 0; k < n; k++)
    str_printf(out, " %s %u %u", name[k], i->factor[k][0], i->factor[k][1]);
}

static void print_vector(const dae_insn *i, strbuf *out) {
  static const char *const name[] = {"min", "max", "add", "shr", "mul"};
  str_printf(out, " %s", name[i->alu]);
  if (i->use_imm) str_printf(out, " %d", i->imm);
  print_loops(i, i->use_imm ? 1 : 2, out);
}

static void print_tokens(const dae_insn *i, strbuf *out) {
  static const char *const name[] = {"pop", "pop", "push", "push"};
  dae_unit u = dae_unit_of(i);
  for (int k = 0; k < 4; k++)
    if (i->dep & 1 << k) {
      uint32_t other = k % 2 ? (uint32_t)u + 1 : (uint32_t)u - 1;
      str_printf(out, " %s %s", name[k], dae_unit_name(other));
    }
}

void dae_print_insn(const dae_machine *m, const dae_insn *i, strbuf *out) {
  if (dae_is_nop(i)) {
    str_puts(out, "nop");
  } else {
    if (i->op == DAE_GEMM && !i->reset && m->gemm_preload)
      str_printf(out, "%s ", m->word[DAE_WORD_PRELOAD]);
    str_puts(out, m->word[i->op]);
    if (i->op == DAE_LOAD || i->op == DAE_STORE) print_transfer(i, out);
    if (i->op == DAE_GEMM && i->reset) str_puts(out, " reset");
    if (i->op == DAE_GEMM) print_loops(i, i->reset ? 1 : 3, out);
    if (i->op == DAE_ALU) print_vector(i, out);
  }
  print_tokens(i, out);
}

/* The micro-operations that the instruction loads. */
static void print_uops(const dae_machine *m, const dae_stream *s,
                       const dae_insn *i, strbuf *out) {
  for (uint32_t k = 0; k < i->y * i->x; k++) {
    uint32_t at = i->dram - s->uop_dram + k;
    if (at >= s->uop.n) return;
    dae_uop u = dae_decode_uop(m, s->uop.v[at]);
    str_printf(out, "        uop %u: acc %u, src %u, wgt %u\n", i->sram + k,
               u.index[0], u.index[1], u.index[2]);
  }
}

void dae_print_stream(const dae_machine *m, const dae_stream *s, strbuf *out) {
  for (uint32_t k = 0; k < s->insn.n; k++) {
    const dae_insn *i = &s->insn.v[k];
    str_printf(out, "%5u ", k);
    dae_print_insn(m, i, out);
    str_putc(out, '\n');
    if (i->op == DAE_LOAD && i->mem == DAE_UOP) print_uops(m, s, i, out);
  }
}
