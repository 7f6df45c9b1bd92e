/* SPDX-License-Identifier: Apache-2.0
 * The fused loop of a rolling update.
 *
 *   m_run = least; s = 0             before the loop
 *   m = max(m, ..)                   the first loop's body
 *   s = s * exp(m_run - m)           rescale: s is as it would be with m
 *   m_run = m                        advance
 *   s = s + exp(x - m_run)           the second loop's body */
#include "schedule/rewrite/rolling_update.h"
#include "ir/query.h"

static const sch_extreme *extreme_of(const sch_rolling *w, ir_buf buf) {
  for (uint32_t i = 0; i < w->nextreme; i++)
    if (w->extreme[i].buf == buf) return &w->extreme[i];
  return NULL;
}

/* The extreme as it is by now, made finite: infinities have no difference. */
static ir_expr finite_extreme(ir_program *p, const sch_extreme *x, uint32_t n,
                              const ir_expr *idx) {
  ir_expr e = ir_load(p, x->buf, n, idx);
  if (!x->clamped) return e;
  tess_dtype t = p->buf.v[x->buf].dtype;
  bool is_max = ir_at(p, x->least)->f < 0;
  ir_expr none = ir_binary(p, IR_EQ, e, ir_extreme(p, t, !is_max));
  return ir_select(p, none, x->least, e);
}

static ir_expr load_run(ir_subst *m, ir_buf buf, uint32_t n,
                        const ir_expr *idx) {
  const sch_extreme *x = extreme_of(m->ud, buf);
  return x ? ir_load(m->p, x->run, n, idx) : 0;
}

static ir_expr load_now(ir_subst *m, ir_buf buf, uint32_t n,
                        const ir_expr *idx) {
  const sch_extreme *x = extreme_of(m->ud, buf);
  return x ? finite_extreme(m->p, x, n, idx) : 0;
}

static ir_expr *mapped_index(const sch_rolling *w, ir_subst *m, ir_span idx) {
  ir_expr *out = arena_array(w->s->scratch, ir_expr, idx.n);
  for (uint32_t d = 0; d < idx.n; d++)
    out[d] = ir_subst_expr(m, w->s->p->arg.v[idx.at + d]);
  return out;
}

/* The block runs in each iteration of the first loop, in order. */
static void order_by_loop(const sch_rolling *w, ir_stmt block) {
  ir_program *p = w->s->p;
  const ir_stmt_rec r = *ir_st(p, w->first);
  ir_span it = ir_blk(p, block)->iters;
  ir_iter *made = arena_array(w->s->scratch, ir_iter, it.n + 1);
  memcpy(made, p->iter.v + it.at, it.n * sizeof *made);
  ir_var_rec of = p->var.v[r.var];
  ir_var v = ir_var_new(p, IR_VAR_ITER, of.name, of.dtype, of.lo, of.hi);
  p->var.v[v].form = of.form;
  p->var.v[v].part = of.part;
  memcpy(p->var.v[v].from, of.from, sizeof of.from);
  made[it.n] = (ir_iter){v, IR_OPAQUE, r.lo, r.extent, ir_ref(p, r.var)};
  ir_block_set_iters(p, block, it.n + 1, made);
}

static void append_step(const sch_rolling *w, ir_stmt nest, ir_stmt block,
                        ir_stmt store) {
  ir_append(w->s->p, block, store);
  order_by_loop(w, block);
  ir_block_find_regions(w->s->p, w->s->scratch, block);
  ir_append(w->s->p, w->first, nest);
}

static void rolling_new_buffer(const sch_rolling *w, sch_extreme *x) {
  ir_program *p = w->s->p;
  const ir_buf_rec of = p->buf.v[x->buf];
  ir_scope scope =
      of.role == IR_ROLE_LOCAL ? (ir_scope)of.scope : IR_SCOPE_GLOBAL;
  ir_expr *shape = arena_array(w->s->scratch, ir_expr, of.shape.n);
  memcpy(shape, p->arg.v + of.shape.at, of.shape.n * sizeof *shape);
  x->run = ir_buf_new(p, ir_name_cat(p, of.name, "_run"), of.dtype, of.shape.n,
                      shape, scope, IR_ROLE_LOCAL);
  ir_block_add_alloc(p, ir_scope_of(p, x->block), x->run);
}

