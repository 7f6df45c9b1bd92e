/* SPDX-License-Identifier: Apache-2.0
 * The environment of peers: libraries that we are compared with read variables
 * when they are loaded, and images set some that slow them. */
#include "bench/support/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_of_peer(const char *variable) {
  static const char *const begin[] = {"OPENBLAS_", "GOTO_", "BLIS_",
                                      "MKL_",      "DNNL_", "ONEDNN_",
                                      "OMP_",      "GOMP_", "KMP_"};
  for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
    if (!strncmp(variable, begin[i], strlen(begin[i]))) return true;
  return false;
}

/* The first such variable, "NAME=value"; NULL: there is none. */
static const char *find_variable(char *const *from) {
  while (from && *from && !is_of_peer(*from)) from++;
  return from ? *from : NULL;
}

void bench_clear_peers(void) {
  const char *v;
  while ((v = find_variable(environ)) != NULL) {
    char name[256];
    bench_say("cleared, for it is read by peers: %s", v);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(v, "="), v);
    if (unsetenv(name)) return;
  }
}

void bench_tell_peers(void) {
  bool any = false;
  for (char *const *v = environ; v && *v; v++) {
    if (is_of_peer(*v)) bench_say("the peers' environment has %s", *v);
    any |= is_of_peer(*v);
  }
  if (!any) bench_say("the peers' environment is empty");
}
