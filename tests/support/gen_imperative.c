/* SPDX-License-Identifier: Apache-2.0
 * Random programs: stages that are loops and blocks, with orders that must
 * be kept: scans, triangular nests, updates in place. */
#include "support/gen_program.h"

/* ---- building ----------------------------------------------------------- */

static const char *const iters[GEN_MAX_DIM] = {"va", "vb", "vc", "vd", "ve"};

/* What a block's iters are: kinds, extents and bindings. */
typedef struct block_iters {
  uint32_t n;
  ir_iter_kind kind[GEN_MAX_DIM];
  gen_expr extent[GEN_MAX_DIM], bind[GEN_MAX_DIM];
} block_iters;

static void iter(gen *g, block_iters *it, ir_iter_kind kind, int64_t extent,
                 gen_expr bind) {
  it->kind[it->n] = kind;
  it->extent[it->n] = gen_num(g, extent);
  it->bind[it->n++] = bind;
}

/* Opens a loop; its variable. */
static gen_expr loop(gen *g, const char *name, gen_expr lo, gen_expr extent) {
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

static void write_block(gen *g, const char *name, const block_iters *it,
                        gen_expr predicate, const gen_expr *idx) {
  static const char *const kinds[] = {
      [IR_SPATIAL] = "spatial", [IR_REDUCE] = "reduce", [IR_OPAQUE] = "opaque"};
  gen_write(g, "build:block(\"%s\", {", name);
  for (uint32_t i = 0; i < it->n; i++)
    gen_write(g, "%s{\"%s\", \"%s\", extent = %s, bind = %s}", i ? ",\n  " : "",
              iters[i], kinds[it->kind[i]], gen_said(g, it->extent[i]),
              gen_said(g, it->bind[i]));
  gen_write(g, "}, {%s%s}, function(%s)\n", predicate ? "where = " : "",
            predicate ? gen_said(g, predicate) : "", gen_list(g, it->n, idx));
}

/* Opens a block; its variables in idx. */
static void block(gen *g, const block_iters *it, gen_expr predicate,
                  gen_expr *idx) {
  ir_var v[GEN_MAX_DIM] = {0};
  gen_expr lo[GEN_MAX_DIM];
  char name[32];
  for (uint32_t i = 0; i < it->n; i++) lo[i] = gen_num(g, 0);
  gen_name(g, "n", name, sizeof name);
  if (g->what) str_printf(g->what, " %s", name);
  if (!g->failed)
    gen_check(g, describe_block_begin(&g->b, name, it->n, iters, it->kind, lo,
                                      it->extent, it->bind, predicate, v));
  for (uint32_t i = 0; i < it->n; i++) {
    idx[i] = 0;
    if (!g->failed) gen_check(g, describe_var(&g->b, v[i], &idx[i]));
    gen_say(g, idx[i], "%s", iters[i]);
  }
  write_block(g, name, it, predicate, idx);
}

static void end(gen *g, uint32_t n) {
  while (n-- > 0 && !g->failed) {
    gen_check(g, describe_end(&g->b));
    gen_write(g, "end)\n");
  }
}

static ir_buf local(gen *g, const gen_tensor *like) {
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

static const char *name_of(const gen *g, ir_buf buf) {
  return g->failed ? "?" : ir_text(&g->b.p, g->b.p.buf.v[buf].name);
}

static gen_expr load(gen *g, ir_buf buf, uint32_t n, const gen_expr *idx) {
  gen_expr e = 0;
  if (!g->failed) gen_check(g, describe_load(&g->b, buf, n, idx, &e));
  gen_say(g, e, "%s(%s)", name_of(g, buf), gen_list(g, n, idx));
  return e;
}

static void store(gen *g, ir_buf buf, uint32_t n, const gen_expr *idx,
                  gen_expr v) {
  if (!g->failed) gen_check(g, describe_store(&g->b, buf, n, idx, v));
  gen_write(g, "build:store(%s, {%s}, %s)\n", name_of(g, buf),
            gen_list(g, n, idx), gen_said(g, v));
}

static gen_expr plus(gen *g, gen_expr e, int64_t c) {
  return c ? gen_bin(g, c < 0 ? "-" : "+", e, gen_num(g, c < 0 ? -c : c)) : e;
}

/* A new buffer with the elements of x, to be changed in place. */
static ir_buf copy(gen *g, uint32_t x) {
  const gen_tensor a = g->tensor[x];
  static const char *const names[GEN_MAX_DIM] = {"a", "b", "c", "d", "e"};
  ir_buf buf = local(g, &a);
  block_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM];
  for (uint32_t d = 0; d < a.ndim; d++)
    iter(g, &it, IR_SPATIAL, a.shape[d],
         loop(g, names[d], gen_num(g, 0), gen_num(g, a.shape[d])));
  block(g, &it, 0, idx);
  store(g, buf, a.ndim, idx, gen_load(g, x, idx));
  end(g, a.ndim + 1);
  return buf;
}

static bool suits(const gen *g, const gen_tensor *a, uint32_t ndim) {
  return a->ndim >= ndim && a->t.code != TESS_BOOL && !g->o.only_computes &&
         !g->failed;
}

/* A square input, or an earlier tensor. */
static uint32_t square(gen *g, int64_t most) {
  int64_t n = gen_extent(g, most), shape[2] = {n, n};
  return gen_source(g, gen_dtype(g), 2, shape);
}

/* ---- orders ------------------------------------------------------------- */

/* Running sums along a dimension, or sums with what lies a few behind. */
static void scan(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  static const char *const names[GEN_MAX_DIM] = {"a", "b", "c", "d", "e"};
  if (!suits(g, &a, 1)) return;
  uint32_t along = gen_below(g, a.ndim), back = 1 + gen_once_in(g, 4);
  ir_buf buf = local(g, &a);
  block_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM], before[GEN_MAX_DIM];
  for (uint32_t d = 0; d < a.ndim; d++)
    iter(g, &it, d == along ? IR_OPAQUE : IR_SPATIAL, a.shape[d],
         loop(g, names[d], gen_num(g, 0), gen_num(g, a.shape[d])));
  block(g, &it, 0, idx);
  for (uint32_t d = 0; d < a.ndim; d++)
    before[d] = d == along ? plus(g, idx[d], -(int64_t)back) : idx[d];
  gen_expr now = gen_load(g, x, idx), old = load(g, buf, a.ndim, before);
  gen_expr first = gen_bin(g, "<", idx[along], gen_num(g, back));
  store(g, buf, a.ndim, idx,
        gen_select(g, first, now, gen_bin(g, "+", now, old)));
  end(g, a.ndim + 1);
  gen_add(g, buf, a.t, a.ndim, a.shape);
}

