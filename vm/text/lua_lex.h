/* SPDX-License-Identifier: Apache-2.0
 * The words of the Lua text of a trace. */
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
  vm_token token;          /* the word at hand */
  char c;
  const char *s;           /* VM_T_NAME: in the source; VM_T_STRING: in buf */
  size_t n;
  int64_t i;
  double f;
  uint32_t last;           /* the line of the word before */
  VEC(char) buf;           /* the string at hand, escapes undone */
} vm_lexer;

/* Reads the next word; false after failing. */
bool vm_lex(vm_lexer *x);
static inline bool vm_is_char(const vm_lexer *x, char c) {
  return x->token == VM_T_CHAR && x->c == c;
}
static inline bool vm_is_word(const vm_lexer *x, const char *word) {
  return x->token == VM_T_NAME && strlen(word) == x->n &&
         !memcmp(x->s, word, x->n);
}

#endif
