/* SPDX-License-Identifier: Apache-2.0
 * The public objects of this layer, for the api.c of the layers above. */
#ifndef BACKENDS_OBJECT_H
#define BACKENDS_OBJECT_H

#include "backends/target.h"
#include "base/context.h"

/* Immutable, reference counted. */
struct tess_target {
  tess_context *c;
  uint32_t refs;
  target t;
  strbuf text;          /* the completed text */
};

#endif
