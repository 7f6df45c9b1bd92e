/* SPDX-License-Identifier: Apache-2.0
 * split: strip-mines a loop into a nest. */
#include "ir/arith/arith.h"
#include "ir/arith/linear.h"
#include "ir/arith/range.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/sch.h"

#define SPLIT_SIG(F, S)                                          \
  F(S, IN, LOOP, loop, REQ, "the loop to split")                 \
  F(S, IN, FACTORS, factors, REQ,                                \
    "extents of the new loops, outer first; one may be ts.auto") \
  F(S, ATTR, BOOL, preserve_unit_iters, DEF(1),                  \
    "keep loops of extent 1 as variables in the bindings")       \
  F(S, ATTR, BOOL, disable_predication, DEF(0),                  \
    "refuse factors that would need a guard")                    \
  F(S, OUT, LOOPS, loops, REQ, "the new loops, outer first")

PRIM_DEFINE(
    split, SPLIT_SIG, .as_many = "factors",
    .summary = "Split one loop into a nest of loops.",
    .rewrite = "for i in e: S   ->   for i_0 in f0: for i_1 in f1: "
               "S[i := i_0 * f1 + i_1], guarded by i < e unless provable",
    .details =
        "1. The loop is bound to no thread axis and has no annotations.\n"
        "2. At most one factor is open (ts.auto, or -1 as samplers say it); "
        "it\n"
        "   becomes ceil(extent / the others).\n"
        "   One is where the extent is no constant; where it is not the "
        "first,\n"
        "   indices multiply a loop by what it becomes, which is not affine:\n"
        "   such loops cannot be parallel or vectorized.\n"
        "3. Every factor is at least 1 and their product covers the extent; "
        "it\n"
        "   is at most 2^60, and there are at most 32 factors.\n"
        "4. With disable_predication their product is the extent.\n"
        "5. Bounds of loops below that depend on the loop hold for the new\n"
        "   loops as they did.  Where these run further, such loops are given\n"
        "   the bounds of the last iteration.  A loop of extent 0 has none:\n"
        "   it is refused (EXTENT_EMPTY) where there are such loops; else the\n"
        "   new loops run, and all is guarded.  Where the extent is no\n"
        "   constant the outermost new loop is empty, too.\n"
        "6. Where the start of the loop is read from memory, or the extent is\n"
        "   and the new loops run further, nothing below changes that.\n"
        "7. Loops around and below whose iterations run in parallel stay free "
        "of\n"
        "   races, in spite of guards.\n"
        "Guards of several splits add up: 96 by { ts.auto, 48 }, the inner "
        "loop\n"
        "by { ts.auto, 32 }, has 2 * 2 * 32 = 128 guarded iterations.  Of a\n"
        "serial loop those that the guard excludes are not run (the lowering\n"
        "pass tighten_loop_bounds); a vectorized, unrolled or parallel one\n"
        "tests each.  One split by all factors, { ts.auto, 3, 16 }, or "
        "factors\n"
        "that divide, as sample_perfect_tile draws them, needs no guard.\n"
        "The new loops are serial, whatever kind the loop had, as in TVM.\n",
    .refusals = SCH_REASONS(
        SCH_R_DEPENDENT_LOOP, SCH_R_EXTENT_EMPTY, SCH_R_EXTENT_LARGE,
        SCH_R_FACTORS_EMPTY, SCH_R_FACTORS_MANY, SCH_R_FACTORS_SEVERAL_OPEN,
        SCH_R_FACTOR_NOT_POSITIVE, SCH_R_FACTOR_PRODUCT_SMALL,
        SCH_R_INPUT_OVERWRITTEN, SCH_R_LOOP_ANNOTATED, SCH_R_LOOP_BOUND,
        SCH_R_NEEDS_PREDICATE, SCH_R_NOT_STATIC, SCH_R_WOULD_RACE),
    .example = "local i = sch:get_loops(sch:get_block(\"C\"))\n"
               "local i0, i1 = sch:split(i, { ts.auto, 8 })\n");

#define MAX_FACTORS 32

static bool is_open(int64_t factor) {
  return factor == SCH_AUTO || factor == SCH_OPEN;
}

/* The factors with the open one inferred, whose position is *open; n: none is.
 * false after refusing. */
