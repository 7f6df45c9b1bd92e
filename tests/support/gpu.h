/* SPDX-License-Identifier: Apache-2.0
 * An emulator of NVIDIA devices for tests: the LLVM IR that is meant for the
 * device, compiled for this machine, with its intrinsics replaced by calls that
 * run the threads of a block as fibres.  A thread runs until it waits for its
 * warp (shuffles, votes, fragments) or for its block (barriers).
 *
 * Asynchronous copies arrive at the wait; until then, and before anything is
 * stored, shared memory holds a pattern that is not-a-number.  Fragments of
 * wmma, whose order a device keeps to itself, depend on the layout with which
 * they were loaded; those of mma.sync and ldmatrix are as the PTX ISA documents
 * them.  Accesses out of bounds, and threads that wait for others that do not
 * come, are errors. */
#ifndef SUPPORT_GPU_H
#define SUPPORT_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GPU_LANES = 32, GPU_WHY = 256 };

/* Bytes that threads moved; sectors of global memory (32 bytes) that a warp
 * read, each access for itself; and shared accesses that had to be
 * repeated since lanes of a warp addressed other words of one bank. */
typedef struct gpu_counts {
  uint64_t global_read, global_written, shared_read, shared_written;
  uint64_t async_bytes, bank_conflicts, barriers, collectives;
  uint64_t read_sectors;
} gpu_counts;

typedef struct gpu_span { char *at; size_t bytes; } gpu_span;

typedef struct gpu_launch {
  const char *kernel;
  int64_t grid[3], block[3];
  size_t dynamic_shared;
  void **args;                  /* addresses of the arguments */
  uint32_t nspans;              /* memory that the kernel may use */
  const gpu_span *span;
  bool reversed;                /* threads run last to first */
} gpu_launch;

typedef struct gpu_module gpu_module;

/* NULL: why it cannot be compiled for this machine. */
gpu_module *gpu_load(const char *ir, size_t n, char why[GPU_WHY]);
void gpu_unload(gpu_module *m);
/* Runs all blocks, one after the other; adds to *counts.  false: why. */
bool gpu_run(gpu_module *m, const gpu_launch *l, gpu_counts *counts,
             char why[GPU_WHY]);

#endif
