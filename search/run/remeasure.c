/* SPDX-License-Identifier: Apache-2.0
 * Records of this workload under other targets or policies, as those that were
 * imported from TVM: their times are not comparable, but the best of their
 * decisions, repaired, are the first candidates, where the space has their
 * sketch. */
#include "search/run/loop.h"

enum { MOST_CANDIDATES = 16 };

/* ---- records ------------------------------------------------------------ */

/* The fastest of each target and policy in turn, of the newest first. */
static const char foreign_sql[] =
    "WITH other AS (SELECT id, decisions, trace, seconds, row_number() OVER"
    " (PARTITION BY target, policy ORDER BY seconds, id) AS rank, max(id) OVER"
    " (PARTITION BY target, policy) AS newest FROM record WHERE workload = ?1"
    " AND NOT (target = ?2 AND policy = ?3) AND status = 'OK' AND id <= ?4)"
    " SELECT decisions, trace, seconds, id FROM other WHERE rank <= 8"
    " ORDER BY rank, newest DESC, id LIMIT 64";

/* A record whose decisions are proposed. */
typedef struct foreign {
  tune *t;
  sqlite3_stmt *q;
  const vm_trace *trace;
  bool exact; /* the same operands, too */
} foreign;

static tess_status push_foreign(void *ud) {
  const foreign *f = ud;
  tune *t = f->t;
  tess_session *s = &t->s;
  uint32_t n =
      (uint32_t)((size_t)sqlite3_column_bytes(f->q, 0) / sizeof(int64_t));
  const void *blob = sqlite3_column_blob(f->q, 0);
  int64_t *d = arena_array(&s->keep, int64_t, n + 1);
  if (n && blob) memcpy(d, blob, n * sizeof *d);
  for (uint32_t i = 0; i < s->nsketch && t->foreign.c.n < MOST_CANDIDATES;
       i++) {
    search_cand c = {i, n, d, search_hash(i, n, d)};
    tess_candidate offered;
    session_to_public(&c, &offered);
    if (vm_is_same_schedule(f->trace, s->sketch[i], f->exact) &&
        !session_knows(s, &c) &&
        session_check_decisions(s, &offered) == TESS_OK)
      vec_push(&s->c->heap, &t->foreign.c, c);
  }
  return TESS_OK;
}

/* Sketches with its operands, or, where there are none, with its steps. */
static tess_status take_decisions(foreign *f) {
  mem_heap *heap = &f->t->c->heap;
  uint32_t had = f->t->foreign.c.n;
  f->exact = true;
  tess_status s = mem_protect(heap, push_foreign, f);
  f->exact = false;
  if (s == TESS_OK && f->t->foreign.c.n == had)
    s = mem_protect(heap, push_foreign, f);
  return s;
}

/* What cannot be read is passed over. */
static tess_status take_foreign(void *ud, sqlite3_stmt *q) {
  tune *t = ud;
  tess_trace *trace;
  if (!database_has_time(t->records.db, q, 2, sqlite3_column_int64(q, 3)))
    return TESS_OK;
  tess_status s =
      tess_trace_from_json(t->c, database_text(q, 1), t->set->program, &trace);
  if (s == TESS_OK) {
    foreign f = {.t = t, .q = q, .trace = &trace->t};
    s = take_decisions(&f);
    tess_trace_free(trace);
  }
  if (database_ends_reading(s)) return s;
  ctx_clear(t->c);
  return TESS_OK;
}

tess_status tune_find_foreign(tune *t) {
  const tess_tune_options *o = &t->set->o;
  if (!t->records.db || o->no_transfer || o->custom_strategy) return TESS_OK;
  return tune_read_before(t, foreign_sql, take_foreign, t);
}

/* ---- proposals ---------------------------------------------------------- */

static bool is_proposed(const tune *t, uint32_t n, uint64_t hash) {
  for (uint32_t i = 0; i < n; i++)
    if (t->batch.trial[i].c.hash == hash) return true;
  return false;
}

tess_status tune_propose_foreign(tune *t, uint32_t n, uint32_t *got) {
  search_order order[MOST_CANDIDATES];
  search_cand made[MOST_CANDIDATES];
  tess_status s = TESS_OK;
  *got = 0;
  if (t->foreign.at < t->foreign.c.n) session_begin_batch(&t->s);
  while (s == TESS_OK && !*got && t->foreign.at < t->foreign.c.n) {
    uint32_t some = t->foreign.c.n - t->foreign.at;
    if (some > n) some = n;
    for (uint32_t i = 0; i < some; i++)
      order[i] = (search_order){.how = SEARCH_REPAIR,
                                .a = &t->foreign.c.v[t->foreign.at + i]};
    t->foreign.at += some;
    s = session_make(&t->s, some, order, made);
    for (uint32_t i = 0; s == TESS_OK && i < some; i++)
      if (made[i].d && !session_knows(&t->s, &made[i]) &&
          !is_proposed(t, *got, made[i].hash))
        t->batch.trial[(*got)++] = (search_trial){.c = made[i]};
  }
  return s;
}
