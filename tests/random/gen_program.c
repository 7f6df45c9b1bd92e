/* SPDX-License-Identifier: Apache-2.0
 * Random programs: values, tensors and the whole. */
#include "random/gen_program.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void gen_check(gen *g, tess_status s) {
  if (!g->failed) g->failed = s;
}

/* ---- expressions -------------------------------------------------------- */

gen_expr gen_num(gen *g, int64_t v) {
  gen_expr e = 0;
  if (!g->failed) gen_check(g, describe_int(&g->b, IR_INDEX, v, &e));
  gen_say(g, e, "%lld", (long long)v);
  return e;
}

gen_expr gen_bin(gen *g, const char *op, gen_expr a, gen_expr b) {
  gen_expr e = 0;
  if (!g->failed) gen_check(g, describe_binary(&g->b, op, a, b, &e));
  gen_say_binary(g, e, op, a, b);
  return e;
}

gen_expr gen_turn(gen *g, uint32_t n, int64_t last, gen_expr e) {
  return gen_once_in(g, n) ? gen_bin(g, "-", gen_num(g, last), e) : e;
}

gen_expr gen_cast(gen *g, tess_dtype t, gen_expr a) {
  gen_expr e = 0;
  if (!g->failed) gen_check(g, describe_cast(&g->b, t, a, &e));
  gen_say(g, e, "ts.cast(%s, \"%s\")", gen_said(g, a), gen_dtype_text(g, t));
  return e;
}

gen_expr gen_select(gen *g, gen_expr c, gen_expr a, gen_expr b) {
  gen_expr e = 0;
  if (!g->failed) gen_check(g, describe_select(&g->b, c, a, b, &e));
  gen_say(g, e, "ts.select(%s, %s, %s)", gen_said(g, c), gen_said(g, a),
          gen_said(g, b));
  return e;
}

gen_expr gen_load(gen *g, uint32_t tensor, const gen_expr *idx) {
  gen_tensor *x = &g->tensor[tensor];
  gen_expr e = 0;
  if (!g->failed) gen_check(g, describe_load(&g->b, x->buf, x->ndim, idx, &e));
  gen_say(g, e, "%s(%s)", x->name, gen_list(g, x->ndim, idx));
  x->used = true;
  g->reads |= x->inputs;
  return e;
}

gen_expr gen_call(gen *g, const char *fn, gen_expr a) {
  gen_expr e = 0;
  if (!g->failed) gen_check(g, describe_call(&g->b, fn, 1, &a, &e));
  gen_say(g, e, "ts.%s(%s)", strcmp(fn, "not") ? fn : "lnot", gen_said(g, a));
  return e;
}

static gen_expr call2(gen *g, const char *fn, gen_expr a, gen_expr b) {
  gen_expr e = 0, x[2] = {a, b};
  if (!g->failed) gen_check(g, describe_call(&g->b, fn, 2, x, &e));
  gen_say(g, e, "ts.%s(%s, %s)", fn, gen_said(g, a), gen_said(g, b));
  return e;
}

/* Quarters are exact in every float type. */
gen_expr gen_const(gen *g, tess_dtype t) {
  gen_expr e = 0;
  int v = (int)gen_below(g, 9) -
          (t.code == TESS_DTYPE_INT || ir_is_float(t) ? 4 : 0);
  if (g->failed) return 0;
  if (ir_is_float(t))
    gen_check(g, describe_real(&g->b, t, g->o.representable ? v : v / 4.0, &e));
  else
    gen_check(
        g, describe_int(&g->b, t, t.code == TESS_DTYPE_BOOL ? v & 1 : v, &e));
  if (t.code == TESS_DTYPE_BOOL)
    gen_say(g, e, "ts.const(%s, \"bool\")", v & 1 ? "true" : "false");
  else
    gen_say(g, e, "ts.const(%.17g, \"%s\")",
            ir_is_float(t) && !g->o.representable ? v / 4.0 : v,
            gen_dtype_text(g, t));
  return e;
}

gen_expr gen_compare(gen *g, gen_expr a, gen_expr b) {
  static const char *const op[] = {"<", "<=", ">", ">=", "==", "!="};
  return gen_bin(g, op[gen_below(g, 6)], a, b);
}

static gen_expr tweak_bool(gen *g, gen_expr a) { return gen_call(g, "not", a); }

static gen_expr relu(gen *g, tess_dtype t, gen_expr a) {
  return gen_bin(g, gen_once_in(g, 2) ? "max" : "min", a, gen_const(g, t));
}

