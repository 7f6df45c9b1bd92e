/* SPDX-License-Identifier: Apache-2.0
 * reverse_compute_inline: inlines a consumer into its producer's stores. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/query.h"
#include "schedule/analysis/inline.h"
#include "schedule/analysis/move.h"

#define REVERSE_COMPUTE_INLINE_SIG(F, S) \
  F(S, IN, BLOCK, block, REQ, "the consumer to inline into its producer")

PRIM_DEFINE(
    reverse_compute_inline, REVERSE_COMPUTE_INLINE_SIG,
    .summary = "Inline a block into its only producer.",
    .rewrite = "for i: B[i] = f(A[i]); for i: C[i] = g(B[i])   ->   "
               "for i: C[i] = g(f(A[i]))",
    .details =
        "1. The scope of the block consists of loops and blocks, as far as\n"
        "   it shares buffers with the block.\n"
        "2. The block is complete, and its body is one store. The domains of\n"
        "   its iters need no loop that is not around both.\n"
        "3. The producer is the last block of the scope that makes what\n"
        "   this one reads; others have run before it and all that is\n"
        "   around it.\n"
        "4. The producer is complete, or a reduction, and its body is one\n"
        "   store, into one buffer, which is local to the scope and read by\n"
        "   this block only. Into a reduction only a plain copy can be\n"
        "   folded. In a block that copies on its own (read_at, write_at)\n"
        "   loops may be around the store; this block then needs all that\n"
        "   they store to, and stores that to a box.\n"
        "5. All loads of that buffer have the same indices, which can be\n"
        "   solved for the block's iters; it is not read through a matched\n"
        "   buffer.\n"
        "6. Nothing that runs between the two reads what the block writes\n"
        "   or changes what it reads.\n"
        "7. Each instance of the block has one of the producer; where the\n"
        "   producer has more, it gets a predicate.\n"
        "8. Loops whose iterations run in parallel stay free of races.\n"
        "The buffer is gone afterwards; the producer keeps its name.\n",
    .refusals = SCH_REASONS(SCH_REVERSE_INLINE_REASONS),
    .example = "sch:reverse_compute_inline(sch:get_block(\"D\"))\n");

/* What is folded, and the reduction that it must be folded into; 0: what
 * there is. */
typedef struct pair {
  ir_stmt block, reduction;
} pair;

typedef struct plan {
  ir_stmt block, scope, producer;
  ir_stmt reduction;        /* what the producer must be; 0: the last one */
  sch_epilogue epilogue;    /* op 0: the block only copies */
  ir_stmt common, from, to; /* innermost around both; its children with them */
  sch_def def;              /* of the block */
  sch_def made, init;       /* of the producer, of its init if it reduces */
  ir_expr *load;            /* indices with which the block reads made.buf */
  ir_expr *iter;            /* the block's iters, over the producer's */
  ir_expr cond;             /* the producer makes something for it; 0: always */
  ir_expr clip;   /* the condition in the producer; 0: there is none */
  ir_expr inside; /* what of cond must be asked there */
  sch_span *old;  /* the block's instances in an iteration of common */
  ir_expr guard;  /* the same, where they are no box: what must hold
                   * around the producer; 0: nothing */
} plan;

/* ---- the two blocks ----------------------------------------------------- */

static bool check_block(sch_state *s, plan *pl) {
  const ir_program *p = s->p;
  if (!sch_check_alone(s, pl->scope, pl->block) ||
      !sch_check_movable(s, pl->scope, pl->block))
    return false;
  if (sch_has_init(p, pl->block))
    return sch_refuse(s, SCH_R_BLOCK_REDUCES, .s = {pl->block});
  if (ir_blk(p, pl->block)->writes.n != 1)
    return sch_refuse(s, SCH_R_SEVERAL_WRITES, .s = {pl->block},
                      .n = {ir_blk(p, pl->block)->writes.n});
  if (!sch_get_def(s, ir_st(p, pl->block)->body, &pl->def))
    return sch_refuse(s, SCH_R_BODY_NOT_STORE, .s = {pl->block});
  return true;
}

/* A producer that reduces is one store, with another one as its init; others
 * may be a nest of loops that copies. */
static bool get_producer_def(sch_state *s, ir_stmt made_by, plan *pl) {
  const ir_stmt_rec r = *ir_st(s->p, made_by);
  if (!r.alt) return sch_get_copy_def(s, r.body, &pl->made, &pl->clip);
  return sch_get_def(s, r.body, &pl->made) && sch_get_def(s, r.alt, &pl->init);
}

