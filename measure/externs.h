/* SPDX-License-Identifier: Apache-2.0
 * Functions of the host's that programs call by name (IR_FN_EXTERN). */
#ifndef MEASURE_EXTERNS_H
#define MEASURE_EXTERNS_H

#include "base/error.h"
#include "ir/ir.h"

/* Loads the shared object at `path`, NULL: the one that the environment's
 * TESSERA_EXTERNS names, if any; NULL, or what went wrong. */
const char *externs_load(const char *path);
bool externs_called(const ir_program *p);
/* The same for code of p, if that calls any; before the code is loaded. */
tess_status externs_ready(const ir_program *p, const char *path, err_state *e);

#endif
