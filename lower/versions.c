/* SPDX-License-Identifier: Apache-2.0
 * Multi-versions buffers: adds leading dimensions and indexes accesses by
 * version (replication for threads, double buffering). */
#include "ir/edit.h"
#include "lower/pass.h"

/* Elements from the first of a buffer with strides to its last, rows whole. */
static ir_expr span_of(ir_program *p, ir_buf b) {
  ir_span stride = p->buf.v[b].strides;
  ir_expr last = ir_index(p, 1);
  for (uint32_t d = 0; d < stride.n; d++) {
    ir_expr most = ir_sub(p, ir_dim(p, b, d), ir_index(p, 1));
    last = ir_add(p, last, ir_mul(p, most, p->arg.v[stride.at + d]));
  }
  ir_expr rows = ir_mul(p, ir_dim(p, b, 0), p->arg.v[stride.at]);
  return ir_binary(p, IR_MAX, rows, last);
}

ir_buf lower_several(ir_program *p, arena *scratch, ir_buf b, uint32_t n,
                     const int64_t *extent) {
  const ir_buf_rec old = p->buf.v[b];
  uint32_t ndim = ir_ndim(p, b);
  ir_expr *e = arena_array(scratch, ir_expr, n + ndim + 1);
  for (uint32_t d = 0; d < n; d++) e[d] = ir_index(p, extent[d]);
  for (uint32_t d = 0; d < ndim; d++) e[n + d] = ir_dim(p, b, d);
  ir_buf made = ir_buf_new(p, old.name, old.dtype, n + ndim, e,
                           (ir_scope)old.scope, IR_ROLE_LOCAL);
  p->buf.v[made].align = old.align;
  p->buf.v[made].offset = old.offset;
  if (!old.strides.n) return made;
  ir_expr step = span_of(p, b);
  for (uint32_t d = n; d-- > 0;) {
    e[d] = step;
    step = ir_mul(p, step, ir_index(p, extent[d]));
  }
  memcpy(e + n, p->arg.v + old.strides.at, ndim * sizeof *e);
  ir_span strides = ir_arg_span(p, n + ndim, e);
  p->buf.v[made].strides = strides;
  return made;
}

typedef struct choice {
  ir_buf buf, made;
  uint32_t n;
  const ir_expr *which;
} choice;

static const ir_expr *indices(ir_subst *s, uint32_t n, const ir_expr *idx) {
  const choice *c = s->ud;
  ir_expr *out = arena_array(s->scratch, ir_expr, c->n + n);
  memcpy(out, c->which, c->n * sizeof *out);
  if (n) memcpy(out + c->n, idx, n * sizeof *out);
  return out;
}

static ir_expr load_one(ir_subst *s, ir_buf b, uint32_t n, const ir_expr *idx) {
  const choice *c = s->ud;
  if (b != c->buf) return 0;
  return ir_load(s->p, c->made, c->n + n, indices(s, n, idx));
}

void lower_choose(ir_program *p, arena *scratch, ir_stmt top, ir_buf buf,
                  ir_buf made, uint32_t n, const ir_expr *which) {
  choice c = {buf, made, n, which};
  ir_subst sub;
  ir_subst_init(&sub, p, scratch);
  sub.load = load_one;
  sub.ud = &c;
  for (ir_stmt s = top; s; s = ir_next(p, s, top)) {
    ir_subst_head(&sub, s, true);
    if (ir_st(p, s)->kind != IR_STORE || ir_st(p, s)->buf != buf) continue;
    ir_span at = ir_st(p, s)->idx;
    ir_expr *idx = arena_array(scratch, ir_expr, at.n + 1);
    memcpy(idx, p->arg.v + at.at, at.n * sizeof *idx);
    ir_span span = ir_arg_span(p, n + at.n, indices(&sub, at.n, idx));
    ir_st(p, s)->idx = span;
    ir_st(p, s)->buf = made;
  }
}
