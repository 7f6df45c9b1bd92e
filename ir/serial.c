/* SPDX-License-Identifier: Apache-2.0
 * Serialization of programs: a header, then table after table, every field in
 * little-endian order.  One function a table serves both directions.
 *
 *   "TESSPROG" version:4 0:4 size:8 checksum:8    the header, 32 bytes
 *   count:4 records                               each table in turn
 *   buffer:4 bytes:8 padding contents             each constant
 *
 * Derived data (bounds and flags of nodes, hash tables) is not stored.
 * Contents of constants are at multiples of 64 from the first byte. */
#include "base/hash.h"
#include "ir/expr.h"
#include "ir/import.h"
#include "ir/query.h"
#include "ir/verify/verify.h"

static const char magic[8] = {'T', 'E', 'S', 'S', 'P', 'R', 'O', 'G'};
enum { VERSION = 3, HEADER = 32, CONTENTS_ALIGN = 64 };

/* Writes to `out`, or reads from `in` (out NULL): past its end everything is 0
 * and `bad` is set. */
typedef struct codec {
  strbuf *out;
  const uint8_t *in;
  size_t n, at;
  bool bad;
} codec;

/* ---- numbers ------------------------------------------------------------ */

static uint64_t codec_number(codec *c, uint64_t v, unsigned bytes) {
  uint64_t r = 0;
  if (c->out) {
    for (unsigned i = 0; i < bytes; i++) str_putc(c->out, (char)(v >> 8 * i));
    return v;
  }
  if (c->n - c->at < bytes) {
    c->bad = true;
    c->at = c->n;
    return 0;
  }
  for (unsigned i = 0; i < bytes; i++) r |= (uint64_t)c->in[c->at++] << 8 * i;
  return r;
}

static void u8(codec *c, uint8_t *v) { *v = (uint8_t)codec_number(c, *v, 1); }
static void u16(codec *c, uint16_t *v) {
  *v = (uint16_t)codec_number(c, *v, 2);
}
static void u32(codec *c, uint32_t *v) {
  *v = (uint32_t)codec_number(c, *v, 4);
}
static void i64(codec *c, int64_t *v) {
  *v = (int64_t)codec_number(c, (uint64_t)*v, 8);
}
static void span(codec *c, ir_span *s) {
  u32(c, &s->at);
  u32(c, &s->n);
}
static void dtype(codec *c, tess_dtype *t) {
  u8(c, &t->code);
  u8(c, &t->bits);
  u16(c, &t->lanes);
}

/* ---- records ------------------------------------------------------------ */

static void node(codec *c, ir_node *n) {
  u8(c, &n->op);
  u16(c, &n->n);
  dtype(c, &n->dtype);
  if (n->op == IR_INT || n->op == IR_REAL) {
    i64(c, &n->i);
    return;
  }
  u32(c, &n->a);
  u32(c, &n->b);
  u32(c, &n->c);
}

static void var(codec *c, ir_var_rec *r) {
  u8(c, &r->kind);
  u8(c, &r->form);
  u16(c, &r->part);
  dtype(c, &r->dtype);
  u32(c, &r->name);
  u32(c, &r->from[0]);
  u32(c, &r->from[1]);
  u32(c, &r->owner);
  u32(c, &r->ref);
  i64(c, &r->lo);
  i64(c, &r->hi);
}

static void buf(codec *c, ir_buf_rec *r) {
  u32(c, &r->name);
  dtype(c, &r->dtype);
  u8(c, &r->scope);
  u8(c, &r->role);
  u8(c, &r->holds);
  i64(c, &r->least);
  i64(c, &r->most);
  u16(c, &r->align);
  span(c, &r->shape);
  span(c, &r->strides);
  u32(c, &r->offset);
}

static void stmt_part(codec *c, ir_stmt_rec *r) {
  switch ((ir_kind)r->kind) {
  case IR_LOOP:
    u32(c, &r->var);
    u32(c, &r->lo);
    u32(c, &r->extent);
    break;
  case IR_BLOCK: u32(c, &r->block); break;
  case IR_STORE:
    u32(c, &r->buf);
    span(c, &r->idx);
    u32(c, &r->value);
    u32(c, &r->mask);
    break;
  case IR_IF: u32(c, &r->cond); break;
  case IR_LET:
    u32(c, &r->let_var);
    u32(c, &r->let_value);
    break;
  case IR_EVALUATE: u32(c, &r->eval); break;
  case IR_ALLOCATE: u32(c, &r->alloc); break;
  case IR_BARRIER:
  case IR_DEAD: break;
  }
}

