/* SPDX-License-Identifier: Apache-2.0
 * loop_partition: splits the range of a loop into consecutive loops (index set
 * splitting). */
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/dependence/polyhedra.h"
#include "schedule/sch.h"

#define LOOP_PARTITION_SIG(F, S)                                             \
  F(S, IN, LOOP, loop, REQ, "the loop to cut")                               \
  F(S, IN, FACTORS, factors, OPT,                                            \
    "how many iterations each part has, less the last one, which has the "   \
    "rest; or all of them, one being ts.auto")                               \
  F(S, ATTR, BOOL, preserve_unit_iters, DEF(1),                              \
    "keep loops of extent 1 as variables in the bindings")                   \
  F(S, IN, LOOPS, outer_loops, OPT, "loops around it, parameters of points") \
  F(S, ATTR, INDEX_MAP, points, OPT,                                         \
    "instead of factors: of the variables of outer_loops, the values of "    \
    "the loop's variable at which parts begin, less the first")              \
  F(S, OUT, LOOPS, loops, REQ, "the loops of the parts, in order")

PRIM_DEFINE(
    loop_partition, LOOP_PARTITION_SIG,
    .summary = "Cut the iterations of a loop into consecutive ranges.",
    .rewrite = "for i in [0, e): S   ->   for i in [0, f): S; "
               "for i in [f, e): S",
    .details =
        "1. The loop is serial, without annotations, and nothing in it\n"
        "   changes what its bounds read from memory.\n"
        "2. Either factors are given, and the loop's range is constant, or\n"
        "   points, whose parameters are as many as the outer loops, all of\n"
        "   them around the loop.\n"
        "3. Factors are at least 1, at most one is open, and each part has\n"
        "   an iteration. There are at most 32 parts.\n"
        "4. A reduction that the loop drives starts in the first part for\n"
        "   sure: in the others some reduce iter is past its start, no\n"
        "   spatial iter is driven, too, and the loop is in no other\n"
        "   block.\n"
        "5. Bounds of loops below that need the loop hold in each part as\n"
        "   they did, or the loop does not run there at all: it stays, of no\n"
        "   iteration.\n"
        "6. Loops around and below whose iterations run in parallel stay free "
        "of\n"
        "   races.\n"
        "A point outside of the loop's range, or before the point before,\n"
        "makes an empty part. Conditions that always hold in a part are left\n"
        "out of the predicates there. What is in the loop becomes the\n"
        "first part's, and copies of the blocks have names that end in _1,\n"
        "_2, ...; the copies of a reduction go on with it.\n",
    .refusals = SCH_REASONS(SCH_R_DEPENDENT_LOOP, SCH_R_FACTORS_EMPTY,
                            SCH_R_FACTORS_MANY, SCH_R_FACTORS_SEVERAL_OPEN,
                            SCH_R_FACTOR_NOT_POSITIVE, SCH_R_INPUT_OVERWRITTEN,
                            SCH_R_LOOP_ANNOTATED, SCH_R_LOOP_NOT_AROUND,
                            SCH_R_LOOP_NOT_SERIAL, SCH_R_NOT_STATIC,
                            SCH_R_PARTITION_BOTH, SCH_R_PARTITION_EMPTY,
                            SCH_R_PARTITION_INIT, SCH_R_PARTITION_LONG,
                            SCH_R_PARTITION_PARAMETERS, SCH_R_WOULD_RACE),
    .example =
        "local i, j = sch:get_loops(sch:get_block(\"D\"))\n"
        "local first, rest = sch:loop_partition(j, { 3 })\n"
        "local below, above = sch:loop_partition(rest, nil, true, { i },\n"
        "  function(row) return row + 1 end)\n");

enum { MAX_PARTS = 32 };

typedef struct loop_partition_args args;

/* What the parts run through. */
typedef struct cuts {
  uint32_t n;
  ir_expr at[MAX_PARTS + 1]; /* where each begins, and the end */
} cuts;

/* ---- where it is cut ---------------------------------------------------- */

