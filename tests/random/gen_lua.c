/* SPDX-License-Identifier: Apache-2.0
 * Random programs: the Lua that describes the same program, written while it
 * is being drawn. */
#include "random/gen_program.h"

#include <stdio.h>
#include <string.h>

void gen_write(gen *g, const char *fmt, ...) {
  va_list ap;
  if (!g->o.lua) return;
  va_start(ap, fmt);
  str_vprintf(&g->script, fmt, ap);
  va_end(ap);
}

void gen_say(gen *g, gen_expr e, const char *fmt, ...) {
  char text[4096];
  va_list ap;
  if (!g->o.lua || g->failed) return;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  while (g->said.n <= e) vec_push(g->b.heap, &g->said, NULL);
  g->said.v[e] = arena_printf(&g->texts, "%s", text);
}

const char *gen_said(const gen *g, gen_expr e) {
  return e < g->said.n && g->said.v[e] ? g->said.v[e] : "?";
}

const char *gen_list(gen *g, uint32_t n, const gen_expr *e) {
  const char *list = "";
  for (uint32_t i = 0; g->o.lua && i < n; i++)
    list = arena_printf(&g->texts, "%s%s%s", list, i ? ", " : "",
                        gen_said(g, e[i]));
  return list;
}

const char *gen_shape(gen *g, uint32_t n, const int64_t *shape) {
  gen_expr e[GEN_MAX_DIM] = {0};
  for (uint32_t i = 0; g->o.lua && i < n; i++) e[i] = gen_len(g, shape[i]);
  return gen_list(g, n, e);
}

const char *gen_dtype_text(gen *g, tess_dtype t) {
  static const char *const names[] = {[TESS_DTYPE_INT] = "int",
                                      [TESS_DTYPE_UINT] = "uint",
                                      [TESS_DTYPE_FLOAT] = "float",
                                      [TESS_DTYPE_BFLOAT] = "bfloat"};
  if (t.code == TESS_DTYPE_BOOL) return "bool";
  return g->o.lua
             ? arena_printf(&g->texts, "%s%u", names[t.code], (unsigned)t.bits)
             : "";
}

void gen_say_binary(gen *g, gen_expr e, const char *op, gen_expr a,
                    gen_expr b) {
  static const struct {
    const char *op, *fn;
  } calls[] = {{"min", "min"}, {"max", "max"}, {"and", "all"}, {"or", "any"},
               {"<", "lt"},    {"<=", "le"},   {">", "gt"},    {">=", "ge"},
               {"==", "eq"},   {"!=", "ne"}};
  if (!g->o.lua) return;
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    if (!strcmp(calls[i].op, op)) {
      gen_say(g, e, "ts.%s(%s, %s)", calls[i].fn, gen_said(g, a),
              gen_said(g, b));
      return;
    }
  gen_say(g, e, "(%s %s %s)", gen_said(g, a), op, gen_said(g, b));
}
