/* SPDX-License-Identifier: Apache-2.0
 * Tiles by mma.sync m16n8k16 (sm_80 and up), two for each product, whose
 * registers are documented (PTX ISA, "Matrix Fragments for mma.m16n8k16"): of
 * lane l, with g = l / 4 and t = l % 4,
 *
 *   A, 16 bits: 4 pairs at rows g, g + 8, columns 2t (+ 8);
 *   B, 16 bits: 2 pairs at rows 2t (+ 8), column g;
 *   A, 8 bits:  2 quads at rows g, g + 8, columns 4t;
 *   B, 8 bits:  1 quad at rows 4t, column g;
 *   C:          at rows g, g + 8, columns 2t, 2t + 1.
 *
 * Operands of 16 bits come from shared memory by ldmatrix. */
#include "backends/cuda/fragment.h"
#include <stdio.h>

static bool is_half(tess_dtype t) {
  return t.code == TESS_DTYPE_FLOAT && t.bits == 16;
}

uint32_t cuda_mma_registers(emit *m, const cuda_layout *l, LLVMTypeRef *type) {
  tess_dtype t = l->dtype;
  if (((const cuda_emit *)m->ud)->capability < 80) return 0;
  *type = is_half(t)                   ? LLVMVectorType(m->f16, 2)
          : t.code == TESS_DTYPE_FLOAT ? m->f32
                                       : m->i32;
  if (l->operand == CUDA_C)
    return is_half(t) ? 4 : t.bits == 32 && t.code != TESS_DTYPE_UINT ? 8 : 0;
  if (is_half(t) || t.code == TESS_DTYPE_BFLOAT) return 4;
  return t.code == TESS_DTYPE_INT && t.bits == 8 ? 2 : 0;
}

/* ---- one element at a time ---------------------------------------------- */

/* Element e of register r, as row and column of the matrix: multiples of g and
 * t, and a constant. */
typedef struct place {
  int row_g, row_t, row, column_g, column_t, column;
} place;

static uint32_t elements_of(const cuda_layout *l) {
  if (l->operand == CUDA_C) return is_half(l->dtype) ? 2 : 1;
  return l->dtype.bits == 8 ? 4 : 2;
}

/* The registers of a sum are those of the left product, then of the right. */
static place place_of(const cuda_layout *l, uint32_t r, uint32_t e) {
  int i = (int)r, at = (int)e;
  if (l->operand == CUDA_C) {
    int each = is_half(l->dtype) ? 2 : 4, k = i % each;
    int row = is_half(l->dtype) ? k : k / 2;
    int column = is_half(l->dtype) ? at : k % 2;
    return (place){1, 0, 8 * row, 0, 2, 8 * (i / each) + column};
  }
  int wide = l->dtype.bits == 8 ? 4 : 2;
  if (l->operand == CUDA_A)
    return (place){1, 0, 8 * (i % 2), 0, wide, 8 * (i / 2) + at};
  int each = l->dtype.bits == 8 ? 1 : 2;
  return (place){0, wide, 8 * (i % each) + at, 1, 0, 8 * (i / each)};
}

static LLVMValueRef lane_part(emit *m, bool group) {
  LLVMValueRef lane = cuda_nvvm(m, "read.ptx.sreg.tid.x", 0, NULL);
  LLVMValueRef four = cuda_i32(m, 4);
  lane = group ? LLVMBuildUDiv(m->b, lane, four, "")
               : LLVMBuildURem(m->b, lane, four, "");
  return LLVMBuildZExt(m->b, lane, m->i64, "");
}

uint32_t cuda_mma_elements(const cuda_layout *l) { return elements_of(l); }

