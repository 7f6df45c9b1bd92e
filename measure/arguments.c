/* SPDX-License-Identifier: Apache-2.0
 * Checks of a call's tensors: types, symbolic extents, places, aliasing. */
#include "measure/arguments.h"

#include "ir/edit.h"
#include "ir/query.h"
#include "ir/scalar.h"
#include "ir/verify/verify.h"
#include <stdio.h>
#include <string.h>

static const char *param_name(const kernel_call *x, uint32_t i) {
  ir_buf b = x->p->arg.v[ir_entry(x->p)->params.at + i];
  return ir_text(x->p, x->p->buf.v[b].name);
}

/* The index of a symbolic extent among the sizes; ARGUMENTS_SIZES: it is none.
 */
static uint32_t size_place(const kernel_call *x, ir_expr e) {
  const ir_func *f = ir_entry(x->p);
  const ir_node *n = ir_at(x->p, e);
  for (uint32_t i = 0; n->op == IR_VAR && i < f->sizes.n; i++)
    if (x->p->arg.v[f->sizes.at + i] == n->a) return i;
  return ARGUMENTS_SIZES;
}

/* The value of an extent; false: it contains an unknown size. */
static bool extent_value(const kernel_call *x, ir_expr e, int64_t *out) {
  const ir_node n = *ir_at(x->p, e);
  int64_t a, b;
  if (n.op == IR_INT) return *out = n.i, true;
  if (n.op == IR_VAR) {
    uint32_t at = size_place(x, e);
    if (at == ARGUMENTS_SIZES || !x->known[at]) return false;
    return *out = x->sizes[at], true;
  }
  if (n.op < IR_ADD || n.op > IR_MAX) return false;
  if (!extent_value(x, n.a, &a) || !extent_value(x, n.b, &b)) return false;
  *out = ir_fold_int((ir_op)n.op, n.dtype, a, b);
  return true;
}

static tess_status check_type(kernel_call *x, uint32_t i) {
  ir_buf b = x->p->arg.v[ir_entry(x->p)->params.at + i];
  tess_dtype want = x->p->buf.v[b].dtype;
  const tess_tensor *t = x->tensor[i];
  char has[32], needs[32];
  if (!t)
    return ctx_fail(x->c, TESS_INVALID, "argument %u, '%s', is NULL", i + 1,
                    param_name(x, i));
  if (t->ndim == ir_ndim(x->p, b) && ir_dtype_eq(t->dtype, want))
    return TESS_OK;
  tess_dtype_text(t->dtype, has);
  tess_dtype_text(want, needs);
  return ctx_fail(x->c, TESS_TYPE,
                  "argument %u, '%s', is %s with %u dimensions, given %s "
                  "with %u",
                  i + 1, param_name(x, i), needs, ir_ndim(x->p, b), has,
                  t->ndim);
}

/* Infers sizes from the extents that are a single variable.  Proofs and
 * simplifications assume that sizes are at least 1 and that index arithmetic on
 * them fits int64, hence the bounds. */
static tess_status infer_sizes(kernel_call *x, uint32_t i) {
  ir_buf b = x->p->arg.v[ir_entry(x->p)->params.at + i];
  for (uint32_t d = 0; d < ir_ndim(x->p, b); d++) {
    uint32_t at = size_place(x, ir_dim(x->p, b, d));
    if (at == ARGUMENTS_SIZES || x->known[at]) continue;
    x->known[at] = true;
    x->sizes[at] = x->tensor[i]->shape[d];
    if (x->sizes[at] >= 1 && x->sizes[at] <= IR_MAX_SIZE) continue;
    ir_var v = x->p->arg.v[ir_entry(x->p)->sizes.at + at];
    bool small = x->sizes[at] < 1;
    return ctx_fail(
        x->c, small ? TESS_INVALID : TESS_LIMIT,
        "argument %u, '%s': extent %u, counted from 0, is the size '%s', which "
        "must be at %s %lld, given %lld",
        i + 1, param_name(x, i), d, ir_text(x->p, x->p->var.v[v].name),
        small ? "least" : "most", small ? 1LL : (long long)IR_MAX_SIZE,
        (long long)x->sizes[at]);
  }
  return TESS_OK;
}

/* Appends the sizes in extent e that have no known value, each once. */
static void put_unknown(const kernel_call *x, ir_expr e, strbuf *out) {
  const ir_func *f = ir_entry(x->p);
  for (uint32_t k = 0; k < f->sizes.n; k++) {
    ir_var v = x->p->arg.v[f->sizes.at + k];
    if (x->known[k] || !ir_uses_var(x->p, e, v)) continue;
    str_printf(out, "%s'%s'", out->n ? ", nor " : ": no extent is the size ",
               ir_text(x->p, x->p->var.v[v].name));
  }
}

