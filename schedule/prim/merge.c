/* SPDX-License-Identifier: Apache-2.0
 * merge: fuses consecutive loop nests into one (loop fusion). */
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/analysis/move.h"
#include "schedule/dependence/distance.h"

#define MERGE_SIG(F, S)                                                   \
  F(S, IN, LOOPS, loops, REQ, "the innermost loops to merge, one a nest") \
  F(S, OUT, LOOP, merged_loop, REQ, "the innermost merged loop")

PRIM_DEFINE(
    merge, MERGE_SIG,
    .summary = "Merge loops of different nests, which then run side by side.",
    .rewrite = "for i in n: S(i); for j in n: T(j)   ->   "
               "for i in n: S(i); T(i)",
    .details =
        "1. At least two loops are named, each once, all in one scope and\n"
        "   none inside another.\n"
        "2. Up to the loop or block around all of them only loops are\n"
        "   around them, for each as many, with nothing beside them.\n"
        "3. These loops are serial and without annotations, and those that\n"
        "   become one have the same bounds.\n"
        "4. Where an iteration of a later nest comes to run before one of an\n"
        "   earlier nest, neither writes what the other accesses; only loops,\n"
        "   blocks and conditions are there, which load nothing; and they\n"
        "   do not both call functions of the host's for what these do.\n"
        "5. What is between the nests does not depend on those that move\n"
        "   before it, nor they on it.\n"
        "6. Loops around and below whose iterations run in parallel stay free "
        "of\n"
        "   races.\n"
        "The bodies follow one another as the nests did, however the loops\n"
        "are listed. The first nest keeps its place, its loops and their\n"
        "handles; the loops of the others are gone.\n",
    .refusals = SCH_REASONS(
        SCH_R_EFFECTS_ORDER, SCH_R_LOOPS_FEW, SCH_R_LOOPS_NESTED,
        SCH_R_LOOP_ANNOTATED, SCH_R_LOOP_NOT_SERIAL, SCH_R_LOOP_REPEATED,
        SCH_R_MERGE_BETWEEN, SCH_R_MERGE_BOUNDS, SCH_R_MERGE_DEPENDS,
        SCH_R_MERGE_DEPTH, SCH_R_NOT_ONLY_CHILD, SCH_R_OTHER_STATEMENT,
        SCH_POLY_REASONS, SCH_R_SCOPES_DIFFER, SCH_R_WOULD_RACE),
    .example = "local _, jc = sch:get_loops(sch:get_block(\"C\"))\n"
               "local _, jd = sch:get_loops(sch:get_block(\"D\"))\n"
               "local j = sch:merge(jc, jd)\n");

/* The loops of one nest, outer first. */
typedef struct chain {
  ir_stmt *v;
  ir_var *var; /* their own, before they count by those of the first nest */
} chain;

typedef struct work {
  sch_state *s;
  sch_list loops; /* as they are in the program */
  ir_stmt common; /* around all of them */
  uint32_t depth; /* loops of each nest */
  chain *nest;
} work;

/* ---- the nests ---------------------------------------------------------- */

/* The loops in the order in which they are. */
static bool sort_loops(work *w, sch_list named) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  ir_stmt *v = arena_array(s->scratch, ir_stmt, named.n);
  if (named.n < 2) return sch_refuse(s, SCH_R_LOOPS_FEW, .n = {named.n});
  for (uint32_t i = 0; i < named.n; i++) {
    uint32_t at = i;
    for (uint32_t k = 0; k < i; k++) {
      ir_stmt a = named.v[k], b = named.v[i];
      if (a == b) return sch_refuse(s, SCH_R_LOOP_REPEATED, .s = {a});
      if (ir_is_ancestor(p, a, b))
        return sch_refuse(s, SCH_R_LOOPS_NESTED, .s = {a, b});
      if (ir_is_ancestor(p, b, a))
        return sch_refuse(s, SCH_R_LOOPS_NESTED, .s = {b, a});
      if (ir_scope_of(p, a) != ir_scope_of(p, b))
        return sch_refuse(s, SCH_R_SCOPES_DIFFER, .s = {a, b});
    }
    for (; at && sch_comes_before(p, named.v[i], v[at - 1]); at--)
      v[at] = v[at - 1];
    v[at] = named.v[i];
  }
  w->loops = (sch_list){named.n, v};
  w->common = v[0];
  for (uint32_t i = 1; i < named.n; i++)
    w->common = sch_common(p, w->common, v[i]);
  return true;
}

static bool check_link(sch_state *s, ir_stmt loop, ir_stmt outer) {
  const ir_program *p = s->p;
  const ir_stmt_rec *r = ir_st(p, loop);
  if (!ir_is_loop(p, loop) || r->in_alt)
    return sch_refuse(s, SCH_R_OTHER_STATEMENT, .s = {loop});
  if (r->loop_kind != IR_SERIAL)
    return sch_refuse(s, SCH_R_LOOP_NOT_SERIAL, .s = {loop});
  if (r->anno) return sch_refuse(s, SCH_R_LOOP_ANNOTATED, .s = {loop});
  if (outer && sch_only_child(s->p, outer) != loop)
    return sch_refuse(s, SCH_R_NOT_ONLY_CHILD, .s = {outer, loop});
  return true;
}

