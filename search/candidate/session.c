/* SPDX-License-Identifier: Apache-2.0
 * Makes candidates (sample, mutate, cross over, replay, check) on several
 * threads, deterministically whatever their number. */
#include "search/candidate/rows.h"
#include "search/postproc/check.h"

#include "base/hash.h"
#include "base/thread.h"
#include "ir/query.h"
#include <math.h>

#define WORKER_CAP ((size_t)512 << 20)
#define MAX_TRIES 32 /* for one candidate */

uint64_t search_hash(uint32_t sketch, uint32_t n, const int64_t *d) {
  uint64_t h = hash_mix(0x7465737365726131u, sketch);
  return n && d ? hash_mix(h, hash_bytes(d, n * sizeof *d)) : h;
}

void session_to_public(const search_cand *c, tess_candidate *out) {
  *out = (tess_candidate){.sketch = c->sketch,
                          .ndecisions = c->n,
                          .decisions = c->d,
                          .seconds = INFINITY};
}

search_cand session_from_public(const tess_candidate *c) {
  return (search_cand){c->sketch, c->ndecisions, c->decisions,
                       search_hash(c->sketch, c->ndecisions, c->decisions)};
}

/* ---- life --------------------------------------------------------------- */

static tess_status make_machine(void *ud) {
  search_worker *w = ud;
  arena_init(&w->out, &w->heap);
  arena_init(&w->rows, &w->heap);
  arena_init(&w->kept_rows, &w->heap);
  map_init(&w->kept_at, &w->heap);
  memo_init(&w->own, &w->heap);
  w->memo = &w->own;
  vm_machine_init(&w->m, &w->heap);
  return TESS_OK;
}

static tess_status start_workers(tess_session *s) {
  for (uint32_t i = 0; i < s->nworker; i++) {
    search_worker *w = &s->worker[i];
    mem_heap_init(&w->heap, s->c->heap.alloc, WORKER_CAP);
    w->heap.owner = "for a thread of a search";
    w->ready = true; /* to be freed, however far the making gets */
    tess_status st = mem_protect(&w->heap, make_machine, w);
    if (st != TESS_OK) return st;
  }
  return TESS_OK;
}

tess_status session_init(tess_session *s, tess_context *c,
                         const ir_program *base, uint32_t nsketch,
                         const vm_trace *const *sketch, uint64_t seed,
                         uint32_t threads) {
  *s = (tess_session){.c = c,
                      .base = base,
                      .nsketch = nsketch,
                      .sketch = sketch,
                      .seed = seed,
                      .nworker = threads};
  arena_init(&s->keep, &c->heap);
  map_init(&s->known, &c->heap);
  map_init(&s->known_program, &c->heap);
  map_init(&s->finish.at, &c->heap);
  rng_init(&s->random, seed, UINT64_C(1) << 63);
  size_t bytes = threads * sizeof *s->worker;
  s->worker = mem_try_resize(&c->heap, NULL, 0, bytes);
  if (!s->worker) return ctx_ran_out(c, mem_refusal(&c->heap), "a search");
  memset(s->worker, 0, bytes);
  return start_workers(s);
}

void session_free(tess_session *s) {
  mem_heap *h = &s->c->heap;
  for (uint32_t i = 0; s->worker && i < s->nworker; i++) {
    search_worker *w = &s->worker[i];
    if (!w->ready) continue;
    vec_free(&w->heap, &w->made);
    vec_free(&w->heap, &w->spare);
    funnel_free(&w->tally, &w->heap);
    arena_free(&w->out);
    arena_free(&w->rows);
    arena_free(&w->kept_rows);
    map_free(&w->kept_at);
    memo_free(&w->own);
    vec_free(&w->heap, &w->kept);
    vec_free(&w->heap, &w->row);
    vm_machine_free(&w->m);
  }
  mem_free(h, s->worker, s->nworker * sizeof *s->worker);
  funnel_free(&s->total, h);
  vec_free(h, &s->features.first);
  vec_free(h, &s->features.v);
  vec_free(h, &s->features.part);
  vec_free(h, &s->history);
  vec_free(h, &s->hint);
  map_free(&s->known);
  map_free(&s->known_program);
  session_forget(s, 0);
  vec_free(h, &s->finish.made);
  map_free(&s->finish.at);
  vec_free(h, &s->finish.reason);
  for (uint32_t i = 0; i < s->added.n; i++) vm_trace_free(s->added.v[i]);
  vec_free(h, &s->added);
  vec_free(h, &s->wasted.why);
  arena_free(&s->keep);
}

