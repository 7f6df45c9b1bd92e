/* SPDX-License-Identifier: Apache-2.0
 * Printing expressions: infix, with minimal parentheses. */
#include "ir/edit.h"
#include "ir/print/print.h"
#include "ir/query.h"

/* Operator precedence; an operand of lower precedence is parenthesized. */
enum { P_OR = 1, P_AND, P_COMPARE, P_SUM, P_PRODUCT, P_UNARY, P_ATOM };

/* Printing expands shared nodes to a tree, which may be exponentially larger;
 * after this many nodes the output is truncated. */
enum { MAX_NODES = 20000 };

/* `known`: the place says which type e has, so that its literals need none. */
static void expr_at(printer *pr, ir_expr e, int level, bool known);

/* c for index x * c with c < 0 (not INT64_MIN), else 0: index arithmetic has
 * no subtractions, so that one is read back as what it was; of values they
 * differ from sums. */
static int64_t negative_factor(const ir_program *p, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  int64_t c;
  if (n->op != IR_MUL || !n->is_index || !ir_const_int(p, n->b, &c)) return 0;
  return c < 0 && c != INT64_MIN ? c : 0;
}

static int level_of(const ir_program *p, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  switch ((ir_op)n->op) {
  case IR_OR: return P_OR;
  case IR_AND: return P_AND;
  case IR_EQ:
  case IR_NE:
  case IR_LT:
  case IR_LE: return P_COMPARE;
  case IR_ADD:
  case IR_SUB: return P_SUM;
  case IR_MUL: return negative_factor(p, e) == -1 ? P_UNARY : P_PRODUCT;
  case IR_DIV:
  case IR_MOD: return P_PRODUCT;
  case IR_NOT: return P_UNARY;
  default: return P_ATOM;
  }
}

/* ---- which operands say their type ------------------------------------- */

/* As the reader finds types (ir/read/typed.c): not of literals. */
static bool has_type(const ir_program *p, ir_expr e);

static bool one_has_type(const ir_program *p, uint32_t n, const uint32_t *e) {
  for (uint32_t i = 0; i < n; i++)
    if (has_type(p, e[i])) return true;
  return false;
}

static bool call_has_type(const ir_program *p, const ir_node *n) {
  if (n->a == IR_FN_REINTERPRET || ir_fn_is_named(n->a) ||
      ir_fn_of_copies(n->a) || (n->a >= IR_FN_BALLOT && n->a <= IR_FN_ALL))
    return true;
  if (ir_fn_of_warp(n->a)) return has_type(p, p->arg.v[n->b + 1]);
  return one_has_type(p, n->n, p->arg.v + n->b);
}

static bool has_type(const ir_program *p, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  switch ((ir_op)n->op) {
  case IR_INT: return n->dtype.code == TESS_DTYPE_BOOL;
  case IR_REAL: return false;
  case IR_ADD:
  case IR_SUB:
  case IR_MUL:
  case IR_DIV:
  case IR_MOD:
  case IR_MIN:
  case IR_MAX:
  case IR_RAMP: return has_type(p, n->a) || has_type(p, n->b);
  case IR_SELECT: return has_type(p, n->b) || has_type(p, n->c);
  case IR_BROADCAST: return has_type(p, n->a);
  case IR_CALL: return call_has_type(p, n);
  default: return true;
  }
}

/* ---- operands ----------------------------------------------------------- */

static void print_list(printer *pr, uint32_t at, uint32_t n, bool known) {
  for (uint32_t i = 0; i < n; i++) {
    if (i) str_puts(pr->out, ", ");
    expr_at(pr, pr->p->arg.v[at + i], P_OR, known);
  }
}

void print_real(strbuf *out, double f) {
  size_t at = out->n;
  str_put_double(out, f);
  if (!out->bad && !strpbrk(out->v + at, ".en")) str_puts(out, ".0");
}

static void print_integer(strbuf *out, const ir_node *n) {
  if (n->dtype.code == TESS_DTYPE_BOOL)
    str_puts(out, n->i ? "true" : "false");
  else if (n->dtype.code == TESS_DTYPE_UINT)
    str_printf(out, "%llu", (unsigned long long)n->i);
  else
    str_printf(out, "%lld", (long long)n->i);
}

/* A literal, with its type where nothing says it and it is not the default. */
static void print_literal(printer *pr, const ir_node *n, bool known) {
  tess_dtype usual =
      n->op == IR_INT ? IR_INDEX : (tess_dtype){TESS_DTYPE_FLOAT, 32, 1};
  bool typed = !known && n->dtype.code != TESS_DTYPE_BOOL &&
               !ir_dtype_eq(n->dtype, usual);
  if (typed) ir_dtype_print(n->dtype, pr->out), str_putc(pr->out, '(');
  if (n->op == IR_INT)
    print_integer(pr->out, n);
  else
    print_real(pr->out, n->f);
  if (typed) str_putc(pr->out, ')');
}

