/* SPDX-License-Identifier: Apache-2.0
 * Arithmetic on accumulators: an expression becomes operations of the vector
 * unit, each of which changes its first operand. */
#include "backends/dae/compile.h"

static dae_tried refuse_vector(dae_compile *c, const dae_nest *n) {
  dae_refuse(c, n->leaf,
             "the vector unit has no such operation; it adds, multiplies, "
             "shifts, and takes minima and maxima of int32");
  return DAE_REFUSED;
}

static bool same_form(const dae_nest *n, const dae_form *a, const dae_form *b) {
  bool same = a->base == b->base;
  for (uint32_t i = 0; i < n->n; i++)
    same &= a->step[i] == b->step[i] || n->extent[i] == 1;
  return same;
}

/* One operation of [n] elements and more; `src` 0: with i->imm. */
static dae_tried emit_operation(dae_compile *c, const dae_nest *n,
                                const dae_insn *i, ir_buf b, const dae_form *at,
                                ir_buf src, const dae_form *from) {
  dae_loops l;
  dae_set_loops(n, &l);
  dae_set_operand(c, &l, 0, b, at);
  if (src) dae_set_operand(c, &l, 1, src, from);
  if (!dae_take_lanes(&l, c->m->n)) return DAE_RETRY;
  if (src && dae_is_clobbered(c, &l, 1)) {
    dae_refuse(c, n->leaf, "an operand was changed, in place, before");
    return DAE_REFUSED;
  }
  if (i->op == DAE_GEMM) dae_set_clobbered(c, &l, 0, false);
  return dae_emit_loops(c, i, &l);
}

dae_tried dae_emit_imm(dae_compile *c, const dae_nest *n, dae_alu op,
                       int64_t imm, ir_buf b, const dae_form *at) {
  if (imm < INT16_MIN || imm > INT16_MAX) {
    dae_refuse(c, n->leaf, "the constant %lld does not fit 16 bits",
               (long long)imm);
    return DAE_REFUSED;
  }
  dae_insn i = {
      .op = DAE_ALU, .alu = (uint8_t)op, .use_imm = true, .imm = (int32_t)imm};
  return emit_operation(c, n, &i, b, at, 0, NULL);
}

static dae_tried emit_reset(dae_compile *c, const dae_nest *n, ir_buf b,
                            const dae_form *at) {
  return emit_operation(c, n, &(dae_insn){.op = DAE_GEMM, .reset = true}, b, at,
                        0, NULL);
}

/* dst = dst op load.  Another part of one's own buffer is read in order, an
 * entry at a time. */
static dae_tried emit_load(dae_compile *c, const dae_nest *n, dae_alu op,
                           ir_expr e, ir_buf b, const dae_form *at) {
  const ir_node load = *ir_at(c->p, dae_acc_load(c, e));
  dae_form from;
  if (!dae_find_form(c, n, dae_index(c, &load), &from)) return DAE_RETRY;
  bool own = load.a == b && !same_form(n, at, &from);
  for (uint32_t i = 0; own && i < n->n; i++)
    if (n->extent[i] > 1 && at->step[i] >= c->m->n) return DAE_RETRY;
  dae_insn i = {.op = DAE_ALU, .alu = (uint8_t)op};
  return emit_operation(c, n, &i, b, at, load.a, &from);
}

ir_expr dae_acc_load(const dae_compile *c, ir_expr e) {
  const ir_node *n = ir_at(c->p, e);
  bool is_word = n->dtype.code == TESS_DTYPE_INT && n->dtype.bits == 32;
  if (n->op == IR_CAST && ir_at(c->p, n->a)->dtype.bits == 8)
    n = ir_at(c->p, e = n->a);
  return is_word && n->op == IR_LOAD && dae_memory_of(c, n->a) == DAE_ACC ? e
                                                                          : 0;
}

static bool is_simple(const dae_compile *c, ir_expr e) {
  return ir_at(c->p, e)->op == IR_INT || dae_acc_load(c, e);
}

/* The operation, with its second operand; a difference is a sum, and a division
 * by a power of two a shift. */
typedef struct operation {
  dae_alu alu;
  ir_expr a, b; /* b 0: imm */
  int64_t imm;
  bool commutes;
} operation;

static bool read_shift(const dae_compile *c, const ir_node *n, operation *out) {
  int64_t by;
  if (n->op == IR_DIV) {
    if (!ir_const_int(c->p, n->b, &by) || by < 1 || (by & (by - 1)))
      return false;
    *out = (operation){DAE_SHR, n->a, 0, __builtin_ctzll((uint64_t)by), false};
    return true;
  }
  const uint32_t *arg = c->p->arg.v + n->b;
  bool left = n->a == IR_FN_SHL;
  if ((n->a != IR_FN_SHR && !left) || !ir_const_int(c->p, arg[1], &by) ||
      by < 0 || by > 31)
    return false;
  *out = (operation){DAE_SHR, arg[0], 0, left ? -by : by, false};
  return true;
}

