/* SPDX-License-Identifier: Apache-2.0
 * Affine iteration maps against enumeration: chains of splits and fusions must
 * be found bijective, and no false property may be reported of any map. */
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "support/chain.h"
#include "support/random.h"

#include <stdio.h>
#include <stdlib.h>

/* Points up to so far outside of the box are enumerated, too. */
enum { MARGIN = 12 };

typedef struct world {
  test_heap heap;
  ir_program p;
  arena scratch;
  rng r;
  int64_t value[4096];
  chain s;
  int64_t box[CHAIN_EXPRS]; /* what the bindings should cover */
  uint8_t *hit;             /* how often each point around it, up to 2 */
  bool far;                 /* some point is outside of that */
  uint32_t said[4];
} world;

static void itermap_start(world *w, uint64_t index) {
  memset(w, 0, sizeof *w);
  test_heap_start(&w->heap, 0);
  ir_program_init(&w->p, &w->heap.heap);
  arena_init(&w->scratch, &w->heap.heap);
  rng_init(&w->r, test_seed(), index);
}

static void itermap_end(world *w) {
  arena_free(&w->scratch);
  ir_program_free(&w->p);
  test_heap_end(&w->heap);
}

/* One to three iterators of a few iterations, and a chain of steps. */
static void make_chain(world *w, uint32_t steps, bool exact) {
  ir_program_reset(&w->p);
  arena_reset(&w->scratch);
  w->s = (chain){
      .p = &w->p, .r = &w->r, .nexpr = (uint32_t)test_pick(&w->r, 1, 3)};
  for (uint32_t k = 0; k < w->s.nexpr; k++) {
    w->box[k] = test_pick(&w->r, 1, w->s.nexpr == 1 ? 60 : 17);
    w->s.expr[k] = ir_ref(&w->p, chain_add(&w->s, k, w->box[k]));
  }
  for (uint32_t k = 0; k < steps; k++) {
    int64_t all = 1;
    for (uint32_t i = 0; i < w->s.n; i++) all *= w->s.extent[i];
    if (all > 60000) break;
    chain_random(&w->s, exact);
  }
}

static arith_map_kind itermap_ask(world *w) {
  ir_expr lo[CHAIN_EXPRS], extent[CHAIN_EXPRS];
  for (uint32_t k = 0; k < w->s.nexpr; k++) {
    lo[k] = ir_index(&w->p, 0);
    extent[k] = ir_index(&w->p, w->box[k]);
  }
  uint32_t nodes = w->p.node.n, vars = w->p.var.n;
  arith_map_kind kind = arith_map(&w->p, &w->scratch, w->s.n, w->s.loop, NULL,
                                  w->s.nexpr, w->s.expr, lo, extent, w->s.pred);
  assert_int_equal(w->p.node.n, nodes);
  assert_int_equal(w->p.var.n, vars);
  return kind;
}

static const char *what(const world *w) {
  static char text[8192];
  int n = 0;
  for (uint32_t i = 0; i < w->s.n; i++)
    n += snprintf(text + n, sizeof text - (size_t)n, "%s:%lld ",
                  test_text(&w->p, ir_ref(&w->p, w->s.loop[i])),
                  (long long)w->s.extent[i]);
  for (uint32_t k = 0; k < w->s.nexpr; k++)
    n += snprintf(text + n, sizeof text - (size_t)n, "-> [%lld] %s ",
                  (long long)w->box[k], test_text(&w->p, w->s.expr[k]));
  if (w->s.pred)
    snprintf(text + n, sizeof text - (size_t)n, "where %s",
             test_text(&w->p, w->s.pred));
  return text;
}

