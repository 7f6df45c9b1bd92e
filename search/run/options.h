/* SPDX-License-Identifier: Apache-2.0
 * What holds of all options by their declarations (tune_options.def,
 * tasks_options.def): defaults and ranges. */
#ifndef SEARCH_RUN_OPTIONS_H
#define SEARCH_RUN_OPTIONS_H

#include "base/context.h"

/* Checks what is given, and puts the defaults that are declared in place of
 * what is not. */
tess_status options_complete(tess_context *c, tess_tune_options *o);
tess_status options_complete_tasks(tess_context *c, tess_tasks_options *o);

#endif
