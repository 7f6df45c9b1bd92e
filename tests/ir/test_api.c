/* SPDX-License-Identifier: Apache-2.0
 * Describing through the public header: ownership, files, several functions,
 * and memory that runs out anywhere. */
#include "base/fault.h"
#include "support/test.h"
#include <math.h>
#include <stdio.h>
#include <tessera/tessera.h>
#include <unistd.h>

static const tess_dtype f32 = {TESS_DTYPE_FLOAT, 32, 1},
                        i64 = {TESS_DTYPE_INT, 64, 1};

typedef struct fixture {
  fault_alloc fault;
  tess_allocator alloc;
  tess_context *c;
  tess_builder *b;
  tess_program *p, *q;
} fixture;

static tess_status api_start(fixture *f) {
  tess_options o = {.struct_size = sizeof o, .allocator = &f->alloc};
  return tess_context_new(&o, &f->c);
}

static void api_end(fixture *f) {
  tess_program_free(f->p);
  tess_program_free(f->q);
  tess_builder_free(f->b);
  tess_context_free(f->c);
  assert_int_equal(f->fault.broken, 0);
  assert_int_equal(f->fault.live_blocks, 0);
  f->p = f->q = NULL;
  f->b = NULL;
  f->c = NULL;
}

#define TRY(call)                 \
  do {                            \
    tess_status s_ = (call);      \
    if (s_ != TESS_OK) return s_; \
  } while (0)

/* B[i] = A[i] * w[i] with four constants w, called `name`. */
static tess_status scale(fixture *f, const char *name, float first,
                         tess_program **out) {
  int64_t shape[] = {4};
  float data[] = {first, 2, 3, 4};
  tess_buffer a, w, r;
  tess_expr n, i, x, y;
  tess_var v;
  TRY(tess_constant(f->b, "w", f32, 1, shape, data, &w));
  data[0] = 100; /* the builder has copied it */
  TRY(tess_int(f->b, i64, 4, &n));
  TRY(tess_placeholder(f->b, "A", f32, 1, &n, TESS_ROLE_INPUT, &a));
  TRY(tess_compute_begin(f->b, "B", 1, &n, NULL, &v));
  TRY(tess_var_ref(f->b, v, &i));
  TRY(tess_load(f->b, a, 1, &i, &x));
  TRY(tess_load(f->b, w, 1, &i, &y));
  TRY(tess_binary(f->b, "*", x, y, &x));
  TRY(tess_compute_end(f->b, 1, &x, &r));
  return tess_program_new(f->b, name, 1, &a, 1, &r, out);
}

/* S = the sum of A[k] w[k], where all but A, the sum and its axis is forgotten
 * before the compute. */
static tess_status scale_trimmed(fixture *f, tess_program **out) {
  int64_t shape[] = {4};
  float data[] = {1, 2, 3, 4};
  tess_buffer a, w, r;
  tess_expr n, one, zero, i, x, y;
  tess_var k;
  TRY(scale(f, "other", 1, out));
  tess_program_free(*out);
  *out = NULL;
  TRY(tess_constant(f->b, "w", f32, 1, shape, data, &w));
  TRY(tess_int(f->b, i64, 0, &zero));
  TRY(tess_int(f->b, i64, 1, &one));
  TRY(tess_int(f->b, i64, 4, &n));
  TRY(tess_placeholder(f->b, "A", f32, 1, &n, TESS_ROLE_INPUT, &a));
  TRY(tess_reduce_axis(f->b, "k", zero, n, &k));
  TRY(tess_var_ref(f->b, k, &i));
  TRY(tess_load(f->b, a, 1, &i, &x));
  TRY(tess_load(f->b, w, 1, &i, &y));
  TRY(tess_binary(f->b, "*", x, y, &x));
  TRY(tess_reduce(f->b, "sum", 1, &x, 1, &k, &x));
  tess_expr kept[] = {one, x};
  const tess_kept all = {.struct_size = sizeof all,
                         .nexprs = 2,
                         .exprs = kept,
                         .nbuffers = 1,
                         .buffers = &a,
                         .nvars = 1,
                         .vars = &k};
  TRY(tess_builder_trim(f->b, &all));
  TRY(tess_compute_begin(f->b, "S", 1, &kept[0], NULL, &k));
  TRY(tess_compute_end(f->b, 1, &kept[1], &r));
  return tess_program_new(f->b, "dot", 1, &a, 1, &r, out);
}

