/* SPDX-License-Identifier: Apache-2.0
 * Random programs under random moves: whatever is accepted must compute the
 * same, without races, and stay well formed.
 *
 * test_schedule_random_moves [SEED [COUNT]] runs COUNT cases from SEED on,
 * and shows each step of a single one. */
#include "base/rng.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "support/moved.h"
#include <stdio.h>
#include <stdlib.h>

enum { MOST_STAGES = 8 };

typedef struct stage {
  ir_buf buf;
  uint32_t ndim;
  int64_t dim[2];
} stage;

typedef struct random_case {
  scheduled t;
  rng r;
  uint32_t nstages;
  stage stage[MOST_STAGES];
  interp in;
  interp_expect expect;
  const char *what; /* the last primitive called */
} random_case;

static uint64_t first_seed = 1, ncases = TEST_DRAWS(2500);
static bool show_steps;

static uint32_t random_moves_below(random_case *c, uint32_t n) {
  return (uint32_t)rng_below(&c->r, n);
}

/* How often each primitive was accepted, in the order of prims.def. */
static uint64_t accepted[128], tried[128];

static void random_moves_count(uint64_t *list, const char *prim) {
  for (uint32_t i = 0; i < sch_nprims; i++)
    list[i] += !strcmp(sch_prims[i]->name, prim);
}

/* Calls a primitive and remembers its name. */
#define TRY(c, PRIM, ...) ((c)->what = #PRIM, RUN(&(c)->t, PRIM, __VA_ARGS__))

static bool chance(random_case *c, uint32_t one_in) {
  return random_moves_below(c, one_in) == 0;
}

/* ---- programs ----------------------------------------------------------- */

static ir_expr at_most(random_case *c, ir_expr i, ir_expr load, ir_op op,
                       int64_t bound) {
  ir_program *p = &c->t.p;
  ir_expr cond = op == IR_LT ? ir_binary(p, IR_LT, i, ir_index(p, bound))
                             : ir_binary(p, IR_LE, ir_index(p, bound), i);
  return ir_select(p, cond, load, ir_real(p, ir_at(p, load)->dtype, 0));
}

static ir_expr mul(random_case *c, ir_expr i, int64_t by) {
  return ir_mul(&c->t.p, i, ir_index(&c->t.p, by));
}

static ir_expr over(random_case *c, ir_op op, ir_expr i, int64_t by) {
  return ir_binary(&c->t.p, op, i, ir_index(&c->t.p, by));
}

/* A load of one dimension `n` long with an index made of i, which runs over
 * `m` values; *guard is set to an index to be kept within [0, n). */
static ir_expr random_moves_index_of(random_case *c, ir_expr i, int64_t m,
                                     int64_t n, ir_expr *guard) {
  ir_program *p = &c->t.p;
  *guard = 0;
  switch (random_moves_below(c, 7)) {
  case 0:
    if (m < n)
      return ir_add(
          p, i,
          ir_index(p, (int64_t)random_moves_below(c, (uint32_t)(n - m + 1))));
    break;
  case 1:
    if (2 * m - 1 <= n) return mul(c, i, 2);
    break;
  case 2:
    if ((m + 1) / 2 <= n) return over(c, IR_DIV, i, 2);
    break;
  case 3:
    if (m <= n) return ir_sub(p, ir_index(p, n - 1), i);
    break;
  case 4: return over(c, IR_MOD, i, n);
  case 5:
    *guard = ir_sub(p, i, ir_index(p, 1 + (int64_t)random_moves_below(c, 2)));
    return *guard;
  default: break;
  }
  if (m <= n) return i;
  *guard = i;
  return i;
}

/* A load of stage `from` by a block over extents `dim`. */
static ir_expr load_of(random_case *c, const stage *from, uint32_t ndim,
                       const int64_t *dim) {
  scheduled *t = &c->t;
  ir_program *p = &t->p;
  ir_expr idx[2] = {0, 0}, guard[2] = {0, 0};
  if (from->ndim == 1 && ndim == 2 && dim[0] * dim[1] <= from->dim[0] &&
      chance(c, 2)) {
    idx[0] = ir_add(p, mul(c, t->it[0], dim[1]), t->it[1]);
    return scheduled_load(t, from->buf, idx[0], 0);
  }
  if (from->ndim == 2 && dim[0] <= from->dim[0] * from->dim[1] &&
      chance(c, 4)) {
    idx[0] = over(c, IR_DIV, t->it[0], from->dim[1]);
    idx[1] = over(c, IR_MOD, t->it[0], from->dim[1]);
    return scheduled_load(t, from->buf, idx[0], idx[1]);
  }
  bool swap = chance(c, 4);
  for (uint32_t d = 0; d < from->ndim; d++) {
    uint32_t k = swap ? ndim - 1 - d % ndim : d % ndim;
    if (from->ndim == 1 && ndim == 2) k = random_moves_below(c, 2);
    if (chance(c, 12))
      idx[d] =
          ir_index(p, (int64_t)random_moves_below(c, (uint32_t)from->dim[d]));
    else if (chance(c, 3))
      idx[d] =
          random_moves_index_of(c, t->it[k], dim[k], from->dim[d], &guard[d]);
    else if (dim[k] <= from->dim[d])
      idx[d] = t->it[k];
    else
      idx[d] = guard[d] = t->it[k];
  }
  ir_expr load = scheduled_load(t, from->buf, idx[0], idx[1]);
  for (uint32_t d = 0; d < from->ndim; d++)
    if (guard[d]) {
      load = at_most(c, guard[d], load, IR_LT, from->dim[d]);
      load = at_most(c, guard[d], load, IR_LE, 0);
    }
  return load;
}

