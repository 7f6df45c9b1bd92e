/* SPDX-License-Identifier: Apache-2.0
 * Collectives of a warp: shuffles and votes.  A shuffle moves 32 bits, so
 * narrower values are extended and wider ones moved in parts, lane by lane of a
 * vector. */
#include "backends/cuda/kernel.h"

static ir_expr cuda_argument(const emit *m, const ir_node *n, uint32_t i) {
  return m->p->arg.v[n->b + i];
}

/* The kind, and how far sources reach: below 0, or above 31, a lane reads
 * itself. */
static LLVMValueRef shuffle_word(emit *m, uint32_t fn, LLVMValueRef mask,
                                 LLVMValueRef v, LLVMValueRef by) {
  const char *name = fn == IR_FN_SHFL        ? "shfl.sync.idx.i32"
                     : fn == IR_FN_SHFL_UP   ? "shfl.sync.up.i32"
                     : fn == IR_FN_SHFL_DOWN ? "shfl.sync.down.i32"
                                             : "shfl.sync.bfly.i32";
  LLVMValueRef args[4] = {mask, v, by,
                          cuda_i32(m, fn == IR_FN_SHFL_UP ? 0 : 31)};
  return cuda_nvvm(m, name, 4, args);
}

static LLVMValueRef shuffle_bits(emit *m, uint32_t fn, LLVMValueRef mask,
                                 LLVMValueRef v, LLVMValueRef by,
                                 unsigned bits) {
  if (bits <= 32) {
    LLVMValueRef wide = LLVMBuildZExt(m->b, v, m->i32, "");
    wide = shuffle_word(m, fn, mask, wide, by);
    return LLVMBuildTrunc(m->b, wide, LLVMTypeOf(v), "");
  }
  LLVMValueRef half = emit_i64(m, 32);
  LLVMValueRef low = LLVMBuildTrunc(m->b, v, m->i32, "");
  LLVMValueRef high =
      LLVMBuildTrunc(m->b, LLVMBuildLShr(m->b, v, half, ""), m->i32, "");
  low = LLVMBuildZExt(m->b, shuffle_word(m, fn, mask, low, by), m->i64, "");
  high = LLVMBuildZExt(m->b, shuffle_word(m, fn, mask, high, by), m->i64, "");
  return LLVMBuildOr(m->b, LLVMBuildShl(m->b, high, half, ""), low, "");
}

static LLVMValueRef shuffle_one(emit *m, const ir_node *n, LLVMValueRef mask,
                                LLVMValueRef v, LLVMValueRef by) {
  tess_dtype t = n->dtype;
  unsigned bits = t.code == TESS_DTYPE_BOOL ? 1 : t.bits;
  LLVMTypeRef was = LLVMTypeOf(v);
  v = LLVMBuildBitCast(m->b, v, LLVMIntTypeInContext(m->ctx, bits), "");
  v = shuffle_bits(m, n->a, mask, v, by, bits);
  return LLVMBuildBitCast(m->b, v, was, "");
}

static LLVMValueRef to_i32(emit *m, LLVMValueRef v) {
  unsigned bits = LLVMGetIntTypeWidth(LLVMTypeOf(v));
  if (bits == 32) return v;
  return bits > 32 ? LLVMBuildTrunc(m->b, v, m->i32, "")
                   : LLVMBuildZExt(m->b, v, m->i32, "");
}

/* Only the lowest five bits of a distance count. */
static LLVMValueRef shuffle(emit *m, const ir_node *n, LLVMValueRef mask) {
  LLVMValueRef v = emit_expr(m, cuda_argument(m, n, 1));
  LLVMValueRef by = to_i32(m, emit_expr(m, cuda_argument(m, n, 2)));
  by = LLVMBuildAnd(m->b, by, cuda_i32(m, 31), "");
  if (n->dtype.lanes == 1) return shuffle_one(m, n, mask, v, by);
  LLVMValueRef out = LLVMGetPoison(LLVMTypeOf(v));
  for (uint32_t i = 0; i < n->dtype.lanes; i++) {
    LLVMValueRef at = cuda_i32(m, i);
    LLVMValueRef one = LLVMBuildExtractElement(m->b, v, at, "");
    one = shuffle_one(m, n, mask, one, by);
    out = LLVMBuildInsertElement(m->b, out, one, at, "");
  }
  return out;
}

static LLVMValueRef vote(emit *m, const ir_node *n, LLVMValueRef mask) {
  LLVMValueRef holds = emit_expr(m, cuda_argument(m, n, 1));
  if (LLVMTypeOf(holds) != m->i1)
    holds = LLVMBuildICmp(m->b, LLVMIntNE, holds,
                          LLVMConstNull(LLVMTypeOf(holds)), "");
  LLVMValueRef args[2] = {mask, holds};
  const char *name = n->a == IR_FN_BALLOT ? "vote.ballot.sync"
                     : n->a == IR_FN_ANY  ? "vote.any.sync"
                                          : "vote.all.sync";
  LLVMValueRef v = cuda_nvvm(m, name, 2, args);
  LLVMTypeRef type = emit_type(m, n->dtype);
  if (LLVMTypeOf(v) == type) return v;
  return LLVMBuildIntCast2(m->b, v, type, false, "");
}

LLVMValueRef cuda_call(emit *m, ir_expr e) {
  const ir_node n = *ir_at(m->p, e);
  if (ir_fn_of_copies(n.a)) return cuda_copies_call(m, &n);
  LLVMValueRef mask = to_i32(m, emit_expr(m, cuda_argument(m, &n, 0)));
  bool is_vote = n.a == IR_FN_BALLOT || n.a == IR_FN_ANY || n.a == IR_FN_ALL;
  return is_vote ? vote(m, &n, mask) : shuffle(m, &n, mask);
}
