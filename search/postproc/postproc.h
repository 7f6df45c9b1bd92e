/* SPDX-License-Identifier: Apache-2.0
 * The postprocessors that are primitives, at the end of a sketch: which a
 * target has, and appending them. */
#ifndef SEARCH_POSTPROC_POSTPROC_H
#define SEARCH_POSTPROC_POSTPROC_H

#include "vm/object.h"

/* The default ones of a target, for sketches of modules: those of MetaSchedule
 * for its kind, with the target's limits.  Loops of variable extent are
 * disallowed unless the program has some as it is given.  May unwind. */
void postproc_default(vm_trace *out, tess_target *t, const ir_program *p);
/* Appends them, behind enter_postproc, unless there are some.  May unwind. */
void postproc_append(vm_trace *t, const vm_trace *postprocs);
/* Cuts off what a host's postprocessors did, which they do anew. */
void postproc_cut(vm_trace *t);
/* The first instruction, from 0, that is no postprocessor; inst.n: none. */
uint32_t postproc_misfit(const vm_trace *t);

#endif
