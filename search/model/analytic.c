/* SPDX-License-Identifier: Apache-2.0
 * The model "analytic": the cycles that a program takes, by what each store
 * computes, loads and fetches (the features "traffic").  It is taught nothing,
 * and knows as much before the first trial as after the last.  Its constants
 * were chosen so that programs that were measured stand in the order of their
 * times (bench/analytic.c). */
#include "search/model/analytic.h"

#include <math.h>
#include <stdio.h>

static const feature_kind KIND = FEATURE_TRAFFIC;

const analytic_costs analytic_usual = {
#define ANALYTIC_VALUE(name, value) .name = value,
    ANALYTIC_COSTS(ANALYTIC_VALUE)
#undef ANALYTIC_VALUE
};

/* What a cost is asked for. */
typedef struct scene {
  const analytic_costs *v;
  const struct columns *c;
  const model_machine *m;
} scene;

/* Columns that it looks at, all log2(1 + x). */
enum { CACHES = 3 };
typedef struct columns {
  uint32_t lanes, pieces, sums, kept_wide, kept_one, again, rolled;
  uint32_t wide, one, apart, stored, lines, cache[CACHES];
} columns;

static uint32_t column_of(const char *name) {
  const feature_maker *f = feature_of(KIND);
  char text[FEATURE_NAME];
  uint32_t k = 0;
  for (; k < f->width; k++) {
    f->name_of(k, text);
    if (!strcmp(text, name)) break;
  }
  return k;
}

/* The cache of a power of two of kilobytes that is no larger. */
static uint32_t column_of_cache(double bytes) {
  uint32_t least = column_of("lines.4K"), most = column_of("lines") - 1;
  double above = floor(log2(fmax(bytes, 4096) / 4096));
  return above > most - least ? most : least + (uint32_t)above;
}

static tess_status analytic_fit(const model_data *d, model_fit *f) {
  columns *c = arena_new(&f->a, columns);
  (void)d;
  *c = (columns){.lanes = column_of("lanes"),
                 .pieces = column_of("pieces"),
                 .sums = column_of("sums"),
                 .kept_wide = column_of("kept.wide"),
                 .kept_one = column_of("kept.one"),
                 .again = column_of("sums.again"),
                 .rolled = column_of("rolled"),
                 .wide = column_of("loads.wide"),
                 .one = column_of("loads.one"),
                 .apart = column_of("loads.apart"),
                 .stored = column_of("stores"),
                 .lines = column_of("lines")};
  for (uint32_t k = 0; k < CACHES; k++)
    c->cache[k] = column_of_cache(f->machine.cache[k]);
  f->state = c;
  return TESS_OK;
}

static double linear(float x) { return exp2(x) - 1; }

/* Lanes that are used: what is no power of two is loaded and stored in parts,
 * and taken apart where it is longer than a register. */
static double used_lanes(double length, const model_machine *m) {
  double power = exp2(floor(log2(fmax(1, length)) + 1e-6));
  if (length < power + 0.5) return fmin(m->lanes, power);
  return length > m->lanes ? 1 : length / 2;
}

/* By how much operations are slower than they could be: sums that are more than
 * the registers hold, beside operands of which one may be in memory, are loaded
 * and stored by each, and few wait for each other. */
static double slowness(const scene *of, const float *row) {
  const columns *c = of->c;
  const model_machine *m = of->m;
  double lanes = fmin(m->lanes, fmax(1, linear(row[c->lanes])));
  double sums = linear(row[c->sums]) / lanes;
  double kept = linear(row[c->kept_wide]) / lanes + linear(row[c->kept_one]);
  if (sums == 0) return 1;
  if (row[c->rolled] > 0 || sums + kept - 1 > m->registers)
    return of->v->spilled;
  return fmax(1, of->v->under_way / fmax(1, sums));
}

