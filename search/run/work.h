/* SPDX-License-Identifier: Apache-2.0
 * What the tuning of one program is prepared from: options, target, space with
 * its sketches, measurer (api.c). */
#ifndef SEARCH_RUN_WORK_H
#define SEARCH_RUN_WORK_H

#include "search/run/tune.h"

typedef struct tune_work {
  tess_context *c;
  tess_program *p;
  tess_target *target, *own_target;
  tess_space *space, *own_space;
  tess_tune_options o;
  tess_strategy strategy; /* the host's, as far as it knows them */
  tess_cost_model model;
  space_sketches k;
  search_measurer measurer;
  strbuf policy;
  strbuf inputs; /* contents of the host's tensors */
  double sketch_seconds;
} tune_work;

/* Takes the options; p, target and space are set.  work_end follows. */
tess_status work_begin(tune_work *w, const tess_tune_options *o);
/* Completes options, target and space, writes the sketches and opens the
 * measurer; after tess_stop it is TESS_OK, and the setup says so. */
tess_status work_prepare(tune_work *w, tune_setup *setup);
/* Its parts: options and target; how it is measured, and the contents of the
 * host's tensors; space and sketches. */
tess_status work_complete(tune_work *w);
tess_status work_policy(tune_work *w, measure_policy *out);
tess_status work_sketches(tune_work *w);
/* What is known without measuring (frozen.c). */
tess_status work_frozen(tune_work *w, tess_result **out);
void work_end(tune_work *w);

#endif
