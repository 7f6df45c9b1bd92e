/* SPDX-License-Identifier: Apache-2.0
 * Contents of a workload's tensors that the host gives: checks them against the
 * program and what it declares, and serialises them for the worker. */
#include "backends/interp/interp.h"
#include "base/hash.h"
#include "ir/object.h"
#include "ir/query.h"
#include "ir/scalar.h"
#include "measure/measure.h"
#include "measure/tensor/tensor.h"
#include "measure/worker/frame.h"
#include <string.h>

typedef struct taking {
  tess_program *p;
  tess_tensor *const *tensors;
  uint32_t n;
  strbuf *out;
  arena scratch;
  interp in;
} taking;

static bool is_output_at(const ir_program *p, uint32_t i) {
  return p->buf.v[p->arg.v[ir_entry(p)->params.at + i]].role == IR_ROLE_OUTPUT;
}

static void print_shape(strbuf *out, tess_dtype t, uint32_t n,
                        const int64_t *shape) {
  char name[32];
  tess_dtype_text(t, name);
  str_printf(out, "%s[", name);
  for (uint32_t d = 0; d < n; d++)
    str_printf(out, "%s%lld", d ? ", " : "", (long long)shape[d]);
  str_puts(out, "]");
}

/* `want`: its constant extents. */
static tess_status report_unlike(taking *w, const char *name, ir_buf b,
                                 const int64_t *want, const tess_tensor *t) {
  const ir_program *p = &w->p->p;
  strbuf is, given;
  str_init(&is, &w->p->c->heap);
  str_init(&given, &w->p->c->heap);
  print_shape(&is, p->buf.v[b].dtype, ir_ndim(p, b), want);
  print_shape(&given, t->dtype, t->ndim, t->shape);
  tess_status s =
      is.bad || given.bad
          ? ctx_ran_out(w->p->c, mem_refusal(&w->p->c->heap), "inputs")
          : ctx_fail(w->p->c, TESS_TYPE,
                     "inputs: '%s' is %s, and the tensor given for it is %s",
                     name, str_get(&is), str_get(&given));
  str_free(&is);
  str_free(&given);
  return s;
}

enum { MOST_DIMENSIONS = 16 }; /* of bench_param */

static tess_status check_like(taking *w, const char *name, ir_buf b,
                              const tess_tensor *t) {
  const ir_program *p = &w->p->p;
  int64_t want[MOST_DIMENSIONS];
  uint32_t n = ir_ndim(p, b);
  if (n > MOST_DIMENSIONS)
    return ctx_fail(w->p->c, TESS_LIMIT, "inputs: '%s' has %u dimensions", name,
                    n);
  bool like = t->ndim == n && ir_dtype_eq(t->dtype, p->buf.v[b].dtype);
  for (uint32_t d = 0; d < n; d++) {
    if (!ir_const_int(p, ir_dim(p, b, d), &want[d]))
      return ctx_fail(w->p->c, TESS_UNSUPPORTED,
                      "inputs: extent %u of '%s' is symbolic", d, name);
    like = like && t->shape[d] == want[d];
  }
  return like ? TESS_OK : report_unlike(w, name, b, want, t);
}

static tess_status check_declared(taking *w, const char *name,
                                  const ir_buf_rec *r, const tess_tensor *t) {
  if (!r->holds) return TESS_OK;
  uint64_t n = (uint64_t)t->size;
  interp_word *v = arena_array(&w->scratch, interp_word, n + 1);
  for (uint64_t i = 0; i < n; i++)
    v[i].i = ir_get_int(t->dtype,
                        (const char *)t->data + i * ir_dtype_bytes(t->dtype));
  int64_t at = interp_find_undeclared(&w->scratch, r, n, v);
  tess_status s = TESS_OK;
  if (at >= 0)
    s = ctx_fail(w->p->c, TESS_INVALID,
                 "inputs: element %lld of '%s', which is %lld, is not what the "
                 "buffer is declared to hold",
                 (long long)at, name, (long long)v[at].i);
  arena_reset(&w->scratch);
  return s;
}

static tess_status take_one(taking *w, uint32_t param, const tess_tensor *t) {
  const ir_program *p = &w->p->p;
  ir_buf b = p->arg.v[ir_entry(p)->params.at + param];
  const char *name = ir_text(p, p->buf.v[b].name);
  if (!t)
    return ctx_fail(w->p->c, TESS_INVALID, "inputs: the tensor of '%s' is NULL",
                    name);
  tess_status s = tensor_check_host(t, "tuning with its contents");
  if (s == TESS_OK) s = check_like(w, name, b, t);
  if (s == TESS_OK) s = check_declared(w, name, &p->buf.v[b], t);
  if (s != TESS_OK) return s;
  if (t->bytes > FRAME_MAX / 2 - w->out->n)
    return ctx_fail(w->p->c, TESS_LIMIT,
                    "inputs: the tensors have more than %llu bytes together",
                    (unsigned long long)(FRAME_MAX / 2));
  str_write(w->out, t->data, t->bytes);
  return str_status(w->out);
}

