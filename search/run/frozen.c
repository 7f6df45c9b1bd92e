/* SPDX-License-Identifier: Apache-2.0
 * What is known without measuring: the best record of a database, else the
 * schedule that the cost model "analytic" prefers among a few that are drawn.
 */
#include "ir/query.h"
#include "search/run/tune.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

/* ---- a guess ------------------------------------------------------------ */

/* They are drawn in rounds, until one brings no better. */
enum { DRAWS = 512, ROUND = 64 };

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
  tune_setup *set;
  tess_result *r;
  bool how;           /* the options say how it is to be measured */
  uint32_t unchecked; /* successes that were never compared */
} frozen;

static tess_status make_frozen(void *ud) {
  frozen *f = ud;
  tune_setup *set = f->set;
  mem_heap *h = &set->c->heap;
  f->r = mem_new(h, tess_result);
  *f->r = (tess_result){.c = set->c, .refs = 1};
  strbuf *const texts[] = {&f->r->funnel, &f->r->ledger, &f->r->classes,
                           &f->r->note, &f->r->failure};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    str_init(texts[i], h);
  f->r->program = program_hold(set->program);
  f->r->kernel_threads = set->o.kernel_threads;
  f->r->target = tess_target_hold(set->target);
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
  tune_setup *set = f->set;
  tess_session s;
  mem_heap *h = &set->c->heap;
  size_t bytes = set->nsketch * sizeof(vm_trace *);
  const vm_trace **sketch = mem_try_resize(h, NULL, 0, bytes);
  if (!sketch) return ctx_ran_out(set->c, mem_refusal(h), "tuning");
  tess_status st = setup_session(set, &s, sketch);
  if (st == TESS_OK) st = guess_in(f, &s);
  session_free(&s);
  mem_free(h, sketch, bytes);
  str_puts(&f->r->note, ", so the schedule is what the cost model \"analytic\" "
                        "prefers; it was not measured");
  return st;
}

/* Successes of the program, of any target; none of which is the best. */
static tess_status count_unchecked(frozen *f, tess_database *d) {
  const tess_record_filter only = {.struct_size = sizeof only,
                                   .program = f->set->program};
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
  tune_setup *set = f->set;
  const tess_tune_options *o = &set->o;
  measure_policy policy;
  uint32_t groups;
  tess_best_filter b = {.struct_size = sizeof b,
                        .target = tess_target_text(set->target)};
  if (f->how && !o->measure) {
    tess_status s = setup_policy(set, &policy);
    b.policy = set->policy;
    if (s == TESS_OK) s = database_best(d, set->program, &b, row, &groups);
    if (s != TESS_NOT_FOUND) return s;
    b.policy = NULL;
  }
  b.measure = o->measure != NULL;
  b.measure_name = o->measure ? o->measure_name : NULL;
  b.inputs = o->inputs;
  b.ninputs = o->ninputs;
  tess_status s = database_best(d, set->program, &b, row, &groups);
  if (s == TESS_OK && groups > 1)
    str_printf(&f->r->note,
               "of %u policies of measuring, whose times are not comparable, "
               "this is the newest: %s",
               groups, row->policy);
  return s;
}

/* From the database, if there is a file and something in it. */
static tess_status look_up(frozen *f, bool *found) {
  tune_setup *set = f->set;
  tess_database *d;
  tess_record row = TESS_INIT(tess_record);
  *found = false;
  if (!set->o.database) return TESS_OK;
  if (access(set->o.database, F_OK) && errno == ENOENT) {
    str_printf(&f->r->note, "there is no database %s", set->o.database);
    return TESS_OK;
  }
  tess_status s = tess_database_open(set->c, set->o.database, &d);
  if (s != TESS_OK) return s;
  s = find_best(f, d, &row);
  *found = s == TESS_OK;
  if (s == TESS_OK) {
    int64_t flops = ir_flops(&set->program->p);
    f->r->info = (tess_result_info){
        .latency = row.seconds,
        .gflops = flops > 0 ? (double)flops / row.seconds * 1e-9 : 0};
    s = tess_database_trace(d, row.id, &f->r->best);
  } else if (s == TESS_NOT_FOUND) {
    ctx_clear(set->c);
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

tess_status tune_frozen(tune_setup *set, tess_result **out) {
  const tess_tune_options *o = &set->o;
  bool how = o->min_time > 0 || o->warm_cache || o->kernel_threads;
  frozen f = {.set = set, .how = how};
  bool found = false;
  tess_status s = setup_complete(set);
  if (s == TESS_OK) s = mem_protect(&set->c->heap, make_frozen, &f);
  if (s == TESS_OK) s = look_up(&f, &found);
  if (s == TESS_OK && !found && !f.r->note.n)
    str_puts(&f.r->note, "nothing is stored for this program");
  if (s == TESS_OK && !found) s = setup_sketches(set);
  if (s == TESS_OK && !found) s = guess(&f);
  if (s == TESS_OK)
    *out = f.r;
  else
    tess_result_free(f.r);
  return s;
}
