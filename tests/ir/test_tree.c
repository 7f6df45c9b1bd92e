/* SPDX-License-Identifier: Apache-2.0
 * Editing the statement tree: links stay consistent, and walks visit all. */
#include "ir/checkpoint.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "support/matmul.h"
#include "support/program.h"
#include <stdio.h>

static ir_stmt mark_stmt(matmul *m, int64_t v) {
  return ir_evaluate_new(&m->p, ir_index(&m->p, v));
}

/* The values of the evaluate statements under `top`, in walking order. */
static void expect_marks(matmul *m, ir_stmt top, const char *text) {
  str_clear(&m->text);
  for (ir_stmt s = top; s; s = ir_next(&m->p, s, top))
    if (ir_st(&m->p, s)->kind == IR_EVALUATE)
      ir_print_expr(&m->p, ir_st(&m->p, s)->eval, &m->text);
  assert_string_equal(str_get(&m->text), text);
}

static void lists(matmul *m) {
  ir_program *p = &m->p;
  ir_stmt s[10];
  for (int i = 0; i < 10; i++) s[i] = mark_stmt(m, i);
  ir_append(p, m->j2, s[3]);
  ir_prepend(p, m->j2, s[1]);
  ir_insert_after(p, s[1], s[2]);
  ir_insert_before(p, s[1], s[0]);
  ir_append_alt(p, m->d, s[5]);
  ir_append_alt(p, m->d, s[6]);
  ir_insert_before(p, s[5], s[4]);
  expect_marks(m, m->i2, "0124563");
  assert_int_equal(ir_st(p, s[4])->in_alt, 1);
  assert_int_equal(ir_st(p, m->d)->alt, s[4]);
  ir_detach(p, s[4]);
  assert_int_equal(ir_st(p, m->d)->alt, s[5]);
  ir_detach(p, s[0]);
  ir_detach(p, s[6]);
  expect_marks(m, m->i2, "1253");
  ir_replace(p, s[2], s[7]);
  assert_int_equal(ir_st(p, s[2])->parent, 0);
  expect_marks(m, m->i2, "1753");
  ir_detach(p, s[5]);
  matmul_verify(m, p);
}

static void test_lists(void **state) {
  (void)state;
  matmul m;
  matmul_start(&m);
  matmul_run(&m, lists);
  matmul_end(&m);
}

static ir_stmt unit_loop(ir_program *p) {
  ir_var v = ir_var_new(p, IR_VAR_LOOP, ir_name(p, "u"), IR_INDEX, 0, 0);
  return ir_loop_new(p, v, ir_index(p, 0), ir_index(p, 1), IR_SERIAL);
}

static void wrapping(matmul *m) {
  ir_program *p = &m->p;
  uint32_t edits = p->edits;
  ir_stmt u = unit_loop(p), w = unit_loop(p);
  ir_wrap(p, m->c, u);
  assert_int_equal(ir_st(p, m->k)->body, u);
  assert_int_equal(ir_st(p, m->c)->parent, u);
  ir_wrap(p, m->i2, w);
  assert_int_equal(ir_st(p, m->i)->next, w);
  assert_int_equal(ir_st(p, w)->prev, m->i);
  matmul_verify(m, p);
  assert_true(p->edits > edits);
  ir_move_body(p, m->j2, w);
  assert_int_equal(ir_st(p, m->j2)->body, 0);
  assert_int_equal(ir_st(p, m->i2)->next, m->d);
  assert_int_equal(ir_st(p, m->d)->parent, w);
  ir_move_body(p, w, m->j2);
  assert_int_equal(ir_st(p, m->i2)->parent, m->j2);
}

static void test_wrapping(void **state) {
  (void)state;
  matmul m;
  matmul_start(&m);
  matmul_run(&m, wrapping);
  matmul_end(&m);
}

static void killing(matmul *m) {
  ir_program *p = &m->p;
  ir_stmt store = ir_st(p, m->c)->body, init = ir_st(p, m->c)->alt;
  p->step = 7;
  ir_kill(p, m->j);
  ir_stmt gone[] = {m->j, m->k, m->c, store, init};
  for (int i = 0; i < 5; i++) {
    assert_true(ir_is_dead(p, gone[i]));
    assert_int_equal(ir_st(p, gone[i])->prev, 7);
  }
  assert_false(ir_is_dead(p, m->i));
  assert_int_equal(ir_st(p, m->i)->body, 0);
  assert_int_equal(test_find_block(p, "C"), 0);
  assert_int_equal(test_find_block(p, "D"), m->d);
  matmul_verify(m, p);
}

static void test_killing(void **state) {
  (void)state;
  matmul m;
  matmul_start(&m);
  matmul_run(&m, killing);
  matmul_end(&m);
}

static void asking(matmul *m) {
  ir_program *p = &m->p;
  ir_stmt root = ir_entry(p)->root;
  assert_int_equal(ir_scope_of(p, m->c), root);
  assert_int_equal(ir_scope_of(p, ir_st(p, m->c)->body), m->c);
  assert_int_equal(ir_scope_of(p, root), 0);
  assert_true(ir_is_ancestor(p, m->i, m->c));
  assert_true(ir_is_ancestor(p, m->c, m->c));
  assert_false(ir_is_ancestor(p, m->i, m->d));
  assert_int_equal(ir_skip(p, m->i, root), m->i2);
  assert_int_equal(ir_next(p, m->i, root), m->j);
  assert_int_equal(ir_skip(p, m->d, m->i2), 0);
  assert_string_equal(ir_text(p, ir_fresh_block_name(p, ir_name(p, "C"))),
                      "C_1");
  assert_string_equal(ir_text(p, ir_fresh_block_name(p, ir_name(p, "E"))), "E");
}

