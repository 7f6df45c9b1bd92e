/* SPDX-License-Identifier: Apache-2.0
 * Regions, against brute force: random boxes over a few variables, and random
 * loop nests whose accesses are enumerated. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "support/random.h"

#include <stdio.h>

enum { NVARS = 4, NDIM = 2 };

typedef struct world {
  test_heap heap;
  ir_program p;
  arena scratch;
  rng r;
  random_exprs x;
  int64_t value[4096];
  ir_buf buf, other;
} world;

static void region_start(world *w, uint64_t index) {
  memset(w, 0, sizeof *w);
  test_heap_start(&w->heap, 0);
  ir_program_init(&w->p, &w->heap.heap);
  arena_init(&w->scratch, &w->heap.heap);
  rng_init(&w->r, test_seed(), index);
}

static void region_end(world *w) {
  arena_free(&w->scratch);
  ir_program_free(&w->p);
  test_heap_end(&w->heap);
}

static ir_buf make_buf(world *w, const char *name) {
  ir_expr shape[NDIM];
  for (int i = 0; i < NDIM; i++)
    shape[i] = ir_index(&w->p, test_pick(&w->r, 1, 24));
  return ir_buf_new(&w->p, ir_name(&w->p, name),
                    (tess_dtype){TESS_DTYPE_INT, 8, 1}, NDIM, shape,
                    IR_SCOPE_GLOBAL, IR_ROLE_INPUT);
}

static void renew(world *w, uint32_t nvars) {
  ir_program_reset(&w->p);
  arena_reset(&w->scratch);
  w->x = (random_exprs){.p = &w->p, .r = &w->r, .made = true, .plain = true};
  random_vars(&w->x, nvars);
  w->buf = make_buf(w, "A");
  w->other = make_buf(w, "B");
}

/* ---- two boxes ---------------------------------------------------------- */

static ir_region random_region(world *w) {
  ir_expr v[2 * NDIM];
  for (int i = 0; i < NDIM; i++) {
    v[2 * i] = random_index(&w->x, (int)test_pick(&w->r, 0, 2));
    v[2 * i + 1] = ir_index(&w->p, test_pick(&w->r, 1, 6));
  }
  return ir_region_new(&w->p, w->buf, v);
}

/* Properties of a, b and their union. */
typedef struct pair {
  world *w;
  ir_region a, b, both;
  bool covers;
} pair;

static int64_t first(const world *w, ir_region r, uint32_t i) {
  return test_eval(&w->p, ir_region_min(&w->p, r, i), w->value);
}

static int64_t past(const world *w, ir_region r, uint32_t i) {
  return first(w, r, i) +
         test_eval(&w->p, ir_region_extent(&w->p, r, i), w->value);
}

static bool region_is_in(const world *w, ir_region inner, ir_region outer) {
  for (uint32_t i = 0; i < NDIM; i++)
    if (first(w, inner, i) < first(w, outer, i) ||
        past(w, inner, i) > past(w, outer, i))
      return false;
  return true;
}

static bool pair_holds(void *ud) {
  pair *q = ud;
  return region_is_in(q->w, q->a, q->both) &&
         region_is_in(q->w, q->b, q->both) &&
         (!q->covers || region_is_in(q->w, q->b, q->a));
}

static const char *box_text(const world *w, ir_region r) {
  static char text[4][4096];
  static unsigned turn;
  char *s = text[turn++ % 4];
  int n = 0;
  for (uint32_t i = 0; i < NDIM; i++)
    n += snprintf(s + n, sizeof text[0] - (size_t)n, "[%s + %s]",
                  test_text(&w->p, ir_region_min(&w->p, r, i)),
                  test_text(&w->p, ir_region_extent(&w->p, r, i)));
  return s;
}

static void test_pairs(void **state) {
  static world w;
  (void)state;
  region_start(&w, 1);
  uint32_t runs = test_runs(4000), said = 0;
  for (uint32_t i = 0; i < runs; i++) {
    renew(&w, NVARS);
    pair q = {.w = &w, .a = random_region(&w), .b = random_region(&w)};
    if (i % 3 == 0) {
      ir_expr v[2 * NDIM];
      for (uint32_t d = 0; d < NDIM; d++) {
        ir_expr off = ir_index(&w.p, test_pick(&w.r, -1, 2));
        v[2 * d] = ir_add(&w.p, ir_region_min(&w.p, q.a, d), off);
        v[2 * d + 1] = ir_index(&w.p, test_pick(&w.r, 1, 3));
      }
      q.b = ir_region_new(&w.p, w.buf, v);
    }
    q.both = arith_region_union(&w.p, q.a, q.b);
    q.covers = arith_region_covers(&w.p, &w.scratch, q.a, q.b);
    said += q.covers;
    if (!test_each_point(&w.p, NVARS, w.x.var, w.value, pair_holds, &q))
      fail_msg("%s and %s: covers %d, union %s", box_text(&w, q.a),
               box_text(&w, q.b), q.covers, box_text(&w, q.both));
  }
  fprintf(stderr, "covering: %u of %u\n", said, runs);
  assert_true(said > runs / 20);
  region_end(&w);
}

