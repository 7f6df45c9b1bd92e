/* SPDX-License-Identifier: Apache-2.0
 * Brute force over integer expressions. */
#include "ir/edit.h"
#include "ir/query.h"
#include "ir/scalar.h"
#include "support/expr.h"

#include <stdio.h>
#include <stdlib.h>

uint64_t test_seed(void) {
  const char *s = getenv("TESS_SEED");
  uint64_t seed = s ? strtoull(s, NULL, 0) : 1;
  fprintf(stderr, "seed: TESS_SEED=%llu\n", (unsigned long long)seed);
  return seed;
}

uint32_t test_runs(uint32_t n) {
  const char *s = getenv("TESS_RUNS");
  return s ? (uint32_t)strtoul(s, NULL, 0) : n;
}

int64_t test_pick(rng *r, int64_t lo, int64_t hi) {
  return lo + (int64_t)rng_below(r, (uint64_t)(hi - lo) + 1);
}

/* ---- values ------------------------------------------------------------- */

static int64_t eval_load(const ir_program *p, const ir_node *n,
                         const int64_t *value) {
  uint64_t h = n->a;
  for (uint32_t i = 0; i < n->n; i++)
    h = h * 31 + (uint64_t)test_eval(p, p->arg.v[n->b + i], value);
  return ir_wrap_int(n->dtype, (int64_t)(h * 0x9e3779b97f4a7c15u >> 13));
}

static int64_t eval_node(const ir_program *p, const ir_node *n,
                         const int64_t *value) {
  switch ((ir_op)n->op) {
  case IR_INT: return n->i;
  case IR_VAR: return value[n->a];
  case IR_LOAD: return eval_load(p, n, value);
  case IR_NOT: return !test_eval(p, n->a, value);
  case IR_SELECT:
    return test_eval(p, test_eval(p, n->a, value) ? n->b : n->c, value);
  case IR_CAST:
    return ir_cast_int(n->dtype, ir_at(p, n->a)->dtype,
                       test_eval(p, n->a, value));
  default:
    return ir_fold_int((ir_op)n->op, ir_at(p, n->a)->dtype,
                       test_eval(p, n->a, value), test_eval(p, n->b, value));
  }
}

int64_t test_eval(const ir_program *p, ir_expr e, const int64_t *value) {
  const ir_node *n = ir_at(p, e);
  int64_t v = eval_node(p, n, value);
  bool huge = n->dtype.code == TESS_DTYPE_UINT && v < 0;
  if (huge ? n->hi != INT64_MAX : v < n->lo || v > n->hi)
    fail_msg("%lld outside [%lld, %lld] of %s", (long long)v, (long long)n->lo,
             (long long)n->hi, test_text(p, e));
  return v;
}

/* ---- building ----------------------------------------------------------- */

ir_expr test_raw(ir_program *p, ir_op op, ir_expr a, ir_expr b) {
  tess_dtype t = ir_at(p, a)->dtype;
  ir_node n = {.op = (uint8_t)op,
               .a = a,
               .b = b,
               .dtype = op >= IR_EQ && op <= IR_OR ? IR_BOOL : t};
  return ir_raw(p, &n, NULL);
}

ir_expr test_rebuild(ir_program *p, ir_expr e, uint32_t nmap,
                     const ir_expr *map) {
  ir_node n = *ir_at(p, e);
  ir_expr x[3], idx[8];
  switch ((ir_op)n.op) {
  case IR_INT:
  case IR_REAL: return e;
  case IR_VAR: return n.a < nmap && map[n.a] ? map[n.a] : e;
  case IR_LOAD:
    for (uint32_t i = 0; i < n.n; i++)
      idx[i] = test_rebuild(p, p->arg.v[n.b + i], nmap, map);
    return ir_load(p, n.a, n.n, idx);
  case IR_NOT: return ir_not(p, test_rebuild(p, n.a, nmap, map));
  case IR_CAST: return ir_cast(p, n.dtype, test_rebuild(p, n.a, nmap, map));
  case IR_SELECT:
    x[0] = test_rebuild(p, n.a, nmap, map);
    x[1] = test_rebuild(p, n.b, nmap, map);
    x[2] = test_rebuild(p, n.c, nmap, map);
    return ir_select(p, x[0], x[1], x[2]);
  default:
    x[0] = test_rebuild(p, n.a, nmap, map);
    x[1] = test_rebuild(p, n.b, nmap, map);
    return ir_binary(p, (ir_op)n.op, x[0], x[1]);
  }
}

bool test_each_point(const ir_program *p, uint32_t n, const ir_var *var,
                     int64_t *value, bool (*f)(void *ud), void *ud) {
  for (uint32_t i = 0; i < n; i++) {
    value[var[i]] = p->var.v[var[i]].lo;
    if (p->var.v[var[i]].hi < p->var.v[var[i]].lo) return true;
  }
  for (;;) {
    if (!f(ud)) return false;
    uint32_t i = n;
    while (i > 0 && value[var[i - 1]] == p->var.v[var[i - 1]].hi) {
      i--;
      value[var[i]] = p->var.v[var[i]].lo;
    }
    if (i == 0) return true;
    value[var[i - 1]]++;
  }
}

const char *test_text(const ir_program *p, ir_expr e) {
  static char text[8][2048];
  static unsigned turn;
  strbuf b;
  str_init(&b, p->heap);
  ir_print_expr(p, e, &b);
  char *out = text[turn++ % 8];
  snprintf(out, sizeof text[0], "%s", str_get(&b));
  str_free(&b);
  return out;
}
