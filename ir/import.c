/* SPDX-License-Identifier: Apache-2.0
 * Copying statements and functions between programs: marks what is used, copies
 * it in order of creation. */
#include "ir/import.h"
#include "ir/edit.h"
#include "ir/query.h"

void ir_import_init(ir_import *m, ir_program *dst, const ir_program *src,
                    arena *scratch) {
  *m = (ir_import){.dst = dst, .src = src, .scratch = scratch};
  m->node = arena_zalloc(scratch, src->node.n * sizeof *m->node);
  m->var = arena_zalloc(scratch, src->var.n * sizeof *m->var);
  m->buf = arena_zalloc(scratch, src->buf.n * sizeof *m->buf);
  m->reducer = arena_zalloc(scratch, src->reducer.n * sizeof *m->reducer);
}

/* ---- marking ------------------------------------------------------------ */

static void need_run(ir_import *m, ir_span s) {
  for (uint32_t i = 0; i < s.n; i++) m->node[m->src->arg.v[s.at + i]] = 1;
}

/* A variable is marked by its node. */
static void need_var(ir_import *m, ir_var v) { m->node[ir_ref(m->src, v)] = 1; }

void ir_import_need_buf(ir_import *m, ir_buf b) {
  const ir_buf_rec *r = &m->src->buf.v[b];
  m->buf[b] = 1;
  need_run(m, r->shape);
  need_run(m, r->strides);
  m->node[r->offset] = 1;
}

static void need_region(ir_import *m, ir_region r) {
  need_run(m, (ir_span){r.at, 2 * ir_ndim(m->src, r.buf)});
  ir_import_need_buf(m, r.buf);
}

void ir_import_need_reducer(ir_import *m, uint32_t i) {
  const ir_reducer *r = &m->src->reducer.v[i];
  if (!i) return;
  m->reducer[i] = 1;
  need_run(m, r->combine);
  need_run(m, r->identity);
  for (uint32_t k = 0; k < r->n; k++) {
    need_var(m, m->src->arg.v[r->lhs.at + k]);
    need_var(m, m->src->arg.v[r->rhs.at + k]);
  }
}

static void need_block(ir_import *m, const ir_block_rec *b) {
  const ir_program *p = m->src;
  for (uint32_t i = b->iters.at; i < b->iters.at + b->iters.n; i++) {
    const ir_iter *it = &p->iter.v[i];
    need_var(m, it->var);
    m->node[it->lo] = m->node[it->extent] = m->node[it->bind] = 1;
  }
  m->node[b->pred] = 1;
  for (uint32_t i = 0; i < b->reads.n; i++)
    need_region(m, p->region.v[b->reads.at + i]);
  for (uint32_t i = 0; i < b->writes.n; i++)
    need_region(m, p->region.v[b->writes.at + i]);
  for (uint32_t i = 0; i < b->allocs.n; i++)
    ir_import_need_buf(m, p->arg.v[b->allocs.at + i]);
  for (uint32_t i = b->matches.at; i < b->matches.at + b->matches.n; i++) {
    ir_import_need_buf(m, p->match.v[i].buf);
    need_region(m, p->match.v[i].source);
  }
  ir_import_need_reducer(m, b->reducer);
}

static void need_one(ir_import *m, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(m->src, s);
  switch ((ir_kind)r->kind) {
  case IR_LOOP:
    need_var(m, r->var);
    m->node[r->lo] = m->node[r->extent] = 1;
    break;
  case IR_BLOCK: need_block(m, ir_blk(m->src, s)); break;
  case IR_STORE:
    ir_import_need_buf(m, r->buf);
    need_run(m, r->idx);
    m->node[r->value] = m->node[r->mask] = 1;
    break;
  case IR_IF: m->node[r->cond] = 1; break;
  case IR_LET:
    need_var(m, r->let_var);
    m->node[r->let_value] = 1;
    break;
  case IR_EVALUATE: m->node[r->eval] = 1; break;
  case IR_ALLOCATE: ir_import_need_buf(m, r->alloc); break;
  case IR_BARRIER:
  case IR_DEAD: break;
  }
}

void ir_import_need(ir_import *m, ir_stmt s) {
  for (ir_stmt t = s; t; t = ir_next(m->src, t, s)) need_one(m, t);
}

