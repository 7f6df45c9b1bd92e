/* SPDX-License-Identifier: Apache-2.0
 * Lists the kernels of a lowered program: outermost thread loops, with their
 * extents, shared memory and live-in values. */
#include "backends/cuda/kernel.h"
#include "backends/backend.h"
#include "ir/query.h"
#include <stdio.h>
#include <string.h>

typedef struct finder {
  ir_program *p;
  arena *scratch;
  const target *t;
  cuda_kernels *out;
  err_state *e;
} finder;

static const char *entry_name(const finder *f) {
  return ir_text(f->p, ir_entry(f->p)->name);
}

/* ---- extents ------------------------------------------------------------ */

static bool take_extents(finder *f, cuda_kernel *k) {
  const ir_program *p = f->p;
  for (unsigned t = 0; t < IR_THREAD_COUNT; t++) k->extent[t] = 1;
  for (ir_stmt s = k->top; s; s = ir_next(p, s, k->top)) {
    const ir_stmt_rec *r = ir_st(p, s);
    int64_t n;
    if (r->kind != IR_LOOP || r->loop_kind != IR_THREAD) continue;
    if (!ir_const_int(p, r->extent, &n)) {
      err_set(f->e, TESS_UNSUPPORTED,
              "the extent of a loop bound to %s is no constant",
              ir_thread_text((ir_thread)r->thread));
      return false;
    }
    if (n > k->extent[r->thread]) k->extent[r->thread] = n;
  }
  return true;
}

static bool refuse_limit(finder *f, const char *what, int64_t n, int64_t most) {
  err_set(f->e, TESS_UNSUPPORTED,
          "%s: a block has %lld %s, of which '%s' allows %lld", entry_name(f),
          (long long)n, what, f->t->cpu, (long long)most);
  return false;
}

/* A grid has 2^31 - 1 blocks along x, and 65535 along the other axes. */
static bool check_extents(finder *f, const cuda_kernel *k) {
  int64_t threads = 1;
  for (unsigned t = IR_THREADIDX_X; t <= IR_THREADIDX_Z; t++)
    threads *= k->extent[t];
  if (threads > f->t->max_threads)
    return refuse_limit(f, "threads", threads, f->t->max_threads);
  if (k->extent[IR_THREADIDX_Z] > 64)
    return refuse_limit(f, "threads along z", k->extent[IR_THREADIDX_Z], 64);
  for (unsigned t = IR_BLOCKIDX_Y; t <= IR_BLOCKIDX_Z; t++)
    if (k->extent[t] > 65535) {
      err_set(f->e, TESS_UNSUPPORTED,
              "%s: a grid has %lld blocks along %s, where 65535 are possible",
              entry_name(f), (long long)k->extent[t],
              ir_thread_text((ir_thread)t));
      return false;
    }
  return true;
}

/* ---- shared memory ------------------------------------------------------ */

enum { SHARED_ALIGN = 128 };

/* One block of it, static where that suffices: what must be asked for at launch
 * is dynamic. */
static bool take_shared(finder *f, cuda_kernel *k) {
  const ir_program *p = f->p;
  uint64_t bytes = 0, one;
  bool dynamic = false;
  for (ir_stmt s = k->top; s; s = ir_next(p, s, k->top)) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind != IR_ALLOCATE) continue;
    ir_scope scope = (ir_scope)p->buf.v[r->alloc].scope;
    if (scope != IR_SCOPE_SHARED && scope != IR_SCOPE_SHARED_DYN) continue;
    dynamic |= scope == IR_SCOPE_SHARED_DYN;
    emit m = {.p = f->p};
    if (!emit_constant_bytes(&m, r->alloc, &one) ||
        one > (uint64_t)INT32_MAX - bytes) {
      err_set(f->e, TESS_UNSUPPORTED, "%s: the size of %s is no constant",
              entry_name(f), ir_text(p, p->buf.v[r->alloc].name));
      return false;
    }
    bytes += (one + SHARED_ALIGN - 1) / SHARED_ALIGN * SHARED_ALIGN;
  }
  if (bytes > (uint64_t)f->t->shared_optin_bytes)
    return refuse_limit(f, "bytes of shared memory", (int64_t)bytes,
                        f->t->shared_optin_bytes);
  dynamic |= bytes > (uint64_t)f->t->shared_bytes;
  if (dynamic)
    k->dynamic_shared = bytes;
  else
    k->static_shared = bytes;
  return true;
}