static bool resolve_factors(sch_state *s, const struct split_args *a,
                            int64_t extent, int64_t *f, uint32_t *at) {
  int64_t product = 1;
  uint32_t open = a->factors.n, nopen = 0;
  for (uint32_t i = 0; i < a->factors.n; i++) {
    f[i] = a->factors.v[i];
    if (is_open(f[i])) {
      open = i;
      nopen++;
      continue;
    }
    if (f[i] < 1)
      return sch_refuse(s, SCH_R_FACTOR_NOT_POSITIVE, .s = {a->loop},
                        .n = {i, f[i]});
    if (__builtin_mul_overflow(product, f[i], &product) ||
        product > SCH_MAX_EXTENT)
      return sch_refuse(s, SCH_R_EXTENT_LARGE, .s = {a->loop});
  }
  *at = open;
  if (nopen > 1)
    return sch_refuse(s, SCH_R_FACTORS_SEVERAL_OPEN, .s = {a->loop},
                      .n = {nopen});
  if (nopen) {
    f[open] = extent ? (extent - 1) / product + 1 : 1;
  } else if (product < extent) {
    return sch_refuse(s, SCH_R_FACTOR_PRODUCT_SMALL, .s = {a->loop},
                      .n = {product, extent});
  }
  return true;
}

/* The last value of the loop's variable. */
static ir_expr last_value(ir_program *p, ir_stmt loop) {
  const ir_stmt_rec r = *ir_st(p, loop);
  return ir_sub(p, ir_add(p, r.lo, r.extent), ir_index(p, 1));
}

/* Loops below whose bounds depend on the loop can take them from its last
 * iteration: they fit, and there is one wherever the new loops run.  These are
 * none, as the loop, where its extent is no constant; an empty loop else gets
 * iterations that are all guarded. */
static bool check_inner(sch_state *s, ir_stmt loop) {
  ir_program *p = s->p;
  const ir_stmt_rec r = *ir_st(p, loop);
  int64_t n = 1;
  bool empty = ir_const_int(p, r.extent, &n) && n < 1;
  for (ir_stmt l = loop; (l = sch_next_outside(p, l, loop));)
    if (empty && sch_domain_needs(p, l, r.var))
      return sch_refuse(s, SCH_R_EXTENT_EMPTY, .s = {loop});
  arith_range range = {arith_bounds(p, r.lo).lo,
                       arith_bounds(p, last_value(p, loop)).hi};
  return sch_inner_fit(s, loop, range, false);
}

/* What was read once, before the loop, is read below it now: the start in what
 * becomes of the variable, and, where the new loops run further, the extent. */
static bool check_reads(sch_state *s, ir_stmt loop, bool further) {
  const ir_stmt_rec r = *ir_st(s->p, loop);
  return sch_reads_stay(s, loop, r.lo, loop) &&
         (!further || sch_reads_stay(s, loop, r.extent, loop));
}

/* The value `at` of the loop's variable, or its last one beyond that; which
 * is not before the first, but its bounds do not determine where a loop may
 * be empty. */
static ir_expr clamp(ir_program *p, ir_stmt loop, ir_expr at) {
  int64_t first = arith_bounds(p, ir_st(p, loop)->lo).lo;
  ir_expr last = last_value(p, loop), v = ir_binary(p, IR_MIN, at, last);
  return arith_bounds(p, last).lo >= first
             ? v
             : ir_binary(p, IR_MAX, v, ir_index(p, first));
}

/* Where the new loops run further than the old one, guards keep blocks from
 * running there, but no loop: those see its last iteration again, and so do
 * the domains of iters, which claim no more.  `at`: its variable. */
static void clamp_inner(sch_state *s, ir_stmt loop, ir_expr at) {
  ir_var v = ir_st(s->p, loop)->var;
  ir_expr to = clamp(s->p, loop, at);
  sch_replace_in_domains(s, loop, 1, &v, &to);
}

/* The greatest value of the variable of a loop from 0; INT64_MAX: unknown. */
static int64_t split_last_of(ir_program *p, ir_expr extent) {
  int64_t min, max;
  ir_domain_bounds(p, ir_index(p, 0), extent, &min, &max);
  return max;
}

/* The greatest value that `open` times `product` iterations count. */
static int64_t last_counted(ir_program *p, ir_expr open, int64_t product) {
  arith_range tile = {0, split_last_of(p, open)};
  return arith_add_hi(arith_range_scale(tile, product).hi, product - 1);
}

/* The extent of the open loop, where that of the loop is no constant and the
 * others multiply to `product`. */
static ir_expr open_extent(ir_program *p, ir_expr extent, int64_t product) {
  ir_expr up = ir_add(p, extent, ir_index(p, product - 1));
  return ir_binary(p, IR_DIV, up, ir_index(p, product));
}

/* The loop gives way to first .. last, which count `index` up from 0; what
 * they count beyond its extent is guarded. */
static void replace(sch_state *s, ir_stmt old, ir_stmt first, ir_stmt last,
                    ir_expr index, bool exact) {
  ir_program *p = s->p;
  const ir_stmt_rec r = *ir_st(p, old);
  ir_expr at = ir_add(p, r.lo, index);
  sch_replace_vars(s, old, 1, &r.var, &at);
  if (!exact) sch_guard_below(s, old, ir_binary(p, IR_LT, index, r.extent));
  ir_move_body(p, old, last);
  ir_replace(p, old, first);
  ir_kill(p, old);
}

