/* SPDX-License-Identifier: Apache-2.0
 * Kernels as files that Tessera loads again, of any target: the completed
 * text of the target, the program, and the backend's code, which for a device
 * is its host program and the kernels' text (PTX, OpenCL C).
 *
 * A header (magic, version, bytes and checksum of what follows), then the
 * number of threads and four texts, each after its length: target, program,
 * the described program that it was made of or nothing (arguments.c checks
 * sizes against it), code.  Numbers are little-endian. */
#include "measure/kernel_file.h"
#include "base/file.h"
#include "base/hash.h"
#include "ir/query.h"
#include "measure/context.h"
#include <stdio.h>
#include <string.h>

/* Changes with this layout and with the code of any backend. */
enum { VERSION = 1, HEADER = 32, PARTS = 4 };
#define MOST_BYTES ((size_t)1 << 31)

static const char kernel_magic[8] = {'T', 'S', 'K', 'E', 'R', 'N', 'E', 'L'};

/* ---- writing ------------------------------------------------------------ */

static void put_word(strbuf *out, uint64_t v) {
  char b[8];
  for (int i = 0; i < 8; i++) b[i] = (char)(v >> 8 * i);
  str_write(out, b, sizeof b);
}

static void put_part(strbuf *out, const void *v, size_t n) {
  put_word(out, n);
  if (n) str_write(out, v, n);
}

static void put_program(strbuf *out, const tess_program *p, strbuf *bytes) {
  str_clear(bytes);
  if (p) ir_save(&p->p, bytes);
  out->bad |= bytes->bad;
  put_part(out, bytes->v, bytes->n);
}

/* The code as it was built, or, of a kernel that is loaded into this process
 * or into none, built again. */
static tess_status take_code(tess_kernel *k, measure_build *b,
                             const strbuf **out) {
  *out = k->remote.n ? &k->remote : &b->code;
  return k->remote.n
             ? TESS_OK
             : kernel_build(k->c, k->program, k->target_text, BACKEND_CODE, b);
}

tess_status kernel_file_write(tess_kernel *k, const char *path,
                              measure_build *b, strbuf *body, strbuf *file) {
  const strbuf *code;
  tess_status s = take_code(k, b, &code);
  if (s) return s;
  put_word(body, k->threads);
  put_part(body, k->target_text, strlen(k->target_text));
  put_program(body, k->program, file);
  put_program(body, k->program->origin, file);
  put_part(body, code->v, code->n);
  s = str_status(body);
  if (s) return s;
  str_clear(file);
  str_write(file, kernel_magic, sizeof kernel_magic);
  put_word(file, VERSION);
  put_word(file, body->n);
  put_word(file, hash_bytes(body->v, body->n));
  str_write(file, body->v, body->n);
  s = str_status(file);
  return s ? s : file_write(path, file->v, file->n, &k->c->err);
}

/* ---- reading ------------------------------------------------------------ */

typedef struct kernel_loading {
  tess_context *c;
  const char *path;
  strbuf bytes, target, program, origin, code, why;
  uint64_t threads;
  arena scratch;
  tess_program *p;
  tess_kernel *k;
} kernel_loading;

static uint64_t word_at(const char *v) {
  uint64_t w = 0;
  for (int i = 0; i < 8; i++) w |= (uint64_t)(unsigned char)v[i] << 8 * i;
  return w;
}

static tess_status refuse_file(const kernel_loading *w, const char *why) {
  return ctx_fail(w->c, TESS_PARSE, "'%s' %s", w->path, why);
}

static tess_status check_header(const kernel_loading *w) {
  const strbuf *b = &w->bytes;
  if (b->n < HEADER || memcmp(b->v, kernel_magic, sizeof kernel_magic))
    return refuse_file(w, "is no kernel that was saved as NAME.kernel");
  uint64_t version = word_at(b->v + 8);
  if (version != VERSION)
    return ctx_fail(w->c, TESS_PARSE,
                    "'%s' is a kernel in format %llu, and this Tessera (%s) "
                    "reads %d: build and save it again",
                    w->path, (unsigned long long)version, tess_version(),
                    VERSION);
  if (word_at(b->v + 16) != b->n - HEADER)
    return refuse_file(w, "is damaged: it is cut off, or something follows it");
  if (word_at(b->v + 24) != hash_bytes(b->v + HEADER, b->n - HEADER))
    return refuse_file(w, "is damaged: its checksum does not fit");
  return TESS_OK;
}

