/* SPDX-License-Identifier: Apache-2.0
 * Lexer of program listings; see lex.h. */
#include "ir/read/lex.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_name_char(char c) {
  return is_letter(c) || is_digit(c) || c == '.';
}

/* Words that begin a statement or a part of one, or are values. */
static bool is_reserved(const char *s) {
  static const char *const words[] = {
      "for",    "block",  "if",      "else",     "let",    "allocate",
      "where",  "reads",  "writes",  "alloc",    "match",  "init",
      "atomic", "entry",  "barrier", "constant", "true",   "false",
      "inf",    "nan",    "extern",  "instead",  "masked", "reducer",
      "reduce", "opaque", "in",      "range"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (!strcmp(words[i], s)) return true;
  return false;
}

bool read_is_plain_name(const char *s) {
  if (!is_letter(*s) || is_reserved(s)) return false;
  while (is_name_char(*s)) s++;
  return !*s;
}

void read_lex_init(read_lexer *x, const char *text, size_t n, arena *scratch) {
  *x = (read_lexer){.at = text,
                    .end = text + n,
                    .line_start = text,
                    .line = 1,
                    .scratch = scratch};
}

static bool at_end(const read_lexer *x) { return x->at == x->end; }
static char peek(const read_lexer *x, size_t k) {
  return (size_t)(x->end - x->at) > k ? x->at[k] : '\0';
}

static bool fail(read_lexer *x, const char *why) {
  x->bad = why;
  return false;
}

/* Up to a token, or the end of a line that had one. */
static void skip_blank(read_lexer *x) {
  while (!at_end(x)) {
    if (*x->at == '#') {
      while (!at_end(x) && *x->at != '\n') x->at++;
    } else if (*x->at == '\n') {
      if (x->begun && !x->open) return;
      x->at++;
      x->line++;
      x->line_start = x->at;
    } else if (*x->at == ' ' || *x->at == '\t' || *x->at == '\r') {
      x->at++;
    } else {
      return;
    }
  }
}

/* The byte that an escape stands for, or -1: three decimal digits, or the
 * character itself. */
static int unescape(read_lexer *x) {
  char c = peek(x, 0);
  if (c == 'n') return x->at++, '\n';
  if (c == '\\' || c == '"' || c == '\'') return x->at++, c;
  int byte = 0;
  for (int k = 0; k < 3; k++) {
    if (!is_digit(peek(x, 0))) return -1;
    byte = 10 * byte + (*x->at++ - '0');
  }
  return byte > 0 && byte < 256 ? byte : -1;
}

/* Text between two of the sign at x->at. */
static bool lex_text(read_lexer *x, read_token *t) {
  char quote = *x->at++;
  char *out = arena_alloc(x->scratch, (size_t)(x->end - x->at) + 1);
  t->s = out;
  while (!at_end(x) && *x->at != quote && *x->at != '\n') {
    int c = (unsigned char)*x->at++;
    if (c == '\\' && (c = unescape(x)) < 0)
      return fail(x, "there is no such escape; there are \\n, \\\\, \\\", \\' "
                     "and \\ and three digits");
    out[t->n++] = (char)c;
  }
  if (peek(x, 0) != quote) return fail(x, "a quote is not closed");
  x->at++;
  out[t->n] = '\0';
  return true;
}

static bool lex_number(read_lexer *x, read_token *t) {
  char copy[64];
  size_t n = 0;
  bool real = false;
  while (n + 1 < sizeof copy && !at_end(x)) {
    char c = *x->at;
    bool sign = n && (c == '+' || c == '-') && copy[n - 1] == 'e';
    if (!sign && !is_digit(c) && c != '.' && c != 'e') break;
    real = real || c == '.' || c == 'e';
    copy[n++] = *x->at++;
  }
  copy[n] = '\0';
  char *end;
  errno = 0;
  t->kind = real ? READ_REAL : READ_INT;
  if (real)
    t->f = strtod(copy, &end);
  else
    t->i = strtoull(copy, &end, 10);
  if (*end || is_letter(peek(x, 0))) return fail(x, "a malformed number");
  return real || errno != ERANGE || fail(x, "the integer is too large");
}

static void lex_sign(read_lexer *x, read_token *t) {
  static const char *const two[] = {
      "//", "==", "!=", "<=", ">=", "&&", "||", "->", "+:"};
  t->kind = READ_SIGN;
  t->s = x->at;
  t->n = 1;
  for (size_t i = 0; i < sizeof two / sizeof *two; i++)
    if (peek(x, 0) == two[i][0] && peek(x, 1) == two[i][1]) t->n = 2;
  x->at += t->n;
  if (strchr("([{", *t->s)) x->open++;
  if (strchr(")]}", *t->s) && x->open) x->open--;
}

bool read_lex(read_lexer *x, read_token *t) {
  skip_blank(x);
  *t = (read_token){.line = x->line,
                    .column = (uint32_t)(x->at - x->line_start) + 1};
  if (at_end(x) && !x->begun) return true;
  if (at_end(x) || *x->at == '\n') {
    x->begun = false;
    x->open = 0;
    t->kind = READ_LINE_END;
    return true;
  }
  x->begun = true;
  if (is_letter(*x->at)) {
    t->kind = READ_NAME;
    t->s = x->at;
    while (!at_end(x) && is_name_char(*x->at)) x->at++;
    t->n = (size_t)(x->at - t->s);
    return true;
  }
  if (is_digit(*x->at)) return lex_number(x, t);
  if (*x->at == '"' || *x->at == '\'') {
    t->kind = *x->at == '"' ? READ_STRING : READ_QUOTED;
    return lex_text(x, t);
  }
  if ((unsigned char)*x->at <= ' ' || !strchr("()[]{}+-*/%=!<>&|:,;", *x->at))
    return fail(x, "a character that no listing has");
  lex_sign(x, t);
  return true;
}
