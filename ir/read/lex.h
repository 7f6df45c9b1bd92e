/* SPDX-License-Identifier: Apache-2.0
 * Lexer of program listings.  Lines are statements and indentation nests them;
 * inside brackets lines continue.  '#' begins a comment. */
#ifndef IR_READ_LEX_H
#define IR_READ_LEX_H

#include "ir/ir.h"

typedef enum read_token_kind {
  READ_END,
  READ_LINE_END,
  READ_NAME,   /* s, n: letters, digits, "_" and "."; not all in digits */
  READ_QUOTED, /* s, n: a name in '..', which is no keyword */
  READ_STRING, /* s, n: the contents of ".." */
  READ_INT,    /* i: its magnitude */
  READ_REAL,   /* f */
  READ_SIGN    /* s, n: an operator or bracket */
} read_token_kind;

typedef struct read_token {
  read_token_kind kind;
  uint32_t line, column; /* from 1 */
  const char *s;         /* in the text or in the arena */
  size_t n;
  uint64_t i;
  double f;
} read_token;

typedef struct read_lexer {
  const char *at, *end, *line_start;
  uint32_t line, open; /* brackets that are open */
  bool begun;          /* a token of the line was read */
  arena *scratch;
  const char *bad;     /* what is wrong with the token */
} read_lexer;

void read_lex_init(read_lexer *x, const char *text, size_t n, arena *scratch);
/* The next token; false: x->bad says what is wrong at `out`'s place. */
bool read_lex(read_lexer *x, read_token *out);
/* May a name be written without quotes? */
bool read_is_plain_name(const char *s);

#endif
