/* SPDX-License-Identifier: Apache-2.0
 * Takes a run up again that was broken off: strategy and cost model go through
 * their batches once more, with the stored results in place of measuring, and
 * so have the state they had.  The rest of the batch at work is measured, and
 * the run ends as one that was never broken off. */
#include "base/hash.h"
#include "search/run/loop.h"

#include <math.h>
#include <stdlib.h>

typedef struct past_work {
  tune *t;
  const database_record *r;
  const search_trial *trial;
} past_work;

static const char *copy_message(arena *a, const char *text) {
  size_t n = strlen(text) + 1;
  char *copy = arena_array(a, char, n);
  memcpy(copy, text, n);
  return copy;
}

static tess_status keep_past(void *ud) {
  past_work *w = ud;
  tune *t = w->t;
  const database_record *r = w->r;
  mem_heap *h = &t->c->heap;
  tune_past p = {.trial = *w->trial,
                 .order = t->past.n,
                 .round = r->round,
                 .slot = r->slot};
  uint32_t n = p.trial.c.n;
  int64_t *d = arena_array(&t->s.keep, int64_t, n + 1);
  if (n) memcpy(d, p.trial.c.d, n * sizeof *d);
  p.trial.c.d = d;
  p.trial.trace = NULL;
  if (r->message && *r->message)
    p.message = copy_message(&t->s.keep, r->message);
  vec_push(h, &t->past, p);
  return TESS_OK;
}

tess_status tune_keep_past(tune *t, const database_record *r,
                           const search_trial *trial) {
  past_work w = {t, r, trial};
  return mem_protect(&t->c->heap, keep_past, &w);
}

static int by_place(const void *a, const void *b) {
  const tune_past *x = a, *y = b;
  if (x->round != y->round) return x->round < y->round ? -1 : 1;
  if (x->slot != y->slot) return x->slot < y->slot ? -1 : 1;
  return x->order < y->order ? -1 : x->order > y->order;
}

/* Processes that were the same run at once stored results twice: the first of
 * each counts. */
void tune_sort_past(tune *t) {
  uint32_t n = 0;
  tune_past *v = t->past.v;
  if (t->past.n) qsort(v, t->past.n, sizeof *v, by_place);
  for (uint32_t i = 0; i < t->past.n; i++) {
    bool again =
        n && v[n - 1].round == v[i].round && v[n - 1].slot == v[i].slot;
    if (!again) v[n++] = v[i];
  }
  t->past.n = n;
}

/* The stored results of the batch that is proposed: past[at .. end-1]. */
static uint32_t end_of_round(const tune *t) {
  uint32_t end = t->past_at;
  while (end < t->past.n && t->past.v[end].round == t->round) end++;
  return end;
}

bool tune_recalls(const tune *t) { return t->past_at < t->past.n; }

bool tune_matches_past(const tune *t, uint32_t n) {
  uint32_t end = end_of_round(t);
  if (end == t->past_at) return t->past.v[end].round > t->round;
  for (uint32_t k = t->past_at; k < end; k++) {
    const tune_past *p = &t->past.v[k];
    bool in_order = k == t->past_at || p->slot > t->past.v[k - 1].slot;
    if (p->slot >= n || !in_order) return false;
    if (t->trial[p->slot].c.hash != p->trial.c.hash) return false;
  }
  return true;
}

/* What a stored result was when it was measured: later comparisons may have
 * marked more of them as checked. */
static void recall_outcome(const tune *t, const tune_past *p,
                           search_outcome *o) {
  bool all = t->set->o.check != 0;
  const search_trial *x = &p->trial;
  bool best = t->best_seconds == 0 || x->seconds < t->best_seconds;
  o->status = x->status;
  o->seconds = x->seconds;
  o->checked = x->checked && (all || best);
  if (p->message) str_puts(&o->message, p->message);
}

/* Results that are no fault of the candidate's are not stored: a gap before the
 * last stored one of all is such a result. */
tess_status tune_recall(tune *t, uint32_t n, uint32_t *known) {
  uint32_t end = end_of_round(t), at = t->past_at;
  bool is_last = end == t->past.n;
  *known = 0;
  if (!tune_recalls(t)) return TESS_OK;
  uint32_t count = is_last ? t->past.v[end - 1].slot + 1 : n;
  tess_status s = TESS_OK;
  t->recalling = true;
  for (uint32_t i = 0; s == TESS_OK && i < count; i++) {
    search_outcome *o = &t->out[i];
    if (at < end && t->past.v[at].slot == i)
      recall_outcome(t, &t->past.v[at++], o);
    else
      o->status = TESS_INFRA;
    s = tune_learn_result(t, i, o);
    t->recalled++;
  }
  t->recalling = false;
  t->past_at = end;
  *known = count;
  return s;
}

tess_status tune_learn_past(tune *t, const search_trial *x) {
  if (x->status != TESS_OK)
    t->failed++;
  else if (x->checked)
    tune_note_best(t, x->seconds);
  tess_status s = session_learn(&t->s, x);
  return s == TESS_OK ? tune_count_trial(t) : s;
}

/* Other proposals than those that were stored, as of another engine: the
 * results left become history. */
tess_status tune_give_up_past(tune *t) {
  tess_status s = TESS_OK;
  if (!t->past_lost)
    ctx_warn(t->c, hash_mix(t->key.workload, t->set->o.seed),
             "database %s: the run that was broken off proposes other "
             "candidates now, so it goes on from its records as a new run "
             "would",
             t->set->o.database);
  for (; s == TESS_OK && t->past_at < t->past.n; t->past_at++) {
    const search_trial *x = &t->past.v[t->past_at].trial;
    if (session_knows(&t->s, &x->c)) continue;
    s = tune_learn_past(t, x);
    t->recalled++;
  }
  return s;
}

/* ---- the run's row ------------------------------------------------------ */

static uint64_t hash_space(const tune *t) {
  uint64_t h = 0;
  for (uint32_t i = 0; i < t->set->nsketch; i++)
    h = hash_mix(h, t->sketch_hash[i]);
  for (uint32_t i = 0; i < t->s.npostproc; i++) {
    const char *name = t->s.postproc[i].name;
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
  tess_status s = database_next(t->db, &t->key, o->seed, &t->run.first);
  if (s == TESS_OK) s = database_begin_run(t->db, &t->key, &k, &t->run);
  t->s.next = t->run.first;
  return s;
}

double tune_elapsed(const tune *t) {
  return t->run.seconds + clock_now() - t->started;
}

tess_status tune_store_run(tune *t, const char *ended) {
  strbuf text;
  if (!t->db || !t->run.id) return TESS_OK;
  double start = clock_now();
  str_init(&text, &t->c->heap);
  funnel_print(&t->s.total, &text);
  const char *rows = str_get(*ended ? &t->r->funnel : &text);
  const char *ledger = str_get(&t->r->ledger);
  database_run_state now = {.seconds = tune_elapsed(t),
                            .unscheduled = t->unscheduled,
                            .funnel = rows ? rows : "",
                            .ledger = ledger ? ledger : "",
                            .ended = ended};
  tess_status s = database_put_run(t->db, t->run.id, &now);
  str_free(&text);
  t->time.database += clock_now() - start;
  return s;
}
