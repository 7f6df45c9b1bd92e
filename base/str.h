/* SPDX-License-Identifier: Apache-2.0
 * String builder with sticky failure: appending reports no error; once memory
 * runs out the buffer is `bad` and stays empty, and whoever returns the text
 * tests that once. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include "base/mem.h"
#include <stdarg.h>

typedef struct strbuf {
  mem_heap *heap;
  char *v;               /* NUL-terminated unless NULL */
  size_t n, cap;
  bool bad;
} strbuf;

void str_init(strbuf *b, mem_heap *heap);
void str_free(strbuf *b);
void str_clear(strbuf *b);
/* Enters the failed state: the text is incomplete, and is emptied. */
void str_spoil(strbuf *b);
void str_putc(strbuf *b, char c);
/* NULL, the text of a buffer for which memory ran out, spoils this one, too. */
void str_puts(strbuf *b, const char *s);
void str_write(strbuf *b, const char *s, size_t n);
void str_printf(strbuf *b, const char *fmt, ...)
  __attribute__((format(printf, 2, 3)));
void str_vprintf(strbuf *b, const char *fmt, va_list ap);
/* "" while empty, NULL once memory ran out. */
const char *str_get(const strbuf *b);
/* The same with `otherwise` in place of NULL, for what is only to be read. */
static inline const char *str_or(const strbuf *b, const char *otherwise) {
  const char *s = str_get(b);
  return s ? s : otherwise;
}
/* TESS_OK, or the heap's refusal if memory ran out. */
static inline tess_status str_status(const strbuf *b) {
  return b->bad ? mem_refusal(b->heap) : TESS_OK;
}
/* Length of the longest prefix of s that is valid UTF-8: n if all is. */
size_t str_utf8(const char *s, size_t n);
/* What names and texts may do to what they are printed in, decided here for all
 * that is printed or generated.
 *
 * Length of the longest prefix of s that is UTF-8 without characters that act
 * on a terminal or hide what is written: controls, also U+0080 .. U+009F,
 * ends of lines, marks of direction.  All names are so. */
size_t str_plain(const char *s, size_t n);
/* Replaces the bytes of those characters, tabs by spaces: for what is said to
 * people and comes from anywhere. */
void str_defuse(char *s);
/* Appends s between two of `quote`, those characters as escapes: \ddd for each
 * byte. */
void str_put_quoted(strbuf *b, char quote, const char *s, size_t n);
/* What was written to b from `at` on stands in a comment of C (or OpenCL C):
 * replaces what would end or continue that. */
void str_close_comment(strbuf *b, size_t at);
/* Appends s with the replacement character for each byte that is no UTF-8. */
void str_put_utf8(strbuf *b, const char *s, size_t n);
/* Shortest decimal that round-trips to the same double; also inf and nan. */
void str_put_double(strbuf *b, double x);

#endif
