/* SPDX-License-Identifier: Apache-2.0
 * Many tasks: what the schedulers choose, equal programs, the budget, errors
 * that name the task, and stopping. */
#include "search/tasks/tasks.h"
#include "support/test.h"
#include "support/tiled.h"

#include <math.h>
#include <stdlib.h>

/* ---- schedulers --------------------------------------------------------- */

enum { NTASK = 3 };

typedef struct choosing {
  tiled t;
  task_set s;
  task_run run[NTASK];
} choosing;

static void begin_choosing(choosing *f, const char *scheduler) {
  memset(f, 0, sizeof *f);
  tiled_start(&f->t);
  f->s = (task_set){.c = f->t.c, .n = NTASK, .run = f->run, .last = NTASK - 1};
  f->s.o.alpha = 0.2;
  f->s.o.window_size = 3;
  f->s.scheduler = task_scheduler_find(scheduler);
  assert_non_null(f->s.scheduler);
  rng_init(&f->s.random, 1, 0);
  for (int i = 0; i < NTASK; i++)
    f->run[i] = (task_run){.set = &f->s, .weight = 1, .live = true};
}

static void end_choosing(choosing *f) {
  for (int i = 0; i < NTASK; i++) vec_free(&f->t.c->heap, &f->run[i].round);
  tiled_end(&f->t);
}

static void add_round(choosing *f, int task, double best, double active) {
  vec_push(&f->t.c->heap, &f->run[task].round, ((task_round){best, active}));
}

static uint32_t choose(choosing *f) {
  return f->s.last = task_scheduler_next(&f->s);
}

static void test_round_robin(void **state) {
  (void)state;
  choosing f;
  begin_choosing(&f, "round_robin");
  for (int i = 1; i < NTASK; i++) add_round(&f, i, 8, 1);
  f.s.last = 1;
  assert_int_equal(choose(&f), 0); /* it had no batch yet */
  add_round(&f, 0, 8, 1);
  f.s.last = NTASK - 1;
  assert_int_equal(choose(&f), 0);
  assert_int_equal(choose(&f), 1);
  f.run[2].live = false;
  assert_int_equal(choose(&f), 0);
  end_choosing(&f);
}

/* Each once; then weight (alpha g1 + (1 - alpha) g2). */
static void test_gradient(void **state) {
  (void)state;
  choosing f;
  begin_choosing(&f, "gradient");
  add_round(&f, 0, 8, 1);
  assert_int_equal(choose(&f), 1);
  add_round(&f, 1, 9, 1);
  assert_int_equal(choose(&f), 2);
  add_round(&f, 2, INFINITY, 1);
  assert_int_equal(choose(&f), 1); /* 9 > 8; without a time it comes last */
  f.run[0].weight = 2;
  assert_int_equal(choose(&f), 0); /* 2 * 8 > 9 */
  add_round(&f, 0, 8, 2);
  add_round(&f, 0, 8, 3);
  assert_int_equal(choose(&f), 1); /* 2 * 8 / 3 < 9 */
  for (int i = 0; i < 3; i++) add_round(&f, 1, i < 2 ? 6 : 2, 2 + i);
  /* Of 1: 0.2 (9 - 2) / 3 + 0.8 * 2 / 4 = 0.867; of 0: 2 * 0.8 * 8 / 3. */
  assert_int_equal(choose(&f), 0);
  f.run[0].weight = 0.2; /* 0.427 */
  assert_int_equal(choose(&f), 1);
  f.s.o.alpha = 0; /* 0.5 against 0.533 */
  assert_int_equal(choose(&f), 0);
  f.run[0].live = false;
  assert_int_equal(choose(&f), 1);
  f.run[1].live = false;
  assert_int_equal(choose(&f), 2);
  end_choosing(&f);
}

/* Equal gradients: one at random. */
static void test_gradient_ties(void **state) {
  (void)state;
  choosing f;
  int count[NTASK] = {0};
  begin_choosing(&f, "gradient");
  for (int i = 0; i < NTASK; i++) add_round(&f, i, 4, 1);
  for (int i = 0; i < 60; i++) count[choose(&f)]++;
  for (int i = 0; i < NTASK; i++) assert_true(count[i] > 5);
  end_choosing(&f);
}