/* first - x * |c|, for e = x * c with c < 0. */
static void print_difference(printer *pr, ir_expr first, ir_expr e, int64_t c) {
  expr_at(pr, first, P_SUM, true);
  str_puts(pr->out, " - ");
  expr_at(pr, ir_at(pr->p, e)->a, P_PRODUCT, true);
  if (c != -1) str_printf(pr->out, " * %lld", (long long)-c);
}

/* a + b, with a negative term printed as a subtraction. */
static void print_sum(printer *pr, const ir_node *n, bool known) {
  int64_t c = negative_factor(pr->p, n->a), k;
  bool positive = ir_const_int(pr->p, n->b, &k) && k > 0;
  if (c && positive) {
    print_difference(pr, n->b, n->a, c);
    return;
  }
  c = negative_factor(pr->p, n->b);
  if (c) {
    print_difference(pr, n->a, n->b, c);
    return;
  }
  known = known || has_type(pr->p, n->a) || has_type(pr->p, n->b);
  expr_at(pr, n->a, P_SUM, known);
  if (n->is_index && ir_const_int(pr->p, n->b, &k) && k < 0 && k != INT64_MIN) {
    str_printf(pr->out, " - %lld", (long long)-k);
    return;
  }
  str_puts(pr->out, " + ");
  expr_at(pr, n->b, P_PRODUCT, known);
}

static void print_infix(printer *pr, ir_expr e, const ir_node *n, bool known) {
  int level = level_of(pr->p, e);
  known = (known && level > P_COMPARE) || has_type(pr->p, n->a) ||
          has_type(pr->p, n->b);
  bool real_div = n->op == IR_DIV && ir_is_float(n->dtype);
  expr_at(pr, n->a, level == P_COMPARE ? P_SUM : level, known);
  str_printf(pr->out, " %s ", real_div ? "/" : ir_op_text((ir_op)n->op));
  expr_at(pr, n->b, level + 1, known);
}

static void print_product(printer *pr, ir_expr e, const ir_node *n,
                          bool known) {
  if (negative_factor(pr->p, e) != -1) {
    print_infix(pr, e, n, known);
    return;
  }
  str_putc(pr->out, '-');
  expr_at(pr, n->a, P_UNARY, known);
}

static void print_load(printer *pr, const ir_node *n) {
  if (n->c) str_puts(pr->out, "masked(");
  str_printf(pr->out, "%s[", print_buf(pr, n->a));
  print_list(pr, n->b, n->n, true);
  str_putc(pr->out, ']');
  if (!n->c) return;
  str_puts(pr->out, ", ");
  expr_at(pr, n->c, P_OR, true);
  str_putc(pr->out, ')');
}

/* (mask, value, lane): the mask is known to be bits, a condition a bool. */
static void print_warp_args(printer *pr, const ir_node *n, bool known) {
  const uint32_t *arg = pr->p->arg.v + n->b;
  known = known || n->a >= IR_FN_BALLOT || has_type(pr->p, arg[1]);
  for (uint32_t i = 0; i < n->n; i++) {
    if (i) str_puts(pr->out, ", ");
    expr_at(pr, pr->p->arg.v[n->b + i], P_OR, i == 0 || (i == 1 && known));
  }
}

static void print_call(printer *pr, const ir_node *n, bool known) {
  bool named = ir_fn_is_named(n->a) || n->a == IR_FN_REINTERPRET;
  if (n->a == IR_FN_EXTERN || n->a == IR_FN_REINTERPRET)
    ir_dtype_print(n->dtype, pr->out);
  if (n->a == IR_FN_EXTERN)
    str_printf(pr->out, ".extern \"%s\"(", ir_text(pr->p, n->c));
  else if (n->a == IR_FN_INSTEAD)
    str_printf(pr->out, "instead \"%s\"(", ir_text(pr->p, n->c));
  else if (n->a == IR_FN_REINTERPRET)
    str_puts(pr->out, ".bits(");
  else
    str_printf(pr->out, "%s(", ir_fn_text((ir_fn)n->a));
  if (ir_fn_of_warp(n->a))
    print_warp_args(pr, n, known);
  else
    print_list(pr, n->b, n->n,
               !named && (known || ir_fn_of_copies(n->a) ||
                          one_has_type(pr->p, n->n, pr->p->arg.v + n->b)));
  str_putc(pr->out, ')');
}

