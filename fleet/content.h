/* SPDX-License-Identifier: Apache-2.0
 * Contents of a fleet, by their names: what is too big for its queue. */
#ifndef FLEET_CONTENT_H
#define FLEET_CONTENT_H

#include "fleet/link.h"
#include "fleet/work.h"

/* Stores bytes; their name. */
tess_status fleet_put(fleet_link *l, const void *bytes, size_t n,
                      char name[FLEET_HASH], err_state *e);
/* Appends the contents of that name; NOT_FOUND. */
tess_status fleet_get(fleet_link *l, const char *name, strbuf *out,
                      err_state *e);

#endif
