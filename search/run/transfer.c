/* SPDX-License-Identifier: Apache-2.0
 * Transfer: what the database holds of other workloads, of the same target and
 * measuring policy, teaches the cost model of a new one, whose features do not
 * depend on the workload; and the best decisions of the nearest of them,
 * repaired, are among the first candidates. */
#include "search/candidate/rows.h"
#include "search/run/loop.h"

#include <math.h>

enum {
  SKETCHES = 64,    /* of a workload that are looked at */
  LEAST = 4,        /* records, fewer of which say nothing */
  BEST = 2,         /* decisions of a workload that are hints */
  HINTS = 4,        /* of all of them */
  ROW = 2 * 512 + 1 /* numbers of a summary */
};

/* The newest 256 successes of each of the eight workloads tuned last. */
static const char transfer_sql[] =
    "WITH other AS (SELECT id, workload, sketch, decisions, seconds, trace"
    "   FROM record WHERE workload <> ?1 AND target = ?2 AND policy = ?3"
    "   AND status = 'OK' AND id <= ?4),"
    " few AS (SELECT workload FROM other GROUP BY workload"
    "   ORDER BY max(id) DESC LIMIT 8),"
    " numbered AS (SELECT *, row_number() OVER (PARTITION BY workload"
    "   ORDER BY id DESC) AS age FROM other"
    "   WHERE workload IN (SELECT workload FROM few))"
    " SELECT workload, sketch, decisions, seconds, trace, id FROM numbered"
    " WHERE age <= 256 ORDER BY workload, sketch, id";

/* Decisions of another workload's, and how far it is from this one. */
typedef struct hint {
  double distance;
  search_cand c;
} hint;

/* The workload whose records are read. */
typedef struct transfer {
  tune *t;
  arena keep; /* decisions */
  int64_t workload, sketch;
  bool began, usable;    /* it; its sketch can be read */
  tess_program *program; /* NULL: it cannot be read */
  uint32_t ntrace;
  tess_trace *trace[SKETCHES];
  VEC(tess_candidate) c;
  hint hint[HINTS]; /* the nearest first */
  uint32_t nhint;
} transfer;

/* ---- distance ----------------------------------------------------------- */

/* The unscheduled program, as its features sum it up. */
static void sum_up(tune *t, const ir_program *p, float row[ROW]) {
  arena *scratch = &t->s.worker[0].m.scratch;
  arena_mark mark = arena_get_mark(scratch);
  feature_rows r;
  feature_make(FEATURE_PER_STORE, p, scratch, &r);
  memset(row, 0, ROW * sizeof *row);
  summary_make(r.v, r.n, r.width, row);
  arena_reset_to(scratch, mark);
}

typedef struct distance_work {
  tune *t;
  const ir_program *other;
  double result;
} distance_work;

static tess_status find_distance(void *ud) {
  distance_work *w = ud;
  float a[ROW], b[ROW];
  double sum = 0;
  sum_up(w->t, &w->t->set->program->p, a);
  sum_up(w->t, w->other, b);
  for (int i = 0; i < ROW; i++)
    sum += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
  w->result = sqrt(sum);
  return TESS_OK;
}

/* ---- hints -------------------------------------------------------------- */

static void add_hint(transfer *l, const hint *h) {
  uint32_t at = l->nhint < HINTS ? l->nhint++ : HINTS;
  while (at > 0 && l->hint[at - 1].distance > h->distance) {
    if (at < HINTS) l->hint[at] = l->hint[at - 1];
    at--;
  }
  if (at < HINTS) l->hint[at] = *h;
}

/* The same steps, of other loops.  What a postprocessor of the host's scheduled
 * further stands at the end of one of them, and decides nothing. */
static bool is_like(const vm_trace *a, const vm_trace *b) {
  const vm_inst *x = vm_next_act(a, NULL), *y = vm_next_act(b, NULL);
  while (x && y) {
    if (x->prim != y->prim) return false;
    x = vm_next_act(a, x);
    y = vm_next_act(b, y);
  }
  for (; x; x = vm_next_act(a, x))
    if (vm_samples(x)) return false;
  for (; y; y = vm_next_act(b, y))
    if (vm_samples(y)) return false;
  return true;
}

/* To the sketches that are like its own. */
static void hint_at(transfer *l, const tess_candidate *c, double distance) {
  tune *t = l->t;
  tess_candidate own = *c;
  for (own.sketch = 0; own.sketch < t->s.nsketch; own.sketch++) {
    if (!is_like(t->s.sketch[own.sketch], &l->trace[c->sketch]->t) ||
        session_check_decisions(&t->s, &own) != TESS_OK)
      continue;
    search_cand copy = session_from_public(&own);
    int64_t *d = arena_array(&t->s.keep, int64_t, copy.n + 1);
    if (copy.n) memcpy(d, copy.d, copy.n * sizeof *d);
    copy.d = d;
    add_hint(l, &(hint){distance, copy});
  }
}

static tess_status find_hints(void *ud) {
  transfer *l = ud;
  tune *t = l->t;
  distance_work w = {t, &l->program->p, 0};
  double after = 0;
  if (mem_protect(&t->s.worker[0].heap, find_distance, &w)) return TESS_OK;
  for (uint32_t k = 0; k < BEST; k++) {
    const tess_candidate *best = NULL;
    for (uint32_t i = 0; i < l->c.n; i++)
      if (l->c.v[i].seconds > after &&
          (!best || l->c.v[i].seconds < best->seconds))
        best = &l->c.v[i];
    if (!best) break;
    after = best->seconds;
    hint_at(l, best, w.result);
  }
  return TESS_OK;
}