void ir_import_need_func(ir_import *m, uint32_t f) {
  const ir_func *r = &m->src->func.v[f];
  ir_import_need(m, r->root);
  for (uint32_t i = 0; i < r->params.n; i++)
    ir_import_need_buf(m, m->src->arg.v[r->params.at + i]);
  for (uint32_t i = 0; i < r->sizes.n; i++)
    need_var(m, m->src->arg.v[r->sizes.at + i]);
}

/* ---- copying ------------------------------------------------------------ */

/* Marks the operands of marked nodes.  A buffer's shape may be newer than a
 * load of it, so this iterates to a fixed point. */
void ir_import_close(ir_import *m) {
  const ir_program *p = m->src;
  for (bool again = true; again;) {
    again = false;
    for (ir_expr e = p->node.n; e-- > 1;) {
      const ir_node *n = ir_at(p, e);
      const uint32_t *ops;
      uint32_t fixed[3], k = ir_operands(p, e, &ops, fixed);
      if (!m->node[e]) continue;
      for (uint32_t i = 0; i < k; i++) m->node[ops[i]] = 1;
      if (n->op == IR_LOAD && !m->buf[n->a]) {
        ir_import_need_buf(m, n->a);
        again = true;
      }
      if (n->op == IR_VAR)
        for (int i = 0; i < 2; i++)
          m->node[ir_ref(p, p->var.v[n->a].from[i])] = 1;
    }
  }
  m->node[0] = 0;
}

static ir_str map_name(ir_import *m, ir_str s) {
  return s ? ir_name(m->dst, ir_text(m->src, s)) : 0;
}

static ir_expr make_var(ir_import *m, ir_var v) {
  ir_var_rec r = m->src->var.v[v];
  ir_program *p = m->dst;
  ir_var w = ir_var_new(p, (ir_var_kind)r.kind, map_name(m, r.name), r.dtype,
                        r.lo, r.hi);
  p->var.v[w].form = r.form;
  p->var.v[w].part = r.part;
  p->var.v[w].from[0] = m->var[r.from[0]];
  p->var.v[w].from[1] = m->var[r.from[1]];
  m->var[v] = w;
  return ir_ref(p, w);
}

static ir_expr make_node(ir_import *m, ir_expr e) {
  ir_node n = *ir_at(m->src, e);
  if (n.op == IR_VAR) return make_var(m, n.a);
  const uint32_t *ops;
  uint32_t fixed[3], k = ir_operands(m->src, e, &ops, fixed);
  ir_expr *to = arena_array(m->scratch, ir_expr, k);
  for (uint32_t i = 0; i < k; i++) to[i] = m->node[ops[i]];
  if (n.op == IR_LOAD) {
    n.a = m->buf[n.a];
    n.c = n.c ? to[n.n] : 0;
  } else if (n.op == IR_CALL) {
    n.c = map_name(m, n.c);
  } else if (n.op != IR_INT && n.op != IR_REAL) {
    n.a = to[0];
    n.b = k > 1 ? to[1] : 0;
    n.c = k > 2 ? to[2] : 0;
  }
  return ir_raw(m->dst, &n, to);
}

static ir_span map_run(ir_import *m, ir_span s) {
  uint32_t at = s.n ? vec_extend(m->dst->heap, &m->dst->arg, s.n) : 0;
  for (uint32_t i = 0; i < s.n; i++)
    m->dst->arg.v[at + i] = m->node[m->src->arg.v[s.at + i]];
  return (ir_span){at, s.n};
}

static void make_bufs(ir_import *m) {
  const ir_program *p = m->src;
  for (ir_buf b = 1; b < p->buf.n; b++) {
    if (!m->buf[b]) continue;
    ir_buf_rec r = p->buf.v[b];
    r.name = map_name(m, r.name);
    r.shape = r.strides = (ir_span){0, 0};
    r.offset = 0;
    m->buf[b] = vec_push(m->dst->heap, &m->dst->buf, r);
  }
}

static void finish_bufs(ir_import *m) {
  const ir_program *p = m->src;
  for (ir_buf b = 1; b < p->buf.n; b++) {
    if (!m->buf[b]) continue;
    ir_span shape = map_run(m, p->buf.v[b].shape);
    ir_span strides = map_run(m, p->buf.v[b].strides);
    ir_buf_rec *r = &m->dst->buf.v[m->buf[b]];
    r->shape = shape;
    r->strides = strides;
    r->offset = m->node[p->buf.v[b].offset];
  }
  for (uint32_t i = 0; i < p->constant.n; i++) {
    ir_const c = p->constant.v[i];
    c.buf = m->buf[c.buf];
    if (c.buf) vec_push(m->dst->heap, &m->dst->constant, c);
  }
}

