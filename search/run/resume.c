/* SPDX-License-Identifier: Apache-2.0
 * Takes a run up again that was broken off: strategy and cost model go through
 * their batches once more, with the stored results in place of measuring, and
 * so have the state they had.  The rest of the batch at work is measured, and
 * the run ends as one that was never broken off. */
#include "base/hash.h"
#include "search/run/loop.h"

#include <math.h>
#include <stdlib.h>

typedef struct stored_work {
  tune *t;
  const database_record *r;
  const search_trial *trial;
} stored_work;

static const char *copy_message(arena *a, const char *text) {
  size_t n = strlen(text) + 1;
  char *copy = arena_array(a, char, n);
  memcpy(copy, text, n);
  return copy;
}

static tess_status keep_stored(void *ud) {
  stored_work *w = ud;
  tune *t = w->t;
  const database_record *r = w->r;
  mem_heap *h = &t->c->heap;
  tune_stored p = {.trial = *w->trial,
                   .order = t->resume.trial.n,
                   .round = r->round,
                   .slot = r->slot};
  uint32_t n = p.trial.c.n;
  int64_t *d = arena_array(&t->s.keep, int64_t, n + 1);
  if (n) memcpy(d, p.trial.c.d, n * sizeof *d);
  p.trial.c.d = d;
  p.trial.trace = NULL;
  p.trial.message = NULL;
  if (r->message && *r->message)
    p.trial.message = copy_message(&t->s.keep, r->message);
  vec_push(h, &t->resume.trial, p);
  return TESS_OK;
}

tess_status tune_keep_stored(tune *t, const database_record *r,
                             const search_trial *trial) {
  stored_work w = {t, r, trial};
  return mem_protect(&t->c->heap, keep_stored, &w);
}

static int by_place(const void *a, const void *b) {
  const tune_stored *x = a, *y = b;
  if (x->round != y->round) return x->round < y->round ? -1 : 1;
  if (x->slot != y->slot) return x->slot < y->slot ? -1 : 1;
  return x->order < y->order ? -1 : x->order > y->order;
}

/* Processes that were the same run at once stored results twice: the first of
 * each counts. */
void tune_sort_stored(tune *t) {
  uint32_t n = 0;
  tune_stored *v = t->resume.trial.v;
  if (t->resume.trial.n) qsort(v, t->resume.trial.n, sizeof *v, by_place);
  for (uint32_t i = 0; i < t->resume.trial.n; i++) {
    bool again =
        n && v[n - 1].round == v[i].round && v[n - 1].slot == v[i].slot;
    if (!again) v[n++] = v[i];
  }
  t->resume.trial.n = n;
}

/* The stored results of the batch that is proposed: trial[at .. end-1]. */
static uint32_t end_of_round(const tune *t) {
  uint32_t end = t->resume.at;
  while (end < t->resume.trial.n &&
         t->resume.trial.v[end].round == t->batch.round)
    end++;
  return end;
}

bool tune_recalls(const tune *t) { return t->resume.at < t->resume.trial.n; }

bool tune_matches_stored(const tune *t, uint32_t n) {
  uint32_t end = end_of_round(t);
  if (end == t->resume.at) return t->resume.trial.v[end].round > t->batch.round;
  for (uint32_t k = t->resume.at; k < end; k++) {
    const tune_stored *p = &t->resume.trial.v[k];
    bool in_order =
        k == t->resume.at || p->slot > t->resume.trial.v[k - 1].slot;
    if (p->slot >= n || !in_order) return false;
    if (t->batch.trial[p->slot].c.hash != p->trial.c.hash) return false;
  }
  return true;
}

/* What a stored result was when it was measured: later comparisons may have
 * marked more of them as checked. */
static void recall_outcome(const tune *t, const tune_stored *p,
                           search_outcome *o) {
  bool all = t->set->o.check != 0;
  const search_trial *x = &p->trial;
  bool best = t->best.seconds == 0 || x->seconds < t->best.seconds;
  o->status = x->status;
  o->seconds = x->seconds;
  o->checked = x->checked && (all || best);
  if (x->message) str_puts(&o->message, x->message);
}

/* Results that are no fault of the candidate's are not stored: a gap before the
 * last stored one of all is such a result. */
