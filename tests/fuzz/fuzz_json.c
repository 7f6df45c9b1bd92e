/* SPDX-License-Identifier: Apache-2.0
 * Any bytes: js_read refuses them with a message, or gives a value whose
 * canonical text reads back to a value with the same canonical text. */
#include "fuzz/fuzz.h"

#include "base/json.h"

#include <string.h>

static json_t *read_again(const strbuf *text) {
  err_state err;
  js_limits limits = js_default_limits;
  return js_read(str_get(text), text->n, limits, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mem_heap heap;
  strbuf once, twice;
  err_state err;
  err_clear(&err);
  mem_heap_init(&heap, mem_default_allocator, 0);
  str_init(&once, &heap);
  str_init(&twice, &heap);
  json_t *v = js_read((const char *)data, size, js_default_limits, &err);
  FUZZ_ASSERT(v || (err.code != TESS_OK && err.message[0] && err.place[0]));
  if (v) {
    js_write(&once, v);
    FUZZ_ASSERT(str_get(&once));
    json_t *again = read_again(&once);
    FUZZ_ASSERT(again);
    js_write(&twice, again);
    FUZZ_ASSERT(strcmp(str_get(&once), str_get(&twice)) == 0);
    json_decref(again);
  }
  json_decref(v);
  str_free(&once);
  str_free(&twice);
  FUZZ_ASSERT(heap.used == 0);
  return 0;
}