static tess_status does_not_follow(kernel_call *x, uint32_t i, uint32_t d) {
  ir_buf b = x->p->arg.v[ir_entry(x->p)->params.at + i];
  strbuf sizes;
  str_init(&sizes, &x->c->heap);
  put_unknown(x, ir_dim(x->p, b, d), &sizes);
  tess_status s =
      sizes.bad ? ctx_ran_out(x->c, str_status(&sizes), "checking extents")
                : ctx_fail(x->c, TESS_UNSUPPORTED,
                           "argument %u, '%s': extent %u, counted from 0, does "
                           "not follow from the tensors%s",
                           i + 1, param_name(x, i), d, str_get(&sizes));
  str_free(&sizes);
  return s;
}

static tess_status check_extents(kernel_call *x, uint32_t i) {
  ir_buf b = x->p->arg.v[ir_entry(x->p)->params.at + i];
  for (uint32_t d = 0; d < ir_ndim(x->p, b); d++) {
    int64_t want;
    if (!extent_value(x, ir_dim(x->p, b, d), &want))
      return does_not_follow(x, i, d);
    if (x->tensor[i]->shape[d] != want)
      return ctx_fail(
          x->c, TESS_TYPE,
          "argument %u, '%s': extent %u, counted from 0, is %lld, given %lld",
          i + 1, param_name(x, i), d, (long long)want,
          (long long)x->tensor[i]->shape[d]);
  }
  return TESS_OK;
}

/* Intermediate buffers and reduction domains with symbolic extents must not be
 * empty, either. */
static tess_status check_buffers(kernel_call *x) {
  const ir_program *p = x->p;
  const ir_block_rec *root = ir_blk(p, ir_entry(p)->root);
  for (uint32_t i = root->allocs.at; i < root->allocs.at + root->allocs.n;
       i++) {
    ir_buf b = p->arg.v[i];
    int64_t n;
    for (uint32_t d = 0; d < ir_ndim(p, b); d++)
      if (extent_value(x, ir_dim(p, b, d), &n) && n < 1)
        return ctx_fail(x->c, TESS_INVALID,
                        "buffer '%s': extent %u must be at least 1, and is "
                        "%lld with tensors of these sizes",
                        ir_text(p, p->buf.v[b].name), d, (long long)n);
  }
  return TESS_OK;
}

static tess_status check_reductions(kernel_call *x) {
  const ir_program *p = x->p;
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt s = root; s; s = ir_next(p, s, root)) {
    if (!ir_is_block(p, s)) continue;
    ir_span it = ir_blk(p, s)->iters;
    int64_t n;
    for (uint32_t i = it.at; i < it.at + it.n; i++)
      if (p->iter.v[i].kind == IR_REDUCE &&
          extent_value(x, p->iter.v[i].extent, &n) && n < 1)
        return ctx_fail(x->c, TESS_INVALID,
                        "block '%s' reduces over '%s', whose extent must be at "
                        "least 1 and is %lld with tensors of these sizes",
                        ir_text(p, ir_blk(p, s)->name),
                        ir_text(p, p->var.v[p->iter.v[i].var].name),
                        (long long)n);
  }
  return TESS_OK;
}

/* Rejects sizes at which an index of the described program leaves its tensor;
 * the scheduled program would give less readable places. */
static tess_status check_indices(void *ud) {
  kernel_call *x = ud;
  const tess_program *p = x->k->program;
  arena scratch;
  strbuf why;
  arena_init(&scratch, &x->c->heap);
  str_init(&why, &x->c->heap);
  tess_status s = ir_verify_bounds_at(p->origin ? &p->origin->p : &p->p,
                                      x->sizes, &scratch, &why);
  if (s == TESS_INVALID)
    ctx_fail(x->c, s, "with tensors of these sizes, %s", str_get(&why));
  arena_free(&scratch);
  str_free(&why);
  return s;
}

/* The checks that depend on sizes; skipped if the kernel's last call had the
 * same sizes, which is the common case. */
static tess_status check_argument_sizes(kernel_call *x, uint32_t n) {
  tess_kernel *k = x->k;
  size_t bytes = n * sizeof *x->sizes;
  if (!n || (k && k->fits && !memcmp(k->sizes, x->sizes, bytes)))
    return TESS_OK;
  tess_status s = check_buffers(x);
  if (!s) s = check_reductions(x);
  if (s || !k) return s;
  s = ctx_run(x->c, check_indices, x);
  k->fits = s == TESS_OK;
  memcpy(k->sizes, x->sizes, bytes);
  return s;
}

