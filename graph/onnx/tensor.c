/* SPDX-License-Identifier: Apache-2.0
 * Makes tensors of TensorProto messages. */
#include "graph/onnx/tensor.h"
#include "graph/onnx/scan.h"
#include "ir/scalar.h"
#include "measure/tensor/dlpack.h"
#include "measure/tensor/tensor.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- types -------------------------------------------------------------- */

typedef struct type_row {
  const char *name;
  tess_dtype dtype; /* bits 0: there is none here */
} type_row;

static const type_row types[] = {
    {"UNDEFINED", {0, 0, 0}},
    {"FLOAT", {TESS_DTYPE_FLOAT, 32, 1}},
    {"UINT8", {TESS_DTYPE_UINT, 8, 1}},
    {"INT8", {TESS_DTYPE_INT, 8, 1}},
    {"UINT16", {TESS_DTYPE_UINT, 16, 1}},
    {"INT16", {TESS_DTYPE_INT, 16, 1}},
    {"INT32", {TESS_DTYPE_INT, 32, 1}},
    {"INT64", {TESS_DTYPE_INT, 64, 1}},
    {"STRING", {0, 0, 0}},
    {"BOOL", {TESS_DTYPE_BOOL, 8, 1}},
    {"FLOAT16", {TESS_DTYPE_FLOAT, 16, 1}},
    {"DOUBLE", {TESS_DTYPE_FLOAT, 64, 1}},
    {"UINT32", {TESS_DTYPE_UINT, 32, 1}},
    {"UINT64", {TESS_DTYPE_UINT, 64, 1}},
    {"COMPLEX64", {0, 0, 0}},
    {"COMPLEX128", {0, 0, 0}},
    {"BFLOAT16", {TESS_DTYPE_BFLOAT, 16, 1}},
    [ONNX__TENSOR_PROTO__DATA_TYPE__UINT4] = {"UINT4", {TESS_DTYPE_UINT, 4, 1}},
    [ONNX__TENSOR_PROTO__DATA_TYPE__INT4] = {"INT4", {TESS_DTYPE_INT, 4, 1}},
    [ONNX__TENSOR_PROTO__DATA_TYPE__UINT2] = {"UINT2", {TESS_DTYPE_UINT, 2, 1}},
    [ONNX__TENSOR_PROTO__DATA_TYPE__INT2] = {"INT2", {TESS_DTYPE_INT, 2, 1}},
};
enum { TYPES = sizeof types / sizeof *types };

bool onnx_dtype(int32_t type, tess_dtype *out) {
  if (type < 0 || type >= TYPES || !types[type].dtype.bits) return false;
  *out = types[type].dtype;
  return true;
}

const char *onnx_dtype_name(int32_t type) {
  if (type >= 0 && type < TYPES && types[type].name) return types[type].name;
  const ProtobufCEnumValue *v = protobuf_c_enum_descriptor_get_value(
      &onnx__tensor_proto__data_type__descriptor, type);
  return v ? v->name : "?";
}

/* ---- where the elements are --------------------------------------------- */

/* A stretch of a mapped file. */
typedef struct stretch {
  onnx_mapping *mapping;
  uint64_t at, n;
} stretch;

static const char *external_entry(const Onnx__TensorProto *t, const char *key) {
  for (size_t i = 0; i < t->n_external_data; i++) {
    const Onnx__StringStringEntryProto *e = t->external_data[i];
    if (e->key && e->value && !strcmp(e->key, key)) return e->value;
  }
  return NULL;
}

/* A number of bytes; `none` where the entry is left out. */
static tess_status external_number(tess_context *c, const Onnx__TensorProto *t,
                                   const char *key, uint64_t none,
                                   uint64_t *out) {
  const char *text = external_entry(t, key);
  char *end = NULL;
  *out = none;
  if (!text) return TESS_OK;
  errno = 0;
  *out = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
  if (end && !*end && !errno) return TESS_OK;
  return ctx_fail(c, TESS_INVALID, "its %s is '%s', not a number of bytes", key,
                  text);
}

/* The file of that name, mapped once for a model. */
static tess_status find_file(onnx_source *from, const char *name,
                             onnx_mapping **out) {
  onnx_mapping **at = &from->mapping->next;
  if (!from->path)
    return ctx_fail(from->c, TESS_INVALID,
                    "its data is in '%s', and the model is no file", name);
  while (*at && strcmp((*at)->name, name)) at = &(*at)->next;
  if (!*at) {
    tess_status s = onnx_map_beside(from->c, from->path, name, at);
    if (s) return s;
  }
  *out = *at;
  return TESS_OK;
}

static tess_status find_external(onnx_source *from, const Onnx__TensorProto *t,
                                 stretch *out) {
  tess_context *c = from->c;
  const char *name = external_entry(t, "location");
  if (!name) return ctx_fail(c, TESS_INVALID, "its data has no location");
  tess_status s = find_file(from, name, &out->mapping);
  if (!s) s = external_number(c, t, "offset", 0, &out->at);
  if (s) return s;
  uint64_t n = out->mapping->n;
  if (out->at <= n) s = external_number(c, t, "length", n - out->at, &out->n);
  if (s || (out->at <= n && out->n <= n - out->at)) return s;
  return ctx_fail(c, TESS_INVALID,
                  "its data is outside of '%s', which has %llu bytes", name,
                  (unsigned long long)n);
}

