/* SPDX-License-Identifier: Apache-2.0
 * Tensors: making, filling, elements, comparing, text, .npy. */
#include "base/file.h"
#include "measure/tensor/dlpack.h"
#include "measure/tensor/tensor.h"
#include "support/huge_pages.h"
#include "support/test.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const tess_dtype F32 = {TESS_DTYPE_FLOAT, 32, 1};

static const char *const all_types[] = {
    "float16", "bfloat16", "float32", "float64", "int8",   "int16", "int32",
    "int64",   "uint8",    "uint16",  "uint32",  "uint64", "bool"};
enum { NTYPES = sizeof all_types / sizeof *all_types };

static int start(void **state) {
  tess_context *c;
  if (tess_context_new(NULL, &c)) return -1;
  *state = c;
  return 0;
}

static int end(void **state) {
  tess_context *c = *state;
  assert_int_equal(c->heap.used > sizeof *c + 8192, 0);
  tess_context_free(c);
  return 0;
}

static tess_tensor *make(tess_context *c, const char *dtype, uint32_t ndim,
                         const int64_t *shape, const char *fill) {
  tess_dtype t;
  tess_tensor *x;
  assert_true(tess_dtype_parse(dtype, &t));
  if (tess_tensor_new(c, t, ndim, shape, fill, 7, &x))
    fail_msg("%s", tess_error(c)->message);
  return x;
}

static void test_large_tensors_have_huge_pages(void **state) {
  tess_context *c = *state;
  tess_tensor *x = make(c, "float32", 2, (int64_t[]){2048, 2048}, "zeros");
  assert_true(has_huge_pages((char *)tess_tensor_data(x) + (8 << 20)));
  tess_tensor_free(x);
}

static void test_fills(void **state) {
  tess_context *c = *state;
  static const char *const fills[] = {"zeros", "random", "integers"};
  const int64_t shape[] = {5, 7, 3};
  for (int i = 0; i < NTYPES; i++) {
    for (int f = 0; f < 3; f++) {
      tess_tensor *x = make(c, all_types[i], 3, shape, fills[f]);
      tess_tensor *y = make(c, all_types[i], 3, shape, fills[f]);
      assert_int_equal(tess_tensor_size(x), 105);
      assert_int_equal((uintptr_t)tess_tensor_data(x) % 64, 0);
      double abs, rel, most = 0;
      assert_int_equal(tess_tensor_compare(x, y, &abs, &rel), TESS_OK);
      assert_true(abs == 0 && rel == 0);
      for (int64_t k = 0; k < 105; k++) {
        double v = tensor_element(x, k);
        if (f == 1 && i < 4) assert_true(v >= 0 && v < 1);
        if (f == 2) assert_true(v == floor(v) && fabs(v) <= 4);
        most = fmax(most, fabs(v));
      }
      assert_true(f == 0 ? most == 0 : most > 0);
      tess_tensor_free(x);
      tess_tensor_free(y);
    }
  }
}

static void test_elements(void **state) {
  tess_context *c = *state;
  const int64_t shape[] = {2, 3};
  for (int i = 0; i < NTYPES; i++) {
    tess_tensor *x = make(c, all_types[i], 2, shape, "zeros");
    const int64_t at[] = {1, 2}, out[] = {1, 3}, below[] = {-1, 0};
    double v;
    assert_int_equal(tess_tensor_set(x, at, 1), TESS_OK);
    assert_int_equal(tess_tensor_get(x, at, &v), TESS_OK);
    assert_true(v == 1 && tensor_element(x, 5) == 1);
    assert_int_equal(tess_tensor_get(x, out, &v), TESS_BOUNDS);
    assert_string_equal(tess_error(c)->message,
                        "index 1 is 3, outside of 0 .. 2");
    assert_int_equal(tess_tensor_set(x, below, 0), TESS_BOUNDS);
    tess_tensor_free(x);
  }
  tess_tensor *x = make(c, "int8", 0, NULL, "zeros");
  double v;
  tess_tensor_set(x, NULL, 1000);
  assert_int_equal(tess_tensor_get(x, NULL, &v), TESS_OK);
  assert_true(v == 127);
  tess_tensor_free(x);
}

