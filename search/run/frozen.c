/* SPDX-License-Identifier: Apache-2.0
 * What is known without measuring: the best record of a database, else the
 * schedule that the cost model "analytic" prefers among a few that are drawn.
 */
#include "ir/query.h"
#include "search/run/work.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

/* ---- a guess ------------------------------------------------------------ */

/* They are drawn in rounds, until one brings no better. */
enum { DRAWS = 128, ROUND = 32 };

/* The best so far by a model that is taught nothing. */
typedef struct preference {
  tess_session *s;
  tess_model *m;
  uint32_t drawn;
  bool found; /* something valid was */
  search_cand best;
  double score;
} preference;

/* All sketches in turn. */
static tess_status draw_round(preference *p, search_cand made[ROUND],
                              uint32_t *n) {
  search_order order[ROUND];
  search_cand all[ROUND];
  *n = 0;
  for (uint32_t i = 0; i < ROUND; i++)
    order[i] = (search_order){.how = SEARCH_DRAW,
                              .sketch = (int32_t)(p->drawn++ % p->s->nsketch)};
  tess_status st = session_make(p->s, ROUND, order, all);
  for (uint32_t i = 0; st == TESS_OK && i < ROUND; i++)
    if (all[i].d) made[(*n)++] = all[i];
  return st;
}

static tess_status prefer_round(preference *p, bool *better) {
  search_cand made[ROUND];
  tess_candidate view[ROUND];
  double score[ROUND];
  uint32_t n;
  bool knows;
  *better = false;
  tess_status st = draw_round(p, made, &n);
  if (st != TESS_OK || !n) return st;
  for (uint32_t i = 0; i < n; i++) session_to_public(&made[i], &view[i]);
  st = model_predict(p->m, p->s, n, view, score, NULL, &knows);
  for (uint32_t i = 0; st == TESS_OK && i < n; i++) {
    if (p->found && score[i] <= p->score) continue;
    p->score = score[i];
    p->best = made[i];
    *better = p->found = true;
  }
  return st;
}

/* The best of some that are drawn, if any is valid. */
static tess_status prefer(preference *p) {
  tess_cost_model unused;
  bool better = true;
  tess_status st = model_attach(p->m, p->s, &unused);
  while (st == TESS_OK && p->drawn < DRAWS &&
         (better || !p->found || p->drawn < p->s->nsketch))
    st = prefer_round(p, &better);
  return st;
}

/* ---- the result --------------------------------------------------------- */

typedef struct frozen {
  tune_work *w;
  tess_result *r;
  bool asks;          /* the options say how it is to be measured */
  uint32_t unchecked; /* successes that were never compared */
} frozen;

static tess_status make_frozen(void *ud) {
  frozen *f = ud;
  tune_work *w = f->w;
  mem_heap *h = &w->c->heap;
  f->r = mem_new(h, tess_result);
  *f->r = (tess_result){.c = w->c, .refs = 1};
  strbuf *const texts[] = {&f->r->funnel, &f->r->ledger, &f->r->classes,
                           &f->r->note, &f->r->failure};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    str_init(texts[i], h);
  f->r->program = program_hold(w->p);
  f->r->kernel_threads = w->o.kernel_threads;
  f->r->target = tess_target_hold(w->target);
  f->r->info.latency = INFINITY;
  return TESS_OK;
}

static tess_status guess_in(frozen *f, tess_session *s) {
  preference p = {.s = s};
  const vm_trace *t;
  tess_status st = model_new(s->c, "analytic", &p.m);
  if (st == TESS_OK) st = prefer(&p);
  if (st == TESS_OK && p.found) st = session_finish(s, &p.best, &t);
  if (st == TESS_OK && p.found)
    st = session_decided(s, t, &p.best, &f->r->best);
  f->r->info.status = p.found ? TESS_OK : TESS_NOT_FOUND;
  tess_model_free(p.m);
  return st;
}

static tess_status guess(frozen *f) {
  tune_work *w = f->w;
  tess_session s;
  uint32_t n = w->k.trace.n;
  const vm_trace **sketch =
      mem_try_resize(&w->c->heap, NULL, 0, n * sizeof *sketch);
  if (!sketch) return ctx_ran_out(w->c, mem_refusal(&w->c->heap), "tuning");
  for (uint32_t i = 0; i < n; i++) sketch[i] = &w->k.trace.v[i]->t;
  tess_status st =
      session_init(&s, w->c, &w->p->p, n, sketch, w->o.seed, w->o.threads);
  s.program = w->p;
  s.postproc = w->o.postprocs;
  s.npostproc = w->o.npostprocs;
  s.strict = w->o.on_error != 0;
  s.target = w->target;
  s.kernel_threads = w->o.kernel_threads;
  if (st == TESS_OK) st = guess_in(f, &s);
  session_free(&s);
  mem_free(&w->c->heap, sketch, n * sizeof *sketch);
  str_puts(&f->r->note, ", so the schedule is what the cost model \"analytic\" "
                        "prefers; it was not measured");
  return st;
}

