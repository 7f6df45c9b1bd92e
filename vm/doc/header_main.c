/* SPDX-License-Identifier: Apache-2.0
 * Run while Tessera is built: writes include/tessera/primitives.h to the file
 * that is named. */
#include "base/str.h"
#include "vm/doc/doc.h"

#include <stdio.h>

int main(int argc, char **argv) {
  mem_heap heap;
  strbuf text;
  FILE *f = argc == 2 ? fopen(argv[1], "w") : NULL;
  if (!f) {
    fprintf(stderr, "usage: %s FILE, which can be written\n", argv[0]);
    return 2;
  }
  mem_heap_init(&heap, mem_default_allocator, 0);
  str_init(&text, &heap);
  vm_doc_header(&text);
  bool bad = text.bad || fwrite(text.v, 1, text.n, f) != text.n;
  bad |= fclose(f) != 0;
  str_free(&text);
  if (bad) fprintf(stderr, "%s: writing %s failed\n", argv[0], argv[1]);
  return bad;
}
