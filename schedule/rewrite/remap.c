/* SPDX-License-Identifier: Apache-2.0
 * Copies in another layout; see remap.h.
 *
 * As with other copies (cache.h), one that runs after every write and copies
 * all that was written mirrors the buffer, at every read.  Here an element of
 * the new buffer corresponds to the block instances that access one element of
 * the old one, so what is to be copied is determined by these. */
#include "schedule/rewrite/remap.h"
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/analysis/inline.h"
#include "schedule/analysis/layout.h"
#include "schedule/dependence/polyhedra.h"

/* ---- how the block accesses the buffer ---------------------------------- */

typedef struct place {
  ir_buf buf;
  uint32_t n;
  ir_expr *idx;
  bool loaded, stored, differ;
} place;

static void note_place(place *f, const ir_expr *idx) {
  size_t bytes = f->n * sizeof *idx;
  if ((f->loaded || f->stored) && memcmp(f->idx, idx, bytes)) f->differ = true;
  memcpy(f->idx, idx, bytes);
}

static void remap_note_load(const ir_program *p, ir_expr e, void *ud) {
  place *f = ud;
  const ir_node *x = ir_at(p, e);
  if (x->op != IR_LOAD || x->a != f->buf) return;
  note_place(f, p->arg.v + x->b);
  f->differ |= x->c != 0;
  f->loaded = true;
}

static void note_expr(sch_state *s, place *f, ir_expr e) {
  if (e && ir_at(s->p, e)->has_load)
    ir_visit(s->p, s->scratch, e, remap_note_load, f);
}

static void note_stmt(sch_state *s, place *f, ir_stmt st) {
  const ir_program *p = s->p;
  const ir_stmt_rec r = *ir_st(p, st);
  switch ((ir_kind)r.kind) {
  case IR_LOOP:
    note_expr(s, f, r.lo);
    note_expr(s, f, r.extent);
    break;
  case IR_STORE:
    for (uint32_t i = 0; i < r.idx.n; i++)
      note_expr(s, f, p->arg.v[r.idx.at + i]);
    note_expr(s, f, r.value);
    note_expr(s, f, r.mask);
    if (r.buf != f->buf) break;
    note_place(f, p->arg.v + r.idx.at);
    f->differ |= r.mask != 0;
    f->stored = true;
    break;
  case IR_IF: note_expr(s, f, r.cond); break;
  case IR_LET: note_expr(s, f, r.let_value); break;
  case IR_EVALUATE: note_expr(s, f, r.eval); break;
  default: break;
  }
}

/* Whenever the block runs, so does the statement. */
static bool is_certain(const ir_program *p, ir_stmt block, ir_stmt st) {
  while ((st = ir_st(p, st)->parent) != block)
    if (ir_st(p, st)->kind == IR_IF ||
        (ir_is_loop(p, st) && ir_at(p, ir_st(p, st)->extent)->lo < 1))
      return false;
  return true;
}

/* e is index arithmetic over the block's iters, and nothing bound inside. */
static bool is_over_iters(const ir_program *p, ir_stmt block, ir_expr e) {
  if (!ir_at(p, e)->is_index || ir_at(p, e)->has_load) return false;
  for (ir_stmt q = block; (q = ir_next(p, q, block));)
    if ((ir_is_loop(p, q) && ir_uses_var(p, e, ir_st(p, q)->var)) ||
        (ir_st(p, q)->kind == IR_LET &&
         ir_uses_var(p, e, ir_st(p, q)->let_var)))
      return false;
  return true;
}

static bool find_place(sch_state *s, sch_remap *m) {
  const ir_program *p = s->p;
  ir_buf buf = m->st.buf;
  m->idx = arena_array(s->scratch, ir_expr, m->st.ndim);
  place f = {.buf = buf, .n = m->st.ndim, .idx = m->idx};
  for (ir_stmt q = m->block; (q = ir_next(p, q, m->block));) {
    if (ir_is_block(p, q))
      return sch_refuse(s, SCH_R_NOT_LEAF, .s = {m->block, q});
    note_stmt(s, &f, q);
    if (m->write && ir_st(p, q)->kind == IR_STORE && ir_st(p, q)->buf == buf &&
        !is_certain(p, m->block, q))
      return sch_refuse(s, SCH_R_ACCESS_CONDITIONAL, .s = {m->block},
                        .buf = buf);
  }
  if (!m->write && f.stored)
    return sch_refuse(s, SCH_R_IN_PLACE, .s = {m->block}, .buf = buf);
  bool ok = (m->write ? f.stored : f.loaded) && !f.differ;
  for (uint32_t d = 0; d < m->st.ndim && ok; d++)
    ok = is_over_iters(p, m->block, m->idx[d]);
  if (ok) return true;
  return sch_refuse(s, SCH_R_ACCESS_DIFFERS, .s = {m->block}, .buf = buf);
}

