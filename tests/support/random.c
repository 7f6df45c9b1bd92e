/* SPDX-License-Identifier: Apache-2.0
 * Random index expressions. */
#include "ir/edit.h"
#include "support/random.h"

void random_vars(random_exprs *x, uint32_t n) {
  x->n = n;
  for (uint32_t i = 0; i < n; i++) {
    int64_t lo = rng_below(x->r, 3) ? 0 : test_pick(x->r, -6, 6);
    int64_t most = test_pick(x->r, 0, i < 2 ? 11 : 3);
    x->var[i] =
        ir_var_new(x->p, IR_VAR_LOOP, ir_name_n(x->p, &"ijklmnop"[i], 1),
                   IR_INDEX, lo, lo + most);
  }
}

static ir_expr node(random_exprs *x, ir_op op, ir_expr a, ir_expr b) {
  return x->made ? ir_binary(x->p, op, a, b) : test_raw(x->p, op, a, b);
}

static int64_t usual(random_exprs *x) {
  static const int64_t v[] = {1, 2, 3, 4, 6, 8, 12, 16};
  return v[rng_below(x->r, 8)];
}

/* Divisors are mostly positive constants that have factors in common. */
static ir_expr divisor(random_exprs *x) {
  uint64_t kind = rng_below(x->r, 12);
  if (!x->plain && kind == 0) return ir_index(x->p, test_pick(x->r, -5, 5));
  if (!x->plain && kind == 1) return random_index(x, 1);
  int64_t v = usual(x);
  return ir_index(x->p, v == 1 ? 4 : v);
}

static ir_expr leaf(random_exprs *x) {
  if (rng_below(x->r, 4)) return ir_ref(x->p, x->var[rng_below(x->r, x->n)]);
  if (rng_below(x->r, 2)) return ir_index(x->p, usual(x));
  return ir_index(x->p, test_pick(x->r, -9, 9));
}

ir_expr random_condition(random_exprs *x, int depth) {
  static const ir_op cmp[] = {IR_EQ, IR_NE, IR_LT, IR_LE, IR_LT, IR_LE};
  uint64_t kind = rng_below(x->r, 8);
  if (depth > 1 && kind < 3) {
    ir_expr a = random_condition(x, depth - 1);
    ir_expr b = random_condition(x, depth - 1);
    return node(x, kind == 0 ? IR_OR : IR_AND, a, b);
  }
  if (depth > 1 && kind == 3) {
    ir_expr a = random_condition(x, depth - 1);
    ir_node n = {.op = IR_NOT, .dtype = IR_BOOL, .a = a};
    return x->made ? ir_not(x->p, a) : ir_raw(x->p, &n, NULL);
  }
  ir_expr a = random_index(x, depth - 1), b = random_index(x, depth / 2);
  return node(x, cmp[rng_below(x->r, 6)], a, b);
}

/* (a % m + s) // c or (a % m + s) % c, where c divides m: digits of a window
 * that was moved. */
static ir_expr moved_digit(random_exprs *x, ir_expr a) {
  ir_program *p = x->p;
  int64_t c = test_pick(x->r, 2, 6), m = c * test_pick(x->r, 1, 4);
  ir_expr low = node(x, IR_MOD, a, ir_index(p, m));
  ir_expr s = ir_index(p, test_pick(x->r, -3, 6));
  return node(x, rng_below(x->r, 4) ? IR_DIV : IR_MOD, node(x, IR_ADD, low, s),
              ir_index(p, c));
}

/* Every operator; sums, multiples and divisions by constants most often. */
ir_expr random_index(random_exprs *x, int depth) {
  if (depth <= 0 || rng_below(x->r, 12) == 0) return leaf(x);
  ir_expr a = random_index(x, depth - 1), b;
  if (depth > 1 && rng_below(x->r, 10) == 0) return moved_digit(x, a);
  uint64_t kind = rng_below(x->r, x->plain ? 14 : 16);
  if (kind >= 5 && kind < 14)
    return node(x,
                kind < 8    ? IR_MUL
                : kind < 11 ? IR_DIV
                            : IR_MOD,
                a, divisor(x));
  b = random_index(x, depth - 1);
  if (kind < 5) return node(x, kind == 4 ? IR_SUB : IR_ADD, a, b);
  if (kind == 14) return node(x, rng_below(x->r, 2) ? IR_MIN : IR_MAX, a, b);
  ir_expr c = random_condition(x, depth - 1);
  ir_node n = {.op = IR_SELECT, .dtype = IR_INDEX, .a = c, .b = a, .c = b};
  return x->made ? ir_select(x->p, c, a, b) : ir_raw(x->p, &n, NULL);
}
