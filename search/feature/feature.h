/* SPDX-License-Identifier: Apache-2.0
 * Features of candidates: numbers by named columns, of which the number and
 * the meaning are fixed for a version.
 *
 * "per_store", "context", "tree" and "traffic" are read from a scheduled
 * program that is not lowered, and lie in an arena: nothing is allocated once
 * that is warm.
 * "decisions" are those of a session's sketches (candidate/).  Counts, sizes
 * and times are on the scale log2(1 + x). */
#ifndef SEARCH_FEATURE_FEATURE_H
#define SEARCH_FEATURE_FEATURE_H

#include "search/feature/nest.h"
#include <tessera/tessera.h>

typedef enum feature_kind {
  FEATURE_PER_STORE, FEATURE_CONTEXT, FEATURE_TREE, FEATURE_TRAFFIC,
  FEATURE_DECISIONS,
  FEATURE_KINDS
} feature_kind;

/* n rows of so many columns, row by row. */
typedef struct feature_rows {
  uint32_t n, width;
  float *v;
} feature_rows;

enum { FEATURE_NAME = TESS_MAX_COLUMN };  /* bytes of a column's name */

/* One kind that is read from a program. */
typedef struct feature_maker {
  const char *name, *summary;
  uint32_t version, width;
  void (*name_of)(uint32_t column, char out[FEATURE_NAME]);
  void (*make)(const nest *n, feature_rows *out);
} feature_maker;
extern const feature_maker feature_per_store, feature_context, feature_tree,
    feature_traffic;

bool feature_parse(const char *name, feature_kind *out);
const char *feature_text(feature_kind k);
/* NULL for FEATURE_DECISIONS. */
const feature_maker *feature_of(feature_kind k);
/* The rows of a scheduled program, in its scratch arena; unwinds. */
void feature_make(feature_kind k, const ir_program *p, arena *scratch,
                  feature_rows *out);

/* What the makers share.  Room for rows of zeros; log2(1 + |x|), x's sign. */
void feature_begin(feature_rows *out, uint32_t n, uint32_t width, arena *a);
float feature_log(double x);

/* ---- columns shared by "context" and "tree" (context.c) ----------------- */

enum { CONTEXT_BUFFERS = 5, CONTEXT_LOOP = 16, CONTEXT_BUFFER = 6,
       CONTEXT_WIDTH = CONTEXT_LOOP + CONTEXT_BUFFERS * CONTEXT_BUFFER };
void context_name(uint32_t column, char out[FEATURE_NAME]);
void context_row(const nest *n, uint32_t loop, float row[CONTEXT_WIDTH]);

#endif
