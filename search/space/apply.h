/* SPDX-License-Identifier: Apache-2.0
 * Applying one schedule module to one block of a schedule: the schedules that
 * it emits, and what it says of those that it does not. */
#ifndef SEARCH_SPACE_APPLY_H
#define SEARCH_SPACE_APPLY_H

#include "vm/object.h"

typedef struct space_list {
  tess_context *c;
  tess_program *program; /* that they schedule */
  VEC(tess_schedule *) s;
  VEC(uint32_t)
  done;                /* of each, the last module that was applied: its place
                        * in the sketches' list of applied ones, 0: none */
  uint32_t now;        /* the same of those that are added */
  tess_schedule *given; /* to the running module, which may emit it itself */
  tess_status failed;  /* why one could not be added: memory ran out */
  const char *refused; /* why an emitted one is invalid; NULL: none is */
  char said[512];      /* the failure that a module returned without a word */
} space_list;

void space_list_drop(space_list *l);
/* Takes ownership of s, also on failure; the `emit` of modules. */
void space_list_add(void *list, tess_schedule *s);
/* Keeps the schedule unchanged. */
tess_status space_list_add_copy(space_list *l, tess_schedule *s);

typedef struct space_outcome {
  tess_status status; /* the module's */
  char why[1024];     /* it emitted nothing, or not all; "": it did not say */
} space_outcome;

/* Applies the module to the block of s; without a name to the whole program.
 * What it emits may hang on what it draws, so where it leaves something out, or
 * a step is refused, other draws are tried, and those kept with which it emits
 * most; where none emits anything the first one's outcome counts.  Not TESS_OK:
 * memory ran out, or the module was stopped. */
tess_status space_apply(const tess_module *m, tess_schedule *s,
                        const char *block, space_list *to, space_outcome *o);

#endif
