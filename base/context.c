/* SPDX-License-Identifier: Apache-2.0
 * Contexts: the frame of public calls, the last error, the log. */
#include "base/context.h"

#include <stdio.h>
#include <string.h>

static void blame_nobody(tess_context *c) {
  c->primitive[0] = c->reason[0] = '\0';
  c->detail_fn = NULL;
  str_clear(&c->detail);
}

void ctx_clear(tess_context *c) {
  err_clear(&c->err);
  blame_nobody(c);
}

void ctx_forget(tess_context *c, const void *ud) {
  if (c->detail_fn && c->detail_ud == ud) ctx_clear(c);
}

tess_status ctx_run_in(const char *call, tess_context *c,
                       tess_status (*fn)(void *ud), void *ud) {
  ctx_clear(c);
  mem_note(&c->heap, NULL, NULL);
  tess_status status = mem_protect(&c->heap, fn, ud);
  if (status != TESS_OK) {
    if (!c->heap.doing[0] && !c->heap.limit)
      mem_note(&c->heap, "the call", call);
    err_unwound(&c->err, &c->heap, status);
    c->serial++;
  }
  return status;
}

void ctx_begin_work(tess_context *c) {
  if (!c->works++) thread_flag_clear(&c->stop);
}

void ctx_end_work(tess_context *c) { c->works--; }

tess_status ctx_fail(tess_context *c, tess_status code, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  err_set_to(&c->err, code, fmt, ap);
  va_end(ap);
  blame_nobody(c);
  c->serial++;
  return code;
}

tess_status ctx_ran_out(tess_context *c, tess_status s, const char *fmt, ...) {
  char what[1024];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  ctx_clear(c);
  c->serial++;
  return err_ran_out(&c->err, &c->heap, s, "%s", what);
}

void ctx_blame(tess_context *c, const char *primitive, const char *reason) {
  snprintf(c->primitive, sizeof c->primitive, "%s", primitive);
  snprintf(c->reason, sizeof c->reason, "%s", reason);
}

void ctx_set_detail(tess_context *c, ctx_detail_fn fn, void *ud) {
  c->detail_fn = fn;
  c->detail_ud = ud;
}

void ctx_warn(tess_context *c, uint64_t key, const char *fmt, ...) {
  char text[1024], line[2 * sizeof text];
  va_list ap;
  for (uint32_t i = 0; i < c->nwarned && i < CTX_WARNED; i++)
    if (c->warned[i] == key) return;
  c->warned[c->nwarned++ % CTX_WARNED] = key;
  if (!c->log) return;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  err_one_line(text, line, sizeof line);
  str_defuse(line);
  c->log(c->log_ud, TESS_LOG_WARN, line);
}

/* The public structs are aligned to 8 bytes and no member crosses an 8-byte
 * boundary, so a multiple of 8 splits no member.  The first 8 bytes hold the
 * size. */
enum { STRUCT_STEP = 8, STRUCT_LEAST = 2 * STRUCT_STEP };

static uint32_t struct_size_of(const void *s) {
  uint32_t size;
  memcpy(&size, s, sizeof size);
  return size;
}

tess_status ctx_fits_struct(tess_context *c, const char *name, const void *host,
                            uint32_t size) {
  uint32_t given = struct_size_of(host);
  if (given >= STRUCT_LEAST && given % STRUCT_STEP == 0) return TESS_OK;
  if (!c) return TESS_INVALID;
  return ctx_fail(c, TESS_INVALID,
                  "%s.struct_size is %u, which is no size of that struct: set "
                  "it to sizeof(%s), %u here",
                  name, given, name, size);
}

tess_status ctx_take_struct(tess_context *c, const char *name, const void *in,
                            void *out, uint32_t size) {
  uint32_t given = struct_size_of(in);
  tess_status s = ctx_fits_struct(c, name, in, size);
  if (s != TESS_OK) return s;
  memcpy(out, in, given < size ? given : size);
  memcpy(out, &size, sizeof size);
  return TESS_OK;
}

tess_status ctx_give_struct(tess_context *c, const char *name, const void *ours,
                            void *out, uint32_t size) {
  uint32_t given = struct_size_of(out);
  tess_status s = ctx_fits_struct(c, name, out, size);
  if (s != TESS_OK) return s;
  memcpy(out, ours, given < size ? given : size);
  if (given > size) memset((char *)out + size, 0, given - size);
  memcpy(out, &given, sizeof given);
  return TESS_OK;
}

/* The size is stored in front of the text: who frees it does not know it. */
enum { TEXT_HEAD = 16 };

char *ctx_text(tess_context *c, const char *text, size_t n) {
  size_t size = TEXT_HEAD + n + 1;
  char *p = mem_resize(&c->heap, NULL, 0, size);
  memcpy(p, &size, sizeof size);
  memcpy(p + TEXT_HEAD, text, n);
  p[TEXT_HEAD + n] = '\0';
  return p + TEXT_HEAD;
}

char *ctx_text_of(tess_context *c, const strbuf *b) {
  if (b->bad) mem_unwind_refused(&c->heap);
  return ctx_text(c, str_get(b), b->n);
}

void tess_text_free(tess_context *c, char *text) {
  size_t size;
  if (!text) return;
  memcpy(&size, text - TEXT_HEAD, sizeof size);
  mem_free(&c->heap, text - TEXT_HEAD, size);
}
