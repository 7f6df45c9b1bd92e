/* SPDX-License-Identifier: Apache-2.0
 * Bounds checking by witness: walks all accesses with the guards under which
 * they are executed, and refuses one that some instance does out of bounds. */
#include "ir/query.h"
#include "ir/verify/verify.h"
#include "ir/verify/witness.h"

/* Of the expressions of a statement: what is beyond is not checked. */
enum { CONTEXTS = 200, VISITS = 20000 };

typedef struct instances {
  verifier *v;
  witness_finder w;
  uint32_t *mark; /* by expression: the last context it was visited in */
  uint32_t context, contexts, visits;
  ir_stmt at;
} instances;

/* ---- one access --------------------------------------------------------- */

/* " where i = 4, I[vi] = 7" */
static void print_point(const instances *x) {
  const witness_finder *w = &x->w;
  uint64_t of = witness_deps(w, w->index) | witness_deps(w, w->extent);
  bool any = false;
  for (uint32_t i = 0; i < w->nslot; i++) {
    if (!(of >> i & 1)) continue;
    str_puts(x->v->why, any ? ", " : " where ");
    ir_print_expr(w->p, w->slot[i].node, x->v->why);
    str_printf(x->v->why, " = %lld", (long long)w->slot[i].range.lo);
    any = true;
  }
}

static bool fail_access(instances *x, ir_buf buf, uint32_t d, bool write) {
  const ir_program *p = x->v->p;
  strbuf *why = x->v->why;
  arith_range r = arith_bounds(p, x->w.index);
  verify_fail(x->v, "buffer '%s' is %s outside of its shape: index %u, `",
              ir_text(p, p->buf.v[buf].name), write ? "written" : "read", d);
  ir_print_expr(p, x->w.index, why);
  if (r.lo == INT64_MIN || r.hi == INT64_MAX)
    str_puts(why, "`,");
  else
    str_printf(why, "` in [%lld, %lld],", (long long)r.lo, (long long)r.hi);
  str_printf(why, " is %lld", (long long)x->w.found);
  print_point(x);
  str_puts(why, " and the extent is `");
  ir_print_expr(p, ir_dim(p, buf, d), why);
  return verify_fail_at(x->v, x->at, "`");
}

static bool access_ok(instances *x, ir_buf buf, uint32_t idx, bool write,
                      const witness_guard *guards) {
  const ir_program *p = x->v->p;
  for (uint32_t d = 0; d < ir_ndim(p, buf); d++) {
    ir_expr i = p->arg.v[idx + d];
    if (ir_at(p, i)->dtype.lanes == 1 &&
        witness_find(&x->w, guards, i, ir_dim(p, buf, d)))
      return fail_access(x, buf, d, write);
  }
  return true;
}

/* ---- expressions -------------------------------------------------------- */

static bool loads_ok(instances *x, ir_expr e, const witness_guard *guards);

/* Operand e, which is evaluated only if cond is as `kind` says. */
static bool guarded_ok(instances *x, ir_expr e, ir_expr cond, uint32_t kind,
                       const witness_guard *guards) {
  if (!ir_at(x->v->p, e)->has_load || x->contexts >= CONTEXTS) return true;
  witness_guard g = {guards, kind, 0, cond};
  uint32_t outer = x->context;
  x->contexts++;
  x->context = ++x->w.query; /* numbers the searches and contexts alike */
  bool ok = loads_ok(x, e, &g);
  x->context = outer;
  return ok;
}

static bool load_ok(instances *x, const ir_node *n,
                    const witness_guard *guards) {
  const ir_program *p = x->v->p;
  witness_guard masked = {guards, WITNESS_TRUE, 0, n->c};
  if (!access_ok(x, n->a, n->b, false, n->c ? &masked : guards)) return false;
  for (uint32_t i = 0; i < n->n; i++) {
    ir_expr at = p->arg.v[n->b + i];
    if (n->c ? !guarded_ok(x, at, n->c, WITNESS_TRUE, guards)
             : !loads_ok(x, at, guards))
      return false;
  }
  return !n->c || loads_ok(x, n->c, guards);
}

static bool operands_ok(instances *x, ir_expr e, const witness_guard *guards) {
  const uint32_t *op;
  uint32_t fixed[3], n = ir_operands(x->v->p, e, &op, fixed);
  for (uint32_t i = 0; i < n; i++)
    if (!loads_ok(x, op[i], guards)) return false;
  return true;
}

static bool loads_ok(instances *x, ir_expr e, const witness_guard *guards) {
  const ir_node *n = ir_at(x->v->p, e);
  if (!n->has_load || x->mark[e] == x->context || ir_is_instead(x->v->p, e))
    return true;
  if (x->visits++ >= VISITS) return true;
  x->mark[e] = x->context;
  switch ((ir_op)n->op) {
  case IR_LOAD: return load_ok(x, n, guards);
  case IR_SELECT:
    return loads_ok(x, n->a, guards) &&
           guarded_ok(x, n->b, n->a, WITNESS_TRUE, guards) &&
           guarded_ok(x, n->c, n->a, WITNESS_FALSE, guards);
  case IR_AND:
  case IR_OR:
    return loads_ok(x, n->a, guards) &&
           guarded_ok(x, n->b, n->a,
                      n->op == IR_AND ? WITNESS_TRUE : WITNESS_FALSE, guards);
  default: return operands_ok(x, e, guards);
  }
}

