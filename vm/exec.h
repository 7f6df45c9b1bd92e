/* SPDX-License-Identifier: Apache-2.0
 * Internals of the trace machine, shared by its files. */
#ifndef VM_EXEC_H
#define VM_EXEC_H

#include "vm/vm.h"

extern const sch_prim sch_prim_enter_postproc;
extern const sch_prim sch_prim_guard, sch_prim_guard_same, sch_prim_knob;

/* How the decision of one instruction is made. */
typedef enum vm_how {
  VM_DRAW, VM_EXACT, VM_MEND, VM_NEIGHBOUR, VM_NUMBERED
} vm_how;
typedef struct vm_pick {
  vm_how how;
  uint64_t seed;           /* VM_DRAW */
  uint32_t n;              /* the others: the decision to start from */
  const int64_t *d;
  rng *random;             /* VM_NEIGHBOUR */
  uint64_t number;         /* VM_NUMBERED: which, in the space's own order; */
  uint64_t *count;         /*   gets how many there are */
} vm_pick;

/* Resolves the operands of `in` into m->args and, if it samples, its
 * decision into m->dec; false after setting m->fail. */
bool vm_resolve(vm_machine *m, const vm_trace *t, const vm_inst *in);
bool vm_decide(vm_machine *m, const vm_inst *in, const vm_pick *pick);
/* Calls the primitive with the resolved operands. */
bool vm_apply(vm_machine *m, const vm_inst *in);
/* Of a checked build: is the program well-formed after a call of `after`?
 * false after setting m->fail. */
bool vm_verify_program(vm_machine *m, const sch_prim *after);
/* The number of outputs of the last application; binds them to cells. */
uint32_t vm_count_outputs(const vm_machine *m, const sch_prim *p);
void vm_bind_outputs(vm_machine *m, const sch_prim *p, vm_rv first);

/* Makes the machine ready for `t`: a copy of base, cells for its variables. */
void vm_start(vm_machine *m, const ir_program *base, const vm_trace *t);
/* Executes instruction k (from 0) with that pick; binds its outputs and appends
 * its decision to *made (may be NULL). */
bool vm_step(vm_machine *m, const vm_trace *t, uint32_t k,
             const vm_pick *pick, const vm_replay_opts *o,
             vm_decisions *made);
/* Instructions from .. to - 1; a checked build verifies the program then, not
 * after each, since searches run thousands. */
bool vm_run(vm_machine *m, const vm_trace *t, uint32_t from, uint32_t to,
            const vm_replay_opts *o, vm_cursor *given, vm_decisions *made);

/* The number of IN and ATTR operands that an instruction stores. */
uint32_t vm_count_slots(const sch_prim *p);
/* Appends a checked call; map (may be NULL) renames its variables. */
void vm_append_raw(vm_trace *t, const vm_call *c, uint32_t nout,
                   const vm_rv *map);
/* Adds the output variables of the last instruction. */
void vm_add_outputs(vm_trace *t, uint32_t nout);
/* Checks one operand against its spec, in a trace that holds the variables;
 * false: *why says why. */
bool vm_check_operand(const vm_trace *t, const vm_call *c, uint32_t spec,
                      vm_failure *why);
bool vm_check_call(const vm_trace *t, const vm_call *c, vm_failure *why);
/* Does the value equal the operand's default? */
bool vm_is_default(const vm_trace *pool, const sch_spec *sp, vm_value v);

/* The ends of a trace's tables, for rollback. */
typedef struct vm_mark {
  uint32_t inst, val, dec, rv, text;
} vm_mark;
vm_mark vm_get_mark(const vm_trace *t);
void vm_reset_to(vm_trace *t, vm_mark k);

#endif
