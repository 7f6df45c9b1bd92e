/* SPDX-License-Identifier: Apache-2.0
 * The public functions of tensors: tess_tensor_*. */
#include "base/file.h"
#include "ir/scalar.h"
#include "measure/tensor/fill.h"
#include "measure/tensor/tensor.h"
#include <math.h>
#include <string.h>

/* ---- life --------------------------------------------------------------- */

typedef struct making {
  tess_context *c;
  tess_dtype t;
  uint32_t ndim;
  const int64_t *shape;
  const char *path;
  tess_tensor **out;
} making;

static tess_status make_tensor(void *ud) {
  making *m = ud;
  return tensor_make(m->c, m->t, m->ndim, m->shape, m->out);
}

tess_status tess_tensor_new(tess_context *c, tess_dtype t, uint32_t ndim,
                            const int64_t *shape, const char *fill,
                            uint64_t seed, tess_tensor **out) {
  making m = {.c = c, .t = t, .ndim = ndim, .shape = shape, .out = out};
  fill_how how;
  *out = NULL;
  if (!fill || !fill_parse(fill, &how))
    return ctx_fail(c, TESS_INVALID,
                    "a tensor cannot be filled with '%s': use zeros, random, "
                    "integers or empty (in Lua also the path of a file that "
                    "ends in .npy)",
                    fill ? fill : "NULL");
  tess_status s = ctx_run(c, make_tensor, &m);
  if (!s)
    fill_elements((*out)->data, t, (uint64_t)(*out)->size, how, FILL_RANGE,
                  seed, 0);
  return s;
}

void *tess_tensor_data(tess_tensor *t) { return t->data; }
tess_dtype tess_tensor_dtype(tess_tensor *t) { return t->dtype; }
uint32_t tess_tensor_ndim(tess_tensor *t) { return t->ndim; }
const int64_t *tess_tensor_shape(tess_tensor *t) { return t->shape; }
int64_t tess_tensor_size(tess_tensor *t) { return t->size; }

/* ---- elements ----------------------------------------------------------- */

static tess_status find_element(tess_tensor *t, const int64_t *idx,
                                int64_t *at) {
  ctx_clear(t->c);
  *at = 0;
  tess_status s = tensor_check_host(t, "access to an element");
  if (s) return s;
  for (uint32_t d = 0; d < t->ndim; d++) {
    if (idx[d] < 0 || idx[d] >= t->shape[d])
      return ctx_fail(t->c, TESS_BOUNDS,
                      "index %u is %lld, outside of 0 .. %lld", d,
                      (long long)idx[d], (long long)t->shape[d] - 1);
    *at = *at * t->shape[d] + idx[d];
  }
  return TESS_OK;
}

static void *tensor_at(const tess_tensor *t, int64_t i) {
  return (char *)t->data + (size_t)i * ir_dtype_bytes(t->dtype);
}

static bool is_uint64(const tess_tensor *t) {
  return t->dtype.code == TESS_DTYPE_UINT && t->dtype.bits == 64;
}

tess_status tess_tensor_get(tess_tensor *t, const int64_t *idx, double *out) {
  int64_t at;
  tess_status s = find_element(t, idx, &at);
  if (!s) *out = tensor_element(t, at);
  return s;
}

/* Integers saturate, floats round. */
tess_status tess_tensor_set(tess_tensor *t, const int64_t *idx, double v) {
  int64_t i;
  tess_status s = find_element(t, idx, &i);
  if (s) return s;
  if (ir_is_float(t->dtype))
    ir_put_real(t->dtype, ir_round_real(t->dtype, v), tensor_at(t, i));
  else
    ir_put_int(t->dtype, ir_cast_real_to_int(t->dtype, v), tensor_at(t, i));
  return TESS_OK;
}

tess_status tess_tensor_get_int(tess_tensor *t, const int64_t *idx,
                                int64_t *out) {
  int64_t i;
  tess_status s = find_element(t, idx, &i);
  if (!s && ir_is_float(t->dtype))
    s = ctx_fail(t->c, TESS_TYPE, "the tensor's elements are no integers");
  if (!s) *out = ir_get_int(t->dtype, tensor_at(t, i));
  return s;
}

tess_status tess_tensor_set_int(tess_tensor *t, const int64_t *idx, int64_t v) {
  int64_t i;
  tess_status s = find_element(t, idx, &i);
  if (s) return s;
  const tess_dtype from = {TESS_DTYPE_INT, 64, 1};
  if (ir_is_float(t->dtype))
    ir_put_real(t->dtype, ir_cast_int_to_real(t->dtype, from, v),
                tensor_at(t, i));
  else
    ir_put_int(t->dtype, is_uint64(t) ? v : ir_cast_int(t->dtype, from, v),
               tensor_at(t, i));
  return TESS_OK;
}