/* ---- aliasing ----------------------------------------------------------- */

bool arguments_written(const kernel_call *x, uint32_t i) {
  ir_buf b = x->p->arg.v[ir_entry(x->p)->params.at + i];
  ir_stmt root = ir_entry(x->p)->root;
  if (x->p->buf.v[b].role == IR_ROLE_OUTPUT) return true;
  for (ir_stmt s = root; s; s = ir_next(x->p, s, root))
    if (ir_st(x->p, s)->kind == IR_STORE && ir_st(x->p, s)->buf == b)
      return true;
  return false;
}

/* Kernels are compiled for parameters that do not alias where one is
 * written. */
static tess_status check_no_alias(kernel_call *x) {
  for (uint32_t i = 1; i < x->n; i++)
    for (uint32_t k = 0; k < i; k++)
      if (tensor_overlaps(x->tensor[k], x->tensor[i]) &&
          (arguments_written(x, k) || arguments_written(x, i)))
        return ctx_fail(x->c, TESS_INVALID,
                        "arguments %u, '%s', and %u, '%s', share memory, and "
                        "one of them is written: pass a copy of one",
                        k + 1, param_name(x, k), i + 1, param_name(x, i));
  return TESS_OK;
}

/* Where kernels of k run: "opencl:0"; "": in this process. */
static void find_device(const tess_kernel *k, char out[24]) {
  out[0] = '\0';
  if (k && k->remote.n)
    snprintf(out, 24, "%.15s:%lld", k->target.kind,
             (long long)k->target.device);
}

/* Tensors on a device are for kernels that run there. */
static tess_status check_place(kernel_call *x, uint32_t i) {
  const char *is = x->tensor[i]->device;
  char wanted[24];
  find_device(x->k, wanted);
  if (!is[0] || !strcmp(is, wanted)) return TESS_OK;
  return ctx_fail(x->c, TESS_UNSUPPORTED,
                  "argument %u, '%s', is on '%s', and '%s' runs %s%s: pass a "
                  "copy (t:to \"%s\")",
                  i + 1, param_name(x, i), is,
                  ir_text(x->p, ir_entry(x->p)->name),
                  wanted[0] ? "on " : "in this process", wanted,
                  wanted[0] ? wanted : "cpu");
}

static tess_status check_count(kernel_call *x) {
  const ir_func *f = ir_entry(x->p);
  ctx_clear(x->c);
  if (f->params.n > ARGUMENTS_MAX || f->sizes.n > ARGUMENTS_SIZES)
    return ctx_fail(x->c, TESS_LIMIT, "the program has too many parameters");
  if (x->n != f->params.n)
    return ctx_fail(x->c, TESS_TYPE, "'%s' takes %u tensors, given %u",
                    ir_text(x->p, f->name), f->params.n, x->n);
  return TESS_OK;
}

tess_status arguments_shape(kernel_call *x, uint32_t i, int64_t *shape) {
  tess_status s = check_count(x);
  if (!s && i >= x->n)
    s = ctx_fail(x->c, TESS_NOT_FOUND,
                 "there is no parameter %u, counted from 0", i);
  for (uint32_t k = 0; !s && k < x->n; k++)
    if (x->tensor[k]) s = check_type(x, k);
  for (uint32_t k = 0; !s && k < x->n; k++)
    if (x->tensor[k]) s = infer_sizes(x, k);
  if (s) return s;
  ir_buf b = x->p->arg.v[ir_entry(x->p)->params.at + i];
  for (uint32_t d = 0; d < ir_ndim(x->p, b); d++)
    if (!extent_value(x, ir_dim(x->p, b, d), &shape[d]))
      return does_not_follow(x, i, d);
  return TESS_OK;
}

tess_status arguments_bind(kernel_call *x) {
  tess_status s = check_count(x);
  const ir_func *f = ir_entry(x->p);
  for (uint32_t i = 0; !s && i < x->n; i++) s = check_type(x, i);
  for (uint32_t i = 0; !s && i < x->n; i++) s = infer_sizes(x, i);
  for (uint32_t i = 0; !s && i < x->n; i++) s = check_extents(x, i);
  if (!s) s = check_argument_sizes(x, f->sizes.n);
  for (uint32_t i = 0; !s && i < x->n; i++) s = check_place(x, i);
  if (!s) s = check_no_alias(x);
  for (uint32_t i = 0; !s && i < x->n; i++) x->args[i] = x->tensor[i]->data;
  return s;
}