/* ---- one candidate ------------------------------------------------------ */

static void note_refusal(search_worker *w, funnel_stage stage, tess_status s) {
  const sch_prim *prim = w->m.fail.prim;
  if (s == TESS_LIMIT) {
    const char *doing = w->heap.doing[1];
    funnel_add(&w->tally, &w->heap, stage, doing ? doing : "trace",
               w->heap.limit ? w->heap.limit : "MEMORY_CAP", 0);
    return;
  }
  funnel_add(&w->tally, &w->heap, stage, prim ? prim->name : "trace",
             vm_failure_reason(&w->m),
             stage == FUNNEL_REJECTED ? w->m.state.refusal.n[0] : 0);
}

/* Was it refused by a postprocessor of the sketch? */
static funnel_stage stage_of_refusal(const search_worker *w,
                                     const vm_trace *sketch) {
  return w->m.at > vm_postproc_at(sketch) ? FUNNEL_REJECTED : FUNNEL_REFUSED;
}

/* Runs the engine's checks on the program in the worker's machine. */
static bool passes_checks(search_worker *w, const ir_program *base,
                          funnel_stage stage) {
  for (uint32_t i = 0; i < search_npostprocs; i++) {
    const char *why = "";
    int64_t number = 0;
    if (search_postprocs[i]->run(&w->m.state, base, &why, &number)) continue;
    funnel_add(&w->tally, &w->heap, stage, search_postprocs[i]->name, why,
               number);
    return false;
  }
  return true;
}

typedef struct attempt {
  tess_session *s;
  search_worker *w;
  const search_order *o;
  uint64_t seed; /* of this try */
  uint32_t sketch;
  tess_status status;
  bool whole;            /* the program is needed: no replay may end early */
  const vm_trace *trace; /* instead of its sketch; NULL: that */
  uint64_t before;       /* the parent's property that must change */
} attempt;

/* Where a property must change it is to be known, too; a candidate that has it
 * as its parent has need not be valid. */
static bool is_remembered(const attempt *t, uint64_t hash) {
  const search_memo *memo = t->w->memo;
  search_trait trait = t->o ? t->o->trait : NULL;
  uint64_t value;
  if (!trait) return memo_find(memo, hash) != NULL;
  return memo_find_trait(memo, hash, trait, &value) &&
         (value == t->before || memo_find(memo, hash));
}

static vm_known recall_replay(void *ud, vm_machine *m,
                              const vm_decisions *made) {
  const attempt *t = ud;
  uint64_t hash = search_hash(t->sketch, made->n, made->v);
  if (memo_refuses(t->w->memo, hash, m)) return VM_REFUSED;
  t->w->skipped = is_remembered(t, hash);
  return t->w->skipped ? VM_VALID : VM_UNKNOWN;
}

static void visit_decision(void *ud, vm_machine *m, const vm_inst *in) {
  const attempt *t = ud;
  (void)m;
  decisions_note(t->s, t->w, t->sketch, in);
}

typedef void (*decision_visitor)(void *ud, vm_machine *m, const vm_inst *in);

static decision_visitor visitor_of(const attempt *t) {
  return t->s->features.decides ? visit_decision : NULL;
}

/* In the frame of the worker's heap, whose limits are no refusal: what runs
 * into one unwinds. */
static void note_refused(void *ud, const vm_machine *m,
                         const vm_decisions *made) {
  const attempt *t = ud;
  memo_enter_refusal(t->w->memo, search_hash(t->sketch, made->n, made->v), m);
}

