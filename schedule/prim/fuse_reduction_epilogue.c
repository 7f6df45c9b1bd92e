/* SPDX-License-Identifier: Apache-2.0
 * fuse_reduction_epilogue: folds an elementwise epilogue into the init and the
 * updates of a reduction. */
#include "schedule/analysis/inline.h"
#include "schedule/analysis/move.h"

#define FUSE_REDUCTION_EPILOGUE_SIG(F, S)                \
  F(S, IN, BLOCK, reduction_block, REQ, "the reduction") \
  F(S, IN, BLOCK, epilogue_block, REQ, "the block that uses its result")

PRIM_DEFINE(
    fuse_reduction_epilogue, FUSE_REDUCTION_EPILOGUE_SIG,
    .summary = "Fuse what is done to a reduction's result into the reduction.",
    .rewrite =
        "for i: for k: X[i] += f(i, k); for i: Y[i] = X[i] + b[i]   ->   "
        "for i: for k: Y[i] += f(i, k), starting from b[i]",
    .details =
        "1. The reduction has an init, and each step combines one value with "
        "its\n"
        "   only result by a known reducer.\n"
        "2. The other block runs later and reads that result.\n"
        "3. What it stores uses the result once, by operations that commute "
        "with\n"
        "   the steps: x + c, x - c and c - x of a sum, x * c of a sum of\n"
        "   integers, and -x, which neither rounds nor overflows; x * c\n"
        "   of a product, min and max of either, and so for truth values.\n"
        "4. Everything that reverse_compute_inline asks.\n"
        "The reduction starts from what the operations make of its init. "
        "Steps\n"
        "are as they were, but for min, max, c - x and x * c of a sum, which\n"
        "are done to each value. So a ReLU, max(x, 0), is refused after a "
        "sum,\n"
        "where cutting off each step would give another result, and fused "
        "into\n"
        "a maximum.\n"
        "A sum or maximum that is zero may come out as the zero of the other\n"
        "sign.\n"
        "The buffer between the two is gone afterwards, as is the second "
        "block.\n",
    .refusals = SCH_REASONS(SCH_FOLD_REASONS, SCH_R_EPILOGUE_OTHER,
                            SCH_R_EPILOGUE_TWICE, SCH_R_NOT_READER,
                            SCH_R_NOT_REDUCER, SCH_R_NO_INIT),
    .example = "sch:fuse_reduction_epilogue(sch:get_block(\"C\"), "
               "sch:get_block(\"D\"))\n");

static bool
fuse_reduction_epilogue_apply(sch_state *s,
                              struct fuse_reduction_epilogue_args *a) {
  const ir_program *p = s->p;
  ir_stmt reduction = a->reduction_block, block = a->epilogue_block;
  ir_span w = ir_blk(p, reduction)->writes;
  if (!sch_has_init(p, reduction))
    return sch_refuse(s, SCH_R_NO_INIT, .s = {reduction});
  bool reads = false;
  for (uint32_t i = w.at; i < w.at + w.n; i++)
    reads |= sch_reads_buf(p, block, p->region.v[i].buf);
  if (!reads)
    return sch_refuse(s, SCH_R_NOT_READER, .s = {block},
                      .buf = sch_first_write(p, reduction));
  return sch_fuse_epilogue(s, block, reduction);
}