/* Chains of any steps are bijections, and found to be. */
static void test_legal(void **state) {
  static world w;
  (void)state;
  itermap_start(&w, 1);
  uint32_t runs = test_runs(3000);
  for (uint32_t i = 0; i < runs; i++) {
    make_chain(&w, (uint32_t)test_pick(&w.r, 1, 7), i % 2);
    arith_map_kind kind = itermap_ask(&w);
    if (kind != ARITH_MAP_BIJECTIVE)
      fail_msg("run %u: %s: kind %d", i, what(&w), (int)kind);
  }
  itermap_end(&w);
}

/* ---- enumeration -------------------------------------------------------- */

static bool count_point(void *ud) {
  world *w = ud;
  uint32_t at = 0;
  if (w->s.pred && !test_eval(&w->p, w->s.pred, w->value)) return true;
  for (uint32_t k = 0; k < w->s.nexpr; k++) {
    int64_t v = test_eval(&w->p, w->s.expr[k], w->value);
    if (v < -MARGIN || v >= w->box[k] + MARGIN) {
      w->far = true;
      return true;
    }
    at = at * (uint32_t)(w->box[k] + 2 * MARGIN) + (uint32_t)(v + MARGIN);
  }
  w->hit[at] += w->hit[at] < 2;
  return true;
}

/* Is a point, counted with its margin, inside of the box? */
static bool in_box(const world *w, uint32_t at) {
  bool inside = true;
  for (uint32_t k = w->s.nexpr; k-- > 0;) {
    uint32_t width = (uint32_t)(w->box[k] + 2 * MARGIN);
    int64_t v = (int64_t)(at % width) - MARGIN;
    inside = inside && v >= 0 && v < w->box[k];
    at /= width;
  }
  return inside;
}

typedef struct facts {
  bool injective, covers, inside;
} facts;

static facts itermap_count(world *w) {
  facts f = {true, true, true};
  uint32_t points = 1;
  for (uint32_t k = 0; k < w->s.nexpr; k++)
    points *= (uint32_t)(w->box[k] + 2 * MARGIN);
  w->hit = calloc(points, 1);
  w->far = false;
  test_each_point(&w->p, w->s.n, w->s.loop, w->value, count_point, w);
  for (uint32_t i = 0; i < points; i++) {
    bool inside = in_box(w, i);
    f.injective = f.injective && w->hit[i] < 2;
    f.covers = f.covers && (!inside || w->hit[i]);
    f.inside = f.inside && (inside || !w->hit[i]);
  }
  f.inside = f.inside && !w->far;
  free(w->hit);
  return f;
}

static void itermap_check(world *w) {
  arith_map_kind kind = itermap_ask(w);
  if (kind == ARITH_MAP_NONE) return;
  facts f = itermap_count(w);
  bool both = kind == ARITH_MAP_BIJECTIVE;
  bool wrong = ((both || kind == ARITH_MAP_INJECTIVE) && !f.injective) ||
               ((both || kind == ARITH_MAP_SURJECTIVE) && !f.covers) ||
               (both && !f.inside);
  w->said[kind]++;
  if (wrong)
    fail_msg("%s: kind %d, but one to one %d, covers %d, inside %d", what(w),
             (int)kind, f.injective, f.covers, f.inside);
}

/* A chain with one part changed. */
static void perturb(world *w) {
  ir_program *p = &w->p;
  chain *s = &w->s;
  uint32_t k = (uint32_t)rng_below(&w->r, s->nexpr);
  uint32_t j = (uint32_t)rng_below(&w->r, s->nexpr);
  ir_expr l = ir_ref(p, s->loop[rng_below(&w->r, s->n)]), *e = &s->expr[k];
  ir_expr c = ir_index(p, test_pick(&w->r, 1, 6));
  switch (rng_below(&w->r, 10)) {
  case 0: *e = ir_add(p, *e, c); break;
  case 1: *e = ir_mul(p, *e, c); break;
  case 2: *e = ir_binary(p, IR_DIV, *e, c); break;
  case 3: *e = ir_binary(p, IR_MOD, *e, c); break;
  case 4: *e = ir_add(p, *e, ir_mul(p, l, c)); break;
  case 5: *e = ir_sub(p, ir_index(p, w->box[k] - 1), *e); break;
  case 6: *e = s->expr[j]; break;
  case 7: s->pred = 0; break;
  case 8: {
    ir_expr less = ir_binary(p, IR_LT, rng_below(&w->r, 2) ? *e : l, c);
    s->pred = s->pred ? ir_and(p, s->pred, less) : less;
    break;
  }
  default: w->box[k] += test_pick(&w->r, -1, 1); break;
  }
  if (w->box[k] < 1) w->box[k] = 1;
}

