/* SPDX-License-Identifier: Apache-2.0
 * compute_inline: substitutes a block's expression for the loads of its
 * result. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/query.h"
#include "schedule/analysis/inline.h"
#include "schedule/analysis/move.h"

#define COMPUTE_INLINE_SIG(F, S) \
  F(S, IN, BLOCK, block, REQ, "the block to inline into its consumers")

PRIM_DEFINE(
    compute_inline, COMPUTE_INLINE_SIG,
    .summary = "Inline a block into its consumers.",
    .rewrite = "for i: B[i] = f(A[i]); for i: C[i] = g(B[i])   ->   "
               "for i: C[i] = g(f(A[i]))",
    .details =
        "1. The scope of the block consists of loops and blocks, as far as\n"
        "   it shares buffers with the block.\n"
        "2. The block is complete: all its iterations are spatial, it is\n"
        "   the only writer of what it writes, reads none of it, and writes\n"
        "   no element twice. Its body is one store.\n"
        "3. What it writes is one buffer, local to the scope.\n"
        "4. The indices of the store can be solved for the block's iters.\n"
        "5. The buffer is read by plain loads only, not through a matched\n"
        "   buffer; and by the predicate of a block only where no loop is\n"
        "   around both blocks.\n"
        "6. What the block reads is the same where its consumers run.\n"
        "7. It is not the only block of its scope.\n"
        "8. Loops whose iterations run in parallel stay free of races.\n"
        "9. Where it calls a function of the host's, no consumer uses its\n"
        "   value in a statement of its own, which would call the function\n"
        "   for what it does.\n"
        "The buffer is gone afterwards.\n",
    .refusals = SCH_REASONS(SCH_INLINE_REASONS),
    .example = "sch:compute_inline(sch:get_block(\"C\"))\n");

/* ---- legality ----------------------------------------------------------- */

static bool inline_is_asked(const ir_program *p, ir_stmt q, ir_buf buf) {
  return sch_predicate_loads(p, q) && ir_has_load(p, ir_blk(p, q)->pred, buf);
}

/* Does child block q of the scope read the buffer, or its predicate? */
static bool inline_is_consumer(const ir_program *p, ir_stmt q, ir_buf buf) {
  return sch_reads_buf(p, q, buf) || inline_is_asked(p, q, buf);
}

/* Where consumer q runs, the block would compute what it computed before:
 * all it reads is the same, and what q reads was made in the same iteration
 * of what is around both. */
static bool check_values(sch_state *s, ir_stmt block, ir_stmt q,
                         const sch_def *def) {
  ir_program *p = s->p;
  ir_stmt common = sch_common(p, block, q);
  if (!sch_comes_before(p, block, q))
    return sch_refuse(s, SCH_R_READ_BEFORE, .s = {q, block}, .buf = def->buf);
  if (!sch_check_later(s, block, common, sch_step_down(p, common, q), NULL))
    return false;
  if (ir_is_block(p, common)) return true;
  if (inline_is_asked(p, q, def->buf))
    return sch_refuse(s, SCH_R_OTHER_STATEMENT, .s = {q});
  uint32_t niters = ir_blk(p, block)->iters.n;
  sch_span *old = arena_array(s->scratch, sch_span, 2 * niters);
  sch_span *need = old + niters;
  if (!sch_old_instances(s, block, common, old))
    return sch_refuse(s, SCH_R_INSTANCES_UNKNOWN, .s = {block});
  ir_span r = ir_blk(p, q)->reads;
  ir_expr *box = arena_array(s->scratch, ir_expr, 2 * def->n);
  ir_region w = p->region.v[ir_blk(p, block)->writes.at];
  for (uint32_t i = 0; i < r.n; i++) {
    ir_region used = p->region.v[r.at + i];
    if (used.buf != def->buf) continue;
    if (!ir_may_access_box(p, s->scratch, q, used, common, box, box + def->n))
      return sch_refuse(s, SCH_R_NOT_LOCAL, .s = {block, common});
    sch_instances(s, block, w, box, box + def->n, false, need);
    if (!sch_spans_within(s, block, need, old))
      return sch_refuse(s, SCH_R_NOT_LOCAL, .s = {block, common});
  }
  return true;
}

static bool check_block(sch_state *s, ir_stmt block, ir_stmt scope,
                        sch_def *def) {
  const ir_program *p = s->p;
  if (!sch_check_alone_but_predicates(s, scope, block)) return false;
  if (sch_has_init(p, block))
    return sch_refuse(s, SCH_R_BLOCK_REDUCES, .s = {block});
  if (!sch_check_movable(s, scope, block)) return false;
  if (ir_blk(p, block)->writes.n != 1)
    return sch_refuse(s, SCH_R_SEVERAL_WRITES, .s = {block},
                      .n = {ir_blk(p, block)->writes.n});
  if (sch_is_output(p, block))
    return sch_refuse(s, SCH_R_OUTPUT_BLOCK, .s = {block},
                      .buf = sch_outer_buf(p, block));
  ir_stmt first = sch_next_child(p, scope, scope);
  if (first == block && !sch_next_child(p, block, scope))
    return sch_refuse(s, SCH_R_ONLY_BLOCK, .s = {block, scope});
  if (!sch_get_def(s, ir_st(p, block)->body, def))
    return sch_refuse(s, SCH_R_BODY_NOT_STORE, .s = {block});
  return true;
}

