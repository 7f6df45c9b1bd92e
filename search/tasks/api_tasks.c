/* SPDX-License-Identifier: Apache-2.0
 * The public functions of many tasks: options, entries to tasks, results. */
#include "base/hash.h"
#include "search/run/options.h"
#include "search/tasks/tasks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { TRIALS_A_TASK = 256, MOST_TASKS = 100000 };

/* ---- options ------------------------------------------------------------ */

static tess_status check_unused(tess_context *c, const tess_tune_options *o) {
  const char *which = o->custom_strategy     ? "custom_strategy"
                      : o->custom_cost_model ? "custom_cost_model"
                      : o->model             ? "model"
                      : o->progress          ? "progress"
                                             : NULL;
  if (!which) return TESS_OK;
  return ctx_fail(c, TESS_INVALID,
                  "option '%s' is of one task and may not be given for many",
                  which);
}

static tess_status find_scheduler(task_set *s) {
  const char *name = s->o.scheduler ? s->o.scheduler : "gradient";
  s->scheduler = task_scheduler_find(name);
  if (s->scheduler) return TESS_OK;
  return ctx_fail(s->c, TESS_NOT_FOUND,
                  "there is no task scheduler '%s'; there are gradient and "
                  "round_robin",
                  name);
}

static tess_status complete_tasks_options(task_set *s) {
  tess_tasks_options *o = &s->o;
  tess_tune_options *t = &s->shared;
  tess_status st = options_complete_tasks(s->c, o);
  if (st != TESS_OK) return st;
  s->unlimited = !t->trials && t->deadline > 0;
  uint64_t usual = (uint64_t)TRIALS_A_TASK * s->nentry;
  if (!t->trials)
    t->trials = s->unlimited || usual > TESS_MAX_TRIALS ? TESS_MAX_TRIALS
                                                        : (uint32_t)usual;
  /* A look-up tells by what was given whether times must fit. */
  if (!t->frozen) st = options_complete(s->c, t);
  if (st != TESS_OK) return st;
  s->most = o->max_trials_per_task ? o->max_trials_per_task : UINT32_MAX;
  rng_init(&s->random, t->seed, UINT64_C(3) << 61);
  return find_scheduler(s);
}

static tess_status read_tasks_options(task_set *s,
                                      const tess_tasks_options *in) {
  s->o = (tess_tasks_options){.struct_size = sizeof s->o};
  s->shared = (tess_tune_options){.struct_size = sizeof s->shared};
  tess_status st = in ? ctx_take(s->c, tess_tasks_options, in, &s->o) : TESS_OK;
  if (st == TESS_OK && s->o.tune)
    st = ctx_take(s->c, tess_tune_options, s->o.tune, &s->shared);
  if (st == TESS_OK) st = check_unused(s->c, &s->shared);
  return st == TESS_OK ? complete_tasks_options(s) : st;
}

/* ---- entries ------------------------------------------------------------ */

/* Elements have the size of the first. */
static tess_status take_entry(task_set *s, const tess_task *list, uint32_t i,
                              tess_task *out) {
  const void *at = (const char *)list + (size_t)i * list->struct_size;
  *out = (tess_task){.struct_size = sizeof *out};
  tess_status st = ctx_take(s->c, tess_task, at, out);
  if (st != TESS_OK) return st;
  if (!out->program)
    return ctx_fail(s->c, TESS_INVALID, "task %u has no program", i + 1);
  if (out->program->c != s->c)
    return ctx_fail(s->c, TESS_INVALID,
                    "task %u: its program is of another context", i + 1);
  if (!out->weight) out->weight = 1;
  if (out->weight > 0 && isfinite(out->weight)) return TESS_OK;
  return ctx_fail(
      s->c, TESS_INVALID,
      "task %u '%.60s': its weight is %g, not a positive number", i + 1,
      out->name ? out->name : tess_program_name(out->program), out->weight);
}

static task_run *find_equal(task_set *s, const tess_task *e, uint64_t hash) {
  for (uint32_t k = 0; k < s->n; k++) {
    task_run *r = &s->run[k];
    if (r->hash == hash && r->setup.space == e->space) return r;
  }
  return NULL;
}

