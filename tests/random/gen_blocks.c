/* SPDX-License-Identifier: Apache-2.0
 * Random programs: loops, blocks, and what stands in them. */
#include "ir/edit.h"
#include "random/gen_program.h"

#include <stdio.h>
#include <string.h>

static const char *const iters[GEN_MAX_DIM] = {"va", "vb", "vc", "vd", "ve"};

void gen_iter_to(gen_iters *it, ir_iter_kind kind, gen_expr extent,
                 gen_expr bind) {
  it->kind[it->n] = kind;
  it->extent[it->n] = extent;
  it->bind[it->n++] = bind;
}

void gen_iter(gen *g, gen_iters *it, ir_iter_kind kind, int64_t extent,
              gen_expr bind) {
  gen_iter_to(it, kind, gen_num(g, extent), bind);
}

gen_expr gen_loop(gen *g, const char *name, gen_expr lo, gen_expr extent) {
  ir_var v = 0;
  gen_expr e = 0;
  if (!g->failed)
    gen_check(g, describe_loop_begin(&g->b, name, lo, extent, &v));
  if (!g->failed) gen_check(g, describe_var(&g->b, v, &e));
  gen_say(g, e, "%s", name);
  gen_write(g, "build:loop(\"%s\", %s, %s, function(%s)\n", name,
            gen_said(g, lo), gen_said(g, extent), name);
  return e;
}

static void write_block(gen *g, const char *name, const gen_iters *it,
                        gen_expr predicate, const gen_expr *idx) {
  static const char *const kinds[] = {
      [IR_SPATIAL] = "spatial", [IR_REDUCE] = "reduce", [IR_OPAQUE] = "opaque"};
  gen_write(g, "build:block(\"%s\", {", name);
  for (uint32_t i = 0; i < it->n; i++)
    gen_write(g, "%s{\"%s\", \"%s\", extent = %s, bind = %s}", i ? ",\n  " : "",
              iters[it->named + i], kinds[it->kind[i]],
              gen_said(g, it->extent[i]), gen_said(g, it->bind[i]));
  gen_write(g, "}, {%s%s}, function(%s)\n", predicate ? "where = " : "",
            predicate ? gen_said(g, predicate) : "", gen_list(g, it->n, idx));
}

void gen_block(gen *g, const gen_iters *it, gen_expr predicate, gen_expr *idx) {
  ir_var v[GEN_MAX_DIM] = {0};
  gen_expr lo[GEN_MAX_DIM];
  char name[32];
  for (uint32_t i = 0; i < it->n; i++) lo[i] = gen_num(g, 0);
  gen_name(g, "n", name, sizeof name);
  if (g->what) str_printf(g->what, " %s", name);
  if (!g->failed)
    gen_check(g, describe_block_begin(&g->b, name, it->n, iters + it->named,
                                      it->kind, lo, it->extent, it->bind,
                                      predicate, v));
  for (uint32_t i = 0; i < it->n; i++) {
    idx[i] = 0;
    if (!g->failed) gen_check(g, describe_var(&g->b, v[i], &idx[i]));
    gen_say(g, idx[i], "%s", iters[it->named + i]);
  }
  write_block(g, name, it, predicate, idx);
  memcpy(g->iter, idx, it->n * sizeof *idx);
  g->niters = it->n;
}

void gen_close(gen *g, uint32_t n) {
  g->niters = 0;
  while (n-- > 0 && !g->failed) {
    gen_check(g, describe_end(&g->b));
    gen_write(g, "end)\n");
  }
}

ir_buf gen_local(gen *g, const gen_tensor *like) {
  gen_expr e[GEN_MAX_DIM];
  char name[32];
  ir_buf buf = 0;
  for (uint32_t d = 0; d < like->ndim; d++) e[d] = gen_num(g, like->shape[d]);
  gen_name(g, "y", name, sizeof name);
  if (!g->failed)
    gen_check(g, describe_buffer(&g->b, name, like->t, like->ndim, e,
                                 IR_SCOPE_GLOBAL, IR_ROLE_LOCAL, &buf));
  gen_write(g, "local %s = build:buffer(\"%s\", {%s}, \"%s\")\n", name, name,
            gen_shape(g, like->ndim, like->shape), gen_dtype_text(g, like->t));
  return buf;
}

static const char *blocks_name_of(const gen *g, ir_buf buf) {
  return g->failed ? "?" : ir_text(&g->b.p, g->b.p.buf.v[buf].name);
}

ir_buf gen_own(gen *g, const gen_tensor *like) {
  ir_buf buf = gen_local(g, like);
  if (g->nown == GEN_MAX_TENSORS) return buf;
  snprintf(g->own[g->nown++], sizeof g->own[0], "%s", blocks_name_of(g, buf));
  gen_write(g, "-- it belongs to the block around all that use it\n");
  return buf;
}

static bool is_own(const gen *g, const char *name) {
  uint32_t i = 0;
  while (i < g->nown && strcmp(g->own[i], name)) i++;
  return i < g->nown;
}

static bool uses(const ir_program *p, ir_stmt block, ir_buf buf) {
  ir_span r[2] = {ir_blk(p, block)->reads, ir_blk(p, block)->writes};
  for (int k = 0; k < 2; k++)
    for (uint32_t i = r[k].at; i < r[k].at + r[k].n; i++)
      if (p->region.v[i].buf == buf) return true;
  return false;
}

