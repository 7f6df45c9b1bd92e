/* SPDX-License-Identifier: Apache-2.0
 * The samplers: spaces that are counted, drawn and enumerated exactly. */
#include "ir/edit.h"
#include "schedule/factor.h"
#include "support/scheduled.h"
#include <math.h>

/* ---- factorisations ----------------------------------------------------- */

/* Ordered factorisations of x into `parts`, the last at most `limit`, by
 * trying everything. */
static uint64_t brute(int64_t x, uint32_t parts, int64_t limit) {
  if (parts == 1) return x <= limit;
  uint64_t n = 0;
  for (int64_t d = 1; d <= x; d++)
    if (x % d == 0) n += brute(x / d, parts - 1, limit);
  return n;
}

static void test_count(void **state) {
  (void)state;
  for (int64_t x = 1; x <= 130; x++)
    for (uint32_t parts = 1; parts <= 4; parts++)
      for (int64_t limit = 1; limit <= x; limit += 1 + limit / 3) {
        factor_primes f;
        factor_primes_of(x, &f);
        if (parts == 1 && limit < x) continue;
        assert_int_equal((uint64_t)factor_ways(&f, parts, limit),
                         brute(x, parts, limit));
      }
}

/* All ways are different, multiply to x and keep the limit. */
static void check_ways(int64_t x, uint32_t parts, int64_t limit) {
  factor_primes f;
  factor_primes_of(x, &f);
  uint64_t n = (uint64_t)factor_ways(&f, parts, limit);
  int64_t *all = test_malloc(n * parts * sizeof *all);
  for (uint64_t i = 0; i < n; i++) {
    int64_t product = 1, *d = all + i * parts;
    factor_way(&f, parts, limit, i, d);
    for (uint32_t k = 0; k < parts; k++) product *= d[k];
    assert_int_equal(product, x);
    assert_true(d[parts - 1] <= limit);
    for (uint64_t j = 0; j < i; j++)
      assert_true(memcmp(all + j * parts, d, parts * sizeof *d) != 0);
  }
  test_free(all);
}

static void test_ways(void **state) {
  (void)state;
  check_ways(1, 3, 1);
  check_ways(60, 3, 8);
  check_ways(64, 4, 16);
  check_ways(97, 2, 50);
  check_ways(360, 2, INT64_MAX);
}

/* The same with an inner part, by trying everything. */
static uint64_t brute_part(int64_t x, uint32_t parts, uint32_t pos,
                           int64_t inner) {
  if (!pos) return x % inner ? 0 : brute(x, parts, INT64_MAX);
  uint64_t n = 0;
  for (int64_t d = 1; d <= x; d++)
    if (x % d == 0) n += brute_part(x / d, parts - 1, pos - 1, inner);
  return n;
}

static void check_part_ways(int64_t x, uint32_t parts, uint32_t pos,
                            int64_t inner) {
  factor_primes f;
  factor_primes_of(x, &f);
  uint64_t n = (uint64_t)factor_part_ways(&f, parts, pos, inner);
  assert_int_equal(n, brute_part(x, parts, pos, inner));
  int64_t *all = test_malloc(n * parts * sizeof *all);
  for (uint64_t i = 0; i < n; i++) {
    int64_t product = 1, inside = 1, *d = all + i * parts;
    factor_part_way(&f, parts, pos, inner, i, d);
    for (uint32_t k = 0; k < parts; k++) product *= d[k];
    for (uint32_t k = pos; k < parts; k++) inside *= d[k];
    assert_int_equal(product, x);
    assert_int_equal(inside % inner, 0);
    for (uint64_t j = 0; j < i; j++)
      assert_true(memcmp(all + j * parts, d, parts * sizeof *d) != 0);
  }
  test_free(all);
}

static void test_part_ways(void **state) {
  (void)state;
  for (int64_t x = 1; x <= (TEST_CHECKED ? 36 : 72); x++)
    for (int64_t inner = 1; inner <= x; inner++)
      for (uint32_t parts = 1; parts <= 4 && x % inner == 0; parts++)
        for (uint32_t pos = 0; pos < parts; pos++)
          check_part_ways(x, parts, pos, inner);
}

