/* SPDX-License-Identifier: Apache-2.0
 * Finding and loading the plug-in search/gsl/: beside the library that this
 * code is in, or where it was installed. */
#include "search/model/gsl_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 2048 };

/* The folder of the library or program that holds this. */
static bool own_folder(char out[MOST]) {
  Dl_info i;
  if (!dladdr((void *)(uintptr_t)gsl_load, &i) || !i.dli_fname) return false;
  int n = snprintf(out, MOST, "%s", i.dli_fname);
  char *slash = strrchr(out, '/');
  if (n < 0 || n >= MOST || !slash) return false;
  *slash = '\0';
  return true;
}

/* Whether there is one; where it cannot be loaded *why says so. */
static bool open_at(const char *folder, const char *more, void **lib,
                    char why[256]) {
  char path[MOST + 64];
  snprintf(path, sizeof path, "%s/%s", folder, more);
  if (access(path, F_OK)) return false;
  *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  const char *said = *lib ? NULL : dlerror();
  if (said) snprintf(why, 256, "%s", said);
  return true;
}

const gsl_plugin *gsl_load(char why[256]) {
  char own[MOST];
  void *lib = NULL, *symbol;
  gsl_plugin_fn find;
  snprintf(why, 256, "%s/gsl.so is not there", TESS_PLUGINS);
  bool found =
      own_folder(own) && (open_at(own, "tessera/gsl.so", &lib, why) ||
                          open_at(own, "../lib/tessera/gsl.so", &lib, why));
  if (!found) open_at(TESS_PLUGINS, "gsl.so", &lib, why);
  if (!lib) return NULL;
  symbol = dlsym(lib, GSL_PLUGIN_SYMBOL);
  dlclose(lib);
  if (!symbol) {
    snprintf(why, 256, "gsl.so has no " GSL_PLUGIN_SYMBOL);
    return NULL;
  }
  memcpy(&find, &symbol, sizeof find);
  if (find()->version == GSL_PLUGIN_VERSION) return find();
  snprintf(why, 256, "gsl.so is of another version");
  return NULL;
}

tess_status gsl_need(tess_context *c, const char *who, const gsl_plugin **out) {
  char why[256];
  *out = gsl_load(why);
  if (*out) return TESS_OK;
  return ctx_fail(c, TESS_UNSUPPORTED, "%s needs the plug-in gsl.so: %s", who,
                  why);
}