/* ---- trying ------------------------------------------------------------- */

/* Interpretation ends after so many loop iterations, a second or two, and is
 * left out beyond so many bytes of tensors. */
enum { MOST_STEPS = 8 << 20, MOST_BYTES = 32 << 20 };

/* A tensor of parameter i for one interpretation: given, or an output's. */
static interp_arg trial_tensor(taking *w, uint32_t i, size_t *at) {
  const ir_program *p = &w->p->p;
  ir_buf b = p->arg.v[ir_entry(p)->params.at + i];
  uint64_t bytes = ir_dtype_bytes(p->buf.v[b].dtype);
  for (uint32_t d = 0; d < ir_ndim(p, b); d++) {
    int64_t extent = 1;
    ir_const_int(p, ir_dim(p, b, d), &extent);
    bytes *= (uint64_t)extent;
  }
  char *data = arena_zalloc(&w->scratch, bytes);
  if (!is_output_at(p, i)) {
    memcpy(data, w->out->v + *at, bytes);
    *at += bytes;
  }
  return (interp_arg){data, bytes};
}

static tess_status report_fault(tess_program *p, tess_status code,
                                const char *head, const interp_error *e) {
  strbuf text;
  str_init(&text, &p->c->heap);
  interp_error_text(&p->p, e, &text);
  tess_status s = text.bad
                      ? ctx_ran_out(p->c, str_status(&text), "inputs")
                      : ctx_fail(p->c, code, "%s: %s", head, str_get(&text));
  str_free(&text);
  return s;
}

/* Indices that leave their buffer would crash each candidate, or go unseen, so
 * the interpreter runs the program on the inputs, as far as it may. */
static tess_status try_inputs(taking *w) {
  const ir_program *p = &w->p->p;
  uint32_t n = ir_entry(p)->params.n;
  size_t at = 0;
  if (w->out->n > MOST_BYTES) return TESS_OK;
  interp_arg *args = arena_array(&w->scratch, interp_arg, n + 1);
  for (uint32_t i = 0; i < n; i++) args[i] = trial_tensor(w, i, &at);
  interp_options o = {
      .domain = INTERP_NATIVE, .max_steps = MOST_STEPS, .stop = &w->p->c->stop};
  interp_error e;
  tess_status s = interp_run(&w->in, p, n, args, &o, &e);
  if (s == TESS_CANCELLED) return s;
  bool is_theirs =
      s && (e.fault == INTERP_OUTSIDE || e.fault == INTERP_DOMAIN ||
            e.fault == INTERP_UNWRITTEN);
  return is_theirs ? report_fault(w->p, TESS_INVALID, "inputs", &e) : TESS_OK;
}

static tess_status take_all(void *ud) {
  taking *w = ud;
  const ir_program *p = &w->p->p;
  interp_init(&w->in, &w->p->c->heap);
  uint32_t most = ir_entry(p)->params.n, least = 0, at = 0;
  for (uint32_t i = 0; i < most; i++) least += !is_output_at(p, i);
  if (w->n != least && w->n != most)
    return ctx_fail(w->p->c, TESS_INVALID,
                    "inputs: '%s' takes %u tensors, or %u with its outputs, "
                    "given %u",
                    ir_text(p, ir_entry(p)->name), least, most, w->n);
  tess_status s = TESS_OK;
  for (uint32_t i = 0; i < most && s == TESS_OK; i++) {
    bool is_output = is_output_at(p, i);
    if (!is_output) s = take_one(w, i, w->tensors[at]);
    at += !is_output || w->n == most;
  }
  return s == TESS_OK ? try_inputs(w) : s;
}

tess_status measure_take_inputs(tess_program *p, uint32_t n,
                                tess_tensor *const *tensors, strbuf *out,
                                uint64_t *key) {
  taking w = {.p = p, .tensors = tensors, .n = n, .out = out};
  arena_init(&w.scratch, &p->c->heap);
  tess_status s = ctx_run(p->c, take_all, &w);
  interp_free(&w.in);
  arena_free(&w.scratch);
  if (s == TESS_OK && out->n) *key = hash_bytes(out->v, out->n) | 1; /* not 0 */
  return s;
}

tess_status measure_check_drawn(tess_program *p) {
  enum { FEW_STEPS = 1 << 20 }; /* indices go wrong early */
  interp_options o = {
      .max_steps = FEW_STEPS, .max_bytes = MOST_BYTES, .stop = &p->c->stop};
  interp_error e;
  tess_status s = interp_drawable(&p->c->heap, &p->p, &o, &e);
  if (s == TESS_UNSUPPORTED) return report_fault(p, s, "tuning", &e);
  return s ? ctx_ran_out(p->c, s, "inputs") : TESS_OK;
}