/* Uniform crossover: each decision comes from one parent or the other. */
static void cross_vectors(search_worker *w, const search_cand *a,
                          const search_cand *b, rng *r) {
  vm_cursor x = {a->d, a->n, 0}, y = {b->d, b->n, 0};
  const int64_t *dx, *dy;
  uint32_t nx, ny;
  vec_clear(&w->spare);
  while (vm_cursor_next(&x, &nx, &dx) && vm_cursor_next(&y, &ny, &dy)) {
    bool first = rng_below(r, 2) == 0;
    const int64_t *from = first ? dx - 1 : dy - 1; /* its length, too */
    for (uint32_t k = 0; k <= (first ? nx : ny); k++)
      vec_push(&w->heap, &w->spare, from[k]);
  }
}

static tess_status draw_candidate(attempt *t) {
  const vm_memory memory = {recall_replay, note_refused, t};
  vm_replay_opts o = {.source = VM_FRESH,
                      .seed = t->seed,
                      .visit = visitor_of(t),
                      .ud = t,
                      .memory = &memory};
  return vm_replay(&t->w->m, t->s->base, t->s->sketch[t->sketch], &o,
                   &t->w->made);
}

static tess_status mutate_steps(attempt *t, rng *r) {
  const vm_memory memory = {recall_replay, note_refused, t};
  search_worker *w = t->w;
  const search_cand *a = t->o->a;
  vec_clear(&w->spare);
  for (uint32_t i = 0; i < a->n; i++) vec_push(&w->heap, &w->spare, a->d[i]);
  for (uint32_t k = 0; k < t->o->steps; k++) {
    vm_mutate_opts o = {.given = w->spare.v,
                        .ngiven = w->spare.n,
                        .weight = t->o->weight,
                        .tries = 8,
                        .visit = visitor_of(t),
                        .ud = t,
                        .memory = &memory};
    vec_clear(&w->made);
    w->skipped = false;
    tess_status s =
        vm_mutate(&w->m, t->s->base, t->s->sketch[a->sketch], r, &o, &w->made);
    if (s != TESS_OK) return s;
    vec_copy(&w->heap, &w->spare, &w->made);
  }
  return TESS_OK;
}

static tess_status replay_vector(attempt *t, vm_source source, uint32_t n,
                                 const int64_t *d) {
  const vm_memory memory = {recall_replay, note_refused, t};
  bool whole = t->whole || t->trace;
  vm_replay_opts o = {.source = source,
                      .seed = t->seed,
                      .given = d,
                      .ngiven = n,
                      .visit = visitor_of(t),
                      .ud = t,
                      .memory = whole ? NULL : &memory};
  const vm_trace *trace = t->trace ? t->trace : t->s->sketch[t->sketch];
  return vm_replay(&t->w->m, t->s->base, trace, &o, &t->w->made);
}

/* The property that must change, of the decisions that were replayed last. */
static uint64_t find_trait(attempt *t) {
  search_worker *w = t->w;
  uint64_t hash = search_hash(t->sketch, w->made.n, w->made.v), value = 0;
  if (memo_find_trait(w->memo, hash, t->o->trait, &value)) return value;
  value = t->o->trait(&w->m.prog);
  memo_enter_trait(w->memo, hash, t->o->trait, value);
  return value;
}

/* Where a property of the program must change, that of the parent is found by
 * a replay, unless the memo has it. */
static tess_status mutate_candidate(attempt *t, rng *r) {
  const search_cand *a = t->o->a;
  search_trait trait = t->o->trait;
  if (trait && !memo_find_trait(t->w->memo, a->hash, trait, &t->before)) {
    tess_status s = replay_vector(t, VM_GIVEN, a->n, a->d);
    if (s != TESS_OK) return s;
    t->before = find_trait(t);
  }
  tess_status s = mutate_steps(t, r);
  if (s != TESS_OK || !trait || find_trait(t) != t->before) return s;
  return TESS_NOT_FOUND;
}

