/* SPDX-License-Identifier: Apache-2.0
 * Functions of the host's that programs call by name: those of the process, and
 * of the shared object that is named for them. */
#include "measure/externs.h"

#include <dlfcn.h>
#include <stdlib.h>

/* It stays: loaded code has addresses of it.  Loading it again is free. */
const char *externs_load(const char *path) {
  if (!path) path = getenv("TESSERA_EXTERNS");
  if (!path || !*path) return NULL;
  void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  const char *problem = library ? NULL : dlerror();
  if (library) dlclose(library);
  return problem;
}

bool externs_called(const ir_program *p) {
  for (uint32_t i = 0; i < p->node.n; i++)
    if (p->node.v[i].op == IR_CALL && p->node.v[i].a == IR_FN_EXTERN)
      return true;
  return false;
}

tess_status externs_ready(const ir_program *p, const char *path, err_state *e) {
  const char *problem = externs_called(p) ? externs_load(path) : NULL;
  if (!problem) return TESS_OK;
  return err_set(e, TESS_UNSUPPORTED,
                 "the functions that the program calls cannot be loaded: %s",
                 problem);
}
