/* SPDX-License-Identifier: Apache-2.0
 * The limits of the Lua text of a trace. */
#ifndef VM_TEXT_LUA_WRITE_H
#define VM_TEXT_LUA_WRITE_H

#include <stdbool.h>
#include <stddef.h>

enum {
  VM_LUA_LOCALS = 120,     /* variables held in locals (Lua has 200) */
  VM_LUA_TARGETS = 50      /* table entries in one assignment */
};

/* Identifier characters, independent of the locale. */
static inline bool vm_is_name_char(char c, bool later) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (later && c >= '0' && c <= '9');
}
/* Is it valid before `=` in a table constructor? */
bool vm_is_lua_name(const char *s, size_t n);

#endif
