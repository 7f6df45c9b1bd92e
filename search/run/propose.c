/* SPDX-License-Identifier: Apache-2.0
 * What a strategy proposes becomes a batch: proposals of a host are checked,
 * what the space's postprocessors refuse is dropped, and programs that were
 * measured are set apart. */
#include "search/run/loop.h"

static tess_status count_duplicate(void *ud) {
  tune *t = ud;
  funnel_add(&t->s.total, &t->c->heap, FUNNEL_DUPLICATE, "", "", 0);
  return TESS_OK;
}

/* Whether it was measured before, or is among the first n of this batch. */
static bool is_duplicate(const tune *t, uint32_t n, const search_cand *c) {
  for (uint32_t i = 0; i < n; i++)
    if (t->batch.trial[i].c.hash == c->hash) return true;
  return session_knows(&t->s, c);
}

/* Validates the proposals of a host's strategy: the sketch exists, the
 * decisions replay, no duplicates.  Invalid ones are dropped and counted in
 * the funnel. */
static tess_status check_proposals(tune *t, uint32_t *n) {
  uint32_t kept = 0;
  tess_status s = TESS_OK;
  if (!t->set->o.custom_strategy) return s;
  t->s.total.proposed += *n;
  for (uint32_t i = 0; s == TESS_OK && i < *n; i++) {
    const search_cand *c = &t->batch.trial[i].c;
    bool fits = false;
    if (is_duplicate(t, kept, c))
      s = mem_protect(&t->c->heap, count_duplicate, t);
    else
      s = session_check_proposal(&t->s, c, &fits);
    if (fits) t->batch.trial[kept++] = t->batch.trial[i];
  }
  *n = kept;
  return s;
}

/* Drops the proposals that a postprocessor of the host's, which kept them when
 * they were made, refuses now; of those left the first *n are to be measured,
 * and the others are equal to such. */
static tess_status finish_proposals(tune *t, uint32_t *n) {
  uint32_t kept = 0;
  tess_status s = TESS_OK;
  for (uint32_t i = 0; s == TESS_OK && i < *n; i++) {
    s = session_finish_trial(&t->s, &t->batch.trial[i]);
    if (s == TESS_OK) t->batch.trial[kept++] = t->batch.trial[i];
    if (s == TESS_REFUSED) s = TESS_OK;
  }
  *n = kept;
  if (s == TESS_OK) tune_part_equal(t, n);
  return s;
}

/* Counts the proposals of the strategy that were none and cost a trial. */
static tess_status count_wasted(tune *t) {
  const search_outcome none = {.status = TESS_INVALID};
  tess_status s = TESS_OK;
  while (s == TESS_OK && t->budget.wasted < t->s.wasted.n) {
    t->budget.wasted++;
    t->budget.failed++;
    s = tune_count_trial(t);
    if (s == TESS_OK) tune_report_trial(t, &none);
  }
  return s;
}

tess_status tune_propose_draft(tune *t, uint32_t *got) {
  const tess_session *s = &t->s;
  tess_candidate view;
  *got = t->batch.nequal = 0;
  for (uint32_t i = 0; i < s->hint.n && !*got; i++) {
    const search_cand *c = &s->hint.v[i];
    if (c->hash != t->best.draft || session_knows(s, c)) continue;
    session_to_public(c, &view);
    t->batch.trial[(*got)++] = trial_from_public(&view);
  }
  return finish_proposals(t, got);
}

/* Entries that the strategy counts but did not write are zero, which
 * check_proposals drops. */
tess_status tune_propose(tune *t, uint32_t n, uint32_t *got) {
  memset(t->batch.view, 0, n * sizeof *t->batch.view);
  t->batch.nequal = 0;
  tess_status s = tune_propose_foreign(t, n, got);
  if (s != TESS_OK) return s;
  if (*got) return finish_proposals(t, got);
  s = t->strategy.propose(t->strategy.ud, &t->s, n, t->batch.view, got);
  tess_status counted = count_wasted(t);
  if (s == TESS_OK) s = counted;
  if (s != TESS_OK) return session_blame(&t->s, s, "the strategy's 'propose'");
  if (*got > n)
    return ctx_fail(t->c, TESS_INVALID,
                    "the strategy proposed %u candidates where at most %u "
                    "were asked for",
                    *got, n);
  for (uint32_t i = 0; i < *got; i++)
    t->batch.trial[i] = trial_from_public(&t->batch.view[i]);
  s = check_proposals(t, got);
  return s == TESS_OK ? finish_proposals(t, got) : s;
}
