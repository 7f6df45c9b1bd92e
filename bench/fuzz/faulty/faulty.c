/* SPDX-License-Identifier: Apache-2.0
 * Run-time switches of the faults in the program fuzz-faults. */
#include "fuzz/faulty.h"

#include <string.h>

static uint64_t unread;
faulty_state faulty = {.hits = &unread};

static const struct row {
  const char *what, *file;
} rows[] = {
#define ROW(what, file) {what, file},
#include "faulty/rows.h"
#undef ROW
};

bool faulty_is_here(void) { return true; }
uint32_t faulty_rows(void) { return sizeof rows / sizeof *rows; }
uint32_t faulty_rewrites(void) {
  uint32_t n = faulty_rows();
  while (n && !strncmp(rows[n - 1].file, "lower/", 6)) n--;
  return n;
}
const char *faulty_row_text(uint32_t row) { return rows[row - 1].what; }
