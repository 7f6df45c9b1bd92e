/* SPDX-License-Identifier: Apache-2.0
 * The space of decisions of a trace: what there is to choose at a point,
 * one step aside, how likely a whole candidate is, and its place among
 * numbers.  A machine is left as the replay in question left it, and its
 * `fail` tells why something did not work. */
#ifndef VM_SPACE_H
#define VM_SPACE_H

#include "vm/vm.h"

/* Some of the decisions at one sampling instruction. */
typedef struct vm_space {
  uint64_t count;          /* of the whole space; UINT64_MAX: or more */
  uint32_t n, width;       /* of those here */
  VEC(int64_t) decision;   /* n rows of `width` numbers */
  VEC(double) logp;        /* of each */
} vm_space;

void vm_space_free(vm_space *s, mem_heap *heap);

/* The first `max` alternatives at instruction k (from 0), in the space's own
 * order, after replaying what comes before it as `o` says. */
tess_status vm_alternatives(vm_machine *m, const ir_program *base,
                            const vm_trace *t, const vm_replay_opts *o,
                            uint32_t k, uint32_t max, vm_space *out);
/* The same over the machine as it stands, just before instruction k. */
tess_status vm_alternatives_here(vm_machine *m, const vm_trace *t, uint32_t k,
                                 uint32_t max, vm_space *out);
/* Whether d is a decision there, exactly; TESS_OK or as a failing replay. */
tess_status vm_admits(vm_machine *m, const ir_program *base,
                      const vm_trace *t, const vm_replay_opts *o, uint32_t k,
                      uint32_t n, const int64_t *d);
tess_status vm_admits_here(vm_machine *m, const vm_trace *t, uint32_t k,
                           uint32_t n, const int64_t *d);
/* dst := t with that decision, if it fits. */
tess_status vm_with_decision(vm_trace *dst, vm_machine *m,
                             const ir_program *base, const vm_trace *t,
                             uint32_t k, uint32_t n, const int64_t *d);
/* Sets it unasked. */
void vm_put_decision(vm_trace *t, uint32_t k, uint32_t n, const int64_t *d);

/* Natural logarithm of the probability that fresh draws give what `o`
 * says. */
tess_status vm_logp(vm_machine *m, const ir_program *base, const vm_trace *t,
                    const vm_replay_opts *o, double *out);
/* All decisions as numbers, one run a sampling instruction; appended to
 * *out (of the machine's heap). */
typedef VEC(double) vm_numbers;
tess_status vm_embed(vm_machine *m, const ir_program *base, const vm_trace *t,
                     const vm_replay_opts *o, vm_numbers *out);

typedef struct vm_mutate_opts {
  const int64_t *given;    /* the parent's decisions; NULL: the trace's */
  uint32_t ngiven;
  const uint32_t *weight;  /* of each instruction; NULL: all alike */
  uint32_t tries;          /* 0: 32 */
  bool exact;              /* do not mend the decisions that follow */
  bool no_postproc;
} vm_mutate_opts;

/* One random legal neighbour: one decision steps aside, those before it are
 * as they were, those after it are mended where they must be.  The machine
 * holds its program; its decisions are appended to *made.  TESS_NOT_FOUND:
 * there is no neighbour; else the failure of the last try. */
tess_status vm_mutate(vm_machine *m, const ir_program *base,
                      const vm_trace *t, rng *random, const vm_mutate_opts *o,
                      vm_decisions *made);

#endif
