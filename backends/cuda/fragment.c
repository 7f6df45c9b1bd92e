/* SPDX-License-Identifier: Apache-2.0
 * Fragments by wmma. */
#include "backends/cuda/fragment.h"
void cuda_plan_fragments(emit *m) { (void)m; }
void cuda_place_fragment(emit *m, ir_buf b, uint64_t bytes) {
  (void)b;
  (void)bytes;
  emit_refuse(m, TESS_UNSUPPORTED, "fragments");
}
void cuda_instead(emit *m, ir_expr cond) {
  (void)cond;
  emit_refuse(m, TESS_UNSUPPORTED, "fragments");
}
