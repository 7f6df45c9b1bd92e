/* SPDX-License-Identifier: Apache-2.0
 * The simulator of a machine: what a stream computes, and how long it takes. */
#ifndef BACKENDS_DAE_SIM_H
#define BACKENDS_DAE_SIM_H

#include "backends/dae/depend.h"

/* The memories that a stream works on. */
typedef struct dae_state {
  const dae_machine *m;
  int8_t *inp, *wgt;
  int32_t *acc;
  uint32_t *uop;
  dae_uop *op;           /* decoded micro-operations of an instruction */
  uint8_t *dram;
  uint64_t bytes;        /* of dram */
} dae_state;
/* On-chip memory, of zeros; dram is the caller's.  Unwinds. */
void dae_state_init(dae_state *x, const dae_machine *m, mem_heap *heap);
void dae_state_free(dae_state *x, mem_heap *heap);

/* Executes the instructions in their order, exactly.  `uops`: micro-operations
 * in memory, from the stream.  false: one exceeds a buffer or the memory, and
 * *at is its number. */
bool dae_execute(dae_state *x, const dae_stream *s, uint32_t *at);

typedef struct dae_times {
  uint64_t cycles;            /* until all is done */
  uint64_t busy[DAE_NUNITS];  /* of each unit, transfers included */
  uint64_t bus;               /* in which the port to memory transferred */
  uint64_t bytes;             /* that it did */
  uint64_t products;          /* [k] by [n, k], of the matrix unit */
  uint64_t *start, *end;      /* of each instruction, in the arena */
  bool is_stuck;              /* a deadlock: cycles until then */
} dae_times;

/* Simulates the units, their queues, the tokens (or, on a machine without, what
 * `needs` says) and the port to memory, cycle by cycle.  Deterministic. */
void dae_simulate(const dae_machine *m, const dae_stream *s,
                  const dae_needs *needs, arena *a, dae_times *out);
/* Cycles of an instruction of the matrix or the vector unit. */
uint64_t dae_compute_cycles(const dae_machine *m, const dae_insn *i,
                            const uint32_t *uop);

/* Which unit is busy when: as text, and as trace events (JSON) that chrome's
 * and perfetto's viewers show, with times in microseconds. */
void dae_print_timeline(const dae_machine *m, const dae_stream *s,
                        const dae_times *t, strbuf *out);
void dae_print_events(const dae_machine *m, const dae_stream *s,
                      const dae_times *t, strbuf *out);

#endif