/* Large ones neither overflow nor take long. */
static void test_large(void **state) {
  (void)state;
  factor_primes f;
  int64_t d[32], product = 1, x = (int64_t)1 << 43;
  factor_primes_of(x, &f);
  rng r;
  rng_init(&r, 7, 0);
  factor_count n = factor_ways(&f, 32, 64);
  factor_way(&f, 32, 64, factor_below(&r, n), d);
  for (int k = 0; k < 32; k++) product *= d[k];
  assert_int_equal(product, x);
  x = 6469693230; /* ten primes: 31^10 ways and more */
  factor_primes_of(x, &f);
  assert_true(factor_ways(&f, 32, INT64_MAX) > (factor_count)1 << 49);
  factor_primes_of(17592186044399, &f); /* a prime below 2^44 */
  assert_int_equal(f.n, 1);
  assert_int_equal(factor_divisors(&f, 100), 1);
}

/* ---- any sampler over small spaces -------------------------------------- */

typedef struct space {
  scheduled *t;
  const sch_sampler *s;
  const void *args;
  uint32_t n;
  uint64_t count;
} space;

static uint64_t sample_index_of(const space *p, const int64_t *d) {
  int64_t other[32];
  for (uint64_t i = 0; i < p->count; i++) {
    p->s->at(&p->t->s, p->args, i, other);
    if (!memcmp(other, d, p->n * sizeof *d)) return i;
  }
  fail_msg("not a decision of the space");
  return 0;
}

/* What every sampler promises: decisions are admitted, probabilities sum to
 * one and are those of draws, neighbours and repairs are decisions. */
static void check_space(space *p) {
  sch_state *st = &p->t->s;
  int64_t d[32], e[32];
  double sum = 0;
  rng r;
  rng_init(&r, 11, 3);
  assert_true(p->s->size(st, p->args, &p->n));
  p->count = p->s->count(st, p->args);
  assert_true(p->count > 0 && p->count <= 64);
  uint32_t hits[64] = {0}, tries = TEST_DRAWS(20000);
  for (uint64_t i = 0; i < p->count; i++) {
    p->s->at(st, p->args, i, d);
    assert_int_equal(sample_index_of(p, d), i);
    assert_true(p->s->admit(st, p->args, p->n, d));
    sum += exp(p->s->logp(st, p->args, d));
    if (p->s->neighbour(st, p->args, d, &r, e)) {
      assert_true(sample_index_of(p, e) != i);
      assert_true(p->s->admit(st, p->args, p->n, e));
    }
    p->s->repair(st, p->args, p->n, d, e);
    assert_memory_equal(d, e, p->n * sizeof *d);
    double x[16];
    uint32_t k = p->s->embed(st, p->args, d, x);
    assert_true(k > 0 && k <= 16);
  }
  assert_true(fabs(sum - 1) < 1e-9);
  for (uint32_t i = 0; i < tries; i++) {
    p->s->draw(st, p->args, &r, d);
    hits[sample_index_of(p, d)]++;
  }
  for (uint64_t i = 0; i < p->count; i++) {
    p->s->at(st, p->args, i, d);
    double q = exp(p->s->logp(st, p->args, d)), mean = q * tries;
    assert_true(fabs(hits[i] - mean) <= 6 * sqrt(mean * (1 - q)) + 1e-9);
  }
}

/* The layouts of the argument structs, from the declarations. */
static void sample_put(const sch_prim *prim, char *args, const char *name,
                       const void *v, size_t size) {
  for (uint32_t i = 0; i < prim->nspecs; i++)
    if (!strcmp(prim->specs[i].name, name)) {
      memcpy(args + prim->specs[i].off, v, size);
      return;
    }
  fail_msg("no operand %s", name);
}

static void test_tile(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 12, 97, 64);
  ir_stmt c = scheduled_get(&t, "C");
  const sch_prim *prim = sch_find_prim("sample_perfect_tile");
  static const int64_t cases[][3] = {{0, 3, 4},  {0, 2, 16}, {0, 3, -1},
                                     {1, 2, 16}, {1, 2, -1}, {2, 3, 8},
                                     {2, 2, 1},  {0, 1, 12}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    _Alignas(16) char args[SCH_MAX_ARGS] = {0};
    ir_stmt loop = scheduled_loop(&t, c, (uint32_t)cases[i][0]);
    sample_put(prim, args, "loop", &loop, sizeof loop);
    sample_put(prim, args, "n", &cases[i][1], 8);
    sample_put(prim, args, "max_innermost_factor", &cases[i][2], 8);
    space p = {.t = &t, .s = prim->sampler, .args = args};
    check_space(&p);
  }
  scheduled_end(&t);
}

