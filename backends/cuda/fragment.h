/* SPDX-License-Identifier: Apache-2.0
 * Fragments of matrices: tiles of 16 x 16 in the registers of a warp, and the
 * instructions on them: wmma, or mma.sync with ldmatrix. */
#ifndef BACKENDS_CUDA_FRAGMENT_H
#define BACKENDS_CUDA_FRAGMENT_H

#include "backends/cuda/kernel.h"

enum { CUDA_TILE = 16, CUDA_TILE_REGISTERS = 8 };

typedef enum cuda_operand { CUDA_A, CUDA_B, CUDA_C } cuda_operand;

/* How a buffer of fragments is kept: tile by tile, each in `regs` registers of
 * a type. */
typedef struct cuda_layout {
  bool is_used, has_order, is_loaded;
  bool trans;               /* B is indexed [j, k] */
  bool column_major;        /* as the instruction sees A or B */
  cuda_operand operand;
  tess_dtype dtype;
  uint32_t regs;
  LLVMTypeRef type;
  int64_t row;              /* elements of a row of the buffer */
} cuda_layout;

/* Where a tile is in memory, and the distances of rows and columns. */
typedef struct cuda_tile {
  ir_buf buf;
  ir_expr at;               /* the load of its first element */
  ir_expr index;
  int64_t row, column;      /* in elements */
} cuda_tile;

/* Decides each fragment's layout from the operations that use it, before
 * anything is emitted. */
void cuda_plan_fragments(emit *m);
/* Storage for the tiles of an allocated fragment. */
void cuda_place_fragment(emit *m, ir_buf b, uint64_t bytes);
/* The operation under that condition (lower/threads/lower_fragments.c). */
void cuda_instead(emit *m, ir_expr cond, ir_stmt body);
/* Loops over the rows and columns of an accumulator's tile, whose registers are
 * v, for the elements that each lane has (fragment_apply.c). */
void cuda_apply(emit *m, const cuda_tile *x, const LLVMValueRef *v,
                ir_stmt body);

/* ---- for the two kinds of instructions ---------------------------------- */

/* The number and the type of the registers of a tile; 0: there is no such. */
uint32_t cuda_wmma_registers(emit *m, const cuda_layout *l, LLVMTypeRef *type);
uint32_t cuda_mma_registers(emit *m, const cuda_layout *l, LLVMTypeRef *type);
/* v: the registers of a tile.  x: memory, with rows or columns in a row. */
void cuda_wmma_load(emit *m, const cuda_layout *l, const cuda_tile *x,
                    LLVMValueRef *v);
void cuda_mma_load(emit *m, const cuda_layout *l, const cuda_tile *x,
                   LLVMValueRef *v);
void cuda_wmma_store(emit *m, const cuda_layout *l, const cuda_tile *x,
                     LLVMValueRef *v);
void cuda_mma_store(emit *m, const cuda_layout *l, const cuda_tile *x,
                    LLVMValueRef *v);
/* Element e of register r of an accumulator, and its row and column. */
typedef struct cuda_element {
  LLVMValueRef value, row, column;
} cuda_element;
uint32_t cuda_mma_elements(const cuda_layout *l);
cuda_element cuda_mma_element(emit *m, const cuda_layout *l,
                              const LLVMValueRef *v, uint32_t r, uint32_t e);
/* c += a b. */
void cuda_wmma_product(emit *m, const cuda_layout *const l[3],
                       LLVMValueRef *c, LLVMValueRef *a, LLVMValueRef *b);
void cuda_mma_product(emit *m, const cuda_layout *const l[3], LLVMValueRef *c,
                      LLVMValueRef *a, LLVMValueRef *b);
/* The name of an element's type in instructions. */
const char *cuda_type_name(tess_dtype t);
/* A call of an overloaded intrinsic by the type of its pointer. */
LLVMValueRef cuda_nvvm_at(emit *m, const char *name, unsigned n,
                          LLVMValueRef *args, LLVMValueRef at);

#endif
