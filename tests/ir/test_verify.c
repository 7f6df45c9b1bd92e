/* SPDX-License-Identifier: Apache-2.0
 * The verifier: one violation a case. */
#include "ir/edit.h"
#include "ir/query.h"
#include "support/matmul.h"

#define F32 ((tess_dtype){TESS_DTYPE_FLOAT, 32, 1})
#define I32 ((tess_dtype){TESS_DTYPE_INT, 32, 1})

static void test_right(void **state) {
  (void)state;
  matmul m;
  matmul_start(&m);
  matmul_verify(&m, &m.p);
  matmul_end(&m);
}

/* What is unused any more need not be consistent: here the loads, regions and
 * stores of a removed block, after its buffer got another shape. */
static void reshape(matmul *m) {
  ir_program *p = &m->p;
  ir_buf d = ir_st(p, ir_st(p, m->d)->body)->buf;
  ir_kill(p, m->i2);
  p->buf.v[d].shape.n = 1;
}

static void test_leftovers(void **state) {
  (void)state;
  matmul m;
  strbuf bytes;
  matmul_start(&m);
  matmul_run(&m, reshape);
  matmul_verify(&m, &m.p);
  str_init(&bytes, &m.heap.heap);
  ir_save(&m.p, &bytes);
  str_clear(&m.text);
  assert_int_equal(ir_restore(&m.q, &m.scratch, bytes.v, bytes.n, &m.text),
                   TESS_OK);
  assert_true(ir_equal(&m.p, &m.q, &m.scratch));
  assert_true(m.q.stmt.n < m.p.stmt.n);
  str_free(&bytes);
  matmul_end(&m);
}

/* A loop and an iter whose bounds are wider than their domains, with a region
 * of the domains. */
static void loose(matmul *m) {
  ir_program *p = &m->p;
  ir_expr half = ir_index(p, 32);
  ir_expr box[] = {ir_index(p, 0), ir_index(p, 128), ir_index(p, 0), half};
  ir_buf c = p->region.v[ir_blk(p, m->d)->reads.at].buf;
  ir_region r = ir_region_new(p, c, box);
  ir_st(p, m->j2)->extent = half;
  p->iter.v[ir_blk(p, m->d)->iters.at + 1].extent = half;
  ir_block_set_reads(p, m->d, 1, &r);
}

/* D[i // 2 + 70, j]: rows 128 to 133 are not there. */
static void halve(matmul *m) {
  ir_program *p = &m->p;
  ir_expr two = ir_index(p, 2), off = ir_index(p, 70);
  ir_expr i = ir_ref(p, p->iter.v[ir_blk(p, m->d)->iters.at].var);
  i = ir_binary(p, IR_ADD, ir_binary(p, IR_DIV, i, two), off);
  p->arg.v[ir_st(p, ir_st(p, m->d)->body)->idx.at] = i;
}

/* The same where i < 116, for which they are not written. */
static void guard_halves(matmul *m) {
  ir_program *p = &m->p;
  ir_expr end = ir_index(p, 116);
  ir_expr i = p->iter.v[ir_blk(p, m->d)->iters.at].bind;
  ir_blk(p, m->d)->pred = ir_binary(p, IR_LT, i, end);
}

static void test_witness(void **state) {
  (void)state;
  matmul m;
  matmul_start(&m);
  matmul_run(&m, halve);
  str_clear(&m.text);
  assert_false(ir_verify_bounds(&m.p, false, &m.scratch, &m.text));
  assert_non_null(strstr(str_get(&m.text), "is 130 where"));
  matmul_run(&m, guard_halves);
  str_clear(&m.text);
  assert_true(ir_verify_bounds(&m.p, false, &m.scratch, &m.text));
  matmul_end(&m);
}

static void test_loose(void **state) {
  (void)state;
  matmul m;
  matmul_start(&m);
  matmul_run(&m, loose);
  matmul_verify(&m, &m.p);
  matmul_end(&m);
}

/* Each violates one rule. */

