/* SPDX-License-Identifier: Apache-2.0
 * Many tuning tasks under one budget: structurally equal programs are one
 * task; a scheduler says which task gets the next batch. */
#ifndef SEARCH_TASKS_TASKS_H
#define SEARCH_TASKS_TASKS_H

#include "search/run/loop.h"

/* What is known after a batch of a task. */
typedef struct task_round {
  double best;   /* seconds; INFINITY: nothing valid yet */
  double active; /* seconds that the task was worked on until then */
} task_round;

/* One task: a program, for all the entries that are equal to it. */
typedef struct task_run {
  struct task_set *set;
  tune_setup setup;
  tune t;
  tess_result *r;
  uint64_t hash;
  const tess_strategy *strategy; /* the host's, of this task alone */
  const tess_cost_model *cost_model;
  char *name;
  strbuf shapes;
  double weight;
  uint32_t entries; /* equal programs, itself included */
  uint32_t opened;  /* 1: setup_begin, 2: tune_begin */
  bool live;        /* it may get further batches */
  VEC(task_round) round;
} task_run;

/* A scheduler: which of the live tasks, each of which had a batch, gets the
 * next one. */
typedef struct task_scheduler {
  const char *name;
  uint32_t (*next)(struct task_set *s);
} task_scheduler;
extern const task_scheduler *const task_schedulers[];
extern const uint32_t task_nschedulers;
const task_scheduler *task_scheduler_find(const char *name);
/* The live task that gets the next batch. */
uint32_t task_scheduler_next(struct task_set *s);

typedef struct task_set {
  tess_context *c;
  const task_scheduler *scheduler;
  tess_tasks_options o;
  tess_tune_options shared; /* of all tasks; trials: of all together */
  uint32_t most;            /* trials of one task */
  uint32_t n, nentry;
  task_run *run;
  uint32_t *task_of; /* of each entry */
  uint32_t last;     /* that had the last batch */
  rng random;
  thread_alarm alarm;
  bool unlimited; /* no limit of trials was given but one of seconds */
  bool cancelled;
  double started;
  strbuf text, table;
  VEC(tess_task_state) state;
  tess_tasks *out;
} task_set;

struct tess_tasks {
  tess_context *c;
  uint32_t n, nentry;
  tess_result **r;   /* of tasks */
  uint32_t *task_of; /* of entries */
  tess_tasks_info info;
  strbuf funnel, ledger, table, note, message;
};

uint32_t tasks_trials(const task_set *s);
/* Looks all tasks of the list up, or tunes them, and fills their results. */
tess_status tasks_run(task_set *s, const tess_task *list);
/* Frees the set; st: what the step before returned.  Its results are s->out's
 * where it is TESS_OK. */
void tasks_end(task_set *s, tess_status st);

/* ---- setup (setup.c) ----------------------------------------------- */

/* Reads options and entries, of which those that are equal are one task. */
tess_status tasks_set_up(task_set *s, const tess_task *list,
                         tess_target *target, const tess_tasks_options *o);
/* Begins the setup of one, with its own strategy and model. */
tess_status task_set_up(task_run *r, const tess_task *list);
/* Puts the task's name before the context's error. */
tess_status task_blame(task_run *r, tess_status st);

/* ---- results (results.c) ------------------------------------------- */

tess_status tasks_fill(task_set *s);

/* ---- texts (table.c) ----------------------------------------------- */

/* Parameters as "64x64 64x64 -> 64x64", with types other than float32. */
tess_status task_write_shapes(tess_program *p, strbuf *out);
/* Seconds of weighted latency that a minute of a task's batches gains: over the
 * last `window` of them; NAN where it is not known. */
double task_gain(const task_run *r, uint32_t window);
/* The task's name; where another one has the same, its number and shapes, too:
 * "task 2 'matmul' (64x64 64x64 -> 64x64)". */
void task_write_name(const task_run *r, strbuf *out);
void tasks_states(task_set *s);
/* The table of the states, and a line about them all. */
void tasks_table(const task_set *s, const tess_tasks_progress *p, strbuf *out);
void tasks_line(const task_set *s, const tess_tasks_progress *p, strbuf *out);

#endif
