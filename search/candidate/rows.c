/* SPDX-License-Identifier: Apache-2.0
 * Features of a session's candidates, by its threads: from what they kept
 * when they made a candidate, else from a replay. */
#include "search/candidate/rows.h"

#include "base/thread.h"

/* ---- what is kept when a candidate is made ------------------------------ */

/* What is kept is of one kind. */
static void forget_kept(search_worker *w) {
  map_clear(&w->kept_at);
  w->kept.n = 0;
  arena_reset(&w->kept_rows);
}

void session_want(tess_session *s, feature_kind k) {
  if (s->features.wanted && s->features.want == k) return;
  s->features.wanted = k != FEATURE_DECISIONS;
  s->features.want = k;
  for (uint32_t i = 0; i < s->nworker; i++) {
    forget_kept(&s->worker[i]);
    memo_want(s->worker[i].memo, s->features.wanted, k);
  }
}

tess_status session_want_decisions(tess_session *s, bool wanted) {
  tess_status st = wanted ? decisions_begin(s) : TESS_OK;
  s->features.decides = wanted && st == TESS_OK;
  for (uint32_t i = 0; i < s->nworker; i++) forget_kept(&s->worker[i]);
  return st;
}

static bool keeps_programs(const tess_session *s) {
  return s->features.wanted && !s->features.decides;
}

static bool keeps(const tess_session *s, feature_kind k) {
  if (s->features.decides) return k == FEATURE_DECISIONS;
  return s->features.wanted && s->features.want == k;
}

/* The rows of a program, in an arena. */
static void make_rows(search_worker *w, const ir_program *p, feature_kind k,
                      arena *to, feature_rows *out) {
  arena_mark mark = arena_get_mark(&w->m.scratch);
  feature_make(k, p, &w->m.scratch, out);
  size_t bytes = (size_t)out->n * out->width * sizeof(float);
  float *v = arena_alloc(to, bytes);
  memcpy(v, out->v, bytes);
  out->v = v;
  arena_reset_to(&w->m.scratch, mark);
}

/* What the memo has lies there until the batch ends; so does what it has no
 * room for in the arena of the batch.  It has none of what was made while
 * decisions were kept instead. */
static feature_rows rows_of_made(const tess_session *s, search_worker *w,
                                 uint64_t hash) {
  const feature_rows *known = memo_find(w->memo, hash);
  feature_rows r = {0};
  if (known) return *known;
  bool room = memo_has_room(w->memo);
  if (keeps_programs(s))
    make_rows(w, &w->m.prog, s->features.want,
              room ? &w->memo->keep : &w->kept_rows, &r);
  if (room) memo_enter(w->memo, hash, &r);
  return r;
}

static feature_rows decisions_of_made(const tess_session *s, search_worker *w,
                                      uint32_t sketch) {
  uint32_t n = s->features.nslot;
  float *v = arena_array(&w->kept_rows, float, n + 1);
  decisions_complete(s, w, sketch);
  memcpy(v, w->row.v, n * sizeof *v);
  return (feature_rows){.n = 1, .width = n, .v = v};
}

void session_keep_rows(const tess_session *s, search_worker *w,
                       const search_cand *c) {
  feature_rows r = rows_of_made(s, w, c->hash);
  if (map_get(&w->kept_at, c->hash) != MAP_NONE) return;
  if (s->features.decides) r = decisions_of_made(s, w, c->sketch);
  if (!r.n) return;
  vec_push(&w->heap, &w->kept, r);
  map_put(&w->kept_at, c->hash, w->kept.n - 1);
}

typedef struct replacement {
  tess_session *s;
  const ir_program *p;
  uint64_t hash;
} replacement;

/* find_kept looks into this worker's first. */
static tess_status replace_rows(void *ud) {
  const replacement *x = ud;
  search_worker *w = &x->s->worker[0];
  feature_rows r;
  make_rows(w, x->p, x->s->features.want, &w->kept_rows, &r);
  vec_push(&w->heap, &w->kept, r);
  map_put(&w->kept_at, x->hash, w->kept.n - 1);
  return TESS_OK;
}

void session_keep_rows_of(tess_session *s, const ir_program *p,
                          const search_cand *c) {
  replacement x = {s, p, search_hash(c->sketch, c->n, c->d)};
  if (keeps_programs(s)) mem_protect(&s->worker[0].heap, replace_rows, &x);
}

static const feature_rows *find_kept(const tess_session *s, feature_kind k,
                                     uint64_t hash) {
  if (!keeps(s, k)) return NULL;
  for (uint32_t i = 0; i < s->nworker; i++) {
    uint32_t at = map_get(&s->worker[i].kept_at, hash);
    if (at != MAP_NONE) return &s->worker[i].kept.v[at];
  }
  return NULL;
}

/* ---- many candidates ---------------------------------------------------- */

typedef struct job {
  tess_session *s;
  feature_kind kind;
  const search_cand *c;
  const vm_trace **trace; /* of each; NULL: their sketches */
  feature_rows *out;
} job;
typedef struct item {
  job *j;
  uint32_t i, thread;
} item;