static bool uses_iter(const ir_program *p, uint32_t n, const ir_expr *e,
                      ir_var v) {
  for (uint32_t d = 0; d < n; d++)
    if (ir_uses_var(p, e[d], v)) return true;
  return false;
}

static const ir_iter *nth_iter(const ir_program *p, ir_stmt block, uint32_t k) {
  return &p->iter.v[ir_blk(p, block)->iters.at + k];
}

static ir_walk look_for_other(const ir_program *p, ir_expr e, void *ud) {
  (void)ud;
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_LOAD || n->op == IR_CALL) return IR_WALK_FOUND;
  if (n->op == IR_VAR && p->var.v[n->a].kind != IR_VAR_SIZE)
    return IR_WALK_FOUND;
  return IR_WALK_DESCEND;
}

/* From a constant on, and as long wherever the block runs: a constant, or at
 * least 1 and made of sizes. */
static bool remap_is_fixed(const ir_program *p, const ir_iter *it) {
  const ir_node *n = ir_at(p, it->extent);
  return ir_at(p, it->lo)->op == IR_INT &&
         (n->op == IR_INT ||
          (n->lo >= 1 && !ir_any(p, it->extent, look_for_other, NULL)));
}

static bool find_used(sch_state *s, sch_remap *m) {
  const ir_program *p = s->p;
  uint32_t n = ir_blk(p, m->block)->iters.n;
  m->used = arena_array(s->scratch, uint32_t, n);
  for (uint32_t k = 0; k < n; k++) {
    const ir_iter *it = nth_iter(p, m->block, k);
    if (!uses_iter(p, m->st.ndim, m->idx, it->var)) continue;
    if (m->write && it->kind != IR_SPATIAL)
      return sch_refuse(s, SCH_R_PLACE_REDUCED, .s = {m->block});
    m->sized |= ir_at(p, it->extent)->op != IR_INT;
    if (!remap_is_fixed(p, it))
      return sch_refuse(s, SCH_R_NOT_STATIC, .s = {m->block});
    m->used[m->nused++] = k;
  }
  return true;
}

bool sch_remap_init(sch_state *s, sch_remap *m, ir_stmt block, ir_buf buf,
                    bool write, const char *storage) {
  const ir_program *p = s->p;
  *m = (sch_remap){.block = block, .write = write};
  if (!storage) storage = ir_scope_text((ir_scope)p->buf.v[buf].scope);
  return sch_stage_init(s, &m->st, block, buf, storage) && find_place(s, m) &&
         (!write || sch_check_movable(s, m->st.scope, block)) &&
         find_used(s, m);
}

/* ---- the new buffer ----------------------------------------------------- */

static void set_dims(sch_state *s, sch_remap *m, uint32_t n) {
  m->n = n ? n : 1;
  m->to = arena_array(s->scratch, ir_expr, 2 * m->n);
  m->shape = m->to + m->n;
  m->to[0] = ir_index(s->p, 0);
  m->shape[0] = ir_index(s->p, 1);
}

void sch_remap_by_iters(sch_state *s, sch_remap *m) {
  ir_program *p = s->p;
  set_dims(s, m, m->nused);
  for (uint32_t i = 0; i < m->nused; i++) {
    const ir_iter it = *nth_iter(p, m->block, m->used[i]);
    m->to[i] = ir_sub(p, ir_ref(p, it.var), it.lo);
    m->shape[i] = it.extent;
  }
}

/* The map's results over the block's iters; those of one iteration that the
 * place does not show are that one value. */
