/* SPDX-License-Identifier: Apache-2.0
 * Names of element types: "float32", "bool", "bfloat16", "int8x16". */
#include "ir/ir.h"

#include <string.h>

/* A type name without the width, then its widths, ended by 0. */
static const struct {
  const char *name;
  uint8_t code, bits[5];
} types[] = {
    {"float", TESS_DTYPE_FLOAT, {16, 32, 64}},
    {"bfloat", TESS_DTYPE_BFLOAT, {16}},
    {"int", TESS_DTYPE_INT, {8, 16, 32, 64}},
    {"uint", TESS_DTYPE_UINT, {8, 16, 32, 64}},
};
enum { NTYPES = sizeof types / sizeof types[0], MAX_LANES = 65535 };

/* A decimal without sign or leading zero at *s, at most `max`; 0: none. */
static unsigned scan_number(const char **s, unsigned max) {
  unsigned v = 0;
  if (**s == '0') return 0;
  while (**s >= '0' && **s <= '9') {
    v = v * 10 + (unsigned)(*(*s)++ - '0');
    if (v > max) return 0;
  }
  return v;
}

/* Skips `word` at *s if it is there. */
static bool skip_word(const char **s, const char *word) {
  size_t n = strlen(word);
  if (strncmp(*s, word, n)) return false;
  *s += n;
  return true;
}

static bool scan_type(const char **s, tess_dtype *out) {
  if (skip_word(s, "bool")) return *out = IR_BOOL, true;
  if (skip_word(s, "handle"))
    return *out = (tess_dtype){TESS_DTYPE_HANDLE, 64, 1}, true;
  for (int i = 0; i < NTYPES; i++) {
    const char *at = *s;
    if (!skip_word(&at, types[i].name)) continue;
    unsigned bits = scan_number(&at, 64);
    if (!bits || !memchr(types[i].bits, (int)bits, sizeof types[i].bits))
      return false;
    *s = at;
    return *out = (tess_dtype){types[i].code, (uint8_t)bits, 1}, true;
  }
  return false;
}

bool ir_dtype_parse(const char *s, tess_dtype *out) {
  tess_dtype t;
  if (!scan_type(&s, &t)) return false;
  if (*s == 'x') {
    s++;
    unsigned lanes = scan_number(&s, MAX_LANES);
    if (!lanes) return false;
    t.lanes = (uint16_t)lanes;
  }
  if (*s) return false;
  *out = t;
  return true;
}

bool ir_dtype_ok(tess_dtype t) {
  if (!t.lanes) return false;
  if (t.code == TESS_DTYPE_BOOL) return t.bits == 8;
  if (t.code == TESS_DTYPE_HANDLE) return t.bits == 64;
  for (int i = 0; i < NTYPES; i++)
    if (types[i].code == t.code)
      return t.bits && memchr(types[i].bits, t.bits, sizeof types[i].bits);
  return false;
}

bool ir_is_number(tess_dtype t) {
  return t.lanes == 1 && t.code != TESS_DTYPE_HANDLE && ir_dtype_ok(t);
}

void ir_dtype_print(tess_dtype t, strbuf *out) {
  if (t.code == TESS_DTYPE_BOOL)
    str_puts(out, "bool");
  else if (t.code == TESS_DTYPE_HANDLE)
    str_puts(out, "handle");
  else
    for (int i = 0; i < NTYPES; i++)
      if (types[i].code == t.code)
        str_printf(out, "%s%u", types[i].name, (unsigned)t.bits);
  if (t.lanes != 1) str_printf(out, "x%u", (unsigned)t.lanes);
}
