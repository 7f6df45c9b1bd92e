/* SPDX-License-Identifier: Apache-2.0
 * Copies from memory to the chip, and zeros there. */
#include "backends/dae/compile.h"

/* What a copy's elements are: a load, or zero where the limits say so. */
typedef struct source {
  ir_expr load; /* 0: zeros everywhere */
  bool widens;  /* bytes become accumulators */
} source;

/* load, or cast<int32>(load); false: something else. */
static bool read_load(const dae_compile *c, ir_expr e, source *out) {
  const ir_node *n = ir_at(c->p, e);
  if (ir_is_const(c->p, e, 0)) return true;
  if (n->op == IR_CAST && n->dtype.bits == 32 &&
      n->dtype.code == TESS_DTYPE_INT) {
    out->widens = true;
    n = ir_at(c->p, e = n->a);
  }
  out->load = e;
  return n->op == IR_LOAD && dae_memory_of(c, n->a) == DAE_NMEM;
}

/* `l` gets the limits of a select. */
static dae_tried read_source(dae_compile *c, const dae_nest *n, ir_expr e,
                             dae_loops *l, source *out) {
  const ir_node at = *ir_at(c->p, e);
  *out = (source){.load = 0};
  if (at.op != IR_SELECT) return read_load(c, e, out) ? DAE_DONE : DAE_REFUSED;
  int64_t holds;
  if (dae_evaluate(c, at.a, &holds))
    return read_load(c, holds ? at.b : at.c, out) ? DAE_DONE : DAE_REFUSED;
  if (!read_load(c, at.b, out) || !ir_is_const(c->p, at.c, 0))
    return DAE_REFUSED;
  return dae_find_limits(c, n, at.a, l->from, l->to) ? DAE_DONE : DAE_RETRY;
}

static bool has_types(const dae_compile *c, ir_buf to, const source *s) {
  tess_dtype t = c->p->buf.v[to].dtype;
  if (!s->load) return true;
  tess_dtype from = ir_at(c->p, s->load)->dtype;
  bool is_byte = from.code == TESS_DTYPE_INT && from.bits == 8;
  bool is_word = from.code == TESS_DTYPE_INT && from.bits == 32;
  return t.bits == 32 ? s->widens ? is_byte : is_word : is_byte && !s->widens;
}

/* Accumulators are reset by the matrix unit, other memory by a transfer that
 * reads nothing. */
static dae_tried emit_zeros(dae_compile *c, uint32_t mem, dae_loops *l) {
  if (mem == DAE_ACC)
    return dae_emit_loops(c, &(dae_insn){.op = DAE_GEMM, .reset = true}, l);
  l->operands = 2;
  for (uint32_t i = 0; i < l->n; i++) l->step[1][i] = l->step[0][i];
  l->extent[l->n] = 1; /* a loop of nothing but zeros around */
  l->from[l->n] = l->to[l->n] = 0;
  l->step[0][l->n] = l->step[1][l->n] = INT32_MAX;
  l->n++;
  return dae_emit_transfer(c, DAE_LOAD, (dae_memory)mem, l);
}

dae_tried dae_emit_copy(dae_compile *c, const dae_nest *n) {
  const ir_stmt_rec r = *ir_st(c->p, n->leaf);
  uint32_t mem = dae_memory_of(c, r.buf);
  bool widens = mem == DAE_ACC && c->p->buf.v[r.buf].dtype.bits == 8;
  dae_loops l;
  dae_form to, from;
  source s;
  if (n->n == DAE_MAX_LOOPS) return DAE_RETRY;
  dae_set_loops(n, &l);
  dae_tried t = read_source(c, n, r.value, &l, &s);
  if (t == DAE_RETRY) return t;
  if (t == DAE_REFUSED || !has_types(c, r.buf, &s)) {
    dae_refuse(c, n->leaf, "this is no copy from memory, of its type");
    return DAE_REFUSED;
  }
  if (!dae_find_form(c, n, c->p->arg.v[r.idx.at], &to)) return DAE_RETRY;
  dae_set_operand(c, &l, 0, r.buf, &to);
  if (s.load) {
    const ir_node load = *ir_at(c->p, s.load);
    if (!dae_find_form(c, n, dae_index(c, &load), &from)) return DAE_RETRY;
    dae_set_operand(c, &l, 1, load.a, &from);
  }
  if (!dae_take_lanes(&l, dae_elements(c->m, mem))) return DAE_RETRY;
  if (mem == DAE_ACC) dae_set_clobbered(c, &l, 0, false);
  if (!s.load) return emit_zeros(c, mem, &l);
  return dae_emit_transfer(c, DAE_LOAD,
                           s.widens || widens ? DAE_ACC8 : (dae_memory)mem, &l);
}
