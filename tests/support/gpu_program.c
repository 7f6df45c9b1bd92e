/* SPDX-License-Identifier: Apache-2.0
 * The host's part of a program for a device: workspace, and launches in the
 * program's order. */
#include "support/gpu_program.h"
#include "backends/backend.h"
#include "backends/cuda/kernel.h"
#include "ir/query.h"
#include "lower/lower.h"
#include <stdlib.h>
#include <string.h>

typedef struct host {
  ir_program *p;
  arena *scratch;
  const gpu_program_options *o;
  cuda_kernels *all;
  gpu_module *m;
  gpu_counts *counts;
  gpu_span *buf; /* by ir_buf */
  int64_t *var;  /* by ir_var */
  err_state *e;
} host;

static size_t bytes_of(const host *h, ir_buf b) {
  emit m = {.p = h->p};
  uint64_t n = 0;
  return emit_constant_bytes(&m, b, &n) ? (size_t)n : 0;
}

static tess_status launch(host *h, const cuda_kernel *k) {
  uint32_t n = k->nbuf + k->nvar;
  void **args = arena_array(h->scratch, void *, n + 1);
  gpu_span *span = arena_array(h->scratch, gpu_span, k->nbuf + 1);
  char why[GPU_WHY];
  for (uint32_t i = 0; i < k->nbuf; i++) {
    span[i] = h->buf[k->buf[i]];
    args[i] = &span[i].at;
  }
  for (uint32_t i = 0; i < k->nvar; i++) args[k->nbuf + i] = &h->var[k->var[i]];
  gpu_launch l = {.kernel = k->name,
                  .dynamic_shared = k->dynamic_shared,
                  .args = args,
                  .nspans = k->nbuf,
                  .span = span,
                  .reversed = h->o->reversed};
  for (unsigned t = 0; t < 3; t++) {
    l.grid[t] = k->extent[IR_BLOCKIDX_X + t];
    l.block[t] = k->extent[IR_THREADIDX_X + t];
  }
  return gpu_run(h->m, &l, h->counts, why)
             ? TESS_OK
             : err_set(h->e, TESS_WRONG_RESULT, "emulator: %s", why);
}

static tess_status run_list(host *h, ir_stmt s);

static tess_status run_loop(host *h, const ir_stmt_rec *r) {
  int64_t n = 0;
  tess_status st = TESS_OK;
  if (!ir_const_int(h->p, r->extent, &n))
    return err_set(h->e, TESS_UNSUPPORTED, "a loop of the host's over a size");
  for (int64_t i = 0; i < n && !st; i++) {
    h->var[r->var] = i;
    st = run_list(h, r->body);
  }
  return st;
}

static tess_status run_statement(host *h, ir_stmt s) {
  const ir_stmt_rec r = *ir_st(h->p, s);
  for (uint32_t i = 0; i < h->all->n; i++)
    if (h->all->v[i].top == s) return launch(h, &h->all->v[i]);
  if (r.kind == IR_LOOP) return run_loop(h, &r);
  if (r.kind == IR_ALLOCATE) {
    gpu_span *b = &h->buf[r.alloc];
    b->bytes = bytes_of(h, r.alloc);
    b->at = aligned_alloc(64, (b->bytes + 63) / 64 * 64 + 64);
    memset(b->at, 0xff, b->bytes);
    tess_status st = run_list(h, r.body);
    free(b->at);
    return st;
  }
  return r.kind == IR_BLOCK || r.kind == IR_DEAD
             ? run_list(h, r.body)
             : err_set(h->e, TESS_UNSUPPORTED, "a statement of the host's");
}

static tess_status run_list(host *h, ir_stmt s) {
  tess_status st = TESS_OK;
  for (; s && !st; s = ir_st(h->p, s)->next) st = run_statement(h, s);
  return st;
}

static void bind_params(host *h, void *const *args, const int64_t *sizes) {
  const ir_program *p = h->p;
  const ir_func *f = ir_entry(p);
  for (uint32_t i = 0; i < f->params.n; i++) {
    ir_buf b = p->arg.v[f->params.at + i];
    size_t n = bytes_of(h, b);
    h->buf[b] = (gpu_span){args[i], n ? n : SIZE_MAX / 2};
  }
  for (uint32_t i = 0; i < f->sizes.n; i++)
    h->var[p->arg.v[f->sizes.at + i]] = sizes[i];
}

static tess_status compile(host *h, const target *t, strbuf *ir) {
  lower_options o = {.vector_bytes = (uint32_t)t->vector_bytes};
  char why[GPU_WHY];
  tess_status s = lower_program(h->p, h->scratch, &o, h->e);
  if (!s) s = cuda_find_kernels(h->p, h->scratch, t, h->all, h->e);
  if (!s)
    s = backend_find("cuda")->compile(h->p, h->scratch, t, BACKEND_IR, ir,
                                      h->e);
  if (s) return s;
  h->m = gpu_load(ir->v, ir->n, why);
  return h->m ? TESS_OK : err_set(h->e, TESS_INTERNAL, "emulator: %s", why);
}

tess_status gpu_run_program(ir_program *p, arena *scratch,
                            const gpu_program_options *o, void *const *args,
                            const int64_t *sizes, gpu_counts *counts,
                            err_state *e) {
  target t;
  gpu_counts own = {0};
  strbuf ir;
  host h = {.p = p, .scratch = scratch, .o = o, .e = e};
  tess_status s =
      target_parse(&t, o->target ? o->target : "cuda -arch=sm_80", e);
  if (s) return s;
  h.counts = counts ? counts : &own;
  h.all = arena_zalloc(scratch, sizeof *h.all);
  str_init(&ir, p->heap);
  s = compile(&h, &t, &ir);
  if (!s) {
    h.buf = arena_zalloc(scratch, p->buf.n * sizeof *h.buf);
    h.var = arena_zalloc(scratch, p->var.n * sizeof *h.var);
    bind_params(&h, args, sizes);
    s = run_list(&h, ir_st(p, ir_entry(p)->root)->body);
  }
  gpu_unload(h.m);
  str_free(&ir);
  return s;
}
