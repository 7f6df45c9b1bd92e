/* SPDX-License-Identifier: Apache-2.0
 * Reducers: (combine, identity) over tuples; the built-in ones. */
#include "ir/edit.h"
#include "ir/query.h"
#include <math.h>

uint32_t ir_reducer_new(ir_program *p, ir_str name, uint32_t n,
                        const ir_var *lhs, const ir_var *rhs,
                        const ir_expr *combine, const ir_expr *identity) {
  ir_reducer r = {.name = name, .n = n};
  r.lhs = ir_arg_span(p, n, lhs);
  r.rhs = ir_arg_span(p, n, rhs);
  r.combine = ir_arg_span(p, n, combine);
  r.identity = ir_arg_span(p, n, identity);
  return vec_push(p->heap, &p->reducer, r);
}

void ir_reducer_apply(ir_program *p, arena *scratch, uint32_t reducer,
                      const ir_expr *lhs, const ir_expr *rhs, ir_expr *out) {
  ir_reducer r = p->reducer.v[reducer];
  ir_subst s;
  ir_subst_init(&s, p, scratch);
  for (uint32_t i = 0; i < r.n; i++) {
    ir_subst_var(&s, p->arg.v[r.lhs.at + i], lhs[i]);
    ir_subst_var(&s, p->arg.v[r.rhs.at + i], rhs[i]);
  }
  for (uint32_t i = 0; i < r.n; i++)
    out[i] = ir_subst_expr(&s, p->arg.v[r.combine.at + i]);
}

/* ---- built-in ones ------------------------------------------------------ */

typedef struct builtin {
  const char *name;
  ir_op op, bool_op; /* of numbers; of truth values */
  enum { ZERO, ONE, GREATEST, LEAST } identity;
} builtin;

static const builtin builtins[] = {
    {"sum", IR_ADD, IR_OR, ZERO},
    {"prod", IR_MUL, IR_AND, ONE},
    {"min", IR_MIN, IR_AND, GREATEST},
    {"max", IR_MAX, IR_OR, LEAST},
};

/* The largest or smallest value of an integer type, as its 64 bits. */
static int64_t extreme(tess_dtype t, bool greatest) {
  if (t.code == TESS_DTYPE_BOOL) return greatest;
  if (t.code == TESS_DTYPE_UINT)
    return greatest ? (int64_t)(UINT64_MAX >> (64 - t.bits)) : 0;
  int64_t max = INT64_MAX >> (64 - t.bits);
  return greatest ? max : -max - 1;
}

ir_expr ir_extreme(ir_program *p, tess_dtype t, bool greatest) {
  if (ir_is_float(t))
    return ir_real(p, t, greatest ? (double)INFINITY : -(double)INFINITY);
  return ir_int(p, t, extreme(t, greatest));
}

static ir_expr identity_of(ir_program *p, const builtin *b, tess_dtype t) {
  if (b->identity == GREATEST || b->identity == LEAST)
    return ir_extreme(p, t, b->identity == GREATEST);
  int v = b->identity == ONE;
  return ir_is_float(t) ? ir_real(p, t, v) : ir_int(p, t, v);
}

static uint32_t builtin_new(ir_program *p, const builtin *b, ir_str name,
                            tess_dtype t) {
  ir_var x =
      ir_var_new(p, IR_VAR_FORMAL, ir_name(p, "x"), t, INT64_MIN, INT64_MAX);
  ir_var y =
      ir_var_new(p, IR_VAR_FORMAL, ir_name(p, "y"), t, INT64_MIN, INT64_MAX);
  ir_op op = t.code == TESS_DTYPE_BOOL ? b->bool_op : b->op;
  ir_expr combine = ir_binary(p, op, ir_ref(p, x), ir_ref(p, y));
  ir_expr identity = identity_of(p, b, t);
  return ir_reducer_new(p, name, 1, &x, &y, &combine, &identity);
}

static const builtin *find_builtin(const char *name) {
  for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
    if (!strcmp(name, builtins[i].name)) return &builtins[i];
  return NULL;
}

bool ir_reducer_is_builtin(const char *name) { return find_builtin(name); }

/* Each is made once a program and type. */
uint32_t ir_reducer_builtin(ir_program *p, const char *name, tess_dtype t) {
  const builtin *b = find_builtin(name);
  if (!b) return 0;
  ir_str s = ir_name(p, name);
  for (uint32_t r = 1; r < p->reducer.n; r++) {
    const ir_reducer *have = &p->reducer.v[r];
    if (have->n == 1 && have->name == s &&
        ir_dtype_eq(p->var.v[p->arg.v[have->lhs.at]].dtype, t))
      return r;
  }
  return builtin_new(p, b, s, t);
}
