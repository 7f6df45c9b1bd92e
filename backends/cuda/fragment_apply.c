/* SPDX-License-Identifier: Apache-2.0
 * Epilogues in registers: the body of loops over an accumulator's tile, for
 * each element that a lane has, the loops' variables being its row and column
 * and loads of the accumulator its value.  Two elements side by side in a row
 * of memory are stored at once. */
#include "backends/cuda/fragment.h"
#include "ir/arith/linear.h"
#include "ir/query.h"

typedef struct epilogue {
  emit *m;
  const cuda_tile *x;
  const cuda_layout *l;
  const LLVMValueRef *v;
} epilogue;

/* ---- one element -------------------------------------------------------- */

static void apply_list(epilogue *k, const cuda_element *at, ir_stmt first,
                       int axis);

static void apply_loop(epilogue *k, const cuda_element *at,
                       const ir_stmt_rec *s, int axis) {
  emit *m = k->m;
  emit_mark mark = emit_get_mark(m);
  m->var[s->var] = axis ? at->column : at->row;
  apply_list(k, at, s->body, axis + 1);
  m->var[s->var] = NULL;
  emit_release(m, (emit_mark){mark.steady, 0});
}

/* The outer two loops are those over the tile. */
static void apply_list(epilogue *k, const cuda_element *at, ir_stmt first,
                       int axis) {
  emit *m = k->m;
  for (ir_stmt i = first; i && !m->refused; i = ir_st(m->p, i)->next) {
    const ir_stmt_rec s = *ir_st(m->p, i);
    if (axis < 2 && s.kind == IR_LOOP) {
      apply_loop(k, at, &s, axis);
    } else if (axis < 2 && s.kind == IR_LET) {
      emit_mark mark = emit_get_mark(m);
      m->var[s.let_var] = emit_expr(m, s.let_value);
      apply_list(k, at, s.body, axis);
      m->var[s.let_var] = NULL;
      emit_release(m, (emit_mark){mark.steady, 0});
    } else if (axis < 2 && s.kind == IR_ALLOCATE) {
      apply_list(k, at, s.body, axis);
    } else {
      emit_one_stmt(m, i);
    }
  }
}

/* ---- two side by side --------------------------------------------------- */

/* The store in loops over rows and columns, and nothing else; 0: there is
 * more. */
static ir_stmt only_store(const ir_program *p, ir_stmt s, ir_var var[2]) {
  for (int axis = 0; axis < 2; axis++, s = ir_st(p, s)->body) {
    if (ir_st(p, s)->kind != IR_LOOP || ir_st(p, s)->next) return 0;
    var[axis] = ir_st(p, s)->var;
  }
  const ir_stmt_rec *r = ir_st(p, s);
  return r->kind == IR_STORE && !r->next && !r->mask && r->idx.n == 1 ? s : 0;
}

/* Are the elements of an even column and the next one side by side, at a
 * multiple of their size? */
static bool is_pair(const emit *m, const ir_stmt_rec *s, ir_var column) {
  lin f;
  lin_of(m->p, m->p->arg.v[s->idx.at], &f);
  bool found = false;
  for (uint32_t i = 0; i < f.n; i++) {
    bool own = f.t[i].atom == m->p->var.v[column].ref;
    found |= own && f.t[i].k == 1;
    if (own ? f.t[i].k != 1
            : f.t[i].k % 2 != 0 || ir_uses_var(m->p, f.t[i].atom, column))
      return false;
  }
  return found && f.c % 2 == 0 && m->p->buf.v[s->buf].dtype.bits >= 16 &&
         m->p->buf.v[s->buf].dtype.bits <= 32 &&
         ir_scope_is_global(m->p->buf.v[s->buf].scope);
}

static void store_pair(epilogue *k, const cuda_element at[2], ir_stmt store,
                       const ir_var var[2]) {
  emit *m = k->m;
  const ir_stmt_rec s = *ir_st(m->p, store);
  LLVMTypeRef one = emit_memory_type(m, m->p->buf.v[s.buf].dtype);
  LLVMValueRef both = LLVMGetPoison(LLVMVectorType(one, 2)), to = NULL;
  for (unsigned e = 0; e < 2; e++) {
    emit_mark mark = emit_get_mark(m);
    uint32_t lanes;
    m->var[var[0]] = at[e].row;
    m->var[var[1]] = at[e].column;
    m->given = at[e].value;
    LLVMValueRef v = emit_expr(m, s.value);
    both = LLVMBuildInsertElement(m->b, both, v, cuda_i32(m, e), "");
    if (!e) to = emit_row_address(m, s.buf, m->p->arg.v[s.idx.at], &lanes);
    m->var[var[0]] = m->var[var[1]] = NULL;
    emit_release(m, (emit_mark){mark.steady, 0});
  }
  LLVMValueRef put = LLVMBuildStore(m->b, both, to);
  LLVMSetAlignment(put, m->p->buf.v[s.buf].dtype.bits / 4u);
}

/* ---- the tile ----------------------------------------------------------- */

void cuda_apply(emit *m, const cuda_tile *x, const LLVMValueRef *v,
                ir_stmt body) {
  cuda_emit *state = m->ud;
  epilogue k = {m, x, &state->layout[x->buf], v};
  uint32_t n = cuda_mma_elements(k.l), count = k.l->regs * n;
  ir_buf fragment = state->in_warp;
  ir_var var[2] = {0, 0};
  ir_stmt store = only_store(m->p, body, var);
  bool pairs = store && is_pair(m, ir_st(m->p, store), var[1]);
  state->in_warp = 0;
  m->given_buf = x->buf;
  for (uint32_t i = 0; i < count && !m->refused; i += 2) {
    cuda_element at[2];
    for (uint32_t e = 0; e < 2; e++)
      at[e] = cuda_mma_element(m, k.l, v, (i + e) / n, (i + e) % n);
    if (pairs) {
      store_pair(&k, at, store, var);
      continue;
    }
    for (uint32_t e = 0; e < 2; e++) {
      m->given = at[e].value;
      apply_list(&k, &at[e], body, 0);
    }
  }
  m->given_buf = 0;
  m->given = NULL;
  state->in_warp = fragment;
}
