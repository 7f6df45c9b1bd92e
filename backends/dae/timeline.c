/* SPDX-License-Identifier: Apache-2.0
 * Pictures of a simulation: which unit is busy when. */
#include "backends/dae/sim.h"
#include <string.h>

enum { COLUMNS = 72 };

/* Cycles of column c in which the unit executes. */
static uint64_t share_of(const dae_stream *s, const dae_times *t, int unit,
                         uint64_t from, uint64_t to) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < s->insn.n; i++) {
    if ((int)dae_unit_of(&s->insn.v[i]) != unit || t->end[i] == UINT64_MAX)
      continue;
    uint64_t a = t->start[i] > from ? t->start[i] : from;
    uint64_t b = t->end[i] < to ? t->end[i] : to;
    if (b > a) sum += b - a;
  }
  return sum;
}

static void print_row(const dae_stream *s, const dae_times *t, int unit,
                      strbuf *out) {
  static const char shade[] = " .:-=+*#";
  str_printf(out, "%8s |", dae_unit_name((uint32_t)unit));
  for (uint64_t c = 0; c < COLUMNS; c++) {
    uint64_t from = c * t->cycles / COLUMNS, to = (c + 1) * t->cycles / COLUMNS;
    uint64_t busy = to > from ? share_of(s, t, unit, from, to) : 0;
    uint64_t level = to > from ? busy * 7 / (to - from) : 0;
    str_putc(out, shade[busy && !level ? 1 : level]);
  }
  str_printf(out, "| %5.1f %%\n",
             t->cycles ? 100.0 * (double)t->busy[unit] / (double)t->cycles
                       : 0.0);
}

void dae_print_timeline(const dae_machine *m, const dae_stream *s,
                        const dae_times *t, strbuf *out) {
  double cycles = t->cycles ? (double)t->cycles : 1;
  for (int u = 0; u < DAE_NUNITS; u++) print_row(s, t, u, out);
  str_printf(out,
             "%llu cycles, %.3f ms; matrix unit %.1f %%, memory %.1f %% busy, "
             "%llu bytes\n",
             (unsigned long long)t->cycles,
             (double)t->cycles / (1000.0 * (double)m->clock),
             100.0 * (double)t->products * (double)m->gemm_interval / cycles,
             100.0 * (double)t->bus / cycles, (unsigned long long)t->bytes);
}

void dae_print_events(const dae_machine *m, const dae_stream *s,
                      const dae_times *t, strbuf *out) {
  double us = 1.0 / (double)m->clock;
  str_puts(out, "{\"traceEvents\":[");
  for (int u = 0; u < DAE_NUNITS; u++)
    str_printf(out,
               "%s\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,"
               "\"tid\":%d,\"args\":{\"name\":\"%s\"}}",
               u ? "," : "", u, dae_unit_name((uint32_t)u));
  for (uint32_t i = 0; i < s->insn.n; i++) {
    if (t->end[i] == UINT64_MAX) continue;
    str_puts(out, ",\n{\"name\":\"");
    dae_print_insn(m, &s->insn.v[i], out);
    str_printf(out,
               "\",\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f}",
               (int)dae_unit_of(&s->insn.v[i]), (double)t->start[i] * us,
               (double)(t->end[i] - t->start[i]) * us);
  }
  str_puts(out, "]}\n");
}
