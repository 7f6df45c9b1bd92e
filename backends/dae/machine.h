/* SPDX-License-Identifier: Apache-2.0
 * A decoupled access-execute machine as data: three units (load, compute,
 * store), each with a queue of instructions, on-chip buffers, a matrix and a
 * vector unit, and a port to memory that they share.  stdlib/machines/ has the
 * tables; a target carries one as text, "-machine=name=vta,clock=100,...". */
#ifndef BACKENDS_DAE_MACHINE_H
#define BACKENDS_DAE_MACHINE_H

#include "base/error.h"
#include "base/str.h"
#include "ir/ir.h"

/* On-chip memories, and what a transfer names: OUT is the low byte of each
 * accumulator, ACC8 fills accumulators from bytes.  Numbered as in VTA. */
typedef enum dae_memory {
  DAE_UOP,
  DAE_WGT,
  DAE_INP,
  DAE_ACC,
  DAE_OUT,
  DAE_ACC8,
  DAE_NMEM
} dae_memory;
enum { DAE_NBUFFERS = DAE_ACC + 1 }; /* OUT and ACC8 are views of ACC */

/* In the order of the data: tokens pass between neighbours. */
typedef enum dae_unit {
  DAE_LOADS,
  DAE_COMPUTES,
  DAE_STORES,
  DAE_NUNITS
} dae_unit;

typedef struct dae_machine {
  char name[32];
  char call[32];         /* the function of the matrix unit's intrinsic */
  char word[6][24];      /* what instructions are called: DAE_WORD_* */
  int64_t clock, fetch;
  int64_t k, n;
  int64_t gemm_interval, gemm_depth, gemm_preload;
  int64_t alu_interval, alu_depth;
  int64_t bytes[DAE_NBUFFERS];
  int64_t queue[DAE_NUNITS];
  int64_t stores_acc;
  int64_t tokens;
  int64_t bus, latency, burst, beats, priority;
} dae_machine;

/* An instruction's name in texts: word[op], where PRELOAD is printed for
 * weights that change. */
enum {
  DAE_WORD_LOAD, DAE_WORD_STORE, DAE_WORD_GEMM, DAE_WORD_FINISH, DAE_WORD_ALU,
  DAE_WORD_PRELOAD, DAE_NWORDS
};

enum { DAE_MACHINE_TEXT = 1024 };

/* From "key=value,key=value"; every key must be there.  PARSE, NOT_FOUND,
 * INVALID. */
tess_status dae_machine_parse(dae_machine *m, const char *text, err_state *e);

/* Bytes of an entry of a memory: what an address counts. */
static inline int64_t dae_entry(const dae_machine *m, uint32_t mem) {
  switch (mem) {
  case DAE_UOP: return 4;
  case DAE_INP: return m->k;
  case DAE_WGT: return m->k * m->n;
  case DAE_ACC: return 4 * m->n;
  default: return m->n;
  }
}
/* The buffer that a transfer's memory is in, and how many entries it has. */
static inline uint32_t dae_buffer(uint32_t mem) {
  return mem > DAE_ACC ? DAE_ACC : mem;
}
static inline int64_t dae_depth(const dae_machine *m, uint32_t mem) {
  uint32_t b = dae_buffer(mem);
  return m->bytes[b] / dae_entry(m, b);
}
/* Elements of an entry: accumulators are int32, also where bytes are loaded to
 * them. */
static inline int64_t dae_elements(const dae_machine *m, uint32_t mem) {
  return dae_entry(m, mem) / (mem == DAE_ACC ? 4 : 1);
}
/* The memory of a buffer of that scope; DAE_NMEM: it is not on the chip. */
static inline uint32_t dae_of_scope(uint32_t scope) {
  return scope == IR_SCOPE_DAE_INP   ? DAE_INP
         : scope == IR_SCOPE_DAE_WGT ? DAE_WGT
         : scope == IR_SCOPE_DAE_ACC ? DAE_ACC
                                     : DAE_NMEM;
}
const char *dae_memory_name(uint32_t mem);
const char *dae_unit_name(uint32_t unit);

#endif
