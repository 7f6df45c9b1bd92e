/* SPDX-License-Identifier: Apache-2.0
 * Compiled code on its own: control flow, memory, threads, what is refused.
 * That its arithmetic is the oracle's is in test_llvm_arith.c.
 * Labels: threads */
#include "backends/llvm/llvm.h"
#include "ir/edit.h"
#include "support/compiled.h"
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const tess_dtype F32 = {TESS_DTYPE_FLOAT, 32, 1};
static const tess_dtype I32 = {TESS_DTYPE_INT, 32, 1};
static const tess_dtype BOOL1 = {TESS_DTYPE_BOOL, 8, 1};

/* Shorthands for what these programs are made of. */
static ir_expr idx(compiled *k, int64_t v) { return ir_index(&k->p, v); }
static ir_expr llvm_add(compiled *k, ir_expr a, ir_expr b) {
  return ir_add(&k->p, a, b);
}
static ir_expr llvm_mul(compiled *k, ir_expr a, int64_t b) {
  return ir_mul(&k->p, a, idx(k, b));
}
static ir_expr ramp(compiled *k, ir_expr base, int64_t stride, uint32_t n) {
  return ir_ramp(&k->p, base, idx(k, stride), n);
}
static ir_expr f32(compiled *k, double v) { return ir_real(&k->p, F32, v); }

static void llvm_build(compiled *k) {
  if (compiled_build(k) != TESS_OK) fail_msg("%s", k->err.message);
}

static void llvm_run(compiled *k, void **args) {
  assert_int_equal(compiled_run(k, args, NULL), TESS_OK);
}

/* 0, 1, 2, ... */
static void count_up(float *v, int n) {
  for (int i = 0; i < n; i++) v[i] = (float)i;
}

/* ---- accesses ----------------------------------------------------------- */

/* B[0 .. 8) = A at eight indices, the shapes of an index one after the other:
 * a row, strides 3, -1 and 0, any, and a row with a mask. */
static void access_shapes(void **state) {
  (void)state;
  compiled k;
  compiled_start(&k);
  ir_program *p = &k.p;
  ir_buf a = compiled_param(&k, F32, 64, IR_ROLE_INPUT);
  ir_buf at = compiled_param(&k, IR_INDEX, 8, IR_ROLE_INPUT);
  ir_buf c = compiled_param(&k, F32, 64, IR_ROLE_OUTPUT);
  ir_expr any = compiled_load(&k, at, ramp(&k, idx(&k, 0), 1, 8));
  ir_expr from[] = {ramp(&k, idx(&k, 5), 1, 8), ramp(&k, idx(&k, 2), 3, 8),
                    ramp(&k, idx(&k, 20), -1, 8),
                    ir_broadcast(p, idx(&k, 9), 8), any};
  for (int i = 0; i < 5; i++)
    compiled_store(&k, k.root, c, ramp(&k, idx(&k, 8 * i), 1, 8),
                   compiled_load(&k, a, from[i]));
  ir_expr odd = ir_binary(
      p, IR_EQ, ir_binary(p, IR_MOD, any, ir_broadcast(p, idx(&k, 2), 8)),
      ir_broadcast(p, idx(&k, 1), 8));
  tess_dtype f8 = {TESS_DTYPE_FLOAT, 32, 8};
  ir_expr row = ramp(&k, idx(&k, 30), 1, 8);
  compiled_store(&k, k.root, c, ramp(&k, idx(&k, 40), 1, 8),
                 ir_load_masked(p, a, f8, 1, &row, odd));
  llvm_build(&k);
  float x[64], z[64];
  int64_t where[8] = {3, 60, 0, 63, 8, 8, 1, 2};
  count_up(x, 64);
  void *args[] = {x, where, z};
  llvm_run(&k, args);
  for (int i = 0; i < 8; i++) {
    assert_true(z[i] == 5 + i);
    assert_true(z[8 + i] == 2 + 3 * i);
    assert_true(z[16 + i] == 20 - i);
    assert_true(z[24 + i] == 9);
    assert_true(z[32 + i] == where[i]);
    assert_true(z[40 + i] == (where[i] % 2 ? 30 + i : 0));
  }
  compiled_end(&k);
}

