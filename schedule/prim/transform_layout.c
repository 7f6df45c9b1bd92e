/* SPDX-License-Identifier: Apache-2.0
 * transform_layout: reindexes the layout of a buffer by an index map. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/query.h"
#include "schedule/analysis/inline.h"
#include "schedule/analysis/layout.h"
#include "schedule/analysis/move.h"

#define TRANSFORM_LAYOUT_SIG(F, S)                                            \
  F(S, IN, BLOCK, block, REQ, "a block that reads or writes the buffer")      \
  F(S, ATTR, BUFFER, buffer, REQ,                                             \
    "the buffer: {\"read\", i}, {\"write\", i} or its name")                  \
  F(S, IN, INDEX_MAP, index_map, REQ, "the new indices of an element")        \
  F(S, IN, FILL, pad_value, OPT,                                              \
    "what new elements hold: a number, or a map of the new indices")          \
  F(S, ATTR, BOOL, assume_injective_transform, DEF(0),                        \
    "no two elements collide: what is new needs no value, or, where that is " \
    "not seen, trust it")

PRIM_DEFINE(
    transform_layout, TRANSFORM_LAYOUT_SIG,
    .summary = "Lay out a buffer by a map of its indices.",
    .rewrite = "B[i, j]   ->   B[i // 4, j, i % 4]",
    .details =
        "1. The buffer is allocated in the function, or a layout-free\n"
        "   parameter that no block writes: a caller chose the layout of\n"
        "   what he gives else.\n"
        "2. It is neither matched to a part of another buffer nor is a part\n"
        "   of it matched, and its strides were not chosen.\n"
        "3. The map has a parameter for each dimension, at least one result,\n"
        "   and results from 0 on. Of a shape that is not constant the\n"
        "   results are sums of digits of the indices.\n"
        "4. The map takes no two elements to the same place. Where neither\n"
        "   arithmetic nor trying all (up to 65536) determines,\n"
        "   assume_injective_transform says so.\n"
        "5. Where the new shape holds more elements than the old there is a\n"
        "   pad value of the buffer's type, in the range that it is declared\n"
        "   to hold, and the map can be solved; or\n"
        "   assume_injective_transform is set, and it is seen that no two\n"
        "   elements collide.\n"
        "6. What a block writes of the buffer stays a box.\n"
        "7. Loops whose iterations run in parallel stay free of races.\n"
        "All accesses in the function change, and the shape: as long in each\n"
        "dimension as the greatest result. Padding is written by a block of\n"
        "its own, B_pad for a buffer B, where the buffer begins to live.\n"
        "Without a pad value nobody writes it, and nobody reads it: there is\n"
        "then no such block.\n"
        "A layout-free parameter P is read by a new block P_prepared alone,\n"
        "which makes a buffer of that name in the new layout for all others.\n"
        "As long as it is in separate loops, and nobody else reads P,\n"
        "it becomes a function that runs once, before the kernel.\n",
    .refusals = SCH_REASONS(SCH_BUFFER_REASONS, SCH_LAYOUT_REASONS,
                            SCH_R_PARAMETER_FIXED, SCH_R_INPUT_WRITTEN,
                            SCH_R_OPAQUE_ACCESS, SCH_R_BUFFER_STRIDED,
                            SCH_R_PAD_MAP, SCH_R_PAD_MISSING,
                            SCH_R_PAD_MISSING_SOME, SCH_R_PAD_RANGE,
                            SCH_R_PAD_TYPE, SCH_R_MAP_UNSOLVED,
                            SCH_R_REGION_NO_BOX, SCH_R_WOULD_RACE),
    .example = "local b = sch:get_block(\"C\")\n"
               "sch:transform_layout(b, { \"write\", 0 }, function(i, j)\n"
               "  return i // 4, j, i % 4\n"
               "end)\n");

typedef struct plan {
  struct transform_layout_args *a;
  ir_buf buf;
  sch_layout l;
  ir_buf to;        /* what is accessed then: buf, or its copy */
  bool prepares;    /* buf is a layout-free parameter */
  ir_stmt owner;    /* the block that allocates the buffer */
  uint32_t nregion; /* of all blocks, each its place and what it becomes */
  uint32_t *at;
  ir_region *region;
  ir_stmt *block;
  ir_expr *pad_at;   /* the padding's iters as expressions; NULL: none */
  ir_expr hole, pad; /* over them */
} plan;

