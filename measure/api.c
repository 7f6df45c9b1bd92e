/* SPDX-License-Identifier: Apache-2.0
 * The public functions of kernels and of the interpreter: tess_build,
 * tess_kernel_*, tess_interpret, tess_equivalent, tess_tensor_intrin*. */
#include "backends/interp/interp.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "ir/scalar.h"
#include "ir/verify/verify.h"
#include "measure/clock.h"
#include "measure/context.h"
#include "measure/kernel.h"
#include "measure/timing.h"
#include "vm/intrin.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- building ----------------------------------------------------------- */

typedef struct building {
  tess_context *c;
  tess_program *p;
  const char *target;
  backend_form form;
  measure_build b;
  tess_kernel **kernel;
  char **text;
} building;

static tess_status build_kernel(void *ud) {
  building *w = ud;
  tess_status s = kernel_build(w->c, w->p, w->target, w->form, &w->b);
  if (s) return s;
  if (w->kernel)
    return kernel_load(w->c, w->p, w->target, &w->b.code, w->kernel);
  *w->text = ctx_text(w->c, str_get(&w->b.code), w->b.code.n);
  return TESS_OK;
}

/* Verifies the program here, where the error has a place; a worker would only
 * reject it. */
static tess_status api_check_program(void *ud) {
  building *w = ud;
  arena scratch;
  strbuf why;
  arena_init(&scratch, &w->c->heap);
  str_init(&why, &w->c->heap);
  bool ok = ir_verify(&w->p->p, &scratch, &why) &&
            ir_verify_bounds(&w->p->p, false, &scratch, &why);
  arena_free(&scratch);
  tess_status s = ok ? TESS_OK : why.bad ? str_status(&why) : TESS_INVALID;
  if (s == TESS_INVALID)
    ctx_fail(w->c, s, "the program cannot be compiled: %s", str_get(&why));
  str_free(&why);
  return s;
}

tess_status tess_build(tess_program *p, tess_target *t, tess_kernel **out) {
  building w = {.c = p->c,
                .p = p,
                .target = t ? tess_target_text(t) : "llvm",
                .form = BACKEND_CODE,
                .kernel = out};
  *out = NULL;
  ctx_begin_work(w.c);
  tess_status s = ctx_run(w.c, api_check_program, &w);
  if (!s) s = ctx_run(w.c, build_kernel, &w);
  ctx_end_work(w.c);
  measure_build_free(&w.b);
  if (s && *out) {
    tess_kernel_free(*out);
    *out = NULL;
  }
  return s;
}

const char *tess_kernel_name(tess_kernel *k) {
  return tess_program_name(k->program);
}

tess_status tess_kernel_source(tess_kernel *k, const char *what, char **out) {
  building w = {
      .c = k->c, .p = k->program, .target = k->target_text, .text = out};
  *out = NULL;
  ctx_clear(k->c);
  tess_status s = backend_find_source(backend_find(k->target.kind), what,
                                      &w.form, &k->c->err);
  if (s) return s;
  ctx_begin_work(w.c);
  s = ctx_run(w.c, build_kernel, &w);
  ctx_end_work(w.c);
  measure_build_free(&w.b);
  return s;
}

tess_kernel_fn tess_kernel_function(tess_kernel *k) {
  const backend *b = k->code.backend;
  return k->foreign || k->remote.n || !b->entry ? NULL
                                                : b->entry(k->code.kernel);
}

typedef struct runtime_asking {
  tess_context *c;
  uint32_t threads;
  const runtime *rt;
} runtime_asking;

static tess_status find_runtime(void *ud) {
  runtime_asking *a = ud;
  a->rt = context_runtime(a->c, a->threads);
  return TESS_OK;
}

const tess_runtime *tess_default_runtime(tess_context *c, uint32_t threads) {
  runtime_asking a = {c, threads ? threads : thread_cpus(), NULL};
  ctx_run(c, find_runtime, &a);
  return a.rt ? &a.rt->rt : NULL;
}

/* ---- arguments ---------------------------------------------------------- */

enum { MAX_ARGS = 256, MAX_SIZES = KERNEL_SIZES };

/* The tensors of a call, checked, and the values of symbolic extents. */
typedef struct call {
  tess_context *c;
  const ir_program *p;
  tess_kernel *k; /* to be called; NULL: the interpreter, which checks every
                   * index itself */
  uint32_t n;
  tess_tensor *const *tensor;
  void *args[MAX_ARGS];
  int64_t sizes[MAX_SIZES];
  bool known[MAX_SIZES];
} call;