static tess_status api_everything(fixture *f) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/tessera-test-%d.tp", (int)getpid());
  TRY(api_start(f));
  TRY(tess_builder_new(f->c, &f->b));
  TRY(scale(f, "one", 1, &f->p));
  tess_builder_free(f->b); /* the program keeps its constants */
  f->b = NULL;
  TRY(tess_program_save(f->p, path));
  tess_program_free(f->p);
  f->p = NULL;
  tess_status s = tess_program_load(f->c, path, &f->p);
  unlink(path);
  TRY(s);
  TRY(tess_builder_new(f->c, &f->b));
  TRY(scale(f, "two", 5, &f->q));
  TRY(tess_program_add(f->p, f->q));
  tess_program_free(f->q);
  f->q = NULL;
  TRY(scale_trimmed(f, &f->q));
  tess_program_free(f->q);
  f->q = NULL;
  tess_builder_free(f->b);
  f->b = NULL;
  tess_param q = TESS_INIT(tess_param);
  TRY(tess_program_param(f->p, 1, &q));
  TRY(tess_program_lower(f->p, NULL, &f->q));
  tess_program_free(f->q);
  f->q = NULL;
  return tess_program_verify(f->p);
}

static void test_trim(void **state) {
  (void)state;
  fixture f = {0};
  char *text = NULL;
  tess_expr n;
  tess_var v;
  const tess_kept nothing = TESS_INIT(tess_kept);
  fault_init(&f.fault);
  f.alloc = fault_allocator(&f.fault);
  assert_int_equal(api_start(&f), TESS_OK);
  assert_int_equal(tess_builder_new(f.c, &f.b), TESS_OK);
  assert_int_equal(scale_trimmed(&f, &f.p), TESS_OK);
  assert_int_equal(tess_program_text(f.p, &text), TESS_OK);
  assert_string_equal(text, "constant w: float32[4] = [1.0, 2.0, 3.0, 4.0]\n"
                            "dot(A: float32[4], S: out float32[1])\n"
                            "  for i in range(1)\n"
                            "    for k in range(4)\n"
                            "      block S(vi: 1 = i, vk: reduce 4 = k)\n"
                            "        init\n"
                            "          S[vi] = 0.0\n"
                            "        S[vi] = S[vi] + A[vk] * w[vk]\n");
  tess_text_free(f.c, text);
  assert_int_equal(tess_int(f.b, i64, 4, &n), TESS_OK);
  assert_int_equal(tess_compute_begin(f.b, "C", 1, &n, NULL, &v), TESS_OK);
  assert_int_equal(tess_builder_trim(f.b, &nothing), TESS_INVALID);
  assert_int_equal(tess_builder_cancel(f.b, 0), TESS_OK);
  assert_int_equal(tess_builder_trim(f.b, &nothing), TESS_OK);
  assert_int_equal(tess_expr_text(f.b, n, &text), TESS_INVALID);
  assert_int_equal(tess_program_verify(f.p), TESS_OK); /* has its constants */
  api_end(&f);
}

static void test_constants(void **state) {
  (void)state;
  fixture f = {0};
  char *text = NULL;
  fault_init(&f.fault);
  f.alloc = fault_allocator(&f.fault);
  assert_int_equal(api_everything(&f), TESS_OK);
  assert_int_equal(tess_program_text(f.p, &text), TESS_OK);
  assert_string_equal(text, "constant w: float32[4] = [1.0, 2.0, 3.0, 4.0]\n"
                            "constant w_1: float32[4] = [5.0, 2.0, 3.0, 4.0]\n"
                            "entry one(A: float32[4], B: out float32[4])\n"
                            "  for i in range(4)\n"
                            "    block B(vi: 4 = i)\n"
                            "      B[vi] = A[vi] * w[vi]\n"
                            "\n"
                            "two(A: float32[4], B: out float32[4])\n"
                            "  for i in range(4)\n"
                            "    block B(vi: 4 = i)\n"
                            "      B[vi] = A[vi] * w_1[vi]\n");
  tess_text_free(f.c, text);
  /* The contents count: they were read from memory that is still there. */
  uint64_t h = tess_program_hash(f.p);
  assert_int_equal(tess_builder_new(f.c, &f.b), TESS_OK);
  assert_int_equal(scale(&f, "one", 1, &f.q), TESS_OK);
  tess_program *other = NULL;
  assert_int_equal(scale(&f, "two", 5, &other), TESS_OK);
  assert_int_equal(tess_program_add(f.q, other), TESS_OK);
  assert_int_equal(tess_program_hash(f.q), h);
  assert_true(tess_program_equal(f.p, f.q));
  assert_int_equal(tess_program_add(f.q, other), TESS_INVALID);
  assert_string_equal(tess_error(f.c)->message,
                      "two functions are called 'two'");
  tess_program_free(other);
  api_end(&f);
}

