/* SPDX-License-Identifier: Apache-2.0
 * Checks the kernels of a program against the target's limits, and plans their
 * shared memory. */
#include "backends/cuda/kernel.h"
#include "backends/backend.h"
#include "ir/query.h"
#include <stdio.h>
#include <string.h>

typedef struct finder {
  ir_program *p;
  const target *t;
  err_state *e;
} finder;

static const char *entry_name(const finder *f) {
  return ir_text(f->p, ir_entry(f->p)->name);
}

/* ---- limits ------------------------------------------------------------- */

static bool refuse_limit(finder *f, const char *what, int64_t n, int64_t most) {
  err_set(f->e, TESS_UNSUPPORTED,
          "%s: a block has %lld %s, of which '%s' allows %lld", entry_name(f),
          (long long)n, what, f->t->cpu, (long long)most);
  return false;
}

/* A grid has 2^31 - 1 blocks along x, which lowering sees to, and 65535 along
 * the other axes; open extents are checked at the launch. */
static bool check_extents(finder *f, const cuda_kernel *k) {
  const int64_t *block = k->part->block, *grid = k->part->grid;
  int64_t threads = block[0] * block[1] * block[2];
  if (threads > f->t->max_threads)
    return refuse_limit(f, "threads", threads, f->t->max_threads);
  if (block[2] > 64) return refuse_limit(f, "threads along z", block[2], 64);
  for (unsigned t = 1; t < 3; t++)
    if (grid[t] > CUDA_MOST_BLOCKS) {
      err_set(f->e, TESS_UNSUPPORTED,
              "%s: a grid has %lld blocks along %s, where %d are possible",
              entry_name(f), (long long)grid[t],
              ir_thread_text((ir_thread)(IR_BLOCKIDX_X + t)), CUDA_MOST_BLOCKS);
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
  CUDA_EACH(p, k, s) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind != IR_ALLOCATE) continue;
    ir_scope scope = (ir_scope)p->buf.v[r->alloc].scope;
    if (!ir_scope_is_shared(scope)) continue;
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

/* ---- all of them -------------------------------------------------------- */

void cuda_kernel_name(const char *entry, uint32_t number, char *out) {
  char name[BACKEND_SYMBOL];
  backend_symbol(entry, name);
  snprintf(out, CUDA_NAME, "%s_kernel%u", name, number);
}

tess_status cuda_plan_kernels(ir_program *p, arena *scratch, const target *t,
                              const device_split *split, cuda_kernels *out,
                              err_state *e) {
  finder f = {p, t, e};
  out->n = split->kernel.n;
  out->v = arena_zalloc(scratch, (out->n + 1) * sizeof *out->v);
  for (uint32_t i = 0; i < out->n; i++) {
    cuda_kernel *k = &out->v[i];
    k->part = &split->kernel.v[i];
    cuda_kernel_name(entry_name(&f), i, k->name);
    if (!check_extents(&f, k) || !take_shared(&f, k)) return e->code;
  }
  return TESS_OK;
}