static gen_expr tweak_exactly(gen *g, tess_dtype t, gen_expr a) {
  switch (gen_below(g, 4)) {
  case 0: return relu(g, t, a);
  case 1: return gen_bin(g, "-", gen_const(g, t), a);
  case 2:
    return gen_select(g, gen_compare(g, a, gen_const(g, t)), a,
                      gen_const(g, t));
  default: return gen_bin(g, "+", a, gen_const(g, t));
  }
}

static gen_expr tweak_int(gen *g, tess_dtype t, gen_expr a) {
  static const char *const fn[] = {"shl", "shr", "bitand", "bitor", "bitxor"};
  switch (gen_below(g, 5)) {
  case 0: return gen_bin(g, "//", a, gen_const(g, t));
  case 1: return gen_bin(g, "%", a, gen_const(g, t));
  case 2: return gen_call(g, "abs", a);
  case 3: return call2(g, fn[gen_below(g, 5)], a, gen_const(g, t));
  default: return gen_bin(g, "*", a, gen_const(g, t));
  }
}

static gen_expr tweak_float(gen *g, tess_dtype t, gen_expr a) {
  static const char *const fn[] = {
      "exp",   "log",   "sqrt",  "rsqrt", "tanh", "sigmoid", "erf",
      "abs",   "floor", "ceil",  "round", "sin",  "cos",     "tan",
      "expm1", "log1p", "erfc",  "asin",  "acos", "atan",    "sinh",
      "cosh",  "asinh", "acosh", "atanh"};
  static const tess_dtype via[] = {{TESS_DTYPE_FLOAT, 16, 1},
                                   {TESS_DTYPE_FLOAT, 64, 1},
                                   {TESS_DTYPE_INT, 32, 1},
                                   {TESS_DTYPE_FLOAT, 32, 1}};
  switch (gen_below(g, 6)) {
  case 0: return gen_bin(g, "*", a, gen_const(g, t));
  case 1: return gen_bin(g, "/", gen_const(g, t), a);
  case 2: return gen_cast(g, t, gen_cast(g, via[gen_below(g, 4)], a));
  default: return gen_call(g, fn[gen_below(g, sizeof fn / sizeof *fn)], a);
  }
}

gen_expr gen_tweak(gen *g, tess_dtype t, gen_expr a) {
  if (t.code == TESS_DTYPE_BOOL) return tweak_bool(g, a);
  if (g->o.representable || gen_once_in(g, 2)) return tweak_exactly(g, t, a);
  return ir_is_float(t) ? tweak_float(g, t, a) : tweak_int(g, t, a);
}

/* By b, or by a choice of that and a number. */
static gen_expr divide(gen *g, tess_dtype t, gen_expr a, gen_expr b) {
  if (ir_is_float(t)) return gen_bin(g, "/", a, b);
  if (gen_once_in(g, 3))
    b = gen_select(g, gen_compare(g, a, b), b, gen_const(g, t));
  return gen_bin(g, gen_once_in(g, 3) ? "%" : "//", a, b);
}

gen_expr gen_mix(gen *g, tess_dtype t, gen_expr a, gen_expr b) {
  static const char *const num[] = {"+", "-", "*", "min", "max"};
  if (t.code == TESS_DTYPE_BOOL)
    return gen_once_in(g, 3)
               ? gen_bin(g, "!=", a, b)
               : gen_bin(g, gen_once_in(g, 2) ? "and" : "or", a, b);
  if (gen_once_in(g, 6))
    return gen_select(g, gen_compare(g, a, b), a, gen_bin(g, "+", a, b));
  if (!g->o.representable && gen_once_in(g, 7)) return divide(g, t, a, b);
  return gen_bin(g, num[gen_below(g, 5)], a, b);
}

/* ---- extents and types -------------------------------------------------- */

int64_t gen_extent(gen *g, int64_t most) {
  static const int8_t common[] = {1,  1,  1,  1,  1,  2,  3,  4,  5,
                                  6,  7,  8,  8,  9,  10, 11, 12, 13,
                                  15, 16, 16, 17, 20, 24, 31, 32};
  int64_t v = common[gen_below(g, sizeof common)];
  if (g->o.lanes && gen_below(g, 3)) v = 16 * (1 + gen_below(g, 2));
  if (most < 1)
    v = 1;
  else if (v > most)
    v = 1 + (int64_t)rng_below(g->r, (uint64_t)most);
  return g->o.max_extent && v > g->o.max_extent ? g->o.max_extent : v;
}