static void test_api_memory(void **state) {
  (void)state;
  for (uint64_t n = 1;; n++) {
    fixture f = {0};
    fault_init(&f.fault);
    f.alloc = fault_allocator(&f.fault);
    fault_arm(&f.fault, n);
    tess_status s = api_everything(&f);
    bool failed = f.fault.failed > 0;
    f.fault.fail_at = 0;
    if (failed)
      assert_int_equal(s, TESS_NOMEM);
    else
      assert_int_equal(s, TESS_OK);
    if (failed && f.c) assert_true(tess_error(f.c)->message[0] != '\0');
    api_end(&f);
    if (!failed) break;
  }
}

static void is_refused(const fixture *f, tess_status s) {
  assert_int_equal(s, TESS_INVALID);
  assert_string_equal(tess_error(f->c)->message,
                      "NULL was given where a value is needed");
}

/* combine is never called. */
static int combine(void *ud, tess_builder *b, const tess_expr *lhs,
                   const tess_expr *rhs, tess_expr *result) {
  (void)ud, (void)b, (void)lhs, (void)rhs, (void)result;
  return 1;
}

/* NULL for a required argument is INVALID. */
static void test_null(void **state) {
  (void)state;
  fixture f = {0};
  fault_init(&f.fault);
  f.alloc = fault_allocator(&f.fault);
  assert_int_equal(api_start(&f), TESS_OK);
  assert_int_equal(tess_builder_new(f.c, &f.b), TESS_OK);
  tess_expr e, n;
  tess_var v;
  tess_buffer a;
  tess_dtype t;
  tess_builder *b = f.b, *none = f.b;
  const double zero = 0;
  const char *const unnamed[] = {NULL};
  const tess_iter_kind kind = TESS_SPATIAL;
  assert_int_equal(tess_builder_new(NULL, &none), TESS_INVALID);
  assert_null(none);
  assert_int_equal(tess_int(NULL, i64, 4, &n), TESS_INVALID);
  assert_int_equal(tess_end(NULL), TESS_INVALID);
  assert_int_equal(tess_int(b, i64, 4, &n), TESS_OK);
  is_refused(&f, tess_int(b, i64, 4, NULL));
  is_refused(&f, tess_real(b, f32, 4, NULL));
  is_refused(&f, tess_literal(b, 4, 1, NULL));
  is_refused(&f, tess_binary(b, NULL, n, n, &e));
  is_refused(&f, tess_binary(b, "+", n, n, NULL));
  is_refused(&f, tess_call(b, "abs", 1, NULL, &e));
  is_refused(&f, tess_call(b, NULL, 1, &n, &e));
  is_refused(&f, tess_call_extern(b, "f", f32, 1, NULL, &e));
  is_refused(&f, tess_select(b, n, n, n, NULL));
  is_refused(&f, tess_cast(b, f32, n, NULL));
  is_refused(&f, tess_bit_cast(b, i64, n, NULL));
  is_refused(&f, tess_expr_dtype(b, n, NULL));
  is_refused(&f, tess_expr_text(b, n, NULL));
  is_refused(&f, tess_size_var(b, NULL, &v));
  is_refused(&f, tess_var_ref(b, 1, NULL));
  is_refused(&f, tess_placeholder(b, NULL, f32, 1, &n, TESS_ROLE_INPUT, &a));
  is_refused(&f, tess_placeholder(b, "A", f32, 1, NULL, TESS_ROLE_INPUT, &a));
  is_refused(&f, tess_placeholder(b, "A", f32, 1, &n, TESS_ROLE_INPUT, NULL));
  is_refused(&f, tess_constant(b, "A", f32, 0, NULL, NULL, &a));
  is_refused(
      &f, tess_buffer_new(b, NULL, f32, 1, &n, NULL, TESS_ROLE_INPUT, 0, &a));
  assert_int_equal(tess_placeholder(b, "A", f32, 1, &n, TESS_ROLE_INPUT, &a),
                   TESS_OK);
  is_refused(&f, tess_load(b, a, 1, NULL, &e));
  is_refused(&f, tess_buffer_info(b, a, NULL, &t, 1, &e, &n));
  is_refused(&f, tess_reduce_axis(b, NULL, n, n, &v));
  is_refused(&f, tess_reduce(b, "sum", 1, NULL, 0, NULL, &e));
  is_refused(&f, tess_reduce(b, "sum", 1, &n, 1, NULL, &e));
  is_refused(&f, tess_reduce_with(b, NULL, 1, &n, 1, &v, &e));
  const tess_reducer_def r = {.struct_size = sizeof(tess_reducer_def),
                              .name = "r",
                              .n = 1,
                              .identity = &zero};
  is_refused(&f, tess_reduce_with(b, &r, 1, &n, 1, &v, &e));
  const tess_reducer_def q = {.struct_size = sizeof(tess_reducer_def),
                              .name = "q",
                              .n = 1,
                              .combine = combine,
                              .identity = &zero};
  is_refused(&f, tess_reduce_with(b, &q, 1, NULL, 1, &v, &e));
  is_refused(&f, tess_compute_begin(b, "B", 1, NULL, NULL, &v));
  is_refused(&f, tess_compute_begin(b, "B", 1, &n, NULL, NULL));
  is_refused(&f, tess_compute_end(b, 1, NULL, &a));
  is_refused(&f, tess_loop_begin(b, "i", n, n, NULL));
  is_refused(&f,
             tess_block_begin(b, "B", 1, unnamed, &kind, &n, &n, &n, 0, &v));
  is_refused(&f, tess_block_begin(b, "B", 1, NULL, &kind, &n, &n, &n, 0, &v));
  is_refused(&f, tess_let_begin(b, NULL, n, &v));
  is_refused(&f, tess_store(b, a, 1, NULL, n));
  is_refused(&f, tess_program_new(b, "p", 1, NULL, 1, &a, &f.p));
  is_refused(&f, tess_program_new(b, NULL, 1, &a, 1, &a, &f.p));
  api_end(&f);
}