/* ---- parameters --------------------------------------------------------- */

/* What the kernel itself binds or allocates is no parameter, nor is a
 * constant. */
static void leave_own(const finder *f, const cuda_kernel *k, emit_uses u) {
  const ir_program *p = f->p;
  for (ir_stmt s = k->top; s; s = ir_next(p, s, k->top)) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind == IR_LOOP) u.var[r->var] = false;
    if (r->kind == IR_LET) u.var[r->let_var] = false;
    if (r->kind == IR_ALLOCATE) u.buf[r->alloc] = false;
  }
  for (ir_buf b = 1; b < p->buf.n; b++)
    if (p->buf.v[b].role == IR_ROLE_CONSTANT) u.buf[b] = false;
}

static void take_params(finder *f, cuda_kernel *k) {
  const ir_program *p = f->p;
  emit m = {.p = f->p, .scratch = f->scratch};
  emit_uses u = {arena_zalloc(f->scratch, p->buf.n),
                 arena_zalloc(f->scratch, p->var.n)};
  emit_survey(&m, k->top, u);
  leave_own(f, k, u);
  k->buf = arena_array(f->scratch, ir_buf, p->buf.n);
  k->var = arena_array(f->scratch, ir_var, p->var.n);
  for (ir_buf b = 1; b < p->buf.n; b++)
    if (u.buf[b]) k->buf[k->nbuf++] = b;
  for (ir_var v = 1; v < p->var.n; v++)
    if (u.var[v]) k->var[k->nvar++] = v;
}

/* ---- all of them -------------------------------------------------------- */

static bool is_thread_loop(const ir_stmt_rec *r) {
  return r->kind == IR_LOOP && r->loop_kind == IR_THREAD;
}

static bool add_kernel(finder *f, ir_stmt top) {
  if (f->out->n == CUDA_MAX_KERNELS) {
    err_set(f->e, TESS_LIMIT, "%s: more than %d kernels", entry_name(f),
            CUDA_MAX_KERNELS);
    return false;
  }
  cuda_kernel *k = &f->out->v[f->out->n];
  char name[BACKEND_SYMBOL];
  *k = (cuda_kernel){.top = top};
  backend_symbol(entry_name(f), name);
  snprintf(k->name, sizeof k->name, "%s_kernel%u", name, f->out->n++);
  if (!take_extents(f, k) || !check_extents(f, k) || !take_shared(f, k))
    return false;
  take_params(f, k);
  return true;
}

tess_status cuda_find_kernels(ir_program *p, arena *scratch, const target *t,
                              cuda_kernels *out, err_state *e) {
  finder f = {p, scratch, t, out, e};
  ir_stmt root = ir_entry(p)->root;
  out->n = 0;
  for (ir_stmt s = root, next; s; s = next) {
    const ir_stmt_rec *r = ir_st(p, s);
    next = ir_next(p, s, root);
    if (is_thread_loop(r)) {
      next = ir_skip(p, s, root);
      if (!add_kernel(&f, s)) return e->code;
    } else if (r->kind == IR_STORE || r->kind == IR_EVALUATE) {
      return err_set(e, TESS_UNSUPPORTED,
                     "%s: %s is computed outside of loops that are bound to "
                     "threads, where the target '%s' runs nothing",
                     entry_name(&f),
                     r->kind == IR_STORE ? ir_text(p, p->buf.v[r->buf].name)
                                         : "something",
                     t->kind);
    }
  }
  return TESS_OK;
}