/* What is reported of changed chains is true. */
static void test_changed(void **state) {
  static world w;
  (void)state;
  itermap_start(&w, 2);
  uint32_t runs = test_runs(4000);
  for (uint32_t i = 0; i < runs; i++) {
    make_chain(&w, (uint32_t)test_pick(&w.r, 0, 5), i % 2);
    for (uint64_t k = rng_below(&w.r, 3) + 1; k > 0; k--) perturb(&w);
    itermap_check(&w);
  }
  fprintf(stderr, "injective %u, surjective %u, bijective %u of %u\n",
          w.said[ARITH_MAP_INJECTIVE], w.said[ARITH_MAP_SURJECTIVE],
          w.said[ARITH_MAP_BIJECTIVE], runs);
  for (int k = ARITH_MAP_INJECTIVE; k <= ARITH_MAP_BIJECTIVE; k++)
    assert_true(w.said[k] > runs / 1000);
  itermap_end(&w);
}

/* The same for random maps. */
static void test_random(void **state) {
  static world w;
  (void)state;
  itermap_start(&w, 3);
  uint32_t runs = test_runs(6000);
  for (uint32_t i = 0; i < runs; i++) {
    ir_program_reset(&w.p);
    arena_reset(&w.scratch);
    random_exprs x = {.p = &w.p, .r = &w.r, .made = true, .plain = i % 4};
    random_vars(&x, (uint32_t)test_pick(&w.r, 1, 4));
    w.s = (chain){.p = &w.p,
                  .r = &w.r,
                  .n = x.n,
                  .nexpr = (uint32_t)test_pick(&w.r, 1, 3)};
    memcpy(w.s.loop, x.var, x.n * sizeof *x.var);
    for (uint32_t k = 0; k < x.n; k++)
      w.s.extent[k] = w.p.var.v[x.var[k]].hi - w.p.var.v[x.var[k]].lo + 1;
    for (uint32_t k = 0; k < w.s.nexpr; k++) {
      ir_expr e = random_index(&x, (int)test_pick(&w.r, 0, 3));
      int64_t lo = ir_at(&w.p, e)->lo, hi = ir_at(&w.p, e)->hi;
      if (hi - lo > 40) {
        e = ir_binary(&w.p, IR_MOD, e, ir_index(&w.p, 12));
        lo = 0;
        hi = 11;
      }
      w.s.expr[k] = ir_sub(&w.p, e, ir_index(&w.p, lo));
      w.box[k] = hi - lo + 1;
    }
    if (i % 5 == 0) w.s.pred = random_condition(&x, 2);
    itermap_check(&w);
  }
  fprintf(stderr, "injective %u, surjective %u, bijective %u of %u\n",
          w.said[ARITH_MAP_INJECTIVE], w.said[ARITH_MAP_SURJECTIVE],
          w.said[ARITH_MAP_BIJECTIVE], runs);
  itermap_end(&w);
}

/* ---- inverses ----------------------------------------------------------- */

typedef struct inversion {
  world *w;
  ir_var result[CHAIN_EXPRS];
  ir_expr back[CHAIN_LOOPS];
} inversion;

