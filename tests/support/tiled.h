/* SPDX-License-Identifier: Apache-2.0
 * A matrix product with sketches of tilings, for tests of the search. */
#ifndef SUPPORT_TILED_H
#define SUPPORT_TILED_H

#include "vm/object.h"

typedef struct tiled {
  tess_context *c;
  tess_target *target;       /* "llvm" */
  tess_program *p;
  tess_trace *sketch[2];     /* three tiles, and four, of each loop */
  uint32_t nsketch;
} tiled;

void tiled_start(tiled *t);
void tiled_start_with(tiled *t, const tess_options *o);
void tiled_end(tiled *t);
/* Only one sketch, with a handful of candidates. */
void tiled_small(tiled *t);
/* Two sketches, with 5 and with 25 candidates. */
void tiled_few(tiled *t);
/* Only one sketch: both loops of the result fused, cut into two sampled parts,
 * the inner one vectorised: 22 candidates, of 1 to 3072 lanes. */
void tiled_wide(tiled *t);
/* Only one sketch: one loop in two tiles, and five choices among three that
 * change nothing: 5 programs of 1215 candidates. */
void tiled_equal(tiled *t);
/* Only one sketch: two loops in two tiles each, and a choice among three that
 * changes nothing: 40 programs of 120 candidates. */
void tiled_twins(tiled *t);
/* Only one sketch, without an instruction. */
void tiled_empty(tiled *t);

#endif
