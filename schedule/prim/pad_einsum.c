/* SPDX-License-Identifier: Apache-2.0
 * pad_einsum: pads the iters of an einsum to multiples, with neutral elements.
 */
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/query.h"
#include "schedule/analysis/inline.h"
#include "schedule/analysis/move.h"
#include "schedule/analysis/window.h"
#include <math.h>

#define PAD_EINSUM_SIG(F, S)                      \
  F(S, IN, BLOCK, block, REQ, "the block to pad") \
  F(S, ATTR, INTS, padding, REQ,                  \
    "for each iter, what its extent becomes a multiple of")

PRIM_DEFINE(
    pad_einsum, PAD_EINSUM_SIG,
    .summary =
        "Pad the iters of a block to multiples, by padded copies of what "
        "it uses.",
    .rewrite = "for i in 30: for k in 31: C[i] += A[i, k] * B[k]   ->   "
               "A_pad, B_pad: copies, 0 outside; for i in 32: for k in 32: "
               "C_pad[i] += A_pad[i, k] * B_pad[k]; C: copy of C_pad",
    .details =
        "1. There is one number an iter, at least 1.\n"
        "2. The block is complete or a reduction, and writes each element\n"
        "   once.\n"
        "3. Each iter is a separate loop, in their order, over all of its\n"
        "   domain, with nothing beside them, at least once; those that are\n"
        "   padded are serial, start at 0 and have an extent that is "
        "constant\n"
        "   or, in the outermost block, known at the call.\n"
        "4. The body is one store, chooses nothing by a condition and calls\n"
        "   no foreign function.\n"
        "5. Where an index uses a padded iter it is that iter, and the other\n"
        "   indices of the same access are other iters, whose domains no loop\n"
        "   of the nest changes, or constants. What is read may also be "
        "indexed\n"
        "   by windows: sums of positive multiples of iters with constant\n"
        "   extents, as h * 2 + kh, of which those that are padded are\n"
        "   spatial. Windows leave out no element but by a common step, as\n"
        "   h * 2 + kh * 2 does: the copy has those that they reach. All\n"
        "   that are padded and spatial determine where the result goes, and\n"
        "   none that is reduced.\n"
        "6. What is padded along a reduce iter adds nothing: a sum of\n"
        "   products is padded with 0, a product with 1, and minima, maxima,\n"
        "   any and all of single values with what is greatest, least, false\n"
        "   or true. Of a product of floats every factor must be padded,\n"
        "   since 0 times an infinity is not 0; of integers one. What the\n"
        "   reduction begins with may be anything.\n"
        "7. The new extents stay below 2^60.\n"
        "8. Loops whose iterations run in parallel stay free of races.\n"
        "The copy of a buffer A is named A_pad, as is the block that makes\n"
        "it; it precedes the nest of the block, and C_pad is copied\n"
        "behind.\n",
    .refusals = SCH_REASONS(
        SCH_R_BLOCK_IS_ROOT, SCH_R_BLOCK_NOT_COMPLETE, SCH_R_BODY_NOT_STORE,
        SCH_R_EINSUM_ACCESS, SCH_R_EINSUM_CHOOSES, SCH_R_EINSUM_LOOPS,
        SCH_R_EXTENT_LARGE, SCH_R_FACTOR_NOT_POSITIVE, SCH_R_INIT_OF_SCOPE,
        SCH_R_LOOP_MAY_BE_EMPTY, SCH_R_LOOP_NOT_SERIAL,
        SCH_R_LOOP_START_NOT_ZERO, SCH_R_NOT_ONLY_CHILD, SCH_R_NOT_REDUCER,
        SCH_R_NOT_STATIC, SCH_R_OPAQUE_ACCESS, SCH_R_OTHER_STATEMENT,
        SCH_R_PADDING_COUNT, SCH_R_PAD_NOT_NEUTRAL, SCH_R_PLACE_NOT_PLAIN,
        SCH_R_PLACE_REDUCED, SCH_R_SEVERAL_WRITES, SCH_R_WOULD_RACE),
    .example = "local c = sch:get_block(\"C\")\n"
               "sch:pad_einsum(c, { 48, 5, 7 })\n");

