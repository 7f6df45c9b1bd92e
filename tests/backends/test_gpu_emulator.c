/* SPDX-License-Identifier: Apache-2.0
 * The emulator of devices, on kernels in LLVM's IR: what it computes, what it
 * counts, and the faults that it finds. */
#include "measure/worker/job_builder.h"
#include "support/gpu_compare.h"
#include "support/matmul.h"
#include "support/gpu.h"
#include "support/test.h"
#include <stdio.h>

enum { N = 64 };

typedef struct emulation {
  gpu_counts counts;
  uint32_t in[N], out[N];
  char why[GPU_WHY];
} emulation;

static const char head[] =
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "@shared = internal addrspace(3) global [8192 x i8] undef, align 128\n"
    "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
    "declare void @llvm.nvvm.barrier0()\n"
    "declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)\n"
    "declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)\n"
    "declare void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3), "
    "ptr addrspace(1))\n"
    "declare void @llvm.nvvm.cp.async.commit.group()\n"
    "declare void @llvm.nvvm.cp.async.wait.group(i32)\n"
    "define void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {\n"
    "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
    "  %i = zext i32 %t to i64\n"
    "  %a = getelementptr i32, ptr addrspace(1) %in, i64 %i\n"
    "  %o = getelementptr i32, ptr addrspace(1) %out, i64 %i\n"
    "  %r = sub i64 63, %i\n";
static const char tail[] = "  ret void\n}\n";

/* The body computes with %t, %i = %t, %r = 63 - %i, %a = &in[i],
 * %o = &out[i]; N threads. */
static bool emulate(emulation *e, const char *body, bool reversed) {
  char ir[4096];
  *e = (emulation){.why = ""};
  for (uint32_t i = 0; i < N; i++) e->in[i] = 1000 + i;
  snprintf(ir, sizeof ir, "%s%s%s", head, body, tail);
  gpu_module *m = gpu_load(ir, strlen(ir), e->why);
  if (!m) return print_message("%s\n", e->why), false;
  gpu_span span[2] = {{(char *)e->in, sizeof e->in},
                      {(char *)e->out, sizeof e->out}};
  void *args[2] = {&span[0].at, &span[1].at};
  gpu_launch l = {.kernel = "k",
                  .grid = {1, 1, 1},
                  .block = {N, 1, 1},
                  .args = args,
                  .nspans = 2,
                  .span = span,
                  .reversed = reversed};
  bool ok = gpu_run(m, &l, &e->counts, e->why);
  gpu_unload(m);
  return ok;
}

static void expect_fault(const char *body, const char *says) {
  emulation e;
  assert_false(emulate(&e, body, false));
  if (!strstr(e.why, says)) fail_msg("it says '%s'", e.why);
}

#define THROUGH_SHARED(between)                                  \
  "  %s = getelementptr i32, ptr addrspace(3) @shared, i64 %i\n" \
  "  %v = load i32, ptr addrspace(1) %a\n"                       \
  "  store i32 %v, ptr addrspace(3) %s\n" between                \
  "  %x = getelementptr i32, ptr addrspace(3) @shared, i64 %r\n" \
  "  %w = load i32, ptr addrspace(3) %x\n"                       \
  "  store i32 %w, ptr addrspace(1) %o\n"

static void barriers(void **state) {
  (void)state;
  emulation e;
  for (int reversed = 0; reversed < 2; reversed++) {
    assert_true(emulate(
        &e, THROUGH_SHARED("  call void @llvm.nvvm.barrier0()\n"), reversed));
    for (uint32_t i = 0; i < N; i++) assert_int_equal(e.out[i], 1063 - i);
    assert_int_equal(e.counts.barriers, 1);
    assert_int_equal(e.counts.global_read, 4 * N);
    assert_int_equal(e.counts.global_written, 4 * N);
    assert_int_equal(e.counts.shared_read, 4 * N);
    assert_int_equal(e.counts.shared_written, 4 * N);
    assert_int_equal(e.counts.bank_conflicts, 0);
    /* What nobody has written yet is no number. */
    assert_true(emulate(&e, THROUGH_SHARED(""), reversed));
    assert_int_equal(e.out[reversed ? N - 1 : 0], UINT32_MAX);
  }
}

