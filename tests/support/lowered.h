/* SPDX-License-Identifier: Apache-2.0
 * Lowering a program and asking, after every pass, whether it is still the
 * same computation; and whether it is when compiled. */
#ifndef SUPPORT_LOWERED_H
#define SUPPORT_LOWERED_H

#include "backends/interp/interp.h"
#include "lower/lower.h"
#include "support/test.h"

typedef struct lowered {
  test_heap heap;
  interp in;
  interp_expect expect;
  ir_program p;            /* lowered, as far as the last check went */
  arena scratch;
  err_state err;
} lowered;

void lowered_start(lowered *l);
void lowered_end(lowered *l);

/* Lowers a copy of p pass by pass; each result is the same computation in
 * the residue domain, or the test fails.  TESS_UNSUPPORTED, TESS_LIMIT: a
 * pass refuses it, l->err says why. */
tess_status lowered_check(lowered *l, const ir_program *p);
/* Lowers a copy of p, which is in l->p then, up to the pass of that name; the
 * test fails where a pass refuses it.  And the result as text. */
void lowered_until(lowered *l, const ir_program *p, const char *pass);
const char *lowered_text(lowered *l, const ir_program *p, const char *pass,
                         arena *texts);
/* Compiled for this machine it gives, on small integers, what the oracle
 * gives for p; thread loops are run as loops.  Statuses as above. */
tess_status lowered_check_native(lowered *l, const ir_program *p);

#endif
