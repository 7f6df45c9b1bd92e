/* SPDX-License-Identifier: Apache-2.0
 * Finds the program that runs kernels on devices which have nothing else of
 * Tessera. */
#include "backends/target.h"
#include "measure/measure.h"
#include "measure/worker/worker.h"
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

tess_status measure_find_runner(const char *worker_path, const char *target_of,
                                char *out, size_t n, err_state *e) {
  char path[4096];
  target t;
  tess_status s = target_parse(&t, target_of, e);
  if (s == TESS_OK) s = worker_find(worker_path, path, sizeof path, e);
  if (s != TESS_OK) return s;
  snprintf(out, n, "%s/tessera-run-%.*s", dirname(path),
           (int)strcspn(t.triple, "-"), t.triple);
  if (access(out, X_OK) == 0) return TESS_OK;
  return err_set(e, TESS_INFRA,
                 "there is no '%s'; --runner says where on the device the "
                 "program is that runs its code",
                 out);
}
