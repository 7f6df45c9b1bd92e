/* SPDX-License-Identifier: Apache-2.0
 * Imports and exports tensors without copying, by DLPack. */
#include "measure/tensor/dlpack.h"
#include "measure/tensor/tensor.h"
#include <string.h>

/* ---- in ----------------------------------------------------------------- */

typedef struct importing {
  tess_context *c;
  DLManagedTensorVersioned *m;
  tess_tensor **out;
} importing;

/* Strides of an empty tensor are irrelevant. */
static bool is_compact(const DLTensor *t) {
  int64_t step = 1;
  if (!t->strides) return true;
  for (int32_t d = 0; d < t->ndim; d++)
    if (t->shape[d] == 0) return true;
  for (int32_t d = t->ndim; d-- > 0;) {
    if (t->shape[d] != 1 && t->strides[d] != step) return false;
    step *= t->shape[d];
  }
  return true;
}

/* Has memory of this type an address for the processor?  That of devices has
 * not, pinned and managed memory has. */
static bool is_addressable(int32_t type) {
  return type == kDLCPU || type == kDLCUDAHost || type == kDLROCMHost ||
         type == kDLCUDAManaged;
}

static tess_status refuse_device(tess_context *c, const DLDevice *d) {
  static const char *const names[] = {
      [kDLCUDA] = "CUDA",   [kDLOpenCL] = "OpenCL", [kDLVulkan] = "Vulkan",
      [kDLMetal] = "Metal", [kDLROCM] = "ROCm",     [kDLOneAPI] = "oneAPI",
  };
  enum { N = sizeof names / sizeof *names };
  const char *name =
      d->device_type > 0 && d->device_type < N ? names[d->device_type] : NULL;
  if (!name)
    return ctx_fail(c, TESS_UNSUPPORTED,
                    "DLPack: the tensor is on device type %d, not in the "
                    "processor's memory",
                    (int)d->device_type);
  return ctx_fail(c, TESS_UNSUPPORTED,
                  "DLPack: the tensor is in the memory of %s device %d, which "
                  "workers, where kernels run, cannot share: import a copy in "
                  "the processor's memory",
                  name, (int)d->device_id);
}

static tess_status check_dlpack(tess_context *c,
                                const DLManagedTensorVersioned *m) {
  const DLTensor *t = &m->dl_tensor;
  if (!is_addressable(t->device.device_type))
    return refuse_device(c, &t->device);
  if (t->ndim < 0 || t->ndim > TENSOR_MAX_DIM)
    return ctx_fail(c, TESS_LIMIT, "DLPack: a tensor of %d dimensions",
                    (int)t->ndim);
  if (t->ndim && !t->shape)
    return ctx_fail(c, TESS_INVALID, "DLPack: the tensor has no shape");
  return TESS_OK;
}

/* A writable tensor cannot be copied: writes to the copy would be lost. */
static tess_status refuse_misaligned(tess_context *c, tess_dtype type) {
  return ctx_fail(c, TESS_UNSUPPORTED,
                  "DLPack: the tensor's address is not a multiple of %u, the "
                  "bytes of an element; align it, or mark it read-only so that "
                  "it is copied",
                  (unsigned)ir_dtype_bytes(type));
}

/* Whether the elements of x, which has no memory, can be used at `data`, or
 * copied from there. */
static tess_status check_elements(const tess_tensor *x, const DLTensor *t,
                                  const char *data, bool is_copied) {
  tess_context *c = x->c;
  if (!is_compact(t))
    return ctx_fail(c, TESS_UNSUPPORTED,
                    "DLPack: the tensor is not compact and row-major");
  if (!t->data && x->size)
    return ctx_fail(c, TESS_INVALID,
                    "DLPack: the tensor of %lld elements has no data",
                    (long long)x->size);
  bool is_odd = x->size && (uintptr_t)data % ir_dtype_bytes(x->dtype) != 0;
  return is_odd && !is_copied ? refuse_misaligned(c, x->dtype) : TESS_OK;
}

/* Imports a tensor; read-only memory is copied. */
static tess_status import_dlpack(void *ud) {
  importing *w = ud;
  const DLTensor *t = &w->m->dl_tensor;
  bool is_copied = w->m->flags & DLPACK_FLAG_BITMASK_READ_ONLY;
  tess_status s = check_dlpack(w->c, w->m);
  if (s) return s;
  tess_dtype type = {t->dtype.code, t->dtype.bits, t->dtype.lanes};
  tess_tensor *x;
  s = tensor_make_bare(w->c, type, (uint32_t)t->ndim, t->shape, &x);
  if (s) return s;
  char *data = (char *)t->data + t->byte_offset;
  s = check_elements(x, t, data, is_copied);
  if (!s && is_copied) s = tensor_give_block(x);
  if (s) {
    tess_tensor_free(x);
    return s;
  }
  if (is_copied) {
    if (x->bytes) memcpy(x->data, data, x->bytes);
    if (w->m->deleter) w->m->deleter(w->m);
  } else {
    x->data = data;
    x->managed = w->m;
  }
  *w->out = x;
  return TESS_OK;
}

/* Of another major version only the deleter may be used. */
tess_status tess_tensor_from_dlpack(tess_context *c, void *managed,
                                    tess_tensor **out) {
  importing w = {c, managed, out};
  *out = NULL;
  if (!managed) return ctx_fail(c, TESS_INVALID, "DLPack: no tensor");
  tess_status s =
      w.m->version.major == DLPACK_MAJOR_VERSION
          ? ctx_run(c, import_dlpack, &w)
          : ctx_fail(c, TESS_UNSUPPORTED, "DLPack: version %u.%u, not %u",
                     w.m->version.major, w.m->version.minor,
                     DLPACK_MAJOR_VERSION);
  if (s && w.m->deleter) w.m->deleter(w.m);
  return s;
}

/* ---- out ---------------------------------------------------------------- */

typedef struct exported {
  DLManagedTensorVersioned m;
  int64_t strides[TENSOR_MAX_DIM];
  tess_tensor *t;
} exported;

static void release_dlpack(DLManagedTensorVersioned *m) {
  exported *x = m->manager_ctx;
  tess_tensor *t = x->t;
  mem_delete(&t->c->heap, x);
  tess_tensor_free(t);
}

typedef struct exporting {
  tess_tensor *t;
  exported *x;
} exporting;

static tess_status export_dlpack(void *ud) {
  exporting *w = ud;
  w->x = mem_new(&w->t->c->heap, exported);
  return TESS_OK;
}

tess_status tess_tensor_to_dlpack(tess_tensor *t, void **managed) {
  exporting w = {t, NULL};
  *managed = NULL;
  if (t->device[0]) return tensor_check_host(t, "exporting");
  tess_status s = ctx_run(t->c, export_dlpack, &w);
  if (s) return s;
  exported *x = w.x;
  DLTensor dl = {.data = t->data,
                 .device = {kDLCPU, 0},
                 .ndim = (int32_t)t->ndim,
                 .dtype = {t->dtype.code, t->dtype.bits, 1},
                 .shape = t->shape,
                 .strides = x->strides};
  DLManagedTensorVersioned m = {
      .version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION},
      .manager_ctx = x,
      .deleter = release_dlpack,
      .dl_tensor = dl};
  *x = (exported){.m = m, .t = t};
  int64_t step = 1;
  for (uint32_t d = t->ndim; d-- > 0; step *= t->shape[d]) x->strides[d] = step;
  t->refs++;
  *managed = &x->m;
  return TESS_OK;
}
