/* SPDX-License-Identifier: Apache-2.0
 * The faults of the program fuzz-faults. */
#include "fuzz/faulty.h"

static uint64_t unread;
faulty_state faulty = {.hits = &unread};

static const char *const rows[] = {
#define ROW(what, file) what,
#include "faulty/rows.h"
#undef ROW
};

bool faulty_is_here(void) { return true; }
uint32_t faulty_rows(void) { return sizeof rows / sizeof *rows; }
const char *faulty_row_text(uint32_t row) { return rows[row - 1]; }
