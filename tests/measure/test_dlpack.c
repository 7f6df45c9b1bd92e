/* SPDX-License-Identifier: Apache-2.0
 * Tensors of other libraries' memory, and theirs of ours, by DLPack. */
#include "measure/tensor/dlpack.h"
#include "measure/tensor/tensor.h"
#include "support/test.h"
#include <stdlib.h>

static int dlpack_start(void **state) {
  tess_context *c;
  if (tess_context_new(NULL, &c)) return -1;
  *state = c;
  return 0;
}

static int dlpack_end(void **state) {
  tess_context *c = *state;
  assert_int_equal(c->heap.used > sizeof *c + 8192, 0);
  tess_context_free(c);
  return 0;
}

static void test_dlpack_out(void **state) {
  tess_context *c = *state;
  const int64_t shape[] = {2, 3, 4};
  void *managed;
  const tess_dtype f32 = {TESS_DTYPE_FLOAT, 32, 1};
  tess_tensor *x;
  assert_int_equal(tess_tensor_new(c, f32, 3, shape, "random", 7, &x), TESS_OK);
  assert_int_equal(tess_tensor_to_dlpack(x, &managed), TESS_OK);
  DLManagedTensorVersioned *m = managed;
  assert_int_equal(m->version.major, 1);
  const DLTensor *t = &m->dl_tensor;
  assert_ptr_equal(t->data, tess_tensor_data(x));
  assert_int_equal(t->ndim, 3);
  assert_int_equal(t->device.device_type, kDLCPU);
  assert_int_equal(t->dtype.code, kDLFloat);
  assert_int_equal(t->strides[0], 12);
  assert_int_equal(t->strides[2], 1);
  tess_tensor_free(x); /* the export keeps it */
  assert_true(((float *)t->data)[23] >= 0);
  m->deleter(m);
}

typedef struct lent {
  DLManagedTensorVersioned m;
  float data[6];
  int64_t shape[2], strides[2];
  int freed;
} lent;

static void give_back(DLManagedTensorVersioned *m) {
  ((lent *)m->manager_ctx)->freed++;
}

static void *lend(lent *x) {
  *x = (lent){.data = {1, 2, 3, 4, 5, 6}, .shape = {2, 3}, .strides = {3, 1}};
  x->m = (DLManagedTensorVersioned){.version = {1, 3},
                                    .manager_ctx = x,
                                    .deleter = give_back,
                                    .dl_tensor = {.data = x->data,
                                                  .device = {kDLCPU, 0},
                                                  .ndim = 2,
                                                  .dtype = {kDLFloat, 32, 1},
                                                  .shape = x->shape,
                                                  .strides = x->strides}};
  return &x->m;
}

static void test_dlpack_in(void **state) {
  tess_context *c = *state;
  lent l;
  tess_tensor *x;
  lend(&l);
  assert_int_equal(tess_tensor_from_dlpack(c, &l.m, &x), TESS_OK);
  assert_ptr_equal(tess_tensor_data(x), l.data);
  assert_true(tensor_element(x, 5) == 6);
  assert_int_equal(l.freed, 0);
  tess_tensor_free(x);
  assert_int_equal(l.freed, 1);
  /* pinned and managed memory, too, has addresses here */
  for (int type = kDLCUDAHost; type <= kDLCUDAManaged;
       type += kDLCUDAManaged - kDLCUDAHost) {
    lend(&l);
    l.m.dl_tensor.device.device_type = type;
    assert_int_equal(tess_tensor_from_dlpack(c, &l.m, &x), TESS_OK);
    assert_ptr_equal(tess_tensor_data(x), l.data);
    tess_tensor_free(x);
  }
  /* what may not be written is copied at once */
  lend(&l);
  l.m.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  l.m.dl_tensor.byte_offset = 4;
  l.shape[0] = 1;
  assert_int_equal(tess_tensor_from_dlpack(c, &l.m, &x), TESS_OK);
  assert_int_equal(l.freed, 1);
  assert_true(tensor_element(x, 0) == 2 && tess_tensor_size(x) == 3);
  tess_tensor_free(x);
  /* wherever it lies */
  lend(&l);
  l.m.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  l.m.dl_tensor.byte_offset = 1;
  l.shape[0] = 1;
  assert_int_equal(tess_tensor_from_dlpack(c, &l.m, &x), TESS_OK);
  assert_int_equal(l.freed, 1);
  tess_tensor_free(x);
  /* without elements, as NumPy gives it */
  lend(&l);
  l.shape[0] = 3;
  l.shape[1] = 0;
  l.strides[0] = l.strides[1] = 1;
  assert_int_equal(tess_tensor_from_dlpack(c, &l.m, &x), TESS_OK);
  assert_int_equal(tess_tensor_size(x), 0);
  tess_tensor_free(x);
}

