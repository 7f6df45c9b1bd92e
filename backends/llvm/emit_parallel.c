/* SPDX-License-Identifier: Apache-2.0
 * Outlines parallel loops.  The body becomes a function over a range of
 * iterations,
 *
 *     int32 body(void *closure, int64 begin, int64 end)
 *
 * and the loop a call of rt->parallel_for.  The closure captures the runtime
 * and the live-in variables and buffers of the body.  A parallel loop nested in
 * another one's body is serial. */
#include "backends/llvm/emit.h"
#include <stddef.h>

bool emit_is_parallel(const emit *m, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(m->p, s);
  int64_t extent = 0;
  if (r->kind != IR_LOOP || r->loop_kind != IR_PARALLEL || m->fn.in_parallel)
    return false;
  return !ir_const_int(m->p, r->extent, &extent) || extent > 1;
}

/* A captured value: the emitter's slot for it, and its value outside. */
typedef struct capture {
  LLVMValueRef *at, outside;
} capture;

typedef struct closure {
  capture *item;
  uint32_t n;
  LLVMTypeRef type; /* the runtime, then the items */
} closure;

static void capture_value(closure *c, LLVMValueRef *at) {
  if (*at && !LLVMIsConstant(*at)) c->item[c->n++] = (capture){at, *at};
}

static void capture_all(emit *m, ir_stmt s, closure *c) {
  emit_uses u = {arena_zalloc(m->scratch, m->p->buf.n),
                 arena_zalloc(m->scratch, m->p->var.n)};
  emit_survey(m, s, u);
  c->item = arena_array(m->scratch, capture, m->p->buf.n + m->p->var.n);
  for (ir_buf b = 1; b < m->p->buf.n; b++)
    if (u.buf[b]) capture_value(c, &m->buf[b]);
  for (ir_var v = 1; v < m->p->var.n; v++)
    if (u.var[v]) capture_value(c, &m->var[v]);
  LLVMTypeRef *types = arena_array(m->scratch, LLVMTypeRef, c->n + 1);
  types[0] = m->ptr;
  for (uint32_t i = 0; i < c->n; i++)
    types[i + 1] = LLVMTypeOf(c->item[i].outside);
  c->type = LLVMStructTypeInContext(m->ctx, types, c->n + 1, false);
}

static LLVMValueRef field(emit *m, const closure *c, LLVMValueRef at,
                          uint32_t i) {
  return LLVMBuildStructGEP2(m->b, c->type, at, i, "");
}

static LLVMValueRef make_closure(emit *m, const closure *c) {
  LLVMValueRef at = emit_stack(m, c->type, 8 * (c->n + 1));
  LLVMBuildStore(m->b, m->fn.rt, field(m, c, at, 0));
  for (uint32_t i = 0; i < c->n; i++)
    LLVMBuildStore(m->b, c->item[i].outside, field(m, c, at, i + 1));
  return at;
}

static void open_closure(emit *m, const closure *c) {
  LLVMValueRef at = LLVMGetParam(m->fn.fn, 0);
  m->fn.rt = LLVMBuildLoad2(m->b, m->ptr, field(m, c, at, 0), "rt");
  for (uint32_t i = 0; i < c->n; i++) {
    const capture *x = &c->item[i];
    *x->at = LLVMBuildLoad2(m->b, LLVMTypeOf(x->outside),
                            field(m, c, at, i + 1), "");
  }
}

/* The outlined body; the builder and the available values are restored
 * afterwards. */
static LLVMValueRef make_body(emit *m, const ir_stmt_rec *s, const closure *c) {
  emit_fn outer = m->fn;
  LLVMBasicBlockRef here = LLVMGetInsertBlock(m->b);
  LLVMTypeRef params[3] = {m->ptr, m->i64, m->i64};
  emit_begin_fn(m, "parallel", false, 3, params);
  m->fn.in_parallel = true;
  open_closure(m, c);
  emit_frame(m, s->body);
  LLVMValueRef lo = emit_expr(m, s->lo);
  LLVMValueRef from = LLVMBuildNSWAdd(m->b, lo, LLVMGetParam(m->fn.fn, 1), "");
  LLVMValueRef to = LLVMBuildNSWAdd(m->b, lo, LLVMGetParam(m->fn.fn, 2), "");
  emit_forget_loads(m);
  emit_serial(m, s, from, to, false);
  emit_end_fn(m);
  for (uint32_t i = 0; i < c->n; i++) *c->item[i].at = c->item[i].outside;
  LLVMValueRef fn = m->fn.fn;
  m->fn = outer;
  LLVMPositionBuilderAtEnd(m->b, here);
  return fn;
}

static LLVMValueRef call_runtime(emit *m, LLVMValueRef n, LLVMValueRef body,
                                 LLVMValueRef closure_at) {
  LLVMValueRef fn = emit_rt_entry(m, offsetof(tess_runtime, parallel_for));
  LLVMValueRef args[4] = {emit_rt_entry(m, offsetof(tess_runtime, ud)), n, body,
                          closure_at};
  LLVMTypeRef types[4] = {m->ptr, m->i64, m->ptr, m->ptr};
  LLVMTypeRef type = LLVMFunctionType(m->i32, types, 4, false);
  return LLVMBuildCall2(m->b, type, fn, args, 4, "");
}

void emit_parallel(emit *m, ir_stmt at) {
  const ir_stmt_rec s = *ir_st(m->p, at);
  arena_mark mark = arena_get_mark(m->scratch);
  closure c = {0};
  capture_all(m, at, &c);
  LLVMValueRef n = emit_expr(m, s.extent);
  LLVMValueRef body = make_body(m, &s, &c);
  LLVMValueRef status = call_runtime(m, n, body, make_closure(m, &c));
  arena_reset_to(m->scratch, mark);
  LLVMValueRef ok = LLVMConstInt(m->i32, TESS_OK, false);
  emit_fail_if(m, LLVMBuildICmp(m->b, LLVMIntNE, status, ok, ""), status);
}