tess_dtype gen_dtype(gen *g) {
  static const tess_dtype all[] = {
      {TESS_DTYPE_FLOAT, 64, 1}, {TESS_DTYPE_INT, 8, 1},
      {TESS_DTYPE_INT, 16, 1},   {TESS_DTYPE_INT, 32, 1},
      {TESS_DTYPE_INT, 64, 1},   {TESS_DTYPE_UINT, 8, 1},
      {TESS_DTYPE_UINT, 16, 1},  {TESS_DTYPE_UINT, 32, 1},
      {TESS_DTYPE_BOOL, 8, 1},   {TESS_DTYPE_FLOAT, 16, 1},
      {TESS_DTYPE_BFLOAT, 16, 1}};
  if (g->o.lanes && gen_below(g, 8))
    return (tess_dtype){TESS_DTYPE_INT, gen_below(g, 3) ? 32 : 8, 1};
  if (!gen_once_in(g, 3)) return (tess_dtype){TESS_DTYPE_FLOAT, 32, 1};
  return all[gen_below(g, g->o.no_16bit ? 9 : 11)];
}

/* ---- tensors ------------------------------------------------------------ */

const char *gen_name(gen *g, const char *kind, char *text, size_t size) {
  snprintf(text, size, "%s%u", kind, (unsigned)g->nnames++);
  return text;
}

static gen_tensor *enter(gen *g, ir_buf buf, tess_dtype t, uint32_t ndim,
                         const int64_t *shape) {
  gen_tensor *x = &g->tensor[g->n++];
  *x = (gen_tensor){.buf = buf, .t = t, .ndim = ndim};
  for (uint32_t d = 0; d < ndim; d++) x->shape[d] = shape[d];
  return x;
}

void gen_add(gen *g, ir_buf buf, tess_dtype t, uint32_t ndim,
             const int64_t *shape) {
  gen_tensor *x = enter(g, buf, t, ndim, shape);
  x->inputs = g->reads;
  g->reads = 0;
  g->nstages++;
  if (!g->failed)
    snprintf(x->name, sizeof x->name, "%s",
             ir_text(&g->b.p, g->b.p.buf.v[buf].name));
}

static uint32_t new_input(gen *g, tess_dtype t, uint32_t ndim,
                          const int64_t *shape) {
  char name[32];
  gen_expr e[GEN_MAX_DIM];
  ir_buf buf = 0;
  if (!g->n) gen_name_sizes(g, ndim, shape);
  for (uint32_t d = 0; d < ndim; d++) e[d] = gen_len(g, shape[d]);
  gen_name(g, "x", name, sizeof name);
  if (!g->failed)
    gen_check(g, describe_buffer(&g->b, name, t, ndim, e, IR_SCOPE_GLOBAL,
                                 IR_ROLE_INPUT, &buf));
  gen_tensor *x = enter(g, buf, t, ndim, shape);
  x->inputs = UINT64_C(1) << (g->n - 1);
  snprintf(x->name, sizeof x->name, "%s", name);
  if (g->o.lua)
    str_printf(&g->inputs, "local %s = ts.placeholder(\"%s\", {%s}, \"%s\")\n",
               name, name, gen_shape(g, ndim, shape), gen_dtype_text(g, t));
  g->ninputs++;
  return g->n - 1;
}

static bool program_fits(const gen_tensor *x, tess_dtype t, uint32_t ndim,
                         const int64_t *shape) {
  bool same = !x->is_index && ir_dtype_eq(x->t, t) && x->ndim == ndim;
  for (uint32_t d = 0; same && d < ndim; d++) same = x->shape[d] == shape[d];
  return same;
}

uint32_t gen_source(gen *g, tess_dtype t, uint32_t ndim, const int64_t *shape) {
  uint32_t from = gen_below(g, g->n + 1);
  for (uint32_t i = from; i < g->n; i++)
    if (program_fits(&g->tensor[i], t, ndim, shape)) return i;
  return new_input(g, t, ndim, shape);
}

/* The last tensor half of the time, so that programs are chains. */
uint32_t gen_pick(gen *g) {
  if (g->n && !gen_once_in(g, 6))
    return gen_once_in(g, 2) ? g->n - 1 : gen_below(g, g->n);
  int64_t shape[GEN_MAX_DIM], left = g->o.max_points;
  uint32_t ndim = gen_once_in(g, 12) ? 4 : 1 + gen_below(g, 3);
  for (uint32_t d = 0; d < ndim; d++) {
    shape[d] = gen_extent(g, left);
    left /= shape[d];
  }
  return new_input(g, gen_dtype(g), ndim, shape);
}

/* ---- computes ----------------------------------------------------------- */