static void test_tile_moves(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 64, 48, 8);
  ir_stmt c = scheduled_get(&t, "C"), i = scheduled_loop(&t, c, 0);
  DO(&t, sample_perfect_tile, AT(loop, i), NUM(n, 4),
     INTS(decision, 2, 4, 1, 8));
  assert_int_equal(t.nout, 4);
  assert_int_equal(t.value[3], 8);
  REFUSED(&t, TILE_PRODUCT, sample_perfect_tile, AT(loop, i), NUM(n, 4),
          INTS(decision, 2, 4, 1, 4));
  assert_string_equal(scheduled_why(&t, "sample_perfect_tile"),
                      "sample_perfect_tile: the factors multiply to 32, and "
                      "the extent of loop a is 64");
  REFUSED(&t, TILE_PRODUCT_LARGE, sample_perfect_tile, AT(loop, i), NUM(n, 4),
          INTS(decision, (int64_t)1 << 62, 4, 2, 8));
  assert_string_equal(scheduled_why(&t, "sample_perfect_tile"),
                      "sample_perfect_tile: the factors multiply to more than "
                      "the extent 64 of loop a");
  REFUSED(&t, TILE_FACTOR, sample_perfect_tile, AT(loop, i), NUM(n, 4),
          INTS(decision, (int64_t)1 << 62, 4, 2, 0));
  REFUSED(&t, TILE_COUNT, sample_perfect_tile, AT(loop, i), NUM(n, 4),
          INTS(decision, 8, 8));
  REFUSED(&t, TILE_FACTOR, sample_perfect_tile, AT(loop, i), NUM(n, 2),
          INTS(decision, -8, -8));
  REFUSED(&t, TILE_INNERMOST, sample_perfect_tile, AT(loop, i), NUM(n, 2),
          INTS(decision, 2, 32));
  REFUSED(&t, TILE_PARTS, sample_perfect_tile, AT(loop, i), NUM(n, 0));
  REFUSED(&t, TILE_PARTS, sample_perfect_tile, AT(loop, i), NUM(n, 33));
  REFUSED(&t, TILE_LIMIT, sample_perfect_tile, AT(loop, i), NUM(n, 2),
          NUM(max_innermost_factor, 0));
  REFUSED(&t, TILE_IMPOSSIBLE, sample_perfect_tile, AT(loop, i), NUM(n, 1));
  ir_expr extent = ir_st(&t.p, i)->extent;
  ir_st(&t.p, i)->extent = ir_index(&t.p, 0);
  REFUSED(&t, EXTENT_EMPTY, sample_perfect_tile, AT(loop, i), NUM(n, 2));
  ir_st(&t.p, i)->extent = ir_index(&t.p, (int64_t)1 << 45);
  REFUSED(&t, TILE_EXTENT, sample_perfect_tile, AT(loop, i), NUM(n, 2));
  ir_st(&t.p, i)->extent = extent;
  scheduled_end(&t);
}

static void test_part(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 12, 97, 64);
  ir_stmt c = scheduled_get(&t, "C");
  const sch_prim *prim = sch_find_prim("sample_partitioned_tile");
  static const int64_t cases[][4] = {
      {0, 3, 1, 4}, {0, 3, 2, 2},  {0, 2, 0, 1},  {1, 2, 1, 97}, {1, 2, 1, 1},
      {2, 3, 2, 8}, {2, 2, 1, 64}, {0, 1, 0, 12}, {0, 4, 2, 6}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    _Alignas(16) char args[SCH_MAX_ARGS] = {0};
    ir_stmt loop = scheduled_loop(&t, c, (uint32_t)cases[i][0]);
    sample_put(prim, args, "loop", &loop, sizeof loop);
    sample_put(prim, args, "n", &cases[i][1], 8);
    sample_put(prim, args, "partition_pos", &cases[i][2], 8);
    sample_put(prim, args, "innerpart_factor", &cases[i][3], 8);
    space p = {.t = &t, .s = prim->sampler, .args = args};
    check_space(&p);
  }
  scheduled_end(&t);
}

