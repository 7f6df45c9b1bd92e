/* SPDX-License-Identifier: Apache-2.0
 * Candidates of other decisions and the same program: it is measured once, and
 * they learn its result without a trial. */
#include "search/run/loop.h"

/* Whether it is that of one of the first n of the batch. */
static bool is_in_batch(const tune *t, uint32_t n, uint64_t program) {
  for (uint32_t i = 0; i < n; i++)
    if (t->batch.trial[i].program == program) return true;
  return false;
}

void tune_part_equal(tune *t, uint32_t *n) {
  uint32_t kept = 0;
  t->batch.nequal = 0;
  for (uint32_t i = 0; i < *n; i++) {
    search_trial *x = &t->batch.trial[i];
    x->program = session_program_of(&t->s, &x->c);
    if (x->program && (session_find_program(&t->s, x->program) ||
                       is_in_batch(t, kept, x->program)))
      t->batch.equal[t->batch.nequal++] = *x;
    else
      t->batch.trial[kept++] = *x;
  }
  *n = kept;
}

static tess_status count_equal(void *ud) {
  tune *t = ud;
  funnel_add(&t->s.total, &t->c->heap, FUNNEL_EQUAL, "", "", 0);
  return TESS_OK;
}

static tess_status learn_from(tune *t, const search_trial *like,
                              search_trial *x) {
  trial_end(x, like->status, like->seconds, like->checked);
  x->equal = true;
  tess_status s = session_learn(&t->s, x);
  return s == TESS_OK ? mem_protect(&t->c->heap, count_equal, t) : s;
}

/* What is like one that was not measured, as where the machine was at fault,
 * has learnt nothing, and may be proposed again. */
tess_status tune_learn_equal(tune *t, uint32_t *n) {
  tess_status s = TESS_OK;
  for (uint32_t i = 0; s == TESS_OK && i < t->batch.nequal; i++) {
    const search_trial *like =
        session_find_program(&t->s, t->batch.equal[i].program);
    if (!like) continue;
    t->batch.trial[*n] = t->batch.equal[i];
    s = learn_from(t, like, &t->batch.trial[(*n)++]);
  }
  return s;
}
