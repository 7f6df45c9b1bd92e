/* SPDX-License-Identifier: Apache-2.0
 * rfactor: the block of partial results and the one that combines them. */
#include "schedule/rewrite/rfactor.h"
#include "ir/edit.h"
#include "ir/query.h"

/* ---- the partial results ------------------------------------------------ */

/* idx with `at` put in at the axis. */
static void with_axis(const sch_rfactor *w, uint32_t n, const ir_expr *idx,
                      ir_expr at, ir_expr *out) {
  for (uint32_t i = 0; i <= n; i++)
    out[i] = i < w->axis ? idx[i] : i == w->axis ? at : idx[i - 1];
}

static void make_buffers(sch_rfactor *w) {
  ir_program *p = w->s->p;
  w->part = arena_array(w->s->scratch, ir_buf, w->nout);
  for (uint32_t k = 0; k < w->nout; k++) {
    const ir_buf_rec of = p->buf.v[ir_st(p, w->store[k])->buf];
    ir_expr *shape = arena_array(w->s->scratch, ir_expr, of.shape.n + 1);
    with_axis(w, of.shape.n, p->arg.v + of.shape.at, ir_index(p, w->extent),
              shape);
    w->part[k] =
        ir_buf_new(p, ir_name_cat(p, of.name, "_rf"), of.dtype, of.shape.n + 1,
                   shape, (ir_scope)of.scope, IR_ROLE_LOCAL);
    ir_block_add_alloc(p, w->scope, w->part[k]);
  }
}

/* The buffer of partial results for a result; 0: it is none. */
static ir_buf part_of(const sch_rfactor *w, ir_buf b) {
  for (uint32_t k = 0; k < w->nout; k++)
    if (ir_st(w->s->p, w->store[k])->buf == b) return w->part[k];
  return 0;
}

static ir_expr load_part(ir_subst *m, ir_buf buf, uint32_t n,
                         const ir_expr *idx) {
  const sch_rfactor *w = m->ud;
  ir_buf part = part_of(w, buf);
  ir_expr at[32];
  if (!part || n > 31) return 0;
  with_axis(w, n, idx, ir_ref(m->p, w->rf_axis), at);
  return ir_load(m->p, part, n + 1, at);
}

/* A region of a result as one of its partial results. */
static ir_region part_region(const sch_rfactor *w, ir_subst *m, ir_region r,
                             ir_expr at) {
  ir_program *p = w->s->p;
  uint32_t n = ir_ndim(p, r.buf);
  ir_expr *min = arena_array(w->s->scratch, ir_expr, n);
  ir_expr *full = arena_array(w->s->scratch, ir_expr, n + 1);
  ir_expr *box = arena_array(w->s->scratch, ir_expr, 2 * n + 2);
  for (uint32_t i = 0; i < n; i++)
    min[i] = ir_subst_expr(m, ir_region_min(p, r, i));
  with_axis(w, n, min, at, full);
  for (uint32_t i = 0; i <= n; i++) box[2 * i] = full[i];
  for (uint32_t i = 0; i < n; i++)
    min[i] = ir_subst_expr(m, ir_region_extent(p, r, i));
  with_axis(w, n, min, ir_index(p, 1), full);
  for (uint32_t i = 0; i <= n; i++) box[2 * i + 1] = full[i];
  return ir_region_new(p, part_of(w, r.buf), box);
}

/* ---- the block of partial results --------------------------------------- */

static ir_var iter_like(ir_program *p, ir_var of, int64_t lo, int64_t hi) {
  ir_var_rec r = p->var.v[of];
  ir_var v = ir_var_new(p, IR_VAR_ITER, r.name, r.dtype, lo, hi);
  p->var.v[v].form = r.form;
  p->var.v[v].part = r.part;
  memcpy(p->var.v[v].from, r.from, sizeof r.from);
  return v;
}

static ir_var copy_iter(ir_program *p, ir_var of) {
  return iter_like(p, of, p->var.v[of].lo, p->var.v[of].hi);
}

/* An iter that follows a loop, with its name and range. */
static ir_iter loop_iter(const sch_rfactor *w, ir_stmt loop,
                         ir_iter_kind kind) {
  ir_program *p = w->s->p;
  const ir_stmt_rec r = *ir_st(p, loop);
  ir_var v = copy_iter(p, r.var);
  return (ir_iter){v, kind, r.lo, r.extent, ir_ref(p, r.var)};
}

