/* SPDX-License-Identifier: Apache-2.0
 * Contents of a fleet. */
#include "fleet/content.h"

#include <stdio.h>
#include <string.h>

tess_status fleet_put(fleet_link *l, const void *bytes, size_t n,
                      char name[FLEET_HASH], err_state *e) {
  enum { MOST = 256 << 20 };
  if (n > MOST)
    return err_set(e, TESS_LIMIT,
                   "%zu bytes are more than a fleet's contents may have, %d", n,
                   MOST);
  fleet_answer a = {.is_null = true};
  str_init(&a.text, fleet_heap(l));
  fleet_param p = {.bytes = n ? bytes : "", .n = n};
  tess_status s =
      fleet_call_as(l, false, "SELECT fleet.put($1::bytea)", 1, &p, &a, e);
  if (s == TESS_OK && a.text.n != FLEET_HASH - 1)
    s = err_set(e, TESS_INVALID, "the fleet gave no name for contents");
  if (s == TESS_OK) memcpy(name, str_get(&a.text), FLEET_HASH);
  str_free(&a.text);
  return s;
}

tess_status fleet_get(fleet_link *l, const char *name, strbuf *out,
                      err_state *e) {
  fleet_param p = {.text = name};
  fleet_answer a = {.is_null = true};
  a.text = *out;
  tess_status s = fleet_call_as(l, true, "SELECT fleet.get($1)", 1, &p, &a, e);
  *out = a.text;
  if (s == TESS_OK && a.is_null)
    return err_set(e, TESS_NOT_FOUND, "the fleet has no contents %.12s", name);
  return s;
}
