/* SPDX-License-Identifier: Apache-2.0
 * get_block: looks up a block by name. */
#include "ir/query.h"
#include "schedule/sch.h"

#define GET_BLOCK_SIG(F, S)                                       \
  F(S, ATTR, STR, name, REQ, "the block's name")                  \
  F(S, ATTR, STR, func_name, OPT,                                 \
    "the function it is in; only the one worked on can be named") \
  F(S, OUT, BLOCK, block, REQ, "the block")

PRIM_DEFINE(
    get_block, GET_BLOCK_SIG, .flags = SCH_PURE,
    .summary = "Get a block by its name.", .rewrite = "",
    .details =
        "1. The function worked on has a block of that name. Names are unique\n"
        "   in a function; the outermost block is `root`.\n"
        "2. `func_name`, where given, is that function's name. It is the\n"
        "   program's first one, unless program:work_on(name) chose another.\n",
    .refusals = SCH_REASONS(SCH_R_BLOCK_UNKNOWN, SCH_R_FUNC_UNKNOWN),
    .example = "local b = sch:get_block(\"C\")\n");

static bool get_block_apply(sch_state *s, struct get_block_args *a) {
  const ir_program *p = s->p;
  const ir_func *f = ir_entry(p);
  if (a->func_name && strcmp(a->func_name, ir_text(p, f->name)) != 0)
    return sch_refuse(s, SCH_R_FUNC_UNKNOWN, .t = a->func_name);
  for (uint32_t i = 1; i < p->block.n; i++) {
    const ir_block_rec *b = &p->block.v[i];
    if (!strcmp(ir_text(p, b->name), a->name) && !ir_is_dead(p, b->stmt) &&
        ir_is_ancestor(p, f->root, b->stmt)) {
      a->block = b->stmt;
      return true;
    }
  }
  return sch_refuse(s, SCH_R_BLOCK_UNKNOWN, .t = a->name);
}