typedef struct pad_einsum_args args;

enum { MAX_OPERANDS = 16, MAX_DIMS = 16 };

/* An access of a buffer in one way. */
typedef struct operand {
  ir_buf buf;
  uint32_t n;
  ir_expr idx[MAX_DIMS];
  sch_window window[MAX_DIMS]; /* old 0: it is none */
  bool padded;                 /* some index uses a padded iter */
  ir_buf made;                 /* the padded copy */
} operand;

typedef struct work {
  sch_state *s;
  ir_stmt block, scope;
  sch_list loops; /* one an iter */
  ir_expr *to;    /* new extent of each iter; 0: it stays */
  sch_def def, init;
  uint32_t nop;
  operand op[MAX_OPERANDS]; /* the result first */
  bool many;                /* more than there is room for */
  ir_expr fill[MAX_OPERANDS];
} work;

static ir_iter iter_at(const work *w, uint32_t k) {
  const ir_program *p = w->s->p;
  return p->iter.v[ir_blk(p, w->block)->iters.at + k];
}

/* Which iter the expression is; niters: none. */
static uint32_t einsum_iter_of(const work *w, ir_expr e) {
  const ir_program *p = w->s->p;
  uint32_t k = 0;
  while (k < w->loops.n && ir_ref(p, iter_at(w, k).var) != e) k++;
  return k;
}

/* ---- extents ------------------------------------------------------------ */

static bool check_numbers(work *w, sch_ints padding) {
  sch_state *s = w->s;
  uint32_t n = ir_blk(s->p, w->block)->iters.n;
  if (padding.n != n)
    return sch_refuse(s, SCH_R_PADDING_COUNT, .s = {w->block},
                      .n = {padding.n, n});
  for (uint32_t k = 0; k < n; k++)
    if (padding.v[k] < 1)
      return sch_refuse(s, SCH_R_FACTOR_NOT_POSITIVE, .s = {w->block},
                        .n = {k, padding.v[k]});
  return true;
}

/* The loops are the iters, over their whole domains. */
static bool einsum_check_loops(work *w) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  w->loops = sch_loops_of(s, w->block);
  if (!sch_is_trivial(p, w->block) || ir_blk(p, w->block)->pred)
    return sch_refuse(s, SCH_R_EINSUM_LOOPS, .s = {w->block});
  for (uint32_t k = 0; k < w->loops.n; k++) {
    ir_stmt l = w->loops.v[k];
    ir_stmt in = k + 1 < w->loops.n ? w->loops.v[k + 1] : w->block;
    if (ir_st(p, l)->lo != iter_at(w, k).lo ||
        ir_st(p, l)->extent != iter_at(w, k).extent)
      return sch_refuse(s, SCH_R_EINSUM_LOOPS, .s = {w->block});
    if (sch_only_child(p, l) != in)
      return sch_refuse(s, SCH_R_NOT_ONLY_CHILD, .s = {l, in});
  }
  return true;
}

static bool pads_any(const work *w) {
  for (uint32_t k = 0; k < w->loops.n; k++)
    if (w->to[k]) return true;
  return false;
}

static bool is_same_everywhere(const work *w, uint32_t k);

/* Is what the loop of iter k runs over known where buffers are made? */
static bool is_known(const work *w, uint32_t k) {
  const ir_program *p = w->s->p;
  int64_t extent;
  if (ir_const_int(p, ir_st(p, w->loops.v[k])->extent, &extent))
    return extent >= 1;
  return !ir_st(p, w->scope)->parent && is_same_everywhere(w, k);
}

/* The least multiple of `by` from e on. */
static ir_expr multiple(ir_program *p, ir_expr e, int64_t by) {
  ir_expr n =
      ir_binary(p, IR_DIV, ir_add(p, e, ir_index(p, by - 1)), ir_index(p, by));
  return ir_binary(p, IR_MUL, n, ir_index(p, by));
}