static bool check_producer(sch_state *s, plan *pl) {
  const ir_program *p = s->p;
  ir_stmt made_by = 0;
  for (ir_stmt q = pl->scope; (q = sch_next_child(p, q, pl->scope));)
    if (q != pl->block && (!pl->reduction || q == pl->reduction) &&
        (sch_depends(s, q, pl->block) & SCH_RAW))
      made_by = q;
  if (!made_by || !sch_comes_before(p, made_by, pl->block))
    return sch_refuse(s, SCH_R_NO_PRODUCER_BEFORE, .s = {pl->block});
  pl->producer = made_by;
  if (!sch_check_movable(s, pl->scope, made_by)) return false;
  if (sch_is_output(p, made_by))
    return sch_refuse(s, SCH_R_OUTPUT_BLOCK, .s = {made_by},
                      .buf = sch_outer_buf(p, made_by));
  if (ir_blk(p, made_by)->writes.n != 1)
    return sch_refuse(s, SCH_R_SEVERAL_WRITES, .s = {made_by},
                      .n = {ir_blk(p, made_by)->writes.n});
  if (!get_producer_def(s, made_by, pl))
    return sch_refuse(s, SCH_R_BODY_NOT_STORE, .s = {made_by});
  for (ir_stmt q = pl->scope; (q = sch_next_child(p, q, pl->scope));)
    if (q != pl->block && q != made_by && sch_reads_buf(p, q, pl->made.buf))
      return sch_refuse(s, SCH_R_OTHER_CONSUMER, .s = {q, pl->block},
                        .buf = pl->made.buf);
  if (sch_has_match(p, pl->scope, pl->made.buf))
    return sch_refuse(s, SCH_R_OPAQUE_ACCESS, .s = {made_by},
                      .buf = pl->made.buf);
  if (ir_is_hidden(p, pl->made.buf))
    return sch_refuse(s, SCH_R_BUFFER_HIDDEN, .buf = pl->made.buf);
  pl->common = sch_common(p, made_by, pl->block);
  pl->to = sch_step_down(p, pl->common, made_by);
  pl->from = sch_step_down(p, pl->common, pl->block);
  return sch_check_domains(s, pl->block, pl->common);
}

/* ---- how the block reads ------------------------------------------------ */

/* Looks for loads of a buffer; all have the same indices, or `differ`. */
typedef struct loads {
  ir_buf buf;
  uint32_t n;
  ir_expr *idx;
  bool found, differ;
} loads;

static void reverse_inline_note_load(const ir_program *p, ir_expr e, void *ud) {
  loads *l = ud;
  const ir_node *x = ir_at(p, e);
  if (x->op != IR_LOAD || x->a != l->buf) return;
  const ir_expr *idx = p->arg.v + x->b;
  size_t bytes = l->n * sizeof *idx;
  if (x->c || (l->found && memcmp(idx, l->idx, bytes))) l->differ = true;
  memcpy(l->idx, idx, bytes);
  l->found = true;
}

static loads find_loads(sch_state *s, const sch_def *d, ir_buf buf) {
  const ir_program *p = s->p;
  uint32_t n = ir_ndim(p, buf);
  loads l = {.buf = buf, .n = n, .idx = arena_array(s->scratch, ir_expr, n)};
  ir_visit(p, s->scratch, d->value, reverse_inline_note_load, &l);
  for (uint32_t i = 0; i < d->n; i++)
    ir_visit(p, s->scratch, d->idx[i], reverse_inline_note_load, &l);
  return l;
}

/* A reduction can store elsewhere, and do more with each step only where
 * that commutes. */
static bool check_reduction(sch_state *s, plan *pl) {
  const ir_program *p = s->p;
  const ir_node *x = ir_at(p, pl->def.value);
  loads own = find_loads(s, &pl->made, pl->made.buf);
  size_t bytes = pl->made.n * sizeof(ir_expr);
  bool in_place = !own.differ && pl->init.buf == pl->made.buf &&
                  (!own.found || !memcmp(own.idx, pl->made.idx, bytes)) &&
                  !memcmp(pl->init.idx, pl->made.idx, bytes);
  bool copies = x->op == IR_LOAD && x->a == pl->made.buf;
  if (in_place && copies) return true;
  if (!pl->reduction)
    return sch_refuse(s, SCH_R_NOT_A_COPY, .s = {pl->block, pl->producer});
  if (!in_place) return sch_refuse(s, SCH_R_NOT_REDUCER, .s = {pl->producer});
  return sch_epilogue_fits(s, pl->block, &pl->def, pl->producer, &pl->made,
                           &pl->epilogue);
}

