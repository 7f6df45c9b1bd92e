/* SPDX-License-Identifier: Apache-2.0
 * Shared libraries by the system's compiler driver, `cc`. */
#ifndef MEASURE_LINK_H
#define MEASURE_LINK_H

#include "base/context.h"

/* Links n files, objects or C, to the library at `path`.  UNSUPPORTED: there is
 * no cc; BUILD_ERROR with the first line of what it said; IO.  Sets the
 * context's error; unwinds before it has begun. */
tess_status link_shared(tess_context *c, const char *path, uint32_t n,
                        const char *const *objects);

#endif
