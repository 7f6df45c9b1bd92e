/* SPDX-License-Identifier: Apache-2.0
 * Inputs on both sides of data comparisons: the constants compared with,
 * propagated backwards through invertible arithmetic to single inputs. */
#include "backends/interp/interp.h"
#include "ir/edit.h"
#include "ir/query.h"

#include <math.h>

/* Limit on expressions visited for one constant, through intermediate
 * buffers. */
enum { MOST_SOLVED = 256, DEEPEST = 32 };

typedef struct solving {
  const ir_program *p;
  interp_few *few;
  uint32_t left, depth;
} solving;

static void add_value(interp_few *few, double v) {
  for (uint32_t i = 0; i < few->n; i++)
    if (few->v[i] == v) return;
  if (few->n < INTERP_MOST_FEW) few->v[few->n++] = v;
}

/* v and its neighbours, with so few bits that products with constants still are
 * ordered among residues. */
static void add_around(interp_few *few, double v) {
  const double most = 0x1p31, known = 0x1p8;
  int exponent;
  if (!(fabs(v) < most)) return;
  frexp(v, &exponent);
  double grain = v * known == floor(v * known) ? known : ldexp(1, 7 - exponent);
  double lo = floor(v * grain) / grain, hi = ceil(v * grain) / grain;
  add_value(few, lo);
  add_value(few, hi);
  add_value(few, lo - 1);
  add_value(few, hi + 1);
  if (lo < hi) add_value(few, v); /* for comparisons of the unscaled value */
}

static bool constant_value(const ir_program *p, ir_expr e, double *v) {
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_CAST) return constant_value(p, n->a, v);
  if (n->op == IR_INT) *v = (double)n->i;
  if (n->op == IR_REAL) *v = n->f;
  return n->op == IR_INT || n->op == IR_REAL;
}

static void solve(solving *s, ir_expr e, double v);

/* Each store to the buffer may have produced it. */
static void solve_stores(solving *s, ir_buf b, double v) {
  const ir_program *p = s->p;
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt at = root; at && s->left; at = ir_next(p, at, root)) {
    const ir_stmt_rec *r = ir_st(p, at);
    if (r->kind == IR_STORE && r->buf == b) solve(s, r->value, v);
  }
}

static void solve_load(solving *s, ir_buf b, double v) {
  ir_role role = (ir_role)s->p->buf.v[b].role;
  if (role == IR_ROLE_INPUT || role == IR_ROLE_LAYOUT_FREE)
    add_around(s->few, v);
  solve_stores(s, b, v);
}

/* The multiplicity of e in the product at `at`; 0: it has other factors, too,
 * or more than are visited (squares of squares have very many). */
static uint32_t power_of(solving *s, ir_expr at, ir_expr e) {
  const ir_node *n = ir_at(s->p, at);
  if (at == e) return 1;
  if (n->op != IR_MUL || !s->left) return 0;
  s->left--;
  uint32_t a = power_of(s, n->a, e), b = a ? power_of(s, n->b, e) : 0;
  return a && b ? a + b : 0;
}

/* Solves x * x * .. = v. */
static bool solve_power(solving *s, ir_expr e, double v) {
  const ir_node *n = ir_at(s->p, e);
  ir_expr x = n->b;
  while (ir_at(s->p, x)->op == IR_MUL) x = ir_at(s->p, x)->b;
  uint32_t k = power_of(s, e, x);
  double root = k ? pow(fabs(v), 1.0 / k) : 0, whole = round(root);
  if (k < 2) return false;
  if (pow(whole, k) == fabs(v)) root = whole;
  solve(s, x, v < 0 ? -root : root);
  if (k % 2 == 0) solve(s, x, -root);
  return true;
}

/* Solves a op b = v for one operand, the other being the constant, or else the
 * neutral element. */
static void solve_binary(solving *s, ir_expr e, double v) {
  const ir_node *n = ir_at(s->p, e);
  double a = 0, b = 0;
  bool left = constant_value(s->p, n->a, &a),
       right = constant_value(s->p, n->b, &b);
  bool sum = n->op == IR_ADD || n->op == IR_SUB;
  if (!left) a = !sum;
  if (!right) b = !sum;
  switch ((ir_op)n->op) {
  case IR_ADD:
    if (!left) solve(s, n->a, v - b);
    if (!right) solve(s, n->b, v - a);
    break;
  case IR_SUB:
    if (!left) solve(s, n->a, v + b);
    if (!right) solve(s, n->b, a - v);
    break;
  case IR_MUL:
    if (solve_power(s, e, v)) break;
    if (!left) solve(s, n->a, v / b);
    if (!right) solve(s, n->b, v / a);
    break;
  case IR_DIV:
    if (!left) solve(s, n->a, v * b);
    if (!right) solve(s, n->b, a / v);
    break;
  default: /* min, max, modulo */
    if (!left) solve(s, n->a, v);
    if (!right) solve(s, n->b, v);
  }
}

