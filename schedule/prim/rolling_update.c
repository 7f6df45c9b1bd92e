/* SPDX-License-Identifier: Apache-2.0
 * rolling_update: fuses a loop that sums up with the one before it that finds
 * the maximum which the summands depend on. */
#include "schedule/rewrite/rolling_update.h"
#include "ir/analysis/analysis.h"
#include "ir/query.h"
#include "schedule/analysis/inline.h"
#include "schedule/analysis/move.h"
#include "schedule/dependence/distance.h"

#include <math.h>

#define ROLLING_UPDATE_SIG(F, S)                                           \
  F(S, IN, LOOP, loop, REQ, "the loop that finds the extreme")             \
  F(S, IN, LOOP, dependent_loop, REQ, "the next one, which depends on it") \
  F(S, OUT, LOOP, fused_loop, REQ, "the fused loop")

PRIM_DEFINE(
    rolling_update, ROLLING_UPDATE_SIG,
    .summary = "Fuse two loops of which the second sums up what scales with an "
               "extreme that the first finds.",
    .rewrite =
        "for k: m = max(m, x[k]); for k: s += exp(x[k] - m) * v[k]   ->   "
        "for k: m = max(m, x[k]); s *= exp(m_run - m); m_run = m; "
        "s += exp(x[k] - m_run) * v[k]",
    .details =
        "1. The second loop follows the first in one body. Both are serial,\n"
        "   without annotations and with the same bounds. Below them are only\n"
        "   loops and blocks, which hide no access and load nothing in "
        "bounds,\n"
        "   bindings and predicates.\n"
        "2. An extreme is the result of a reduction of the first loop by max\n"
        "   or min of floats, each result of which starts in its first\n"
        "   iteration; blocks of the second loop read it.\n"
        "3. Such a block stores one value, in which a maximum is subtracted "
        "in\n"
        "   the argument of exp (a minimum: added): a product with such a\n"
        "   factor, or a sum, difference or ts.select of values that have the\n"
        "   same one. An extreme may be multiplied by a constant. The block\n"
        "   adds to a sum, from 0, or its result is used only in the same\n"
        "   iteration, in the same way.\n"
        "4. What a sum is scaled by is the same for all that it adds up in an\n"
        "   iteration, and no other block of the loop reads it.\n"
        "5. Aside from extremes, no iteration of the second loop conflicts\n"
        "   with a later one of the first.\n"
        "6. Of both reductions everything that decompose_reduction asks.\n"
        "7. Loops around and below whose iterations run in parallel stay free "
        "of\n"
        "   races.\n"
        "After each iteration a sum is what it would be if the extreme were\n"
        "final: the factor by which e^(x - m) changes does not depend on x\n"
        "(Milakov and Gimelshein, \"Online normalizer calculation for "
        "softmax\",\n"
        "2018). As factors are at most 1, nothing overflows that did not "
        "before.\n"
        "A row that has nothing but -inf so far counts from the least finite\n"
        "number. For an extreme M the buffer M_run is made, with the blocks\n"
        "X_run_init before the loop and X_run; for a sum X_init before the "
        "loop,\n"
        "and X_rescale; the sum's block becomes X_update.\n",
    .refusals = SCH_REASONS(
        SCH_INIT_REASONS, SCH_SCALING_REASONS, SCH_R_BODY_NOT_STORE,
        SCH_R_EFFECTS_ORDER, SCH_R_HOIST_START, SCH_R_INIT_HEIGHT,
        SCH_R_LOOP_ANNOTATED, SCH_R_LOOP_NOT_SERIAL, SCH_R_MERGE_BOUNDS,
        SCH_R_MERGE_DEPENDS, SCH_R_NOT_LEAF, SCH_R_NOT_SIDE_BY_SIDE,
        SCH_POLY_REASONS, SCH_R_ROLLING_KEPT, SCH_R_ROLLING_NONE,
        SCH_R_ROLLING_PARTIAL, SCH_R_SCALES_APART, SCH_R_WOULD_RACE),
    .example = "local i, k = sch:get_loops(sch:get_block(\"M\"))\n"
               "local j, r = sch:get_loops(sch:get_block(\"S\"))\n"
               "sch:merge(i, j)\n"
               "local loop = sch:rolling_update(k, r)\n");

