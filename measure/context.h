/* SPDX-License-Identifier: Apache-2.0
 * The measuring layer's part of a context. */
#ifndef MEASURE_CONTEXT_H
#define MEASURE_CONTEXT_H

#include "backends/runtime.h"
#include "measure/measure.h"

/* The context's runtime of so many threads, which lives as long as the
 * context; may unwind. */
const runtime *context_runtime(tess_context *c, uint32_t threads);

#endif
