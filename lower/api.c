/* SPDX-License-Identifier: Apache-2.0
 * The public header's part about lowering. */
#include "ir/object.h"
#include "lower/lower.h"

typedef struct lowering {
  tess_program *from, *to;
  arena scratch;
} lowering;

/* Up to where buffers keep their shapes, so that people can read it. */
static tess_status lower_readably(void *ud) {
  lowering *l = ud;
  tess_context *c = l->from->c;
  lower_options o = {.keep_math = true};
  while (strcmp(lower_passes[o.stop_after].name, "flatten")) o.stop_after++;
  l->to = program_new(c, &l->from->p, l->from);
  return lower_program(&l->to->p, &l->scratch, &o, &c->err);
}

tess_status tess_program_lower(tess_program *p, tess_program **out) {
  lowering l = {.from = p};
  arena_init(&l.scratch, &p->c->heap);
  tess_status s = ctx_run(p->c, lower_readably, &l);
  arena_free(&l.scratch);
  if (s) tess_program_free(l.to);
  *out = s ? NULL : l.to;
  return s;
}
