/* SPDX-License-Identifier: Apache-2.0
 * The fast must-access test (footprint_box.c), against enumeration of
 * points. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "support/expr.h"
#include "support/nest.h"

#include "base/rng.h"

enum { LOOPS = 4, ITERS = 3, LONGEST = 4, MOST = 64 };

/* Loops, outermost first; iters 0 and 1 index a buffer, each a sum of loops
 * times these coefficients, up to the end of its domain. */
typedef struct plain {
  int64_t length[LOOPS], step[ITERS][LOOPS], domain[ITERS];
} plain;

static plain plain_draw(rng *r) {
  plain x = {.domain = {1, 1, 1}};
  for (int l = 0; l < LOOPS; l++)
    x.length[l] = 1 + (int64_t)rng_below(r, LONGEST);
  for (int k = 0; k < ITERS; k++)
    for (int l = 0; l < LOOPS; l++) {
      x.step[k][l] = rng_below(r, 3) ? 0 : 1 + (int64_t)rng_below(r, 4);
      x.domain[k] += x.step[k][l] * (x.length[l] - 1);
    }
  for (int k = 0; k < ITERS; k++)
    if (!rng_below(r, 4))
      x.domain[k] = 1 + (int64_t)rng_below(r, (uint64_t)x.domain[k]);
  return x;
}

static bool is_seen(const plain *x) {
  nest n;
  nest_start(&n);
  ir_program *p = &n.p;
  ir_buf out = nest_param(&n, "R", F32, IR_ROLE_OUTPUT, MOST, MOST, 0);
  ir_expr loop[LOOPS], v[ITERS];
  ir_stmt first = 0;
  for (int l = 0; l < LOOPS; l++) {
    loop[l] = nest_loop(&n, x->length[l], IR_SERIAL);
    if (l == 1) first = n.at;
  }
  ir_stmt block = nest_block(&n, "R");
  for (int k = 0; k < ITERS; k++) {
    ir_expr bind = nest_num(&n, 0);
    for (int l = 0; l < LOOPS; l++)
      bind = ir_add(p, bind, ir_mul(p, loop[l], nest_num(&n, x->step[k][l])));
    v[k] = nest_iter(&n, k == 2 ? IR_REDUCE : IR_SPATIAL, x->domain[k], bind);
  }
  ir_expr one = nest_num(&n, 1), at[4] = {v[1], one, v[0], one};
  ir_region r = ir_region_new(p, out, at);
  bool seen = ir_must_access_box_quick(p, block, first, r);
  nest_end(&n);
  return seen;
}

/* The points (v0, v1) of one iteration of the first loop. */
static bool is_box(const plain *x, int64_t outer) {
  bool met[MOST][MOST] = {{false}};
  int64_t min[2] = {MOST, MOST}, max[2] = {-1, -1}, count = 0, inner = 1;
  for (int l = 1; l < LOOPS; l++) inner *= x->length[l];
  for (int64_t i = 0; i < inner; i++) {
    int64_t v[ITERS], rest = i;
    for (int k = 0; k < ITERS; k++) v[k] = outer * x->step[k][0];
    for (int l = 1; l < LOOPS; rest /= x->length[l++])
      for (int k = 0; k < ITERS; k++)
        v[k] += rest % x->length[l] * x->step[k][l];
    bool runs = true;
    for (int k = 0; k < ITERS; k++) runs &= v[k] < x->domain[k];
    if (!runs || met[v[0]][v[1]]) continue;
    met[v[0]][v[1]] = true;
    count++;
    for (int k = 0; k < 2; k++) {
      min[k] = v[k] < min[k] ? v[k] : min[k];
      max[k] = v[k] > max[k] ? v[k] : max[k];
    }
  }
  return !count || count == (max[0] - min[0] + 1) * (max[1] - min[1] + 1);
}

static void what_is_seen_is_a_box(void **state) {
  (void)state;
  const uint64_t seed = test_seed(), runs = test_runs(4000);
  uint64_t seen = 0, boxes = 0;
  for (uint64_t i = 0; i < runs; i++) {
    rng r;
    rng_init(&r, seed, i);
    plain x = plain_draw(&r);
    bool box = true;
    for (int64_t o = 0; o < x.length[0]; o++) box &= is_box(&x, o);
    bool is = is_seen(&x);
    if (is && !box) fail_msg("case %llu", (unsigned long long)i);
    seen += is;
    boxes += box;
  }
  assert_true(2 * seen > boxes); /* the fast test misses some of the others */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_seen_is_a_box)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
