/* SPDX-License-Identifier: Apache-2.0
 * Small programs for tests. */
#include "ir/edit.h"
#include "ir/query.h"
#include "support/program.h"
#include <string.h>

#define F32 ((tess_dtype){TESS_DTYPE_FLOAT, 32, 1})

static ir_buf matrix(ir_program *p, const char *name, int64_t m, int64_t n,
                     ir_role role) {
  ir_expr shape[] = {ir_index(p, m), ir_index(p, n)};
  return ir_buf_new(p, ir_name(p, name), F32, 2, shape, IR_SCOPE_GLOBAL, role);
}

/* A nest of n loops, appended to `parent`; gives the innermost. */
static ir_stmt nest(ir_program *p, ir_stmt parent, uint32_t n,
                    const char *const *names, const int64_t *extent,
                    ir_var *vars) {
  for (uint32_t i = 0; i < n; i++) {
    vars[i] = ir_var_new(p, IR_VAR_LOOP, ir_name(p, names[i]), IR_INDEX, 0,
                         extent[i] - 1);
    ir_stmt loop = ir_loop_new(p, vars[i], ir_index(p, 0),
                               ir_index(p, extent[i]), IR_SERIAL);
    ir_append(p, parent, loop);
    parent = loop;
  }
  return parent;
}

/* A block with one iteration variable a loop, bound to it. */
static ir_stmt block(ir_program *p, const char *name, uint32_t n,
                     const int64_t *extent, const ir_iter_kind *kinds,
                     const ir_var *loops, ir_expr *at) {
  ir_stmt b = ir_block_new(p, ir_name(p, name));
  ir_iter it[8];
  for (uint32_t i = 0; i < n; i++) {
    char text[8] = {'v', (char)('0' + i)};
    ir_var v = ir_var_new(p, IR_VAR_ITER, ir_name(p, text), IR_INDEX, 0,
                          extent[i] - 1);
    it[i] = (ir_iter){v, kinds[i], ir_index(p, 0), ir_index(p, extent[i]),
                      ir_ref(p, loops[i])};
    at[i] = ir_ref(p, v);
  }
  ir_block_set_iters(p, b, n, it);
  return b;
}

static ir_region point(ir_program *p, ir_buf b, ir_expr i, ir_expr j) {
  ir_expr box[] = {i, ir_index(p, 1), j, ir_index(p, 1)};
  return ir_region_new(p, b, box);
}

static void product(ir_program *p, ir_stmt root, const int64_t *extent,
                    ir_buf a, ir_buf b, ir_buf c) {
  static const char *const names[] = {"i", "j", "k"};
  static const ir_iter_kind kinds[] = {IR_SPATIAL, IR_SPATIAL, IR_REDUCE};
  ir_var loops[3];
  ir_expr v[3];
  ir_stmt inner = nest(p, root, 3, names, extent, loops);
  ir_stmt blk = block(p, "C", 3, extent, kinds, loops, v);
  ir_expr ca[] = {v[0], v[1]}, aa[] = {v[0], v[2]}, ba[] = {v[2], v[1]};
  ir_expr x = ir_load(p, a, 2, aa), y = ir_load(p, b, 2, ba);
  ir_expr sum = ir_add(p, ir_load(p, c, 2, ca), ir_mul(p, x, y));
  ir_append(p, blk, ir_store_new(p, c, 2, ca, sum));
  ir_append_alt(p, blk, ir_store_new(p, c, 2, ca, ir_real(p, F32, 0)));
  ir_region reads[] = {point(p, a, v[0], v[2]), point(p, b, v[2], v[1])};
  ir_region writes[] = {point(p, c, v[0], v[1])};
  ir_block_set_reads(p, blk, 2, reads);
  ir_block_set_writes(p, blk, 1, writes);
  ir_blk(p, blk)->reducer = ir_reducer_builtin(p, "sum", F32);
  ir_append(p, inner, blk);
}