/* However many dimensions there are; shapes stay while the program does. */
static void test_shapes(void **state) {
  (void)state;
  fixture f = {0};
  tess_expr shape[16], got[16], n, x;
  tess_buffer a, r;
  tess_var v[16], size;
  tess_param q[2] = {TESS_INIT(tess_param), TESS_INIT(tess_param)};
  tess_dtype t;
  const char *name;
  uint32_t ndim;
  assert_int_equal(tess_context_new(NULL, &f.c), TESS_OK);
  assert_int_equal(tess_builder_new(f.c, &f.b), TESS_OK);
  assert_int_equal(tess_size_var(f.b, "n", &size), TESS_OK);
  assert_int_equal(tess_var_ref(f.b, size, &n), TESS_OK);
  for (int d = 0; d < 16; d++)
    assert_int_equal(tess_int(f.b, i64, d / 15 + 1, &shape[d]), TESS_OK);
  shape[1] = n;
  assert_int_equal(
      tess_placeholder(f.b, "A", f32, 16, shape, TESS_ROLE_INPUT, &a), TESS_OK);
  got[3] = 0;
  assert_int_equal(tess_buffer_info(f.b, a, &name, &t, 3, got, &ndim), TESS_OK);
  assert_true(ndim == 16 && got[1] && got[2] && !got[3]);
  assert_int_equal(tess_buffer_info(f.b, a, &name, &t, 0, NULL, &ndim),
                   TESS_OK);
  assert_true(ndim == 16 && !strcmp(name, "A"));
  assert_int_equal(tess_compute_begin(f.b, "B", 16, shape, NULL, v), TESS_OK);
  for (int d = 0; d < 16; d++)
    assert_int_equal(tess_var_ref(f.b, v[d], &got[d]), TESS_OK);
  assert_int_equal(tess_load(f.b, a, 16, got, &x), TESS_OK);
  assert_int_equal(tess_compute_end(f.b, 1, &x, &r), TESS_OK);
  assert_int_equal(tess_program_new(f.b, "p", 1, &a, 1, &r, &f.p), TESS_OK);
  for (uint32_t i = 0; i < 2; i++)
    assert_int_equal(tess_program_param(f.p, i, &q[i]), TESS_OK);
  for (int i = 0; i < 2; i++)
    assert_true(q[i].ndim == 16 && q[i].shape[0] == 1 && q[i].shape[1] == -1 &&
                q[i].shape[15] == 2);
  assert_int_equal(tess_program_param(f.p, 2, &q[0]), TESS_NOT_FOUND);
  tess_program_free(f.p);
  tess_builder_free(f.b);
  tess_context_free(f.c);
}

