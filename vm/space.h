/* SPDX-License-Identifier: Apache-2.0
 * The decision space of a trace: alternatives at an instruction, and random
 * neighbours.  A machine is left in the state of the last replay, and its
 * `fail` says why a query failed. */
#ifndef VM_SPACE_H
#define VM_SPACE_H

#include "vm/vm.h"

/* Alternatives at one sampling instruction. */
typedef struct vm_space {
  uint64_t count;          /* size of the space; UINT64_MAX: or more */
  uint32_t n, width;       /* number and width of those listed */
  VEC(int64_t) decision;   /* n rows of `width` numbers */
  VEC(double) logp;        /* of each */
} vm_space;

void vm_space_free(vm_space *s, mem_heap *heap);

/* The first `max` alternatives at instruction k (from 0), in the space's own
 * order, after replaying the prefix as `o` says. */
tess_status vm_alternatives(vm_machine *m, const ir_program *base,
                            const vm_trace *t, const vm_replay_opts *o,
                            uint32_t k, uint32_t max, vm_space *out);
/* The same over the machine's current state, just before instruction k. */
tess_status vm_alternatives_here(vm_machine *m, const vm_trace *t, uint32_t k,
                                 uint32_t max, vm_space *out);
/* Replays with decision number index[i], in the space's own order, at the i-th
 * sampling instruction; count[i] becomes how many it has there.  *reached is
 * how many sampling instructions were performed, on a failure, too, which may
 * be that there is no decision of that number (TESS_NOT_FOUND).  Of o, `memory`
 * is heeded. */
tess_status vm_replay_numbered(vm_machine *m, const ir_program *base,
                               const vm_trace *t, const vm_replay_opts *o,
                               const uint64_t *index, uint64_t *count,
                               uint32_t *reached, vm_decisions *made);
/* Is d exactly a decision there?  TESS_OK, or as a failing replay. */
tess_status vm_admits(vm_machine *m, const ir_program *base,
                      const vm_trace *t, const vm_replay_opts *o, uint32_t k,
                      uint32_t n, const int64_t *d);
tess_status vm_admits_here(vm_machine *m, const vm_trace *t, uint32_t k,
                           uint32_t n, const int64_t *d);
/* dst := t with that decision, if it fits. */
tess_status vm_with_decision(vm_trace *dst, vm_machine *m,
                             const ir_program *base, const vm_trace *t,
                             uint32_t k, uint32_t n, const int64_t *d);
/* Sets it without a check. */
void vm_put_decision(vm_trace *t, uint32_t k, uint32_t n, const int64_t *d);

typedef struct vm_mutate_opts {
  const int64_t *given;    /* the parent's decisions; NULL: the trace's */
  uint32_t ngiven;
  const uint32_t *weight;  /* of each instruction; NULL: all alike */
  uint32_t tries;          /* 0: 32 */
  bool exact;              /* do not repair the decisions that follow */
  bool no_postproc;
  /* As vm_replay_opts has it; of tries that fail, too. */
  void (*visit)(void *ud, vm_machine *m, const vm_inst *in);
  void *ud;
  const vm_memory *memory; /* NULL: none */
} vm_mutate_opts;

/* A random legal neighbour: one decision is mutated, those before it are kept,
 * those after it are repaired where they must be.  The machine holds its
 * program; its decisions are appended to *made.  TESS_NOT_FOUND: there is no
 * neighbour; else the failure of the last try. */
tess_status vm_mutate(vm_machine *m, const ir_program *base,
                      const vm_trace *t, rng *random, const vm_mutate_opts *o,
                      vm_decisions *made);

#endif
