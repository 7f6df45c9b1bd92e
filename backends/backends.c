/* SPDX-License-Identifier: Apache-2.0
 * The backends that there are. */
#include "backends/llvm/llvm.h"
#include <string.h>

static const backend *const backends[] = {&llvm_backend};

const backend *backend_find(const char *name) {
  for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
    if (!strcmp(backends[i]->name, name)) return backends[i];
  return NULL;
}