/* Integers that a double would round are kept and compared exactly. */
static void test_integers(void **state) {
  tess_context *c = *state;
  const int64_t values[] = {(INT64_C(1) << 53) + 1, INT64_MAX, INT64_MIN, -1};
  const int64_t at[] = {0};
  int64_t v;
  double abs, rel;
  for (int i = 0; i < 8; i++) {
    const char *type = i % 2 ? "uint64" : "int64";
    tess_tensor *x = make(c, type, 1, (int64_t[]){1}, "zeros");
    tess_tensor *y = make(c, type, 1, (int64_t[]){1}, "zeros");
    assert_int_equal(tess_tensor_set_int(x, at, values[i / 2]), TESS_OK);
    assert_int_equal(tess_tensor_get_int(x, at, &v), TESS_OK);
    assert_true(v == values[i / 2]);
    assert_int_equal(tess_tensor_set_int(y, at, v ^ 1), TESS_OK);
    assert_int_equal(tess_tensor_compare(x, y, &abs, &rel), TESS_OK);
    assert_true(abs == 1 && rel > 0);
    assert_int_equal(tess_tensor_get_int(x, (int64_t[]){1}, &v), TESS_BOUNDS);
    assert_int_equal(tess_tensor_set_int(x, (int64_t[]){-1}, 0), TESS_BOUNDS);
    tess_tensor_free(x);
    tess_tensor_free(y);
  }
  tess_tensor *x = make(c, "uint8", 0, NULL, "zeros");
  assert_int_equal(tess_tensor_set_int(x, NULL, -3), TESS_OK);
  assert_int_equal(tess_tensor_get_int(x, NULL, &v), TESS_OK);
  assert_true(v == 0);
  tess_tensor_free(x);
  x = make(c, "float32", 0, NULL, "zeros");
  double real;
  assert_int_equal(tess_tensor_set_int(x, NULL, 3), TESS_OK);
  assert_int_equal(tess_tensor_get(x, NULL, &real), TESS_OK);
  assert_true(real == 3);
  assert_int_equal(tess_tensor_get_int(x, NULL, &v), TESS_TYPE);
  tess_tensor_free(x);
}

static void test_refused(void **state) {
  tess_context *c = *state;
  tess_tensor *x;
  const int64_t big[] = {INT64_C(1) << 40, INT64_C(1) << 40}, bad[] = {-1};
  const int64_t many[17] = {0};
  assert_int_equal(tess_tensor_new(c, F32, 2, big, "zeros", 0, &x), TESS_LIMIT);
  assert_null(x);
  assert_int_equal(tess_tensor_new(c, F32, 1, bad, "zeros", 0, &x),
                   TESS_INVALID);
  assert_int_equal(tess_tensor_new(c, F32, 17, many, "zeros", 0, &x),
                   TESS_LIMIT);
  assert_int_equal(tess_tensor_new(c, F32, 0, bad, NULL, 0, &x), TESS_INVALID);
  assert_non_null(strstr(tess_error(c)->message, "use zeros, random"));
  assert_int_equal(tess_tensor_new(c, F32, 0, bad, "ones", 0, &x),
                   TESS_INVALID);
  assert_int_equal(tess_tensor_new(c, (tess_dtype){TESS_DTYPE_FLOAT, 32, 4}, 0,
                                   bad, "zeros", 0, &x),
                   TESS_TYPE);
  const int64_t large[] = {INT64_C(1) << 20};
  tess_options o = {.struct_size = sizeof o, .memory_cap = 1 << 20};
  assert_int_equal(tess_context_new(&o, &c), TESS_OK);
  assert_int_equal(tess_tensor_new(c, F32, 1, large, "empty", 0, &x),
                   TESS_LIMIT);
  assert_string_equal(tess_error(c)->message,
                      "a tensor of 4194304 bytes: the memory cap of 1 MiB "
                      "(option memory_cap of the context) was reached");
  tess_context_free(c);
}

