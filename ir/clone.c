/* SPDX-License-Identifier: Apache-2.0
 * Cloning statements inside one program, with fresh binders. */
#include "ir/edit.h"
#include "ir/pool.h"
#include "ir/query.h"

ir_var ir_var_like(ir_program *p, ir_var v, int64_t lo, int64_t hi) {
  ir_var_rec r = p->var.v[v];
  ir_var w = ir_var_new(p, (ir_var_kind)r.kind, r.name, r.dtype, lo, hi);
  p->var.v[w].form = r.form;
  p->var.v[w].part = r.part;
  p->var.v[w].from[0] = r.from[0];
  p->var.v[w].from[1] = r.from[1];
  return w;
}

static ir_var clone_var(ir_subst *s, ir_var v) {
  const ir_var_rec *r = &s->p->var.v[v];
  ir_var w = ir_var_like(s->p, v, r->lo, r->hi);
  ir_subst_var(s, v, ir_ref(s->p, w));
  return w;
}

/* A fresh loop variable.  A clone's bounds may lie outside those recorded for
 * the original where the substituted values of outer loops leave it no
 * iteration. */
static ir_var clone_loop_var(ir_subst *s, const ir_stmt_rec *loop) {
  ir_program *p = s->p;
  int64_t min, max;
  ir_domain_bounds(p, ir_subst_expr(s, loop->lo),
                   ir_subst_expr(s, loop->extent), &min, &max);
  const ir_var_rec *r = &p->var.v[loop->var];
  ir_var w = ir_var_like(p, loop->var, min < r->lo ? min : r->lo,
                         max > r->hi ? max : r->hi);
  ir_subst_var(s, loop->var, ir_ref(p, w));
  return w;
}

static ir_buf clone_buf(ir_subst *s, ir_buf b) {
  ir_program *p = s->p;
  vec_reserve(p->heap, &p->buf, 1);
  ir_buf c = vec_push(p->heap, &p->buf, p->buf.v[b]);
  ir_subst_buf(s, b, c);
  return c;
}

static uint32_t copy_annos(ir_program *p, uint32_t a) {
  uint32_t first = 0, last = 0;
  for (; a; a = p->anno.v[a].next) {
    vec_reserve(p->heap, &p->anno, 1);
    ir_anno r = p->anno.v[a];
    uint32_t c = vec_push(p->heap, &p->anno, ((ir_anno){r.key, r.val, 0}));
    if (last)
      p->anno.v[last].next = c;
    else
      first = c;
    last = c;
  }
  return first;
}

/* Fresh buffers for the allocations and match buffers of block b. */
static void clone_buffers(ir_subst *s, uint32_t b) {
  ir_program *p = s->p;
  ir_span allocs = p->block.v[b].allocs;
  if (allocs.n) {
    uint32_t at = ir_args(p, allocs.n, p->arg.v + allocs.at);
    for (uint32_t i = 0; i < allocs.n; i++) {
      ir_buf c = clone_buf(s, p->arg.v[at + i]);
      p->arg.v[at + i] = c;
    }
    p->block.v[b].allocs.at = at;
  }
  ir_span m = p->block.v[b].matches;
  if (m.n) {
    uint32_t at;
    POOL_ADD(p->heap, &p->match, m.n, p->match.v + m.at, at);
    for (uint32_t i = at; i < at + m.n; i++) {
      ir_buf c = clone_buf(s, p->match.v[i].buf);
      p->match.v[i].buf = c;
    }
    p->block.v[b].matches.at = at;
  }
}

/* A block record for statement `to`, cloned from the block that it was copied
 * from, with fresh iters and buffers. */
static void clone_block(ir_subst *s, ir_stmt to, const char *suffix) {
  ir_program *p = s->p;
  vec_reserve(p->heap, &p->block, 1);
  uint32_t b = vec_push(p->heap, &p->block, *ir_blk(p, to));
  ir_st(p, to)->block = b;
  p->block.v[b].stmt = to;
  if (suffix) {
    ir_str name = ir_name_cat(p, p->block.v[b].name, suffix);
    name = ir_fresh_block_name(p, name);
    p->block.v[b].name = name;
  }
  ir_span it = p->block.v[b].iters;
  uint32_t at;
  POOL_ADD(p->heap, &p->iter, it.n, p->iter.v + it.at, at);
  for (uint32_t i = at; i < at + it.n; i++) {
    ir_var w = clone_var(s, p->iter.v[i].var);
    p->iter.v[i].var = w;
    p->var.v[w].owner = to;
  }
  p->block.v[b].iters.at = at;
  clone_buffers(s, b);
}

/* Makes fresh binders for a statement, before its expressions are mapped. */
static void clone_binders(ir_subst *s, ir_stmt to, const char *suffix) {
  ir_program *p = s->p;
  ir_stmt_rec r = *ir_st(p, to);
  if (r.kind == IR_LOOP) {
    ir_var w = clone_loop_var(s, &r);
    p->var.v[w].owner = to;
    ir_st(p, to)->var = w;
  } else if (r.kind == IR_LET) {
    ir_var w = clone_var(s, r.let_var);
    p->var.v[w].owner = to;
    ir_st(p, to)->let_var = w;
  } else if (r.kind == IR_ALLOCATE) {
    clone_buf(s, r.alloc);
  } else if (r.kind == IR_BLOCK) {
    clone_block(s, to, suffix);
  }
}

static ir_stmt copy_one(ir_subst *s, ir_stmt st, const char *suffix) {
  ir_program *p = s->p;
  vec_reserve(p->heap, &p->stmt, 1);
  ir_stmt to = vec_push(p->heap, &p->stmt, *ir_st(p, st));
  ir_stmt_rec *r = ir_st(p, to);
  r->parent = r->prev = r->next = r->body = r->alt = 0;
  r->in_alt = false;
  uint32_t anno = copy_annos(p, r->anno);
  ir_st(p, to)->anno = anno;
  clone_binders(s, to, suffix);
  ir_subst_head(s, to, true);
  return to;
}

ir_stmt ir_clone_stmt(ir_subst *s, ir_stmt st, const char *suffix) {
  ir_program *p = s->p;
  ir_stmt top = copy_one(s, st, suffix), at = top;
  /* `at` is the copy of t's predecessor in pre-order; the copy's parent is
   * found by climbing both trees in step. */
  for (ir_stmt prev = st, t = ir_next(p, st, st); t; t = ir_next(p, t, st)) {
    while (ir_st(p, t)->parent != prev) {
      prev = ir_st(p, prev)->parent;
      at = ir_st(p, at)->parent;
    }
    ir_stmt c = copy_one(s, t, suffix);
    if (ir_st(p, t)->in_alt)
      ir_append_alt(p, at, c);
    else
      ir_append(p, at, c);
    prev = t;
    at = c;
  }
  return top;
}

ir_stmt ir_clone_path(ir_subst *s, ir_stmt st, ir_stmt leaf,
                      const char *suffix) {
  ir_program *p = s->p;
  if (st == leaf) return ir_clone_stmt(s, st, suffix);
  ir_stmt top = copy_one(s, st, suffix), at = top;
  for (ir_stmt t = st; t != leaf;) {
    ir_stmt next = leaf;
    while (ir_st(p, next)->parent != t) next = ir_st(p, next)->parent;
    ir_stmt c = next == leaf ? ir_clone_stmt(s, next, suffix)
                             : copy_one(s, next, suffix);
    ir_append(p, at, c);
    t = next;
    at = c;
  }
  return top;
}
