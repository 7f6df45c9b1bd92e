/* SPDX-License-Identifier: Apache-2.0
 * A schedule of a product that a trace machine records, for tests of the
 * machine. */
#ifndef SUPPORT_RECORDING_H
#define SUPPORT_RECORDING_H

#include "support/test.h"
#include "support/trace.h"
#include "vm/exec.h"

/* Of 64 x 32 x 16. */
typedef struct recording {
  test_heap mem;
  ir_program base;
  vm_sched s;
} recording;

void recording_start(recording *f);
void recording_end(recording *f);
/* Draws a divisor of a loop; `d` 0: drawn. */
vm_rv recording_draw(vm_sched *s, vm_rv loop, int64_t d);
vm_rv recording_split(vm_sched *s, vm_rv loop, vm_rv a, vm_rv b);
/* Tiles i and j of the product by drawn divisors. */
void recording_tile(vm_sched *s);
/* Hash of the printed program. */
uint64_t recording_hash(const ir_program *p, mem_heap *heap);

void recording_copy(const vm_sched *s, vm_sched *out);
/* Asserts that trace and program are the same, table by table. */
void recording_same(const vm_sched *a, const vm_sched *b);
/* Replays over the program; a refusal leaves that and the schedule
 * unchanged. */
void recording_expect_over(vm_machine *m, recording *f, const ir_program *base,
                           const vm_replay_opts *o, tess_status st, vm_why why,
                           uint32_t inst);
/* The same over its own program, with these decisions. */
void recording_expect(vm_machine *m, recording *f, const int64_t *d,
                      uint32_t n, vm_source source, tess_status st,
                      vm_why why, uint32_t inst);

#endif