/* ---- what is asked ------------------------------------------------------ */

/* A block that writes the buffer aligns the strides of something. */
static bool is_aligned(const ir_program *p, ir_buf buf) {
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt q = root; q; q = ir_next(p, q, root))
    if (ir_is_block(p, q) && ir_st(p, q)->anno && sch_writes_buf(p, q, buf) &&
        ir_anno_get(p, q, "buffer_dim_align"))
      return true;
  return false;
}

/* A layout-free parameter, which no block may write. */
static bool check_param(sch_state *s, ir_buf buf) {
  const ir_program *p = s->p;
  ir_stmt root = ir_entry(p)->root;
  if (!sch_check_unmatched(s, buf)) return false;
  for (ir_stmt q = root; q; q = ir_next(p, q, root))
    if (ir_is_block(p, q) && sch_writes_buf(p, q, buf))
      return sch_refuse(s, SCH_R_INPUT_WRITTEN, .s = {q}, .buf = buf);
  return true;
}

static bool relayout_check_buffer(sch_state *s, plan *f, ir_buf buf) {
  const ir_program *p = s->p;
  f->prepares = p->buf.v[buf].role == IR_ROLE_LAYOUT_FREE;
  if (!(f->prepares ? check_param(s, buf) : sch_check_allocated(s, buf)))
    return false;
  if (p->buf.v[buf].strides.n || is_aligned(p, buf))
    return sch_refuse(s, SCH_R_BUFFER_STRIDED, .buf = buf);
  f->owner = f->prepares ? ir_entry(p)->root : sch_alloc_block(p, buf);
  return true;
}

/* ---- regions ------------------------------------------------------------ */

static uint32_t count_regions(const ir_program *p, ir_span r, ir_buf buf) {
  uint32_t n = 0;
  for (uint32_t i = r.at; i < r.at + r.n; i++) n += p->region.v[i].buf == buf;
  return n;
}

static bool plan_side(sch_state *s, plan *f, ir_stmt block, ir_span r,
                      bool write) {
  for (uint32_t i = r.at; i < r.at + r.n; i++) {
    bool exact;
    ir_region old = s->p->region.v[i];
    if (old.buf != f->buf) continue;
    f->at[f->nregion] = i;
    f->block[f->nregion] = block;
    f->region[f->nregion++] = sch_layout_region(s, &f->l, block, old, &exact);
    if (write && !exact)
      return sch_refuse(s, SCH_R_REGION_NO_BOX, .s = {block}, .buf = f->buf);
  }
  return true;
}

static bool plan_regions(sch_state *s, plan *f) {
  const ir_program *p = s->p;
  ir_stmt root = ir_entry(p)->root;
  uint32_t n = 0;
  for (ir_stmt q = root; q; q = ir_next(p, q, root))
    if (ir_is_block(p, q))
      n += count_regions(p, ir_blk(p, q)->reads, f->buf) +
           count_regions(p, ir_blk(p, q)->writes, f->buf);
  f->at = arena_array(s->scratch, uint32_t, n);
  f->region = arena_array(s->scratch, ir_region, n);
  f->block = arena_array(s->scratch, ir_stmt, n);
  for (ir_stmt q = root; q; q = ir_next(p, q, root))
    if (ir_is_block(p, q) && (q != root || !f->prepares) &&
        (!plan_side(s, f, q, ir_blk(p, q)->reads, false) ||
         !plan_side(s, f, q, ir_blk(p, q)->writes, true)))
      return false;
  return true;
}

/* ---- padding ------------------------------------------------------------ */

static bool wrong_type(sch_state *s, const plan *f, const char *type) {
  return sch_refuse(s, SCH_R_PAD_TYPE, .buf = f->buf, .t = type);
}

