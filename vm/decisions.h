/* SPDX-License-Identifier: Apache-2.0
 * What the decisions of a trace are about, in words, and the values that it
 * names. */
#ifndef VM_DECISIONS_H
#define VM_DECISIONS_H

#include "vm/vm.h"

/* One sampling instruction. */
typedef struct vm_label {
  uint32_t inst;           /* which instruction, from 0 */
  const char *knob;        /* the name that it was given; "": none */
  const char *what;        /* "tiles of i of C", "unroll steps of root" */
  uint32_t n;              /* numbers of its decision */
  const char *const *part; /* what each is: "i of C, tile 1" */
} vm_label;

/* A label for each sampling instruction, in *out, of the arena `to`; returns
 * their number.  It replays the trace over a copy of `base` as far as that goes
 * (NULL: not at all); what that does not reach is labelled by the instruction
 * alone.  May unwind, over `text` as well, which is scratch. */
uint32_t vm_label_decisions(vm_machine *m, const ir_program *base,
                            const vm_trace *t, arena *to, strbuf *text,
                            vm_label **out);

/* The value of an integer variable, as the decisions of the trace say; false:
 * its decision is open. */
bool vm_decided_value(const vm_trace *t, vm_rv rv, int64_t *out);
/* The same of a value that may contain variables: they are bound in `cell`,
 * which has rv.n elements.  false: a decision is open. */
bool vm_decided_cells(const vm_trace *t, vm_value v, vm_cell *cell);

#endif
