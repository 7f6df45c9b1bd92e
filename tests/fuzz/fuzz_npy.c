/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a .npy file: refused with a message, or a tensor that, written
 * and read again, is the same. */
#include "fuzz/fuzz.h"

#include "measure/tensor/tensor.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tess_context *c;
  tess_tensor *x = NULL, *y = NULL;
  strbuf b;
  tess_options o = {.struct_size = sizeof o, .memory_cap = 64 << 20};
  FUZZ_ASSERT(tess_context_new(&o, &c) == TESS_OK);
  str_init(&b, &c->heap);
  tess_status s = npy_read_bytes(c, data, size, &x);
  FUZZ_ASSERT(s == TESS_OK || c->err.message[0]);
  if (!s) {
    npy_write(x, &b);
    FUZZ_ASSERT(npy_read_bytes(c, b.v, b.n, &y) == TESS_OK);
    FUZZ_ASSERT(y->bytes == x->bytes && y->ndim == x->ndim);
    FUZZ_ASSERT(!x->bytes || !memcmp(x->data, y->data, x->bytes));
  }
  tess_tensor_free(x);
  tess_tensor_free(y);
  str_free(&b);
  tess_context_free(c);
  return 0;
}
