/* SPDX-License-Identifier: Apache-2.0
 * Programs written down statement by statement. */
#include "ir/edit.h"
#include "support/nest.h"

#include <stdio.h>

void nest_start(nest *n) {
  *n = (nest){.nparams = 0};
  test_heap_start(&n->heap, 0);
  ir_program_init(&n->p, &n->heap.heap);
  interp_init(&n->in, &n->heap.heap);
  n->root = n->at = ir_block_new(&n->p, ir_name(&n->p, "root"));
}

void nest_end(nest *n) {
  interp_free(&n->in);
  ir_program_free(&n->p);
  test_heap_end(&n->heap);
}

ir_expr nest_num(nest *n, int64_t v) { return ir_index(&n->p, v); }

static ir_buf buffer(nest *n, const char *name, tess_dtype t, ir_scope scope,
                     ir_role role, const int64_t d[3]) {
  ir_expr shape[3];
  uint32_t k = 0;
  for (; k < 3 && d[k]; k++) shape[k] = nest_num(n, d[k]);
  return ir_buf_new(&n->p, ir_name(&n->p, name), t, k, shape, scope, role);
}

ir_buf nest_param(nest *n, const char *name, tess_dtype t, ir_role role,
                  int64_t d0, int64_t d1, int64_t d2) {
  int64_t d[3] = {d0, d1, d2};
  ir_buf b = buffer(n, name, t, IR_SCOPE_GLOBAL, role, d);
  n->param[n->nparams++] = b;
  return b;
}

ir_buf nest_local(nest *n, const char *name, tess_dtype t, ir_scope scope,
                  int64_t d0, int64_t d1, int64_t d2) {
  int64_t d[3] = {d0, d1, d2};
  ir_buf b = buffer(n, name, t, scope, IR_ROLE_LOCAL, d);
  ir_block_add_alloc(&n->p, n->root, b);
  return b;
}

/* ---- statements --------------------------------------------------------- */

static void append(nest *n, ir_stmt s) {
  if (n->alt)
    ir_append_alt(&n->p, n->at, s);
  else
    ir_append(&n->p, n->at, s);
}

static void open_stmt(nest *n, ir_stmt s) {
  append(n, s);
  n->at = s;
  n->alt = false;
}

ir_expr nest_loop(nest *n, int64_t extent, ir_loop_kind kind) {
  ir_var v = ir_var_new(&n->p, IR_VAR_LOOP, ir_name(&n->p, "i"), IR_INDEX, 0,
                        extent - 1);
  open_stmt(n,
            ir_loop_new(&n->p, v, nest_num(n, 0), nest_num(n, extent), kind));
  return ir_ref(&n->p, v);
}

ir_expr nest_thread(nest *n, int64_t extent, ir_thread tag) {
  ir_expr v = nest_loop(n, extent, IR_THREAD);
  ir_st(&n->p, n->at)->thread = (uint8_t)tag;
  return v;
}

ir_stmt nest_block(nest *n, const char *name) {
  open_stmt(n, ir_block_new(&n->p, ir_name(&n->p, name)));
  return n->at;
}

void nest_if(nest *n, ir_expr cond) { open_stmt(n, ir_if_new(&n->p, cond)); }

void nest_else(nest *n) { n->alt = true; }

void nest_allocate(nest *n, ir_buf b) {
  open_stmt(n, ir_allocate_new(&n->p, b));
}

void nest_close(nest *n, uint32_t k) {
  for (; k; k--) {
    const ir_stmt_rec *r = ir_st(&n->p, n->at);
    n->alt = r->in_alt;
    n->at = r->parent;
  }
}

ir_expr nest_iter(nest *n, ir_iter_kind kind, int64_t extent, ir_expr bind) {
  ir_iter it[8];
  ir_span old = ir_blk(&n->p, n->at)->iters;
  if (old.n) memcpy(it, n->p.iter.v + old.at, old.n * sizeof *it);
  ir_var v = ir_var_new(&n->p, IR_VAR_ITER, ir_name(&n->p, "v"), IR_INDEX, 0,
                        extent - 1);
  it[old.n] = (ir_iter){v, kind, nest_num(n, 0), nest_num(n, extent), bind};
  ir_block_set_iters(&n->p, n->at, old.n + 1, it);
  return ir_ref(&n->p, v);
}

void nest_init(nest *n) { n->alt = true; }
void nest_body(nest *n) { n->alt = false; }

static uint32_t indices(ir_expr i, ir_expr j, ir_expr out[2]) {
  out[0] = i, out[1] = j;
  return j ? 2 : 1;
}

void nest_store(nest *n, ir_buf b, ir_expr i, ir_expr j, ir_expr value) {
  ir_expr idx[2];
  append(n, ir_store_new(&n->p, b, indices(i, j, idx), idx, value));
}

ir_expr nest_load(nest *n, ir_buf b, ir_expr i, ir_expr j) {
  ir_expr idx[2];
  return ir_load(&n->p, b, indices(i, j, idx), idx);
}

void nest_barrier(nest *n) {
  append(n, ir_barrier_new(&n->p, IR_SCOPE_SHARED));
}

void nest_warp_barrier(nest *n) {
  append(n, ir_barrier_new(&n->p, IR_SCOPE_WARP));
}

void nest_evaluate(nest *n, ir_expr e) { append(n, ir_evaluate_new(&n->p, e)); }

/* ---- running ------------------------------------------------------------ */

void nest_finish(nest *n) {
  ir_func_new(&n->p, ir_name(&n->p, "main"), n->nparams, n->param, n->root);
}

static size_t bytes_of(const nest *n, ir_buf b) {
  size_t size = n->o.domain == INTERP_RESIDUE
                    ? sizeof(uint64_t)
                    : ir_dtype_bytes(n->p.buf.v[b].dtype);
  for (uint32_t i = 0; i < ir_ndim(&n->p, b); i++) {
    int64_t v = 0;
    assert_true(ir_const_int(&n->p, ir_dim(&n->p, b, i), &v));
    size *= (size_t)v;
  }
  return size;
}

tess_status nest_run(nest *n, void *const *args) {
  interp_arg a[8];
  for (uint32_t i = 0; i < n->nparams; i++)
    a[i] = (interp_arg){args[i], bytes_of(n, n->param[i])};
  return interp_run(&n->in, &n->p, n->nparams, a, &n->o, &n->e);
}

const char *nest_error(nest *n, char *text, size_t size) {
  strbuf out;
  str_init(&out, &n->heap.heap);
  interp_error_text(&n->p, &n->e, &out);
  snprintf(text, size, "%s", str_get(&out));
  str_free(&out);
  return text;
}
