/* SPDX-License-Identifier: Apache-2.0
 * The LLVM module of a lowered program: one exported function
 *
 *     int32 tess_kernel(void **args, const int64_t *sizes,
 *                       const tess_runtime *rt)
 *
 * with the address of each parameter and the value of each symbolic extent;
 * constants are part of the module. */
#include "backends/llvm/emit.h"
#include "ir/edit.h"
#include "ir/query.h"

/* Marks nodes that read memory, call the host or control asynchronous copies,
 * or have such an operand: their values are not reused across statements.
 * Operands come before their users. */
static void mark_fickle(emit *m) {
  const ir_program *p = m->p;
  for (ir_expr e = 1; e < p->node.n; e++) {
    const ir_node *n = ir_at(p, e);
    const uint32_t *operands;
    uint32_t fixed[3], k = ir_operands(p, e, &operands, fixed);
    bool fickle =
        n->op == IR_LOAD ||
        (n->op == IR_CALL && (ir_fn_is_named(n->a) || ir_fn_of_copies(n->a)));
    for (uint32_t i = 0; i < k && !fickle; i++) fickle = m->fickle[operands[i]];
    m->fickle[e] = fickle;
  }
}

void emit_open(emit *m, LLVMContextRef ctx, const char *triple,
               LLVMTargetDataRef layout) {
  ir_program *p = m->p;
  m->ctx = ctx;
  const char *name = ir_text(p, ir_entry(p)->name);
  m->module = LLVMModuleCreateWithNameInContext(name, ctx);
  LLVMSetTarget(m->module, triple);
  LLVMSetModuleDataLayout(m->module, layout);
  m->b = LLVMCreateBuilderInContext(ctx);
  m->i1 = LLVMInt1TypeInContext(ctx);
  m->i8 = LLVMInt8TypeInContext(ctx);
  m->i16 = LLVMInt16TypeInContext(ctx);
  m->i32 = LLVMInt32TypeInContext(ctx);
  m->i64 = LLVMInt64TypeInContext(ctx);
  m->f16 = LLVMHalfTypeInContext(ctx);
  m->f32 = LLVMFloatTypeInContext(ctx);
  m->f64 = LLVMDoubleTypeInContext(ctx);
  m->ptr = LLVMPointerTypeInContext(ctx, 0);
  m->kind_scope = LLVMGetMDKindIDInContext(ctx, "alias.scope", 11);
  m->kind_noalias = LLVMGetMDKindIDInContext(ctx, "noalias", 7);
}

void emit_close(emit *m) {
  if (m->b) LLVMDisposeBuilder(m->b);
  if (m->module) LLVMDisposeModule(m->module);
}

static bool has_f16(const ir_program *p) {
  for (ir_expr e = 1; e < p->node.n; e++) {
    tess_dtype t = ir_at(p, e)->dtype;
    if (t.code == TESS_DTYPE_FLOAT && t.bits == 16) return true;
  }
  return false;
}

static void take_memory(emit *m) {
  const ir_program *p = m->p;
  m->var = arena_zalloc(m->scratch, p->var.n * sizeof *m->var);
  m->buf = arena_zalloc(m->scratch, p->buf.n * sizeof *m->buf);
  m->slot = arena_zalloc(m->scratch, p->buf.n * sizeof *m->slot);
  m->alias = arena_zalloc(m->scratch, p->buf.n * sizeof *m->alias);
  m->fickle = arena_zalloc(m->scratch, p->node.n);
  ir_unconditional_find(&m->must, p, m->scratch);
  m->has_f16 = has_f16(p);
}

/* ---- constants ---------------------------------------------------------- */

static void emit_constant(emit *m, const ir_const *c) {
  LLVMValueRef bytes =
      LLVMConstStringInContext2(m->ctx, (const char *)c->data, c->bytes, true);
  LLVMValueRef g = LLVMAddGlobal(m->module, LLVMTypeOf(bytes), "constant");
  LLVMSetInitializer(g, bytes);
  LLVMSetLinkage(g, LLVMPrivateLinkage);
  LLVMSetGlobalConstant(g, true);
  LLVMSetAlignment(g, 64);
  m->buf[c->buf] = g;
}

static void emit_constants(emit *m, const uint8_t *used) {
  for (uint32_t i = 0; i < m->p->constant.n; i++)
    if (used[m->p->constant.v[i].buf]) emit_constant(m, &m->p->constant.v[i]);
}

/* ---- the kernel --------------------------------------------------------- */

static LLVMValueRef nth(emit *m, LLVMTypeRef type, LLVMValueRef array,
                        uint32_t i) {
  LLVMValueRef by = emit_i64(m, i);
  LLVMValueRef at = LLVMBuildInBoundsGEP2(m->b, type, array, &by, 1, "");
  return LLVMBuildLoad2(m->b, type, at, "");
}

static void open_arguments(emit *m, const ir_func *f) {
  const ir_program *p = m->p;
  LLVMValueRef args = LLVMGetParam(m->fn.fn, 0);
  LLVMValueRef sizes = LLVMGetParam(m->fn.fn, 1);
  m->fn.rt = LLVMGetParam(m->fn.fn, 2);
  for (uint32_t i = 0; i < f->params.n; i++) {
    ir_buf b = p->arg.v[f->params.at + i];
    m->buf[b] = nth(m, m->ptr, args, i);
    const char *name = ir_text(p, p->buf.v[b].name);
    LLVMSetValueName2(m->buf[b], name, strlen(name));
  }
  for (uint32_t i = 0; i < f->sizes.n; i++) {
    ir_var v = p->arg.v[f->sizes.at + i];
    m->var[v] = nth(m, m->i64, sizes, i);
  }
}

/* Kernels are compiled for sizes of at least 1: others would lead out of
 * their tensors. */
static void check_sizes(emit *m, const ir_func *f) {
  LLVMValueRef small = NULL;
  for (uint32_t i = 0; i < f->sizes.n; i++) {
    LLVMValueRef n = m->var[m->p->arg.v[f->sizes.at + i]];
    LLVMValueRef less = LLVMBuildICmp(m->b, LLVMIntSLT, n, emit_i64(m, 1), "");
    small = small ? LLVMBuildOr(m->b, small, less, "") : less;
  }
  if (small) emit_fail_if(m, small, LLVMConstInt(m->i32, TESS_INVALID, false));
}

void emit_prepare(emit *m) {
  take_memory(m);
  mark_fickle(m);
}

void emit_kernel(emit *m) {
  ir_program *p = m->p;
  const ir_func f = *ir_entry(p);
  emit_prepare(m);
  emit_uses u = {arena_zalloc(m->scratch, p->buf.n),
                 arena_zalloc(m->scratch, p->var.n)};
  emit_survey(m, f.root, u);
  emit_alias_facts(m, u.buf);
  emit_constants(m, u.buf);
  LLVMTypeRef params[3] = {m->ptr, m->ptr, m->ptr};
  emit_begin_fn(m, EMIT_KERNEL, true, 3, params);
  open_arguments(m, &f);
  check_sizes(m, &f);
  ir_stmt first = ir_st(p, f.root)->body;
  emit_frame(m, first);
  emit_list(m, first);
  emit_end_fn(m);
  emit_frame_sizes(m);
}
