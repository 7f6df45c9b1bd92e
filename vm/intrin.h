/* SPDX-License-Identifier: Apache-2.0
 * The tensor intrinsics that a context knows.  A program that a trace
 * tensorizes gets those it names as functions of its own (see
 * schedule/rewrite/intrin.h), so that it can be replayed anywhere. */
#ifndef VM_INTRIN_H
#define VM_INTRIN_H

#include "base/context.h"
#include "vm/vm.h"

/* Enters one: two programs with the same parameters.  Another one of a name
 * that is known is INVALID, unless it may override that: it then takes the
 * place of the old one, for programs that have not used it. */
tess_status vm_intrin_add(tess_context *c, const char *name,
                          const ir_program *desc, const ir_program *impl,
                          bool override);
/* One that is done by a call (ir/tensor_call.h), and means what `desc`
 * does. */
tess_status vm_intrin_add_call(tess_context *c, const char *name,
                               const ir_program *desc, const char *call,
                               bool override);
/* The program gets the intrinsic of that name, if there is one; unwinds. */
void vm_intrin_need(tess_context *c, ir_program *p, const char *name);
/* It gets those that another program knows and it does not; unwinds. */
void vm_intrin_adopt(tess_context *c, ir_program *p, const ir_program *from);
/* It gets those that a call names; or a trace, whose own program (NULL: it is
 * bound to none) is asked before the context. */
void vm_intrin_need_trace(tess_context *c, ir_program *p, const vm_trace *t,
                          const ir_program *own);
void vm_intrin_need_call(tess_context *c, ir_program *p, const vm_call *call);

#endif