static ir_span map_vars(ir_import *m, ir_span s) {
  uint32_t at = vec_extend(m->dst->heap, &m->dst->arg, s.n);
  for (uint32_t i = 0; i < s.n; i++)
    m->dst->arg.v[at + i] = m->var[m->src->arg.v[s.at + i]];
  return (ir_span){at, s.n};
}

static void make_reducers(ir_import *m) {
  for (uint32_t i = 1; i < m->src->reducer.n; i++) {
    if (!m->reducer[i]) continue;
    ir_reducer r = m->src->reducer.v[i];
    r.name = map_name(m, r.name);
    r.lhs = map_vars(m, r.lhs);
    r.rhs = map_vars(m, r.rhs);
    r.combine = map_run(m, r.combine);
    r.identity = map_run(m, r.identity);
    m->reducer[i] = vec_push(m->dst->heap, &m->dst->reducer, r);
  }
}

void ir_import_tables(ir_import *m) {
  ir_import_close(m);
  make_bufs(m);
  for (ir_expr e = 1; e < m->src->node.n; e++)
    if (m->node[e]) m->node[e] = make_node(m, e);
  finish_bufs(m);
  make_reducers(m);
}

/* ---- statements --------------------------------------------------------- */

static ir_val map_value(ir_import *m, ir_val v) {
  ir_value x = m->src->value.v[v];
  uint32_t *elems = NULL;
  if (x.tag == IR_VAL_STR) x.s = map_name(m, x.s);
  if (x.tag == IR_VAL_LIST || x.tag == IR_VAL_DICT) {
    elems = arena_array(m->scratch, uint32_t, x.n);
    for (uint32_t i = 0; i < x.n; i++)
      elems[i] = map_value(m, m->src->arg.v[x.at + i]);
  }
  return v ? ir_value_add(m->dst, x, elems) : 0;
}

static void copy_annos(ir_import *m, ir_stmt from, ir_stmt to) {
  for (uint32_t a = ir_st(m->src, from)->anno; a; a = m->src->anno.v[a].next) {
    ir_anno r = m->src->anno.v[a];
    ir_anno_set(m->dst, to, map_name(m, r.key), map_value(m, r.val));
  }
}

static ir_span map_regions(ir_import *m, ir_span s) {
  uint32_t at = vec_extend(m->dst->heap, &m->dst->region, s.n);
  for (uint32_t i = 0; i < s.n; i++) {
    ir_region r = m->src->region.v[s.at + i];
    uint32_t n = 2 * ir_ndim(m->src, r.buf);
    ir_span run = map_run(m, (ir_span){r.at, n});
    m->dst->region.v[at + i] = (ir_region){m->buf[r.buf], run.at};
  }
  return (ir_span){at, s.n};
}

static ir_span map_bufs(ir_import *m, ir_span s) {
  uint32_t at = vec_extend(m->dst->heap, &m->dst->arg, s.n);
  for (uint32_t i = 0; i < s.n; i++)
    m->dst->arg.v[at + i] = m->buf[m->src->arg.v[s.at + i]];
  return (ir_span){at, s.n};
}

static ir_span map_matches(ir_import *m, ir_span s) {
  uint32_t at = vec_extend(m->dst->heap, &m->dst->match, s.n);
  for (uint32_t i = 0; i < s.n; i++) {
    ir_match x = m->src->match.v[s.at + i];
    uint32_t n = 2 * ir_ndim(m->src, x.source.buf);
    ir_span run = map_run(m, (ir_span){x.source.at, n});
    m->dst->match.v[at + i] =
        (ir_match){m->buf[x.buf], {m->buf[x.source.buf], run.at}};
  }
  return (ir_span){at, s.n};
}