/* Sweeps in place over the first dimension, each element from its
 * neighbours. */
static void sweep(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  if (!suits(g, &a, 1) || a.ndim > 2 || a.shape[0] < 3) return;
  int64_t times = 1 + gen_below(g, 3), n = a.shape[0];
  ir_buf buf = copy(g, x);
  block_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM], at[2];
  iter(g, &it, IR_OPAQUE, times,
       loop(g, "t", gen_num(g, 0), gen_num(g, times)));
  iter(g, &it, IR_OPAQUE, n, loop(g, "i", gen_num(g, 1), gen_num(g, n - 2)));
  if (a.ndim == 2)
    iter(g, &it, IR_SPATIAL, a.shape[1],
         loop(g, "j", gen_num(g, 0), gen_num(g, a.shape[1])));
  block(g, &it, 0, idx);
  gen_expr sum = 0;
  for (int k = -1; k < 2; k++) {
    at[0] = plus(g, idx[1], k);
    at[1] = a.ndim == 2 ? idx[2] : 0;
    gen_expr v = load(g, buf, a.ndim, at);
    sum = sum ? gen_bin(g, "+", sum, v) : v;
  }
  store(g, buf, a.ndim, idx + 1, sum);
  end(g, it.n + 1);
  gen_add(g, buf, a.t, a.ndim, a.shape);
}

/* ---- triangles ---------------------------------------------------------- */

/* a[i, j] changes by what row k, above, and column k, before, hold. */
static void eliminate(gen *g, ir_buf buf, int64_t n, gen_expr k, bool square) {
  block_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM], rest = gen_bin(g, "-", gen_num(g, n - 1), k);
  gen_expr i = loop(g, "i", plus(g, k, 1), rest);
  gen_expr cols = square ? rest : gen_bin(g, "-", i, k);
  gen_expr j = loop(g, "j", plus(g, k, 1), cols);
  iter(g, &it, IR_OPAQUE, n, k);
  iter(g, &it, IR_SPATIAL, n, i);
  iter(g, &it, IR_SPATIAL, n, j);
  block(g, &it, 0, idx);
  gen_expr here[2] = {idx[1], idx[2]}, col[2] = {idx[1], idx[0]};
  gen_expr row[2] = {idx[0], idx[2]}, mirror[2] = {idx[2], idx[0]};
  gen_expr v = load(g, buf, 2, col), old = load(g, buf, 2, here);
  gen_expr w = load(g, buf, 2, square ? row : mirror);
  v = g->o.representable ? gen_bin(g, "max", v, w) : gen_bin(g, "*", v, w);
  store(g, buf, 2, here, gen_bin(g, "-", old, v));
  end(g, 3);
}

