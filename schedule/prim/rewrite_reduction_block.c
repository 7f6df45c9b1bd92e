/* SPDX-License-Identifier: Apache-2.0
 * rewrite_reduction_block: decomposes the reductions that still have an init.
 */
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/rewrite/compose.h"

#define REWRITE_REDUCTION_BLOCK_SIG(F, S)

PRIM_DEFINE(
    rewrite_reduction_block, REWRITE_REDUCTION_BLOCK_SIG,
    .summary = "Move the inits of all reductions before their reduce loops.",
    .rewrite = "for i: for k: X(i, k) with init I   ->   for i: I; for k: "
               "X_update(i, k)",
    .details =
        "A postprocessor, as MetaSchedule's RewriteReductionBlock: each block\n"
        "with an init is decomposed (decompose_reduction) before the "
        "outermost\n"
        "loop around it that does not drive spatial iters alone, or whose\n"
        "statements a pipeline orders (software_pipeline_stage). Reductions\n"
        "that threads share, those without such a loop, and those that\n"
        "decompose_reduction refuses stay as they are. Where the block is\n"
        "annotated auto_tensorize, its init is so with what\n"
        "auto_tensorize_init says.\n",
    .refusals = (const uint16_t[]){0},
    .example = "sch:rewrite_reduction_block()\n");

enum { MAX_LOOPS = 64 };
static const char use_key[] = "auto_tensorize";
static const char init_key[] = "auto_tensorize_init";

/* Is there an entry for each statement of the loop, and none for an init? */
static bool is_pipelined(const ir_program *p, ir_stmt loop) {
  return ir_st(p, loop)->anno &&
         ir_anno_get(p, loop, "software_pipeline_stage") != NULL;
}

/* The loop before which the init goes; 0: none. */
static ir_stmt init_loop(sch_state *s, ir_stmt block) {
  const ir_program *p = s->p;
  ir_stmt loop[MAX_LOOPS], found = 0;
  uint32_t n = sch_loops_above(p, block, MAX_LOOPS, loop);
  if (n > MAX_LOOPS) return 0;
  for (uint32_t i = 0; i < n; i++) {
    if (sch_type_of_loop(s, loop[i]) == SCH_LOOP_S && !is_pipelined(p, loop[i]))
      continue;
    if (ir_st(p, loop[i])->loop_kind == IR_THREAD) return 0;
    if (!found) found = loop[i];
  }
  return found;
}

/* The init is done by the intrinsic that the block names for it. */
static void name_intrin(ir_program *p, ir_stmt block, ir_stmt init) {
  const char *name = sch_anno_text(p, block, init_key);
  if (!sch_anno_text(p, block, use_key)) return;
  ir_val v = ir_value_str(p, name ? name : "");
  ir_anno_remove(p, init, init_key);
  ir_anno_remove(p, init, use_key);
  ir_anno_set(p, init, ir_name(p, use_key), v);
}

static bool
rewrite_reduction_block_apply(sch_state *s,
                              struct rewrite_reduction_block_args *a) {
  const ir_program *p = s->p;
  ir_stmt root = ir_entry(p)->root, init;
  uint32_t n = 0;
  (void)a;
  for (ir_stmt st = root; st; st = ir_next(p, st, root))
    n += ir_is_block(p, st) && st != root && sch_has_init(p, st);
  ir_stmt *block = arena_array(s->scratch, ir_stmt, n + 1);
  n = 0;
  for (ir_stmt st = root; st; st = ir_next(p, st, root))
    if (ir_is_block(p, st) && st != root && sch_has_init(p, st))
      block[n++] = st;
  for (uint32_t i = 0; i < n; i++) {
    ir_stmt loop = init_loop(s, block[i]);
    if (loop && sch_do_decompose_reduction(s, block[i], loop, &init))
      name_intrin(s->p, block[i], init);
  }
  return true;
}
