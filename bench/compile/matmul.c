/* SPDX-License-Identifier: Apache-2.0
 * Builds the loop nest of a tiled matrix product, as a schedule leaves it. */
#include "compile/matmul.h"
#include "ir/edit.h"

static const tess_dtype F32 = {TESS_DTYPE_FLOAT, 32, 1};

typedef struct maker {
  ir_program *p;
  const matmul_tiles *t;
  int64_t ni, nj, nk, ci, cj;     /* extents: whole, and of a tile */
  ir_buf a, b, bias, d, c, panel; /* c: the accumulator */
  ir_expr i, j, k;                /* start of the tile and panel */
} maker;

static ir_stmt new_loop(maker *m, ir_stmt parent, int64_t extent,
                        ir_loop_kind kind, const char *name, ir_expr *var) {
  ir_var v = ir_var_new(m->p, IR_VAR_LOOP, ir_name(m->p, name), IR_INDEX, 0,
                        extent - 1);
  ir_stmt s =
      ir_loop_new(m->p, v, ir_index(m->p, 0), ir_index(m->p, extent), kind);
  ir_append(m->p, parent, s);
  *var = ir_ref(m->p, v);
  return s;
}

/* a * x + y */
static ir_expr mul_add(maker *m, int64_t a, ir_expr x, ir_expr y) {
  return ir_add(m->p, ir_mul(m->p, x, ir_index(m->p, a)), y);
}

static ir_expr load_at(maker *m, ir_buf b, ir_expr x, ir_expr y) {
  ir_expr at[2] = {x, y};
  return ir_load(m->p, b, 2, at);
}

static void store_at(maker *m, ir_stmt parent, ir_buf b, ir_expr x, ir_expr y,
                     ir_expr value) {
  ir_expr at[2] = {x, y};
  ir_append(m->p, parent, ir_store_new(m->p, b, 2, at, value));
}

static ir_buf new_buffer(maker *m, const char *name, int64_t rows, int64_t cols,
                         ir_role role) {
  ir_expr shape[2] = {ir_index(m->p, rows), ir_index(m->p, cols)};
  return ir_buf_new(m->p, ir_name(m->p, name), F32, rows ? 2 : 1,
                    rows ? shape : shape + 1, IR_SCOPE_GLOBAL, role);
}

static ir_stmt allocate(maker *m, ir_stmt parent, ir_buf b) {
  ir_stmt s = ir_allocate_new(m->p, b);
  ir_append(m->p, parent, s);
  return s;
}

/* Position in the tile as position in c. */
static ir_expr in_c(maker *m, ir_expr start, ir_expr at) {
  return m->t->cache_write ? at : ir_add(m->p, start, at);
}

static void clear(maker *m, ir_stmt parent) {
  ir_expr i, j;
  int64_t j3 = m->t->j[3];
  ir_stmt s = new_loop(m, parent, m->ci, IR_SERIAL, "i", &i);
  ir_expr jo, ji;
  s = new_loop(m, s, m->cj / j3, IR_SERIAL, "jo", &jo);
  s = new_loop(m, s, j3, IR_VECTORIZED, "ji", &ji);
  j = mul_add(m, j3, jo, ji);
  store_at(m, s, m->c, in_c(m, m->i, i), in_c(m, m->j, j),
           ir_real(m->p, F32, 0));
}

static void fill_panel(maker *m, ir_stmt parent) {
  ir_expr k, jo, ji;
  int64_t j3 = m->t->j[3];
  ir_stmt s = new_loop(m, parent, m->t->k[1], IR_SERIAL, "k", &k);
  s = new_loop(m, s, m->cj / j3, IR_SERIAL, "jo", &jo);
  s = new_loop(m, s, j3, IR_VECTORIZED, "ji", &ji);
  ir_expr j = mul_add(m, j3, jo, ji);
  store_at(m, s, m->panel, k, j,
           load_at(m, m->b, ir_add(m->p, m->k, k), ir_add(m->p, m->j, j)));
}

