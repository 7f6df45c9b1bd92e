/* SPDX-License-Identifier: Apache-2.0
 * Prints a trace to stderr, for calls from a debugger:
 *   (gdb) call vm_dump(&s->trace) */
#include "vm/text/text.h"

#include <stdio.h>

/* Its text comes from the C heap, since that of the trace may be what is being
 * looked into. */
__attribute__((used)) void vm_dump(const vm_trace *t) {
  mem_heap h;
  strbuf out;
  mem_heap_init(&h, mem_default_allocator, 0);
  str_init(&out, &h);
  vm_write_lua(t, &out);
  const char *text = str_get(&out);
  fprintf(stderr, "%s", text ? text : "out of memory\n");
  str_free(&out);
}
