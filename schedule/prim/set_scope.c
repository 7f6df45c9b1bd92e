/* SPDX-License-Identifier: Apache-2.0
 * set_scope: changes the storage scope of a buffer. */
#include "ir/analysis/analysis.h"
#include "schedule/analysis/layout.h"

#define SET_SCOPE_SIG(F, S)                                     \
  F(S, IN, BLOCK, block, REQ, "a block that writes the buffer") \
  F(S, ATTR, BUFFER, buffer_index, REQ,                         \
    "the buffer; an index counts those it writes, from 0")      \
  F(S, ATTR, STR, storage_scope, REQ,                           \
    "where it lives then: \"global\", \"local\", \"shared\", ...")

PRIM_DEFINE(
    set_scope, SET_SCOPE_SIG, .summary = "Set the storage scope of a buffer.",
    .rewrite = "alloc B   ->   alloc B in scope",
    .details =
        "1. The storage scope is known: global, shared, shared.dyn, local,\n"
        "   warp; fragments: wmma.matrix_a, wmma.matrix_b, wmma.accumulator,\n"
        "   m16n8k8.matrixA, m16n8k8.matrixB, m16n8k8.matrixC,\n"
        "   metal.simdgroup; what means global here: global.vtcm,\n"
        "   global.ddr, global.texture, global.texture-weight,\n"
        "   global.texture-nhwc, amx.tmm, local.inp_buffer,\n"
        "   local.wgt_buffer, local.acc_buffer.\n"
        "2. The buffer is allocated in the function, and neither is a part\n"
        "   of another nor has parts that are matched.\n"
        "3. It is not of a scope that threads have each for their own while\n"
        "   threads of one loop, around what writes it, share it.\n"
        "4. Loops whose iterations run in parallel stay free of races.\n"
        "What blocks of threads are to compute in shared memory is in that\n"
        "scope before compute_at moves it under their loop: in global memory\n"
        "they have nothing of their own. Until then it is in global memory\n"
        "when the program is lowered.\n",
    .refusals = SCH_REASONS(SCH_BUFFER_REASONS, SCH_R_STORAGE_UNKNOWN,
                            SCH_R_PARAMETER_FIXED, SCH_R_OPAQUE_ACCESS,
                            SCH_R_SCOPE_SHARED, SCH_R_WOULD_RACE),
    .example = "sch:set_scope(sch:get_block(\"C\"), 0, \"local\")\n");

/* Does each iteration of the thread loop have buffers of this scope for its
 * own? */
static bool set_scope_is_own(ir_scope scope, const ir_stmt_rec *loop) {
  if (!ir_is_thread_loop(loop)) return false;
  if (ir_scope_is_global(scope)) return false;
  bool block = loop->thread <= IR_BLOCKIDX_Z;
  if (ir_scope_is_shared(scope)) return block;
  return block || scope == IR_SCOPE_LOCAL || loop->thread != IR_THREADIDX_X;
}

/* A thread loop whose iterations share what they write of the buffer, which
 * lives further out, though each would have its own; 0: none.  What they only
 * read is made outside of the loop, and may yet move there. */
static ir_stmt shared_by(sch_state *s, ir_buf buf) {
  const ir_program *p = s->p;
  ir_stmt lifetime = ir_lifetime_scope(s->p, s->scratch, buf);
  ir_scope scope = (ir_scope)p->buf.v[buf].scope;
  for (ir_stmt q = lifetime; q; q = ir_next(p, q, lifetime)) {
    if (!ir_is_block(p, q) || q == lifetime || !sch_writes_buf(p, q, buf))
      continue;
    for (ir_stmt a = ir_st(p, q)->parent; a && a != lifetime;
         a = ir_st(p, a)->parent)
      if (set_scope_is_own(scope, ir_st(p, a))) return a;
  }
  return 0;
}

static bool set_scope_rewrite(sch_state *s, void *ud) {
  struct set_scope_args *a = ud;
  ir_buf buf;
  ir_scope scope;
  if (!sch_find_buffer(s, a->block, a->buffer_index, SCH_WRITES, NULL, NULL,
                       &buf))
    return false;
  if (!ir_scope_parse(a->storage_scope, &scope))
    return sch_refuse(s, SCH_R_STORAGE_UNKNOWN, .t = a->storage_scope);
  if (!sch_check_allocated(s, buf)) return false;
  uint8_t old = s->p->buf.v[buf].scope;
  s->p->buf.v[buf].scope = (uint8_t)scope;
  ir_stmt loop = shared_by(s, buf);
  if (loop) {
    s->p->buf.v[buf].scope = old;
    return sch_refuse(s, SCH_R_SCOPE_SHARED, .s = {loop}, .buf = buf,
                      .t = a->storage_scope);
  }
  s->p->edits++;
  return true;
}

static bool set_scope_apply(sch_state *s, struct set_scope_args *a) {
  return sch_transaction(s, set_scope_rewrite, a, a->block);
}
