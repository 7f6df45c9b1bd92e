/* SPDX-License-Identifier: Apache-2.0
 * A host of the library that examples/deploy.lua was built into:
 *
 *   cc examples/deploy.c -I. ./matmul.so -o deploy && ./deploy
 */
#include "matmul.h"

#include <stdio.h>

enum { N = 96 };
static float a[N * N], b[N * N], c[N * N];

int main(void) {
  for (int i = 0; i < N * N; i++) a[i] = (float)(i % 7), b[i] = (float)(i % 5);
  if (matmul(a, b, c) != 0) return 1;
  float want = 0;
  for (int k = 0; k < N; k++) want += a[3 * N + k] * b[k * N + 5];
  printf("C[3, 5] is %s\n", c[3 * N + 5] == want ? "right" : "wrong");
  return c[3 * N + 5] != want;
}
