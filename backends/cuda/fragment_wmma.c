/* SPDX-License-Identifier: Apache-2.0
 * Tiles by wmma (sm_70 and up), whose registers hold elements in an order of
 * the device's own. */
#include "backends/cuda/fragment.h"
#include <stdio.h>

static LLVMTypeRef pair_type(emit *m) { return LLVMVectorType(m->f16, 2); }

/* The architecture that has the instruction. */
static bool has_type(const emit *m, tess_dtype t) {
  int n = ((const cuda_emit *)m->ud)->capability;
  if (t.code == TESS_DTYPE_BFLOAT) return n >= 80;
  return t.bits == 8 || (t.code == TESS_DTYPE_INT && t.bits == 32) ? n >= 72
                                                                   : n >= 70;
}

uint32_t cuda_wmma_registers(emit *m, const cuda_layout *l, LLVMTypeRef *type) {
  tess_dtype t = l->dtype;
  bool sum = l->operand == CUDA_C, is_int = ir_is_int(t);
  if (!has_type(m, t)) return 0;
  if (t.code == TESS_DTYPE_FLOAT && t.bits == 16) {
    *type = pair_type(m);
    return sum ? 4 : 8;
  }
  *type = t.code == TESS_DTYPE_FLOAT ? m->f32 : m->i32;
  if (sum)
    return (is_int || t.code == TESS_DTYPE_FLOAT) && t.bits == 32 ? 8 : 0;
  if (t.code == TESS_DTYPE_BFLOAT) return 4;
  return is_int && t.bits == 8 ? 2 : 0;
}

static int64_t step_of(const cuda_tile *x) {
  return x->column == 1 ? x->row : x->column;
}

static void unpack(emit *m, LLVMValueRef v, uint32_t n, LLVMValueRef *out) {
  if (LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMStructTypeKind) {
    out[0] = v;
    return;
  }
  for (uint32_t i = 0; i < n; i++)
    out[i] = LLVMBuildExtractValue(m->b, v, i, "");
}

void cuda_wmma_load(emit *m, const cuda_layout *l, const cuda_tile *x,
                    LLVMValueRef *v) {
  char name[96];
  bool columns = l->operand == CUDA_C ? x->column != 1 : l->column_major;
  snprintf(name, sizeof name, "wmma.m16n16k16.load.%c.%s.stride.%s",
           "abc"[l->operand], columns ? "col" : "row",
           cuda_type_name(l->dtype));
  LLVMValueRef args[2] = {emit_address(m, x->at), cuda_i32(m, step_of(x))};
  unpack(m, cuda_nvvm_at(m, name, 2, args, args[0]), l->regs, v);
}

void cuda_wmma_store(emit *m, const cuda_layout *l, const cuda_tile *x,
                     LLVMValueRef *v) {
  char name[96];
  LLVMValueRef args[2 + CUDA_TILE_REGISTERS] = {emit_address(m, x->at)};
  if (l->operand != CUDA_C) {
    emit_refuse(m, TESS_UNSUPPORTED,
                "only accumulators are stored from "
                "fragments");
    return;
  }
  snprintf(name, sizeof name, "wmma.m16n16k16.store.d.%s.stride.%s",
           x->column == 1 ? "row" : "col", cuda_type_name(l->dtype));
  for (uint32_t i = 0; i < l->regs; i++) args[1 + i] = v[i];
  args[1 + l->regs] = cuda_i32(m, step_of(x));
  cuda_nvvm_at(m, name, 2 + l->regs, args, args[0]);
}

/* Products of float16 name the types of the sum, before and after; of others
 * only the operands'. */
void cuda_wmma_product(emit *m, const cuda_layout *const l[3], LLVMValueRef *c,
                       LLVMValueRef *a, LLVMValueRef *b) {
  char name[96], types[16];
  LLVMValueRef args[3 * CUDA_TILE_REGISTERS];
  unsigned n = 0;
  const char *of = cuda_type_name(l[1]->dtype),
             *sum = cuda_type_name(l[0]->dtype);
  bool half = l[1]->dtype.code == TESS_DTYPE_FLOAT;
  snprintf(types, sizeof types, half ? "%s.%s" : "%s", half ? sum : of, sum);
  snprintf(name, sizeof name, "wmma.m16n16k16.mma.%s.%s.%s",
           l[1]->column_major ? "col" : "row",
           l[2]->column_major ? "col" : "row", types);
  for (uint32_t i = 0; i < l[1]->regs; i++) args[n++] = a[i];
  for (uint32_t i = 0; i < l[2]->regs; i++) args[n++] = b[i];
  for (uint32_t i = 0; i < l[0]->regs; i++) args[n++] = c[i];
  unpack(m, cuda_nvvm(m, name, n, args), l[0]->regs, c);
}
