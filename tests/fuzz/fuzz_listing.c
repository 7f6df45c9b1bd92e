/* SPDX-License-Identifier: Apache-2.0
 * Any text as a listing: it is refused with a message and a place, or gives a
 * program that is printed, read back, and has the same hash then. */
#include "base/error.h"
#include "fuzz/fuzz.h"
#include "ir/query.h"
#include "ir/read/read.h"

typedef struct work {
  mem_heap heap;
  arena scratch;
  err_state err;
  ir_builder first, second;
  strbuf text;
  const char *in;
  size_t n;
} work;

static void print(const ir_program *p, strbuf *out) {
  ir_print(p, NULL, out);
  if (out->bad) mem_unwind_refused(out->heap);
}

static tess_status listing_use(void *ud) {
  work *w = ud;
  describe_init(&w->first, &w->heap, &w->err);
  describe_init(&w->second, &w->heap, &w->err);
  tess_status s = read_program(&w->first, &w->scratch, w->in, w->n);
  FUZZ_ASSERT(s == TESS_OK || *w->err.message);
  if (s != TESS_OK) return TESS_OK;
  print(&w->first.p, &w->text);
  s = read_program(&w->second, &w->scratch, w->text.v, w->text.n);
  if (s != TESS_OK) return TESS_OK; /* too deep, or contents left out */
  FUZZ_ASSERT(ir_hash(&w->first.p, &w->scratch) ==
              ir_hash(&w->second.p, &w->scratch));
  return TESS_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  work w = {.in = (const char *)data, .n = size};
  mem_heap_init(&w.heap, mem_default_allocator, (size_t)1 << 30);
  arena_init(&w.scratch, &w.heap);
  str_init(&w.text, &w.heap);
  tess_status s = mem_protect(&w.heap, listing_use, &w);
  FUZZ_ASSERT(s == TESS_OK || s == TESS_LIMIT);
  if (w.first.heap) describe_free(&w.first);
  if (w.second.heap) describe_free(&w.second);
  str_free(&w.text);
  arena_free(&w.scratch);
  FUZZ_ASSERT(w.heap.used == 0);
  return 0;
}