/* The pad value at the new indices `at`. */
static bool plan_value(sch_state *s, plan *f) {
  ir_program *p = s->p;
  const sch_fill *v = &f->a->pad_value;
  tess_dtype t = p->buf.v[f->buf].dtype;
  if (v->tag == SCH_FILL_MAP) {
    if (v->map.nin != f->l.nout || v->map.nout != 1)
      return sch_refuse(s, SCH_R_PAD_MAP,
                        .n = {v->map.nin, v->map.nout, f->l.nout});
    ir_expr e =
        sch_replace_in(s, v->map.out[0], v->map.nin, v->map.in, f->pad_at);
    f->pad = ir_cast(p, t, e);
    return true;
  }
  if (ir_is_float(t)) {
    f->pad = ir_real(p, t, v->tag == SCH_FILL_INT ? (double)v->i : v->f);
    return true;
  }
  f->pad = v->tag == SCH_FILL_INT ? ir_int(p, t, v->i) : 0;
  if (!f->pad || !ir_is_const(p, f->pad, v->i))
    return wrong_type(s, f, "integer of the type");
  return true;
}

/* What is known of the buffer's integers stays so. */
static bool check_range(sch_state *s, const plan *f) {
  const ir_buf_rec *b = &s->p->buf.v[f->buf];
  const ir_node *pad = ir_at(s->p, f->pad);
  if (!(b->holds & IR_HOLDS_RANGE) ||
      (pad->lo >= b->least && pad->hi <= b->most))
    return true;
  return sch_refuse(s, SCH_R_PAD_RANGE, .buf = f->buf,
                    .n = {b->least, b->most + 1});
}

/* New elements need a value, unless the caller says that they may hold
 * anything.  That they do is no trust: no access comes to them by the map.
 * But what is not proven to be injective is not let do more. */
static bool needs_padding(const plan *f) {
  bool any = f->a->assume_injective_transform && f->l.apart;
  return f->l.holes && !(any && f->a->pad_value.tag == SCH_FILL_NONE);
}

/* The variable of iter k, over [0, extent). */
static ir_var iter_over(sch_state *s, uint32_t k, ir_expr extent) {
  ir_program *p = s->p;
  int64_t min, max;
  ir_domain_bounds(p, ir_index(p, 0), extent, &min, &max);
  ir_str name = ir_name(p, arena_printf(s->scratch, "v%u", k));
  return ir_var_new(p, IR_VAR_ITER, name, IR_INDEX, min, max);
}

static bool plan_padding(sch_state *s, plan *f) {
  ir_program *p = s->p;
  uint32_t n = f->l.nout;
  if (!needs_padding(f)) return true;
  if (f->a->pad_value.tag == SCH_FILL_NONE)
    return sch_refuse(s,
                      f->l.sized ? SCH_R_PAD_MISSING_SOME : SCH_R_PAD_MISSING,
                      .buf = f->buf, .n = {f->l.holes});
  f->pad_at = arena_array(s->scratch, ir_expr, n);
  for (uint32_t k = 0; k < n; k++)
    f->pad_at[k] = ir_ref(p, iter_over(s, k, f->l.shape[k]));
  if (!plan_value(s, f) || !check_range(s, f)) return false;
  f->hole = sch_layout_hole(s, &f->l, f->pad_at);
  return f->hole || sch_refuse(s, SCH_R_MAP_UNSOLVED, .buf = f->buf);
}

/* Loops over [0, extent) around a new block whose iters are `at` and which
 * runs where `pred` holds (0: always); what it does is to be added. */
static ir_stmt make_nest(sch_state *s, ir_str name, uint32_t n,
                         const ir_expr *extent, const ir_expr *at, ir_expr pred,
                         ir_stmt *block) {
  ir_program *p = s->p;
  ir_stmt top = *block = ir_block_new(p, ir_fresh_block_name(p, name));
  ir_iter *it = arena_array(s->scratch, ir_iter, n);
  ir_subst sub;
  ir_subst_init(&sub, p, s->scratch);
  for (uint32_t k = n; k-- > 0;) {
    ir_var v = sch_ax_var(p, k, extent[k]);
    ir_stmt loop = ir_loop_new(p, v, ir_index(p, 0), extent[k], IR_SERIAL);
    it[k] = (ir_iter){ir_at(p, at[k])->a, IR_SPATIAL, ir_index(p, 0), extent[k],
                      ir_ref(p, v)};
    ir_subst_var(&sub, it[k].var, it[k].bind);
    ir_append(p, loop, top);
    top = loop;
  }
  ir_block_set_iters(p, *block, n, it);
  if (pred) pred = ir_subst_expr(&sub, pred);
  ir_blk(p, *block)->pred = pred;
  return top;
}

