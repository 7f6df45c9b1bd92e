/* SPDX-License-Identifier: Apache-2.0
 * Function frames: storage of local buffers, and their release.
 *
 * Buffers of constant size are allocated once, at function entry: small ones on
 * the stack, where LLVM promotes those with constant indices to registers, the
 * rest in one block of the runtime's.  A buffer of dynamic size is allocated at
 * its allocation statement.  All exits go through one block that frees
 * everything. */
#include "backends/llvm/emit.h"
#include "ir/edit.h"
#include <stddef.h>
#include <stdio.h>

enum {
  STACK_ONE = 32 << 10,  /* largest buffer on the stack */
  STACK_ALL = 128 << 10, /* of one function */
  LINE = 64,
  STAGGER = 2 * LINE /* buffers start in different cache sets */
};

/* ---- functions ---------------------------------------------------------- */

static void function_attributes(emit *m, LLVMValueRef fn) {
  char width[16];
  snprintf(width, sizeof width, "%d", (int)(8 * m->target->vector_bytes));
  const char *const text[][2] = {
      {"target-cpu", m->target->cpu},
      {"target-features", m->target->features},
      {"prefer-vector-width", width},
      {"no-trapping-math", "true"},
      {"no-builtins", ""},
  };
  for (size_t i = 0; i < sizeof text / sizeof *text; i++)
    LLVMAddAttributeAtIndex(
        fn, LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(m->ctx, text[i][0],
                                  (unsigned)strlen(text[i][0]), text[i][1],
                                  (unsigned)strlen(text[i][1])));
  unsigned kind = LLVMGetEnumAttributeKindForName("nounwind", 8);
  LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                          LLVMCreateEnumAttribute(m->ctx, kind, 0));
}

/* No node has two values at a time, so trails are as long as there are
 * nodes. */
static emit_memo empty_memo(emit *m) {
  uint32_t n = m->p->node.n;
  return (emit_memo){.value =
                         arena_zalloc(m->scratch, n * sizeof(LLVMValueRef)),
                     .steady = arena_array(m->scratch, ir_expr, n),
                     .fickle = arena_array(m->scratch, ir_expr, n)};
}

void emit_open_fn(emit *m, const char *name, LLVMTypeRef type) {
  m->fn = (emit_fn){.fn = LLVMAddFunction(m->module, name, type),
                    .memo = empty_memo(m)};
  function_attributes(m, m->fn.fn);
  m->fn.entry = emit_new_block(m, "entry");
}

void emit_close_entry(emit *m, LLVMBasicBlockRef start) {
  LLVMPositionBuilderAtEnd(m->b, m->fn.entry);
  LLVMBuildBr(m->b, start);
}

void emit_begin_fn(emit *m, const char *name, bool exported, unsigned nparams,
                   LLVMTypeRef *params) {
  emit_open_fn(m, name, LLVMFunctionType(m->i32, params, nparams, false));
  if (!exported) LLVMSetLinkage(m->fn.fn, LLVMInternalLinkage);
  m->fn.exit = emit_new_block(m, "exit");
  LLVMPositionBuilderAtEnd(m->b, m->fn.exit);
  m->fn.status = LLVMBuildPhi(m->b, m->i32, "status");
  LLVMBasicBlockRef start = emit_new_block(m, "start");
  LLVMPositionBuilderAtEnd(m->b, start);
}

static void leave(emit *m, LLVMValueRef status) {
  LLVMBasicBlockRef from = LLVMGetInsertBlock(m->b);
  LLVMAddIncoming(m->fn.status, &status, &from, 1);
}

/* Frees the memory in one slot, if any. */
static void give_back(emit *m, LLVMValueRef slot) {
  LLVMBasicBlockRef some = emit_new_block(m, "free");
  LLVMBasicBlockRef after = emit_new_block(m, "freed");
  LLVMValueRef at = LLVMBuildLoad2(m->b, m->ptr, slot, "");
  LLVMBuildCondBr(m->b, LLVMBuildIsNotNull(m->b, at, ""), some, after);
  LLVMPositionBuilderAtEnd(m->b, some);
  LLVMValueRef fn = emit_rt_entry(m, offsetof(tess_runtime, free));
  LLVMValueRef args[2] = {emit_rt_entry(m, offsetof(tess_runtime, ud)), at};
  LLVMTypeRef types[2] = {m->ptr, m->ptr};
  LLVMTypeRef type =
      LLVMFunctionType(LLVMVoidTypeInContext(m->ctx), types, 2, false);
  LLVMBuildCall2(m->b, type, fn, args, 2, "");
  LLVMBuildStore(m->b, LLVMConstNull(m->ptr), slot);
  LLVMBuildBr(m->b, after);
  LLVMPositionBuilderAtEnd(m->b, after);
}