cuda_element cuda_mma_element(emit *m, const cuda_layout *l,
                              const LLVMValueRef *v, uint32_t r, uint32_t e) {
  place p = place_of(l, r, e);
  cuda_element x = {.value = v[r]};
  LLVMValueRef two = emit_i64(m, p.column_t);
  if (elements_of(l) > 1)
    x.value = LLVMBuildExtractElement(m->b, v[r], cuda_i32(m, e), "");
  x.row = LLVMBuildNSWAdd(m->b, lane_part(m, true), emit_i64(m, p.row), "");
  x.column = LLVMBuildNSWMul(m->b, lane_part(m, false), two, "");
  x.column = LLVMBuildNSWAdd(m->b, x.column, emit_i64(m, p.column), "");
  return x;
}

/* The address of an element; of B transposed rows and columns change. */
static LLVMValueRef element_at(emit *m, const cuda_layout *l,
                               const cuda_tile *x, place p) {
  bool flip = l->operand == CUDA_B && l->trans;
  int64_t row = flip ? x->column : x->row, column = flip ? x->row : x->column;
  LLVMValueRef g = emit_i64(m, p.row_g * row + p.column_g * column);
  LLVMValueRef t = emit_i64(m, p.row_t * row + p.column_t * column);
  LLVMValueRef by =
      LLVMBuildAdd(m->b, LLVMBuildMul(m->b, lane_part(m, true), g, ""),
                   LLVMBuildMul(m->b, lane_part(m, false), t, ""), "");
  LLVMValueRef rest = emit_i64(m, p.row * row + p.column * column);
  LLVMTypeRef type = emit_memory_type(m, l->dtype);
  LLVMValueRef at = emit_address(m, x->at);
  at = LLVMBuildInBoundsGEP2(m->b, type, at, &by, 1, "");
  return LLVMBuildInBoundsGEP2(m->b, type, at, &rest, 1, "");
}

static LLVMTypeRef lanes_type(emit *m, const cuda_layout *l) {
  return emit_vector_type(emit_memory_type(m, l->dtype), elements_of(l));
}

static void load_elements(emit *m, const cuda_layout *l, const cuda_tile *x,
                          LLVMValueRef *v) {
  LLVMTypeRef element = emit_memory_type(m, l->dtype);
  uint32_t n = elements_of(l);
  for (uint32_t r = 0; r < l->regs; r++) {
    LLVMValueRef all = LLVMGetPoison(lanes_type(m, l));
    for (uint32_t e = 0; e < n; e++) {
      LLVMValueRef at = element_at(m, l, x, place_of(l, r, e));
      LLVMValueRef one = LLVMBuildLoad2(m->b, element, at, "");
      all = n == 1 ? one
                   : LLVMBuildInsertElement(m->b, all, one, cuda_i32(m, e), "");
    }
    v[r] = LLVMBuildBitCast(m->b, all, l->type, "");
  }
}

void cuda_mma_store(emit *m, const cuda_layout *l, const cuda_tile *x,
                    LLVMValueRef *v) {
  uint32_t n = elements_of(l);
  for (uint32_t r = 0; r < l->regs; r++) {
    LLVMValueRef all = LLVMBuildBitCast(m->b, v[r], lanes_type(m, l), "");
    for (uint32_t e = 0; e < n; e++) {
      LLVMValueRef one =
          n == 1 ? all : LLVMBuildExtractElement(m->b, all, cuda_i32(m, e), "");
      LLVMBuildStore(m->b, one, element_at(m, l, x, place_of(l, r, e)));
    }
  }
}

/* ---- ldmatrix ----------------------------------------------------------- */

static bool can_ldmatrix(const emit *m, const cuda_layout *l,
                         const cuda_tile *x) {
  ir_scope s = (ir_scope)m->p->buf.v[x->buf].scope;
  return l->operand != CUDA_C && l->dtype.bits == 16 && x->column == 1 &&
         ir_scope_is_shared(s);
}

/* Four matrices of 8 x 8; the lanes give the addresses of their rows, eight
 * each.  The registers of A are in the order of columns of matrices; of B as it
 * is in memory, too, where its rows are k, and else in that of rows. */
