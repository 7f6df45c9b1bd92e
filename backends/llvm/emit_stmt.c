/* SPDX-License-Identifier: Apache-2.0
 * Statements to LLVM basic blocks. */
#include "backends/llvm/emit.h"

static void name_value(emit *m, const char *head, ir_var v,
                       LLVMValueRef value) {
  strbuf name;
  str_init(&name, m->p->heap);
  str_puts(&name, head);
  ir_var_name(m->p, v, &name);
  bool bad = name.bad;
  if (!bad) LLVMSetValueName2(value, name.v, name.n);
  str_free(&name);
  if (bad) mem_unwind_refused(m->p->heap);
}

static void name_variable(emit *m, ir_var v, LLVMValueRef value) {
  name_value(m, "", v, value);
}

/* The body with a value for the loop's variable; values that depend on it are
 * invalidated behind it. */
void emit_body_with(emit *m, const ir_stmt_rec *s, LLVMValueRef value) {
  emit_mark mark = emit_get_mark(m);
  m->var[s->var] = value;
  emit_list(m, s->body);
  m->var[s->var] = NULL;
  emit_release(m, mark);
}

/* Rotated loops with an exit test by equality: then the value behind a loop
 * is known, and not a max that scalar evolution carries, nested, into each
 * of the loops that follow (of a thousand copies of a loop over a size,
 * without end). */
void emit_serial(emit *m, const ir_stmt_rec *s, LLVMValueRef from,
                 LLVMValueRef to, bool some) {
  LLVMBasicBlockRef body = emit_new_block(m, "loop");
  LLVMBasicBlockRef after = emit_new_block(m, "after");
  LLVMBasicBlockRef before = LLVMGetInsertBlock(m->b);
  if (some)
    LLVMBuildBr(m->b, body);
  else
    LLVMBuildCondBr(m->b, LLVMBuildICmp(m->b, LLVMIntSLT, from, to, ""), body,
                    after);
  LLVMPositionBuilderAtEnd(m->b, body);
  LLVMValueRef var = LLVMBuildPhi(m->b, LLVMTypeOf(from), "");
  LLVMAddIncoming(var, &from, &before, 1);
  name_variable(m, s->var, var);
  name_value(m, "loop.", s->var, LLVMBasicBlockAsValue(body));
  emit_body_with(m, s, var);
  LLVMValueRef one = LLVMConstInt(LLVMTypeOf(var), 1, false);
  LLVMValueRef next = LLVMBuildNSWAdd(m->b, var, one, "");
  LLVMBasicBlockRef last = LLVMGetInsertBlock(m->b);
  LLVMAddIncoming(var, &next, &last, 1);
  LLVMValueRef more = LLVMBuildICmp(m->b, LLVMIntNE, next, to, "");
  LLVMBuildCondBr(m->b, more, body, after);
  LLVMPositionBuilderAtEnd(m->b, after);
}

/* A device's loop of `extent` iterations, `copies` of its body at a time.  The
 * variable of each copy is known up to a multiple of `copies`, so that what is
 * indexed by a remainder of it is indexed by constants. */
static void emit_unrolled(emit *m, const ir_stmt_rec *s, int64_t extent,
                          int64_t copies) {
  LLVMValueRef lo = emit_expr(m, s->lo);
  int64_t whole = extent / copies * copies;
  emit_forget_loads(m);
  if (whole > copies) {
    LLVMBasicBlockRef body = emit_new_block(m, "loop");
    LLVMBasicBlockRef after = emit_new_block(m, "after");
    LLVMBasicBlockRef before = LLVMGetInsertBlock(m->b);
    LLVMBuildBr(m->b, body);
    LLVMPositionBuilderAtEnd(m->b, body);
    LLVMValueRef var = LLVMBuildPhi(m->b, m->i64, "");
    LLVMValueRef zero = emit_i64(m, 0);
    LLVMAddIncoming(var, &zero, &before, 1);
    for (int64_t i = 0; i < copies; i++) {
      LLVMValueRef at = LLVMBuildNUWAdd(m->b, var, emit_i64(m, i), "");
      emit_body_with(m, s, LLVMBuildNSWAdd(m->b, lo, at, ""));
    }
    LLVMValueRef next = LLVMBuildNUWAdd(m->b, var, emit_i64(m, copies), "");
    LLVMBasicBlockRef last = LLVMGetInsertBlock(m->b);
    LLVMAddIncoming(var, &next, &last, 1);
    LLVMValueRef end = emit_i64(m, whole);
    LLVMBuildCondBr(m->b, LLVMBuildICmp(m->b, LLVMIntNE, next, end, ""), body,
                    after);
    LLVMPositionBuilderAtEnd(m->b, after);
  } else {
    whole = 0;
  }
  for (int64_t i = whole; i < extent && !m->refused; i++)
    emit_body_with(m, s, LLVMBuildNSWAdd(m->b, lo, emit_i64(m, i), ""));
}