static ir_expr *map_iters(sch_state *s, const sch_remap *m,
                          const sch_map *map) {
  ir_program *p = s->p;
  ir_expr *at = arena_array(s->scratch, ir_expr, map->nin + map->nout);
  ir_expr *out = at + map->nin;
  for (uint32_t k = 0; k < map->nin; k++) {
    const ir_iter *it = nth_iter(p, m->block, k);
    bool used = uses_iter(p, m->st.ndim, m->idx, it->var);
    at[k] =
        !used && ir_is_const(p, it->extent, 1) ? it->lo : ir_ref(p, it->var);
  }
  for (uint32_t k = 0; k < map->nout; k++)
    out[k] = sch_replace_in(s, map->out[k], map->nin, map->in, at);
  return out;
}

static bool same_iters(const ir_program *p, const sch_remap *m) {
  ir_span it = ir_blk(p, m->block)->iters;
  for (uint32_t k = it.at; k < it.at + it.n; k++) {
    ir_var v = p->iter.v[k].var;
    if (!ir_is_const(p, p->iter.v[k].extent, 1) &&
        uses_iter(p, m->n, m->to, v) != uses_iter(p, m->st.ndim, m->idx, v))
      return false;
  }
  return true;
}

static bool set_sized(sch_state *s, sch_remap *m) {
  ir_expr *lo = arena_array(s->scratch, ir_expr, 2 * m->nused);
  ir_expr *extent = lo + m->nused;
  ir_var *var = arena_array(s->scratch, ir_var, m->nused);
  int64_t size = 1;
  for (uint32_t i = 0; i < m->nused; i++) {
    const ir_iter it = *nth_iter(s->p, m->block, m->used[i]);
    var[i] = it.var;
    lo[i] = it.lo;
    extent[i] = it.extent;
  }
  for (uint32_t k = 0; k < m->n; k++)
    if (!sch_map_extent(s, k, m->to[k], m->nused, var, lo, extent, &size,
                        &m->shape[k]))
      return false;
  return true;
}

static bool set_shape(sch_state *s, sch_remap *m) {
  ir_program *p = s->p;
  int64_t size = 1;
  if (m->sized) return set_sized(s, m);
  for (uint32_t k = 0; k < m->n; k++) {
    arith_range r = arith_bounds(p, m->to[k]);
    bool large = r.lo == INT64_MIN || r.hi >= SCH_MAX_EXTENT;
    if (!large && r.lo < 0)
      return sch_refuse(s, SCH_R_MAP_NEGATIVE, .n = {k, r.lo});
    if (large || __builtin_mul_overflow(size, r.hi + 1, &size) ||
        size > SCH_MAX_EXTENT)
      return sch_refuse(s, SCH_R_MAP_LARGE, .n = {k});
    m->shape[k] = ir_index(p, r.hi + 1);
  }
  return true;
}

/* Different used iters have different places in the new buffer. */
static bool is_injective(sch_state *s, const sch_remap *m) {
  ir_program *p = s->p;
  ir_var *var = arena_array(s->scratch, ir_var, m->nused);
  ir_var *iter = arena_array(s->scratch, ir_var, m->nused);
  ir_expr *at = arena_array(s->scratch, ir_expr, 2 * m->nused + 2 * m->n);
  ir_expr *extent = at + m->nused, *to = extent + m->nused, *zero = to + m->n;
  for (uint32_t i = 0; i < m->nused; i++) {
    const ir_iter it = *nth_iter(p, m->block, m->used[i]);
    int64_t min, max;
    ir_domain_bounds(p, ir_index(p, 0), it.extent, &min, &max);
    var[i] = ir_var_new(p, IR_VAR_LOOP, 0, IR_INDEX, min, max);
    iter[i] = it.var;
    extent[i] = it.extent;
    at[i] = ir_add(p, it.lo, ir_ref(p, var[i]));
  }
  for (uint32_t k = 0; k < m->n; k++) {
    to[k] = sch_replace_in(s, m->to[k], m->nused, iter, at);
    zero[k] = ir_index(p, 0);
  }
  return arith_map_is(p, s->scratch, ARITH_MAP_INJECTIVE, m->nused, var, extent,
                      m->n, to, zero, m->shape, 0);
}

static bool by_map(sch_state *s, sch_remap *m, const sch_map *map) {
  const ir_program *p = s->p;
  uint32_t niters = ir_blk(p, m->block)->iters.n;
  if (map->nin != niters)
    return sch_refuse(s, SCH_R_MAP_ITER_COUNT, .s = {m->block},
                      .n = {map->nin, niters});
  if (!map->nout) return sch_refuse(s, SCH_R_MAP_EMPTY);
  set_dims(s, m, map->nout);
  memcpy(m->to, map_iters(s, m, map), m->n * sizeof *m->to);
  if (!same_iters(p, m))
    return sch_refuse(s, SCH_R_MAP_ITERS, .s = {m->block}, .buf = m->st.buf);
  if (!set_shape(s, m)) return false;
  return is_injective(s, m) || sch_refuse(s, SCH_R_MAP_NOT_INJECTIVE,
                                          .s = {m->block}, .buf = m->st.buf);
}

