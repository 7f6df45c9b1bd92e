/* SPDX-License-Identifier: Apache-2.0
 * Labels: threads
 * Kernels and the interpreter through the public functions. */
#include "support/measured.h"
#include <math.h>
#include <stdlib.h>

static const tess_dtype F32 = {TESS_DTYPE_FLOAT, 32, 1};

static tess_context *open(bool in_process) {
  tess_context *c;
  tess_options o = {.struct_size = sizeof o, .in_process = in_process};
  assert_int_equal(tess_context_new(&o, &c), TESS_OK);
  return c;
}

static tess_tensor *matrix(tess_context *c, int64_t n, const char *fill,
                           uint64_t seed) {
  tess_tensor *t;
  const int64_t shape[] = {n, n};
  assert_int_equal(tess_tensor_new(c, F32, 2, shape, fill, seed, &t), TESS_OK);
  return t;
}

static void free_all(tess_tensor **t, int n) {
  for (int i = 0; i < n; i++) tess_tensor_free(t[i]);
}

static void kernel_must(tess_context *c, tess_status s) {
  if (s) fail_msg("%s", tess_error(c)->message);
}

static void compiled_agrees(bool in_process) {
  enum { N = 24 };
  tess_context *c = open(in_process);
  tess_program *p = measured_matmul(c, N);
  tess_kernel *k;
  tess_tensor *t[] = {matrix(c, N, "integers", 1), matrix(c, N, "integers", 2),
                      matrix(c, N, "zeros", 0)};
  tess_tensor *o[] = {t[0], t[1], matrix(c, N, "zeros", 0)};
  double abs, rel;
  kernel_must(c, tess_build(p, NULL, &k));
  tess_program_free(p); /* the kernel keeps it */
  kernel_must(c, tess_kernel_run(k, 3, t));
  p = measured_matmul(c, N);
  kernel_must(c, tess_interpret(p, 3, o));
  kernel_must(c, tess_tensor_compare(t[2], o[2], &abs, &rel));
  assert_true(abs == 0);
  kernel_must(c, tess_tensor_compare(t[2], t[0], &abs, &rel));
  assert_true(abs > 0);
  free_all(t, 3);
  tess_tensor_free(o[2]);
  tess_program_free(p);
  tess_kernel_free(k);
  tess_context_free(c);
}

static void test_compiled_agrees(void **state) {
  (void)state;
  compiled_agrees(true);
  compiled_agrees(false);
}

static void test_time(void **state) {
  (void)state;
  tess_context *c = open(true);
  tess_program *p = measured_matmul(c, 16);
  tess_tensor *t[] = {matrix(c, 16, "random", 1), matrix(c, 16, "random", 2),
                      matrix(c, 16, "zeros", 0)};
  tess_kernel *k;
  tess_timing r = TESS_INIT(tess_timing);
  kernel_must(c, tess_build(p, NULL, &k));
  kernel_must(c, tess_kernel_time(k, 3, t, 0.003, &r));
  assert_true(r.min > 0 && r.min <= r.median && r.min <= r.mean);
  assert_true(r.stddev >= 0 && r.repeats >= 1 && r.runs >= r.repeats);
  free_all(t, 3);
  tess_kernel_free(k);
  tess_program_free(p);
  tess_context_free(c);
}

static void test_source(void **state) {
  (void)state;
  tess_context *c = open(true);
  tess_program *p = measured_matmul(c, 16);
  tess_kernel *k;
  char *text;
  kernel_must(c, tess_build(p, NULL, &k));
  kernel_must(c, tess_kernel_source(k, "ir", &text));
  assert_non_null(strstr(text, "define"));
  tess_text_free(c, text);
  kernel_must(c, tess_kernel_source(k, "asm", &text));
  assert_non_null(strstr(text, "tess_kernel:"));
  tess_text_free(c, text);
  assert_int_equal(tess_kernel_source(k, "ptx", &text), TESS_NOT_FOUND);
  assert_null(text);
  tess_kernel_free(k);
  tess_program_free(p);
  tess_context_free(c);
}

/* Arguments that do not fit are refused, by name. */
static void test_arguments(void **state) {
  (void)state;
  tess_context *c = open(true);
  tess_program *p = measured_matmul(c, 16);
  tess_tensor *good[] = {matrix(c, 16, "random", 1), matrix(c, 16, "random", 2),
                         matrix(c, 16, "zeros", 0)};
  tess_tensor *small = matrix(c, 15, "zeros", 0), *ints;
  const int64_t shape[] = {16, 16};
  kernel_must(c, tess_tensor_new(c, (tess_dtype){TESS_DTYPE_INT, 32, 1}, 2,
                                 shape, "zeros", 0, &ints));
  tess_kernel *k;
  kernel_must(c, tess_build(p, NULL, &k));
  assert_int_equal(tess_kernel_run(k, 2, good), TESS_TYPE);
  assert_string_equal(tess_error(c)->message,
                      "'kernel' takes 3 tensors, given 2");
  tess_tensor *bad[] = {good[0], small, good[2]};
  assert_int_equal(tess_kernel_run(k, 3, bad), TESS_TYPE);
  assert_string_equal(
      tess_error(c)->message,
      "argument 2, 'B': extent 0, counted from 0, is 16, given 15");
  bad[1] = ints;
  assert_int_equal(tess_interpret(p, 3, bad), TESS_TYPE);
  assert_string_equal(tess_error(c)->message,
                      "argument 2, 'B', is float32 with 2 dimensions, given "
                      "int32 with 2");
  free_all(good, 3);
  tess_tensor_free(small);
  tess_tensor_free(ints);
  tess_kernel_free(k);
  tess_program_free(p);
  tess_context_free(c);
}

