/* SPDX-License-Identifier: Apache-2.0
 * Structural hash and equality: which differences count. */
#include "ir/edit.h"
#include "ir/query.h"
#include "support/matmul.h"

#define F32 ((tess_dtype){TESS_DTYPE_FLOAT, 32, 1})

/* p and q are equal by both, or by neither. */
static void expect_same(matmul *m, bool same) {
  uint64_t a = ir_hash(&m->p, &m->scratch), b = ir_hash(&m->q, &m->scratch);
  assert_int_equal(a == b, same);
  assert_int_equal(ir_equal(&m->p, &m->q, &m->scratch), same);
  assert_int_equal(ir_equal(&m->q, &m->p, &m->scratch), same);
}

static ir_expr sum(ir_program *p, ir_expr a, ir_expr b) {
  ir_node n = {.op = IR_ADD, .dtype = IR_INDEX, .a = a, .b = b};
  return ir_raw(p, &n, NULL);
}

/* ---- differences that do not count -------------------------------------- */

/* All table indices differ: other objects are made first. */
static void other_tables(matmul *m) {
  ir_program *q = &m->q;
  for (int i = 0; i < 20; i++) {
    ir_var v = ir_var_new(q, IR_VAR_LOOP, ir_name(q, "x"), IR_INDEX, 0, 9);
    (void)ir_block_new(q, ir_name(q, "never"));
    (void)ir_mul(q, ir_ref(q, v), ir_index(q, i));
    (void)ir_name_cat(q, ir_name(q, "z"), "1");
  }
  test_matmul_relu(q, 128, 64, 32);
}

static void other_names(matmul *m) {
  ir_program *q = &m->q;
  ir_program_copy(q, &m->p);
  for (ir_var v = 1; v < q->var.n; v++) q->var.v[v].name = ir_name(q, "w");
  for (ir_buf b = 1; b < q->buf.n; b++) q->buf.v[b].name = ir_name(q, "w");
  ir_entry(q)->name = ir_name(q, "w");
}

static void order_of_annotations(matmul *m) {
  ir_program_copy(&m->q, &m->p);
  ir_program *p = &m->p, *q = &m->q;
  ir_anno_set(p, m->k, ir_name(p, "a"), ir_value_int(p, 1));
  ir_anno_set(p, m->k, ir_name(p, "b"), ir_value_int(p, 2));
  ir_anno_set(q, m->k, ir_name(q, "b"), ir_value_int(q, 2));
  ir_anno_set(q, m->k, ir_name(q, "a"), ir_value_int(q, 1));
}

static void order_of_terms(matmul *m) {
  ir_program_copy(&m->q, &m->p);
  ir_program *p = &m->p, *q = &m->q;
  ir_expr i = ir_ref(p, ir_st(p, m->i)->var),
          j = ir_ref(p, ir_st(p, m->j)->var);
  ir_expr two = ir_index(p, 2);
  ir_st(p, m->k)->extent = sum(p, sum(p, i, j), two);
  (void)ir_index(q, 2);
  ir_st(q, m->k)->extent = sum(q, two, sum(q, j, i));
  for (ir_program *x = p;; x = q) {
    ir_expr e = ir_st(x, m->k)->extent;
    ir_expr a = ir_binary(x, IR_LT, i, two), b = ir_binary(x, IR_LT, j, two);
    ir_node n = {.op = IR_AND,
                 .dtype = IR_BOOL,
                 .a = x == p ? a : b,
                 .b = x == p ? b : a};
    ir_st(x, m->k)->extent = e;
    ir_blk(x, m->c)->pred = ir_raw(x, &n, NULL);
    if (x == q) break;
  }
}

/* ---- differences that count --------------------------------------------- */

