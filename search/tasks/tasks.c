/* SPDX-License-Identifier: Apache-2.0
 * The loop over many tasks: the scheduler names a task, which gets a batch,
 * until the budget of trials or seconds is spent; then the finals of each. */
#include "search/tasks/tasks.h"

#include <math.h>

uint32_t tasks_trials(const task_set *s) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < s->n; i++) sum += s->run[i].t.budget.trials;
  return sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
}

/* ---- progress ----------------------------------------------------------- */

/* The sum of the best times, weighted; INFINITY until each task has one. */
static double weighted_latency(const task_set *s) {
  double sum = 0;
  for (uint32_t i = 0; i < s->n; i++) {
    double best = s->run[i].t.best.seconds;
    sum += s->run[i].weight * (best > 0 ? best : INFINITY);
  }
  return sum;
}

/* Seconds until the budget is spent, by trials or by the clock. */
static double tasks_left(const task_set *s, uint32_t trials, double elapsed) {
  double left = INFINITY, before = 0;
  for (uint32_t i = 0; i < s->n; i++) before += s->run[i].t.budget.before;
  double done = trials - before;
  if (!s->unlimited && done >= 8 && s->shared.trials >= trials)
    left = elapsed / done * (s->shared.trials - trials);
  if (s->shared.deadline > 0)
    left = fmin(left, fmax(0, s->shared.deadline - elapsed));
  return left;
}

static int report_tasks(task_run *r, const tess_progress *one, bool round) {
  task_set *s = r->set;
  if (!s->o.progress) return 0;
  tasks_states(s);
  double elapsed = clock_now() - s->started;
  tess_tasks_progress p = {.struct_size = sizeof p,
                           .ntask = s->n,
                           .task = s->state.v,
                           .current = (uint32_t)(r - s->run),
                           .trials = tasks_trials(s),
                           .max_trials = s->unlimited ? 0 : s->shared.trials,
                           .round = round,
                           .latency = weighted_latency(s),
                           .elapsed = elapsed,
                           .trial = one};
  for (uint32_t i = 0; i < s->n; i++) p.failed += s->run[i].t.budget.failed;
  p.eta = tasks_left(s, p.trials, elapsed);
  str_clear(&s->table);
  str_clear(&s->text);
  tasks_table(s, &p, &s->table);
  tasks_line(s, &p, &s->text);
  p.table = str_or(&s->table, "");
  p.text = str_or(&s->text, "");
  return s->o.progress(s->o.progress_ud, &p);
}

/* The progress function of each task's own run. */
static int report_one(void *ud, const tess_progress *p) {
  return report_tasks(ud, p, false);
}

/* ---- one task ----------------------------------------------------------- */

static tess_status push_round(void *ud) {
  task_run *r = ud;
  double best = r->t.best.seconds;
  vec_push(&r->set->c->heap, &r->round,
           ((task_round){best > 0 ? best : INFINITY, r->t.time.ledger.active}));
  return TESS_OK;
}

/* Batches of earlier runs are rounds, too, of no time. */
static tess_status push_earlier(void *ud) {
  task_run *r = ud;
  uint32_t n = r->t.r->curve.n, batch = r->set->shared.batch;
  for (uint32_t at = batch; at < n + batch; at += batch)
    vec_push(&r->set->c->heap, &r->round,
             ((task_round){r->t.r->curve.v[at < n ? at - 1 : n - 1], 0}));
  return TESS_OK;
}

static tess_status begin_task(task_run *r) {
  task_set *s = r->set;
  r->setup.o.progress = report_one;
  r->setup.o.progress_ud = r;
  r->setup.deadline = s->alarm.is_set ? &s->alarm : NULL;
  r->setup.shares = true;
  r->opened = 2;
  tess_status st = tune_begin(&r->t, &r->setup);
  if (st == TESS_OK) st = mem_protect(&s->c->heap, push_earlier, r);
  r->live = st == TESS_OK;
  return st;
}

/* How many trials the next batch of a task may have.  The first of each task is
 * no more than its share of what is left, so that a small budget reaches all
 * of them. */
static uint32_t next_trials(const task_run *r) {
  const task_set *s = r->set;
  uint32_t left = s->shared.trials - tasks_trials(s), untried = 0;
  uint32_t own =
      s->most > r->t.budget.trials ? s->most - r->t.budget.trials : 0;
  for (uint32_t i = 0; i < s->n; i++)
    untried += s->run[i].live && !s->run[i].round.n;
  if (!r->round.n) left = (left + untried - 1) / untried;
  return left < own ? left : own;
}

/* A batch, as far as the budget goes. */
static tess_status advance_task(task_run *r) {
  task_set *s = r->set;
  r->t.budget.limit = r->t.budget.trials + next_trials(r);
  bool more = tune_advance(&r->t);
  if (r->t.budget.trials >= s->most) more = false;
  if (r->t.status.ended == TESS_CANCELLED ||
      r->t.status.search == TESS_CANCELLED)
    s->cancelled = true;
  if (r->t.status.late) s->cancelled = true;
  r->live = more;
  tess_status st = mem_protect(&s->c->heap, push_round, r);
  if (st == TESS_OK && report_tasks(r, NULL, true)) {
    s->cancelled = true;
    r->t.status.ended = TESS_CANCELLED;
  }
  return st;
}

