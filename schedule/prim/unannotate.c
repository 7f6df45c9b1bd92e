/* SPDX-License-Identifier: Apache-2.0
 * unannotate: removes an annotation from a block or loop. */
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/sch.h"

#define UNANNOTATE_SIG(F, S)                              \
  F(S, IN, NODE, block_or_loop, REQ, "what is annotated") \
  F(S, ATTR, STR, ann_key, REQ, "the key")

PRIM_DEFINE(
    unannotate, UNANNOTATE_SIG,
    .summary = "Take an annotation off a block or loop.",
    .rewrite = "S with key = value   ->   S",
    .details =
        "1. It has an annotation of that key.\n"
        "2. Threads that share what the block copies stay free of races when\n"
        "   auto_copy goes.\n"
        "Without a note of regions that are given or hidden they are worked\n"
        "out.\n",
    .refusals = SCH_REASONS(SCH_R_NOT_ANNOTATED, SCH_R_WOULD_RACE),
    .example = "local b = sch:get_block(\"C\")\n"
               "sch:annotate(b, \"pragma_unroll_explicit\", 1)\n"
               "sch:unannotate(b, \"pragma_unroll_explicit\")\n");

/* A note about the regions of a block. */
static bool is_region_note(const char *key) {
  static const char *const keys[] = {IR_EXPLICIT_READS, IR_EXPLICIT_WRITES,
                                     IR_HIDDEN_READS, IR_HIDDEN_WRITES};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (!strcmp(key, keys[i])) return true;
  return false;
}

static bool unannotate_rewrite(sch_state *s, void *ud) {
  const struct unannotate_args *a = ud;
  if (!ir_anno_remove(s->p, a->block_or_loop, a->ann_key))
    return sch_refuse(s, SCH_R_NOT_ANNOTATED, .s = {a->block_or_loop},
                      .t = a->ann_key);
  if (!ir_is_block(s->p, a->block_or_loop) || !is_region_note(a->ann_key))
    return true;
  ir_block_find_regions(s->p, s->scratch, a->block_or_loop);
  if (ir_st(s->p, a->block_or_loop)->parent)
    sch_widen_scope(s, ir_scope_of(s->p, a->block_or_loop));
  return true;
}

/* What a block copies on its own each thread may have for itself. */
static bool unannotate_apply(sch_state *s, struct unannotate_args *a) {
  return strcmp(a->ann_key, "auto_copy")
             ? unannotate_rewrite(s, a)
             : sch_transaction(s, unannotate_rewrite, a, a->block_or_loop);
}
