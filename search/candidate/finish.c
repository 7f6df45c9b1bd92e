/* SPDX-License-Identifier: Apache-2.0
 * A host's postprocessors, which accept a candidate, refuse it or schedule it
 * further.  What they do ends the candidate's trace, behind enter_postproc; the
 * decisions, which are what mutates, are those of the sketch alone.  They run
 * on the thread that tunes, in the order of the candidates. */
#include "base/hash.h"
#include "search/candidate/rows.h"
#include "search/postproc/check.h"

#include <stdio.h>

typedef struct question {
  tess_session *s;
  const search_cand *c;
  tess_candidate given;
  tess_schedule *sch; /* NULL: none of them schedules */
  bool fits;
  const char *who, *why; /* refused by, static or the session's */
  int64_t number;
} question;

bool session_reschedules(const tess_session *s) {
  for (uint32_t i = 0; i < s->host.npostproc; i++)
    if (s->host.postproc[i].apply) return true;
  return false;
}

/* ---- reasons ------------------------------------------------------------ */

/* The funnel counts by text, which lives as long as the session; there are
 * only so many, however the texts differ. */
static tess_status keep_reason(void *ud) {
  enum { MOST = 32 };
  question *q = ud;
  tess_session *s = q->s;
  char text[256];
  err_one_line(q->why, text, sizeof text);
  q->why = s->finish.reason.n < MOST ? NULL : "other reasons";
  for (uint32_t i = 0; i < s->finish.reason.n; i++)
    if (!strcmp(s->finish.reason.v[i], text)) q->why = s->finish.reason.v[i];
  if (q->why) return TESS_OK;
  size_t size = strlen(text) + 1;
  char *own = arena_alloc(&s->keep, size);
  memcpy(own, text, size);
  vec_push(&s->c->heap, &s->finish.reason, own);
  q->why = own;
  return TESS_OK;
}

static tess_status refuse(question *q, const char *who, const char *why) {
  q->fits = false;
  q->who = who;
  q->why = why;
  return mem_protect(&q->s->c->heap, keep_reason, q);
}

/* Without a reason of the host's own the primitive that was refused last in it
 * is one. */
static tess_status refuse_for(question *q, const char *who, const char *why) {
  char text[160];
  const vm_machine *m = q->sch ? &q->sch->s.m : NULL;
  if (why && *why) return refuse(q, who, why);
  if (!m || m->fail.why == VM_W_NONE || !m->fail.prim)
    return refuse(q, who, "it refuses");
  snprintf(text, sizeof text, "%s is refused: %s", m->fail.prim->name,
           vm_failure_reason(m));
  return refuse(q, who, text);
}

/* A warning once for each reason; an error where errors are strict. */
static tess_status report_failure(question *q, const char *who, tess_status st,
                                  const char *why) {
  tess_context *c = q->s->c;
  char text[400];
  if (!why || !*why)
    why = c->err.code == st ? c->err.message : err_status_text(st);
  err_one_line(why, text, sizeof text);
  if (q->s->host.strict)
    return ctx_fail(c, st, "postprocessor %s failed: %s", who, text);
  ctx_warn(
      c, hash_mix(hash_bytes(who, strlen(who)), hash_bytes(text, strlen(text))),
      "postprocessor %s failed, so that candidates are refused: %s", who, text);
  return refuse(q, who, "it failed");
}

/* ---- asking ------------------------------------------------------------- */

static tess_status mark_end(tess_schedule *s) {
  uint32_t n;
  return tess_schedule_call(s, "enter_postproc", 0, NULL, 0, NULL, &n, NULL);
}

/* The candidate's schedule, with enter_postproc at the end of what the search
 * decides. */
static tess_status open_schedule(question *q) {
  tess_session *s = q->s;
  tess_trace *t;
  tess_status st = session_decided(s, s->sketch[q->c->sketch], q->c, &t);
  if (st == TESS_OK) st = tess_trace_replay(t, s->program, NULL, &q->sch);
  tess_trace_free(t);
  if (st != TESS_OK) return st;
  q->sch->target = tess_target_hold(s->host.target);
  const vm_trace *made = &q->sch->s.trace;
  return vm_postproc_at(made) < made->inst.n ? TESS_OK : mark_end(q->sch);
}

