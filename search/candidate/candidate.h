/* SPDX-License-Identifier: Apache-2.0
 * A candidate: a sketch and its decisions; and how one is to be made. */
#ifndef SEARCH_CANDIDATE_CANDIDATE_H
#define SEARCH_CANDIDATE_CANDIDATE_H

#include "ir/ir.h"

/* A candidate; its decisions are in an arena of the session's, encoded as
 * vm_decisions. */
typedef struct search_cand {
  uint32_t sketch, n;
  const int64_t *d;
  uint64_t hash;             /* of sketch and decisions */
} search_cand;

uint64_t search_hash(uint32_t sketch, uint32_t n, const int64_t *d);

/* A property of a program that a mutator changes. */
typedef uint64_t (*search_trait)(const ir_program *p);

/* How to make a candidate. */
typedef enum search_how {
  SEARCH_DRAW,               /* sample all decisions of a random sketch */
  SEARCH_MUTATE,             /* `steps` neighbours from parent a */
  SEARCH_CROSS,              /* each decision from parent a or b, repaired */
  SEARCH_GIVEN,              /* the decisions of a, exactly */
  SEARCH_REPAIR              /* those of a, repaired; where a's is open (of
                              * length 0) it is drawn */
} search_how;
typedef struct search_order {
  search_how how;
  uint32_t steps;
  const search_cand *a, *b;
  int32_t sketch;            /* SEARCH_DRAW: this one; -1: any */
  /* SEARCH_MUTATE: which instructions, by weight (NULL: all alike); and a
   * property of the program that must change (NULL: none need). */
  const uint32_t *weight;
  search_trait trait;
} search_order;

#endif
