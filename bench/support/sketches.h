/* SPDX-License-Identifier: Apache-2.0
 * Sketches of the Lua modules for benches in C: written by bench/sketches.lua,
 * which the command beside the bench runs, then loaded. */
#ifndef BENCH_SUPPORT_SKETCHES_H
#define BENCH_SUPPORT_SKETCHES_H

#include "vm/object.h"

typedef struct sketches {
  tess_context *c;
  tess_program *p;
  tess_trace *sketch[16];
  uint32_t n;
  double seconds;            /* that writing them took */
} sketches;

/* space: "tiling" (the three of the tiling module) or "default".  Ends the
 * program with a message when it cannot. */
void sketches_load(sketches *s, const char *source_dir, const char *space,
                   int n);
/* The same of a workload by its name (bench/sketches.lua). */
void sketches_load_named(sketches *s, const char *source_dir,
                         const char *space, const char *workload);
void sketches_free(sketches *s);

#endif
