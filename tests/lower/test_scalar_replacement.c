/* SPDX-License-Identifier: Apache-2.0
 * The passes hoist_init and scalar_replacement: programs that they transform,
 * programs that they must leave alone, and that the interpreter computes the
 * same before and after. */
#include "backends/interp/interp.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/lower.h"
#include "support/test.h"

static const tess_dtype F32 = {TESS_DTYPE_FLOAT, 32, 1};
enum { N = 8 };

typedef struct nest {
  test_heap heap;
  ir_program p, before;
  arena scratch;
  ir_buf a, c; /* an input and an output of 64 elements */
  ir_var size; /* a symbolic extent */
  ir_stmt root;
  strbuf text; /* of the program after the pass */
} nest;

static ir_buf buffer(nest *t, const char *name, ir_role role) {
  ir_expr n = ir_index(&t->p, 64);
  return ir_buf_new(&t->p, ir_name(&t->p, name), F32, 1, &n, IR_SCOPE_GLOBAL,
                    role);
}

static int setup(void **state) {
  static nest t;
  test_heap_start(&t.heap, 0);
  ir_program_init(&t.p, &t.heap.heap);
  ir_program_init(&t.before, &t.heap.heap);
  arena_init(&t.scratch, &t.heap.heap);
  str_init(&t.text, &t.heap.heap);
  t.root = ir_block_new(&t.p, ir_name(&t.p, "root"));
  t.a = buffer(&t, "A", IR_ROLE_INPUT);
  t.c = buffer(&t, "C", IR_ROLE_OUTPUT);
  *state = &t;
  return 0;
}

static int teardown(void **state) {
  nest *t = *state;
  str_free(&t->text);
  ir_program_free(&t->p);
  ir_program_free(&t->before);
  arena_free(&t->scratch);
  test_heap_end(&t->heap);
  return 0;
}

/* ---- building programs -------------------------------------------------- */

static ir_expr num(nest *t, int64_t v) { return ir_index(&t->p, v); }

static ir_stmt build_loop(nest *t, ir_stmt parent, const char *name,
                          int64_t extent, ir_expr *var) {
  ir_var v = ir_var_new(&t->p, IR_VAR_LOOP, ir_name(&t->p, name), IR_INDEX, 0,
                        extent - 1);
  ir_stmt s = ir_loop_new(&t->p, v, num(t, 0), num(t, extent), IR_SERIAL);
  ir_append(&t->p, parent, s);
  *var = ir_ref(&t->p, v);
  return s;
}

static ir_stmt cond(nest *t, ir_stmt parent, ir_expr e) {
  ir_stmt s = ir_if_new(&t->p, e);
  ir_append(&t->p, parent, s);
  return s;
}

/* i * m + c */
static ir_expr scalar_replacement_at(nest *t, ir_expr i, int64_t m, int64_t c) {
  ir_program *p = &t->p;
  return ir_add(p, ir_mul(p, i, num(t, m)), num(t, c));
}

static ir_expr scalar_replacement_load(nest *t, ir_buf b, ir_expr i) {
  return ir_load(&t->p, b, 1, &i);
}

static ir_stmt store(nest *t, ir_stmt parent, ir_buf b, ir_expr i, ir_expr v) {
  ir_stmt s = ir_store_new(&t->p, b, 1, &i, v);
  ir_append(&t->p, parent, s);
  return s;
}

/* b[i] = b[i] + A[k] in as many lanes as i has */
static void add_to(nest *t, ir_stmt parent, ir_buf b, ir_expr i, ir_expr k) {
  ir_program *p = &t->p;
  ir_expr x = ir_broadcast(p, scalar_replacement_load(t, t->a, k),
                           ir_at(p, i)->dtype.lanes);
  store(t, parent, b, i, ir_add(p, scalar_replacement_load(t, b, i), x));
}

static ir_expr row(nest *t, ir_expr first, uint32_t lanes) {
  return ir_ramp(&t->p, first, num(t, 1), lanes);
}

static ir_expr zero(nest *t) { return ir_real(&t->p, F32, 0); }

static void clear_buffer(nest *t, ir_buf b) {
  ir_expr i;
  ir_stmt s = build_loop(t, t->root, "z", 64, &i);
  store(t, s, b, i, zero(t));
}