/* Stores: strided, at any index, and masked in each shape. */
static void store_shapes(void **state) {
  (void)state;
  compiled k;
  compiled_start(&k);
  ir_program *p = &k.p;
  ir_buf a = compiled_param(&k, F32, 8, IR_ROLE_INPUT);
  ir_buf mask = compiled_param(&k, BOOL1, 8, IR_ROLE_INPUT);
  ir_buf c = compiled_param(&k, F32, 64, IR_ROLE_OUTPUT);
  ir_expr row = ramp(&k, idx(&k, 0), 1, 8);
  ir_expr v = compiled_load(&k, a, row), on = compiled_load(&k, mask, row);
  compiled_store(&k, k.root, c, ramp(&k, idx(&k, 0), 2, 8), v);
  ir_expr to[] = {ramp(&k, idx(&k, 16), 1, 8), ramp(&k, idx(&k, 24), 3, 8),
                  idx(&k, 50), idx(&k, 51)};
  for (int i = 0; i < 4; i++) {
    bool one = i >= 2;
    ir_expr lane = idx(&k, i);
    ir_stmt s =
        ir_store_new(p, c, 1, &to[i], one ? compiled_load(&k, a, lane) : v);
    ir_st(p, s)->mask = one ? compiled_load(&k, mask, lane) : on;
    ir_append(p, k.root, s);
  }
  llvm_build(&k);
  float x[8], z[64];
  uint8_t m[8] = {0, 1, 1, 0, 0, 1, 0, 1};
  count_up(x, 8);
  for (int i = 0; i < 64; i++) z[i] = -1;
  void *args[] = {x, m, z};
  llvm_run(&k, args);
  for (int i = 0; i < 8; i++) {
    assert_true(z[2 * i] == i && z[2 * i + 1] == -1);
    assert_true(z[16 + i] == (m[i] ? i : -1));
    assert_true(z[24 + 3 * i] == (m[i] ? i : -1));
  }
  assert_true(z[50] == 2 && z[51] == -1);
  compiled_end(&k);
}

/* ---- conditional evaluation --------------------------------------------- */

/* Two pages of which the second is inaccessible; the last n floats of the
 * first. */
static float *at_the_edge(int n) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *m = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_int_equal(mprotect(m + page, page, PROT_NONE), 0);
  return (float *)(void *)(m + page) - n;
}

static void free_edge(float *v, int n) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  munmap((char *)(v + n) - page, 2 * page);
}

/* C[i] = i < 5 ? A[i] : -1 reads only five elements: by scalars, by vectors,
 * and behind `and`. */