/* A block that reads some earlier stages. */
static void add_stage(random_case *c, bool last) {
  scheduled *t = &c->t;
  ir_program *p = &t->p;
  char name[8], kinds[4] = "S";
  snprintf(name, sizeof name, "S%u", c->nstages);
  stage *s = &c->stage[c->nstages];
  const stage *base = &c->stage[random_moves_below(c, c->nstages)];
  if (!chance(c, 3)) base = &c->stage[c->nstages - 1];
  *s = *base;
  if (chance(c, 5)) {
    s->ndim = 1 + random_moves_below(c, 2);
    s->dim[0] = 1 + (int64_t)random_moves_below(c, 9);
    s->dim[1] = 1 + (int64_t)random_moves_below(c, 9);
  } else {
    for (uint32_t d = 0; d < s->ndim; d++)
      if (chance(c, 3) && s->dim[d] > 3)
        s->dim[d] -= 1 + (int64_t)random_moves_below(c, 2);
  }
  bool output = last || chance(c, 6), reduce = chance(c, 3);
  s->buf = scheduled_buf(t, name, output ? IR_ROLE_OUTPUT : IR_ROLE_LOCAL,
                         s->ndim, s->dim);
  int64_t dim[3] = {s->dim[0], s->dim[1], 0};
  uint32_t n = s->ndim;
  if (n == 2) strcpy(kinds, "SS");
  if (reduce) {
    strcat(kinds, "R");
    dim[n++] = 2 + (int64_t)random_moves_below(c, 5);
  }
  scheduled_block(t, name, kinds, dim);
  ir_expr out[2] = {t->it[0], s->ndim == 2 ? t->it[1] : 0};
  /* Reductions may read along the axis they sum over. */
  if (reduce && chance(c, 2)) {
    ir_expr i = t->it[0];
    t->it[0] = t->it[n - 1];
    t->it[n - 1] = i;
    int64_t e = dim[0];
    dim[0] = dim[n - 1];
    dim[n - 1] = e;
  }
  ir_expr value = load_of(c, base, n > 2 ? 2 : n, dim);
  for (uint32_t k = random_moves_below(c, 3); k; k--) {
    ir_expr v = load_of(
        c, chance(c, 2) ? base : &c->stage[random_moves_below(c, c->nstages)],
        n > 2 ? 2 : n, dim);
    value = ir_binary(p, chance(c, 2) ? IR_ADD : IR_MUL, value, v);
  }
  if (chance(c, 2))
    value = ir_binary(p, IR_ADD, value, ir_real(p, ir_at(p, value)->dtype, 2));
  scheduled_store(t, s->buf, out[0], out[1], value, reduce);
  c->nstages++;
}

/* A block that changes an earlier stage in place, or sums it up as it goes. */
static void add_change(random_case *c, uint32_t k) {
  scheduled *t = &c->t;
  ir_program *p = &t->p;
  const stage *s = &c->stage[random_moves_below(c, c->nstages)];
  char name[8];
  if (p->buf.v[s->buf].role == IR_ROLE_INPUT) return;
  snprintf(name, sizeof name, "U%u", k);
  bool scan = chance(c, 2);
  scheduled_block(t, name,
                  s->ndim == 1 ? scan ? "O" : "S"
                  : scan       ? "SO"
                               : "SS",
                  s->dim);
  ir_expr i = t->it[0], j = s->ndim == 2 ? t->it[1] : 0;
  ir_expr own = scheduled_load(t, s->buf, i, j), value;
  if (scan) {
    ir_expr *last = j ? &j : &i, at = *last;
    *last = ir_sub(p, at, ir_index(p, 1));
    ir_expr before =
        at_most(c, *last, scheduled_load(t, s->buf, i, j), IR_LE, 0);
    *last = at;
    value = ir_binary(p, IR_ADD, own, before);
  } else {
    value = ir_binary(p, IR_ADD, own, load_of(c, s, s->ndim, s->dim));
    if (chance(c, 2))
      value = ir_binary(p, IR_MUL, own, ir_real(p, ir_at(p, own)->dtype, 3));
  }
  scheduled_store(t, s->buf, i, j, value, false);
}

