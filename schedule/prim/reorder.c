/* SPDX-License-Identifier: Apache-2.0
 * reorder: permutes loops of one nest (interchange). */
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/sch.h"

#define REORDER_SIG(F, S) \
  F(S, IN, LOOPS, ordered_loops, REQ, "the loops in their new order")

PRIM_DEFINE(
    reorder, REORDER_SIG,
    .summary = "Put loops of one nest into another order.",
    .rewrite = "for i: for j: S   ->   for j: for i: S",
    .details =
        "1. Each loop is named once, and all are in one nest: each is "
        "inside\n"
        "   another of them, with nothing beside it on the way.\n"
        "2. A loop that comes to be outside of one that its bounds need "
        "runs\n"
        "   through all that they could be, and blocks are guarded; those\n"
        "   bounds is known and read nothing, no block has an init, and no\n"
        "   other bounds need that loop.\n"
        "3. Iterations that change places do not depend on each other: those\n"
        "   of a reduction may run in any order, but none changes places with\n"
        "   the one that initializes its result; loops that drive an ordered\n"
        "   iter, or a reduce iter of what is no sum, product, minimum,\n"
        "   maximum or the like, keep their order; what one block makes for\n"
        "   another, or for itself, is made before it is used.\n"
        "4. A parallel, vectorized or thread-bound loop that comes to be\n"
        "   further out is still one whose iterations may run in parallel; and "
        "so\n"
        "   are those around and below, in spite of guards.\n"
        "5. Bounds and predicates read nothing that the nest changes.\n"
        "Loops that are not named keep their places; one loop, or an empty\n"
        "list, changes nothing.\n",
    .refusals = SCH_REASONS(SCH_R_DEPENDENT_LOOP, SCH_R_INPUT_OVERWRITTEN,
                            SCH_R_LOOP_REPEATED, SCH_R_LOOPS_NOT_CHAIN,
                            SCH_R_NOT_ONLY_CHILD, SCH_R_RESULT_SHARED,
                            SCH_R_GRID_INIT, SCH_R_GRID_UPDATE,
                            SCH_ORDER_REASONS, SCH_RACE_REASONS,
                            SCH_R_WOULD_RACE),
    .example = "local i, j = sch:get_loops(sch:get_block(\"C\"))\n"
               "sch:reorder(j, i)\n");

static bool is_named(sch_list l, ir_stmt loop) {
  for (uint32_t i = 0; i < l.n; i++)
    if (l.v[i] == loop) return true;
  return false;
}

/* The innermost of the loops, 0 after refusing: a loop named twice. */
static ir_stmt innermost(sch_state *s, sch_list l) {
  const ir_program *p = s->p;
  ir_stmt deepest = 0;
  uint32_t most = 0;
  for (uint32_t i = 0; i < l.n; i++) {
    uint32_t depth = 1;
    for (ir_stmt a = l.v[i]; (a = ir_st(p, a)->parent);) depth++;
    for (uint32_t k = 0; k < i; k++)
      if (l.v[k] == l.v[i]) {
        (void)sch_refuse(s, SCH_R_LOOP_REPEATED, .s = {l.v[i]});
        return 0;
      }
    if (depth > most) most = depth, deepest = l.v[i];
  }
  return deepest;
}

/* The loops from the outermost of `l` to the innermost; false after
 * refusing. */
static bool find_chain(sch_state *s, sch_list l, sch_list *out) {
  const ir_program *p = s->p;
  ir_stmt last = innermost(s, l), first = 0;
  if (!last) return false;
  uint32_t n = 0, found = 0;
  for (ir_stmt a = last; a && found < l.n; a = ir_st(p, a)->parent) {
    if (!ir_is_loop(p, a)) break;
    n++;
    if (is_named(l, a)) found++, first = a;
  }
  for (uint32_t i = 0; found < l.n && i < l.n; i++)
    if (!ir_is_ancestor(p, l.v[i], last) ||
        ir_scope_of(p, l.v[i]) != ir_scope_of(p, last))
      return sch_refuse(s, SCH_R_LOOPS_NOT_CHAIN, .s = {l.v[i], last});
  if (found < l.n)
    return sch_refuse(s, SCH_R_LOOPS_NOT_CHAIN, .s = {first, last});
  ir_stmt *v = arena_array(s->scratch, ir_stmt, n);
  ir_stmt a = last;
  for (uint32_t i = n; i-- > 0; a = ir_st(p, a)->parent) {
    v[i] = a;
    if (i + 1 < n && sch_only_child(p, a) != v[i + 1])
      return sch_refuse(s, SCH_R_NOT_ONLY_CHILD, .s = {a, v[i + 1]});
  }
  *out = (sch_list){n, v};
  return true;
}

