/* SPDX-License-Identifier: Apache-2.0
 * Substitution and cloning. */
#include "ir/edit.h"
#include "ir/query.h"
#include "support/matmul.h"
#include "support/program.h"

static void subst_expect(matmul *m, ir_expr e, const char *text) {
  str_clear(&m->text);
  ir_print_expr(&m->p, e, &m->text);
  assert_string_equal(str_get(&m->text), text);
}

static ir_var loop_var(matmul *m, ir_stmt s) { return ir_st(&m->p, s)->var; }

/* A loop variable is replaced in bindings and predicates, not in blocks'
 * bodies. */
static void loops(matmul *m) {
  ir_program *p = &m->p;
  ir_subst s;
  ir_expr i = ir_ref(p, loop_var(m, m->i)), j = ir_ref(p, loop_var(m, m->j));
  ir_blk(p, m->c)->pred = ir_binary(p, IR_LT, i, ir_index(p, 100));
  ir_subst_init(&s, p, &m->scratch);
  ir_subst_var(&s, loop_var(m, m->i),
               ir_add(p, i, ir_mul(p, j, ir_index(p, 2))));
  ir_stmt store = ir_st(p, m->c)->body;
  ir_expr value = ir_st(p, store)->value;
  uint32_t at = ir_st(p, store)->idx.at;
  ir_subst_stmt(&s, m->k);
  ir_span it = ir_blk(p, m->c)->iters;
  subst_expect(m, p->iter.v[it.at].bind, "i + j * 2");
  subst_expect(m, p->iter.v[it.at + 1].bind, "j");
  subst_expect(m, ir_blk(p, m->c)->pred, "i + j * 2 < 100");
  assert_int_equal(ir_st(p, store)->value, value);
  assert_int_equal(ir_st(p, store)->idx.at, at);
}

/* An iter is replaced in regions, indices and values. */
static void subst_inside(matmul *m) {
  ir_program *p = &m->p;
  ir_subst s;
  ir_span it = ir_blk(p, m->d)->iters;
  ir_subst_init(&s, p, &m->scratch);
  ir_subst_var(&s, p->iter.v[it.at].var, ir_index(p, 5));
  ir_subst_stmt(&s, ir_st(p, m->d)->body);
  str_clear(&m->text);
  ir_print_stmt_head(p, ir_st(p, m->d)->body, &m->text);
  assert_string_equal(str_get(&m->text), "D[5, v1] = max(C[5, v1], 0.0)");
  ir_region r = ir_subst_region(&s, p->region.v[ir_blk(p, m->d)->reads.at]);
  subst_expect(m, ir_region_min(p, r, 0), "5");
  ir_region kept = p->region.v[ir_blk(p, m->c)->reads.at];
  assert_int_equal(ir_subst_region(&s, kept).at, kept.at);
}

static void buffers(matmul *m) {
  ir_program *p = &m->p;
  ir_subst s;
  ir_buf c = ir_st(p, ir_st(p, m->c)->body)->buf;
  ir_buf to = ir_buf_new(p, ir_name(p, "E"), p->buf.v[c].dtype, 2,
                         p->arg.v + p->buf.v[c].shape.at, IR_SCOPE_GLOBAL,
                         IR_ROLE_LOCAL);
  ir_block_add_alloc(p, ir_entry(p)->root, to);
  ir_subst_init(&s, p, &m->scratch);
  ir_subst_buf(&s, c, to);
  ir_subst_stmt(&s, m->i);
  str_clear(&m->text);
  ir_print_stmt_head(p, ir_st(p, m->c)->body, &m->text);
  assert_string_equal(str_get(&m->text), "E[v0, v1] = E[v0, v1] + "
                                         "A[v0, v2] * B[v2, v1]");
  assert_int_equal(p->region.v[ir_blk(p, m->c)->writes.at].buf, to);
}

/* Every load of one buffer becomes its first index, as a float. */
static ir_expr first_index(ir_subst *s, ir_buf b, uint32_t n,
                           const ir_expr *idx) {
  (void)n;
  if (b != *(ir_buf *)s->ud) return 0;
  return ir_cast(s->p, (tess_dtype){TESS_DTYPE_FLOAT, 32, 1}, idx[0]);
}

static void load_hook(matmul *m) {
  ir_program *p = &m->p;
  ir_subst s;
  ir_buf c = ir_st(p, ir_st(p, m->c)->body)->buf;
  ir_subst_init(&s, p, &m->scratch);
  s.load = first_index;
  s.ud = &c;
  subst_expect(m, ir_subst_expr(&s, ir_st(p, ir_st(p, m->d)->body)->value),
               "max(float32(v0), 0.0)");
}