static bool ends_run(tess_status st) {
  return st == TESS_NOMEM || st == TESS_CANCELLED;
}

/* The first instruction from number `at` on that samples; NULL: none does. */
static const sch_prim *sampling_from(const vm_trace *t, uint32_t at) {
  for (; at < t->inst.n; at++)
    if (vm_samples(&t->inst.v[at])) return t->inst.v[at].prim;
  return NULL;
}

static tess_status apply_one(question *q, const tess_postproc *p,
                             const char **why, char *text, size_t size) {
  const vm_trace *t = &q->sch->s.trace;
  uint32_t before = t->inst.n;
  tess_status st = p->apply(p->ud, q->s, q->sch, why);
  const sch_prim *samples = st == TESS_OK ? sampling_from(t, before) : NULL;
  if (!samples) return st;
  snprintf(text, size,
           "it calls %s, and a postprocessor finds all decisions made; modules "
           "sample",
           samples->name);
  *why = text;
  return TESS_INVALID;
}

static tess_status ask_one(question *q, const tess_postproc *p) {
  const char *why = NULL;
  char text[160];
  tess_status st = p->accepts ? p->accepts(p->ud, q->s, &q->given) : TESS_OK;
  if (st == TESS_OK && p->apply) st = apply_one(q, p, &why, text, sizeof text);
  if (st == TESS_OK) return st;
  if (ends_run(st)) return session_blame(q->s, st, p->name);
  return st == TESS_REFUSED ? refuse_for(q, p->name, why)
                            : report_failure(q, p->name, st, why);
}

/* Is there, behind the sketch, more than the mark and what was looked up? */
static bool is_changed(const question *q) {
  const vm_trace *t = &q->sch->s.trace;
  const sch_prim *mark = sch_find_prim("enter_postproc");
  for (uint32_t k = q->s->sketch[q->c->sketch]->inst.n; k < t->inst.n; k++) {
    const sch_prim *prim = t->inst.v[k].prim;
    if (!(prim->flags & SCH_PURE) && prim != mark) return true;
  }
  return false;
}

/* The engine's own checks, of the program as it is now. */
static void check_again(question *q) {
  for (uint32_t i = 0; i < search_npostprocs && q->fits; i++) {
    const search_postproc *p = search_postprocs[i];
    q->who = p->name;
    q->fits = p->run(&q->sch->s.m.state, q->s->base, &q->why, &q->number);
  }
}

static void close_schedule(question *q) {
  tess_schedule_free(q->sch);
  q->sch = NULL;
}

/* Leaves in q->sch the schedule of a candidate that they changed, to be closed
 * by the caller.  One that they ask about themselves is not asked about. */
static tess_status ask_all(question *q) {
  tess_session *s = q->s;
  tess_status st = TESS_OK;
  q->fits = true;
  if (s->finish.works) return st;
  session_to_public(q->c, &q->given);
  if (session_reschedules(s)) st = open_schedule(q);
  s->finish.works = true;
  s->finish.schedule = q->sch;
  s->finish.hash = search_hash(q->c->sketch, q->c->n, q->c->d);
  for (uint32_t i = 0; i < s->host.npostproc && st == TESS_OK && q->fits; i++)
    st = ask_one(q, &s->host.postproc[i]);
  s->finish.works = false;
  s->finish.schedule = NULL;
  bool changed = st == TESS_OK && q->fits && q->sch && is_changed(q);
  if (changed) check_again(q);
  if (!changed || !q->fits) close_schedule(q);
  return st;
}

typedef struct rejection {
  question *q;
  funnel_stage stage;
} rejection;

static tess_status count_rejection(void *ud) {
  const rejection *r = ud;
  const question *q = r->q;
  funnel_add(&q->s->total, &q->s->c->heap, r->stage, q->who, q->why, q->number);
  return TESS_OK;
}