/* New bounds of a loop that its old ones do not allow where it comes to be;
 * e 0: the old ones stay. */
typedef struct wider {
  ir_expr lo, extent;
} wider;

static bool needs(const ir_program *p, const ir_stmt_rec *r, ir_stmt loop) {
  ir_var v = ir_st(p, loop)->var;
  return ir_uses_var(p, r->extent, v) || ir_uses_var(p, r->lo, v);
}

/* The least start and the greatest end of next[k], while the loops inside it
 * run. */
static bool reorder_widen(sch_state *s, sch_list chain, const ir_stmt *next,
                          uint32_t k, ir_stmt inner, wider *out) {
  ir_program *p = s->p;
  const ir_stmt_rec r = *ir_st(p, next[k]);
  uint32_t n = 0;
  ir_var *var = arena_array(s->scratch, ir_var, chain.n);
  ir_expr *lo = arena_array(s->scratch, ir_expr, 2 * chain.n);
  ir_expr *extent = lo + chain.n, least, last, other;
  for (uint32_t i = 0; i < chain.n; i++)
    for (uint32_t j = k + 1; j < chain.n; j++)
      if (next[j] == chain.v[i]) {
        var[n] = ir_st(p, chain.v[i])->var;
        lo[n] = ir_st(p, chain.v[i])->lo;
        extent[n++] = ir_st(p, chain.v[i])->extent;
      }
  ir_expr end = ir_add(p, r.lo, r.extent);
  if (ir_has_load(p, r.lo, 0) || ir_has_load(p, r.extent, 0) ||
      !arith_relax(p, s->scratch, r.lo, n, var, lo, extent, &least, &other,
                   NULL) ||
      !arith_relax(p, s->scratch, end, n, var, lo, extent, &other, &last, NULL))
    return sch_refuse(s, SCH_R_DEPENDENT_LOOP, .s = {next[k], inner});
  *out = (wider){least, ir_sub(p, last, least)};
  return true;
}

static bool any_init(const ir_program *p, ir_stmt top) {
  for (ir_stmt b = top; (b = sch_next_child(p, b, top));)
    if (sch_has_init(p, b)) return true;
  return false;
}

/* A loop below `top` whose bounds need that of `loop`; 0: none. */
static ir_stmt dependent(const ir_program *p, ir_stmt top, ir_stmt loop) {
  for (ir_stmt l = top; l; l = sch_next_outside(p, l, top))
    if (ir_is_loop(p, l) && needs(p, ir_st(p, l), loop)) return l;
  return 0;
}

/* Where the bounds of next[k] need a loop that comes to be inside, others
 * are found. */
static bool bounds_allow(sch_state *s, sch_list chain, const ir_stmt *next,
                         wider *wide) {
  const ir_program *p = s->p;
  for (uint32_t k = 0; k < chain.n; k++) {
    const ir_stmt_rec *r = ir_st(p, next[k]);
    wide[k] = (wider){0, 0};
    if (ir_at(p, r->extent)->op == IR_INT && ir_at(p, r->lo)->op == IR_INT)
      continue;
    for (uint32_t j = k + 1; j < chain.n; j++)
      if (needs(p, ir_st(p, next[k]), next[j])) {
        ir_stmt other = dependent(p, chain.v[0], next[k]);
        if (other)
          return sch_refuse(s, SCH_R_DEPENDENT_LOOP, .s = {other, next[k]});
        if (any_init(p, chain.v[0]))
          return sch_refuse(s, SCH_R_DEPENDENT_LOOP, .s = {next[k], next[j]});
        if (!reorder_widen(s, chain, next, k, next[j], &wide[k])) return false;
        break;
      }
  }
  return true;
}

