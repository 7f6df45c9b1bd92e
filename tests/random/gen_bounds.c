/* SPDX-License-Identifier: Apache-2.0
 * Random programs: nests whose bounds and predicates are read from memory,
 * which what is in them, or beside them, may change. */
#include "random/gen_program.h"

typedef struct bounds {
  gen *g;
  int64_t n;
  ir_buf e; /* n integers, of which bounds are made */
} bounds;

/* 0 .. most, as an element of e says. */
static gen_expr read_bound(const bounds *b, gen_expr at, int64_t most) {
  gen *g = b->g;
  gen_expr zero = gen_num(g, 0), top = gen_num(g, most);
  gen_expr v = gen_cast(g, IR_INDEX, gen_read(g, b->e, 1, &at));
  if (gen_once_in(g, 2)) return gen_bin(g, "%", v, gen_num(g, most + 1));
  return gen_bin(g, "min", gen_bin(g, "max", v, zero), top);
}

/* A place in e: any, or that of the loop around, if there is one. */
static gen_expr place(const bounds *b, gen_expr around) {
  if (around && gen_once_in(b->g, 2)) return around;
  return gen_num(b->g, gen_below(b->g, (uint32_t)b->n));
}

/* A loop over some of 0 .. n - 1, mostly over as many as e says. */
static gen_expr loop(const bounds *b, const char *name, gen_expr around) {
  gen *g = b->g;
  int64_t half = b->n / 2;
  switch (gen_below(g, 3)) {
  case 0: return gen_loop(g, name, gen_num(g, 0), gen_num(g, b->n));
  case 1:
    return gen_loop(g, name, gen_num(g, 0),
                    read_bound(b, place(b, around), b->n));
  default:
    return gen_loop(g, name, read_bound(b, place(b, around), half),
                    gen_num(g, b->n - half));
  }
}

/* e[at] becomes another number. */
static void change(const bounds *b, gen_expr at) {
  gen *g = b->g;
  gen_expr old = gen_read(g, b->e, 1, &at);
  gen_expr by = gen_cast(g, g->b.p.buf.v[b->e].dtype, gen_num(g, 3));
  gen_store(g, b->e, 1, &at,
            gen_bin(g, gen_once_in(g, 2) ? "+" : "-", old, by));
}

/* A block that changes e and nothing else, in loop i, which is open. */
static void change_beside(const bounds *b, gen_expr i) {
  gen *g = b->g;
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM];
  gen_iter(g, &it, IR_OPAQUE, b->n, i);
  gen_block(g, &it, 0, idx);
  change(b, gen_once_in(g, 2) ? idx[0] : place(b, 0));
  gen_close(g, 1);
}

/* to[v, w] is made of from[v, w], where a predicate may say so; e[v] or e[w]
 * may change with it, one iteration after the other. */
static void bounds_make(const bounds *b, ir_buf to, uint32_t from, gen_expr i,
                        gen_expr j) {
  gen *g = b->g;
  const gen_tensor a = g->tensor[from];
  bool changes = gen_once_in(g, 2);
  ir_iter_kind kind = changes ? IR_OPAQUE : IR_SPATIAL;
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM], pred = 0;
  if (gen_once_in(g, 3))
    pred =
        gen_bin(g, "<", read_bound(b, place(b, i), b->n), gen_num(g, b->n - 1));
  gen_iter(g, &it, kind, b->n, i);
  gen_iter(g, &it, kind, b->n, j);
  gen_block(g, &it, pred, idx);
  gen_expr v = gen_load(g, from, idx);
  if (gen_once_in(g, 2)) v = gen_bin(g, "+", gen_read(g, to, 2, idx), v);
  gen_store(g, to, 2, idx, gen_tweak(g, a.t, v));
  if (changes) change(b, idx[gen_below(g, 2)]);
  gen_close(g, 1);
}

/* to[v] is the sum of from[v, w]; loop j may have no iteration. */
static void add_up(const bounds *b, ir_buf to, uint32_t from, gen_expr i,
                   gen_expr j) {
  gen *g = b->g;
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM];
  gen_iter(g, &it, IR_SPATIAL, b->n, i);
  gen_iter(g, &it, IR_REDUCE, b->n, j);
  gen_block(g, &it, 0, idx);
  gen_init(g);
  gen_store(g, to, 1, idx, gen_zero(g, g->tensor[from].t));
  gen_close(g, 1);
  gen_expr old = gen_read(g, to, 1, idx);
  gen_store(g, to, 1, idx, gen_bin(g, "+", old, gen_load(g, from, idx)));
  gen_close(g, 1);
}

void gen_bounds(gen *g) {
  static const tess_dtype I32 = {TESS_DTYPE_INT, 32, 1};
  bounds b = {.g = g, .n = 2 + gen_below(g, 8)};
  int64_t shape[2] = {b.n, b.n};
  uint32_t from = gen_source(g, gen_dtype(g), 2, shape);
  const gen_tensor a = g->tensor[from];
  if (!gen_suits(g, &a, 2)) return;
  uint32_t numbers = gen_source(g, I32, 1, shape);
  bool sums = gen_once_in(g, 3);
  uint32_t like = sums ? gen_source(g, a.t, 1, shape) : from;
  b.e = gen_copy(g, numbers);
  ir_buf to = gen_copy(g, like);
  gen_expr i = loop(&b, "i", 0), j;
  if (gen_once_in(g, 5)) change_beside(&b, i);
  j = loop(&b, "j", i);
  (sums ? add_up : bounds_make)(&b, to, from, i, j);
  gen_close(g, 1);
  if (gen_once_in(g, 3)) change_beside(&b, i);
  gen_close(g, 1);
  uint64_t reads = g->reads;
  gen_add(g, to, a.t, sums ? 1 : 2, shape);
  g->reads = reads;
  gen_add(g, b.e, I32, 1, shape);
}
