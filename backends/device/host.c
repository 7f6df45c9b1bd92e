/* SPDX-License-Identifier: Apache-2.0
 * Interprets host programs: integer expressions, loops, workspace, launches. */
#include "backends/device/code.h"
#include "backends/device/device.h"
#include "ir/scalar.h"
#include <stdio.h>

typedef struct host {
  device_program *d;
  const int64_t *w;
  uint32_t at, end;
  int32_t status;
} host;

/* Reading past the end gives 0 and ends the program: the words are damaged. */
static int64_t next_word(host *h) {
  if (h->at < h->end) return h->w[h->at++];
  if (!h->status) h->status = TESS_PARSE;
  return 0;
}

static uint32_t next_index(host *h, uint32_t limit) {
  int64_t v = next_word(h);
  if (v >= 0 && v < limit) return (uint32_t)v;
  if (!h->status) h->status = TESS_PARSE;
  return 0;
}

/* ---- expressions ---------------------------------------------------- */

static int64_t host_value(host *h);

static int64_t host_select(host *h) {
  int64_t c = host_value(h), yes = host_value(h), no = host_value(h);
  return c ? yes : no;
}

static int64_t host_binary(host *h, ir_op op) {
  tess_dtype t = code_get_type(next_word(h));
  int64_t a = host_value(h), b = host_value(h);
  return ir_fold_int(op, t, a, b);
}

static int64_t host_value(host *h) {
  int64_t op = next_word(h);
  if (h->status) return 0;
  switch ((ir_op)op) {
  case IR_INT: return next_word(h);
  case IR_VAR: return h->d->value[next_index(h, h->d->nplace)];
  case IR_NOT: return !host_value(h);
  case IR_SELECT: return host_select(h);
  case IR_CAST: {
    tess_dtype to = code_get_type(next_word(h));
    tess_dtype from = code_get_type(next_word(h));
    return ir_cast_int(to, from, host_value(h));
  }
  default:
    if (op >= IR_ADD && op <= IR_OR) return host_binary(h, (ir_op)op);
    h->status = TESS_PARSE;
    return 0;
  }
}

/* ---- workspace ------------------------------------------------------ */

int32_t device_provide(device_program *d, uint32_t slot, uint64_t bytes) {
  if (!bytes) bytes = 1;
  if (d->slot[slot] && d->bytes[slot] >= bytes) return 0;
  if (d->slot[slot]) d->driver->release(d->ud, d->slot[slot]);
  d->slot[slot] = NULL;
  d->bytes[slot] = bytes;
  return d->driver->alloc(d->ud, bytes, &d->slot[slot]);
}

static void host_alloc(host *h) {
  uint32_t slot = next_index(h, h->d->nslot);
  uint64_t bytes;
  int64_t each = next_word(h), n = host_value(h);
  if (h->status) return;
  if (n < 0 || __builtin_mul_overflow((uint64_t)each, (uint64_t)n, &bytes) ||
      bytes > INT64_MAX)
    h->status = TESS_NOMEM;
  else
    h->status = device_provide(h->d, slot, bytes);
}

/* ---- launches ------------------------------------------------------- */

/* The grid's extents; *some: it has a block. */
static void host_grid(host *h, int64_t grid[3], bool *some) {
  *some = true;
  for (int a = 0; a < 3; a++) {
    grid[a] = host_value(h);
    *some &= grid[a] > 0;
  }
}

static bool grid_fits(host *h, const int64_t grid[3]) {
  device_program *d = h->d;
  for (int a = 0; a < 3; a++) {
    int64_t most = DEVICE_MOST_BLOCKS;
    if (a && d->driver->most_blocks) most = d->driver->most_blocks;
    if (grid[a] <= most) continue;
    snprintf(d->why, sizeof d->why,
             "a grid has %lld blocks of threads along blockIdx.%c, where %lld "
             "are possible",
             (long long)grid[a], "xyz"[a], (long long)most);
    h->status = TESS_LIMIT;
    return false;
  }
  return true;
}

