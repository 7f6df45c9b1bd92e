/* SPDX-License-Identifier: Apache-2.0
 * Identifiers of OpenCL C for variables and buffers, and lines of code. */
#include "backends/opencl/emit.h"
#include "base/hash.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- names that OpenCL C has another use for ------------------------ */

static const char *const ocl_taken[] = {
    "auto",       "break",     "case",      "const",     "continue",
    "default",    "do",        "else",      "enum",      "extern",
    "for",        "goto",      "if",        "inline",    "register",
    "restrict",   "return",    "signed",    "sizeof",    "static",
    "struct",     "switch",    "typedef",   "union",     "unsigned",
    "void",       "volatile",  "while",     "kernel",    "global",
    "local",      "constant",  "private",   "read_only", "write_only",
    "read_write", "image1d_t", "image2d_t", "image3d_t", "sampler_t",
    "event_t",    "size_t",    "ptrdiff_t", "intptr_t",  "uintptr_t",
    "complex",    "imaginary", "min",       "max",       "abs",
    "fabs",       "select",    "any",       "all",       "fma",
    "sqrt",       "floor",     "ceil",      "rint",      "fmod",
    "isnan",      "barrier",   "true",      "false",     "NULL",
    "NAN",        "INFINITY",  "MAXFLOAT",  "linux",     "unix",
    "asm",        "clamp",     "convert",   "printf",    "as_float"};

static const char *const ocl_taken_starts[] = {
    "get_",  "convert_", "as_",    "vload",  "vstore", "atomic_",
    "ts_",   "__",       "CLK_",   "cl_",    "M_",     "FLT_",
    "DBL_",  "HALF_",    "INT_",   "UINT_",  "LONG_",  "SHRT_",
    "CHAR_", "SCHAR_",   "UCHAR_", "ULONG_", "USHRT_", "HUGE_"};

static const char *const ocl_elements[] = {
    "bool", "char",  "uchar", "short", "ushort", "int", "uint",
    "long", "ulong", "half",  "float", "double", "quad"};

/* "float", "float4" and their like; "t12", as constants are called. */
static bool is_patterned(const char *s) {
  for (size_t i = 0; i < sizeof ocl_elements / sizeof *ocl_elements; i++) {
    size_t n = strlen(ocl_elements[i]);
    if (!strncmp(s, ocl_elements[i], n) &&
        strspn(s + n, "0123456789") == strlen(s + n))
      return true;
  }
  return s[0] == 't' && s[1] && strspn(s + 1, "0123456789") == strlen(s + 1);
}

static bool is_ocl_name(const char *s) {
  for (size_t i = 0; i < sizeof ocl_taken / sizeof *ocl_taken; i++)
    if (!strcmp(s, ocl_taken[i])) return true;
  for (size_t i = 0; i < sizeof ocl_taken_starts / sizeof *ocl_taken_starts;
       i++)
    if (!strncmp(s, ocl_taken_starts[i], strlen(ocl_taken_starts[i])))
      return true;
  return is_patterned(s);
}

/* ---- fresh names ---------------------------------------------------- */

const char *ocl_fresh(ocl *m, const char *want) {
  char *name = arena_printf(m->scratch, "%s%.100s",
                            isalpha((unsigned char)*want) ? "" : "v", want);
  for (char *c = name; *c; c++)
    if (!isalnum((unsigned char)*c)) *c = '_';
  if (is_ocl_name(name)) name = arena_printf(m->scratch, "%s_", name);
  char *tried = name;
  for (unsigned i = 1;; i++) {
    uint64_t key = hash_bytes(tried, strlen(tried));
    if (map_get(&m->names, key) == MAP_NONE) {
      map_put(&m->names, key, 1);
      return tried;
    }
    tried = arena_printf(m->scratch, "%s_%u", name, i);
  }
}

const char *ocl_var(ocl *m, ir_var v) {
  if (!m->var[v]) m->var[v] = ocl_fresh(m, ir_var_text(m->p, v, m->scratch));
  return m->var[v];
}

const char *ocl_buf(ocl *m, ir_buf b) {
  if (!m->buf[b]) m->buf[b] = ocl_fresh(m, ir_text(m->p, m->p->buf.v[b].name));
  return m->buf[b];
}

void ocl_forget_names(ocl *m) {
  map_clear(&m->names);
  memset((void *)m->var, 0, m->p->var.n * sizeof *m->var);
  memset((void *)m->buf, 0, m->p->buf.n * sizeof *m->buf);
  m->temps = 0;
}

/* ---- lines ---------------------------------------------------------- */

void ocl_line(ocl *m, const char *fmt, ...) {
  va_list ap;
  for (int i = 0; i < m->indent; i++) str_puts(&m->body, "  ");
  va_start(ap, fmt);
  str_vprintf(&m->body, fmt, ap);
  va_end(ap);
  str_putc(&m->body, '\n');
}
