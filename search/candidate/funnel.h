/* SPDX-License-Identifier: Apache-2.0
 * The rejection funnel: why candidates that were tried were rejected. */
#ifndef SEARCH_CANDIDATE_FUNNEL_H
#define SEARCH_CANDIDATE_FUNNEL_H

#include "base/str.h"
#include "base/vec.h"

typedef enum funnel_stage {
  FUNNEL_REFUSED,      /* by a primitive, for a reason */
  FUNNEL_REJECTED,     /* by a postprocessor */
  FUNNEL_NO_NEIGHBOUR, /* a mutation found none */
  FUNNEL_DUPLICATE,    /* proposed or measured before */
  FUNNEL_EQUAL,        /* its program was, as another candidate's */
  FUNNEL_UNFIT,        /* proposed from outside, and not valid */
  FUNNEL_WASTED,       /* the same where that is a trial; why is a text */
  FUNNEL_MEASURED      /* measured: `who` is the class of the result */
} funnel_stage;

/* `who` and `why` are static texts (names of the registry), or the
 * caller keeps them; for measured results `why` is the first message of the
 * class. */
typedef struct funnel_row {
  funnel_stage stage;
  const char *who, *why;
  uint64_t count;
  int64_t number;      /* an example of what broke a limit */
} funnel_row;

/* What was tried is refused, rejected, without neighbour or valid; what is
 * valid, or, where a host's strategy proposes, what it proposed, is a
 * duplicate, equal to what is measured, unfit, measured or not. */
typedef struct funnel {
  uint64_t sampled, valid;
  uint64_t proposed;   /* by a host's strategy */
  VEC(funnel_row) row;
} funnel;

void funnel_add(funnel *f, mem_heap *heap, funnel_stage stage,
                const char *who, const char *why, int64_t number);
/* `count` results of one class. */
void funnel_measured(funnel *f, mem_heap *heap, const char *class,
                     const char *first_message, uint64_t count);
/* to += from; from becomes empty. */
void funnel_take(funnel *to, mem_heap *heap, funnel *from);
void funnel_free(funnel *f, mem_heap *heap);
/* Several lines, the most frequent first. */
void funnel_print(const funnel *f, strbuf *out);

#endif