static void test_gain(void **state) {
  (void)state;
  choosing f;
  begin_choosing(&f, "gradient");
  assert_true(isnan(task_gain(&f.run[0], 3)));
  add_round(&f, 0, 10, 1);
  assert_true(isnan(task_gain(&f.run[0], 3)));
  add_round(&f, 0, 8, 31);
  f.run[0].weight = 3;
  assert_true(fabs(task_gain(&f.run[0], 3) - 12) < 1e-9); /* 3 * 2 / 30 * 60 */
  for (int i = 0; i < 3; i++) add_round(&f, 0, 8, 41 + 10 * i);
  assert_true(task_gain(&f.run[0], 3) == 0);
  end_choosing(&f);
}

/* ---- runs --------------------------------------------------------------- */

typedef struct together {
  tiled a;
  tess_space *other;
  tess_space *space;
  tess_task task[4];
  tess_tune_options tune;
  tess_tasks_options o;
  uint32_t rounds, trials, stop_after, ntask;
} together;

static int watch(void *ud, const tess_tasks_progress *p) {
  together *f = ud;
  assert_true(p->current < p->ntask && p->task[p->current].trials <= p->trials);
  assert_non_null(strstr(p->table, "GFLOP/s"));
  assert_non_null(strstr(p->table, " -> "));
  assert_non_null(strstr(p->text, "trial "));
  f->rounds += p->round != 0;
  f->trials = p->trials;
  f->ntask = p->ntask;
  return f->stop_after && p->trials >= f->stop_after;
}

/* The product of `tiled` three times, twice with one space. */
static void begin_together(together *f) {
  memset(f, 0, sizeof *f);
  tiled_start(&f->a);
  tess_context *c = f->a.c;
  assert_int_equal(tess_space_traces(c, f->a.nsketch, f->a.sketch, &f->space),
                   TESS_OK);
  tess_space *other;
  assert_int_equal(tess_space_traces(c, 1, f->a.sketch, &other), TESS_OK);
  f->other = other;
  f->task[0] = (tess_task){
      .struct_size = sizeof(tess_task), .program = f->a.p, .space = f->space};
  f->task[1] = f->task[2] = f->task[0];
  f->task[1].weight = 2;
  f->task[2].space = other;
  f->task[2].name = "another";
  f->tune = (tess_tune_options){.struct_size = sizeof f->tune,
                                .trials = 12,
                                .batch = 4,
                                .seed = 3,
                                .kernel_threads = 1,
                                .min_time = 1e-4};
  f->o = (tess_tasks_options){.struct_size = sizeof f->o,
                              .tune = &f->tune,
                              .progress = watch,
                              .progress_ud = f};
}

static void end_together(together *f) {
  tess_space_free(f->other);
  tess_space_free(f->space);
  tiled_end(&f->a);
}

static tess_status run_together(together *f, uint32_t n, tess_tasks **out) {
  return tess_tune_tasks(f->a.c, n, f->task, NULL, &f->o, out);
}

