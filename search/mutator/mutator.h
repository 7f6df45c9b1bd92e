/* SPDX-License-Identifier: Apache-2.0
 * Mutators: which instructions of a sketch a mutation may change, after
 * MetaSchedule's, each by name and with a probability.  What they change is a
 * decision, which becomes a neighbour in its space (vm/space.h); the decisions
 * that follow are repaired. */
#ifndef SEARCH_MUTATOR_MUTATOR_H
#define SEARCH_MUTATOR_MUTATOR_H

#include "search/candidate/candidate.h"
#include "vm/space.h"

typedef struct search_mutator {
  /* Whether it may change the decision of sampling instruction k. */
  bool (*changes)(const vm_trace *t, uint32_t k);
  /* A property of the program that it must change; NULL: none. */
  search_trait trait;
} search_mutator;
/* In the order of mutators.def, which also has their probabilities. */
extern const search_mutator search_mutators[];
extern const uint32_t search_nmutators;
#define MUTATOR(NAME, PROBABILITY, TRAIT, HELP) \
  bool mutator_##NAME(const vm_trace *t, uint32_t k);
#include "search/mutator/mutators.def"
#undef MUTATOR
/* Extents of all parallel loops, in the order of the program. */
uint64_t mutator_parallel_extents(const ir_program *p);

/* Weights of a sketch's instructions, in the arena; NULL: it changes none of
 * them.  Unwinds. */
const uint32_t *mutator_weights(const search_mutator *m, const vm_trace *t,
                                arena *to);

/* ---- questions about a trace (mutator.c) -------------------------------- */

bool mutator_is(const vm_trace *t, uint32_t k, const char *prim);
/* Whether that value has the (only) output of instruction k in it. */
bool mutator_uses(const vm_trace *t, vm_value v, uint32_t k);
/* Whether the output of instruction k is the value of an annotation of that
 * key (ir/annotations.def). */
bool mutator_annotates(const vm_trace *t, uint32_t k, const char *key);
/* Whether a loop that a split makes of the output of instruction k is bound to
 * a thread whose name begins with `thread`. */
bool mutator_binds(const vm_trace *t, uint32_t k, const char *thread);

#endif