tess_status session_ask(tess_session *s, const search_cand *c,
                        funnel_stage stage, bool *fits) {
  question q = {.s = s, .c = c};
  rejection r = {&q, stage};
  tess_status st = ask_all(&q);
  *fits = st == TESS_OK && q.fits;
  if (st == TESS_OK && q.sch) session_keep_rows_of(s, &q.sch->s.m.prog, c);
  close_schedule(&q);
  if (st == TESS_OK && !q.fits)
    st = mem_protect(&s->c->heap, count_rejection, &r);
  return st == TESS_OK ? st : (s->broken = st);
}

/* ---- traces of candidates ----------------------------------------------- */

static void drop_entry(tess_session *s, session_finished *f) {
  if (!f->trace) return;
  vm_trace_free(f->trace);
  mem_free(&s->c->heap, f->trace, sizeof *f->trace);
}

void session_forget(tess_session *s, uint32_t n) {
  if (s->finish.made.n <= n) return;
  for (uint32_t i = n; i < s->finish.made.n; i++) {
    map_remove(&s->finish.at, s->finish.made.v[i].hash);
    drop_entry(s, &s->finish.made.v[i]);
  }
  s->finish.made.n = n;
}

/* Keeps what they did, without what they only looked up. */
static tess_status keep_finished(void *ud) {
  question *q = ud;
  tess_session *s = q->s;
  mem_heap *h = &s->c->heap;
  session_finished f = {.hash = search_hash(q->c->sketch, q->c->n, q->c->d)};
  vec_reserve(h, &s->finish.made, 1);
  vec_push(h, &s->finish.made, f);
  if (!q->sch) {
    map_put(&s->finish.at, f.hash, s->finish.made.n - 1);
    return TESS_OK;
  }
  vm_trace *t = mem_new(h, vm_trace);
  *t = (vm_trace){.heap = h};
  s->finish.made.v[s->finish.made.n - 1].trace = t;
  vm_trace_reset(t);
  vm_simplify_from(t, &q->sch->s.trace, s->sketch[q->c->sketch]->inst.n,
                   &q->sch->s.m.scratch);
  map_put(&s->finish.at, f.hash, s->finish.made.n - 1);
  return TESS_OK;
}

static tess_status finish(tess_session *s, const search_cand *c) {
  question q = {.s = s, .c = c};
  tess_status st = ask_all(&q);
  if (st == TESS_OK && !q.fits)
    st = ctx_fail(s->c, TESS_REFUSED, "the candidate is refused by %s: %s",
                  q.who, q.why);
  if (st == TESS_OK) st = mem_protect(&s->c->heap, keep_finished, &q);
  close_schedule(&q);
  return st;
}

tess_status session_finish(tess_session *s, const search_cand *c,
                           const vm_trace **out) {
  uint64_t hash = search_hash(c->sketch, c->n, c->d);
  *out = s->sketch[c->sketch];
  if (s->finish.works) {
    if (s->finish.schedule && s->finish.hash == hash)
      *out = &s->finish.schedule->s.trace;
    return TESS_OK;
  }
  if (!session_reschedules(s)) return TESS_OK;
  uint32_t at = map_get(&s->finish.at, hash);
  tess_status st = at == MAP_NONE ? finish(s, c) : TESS_OK;
  if (st != TESS_OK) return st;
  at = map_get(&s->finish.at, hash);
  if (s->finish.made.v[at].trace) *out = s->finish.made.v[at].trace;
  return TESS_OK;
}

tess_status session_finish_trial(tess_session *s, search_trial *t) {
  return session_finish(s, &t->c, &t->trace);
}

typedef struct decide_work {
  tess_session *s;
  const vm_trace *from;
  const search_cand *c;
  tess_trace *made;
} decide_work;

static tess_status decide(void *ud) {
  decide_work *w = ud;
  w->made = trace_new(w->s->c, w->from, w->s->program);
  return vm_set_decisions(&w->made->t, w->c->n, w->c->d) ? TESS_OK
                                                         : TESS_INTERNAL;
}

tess_status session_decided(tess_session *s, const vm_trace *from,
                            const search_cand *c, tess_trace **out) {
  decide_work w = {s, from, c, NULL};
  tess_status st = ctx_run(s->c, decide, &w);
  *out = st == TESS_OK ? w.made : NULL;
  if (st != TESS_OK) tess_trace_free(w.made);
  return st;
}