static void test_compare(void **state) {
  tess_context *c = *state;
  const int64_t shape[] = {3}, other[] = {4};
  double abs, rel;
  tess_tensor *x = make(c, "float32", 1, shape, "zeros");
  tess_tensor *y = make(c, "float32", 1, shape, "zeros");
  tess_tensor *z = make(c, "float32", 1, other, "zeros");
  float *a = tess_tensor_data(x), *b = tess_tensor_data(y);
  a[0] = 3, b[0] = 4;
  tess_tensor_compare(x, y, &abs, &rel);
  assert_true(abs == 1 && rel == 0.25);
  a[1] = b[1] = INFINITY;
  tess_tensor_compare(x, y, &abs, &rel);
  assert_true(abs == 1 && rel == 0.25);
  a[2] = NAN;
  tess_tensor_compare(x, y, &abs, &rel);
  assert_true(isinf(abs) && isinf(rel));
  assert_int_equal(tess_tensor_compare(x, z, &abs, &rel), TESS_TYPE);
  assert_string_equal(tess_error(c)->message,
                      "the tensors differ: float32, 3 and float32, 4");
  assert_int_equal(tess_tensor_copy(z, x), TESS_TYPE);
  assert_int_equal(tess_tensor_copy(y, x), TESS_OK);
  assert_memory_equal(a, b, 12);
  tess_tensor_free(x);
  tess_tensor_free(y);
  tess_tensor_free(z);
}

static void expect_text(tess_context *c, tess_tensor *x, const char *want) {
  char *text;
  assert_int_equal(tess_tensor_text(x, &text), TESS_OK);
  assert_string_equal(text, want);
  tess_text_free(c, text);
}

static void test_text(void **state) {
  tess_context *c = *state;
  const int64_t shape[] = {2, 3}, wide[] = {2, 1000}, none[] = {0, 2};
  tess_tensor *x = make(c, "float32", 2, shape, "zeros");
  ((float *)tess_tensor_data(x))[1] = -2.5f;
  expect_text(c, x,
              "tensor float32, 2x3\n"
              "[[   0, -2.5,    0],\n"
              " [   0,    0,    0]]");
  tess_tensor_free(x);
  x = make(c, "int64", 2, wide, "zeros");
  ((int64_t *)tess_tensor_data(x))[1999] = INT64_MIN;
  expect_text(c, x,
              "tensor int64, 2x1000\n"
              "[[                   0,                    0,"
              "                    0, ...,                    0,"
              "                    0,                    0],\n"
              " [                   0,                    0,"
              "                    0, ...,                    0,"
              "                    0, -9223372036854775808]]");
  tess_tensor_free(x);
  x = make(c, "bool", 0, NULL, "zeros");
  expect_text(c, x, "tensor bool\nfalse");
  tess_tensor_free(x);
  x = make(c, "bool", 2, none, "zeros");
  expect_text(c, x, "tensor bool, 0x2\n[]");
  tess_tensor_free(x);
}

/* ---- .npy --------------------------------------------------------------- */

static void test_npy_round_trip(void **state) {
  tess_context *c = *state;
  static const int64_t shapes[][3] = {{2, 3, 4}, {7, 0, 0}, {0, 5, 0}};
  static const uint32_t ndims[] = {3, 1, 2};
  char path[] = "/tmp/tessera-test-XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  for (int i = 0; i < NTYPES * 4; i++) {
    int s = i / NTYPES;
    tess_tensor *y, *x = make(c, all_types[i % NTYPES], s < 3 ? ndims[s] : 0,
                              shapes[s % 3], "integers");
    assert_int_equal(tess_tensor_save(x, path), TESS_OK);
    if (tess_tensor_load(c, path, &y)) fail_msg("%s", tess_error(c)->message);
    assert_true(ir_dtype_eq(x->dtype, y->dtype));
    assert_int_equal(y->ndim, x->ndim);
    assert_memory_equal(y->shape, x->shape, sizeof x->shape);
    assert_memory_equal(y->data, x->data, x->bytes);
    tess_tensor_free(x);
    tess_tensor_free(y);
  }
  unlink(path);
}

