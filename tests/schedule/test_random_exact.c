/* SPDX-License-Identifier: Apache-2.0
 * Random moves over triangles, under predicates and after splits, where the
 * quick rules mostly leave it open what runs: what is accepted computes the
 * same, by the oracle. */
#include "ir/edit.h"
#include "support/expr.h"
#include "support/moved.h"

enum { PROGRAMS = TEST_DRAWS(300), N = 5, PAD = 2, WIDE = N + 2 * PAD };

static int64_t random_exact_below(rng *r, int64_t n) {
  return (int64_t)rng_below(r, (uint64_t)n);
}

static ir_expr loop_of(scheduled *t, ir_stmt l) {
  return ir_ref(&t->p, ir_st(&t->p, l)->var);
}

/* Cuts the square that the block runs over: the inner loop's end depends on
 * the outer one, or some points are left out. */
static void cut(scheduled *t, rng *r, ir_stmt block) {
  ir_program *p = &t->p;
  ir_stmt col = ir_st(p, block)->parent, row = ir_st(p, col)->parent;
  ir_expr i = loop_of(t, row), j = loop_of(t, col), e;
  switch (random_exact_below(r, 5)) {
  case 0:
    e = scheduled_plus(t, i, 1);
    ir_st(p, col)->extent = e;
    break;
  case 1:
    e = ir_sub(p, ir_index(p, N), i);
    ir_st(p, col)->extent = e;
    break;
  case 2:
    e = ir_binary(p, IR_MOD, ir_add(p, i, j), ir_index(p, 2));
    e = ir_binary(p, IR_EQ, e, ir_index(p, random_exact_below(r, 2)));
    ir_blk(p, block)->pred = e;
    break;
  case 3:
    e = ir_binary(p, IR_LE, i, j);
    ir_blk(p, block)->pred = e;
    break;
  default: break;
  }
}

/* Iter k counts the other loop, or backwards. */
static void turn(scheduled *t, rng *r, ir_stmt block) {
  ir_program *p = &t->p;
  ir_stmt col = ir_st(p, block)->parent, row = ir_st(p, col)->parent;
  uint32_t at = ir_blk(p, block)->iters.at;
  ir_expr i = loop_of(t, row), j = loop_of(t, col);
  bool reduces = p->iter.v[at + 1].kind == IR_REDUCE;
  switch (random_exact_below(r, reduces ? 2 : 4)) {
  case 0: i = ir_sub(p, ir_index(p, N - 1), i); break;
  case 1: break;
  case 2: j = ir_sub(p, ir_index(p, N - 1), j); break;
  default: {
    ir_expr was = i;
    i = j;
    j = was;
  }
  }
  p->iter.v[at].bind = i;
  p->iter.v[at + 1].bind = j;
}

static ir_expr near(scheduled *t, rng *r, ir_buf b, bool far) {
  ir_expr i = t->it[0], j = t->it[1];
  if (far && !random_exact_below(r, 5)) i = t->it[1], j = t->it[0];
  i = scheduled_plus(t, i, PAD + (far ? random_exact_below(r, 3) - 1 : 0));
  j = scheduled_plus(t, j, PAD + (far ? random_exact_below(r, 3) - 1 : 0));
  return scheduled_load(t, b, i, j);
}