static void add_task(task_set *s, const tess_task *e, uint64_t hash,
                     tess_target *target) {
  task_run *r = &s->run[s->n++];
  const char *name = e->name ? e->name : tess_program_name(e->program);
  *r = (task_run){.set = s,
                  .hash = hash,
                  .strategy = e->strategy,
                  .cost_model = e->cost_model,
                  .weight = e->weight,
                  .entries = 1};
  r->setup = (tune_setup){
      .c = s->c, .program = e->program, .target = target, .space = e->space};
  str_init(&r->shapes, &s->c->heap);
  r->name = ctx_text(s->c, name, strlen(name));
}

/* What is equal is one task, which has one strategy and one model. */
static tess_status join_task(task_set *s, const tess_task *e, uint32_t i,
                             task_run *r) {
  bool other = e->strategy && e->strategy != r->strategy;
  if (other || (e->cost_model && e->cost_model != r->cost_model))
    return ctx_fail(s->c, TESS_INVALID,
                    "task %u '%.60s': its program and space are those of task "
                    "'%.60s', so they are one task, but its %s is another",
                    i + 1, e->name ? e->name : tess_program_name(e->program),
                    r->name, other ? "strategy" : "cost model");
  r->weight += e->weight;
  r->entries++;
  return TESS_OK;
}

typedef struct entries_work {
  task_set *s;
  const tess_task *list;
  tess_target *target;
} entries_work;

/* Entries in their order; in the frame of the context's heap. */
static tess_status take_entries(void *ud) {
  entries_work *w = ud;
  task_set *s = w->s;
  mem_heap *h = &s->c->heap;
  s->run = mem_resize(h, NULL, 0, s->nentry * sizeof *s->run);
  s->task_of = mem_resize(h, NULL, 0, s->nentry * sizeof *s->task_of);
  for (uint32_t i = 0; i < s->nentry; i++) {
    tess_task e;
    tess_status st = take_entry(s, w->list, i, &e);
    if (st != TESS_OK) return st;
    uint64_t hash = tess_program_hash(e.program);
    task_run *r = find_equal(s, &e, hash);
    s->task_of[i] = r ? (uint32_t)(r - s->run) : s->n;
    if (!r)
      add_task(s, &e, hash, w->target);
    else if ((st = join_task(s, &e, i, r)) != TESS_OK)
      return st;
  }
  return TESS_OK;
}

/* The name of the task goes before what is wrong with it. */
static tess_status blame_task(task_set *s, const task_run *r, tess_status st) {
  char why[sizeof s->c->err.message];
  if (st == TESS_NOMEM || st == TESS_LIMIT || s->c->err.code != st) return st;
  memcpy(why, s->c->err.message, sizeof why);
  return ctx_fail(s->c, st, "task %u '%s': %s", (uint32_t)(r - s->run) + 1,
                  r->name, why);
}

/* The strategy and model of the first of the equal entries. */
static void give_own(task_set *s, const tess_task *list, uint32_t task,
                     tess_tune_options *o) {
  tess_task e;
  for (uint32_t i = 0; i < s->nentry; i++) {
    if (s->task_of[i] != task) continue;
    if (take_entry(s, list, i, &e) == TESS_OK) {
      o->custom_strategy = e.strategy;
      o->custom_cost_model = e.cost_model;
    }
    return;
  }
}

static tess_status begin_task(task_set *s, const tess_task *list, uint32_t i) {
  task_run *r = &s->run[i];
  tess_tune_options o = s->shared;
  give_own(s, list, i, &o);
  r->opened = 1;
  tess_status st = task_write_shapes(r->setup.program, &r->shapes);
  return st == TESS_OK ? setup_begin(&r->setup, &o) : st;
}

static tess_status prepare_task(task_set *s, const tess_task *list,
                                uint32_t i) {
  task_run *r = &s->run[i];
  tess_status st = begin_task(s, list, i);
  if (st == TESS_OK) st = setup_prepare(&r->setup);
  return st == TESS_OK ? st : blame_task(s, r, st);
}

/* ---- results ------------------------------------------------------------ */

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

static tess_status fill_results(task_set *s) {
  tess_status st = mem_protect(&s->c->heap, make_results, s);
  if (st == TESS_OK) st = mem_protect(&s->c->heap, sum_funnels, s);
  if (st != TESS_OK) return st;
  sum_ledgers(s);
  sum_results(s);
  note_late(s);
  make_final_table(s);
  return TESS_OK;
}

/* ---- tune_tasks --------------------------------------------------------- */

