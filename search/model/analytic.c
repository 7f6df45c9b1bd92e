/* SPDX-License-Identifier: Apache-2.0
 * The model "analytic": what operations, loops and caches cost, from the
 * per-store features.  It is taught nothing, and knows as much before the first
 * trial as after the last.  What operations, turns and lines cost beside each
 * other was chosen so that the programs of bench/models.c stand in the order of
 * their times; what spilt registers and waiting sums add is an estimate. */
#include "search/model/model.h"

#include <math.h>
#include <stdio.h>

static const feature_kind KIND = FEATURE_PER_STORE;

/* Columns that it looks at, all log2(1 + x) or flags. */
enum { OPS = 7, BUFFERS = 5 };
typedef struct buffer_columns {
  uint32_t lines, unique, reuse, between, is_sum, again, tile;
} buffer_columns;
typedef struct columns {
  buffer_columns buffer[BUFFERS];
  uint32_t parallel, vector, turns;
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

static uint32_t column_of_buffer(uint32_t k, const char *name) {
  char text[FEATURE_NAME];
  snprintf(text, sizeof text, "buffer%u.%s", k, name);
  return column_of(text);
}

static tess_status analytic_fit(const model_data *d, model_fit *f) {
  columns *c = arena_new(&f->a, columns);
  (void)d;
  for (uint32_t k = 0; k < BUFFERS; k++)
    c->buffer[k] =
        (buffer_columns){.lines = column_of_buffer(k, "lines"),
                         .unique = column_of_buffer(k, "unique_lines"),
                         .reuse = column_of_buffer(k, "lines_per_reuse"),
                         .between = column_of_buffer(k, "reuse_bytes"),
                         .is_sum = column_of_buffer(k, "read_write"),
                         .again = column_of_buffer(k, "reuse_loop"),
                         .tile = column_of_buffer(k, "reuse_iterations")};
  c->parallel = column_of("parallel.product");
  c->vector = column_of("vectorize.length");
  c->turns = column_of("outer.product");
  f->state = c;
  return TESS_OK;
}

static double linear(float x) { return exp2(x) - 1; }

/* What accesses cost, in operations: a line from the first cache, or from
 * another where more than that holds was touched since the last time; once
 * from memory; and again for each of its reuses, of which a part misses. */
static double cost_of_buffer(const buffer_columns *c, const float *row,
                             const model_machine *m) {
  static const double near = 0.03, far = 0.6, cold = 3, again = 1;
  bool stays = linear(row[c->between]) <= m->cache / 2;
  return linear(row[c->lines]) * (stays ? near : far) +
         linear(row[c->unique]) * cold + linear(row[c->reuse]) * again;
}

/* Lanes that are used: LLVM takes apart what is no power of two. */
static double used_lanes(double length, const model_machine *m) {
  double power = exp2(floor(log2(fmax(1, length)) + 1e-6));
  return length > power + 0.5 ? 1 : fmin(m->lanes, power);
}

/* By how much operations are slower than they could be: sums of an innermost
 * tile that are more than the registers hold are loaded and stored by each, and
 * few wait for each other. */
static double slowness(const columns *c, const float *row, double lanes,
                       const model_machine *m) {
  static const double spilled = 30, under_way = 8;
  for (uint32_t k = 0; k < BUFFERS; k++) {
    const buffer_columns *b = &c->buffer[k];
    if (row[b->is_sum] == 0 || row[b->again] == 0) continue;
    double sums = fmax(1, linear(row[b->tile]) / lanes);
    return sums > m->registers - 4 ? spilled : fmax(1, under_way / sums);
  }
  return 1;
}

/* In operations of one lane: what the store computes, a little for each time
 * that its loops turn, on as many lanes as it uses, and what the slowest thread
 * has of it. */
static double cost_of_store(const columns *c, const float *row,
                            const model_machine *m) {
  static const double turn = 0.25;
  double ops = 0, lines = 0;
  double lanes = used_lanes(linear(row[c->vector]), m);
  double pieces = fmax(1, linear(row[c->parallel]));
  double rounds = ceil(pieces / m->threads);
  for (uint32_t k = 0; k < OPS; k++) ops += linear(row[k]);
  for (uint32_t k = 0; k < BUFFERS; k++)
    lines += cost_of_buffer(&c->buffer[k], row, m);
  ops = ops * slowness(c, row, lanes, m) + turn * linear(row[c->turns]);
  return (ops / lanes + lines) * rounds / pieces;
}

/* It only ranks: how long an operation takes is not known.  What has no rows
 * does not replay. */
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
                                  .kinds = 1u << FEATURE_PER_STORE,
                                  .untaught = true,
                                  .fit = analytic_fit,
                                  .score = analytic_score};
