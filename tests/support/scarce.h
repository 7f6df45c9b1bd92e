/* SPDX-License-Identifier: Apache-2.0
 * What tests of scarce memory share: a context whose allocations fail on
 * purpose, what its steps work on, and loops over each of a step's allocations
 * and over caps. */
#ifndef TESTS_SUPPORT_SCARCE_H
#define TESTS_SUPPORT_SCARCE_H

#include "base/fault.h"
#include <tessera/tessera.h>

enum { SCARCE_N = 8, SCARCE_MODULES = 3 };

typedef struct scarce {
  fault_alloc fault;
  tess_allocator memory;
  tess_context *c;
  tess_program *p;
  tess_target *target;
  tess_space *space;
  tess_trace *trace;
  tess_result *result;
  tess_kernel *kernel;
  tess_tensor *tensor[2];
  tess_database *db;
  tess_program *unlinked; /* calls a function that is nowhere */
  char path[64];
  char *text;       /* what a step made, freed after it */
  tess_status lack; /* what is said where memory is lacking */
} scarce;

/* For the block "C" the first two; the last changes nothing. */
extern const tess_module scarce_modules[SCARCE_MODULES];

/* In process, with p and target. */
void scarce_start(scarce *f);
/* Frees all that it has; nothing may be left. */
void scarce_stop(scarce *f);
void scarce_ok(const scarce *f, tess_status s);
void scarce_describe_unlinked(scarce *f);

/* Fails every `stride`-th allocation of the step, one a run: the step gives
 * TESS_NOMEM with a message, or success. */
void scarce_failures(scarce *f, const char *what, uint64_t stride,
                     tess_status (*step)(scarce *f));
/* Caps that leave the step more and more room, until it has enough: it gives
 * TESS_LIMIT with a message that says so, or success. */
void scarce_caps(scarce *f, const char *what, tess_status (*step)(scarce *f));
/* Both, of each allocation. */
void scarce_each(scarce *f, const char *what, tess_status (*step)(scarce *f));
#define SCARCE_EACH(f, step) scarce_each(f, #step, step)

#endif
