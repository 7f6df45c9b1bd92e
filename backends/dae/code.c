/* SPDX-License-Identifier: Apache-2.0
 * Compiled programs as bytes: 64-bit words, texts and code padded to whole
 * ones, instructions and micro-operations as the machine reads them. */
#include "backends/dae/code.h"
#include "ir/query.h"
#include <string.h>

#define MAGIC UINT64_C(0x3245444f43454144) /* "DAECODE2" */

/* ---- writing ----------------------------------------------------------- */

static void put(strbuf *out, uint64_t v) {
  str_write(out, (const char *)&v, sizeof v);
}

static void put_bytes(strbuf *out, const void *v, size_t n) {
  static const char zeros[8];
  put(out, n);
  str_write(out, v, n);
  str_write(out, zeros, (8 - n % 8) % 8);
}

static void put_buffer(const dae_compile *c, ir_buf b, uint64_t bytes,
                       strbuf *out) {
  put(out, c->dram[b] - 1);
  put(out, bytes);
  put(out, ir_is_stored(c->p, b));
}

static uint64_t param_bytes(const dae_compile *c, ir_buf b) {
  int64_t n = c->p->buf.v[b].dtype.bits / 8, extent = 1;
  for (uint32_t d = 0; d < ir_ndim(c->p, b); d++) {
    dae_evaluate(c, ir_dim(c->p, b, d), &extent);
    n *= extent;
  }
  return (uint64_t)n;
}

static void put_buffers(const dae_compile *c, strbuf *out) {
  const ir_func *f = ir_entry(c->p);
  put(out, f->params.n);
  put(out, c->p->constant.n);
  for (uint32_t i = 0; i < f->params.n; i++) {
    ir_buf b = c->p->arg.v[f->params.at + i];
    put_buffer(c, b, param_bytes(c, b), out);
  }
  for (uint32_t i = 0; i < c->p->constant.n; i++) {
    const ir_const *k = &c->p->constant.v[i];
    put_buffer(c, k->buf, k->bytes, out);
    put_bytes(out, k->data, k->bytes);
  }
}

static void put_host(const dae_compile *c, const dae_host *h, strbuf *out) {
  put(out, h->nbuf);
  put(out, h->nvar);
  for (uint32_t i = 0; i < h->nbuf; i++) put(out, c->dram[h->buf[i]] - 1);
  put_bytes(out, h->code.v, h->code.n);
}

static void put_item(const dae_compile *c, const dae_item *x, strbuf *out) {
  put(out, x->host);
  put(out, x->cycles);
  for (uint32_t i = 0; x->host && i < c->host.v[x->host - 1].nvar; i++)
    put(out, (uint64_t)x->value[i]);
  put(out, x->s.uop_dram);
  put_bytes(out, x->s.uop.v, x->s.insn.n ? x->s.uop.n * sizeof *x->s.uop.v : 0);
  put(out, x->s.insn.n);
  for (uint32_t i = 0; i < x->s.insn.n; i++) {
    uint64_t word[2];
    dae_encode(c->m, &x->s.insn.v[i], word);
    put(out, word[0]);
    put(out, word[1]);
  }
}

void dae_write(const dae_compile *c, const char *machine, strbuf *out) {
  put(out, MAGIC);
  put_bytes(out, machine, strlen(machine) + 1);
  put(out, c->dram_bytes);
  put_buffers(c, out);
  put(out, c->host.n);
  for (uint32_t i = 0; i < c->host.n; i++) put_host(c, &c->host.v[i], out);
  put(out, c->item.n);
  for (uint32_t i = 0; i < c->item.n; i++) put_item(c, &c->item.v[i], out);
}

/* ---- reading ----------------------------------------------------------- */

typedef struct reader {
  const char *at;
  size_t left;
  bool bad;
  arena *a;
  dae_code *out;
} reader;

static uint64_t get(reader *r) {
  uint64_t v = 0;
  if (r->left < sizeof v) {
    r->bad = true;
    return 0;
  }
  memcpy(&v, r->at, sizeof v);
  r->at += sizeof v;
  r->left -= sizeof v;
  return v;
}

/* A number of things that take at least a word each. */
static uint32_t get_count(reader *r) {
  uint64_t n = get(r);
  if (n > r->left / 8) r->bad = true;
  return r->bad ? 0 : (uint32_t)n;
}

