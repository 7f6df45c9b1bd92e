/* SPDX-License-Identifier: Apache-2.0
 * Operations on fragments: their layout, the registers of their tiles, and
 * dispatch to the instructions that the target uses. */
#include "backends/cuda/fragment.h"
#include "ir/arith/linear.h"
#include "ir/query.h"
#include <stdlib.h>
#include <string.h>

static cuda_emit *emit_state(emit *m) { return m->ud; }

static const char *name_of(const emit *m, ir_buf b) {
  return ir_text(m->p, m->p->buf.v[b].name);
}

static bool is_fragment(const emit *m, ir_buf b) {
  return ir_scope_is_fragment(m->p->buf.v[b].scope);
}

const char *cuda_type_name(tess_dtype t) {
  if (t.code == TESS_DTYPE_BFLOAT) return "bf16";
  if (t.code == TESS_DTYPE_FLOAT) return t.bits == 16 ? "f16" : "f32";
  if (t.code == TESS_DTYPE_UINT) return "u8";
  return t.bits == 8 ? "s8" : "s32";
}

/* ---- operands ----------------------------------------------------------- */

static bool distance_between(const ir_program *p, ir_expr from, ir_expr to,
                             int64_t *out) {
  lin x;
  if (!lin_diff(p, to, from, &x)) return false;
  *out = x.c;
  return x.n == 0;
}

static ir_expr index_of(const ir_program *p, ir_expr load) {
  return p->arg.v[ir_at(p, load)->b];
}

/* Tile i of the condition; false: its strides are not constant. */
static bool read_tile(const emit *m, const ir_node *n, uint32_t i,
                      cuda_tile *out) {
  const ir_program *p = m->p;
  const ir_expr *v = p->arg.v + n->b + (size_t)3 * i;
  for (int k = 0; k < 3; k++) {
    const ir_node *load = ir_at(p, v[k]);
    if (load->op != IR_LOAD || load->n != 1 || load->c) return false;
  }
  *out = (cuda_tile){.buf = ir_at(p, v[0])->a, .at = v[0]};
  out->index = index_of(p, v[0]);
  return distance_between(p, out->index, index_of(p, v[1]), &out->row) &&
         distance_between(p, out->index, index_of(p, v[2]), &out->column);
}

static uint32_t count_tiles(const char *name) {
  return !strcmp(name, "fragment.fill")       ? 1
         : !strcmp(name, "fragment.apply")    ? 1
         : !strncmp(name, "fragment.mma", 12) ? 3
         : !strncmp(name, "fragment.", 9)     ? 2
                                              : 0;
}

static bool refuse_operation(emit *m, const char *what, ir_buf b) {
  emit_refuse(m, TESS_UNSUPPORTED, "fragment %s: %s", name_of(m, b), what);
  return false;
}

static bool read_tiles(emit *m, const ir_node *n, uint32_t *count,
                       cuda_tile tile[3]) {
  *count = count_tiles(ir_text(m->p, n->c));
  if (!*count || n->n < 3 * *count) {
    emit_refuse(m, TESS_INVALID, "an operation of a warp that is not known");
    return false;
  }
  for (uint32_t i = 0; i < *count; i++)
    if (!read_tile(m, n, i, &tile[i]))
      return refuse_operation(m, "its strides are not constant",
                              ir_at(m->p, m->p->arg.v[n->b])->a);
  return true;
}

/* ---- layouts ------------------------------------------------------------ */

static bool choose_registers(emit *m, cuda_layout *l) {
  l->regs = emit_state(m)->has_mma ? cuda_mma_registers(m, l, &l->type)
                                   : cuda_wmma_registers(m, l, &l->type);
  return l->regs != 0;
}

static bool plan_tile(emit *m, const cuda_tile *x, bool trans, bool has_trans) {
  cuda_layout *l = &emit_state(m)->layout[x->buf];
  if (!is_fragment(m, x->buf)) return true;
  if (x->column != 1 || x->row % CUDA_TILE)
    return refuse_operation(m, "its rows are no whole tiles", x->buf);
  uint32_t scope = m->p->buf.v[x->buf].scope;
  if (scope > IR_SCOPE_WMMA_ACC)
    return refuse_operation(m, "scope is not one of wmma", x->buf);
  if (l->is_used && l->row != x->row)
    return refuse_operation(m, "its tiles differ in stride", x->buf);
  if (has_trans && l->has_order && l->trans != trans)
    return refuse_operation(m, "it is used as B and as its transpose", x->buf);
  if (has_trans) {
    l->trans = trans;
    l->has_order = true;
  }
  l->is_used = true;
  l->row = x->row;
  l->dtype = m->p->buf.v[x->buf].dtype;
  l->operand = scope == IR_SCOPE_WMMA_A   ? CUDA_A
               : scope == IR_SCOPE_WMMA_B ? CUDA_B
                                          : CUDA_C;
  if (choose_registers(m, l)) return true;
  emit_refuse(m, TESS_UNSUPPORTED,
              "fragment %s: '%s' has no instruction on tiles of %s",
              name_of(m, x->buf), m->target->cpu, cuda_type_name(l->dtype));
  return false;
}