static void test_part_moves(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 48, 48, 8);
  ir_stmt i = scheduled_loop(&t, scheduled_get(&t, "C"), 0);
  DO(&t, sample_partitioned_tile, AT(loop, i), NUM(n, 3), NUM(partition_pos, 1),
     NUM(innerpart_factor, 4), INTS(decision, 6, 2, 4));
  assert_int_equal(t.value[0], 6);
  REFUSED(&t, TILE_INNER_PART, sample_partitioned_tile, AT(loop, i), NUM(n, 3),
          NUM(partition_pos, 1), NUM(innerpart_factor, 4),
          INTS(decision, 24, 1, 2));
  assert_string_equal(scheduled_why(&t, "sample_partitioned_tile"),
                      "sample_partitioned_tile: the factors from number 1 on, "
                      "counted from 0, do not multiply to a multiple of 4");
  REFUSED(&t, TILE_PRODUCT, sample_partitioned_tile, AT(loop, i), NUM(n, 2),
          INTS(decision, 2, 3));
  REFUSED(&t, TILE_INNER_FACTOR, sample_partitioned_tile, AT(loop, i),
          NUM(n, 3), NUM(partition_pos, 1), NUM(innerpart_factor, 5));
  REFUSED(&t, TILE_INNER_FACTOR, sample_partitioned_tile, AT(loop, i),
          NUM(n, 3), NUM(partition_pos, 1), NUM(innerpart_factor, 0));
  REFUSED(&t, TILE_PARTITION, sample_partitioned_tile, AT(loop, i), NUM(n, 3),
          NUM(partition_pos, 3), NUM(innerpart_factor, 4));
  REFUSED(&t, TILE_PARTITION, sample_partitioned_tile, AT(loop, i), NUM(n, 3),
          NUM(partition_pos, -1), NUM(innerpart_factor, 4));
  scheduled_end(&t);
}

static void part_repaired(scheduled *t, int64_t pos, uint32_t n,
                          const int64_t *d, const int64_t *want) {
  _Alignas(16) char args[SCH_MAX_ARGS] = {0};
  const sch_prim *prim = sch_find_prim("sample_partitioned_tile");
  ir_stmt loop = scheduled_loop(t, scheduled_get(t, "C"), 0);
  int64_t parts = 3, inner = 8, out[3];
  sample_put(prim, args, "loop", &loop, sizeof loop);
  sample_put(prim, args, "n", &parts, 8);
  sample_put(prim, args, "partition_pos", &pos, 8);
  sample_put(prim, args, "innerpart_factor", &inner, 8);
  prim->sampler->repair(&t->s, args, n, d, out);
  assert_true(prim->sampler->admit(&t->s, args, 3, out));
  for (int k = 0; k < 3; k++) assert_int_equal(out[k], want[k]);
}

static void test_part_repair(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 48, 48, 8);
  part_repaired(&t, 1, 3, (int64_t[]){3, 4, 4}, (int64_t[]){3, 4, 4});
  part_repaired(&t, 1, 3, (int64_t[]){9, 4, 4}, (int64_t[]){3, 4, 4});
  part_repaired(&t, 1, 3, (int64_t[]){12, 2, 2}, (int64_t[]){6, 8, 1});
  part_repaired(&t, 2, 3, (int64_t[]){1, 1, 40}, (int64_t[]){1, 1, 48});
  part_repaired(&t, 2, 3, (int64_t[]){1, 48, 1}, (int64_t[]){6, 1, 8});
  part_repaired(&t, 1, 0, NULL, (int64_t[]){6, 8, 1});
  part_repaired(&t, 0, 0, NULL, (int64_t[]){48, 1, 1});
  part_repaired(&t, 1, 3, (int64_t[]){INT64_MIN, INT64_MAX, INT64_MAX},
                (int64_t[]){6, 8, 1});
  scheduled_end(&t);
}

static void repaired(scheduled *t, uint32_t n, const int64_t *d,
                     const int64_t *want) {
  _Alignas(16) char args[SCH_MAX_ARGS] = {0};
  const sch_prim *prim = sch_find_prim("sample_perfect_tile");
  ir_stmt loop = scheduled_loop(t, scheduled_get(t, "C"), 0);
  int64_t parts = 3, limit = 16, out[3];
  sample_put(prim, args, "loop", &loop, sizeof loop);
  sample_put(prim, args, "n", &parts, 8);
  sample_put(prim, args, "max_innermost_factor", &limit, 8);
  prim->sampler->repair(&t->s, args, n, d, out);
  assert_true(prim->sampler->admit(&t->s, args, 3, out));
  for (int k = 0; k < 3; k++) assert_int_equal(out[k], want[k]);
}