/* name(a, b, c), with as many operands as there are. */
static void print_prefix(printer *pr, const char *name, ir_expr a, ir_expr b,
                         ir_expr c, bool known) {
  str_printf(pr->out, "%s(", name);
  expr_at(pr, a, P_OR, c || known);
  if (b) {
    str_puts(pr->out, ", ");
    expr_at(pr, b, P_OR, known);
  }
  if (c) {
    str_puts(pr->out, ", ");
    expr_at(pr, c, P_OR, known);
  }
  str_putc(pr->out, ')');
}

static void print_vector(printer *pr, ir_expr e, const ir_node *n, bool known) {
  known = known || has_type(pr->p, e);
  str_printf(pr->out, "%s(", ir_op_text((ir_op)n->op));
  expr_at(pr, n->a, P_OR, known);
  if (n->op == IR_RAMP) {
    str_puts(pr->out, ", ");
    expr_at(pr, n->b, P_OR, known);
  }
  str_printf(pr->out, ", %u)", (unsigned)n->dtype.lanes);
}

static void print_node(printer *pr, ir_expr e, bool known) {
  const ir_node *n = ir_at(pr->p, e);
  switch ((ir_op)n->op) {
  case IR_NONE: str_puts(pr->out, "none"); break;
  case IR_INT:
  case IR_REAL: print_literal(pr, n, known); break;
  case IR_VAR: str_puts(pr->out, print_var(pr, n->a)); break;
  case IR_ADD: print_sum(pr, n, known); break;
  case IR_MUL: print_product(pr, e, n, known); break;
  case IR_SUB:
  case IR_DIV:
  case IR_MOD:
  case IR_EQ:
  case IR_NE:
  case IR_LT:
  case IR_LE:
  case IR_AND:
  case IR_OR: print_infix(pr, e, n, known); break;
  case IR_MIN:
  case IR_MAX:
    print_prefix(pr, ir_op_text((ir_op)n->op), n->a, n->b, 0,
                 known || has_type(pr->p, e));
    break;
  case IR_NOT:
    str_putc(pr->out, '!');
    expr_at(pr, n->a, P_UNARY, true);
    break;
  case IR_SELECT:
    print_prefix(pr, "select", n->a, n->b, n->c, known || has_type(pr->p, e));
    break;
  case IR_CAST:
    ir_dtype_print(n->dtype, pr->out);
    print_prefix(pr, "", n->a, 0, 0, false);
    break;
  case IR_LOAD: print_load(pr, n); break;
  case IR_RAMP:
  case IR_BROADCAST: print_vector(pr, e, n, known); break;
  case IR_CALL: print_call(pr, n, known); break;
  }
}

/* e, parenthesized if its precedence is below `level`. */
static void expr_at(printer *pr, ir_expr e, int level, bool known) {
  if (!pr->budget) {
    str_puts(pr->out, "...");
    return;
  }
  pr->budget--;
  bool paren = level_of(pr->p, e) < level;
  if (paren) str_putc(pr->out, '(');
  print_node(pr, e, known);
  if (paren) str_putc(pr->out, ')');
}

void print_expr(printer *pr, ir_expr e) {
  pr->budget = MAX_NODES;
  expr_at(pr, e, P_OR, true);
}

void print_untyped_expr(printer *pr, ir_expr e) {
  pr->budget = MAX_NODES;
  expr_at(pr, e, P_OR, false);
}

/* One dimension: the index if it is a point, else the range; "m +: n" is n
 * elements from m on. */
static void print_interval(printer *pr, ir_expr min, ir_expr extent) {
  int64_t lo, n;
  if (ir_is_const(pr->p, extent, 1)) {
    print_expr(pr, min);
  } else if (ir_const_int(pr->p, min, &lo) && ir_const_int(pr->p, extent, &n)) {
    str_printf(pr->out, "%lld:%lld", (long long)lo,
               (long long)((uint64_t)lo + (uint64_t)n));
  } else {
    print_expr(pr, min);
    str_puts(pr->out, " +: ");
    print_expr(pr, extent);
  }
}

void print_region(printer *pr, ir_region r) {
  str_printf(pr->out, "%s[", print_buf(pr, r.buf));
  for (uint32_t d = 0; d < ir_ndim(pr->p, r.buf); d++) {
    if (d) str_puts(pr->out, ", ");
    print_interval(pr, ir_region_min(pr->p, r, d),
                   ir_region_extent(pr->p, r, d));
  }
  str_putc(pr->out, ']');
}

static void expr_alone(printer *pr, uint32_t e) { print_expr(pr, e); }

void ir_print_expr(const ir_program *p, ir_expr e, strbuf *out) {
  print_run(p, NULL, out, expr_alone, e);
}
