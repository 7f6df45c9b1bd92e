/* SPDX-License-Identifier: Apache-2.0
 * Texts about many tasks for people: shapes, the live table, the line below
 * it. */
#include "search/tasks/tasks.h"

#include <math.h>
#include <stdio.h>

enum { TABLE_ROWS = 24, NAME_WIDTH = 18, SHAPE_WIDTH = 34 };

/* ---- shapes ------------------------------------------------------------- */

static void write_shape(const tess_param *p, strbuf *out) {
  char dtype[32];
  tess_dtype_text(p->dtype, dtype);
  if (strcmp(dtype, "float32")) str_printf(out, "%s:", dtype);
  for (uint32_t k = 0; k < p->ndim; k++)
    if (p->shape[k] < 0)
      str_printf(out, "%s?", k ? "x" : "");
    else
      str_printf(out, "%s%lld", k ? "x" : "", (long long)p->shape[k]);
  if (!p->ndim) str_putc(out, '1');
}

tess_status task_write_shapes(tess_program *p, strbuf *out) {
  bool arrow = false;
  for (uint32_t i = 0; i < tess_program_nparams(p); i++) {
    tess_param param = TESS_INIT(tess_param);
    tess_status s = tess_program_param(p, i, &param);
    if (s != TESS_OK) return s;
    bool is_out = param.role == TESS_ROLE_OUTPUT;
    if (i) str_putc(out, ' ');
    if (is_out && !arrow) str_puts(out, "-> ");
    arrow |= is_out;
    write_shape(&param, out);
  }
  return str_status(out);
}

/* ---- names -------------------------------------------------------------- */

static bool has_namesake(const task_run *r) {
  const task_set *s = r->set;
  for (uint32_t i = 0; i < s->n; i++)
    if (&s->run[i] != r && !strcmp(s->run[i].name, r->name)) return true;
  return false;
}

void task_write_name(const task_run *r, strbuf *out) {
  const char *shapes = str_get(&r->shapes);
  if (has_namesake(r))
    str_printf(out, "task %u '%s' (%s)", (uint32_t)(r - r->set->run) + 1,
               r->name, shapes ? shapes : "");
  else
    str_puts(out, r->name);
}

/* ---- states ------------------------------------------------------------- */

double task_gain(const task_run *r, uint32_t window) {
  uint32_t n = r->round.n;
  if (n < 2) return NAN;
  uint32_t first = n - 1 > window ? n - 1 - window : 0;
  const task_round *a = &r->round.v[first], *b = &r->round.v[n - 1];
  double seconds = b->active - a->active;
  if (!isfinite(a->best) || !(seconds > 0)) return NAN;
  return r->weight * (a->best - b->best) / seconds * 60;
}

static tess_status make_states(void *ud) {
  task_set *s = ud;
  vec_clear(&s->state);
  for (uint32_t i = 0; i < s->n; i++) {
    const task_run *r = &s->run[i];
    double best = r->t.best.seconds;
    tess_task_state x = {.struct_size = sizeof x,
                         .entries = r->entries,
                         .name = r->name,
                         .shapes = str_get(&r->shapes),
                         .weight = r->weight,
                         .trials = r->t.budget.trials,
                         .failed = r->t.budget.failed,
                         .best_seconds = best > 0 ? best : INFINITY,
                         .gflops = tune_gflops(&r->t, best),
                         .gain = task_gain(r, s->o.window_size),
                         .seconds = r->t.time.ledger.active +
                                    r->t.time.ledger.sketches,
                         .live = r->live};
    vec_push(&s->c->heap, &s->state, x);
  }
  return TESS_OK;
}

void tasks_states(task_set *s) {
  if (mem_protect(&s->c->heap, make_states, s) != TESS_OK) vec_clear(&s->state);
}

/* ---- the table ---------------------------------------------------------- */

/* A text in a column, cut where it is too long. */
static void put_cell(strbuf *out, const char *text, int width) {
  int n = (int)strlen(text);
  if (n <= width)
    str_printf(out, "%-*s", width, text);
  else
    str_printf(out, "%.*s..", width - 2, text);
}

static void put_row(const tess_task_state *x, uint32_t i, bool current,
                    strbuf *out) {
  str_printf(out, "%c%3u  ", current ? '>' : ' ', i + 1);
  put_cell(out, x->name, NAME_WIDTH);
  str_puts(out, "  ");
  put_cell(out, x->shapes ? x->shapes : "", SHAPE_WIDTH);
  str_printf(out, "  %6.4g", x->weight);
  if (isfinite(x->best_seconds))
    str_printf(out, "  %9.4g", x->best_seconds * 1e3);
  else
    str_puts(out, "          -");
  if (x->gflops > 0)
    str_printf(out, "  %8.1f", x->gflops);
  else
    str_puts(out, "         -");
  str_printf(out, "  %7u  %6u", x->trials, x->failed);
  if (isnan(x->gain))
    str_puts(out, "         -\n");
  else
    str_printf(out, "  %8.3g\n", x->gain * 1e3);
}

void tasks_table(const task_set *s, const tess_tasks_progress *p, strbuf *out) {
  uint32_t n = s->state.n < TABLE_ROWS ? s->state.n : TABLE_ROWS;
  str_printf(out, "   #  %-*s  %-*s  %6s  %9s  %8s  %7s  %6s  %8s\n",
             NAME_WIDTH, "task", SHAPE_WIDTH, "shape", "weight", "best ms",
             "GFLOP/s", "trials", "failed", "gain/min");
  for (uint32_t i = 0; i < n; i++)
    put_row(&s->state.v[i], i, p && p->current == i, out);
  if (n < s->state.n) str_printf(out, "      and %u more\n", s->state.n - n);
}

void tasks_line(const task_set *s, const tess_tasks_progress *p, strbuf *out) {
  str_printf(out, "trial %u", p->trials);
  if (p->max_trials) str_printf(out, "/%u", p->max_trials);
  if (isfinite(p->latency))
    str_printf(out, "  weighted sum %.4g ms", p->latency * 1e3);
  else
    str_puts(out, "  not all tasks have a valid candidate yet");
  if (p->current < s->n)
    str_printf(out, "  at %u %s", p->current + 1, s->run[p->current].name);
  if (p->trial && p->trial->compiling)
    str_printf(out, "  compiling %u/%u", p->trial->compiled,
               p->trial->compiling);
  if (!isfinite(p->eta) || (p->max_trials && p->trials >= p->max_trials))
    return;
  str_puts(out, "  ETA ");
  tune_print_clock(p->eta, out);
}
