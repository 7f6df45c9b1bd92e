/* SPDX-License-Identifier: Apache-2.0
 * Transpositions in vector registers: rows are loaded, exchange blocks of lanes
 * in log2(lanes) stages of shuffles, and are stored as columns (J. O. Eklundh,
 * A Fast Computer Method for Matrix Transposing, IEEE Transactions on
 * Computers, 1972). */
#include "backends/llvm/emit.h"
#include "ir/query.h"
#include "lower/lower.h"

enum { MAX_LANES = 64 };

/* for k: B[ramp(to, 1, lanes)] = A[ramp(from, stride, lanes)], where `from`
 * moves by 1. */
typedef struct transpose {
  ir_stmt_rec loop;
  ir_buf a, b;
  ir_expr from, to, stride;
  uint32_t lanes, steps;
} transpose;

static bool find_transpose(const emit *m, ir_stmt at, transpose *t) {
  const ir_program *p = m->p;
  int64_t steps;
  t->loop = *ir_st(p, at);
  if (!ir_anno_get(p, at, LOWER_TRANSPOSE) || !t->loop.body || m->mask)
    return false;
  const ir_stmt_rec *s = ir_st(p, t->loop.body);
  if (s->kind != IR_STORE || s->mask || s->idx.n != 1 || s->next ||
      !ir_const_int(p, t->loop.extent, &steps))
    return false;
  const ir_node *to = ir_at(p, p->arg.v[s->idx.at]);
  const ir_node *value = ir_at(p, s->value);
  if (value->op != IR_LOAD || value->c || to->op != IR_RAMP) return false;
  const ir_node *from = ir_at(p, p->arg.v[value->b]);
  if (from->op != IR_RAMP) return false;
  t->a = value->a;
  t->b = s->buf;
  t->from = from->a;
  t->stride = from->b;
  t->to = to->a;
  t->lanes = to->dtype.lanes;
  t->steps = (uint32_t)steps;
  return steps >= 2 && steps <= MAX_LANES && !(steps & (steps - 1)) &&
         t->lanes % t->steps == 0;
}

/* Lanes of a and b: those of `a` where bit d of the lane's number is clear and
 * of `b`, d lanes lower, where it is set; or, `upper`, of `a`, d lanes higher,
 * and of `b`. */
static LLVMValueRef exchange(emit *m, LLVMValueRef a, LLVMValueRef b,
                             uint32_t n, uint32_t d, bool upper) {
  LLVMValueRef from[MAX_LANES];
  for (uint32_t i = 0; i < n; i++) {
    uint32_t lane = i & d ? n + i - (upper ? 0 : d) : i + (upper ? d : 0);
    from[i] = LLVMConstInt(m->i32, lane, false);
  }
  return LLVMBuildShuffleVector(m->b, a, b, LLVMConstVector(from, n), "");
}

static void transpose_rows(emit *m, LLVMValueRef *row, uint32_t n) {
  for (uint32_t d = n / 2; d; d /= 2)
    for (uint32_t i = 0; i < n; i++) {
      if (i & d) continue;
      LLVMValueRef a = row[i], b = row[i + d];
      row[i] = exchange(m, a, b, n, d, false);
      row[i + d] = exchange(m, a, b, n, d, true);
    }
}

/* Column k of the rows goes to where iteration k stores. */
static void store_columns(emit *m, const transpose *t, LLVMValueRef *row,
                          uint32_t skip) {
  for (uint32_t k = 0; k < t->steps; k++) {
    emit_mark mark = emit_get_mark(m);
    LLVMValueRef lo = emit_expr(m, t->loop.lo);
    m->var[t->loop.var] = LLVMBuildNSWAdd(m->b, lo, emit_i64(m, k), "");
    emit_store_row(m, t->b, t->to, skip, row[k]);
    m->var[t->loop.var] = NULL;
    emit_release(m, mark);
  }
}

static void load_rows(emit *m, const transpose *t, LLVMValueRef *row,
                      uint32_t skip) {
  emit_mark mark = emit_get_mark(m);
  m->var[t->loop.var] = emit_expr(m, t->loop.lo);
  LLVMValueRef stride = emit_expr(m, t->stride);
  for (uint32_t i = 0; i < t->steps; i++) {
    LLVMValueRef n = LLVMBuildNSWMul(m->b, stride, emit_i64(m, skip + i), "");
    row[i] = emit_load_row(m, t->a, t->from, n, t->steps);
  }
  m->var[t->loop.var] = NULL;
  emit_release(m, mark);
}

bool emit_transpose(emit *m, ir_stmt loop) {
  transpose t;
  LLVMValueRef row[MAX_LANES];
  if (!find_transpose(m, loop, &t)) return false;
  for (uint32_t skip = 0; skip < t.lanes; skip += t.steps) {
    load_rows(m, &t, row, skip);
    transpose_rows(m, row, t.steps);
    store_columns(m, &t, row, skip);
  }
  return true;
}
