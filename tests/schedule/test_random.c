/* SPDX-License-Identifier: Apache-2.0
 * Random programs under random sequences of primitives.  What a primitive
 * accepts must compute the same, by the oracle; and where a loop is refused
 * to be parallel, or a nest another order, the oracle is asked whether that
 * was needed. */
#include "backends/interp/interp.h"
#include "ir/edit.h"
#include "support/scheduled.h"
#include <stdlib.h>

enum { PROGRAMS = 6, MAX_LOOPS = 64 };

static ir_expr real(scheduled *t, double x) {
  return ir_real(&t->p, (tess_dtype){TESS_DTYPE_FLOAT, 32, 1}, x);
}

static ir_expr sum(scheduled *t, ir_expr a, ir_expr b) {
  return ir_binary(&t->p, IR_ADD, a, b);
}

static int64_t pick(rng *r, int64_t lo, int64_t hi) {
  return lo + (int64_t)rng_below(r, (uint64_t)(hi - lo + 1));
}

/* B = stencil of A, C = stencil of B. */
static void stencils(scheduled *t, rng *r) {
  int64_t n = pick(r, 3, 11), d = pick(r, 1, 3), m = n + d, l = m + d;
  ir_buf a = scheduled_buf(t, "A", IR_ROLE_INPUT, 1, &l);
  ir_buf b = scheduled_buf(t, "B", IR_ROLE_LOCAL, 1, &m);
  ir_buf c = scheduled_buf(t, "C", IR_ROLE_OUTPUT, 1, &n);
  scheduled_block(t, "B", "S", &m);
  scheduled_store(t, b, t->it[0], 0,
                  sum(t, scheduled_load(t, a, t->it[0], 0),
                      scheduled_load(t, a, scheduled_plus(t, t->it[0], d), 0)),
                  false);
  scheduled_block(t, "C", "S", &n);
  scheduled_store(t, c, t->it[0], 0,
                  sum(t, scheduled_load(t, b, t->it[0], 0),
                      scheduled_load(t, b, scheduled_plus(t, t->it[0], d), 0)),
                  false);
  scheduled_finish(t);
}

/* Sums of rows, added to what they are of, transposed. */
static void rows(scheduled *t, rng *r) {
  int64_t s[2] = {pick(r, 2, 7), pick(r, 2, 7)}, back[2] = {s[1], s[0]};
  ir_buf a = scheduled_buf(t, "A", IR_ROLE_INPUT, 2, s);
  ir_buf b = scheduled_buf(t, "B", IR_ROLE_LOCAL, 1, s);
  ir_buf c = scheduled_buf(t, "C", IR_ROLE_OUTPUT, 2, back);
  scheduled_block(t, "B", "SR", s);
  scheduled_store(t, b, t->it[0], 0, scheduled_load(t, a, t->it[0], t->it[1]),
                  true);
  scheduled_block(t, "C", "SS", back);
  scheduled_store(t, c, t->it[0], t->it[1],
                  sum(t, scheduled_load(t, b, t->it[1], 0),
                      scheduled_load(t, a, t->it[1], t->it[0])),
                  false);
  scheduled_finish(t);
}

/* Three elementwise steps, with broadcasts. */
static void random_chain(scheduled *t, rng *r) {
  int64_t s[2] = {pick(r, 1, 6), pick(r, 2, 9)};
  ir_buf a = scheduled_buf(t, "A", IR_ROLE_INPUT, 2, s);
  ir_buf v = scheduled_buf(t, "V", IR_ROLE_INPUT, 1, s + 1);
  ir_buf b = scheduled_buf(t, "B", IR_ROLE_LOCAL, 2, s);
  ir_buf c = scheduled_buf(t, "C", IR_ROLE_LOCAL, 2, s);
  ir_buf d = scheduled_buf(t, "D", IR_ROLE_OUTPUT, 2, s);
  ir_expr *it = t->it;
  scheduled_block(t, "B", "SS", s);
  scheduled_store(t, b, it[0], it[1],
                  sum(t, scheduled_load(t, a, it[0], it[1]),
                      scheduled_load(t, v, it[1], 0)),
                  false);
  scheduled_block(t, "C", "SS", s);
  scheduled_store(
      t, c, it[0], it[1],
      ir_binary(&t->p, IR_MAX, scheduled_load(t, b, it[0], it[1]), real(t, 0)),
      false);
  scheduled_block(t, "D", "SS", s);
  scheduled_store(t, d, it[0], it[1],
                  sum(t, scheduled_load(t, c, it[0], it[1]),
                      scheduled_load(t, b, it[0], it[1])),
                  false);
  scheduled_finish(t);
}

