/* SPDX-License-Identifier: Apache-2.0
 * Emits the kernels of a program as NVPTX: entry functions with bounds on their
 * threads, thread indices from special registers, storage by scope, barriers.
 *
 *     void NAME_kernel<i>(ptr addrspace(1) buffers..., i64 variables...) */
#include "backends/cuda/kernel.h"
#include "backends/cuda/cuda.h"
#include "backends/cuda/fragment.h"
#include "ir/query.h"
#include <string.h>

enum { GLOBAL = 1, SHARED = 3, SHARED_ALIGN = 128, PTX_KERNEL = 71 };
enum { ARGUMENT_ALIGN = 16 }; /* of addresses, which a launch checks */

static cuda_emit *state_of(emit *m) { return m->ud; }

LLVMValueRef cuda_i32(emit *m, int64_t v) {
  return LLVMConstInt(m->i32, (unsigned long long)v, true);
}

LLVMValueRef cuda_nvvm(emit *m, const char *name, unsigned n,
                       LLVMValueRef *args) {
  char full[128] = "llvm.nvvm.";
  strncat(full, name, sizeof full - 16);
  return emit_intrinsic(m, full, 0, NULL, n, args);
}

/* ---- threads ------------------------------------------------------------ */

static void set_range(emit *m, LLVMValueRef call, int64_t end) {
  LLVMMetadataRef ends[2] = {LLVMValueAsMetadata(cuda_i32(m, 0)),
                             LLVMValueAsMetadata(cuda_i32(m, end))};
  LLVMMetadataRef node = LLVMMDNodeInContext2(m->ctx, ends, 2);
  LLVMSetMetadata(call, LLVMGetMDKindIDInContext(m->ctx, "range", 5),
                  LLVMMetadataAsValue(m->ctx, node));
}

/* How many there are at most. */
static int64_t places_along(const device_kernel *k, ir_thread axis) {
  if (axis >= IR_THREADIDX_X) return k->block[axis - IR_THREADIDX_X];
  if (k->grid[axis]) return k->grid[axis];
  return axis == IR_BLOCKIDX_X ? DEVICE_MOST_BLOCKS : CUDA_MOST_BLOCKS;
}

static LLVMValueRef thread_index(emit *m, ir_thread axis) {
  static const char *const name[] = {
      "read.ptx.sreg.ctaid.x", "read.ptx.sreg.ctaid.y", "read.ptx.sreg.ctaid.z",
      "read.ptx.sreg.tid.x",   "read.ptx.sreg.tid.y",   "read.ptx.sreg.tid.z"};
  LLVMValueRef v = cuda_nvvm(m, name[axis], 0, NULL);
  set_range(m, v, places_along(state_of(m)->k->part, axis));
  return LLVMBuildZExt(m->b, v, m->i64, "");
}

void cuda_warp_barrier(emit *m) {
  LLVMValueRef all = cuda_i32(m, -1);
  cuda_nvvm(m, "bar.warp.sync", 1, &all);
}

/* Of a thread or a warp. */
static bool is_private(const ir_program *p, ir_buf b) {
  const ir_buf_rec *r = &p->buf.v[b];
  return r->role == IR_ROLE_LOCAL &&
         (r->scope == IR_SCOPE_LOCAL || ir_scope_is_fragment(r->scope));
}

/* What the code of a warp uses: one of its fragments (0: none), whether other
 * memory, and whether its lanes must synchronize before and after. */
typedef struct warp_uses {
  ir_buf fragment;
  bool memory, before, after;
} warp_uses;

static warp_uses uses_of_warp(emit *m, ir_stmt top) {
  const ir_program *p = m->p;
  arena_mark mark = arena_get_mark(m->scratch);
  emit_uses u = {arena_zalloc(m->scratch, p->buf.n),
                 arena_zalloc(m->scratch, p->var.n)};
  uint8_t *writes = arena_zalloc(m->scratch, p->buf.n);
  warp_uses x = {0};
  emit_survey(m, top, u);
  for (ir_stmt s = top; s; s = ir_next(p, s, top))
    if (ir_st(p, s)->kind == IR_STORE) writes[ir_st(p, s)->buf] = true;
  for (ir_buf b = 1; b < p->buf.n; b++) {
    if (u.buf[b] && ir_scope_is_fragment(p->buf.v[b].scope)) x.fragment = b;
    if (is_private(p, b)) u.buf[b] = writes[b] = false;
    x.memory |= u.buf[b];
  }
  if (x.memory) {
    x.before = cuda_must_synchronize(m, top, u.buf, writes, true);
    x.after = cuda_must_synchronize(m, top, u.buf, writes, false);
  }
  arena_reset_to(m->scratch, mark);
  return x;
}

