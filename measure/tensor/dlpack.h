/* SPDX-License-Identifier: Apache-2.0
 * The part of DLPack 1.1 that tensors on a CPU need: the layout in memory by
 * which libraries hand tensors to each other without copying.
 *
 * Written from the public specification (https://dmlc.github.io/dlpack,
 * Copyright the DLPack contributors, Apache License 2.0).  Names and layouts
 * are the specification's; the words are ours.  A host that includes DLPack's
 * own header does not need this one, and must not include both. */
#ifndef MEASURE_TENSOR_DLPACK_H
#define MEASURE_TENSOR_DLPACK_H

#include <stdint.h>

#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 1

/* Readers of another major version must not look at anything but the
 * version, the manager's context and the deleter. */
typedef struct DLPackVersion {
  uint32_t major, minor;
} DLPackVersion;

typedef enum DLDeviceType {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,
  kDLOpenCL = 4,
  kDLVulkan = 7,
  kDLMetal = 8,
  kDLROCM = 10,
  kDLROCMHost = 11,
  kDLCUDAManaged = 13,
  kDLOneAPI = 14
} DLDeviceType;

typedef struct DLDevice {
  int32_t device_type; /* DLDeviceType; others exist */
  int32_t device_id;
} DLDevice;

typedef enum DLDataTypeCode {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLOpaqueHandle = 3,
  kDLBfloat = 4,
  kDLComplex = 5,
  kDLBool = 6
} DLDataTypeCode;

typedef struct DLDataType {
  uint8_t code, bits; /* bits of one lane */
  uint16_t lanes;
} DLDataType;

/* `strides` are in elements; NULL: compact, row-major.  The first element is
 * at data + byte_offset. */
typedef struct DLTensor {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} DLTensor;

#define DLPACK_FLAG_BITMASK_READ_ONLY (UINT64_C(1) << 0)
#define DLPACK_FLAG_BITMASK_IS_COPIED (UINT64_C(1) << 1)

/* A tensor with the one who manages its memory: whoever takes it calls the
 * deleter (which may be NULL) once when it is done. */
typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

#endif
