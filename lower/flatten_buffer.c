/* SPDX-License-Identifier: Apache-2.0
 * Flattens buffers to one dimension: linearizes each access to the sum of
 * indices times strides, plus the buffer's offset. */
#include "ir/edit.h"
#include "lower/pass.h"

/* The stride of each dimension, in elements. */
static void strides_of(ir_program *p, ir_buf b, ir_expr *out) {
  uint32_t n = ir_ndim(p, b);
  ir_span given = p->buf.v[b].strides;
  ir_expr step = ir_index(p, 1);
  for (uint32_t d = n; d-- > 0;) {
    out[d] = given.n ? p->arg.v[given.at + d] : step;
    if (!given.n) step = ir_mul(p, step, ir_dim(p, b, d));
  }
}

static ir_expr to_lanes(ir_program *p, ir_expr e, uint16_t lanes) {
  return ir_at(p, e)->dtype.lanes == lanes ? e : ir_broadcast(p, e, lanes);
}

/* Indices may be vectors already: then all of the sum is, of as many lanes. */
static ir_expr offset_of(ir_program *p, arena *scratch, ir_buf b, uint32_t n,
                         const ir_expr *idx) {
  uint16_t lanes = 1;
  for (uint32_t d = 0; d < n; d++)
    if (ir_at(p, idx[d])->dtype.lanes > 1)
      lanes = ir_at(p, idx[d])->dtype.lanes;
  ir_expr *stride = arena_array(scratch, ir_expr, n + 1);
  ir_expr at = p->buf.v[b].offset;
  if (!at) at = ir_index(p, 0);
  at = to_lanes(p, at, lanes);
  strides_of(p, b, stride);
  for (uint32_t d = 0; d < n; d++)
    at = ir_add(
        p, at,
        ir_mul(p, to_lanes(p, idx[d], lanes), to_lanes(p, stride[d], lanes)));
  return at;
}

/* The extent of the flat buffer, padding between rows included. */
static ir_expr size_of(ir_program *p, arena *scratch, ir_buf b) {
  uint32_t n = ir_ndim(p, b);
  ir_expr *last = arena_array(scratch, ir_expr, n + 1);
  for (uint32_t d = 0; d < n; d++)
    last[d] = ir_sub(p, ir_dim(p, b, d), ir_index(p, 1));
  return ir_add(p, offset_of(p, scratch, b, n, last), ir_index(p, 1));
}

static ir_expr flat_load(ir_subst *s, ir_buf b, uint32_t n,
                         const ir_expr *idx) {
  ir_expr at = offset_of(s->p, s->scratch, b, n, idx);
  return ir_load(s->p, b, 1, &at);
}

LOWER_PASS(flatten_buffer) {
  (void)o, (void)e;
  ir_subst sub;
  ir_subst_init(&sub, p, scratch);
  sub.load = flat_load;
  LOWER_EACH(p, s) {
    ir_subst_head(&sub, s, true);
    if (ir_st(p, s)->kind != IR_STORE) continue;
    ir_span at = ir_st(p, s)->idx;
    ir_expr *idx = arena_array(scratch, ir_expr, at.n + 1);
    memcpy(idx, p->arg.v + at.at, at.n * sizeof *idx);
    ir_expr flat = offset_of(p, scratch, ir_st(p, s)->buf, at.n, idx);
    ir_span made = ir_arg_span(p, 1, &flat);
    ir_st(p, s)->idx = made;
  }
  for (ir_buf b = 1; b < p->buf.n; b++) {
    ir_expr size = size_of(p, scratch, b);
    ir_span shape = ir_arg_span(p, 1, &size);
    p->buf.v[b].shape = shape;
    p->buf.v[b].strides = (ir_span){0, 0};
    p->buf.v[b].offset = 0;
  }
  return TESS_OK;
}