/* The point `at` of a buffer as a region. */
static ir_region point(sch_state *s, ir_buf buf, uint32_t n,
                       const ir_expr *at) {
  ir_expr *box = arena_array(s->scratch, ir_expr, 2 * n);
  for (uint32_t k = 0; k < n; k++) {
    box[2 * k] = at[k];
    box[2 * k + 1] = ir_index(s->p, 1);
  }
  return ir_region_new(s->p, buf, box);
}

/* The block stores `value` at `at`; note: it converts a parameter. */
static void make_store(sch_state *s, const plan *f, ir_stmt block,
                       const ir_expr *at, ir_expr value, bool note) {
  ir_program *p = s->p;
  ir_region w = point(s, f->to, f->l.nout, at);
  ir_block_set_writes(p, block, 1, &w);
  ir_append(p, block, ir_store_new(p, f->to, f->l.nout, at, value));
  if (note)
    ir_anno_set(p, block, ir_name(p, IR_PREPARE_KEY), ir_value_int(p, 1));
}

/* Some block that writes the buffer converts a parameter. */
static bool is_prepared(const ir_program *p, ir_buf buf) {
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt q = root; q; q = ir_next(p, q, root))
    if (ir_is_block(p, q) && ir_st(p, q)->anno && sch_writes_buf(p, q, buf) &&
        ir_anno_get(p, q, IR_PREPARE_KEY))
      return true;
  return false;
}

/* A block that runs where there is a hole. */
static void make_padding(sch_state *s, const plan *f, ir_stmt lifetime) {
  ir_program *p = s->p;
  ir_str name = ir_name_cat(p, p->buf.v[f->to].name, "_pad");
  bool note = is_prepared(p, f->to);
  ir_stmt block, top = make_nest(s, name, f->l.nout, f->l.shape, f->pad_at,
                                 f->hole, &block);
  make_store(s, f, block, f->pad_at, f->pad, note);
  ir_prepend(p, lifetime, top);
}

/* A block that reads the parameter for all others. */
static void make_copy(sch_state *s, const plan *f) {
  ir_program *p = s->p;
  uint32_t n = f->l.ndim;
  ir_expr *old = arena_array(s->scratch, ir_expr, n + f->l.nout);
  ir_expr *at = old + n;
  for (uint32_t d = 0; d < n; d++)
    old[d] = ir_ref(p, iter_over(s, d, f->l.extent[d]));
  sch_layout_index(s, &f->l, old, at);
  ir_stmt block,
      top = make_nest(s, p->buf.v[f->to].name, n, f->l.extent, old, 0, &block);
  ir_region r = point(s, f->buf, n, old);
  ir_block_set_reads(p, block, 1, &r);
  make_store(s, f, block, at, ir_load(p, f->buf, n, old), true);
  ir_prepend(p, f->owner, top);
}

/* ---- the change --------------------------------------------------------- */

typedef struct access {
  sch_state *s;
  ir_buf buf, to;
  const sch_layout *l;
} access;

static ir_expr new_load(ir_subst *sub, ir_buf buf, uint32_t n,
                        const ir_expr *idx) {
  const access *f = sub->ud;
  (void)n;
  if (buf != f->buf) return 0;
  ir_expr *at = arena_array(sub->scratch, ir_expr, f->l->nout);
  sch_layout_index(f->s, f->l, idx, at);
  return ir_load(sub->p, f->to, f->l->nout, at);
}

static void change_store(access *f, ir_stmt st) {
  ir_program *p = f->s->p;
  ir_expr *at = arena_array(f->s->scratch, ir_expr, f->l->nout + f->l->ndim);
  ir_expr *old = at + f->l->nout;
  memcpy(old, p->arg.v + ir_st(p, st)->idx.at, f->l->ndim * sizeof *old);
  sch_layout_index(f->s, f->l, old, at);
  ir_span idx = ir_arg_span(p, f->l->nout, at);
  ir_st(p, st)->idx = idx;
}