static void accumulate(maker *m, ir_stmt parent) {
  const matmul_tiles *t = m->t;
  ir_program *p = m->p;
  ir_expr i2, j2, k1, i3, j3;
  ir_stmt s = new_loop(m, parent, t->i[2], IR_SERIAL, "i2", &i2);
  s = new_loop(m, s, t->j[2], IR_SERIAL, "j2", &j2);
  s = new_loop(m, s, t->k[1], IR_SERIAL, "k1", &k1);
  s = new_loop(m, s, t->i[3], IR_UNROLLED, "i3", &i3);
  s = new_loop(m, s, t->j[3], IR_VECTORIZED, "j3", &j3);
  ir_expr i = mul_add(m, t->i[3], i2, i3), j = mul_add(m, t->j[3], j2, j3);
  ir_expr k = ir_add(p, m->k, k1);
  ir_expr b = t->cache_read ? load_at(m, m->panel, k1, j)
                            : load_at(m, m->b, k, ir_add(p, m->j, j));
  ir_expr ab = ir_mul(p, load_at(m, m->a, ir_add(p, m->i, i), k), b);
  ir_expr ci = in_c(m, m->i, i), cj = in_c(m, m->j, j);
  store_at(m, s, m->c, ci, cj, ir_add(p, load_at(m, m->c, ci, cj), ab));
}

static void finish_tile(maker *m, ir_stmt parent) {
  ir_program *p = m->p;
  ir_expr i, jo, ji;
  int64_t j3 = m->t->j[3];
  ir_stmt s = new_loop(m, parent, m->ci, IR_SERIAL, "i", &i);
  s = new_loop(m, s, m->cj / j3, IR_SERIAL, "jo", &jo);
  s = new_loop(m, s, j3, IR_VECTORIZED, "ji", &ji);
  ir_expr j = mul_add(m, j3, jo, ji);
  ir_expr di = ir_add(p, m->i, i), dj = ir_add(p, m->j, j);
  ir_expr sum = load_at(m, m->c, in_c(m, m->i, i), in_c(m, m->j, j));
  sum = ir_add(p, sum, ir_load(p, m->bias, 1, &dj));
  store_at(m, s, m->d, di, dj, ir_binary(p, IR_MAX, sum, ir_real(p, F32, 0)));
}

/* One tile of the result. */
static void emit_tile(maker *m, ir_stmt parent) {
  ir_expr k0;
  ir_stmt s = parent;
  if (m->t->cache_write) {
    m->c = new_buffer(m, "C_local", m->ci, m->cj, IR_ROLE_LOCAL);
    s = allocate(m, s, m->c);
  }
  clear(m, s);
  ir_stmt ks = new_loop(m, s, m->t->k[0], IR_SERIAL, "k0", &k0);
  m->k = ir_mul(m->p, k0, ir_index(m->p, m->t->k[1]));
  if (m->t->cache_read) {
    m->panel = new_buffer(m, "B_local", m->t->k[1], m->cj, IR_ROLE_LOCAL);
    ks = allocate(m, ks, m->panel);
    fill_panel(m, ks);
  }
  accumulate(m, ks);
  finish_tile(m, s);
}

void matmul_make(ir_program *p, const matmul_tiles *t) {
  maker m = {.p = p, .t = t};
  m.ni = matmul_extent(t->i, 4);
  m.nj = matmul_extent(t->j, 4);
  m.nk = matmul_extent(t->k, 2);
  m.ci = t->i[2] * t->i[3];
  m.cj = t->j[2] * t->j[3];
  m.a = new_buffer(&m, "A", m.ni, m.nk, IR_ROLE_INPUT);
  m.b = new_buffer(&m, "B", m.nk, m.nj, IR_ROLE_INPUT);
  m.bias = new_buffer(&m, "bias", 0, m.nj, IR_ROLE_INPUT);
  m.d = new_buffer(&m, "D", m.ni, m.nj, IR_ROLE_OUTPUT);
  m.c = m.d;
  ir_stmt root = ir_block_new(p, ir_name(p, "root"));
  ir_expr f, i1, j1;
  ir_stmt s =
      new_loop(&m, root, t->i[0] * t->j[0], IR_PARALLEL, "i0_j0_fused", &f);
  s = new_loop(&m, s, t->i[1], IR_SERIAL, "i1", &i1);
  s = new_loop(&m, s, t->j[1], IR_SERIAL, "j1", &j1);
  ir_expr j0s = ir_index(p, t->j[0]);
  ir_expr i0 = ir_binary(p, IR_DIV, f, j0s), j0 = ir_binary(p, IR_MOD, f, j0s);
  m.i = ir_mul(p, mul_add(&m, t->i[1], i0, i1), ir_index(p, m.ci));
  m.j = ir_mul(p, mul_add(&m, t->j[1], j0, j1), ir_index(p, m.cj));
  emit_tile(&m, s);
  ir_buf params[4] = {m.a, m.b, m.bias, m.d};
  ir_func_new(p, ir_name(p, "matmul"), 4, params, root);
}