/* Gives a loop its new bounds, and the blocks below it the old ones. */
static void set_bounds(sch_state *s, ir_stmt loop, wider to) {
  ir_program *p = s->p;
  const ir_stmt_rec r = *ir_st(p, loop);
  int64_t min, max;
  ir_domain_bounds(p, to.lo, to.extent, &min, &max);
  ir_var v = ir_var_like(p, r.var, min, max);
  ir_expr i = ir_ref(p, v), end = ir_add(p, r.lo, r.extent);
  ir_expr guard =
      ir_and(p, ir_binary(p, IR_LE, r.lo, i), ir_binary(p, IR_LT, i, end));
  sch_replace_vars(s, loop, 1, &r.var, &i);
  if (!ir_is_const(p, guard, 1)) sch_guard_below(s, loop, guard);
  ir_st(p, loop)->var = v;
  ir_st(p, loop)->lo = to.lo;
  ir_st(p, loop)->extent = to.extent;
  p->var.v[v].owner = loop;
}

/* Loops whose iterations run in parallel must still be free to. */
static bool kinds_allow(sch_state *s, sch_list chain, const ir_stmt *next) {
  const ir_program *p = s->p;
  ir_stmt *inner = arena_array(s->scratch, ir_stmt, chain.n);
  for (uint32_t k = 0; k < chain.n; k++) {
    const ir_stmt_rec *r = ir_st(p, next[k]);
    if (r->loop_kind == IR_SERIAL || r->loop_kind == IR_UNROLLED) continue;
    uint32_t n = 0;
    for (uint32_t j = 0; chain.v[j] != next[k]; j++)
      for (uint32_t i = k + 1; i < chain.n; i++)
        if (next[i] == chain.v[j]) inner[n++] = chain.v[j];
    int thread = r->loop_kind == IR_THREAD ? r->thread : -1;
    if (n && !sch_iterations_free(s, next[k], thread, n, inner)) return false;
  }
  return true;
}

/* Each of the chain but the first is taken out; what stood in the innermost
 * goes into the new innermost; and the nest is put together again. */
static void relink(ir_program *p, sch_list chain, const ir_stmt *next) {
  uint32_t n = chain.n;
  for (uint32_t k = n; --k > 0;) ir_detach(p, chain.v[k]);
  if (next[n - 1] != chain.v[n - 1])
    ir_move_body(p, chain.v[n - 1], next[n - 1]);
  if (next[0] != chain.v[0]) ir_replace(p, chain.v[0], next[0]);
  for (uint32_t k = 1; k < n; k++) ir_append(p, next[k - 1], next[k]);
}

static bool reorder_rewrite(sch_state *s, void *ud) {
  sch_list l = ((struct reorder_args *)ud)->ordered_loops, chain;
  if (!find_chain(s, l, &chain)) return false;
  ir_stmt *next = arena_array(s->scratch, ir_stmt, chain.n);
  for (uint32_t k = 0, i = 0; k < chain.n; k++)
    next[k] = is_named(l, chain.v[k]) ? l.v[i++] : chain.v[k];
  if (!memcmp(next, chain.v, chain.n * sizeof *next)) return true;
  wider *wide = arena_array(s->scratch, wider, chain.n);
  if (!bounds_allow(s, chain, next, wide) || !kinds_allow(s, chain, next) ||
      !sch_bounds_stay(s, chain.v[0]) ||
      !sch_order_free(s, chain.n, chain.v, next))
    return false;
  relink(s->p, chain, next);
  for (uint32_t k = 0; k < chain.n; k++)
    if (wide[k].extent) set_bounds(s, next[k], wide[k]);
  return true;
}

/* Loops that come to be inside a thread loop may lose buffers that were
 * their iterations' own; and those whose bounds are no constants may need
 * guards. */
static bool must_ask(const ir_program *p, sch_list l) {
  for (uint32_t i = 0; i < l.n; i++) {
    const ir_stmt_rec *r = ir_st(p, l.v[i]);
    if (ir_at(p, r->extent)->op != IR_INT || ir_at(p, r->lo)->op != IR_INT)
      return true;
    for (ir_stmt a = l.v[i]; ir_is_loop(p, a); a = ir_st(p, a)->parent)
      if (ir_st(p, a)->loop_kind == IR_THREAD) return true;
  }
  return false;
}

static bool reorder_apply(sch_state *s, struct reorder_args *a) {
  sch_list l = a->ordered_loops;
  return !l.n ||
         sch_transaction_loop(s, reorder_rewrite, a, l.v[0], must_ask(s->p, l));
}