static void says(const fixture *f, const char *call) {
  char text[200];
  snprintf(text, sizeof text,
           "the memory cap of 1 MiB (option memory_cap of the context) was "
           "reached in the call '%s'",
           call);
  assert_string_equal(tess_error(f->c)->message, text);
}

/* A memory cap is reported with the name of the call: of one that makes
 * something, and of a query. */
static void test_memory_cap(void **state) {
  (void)state;
  fixture f = {0};
  const tess_options o = {.struct_size = sizeof o, .memory_cap = 1 << 20};
  static char *text[1 << 16]; /* more than fits */
  tess_expr e;
  tess_status s;
  uint32_t n = 0;
  assert_int_equal(tess_context_new(&o, &f.c), TESS_OK);
  assert_int_equal(tess_builder_new(f.c, &f.b), TESS_OK);
  assert_int_equal(scale(&f, "one", 1, &f.p), TESS_OK);
  for (int64_t i = 0; (s = tess_int(f.b, i64, i, &e)) == TESS_OK;) i++;
  assert_int_equal(s, TESS_LIMIT);
  says(&f, "tess_int");
  while ((s = tess_program_text(f.p, &text[n])) == TESS_OK) n++;
  assert_int_equal(s, TESS_LIMIT);
  says(&f, "tess_program_text");
  while (n > 0) tess_text_free(f.c, text[--n]);
  api_end(&f);
}

/* A type that is none has no values. */
static void test_values_of_dtypes(void **state) {
  (void)state;
  const tess_dtype u8 = {TESS_DTYPE_UINT, 8, 1}, u64 = {TESS_DTYPE_UINT, 64, 1};
  const tess_dtype f16 = {TESS_DTYPE_FLOAT, 16, 1},
                   bit = {TESS_DTYPE_BOOL, 8, 1};
  const tess_dtype none[] = {{TESS_DTYPE_INT, 0, 1},
                             {TESS_DTYPE_INT, 65, 1},
                             {TESS_DTYPE_INT, 32, 0},
                             {TESS_DTYPE_HANDLE, 64, 1}};
  assert_true(tess_dtype_holds(u8, 255) && !tess_dtype_holds(u8, 256));
  assert_true(!tess_dtype_holds(u8, 2.5) && !tess_dtype_holds(u8, -1));
  assert_true(tess_dtype_holds_int(u8, 255) && !tess_dtype_holds_int(u8, -1));
  assert_true(tess_dtype_holds_int(u64, -1) && !tess_dtype_holds(u64, -1));
  assert_true(tess_dtype_holds_int(i64, INT64_MIN));
  assert_true(tess_dtype_holds_int(bit, 1) && !tess_dtype_holds_int(bit, 2));
  assert_true(tess_dtype_holds(f16, 65504) && !tess_dtype_holds(f16, 7e4));
  assert_true(tess_dtype_holds_int(f16, 3) &&
              !tess_dtype_holds_int(f16, 70000));
  assert_true(tess_dtype_holds(f16, INFINITY));
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    assert_false(tess_dtype_holds(none[i], 0));
    assert_false(tess_dtype_holds_int(none[i], 0));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_values_of_dtypes),
                                     cmocka_unit_test(test_trim),
                                     cmocka_unit_test(test_constants),
                                     cmocka_unit_test(test_null),
                                     cmocka_unit_test(test_shapes),
                                     cmocka_unit_test(test_memory_cap),
                                     cmocka_unit_test(test_api_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
