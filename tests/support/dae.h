/* SPDX-License-Identifier: Apache-2.0
 * Streams of decoupled access-execute machines, written by hand. */
#ifndef SUPPORT_DAE_H
#define SUPPORT_DAE_H

#include "backends/dae/sim.h"

/* VTA's, with times that are easy to add up: a bus of 8 bytes, a latency of 10
 * cycles, no cycles for a request, pipelines of depth 4. */
const dae_machine *dae_test_machine(dae_machine *out);

typedef struct dae_case {
  dae_machine m;
  mem_heap *heap;
  arena a;
  dae_stream s;
  dae_needs *needs;
  uint64_t bytes; /* of memory */
} dae_case;
void dae_case_start(dae_case *x, mem_heap *heap);
void dae_case_end(dae_case *x);

/* Appends an instruction; gives its number. */
uint32_t dae_case_load(dae_case *x, dae_memory mem, uint32_t sram,
                       uint32_t dram, uint32_t n);
uint32_t dae_case_store(dae_case *x, uint32_t sram, uint32_t dram, uint32_t n);
/* acc[acc] += inp[inp] . wgt[wgt], n times (the same), by micro-operation
 * `uop`, which dae_case_uops loads. */
uint32_t dae_case_gemm(dae_case *x, uint32_t uop, uint32_t n);
uint32_t dae_case_uops(dae_case *x, uint32_t n, const dae_uop *u);
/* Finds needs, inserts tokens, finds them again. */
void dae_case_order(dae_case *x);
void dae_case_find(dae_case *x);

#endif
