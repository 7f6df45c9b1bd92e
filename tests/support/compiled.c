/* SPDX-License-Identifier: Apache-2.0
 * Builds plain loops over one-dimensional buffers, compiles and runs them. */
#include "ir/edit.h"
#include "support/compiled.h"

void compiled_start(compiled *k) {
  *k = (compiled){.nparams = 0};
  test_heap_start(&k->heap, 0);
  ir_program_init(&k->p, &k->heap.heap);
  arena_init(&k->scratch, &k->heap.heap);
  runtime_init(&k->rt, mem_default_allocator, 3);
  assert_int_equal(target_parse(&k->target, "llvm", &k->err), TESS_OK);
  k->root = ir_block_new(&k->p, ir_name(&k->p, "root"));
}

void compiled_end(compiled *k) {
  if (k->code) backend_find("llvm")->unload(k->code);
  runtime_free(&k->rt);
  arena_free(&k->scratch);
  ir_program_free(&k->p);
  test_heap_end(&k->heap);
}

ir_buf compiled_param_of(compiled *k, tess_dtype t, ir_expr n, ir_role role) {
  char name[2] = {(char)('A' + k->nparams), 0};
  ir_buf b =
      ir_buf_new(&k->p, ir_name(&k->p, name), t, 1, &n, IR_SCOPE_GLOBAL, role);
  k->param[k->nparams++] = b;
  return b;
}

ir_buf compiled_param(compiled *k, tess_dtype t, int64_t n, ir_role role) {
  return compiled_param_of(k, t, ir_index(&k->p, n), role);
}

ir_stmt compiled_loop(compiled *k, ir_stmt parent, ir_expr extent,
                      ir_loop_kind kind, ir_expr *var) {
  int64_t n = INT64_MAX;
  ir_const_int(&k->p, extent, &n);
  ir_var v = ir_var_new(&k->p, IR_VAR_LOOP, ir_name(&k->p, "i"), IR_INDEX, 0,
                        n == INT64_MAX ? n : n - 1);
  ir_stmt s = ir_loop_new(&k->p, v, ir_index(&k->p, 0), extent, kind);
  ir_append(&k->p, parent, s);
  *var = ir_ref(&k->p, v);
  return s;
}

void compiled_store(compiled *k, ir_stmt parent, ir_buf b, ir_expr index,
                    ir_expr value) {
  ir_append(&k->p, parent, ir_store_new(&k->p, b, 1, &index, value));
}

ir_expr compiled_load(compiled *k, ir_buf b, ir_expr index) {
  return ir_load(&k->p, b, 1, &index);
}

static void compiled_finish(compiled *k) {
  if (!k->p.func.n || k->p.func.v[k->p.entry].root != k->root)
    ir_func_new(&k->p, ir_name(&k->p, "kernel"), k->nparams, k->param, k->root);
}

tess_status compiled_build(compiled *k) {
  const backend *b = backend_find("llvm");
  strbuf code;
  str_init(&code, &k->heap.heap);
  compiled_finish(k);
  tess_status s =
      b->compile(&k->p, &k->scratch, &k->target, BACKEND_CODE, &code, &k->err);
  if (!s) s = b->load(&k->heap.heap, code.v, code.n, &k->code, &k->err);
  str_free(&code);
  return s;
}

void compiled_text(compiled *k, backend_form form, strbuf *out) {
  compiled_finish(k);
  str_init(out, &k->heap.heap);
  assert_int_equal(backend_find("llvm")->compile(&k->p, &k->scratch, &k->target,
                                                 form, out, &k->err),
                   TESS_OK);
}

int32_t compiled_run(compiled *k, void **args, const int64_t *sizes) {
  return backend_find("llvm")->launch(k->code, args, sizes, &k->rt.rt);
}