static void choices_are_lazy(void **state) {
  (void)state;
  compiled k;
  compiled_start(&k);
  ir_program *p = &k.p;
  ir_buf a = compiled_param(&k, F32, 8, IR_ROLE_INPUT);
  ir_buf c = compiled_param(&k, F32, 24, IR_ROLE_OUTPUT);
  ir_expr i;
  ir_stmt loop = compiled_loop(&k, k.root, idx(&k, 8), IR_SERIAL, &i);
  ir_expr in = ir_binary(p, IR_LT, i, idx(&k, 5));
  ir_expr value = compiled_load(&k, a, i);
  compiled_store(&k, loop, c, i, ir_select(p, in, value, f32(&k, -1)));
  ir_expr positive = ir_binary(p, IR_LE, f32(&k, 0), value);
  compiled_store(&k, loop, c, llvm_add(&k, i, idx(&k, 16)),
                 ir_cast(p, F32, ir_and(p, in, positive)));
  ir_expr v = ramp(&k, idx(&k, 0), 1, 8);
  ir_expr lanes = ir_binary(p, IR_LT, v, ir_broadcast(p, idx(&k, 5), 8));
  ir_expr scalar = ir_broadcast(p, compiled_load(&k, a, idx(&k, 4)), 8);
  ir_expr both = llvm_add(&k, compiled_load(&k, a, v), scalar);
  compiled_store(&k, k.root, c, ramp(&k, idx(&k, 8), 1, 8),
                 ir_select(p, lanes, both, ir_broadcast(p, f32(&k, -1), 8)));
  llvm_build(&k);
  float *x = at_the_edge(5), z[24];
  count_up(x, 5);
  void *args[] = {x, z};
  llvm_run(&k, args);
  for (int n = 0; n < 8; n++) {
    assert_true(z[n] == (n < 5 ? n : -1));
    assert_true(z[8 + n] == (n < 5 ? n + 4 : -1));
    assert_true(z[16 + n] == (n < 5));
  }
  free_edge(x, 5);
  compiled_end(&k);
}

/* if, else, let; a load is repeated after a store. */
static void statements(void **state) {
  (void)state;
  compiled k;
  compiled_start(&k);
  ir_program *p = &k.p;
  ir_buf c = compiled_param(&k, F32, 16, IR_ROLE_OUTPUT);
  ir_expr i, one = f32(&k, 1);
  ir_stmt loop = compiled_loop(&k, k.root, idx(&k, 8), IR_SERIAL, &i);
  ir_expr old = compiled_load(&k, c, i);
  compiled_store(&k, loop, c, i, llvm_add(&k, old, one));
  compiled_store(&k, loop, c, i, llvm_add(&k, old, old));
  ir_stmt cond = ir_if_new(p, ir_binary(p, IR_LT, i, idx(&k, 3)));
  ir_append(p, loop, cond);
  compiled_store(&k, cond, c, i, llvm_add(&k, old, one));
  ir_var v =
      ir_var_new(p, IR_VAR_LET, ir_name(p, "v"), F32, INT64_MIN, INT64_MAX);
  ir_stmt let = ir_let_new(p, v, old);
  ir_append_alt(p, cond, let);
  compiled_store(&k, let, c, i, f32(&k, 0));
  compiled_store(&k, let, c, i, llvm_add(&k, ir_ref(p, v), f32(&k, 100)));
  llvm_build(&k);
  float z[16];
  count_up(z, 16);
  void *args[] = {z};
  llvm_run(&k, args);
  for (int n = 0; n < 8; n++)
    assert_true(z[n] == (n < 3 ? 2 * (n + 1) + 1 : 2 * (n + 1) + 100));
  compiled_end(&k);
}

/* ---- local buffers ------------------------------------------------------ */

static ir_stmt local(compiled *k, ir_stmt parent, ir_expr n, ir_buf *b) {
  *b = ir_buf_new(&k->p, ir_name(&k->p, "L"), F32, 1, &n, IR_SCOPE_GLOBAL,
                  IR_ROLE_LOCAL);
  ir_stmt s = ir_allocate_new(&k->p, *b);
  ir_append(&k->p, parent, s);
  return s;
}

/* L[i] = A[i] + 1 for all i, then C[i] = L[n - 1 - i]. */
static void through_local(compiled *k, ir_stmt parent, ir_expr n, ir_buf a,
                          ir_buf c, ir_buf *b) {
  ir_expr i;
  ir_stmt where = local(k, parent, n, b);
  ir_stmt loop = compiled_loop(k, where, n, IR_SERIAL, &i);
  compiled_store(k, loop, *b, i,
                 llvm_add(k, compiled_load(k, a, i), f32(k, 1)));
  loop = compiled_loop(k, where, n, IR_SERIAL, &i);
  ir_expr back = ir_sub(&k->p, ir_sub(&k->p, n, idx(k, 1)), i);
  compiled_store(k, loop, c, i, compiled_load(k, *b, back));
}

