/* SPDX-License-Identifier: Apache-2.0
 * The LLVM backend: native code through LLVM's C API, for this machine's
 * processor or another one of its architecture.
 *
 * Compilations share nothing but LLVM's target registry, which is filled once;
 * any number of threads may compile at once.  LLVM may end the process on input
 * that passes its verifier but that has no instruction selection pattern;
 * callers that must survive compile in a worker. */
#ifndef BACKENDS_LLVM_LLVM_H
#define BACKENDS_LLVM_LLVM_H

#include "backends/backend.h"

extern const backend llvm_backend;

/* Seconds spent in the stages of one compilation. */
typedef struct llvm_times {
  double emit, verify, optimize, codegen;
} llvm_times;

/* backend.compile, also reporting the times when `times` is not NULL. */
tess_status llvm_compile(ir_program *p, arena *scratch, const target *t,
                         backend_form form, strbuf *out, llvm_times *times,
                         err_state *e);

/* backend.complete. */
tess_status llvm_complete_target(target *t, err_state *e);
/* backend.has. */
bool llvm_has_feature(const target *t, const char *feature);
bool llvm_knows_feature(const target *t, const char *feature, nearest *near);

/* backend.runs_here. */
tess_status llvm_runs_here(const target *t, err_state *e);

#endif