typedef struct rolling {
  sch_rolling r;
  uint8_t *running; /* by buffer: SCH_RUNNING_* */
  sch_scaling x;
} rolling;

/* ---- the loops ---------------------------------------------------------- */

static bool check_rolling_loop(sch_state *s, ir_stmt loop) {
  const ir_program *p = s->p;
  const ir_stmt_rec *r = ir_st(p, loop);
  ir_stmt other;
  if (r->loop_kind != IR_SERIAL)
    return sch_refuse(s, SCH_R_LOOP_NOT_SERIAL, .s = {loop});
  if (r->anno) return sch_refuse(s, SCH_R_LOOP_ANNOTATED, .s = {loop});
  if (!sch_is_plain(p, loop, &other))
    return sch_refuse(s, SCH_R_OTHER_STATEMENT, .s = {other});
  for (ir_stmt b = loop; (b = sch_next_child(p, b, loop));) {
    const ir_block_rec *k = ir_blk(p, b);
    ir_stmt inner = sch_next_child(p, b, b);
    if (inner) return sch_refuse(s, SCH_R_NOT_LEAF, .s = {b, inner});
    if (k->allocs.n || k->matches.n)
      return sch_refuse(s, SCH_R_INIT_LOCAL, .s = {b});
    for (uint32_t i = k->writes.at; i < k->writes.at + k->writes.n; i++)
      if (ir_is_hidden(p, p->region.v[i].buf))
        return sch_refuse(s, SCH_R_BUFFER_HIDDEN, .s = {b},
                          .buf = p->region.v[i].buf);
  }
  return true;
}

static bool check_rolling_loops(const sch_rolling *w) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  const ir_stmt_rec *a = ir_st(p, w->first), *b = ir_st(p, w->second);
  if (a->next != w->second)
    return sch_refuse(s, SCH_R_NOT_SIDE_BY_SIDE, .s = {w->first, w->second});
  if (a->lo != b->lo || a->extent != b->extent)
    return sch_refuse(s, SCH_R_MERGE_BOUNDS, .s = {w->first, w->second});
  return check_rolling_loop(s, w->first) && check_rolling_loop(s, w->second);
}

/* ---- extremes ----------------------------------------------------------- */

static double greatest_finite(tess_dtype t) {
  if (t.bits == 64) return 0x1.fffffffffffffp1023;
  if (t.bits == 32) return 0x1.fffffep127;
  return t.code == TESS_DTYPE_BFLOAT ? 0x1.fep127 : 65504;
}

static bool loop_reads(const ir_program *p, ir_stmt loop, ir_buf buf) {
  for (ir_stmt b = loop; (b = sch_next_child(p, b, loop));)
    if (sch_reads_buf(p, b, buf)) return true;
  return false;
}

static bool is_only_writer(sch_state *s, ir_stmt block) {
  ir_stmt scope = ir_scope_of(s->p, block);
  return sch_block_props(s, scope, block) & SCH_DOMINANT;
}

/* Notes a block of the first loop that reduces over it, if it is an extreme
 * that the second loop reads. */
static void note_extreme(rolling *w, ir_stmt block) {
  sch_state *s = w->r.s;
  ir_program *p = s->p;
  sch_def def;
  ir_op how;
  uint8_t *drives = arena_zalloc(s->scratch, p->var.n);
  sch_mark_drivers(s, block, drives);
  if (drives[ir_st(p, w->r.first)->var] != 1 << IR_REDUCE ||
      !sch_has_init(p, block) || !sch_get_def(s, ir_st(p, block)->body, &def) ||
      !loop_reads(p, w->r.second, def.buf) || w->running[def.buf] ||
      !sch_added(p, block, &def, &how) || (how != IR_MAX && how != IR_MIN) ||
      !is_only_writer(s, block))
    return;
  tess_dtype t = p->buf.v[def.buf].dtype;
  ir_expr id = p->arg.v[p->reducer.v[ir_blk(p, block)->reducer].identity.at];
  if (!ir_is_float(t) || ir_at(p, id)->op != IR_REAL) return;
  sch_extreme *x = &w->r.extreme[w->r.nextreme++];
  *x = (sch_extreme){.block = block, .buf = def.buf, .least = id};
  x->idx = ir_st(p, def.store)->idx;
  x->clamped = isinf(ir_at(p, id)->f);
  double end = greatest_finite(t);
  if (x->clamped) x->least = ir_real(p, t, how == IR_MAX ? -end : end);
  w->running[def.buf] = how == IR_MAX ? SCH_RUNNING_MAX : SCH_RUNNING_MIN;
}

