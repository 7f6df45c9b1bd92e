/* SPDX-License-Identifier: Apache-2.0
 * What the command and the module do with a context's log. */
#ifndef LUA_WARN_H
#define LUA_WARN_H

#include <stdio.h>
#include <tessera/tessera.h>

/* For tess_options.log: warnings and what is worse go to stderr. */
static inline void warn_on_stderr(void *ud, int level, const char *text) {
  (void)ud;
  if (level > TESS_LOG_WARN) return;
  fprintf(stderr, "tessera: %s: %s\n",
          level == TESS_LOG_WARN ? "warning" : "error", text);
}

#endif
