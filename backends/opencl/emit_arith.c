/* SPDX-License-Identifier: Apache-2.0
 * Binary operators with the semantics of ir/scalar.h.  Signed overflow is
 * undefined in OpenCL C, so what may overflow is computed unsigned; index
 * arithmetic within bounds, or of sizes, which is assumed not to overflow
 * (ir_assumes_no_wrap), is printed as it is. */
#include "backends/opencl/emit.h"
#include "ir/query.h"

static ocl_text as_type(ocl *m, const char *type, ocl_text t) {
  return ocl_text_of(m, OCL_UNARY, "(%s)%s", type, ocl_in(m, t, OCL_UNARY));
}

/* ---- division ------------------------------------------------------- */

/* Truncated division rounds down where no operand is negative. */
static ocl_text plain_division(ocl *m, const ir_node *n, tess_dtype t,
                               ocl_text a, ocl_text b) {
  ocl_text r = ocl_infix(m, a, n->op == IR_MOD ? "%" : "/", b, OCL_MUL);
  return t.bits < 32 && !ocl_is_wide(m, t) ? as_type(m, ocl_type(m, t), r) : r;
}

static ocl_text power_division(ocl *m, const ir_node *n, tess_dtype t,
                               ocl_text a, uint32_t shift) {
  ocl_text r =
      n->op == IR_MOD
          ? ocl_infix(m, a, "&", ocl_int(m, t, (INT64_C(1) << shift) - 1),
                      OCL_AND)
          : ocl_infix(m, a, ">>", ocl_int(m, t, shift), OCL_SHIFT);
  return t.bits < 32 && !ocl_is_wide(m, t) ? as_type(m, ocl_type(m, t), r) : r;
}

static ocl_text ocl_divide(ocl *m, const ir_node *n, tess_dtype t, ocl_text a,
                           ocl_text b) {
  const ir_node *x = ir_at(m->p, n->a), *y = ir_at(m->p, n->b);
  uint32_t shift;
  bool natural = x->lo >= 0 || t.code != TESS_DTYPE_INT;
  if (natural && y->lo > 0) return plain_division(m, n, t, a, b);
  if (ir_is_power_of_two(m->p, n->b, &shift))
    return power_division(m, n, t, a, shift);
  return ocl_per_lane(m, t, ocl_helper_divide(m, t, n->op == IR_MOD), 2,
                      (ocl_text[]){a, b}, (tess_dtype[]){t, t});
}

/* ---- integers ------------------------------------------------------- */

static ocl_text int_arith(ocl *m, const ir_node *n, tess_dtype t, ocl_text a,
                          ocl_text b) {
  const char *op = n->op == IR_ADD ? "+" : n->op == IR_SUB ? "-" : "*";
  ocl_prec prec = n->op == IR_MUL ? OCL_MUL : OCL_ADD;
  bool bounded = n->lo != INT64_MIN && n->hi != INT64_MAX;
  bool in_bounds = n->is_index && (bounded || !n->wraps);
  bool wraps = t.code == TESS_DTYPE_INT && !in_bounds && t.bits >= 32;
  if (!wraps) {
    ocl_text r = ocl_infix(m, a, op, b, prec);
    return t.bits < 32 && !ocl_is_wide(m, t) ? as_type(m, ocl_type(m, t), r)
                                             : r;
  }
  tess_dtype u = {TESS_DTYPE_UINT, t.bits, t.lanes};
  const char *type = ocl_type(m, u);
  if (ocl_is_wide(m, t)) {
    ocl_text x = ocl_text_of(m, OCL_PRIMARY, "as_%s(%s)", type, a.s);
    ocl_text y = ocl_text_of(m, OCL_PRIMARY, "as_%s(%s)", type, b.s);
    x.depth = a.depth, y.depth = b.depth;
    ocl_text r = ocl_infix(m, x, op, y, prec);
    ocl_text s = ocl_text_of(m, OCL_PRIMARY, "as_%s(%s)", ocl_type(m, t), r.s);
    s.depth = r.depth;
    return s;
  }
  ocl_text x = as_type(m, type, a), y = as_type(m, type, b);
  x.depth = a.depth, y.depth = b.depth;
  ocl_text r = ocl_infix(m, x, op, y, prec);
  ocl_text s = as_type(m, ocl_type(m, t), r);
  s.depth = r.depth;
  return s;
}

