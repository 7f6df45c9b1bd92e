/* SPDX-License-Identifier: Apache-2.0
 * LLVM types, constants and intrinsic declarations. */
#include "backends/llvm/emit.h"
#include "ir/scalar.h"

#include <stdarg.h>
#include <stdio.h>

void emit_refuse(emit *m, tess_status code, const char *fmt, ...) {
  if (m->refused) return;
  char text[sizeof m->err->message];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  err_set(m->err, code, "%s", text);
  m->refused = true;
}

static LLVMTypeRef int_type(emit *m, tess_dtype t) {
  switch (t.bits) {
  case 8: return m->i8;
  case 16: return m->i16;
  case 32: return m->i32;
  default: return m->i64;
  }
}

LLVMTypeRef emit_vector_type(LLVMTypeRef element, uint32_t lanes) {
  return lanes == 1 ? element : LLVMVectorType(element, lanes);
}

static LLVMTypeRef element_type(emit *m, tess_dtype t) {
  switch (t.code) {
  case TESS_DTYPE_BOOL: return m->i1;
  case TESS_DTYPE_BFLOAT: return m->i16;
  case TESS_DTYPE_FLOAT:
    return t.bits == 16 ? m->f16 : t.bits == 32 ? m->f32 : m->f64;
  default: return int_type(m, t);
  }
}

LLVMTypeRef emit_type(emit *m, tess_dtype t) {
  return emit_vector_type(element_type(m, t), t.lanes);
}

LLVMTypeRef emit_memory_type(emit *m, tess_dtype t) {
  LLVMTypeRef element = t.code == TESS_DTYPE_BOOL ? m->i8 : element_type(m, t);
  return emit_vector_type(element, t.lanes);
}

/* A constant vector of equal lanes. */
static LLVMValueRef const_splat(emit *m, LLVMValueRef v, uint32_t lanes) {
  if (lanes == 1) return v;
  arena_mark mark = arena_get_mark(m->scratch);
  LLVMValueRef *all = arena_array(m->scratch, LLVMValueRef, lanes);
  for (uint32_t i = 0; i < lanes; i++) all[i] = v;
  LLVMValueRef r = LLVMConstVector(all, lanes);
  arena_reset_to(m->scratch, mark);
  return r;
}

LLVMValueRef emit_int(emit *m, tess_dtype t, int64_t v) {
  LLVMValueRef one = LLVMConstInt(element_type(m, t), (uint64_t)v, true);
  return const_splat(m, one, t.lanes);
}

LLVMValueRef emit_real(emit *m, tess_dtype t, double v) {
  LLVMValueRef one;
  if (t.code == TESS_DTYPE_BFLOAT) {
    uint16_t bits;
    ir_put_real(t, v, &bits);
    one = LLVMConstInt(m->i16, bits, false);
  } else {
    one = LLVMConstReal(element_type(m, t), v);
  }
  return const_splat(m, one, t.lanes);
}

LLVMValueRef emit_i64(emit *m, int64_t v) {
  return LLVMConstInt(m->i64, (uint64_t)v, true);
}

LLVMValueRef emit_splat(emit *m, LLVMValueRef v, uint32_t lanes) {
  if (lanes == 1) return v;
  LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(v), lanes);
  LLVMValueRef none = LLVMGetPoison(type);
  LLVMValueRef first =
      LLVMBuildInsertElement(m->b, none, v, LLVMConstInt(m->i32, 0, false), "");
  LLVMValueRef zeros = LLVMConstNull(LLVMVectorType(m->i32, lanes));
  return LLVMBuildShuffleVector(m->b, first, none, zeros, "");
}

LLVMValueRef emit_intrinsic(emit *m, const char *name, unsigned n,
                            LLVMTypeRef *types, unsigned nargs,
                            LLVMValueRef *args) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  LLVMValueRef fn = LLVMGetIntrinsicDeclaration(m->module, id, types, n);
  LLVMTypeRef type = LLVMIntrinsicGetType(m->ctx, id, types, n);
  return LLVMBuildCall2(m->b, type, fn, args, nargs, "");
}

LLVMBasicBlockRef emit_new_block(emit *m, const char *name) {
  return LLVMAppendBasicBlockInContext(m->ctx, m->fn.fn, name);
}