/* Equal programs of one space are one task. */
static void test_equal_programs(void **state) {
  (void)state;
  together f;
  tess_tasks *t;
  tess_result *r[3], *none;
  tess_tasks_info i = TESS_INIT(tess_tasks_info);
  begin_together(&f);
  assert_int_equal(run_together(&f, 3, &t), TESS_OK);
  assert_int_equal(tess_tasks_get(t, &i), TESS_OK);
  assert_int_equal(i.status, TESS_OK);
  assert_int_equal(i.ntask, 2);
  assert_int_equal(i.nentry, 3);
  assert_int_equal(i.trials, 12);
  assert_int_equal(f.trials, 12);
  assert_int_equal(f.rounds, 3);
  assert_int_equal(tess_tasks_index(t, 1), 0);
  assert_int_equal(tess_tasks_index(t, 2), 1);
  for (uint32_t k = 0; k < 3; k++)
    assert_int_equal(tess_tasks_result(t, k, &r[k]), TESS_OK);
  assert_ptr_equal(r[0], r[1]);
  assert_int_equal(tess_tasks_result(t, 3, &none), TESS_NOT_FOUND);
  tess_result_info x = TESS_INIT(tess_result_info), y = x;
  tess_result_get(r[0], &x);
  tess_result_get(r[2], &y);
  assert_int_equal(x.trials + y.trials, 12);
  assert_true(fabs(i.latency - 3 * x.latency - y.latency) < 1e-12);
  assert_non_null(strstr(i.table, "another"));
  assert_non_null(strstr(i.funnel, "12  measured: ok"));
  assert_non_null(strstr(i.ledger, "in all"));
  tess_tasks_free(t); /* results are held */
  tess_trace *trace;
  assert_int_equal(tess_result_trace(r[2], &trace), TESS_OK);
  tess_trace_free(trace);
  for (uint32_t k = 0; k < 3; k++) tess_result_free(r[k]);
  end_together(&f);
}

/* What a task may have at most, and that a small budget reaches all. */
static void test_shares(void **state) {
  (void)state;
  together f;
  tess_tasks *t;
  tess_tasks_info i = TESS_INIT(tess_tasks_info);
  begin_together(&f);
  f.task[1].space = f.task[2].space;
  f.o.max_trials_per_task = 5;
  assert_int_equal(run_together(&f, 2, &t), TESS_OK);
  tess_tasks_get(t, &i);
  assert_int_equal(i.trials, 10);
  tess_tasks_free(t);
  f.o.max_trials_per_task = 0;
  f.tune.trials = 3;
  f.tune.batch = 32;
  assert_int_equal(run_together(&f, 2, &t), TESS_OK);
  for (uint32_t k = 0; k < 2; k++) {
    tess_result *r;
    tess_result_info x = TESS_INIT(tess_result_info);
    tess_tasks_result(t, k, &r);
    tess_result_get(r, &x);
    assert_int_equal(x.trials, k ? 1 : 2);
    tess_result_free(r);
  }
  tess_tasks_free(t);
  end_together(&f);
}

static void test_stops(void **state) {
  (void)state;
  together f;
  tess_tasks *t;
  tess_tasks_info i = TESS_INIT(tess_tasks_info);
  begin_together(&f);
  f.stop_after = 6;
  assert_int_equal(run_together(&f, 3, &t), TESS_OK);
  tess_tasks_get(t, &i);
  assert_int_equal(i.status, TESS_CANCELLED);
  assert_int_equal(i.trials, 6);
  assert_true(isfinite(i.latency)); /* both have a best so far */
  tess_tasks_free(t);
  f.stop_after = 0;
  f.tune.trials = 0;
  f.tune.deadline = 0.4;
  f.tune.min_time = 0.01;
  assert_int_equal(run_together(&f, 3, &t), TESS_OK);
  tess_tasks_get(t, &i);
  assert_true(i.status == TESS_OK || i.status == TESS_NOT_FOUND);
  if (strstr(i.note, "deadline")) /* or the spaces were exhausted before */
    assert_non_null(strstr(i.note, "the deadline of 0.4 s ended the search"));
  tess_tasks_free(t);
  end_together(&f);
}

/* ---- errors ------------------------------------------------------------- */

static void fails(together *f, uint32_t n, tess_status s, const char *says) {
  tess_tasks *t;
  assert_int_equal(run_together(f, n, &t), s);
  assert_null(t);
  const char *message = tess_error(f->a.c)->message;
  if (!strstr(message, says)) fail_msg("'%s' not in '%s'", says, message);
}

static tess_status propose_nothing(void *ud, tess_session *s, uint32_t n,
                                   tess_candidate *out, uint32_t *got) {
  (void)ud, (void)s, (void)n, (void)out;
  *got = 0;
  return TESS_OK;
}

