/* SPDX-License-Identifier: Apache-2.0
 * The reference kernel. */
#include "fleet/kernel.h"

static const tess_dtype F32 = {TESS_DTYPE_FLOAT, 32, 1};
static const tess_dtype I64 = {TESS_DTYPE_INT, 64, 1};

/* X[i, j] */
static tess_status load_element(tess_builder *b, tess_buffer x, tess_var i,
                                tess_var j, tess_expr *out) {
  tess_expr at[2];
  tess_status s = tess_var_ref(b, i, &at[0]);
  if (s == TESS_OK) s = tess_var_ref(b, j, &at[1]);
  return s == TESS_OK ? tess_load(b, x, 2, at, out) : s;
}

/* C[i, j] = sum of A[i, k] * B[k, j] */
static tess_status describe_product(tess_builder *b, tess_program **out) {
  tess_expr shape[2], zero, x, y;
  tess_buffer in[2], c;
  tess_var v[2], k;
  tess_status s = tess_int(b, I64, FLEET_KERNEL_SIDE, &shape[0]);
  shape[1] = shape[0];
  if (s == TESS_OK) s = tess_int(b, I64, 0, &zero);
  for (int i = 0; i < 2 && s == TESS_OK; i++)
    s = tess_placeholder(b, i ? "B" : "A", F32, 2, shape, TESS_ROLE_INPUT,
                         &in[i]);
  if (s == TESS_OK) s = tess_reduce_axis(b, "k", zero, shape[0], &k);
  if (s == TESS_OK) s = tess_compute_begin(b, "C", 2, shape, NULL, v);
  if (s == TESS_OK) s = load_element(b, in[0], v[0], k, &x);
  if (s == TESS_OK) s = load_element(b, in[1], k, v[1], &y);
  if (s == TESS_OK) s = tess_binary(b, "*", x, y, &x);
  if (s == TESS_OK) s = tess_reduce(b, "sum", 1, &x, 1, &k, &y);
  if (s == TESS_OK) s = tess_compute_end(b, 1, &y, &c);
  return s == TESS_OK ? tess_program_new(b, "reference", 2, in, 1, &c, out) : s;
}

tess_status fleet_kernel_new(tess_context *c, tess_program **out) {
  tess_builder *b;
  tess_status s = tess_builder_new(c, &b);
  if (s != TESS_OK) return s;
  s = describe_product(b, out);
  tess_builder_free(b);
  return s;
}

void fleet_kernel_fill(float *a, float *b) {
  for (int i = 0; i < FLEET_KERNEL_ELEMENTS; i++) {
    a[i] = (float)(i * 7 % 13 - 6);
    b[i] = (float)(i * 5 % 11 - 5);
  }
}