/* Iters for the loops that go into an iter together with the factored one. */
static uint32_t bind_along(const sch_rfactor *w, ir_subst *over,
                           ir_iter *made) {
  ir_program *p = w->s->p;
  uint32_t n = 0;
  for (uint32_t k = 0; k < w->loops.n; k++) {
    ir_var u = ir_st(p, w->loops.v[k])->var;
    int64_t lo, hi;
    if (!w->along[k].bind) continue;
    made[n] = w->along[k];
    ir_domain_bounds(p, made[n].lo, made[n].extent, &lo, &hi);
    made[n].var = iter_like(p, u, lo, hi);
    ir_subst_var(over, u, ir_ref(p, made[n++].var));
  }
  return n;
}

/* The factored iter, spatial now, comes first; those of the block that do not
 * follow the loop stay in their order, and where the first one did that does,
 * come iters for the other loops in it. */
static void bind_rf(sch_rfactor *w, ir_subst *m) {
  ir_program *p = w->s->p;
  ir_span it = ir_blk(p, w->block)->iters;
  ir_var v = ir_st(p, w->loop)->var;
  ir_iter *made = arena_array(w->s->scratch, ir_iter, it.n + w->loops.n + 1);
  ir_subst over; /* loops -> their iters */
  uint32_t n = 1;
  bool split = false;
  ir_subst_init(&over, p, w->s->scratch);
  made[0] = loop_iter(w, w->loop, IR_SPATIAL);
  w->rf_axis = made[0].var;
  ir_subst_var(&over, v, ir_ref(p, w->rf_axis));
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    const ir_iter old = p->iter.v[i];
    if (ir_uses_var(p, old.bind, v)) {
      if (!split) n += bind_along(w, &over, made + n);
      split = true;
      ir_subst_var(m, old.var, ir_subst_expr(&over, old.bind));
      continue;
    }
    made[n] = old;
    made[n].var = copy_iter(p, old.var);
    ir_subst_var(m, old.var, ir_ref(p, made[n++].var));
  }
  ir_block_set_iters(p, w->rf, n, made);
}

static void init_rf(const sch_rfactor *w, ir_subst *m) {
  ir_program *p = w->s->p;
  ir_expr idx[32], at[32];
  uint32_t reducer = ir_blk(p, w->block)->reducer;
  for (uint32_t k = 0; k < w->nout; k++) {
    const ir_stmt_rec r = *ir_st(p, w->store[k]);
    for (uint32_t d = 0; d < r.idx.n; d++)
      idx[d] = ir_subst_expr(m, p->arg.v[r.idx.at + d]);
    with_axis(w, r.idx.n, idx, ir_ref(p, w->rf_axis), at);
    ir_expr identity = p->arg.v[p->reducer.v[reducer].identity.at + k];
    ir_append_alt(p, w->rf,
                  ir_store_new(p, w->part[k], r.idx.n + 1, at, identity));
  }
}

/* The old body moves over; its loads and stores of results become those of
 * partial ones. */
static void fill_rf(const sch_rfactor *w, ir_subst *m) {
  ir_program *p = w->s->p;
  ir_expr at[32];
  ir_move_body(p, w->block, w->rf);
  for (ir_stmt c = ir_st(p, w->rf)->body; c; c = ir_st(p, c)->next)
    ir_subst_stmt(m, c);
  for (ir_stmt c = ir_st(p, w->rf)->body; c;) {
    const ir_stmt_rec r = *ir_st(p, c);
    ir_buf part = r.kind == IR_STORE ? part_of(w, r.buf) : 0;
    if (part) {
      with_axis(w, r.idx.n, p->arg.v + r.idx.at, ir_ref(p, w->rf_axis), at);
      ir_span idx = ir_arg_span(p, r.idx.n + 1, at);
      ir_st(p, c)->buf = part;
      ir_st(p, c)->idx = idx;
    }
    c = r.kind == IR_LET ? r.body : r.next;
  }
}

static void regions_rf(const sch_rfactor *w, ir_subst *m) {
  ir_program *p = w->s->p;
  ir_span reads = ir_blk(p, w->block)->reads;
  ir_span writes = ir_blk(p, w->block)->writes;
  ir_region *r = arena_array(w->s->scratch, ir_region, reads.n + writes.n);
  uint32_t n = 0;
  for (uint32_t i = 0; i < reads.n; i++) {
    ir_region old = p->region.v[reads.at + i];
    if (!part_of(w, old.buf)) r[n++] = ir_subst_region(m, old);
  }
  ir_block_set_reads(p, w->rf, n, r);
  for (n = 0; n < writes.n; n++)
    r[n] = part_region(w, m, p->region.v[writes.at + n], ir_ref(p, w->rf_axis));
  ir_block_set_writes(p, w->rf, n, r);
}

