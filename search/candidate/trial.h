/* SPDX-License-Identifier: Apache-2.0
 * A trial: a candidate and its outcome. */
#ifndef SEARCH_CANDIDATE_TRIAL_H
#define SEARCH_CANDIDATE_TRIAL_H

#include "search/candidate/candidate.h"
#include "vm/object.h"

/* There is one for each candidate of the batch at work, and of the history. */
typedef struct search_trial {
  search_cand c;
  /* With the decisions, its kernel (session_finish): in the batch at work, and
   * as long as the decisions live; NULL in the history. */
  const vm_trace *trace;
  double seconds;            /* +inf when it failed */
  tess_status status;
  bool checked;              /* compared with the reference, and equal */
  bool equal;                /* its program was measured, as another's */
  uint64_t program;          /* hash of its program; 0: not known */
  const char *message;       /* how it failed; NULL: nothing is known */
} search_trial;

search_trial trial_from_public(const tess_candidate *c);
/* A view of it, for strategies, models and hosts. */
void trial_to_public(const search_trial *t, tess_candidate *out);
/* It has come to this end. */
void trial_end(search_trial *t, tess_status status, double seconds,
               bool checked);

#endif