static void test_tile_repair(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 48, 48, 8);
  repaired(&t, 3, (int64_t[]){2, 3, 8}, (int64_t[]){2, 3, 8});
  repaired(&t, 3, (int64_t[]){4, 4, 4}, (int64_t[]){3, 4, 4});
  repaired(&t, 3, (int64_t[]){1, 5, 4}, (int64_t[]){1, 12, 4});
  repaired(&t, 3, (int64_t[]){1, 1, 5}, (int64_t[]){3, 1, 16});
  repaired(&t, 2, (int64_t[]){6, 2}, (int64_t[]){4, 6, 2});
  repaired(&t, 0, NULL, (int64_t[]){48, 1, 1});
  repaired(&t, 5, (int64_t[]){9, 9, 9, 6, 2}, (int64_t[]){4, 6, 2});
  repaired(&t, 3, (int64_t[]){0, -3, INT64_MIN}, (int64_t[]){48, 1, 1});
  scheduled_end(&t);
}

static void test_categorical(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 4, 4);
  scheduled_get(&t, "C");
  const sch_prim *prim = sch_find_prim("sample_categorical");
  const int64_t c[] = {0, 16, 64, -512};
  const double w[] = {0.5, 0.25, 0.2, 0.05};
  sch_ints candidates = {4, c};
  sch_reals probs = {4, w};
  _Alignas(16) char args[SCH_MAX_ARGS] = {0};
  sample_put(prim, args, "candidates", &candidates, sizeof candidates);
  space p = {.t = &t, .s = prim->sampler, .args = args};
  check_space(&p);
  sample_put(prim, args, "probs", &probs, sizeof probs);
  check_space(&p);
  DO(&t, sample_categorical, INTS(candidates, 3, 5, 9), NUM(decision, 2));
  assert_int_equal(t.value[0], 9);
  for (int k = 0; k < 50; k++) {
    DO(&t, sample_categorical, INTS(candidates, 3, 5, 9),
       REALS(probs, 0, 1e-30, 0));
    assert_int_equal(t.value[0], 5);
  }
  REFUSED(&t, CHOICE_OUTSIDE, sample_categorical, INTS(candidates, 3, 5),
          NUM(decision, 2));
  REFUSED(&t, CANDIDATES_EMPTY, sample_categorical, {.name = "candidates"});
  REFUSED(&t, PROBS_COUNT, sample_categorical, INTS(candidates, 3, 5),
          REALS(probs, 1));
  REFUSED(&t, PROBS_VALUE, sample_categorical, INTS(candidates, 3, 5),
          REALS(probs, 1, -1));
  REFUSED(&t, PROBS_VALUE, sample_categorical, INTS(candidates, 3, 5),
          REALS(probs, 0, 0));
  REFUSED(&t, PROBS_VALUE, sample_categorical, INTS(candidates, 3, 5),
          REALS(probs, 1, (double)NAN));
  scheduled_end(&t);
}

static void test_location(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 12, 6, 4);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  DO(&t, add_unit_loop, AT(block_or_loop, d));
  const sch_prim *prim = sch_find_prim("sample_compute_location");
  _Alignas(16) char args[SCH_MAX_ARGS] = {0};
  sample_put(prim, args, "block", &c, sizeof c);
  space p = {.t = &t, .s = prim->sampler, .args = args};
  check_space(&p);
  /* A reduction is not inlined: stay, and two loops. */
  assert_int_equal(p.count, 3);
  sample_put(prim, args, "block", &d, sizeof d);
  check_space(&p);
  assert_int_equal(p.count, 1);
  DO(&t, sample_compute_location, AT(block, c), NUM(decision, 1));
  assert_int_equal(t.out[0], scheduled_loop(&t, d, 1));
  DO(&t, sample_compute_location, AT(block, c), NUM(decision, -1));
  assert_int_equal(t.out[0], SCH_ROOT_MARK);
  REFUSED(&t, PLACE_NOT_POSSIBLE, sample_compute_location, AT(block, c),
          NUM(decision, 2));
  REFUSED(&t, PLACE_NOT_POSSIBLE, sample_compute_location, AT(block, c),
          NUM(decision, -2));
  REFUSED(&t, BLOCK_IS_ROOT, sample_compute_location,
          AT(block, scheduled_get(&t, "root")));
  sample_put(prim, args, "block", &c, sizeof c);
  static const int64_t stale[] = {7, 1, 0, -1, -2}, want[] = {1, 1, 0, -1, -1};
  for (int k = 0; k < 5; k++) {
    int64_t out;
    prim->sampler->repair(&t.s, args, 1, &stale[k], &out);
    assert_int_equal(out, want[k]);
  }
  scheduled_end(&t);
}