static bool comes_back(void *ud) {
  inversion *f = ud;
  world *w = f->w;
  for (uint32_t k = 0; k < w->s.nexpr; k++)
    w->value[f->result[k]] = test_eval(&w->p, w->s.expr[k], w->value);
  for (uint32_t i = 0; i < w->s.n; i++)
    if (test_eval(&w->p, f->back[i], w->value) != w->value[w->s.loop[i]])
      return false;
  return true;
}

/* Exact chains can be inverted; others only if they are injective. */
static void test_inverse(void **state) {
  static world w;
  (void)state;
  itermap_start(&w, 4);
  uint32_t runs = test_runs(2000);
  for (uint32_t i = 0; i < runs; i++) {
    make_chain(&w, (uint32_t)test_pick(&w.r, 0, 6), true);
    bool changed = i % 4 == 0;
    if (changed) perturb(&w);
    inversion f = {.w = &w};
    ir_expr result[CHAIN_EXPRS];
    for (uint32_t k = 0; k < w.s.nexpr; k++) {
      ir_expr e = w.s.expr[k];
      f.result[k] =
          ir_var_new(&w.p, IR_VAR_FORMAL, ir_name(&w.p, "r"), IR_INDEX,
                     ir_at(&w.p, e)->lo, ir_at(&w.p, e)->hi);
      result[k] = ir_ref(&w.p, f.result[k]);
    }
    bool done = arith_inverse(&w.p, &w.scratch, w.s.n, w.s.loop, NULL,
                              w.s.nexpr, w.s.expr, result, f.back);
    if (!done && !changed) fail_msg("run %u: %s: no inverse", i, what(&w));
    if (done &&
        !test_each_point(&w.p, w.s.n, w.s.loop, w.value, comes_back, &f))
      fail_msg("run %u: %s: wrong inverse", i, what(&w));
  }
  itermap_end(&w);
}

/* ---- divisions ---------------------------------------------------------- */

typedef struct division {
  world *w;
  ir_expr outer[CHAIN_EXPRS], inner[CHAIN_EXPRS], extent[CHAIN_EXPRS];
} division;

static bool is_divided(void *ud) {
  division *d = ud;
  world *w = d->w;
  for (uint32_t k = 0; k < w->s.nexpr; k++) {
    int64_t v = test_eval(&w->p, w->s.expr[k], w->value);
    int64_t o = test_eval(&w->p, d->outer[k], w->value);
    int64_t i = test_eval(&w->p, d->inner[k], w->value);
    int64_t n = test_eval(&w->p, d->extent[k], w->value);
    if (v != o * n + i || i < 0 || i >= n) return false;
  }
  return true;
}

static void test_divide(void **state) {
  static world w;
  (void)state;
  itermap_start(&w, 5);
  uint32_t runs = test_runs(3000), divided = 0;
  for (uint32_t i = 0; i < runs; i++) {
    make_chain(&w, (uint32_t)test_pick(&w.r, 0, 4), i % 2);
    if (i % 4 == 0) perturb(&w);
    division d = {.w = &w};
    uint32_t n = (uint32_t)test_pick(&w.r, 0, w.s.n), from = w.s.n - n;
    if (!arith_divide(&w.p, &w.scratch, w.s.nexpr, w.s.expr, n, w.s.loop + from,
                      d.outer, d.inner, d.extent))
      continue;
    divided++;
    for (uint32_t k = 0; k < w.s.nexpr; k++)
      for (uint32_t l = 0; l < w.s.n; l++)
        assert_false(
            ir_uses_var(&w.p, l < from ? d.inner[k] : d.outer[k], w.s.loop[l]));
    if (!test_each_point(&w.p, w.s.n, w.s.loop, w.value, is_divided, &d))
      fail_msg("run %u: %s: %s and %s", i, what(&w),
               test_text(&w.p, d.outer[0]), test_text(&w.p, d.inner[0]));
  }
  fprintf(stderr, "divided: %u of %u\n", divided, runs);
  assert_true(divided > runs / 8);
  itermap_end(&w);
}

