/* SPDX-License-Identifier: Apache-2.0
 * The parser of the Lua text of a trace: tokens and values (lua_value.c), which
 * calls and statements (lua_read.c) are made of. */
#ifndef VM_TEXT_LUA_PARSE_H
#define VM_TEXT_LUA_PARSE_H

#include "vm/text/lua_lex.h"

/* What a statement assigns to: b0, rv[0], whose letter is 0, or any name. */
typedef struct vm_lua_target {
  char letter;
  uint32_t number;
  const char *name;          /* in the text; NULL: of a letter and a number */
  size_t n;
} vm_lua_target;

/* A variable of any name; a later one of the same name hides it. */
typedef struct vm_lua_local {
  const char *name;
  size_t n;
  vm_rv rv;
} vm_lua_local;

typedef struct vm_lua_parser {
  vm_lexer x;
  vm_reader r;
  uint32_t depth;
  bool has_rv;               /* `local rv = {}` was read */
  const sch_prim *prim;      /* of the call just read */
  VEC(vm_lua_target) targets;   /* of the statement being read */
  VEC(vm_lua_local) locals;
  VEC(vm_value) stack;       /* elements of the tables being read */
} vm_lua_parser;

static inline bool vm_lua_next(vm_lua_parser *p) { return vm_lex(&p->x); }
/* Fails: `wanted` is not what is there. */
bool vm_lua_fail_at(vm_lua_parser *p, const char *wanted);
bool vm_lua_eat(vm_lua_parser *p, char c);
bool vm_lua_eat_word(vm_lua_parser *p, const char *word);
bool vm_lua_eat_int(vm_lua_parser *p, int64_t *out);
bool vm_lua_eat_rv(vm_lua_parser *p);
/* rv[N] */
bool vm_lua_parse_entry(vm_lua_parser *p, uint32_t *number);
bool vm_lua_parse_value(vm_lua_parser *p, vm_value *out);
/* Behind its `{`. */
bool vm_lua_parse_table(vm_lua_parser *p, vm_value *out);
/* Is the current token a key?  A name is one when `=` follows. */
bool vm_lua_at_key(const vm_lua_parser *p);

#endif
