/* SPDX-License-Identifier: Apache-2.0
 * Statements to OpenCL C. */
#include "backends/opencl/emit.h"
#include "ir/edit.h"

static void ocl_list(ocl *m, ir_stmt s);

/* ---- loops ---------------------------------------------------------- */

static void thread_index(ocl *m, const ir_stmt_rec *r) {
  bool local = r->thread >= IR_THREADIDX_X && r->thread <= IR_THREADIDX_Z;
  if (!local && r->thread > IR_BLOCKIDX_Z) {
    ocl_refuse(m, TESS_UNSUPPORTED,
               "a loop is bound to %s, and OpenCL 1.2 has no warps",
               ir_thread_text((ir_thread)r->thread));
    return;
  }
  ocl_text at = ocl_text_of(m, OCL_PRIMARY, "%s(%d)",
                            local ? "get_local_id" : "get_group_id",
                            local ? r->thread - IR_THREADIDX_X : r->thread);
  ocl_count(m, r->lo);
  if (!ir_is_const(m->p, r->lo, 0))
    at = ocl_infix(m, ocl_expr(m, r->lo), "+", at, OCL_ADD);
  ocl_line(m, "const long %s = %s;", ocl_var(m, r->var), at.s);
  ocl_forget(m);
  ocl_list(m, r->body);
}

/* Bounds are evaluated once: those that are no constant become one. */
static void serial_loop(ocl *m, const ir_stmt_rec *r) {
  const char *type = ocl_value_type(m->p->var.v[r->var].dtype);
  ocl_count(m, r->lo);
  ocl_count(m, r->extent);
  ocl_text lo = ocl_expr(m, r->lo), n = ocl_expr(m, r->extent);
  ocl_text to =
      ir_is_const(m->p, r->lo, 0) ? n : ocl_infix(m, lo, "+", n, OCL_ADD);
  int64_t first, extent;
  if (ir_const_int(m->p, r->lo, &first) &&
      ir_const_int(m->p, r->extent, &extent))
    to = ocl_int(m, IR_INDEX, first + extent);
  else
    to = ocl_bind(m, type, to);
  const char *name = ocl_var(m, r->var);
  ocl_forget(m);
  ocl_line(m, "for (%s %s = %s; %s < %s; ++%s) {", type, name, lo.s, name,
           ocl_in(m, to, OCL_ADD), name);
  m->indent++;
  ocl_list(m, r->body);
  m->indent--;
  ocl_line(m, "}");
}

static void ocl_loop(ocl *m, const ir_stmt_rec *r) {
  int64_t n;
  if (ir_const_int(m->p, r->extent, &n) && n <= 0) return;
  if (r->loop_kind == IR_THREAD)
    thread_index(m, r);
  else
    serial_loop(m, r);
}

/* ---- others --------------------------------------------------------- */

static void ocl_if(ocl *m, const ir_stmt_rec *r) {
  if (ir_is_instead(m->p, r->cond)) { /* no intrinsic replaces the code */
    ocl_list(m, r->body);
    return;
  }
  int64_t known;
  if (ir_const_int(m->p, r->cond, &known)) { /* after unrolling */
    ocl_list(m, known ? r->body : r->alt);
    return;
  }
  ocl_count(m, r->cond);
  ocl_text c = ocl_expr(m, r->cond);
  ocl_forget(m);
  ocl_line(m, "if (%s) {", c.s);
  m->indent++;
  ocl_list(m, r->body);
  m->indent--;
  if (r->alt) {
    ocl_line(m, "} else {");
    m->indent++;
    ocl_list(m, r->alt);
    m->indent--;
  }
  ocl_line(m, "}");
}

/* A vector has a constant for each slice. */
static void ocl_let(ocl *m, const ir_stmt_rec *r) {
  tess_dtype t = m->p->var.v[r->let_var].dtype;
  const char *name = ocl_var(m, r->let_var);
  ocl_count(m, r->let_value);
  for (uint32_t first = 0; first < t.lanes;) {
    uint32_t width = ocl_slice_width(t.lanes, first);
    ocl_slice(m, first, width);
    ocl_text v = ocl_expr(m, r->let_value);
    if (width == t.lanes)
      ocl_line(m, "const %s %s = %s;", ocl_type(m, t), name, v.s);
    else
      ocl_line(m, "const %s %s_from_%u = %s;", ocl_type(m, t), name, first,
               v.s);
    first += width;
  }
  ocl_forget(m);
  ocl_list(m, r->body);
}

static bool is_argument(const ocl *m, ir_buf b) {
  for (uint32_t i = 0; i < m->kernel->nbuf; i++)
    if (m->kernel->buf[i] == b) return true;
  return false;
}

/* PoCL 3.1 loses what a loop stores to a private variable that had no value
 * before, where all stores are under conditions. */
enum { MOST_VALUES = 64 }; /* larger arrays are no variables to a compiler */