static void load_matrices(emit *m, const cuda_layout *l, const cuda_tile *x,
                          LLVMValueRef *v) {
  bool by_row = l->operand == CUDA_B && l->trans;
  LLVMValueRef lane = cuda_nvvm(m, "read.ptx.sreg.tid.x", 0, NULL);
  lane = LLVMBuildZExt(m->b, lane, m->i64, "");
  LLVMValueRef eight = emit_i64(m, 8), two = emit_i64(m, 2);
  LLVMValueRef in = LLVMBuildURem(m->b, lane, eight, "");
  LLVMValueRef number = LLVMBuildUDiv(m->b, lane, eight, "");
  LLVMValueRef low = LLVMBuildURem(m->b, number, two, "");
  LLVMValueRef high = LLVMBuildUDiv(m->b, number, two, "");
  LLVMValueRef down = by_row ? high : low, right = by_row ? low : high;
  LLVMValueRef row =
      LLVMBuildAdd(m->b, in, LLVMBuildMul(m->b, down, eight, ""), "");
  LLVMValueRef by =
      LLVMBuildAdd(m->b, LLVMBuildMul(m->b, row, emit_i64(m, x->row), ""),
                   LLVMBuildMul(m->b, right, eight, ""), "");
  LLVMValueRef at = emit_address(m, x->at);
  at = LLVMBuildInBoundsGEP2(m->b, emit_memory_type(m, l->dtype), at, &by, 1,
                             "");
  const char *name = l->operand == CUDA_B && !l->trans
                         ? "ldmatrix.sync.aligned.m8n8.x4.trans.b16"
                         : "ldmatrix.sync.aligned.m8n8.x4.b16";
  LLVMValueRef all = cuda_nvvm_at(m, name, 1, &at, at);
  for (uint32_t i = 0; i < 4; i++)
    v[i] = LLVMBuildBitCast(m->b, LLVMBuildExtractValue(m->b, all, i, ""),
                            l->type, "");
}

void cuda_mma_load(emit *m, const cuda_layout *l, const cuda_tile *x,
                   LLVMValueRef *v) {
  if (can_ldmatrix(m, l, x))
    load_matrices(m, l, x, v);
  else
    load_elements(m, l, x, v);
}

/* ---- products ----------------------------------------------------------- */

/* Columns 8h .. 8h + 7 of the sum. */
static void half_product(emit *m, const cuda_layout *const l[3],
                         LLVMValueRef *c, LLVMValueRef *a, LLVMValueRef *b) {
  char name[96], types[16];
  LLVMValueRef args[CUDA_TILE_REGISTERS + 4];
  unsigned n = 0;
  uint32_t nb = l[2]->regs / 2, nc = l[0]->regs / 2;
  const char *sum = cuda_type_name(l[0]->dtype);
  bool half = is_half(l[1]->dtype);
  snprintf(types, sizeof types, half ? "%s.%s" : "%s",
           half ? sum : cuda_type_name(l[1]->dtype), sum);
  snprintf(name, sizeof name, "mma.m16n8k16.row.col.%s", types);
  for (uint32_t i = 0; i < l[1]->regs; i++) args[n++] = a[i];
  for (uint32_t i = 0; i < nb; i++) args[n++] = b[i];
  for (uint32_t i = 0; i < nc; i++) args[n++] = c[i];
  LLVMValueRef all = cuda_nvvm(m, name, n, args);
  for (uint32_t i = 0; i < nc; i++)
    c[i] = LLVMBuildExtractValue(m->b, all, i, "");
}

void cuda_mma_product(emit *m, const cuda_layout *const l[3], LLVMValueRef *c,
                      LLVMValueRef *a, LLVMValueRef *b) {
  half_product(m, l, c, a, b);
  half_product(m, l, c + l[0]->regs / 2, a, b + l[2]->regs / 2);
}