static void shifted_program(ir_program *p, ir_stmt root, const int64_t *extent,
                            ir_buf a, ir_buf c) {
  static const char *const names[] = {"i", "j"};
  static const ir_iter_kind kinds[] = {IR_SPATIAL, IR_SPATIAL};
  ir_var loops[2];
  ir_expr v[2];
  ir_stmt inner = nest(p, root, 2, names, extent, loops);
  ir_stmt blk = block(p, "C", 2, extent, kinds, loops, v);
  ir_expr sum = ir_add(p, ir_load(p, a, 2, v), ir_real(p, F32, 1));
  ir_append(p, blk, ir_store_new(p, c, 2, v, sum));
  ir_region reads[] = {point(p, a, v[0], v[1])};
  ir_region writes[] = {point(p, c, v[0], v[1])};
  ir_block_set_reads(p, blk, 1, reads);
  ir_block_set_writes(p, blk, 1, writes);
  ir_append(p, inner, blk);
}

/* D = max(C, 0) or C + 1. */
static void after(ir_program *p, ir_stmt root, const int64_t *extent, ir_buf c,
                  ir_buf d, bool add) {
  static const char *const names[] = {"i", "j"};
  static const ir_iter_kind kinds[] = {IR_SPATIAL, IR_SPATIAL};
  ir_var loops[2];
  ir_expr v[2];
  ir_stmt inner = nest(p, root, 2, names, extent, loops);
  ir_stmt blk = block(p, "D", 2, extent, kinds, loops, v);
  ir_expr x = ir_load(p, c, 2, v);
  ir_expr value = add ? ir_add(p, x, ir_real(p, F32, 1))
                      : ir_binary(p, IR_MAX, x, ir_real(p, F32, 0));
  ir_append(p, blk, ir_store_new(p, d, 2, v, value));
  ir_region reads[] = {point(p, c, v[0], v[1])};
  ir_region writes[] = {point(p, d, v[0], v[1])};
  ir_block_set_reads(p, blk, 1, reads);
  ir_block_set_writes(p, blk, 1, writes);
  ir_append(p, inner, blk);
}

static void matmul_and(ir_program *p, int64_t m, int64_t n, int64_t k,
                       bool add) {
  int64_t extent[] = {m, n, k};
  ir_buf a = matrix(p, "A", m, k, IR_ROLE_INPUT);
  ir_buf b = matrix(p, "B", k, n, IR_ROLE_INPUT);
  ir_buf c = matrix(p, "C", m, n, IR_ROLE_LOCAL);
  ir_buf d = matrix(p, "D", m, n, IR_ROLE_OUTPUT);
  ir_stmt root = ir_block_new(p, ir_name(p, "root"));
  ir_block_add_alloc(p, root, c);
  product(p, root, extent, a, b, c);
  after(p, root, extent, c, d, add);
  ir_buf params[] = {a, b, d};
  p->entry = ir_func_new(p, ir_name(p, "main"), 3, params, root);
}

void test_matmul_relu(ir_program *p, int64_t m, int64_t n, int64_t k) {
  matmul_and(p, m, n, k, false);
}

void test_matmul_add(ir_program *p, int64_t m, int64_t n, int64_t k) {
  matmul_and(p, m, n, k, true);
}

void test_shift_relu(ir_program *p, int64_t m, int64_t n) {
  int64_t extent[] = {m, n};
  ir_buf a = matrix(p, "A", m, n, IR_ROLE_INPUT);
  ir_buf c = matrix(p, "C", m, n, IR_ROLE_LOCAL);
  ir_buf d = matrix(p, "D", m, n, IR_ROLE_OUTPUT);
  ir_stmt root = ir_block_new(p, ir_name(p, "root"));
  ir_block_add_alloc(p, root, c);
  shifted_program(p, root, extent, a, c);
  after(p, root, extent, c, d, false);
  ir_buf params[] = {a, d};
  p->entry = ir_func_new(p, ir_name(p, "main"), 2, params, root);
}

