/* SPDX-License-Identifier: Apache-2.0
 * The functions that the loader of a device backend defines, as
 * backends/backend.h describes them: load, time, why, memory, unload,
 * on_fatal. */
#ifndef BACKENDS_DEVICE_LOADER_H
#define BACKENDS_DEVICE_LOADER_H

#include "backends/backend.h"
#include "backends/device/device.h"

#define DEVICE_LOADER(name)                                             \
  tess_status name##_load(mem_heap *heap, const void *code, size_t n,   \
                          backend_code **out, err_state *e);            \
  int32_t name##_time(const backend_code *c, void **args,               \
                      void *const *resident, const int64_t *sizes,      \
                      uint64_t runs, double *seconds);                  \
  const char *name##_why(const backend_code *c);                        \
  tess_status name##_memory(uint32_t device, const device_driver **out, \
                            void **ud, err_state *e);                   \
  void name##_unload(backend_code *c);                                  \
  void name##_on_fatal(void (*fn)(const char *message));

#endif
