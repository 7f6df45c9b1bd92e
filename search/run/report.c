/* SPDX-License-Identifier: Apache-2.0
 * Texts of a tuning run for people: the ledger and the progress line. */
#include "search/run/tune.h"

#include <math.h>

static void ledger_line(strbuf *out, const char *what, double seconds,
                        double total) {
  str_printf(out, "  %9.3f s  %5.1f %%  %s\n", seconds,
             total > 0 ? 100 * seconds / total : 0, what);
}

void tune_report_ledger(const tune_ledger *l, const measure_ledger *m,
                        uint32_t trials, strbuf *out) {
  double engine = l->propose + l->model + l->database;
  double other = l->total - l->sketches - engine - l->measure - l->process;
  ledger_line(out, "writing sketches", l->sketches, l->total);
  ledger_line(out, "proposing (sampling, replay, checks)", l->propose,
              l->total);
  if (l->process > 0)
    ledger_line(out, "the process that proposes", l->process, l->total);
  ledger_line(out, "cost model", l->model, l->total);
  ledger_line(out, "database", l->database, l->total);
  if (m) {
    ledger_line(out, "compiling", m->build_wall, l->total);
    ledger_line(out, "running", m->run_wall, l->total);
    other += l->measure - m->build_wall - m->run_wall;
  } else {
    ledger_line(out, "measuring", l->measure, l->total);
  }
  ledger_line(out, "the rest", other > 0 ? other : 0, l->total);
  ledger_line(out, "in all", l->total, l->total);
  if (trials)
    str_printf(out, "  the engine's own time: %.3f ms a measured candidate\n",
               1e3 * engine / trials);
}

void tune_print_clock(double seconds, strbuf *out) {
  long s = isfinite(seconds) && seconds > 0 ? lround(seconds) : 0;
  if (s >= 3600)
    str_printf(out, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
  else
    str_printf(out, "%ld:%02ld", s / 60, s % 60);
}

void tune_progress_line(const tess_progress *p, strbuf *out) {
  str_printf(out, "trial %u/%u", p->trials, p->max_trials);
  if (isfinite(p->best_seconds) && p->best_seconds > 0)
    str_printf(out, "  best %.4g ms", p->best_seconds * 1e3);
  else
    str_puts(out, "  nothing valid yet");
  if (p->gflops > 0) str_printf(out, "  %.1f GFLOP/s", p->gflops);
  str_printf(out, "  failed %u", p->failed);
  if (p->compiling)
    str_printf(out, "  compiling %u/%u", p->compiled, p->compiling);
  if (!isfinite(p->eta) || p->trials >= p->max_trials) return;
  str_puts(out, "  ETA ");
  tune_print_clock(p->eta, out);
}
