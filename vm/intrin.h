/* SPDX-License-Identifier: Apache-2.0
 * The registry of tensor intrinsics of a context.  A program tensorized by a
 * trace gets the intrinsics that are named as functions of its own (see
 * schedule/rewrite/intrin.h), so that it can be replayed anywhere. */
#ifndef VM_INTRIN_H
#define VM_INTRIN_H

#include "base/context.h"
#include "vm/vm.h"

/* Registers one: two programs with the same parameters.  A different one under
 * a known name is INVALID, unless it may override that: it then replaces the
 * old one, for programs that have not used it. */
tess_status vm_intrin_add(tess_context *c, const char *name,
                          const ir_program *desc, const ir_program *impl,
                          bool override);
/* Registers one that is implemented by a call (ir/tensor_call.h) and has the
 * semantics of `desc`. */
tess_status vm_intrin_add_call(tess_context *c, const char *name,
                               const ir_program *desc, const char *call,
                               bool override);
/* Adds the intrinsics of another program that it lacks; unwinds. */
void vm_intrin_adopt(tess_context *c, ir_program *p, const ir_program *from);
/* Adds the intrinsics that a call, behind the trace `before`, or a trace names;
 * a trace's own program (NULL: it is bound to none) is searched before the
 * context.  Both unwind. */
void vm_intrin_need_trace(tess_context *c, ir_program *p, const vm_trace *t,
                          const ir_program *own);
void vm_intrin_need_call(tess_context *c, ir_program *p, const vm_call *call,
                         const vm_trace *before);

#endif
