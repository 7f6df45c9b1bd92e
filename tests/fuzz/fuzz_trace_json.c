/* SPDX-License-Identifier: Apache-2.0
 * Any bytes: the reader of JSON traces refuses them with a message, or gives
 * a trace that writes, reads and compares as itself, in both texts. */
#include "fuzz/fuzz.h"

#include "fuzz/fuzz_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_trace((const char *)data, size, FUZZ_JSON);
  return 0;
}
