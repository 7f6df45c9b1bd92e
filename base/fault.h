/* SPDX-License-Identifier: Apache-2.0
 * Fault-injecting allocator for tests: counts calls and live bytes, fails the
 * n-th allocation, poisons freed blocks, detects a wrong `osize` and writes
 * past the end.  Linked into tests only. */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tessera/types.h>

typedef struct fault_alloc {
  uint64_t calls;       /* allocations and growths requested so far */
  uint64_t fail_at;     /* fail this call (from 1); 0: none */
  bool and_after;       /* fail every later call too */
  uint64_t failed;      /* how many were failed */
  uint64_t live_blocks;
  size_t live_bytes, peak_bytes;
  uint64_t broken;      /* wrong osize, damaged block: must stay 0 */
} fault_alloc;

/* Start over with everything 0: nothing fails. */
void fault_init(fault_alloc *f);
/* The allocator over `f`, which must outlive what is allocated. */
tess_allocator fault_allocator(fault_alloc *f);
/* Fail the n-th call from now on (n >= 1). */
void fault_arm(fault_alloc *f, uint64_t n);

#endif