/* The order in which an instruction sees the operand's elements: the rows of B
 * transposed are its columns. */
static bool plan_load(emit *m, const cuda_tile *to, const cuda_tile *from) {
  cuda_layout *l = &emit_state(m)->layout[to->buf];
  if (from->column != 1 && from->row != 1)
    return refuse_operation(m,
                            "neither its rows nor its columns are in a row "
                            "in memory",
                            to->buf);
  bool columns = (from->column != 1) != l->trans;
  if (l->operand == CUDA_C || emit_state(m)->has_mma) return true;
  if (l->is_loaded && l->column_major != columns)
    return refuse_operation(m, "it is loaded by rows and by columns", to->buf);
  l->is_loaded = true;
  l->column_major = columns;
  return true;
}

typedef bool (*each_operation)(emit *m, const char *name, uint32_t n,
                               const cuda_tile *tile);

static void each_fragment(emit *m, each_operation f) {
  const ir_program *p = m->p;
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt s = root; s && !m->refused; s = ir_next(p, s, root)) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind != IR_IF || !ir_is_instead(p, r->cond)) continue;
    const ir_node n = *ir_at(p, r->cond);
    cuda_tile tile[3];
    uint32_t count;
    if (!count_tiles(ir_text(p, n.c))) continue;
    if (!read_tiles(m, &n, &count, tile) || !f(m, ir_text(p, n.c), count, tile))
      return;
  }
}

static bool plan_buffers(emit *m, const char *name, uint32_t n,
                         const cuda_tile *tile) {
  bool mma = !strncmp(name, "fragment.mma", 12);
  for (uint32_t i = 0; i < n; i++)
    if (!plan_tile(m, &tile[i], !strcmp(name, "fragment.mma_trans"),
                   mma && i == 2))
      return false;
  return true;
}

static bool plan_loads(emit *m, const char *name, uint32_t n,
                       const cuda_tile *tile) {
  (void)n;
  return strcmp(name, "fragment.load") != 0 || plan_load(m, &tile[0], &tile[1]);
}

void cuda_plan_fragments(emit *m) {
  emit_state(m)->layout =
      arena_zalloc(m->scratch, m->p->buf.n * sizeof(cuda_layout));
  each_fragment(m, plan_buffers);
  each_fragment(m, plan_loads);
}

/* ---- tiles in registers ------------------------------------------------- */

void cuda_place_fragment(emit *m, ir_buf b, uint64_t bytes) {
  const cuda_layout *l = &emit_state(m)->layout[b];
  if (!l->is_used) return; /* nothing uses it */
  uint64_t elements = bytes / (l->dtype.bits / 8u);
  LLVMTypeRef one = LLVMArrayType2(l->type, l->regs);
  LLVMTypeRef type = LLVMArrayType2(one, elements / (CUDA_TILE * CUDA_TILE));
  m->buf[b] = emit_stack(m, type, bytes / 32);
}

/* Is the sum that the tile begins at one of whole tiles? */
static bool is_at_tile(const emit *m, const cuda_tile *x) {
  lin f;
  int64_t rows = CUDA_TILE * x->row;
  lin_of(m->p, x->index, &f);
  for (uint32_t i = 0; i < f.n; i++) {
    int64_t k = f.t[i].k;
    if (k % rows && (k % CUDA_TILE || llabs(k) >= x->row)) return false;
  }
  return f.c >= 0 && f.c % rows % CUDA_TILE == 0 && f.c % rows < x->row;
}

/* The tile's number: rows of tiles, and tiles in a row. */
static LLVMValueRef slot_of(emit *m, const cuda_tile *x) {
  LLVMValueRef at = emit_expr(m, x->index);
  LLVMValueRef rows =
      LLVMBuildUDiv(m->b, at, emit_i64(m, CUDA_TILE * x->row), "");
  LLVMValueRef in = LLVMBuildURem(m->b, at, emit_i64(m, x->row), "");
  in = LLVMBuildUDiv(m->b, in, emit_i64(m, CUDA_TILE), "");
  rows = LLVMBuildMul(m->b, rows, emit_i64(m, x->row / CUDA_TILE), "");
  return LLVMBuildAdd(m->b, rows, in, "");
}

static LLVMValueRef register_at(emit *m, const cuda_tile *x, LLVMValueRef slot,
                                uint32_t i) {
  const cuda_layout *l = &emit_state(m)->layout[x->buf];
  LLVMTypeRef one = LLVMArrayType2(l->type, l->regs);
  LLVMValueRef at[2] = {slot, emit_i64(m, i)};
  return LLVMBuildInBoundsGEP2(m->b, one, m->buf[x->buf], at, 2, "");
}

static void read_registers(emit *m, const cuda_tile *x, LLVMValueRef *v) {
  const cuda_layout *l = &emit_state(m)->layout[x->buf];
  LLVMValueRef slot = slot_of(m, x);
  for (uint32_t i = 0; i < l->regs; i++)
    v[i] = LLVMBuildLoad2(m->b, l->type, register_at(m, x, slot, i), "");
}