static bool solve(sch_state *s, plan *pl) {
  ir_program *p = s->p;
  loads l = find_loads(s, &pl->def, pl->made.buf);
  pl->load = l.idx;
  pl->iter = arena_array(s->scratch, ir_expr, ir_blk(p, pl->block)->iters.n);
  if (!l.found || l.differ ||
      !sch_invert(s, pl->block, l.n, l.idx, pl->made.idx, pl->iter, &pl->cond))
    return sch_refuse(s, SCH_R_NOT_INVERTIBLE, .s = {pl->block},
                      .buf = pl->made.buf);
  return true;
}

/* ---- legality ----------------------------------------------------------- */

/* Block q runs before the block, and not before all of its producer: it makes
 * nothing that the block needs, or `reads` nothing that it writes, too early.
 * Reductions and copies store in more than one place. */
static bool check_between(sch_state *s, const plan *pl, ir_stmt q, bool reads) {
  ir_stmt w = reads ? pl->block : q;
  (void)sch_refuse(s, reads ? SCH_R_READ_BEFORE : SCH_R_PRODUCER_BETWEEN,
                   .s = {q, reads ? pl->block : pl->producer},
                   .buf = sch_shared_buf(s->p, w, reads ? q : pl->block));
  return ir_st(s->p, pl->made.store)->parent == pl->producer &&
         !sch_has_init(s->p, pl->producer) &&
         sch_fold_passes(s, pl->block, pl->producer, pl->iter, pl->cond, q,
                         reads);
}

/* Nobody between, or together with one of the two, minds that the block runs
 * when its producer does. */
static bool reverse_inline_check_order(sch_state *s, const plan *pl) {
  const ir_program *p = s->p;
  bool between = false, past = false;
  for (ir_stmt q = pl->common; (q = sch_next_child(p, q, pl->common));) {
    between = between || ir_is_ancestor(p, pl->to, q);
    past = past || q == pl->block;
    if (!between || q == pl->block || q == pl->producer) continue;
    if (past && !ir_is_ancestor(p, pl->from, q)) break;
    unsigned how =
        past ? sch_depends(s, pl->block, q) : sch_depends(s, q, pl->block);
    if (!past && (how & SCH_RAW) && !check_between(s, pl, q, false))
      return false;
    if (!past && (how & SCH_WAR) && !check_between(s, pl, q, true))
      return false;
    if (past && !sch_check_ahead(s, q, pl->block, pl->common)) return false;
  }
  if (!sch_is_settled(s, pl->producer, pl->common, pl->to))
    return sch_refuse(s, SCH_R_INPUT_OVERWRITTEN,
                      .s = {pl->producer, pl->block}, .buf = pl->made.buf);
  return true;
}

/* The indices read while the block's iters run over `old` lie strictly in
 * the box [min, max] and in the buffer. */
static bool reads_within(sch_state *s, const plan *pl, const sch_span *old,
                         const ir_expr *min, const ir_expr *max) {
  ir_program *p = s->p;
  ir_span it = ir_blk(p, pl->block)->iters;
  ir_var *var = arena_array(s->scratch, ir_var, it.n);
  ir_expr *lo = arena_array(s->scratch, ir_expr, 2 * it.n);
  ir_expr *extent = lo + it.n, zero = ir_index(p, 0);
  for (uint32_t k = 0; k < it.n; k++) {
    const ir_iter iter = p->iter.v[it.at + k];
    var[k] = iter.var;
    lo[k] = old[k].extent > 0 ? old[k].min : iter.lo;
    extent[k] = old[k].extent > 0 ? ir_index(p, old[k].extent) : iter.extent;
  }
  for (uint32_t d = 0; d < pl->made.n; d++) {
    ir_expr first, last;
    if (!arith_relax(p, s->scratch, pl->load[d], it.n, var, lo, extent, &first,
                     &last, NULL) ||
        !arith_prove_le(p, min[d], first) || !arith_prove_le(p, last, max[d]) ||
        !arith_prove_le(p, zero, first) ||
        !arith_prove_le(p, ir_add(p, last, ir_index(p, 1)),
                        ir_dim(p, pl->made.buf, d)))
      return false;
  }
  return true;
}

/* In one iteration of common, each instance of the block has one of the
 * producer: the quick rules, for instances that are a box. */