static ir_stmt make_block(ir_import *m, ir_stmt s) {
  ir_program *p = m->dst;
  ir_block_rec b = *ir_blk(m->src, s);
  ir_stmt to = ir_block_new(p, map_name(m, b.name));
  ir_iter *it = arena_array(m->scratch, ir_iter, b.iters.n);
  for (uint32_t i = 0; i < b.iters.n; i++) {
    ir_iter x = m->src->iter.v[b.iters.at + i];
    it[i] = (ir_iter){m->var[x.var], x.kind, m->node[x.lo], m->node[x.extent],
                      m->node[x.bind]};
  }
  ir_block_set_iters(p, to, b.iters.n, it);
  b.pred = m->node[b.pred];
  b.reads = map_regions(m, b.reads);
  b.writes = map_regions(m, b.writes);
  b.allocs = map_bufs(m, b.allocs);
  b.matches = map_matches(m, b.matches);
  ir_block_rec *r = ir_blk(p, to);
  r->pred = b.pred;
  r->reads = b.reads;
  r->writes = b.writes;
  r->allocs = b.allocs;
  r->matches = b.matches;
  r->reducer = m->reducer[b.reducer];
  return to;
}

static ir_stmt make_store(ir_import *m, const ir_stmt_rec *r) {
  ir_span idx = map_run(m, r->idx);
  ir_stmt s = ir_store_new(m->dst, m->buf[r->buf], idx.n,
                           m->dst->arg.v + idx.at, m->node[r->value]);
  ir_st(m->dst, s)->mask = m->node[r->mask];
  ir_st(m->dst, s)->loop_kind = r->loop_kind;
  return s;
}

static ir_stmt make_loop(ir_import *m, const ir_stmt_rec *r) {
  ir_stmt s = ir_loop_new(m->dst, m->var[r->var], m->node[r->lo],
                          m->node[r->extent], (ir_loop_kind)r->loop_kind);
  ir_st(m->dst, s)->thread = r->thread;
  return s;
}

static ir_stmt make_one(ir_import *m, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(m->src, s);
  ir_program *p = m->dst;
  switch ((ir_kind)r->kind) {
  case IR_LOOP: return make_loop(m, r);
  case IR_BLOCK: return make_block(m, s);
  case IR_STORE: return make_store(m, r);
  case IR_IF: return ir_if_new(p, m->node[r->cond]);
  case IR_LET: return ir_let_new(p, m->var[r->let_var], m->node[r->let_value]);
  case IR_EVALUATE: return ir_evaluate_new(p, m->node[r->eval]);
  case IR_ALLOCATE: return ir_allocate_new(p, m->buf[r->alloc]);
  default: return ir_barrier_new(p, (ir_scope)r->thread);
  }
}

ir_stmt ir_import_stmt(ir_import *m, ir_stmt s) {
  ir_stmt to = make_one(m, s);
  copy_annos(m, s, to);
  for (ir_stmt c = ir_st(m->src, s)->body; c; c = ir_st(m->src, c)->next)
    ir_append(m->dst, to, ir_import_stmt(m, c));
  for (ir_stmt c = ir_st(m->src, s)->alt; c; c = ir_st(m->src, c)->next)
    ir_append_alt(m->dst, to, ir_import_stmt(m, c));
  return to;
}

static void make_func(ir_import *m, const ir_func *f) {
  ir_buf *params = arena_array(m->scratch, ir_buf, f->params.n);
  for (uint32_t i = 0; i < f->params.n; i++)
    params[i] = m->buf[m->src->arg.v[f->params.at + i]];
  ir_stmt root = ir_import_stmt(m, f->root);
  ir_str name = map_name(m, f->name);
  uint32_t made = ir_func_new(m->dst, name, f->params.n, params, root);
  ir_span sizes = map_vars(m, f->sizes);
  m->dst->func.v[made].sizes = sizes;
}

void ir_import_some_funcs(ir_program *dst, const ir_program *src,
                          arena *scratch, uint32_t first, uint32_t end) {
  arena_mark mark = arena_get_mark(scratch);
  ir_import m;
  ir_import_init(&m, dst, src, scratch);
  for (uint32_t i = first; i < end; i++) ir_import_need_func(&m, i);
  ir_import_tables(&m);
  for (uint32_t i = first; i < end; i++) make_func(&m, &src->func.v[i]);
  arena_reset_to(scratch, mark);
}

void ir_import_funcs(ir_program *dst, const ir_program *src, arena *scratch) {
  ir_import_some_funcs(dst, src, scratch, 1, src->func.n);
}