/* ---- running ------------------------------------------------------------ */

static void run_pass(nest *t, const char *name) {
  lower_options o = {.vector_bytes = 32};
  err_state e;
  for (uint32_t i = 0; i < LOWER_NPASSES; i++)
    if (!strcmp(lower_passes[i].name, name))
      assert_int_equal(lower_passes[i].run(&t->p, &t->scratch, &o, &e),
                       TESS_OK);
}

/* Runs the passes and compares before and after; t->text is the result. */
static void lower(nest *t) {
  ir_buf params[2] = {t->a, t->c};
  interp_error e;
  int64_t size = 3;
  interp_options o = {.nsizes = t->size ? 1 : 0, .sizes = &size};
  ir_func_new(&t->p, ir_name(&t->p, "f"), 2, params, t->root);
  if (t->size) {
    ir_entry(&t->p)->sizes = ir_arg_span(&t->p, 1, &t->size);
  }
  ir_program_copy(&t->before, &t->p);
  run_pass(t, "hoist_init");
  run_pass(t, "scalar_replacement");
  ir_print_opts none = {0};
  ir_print(&t->p, &none, &t->text);
  if (interp_equal(&t->heap.heap, &t->before, &t->p, 7, &o, &e, NULL)) {
    strbuf why;
    str_init(&why, &t->heap.heap);
    interp_error_text(&t->p, &e, &why);
    print_error("%s\n%s", why.v, t->text.v);
    str_free(&why);
    fail();
  }
}

static void scalar_replacement_expect(nest *t, const char *piece) {
  if (!strstr(t->text.v, piece)) fail_msg("no '%s' in\n%s", piece, t->text.v);
}

static void expect_no(nest *t, const char *piece) {
  if (strstr(t->text.v, piece)) fail_msg("'%s' in\n%s", piece, t->text.v);
}

/* ---- scalar_replacement ------------------------------------------------- */

/* Two vectors and a scalar per i, accumulated over k and m: loaded before k
 * and stored after it. */
static void accumulators_leave_loop_nest(void **state) {
  nest *t = *state;
  ir_expr i, k, m;
  clear_buffer(t, t->c);
  ir_stmt s = build_loop(t, t->root, "i", 3, &i);
  s = build_loop(t, s, "k", N, &k);
  s = build_loop(t, s, "m", 2, &m);
  ir_expr km = ir_add(&t->p, scalar_replacement_at(t, k, 2, 0), m);
  add_to(t, s, t->c, row(t, scalar_replacement_at(t, i, 16, 4), 4), km);
  add_to(t, s, t->c, row(t, scalar_replacement_at(t, i, 16, 0), 4), k);
  add_to(t, s, t->c, scalar_replacement_at(t, i, 16, 12), m);
  lower(t);
  scalar_replacement_expect(
      t, "allocate C_reg: float32[9] in local\n"
         "      C_reg[ramp(0, 1, 4)] = C[ramp(i * 16, 1, 4)]\n"
         "      C_reg[ramp(4, 1, 4)] = C[ramp(i * 16 + 4, 1, 4)]\n"
         "      C_reg[8] = C[i * 16 + 12]\n"
         "      for k in range(8)\n");
  scalar_replacement_expect(t, "\n      C[i * 16 + 12] = C_reg[8]");
  expect_no(t, "    for m in range(2)\n          C[");
}

/* An element whose first access is a store is not loaded before the loop. */
static void must_store_needs_no_load(void **state) {
  nest *t = *state;
  ir_expr k, j;
  ir_stmt s = build_loop(t, t->root, "k", N, &k);
  store(t, s, t->c, num(t, 3), scalar_replacement_load(t, t->a, k));
  add_to(t, s, t->c, num(t, 3), k);
  s = build_loop(t, t->root, "j", 64, &j);
  store(t, s, t->c, j, scalar_replacement_load(t, t->a, j));
  lower(t);
  scalar_replacement_expect(t,
                            "allocate C_reg: float32[1] in local\n    for k");
}

/* Each buffer is promoted at the outermost loop where its index is
 * invariant. */