static void test_substitution(void **state) {
  (void)state;
  void (*const parts[])(matmul *) = {loops, subst_inside, buffers, load_hook};
  for (int i = 0; i < 4; i++) {
    matmul m;
    matmul_start(&m);
    matmul_run(&m, parts[i]);
    matmul_end(&m);
  }
}

/* ---- cloning ------------------------------------------------------------ */

static void clones(matmul *m) {
  ir_program *p = &m->p;
  ir_subst s;
  ir_anno_set(p, m->c, ir_name(p, "a"), ir_value_int(p, 1));
  ir_anno_set(p, m->c, ir_name(p, "b"), ir_value_int(p, 2));
  ir_subst_init(&s, p, &m->scratch);
  /* Two clones by one substitution: the second is not a clone of the first. */
  for (int k = 0; k < 2; k++)
    ir_insert_after(p, m->i, ir_clone_stmt(&s, m->i, "_copy"));
  matmul_verify(m, p);
  ir_kill(p, m->i2);
  matmul_verify(m, p);
  matmul_expect(
      m, p, NULL,
      "main(A: float32[128, 32], B: float32[32, 64], D: out float32[128, 64])\n"
      "  alloc C: float32[128, 64]\n"
      "  for i in range(128)\n"
      "    for j in range(64)\n"
      "      for k in range(32)\n"
      "        block C(v0: 128 = i, v1: 64 = j, v2: reduce 32 = k)"
      " {a = 1, b = 2}\n"
      "          init\n"
      "            C[v0, v1] = 0.0\n"
      "          C[v0, v1] = C[v0, v1] + A[v0, v2] * B[v2, v1]\n"
      "  for i in range(128)\n"
      "    for j in range(64)\n"
      "      for k in range(32)\n"
      "        block C_copy_1(\n"
      "            v0: 128 = i,\n"
      "            v1: 64 = j,\n"
      "            v2: reduce 32 = k) {a = 1, b = 2}\n"
      "          init\n"
      "            C[v0, v1] = 0.0\n"
      "          C[v0, v1] = C[v0, v1] + A[v0, v2] * B[v2, v1]\n"
      "  for i in range(128)\n"
      "    for j in range(64)\n"
      "      for k in range(32)\n"
      "        block C_copy(v0: 128 = i, v1: 64 = j, v2: reduce 32 = k)"
      " {a = 1, b = 2}\n"
      "          init\n"
      "            C[v0, v1] = 0.0\n"
      "          C[v0, v1] = C[v0, v1] + A[v0, v2] * B[v2, v1]\n");
  /* A clone has its own annotations. */
  ir_stmt copy = test_find_block(p, "C_copy");
  assert_true(ir_anno_remove(p, copy, "a"));
  assert_non_null(ir_anno_get(p, m->c, "a"));
}

/* Allocations and match buffers of a block are cloned with it. */
static void local_buffers(matmul *m) {
  ir_program *p = &m->p;
  ir_stmt root = ir_entry(p)->root,
          block = ir_block_new(p, ir_name(p, "outer"));
  ir_buf c = ir_st(p, ir_st(p, m->c)->body)->buf;
  ir_block_remove_alloc(p, root, c);
  ir_wrap(p, m->i, block);
  ir_detach(p, m->i2);
  ir_append(p, block, m->i2);
  ir_block_add_alloc(p, block, c);
  ir_region reads[] = {p->region.v[ir_blk(p, m->c)->reads.at],
                       p->region.v[ir_blk(p, m->c)->reads.at + 1]};
  reads[0] = ir_region_full(p, reads[0].buf);
  reads[1] = ir_region_full(p, reads[1].buf);
  ir_region write = p->region.v[ir_blk(p, m->d)->writes.at];
  write = ir_region_full(p, write.buf);
  ir_block_set_reads(p, block, 2, reads);
  ir_block_set_writes(p, block, 1, &write);
  matmul_verify(m, p);
  ir_subst s;
  ir_subst_init(&s, p, &m->scratch);
  ir_insert_after(p, block, ir_clone_stmt(&s, block, "_2"));
  matmul_verify(m, p);
  ir_stmt other = test_find_block(p, "C_2");
  assert_int_not_equal(ir_st(p, ir_st(p, other)->body)->buf, c);
  assert_int_equal(ir_st(p, ir_st(p, other)->body)->buf, s.buf[c]);
}

static void test_clones(void **state) {
  (void)state;
  void (*const parts[])(matmul *) = {clones, local_buffers};
  for (int i = 0; i < 2; i++) {
    matmul m;
    matmul_start(&m);
    matmul_run(&m, parts[i]);
    matmul_end(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_substitution),
                                     cmocka_unit_test(test_clones)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