/* On the stack, in the frame, and two of dynamic size. */
static void local_buffers(void **state) {
  (void)state;
  for (int how = 0; how < 3; how++) {
    int64_t n = how == 1 ? 100000 : 50;
    compiled k;
    compiled_start(&k);
    ir_program *p = &k.p;
    ir_var size =
        ir_var_new(p, IR_VAR_SIZE, ir_name(p, "n"), IR_INDEX, 1, INT64_MAX);
    ir_expr extent = how == 2 ? ir_ref(p, size) : idx(&k, n);
    ir_buf a = compiled_param_of(&k, F32, extent, IR_ROLE_INPUT), b;
    ir_buf c = compiled_param_of(&k, F32, extent, IR_ROLE_OUTPUT);
    through_local(&k, k.root, extent, a, c, &b);
    through_local(&k, k.root, extent, c, c, &b);
    llvm_build(&k);
    float *x = malloc((size_t)n * 4), *z = malloc((size_t)n * 4);
    count_up(x, (int)n);
    void *args[] = {x, z};
    assert_int_equal(compiled_run(&k, args, &n), TESS_OK);
    assert_int_equal(compiled_run(&k, args, &n), TESS_OK);
    for (int i = 0; i < n; i++) assert_true(z[i] == (float)(i + 2));
    free(x), free(z);
    compiled_end(&k);
  }
}

static void *no_memory(void *ud, uint64_t bytes, uint64_t align) {
  (void)ud, (void)bytes, (void)align;
  return NULL;
}

/* A kernel whose runtime has no memory returns that, also from a thread. */
static void out_of_memory(void **state) {
  (void)state;
  for (int parallel = 0; parallel < 2; parallel++) {
    compiled k;
    compiled_start(&k);
    ir_buf a = compiled_param(&k, F32, 100000, IR_ROLE_INPUT), b;
    ir_buf c = compiled_param(&k, F32, 100000, IR_ROLE_OUTPUT);
    ir_stmt where = k.root;
    ir_expr i;
    if (parallel) where = compiled_loop(&k, where, idx(&k, 4), IR_PARALLEL, &i);
    through_local(&k, where, idx(&k, 100000), a, c, &b);
    llvm_build(&k);
    k.rt.rt.alloc = no_memory;
    void *args[] = {NULL, NULL};
    assert_int_equal(compiled_run(&k, args, NULL), TESS_NOMEM);
    compiled_end(&k);
  }
}

/* ---- threads ------------------------------------------------------------ */

/* C[i * 10 + j] = A[j] + n * i + L[j], with i and j parallel, n a symbolic
 * extent, and a local buffer of each i. */
static void parallel_loops(void **state) {
  (void)state;
  enum { I = 100, J = 10 };
  compiled k;
  compiled_start(&k);
  ir_program *p = &k.p;
  ir_var size =
      ir_var_new(p, IR_VAR_SIZE, ir_name(p, "n"), IR_INDEX, 1, 1 << 20);
  ir_expr n = ir_ref(p, size), i, j;
  ir_buf a = compiled_param(&k, I32, J, IR_ROLE_INPUT);
  ir_buf c = compiled_param_of(&k, I32, llvm_mul(&k, n, J), IR_ROLE_OUTPUT);
  ir_stmt outer = compiled_loop(&k, k.root, n, IR_PARALLEL, &i);
  ir_expr ten = idx(&k, J);
  ir_buf l = ir_buf_new(p, ir_name(p, "L"), I32, 1, &ten, IR_SCOPE_GLOBAL,
                        IR_ROLE_LOCAL);
  ir_stmt where = ir_allocate_new(p, l);
  ir_append(p, outer, where);
  ir_stmt loop = compiled_loop(&k, where, ten, IR_SERIAL, &j);
  compiled_store(&k, loop, l, j, ir_cast(p, I32, j));
  loop = compiled_loop(&k, where, ten, IR_PARALLEL, &j);
  ir_expr v = ir_cast(p, I32, ir_mul(p, n, i));
  v = llvm_add(&k, v, compiled_load(&k, a, j));
  compiled_store(&k, loop, c, llvm_add(&k, llvm_mul(&k, i, J), j),
                 llvm_add(&k, v, compiled_load(&k, l, j)));
  llvm_build(&k);
  int32_t x[J], *z = calloc(I * J, 4);
  int64_t sizes[] = {I};
  for (int q = 0; q < J; q++) x[q] = 1000 * q;
  void *args[] = {x, z};
  assert_int_equal(compiled_run(&k, args, sizes), TESS_OK);
  for (int q = 0; q < I * J; q++)
    assert_int_equal(z[q], 1001 * (q % J) + I * (q / J));
  free(z);
  compiled_end(&k);
}

