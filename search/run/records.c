/* SPDX-License-Identifier: Apache-2.0
 * The database's part in a tuning run: restores the history from the records of
 * earlier runs and stores the results of this one. */
#include "base/hash.h"
#include "search/run/loop.h"
#include "search/strategy/process.h"

bool tune_asks_outside(const tune *t) {
  return t->strategy.name == search_strategy_process.name;
}

/* ---- records of earlier runs -------------------------------------------- */

/* By what a candidate's sketch is found again: another key where the host's
 * postprocessors changed it, so that runs without them do not meet it. */
static uint64_t key_of_sketch(const tune *t, uint32_t sketch, bool changed) {
  uint64_t hash = sketch < t->set->nsketch ? t->sketch_hash[sketch]
                                           : vm_trace_hash(t->s.sketch[sketch]);
  return changed ? hash_mix(hash, UINT64_C(0x686f7374)) : hash;
}

/* Whether the host's postprocessors changed a trial, which is finished. */
static bool is_changed(const tune *t, const search_trial *x) {
  return x->trace != t->s.sketch[x->c.sketch];
}

static int64_t find_sketch(const tune *t, uint64_t key, bool *changed) {
  for (uint32_t i = 0; i < t->s.nsketch; i++) {
    *changed = false;
    if (key_of_sketch(t, i, false) == key) return i;
    *changed = session_reschedules(&t->s);
    if (*changed && key_of_sketch(t, i, true) == key) return i;
  }
  *changed = false;
  return -1;
}

/* The schedule of a record that the space does not have becomes a sketch where
 * such are proposed, and what came of it is known; -1: it does not. */
static tess_status add_recorded(tune *t, const database_record *r,
                                int64_t *sketch) {
  tess_trace *trace;
  uint32_t at;
  if (!tune_asks_outside(t) || r->damaged || !r->trace) return TESS_OK;
  tess_status s = tess_trace_from_json(t->c, r->trace, t->set->program, &trace);
  if (s == TESS_NOMEM || s == TESS_LIMIT) return s;
  ctx_clear(t->c);
  if (s != TESS_OK) return TESS_OK;
  s = session_add_sketch(&t->s, &trace->t, &at);
  tess_trace_free(trace);
  if (s != TESS_OK) return s;
  if (vm_trace_hash(t->s.sketch[at]) == r->sketch) *sketch = at;
  return TESS_OK;
}

/* The host's postprocessors that may change candidates are asked about those
 * that are stored, too: what they refuse, or would now change where it was not
 * (or the reverse), is none of this run's.  TESS_REFUSED then. */
static tess_status ask_about_record(tune *t, search_trial *x, bool changed) {
  tess_status s = session_finish_trial(&t->s, x);
  if (s == TESS_REFUSED) ctx_clear(t->c);
  if (s != TESS_OK) return s;
  return is_changed(t, x) == changed ? TESS_OK : TESS_REFUSED;
}

/* Records of this run are recalled batch by batch; those that came after its
 * beginning from other runs it does not know. */
static tess_status learn_record(tune *t, const database_record *r) {
  bool own = r->run == t->records.run.id && !t->records.run.is_new;
  if (!own && r->id > t->records.run.after) return TESS_OK;
  bool changed;
  int64_t sketch = find_sketch(t, r->sketch, &changed);
  tess_status added = sketch < 0 ? add_recorded(t, r, &sketch) : TESS_OK;
  if (sketch < 0) return added;
  if (r->damaged ||
      (!changed && r->traced != vm_sketch_hash(t->s.sketch[sketch]))) {
    t->records.damaged++;
    t->resume.lost |= own;
    return TESS_OK;
  }
  search_trial x = {.c = {(uint32_t)sketch, r->n, r->d,
                          search_hash((uint32_t)sketch, r->n, r->d)},
                    .program = r->program_hash,
                    .message = r->message};
  trial_end(&x, r->status, r->seconds, r->checked);
  if (session_knows(&t->s, &x.c)) return TESS_OK;
  tess_status s = ask_about_record(t, &x, changed);
  if (s == TESS_REFUSED) t->resume.lost |= own;
  if (s != TESS_OK) return s == TESS_REFUSED ? TESS_OK : s;
  /* Failures have no time, so they stay valid for a changed program. */
  if (x.status == TESS_OK && session_program_of(&t->s, &x.c) != x.program) {
    t->records.outdated++;
    t->resume.lost |= own;
    return TESS_OK;
  }
  return own ? tune_keep_stored(t, r, &x) : tune_learn_stored(t, &x);
}

static tess_status take_record(void *ud, const database_record *r) {
  tune *t = ud;
  uint32_t had = t->s.finish.made.n;
  tess_status s = learn_record(t, r);
  session_forget(&t->s, had);
  return s;
}

/* Warns of the records that are not taken over. */
static void warn_unusable(tune *t) {
  const char *path = t->set->o.database;
  if (t->records.damaged)
    ctx_warn(t->c, hash_mix(~t->records.key.workload, t->records.damaged),
             "database %s: %u of its records are damaged and ignored: their "
             "traces or decisions cannot be read or do not belong together; "
             "`tessera db` lists them",
             path, t->records.damaged);
  if (t->records.outdated)
    ctx_warn(t->c, hash_mix(t->records.key.workload, t->records.outdated),
             "database %s: %u of its records are outdated and ignored: their "
             "traces now give other programs than were measured, or are "
             "refused",
             path, t->records.outdated);
}