/* How many copies a device wants of the body; 1 on processors. */
static int64_t copies_of(emit *m, ir_stmt at, int64_t extent) {
  return m->device && extent > 1 ? m->device->unroll(m, at, extent) : 1;
}

static void emit_loop(emit *m, ir_stmt at) {
  const ir_stmt_rec s = *ir_st(m->p, at);
  int64_t extent = -1, copies;
  bool is_const = ir_const_int(m->p, s.extent, &extent);
  if (is_const && extent <= 0) return;
  if (s.loop_kind == IR_THREAD && m->device) {
    m->device->thread_loop(m, at);
  } else if (s.loop_kind == IR_THREAD) {
    emit_refuse(m, TESS_UNSUPPORTED,
                "a loop is bound to %s, but the target '%s' is a processor "
                "without such threads",
                ir_thread_text((ir_thread)s.thread), m->target->kind);
  } else if (emit_is_parallel(m, at)) {
    emit_parallel(m, at);
  } else if (extent == 1) {
    emit_body_with(m, &s, emit_expr(m, s.lo));
  } else if (!m->device && emit_transpose(m, at)) {
    return;
  } else if (is_const && (copies = copies_of(m, at, extent)) > 1) {
    emit_unrolled(m, &s, extent, copies);
  } else {
    LLVMValueRef from = emit_expr(m, s.lo), n = emit_expr(m, s.extent);
    LLVMValueRef to = LLVMBuildNSWAdd(m->b, from, n, "");
    emit_forget_loads(m);
    emit_serial(m, &s, from, to, ir_at(m->p, s.extent)->lo >= 1);
  }
}

static void emit_if_side(emit *m, ir_stmt first, LLVMBasicBlockRef at,
                         LLVMBasicBlockRef merge) {
  emit_mark mark = emit_get_mark(m);
  LLVMPositionBuilderAtEnd(m->b, at);
  emit_list(m, first);
  LLVMBuildBr(m->b, merge);
  emit_release(m, mark);
}

static void emit_if(emit *m, const ir_stmt_rec *s) {
  if (ir_is_instead(m->p, s->cond)) {
    if (m->device)
      m->device->instead(m, s->cond, s->body);
    else
      emit_tensor_call(m, s->cond);
    return;
  }
  LLVMValueRef cond = emit_expr(m, s->cond);
  LLVMBasicBlockRef yes = emit_new_block(m, "then");
  LLVMBasicBlockRef no = s->alt ? emit_new_block(m, "else") : NULL;
  LLVMBasicBlockRef merge = emit_new_block(m, "merge");
  emit_forget_loads(m);
  LLVMBuildCondBr(m->b, cond, yes, no ? no : merge);
  emit_if_side(m, s->body, yes, merge);
  if (no) emit_if_side(m, s->alt, no, merge);
  LLVMPositionBuilderAtEnd(m->b, merge);
}

static void emit_let(emit *m, const ir_stmt_rec *s) {
  emit_mark mark = emit_get_mark(m);
  m->var[s->let_var] = emit_expr(m, s->let_value);
  emit_forget_loads(m);
  emit_list(m, s->body);
  m->var[s->let_var] = NULL;
  emit_release(m, (emit_mark){mark.steady, 0});
}

/* Values that depend on a variable must not outlive its binding, hence the
 * marks where one is bound; loads must not outlive the statement. */
void emit_one_stmt(emit *m, ir_stmt at) {
  const ir_stmt_rec s = *ir_st(m->p, at);
  switch ((ir_kind)s.kind) {
  case IR_LOOP: emit_loop(m, at); break;
  case IR_BLOCK: emit_list(m, s.body); break;
  case IR_STORE:
    if (!m->device || !m->device->store(m, &s)) emit_store(m, &s);
    break;
  case IR_IF: emit_if(m, &s); break;
  case IR_LET: emit_let(m, &s); break;
  case IR_EVALUATE: emit_expr(m, s.eval); break;
  case IR_ALLOCATE:
    emit_allocate(m, at);
    emit_list(m, s.body);
    emit_free(m, at);
    break;
  case IR_BARRIER:
    if (m->device) m->device->barrier(m, &s);
    break;
  case IR_DEAD: break;
  }
  emit_forget_loads(m);
}

void emit_list(emit *m, ir_stmt s) {
  for (; s && !m->refused; s = ir_st(m->p, s)->next) emit_one_stmt(m, s);
}
