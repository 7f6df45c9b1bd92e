/* SPDX-License-Identifier: Apache-2.0
 * Reads NumPy's .npy files of versions 1 to 3, and writes version 1.
 *
 *   \x93 N U M P Y major minor | length of head | head | elements
 *   head: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 *
 * NumPy has no bfloat16; as other libraries do, it is written as two opaque
 * bytes ('|V2'), and these are read as bfloat16. */
#include "ir/scalar.h"
#include "measure/tensor/tensor.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char magic[] = "\x93NUMPY";
enum { MAGIC = 6, START = 12, ALIGN = 64, MAX_HEAD = 1 << 20 };

/* ---- types -------------------------------------------------------------- */

typedef struct npy_type {
  char kind;
  tess_dtype dtype;
} npy_type;

static const npy_type types[] = {
    {'f', {TESS_DTYPE_FLOAT, 16, 1}},  {'f', {TESS_DTYPE_FLOAT, 32, 1}},
    {'f', {TESS_DTYPE_FLOAT, 64, 1}},  {'i', {TESS_DTYPE_INT, 8, 1}},
    {'i', {TESS_DTYPE_INT, 16, 1}},    {'i', {TESS_DTYPE_INT, 32, 1}},
    {'i', {TESS_DTYPE_INT, 64, 1}},    {'u', {TESS_DTYPE_UINT, 8, 1}},
    {'u', {TESS_DTYPE_UINT, 16, 1}},   {'u', {TESS_DTYPE_UINT, 32, 1}},
    {'u', {TESS_DTYPE_UINT, 64, 1}},   {'b', {TESS_DTYPE_BOOL, 8, 1}},
    {'V', {TESS_DTYPE_BFLOAT, 16, 1}},
};
enum { NTYPES = sizeof types / sizeof *types };

/* "<f4" */
static bool parse_type(const char *s, size_t n, npy_head *out) {
  if (n != 3 || !strchr("<>|=", s[0])) return false;
  for (int i = 0; i < NTYPES; i++) {
    tess_dtype t = types[i].dtype;
    if (types[i].kind != s[1] || t.bits / 8 != s[2] - '0') continue;
    out->dtype = t;
    out->is_swapped = s[0] == '>' && t.bits > 8;
    return true;
  }
  return false;
}

static void put_type(tess_dtype t, char out[8]) {
  for (int i = 0; i < NTYPES; i++) {
    if (!ir_dtype_eq(types[i].dtype, t)) continue;
    bool is_plain = t.bits == 8 || types[i].kind == 'V';
    snprintf(out, 8, "%c%c%d", is_plain ? '|' : '<', types[i].kind, t.bits / 8);
  }
}

/* ---- the head ----------------------------------------------------------- */

typedef struct parser {
  const char *start, *at, *end;
  err_state *e;
} parser;

static tess_status parse_error(const parser *p, const char *what) {
  err_set(p->e, TESS_PARSE, "not a .npy file that can be read: %s", what);
  err_place(p->e, "byte %zu", (size_t)(p->at - p->start));
  return TESS_PARSE;
}

static void skip_blanks(parser *p) {
  while (p->at < p->end && isspace((unsigned char)*p->at)) p->at++;
}

static bool eat(parser *p, char c) {
  skip_blanks(p);
  if (p->at == p->end || *p->at != c) return false;
  p->at++;
  return true;
}

static bool eat_word(parser *p, const char *word) {
  size_t n = strlen(word);
  skip_blanks(p);
  if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n) != 0) return false;
  p->at += n;
  return true;
}

/* A text in either kind of quotes, without escapes. */
static bool eat_text(parser *p, const char **s, size_t *n) {
  char quote = eat(p, '\'') ? '\'' : eat(p, '"') ? '"' : '\0';
  if (!quote) return false;
  const char *end = memchr(p->at, quote, (size_t)(p->end - p->at));
  if (!end) return false;
  *s = p->at;
  *n = (size_t)(end - p->at);
  p->at = end + 1;
  return true;
}

static bool eat_int(parser *p, int64_t *out) {
  skip_blanks(p);
  const char *from = p->at;
  *out = 0;
  for (; p->at < p->end && isdigit((unsigned char)*p->at); p->at++)
    if (__builtin_mul_overflow(*out, 10, out) ||
        __builtin_add_overflow(*out, *p->at - '0', out))
      return false;
  return p->at > from;
}

static tess_status eat_shape(parser *p, npy_head *out) {
  if (!eat(p, '(')) return parse_error(p, "the shape is not a tuple");
  while (!eat(p, ')')) {
    if (out->ndim == TENSOR_MAX_DIM)
      return parse_error(p, "too many dimensions");
    if (!eat_int(p, &out->shape[out->ndim++]))
      return parse_error(p, "an extent is not a number");
    if (!eat(p, ',') && (p->at == p->end || *p->at != ')'))
      return parse_error(p, "the shape is not a tuple");
  }
  return TESS_OK;
}