static bool needs_value(const ocl *m, const ir_stmt_rec *r) {
  const ir_program *p = m->p;
  ir_stmt top = r->body ? ir_st(p, r->body)->parent : 0;
  bool any = false;
  for (ir_stmt s = top; s; s = ir_next(p, s, top)) {
    if (ir_st(p, s)->kind != IR_STORE || ir_st(p, s)->buf != r->alloc) continue;
    ir_stmt up = s;
    while (up != top && ir_st(p, up)->kind != IR_IF) up = ir_st(p, up)->parent;
    if (up == top) return false;
    any = true;
  }
  return any;
}

static void declare_buffer(ocl *m, ir_buf buf, bool value) {
  const ir_buf_rec *b = &m->p->buf.v[buf];
  int64_t n = 1, extent = 0;
  if (ir_scope_is_fragment(b->scope))
    ocl_refuse(m, TESS_UNSUPPORTED,
               "'%s' is a fragment in %s, and OpenCL has no matrix units",
               ir_text(m->p, b->name), ir_scope_text((ir_scope)b->scope));
  for (uint32_t i = 0; i < b->shape.n; i++) {
    if (!ir_const_int(m->p, ir_dim(m->p, buf, i), &extent))
      ocl_refuse(m, TESS_UNSUPPORTED,
                 "'%s' is allocated in a kernel, and its size is no constant",
                 ir_text(m->p, b->name));
    if (__builtin_mul_overflow(n, extent, &n)) n = INT64_MAX;
  }
  if (n < 1) n = 1;
  if (m->vectors[buf]) {
    ocl_line(m, "%s %s[%lld]%s;",
             ocl_wide_type(m, ocl_memory_type(b->dtype), m->vectors[buf]),
             ocl_buf(m, buf), (long long)(n / m->vectors[buf]),
             value && n <= MOST_VALUES ? " = {0}" : "");
    return;
  }
  bool shared = ir_scope_is_shared(b->scope) && !m->kernel->is_single;
  ocl_line(m, "%s%s %s[%lld]%s;", shared ? "__local " : "",
           ocl_memory_type(b->dtype), ocl_buf(m, buf), (long long)n,
           value && !shared && n <= MOST_VALUES ? " = {0}" : "");
}

/* Shared memory was declared at the kernel's start, as OpenCL demands;
 * workspace, of a single thread, is an argument. */
static void ocl_allocate(ocl *m, const ir_stmt_rec *r) {
  bool is_declared =
      ir_scope_is_shared(m->p->buf.v[r->alloc].scope) && !m->kernel->is_single;
  if (!is_declared && !is_argument(m, r->alloc))
    declare_buffer(m, r->alloc, needs_value(m, r));
  ocl_list(m, r->body);
}

static void ocl_barrier(ocl *m, const ir_stmt_rec *r) {
  if (r->thread == IR_SCOPE_WARP)
    ocl_refuse(m, TESS_UNSUPPORTED,
               "a barrier is of a warp, and OpenCL 1.2 has no warps");
  ocl_line(m, "barrier(%s);",
           ir_scope_is_shared(r->thread)
               ? "CLK_LOCAL_MEM_FENCE"
               : "CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE");
}

static void ocl_stmt(ocl *m, ir_stmt at) {
  const ir_stmt_rec r = *ir_st(m->p, at);
  ocl_forget(m);
  switch ((ir_kind)r.kind) {
  case IR_LOOP: ocl_loop(m, &r); break;
  case IR_BLOCK: ocl_list(m, r.body); break;
  case IR_STORE: ocl_store(m, &r); break;
  case IR_IF: ocl_if(m, &r); break;
  case IR_LET: ocl_let(m, &r); break;
  case IR_EVALUATE:
    ocl_count(m, r.eval);
    ocl_expr(m, r.eval);
    break;
  case IR_ALLOCATE: ocl_allocate(m, &r); break;
  case IR_BARRIER: ocl_barrier(m, &r); break;
  case IR_DEAD: break;
  }
}

static void ocl_list(ocl *m, ir_stmt s) {
  for (; s && !m->refused; s = ir_st(m->p, s)->next) ocl_stmt(m, s);
}

static void declare_shared(ocl *m, const device_kernel *k) {
  for (ir_stmt s = k->first; s; s = ir_next(m->p, s, k->first)) {
    const ir_stmt_rec *r = ir_st(m->p, s);
    if (r->kind == IR_ALLOCATE &&
        ir_scope_is_shared(m->p->buf.v[r->alloc].scope))
      declare_buffer(m, r->alloc, false);
  }
}

void ocl_kernel_body(ocl *m, const device_kernel *k) {
  ocl_find_vectors(m, k);
  if (!k->is_single) declare_shared(m, k);
  for (ir_stmt s = k->first; s && !m->refused; s = ir_st(m->p, s)->next) {
    ocl_stmt(m, s);
    if (s == k->last) break;
  }
}
