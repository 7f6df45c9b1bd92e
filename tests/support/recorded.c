/* SPDX-License-Identifier: Apache-2.0
 * The measurer with recorded times, and runs over it. */
#include "ir/query.h"
#include "search/run/draft.h"
#include "support/recorded.h"

#include "support/test.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void nap(recorded *r) {
  if (!r->delays) return;
  struct timespec t = {0, rand_r(&r->chance) % 200000};
  nanosleep(&t, NULL);
}

/* Any fixed function of the candidate will do. */
double recorded_time(uint64_t hash) {
  return 1e-3 * (1.0 + (double)(hash >> 40) / (double)(1 << 24));
}

static tess_status measure(void *ud, tess_session *s, uint32_t n,
                           const search_trial *trial, double best,
                           search_outcome *out, int (*done)(void *, uint32_t),
                           void *done_ud) {
  recorded *r = ud;
  search_worker *w = &s->worker[0];
  for (uint32_t i = 0; i < n; i++) {
    nap(r);
    assert_true(r->n < 4096);
    r->order[r->n++] = trial[i].c.hash;
    bool bad = r->fail_every && r->n % r->fail_every == 0;
    out[i].status = bad ? r->fail_with : TESS_OK;
    if (bad) str_puts(&out[i].message, "what went wrong");
    out[i].seconds = trial[i].c.hash == r->odd ? r->odd_time
                                               : recorded_time(trial[i].c.hash);
    out[i].checked = !bad && (best == 0 || out[i].seconds < best);
    if (out[i].checked) best = out[i].seconds;
    str_write(&out[i].code, (const char *)&trial[i].c.hash,
              sizeof trial[i].c.hash);
    assert_int_equal(session_replay(s, &trial[i].c), TESS_OK);
    out[i].program_hash = ir_hash(&w->m.prog, &w->m.scratch);
    if (done(done_ud, i)) return TESS_OK;
  }
  return TESS_OK;
}

static tess_status recorded_compare(void *ud, const strbuf *code,
                                    search_outcome *out) {
  recorded *r = ud;
  out->status = TESS_NOMEM;
  if (code->n != sizeof *r->order) return TESS_OK;
  r->compared++;
  out->status = r->later;
  out->checked = r->later == TESS_OK;
  if (r->later) str_puts(&out->message, "what is wrong");
  return TESS_OK;
}

tess_status recorded_rematch(void *ud, uint32_t n, const strbuf *const *code,
                             double *seconds) {
  (void)ud, (void)n, (void)code, (void)seconds;
  return TESS_OK;
}

tess_tune_options recorded_options(const char *strategy, uint32_t trials,
                                   uint64_t seed) {
  return (tess_tune_options){.struct_size = sizeof(tess_tune_options),
                             .trials = trials,
                             .batch = 16,
                             .seed = seed,
                             .threads = 1,
                             .kernel_threads = 1,
                             .strategy = strategy,
                             .cost_model = "random"};
}

tune_setup recorded_setup(const tiled *t, const tess_tune_options *o,
                          const search_measurer *m) {
  return (tune_setup){.c = t->c,
                      .program = t->p,
                      .target = t->target,
                      .nsketch = t->nsketch,
                      .sketch = t->sketch,
                      .o = *o,
                      .policy = "v1 test",
                      .measurer = *m};
}

void recorded_start_with(recorded_run *f, const tess_options *options) {
  memset(f, 0, sizeof *f);
  tiled_start_with(&f->t, options);
  f->m = (search_measurer){.measure = measure,
                           .compare = recorded_compare,
                           .rematch = recorded_rematch,
                           .ud = &f->r};
  f->o = recorded_options(EVOLUTIONARY, 100, 7);
}

void recorded_start(recorded_run *f) { recorded_start_with(f, NULL); }

void recorded_end(recorded_run *f) { tiled_end(&f->t); }

static tune_setup setup_of(const recorded_run *f) {
  tune_setup set = recorded_setup(&f->t, &f->o, &f->m);
  set.timed = f->timed;
  return set;
}

tess_status recorded_tune(recorded_run *f, tess_result **out) {
  tune_setup set = setup_of(f);
  f->r.n = f->r.compared = 0;
  return tune_run(&set, out);
}

static tess_status take_hash(void *ud, tess_session *s, const search_cand *c) {
  (void)s;
  *(uint64_t *)ud = c->hash;
  return TESS_OK;
}

uint64_t recorded_draft(recorded_run *f) {
  tune_setup set = setup_of(f);
  uint64_t hash = 0;
  assert_int_equal(draft_make(&set, DRAFT_DRAWS, take_hash, &hash), TESS_OK);
  return hash;
}

void recorded_database(char *path, size_t n) {
  snprintf(path, n, "%s/test-tune-%d.db",
           getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", (int)getpid());
  unlink(path);
}

void recorded_remove(const char *path) {
  char name[512];
  unlink(path);
  snprintf(name, sizeof name, "%s-wal", path);
  unlink(name);
  snprintf(name, sizeof name, "%s-shm", path);
  unlink(name);
}

/* ---- what tests ask ----------------------------------------------------- */

long recorded_line(const char *text, const char *what) {
  const char *at = strstr(text, what);
  if (!at) return 0;
  while (at > text && at[-1] != '\n') at--;
  return strtol(at, NULL, 10);
}

int recorded_stop(void *ud, const tess_progress *p) {
  return p->trials >= *(uint32_t *)ud;
}

int recorded_count(const char *path, const char *what) {
  char sql[200];
  sqlite3 *db;
  sqlite3_stmt *q;
  snprintf(sql, sizeof sql, "SELECT count(*) FROM record WHERE %s", what);
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(q), SQLITE_ROW);
  int n = sqlite3_column_int(q, 0);
  sqlite3_finalize(q);
  sqlite3_close(db);
  return n;
}

void recorded_change(const char *path, const char *sql) {
  sqlite3 *db;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
    fail_msg("%s: %s", sql, sqlite3_errmsg(db));
  sqlite3_close(db);
}

tess_result_info recorded_until(recorded_run *f, uint32_t limit,
                                tess_result **r) {
  tess_result_info info = TESS_INIT(tess_result_info);
  f->o.progress = recorded_stop;
  f->o.progress_ud = &limit;
  assert_int_equal(recorded_tune(f, r), TESS_OK);
  f->o.progress = NULL;
  tess_result_get(*r, &info);
  assert_int_equal(info.status, TESS_CANCELLED);
  assert_int_equal(f->r.compared, 0);
  return info;
}