/* Column k below the diagonal by the element on it. */
static void scale(gen *g, ir_buf buf, tess_dtype t, int64_t n, gen_expr k) {
  block_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM], rest = gen_bin(g, "-", gen_num(g, n - 1), k);
  gen_expr i = loop(g, "i", plus(g, k, 1), rest);
  iter(g, &it, IR_OPAQUE, n, k);
  iter(g, &it, IR_SPATIAL, n, i);
  block(g, &it, 0, idx);
  gen_expr here[2] = {idx[1], idx[0]}, pivot[2] = {idx[0], idx[0]};
  gen_expr v = load(g, buf, 2, here), p = load(g, buf, 2, pivot);
  const char *op = g->o.representable ? "+" : ir_is_float(t) ? "/" : "//";
  store(g, buf, 2, here, gen_bin(g, op, v, p));
  end(g, 2);
}

/* In place and right-looking, as LU and Cholesky are. */
static void factorise(gen *g) {
  uint32_t x = square(g, g->o.representable ? 6 : 9);
  const gen_tensor a = g->tensor[x];
  if (!suits(g, &a, 2) || a.shape[0] < 2) return;
  bool lu = gen_once_in(g, 2);
  int64_t n = a.shape[0];
  ir_buf buf = copy(g, x);
  gen_expr k = loop(g, "k", gen_num(g, 0), gen_num(g, n));
  scale(g, buf, a.t, n, k);
  eliminate(g, buf, n, k, lu);
  end(g, 1);
  gen_add(g, buf, a.t, 2, a.shape);
}

/* x[i] less what the rows above give: forward substitution. */
static void substitute(gen *g) {
  uint32_t l = square(g, 12);
  const gen_tensor a = g->tensor[l];
  if (!suits(g, &a, 2)) return;
  uint32_t x = gen_source(g, a.t, 1, a.shape);
  block_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM];
  ir_buf buf = copy(g, x);
  gen_expr i = loop(g, "i", gen_num(g, 0), gen_num(g, a.shape[0]));
  gen_expr j = loop(g, "j", gen_num(g, 0), i);
  iter(g, &it, IR_OPAQUE, a.shape[0], i);
  iter(g, &it, IR_OPAQUE, a.shape[0], j);
  block(g, &it, 0, idx);
  gen_expr v = load(g, buf, 1, idx + 1), old = load(g, buf, 1, idx);
  gen_expr w = gen_load(g, l, idx);
  v = g->o.representable ? gen_bin(g, "min", v, w) : gen_bin(g, "*", v, w);
  store(g, buf, 1, idx, gen_bin(g, "-", old, v));
  end(g, 3);
  gen_add(g, buf, a.t, 1, a.shape);
}

static gen_expr zero_of(gen *g, tess_dtype t) {
  gen_expr zero = 0;
  if (!g->failed)
    gen_check(g, ir_is_float(t) ? describe_real(&g->b, t, 0, &zero)
                                : describe_int(&g->b, t, 0, &zero));
  gen_say(g, zero, "ts.const(0, \"%s\")", gen_dtype_text(g, t));
  return zero;
}

/* y[i] = sum of x[i, j] for j up to i, or from i on, or for all j: a
 * reduction with an init, which may read, and which may subtract, so that no
 * reducer is known for it. */
