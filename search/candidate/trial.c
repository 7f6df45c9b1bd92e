/* SPDX-License-Identifier: Apache-2.0
 * Trials, and their public views. */
#include "search/candidate/trial.h"

#include "search/candidate/session.h"
#include <math.h>

search_trial trial_from_public(const tess_candidate *c) {
  return (search_trial){.c = session_from_public(c)};
}

void trial_to_public(const search_trial *t, tess_candidate *out) {
  session_to_public(&t->c, out);
  out->status = t->status;
  out->seconds = t->seconds;
}

void trial_end(search_trial *t, tess_status status, double seconds,
               bool checked) {
  t->status = status;
  t->seconds = status == TESS_OK ? seconds : INFINITY;
  t->checked = checked;
}