/* ---- the host ----------------------------------------------------------- */

static int64_t calls;
TESS_API double tess_test_mix(double a, int32_t b, uint8_t c);
double tess_test_mix(double a, int32_t b, uint8_t c) {
  calls++;
  return a + b + c;
}

/* An external function: of scalars, lane by lane, and not called where its
 * value is not selected.  The test program exports it for this. */
static void external_functions(void **state) {
  (void)state;
  compiled k;
  compiled_start(&k);
  ir_program *p = &k.p;
  tess_dtype f64 = {TESS_DTYPE_FLOAT, 64, 1}, f64x4 = {TESS_DTYPE_FLOAT, 64, 4};
  tess_dtype u8 = {TESS_DTYPE_UINT, 8, 1}, u8x4 = {TESS_DTYPE_UINT, 8, 4};
  tess_dtype i32x4 = {TESS_DTYPE_INT, 32, 4};
  ir_buf c = compiled_param(&k, f64, 5, IR_ROLE_OUTPUT);
  ir_expr one[] = {ir_real(p, f64, 0.5), ir_int(p, I32, -3),
                   ir_int(p, u8, 200)};
  compiled_store(&k, k.root, c, idx(&k, 4),
                 ir_call_extern(p, "tess_test_mix", f64, 3, one));
  ir_expr v = ramp(&k, idx(&k, 0), 1, 4);
  ir_expr four[] = {ir_cast(p, f64x4, v), ir_cast(p, i32x4, v),
                    ir_int(p, u8x4, 255)};
  ir_expr value = ir_call_extern(p, "tess_test_mix", f64x4, 3, four);
  ir_expr cond = ir_binary(p, IR_LT, v, ir_broadcast(p, idx(&k, 3), 4));
  compiled_store(&k, k.root, c, v,
                 ir_select(p, cond, value, ir_real(p, f64x4, -1)));
  llvm_build(&k);
  double z[5];
  void *args[] = {z};
  calls = 0;
  llvm_run(&k, args);
  assert_int_equal(calls, 4);
  assert_true(z[4] == 197.5 && z[3] == -1);
  for (int i = 0; i < 3; i++) assert_true(z[i] == 255 + 2 * i);
  compiled_end(&k);
}

static void unknown_functions(void **state) {
  (void)state;
  compiled k;
  compiled_start(&k);
  ir_buf c = compiled_param(&k, F32, 1, IR_ROLE_OUTPUT);
  compiled_store(&k, k.root, c, idx(&k, 0),
                 ir_call_extern(&k.p, "tess_test_there_is_none", F32, 0, NULL));
  assert_int_equal(compiled_build(&k), TESS_BUILD_ERROR);
  assert_non_null(strstr(k.err.message, "tess_test_there_is_none"));
  compiled_end(&k);
}

