/* SPDX-License-Identifier: Apache-2.0
 * pad_einsum: pads the iters of an einsum to multiples, with neutral elements.
 */
#include "ir/expr.h"
#include "schedule/analysis/move.h"
#include "schedule/rewrite/einsum.h"

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
        "   spatial. The copy has the elements that they reach; where they\n"
        "   leave out others than by a common step, as h * 3 + kh * 2 does\n"
        "   and h * 2 + kh * 2 does not, it has these, too, and the buffer is\n"
        "   an input, or one block before writes all of it. All that are\n"
        "   padded and spatial determine where the result goes, and none\n"
        "   that is reduced.\n"
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
    .refusals = SCH_REASONS(SCH_EINSUM_REASONS, SCH_R_BLOCK_IS_ROOT,
                            SCH_R_BLOCK_NOT_COMPLETE, SCH_R_INIT_OF_SCOPE,
                            SCH_R_OTHER_STATEMENT, SCH_R_PAD_RANGE,
                            SCH_R_PLACE_NOT_PLAIN, SCH_R_WOULD_RACE),
    .example = "local c = sch:get_block(\"C\")\n"
               "sch:pad_einsum(c, { 48, 5, 7 })\n");

typedef struct pad_einsum_args args;

/* ---- copies ------------------------------------------------------------- */

/* The shape of the padded copy; false: too large. */
static bool find_shape(const einsum *w, const einsum_operand *o,
                       ir_expr *shape) {
  ir_program *p = w->s->p;
  int64_t size = 1, extent;
  for (uint32_t d = 0; d < o->n; d++) {
    uint32_t k = sch_einsum_iter_of(w, o->idx[d]);
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

static bool check_sizes(const einsum *w) {
  ir_expr shape[EINSUM_DIMS];
  for (uint32_t i = 0; i < w->nop; i++)
    if (w->op[i].padded && !find_shape(w, &w->op[i], shape))
      return sch_refuse(w->s, SCH_R_EXTENT_LARGE, .s = {w->block});
  return true;
}

/* What is computed of padding need not be what the result is declared to
 * hold. */
static bool check_result(const einsum *w) {
  const ir_buf_rec *b = &w->s->p->buf.v[w->op[0].buf];
  if (!w->op[0].padded || !(b->holds & IR_HOLDS_RANGE)) return true;
  return sch_refuse(w->s, SCH_R_PAD_RANGE, .buf = w->op[0].buf,
                    .n = {b->least, b->most + 1});
}

static void make_buffers(einsum *w) {
  sch_state *s = w->s;
  ir_program *p = s->p;
  for (uint32_t i = 0; i < w->nop; i++) {
    einsum_operand *o = &w->op[i];
    ir_expr shape[EINSUM_DIMS];
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
static void copied_range(const einsum *w, const einsum_operand *o, uint32_t d,
                         ir_expr *lo, ir_expr *old, ir_expr *padded) {
  ir_program *p = w->s->p;
  uint32_t k = sch_einsum_iter_of(w, o->idx[d]);
  if (k < w->loops.n) {
    *lo = einsum_iter(w, k).lo;
    *old = einsum_iter(w, k).extent;
    *padded = w->to[k] ? w->to[k] : *old;
    return;
  }
  const sch_window *window = &o->window[d];
  *lo = window->old ? ir_index(p, 0) : o->idx[d];
  *old = ir_index(p, window->old ? window->old : 1);
  *padded = window->old ? ir_index(p, window->now) : *old;
}

/* A block that copies the einsum_operand to its padded copy, or, `back`, the
 * part that is no padding from there. */
static void make_copy(einsum *w, const einsum_operand *o, ir_expr fill,
                      bool back, ir_stmt before) {
  sch_state *s = w->s;
  ir_program *p = s->p;
  ir_iter it[EINSUM_DIMS];
  sch_span span[EINSUM_DIMS];
  ir_expr at[EINSUM_DIMS], read_at[EINSUM_DIMS], cond = 0;
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
  sch_nest_hang(s, copy, &nest, ir_st(p, w->loops.v[0])->parent, before);
}

/* ---- the block ---------------------------------------------------------- */

/* The element of the padded copy, which has only those that steps reach. */
static ir_expr element_of_copy(ir_program *p, const einsum_operand *o) {
  ir_expr at[EINSUM_DIMS];
  for (uint32_t d = 0; d < o->n; d++) {
    at[d] = o->idx[d];
    if (o->window[d].step > 1)
      at[d] = ir_binary(p, IR_DIV, at[d], ir_index(p, o->window[d].step));
  }
  return ir_load(p, o->made, o->n, at);
}

static ir_expr padded_load(ir_subst *sub, ir_buf buf, uint32_t n,
                           const ir_expr *idx) {
  const einsum *w = sub->ud;
  for (uint32_t i = 0; i < w->nop; i++)
    if (w->op[i].made && w->op[i].buf == buf &&
        !memcmp(w->op[i].idx, idx, n * sizeof *idx))
      return element_of_copy(sub->p, &w->op[i]);
  return 0;
}

static void redirect_store(const einsum *w, const sch_def *def) {
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

static void pad_einsum_grow(einsum *w) {
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

static void use_copies(einsum *w) {
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

static bool einsum_check(einsum *w, sch_ints padding) {
  return sch_check_alone(w->s, w->scope, w->block) &&
         sch_einsum_find(w, padding) && sch_einsum_find_fill(w) &&
         check_sizes(w) && check_result(w);
}

static bool pad_einsum_rewrite(sch_state *s, void *ud) {
  const args *a = ud;
  ir_program *p = s->p;
  einsum w = {.s = s, .block = a->block, .scope = ir_scope_of(p, a->block)};
  if (!einsum_check(&w, a->padding)) return false;
  if (!einsum_pads_any(&w)) return true;
  ir_stmt top = w.loops.v[0], next = ir_st(p, top)->next;
  make_buffers(&w);
  for (uint32_t i = 0; i < w.nop; i++) {
    const einsum_operand *o = &w.op[i];
    tess_dtype t = p->buf.v[o->buf].dtype;
    ir_expr fill = w.fill[i] ? w.fill[i] : sch_einsum_identity(p, IR_ADD, t);
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
