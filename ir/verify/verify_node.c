/* SPDX-License-Identifier: Apache-2.0
 * Verifier, part 3: types of the expressions that are used, and the cached
 * facts of all nodes. */
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/import.h"
#include "ir/query.h"
#include "ir/verify/verify.h"

static tess_dtype dtype_of(const ir_program *p, ir_expr e) {
  return ir_at(p, e)->dtype;
}

static tess_dtype with_lanes(tess_dtype t, uint16_t lanes) {
  t.lanes = lanes;
  return t;
}

static bool is_number_type(tess_dtype t) {
  return t.code != TESS_DTYPE_BOOL && t.code != TESS_DTYPE_HANDLE;
}

/* Is the value of an integer constant in the range of its type? */
static bool int_ok(const ir_node *n) {
  tess_dtype t = n->dtype;
  if (t.lanes != 1) return false;
  if (t.code == TESS_DTYPE_BOOL) return n->i == 0 || n->i == 1;
  if (t.bits == 64) return ir_is_int(t);
  int64_t top = INT64_C(1) << (t.bits - (t.code == TESS_DTYPE_INT));
  return ir_is_int(t) && n->i < top &&
         n->i >= (t.code == TESS_DTYPE_INT ? -top : 0);
}

static bool binary_ok(const ir_program *p, const ir_node *n) {
  tess_dtype a = dtype_of(p, n->a), b = dtype_of(p, n->b);
  if (!ir_dtype_eq(a, b) || a.lanes != n->dtype.lanes) return false;
  bool to_bool = ir_dtype_eq(n->dtype, with_lanes(IR_BOOL, a.lanes));
  switch ((ir_op)n->op) {
  case IR_AND:
  case IR_OR: return to_bool && a.code == TESS_DTYPE_BOOL;
  case IR_EQ:
  case IR_NE:
  case IR_LT:
  case IR_LE: return to_bool && a.code != TESS_DTYPE_HANDLE;
  default: return ir_dtype_eq(n->dtype, a) && is_number_type(a);
  }
}

static bool select_ok(const ir_program *p, const ir_node *n) {
  tess_dtype c = dtype_of(p, n->a);
  return c.code == TESS_DTYPE_BOOL &&
         (c.lanes == 1 || c.lanes == n->dtype.lanes) &&
         ir_dtype_eq(dtype_of(p, n->b), n->dtype) &&
         ir_dtype_eq(dtype_of(p, n->c), n->dtype);
}

/* Indices are int64; a vector index has the lanes of the load. */
static bool load_ok(const ir_program *p, const ir_node *n) {
  tess_dtype t = p->buf.v[n->a].dtype;
  uint16_t lanes = n->dtype.lanes;
  if (n->dtype.code != t.code || n->dtype.bits != t.bits ||
      n->n != ir_ndim(p, n->a))
    return false;
  uint16_t most = 1;
  for (uint32_t i = 0; i < n->n; i++) {
    tess_dtype x = dtype_of(p, p->arg.v[n->b + i]);
    if (x.code != TESS_DTYPE_INT || x.bits != 64 ||
        (x.lanes != 1 && most != 1 && x.lanes != most))
      return false;
    most = x.lanes > most ? x.lanes : most;
  }
  if ((uint32_t)most * t.lanes != lanes) return false;
  return !n->c || ir_dtype_eq(dtype_of(p, n->c), with_lanes(IR_BOOL, lanes));
}

static bool vector_ok(const ir_program *p, const ir_node *n) {
  tess_dtype a = dtype_of(p, n->a);
  if (n->dtype.lanes < 2 || !ir_dtype_eq(a, with_lanes(n->dtype, 1)))
    return false;
  return n->op == IR_BROADCAST || (ir_is_int(a) && is_number_type(a) &&
                                   ir_dtype_eq(a, dtype_of(p, n->b)));
}

/* The types of a function's operands and result. */
typedef enum fn_type { FLOATS, NUMBERS, INTEGERS, BITS, ANYTHING } fn_type;

static fn_type type_of_fn(ir_fn fn) {
  switch (fn) {
  case IR_FN_EXTERN:
  case IR_FN_INSTEAD: return ANYTHING;
  case IR_FN_REINTERPRET: return BITS;
  case IR_FN_ABS: return NUMBERS;
  default: return ir_fn_kind_of(fn) == IR_FN_BITS ? INTEGERS : FLOATS;
  }
}