/* ---- where it is, and what is copied -------------------------------- */

/* For a reader: after every write, the instances that read what was written;
 * what nobody in the scope writes, when it begins. */
static bool place_read(sch_state *s, sch_remap *m) {
  ir_program *p = s->p;
  sch_stage *st = &m->st;
  uint32_t n = st->ndim, niters = ir_blk(p, m->block)->iters.n;
  sch_span *all = arena_array(s->scratch, sch_span, niters);
  ir_expr *box = arena_array(s->scratch, ir_expr, 2 * n);
  ir_stmt writer;
  for (uint32_t d = 0; d < n; d++) {
    box[2 * d] = m->idx[d];
    box[2 * d + 1] = ir_index(p, 1);
  }
  ir_region r = ir_region_new(p, st->buf, box);
  for (uint32_t k = 0; k < niters; k++) all[k].extent = SCH_SPAN_WHOLE;
  if (!sch_stage_writer(s, st, &writer)) return false;
  if (writer) {
    sch_stage_place(s, st, writer, (sch_list){1, &m->block});
    if (!sch_stage_check_made(s, st, writer, (sch_list){1, &m->block}) ||
        !sch_stage_add_writes(s, st, writer))
      return false;
    sch_instances(s, m->block, r, st->box, st->box + n, false, all);
  } else {
    uint8_t role = p->buf.v[st->buf].role;
    st->above = st->scope;
    st->before = ir_st(p, st->scope)->body;
    bool made = role == IR_ROLE_LOCAL || role == IR_ROLE_OUTPUT;
    if (made && sch_chooses(s, m->block))
      return sch_refuse(s, SCH_R_REGION_NOT_WHOLE, .s = {m->block},
                        .buf = st->buf);
    if (made && !sch_stage_add(s, st, m->block, r, true)) return false;
  }
  for (uint32_t i = 0; i < m->nused; i++) m->span[i] = all[m->used[i]];
  return true;
}

/* The values that the used iters had in an iteration of `above`, where they are
 * a box, whatever the others did: by an exact look. */
static bool used_instances(sch_state *s, const sch_remap *m, ir_stmt above,
                           sch_span *old) {
  ir_program *p = s->p;
  ir_expr *part = arena_array(s->scratch, ir_expr, 4 * m->nused);
  ir_expr *box = part + 2 * m->nused, one = ir_index(p, 1), last;
  ir_view v;
  if (s->quick || !ir_view_block(p, s->scratch, above, m->block, &v))
    return false;
  for (uint32_t i = 0; i < m->nused; i++) {
    const ir_iter it = *nth_iter(p, m->block, m->used[i]);
    sch_span *to = &old[m->used[i]];
    if (!arith_relax(p, s->scratch, ir_view_expr(&v, it.bind), v.l.n, v.l.var,
                     v.l.lo, v.l.extent, &to->min, &last, NULL))
      return false;
    part[2 * i] = ir_ref(p, it.var);
    part[2 * i + 1] = one;
    box[2 * i] = to->min;
    box[2 * i + 1] = ir_add(p, ir_sub(p, last, to->min), one);
    if (!ir_const_int(p, box[2 * i + 1], &to->extent)) return false;
  }
  return poly_reaches_all(s, m->block, above, m->nused, part, box);
}

/* Some of the span lies in the iter's domain, whatever is around.  A whole
 * one is the domain. */
static bool is_some(ir_program *p, const ir_iter *it, sch_span old) {
  if (old.extent == SCH_SPAN_WHOLE) return ir_at(p, it->extent)->lo >= 1;
  ir_expr one = ir_index(p, 1);
  ir_expr last = ir_sub(p, ir_add(p, it->lo, it->extent), one);
  ir_expr old_last = ir_add(p, old.min, ir_index(p, old.extent - 1));
  return arith_prove_le(p, old.min, last) &&
         arith_prove_le(p, it->lo, old_last);
}

