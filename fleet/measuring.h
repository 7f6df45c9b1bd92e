/* SPDX-License-Identifier: Apache-2.0
 * How an agent measures: with the workers that local measuring uses. */
#ifndef FLEET_MEASURING_H
#define FLEET_MEASURING_H

#include "fleet/agent.h"

typedef struct measuring measuring;

/* `target`: of the device; `only_build`: it runs nothing. */
tess_status measuring_open(tess_context *c, fleet_link *link,
                           const char *target, bool only_build,
                           measuring **out, err_state *e);
void measuring_close(measuring *m);
fleet_measurer measuring_face(measuring *m);

#endif