/* Successes of the program, of any target; none of which is the best. */
static tess_status count_unchecked(frozen *f, tess_database *d) {
  const tess_record_filter only = {.struct_size = sizeof only,
                                   .program = f->w->p};
  tess_record row = TESS_INIT(tess_record);
  tess_status s = tess_database_filter(d, &only);
  for (uint64_t k = 0; s == TESS_OK; k++) {
    s = tess_database_row(d, k, &row);
    if (s == TESS_OK && !strcmp(row.status, "OK") && !row.checked)
      f->unchecked++;
  }
  if (s != TESS_NOT_FOUND) return s;
  ctx_clear(d->c);
  return TESS_OK;
}

/* Of times that were measured just as these options say, where they say it and
 * there are some; else of the newest by such a function, or on such inputs. */
static tess_status find_best(frozen *f, tess_database *d, tess_record *row) {
  tune_work *w = f->w;
  const tess_tune_options *o = &w->o;
  measure_policy policy;
  uint32_t groups;
  tess_best_filter b = {.struct_size = sizeof b,
                        .target = tess_target_text(w->target)};
  if (f->asks && !o->measure) {
    tess_status s = work_policy(w, &policy);
    b.policy = str_get(&w->policy);
    if (s == TESS_OK) s = database_best(d, w->p, &b, row, &groups);
    if (s != TESS_NOT_FOUND) return s;
    b.policy = NULL;
  }
  b.measure = o->measure != NULL;
  b.measure_name = o->measure ? o->measure_name : NULL;
  b.inputs = o->inputs;
  b.ninputs = o->ninputs;
  tess_status s = database_best(d, w->p, &b, row, &groups);
  if (s == TESS_OK && groups > 1)
    str_printf(&f->r->note,
               "of %u policies of measuring, whose times are not comparable, "
               "this is the newest: %s",
               groups, row->policy);
  return s;
}

/* From the database, if there is a file and something in it. */
static tess_status look_up(frozen *f, bool *found) {
  tune_work *w = f->w;
  tess_database *d;
  tess_record row = TESS_INIT(tess_record);
  *found = false;
  if (!w->o.database) return TESS_OK;
  if (access(w->o.database, F_OK) && errno == ENOENT) {
    str_printf(&f->r->note, "there is no database %s", w->o.database);
    return TESS_OK;
  }
  tess_status s = tess_database_open(w->c, w->o.database, &d);
  if (s != TESS_OK) return s;
  s = find_best(f, d, &row);
  *found = s == TESS_OK;
  if (s == TESS_OK) {
    int64_t flops = ir_flops(&w->p->p);
    f->r->info = (tess_result_info){
        .latency = row.seconds,
        .gflops = flops > 0 ? (double)flops / row.seconds * 1e-9 : 0};
    s = tess_database_trace(d, row.id, &f->r->best);
  } else if (s == TESS_NOT_FOUND) {
    ctx_clear(w->c);
    s = count_unchecked(f, d);
    if (f->unchecked)
      str_printf(&f->r->note,
                 "of the %u records of successes that are stored for this "
                 "program none was compared with the unscheduled program, as "
                 "imported ones are when a run has measured them",
                 f->unchecked);
  }
  tess_database_free(d);
  return s;
}

tess_status work_frozen(tune_work *w, tess_result **out) {
  const tess_tune_options *o = &w->o;
  bool asks = o->min_time > 0 || o->warm_cache || o->kernel_threads;
  frozen f = {.w = w, .asks = asks};
  bool found = false;
  tess_status s = work_complete(w);
  if (s == TESS_OK) s = mem_protect(&w->c->heap, make_frozen, &f);
  if (s == TESS_OK) s = look_up(&f, &found);
  if (s == TESS_OK && !found && !f.r->note.n)
    str_puts(&f.r->note, "nothing is stored for this program");
  if (s == TESS_OK && !found) s = work_sketches(w);
  if (s == TESS_OK && !found) s = guess(&f);
  if (s == TESS_OK)
    *out = f.r;
  else
    tess_result_free(f.r);
  return s;
}
