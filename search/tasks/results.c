/* SPDX-License-Identifier: Apache-2.0
 * What came of many tasks: their results, and funnels, times and notes of all
 * together. */
#include "search/tasks/tasks.h"

#include <math.h>
#include <stdio.h>

static tess_status make_results(void *ud) {
  task_set *s = ud;
  mem_heap *h = &s->c->heap;
  tess_tasks *t = mem_new(h, tess_tasks);
  *t = (tess_tasks){.c = s->c, .n = s->n, .nentry = s->nentry};
  s->out = t;
  str_init(&t->funnel, h);
  str_init(&t->ledger, h);
  str_init(&t->table, h);
  str_init(&t->note, h);
  str_init(&t->message, h);
  t->r = mem_resize(h, NULL, 0, s->n * sizeof *t->r);
  memset(t->r, 0, s->n * sizeof *t->r);
  t->task_of = mem_resize(h, NULL, 0, s->nentry * sizeof *t->task_of);
  memcpy(t->task_of, s->task_of, s->nentry * sizeof *t->task_of);
  return TESS_OK;
}

static tess_status sum_funnels(void *ud) {
  task_set *s = ud;
  funnel all = {0};
  mem_heap *h = &s->c->heap;
  for (uint32_t i = 0; i < s->n; i++)
    funnel_take(&all, h, &s->run[i].t.s.total);
  funnel_print(&all, &s->out->funnel);
  funnel_free(&all, h);
  return TESS_OK;
}

static void sum_ledgers(task_set *s) {
  tune_ledger all = {0};
  measure_ledger pool = {0};
  uint32_t trials = 0;
  bool has_pool = false;
  for (uint32_t i = 0; i < s->n; i++) {
    const tune *t = &s->run[i].t;
    if (!t->set) continue; /* frozen */
    const tune_ledger *own = &t->time.ledger;
    all.sketches += own->sketches;
    all.propose += own->propose;
    all.process += own->process;
    all.model += own->model;
    all.measure += own->measure;
    all.database += own->database;
    pool.build_wall += t->time.pool.build_wall;
    pool.run_wall += t->time.pool.run_wall;
    has_pool |= t->set->ledger != NULL;
    trials += t->budget.trials - t->budget.before;
  }
  all.total = clock_now() - s->started;
  s->out->info.seconds = all.total;
  tune_report_ledger(&all, has_pool ? &pool : NULL, trials, &s->out->ledger);
}

/* What is told of a task's end stands with its name. */
static void tell_task(const task_run *r, const char *text, strbuf *out) {
  if (!text || !*text) return;
  if (out->n) str_puts(out, "; ");
  task_write_name(r, out);
  str_printf(out, ": %s", text);
}

/* Why nothing was tried of a task that has no result; NULL: it was. */
static const char *why_untried(const task_set *s, const task_run *r) {
  const tess_result *x = r->t.r;
  if (s->shared.frozen || s->cancelled || x->broke.code || x->failure.n)
    return NULL;
  if (!x->info.trials)
    return "it got no trial: the other tasks used the budget up";
  if (x->best || r->t.budget.trials > r->t.budget.before) return NULL;
  return "nothing was tried: stored records, none of which is a valid result "
         "of it, used the budget up";
}

static void sum_results(task_set *s) {
  tess_tasks_info *all = &s->out->info;
  double latency = 0;
  for (uint32_t i = 0; i < s->n; i++) {
    const task_run *r = &s->run[i];
    const tess_result *x = r->t.r;
    tess_status st = x->info.status;
    latency += r->weight * x->info.latency;
    all->trials += x->info.trials;
    all->failed += x->info.failed;
    if (all->status == TESS_OK || st == TESS_CANCELLED) all->status = st;
    tell_task(r, str_get(&x->note), &s->out->note);
    tell_task(r, why_untried(s, r), &s->out->note);
    tell_task(r, x->broke.code ? x->broke.message : str_get(&x->failure),
              &s->out->message);
  }
  all->latency = latency;
  all->ntask = s->n;
  all->nentry = s->nentry;
}

/* Whether the deadline ended the search is told once, of all. */
static void note_late(task_set *s) {
  char text[128];
  bool late = false;
  for (uint32_t i = 0; i < s->n; i++) late |= s->run[i].t.status.late;
  if (!late) return;
  snprintf(text, sizeof text,
           "the deadline of %g s ended the search after %u "
           "trials",
           s->shared.deadline, tasks_trials(s));
  str_printf(&s->out->note, "%s%s", s->out->note.n ? "; " : "", text);
}

/* The times at the end are those of the finals. */
static void make_final_table(task_set *s) {
  tasks_states(s);
  for (uint32_t i = 0; i < s->state.n; i++) {
    const tess_result_info *x = &s->run[i].t.r->info;
    if (!isfinite(x->latency)) continue;
    s->state.v[i].best_seconds = x->latency;
    s->state.v[i].gflops = x->gflops;
  }
  tasks_table(s, NULL, &s->out->table);
}

tess_status tasks_fill(task_set *s) {
  tess_status st = mem_protect(&s->c->heap, make_results, s);
  if (st == TESS_OK) st = mem_protect(&s->c->heap, sum_funnels, s);
  if (st != TESS_OK) return st;
  sum_ledgers(s);
  sum_results(s);
  note_late(s);
  make_final_table(s);
  return TESS_OK;
}