void gen_place_own(gen *g, ir_program *p) {
  ir_stmt root = ir_entry(p)->root, s;
  for (ir_buf b = 1; b < p->buf.n; b++) {
    if (!is_own(g, ir_text(p, p->buf.v[b].name))) continue;
    for (s = ir_next(p, root, root); s; s = ir_next(p, s, root))
      if (ir_is_block(p, s) && uses(p, s, b)) break;
    if (!s) continue;
    ir_block_remove_alloc(p, root, b);
    ir_block_add_alloc(p, s, b);
    ir_block_find_regions(p, &g->texts, s);
  }
}

gen_expr gen_read(gen *g, ir_buf buf, uint32_t n, const gen_expr *idx) {
  gen_expr e = 0;
  if (!g->failed) gen_check(g, describe_load(&g->b, buf, n, idx, &e));
  gen_say(g, e, "%s(%s)", blocks_name_of(g, buf), gen_list(g, n, idx));
  return e;
}

void gen_effect(gen *g, uint32_t n, const gen_expr *idx) {
  tess_dtype t = {TESS_DTYPE_INT, 64, 1};
  gen_expr e = 0, arg[1 + GEN_MAX_DIM];
  if (!g->o.effects) return;
  arg[0] = gen_num(g, g->ncalls++);
  for (uint32_t d = 0; d < GEN_MAX_DIM; d++)
    arg[1 + d] = d < n ? idx[d] : gen_num(g, 0);
  if (!g->failed)
    gen_check(g, describe_extern(&g->b, "note", t, 1 + GEN_MAX_DIM, arg, &e));
  if (!g->failed) gen_check(g, describe_evaluate(&g->b, e));
  gen_write(g, "build:evaluate(ts.call_extern(\"note\", \"int64\", %s))\n",
            gen_list(g, 1 + GEN_MAX_DIM, arg));
}

void gen_store(gen *g, ir_buf buf, uint32_t n, const gen_expr *idx,
               gen_expr v) {
  if (!g->often) g->often = gen_once_in(g, 10) ? 2 : 40;
  if (g->o.effects && gen_once_in(g, g->often))
    gen_effect(g, g->niters ? g->niters : n, g->niters ? g->iter : idx);
  if (!g->failed) gen_check(g, describe_store(&g->b, buf, n, idx, v));
  gen_write(g, "build:store(%s, {%s}, %s)\n", blocks_name_of(g, buf),
            gen_list(g, n, idx), gen_said(g, v));
}

gen_expr gen_plus(gen *g, gen_expr e, int64_t c) {
  return c ? gen_bin(g, c < 0 ? "-" : "+", e, gen_num(g, c < 0 ? -c : c)) : e;
}

void gen_nest(gen *g, uint32_t ndim, const int64_t *shape, gen_iters *it) {
  static const char *const names[GEN_MAX_DIM] = {"a", "b", "c", "d", "e"};
  for (uint32_t d = 0; d < ndim; d++)
    gen_iter(g, it, IR_SPATIAL, shape[d],
             gen_loop(g, names[d], gen_num(g, 0), gen_num(g, shape[d])));
}

ir_buf gen_copy(gen *g, uint32_t x) {
  const gen_tensor a = g->tensor[x];
  ir_buf buf = gen_local(g, &a);
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM];
  gen_nest(g, a.ndim, a.shape, &it);
  gen_block(g, &it, 0, idx);
  gen_store(g, buf, a.ndim, idx, gen_load(g, x, idx));
  gen_close(g, a.ndim + 1);
  return buf;
}

bool gen_suits(const gen *g, const gen_tensor *a, uint32_t ndim) {
  return a->ndim >= ndim && a->t.code != TESS_DTYPE_BOOL &&
         !g->o.only_computes && !g->failed;
}

gen_expr gen_zero(gen *g, tess_dtype t) {
  gen_expr zero = 0;
  if (!g->failed)
    gen_check(g, ir_is_float(t) ? describe_real(&g->b, t, 0, &zero)
                                : describe_int(&g->b, t, 0, &zero));
  gen_say(g, zero, "ts.const(0, \"%s\")", gen_dtype_text(g, t));
  return zero;
}

void gen_init(gen *g) {
  if (!g->failed) gen_check(g, describe_init_begin(&g->b));
  gen_write(g, "build:init(function()\n");
}

void gen_when(gen *g, gen_expr condition) {
  if (!g->failed) gen_check(g, describe_if_begin(&g->b, condition));
  gen_write(g, "build:when(%s, function()\n", gen_said(g, condition));
}

gen_expr gen_let(gen *g, gen_expr value) {
  ir_var v = 0;
  gen_expr e = 0;
  char name[32];
  gen_name(g, "z", name, sizeof name);
  if (!g->failed) gen_check(g, describe_let_begin(&g->b, name, value, &v));
  if (!g->failed) gen_check(g, describe_var(&g->b, v, &e));
  gen_say(g, e, "%s", name);
  gen_write(g, "build:let(\"%s\", %s, function(%s)\n", name, gen_said(g, value),
            name);
  return e;
}

void gen_else(gen *g) {
  if (!g->failed) gen_check(g, describe_else_begin(&g->b));
  gen_write(g, "end, function()\n");
}
