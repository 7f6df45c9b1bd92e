/* SPDX-License-Identifier: Apache-2.0
 * Results of measuring, which the programs that run kernels have, too. */
#include "measure/measure.h"

void measure_result_free(measure_result *r) {
  if (!r->message.heap) return;
  vec_free(r->message.heap, &r->sample);
  str_free(&r->message);
}