/* In place: X[i, j] gets X[i - di, j - dj] + 1, in order. */
static void in_place(scheduled *t, rng *r) {
  int64_t s[2] = {pick(r, 4, 7), pick(r, 4, 7)};
  int64_t e[2] = {s[0] - 2, s[1] - 2}, di = pick(r, -1, 1), dj = pick(r, -1, 1);
  ir_buf a = scheduled_buf(t, "A", IR_ROLE_INPUT, 2, s);
  ir_buf x = scheduled_buf(t, "X", IR_ROLE_OUTPUT, 2, s);
  scheduled_block(t, "copy", "SS", s);
  scheduled_store(t, x, t->it[0], t->it[1],
                  scheduled_load(t, a, t->it[0], t->it[1]), false);
  static const char *const kinds[] = {"SS", "OS", "SO", "OO"};
  scheduled_block(t, "X", kinds[pick(r, 0, 3)], e);
  ir_expr i = scheduled_plus(t, t->it[0], 1);
  ir_expr j = scheduled_plus(t, t->it[1], 1);
  scheduled_store(t, x, i, j,
                  sum(t,
                      scheduled_load(t, x, scheduled_plus(t, i, di),
                                     scheduled_plus(t, j, dj)),
                      real(t, 1)),
                  false);
  scheduled_finish(t);
}

/* Sums over windows: two reduce iters, read at sums of iters. */
static void windows(scheduled *t, rng *r) {
  int64_t n = pick(r, 2, 6), k = pick(r, 1, 3), c = pick(r, 1, 4);
  int64_t in[2] = {n + k - 1, c};
  ir_buf a = scheduled_buf(t, "A", IR_ROLE_INPUT, 2, in);
  ir_buf w = scheduled_buf(t, "W", IR_ROLE_INPUT, 2, (int64_t[]){k, c});
  ir_buf p = scheduled_buf(t, "P", IR_ROLE_LOCAL, 2, in);
  ir_buf o = scheduled_buf(t, "O", IR_ROLE_OUTPUT, 1, &n);
  scheduled_block(t, "P", "SS", in);
  scheduled_store(t, p, t->it[0], t->it[1],
                  sum(t, scheduled_load(t, a, t->it[0], t->it[1]), real(t, 1)),
                  false);
  scheduled_block(t, "O", "SRR", (int64_t[]){n, k, c});
  ir_expr at = ir_add(&t->p, t->it[0], t->it[1]);
  scheduled_store(t, o, t->it[0], 0,
                  ir_binary(&t->p, IR_MUL, scheduled_load(t, p, at, t->it[2]),
                            scheduled_load(t, w, t->it[1], t->it[2])),
                  true);
  scheduled_finish(t);
}

static void random_describe(scheduled *t, rng *r) {
  switch (rng_below(r, PROGRAMS)) {
  case 0: stencils(t, r); break;
  case 1: rows(t, r); break;
  case 2: random_chain(t, r); break;
  case 3: in_place(t, r); break;
  case 4: windows(t, r); break;
  default: scheduled_matmul(t, pick(r, 1, 5), pick(r, 1, 5), pick(r, 1, 5));
  }
}

/* ---- steps -------------------------------------------------------------- */

typedef struct walk {
  scheduled t;
  rng r;
  uint32_t nloop, nblock;
  uint32_t asked, needless; /* refusals put to the oracle */
  ir_stmt loop[MAX_LOOPS], block[16];
} walk;

