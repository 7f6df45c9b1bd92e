/* SPDX-License-Identifier: Apache-2.0
 * Allocates, fills, resets and checks the tensors of a workload's
 * measurements. */
#include "measure/bench.h"
#include "base/vec.h"
#include "ir/query.h"
#include "measure/tensor/room.h"
#include <string.h>

/* ---- contents ----------------------------------------------------------- */

static bool must_agree_exactly(const ir_program *p, const range_plan *r) {
  const ir_func *f = ir_entry(p);
  for (uint32_t i = 0; i < f->params.n; i++) {
    ir_buf b = p->arg.v[f->params.at + i];
    if (r->use[b].written && (r->fact[b].roundings > 0 || r->fact[b].jumps))
      return false;
  }
  return true;
}

/* The largest range of input integers for which all sums are exact; 0: none, or
 * an argmin or argmax would depend on ties. */
static int64_t choose_range(const ir_program *p, arena *scratch,
                            range_plan *r) {
  for (int64_t range = FILL_RANGE; range > 0; range /= 2) {
    range_find(p, scratch, range, r);
    if (!r->chooses && must_agree_exactly(p, r)) return range;
  }
  range_find(p, scratch, 0, r);
  return 0;
}

/* Signed numbers, unless the program needs non-negative ones. */
static fill_how how_to_fill(const range_plan *r, int64_t range) {
  if (range) return FILL_INTEGERS;
  return r->wants_nonneg ? FILL_RANDOM : FILL_SIGNED;
}

static void fill_param(const bench *b, uint32_t i, const range_plan *r,
                       int64_t range) {
  bench_param *x = &b->param[i];
  interp_range in = r->use[b->base->arg.v[ir_entry(b->base)->params.at + i]].in;
  if (in.bounded)
    fill_within(x->mem.data, x->dtype, x->n, in.least, in.count, in.holds,
                b->seed, i);
  else
    fill_elements(x->mem.data, x->dtype, x->n, how_to_fill(r, range), range,
                  b->seed, i);
}

/* ---- life --------------------------------------------------------------- */

static tess_status find_shape(const ir_program *p, ir_buf buf, bench_param *x,
                              err_state *e) {
  x->name = ir_text(p, p->buf.v[buf].name);
  x->dtype = p->buf.v[buf].dtype;
  x->ndim = ir_ndim(p, buf);
  x->n = 1;
  if (x->ndim > sizeof x->shape / sizeof *x->shape)
    return err_set(e, TESS_LIMIT, "'%s' has %u dimensions", x->name, x->ndim);
  for (uint32_t d = 0; d < x->ndim; d++) {
    if (!ir_const_int(p, ir_dim(p, buf, d), &x->shape[d]))
      return err_set(e, TESS_UNSUPPORTED,
                     "extent %u of '%s' is symbolic: measuring needs "
                     "constant extents",
                     d, x->name);
    if (__builtin_mul_overflow(x->n, (uint64_t)x->shape[d], &x->n))
      return err_set(e, TESS_LIMIT, "'%s' is too large", x->name);
  }
  if (__builtin_mul_overflow(x->n, ir_dtype_bytes(x->dtype), &x->bytes))
    return err_set(e, TESS_LIMIT, "'%s' is too large", x->name);
  return TESS_OK;
}

static const char *bench_name_of(const ir_program *p) {
  return ir_text(p, ir_entry(p)->name);
}

/* How often the bytes of a parameter are there: with a reference if it is
 * written, and what is restored before a launch if it is an input, too. */
static int count_copies(const ir_program *p, ir_buf b) {
  bool is_output = p->buf.v[b].role == IR_ROLE_OUTPUT;
  return is_output ? 2 : ir_is_stored(p, b) ? 3 : 1;
}

tess_status bench_fits(const ir_program *base, uint64_t most, err_state *e) {
  const double gib = 1 << 30;
  const ir_func *f = ir_entry(base);
  double need = 0, reference = 0, room = (double)room_of_machine();
  if (f->sizes.n)
    return err_set(e, TESS_UNSUPPORTED,
                   "'%s' has symbolic extents: measuring needs constant ones",
                   bench_name_of(base));
  for (uint32_t i = 0; i < f->params.n; i++) {
    bench_param x;
    ir_buf buf = base->arg.v[f->params.at + i];
    tess_status s = find_shape(base, buf, &x, e);
    if (s) return s;
    int copies = count_copies(base, buf);
    need += (double)x.bytes * copies;
    if (copies > 1) reference += (double)x.bytes;
  }
  if (need > room)
    return err_set(e, TESS_NOMEM,
                   "no memory for the tensors of '%s': they take %.1f GiB, and "
                   "there are %.1f",
                   bench_name_of(base), need / gib, room / gib);
  if (reference <= (double)most) return TESS_OK;
  return err_set(e, TESS_LIMIT,
                 "the outputs of '%s' take %.1f GiB, and those that candidates "
                 "are compared with go from one worker to another, %.1f at "
                 "most: tune it at a smaller shape, or in_process",
                 bench_name_of(base), reference / gib, (double)most / gib);
}

/* The contents of parameter x: bytes of `inputs` from *at on. */
static tess_status copy_contents(const bench_param *x, const strbuf *inputs,
                                 size_t *at, err_state *e) {
  if (x->bytes > inputs->n - *at)
    return err_set(e, TESS_INFRA, "the inputs end before '%s'", x->name);
  memcpy(x->mem.data, inputs->v + *at, x->bytes);
  *at += x->bytes;
  return TESS_OK;
}