static void next_link(matmul *m) { ir_st(&m->p, m->i)->next = m->j2; }
static void cycle(matmul *m) { ir_st(&m->p, m->i2)->next = m->i; }
static void dead(matmul *m) { ir_st(&m->p, m->j2)->kind = IR_DEAD; }
static void leaf_body(matmul *m) {
  ir_stmt store = ir_st(&m->p, m->d)->body;
  ir_stmt more = ir_evaluate_new(&m->p, ir_index(&m->p, 1));
  ir_st(&m->p, store)->body = more;
}
static void root_name(matmul *m) {
  ir_blk(&m->p, ir_entry(&m->p)->root)->name = ir_name(&m->p, "top");
}
static void same_name(matmul *m) {
  ir_blk(&m->p, m->d)->name = ir_name(&m->p, "C");
}
static void out_of_table(matmul *m) { ir_st(&m->p, m->d)->body = 9999; }
static void bad_node(matmul *m) {
  ir_program *p = &m->p;
  ir_expr e = ir_st(p, ir_st(p, m->d)->body)->value;
  p->node.v[e].b = e;
}
static void unbound(matmul *m) {
  ir_program *p = &m->p;
  ir_var v = ir_var_new(p, IR_VAR_LOOP, ir_name(p, "lost"), IR_INDEX, 0, 9);
  ir_st(p, m->j2)->extent = ir_add(p, ir_ref(p, v), ir_index(p, 1));
}
static void past_a_block(matmul *m) {
  ir_program *p = &m->p;
  ir_stmt s = ir_st(p, m->d)->body;
  ir_expr idx[] = {ir_ref(p, ir_st(p, m->i2)->var), ir_index(p, 0)};
  ir_st(p, s)->value = ir_load(p, ir_st(p, s)->buf, 2, idx);
}
static void bound_twice(matmul *m) {
  ir_st(&m->p, m->j2)->var = ir_st(&m->p, m->j)->var;
}
static void stale(matmul *m) { m->p.var.v[ir_st(&m->p, m->k)->var].hi = 30; }
static void verify_narrow(matmul *m) {
  ir_st(&m->p, m->k)->extent = ir_index(&m->p, 33);
}
static void dtype_of_store(matmul *m) {
  ir_program *p = &m->p;
  ir_st(p, ir_st(p, m->d)->body)->value = ir_int(p, I32, 3);
}
static void dtype_of_operands(matmul *m) {
  ir_program *p = &m->p;
  ir_node n = {.op = IR_ADD,
               .dtype = F32,
               .a = ir_real(p, F32, 1),
               .b = ir_int(p, I32, 1)};
  ir_st(p, ir_st(p, m->d)->body)->value = ir_raw(p, &n, NULL);
}
static void index_count(matmul *m) {
  ir_st(&m->p, ir_st(&m->p, m->d)->body)->idx.n = 1;
}
static void undeclared_read(matmul *m) {
  ir_block_set_reads(&m->p, m->d, 0, NULL);
}
static void undeclared_write(matmul *m) {
  ir_block_set_writes(&m->p, m->d, 0, NULL);
}
static void outside_of_region(matmul *m) {
  ir_program *p = &m->p;
  ir_buf c = p->region.v[ir_blk(p, m->d)->reads.at].buf;
  ir_expr box[] = {ir_index(p, 0), ir_index(p, 64), ir_index(p, 0),
                   ir_index(p, 64)};
  ir_region r = ir_region_new(p, c, box);
  ir_block_set_reads(p, m->d, 1, &r);
}
static void allocated_twice(matmul *m) {
  ir_program *p = &m->p;
  ir_block_add_alloc(p, m->d, ir_st(p, ir_st(p, m->c)->body)->buf);
}
static void not_allocated(matmul *m) {
  ir_program *p = &m->p;
  ir_block_remove_alloc(p, ir_entry(p)->root,
                        ir_st(p, ir_st(p, m->c)->body)->buf);
}
static void binding_outside(matmul *m) {
  ir_program *p = &m->p;
  p->iter.v[ir_blk(p, m->d)->iters.at].bind = ir_index(p, 128);
}
static void binding_leaves(matmul *m) {
  ir_program *p = &m->p;
  ir_iter *it = &p->iter.v[ir_blk(p, m->d)->iters.at];
  it->bind = ir_mul(p, it->bind, ir_index(p, 2));
}
static void binding_below(matmul *m) {
  ir_program *p = &m->p;
  ir_iter *it = &p->iter.v[ir_blk(p, m->d)->iters.at + 1];
  it->bind = ir_sub(p, it->bind, ir_index(p, 1));
}
static void predicate_type(matmul *m) {
  ir_blk(&m->p, m->d)->pred = ir_index(&m->p, 1);
}
static void same_annotation(matmul *m) {
  ir_program *p = &m->p;
  ir_anno_set(p, m->d, ir_name(p, "a"), ir_value_int(p, 1));
  ir_anno_set(p, m->d, ir_name(p, "b"), ir_value_int(p, 1));
  p->anno.v[ir_st(p, m->d)->anno].key = ir_name(p, "b");
}
static void formal(matmul *m) {
  ir_program *p = &m->p;
  p->arg.v[p->reducer.v[1].combine.at] =
      ir_load(p, ir_st(p, ir_st(p, m->d)->body)->buf, 2,
              (ir_expr[]){ir_index(p, 0), ir_index(p, 0)});
}
static void deep(matmul *m) {
  ir_program *p = &m->p;
  ir_expr e = ir_real(p, F32, 1);
  for (int k = 0; k < 5000; k++) e = ir_call(p, IR_FN_SQRT, F32, 1, &e);
}

