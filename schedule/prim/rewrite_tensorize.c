/* SPDX-License-Identifier: Apache-2.0
 * rewrite_tensorize: lets tensor intrinsics do the blocks that name them. */
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/rewrite/compose.h"
#include "schedule/rewrite/intrin.h"

#define REWRITE_TENSORIZE_SIG(F, S)             \
  F(S, ATTR, BOOL, vectorize_init_loop, DEF(0), \
    "vectorize the innermost loop of an init whose auto_tensorize is empty")

PRIM_DEFINE(
    rewrite_tensorize, REWRITE_TENSORIZE_SIG,
    .summary = "Tensorize the blocks that are annotated with an intrinsic.",
    .rewrite = "block with auto_tensorize = X   ->   tensorize(block, X)",
    .details =
        "A postprocessor, as MetaSchedule's RewriteTensorize. The annotation\n"
        "auto_tensorize of each block goes, and so does auto_tensorize_init.\n"
        "A name such as wmma_sync that is no intrinsic's stands for all whose\n"
        "names go on behind it, as wmma_sync_16x16x16_f16f16f32: the first\n"
        "that does what the block does is taken. A block that an intrinsic\n"
        "does already stays as it is.\n"
        "1. Each intrinsic is declared and does just what its block does (see\n"
        "   tensorize): MetaSchedule goes on with scalars where it does not.\n"
        "An init without a name (rewrite_reduction_block leaves an empty one)\n"
        "stays, and with vectorize_init_loop the innermost loop in it is\n"
        "vectorized where it can be.\n",
    .refusals = SCH_REASONS(SCH_R_INTRIN_UNKNOWN, SCH_R_STEP_REFUSED),
    .example = "local tensor = require \"tessera.tensor\"\n"
               "local b = sch:get_block(\"C\")\n"
               "local i, j, k = sch:get_loops(b)\n"
               "local j0, j1 = sch:split(j, { ts.auto, 4 })\n"
               "local k0, k1 = sch:split(k, { ts.auto, 4 })\n"
               "sch:reorder(j0, k0, j1, k1)\n"
               "sch:decompose_reduction(b, k0)\n"
               "sch:annotate(sch:blockize(j1), \"auto_tensorize\",\n"
               "             tensor.mma{ n = 4, k = 4 })\n"
               "sch:rewrite_tensorize()\n");

/* The innermost loop of the nest in or around the block; 0: none. */
static ir_stmt innermost(const ir_program *p, ir_stmt block) {
  ir_stmt found = 0;
  for (ir_stmt st = block; st; st = ir_next(p, st, block))
    if (ir_is_loop(p, st)) found = st;
  ir_stmt up = ir_st(p, block)->parent;
  return found || !ir_is_loop(p, up) ? found : up;
}

/* The intrinsic, or one of the family of that name, in place of the block. */
static bool use_named(sch_state *s, ir_stmt block, const char *name) {
  uint32_t func = 0, tried = 0;
  const char *member;
  if (sch_knows_intrin(s->p, name))
    return sch_do_tensorize(s, block, name) || sch_step_refused(s, block);
  while ((member = sch_next_of_family(s, name, &func))) {
    if (sch_do_tensorize(s, block, member)) return true;
    tried++;
  }
  return tried ? sch_step_refused(s, block)
               : sch_refuse(s, SCH_R_INTRIN_UNKNOWN, .s = {block}, .t = name);
}

static bool rewrite_block(sch_state *s, ir_stmt block, bool vectorize) {
  const char *name = sch_anno_text(s->p, block, "auto_tensorize");
  name = arena_printf(s->scratch, "%s", name);
  ir_anno_remove(s->p, block, "auto_tensorize");
  ir_anno_remove(s->p, block, "auto_tensorize_init");
  if (ir_blk(s->p, block)->matches.n) return true; /* an implementation */
  if (*name) return use_named(s, block, name);
  ir_stmt loop = vectorize ? innermost(s->p, block) : 0;
  if (loop && ir_st(s->p, loop)->loop_kind == IR_SERIAL)
    sch_do_vectorize(s, loop);
  return true;
}

static bool rewrite_tensorize_apply(sch_state *s,
                                    struct rewrite_tensorize_args *a) {
  const ir_program *p = s->p;
  ir_stmt root = ir_entry(p)->root;
  uint32_t n = 0;
  for (ir_stmt st = root; st; st = ir_next(p, st, root))
    n += ir_is_block(p, st) && sch_anno_text(p, st, "auto_tensorize");
  ir_stmt *block = arena_array(s->scratch, ir_stmt, n + 1);
  n = 0;
  for (ir_stmt st = root; st; st = ir_next(p, st, root))
    if (ir_is_block(p, st) && sch_anno_text(p, st, "auto_tensorize"))
      block[n++] = st;
  for (uint32_t i = 0; i < n; i++)
    if (!rewrite_block(s, block[i], a->vectorize_init_loop)) return false;
  return true;
}