/* A tensor intrinsic's call with operands that lowering never makes. */
static void odd_tensor_calls(void **state) {
  (void)state;
  static const struct {
    const char *call;
    int64_t arg[4]; /* -1: an address in the buffer, 0: the end */
  } odd[] = {
      {"f(%0)", {0}},        {"f(%0)", {1, 1, 4, -1}},
      {"f(%0)", {17, 1}},    {"f(%0)", {1, 99}},
      {"f(%1)", {1}},        {"%0 = llvm.fma.f32(%0)", {-1}},
      {"f(", {1, 1, 4, -1}},
  };
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    compiled k;
    compiled_start(&k);
    ir_buf c = compiled_param(&k, F32, 4, IR_ROLE_OUTPUT);
    ir_expr at = idx(&k, 0), arg[4];
    uint32_t n = 0;
    for (; n < 4 && odd[i].arg[n]; n++)
      arg[n] =
          odd[i].arg[n] < 0 ? ir_load(&k.p, c, 1, &at) : idx(&k, odd[i].arg[n]);
    ir_expr call =
        ir_call_named(&k.p, IR_FN_INSTEAD, odd[i].call, IR_BOOL, n, arg);
    ir_stmt cond = ir_if_new(&k.p, call);
    ir_append(&k.p, k.root, cond);
    compiled_store(&k, cond, c, at, f32(&k, 1));
    assert_int_equal(compiled_build(&k), TESS_INVALID);
    compiled_end(&k);
  }
}

/* ---- what is refused ---------------------------------------------------- */

static void llvm_refused(void **state) {
  (void)state;
  compiled k;
  compiled_start(&k);
  ir_buf c = compiled_param(&k, F32, 4, IR_ROLE_OUTPUT);
  ir_expr i, x = f32(&k, 2);
  ir_stmt loop = compiled_loop(&k, k.root, idx(&k, 4), IR_THREAD, &i);
  ir_st(&k.p, loop)->thread = IR_THREADIDX_X;
  compiled_store(&k, loop, c, i, x);
  assert_int_equal(compiled_build(&k), TESS_UNSUPPORTED);
  assert_non_null(strstr(k.err.message, "threadIdx.x"));
  ir_st(&k.p, loop)->loop_kind = IR_SERIAL;
  assert_int_equal(compiled_build(&k), TESS_OK);
  ir_append(
      &k.p, loop,
      ir_store_new(&k.p, c, 1, &i, ir_call(&k.p, IR_FN_TANH, F32, 1, &x)));
  backend_find("llvm")->unload(k.code);
  k.code = NULL;
  assert_int_equal(compiled_build(&k), TESS_UNSUPPORTED);
  assert_non_null(strstr(k.err.message, "tanh"));
  compiled_end(&k);
}

/* An intrinsic of another architecture: LLVM's verifier accepts it, and code
 * generation ends the process, which on_fatal reports. */
static int said;
static void on_fatal(const char *message) {
  ssize_t n = write(said, message, strlen(message));
  (void)n;
}

static void llvm_gives_up(void **state) {
  (void)state;
  int ends[2], status;
  char text[400] = "";
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    compiled k;
    said = ends[1];
    if (!freopen("/dev/null", "w", stderr)) _exit(3);
    backend_on_fatal(on_fatal);
    compiled_start(&k);
    ir_buf c = compiled_param(&k, I32, 1, IR_ROLE_OUTPUT);
    ir_expr args[] = {ir_int(&k.p, I32, 1), ir_int(&k.p, I32, 2)};
    const char *name = strstr(k.target.triple, "x86_64")
                           ? "llvm.aarch64.crc32b"
                           : "llvm.x86.sse42.crc32.32.8";
    compiled_store(&k, k.root, c, idx(&k, 0),
                   ir_call_extern(&k.p, name, I32, 2, args));
    compiled_build(&k);
    _exit(0);
  }
  close(ends[1]);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  assert_true(read(ends[0], text, sizeof text - 1) > 0);
  assert_non_null(strstr(text, "Cannot select"));
  close(ends[0]);
}

