/* SPDX-License-Identifier: Apache-2.0
 * tensorize: replaces a block's body by a tensor intrinsic. */
#include "schedule/rewrite/init.h"
#include "schedule/rewrite/intrin.h"
#include "schedule/rewrite/nesting.h"

#define TENSORIZE_SIG(F, S)                                                 \
  F(S, IN, NODE, block_or_loop, REQ,                                        \
    "the block, or the loop that becomes one, that does what is described") \
  F(S, ATTR, STR, tensor_intrin, REQ, "the name of the intrinsic")          \
  F(S, ATTR, BOOL, preserve_unit_iters, DEF(1),                             \
    "a block made around a loop gets iters of one value, too")

PRIM_DEFINE(
    tensorize, TENSORIZE_SIG,
    .summary = "Let a tensor intrinsic do what a block, or a loop, does.",
    .rewrite = "X_o(i): for j in 4: X(j) of A[i * 4 + j]   ->   "
               "X_o(i): match A_m = A[i * 4 : 4]; the implementation, on A_m",
    .details =
        "1. The intrinsic was declared (ts.tensor_intrin).\n"
        "2. A loop can be blockized; see there. That block, or the one given,\n"
        "   which is not the outermost, holds just what the intrinsic "
        "describes:\n"
        "   the same loops (bounds and kinds), blocks (iters with their "
        "kinds,\n"
        "   domains and bindings; predicate; init) and stores, of the same\n"
        "   types. Operands of a sum or product may be the other way round.\n"
        "3. Each parameter of the intrinsic is one box of one buffer, of the\n"
        "   parameter's shape, in the last dimensions of the buffer, and the\n"
        "   block declares that it accesses all of it. The buffer has the\n"
        "   parameter's storage scope, unless that is \"global\".\n"
        "4. A buffer that is written is one parameter only.\n"
        "5. Loops whose iterations run in parallel stay free of races.\n"
        "The block keeps its handle and gets the intrinsic's implementation,\n"
        "with its annotations, where the block has no other value for one.\n",
    .refusals = SCH_REASONS(SCH_INTRIN_REASONS, SCH_NESTING_REASONS,
                            SCH_INIT_REASONS, SCH_R_BLOCK_IS_ROOT,
                            SCH_R_WOULD_RACE),
    .example = "local tensor = require \"tessera.tensor\"\n"
               "local b = sch:get_block(\"C\")\n"
               "local i, j, k = sch:get_loops(b)\n"
               "local j0, j1 = sch:split(j, { ts.auto, 4 })\n"
               "local k0, k1 = sch:split(k, { ts.auto, 4 })\n"
               "sch:reorder(j0, k0, j1, k1)\n"
               "sch:decompose_reduction(b, k0)\n"
               "sch:tensorize(j1, tensor.mma{ n = 4, k = 4 })\n");

typedef struct tensorize_args args;

static bool tensorize_rewrite(sch_state *s, void *ud) {
  args *a = ud;
  ir_program *p = s->p;
  ir_stmt block = a->block_or_loop;
  uint32_t desc, impl;
  if (!sch_find_intrin(s, a->tensor_intrin, &desc, &impl)) return false;
  if (!ir_st(p, block)->parent)
    return sch_refuse(s, SCH_R_BLOCK_IS_ROOT, .s = {block});
  if (ir_is_loop(p, block) &&
      !sch_blockize(s, 1, &a->block_or_loop, a->preserve_unit_iters, &block))
    return false;
  return sch_use_intrin(s, block, desc, impl);
}

static bool tensorize_apply(sch_state *s, args *a) {
  if (sch_transaction_rollback(s, tensorize_rewrite, a, a->block_or_loop))
    return true;
  /* The block that was made around a loop is no more. */
  if (s->refusal.s[0] >= s->p->stmt.n) s->refusal.s[0] = a->block_or_loop;
  return false;
}
