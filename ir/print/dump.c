/* SPDX-License-Identifier: Apache-2.0
 * Dumps to stderr for calls from a debugger: a program, a statement with all
 * nested in it, an expression.  Nothing in the library calls these; they are
 * kept in every build.  They use a heap of their own, so that the program's
 * heap (its counters, its cap) is undisturbed. */
#include "ir/print/print.h"
#include <stdio.h>

static void dump_text(strbuf *out) {
  const char *s = str_get(out);
  if (s) fputs(s, stderr);
  fputs(s ? "\n" : "out of memory\n", stderr);
  str_free(out);
}

static strbuf dump_open(mem_heap *heap) {
  strbuf out;
  mem_heap_init(heap, mem_default_allocator, 0);
  str_init(&out, heap);
  return out;
}

__attribute__((used)) void ir_dump(const ir_program *p) {
  mem_heap heap;
  strbuf out = dump_open(&heap);
  const ir_print_opts o = {.regions = true};
  ir_print(p, &o, &out);
  dump_text(&out);
}

__attribute__((used)) void ir_dump_stmt(const ir_program *p, ir_stmt s) {
  mem_heap heap;
  strbuf out = dump_open(&heap);
  if (s < p->stmt.n)
    print_run(p, NULL, &out, print_stmt, s);
  else
    str_printf(&out, "no statement has index %u", (unsigned)s);
  dump_text(&out);
}

__attribute__((used)) void ir_dump_expr(const ir_program *p, ir_expr e) {
  mem_heap heap;
  strbuf out = dump_open(&heap);
  if (e < p->node.n)
    ir_print_expr(p, e, &out);
  else
    str_printf(&out, "no expression has index %u", (unsigned)e);
  dump_text(&out);
}
