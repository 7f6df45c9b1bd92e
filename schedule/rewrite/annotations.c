/* SPDX-License-Identifier: Apache-2.0
 * Annotations of a block that is derived from another. */
#include "ir/edit.h"
#include "ir/query.h"
#include "ir/tensor_call.h"
#include "schedule/sch.h"

/* These tell of the one block's body and regions. */
static bool is_of_body(const char *key) {
  static const char *const keys[] = {IR_TENSOR_CALL, IR_EXPLICIT_READS,
                                     IR_EXPLICIT_WRITES, IR_HIDDEN_READS,
                                     IR_HIDDEN_WRITES};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (!strcmp(key, keys[i])) return true;
  return false;
}

void sch_copy_annotations(ir_program *p, ir_stmt from, ir_stmt to) {
  for (uint32_t a = ir_st(p, from)->anno; a; a = p->anno.v[a].next)
    if (!is_of_body(ir_text(p, p->anno.v[a].key)))
      ir_anno_set(p, to, p->anno.v[a].key, p->anno.v[a].val);
}