static const void *get_bytes(reader *r, uint64_t *n) {
  const char *at;
  *n = get(r);
  uint64_t room = *n + (8 - *n % 8) % 8;
  if (*n > r->left || room > r->left) {
    r->bad = true;
    *n = 0;
  }
  at = r->at;
  if (!r->bad) r->at += room, r->left -= room;
  return at;
}

static bool in_memory(const dae_code *c, uint64_t at, uint64_t bytes) {
  return at <= c->bytes && bytes <= c->bytes - at;
}

static void get_buffers(reader *r) {
  dae_code *c = r->out;
  c->nparam = get_count(r);
  uint32_t n = c->nparam + get_count(r);
  for (uint32_t i = 0; i < n && !r->bad; i++) {
    code_buffer b = {.at = get(r)};
    uint64_t bytes;
    b.bytes = get(r);
    b.written = get(r) != 0;
    if (i >= c->nparam) {
      b.data = get_bytes(r, &bytes);
      r->bad |= bytes != b.bytes;
    }
    r->bad |= !in_memory(c, b.at, b.bytes);
    vec_push(r->a->heap, &c->buffer, b);
  }
}

static void get_host(reader *r) {
  code_host h = {.nbuf = get_count(r)};
  h.nvar = (uint32_t)get(r);
  h.buf = arena_array(r->a, uint64_t, h.nbuf + 1);
  for (uint32_t i = 0; i < h.nbuf; i++) {
    h.buf[i] = get(r);
    r->bad |= !in_memory(r->out, h.buf[i], 0);
  }
  h.code = get_bytes(r, &h.bytes);
  vec_push(r->a->heap, &r->out->host, h);
}

static void get_insns(reader *r, dae_stream *s) {
  uint32_t n = get_count(r);
  for (uint32_t i = 0; i < n && !r->bad; i++) {
    uint64_t word[2] = {get(r), 0};
    dae_insn x;
    word[1] = get(r);
    r->bad |= !dae_decode(&r->out->m, word, &x);
    vec_push(r->a->heap, &s->insn, x);
  }
}

static void get_item(reader *r) {
  code_item x = {.host = (uint32_t)get(r)};
  x.cycles = get(r);
  uint64_t bytes;
  if (x.host > r->out->host.n) r->bad = true;
  uint32_t nvar = x.host && !r->bad ? r->out->host.v[x.host - 1].nvar : 0;
  if (nvar > r->left / 8) r->bad = true, nvar = 0;
  x.value = arena_array(r->a, int64_t, nvar + 1);
  for (uint32_t i = 0; i < nvar; i++) x.value[i] = (int64_t)get(r) + 1;
  x.s.uop_dram = (uint32_t)get(r);
  vec_push(r->a->heap, &r->out->item, x);
  dae_stream *s = &r->out->item.v[r->out->item.n - 1].s;
  const void *uop = get_bytes(r, &bytes);
  uint32_t n = (uint32_t)(bytes / sizeof(uint32_t));
  (void)vec_extend(r->a->heap, &s->uop, n);
  if (n) memcpy(s->uop.v, uop, n * sizeof(uint32_t));
  get_insns(r, s);
}

static tess_status damaged(err_state *e) {
  return err_set(e, TESS_PARSE, "the code is damaged");
}

tess_status dae_read(dae_code *out, arena *a, const void *bytes, size_t n,
                     err_state *e) {
  reader r = {.at = bytes, .left = n, .a = a, .out = out};
  uint64_t length;
  *out = (dae_code){.bytes = 0};
  if (get(&r) != MAGIC) return damaged(e);
  const char *machine = get_bytes(&r, &length);
  if (r.bad || !length || machine[length - 1]) return damaged(e);
  tess_status s = dae_machine_parse(&out->m, machine, e);
  if (s) return s;
  out->bytes = get(&r);
  get_buffers(&r);
  for (uint32_t k = get_count(&r); k && !r.bad; k--) get_host(&r);
  for (uint32_t k = get_count(&r); k && !r.bad; k--) get_item(&r);
  return r.bad || out->bytes > UINT64_C(1) << 36 ? damaged(e) : TESS_OK;
}

void dae_code_free(dae_code *c, mem_heap *heap) {
  for (uint32_t i = 0; i < c->item.n; i++)
    dae_stream_free(heap, &c->item.v[i].s);
  vec_free(heap, &c->item);
  vec_free(heap, &c->host);
  vec_free(heap, &c->buffer);
}
