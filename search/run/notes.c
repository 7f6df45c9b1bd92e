/* SPDX-License-Identifier: Apache-2.0
 * What a result says of its space: that no module applied, or that what is
 * drawn is mostly lost. */
#include "search/run/loop.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void note_no_module(tune *t) {
  const space_sketches *k = &t->set->own.sketches;
  if (k->composes && !k->applied.n)
    tune_note(t, "no module applied anywhere: tess_space_explain "
                 "(ts.space.explain) says why");
}

/* Steps that listed other loops or blocks than in the sketch refuse draws
 * however good these are, and nothing but the funnel shows it. */
static void note_other_outputs(tune *t) {
  const funnel *f = &t->s.total;
  const funnel_row *most = NULL;
  uint64_t lost = 0;
  char text[400];
  for (uint32_t i = 0; i < f->row.n; i++) {
    const funnel_row *r = &f->row.v[i];
    if (r->stage != FUNNEL_REFUSED || strcmp(r->why, "OTHER_OUTPUTS")) continue;
    lost += r->count;
    if (!most || r->count > most->count) most = r;
  }
  if (!most || lost <= f->sampled / 2) return;
  snprintf(text, sizeof text,
           "%" PRIu64 " of %" PRIu64 " candidates were refused since %s gave "
           "another number of results than in the sketch (OTHER_OUTPUTS): "
           "preserve_unit_loops = true of compute_at and reverse_compute_at "
           "keeps the number, as does drawing locations in the last module "
           "(tessera doc OTHER_OUTPUTS)",
           lost, f->sampled, most->who);
  tune_note(t, text);
}

void tune_note_space(tune *t) {
  note_no_module(t);
  note_other_outputs(t);
}