static bool find_extents(work *w, sch_ints padding) {
  sch_state *s = w->s;
  ir_program *p = s->p;
  w->to = arena_array(s->scratch, ir_expr, padding.n);
  for (uint32_t k = 0; k < padding.n; k++) {
    const ir_stmt_rec r = *ir_st(p, w->loops.v[k]);
    int64_t extent = 0, by = padding.v[k];
    w->to[k] = 0;
    if (by == 1 ||
        ir_is_const(p, ir_binary(p, IR_MOD, r.extent, ir_index(p, by)), 0))
      continue;
    if (!is_known(w, k))
      return sch_refuse(s, SCH_R_NOT_STATIC, .s = {w->loops.v[k]});
    if (r.loop_kind != IR_SERIAL)
      return sch_refuse(s, SCH_R_LOOP_NOT_SERIAL, .s = {w->loops.v[k]});
    if (!ir_is_const(p, r.lo, 0))
      return sch_refuse(s, SCH_R_LOOP_START_NOT_ZERO, .s = {w->loops.v[k]});
    /* What a size comes to is seen when buffers are made. */
    (void)ir_const_int(p, r.extent, &extent);
    if (extent > SCH_MAX_EXTENT || by > SCH_MAX_EXTENT - extent)
      return sch_refuse(s, SCH_R_EXTENT_LARGE, .s = {w->loops.v[k]});
    w->to[k] = multiple(p, r.extent, by);
  }
  for (uint32_t k = 0; k < padding.n && pads_any(w); k++)
    if (ir_at(p, ir_st(p, w->loops.v[k])->extent)->lo < 1)
      return sch_refuse(s, SCH_R_LOOP_MAY_BE_EMPTY, .s = {w->loops.v[k]});
  return true;
}

/* ---- accesses ----------------------------------------------------------- */

static void add_operand(work *w, ir_buf buf, uint32_t n, const ir_expr *idx) {
  for (uint32_t i = 0; i < w->nop; i++)
    if (w->op[i].buf == buf && !memcmp(w->op[i].idx, idx, n * sizeof *idx))
      return;
  w->many |= w->nop == MAX_OPERANDS || n > MAX_DIMS;
  if (w->many) return;
  operand *o = &w->op[w->nop++];
  *o = (operand){.buf = buf, .n = n};
  memcpy(o->idx, idx, n * sizeof *idx);
}

typedef struct look {
  work *w;
  bool chooses;
} look;

static void einsum_note(const ir_program *p, ir_expr e, void *ud) {
  look *l = ud;
  const ir_node *n = ir_at(p, e);
  l->chooses |=
      n->op == IR_SELECT || (n->op == IR_CALL && n->a == IR_FN_EXTERN);
  if (n->op == IR_LOAD) add_operand(l->w, n->a, n->n, p->arg.v + n->b);
}

static bool uses_padded(const work *w, ir_expr e) {
  for (uint32_t k = 0; k < w->loops.n; k++)
    if (w->to[k] && ir_uses_var(w->s->p, e, iter_at(w, k).var)) return true;
  return false;
}

/* No loop of the nest determines where iter k runs: the copies are outside. */
static bool is_same_everywhere(const work *w, uint32_t k) {
  const ir_program *p = w->s->p;
  const ir_iter it = iter_at(w, k);
  for (uint32_t i = 0; i < w->loops.n; i++) {
    ir_var v = ir_st(p, w->loops.v[i])->var;
    if (ir_uses_var(p, it.lo, v) || ir_uses_var(p, it.extent, v)) return false;
  }
  return true;
}

static bool is_window(work *w, operand *o, uint32_t d) {
  const ir_program *p = w->s->p;
  const ir_iter *it = p->iter.v + ir_blk(p, w->block)->iters.at;
  return o->buf != w->def.buf &&
         sch_window_of(p, o->idx[d], it, w->to, w->loops.n, &o->window[d]);
}

/* Indices by distinct iters, windows and constants, where one is padded. */
static bool check_operand(work *w, operand *o) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  uint64_t seen = 0;
  int64_t unused;
  bool plain = true;
  for (uint32_t d = 0; d < o->n; d++) {
    uint32_t k = einsum_iter_of(w, o->idx[d]);
    o->padded |= uses_padded(w, o->idx[d]);
    if (k == w->loops.n) {
      plain &= ir_const_int(p, o->idx[d], &unused) || is_window(w, o, d);
      continue;
    }
    plain &= k < 64 && !(seen >> k & 1) && is_same_everywhere(w, k);
    seen |= UINT64_C(1) << (k & 63);
  }
  return plain || !o->padded ||
         sch_refuse(s, SCH_R_EINSUM_ACCESS, .s = {w->block}, .buf = o->buf);
}

