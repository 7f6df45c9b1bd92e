/* SPDX-License-Identifier: Apache-2.0
 * bind: maps a loop to a thread axis. */
#include "ir/analysis/analysis.h"
#include "schedule/sch.h"

#define BIND_SIG(F, S)                                               \
  F(S, IN, LOOP, loop, REQ, "the loop")                              \
  F(S, ATTR, STR, thread_axis, REQ,                                  \
    "blockIdx.x, .y, .z, threadIdx.x, .y, .z or vthread.x, .y, .z; " \
    "vthread means vthread.x")

PRIM_DEFINE(
    bind, BIND_SIG, .summary = "Bind a loop to a thread axis.",
    .rewrite = "for i in e: S   ->   bind i in e to threadIdx.x: S",
    .details =
        "1. The axis is one of those listed, and the loop's extent a\n"
        "   constant, or, of blockIdx, computed from the program's sizes: the\n"
        "   grid is as large as they say when the kernel is called. Nothing "
        "in\n"
        "   the loop changes what its start reads from memory.\n"
        "2. No loop around it or below it is bound to the same axis, unless\n"
        "   it is one of threadIdx: such loops the threads run together, each\n"
        "   its part, where all of them would do the same.\n"
        "3. The iters that the loop drives, in all blocks below, are spatial;\n"
        "   or the axis is of threadIdx and the block reduces by a known\n"
        "   reducer, whose identity is its init, from that on, each point\n"
        "   once, into elements that its other iters distinguish: the threads\n"
        "   share the work. Or the axis is of blockIdx, and the block, "
        "without\n"
        "   an init, updates single elements of global memory by a reducer\n"
        "   that adds up, or takes the minimum or maximum of integers of 32\n"
        "   or 64 bits, where no loop of threadIdx drives a reduce iter: each\n"
        "   update is atomic, so sums of floats round in any order.\n"
        "4. No two iterations conflict on an element, but\n"
        "   in buffers private to an iteration; those in global\n"
        "   memory it has not.  Blocks of threads (blockIdx) do not wait for\n"
        "   each other, so with such axes this holds of iterations in which\n"
        "   loops around it in the same kernel are at different places, too.\n"
        "5. Loops around and below whose iterations run in parallel stay free "
        "of\n"
        "   races with buffers that the threads now share.\n"
        "6. Below it are only loops and blocks, and conditions on indices.\n"
        "7. The loop is neither parallel nor vectorized, which would be lost.\n"
        "A buffer in a scope that each thread has for itself, and of which\n"
        "threads read each other's elements, moves to shared memory when the\n"
        "program is lowered.\n"
        "Lowering asks more of the program as a whole: what blocks of threads\n"
        "(blockIdx) write is global memory, not allocated around their loops;\n"
        "what is written in a loop over them is used in no other one of the\n"
        "kernel, nor outside of it; and what is written outside is read there\n"
        "only by what writes global memory, which the first of them does.\n"
        "Where threads share a reduction, the loop starts at a constant, and\n"
        "around the block are only loops, of which each drives iters that\n"
        "reduce or others; it writes each value of its reducer once, as one\n"
        "element, and no other block uses it below the outermost of the loops\n"
        "that reduce. Where there is a result at all, these loops have an\n"
        "iteration where they start, which initializes it, and no memory that\n"
        "changes below determines where that is. Loops below them that drive "
        "other\n"
        "iters need only those for their bounds that threads share.\n",
    .refusals = SCH_REASONS(
        SCH_R_GRID_INIT, SCH_R_GRID_NOT_KNOWN, SCH_R_GRID_UPDATE,
        SCH_R_INIT_LATE, SCH_R_INIT_NOT_IDENTITY, SCH_R_INPUT_OVERWRITTEN,
        SCH_R_LOOP_KIND, SCH_R_NOT_INJECTIVE, SCH_R_REDUCER_ORDERED,
        SCH_R_RESULT_SHARED, SCH_R_THREADS_NOT_STATIC, SCH_R_THREAD_TAKEN,
        SCH_R_THREAD_UNKNOWN, SCH_R_WOULD_RACE, SCH_RACE_REASONS),
    .example = "local i, j = sch:get_loops(sch:get_block(\"C\"))\n"
               "sch:bind(i, \"blockIdx.x\")\n");

static bool bound_to(const ir_program *p, ir_stmt st, ir_thread axis) {
  const ir_stmt_rec *r = ir_st(p, st);
  return ir_is_thread_loop(r) && r->thread == axis;
}

/* Another loop of the nest that has the axis; 0: none. */
static ir_stmt taken_by(const ir_program *p, ir_stmt loop, ir_thread axis) {
  for (ir_stmt a = loop; (a = ir_st(p, a)->parent);)
    if (bound_to(p, a, axis)) return a;
  for (ir_stmt b = loop; (b = ir_next(p, b, loop));)
    if (bound_to(p, b, axis)) return b;
  return 0;
}

static bool is_of_block(ir_thread axis) {
  return axis >= IR_THREADIDX_X && axis <= IR_THREADIDX_Z;
}

static bool extent_is_known(sch_state *s, ir_stmt loop, ir_thread axis) {
  ir_expr extent = ir_st(s->p, loop)->extent;
  int64_t n;
  if (ir_const_int(s->p, extent, &n)) return true;
  if (axis > IR_BLOCKIDX_Z)
    return sch_refuse(s, SCH_R_THREADS_NOT_STATIC, .s = {loop});
  return ir_is_invariant(s->p, extent) ||
         sch_refuse(s, SCH_R_GRID_NOT_KNOWN, .s = {loop});
}

static bool bind_rewrite(sch_state *s, void *ud) {
  struct bind_args *a = ud;
  ir_thread axis;
  const char *name =
      strcmp(a->thread_axis, "vthread") ? a->thread_axis : "vthread.x";
  if (!ir_thread_parse(name, &axis) || axis == IR_WARP)
    return sch_refuse(s, SCH_R_THREAD_UNKNOWN, .t = a->thread_axis);
  if (!sch_loop_takes_kind(s, a->loop, IR_THREAD) ||
      !extent_is_known(s, a->loop, axis))
    return false;
  ir_stmt other = is_of_block(axis) ? 0 : taken_by(s->p, a->loop, axis);
  if (other)
    return sch_refuse(s, SCH_R_THREAD_TAKEN, .s = {other}, .t = a->thread_axis);
  /* Each thread finds out for itself where the loop starts, at any time. */
  if (!sch_reads_stay(s, a->loop, ir_st(s->p, a->loop)->lo, a->loop) ||
      !sch_iterations_free(s, a->loop, (int)axis, 0, NULL))
    return false;
  sch_set_loop_kind(s, a->loop, IR_THREAD, axis);
  return true;
}

/* What lies below a thread loop is no longer its iterations' own where its
 * storage scope is shared among them. */
static bool bind_apply(sch_state *s, struct bind_args *a) {
  return sch_transaction_loop(s, bind_rewrite, a, a->loop, true);
}