static void refuse_warp(emit *m, ir_buf fragment) {
  emit_refuse(m, TESS_UNSUPPORTED,
              "what a warp does with fragment %s is no operation on tiles of "
              "16 x 16",
              ir_text(m->p, m->p->buf.v[fragment].name));
}

static bool has_instead(const emit *m, ir_stmt top) {
  for (ir_stmt s = top; s; s = ir_next(m->p, s, top))
    if (ir_st(m->p, s)->kind == IR_IF &&
        ir_is_instead(m->p, ir_st(m->p, s)->cond))
      return true;
  return false;
}

/* What a warp runs together, once: its instructions on fragments, else one of
 * its lanes. */
static void warp_loop(emit *m, ir_stmt at, const ir_stmt_rec *s) {
  warp_uses uses = uses_of_warp(m, at);
  emit_mark mark = emit_get_mark(m);
  emit_forget_loads(m);
  if (uses.before) cuda_warp_barrier(m);
  if (has_instead(m, at)) {
    state_of(m)->in_warp = uses.fragment;
    emit_body_with(m, s, emit_i64(m, 0));
    state_of(m)->in_warp = 0;
  } else if (uses.fragment) {
    refuse_warp(m, uses.fragment);
  } else {
    LLVMValueRef lane = cuda_nvvm(m, "read.ptx.sreg.tid.x", 0, NULL);
    LLVMValueRef first =
        LLVMBuildICmp(m->b, LLVMIntEQ, lane, cuda_i32(m, 0), "");
    LLVMBasicBlockRef one = emit_new_block(m, "lane");
    LLVMBasicBlockRef merge = emit_new_block(m, "merge");
    LLVMBuildCondBr(m->b, first, one, merge);
    LLVMPositionBuilderAtEnd(m->b, one);
    emit_body_with(m, s, emit_i64(m, 0));
    LLVMBuildBr(m->b, merge);
    LLVMPositionBuilderAtEnd(m->b, merge);
  }
  emit_release(m, (emit_mark){mark.steady, 0});
  if (uses.after) cuda_warp_barrier(m);
}

static void thread_loop(emit *m, ir_stmt at) {
  const ir_stmt_rec s = *ir_st(m->p, at);
  if (s.thread == IR_WARP)
    warp_loop(m, at, &s);
  else if (s.thread > IR_THREADIDX_Z)
    emit_refuse(m, TESS_INTERNAL, "a loop bound to %s was not lowered",
                ir_thread_text((ir_thread)s.thread));
  else
    emit_body_with(m, &s, thread_index(m, (ir_thread)s.thread));
}

static void barrier(emit *m, const ir_stmt_rec *s) {
  emit_forget_loads(m);
  if (s->thread == IR_SCOPE_WARP)
    cuda_warp_barrier(m);
  else
    cuda_nvvm(m, "barrier0", 0, NULL);
}

/* ---- loops over registers ----------------------------------------------- */

enum { MOST_COPIES = 64, MOST_MODULUS = 8, MOST_STEPS = 384 };

typedef struct indexing {
  const emit *m;
  ir_var var;
  bool plain;      /* the variable itself indexes private elements */
  int64_t modulus; /* else its remainder by this does; 1: nothing */
} indexing;

static void look_at_index(const ir_program *p, ir_expr e, indexing *x) {
  const ir_node *n = ir_at(p, e);
  int64_t by;
  if (n->op == IR_VAR) x->plain |= n->a == x->var;
  if (n->op == IR_MOD && ir_const_int(p, n->b, &by) && by > 1 &&
      by <= MOST_MODULUS && ir_uses_var(p, n->a, x->var)) {
    if (by > x->modulus) x->modulus = by;
    return;
  }
  const uint32_t *operands;
  uint32_t fixed[3], k = ir_operands(p, e, &operands, fixed);
  for (uint32_t i = 0; i < k; i++) look_at_index(p, operands[i], x);
}

static void look_at_loads(const ir_program *p, ir_expr e, void *ud) {
  indexing *x = ud;
  const ir_node *n = ir_at(p, e);
  if (n->op != IR_LOAD || !is_private(p, n->a)) return;
  for (uint32_t i = 0; i < n->n; i++) look_at_index(p, p->arg.v[n->b + i], x);
}

static void look_at_stmt(const emit *m, ir_stmt s, indexing *x) {
  const ir_program *p = m->p;
  const ir_stmt_rec *r = ir_st(p, s);
  if (r->kind == IR_STORE) {
    ir_visit(p, m->scratch, r->value, look_at_loads, x);
    if (is_private(p, r->buf))
      for (uint32_t i = 0; i < r->idx.n; i++)
        look_at_index(p, p->arg.v[r->idx.at + i], x);
  }
  if (r->kind == IR_IF) ir_visit(p, m->scratch, r->cond, look_at_loads, x);
}

