/* SPDX-License-Identifier: Apache-2.0
 * Lexer of the Lua text of a trace. */
#ifndef VM_TEXT_LUA_LEX_H
#define VM_TEXT_LUA_LEX_H

#include "vm/text/reader.h"

typedef enum vm_token {
  VM_T_END, VM_T_NAME, VM_T_INT, VM_T_REAL, VM_T_STRING,
  VM_T_IDIV,               /* "//" */
  VM_T_CHAR                /* any other: one character, in `c` */
} vm_token;

typedef struct vm_lexer {
  vm_reader *r;            /* for errors; its line is kept here */
  const char *at, *end;
  vm_token token;          /* the current token */
  char c;
  const char *s;           /* VM_T_NAME: in the source; VM_T_STRING: in buf */
  size_t n;
  int64_t i;
  double f;
  uint32_t last;           /* the line of the previous token */
  VEC(char) buf;           /* the current string, unescaped */
} vm_lexer;

/* Advances to the next token; false after failing. */
bool vm_lex(vm_lexer *x);
static inline bool vm_is_char(const vm_lexer *x, char c) {
  return x->token == VM_T_CHAR && x->c == c;
}
static inline bool vm_is_word(const vm_lexer *x, const char *word) {
  return x->token == VM_T_NAME && strlen(word) == x->n &&
         !memcmp(x->s, word, x->n);
}

#endif