/* Windows of C, padded in front, below the loop that D is made in. */
void test_windows(ir_program *p, int64_t m) {
  static const char *const t_name[] = {"t"}, *const a_name[] = {"a"},
                           *const b_name[] = {"b"};
  static const ir_iter_kind kinds[] = {IR_SPATIAL};
  const int64_t four[] = {4}, two[] = {2};
  const int64_t made[] = {2 * m + 2}, used[] = {2 * m};
  ir_expr longer = ir_index(p, *made), shorter = ir_index(p, *used), v, w;
  ir_buf a = ir_buf_new(p, ir_name(p, "A"), F32, 1, &longer, IR_SCOPE_GLOBAL,
                        IR_ROLE_INPUT);
  ir_buf c = ir_buf_new(p, ir_name(p, "C"), F32, 1, &longer, IR_SCOPE_GLOBAL,
                        IR_ROLE_LOCAL);
  ir_buf d = ir_buf_new(p, ir_name(p, "D"), F32, 1, &shorter, IR_SCOPE_GLOBAL,
                        IR_ROLE_OUTPUT);
  ir_stmt root = ir_block_new(p, ir_name(p, "root"));
  ir_var t, la, lb;
  arena scratch;
  arena_init(&scratch, p->heap);
  ir_block_add_alloc(p, root, c);
  ir_stmt outer = nest(p, root, 1, t_name, &m, &t);
  ir_expr at = ir_mul(p, ir_ref(p, t), ir_index(p, 2));

  ir_stmt inner = nest(p, outer, 1, a_name, four, &la);
  ir_stmt blk = block(p, "C", 1, made, kinds, &la, &v);
  p->iter.v[ir_blk(p, blk)->iters.at].bind = ir_add(p, at, ir_ref(p, la));
  ir_expr before = ir_sub(p, v, ir_index(p, 1));
  ir_expr x = ir_select(p, ir_binary(p, IR_LE, ir_index(p, 1), v),
                        ir_load(p, a, 1, &before), ir_real(p, F32, 0));
  ir_append(p, blk, ir_store_new(p, c, 1, &v, x));
  ir_append(p, inner, blk);
  ir_block_find_regions(p, &scratch, blk);

  inner = nest(p, outer, 1, b_name, two, &lb);
  blk = block(p, "D", 1, used, kinds, &lb, &w);
  p->iter.v[ir_blk(p, blk)->iters.at].bind = ir_add(p, at, ir_ref(p, lb));
  ir_expr after_w = ir_add(p, w, ir_index(p, 2));
  ir_expr sum = ir_add(p, ir_load(p, c, 1, &w), ir_load(p, c, 1, &after_w));
  ir_append(p, blk, ir_store_new(p, d, 1, &w, sum));
  ir_append(p, inner, blk);
  ir_block_find_regions(p, &scratch, blk);
  arena_free(&scratch);
  ir_buf params[] = {a, d};
  p->entry = ir_func_new(p, ir_name(p, "main"), 2, params, root);
}

void test_many_blocks(ir_program *p, uint32_t n) {
  static const char *const names[] = {"i"};
  static const ir_iter_kind kinds[] = {IR_SPATIAL};
  const int64_t extent[] = {16};
  ir_stmt root = ir_block_new(p, ir_name(p, "root"));
  ir_buf params[256];
  for (uint32_t k = 0; k < n; k++) {
    char name[16] = {'B', (char)('a' + k / 26), (char)('a' + k % 26)};
    ir_expr shape[] = {ir_index(p, 16)}, v[1];
    ir_var loop[1];
    params[k] = ir_buf_new(p, ir_name(p, name), F32, 1, shape, IR_SCOPE_GLOBAL,
                           IR_ROLE_OUTPUT);
    ir_stmt inner = nest(p, root, 1, names, extent, loop);
    ir_stmt blk = block(p, name, 1, extent, kinds, loop, v);
    ir_append(p, blk, ir_store_new(p, params[k], 1, v, ir_real(p, F32, k)));
    ir_expr box[] = {v[0], ir_index(p, 1)};
    ir_region writes[] = {ir_region_new(p, params[k], box)};
    ir_block_set_writes(p, blk, 1, writes);
    ir_append(p, inner, blk);
  }
  p->entry = ir_func_new(p, ir_name(p, "main"), n, params, root);
}

ir_stmt test_find_block(const ir_program *p, const char *name) {
  for (uint32_t b = 1; b < p->block.n; b++) {
    ir_stmt s = p->block.v[b].stmt;
    if (!strcmp(ir_text(p, p->block.v[b].name), name) && ir_is_block(p, s) &&
        ir_st(p, s)->block == b && ir_is_ancestor(p, ir_entry(p)->root, s))
      return s;
  }
  return 0;
}