static double operations(const analytic_costs *v, const float *row) {
  const double cycles[NEST_OPS] = {
      [NEST_MAD] = 1,
      [NEST_ADD] = 1,
      [NEST_MUL] = 1,
      [NEST_DIV] = v->division,
      [NEST_CMP] = 1,
      [NEST_MATH] = v->function,
      [NEST_CALL] = v->function,
      [NEST_INT_MAD] = 1,
      [NEST_INT_ADD] = 1,
      [NEST_INT_MUL] = 1,
      [NEST_INT_DIV] = v->function,
      [NEST_INT_MATH] = v->function,
      [NEST_INT_CALL] = v->function,
      [NEST_INT_CMP] = v->logic,
      [NEST_BOOL] = v->logic,
      [NEST_SELECT] = v->logic,
  };
  double sum = 0;
  for (uint32_t k = 0; k < NEST_OPS; k++) sum += linear(row[k]) * cycles[k];
  return sum;
}

/* Vectors that registers load and store: sums at the begin and the end of the
 * loop that adds to them wait for each other. */
static double moves(const scene *of, const float *row, double lanes) {
  const analytic_costs *v = of->v;
  const columns *c = of->c;
  double sides = v->wide * linear(row[c->wide]) +
                 v->stored * linear(row[c->stored]) +
                 v->again * linear(row[c->again]);
  return sides / lanes + v->one * linear(row[c->one]) +
         v->apart * linear(row[c->apart]);
}

/* Cache lines that come from the second cache, the third, and memory; and all
 * of them once from there. */
static double fetches(const scene *of, const float *row) {
  const analytic_costs *v = of->v;
  const columns *c = of->c;
  return v->once * linear(row[c->lines]) +
         v->second * linear(row[c->cache[0]]) +
         v->third * linear(row[c->cache[1]]) +
         v->memory * linear(row[c->cache[2]]);
}

/* What the slowest thread has of it: pieces come out even, but for a part of
 * one that others cost it. */
static double share(double pieces, double threads, double disturbed) {
  if (threads <= 1) return 1;
  return fmin(1, (ceil(pieces / threads) + disturbed) / pieces);
}

/* Operations and moves go on at once, but for a part. */
static double cost_of_store(const scene *of, const float *row) {
  double lanes = used_lanes(linear(row[of->c->lanes]), of->m);
  double ops = operations(of->v, row) / lanes, moved = moves(of, row, lanes);
  double cycles =
      fmax(ops * slowness(of, row), moved) + of->v->both * fmin(ops, moved);
  double pieces = fmax(1, linear(row[of->c->pieces]));
  return (cycles + fetches(of, row)) *
         share(pieces, of->m->threads, of->v->disturbed);
}

/* It only ranks: how long a cycle takes is not known.  What has no rows does
 * not replay. */
void analytic_score_by(const analytic_costs *v, const model_fit *f, uint32_t n,
                       const search_rows *rows, double *mean) {
  static const double forever = 1e18;
  const search_rows *r = &rows[KIND];
  const scene of = {v, f->state, &f->machine};
  for (uint32_t i = 0; i < n; i++) {
    double sum = 0;
    for (uint32_t k = r->first[i]; k < r->first[i + 1]; k++)
      sum += cost_of_store(&of, r->v + (size_t)k * r->width);
    mean[i] = -log2(r->first[i] < r->first[i + 1] ? 1 + sum : forever);
  }
}

static tess_status analytic_score(const model_fit *f, uint32_t n,
                                  const search_rows *rows, double *mean,
                                  double *sd) {
  analytic_score_by(&analytic_usual, f, n, rows, mean);
  for (uint32_t i = 0; sd && i < n; i++) sd[i] = 0;
  return TESS_OK;
}

const learner learner_analytic = {.name = "analytic",
                                  .kinds = 1u << FEATURE_TRAFFIC,
                                  .untaught = true,
                                  .fit = analytic_fit,
                                  .score = analytic_score};
