/* SPDX-License-Identifier: Apache-2.0
 * Stores to memory: what is computed on the way is computed in place, in the
 * accumulators that it is made of, which then are clobbered. */
#include "backends/dae/compile.h"

/* Does each iteration have accumulators of its own? */
static bool is_injective(dae_loops l) {
  for (uint32_t i = 0; i < l.n; i++) {
    if (l.extent[i] == 1) continue;
    int64_t span = 0;
    for (uint32_t k = 0; k < l.n; k++)
      if (l.step[0][k] < l.step[0][i] ||
          (l.step[0][k] == l.step[0][i] && k < i))
        span += (l.extent[k] - 1) * l.step[0][k];
    if (l.step[0][i] <= span) return false;
  }
  return true;
}

typedef struct storing {
  dae_compile *c;
  const dae_nest *n;
  ir_buf to, place;
  dae_form from, at; /* in place, in memory */
  ir_expr value;     /* of accumulators */
  bool narrows;      /* to bytes */
  bool wraps;        /* to their low ones */
  bool changed;      /* what was in place */
} storing;

/* The accumulators that the expression is computed in: the first that it loads
 * of which each iteration has its own; 0: it loads none. */
static ir_expr find_place(const storing *x, ir_expr e) {
  ir_expr load = dae_acc_load(x->c, e);
  const ir_node n = *ir_at(x->c->p, load ? load : e);
  if (load) {
    dae_form at;
    dae_loops l;
    if (!dae_find_form(x->c, x->n, dae_index(x->c, &n), &at)) return 0;
    dae_set_loops(x->n, &l);
    dae_set_operand(x->c, &l, 0, n.a, &at);
    return is_injective(l) ? load : 0;
  }
  if (n.op == IR_CALL) return n.n ? find_place(x, x->c->p->arg.v[n.b]) : 0;
  if (n.op < IR_ADD || n.op > IR_MAX) return 0;
  ir_expr found = find_place(x, n.a);
  return found ? found : find_place(x, n.b);
}

static dae_tried refuse_store(const storing *x, const char *why) {
  dae_refuse(x->c, x->n->leaf, "%s", why);
  return DAE_REFUSED;
}

static bool is_shift(const ir_program *p, ir_expr e, uint32_t fn, ir_expr *of) {
  const ir_node *n = ir_at(p, e);
  bool is = n->op == IR_CALL && n->a == fn && n->dtype.bits == 32 &&
            ir_is_const(p, p->arg.v[n->b + 1], 24);
  if (is) *of = p->arg.v[n->b];
  return is;
}

/* The low byte of a sum, shr(shl(x, 24), 24), is what the machine stores. */
static bool is_low_byte(const ir_program *p, ir_expr e, ir_expr *of) {
  ir_expr inner;
  return is_shift(p, e, IR_FN_SHR, &inner) && is_shift(p, inner, IR_FN_SHL, of);
}

static dae_tried read_store(storing *x) {
  dae_compile *c = x->c;
  const ir_stmt_rec r = *ir_st(c->p, x->n->leaf);
  const ir_node top = *ir_at(c->p, r.value);
  tess_dtype t = c->p->buf.v[r.buf].dtype;
  x->to = r.buf;
  x->narrows = top.op == IR_CAST && t.bits == 8 && ir_is_int(t) &&
               ir_at(c->p, top.a)->dtype.bits == 32;
  x->value = x->narrows ? top.a : r.value;
  x->wraps = x->narrows && t.code == TESS_DTYPE_INT &&
             is_low_byte(c->p, top.a, &x->value);
  if (!x->narrows && (t.bits != 32 || !c->m->stores_acc))
    return refuse_store(x, "the machine stores bytes only: int8 of what the "
                           "accumulators hold");
  ir_expr load = find_place(x, x->value);
  if (!load && x->n->n) return DAE_RETRY;
  if (!load)
    return refuse_store(x, "what is stored is computed of no accumulators");
  const ir_node place = *ir_at(c->p, load);
  x->place = place.a;
  return dae_find_form(c, x->n, dae_index(c, &place), &x->from) &&
                 dae_find_form(c, x->n, c->p->arg.v[r.idx.at], &x->at)
             ? DAE_DONE
             : DAE_RETRY;
}

/* A cast saturates, where a store takes the low byte: both are the same where
 * the value is in range, as it is after these, or is a low byte itself. */
static dae_tried saturate(storing *x) {
  dae_compile *c = x->c;
  tess_dtype t = c->p->buf.v[x->to].dtype;
  int64_t least = t.code == TESS_DTYPE_INT ? -128 : 0, most = least + 255;
  const ir_node v = *ir_at(c->p, x->value);
  dae_tried done = DAE_DONE;
  if (!x->narrows || x->wraps) return done;
  if (v.lo < least) {
    x->changed = true;
    done = dae_emit_imm(c, x->n, DAE_MAX, least, x->place, &x->from);
  }
  if (done == DAE_DONE && v.hi > most) {
    x->changed = true;
    done = dae_emit_imm(c, x->n, DAE_MIN, most, x->place, &x->from);
  }
  return done;
}

dae_tried dae_emit_store(dae_compile *c, const dae_nest *n) {
  storing x = {.c = c, .n = n};
  dae_loops l;
  dae_tried t = read_store(&x);
  if (t != DAE_DONE) return t;
  dae_set_loops(n, &l);
  dae_set_operand(c, &l, 0, x.place, &x.from);
  dae_set_operand(c, &l, 1, x.to, &x.at);
  if (!dae_take_lanes(&l, c->m->n)) return DAE_RETRY;
  t = dae_emit_tree(c, n, x.value, x.place, &x.from, &x.changed);
  if (t == DAE_DONE) t = saturate(&x);
  if (t != DAE_DONE) return t;
  if (x.changed) dae_set_clobbered(c, &l, 0, true);
  return dae_emit_transfer(c, DAE_STORE, x.narrows ? DAE_OUT : DAE_ACC, &l);
}