static bool find_extremes(rolling *w) {
  sch_state *s = w->r.s;
  const ir_program *p = s->p;
  sch_list blocks = sch_child_blocks(s, w->r.first);
  w->running = arena_zalloc(s->scratch, p->buf.n);
  w->r.extreme = arena_array(s->scratch, sch_extreme, blocks.n);
  for (uint32_t i = 0; i < blocks.n; i++) note_extreme(w, blocks.v[i]);
  return w->r.nextreme ||
         sch_refuse(s, SCH_R_ROLLING_NONE, .s = {w->r.first, w->r.second});
}

/* ---- what depends on them ----------------------------------------------- */

static bool depends_on_extreme(const rolling *w, ir_stmt block, ir_buf *buf) {
  const ir_program *p = w->r.s->p;
  ir_span r = ir_blk(p, block)->reads;
  for (uint32_t i = r.at; i < r.at + r.n; i++) {
    *buf = p->region.v[i].buf;
    if (w->running[*buf] || w->x.maker[*buf]) return true;
  }
  return false;
}

static bool starts_at_zero(const ir_program *p, ir_stmt block) {
  ir_stmt init = ir_st(p, block)->alt;
  const ir_stmt_rec *r = ir_st(p, init);
  return r->kind == IR_STORE && !r->next && ir_at(p, r->value)->op == IR_REAL &&
         ir_at(p, r->value)->f == 0;
}

/* The exponent uses neither iters that reduce nor what the loops change, but
 * for extremes. */
static bool check_exponent(const rolling *w, ir_stmt block, ir_expr h) {
  sch_state *s = w->r.s;
  const ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    if (p->iter.v[i].kind != IR_SPATIAL && ir_uses_var(p, h, p->iter.v[i].var))
      return sch_refuse(s, SCH_R_SCALES_APART, .s = {block});
  return true;
}

/* Is what is stored to the buffer gone by the next iteration? */
static bool is_fleeting(const rolling *w, ir_buf buf) {
  ir_program *p = w->r.s->p;
  if (p->buf.v[buf].role != IR_ROLE_LOCAL) return false;
  ir_stmt of = ir_lifetime_scope(p, w->r.s->scratch, buf);
  return of && (of == w->r.second || ir_is_ancestor(p, w->r.second, of));
}

static bool check_dependent(rolling *w, ir_stmt block) {
  sch_state *s = w->r.s;
  const ir_program *p = s->p;
  ir_buf read;
  sch_def def;
  ir_op how = IR_NONE;
  ir_expr h = 0;
  if (!depends_on_extreme(w, block, &read)) return true;
  if (!sch_get_def(s, ir_st(p, block)->body, &def))
    return sch_refuse(s, SCH_R_BODY_NOT_STORE, .s = {block});
  ir_expr value = def.value;
  bool sums = sch_has_init(p, block);
  if (sums) {
    value = sch_added(p, block, &def, &how);
    if (!value || how != IR_ADD)
      return sch_refuse(s, SCH_R_SCALES_NOT, .s = {block}, .buf = read);
    if (!starts_at_zero(p, block))
      return sch_refuse(s, SCH_R_HOIST_START, .s = {block});
  }
  for (uint32_t d = 0; d < def.n; d++)
    if (!sch_scaling_of(&w->x, block, def.idx[d], &h) || h)
      return sch_refuse(s, SCH_R_SCALES_NOT, .s = {block}, .buf = read);
  if (!sch_scaling_of(&w->x, block, value, &h)) return false;
  if (!h) return true;
  if (!check_exponent(w, block, h)) return false;
  ir_span idx = ir_st(p, def.store)->idx;
  if (is_fleeting(w, def.buf) && is_only_writer(s, block)) {
    sch_scaling_note(&w->x, block, def.buf, idx, h);
    return true;
  }
  if (!sums || !is_only_writer(s, block))
    return sch_refuse(s, SCH_R_ROLLING_KEPT, .s = {block, w->r.second},
                      .buf = def.buf);
  w->r.sum[w->r.nsum++] =
      (sch_rolled){.block = block, .buf = def.buf, .idx = idx, .exponent = h};
  return true;
}

