/* SPDX-License-Identifier: Apache-2.0
 * The program fuzz: random testing of the unmodified scheduler. */
#include "fuzz/faulty.h"

faulty_state faulty;

bool faulty_is_here(void) { return false; }
uint32_t faulty_rows(void) { return 0; }
uint32_t faulty_rewrites(void) { return 0; }
const char *faulty_row_text(uint32_t row) {
  (void)row;
  return "";
}