/* Where nothing is left to reduce, a partial result is what would be combined
 * with the identity. */
static bool store_operands(const sch_rfactor *w, ir_subst *m) {
  ir_program *p = w->s->p;
  ir_expr *e = arena_array(w->s->scratch, ir_expr, w->nout), at[32];
  if (ir_blk(p, w->rf)->pred || ir_has_reduce_iter(p, w->rf) ||
      !sch_rfactor_operands(w, e))
    return false;
  for (ir_stmt c; (c = ir_st(p, w->block)->body);) {
    ir_detach(p, c);
    ir_kill(p, c);
  }
  for (uint32_t k = 0; k < w->nout; k++) {
    const ir_span of = ir_st(p, w->store[k])->idx;
    ir_expr idx[32];
    for (uint32_t d = 0; d < of.n; d++)
      idx[d] = ir_subst_expr(m, p->arg.v[of.at + d]);
    with_axis(w, of.n, idx, ir_ref(p, w->rf_axis), at);
    ir_append(
        p, w->rf,
        ir_store_new(p, w->part[k], of.n + 1, at, ir_subst_expr(m, e[k])));
  }
  ir_blk(p, w->rf)->reducer = 0;
  return true;
}

static void make_rf(sch_rfactor *w) {
  ir_program *p = w->s->p;
  ir_str name = ir_name_cat(p, ir_blk(p, w->block)->name, "_rf");
  w->rf = ir_block_new(p, ir_fresh_block_name(p, name));
  ir_blk(p, w->rf)->pred = ir_blk(p, w->block)->pred;
  ir_blk(p, w->rf)->reducer = ir_blk(p, w->block)->reducer;
  sch_copy_annotations(p, w->block, w->rf);
  ir_subst m;
  ir_subst_init(&m, p, w->s->scratch);
  bind_rf(w, &m);
  regions_rf(w, &m);
  if (store_operands(w, &m)) return;
  init_rf(w, &m);
  m.load = load_part;
  m.ud = w;
  fill_rf(w, &m);
}

/* ---- the block that adds them up ---------------------------------------- */

/* A loop like this one, as `m` sees its bounds; it has its variable mapped. */
static ir_stmt copy_loop(ir_program *p, ir_stmt loop, ir_subst *m) {
  const ir_stmt_rec r = *ir_st(p, loop);
  ir_var_rec of = p->var.v[r.var];
  ir_var v = ir_var_new(p, IR_VAR_LOOP, of.name, of.dtype, of.lo, of.hi);
  p->var.v[v].form = of.form;
  p->var.v[v].part = of.part;
  memcpy(p->var.v[v].from, of.from, sizeof of.from);
  ir_stmt copy =
      ir_loop_new(p, v, ir_subst_expr(m, r.lo), ir_subst_expr(m, r.extent),
                  (ir_loop_kind)r.loop_kind);
  ir_st(p, copy)->thread = r.thread;
  ir_subst_var(m, r.var, ir_ref(p, v));
  return copy;
}

/* Copies of the loops that drive spatial iters, but for those that stay, then
 * of the factored one; the others are at their start in what `m` maps. */
static ir_stmt copy_loops(const sch_rfactor *w, ir_subst *m, ir_stmt *last) {
  ir_program *p = w->s->p;
  ir_stmt first = 0;
  *last = 0;
  for (uint32_t i = w->shared; i <= w->loops.n; i++) {
    ir_stmt loop = i < w->loops.n ? w->loops.v[i] : w->loop;
    const ir_stmt_rec r = *ir_st(p, loop);
    if (i < w->loops.n && loop == w->loop) continue;
    if (w->drives[r.var] & SCH_RFACTOR_DROPPED) {
      ir_subst_var(m, r.var, ir_subst_expr(m, r.lo));
      continue;
    }
    ir_stmt copy = copy_loop(p, loop, m);
    if (*last)
      ir_append(p, *last, copy);
    else
      first = copy;
    *last = copy;
  }
  return first;
}

