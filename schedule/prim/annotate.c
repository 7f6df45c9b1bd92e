/* SPDX-License-Identifier: Apache-2.0
 * annotate: sets an annotation on a block or loop. */
#include "ir/edit.h"
#include "ir/query.h"
#include "ir/tensor_call.h"
#include "schedule/sch.h"

#define ANNOTATE_SIG(F, S)                                                     \
  F(S, IN, NODE, block_or_loop, REQ, "what is annotated")                      \
  F(S, ATTR, STR, ann_key, REQ, "the key")                                     \
  F(S, IN, VALUE, ann_val, REQ,                                                \
    "the value: a bool, a number, a text, a sampled integer or an expression " \
    "of such, or a list or dictionary of these")

PRIM_DEFINE(
    annotate, ANNOTATE_SIG, .summary = "Annotate a block or loop.",
    .rewrite = "S   ->   S with key = value",
    .details =
        "1. It has no annotation of that key, or one of an equal value (then\n"
        "   nothing changes).\n"
        "2. The key is not \"tensor_call\", which tensorize sets.\n"
        "3. The key is not empty.\n"
        "What a note asks of lowering, such as software_pipeline_stage or\n"
        "double_buffer_scope, is looked at when the program is lowered, which\n"
        "refuses what cannot be.\n",
    .refusals = SCH_REASONS(SCH_R_ANNOTATED, SCH_R_INTRIN_CALL,
                            SCH_R_KEY_EMPTY),
    .example =
        "sch:annotate(sch:get_block(\"C\"), \"pragma_unroll_explicit\", 1)\n");

static bool annotate_apply(sch_state *s, struct annotate_args *a) {
  ir_program *p = s->p;
  if (!*a->ann_key) return sch_refuse(s, SCH_R_KEY_EMPTY);
  const ir_anno *old = ir_anno_get(p, a->block_or_loop, a->ann_key);
  if (old && !ir_value_eq(p, old->val, p, a->ann_val))
    return sch_refuse(s, SCH_R_ANNOTATED, .s = {a->block_or_loop},
                      .t = a->ann_key);
  if (!old && !strcmp(a->ann_key, IR_TENSOR_CALL))
    return sch_refuse(s, SCH_R_INTRIN_CALL, .t = a->ann_key);
  if (!old)
    ir_anno_set(p, a->block_or_loop, ir_name(p, a->ann_key), a->ann_val);
  return true;
}