/* C[i] = K[i] + 1, with K part of the code. */
static void constants(void **state) {
  (void)state;
  static const float data[4] = {1, 10, 100, 1000};
  compiled k;
  compiled_start(&k);
  ir_expr i, n = idx(&k, 4);
  ir_buf b = ir_buf_new(&k.p, ir_name(&k.p, "K"), F32, 1, &n, IR_SCOPE_GLOBAL,
                        IR_ROLE_CONSTANT);
  vec_push(&k.heap.heap, &k.p.constant,
           ((ir_const){.buf = b, .data = data, .bytes = sizeof data}));
  ir_buf c = compiled_param(&k, F32, 4, IR_ROLE_OUTPUT);
  ir_stmt loop = compiled_loop(&k, k.root, n, IR_PARALLEL, &i);
  compiled_store(&k, loop, c, i,
                 llvm_add(&k, compiled_load(&k, b, i), f32(&k, 1)));
  llvm_build(&k);
  float z[4];
  void *args[] = {z};
  llvm_run(&k, args);
  for (int q = 0; q < 4; q++) assert_true(z[q] == data[q] + 1);
  compiled_end(&k);
}

/* Whichever allocation fails, nothing leaks and the status says so. */
static tess_status build_again(void *ud) {
  compiled *k = ud;
  return compiled_build(k);
}

static void drop_code(void *ud) {
  compiled *k = ud;
  if (k->code) backend_find("llvm")->unload(k->code);
  k->code = NULL;
}

static void failing_allocations(void **state) {
  (void)state;
  compiled k;
  compiled_start(&k);
  ir_buf a = compiled_param(&k, F32, 50, IR_ROLE_INPUT), b;
  ir_buf c = compiled_param(&k, F32, 50, IR_ROLE_OUTPUT);
  ir_expr i;
  ir_stmt loop = compiled_loop(&k, k.root, idx(&k, 4), IR_PARALLEL, &i);
  through_local(&k, loop, idx(&k, 50), a, c, &b);
  ir_func_new(&k.p, ir_name(&k.p, "kernel"), k.nparams, k.param, k.root);
  assert_true(test_each_failure(&k.heap, build_again, drop_code, &k) > 0);
  compiled_end(&k);
}

/* ---- texts -------------------------------------------------------------- */

static void texts(void **state) {
  (void)state;
  compiled k;
  strbuf text;
  compiled_start(&k);
  ir_buf c = compiled_param(&k, F32, 64, IR_ROLE_OUTPUT);
  ir_expr at = ramp(&k, idx(&k, 0), 1, 64);
  ir_expr v = compiled_load(&k, c, at);
  compiled_store(&k, k.root, c, at, ir_mul(&k.p, v, v));
  compiled_text(&k, BACKEND_IR, &text);
  assert_non_null(strstr(str_get(&text), "fmul contract <64 x float>"));
  str_free(&text);
  compiled_text(&k, BACKEND_ASM, &text);
  assert_non_null(strstr(str_get(&text), "tess_kernel"));
  if (k.target.vector_bytes == 64)
    assert_non_null(strstr(str_get(&text), "zmm"));
  str_free(&text);
  compiled_end(&k);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(access_shapes),
      cmocka_unit_test(store_shapes),
      cmocka_unit_test(choices_are_lazy),
      cmocka_unit_test(statements),
      cmocka_unit_test(local_buffers),
      cmocka_unit_test(out_of_memory),
      cmocka_unit_test(parallel_loops),
      cmocka_unit_test(external_functions),
      cmocka_unit_test(odd_tensor_calls),
      cmocka_unit_test(unknown_functions),
      cmocka_unit_test(llvm_refused),
      cmocka_unit_test(llvm_gives_up),
      cmocka_unit_test(constants),
      cmocka_unit_test(failing_allocations),
      cmocka_unit_test(texts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