/* The loops, each in the one before, and what they count.  Where `open` is
 * given it is the extent of loop number `at_open`, whose factor is 1. */
static ir_expr make_loops(sch_state *s, const struct split_args *a,
                          const int64_t *f, uint32_t at_open, ir_expr open,
                          ir_stmt *made) {
  ir_program *p = s->p;
  ir_var of = ir_st(p, a->loop)->var;
  int64_t stride = 1;
  ir_expr outside = 0;
  lin index;
  lin_zero(&index);
  for (uint32_t i = 0; i < a->factors.n; i++) stride *= f[i];
  for (uint32_t i = 0; i < a->factors.n; i++) {
    bool is_it = open && i == at_open;
    int64_t most = is_it ? split_last_of(p, open) : f[i] - 1;
    ir_var v = ir_var_split(p, of, i, most);
    made[i] = ir_loop_new(p, v, ir_index(p, 0),
                          is_it ? open : ir_index(p, f[i]), IR_SERIAL);
    stride /= f[i];
    if (i) ir_append(p, made[i - 1], made[i]);
    if (f[i] == 1 && !a->preserve_unit_iters && !is_it) continue;
    if (open && i < at_open)
      outside =
          ir_add(p, outside,
                 ir_mul(p, ir_ref(p, v), ir_mul(p, open, ir_index(p, stride))));
    else
      lin_add_term(p, &index, ir_ref(p, v), stride);
  }
  return ir_add(p, outside, lin_build(p, &index));
}

static bool split_rewrite(sch_state *s, void *ud) {
  struct split_args *a = ud;
  ir_program *p = s->p;
  const ir_stmt_rec loop = *ir_st(p, a->loop);
  int64_t extent = 1, f[MAX_FACTORS];
  uint32_t n = a->factors.n, at_open;
  if (loop.loop_kind == IR_THREAD)
    return sch_refuse(s, SCH_R_LOOP_BOUND, .s = {a->loop});
  if (loop.anno) return sch_refuse(s, SCH_R_LOOP_ANNOTATED, .s = {a->loop});
  bool fixed = ir_const_int(p, loop.extent, &extent);
  if (!n && fixed) return sch_refuse(s, SCH_R_FACTORS_EMPTY, .s = {a->loop});
  if (n > MAX_FACTORS)
    return sch_refuse(s, SCH_R_FACTORS_MANY, .s = {a->loop},
                      .n = {n, MAX_FACTORS});
  if (!resolve_factors(s, a, extent, f, &at_open)) return false;
  if (!fixed && at_open == n)
    return sch_refuse(s, SCH_R_NOT_STATIC, .s = {a->loop});

  ir_stmt *made = arena_array(s->scratch, ir_stmt, n);
  int64_t all = 1;
  for (uint32_t i = 0; i < n; i++) all *= f[i];
  ir_expr open = fixed ? 0 : open_extent(p, loop.extent, all);
  bool whole =
      fixed ? all == extent
            : arith_prove_eq(p, ir_mul(p, open, ir_index(p, all)), loop.extent);
  if (a->disable_predication && !whole && !fixed)
    return sch_refuse(s, SCH_R_NOT_STATIC, .s = {a->loop});
  if (a->disable_predication && !whole)
    return sch_refuse(s, SCH_R_NEEDS_PREDICATE, .s = {a->loop},
                      .n = {all, extent});
  int64_t last = fixed ? extent - 1 : last_counted(p, open, all);
  arith_range range = arith_bounds(p, loop.lo);
  range.hi = arith_add_hi(range.hi, last);
  /* Sums over variables outside may seem to go further than they do. */
  bool further = !whole || sch_inner_misfit(s, a->loop, range, false);
  if (further && !check_inner(s, a->loop)) return false;
  if (!check_reads(s, a->loop, further || (open && at_open))) return false;
  ir_expr at = make_loops(s, a, f, at_open, open, made);
  if (further) clamp_inner(s, a->loop, ir_add(p, loop.lo, at));
  replace(s, a->loop, made[0], made[n - 1], at, whole);
  a->loops = (sch_list){n, made};
  return true;
}

/* The factors are proven to divide the extent, so that nothing is guarded. */
static bool divides(const ir_program *p, const struct split_args *a) {
  int64_t extent, product = 1;
  bool open = false;
  if (!ir_const_int(p, ir_st(p, a->loop)->extent, &extent)) return false;
  for (uint32_t i = 0; i < a->factors.n; i++) {
    int64_t f = a->factors.v[i];
    open |= is_open(f);
    if (is_open(f)) continue;
    if (f < 1 || __builtin_mul_overflow(product, f, &product)) return false;
  }
  return open ? extent % product == 0 : extent == product;
}

static bool split_apply(sch_state *s, struct split_args *a) {
  return sch_transaction_loop(s, split_rewrite, a, a->loop, !divides(s->p, a));
}