/* Nothing is measured, and so there is no budget that ends. */
static tess_status look_up_task(task_set *s, const tess_task *list,
                                uint32_t i) {
  task_run *r = &s->run[i];
  tess_status st = begin_task(s, list, i);
  if (st == TESS_OK) st = tune_frozen(&r->setup, &r->r);
  if (st != TESS_OK) return blame_task(s, r, st);
  r->t.r = r->r;
  return TESS_OK;
}

static tess_status look_up_set(task_set *s, const tess_task *list) {
  tess_status st = TESS_OK;
  for (uint32_t i = 0; st == TESS_OK && i < s->n; i++)
    st = look_up_task(s, list, i);
  return st == TESS_OK ? fill_results(s) : st;
}

static tess_status run_set(task_set *s, const tess_task *list) {
  if (s->shared.frozen) return look_up_set(s, list);
  double seconds = s->shared.deadline;
  tess_status st = TESS_OK;
  if (seconds > 0) thread_alarm_set(&s->alarm, seconds, &s->c->stop);
  for (uint32_t i = 0; st == TESS_OK && i < s->n; i++)
    st = prepare_task(s, list, i);
  if (st == TESS_OK) st = tasks_run(s);
  if (st == TESS_OK) st = fill_results(s);
  thread_alarm_put_off(&s->alarm);
  return st;
}

static void end_set(task_set *s, tess_status st) {
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

static tess_status check_entries(tess_context *c, uint32_t n,
                                 const tess_task *task) {
  if (!n || !task)
    return ctx_fail(c, TESS_INVALID, "there are no tasks to tune");
  if (n <= MOST_TASKS) return TESS_OK;
  return ctx_fail(c, TESS_INVALID, "there are %u tasks, more than %d", n,
                  MOST_TASKS);
}

tess_status tess_tune_tasks(tess_context *c, uint32_t n, const tess_task *task,
                            tess_target *target, const tess_tasks_options *o,
                            tess_tasks **out) {
  task_set s = {.c = c, .nentry = n, .started = clock_now()};
  entries_work w = {&s, task, target};
  *out = NULL;
  ctx_clear(c);
  tess_status st = check_entries(c, n, task);
  if (st != TESS_OK) return st;
  ctx_begin_work(c);
  str_init(&s.text, &c->heap);
  str_init(&s.table, &c->heap);
  st = read_tasks_options(&s, o);
  if (st == TESS_OK) st = mem_protect(&c->heap, take_entries, &w);
  if (st == TESS_OK) st = run_set(&s, task);
  end_set(&s, st);
  ctx_end_work(c);
  if (st == TESS_OK)
    *out = s.out;
  else
    tess_tasks_free(s.out);
  if (st != TESS_OK && c->err.code != st) ctx_ran_out(c, st, "tuning");
  return st;
}

/* ---- what came of it ---------------------------------------------------- */

static const char *tasks_text(const strbuf *b) {
  const char *s = str_get(b);
  return s ? s : "";
}

tess_status tess_tasks_get(tess_tasks *t, tess_tasks_info *out) {
  tess_tasks_info i = t->info;
  i.funnel = tasks_text(&t->funnel);
  i.ledger = tasks_text(&t->ledger);
  i.table = tasks_text(&t->table);
  i.note = tasks_text(&t->note);
  i.message = tasks_text(&t->message);
  return ctx_give(t->c, tess_tasks_info, &i, out);
}

uint32_t tess_tasks_index(tess_tasks *t, uint32_t i) {
  return i < t->nentry ? t->task_of[i] : 0;
}

tess_status tess_tasks_result(tess_tasks *t, uint32_t i, tess_result **out) {
  *out = NULL;
  if (i >= t->nentry)
    return ctx_fail(t->c, TESS_NOT_FOUND,
                    "there are %u programs; there is none at %" PRIu64
                    ", counted from 1",
                    t->nentry, (uint64_t)i + 1);
  *out = result_hold(t->r[t->task_of[i]]);
  return TESS_OK;
}

void tess_tasks_free(tess_tasks *t) {
  if (!t) return;
  mem_heap *h = &t->c->heap;
  for (uint32_t i = 0; t->r && i < t->n; i++) tess_result_free(t->r[i]);
  if (t->r) mem_free(h, t->r, t->n * sizeof *t->r);
  if (t->task_of) mem_free(h, t->task_of, t->nentry * sizeof *t->task_of);
  str_free(&t->funnel);
  str_free(&t->ledger);
  str_free(&t->table);
  str_free(&t->note);
  str_free(&t->message);
  mem_free(h, t, sizeof *t);
}
