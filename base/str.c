/* SPDX-License-Identifier: Apache-2.0
 * String builder; shortest round-trip decimals; UTF-8 validation. */
#include "base/str.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void str_init(strbuf *b, mem_heap *heap) { *b = (strbuf){.heap = heap}; }

void str_free(strbuf *b) {
  mem_free(b->heap, b->v, b->cap);
  str_init(b, b->heap);
}

void str_clear(strbuf *b) {
  b->n = 0;
  b->bad = false;
  if (b->v) b->v[0] = '\0';
}

void str_spoil(strbuf *b) {
  str_clear(b);
  b->bad = true;
}

/* Room for `more` bytes and the NUL; false after memory ran out. */
static bool has_room(strbuf *b, size_t more) {
  if (b->bad) return false;
  if (more < b->cap - b->n) return true;
  size_t need = b->n + more + 1;
  size_t cap = b->cap + b->cap / 2;
  cap = cap < 64 ? 64 : cap;
  cap = cap < need ? need : cap;
  char *v = more < SIZE_MAX / 2 - b->n
                ? mem_try_resize(b->heap, b->v, b->cap, cap)
                : NULL;
  if (!v) {
    str_spoil(b);
    return false;
  }
  b->v = v;
  b->cap = cap;
  return true;
}

void str_write(strbuf *b, const char *s, size_t n) {
  if (n == 0 || !has_room(b, n)) return;
  memcpy(b->v + b->n, s, n);
  b->n += n;
  b->v[b->n] = '\0';
}

void str_putc(strbuf *b, char c) { str_write(b, &c, 1); }

void str_puts(strbuf *b, const char *s) {
  if (s)
    str_write(b, s, strlen(s));
  else
    str_spoil(b);
}

/* Formats into the spare room; only a longer text is formatted twice. */
void str_vprintf(strbuf *b, const char *fmt, va_list ap) {
  if (!has_room(b, 0)) return;
  va_list again;
  va_copy(again, ap);
  size_t room = b->cap - b->n;
  int n = vsnprintf(b->v + b->n, room, fmt, ap);
  if (n < 0) {
    str_spoil(b);
  } else if (has_room(b, (size_t)n)) {
    if ((size_t)n >= room) vsnprintf(b->v + b->n, (size_t)n + 1, fmt, again);
    b->n += (size_t)n;
  }
  va_end(again);
}

void str_printf(strbuf *b, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  str_vprintf(b, fmt, ap);
  va_end(ap);
}

const char *str_get(const strbuf *b) {
  if (b->bad) return NULL;
  return b->v ? b->v : "";
}

/* Writes the decimal point as C does, in any locale. */
static void use_c_point(char *text) {
  char *to = text;
  for (const char *s = text; *s; s++)
    if (strchr("0123456789e+-", *s))
      *to++ = *s;
    else if (to == text || to[-1] != '.')
      *to++ = '.';
  *to = '\0';
}

/* The number of bytes of the UTF-8 character at s (n bytes left); 0: none,
 * overlong, a surrogate or beyond U+10FFFF. */
static size_t utf8_length(const unsigned char *s, size_t n) {
  size_t len = s[0] < 0x80   ? 1
               : s[0] < 0xc2 ? 0
               : s[0] < 0xe0 ? 2
               : s[0] < 0xf0 ? 3
               : s[0] < 0xf5 ? 4
                             : 0;
  if (len > n) return 0;
  for (size_t i = 1; i < len; i++)
    if ((s[i] & 0xc0) != 0x80) return 0;
  bool bad = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
             (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f);
  return bad ? 0 : len;
}

size_t str_utf8(const char *s, size_t n) {
  const unsigned char *u = (const unsigned char *)s;
  size_t i = 0, k;
  while (i < n && (k = utf8_length(u + i, n - i)) > 0) i += k;
  return i;
}

/* Of a character of `len` bytes. */
static bool acts(const unsigned char *s, size_t len) {
  switch (len) {
  case 1: return s[0] < ' ' || s[0] == 0x7f;
  case 2: /* U+0080 .. U+009F, U+061C */
    return (s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xd8 && s[1] == 0x9c);
  case 3: /* U+200E, U+200F, U+2028 .. U+202E, U+2066 .. U+2069 */
    return s[0] == 0xe2 &&
           ((s[1] == 0x80 && (s[2] == 0x8e || s[2] == 0x8f ||
                              (s[2] >= 0xa8 && s[2] <= 0xae))) ||
            (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9));
  default: return false;
  }
}

size_t str_plain(const char *s, size_t n) {
  const unsigned char *u = (const unsigned char *)s;
  size_t i = 0, k;
  while (i < n && (k = utf8_length(u + i, n - i)) > 0 && !acts(u + i, k))
    i += k;
  return i;
}

void str_defuse(char *s) {
  for (size_t n = strlen(s), i; (i = str_plain(s, n)) < n; s += i + 1) {
    s[i] = s[i] == '\t' ? ' ' : '?';
    n -= i + 1;
  }
}

void str_put_quoted(strbuf *b, char quote, const char *s, size_t n) {
  str_putc(b, quote);
  for (size_t i = 0, k; i < n; i += k) {
    k = utf8_length((const unsigned char *)s + i, n - i);
    bool acting = !k || acts((const unsigned char *)s + i, k);
    if (!k) k = 1;
    for (size_t j = i; j < i + k; j++)
      if (s[j] == quote || s[j] == '\\')
        str_printf(b, "\\%c", s[j]);
      else if (s[j] == '\n')
        str_puts(b, "\\n");
      else if (acting)
        str_printf(b, "\\%03d", (unsigned char)s[j]);
      else
        str_putc(b, s[j]);
  }
  str_putc(b, quote);
}

void str_close_comment(strbuf *b, size_t at) {
  for (size_t i = at; !b->bad && i < b->n; i++) {
    bool ends = i > at && b->v[i] == '/' && b->v[i - 1] == '*';
    bool begins = i > at && b->v[i] == '*' && b->v[i - 1] == '/';
    if (ends || begins || b->v[i] == '\\' || b->v[i] == '?') b->v[i] = '_';
  }
}

void str_put_utf8(strbuf *b, const char *s, size_t n) {
  for (size_t i = 0; i < n; i++) {
    size_t good = str_utf8(s + i, n - i);
    str_write(b, s + i, good);
    i += good;
    if (i < n) str_puts(b, "\xef\xbf\xbd");
  }
}

/* Decimals of up to 15 digits round-trip through a normal double, so %.15g is
 * shortest where it suffices; 17 always suffice.  Subnormals have fewer. */
void str_put_double(strbuf *b, double x) {
  char text[40];
  if (isnan(x) || isinf(x)) {
    str_puts(b, isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
    return;
  }
  for (int digits = fabs(x) < DBL_MIN ? 1 : 15; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, x);
    if (strtod(text, NULL) == x) break;
  }
  use_c_point(text);
  str_puts(b, text);
}
