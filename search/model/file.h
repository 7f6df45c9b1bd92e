/* SPDX-License-Identifier: Apache-2.0
 * Cost models as files: what they were taught, little-endian:
 *
 *   "tessmodl", version, the name; for each kind of features its version (0:
 *   none are kept) and width; numbers of groups and samples; the groups;
 *   the samples; of each kind kept the first row of each sample and the rows;
 *   a hash of all that stands before it. */
#ifndef SEARCH_MODEL_FILE_H
#define SEARCH_MODEL_FILE_H

#include "search/model/object.h"

tess_status model_write(tess_model *m, const char *path);
tess_status model_read(tess_context *c, const char *path, tess_model **out);

#endif