static void sum_triangle(gen *g) {
  uint32_t x = square(g, 16);
  const gen_tensor a = g->tensor[x];
  if (!suits(g, &a, 2)) return;
  gen_tensor row = {.t = a.t, .ndim = 1, .shape = {a.shape[0]}};
  int64_t n = a.shape[0];
  uint32_t form = gen_below(g, 4);
  bool upper = form == 0, starts = gen_once_in(g, 3);
  uint32_t first = starts ? gen_source(g, a.t, 1, row.shape) : 0;
  block_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM];
  /* The first row may have nothing to add, and stays as it is. */
  ir_buf buf =
      form == 3 ? copy(g, gen_source(g, a.t, 1, row.shape)) : local(g, &row);
  gen_expr i = loop(g, "i", gen_num(g, 0), gen_num(g, n));
  gen_expr j = upper ? loop(g, "j", i, gen_bin(g, "-", gen_num(g, n), i))
                     : loop(g, "j", gen_num(g, 0),
                            form == 1   ? plus(g, i, 1)
                            : form == 3 ? i
                                        : gen_num(g, n));
  /* The reduction starts at the first of them. */
  iter(g, &it, IR_SPATIAL, n, i);
  iter(g, &it, IR_REDUCE, n, upper ? gen_bin(g, "-", j, i) : j);
  block(g, &it, 0, idx);
  if (!g->failed) gen_check(g, describe_init_begin(&g->b));
  gen_write(g, "build:init(function()\n");
  store(g, buf, 1, idx, starts ? gen_load(g, first, idx) : zero_of(g, a.t));
  end(g, 1);
  gen_expr at[2] = {idx[0], upper ? gen_bin(g, "+", idx[0], idx[1]) : idx[1]};
  gen_expr old = load(g, buf, 1, idx);
  store(g, buf, 1, idx,
        gen_bin(g, gen_once_in(g, 4) ? "-" : "+", old, gen_load(g, x, at)));
  end(g, 3);
  gen_add(g, buf, a.t, 1, &n);
}

/* ---- conditions --------------------------------------------------------- */

static void when(gen *g, gen_expr condition) {
  if (!g->failed) gen_check(g, describe_if_begin(&g->b, condition));
  gen_write(g, "build:when(%s, function()\n", gen_said(g, condition));
}

/* A block with a branch, in loops of which one may stand under a condition
 * of its own, or have no iteration. */
static void branch(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  static const char *const names[GEN_MAX_DIM] = {"a", "b", "c", "d", "e"};
  if (!suits(g, &a, 1)) return;
  uint32_t opened = 0, inner = gen_once_in(g, 2) ? a.ndim - 1 : GEN_MAX_DIM;
  bool empty = gen_once_in(g, 8);
  block_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM], i = 0;
  ir_buf buf = copy(g, x);
  for (uint32_t d = 0; d < a.ndim && !g->failed; d++) {
    if (d == inner && i) {
      when(g, gen_bin(g, "<", i, gen_num(g, 2)));
      opened++;
    }
    int64_t n = empty && d == inner ? 0 : a.shape[d];
    i = loop(g, names[d], gen_num(g, 0), gen_num(g, n));
    iter(g, &it, IR_SPATIAL, a.shape[d], i);
    opened++;
  }
  block(g, &it, 0, idx);
  when(g, gen_bin(g, "<", idx[0], gen_num(g, 3)));
  store(g, buf, a.ndim, idx, gen_tweak(g, a.t, gen_load(g, x, idx)));
  if (!g->failed) gen_check(g, describe_else_begin(&g->b));
  gen_write(g, "end, function()\n");
  store(g, buf, a.ndim, idx, gen_tweak(g, a.t, gen_load(g, x, idx)));
  end(g, opened + 2);
  gen_add(g, buf, a.t, a.ndim, a.shape);
}

/* Two blocks in one nest, of which the second reads what the first made in
 * this and in an earlier iteration, up, down or along. */
static void wave(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  static const char *const names[GEN_MAX_DIM] = {"a", "b", "c", "d", "e"};
  if (!suits(g, &a, 1) || a.ndim > 3) return;
  int64_t by[GEN_MAX_DIM], up = 1 + gen_below(g, 2);
  block_iters first = {.n = 0}, second;
  gen_expr idx[GEN_MAX_DIM], from[GEN_MAX_DIM], ok = 0;
  ir_buf made = local(g, &a), out = local(g, &a);
  for (uint32_t d = 0; d < a.ndim; d++) {
    by[d] = d ? (int64_t)gen_below(g, 3) - 1 : -up;
    iter(g, &first, IR_SPATIAL, a.shape[d],
         loop(g, names[d], gen_num(g, 0), gen_num(g, a.shape[d])));
  }
  second = first;
  block(g, &first, 0, idx);
  store(g, made, a.ndim, idx, gen_tweak(g, a.t, gen_load(g, x, idx)));
  end(g, 1);
  block(g, &second, 0, idx);
  for (uint32_t d = 0; d < a.ndim; d++) {
    from[d] = plus(g, idx[d], by[d]);
    gen_expr in = gen_bin(g, "and", gen_bin(g, "<=", gen_num(g, 0), from[d]),
                          gen_bin(g, "<", from[d], gen_num(g, a.shape[d])));
    ok = ok ? gen_bin(g, "and", ok, in) : in;
  }
  gen_expr here = load(g, made, a.ndim, idx);
  gen_expr there = load(g, made, a.ndim, from);
  store(g, out, a.ndim, idx,
        gen_select(g, ok, gen_bin(g, "max", here, there), here));
  end(g, a.ndim + 1);
  gen_add(g, out, a.t, a.ndim, a.shape);
}

