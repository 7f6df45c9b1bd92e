/* SPDX-License-Identifier: Apache-2.0
 * decompose_reduction: hoists the init of a reduction into a block before a
 * loop. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/query.h"
#include "schedule/rewrite/init.h"

#define DECOMPOSE_REDUCTION_SIG(F, S)                                     \
  F(S, IN, BLOCK, block, REQ, "the reduction")                            \
  F(S, IN, LOOP, loop, REQ, "the loop before which its init is inserted") \
  F(S, OUT, BLOCK, init, REQ, "the block X_init; the old one is X_update")

PRIM_DEFINE(
    decompose_reduction, DECOMPOSE_REDUCTION_SIG,
    .summary = "Move the init of a reduction before a loop around it.",
    .rewrite = "for i: for k: X(i, k) with init I   ->   "
               "for i_init: X_init(i_init): I; for i: for k: X_update(i, k)",
    .details =
        "1. The block has an init, which calls no function for what that\n"
        "   does and accesses nothing that the block hides, and none of the\n"
        "   block's iters is ordered.\n"
        "2. The loop is around the block, in the same scope.\n"
        "3. No loop further out drives a reduce iter.\n"
        "4. From the loop on inwards each point of the block is reached once,\n"
        "   and each result that is met is first met where it is initialized;\n"
        "   points of other spatial iters have other results.\n"
        "5. What the init does not loop over has an iteration for sure, and\n"
        "   bounds and predicate hold where it starts.\n"
        "6. What is initialized is not used below the loop before it was\n"
        "   initialized there, nor written by another block; and what the "
        "init\n"
        "   reads is not written there.\n"
        "7. Bounds and predicates from the loop on read nothing that is "
        "changed\n"
        "   there.\n"
        "8. Loops around and below whose iterations run in parallel stay free "
        "of\n"
        "   races, in spite of guards and gaps between results.\n"
        "The init is in copies of the loops that drive spatial iters, of "
        "the\n"
        "same kinds, and has the annotations of the block, but for those "
        "about\n"
        "its regions and of tensorize. The block keeps its handle, is named\n"
        "X_update, and reads first what it updates.\n",
    .refusals = SCH_REASONS(SCH_INIT_REASONS, SCH_R_INIT_HEIGHT,
                            SCH_R_LOOP_NOT_AROUND, SCH_R_WOULD_RACE),
    .example = "local c = sch:get_block(\"C\")\n"
               "local i, j, k = sch:get_loops(c)\n"
               "local init = sch:decompose_reduction(c, k)\n");

typedef struct decompose_reduction_args args;

static bool decompose_reduction_rewrite(sch_state *s, void *ud) {
  args *a = ud;
  ir_program *p = s->p;
  sch_init w;
  if (!sch_init_check(s, a->block, a->loop, false, &w)) return false;
  ir_stmt nest = sch_init_take(&w, &a->init);
  ir_insert_before(p, a->loop, nest);
  sch_copy_annotations(p, a->block, a->init);
  ir_str name = ir_name_cat(p, ir_blk(p, a->block)->name, "_update");
  name = ir_fresh_block_name(p, name);
  ir_blk(p, a->block)->name = name;
  return true;
}

/* The loops from this one on reach all of a box of results; false: maybe. */
static bool fills_box(sch_state *s, ir_stmt block, ir_stmt loop, ir_region r) {
  ir_program *p = s->p;
  uint32_t n = ir_ndim(p, r.buf);
  ir_expr *min = arena_array(s->scratch, ir_expr, 2 * n + 1);
  ir_stmt around = ir_st(p, loop)->parent;
  ir_mark mark = ir_get_mark(p);
  bool fills =
      ir_may_access_box(p, s->scratch, block, r, around, min, min + n) &&
      ir_must_access_box(p, s->scratch, block, r, around, min, min + n, 0);
  ir_rollback(p, mark);
  return fills;
}

/* Where there are gaps between the results it is not seen of an init in
 * separate loops that it has made all that the update reads. */
static bool leaves_gaps(sch_state *s, ir_stmt block, ir_stmt loop) {
  const ir_program *p = s->p;
  ir_span w = ir_blk(p, block)->writes;
  if (!ir_is_ancestor(p, loop, block)) return false;
  for (uint32_t i = w.at; i < w.at + w.n; i++)
    if (p->buf.v[p->region.v[i].buf].role == IR_ROLE_LOCAL &&
        !ir_must_access_box_quick(p, block, loop, p->region.v[i]) &&
        !fills_box(s, block, loop, p->region.v[i]))
      return true;
  return false;
}

static bool decompose_reduction_apply(sch_state *s, args *a) {
  /* A block around the update will read, too, what it writes. */
  if (ir_st(s->p, ir_scope_of(s->p, a->block))->parent)
    return sch_transaction(s, decompose_reduction_rewrite, a, a->block);
  return sch_transaction_loop(s, decompose_reduction_rewrite, a, a->loop,
                              leaves_gaps(s, a->block, a->loop));
}
