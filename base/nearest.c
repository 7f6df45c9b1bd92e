/* SPDX-License-Identifier: Apache-2.0
 * Spelling suggestions by edit distance. */
#include "base/nearest.h"

#include <string.h>

enum { NEAREST_MAX = 64 }; /* letters; longer words are like none */

static size_t least_of(size_t a, size_t b) { return a < b ? a : b; }

/* Row i of the table of distances between beginnings of a and b, from the two
 * rows before it. */
static void fill_row(size_t (*row)[NEAREST_MAX + 1], const char *a, size_t i,
                     const char *b, size_t m) {
  const size_t *one = row[(i + 2) % 3], *two = row[(i + 1) % 3];
  size_t *now = row[i % 3];
  now[0] = i;
  for (size_t j = 1; j <= m; j++) {
    now[j] = least_of(least_of(one[j], now[j - 1]) + 1,
                      one[j - 1] + (a[i - 1] != b[j - 1]));
    if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
      now[j] = least_of(now[j], two[j - 2] + 1);
  }
}

static size_t edit_distance(const char *a, size_t n, const char *b, size_t m) {
  size_t row[3][NEAREST_MAX + 1];
  for (size_t j = 0; j <= m; j++) row[0][j] = j;
  for (size_t i = 1; i <= n; i++) fill_row(row, a, i, b, m);
  return row[n % 3][m];
}

void nearest_try(nearest *n, const char *name) {
  size_t len = strlen(n->word), room = strlen(name), most = len / 4;
  if (len < 2 || len > NEAREST_MAX || room > NEAREST_MAX) return;
  size_t d =
      strncmp(name, n->word, len) ? edit_distance(n->word, len, name, room) : 0;
  if (d > (most ? most : 1) || (n->best && d >= n->distance)) return;
  n->best = name;
  n->distance = d;
}