void gen_begin(gen *g, const char *kind, uint32_t ndim, const int64_t *shape,
               gen_expr *idx) {
  char name[32];
  gen_expr e[GEN_MAX_DIM];
  ir_var v[GEN_MAX_DIM] = {0};
  for (uint32_t d = 0; d < ndim; d++) e[d] = gen_len(g, shape[d]);
  gen_name(g, kind, name, sizeof name);
  if (g->what) str_printf(g->what, " %s", name);
  if (!g->failed)
    gen_check(g, describe_compute_begin(&g->b, name, ndim, e, NULL, v));
  for (uint32_t d = 0; d < ndim; d++) {
    idx[d] = 0;
    if (!g->failed) gen_check(g, describe_var(&g->b, v[d], &idx[d]));
    gen_say(g, idx[d], "%c", "ijklm"[d]);
  }
  snprintf(g->compute, sizeof g->compute, "%s", name);
  gen_write(g, "local function body_%s(%s)\n", name, gen_list(g, ndim, idx));
}

/* Results are called as their buffers are: as the compute, or name_v0 .. */
void gen_write_results(gen *g, uint32_t n, uint32_t ndim, const int64_t *shape,
                       const char *body) {
  gen_write(g, "  return %s\nend\nlocal ", body);
  for (uint32_t i = 0; i < n; i++)
    if (n == 1)
      gen_write(g, "%s", g->compute);
    else
      gen_write(g, "%s%s_v%u", i ? ", " : "", g->compute, (unsigned)i);
  gen_write(g, " = ts.compute(\"%s\", {%s}, body_%s)\n", g->compute,
            gen_shape(g, ndim, shape), g->compute);
}

void gen_end(gen *g, uint32_t ndim, const int64_t *shape, tess_dtype t,
             gen_expr body) {
  ir_buf out = 0;
  if (!g->failed) gen_check(g, describe_compute_end(&g->b, 1, &body, &out));
  gen_write_results(g, 1, ndim, shape, gen_said(g, body));
  gen_add(g, out, t, ndim, shape);
}

gen_expr gen_axis(gen *g, int64_t extent, ir_var *axis) {
  char name[32];
  gen_expr e = 0, lo = gen_num(g, 0), n = gen_len(g, extent);
  gen_name(g, "r", name, sizeof name);
  if (!g->failed) gen_check(g, describe_axis_new(&g->b, name, lo, n, axis));
  if (!g->failed) gen_check(g, describe_var(&g->b, *axis, &e));
  gen_say(g, e, "%s", name);
  gen_write(g, "  local %s = ts.reduce_axis(\"%s\", %s)\n", name, name,
            gen_said(g, n));
  return e;
}

const char *gen_axes(gen *g, uint32_t n, const ir_var *axes) {
  const char *list = "";
  for (uint32_t i = 0; g->o.lua && !g->failed && i < n; i++)
    list = arena_printf(&g->texts, "%s%s%s", list, i ? ", " : "",
                        ir_text(&g->b.p, g->b.p.var.v[axes[i]].name));
  return list;
}

void gen_end_by(gen *g, const char *name, const char *fn, uint32_t ndim,
                const int64_t *shape, tess_dtype t, gen_expr source,
                uint32_t naxes, const ir_var *axes) {
  uint32_t reducer = 0;
  gen_expr body = 0;
  if (!g->failed) gen_check(g, describe_builtin(&g->b, name, source, &reducer));
  if (!g->failed)
    gen_check(g,
              describe_reduce(&g->b, reducer, 1, &source, naxes, axes, &body));
  gen_say(g, body, "ts.%s(%s, {%s})", fn, gen_said(g, source),
          gen_axes(g, naxes, axes));
  gen_end(g, ndim, shape, t, body);
}

void gen_end_reduce(gen *g, uint32_t ndim, const int64_t *shape, tess_dtype t,
                    gen_expr source, uint32_t naxes, const ir_var *axes) {
  static const char *const name[] = {"sum", "sum", "max", "min", "prod"};
  static const char *const fn[] = {"sum", "sum", "reduce_max", "reduce_min",
                                   "prod"};
  uint32_t k = gen_below(g, g->o.representable ? 4 : 5);
  gen_end_by(g, name[k], fn[k], ndim, shape, t, source, naxes, axes);
}

/* ---- the whole ---------------------------------------------------------- */