/* B[i] = A[i] + 1 for n elements, n an argument. */
static tess_program *symbolic(tess_context *c) {
  tess_builder *b;
  tess_var n, v;
  tess_expr extent, i, x, one;
  tess_buffer in, out;
  tess_program *p;
  kernel_must(c, tess_builder_new(c, &b));
  kernel_must(c, tess_size_var(b, "n", &n));
  kernel_must(c, tess_var_ref(b, n, &extent));
  kernel_must(c,
              tess_placeholder(b, "A", F32, 1, &extent, TESS_ROLE_INPUT, &in));
  kernel_must(c, tess_compute_begin(b, "B", 1, &extent, NULL, &v));
  kernel_must(c, tess_var_ref(b, v, &i));
  kernel_must(c, tess_load(b, in, 1, &i, &x));
  kernel_must(c, tess_literal(b, 1, 1, &one));
  kernel_must(c, tess_binary(b, "+", x, one, &x));
  kernel_must(c, tess_compute_end(b, 1, &x, &out));
  kernel_must(c, tess_program_new(b, "symbolic", 1, &in, 1, &out, &p));
  tess_builder_free(b);
  return p;
}

static void test_symbolic_extents(void **state) {
  (void)state;
  tess_context *c = open(true);
  tess_program *p = symbolic(c);
  tess_kernel *k;
  tess_tensor *t[2];
  kernel_must(c, tess_build(p, NULL, &k));
  for (int64_t n = 1; n < 100; n += 40) {
    for (int i = 0; i < 2; i++)
      kernel_must(c, tess_tensor_new(c, F32, 1, &n, "zeros", 0, &t[i]));
    kernel_must(c, tess_kernel_run(k, 2, t));
    double v;
    int64_t last = n - 1;
    kernel_must(c, tess_tensor_get(t[1], &last, &v));
    assert_true(v == 1);
    kernel_must(c, tess_interpret(p, 2, t));
    tess_tensor_free(t[1]);
    n++;
    kernel_must(c, tess_tensor_new(c, F32, 1, &n, "zeros", 0, &t[1]));
    assert_int_equal(tess_kernel_run(k, 2, t), TESS_TYPE);
    n--;
    free_all(t, 2);
  }
  tess_kernel_free(k);
  tess_program_free(p);
  tess_context_free(c);
}

/* What a host makes an output of. */
static void test_shapes_that_follow(void **state) {
  (void)state;
  tess_context *c = open(true);
  tess_program *p = symbolic(c), *q;
  tess_kernel *k;
  tess_tensor *t[3] = {NULL, NULL, NULL};
  int64_t n = 7, shape = 0;
  kernel_must(c, tess_build(p, NULL, &k));
  q = tess_kernel_program(k);
  assert_true(tess_program_equal(p, q));
  tess_program_free(p);
  kernel_must(c, tess_tensor_new(c, F32, 1, &n, "zeros", 0, &t[0]));
  kernel_must(c, tess_program_shape(q, 1, 2, t, &shape));
  assert_int_equal(shape, 7);
  assert_int_equal(tess_program_shape(q, 2, 2, t, &shape), TESS_NOT_FOUND);
  assert_int_equal(tess_program_shape(q, 1, 1, t, &shape), TESS_TYPE);
  assert_int_equal(tess_program_shape(q, 1, 2, &t[1], &shape),
                   TESS_UNSUPPORTED);
  tess_tensor_free(t[0]);
  n = 0;
  kernel_must(c, tess_tensor_new(c, F32, 1, &n, "zeros", 0, &t[0]));
  assert_int_equal(tess_program_shape(q, 1, 2, t, &shape), TESS_INVALID);
  tess_tensor_free(t[0]);
  tess_kernel_free(k);
  tess_program_free(q);
  tess_context_free(c);
}

/* The raw function looks at nothing but its sizes. */
static void test_sizes_below_one(void **state) {
  (void)state;
  float a[4] = {0}, b[4] = {0};
  void *args[] = {a, b};
  tess_context *c = open(true);
  tess_program *p = symbolic(c);
  tess_kernel *k;
  kernel_must(c, tess_build(p, NULL, &k));
  tess_kernel_fn call = tess_kernel_function(k);
  const tess_runtime *rt = tess_default_runtime(c, 0);
  for (int64_t n = -1; n < 1; n++)
    assert_int_equal(call(args, &n, rt), TESS_INVALID);
  assert_true(b[0] == 0);
  assert_int_equal(call(args, (int64_t[]){4}, rt), 0);
  assert_true(b[3] == 1);
  tess_kernel_free(k);
  tess_program_free(p);
  tess_context_free(c);
}

