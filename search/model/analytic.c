/* SPDX-License-Identifier: Apache-2.0
 * The model "analytic": the cycles that a program takes, by what each store
 * computes, loads and fetches (the features "traffic").  It is taught nothing,
 * and knows as much before the first trial as after the last.  Its constants
 * were chosen so that programs that were measured, of bench/models.c and of the
 * layers of four nets, stand in the order of their times. */
#include "search/model/model.h"

#include <math.h>
#include <stdio.h>

static const feature_kind KIND = FEATURE_TRAFFIC;

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
static double slowness(const columns *c, const float *row,
                       const model_machine *m) {
  static const double spilled = 3, under_way = 8;
  double lanes = fmin(m->lanes, fmax(1, linear(row[c->lanes])));
  double sums = linear(row[c->sums]) / lanes;
  double kept = linear(row[c->kept_wide]) / lanes + linear(row[c->kept_one]);
  if (sums == 0) return 1;
  if (row[c->rolled] > 0 || sums + kept - 1 > m->registers) return spilled;
  return fmax(1, under_way / fmax(1, sums));
}

static double operations(const float *row) {
  static const double cycles[NEST_OPS] = {
      [NEST_MAD] = 1,     [NEST_ADD] = 1,       [NEST_MUL] = 1,
      [NEST_DIV] = 4,     [NEST_CMP] = 1,       [NEST_MATH] = 20,
      [NEST_CALL] = 20,   [NEST_INT_CMP] = 0.3, [NEST_BOOL] = 0.3,
      [NEST_SELECT] = 0.3};
  double sum = 0;
  for (uint32_t k = 0; k < NEST_OPS; k++) sum += linear(row[k]) * cycles[k];
  return sum;
}

/* Vectors that registers load and store: sums at the begin and the end of the
 * loop that adds to them wait for each other. */
static double moves(const columns *c, const float *row, double lanes) {
  static const double wide = 0.5, one = 0.5, apart = 1.5, stored = 6, again = 6;
  double sides = wide * linear(row[c->wide]) + stored * linear(row[c->stored]) +
                 again * linear(row[c->again]);
  return sides / lanes + one * linear(row[c->one]) +
         apart * linear(row[c->apart]);
}

/* Cache lines that come from the second cache, the third, and memory; and all
 * of them once from there. */
static double fetches(const columns *c, const float *row) {
  static const double cycles[CACHES] = {0.4, 1, 1}, once = 1;
  double sum = once * linear(row[c->lines]);
  for (uint32_t k = 0; k < CACHES; k++)
    sum += cycles[k] * linear(row[c->cache[k]]);
  return sum;
}

/* What the slowest thread has of it: pieces come out even, but for a part of
 * one that others cost it. */
static double share(double pieces, double threads) {
  static const double disturbed = 0.25;
  if (threads <= 1) return 1;
  return fmin(1, (ceil(pieces / threads) + disturbed) / pieces);
}

/* Operations and moves go on at once, but for a part. */
static double cost_of_store(const columns *c, const float *row,
                            const model_machine *m) {
  static const double apart = 0.3;
  double lanes = used_lanes(linear(row[c->lanes]), m);
  double ops = operations(row) / lanes, moved = moves(c, row, lanes);
  double cycles =
      fmax(ops * slowness(c, row, m), moved) + apart * fmin(ops, moved);
  double pieces = fmax(1, linear(row[c->pieces]));
  return (cycles + fetches(c, row)) * share(pieces, m->threads);
}

/* It only ranks: how long a cycle takes is not known.  What has no rows does
 * not replay. */
static tess_status analytic_score(const model_fit *f, uint32_t n,
                                  const search_rows *rows, double *mean,
                                  double *sd) {
  static const double forever = 1e18;
  const search_rows *r = &rows[KIND];
  for (uint32_t i = 0; i < n; i++) {
    double sum = 0;
    for (uint32_t k = r->first[i]; k < r->first[i + 1]; k++)
      sum += cost_of_store(f->state, r->v + (size_t)k * r->width, &f->machine);
    mean[i] = -log2(r->first[i] < r->first[i + 1] ? 1 + sum : forever);
    if (sd) sd[i] = 0;
  }
  return TESS_OK;
}

const learner learner_analytic = {.name = "analytic",
                                  .kinds = 1u << FEATURE_TRAFFIC,
                                  .untaught = true,
                                  .fit = analytic_fit,
                                  .score = analytic_score};