void emit_end_fn(emit *m) {
  leave(m, LLVMConstInt(m->i32, TESS_OK, false));
  LLVMBuildBr(m->b, m->fn.exit);
  emit_close_entry(m, LLVMGetNextBasicBlock(m->fn.exit));
  LLVMPositionBuilderAtEnd(m->b, m->fn.exit);
  for (const emit_held *h = m->fn.held; h; h = h->next) give_back(m, h->slot);
  LLVMBuildRet(m->b, m->fn.status);
}

void emit_fail_if(emit *m, LLVMValueRef failed, LLVMValueRef status) {
  LLVMBasicBlockRef go_on = emit_new_block(m, "ok");
  leave(m, status);
  LLVMBuildCondBr(m->b, failed, m->fn.exit, go_on);
  LLVMPositionBuilderAtEnd(m->b, go_on);
}

LLVMValueRef emit_rt_entry(emit *m, size_t offset) {
  LLVMValueRef by = emit_i64(m, (int64_t)offset);
  LLVMValueRef at = LLVMBuildInBoundsGEP2(m->b, m->i8, m->fn.rt, &by, 1, "");
  return LLVMBuildLoad2(m->b, m->ptr, at, "");
}

/* ---- storage ------------------------------------------------------------ */

LLVMValueRef emit_stack(emit *m, LLVMTypeRef type, uint64_t bytes) {
  LLVMBasicBlockRef here = LLVMGetInsertBlock(m->b);
  LLVMPositionBuilderAtEnd(m->b, m->fn.entry);
  LLVMValueRef at = LLVMBuildAlloca(m->b, type, "");
  LLVMSetAlignment(at, LINE);
  m->fn.stack += bytes;
  LLVMPositionBuilderAtEnd(m->b, here);
  return at;
}

/* Allocates from the runtime; freed at the function's exit at the latest.
 * *slot holds it. */
static LLVMValueRef from_runtime(emit *m, LLVMValueRef bytes,
                                 LLVMValueRef *slot) {
  LLVMBasicBlockRef here = LLVMGetInsertBlock(m->b);
  *slot = emit_stack(m, m->ptr, sizeof(void *));
  LLVMPositionBuilderAtEnd(m->b, m->fn.entry);
  LLVMBuildStore(m->b, LLVMConstNull(m->ptr), *slot);
  LLVMPositionBuilderAtEnd(m->b, here);
  emit_held *held = arena_new(m->scratch, emit_held);
  *held = (emit_held){*slot, m->fn.held};
  m->fn.held = held;
  LLVMValueRef fn = emit_rt_entry(m, offsetof(tess_runtime, alloc));
  LLVMValueRef args[3] = {emit_rt_entry(m, offsetof(tess_runtime, ud)), bytes,
                          emit_i64(m, LINE)};
  LLVMTypeRef types[3] = {m->ptr, m->i64, m->i64};
  LLVMTypeRef type = LLVMFunctionType(m->ptr, types, 3, false);
  LLVMValueRef at = LLVMBuildCall2(m->b, type, fn, args, 3, "");
  LLVMBuildStore(m->b, at, *slot);
  emit_fail_if(m, LLVMBuildIsNull(m->b, at, ""),
               LLVMConstInt(m->i32, TESS_NOMEM, false));
  return at;
}

bool emit_constant_bytes(const emit *m, ir_buf b, uint64_t *bytes) {
  int64_t extent = 0;
  *bytes = m->p->buf.v[b].dtype.bits / 8u;
  for (uint32_t i = 0; i < ir_ndim(m->p, b); i++)
    if (!ir_const_int(m->p, ir_dim(m->p, b, i), &extent) || extent < 0 ||
        __builtin_mul_overflow(*bytes, (uint64_t)extent, bytes))
      return false;
  return *bytes < UINT64_MAX / 4;
}

static bool goes_on_stack(const emit *m, uint64_t bytes) {
  return bytes <= STACK_ONE && m->fn.stack + bytes <= STACK_ALL;
}

static uint64_t round_up(uint64_t n) { return (n + LINE - 1) / LINE * LINE; }

/* Calls f for each constant-size allocation of this function. */
static void each_allocation(emit *m, ir_stmt first,
                            void (*f)(emit *m, ir_buf b, uint64_t bytes)) {
  uint64_t bytes;
  for (ir_stmt top = first; top; top = ir_st(m->p, top)->next)
    for (ir_stmt s = top; s;) {
      const ir_stmt_rec *r = ir_st(m->p, s);
      bool own = !emit_is_parallel(m, s);
      if (r->kind == IR_ALLOCATE && emit_constant_bytes(m, r->alloc, &bytes))
        f(m, r->alloc, bytes);
      s = own ? ir_next(m->p, s, top) : ir_skip(m->p, s, top);
    }
}

