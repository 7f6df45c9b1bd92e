/* SPDX-License-Identifier: Apache-2.0
 * Shared by the files of this layer's public API. */
#ifndef VM_API_H
#define VM_API_H

#include "vm/object.h"

/* Reports a machine's failure as the context's last error: the sentence, the
 * primitive, the reason, the instruction's place.  Returns `st`. */
tess_status api_blame(tess_context *c, tess_status st, const vm_machine *m,
                      const vm_trace *t);
/* The same for a recorded failure: its text, NULL where there is none, and its
 * reason.  false: only `st` is known, and ctx_run() reports what was being
 * done. */
bool api_say(tess_context *c, tess_status st, const vm_failure *f,
             const char *text, const char *reason);
/* Converts operands given by name to those of `prim`, in `pool`; may unwind. 
 * On a failure the context's error says why. */
tess_status api_operands(tess_context *c, const sch_prim *prim,
                         uint32_t nargs, const tess_arg *args,
                         vm_trace *pool, vm_value *operand);
/* A value as the public header has it, in the arena; unwinds. */
tess_value api_value(const vm_trace *t, vm_value v, arena *a);
/* The same with its variables bound in `cell`. */
tess_value api_decided(const vm_trace *t, vm_value v, const vm_cell *cell,
                       arena *a);
/* Writes through `put` into text for the caller; unwinds. */
char *api_text(tess_context *c, void (*put)(strbuf *out, void *ud), void *ud);
/* An empty schedule object whose `s` is still to be initialised; unwinds. */
tess_schedule *api_schedule(tess_context *c, tess_program *p);
/* Frees it, its `s` not being initialised. */
void api_drop_schedule(tess_schedule *s);

#endif