static void look(walk *w) {
  const ir_program *p = &w->t.p;
  w->nloop = w->nblock = 0;
  for (ir_stmt s = w->t.root; s; s = ir_next(p, s, w->t.root)) {
    if (ir_is_loop(p, s) && w->nloop < MAX_LOOPS) w->loop[w->nloop++] = s;
    if (ir_is_block(p, s) && s != w->t.root && w->nblock < 16)
      w->block[w->nblock++] = s;
  }
}

static ir_stmt some_loop(walk *w) {
  return w->loop[rng_below(&w->r, w->nloop)];
}

static ir_stmt some_block(walk *w) {
  return w->block[rng_below(&w->r, w->nblock)];
}

/* Puts the loops of one chain into the order given, whatever it means. */
static void force_order(walk *w, sch_list order) {
  ir_program *p = &w->t.p;
  ir_stmt_rec r[MAX_LOOPS];
  uint32_t n = 0;
  for (uint32_t i = 0; i < order.n; i++) r[i] = *ir_st(p, order.v[i]);
  for (ir_stmt s = w->t.root; s; s = ir_next(p, s, w->t.root))
    for (uint32_t i = 0; i < order.n; i++)
      if (order.v[i] == s) {
        ir_stmt_rec *to = ir_st(p, s);
        to->var = r[n].var, to->lo = r[n].lo, to->extent = r[n].extent;
        to->loop_kind = IR_SERIAL;
        n++;
        break;
      }
}

/* Would the oracle have allowed what was refused for what blocks do?  It
 * runs the program with the loop parallel, or the nest in order, by force. */
static void ask_oracle(walk *w, ir_stmt loop, sch_list order) {
  uint16_t why = w->t.s.refusal.reason;
  interp_error e;
  if (why != SCH_R_RACE && why != SCH_R_RACE_OTHER &&
      why != SCH_R_NOT_INJECTIVE && why != SCH_R_ORDER_DEPENDS &&
      why != SCH_R_ORDER_INIT)
    return;
  ir_program_copy(&w->t.before, &w->t.p);
  if (loop) ir_st(&w->t.p, loop)->loop_kind = IR_PARALLEL;
  if (order.n) force_order(w, order);
  w->asked++;
  if (!interp_equal(&w->t.heap.heap, &w->t.first, &w->t.p, 5, NULL, &e, NULL))
    w->needless++;
  ir_program_copy(&w->t.p, &w->t.before);
}

static bool do_split(walk *w) {
  int64_t f[3];
  uint32_t n = (uint32_t)pick(&w->r, 1, 3);
  for (uint32_t i = 0; i < n; i++) f[i] = pick(&w->r, 1, 4);
  f[rng_below(&w->r, n)] = SCH_AUTO;
  return RUN(&w->t, split, AT(loop, some_loop(w)),
             {.name = "factors", .n = n, .v = f});
}

static bool do_fuse(walk *w) {
  ir_stmt a = some_loop(w), b = sch_only_child(&w->t.p, a);
  if (!b || !ir_is_loop(&w->t.p, b)) return false;
  return RUN(&w->t, fuse, LIST(loops, a, b));
}

static bool do_parallel(walk *w, ir_stmt l) {
  if (RUN(&w->t, parallel, AT(loop, l))) return true;
  ask_oracle(w, l, (sch_list){0, NULL});
  return false;
}

static bool do_kind(walk *w) {
  ir_stmt l = some_loop(w);
  switch (rng_below(&w->r, 4)) {
  case 0: return do_parallel(w, l);
  case 1: return RUN(&w->t, vectorize, AT(loop, l));
  case 2: return RUN(&w->t, bind, AT(loop, l), STR(thread_axis, "threadIdx.x"));
  default: return RUN(&w->t, unroll, AT(loop, l));
  }
}

static bool do_reorder(walk *w) {
  ir_stmt l[MAX_LOOPS];
  uint32_t n = sch_loops_above(&w->t.p, some_block(w), MAX_LOOPS, l), k = 0;
  for (uint32_t i = n; i-- > 1;) {
    uint32_t j = (uint32_t)rng_below(&w->r, i + 1);
    ir_stmt s = l[i];
    l[i] = l[j];
    l[j] = s;
  }
  for (uint32_t i = 0; i < n; i++)
    if (rng_below(&w->r, 3)) l[k++] = l[i];
  if (RUN(&w->t, reorder, {.name = "ordered_loops", .n = k, .v = l}))
    return true;
  ask_oracle(w, 0, (sch_list){k, l});
  return false;
}

