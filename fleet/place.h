/* SPDX-License-Identifier: Apache-2.0
 * Where an agent measures: its cores, which it holds alone, and what its times
 * depend on. */
#ifndef FLEET_PLACE_H
#define FLEET_PLACE_H

#include "base/error.h"
#include "base/str.h"
#include <jansson.h>

enum { PLACE_MOST = 1024 };

typedef struct fleet_place {
  int n;                /* held cores, or the device */
  int held[PLACE_MOST]; /* sockets, which end with the process */
} fleet_place;

/* Binds the process to the cores "0,1" (NULL: those that it has), and takes
 * them, and the device (NULL: none), for itself, unless they are shared.
 * INVALID: that is no list of cores of this machine; INFRA: one is another
 * agent's. */
tess_status fleet_place_take(const char *cores, const char *device, bool share,
                             fleet_place *out, err_state *e);
void fleet_place_leave(fleet_place *p);
/* "board1/0,1": the host and the cores that the process has, or the device. */
void fleet_place_name(const char *device, char *out, size_t n);
/* The environment of times, by what machine_facts wrote: processor, governor,
 * clock, driver, and the engine; NULL: out of memory. */
json_t *fleet_place_env(const strbuf *facts);

#endif