static const char *param_name(const call *x, uint32_t i) {
  ir_buf b = x->p->arg.v[ir_entry(x->p)->params.at + i];
  return ir_text(x->p, x->p->buf.v[b].name);
}

/* The index of a symbolic extent among the sizes; MAX_SIZES: it is none. */
static uint32_t size_place(const call *x, ir_expr e) {
  const ir_func *f = ir_entry(x->p);
  const ir_node *n = ir_at(x->p, e);
  for (uint32_t i = 0; n->op == IR_VAR && i < f->sizes.n; i++)
    if (x->p->arg.v[f->sizes.at + i] == n->a) return i;
  return MAX_SIZES;
}

/* The value of an extent; false: it contains an unknown size. */
static bool extent_value(const call *x, ir_expr e, int64_t *out) {
  const ir_node n = *ir_at(x->p, e);
  int64_t a, b;
  if (n.op == IR_INT) return *out = n.i, true;
  if (n.op == IR_VAR) {
    uint32_t at = size_place(x, e);
    if (at == MAX_SIZES || !x->known[at]) return false;
    return *out = x->sizes[at], true;
  }
  if (n.op < IR_ADD || n.op > IR_MAX) return false;
  if (!extent_value(x, n.a, &a) || !extent_value(x, n.b, &b)) return false;
  *out = ir_fold_int((ir_op)n.op, n.dtype, a, b);
  return true;
}