static tess_status eat_value(parser *p, const char *key, size_t n,
                             npy_head *out, uint32_t *seen) {
  const char *s;
  size_t len;
  if (n == 5 && !memcmp(key, "descr", 5) && !(*seen & 1)) {
    *seen |= 1;
    if (!eat_text(p, &s, &len)) return parse_error(p, "the type is not a text");
    return parse_type(s, len, out)
               ? TESS_OK
               : parse_error(p, "elements of a type that no "
                                "tensor has");
  }
  if (n == 13 && !memcmp(key, "fortran_order", 13) && !(*seen & 2)) {
    *seen |= 2;
    out->is_fortran = eat_word(p, "True");
    return out->is_fortran || eat_word(p, "False")
               ? TESS_OK
               : parse_error(p, "fortran_order is neither True nor False");
  }
  if (n == 5 && !memcmp(key, "shape", 5) && !(*seen & 4)) {
    *seen |= 4;
    return eat_shape(p, out);
  }
  return parse_error(p, "a key that does not belong there");
}

static tess_status eat_head(parser *p, npy_head *out) {
  uint32_t seen = 0;
  if (!eat(p, '{')) return parse_error(p, "the head is no dictionary");
  while (!eat(p, '}')) {
    const char *key;
    size_t n;
    if (!eat_text(p, &key, &n) || !eat(p, ':'))
      return parse_error(p, "the head is no dictionary");
    tess_status s = eat_value(p, key, n, out, &seen);
    if (s) return s;
    if (!eat(p, ',') && (p->at == p->end || *p->at != '}'))
      return parse_error(p, "the head is no dictionary");
  }
  skip_blanks(p);
  if (p->at != p->end)
    return parse_error(p, "something follows the dictionary");
  return seen == 7 ? TESS_OK : parse_error(p, "the head lacks a key");
}

/* Where the dictionary starts and how long it is, from the first START
 * bytes; 0: nowhere. */
static size_t find_dictionary(const unsigned char *b, size_t n, size_t *len) {
  if (n < START || memcmp(b, magic, MAGIC) != 0 || b[6] < 1 || b[6] > 3)
    return 0;
  *len = b[8] | (size_t)b[9] << 8;
  if (b[6] == 1) return 10;
  *len |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
  return 12;
}

tess_status npy_read_head(const void *bytes, size_t n, npy_head *out,
                          err_state *e) {
  const unsigned char *b = bytes;
  parser p = {bytes, bytes, (const char *)bytes + n, e};
  *out = (npy_head){.ndim = 0};
  if (n < START || memcmp(b, magic, MAGIC) != 0)
    return parse_error(&p, "it does not start with the magic string");
  p.at += MAGIC;
  size_t len, from = find_dictionary(b, n, &len);
  if (!from) return parse_error(&p, "an unknown version");
  if (len > MAX_HEAD) return parse_error(&p, "its head is too long");
  if (len > n - from) return parse_error(&p, "it ends in its head");
  out->data = from + len;
  p.at = p.start + from;
  p.end = p.start + out->data;
  return eat_head(&p, out);
}

/* ---- elements ----------------------------------------------------------- */

static void swap_bytes(char *at, size_t size) {
  for (size_t i = 0; i < size / 2; i++) {
    char c = at[i];
    at[i] = at[size - 1 - i];
    at[size - 1 - i] = c;
  }
}

/* Element i of row-major order, in a file where the first index runs
 * fastest. */
static int64_t place_in_file(const npy_head *h, int64_t i) {
  int64_t index[TENSOR_MAX_DIM], at = 0;
  for (uint32_t d = h->ndim; d-- > 0;) {
    index[d] = i % h->shape[d];
    i /= h->shape[d];
  }
  for (uint32_t d = h->ndim; d-- > 0;) at = at * h->shape[d] + index[d];
  return at;
}

static void reorder_elements(const npy_head *h, const char *from,
                             const tess_tensor *t) {
  size_t size = ir_dtype_bytes(h->dtype);
  char *to = t->data;
  for (int64_t i = 0; i < t->size; i++)
    memcpy(to + (size_t)i * size, from + (size_t)place_in_file(h, i) * size,
           size);
}

/* Converts the file's elements to this machine's representation. */
static void convert_elements(const npy_head *h, const tess_tensor *t) {
  size_t size = ir_dtype_bytes(h->dtype);
  char *to = t->data;
  for (int64_t i = 0; h->is_swapped && i < t->size; i++)
    swap_bytes(to + (size_t)i * size, size);
  /* NumPy keeps any non-zero byte as true; ours are 0 and 1. */
  for (int64_t i = 0; h->dtype.code == TESS_DTYPE_BOOL && i < t->size; i++)
    to[i] = to[i] != 0;
}

/* ---- reading ------------------------------------------------------------ */

typedef struct reading {
  tess_context *c;
  const npy_source *from;
  strbuf head;
  npy_head h;
  size_t bytes; /* of the elements */
} reading;

