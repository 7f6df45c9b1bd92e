/* SPDX-License-Identifier: Apache-2.0
 * A fixture for tests of the program itself. */
#include "ir/query.h"
#include "support/matmul.h"

static tess_status fill(void *ud) {
  matmul *m = ud;
  ir_program_init(&m->p, &m->heap.heap);
  ir_program_init(&m->q, &m->heap.heap);
  test_matmul_relu(&m->p, 128, 64, 32);
  m->i = ir_st(&m->p, ir_entry(&m->p)->root)->body;
  m->j = ir_st(&m->p, m->i)->body;
  m->k = ir_st(&m->p, m->j)->body;
  m->c = ir_st(&m->p, m->k)->body;
  m->i2 = ir_st(&m->p, m->i)->next;
  m->j2 = ir_st(&m->p, m->i2)->body;
  m->d = ir_st(&m->p, m->j2)->body;
  return TESS_OK;
}

void matmul_start(matmul *m) {
  memset(m, 0, sizeof *m);
  test_heap_start(&m->heap, 0);
  arena_init(&m->scratch, &m->heap.heap);
  str_init(&m->text, &m->heap.heap);
  assert_int_equal(mem_protect(&m->heap.heap, fill, m), TESS_OK);
}

void matmul_end(matmul *m) {
  ir_program_free(&m->p);
  ir_program_free(&m->q);
  str_free(&m->text);
  arena_free(&m->scratch);
  test_heap_end(&m->heap);
}

typedef struct call {
  matmul *m;
  void (*f)(matmul *m);
} call;

static tess_status do_matmul_run(void *ud) {
  call *c = ud;
  c->f(c->m);
  return TESS_OK;
}

void matmul_run(matmul *m, void (*f)(matmul *m)) {
  assert_int_equal(mem_protect(&m->heap.heap, do_matmul_run, &(call){m, f}),
                   TESS_OK);
}

void matmul_expect(matmul *m, const ir_program *p, const ir_print_opts *o,
                   const char *text) {
  str_clear(&m->text);
  ir_print(p, o, &m->text);
  assert_string_equal(str_get(&m->text), text);
}

void matmul_verify(matmul *m, const ir_program *p) {
  str_clear(&m->text);
  (void)ir_verify(p, &m->scratch, &m->text);
  assert_string_equal(str_get(&m->text), "");
}

void matmul_refuse(matmul *m, const ir_program *p, const char *why) {
  str_clear(&m->text);
  assert_false(ir_verify(p, &m->scratch, &m->text));
  assert_string_equal(str_get(&m->text), why);
}