/* (mask, value, lane or distance) or (mask, condition). */
static bool warp_call_ok(const ir_program *p, const ir_node *n) {
  const tess_dtype bits = {TESS_DTYPE_UINT, 32, 1};
  tess_dtype x = dtype_of(p, p->arg.v[n->b + 1]);
  if (n->dtype.lanes != 1 || !ir_dtype_eq(dtype_of(p, p->arg.v[n->b]), bits))
    return false;
  if (n->a >= IR_FN_BALLOT)
    return ir_dtype_eq(x, IR_BOOL) &&
           ir_dtype_eq(n->dtype, n->a == IR_FN_BALLOT ? bits : IR_BOOL);
  tess_dtype lane = dtype_of(p, p->arg.v[n->b + 2]);
  return ir_dtype_eq(x, n->dtype) && lane.lanes == 1 && ir_is_int(lane);
}

static bool call_ok(const ir_program *p, const ir_node *n) {
  if (ir_fn_of_warp(n->a)) return warp_call_ok(p, n);
  if (ir_fn_of_copies(n->a)) return ir_dtype_eq(n->dtype, IR_INDEX);
  fn_type t = type_of_fn((ir_fn)n->a);
  if (t == ANYTHING) return true;
  if (t == BITS) {
    tess_dtype a = dtype_of(p, p->arg.v[n->b]);
    return ir_dtype_bytes(a) == ir_dtype_bytes(n->dtype);
  }
  if ((t == FLOATS && !ir_is_float(n->dtype)) ||
      (t == INTEGERS && !ir_is_int(n->dtype)) ||
      (t == NUMBERS && !is_number_type(n->dtype)))
    return false;
  for (uint32_t i = 0; i < n->n; i++)
    if (!ir_dtype_eq(dtype_of(p, p->arg.v[n->b + i]), n->dtype)) return false;
  return true;
}

static bool node_ok(const ir_program *p, const ir_node *n) {
  tess_dtype t = n->dtype;
  switch ((ir_op)n->op) {
  case IR_INT: return int_ok(n);
  case IR_REAL: return ir_is_float(t) && t.lanes == 1;
  case IR_VAR: return ir_dtype_eq(t, p->var.v[n->a].dtype);
  case IR_NOT:
    return t.code == TESS_DTYPE_BOOL && ir_dtype_eq(t, dtype_of(p, n->a));
  case IR_CAST:
    return t.lanes == dtype_of(p, n->a).lanes && t.code != TESS_DTYPE_HANDLE &&
           dtype_of(p, n->a).code != TESS_DTYPE_HANDLE;
  case IR_SELECT: return select_ok(p, n);
  case IR_LOAD: return load_ok(p, n);
  case IR_RAMP:
  case IR_BROADCAST: return vector_ok(p, n);
  case IR_CALL: return call_ok(p, n);
  default: return binary_ok(p, n);
  }
}

void verify_mark_live(verifier *v) {
  const ir_program *p = v->p;
  ir_import m;
  ir_import_init(&m, NULL, p, v->scratch);
  for (uint32_t i = 1; i < p->func.n; i++) ir_import_need_func(&m, i);
  for (uint32_t i = 0; i < p->constant.n; i++)
    ir_import_need_buf(&m, p->constant.v[i].buf);
  for (uint32_t i = 1; i < p->reducer.n; i++) ir_import_need_reducer(&m, i);
  ir_import_close(&m);
  v->live = m.node;
}

bool verify_nodes(verifier *v) {
  const ir_program *p = v->p;
  for (ir_expr e = 1; e < p->node.n; e++) {
    if ((v->live && !v->live[e]) || node_ok(p, ir_at(p, e))) continue;
    verify_fail(v, "the types of `");
    ir_print_expr(p, e, v->why);
    str_puts(v->why, "` do not fit");
    return false;
  }
  return true;
}

bool verify_facts(verifier *v) {
  const ir_program *p = v->p;
  for (ir_expr e = 1; e < p->node.n; e++) {
    if (ir_node_is_consistent(p, e)) continue;
    verify_fail(v, "the cached facts of `");
    ir_print_expr(p, e, v->why);
    str_puts(v->why, "` are wrong");
    return false;
  }
  return true;
}
