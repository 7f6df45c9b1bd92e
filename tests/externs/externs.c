/* SPDX-License-Identifier: Apache-2.0
 * Functions that programs under test call by name (IR_FN_EXTERN), loaded by
 * workers: candidates that misbehave.  Those called ..._in_parallel do so
 * only where the loop around them was made parallel, so that the program as
 * it is written is good and some of its schedules are bad. */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define EXTERN __attribute__((visibility("default")))

/* Of the program that loads this. */
__attribute__((weak)) int tess_in_parallel(void);

static bool in_parallel(void) { return tess_in_parallel && tess_in_parallel(); }

EXTERN float test_plus_one(float x);
EXTERN float test_plus_one(float x) { return x + 1; }

EXTERN float test_hang(float x);
EXTERN float test_hang(float x) {
  for (volatile float y = x;; y = y + 1) {
  }
}

EXTERN float test_hang_in_parallel(float x);
EXTERN float test_hang_in_parallel(float x) {
  return in_parallel() ? test_hang(x) : x + 1;
}

EXTERN float test_hang_in_serial(float x);
EXTERN float test_hang_in_serial(float x) {
  return in_parallel() ? x + 1 : test_hang(x);
}

EXTERN float test_crash(float x);
EXTERN float test_crash(float x) {
  raise(SIGSEGV);
  return x;
}

EXTERN float test_crash_in_parallel(float x);
EXTERN float test_crash_in_parallel(float x) {
  return in_parallel() ? test_crash(x) : x + 1;
}

EXTERN float test_abort(float x);
EXTERN float test_abort(float x) {
  abort();
  return x;
}

EXTERN float test_exit(float x);
EXTERN float test_exit(float x) { _exit(x < 1000 ? 42 : 43); }

/* Where the environment names a folder: makes the file "running" there, and
 * stays. */
EXTERN float test_stay(float x);
EXTERN float test_stay(float x) {
  char path[256];
  const char *folder = getenv("TESSERA_STAY");
  if (!folder) return x + 1;
  snprintf(path, sizeof path, "%s/running", folder);
  close(open(path, O_WRONLY | O_CREAT, 0600));
  for (;;) pause();
}

EXTERN float test_wrong_in_parallel(float x);
EXTERN float test_wrong_in_parallel(float x) {
  return in_parallel() ? x + 2 : x + 1;
}

/* For x below 1. */
EXTERN float test_only_once(float x);
EXTERN float test_only_once(float x) {
  if (x > 1) abort();
  return x + 3;
}

EXTERN float test_not_a_number(float x);
EXTERN float test_not_a_number(float x) { return sqrtf(x); }

static void spin(int64_t ns) {
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while ((now.tv_sec - start.tv_sec) * INT64_C(1000000000) + now.tv_nsec -
             start.tv_nsec <
         ns);
}

/* The wrong one is slow at first, and fast as soon as the file is there that
 * TESSERA_TEST_ONCE names. */
EXTERN float test_wrong_later_in_parallel(float x);
EXTERN float test_wrong_later_in_parallel(float x) {
  bool is_wrong = in_parallel();
  if (!is_wrong || access(getenv("TESSERA_TEST_ONCE"), F_OK))
    spin(is_wrong ? 1000000 : 50000);
  return is_wrong ? x + 2 : x + 1;
}

/* As the machine does when memory is short. */
EXTERN float test_kill(float x);
EXTERN float test_kill(float x) {
  kill(getpid(), SIGKILL);
  return x;
}

/* Only where the file that TESSERA_TEST_ONCE names does not exist yet. */
EXTERN float test_kill_once(float x);
EXTERN float test_kill_once(float x) {
  int fd = open(getenv("TESSERA_TEST_ONCE"), O_CREAT | O_EXCL | O_WRONLY, 0600);
  if (fd < 0) return x + 1;
  close(fd);
  return test_kill(x);
}

/* Indices: one past the end, one before the first, and one past the end after
 * so many calls, which is after the first launch of a process. */
EXTERN int64_t test_index(int64_t i);
EXTERN int64_t test_index(int64_t i) { return i; }

EXTERN int64_t test_index_past(int64_t i);
EXTERN int64_t test_index_past(int64_t i) { return i + 1; }

EXTERN int64_t test_index_past_later(int64_t i);
EXTERN int64_t test_index_past_later(int64_t i) {
  static int calls;
  return i + (calls++ >= 64);
}

EXTERN int64_t test_index_before(int64_t i);
EXTERN int64_t test_index_before(int64_t i) { return i - 1; }

/* Tensor intrinsics: C[4, 8] += A[4, 4] * B[4, 8], as tests/lua/intrinsics.lua
 * describes it, and one that does something else. */
EXTERN void test_gemm(const float *a, int64_t ai, int64_t ak, const float *b,
                      int64_t bk, int64_t bj, float *c, int64_t ci, int64_t cj);
EXTERN void test_gemm(const float *a, int64_t ai, int64_t ak, const float *b,
                      int64_t bk, int64_t bj, float *c, int64_t ci,
                      int64_t cj) {
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 8; j++)
      for (int k = 0; k < 4; k++)
        c[i * ci + j * cj] += a[i * ai + k * ak] * b[k * bk + j * bj];
}

EXTERN void test_gemm_wrong(float *c, int64_t ci, int64_t cj, int64_t by);
EXTERN void test_gemm_wrong(float *c, int64_t ci, int64_t cj, int64_t by) {
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 8; j++) c[i * ci + j * cj] += (float)by;
}