/* A copy would not be written back to its owner. */
static void test_dlpack_odd(void **state) {
  tess_context *c = *state;
  lent l;
  tess_tensor *x;
  lend(&l);
  l.m.dl_tensor.byte_offset = 2;
  l.shape[0] = 1;
  assert_int_equal(tess_tensor_from_dlpack(c, &l.m, &x), TESS_UNSUPPORTED);
  assert_string_equal(tess_error(c)->message,
                      "DLPack: the tensor's address is not a multiple of 4, "
                      "the bytes of an element; align it, or mark it "
                      "read-only so that it is copied");
  assert_null(x);
  assert_int_equal(l.freed, 1);
}

/* Refused or not, it is taken. */
static void test_dlpack_refused(void **state) {
  tess_context *c = *state;
  lent l;
  tess_tensor *x;
  for (int i = 0; i < 8; i++) {
    lend(&l);
    DLTensor *t = &l.m.dl_tensor;
    if (i == 0) l.m.version.major = 2;
    if (i == 1) t->device.device_type = 2;
    if (i == 2) l.strides[1] = 2;
    if (i == 3) t->dtype.lanes = 4;
    if (i == 4) t->dtype.code = kDLComplex;
    if (i == 5) t->ndim = 99;
    if (i == 6) t->data = NULL;
    if (i == 7) t->shape = NULL;
    assert_int_not_equal(tess_tensor_from_dlpack(c, &l.m, &x), TESS_OK);
    assert_null(x);
    assert_int_equal(l.freed, 1);
    assert_true(tess_error(c)->message[0]);
    if (i == 1)
      assert_non_null(strstr(tess_error(c)->message, "memory of CUDA device"));
  }
  assert_int_equal(tess_tensor_from_dlpack(c, NULL, &x), TESS_INVALID);
  /* Where there is nothing to point at, it is right. */
  lend(&l);
  l.m.dl_tensor.data = NULL;
  l.shape[0] = 0;
  assert_int_equal(tess_tensor_from_dlpack(c, &l.m, &x), TESS_OK);
  assert_int_equal(tess_tensor_size(x), 0);
  tess_tensor_free(x);
}

/* Memory that is used where it lies is none of the context's, a copy is. */
static void test_dlpack_takes_no_memory(void **state) {
  (void)state;
  enum { ELEMENTS = 1 << 20 };
  const tess_options o = {.struct_size = sizeof o, .memory_cap = 1 << 20};
  float *data = calloc(ELEMENTS, sizeof *data);
  tess_context *c;
  tess_tensor *x;
  lent l;
  assert_non_null(data);
  assert_int_equal(tess_context_new(&o, &c), TESS_OK);
  for (int is_copied = 0; is_copied < 2; is_copied++) {
    lend(&l);
    l.m.dl_tensor.data = data;
    l.shape[0] = 1;
    l.shape[1] = l.strides[0] = ELEMENTS;
    l.m.flags = is_copied ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
    assert_int_equal(tess_tensor_from_dlpack(c, &l.m, &x),
                     is_copied ? TESS_LIMIT : TESS_OK);
    if (!is_copied) assert_ptr_equal(tess_tensor_data(x), data);
    tess_tensor_free(x);
    assert_int_equal(l.freed, 1);
  }
  tess_context_free(c);
  free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_dlpack_out, dlpack_start,
                                      dlpack_end),
      cmocka_unit_test_setup_teardown(test_dlpack_in, dlpack_start, dlpack_end),
      cmocka_unit_test_setup_teardown(test_dlpack_odd, dlpack_start,
                                      dlpack_end),
      cmocka_unit_test_setup_teardown(test_dlpack_refused, dlpack_start,
                                      dlpack_end),
      cmocka_unit_test(test_dlpack_takes_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
