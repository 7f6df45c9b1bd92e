/* SPDX-License-Identifier: Apache-2.0
 * unsafe_set_dtype: changes the element type of a buffer. */
#include "ir/edit.h"
#include "schedule/analysis/layout.h"

#define UNSAFE_SET_DTYPE_SIG(F, S)                              \
  F(S, IN, BLOCK, block, REQ, "a block that writes the buffer") \
  F(S, ATTR, BUFFER, buffer_index, REQ,                         \
    "the buffer; an index counts those it writes, from 0")      \
  F(S, ATTR, DTYPE, dtype, REQ, "the type that it holds then")

PRIM_DEFINE(
    unsafe_set_dtype, UNSAFE_SET_DTYPE_SIG, .flags = SCH_UNSAFE,
    .summary = "Let a buffer hold its values in another type.",
    .rewrite = "B[i] = f(); .. B[i] ..   ->   "
               "B[i] = cast(f()); .. cast(B[i]) ..",
    .details =
        "1. The buffer is allocated in the function, and neither is a part\n"
        "   of another nor has parts that are matched.\n"
        "2. The type is a number, or bool, not a vector.\n"
        "Everything is computed in the types that it was; what is stored is\n"
        "rounded, so that results may differ. A reduction into the buffer\n"
        "rounds after each step and has no known reducer any more.\n",
    .refusals = SCH_REASONS(SCH_BUFFER_REASONS, SCH_R_PARAMETER_FIXED,
                            SCH_R_OPAQUE_ACCESS, SCH_R_DTYPE_UNFIT),
    .example = "sch:unsafe_set_dtype(sch:get_block(\"C\"), 0, \"float64\")\n");

typedef struct retype {
  ir_buf buf;
  tess_dtype old;
} retype;

static ir_expr cast_load(ir_subst *sub, ir_buf buf, uint32_t n,
                         const ir_expr *idx) {
  const retype *f = sub->ud;
  if (buf != f->buf) return 0;
  return ir_cast(sub->p, f->old, ir_load(sub->p, buf, n, idx));
}

static bool unsafe_set_dtype_apply(sch_state *s,
                                   struct unsafe_set_dtype_args *a) {
  ir_program *p = s->p;
  retype f;
  if (!sch_find_buffer(s, a->block, a->buffer_index, SCH_WRITES, NULL, NULL,
                       &f.buf) ||
      !sch_check_allocated(s, f.buf))
    return false;
  if (a->dtype.lanes != 1 || a->dtype.code == TESS_DTYPE_HANDLE)
    return sch_refuse(s, SCH_R_DTYPE_UNFIT, .buf = f.buf);
  f.old = p->buf.v[f.buf].dtype;
  if (ir_dtype_eq(f.old, a->dtype)) return true;
  p->buf.v[f.buf].dtype = a->dtype;
  ir_subst sub;
  ir_subst_init(&sub, p, s->scratch);
  sub.load = cast_load;
  sub.ud = &f;
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt q = root; q; q = ir_next(p, q, root)) {
    ir_subst_head(&sub, q, true);
    if (ir_st(p, q)->kind == IR_STORE && ir_st(p, q)->buf == f.buf) {
      ir_expr value = ir_cast(p, a->dtype, ir_st(p, q)->value);
      ir_st(p, q)->value = value;
    }
    if (ir_is_block(p, q) && sch_writes_buf(p, q, f.buf))
      ir_blk(p, q)->reducer = 0;
  }
  return true;
}