/* For all values that the used iters had, the others had some: those that the
 * loops gave them may all have lain outside of their domains. */
static bool had_others(ir_program *p, const sch_remap *m, const sch_span *old) {
  ir_span it = ir_blk(p, m->block)->iters;
  for (uint32_t k = 0, i = 0; k < it.n; k++) {
    bool used = i < m->nused && m->used[i] == k;
    i += used;
    const ir_iter iter = p->iter.v[it.at + k];
    if (!used && !is_some(p, &iter, old[k])) return false;
  }
  return true;
}

/* For a writer: after it, the instances that ran. */
static bool place_write(sch_state *s, sch_remap *m) {
  ir_program *p = s->p;
  sch_list none = {0, NULL};
  sch_span *old =
      arena_array(s->scratch, sch_span, ir_blk(p, m->block)->iters.n);
  sch_stage_place(s, &m->st, m->block,
                  sch_stage_readers(s, &m->st, m->block, none, false));
  if (!(sch_old_instances(s, m->block, m->st.above, old) &&
        had_others(p, m, old)) &&
      !used_instances(s, m, m->st.above, old))
    return sch_refuse(s, SCH_R_INSTANCES_UNKNOWN, .s = {m->block});
  for (uint32_t i = 0; i < m->nused; i++) m->span[i] = old[m->used[i]];
  return true;
}

bool sch_remap_place(sch_state *s, sch_remap *m) {
  m->span = arena_array(s->scratch, sch_span, m->nused);
  return m->write ? place_write(s, m) : place_read(s, m);
}

/* ---- making it ---------------------------------------------------------- */

/* a <= b, in all iterations of the nest's loops, whose lengths may be sizes. */
static bool is_le(sch_state *s, const sch_nest *nest, ir_expr a, ir_expr b) {
  ir_program *p = s->p;
  ir_expr *zero = arena_array(s->scratch, ir_expr, nest->nloops), least, most;
  if (arith_prove_le(p, a, b)) return true;
  for (uint32_t i = 0; i < nest->nloops; i++) zero[i] = ir_index(p, 0);
  return arith_relax(p, s->scratch, ir_sub(p, b, a), nest->nloops, nest->var,
                     zero, nest->extent, &least, &most, NULL) &&
         arith_bounds(p, least).lo >= 0;
}

/* The nest runs only where a <= b, in these words. */
static void keep_le(sch_state *s, sch_nest *nest, ir_expr a, ir_expr b,
                    ir_expr cond) {
  ir_program *p = s->p;
  if (ir_is_const(p, cond, 1) || arith_prove(p, s->scratch, cond, 0) ||
      is_le(s, nest, a, b))
    return;
  nest->pred = nest->pred ? ir_and(p, nest->pred, cond) : cond;
}

static void keep_order(sch_state *s, sch_nest *nest, ir_expr a, ir_expr b) {
  keep_le(s, nest, a, b, ir_binary(s->p, IR_LE, a, b));
}

/* A reader's copy stays in the buffer, and in what the last run of the writer
 * wrote, where st->box determines that. */
static void guard_source(sch_state *s, const sch_remap *m, const ir_expr *idx,
                         sch_nest *nest) {
  ir_program *p = s->p;
  const sch_stage *st = &m->st;
  for (uint32_t d = 0; d < st->ndim; d++) {
    ir_expr end = ir_dim(p, st->buf, d), last = ir_sub(p, end, ir_index(p, 1));
    keep_order(s, nest, ir_index(p, 0), idx[d]);
    keep_le(s, nest, idx[d], last, ir_binary(p, IR_LT, idx[d], end));
    if (!st->started) continue;
    keep_order(s, nest, st->box[d], idx[d]);
    keep_order(s, nest, idx[d], st->box[st->ndim + d]);
  }
}

