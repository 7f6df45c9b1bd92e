/* SPDX-License-Identifier: Apache-2.0
 * Runs a saved kernel on a runtime that is compiled in: here the one that
 * scripts/runtime wrote, in its place any tess_runtime of the host's.
 *
 *   tessera build examples/deploy.lua -o matmul.o
 *   scripts/runtime runtime
 *   cc -std=c11 -I. -Iruntime examples/run_kernel.c matmul.o \
 *      runtime/tessera_runtime.c -o run_kernel -pthread && ./run_kernel
 */
#include "matmul.h"
#include "tessera_runtime.h"

#include <stdio.h>

enum { N = 96 };
static float a[N * N], b[N * N], c[N * N];

int main(void) {
  for (int i = 0; i < N * N; i++) a[i] = (float)(i % 7), b[i] = (float)(i % 5);
  void *args[] = {a, b, c};
  int32_t status = matmul_kernel(args, NULL, tessera_runtime());
  float want = 0;
  for (int k = 0; k < N; k++) want += a[3 * N + k] * b[k * N + 5];
  int right = status == 0 && c[3 * N + 5] == want;
  printf("C[3, 5] is %s\n", right ? "right" : "wrong");
  return !right;
}
