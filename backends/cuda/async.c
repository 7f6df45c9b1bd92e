/* SPDX-License-Identifier: Apache-2.0
 * Asynchronous copies from global to shared memory: cp.async of 4, 8 or 16
 * bytes, in groups.  Other widths, and architectures before sm_80, copy at
 * once, which a wait finds complete. */
#include "backends/cuda/kernel.h"

enum { FIRST_ASYNC = 80 };

static bool cuda_has_async(const emit *m) {
  return ((const cuda_emit *)m->ud)->capability >= FIRST_ASYNC;
}

LLVMValueRef cuda_copies_call(emit *m, const ir_node *n) {
  cuda_emit *x = m->ud;
  LLVMValueRef none = LLVMConstNull(emit_type(m, n->dtype));
  x->async = n->a == IR_FN_ASYNC_BEGIN;
  if (!cuda_has_async(m) || n->a == IR_FN_ASYNC_BEGIN) return none;
  if (n->a == IR_FN_ASYNC_COMMIT) {
    cuda_nvvm(m, "cp.async.commit.group", 0, NULL);
    return none;
  }
  int64_t groups;
  if (!ir_const_int(m->p, m->p->arg.v[n->b], &groups)) {
    emit_refuse(m, TESS_UNSUPPORTED,
                "the number of groups that async_wait leaves is no constant");
    return none;
  }
  LLVMValueRef left = cuda_i32(m, groups);
  cuda_nvvm(m, "cp.async.wait.group", 1, &left);
  return none;
}

static const char *copy_name(uint64_t bytes) {
  switch (bytes) {
  case 4: return "cp.async.ca.shared.global.4";
  case 8: return "cp.async.ca.shared.global.8";
  case 16: return "cp.async.cg.shared.global.16";
  default: return NULL;
  }
}

static bool is_in(const emit *m, ir_buf b, bool shared) {
  ir_scope s = (ir_scope)m->p->buf.v[b].scope;
  return shared ? ir_scope_is_shared(s) : ir_scope_is_global(s);
}

/* An asynchronous copy of elements in a row, where the store is one. */
bool cuda_store(emit *m, const ir_stmt_rec *s) {
  const cuda_emit *x = m->ud;
  if (!x->async || !cuda_has_async(m) || s->mask || m->mask) return false;
  const ir_node v = *ir_at(m->p, s->value);
  if (v.op != IR_LOAD || v.c || v.n != 1 || s->idx.n != 1 ||
      !is_in(m, s->buf, true) || !is_in(m, v.a, false) ||
      emit_memory_type(m, m->p->buf.v[v.a].dtype) !=
          emit_memory_type(m, m->p->buf.v[s->buf].dtype))
    return false;
  ir_expr to = m->p->arg.v[s->idx.at], from = m->p->arg.v[v.b];
  uint64_t bytes = (uint64_t)v.dtype.lanes * m->p->buf.v[v.a].dtype.bits / 8;
  const char *name = copy_name(bytes);
  uint32_t lanes[2];
  if (!name || emit_row_align(m, s->buf, to) < bytes ||
      emit_row_align(m, v.a, from) < bytes)
    return false;
  LLVMValueRef args[2] = {emit_row_address(m, s->buf, to, &lanes[0]),
                          emit_row_address(m, v.a, from, &lanes[1])};
  if (!args[0] || !args[1] || lanes[0] != lanes[1]) return false;
  cuda_nvvm(m, name, 2, args);
  return true;
}
