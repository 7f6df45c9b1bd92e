/* SPDX-License-Identifier: Apache-2.0
 * The stepper: forward and backward execution of a trace on the same machine
 * that a search replays on.  Stepping back is exact: it restores a snapshot and
 * replays forward. */
#ifndef VM_STEP_H
#define VM_STEP_H

#include "vm/space.h"

/* The program and the variables' cells after `at` instructions. */
typedef struct vm_snapshot {
  uint32_t at;
  bool valid;
  ir_program prog;
  VEC(vm_cell) cell;
} vm_snapshot;

typedef struct vm_stepper {
  mem_heap *heap;
  ir_program base;
  vm_trace t;              /* its decisions are those that took effect */
  vm_machine m;            /* m.prog: the program at this stop */
  vm_snapshot before;      /* before the last instruction; at + 1 == here */
  VEC(vm_snapshot) snap;   /* every `stride` instructions */
  uint32_t stride;
  uint32_t at;             /* instructions done */
  uint64_t seed;           /* of draws where a decision is open */
  bool placed;             /* prog and before are in the state of `at` */
  strbuf why;              /* the message of the last failure */
  vm_failure fail;         /* and the failure itself */
  const char *reason;      /* "NOT_ONLY_CHILD" */
} vm_stepper;

tess_status vm_stepper_init(vm_stepper *s, mem_heap *heap,
                            const ir_program *base, const vm_trace *t,
                            uint64_t seed);
void vm_stepper_free(vm_stepper *s);
/* To the stop after n instructions.  TESS_NOT_FOUND: there are not as many. 
 * Where an instruction on the way fails, stays before it and returns its
 * status; `why` is its message. */
tess_status vm_stepper_goto(vm_stepper *s, uint32_t n);
/* For each statement of the current program: did the last instruction create,
 * change or move it?  Appends one byte each to *out. */
typedef VEC(uint8_t) vm_marks;
tess_status vm_stepper_changes(vm_stepper *s, vm_marks *out);
/* Is the statement, which both have, the same but for its place? */
bool vm_same_content(const ir_program *old, const ir_program *now, ir_stmt s);
/* What an instruction, counted from 1, did to a statement. */
typedef enum vm_effect { VM_MADE, VM_CHANGED, VM_MOVED } vm_effect;
typedef struct vm_origin {
  uint32_t line; /* of the current program, counted from 1 */
  uint32_t inst;
  vm_effect did;
} vm_origin;
typedef VEC(vm_origin) vm_origins;
/* Appends, by line, what the instructions so far did to its statement; none
 * for what was described and left as it was. */
tess_status vm_stepper_origins(vm_stepper *s, vm_origins *out);
/* The program with changed lines marked, followed by what was removed. */
tess_status vm_stepper_print(vm_stepper *s, strbuf *out);
/* The last instruction's alternatives.  TESS_NOT_FOUND: it does not sample, or
 * there is none; `why` is the message. */
tess_status vm_stepper_alternatives(vm_stepper *s, uint32_t max,
                                    vm_space *out);
/* Changes the last instruction's decision and replays the rest.  TESS_INVALID:
 * it does not fit, or nothing is sampled; nothing changed.  TESS_REFUSED and
 * the like: the change is made, and *invalid (else 0) is the first instruction
 * that no longer applies; `why` is the message. */
tess_status vm_stepper_decide(vm_stepper *s, uint32_t n, const int64_t *d,
                              uint32_t *invalid);

#endif