/* ---- accesses ----------------------------------------------------------- */

static ir_expr random_load(world *w, ir_buf b) {
  ir_expr idx[NDIM];
  for (int i = 0; i < NDIM; i++)
    idx[i] = random_index(&w->x, (int)test_pick(&w->r, 0, 2));
  return ir_load(&w->p, b, NDIM, idx);
}

/* Loops over the last variables around a store A[..] = B[..] + A[..], with an
 * occasional let or if; returns the outermost statement and the store. */
static ir_stmt random_nest(world *w, uint32_t loops, ir_stmt *store) {
  ir_program *p = &w->p;
  ir_expr idx[NDIM], value = random_load(w, w->other);
  for (int i = 0; i < NDIM; i++)
    idx[i] = random_index(&w->x, (int)test_pick(&w->r, 0, 2));
  if (rng_below(&w->r, 2)) value = ir_add(p, value, random_load(w, w->buf));
  ir_stmt s = *store = ir_store_new(p, w->buf, NDIM, idx, value), outer;
  for (uint32_t k = 0; k < loops; k++) {
    ir_var v = w->x.var[w->x.n - 1 - k];
    ir_var_rec r = p->var.v[v];
    if (rng_below(&w->r, 4) == 0) {
      outer = ir_if_new(
          p, ir_binary(p, IR_LE, ir_ref(p, v), random_index(&w->x, 1)));
      ir_append(p, outer, s);
      s = outer;
    }
    outer = ir_loop_new(p, v, ir_index(p, r.lo), ir_index(p, r.hi - r.lo + 1),
                        IR_SERIAL);
    ir_append(p, outer, s);
    s = outer;
  }
  return s;
}

/* The accesses of one kind in an expression or store, against the regions. */
typedef struct nest {
  world *w;
  ir_stmt store;
  bool writes;
  int n;
  ir_region out[4];
} nest;

static void check_point(nest *f, ir_buf b, uint32_t at) {
  world *w = f->w;
  for (uint32_t i = 0; i < NDIM; i++) {
    int64_t v = test_eval(&w->p, w->p.arg.v[at + i], w->value);
    if (v < 0 || v >= test_eval(&w->p, ir_dim(&w->p, b, i), w->value)) return;
  }
  for (int k = 0; k < f->n; k++) {
    bool inside = f->out[k].buf == b;
    for (uint32_t i = 0; inside && i < NDIM; i++) {
      int64_t v = test_eval(&w->p, w->p.arg.v[at + i], w->value);
      inside = v >= first(w, f->out[k], i) && v < past(w, f->out[k], i);
    }
    if (inside) return;
  }
  strbuf text;
  str_init(&text, &w->heap.heap);
  ir_print_stmt_head(&w->p, f->store, &text);
  fail_msg("%s: access outside of %s", str_get(&text),
           f->n ? box_text(w, f->out[0]) : "nothing");
}

static void check_loads(nest *f, ir_expr e) {
  const ir_node n = *ir_at(&f->w->p, e);
  if (n.op == IR_LOAD) check_point(f, n.a, n.b);
  if (n.op == IR_ADD) {
    check_loads(f, n.a);
    check_loads(f, n.b);
  }
}

static bool nest_holds(void *ud) {
  nest *f = ud;
  const ir_program *p = &f->w->p;
  const ir_stmt_rec r = *ir_st(p, f->store);
  for (ir_stmt a = r.parent; a; a = ir_st(p, a)->parent)
    if (ir_st(p, a)->kind == IR_IF &&
        !test_eval(p, ir_st(p, a)->cond, f->w->value))
      return true;
  if (f->writes)
    check_point(f, r.buf, r.idx.at);
  else
    check_loads(f, r.value);
  return true;
}

static void test_accesses(void **state) {
  static world w;
  (void)state;
  region_start(&w, 3);
  uint32_t runs = test_runs(3000);
  for (uint32_t i = 0; i < runs; i++) {
    renew(&w, NVARS);
    uint32_t loops = (uint32_t)test_pick(&w.r, 0, NVARS);
    nest f = {.w = &w, .writes = i % 2};
    ir_stmt top = random_nest(&w, loops, &f.store);
    f.n = ir_accessed_regions(&w.p, &w.scratch, top, f.writes, 4, f.out);
    assert_true(f.n >= 1 && f.n <= 2);
    for (int k = 0; k < f.n; k++)
      for (uint32_t d = 0; d < 2 * NDIM; d++)
        for (uint32_t v = NVARS - loops; v < NVARS; v++)
          assert_false(
              ir_uses_var(&w.p, w.p.arg.v[f.out[k].at + d], w.x.var[v]));
    test_each_point(&w.p, NVARS, w.x.var, w.value, nest_holds, &f);
  }
  region_end(&w);
}

