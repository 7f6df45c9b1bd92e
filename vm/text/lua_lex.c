/* SPDX-License-Identifier: Apache-2.0
 * Lexer of the Lua text of a trace: names, numbers, strings, punctuation;
 * comments are Lua's. */
#include "vm/text/lua_lex.h"
#include "vm/text/lua_write.h"

#include <errno.h>
#include <stdlib.h>

/* The level of the long bracket "[==[" at s, the number of its "="; -1: there
 * is none. */
static int bracket_level(const char *s, const char *end) {
  int level = 0;
  if (s >= end || *s != '[') return -1;
  while (++s < end && *s == '=') level++;
  return s < end && *s == '[' ? level : -1;
}

/* The place behind "]==]" of that level; NULL: it does not end. */
static const char *bracket_end(const char *s, const char *end, int level) {
  for (; s < end; s++) {
    const char *at = s + 1;
    if (*s != ']') continue;
    while (at < end && *at == '=') at++;
    if (at < end && *at == ']' && at - s - 1 == level) return at + 1;
  }
  return NULL;
}

/* Behind the long bracket that begins at x->at, with its lines counted; *s and
 * *n, what it holds.  `what` it is, where it does not end. */
static bool skip_bracket(vm_lexer *x, int level, const char *what,
                         const char **s, size_t *n) {
  const char *end = bracket_end(x->at + level + 2, x->end, level);
  if (!end) return vm_reader_fail(x->r, TESS_PARSE, "a %s is not closed", what);
  *s = x->at + level + 2;
  *n = (size_t)(end - *s) - (size_t)level - 2;
  for (; x->at < end; x->at++) x->r->line += *x->at == '\n';
  return true;
}

/* As Lua does: to the end of the line, or of the block. */
static bool skip_comment(vm_lexer *x) {
  const char *s;
  size_t n;
  x->at += 2;
  int level = bracket_level(x->at, x->end);
  if (level >= 0) return skip_bracket(x, level, "comment", &s, &n);
  const char *end = memchr(x->at, '\n', (size_t)(x->end - x->at));
  x->at = end ? end : x->end;
  return true;
}

static bool skip_blank(vm_lexer *x) {
  while (x->at < x->end) {
    char c = *x->at;
    if (c == '\n') x->r->line++;
    if (c == '-' && x->end - x->at > 1 && x->at[1] == '-') {
      if (!skip_comment(x)) return false;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      x->at++;
    } else {
      break;
    }
  }
  return true;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* "\n" and the like, or "\ddd", after the backslash. */
static bool lex_escape(vm_lexer *x, char *out) {
  static const char from[] = "nrtabfv\\\"'", to[] = "\n\r\t\a\b\f\v\\\"'";
  const char *simple = *x->at ? strchr(from, *x->at) : NULL;
  unsigned v = 0;
  int k = 0;
  if (simple) {
    *out = to[simple - from];
    x->at++;
    return true;
  }
  for (; k < 3 && x->at < x->end && is_digit(*x->at); k++)
    v = v * 10 + (unsigned)(*x->at++ - '0');
  *out = (char)v;
  return (k && v < 256) ||
         vm_reader_fail(x->r, TESS_PARSE, "bad escape in a string");
}

static bool lex_string(vm_lexer *x) {
  char quote = *x->at;
  x->buf.n = 0;
  for (x->at++; x->at < x->end && *x->at != quote && *x->at != '\n';) {
    char c = *x->at++;
    if (c == '\\' && x->at < x->end && !lex_escape(x, &c)) return false;
    vec_push(x->r->t->heap, &x->buf, c);
  }
  if (x->at >= x->end || *x->at != quote)
    return vm_reader_fail(x->r, TESS_PARSE, "a string is not closed");
  x->at++;
  x->token = VM_T_STRING;
  x->s = x->buf.v;
  x->n = x->buf.n;
  return true;
}

/* "[[text]]": a line that ends right behind the bracket does not count. */
static bool lex_long_string(vm_lexer *x, int level) {
  x->token = VM_T_STRING;
  if (!skip_bracket(x, level, "string", &x->s, &x->n)) return false;
  size_t drop = x->n && *x->s == '\n' ? 1 : 0;
  x->s += drop;
  x->n -= drop;
  return true;
}

/* The number is copied out, for it may end the text. */
static bool lex_number(vm_lexer *x) {
  char copy[64];
  size_t n = 0;
  bool hex = x->at[0] == '0' && x->end - x->at > 1 &&
             (x->at[1] == 'x' || x->at[1] == 'X');
  bool real = false;
  while (x->at < x->end && n + 1 < sizeof copy) {
    char c = *x->at;
    bool sign = !hex && n && (c == '+' || c == '-') &&
                (copy[n - 1] == 'e' || copy[n - 1] == 'E');
    if (!sign && c != '.' && !vm_is_name_char(c, true)) break;
    real = real || c == '.' || (!hex && (c == 'e' || c == 'E'));
    copy[n++] = c;
    x->at++;
  }
  copy[n] = '\0';
  char *end;
  errno = 0;
  x->token = real ? VM_T_REAL : VM_T_INT;
  if (real)
    x->f = strtod(copy, &end);
  else if (hex)
    x->i = (int64_t)strtoull(copy, &end, 16);
  else
    x->i = strtoll(copy, &end, 10);
  if (*end || (hex && real) || n + 1 == sizeof copy)
    return vm_reader_fail(x->r, TESS_PARSE, "malformed number %s", copy);
  return real || errno != ERANGE ||
         vm_reader_fail(x->r, TESS_PARSE, "the integer %s is too large", copy);
}

static void lex_name(vm_lexer *x) {
  x->token = VM_T_NAME;
  x->s = x->at;
  while (x->at < x->end && vm_is_name_char(*x->at, true)) x->at++;
  x->n = (size_t)(x->at - x->s);
}

bool vm_lex(vm_lexer *x) {
  x->token = VM_T_END;
  x->last = x->r->line;
  if (!skip_blank(x)) return false;
  if (x->at == x->end) return true;
  char c = *x->at;
  char next = x->end - x->at > 1 ? x->at[1] : '\0';
  int level = bracket_level(x->at, x->end);
  if (c == '"' || c == '\'') return lex_string(x);
  if (level >= 0) return lex_long_string(x, level);
  if (is_digit(c) || (c == '.' && is_digit(next))) return lex_number(x);
  if (vm_is_name_char(c, false)) {
    lex_name(x);
    return true;
  }
  x->token = c == '/' && next == '/' ? VM_T_IDIV : VM_T_CHAR;
  x->c = c;
  x->at += x->token == VM_T_IDIV ? 2 : 1;
  return true;
}
