/* SPDX-License-Identifier: Apache-2.0
 * Text under construction.  Appending never fails visibly: after memory is
 * out the buffer is `bad` and stays empty, and the one who hands the text
 * out tests that once. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include "base/mem.h"
#include <stdarg.h>

typedef struct strbuf {
  mem_heap *heap;
  char *v;               /* always NUL-terminated once something is in it */
  size_t n, cap;
  bool bad;
} strbuf;

void str_init(strbuf *b, mem_heap *heap);
void str_free(strbuf *b);
void str_clear(strbuf *b);
void str_putc(strbuf *b, char c);
void str_puts(strbuf *b, const char *s);
void str_write(strbuf *b, const char *s, size_t n);
void str_printf(strbuf *b, const char *fmt, ...)
  __attribute__((format(printf, 2, 3)));
void str_vprintf(strbuf *b, const char *fmt, va_list ap);
/* "" while empty, NULL when memory ran out. */
const char *str_get(const strbuf *b);
/* TESS_OK, or what the heap says where memory ran out. */
static inline tess_status str_status(const strbuf *b) {
  return b->bad ? mem_refusal(b->heap) : TESS_OK;
}
/* How many bytes from s on are whole characters of UTF-8: n where all are. */
size_t str_utf8(const char *s, size_t n);
/* Shortest decimal that reads back as the same double; inf and nan too. */
void str_put_double(strbuf *b, double x);

#endif