/* Under a reduction loop, too, where a spatial loop stands further in. */
static void test_location_reduce(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  static const int64_t ab[] = {16, 16}, ijk[] = {16, 16, 16};
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, ab);
  ir_buf b = scheduled_buf(&t, "B", IR_ROLE_INPUT, 2, ab);
  ir_buf p = scheduled_buf(&t, "P", IR_ROLE_LOCAL, 2, ab);
  ir_buf c = scheduled_buf(&t, "C", IR_ROLE_OUTPUT, 2, ab);
  ir_stmt make = scheduled_block(&t, "P", "SS", ab);
  scheduled_store(
      &t, p, t.it[0], t.it[1],
      ir_add(&t.p, scheduled_load(&t, a, t.it[0], t.it[1]),
             ir_real(&t.p, (tess_dtype){TESS_DTYPE_FLOAT, 32, 1}, 2)),
      false);
  ir_stmt use = scheduled_block(&t, "C", "SSR", ijk);
  scheduled_store(&t, c, t.it[0], t.it[1],
                  ir_mul(&t.p, scheduled_load(&t, p, t.it[0], t.it[2]),
                         scheduled_load(&t, b, t.it[2], t.it[1])),
                  true);
  scheduled_finish(&t);
  ir_stmt i = scheduled_loop(&t, use, 0), j = scheduled_loop(&t, use, 1);
  ir_stmt k = scheduled_loop(&t, use, 2), i1, k0, k1;
  DO(&t, split, AT(loop, i), INTS(factors, 4, 4));
  i = t.out[0];
  i1 = t.out[1];
  DO(&t, split, AT(loop, k), INTS(factors, 4, 4));
  k0 = t.out[0];
  k1 = t.out[1];
  DO(&t, reorder, LIST(ordered_loops, i, j, k0, i1, k1));
  const sch_prim *prim = sch_find_prim("sample_compute_location");
  _Alignas(16) char args[SCH_MAX_ARGS] = {0};
  sample_put(prim, args, "block", &make, sizeof make);
  space s = {.t = &t, .s = prim->sampler, .args = args};
  check_space(&s);
  /* Inline, stay, i, j and k0. */
  assert_int_equal(s.count, 5);
  DO(&t, sample_compute_location, AT(block, make), NUM(decision, 2));
  assert_int_equal(t.out[0], k0);
  REFUSED(&t, PLACE_NOT_POSSIBLE, sample_compute_location, AT(block, make),
          NUM(decision, 3));
  REFUSED(&t, PLACE_NOT_POSSIBLE, sample_compute_location, AT(block, make),
          NUM(decision, 4));
  REFUSED(&t, PLACE_NOT_POSSIBLE, sample_compute_location, AT(block, make),
          NUM(decision, 5));
  DO(&t, reorder, LIST(ordered_loops, i1, k0));
  check_space(&s);
  /* The loops of the reduction are the innermost ones now. */
  assert_int_equal(s.count, 5);
  REFUSED(&t, PLACE_NOT_POSSIBLE, sample_compute_location, AT(block, make),
          NUM(decision, 3));
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_count),
      cmocka_unit_test(test_ways),
      cmocka_unit_test(test_part_ways),
      cmocka_unit_test(test_part),
      cmocka_unit_test(test_part_moves),
      cmocka_unit_test(test_part_repair),
      cmocka_unit_test(test_large),
      cmocka_unit_test(test_tile),
      cmocka_unit_test(test_tile_moves),
      cmocka_unit_test(test_tile_repair),
      cmocka_unit_test(test_categorical),
      cmocka_unit_test(test_location),
      cmocka_unit_test(test_location_reduce),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
