/* SPDX-License-Identifier: Apache-2.0
 * What tests of lowering have: a program to schedule, and what lowers it. */
#ifndef SUPPORT_LOWERING_H
#define SUPPORT_LOWERING_H

#include "support/lowered.h"
#include "support/scheduled.h"

static scheduled t;
static lowered low;

static int setup(void **state) {
  (void)state;
  scheduled_start(&t);
  lowered_start(&low);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  lowered_end(&low);
  scheduled_end(&t);
  return 0;
}

#endif
