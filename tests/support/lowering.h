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

/* What was scheduled computes the same, and does after every pass. */
static inline void must_lower(void) {
  assert_true(scheduled_same(&t));
  tess_status st = lowered_check(&low, &t.p);
  if (st) fail_msg("%s\n%s", low.err.message, scheduled_text(&t));
}

/* And compiled for this machine. */
static inline void must_work(void) {
  must_lower();
  assert_int_equal(lowered_check_native(&low, &t.p), TESS_OK);
}

#endif
