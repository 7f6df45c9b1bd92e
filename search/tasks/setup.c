/* SPDX-License-Identifier: Apache-2.0
 * What many tasks are made of: the options that they share, and the entries, of
 * which those that are equal are one task. */
#include "base/hash.h"
#include "search/run/options.h"
#include "search/tasks/tasks.h"

#include <math.h>
#include <stdio.h>

enum { TRIALS_A_TASK = 256 };

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

tess_status task_blame(task_run *r, tess_status st) {
  task_set *s = r->set;
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

tess_status task_set_up(task_run *r, const tess_task *list) {
  task_set *s = r->set;
  tess_tune_options o = s->shared;
  give_own(s, list, (uint32_t)(r - s->run), &o);
  r->opened = 1;
  tess_status st = task_write_shapes(r->setup.program, &r->shapes);
  return st == TESS_OK ? setup_begin(&r->setup, &o) : st;
}

tess_status tasks_set_up(task_set *s, const tess_task *list,
                         tess_target *target, const tess_tasks_options *o) {
  entries_work w = {s, list, target};
  tess_status st = read_tasks_options(s, o);
  return st == TESS_OK ? mem_protect(&s->c->heap, take_entries, &w) : st;
}
