/* SPDX-License-Identifier: Apache-2.0
 * Shared by the benches: options, the clock, JSON lines on stdout for tools,
 * messages on stderr for people. */
#ifndef BENCH_SUPPORT_H
#define BENCH_SUPPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct bench_options {
  bool quick;           /* --quick: a run of seconds */
  uint32_t threads;     /* --threads N; 0: as many as there are CPUs */
} bench_options;

/* For a bench that takes just these; --help and mistakes end the program. */
bench_options bench_parse(int argc, char **argv, const char *what);

/* Prints {"figure": .., "value": .., "unit": .., further members} as one
 * line and flushes.  Takes `further`, an object or NULL. */
void bench_figure(const char *figure, double value, const char *unit,
                  json_t *further);
/* A line on stderr. */
void bench_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Takes the variables away that OpenBLAS, oneDNN and the like would read, and
 * says which; before they are loaded.  Then, what was set for them. */
void bench_clear_peers(void);
void bench_tell_peers(void);

/* Seconds on the steady clock. */
double bench_now(void);
/* The median; sorts the values. */
double bench_median(double *values, uint32_t n);
/* Of n > 0 values, which it sorts. */
typedef struct bench_summary {
  double min, median, mean, p90, max;
} bench_summary;
bench_summary bench_summarize(double *values, uint32_t n);
/* For free(), aligned to cache lines; if large of huge pages, as are Tessera's
 * tensors, so that nobody is compared by the pages of his operands.  Ends the
 * program where there is no memory. */
void *bench_alloc(size_t bytes);
/* Bind the calling thread to the i-th CPU that the process was given. */
void bench_pin(uint32_t i);

#endif
