/* SPDX-License-Identifier: Apache-2.0
 * The kinds of features by name. */
#include "search/feature/feature.h"

#include <math.h>

static const feature_maker *const makers[] = {
    &feature_per_store, &feature_context, &feature_tree, &feature_traffic};

const char *feature_text(feature_kind k) {
  return k == FEATURE_DECISIONS ? "decisions" : makers[k]->name;
}

bool feature_parse(const char *name, feature_kind *out) {
  for (int k = 0; k < FEATURE_KINDS; k++)
    if (!strcmp(name, feature_text(k))) {
      *out = k;
      return true;
    }
  return false;
}

const feature_maker *feature_of(feature_kind k) {
  return k == FEATURE_DECISIONS ? NULL : makers[k];
}

void feature_make(feature_kind k, const ir_program *p, arena *scratch,
                  feature_rows *out) {
  nest n;
  nest_build(&n, p, scratch);
  makers[k]->make(&n, out);
}

void feature_begin(feature_rows *out, uint32_t n, uint32_t width, arena *a) {
  size_t bytes = (size_t)n * width * sizeof(float);
  *out = (feature_rows){n, width, arena_zalloc(a, bytes)};
}

float feature_log(double x) {
  return (float)(x < 0 ? -log2(1 - x) : log2(1 + x));
}
