/* SPDX-License-Identifier: Apache-2.0
 * Tensors on devices: made by copying, named by the number that a worker has
 * for them (measure_resident_new), and copied back. */
#include "measure/measure.h"
#include "measure/tensor/tensor.h"
#include <stdio.h>
#include <string.h>

/* ---- names of devices --------------------------------------------------- */

typedef struct placing {
  tess_tensor *t;
  char device[24]; /* "" for the processor */
  tess_tensor *made;
} placing;

/* "cpu", or a backend that has devices, with a number: "opencl" is
 * "opencl:0". */
static tess_status parse_device(tess_context *c, const char *text,
                                char out[24]) {
  out[0] = '\0';
  if (text && !strcmp(text, "cpu")) return TESS_OK;
  char kind[16] = "";
  unsigned number = 0;
  int end = 0;
  size_t n = text ? strcspn(text, ":") : 0;
  if (n && n < sizeof kind) memcpy(kind, text, n);
  bool numbered = n && text[n] == ':';
  bool ok = !numbered || (text[n + 1] >= '0' && text[n + 1] <= '9' &&
                          sscanf(text + n, ":%4u%n", &number, &end) == 1 &&
                          !text[n + (size_t)end]);
  if (ok && (!strcmp(kind, "cuda") || !strcmp(kind, "opencl"))) {
    snprintf(out, 24, "%s:%u", kind, number);
    return TESS_OK;
  }
  return ctx_fail(c, TESS_INVALID,
                  "'%s' is no device: there are cpu, cuda:0, opencl:0, "
                  "opencl:1, ...",
                  text ? text : "");
}

const char *tess_tensor_device(tess_tensor *t) {
  return t->device[0] ? t->device : "cpu";
}

/* ---- copies ------------------------------------------------------------- */

static tess_status pull_contents(tess_tensor *t, void *to) {
  measure_pool *pool;
  tess_status s = measure_context_pool(t->c, &pool);
  return s ? s
           : measure_resident_read(pool, t->resident, to, t->bytes, &t->c->err);
}

static tess_status push_contents(tess_tensor *t, const void *from) {
  measure_pool *pool;
  tess_status s = measure_context_pool(t->c, &pool);
  if (s) return s;
  if (t->resident)
    return measure_resident_write(pool, t->resident, from, t->bytes,
                                  &t->c->err);
  return measure_resident_new(pool, t->device, from, t->bytes, &t->resident,
                              &t->c->err);
}

/* Through memory of this process where both are on devices. */
static tess_status move_contents(tess_tensor *dst, tess_tensor *src) {
  if (!src->device[0]) return push_contents(dst, src->data);
  if (!dst->device[0]) return pull_contents(src, dst->data);
  mem_heap *heap = &src->c->heap;
  void *between = mem_try_resize(heap, NULL, 0, src->bytes + 1);
  if (!between)
    return ctx_ran_out(src->c, mem_refusal(heap), "a copy of %zu bytes",
                       src->bytes);
  tess_status s = pull_contents(src, between);
  if (!s) s = push_contents(dst, between);
  mem_free(heap, between, src->bytes + 1);
  return s;
}

typedef struct moving {
  tess_tensor *dst, *src;
} moving;

static tess_status run_move(void *ud) {
  moving *m = ud;
  return move_contents(m->dst, m->src);
}

tess_status tensor_move(tess_tensor *dst, tess_tensor *src) {
  moving m = {dst, src};
  if (!dst->device[0] && !src->device[0]) {
    if (dst->bytes) memmove(dst->data, src->data, dst->bytes);
    return TESS_OK;
  }
  ctx_begin_work(dst->c);
  tess_status s = ctx_run_in("tess_tensor_copy", dst->c, run_move, &m);
  ctx_end_work(dst->c);
  return s;
}

static tess_status copy_to_device(void *ud) {
  placing *w = ud;
  tess_tensor *t = w->t;
  tess_status s =
      w->device[0]
          ? tensor_make_bare(t->c, t->dtype, t->ndim, t->shape, &w->made)
          : tensor_make(t->c, t->dtype, t->ndim, t->shape, &w->made);
  if (s) return s;
  memcpy(w->made->device, w->device, sizeof w->device);
  return TESS_OK;
}

tess_status tess_tensor_to(tess_tensor *t, const char *device,
                           tess_tensor **out) {
  placing w = {.t = t};
  *out = NULL;
  ctx_clear(t->c);
  tess_status s = parse_device(t->c, device, w.device);
  if (!s) s = ctx_run(t->c, copy_to_device, &w);
  if (!s) s = tensor_move(w.made, t);
  if (s)
    tess_tensor_free(w.made);
  else
    *out = w.made;
  return s;
}

/* The context's pool has the tensor, so there is one; it may be gone where the
 * context is being freed. */
void tensor_leave_device(tess_tensor *t) {
  measure_pool *pool;
  if (!t->resident) return;
  if (!measure_context_pool(t->c, &pool))
    measure_resident_free(pool, t->resident);
  t->resident = 0;
}
