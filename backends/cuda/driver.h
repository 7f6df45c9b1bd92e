/* SPDX-License-Identifier: Apache-2.0
 * NVIDIA's driver API (libcuda), opened at run time: nothing of CUDA is needed
 * to build, or to run where there is no card.
 *
 * Types and numbers follow the driver's binary interface as its manual
 * documents it (CUDA Driver API). */
#ifndef BACKENDS_CUDA_DRIVER_H
#define BACKENDS_CUDA_DRIVER_H

#include "base/error.h"
#include <stddef.h>
#include <stdint.h>

typedef int cuda_device;
typedef uint64_t cuda_address; /* of memory on the device */
typedef struct cuda_context_s *cuda_context;
typedef struct cuda_module_s *cuda_module;
typedef struct cuda_function_s *cuda_function;
typedef struct cuda_stream_s *cuda_stream;
typedef struct cuda_event_s *cuda_event;

/* Attributes of a device. */
enum {
  CUDA_MAX_THREADS_PER_BLOCK = 1,
  CUDA_SHARED_PER_BLOCK = 8,
  CUDA_WARP_SIZE = 10,
  CUDA_REGISTERS_PER_BLOCK = 12,
  CUDA_MULTIPROCESSORS = 16,
  CUDA_L2_BYTES = 38,
  CUDA_CAPABILITY_MAJOR = 75,
  CUDA_CAPABILITY_MINOR = 76,
  CUDA_SHARED_OPTIN = 97
};
/* Attributes of a kernel. */
enum {
  CUDA_KERNEL_SHARED = 1,
  CUDA_KERNEL_LOCAL = 3, /* bytes of stack and spills */
  CUDA_KERNEL_REGISTERS = 4,
  CUDA_KERNEL_MAX_DYNAMIC_SHARED = 8 /* to be set above 48 KiB */
};
/* Options of loading a module. */
enum { CUDA_JIT_ERROR_LOG = 5, CUDA_JIT_ERROR_LOG_BYTES = 6 };

typedef struct cuda_driver {
  void *library;
#define ENTRY(field, symbol, ...) int (*field)(__VA_ARGS__);
#include "backends/cuda/driver.def"
#undef ENTRY
} cuda_driver;

/* The driver, which stays open until the process ends.  UNSUPPORTED: there is
 * none, or one that lacks an entry. */
tess_status cuda_driver_get(const cuda_driver **out, err_state *e);
/* LAUNCH_ERROR with the driver's name for `code` unless that is 0. */
tess_status cuda_check(const cuda_driver *d, int code, const char *doing,
                       err_state *e);

#endif