/* Does one of the indices determine iter k? */
static bool is_told(const work *w, const operand *o, uint32_t k) {
  for (uint32_t d = 0; d < o->n; d++)
    if (o->idx[d] == ir_ref(w->s->p, iter_at(w, k).var)) return true;
  return false;
}

static bool find_body(work *w) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  const ir_block_rec *b = ir_blk(p, w->block);
  if (b->writes.n != 1)
    return sch_refuse(s, SCH_R_SEVERAL_WRITES, .s = {w->block},
                      .n = {b->writes.n});
  if (b->allocs.n || b->matches.n ||
      !sch_get_def(s, ir_st(p, w->block)->body, &w->def) ||
      (sch_has_init(p, w->block) &&
       !sch_get_def(s, ir_st(p, w->block)->alt, &w->init)))
    return sch_refuse(s, SCH_R_BODY_NOT_STORE, .s = {w->block});
  return true;
}

static bool check_accesses(work *w) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  bool init = sch_has_init(p, w->block);
  look l = {w, false};
  add_operand(w, w->def.buf, w->def.n, w->def.idx);
  if (init) add_operand(w, w->init.buf, w->init.n, w->init.idx);
  ir_visit(p, s->scratch, w->def.value, einsum_note, &l);
  if (init) ir_visit(p, s->scratch, w->init.value, einsum_note, &l);
  if (l.chooses) return sch_refuse(s, SCH_R_EINSUM_CHOOSES, .s = {w->block});
  for (uint32_t i = 0; i < w->nop; i++) {
    operand *o = &w->op[i];
    if (sch_has_match(p, w->scope, o->buf) ||
        sch_storage(p, w->scope, o->buf) != o->buf)
      return sch_refuse(s, SCH_R_OPAQUE_ACCESS, .s = {w->block}, .buf = o->buf);
    if (w->many || (i && o->buf == w->def.buf))
      return sch_refuse(s, SCH_R_EINSUM_ACCESS, .s = {w->block}, .buf = o->buf);
    if (!check_operand(w, o)) return false;
  }
  for (uint32_t k = 0; k < w->loops.n; k++) {
    bool spatial = iter_at(w, k).kind == IR_SPATIAL;
    if (!spatial && is_told(w, &w->op[0], k))
      return sch_refuse(s, SCH_R_PLACE_REDUCED, .s = {w->block});
    if (w->to[k] && spatial && !is_told(w, &w->op[0], k))
      return sch_refuse(s, SCH_R_EINSUM_ACCESS, .s = {w->block},
                        .buf = w->def.buf);
  }
  return true;
}

/* ---- what padding holds ------------------------------------------------- */

/* 0 of a sum, 1 of a product, the greatest of a minimum, ... */
static ir_expr identity(ir_program *p, ir_op how, tess_dtype t) {
  switch (how) {
  case IR_MIN: return ir_extreme(p, t, true);
  case IR_MAX: return ir_extreme(p, t, false);
  case IR_OR: return ir_cast(p, t, ir_bool(p, false));
  case IR_AND: return ir_cast(p, t, ir_bool(p, true));
  default: {
    int v = how == IR_MUL;
    return ir_is_float(t) ? ir_real(p, t, v) : ir_int(p, t, v);
  }
  }
}

static const operand *operand_of(const work *w, ir_expr load, uint32_t *i) {
  const ir_program *p = w->s->p;
  const ir_node *n = ir_at(p, load);
  for (*i = 0; *i < w->nop; ++*i)
    if (w->op[*i].buf == n->a &&
        !memcmp(w->op[*i].idx, p->arg.v + n->b, n->n * sizeof(ir_expr)))
      return &w->op[*i];
  return NULL;
}

/* The factors of what a step combines: how many are padded along reduce
 * iter k, and how many are not. */
