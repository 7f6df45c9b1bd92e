/* SPDX-License-Identifier: Apache-2.0
 * The process's context on an NVIDIA card, and what timing needs there: events,
 * and memory whose reading evicts the L2 cache. */
#ifndef BACKENDS_CUDA_CONTEXT_H
#define BACKENDS_CUDA_CONTEXT_H

#include "backends/cuda/driver.h"

enum { CUDA_MOST_DEVICES = 16 };

typedef struct cuda_process {
  bool is_made;
  const cuda_driver *d;
  cuda_device device;
  cuda_context context;
  cuda_event from, to;
  cuda_module module;        /* of the kernel that evicts the L2 cache */
  cuda_function evict;       /* NULL: the driver does not take it */
  cuda_address evicted;      /* what it reads */
  unsigned evict_blocks;
} cuda_process;

/* Makes the device's context, once for the process, and makes it the calling
 * thread's.  It lives until the process ends.  UNSUPPORTED: there is no such
 * device. */
tess_status cuda_process_get(uint32_t device, cuda_process **out, err_state *e);

/* Starts a kernel that reads more memory than the L2 cache has, so that it
 * holds nothing of what ran before, and nothing that must be written back. 0,
 * or the driver's code. */
int cuda_evict_l2(const cuda_process *c);

#endif