static int no_progress(void *ud, const tess_progress *p) {
  return (void)ud, (void)p, 0;
}

static void test_errors(void **state) {
  (void)state;
  together f;
  begin_together(&f);
  fails(&f, 0, TESS_INVALID, "no tasks");
  f.o.scheduler = "greedy";
  fails(&f, 1, TESS_NOT_FOUND, "no task scheduler 'greedy'");
  f.o.scheduler = NULL;
  f.o.alpha = 1.5;
  fails(&f, 1, TESS_INVALID, "'alpha' is 1.5");
  f.o.alpha = 0;
  f.tune.progress = no_progress;
  fails(&f, 1, TESS_INVALID, "'progress' is of one task");
  f.tune.progress = NULL;
  f.task[1].weight = -1;
  fails(&f, 2, TESS_INVALID, "task 2 'matmul': its weight is -1");
  f.task[1].weight = 1;
  f.task[1].program = NULL;
  fails(&f, 2, TESS_INVALID, "task 2 has no program");
  const tess_strategy own = {.struct_size = sizeof own,
                             .propose = propose_nothing};
  f.task[1].program = f.task[0].program;
  f.task[1].strategy = &own;
  fails(&f, 2, TESS_INVALID, "one task, but its strategy is another");
  f.task[1].strategy = NULL;
  f.tune.strategy = "guess";
  fails(&f, 1, TESS_NOT_FOUND, "there is no strategy 'guess'");
  f.tune.strategy = NULL;
  f.tune.database = "/nowhere/x.db";
  fails(&f, 1, TESS_IO, "/nowhere/x.db");
  end_together(&f);
}

/* One task without candidates leaves the other going. */
static void test_one_fails(void **state) {
  (void)state;
  together f;
  tess_tasks *t;
  tess_tasks_info i = TESS_INIT(tess_tasks_info);
  const tess_strategy none = {.struct_size = sizeof none,
                              .propose = propose_nothing};
  begin_together(&f);
  f.task[2].strategy = &none;
  assert_int_equal(run_together(&f, 3, &t), TESS_OK);
  tess_tasks_get(t, &i);
  assert_int_equal(i.status, TESS_NOT_FOUND);
  assert_int_equal(i.trials, 12);
  assert_true(isinf(i.latency));
  tess_tasks_free(t);
  end_together(&f);
}

/* Nothing is measured, not even what the entries' own strategies propose. */
static void test_frozen_tasks(void **state) {
  (void)state;
  together f;
  tess_tasks *t;
  tess_result *r;
  tess_trace *trace;
  tess_tasks_info i = TESS_INIT(tess_tasks_info);
  begin_together(&f);
  f.tune.frozen = 1;
  assert_int_equal(run_together(&f, 3, &t), TESS_OK);
  assert_int_equal(tess_tasks_get(t, &i), TESS_OK);
  assert_int_equal(i.status, TESS_OK);
  assert_int_equal(i.trials, 0);
  assert_int_equal(f.trials, 0);
  assert_true(isinf(i.latency));
  assert_non_null(strstr(i.note, "another: nothing is stored"));
  for (uint32_t k = 0; k < 3; k++) {
    assert_int_equal(tess_tasks_result(t, k, &r), TESS_OK);
    assert_int_equal(tess_result_trace(r, &trace), TESS_OK);
    tess_trace_free(trace);
    tess_result_free(r);
  }
  tess_tasks_free(t);
  f.tune.frozen = 7;
  fails(&f, 2, TESS_INVALID, "'frozen' is 7");
  end_together(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_robin),
                                     cmocka_unit_test(test_gradient),
                                     cmocka_unit_test(test_gradient_ties),
                                     cmocka_unit_test(test_gain),
                                     cmocka_unit_test(test_equal_programs),
                                     cmocka_unit_test(test_shares),
                                     cmocka_unit_test(test_stops),
                                     cmocka_unit_test(test_errors),
                                     cmocka_unit_test(test_one_fails),
                                     cmocka_unit_test(test_frozen_tasks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