static void host_launch(host *h) {
  device_program *d = h->d;
  device_memory buf[DEVICE_MOST_ARGS];
  int64_t var[DEVICE_MOST_ARGS], grid[3];
  bool some;
  device_launch l = {.kernel = next_index(h, d->nkernel),
                     .grid = grid,
                     .buf = buf,
                     .var = var};
  const int64_t *k = h->w + d->kernels + l.kernel * CODE_KERNEL_WORDS;
  l.block = k;
  host_grid(h, grid, &some);
  if (h->status || k[3] < 0 || k[4] < 0 || k[3] > DEVICE_MOST_ARGS ||
      k[4] > DEVICE_MOST_ARGS) {
    if (!h->status) h->status = TESS_LIMIT;
    return;
  }
  l.nbuf = (uint32_t)k[3];
  l.nvar = (uint32_t)k[4];
  for (uint32_t i = 0; i < l.nbuf; i++)
    buf[i] = d->slot[next_index(h, d->nslot)];
  for (uint32_t i = 0; i < l.nvar; i++)
    var[i] = d->value[next_index(h, d->nplace)];
  if (!h->status && some && grid_fits(h, grid))
    h->status = d->driver->launch(d->ud, &l);
}

/* ---- statements ----------------------------------------------------- */

static void host_words(host *h, uint32_t end);

/* The end of n words that follow. */
static uint32_t end_of(host *h) {
  int64_t n = next_word(h);
  if (n >= 0 && n <= h->end - h->at) return h->at + (uint32_t)n;
  if (!h->status) h->status = TESS_PARSE;
  return h->at;
}

static void host_loop(host *h) {
  uint32_t place = next_index(h, h->d->nplace);
  int64_t lo = host_value(h), n = host_value(h);
  uint32_t end = end_of(h), body = h->at;
  for (int64_t i = 0; i < n && !h->status; i++) {
    h->d->value[place] = lo + i;
    h->at = body;
    host_words(h, end);
  }
  h->at = end;
}

static void host_if(host *h) {
  bool yes = host_value(h) != 0;
  uint32_t end = end_of(h);
  if (yes) host_words(h, end);
  h->at = end;
  end = end_of(h);
  if (!yes) host_words(h, end);
  h->at = end;
}

static void host_words(host *h, uint32_t end) {
  while (h->at < end && !h->status) {
    uint32_t place, stop;
    switch (next_word(h)) {
    case CODE_LOOP: host_loop(h); break;
    case CODE_IF: host_if(h); break;
    case CODE_LET:
      place = next_index(h, h->d->nplace);
      h->d->value[place] = host_value(h);
      break;
    case CODE_ALLOC:
      host_alloc(h);
      stop = end_of(h);
      host_words(h, stop);
      break;
    case CODE_LAUNCH: host_launch(h); break;
    default: h->status = TESS_PARSE;
    }
  }
}

int32_t device_run_host(device_program *d) {
  host h = {.d = d, .w = d->word.v, .at = d->code, .end = d->code_end};
  for (uint32_t i = 0; i < d->nparam && !h.status; i++) host_value(&h);
  host_words(&h, h.end);
  return h.status;
}

/* ---- parameters ----------------------------------------------------- */

int32_t device_measure_params(device_program *d, const int64_t *sizes,
                              uint64_t *bytes) {
  host h = {.d = d, .w = d->word.v, .at = d->code, .end = d->code_end};
  for (uint32_t i = 0; sizes && i < d->nsizes; i++) d->value[i] = sizes[i];
  for (uint32_t i = 0; i < d->nparam && !h.status; i++) {
    int64_t n = host_value(&h);
    uint64_t each = (uint64_t)d->word.v[d->params + 2 * i];
    if (n < 0 || __builtin_mul_overflow((uint64_t)n, each, &bytes[i]))
      h.status = TESS_NOMEM;
  }
  return h.status;
}
