/* SPDX-License-Identifier: Apache-2.0
 * Tables of all primitives and of the names of refusals. */
#include "schedule/sig.h"

#define P(name) extern const sch_prim sch_prim_##name;
#include "schedule/prims.def"
#undef P

const sch_prim *const sch_prims[] = {
#define P(name) &sch_prim_##name,
#include "schedule/prims.def"
#undef P
};
const uint32_t sch_nprims = sizeof sch_prims / sizeof *sch_prims;

const sch_prim *sch_find_prim(const char *name) {
  for (uint32_t i = 0; i < sch_nprims; i++)
    if (!strcmp(sch_prims[i]->name, name)) return sch_prims[i];
  return NULL;
}

const char *sch_reason_name(sch_reason r) {
  static const char *const names[] = {
      "NONE",
#define REFUSAL(name, text) #name,
#include "schedule/refusals.def"
#undef REFUSAL
  };
  return r < SCH_R_COUNT ? names[r] : "?";
}
