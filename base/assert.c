/* SPDX-License-Identifier: Apache-2.0
 * Reports a failed assertion and aborts. */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

void base_assert_failed(const char *file, int line, const char *func,
                        const char *text) {
  fprintf(stderr, "%s:%d: %s: assertion failed: %s\n", file, line, func, text);
  abort();
}