static void write_registers(emit *m, const cuda_tile *x,
                            const LLVMValueRef *v) {
  const cuda_layout *l = &emit_state(m)->layout[x->buf];
  LLVMValueRef slot = slot_of(m, x);
  for (uint32_t i = 0; i < l->regs; i++)
    LLVMBuildStore(m->b, v[i], register_at(m, x, slot, i));
}

/* ---- operations --------------------------------------------------------- */

LLVMValueRef cuda_nvvm_at(emit *m, const char *name, unsigned n,
                          LLVMValueRef *args, LLVMValueRef at) {
  char full[128] = "llvm.nvvm.";
  LLVMTypeRef type = LLVMTypeOf(at);
  strncat(full, name, sizeof full - 16);
  return emit_intrinsic(m, full, 1, &type, n, args);
}

/* A value of the fragment's type in all elements of a register. */
static void fill_tile(emit *m, const cuda_tile *x, ir_expr value) {
  const cuda_layout *l = &emit_state(m)->layout[x->buf];
  LLVMValueRef v[CUDA_TILE_REGISTERS], one = emit_expr(m, value);
  bool half = LLVMGetTypeKind(l->type) == LLVMVectorTypeKind;
  if (half) one = emit_splat(m, one, 2);
  if (LLVMTypeOf(one) != l->type) {
    refuse_operation(m, "it is filled with a value of another type", x->buf);
    return;
  }
  for (uint32_t i = 0; i < l->regs; i++) v[i] = one;
  write_registers(m, x, v);
}

/* Rows of memory begin at multiples of 16 bytes. */
static bool check_memory(emit *m, const cuda_tile *fragment,
                         const cuda_tile *x) {
  enum { ROW = 16 };
  int64_t bytes = m->p->buf.v[x->buf].dtype.bits / 8;
  int64_t step = (x->column == 1 ? x->row : x->column) * bytes;
  if (x->column != 1 && x->row != 1)
    return refuse_operation(m, "memory has neither rows nor columns in a row",
                            fragment->buf);
  return (emit_row_align(m, x->buf, x->index) % ROW == 0 && step % ROW == 0) ||
         refuse_operation(m,
                          "in memory its rows are not at multiples of 16 "
                          "bytes",
                          fragment->buf);
}

static void move_tile(emit *m, bool load, const cuda_tile *fragment,
                      const cuda_tile *memory) {
  const cuda_layout *l = &emit_state(m)->layout[fragment->buf];
  bool mma = emit_state(m)->has_mma;
  LLVMValueRef v[CUDA_TILE_REGISTERS];
  if (!check_memory(m, fragment, memory)) return;
  if (!load) {
    read_registers(m, fragment, v);
    (mma ? cuda_mma_store : cuda_wmma_store)(m, l, memory, v);
    return;
  }
  (mma ? cuda_mma_load : cuda_wmma_load)(m, l, memory, v);
  write_registers(m, fragment, v);
}

static void multiply(emit *m, const cuda_tile *tile) {
  const cuda_layout *l[3];
  LLVMValueRef v[3][CUDA_TILE_REGISTERS];
  for (int i = 0; i < 3; i++) {
    l[i] = &emit_state(m)->layout[tile[i].buf];
    read_registers(m, &tile[i], v[i]);
  }
  (emit_state(m)->has_mma ? cuda_mma_product : cuda_wmma_product)(m, l, v[0],
                                                                  v[1], v[2]);
  if (!m->refused) write_registers(m, &tile[0], v[0]);
}

static void apply_tile(emit *m, const cuda_tile *x, ir_stmt body) {
  LLVMValueRef v[CUDA_TILE_REGISTERS];
  if (!emit_state(m)->has_mma) {
    refuse_operation(m, "where its elements are is not known", x->buf);
    return;
  }
  read_registers(m, x, v);
  cuda_apply(m, x, v, body);
}

void cuda_instead(emit *m, ir_expr cond, ir_stmt body) {
  const ir_node n = *ir_at(m->p, cond);
  const char *name = ir_text(m->p, n.c);
  cuda_tile tile[3];
  uint32_t count;
  if (strncmp(name, "fragment.", 9)) {
    emit_tensor_call(m, cond);
    return;
  }
  if (!read_tiles(m, &n, &count, tile)) return;
  for (uint32_t i = 0; i < count; i++)
    if (is_fragment(m, tile[i].buf) && !is_at_tile(m, &tile[i])) {
      refuse_operation(m, "a tile begins within another", tile[i].buf);
      return;
    }
  if (!strcmp(name, "fragment.apply"))
    apply_tile(m, &tile[0], body);
  else if (count == 1)
    fill_tile(m, &tile[0], m->p->arg.v[n.b + 3]);
  else if (count == 3)
    multiply(m, tile);
  else if (!strcmp(name, "fragment.load"))
    move_tile(m, true, &tile[0], &tile[1]);
  else
    move_tile(m, false, &tile[1], &tile[0]);
}
