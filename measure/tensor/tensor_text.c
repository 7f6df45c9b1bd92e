/* SPDX-License-Identifier: Apache-2.0
 * Prints tensors for people: nested brackets, long dimensions elided.
 *
 *   tensor float32, 2x3
 *   [[0.5, 1, 2],
 *    [3, 4, 5]]
 */
#include "ir/scalar.h"
#include "measure/tensor/tensor.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WHOLE = 1000, EDGE = 3 };

typedef struct writer {
  const tess_tensor *t;
  strbuf *out;
  bool all;  /* nothing is left out */
  int width; /* of an element */
} writer;

static void format_element(const tess_tensor *t, int64_t i, char out[40]) {
  const char *at = (const char *)t->data + (size_t)i * ir_dtype_bytes(t->dtype);
  if (t->dtype.code == TESS_DTYPE_BOOL)
    strcpy(out, *at ? "true" : "false");
  else if (t->dtype.code == TESS_DTYPE_UINT)
    snprintf(out, 40, "%" PRIu64, (uint64_t)ir_get_int(t->dtype, at));
  else if (t->dtype.code == TESS_DTYPE_INT)
    snprintf(out, 40, "%" PRId64, ir_get_int(t->dtype, at));
  else {
    int digits = t->dtype.bits == 64 ? 10 : t->dtype.bits == 32 ? 7 : 4;
    snprintf(out, 40, "%.*g", digits, tensor_element(t, i));
  }
}

typedef void (*element_fn)(writer *w, int64_t i);

/* Index k of a dimension of extent n is shown, or the first one that is not:
 * then *skip says how far to go on. */
static bool is_shown(const writer *w, int64_t k, int64_t n, int64_t *skip) {
  *skip = n - EDGE;
  return w->all || n <= 2 * EDGE + 1 || k < EDGE || k >= n - EDGE;
}

static void widen_column(writer *w, int64_t i) {
  char text[40];
  format_element(w->t, i, text);
  int n = (int)strlen(text);
  if (n > w->width) w->width = n;
}

/* The elements that are shown, from dimension d on. */
static void each_shown(writer *w, uint32_t d, int64_t at, element_fn fn) {
  if (d == w->t->ndim) {
    fn(w, at);
    return;
  }
  int64_t n = w->t->shape[d], skip;
  for (int64_t k = 0; k < n; k++) {
    if (is_shown(w, k, n, &skip))
      each_shown(w, d + 1, at * n + k, fn);
    else
      k = skip - 1;
  }
}

static void put_element(writer *w, int64_t i) {
  char text[40];
  format_element(w->t, i, text);
  str_printf(w->out, "%*s", w->width, text);
}

static void put_break(writer *w, uint32_t d) {
  if (d + 1 == w->t->ndim) {
    str_puts(w->out, ", ");
    return;
  }
  str_puts(w->out, ",\n");
  for (uint32_t i = 0; i <= d; i++) str_putc(w->out, ' ');
}

static void put_from(writer *w, uint32_t d, int64_t at) {
  if (d == w->t->ndim) {
    put_element(w, at);
    return;
  }
  int64_t n = w->t->shape[d], skip;
  str_putc(w->out, '[');
  for (int64_t k = 0; k < n; k++) {
    if (k) put_break(w, d);
    if (is_shown(w, k, n, &skip)) {
      put_from(w, d + 1, at * n + k);
    } else {
      str_puts(w->out, "...");
      k = skip - 1;
    }
  }
  str_putc(w->out, ']');
}

void tensor_write_text(const tess_tensor *t, strbuf *out) {
  writer w = {.t = t, .out = out, .all = t->size <= WHOLE};
  str_puts(out, "tensor ");
  tensor_put_type(out, t->dtype, t->ndim, t->shape);
  if (t->device[0]) {
    str_printf(out, " on %s", t->device);
    return;
  }
  str_putc(out, '\n');
  if (t->size > 0) each_shown(&w, 0, 0, widen_column);
  put_from(&w, 0, 0);
}
