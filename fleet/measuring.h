/* SPDX-License-Identifier: Apache-2.0
 * How an agent measures: with the workers that local measuring uses. */
#ifndef FLEET_MEASURING_H
#define FLEET_MEASURING_H

#include "fleet/agent.h"

typedef struct measuring measuring;

typedef struct measuring_options {
  const char *target; /* of the device */
  fleet_role role;    /* one that only builds runs nothing; one that only runs
                       * takes objects that `trust` finds signed, into workers
                       * in a sandbox */
  const fleet_signer *trust;
  const char *via, *runner; /* as measure_config's */
} measuring_options;

tess_status measuring_open(tess_context *c, fleet_link *link,
                           const measuring_options *o, measuring **out,
                           err_state *e);
/* What the device's times depend on; NULL: the error says why it cannot be
 * asked. */
json_t *measuring_env(measuring *m, err_state *e);
void measuring_close(measuring *m);
fleet_measurer measuring_face(measuring *m);

#endif