static void promoted_at_inner_loop(void **state) {
  nest *t = *state;
  ir_expr k, m;
  clear_buffer(t, t->c);
  ir_stmt s = build_loop(t, t->root, "k", N, &k);
  add_to(t, s, t->c, k, k);
  s = build_loop(t, s, "m", 5, &m);
  add_to(t, s, t->c, num(t, 40), m);
  lower(t);
  scalar_replacement_expect(t, "for k in range(8)\n    C[k] = ");
  scalar_replacement_expect(t, "    allocate C_reg: float32[1] in local\n"
                               "      C_reg[0] = C[40]\n      for m");
}

/* Overlapping elements, variant indices, conditions, masks, loops that may run
 * no iteration: the buffer stays in memory. */
static void illegal_promotions(void **state) {
  nest *t = *state;
  ir_program *p = &t->p;
  ir_expr k, m;
  clear_buffer(t, t->c);
  ir_stmt s = build_loop(t, t->root, "k", N, &k);
  add_to(t, s, t->c, row(t, num(t, 0), 4), k);
  add_to(t, s, t->c, row(t, num(t, 3), 4), k);
  s = build_loop(t, t->root, "k", N, &k);
  add_to(t, s, t->c, num(t, 9), k);
  add_to(t, s, t->c, k, k);
  s = build_loop(t, t->root, "k", N, &k);
  s = cond(t, s, ir_binary(p, IR_LT, num(t, 2), k));
  add_to(t, s, t->c, num(t, 20), k);
  s = build_loop(t, t->root, "k", N, &k);
  ir_expr idx = row(t, num(t, 24), 4);
  s = store(t, s, t->c, idx,
            ir_broadcast(p, scalar_replacement_load(t, t->a, k), 4));
  ir_st(p, s)->mask =
      ir_binary(p, IR_LT, row(t, k, 4), ir_broadcast(p, num(t, 5), 4));
  t->size = ir_var_new(p, IR_VAR_SIZE, ir_name(p, "n"), IR_INDEX, 0, N);
  s = build_loop(t, t->root, "k", N, &k);
  ir_st(p, s)->extent = ir_ref(p, t->size);
  add_to(t, s, t->c, num(t, 30), k);
  s = build_loop(t, t->root, "k", N, &k);
  s = build_loop(t, s, "m", N, &m);
  ir_st(p, s)->extent = ir_ref(p, t->size);
  store(t, s, t->c, num(t, 40), scalar_replacement_load(t, t->a, m));
  s = build_loop(t, t->root, "k", N, &k);
  ir_expr j = ir_cast(p, IR_INDEX, scalar_replacement_load(t, t->a, num(t, 0)));
  j = ir_binary(p, IR_MIN, ir_binary(p, IR_MAX, j, num(t, 0)), num(t, 63));
  store(t, s, t->c, j, zero(t));
  lower(t);
  t->size = 0;
  expect_no(t, "_reg");
}

/* A load on one side of a select may not execute, so it is not hoisted; one in
 * its condition is unconditional. */
static void loads_under_select(void **state) {
  nest *t = *state;
  ir_program *p = &t->p;
  ir_expr k, j;
  ir_stmt s = build_loop(t, t->root, "k", N, &k);
  ir_expr later = ir_binary(p, IR_LE, num(t, 1), k);
  store(t, s, t->c, num(t, 3),
        ir_select(p, later, scalar_replacement_load(t, t->c, num(t, 3)),
                  scalar_replacement_load(t, t->a, k)));
  clear_buffer(t, t->c);
  s = build_loop(t, t->root, "j", N, &j);
  ir_expr old = scalar_replacement_load(t, t->c, num(t, 5));
  store(t, s, t->c, num(t, 5),
        ir_select(p,
                  ir_binary(p, IR_LT, old, scalar_replacement_load(t, t->a, j)),
                  scalar_replacement_load(t, t->a, j), old));
  lower(t);
  expect_no(t, "C_reg[0] = C[3]");
  scalar_replacement_expect(t, "C_reg[0] = C[5]");
}