static void test_equivalent(void **state) {
  (void)state;
  tess_context *c = open(true);
  tess_program *p = measured_matmul(c, 8), *q = measured_matmul(c, 8);
  tess_program *r = measured_matmul(c, 9);
  kernel_must(c, tess_equivalent(p, q, 1));
  assert_int_not_equal(tess_equivalent(p, r, 1), TESS_OK);
  assert_true(tess_error(c)->message[0]);
  tess_program_free(p);
  tess_program_free(q);
  tess_program_free(r);
  tess_context_free(c);
}

/* ---- runtimes ----------------------------------------------------------- */

static int32_t kernel_count(void *closure, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i++) ((uint8_t *)closure)[i]++;
  return 0;
}

static void test_runtime(void **state) {
  (void)state;
  enum { N = 10000 };
  static uint8_t seen[N];
  tess_context *c = open(true);
  const tess_runtime *rt = tess_default_runtime(c, 3);
  assert_ptr_equal(tess_default_runtime(c, 3), rt);
  assert_ptr_not_equal(tess_default_runtime(c, 2), rt);
  for (int round = 0; round < 10; round++)
    assert_int_equal(rt->parallel_for(rt->ud, N, kernel_count, seen), 0);
  for (int i = 0; i < N; i++) assert_int_equal(seen[i], 10);
  void *a = rt->alloc(rt->ud, 100000, 64);
  assert_int_equal((uintptr_t)a % 64, 0);
  rt->free(rt->ud, a);
  void *b = rt->alloc(rt->ud, 100000, 64);
  assert_ptr_equal(a, b); /* not given back to the system in between */
  rt->free(rt->ud, b);
  tess_context_free(c);
}

/* ---- failures ----------------------------------------------------------- */

static void test_build_errors(void **state) {
  (void)state;
  tess_context *c = open(false);
  tess_program *p = measured_extern(c, "llvm.amdgcn.rcp.f32", 8);
  tess_kernel *k;
  assert_int_equal(tess_build(p, NULL, &k), TESS_BUILD_ERROR);
  assert_null(k);
  assert_non_null(strstr(tess_error(c)->message, "LLVM"));
  tess_program_free(p);
  p = measured_extern(c, "test_no_such_function", 8);
  assert_int_not_equal(tess_build(p, NULL, &k), TESS_OK);
  assert_non_null(strstr(tess_error(c)->message, "test_no_such_function"));
  tess_program_free(p);
  tess_context_free(c);
}

typedef struct exhausting {
  fault_alloc f;
  tess_context *c;
} exhausting;

/* Fault injection: each allocation of building and running in process. */
static void test_exhausted(void **state) {
  (void)state;
  static exhausting x;
  bool done = false;
  const int64_t n = 8;
  for (uint64_t at = 1; !done; at += 1 + at / 20) {
    fault_init(&x.f);
    tess_allocator alloc = fault_allocator(&x.f);
    tess_options o = {
        .struct_size = sizeof o, .allocator = &alloc, .in_process = 1};
    assert_int_equal(tess_context_new(&o, &x.c), TESS_OK);
    tess_program *p = measured_matmul(x.c, n);
    tess_tensor *t[] = {matrix(x.c, n, "zeros", 0), matrix(x.c, n, "zeros", 0),
                        matrix(x.c, n, "zeros", 0)};
    fault_arm(&x.f, at);
    tess_kernel *k = NULL;
    tess_timing timing = TESS_INIT(tess_timing);
    tess_status s = tess_build(p, NULL, &k);
    if (!s) s = tess_kernel_time(k, 3, t, 1e-4, &timing);
    if (!s) s = tess_interpret(p, 3, t);
    if (!s) s = tess_equivalent(p, p, 1);
    done = x.f.failed == 0;
    if (s && !tess_error(x.c)->message[0]) fail_msg("no message");
    if (done) assert_int_equal(s, TESS_OK);
    tess_kernel_free(k);
    free_all(t, 3);
    tess_program_free(p);
    tess_context_free(x.c);
    assert_int_equal(x.f.live_blocks, 0);
    assert_int_equal(x.f.broken, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_compiled_agrees),
      cmocka_unit_test(test_time),
      cmocka_unit_test(test_source),
      cmocka_unit_test(test_arguments),
      cmocka_unit_test(test_symbolic_extents),
      cmocka_unit_test(test_shapes_that_follow),
      cmocka_unit_test(test_sizes_below_one),
      cmocka_unit_test(test_equivalent),
      cmocka_unit_test(test_runtime),
      cmocka_unit_test(test_build_errors),
      cmocka_unit_test(test_exhausted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
