/* SPDX-License-Identifier: Apache-2.0
 * Lines of progress on a terminal, cut to its size: a longer one would wrap,
 * and could not be drawn over. */
#define _DEFAULT_SOURCE
#include "lua/ltune.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COLUMNS = 80, ROWS = 24 }; /* of a terminal that does not say */

void lt_terminal_size(int *columns, int *rows) {
  struct winsize w;
  int says = !ioctl(STDERR_FILENO, TIOCGWINSZ, &w);
  *columns = says && w.ws_col ? w.ws_col : COLUMNS;
  *rows = says && w.ws_row ? w.ws_row : ROWS;
}

/* How many of n bytes fit, in characters of UTF-8; the last column stays free,
 * where terminals begin a new line. */
static int cut(const char *text, int n, int columns) {
  int at = 0, seen = 0;
  for (; at < n; at++)
    if ((text[at] & 0xc0) != 0x80 && ++seen >= columns) break;
  return at;
}

void lt_draw_line(const char *text, int n) {
  int columns, rows;
  lt_terminal_size(&columns, &rows);
  fprintf(stderr, "\033[K%.*s", cut(text, n, columns), text);
}