static tess_status keep_hints(void *ud) {
  const transfer *l = ud;
  tess_session *s = &l->t->s;
  for (uint32_t i = 0; i < l->nhint; i++)
    vec_push(&s->c->heap, &s->hint, l->hint[i].c);
  return TESS_OK;
}

/* ---- lessons ------------------------------------------------------------ */

/* Those whose decisions are of their sketches. */
static void drop_unfit(transfer *l, tess_session *s) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < l->c.n; i++)
    if (session_check_decisions(s, &l->c.v[i]) == TESS_OK)
      l->c.v[n++] = l->c.v[i];
  l->c.n = n;
}

static tess_status teach_model(transfer *l) {
  tune *t = l->t;
  tess_model *m = t->r->model;
  const vm_trace *sketch[SKETCHES];
  tess_cost_model f;
  tess_session s = {0};
  for (uint32_t i = 0; i < l->ntrace; i++) sketch[i] = &l->trace[i]->t;
  tess_status st = session_init(&s, t->c, &l->program->p, l->ntrace, sketch,
                                t->set->o.seed, t->set->o.threads);
  if (st == TESS_OK) {
    drop_unfit(l, &s);
    st = model_attach(m, &s, &f);
  }
  if (st == TESS_OK && l->c.n >= LEAST) st = model_teach(m, &s, l->c.n, l->c.v);
  if (st == TESS_OK && l->c.n >= LEAST)
    st = mem_protect(&t->c->heap, find_hints, l);
  session_free(&s);
  return st;
}

/* ---- records ------------------------------------------------------------ */

static tess_status end_workload(transfer *l) {
  tess_status s = TESS_OK;
  if (l->program && l->ntrace && l->c.n) s = teach_model(l);
  for (uint32_t i = 0; i < l->ntrace; i++) tess_trace_free(l->trace[i]);
  tess_program_free(l->program);
  l->program = NULL;
  l->ntrace = l->c.n = 0;
  arena_reset(&l->keep);
  return s;
}

static tess_status begin_workload(transfer *l, int64_t workload) {
  tess_status s = end_workload(l);
  l->began = true;
  l->workload = workload;
  if (s != TESS_OK) return s;
  s = database_workload(l->t->records.db, (uint64_t)workload, &l->program);
  return database_ends_reading(s) ? s : TESS_OK;
}

static tess_status begin_sketch(transfer *l, int64_t sketch,
                                const char *trace) {
  l->sketch = sketch;
  l->usable = false;
  if (!l->program || l->ntrace == SKETCHES) return TESS_OK;
  tess_status s =
      tess_trace_from_json(l->t->c, trace, l->program, &l->trace[l->ntrace]);
  l->usable = s == TESS_OK;
  l->ntrace += l->usable;
  return database_ends_reading(s) ? s : TESS_OK;
}

typedef struct row_work {
  transfer *l;
  sqlite3_stmt *q;
} row_work;

static tess_status keep_row(void *ud) {
  const row_work *w = ud;
  transfer *l = w->l;
  size_t bytes = (size_t)sqlite3_column_bytes(w->q, 2);
  uint32_t n = (uint32_t)(bytes / sizeof(int64_t));
  const void *blob = sqlite3_column_blob(w->q, 2);
  int64_t *d = arena_array(&l->keep, int64_t, n + 1);
  if (n && blob) memcpy(d, blob, n * sizeof *d);
  tess_candidate c = {.sketch = l->ntrace - 1,
                      .ndecisions = n,
                      .decisions = d,
                      .status = TESS_OK,
                      .seconds = sqlite3_column_double(w->q, 3)};
  vec_push(&l->t->c->heap, &l->c, c);
  return TESS_OK;
}

static tess_status take_row(void *ud, sqlite3_stmt *q) {
  transfer *l = ud;
  int64_t workload = sqlite3_column_int64(q, 0);
  int64_t sketch = sqlite3_column_int64(q, 1);
  bool other = !l->began || workload != l->workload;
  tess_status s = other ? begin_workload(l, workload) : TESS_OK;
  if (s == TESS_OK && (other || sketch != l->sketch))
    s = begin_sketch(l, sketch, database_text(q, 4));
  if (s != TESS_OK || !l->usable) return s;
  if (!database_has_time(l->t->records.db, q, 3, sqlite3_column_int64(q, 5)))
    return TESS_OK;
  row_work w = {l, q};
  return mem_protect(&l->t->c->heap, keep_row, &w);
}

static tess_status begin_transfer(void *ud) {
  transfer *l = ud;
  arena_init(&l->keep, &l->t->c->heap);
  return TESS_OK;
}

tess_status tune_transfer(tune *t) {
  tess_model *m = t->r->model;
  transfer l = {.t = t};
  if (!t->records.db || t->set->o.no_transfer || t->set->o.model || !m ||
      !m->nmember)
    return TESS_OK;
  tess_status s = mem_protect(&t->c->heap, begin_transfer, &l);
  if (s == TESS_OK) s = tune_read_before(t, transfer_sql, take_row, &l);
  if (s != TESS_OK) l.c.n = 0;
  tess_status end = end_workload(&l);
  if (s == TESS_OK) s = end;
  if (s == TESS_OK) s = mem_protect(&t->c->heap, keep_hints, &l);
  vec_free(&t->c->heap, &l.c);
  arena_free(&l.keep);
  if (s != TESS_OK) return s;
  ctx_clear(t->c);
  return model_attach(m, &t->s, &t->model);
}