/* One try; TESS_OK leaves the decisions in w->made. */
static tess_status try_once(void *ud) {
  attempt *t = ud;
  search_worker *w = t->w;
  rng r;
  rng_init(&r, t->seed, UINT64_C(1) << 62);
  vec_clear(&w->made);
  w->skipped = false;
  if (t->s->features.decides) decisions_clear(t->s, w);
  switch (t->o->how) {
  case SEARCH_DRAW:
    t->sketch = t->o->sketch >= 0 ? (uint32_t)t->o->sketch
                                  : (uint32_t)rng_below(&r, t->s->nsketch);
    return t->status = draw_candidate(t);
  case SEARCH_MUTATE:
    t->sketch = t->o->a->sketch;
    return t->status = mutate_candidate(t, &r);
  case SEARCH_CROSS:
    t->sketch = t->o->a->sketch;
    cross_vectors(w, t->o->a, t->o->b, &r);
    return t->status = replay_vector(t, VM_REPAIR, w->spare.n, w->spare.v);
  case SEARCH_GIVEN:
    t->sketch = t->o->a->sketch;
    return t->status = replay_vector(t, VM_GIVEN, t->o->a->n, t->o->a->d);
  case SEARCH_REPAIR:
    t->sketch = t->o->a->sketch;
    return t->status = replay_vector(t, VM_REPAIR, t->o->a->n, t->o->a->d);
  }
  return TESS_INTERNAL;
}

/* A bounded number of tries, each with its own random stream. */
static bool make_one(tess_session *s, search_worker *w, const search_order *o,
                     uint64_t number, attempt *t) {
  uint32_t tries = o->how == SEARCH_GIVEN ? 1 : MAX_TRIES;
  for (uint32_t k = 0; k < tries; k++) {
    *t = (attempt){
        .s = s, .w = w, .o = o, .seed = hash_mix(hash_mix(s->seed, number), k)};
    w->tally.sampled++;
    tess_status st = mem_protect(&w->heap, try_once, t);
    if (st == TESS_OK &&
        (w->skipped || passes_checks(w, s->base, FUNNEL_REJECTED)))
      return true;
    if (st == TESS_NOT_FOUND) {
      funnel_add(&w->tally, &w->heap, FUNNEL_NO_NEIGHBOUR, "", "", 0);
      return false;
    }
    if (st != TESS_OK)
      note_refusal(w, stage_of_refusal(w, s->sketch[t->sketch]), st);
  }
  return false;
}

/* ---- many --------------------------------------------------------------- */

/* Shared by the threads of one call, which read orders and write results. */
typedef struct job {
  tess_session *s;
  const search_order *order;
  search_cand *out;
  uint64_t first; /* number of the first candidate */
} job;
typedef struct item {
  job *j;
  uint32_t i, thread;
} item;

/* Runs in the frame of the worker's heap, whose tables may be exhausted. */
static tess_status make_item(void *ud) {
  item *x = ud;
  job *j = x->j;
  search_worker *w = &j->s->worker[x->thread];
  attempt t;
  if (!make_one(j->s, w, &j->order[x->i], j->first + x->i, &t)) return TESS_OK;
  int64_t *d = arena_array(&w->out, int64_t, w->made.n + 1);
  if (w->made.n) memcpy(d, w->made.v, w->made.n * sizeof *d);
  j->out[x->i] = (search_cand){t.sketch, w->made.n, d,
                               search_hash(t.sketch, w->made.n, d)};
  session_keep_rows(j->s, w, &j->out[x->i]);
  w->tally.valid++;
  return TESS_OK;
}

static bool run_item(void *ud, uint32_t i, uint32_t thread) {
  job *j = ud;
  item x = {j, i, thread};
  mem_protect(&j->s->worker[thread].heap, make_item, &x);
  return !thread_flag_is_raised(&j->s->c->stop);
}

static tess_status take_tallies(void *ud) {
  tess_session *s = ud;
  for (uint32_t i = 0; i < s->nworker; i++)
    funnel_take(&s->total, &s->c->heap, &s->worker[i].tally);
  return TESS_OK;
}

