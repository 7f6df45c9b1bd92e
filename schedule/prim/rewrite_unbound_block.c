/* SPDX-License-Identifier: Apache-2.0
 * rewrite_unbound_block: binds the nests that are bound to no threads yet. */
#include "ir/analysis/analysis.h"
#include "ir/query.h"
#include "schedule/rewrite/compose.h"

#define REWRITE_UNBOUND_BLOCK_SIG(F, S)                              \
  F(S, ATTR, INT, max_threadblocks, DEF(256),                        \
    "how many blocks of threads there may be before a thread loops") \
  F(S, ATTR, INT, max_threads_per_block, DEF(1024),                  \
    "how many threads a block has, if there are as many iterations")

PRIM_DEFINE(
    rewrite_unbound_block, REWRITE_UNBOUND_BLOCK_SIG,
    .summary = "Bind to threads what is bound to none.",
    .rewrite = "for i: for j: S   ->   bind i_j_0 to blockIdx.x: bind i_j_1 to "
               "threadIdx.x: S",
    .details =
        "A postprocessor, as MetaSchedule's RewriteUnboundBlock. Of each "
        "block\n"
        "that is in no other one but the root and in no loop bound to\n"
        "blockIdx, the spatial loops outside, down to the first that is not\n"
        "serial or has other statements beside the next, are fused and cut\n"
        "into blocks of threads and threads. Where there would be more than\n"
        "max_threadblocks of them, each thread gets a loop; but where sizes "
        "of\n"
        "the call say how many there are, there are as many. Where no loop is\n"
        "spatial there is one thread; where only threadIdx is bound, blockIdx\n"
        "is bound around it.\n"
        "1. Both numbers are at least 1.\n"
        "2. The loops can be fused, cut and bound.\n",
    .refusals = SCH_REASONS(SCH_R_NUMBER_SMALL, SCH_R_STEP_REFUSED),
    .example = "sch:rewrite_unbound_block()\n");

enum { MAX_LOOPS = 64 };

static bool is_bound(const ir_program *p, ir_stmt loop, ir_thread first) {
  const ir_stmt_rec *r = ir_st(p, loop);
  return r->loop_kind == IR_THREAD && r->thread >= first &&
         r->thread <= first + 2;
}

/* The outermost loops that spatial iters alone drive and that can be one. */
static uint32_t outer_spatial(sch_state *s, uint32_t n, const ir_stmt *loop) {
  const ir_program *p = s->p;
  uint32_t k = 0;
  for (; k < n; k++) {
    const ir_stmt_rec *r = ir_st(p, loop[k]);
    if (r->loop_kind != IR_SERIAL || r->anno ||
        sch_type_of_loop(s, loop[k]) != SCH_LOOP_S)
      break;
    if (k &&
        (r->parent != loop[k - 1] || sch_only_child(p, loop[k - 1]) != loop[k]))
      break;
  }
  return k;
}

/* As many of the loops as can be fused, as one. */
static bool fuse_most(sch_state *s, uint32_t n, const ir_stmt *loop,
                      ir_stmt *out) {
  *out = loop[0];
  for (; n > 1; n--)
    if (sch_do_fuse(s, n, loop, out)) return true;
  *out = loop[0];
  return true;
}

static bool bind_spatial(sch_state *s, ir_stmt loop,
                         const struct rewrite_unbound_block_args *a) {
  int64_t extent = INT64_MAX, most;
  ir_stmt made[3];
  bool fixed = ir_const_int(s->p, ir_st(s->p, loop)->extent, &extent);
  if (__builtin_mul_overflow(a->max_threadblocks, a->max_threads_per_block,
                             &most))
    most = INT64_MAX;
  int64_t threads = a->max_threads_per_block;
  bool open = !fixed && ir_is_invariant(s->p, ir_st(s->p, loop)->extent);
  if (open || (fixed && extent <= most)) {
    int64_t factor[2] = {SCH_AUTO, extent < threads ? extent : threads};
    if (factor[1] < 1) factor[1] = 1;
    return sch_do_split(s, loop, 2, factor, made) &&
           sch_do_bind(s, made[0], "blockIdx.x") &&
           sch_do_bind(s, made[1], "threadIdx.x");
  }
  int64_t factor[3] = {SCH_AUTO, a->max_threadblocks, threads};
  if (!sch_do_split(s, loop, 3, factor, made)) return false;
  ir_stmt order[3] = {made[1], made[2], made[0]};
  return sch_do_reorder(s, 3, order) && sch_do_bind(s, made[1], "blockIdx.x") &&
         sch_do_bind(s, made[2], "threadIdx.x");
}

static bool bind_block(sch_state *s, ir_stmt block,
                       const struct rewrite_unbound_block_args *a) {
  const ir_program *p = s->p;
  ir_stmt loop[MAX_LOOPS], outer;
  uint32_t n = sch_loops_above(p, block, MAX_LOOPS, loop);
  bool threads = false;
  if (n > MAX_LOOPS) n = MAX_LOOPS;
  for (uint32_t i = 0; i < n; i++) {
    if (is_bound(p, loop[i], IR_BLOCKIDX_X)) return true;
    threads |= is_bound(p, loop[i], IR_THREADIDX_X);
  }
  uint32_t k = outer_spatial(s, n, loop);
  if (!k && !sch_do_add_unit_loop(s, n ? loop[0] : block, &outer)) return false;
  if (k && !fuse_most(s, k, loop, &outer)) return false;
  return threads ? sch_do_bind(s, outer, "blockIdx.x")
                 : bind_spatial(s, outer, a);
}

static bool rewrite_unbound_block_apply(sch_state *s,
                                        struct rewrite_unbound_block_args *a) {
  if (a->max_threadblocks < 1)
    return sch_refuse(s, SCH_R_NUMBER_SMALL, .n = {a->max_threadblocks, 1},
                      .t = "max_threadblocks");
  if (a->max_threads_per_block < 1)
    return sch_refuse(s, SCH_R_NUMBER_SMALL, .n = {a->max_threads_per_block, 1},
                      .t = "max_threads_per_block");
  sch_list blocks = sch_child_blocks(s, ir_entry(s->p)->root);
  for (uint32_t i = 0; i < blocks.n; i++)
    if (!bind_block(s, blocks.v[i], a)) return sch_step_refused(s, blocks.v[i]);
  return true;
}