/* Copies, so that each begins at an aligned address. */
static tess_status read_parts(kernel_loading *w) {
  strbuf *const part[PARTS] = {&w->target, &w->program, &w->origin, &w->code};
  const char *at = w->bytes.v + HEADER;
  size_t left = w->bytes.n - HEADER;
  bool bad = left < 8;
  if (!bad) {
    w->threads = word_at(at);
    at += 8;
    left -= 8;
  }
  for (int i = 0; i < PARTS && !bad; i++) {
    uint64_t n = left < 8 ? 0 : word_at(at);
    bad = left < 8 || n > left - 8;
    if (bad) break;
    str_write(part[i], at + 8, (size_t)n);
    if (part[i]->bad) return str_status(part[i]);
    at += 8 + n;
    left -= 8 + (size_t)n;
  }
  bad |= left != 0 || !w->code.n || w->threads > UINT32_MAX;
  return bad ? refuse_file(w, "is damaged: its parts do not fit") : TESS_OK;
}

static tess_status read_kernel_program(kernel_loading *w, const strbuf *from,
                                       tess_program **out) {
  *out = program_empty(w->c);
  tess_status s = program_restore(*out, &w->scratch, from->v, from->n, &w->why);
  if (s == TESS_NOMEM || s == TESS_LIMIT)
    return ctx_ran_out(w->c, s, "%s", w->path);
  return s ? ctx_fail(w->c, s, "'%s': %s", w->path,
                      w->why.n ? str_get(&w->why) : err_status_text(s))
           : TESS_OK;
}

/* Names the file and the target in an error of loading. */
static tess_status cannot_run(const kernel_loading *w, tess_status s,
                              const char *reason) {
  char why[400];
  snprintf(why, sizeof why, "%s", reason);
  return ctx_fail(w->c, s,
                  "'%s' has a kernel for '%s', which cannot run here: "
                  "%s",
                  w->path, str_get(&w->target), why);
}

/* Is the device there that it was built for?  A worker opens the driver. */
static tess_status check_device(const kernel_loading *w) {
  const target *t = &w->k->target;
  measure_pool *pool;
  char device[40];
  strbuf facts;
  if (!w->k->remote.n || !backend_find(t->kind)->facts) return TESS_OK;
  tess_status s = measure_context_pool(w->c, &pool);
  if (s) return s;
  snprintf(device, sizeof device, "%s:%lld", t->kind, (long long)t->device);
  str_init(&facts, &w->c->heap);
  s = measure_device_facts(pool, device, &facts, &w->c->err);
  str_free(&facts);
  return s == TESS_UNSUPPORTED || s == TESS_NOT_FOUND
             ? cannot_run(w, TESS_UNSUPPORTED, w->c->err.message)
             : s;
}

static tess_status load_file(void *ud) {
  kernel_loading *w = ud;
  tess_status s = file_read(w->path, MOST_BYTES, &w->bytes, &w->c->err);
  if (!s) s = check_header(w);
  if (!s) s = read_parts(w);
  if (!s) s = read_kernel_program(w, &w->program, &w->p);
  if (!s && w->origin.n) s = read_kernel_program(w, &w->origin, &w->p->origin);
  if (!s) s = kernel_load(w->c, w->p, str_get(&w->target), &w->code, &w->k);
  if (s) return s;
  if (w->k->foreign) return cannot_run(w, TESS_UNSUPPORTED, w->k->foreign);
  w->k->threads = (uint32_t)w->threads;
  return check_device(w);
}

tess_status kernel_file_read(tess_context *c, const char *path,
                             tess_kernel **out) {
  kernel_loading w = {.c = c, .path = path};
  strbuf *const own[] = {&w.bytes,  &w.target, &w.program,
                         &w.origin, &w.code,   &w.why};
  enum { OWN = sizeof own / sizeof *own };
  for (int i = 0; i < OWN; i++) str_init(own[i], &c->heap);
  arena_init(&w.scratch, &c->heap);
  ctx_begin_work(c);
  tess_status s = ctx_run(c, load_file, &w);
  ctx_end_work(c);
  for (int i = 0; i < OWN; i++) str_free(own[i]);
  arena_free(&w.scratch);
  tess_program_free(w.p); /* the kernel holds it */
  if (s)
    tess_kernel_free(w.k);
  else
    *out = w.k;
  return s;
}
