/* SPDX-License-Identifier: Apache-2.0
 * Accesses that are redirected to a copy of their buffer, which may start
 * elsewhere. */
#include "schedule/rewrite/cache.h"
#include "ir/edit.h"
#include "ir/query.h"

typedef struct redirect {
  const sch_stage *st;
  ir_buf made;
} redirect;

static ir_expr shift_index(ir_program *p, const sch_stage *st, uint32_t d,
                           ir_expr e) {
  return ir_sub(p, e, ir_index(p, st->shift[d]));
}

static ir_expr redirect_load(ir_subst *sub, ir_buf buf, uint32_t n,
                             const ir_expr *idx) {
  const redirect *f = sub->ud;
  if (buf != f->st->buf) return 0;
  ir_expr *to = arena_array(sub->scratch, ir_expr, n);
  for (uint32_t d = 0; d < n; d++)
    to[d] = shift_index(sub->p, f->st, d, idx[d]);
  return ir_load(sub->p, f->made, n, to);
}

/* Regions of the old buffer become ones of the new, shifted. */
static ir_span redirect_regions(sch_state *s, const redirect *f, ir_span r) {
  ir_program *p = s->p;
  uint32_t n = f->st->ndim, at = vec_extend(p->heap, &p->region, r.n);
  for (uint32_t i = 0; i < r.n; i++) {
    ir_region old = p->region.v[r.at + i];
    if (old.buf == f->st->buf) {
      ir_expr *e = arena_array(s->scratch, ir_expr, 2 * n);
      for (uint32_t d = 0; d < n; d++) {
        e[2 * d] = shift_index(p, f->st, d, ir_region_min(p, old, d));
        e[2 * d + 1] = ir_region_extent(p, old, d);
      }
      old = ir_region_new(p, f->made, e);
    }
    p->region.v[at + i] = old;
  }
  return (ir_span){at, r.n};
}

/* The general way: the new buffer starts elsewhere. */
static void redirect_shifted(sch_state *s, const redirect *f, ir_stmt top) {
  ir_program *p = s->p;
  uint32_t n = f->st->ndim;
  ir_subst sub;
  ir_subst_init(&sub, p, s->scratch);
  sub.load = redirect_load;
  sub.ud = (void *)(uintptr_t)f;
  ir_subst_stmt(&sub, top);
  for (ir_stmt q = top; q; q = ir_next(p, q, top)) {
    if (ir_is_block(p, q)) {
      ir_span r = redirect_regions(s, f, ir_blk(p, q)->reads);
      ir_blk(p, q)->reads = r;
      r = redirect_regions(s, f, ir_blk(p, q)->writes);
      ir_blk(p, q)->writes = r;
    } else if (ir_st(p, q)->kind == IR_STORE &&
               ir_st(p, q)->buf == f->st->buf) {
      ir_expr *to = arena_array(s->scratch, ir_expr, n);
      for (uint32_t d = 0; d < n; d++)
        to[d] = shift_index(p, f->st, d, p->arg.v[ir_st(p, q)->idx.at + d]);
      ir_span idx = ir_arg_span(p, n, to);
      ir_st(p, q)->idx = idx;
      ir_st(p, q)->buf = f->made;
    }
  }
}

void sch_stage_redirect(sch_state *s, const sch_stage *st, ir_stmt block,
                        ir_buf made) {
  ir_program *p = s->p;
  bool shifted = false;
  for (uint32_t d = 0; d < st->ndim; d++) shifted |= st->shift[d] != 0;
  if (shifted) {
    redirect f = {st, made};
    redirect_shifted(s, &f, block);
    return;
  }
  ir_subst sub;
  ir_subst_init(&sub, p, s->scratch);
  ir_subst_buf(&sub, st->buf, made);
  ir_subst_stmt(&sub, block);
}
