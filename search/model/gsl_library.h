/* SPDX-License-Identifier: Apache-2.0
 * Loading the plug-in search/gsl/. */
#ifndef SEARCH_MODEL_GSL_LIBRARY_H
#define SEARCH_MODEL_GSL_LIBRARY_H

#include "base/context.h"
#include "search/gsl/plugin.h"

/* The plug-in, which stays loaded; NULL: it is not there, and `why` says where
 * it was looked for. */
const gsl_plugin *gsl_load(char why[256]);
/* The same; UNSUPPORTED says that `who` needs it. */
tess_status gsl_need(tess_context *c, const char *who, const gsl_plugin **out);

#endif