static void make_program(random_case *c) {
  scheduled *t = &c->t;
  stage *s = &c->stage[0];
  uint32_t inputs = 1 + random_moves_below(c, 2),
           stages = 2 + random_moves_below(c, 4);
  for (uint32_t i = 0; i < inputs; i++, s++) {
    char name[2] = {(char)('A' + i), 0};
    s->ndim = 1 + random_moves_below(c, 2);
    s->dim[0] = 4 + (int64_t)random_moves_below(c, 14);
    s->dim[1] = 3 + (int64_t)random_moves_below(c, 7);
    s->buf = scheduled_buf(t, name, IR_ROLE_INPUT, s->ndim, s->dim);
    c->nstages++;
  }
  bool changes = chance(c, 3);
  for (uint32_t i = 0; i < stages; i++) {
    add_stage(c, i + 1 == stages);
    if (changes && chance(c, 2)) add_change(c, i);
  }
  scheduled_finish(t);
}

/* ---- steps -------------------------------------------------------------- */

static ir_stmt any_block(random_case *c) {
  sch_state s = {.p = &c->t.p, .scratch = &c->t.scratch};
  sch_list l = sch_child_blocks(&s, ir_entry(&c->t.p)->root);
  return l.v[random_moves_below(c, l.n)];
}

/* A loop around some block; 0: there is none. */
static ir_stmt any_loop(random_case *c) {
  ir_stmt v[SCHEDULED_MAX];
  uint32_t n = sch_loops_above(&c->t.p, any_block(c), SCHEDULED_MAX, v);
  return n ? v[random_moves_below(c, n)] : 0;
}

/* A block and a loop around a neighbour of it: after it, or before. */
static ir_stmt near_loop(random_case *c, ir_stmt b, bool after) {
  sch_state s = {.p = &c->t.p, .scratch = &c->t.scratch};
  sch_list l = after ? sch_consumers(&s, b) : sch_producers(&s, b);
  ir_stmt v[SCHEDULED_MAX];
  if (!l.n || chance(c, 6)) return any_loop(c);
  uint32_t n = sch_loops_above(&c->t.p, l.v[random_moves_below(c, l.n)],
                               SCHEDULED_MAX, v);
  return n ? v[random_moves_below(c, n)] : 0;
}

static bool step_loops(random_case *c) {
  scheduled *t = &c->t;
  ir_stmt l = any_loop(c), v[SCHEDULED_MAX];
  if (!l) return false;
  switch (random_moves_below(c, 9)) {
  case 0: return TRY(c, parallel, AT(loop, l));
  case 3: return TRY(c, vectorize, AT(loop, l));
  case 4:
    return TRY(c, decompose_reduction, AT(block, any_block(c)), AT(loop, l));
  case 1: {
    ir_stmt inner = sch_only_child(&t->p, l);
    return inner && ir_is_loop(&t->p, inner) &&
           TRY(c, fuse, LIST(loops, l, inner));
  }
  case 2: {
    uint32_t n = sch_loops_above(&t->p, any_block(c), SCHEDULED_MAX, v);
    return n > 1 &&
           TRY(c, reorder,
               LIST(ordered_loops, v[n - 1], v[random_moves_below(c, n - 1)]));
  }
  default:
    return TRY(c, split, AT(loop, l),
               INTS(factors, SCH_AUTO, 1 + (int64_t)random_moves_below(c, 5)));
  }
}

static bool step_cache(random_case *c) {
  ir_stmt b = any_block(c), other = any_block(c);
  const char *scope = chance(c, 2) ? "local" : "global";
  bool listed = chance(c, 3);
  if (chance(c, 2)) {
    if (listed)
      return TRY(c, cache_read, AT(block, b),
                 NUM(read_buffer_index, random_moves_below(c, 3)),
                 STR(storage_scope, scope), LIST(consumer_blocks, other));
    return TRY(c, cache_read, AT(block, b),
               NUM(read_buffer_index, random_moves_below(c, 2)),
               STR(storage_scope, scope));
  }
  if (listed)
    return TRY(c, cache_write, AT(block, b), NUM(write_buffer_index, 0),
               STR(storage_scope, scope), LIST(consumer_blocks, other));
  return TRY(c, cache_write, AT(block, b), NUM(write_buffer_index, 0),
             STR(storage_scope, scope));
}