/* What indexes private elements by the loop's variable. */
static indexing indexed_by(const emit *m, ir_stmt loop) {
  const ir_program *p = m->p;
  arena_mark mark = arena_get_mark(m->scratch);
  indexing x = {m, ir_st(p, loop)->var, false, 1};
  for (ir_stmt s = loop, next; s; s = next) {
    next = ir_next(p, s, loop);
    look_at_stmt(m, s, &x);
    /* The code that an instruction replaces is not emitted. */
    if (s != loop && ir_st(p, s)->kind == IR_IF &&
        ir_is_instead(p, ir_st(p, s)->cond))
      next = ir_skip(p, s, loop);
  }
  arena_reset_to(m->scratch, mark);
  return x;
}

static int64_t copies_wanted(const emit *m, ir_stmt loop, int64_t extent) {
  indexing x = indexed_by(m, loop);
  if (x.plain && extent <= MOST_COPIES) return extent;
  return x.modulus < extent ? x.modulus : extent;
}

/* Stores and branches that s becomes. */
static int64_t steps_of(const emit *m, ir_stmt s) {
  const ir_program *p = m->p;
  const ir_stmt_rec *r = ir_st(p, s);
  int64_t n = r->kind == IR_STORE || r->kind == IR_IF, extent;
  if (r->kind == IR_IF && ir_is_instead(p, r->cond)) return 1;
  for (int alt = 0; alt < 2 && n <= MOST_STEPS; alt++)
    for (ir_stmt c = alt ? r->alt : r->body; c; c = ir_st(p, c)->next)
      n += steps_of(m, c);
  bool unrolls = r->kind == IR_LOOP && r->loop_kind == IR_SERIAL &&
                 ir_const_int(p, r->extent, &extent) && extent > 1;
  if (!unrolls || n > MOST_STEPS) return n;
  return n * copies_wanted(m, s, extent);
}

/* A buffer of a thread's own is in registers only where its indices are
 * constants: loops over them are unrolled, unless that is too much code. */
static int64_t copies(emit *m, ir_stmt loop, int64_t extent) {
  return steps_of(m, loop) <= MOST_STEPS ? copies_wanted(m, loop, extent) : 1;
}

/* ---- storage ------------------------------------------------------------ */

static bool store_of_warp(emit *m, const ir_stmt_rec *s) {
  ir_buf fragment = state_of(m)->in_warp;
  if (!fragment) return cuda_atomic(m, s) || cuda_store(m, s);
  refuse_warp(m, fragment);
  return true;
}

/* The block of shared memory: an array of this kernel's, or the one whose size
 * the launch gives. */
static LLVMValueRef shared_memory(emit *m, const cuda_kernel *k) {
  static const char dynamic[] = "tess_dynamic_shared";
  uint64_t n = k->static_shared;
  LLVMValueRef g = state_of(m)->shared;
  if (!g && !n) g = LLVMGetNamedGlobal(m->module, dynamic);
  if (!g) {
    LLVMTypeRef type = LLVMArrayType2(m->i8, n);
    g = LLVMAddGlobalInAddressSpace(m->module, type, n ? "shared" : dynamic,
                                    SHARED);
    LLVMSetAlignment(g, SHARED_ALIGN);
    LLVMSetLinkage(g, n ? LLVMInternalLinkage : LLVMExternalLinkage);
    if (n) LLVMSetInitializer(g, LLVMGetUndef(type));
  }
  return state_of(m)->shared = g;
}

static void place_private(emit *m, ir_buf b, uint64_t bytes) {
  uint64_t n = bytes / (m->p->buf.v[b].dtype.bits / 8u);
  LLVMTypeRef type =
      LLVMArrayType2(emit_memory_type(m, m->p->buf.v[b].dtype), n);
  m->buf[b] = emit_stack(m, type, bytes);
}

static void place_buffers(emit *m, const cuda_kernel *k) {
  const ir_program *p = m->p;
  uint64_t at = 0, bytes;
  CUDA_EACH(p, k, s) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind != IR_ALLOCATE) continue;
    ir_buf b = r->alloc;
    if (!emit_constant_bytes(m, b, &bytes)) {
      emit_refuse(m, TESS_UNSUPPORTED, "the size of %s is no constant",
                  ir_text(p, p->buf.v[b].name));
    } else if (ir_scope_is_shared(p->buf.v[b].scope)) {
      LLVMValueRef by = emit_i64(m, (int64_t)at);
      m->buf[b] = LLVMConstInBoundsGEP2(m->i8, shared_memory(m, k), &by, 1);
      at += (bytes + SHARED_ALIGN - 1) / SHARED_ALIGN * SHARED_ALIGN;
    } else if (ir_scope_is_fragment(p->buf.v[b].scope)) {
      cuda_place_fragment(m, b, bytes);
    } else {
      place_private(m, b, bytes);
    }
  }
}

/* ---- entry functions ---------------------------------------------------- */

