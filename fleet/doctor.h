/* SPDX-License-Identifier: Apache-2.0
 * An empty job from end to end. */
#ifndef FLEET_DOCTOR_H
#define FLEET_DOCTOR_H

#include "base/context.h"
#include "base/json.h"

/* A list of hops in order, {"hop", "ok", "why"}, up to the first that fails;
 * NULL: out of memory. */
json_t *fleet_doctor(tess_context *c, const char *url, const char *key);

#endif
