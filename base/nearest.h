/* SPDX-License-Identifier: Apache-2.0
 * Spelling suggestions: which of some names a misspelt word nearly is, by
 * Damerau-Levenshtein distance (optimal string alignment). */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

typedef struct nearest {
  const char *word;
  const char *best; /* of the names tried; NULL: it is like none of them */
  size_t distance;
} nearest;

/* Tries a name, which must outlive n.  It is like the word if it begins with
 * it, or if at most one letter in four, or one, is changed, added, left out or
 * swapped with its neighbour.  Of equal ones the first stays. */
void nearest_try(nearest *n, const char *name);

#endif