/* A file with this head and these elements. */
static tess_status read_file(tess_context *c, int version, const char *head,
                             const char *data, size_t n, tess_tensor **out) {
  strbuf b;
  str_init(&b, &c->heap);
  str_write(&b, "\x93NUMPY", 6);
  str_putc(&b, (char)version);
  str_putc(&b, 0);
  size_t len = strlen(head);
  for (int i = 0; i < (version > 1 ? 4 : 2); i++)
    str_putc(&b, (char)(len >> 8 * i));
  str_puts(&b, head);
  str_write(&b, data, n);
  tess_status s = npy_read_bytes(c, b.v, b.n, out);
  str_free(&b);
  return s;
}

/* As NumPy 1.24 writes np.array([[1, 2, 3], [4, 5, 6]]) in various ways. */
static void test_npy_forms(void **state) {
  tess_context *c = *state;
  tess_tensor *x;
  const char big[] = {0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6};
  const char columns[] = {1, 4, 2, 5, 3, 6};
  assert_int_equal(read_file(c, 1,
                             "{'descr': '>i2', 'fortran_order': False, "
                             "'shape': (2, 3), }       \n",
                             big, sizeof big, &x),
                   TESS_OK);
  for (int i = 0; i < 6; i++) assert_true(tensor_element(x, i) == i + 1);
  tess_tensor_free(x);
  assert_int_equal(read_file(c, 2,
                             "{\"shape\": (2,3),\"fortran_order\":True, "
                             "\"descr\":\"|u1\"}",
                             columns, sizeof columns, &x),
                   TESS_OK);
  for (int i = 0; i < 6; i++) assert_true(tensor_element(x, i) == i + 1);
  tess_tensor_free(x);
  assert_int_equal(read_file(c, 3,
                             "{'descr': '|b1', 'fortran_order': False, "
                             "'shape': (2,), }",
                             "\x02\x00", 2, &x),
                   TESS_OK);
  assert_true(tensor_element(x, 0) == 1 && tensor_element(x, 1) == 0);
  tess_tensor_free(x);
}

static void test_npy_refused(void **state) {
  tess_context *c = *state;
  static const char *const heads[] = {
      "",
      "{}",
      "{'descr': '<f4'}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)",
      "{'descr': '<f4', 'fortran_order': False, 'shape': 2}",
      "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}",
      "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<f4', 'descr': '<f4', 'shape': (2,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
      "{'descr': '<f4', 'fortran_order': False, "
      "'shape': (4611686018427387904, 4)}",
      "{'descr': '<f4', 'fortran_order': False, "
      "'shape': (99999999999999999999,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x",
      "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}",
  };
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
    tess_tensor *x = NULL;
    err_clear(&c->err);
    assert_int_equal(read_file(c, 1, heads[i], "\0\0\0\0\0\0\0\0", 8, &x),
                     TESS_PARSE);
    assert_null(x);
    assert_true(c->err.message[0]);
  }
}

static void test_npy_files(void **state) {
  tess_context *c = *state;
  tess_tensor *x;
  assert_int_equal(tess_tensor_load(c, "/no/such.npy", &x), TESS_NOT_FOUND);
  const int64_t shape[] = {4};
  x = make(c, "float32", 1, shape, "zeros");
  assert_int_equal(tess_tensor_save(x, "/no/such.npy"), TESS_IO);
  tess_tensor_free(x);
}

