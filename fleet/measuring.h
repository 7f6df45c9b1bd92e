/* SPDX-License-Identifier: Apache-2.0
 * How an agent measures: with the workers that local measuring uses. */
#ifndef FLEET_MEASURING_H
#define FLEET_MEASURING_H

#include "fleet/agent.h"

typedef struct measuring measuring;

/* `target`: of the device.  One that only builds runs nothing; one that only
 * runs takes objects that `trust` finds signed, into workers in a sandbox. */
tess_status measuring_open(tess_context *c, fleet_link *link,
                           const char *target, fleet_role role,
                           const fleet_signer *trust, measuring **out,
                           err_state *e);
void measuring_close(measuring *m);
fleet_measurer measuring_face(measuring *m);

#endif
