/* SPDX-License-Identifier: Apache-2.0
 * Checks what inputs hold against what is declared of them: range, order,
 * distinct elements, the ends of row offsets. */
#include "backends/interp/interp.h"
#include <stdlib.h>

typedef struct placed {
  int64_t v, at;
} placed;

static int compare_placed(const void *a, const void *b) {
  const placed *x = a, *y = b;
  if (x->v != y->v) return x->v < y->v ? -1 : 1;
  return (x->at > y->at) - (x->at < y->at);
}

/* An element equal to one before it; -1: there is none. */
static int64_t find_repeated(arena *scratch, uint64_t n,
                             const interp_word *val) {
  placed *v = arena_array(scratch, placed, n + 1);
  for (uint64_t i = 0; i < n; i++) v[i] = (placed){val[i].i, (int64_t)i};
  qsort(v, n, sizeof *v, compare_placed);
  for (uint64_t i = 1; i < n; i++)
    if (v[i].v == v[i - 1].v) return v[i].at;
  return -1;
}

int64_t interp_find_undeclared(arena *scratch, const ir_buf_rec *r, uint64_t n,
                               const interp_word *val) {
  if (!r->holds) return -1;
  const int64_t last = (int64_t)n - 1;
  for (int64_t i = 0; i <= last; i++) {
    int64_t v = val[i].i;
    if (r->holds & IR_HOLDS_RANGE && (v < r->least || v > r->most)) return i;
    if (r->holds & IR_HOLDS_SORTED && i && v < val[i - 1].i) return i;
  }
  if (r->holds & IR_HOLDS_ENDS && last >= 0) {
    if (val[0].i != r->least) return 0;
    if (val[last].i != r->most) return last;
  }
  if (!(r->holds & IR_HOLDS_UNIQUE)) return -1;
  return find_repeated(scratch, n, val);
}