static bool boxes_fit(sch_state *s, plan *pl) {
  ir_program *p = s->p;
  uint32_t niters = ir_blk(p, pl->block)->iters.n, ndim = pl->made.n;
  sch_span *old = arena_array(s->scratch, sch_span, niters);
  ir_expr *box = arena_array(s->scratch, ir_expr, 2 * ndim);
  ir_region w = p->region.v[ir_blk(p, pl->producer)->writes.at];
  if (!sch_old_instances(s, pl->block, pl->common, old))
    return sch_refuse(s, SCH_R_INSTANCES_UNKNOWN, .s = {pl->block});
  if (!ir_may_access_box(p, s->scratch, pl->producer, w, pl->common, box,
                         box + ndim) ||
      !ir_must_access_box(p, s->scratch, pl->producer, w, pl->common, box,
                          box + ndim, 0))
    return sch_refuse(s, SCH_R_INSTANCES_UNKNOWN, .s = {pl->producer});
  pl->old = old;
  if (!reads_within(s, pl, old, box, box + ndim))
    return sch_refuse(s, SCH_R_NOT_COVERED, .s = {pl->block, pl->producer},
                      .buf = pl->made.buf);
  return true;
}

/* The same of any instances, exactly. */
static bool check_instances(sch_state *s, plan *pl) {
  uint32_t niters = ir_blk(s->p, pl->block)->iters.n;
  if (boxes_fit(s, pl)) return true;
  if (ir_st(s->p, pl->made.store)->parent != pl->producer ||
      !sch_fold_confine(s, pl->block, pl->producer, pl->iter, pl->cond,
                        &pl->guard))
    return false;
  pl->old = arena_array(s->scratch, sch_span, niters);
  for (uint32_t k = 0; k < niters; k++)
    pl->old[k] = (sch_span){0, SCH_SPAN_WHOLE};
  return true;
}

static void add_cond(ir_program *p, ir_expr *cond, ir_expr c) {
  if (!ir_is_const(p, c, 1)) *cond = *cond ? ir_and(p, *cond, c) : c;
}

/* In every iteration of common the block used the same part of its domain. */
static bool reverse_inline_is_fixed(const ir_program *p, sch_span old) {
  return old.extent > 0 && ir_at(p, old.min)->op == IR_INT;
}

static ir_expr within(ir_program *p, ir_expr u, sch_span old) {
  ir_expr end = ir_add(p, old.min, ir_index(p, old.extent));
  return ir_and(p, ir_binary(p, IR_LE, old.min, u),
                ir_binary(p, IR_LT, u, end));
}

static void add_fixed(const sch_state *s, plan *pl) {
  ir_program *p = s->p;
  for (uint32_t k = 0; k < ir_blk(p, pl->block)->iters.n; k++)
    if (reverse_inline_is_fixed(p, pl->old[k]))
      add_cond(p, &pl->cond, within(p, pl->iter[k], pl->old[k]));
}

/* e speaks of a loop that is in the producer. */
static bool is_inner(const ir_program *p, const plan *pl, ir_expr e) {
  for (ir_stmt a = pl->made.store; a != pl->producer; a = ir_st(p, a)->parent)
    if (ir_is_loop(p, a) && ir_uses_var(p, e, ir_st(p, a)->var)) return true;
  return false;
}

static void split_cond(ir_program *p, plan *pl, ir_expr cond) {
  const ir_node n = *ir_at(p, cond);
  if (n.op == IR_AND) {
    split_cond(p, pl, n.a);
    split_cond(p, pl, n.b);
  } else {
    add_cond(p, is_inner(p, pl, cond) ? &pl->inside : &pl->cond, cond);
  }
}

/* Where the block will store, over the producer's iters. */
static ir_expr *new_place(sch_state *s, const plan *pl) {
  ir_program *p = s->p;
  ir_span it = ir_blk(p, pl->block)->iters;
  ir_expr *idx = arena_array(s->scratch, ir_expr, pl->def.n);
  ir_subst sub;
  ir_subst_init(&sub, p, s->scratch);
  for (uint32_t k = 0; k < it.n; k++)
    ir_subst_var(&sub, p->iter.v[it.at + k].var, pl->iter[k]);
  for (uint32_t i = 0; i < pl->def.n; i++)
    idx[i] = ir_subst_expr(&sub, pl->def.idx[i]);
  return idx;
}