static ir_var bind_sum(const sch_rfactor *w, ir_subst *m, ir_stmt last) {
  ir_program *p = w->s->p;
  ir_span it = ir_blk(p, w->block)->iters;
  ir_iter *made = arena_array(w->s->scratch, ir_iter, it.n + 1);
  uint32_t n = 0;
  made[n++] = loop_iter(w, last, IR_REDUCE);
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    ir_iter old = p->iter.v[i];
    if (old.kind != IR_SPATIAL) continue;
    old.lo = ir_subst_expr(m, old.lo);
    old.extent = ir_subst_expr(m, old.extent);
    old.bind = ir_subst_expr(m, old.bind);
    made[n++] = old;
  }
  ir_expr pred = ir_blk(p, w->block)->pred;
  if (pred) {
    pred = ir_subst_expr(m, pred);
    ir_blk(p, w->block)->pred = ir_is_const(p, pred, 1) ? 0 : pred;
  }
  ir_block_set_iters(p, w->block, n, made);
  return made[0].var;
}

/* X = combine(X, X_rf), all values before the first store. */
static void fill_sum(const sch_rfactor *w, ir_var axis) {
  ir_program *p = w->s->p;
  ir_expr *lhs = arena_array(w->s->scratch, ir_expr, 3 * w->nout), at[32];
  ir_expr *rhs = lhs + w->nout, *value = rhs + w->nout;
  for (uint32_t k = 0; k < w->nout; k++) {
    const ir_stmt_rec r = *ir_st(p, w->store[k]);
    ir_expr *idx = arena_array(w->s->scratch, ir_expr, r.idx.n);
    memcpy(idx, p->arg.v + r.idx.at, r.idx.n * sizeof *idx);
    lhs[k] = ir_load(p, r.buf, r.idx.n, idx);
    with_axis(w, r.idx.n, idx, ir_ref(p, axis), at);
    rhs[k] = ir_load(p, w->part[k], r.idx.n + 1, at);
  }
  ir_reducer_apply(p, w->s->scratch, ir_blk(p, w->block)->reducer, lhs, rhs,
                   value);
  ir_stmt into = w->block;
  for (uint32_t k = 0; k < w->nout && w->nout > 1; k++) {
    const ir_node n = *ir_at(p, value[k]);
    ir_var v = ir_var_new(p, IR_VAR_LET, p->buf.v[w->part[k]].name, n.dtype,
                          n.lo, n.hi);
    ir_stmt let = ir_let_new(p, v, value[k]);
    ir_append(p, into, let);
    value[k] = ir_ref(p, v);
    into = let;
  }
  for (uint32_t k = 0; k < w->nout; k++) {
    const ir_stmt_rec r = *ir_st(p, w->store[k]);
    ir_expr *idx = arena_array(w->s->scratch, ir_expr, r.idx.n);
    memcpy(idx, p->arg.v + r.idx.at, r.idx.n * sizeof *idx);
    ir_append(p, into, ir_store_new(p, r.buf, r.idx.n, idx, value[k]));
  }
}

/* The old nest from the first loop that the block has for itself gives way to
 * `sum`, and goes before all, below copies of the loops around it. */
static void put_first(const sch_rfactor *w, ir_stmt sum) {
  ir_program *p = w->s->p;
  ir_stmt old = w->loops.v[w->shared], first = 0, last = 0;
  ir_var *var = arena_array(w->s->scratch, ir_var, w->shared);
  ir_expr *to = arena_array(w->s->scratch, ir_expr, w->shared);
  ir_subst m;
  ir_subst_init(&m, p, w->s->scratch);
  ir_replace(p, old, sum);
  for (uint32_t k = 0; k < w->shared; k++) {
    ir_stmt copy = copy_loop(p, w->loops.v[k], &m);
    var[k] = ir_st(p, w->loops.v[k])->var;
    to[k] = ir_ref(p, ir_st(p, copy)->var);
    if (last)
      ir_append(p, last, copy);
    else
      first = copy;
    last = copy;
  }
  ir_append(p, last, old);
  sch_replace_vars(w->s, first, w->shared, var, to);
  ir_insert_before(p, w->loops.v[0], first);
}

static void make_sum(const sch_rfactor *w) {
  ir_program *p = w->s->p;
  ir_subst m;
  ir_stmt last;
  ir_subst_init(&m, p, w->s->scratch);
  ir_stmt first = copy_loops(w, &m, &last);
  ir_replace(p, w->block, w->rf);
  ir_var axis = bind_sum(w, &m, last);
  fill_sum(w, axis);
  ir_block_find_regions(p, w->s->scratch, w->block);
  ir_append(p, last, w->block);
  if (w->shared)
    put_first(w, first);
  else
    ir_insert_after(p, w->loops.v[0], first);
}

void sch_rfactor_make(sch_rfactor *w) {
  make_buffers(w);
  make_rf(w);
  make_sum(w);
}