/* The store's indices can be solved; asked of the indices themselves. */
static bool check_inverse(sch_state *s, ir_stmt block, const sch_def *def) {
  ir_expr *out = arena_array(s->scratch, ir_expr, ir_blk(s->p, block)->iters.n);
  if (sch_invert(s, block, def->n, def->idx, def->idx, out, NULL)) return true;
  return sch_refuse(s, SCH_R_NOT_INVERTIBLE, .s = {block}, .buf = def->buf);
}

/* How often a value's calls are made nobody counts, but those of a statement.
 */
static bool check_calls(sch_state *s, ir_stmt block, ir_stmt scope,
                        const sch_def *def) {
  const ir_program *p = s->p;
  if (!ir_calls_host(p, def->value)) return true;
  for (ir_stmt q = scope; (q = ir_next(p, q, scope));)
    if (ir_st(p, q)->kind == IR_EVALUATE &&
        ir_has_load(p, ir_st(p, q)->eval, def->buf))
      return sch_refuse(s, SCH_R_CALL_IN_STATEMENT,
                        .s = {block, ir_scope_of(p, q)});
  return true;
}

static bool compute_inline_check(sch_state *s, ir_stmt block, sch_def *def) {
  const ir_program *p = s->p;
  ir_stmt scope = ir_scope_of(p, block);
  if (!check_block(s, block, scope, def) || !check_inverse(s, block, def) ||
      !check_calls(s, block, scope, def))
    return false;
  if (sch_has_match(p, scope, def->buf))
    return sch_refuse(s, SCH_R_OPAQUE_ACCESS, .s = {block}, .buf = def->buf);
  if (ir_is_hidden(s->p, def->buf))
    return sch_refuse(s, SCH_R_BUFFER_HIDDEN, .buf = def->buf);
  if (!sch_has_producer(s, scope, block)) return true;
  for (ir_stmt q = scope; (q = sch_next_child(p, q, scope));)
    if (q != block && inline_is_consumer(p, q, def->buf) &&
        !check_values(s, block, q, def))
      return false;
  return true;
}

/* ---- the change --------------------------------------------------------- */

typedef struct inliner {
  sch_state *s;
  ir_stmt block;
  const sch_def *def;
  uint32_t before; /* expressions there were */
} inliner;

/* A load of the buffer becomes the block's value for the iters that store
 * there.  Each block of a chain that reads the one before at two places
 * doubles what the last one computes, so there is an end to that. */
static ir_expr inline_load(ir_subst *sub, ir_buf buf, uint32_t n,
                           const ir_expr *idx) {
  const inliner *f = sub->ud;
  if (buf != f->def->buf) return 0;
  ir_program *p = sub->p;
  f->s->grows |= p->node.n - f->before > SCH_MOST_EXPRESSIONS;
  if (f->s->grows) return 0;
  ir_span it = ir_blk(p, f->block)->iters;
  ir_expr *iter = arena_array(sub->scratch, ir_expr, it.n);
  if (!sch_invert(f->s, f->block, n, f->def->idx, idx, iter, NULL)) return 0;
  ir_subst value;
  ir_subst_init(&value, p, sub->scratch);
  for (uint32_t k = 0; k < it.n; k++)
    ir_subst_var(&value, p->iter.v[it.at + k].var, iter[k]);
  return ir_subst_expr(&value, f->def->value);
}

static bool may_change(sch_state *s, void *ud) {
  sch_def def;
  return compute_inline_check(s, *(const ir_stmt *)ud, &def);
}

static bool compute_inline_rewrite(sch_state *s, void *ud) {
  ir_program *p = s->p;
  ir_stmt block = *(const ir_stmt *)ud;
  sch_def def;
  if (!compute_inline_check(s, block, &def)) return false;
  ir_stmt scope = ir_scope_of(p, block);
  inliner f = {s, block, &def, p->node.n};
  ir_subst sub;
  ir_subst_init(&sub, p, s->scratch);
  sub.load = inline_load;
  sub.ud = &f;
  for (ir_stmt q = scope; (q = sch_next_child(p, q, scope));)
    if (q != block && inline_is_consumer(p, q, def.buf)) {
      ir_subst_stmt(&sub, q);
      if (s->grows) return false;
      sch_end_claims(s, q, ir_blk(p, block)->reads);
      sch_refresh_regions(s, q);
    }
  sch_remove_leaf(p, block);
  ir_kill(p, block);
  ir_block_remove_alloc(p, scope, def.buf);
  return true;
}

bool sch_inline(sch_state *s, ir_stmt block) {
  return sch_transaction(s, compute_inline_rewrite, &block, block);
}

bool sch_can_inline(sch_state *s, ir_stmt block) {
  return sch_transaction_dry_run(s, may_change, compute_inline_rewrite, &block,
                                 block);
}

static bool compute_inline_apply(sch_state *s, struct compute_inline_args *a) {
  return sch_inline(s, a->block);
}