static tess_status make_item(void *ud) {
  item *x = ud;
  job *j = x->j;
  search_worker *w = &j->s->worker[x->thread];
  const search_cand *c = &j->c[x->i];
  feature_rows *out = &j->out[x->i];
  const feature_rows *kept = find_kept(j->s, j->kind, c->hash);
  if (kept) {
    *out = *kept;
    return TESS_OK;
  }
  if (j->kind == FEATURE_DECISIONS) return decisions_make(j->s, w, c, out);
  if (!j->trace && w->memo->wants && w->memo->want == j->kind) {
    kept = memo_find(w->memo, c->hash);
    if (kept && kept->n) {
      *out = *kept;
      return TESS_OK;
    }
  }
  vm_replay_opts o = {.source = VM_GIVEN, .given = c->d, .ngiven = c->n};
  const vm_trace *t = j->trace ? j->trace[x->i] : j->s->sketch[c->sketch];
  if (!t) return TESS_REFUSED;
  tess_status st = vm_replay(&w->m, j->s->base, t, &o, NULL);
  if (st == TESS_OK) make_rows(w, &w->m.prog, j->kind, &w->rows, out);
  return st;
}

static bool run_item(void *ud, uint32_t i, uint32_t thread) {
  item x = {ud, i, thread};
  job *j = ud;
  j->out[i] = (feature_rows){0};
  if (mem_protect(&j->s->worker[thread].heap, make_item, &x) != TESS_OK)
    j->out[i].n = 0;
  return true;
}

/* All rows in one piece. */
static void session_gather(tess_session *s, uint32_t n,
                           const feature_rows *part, search_rows *out) {
  mem_heap *h = &s->c->heap;
  uint32_t rows = 0;
  vec_clear(&s->features.first);
  vec_clear(&s->features.v);
  vec_reserve(h, &s->features.first, n + 1);
  for (uint32_t i = 0; i < n; i++) rows += part[i].n;
  vec_reserve(h, &s->features.v, rows * out->width);
  for (uint32_t i = 0, at = 0; i < n; at += part[i++].n) {
    size_t numbers = (size_t)part[i].n * out->width;
    vec_push(h, &s->features.first, at);
    if (!numbers) continue;
    memcpy(s->features.v.v + s->features.v.n, part[i].v,
           numbers * sizeof *s->features.v.v);
    s->features.v.n += (uint32_t)numbers;
  }
  vec_push(h, &s->features.first, rows);
  out->first = s->features.first.v;
  out->v = s->features.v.v;
}

typedef struct rows_work {
  job j;
  uint32_t n;
  search_rows *out;
} rows_work;

static tess_status make_all(void *ud) {
  rows_work *w = ud;
  tess_session *s = w->j.s;
  vec_clear(&s->features.part);
  vec_reserve(&s->c->heap, &s->features.part, w->n + 1);
  w->j.out = s->features.part.v;
  for (uint32_t i = 0; i < s->nworker; i++) arena_reset(&s->worker[i].rows);
  thread_run(s->nworker, w->n, run_item, &w->j);
  session_gather(s, w->n, s->features.part.v, w->out);
  return TESS_OK;
}

/* Where the host's postprocessors change candidates, their programs are those
 * that they become. */
static tess_status find_traces(rows_work *w) {
  tess_session *s = w->j.s;
  tess_status st = TESS_OK;
  for (uint32_t i = 0; st == TESS_OK && i < w->n; i++) {
    const search_cand *c = &w->j.c[i];
    w->j.trace[i] = s->sketch[c->sketch];
    if (find_kept(s, w->j.kind, c->hash)) continue;
    st = session_finish(s, c, &w->j.trace[i]);
    if (st != TESS_REFUSED) continue;
    w->j.trace[i] = NULL;
    st = TESS_OK;
  }
  return st;
}

static tess_status make_finished(rows_work *w) {
  tess_session *s = w->j.s;
  mem_heap *h = &s->c->heap;
  size_t bytes = (w->n + 1) * sizeof *w->j.trace;
  uint32_t had = s->finish.made.n;
  w->j.trace = mem_try_resize(h, NULL, 0, bytes);
  if (!w->j.trace) return mem_refusal(h);
  tess_status st = find_traces(w);
  if (st == TESS_OK) st = mem_protect(h, make_all, w);
  mem_free(h, w->j.trace, bytes);
  session_forget(s, had);
  return st;
}

tess_status session_rows(tess_session *s, feature_kind k, uint32_t n,
                         const search_cand *c, search_rows *out) {
  rows_work w = {.j = {.s = s, .kind = k, .c = c}, .n = n, .out = out};
  tess_status st = k == FEATURE_DECISIONS ? decisions_begin(s) : TESS_OK;
  *out = (search_rows){.kind = k, .n = n, .width = session_columns(s, k)};
  if (st != TESS_OK) return st;
  return session_reschedules(s) && k != FEATURE_DECISIONS
             ? make_finished(&w)
             : mem_protect(&s->c->heap, make_all, &w);
}

/* ---- columns ------------------------------------------------------------ */

uint32_t session_columns(tess_session *s, feature_kind k) {
  const feature_maker *m = feature_of(k);
  return m ? m->width : s->features.nslot;
}

uint32_t session_version(feature_kind k) {
  const feature_maker *m = feature_of(k);
  return m ? m->version : DECISIONS_VERSION;
}

void session_column(tess_session *s, feature_kind k, uint32_t column,
                    char out[FEATURE_NAME]) {
  const feature_maker *m = feature_of(k);
  if (m)
    m->name_of(column, out);
  else
    decisions_name(s, column, out);
}