static ocl_text compare(ocl *m, const ir_node *n, tess_dtype t, ocl_text a,
                        ocl_text b) {
  const char *op = n->op == IR_EQ   ? "=="
                   : n->op == IR_NE ? "!="
                   : n->op == IR_LT ? "<"
                                    : "<=";
  ocl_prec prec = n->op == IR_EQ || n->op == IR_NE ? OCL_EQ : OCL_REL;
  ocl_text r = ocl_infix(m, a, op, b, prec);
  if (!ocl_is_wide(m, t) || t.bits == 8) return r;
  return ocl_text_of(m, OCL_PRIMARY, "convert_char%u(%s)", m->width, r.s);
}

/* On bool: is the integer result nonzero?  In vectors true is -1. */
static ocl_text bool_operator(ocl *m, const ir_node *n, tess_dtype t,
                              ocl_text a, ocl_text b) {
  bool wide = ocl_is_wide(m, t);
  ocl_text not_a = ocl_text_of(m, OCL_UNARY, "%s%s", wide ? "~" : "!",
                               ocl_in(m, a, OCL_UNARY));
  const char *and = wide ? "&" : "&&", * or = wide ? "|" : "||";
  ocl_prec pa = wide ? OCL_AND : OCL_LAND, po = wide ? OCL_OR : OCL_LOR;
  switch ((ir_op)n->op) {
  case IR_ADD:
  case IR_MAX: return ocl_infix(m, a, or, b, po);
  case IR_SUB:
  case IR_NE: return ocl_infix(m, a, "!=", b, OCL_EQ);
  case IR_EQ: return ocl_infix(m, a, "==", b, OCL_EQ);
  case IR_LT: return ocl_infix(m, not_a, and, b, pa);
  case IR_LE: return ocl_infix(m, not_a, or, b, po);
  case IR_MOD: return ocl_infix(m, a, and, not_a, pa);
  default: return ocl_infix(m, a, and, b, pa);
  }
}

static ocl_text int_operator(ocl *m, const ir_node *n, tess_dtype t, ocl_text a,
                             ocl_text b) {
  const char *f;
  switch ((ir_op)n->op) {
  case IR_DIV:
  case IR_MOD: return ocl_divide(m, n, t, a, b);
  case IR_MIN:
  case IR_MAX:
    f = ocl_is_wide(m, t) ? (n->op == IR_MAX ? "max" : "min")
                          : ocl_helper_extreme(m, t, n->op == IR_MAX);
    return ocl_text_of(m, OCL_PRIMARY, "%s(%s, %s)", f, a.s, b.s);
  case IR_EQ:
  case IR_NE:
  case IR_LT:
  case IR_LE: return compare(m, n, t, a, b);
  default: return int_arith(m, n, t, a, b);
  }
}

/* ---- floats --------------------------------------------------------- */

static ocl_text real_operator(ocl *m, const ir_node *n, tess_dtype t,
                              ocl_text a, ocl_text b) {
  switch ((ir_op)n->op) {
  case IR_ADD: return ocl_infix(m, a, "+", b, OCL_ADD);
  case IR_SUB: return ocl_infix(m, a, "-", b, OCL_ADD);
  case IR_MUL: return ocl_infix(m, a, "*", b, OCL_MUL);
  case IR_DIV: return ocl_infix(m, a, "/", b, OCL_MUL);
  case IR_MOD:
    return ocl_per_lane(m, t, ocl_helper_divide(m, t, true), 2,
                        (ocl_text[]){a, b}, (tess_dtype[]){t, t});
  case IR_MIN:
  case IR_MAX:
    return ocl_text_of(m, OCL_PRIMARY, "%s(%s, %s)",
                       ocl_helper_extreme(m, t, n->op == IR_MAX), a.s, b.s);
  default: return compare(m, n, t, a, b);
  }
}

static uint16_t above(ocl_text a, ocl_text b) {
  return (uint16_t)((a.depth > b.depth ? a.depth : b.depth) + 1);
}

ocl_text ocl_binary(ocl *m, ir_expr e) {
  const ir_node n = *ir_at(m->p, e);
  tess_dtype t = ir_at(m->p, n.a)->dtype;
  ocl_text a = ocl_expr(m, n.a), b = ocl_expr(m, n.b), r;
  if (t.code == TESS_DTYPE_BOOL)
    r = bool_operator(m, &n, t, a, b);
  else if (ir_is_int(t))
    r = int_operator(m, &n, t, a, b);
  else
    r = real_operator(m, &n, t, a, b);
  r.depth = above(a, b);
  if (ir_is_float(t) && t.bits == 16)
    ocl_refuse(m, TESS_INTERNAL,
               "arithmetic on 16-bit floats was not lowered to float32");
  return r;
}
