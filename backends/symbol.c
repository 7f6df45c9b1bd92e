/* SPDX-License-Identifier: Apache-2.0
 * The C symbol that a saved kernel has in object files and headers. */
#include "backends/backend.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Names that C, or the object itself, has another use for. */
static const char *const taken[] = {
    "auto",     "break",    "case",     "char",   "const",    "continue",
    "default",  "do",       "double",   "else",   "enum",     "extern",
    "float",    "for",      "goto",     "if",     "inline",   "int",
    "long",     "register", "restrict", "return", "short",    "signed",
    "sizeof",   "static",   "struct",   "switch", "typedef",  "union",
    "unsigned", "void",     "volatile", "while",  "main",     "free",
    "bool",     "class",    "delete",   "new",    "template", "this"};

void backend_symbol(const char *name, char *out) {
  bool bad = !*name || isdigit((unsigned char)*name) || *name == '_' ||
             !strncmp(name, "tess_", 5);
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
    bad = bad || !strcmp(name, taken[i]);
  snprintf(out, BACKEND_SYMBOL, "%s%.200s", bad ? "kernel_" : "", name);
  for (char *c = out; *c; c++)
    if (!isalnum((unsigned char)*c)) *c = '_';
}