/* ---- all ---------------------------------------------------------------- */

static bool budget_left(const task_set *s) {
  if (s->cancelled || tasks_trials(s) >= s->shared.trials) return false;
  for (uint32_t i = 0; i < s->n; i++)
    if (s->run[i].live) return true;
  return false;
}

/* Records of earlier runs count as trials of the budget, which they may have
 * used up; what has none yet gets its first batch all the same, at most its
 * share of the budget. */
static void reserve_first_batches(task_set *s) {
  uint32_t first = s->shared.trials / s->n;
  uint64_t all = tasks_trials(s);
  if (!all) return;
  if (!first) first = 1;
  if (first > s->shared.batch) first = s->shared.batch;
  for (uint32_t i = 0; i < s->n; i++) {
    const task_run *r = &s->run[i];
    if (r->live && !r->round.n) all += first < s->most ? first : s->most;
  }
  if (all > s->shared.trials && all <= TESS_MAX_TRIALS)
    s->shared.trials = (uint32_t)all;
}

static tess_status search_all(task_set *s) {
  tess_status st = TESS_OK;
  for (uint32_t i = 0; st == TESS_OK && i < s->n; i++) {
    st = begin_task(&s->run[i]);
    if (s->run[i].t.status.ended != TESS_OK) s->cancelled = true;
    if (s->run[i].t.budget.trials >= s->most) s->run[i].live = false;
  }
  reserve_first_batches(s);
  s->last = s->n - 1;
  while (st == TESS_OK && budget_left(s)) {
    s->last = task_scheduler_next(s);
    st = advance_task(&s->run[s->last]);
  }
  for (uint32_t i = 0; st == TESS_OK && i < s->n && !s->cancelled; i++) {
    tune *t = &s->run[i].t;
    tune_add_draft(t);
    s->cancelled = t->status.ended != TESS_OK;
  }
  return st;
}

/* An interrupt ends all tasks, whichever had a batch when it came. */
static bool was_cancelled(const task_set *s) {
  for (uint32_t i = 0; i < s->n; i++)
    if (s->run[i].t.status.ended == TESS_CANCELLED) return true;
  return false;
}

static tess_status run_all(task_set *s) {
  tess_status st = search_all(s);
  for (uint32_t i = 0; st == TESS_OK && i < s->n; i++)
    tune_end_search(&s->run[i].t);
  bool cancelled = st == TESS_OK && was_cancelled(s);
  bool late = false;
  for (uint32_t i = 0; i < s->n; i++) late |= s->run[i].t.status.late;
  for (uint32_t i = 0; st == TESS_OK && i < s->n; i++) {
    if (cancelled) s->run[i].t.status.ended = TESS_CANCELLED;
    s->run[i].t.status.late |= late;
    st = tune_conclude(&s->run[i].t);
  }
  return st;
}

/* Nothing is measured, and so there is no budget that ends. */
static tess_status look_up_all(task_set *s, const tess_task *list) {
  tess_status st = TESS_OK;
  for (uint32_t i = 0; st == TESS_OK && i < s->n; i++) {
    task_run *r = &s->run[i];
    st = task_set_up(r, list);
    if (st == TESS_OK) st = tune_frozen(&r->setup, &r->r);
    if (st != TESS_OK) return task_blame(r, st);
    r->t.r = r->r;
  }
  return st;
}

static tess_status prepare_all(task_set *s, const tess_task *list) {
  tess_status st = TESS_OK;
  for (uint32_t i = 0; st == TESS_OK && i < s->n; i++) {
    task_run *r = &s->run[i];
    st = task_set_up(r, list);
    if (st == TESS_OK) st = setup_prepare(&r->setup);
    if (st != TESS_OK) st = task_blame(r, st);
  }
  return st;
}

tess_status tasks_run(task_set *s, const tess_task *list) {
  double seconds = s->shared.frozen ? 0 : s->shared.deadline;
  if (seconds > 0) thread_alarm_set(&s->alarm, seconds, &s->c->stop);
  tess_status st =
      s->shared.frozen ? look_up_all(s, list) : prepare_all(s, list);
  if (st == TESS_OK && !s->shared.frozen) st = run_all(s);
  if (st == TESS_OK) st = tasks_fill(s);
  if (!s->shared.frozen) thread_alarm_put_off(&s->alarm);
  return st;
}

void tasks_end(task_set *s, tess_status st) {
  mem_heap *h = &s->c->heap;
  for (uint32_t i = 0; i < s->n; i++) {
    task_run *r = &s->run[i];
    if (r->opened > 1) tune_end(&r->t, st, &r->r);
    if (r->opened) setup_end(&r->setup);
    if (st == TESS_OK)
      s->out->r[i] = r->r;
    else
      tess_result_free(r->r);
    vec_free(h, &r->round);
    str_free(&r->shapes);
    tess_text_free(s->c, r->name);
  }
  if (s->run) mem_free(h, s->run, s->nentry * sizeof *s->run);
  if (s->task_of) mem_free(h, s->task_of, s->nentry * sizeof *s->task_of);
  vec_free(h, &s->state);
  str_free(&s->text);
  str_free(&s->table);
}