static tess_status ask_about_all(tess_session *s, uint32_t n,
                                 search_cand *out) {
  bool fits;
  for (uint32_t i = 0; s->host.npostproc && i < n; i++) {
    if (!out[i].d) continue;
    tess_status st = session_ask(s, &out[i], FUNNEL_REJECTED, &fits);
    if (st != TESS_OK) return st;
    if (fits) continue;
    out[i] = (search_cand){0};
    s->total.valid--;
  }
  return TESS_OK;
}

tess_status session_make(tess_session *s, uint32_t n, const search_order *order,
                         search_cand *out) {
  job j = {s, order, out, s->next};
  memset(out, 0, n * sizeof *out);
  s->next += n;
  thread_run(s->nworker, n, run_item, &j);
  tess_status st = mem_protect(&s->c->heap, take_tallies, s);
  return st == TESS_OK ? ask_about_all(s, n, out) : st;
}

void session_begin_batch(tess_session *s) {
  session_forget(s, 0);
  for (uint32_t i = 0; i < s->nworker; i++) {
    search_worker *w = &s->worker[i];
    arena_reset(&w->out);
    map_clear(&w->kept_at);
    w->kept.n = 0;
    arena_reset(&w->kept_rows);
    if (w->memo->rows.cap && !memo_has_room(w->memo)) memo_clear(w->memo);
  }
}

/* In the frame of worker 0's heap: its machine has the program of w->made, or
 * says what refused. */
static tess_status note_replayed(void *ud) {
  const attempt *t = ud;
  search_worker *w = t->w;
  const char *why;
  int64_t number;
  if (t->status != TESS_OK) {
    w->tally.sampled++;
    note_refusal(w, stage_of_refusal(w, t->s->sketch[t->sketch]), t->status);
    return TESS_OK;
  }
  for (uint32_t i = 0; i < search_npostprocs; i++)
    if (!search_postprocs[i]->run(&w->m.state, t->s->base, &why, &number))
      return TESS_OK;
  search_cand c = {t->sketch, w->made.n, w->made.v,
                   search_hash(t->sketch, w->made.n, w->made.v)};
  session_keep_rows(t->s, w, &c);
  return TESS_OK;
}

tess_status session_replay_numbered(tess_session *s, uint32_t sketch,
                                    const uint64_t *index, uint64_t *count,
                                    uint32_t *reached) {
  search_worker *w = &s->worker[0];
  attempt t = {.s = s, .w = w, .sketch = sketch};
  const vm_memory memory = {recall_replay, note_refused, &t};
  const vm_replay_opts o = {.memory = &memory};
  vec_clear(&w->made);
  w->skipped = false;
  t.status = vm_replay_numbered(&w->m, s->base, s->sketch[sketch], &o, index,
                                count, reached, &w->made);
  if (t.status != TESS_NOT_FOUND && !w->skipped)
    mem_protect(&w->heap, note_replayed, &t);
  return t.status;
}

tess_status session_replay(tess_session *s, const search_cand *c) {
  search_worker *w = &s->worker[0];
  search_order o = {.how = SEARCH_GIVEN, .a = c};
  attempt t = {.s = s, .w = w, .o = &o, .whole = true};
  tess_status st = session_finish(s, c, &t.trace);
  if (st == TESS_OK) st = mem_protect(&w->heap, try_once, &t);
  if (st != TESS_OK) return st;
  return passes_checks(w, s->base, FUNNEL_REJECTED) ? TESS_OK : TESS_REFUSED;
}

static tess_status hash_program(void *ud) {
  search_worker *w = ((void **)ud)[0];
  *(uint64_t *)((void **)ud)[1] = ir_hash(&w->m.prog, &w->m.scratch);
  return TESS_OK;
}

uint64_t session_program_of(tess_session *s, const search_cand *c) {
  uint64_t hash = 0;
  void *ud[2] = {&s->worker[0], &hash};
  if (session_replay(s, c) != TESS_OK) return 0;
  return mem_protect(&s->worker[0].heap, hash_program, ud) == TESS_OK ? hash
                                                                      : 0;
}

typedef struct proposal {
  tess_session *s;
  const search_cand *c;
  funnel_stage stage; /* of what is refused */
  bool fits;
} proposal;

