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
  cuda_module module;        /* of the kernels run before those timed */
  cuda_function evict;       /* NULL: the driver does not take it */
  cuda_function delay;       /* the same */
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
/* The same with a kernel that leaves the caches alone. */
int cuda_delay(const cuda_process *c);

/* The clocks of the device now, by NVML: "SM clock 1980 MHz, memory 2619 MHz",
 * and what holds them back; "" where there is no NVML (clocks.c). */
void cuda_read_clocks(const cuda_process *c, char *out, size_t n);

#endif