static void begin_run(const sch_rolling *w, const sch_extreme *x) {
  ir_program *p = w->s->p;
  ir_subst m;
  ir_stmt block, nest = sch_init_nest(&x->nest, "_run_init", &m, &block);
  ir_expr *idx = mapped_index(w, &m, x->idx);
  ir_append(p, block, ir_store_new(p, x->run, x->idx.n, idx, x->least));
  ir_block_find_regions(p, w->s->scratch, block);
  ir_insert_before(p, w->first, nest);
}

static void advance_run(const sch_rolling *w, const sch_extreme *x) {
  ir_program *p = w->s->p;
  ir_subst m;
  ir_stmt block, nest = sch_init_nest(&x->nest, "_run", &m, &block);
  ir_expr *idx = mapped_index(w, &m, x->idx);
  ir_expr now = finite_extreme(p, x, x->idx.n, idx);
  append_step(w, nest, block, ir_store_new(p, x->run, x->idx.n, idx, now));
}

static void rescale(const sch_rolling *w, const sch_rolled *r) {
  ir_program *p = w->s->p;
  ir_subst m, now, old;
  ir_stmt block, nest = sch_init_nest(&r->nest, "_rescale", &m, &block);
  ir_expr *idx = mapped_index(w, &m, r->idx);
  ir_expr h = ir_subst_expr(&m, r->exponent);
  ir_subst_init(&now, p, w->s->scratch);
  ir_subst_init(&old, p, w->s->scratch);
  now.load = load_now;
  old.load = load_run;
  now.ud = old.ud = (void *)(uintptr_t)w;
  ir_expr by = ir_sub(p, ir_subst_expr(&now, h), ir_subst_expr(&old, h));
  by = ir_call(p, IR_FN_EXP, ir_at(p, by)->dtype, 1, &by);
  ir_expr sum = ir_load(p, r->buf, r->idx.n, idx);
  append_step(w, nest, block,
              ir_store_new(p, r->buf, r->idx.n, idx, ir_mul(p, sum, by)));
}

/* The sum starts before the loop. */
static void hoist_start(const sch_rolling *w, const sch_rolled *r) {
  ir_program *p = w->s->p;
  ir_stmt init, nest = sch_init_take(&r->nest, &init);
  ir_insert_before(p, w->first, nest);
  sch_copy_annotations(p, r->block, init);
  ir_str name = ir_name_cat(p, ir_blk(p, r->block)->name, "_update");
  name = ir_fresh_block_name(p, name);
  ir_blk(p, r->block)->name = name;
}

/* Blocks of the second loop read what the extremes are by now. */
static void read_runs(const sch_rolling *w) {
  ir_program *p = w->s->p;
  ir_subst m;
  ir_subst_init(&m, p, w->s->scratch);
  m.load = load_run;
  m.ud = (void *)(uintptr_t)w;
  for (ir_stmt b = w->second; (b = sch_next_child(p, b, w->second));) {
    bool reads = false;
    for (uint32_t i = 0; i < w->nextreme; i++)
      reads |= sch_reads_buf(p, b, w->extreme[i].buf);
    if (!reads) continue;
    for (ir_stmt c = ir_st(p, b)->body; c; c = ir_st(p, c)->next)
      ir_subst_stmt(&m, c);
    ir_block_find_regions(p, w->s->scratch, b);
  }
}

void sch_rolling_make(sch_rolling *w) {
  ir_program *p = w->s->p;
  for (uint32_t i = 0; i < w->nextreme; i++) {
    rolling_new_buffer(w, &w->extreme[i]);
    begin_run(w, &w->extreme[i]);
  }
  for (uint32_t i = 0; i < w->nsum; i++) {
    rescale(w, &w->sum[i]);
    hoist_start(w, &w->sum[i]);
  }
  for (uint32_t i = 0; i < w->nextreme; i++) advance_run(w, &w->extreme[i]);
  read_runs(w);
  ir_move_body(p, w->second, w->first);
  ir_detach(p, w->second);
  ir_kill(p, w->second);
}