/* In the frame of worker 0's heap. */
static tess_status check_proposal(void *ud) {
  proposal *x = ud;
  search_worker *w = &x->s->worker[0];
  search_order o = {.how = SEARCH_GIVEN, .a = x->c};
  attempt t = {.s = x->s, .w = w, .o = &o};
  const search_cand *c = x->c;
  if (c->sketch >= x->s->nsketch) {
    funnel_add(&w->tally, &w->heap, FUNNEL_UNFIT, "",
               "there is no sketch of its number, counted from 1",
               (int64_t)c->sketch + 1);
    return TESS_OK;
  }
  if (c->n && !c->d) {
    funnel_add(&w->tally, &w->heap, FUNNEL_UNFIT, "", "its decisions are NULL",
               0);
    return TESS_OK;
  }
  tess_status st = mem_protect(&w->heap, try_once, &t);
  if (st == TESS_OK)
    x->fits = w->skipped || passes_checks(w, x->s->base, x->stage);
  else
    note_refusal(w, x->stage, st);
  return TESS_OK;
}

static tess_status check_candidate(tess_session *s, const search_cand *c,
                                   funnel_stage stage, bool *fits) {
  proposal x = {s, c, stage, false};
  tess_status st = mem_protect(&s->worker[0].heap, check_proposal, &x);
  *fits = st == TESS_OK && x.fits;
  if (st == TESS_OK) st = mem_protect(&s->c->heap, take_tallies, s);
  return st == TESS_OK && *fits ? session_ask(s, c, stage, fits) : st;
}

tess_status session_check_proposal(tess_session *s, const search_cand *c,
                                   bool *fits) {
  return check_candidate(s, c, FUNNEL_UNFIT, fits);
}

tess_status session_check_numbered(tess_session *s, const search_cand *c,
                                   bool *fits) {
  s->worker[0].tally.sampled++;
  tess_status st = check_candidate(s, c, FUNNEL_REJECTED, fits);
  s->total.valid += *fits;
  return st;
}

/* ---- history ------------------------------------------------------------ */

typedef struct history_entry {
  tess_session *s;
  const search_trial *trial;
} history_entry;

/* One line of a message, cut where it is long. */
static const char *keep_line(tess_session *s, const char *text) {
  enum { MOST = 512 };
  char *line = arena_array(&s->keep, char, MOST);
  err_one_line(text, line, MOST);
  return line;
}

static tess_status append_history(void *ud) {
  history_entry *l = ud;
  tess_session *s = l->s;
  search_trial e = *l->trial;
  int64_t *d = arena_array(&s->keep, int64_t, e.c.n + 1);
  if (e.c.n) memcpy(d, e.c.d, e.c.n * sizeof *d);
  e.c.d = d;
  e.trace = NULL;
  if (e.status != TESS_OK) e.seconds = INFINITY;
  bool says = e.status != TESS_OK && e.message && *e.message;
  e.message = says ? keep_line(s, e.message) : NULL;
  vec_reserve(&s->c->heap, &s->history, 1);
  map_put(&s->known, e.c.hash, s->history.n);
  if (e.program && map_get(&s->known_program, e.program) == MAP_NONE)
    map_put(&s->known_program, e.program, s->history.n);
  vec_push(&s->c->heap, &s->history, e);
  return TESS_OK;
}

tess_status session_learn(tess_session *s, const search_trial *t) {
  history_entry l = {s, t};
  return mem_protect(&s->c->heap, append_history, &l);
}

/* Selection by insertion: n is small. */
uint32_t session_best(const tess_session *s, uint32_t n, uint32_t *out) {
  uint32_t have = 0;
  for (uint32_t i = 0; i < s->history.n; i++) {
    double t = s->history.v[i].seconds;
    if (s->history.v[i].status != TESS_OK) continue;
    uint32_t at = have;
    while (at > 0 && s->history.v[out[at - 1]].seconds > t) at--;
    if (at >= n) continue;
    if (have < n) have++;
    for (uint32_t k = have - 1; k > at; k--) out[k] = out[k - 1];
    out[at] = i;
  }
  return have;
}