static bool by_factors(sch_state *s, const args *a, cuts *c) {
  ir_program *p = s->p;
  int64_t lo, extent, sum = 0, open = -1;
  uint32_t n = a->factors.n;
  if (!ir_const_int(p, ir_st(p, a->loop)->lo, &lo) ||
      !ir_const_int(p, ir_st(p, a->loop)->extent, &extent))
    return sch_refuse(s, SCH_R_NOT_STATIC, .s = {a->loop});
  for (uint32_t i = 0; i < n; i++) {
    int64_t f = a->factors.v[i];
    if (f == SCH_AUTO) {
      if (open >= 0)
        return sch_refuse(s, SCH_R_FACTORS_SEVERAL_OPEN, .s = {a->loop},
                          .n = {2});
      open = i;
      continue;
    }
    if (f < 1)
      return sch_refuse(s, SCH_R_FACTOR_NOT_POSITIVE, .s = {a->loop},
                        .n = {i, f});
    if (f >= extent - sum)
      return sch_refuse(s, SCH_R_PARTITION_LONG, .s = {a->loop},
                        .n = {i, extent});
    sum += f;
  }
  if (extent <= sum)
    return sch_refuse(s, SCH_R_PARTITION_LONG, .s = {a->loop},
                      .n = {0, extent});
  c->n = open < 0 ? n + 1 : n;
  c->at[0] = ir_index(p, lo);
  for (uint32_t i = 0; i < n; i++) {
    lo += i == open ? extent - sum : a->factors.v[i];
    c->at[i + 1] = ir_index(p, lo);
  }
  if (open < 0) c->at[n + 1] = ir_index(p, ir_at(p, c->at[0])->i + extent);
  return true;
}

/* Does a <= b hold in every iteration around the loop?  That their parts read
 * from memory cancel out only the difference shows. */
static bool is_ordered(sch_state *s, ir_stmt loop, ir_expr a, ir_expr b) {
  return a == b || ir_at(s->p, ir_sub(s->p, b, a))->lo >= 0 ||
         poly_holds(s, loop, ir_binary(s->p, IR_LE, a, b)) > 0;
}

static bool by_points(sch_state *s, const args *a, cuts *c) {
  ir_program *p = s->p;
  uint32_t n = a->outer_loops.n;
  if (a->points.nin != n)
    return sch_refuse(s, SCH_R_PARTITION_PARAMETERS, .n = {a->points.nin, n});
  ir_expr *to = arena_array(s->scratch, ir_expr, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    ir_stmt l = a->outer_loops.v[i];
    if (l == a->loop || !ir_is_ancestor(p, l, a->loop) ||
        ir_scope_of(p, l) != ir_scope_of(p, a->loop))
      return sch_refuse(s, SCH_R_LOOP_NOT_AROUND, .s = {l, a->loop});
    to[i] = ir_ref(p, ir_st(p, l)->var);
  }
  c->n = a->points.nout + 1;
  ir_expr lo = ir_st(p, a->loop)->lo;
  ir_expr end = ir_add(p, lo, ir_st(p, a->loop)->extent);
  c->at[0] = lo;
  c->at[c->n] = end;
  for (uint32_t i = 1; i < c->n; i++) {
    ir_expr x = sch_replace_in(s, a->points.out[i - 1], n, a->points.in, to);
    if (!is_ordered(s, a->loop, x, end)) x = ir_binary(p, IR_MIN, x, end);
    if (!is_ordered(s, a->loop, c->at[i - 1], x))
      x = ir_binary(p, IR_MAX, x, c->at[i - 1]);
    c->at[i] = x;
  }
  for (uint32_t i = 0; i < c->n; i++)
    if (is_ordered(s, a->loop, c->at[i + 1], c->at[i]))
      return sch_refuse(s, SCH_R_PARTITION_EMPTY, .s = {a->loop}, .n = {i});
  return true;
}

/* Each part reads where it starts and ends when the one before it has run. */
static bool bounds_stay(sch_state *s, ir_stmt loop) {
  const ir_stmt_rec r = *ir_st(s->p, loop);
  return sch_reads_stay(s, loop, r.lo, loop) &&
         sch_reads_stay(s, loop, r.extent, loop);
}

static bool find_cuts(sch_state *s, const args *a, cuts *c) {
  const ir_stmt_rec *r = ir_st(s->p, a->loop);
  if (r->loop_kind != IR_SERIAL)
    return sch_refuse(s, SCH_R_LOOP_NOT_SERIAL, .s = {a->loop});
  if (r->anno) return sch_refuse(s, SCH_R_LOOP_ANNOTATED, .s = {a->loop});
  uint32_t n = a->points.given ? a->points.nout : a->factors.n;
  if (!n) return sch_refuse(s, SCH_R_FACTORS_EMPTY, .s = {a->loop});
  if (n >= MAX_PARTS)
    return sch_refuse(s, SCH_R_FACTORS_MANY, .s = {a->loop},
                      .n = {n, MAX_PARTS - 1});
  if (a->points.given && a->factors.n)
    return sch_refuse(s, SCH_R_PARTITION_BOTH);
  if (!bounds_stay(s, a->loop)) return false;
  return a->points.given ? by_points(s, a, c) : by_factors(s, a, c);
}

/* ---- reductions --------------------------------------------------------- */

static bool any_init(const ir_program *p, ir_stmt block) {
  for (ir_stmt s = block; s; s = ir_next(p, s, block))
    if (ir_is_block(p, s) && ir_st(p, s)->alt) return true;
  return false;
}