tess_status tune_read_before(tune *t, const char *sql,
                             tess_status (*f)(void *, sqlite3_stmt *),
                             void *ud) {
  sqlite3_stmt *q;
  database *d = t->records.db;
  tess_status s = database_prepare(d, sql, &q);
  if (s != TESS_OK) return s;
  database_bind_key(q, &t->records.key);
  sqlite3_bind_int64(q, 4, t->records.run.after);
  return database_each_row(d, q, f, ud);
}

tess_status tune_open_database(tune *t) {
  const tune_setup *set = t->set;
  if (!set->o.database) return TESS_OK;
  tess_status s = database_open(t->c, set->o.database, &t->records.db);
  if (s != TESS_OK) return s;
  t->records.key = (database_key){.workload = tess_program_hash(set->program),
                                  .target = tess_target_text(set->target),
                                  .policy = set->policy};
  s = database_put_workload(t->records.db, &t->records.key, set->program);
  if (s == TESS_OK) s = tune_begin_run(t);
  if (s == TESS_OK)
    s = database_each(t->records.db, &t->records.key, take_record, t);
  if (s == TESS_OK) warn_unusable(t);
  if (s == TESS_OK) tune_sort_stored(t);
  /* A process is not asked again what it was asked before. */
  if (tune_asks_outside(t) && tune_recalls(t)) t->resume.lost = true;
  if (s == TESS_OK && t->resume.lost) s = tune_give_up_stored(t);
  t->budget.before = t->budget.trials;
  if (s == TESS_OK) s = tune_find_foreign(t);
  return s == TESS_OK ? tune_transfer(t) : s;
}

/* ---- records of this run ------------------------------------------------ */

tess_status tune_decided(tune *t, search_trial trial, tess_trace **out) {
  tess_status s = TESS_OK;
  *out = NULL;
  if (!trial.trace) s = session_finish_trial(&t->s, &trial);
  return s == TESS_OK ? session_decided(&t->s, trial.trace, &trial.c, out) : s;
}

/* The trace of a trial as JSON, with its decisions. */
static tess_status trace_json(tune *t, const search_trial *x, char **out) {
  tess_trace *copy;
  tess_status s = tune_decided(t, *x, &copy);
  if (s != TESS_OK) return s;
  s = tess_trace_json(copy, out);
  tess_trace_free(copy);
  return s;
}

static uint64_t stored_key(const tune *t, const search_trial *x) {
  return key_of_sketch(t, x->c.sketch, is_changed(t, x));
}

/* A result that is the machine's fault is not recorded; the session's counter
 * is stored nevertheless. */
tess_status tune_store(tune *t, uint32_t i) {
  if (!t->records.db) return TESS_OK;
  const search_trial *x = &t->batch.trial[i];
  const search_outcome *o = &t->batch.out[i];
  uint32_t n = measure_is_machine_fault(o->status) ? 0 : 1;
  char *json = NULL;
  tess_status s = n ? trace_json(t, x, &json) : TESS_OK;
  database_record r = {.sketch = stored_key(t, x),
                       .n = x->c.n,
                       .d = x->c.d,
                       .status = o->status,
                       .message = str_get(&o->message),
                       .seconds = o->seconds,
                       .sample = o->sample,
                       .nsample = o->nsample,
                       .checked = o->checked,
                       .run = t->records.run.id,
                       .round = t->batch.round,
                       .slot = i,
                       .elapsed = tune_elapsed(t),
                       .predicted = t->batch.predicted[i],
                       .program_hash = o->program_hash,
                       .trace = json};
  if (s == TESS_OK)
    s = database_put(t->records.db, &t->records.key, n, &r, t->set->o.seed,
                     t->s.next);
  tess_text_free(t->c, json);
  return s;
}

tess_status tune_store_compared(tune *t, uint32_t trial,
                                const search_outcome *o) {
  if (!t->records.db) return TESS_OK;
  search_trial x = t->s.history.v[trial];
  tess_status s = session_finish_trial(&t->s, &x);
  if (s != TESS_OK) return s;
  database_record r = {.sketch = stored_key(t, &x),
                       .n = x.c.n,
                       .d = x.c.d,
                       .status = o->status,
                       .message = str_get(&o->message)};
  return database_compared(t->records.db, &t->records.key, &r);
}

tess_status tune_store_quality(tune *t) {
  const tess_model *m = t->r->model;
  tess_status s = TESS_OK;
  if (!t->records.db || !m) return s;
  double start = clock_now();
  for (; s == TESS_OK && t->records.nquality < m->quality.n;
       t->records.nquality++)
    s = database_put_quality(t->records.db, &t->records.key, t->set->o.seed,
                             m->name, &m->quality.v[t->records.nquality]);
  t->time.ledger.database += clock_now() - start;
  return s;
}
