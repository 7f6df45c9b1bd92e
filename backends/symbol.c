/* SPDX-License-Identifier: Apache-2.0
 * The C symbol that a saved kernel has in object files and headers. */
#include "backends/backend.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Words of C and C++, and names that the header of a saved kernel uses. */
static const char words[] =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch "
    "char char16_t char32_t char8_t class co_await co_return co_yield compl "
    "concept const const_cast consteval constexpr constinit continue decltype "
    "default delete do double dynamic_cast else enum explicit export extern "
    "false float for friend goto if inline int int16_t int32_t int64_t int8_t "
    "intmax_t intptr_t long main mutable namespace new noexcept not not_eq "
    "nullptr operator or or_eq private protected ptrdiff_t public register "
    "reinterpret_cast requires restrict return short signed size_t sizeof "
    "static static_assert static_cast struct switch template this thread_local "
    "throw true try typedef typeid typename typeof uint16_t uint32_t uint64_t "
    "uint8_t uintmax_t uintptr_t union unix linux unsigned using virtual void "
    "volatile wchar_t while xor xor_eq ";

static bool is_word(const char *name) {
  size_t n = strlen(name);
  for (const char *at = words; *name && (at = strstr(at, name)); at++)
    if (at[-1] == ' ' && at[n] == ' ') return true;
  return false;
}

/* A function that replaced one of the C library would be called by everything
 * else in the program. */
static bool is_in_c_library(const char *name) {
  static const char *const library[] = {"libc.so.6", "libm.so.6"};
  bool found = false;
  for (int i = 0; i < 2 && !found; i++) {
    void *at = dlopen(library[i], RTLD_LAZY | RTLD_LOCAL);
    found = at && dlsym(at, name);
    if (at) dlclose(at);
  }
  return found;
}

bool backend_is_c_name(const char *name) {
  bool good = (isalpha((unsigned char)*name) || *name == '_') && !is_word(name);
  for (const char *c = name; *c && good; c++)
    good = isalnum((unsigned char)*c) || *c == '_';
  return good;
}

void backend_symbol(const char *name, char *out) {
  bool bad = !*name || isdigit((unsigned char)*name) || *name == '_' ||
             !strncmp(name, "tess_", 5) || is_word(name) ||
             is_in_c_library(name);
  snprintf(out, BACKEND_SYMBOL, "%s%.200s", bad ? "kernel_" : "", name);
  for (char *c = out; *c; c++)
    if (!isalnum((unsigned char)*c)) *c = '_';
}
