/* SPDX-License-Identifier: Apache-2.0
 * Recorded search spaces: programs, their sketches, and measured candidates,
 * as bench/record.lua and bench/convergence.lua write them; gzipped
 * where their names end in .gz. */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include "search/run/tune.h"

enum { TABLE_SKETCHES = 64 };

/* One program, and the seconds of its candidates, +inf where one failed. */
typedef struct table {
  char name[32];
  tess_context *c;
  tess_program *p;
  tess_trace *sketch[TABLE_SKETCHES];
  uint32_t nsketch, n, room;
  search_cand *cand;
  double *seconds;
  double best;
  double cut_off;            /* slower ones, in times the best of the run, are
                              * ended there and fail; 0: none is */
  double ran;                /* seconds of what was asked for */
  search_memo memo;          /* of replays, over all searches */
  mem_heap heap;             /* of map and memo */
  map at;                    /* a candidate's hash -> its index */
  uint32_t missing;          /* candidates asked for that are not there */
} table;

/* Appends those of a file to list, of which there are n and may be max; gives
 * how many there are then.  Ends the program with a message when it cannot. */
uint32_t table_read(tess_context *c, const char *path, table *list, uint32_t n,
                    uint32_t max);
void table_free(table *t);
/* Gives recorded times instead of measuring; the table is borrowed. */
void table_measurer(table *t, search_measurer *out);
/* A tuning run on recorded times; `search` is "strategy" or "strategy/model",
 * o has the rest.  Ends the program with a message when it cannot. */
void table_search(table *t, const char *search, tess_tune_options o,
                  tess_result **out);

#endif