static bool is_driven(const ir_program *p, ir_stmt block, ir_var v,
                      ir_iter_kind kind) {
  ir_span it = ir_blk(p, block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    if (p->iter.v[i].kind == kind && ir_uses_var(p, p->iter.v[i].bind, v))
      return true;
  return false;
}

/* With v at least `from`, is some reduce iter provably past its start?  What
 * the bounds do not determine is asked of the iterations. */
static bool is_past_start(sch_state *s, ir_stmt block, ir_var v, ir_expr from) {
  ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  arith_range range = {arith_bounds(p, from).lo, p->var.v[v].hi};
  ir_expr past = ir_binary(p, IR_LT, ir_ref(p, v), from);
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    const ir_iter r = p->iter.v[i];
    if (r.kind != IR_REDUCE) continue;
    if (arith_bounds_with(p, s->scratch, r.bind, 1, &v, &range).lo >
        ir_at(p, r.lo)->hi)
      return true;
    past = ir_binary(p, IR_OR, past, ir_binary(p, IR_LT, r.lo, r.bind));
  }
  return poly_holds(s, block, past) > 0;
}

static bool inits_allow(sch_state *s, const args *a, const cuts *c) {
  const ir_program *p = s->p;
  ir_var v = ir_st(p, a->loop)->var;
  for (ir_stmt b = a->loop; (b = sch_next_child(p, b, a->loop));) {
    if (!any_init(p, b) || !is_driven(p, b, v, IR_REDUCE)) continue;
    if (!ir_st(p, b)->alt || is_driven(p, b, v, IR_SPATIAL) ||
        ir_st(p, ir_scope_of(p, b))->parent ||
        !is_past_start(s, b, v, c->at[1]))
      return sch_refuse(s, SCH_R_PARTITION_INIT, .s = {b, a->loop});
  }
  return true;
}

/* What the block writes it reads, too. */
static void read_results(sch_state *s, ir_stmt block) {
  ir_program *p = s->p;
  ir_span reads = ir_blk(p, block)->reads, w = ir_blk(p, block)->writes;
  ir_region *r = arena_array(s->scratch, ir_region, reads.n + w.n);
  uint32_t n = reads.n;
  for (uint32_t i = 0; i < n; i++) r[i] = p->region.v[reads.at + i];
  for (uint32_t i = w.at; i < w.at + w.n; i++)
    if (!sch_reads_buf(p, block, p->region.v[i].buf)) r[n++] = p->region.v[i];
  ir_block_set_reads(p, block, n, r);
}

/* In a part behind the first, reductions over the loop do not start. */
static void go_on(sch_state *s, ir_stmt part, ir_var v) {
  ir_program *p = s->p;
  for (ir_stmt b = part; (b = sch_next_child(p, b, part));) {
    if (!ir_st(p, b)->alt || !is_driven(p, b, v, IR_REDUCE)) continue;
    while (ir_st(p, b)->alt) ir_kill(p, ir_st(p, b)->alt);
    read_results(s, b);
  }
}

/* ---- doing it ----------------------------------------------------------- */

/* `cond` without what holds in every iteration of the block, 0: nothing is
 * left; false where it never holds. */
static ir_expr remaining(sch_state *s, ir_stmt block, ir_expr cond) {
  ir_program *p = s->p;
  const ir_node n = *ir_at(p, cond);
  if (n.op == IR_AND) {
    ir_expr a = remaining(s, block, n.a);
    return ir_and(p, a, remaining(s, block, n.b));
  }
  int holds = poly_holds(s, block, cond);
  return holds > 0 ? 0 : holds < 0 ? ir_bool(p, false) : cond;
}

static void tidy_predicates(sch_state *s, ir_stmt part) {
  ir_program *p = s->p;
  for (ir_stmt b = part; (b = sch_next_child(p, b, part));) {
    ir_expr pred = ir_blk(p, b)->pred;
    if (!pred) continue;
    pred = remaining(s, b, pred);
    ir_blk(p, b)->pred = pred;
  }
  p->edits++;
}

static ir_stmt new_part(sch_state *s, const args *a, const cuts *c,
                        uint32_t k) {
  ir_program *p = s->p;
  ir_expr lo = c->at[k], extent = ir_sub(p, c->at[k + 1], lo);
  int64_t min, max;
  ir_domain_bounds(p, lo, extent, &min, &max);
  ir_var v = ir_var_like(p, ir_st(p, a->loop)->var, min, max);
  return ir_loop_new(p, v, lo, extent, IR_SERIAL);
}