static bool do_decompose(walk *w) {
  ir_stmt b = some_block(w), l[MAX_LOOPS];
  uint32_t n = sch_loops_above(&w->t.p, b, MAX_LOOPS, l);
  if (!n) return false;
  return RUN(&w->t, decompose_reduction, AT(block, b),
             AT(loop, l[rng_below(&w->r, n)]));
}

/* The primitives that move, inline and cache whole blocks. */
static bool do_move(walk *w) {
  scheduled *t = &w->t;
  ir_stmt b = some_block(w), l = some_loop(w);
  int64_t i = (int64_t)rng_below(&w->r, 2);
  switch (rng_below(&w->r, 7)) {
  case 0:
  case 1: return RUN(t, compute_at, AT(block, b), AT(loop, l));
  case 2:
  case 3:
    return RUN(t, reverse_compute_at, AT(block, b), AT(loop, l),
               NUM(preserve_unit_loops, i));
  case 4: return RUN(t, compute_inline, AT(block, b));
  case 5:
    return i ? RUN(t, reverse_compute_inline, AT(block, b))
             : RUN(t, cache_write, AT(block, b), NUM(write_buffer_index, 0),
                   STR(storage_scope, "local"));
  default:
    return RUN(t, cache_read, AT(block, b), NUM(read_buffer_index, i),
               STR(storage_scope, "global"));
  }
}

/* Around a loop, a block, or a block and another one. */
static bool do_blockize(walk *w) {
  ir_stmt at[2] = {some_loop(w), some_block(w)};
  uint32_t n = 1 + (uint32_t)rng_below(&w->r, 2);
  if (n == 2 || rng_below(&w->r, 4) == 0) at[0] = some_block(w);
  return RUN(&w->t, blockize, {.name = "target", .n = n, .v = at},
             NUM(preserve_unit_iters, (int64_t)rng_below(&w->r, 2)));
}

static bool random_step(walk *w) {
  look(w);
  switch (rng_below(&w->r, 15)) {
  case 14: return do_blockize(w);
  case 11:
  case 12:
  case 13: return do_move(w);
  case 10:
    return RUN(&w->t, rfactor, AT(loop, some_loop(w)),
               NUM(factor_axis, pick(&w->r, -3, 2)));
  case 0:
  case 1:
  case 2: return do_split(w);
  case 3: return do_fuse(w);
  case 4:
  case 5:
  case 6: return do_reorder(w);
  case 7: return do_decompose(w);
  case 8: return RUN(&w->t, add_unit_loop, AT(block_or_loop, some_loop(w)));
  default: return do_kind(w);
  }
}

static void one_walk(uint64_t seed, uint64_t *asked, uint64_t *needless) {
  walk w = {.nloop = 0};
  scheduled_start(&w.t);
  w.t.untraced = true;
  rng_init(&w.r, seed, 0);
  random_describe(&w.t, &w.r);
  for (int k = 0; k < 12; k++)
    if (random_step(&w) && !scheduled_same(&w.t))
      fail_msg("seed %llu: step %d is wrong", (unsigned long long)seed, k);
  *asked += w.asked;
  *needless += w.needless;
  scheduled_end(&w.t);
}

/* TESS_SEED=n runs one walk, TESS_WALKS=n many. */
static void test_walks(void **state) {
  (void)state;
  const char *first = getenv("TESS_SEED"), *many = getenv("TESS_WALKS");
  uint64_t seed = first ? strtoull(first, NULL, 10) : 1;
  uint64_t n = many ? strtoull(many, NULL, 10) : first ? 1 : TEST_DRAWS(2000);
  uint64_t asked = 0, needless = 0;
  for (uint64_t i = 0; i < n; i++) one_walk(seed + i, &asked, &needless);
  print_message("%llu of %llu refusals were not needed\n",
                (unsigned long long)needless, (unsigned long long)asked);
  assert_true(needless * 5 <= asked || n < 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_walks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