/* Two results of one block. */
static void pair(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  static const char *const names[GEN_MAX_DIM] = {"a", "b", "c", "d", "e"};
  if (!suits(g, &a, 1)) return;
  block_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM];
  ir_buf buf[2] = {local(g, &a), local(g, &a)};
  for (uint32_t d = 0; d < a.ndim; d++)
    iter(g, &it, IR_SPATIAL, a.shape[d],
         loop(g, names[d], gen_num(g, 0), gen_num(g, a.shape[d])));
  block(g, &it, 0, idx);
  for (uint32_t i = 0; i < 2; i++)
    store(g, buf[i], a.ndim, idx, gen_tweak(g, a.t, gen_load(g, x, idx)));
  end(g, a.ndim + 1);
  uint64_t reads = g->reads;
  gen_add(g, buf[0], a.t, a.ndim, a.shape);
  g->reads = reads;
  gen_add(g, buf[1], a.t, a.ndim, a.shape);
}

/* An input that is changed in place, element by element, or to which another
 * tensor is added. */
static void in_place(gen *g) {
  uint32_t x = gen_pick(g), with = x;
  if (gen_once_in(g, 2) && suits(g, &g->tensor[x], 1))
    with = gen_source(g, g->tensor[x].t, g->tensor[x].ndim, g->tensor[x].shape);
  gen_tensor *a = &g->tensor[x];
  static const char *const names[GEN_MAX_DIM] = {"a", "b", "c", "d", "e"};
  if (!suits(g, a, 1) || a->is_index || a->inputs != UINT64_C(1) << x) return;
  block_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM];
  for (uint32_t d = 0; d < a->ndim; d++)
    iter(g, &it, IR_SPATIAL, a->shape[d],
         loop(g, names[d], gen_num(g, 0), gen_num(g, a->shape[d])));
  block(g, &it, 0, idx);
  gen_expr old = gen_load(g, x, idx);
  store(g, a->buf, a->ndim, idx,
        with == x ? gen_tweak(g, a->t, old)
                  : gen_bin(g, "+", old, gen_load(g, with, idx)));
  end(g, a->ndim + 1);
  a->by |= g->tensor[with].inputs;
  a->changed = true;
  g->nstages++;
}

/* A loop that runs further than the block's predicate lets it. */
static void guarded(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  if (!suits(g, &a, 1) || a.ndim > 2) return;
  int64_t n = a.shape[0], by = 2 + gen_below(g, 3), outer = (n + by - 1) / by;
  block_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM];
  ir_buf buf = local(g, &a);
  gen_expr i = loop(g, "i", gen_num(g, 0), gen_num(g, outer));
  gen_expr k = loop(g, "k", gen_num(g, 0), gen_num(g, by));
  gen_expr at = gen_bin(g, "+", gen_bin(g, "*", i, gen_num(g, by)), k);
  iter(g, &it, IR_SPATIAL, n, at);
  if (a.ndim == 2)
    iter(g, &it, IR_SPATIAL, a.shape[1],
         loop(g, "j", gen_num(g, 0), gen_num(g, a.shape[1])));
  block(g, &it, gen_bin(g, "<", at, gen_num(g, n)), idx);
  store(g, buf, a.ndim, idx, gen_tweak(g, a.t, gen_load(g, x, idx)));
  end(g, a.ndim + 2);
  gen_add(g, buf, a.t, a.ndim, a.shape);
}

void gen_imperative(gen *g) {
  static void (*const kinds[])(gen * g) = {
      scan,    scan,   sweep,    factorise, factorise, substitute, sum_triangle,
      guarded, branch, in_place, pair,      wave,      wave};
  kinds[gen_below(g, sizeof kinds / sizeof *kinds)](g);
}
