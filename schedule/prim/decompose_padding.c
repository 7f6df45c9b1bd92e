/* SPDX-License-Identifier: Apache-2.0
 * decompose_padding: distributes a padding block into a fill and a copy of the
 * interior. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/query.h"
#include "schedule/analysis/inline.h"
#include "schedule/analysis/move.h"
#include "schedule/rewrite/init.h"

#define DECOMPOSE_PADDING_SIG(F, S)                                       \
  F(S, IN, BLOCK, block, REQ, "the block that pads")                      \
  F(S, IN, LOOP, loop, REQ, "the loop before which the fill is inserted") \
  F(S, OUT, BLOCK, fill, REQ, "the block X_pad_const that fills")

PRIM_DEFINE(
    decompose_padding, DECOMPOSE_PADDING_SIG,
    .summary = "Fill with the constant first, then copy what is not padding.",
    .rewrite =
        "for i in n + 2: X[i] = select(1 <= i < n + 1, A[i - 1], 0)   ->  "
        " for i in n + 2: X[i] = 0; for i in n: X[i + 1] = A[i]",
    .details =
        "1. The loop is around the block, in the same scope.\n"
        "2. The block is complete and writes each element once.\n"
        "3. Its body is one store of a choice, by a condition on its iters,\n"
        "   between a constant and another value.\n"
        "4. Other blocks below the loop use none of what is padded before the\n"
        "   block has written it there.\n"
        "5. Loops whose iterations run in parallel stay free of races.\n"
        "The filling runs in copies of the loop and of those below around the\n"
        "block. The block keeps name and handle; the condition becomes its\n"
        "predicate, and loops from the given one on that hold no other block "
        "and\n"
        "drive an iter by themselves run over no more than it allows.\n",
    .refusals = SCH_REASONS(SCH_R_BLOCK_IS_ROOT, SCH_R_BLOCK_NOT_COMPLETE,
                            SCH_R_BLOCK_REDUCES, SCH_R_BODY_NOT_STORE,
                            SCH_R_INIT_OF_SCOPE, SCH_R_INIT_USED,
                            SCH_R_LOOP_NOT_AROUND, SCH_R_OTHER_STATEMENT,
                            SCH_R_PADDING_PATTERN, SCH_R_PLACE_NOT_PLAIN,
                            SCH_R_WOULD_RACE),
    .example = "local c = sch:get_block(\"C\")\n"
               "local fill = sch:decompose_padding(c, sch:get_loops(c))\n");

typedef struct decompose_padding_args args;

typedef struct plan {
  sch_def def;
  ir_expr inside; /* where the block copies, over its iters */
  ir_expr value, fill;
} plan;

/* ---- checking ----------------------------------------------------------- */

static bool padding_is_number(const ir_program *p, ir_expr e) {
  return ir_at(p, e)->op == IR_INT || ir_at(p, e)->op == IR_REAL;
}

static bool find_pattern(sch_state *s, const args *a, plan *f) {
  ir_program *p = s->p;
  const ir_node n = *ir_at(p, f->def.value);
  if (n.op != IR_SELECT || ir_at(p, n.a)->has_load ||
      (!padding_is_number(p, n.b) && !padding_is_number(p, n.c)))
    return sch_refuse(s, SCH_R_PADDING_PATTERN, .s = {a->block});
  bool otherwise = padding_is_number(p, n.c);
  f->inside = otherwise ? n.a : ir_not(p, n.a);
  f->value = otherwise ? n.b : n.c;
  f->fill = otherwise ? n.c : n.b;
  return true;
}

/* The block has written what `other` reads of it each time, be it that it goes
 * on to write that again. */
static bool is_made_first(sch_state *s, const args *a, ir_stmt other) {
  return sch_comes_before(s->p, a->block, other) &&
         sch_made_first(s, a->block, other, ir_st(s->p, a->loop)->parent);
}

/* What is filled before the loop takes nothing from `other`. */
static bool check_use(sch_state *s, const args *a, sch_list inner,
                      ir_stmt other) {
  const ir_program *p = s->p;
  ir_span w = ir_blk(p, a->block)->writes, r = ir_blk(p, other)->reads;
  for (uint32_t i = w.at; i < w.at + w.n; i++)
    for (uint32_t k = r.at; k < r.at + r.n; k++) {
      ir_region made = p->region.v[i], used = p->region.v[k];
      if (made.buf == used.buf &&
          sch_init_conflicts(s, a->block, a->loop, inner, other, made, used) &&
          !is_made_first(s, a, other))
        return sch_refuse(s, SCH_R_INIT_USED, .s = {a->block, other},
                          .buf = made.buf);
    }
  return true;
}

static bool check_others(sch_state *s, const args *a) {
  const ir_program *p = s->p;
  sch_list all = sch_loops_of(s, a->block);
  uint32_t k = 0;
  while (all.v[k] != a->loop) k++;
  sch_list inner = {all.n - k, all.v + k};
  for (ir_stmt q = a->loop; (q = sch_next_child(p, q, a->loop));)
    if (q != a->block && !check_use(s, a, inner, q)) return false;
  return true;
}

