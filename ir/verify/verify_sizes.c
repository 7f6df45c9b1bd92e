/* SPDX-License-Identifier: Apache-2.0
 * Bounds checking of a program for given values of its sizes: indices that are
 * not provably out of bounds for all sizes may be for these. */
#include "ir/edit.h"
#include "ir/query.h"

typedef struct sizing {
  ir_program *p;
  ir_subst sub;
} sizing;

static void set_shapes(sizing *z) {
  ir_program *p = z->p;
  for (ir_buf b = 1; b < p->buf.n; b++) {
    uint32_t n = ir_ndim(p, b);
    ir_expr *dim = arena_array(z->sub.scratch, ir_expr, n + 1);
    for (uint32_t d = 0; d < n; d++)
      dim[d] = ir_subst_expr(&z->sub, ir_dim(p, b, d));
    ir_span shape = ir_arg_span(p, n, dim);
    p->buf.v[b].shape = shape;
  }
}

/* A variable like v whose bounds are those of the domain. */
static ir_var narrow_bounds(sizing *z, ir_var v, ir_stmt owner, ir_expr lo,
                            ir_expr extent) {
  int64_t min, max;
  lo = ir_subst_expr(&z->sub, lo);
  extent = ir_subst_expr(&z->sub, extent);
  ir_domain_bounds(z->p, lo, extent, &min, &max);
  ir_var w = ir_var_like(z->p, v, min, max);
  z->p->var.v[w].owner = owner;
  ir_subst_var(&z->sub, v, ir_ref(z->p, w));
  ir_subst_restart(&z->sub);
  return w;
}

static void set_statement(sizing *z, ir_stmt s) {
  ir_program *p = z->p;
  const ir_stmt_rec r = *ir_st(p, s);
  if (r.kind == IR_LOOP) {
    ir_var w = narrow_bounds(z, r.var, s, r.lo, r.extent);
    ir_st(p, s)->var = w;
  } else if (r.kind == IR_BLOCK) {
    ir_span it = ir_blk(p, s)->iters;
    for (uint32_t i = it.at; i < it.at + it.n; i++) {
      ir_iter v = p->iter.v[i];
      ir_var w = narrow_bounds(z, v.var, s, v.lo, v.extent);
      p->iter.v[i].var = w;
    }
  }
  ir_subst_head(&z->sub, s, true);
}

static void set_sizes(ir_program *p, arena *scratch, const int64_t *sizes) {
  sizing z = {.p = p};
  ir_subst_init(&z.sub, p, scratch);
  const ir_func f = *ir_entry(p);
  for (uint32_t i = 0; i < f.sizes.n; i++)
    ir_subst_var(&z.sub, p->arg.v[f.sizes.at + i], ir_index(p, sizes[i]));
  set_shapes(&z);
  for (ir_stmt s = f.root; s; s = ir_next(p, s, f.root)) set_statement(&z, s);
}

typedef struct verifying {
  ir_program copy;
  const ir_program *p;
  arena *scratch;
  const int64_t *sizes;
  strbuf *why;
  bool ok;
} verifying;

static tess_status verify_narrowed(void *ud) {
  verifying *v = ud;
  ir_program_init(&v->copy, v->p->heap);
  ir_program_copy(&v->copy, v->p);
  set_sizes(&v->copy, v->scratch, v->sizes);
  v->ok = ir_verify_bounds(&v->copy, false, v->scratch, v->why);
  return TESS_OK;
}

tess_status ir_verify_bounds_at(const ir_program *p, const int64_t *sizes,
                                arena *scratch, strbuf *why) {
  verifying v = {.copy.heap = p->heap,
                 .p = p,
                 .scratch = scratch,
                 .sizes = sizes,
                 .why = why};
  tess_status s = mem_protect(p->heap, verify_narrowed, &v);
  ir_program_free(&v.copy);
  if (s || v.ok) return s;
  return why->bad ? str_status(why) : TESS_INVALID;
}
