/* SPDX-License-Identifier: Apache-2.0
 * Calls of the functions that lowering leaves; what a device has not is refused
 * by name. */
#include "backends/opencl/emit.h"

static ir_expr operand(const ocl *m, const ir_node *n, uint32_t i) {
  return m->p->arg.v[n->b + i];
}

static ocl_text refuse_call(ocl *m, const ir_node *n) {
  if (n->a == IR_FN_EXTERN)
    ocl_refuse(m, TESS_UNSUPPORTED,
               "the function '%s' is the host's: a device cannot call it",
               ir_text(m->p, n->c));
  else if (ir_fn_of_warp(n->a))
    ocl_refuse(m, TESS_UNSUPPORTED,
               "'%s' is of a warp's lanes, and OpenCL 1.2 has no warps",
               ir_fn_text((ir_fn)n->a));
  else if (ir_fn_of_copies(n->a))
    ocl_refuse(m, TESS_UNSUPPORTED,
               "'%s': the opencl backend has no asynchronous copies",
               ir_fn_text((ir_fn)n->a));
  else
    ocl_refuse(m, TESS_UNSUPPORTED, "the opencl backend has no function '%s'",
               ir_fn_text((ir_fn)n->a));
  return (ocl_text){.s = "0", .prec = OCL_PRIMARY};
}

/* ---- shifts and bits ------------------------------------------------ */

/* Is e, an amount to shift by, known to be within 0 .. bits - 1? */
static bool is_within_width(const ocl *m, ir_expr e, uint32_t bits) {
  const ir_node *n = ir_at(m->p, e);
  if (n->op == IR_BROADCAST) return is_within_width(m, n->a, bits);
  if (n->op == IR_INT) return n->i >= 0 && n->i < (int64_t)bits;
  return n->lo >= 0 && n->hi < (int64_t)bits;
}

static ocl_text ocl_shift(ocl *m, const ir_node *n, ocl_text a, ocl_text by) {
  tess_dtype t = n->dtype;
  bool left = n->a == IR_FN_SHL, wide = ocl_is_wide(m, t);
  bool direct = is_within_width(m, operand(m, n, 1), t.bits) &&
                (!left || t.code != TESS_DTYPE_INT);
  if (!direct)
    return ocl_per_lane(m, t, ocl_helper_shift(m, t, left), 2,
                        (ocl_text[]){a, by}, (tess_dtype[]){t, t});
  ocl_text r = ocl_infix(m, a, left ? "<<" : ">>", by, OCL_SHIFT);
  if (t.bits >= 32 || wide) return r;
  return ocl_text_of(m, OCL_UNARY, "(%s)(%s)", ocl_type(m, t), r.s);
}

static ocl_text ocl_bits(ocl *m, const ir_node *n, ocl_text a, ocl_text b) {
  bool and = n->a == IR_FN_BITAND, xor = n->a == IR_FN_BITXOR;
  ocl_text r = ocl_infix(m, a,
                         and  ? "&"
                         : xor? "^"
                              : "|",
                         b,
                         and  ? OCL_AND
                         : xor? OCL_XOR
                              : OCL_OR);
  if (n->dtype.bits >= 32 || ocl_is_wide(m, n->dtype)) return r;
  return ocl_text_of(m, OCL_UNARY, "(%s)(%s)", ocl_type(m, n->dtype), r.s);
}

/* ---- functions ------------------------------------------------------ */

static const char *const ocl_function[IR_FN_COUNT] = {
    [IR_FN_SQRT] = "sqrt", [IR_FN_ABS] = "fabs",   [IR_FN_FLOOR] = "floor",
    [IR_FN_CEIL] = "ceil", [IR_FN_ROUND] = "rint", [IR_FN_FMA] = "fma",
};

static ocl_text float_function(ocl *m, const ir_node *n, const ocl_text *v) {
  const char *f = ocl_function[n->a];
  if (n->dtype.bits < 32 || !f) return refuse_call(m, n);
  if (n->n == 1) return ocl_text_of(m, OCL_PRIMARY, "%s(%s)", f, v[0].s);
  return ocl_text_of(m, OCL_PRIMARY, "%s(%s, %s, %s)", f, v[0].s, v[1].s,
                     v[2].s);
}

/* On integers all but abs are the identity. */
static ocl_text int_function(ocl *m, const ir_node *n, ocl_text v) {
  if (n->a != IR_FN_ABS || n->dtype.code != TESS_DTYPE_INT) return v;
  const char *type = ocl_type(m, n->dtype);
  if (ocl_is_wide(m, n->dtype))
    return ocl_text_of(m, OCL_PRIMARY, "as_%s(abs(%s))", type, v.s);
  return ocl_text_of(m, OCL_UNARY, "(%s)abs((%s)%s)", type, type,
                     ocl_in(m, v, OCL_UNARY));
}

static ocl_text reinterpret(ocl *m, const ir_node *n, ocl_text v) {
  tess_dtype from = ir_at(m->p, operand(m, n, 0))->dtype;
  return ocl_text_of(m, OCL_PRIMARY, "as_%s((%s)%s)", ocl_type(m, n->dtype),
                     ocl_type(m, from), ocl_in(m, v, OCL_UNARY));
}

ocl_text ocl_call(ocl *m, ir_expr e) {
  enum { MOST = 3 };
  const ir_node n = *ir_at(m->p, e);
  ocl_text v[MOST] = {{.s = "0"}, {.s = "0"}, {.s = "0"}};
  if (n.a == IR_FN_EXTERN || n.n > MOST || !n.n || ir_fn_of_warp(n.a) ||
      ir_fn_of_copies(n.a))
    return refuse_call(m, &n);
  for (uint32_t i = 0; i < n.n; i++) v[i] = ocl_expr(m, operand(m, &n, i));
  ocl_text r;
  switch ((ir_fn)n.a) {
  case IR_FN_REINTERPRET: r = reinterpret(m, &n, v[0]); break;
  case IR_FN_SHL:
  case IR_FN_SHR: r = ocl_shift(m, &n, v[0], v[1]); break;
  case IR_FN_BITAND:
  case IR_FN_BITOR:
  case IR_FN_BITXOR: r = ocl_bits(m, &n, v[0], v[1]); break;
  default:
    if (!ocl_function[n.a]) return refuse_call(m, &n);
    r = ir_is_float(n.dtype) ? float_function(m, &n, v)
                             : int_function(m, &n, v[0]);
  }
  for (uint32_t i = 0; i < n.n; i++)
    if (v[i].depth >= r.depth) r.depth = (uint16_t)(v[i].depth + 1);
  return r;
}