/* Stages: maybe ones everywhere, then P, Q of P, and R of Q (and P). */
static void random_exact_describe(scheduled *t, rng *r, ir_stmt *stage,
                                  uint32_t *n) {
  static const int64_t square[2] = {N, N}, wide[2] = {WIDE, WIDE};
  static const char *const names[] = {"P", "Q", "R"};
  ir_program *p = &t->p;
  ir_buf b[4];
  bool sums = !random_exact_below(r, 3);
  const int64_t row = N;
  b[0] = scheduled_buf(t, "A", IR_ROLE_INPUT, 2, wide);
  *n = 2 + (uint32_t)random_exact_below(r, 2);
  for (uint32_t k = 1; k <= *n; k++)
    b[k] =
        scheduled_buf(t, names[k - 1], k < *n ? IR_ROLE_LOCAL : IR_ROLE_OUTPUT,
                      k == *n && sums ? 1 : 2, k == *n && sums ? &row : wide);
  for (uint32_t k = 1; k < *n; k++) {
    if (random_exact_below(r, 2)) continue;
    scheduled_block(t, arena_printf(&t->texts, "ones%u", k), "SS", wide);
    scheduled_store(t, b[k], t->it[0], t->it[1],
                    ir_real(p, (tess_dtype){TESS_DTYPE_FLOAT, 32, 1}, 1),
                    false);
  }
  for (uint32_t k = 1; k <= *n; k++) {
    bool sum = k == *n && sums;
    stage[k - 1] = scheduled_block(t, names[k - 1], sum ? "SR" : "SS", square);
    ir_expr e = near(t, r, b[k - 1], k > 1 && random_exact_below(r, 2));
    if (k > 1 && random_exact_below(r, 2))
      e = ir_binary(
          p, IR_ADD, e,
          near(t, r, b[random_exact_below(r, k)], !random_exact_below(r, 2)));
    if (sum)
      scheduled_store(t, b[k], t->it[0], 0, e, true);
    else
      scheduled_store(t, b[k], scheduled_plus(t, t->it[0], PAD),
                      scheduled_plus(t, t->it[1], PAD), e, false);
    turn(t, r, stage[k - 1]);
    cut(t, r, stage[k - 1]);
  }
  scheduled_finish(t);
}

static void disturb(scheduled *t, rng *r, const ir_stmt *stage, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) {
    ir_stmt l = scheduled_loop(t, stage[k], (uint32_t)random_exact_below(r, 2));
    if (!random_exact_below(r, 3))
      (void)RUN(t, split, AT(loop, l), INTS(factors, SCH_AUTO, 2));
  }
  if (!random_exact_below(r, 3))
    (void)RUN(t, merge,
              LIST(loops, scheduled_loop(t, stage[0], 0),
                   scheduled_loop(t, stage[1], 0)));
}

typedef struct move {
  uint32_t block, under, depth;
  bool reverse, units;
} move;

/* Makes the program of that number again and moves a block; false: the program
 * reads what nobody wrote, or there is no such loop. */
static bool try_move(uint64_t seed, uint64_t number, const move *m,
                     unsigned *accepted) {
  scheduled t;
  rng r;
  ir_stmt stage[3], l[SCHEDULED_MAX];
  uint32_t n;
  const char *why;
  scheduled_start(&t);
  t.untraced = true;
  rng_init(&r, seed, number);
  random_exact_describe(&t, &r, stage, &n);
  bool sound = m->block < n && m->under < n && m->block != m->under &&
               moved_is_equal(&t, &why);
  if (sound) disturb(&t, &r, stage, n);
  uint32_t depth =
      sound ? sch_loops_above(&t.p, stage[m->under], SCHEDULED_MAX, l) : 0;
  if (m->depth < depth &&
      (m->reverse ? RUN(&t, reverse_compute_at, AT(block, stage[m->block]),
                        AT(loop, l[m->depth]), NUM(index, -1),
                        NUM(preserve_unit_loops, m->units))
                  : RUN(&t, compute_at, AT(block, stage[m->block]),
                        AT(loop, l[m->depth]), NUM(index, -1),
                        NUM(preserve_unit_loops, m->units)))) {
    ++*accepted;
    moved_equal(&t);
  }
  scheduled_end(&t);
  return m->depth < depth;
}

static void test_moves(void **state) {
  (void)state;
  unsigned accepted = 0, tried = 0;
  uint64_t seed = test_seed();
  for (uint64_t number = 0; number < PROGRAMS; number++)
    for (uint32_t block = 0; block < 3; block++)
      for (uint32_t under = 0; under < 3; under++)
        for (uint32_t depth = 0; depth < 3; depth++) {
          move m = {block, under, depth, under < block, number & 1};
          tried += try_move(seed, number, &m, &accepted);
        }
  print_message("%u moves of %u\n", accepted, tried);
  assert_true(accepted > PROGRAMS / 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_moves)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