static bool random_moves_step(random_case *c) {
  ir_stmt b = any_block(c), l;
  int64_t index = (int64_t)random_moves_below(c, 4) - 2,
          keep = random_moves_below(c, 2);
  switch (random_moves_below(c, 10)) {
  case 0:
  case 1:
  case 2: return step_loops(c);
  case 3: return step_cache(c);
  case 4: return TRY(c, compute_inline, AT(block, b));
  case 5: return TRY(c, reverse_compute_inline, AT(block, b));
  case 6:
  case 7:
    l = near_loop(c, b, false);
    return l && TRY(c, reverse_compute_at, AT(block, b), AT(loop, l),
                    NUM(preserve_unit_loops, keep), NUM(index, index));
  default:
    l = near_loop(c, b, true);
    return l && TRY(c, compute_at, AT(block, b), AT(loop, l),
                    NUM(preserve_unit_loops, keep), NUM(index, index));
  }
}

/* ---- one case ----------------------------------------------------------- */

/* Shows program and step; long texts, so not through cmocka. */
static void failed(random_case *c, uint64_t seed, const char *what,
                   const ir_program *before, const char *why) {
  if (before) {
    strbuf b;
    str_init(&b, &c->t.heap.heap);
    ir_print(before, NULL, &b);
    fprintf(stderr, "before the last step:\n%s", str_get(&b));
    str_free(&b);
  }
  fprintf(stderr, "%s%s\nseed %llu, %s: %s\n", scheduled_text(&c->t), why,
          (unsigned long long)seed, c->what, what);
  fail();
}

static const char *sentence(random_case *c, const interp_error *e) {
  strbuf b;
  str_init(&b, &c->t.heap.heap);
  interp_error_text(&c->t.p, e, &b);
  const char *s = arena_printf(&c->t.texts, "%s", str_get(&b));
  str_free(&b);
  return s;
}

static void check(random_case *c, uint64_t seed) {
  scheduled *t = &c->t;
  interp_options o = {.check_regions = true};
  interp_error e;
  strbuf why;
  str_init(&why, &t->heap.heap);
  if (!ir_verify(&t->p, &t->scratch, &why))
    failed(c, seed, "malformed", &t->before, str_get(&why));
  str_free(&why);
  if (interp_expect_check(&c->expect, &c->in, &t->p, &o, &e) != TESS_OK)
    failed(c, seed, "wrong", &t->before, sentence(c, &e));
}

static void run_case(uint64_t seed) {
  random_case *c = calloc(1, sizeof *c);
  interp_options o = {.check_regions = true};
  interp_error e;
  assert_non_null(c);
  rng_init(&c->r, seed, 0);
  scheduled_start(&c->t);
  c->t.untraced = true;
  make_program(c);
  interp_init(&c->in, &c->t.heap.heap);
  interp_expect_init(&c->expect, &c->t.heap.heap);
  if (interp_expect_run(&c->expect, &c->in, &c->t.first, seed, &o, &e) !=
      TESS_OK)
    failed(c, seed, "the program itself", NULL, sentence(c, &e));
  if (show_steps) printf("%s", scheduled_text(&c->t));
  for (uint32_t k = 4 + random_moves_below(c, 20); k; k--) {
    c->what = "";
    bool done = random_moves_step(c);
    random_moves_count(tried, c->what);
    if (!done) continue;
    random_moves_count(accepted, c->what);
    if (show_steps) printf("%s\n%s", c->what, scheduled_text(&c->t));
    check(c, seed);
  }
  interp_expect_free(&c->expect);
  interp_free(&c->in);
  scheduled_end(&c->t);
  free(c);
}

/* Enough of each must get through for the test to mean something. */
static void test_random(void **state) {
  static const char *const moves[] = {
      "cache_read",     "cache_write",        "compute_at",
      "compute_inline", "reverse_compute_at", "reverse_compute_inline"};
  (void)state;
  for (uint64_t i = 0; i < ncases; i++) run_case(first_seed + i);
  for (uint32_t i = 0; i < sch_nprims; i++)
    if (tried[i])
      print_message("%-24s accepted %llu of %llu\n", sch_prims[i]->name,
                    (unsigned long long)accepted[i],
                    (unsigned long long)tried[i]);
  for (uint32_t i = 0; i < sch_nprims; i++)
    for (unsigned k = 0; k < sizeof moves / sizeof *moves; k++)
      if (ncases >= 1000 && !strcmp(sch_prims[i]->name, moves[k]))
        assert_true(accepted[i] > ncases / 20);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
  if (argc > 1) {
    first_seed = strtoull(argv[1], NULL, 10);
    ncases = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    show_steps = argc == 2;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