/* Symbolic extents are carried: as they are, and with a constant split off. */
static void test_symbolic(void **state) {
  static world w;
  (void)state;
  itermap_start(&w, 6);
  ir_program *p = &w.p;
  ir_var size =
      ir_var_new(p, IR_VAR_SIZE, ir_name(p, "n"), IR_INDEX, 1, INT64_MAX);
  ir_var v[2] = {
      ir_var_new(p, IR_VAR_LOOP, ir_name(p, "i"), IR_INDEX, 0, INT64_MAX),
      ir_var_new(p, IR_VAR_LOOP, ir_name(p, "j"), IR_INDEX, 0, 7)};
  ir_expr n = ir_ref(p, size), eight = ir_index(p, 8), zero = ir_index(p, 0);
  ir_expr i = ir_ref(p, v[0]), j = ir_ref(p, v[1]);
  ir_expr lo[2] = {zero, zero}, in[2] = {n, eight};
  ir_expr both[2] = {j, i}, box[2] = {eight, n};
  assert_int_equal(arith_map(p, &w.scratch, 2, v, in, 2, both, lo, box, 0),
                   ARITH_MAP_BIJECTIVE);
  ir_expr sum = ir_add(p, ir_mul(p, i, eight), j);
  ir_expr all = ir_mul(p, n, eight);
  assert_int_equal(arith_map(p, &w.scratch, 2, v, in, 1, &sum, lo, &all, 0),
                   ARITH_MAP_BIJECTIVE);
  assert_int_equal(arith_map(p, &w.scratch, 2, v, in, 1, &sum, lo, &n, 0),
                   ARITH_MAP_INJECTIVE);
  ir_expr wrong = ir_add(p, ir_mul(p, i, ir_index(p, 7)), j);
  assert_int_equal(arith_map(p, &w.scratch, 2, v, in, 1, &wrong, lo, &all, 0),
                   ARITH_MAP_NONE);
  itermap_end(&w);
}

/* Rotates binding k by the others, and by a constant. */
static void rotate(world *w, uint32_t k) {
  ir_program *p = &w->p;
  ir_expr e = w->s.expr[k];
  for (uint32_t j = 0; j < w->s.nexpr; j++)
    if (j != k) {
      ir_expr by = ir_mul(p, w->s.expr[j], ir_index(p, test_pick(&w->r, 0, 3)));
      e = rng_below(&w->r, 4) ? ir_add(p, e, by) : ir_sub(p, by, e);
    }
  e = ir_add(p, e, ir_index(p, test_pick(&w->r, 0, 5)));
  w->s.expr[k] = ir_binary(p, IR_MOD, e, ir_index(p, w->box[k]));
}

/* Layouts that rotate rows are bijections: found, inverted, and changed ones
 * not taken for such. */
static void test_rotated(void **state) {
  static world w;
  (void)state;
  itermap_start(&w, 7);
  uint32_t runs = test_runs(2000), found = 0;
  for (uint32_t i = 0; i < runs; i++) {
    make_chain(&w, (uint32_t)test_pick(&w.r, 0, i % 2 ? 3 : 0), true);
    rotate(&w, (uint32_t)rng_below(&w.r, w.s.nexpr));
    if (i % 4 == 3) perturb(&w);
    itermap_check(&w);
    bool is = itermap_ask(&w) == ARITH_MAP_BIJECTIVE;
    if (i % 2 == 0 && !is) fail_msg("run %u: %s: not found", i, what(&w));
    found += is;
  }
  fprintf(stderr, "rotated: bijective %u of %u\n", found, runs);
  itermap_end(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_legal),   cmocka_unit_test(test_changed),
      cmocka_unit_test(test_random),  cmocka_unit_test(test_inverse),
      cmocka_unit_test(test_divide),  cmocka_unit_test(test_symbolic),
      cmocka_unit_test(test_rotated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
