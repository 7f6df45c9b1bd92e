/* SPDX-License-Identifier: Apache-2.0
 * What the tuning of one program is prepared from: options, target, space with
 * its sketches, measurer.  It is made once, and nothing of it changes while the
 * run lasts. */
#ifndef SEARCH_RUN_SETUP_H
#define SEARCH_RUN_SETUP_H

#include "search/run/measurer.h"
#include "search/space/space.h"

typedef struct tune_setup {
  tess_context *c;
  tess_program *program;
  tess_target *target;         /* NULL: none, where nothing is stored */
  tess_space *space;
  tess_tune_options o;         /* complete: no defaults left open */
  uint32_t nsketch;
  tess_trace *const *sketch;
  double sketch_seconds;       /* that making them took */
  const char *policy;          /* of measuring, as a text */
  search_measurer measurer;
  const measure_ledger *ledger;/* of its workers; NULL: none */
  search_memo *memo;           /* of earlier runs with the same sketches on one
                                * thread; NULL: none */
  thread_alarm *deadline;      /* set where the options have one; NULL: none */
  bool cancelled;              /* before there was a measurer */
  bool shares;                 /* a budget with others: nothing is told here */
  bool timed;                  /* machines measure, no function does */
  struct {                     /* what it frees, of the above */
    tess_target *target;
    tess_space *space;
    tess_strategy strategy;    /* the host's, as far as it knows them */
    tess_cost_model model;
    space_sketches sketches;
    strbuf policy;
    strbuf inputs;             /* contents of the host's tensors */
  } own;
} tune_setup;

/* Takes the options; program, target and space are set.  setup_end follows. */
tess_status setup_begin(tune_setup *set, const tess_tune_options *o);
/* Completes options, target and space, writes the sketches and opens the
 * measurer; after tess_stop it is TESS_OK, and `cancelled`. */
tess_status setup_prepare(tune_setup *set);
/* Its parts: options and target; how it is measured, and the contents of the
 * host's tensors; space and sketches. */
tess_status setup_complete(tune_setup *set);
tess_status setup_policy(tune_setup *set, measure_policy *out);
tess_status setup_sketches(tune_setup *set);
void setup_end(tune_setup *set);

/* A session over the sketches, whose traces are written to trace[nsketch]. */
tess_status setup_session(const tune_setup *set, tess_session *s,
                          const vm_trace **trace);

#endif
