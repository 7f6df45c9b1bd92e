/* SPDX-License-Identifier: Apache-2.0
 * OpenCL's ICD loader (libOpenCL.so.1), opened at run time, and its devices by
 * number: the GPUs of all platforms, then accelerators, then processors.
 *
 * Types and numbers are those of OpenCL's binary interface, as its
 * specification documents it; no header of it is needed. */
#ifndef BACKENDS_OPENCL_DRIVER_H
#define BACKENDS_OPENCL_DRIVER_H

#include "base/error.h"
#include <stddef.h>
#include <stdint.h>

typedef struct ocl_object *ocl_handle; /* of a platform, a device, a queue... */
typedef void (*ocl_notify)(void);      /* none is ever passed */

enum {
  OCL_DEVICE_CPU = 1 << 1,
  OCL_DEVICE_GPU = 1 << 2,
  OCL_DEVICE_ACCELERATOR = 1 << 3,
  OCL_DEVICE_UNITS = 0x1002,
  OCL_DEVICE_THREADS = 0x1004, /* size_t: of a work-group */
  OCL_DEVICE_FLOAT_CONFIG = 0x101b,
  OCL_DEVICE_SHARED = 0x1023, /* uint64_t: bytes of local memory */
  OCL_DEVICE_NAME = 0x102b,
  OCL_ROUNDS_DIVIDE_SQRT = 1 << 7, /* bit of OCL_DEVICE_FLOAT_CONFIG */
  OCL_QUEUE_PROFILES = 1 << 1,
  OCL_MEMORY_READ_WRITE = 1 << 0,
  OCL_BUILD_LOG = 0x1183,
  OCL_EVENT_START = 0x1282, /* uint64_t: nanoseconds */
  OCL_EVENT_END = 0x1283,
  OCL_NO_MEMORY = -4, /* on the device; -5: resources; -6: of the host */
  OCL_NO_HOST_MEMORY = -6
};

typedef struct ocl_driver {
  void *library;
#define ENTRY(result, field, symbol, ...) result (*field)(__VA_ARGS__);
#include "backends/opencl/driver.def"
#undef ENTRY
  unsigned ndevice;
} ocl_driver;

/* A device with the context and the queue that all of the process uses. */
typedef struct ocl_device {
  ocl_handle id, context, queue;
} ocl_device;

/* The process's driver, opened by the first call and kept.  UNSUPPORTED: there
 * is no loader, or it finds no device. */
tess_status ocl_driver_open(const ocl_driver **out, err_state *e);
/* Device number `n`, opened by the first call and kept.  UNSUPPORTED: there are
 * fewer. */
tess_status ocl_device_open(uint32_t n, const ocl_driver **driver,
                            const ocl_device **out, err_state *e);
/* The same, without a context. */
tess_status ocl_device_find(uint32_t n, const ocl_driver **driver,
                            const ocl_device **out, err_state *e);

#endif
