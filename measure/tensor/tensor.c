/* SPDX-License-Identifier: Apache-2.0
 * Allocation, checks and element access of tensors. */
#include "measure/tensor/tensor.h"
#include "ir/scalar.h"
#include "measure/tensor/dlpack.h"
#include <string.h>

void tensor_put_type(strbuf *out, tess_dtype t, uint32_t ndim,
                     const int64_t *shape) {
  ir_dtype_print(t, out);
  for (uint32_t d = 0; d < ndim; d++)
    str_printf(out, "%s%lld", d ? "x" : ", ", (long long)shape[d]);
}

static tess_status check_shape(tess_context *c, tess_dtype t, uint32_t ndim,
                               const int64_t *shape, int64_t *size) {
  *size = 1;
  if (!ir_is_number(t))
    return ctx_fail(c, TESS_TYPE,
                    "no tensor has elements of this type "
                    "(code %u, %u bits, %u lanes)",
                    t.code, t.bits, t.lanes);
  if (ndim > TENSOR_MAX_DIM)
    return ctx_fail(c, TESS_LIMIT, "a tensor has at most %d dimensions",
                    TENSOR_MAX_DIM);
  for (uint32_t d = 0; d < ndim; d++)
    if (shape[d] < 0)
      return ctx_fail(c, TESS_INVALID, "extent %u of a tensor is %lld", d,
                      (long long)shape[d]);
  for (uint32_t d = 0; d < ndim; d++)
    if (__builtin_mul_overflow(*size, shape[d], size) || *size > INT64_MAX / 16)
      return ctx_fail(c, TESS_LIMIT, "the tensor is too large");
  return TESS_OK;
}

tess_status tensor_make_bare(tess_context *c, tess_dtype t, uint32_t ndim,
                             const int64_t *shape, tess_tensor **out) {
  int64_t size;
  tess_status s = check_shape(c, t, ndim, shape, &size);
  if (s) return s;
  size_t bytes = (size_t)size * ir_dtype_bytes(t);
  tess_tensor *x = mem_try_resize(&c->heap, NULL, 0, sizeof *x);
  if (!x)
    return ctx_ran_out(c, mem_refusal(&c->heap), "a tensor of %zu bytes",
                       bytes);
  *x = (tess_tensor){.c = c,
                     .refs = 1,
                     .dtype = t,
                     .ndim = ndim,
                     .size = size,
                     .bytes = bytes};
  if (ndim) memcpy(x->shape, shape, ndim * sizeof *shape);
  *out = x;
  return TESS_OK;
}

tess_status tensor_give_block(tess_tensor *x) {
  size_t block_bytes = x->bytes + TENSOR_ALIGN;
  mem_heap *heap = &x->c->heap;
  x->block = mem_try_resize(heap, NULL, 0, block_bytes);
  if (!x->block)
    return ctx_ran_out(x->c, mem_refusal(heap), "a tensor of %zu bytes",
                       x->bytes);
  x->block_bytes = block_bytes;
  mem_advise_huge(x->block, block_bytes);
  uintptr_t at = (uintptr_t)x->block;
  x->data = (char *)x->block + (TENSOR_ALIGN - at % TENSOR_ALIGN);
  return TESS_OK;
}

tess_status tensor_make(tess_context *c, tess_dtype t, uint32_t ndim,
                        const int64_t *shape, tess_tensor **out) {
  tess_tensor *x = NULL;
  tess_status s = tensor_make_bare(c, t, ndim, shape, &x);
  if (!s) s = tensor_give_block(x);
  if (!s)
    *out = x;
  else if (x)
    mem_delete(&c->heap, x);
  return s;
}

tess_status tensor_check_host(const tess_tensor *t, const char *doing) {
  return !t->device[0]
             ? TESS_OK
             : ctx_fail(t->c, TESS_UNSUPPORTED,
                        "the tensor is on '%s', not in this process: %s needs "
                        "a copy (t:to \"cpu\")",
                        t->device, doing);
}

void tess_tensor_free(tess_tensor *t) {
  if (!t || --t->refs) return;
  mem_heap *heap = &t->c->heap;
  tensor_leave_device(t);
  if (t->managed && t->managed->deleter) t->managed->deleter(t->managed);
  if (t->block) mem_free(heap, t->block, t->block_bytes);
  mem_delete(heap, t);
}

bool tensor_overlaps(const tess_tensor *a, const tess_tensor *b) {
  const char *x = a->data, *y = b->data;
  if (!a->bytes || !b->bytes) return false;
  if (a == b || a->resident || b->resident) return a == b;
  return x < y + b->bytes && y < x + a->bytes;
}

double tensor_element(const tess_tensor *t, int64_t i) {
  const char *at = (const char *)t->data + (size_t)i * ir_dtype_bytes(t->dtype);
  if (ir_is_float(t->dtype)) return ir_get_real(t->dtype, at);
  int64_t v = ir_get_int(t->dtype, at);
  bool wrapped =
      t->dtype.code == TESS_DTYPE_UINT && t->dtype.bits == 64 && v < 0;
  return wrapped ? (double)(uint64_t)v : (double)v;
}