static bool padding_check(sch_state *s, const args *a, plan *f) {
  const ir_program *p = s->p;
  ir_stmt scope = ir_scope_of(p, a->block);
  const ir_block_rec *b = ir_blk(p, a->block);
  if (!sch_check_alone(s, scope, a->block)) return false;
  if (ir_scope_of(p, a->loop) != scope || !ir_is_ancestor(p, a->loop, a->block))
    return sch_refuse(s, SCH_R_LOOP_NOT_AROUND, .s = {a->loop, a->block});
  if (sch_has_init(p, a->block))
    return sch_refuse(s, SCH_R_BLOCK_REDUCES, .s = {a->block});
  if (!sch_check_movable(s, scope, a->block)) return false;
  if (b->allocs.n || b->matches.n ||
      !sch_get_def(s, ir_st(p, a->block)->body, &f->def))
    return sch_refuse(s, SCH_R_BODY_NOT_STORE, .s = {a->block});
  return find_pattern(s, a, f) && check_others(s, a);
}

/* ---- changing ----------------------------------------------------------- */

static void store_instead(ir_program *p, const sch_def *def, ir_expr value) {
  ir_stmt store = ir_store_new(p, def->buf, def->n, def->idx, value);
  ir_replace(p, def->store, store);
  ir_kill(p, def->store);
}

static ir_stmt make_fill(sch_state *s, const args *a, const plan *f) {
  ir_program *p = s->p;
  ir_subst m;
  sch_def def;
  ir_subst_init(&m, p, s->scratch);
  ir_stmt top = ir_clone_path(&m, a->loop, a->block, "_pad_const");
  ir_insert_before(p, a->loop, top);
  ir_stmt block = sch_next_child(p, top, top);
  sch_get_def(s, ir_st(p, block)->body, &def);
  store_instead(p, &def, f->fill);
  ir_block_find_regions(p, s->scratch, block);
  return block;
}

/* The values of the loop's variable for which an iter that it drives by
 * itself is in its domain: from *lo to *end - 1. */
static void find_range(const ir_program *p, ir_stmt block, ir_var v,
                       int64_t *lo, int64_t *end) {
  ir_span it = ir_blk(p, block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    const ir_iter iter = p->iter.v[i];
    ir_expr atom;
    int64_t coef, c, from, extent;
    if (arith_terms(p, iter.bind, 1, &atom, &coef, &c) != 1 || coef != 1 ||
        atom != ir_ref(p, v) || !ir_const_int(p, iter.lo, &from) ||
        !ir_const_int(p, iter.extent, &extent))
      continue;
    if (from - c > *lo) *lo = from - c;
    if (from + extent - c < *end) *end = from + extent - c;
  }
}

/* The loop runs over no more than its block can use. */
static void shrink_loop(sch_state *s, ir_stmt block, ir_stmt loop) {
  ir_program *p = s->p;
  const ir_stmt_rec r = *ir_st(p, loop);
  int64_t first, extent;
  if (r.loop_kind == IR_THREAD || !ir_const_int(p, r.lo, &first) ||
      !ir_const_int(p, r.extent, &extent))
    return;
  int64_t lo = first, end = first + extent;
  find_range(p, block, r.var, &lo, &end);
  if (lo >= end || (lo == first && end == first + extent)) return;
  const ir_var_rec old = p->var.v[r.var];
  ir_var v = ir_var_new(p, IR_VAR_LOOP, old.name, old.dtype, 0, end - lo - 1);
  p->var.v[v].form = old.form;
  p->var.v[v].part = old.part;
  memcpy(p->var.v[v].from, old.from, sizeof old.from);
  p->var.v[v].owner = loop;
  ir_expr index = ir_add(p, ir_ref(p, v), ir_index(p, lo));
  ir_expr zero = ir_index(p, 0), length = ir_index(p, end - lo);
  ir_st(p, loop)->var = v;
  ir_st(p, loop)->lo = zero;
  ir_st(p, loop)->extent = length;
  sch_replace_vars(s, loop, 1, &r.var, &index);
}

static bool holds_only(const ir_program *p, ir_stmt loop, ir_stmt block) {
  return sch_next_child(p, loop, loop) == block &&
         !sch_next_child(p, block, loop);
}

static void keep_inside(sch_state *s, const args *a, const plan *f) {
  ir_program *p = s->p;
  ir_expr pred = f->inside;
  ir_bind_iters(p, s->scratch, a->block, 1, &pred);
  pred = ir_and(p, ir_blk(p, a->block)->pred, pred);
  ir_blk(p, a->block)->pred = ir_is_const(p, pred, 1) ? 0 : pred;
  store_instead(p, &f->def, f->value);
  bool all_padding = ir_is_const(p, pred, 0); /* no domain has its values */
  if (!all_padding) sch_shrink_by(s, a->block, f->inside);
  for (ir_stmt l = ir_st(p, a->block)->parent; holds_only(p, l, a->block);
       l = ir_st(p, l)->parent) {
    if (!all_padding) shrink_loop(s, a->block, l);
    if (l == a->loop) break;
  }
  sch_refresh_regions(s, a->block);
}

static bool decompose_padding_rewrite(sch_state *s, void *ud) {
  args *a = ud;
  plan f;
  if (!padding_check(s, a, &f)) return false;
  a->fill = make_fill(s, a, &f);
  keep_inside(s, a, &f);
  s->p->edits++;
  return true;
}

static bool decompose_padding_apply(sch_state *s, args *a) {
  return sch_transaction(s, decompose_padding_rewrite, a, a->block);
}