/* Puts the script together: the inputs come first. */
static void write_program(gen *g, uint32_t nin, const char *const *in,
                          uint32_t nout, const char *const *out) {
  strbuf *to = g->o.lua;
  str_puts(to, "local build = ts.builder(\"main\")\n");
  str_puts(to, str_get(&g->inputs));
  str_puts(to, str_get(&g->script));
  str_puts(to, "local program = ts.program(\"main\", {");
  for (uint32_t i = 0; i < nin; i++)
    str_printf(to, "%s%s", i ? ", " : "", in[i]);
  str_puts(to, "}, {");
  for (uint32_t i = 0; i < nout; i++)
    str_printf(to, "%s%s", i ? ", " : "", out[i]);
  str_puts(to, "})\n");
}

/* Outputs are what no stage reads, and sometimes more; inputs what they are
 * made of. */
static tess_status assemble(gen *g, ir_program *dst) {
  ir_buf in[GEN_MAX_TENSORS], out[GEN_MAX_TENSORS];
  const char *in_name[GEN_MAX_TENSORS], *out_name[GEN_MAX_TENSORS];
  bool is_out[GEN_MAX_TENSORS];
  uint32_t nin = 0, nout = 0, all = 0;
  uint64_t needed = 0;
  for (uint32_t i = 0; i < g->n; i++) {
    const gen_tensor *x = &g->tensor[i];
    bool input = x->inputs == UINT64_C(1) << i;
    is_out[i] = !(input ? !x->changed : x->used && !gen_once_in(g, 8));
    all += is_out[i];
  }
  for (uint32_t i = 0, k = 0, left = all; i < g->n; i++) {
    if (!is_out[i]) continue;
    if (g->o.without >> (k++ & 63) & 1 && left > 1) {
      left--;
      continue;
    }
    out[nout] = g->tensor[i].buf;
    out_name[nout++] = g->tensor[i].name;
    needed |= g->tensor[i].inputs;
  }
  if (g->nsizes) needed |= 1; /* its shape tells them */
  for (uint64_t was = 0; was != needed;) {
    was = needed;
    for (uint32_t i = 0; i < g->n; i++)
      if (needed >> i & 1) needed |= g->tensor[i].by;
  }
  for (uint32_t i = 0; i < g->n; i++)
    if (g->tensor[i].inputs == UINT64_C(1) << i && needed >> i & 1) {
      in[nin] = g->tensor[i].buf;
      in_name[nin++] = g->tensor[i].name;
    }
  if (g->o.lua) write_program(g, nin, in_name, nout, out_name);
  return describe_program(&g->b, "main", nin, in, nout, out, dst);
}

/* Rarely some block reads two inputs of one name. */
static void share_name(gen *g, ir_program *p) {
  ir_stmt root = ir_entry(p)->root;
  if (!gen_once_in(g, 12)) return;
  for (ir_stmt s = ir_next(p, root, root); s; s = ir_next(p, s, root)) {
    ir_span r = ir_is_block(p, s) ? ir_blk(p, s)->reads : (ir_span){0, 0};
    ir_buf last = 0;
    for (uint32_t i = r.at; i < r.at + r.n; i++) {
      ir_buf b = p->region.v[i].buf;
      if (p->buf.v[b].role != IR_ROLE_INPUT || b == last) continue;
      if (last) {
        p->buf.v[b].name = p->buf.v[last].name;
        gen_write(g, "-- block %s reads two buffers of one name\n",
                  ir_text(p, ir_blk(p, s)->name));
        return;
      }
      last = b;
    }
  }
}

tess_status gen_program(rng *r, const gen_options *o, mem_heap *heap,
                        ir_program *dst, strbuf *what, err_state *err) {
  gen g = {.r = r, .o = o ? *o : (gen_options){0}, .what = what};
  g.o.max_stages = g.o.max_stages ? g.o.max_stages : 5;
  g.o.max_points = g.o.max_points ? g.o.max_points : 1500;
  describe_init(&g.b, heap, err);
  str_init(&g.inputs, heap);
  str_init(&g.script, heap);
  arena_init(&g.texts, heap);
  uint32_t stages = 1 + gen_below(&g, g.o.max_stages);
  if (g.o.stages && stages > g.o.stages) stages = g.o.stages;
  while (g.nstages < stages && g.n + 8 < GEN_MAX_TENSORS && !g.failed)
    gen_stage(&g);
  if (!g.failed) gen_check(&g, assemble(&g, dst));
  if (!g.failed) gen_tell_sizes(&g, dst);
  if (!g.failed) gen_place_own(&g, dst);
  if (!g.failed) share_name(&g, dst);
  vec_free(heap, &g.said);
  arena_free(&g.texts);
  str_free(&g.script);
  str_free(&g.inputs);
  describe_free(&g.b);
  return g.failed;
}