typedef struct factors {
  ir_op how;
  uint32_t k, padded, others;
  bool odd; /* something else than loads, casts and numbers */
} factors;

static bool is_finite(const ir_program *p, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  return n->op == IR_INT || (n->op == IR_REAL && isfinite(n->f));
}

static void count_factors(work *w, ir_expr e, factors *f) {
  ir_program *p = w->s->p;
  const ir_node n = *ir_at(p, e);
  if (n.op == IR_MUL && (f->how == IR_ADD || f->how == IR_MUL)) {
    count_factors(w, n.a, f);
    count_factors(w, n.b, f);
    return;
  }
  ir_expr load = e;
  uint32_t i, depth = 0;
  while (ir_at(p, load)->op == IR_CAST) load = ir_at(p, load)->a, depth++;
  if (ir_at(p, load)->op != IR_LOAD) {
    f->odd |= f->how != IR_ADD || !is_finite(p, e);
    return;
  }
  const operand *o = operand_of(w, load, &i);
  bool told = o && is_told(w, o, f->k);
  f->padded += told;
  f->others += !told;
  if (!told) return;
  /* Through the casts the fill must come out as what adds nothing. */
  tess_dtype t = ir_at(p, load)->dtype;
  ir_expr fill = identity(p, f->how, t), seen = fill;
  for (; depth; depth--) {
    ir_expr at = e;
    for (uint32_t up = 1; up < depth; up++) at = ir_at(p, at)->a;
    seen = ir_cast(p, ir_at(p, at)->dtype, seen);
  }
  f->odd |= seen != identity(p, f->how, n.dtype);
  w->fill[i] = fill;
}

static bool is_neutral(work *w, ir_op how, ir_expr step, uint32_t k) {
  const ir_program *p = w->s->p;
  factors f = {.how = how, .k = k};
  count_factors(w, step, &f);
  bool exact = ir_is_int(ir_at(p, step)->dtype) && how == IR_ADD;
  return !f.odd && f.padded && (exact || !f.others);
}

static bool check_neutral(work *w) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  for (uint32_t k = 0; k < w->loops.n; k++) {
    if (!w->to[k] || iter_at(w, k).kind == IR_SPATIAL) continue;
    ir_op how;
    bool reduces = iter_at(w, k).kind == IR_REDUCE && sch_has_init(p, w->block);
    ir_expr step = reduces ? sch_added_to_any(p, &w->def, &how) : 0;
    if (!step) return sch_refuse(s, SCH_R_NOT_REDUCER, .s = {w->block});
    if (!is_neutral(w, how, step, k))
      return sch_refuse(s, SCH_R_PAD_NOT_NEUTRAL,
                        .s = {w->loops.v[k], w->block});
  }
  return true;
}

/* ---- copies ------------------------------------------------------------- */

/* The shape of the padded copy; false: too large. */
static bool find_shape(const work *w, const operand *o, ir_expr *shape) {
  ir_program *p = w->s->p;
  int64_t size = 1, extent;
  for (uint32_t d = 0; d < o->n; d++) {
    uint32_t k = einsum_iter_of(w, o->idx[d]);
    bool padded = k < w->loops.n && w->to[k];
    shape[d] = padded             ? w->to[k]
               : o->window[d].old ? ir_index(p, o->window[d].now)
                                  : ir_dim(p, o->buf, d);
    if (ir_const_int(p, shape[d], &extent) &&
        (__builtin_mul_overflow(size, extent, &size) || size > SCH_MAX_EXTENT))
      return false;
  }
  return true;
}

static bool check_sizes(const work *w) {
  ir_expr shape[MAX_DIMS];
  for (uint32_t i = 0; i < w->nop; i++)
    if (w->op[i].padded && !find_shape(w, &w->op[i], shape))
      return sch_refuse(w->s, SCH_R_EXTENT_LARGE, .s = {w->block});
  return true;
}