static void annotate(emit *m, LLVMValueRef fn, const char *key, int64_t v) {
  LLVMMetadataRef parts[3] = {LLVMValueAsMetadata(fn),
                              LLVMMDStringInContext2(m->ctx, key, strlen(key)),
                              LLVMValueAsMetadata(cuda_i32(m, v))};
  LLVMAddNamedMetadataOperand(
      m->module, "nvvm.annotations",
      LLVMMetadataAsValue(m->ctx, LLVMMDNodeInContext2(m->ctx, parts, 3)));
}

/* LLVM 19 reads these from metadata only. */
static void bound(emit *m, const cuda_kernel *k) {
  annotate(m, m->fn.fn, "kernel", 1);
  annotate(m, m->fn.fn, "reqntidx", k->part->block[0]);
  annotate(m, m->fn.fn, "reqntidy", k->part->block[1]);
  annotate(m, m->fn.fn, "reqntidz", k->part->block[2]);
  if (m->target->max_registers)
    annotate(m, m->fn.fn, "maxnreg", m->target->max_registers);
}

static void add_attribute(emit *m, unsigned at, const char *name, uint64_t v) {
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMAddAttributeAtIndex(m->fn.fn, at,
                          LLVMCreateEnumAttribute(m->ctx, kind, v));
}

/* Buffers do not overlap, and those that are only read may be cached as
 * such. */
static void take_params(emit *m, const cuda_kernel *k) {
  const ir_program *p = m->p;
  for (uint32_t i = 0; i < k->part->nbuf; i++) {
    const ir_buf_rec *b = &p->buf.v[k->part->buf[i]];
    LLVMValueRef v = LLVMGetParam(m->fn.fn, i);
    const char *name = ir_text(p, b->name);
    LLVMSetValueName2(v, name, strlen(name));
    add_attribute(m, i + 1, "noalias", 0);
    if (!k->part->written[i]) add_attribute(m, i + 1, "readonly", 0);
    m->buf[k->part->buf[i]] = v;
  }
  for (uint32_t i = 0; i < k->part->nvar; i++)
    m->var[k->part->var[i]] = LLVMGetParam(m->fn.fn, k->part->nbuf + i);
}

static void open_kernel(emit *m, const cuda_kernel *k) {
  uint32_t n = k->part->nbuf + k->part->nvar;
  LLVMTypeRef *types = arena_array(m->scratch, LLVMTypeRef, n + 1);
  LLVMTypeRef global = LLVMPointerTypeInContext(m->ctx, GLOBAL);
  for (uint32_t i = 0; i < n; i++)
    types[i] = i < k->part->nbuf ? global : m->i64;
  LLVMTypeRef none = LLVMVoidTypeInContext(m->ctx);
  emit_open_fn(m, k->name, LLVMFunctionType(none, types, n, false));
  LLVMSetFunctionCallConv(m->fn.fn, PTX_KERNEL);
  m->fn.in_parallel = true; /* such loops of a thread are serial */
  bound(m, k);
}

static void emit_one(emit *m, const cuda_kernel *k) {
  state_of(m)->k = k;
  state_of(m)->async = false;
  state_of(m)->shared = NULL;
  open_kernel(m, k);
  LLVMBasicBlockRef start = emit_new_block(m, "start");
  LLVMPositionBuilderAtEnd(m->b, start);
  take_params(m, k);
  place_buffers(m, k);
  ir_stmt s = k->part->first;
  for (bool more = true; more && !m->refused; s = ir_st(m->p, s)->next) {
    emit_one_stmt(m, s);
    more = s != k->part->last;
  }
  if (!m->refused) {
    LLVMBuildRetVoid(m->b);
    emit_close_entry(m, start);
  }
  for (uint32_t i = 0; i < k->part->nbuf; i++) m->buf[k->part->buf[i]] = NULL;
  for (uint32_t i = 0; i < k->part->nvar; i++) m->var[k->part->var[i]] = NULL;
}

void cuda_emit_module(emit *m) {
  const ir_program *p = m->p;
  cuda_emit *x = state_of(m);
  emit_prepare(m);
  emit_uses u = {arena_zalloc(m->scratch, p->buf.n),
                 arena_zalloc(m->scratch, p->var.n)};
  emit_survey(m, ir_entry(p)->root, u);
  emit_alias_facts(m, u.buf);
  cuda_plan_fragments(m);
  for (uint32_t i = 0; i < x->all->n && !m->refused; i++)
    emit_one(m, &x->all->v[i]);
}

const emit_device cuda_kernels_device = {.thread_loop = thread_loop,
                                         .barrier = barrier,
                                         .call = cuda_call,
                                         .store = store_of_warp,
                                         .instead = cuda_instead,
                                         .unroll = copies,
                                         .align = ARGUMENT_ALIGN};
