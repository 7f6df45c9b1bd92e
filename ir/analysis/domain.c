/* SPDX-License-Identifier: Apache-2.0
 * Value ranges of loop and iteration variables. */
#include "ir/arith/arith.h"
#include "ir/arith/linear.h"
#include "ir/edit.h"
#include "ir/query.h"

/* lo + extent - 1 is simplified as one sum, so that terms that cancel (as in
 * the triangle from k + 1 for n - 1 - k) do not widen the range. */
void ir_domain_bounds(const ir_program *p, ir_expr lo, ir_expr extent,
                      int64_t *min, int64_t *max) {
  lin last, n;
  lin_of(p, lo, &last);
  lin_of(p, extent, &n);
  *min = arith_bounds(p, lo).lo;
  bool fits = lin_add(p, &last, &n, 1) && lin_add_const(&last, -1);
  *max = fits ? lin_range(p, &last).hi : INT64_MAX;
  if (*max < *min) *max = *min;
}
