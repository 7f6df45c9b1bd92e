/* SPDX-License-Identifier: Apache-2.0
 * What the command and the module do with a context's log: warnings and what
 * is worse go to stderr, or are kept for the function of ts.on_warning, which
 * is called when the call that warned is done (lwarn.c): the log must not use
 * the context, and Lua may.  What that function's own calls warn of goes to
 * stderr: one that always provokes a warning would hear of it for ever. */
#ifndef LUA_WARN_H
#define LUA_WARN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/tessera.h>

/* Where a state's registry has the address of its lt_warnings. */
#define LT_WARNINGS "tessera.warnings"

typedef struct lt_warnings {
  char *text;              /* those that are kept, each with its end */
  size_t n;
  int kept, busy;          /* busy: some are being told */
} lt_warnings;

static inline int warn_later(lt_warnings *w, const char *text) {
  size_t n = strlen(text) + 1;
  char *more = w->kept && !w->busy ? realloc(w->text, w->n + n) : NULL;
  if (!more) return 0;
  memcpy(more + w->n, text, n);
  w->text = more;
  w->n += n;
  return 1;
}

static inline void warn_on_stderr(int level, const char *text) {
  fprintf(stderr, "tessera: %s: %s\n",
          level == TESS_LOG_WARN ? "warning" : "error", text);
}

/* For tess_options.log; ud: a lt_warnings. */
static inline void warn_or_keep(void *ud, int level, const char *text) {
  if (level > TESS_LOG_WARN || warn_later(ud, text)) return;
  warn_on_stderr(level, text);
}

#endif
