/* SPDX-License-Identifier: Apache-2.0
 * Instructions and micro-operations: as structures, as VTA's 128 and 32 bits,
 * and as text. */
#ifndef BACKENDS_DAE_INSN_H
#define BACKENDS_DAE_INSN_H

#include "backends/dae/machine.h"
#include "base/vec.h"

typedef enum dae_op {
  DAE_LOAD,
  DAE_STORE,
  DAE_GEMM,
  DAE_FINISH,
  DAE_ALU,
  DAE_NOPS
} dae_op;

typedef enum dae_alu {
  DAE_MIN,
  DAE_MAX,
  DAE_ADD,
  DAE_SHR,
  DAE_MUL,
  DAE_NALU
} dae_alu;

/* Tokens: a unit's previous neighbour is unit - 1, its next one unit + 1. */
enum {
  DAE_POP_PREV = 1,
  DAE_POP_NEXT = 2,
  DAE_PUSH_PREV = 4,
  DAE_PUSH_NEXT = 8
};

/* Which field is valid where: LOAD and STORE mem .. stride, LOAD also pad;
 * GEMM and ALU uop_bgn .. factor, GEMM reset, ALU alu .. imm. */
typedef struct dae_insn {
  uint8_t op;            /* dae_op */
  uint8_t dep;           /* DAE_POP_*, DAE_PUSH_* */
  uint8_t mem;           /* dae_memory */
  uint8_t pad[4];        /* entries of zeros: rows before and after, columns
                          * before and after */
  bool reset;            /* accumulators become 0; nothing is multiplied */
  bool use_imm;          /* the second operand is imm, not acc[src] */
  uint8_t alu;           /* dae_alu */
  int32_t imm;           /* 16 bits */
  uint32_t sram, dram;   /* in entries of mem */
  uint32_t y, x, stride; /* rows, entries of each, entries from row to row */
  uint32_t uop_bgn, uop_end;
  uint32_t iter[2];      /* of the outer and the inner loop */
  uint32_t factor[3][2]; /* of dst, src, wgt: entries a step of either */
} dae_insn;

/* dst: acc; src: inp (GEMM), acc (ALU); wgt: GEMM. */
typedef struct dae_uop { uint32_t index[3]; } dae_uop;

/* A program of the machine: instructions in the order in which they are
 * fetched, and the micro-operations that lie in memory from `uop_dram` on, in
 * entries of DAE_UOP. */
typedef struct dae_stream {
  VEC(dae_insn) insn;
  VEC(uint32_t) uop;     /* encoded */
  uint32_t uop_dram;
} dae_stream;
void dae_stream_free(mem_heap *heap, dae_stream *s);

static inline dae_unit dae_unit_of(const dae_insn *i) {
  bool loads = i->op == DAE_LOAD && (i->mem == DAE_INP || i->mem == DAE_WGT);
  return loads ? DAE_LOADS : i->op == DAE_STORE ? DAE_STORES : DAE_COMPUTES;
}
/* Side 0 is that of the unit before, 1 that of the one after.  Does a unit have
 * a neighbour there, does an instruction pop a token from it, or push one? */
static inline bool dae_has_side(dae_unit u, int side) {
  return side ? u < DAE_STORES : u > DAE_LOADS;
}
static inline bool dae_pops(const dae_insn *i, int side) {
  return i->dep & (side ? DAE_POP_NEXT : DAE_POP_PREV);
}
static inline bool dae_pushes(const dae_insn *i, int side) {
  return i->dep & (side ? DAE_PUSH_NEXT : DAE_PUSH_PREV);
}
/* Moves nothing and takes no time; it passes tokens on. */
static inline bool dae_is_nop(const dae_insn *i) {
  return i->op == DAE_LOAD && i->mem == DAE_UOP && !i->y && !i->x;
}
/* Rows and columns on the chip, with the zeros around. */
static inline uint32_t dae_rows(const dae_insn *i) {
  return i->y + i->pad[0] + i->pad[1];
}
static inline uint32_t dae_columns(const dae_insn *i) {
  return i->x + i->pad[2] + i->pad[3];
}

/* Can every instruction of the machine be encoded? */
tess_status dae_check_encoding(const dae_machine *m, err_state *e);
/* false: a value does not fit its field. */
bool dae_encode(const dae_machine *m, const dae_insn *i, uint64_t out[2]);
/* false: there is no such instruction. */
bool dae_decode(const dae_machine *m, const uint64_t in[2], dae_insn *out);
uint32_t dae_encode_uop(const dae_machine *m, const dae_uop *u);
dae_uop dae_decode_uop(const dae_machine *m, uint32_t word);
/* The widest that fields may be. */
enum { DAE_MOST_PAD = 15, DAE_MOST_ITER = 16383, DAE_MOST_SIZE = 65535 };

/* One line, without its end. */
void dae_print_insn(const dae_machine *m, const dae_insn *i, strbuf *out);
/* All, numbered, and the micro-operations behind those that load them. */
void dae_print_stream(const dae_machine *m, const dae_stream *s, strbuf *out);

#endif
