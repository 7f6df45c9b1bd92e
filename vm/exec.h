/* SPDX-License-Identifier: Apache-2.0
 * What the files of the machine share among themselves. */
#ifndef VM_EXEC_H
#define VM_EXEC_H

#include "vm/vm.h"

extern const sch_prim sch_prim_enter_postproc;
extern const sch_prim sch_prim_guard;

/* How the decision of one instruction comes about. */
typedef enum vm_how { VM_DRAW, VM_EXACT, VM_MEND, VM_NEIGHBOUR } vm_how;
typedef struct vm_pick {
  vm_how how;
  uint64_t seed;           /* VM_DRAW */
  uint32_t n;              /* the others: the decision to start from */
  const int64_t *d;
  rng *random;             /* VM_NEIGHBOUR */
} vm_pick;

/* Resolves the operands of `in` into m->args and, if it samples, its
 * decision into m->dec; false after setting m->fail. */
bool vm_resolve(vm_machine *m, const vm_trace *t, const vm_inst *in);
bool vm_decide(vm_machine *m, const vm_inst *in, const vm_pick *pick);
/* Then the primitive itself. */
bool vm_apply(vm_machine *m, const vm_inst *in);
/* How many outputs the last application gave, and into which cells. */
uint32_t vm_count_outputs(const vm_machine *m, const sch_prim *p);
void vm_bind_outputs(vm_machine *m, const sch_prim *p, vm_rv first);

/* Makes the machine ready for `t`: a copy of base, cells for its variables. */
void vm_start(vm_machine *m, const ir_program *base, const vm_trace *t);
/* Instruction k (from 0) with that pick; its outputs are bound and its
 * decision appended to *made (may be NULL). */
bool vm_step(vm_machine *m, const vm_trace *t, uint32_t k,
             const vm_pick *pick, const vm_replay_opts *o,
             vm_decisions *made);
/* Instructions from .. to - 1. */
bool vm_run(vm_machine *m, const vm_trace *t, uint32_t from, uint32_t to,
            const vm_replay_opts *o, vm_cursor *given, vm_decisions *made);

/* How many IN and ATTR operands an instruction keeps. */
uint32_t vm_count_slots(const sch_prim *p);
/* Appends a call that is known to be right; map (may be NULL) renames its
 * variables. */
void vm_append_raw(vm_trace *t, const vm_call *c, uint32_t nout,
                   const vm_rv *map);
/* The last instruction, which has none yet, gets its outputs. */
void vm_add_outputs(vm_trace *t, uint32_t nout);
/* Checks one operand against its spec, in a trace that holds the
 * variables; false: *why tells. */
bool vm_check_operand(const vm_trace *t, const vm_call *c, uint32_t spec,
                      vm_failure *why);
bool vm_check_call(const vm_trace *t, const vm_call *c, vm_failure *why);
/* Whether the value says the same as leaving it out. */
bool vm_is_default(const vm_trace *pool, const sch_spec *sp, vm_value v);

/* Where a trace's tables end, to go back to. */
typedef struct vm_mark {
  uint32_t inst, val, dec, rv, text;
} vm_mark;
vm_mark vm_get_mark(const vm_trace *t);
void vm_reset_to(vm_trace *t, vm_mark k);

#endif