static bool find_sums(rolling *w) {
  sch_state *s = w->r.s;
  const ir_program *p = s->p;
  sch_list blocks = sch_child_blocks(s, w->r.second);
  w->r.sum = arena_array(s->scratch, sch_rolled, blocks.n);
  sch_scaling_init(&w->x, s, w->running);
  for (uint32_t i = 0; i < blocks.n; i++)
    if (!check_dependent(w, blocks.v[i])) return false;
  for (uint32_t k = 0; k < w->r.nsum; k++)
    for (uint32_t i = 0; i < blocks.n; i++)
      if (blocks.v[i] != w->r.sum[k].block &&
          sch_reads_buf(p, blocks.v[i], w->r.sum[k].buf))
        return sch_refuse(s, SCH_R_ROLLING_PARTIAL, .s = {blocks.v[i]},
                          .buf = w->r.sum[k].buf);
  return true;
}

/* ---- the change --------------------------------------------------------- */

static void share_loop_variable(const sch_rolling *w) {
  ir_program *p = w->s->p;
  ir_var of = ir_st(p, w->second)->var, to = ir_st(p, w->first)->var;
  ir_expr ref = ir_ref(p, to);
  sch_replace_vars(w->s, w->second, 1, &of, &ref);
  ir_st(p, w->second)->var = to;
}

static bool check_rolling_order(const rolling *w) {
  sch_state *s = w->r.s;
  ir_var var = ir_st(s->p, w->r.first)->var;
  dist d;
  dist_init(&d, s, 1, &var, ir_st(s->p, w->r.first)->parent);
  return sch_keeps_order(&d, w->r.first, w->r.second, SCH_R_MERGE_DEPENDS,
                         w->running);
}

/* Reductions start in the first iteration, and go on in each. */
static bool check_starts_and_nests(rolling *w) {
  sch_state *s = w->r.s;
  for (uint32_t i = 0; i < w->r.nextreme; i++)
    if (!sch_init_check(s, w->r.extreme[i].block, w->r.first, false,
                        &w->r.extreme[i].nest))
      return false;
  for (uint32_t i = 0; i < w->r.nsum; i++) {
    sch_rolled *r = &w->r.sum[i];
    if (!sch_init_check(s, r->block, w->r.second, false, &r->nest))
      return false;
    if (!sch_init_is_reduced(&r->nest, w->r.second))
      return sch_refuse(s, SCH_R_ROLLING_KEPT, .s = {r->block, w->r.second},
                        .buf = r->buf);
  }
  return true;
}

static bool rolling_rewrite(sch_state *s, void *ud) {
  struct rolling_update_args *a = ud;
  rolling w = {.r = {.s = s, .first = a->loop, .second = a->dependent_loop}};
  if (!check_rolling_loops(&w.r) || !find_extremes(&w) || !find_sums(&w))
    return false;
  share_loop_variable(&w.r);
  if (!check_rolling_order(&w) || !check_starts_and_nests(&w)) return false;
  sch_rolling_make(&w.r);
  a->fused_loop = a->loop;
  return true;
}

static bool rolling_update_apply(sch_state *s, struct rolling_update_args *a) {
  return sch_transaction_rollback(s, rolling_rewrite, a, a->loop);
}