/* inputs NULL: the contents are drawn. */
static tess_status open_param(bench *b, uint32_t i, const range_plan *r,
                              int64_t range, const strbuf *inputs, size_t *at,
                              err_state *e) {
  const ir_program *p = b->base;
  ir_buf buf = p->arg.v[ir_entry(p)->params.at + i];
  bench_param *x = &b->param[i];
  tess_status s = find_shape(p, buf, x, e);
  if (s) return s;
  uint32_t align = p->buf.v[buf].align;
  if (!align) align = (uint32_t)ir_dtype_bytes(x->dtype);
  if (!guard_open(&x->mem, x->bytes, align))
    return err_set(e, TESS_NOMEM, "no memory for '%s', %zu bytes", x->name,
                   x->bytes);
  x->written = r->use[buf].written;
  x->in_place = x->written && p->buf.v[buf].role != IR_ROLE_OUTPUT;
  x->fact = r->fact[buf];
  bool is_input = p->buf.v[buf].role != IR_ROLE_OUTPUT;
  if (is_input && inputs)
    s = copy_contents(x, inputs, at, e);
  else if (!x->written || x->in_place)
    fill_param(b, i, r, range);
  if (s) return s;
  if (x->in_place) {
    x->initial = mem_resize(b->heap, NULL, 0, x->bytes);
    memcpy(x->initial, x->mem.data, x->bytes);
    b->in_place = true;
  }
  if (x->written) {
    x->reference = b->reference_bytes;
    b->reference_bytes += x->bytes;
  }
  guard_lock(&x->mem, !x->written);
  return TESS_OK;
}

tess_status bench_open(bench *b, mem_heap *heap, arena *scratch,
                       const ir_program *base, uint64_t seed, uint32_t threads,
                       const strbuf *inputs, err_state *e) {
  uint32_t n = ir_entry(base)->params.n;
  range_plan r;
  *b = (bench){.heap = heap, .base = base, .seed = seed};
  runtime_init(&b->rt, heap->alloc, threads);
  tess_status fits = bench_fits(base, UINT64_MAX, e);
  if (fits) return fits;
  b->param = mem_resize(heap, NULL, 0, n * sizeof *b->param);
  memset(b->param, 0, n * sizeof *b->param);
  b->n = n;
  b->args = mem_resize(heap, NULL, 0, n * sizeof *b->args);
  arena_mark mark = arena_get_mark(scratch);
  int64_t range = 0;
  if (!inputs)
    range = choose_range(base, scratch, &r);
  else
    range_find(base, scratch, 0, &r); /* of any values */
  b->is_exact = range != 0;
  size_t at = 0;
  for (uint32_t i = 0; i < n; i++) {
    tess_status s = open_param(b, i, &r, range, inputs, &at, e);
    if (s) return s;
  }
  if (inputs && at != inputs->n)
    return err_set(e, TESS_INFRA, "inputs of %zu bytes, not %zu", inputs->n,
                   at);
  arena_reset_to(scratch, mark);
  bench_place(b, GUARD_FRONT);
  return TESS_OK;
}

void bench_close(bench *b) {
  for (uint32_t i = 0; i < b->n; i++) {
    bench_param *x = &b->param[i];
    guard_close(&x->mem);
    if (x->initial) mem_free(b->heap, x->initial, x->bytes);
  }
  guard_close(&b->reference);
  if (b->args) mem_free(b->heap, b->args, b->n * sizeof *b->args);
  if (b->param) mem_free(b->heap, b->param, b->n * sizeof *b->param);
  runtime_free(&b->rt);
  *b = (bench){.heap = NULL};
}

/* ---- launches ----------------------------------------------------------- */

void bench_place(bench *b, guard_side side) {
  for (uint32_t i = 0; i < b->n; i++) {
    guard_place(&b->param[i].mem, side);
    b->args[i] = b->param[i].mem.data;
  }
}

void bench_reset(bench *b) {
  for (uint32_t i = 0; i < b->n; i++) {
    bench_param *x = &b->param[i];
    if (x->in_place)
      memcpy(x->mem.data, x->initial, x->bytes);
    else if (x->written)
      fill_poison(x->mem.data, 0, x->bytes, b->seed, i);
  }
}

/* A few bytes of a result may equal the poison by chance. */
enum { MIN_BYTES = 8 };

tess_status bench_check_guards(const bench *b, err_state *e) {
  for (uint32_t i = 0; i < b->n; i++)
    if (!guard_check(&b->param[i].mem))
      return err_set(e, TESS_WRONG_RESULT,
                     "the kernel wrote beside '%s', out of bounds",
                     b->param[i].name);
  return TESS_OK;
}

tess_status bench_inspect(const bench *b, err_state *e) {
  tess_status s = bench_check_guards(b, e);
  for (uint32_t i = 0; !s && i < b->n; i++) {
    const bench_param *x = &b->param[i];
    if (x->written && !x->in_place && x->bytes >= MIN_BYTES &&
        fill_is_poison(x->mem.data, x->bytes, b->seed, i))
      return err_set(e, TESS_WRONG_RESULT, "the kernel wrote nothing to '%s'",
                     x->name);
  }
  return s;
}

/* ---- references --------------------------------------------------------- */

void bench_get_outputs(const bench *b, strbuf *out) {
  for (uint32_t i = 0; i < b->n; i++)
    if (b->param[i].written)
      str_write(out, b->param[i].mem.data, b->param[i].bytes);
}

tess_status bench_set_reference(bench *b, const void *bytes, size_t n,
                                err_state *e) {
  if (n != b->reference_bytes)
    return err_set(e, TESS_INFRA, "a reference of %zu bytes, not %zu", n,
                   b->reference_bytes);
  guard_close(&b->reference);
  if (!guard_open(&b->reference, n, 1))
    return err_set(e, TESS_NOMEM, "no memory for references, %zu bytes", n);
  memcpy(b->reference.data, bytes, n);
  guard_lock(&b->reference, true);
  return TESS_OK;
}
