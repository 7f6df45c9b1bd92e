/* SPDX-License-Identifier: Apache-2.0
 * Random moves of a block among others that change, in place and in any
 * direction, what it reads: what is accepted computes the same, by the
 * oracle, and a good part of it is. */
#include "ir/edit.h"
#include "support/moved.h"

enum { PROGRAMS = TEST_DRAWS(600), N = 8, WIDE = N + 2 };

typedef struct world {
  scheduled t;
  rng r;
  ir_program start;
  ir_buf A, Z, Y, B, E;
  bool ahead; /* P makes E for B */
} world;

static int64_t random_overwrites_below(world *w, int64_t n) {
  return (int64_t)rng_below(&w->r, (uint64_t)n);
}

/* One of the elements that an iteration knows. */
static ir_expr place(world *w, bool wide) {
  ir_program *p = &w->t.p;
  ir_expr i = w->t.it[0], two = ir_index(p, 2);
  ir_expr s = ir_index(p, wide ? random_overwrites_below(w, 3) : 0);
  switch (random_overwrites_below(w, 6)) {
  case 0: return ir_sub(p, ir_add(p, ir_index(p, N - 1), s), i);
  case 1: return ir_add(p, ir_mul(p, ir_binary(p, IR_DIV, i, two), two), s);
  case 2: return ir_add(p, ir_binary(p, IR_DIV, i, two), s);
  default: return ir_add(p, i, s);
  }
}

/* to[place] = A[i], plus an element of Z, Y or `from`. */
static ir_stmt stage(world *w, const char *name, ir_buf to, bool exact,
                     ir_buf from) {
  scheduled *t = &w->t;
  const int64_t n = N;
  ir_stmt b = scheduled_block(t, name, "S", &n);
  ir_expr v = scheduled_load(t, w->A, t->it[0], 0);
  ir_buf other = from ? from : random_overwrites_below(w, 2) ? w->Z : w->Y;
  ir_expr at =
      from && random_overwrites_below(w, 3) ? t->it[0] : place(w, from != w->B);
  if (from || random_overwrites_below(w, 3))
    v = ir_binary(&t->p, IR_ADD, v, scheduled_load(t, other, at, 0));
  scheduled_store(t, to, exact ? t->it[0] : place(w, true), 0, v, false);
  return b;
}

/* Every other iteration only. */
static void thin_out(world *w, ir_stmt b) {
  ir_program *p = &w->t.p;
  if (random_overwrites_below(w, 3)) return;
  ir_expr i = ir_ref(p, ir_st(p, ir_st(p, b)->parent)->var);
  i = ir_binary(p, IR_MOD, i, ir_index(p, 2));
  ir_blk(p, b)->pred = ir_binary(p, IR_EQ, i, ir_index(p, 0));
}

static void bystander(world *w, const char *name, ir_stmt with) {
  if (random_overwrites_below(w, 2)) return;
  ir_stmt b =
      stage(w, name, random_overwrites_below(w, 2) ? w->Z : w->Y, false, 0);
  if (with) moved_join(&w->t, with, b);
  thin_out(w, b);
}

/* Everything has a value; then P may make E for B, in loops with others, and F
 * takes what B made, or changes Z by it. */
static void random_overwrites_describe(world *w, uint64_t seed) {
  scheduled *t = &w->t;
  const int64_t wide = WIDE;
  scheduled_start(t);
  ir_program_init(&w->start, &t->heap.heap);
  rng_init(&w->r, seed, 9);
  w->A = scheduled_buf(t, "A", IR_ROLE_INPUT, 1, &wide);
  w->Z = scheduled_buf(t, "Z", IR_ROLE_OUTPUT, 1, &wide);
  w->Y = scheduled_buf(t, "Y", IR_ROLE_OUTPUT, 1, &wide);
  w->E = scheduled_buf(t, "E", IR_ROLE_OUTPUT, 1, &wide);
  w->B = scheduled_buf(t, "B", IR_ROLE_LOCAL, 1, &wide);
  ir_buf given[] = {w->Z, w->Y, w->E};
  static const char *const names[] = {"Z", "Y", "E"};
  for (int k = 0; k < 3; k++) {
    scheduled_block(t, names[k], "S", &wide);
    scheduled_store(t, given[k], t->it[0], 0,
                    scheduled_load(t, w->A, t->it[0], 0), false);
  }
  w->ahead = random_overwrites_below(w, 2);
  ir_stmt p = w->ahead ? stage(w, "P", w->E, true, w->A) : 0;
  if (p) bystander(w, "p", p);
  bystander(w, "between", 0);
  ir_stmt first = 0;
  if (random_overwrites_below(w, 2))
    first =
        stage(w, "b", random_overwrites_below(w, 2) ? w->Z : w->Y, false, 0);
  ir_stmt b = stage(w, "B", w->B, true,
                    w->ahead                        ? w->E
                    : random_overwrites_below(w, 2) ? w->Z
                                                    : w->Y);
  if (first) moved_join(t, first, b);
  if (first) thin_out(w, first);
  bystander(w, "c", first ? first : b);
  bystander(w, "behind", 0);
  ir_stmt f =
      stage(w, "F", random_overwrites_below(w, 2) ? w->Z : w->E, false, w->B);
  bystander(w, "f", f);
  scheduled_finish(t);
  ir_program_copy(&w->start, &t->p);
}

/* What a possibility is, is one in the end, too. */
static uint32_t try_move(world *w, const char *prim, const char *to) {
  scheduled *t = &w->t;
  ir_stmt b = scheduled_get(t, "B");
  bool inlined = !to;
  ir_stmt loop = inlined ? 0 : scheduled_loop(t, scheduled_get(t, to), 0);
  const scheduled_arg at[] = {AT(block, b), AT(loop, loop), {0}};
  const scheduled_arg only[] = {AT(block, b), {0}};
  t->s = (sch_state){.p = &t->p, .scratch = &t->scratch};
  bool quick = inlined ? sch_can_inline(&t->s, b)
                       : !strcmp(prim, "compute_at") &&
                             sch_can_compute_at(&t->s, b, loop, false);
  bool ok = scheduled_call(t, prim, inlined ? only : at);
  if (ok) moved_equal(t);
  if (quick && !ok) fail_msg("%s", scheduled_why(t, prim));
  ir_program_copy(&t->p, &w->start);
  return ok;
}

static void test_moves(void **state) {
  (void)state;
  uint32_t later = 0, inlined = 0, earlier = 0;
  for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
    static world w;
    random_overwrites_describe(&w, seed);
    later += try_move(&w, "compute_at", "F");
    inlined += try_move(&w, "compute_inline", NULL);
    if (w.ahead) earlier += try_move(&w, "reverse_compute_at", "P");
    ir_program_free(&w.start);
    scheduled_end(&w.t);
  }
  assert_true(later > TEST_DRAWS(250) && inlined > TEST_DRAWS(200) &&
              earlier > TEST_DRAWS(200));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_moves),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