static void solve_call(solving *s, const ir_node *n, double v) {
  const uint32_t *x = s->p->arg.v + n->b;
  switch ((ir_fn)n->a) {
  case IR_FN_ABS:
    solve(s, x[0], -v);
    solve(s, x[0], v);
    break;
  case IR_FN_FLOOR:
  case IR_FN_CEIL:
  case IR_FN_ROUND: solve(s, x[0], v); break;
  case IR_FN_SQRT: solve(s, x[0], v * v); break;
  default: break; /* any other residue, whatever the argument */
  }
}

static void solve_var(solving *s, ir_var var, double v) {
  const ir_var_rec *r = &s->p->var.v[var];
  if (r->kind == IR_VAR_LET && r->owner &&
      ir_st(s->p, r->owner)->kind == IR_LET)
    solve(s, ir_st(s->p, r->owner)->let_value, v);
}

/* Adds input values for which e may equal v. */
static void solve(solving *s, ir_expr e, double v) {
  const ir_node n = *ir_at(s->p, e);
  if (!s->left || s->depth == DEEPEST || !isfinite(v)) return;
  s->left--;
  s->depth++;
  switch ((ir_op)n.op) {
  case IR_LOAD: solve_load(s, n.a, v); break;
  case IR_VAR: solve_var(s, n.a, v); break;
  case IR_CAST:
  case IR_BROADCAST: solve(s, n.a, v); break;
  case IR_SELECT:
    solve(s, n.b, v);
    solve(s, n.c, v);
    break;
  case IR_CALL: solve_call(s, &n, v); break;
  case IR_ADD:
  case IR_SUB:
  case IR_MUL:
  case IR_DIV:
  case IR_MOD:
  case IR_MIN:
  case IR_MAX: solve_binary(s, e, v); break;
  default: break;
  }
  s->depth--;
}

/* An operand of a comparison, other than an index. */
bool interp_is_data(const ir_program *p, ir_expr e) {
  double v;
  return !constant_value(p, e, &v) && !ir_at(p, e)->is_index;
}

static bool compares_data(const ir_program *p) {
  for (ir_expr e = 1; e < p->node.n; e++) {
    const ir_node *n = ir_at(p, e);
    if (n->op >= IR_EQ && n->op <= IR_LE &&
        (interp_is_data(p, n->a) || interp_is_data(p, n->b)))
      return true;
  }
  return false;
}

/* The constants in sums, quotients and the like, one of which bounds the
 * distance of two compared values. */
static void add_constants(solving *s, ir_expr e) {
  const ir_node n = *ir_at(s->p, e);
  double v;
  if (!s->left || s->depth == DEEPEST || n.is_index) return;
  if (constant_value(s->p, e, &v)) {
    add_around(s->few, v);
    add_around(s->few, -v);
    return;
  }
  const uint32_t *ops;
  uint32_t fixed[3], k = ir_operands(s->p, e, &ops, fixed);
  s->left--;
  s->depth++;
  for (uint32_t i = 0; n.op != IR_LOAD && i < k; i++) add_constants(s, ops[i]);
  s->depth--;
}

static void add_distance(interp_few *few, const ir_program *p, ir_expr a,
                         ir_expr b) {
  solving s = {p, few, MOST_SOLVED, 0};
  double v;
  if (constant_value(p, a, &v) || constant_value(p, b, &v)) return;
  if (few->n == INTERP_MOST_FEW) return;
  if (!interp_is_data(p, a) && !interp_is_data(p, b)) return;
  add_constants(&s, a);
  add_constants(&s, b);
}

static void add_threshold(interp_few *few, const ir_program *p, ir_expr data,
                          ir_expr limit) {
  solving s = {p, few, MOST_SOLVED, 0};
  double v;
  if (!interp_is_data(p, data) || !constant_value(p, limit, &v)) return;
  if (few->n == INTERP_MOST_FEW) return;
  add_around(few, v);
  solve(&s, data, v);
}

void interp_few_add(interp_few *few, const ir_program *p) {
  if (!compares_data(p)) return;
  for (int v = -1; v <= 2; v++) add_value(few, v);
  for (ir_expr e = 1; e < p->node.n; e++) {
    const ir_node n = *ir_at(p, e);
    if (n.op < IR_MIN || n.op > IR_LE) continue;
    add_threshold(few, p, n.a, n.b);
    add_threshold(few, p, n.b, n.a);
    if (n.op >= IR_EQ) add_distance(few, p, n.a, n.b);
  }
}