/* Has the first n bytes in `head`, or all there are. */
static tess_status get_head_bytes(reading *r, size_t n) {
  char some[256];
  size_t got = 1;
  while (r->head.n < n && got > 0) {
    size_t want = n - r->head.n;
    if (want > sizeof some) want = sizeof some;
    tess_status s = r->from->get(r->from->ud, some, want, &got, &r->c->err);
    if (s) return s;
    str_write(&r->head, some, got);
    if (r->head.bad) return str_status(&r->head);
  }
  return TESS_OK;
}

static tess_status size_error(const reading *r, const char *how) {
  return err_set(&r->c->err, TESS_PARSE,
                 "not a .npy file that can be read: it has %s bytes of "
                 "elements than its shape says",
                 how);
}

static tess_status get_head(reading *r) {
  size_t len;
  tess_status s = get_head_bytes(r, START);
  if (s) return s;
  size_t from = find_dictionary((unsigned char *)r->head.v, r->head.n, &len);
  if (from && len <= MAX_HEAD) s = get_head_bytes(r, from + len);
  if (!s) s = npy_read_head(str_get(&r->head), r->head.n, &r->h, &r->c->err);
  if (s) return s;
  int64_t size = 1, bytes, each = (int64_t)ir_dtype_bytes(r->h.dtype);
  bool too_large = false;
  for (uint32_t d = 0; d < r->h.ndim; d++)
    too_large |= __builtin_mul_overflow(size, r->h.shape[d], &size);
  if (too_large || __builtin_mul_overflow(size, each, &bytes))
    return size_error(r, "fewer");
  r->bytes = (size_t)bytes;
  uint64_t all = r->from->size, want = r->h.data + (uint64_t)bytes;
  if (all == want) return TESS_OK;
  return size_error(r, all < want ? "fewer" : "more");
}

/* Reads the elements and checks that nothing follows. */
static tess_status get_elements(const reading *r, void *to) {
  size_t got, extra;
  char behind;
  const npy_source *from = r->from;
  tess_status s = from->get(from->ud, to, r->bytes, &got, &r->c->err);
  if (s) return s;
  if (got < r->bytes) return size_error(r, "fewer");
  s = from->get(from->ud, &behind, 1, &extra, &r->c->err);
  return s ? s : extra ? size_error(r, "more") : TESS_OK;
}

static tess_status fill_tensor(const reading *r, const tess_tensor *t) {
  mem_heap *heap = &r->c->heap;
  tess_status s;
  if (!r->h.is_fortran || r->h.ndim < 2) {
    s = get_elements(r, t->data);
  } else {
    char *there = mem_try_resize(heap, NULL, 0, r->bytes + 1);
    if (!there) return mem_refusal(heap);
    s = get_elements(r, there);
    if (!s) reorder_elements(&r->h, there, t);
    mem_free(heap, there, r->bytes + 1);
  }
  if (!s) convert_elements(&r->h, t);
  return s;
}

tess_status npy_read(tess_context *c, const npy_source *from,
                     tess_tensor **out) {
  reading r = {.c = c, .from = from};
  tess_tensor *t;
  str_init(&r.head, &c->heap);
  tess_status s = get_head(&r);
  str_free(&r.head);
  if (!s) s = tensor_make(c, r.h.dtype, r.h.ndim, r.h.shape, &t);
  if (s) return s;
  s = fill_tensor(&r, t);
  if (s)
    tess_tensor_free(t);
  else
    *out = t;
  return s;
}

typedef struct in_memory {
  const char *at;
  size_t left;
} in_memory;

static tess_status get_from_memory(void *ud, void *to, size_t n, size_t *got,
                                   err_state *e) {
  in_memory *m = ud;
  (void)e;
  *got = n < m->left ? n : m->left;
  if (*got) memcpy(to, m->at, *got);
  m->at += *got;
  m->left -= *got;
  return TESS_OK;
}

tess_status npy_read_bytes(tess_context *c, const void *bytes, size_t n,
                           tess_tensor **out) {
  in_memory m = {bytes, n};
  return npy_read(c, &(npy_source){get_from_memory, &m, n}, out);
}

/* The head is filled with blanks up to where elements are aligned. */
void npy_write(const tess_tensor *t, strbuf *out) {
  strbuf head;
  char type[8] = "";
  str_init(&head, out->heap);
  put_type(t->dtype, type);
  str_printf(&head, "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
  for (uint32_t d = 0; d < t->ndim; d++)
    str_printf(&head, "%s%lld%s", d ? ", " : "", (long long)t->shape[d],
               t->ndim == 1 ? "," : "");
  str_puts(&head, "), }");
  enum { FROM = 10 };
  size_t blanks = (ALIGN - (FROM + head.n + 1) % ALIGN) % ALIGN;
  str_printf(&head, "%*s\n", (int)blanks, "");
  str_write(out, magic, MAGIC);
  const char version[4] = {1, 0, (char)(head.n & 0xff), (char)(head.n >> 8)};
  str_write(out, version, sizeof version);
  str_write(out, str_or(&head, ""), head.n);
  str_write(out, t->data, t->bytes);
  out->bad = out->bad || head.bad;
  str_free(&head);
}