static void make_buffers(work *w) {
  sch_state *s = w->s;
  ir_program *p = s->p;
  for (uint32_t i = 0; i < w->nop; i++) {
    operand *o = &w->op[i];
    ir_expr shape[MAX_DIMS];
    if (!o->padded) continue;
    find_shape(w, o, shape);
    const ir_buf_rec b = p->buf.v[o->buf];
    ir_str name = ir_fresh_block_name(p, ir_name_cat(p, b.name, "_pad"));
    o->made = ir_buf_new(p, name, b.dtype, o->n, shape, (ir_scope)b.scope,
                         IR_ROLE_LOCAL);
    ir_block_add_alloc(p, w->scope, o->made);
  }
}

/* What a dimension's index ranges over: old elements from lo, and with those
 * that are padded. */
static void copied_range(const work *w, const operand *o, uint32_t d,
                         ir_expr *lo, ir_expr *old, ir_expr *padded) {
  ir_program *p = w->s->p;
  uint32_t k = einsum_iter_of(w, o->idx[d]);
  if (k < w->loops.n) {
    *lo = iter_at(w, k).lo;
    *old = iter_at(w, k).extent;
    *padded = w->to[k] ? w->to[k] : *old;
    return;
  }
  const sch_window *window = &o->window[d];
  *lo = window->old ? ir_index(p, 0) : o->idx[d];
  *old = ir_index(p, window->old ? window->old : 1);
  *padded = window->old ? ir_index(p, window->now) : *old;
}

/* A block that copies the operand to its padded copy, or, `back`, the part
 * that is no padding from there. */
static void make_copy(work *w, const operand *o, ir_expr fill, bool back,
                      ir_stmt before) {
  sch_state *s = w->s;
  ir_program *p = s->p;
  ir_iter it[MAX_DIMS];
  sch_span span[MAX_DIMS];
  ir_expr at[MAX_DIMS], read_at[MAX_DIMS], cond = 0;
  ir_stmt copy =
      ir_block_new(p, ir_fresh_block_name(p, p->buf.v[o->made].name));
  for (uint32_t d = 0; d < o->n; d++) {
    ir_expr lo, old, n;
    copied_range(w, o, d, &lo, &old, &n);
    bool more = !back && n != old;
    if (back) n = old;
    int64_t min, max;
    ir_domain_bounds(p, lo, n, &min, &max);
    ir_str name = ir_name(p, arena_printf(s->scratch, "v%u", d));
    ir_var v = ir_var_new(p, IR_VAR_ITER, name, IR_INDEX, min, max);
    at[d] = read_at[d] = ir_ref(p, v);
    if (o->window[d].step > 1)
      read_at[d] = ir_binary(p, IR_MUL, at[d], ir_index(p, o->window[d].step));
    it[d] = (ir_iter){v, IR_SPATIAL, lo, n, lo};
    span[d].extent = SCH_SPAN_WHOLE;
    if (more)
      cond = ir_and(p, cond, ir_binary(p, IR_LT, at[d], ir_add(p, lo, old)));
  }
  ir_buf from = back ? o->made : o->buf, to = back ? o->buf : o->made;
  ir_expr value = ir_load(p, from, o->n, read_at);
  if (cond) value = ir_select(p, cond, value, fill);
  ir_block_set_iters(p, copy, o->n, it);
  ir_append(p, copy, ir_store_new(p, to, o->n, at, value));
  ir_block_find_regions(p, s->scratch, copy);
  sch_nest nest;
  sch_nest_plan(s, copy, span, true, &nest);
  sch_nest_hang(p, copy, &nest, ir_st(p, w->loops.v[0])->parent, before);
}

/* ---- the block ---------------------------------------------------------- */

/* The element of the padded copy, which has only those that steps reach. */
static ir_expr element_of_copy(ir_program *p, const operand *o) {
  ir_expr at[MAX_DIMS];
  for (uint32_t d = 0; d < o->n; d++) {
    at[d] = o->idx[d];
    if (o->window[d].step > 1)
      at[d] = ir_binary(p, IR_DIV, at[d], ir_index(p, o->window[d].step));
  }
  return ir_load(p, o->made, o->n, at);
}