/* Names for the copies of blocks; one by one, since each is taken then. */
static void name_blocks(sch_state *s, ir_stmt part, uint32_t k) {
  ir_program *p = s->p;
  const char *suffix = arena_printf(s->scratch, "_%u", k);
  for (ir_stmt b = part; (b = ir_next(p, b, part));) {
    if (!ir_is_block(p, b)) continue;
    ir_str name = ir_name_cat(p, ir_blk(p, b)->name, suffix);
    name = ir_fresh_block_name(p, name);
    ir_blk(p, b)->name = name;
  }
}

/* Copies what is in the loop, which the first part gets in the end. */
static void partition_fill(sch_state *s, const args *a, ir_stmt part,
                           uint32_t k) {
  ir_program *p = s->p;
  if (!k) {
    ir_move_body(p, a->loop, part);
    return;
  }
  for (ir_stmt c = ir_st(p, a->loop)->body; c; c = ir_st(p, c)->next) {
    ir_subst sub;
    ir_subst_init(&sub, p, s->scratch);
    ir_append(p, part, ir_clone_stmt(&sub, c, NULL));
  }
}

/* Blocks that the guards of a part provably keep from running there; their
 * bindings might be outside of their domains. */
static void rest_blocks(sch_state *s, ir_stmt part) {
  ir_program *p = s->p;
  for (ir_stmt b = part; (b = sch_next_child(p, b, part));) {
    ir_span it = ir_blk(p, b)->iters;
    for (uint32_t i = it.at; i < it.at + it.n; i++) {
      const ir_iter r = p->iter.v[i];
      arith_range v = arith_bounds(p, r.bind);
      int64_t min, max;
      ir_domain_bounds(p, r.lo, r.extent, &min, &max);
      if (v.lo <= max && v.hi >= min) continue;
      ir_expr never = ir_bool(p, false);
      ir_blk(p, b)->pred = never;
      p->iter.v[i].bind = r.lo;
    }
  }
}

/* Loops that begin past the end of their ranges in a part run no iteration
 * there, and are declared to be that short. */
static void rest_loops(sch_state *s, ir_stmt part) {
  ir_program *p = s->p;
  for (ir_stmt l = part; (l = sch_next_outside(p, l, part));) {
    const ir_stmt_rec r = *ir_st(p, l);
    if (r.kind != IR_LOOP) continue;
    const ir_var_rec v = p->var.v[r.var];
    if (arith_bounds(p, r.lo).lo <= v.hi) continue;
    ir_expr lo = ir_index(p, v.lo), none = ir_index(p, 0);
    ir_st(p, l)->lo = lo;
    ir_st(p, l)->extent = none;
  }
}

/* Loops below must find the loop's variable in a range that they allow. */
static bool inner_allow(sch_state *s, const args *a, const cuts *c) {
  for (uint32_t k = 0; k < c->n; k++) {
    arith_range r;
    ir_expr extent = ir_sub(s->p, c->at[k + 1], c->at[k]);
    ir_domain_bounds(s->p, c->at[k], extent, &r.lo, &r.hi);
    if (!sch_inner_fit(s, a->loop, r, true)) return false;
  }
  return true;
}

static bool loop_partition_rewrite(sch_state *s, void *ud) {
  args *a = ud;
  ir_program *p = s->p;
  cuts c;
  if (!find_cuts(s, a, &c) || !inits_allow(s, a, &c) || !inner_allow(s, a, &c))
    return false;
  ir_stmt *made = arena_array(s->scratch, ir_stmt, c.n);
  ir_var old = ir_st(p, a->loop)->var;
  for (uint32_t k = 0; k < c.n; k++) made[k] = new_part(s, a, &c, k);
  for (uint32_t k = c.n; k-- > 0;) partition_fill(s, a, made[k], k);
  ir_replace(p, a->loop, made[0]);
  for (uint32_t k = 1; k < c.n; k++) ir_insert_after(p, made[k - 1], made[k]);
  for (uint32_t k = 1; k < c.n; k++) name_blocks(s, made[k], k);
  for (uint32_t k = 0; k < c.n; k++) {
    ir_stmt_rec r = *ir_st(p, made[k]);
    bool fixed = !a->preserve_unit_iters && ir_is_const(p, r.extent, 1);
    if (k) go_on(s, made[k], old);
    ir_expr to = fixed ? r.lo : ir_ref(p, r.var);
    sch_replace_vars(s, made[k], 1, &old, &to);
    rest_loops(s, made[k]);
    tidy_predicates(s, made[k]);
    rest_blocks(s, made[k]);
  }
  ir_kill(p, a->loop);
  a->loops = (sch_list){c.n, made};
  return true;
}

static bool loop_partition_apply(sch_state *s, struct loop_partition_args *a) {
  return sch_transaction_loop(s, loop_partition_rewrite, a, a->loop, true);
}
