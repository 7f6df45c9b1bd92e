/* SPDX-License-Identifier: Apache-2.0
 * Calling primitives in tests with little writing. */
#ifndef SUPPORT_TRACE_H
#define SUPPORT_TRACE_H

#include "vm/vm.h"

/* A call under construction: operands by name, values in s->draft. */
typedef struct test_call {
  vm_sched *s;
  const sch_prim *prim;
  vm_value operand[VM_MAX_SPECS];
} test_call;

/* Fails the test when there is no such primitive or operand. */
test_call test_begin(vm_sched *s, const char *prim);
test_call test_begin_prim(vm_sched *s, const sch_prim *prim);
void test_set(test_call *c, const char *operand, vm_value v);
void test_set_str(test_call *c, const char *operand, const char *text);
void test_set_rv(test_call *c, const char *operand, vm_rv rv);
tess_status test_end(test_call *c, vm_rv *first, uint32_t *nout);

/* Calls that must succeed. */
vm_rv test_block(vm_sched *s, const char *name);
vm_rv test_loops(vm_sched *s, vm_rv block, uint32_t *n);
/* Factors: 0 is open. */
vm_rv test_split(vm_sched *s, vm_rv loop, uint32_t n, const int64_t *factor);
/* The sentence of the last failure, in a buffer of the caller's. */
const char *test_why(const vm_sched *s, char *out, size_t n);

#endif