/* Elements beyond the register budget stay in memory. */
static void register_budget(void **state) {
  nest *t = *state;
  ir_expr k, n = num(t, 4096);
  ir_buf l = ir_buf_new(&t->p, ir_name(&t->p, "L"), F32, 1, &n, IR_SCOPE_GLOBAL,
                        IR_ROLE_LOCAL);
  ir_stmt a = ir_allocate_new(&t->p, l);
  ir_append(&t->p, t->root, a);
  ir_stmt s = build_loop(t, a, "k", N, &k);
  for (int i = 0; i < 65; i++)
    store(t, s, l, row(t, num(t, 8 * i), 8),
          ir_broadcast(&t->p, scalar_replacement_load(t, t->a, k), 8));
  s = build_loop(t, a, "k", N, &k);
  for (int i = 0; i < 64; i++)
    store(t, s, l, row(t, num(t, 1024 + 8 * i), 8),
          ir_broadcast(&t->p, scalar_replacement_load(t, t->a, k), 8));
  store(t, a, t->c, num(t, 0), scalar_replacement_load(t, l, num(t, 1100)));
  lower(t);
  scalar_replacement_expect(t, "float32[512] in local");
  scalar_replacement_expect(t, "L[ramp(0, 1, 8)] = broadcast");
}

/* ---- hoist_init --------------------------------------------------------- */

/* The init of a reduction nest is hoisted out of all its loops, which lets the
 * accumulator be promoted. */
static void init_leaves_loop_nest(void **state) {
  nest *t = *state;
  ir_program *p = &t->p;
  ir_expr i, k, m;
  ir_stmt s = build_loop(t, t->root, "i", 64, &i);
  s = build_loop(t, s, "k", N, &k);
  s = build_loop(t, s, "m", 4, &m);
  ir_expr start = ir_and(p, ir_binary(p, IR_EQ, k, num(t, 0)),
                         ir_binary(p, IR_EQ, m, num(t, 0)));
  store(t, cond(t, s, start), t->c, i, zero(t));
  add_to(t, s, t->c, i, ir_add(p, scalar_replacement_at(t, k, 4, 0), m));
  lower(t);
  scalar_replacement_expect(t, "for i in range(64)\n    C[i] = 0.0\n");
  scalar_replacement_expect(t, "      C_reg[0] = C[i]\n      for k");
  expect_no(t, "if ");
}

/* Further terms of the condition stay; not hoisted from behind another
 * statement, with an else, or where the variable has other uses. */
static void conditions_that_stay(void **state) {
  nest *t = *state;
  ir_program *p = &t->p;
  ir_expr i, k;
  clear_buffer(t, t->c);
  ir_stmt outer = build_loop(t, t->root, "i", 4, &i);
  ir_stmt s = build_loop(t, outer, "k", N, &k);
  ir_expr start = ir_binary(p, IR_EQ, k, num(t, 0));
  ir_expr more = ir_binary(p, IR_LT, i, num(t, 2));
  store(t, cond(t, s, ir_and(p, start, more)), t->c, i,
        scalar_replacement_load(t, t->a, k));
  add_to(t, s, t->c, scalar_replacement_at(t, k, 1, 10), k);
  s = build_loop(t, t->root, "k", N, &k);
  start = ir_binary(p, IR_EQ, k, num(t, 0));
  add_to(t, s, t->c, scalar_replacement_at(t, k, 1, 20), k);
  store(t, cond(t, s, start), t->c, num(t, 21), zero(t));
  s = build_loop(t, t->root, "k", N, &k);
  start = ir_binary(p, IR_EQ, k, num(t, 0));
  s = cond(t, s, start);
  store(t, s, t->c, num(t, 40), zero(t));
  ir_append_alt(p, s, ir_store_new(p, t->c, 1, &k, zero(t)));
  lower(t);
  scalar_replacement_expect(t, "if i < 2\n      C[i] = A[0]\n    for k");
  scalar_replacement_expect(t, "for k in range(8)\n    C[k + 20] = ");
  scalar_replacement_expect(t, "else");
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(accumulators_leave_loop_nest), TEST(must_store_needs_no_load),
      TEST(promoted_at_inner_loop),       TEST(illegal_promotions),
      TEST(loads_under_select),           TEST(register_budget),
      TEST(init_leaves_loop_nest),        TEST(conditions_that_stay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
