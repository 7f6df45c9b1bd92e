/* SPDX-License-Identifier: Apache-2.0
 * The schema of a fleet's database: making it, and bringing it up to date. */
#ifndef FLEET_SCHEMA_H
#define FLEET_SCHEMA_H

#include "fleet/link.h"

/* The version that this program knows: schema.sql's schema_version(). */
enum { FLEET_SCHEMA = 1 };

/* Makes the schema, or brings an older one up to date; all of it or nothing.
 * `lease`: seconds; 0: as it is.  UNSUPPORTED: it is newer than this
 * program. */
tess_status fleet_init(fleet_link *l, double lease, err_state *e);

/* Runs statements one after the other (link.c). */
tess_status fleet_execute(fleet_link *l, const char *sql, err_state *e);

#endif
