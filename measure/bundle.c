/* SPDX-License-Identifier: Apache-2.0
 * Bundles: a kernel's code together with the function that converts parameters
 * to the layouts that the schedule chose. */
#include "measure/bundle.h"
#include <string.h>

static const char magic[8] = {'T', 'S', 'B', 'U', 'N', 'D', 'L', 'E'};

/* ---- bytes -------------------------------------------------------------- */

static void put_number(strbuf *out, uint64_t v) {
  char b[8];
  for (int i = 0; i < 8; i++) b[i] = (char)(v >> 8 * i);
  str_write(out, b, sizeof b);
}

void bundle_write_head(strbuf *out, const lower_prepared *what,
                       const strbuf *convert) {
  str_write(out, magic, sizeof magic);
  put_number(out, what->n);
  for (uint32_t i = 0; i < what->n; i++) {
    put_number(out, what->param[i]);
    put_number(out, what->bytes[i]);
  }
  put_number(out, convert->n);
  str_write(out, convert->v, convert->n);
}

typedef struct reader {
  const unsigned char *at;
  size_t left;
  bool bad;
} reader;

static uint64_t get_number(reader *r) {
  uint64_t v = 0;
  if (r->left < 8) {
    r->bad = true;
    return 0;
  }
  for (int i = 0; i < 8; i++) v |= (uint64_t)r->at[i] << 8 * i;
  r->at += 8;
  r->left -= 8;
  return v;
}

/* The size of the converting function's code. */
static uint64_t read_head(reader *r, bundle *out) {
  r->at += sizeof magic;
  r->left -= sizeof magic;
  uint64_t n = get_number(r);
  if (n > LOWER_MAX_PREPARED) r->bad = true;
  for (uint32_t i = 0; !r->bad && i < n; i++) {
    uint64_t param = get_number(r);
    out->bytes[i] = get_number(r);
    out->param[i] = (uint32_t)param;
    if (param > UINT32_MAX) r->bad = true;
    out->n++;
  }
  uint64_t size = get_number(r);
  if (size > r->left) r->bad = true;
  return size;
}

/* ---- loading ------------------------------------------------------------ */

tess_status bundle_load(mem_heap *heap, const backend *b, const void *code,
                        size_t n, bundle *out, err_state *e) {
  reader r = {code, n, false};
  *out = (bundle){.backend = b};
  if (n > sizeof magic && !memcmp(code, magic, sizeof magic)) {
    uint64_t size = read_head(&r, out);
    if (r.bad) return err_set(e, TESS_PARSE, "the code is damaged");
    tess_status s = b->load(heap, r.at, size, &out->convert, e);
    if (s) return s;
    r.at += size;
    r.left -= size;
  }
  return b->load(heap, r.at, r.left, &out->kernel, e);
}

void bundle_unload(bundle *b) {
  if (b->kernel) b->backend->unload(b->kernel);
  if (b->convert) b->backend->unload(b->convert);
  b->kernel = b->convert = NULL;
}

/* ---- converting --------------------------------------------------------- */

int32_t bundle_convert(const bundle *b, void *const *args,
                       const tess_runtime *rt, bundle_args *out) {
  void *both[2 * LOWER_MAX_PREPARED];
  *out = (bundle_args){.rt = rt};
  if (!b->convert) return 0;
  for (uint32_t i = 0; i < b->n; i++) {
    out->made[i] = rt->alloc(rt->ud, b->bytes[i], 64);
    if (!out->made[i]) return TESS_NOMEM;
    out->n++;
    both[2 * i] = args[b->param[i]];
    both[2 * i + 1] = out->made[i];
  }
  return backend_launch(b->backend, b->convert, both, NULL, rt);
}

void bundle_replace(const bundle *b, const bundle_args *made, void **args) {
  for (uint32_t i = 0; i < made->n; i++) args[b->param[i]] = made->made[i];
}

void bundle_args_free(bundle_args *a) {
  while (a->n) a->rt->free(a->rt->ud, a->made[--a->n]);
}