tess_status tune_recall(tune *t, uint32_t n, uint32_t *known) {
  uint32_t end = end_of_round(t), at = t->resume.at;
  bool is_last = end == t->resume.trial.n;
  *known = 0;
  if (!tune_recalls(t)) return TESS_OK;
  uint32_t count = is_last ? t->resume.trial.v[end - 1].slot + 1 : n;
  tess_status s = TESS_OK;
  t->resume.recalling = true;
  for (uint32_t i = 0; s == TESS_OK && i < count; i++) {
    search_outcome *o = &t->batch.out[i];
    if (at < end && t->resume.trial.v[at].slot == i)
      recall_outcome(t, &t->resume.trial.v[at++], o);
    else
      o->status = TESS_INFRA;
    s = tune_learn_result(t, i, o);
    t->budget.recalled++;
  }
  t->resume.recalling = false;
  t->resume.at = end;
  *known = count;
  return s;
}

tess_status tune_learn_stored(tune *t, const search_trial *x) {
  if (x->status != TESS_OK)
    t->budget.failed++;
  else if (x->checked)
    tune_note_best(t, x->seconds);
  tess_status s = session_learn(&t->s, x);
  return s == TESS_OK ? tune_count_trial(t) : s;
}

/* Other proposals than those that were stored, as of another engine: the
 * results left become history. */
tess_status tune_give_up_stored(tune *t) {
  tess_status s = TESS_OK;
  if (!t->resume.lost)
    ctx_warn(t->c, hash_mix(t->records.key.workload, t->set->o.seed),
             "database %s: the run that was broken off proposes other "
             "candidates now, so it goes on from its records as a new run "
             "would",
             t->set->o.database);
  for (; s == TESS_OK && t->resume.at < t->resume.trial.n; t->resume.at++) {
    const search_trial *x = &t->resume.trial.v[t->resume.at].trial;
    if (session_knows(&t->s, &x->c)) continue;
    s = tune_learn_stored(t, x);
    t->budget.recalled++;
  }
  return s;
}

/* ---- the run's row ------------------------------------------------------ */

static uint64_t hash_space(const tune *t) {
  uint64_t h = 0;
  for (uint32_t i = 0; i < t->set->nsketch; i++)
    h = hash_mix(h, t->sketch_hash[i]);
  for (uint32_t i = 0; i < t->s.host.npostproc; i++) {
    const char *name = t->s.host.postproc[i].name;
    h = hash_mix(h, hash_bytes(name, strlen(name)));
  }
  return h >> 1;
}

tess_status tune_begin_run(tune *t) {
  const tess_tune_options *o = &t->set->o;
  const char *strategy = t->strategy.name ? t->strategy.name : "custom";
  const char *model = t->r->model     ? t->r->model->name
                      : t->model.name ? t->model.name
                                      : "custom";
  database_run_key k = {.space = hash_space(t),
                        .seed = o->seed,
                        .strategy = strategy,
                        .model = model,
                        .batch = o->batch,
                        .transfer = !o->no_transfer};
  tess_status s = database_next(t->records.db, &t->records.key, o->seed,
                                &t->records.run.first);
  if (s == TESS_OK)
    s = database_begin_run(t->records.db, &t->records.key, &k, &t->records.run);
  t->s.next = t->records.run.first;
  return s;
}

double tune_elapsed(const tune *t) {
  return t->records.run.seconds + clock_now() - t->time.started;
}

tess_status tune_store_run(tune *t, const char *ended) {
  strbuf text;
  if (!t->records.db || !t->records.run.id) return TESS_OK;
  double start = clock_now();
  str_init(&text, &t->c->heap);
  funnel_print(&t->s.total, &text);
  const char *rows = str_get(*ended ? &t->r->funnel : &text);
  const char *ledger = str_get(&t->r->ledger);
  database_run_state now = {.seconds = tune_elapsed(t),
                            .unscheduled = t->best.unscheduled,
                            .funnel = rows ? rows : "",
                            .ledger = ledger ? ledger : "",
                            .ended = ended};
  tess_status s = database_put_run(t->records.db, t->records.run.id, &now);
  str_free(&text);
  t->time.ledger.database += clock_now() - start;
  return s;
}