/* The bytes of the elements; n is UINT64_MAX where a list has them. */
static tess_status find_bytes(onnx_source *from, const Onnx__TensorProto *t,
                              stretch *out) {
  *out = (stretch){from->mapping, 0, UINT64_MAX};
  if (t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
    return find_external(from, t, out);
  if (!t->has_raw_data) return TESS_OK;
  onnx_place place;
  memcpy(&place, t->raw_data.data, sizeof place);
  *out = (stretch){from->mapping, place.at, place.n};
  return TESS_OK;
}

/* ---- over a file -------------------------------------------------------- */

typedef struct borrowed {
  DLManagedTensorVersioned managed;
  onnx_mapping *mapping;
} borrowed;

static void give_back(DLManagedTensorVersioned *m) {
  borrowed *b = m->manager_ctx;
  onnx_mapping *mapping = b->mapping;
  mem_delete(&mapping->c->heap, b);
  onnx_release(mapping);
}

/* The tensor, which has no memory, over mapped data. */
static tess_status lay_over(tess_tensor *x, const stretch *at) {
  borrowed *b = mem_try_resize(&x->c->heap, NULL, 0, sizeof *b);
  if (!b)
    return ctx_ran_out(x->c, mem_refusal(&x->c->heap), "reading a tensor");
  *b = (borrowed){.managed = {.manager_ctx = b, .deleter = give_back},
                  .mapping = at->mapping};
  at->mapping->refs++;
  x->managed = &b->managed;
  x->data = at->mapping->data + at->at;
  return TESS_OK;
}

static tess_status of_bytes(onnx_source *from, const tess_tensor *shape,
                            const stretch *at, tess_tensor **out) {
  tess_context *c = from->c;
  if (at->n != shape->bytes)
    return ctx_fail(c, TESS_INVALID, "its data has %llu bytes, not %zu",
                    (unsigned long long)at->n, shape->bytes);
  const uint8_t *data = at->mapping->data + at->at;
  if (at->n && (uintptr_t)data % ir_dtype_bytes(shape->dtype) == 0) {
    tess_status s =
        tensor_make_bare(c, shape->dtype, shape->ndim, shape->shape, out);
    return s ? s : lay_over(*out, at);
  }
  tess_status s = tensor_make(c, shape->dtype, shape->ndim, shape->shape, out);
  if (!s && at->n) memcpy((*out)->data, data, at->n);
  return s;
}

/* ---- of lists ----------------------------------------------------------- */

/* The list that elements of the type are in: where it is, how many there are,
 * and the bytes of each. */
typedef struct number_list {
  const void *v;
  size_t n, bytes;
} number_list;

static number_list list_of(const Onnx__TensorProto *t) {
  switch (t->data_type) {
  case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT:
    return (number_list){t->float_data, t->n_float_data, 4};
  case ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE:
    return (number_list){t->double_data, t->n_double_data, 8};
  case ONNX__TENSOR_PROTO__DATA_TYPE__INT64:
    return (number_list){t->int64_data, t->n_int64_data, 8};
  case ONNX__TENSOR_PROTO__DATA_TYPE__UINT32:
  case ONNX__TENSOR_PROTO__DATA_TYPE__UINT64:
    return (number_list){t->uint64_data, t->n_uint64_data, 8};
  default: return (number_list){t->int32_data, t->n_int32_data, 4};
  }
}

/* Little-endian, as all that Tessera runs on: the first bytes of a number are
 * the element, of float16 its bits. */
static tess_status of_list(onnx_source *from, const Onnx__TensorProto *t,
                           const tess_tensor *shape, tess_tensor **out) {
  number_list list = list_of(t);
  if (list.n != (uint64_t)shape->size)
    return ctx_fail(from->c, TESS_INVALID, "it has %zu elements, not %lld",
                    list.n, (long long)shape->size);
  tess_status s =
      tensor_make(from->c, shape->dtype, shape->ndim, shape->shape, out);
  size_t bytes = ir_dtype_bytes(shape->dtype);
  for (size_t i = 0; !s && i < list.n; i++)
    memcpy((char *)(*out)->data + i * bytes,
           (const char *)list.v + i * list.bytes, bytes);
  return s;
}

/* ---- all ---------------------------------------------------------------- */

/* What the tensor will be: integers of few bits, several in a byte, are the
 * bytes they lie in. */
static tess_status expected(tess_context *c, const Onnx__TensorProto *t,
                            tess_dtype type, tess_tensor **out) {
  uint32_t rank = (uint32_t)t->n_dims;
  if (type.bits >= 8) return tensor_make_bare(c, type, rank, t->dims, out);
  tess_dtype byte = {TESS_DTYPE_UINT, 8, 1};
  tess_status s = tensor_make_bare(c, byte, rank, t->dims, out);
  if (s) return s;
  int64_t each = 8 / type.bits, bytes = ((*out)->size + each - 1) / each;
  tess_tensor_free(*out);
  return tensor_make_bare(c, byte, 1, &bytes, out);
}

tess_status onnx_tensor(onnx_source *from, const Onnx__TensorProto *t,
                        tess_tensor **out) {
  tess_context *c = from->c;
  tess_dtype type;
  tess_tensor *shape = NULL;
  stretch at;
  *out = NULL;
  if (!onnx_dtype(t->data_type, &type))
    return ctx_fail(c, TESS_TYPE, "its elements are of type %s",
                    onnx_dtype_name(t->data_type));
  if (t->n_dims > TENSOR_MAX_DIM)
    return ctx_fail(c, TESS_LIMIT, "it has %zu dimensions, more than %d",
                    t->n_dims, TENSOR_MAX_DIM);
  tess_status s = expected(c, t, type, &shape);
  if (!s) s = find_bytes(from, t, &at);
  if (!s)
    s = at.n == UINT64_MAX ? of_list(from, t, shape, out)
                           : of_bytes(from, shape, &at, out);
  tess_tensor_free(shape);
  if (s && *out) {
    tess_tensor_free(*out);
    *out = NULL;
  }
  return s;
}
