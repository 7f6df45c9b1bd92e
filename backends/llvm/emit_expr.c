/* SPDX-License-Identifier: Apache-2.0
 * Expressions to LLVM values, with value numbering: a node's value is reused
 * while it is available, that is, until control flow merges for most, until
 * memory may change for loads. */
#include "backends/llvm/emit.h"
#include "ir/edit.h"

/* ---- what is remembered ------------------------------------------------- */

emit_mark emit_get_mark(const emit *m) {
  return (emit_mark){m->fn.memo.nsteady, m->fn.memo.nfickle};
}

void emit_release(emit *m, emit_mark mark) {
  emit_memo *memo = &m->fn.memo;
  while (memo->nsteady > mark.steady)
    memo->value[memo->steady[--memo->nsteady]] = NULL;
  while (memo->nfickle > mark.fickle)
    memo->value[memo->fickle[--memo->nfickle]] = NULL;
}

void emit_forget_loads(emit *m) {
  emit_release(m, (emit_mark){m->fn.memo.nsteady, 0});
}

static void remember(emit *m, ir_expr e, LLVMValueRef v) {
  emit_memo *memo = &m->fn.memo;
  if (m->fickle[e])
    memo->fickle[memo->nfickle++] = e;
  else
    memo->steady[memo->nsteady++] = e;
  memo->value[e] = v;
}

/* ---- choices ------------------------------------------------------------ */

/* Bound on code duplication: nested choices may duplicate shared operands on
 * both sides. */
enum { MAX_BRANCHES = 1 << 16 };

static LLVMValueRef side_value(emit *m, ir_expr side, LLVMValueRef value) {
  return side ? emit_expr(m, side) : value;
}

static bool is_fickle(const emit *m, ir_expr side) {
  return side && m->fickle[side];
}

/* One side of a branch, ending at `merge`; *from is its last block. */
static LLVMValueRef branch_side(emit *m, ir_expr side, LLVMValueRef value,
                                LLVMBasicBlockRef at, LLVMBasicBlockRef merge,
                                LLVMBasicBlockRef *from) {
  emit_mark mark = emit_get_mark(m);
  LLVMPositionBuilderAtEnd(m->b, at);
  LLVMValueRef v = side_value(m, side, value);
  *from = LLVMGetInsertBlock(m->b);
  LLVMBuildBr(m->b, merge);
  emit_release(m, mark);
  return v;
}

static LLVMValueRef branch(emit *m, LLVMValueRef cond, ir_expr yes,
                           LLVMValueRef yes_value, ir_expr no,
                           LLVMValueRef no_value) {
  if (++m->branches > MAX_BRANCHES)
    emit_refuse(m, TESS_LIMIT, "more than %d branches around loads",
                MAX_BRANCHES);
  LLVMBasicBlockRef at[2] = {emit_new_block(m, "yes"), emit_new_block(m, "no")};
  LLVMBasicBlockRef merge = emit_new_block(m, "merge"), from[2];
  LLVMBuildCondBr(m->b, cond, at[0], at[1]);
  LLVMValueRef v[2];
  v[0] = branch_side(m, yes, yes_value, at[0], merge, &from[0]);
  v[1] = branch_side(m, no, no_value, at[1], merge, &from[1]);
  LLVMPositionBuilderAtEnd(m->b, merge);
  LLVMValueRef phi = LLVMBuildPhi(m->b, LLVMTypeOf(v[0]), "");
  LLVMAddIncoming(phi, v, from, 2);
  return phi;
}

/* A side whose loads are predicated by `lanes`. */
static LLVMValueRef masked_side(emit *m, ir_expr side, LLVMValueRef value,
                                LLVMValueRef lanes) {
  if (!is_fickle(m, side)) return side_value(m, side, value);
  emit_mark mark = emit_get_mark(m);
  LLVMValueRef outer = m->mask;
  m->mask = outer ? LLVMBuildAnd(m->b, outer, lanes, "") : lanes;
  LLVMValueRef v = emit_expr(m, side);
  m->mask = outer;
  emit_release(m, mark);
  return v;
}

LLVMValueRef emit_choice(emit *m, ir_expr cond, ir_expr yes,
                         LLVMValueRef yes_value, ir_expr no,
                         LLVMValueRef no_value) {
  LLVMValueRef c = emit_expr(m, cond);
  bool lazy = is_fickle(m, yes) || is_fickle(m, no);
  bool scalar = ir_at(m->p, cond)->dtype.lanes == 1;
  if (lazy && scalar) return branch(m, c, yes, yes_value, no, no_value);
  LLVMValueRef y = masked_side(m, yes, yes_value, c);
  LLVMValueRef other = lazy ? LLVMBuildNot(m->b, c, "") : c;
  LLVMValueRef n = masked_side(m, no, no_value, other);
  return LLVMBuildSelect(m->b, c, y, n, "");
}