/* Of a dead statement only when it died. */
static void stmt(codec *c, ir_stmt_rec *r) {
  u8(c, &r->kind);
  u32(c, &r->prev);
  if (r->kind == IR_DEAD) return;
  u8(c, &r->loop_kind);
  u8(c, &r->thread);
  u8(c, &r->in_alt);
  u32(c, &r->parent);
  u32(c, &r->next);
  u32(c, &r->body);
  u32(c, &r->alt);
  u32(c, &r->anno);
  stmt_part(c, r);
}

static void block(codec *c, ir_block_rec *b) {
  u32(c, &b->name);
  u32(c, &b->stmt);
  span(c, &b->iters);
  u32(c, &b->pred);
  span(c, &b->reads);
  span(c, &b->writes);
  span(c, &b->allocs);
  span(c, &b->matches);
  u32(c, &b->reducer);
}

static void iter(codec *c, ir_iter *r) {
  u32(c, &r->var);
  u32(c, &r->kind);
  u32(c, &r->lo);
  u32(c, &r->extent);
  u32(c, &r->bind);
}

static void region(codec *c, ir_region *r) {
  u32(c, &r->buf);
  u32(c, &r->at);
}

static void match(codec *c, ir_match *m) {
  u32(c, &m->buf);
  region(c, &m->source);
}

static void reducer(codec *c, ir_reducer *r) {
  u32(c, &r->name);
  u32(c, &r->n);
  span(c, &r->lhs);
  span(c, &r->rhs);
  span(c, &r->combine);
  span(c, &r->identity);
  u32(c, &r->ordered);
}

static void func(codec *c, ir_func *f) {
  u32(c, &f->name);
  span(c, &f->params);
  span(c, &f->sizes);
  u32(c, &f->root);
}

static void anno(codec *c, ir_anno *a) {
  u32(c, &a->key);
  u32(c, &a->val);
  u32(c, &a->next);
}

static void value(codec *c, ir_value *v) {
  u32(c, &v->tag);
  u32(c, &v->n);
  i64(c, &v->i);
}

static void arg(codec *c, uint32_t *v) { u32(c, v); }
static void text(codec *c, char *v) {
  *v = (char)codec_number(c, (uint8_t)*v, 1);
}

/* ---- tables ------------------------------------------------------------- */

/* The tables in the order of the file. */
/* clang-format off */
#define TABLES(T) \
  T(node) T(var) T(buf) T(stmt) T(block) T(iter) T(region) T(match) \
  T(reducer) T(func) T(anno) T(value) T(arg) T(text)
/* clang-format on */

/* The number of records of a table; one that is read is at most the
 * number of bytes left. */
static uint32_t table_size(codec *c, uint32_t n) {
  u32(c, &n);
  if (!c->out && n > c->n - c->at) {
    c->bad = true;
    return 0;
  }
  return n;
}

static void write_tables(codec *c, const ir_program *p) {
  uint32_t entry = p->entry, step = p->step;
  u32(c, &entry);
  u32(c, &step);
#define WRITE(t)                            \
  table_size(c, p->t.n);                    \
  for (uint32_t i = 0; i < p->t.n; i++) {   \
    __typeof__(*p->t.v) record = p->t.v[i]; \
    t(c, &record);                          \
  }
  TABLES(WRITE)
#undef WRITE
}

/* Tables whose record 0 means "none". */
#define INDEXED(T) \
  T(node)          \
  T(var) T(buf) T(stmt) T(block) T(reducer) T(func) T(anno) T(value) T(arg)

/* Records are read into zeroed memory. */
static void read_tables(codec *c, ir_program *p) {
  u32(c, &p->entry);
  u32(c, &p->step);
#define READ(t)                                                   \
  {                                                               \
    uint32_t n = table_size(c, 0);                                \
    vec_clear(&p->t);                                             \
    vec_reserve(p->heap, &p->t, n);                               \
    p->t.n = n;                                                   \
    if (n) memset(p->t.v, 0, n * sizeof *p->t.v);                 \
    for (uint32_t i = 0; i < n && !c->bad; i++) t(c, &p->t.v[i]); \
  }
  TABLES(READ)
#undef READ
#define BLANK(t) \
  if (p->t.n) memset(p->t.v, 0, sizeof *p->t.v);
  INDEXED(BLANK)
#undef BLANK
}

/* ---- constants ---------------------------------------------------------- */

static size_t padding(size_t at) {
  return (CONTENTS_ALIGN - at % CONTENTS_ALIGN) % CONTENTS_ALIGN;
}