static bool find_nest(work *w, uint32_t i) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  ir_stmt loop = w->loops.v[i];
  uint32_t n = 0;
  for (ir_stmt a = loop; a != w->common; a = ir_st(p, a)->parent) n++;
  if (!i) w->depth = n;
  if (n != w->depth)
    return sch_refuse(s, SCH_R_MERGE_DEPTH, .s = {w->loops.v[0], loop},
                      .n = {w->depth, n});
  ir_stmt *v = w->nest[i].v = arena_array(s->scratch, ir_stmt, n);
  for (ir_stmt a = loop; n; a = ir_st(p, a)->parent) v[--n] = a;
  for (; n < w->depth; n++)
    if (!check_link(s, v[n], n ? v[n - 1] : 0)) return false;
  return true;
}

/* Nest i counts by the variables of the first. */
static bool share_variables(work *w, uint32_t i) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  w->nest[i].var = arena_array(s->scratch, ir_var, w->depth);
  for (uint32_t k = 0; k < w->depth; k++) {
    ir_stmt to = w->nest[0].v[k], from = w->nest[i].v[k];
    ir_expr ref = ir_ref(p, ir_st(p, to)->var);
    if (ir_st(p, to)->lo != ir_st(p, from)->lo ||
        ir_st(p, to)->extent != ir_st(p, from)->extent)
      return sch_refuse(s, SCH_R_MERGE_BOUNDS, .s = {to, from});
    w->nest[i].var[k] = ir_st(p, from)->var;
    sch_replace_vars(s, from, 1, &w->nest[i].var[k], &ref);
    ir_st(p, from)->var = ir_st(p, to)->var;
  }
  return true;
}

/* ---- order -------------------------------------------------------------- */

/* Nest i's iteration in the refusal is reported by the loops that it still
 * has. */
static bool tell_by_own(const work *w, uint32_t i) {
  const ir_program *p = w->s->p;
  sch_conflict *c = &w->s->refusal.conflict;
  for (uint32_t n = 0; n < c->n[1]; n++)
    for (uint32_t k = 0; k < w->depth; k++)
      if (c->var[1][n] == ir_st(p, w->nest[0].v[k])->var)
        c->var[1][n] = w->nest[i].var[k];
  return false;
}

static bool is_nest_top(const work *w, ir_stmt st) {
  for (uint32_t i = 0; i < w->loops.n; i++)
    if (w->nest[i].v[0] == st) return true;
  return false;
}

/* Nest i moves before what is between it and the first. */
static bool check_between(const work *w, uint32_t i) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  ir_stmt top = w->nest[i].v[0];
  dist d;
  dist_init(&d, s, 0, NULL, w->common);
  for (ir_stmt q = ir_st(p, w->nest[0].v[0])->next; q != top;
       q = ir_st(p, q)->next) {
    if (is_nest_top(w, q)) continue;
    if (!ir_is_loop(p, q) && !ir_is_block(p, q) && ir_st(p, q)->kind != IR_IF)
      return sch_refuse(s, SCH_R_OTHER_STATEMENT, .s = {q});
    if (!sch_keeps_order(&d, q, top, SCH_R_MERGE_BETWEEN, NULL))
      return tell_by_own(w, i);
  }
  return true;
}

static bool merge_check_order(const work *w, uint32_t i) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  ir_var *var = arena_array(s->scratch, ir_var, w->depth);
  for (uint32_t k = 0; k < w->depth; k++)
    var[k] = ir_st(p, w->nest[0].v[k])->var;
  dist d;
  dist_init(&d, s, w->depth, var, w->common);
  for (uint32_t k = 0; k < i; k++)
    if (!sch_keeps_order(&d, w->nest[k].v[0], w->nest[i].v[0],
                         SCH_R_MERGE_DEPENDS, NULL))
      return tell_by_own(w, i);
  return true;
}

/* ---- the change --------------------------------------------------------- */

static bool merge_rewrite(sch_state *s, void *ud) {
  struct merge_args *a = ud;
  ir_program *p = s->p;
  work w = {.s = s};
  if (!sort_loops(&w, a->loops)) return false;
  w.nest = arena_array(s->scratch, chain, w.loops.n);
  for (uint32_t i = 0; i < w.loops.n; i++)
    if (!find_nest(&w, i)) return false;
  for (uint32_t i = 1; i < w.loops.n; i++)
    if (!share_variables(&w, i) || !check_between(&w, i) ||
        !merge_check_order(&w, i))
      return false;
  for (uint32_t i = 1; i < w.loops.n; i++) {
    ir_stmt top = w.nest[i].v[0];
    ir_move_body(p, w.loops.v[i], w.loops.v[0]);
    ir_detach(p, top);
    ir_kill(p, top);
  }
  a->merged_loop = w.loops.v[0];
  return true;
}

static bool merge_apply(sch_state *s, struct merge_args *a) {
  return sch_transaction_rollback(s, merge_rewrite, a,
                                  a->loops.n ? a->loops.v[0] : 0);
}