static tess_status check_same_shape(tess_tensor *a, tess_tensor *b,
                                    bool dtype_too) {
  ctx_clear(a->c);
  bool same = a->ndim == b->ndim &&
              !memcmp(a->shape, b->shape, a->ndim * sizeof *a->shape) &&
              (!dtype_too || ir_dtype_eq(a->dtype, b->dtype));
  if (same) return TESS_OK;
  strbuf text;
  str_init(&text, &a->c->heap);
  tensor_put_type(&text, a->dtype, a->ndim, a->shape);
  str_puts(&text, " and ");
  tensor_put_type(&text, b->dtype, b->ndim, b->shape);
  tess_status s =
      ctx_fail(a->c, TESS_TYPE, "the tensors differ: %s", str_or(&text, ""));
  str_free(&text);
  return s;
}

tess_status tess_tensor_copy(tess_tensor *dst, tess_tensor *src) {
  tess_status s = check_same_shape(dst, src, true);
  return s ? s : tensor_move(dst, src);
}

/* |x - y| of integers of one type, as a double. */
static double integer_distance(const tess_tensor *t, int64_t x, int64_t y) {
  bool less = is_uint64(t) ? (uint64_t)x < (uint64_t)y : x < y;
  return less ? (double)((uint64_t)y - (uint64_t)x)
              : (double)((uint64_t)x - (uint64_t)y);
}

tess_status tess_tensor_compare(tess_tensor *a, tess_tensor *b, double *abs,
                                double *rel) {
  tess_status s = check_same_shape(a, b, false);
  if (!s) s = tensor_check_host(a, "comparing");
  if (!s) s = tensor_check_host(b, "comparing");
  if (s) return s;
  *abs = *rel = 0;
  bool exact = ir_is_int(a->dtype) && ir_dtype_eq(a->dtype, b->dtype);
  for (int64_t i = 0; i < a->size; i++) {
    double x = tensor_element(a, i), y = tensor_element(b, i);
    double d = exact
                   ? integer_distance(a, ir_get_int(a->dtype, tensor_at(a, i)),
                                      ir_get_int(b->dtype, tensor_at(b, i)))
                   : fabs(x - y);
    if (x == y && !(d > 0)) continue;
    double most = fmax(fabs(x), fabs(y));
    if (isnan(d)) d = INFINITY;
    double r = isfinite(d) ? d / most : INFINITY;
    if (d > *abs) *abs = d;
    if (r > *rel) *rel = r;
  }
  return TESS_OK;
}

/* ---- files and text ----------------------------------------------------- */

static tess_status get_from_file(void *ud, void *to, size_t n, size_t *got,
                                 err_state *e) {
  return file_get(ud, to, n, got, e);
}

static tess_status load_npy_file(void *ud) {
  making *m = ud;
  file_reader f;
  tess_status s = file_open(&f, m->path, &m->c->err);
  if (s) return s;
  s = npy_read(m->c, &(npy_source){get_from_file, &f, f.size}, m->out);
  file_close(&f);
  if (s != TESS_PARSE) return s;
  char why[512];
  memcpy(why, m->c->err.message, sizeof why - 1);
  why[sizeof why - 1] = '\0';
  return err_set(&m->c->err, s, "'%s' is %s", m->path, why);
}

tess_status tess_tensor_load(tess_context *c, const char *path,
                             tess_tensor **out) {
  making m = {.c = c, .path = path, .out = out};
  *out = NULL;
  return ctx_run(c, load_npy_file, &m);
}

typedef struct writing {
  tess_tensor *t;
  const char *path;
  char **text;
  strbuf made;
} writing;

static tess_status save_npy_file(void *ud) {
  writing *w = ud;
  tess_context *c = w->t->c;
  tess_status s = tensor_check_host(w->t, "saving");
  if (s) return s;
  strbuf bytes;
  str_init(&bytes, &c->heap);
  npy_write(w->t, &bytes);
  s = str_status(&bytes);
  if (s == TESS_OK) s = file_write(w->path, bytes.v, bytes.n, &c->err);
  str_free(&bytes);
  return s;
}

tess_status tess_tensor_save(tess_tensor *t, const char *path) {
  writing w = {.t = t, .path = path};
  return ctx_run(t->c, save_npy_file, &w);
}

static tess_status write_tensor_text(void *ud) {
  writing *w = ud;
  tensor_write_text(w->t, &w->made);
  *w->text = ctx_text_of(w->t->c, &w->made);
  return TESS_OK;
}

tess_status tess_tensor_text(tess_tensor *t, char **out) {
  writing w = {.t = t, .text = out};
  *out = NULL;
  str_init(&w.made, &t->c->heap);
  tess_status s = ctx_run(t->c, write_tensor_text, &w);
  str_free(&w.made);
  return s;
}
