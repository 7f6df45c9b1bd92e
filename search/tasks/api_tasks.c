/* SPDX-License-Identifier: Apache-2.0
 * The public functions of many tasks: tuning them, and what came of it. */
#include "search/tasks/tasks.h"

#include <inttypes.h>

enum { MOST_TASKS = 100000 };

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
  *out = NULL;
  ctx_clear(c);
  tess_status st = check_entries(c, n, task);
  if (st != TESS_OK) return st;
  ctx_begin_work(c);
  str_init(&s.text, &c->heap);
  str_init(&s.table, &c->heap);
  st = tasks_set_up(&s, task, target, o);
  if (st == TESS_OK) st = tasks_run(&s, task);
  tasks_end(&s, st);
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