/* An inner block may declare more than the image of what it declared, for
 * want of a box: those around it declare that, too. */
static void widen_around(sch_state *s, const plan *f) {
  for (uint32_t i = 0; i < f->nregion; i++) {
    ir_stmt scope = ir_scope_of(s->p, f->block[i]);
    if (scope) sch_widen_scope(s, scope);
  }
}

/* The buffer in its new shape, or another one for what the caller gives. */
static void make_target(sch_state *s, plan *f) {
  ir_program *p = s->p;
  if (f->prepares) {
    const ir_buf_rec old = p->buf.v[f->buf];
    ir_str name = ir_fresh_block_name(p, ir_name_cat(p, old.name, "_prepared"));
    f->to = ir_buf_new(p, name, old.dtype, f->l.nout, f->l.shape,
                       IR_SCOPE_GLOBAL, IR_ROLE_LOCAL);
    ir_buf_keep_range(p, f->to, f->buf);
    ir_block_add_alloc(p, f->owner, f->to);
    return;
  }
  ir_span shape = ir_arg_span(p, f->l.nout, f->l.shape);
  f->to = f->buf;
  p->buf.v[f->buf].shape = shape;
}

static void change_accesses(sch_state *s, const plan *f) {
  ir_program *p = s->p;
  access x = {s, f->buf, f->to, &f->l};
  ir_subst sub;
  ir_stmt root = ir_entry(p)->root;
  for (uint32_t i = 0; i < f->nregion; i++) {
    f->region[i].buf = f->to;
    p->region.v[f->at[i]] = f->region[i];
  }
  ir_subst_init(&sub, p, s->scratch);
  sub.load = new_load;
  sub.ud = &x;
  for (ir_stmt q = root; q; q = ir_next(p, q, root)) {
    ir_subst_head(&sub, q, true);
    if (ir_st(p, q)->kind == IR_STORE && ir_st(p, q)->buf == f->buf)
      change_store(&x, q);
  }
}

/* Padding begins where the buffer begins to live: in the innermost loop, or
 * the block that allocates it, around its lifetime scope. */
static ir_stmt padding_place(sch_state *s, const plan *f) {
  const ir_program *p = s->p;
  if (f->prepares) return f->owner;
  ir_stmt lifetime = ir_lifetime_scope(s->p, s->scratch, f->buf);
  if (!lifetime ||
      (lifetime != f->owner && ir_scope_of(p, lifetime) != f->owner))
    return f->owner;
  while (lifetime != f->owner && !ir_is_loop(p, lifetime))
    lifetime = ir_st(p, lifetime)->parent;
  return lifetime;
}

static bool relayout_commit(sch_state *s, plan *f) {
  struct transform_layout_args *a = f->a;
  if (!sch_find_buffer(s, a->block, a->buffer, SCH_READS | SCH_WRITES, NULL,
                       NULL, &f->buf) ||
      !relayout_check_buffer(s, f, f->buf))
    return false;
  uint32_t n = ir_ndim(s->p, f->buf);
  ir_expr *extent = arena_array(s->scratch, ir_expr, n);
  for (uint32_t d = 0; d < n; d++) extent[d] = ir_dim(s->p, f->buf, d);
  if (!sch_layout_init(s, n, extent, &a->index_map,
                       a->assume_injective_transform, &f->l) ||
      !plan_padding(s, f) || !plan_regions(s, f))
    return false;
  ir_stmt lifetime = f->hole ? padding_place(s, f) : 0;
  make_target(s, f);
  change_accesses(s, f);
  widen_around(s, f);
  if (f->prepares) make_copy(s, f);
  if (lifetime) make_padding(s, f, lifetime);
  s->p->edits++;
  return true;
}

static bool transform_layout_rewrite(sch_state *s, void *ud) {
  plan f = {.a = ud};
  return relayout_commit(s, &f);
}

static bool transform_layout_apply(sch_state *s,
                                   struct transform_layout_args *a) {
  return sch_transaction(s, transform_layout_rewrite, a, a->block);
}
