/* SPDX-License-Identifier: Apache-2.0
 * The rejection funnel: counts why candidates were rejected, and prints it. */
#include "search/candidate/funnel.h"
#include "base/context.h"

#include <inttypes.h>
#include <stdlib.h>

static bool is_row(const funnel_row *r, funnel_stage stage, const char *who,
                   const char *why) {
  return r->stage == stage && !strcmp(r->who, who) && !strcmp(r->why, why);
}

static void add_row(funnel *f, mem_heap *heap, const funnel_row *from) {
  for (uint32_t i = 0; i < f->row.n; i++)
    if (is_row(&f->row.v[i], from->stage, from->who, from->why)) {
      f->row.v[i].count += from->count;
      return;
    }
  vec_push(heap, &f->row, *from);
}

void funnel_add(funnel *f, mem_heap *heap, funnel_stage stage, const char *who,
                const char *why, int64_t number) {
  add_row(f, heap, &(funnel_row){stage, who, why, 1, number});
}

void funnel_measured(funnel *f, mem_heap *heap, const char *class,
                     const char *first_message, uint64_t count) {
  vec_push(heap, &f->row,
           ((funnel_row){FUNNEL_MEASURED, class, first_message, count, 0}));
}

void funnel_take(funnel *to, mem_heap *heap, funnel *from) {
  to->sampled += from->sampled;
  to->valid += from->valid;
  to->proposed += from->proposed;
  for (uint32_t i = 0; i < from->row.n; i++) add_row(to, heap, &from->row.v[i]);
  from->sampled = from->valid = from->proposed = 0;
  vec_clear(&from->row);
}

void funnel_free(funnel *f, mem_heap *heap) { vec_free(heap, &f->row); }

static int by_count(const void *a, const void *b) {
  const funnel_row *x = a, *y = b;
  if (x->stage != y->stage) return x->stage < y->stage ? -1 : 1;
  if (x->count != y->count) return x->count > y->count ? -1 : 1;
  int who = strcmp(x->who, y->who);
  return who ? who : strcmp(x->why, y->why);
}

/* A message often starts with the name of its class, which is then printed
 * once. */
static void print_measured(const funnel_row *r, strbuf *out) {
  char why[1024];
  bool named = !strncmp(r->why, r->who, strlen(r->who));
  err_one_line(r->why, why, sizeof why);
  str_printf(out, "  %8" PRIu64 "  measured: %s%s%s\n", r->count,
             named ? "" : r->who, named || !*why ? "" : ": ", why);
}

/* What valid candidates are called: those that a host's strategy proposes may
 * be of its own making. */
static const char *source_of(const funnel *f) {
  return f->proposed ? "proposed" : "valid";
}

static void print_row(const funnel *f, const funnel_row *r, strbuf *out) {
  switch (r->stage) {
  case FUNNEL_REFUSED:
    str_printf(out, "  %8" PRIu64 "  refused by %s: %s\n", r->count, r->who,
               r->why);
    break;
  case FUNNEL_REJECTED:
    str_printf(out, "  %8" PRIu64 "  rejected by %s: %s", r->count, r->who,
               r->why);
    if (r->number) str_printf(out, " (for example %" PRId64 ")", r->number);
    str_putc(out, '\n');
    break;
  case FUNNEL_NO_NEIGHBOUR:
    str_printf(out, "  %8" PRIu64 "  have no neighbour\n", r->count);
    break;
  case FUNNEL_DUPLICATE:
    str_printf(out, "  %8" PRIu64 "  %s, but duplicates\n", r->count,
               source_of(f));
    break;
  case FUNNEL_EQUAL:
    str_printf(out, "  %8" PRIu64 "  %s, but equal to a measured program\n",
               r->count, source_of(f));
    break;
  case FUNNEL_UNFIT:
    str_printf(out, "  %8" PRIu64 "  proposed, but ", r->count);
    if (*r->who) str_printf(out, "refused by %s: ", r->who);
    str_puts(out, r->why);
    if (r->number) str_printf(out, " (for example %" PRId64 ")", r->number);
    str_puts(out, "\n");
    break;
  case FUNNEL_WASTED:
    str_printf(out, "  %8" PRIu64 "  trials lost to no candidate: %s\n",
               r->count, r->why);
    break;
  case FUNNEL_MEASURED: print_measured(r, out); break;
  }
}

/* As when a cost model chose others, or the run ended first. */
static void print_unmeasured(const funnel *f, strbuf *out) {
  uint64_t n = f->proposed ? f->proposed : f->valid;
  for (uint32_t i = 0; i < f->row.n; i++) {
    const funnel_row *r = &f->row.v[i];
    if (r->stage >= FUNNEL_DUPLICATE && r->stage != FUNNEL_WASTED)
      n -= r->count < n ? r->count : n;
  }
  if (n)
    str_printf(out, "  %8" PRIu64 "  %s, but not measured\n", n, source_of(f));
}

void funnel_print(const funnel *f, strbuf *out) {
  uint32_t i = 0;
  str_printf(out, "  %8" PRIu64 "  candidates tried\n", f->sampled);
  if (f->row.n) qsort(f->row.v, f->row.n, sizeof *f->row.v, by_count);
  for (; i < f->row.n && f->row.v[i].stage < FUNNEL_DUPLICATE; i++)
    print_row(f, &f->row.v[i], out);
  str_printf(out, "  %8" PRIu64 "  valid\n", f->valid);
  if (f->proposed)
    str_printf(out, "  %8" PRIu64 "  proposed by the strategy\n", f->proposed);
  for (; i < f->row.n; i++) print_row(f, &f->row.v[i], out);
  print_unmeasured(f, out);
}