static void give_stack(emit *m, ir_buf b, uint64_t bytes) {
  if (!goes_on_stack(m, bytes)) {
    m->fn.heap += round_up(bytes) + STAGGER;
    return;
  }
  LLVMTypeRef element = emit_memory_type(m, m->p->buf.v[b].dtype);
  uint64_t n = bytes / (m->p->buf.v[b].dtype.bits / 8u);
  m->buf[b] = emit_stack(m, LLVMArrayType2(element, n), bytes);
}

static void give_frame(emit *m, ir_buf b, uint64_t bytes) {
  if (m->buf[b]) return;
  LLVMValueRef by = emit_i64(m, (int64_t)m->fn.heap);
  m->buf[b] = LLVMBuildInBoundsGEP2(m->b, m->i8, m->fn.frame, &by, 1, "");
  m->fn.heap += round_up(bytes) + STAGGER;
}

void emit_frame(emit *m, ir_stmt first) {
  LLVMValueRef slot;
  each_allocation(m, first, give_stack);
  if (!m->fn.heap) return;
  m->fn.frame = from_runtime(m, emit_i64(m, (int64_t)m->fn.heap), &slot);
  uint64_t *most = &m->frame[m->fn.in_parallel];
  if (*most < m->fn.heap) *most = m->fn.heap;
  m->fn.heap = 0;
  each_allocation(m, first, give_frame);
}

void emit_frame_sizes(emit *m) {
  if (!m->frame[0] && !m->frame[1]) return;
  LLVMValueRef both[2] = {emit_i64(m, (int64_t)m->frame[0]),
                          emit_i64(m, (int64_t)m->frame[1])};
  LLVMValueRef g =
      LLVMAddGlobal(m->module, LLVMArrayType2(m->i64, 2), EMIT_FRAME);
  LLVMSetInitializer(g, LLVMConstArray2(m->i64, both, 2));
  LLVMSetGlobalConstant(g, true);
}

/* a op b; *over: or-ed with overflow. */
static LLVMValueRef fitting(emit *m, ir_op op, LLVMValueRef a, LLVMValueRef b,
                            LLVMValueRef *over) {
  const char *name = op == IR_ADD   ? "llvm.sadd.with.overflow"
                     : op == IR_SUB ? "llvm.ssub.with.overflow"
                                    : "llvm.smul.with.overflow";
  LLVMValueRef args[2] = {a, b};
  LLVMValueRef both = emit_intrinsic(m, name, 1, &m->i64, 2, args);
  LLVMValueRef bit = LLVMBuildExtractValue(m->b, both, 1, "");
  *over = LLVMBuildOr(m->b, *over, bit, "");
  return LLVMBuildExtractValue(m->b, both, 0, "");
}

/* An extent, checked for overflow: products of symbolic sizes may exceed 64
 * bits, and nothing proves that they do not. */
static LLVMValueRef checked_extent(emit *m, ir_expr e, LLVMValueRef *over) {
  const ir_node n = *ir_at(m->p, e);
  if (n.op < IR_ADD || n.op > IR_MAX) return emit_expr(m, e);
  LLVMValueRef a = checked_extent(m, n.a, over),
               b = checked_extent(m, n.b, over);
  if (n.op == IR_ADD || n.op == IR_SUB || n.op == IR_MUL)
    return fitting(m, (ir_op)n.op, a, b, over);
  return emit_binary(m, e, a, b);
}

static LLVMValueRef buffer_bytes(emit *m, ir_buf b) {
  LLVMValueRef n = emit_i64(m, m->p->buf.v[b].dtype.bits / 8);
  LLVMValueRef over = LLVMConstInt(m->i1, 0, false);
  for (uint32_t i = 0; i < ir_ndim(m->p, b); i++)
    n = fitting(m, IR_MUL, n, checked_extent(m, ir_dim(m->p, b, i), &over),
                &over);
  emit_fail_if(m, over, LLVMConstInt(m->i32, TESS_NOMEM, false));
  return n;
}

void emit_allocate(emit *m, ir_stmt s) {
  ir_buf b = ir_st(m->p, s)->alloc;
  if (!m->buf[b]) m->buf[b] = from_runtime(m, buffer_bytes(m, b), &m->slot[b]);
}

void emit_free(emit *m, ir_stmt s) {
  ir_buf b = ir_st(m->p, s)->alloc;
  if (!m->slot[b]) return;
  give_back(m, m->slot[b]);
  m->buf[b] = m->slot[b] = NULL;
}