/* ---- statements --------------------------------------------------------- */

static bool store_ok(instances *x, const ir_stmt_rec *r,
                     const witness_guard *guards) {
  const ir_program *p = x->v->p;
  witness_guard masked = {guards, WITNESS_TRUE, 0, r->mask};
  const witness_guard *g = r->mask ? &masked : guards;
  if (r->mask && !loads_ok(x, r->mask, guards)) return false;
  if (!access_ok(x, r->buf, r->idx.at, true, g)) return false;
  if (g == &masked) x->context = ++x->w.query;
  for (uint32_t i = 0; i < r->idx.n; i++)
    if (!loads_ok(x, p->arg.v[r->idx.at + i], g)) return false;
  return loads_ok(x, r->value, g);
}

static bool bindings_ok(instances *x, ir_stmt s, const witness_guard *guards) {
  const ir_program *p = x->v->p;
  ir_span it = ir_blk(p, s)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    if (!loads_ok(x, p->iter.v[i].bind, guards)) return false;
  return true;
}

static bool statements_ok(instances *x, ir_stmt first,
                          const witness_guard *guards);

/* The init of a block runs where its reduce iters are at their start. */
static bool init_ok(instances *x, ir_stmt s, const witness_guard *guards) {
  const ir_program *p = x->v->p;
  ir_span it = ir_blk(p, s)->iters;
  witness_guard *at = arena_array(x->v->scratch, witness_guard, it.n + 1);
  for (uint32_t i = 0; i < it.n; i++) {
    if (p->iter.v[it.at + i].kind != IR_REDUCE) continue;
    at[i] = (witness_guard){guards, WITNESS_START, it.at + i, 0};
    guards = &at[i];
  }
  return statements_ok(x, ir_st(p, s)->alt, guards);
}

static bool block_ok(instances *x, ir_stmt s, const witness_guard *guards) {
  ir_expr pred = ir_blk(x->v->p, s)->pred;
  witness_guard g = {guards, WITNESS_TRUE, 0, pred};
  if (pred && !loads_ok(x, pred, guards)) return false;
  if (pred) {
    guards = &g;
    x->context = ++x->w.query;
  }
  return bindings_ok(x, s, guards) && init_ok(x, s, guards) &&
         statements_ok(x, ir_st(x->v->p, s)->body, guards);
}

static bool if_ok(instances *x, const ir_stmt_rec *r,
                  const witness_guard *guards) {
  witness_guard g = {guards, WITNESS_TRUE, 0, r->cond};
  if (!loads_ok(x, r->cond, guards)) return false;
  if (ir_is_instead(x->v->p, r->cond))
    return statements_ok(x, r->body, guards) &&
           statements_ok(x, r->alt, guards);
  if (!statements_ok(x, r->body, &g)) return false;
  g.kind = WITNESS_FALSE;
  return statements_ok(x, r->alt, &g);
}

static bool statement_ok(instances *x, ir_stmt s, const witness_guard *guards) {
  const ir_stmt_rec *r = ir_st(x->v->p, s);
  x->at = s;
  x->context = ++x->w.query;
  x->contexts = x->visits = 0;
  switch ((ir_kind)r->kind) {
  case IR_LOOP:
    return loads_ok(x, r->lo, guards) && loads_ok(x, r->extent, guards) &&
           statements_ok(x, r->body,
                         &(witness_guard){guards, WITNESS_LOOP, s, 0});
  case IR_BLOCK: return block_ok(x, s, guards);
  case IR_STORE: return store_ok(x, r, guards);
  case IR_IF: return if_ok(x, r, guards);
  case IR_LET:
    return loads_ok(x, r->let_value, guards) &&
           statements_ok(x, r->body, guards);
  case IR_EVALUATE: return loads_ok(x, r->eval, guards);
  case IR_ALLOCATE: return statements_ok(x, r->body, guards);
  case IR_BARRIER:
  case IR_DEAD: break;
  }
  return true;
}

static bool statements_ok(instances *x, ir_stmt first,
                          const witness_guard *guards) {
  for (ir_stmt s = first; s; s = ir_st(x->v->p, s)->next)
    if (!statement_ok(x, s, guards)) return false;
  return true;
}

bool verify_instances(verifier *v) {
  const ir_program *p = v->p;
  instances x = {.v = v};
  witness_init(&x.w, p, v->scratch);
  x.mark = arena_zalloc(v->scratch, p->node.n * sizeof *x.mark);
  for (uint32_t f = 1; f < p->func.n; f++)
    if (!statements_ok(&x, p->func.v[f].root, NULL)) return false;
  return true;
}