/* The reads of a tile of a matrix product. */
static void test_tile(void **state) {
  static world w;
  (void)state;
  region_start(&w, 4);
  ir_program *p = &w.p;
  static const char *names[] = {"i0", "k0", "i1", "k1"};
  static const int64_t extents[] = {8, 16, 4, 8};
  ir_expr shape[2] = {ir_index(p, 32), ir_index(p, 128)}, e[4];
  ir_var v[4];
  ir_buf a =
      ir_buf_new(p, ir_name(p, "A"), (tess_dtype){TESS_DTYPE_FLOAT, 32, 1}, 2,
                 shape, IR_SCOPE_GLOBAL, IR_ROLE_INPUT);
  for (int i = 0; i < 4; i++) {
    v[i] = ir_var_new(p, IR_VAR_LOOP, ir_name(p, names[i]), IR_INDEX, 0,
                      extents[i] - 1);
    e[i] = ir_ref(p, v[i]);
  }
  ir_expr idx[2] = {ir_add(p, ir_mul(p, e[0], ir_index(p, 4)), e[2]),
                    ir_add(p, ir_mul(p, e[1], ir_index(p, 8)), e[3])};
  ir_stmt s = ir_store_new(p, a, 2, idx, ir_load(p, a, 2, idx));
  for (int i = 4; i-- > 2;) {
    ir_stmt l = ir_loop_new(p, v[i], ir_index(p, 0), ir_index(p, extents[i]),
                            IR_SERIAL);
    ir_append(p, l, s);
    s = l;
  }
  ir_region out[2];
  assert_int_equal(ir_accessed_regions(p, &w.scratch, s, false, 2, out), 1);
  assert_string_equal(box_text(&w, out[0]), "[i0 * 4 + 4][k0 * 8 + 8]");
  assert_int_equal(ir_accessed_regions(p, &w.scratch, s, false, 0, out), -1);
  region_end(&w);
}

/* let n = 3 or B[0][0]: { for i in [n, n + 2): S[i][1] = 1 }: the loop's start
 * is visible from outside; if B is clobbered in it, the region is all of S. */
static void test_starts(void **state) {
  (void)state;
  for (int told = 0; told < 3; told++) {
    world w;
    region_start(&w, 0);
    renew(&w, 0);
    ir_program *p = &w.p;
    ir_expr shape[2] = {ir_index(p, 16), ir_index(p, 16)};
    ir_buf a =
        ir_buf_new(p, ir_name(p, "S"), (tess_dtype){TESS_DTYPE_INT, 8, 1}, 2,
                   shape, IR_SCOPE_GLOBAL, IR_ROLE_INPUT);
    ir_expr zero[2] = {ir_index(p, 0), ir_index(p, 0)};
    ir_expr read = ir_cast(p, IR_INDEX, ir_load(p, w.other, 2, zero));
    ir_var n = ir_var_new(p, IR_VAR_LET, ir_name(p, "n"), IR_INDEX, -128, 127);
    ir_var i = ir_var_new(p, IR_VAR_LOOP, ir_name(p, "i"), IR_INDEX, -128, 128);
    ir_stmt let = ir_let_new(p, n, told ? read : ir_index(p, 3));
    ir_expr one = ir_int(p, (tess_dtype){TESS_DTYPE_INT, 8, 1}, 1);
    if (told == 2) ir_append(p, let, ir_store_new(p, w.other, 2, zero, one));
    ir_stmt l = ir_loop_new(p, i, ir_ref(p, n), ir_index(p, 2), IR_SERIAL);
    ir_expr idx[2] = {ir_ref(p, i), ir_index(p, 1)};
    ir_append(p, let, l);
    ir_append(p, l, ir_store_new(p, a, 2, idx, one));
    ir_region out[2];
    int k = ir_accessed_regions(p, &w.scratch, let, true, 2, out);
    assert_int_equal(k, told == 2 ? 2 : 1);
    const char *box = box_text(&w, out[k - 1]);
    const char *start_of[] = {"[3 + 2][1 + 1]", "[int64(B[0, 0]) + ",
                              "[0 + 16][1 + 1]"};
    assert_memory_equal(box, start_of[told], strlen(start_of[told]));
    region_end(&w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pairs),
      cmocka_unit_test(test_accesses),
      cmocka_unit_test(test_tile),
      cmocka_unit_test(test_starts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