/* Index e is variable v plus what no loop in the producer changes. */
static bool is_shifted(ir_program *p, const plan *pl, ir_expr e, ir_var v) {
  return ir_uses_var(p, e, v) && !is_inner(p, pl, ir_sub(p, e, ir_ref(p, v)));
}

/* The loops in the producer store to all of a box: each runs over a dimension
 * of its own. */
static bool is_box(ir_program *p, const plan *pl, const ir_expr *idx) {
  uint32_t loops = 0, shifted = 0, inner = 0;
  for (ir_stmt a = pl->made.store; a != pl->producer; a = ir_st(p, a)->parent) {
    if (!ir_is_loop(p, a)) continue;
    loops++;
    for (uint32_t d = 0; d < pl->def.n; d++)
      shifted += is_shifted(p, pl, idx[d], ir_st(p, a)->var);
  }
  for (uint32_t d = 0; d < pl->def.n; d++) inner += is_inner(p, pl, idx[d]);
  return loops == shifted && shifted == inner;
}

/* Loops in the producer store to all of a box, but for what lies outside of
 * the buffer; that must be so of the block's buffer, too. */
static bool check_nest(sch_state *s, plan *pl) {
  ir_program *p = s->p;
  ir_expr cond = pl->cond;
  bool ok = true;
  if (ir_st(p, pl->made.store)->parent == pl->producer) return true;
  for (uint32_t k = 0; k < ir_blk(p, pl->block)->iters.n; k++)
    ok = ok &&
         (pl->old[k].extent <= 0 || reverse_inline_is_fixed(p, pl->old[k]) ||
          !is_inner(p, pl, pl->iter[k]));
  pl->cond = 0;
  if (cond) split_cond(p, pl, cond);
  ir_expr *idx = new_place(s, pl);
  if (!is_box(p, pl, idx))
    return sch_refuse(s, SCH_R_COPY_NO_BOX, .s = {pl->block, pl->producer},
                      .buf = pl->def.buf);
  ok = ok && (!pl->inside || sch_only_clips(p, pl->inside, pl->def.buf, idx)) &&
       (!pl->clip || sch_only_clips(p, pl->clip, pl->def.buf, idx));
  return ok ||
         sch_refuse(s, SCH_R_COPY_PARTIAL, .s = {pl->block, pl->producer});
}

/* Where iter k of the block, over the loops around the producer, is one that
 * the block had in this iteration of common; 0: it always is. */
static ir_expr in_old(sch_state *s, const plan *pl, uint32_t k) {
  ir_expr u = pl->iter[k];
  if (pl->old[k].extent <= 0 || reverse_inline_is_fixed(s->p, pl->old[k]))
    return 0;
  ir_bind_iters(s->p, s->scratch, pl->producer, 1, &u);
  ir_expr cond = within(s->p, u, pl->old[k]);
  return ir_is_const(s->p, cond, 1) ? 0 : cond;
}

/* A reduction may take steps for an element that the block reads in a later
 * iteration of common: then none can be left out. */
static bool check_steps(sch_state *s, const plan *pl) {
  bool all = !pl->guard;
  if (!sch_has_init(s->p, pl->producer)) return true;
  for (uint32_t k = 0; k < ir_blk(s->p, pl->block)->iters.n; k++)
    all = all && !in_old(s, pl, k);
  return all ||
         sch_steps_stay(s, pl->producer, sch_loops_of(s, pl->to), pl->block);
}

static bool reverse_inline_check(sch_state *s, const pair *of, plan *pl) {
  const ir_program *p = s->p;
  *pl = (plan){.block = of->block,
               .scope = ir_scope_of(p, of->block),
               .reduction = of->reduction};
  if (!check_block(s, pl) || !check_producer(s, pl) || !solve(s, pl))
    return false;
  if (sch_has_init(p, pl->producer) && !check_reduction(s, pl)) return false;
  if (!reverse_inline_check_order(s, pl) || !check_instances(s, pl))
    return false;
  add_fixed(s, pl);
  return check_steps(s, pl) && check_nest(s, pl);
}

/* ---- the change --------------------------------------------------------- */

/* When the producer works for the block, over the loops around it: where the
 * block's iters exist, and in the iteration in which the block used them. */
static ir_expr producer_guard(sch_state *s, const plan *pl) {
  ir_program *p = s->p;
  ir_expr guard = pl->guard;
  for (uint32_t k = 0; k < ir_blk(p, pl->block)->iters.n; k++) {
    ir_expr had = in_old(s, pl, k);
    if (had) add_cond(p, &guard, had);
  }
  if (pl->cond) {
    ir_expr cond = pl->cond;
    ir_bind_iters(p, s->scratch, pl->producer, 1, &cond);
    add_cond(p, &guard, cond);
  }
  return guard;
}

