/* SPDX-License-Identifier: Apache-2.0
 * The default space, whose modules are written in Lua, and what scripts of the
 * host's make: libtessera-spaces, which links Lua, is loaded when it is first
 * asked for, as it is for whole models, and stays loaded. */
#include "search/space/space.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SPACES_FILE "libtessera-spaces.so"
enum { SPACES_PLACES = 3 };

typedef tess_status (*spaces_run_fn)(tess_context *c, const char *script,
                                     const char *argument, tess_space **space,
                                     tess_program **program, char *why,
                                     size_t n);

/* Beside this library; beside the lib of a program that holds the static one;
 * and where it was configured to be. */
static uint32_t list_spaces_places(char place[][PATH_MAX]) {
  char here[PATH_MAX];
  Dl_info info;
  uint32_t n = 0;
  bool known = dladdr((void *)(uintptr_t)list_spaces_places, &info) &&
               realpath(info.dli_fname, here);
  const char *folder = known ? dirname(here) : NULL;
  if (folder) {
    snprintf(place[n++], PATH_MAX, "%.3000s/%s", folder, SPACES_FILE);
    snprintf(place[n++], PATH_MAX, "%.3000s/../lib/%s", folder, SPACES_FILE);
  }
  snprintf(place[n++], PATH_MAX, "%s/%s", TESS_LIBDIR, SPACES_FILE);
  return n;
}

static tess_status not_installed(tess_context *c, uint32_t n,
                                 char place[][PATH_MAX]) {
  char tried[1600] = "";
  for (uint32_t i = 0, at = 0; i < n && at < sizeof tried; i++)
    at += (uint32_t)snprintf(tried + at, sizeof tried - at, "%s'%s'",
                             i ? ", " : "", place[i]);
  return ctx_fail(c, TESS_UNSUPPORTED,
                  "default spaces and operators are not installed: there is no "
                  "%s; name the library in TESSERA_SPACES",
                  tried);
}

/* The file; TESSERA_SPACES names another. */
static tess_status find_spaces(tess_context *c, char *out) {
  char place[SPACES_PLACES][PATH_MAX];
  const char *named = secure_getenv("TESSERA_SPACES");
  uint32_t n = list_spaces_places(place);
  if (named && *named) {
    snprintf(place[0], PATH_MAX, "%.4000s", named);
    n = 1;
  }
  for (uint32_t i = 0; i < n; i++) {
    if (access(place[i], R_OK)) continue;
    memcpy(out, place[i], PATH_MAX);
    return TESS_OK;
  }
  return not_installed(c, n, place);
}

tess_status space_lua_function(tess_context *c, const char *name, void *fn) {
  char path[PATH_MAX];
  tess_status s = find_spaces(c, path);
  if (s != TESS_OK) return s;
  /* Spaces have code of it, so it is never unloaded. */
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  void *symbol = library ? dlsym(library, name) : NULL;
  memcpy(fn, &symbol, sizeof symbol);
  if (!symbol) {
    const char *why = dlerror();
    s = ctx_fail(c, TESS_UNSUPPORTED,
                 "default spaces and operators cannot be loaded: %s",
                 why ? why : "no reason given");
  }
  if (library) dlclose(library);
  return s;
}

tess_status space_run_script(tess_context *c, const char *what,
                             const char *script, const char *argument,
                             tess_space **space, tess_program **program) {
  spaces_run_fn run;
  char why[1024];
  tess_status s = space_lua_function(c, "tess_spaces_run", &run);
  if (s != TESS_OK) return s;
  s = run(c, script, argument, space, program, why, sizeof why);
  return s == TESS_OK ? s : ctx_fail(c, s, "%s: %s", what, why);
}