static void name_of_block(matmul *m) {
  ir_blk(&m->q, m->c)->name = ir_name(&m->q, "C2");
}
static void kind_of_loop(matmul *m) {
  ir_st(&m->q, m->i)->loop_kind = IR_PARALLEL;
}
static void extent(matmul *m) {
  ir_st(&m->q, m->i)->extent = ir_index(&m->q, 127);
}
static void structure_constant(matmul *m) {
  ir_st(&m->q, ir_st(&m->q, m->c)->alt)->value = ir_real(&m->q, F32, -0.0);
}
static void annotation(matmul *m) {
  ir_anno_set(&m->q, m->i, ir_name(&m->q, "a"), ir_value_int(&m->q, 0));
}
static void binding(matmul *m) {
  ir_span it = ir_blk(&m->q, m->c)->iters;
  m->q.iter.v[it.at + 1].bind = ir_index(&m->q, 0);
}
static void order_of_operands(matmul *m) {
  ir_program *q = &m->q;
  ir_stmt s = ir_st(q, m->c)->body;
  const ir_node *n = ir_at(q, ir_st(q, s)->value);
  ir_st(q, s)->value = ir_add(q, n->b, n->a);
}
static void scope(matmul *m) {
  m->q.buf.v[ir_st(&m->q, ir_st(&m->q, m->c)->body)->buf].scope =
      IR_SCOPE_LOCAL;
}
static void region(matmul *m) {
  ir_program *q = &m->q;
  ir_region r = q->region.v[ir_blk(q, m->d)->reads.at];
  r = ir_region_full(q, r.buf);
  ir_block_set_reads(q, m->d, 1, &r);
}
static void predicate(matmul *m) {
  ir_blk(&m->q, m->d)->pred = ir_bool(&m->q, true);
}
static void reducer(matmul *m) { ir_blk(&m->q, m->c)->reducer = 0; }
static void order_of_statements(matmul *m) {
  ir_detach(&m->q, m->i2);
  ir_insert_before(&m->q, m->i, m->i2);
}
static void nesting(matmul *m) {
  ir_detach(&m->q, m->d);
  ir_append(&m->q, m->i2, m->d);
}

static void test_ignored(void **state) {
  (void)state;
  void (*const parts[])(matmul *) = {other_tables, other_names,
                                     order_of_annotations, order_of_terms};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    matmul m;
    matmul_start(&m);
    matmul_run(&m, parts[i]);
    expect_same(&m, true);
    matmul_end(&m);
  }
}

static void structure_copy(matmul *m) { ir_program_copy(&m->q, &m->p); }

static void test_seen(void **state) {
  (void)state;
  void (*const parts[])(matmul *) = {name_of_block,
                                     kind_of_loop,
                                     extent,
                                     structure_constant,
                                     annotation,
                                     binding,
                                     order_of_operands,
                                     scope,
                                     region,
                                     predicate,
                                     reducer,
                                     order_of_statements,
                                     nesting};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    matmul m;
    matmul_start(&m);
    matmul_run(&m, structure_copy);
    expect_same(&m, true);
    matmul_run(&m, parts[i]);
    expect_same(&m, false);
    matmul_end(&m);
  }
}

/* The number itself: stored records depend on it. */
static void test_number(void **state) {
  (void)state;
  matmul m;
  matmul_start(&m);
  uint64_t h = ir_hash(&m.p, &m.scratch);
  assert_int_equal(h, UINT64_C(0xd8654986a8e17f6c));
  matmul_end(&m);
}

/* ---- operations --------------------------------------------------------- */

static void triangle(matmul *m) {
  ir_program *p = &m->p;
  /* k runs from 0 to j of its block now: half of the square and a bit. */
  ir_expr j = ir_ref(p, ir_st(p, m->j)->var);
  ir_st(p, m->k)->extent = ir_add(p, j, ir_index(p, 1));
}

static void test_flops(void **state) {
  (void)state;
  matmul m;
  matmul_start(&m);
  assert_int_equal(ir_flops(&m.p), 2 * 128 * 64 * 32 + 128 * 64);
  matmul_run(&m, triangle);
  assert_int_equal(ir_flops(&m.p), 2 * 128 * (64 * 65 / 2) + 128 * 64);
  matmul_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ignored), cmocka_unit_test(test_seen),
      cmocka_unit_test(test_number), cmocka_unit_test(test_flops)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
