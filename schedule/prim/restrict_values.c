/* SPDX-License-Identifier: Apache-2.0
 * restrict_values: refuses sampled values that do not go together. */
#include "schedule/sch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RESTRICT_VALUES_SIG(F, S)                                              \
  F(S, IN, FACTORS, values, REQ, "integers, most of them sampled")             \
  F(S, ATTR, INTS, rows, REQ, "combinations of the values, one after another") \
  F(S, ATTR, BOOL, among, DEF(true),                                           \
    "the values must be one of the rows; false: none of them")

PRIM_DEFINE(
    restrict_values, RESTRICT_VALUES_SIG,
    .summary = "Refuse combinations of sampled values.", .rewrite = "",
    .details =
        "1. There is a value, and none is open (auto).\n"
        "2. The rows are whole: as many numbers as there are values, or a\n"
        "   multiple.\n"
        "3. The values are one of the rows, or, with `among = false`, none.\n"
        "The program stays as it is. A search draws again what is refused, so\n"
        "that candidates are of the combinations that are left; the sooner\n"
        "behind the samples it comes, the less is done in vain.\n",
    .refusals = SCH_REASONS(SCH_R_VALUES_EXCLUDED, SCH_R_VALUES_OPEN,
                            SCH_R_VALUES_ROWS),
    .example = "local i, j = sch:get_loops(sch:get_block(\"C\"))\n"
               "local a = sch:sample_categorical({ 1, 2 }, nil, 0)\n"
               "local b = sch:sample_categorical({ 1, 4 }, nil, 1)\n"
               "sch:restrict_values({ a, b }, { 1, 4, 2, 1 })\n"
               "sch:split(i, { ts.auto, a })\n");

static bool is_row(const struct restrict_values_args *a, const int64_t *row) {
  for (uint32_t k = 0; k < a->values.n; k++)
    if (a->values.v[k] != row[k]) return false;
  return true;
}

static bool has_row(const struct restrict_values_args *a) {
  for (uint32_t i = 0; i < a->rows.n; i += a->values.n)
    if (is_row(a, a->rows.v + i)) return true;
  return false;
}

/* "9, 15", as far as there is room. */
static const char *list_values(sch_state *s, const sch_ints *values) {
  const size_t room = sizeof s->text - sizeof ", ...";
  char one[32];
  size_t at = 0;
  bool fits = true;
  for (uint32_t k = 0; fits && k < values->n; k++) {
    snprintf(one, sizeof one, "%s%" PRId64, k ? ", " : "", values->v[k]);
    fits = at + strlen(one) <= room;
    at += (size_t)snprintf(s->text + at, sizeof s->text - at, "%s",
                           fits ? one : ", ...");
  }
  return s->text;
}

static bool restrict_values_apply(sch_state *s,
                                  struct restrict_values_args *a) {
  uint32_t n = a->values.n;
  if (!n || a->rows.n % n)
    return sch_refuse(s, SCH_R_VALUES_ROWS, .n = {a->rows.n, n});
  for (uint32_t k = 0; k < n; k++)
    if (a->values.v[k] == SCH_AUTO)
      return sch_refuse(s, SCH_R_VALUES_OPEN, .n = {k});
  if (has_row(a) == a->among) return true;
  return sch_refuse(s, SCH_R_VALUES_EXCLUDED, .t = list_values(s, &a->values));
}