static void write_constants(codec *c, const ir_program *p, size_t start) {
  table_size(c, p->constant.n);
  for (uint32_t i = 0; i < p->constant.n; i++) {
    ir_const k = p->constant.v[i];
    int64_t bytes = (int64_t)k.bytes;
    u32(c, &k.buf);
    i64(c, &bytes);
    for (size_t n = padding(c->out->n - start); n > 0; n--) str_putc(c->out, 0);
    str_write(c->out, k.data, k.bytes);
  }
}

static void read_constants(codec *c, ir_program *p) {
  uint32_t n = table_size(c, 0);
  vec_clear(&p->constant);
  for (uint32_t i = 0; i < n && !c->bad; i++) {
    ir_const k = {0};
    int64_t bytes = 0;
    u32(c, &k.buf);
    i64(c, &bytes);
    size_t pad = padding(c->at), left = c->n - c->at;
    if (pad > left || bytes < 0 || (uint64_t)bytes > left - pad) {
      c->bad = true;
      return;
    }
    k.data = c->in + c->at + pad;
    k.bytes = (size_t)bytes;
    c->at += pad + k.bytes;
    vec_push(p->heap, &p->constant, k);
  }
}

/* ---- the whole ---------------------------------------------------------- */

/* The header contains the size and checksum of what follows it, so these are
 * filled in at the end. */
static void write_program(const ir_program *p, strbuf *out) {
  codec c = {.out = out};
  size_t start = out->n;
  str_write(out, magic, sizeof magic);
  codec_number(&c, VERSION, 4);
  codec_number(&c, 0, 4);
  codec_number(&c, 0, 8);
  codec_number(&c, 0, 8);
  write_tables(&c, p);
  write_constants(&c, p, start);
  if (out->bad) return;
  size_t size = out->n - start - HEADER;
  uint64_t sum = hash_bytes(out->v + start + HEADER, size);
  for (unsigned i = 0; i < 8; i++) {
    out->v[start + 16 + i] = (char)((uint64_t)size >> 8 * i);
    out->v[start + 24 + i] = (char)(sum >> 8 * i);
  }
}

typedef struct saving {
  const ir_program *p;
  ir_program tidy;
  arena scratch;
  strbuf *out;
} saving;

static tess_status save_bytes(void *ud) {
  saving *s = ud;
  ir_program_init(&s->tidy, s->p->heap);
  ir_import_funcs(&s->tidy, s->p, &s->scratch);
  s->tidy.entry = s->p->entry;
  write_program(&s->tidy, s->out);
  return TESS_OK;
}

/* Writes a copy of what the functions use: other table entries are garbage, and
 * may refer to what no longer exists. */
void ir_save(const ir_program *p, strbuf *out) {
  saving s = {.p = p, .tidy.heap = p->heap, .out = out};
  arena_init(&s.scratch, p->heap);
  if (mem_protect(p->heap, save_bytes, &s) != TESS_OK) {
    str_clear(out);
    out->bad = true;
  }
  ir_program_free(&s.tidy);
  arena_free(&s.scratch);
}

static bool codec_fail(strbuf *why, const char *what) {
  str_puts(why, what);
  return false;
}

static bool read_header(codec *c, strbuf *why) {
  if (c->n < HEADER || memcmp(c->in, magic, sizeof magic))
    return codec_fail(why, "these bytes are not a program");
  c->at = sizeof magic;
  uint64_t version = codec_number(c, 0, 4);
  (void)codec_number(c, 0, 4);
  uint64_t size = codec_number(c, 0, 8), sum = codec_number(c, 0, 8);
  if (version != VERSION) {
    str_printf(why, "the program has format %llu; this engine reads %d",
               (unsigned long long)version, VERSION);
    return false;
  }
  if (size != c->n - HEADER)
    return codec_fail(why, "the program is cut off, or something follows it");
  if (sum != hash_bytes(c->in + HEADER, (size_t)size))
    return codec_fail(why, "the program is damaged: its checksum does not fit");
  return true;
}

static bool read_program(codec *c, ir_program *p, arena *scratch, strbuf *why) {
  read_tables(c, p);
  read_constants(c, p);
  if (c->bad || c->at != c->n)
    return codec_fail(why, "the program's tables do not end where they should");
  if (!verify_untrusted(p, scratch, why)) return false;
  if (!ir_reintern_names(p)) return codec_fail(why, "a name is there twice");
  if (!ir_reintern(p)) return codec_fail(why, "an expression is there twice");
  return ir_verify(p, scratch, why);
}

tess_status ir_restore(ir_program *p, arena *scratch, const void *bytes,
                       size_t n, strbuf *why) {
  codec c = {.in = bytes, .n = n};
  ir_program_reset(p);
  if (read_header(&c, why) && read_program(&c, p, scratch, why)) return TESS_OK;
  ir_program_reset(p);
  return TESS_PARSE;
}
