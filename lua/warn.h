/* SPDX-License-Identifier: Apache-2.0
 * The log of the command's and the module's contexts: warnings and errors go to
 * stderr, or are deferred to the function of ts.on_warning, which is called
 * after the call that warned (lwarn.c), since a log callback must not use the
 * context. Warnings of that function's own calls go to stderr, which avoids
 * endless recursion. */
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