static bool read_operation(const dae_compile *c, ir_expr e, operation *out) {
  static const uint8_t alu[] = {[IR_ADD] = DAE_ADD,
                                [IR_MUL] = DAE_MUL,
                                [IR_MIN] = DAE_MIN,
                                [IR_MAX] = DAE_MAX};
  const ir_node *n = ir_at(c->p, e);
  if (n->dtype.code != TESS_DTYPE_INT || n->dtype.bits != 32) return false;
  switch (n->op) {
  case IR_DIV:
  case IR_CALL: return read_shift(c, n, out);
  case IR_SUB:
    *out = (operation){DAE_ADD, n->a, 0, 0, false};
    if (!ir_const_int(c->p, n->b, &out->imm)) return false;
    out->imm = -out->imm;
    return true;
  case IR_ADD:
  case IR_MUL:
  case IR_MIN:
  case IR_MAX:
    *out = (operation){(dae_alu)alu[n->op], n->a, n->b, 0, true};
    if (ir_const_int(c->p, n->b, &out->imm)) out->b = 0;
    return true;
  default: return false;
  }
}

static bool is_in_place(dae_compile *c, const dae_nest *n, ir_expr e, ir_buf b,
                        const dae_form *at) {
  ir_expr found = dae_acc_load(c, e);
  const ir_node load = *ir_at(c->p, found);
  dae_form from;
  return found && load.a == b &&
         dae_find_form(c, n, dae_index(c, &load), &from) &&
         same_form(n, at, &from);
}

/* Does it read what is in place, which the first operation would overwrite? */
static bool reads_own(dae_compile *c, const dae_nest *n, ir_expr e, ir_buf b,
                      const dae_form *at) {
  operation o;
  if (is_simple(c, e)) return is_in_place(c, n, e, b, at);
  return read_operation(c, e, &o) &&
         (reads_own(c, n, o.a, b, at) || (o.b && reads_own(c, n, o.b, b, at)));
}

/* The first operand is computed in place; the second is a constant or a load.
 * What is in place already is the first. */
static bool order_operands(dae_compile *c, const dae_nest *n, operation *o,
                           ir_buf b, const dae_form *at) {
  if (!o->b) return true;
  bool second = reads_own(c, n, o->b, b, at),
       first = reads_own(c, n, o->a, b, at);
  bool swaps = o->commutes && (second ? !first : !is_simple(c, o->b));
  if (swaps) {
    ir_expr t = o->a;
    o->a = o->b, o->b = t;
    if (ir_const_int(c->p, o->b, &o->imm)) o->b = 0;
  }
  return !o->b || (dae_acc_load(c, o->b) && (!is_in_place(c, n, o->b, b, at) ||
                                             is_in_place(c, n, o->a, b, at)));
}

static dae_tried emit_leaf(dae_compile *c, const dae_nest *n, ir_expr e,
                           ir_buf b, const dae_form *at) {
  int64_t v;
  dae_tried t = emit_reset(c, n, b, at);
  if (t != DAE_DONE) return t;
  if (!ir_const_int(c->p, e, &v)) return emit_load(c, n, DAE_ADD, e, b, at);
  return v ? dae_emit_imm(c, n, DAE_ADD, v, b, at) : DAE_DONE;
}

/* What is computed on must be what the program means by it. */
static dae_tried check_own(dae_compile *c, const dae_nest *n, ir_buf b,
                           const dae_form *at) {
  dae_loops l;
  dae_set_loops(n, &l);
  dae_set_operand(c, &l, 0, b, at);
  if (!dae_take_lanes(&l, c->m->n)) return DAE_RETRY;
  if (!dae_is_clobbered(c, &l, 0)) return DAE_DONE;
  dae_refuse(c, n->leaf, "what it reads was changed, in place, before");
  return DAE_REFUSED;
}

dae_tried dae_emit_tree(dae_compile *c, const dae_nest *n, ir_expr e, ir_buf b,
                        const dae_form *at, bool *changed) {
  operation o;
  if (is_in_place(c, n, e, b, at)) return check_own(c, n, b, at);
  *changed = true;
  if (is_simple(c, e)) return emit_leaf(c, n, e, b, at);
  if (!read_operation(c, e, &o) || !order_operands(c, n, &o, b, at))
    return refuse_vector(c, n);
  dae_tried t = dae_emit_tree(c, n, o.a, b, at, changed);
  if (t != DAE_DONE) return t;
  return o.b ? emit_load(c, n, o.alu, o.b, b, at)
             : dae_emit_imm(c, n, o.alu, o.imm, b, at);
}

/* A store to accumulators of what other accumulators hold. */
dae_tried dae_emit_vector(dae_compile *c, const dae_nest *n) {
  const ir_stmt_rec r = *ir_st(c->p, n->leaf);
  dae_form at;
  bool changed = false;
  if (dae_memory_of(c, r.buf) != DAE_ACC || c->p->buf.v[r.buf].dtype.bits != 32)
    return refuse_vector(c, n);
  if (!dae_find_form(c, n, c->p->arg.v[r.idx.at], &at)) return DAE_RETRY;
  return dae_emit_tree(c, n, r.value, r.buf, &at, &changed);
}