static ir_expr padded_load(ir_subst *sub, ir_buf buf, uint32_t n,
                           const ir_expr *idx) {
  const work *w = sub->ud;
  for (uint32_t i = 0; i < w->nop; i++)
    if (w->op[i].made && w->op[i].buf == buf &&
        !memcmp(w->op[i].idx, idx, n * sizeof *idx))
      return element_of_copy(sub->p, &w->op[i]);
  return 0;
}

static void redirect_store(const work *w, const sch_def *def) {
  ir_program *p = w->s->p;
  if (w->op[0].made) ir_st(p, def->store)->buf = w->op[0].made;
}

/* A variable like `v`, with values from 0 below the extent. */
static ir_var longer(ir_program *p, ir_var v, ir_expr extent) {
  const ir_var_rec old = p->var.v[v];
  int64_t min, max;
  ir_domain_bounds(p, ir_index(p, 0), extent, &min, &max);
  ir_var made =
      ir_var_new(p, (ir_var_kind)old.kind, old.name, old.dtype, min, max);
  p->var.v[made].form = old.form;
  p->var.v[made].part = old.part;
  memcpy(p->var.v[made].from, old.from, sizeof old.from);
  return made;
}

static void pad_einsum_grow(work *w) {
  sch_state *s = w->s;
  ir_program *p = s->p;
  ir_span span = ir_blk(p, w->block)->iters;
  ir_iter *it = arena_array(s->scratch, ir_iter, span.n);
  ir_subst sub;
  ir_subst_init(&sub, p, s->scratch);
  for (uint32_t k = 0; k < span.n; k++) {
    it[k] = p->iter.v[span.at + k];
    if (!w->to[k]) continue;
    ir_stmt loop = w->loops.v[k];
    ir_expr extent = w->to[k];
    ir_var v = longer(p, it[k].var, extent);
    ir_var l = longer(p, ir_st(p, loop)->var, extent);
    p->var.v[l].owner = loop;
    ir_st(p, loop)->var = l;
    ir_st(p, loop)->extent = extent;
    ir_subst_var(&sub, it[k].var, ir_ref(p, v));
    it[k] = (ir_iter){v, it[k].kind, it[k].lo, extent, ir_ref(p, l)};
  }
  ir_block_set_iters(p, w->block, span.n, it);
  ir_subst_stmt(&sub, w->block);
}

static void use_copies(work *w) {
  sch_state *s = w->s;
  ir_program *p = s->p;
  ir_subst sub;
  ir_subst_init(&sub, p, s->scratch);
  sub.load = padded_load;
  sub.ud = w;
  ir_subst_stmt(&sub, ir_st(p, w->block)->body);
  redirect_store(w, &w->def);
  if (sch_has_init(p, w->block)) {
    ir_subst_stmt(&sub, ir_st(p, w->block)->alt);
    redirect_store(w, &w->init);
  }
}

static bool einsum_check(work *w, sch_ints padding) {
  return sch_check_alone(w->s, w->scope, w->block) &&
         check_numbers(w, padding) && einsum_check_loops(w) &&
         find_extents(w, padding) &&
         sch_check_movable(w->s, w->scope, w->block) && find_body(w) &&
         check_accesses(w) && check_neutral(w) && check_sizes(w);
}

static bool pad_einsum_rewrite(sch_state *s, void *ud) {
  const args *a = ud;
  ir_program *p = s->p;
  work w = {.s = s, .block = a->block, .scope = ir_scope_of(p, a->block)};
  if (!einsum_check(&w, a->padding)) return false;
  if (!pads_any(&w)) return true;
  ir_stmt top = w.loops.v[0], next = ir_st(p, top)->next;
  make_buffers(&w);
  for (uint32_t i = 0; i < w.nop; i++) {
    const operand *o = &w.op[i];
    tess_dtype t = p->buf.v[o->buf].dtype;
    ir_expr fill = w.fill[i] ? w.fill[i] : identity(p, IR_ADD, t);
    if (o->made) make_copy(&w, o, fill, i == 0, i ? top : next);
  }
  use_copies(&w);
  pad_einsum_grow(&w);
  sch_refresh_regions(s, w.block);
  p->edits++;
  return true;
}

static bool pad_einsum_apply(sch_state *s, args *a) {
  return sch_transaction(s, pad_einsum_rewrite, a, a->block);
}