static tess_status check_type(call *x, uint32_t i) {
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
static tess_status infer_sizes(call *x, uint32_t i) {
  ir_buf b = x->p->arg.v[ir_entry(x->p)->params.at + i];
  for (uint32_t d = 0; d < ir_ndim(x->p, b); d++) {
    uint32_t at = size_place(x, ir_dim(x->p, b, d));
    if (at == MAX_SIZES || x->known[at]) continue;
    x->known[at] = true;
    x->sizes[at] = x->tensor[i]->shape[d];
    if (x->sizes[at] >= 1 && x->sizes[at] <= IR_MAX_SIZE) continue;
    ir_var v = x->p->arg.v[ir_entry(x->p)->sizes.at + at];
    bool small = x->sizes[at] < 1;
    return ctx_fail(
        x->c, small ? TESS_INVALID : TESS_LIMIT,
        "argument %u, '%s': extent %u is the size '%s', which must "
        "be at %s %lld, given %lld",
        i + 1, param_name(x, i), d, ir_text(x->p, x->p->var.v[v].name),
        small ? "least" : "most", small ? 1LL : (long long)IR_MAX_SIZE,
        (long long)x->sizes[at]);
  }
  return TESS_OK;
}

/* Appends the sizes in extent e that have no known value, each once. */
static void put_unknown(const call *x, ir_expr e, strbuf *out) {
  const ir_func *f = ir_entry(x->p);
  for (uint32_t k = 0; k < f->sizes.n; k++) {
    ir_var v = x->p->arg.v[f->sizes.at + k];
    if (x->known[k] || !ir_uses_var(x->p, e, v)) continue;
    str_printf(out, "%s'%s'", out->n ? ", nor " : ": no extent is the size ",
               ir_text(x->p, x->p->var.v[v].name));
  }
}

static tess_status does_not_follow(call *x, uint32_t i, uint32_t d) {
  ir_buf b = x->p->arg.v[ir_entry(x->p)->params.at + i];
  strbuf sizes;
  str_init(&sizes, &x->c->heap);
  put_unknown(x, ir_dim(x->p, b, d), &sizes);
  tess_status s =
      sizes.bad
          ? ctx_ran_out(x->c, str_status(&sizes), "checking extents")
          : ctx_fail(x->c, TESS_UNSUPPORTED,
                     "argument %u, '%s': extent %u does not follow from the "
                     "tensors%s",
                     i + 1, param_name(x, i), d, str_get(&sizes));
  str_free(&sizes);
  return s;
}

static tess_status check_extents(call *x, uint32_t i) {
  ir_buf b = x->p->arg.v[ir_entry(x->p)->params.at + i];
  for (uint32_t d = 0; d < ir_ndim(x->p, b); d++) {
    int64_t want;
    if (!extent_value(x, ir_dim(x->p, b, d), &want))
      return does_not_follow(x, i, d);
    if (x->tensor[i]->shape[d] != want)
      return ctx_fail(x->c, TESS_TYPE,
                      "argument %u, '%s': extent %u is %lld, given %lld", i + 1,
                      param_name(x, i), d, (long long)want,
                      (long long)x->tensor[i]->shape[d]);
  }
  return TESS_OK;
}

/* Intermediate buffers and reduction domains with symbolic extents must not be
 * empty, either. */
static tess_status check_buffers(call *x) {
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

static tess_status check_reductions(call *x) {
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
  call *x = ud;
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
static tess_status check_argument_sizes(call *x, uint32_t n) {
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

static bool overlap(const tess_tensor *a, const tess_tensor *b) {
  const char *x = a->data, *y = b->data;
  if (a->resident || b->resident) return a == b;
  return a != b ? x < y + b->bytes && y < x + a->bytes : a->bytes > 0;
}

/* Whether the program may write to parameter i. */
static bool is_param_written(const call *x, uint32_t i) {
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
static tess_status check_no_alias(call *x) {
  for (uint32_t i = 1; i < x->n; i++)
    for (uint32_t k = 0; k < i; k++)
      if (overlap(x->tensor[k], x->tensor[i]) &&
          (is_param_written(x, k) || is_param_written(x, i)))
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
static tess_status check_place(call *x, uint32_t i) {
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

static tess_status bind_arguments(call *x) {
  const ir_func *f = ir_entry(x->p);
  ctx_clear(x->c);
  if (f->params.n > MAX_ARGS || f->sizes.n > MAX_SIZES)
    return ctx_fail(x->c, TESS_LIMIT, "the program has too many parameters");
  if (x->n != f->params.n)
    return ctx_fail(x->c, TESS_TYPE, "'%s' takes %u tensors, given %u",
                    ir_text(x->p, f->name), f->params.n, x->n);
  tess_status s = TESS_OK;
  for (uint32_t i = 0; !s && i < x->n; i++) s = check_type(x, i);
  for (uint32_t i = 0; !s && i < x->n; i++) s = infer_sizes(x, i);
  for (uint32_t i = 0; !s && i < x->n; i++) s = check_extents(x, i);
  if (!s) s = check_argument_sizes(x, f->sizes.n);
  for (uint32_t i = 0; !s && i < x->n; i++) s = check_place(x, i);
  if (!s) s = check_no_alias(x);
  for (uint32_t i = 0; !s && i < x->n; i++) x->args[i] = x->tensor[i]->data;
  return s;
}

/* ---- running ------------------------------------------------------------ */

typedef struct running {
  call x;
  tess_kernel *k;
  const tess_runtime *rt;
  int32_t status;
  double min_time;
  measure_result times;
} running;

static tess_status kernel_failed(const running *w) {
  if (w->status == TESS_CANCELLED)
    return ctx_fail(w->x.c, TESS_CANCELLED, "cancelled");
  if (w->status == TESS_NOMEM)
    return ctx_fail(w->x.c, TESS_NOMEM, "memory ran out in the kernel");
  bool known = w->status > 0 && w->status <= TESS_UNWRITTEN;
  return ctx_fail(w->x.c, TESS_LAUNCH_ERROR, "the kernel returned %d (%s)",
                  w->status,
                  known ? err_status_text((tess_status)w->status) : "?");
}

/* Converts the parameters whose layout the schedule transformed. */
static tess_status convert_layouts(running *w) {
  tess_kernel *k = w->k;
  bundle_args_free(&k->made);
  w->status = bundle_convert(&k->code, w->x.args, w->rt, &k->made);
  if (w->status) return kernel_failed(w);
  bundle_replace(&k->code, &k->made, w->x.args);
  return TESS_OK;
}

static tess_status prepare_call(running *w, tess_kernel *k, uint32_t n,
                                tess_tensor *const *args) {
  *w = (running){
      .x = {.c = k->c, .p = &k->program->p, .k = k, .n = n, .tensor = args},
      .k = k};
  if (k->foreign) return ctx_fail(k->c, TESS_UNSUPPORTED, "%s", k->foreign);
  tess_status s = bind_arguments(&w->x);
  if (s || k->remote.n) return s;
  w->rt = tess_default_runtime(
      k->c, k->threads ? k->threads : (uint32_t)k->target.num_cores);
  return w->rt ? convert_layouts(w) : k->c->err.code;
}

void tess_kernel_set_threads(tess_kernel *k, uint32_t threads) {
  k->threads = threads;
}

static int32_t launch_once(running *w) {
  const bundle *code = &w->k->code;
  return code->backend->launch(code->kernel, w->x.args, w->x.sizes, w->rt);
}

/* A kernel that only workers may load is called in one, with copies of tensors
 * that are not on its device; *times as of measure_call_kernel, to be freed. */
static tess_status call_remotely(running *w, double min_time) {
  tess_kernel *k = w->k;
  measure_pool *pool;
  size_t bytes[MAX_ARGS];
  bool written[MAX_ARGS];
  uint64_t resident[MAX_ARGS];
  measure_call asked = {.target = k->target_text,
                        .code = &k->remote,
                        .n = w->x.n,
                        .args = w->x.args,
                        .bytes = bytes,
                        .resident = resident,
                        .written = written,
                        .nsizes = ir_entry(w->x.p)->sizes.n,
                        .sizes = w->x.sizes,
                        .min_time = min_time,
                        .repeats = measure_default_policy(1).repeats,
                        .threads = k->threads ? k->threads
                                              : (uint32_t)k->target.num_cores};
  for (uint32_t i = 0; i < w->x.n; i++) {
    bytes[i] = w->x.tensor[i]->bytes;
    resident[i] = w->x.tensor[i]->resident;
    written[i] = is_param_written(&w->x, i);
  }
  tess_status s = measure_context_pool(k->c, &pool);
  if (s) return s;
  s = measure_call_kernel(pool, &asked, &w->times);
  if (!s) return s;
  const char *why = str_get(&w->times.message);
  return ctx_fail(k->c, s, "%s", why && *why ? why : err_status_text(s));
}

typedef struct remote_call {
  running *w;
  double min_time;
} remote_call;

static tess_status run_remotely(void *ud) {
  remote_call *r = ud;
  return call_remotely(r->w, r->min_time);
}

tess_status tess_kernel_run(tess_kernel *k, uint32_t n,
                            tess_tensor *const *args) {
  running w;
  tess_status s = prepare_call(&w, k, n, args);
  if (s) return s;
  if (k->remote.n) {
    remote_call r = {&w, 0};
    ctx_begin_work(k->c);
    s = ctx_run(k->c, run_remotely, &r);
    ctx_end_work(k->c);
    measure_result_free(&w.times);
    return s;
  }
  w.status = launch_once(&w);
  return w.status ? kernel_failed(&w) : TESS_OK;
}

tess_status tess_kernel_prepare(tess_kernel *k, uint32_t n,
                                tess_tensor *const *args, void **out) {
  running w;
  tess_status s = prepare_call(&w, k, n, args);
  if (!s && k->remote.n)
    s = ctx_fail(k->c, TESS_UNSUPPORTED,
                 "the kernel runs on a device, in a worker: it has no "
                 "arguments in this process");
  for (uint32_t i = 0; !s && i < n; i++) out[i] = w.x.args[i];
  return s;
}

static bool launch_timed(void *ud, uint64_t runs, double *seconds) {
  running *w = ud;
  if (thread_flag_is_raised(&w->x.c->stop)) w->status = TESS_CANCELLED;
  double start = clock_now();
  for (uint64_t i = 0; i < runs && !w->status; i++) w->status = launch_once(w);
  *seconds = clock_now() - start;
  return w->status == 0;
}

/* Times a kernel after one warm-up run and one run for an estimate. */
static tess_status time_kernel(void *ud) {
  running *w = ud;
  if (w->k->remote.n)
    return call_remotely(
        w, w->min_time > 0 ? w->min_time : measure_default_policy(1).min_time);
  mem_heap *heap = &w->x.c->heap;
  measure_result *out = &w->times;
  double first, second;
  measure_policy p = measure_default_policy(1);
  timing_limits l = {.min_time = w->min_time > 0 ? w->min_time : p.min_time,
                     .repeats = p.repeats,
                     .deadline = INFINITY};
  bool ok = launch_timed(w, 1, &first) && launch_timed(w, 1, &second);
  if (ok) {
    timing_subject s = {launch_timed, w, fmin(first, second), false};
    ok = timing_take(heap, &l, 1, &s, &out);
  }
  if (!ok) return kernel_failed(w);
  timing_summarize(heap, out);
  return TESS_OK;
}

tess_status tess_kernel_time(tess_kernel *k, uint32_t n,
                             tess_tensor *const *args, double min_time,
                             tess_timing *out) {
  running w;
  tess_status s = prepare_call(&w, k, n, args);
  if (s) return s;
  if (!(min_time >= 0 && isfinite(min_time)))
    return ctx_fail(k->c, TESS_INVALID,
                    "min_time is %g, not a time in seconds: give a number that "
                    "is at least 0",
                    min_time);
  s = ctx_fits(k->c, tess_timing, out);
  if (s) return s;
  w.min_time = min_time;
  ctx_begin_work(k->c);
  s = ctx_run(k->c, time_kernel, &w);
  ctx_end_work(k->c);
  const measure_result *r = &w.times;
  const tess_timing timing = {.median = r->median,
                              .min = r->min,
                              .mean = r->mean,
                              .stddev = r->stddev,
                              .repeats = r->sample.n,
                              .runs = r->runs};
  if (!s) s = ctx_give(k->c, tess_timing, &timing, out);
  if (k->remote.n)
    measure_result_free(&w.times);
  else
    vec_free(&k->c->heap, &w.times.sample);
  return s;
}

/* ---- the interpreter ---------------------------------------------------- */

typedef struct asking {
  tess_context *c;
  tess_program *p, *q;
  const call *x;
  uint64_t seed;
  interp in;
} asking;

static tess_status report_interp_error(tess_context *c, const ir_program *p,
                                       tess_status s, const interp_error *e) {
  strbuf text;
  if (e->fault == INTERP_LIMIT && !strcmp(e->what, "memory"))
    return err_ran_out(&c->err, &c->heap, s, "interpreting '%s'",
                       ir_text(p, ir_entry(p)->name));
  str_init(&text, &c->heap);
  interp_error_text(p, e, &text);
  const char *what = str_get(&text);
  if (what && *what) err_set(&c->err, s, "%s", what);
  str_free(&text);
  return s;
}

static tess_status run_interpreter(void *ud) {
  asking *a = ud;
  interp_arg args[MAX_ARGS];
  interp_error e;
  interp_options o = {.domain = INTERP_NATIVE,
                      .nsizes = ir_entry(a->x->p)->sizes.n,
                      .sizes = a->x->sizes,
                      .stop = &a->c->stop};
  for (uint32_t i = 0; i < a->x->n; i++)
    args[i] = (interp_arg){a->x->args[i], a->x->tensor[i]->bytes};
  interp_init(&a->in, &a->c->heap);
  tess_status s = interp_run(&a->in, a->x->p, a->x->n, args, &o, &e);
  return s ? report_interp_error(a->c, a->x->p, s, &e) : TESS_OK;
}

tess_status tess_interpret(tess_program *p, uint32_t n,
                           tess_tensor *const *args) {
  call x = {.c = p->c, .p = &p->p, .n = n, .tensor = args};
  asking a = {.c = p->c, .p = p, .x = &x};
  tess_status s = bind_arguments(&x);
  ctx_begin_work(p->c);
  if (!s) s = ctx_run(p->c, run_interpreter, &a);
  ctx_end_work(p->c);
  interp_free(&a.in);
  return s;
}

/* A second program that reads uninitialized elements differs from the first,
 * whatever values it finds. */
static tess_status mismatch_error(tess_context *c) {
  return err_set(&c->err, TESS_MISMATCH, "in the second program %s",
                 c->err.message);
}

static tess_status check_equivalent(void *ud) {
  const asking *a = ud;
  interp_error e;
  interp_options o = {.stop = &a->c->stop};
  int which = 0;
  tess_status s =
      interp_equal(&a->c->heap, &a->p->p, &a->q->p, a->seed, &o, &e, &which);
  if (s) report_interp_error(a->c, which ? &a->q->p : &a->p->p, s, &e);
  return s == TESS_UNWRITTEN && which ? mismatch_error(a->c) : s;
}

tess_status tess_equivalent(tess_program *p, tess_program *q, uint64_t seed) {
  asking a = {.c = p->c, .p = p, .q = q, .seed = seed};
  ctx_begin_work(p->c);
  tess_status s = ctx_run(p->c, check_equivalent, &a);
  ctx_end_work(p->c);
  return s;
}

tess_status tess_tensor_intrin(tess_context *c, const char *name,
                               tess_program *desc, tess_program *impl,
                               int override) {
  if (!name || !desc || !impl || desc->c != c || impl->c != c)
    return ctx_fail(c, TESS_INVALID,
                    "tensor intrinsic: a name and two programs of the "
                    "context are needed");
  tess_status s = TESS_OK;
  ctx_begin_work(c);
  for (uint64_t seed = 1; !s && seed <= 2; seed++)
    s = tess_equivalent(desc, impl, seed);
  ctx_end_work(c);
  return s ? s : vm_intrin_add(c, name, &desc->p, &impl->p, override != 0);
}

tess_status tess_tensor_intrin_call(tess_context *c, const char *name,
                                    tess_program *desc, const char *how,
                                    int override) {
  if (!name || !desc || !how || desc->c != c)
    return ctx_fail(c, TESS_INVALID,
                    "tensor intrinsic: a name, a program of the context and "
                    "a call are needed");
  return vm_intrin_add_call(c, name, &desc->p, how, override != 0);
}