static void lanes(void **state) {
  (void)state;
  emulation e;
  assert_true(emulate(
      &e,
      "  %v = load i32, ptr addrspace(1) %a\n"
      "  %w = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %v, i32 3, "
      "i32 31)\n"
      "  %low = icmp ult i32 %t, 5\n"
      "  %b = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %low)\n"
      "  %s = add i32 %w, %b\n"
      "  store i32 %s, ptr addrspace(1) %o\n",
      false));
  for (uint32_t i = 0; i < N; i++)
    assert_int_equal(e.out[i], 1000 + (i ^ 3) + (i < 32 ? 31 : 0));
  assert_int_equal(e.counts.collectives, 4);
}

/* Column 0 of rows of 32 words is in one bank. */
static void banks(void **state) {
  (void)state;
  emulation e;
  assert_true(emulate(&e,
                      "  %c = mul i64 %i, 32\n"
                      "  %s = getelementptr i32, ptr addrspace(3) @shared, "
                      "i64 %c\n"
                      "  store i32 %t, ptr addrspace(3) %s\n",
                      false));
  assert_int_equal(e.counts.bank_conflicts, 2 * 31);
  assert_true(emulate(&e,
                      "  %c = mul i64 %i, 33\n"
                      "  %d = urem i64 %c, 2048\n"
                      "  %s = getelementptr i32, ptr addrspace(3) @shared, "
                      "i64 %d\n"
                      "  store i32 %t, ptr addrspace(3) %s\n",
                      false));
  assert_int_equal(e.counts.bank_conflicts, 0);
}

#define COPY(wait)                                                           \
  "  %s = getelementptr i32, ptr addrspace(3) @shared, i64 %i\n"             \
  "  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %s, " \
  "ptr addrspace(1) %a)\n"                                                   \
  "  call void @llvm.nvvm.cp.async.commit.group()\n" wait                    \
  "  %w = load i32, ptr addrspace(3) %s\n"                                   \
  "  store i32 %w, ptr addrspace(1) %o\n"

static void asynchronous(void **state) {
  (void)state;
  emulation e;
  assert_true(emulate(
      &e, COPY("  call void @llvm.nvvm.cp.async.wait.group(i32 0)\n"), false));
  for (uint32_t i = 0; i < N; i++) assert_int_equal(e.out[i], 1000 + i);
  assert_int_equal(e.counts.async_bytes, 4 * N);
  assert_true(emulate(
      &e, COPY("  call void @llvm.nvvm.cp.async.wait.group(i32 1)\n"), false));
  assert_int_equal(e.out[5], UINT32_MAX);
}

static void faults(void **state) {
  (void)state;
  expect_fault("  %p = getelementptr i32, ptr addrspace(1) %o, i64 1\n"
               "  store i32 1, ptr addrspace(1) %p\n",
               "4 bytes of global memory that are out of bounds (block 0,0,0, "
               "thread 63,0,0)");
  expect_fault("  %low = icmp ult i32 %t, 40\n"
               "  br i1 %low, label %yes, label %no\n"
               "yes:\n"
               "  call void @llvm.nvvm.barrier0()\n"
               "  br label %no\n"
               "no:\n",
               "a barrier that 40 threads of 64 reach");
  expect_fault("  %low = icmp ult i32 %t, 40\n"
               "  br i1 %low, label %yes, label %no\n"
               "yes:\n"
               "  %b = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %low)\n"
               "  br label %no\n"
               "no:\n",
               "waits for lanes that do not come: vote.ballot.sync");
  expect_fault("  call void asm sideeffect \"trap;\", \"\"()\n",
               "inline assembly is not emulated: trap;");
}

/* The reference of a large program: each result by one thread. */
static void bind_product(matmul *m) {
  gpu_compared done = {.right = 0};
  assert_false(job_bind_reference(&m->p, JOB_HOST_OPERATIONS));
  ir_program_copy(&m->q, &m->p);
  assert_true(job_bind_reference(&m->q, 1000));
  matmul_verify(m, &m->q);
  gpu_compare(&m->heap.heap, &m->p, &m->q, "cuda -arch=sm_80", &done);
  assert_int_equal(done.right, 1);
}

static void references(void **state) {
  matmul m;
  (void)state;
  matmul_start(&m);
  matmul_run(&m, bind_product);
  matmul_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(barriers), cmocka_unit_test(lanes),
      cmocka_unit_test(banks),    cmocka_unit_test(asynchronous),
      cmocka_unit_test(faults),   cmocka_unit_test(references),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