/* Operands that both sides evaluate unconditionally are emitted before. */
static LLVMValueRef choice_of(emit *m, ir_expr e, const ir_node *n) {
  uint32_t both;
  const ir_expr *early = ir_unconditional_in_both(&m->must, e, &both);
  for (uint32_t i = 0; i < both; i++) emit_expr(m, early[i]);
  return emit_choice(m, n->a, n->b, NULL, n->c, NULL);
}

/* Short-circuit evaluation where the second operand loads. */
static LLVMValueRef logic(emit *m, ir_expr e) {
  const ir_node n = *ir_at(m->p, e);
  if (m->fickle[n.b]) {
    LLVMValueRef fixed = emit_int(m, n.dtype, n.op == IR_OR);
    return n.op == IR_AND ? emit_choice(m, n.a, n.b, NULL, 0, fixed)
                          : emit_choice(m, n.a, 0, fixed, n.b, NULL);
  }
  LLVMValueRef a = emit_expr(m, n.a), b = emit_expr(m, n.b);
  return n.op == IR_AND ? LLVMBuildAnd(m->b, a, b, "")
                        : LLVMBuildOr(m->b, a, b, "");
}

/* ---- vectors ------------------------------------------------------------ */

/* <0, 1, 2, ...> */
static LLVMValueRef const_lanes(emit *m, tess_dtype t) {
  arena_mark mark = arena_get_mark(m->scratch);
  LLVMValueRef *all = arena_array(m->scratch, LLVMValueRef, t.lanes);
  tess_dtype one = {t.code, t.bits, 1};
  for (uint32_t i = 0; i < t.lanes; i++) all[i] = emit_int(m, one, i);
  LLVMValueRef v = LLVMConstVector(all, t.lanes);
  arena_reset_to(m->scratch, mark);
  return v;
}

static LLVMValueRef ramp(emit *m, const ir_node *n) {
  uint32_t lanes = n->dtype.lanes;
  LLVMValueRef base = emit_splat(m, emit_expr(m, n->a), lanes);
  LLVMValueRef stride = emit_splat(m, emit_expr(m, n->b), lanes);
  LLVMValueRef steps = LLVMBuildMul(m->b, const_lanes(m, n->dtype), stride, "");
  return LLVMBuildAdd(m->b, base, steps, "");
}

/* ---- any expression ----------------------------------------------------- */

static LLVMValueRef variable(emit *m, ir_var v) {
  if (m->var[v]) return m->var[v];
  emit_refuse(m, TESS_INTERNAL, "a variable is used outside of its scope");
  return LLVMGetPoison(emit_type(m, m->p->var.v[v].dtype));
}

static LLVMValueRef make_value(emit *m, ir_expr e) {
  const ir_node n = *ir_at(m->p, e);
  switch ((ir_op)n.op) {
  case IR_INT: return emit_int(m, n.dtype, n.i);
  case IR_REAL: return emit_real(m, n.dtype, n.f);
  case IR_VAR: return variable(m, n.a);
  case IR_AND:
  case IR_OR: return logic(m, e);
  case IR_NOT: return LLVMBuildNot(m->b, emit_expr(m, n.a), "");
  case IR_SELECT: return choice_of(m, e, &n);
  case IR_CAST: return emit_cast(m, n.dtype, n.a, emit_expr(m, n.a));
  case IR_LOAD: return emit_load(m, e);
  case IR_RAMP: return ramp(m, &n);
  case IR_BROADCAST: return emit_splat(m, emit_expr(m, n.a), n.dtype.lanes);
  case IR_CALL: return emit_call(m, e);
  default: break;
  }
  LLVMValueRef a = emit_expr(m, n.a), b = emit_expr(m, n.b);
  return emit_binary(m, e, a, b);
}

LLVMValueRef emit_expr(emit *m, ir_expr e) {
  if (m->fn.memo.value[e]) return m->fn.memo.value[e];
  if (m->refused) return LLVMGetPoison(emit_type(m, ir_at(m->p, e)->dtype));
  LLVMValueRef v = make_value(m, e);
  remember(m, e, v);
  return v;
}