/* Neither what has no end nor what is larger than it says takes memory. */
static void test_npy_takes_what_the_head_says(void **state) {
  (void)state;
  tess_context *c;
  tess_tensor *x;
  char path[] = "/tmp/tessera_npy_XXXXXX";
  const int64_t shape[] = {2};
  const tess_options o = {.struct_size = sizeof o, .memory_cap = 1 << 20};
  assert_int_equal(tess_context_new(&o, &c), TESS_OK);
  x = make(c, "float32", 1, shape, "zeros");
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(tess_tensor_save(x, path), TESS_OK);
  tess_tensor_free(x);
  close(fd);
  struct stat is;
  assert_int_equal(stat(path, &is), 0);
  const off_t other[] = {1 << 30, is.st_size + 1, is.st_size - 1};
  char want[64];
  snprintf(want, sizeof want, "'%s' is not a .npy file", path);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(truncate(path, other[i]), 0);
    assert_int_equal(tess_tensor_load(c, path, &x), TESS_PARSE);
    assert_null(x);
    assert_non_null(strstr(tess_error(c)->message, want));
    assert_non_null(
        strstr(tess_error(c)->message,
               i < 2 ? "more bytes of elements" : "fewer bytes of elements"));
  }
  unlink(path);
  tess_context_free(c);
}

/* What has no size is not waited for, nor read: a FIFO without a writer,
 * a directory, a device. */
static void test_npy_is_a_regular_file(void **state) {
  tess_context *c = *state;
  tess_tensor *x;
  char dir[] = "/tmp/tessera_npy_XXXXXX", fifo[64];
  assert_non_null(mkdtemp(dir));
  snprintf(fifo, sizeof fifo, "%s/a.npy", dir);
  assert_int_equal(mkfifo(fifo, 0600), 0);
  const char *path[] = {fifo, dir, "/dev/zero", "/dev/null"};
  for (int i = 0; i < 4; i++) {
    char want[128];
    assert_int_equal(tess_tensor_load(c, path[i], &x), TESS_IO);
    assert_null(x);
    snprintf(want, sizeof want, "cannot read '%s': it is not a regular file",
             path[i]);
    assert_string_equal(tess_error(c)->message, want);
  }
  unlink(fifo);
  rmdir(dir);
}

/* ---- exhausted memory --------------------------------------------------- */

static void test_exhausted(void **state) {
  (void)state;
  fault_alloc f;
  const int64_t shape[] = {3, 5};
  bool done = false;
  for (uint64_t n = 1; !done; n++) {
    fault_init(&f);
    tess_allocator alloc = fault_allocator(&f);
    tess_options o = {.struct_size = sizeof o, .allocator = &alloc};
    tess_context *c;
    assert_int_equal(tess_context_new(&o, &c), TESS_OK);
    fault_arm(&f, n);
    tess_tensor *x = NULL;
    char *text = NULL;
    void *managed = NULL;
    tess_status s = tess_tensor_new(c, F32, 2, shape, "random", 1, &x);
    if (!s) s = tess_tensor_text(x, &text);
    if (!s) s = tess_tensor_to_dlpack(x, &managed);
    if (!s) s = tess_tensor_save(x, "/dev/null");
    assert_true(s == TESS_OK || s == TESS_NOMEM);
    done = f.failed == 0;
    tess_text_free(c, text);
    if (managed) ((DLManagedTensorVersioned *)managed)->deleter(managed);
    tess_tensor_free(x);
    tess_context_free(c);
    assert_int_equal(f.live_blocks, 0);
    assert_int_equal(f.broken, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_large_tensors_have_huge_pages, start,
                                      end),
      cmocka_unit_test_setup_teardown(test_fills, start, end),
      cmocka_unit_test_setup_teardown(test_elements, start, end),
      cmocka_unit_test_setup_teardown(test_integers, start, end),
      cmocka_unit_test_setup_teardown(test_refused, start, end),
      cmocka_unit_test_setup_teardown(test_compare, start, end),
      cmocka_unit_test_setup_teardown(test_text, start, end),
      cmocka_unit_test_setup_teardown(test_npy_round_trip, start, end),
      cmocka_unit_test_setup_teardown(test_npy_forms, start, end),
      cmocka_unit_test_setup_teardown(test_npy_refused, start, end),
      cmocka_unit_test_setup_teardown(test_npy_files, start, end),
      cmocka_unit_test(test_npy_takes_what_the_head_says),
      cmocka_unit_test_setup_teardown(test_npy_is_a_regular_file, start, end),
      cmocka_unit_test(test_exhausted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