/* What a load of the buffer becomes while expressions are rewritten. */
typedef struct folder {
  ir_buf buf;
  ir_expr value;
} folder;

static ir_expr fold_load(ir_subst *sub, ir_buf buf, uint32_t n,
                         const ir_expr *idx) {
  const folder *f = sub->ud;
  (void)n;
  (void)idx;
  return buf == f->buf ? f->value : 0;
}

/* `old` stores `value` to the block's buffer at idx instead. */
static ir_stmt restore(ir_program *p, const plan *pl, const sch_def *old,
                       const ir_expr *idx, ir_expr value) {
  ir_stmt store = ir_store_new(p, pl->def.buf, pl->def.n, idx, value);
  ir_replace(p, old->store, store);
  ir_kill(p, old->store);
  return store;
}

/* What the reduction stores in each step, at idx of the block's buffer. */
static ir_expr folded_step(sch_state *s, const plan *pl, ir_subst *sub,
                           const ir_expr *idx) {
  ir_program *p = s->p;
  folder own = {pl->made.buf, ir_load(p, pl->def.buf, pl->def.n, idx)};
  if (pl->epilogue.op)
    return ir_binary(p, pl->epilogue.op, own.value,
                     sch_epilogue_step(sub, &pl->epilogue));
  ir_subst again;
  ir_subst_init(&again, p, s->scratch);
  again.load = fold_load;
  again.ud = &own;
  return ir_subst_expr(&again, pl->made.value);
}

static void fold(sch_state *s, const plan *pl) {
  ir_program *p = s->p;
  bool reduces = sch_has_init(p, pl->producer);
  ir_span it = ir_blk(p, pl->block)->iters;
  ir_subst sub;
  folder f = {pl->made.buf, reduces ? pl->init.value : pl->made.value};
  ir_subst_init(&sub, p, s->scratch);
  sub.load = fold_load;
  sub.ud = &f;
  for (uint32_t k = 0; k < it.n; k++)
    ir_subst_var(&sub, p->iter.v[it.at + k].var, pl->iter[k]);
  ir_expr *idx = new_place(s, pl);
  ir_expr value = ir_subst_expr(&sub, pl->def.value);
  if (reduces) {
    restore(p, pl, &pl->init, idx, value);
    value = folded_step(s, pl, &sub, idx);
  }
  ir_stmt store = restore(p, pl, &pl->made, idx, value);
  if (pl->inside && pl->clip)
    ir_st(p, ir_st(p, store)->parent)->cond = ir_and(p, pl->clip, pl->inside);
  else if (pl->inside)
    ir_wrap(p, store, ir_if_new(p, pl->inside));
  sch_refresh_regions(s, pl->producer);
}

static bool reverse_compute_inline_rewrite(sch_state *s, void *ud) {
  ir_program *p = s->p;
  const pair *of = ud;
  plan pl;
  if (!reverse_inline_check(s, of, &pl)) return false;
  sch_end_claims(s, pl.producer, ir_blk(p, of->block)->reads);
  ir_expr guard = producer_guard(s, &pl);
  fold(s, &pl);
  if (guard) {
    ir_expr pred = ir_blk(p, pl.producer)->pred;
    ir_blk(p, pl.producer)->pred = pred ? ir_and(p, pred, guard) : guard;
    sch_trim_predicate(s, pl.producer);
  }
  if (pl.cond) {
    sch_shrink_by(s, pl.producer, pl.cond);
    sch_refresh_regions(s, pl.producer);
  }
  sch_remove_leaf(p, of->block);
  ir_kill(p, of->block);
  ir_block_remove_alloc(p, pl.scope, pl.made.buf);
  return true;
}

bool sch_reverse_inline(sch_state *s, ir_stmt block) {
  pair of = {block, 0};
  return sch_transaction(s, reverse_compute_inline_rewrite, &of, block);
}

bool sch_fuse_epilogue(sch_state *s, ir_stmt block, ir_stmt reduction) {
  pair of = {block, reduction};
  return sch_transaction(s, reverse_compute_inline_rewrite, &of, block);
}

static bool
reverse_compute_inline_apply(sch_state *s,
                             struct reverse_compute_inline_args *a) {
  return sch_reverse_inline(s, a->block);
}