static void test_asking(void **state) {
  (void)state;
  matmul m;
  matmul_start(&m);
  matmul_run(&m, asking);
  matmul_end(&m);
}

/* ---- names, annotations, copies ----------------------------------------- */

static void names(matmul *m) {
  ir_program *p = &m->p;
  assert_int_equal(ir_name(p, ""), 0);
  ir_str a = ir_name(p, "alpha");
  assert_int_equal(ir_name_n(p, "alphabet", 5), a);
  assert_int_equal(ir_name_n(p, ir_text(p, a), 3), ir_name(p, "alp"));
  assert_int_equal(ir_name_cat(p, a, "_1"), ir_name(p, "alpha_1"));
  uint32_t n = p->text.n;
  assert_int_equal(ir_name_cat(p, a, "_1"), ir_name(p, "alpha_1"));
  assert_int_equal(p->text.n, n);
  assert_int_equal(ir_name_cat(p, a, ""), a);
  ir_str many[2000];
  for (int i = 0; i < 2000; i++) {
    char text[16];
    snprintf(text, sizeof text, "n%d", i);
    many[i] = ir_name(p, text);
  }
  for (int i = 0; i < 2000; i++) {
    char text[16];
    snprintf(text, sizeof text, "n%d", i);
    assert_int_equal(ir_name(p, text), many[i]);
    assert_string_equal(ir_text(p, many[i]), text);
  }
}

static void annotations(matmul *m) {
  ir_program *p = &m->p;
  assert_null(ir_anno_get(p, m->k, "a"));
  ir_anno_set(p, m->k, ir_name(p, "a"), ir_value_int(p, 1));
  ir_anno_set(p, m->k, ir_name(p, "b"), ir_value_str(p, "two"));
  ir_anno_set(p, m->k, ir_name(p, "a"), ir_value_int(p, 3));
  assert_int_equal(p->value.v[ir_anno_get(p, m->k, "a")->val].i, 3);
  ir_val b = ir_anno_get(p, m->k, "b")->val;
  assert_true(ir_value_eq(p, b, p, ir_value_str(p, "two")));
  assert_false(ir_value_eq(p, b, p, ir_value_str(p, "three")));
  matmul_verify(m, p);
  assert_true(ir_anno_remove(p, m->k, "a"));
  assert_false(ir_anno_remove(p, m->k, "a"));
  assert_null(ir_anno_get(p, m->k, "a"));
  assert_non_null(ir_anno_get(p, m->k, "b"));
}

static void copying(matmul *m) {
  ir_program_copy(&m->q, &m->p);
  assert_true(ir_equal(&m->p, &m->q, &m->scratch));
  matmul_verify(m, &m->q);
  assert_int_equal(ir_name(&m->q, "C"), ir_name(&m->p, "C"));
  /* Editing the clone does not affect the original. */
  ir_kill(&m->q, m->i);
  matmul_verify(m, &m->p);
  assert_false(ir_equal(&m->p, &m->q, &m->scratch));
  uint64_t calls = m->heap.heap.calls;
  for (int i = 0; i < 10; i++) ir_program_copy(&m->q, &m->p);
  assert_int_equal(m->heap.heap.calls, calls);
  ir_program_reset(&m->q);
  assert_int_equal(m->heap.heap.calls, calls);
  assert_int_equal(m->q.func.n, 1);
}

static void take(matmul *m, ir_checkpoint *c, ir_checkpoint_kind kind) {
  void *room = arena_alloc(&m->scratch, ir_checkpoint_size(&m->p, kind));
  ir_checkpoint_take(c, &m->p, kind, room);
}

static void expect_equal(matmul *m, const ir_program *to) {
  assert_int_equal(m->p.node.n, to->node.n);
  assert_int_equal(m->p.stmt.n, to->stmt.n);
  assert_int_equal(m->p.edits, to->edits);
  assert_true(ir_equal(&m->p, to, &m->scratch));
  matmul_verify(m, &m->p);
}

/* Rolled back, the program is as before; the full checkpoint of the edited
 * program restores that. */
static void rolling_back(matmul *m) {
  ir_checkpoint before, after;
  ir_program_copy(&m->q, &m->p);
  take(m, &before, IR_CHECKPOINT_UNDO);
  for (int i = 0; i < 400; i++) ir_append(&m->p, m->j2, mark_stmt(m, 1000 + i));
  ir_kill(&m->p, m->i);
  take(m, &after, IR_CHECKPOINT_FULL);
  uint64_t calls = m->heap.heap.calls;
  ir_checkpoint_restore(&before, &m->p);
  ir_checkpoint_restore(&after, &m->p);
  assert_int_equal(m->heap.heap.calls, calls);
  assert_true(ir_is_dead(&m->p, m->i));
  matmul_verify(m, &m->p);
  ir_checkpoint_restore(&before, &m->p);
  expect_equal(m, &m->q);
}

static void test_rollback(void **state) {
  (void)state;
  matmul m;
  matmul_start(&m);
  matmul_run(&m, rolling_back);
  matmul_end(&m);
}

static void test_tree_names(void **state) {
  (void)state;
  matmul m;
  matmul_start(&m);
  matmul_run(&m, names);
  matmul_run(&m, annotations);
  matmul_run(&m, copying);
  matmul_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lists),      cmocka_unit_test(test_wrapping),
      cmocka_unit_test(test_killing),    cmocka_unit_test(test_asking),
      cmocka_unit_test(test_tree_names), cmocka_unit_test(test_rollback)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
