/* SPDX-License-Identifier: Apache-2.0
 * One row of numbers for a candidate that has several. */
#include "search/model/model.h"

uint32_t summary_width(uint32_t width) { return 2 * width + 1; }

/* Arithmetic is what the first columns count; all on a logarithmic scale, so
 * that the largest of them gives. */
static float arithmetic(const float *row) {
  float most = 0;
  for (int i = 0; i < NEST_OPS; i++)
    if (row[i] > most) most = row[i];
  return most;
}

void summary_make(const float *rows, uint32_t n, uint32_t width, float *out) {
  uint32_t heaviest = 0;
  memset(out, 0, summary_width(width) * sizeof *out);
  for (uint32_t i = 0; i < n; i++) {
    const float *row = rows + (size_t)i * width;
    if (arithmetic(row) > arithmetic(rows + (size_t)heaviest * width))
      heaviest = i;
    for (uint32_t k = 0; k < width; k++) out[width + k] += row[k];
  }
  if (n) memcpy(out, rows + (size_t)heaviest * width, width * sizeof *out);
  out[2 * width] = (float)n;
}
