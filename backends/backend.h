/* SPDX-License-Identifier: Apache-2.0
 * What every backend offers, behind one struct: making code of a lowered
 * program, and making code runnable in this process.  Code is plain bytes,
 * so that one process may compile and another run. */
#ifndef BACKENDS_BACKEND_H
#define BACKENDS_BACKEND_H

#include "backends/target.h"
#include "base/error.h"
#include "ir/ir.h"
#include <tessera/tessera.h>

/* What compile gives: code to load, or a text for people. */
typedef enum backend_form {
  BACKEND_CODE, BACKEND_IR, BACKEND_ASM
} backend_form;

typedef struct backend_code backend_code;  /* loaded code; the backend's own */

typedef struct backend {
  const char *name;
  /* Appends the entry function of `p`, which must be lowered for `t`, in the
   * given form to `out`.  The program is only read.  UNSUPPORTED names what
   * the backend cannot do; BUILD_ERROR has the compiler's own message. */
  tess_status (*compile)(ir_program *p, arena *scratch, const target *t,
                         backend_form form, strbuf *out, err_state *e);
  /* Can this machine run what is compiled for `t`?  UNSUPPORTED names its
   * triple, or the features that are missing here. */
  tess_status (*runs_here)(const target *t, err_state *e);
  /* Makes code (as compile gave it, for this machine) runnable. */
  tess_status (*load)(mem_heap *heap, const void *code, size_t n,
                      backend_code **out, err_state *e);
  /* Lives as long as `c`. */
  tess_kernel_fn (*entry)(const backend_code *c);
  void (*unload)(backend_code *c);
} backend;

/* NULL: no such backend. */
const backend *backend_find(const char *name);

#endif
