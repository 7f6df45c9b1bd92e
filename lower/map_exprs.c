/* SPDX-License-Identifier: Apache-2.0
 * Rewrites expressions of a function, or below a statement, bottom-up. */
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/pass.h"

typedef struct mapping {
  ir_program *p;
  arena *scratch;
  lower_map_fn f;
  void *ud;
  ir_expr *memo;
  uint32_t n;
} mapping;

static ir_expr map_expr(mapping *m, ir_expr e);

/* The node again over new operands. */
static ir_expr rebuild(mapping *m, const ir_node *n, const ir_expr *a) {
  ir_program *p = m->p;
  switch ((ir_op)n->op) {
  case IR_NOT: return ir_not(p, a[0]);
  case IR_CAST: return ir_cast(p, n->dtype, a[0]);
  case IR_BROADCAST: return ir_broadcast(p, a[0], n->dtype.lanes);
  case IR_RAMP: return ir_ramp(p, a[0], a[1], n->dtype.lanes);
  case IR_SELECT: return ir_select(p, a[0], a[1], a[2]);
  case IR_LOAD:
    return n->c || n->dtype.lanes != p->buf.v[n->a].dtype.lanes
               ? ir_load_masked(p, n->a, n->dtype, n->n, a, n->c ? a[n->n] : 0)
               : ir_load(p, n->a, n->n, a);
  case IR_CALL:
    if (ir_fn_is_named(n->a)) {
      const char *name = arena_printf(m->scratch, "%s", ir_text(p, n->c));
      return ir_call_named(p, (ir_fn)n->a, name, n->dtype, n->n, a);
    }
    return ir_call(p, (ir_fn)n->a, n->dtype, n->n, a);
  default: return ir_binary(p, (ir_op)n->op, a[0], a[1]);
  }
}

static ir_expr map_node(mapping *m, ir_expr e) {
  ir_program *p = m->p;
  const ir_node n = *ir_at(p, e);
  const uint32_t *from;
  uint32_t fixed[3], count = ir_operands(p, e, &from, fixed);
  ir_expr *a = arena_array(m->scratch, ir_expr, count + 1);
  bool changed = false;
  if (from != fixed)
    memcpy(a, from, count * sizeof *a);
  else
    memcpy(a, fixed, count * sizeof *a);
  for (uint32_t i = 0; i < count; i++) {
    ir_expr old = a[i];
    a[i] = map_expr(m, old);
    changed |= a[i] != old;
  }
  ir_expr r = m->f(p, &n, a, m->ud);
  if (r) return r;
  return changed ? rebuild(m, &n, a) : e;
}

static ir_expr map_expr(mapping *m, ir_expr e) {
  if (!e) return 0;
  if (e >= m->n) {
    uint32_t n = m->p->node.n + 64;
    ir_expr *memo = arena_zalloc(m->scratch, n * sizeof *memo);
    if (m->n) memcpy(memo, m->memo, m->n * sizeof *memo);
    m->memo = memo;
    m->n = n;
  }
  if (m->memo[e]) return m->memo[e];
  ir_expr r = map_node(m, e);
  m->memo[e] = r;
  return r;
}

static void map_store(mapping *m, ir_stmt_rec *r) {
  ir_program *p = m->p;
  for (uint32_t i = 0; i < r->idx.n; i++) {
    ir_expr x = map_expr(m, p->arg.v[r->idx.at + i]);
    p->arg.v[r->idx.at + i] = x;
  }
  r->value = map_expr(m, r->value);
  r->mask = map_expr(m, r->mask);
}

void lower_map_below(ir_program *p, arena *scratch, ir_stmt top, lower_map_fn f,
                     void *ud) {
  mapping m = {p, scratch, f, ud, NULL, 0};
  for (ir_stmt s = top; s; s = ir_next(p, s, top)) {
    ir_stmt_rec r = *ir_st(p, s);
    switch ((ir_kind)r.kind) {
    case IR_LOOP:
      r.lo = map_expr(&m, r.lo);
      r.extent = map_expr(&m, r.extent);
      break;
    case IR_STORE: map_store(&m, &r); break;
    case IR_IF: r.cond = map_expr(&m, r.cond); break;
    case IR_LET: r.let_value = map_expr(&m, r.let_value); break;
    case IR_EVALUATE: r.eval = map_expr(&m, r.eval); break;
    default: continue;
    }
    *ir_st(p, s) = r;
  }
}

void lower_map(ir_program *p, arena *scratch, lower_map_fn f, void *ud) {
  lower_map_below(p, scratch, ir_entry(p)->root, f, ud);
}
