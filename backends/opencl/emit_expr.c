/* SPDX-License-Identifier: Apache-2.0
 * Expressions to OpenCL C: which of them get a constant of their own, slices
 * of vectors, and the dispatch by operator. */
#include "backends/opencl/emit.h"
#include "ir/query.h"
#include <string.h>

/* ---- uses ----------------------------------------------------------- */

void ocl_count(ocl *m, ir_expr e) {
  if (!e || m->uses[e]++) return;
  m->counted[m->ncounted++] = e;
  const uint32_t *operands;
  uint32_t fixed[3], k = ir_operands(m->p, e, &operands, fixed);
  for (uint32_t i = 0; i < k; i++) ocl_count(m, operands[i]);
}

/* ---- values at this place ------------------------------------------- */

uint32_t ocl_mark(const ocl *m) { return m->ntrail; }

void ocl_release(ocl *m, uint32_t mark) {
  while (m->ntrail > mark) m->value[m->trail[--m->ntrail]].s = NULL;
}

void ocl_forget(ocl *m) {
  ocl_release(m, 0);
  while (m->ncounted) m->uses[m->counted[--m->ncounted]] = 0;
  m->first = 0;
  m->width = 1;
  m->mask.s = NULL;
}

/* Values of scalars stay. */
void ocl_slice(ocl *m, uint32_t first, uint32_t width) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < m->ntrail; i++) {
    ir_expr e = m->trail[i];
    if (ir_at(m->p, e)->dtype.lanes > 1)
      m->value[e].s = NULL;
    else
      m->trail[kept++] = e;
  }
  m->ntrail = kept;
  m->first = first;
  m->width = width;
}

uint32_t ocl_slice_width(uint32_t lanes, uint32_t first) {
  uint32_t left = lanes - first, width = 16;
  while (width > left) width /= 2;
  return width;
}

/* ---- constants of their own ----------------------------------------- */

/* Deeper nests of parentheses strain the device's compiler. */
enum { DEEP = 24, SHORT = 16 };

static bool deserves_name(const ocl *m, const ir_node *n, ir_expr e,
                          ocl_text t) {
  if (n->op == IR_INT || n->op == IR_REAL || n->op == IR_VAR) return false;
  if (t.depth > DEEP) return true;
  if (m->uses[e] < 2 || n->op == IR_BROADCAST) return false;
  bool is_short = strlen(t.s) <= SHORT && !n->has_load;
  return !(n->is_index && is_short);
}

/* ---- operators ------------------------------------------------------ */

/* base + stride * (first, first + 1, ...) */
static ocl_text ocl_ramp(ocl *m, const ir_node *n) {
  tess_dtype one = ocl_scalar(n->dtype);
  ocl_text base = ocl_expr(m, n->a), stride = ocl_expr(m, n->b);
  if (!ocl_is_wide(m, n->dtype)) {
    if (!m->first) return base;
    ocl_text by =
        ir_is_const(m->p, n->b, 1)
            ? ocl_int(m, one, m->first)
            : ocl_infix(m, stride, "*", ocl_int(m, one, m->first), OCL_MUL);
    return ocl_infix(m, base, "+", by, OCL_ADD);
  }
  const char *steps = "";
  for (uint32_t k = 0; k < m->width; k++)
    steps =
        arena_printf(m->scratch, "%s%s%u", steps, k ? ", " : "", m->first + k);
  const char *type = ocl_type(m, n->dtype);
  ocl_text at = ocl_text_of(m, OCL_UNARY, "(%s)(%s)", type, steps);
  if (!ir_is_const(m->p, n->b, 1))
    at = ocl_infix(m, ocl_splat(m, n->dtype, stride), "*", at, OCL_MUL);
  return ocl_infix(m, ocl_splat(m, n->dtype, base), "+", at, OCL_ADD);
}

static ocl_text ocl_not(ocl *m, const ir_node *n) {
  ocl_text a = ocl_expr(m, n->a);
  return ocl_text_of(m, OCL_UNARY, "%s%s", ocl_is_wide(m, n->dtype) ? "~" : "!",
                     ocl_in(m, a, OCL_UNARY));
}

/* A vector variable has a constant for each slice. */
static ocl_text ocl_variable(ocl *m, const ir_node *n) {
  const char *name = ocl_var(m, n->a);
  if (n->dtype.lanes > 1 && ocl_slice_width(n->dtype.lanes, 0) < n->dtype.lanes)
    return ocl_text_of(m, OCL_PRIMARY, "%s_from_%u", name, m->first);
  return ocl_text_of(m, OCL_PRIMARY, "%s", name);
}

static ocl_text ocl_operator(ocl *m, ir_expr e) {
  const ir_node n = *ir_at(m->p, e);
  switch ((ir_op)n.op) {
  case IR_INT: return ocl_int(m, n.dtype, n.i);
  case IR_REAL: return ocl_real(m, n.dtype, n.f);
  case IR_VAR: return ocl_variable(m, &n);
  case IR_AND:
  case IR_OR: return ocl_logic(m, e);
  case IR_NOT: return ocl_not(m, &n);
  case IR_SELECT: return ocl_choice(m, e);
  case IR_CAST: return ocl_cast(m, n.dtype, n.a, ocl_expr(m, n.a));
  case IR_LOAD: return ocl_load(m, e);
  case IR_RAMP: return ocl_ramp(m, &n);
  case IR_BROADCAST: return ocl_splat(m, n.dtype, ocl_expr(m, n.a));
  case IR_CALL: return ocl_call(m, e);
  default: return ocl_binary(m, e);
  }
}

ocl_text ocl_expr(ocl *m, ir_expr e) {
  if (m->value[e].s) return m->value[e];
  if (m->refused) return (ocl_text){.s = "0", .prec = OCL_PRIMARY};
  ocl_text t = ocl_operator(m, e);
  const ir_node *n = ir_at(m->p, e);
  if (ir_is_float(n->dtype) && n->dtype.bits == 64) m->has_double = true;
  if (deserves_name(m, n, e, t)) t = ocl_bind(m, ocl_type(m, n->dtype), t);
  m->value[e] = t;
  m->trail[m->ntrail++] = e;
  return t;
}