/* The copying block, with iters like the used ones. */
static ir_stmt make_copy(sch_state *s, const sch_remap *m, ir_buf made,
                         ir_str name, ir_subst *sub) {
  ir_program *p = s->p;
  ir_iter *it = arena_array(s->scratch, ir_iter, m->nused);
  ir_expr *idx = arena_array(s->scratch, ir_expr, m->st.ndim + m->n);
  ir_expr *to = idx + m->st.ndim;
  ir_stmt copy = ir_block_new(p, name);
  for (uint32_t i = 0; i < m->nused; i++) {
    const ir_iter old = *nth_iter(p, m->block, m->used[i]);
    const ir_var_rec rec = p->var.v[old.var];
    ir_var v = ir_var_new(p, IR_VAR_ITER, sch_nth_name(p, 'v', i), rec.dtype,
                          rec.lo, rec.hi);
    it[i] = (ir_iter){v, IR_SPATIAL, old.lo, old.extent, old.lo};
    ir_subst_var(sub, old.var, ir_ref(p, v));
  }
  ir_block_set_iters(p, copy, m->nused, it);
  for (uint32_t d = 0; d < m->st.ndim; d++)
    idx[d] = ir_subst_expr(sub, m->idx[d]);
  for (uint32_t d = 0; d < m->n; d++) to[d] = ir_subst_expr(sub, m->to[d]);
  if (m->write)
    sch_copy_body(s, copy, m->st.buf, idx, made, to);
  else
    sch_copy_body(s, copy, made, to, m->st.buf, idx);
  return copy;
}

typedef struct redirect {
  const sch_remap *m;
  ir_buf made;
} redirect;

static ir_expr redirect_load(ir_subst *sub, ir_buf buf, uint32_t n,
                             const ir_expr *idx) {
  const redirect *f = sub->ud;
  (void)n, (void)idx;
  return buf == f->m->st.buf ? ir_load(sub->p, f->made, f->m->n, f->m->to) : 0;
}

static void redirect_block(sch_state *s, const sch_remap *m, ir_buf made) {
  ir_program *p = s->p;
  redirect f = {m, made};
  ir_subst sub;
  ir_subst_init(&sub, p, s->scratch);
  sub.load = redirect_load;
  sub.ud = &f;
  ir_subst_stmt(&sub, m->block);
  for (ir_stmt q = m->block; (q = ir_next(p, q, m->block));) {
    if (ir_st(p, q)->kind != IR_STORE || ir_st(p, q)->buf != m->st.buf)
      continue;
    ir_span idx = ir_arg_span(p, m->n, m->to);
    ir_st(p, q)->idx = idx;
    ir_st(p, q)->buf = made;
  }
  sch_refresh_regions(s, m->block);
}

ir_stmt sch_remap_make(sch_state *s, sch_remap *m, const char *suffix) {
  ir_program *p = s->p;
  const ir_buf_rec old = p->buf.v[m->st.buf];
  ir_str name = ir_fresh_block_name(p, ir_name_cat(p, old.name, suffix));
  ir_buf made = ir_buf_new(p, name, old.dtype, m->n, m->shape, m->st.storage,
                           IR_ROLE_LOCAL);
  ir_subst sub, bind;
  sch_nest nest;
  ir_buf_keep_range(p, made, m->st.buf);
  ir_block_add_alloc(p, m->st.scope, made);
  ir_subst_init(&sub, p, s->scratch);
  ir_stmt copy = make_copy(s, m, made, name, &sub);
  sch_spans_clip(s, copy, m->span);
  sch_nest_plan(s, copy, m->span, true, &nest);
  if (!m->write) {
    ir_expr *idx = arena_array(s->scratch, ir_expr, m->st.ndim);
    ir_subst_init(&bind, p, s->scratch);
    for (uint32_t i = 0; i < m->nused; i++)
      ir_subst_var(&bind, nth_iter(p, m->block, m->used[i])->var,
                   nest.iter[i].bind);
    for (uint32_t d = 0; d < m->st.ndim; d++)
      idx[d] = ir_subst_expr(&bind, m->idx[d]);
    guard_source(s, m, idx, &nest);
  }
  sch_nest_hang(s, copy, &nest, m->st.above, m->st.before);
  redirect_block(s, m, made);
  return copy;
}

bool sch_remap_cache(sch_state *s, ir_stmt block, sch_buffer meant, bool write,
                     const char *storage, const sch_map *map, ir_stmt *cached) {
  sch_remap m;
  ir_buf buf;
  if (!sch_find_buffer(s, block, meant, write ? SCH_WRITES : SCH_READS, NULL,
                       NULL, &buf) ||
      !sch_remap_init(s, &m, block, buf, write, storage) ||
      !by_map(s, &m, map) || !sch_remap_place(s, &m))
    return false;
  const char *suffix =
      arena_printf(s->scratch, "_%s", ir_scope_text(m.st.storage));
  *cached = sch_remap_make(s, &m, suffix);
  return true;
}