static void test_wrong(void **state) {
  (void)state;
  static const struct {
    void (*spoil)(matmul *m);
    const char *why;
  } cases[] = {
      {next_link, "the links of statement 9 do not agree"},
      {cycle, "statement 2 is in two places"},
      {dead, "statement 9 is dead but in the tree"},
      {leaf_body, "statement 11 may not have children"},
      {root_name, "the root block is called 'top'"},
      {same_name, "two blocks are called 'C'"},
      {out_of_table, "statement 10 is malformed"},
      {bad_node, "expression 26 is malformed"},
      {unbound, "variable 'lost' is used where it is not bound, in "
                "`for j in range(lost + 1)`"},
      {past_a_block, "variable 'i' is used where it is not bound, in "
                     "`D[v0, v1] = D[i, 0]`"},
      {bound_twice, "variable 'j' is bound twice, in `for j in range(64)`"},
      {stale, "the cached facts of `k` are wrong"},
      {verify_narrow,
       "variable 'k' claims to lie in [0, 31] but ranges over [0, 32], "
       "in `for k in range(33)`"},
      {dtype_of_store, "the type of the stored value does not match, in "
                       "`D[v0, v1] = 3`"},
      {dtype_of_operands, "the types of `1.0 + 1` do not fit"},
      {index_count, "buffer 'D' has 2 dimensions but is indexed by 1, in "
                    "`D[v0] = max(C[v0, v1], 0.0)`"},
      {undeclared_read, "block 'D' reads buffer 'C' without declaring it, in "
                        "`D[v0, v1] = max(C[v0, v1], 0.0)`"},
      {undeclared_write, "block 'D' writes buffer 'D' without declaring it, in "
                         "`D[v0, v1] = max(C[v0, v1], 0.0)`"},
      {outside_of_region, "block 'D' reads buffer 'C' outside of the region it "
                          "declares, in `D[v0, v1] = max(C[v0, v1], 0.0)`"},
      {allocated_twice, "buffer 'C' is bound twice, in "
                        "`block D(v0: 128 = i, v1: 64 = j)`"},
      {not_allocated, "buffer 'C' is used where it is not bound, in "
                      "`block C(v0: 128 = i, v1: 64 = j, v2: reduce 32 = k)`"},
      {binding_outside,
       "the value of variable 'v0', in [128, 128], is outside of "
       "its domain, in `block D(v0: 128 = 128, v1: 64 = j)`"},
      {binding_leaves,
       "the value of variable 'v0', in [0, 254], leaves its domain, in "
       "`block D(v0: 128 = i * 2, v1: 64 = j)`"},
      {binding_below, "the value of variable 'v1', in [-1, 62], leaves its "
                      "domain, in `block D(v0: 128 = i, v1: 64 = j - 1)`"},
      {predicate_type, "the predicate is int64, not bool, in "
                       "`block D(v0: 128 = i, v1: 64 = j)`"},
      {same_annotation, "annotation 'b' of statement 10 is there twice"},
      {formal, "reducer 1 uses more than its formals"},
      {deep, "expression 4123 nests deeper than 4096"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    matmul m;
    matmul_start(&m);
    matmul_run(&m, cases[i].spoil);
    matmul_refuse(&m, &m.p, cases[i].why);
    matmul_end(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_right), cmocka_unit_test(test_leftovers),
      cmocka_unit_test(test_loose), cmocka_unit_test(test_witness),
      cmocka_unit_test(test_wrong)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
