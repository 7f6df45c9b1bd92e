/* SPDX-License-Identifier: Apache-2.0
 * Tensors: dense, row-major, on 64-byte boundaries unless another library
 * made the memory; or on a device, where they have no address here. */
#ifndef MEASURE_TENSOR_TENSOR_H
#define MEASURE_TENSOR_TENSOR_H

#include "base/context.h"
#include "ir/ir.h"

enum { TENSOR_MAX_DIM = 16, TENSOR_ALIGN = 64 };

struct tess_tensor {
  tess_context *c;
  uint32_t refs; /* tess_tensor_free drops one */
  tess_dtype dtype;
  uint32_t ndim;
  int64_t shape[TENSOR_MAX_DIM];
  int64_t size; /* elements */
  size_t bytes;
  void *data;
  char device[24];   /* "opencl:0": where it is; "": in this process */
  uint64_t resident; /* its number there (measure_resident_new), or 0 */
  void *block;       /* own memory, NULL: none */
  size_t block_bytes;
  struct DLManagedTensorVersioned *managed; /* other memory's manager */
};

/* An uninitialized tensor; TYPE for a dtype that no tensor has, INVALID, LIMIT,
 * NOMEM; sets the context's error. */
tess_status tensor_make(tess_context *c, tess_dtype t, uint32_t ndim,
                        const int64_t *shape, tess_tensor **out);
/* The same without memory, which the caller gives it. */
tess_status tensor_make_bare(tess_context *c, tess_dtype t, uint32_t ndim,
                             const int64_t *shape, tess_tensor **out);
/* Gives such a tensor memory, uninitialized; LIMIT, NOMEM, which set the
 * context's error. */
tess_status tensor_give_block(tess_tensor *t);
/* UNSUPPORTED: it is on a device, where `doing` ("reading elements") is not
 * possible. */
tess_status tensor_check_host(const tess_tensor *t, const char *doing);
/* Do the two have elements in common? */
bool tensor_overlaps(const tess_tensor *a, const tess_tensor *b);
/* Copies all of src to dst, tensors of the same size, each wherever it is
 * (api_device.c); sets the context's error. */
tess_status tensor_move(tess_tensor *dst, tess_tensor *src);
/* Drops what it has on a device (api_device.c). */
void tensor_leave_device(tess_tensor *t);
/* "float32, 3x4" */
void tensor_put_type(strbuf *out, tess_dtype t, uint32_t ndim,
                     const int64_t *shape);

/* Element number i in row-major order, as a double. */
double tensor_element(const tess_tensor *t, int64_t i);

/* ---- text (tensor_text.c) ----------------------------------------------- */

void tensor_write_text(const tess_tensor *t, strbuf *out);

/* ---- .npy (npy.c) ------------------------------------------------------- */

/* The header of a .npy file. */
typedef struct npy_head {
  tess_dtype dtype;
  bool is_swapped; /* of the other byte order */
  bool is_fortran; /* the first index runs fastest */
  uint32_t ndim;
  int64_t shape[TENSOR_MAX_DIM];
  size_t data; /* where the elements start */
} npy_head;

/* PARSE, with what and where; trusts nothing. */
tess_status npy_read_head(const void *bytes, size_t n, npy_head *out,
                          err_state *e);
/* A stream of a file's bytes. */
typedef struct npy_source {
  tess_status (*get)(void *ud, void *to, size_t n, size_t *got, err_state *e);
  void *ud;      /* get: up to n bytes, fewer only at the end */
  uint64_t size; /* of all of them */
} npy_source;
/* A whole file as a tensor; no more is read, and no more memory taken, than
 * its head says. */
tess_status npy_read(tess_context *c, const npy_source *from,
                     tess_tensor **out);
/* A whole file's bytes as a tensor. */
tess_status npy_read_bytes(tess_context *c, const void *bytes, size_t n,
                           tess_tensor **out);
void npy_write(const tess_tensor *t, strbuf *out);

#endif
