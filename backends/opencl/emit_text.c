/* SPDX-License-Identifier: Apache-2.0
 * Texts of expressions: operators by precedence, constants bound to names,
 * lanes. */
#include "backends/opencl/emit.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

ocl_text ocl_text_of(ocl *m, ocl_prec prec, const char *fmt, ...) {
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  char *s = arena_alloc(m->scratch, (size_t)n + 1);
  vsnprintf(s, (size_t)n + 1, fmt, again);
  va_end(again);
  return (ocl_text){.s = s, .prec = prec};
}

const char *ocl_in(ocl *m, ocl_text t, ocl_prec least) {
  return t.prec >= least ? t.s : arena_printf(m->scratch, "(%s)", t.s);
}

/* Bitwise, shift and logical operators get parentheses that C does not need:
 * nobody remembers their precedence. */
ocl_text ocl_infix(ocl *m, ocl_text a, const char *op, ocl_text b,
                   ocl_prec prec) {
  bool clear = prec == OCL_ADD || prec == OCL_MUL;
  bool chain = prec == OCL_LAND || prec == OCL_LOR;
  ocl_prec left = clear || (chain && a.prec == prec) ? prec : OCL_ADD;
  ocl_prec right = clear ? prec + 1 : OCL_ADD;
  if (chain && a.prec != prec) left = OCL_EQ;
  if (chain) right = OCL_EQ;
  ocl_text t = ocl_text_of(m, prec, "%s %s %s", ocl_in(m, a, left), op,
                           ocl_in(m, b, right));
  t.depth = (uint16_t)((a.depth > b.depth ? a.depth : b.depth) + 1);
  return t;
}

static bool is_identifier(const char *s) {
  for (; *s; s++)
    if (!isalnum((unsigned char)*s) && *s != '_') return false;
  return true;
}

ocl_text ocl_bind(ocl *m, const char *type, ocl_text t) {
  if (is_identifier(t.s) && !isdigit((unsigned char)*t.s)) return t;
  ocl_text name = ocl_text_of(m, OCL_PRIMARY, "t%u", ++m->temps);
  ocl_line(m, "const %s %s = %s;", type, name.s, t.s);
  return name;
}

const char *ocl_lane(ocl *m, ocl_text t, uint32_t k) {
  if (m->width == 1) return t.s;
  return arena_printf(m->scratch, "%s.s%c", t.s, "0123456789abcdef"[k]);
}
